/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Drop-in files of a unit, in systemd's order (systemd.unit(5), "DESCRIPTION"): those of all
 * its names and their prefixes by file name, of equal names the one whose directory comes
 * first; those of the unit's type come last among the directories.
 */

#include "units/unit-load.h"

/* Reads them into the unit, whose names are known and whose own file was read. */
int unit_load_dropins(struct unit_loader *loader, struct unit *unit) _must_check_;
