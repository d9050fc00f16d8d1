/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Foreign inputs: lines, captured machines and configurations as people have them, with what a
 * correct reader must say. $MEMCG_POLICY_CASES names the folder (README.md in it); they are no
 * part of the source and are skipped, visibly, where there are none.
 */

#include "tree.h"

#include "base/str.h"
#include "facts/facts.h"

#include <stdio.h>

static char cases_dir[4096];
static struct root *host;

/* Calls check with the columns of each line of DIR/index.tsv but the first. */
static void for_each_case(const char *dir, size_t n_columns, void (*check)(char **columns))
{
	_cleanup_free_ char *path = NULL, *text = NULL;
	_cleanup_strv_ struct strv lines = {};
	unsigned done = 0;

	assert_int_equal(str_printf(&path, "%s/%s/index.tsv", cases_dir, dir), 0);
	assert_int_equal(root_read(host, path, 1 << 20, &text, NULL), 0);
	strv_split(&lines, text, "\n");
	for (size_t i = 1; i < lines.n; i++) {
		char *columns[16], *rest = lines.items[i];
		size_t n = 0;

		while (n < ARRAY_SIZE(columns) && (columns[n] = strsep(&rest, "\t")))
			n++;
		assert_true(n >= n_columns);
		check(columns);
		done++;
	}
	print_message("%s: %u checked\n", dir, done);
	assert_true(done > 0);
}

static void check_cmdline(char **columns)
{
	_cleanup_free_ char *path = NULL, *text = NULL;
	_cleanup_cmdline_ struct cmdline cmdline = {};
	enum cmdline_request request;
	const char *want = columns[3];
	unsigned number;
	ssize_t word;
	size_t size;
	bool file = streq(columns[1], "cmdline.txt");

	assert_int_equal(str_printf(&path, "%s/cmdline/%s", cases_dir, columns[0]), 0);
	assert_int_equal(root_read(host, path, 1 << 20, &text, &size), 0);
	assert_int_equal(
		cmdline_parse(text, size, file ? CMDLINE_FILE : CMDLINE_LINE, &cmdline), 0);
	request = cmdline_request(&cmdline, &word);
	if (streq(want, "unspecified"))
		want = "none";
	if (!streq(cmdline_request_to_string(request), want))
		fail_msg("%s: asks for %s, not %s", columns[0],
			 cmdline_request_to_string(request), want);
	/* "word 7 cgroup_enable=memory" */
	if (sscanf(columns[4], "word %u ", &number) == 1) {
		const char *token = strrchr(columns[4], ' ') + 1;
		const struct cmdline_word *w;

		assert_int_equal(word + 1, number);
		w = &cmdline.words[word];
		assert_int_equal(w->size, strlen(token));
		assert_memory_equal(text + w->offset, token, w->size);
	} else {
		assert_int_equal(word, -ENOENT);
	}
	assert_int_equal(cmdline.n_more_lines > 0, !!strstr(columns[5], "TWO lines"));
}

static void test_cmdline(void **state _unused_)
{
	for_each_case("cmdline", 6, check_cmdline);
}

static void check_machine(char **columns)
{
	_cleanup_free_ char *path = NULL;
	_cleanup_root_ struct root *root = NULL;
	_cleanup_facts_ struct facts facts = {};
	const char *want = columns[3];
	enum memcg_state got;
	bool good;

	assert_int_equal(str_printf(&path, "%s/proc-cgroups/%s", cases_dir, columns[0]), 0);
	assert_int_equal(root_open(path, ROOT_SNAPSHOT, &root), 0);
	assert_int_equal(facts_load(root, &facts), 0);
	got = facts.running.memcg;
	if (str_skip_prefix(want, "OFF (not built in)"))
		good = got == MEMCG_UNAVAILABLE;
	else if (str_skip_prefix(want, "ON or unknown"))
		good = got == MEMCG_ON || got == MEMCG_UNKNOWN;
	else if (str_skip_prefix(want, "OFF"))
		good = got == MEMCG_OFF;
	else if (str_skip_prefix(want, "ON"))
		good = got == MEMCG_ON;
	else
		good = str_skip_prefix(want, "unknown") && got == MEMCG_UNKNOWN;
	print_message("%s: %s, %s (%s), %s\n", columns[0], memcg_state_to_string(got),
		      facts.running.why, facts.running.source,
		      hierarchy_to_string(facts.running.hierarchy));
	if (!good)
		fail_msg("%s: %s, wanted %s", columns[0], memcg_state_to_string(got), want);
}

static void test_machines(void **state _unused_)
{
	for_each_case("proc-cgroups", 5, check_machine);
}

static void check_kconfig(char **columns)
{
	_cleanup_free_ char *path = NULL, *text = NULL;
	_cleanup_kconfig_ struct kconfig config = {};
	enum answer want, got;
	size_t size;

	assert_int_equal(str_printf(&path, "%s/kconfig/%s", cases_dir, columns[0]), 0);
	assert_int_equal(root_read(host, path, ROOT_MAX_KCONFIG, &text, &size), 0);
	assert_int_equal(kconfig_parse(text, size, &config), 0);
	want = str_skip_prefix(columns[3], "MEMCG=y") ? ANSWER_YES
	       : strstr(columns[3], "not built in")   ? ANSWER_NO
						      : ANSWER_UNKNOWN;
	got = kconfig_memcg_built(&config, NULL);
	if (got != want)
		fail_msg("%s: built: %s, wanted: %s", columns[0], answer_to_string(got),
			 columns[3]);
}

static void test_kconfig(void **state _unused_)
{
	for_each_case("kconfig", 4, check_kconfig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cmdline),
		cmocka_unit_test(test_machines),
		cmocka_unit_test(test_kconfig),
	};
	const char *named = getenv("MEMCG_POLICY_CASES");
	const char *source = getenv("MEMCG_POLICY_SOURCE");

	(void)snprintf(cases_dir, sizeof(cases_dir), "%s%s",
		       named	? named
		       : source ? source
				: ".",
		       named ? "" : "/../shared/cases");
	if (access(cases_dir, R_OK) < 0) {
		printf("SKIP cases: no %s\n", cases_dir);
		return 77;
	}
	if (root_open("/", ROOT_LIVE, &host) < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL) + (root_free(host) ? 1 : 0);
}
