/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy/section.h"

#include "base/diag.h"
#include "base/ini.h"

#include <ctype.h>
#include <limits.h>

#define BLANKS " \t"

static const char *const key_names[_KEY_MAX] = {
	[KEY_MEMCG] = "Memcg",		[KEY_ROLE] = "Role",
	[KEY_NEED_LEVEL] = "NeedLevel", [KEY_IF_UNNEEDED] = "IfUnneeded",
	[KEY_BACKEND] = "Backend",	[KEY_FAIL_CLOSED] = "FailClosed",
};

const char *const section_memcg_words[] = { "on", "off", "auto", "leave", NULL };
static const char *const unneeded_words[] = { "off", "leave", NULL };
static const char *const level_words[] = { "required", "limits", "degraded", "monitor", NULL };

static void value_done(struct policy_value *value)
{
	free(value->text);
	free(value->line_text);
	*value = (struct policy_value){};
}

static void words_done(struct policy_section *section)
{
	for (size_t i = 0; i < section->n_fail_closed; i++)
		value_done(&section->fail_closed[i]);
	free(section->fail_closed);
	section->fail_closed = NULL;
	section->n_fail_closed = 0;
}

void section_done(struct policy_section *section)
{
	for (int key = 0; key < _KEY_MAX; key++)
		value_done(&section->values[key]);
	words_done(section);
	free(section->name);
}

struct policy_section *section_find(const struct policy *policy, const char *name)
{
	for (size_t i = 0; i < policy->n_sections; i++)
		if (streq_ptr(policy->sections[i].name, name))
			return &policy->sections[i];
	return NULL;
}

/* The section of that name, made when there is none; NULL when out of memory. */
static struct policy_section *get_section(struct policy *policy, const char *name)
{
	struct policy_section *section = section_find(policy, name), *more;

	if (section)
		return section;
	more = reallocarray(policy->sections, policy->n_sections + 1, sizeof(*more));
	if (!more)
		return NULL;
	policy->sections = more;
	section = &more[policy->n_sections];
	*section = (struct policy_section){};
	if (name) {
		section->name = strdup(name);
		if (!section->name)
			return NULL;
	}
	policy->n_sections++;
	return section;
}

static const char *nearest(const char *word, const char *const *words, size_t n)
{
	const char *best = NULL;
	unsigned least = UINT_MAX;

	for (size_t i = 0; i < n && words[i]; i++)
		if (str_is_nearer(word, words[i], &least))
			best = words[i];
	return best;
}

/* --- one file --- */

struct parser {
	struct policy *policy;
	const char *path; /* owned by policy->files */
	struct diag *diag;
	/* of the current section; NULL before the first and in one that is ignored */
	struct policy_section *section;
	bool in_section;
};

static struct diag_where at_key(const struct parser *p, const struct ini_item *item)
{
	return (struct diag_where){
		.path = p->path,
		.line = item->line,
		.column = item->column,
		.width = item->key ? (unsigned)strlen(item->key) : 0,
		.source = item->source,
		.source_size = item->source_size,
	};
}

static struct diag_where at_value(const struct parser *p, const struct ini_item *item)
{
	struct diag_where where = at_key(p, item);

	where.line = item->value_line;
	where.column = item->value_column;
	where.width = (unsigned)strlen(item->value);
	return where;
}

static bool is_role_name(const char *name)
{
	for (const char *c = name; *c; c++)
		if (!isascii(*c) || !(isalnum(*c) || (c > name && (*c == '-' || *c == '_'))))
			return false;
	return *name != '\0' && policy_memcg_from_string(name) < 0;
}

static int enter_section(struct parser *p, const struct ini_item *item)
{
	const char *name = item->section, *role = str_skip_prefix(name, "Role");
	struct diag_where where = at_key(p, item);

	where.width = (unsigned)strlen(name) + 2;
	p->in_section = true;
	p->section = NULL;
	if (streq(name, "Policy"))
		p->section = get_section(p->policy, NULL);
	else if (role && (*role == '\0' || strchr(BLANKS, *role))) {
		role += strspn(role, BLANKS);
		if (!is_role_name(role)) {
			where.hint = "a role is named by letters, digits, - and _; on, off, "
				     "auto and leave are policies";
			diag_error(p->diag, &where, "\"%s\" cannot be the name of a role",
				   role);
			return -EINVAL;
		}
		p->section = get_section(p->policy, role);
	} else {
		if (!str_skip_prefix(name, "X-"))
			diag_warning(p->diag, &where,
				     "unknown section [%s], ignored; there are [Policy] and "
				     "[Role NAME]",
				     name);
		return 0;
	}
	return p->section ? 0 : -ENOMEM;
}

static int set_value(const struct parser *p, const struct ini_item *item, const char *text,
		     unsigned column, struct policy_value *ret)
{
	value_done(ret);
	ret->source = (struct policy_source){
		.path = p->path,
		.line = item->value_line,
		.column = column,
	};
	if (*text == '\0')
		return 0;
	ret->text = strdup(text);
	ret->line_text = str_dup_n(item->source, item->source_size);
	return ret->text && ret->line_text ? 0 : -ENOMEM;
}

/* The value of a key that knows only certain words; NULL-terminated words. */
static int check_choice(const struct parser *p, const struct ini_item *item,
			const char *const *words)
{
	struct diag_where where = at_value(p, item);
	_cleanup_strbuf_ struct strbuf hint = {};
	const char *near;

	if (*item->value == '\0')
		return 0;
	for (size_t i = 0; words[i]; i++)
		if (streq(words[i], item->value))
			return 0;
	near = nearest(item->value, words, SIZE_MAX);
	if (near)
		strbuf_addf(&hint, "did you mean %s? ", near);
	else if (strpbrk(item->value, "#;"))
		strbuf_adds(&hint, "a comment has a line of its own; ");
	strbuf_addf(&hint, "%s= knows", item->key);
	for (size_t i = 0; words[i]; i++)
		strbuf_addf(&hint, "%s %s", i > 0 ? "," : "", words[i]);
	where.hint = hint.failed ? NULL : hint.data;
	diag_error(p->diag, &where, "%s= does not know \"%s\"", item->key, item->value);
	return -EINVAL;
}

/* Role= and Backend= name something; what exists is checked by who knows it. */
static int check_name(const struct parser *p, const struct ini_item *item, bool role)
{
	struct diag_where where = at_value(p, item);

	if (*item->value == '\0' || is_role_name(item->value) ||
	    (role && streq(item->value, POLICY_ROLE_AUTO)))
		return 0;
	if (role && policy_memcg_from_string(item->value) >= 0)
		where.hint = "on, off and leave are values of Memcg=";
	else if (strpbrk(item->value, "#;"))
		where.hint = "a comment has a line of its own";
	diag_error(p->diag, &where, "%s= does not know \"%s\"", item->key, item->value);
	return -EINVAL;
}

/* Whether nothing but wildcards and a unit type is left of the pattern. */
static bool matches_everything(const char *pattern)
{
	const char *end = strrchr(pattern, '.');
	size_t n = end && !strpbrk(end, "*?[") ? (size_t)(end - pattern) : strlen(pattern);

	return strspn(pattern, "*?.") >= n;
}

static int add_fail_closed(const struct parser *p, const struct ini_item *item)
{
	struct policy_section *section = p->section;
	_cleanup_strv_ struct strv words = {};
	const char *at = item->value;
	int r;

	/* as systemd's lists: assignments add up, an empty one starts again */
	if (*item->value == '\0')
		words_done(section);
	strv_split(&words, item->value, BLANKS);
	r = strv_error(&words);
	for (size_t i = 0; r >= 0 && i < words.n; i++) {
		const char *word = words.items[i];
		struct diag_where where = at_value(p, item);
		struct policy_value *more;

		at = strstr(at, word);
		where.column += (unsigned)(at - item->value);
		where.width = (unsigned)strlen(word);
		at += strlen(word);
		if (matches_everything(word) || strchr(word, '/')) {
			where.hint = "name the units, or globs such as db-*.service";
			diag_error(p->diag, &where,
				   strchr(word, '/')
					   ? "FailClosed= takes unit names, not \"%s\""
					   : "FailClosed=%s would stop every unit",
				   word);
			return -EINVAL;
		}
		more = reallocarray(section->fail_closed, section->n_fail_closed + 1,
				    sizeof(*more));
		if (!more)
			return -ENOMEM;
		section->fail_closed = more;
		more[section->n_fail_closed] = (struct policy_value){};
		r = set_value(p, item, word, where.column, &more[section->n_fail_closed++]);
	}
	return r;
}

static int parse_assignment(struct parser *p, const struct ini_item *item)
{
	struct diag_where where = at_key(p, item);
	_cleanup_free_ char *hint = NULL;
	int key = 0, r;
	const char *near;

	if (!p->section) {
		if (!p->in_section)
			diag_warning(p->diag, &where, "%s= before the first section, ignored",
				     item->key);
		return 0;
	}
	while (key < _KEY_MAX && !streq(key_names[key], item->key))
		key++;
	if (key == _KEY_MAX || (key == KEY_ROLE && p->section->name)) {
		near = nearest(item->key, key_names, _KEY_MAX);
		if (str_skip_prefix(item->key, "X-"))
			return 0;
		if (key == _KEY_MAX && near && str_printf(&hint, "did you mean %s=?", near) < 0)
			return -ENOMEM;
		where.hint = hint;
		diag_warning(p->diag, &where,
			     key == KEY_ROLE ? "%s= belongs in [Policy], ignored"
					     : "unknown key %s=, ignored",
			     item->key);
		return 0;
	}
	switch (key) {
	case KEY_MEMCG:
		r = check_choice(p, item, section_memcg_words);
		break;
	case KEY_NEED_LEVEL:
		r = check_choice(p, item, level_words);
		break;
	case KEY_IF_UNNEEDED:
		r = check_choice(p, item, unneeded_words);
		break;
	case KEY_FAIL_CLOSED:
		r = add_fail_closed(p, item);
		break;
	default:
		r = check_name(p, item, key == KEY_ROLE);
	}
	if (r < 0)
		return r;
	return set_value(p, item, item->value, item->value_column, &p->section->values[key]);
}

/* What a line that is not an assignment means: a policy half understood changes nothing. */
static int parse_other(struct parser *p, const struct ini_item *item)
{
	static const char *const fatal[] = {
		[INI_BAD_SECTION] = "a section header ends with ]",
		[INI_NOT_UTF8] = "not UTF-8 text",
		[INI_LINE_TOO_LONG] = "line too long",
	};
	const struct diag_where where = at_key(p, item);

	switch (item->kind) {
	case INI_SECTION:
		return enter_section(p, item);
	case INI_ASSIGNMENT:
		return parse_assignment(p, item);
	case INI_NO_EQUALS:
	case INI_EMPTY_KEY:
		diag_warning(p->diag, &where, "not of the form Key=value, ignored");
		return 0;
	default:
		diag_error(p->diag, &where, "%s", fatal[item->kind]);
		return -EINVAL;
	}
}

/* Goes on behind an error, so that all of them are reported at once. */
int section_parse_file(struct policy *policy, const char *path, const char *text, size_t size,
		       struct diag *diag)
{
	_cleanup_ini_ struct ini *ini = NULL;
	struct parser p = { .policy = policy, .diag = diag };
	int result = 0, r;

	strv_add(&policy->files, path);
	r = strv_error(&policy->files);
	if (r < 0)
		return r;
	p.path = policy->files.items[policy->files.n - 1];
	r = ini_new(text, size, &ini);
	if (r < 0)
		return r;
	for (;;) {
		struct ini_item item;

		r = ini_next(ini, &item);
		if (r < 0)
			return r;
		if (item.kind == INI_END)
			return result;
		r = parse_other(&p, &item);
		if (r == -ENOMEM)
			return r;
		if (r < 0)
			result = r;
	}
}
