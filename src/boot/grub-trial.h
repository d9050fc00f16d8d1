/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* One boot of GRUB with other words; the functions are those of struct boot_backend. */

#include "boot/boot.h"

/* The script that makes our entry whenever grub-mkconfig makes the menu. */
#define GRUB_OUR_SCRIPT "/etc/grub.d/42_memcg_policy"
/* The entry's id, and what next_entry is set to. */
#define GRUB_TRIAL_ID "memcg-policy-trial"

int grub_plan_trial(const struct boot *boot, const struct boot_state *state,
		    const struct boot_words *words, struct changeset *cs,
		    struct diag *diag) _must_check_;
/* The same without asking whether GRUB can forget it (boot/grub-once.h). */
int grub_trial_plan_edits(const struct boot *boot, const struct boot_words *words,
			  struct changeset *cs, struct diag *diag) _must_check_;
int grub_plan_no_trial(const struct boot *boot, bool all, struct changeset *cs,
		       struct diag *diag) _must_check_;

/* The part of take_back() that is about the menu and the environment block: 1 with *ret, 0 when
 * path is neither. */
int grub_trial_take_back(const char *path, const struct content *now,
			 struct content *ret) _must_check_;
/* Whether the edits are about a trial alone: the menu is edited then, not made anew. */
bool grub_trial_is_all(const struct changeset *cs) _pure_;
/* Drops an edit of the menu: it is made anew behind the edits. */
int grub_trial_leave_menu(const struct root *root, const char *cfg, struct changeset *cs,
			  struct diag *diag) _must_check_;
