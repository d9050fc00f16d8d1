/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The limits that a quadlet has podman set. */

#include "base/macro.h"

struct root;
struct unit_quadlet;

/* Fills the quadlet's limits from its files; dir is where it lies, for Yaml=. */
int unit_quadlet_limits(const struct root *root, struct unit_quadlet *quadlet,
			const char *section, const char *dir) _must_check_;
