/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "needs/probe.h"

#include "base/diag.h"
#include "base/json.h"
#include "base/root.h"
#include "base/str.h"
#include "needs/catalogue.h"
#include "needs/enabled.h"
#include "needs/setting.h"

#include <time.h>

/*
 * Bounds. Of time the processor's is counted first, since a busy host must not get other
 * answers; the clock on the wall is for disks that hang.
 */
enum {
	MAX_TEXT = 1024 * 1024,	 /* a settings file */
	MAX_LINE = 16 * 1024,	 /* a line of it that a regex is tried on */
	MAX_FILES = 50000,	 /* files that one glob matches */
	MAX_DETECTOR_MS = 5000,	 /* processor time of one detector */
	MAX_TOTAL_MS = 60000,	 /* all of them, by the clock */
	MAX_ENTRIES = 200000,	 /* directory entries that one detector looks at */
	MAX_EVIDENCE = 10,	 /* listed per rule; the rest is counted */
	MAX_EVIDENCE_TEXT = 200, /* bytes */
};

struct probe {
	const struct root *root;
	struct diag *diag;
	struct enabled *enabled; /* read when the first rule asks */
	struct strv active;	 /* likewise: files that stand for the active units */
	bool active_read;
	uint64_t until; /* for all detectors */

	/* the detector that runs */
	const struct detector *detector;
	const struct rule *rule;
	struct need *need;
	uint64_t detector_until;
	size_t budget; /* directory entries left */
	struct diag warnings;
	struct strv warned; /* paths that have a warning */
	bool broken;	    /* something failed that running as root would not help */
	size_t *matches;    /* of each rule */
	bool failed;	    /* the rule, or the group of rules, could not be answered */
};

static uint64_t now_ms(clockid_t clock)
{
	struct timespec ts;

	(void)clock_gettime(clock, &ts); /* cannot fail for the two clocks used */
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

int probe_new(const struct root *root, struct diag *diag, struct probe **ret)
{
	struct probe *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->root = root;
	p->diag = diag;
	p->until = now_ms(CLOCK_MONOTONIC) + MAX_TOTAL_MS;
	*ret = p;
	return 0;
}

struct probe *probe_free(struct probe *p)
{
	if (!p)
		return NULL;
	enabled_free(p->enabled);
	strv_done(&p->active);
	strv_done(&p->warned);
	diag_done(&p->warnings);
	free(p);
	return NULL;
}

/* --- what was found, and what could not be looked at --- */

static void failed(struct probe *p, const char *path, int error, const char *why)
{
	const struct diag_where where = {
		.path = path,
		.hint = error == -EACCES ? "run it as root" : NULL,
	};

	p->failed = true;
	if (error != -EACCES)
		p->broken = true;
	/* one bad file may be asked for by several rules */
	if (strv_add_unique(&p->warned, path))
		diag_warning(&p->warnings, &where,
			     "%s, so it does not tell whether %s is in use", why,
			     p->need->title);
}

static void failed_errno(struct probe *p, const char *path, int r)
{
	failed(p, path, r,
	       r == -EFBIG     ? "too large, or too many entries"
	       : r == -ENOTSUP ? "not a regular file"
			       : strerror(-r));
}

/* False when the time is over. */
static bool in_time(struct probe *p, const char *path)
{
	if (now_ms(CLOCK_MONOTONIC) <= p->until &&
	    now_ms(CLOCK_THREAD_CPUTIME_ID) <= p->detector_until)
		return true;
	failed(p, path, -EIO, "looking takes too long");
	return false;
}

static int found(struct probe *p, const char *path, unsigned line, const char *text,
		 size_t size)
{
	_cleanup_free_ char *copy = NULL;
	size_t *matches = &p->matches[p->rule - p->detector->rules];

	if (p->rule->section == RULE_LIMITS)
		p->need->n_limits++;
	if (++*matches > MAX_EVIDENCE)
		return 0;
	copy = str_dup_n(text, MIN(size, (size_t)MAX_EVIDENCE_TEXT));
	if (!copy)
		return -ENOMEM;
	return need_add_evidence(p->need, path, line, copy);
}

/* --- files --- */

typedef int look_fn(struct probe *p, const struct rule *rule, const char *path, char *text,
		    size_t size);

/* Calls look for every file that the glob matches. */
static int each_file(struct probe *p, const struct rule *rule, const char *pattern, size_t max,
		     look_fn *look)
{
	_cleanup_strv_ struct strv paths = {};
	int r;

	r = root_glob_budget(p->root, pattern, false, MAX_FILES, &p->budget, &paths);
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		failed_errno(p, pattern, r);
	for (size_t i = 0; i < paths.n; i++) {
		_cleanup_free_ char *text = NULL;
		size_t size;

		/* asking the clock costs as much as a read */
		if (i % 32 == 0 && !in_time(p, paths.items[i]))
			return 0;
		r = root_read(p->root, paths.items[i], max, &text, &size);
		if (r == -ENOMEM)
			return r;
		if (r == -ENOENT || r == -ENOTDIR || r == -EISDIR || r == -ELOOP)
			continue;
		if (r < 0) {
			failed_errno(p, paths.items[i], r);
			continue;
		}
		r = look(p, rule, paths.items[i], text, size);
		if (r < 0)
			return r;
	}
	return 0;
}

static bool value_matches(const struct rule *rule, const char *value)
{
	size_t start, end;

	switch (rule->op) {
	case RULE_EXISTS:
		return true;
	case RULE_EQUAL:
		return streq(value, rule->value);
	case RULE_NOT_EQUAL:
		return !streq(value, rule->value);
	case RULE_MATCH:
		return rule_regex_match(rule->regex, value, &start, &end);
	default:
		return false;
	}
}

static int look_setting(struct probe *p, const struct rule *rule, const char *path, char *text,
			size_t size)
{
	struct setting setting = setting_find(text, size, rule->ini_section, rule->key);
	_cleanup_free_ char *shown = NULL;
	int r;

	if (!setting.value || !value_matches(rule, setting.value))
		return 0;
	r = str_printf(&shown, "%s=%s", rule->key, setting.value);
	if (r < 0)
		return r;
	return found(p, path, setting.line, shown, strlen(shown));
}

static int look_text(struct probe *p, const struct rule *rule, const char *path, char *text,
		     size_t size)
{
	char *end = text + size, *line;
	unsigned number = 0;

	while ((line = setting_next_line(&text, end))) {
		size_t from, to;
		int r;

		number++;
		if (strlen(line) > MAX_LINE) {
			failed(p, path, -EIO, "a line is too long");
			continue;
		}
		if (number % 64 == 0 && !in_time(p, path))
			return 0;
		line = setting_strip(line);
		if (!rule_regex_match(rule->regex, line, &from, &to))
			continue;
		/* what matched, not the line: it may hold a password as well */
		r = found(p, path, number, line + from, to - from);
		if (r < 0)
			return r;
	}
	return 0;
}

/* A JSON scalar as text; NULL when it is none. */
static int scalar_text(struct json *value, char **ret)
{
	const char *s = json_as_string(value);

	*ret = NULL;
	if (json_is_object(value) || json_is_array(value))
		return 0;
	if (!s && value)
		return json_print(value, false, ret);
	if (!s)
		s = "null";
	*ret = strdup(s);
	return *ret ? 0 : -ENOMEM;
}

/* One JSON file; the tree is built only when json_find() cannot answer. */
struct json_file {
	const char *path;
	const char *text;
	size_t size;
	struct json *top;
	bool broken;
};

/* 1 with the value's text (NULL: no scalar), 0 when it is not there. */
static int json_value(struct probe *p, struct json_file *file, const char *pointer,
		      char **ret_text, bool *ret_is_string)
{
	struct json_span span;
	struct json *at;
	size_t offset;
	int r;

	if (!file->top && !file->broken) {
		r = json_find(file->text, file->size, pointer, &span);
		if (r == 0)
			return 0;
		if (r > 0) {
			*ret_text = str_dup_n(span.text, span.size);
			*ret_is_string = span.is_string;
			return *ret_text ? 1 : -ENOMEM;
		}
		r = json_parse(file->text, file->size, &file->top, &offset);
		if (r == -ENOMEM)
			return r;
		file->broken = r < 0;
		if (r < 0)
			failed(p, file->path, -EIO, "not JSON");
	}
	if (file->broken)
		return 0;
	r = json_pointer(file->top, pointer, &at);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	*ret_is_string = json_is_string(at);
	r = scalar_text(at, ret_text);
	return r < 0 ? r : 1;
}

static int judge_json(struct probe *p, const struct rule *rule, struct json_file *file)
{
	_cleanup_free_ char *shown = NULL, *value = NULL;
	bool is_string, hit;
	char *end;
	int r;

	r = json_value(p, file, rule->key, &value, &is_string);
	if (r <= 0)
		return r;
	if (rule->op == RULE_GREATER) {
		/* true, false and null are no numbers either */
		hit = value && !is_string && strtod(value, &end) > rule->number && *end == '\0';
	} else
		hit = rule->op == RULE_EXISTS || (value && value_matches(rule, value));
	if (!hit)
		return 0;
	r = str_printf(&shown, "%s = %s", rule->key, value ? value : "(there)");
	if (r < 0)
		return r;
	p->rule = rule;
	return found(p, file->path, 0, shown, strlen(shown));
}

/* Rules that ask the same files are answered in one go. */
static bool same_files(const struct rule *a, const struct rule *b)
{
	return a->kind == RULE_JSON && b->kind == RULE_JSON && a->section == b->section &&
	       streq(a->words.items[0], b->words.items[0]);
}

static int look_json(struct probe *p, const struct rule *rule, const char *path, char *text,
		     size_t size)
{
	struct json_file file = { .path = path, .text = text, .size = size };
	const struct rule *end = p->detector->rules + p->detector->n_rules;
	int r = 0;

	for (const struct rule *other = rule; r >= 0 && other < end; other++)
		if (same_files(rule, other))
			r = judge_json(p, other, &file);
	json_free(file.top);
	return r;
}

/* That there is something is told by the first few. */
static int look_path(struct probe *p, const char *pattern)
{
	_cleanup_strv_ struct strv paths = {};
	int r;

	r = root_glob_budget(p->root, pattern, true, MAX_EVIDENCE + 1, &p->budget, &paths);
	if (r == -ENOMEM)
		return r;
	if (r < 0 && paths.n <= MAX_EVIDENCE)
		failed_errno(p, pattern, r);
	r = 0;
	for (size_t i = 0; r >= 0 && i < paths.n; i++) {
		bool more = i == MAX_EVIDENCE;
		const char *text = more ? "and more" : "is there";

		r = found(p, more ? pattern : paths.items[i], 0, text, strlen(text));
	}
	return r;
}

/* --- units --- */

static int look_enabled(struct probe *p, const char *pattern)
{
	const char *unit, *path;
	size_t state = 0;
	int r = 0;

	if (!p->enabled) {
		r = enabled_new(p->root, &p->enabled);
		if (r < 0)
			return r;
	}
	while ((r = enabled_next(p->enabled, pattern, &state, &unit, &path)) > 0) {
		_cleanup_free_ char *text = NULL;

		r = str_printf(&text, "%s is enabled", unit);
		if (r >= 0)
			r = found(p, path, 0, text, strlen(text));
		if (r < 0)
			return r;
	}
	return r;
}

/*
 * The manager keeps a link "invocation:UNIT" for every active unit (src/core/unit.c,
 * unit_export_invocation_id() and unit_unlink_state_files()); OpenRC one for each that was
 * started. An offline root has neither.
 */
static int read_active(struct probe *p)
{
	_cleanup_strv_ struct strv systemd = {}, openrc = {};

	if (p->active_read)
		return 0;
	if (root_list(p->root, "/run/systemd/units", &systemd) == -ENOMEM ||
	    root_list(p->root, "/run/openrc/started", &openrc) == -ENOMEM)
		return -ENOMEM;
	for (size_t i = 0; i < systemd.n; i++)
		if (str_skip_prefix(systemd.items[i], "invocation:"))
			strv_addf(&p->active, "/run/systemd/units/%s", systemd.items[i]);
	for (size_t i = 0; i < openrc.n; i++)
		strv_addf(&p->active, "/run/openrc/started/%s", openrc.items[i]);
	p->active_read = true;
	return strv_error(&p->active);
}

static int look_active(struct probe *p, const char *pattern)
{
	int r = read_active(p);

	for (size_t i = 0; r >= 0 && i < p->active.n; i++) {
		_cleanup_free_ char *text = NULL, *unit = NULL;
		const char *path = p->active.items[i], *name = strrchr(path, '/') + 1,
			   *systemd = str_skip_prefix(name, "invocation:");

		if (str_printf(&unit, "%s%s", systemd ? systemd : name,
			       systemd ? "" : ".service") < 0)
			return -ENOMEM;
		if (!streq(pattern, unit) && !str_match_glob(pattern, unit))
			continue;
		if (str_printf(&text, "%s is active", unit) < 0)
			return -ENOMEM;
		r = found(p, path, 0, text, strlen(text));
	}
	return r;
}

/* --- variables --- */

/* The directory that the consumer's own configuration names, else the fallback. */
static int variable_value(struct probe *p, const struct variable *v, char **ret)
{
	_cleanup_free_ char *text = NULL, *value = NULL;
	const char *path = v->rule.words.items[0];
	struct json_file file = { .path = path };
	bool is_string, json = v->rule.kind == RULE_JSON;
	size_t size = 0;
	int r;

	r = root_read(p->root, path, json ? ROOT_MAX_JSON : MAX_TEXT, &text, &size);
	if (r == -ENOMEM)
		return r;
	if (r < 0 && r != -ENOENT && r != -ENOTDIR)
		failed_errno(p, path, r);
	if (r >= 0 && json) {
		file.text = text;
		file.size = size;
		r = json_value(p, &file, v->rule.key, &value, &is_string);
		json_free(file.top);
		if (r < 0)
			return r;
	} else if (r >= 0) {
		struct setting setting =
			setting_find(text, size, v->rule.ini_section, v->rule.key);

		value = setting.value ? strdup(setting.value) : NULL;
		if (setting.value && !value)
			return -ENOMEM;
	}
	if (value && *value == '/' && value[strcspn(value, "*?[")] == '\0')
		*ret = TAKE_PTR(value);
	else {
		if (value)
			failed(p, path, -EIO, "names no usable directory");
		*ret = strdup(v->fallback);
	}
	return *ret ? 0 : -ENOMEM;
}

/* Replaces ${NAME} at the start of a pattern. */
static int expand(struct probe *p, const char *pattern, char **ret)
{
	_cleanup_free_ char *value = NULL;
	const char *end = *pattern == '$' ? strchr(pattern, '}') : NULL;
	int r;

	for (size_t i = 0; end && i < p->detector->n_variables; i++) {
		const struct variable *v = &p->detector->variables[i];

		if (pattern[1] != '{' || strlen(v->name) != (size_t)(end - pattern) - 2 ||
		    strncmp(v->name, pattern + 2, strlen(v->name)) != 0)
			continue;
		r = variable_value(p, v, &value);
		return r < 0 ? r : str_printf(ret, "%s%s", value, end + 1);
	}
	if (*pattern == '$')
		failed(p, p->need->path, -EIO, "unknown variable");
	*ret = strdup(pattern);
	return *ret ? 0 : -ENOMEM;
}

/* --- rules --- */

static int run_word(struct probe *p, const struct rule *rule, const char *word)
{
	_cleanup_free_ char *pattern = NULL;
	int r;

	switch (rule->kind) {
	case RULE_UNIT_ENABLED:
		return look_enabled(p, word);
	case RULE_UNIT_ACTIVE:
		return look_active(p, word);
	default:
		r = expand(p, word, &pattern);
		if (r < 0)
			return r;
	}
	switch (rule->kind) {
	case RULE_PATH:
		return look_path(p, pattern);
	case RULE_SETTING:
		return each_file(p, rule, pattern, MAX_TEXT, look_setting);
	case RULE_JSON:
		return each_file(p, rule, pattern, ROOT_MAX_JSON, look_json);
	case RULE_TEXT:
		return each_file(p, rule, pattern, MAX_TEXT, look_text);
	default:
		return 0;
	}
}

/* The rest of what was counted and not listed. */
static int add_rest(struct probe *p, const struct rule *rule, size_t matches)
{
	_cleanup_free_ char *text = NULL;
	int r;

	if (matches <= MAX_EVIDENCE || rule->kind == RULE_PATH)
		return 0;
	r = str_printf(&text, "and %zu more", matches - MAX_EVIDENCE);
	return r < 0 ? r : need_add_evidence(p->need, rule->words.items[0], 0, text);
}

/* Whether the rule, or one that asks the same files, matched, did not, or cannot tell. */
static int run_rule(struct probe *p, const struct rule *rule, enum need_state *ret)
{
	const struct rule *end = p->detector->rules + p->detector->n_rules;
	bool matched = false;
	int r = 0;

	p->rule = rule;
	p->failed = false;
	for (size_t i = 0; r >= 0 && i < (rule->kind <= RULE_PATH ? rule->words.n : 1); i++)
		r = run_word(p, rule, rule->words.items[i]);
	for (const struct rule *other = rule; r >= 0 && other < end; other++) {
		size_t matches = p->matches[other - p->detector->rules];

		if (other != rule && !same_files(rule, other))
			continue;
		matched = matched || matches > 0;
		r = add_rest(p, other, matches);
	}
	*ret = matched ? NEED_YES : p->failed ? NEED_UNKNOWN : NEED_NO;
	return r < 0 ? r : 0;
}

static bool is_answered(const struct probe *p, const struct rule *rule)
{
	for (const struct rule *before = p->detector->rules; before < rule; before++)
		if (same_files(before, rule))
			return true;
	return false;
}

/* Runs the rules of one section; yes beats unknown beats no. */
static int run_section(struct probe *p, enum rule_section section, enum need_state *state)
{
	for (size_t i = 0; i < p->detector->n_rules; i++) {
		const struct rule *rule = &p->detector->rules[i];
		enum need_state one;
		int r;

		if (rule->section != section || is_answered(p, rule))
			continue;
		/* that it is installed need not be shown twice */
		if (section == RULE_INSTALLED && *state == NEED_YES)
			return 0;
		r = run_rule(p, rule, &one);
		if (r < 0)
			return r;
		if (one == NEED_YES || (one == NEED_UNKNOWN && *state == NEED_NO))
			*state = one;
	}
	return 0;
}

int probe_run(struct probe *p, const struct detector *d, struct need *need)
{
	enum need_state start = d->bad ? NEED_UNKNOWN : NEED_NO;
	_cleanup_free_ size_t *matches = calloc(d->n_rules + 1, sizeof(*matches));
	int r;

	if (!matches)
		return -ENOMEM;
	p->matches = matches;
	p->detector = d;
	p->need = need;
	p->broken = d->bad;
	p->budget = MAX_ENTRIES;
	p->detector_until = now_ms(CLOCK_THREAD_CPUTIME_ID) + MAX_DETECTOR_MS;
	strv_done(&p->warned);
	/* limits first: of several reasons the stored limit is the one to read first */
	need->in_use = start;
	need->installed = start;
	r = run_section(p, RULE_LIMITS, &need->in_use);
	if (r >= 0)
		r = run_section(p, RULE_IN_USE, &need->in_use);
	if (need->in_use == NEED_YES)
		need->installed = NEED_YES;
	if (r >= 0)
		r = run_section(p, RULE_INSTALLED, &need->installed);
	/* other people's directories say nothing about what is not installed */
	if (r >= 0 && need->installed == NEED_NO && !p->broken)
		need->in_use = NEED_NO;
	else
		diag_move(p->diag, &p->warnings);
	diag_done(&p->warnings);
	return r;
}
