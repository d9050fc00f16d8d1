/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/warn.h"

#include "base/root.h"
#include "message-ids.h"
#include "units/unit-live.h"

#include <stdio.h>
#include <syslog.h>

#define SUMMARY_KEY    "*summary"
#define DIFFERENCE_KEY "*running"

#define FIELD_FILE  "MEMCG_POLICY_FILE"
#define FIELD_LINE  "MEMCG_POLICY_LINE"
#define FIELD_BASIS "MEMCG_POLICY_BASIS"

/* --- records --- */

static void record_done(struct warn_record *record)
{
	free(record->key);
	free(record->message);
	strv_done(&record->fields);
	*record = (struct warn_record){};
}

void warn_records_done(struct warn_records *records)
{
	for (size_t i = 0; i < records->n; i++)
		record_done(&records->items[i]);
	free(records->items);
	*records = (struct warn_records){};
}

/* Unit files are not always written by root: nothing in them may look like more than text. */
static void add_field(struct warn_record *record, const char *name, const char *value)
{
	_cleanup_free_ char *safe = str_escape(value, strlen(value));

	if (safe)
		strv_addf(&record->fields, "%s=%s", name, safe);
	else
		record->fields.failed = true;
}

static void add_number(struct warn_record *record, const char *name, uint64_t value)
{
	strv_addf(&record->fields, "%s=%llu", name, (unsigned long long)value);
}

/*
 * FNV-1a: told or not told, nobody gains by a collision. Where a setting is written does not
 * count: the service cannot read every file that an administrator can. Nor does who was asked,
 * which the text of the summary says: a manager may be too busy at boot and not later.
 */
static uint64_t digest(const struct strv *fields, bool summary)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < fields->n; i++) {
		if (str_skip_prefix(fields->items[i], FIELD_FILE "=") ||
		    str_skip_prefix(fields->items[i], FIELD_LINE "=") ||
		    str_skip_prefix(fields->items[i], FIELD_BASIS "=") ||
		    (summary && str_skip_prefix(fields->items[i], "MESSAGE=")))
			continue;
		for (const char *p = fields->items[i];; p++) {
			hash = (hash ^ (unsigned char)*p) * UINT64_C(0x100000001b3);
			if (!*p)
				break;
		}
	}
	return hash;
}

/* Takes the record over when it is complete; message is its text, not escaped yet. */
static int add_record(struct warn_records *records, struct warn_record *record,
		      const char *message_id, const char *message)
{
	record->message = str_escape(message, strlen(message));
	if (!record->message)
		return -ENOMEM;
	strv_addf(&record->fields, "MESSAGE=%s", record->message);
	strv_addf(&record->fields, "MESSAGE_ID=%s", message_id);
	strv_addf(&record->fields, "PRIORITY=%u", record->priority);
	strv_add(&record->fields, "SYSLOG_IDENTIFIER=memcg-policy");
	if (strv_error(&record->fields) < 0 || !record->key)
		return -ENOMEM;
	record->digest = digest(&record->fields, *record->key == '*');
	if (!GROW(records->items, records->n, records->alloc))
		return -ENOMEM;
	records->items[records->n++] = *record;
	*record = (struct warn_record){};
	return 0;
}

/* --- units --- */

/* What distributions ship for systemd-oomd is nobody's wish here. */
static bool is_told(const struct unit_finding *finding)
{
	if (finding->kind == UNIT_OOMD)
		return finding->lost && finding->path &&
		       !str_skip_prefix(finding->path, "/usr/lib/") &&
		       !str_skip_prefix(finding->path, "/lib/");
	return finding->lost &&
	       (finding->kind == UNIT_LIMIT || finding->kind == UNIT_PROTECTION);
}

/* A limit comes before a protection, that before what oomd does. */
static bool is_worse(const struct unit_finding *a, const struct unit_finding *b)
{
	return !b || a->kind < b->kind;
}

static void add_finding(struct warn_record *record, const struct unit_finding *finding)
{
	add_field(record, "MEMCG_POLICY_SETTING", finding->setting);
	add_field(record, "MEMCG_POLICY_VALUE", finding->value);
	add_field(record, "MEMCG_POLICY_WHY", finding->why);
	if (finding->path) {
		add_field(record, FIELD_FILE, finding->path);
		add_number(record, FIELD_LINE, finding->line);
	}
}

/* The unit that a record is about to systemd; of a quadlet it is the service made of it. */
static const char *unit_object(const struct unit_view *view, const char *name)
{
	for (size_t i = 0; i < view->units.quadlets.n; i++)
		if (streq(view->units.quadlets.items[i].name, name))
			return view->units.quadlets.items[i].service;
	return name;
}

/* The drop-in of our generator, or "". */
static int not_started(const struct root *root, const char *unit, const char **ret)
{
	_cleanup_free_ char *path = NULL;
	int r = str_printf(&path, "/run/systemd/generator/%s.d/50-memcg-policy.conf", unit);

	if (r < 0)
		return r;
	*ret = root_exists(root, path) ? "; it is not started (FailClosed=)" : "";
	return 0;
}

static int unit_message(const struct root *root, const struct unit_finding *worst, size_t n,
			char **ret)
{
	_cleanup_free_ char *others = NULL;
	const char *closed;
	int r = not_started(root, worst->unit, &closed);

	if (r >= 0 && n > 1)
		r = str_printf(&others, " and %zu other memory setting%s", n - 1,
			       n > 2 ? "s" : "");
	if (r < 0)
		return r;
	return str_printf(ret, "%s: %s=%s%s %s %s: %s%s", worst->unit, worst->setting,
			  worst->value, others ?: "", n > 1 ? "are" : "is",
			  worst->state == UNIT_IGNORED ? "ignored by systemd" : "not enforced",
			  worst->why, closed);
}

/* The findings of one unit, [from, to): a record if any of them is to be told. */
static int add_unit(struct warn_records *records, const struct root *root,
		    const struct unit_view *view, size_t from, size_t to, size_t *settings)
{
	const struct unit_finding *items = view->findings.items, *worst = NULL;
	_cleanup_(record_done) struct warn_record record = {};
	_cleanup_free_ char *message = NULL;
	size_t n = 0;
	int r;

	for (size_t i = from; i < to; i++) {
		if (!is_told(&items[i]))
			continue;
		n++;
		if (is_worse(&items[i], worst))
			worst = &items[i];
	}
	if (!worst)
		return 0;
	*settings += n;
	record.key = strdup(worst->unit);
	record.priority = worst->kind == UNIT_LIMIT ? LOG_WARNING : LOG_NOTICE;
	/* the first of each field is the one the catalog shows */
	add_finding(&record, worst);
	for (size_t i = from; i < to; i++)
		if (is_told(&items[i]) && &items[i] != worst)
			add_finding(&record, &items[i]);
	add_field(&record, "MEMCG_POLICY_UNIT", worst->unit);
	add_field(&record, FIELD_BASIS, view->by_files ? "files" : "manager");
	strv_addf(&record.fields, "OBJECT_SYSTEMD_%sUNIT=%s", view->units.user ? "USER_" : "",
		  unit_object(view, worst->unit));
	r = unit_message(root, worst, n, &message);
	if (r >= 0)
		r = add_record(records, &record,
			       worst->state == UNIT_IGNORED ? MESSAGE_UNIT_IGNORED
							    : MESSAGE_UNIT_UNENFORCED,
			       message);
	return r < 0 ? r : 1;
}

static int add_summary(struct warn_records *records, const struct unit_view *view, size_t units,
		       size_t settings, unsigned priority)
{
	_cleanup_(record_done) struct warn_record record = { .priority = priority };
	_cleanup_free_ char *message = NULL, *by_files = NULL;
	int r = 0;

	record.key = strdup(SUMMARY_KEY);
	add_number(&record, "MEMCG_POLICY_UNITS", units);
	add_number(&record, "MEMCG_POLICY_SETTINGS", settings);
	add_field(&record, FIELD_BASIS, view->by_files ? "files" : "manager");
	if (view->by_files)
		r = str_printf(&by_files, " (judged by the files: %s)",
			       view->by_files_why ?: "no manager was asked");
	if (r >= 0)
		r = str_printf(&message,
			       "%zu memory setting%s of %zu unit%s not in force%s: "
			       "memcg-policy units",
			       settings, settings == 1 ? "" : "s", units,
			       units == 1 ? " is" : "s are", by_files ?: "");
	return r < 0 ? r : add_record(records, &record, MESSAGE_SUMMARY, message);
}

int warn_add_units(struct warn_records *records, const struct root *root,
		   const struct unit_view *view)
{
	const struct unit_findings *findings = &view->findings;
	size_t units = 0, settings = 0, first = records->n;
	unsigned priority = LOG_NOTICE;

	for (size_t from = 0, to; from < findings->n; from = to) {
		int r;

		to = from + 1;
		while (to < findings->n &&
		       streq(findings->items[to].unit, findings->items[from].unit))
			to++;
		r = add_unit(records, root, view, from, to, &settings);
		if (r < 0)
			return r;
		units += (size_t)r;
	}
	for (size_t i = first; i < records->n; i++)
		priority = MIN(priority, records->items[i].priority);
	return units > 0 ? add_summary(records, view, units, settings, priority) : 0;
}

/* --- the kernel --- */

int warn_add_difference(struct warn_records *records, const char *decision, const char *running)
{
	_cleanup_(record_done) struct warn_record record = { .priority = LOG_WARNING };
	_cleanup_free_ char *message = NULL;
	int r;

	record.key = strdup(DIFFERENCE_KEY);
	add_field(&record, "MEMCG_POLICY_DECISION", decision);
	add_field(&record, "MEMCG_POLICY_RUNNING", running);
	r = str_printf(&message,
		       "the memory controller is %s, the policy and the boot configuration "
		       "want it %s: this kernel was not started by them",
		       running, decision);
	return r < 0 ? r : add_record(records, &record, MESSAGE_BOOT_DIFFERS, message);
}

/* --- what was told --- */

/* A line of the memory; key ends at the line's end. */
struct told {
	uint64_t digest;
	const char *key;
	size_t size;
};

static int compare_told(const void *a, const void *b)
{
	const struct told *x = a, *y = b;
	int r = memcmp(x->key, y->key, MIN(x->size, y->size));

	return r ? r : (x->size > y->size) - (x->size < y->size);
}

int warn_recall(struct warn_records *records, const char *memory)
{
	_cleanup_free_ struct told *told = NULL;
	size_t n = 0;

	for (const char *p = memory; *p; p++)
		n += *p == '\n';
	told = calloc(n + 1, sizeof(*told));
	if (!told)
		return -ENOMEM;
	n = 0;
	for (const char *line = memory, *end; (end = strchr(line, '\n')); line = end + 1)
		if (end - line > 17 && line[16] == ' ')
			told[n++] = (struct told){ strtoull(line, NULL, 16), line + 17,
						   (size_t)(end - line) - 17 };
	if (n > 1)
		qsort(told, n, sizeof(*told), compare_told);
	for (size_t i = 0; i < records->n && n > 0; i++) {
		struct warn_record *record = &records->items[i];
		const struct told key = { 0, record->key, strlen(record->key) }, *found;

		found = bsearch(&key, told, n, sizeof(*told), compare_told);
		record->told = found && found->digest == record->digest;
	}
	return 0;
}

int warn_remember(const struct warn_records *records, char **ret)
{
	_cleanup_strbuf_ struct strbuf buf = {};

	for (size_t i = 0; i < records->n; i++)
		strbuf_addf(&buf, "%016llx %s\n", (unsigned long long)records->items[i].digest,
			    records->items[i].key);
	return strbuf_take(&buf, ret, NULL);
}
