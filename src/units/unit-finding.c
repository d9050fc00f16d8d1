/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "units/unit-finding.h"

#include "base/str.h"

#include <stdio.h>

/* The judgement of one line. */
struct verdict {
	enum unit_finding_state state;
	char *why;
};

struct judge {
	const struct units *units;
	const struct unit_basis *basis;
};

const char *unit_finding_state_to_string(enum unit_finding_state state)
{
	static const char *const names[_UNIT_FINDING_STATE_MAX] = {
		[UNIT_ENFORCED] = "enforced",	  [UNIT_UNENFORCED] = "unenforced",
		[UNIT_IGNORED] = "ignored",	  [UNIT_INVALID] = "invalid",
		[UNIT_STATE_UNKNOWN] = "unknown",
	};

	return names[state];
}

static int verdict_set(struct verdict *verdict, enum unit_finding_state state, const char *fmt,
		       ...) _printf_(3, 4);
static int verdict_set(struct verdict *verdict, enum unit_finding_state state, const char *fmt,
		       ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = str_vprintf(&verdict->why, fmt, ap);
	va_end(ap);
	if (r < 0)
		return r;
	verdict->state = state;
	return 1;
}

static bool is_size(const struct unit_setting *setting)
{
	return setting->form == UNIT_VALUE_SIZE;
}

static const struct unit_line *find_line(const struct unit *unit, const char *setting)
{
	for (size_t i = 0; i < unit->n_lines; i++)
		if (unit->lines[i].state == UNIT_LINE_SET &&
		    streq(unit->lines[i].setting->name, setting))
			return &unit->lines[i];
	return NULL;
}

/* --- what systemd itself does not use; each returns 1 with a verdict, 0 without --- */

static int judge_line_state(const struct unit_line *line, struct verdict *verdict)
{
	static const enum unit_finding_state states[] = {
		[UNIT_LINE_REJECTED] = UNIT_INVALID,
		[UNIT_LINE_UNSUPPORTED] = UNIT_IGNORED,
		[UNIT_LINE_UNREAD] = UNIT_STATE_UNKNOWN,
	};

	if (line->state == UNIT_LINE_SET)
		return 0;
	return verdict_set(verdict, states[line->state], "%s", line->why);
}

static int judge_unit(const struct judge *judge, const struct unit *unit,
		      struct verdict *verdict)
{
	if (unit->state != UNIT_NOT_FOUND)
		return 0;
	if (judge->units->live)
		return verdict_set(verdict, UNIT_IGNORED,
				   "there is no unit file for it: drop-ins alone make no %s",
				   unit_type_to_string(unit->type));
	return verdict_set(verdict, UNIT_STATE_UNKNOWN,
			   "there is no unit file for it here: it counts only if something "
			   "makes the %s at boot",
			   unit_type_to_string(unit->type));
}

static int judge_version(const struct judge *judge, const struct unit *unit,
			 const struct unit_setting *setting, struct verdict *verdict)
{
	unsigned version = judge->units->version;
	unsigned since = unit_setting_since(setting, unit->type);
	const char *instead = streq(setting->name, "MemoryLimit") ? ", MemoryMax= is" : "";

	if (version == 0)
		return 0;
	if (setting->ignored_since > 0 && version >= setting->ignored_since)
		return verdict_set(verdict, UNIT_IGNORED,
				   "%s= is no longer used by systemd %u and later%s",
				   setting->name, setting->ignored_since, instead);
	if (version < since)
		return verdict_set(verdict, UNIT_IGNORED,
				   "systemd %u does not know %s= yet, %u and later do", version,
				   setting->name, since);
	return 0;
}

/* A protection that a slice above gives by default counts as a setting of the unit, too. */
static const struct unit_line *find_default_above(const struct judge *judge,
						  const struct unit *unit)
{
	char slice[UNIT_NAME_MAX];

	if (!unit->slice)
		return NULL;
	(void)snprintf(slice, sizeof(slice), "%s", unit->slice); /* a valid name */
	do {
		const struct unit *above = units_find(judge->units, slice);
		const struct unit_line *line =
			above ? find_line(above, "DefaultMemoryLow") : NULL;

		if (above && !line)
			line = find_line(above, "DefaultMemoryMin");
		if (line)
			return line;
	} while (unit_name_parent_slice(slice, slice) == 0);
	return NULL;
}

/* MemoryLimit= is only looked at where no newer size is set (v231 to v257). */
static int judge_memory_limit(const struct judge *judge, const struct unit *unit,
			      const struct unit_setting *setting, struct verdict *verdict)
{
	const struct unit_line *other = NULL;

	if (!streq(setting->name, "MemoryLimit"))
		return 0;
	for (size_t i = 0; i < unit->n_lines && !other; i++) {
		const struct unit_line *line = &unit->lines[i];

		if (line->state == UNIT_LINE_SET && is_size(line->setting) &&
		    line->setting != setting &&
		    !str_skip_prefix(line->setting->name, "Default"))
			other = line;
	}
	if (!other)
		other = find_default_above(judge, unit);
	if (!other)
		return 0;
	return verdict_set(verdict, UNIT_IGNORED,
			   "%s= is set as well, and then systemd does not look at MemoryLimit=",
			   other->setting->name);
}

static int judge_root_slice(const struct unit *unit, const struct unit_setting *setting,
			    struct verdict *verdict)
{
	if (!streq(unit->name, "-.slice") ||
	    (setting->kind != UNIT_LIMIT && setting->kind != UNIT_PROTECTION))
		return 0;
	return verdict_set(verdict, UNIT_IGNORED,
			   "the root of the cgroup tree has no limits, set it on the slices "
			   "below");
}

/* --- what the kernel gives --- */

static int judge_controller(const struct judge *judge, struct verdict *verdict)
{
	const struct unit_basis *basis = judge->basis;
	const char *when = basis->next ? " at the next boot" : "";
	const char *verb = basis->next ? "will be" : "is";
	const char *open = basis->cause ? " (" : "", *close = basis->cause ? ")" : "";
	const char *cause = basis->cause ? basis->cause : "";

	switch (basis->memcg) {
	case MEMCG_ON:
		return 0;
	case MEMCG_OFF:
		return verdict_set(verdict, UNIT_UNENFORCED,
				   "the memory controller %s off%s%s%s%s", verb, when, open,
				   cause, close);
	case MEMCG_UNAVAILABLE:
		return verdict_set(verdict, UNIT_UNENFORCED,
				   "the kernel%s is built without the memory controller%s%s%s",
				   basis->next ? " of the next boot" : "", open, cause, close);
	case MEMCG_NOT_LOOKED:
	case MEMCG_UNKNOWN:
	default:
		return verdict_set(verdict, UNIT_STATE_UNKNOWN,
				   "whether the memory controller %s on%s cannot be told%s%s%s",
				   verb, when, open, cause, close);
	}
}

/* The unit itself or a slice above it that turns the controller off for what is below. */
static int judge_disabled(const struct judge *judge, const struct unit *unit,
			  struct verdict *verdict)
{
	const struct unit *above = unit;
	char slice[UNIT_NAME_MAX];
	bool more = unit->slice != NULL;

	if (more)
		(void)snprintf(slice, sizeof(slice), "%s", unit->slice); /* a valid name */
	for (;;) {
		const struct unit_line *line =
			above ? find_line(above, "DisableControllers") : NULL;

		if (line)
			return verdict_set(verdict, UNIT_UNENFORCED,
					   "DisableControllers=%s of %s (%s:%u) takes the "
					   "controller away",
					   line->value, above->name,
					   above->sources.items[line->source], line->line);
		if (!more)
			return 0;
		above = units_find(judge->units, slice);
		more = unit_name_parent_slice(slice, slice) == 0;
	}
}

static int judge_hierarchy(const struct judge *judge, const struct unit_setting *setting,
			   struct verdict *verdict)
{
	enum hierarchy hierarchy = judge->basis->hierarchy;

	if (hierarchy != HIERARCHY_V1 && hierarchy != HIERARCHY_HYBRID)
		return 0;
	if (streq(setting->name, "MemoryMax") || streq(setting->name, "MemoryLimit") ||
	    setting->kind == UNIT_ACCOUNTING || setting->kind == UNIT_DELEGATION)
		return 0;
	return verdict_set(verdict, UNIT_UNENFORCED,
			   "the memory controller is on a cgroup v1 tree, which has nothing "
			   "for %s=",
			   setting->name);
}

static int judge_delegation(const struct judge *judge, struct verdict *verdict)
{
	if (!judge->units->undelegated)
		return 0;
	return verdict_set(verdict, UNIT_UNENFORCED,
			   "user@.service does not delegate the memory controller to user "
			   "managers");
}

static int judge_unknown_version(const struct judge *judge, const struct unit_setting *setting,
				 struct verdict *verdict)
{
	if (judge->units->version > 0 || setting->ignored_since == 0)
		return 0;
	return verdict_set(verdict, UNIT_STATE_UNKNOWN,
			   "systemd before %u uses %s=, later ones do not, and which one this "
			   "is cannot be told",
			   setting->ignored_since, setting->name);
}

/* It holds; a lower limit of a slice above is worth a word. */
static int judge_enforced(const struct judge *judge, const struct unit *unit,
			  const struct unit_line *line, struct verdict *verdict)
{
	char slice[UNIT_NAME_MAX];
	bool more = unit->slice && line->setting->kind == UNIT_LIMIT &&
		    line->parsed.size.kind == UNIT_SIZE_BYTES;

	if (more)
		(void)snprintf(slice, sizeof(slice), "%s", unit->slice); /* a valid name */
	for (; more; more = unit_name_parent_slice(slice, slice) == 0) {
		const struct unit *above = units_find(judge->units, slice);
		const struct unit_line *other =
			above ? find_line(above, line->setting->name) : NULL;

		if (other && other->parsed.size.kind == UNIT_SIZE_BYTES &&
		    other->parsed.size.bytes < line->parsed.size.bytes)
			return verdict_set(verdict, UNIT_ENFORCED,
					   "the memory controller is on; %s has a lower %s=%s",
					   above->name, other->setting->name, other->value);
	}
	return verdict_set(verdict, UNIT_ENFORCED, "the memory controller %s",
			   judge->basis->next ? "will be on at the next boot" : "is on");
}

/* Settings that say what shall not be done hold also where nothing can be done. */
static int judge_negative(const struct unit_line *line, struct verdict *verdict)
{
	if (line->setting->form == UNIT_VALUE_CONTROLLERS)
		return verdict_set(verdict, UNIT_ENFORCED,
				   "keeps the controller away from the unit and what is below");
	if (line->setting->form == UNIT_VALUE_OOM_POLICY && streq(line->value, "continue"))
		return verdict_set(verdict, UNIT_ENFORCED,
				   "the unit goes on also when nobody notices the kill");
	return 0;
}

static int judge_line(const struct judge *judge, const struct unit *unit,
		      const struct unit_line *line, struct verdict *verdict)
{
	const struct unit_setting *setting = line->setting;
	int r = judge_line_state(line, verdict);

	if (r == 0)
		r = judge_unit(judge, unit, verdict);
	if (r == 0)
		r = judge_version(judge, unit, setting, verdict);
	if (r == 0)
		r = judge_memory_limit(judge, unit, setting, verdict);
	if (r == 0)
		r = judge_root_slice(unit, setting, verdict);
	if (r == 0)
		r = judge_negative(line, verdict);
	if (r == 0)
		r = judge_controller(judge, verdict);
	if (r == 0)
		r = judge_disabled(judge, unit, verdict);
	if (r == 0)
		r = judge_hierarchy(judge, setting, verdict);
	if (r == 0)
		r = judge_delegation(judge, verdict);
	if (r == 0)
		r = judge_unknown_version(judge, setting, verdict);
	if (r == 0)
		r = judge_enforced(judge, unit, line, verdict);
	return r < 0 ? r : 0;
}

/* --- findings --- */

/* What systemd ships for itself is not the site's limit. */
static bool is_systemds_own(const struct unit_finding *finding)
{
	return finding->path && str_skip_prefix(finding->unit, "systemd-") &&
	       (str_skip_prefix(finding->path, "/usr/lib/") ||
		str_skip_prefix(finding->path, "/lib/"));
}

void unit_finding_count(struct unit_finding *finding)
{
	finding->lost = (finding->state == UNIT_UNENFORCED ||
			 (finding->state == UNIT_IGNORED && !finding->replaced)) &&
			(finding->enabled == UNIT_ENABLED || finding->active == 1) &&
			!is_systemds_own(finding);
	finding->counts = finding->lost &&
			  (finding->kind == UNIT_LIMIT || finding->kind == UNIT_PROTECTION);
}

/* A limit that systemd reads over is no loss where another one took its place. */
static bool is_replaced(const struct unit *unit, const struct unit_line *line)
{
	return streq(line->setting->name, "MemoryLimit") &&
	       (find_line(unit, "MemoryMax") || find_line(unit, "MemoryHigh"));
}

int unit_findings_add(struct unit_findings *findings, const struct unit_finding *finding)
{
	if (!GROW(findings->items, findings->n, findings->alloc))
		return -ENOMEM;
	findings->items[findings->n++] = *finding;
	return 0;
}

static int add_line(const struct judge *judge, const struct unit *unit,
		    const struct unit_line *line, struct unit_findings *ret)
{
	const struct unit_size *size = &line->parsed.size;
	struct unit_finding finding = {
		.unit = unit->name,
		.setting = line->setting->name,
		.value = line->value,
		.kind = line->setting->kind,
		.path = unit->sources.items[line->source],
		.line = line->line,
		.column = line->column,
		.enabled = unit->enabled,
		.active = -1,
	};
	struct verdict verdict = {};
	int r;

	if (line->state == UNIT_LINE_SET) {
		finding.has_bytes = is_size(line->setting) && size->kind == UNIT_SIZE_BYTES;
		finding.bytes = size->bytes;
		finding.has_share = size->kind == UNIT_SIZE_SHARE;
		finding.share = size->share;
	}
	r = judge_line(judge, unit, line, &verdict);
	if (r < 0)
		return r;
	finding.state = verdict.state;
	finding.why = verdict.why;
	finding.replaced = is_replaced(unit, line);
	unit_finding_count(&finding);
	r = unit_findings_add(ret, &finding);
	if (r < 0)
		free(finding.why);
	return r;
}

/* Podman refuses to start what it cannot limit, so a quadlet's limit is never silently lost. */
static int judge_quadlet(const struct judge *judge, const struct unit_quadlet_limit *limit,
			 struct verdict *verdict)
{
	_cleanup_free_ char *off = NULL;
	int r;

	if (judge->units->incomplete)
		return verdict_set(verdict, UNIT_STATE_UNKNOWN,
				   "there are more files than are read, this may not be the "
				   "last word");
	if (limit->invalid)
		return verdict_set(verdict, UNIT_INVALID,
				   "podman cannot read the value, and does not start it");
	r = judge_controller(judge, verdict);
	if (r > 0 && verdict->state == UNIT_UNENFORCED) {
		off = TAKE_PTR(verdict->why);
		return verdict_set(verdict, UNIT_UNENFORCED, "%s: podman refuses to start it",
				   off);
	}
	if (r != 0)
		return r;
	return verdict_set(verdict, UNIT_ENFORCED, "podman sets it; the memory controller %s",
			   judge->basis->next ? "will be on at the next boot" : "is on");
}

static int add_quadlet(const struct judge *judge, const struct unit_quadlet *quadlet,
		       struct unit_findings *ret)
{
	for (size_t i = 0; i < quadlet->n_limits; i++) {
		const struct unit_quadlet_limit *limit = &quadlet->limits[i];
		struct unit_finding finding = {
			.unit = quadlet->name,
			.setting = limit->setting,
			.value = limit->value,
			.has_bytes = !limit->invalid,
			.bytes = limit->bytes,
			.kind = limit->kind,
			.path = limit->path,
			.line = limit->line,
			.column = limit->column,
			.enabled = strchr(quadlet->name, '@') ? UNIT_ENABLED_TEMPLATE
				   : quadlet->installed	      ? UNIT_ENABLED
							      : UNIT_STATIC,
			.active = -1,
		};
		struct verdict verdict = {};
		int r = judge_quadlet(judge, limit, &verdict);

		if (r < 0)
			return r;
		finding.state = verdict.state;
		finding.why = verdict.why;
		unit_finding_count(&finding);
		r = unit_findings_add(ret, &finding);
		if (r < 0) {
			free(finding.why);
			return r;
		}
	}
	return 0;
}

/* The setting's place in the table; a quadlet's own ones stay as they came. */
static size_t rank(const struct unit_finding *finding)
{
	const struct unit_setting *setting = unit_setting_find(finding->setting);

	return setting ? (size_t)(setting - unit_settings) : unit_n_settings;
}

static int compare_findings(const void *a, const void *b)
{
	const struct unit_finding *x = a, *y = b;
	size_t rank_x = rank(x), rank_y = rank(y);
	int r = strcmp(x->unit, y->unit);

	if (r)
		return r;
	if (rank_x != rank_y)
		return rank_x < rank_y ? -1 : 1;
	/* what is in force before what was rejected */
	if ((x->state == UNIT_INVALID) != (y->state == UNIT_INVALID))
		return x->state == UNIT_INVALID ? 1 : -1;
	r = strcmp(x->path ?: "", y->path ?: "");
	if (r)
		return r;
	return (x->line > y->line) - (x->line < y->line);
}

void unit_findings_sort(struct unit_findings *findings)
{
	if (findings->n > 1)
		qsort(findings->items, findings->n, sizeof(*findings->items), compare_findings);
}

int units_judge(const struct units *units, const struct unit_basis *basis,
		struct unit_findings *ret)
{
	const struct judge judge = { units, basis };
	_cleanup_unit_findings_ struct unit_findings findings = {};
	int r = 0;

	for (size_t i = 0; i < units->n && r >= 0; i++)
		for (size_t k = 0; k < units->items[i].n_lines && r >= 0; k++)
			r = add_line(&judge, &units->items[i], &units->items[i].lines[k],
				     &findings);
	for (size_t i = 0; i < units->quadlets.n && r >= 0; i++)
		r = add_quadlet(&judge, &units->quadlets.items[i], &findings);
	if (r < 0)
		return r;
	unit_findings_sort(&findings);
	*ret = findings;
	findings = (struct unit_findings){};
	return 0;
}

void unit_findings_done(struct unit_findings *findings)
{
	for (size_t i = 0; i < findings->n; i++)
		free(findings->items[i].why);
	free(findings->items);
	*findings = (struct unit_findings){};
}

void unit_findings_count(const struct unit_findings *findings, struct unit_counts *ret)
{
	struct unit_counts counts = { .settings = findings->n };

	for (size_t i = 0; i < findings->n; i++) {
		counts.unenforced += findings->items[i].state == UNIT_UNENFORCED;
		counts.ignored += findings->items[i].state == UNIT_IGNORED;
		counts.invalid += findings->items[i].state == UNIT_INVALID;
		counts.counting += findings->items[i].counts;
	}
	*ret = counts;
}
