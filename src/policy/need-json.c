/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Apart from need.c, whose other users need no JSON: the generator starts without json-c. */

#include "base/json.h"
#include "policy/need.h"

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
