/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "needs/needs.h"

#include "base/str.h"
#include "needs/catalogue.h"
#include "needs/look.h"
#include "needs/probe.h"

static int copy(const char *s, char **ret)
{
	*ret = s ? strdup(s) : NULL;
	return s && !*ret ? -ENOMEM : 0;
}

/* The fixed parts of a detector's need. */
static int copy_need(const struct need *from, struct need *to)
{
	*to = (struct need){ .level = from->level };
	if (copy(from->id, &to->id) < 0 || copy(from->title, &to->title) < 0 ||
	    copy(from->effect, &to->effect) < 0 ||
	    copy(from->documentation, &to->documentation) < 0 ||
	    copy(from->role, &to->role) < 0 || copy(from->path, &to->path) < 0)
		return -ENOMEM;
	return 0;
}

static int compare(const void *a, const void *b)
{
	static const int rank[] = { [NEED_YES] = 0, [NEED_UNKNOWN] = 1, [NEED_NO] = 2 };
	const struct need *x = a, *y = b;

	if (x->in_use != y->in_use)
		return rank[x->in_use] - rank[y->in_use];
	if (x->level != y->level)
		return (int)y->level - (int)x->level;
	return strcmp(x->id, y->id);
}

int needs_find(const struct root *root, const struct running *running,
	       const struct units *units, struct needs *ret, struct diag *diag)
{
	_cleanup_catalogue_ struct catalogue catalogue = {};
	_cleanup_look_ struct look look = {};
	_cleanup_needs_ struct needs needs = {};
	int r;

	r = catalogue_load(root, &catalogue, diag);
	if (r < 0)
		return r;
	look_init(&look, root, running, units, diag);
	needs.incomplete = catalogue.incomplete;
	needs.items = calloc(catalogue.n + 1, sizeof(*needs.items));
	if (!needs.items)
		return -ENOMEM;
	for (size_t i = 0; i < catalogue.n; i++) {
		struct need *need = &needs.items[needs.n++];

		r = copy_need(&catalogue.detectors[i].need, need);
		if (r >= 0)
			r = probe_run(&look, &catalogue.detectors[i], need);
		if (r < 0)
			return r;
		if (need->installed == NEED_NO && need->in_use == NEED_NO) {
			need_done(need);
			needs.n--;
		}
	}
	qsort(needs.items, needs.n, sizeof(*needs.items), compare);
	*ret = needs;
	needs = (struct needs){};
	return 0;
}
