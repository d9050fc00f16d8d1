/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Where the EFI system partition is, and which loader booted this machine. */

#include "base/macro.h"

struct root;

/* Mount points of ESP and extended boot partition, NULL-terminated, as bootctl looks for them.
 */
extern const char *const esp_dirs[];
/* "loader/entries" of each. */
extern const char *const esp_entry_dirs[];

/* Whether systemd-boot is installed on one of them: 1, 0 or a negative errno. */
int esp_has_systemd_boot(const struct root *root) _must_check_;

/*
 * What the loader of the running system calls itself ("systemd-boot 257.7", "GRUB 2.12"): owned
 * by the caller; NULL in *ret where it does not say, or nothing runs.
 */
int esp_loader(const struct root *root, char **ret) _must_check_;

/*
 * What boots of systemd-boot take without a choice for one of them (boot/systemd-trial.h): its
 * variables, else loader.conf; a pattern of an entry's file name. NULL in *ret: the first of
 * the menu. Owned by the caller.
 */
int esp_chosen(const struct root *root, char **ret) _must_check_;

/* Whether Secure Boot is on: 1, 0, -ENODATA when that cannot be told. */
int esp_secure_boot(const struct root *root);
