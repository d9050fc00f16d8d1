/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy/need.h"

#include "base/str.h"

static const char *const level_names[_NEED_LEVEL_MAX] = {
	[NEED_MONITOR] = "monitor",
	[NEED_DEGRADED] = "degraded",
	[NEED_LIMITS] = "limits",
	[NEED_REQUIRED] = "required",
};

const char *need_level_to_string(enum need_level level)
{
	return level_names[level];
}

enum need_level need_level_from_string(const char *s)
{
	for (int i = 0; i < _NEED_LEVEL_MAX; i++)
		if (streq(level_names[i], s))
			return (enum need_level)i;
	return _NEED_LEVEL_INVALID;
}

int need_add_evidence(struct need *need, const char *path, unsigned line, const char *text)
{
	struct need_evidence *more =
		reallocarray(need->evidence, need->n_evidence + 1, sizeof(*more));
	struct need_evidence e = { .line = line };

	if (!more)
		return -ENOMEM;
	need->evidence = more;
	e.path = strdup(path);
	e.text = strdup(text);
	if (!e.path || !e.text) {
		free(e.path);
		free(e.text);
		return -ENOMEM;
	}
	need->evidence[need->n_evidence++] = e;
	return 0;
}

void need_done(struct need *need)
{
	for (size_t i = 0; i < need->n_evidence; i++) {
		free(need->evidence[i].path);
		free(need->evidence[i].text);
	}
	free(need->evidence);
	free(need->id);
	free(need->title);
	free(need->effect);
	free(need->documentation);
	free(need->role);
	free(need->path);
	*need = (struct need){};
}

void needs_done(struct needs *needs)
{
	for (size_t i = 0; i < needs->n; i++)
		need_done(&needs->items[i]);
	free(needs->items);
	*needs = (struct needs){};
}
