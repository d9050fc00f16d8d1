/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Changing words of a shell variable's value where they are written. */

#include "boot/shell-vars.h"
#include "facts/state.h"

/*
 * Makes the variable ask for memcg on or off (cmdline_edit() says what that means) by changing
 * words where they are written, and replaces the texts of the script. A variable that is not
 * set is set at the end of the last fragment. 1 if a text changed, 0 if not. -ENOTSUP with an
 * error in diag, naming line and column, when the value cannot be known, or not be edited in
 * place.
 */
int shell_edit(struct shell_script *script, const char *name, enum memcg_state want,
	       unsigned flags, struct diag *diag) _must_check_;

/*
 * The reverse of what an earlier edit did to a value that was edited since. before and written
 * are the value around that edit: words for memcg that it added go if they are still there,
 * those that it took out come back at the end, changed ones are changed back; all other words
 * are as they are now. Likewise 1, 0 or -ENOTSUP.
 */
int shell_edit_reverse(struct shell_script *script, const char *name,
		       const struct shell_value *before, const struct shell_value *written,
		       struct diag *diag) _must_check_;
