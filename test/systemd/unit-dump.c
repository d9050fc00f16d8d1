/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Prints what the loader makes of units: "unit-dump [--system] [--version=N] [--root=DIR]
 * DIR... -- NAME...", for test/systemd/truth.py, which compares it with systemd's own answers.
 * Names are taken from standard input when none are given. "--paths" lists where it would look,
 * "--spelt" also what is not there, for a user's manager with --home=DIR, --runtime=DIR and
 * --uid=N,
 * "--quadlets" the quadlets of the root with their limits, which then count as units, and
 * "--settings" the settings it knows: name, first version, first without (0: none), sections.
 */

#include "base/diag.h"
#include "base/root.h"
#include "units/unit-load.h"
#include "units/unit-quadlet.h"
#include "units/unit-scan.h"

#include <stdio.h>

static const char *const states[] = {
	[UNIT_LOADED] = "loaded",
	[UNIT_NOT_FOUND] = "not-found",
	[UNIT_MASKED] = "masked",
	[UNIT_FAILED] = "error",
};

static void print_value(const struct unit_line *line)
{
	const struct unit_size *size = &line->parsed.size;
	uint64_t usec;

	if (line->setting->form == UNIT_VALUE_OOM_SPAN &&
	    unit_value_span(line->value, &usec) == 0)
		printf("set %s %llu\n", line->setting->name, (unsigned long long)usec);
	else if (line->setting->form != UNIT_VALUE_SIZE)
		printf("set %s %s\n", line->setting->name, line->value);
	else if (size->kind == UNIT_SIZE_INFINITY)
		printf("set %s infinity\n", line->setting->name);
	else if (size->kind == UNIT_SIZE_SHARE)
		printf("set %s share %u\n", line->setting->name, size->share);
	else
		printf("set %s %llu\n", line->setting->name, (unsigned long long)size->bytes);
}

static int dump(struct unit_loader *loader, const char *name)
{
	struct unit unit = {};
	int r = unit_load(loader, name, &unit);

	if (r < 0) {
		fprintf(stderr, "%s: %s\n", name, strerror(-r));
		return r;
	}
	printf("unit %s %s %s\n", name, unit.name, states[unit.state]);
	for (size_t i = 0; i < unit.aliases.n; i++)
		printf("alias %s\n", unit.aliases.items[i]);
	for (size_t i = 0; i < unit.sources.n; i++)
		printf("%s %s\n", i == 0 && unit.has_fragment ? "fragment" : "dropin",
		       unit.sources.items[i]);
	printf("slice %s\n", unit.slice ? unit.slice : "-");
	for (size_t i = 0; i < unit.n_lines; i++)
		if (unit.lines[i].setting->ignored_since &&
		    loader->version >= unit.lines[i].setting->ignored_since)
			printf("ignored %s\n", unit.lines[i].setting->name);
		else if (unit.lines[i].state == UNIT_LINE_SET)
			print_value(&unit.lines[i]);
		else
			printf("rejected %s %s:%u\n", unit.lines[i].setting->name,
			       unit.sources.items[unit.lines[i].source], unit.lines[i].line);
	unit_done(&unit);
	return 0;
}

static void list_quadlets(const struct unit_quadlets *quadlets)
{
	for (size_t i = 0; i < quadlets->n; i++) {
		const struct unit_quadlet *quadlet = &quadlets->items[i];

		printf("quadlet %s %s\n", quadlet->name, quadlet->service);
		for (size_t k = 0; k < quadlet->n_limits; k++)
			printf("limit %s=%s\n", quadlet->limits[k].setting,
			       quadlet->limits[k].value);
	}
}

static void list_settings(void)
{
	for (size_t i = 0; i < unit_n_settings; i++) {
		const struct unit_setting *setting = &unit_settings[i];

		printf("%s %u %u", setting->name, setting->since, setting->ignored_since);
		if (setting->form == UNIT_VALUE_CONDITION)
			printf(" Unit");
		for (int t = 0; t < _UNIT_TYPE_MAX && setting->form != UNIT_VALUE_CONDITION;
		     t++)
			if (setting->types & (1U << t))
				printf(" %s", unit_type_section((enum unit_type)t));
		putchar('\n');
	}
}

int main(int argc, char **argv)
{
	static struct unit_loader loader;
	struct unit_scan scan = {};
	struct unit_path path = {};
	struct root *root = NULL;
	struct diag diag = {};
	size_t budget = 100000000;
	const char *top = NULL;
	bool user = true, paths = false, spelt = false, with_quadlets = false;
	struct unit_owner owner = {};
	struct unit_quadlets quadlets = {};
	int first = 1, last, r;

	for (; first < argc && argv[first][0] == '-' && argv[first][1] == '-' && argv[first][2];
	     first++) {
		const char *version = str_skip_prefix(argv[first], "--version=");

		top = str_skip_prefix(argv[first], "--root=") ?: top;
		owner.home = str_skip_prefix(argv[first], "--home=") ?: owner.home;
		if (str_skip_prefix(argv[first], "--uid="))
			owner.uid = (uid_t)atoi(argv[first] + strlen("--uid="));
		owner.runtime = str_skip_prefix(argv[first], "--runtime=") ?: owner.runtime;
		if (version)
			loader.version = (unsigned)atoi(version);
		else if (streq(argv[first], "--system"))
			user = false;
		else if (streq(argv[first], "--paths"))
			paths = true;
		else if (streq(argv[first], "--spelt"))
			paths = spelt = true;
		else if (streq(argv[first], "--quadlets"))
			with_quadlets = true;
		else if (streq(argv[first], "--settings")) {
			list_settings();
			return 0;
		}
	}
	for (last = first; last < argc && !streq(argv[last], "--"); last++)
		;
	owner.user = user;
	r = root_open(top ?: "/", top ? ROOT_OFFLINE : ROOT_LIVE, &root);
	if (r >= 0 && paths)
		r = unit_path_open(root, &owner, loader.version, &path);
	else if (r >= 0)
		r = unit_path_open_list(root, (const char *const *)argv + first,
					(size_t)(last - first), &path);
	for (size_t i = 0; paths && r >= 0 && i < (spelt ? path.n_spelt : path.n); i++)
		printf("%s\n", spelt ? path.spelt[i] : path.dirs[i].path);
	loader.root = root;
	loader.path = &path;
	loader.user = user;
	loader.budget = &budget;
	loader.diag = &diag;
	if (r >= 0 && with_quadlets)
		r = unit_quadlets_load(root, &owner, &budget, &quadlets);
	if (with_quadlets) {
		list_quadlets(&quadlets);
		loader.quadlets = &quadlets;
	}
	if (r >= 0)
		r = unit_scan(&loader, &scan);
	if (r < 0) {
		fprintf(stderr, "unit-dump: %s\n", strerror(-r));
		return 1;
	}
	for (int i = last + 1; i < argc && r >= 0; i++)
		r = dump(&loader, argv[i]);
	if (last + 1 >= argc && !paths) {
		char line[512];

		while (r >= 0 && fgets(line, sizeof(line), stdin)) {
			line[strcspn(line, "\n")] = '\0';
			r = dump(&loader, line);
		}
	}
	unit_loader_done(&loader);
	unit_scan_done(&scan);
	unit_quadlets_done(&quadlets);
	unit_path_done(&path);
	root_free(root);
	diag_done(&diag);
	return r < 0 ? 1 : 0;
}
