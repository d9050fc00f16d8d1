/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The firmware's own boot entries (Boot####, EFI_LOAD_OPTION of UEFI 2.10, 3.1.3) that start a
 * kernel with a command line in their optional data: EFISTUB. Live and captured roots only.
 */

#include "boot/boot.h"

/* Whether the running system was started by such an entry. */
int efi_option_probe(const struct root *root, struct diag *diag);
int efi_option_read(const struct boot *boot, struct boot_state *ret, struct diag *diag);
