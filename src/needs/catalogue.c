/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "needs/catalogue.h"

#include "base/diag.h"
#include "base/ini.h"
#include "base/root.h"
#include "policy/conf.h"

#include <ctype.h>
#include <regex.h>

#define BLANKS " \t"

struct rule_regex {
	regex_t re;
};

static const char *const kind_names[_RULE_KIND_MAX] = {
	[RULE_UNIT_ENABLED] = "UnitEnabled",
	[RULE_UNIT_ACTIVE] = "UnitActive",
	[RULE_CGROUP_LIMIT] = "CgroupLimit",
	[RULE_PATH] = "Path",
	[RULE_SETTING] = "Setting",
	[RULE_JSON] = "Json",
	[RULE_TEXT] = "Text",
	[RULE_UNIT_SETTING] = "UnitSetting",
};

static const char *const op_names[_RULE_OP_MAX] = {
	[RULE_EXISTS] = "exists", [RULE_EQUAL] = "=",	[RULE_NOT_EQUAL] = "!=",
	[RULE_MATCH] = "~",	  [RULE_GREATER] = ">",
};

static const char *const section_names[_RULE_SECTION_MAX] = {
	[RULE_INSTALLED] = "Installed",
	[RULE_IN_USE] = "InUse",
	[RULE_LIMITS] = "Limits",
	[RULE_ENABLED] = "Enabled",
};

/* --- regular expressions --- */

static struct rule_regex *regex_free(struct rule_regex *regex)
{
	if (regex)
		regfree(&regex->re);
	free(regex);
	return NULL;
}

/* 0, -ENOMEM, or -EINVAL with *ret_why (a buffer of size bytes) filled. */
static int regex_new(const char *text, struct rule_regex **ret, char *ret_why, size_t size)
{
	struct rule_regex *regex = calloc(1, sizeof(*regex));
	int r;

	if (!regex)
		return -ENOMEM;
	r = regcomp(&regex->re, text, REG_EXTENDED);
	if (r != 0) {
		(void)regerror(r, &regex->re, ret_why, size); /* cut is fine */
		free(regex);
		return r == REG_ESPACE ? -ENOMEM : -EINVAL;
	}
	*ret = regex;
	return 0;
}

bool rule_regex_match(const struct rule_regex *regex, const char *s, size_t *ret_start,
		      size_t *ret_end)
{
	regmatch_t match[2];
	int shown;

	if (regexec(&regex->re, s, ARRAY_SIZE(match), match, 0) != 0)
		return false;
	shown = match[1].rm_so >= 0 ? 1 : 0;
	*ret_start = (size_t)match[shown].rm_so;
	*ret_end = (size_t)match[shown].rm_eo;
	return true;
}

/* --- memory --- */

static void rule_done(struct rule *rule)
{
	strv_done(&rule->words);
	free(rule->ini_section);
	free(rule->key);
	free(rule->value);
	regex_free(rule->regex);
	*rule = (struct rule){};
}

static void detector_done(struct detector *d)
{
	for (size_t i = 0; i < d->n_rules; i++)
		rule_done(&d->rules[i]);
	for (size_t i = 0; i < d->n_variables; i++) {
		free(d->variables[i].name);
		free(d->variables[i].fallback);
		rule_done(&d->variables[i].rule);
	}
	free(d->rules);
	free(d->variables);
	need_done(&d->need);
	*d = (struct detector){};
}

void catalogue_done(struct catalogue *catalogue)
{
	for (size_t i = 0; i < catalogue->n; i++)
		detector_done(&catalogue->detectors[i]);
	free(catalogue->detectors);
	*catalogue = (struct catalogue){};
}

/* --- one line --- */

struct parser {
	struct detector *detector;
	const char *path;
	struct diag *diag;
	bool level_seen;
};

/* Warns about the item, marking what is at column, and makes the detector bad. */
static void complain(struct parser *p, const struct ini_item *item, const char *at,
		     const char *hint, const char *text, const char *detail)
{
	const bool in_value =
		at && at >= item->value && at <= item->value + strlen(item->value);
	struct diag_where where = {
		.path = p->path,
		.line = in_value ? item->value_line : item->line,
		.column = item->column,
		.width = item->key ? (unsigned)strlen(item->key) : 1,
		.source = item->source,
		.source_size = item->source_size,
		.hint = hint,
	};

	if (in_value) {
		where.column = item->value_column + (unsigned)(at - item->value);
		where.width = MAX((unsigned)strcspn(at, BLANKS), 1U);
	}
	diag_warning(p->diag, &where, "%s%s%s, so %s is not judged by it", text,
		     detail ? ": " : "", detail ? detail : "", p->detector->need.id);
	p->detector->bad = true;
}

/* The next word of *s, or NULL; *s moves behind it and the blanks that follow. */
static const char *next_word(const char **s, size_t *ret_size)
{
	const char *word = *s;

	*ret_size = strcspn(word, BLANKS);
	if (*ret_size == 0)
		return NULL;
	*s = word + *ret_size;
	*s += strspn(*s, BLANKS);
	return word;
}

/* "[SECTION] KEY" of a Setting, or the POINTER of a Json. 1 when complete, 0 when not. */
static int parse_key(const char **s, enum rule_kind kind, struct rule *rule)
{
	const char *word;
	size_t n;

	if (kind == RULE_SETTING && **s == '[') {
		n = strcspn(*s, "]");
		if ((*s)[n] == '\0')
			return 0;
		rule->ini_section = str_dup_n(*s + 1, n - 1);
		if (!rule->ini_section)
			return -ENOMEM;
		*s += n + 1;
		*s += strspn(*s, BLANKS);
	}
	word = next_word(s, &n);
	if (!word || (kind == RULE_JSON && *word != '/'))
		return 0;
	rule->key = str_dup_n(word, n);
	return rule->key ? 1 : -ENOMEM;
}

/* "OP VALUE": 1 when complete, 0 when not (*s stays at what is wrong). */
static int parse_op(const char **s, enum rule_kind kind, struct rule *rule)
{
	const char *start = *s, *word;
	size_t n;
	char *end;
	int op = 0;

	word = next_word(s, &n);
	while (op < _RULE_OP_MAX &&
	       !(word && strlen(op_names[op]) == n && memcmp(op_names[op], word, n) == 0))
		op++;
	if (op == _RULE_OP_MAX || (op == RULE_GREATER && kind != RULE_JSON)) {
		*s = start;
		return 0;
	}
	rule->op = (enum rule_op)op;
	if ((**s == '\0') != (op == RULE_EXISTS))
		return 0;
	rule->value = strdup(*s);
	if (!rule->value)
		return -ENOMEM;
	if (op == RULE_GREATER) {
		rule->number = strtod(rule->value, &end);
		if (*end != '\0')
			return 0;
	}
	return 1;
}

static int parse_rule(struct parser *p, const struct ini_item *item, enum rule_kind kind,
		      bool with_op, const char *value, struct rule *rule)
{
	static const char *const forms[_RULE_KIND_MAX] = {
		[RULE_UNIT_ENABLED] = "UnitEnabled=NAME|GLOB ...",
		[RULE_UNIT_ACTIVE] = "UnitActive=NAME|GLOB ...",
		[RULE_CGROUP_LIMIT] = "CgroupLimit=GLOB ...",
		[RULE_PATH] = "Path=GLOB ...",
		[RULE_SETTING] = "Setting=GLOB [SECTION] KEY OP VALUE, OP being = != ~ exists",
		[RULE_JSON] = "Json=GLOB POINTER OP VALUE, OP being = != ~ > exists",
		[RULE_TEXT] = "Text=GLOB REGEX",
		[RULE_UNIT_SETTING] = "UnitSetting=GLOB KEY ...",
	};
	const char *s = value, *regex = NULL, *word;
	char why[128];
	size_t n;
	int r = 1;

	rule->kind = kind;
	rule->line = item->line;
	if (kind <= RULE_PATH || kind == RULE_UNIT_SETTING) {
		strv_split(&rule->words, value, BLANKS);
		r = strv_error(&rule->words);
		if (r >= 0)
			r = rule->words.n > (kind == RULE_UNIT_SETTING ? 1 : 0);
	} else {
		word = next_word(&s, &n);
		if (word)
			strv_add_n(&rule->words, word, n);
		r = strv_error(&rule->words);
		if (r >= 0)
			r = word && *s;
		if (r > 0 && kind == RULE_TEXT)
			regex = s;
		else if (r > 0) {
			r = parse_key(&s, kind, rule);
			if (r > 0 && with_op)
				r = parse_op(&s, kind, rule);
			if (r > 0 && rule->op == RULE_MATCH)
				regex = s;
		}
	}
	if (r < 0)
		return r;
	if (r == 0) {
		complain(p, item, s, forms[kind], "not understood", NULL);
		return 0;
	}
	/* only unit names and ${VARIABLES} start without a slash */
	for (size_t i = 0; kind >= RULE_PATH && kind != RULE_UNIT_SETTING && i < rule->words.n;
	     i++)
		if (!strchr("/$", rule->words.items[i][0])) {
			complain(p, item, item->value, forms[kind], "not an absolute path",
				 rule->words.items[i]);
			return 0;
		}
	if (!regex)
		return 1;
	r = regex_new(regex, &rule->regex, why, sizeof(why));
	if (r == -EINVAL) {
		complain(p, item, regex, "POSIX extended regular expressions: man 7 regex",
			 "not a regular expression", why);
		return 0;
	}
	return r < 0 ? r : 1;
}

static int add_rule(struct parser *p, const struct ini_item *item, enum rule_section section)
{
	struct detector *d = p->detector;
	struct rule rule = { .section = section }, *more;
	int kind = 0, r;

	while (kind < _RULE_KIND_MAX && !streq(kind_names[kind], item->key))
		kind++;
	if (kind == _RULE_KIND_MAX) {
		if (!str_skip_prefix(item->key, "X-"))
			complain(p, item, NULL, NULL, "unknown key", item->key);
		return 0;
	}
	more = reallocarray(d->rules, d->n_rules + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	d->rules = more;
	r = parse_rule(p, item, (enum rule_kind)kind, true, item->value, &rule);
	if (r <= 0) {
		rule_done(&rule);
		return r;
	}
	d->rules[d->n_rules++] = rule;
	return 0;
}

/* Variable=NAME FALLBACK Setting|Json GLOB KEY */
static int add_variable(struct parser *p, const struct ini_item *item)
{
	struct detector *d = p->detector;
	struct variable v = {}, *more;
	const char *s = item->value, *name, *fallback, *kind;
	size_t name_size, fallback_size, kind_size;
	int r = -ENOMEM;

	name = next_word(&s, &name_size);
	fallback = next_word(&s, &fallback_size);
	kind = next_word(&s, &kind_size);
	more = reallocarray(d->variables, d->n_variables + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	d->variables = more;
	if (!kind || *fallback != '/' ||
	    !(strncmp(kind, "Json ", 5) == 0 || strncmp(kind, "Setting ", 8) == 0)) {
		complain(p, item, item->value, "Variable=NAME /DIRECTORY Setting|Json FILE KEY",
			 "not understood", NULL);
		return 0;
	}
	v.name = str_dup_n(name, name_size);
	v.fallback = str_dup_n(fallback, fallback_size);
	if (v.name && v.fallback)
		r = parse_rule(p, item, *kind == 'J' ? RULE_JSON : RULE_SETTING, false, s,
			       &v.rule);
	if (r <= 0) {
		free(v.name);
		free(v.fallback);
		rule_done(&v.rule);
		return r;
	}
	d->variables[d->n_variables++] = v;
	return 0;
}

static int set_text(char **field, const char *value)
{
	free(*field);
	*field = *value ? strdup(value) : NULL;
	return *value && !*field ? -ENOMEM : 0;
}

static int parse_need(struct parser *p, const struct ini_item *item)
{
	struct need *need = &p->detector->need;
	enum need_level level;

	if (streq(item->key, "Title"))
		return set_text(&need->title, item->value);
	if (streq(item->key, "Effect"))
		return set_text(&need->effect, item->value);
	if (streq(item->key, "Documentation"))
		return set_text(&need->documentation, item->value);
	if (streq(item->key, "Role"))
		return set_text(&need->role, item->value);
	if (streq(item->key, "Variable"))
		return add_variable(p, item);
	if (streq(item->key, "Level")) {
		level = need_level_from_string(item->value);
		if (level < 0)
			complain(p, item, item->value, "required, limits, degraded or monitor",
				 "unknown level", item->value);
		else {
			need->level = level;
			p->level_seen = true;
		}
		return 0;
	}
	if (!str_skip_prefix(item->key, "X-"))
		complain(p, item, NULL, NULL, "unknown key", item->key);
	return 0;
}

static int parse_item(struct parser *p, const struct ini_item *item)
{
	static const char *const texts[] = {
		[INI_NO_EQUALS] = "not of the form Key=value",
		[INI_EMPTY_KEY] = "not of the form Key=value",
		[INI_BAD_SECTION] = "a section header ends with ]",
		[INI_NOT_UTF8] = "not UTF-8 text",
		[INI_LINE_TOO_LONG] = "line too long",
	};

	switch (item->kind) {
	case INI_SECTION:
		for (size_t i = 0; i < ARRAY_SIZE(section_names); i++)
			if (streq(item->section, section_names[i]))
				return 0;
		if (!streq(item->section, "Need") && !str_skip_prefix(item->section, "X-"))
			complain(p, item, NULL, NULL, "unknown section", item->section);
		return 0;
	case INI_ASSIGNMENT:
		if (streq(item->section, "Need"))
			return parse_need(p, item);
		for (size_t i = 0; i < ARRAY_SIZE(section_names); i++)
			if (streq(item->section, section_names[i]))
				return add_rule(p, item, (enum rule_section)i);
		return 0;
	default:
		complain(p, item, NULL, NULL, texts[item->kind], NULL);
		return 0;
	}
}

/* --- files --- */

static int parse_file(struct parser *p, const char *text, size_t size)
{
	_cleanup_ini_ struct ini *ini = NULL;
	int r = ini_new(text, size, &ini);

	while (r >= 0) {
		struct ini_item item;

		r = ini_next(ini, &item);
		if (r < 0 || item.kind == INI_END)
			break;
		r = parse_item(p, &item);
	}
	return r;
}

/* 1 when the detector can be used. */
static int load_file(const struct root *root, const char *path, struct detector *d,
		     struct diag *diag)
{
	const struct diag_where where = { .path = path };
	struct parser p = { .detector = d, .path = path, .diag = diag };
	_cleanup_free_ char *text = NULL;
	const char *name = strrchr(path, '/') + 1;
	size_t size;
	int r;

	d->need.id = str_dup_n(name, strlen(name) - strlen(".conf"));
	d->need.path = strdup(path);
	if (!d->need.id || !d->need.path)
		return -ENOMEM;
	r = conf_read(root, path, DIAG_WARNING, &text, &size, diag);
	if (r < 0)
		return r;
	if (size == 0)
		return 0; /* masked */
	r = parse_file(&p, text, size);
	if (r < 0)
		return r;
	if (!d->need.title || !d->need.effect || !p.level_seen) {
		diag_warning(diag, &where, "no %s= in [Need], so %s is not looked for",
			     !d->need.title    ? "Title"
			     : !d->need.effect ? "Effect"
					       : "Level",
			     d->need.id);
		return -EINVAL;
	}
	return 1;
}

int catalogue_load(const struct root *root, struct catalogue *ret, struct diag *diag)
{
	_cleanup_catalogue_ struct catalogue catalogue = {};
	_cleanup_strv_ struct strv paths = {};
	int r;

	r = conf_list(root, "needs.d", NULL, DIAG_WARNING, &paths, diag);
	if (r == -ENOMEM)
		return r;
	catalogue.incomplete = r < 0;
	catalogue.detectors = calloc(paths.n + 1, sizeof(*catalogue.detectors));
	if (!catalogue.detectors)
		return -ENOMEM;
	for (size_t i = 0; i < paths.n; i++) {
		struct detector *d = &catalogue.detectors[catalogue.n];

		r = load_file(root, paths.items[i], d, diag);
		if (r > 0) {
			catalogue.n++;
			continue;
		}
		detector_done(d);
		if (r == -ENOMEM)
			return r;
		if (r < 0)
			catalogue.incomplete = true;
	}
	*ret = catalogue;
	catalogue = (struct catalogue){};
	return 0;
}
