/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "needs/look.h"

#include "base/json.h"
#include "base/root.h"
#include "needs/enabled.h"
#include "needs/setting.h"

uint64_t look_now(clockid_t clock)
{
	struct timespec ts;

	(void)clock_gettime(clock, &ts); /* cannot fail for the two clocks used */
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

void look_init(struct look *look, const struct root *root, const struct running *running,
	       const struct units *units, struct diag *diag)
{
	*look = (struct look){
		.root = root,
		.running = running,
		.units = units,
		.diag = diag,
		.until = look_now(CLOCK_MONOTONIC) + LOOK_MAX_TOTAL_MS,
	};
}

void look_done(struct look *look)
{
	enabled_free(look->enabled);
	look_units_done(look);
	limits_done(&look->limits);
	strv_done(&look->active);
	strv_done(&look->warned);
	diag_done(&look->warnings);
	*look = (struct look){};
}

/* --- what was found, and what could not be looked at --- */

void look_failed(struct look *p, const char *path, int error, const char *why)
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

static void failed_errno(struct look *p, const char *path, int r)
{
	look_failed(p, path, r,
		    r == -EFBIG	   ? "too large, or too many entries"
		    : r == -EBADFD ? "not a regular file"
				   : strerror(-r));
}

/* False when the time is over. */
static bool in_time(struct look *p, const char *path)
{
	if (look_now(CLOCK_MONOTONIC) <= p->until &&
	    look_now(CLOCK_THREAD_CPUTIME_ID) <= p->detector_until)
		return true;
	look_failed(p, path, -EIO, "looking takes too long");
	return false;
}

int look_found(struct look *p, const char *path, unsigned line, const char *text, size_t size)
{
	_cleanup_free_ char *copy = NULL;
	size_t *matches = &p->matches[p->rule - p->detector->rules];

	if (p->rule->section == RULE_LIMITS)
		p->need->n_limits++;
	if (++*matches > LOOK_MAX_EVIDENCE)
		return 0;
	copy = str_dup_n(text, MIN(size, (size_t)LOOK_MAX_EVIDENCE_TEXT));
	if (!copy)
		return -ENOMEM;
	return need_add_evidence(p->need, path, line, copy);
}

/* --- files --- */

typedef int look_fn(struct look *p, const struct rule *rule, const char *path, char *text,
		    size_t size);

/* Calls look for every file that the glob matches. */
static int each_file(struct look *p, const struct rule *rule, const char *pattern, size_t max,
		     look_fn *look)
{
	_cleanup_strv_ struct strv paths = {};
	int r;

	r = root_glob_budget(p->root, pattern, false, LOOK_MAX_FILES, &p->budget, &paths);
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

static int look_setting(struct look *p, const struct rule *rule, const char *path, char *text,
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
	return look_found(p, path, setting.line, shown, strlen(shown));
}

static int look_text(struct look *p, const struct rule *rule, const char *path, char *text,
		     size_t size)
{
	char *end = text + size, *line;
	unsigned number = 0;

	while ((line = setting_next_line(&text, end))) {
		size_t from, to;
		int r;

		number++;
		if (strlen(line) > LOOK_MAX_LINE) {
			look_failed(p, path, -EIO, "a line is too long");
			continue;
		}
		if (number % 64 == 0 && !in_time(p, path))
			return 0;
		line = setting_strip(line);
		if (!rule_regex_match(rule->regex, line, &from, &to))
			continue;
		/* not the whole line: it may hold a password as well */
		r = look_found(p, path, number, line + from, to - from);
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
	const char *pointers[JSON_FIND_MAX]; /* what rules will ask for */
	struct json_span spans[JSON_FIND_MAX];
	size_t n;
	bool found; /* the spans answer */
	struct json *top;
	bool broken;
};

static void read_json(struct look *p, struct json_file *file, int *ret)
{
	size_t offset;

	if (json_find(file->text, file->size, file->pointers, file->n, file->spans) >= 0) {
		file->found = true;
		return;
	}
	*ret = json_parse(file->text, file->size, &file->top, &offset);
	file->broken = *ret < 0;
	if (*ret < 0 && *ret != -ENOMEM) {
		look_failed(p, file->path, -EIO,
			    *ret == -EINVAL ? "not JSON" : strerror(-*ret));
		*ret = 0;
	}
}

/* 1 with the value's text (NULL: no scalar), 0 when it is not there. */
static int json_value(struct look *p, struct json_file *file, const char *pointer,
		      char **ret_text, bool *ret_is_string)
{
	struct json *at;
	int r = 0;

	if (!file->found && !file->top && !file->broken)
		read_json(p, file, &r);
	if (r < 0 || file->broken)
		return r;
	for (size_t i = 0; file->found && i < file->n; i++) {
		const struct json_span *span = &file->spans[i];

		if (!streq(file->pointers[i], pointer))
			continue;
		if (!span->text)
			return 0;
		*ret_text = str_dup_n(span->text, span->size);
		*ret_is_string = span->is_string;
		return *ret_text ? 1 : -ENOMEM;
	}
	r = json_pointer(file->top, pointer, &at);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	*ret_is_string = json_is_string(at);
	r = scalar_text(at, ret_text);
	return r < 0 ? r : 1;
}

static int judge_json(struct look *p, const struct rule *rule, struct json_file *file)
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
	return look_found(p, file->path, 0, shown, strlen(shown));
}

static int look_json(struct look *p, const struct rule *rule, const char *path, char *text,
		     size_t size)
{
	struct json_file file = { .path = path, .text = text, .size = size };
	const struct rule *end = p->detector->rules + p->detector->n_rules;
	int r = 0;

	for (const struct rule *other = rule; other < end; other++)
		if (look_same_files(rule, other)) {
			/* too many: json_find() leaves them to the parser */
			if (file.n < JSON_FIND_MAX)
				file.pointers[file.n] = other->key;
			file.n++;
		}
	for (const struct rule *other = rule; r >= 0 && other < end; other++)
		if (look_same_files(rule, other))
			r = judge_json(p, other, &file);
	json_free(file.top);
	return r;
}

/* That there is something is told by the first few. */
static int look_path(struct look *p, const char *pattern)
{
	_cleanup_strv_ struct strv paths = {};
	int r;

	r = root_glob_budget(p->root, pattern, true, LOOK_MAX_EVIDENCE + 1, &p->budget, &paths);
	if (r == -ENOMEM)
		return r;
	if (r < 0 && paths.n <= LOOK_MAX_EVIDENCE)
		failed_errno(p, pattern, r);
	r = 0;
	for (size_t i = 0; r >= 0 && i < paths.n; i++) {
		bool more = i == LOOK_MAX_EVIDENCE;
		const char *text = more ? "and more" : "is there";

		r = look_found(p, more ? pattern : paths.items[i], 0, text, strlen(text));
	}
	return r;
}

/* --- units --- */

static int look_enabled(struct look *p, const char *pattern)
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
			r = look_found(p, path, 0, text, strlen(text));
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
static int read_active(struct look *p)
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

static int look_active(struct look *p, const char *pattern)
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
		r = look_found(p, path, 0, text, strlen(text));
	}
	return r;
}

/* --- variables --- */

/* The directory that the consumer's own configuration names, else the fallback. */
static int variable_value(struct look *p, const struct variable *v, char **ret)
{
	_cleanup_free_ char *text = NULL, *value = NULL;
	const char *path = v->rule.words.items[0];
	struct json_file file = { .path = path };
	bool is_string, json = v->rule.kind == RULE_JSON;
	size_t size = 0;
	int r;

	r = root_read(p->root, path, json ? ROOT_MAX_JSON : LOOK_MAX_TEXT, &text, &size);
	if (r == -ENOMEM)
		return r;
	if (r < 0 && r != -ENOENT && r != -ENOTDIR)
		failed_errno(p, path, r);
	if (r >= 0 && json) {
		file.text = text;
		file.size = size;
		file.pointers[0] = v->rule.key;
		file.n = 1;
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
			look_failed(p, path, -EIO, "names no usable directory");
		*ret = strdup(v->fallback);
	}
	return *ret ? 0 : -ENOMEM;
}

/* Replaces ${NAME} at the start of a pattern. */
static int expand(struct look *p, const char *pattern, char **ret)
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
		look_failed(p, p->need->path, -EIO, "unknown variable");
	*ret = strdup(pattern);
	return *ret ? 0 : -ENOMEM;
}

/* Rules that ask the same files are answered in one go. */
bool look_same_files(const struct rule *a, const struct rule *b)
{
	return a->kind == RULE_JSON && b->kind == RULE_JSON && a->section == b->section &&
	       streq(a->words.items[0], b->words.items[0]);
}

/* --- rules --- */

int look_word(struct look *p, const struct rule *rule, const char *word)
{
	_cleanup_free_ char *pattern = NULL;
	int r;

	switch (rule->kind) {
	case RULE_UNIT_ENABLED:
		return look_enabled(p, word);
	case RULE_UNIT_ACTIVE:
		return look_active(p, word);
	case RULE_CGROUP_LIMIT:
		return look_cgroup_limit(p, word);
	case RULE_UNIT_SETTING:
		return look_unit_setting(p, rule);
	default:
		r = expand(p, word, &pattern);
		if (r < 0)
			return r;
	}
	switch (rule->kind) {
	case RULE_PATH:
		return look_path(p, pattern);
	case RULE_SETTING:
		return each_file(p, rule, pattern, LOOK_MAX_TEXT, look_setting);
	case RULE_JSON:
		return each_file(p, rule, pattern, ROOT_MAX_JSON, look_json);
	case RULE_TEXT:
		return each_file(p, rule, pattern, LOOK_MAX_TEXT, look_text);
	default:
		return 0;
	}
}
