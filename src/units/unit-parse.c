/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "units/unit-parse.h"

#include "base/diag.h"
#include "base/ini.h"
#include "units/unit-load.h"

/* lines not in force kept of one unit; enough for people, and bounded for everybody else */
enum { MAX_REJECTED = 100 };

static struct unit_line *find_set(struct unit *unit, const struct unit_setting *setting)
{
	for (size_t i = 0; i < unit->n_set; i++)
		if (unit->lines[i].setting == setting)
			return &unit->lines[i];
	return NULL;
}

static void line_done(struct unit_line *line)
{
	free(line->value);
	free(line->why);
}

/* Whether there is no place for one more line that is not in force. */
static bool is_full(struct unit *unit)
{
	unit->truncated = unit->truncated || unit->n_lines - unit->n_set >= MAX_REJECTED;
	return unit->truncated;
}

/* Of a line in force: the last of these takes its place, and the last of all that one's. */
static void remove_line(struct unit *unit, struct unit_line *line)
{
	line_done(line);
	*line = unit->lines[--unit->n_set];
	unit->lines[unit->n_set] = unit->lines[--unit->n_lines];
}

/* Moves the last line to those in force. */
static void put_in_force(struct unit *unit)
{
	struct unit_line *first = &unit->lines[unit->n_set++];
	struct unit_line *last = &unit->lines[unit->n_lines - 1];
	struct unit_line line = *first;

	*first = *last;
	*last = line;
}

/* Appends a line; why is taken over. */
static int add_line(struct unit *unit, const struct unit_setting *setting,
		    enum unit_line_state state, const struct unit_parse *parse,
		    const struct ini_item *item, char *why)
{
	struct unit_line line = {
		.setting = setting,
		.state = state,
		.source = parse->source,
		.line = item->value_line,
		.column = item->value_column,
		.why = why,
	};
	struct unit_line *lines;

	if (state != UNIT_LINE_SET && is_full(unit)) {
		free(why);
		return 0;
	}
	line.value = strdup(item->value);
	lines = line.value && (why || state == UNIT_LINE_SET)
			? reallocarray(unit->lines, unit->n_lines + 1, sizeof(*lines))
			: NULL;
	if (!lines) {
		line_done(&line);
		return -ENOMEM;
	}
	unit->lines = lines;
	unit->lines[unit->n_lines++] = line;
	if (state == UNIT_LINE_SET)
		put_in_force(unit);
	return 0;
}

/* "MemoryMax=256M (line 3 of /etc/...) stays", or that there is none. */
static int what_stays(const struct unit *unit, const struct unit_line *before,
		      const struct unit_setting *setting, char **ret)
{
	if (before)
		return str_printf(ret, "%s=%s (%s:%u) stays", setting->name, before->value,
				  unit->sources.items[before->source], before->line);
	return str_printf(ret, "%s= keeps its default", setting->name);
}

static int add_rejected(struct unit *unit, const struct unit_setting *setting,
			const struct unit_parse *parse, const struct ini_item *item, int error)
{
	_cleanup_free_ char *stays = NULL;
	const char *complaint = "not one of the values it can have";
	char *why = NULL;
	int r;

	if (is_full(unit))
		return 0;
	if (setting->form == UNIT_VALUE_SIZE || setting->form == UNIT_VALUE_OOM_SHARE)
		complaint = unit_value_complaint(item->value, error);
	else if (setting->form == UNIT_VALUE_BOOL)
		complaint = "not yes or no";
	else if (setting->form == UNIT_VALUE_OOM_SPAN)
		complaint = "not a time of at least one second";
	r = what_stays(unit, find_set(unit, setting), setting, &stays);
	if (r >= 0)
		r = str_printf(&why, "systemd ignores the line (%s), %s", complaint, stays);
	if (r < 0)
		return r;
	return add_line(unit, setting, UNIT_LINE_REJECTED, parse, item, why);
}

static int set_line(struct unit *unit, struct unit_line *before,
		    const struct unit_setting *setting, const struct unit_parse *parse,
		    const struct ini_item *item, const struct unit_parsed *parsed)
{
	int r;

	if (before)
		remove_line(unit, before);
	if (!parsed->active)
		return 0;
	r = add_line(unit, setting, UNIT_LINE_SET, parse, item, NULL);
	if (r >= 0)
		unit->lines[unit->n_set - 1].parsed = *parsed;
	return r;
}

/* An assignment of a setting in the section where it belongs. */
static int apply(struct unit *unit, const struct unit_setting *setting,
		 const struct unit_parse *parse, const struct ini_item *item)
{
	static const struct unit_parsed nothing = {};
	struct unit_line *before = find_set(unit, setting);
	struct unit_parsed alone = {}, parsed = {};
	char *why = NULL;
	int r;

	r = unit_setting_parse(setting, unit->type, item->value, parse->version, &nothing,
			       &alone);
	if (r == -EINVAL || r == -ERANGE)
		return add_rejected(unit, setting, parse, item, r);
	if (r == -EOPNOTSUPP) {
		r = str_printf(&why, "%s units cannot have it, systemd ignores the line",
			       unit_type_to_string(unit->type));
		return r < 0 ? r
			     : add_line(unit, setting, UNIT_LINE_UNSUPPORTED, parse, item, why);
	}
	if (r < 0)
		return r;
	/* a list that grows: a line that adds nothing to what matters leaves the earlier one */
	if (before && !alone.active) {
		r = unit_setting_parse(setting, unit->type, item->value, parse->version,
				       &before->parsed, &parsed);
		if (r < 0)
			return r;
		if (parsed.active)
			return 0;
	}
	return set_line(unit, before, setting, parse, item, &alone);
}

static void warn_section(const struct unit *unit, const struct unit_parse *parse,
			 const struct ini_item *item, const char *wanted)
{
	struct diag_where where = {
		.path = unit->sources.items[parse->source],
		.line = item->line,
		.column = item->column,
		.width = (unsigned)strlen(item->key),
		.source = item->source,
		.source_size = item->source_size,
	};

	if (parse->diag->n >= UNIT_PARSE_MAX_MESSAGES)
		return;
	if (*item->section)
		diag_warning(parse->diag, &where,
			     "systemd ignores %s= in section [%s]: it belongs into [%s]",
			     item->key, item->section, wanted);
	else
		diag_warning(parse->diag, &where,
			     "systemd ignores %s= outside of a section: it belongs into [%s]",
			     item->key, wanted);
}

/* The slice's name with the specifiers that make up one; false when it is none. */
static bool expand_slice(const struct unit *unit, const char *value,
			 char ret[static UNIT_NAME_MAX])
{
	size_t n = 0, prefix = 0, instance_size = 0;
	const char *instance = NULL;

	if (unit->name) {
		instance = unit_name_instance(unit->name, &instance_size);
		prefix = instance ? (size_t)(instance - unit->name) - 1
				  : (size_t)(strrchr(unit->name, '.') - unit->name);
	}
	for (; *value; value++) {
		const char *part = value;
		size_t size = 1;

		if (*value == '%') {
			value++;
			if (*value == 'i' && instance) {
				part = instance;
				size = instance_size;
			} else if (*value == 'p' && unit->name) {
				part = unit->name;
				size = prefix;
			} else
				return false; /* of a template, too: it is never loaded */
		}
		if (n + size >= UNIT_NAME_MAX)
			return false;
		memcpy(ret + n, part, size);
		n += size;
	}
	ret[n] = '\0';
	return unit_name_type(ret) == UNIT_SLICE;
}

/* The keys that are no findings by themselves. */
static int apply_other(struct unit *unit, const struct ini_item *item)
{
	const char *section = unit_type_section(unit->type);
	char slice[UNIT_NAME_MAX];
	const char *value = item->value;
	char **text = NULL;
	bool yes;

	if (streq(item->section, "Install")) {
		if (*item->value &&
		    (streq(item->key, "WantedBy") || streq(item->key, "RequiredBy") ||
		     streq(item->key, "UpheldBy") || streq(item->key, "Alias") ||
		     streq(item->key, "Also")))
			unit->has_install = true;
		return 0;
	}
	if (section && streq(item->section, section) && streq(item->key, "Slice") &&
	    unit->type != UNIT_SLICE && expand_slice(unit, value, slice)) {
		text = &unit->slice;
		value = slice;
	} else if ((streq(item->section, "Timer") || streq(item->section, "Path")) &&
		   streq(item->key, "Unit"))
		text = &unit->triggers;
	else if (streq(item->section, "Socket") && streq(item->key, "Service"))
		text = &unit->triggers;
	else if (streq(item->section, "Socket") && streq(item->key, "Accept") &&
		 str_parse_bool(item->value, &yes) == 0)
		unit->accept = yes;
	if (!text)
		return 0;
	free(*text);
	*text = strdup(value);
	return *text ? 0 : -ENOMEM;
}

/* Other sections belong to applications, and nobody expects systemd to read them. */
static bool is_systemd_section(const char *section)
{
	for (int i = 0; i < _UNIT_TYPE_MAX; i++) {
		const char *own = unit_type_section((enum unit_type)i);

		if (own && streq(section, own))
			return true;
	}
	return *section == '\0' || streq(section, "Unit") || streq(section, "Install");
}

static int apply_item(struct unit *unit, const struct unit_parse *parse,
		      const struct ini_item *item)
{
	const struct unit_setting *setting = unit_setting_find(item->key);
	const char *wanted;

	if (!setting)
		return apply_other(unit, item);
	wanted = setting->form == UNIT_VALUE_CONDITION ? "Unit" : unit_type_section(unit->type);
	if (wanted && streq(item->section, wanted))
		return apply(unit, setting, parse, item);
	if (wanted && is_systemd_section(item->section))
		warn_section(unit, parse, item, wanted);
	return 0;
}

static int describe_stop(const struct ini_item *item, char **ret)
{
	const char *what = item->kind == INI_BAD_SECTION ? "a bad section header"
			   : item->kind == INI_NOT_UTF8	 ? "bytes that are not UTF-8"
							 : "a line of 1 MiB or more";

	return str_printf(ret, "%s in line %u", what, item->line);
}

/* The rest of a file that systemd stops reading: its settings, for the user to find. */
static int read_lost(struct unit *unit, const struct unit_parse *parse, struct ini *ini,
		     const char *stop)
{
	struct ini_item item;
	int r;

	for (;;) {
		const struct unit_setting *setting;
		char *why;

		r = ini_next(ini, &item);
		if (r < 0 || item.kind == INI_END)
			return r;
		if (item.kind == INI_BAD_SECTION || item.kind == INI_NOT_UTF8 ||
		    item.kind == INI_LINE_TOO_LONG)
			ini_resume(ini);
		setting = item.kind == INI_ASSIGNMENT ? unit_setting_find(item.key) : NULL;
		if (!setting)
			continue;
		r = str_printf(&why, "systemd reads the file only up to %s", stop);
		if (r >= 0)
			r = add_line(unit, setting, UNIT_LINE_REJECTED, parse, &item, why);
		if (r < 0)
			return r;
	}
}

/* None of the unit's lines is in force. */
static int withdraw(struct unit *unit, enum unit_line_state state, const char *reason)
{
	/* those that are not were so before */
	for (size_t i = 0; i < unit->n_set; i++) {
		struct unit_line *line = &unit->lines[i];

		line->state = state;
		line->why = strdup(reason);
		if (!line->why)
			return -ENOMEM;
	}
	unit->n_set = 0;
	return 0;
}

static int fail_unit(struct unit *unit, enum unit_line_state state, const char *reason)
{
	int r = withdraw(unit, state, reason);

	unit->state = UNIT_FAILED;
	unit->failure = strdup(reason);
	return r < 0 || !unit->failure ? -ENOMEM : 0;
}

int unit_parse_give_up(struct unit *unit, const char *reason)
{
	return withdraw(unit, UNIT_LINE_UNREAD, reason);
}

static int stopped(struct unit *unit, const struct unit_parse *parse, struct ini *ini,
		   const struct ini_item *item)
{
	_cleanup_free_ char *stop = NULL, *reason = NULL;
	struct diag_where where = {
		.path = unit->sources.items[parse->source],
		.line = item->line,
		.column = item->column,
		.source = item->source,
		.source_size = item->kind == INI_BAD_SECTION ? item->source_size : 0,
	};
	int r;

	if (where.source_size == 0)
		where.source = NULL;
	r = describe_stop(item, &stop);
	if (r < 0)
		return r;
	if (parse->diag->n < UNIT_PARSE_MAX_MESSAGES)
		diag_warning(parse->diag, &where, "%s: systemd %s", stop,
			     parse->dropin ? "ignores the rest of the file"
					   : "refuses the whole unit");
	if (!parse->dropin) {
		r = str_printf(&reason, "the unit does not load: %s", stop);
		if (r >= 0)
			r = fail_unit(unit, UNIT_LINE_REJECTED, reason);
		if (r < 0)
			return r;
	}
	ini_resume(ini);
	return read_lost(unit, parse, ini, stop);
}

/* More of the file than is read: whatever it says cannot be told. */
static int too_large(struct unit *unit, const struct unit_parse *parse)
{
	struct diag_where where = { .path = unit->sources.items[parse->source] };

	if (parse->diag->n < UNIT_PARSE_MAX_MESSAGES)
		diag_warning(parse->diag, &where,
			     "larger than any unit file: its settings cannot be told");
	return fail_unit(unit, UNIT_LINE_UNREAD, "a file of the unit is too large to be read");
}

int unit_parse(const struct unit_parse *parse, struct unit *unit)
{
	_cleanup_ini_ struct ini *ini = NULL;
	struct ini_item item;
	int r;

	r = ini_new(parse->text, parse->size, &ini);
	while (r >= 0) {
		r = ini_next(ini, &item);
		if (r < 0)
			break;
		switch (item.kind) {
		case INI_END:
			return parse->cut ? too_large(unit, parse) : 0;
		case INI_ASSIGNMENT:
			r = apply_item(unit, parse, &item);
			break;
		case INI_BAD_SECTION:
		case INI_NOT_UTF8:
		case INI_LINE_TOO_LONG:
			return stopped(unit, parse, ini, &item);
		case INI_SECTION:
			/* seen: v257 goes on behind "[]", v262 does not */
			if (*item.section == '\0' && parse->version >= 262) {
				item.kind = INI_BAD_SECTION;
				return stopped(unit, parse, ini, &item);
			}
			break;
		case INI_NO_EQUALS:
		case INI_EMPTY_KEY:
		default:
			break;
		}
	}
	return r;
}
