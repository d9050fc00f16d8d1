/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy/policy.h"

#include "base/diag.h"
#include "base/root.h"
#include "policy/conf.h"
#include "policy/section.h"

#include <limits.h>

static const char *const memcg_names[_POLICY_MEMCG_MAX] = {
	[POLICY_LEAVE] = "leave",
	[POLICY_ON] = "on",
	[POLICY_OFF] = "off",
	[POLICY_AUTO] = "auto",
};

const char *policy_memcg_to_string(enum policy_memcg memcg)
{
	return memcg_names[memcg];
}

enum policy_memcg policy_memcg_from_string(const char *s)
{
	for (int i = 0; i < _POLICY_MEMCG_MAX; i++)
		if (streq(memcg_names[i], s))
			return (enum policy_memcg)i;
	return _POLICY_MEMCG_INVALID;
}

void policy_done(struct policy *policy)
{
	for (size_t i = 0; i < policy->n_sections; i++)
		section_done(&policy->sections[i]);
	free(policy->sections);
	free(policy->fail_closed);
	strv_done(&policy->files);
	*policy = (struct policy){};
}

/* --- all files --- */

static int read_file(struct policy *policy, const struct root *root, const char *path,
		     struct diag *diag)
{
	_cleanup_free_ char *text = NULL;
	size_t size;
	int r;

	r = conf_read(root, path, DIAG_ERROR, &text, &size, diag);
	if (r < 0 || size == 0)
		return r;
	return section_parse_file(policy, path, text, size, diag);
}

/* Puts POLICY_SET_PATH into the list, in the place of a lower file of that name. */
static int insert_set_path(struct strv *dropins)
{
	const char *name = strrchr(POLICY_SET_PATH, '/');
	_cleanup_strv_ struct strv old = *dropins;
	bool placed = false;

	*dropins = (struct strv){};
	for (size_t i = 0; i < old.n; i++) {
		int order = strcmp(strrchr(old.items[i], '/'), name);

		if (order >= 0 && !placed) {
			strv_add(dropins, POLICY_SET_PATH);
			placed = true;
		}
		if (order != 0)
			strv_add(dropins, old.items[i]);
	}
	if (!placed)
		strv_add(dropins, POLICY_SET_PATH);
	return strv_error(dropins);
}

static int load(const struct root *root, bool replace, const char *content,
		struct policy *policy, struct diag *diag)
{
	_cleanup_strv_ struct strv dropins = {};
	_cleanup_free_ char *main_file = NULL;
	int result, r;

	r = conf_find(root, "policy.conf", &main_file);
	if (r < 0)
		return r;
	result = conf_list(root, "policy.conf.d", replace ? POLICY_SET_PATH : NULL, DIAG_ERROR,
			   &dropins, diag);
	if (result == -ENOMEM)
		return result;
	if (replace && content) {
		r = insert_set_path(&dropins);
		if (r < 0)
			return r;
	}
	if (main_file) {
		r = read_file(policy, root, main_file, diag);
		if (r == -ENOMEM)
			return r;
		result = result < 0 ? result : r;
	}
	for (size_t i = 0; i < dropins.n; i++) {
		const char *path = dropins.items[i];

		if (replace && content && streq(path, POLICY_SET_PATH))
			r = section_parse_file(policy, path, content, strlen(content), diag);
		else
			r = read_file(policy, root, path, diag);
		if (r == -ENOMEM)
			return r;
		result = result < 0 ? result : r;
	}
	return result;
}

/* A role that no section describes is most likely misspelt. */
static int check_role(const struct policy *policy, struct diag *diag)
{
	const struct policy_section *section = section_find(policy, NULL);
	const struct policy_value *role = section ? &section->values[KEY_ROLE] : NULL;
	_cleanup_strbuf_ struct strbuf hint = {};
	struct diag_where where;
	unsigned least = UINT_MAX;
	const char *near = NULL;

	if (!role || !role->text || streq(role->text, POLICY_ROLE_AUTO) ||
	    section_find(policy, role->text))
		return 0;
	for (size_t i = 0; i < policy->n_sections; i++)
		if (policy->sections[i].name &&
		    str_is_nearer(role->text, policy->sections[i].name, &least))
			near = policy->sections[i].name;
	if (near)
		strbuf_addf(&hint, "did you mean %s?", near);
	else
		strbuf_addf(&hint, "describe it in a section [Role %s]", role->text);
	where = (struct diag_where){
		.path = role->source.path,
		.line = role->source.line,
		.column = role->source.column,
		.width = (unsigned)strlen(role->text),
		.source = role->line_text,
		.hint = hint.failed ? NULL : hint.data,
	};
	diag_error(diag, &where, "there is no role \"%s\"", role->text);
	return -EINVAL;
}

static int load_and_resolve(const struct root *root, bool replace, const char *content,
			    struct policy *ret, struct diag *diag)
{
	_cleanup_policy_ struct policy policy = {};
	const struct policy_section *section;
	const char *role;
	int result, r;

	result = load(root, replace, content, &policy, diag);
	if (result == -ENOMEM)
		return result;
	r = check_role(&policy, diag);
	result = result < 0 ? result : r;
	if (result < 0)
		return result;
	section = section_find(&policy, NULL);
	role = section ? section->values[KEY_ROLE].text : NULL;
	r = policy_resolve(&policy, role && streq(role, POLICY_ROLE_AUTO) ? NULL : role);
	if (r < 0)
		return r;
	*ret = policy;
	policy = (struct policy){};
	return 0;
}

int policy_load(const struct root *root, struct policy *ret, struct diag *diag)
{
	return load_and_resolve(root, false, NULL, ret, diag);
}

int policy_load_with(const struct root *root, const char *content, struct policy *ret,
		     struct diag *diag)
{
	return load_and_resolve(root, true, content, ret, diag);
}

/* --- what is in force --- */

/* The key as set in [Policy], else as the role says, else NULL. */
static const struct policy_value *in_force(const struct policy *policy, const char *role,
					   enum policy_key key)
{
	const struct policy_section *section = section_find(policy, NULL);

	if (section && section->values[key].text)
		return &section->values[key];
	section = role ? section_find(policy, role) : NULL;
	return section && section->values[key].text ? &section->values[key] : NULL;
}

static struct policy_memcg_setting memcg_setting(const struct policy *policy, const char *role,
						 enum policy_key key)
{
	const struct policy_value *value = in_force(policy, role, key);

	if (!value)
		return (struct policy_memcg_setting){ .value = POLICY_LEAVE };
	return (struct policy_memcg_setting){
		.value = policy_memcg_from_string(value->text),
		.source = value->source,
	};
}

static struct policy_text_setting text_setting(const struct policy_value *value)
{
	if (!value)
		return (struct policy_text_setting){};
	return (struct policy_text_setting){ .value = value->text, .source = value->source };
}

static int resolve_fail_closed(struct policy *policy, const char *role)
{
	const struct policy_section *section = section_find(policy, NULL);
	struct policy_text_setting *list = NULL;

	if (!section || section->n_fail_closed == 0)
		section = role ? section_find(policy, role) : NULL;
	if (section && section->n_fail_closed > 0) {
		list = calloc(section->n_fail_closed, sizeof(*list));
		if (!list)
			return -ENOMEM;
		for (size_t i = 0; i < section->n_fail_closed; i++)
			list[i] = text_setting(&section->fail_closed[i]);
	}
	free(policy->fail_closed);
	policy->fail_closed = list;
	policy->n_fail_closed = list ? section->n_fail_closed : 0;
	return 0;
}

int policy_resolve(struct policy *policy, const char *role)
{
	const struct policy_value *level = in_force(policy, role, KEY_NEED_LEVEL);

	policy->memcg = memcg_setting(policy, role, KEY_MEMCG);
	policy->if_unneeded = memcg_setting(policy, role, KEY_IF_UNNEEDED);
	policy->need_level = (struct policy_level_setting){ .value = NEED_DEGRADED };
	if (level) {
		policy->need_level.value = need_level_from_string(level->text);
		policy->need_level.source = level->source;
	}
	policy->role = text_setting(in_force(policy, NULL, KEY_ROLE));
	policy->backend = text_setting(in_force(policy, role, KEY_BACKEND));
	policy->effective_role = role;
	return resolve_fail_closed(policy, role);
}

struct policy_memcg_setting policy_role_memcg(const struct policy *policy)
{
	const struct policy_section *section =
		policy->effective_role ? section_find(policy, policy->effective_role) : NULL;
	const struct policy_value *value = section ? &section->values[KEY_MEMCG] : NULL;

	if (!value || !value->text)
		return (struct policy_memcg_setting){ .value = _POLICY_MEMCG_INVALID };
	return (struct policy_memcg_setting){
		.value = policy_memcg_from_string(value->text),
		.source = value->source,
	};
}

bool policy_has_role(const struct policy *policy, const char *word)
{
	return section_find(policy, word) != NULL;
}

/* --- set --- */

int policy_set_content(const struct policy *policy, const char *word, char **ret,
		       struct diag *diag)
{
	_cleanup_strbuf_ struct strbuf buf = {}, hint = {};
	struct diag_where where = {};
	const char *near = NULL;
	unsigned least = UINT_MAX;

	strbuf_addf(
		&buf,
		"# Written by \"memcg-policy set %s\", and replaced whole by the next one.\n"
		"# See memcg-policy.conf(5).\n[Policy]\n",
		word);
	if (policy_memcg_from_string(word) >= 0) {
		strbuf_addf(&buf, "Memcg=%s\n", word);
		return strbuf_take(&buf, ret, NULL);
	}
	if (policy_has_role(policy, word)) {
		strbuf_addf(&buf, "Role=%s\nMemcg=\n", word);
		return strbuf_take(&buf, ret, NULL);
	}
	for (size_t i = 0; section_memcg_words[i]; i++)
		if (str_is_nearer(word, section_memcg_words[i], &least))
			near = section_memcg_words[i];
	for (size_t i = 0; i < policy->n_sections; i++)
		if (policy->sections[i].name &&
		    str_is_nearer(word, policy->sections[i].name, &least))
			near = policy->sections[i].name;
	if (near)
		strbuf_addf(&hint, "did you mean memcg-policy set %s?", near);
	else {
		strbuf_adds(&hint, "there are on, off, auto, leave");
		for (size_t i = 0; i < policy->n_sections; i++)
			if (policy->sections[i].name)
				strbuf_addf(&hint, ", %s", policy->sections[i].name);
	}
	where.hint = hint.failed ? NULL : hint.data;
	diag_error(diag, &where, "\"%s\" is neither a policy nor a role", word);
	return -ENOENT;
}

static int set_loses(const struct policy_source *source, const char *key, const char *value,
		     struct diag *diag)
{
	_cleanup_free_ char *hint = NULL;
	struct diag_where where = {
		.path = source->path,
		.line = source->line,
		.column = source->column,
		.width = (unsigned)strlen(value),
	};

	if (str_printf(&hint, "take that line out, or change it in %s itself", source->path) <
	    0)
		return -ENOMEM;
	where.hint = hint;
	diag_error(diag, &where, "%s=%s is read after " POLICY_SET_PATH " and would win", key,
		   value);
	return -EEXIST;
}

int policy_set_check(const struct policy *policy, const char *word, struct diag *diag)
{
	const struct policy_section *section = section_find(policy, NULL);
	const struct policy_value *memcg = &section->values[KEY_MEMCG],
				  *role = &section->values[KEY_ROLE];

	if (policy_memcg_from_string(word) >= 0) {
		if (streq_ptr(memcg->text, word))
			return 0;
		/* an empty Memcg= of a later file takes ours back */
		return set_loses(&memcg->source, "Memcg", memcg->text ? memcg->text : "", diag);
	}
	if (!streq_ptr(role->text, word))
		return set_loses(&role->source, "Role", role->text ? role->text : "", diag);
	if (memcg->text)
		return set_loses(&memcg->source, "Memcg", memcg->text, diag);
	return 0;
}
