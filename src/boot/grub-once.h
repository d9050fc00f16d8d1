/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Whether GRUB forgets what it is told for one boot. Its header takes next_entry out of the
 * environment block before it boots anything, which is a write to the blocks that the file has
 * on the disk (grub-core/commands/loadenv.c). Where it cannot do that, the choice for one boot
 * is the choice for all.
 */

#include "base/macro.h"

struct diag;
struct root;
struct running;

/*
 * env_path is the environment block, cfg the text of the menu beside it. 0; or -ENOTSUP with
 * the reason in diag, also when it cannot be told.
 */
int grub_once_check(const struct root *root, const struct running *running,
		    const char *env_path, const char *cfg, struct diag *diag) _must_check_;
