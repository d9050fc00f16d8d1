/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * /run/reboot-required and the list of packages beside it, by which Debian and its relatives
 * tell logins, unattended-upgrades and fleets that a reboot is due (update-notifier's
 * notify-reboot-required). A note of this boot about this kernel: no part of a changeset, and
 * not in the history.
 */

#include "base/macro.h"

struct root;

/* Adds our name to the note, or takes it out again; other packages' names stay, and the note
 * with them. Does nothing elsewhere than on Debian. 0 or a negative errno. */
int reboot_note_put(const struct root *root, bool required) _must_check_;
