/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tree.h"

#include "base/str.h"
#include "cmd/warn.h"
#include "message-ids.h"
#include "units/unit-live.h"

#include <stdio.h>
#include <syslog.h>

#define OFF "the memory controller is off (cgroup_disable=memory)"

static struct unit_finding finding(const char *unit, const char *setting, const char *value,
				   enum unit_setting_kind kind)
{
	return (struct unit_finding){
		.unit = unit,
		.setting = setting,
		.value = value,
		.kind = kind,
		.state = UNIT_UNENFORCED,
		.why = (char *)OFF,
		.path = "/etc/systemd/system/x.d/a.conf",
		.line = 3,
		.enabled = UNIT_ENABLED,
		.active = 1,
		.lost = true,
	};
}

static const char *field(const struct warn_record *record, const char *name)
{
	for (size_t i = 0; i < record->fields.n; i++) {
		const char *rest = str_skip_prefix(record->fields.items[i], name);

		if (rest && *rest == '=')
			return rest + 1;
	}
	return "(none)";
}

/* The records of so many findings. */
static void build(struct warn_records *records, const struct tree *t,
		  struct unit_finding *findings, size_t n, bool by_files)
{
	struct unit_view view = { .findings = { findings, n, n }, .by_files = by_files };

	*records = (struct warn_records){};
	if (by_files)
		view.by_files_why = (char *)"the manager does not answer";
	assert_int_equal(warn_add_units(records, t->root, &view), 0);
}

static void test_records(void **state _unused_)
{
	struct unit_finding findings[] = {
		finding("a.service", "MemoryMax", "2G", UNIT_LIMIT),
		finding("b.service", "MemoryLow", "1G", UNIT_PROTECTION),
		finding("b.service", "MemoryMax", "infinity", UNIT_LIMIT),
		finding("c.service", "MemoryMax", "1G", UNIT_LIMIT),
		finding("d.service", "OOMPolicy", "stop", UNIT_OOMD),
		finding("e.service", "Delegate", "yes", UNIT_DELEGATION),
		finding("f.service", "MemoryLimit", "1G", UNIT_LIMIT),
		finding("g.service", "MemoryHigh", "1\n<0>fake\x1b[31m\xff", UNIT_LIMIT),
	};
	struct warn_records records;
	struct tree t;

	findings[3].lost = false;
	findings[6].state = UNIT_IGNORED;
	tree_init(&t, ROOT_LIVE);
	tree_write(&t, "run/systemd/generator/a.service.d/50-memcg-policy.conf", "");
	build(&records, &t, findings, ARRAY_SIZE(findings), false);
	assert_int_equal(records.n, 6);
	assert_string_equal(records.items[0].message,
			    "a.service: MemoryMax=2G is not enforced: " OFF
			    "; it is not started (FailClosed=)");
	assert_string_equal(field(&records.items[0], "MESSAGE"), records.items[0].message);
	assert_string_equal(field(&records.items[0], "MESSAGE_ID"), MESSAGE_UNIT_UNENFORCED);
	assert_string_equal(field(&records.items[0], "PRIORITY"), "4");
	assert_string_equal(field(&records.items[0], "OBJECT_SYSTEMD_UNIT"), "a.service");
	assert_string_equal(field(&records.items[0], "SYSLOG_IDENTIFIER"), "memcg-policy");
	assert_string_equal(field(&records.items[0], "MEMCG_POLICY_LINE"), "3");
	assert_string_equal(field(&records.items[0], "MEMCG_POLICY_BASIS"), "manager");
	/* the limit is worse than the protection, although it comes later */
	assert_string_equal(records.items[1].message,
			    "b.service: MemoryMax=infinity and 1 other memory setting are not "
			    "enforced: " OFF);
	assert_string_equal(field(&records.items[1], "MEMCG_POLICY_SETTING"), "MemoryMax");
	assert_int_equal(records.items[2].priority, LOG_NOTICE);
	assert_string_equal(records.items[2].key, "d.service");
	assert_string_equal(field(&records.items[3], "MESSAGE_ID"), MESSAGE_UNIT_IGNORED);
	assert_non_null(strstr(records.items[3].message, "is ignored by systemd"));
	assert_non_null(strstr(records.items[4].message, "MemoryHigh=1\\x0a<0>fake\\x1b[31m"));
	for (size_t i = 0; i < records.n; i++)
		for (size_t k = 0; k < records.items[i].fields.n; k++)
			assert_null(strpbrk(records.items[i].fields.items[k], "\n\x1b\xff"));
	assert_string_equal(
		records.items[5].message,
		"6 memory settings of 5 units are not in force: memcg-policy units");
	assert_int_equal(records.items[5].priority, LOG_WARNING);
	warn_records_done(&records);
	tree_done(&t);
}

static void test_nothing_to_tell(void **state _unused_)
{
	struct unit_finding findings[] = {
		finding("a.service", "MemoryMax", "2G", UNIT_LIMIT),
		finding("e.service", "MemoryAccounting", "yes", UNIT_ACCOUNTING),
	};
	struct warn_records records;
	struct tree t;

	findings[0].lost = false;
	tree_init(&t, ROOT_LIVE);
	build(&records, &t, findings, ARRAY_SIZE(findings), true);
	assert_int_equal(records.n, 0);
	warn_records_done(&records);
	tree_done(&t);
}

static void test_by_files(void **state _unused_)
{
	struct unit_finding one = finding("a.service", "MemoryLow", "2G", UNIT_PROTECTION);
	struct warn_records records;
	struct tree t;

	tree_init(&t, ROOT_LIVE);
	build(&records, &t, &one, 1, true);
	assert_int_equal(records.n, 2);
	assert_string_equal(records.items[1].message,
			    "1 memory setting of 1 unit is not in force (judged by the files: "
			    "the manager does not answer): memcg-policy units");
	assert_int_equal(records.items[1].priority, LOG_NOTICE);
	assert_string_equal(field(&records.items[0], "MEMCG_POLICY_BASIS"), "files");
	warn_records_done(&records);
	tree_done(&t);
}

static void test_memory(void **state _unused_)
{
	struct unit_finding findings[] = {
		finding("a.service", "MemoryMax", "2G", UNIT_LIMIT),
		finding("ab.service", "MemoryMax", "2G", UNIT_LIMIT),
		finding("b.service", "MemoryMax", "2G", UNIT_LIMIT),
	};
	_cleanup_free_ char *memory = NULL;
	struct warn_records records;
	struct tree t;

	tree_init(&t, ROOT_LIVE);
	build(&records, &t, findings, 3, false);
	assert_int_equal(warn_add_difference(&records, "off", "on"), 0);
	assert_int_equal(warn_recall(&records, ""), 0);
	for (size_t i = 0; i < records.n; i++)
		assert_false(records.items[i].told);
	assert_int_equal(warn_remember(&records, &memory), 0);
	assert_int_equal(warn_recall(&records, memory), 0);
	for (size_t i = 0; i < records.n; i++)
		assert_true(records.items[i].told);
	warn_records_done(&records);
	/* the same by the files alone, as at a boot when the manager is too busy */
	build(&records, &t, findings, 3, true);
	assert_int_equal(warn_recall(&records, memory), 0);
	for (size_t i = 0; i < records.n; i++)
		assert_true(records.items[i].told);
	warn_records_done(&records);
	/* another value in one of them: that one and nothing else */
	findings[1].value = "3G";
	build(&records, &t, findings, 3, false);
	assert_int_equal(warn_recall(&records, memory), 0);
	assert_true(records.items[0].told);
	assert_false(records.items[1].told);
	assert_true(records.items[2].told);
	assert_true(records.items[3].told); /* the summary has the same numbers */
	warn_records_done(&records);
	/* what is no memory */
	build(&records, &t, findings, 3, false);
	assert_int_equal(warn_recall(&records, "\n\nx\n0000000000000000 \n"
					       "0000000000000000 a.service\n"
					       "0123456789abcdef a.serv"),
			 0);
	assert_false(records.items[0].told);
	warn_records_done(&records);
	tree_done(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_records),
		cmocka_unit_test(test_nothing_to_tell),
		cmocka_unit_test(test_by_files),
		cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
