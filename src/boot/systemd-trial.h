/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * One boot of systemd-boot with other words: an entry of our own, which sorts behind all
 * others, and LoaderEntryOneShot. The loader deletes that variable when it reads it, before
 * anything is booted, and passes over one that names no entry. For a unified kernel image the
 * entry passes the image's line with the words, which systemd-stub takes in the place of its
 * own with Secure Boot off.
 */

#include "boot/boot.h"

/* Without ".conf". Where the loader goes by names it sorts behind machine ids and other words.
 */
#define SYSTEMD_TRIAL_ID "a-memcg-policy-trial"

int systemd_plan_trial(const struct boot *boot, const struct boot_state *state,
		       const struct boot_words *words, struct changeset *cs,
		       struct diag *diag) _must_check_;
int systemd_plan_no_trial(const struct boot *boot, bool all, struct changeset *cs,
			  struct diag *diag) _must_check_;
/* refresh() of the backends that have it: chooses our entry for the next boot, and looks
 * whether it is chosen. Without a trial nothing follows the files. */
int systemd_trial_refresh(const struct boot *boot, const struct boot_words *words,
			  struct diag *diag) _must_check_;
/* verify(): a trial is proved by what it chose; the other entries stay as they are. */
int systemd_trial_verify(const struct boot *boot, const struct boot_words *words,
			 struct diag *diag) _must_check_;

/* Whether path is our entry. */
bool systemd_trial_is(const char *path) _pure_;
/* Of a state that was read: LoaderEntryOneShot, where it names an entry. 0 or -ENOMEM. */
int systemd_trial_read(const struct root *root, struct boot_state *state) _must_check_;
