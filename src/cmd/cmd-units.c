/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/diag.h"
#include "base/json.h"
#include "base/root.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/host.h"
#include "cmd/unit-views.h"
#include "ui/output.h"
#include "ui/table.h"
#include "units/unit-quadlet.h"
#include "units/unit-single.h"

#include <inttypes.h>
#include <stdio.h>

/* --- which units --- */

static bool is_glob(const char *word)
{
	return word[strcspn(word, "*?[")] != '\0';
}

/* "foo" is foo.service, as for systemctl, and so is "my.foo"; a glob stays what it is. */
static int pattern_of(const char *word, char **ret)
{
	const char *dot = strrchr(word, '.');
	bool whole = is_glob(word) || unit_quadlet_is_name(word) ||
		     (dot && unit_type_from_string(dot + 1) >= 0);

	return str_printf(ret, "%s%s", word, whole ? "" : ".service");
}

static bool matches(const struct units *units, const struct unit_finding *finding,
		    const char *pattern)
{
	const struct unit *unit;

	if (str_match_glob(pattern, finding->unit))
		return true;
	unit = units_find(units, finding->unit);
	for (size_t i = 0; unit && i < unit->aliases.n; i++)
		if (str_match_glob(pattern, unit->aliases.items[i]))
			return true;
	return false;
}

/* Whether a message is about a file of the unit: "foo.service", or one in "foo.service.d". */
static bool is_about(const struct diag_message *message, const char *pattern)
{
	_cleanup_free_ char *path = message->path ? strdup(message->path) : NULL;
	char *slash = path ? strrchr(path, '/') : NULL;
	size_t n;

	if (!slash)
		return true;
	if (str_match_glob(pattern, slash + 1))
		return true;
	*slash = '\0';
	slash = strrchr(path, '/');
	n = slash ? strlen(slash) : 0;
	if (n < 3 || !streq(slash + n - 2, ".d"))
		return false;
	slash[n - 2] = '\0';
	return str_match_glob(pattern, slash + 1);
}

/* What is odd about other units was not asked for. */
static void select_messages(const char *pattern, const struct diag *all, struct diag *ret)
{
	for (size_t i = 0; i < all->n; i++) {
		const struct diag_message *m = &all->messages[i];

		if (is_about(m, pattern))
			diag_add(ret, m->level,
				 &(struct diag_where){ m->path, m->line, m->column, m->width,
						       m->source, 0, m->hint },
				 "%s", m->text);
	}
}

/* Keeps the findings of the units that were named; found: of each word, whether it has any. */
static int select_units(const struct cmd *cmd, const struct units *units,
			struct unit_findings *findings, bool *found, struct diag *diag)
{
	_cleanup_free_ bool *keep = calloc(findings->n + 1, sizeof(*keep));
	_cleanup_diag_ struct diag all = {};
	size_t n = 0;

	if (!keep)
		return -ENOMEM;
	diag_move(&all, diag);
	for (size_t w = 0; w < cmd->args->n_words; w++) {
		_cleanup_free_ char *pattern = NULL;
		int r = pattern_of(cmd->args->words[w], &pattern);

		if (r < 0)
			return r;
		select_messages(pattern, &all, diag);
		for (size_t i = 0; i < findings->n; i++)
			if (matches(units, &findings->items[i], pattern))
				keep[i] = found[w] = true;
	}
	for (size_t i = 0; i < findings->n; i++) {
		if (keep[i])
			findings->items[n++] = findings->items[i];
		else
			free(findings->items[i].why);
	}
	findings->n = n;
	return 0;
}

/* Why a name has no findings, of the managers the one that knows most about it: 1 when it is
 * no unit, and nobody's typing error may pass for a unit without limits. */
static int explain_none(const struct cmd *cmd, const struct unit_views *views, const char *word,
			struct diag *diag)
{
	_cleanup_free_ char *name = NULL, *mask = NULL;
	enum unit_presence most = UNIT_NAME_WRONG;
	int r = pattern_of(word, &name);

	for (size_t i = 0; i < views->n && r >= 0; i++) {
		const struct unit_views_item *item = &views->items[i];
		_cleanup_free_ char *one_mask = NULL;
		enum unit_presence one;

		r = unit_presence_find(cmd->root, &item->owner, &item->view, name, &one,
				       &one_mask);
		most = r < 0 ? most : MAX(most, one);
		if (one_mask && !mask)
			mask = TAKE_PTR(one_mask);
	}
	if (r < 0)
		return r;
	switch (most) {
	case UNIT_THERE:
		diag_notice(diag, &(struct diag_where){}, "%s has no memory settings", name);
		return 0;
	case UNIT_THERE_MASKED:
		diag_notice(diag, &(struct diag_where){},
			    "%s is masked by %s: systemd does not load it, whatever else there "
			    "is of it",
			    name, mask);
		return 0;
	case UNIT_UNMADE:
		diag_notice(diag, &(struct diag_where){},
			    "%s has no unit file: systemd makes it when something wants it, "
			    "without memory settings",
			    name);
		return 0;
	case UNIT_ABSENT:
		diag_warning(
			diag,
			&(struct diag_where){ .hint = unit_quadlet_is_name(name)
							      ? NULL
							      : "systemctl list-unit-files" },
			"there is no unit %s", name);
		return 1;
	case UNIT_NAME_WRONG:
	default:
		diag_warning(diag, &(struct diag_where){ .hint = "systemd-escape --mangle" },
			     "%s is no name of a unit", name);
		return 1;
	}
}

/* Only the units that were named, in all views: 1 when one of them does not exist. */
static int select_named(const struct cmd *cmd, struct unit_views *views, struct diag *diag)
{
	_cleanup_free_ bool *found = calloc(cmd->args->n_words + 1, sizeof(*found));
	bool absent = false;
	int r = found ? 0 : -ENOMEM;

	for (size_t i = 0; i < views->n && r >= 0; i++)
		r = select_units(cmd, &views->items[i].view.units,
				 &views->items[i].view.findings, found, diag);
	for (size_t w = 0; w < cmd->args->n_words && r >= 0; w++) {
		const char *word = cmd->args->words[w];

		if (found[w])
			continue;
		if (is_glob(word)) {
			diag_notice(diag, &(struct diag_where){},
				    "no unit with memory settings matches %s", word);
			continue;
		}
		r = explain_none(cmd, views, word, diag);
		absent |= r > 0;
	}
	return r < 0 ? r : absent;
}

/* --- JSON --- */

static void share_text(unsigned share, char *buf, size_t size)
{
	if (share % 100 == 0)
		(void)snprintf(buf, size, "%u%%", share / 100);
	else
		(void)snprintf(buf, size, share % 10 ? "%u.%02u%%" : "%u.%u%%", share / 100,
			       share % 10 ? share % 100 : share % 100 / 10);
}

static struct json *finding_to_json(const struct unit_finding *finding, uid_t user)
{
	struct json *object = json_new_object(), *source = json_new_object();
	char share[16];

	if (user != UNIT_VIEWS_NO_USER)
		json_add_u64(object, "user", user);
	json_add_string(object, "unit", finding->unit);
	json_add_string(object, "setting", finding->setting);
	json_add_string(object, "value", finding->value);
	if (finding->has_bytes)
		json_add_u64(object, "bytes", finding->bytes);
	else
		json_add_null(object, "bytes");
	share_text(finding->share, share, sizeof(share));
	json_add_string(object, "percent", finding->has_share ? share : NULL);
	json_add_string(object, "kind", unit_setting_kind_to_string(finding->kind));
	json_add_string(object, "state", unit_finding_state_to_string(finding->state));
	json_add_string(object, "why", finding->why);
	json_add_string(source, "path", finding->path);
	if (finding->path)
		json_add_int(source, "line", finding->line);
	else
		json_add_null(source, "line");
	json_add(object, "source", source);
	json_add_string(object, "enabled", unit_enabled_to_string(finding->enabled));
	if (finding->active < 0)
		json_add_null(object, "active");
	else
		json_add_bool(object, "active", finding->active > 0);
	return object;
}

static int print_json(const struct cmd *cmd, const struct unit_basis *basis,
		      const struct unit_views *views, const struct strv *host,
		      const struct diag *diag)
{
	_cleanup_json_ struct json *top = json_new_object();
	struct json *array = json_new_array(), *lost = json_new_array();
	bool by_files = false;

	for (size_t i = 0; i < views->n; i++) {
		const struct unit_findings *findings = &views->items[i].view.findings;

		by_files |= views->items[i].view.by_files;
		for (size_t k = 0; k < findings->n; k++)
			json_append(array,
				    finding_to_json(&findings->items[k], views->items[i].user));
	}
	for (size_t i = 0; i < host->n; i++)
		json_append_string(lost, host->items[i]);
	json_add_int(top, "schema", 1);
	json_add_string(top, "memcg", memcg_state_to_string(basis->memcg));
	json_add_string(top, "basis", basis->next ? "next" : "running");
	json_add_string(top, "judged", by_files ? "files" : "manager");
	json_add(top, "findings", array);
	json_add(top, "host", lost);
	json_add(top, "warnings", output_warnings(diag));
	return output_json(cmd->args, top);
}

/* --- text --- */

static enum term_style state_style(enum unit_finding_state state)
{
	switch (state) {
	case UNIT_ENFORCED:
		return TERM_GOOD;
	case UNIT_UNENFORCED:
	case UNIT_INVALID:
		return TERM_BAD;
	case UNIT_IGNORED:
	case UNIT_STATE_UNKNOWN:
	default:
		return TERM_WARN;
	}
}

static int add_row(const struct cmd *cmd, struct table *table,
		   const struct unit_finding *finding)
{
	_cleanup_free_ char *source = NULL;
	const char *cells[] = {
		finding->unit,
		finding->setting,
		finding->value,
		unit_finding_state_to_string(finding->state),
		unit_enabled_to_string(finding->enabled),
		NULL,
	};
	int r = 0;

	if (finding->path)
		r = str_printf(&source, "%s:%u", finding->path, finding->line);
	if (r < 0)
		return r;
	cells[5] = source;
	r = table_add_row(table, ARRAY_SIZE(cells), cells);
	return r < 0 ? r : table_set_style(table, cmd->term, 3, state_style(finding->state));
}

static int compare_reasons(const void *a, const void *b)
{
	const struct unit_finding *x = *(const struct unit_finding *const *)a;
	const struct unit_finding *y = *(const struct unit_finding *const *)b;

	if (x->state != y->state)
		return x->state < y->state ? -1 : 1;
	return strcmp(x->why, y->why);
}

/* Each reason once, behind the table: most findings of a host have the same. */
static int print_reasons(const struct unit_findings *findings)
{
	_cleanup_free_ const struct unit_finding **sorted =
		calloc(findings->n + 1, sizeof(*sorted));

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < findings->n; i++)
		sorted[i] = &findings->items[i];
	qsort(sorted, findings->n, sizeof(*sorted), compare_reasons);
	putchar('\n');
	for (size_t i = 0, n; i < findings->n; i += n) {
		_cleanup_free_ char *why = str_escape(sorted[i]->why, strlen(sorted[i]->why));

		if (!why)
			return -ENOMEM;
		for (n = 1;
		     i + n < findings->n && compare_reasons(&sorted[i], &sorted[i + n]) == 0;
		     n++)
			;
		printf("%s (%zu): %s\n", unit_finding_state_to_string(sorted[i]->state), n,
		       why);
	}
	return 0;
}

static int print_table(const struct cmd *cmd, const struct unit_findings *findings)
{
	static const struct table_column columns[] = { { "UNIT", 0 },
						       { "SETTING", 0 },
						       { "VALUE", 0 },
						       { "STATE", 0 },
						       { "BOOT", 0 },
						       { "WRITTEN IN", 0 },
						       {} };
	_cleanup_table_ struct table *table = NULL;
	int r = table_new(cmd->args, columns, &table);

	for (size_t i = 0; r >= 0 && i < findings->n; i++)
		r = add_row(cmd, table, &findings->items[i]);
	return r < 0 ? r : table_print(table, stdout);
}

static int print_text(const struct cmd *cmd, const struct unit_basis *basis,
		      const struct unit_views *views, const struct strv *host, bool counting)
{
	size_t n = 0;

	for (size_t i = 0; i < views->n; i++) {
		const struct unit_findings *findings = &views->items[i].view.findings;
		int r;

		if (findings->n == 0)
			continue;
		if (n > 0)
			putchar('\n');
		n += findings->n;
		if (cmd->args->all_users && views->items[i].user != UNIT_VIEWS_NO_USER &&
		    !cmd->args->no_legend)
			printf("User %u:\n", (unsigned)views->items[i].user);
		r = print_table(cmd, findings);
		if (r >= 0 && !cmd->args->quiet)
			r = print_reasons(findings);
		if (r < 0)
			return r;
	}
	if (cmd->args->quiet)
		return 0;
	/* of those that were named more was said already */
	if (n == 0 && cmd->args->n_words == 0)
		puts("No memory settings of units were found.");
	for (size_t i = 0; i < host->n; i++)
		printf("%s%s.\n", i == 0 ? "\n" : "", host->items[i]);
	if (counting && basis->memcg == MEMCG_OFF)
		puts("\nTo have them enforced: memcg-policy set on");
	return 0;
}

/* --- the verb --- */

/* What the whole system lost belongs to the system's manager, and to nobody's named units. */
static int find_host(const struct cmd *cmd, const struct unit_basis *basis,
		     const struct unit_views *views, struct strv *ret)
{
	if (cmd->args->n_words > 0 || cmd->args->user || cmd->args->all_users)
		return 0;
	return unit_view_host(cmd->root, &views->items[0].view, basis, ret);
}

int cmd_units(const struct cmd *cmd)
{
	_cleanup_unit_views_ struct unit_views views = {};
	_cleanup_strv_ struct strv lost = {};
	_cleanup_host_ struct host host = {};
	_cleanup_diag_ struct diag diag = {};
	struct unit_basis basis;
	bool counting = false, absent = false;
	int r;

	/* the next boot only matters where no kernel can be asked */
	r = root_mode(cmd->root) == ROOT_OFFLINE ? host_load_boot(cmd->root, &host, &diag)
						 : facts_load(cmd->root, &host.facts);
	if (r < 0)
		return r;
	basis = host_unit_basis(&host);
	r = unit_views_load(cmd, &host, &views, &diag);
	if (r >= 0)
		r = find_host(cmd, &basis, &views, &lost);
	if (r >= 0 && cmd->args->n_words > 0) {
		r = select_named(cmd, &views, &diag);
		absent = r > 0;
	}
	if (r < 0)
		return r;
	for (size_t i = 0; i < views.n; i++) {
		struct unit_counts counts;

		unit_findings_count(&views.items[i].view.findings, &counts);
		counting |= counts.counting > 0;
	}
	term_print_diag(cmd->term, stderr, &diag);
	r = cmd->args->json == JSON_OFF ? print_text(cmd, &basis, &views, &lost, counting)
					: print_json(cmd, &basis, &views, &lost, &diag);
	if (r < 0)
		return r;
	if (absent)
		return EXIT_FAILED;
	return counting ? EXIT_UNENFORCED : EXIT_OK;
}
