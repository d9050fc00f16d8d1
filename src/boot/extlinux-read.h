/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The menu of an extlinux.conf, whoever wrote it. */

#include "boot/boot.h"

enum { EXTLINUX_MAX = 1024 * 1024 };

/* Adds its labels; a missing file is no menu. */
int extlinux_read(const struct boot *boot, const char *path, struct boot_state *state,
		  struct diag *diag) _must_check_;
