/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tree.h"

#include "base/str.h"
#include "policy/decide.h"
#include "policy/policy.h"

/*
 * The rule, spelt out a second time: every policy x level of a need x what is known of it x
 * NeedLevel x IfUnneeded.
 */
static enum decision_memcg expected(enum policy_memcg memcg, enum need_level level,
				    enum need_state in_use, enum need_level least,
				    enum policy_memcg if_unneeded)
{
	if (memcg == POLICY_ON)
		return DECISION_ON;
	if (memcg == POLICY_OFF)
		return DECISION_OFF;
	if (memcg == POLICY_LEAVE)
		return DECISION_LEAVE;
	if (level >= least && in_use == NEED_YES)
		return DECISION_ON;
	if (level >= least && in_use == NEED_UNKNOWN)
		return DECISION_LEAVE;
	return if_unneeded == POLICY_OFF ? DECISION_OFF : DECISION_LEAVE;
}

static void test_table(void **state _unused_)
{
	static const enum policy_memcg unneeded[] = { POLICY_OFF, POLICY_LEAVE };
	unsigned seen[_DECISION_MAX] = {};

	for (int memcg = 0; memcg < _POLICY_MEMCG_MAX; memcg++)
		for (int level = 0; level < _NEED_LEVEL_MAX; level++)
			for (int in_use = NEED_NO; in_use <= NEED_UNKNOWN; in_use++)
				for (int least = 0; least < _NEED_LEVEL_MAX; least++)
					for (size_t u = 0; u < ARRAY_SIZE(unneeded); u++) {
						_cleanup_decision_ struct decision d = {};
						struct need need = {
							.id = (char *)"x",
							.title = (char *)"X",
							.level = (enum need_level)level,
							.in_use = (enum need_state)in_use,
						};
						const struct needs needs = { &need, 1 };
						const struct policy policy = {
							.memcg.value = (enum policy_memcg)memcg,
							.need_level.value =
								(enum need_level)least,
							.if_unneeded.value = unneeded[u],
						};
						enum decision_memcg want = expected(
							(enum policy_memcg)memcg,
							(enum need_level)level,
							(enum need_state)in_use,
							(enum need_level)least, unneeded[u]);

						assert_int_equal(
							decide(&policy, &needs, NULL, &d), 0);
						if (d.memcg != want)
							fail_msg("%d %d %d %d %zu: %s", memcg,
								 level, in_use, least, u,
								 decision_to_string(d.memcg));
						assert_true(d.n_reasons > 0);
						seen[d.memcg]++;
					}
	for (int i = 0; i < _DECISION_MAX; i++)
		assert_true(seen[i] > 0);
}

/* Of several needs one is enough; what cannot be told never hides what was seen. */
static void test_several(void **state _unused_)
{
	struct need items[] = {
		{ .title = (char *)"A", .level = NEED_REQUIRED, .in_use = NEED_UNKNOWN },
		{ .title = (char *)"B", .level = NEED_MONITOR, .in_use = NEED_YES },
		{ .title = (char *)"C", .level = NEED_LIMITS, .in_use = NEED_YES },
	};
	struct needs needs = { items, ARRAY_SIZE(items) };
	const struct policy policy = {
		.memcg.value = POLICY_AUTO,
		.need_level.value = NEED_DEGRADED,
		.if_unneeded.value = POLICY_OFF,
	};
	_cleanup_decision_ struct decision d = {};

	assert_int_equal(decide(&policy, &needs, NULL, &d), 0);
	assert_int_equal(d.memcg, DECISION_ON);
	decision_done(&d);
	needs.n = 2;
	assert_int_equal(decide(&policy, &needs, NULL, &d), 0);
	assert_int_equal(d.memcg, DECISION_LEAVE);
	decision_done(&d);
	needs.n = 0;
	assert_int_equal(decide(&policy, &needs, NULL, &d), 0);
	assert_int_equal(d.memcg, DECISION_OFF);
	decision_done(&d);
	/* a catalogue that could not be read, or was not looked at */
	needs.incomplete = true;
	assert_int_equal(decide(&policy, &needs, NULL, &d), 0);
	assert_int_equal(d.memcg, DECISION_LEAVE);
	decision_done(&d);
	assert_int_equal(decide(&policy, NULL, NULL, &d), 0);
	assert_int_equal(d.memcg, DECISION_LEAVE);
}

/* The reasons, one a line: "path:line text". */
static void test_reasons(void **state _unused_)
{
	static const struct {
		const char *dropin;
		const char *guess;
		bool docker;
		const char *want;
	} cases[] = {
		{ NULL, NULL, false, "/usr/lib/memcg-policy/policy.conf:2 Memcg=leave\n" },
		{ "[Policy]\nMemcg=off\n", NULL, true,
		  "/etc/memcg-policy/policy.conf.d/50-set.conf:2 Memcg=off\n" },
		{ "[Policy]\nRole=desktop\n", NULL, true,
		  "/etc/memcg-policy/policy.conf.d/50-set.conf:2 Role=desktop\n"
		  "/usr/lib/memcg-policy/policy.conf:4 role desktop says Memcg=auto, but a key "
		  "that is set beats the role\n"
		  "/usr/lib/memcg-policy/policy.conf:2 Memcg=leave\n" },
		{ "[Policy]\nRole=desktop\nMemcg=\n", NULL, true,
		  "/etc/memcg-policy/policy.conf.d/50-set.conf:2 Role=desktop\n"
		  "/usr/lib/memcg-policy/policy.conf:4 role desktop says Memcg=auto\n"
		  "/etc/x:7 Docker is in use (level limits): line seven\n"
		  "-:0 so memcg is needed (NeedLevel=degraded, the default)\n" },
		{ "[Policy]\nRole=auto\nMemcg=\n", "desktop", false,
		  "/etc/memcg-policy/policy.conf.d/50-set.conf:2 Role=auto\n"
		  "/etc/dm:0 so it is a desktop\n"
		  "/usr/lib/memcg-policy/policy.conf:4 role desktop says Memcg=auto\n"
		  "/usr/lib/memcg-policy/policy.conf:5 nothing here needs memcg: "
		  "IfUnneeded=off\n" },
		{ "[Policy]\nMemcg=auto\n", NULL, false,
		  "/etc/memcg-policy/policy.conf.d/50-set.conf:2 Memcg=auto\n"
		  "-:0 nothing here needs memcg: IfUnneeded=leave (the default)\n" },
		{ "[Policy]\nMemcg=auto\nNeedLevel=required\nIfUnneeded=off\n", NULL, true,
		  "/etc/memcg-policy/policy.conf.d/50-set.conf:2 Memcg=auto\n"
		  "/etc/x:7 Docker is in use, but level limits is below NeedLevel=required: "
		  "line "
		  "seven\n"
		  "/etc/memcg-policy/policy.conf.d/50-set.conf:4 nothing here needs memcg: "
		  "IfUnneeded=off\n" },
	};
	struct need_evidence evidence = { (char *)"/etc/x", 7, (char *)"line seven" };
	struct need docker = {
		.title = (char *)"Docker",
		.level = NEED_LIMITS,
		.in_use = NEED_YES,
		.evidence = &evidence,
		.n_evidence = 1,
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct decision_reason guess = { (char *)"so it is a desktop",
						 (char *)"/etc/dm" };
		const struct needs needs = { &docker, cases[i].docker ? 1 : 0 };
		_cleanup_policy_ struct policy policy = {};
		_cleanup_decision_ struct decision d = {};
		_cleanup_strbuf_ struct strbuf got = {};
		struct tree tree;

		tree_init(&tree, ROOT_OFFLINE);
		tree_write(&tree, "usr/lib/memcg-policy/policy.conf",
			   "[Policy]\nMemcg=leave\n"
			   "[Role desktop]\nMemcg=auto\nIfUnneeded=off\n");
		if (cases[i].dropin)
			tree_write(&tree, POLICY_SET_PATH, cases[i].dropin);
		assert_int_equal(policy_load(tree.root, &policy, NULL), 0);
		if (cases[i].guess)
			assert_int_equal(policy_resolve(&policy, cases[i].guess), 0);
		assert_int_equal(decide(&policy, &needs, cases[i].guess ? &guess : NULL, &d),
				 0);
		for (size_t k = 0; k < d.n_reasons; k++)
			strbuf_addf(&got, "%s:%u %s\n",
				    d.reasons[k].path ? d.reasons[k].path : "-",
				    d.reasons[k].line, d.reasons[k].text);
		if (!streq(got.data, cases[i].want))
			fail_msg("case %zu: got\n%swanted\n%s", i, got.data, cases[i].want);
		tree_done(&tree);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_several),
		cmocka_unit_test(test_reasons),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
