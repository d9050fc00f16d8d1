/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "units/unit-expand.h"

#include "units/unit-scan.h"

static int compare_with_stem(const void *name, const void *stem)
{
	return strcmp(name, ((const struct unit_stem *)stem)->name);
}

static struct unit_stem *find_stem(const struct unit_stems *stems, const char *name)
{
	return stems->n > 0 ? bsearch(name, stems->items, stems->n, sizeof(*stems->items),
				      compare_with_stem)
			    : NULL;
}

bool unit_expand_concerns(struct unit_scan *scan, const char *name)
{
	_cleanup_strv_ struct strv stems = {};
	char template[UNIT_NAME_MAX];
	enum unit_type type;
	enum unit_form form = unit_name_form(name, &type);
	bool concerns;

	if (form == UNIT_FORM_INVALID)
		return false;
	concerns = scan->types & (1U << type);
	if (form == UNIT_FORM_INSTANCE && unit_name_template(name, template) == 0)
		concerns |= unit_scan_has(scan, template);
	if (scan->stems.n == 0)
		return concerns;
	unit_name_dropin_stems(name, &stems);
	for (size_t i = 0; i < stems.n; i++) {
		struct unit_stem *stem = find_stem(&scan->stems, stems.items[i]);

		if (!stem)
			continue;
		/* its own name in there is no other unit's drop-in */
		stem->used |= i > 0;
		concerns = true;
	}
	return concerns;
}

struct expansion {
	struct unit_scan *scan;
	bool user;
	struct strv found;
};

static int expand_name(struct expansion *expansion, const char *name)
{
	char slice[UNIT_NAME_MAX];

	if (unit_expand_concerns(expansion->scan, name))
		strv_add(&expansion->found, name);
	/* an instance brings the slice of its template along */
	if (unit_name_form(name, NULL) == UNIT_FORM_INSTANCE &&
	    unit_name_default_slice(name, expansion->user, slice) == 0 &&
	    unit_expand_concerns(expansion->scan, slice))
		strv_add(&expansion->found, slice);
	return strv_error(&expansion->found);
}

static int expand_one(void *data, size_t dir _unused_, const char *name,
		      unsigned char type _unused_)
{
	char stem[UNIT_NAME_MAX];
	enum unit_form form;
	bool dropins;

	if (unit_name_form(name, NULL) != UNIT_FORM_INVALID)
		return expand_name(data, name);
	/* a slice or an instance may have nothing but drop-ins */
	if (!unit_name_split_subdir(name, stem, &dropins) || !dropins)
		return 0;
	form = unit_name_form(stem, NULL);
	return form == UNIT_FORM_INVALID || unit_name_is_shared_stem(stem, form)
		       ? 0
		       : expand_name(data, stem);
}

static int add_names(struct unit_scan *scan, const struct strv *names)
{
	for (size_t i = 0; i < names->n; i++)
		strv_add(&scan->names, names->items[i]);
	strv_sort_unique(&scan->names);
	return strv_error(&scan->names);
}

int unit_expand(struct unit_scan *scan, const struct unit_path *path, bool user, size_t *budget)
{
	static const char *const always[] = { "-.slice", "system.slice", "user.slice",
					      "init.scope" };
	struct expansion expansion = { .scan = scan, .user = user };
	_cleanup_free_ char *buf = malloc(UNIT_LISTING_SIZE);
	int r = buf ? 0 : -ENOMEM;

	if (r >= 0 && (scan->types || scan->stems.n > 0))
		r = unit_path_walk(path, buf, budget, expand_one, &expansion);
	for (size_t i = 0; i < ARRAY_SIZE(always) && r >= 0; i++)
		if (!user || i == 0)
			r = expand_name(&expansion, always[i]);
	if (r >= 0)
		r = add_names(scan, &expansion.found);
	strv_done(&expansion.found);
	return r;
}

int unit_expand_rest(struct unit_scan *scan, const struct strv *more)
{
	/* a drop-in that nothing has yet stands for itself */
	for (size_t i = 0; i < scan->stems.n; i++) {
		const char *name = scan->stems.items[i].name;
		enum unit_type type = unit_name_type(name);

		if (!scan->stems.items[i].used || type == UNIT_SLICE || type == UNIT_SCOPE)
			strv_add(&scan->names, name);
	}
	return add_names(scan, more);
}
