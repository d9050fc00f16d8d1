/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * /etc/kernel/cmdline: the whole command line that kernel-install, ukify and the like give to
 * kernels that are installed later. It replaces everything else, so that one with our word
 * alone would be a kernel without root=.
 */

#include "boot/boot.h"

#define KERNEL_CMDLINE	      "/etc/kernel/cmdline"
#define KERNEL_CMDLINE_VENDOR "/usr/lib/kernel/cmdline"

/*
 * Plans that it asks for the words. Where it is missing, it is made only when its content is
 * known: the vendor's file, or, on a running system, the options that all entries of ours
 * (state) have in common. Never out of /proc/cmdline of whoever runs this; what then happens to
 * kernels installed later is a notice. flags: enum atomic_flags. 1 if that changes it, 0 if
 * not.
 */
int kernel_cmdline_plan(const struct boot *boot, const struct boot_state *state,
			const struct boot_words *words, unsigned flags, struct changeset *cs,
			struct diag *diag) _must_check_;

/* state->configured out of it; leaves it alone when there is no such file. */
int kernel_cmdline_read(const struct boot *boot, struct boot_state *state,
			struct diag *diag) _must_check_;

int kernel_cmdline_take_back(const char *path, const struct content *before,
			     const struct content *written, const struct content *now,
			     struct content *ret, struct diag *diag) _must_check_;
