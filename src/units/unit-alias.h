/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Which name leads to which, for hundreds of thousands of them: links in the search path, and
 * what timers, paths and sockets start. All text is in one block, so that a pair costs its
 * letters and eight bytes.
 */

#include "base/macro.h"
#include "base/str.h"

struct unit_alias {
	uint32_t place; /* in the text: the name, and behind its NUL the target */
	bool enables;	/* lies where administrators and systemctl put links */
};

/* Initialise with {}. */
struct unit_aliases {
	struct unit_alias *items;
	size_t n;
	size_t alloc;
	struct strbuf text;
};

/* 0 or -ENOMEM. */
int unit_aliases_add(struct unit_aliases *aliases, const char *name, const char *target,
		     bool enables) _must_check_;
/* By name; of each name the one that was added first is kept. */
void unit_aliases_sort(struct unit_aliases *aliases);
/* The same, then by target. */
void unit_aliases_sort_by_target(struct unit_aliases *aliases);
void unit_aliases_done(struct unit_aliases *aliases);

static inline const char *unit_alias_name(const struct unit_aliases *aliases, size_t i)
{
	return aliases->text.data + aliases->items[i].place;
}

static inline const char *unit_alias_target(const struct unit_aliases *aliases, size_t i)
{
	const char *name = unit_alias_name(aliases, i);

	return name + strlen(name) + 1;
}

/* Sorted by target: the first that leads there, or where it would be. */
size_t unit_aliases_first(const struct unit_aliases *aliases, const char *target) _pure_;
/* Sorted by name: what the name leads to, or NULL. */
const char *unit_aliases_find(const struct unit_aliases *aliases, const char *name) _pure_;
