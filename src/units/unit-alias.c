/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "units/unit-alias.h"

#include <stdlib.h>

int unit_aliases_add(struct unit_aliases *aliases, const char *name, const char *target,
		     bool enables)
{
	size_t place = aliases->text.len;

	if (place > UINT32_MAX || !GROW(aliases->items, aliases->n, aliases->alloc))
		return -ENOMEM;
	strbuf_add(&aliases->text, name, strlen(name) + 1);
	strbuf_add(&aliases->text, target, strlen(target) + 1);
	if (aliases->text.failed)
		return -ENOMEM;
	aliases->items[aliases->n++] = (struct unit_alias){ (uint32_t)place, enables };
	return 0;
}

/* Of equal names the one that was added first comes first. */
static int compare_names(const void *a, const void *b, void *text)
{
	const struct unit_alias *x = a, *y = b;
	int r = strcmp((const char *)text + x->place, (const char *)text + y->place);

	return r ? r : (x->place > y->place) - (x->place < y->place);
}

static int compare_targets(const void *a, const void *b, void *text)
{
	const struct unit_alias *x = a, *y = b;
	const char *name = (const char *)text + x->place,
		   *other = (const char *)text + y->place;
	int r = strcmp(name + strlen(name) + 1, other + strlen(other) + 1);

	return r ? r : strcmp(name, other);
}

void unit_aliases_sort(struct unit_aliases *aliases)
{
	size_t n = 0;

	if (aliases->n == 0)
		return;
	qsort_r(aliases->items, aliases->n, sizeof(*aliases->items), compare_names,
		aliases->text.data);
	for (size_t i = 0; i < aliases->n; i++)
		if (i == 0 ||
		    !streq(unit_alias_name(aliases, i), unit_alias_name(aliases, n - 1)))
			aliases->items[n++] = aliases->items[i];
	aliases->n = n;
}

void unit_aliases_sort_by_target(struct unit_aliases *aliases)
{
	unit_aliases_sort(aliases);
	if (aliases->n > 0)
		qsort_r(aliases->items, aliases->n, sizeof(*aliases->items), compare_targets,
			aliases->text.data);
}

void unit_aliases_done(struct unit_aliases *aliases)
{
	free(aliases->items);
	strbuf_done(&aliases->text);
	*aliases = (struct unit_aliases){};
}

static const char *get_target(const void *aliases, size_t i)
{
	return unit_alias_target(aliases, i);
}

size_t unit_aliases_first(const struct unit_aliases *aliases, const char *target)
{
	return str_lower_bound(target, aliases->n, get_target, aliases);
}

static const char *get_name(const void *aliases, size_t i)
{
	return unit_alias_name(aliases, i);
}

const char *unit_aliases_find(const struct unit_aliases *aliases, const char *name)
{
	size_t i = str_lower_bound(name, aliases->n, get_name, aliases);

	return i < aliases->n && streq(unit_alias_name(aliases, i), name)
		       ? unit_alias_target(aliases, i)
		       : NULL;
}
