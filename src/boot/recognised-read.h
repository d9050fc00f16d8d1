/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What loaders that are only recognised would boot, by their own files. */

#include "boot/boot.h"

/* read() of backends. Missing files are no entries; what cannot be read is a warning. */
int recognised_read_nothing(const struct boot *boot, struct boot_state *ret, struct diag *diag);
/* entries of type 1, or grub.cfg where there is one */
int recognised_read_menu(const struct boot *boot, struct boot_state *ret, struct diag *diag);
int recognised_read_limine(const struct boot *boot, struct boot_state *ret, struct diag *diag);
int recognised_read_refind(const struct boot *boot, struct boot_state *ret, struct diag *diag);
int recognised_read_zipl(const struct boot *boot, struct boot_state *ret, struct diag *diag);
int recognised_read_kboot(const struct boot *boot, struct boot_state *ret, struct diag *diag);
