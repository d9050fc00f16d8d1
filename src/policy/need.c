/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy/need.h"

#include "base/json.h"
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

static void add_state(struct json *object, const char *key, enum need_state state)
{
	if (state == NEED_UNKNOWN)
		json_add_string(object, key, "unknown");
	else
		json_add_bool(object, key, state == NEED_YES);
}

static struct json *need_to_json(const struct need *need)
{
	struct json *object = json_new_object(), *evidence = json_new_array();

	json_add_string(object, "id", need->id);
	json_add_string(object, "title", need->title);
	json_add_string(object, "level", need_level_to_string(need->level));
	add_state(object, "installed", need->installed);
	add_state(object, "in_use", need->in_use);
	json_add_string(object, "effect", need->effect);
	json_add_string(object, "documentation", need->documentation);
	json_add_u64(object, "limits", need->n_limits);
	for (size_t i = 0; i < need->n_evidence; i++) {
		const struct need_evidence *e = &need->evidence[i];
		struct json *one = json_new_object();

		json_add_string(one, "path", e->path);
		if (e->line > 0)
			json_add_u64(one, "line", e->line);
		else
			json_add_null(one, "line");
		json_add_string(one, "text", e->text);
		json_append(evidence, one);
	}
	json_add(object, "evidence", evidence);
	return object;
}

struct json *needs_to_json(const struct needs *needs)
{
	struct json *array = json_new_array();

	for (size_t i = 0; i < needs->n; i++)
		json_append(array, need_to_json(&needs->items[i]));
	return array;
}
