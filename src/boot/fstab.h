/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What a root's own table of mounts says. */

#include "base/macro.h"

struct root;

/* Whether / is to be mounted read-only: systems that are changed by new snapshots. */
bool fstab_root_is_read_only(const struct root *root);

/*
 * A place where boot loaders keep their files ("/boot", "/efi") that the table names and that
 * is not mounted now; NULL: there is none.
 */
const char *fstab_unmounted_boot(const struct root *root);
