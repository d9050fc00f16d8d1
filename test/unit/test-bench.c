/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Plans, result files, summaries and comparisons of boots, on made-up samples. */

#include "tree.h"

#include "base/diag.h"
#include "base/json.h"
#include "base/str.h"
#include "bench/arms.h"
#include "bench/compare.h"
#include "bench/plan.h"
#include "bench/plot.h"
#include "bench/result.h"
#include "bench/summary.h"
#include "facts/running.h"

#include <math.h>

static void assert_near(double value, double expected, double tolerance)
{
	if (!(fabs(value - expected) <= tolerance))
		fail_msg("%.12g, expected %.12g", value, expected);
}

static double uniform(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return (double)(*state * UINT64_C(2685821657736338717) >> 11) * 0x1p-53;
}

/* --- plans --- */

static void test_times(void **state _unused_)
{
	static const struct {
		const char *text;
		int r;
		uint64_t ns;
	} cases[] = {
		{ "10", 0, 10000000000 },
		{ "10s", 0, 10000000000 },
		{ "2min", 0, 120000000000 },
		{ "1h", 0, 3600000000000 },
		{ "250ms", 0, 250000000 },
		{ "0", 0, 0 },
		{ "", -EINVAL, 0 },
		{ "s", -EINVAL, 0 },
		{ "-1s", -EINVAL, 0 },
		{ "1.5s", -EINVAL, 0 },
		{ "1 s", -EINVAL, 0 },
		{ "1d", -EINVAL, 0 },
		{ "9999999999h", -ERANGE, 0 },
		{ "99999999999999999999", -ERANGE, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t ns = 0;

		if (plan_parse_time(cases[i].text, &ns) != cases[i].r || ns != cases[i].ns)
			fail_msg("\"%s\": %lu", cases[i].text, (unsigned long)ns);
	}
}

static void test_lists(void **state _unused_)
{
	static const struct {
		const char *text;
		int r;
		int list[4];
		size_t n;
	} cases[] = {
		{ "1", 0, { 1 }, 1 },
		{ "3,0-2", 0, { 3, 0, 1, 2 }, 4 },
		{ "", -EINVAL, {}, 0 },
		{ "1-", -EINVAL, {}, 0 },
		{ "-1", -EINVAL, {}, 0 },
		{ "2-1", -EINVAL, {}, 0 },
		{ "1,x", -EINVAL, {}, 0 },
		{ "8", -EINVAL, {}, 0 },
		{ "0-4000000000", -EINVAL, {}, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ int *list = NULL;
		size_t n = 0;

		if (plan_parse_list(cases[i].text, 8, &list, &n) != cases[i].r ||
		    n != cases[i].n)
			fail_msg("\"%s\": %zu", cases[i].text, n);
		for (size_t k = 0; k < n; k++)
			assert_int_equal(list[k], cases[i].list[k]);
	}
}

static void test_plans(void **state _unused_)
{
	static const struct {
		struct plan_request request;
		const char *first; /* workload, or NULL: an error */
		size_t n;	   /* 0: depends on the host's CPUs */
	} cases[] = {
		{ { .preset = PLAN_QUICK }, "anon", 3 },
		{ { .preset = PLAN_STANDARD }, "anon", 0 },
		{ { .workload = "kmem" }, "kmem-open", 3 },
		{ { .workload = "kmem,anon,kmem-open" }, "anon", 4 },
		{ { .workload = "all", .clients = "1-3" }, "anon", 14 },
		{ { .workload = "anon-large", .clients = "4,4,2" }, "anon-large", 2 },
		{ { .workload = "nope" }, NULL, 0 },
		{ { .clients = "0" }, NULL, 0 },
		{ { .clients = "1,0" }, NULL, 0 },
		{ { .clients = "129" }, NULL, 0 },
		{ { .rounds = "0" }, NULL, 0 },
		{ { .rounds = "100001" }, NULL, 0 },
		{ { .seed = "0" }, NULL, 0 },
		{ { .seed = "x" }, NULL, 0 },
		{ { .target = "1%" }, NULL, 0 }, /* only --thorough has one */
		{ { .preset = PLAN_THOROUGH, .target = "0" }, NULL, 0 },
		{ { .preset = PLAN_THOROUGH, .target = "nan" }, NULL, 0 },
		{ { .preset = PLAN_THOROUGH, .target = "0.5%" }, "anon", 0 },
		{ { .max_time = "soon" }, NULL, 0 },
		{ { .cpus = "9000" }, NULL, 0 },
	};
	struct tree tree;

	tree_init(&tree, ROOT_SNAPSHOT);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_plan_ struct plan plan = {};
		_cleanup_diag_ struct diag diag = {};
		int r = plan_make(tree.root, &cases[i].request, &plan, &diag);

		if (!cases[i].first) {
			assert_int_equal(r, -EINVAL);
			assert_int_equal(diag_count(&diag, DIAG_ERROR), 1);
			continue;
		}
		if (r < 0)
			fail_msg("case %zu: %s", i, diag.n ? diag.messages[0].text : "?");
		assert_string_equal(plan.cases[0].workload->name, cases[i].first);
		if (cases[i].n > 0)
			assert_int_equal(plan.n_cases, cases[i].n);
		assert_true(plan.n_cpus > 0 && plan.seed > 0 && plan.bytes > 0);
	}
	tree_done(&tree);
}

/* CPU 0 takes interrupts and siblings share a core: both come last. */
static void test_cpus(void **state _unused_)
{
	_cleanup_plan_ struct plan plan = {};
	_cleanup_diag_ struct diag diag = {};
	const struct plan_request request = { .preset = PLAN_QUICK };
	struct tree tree;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		skip();
	tree_init(&tree, ROOT_SNAPSHOT);
	tree_write(&tree, "/sys/devices/system/cpu/cpu0/topology/thread_siblings_list",
		   "0-1\n");
	tree_write(&tree, "/sys/devices/system/cpu/cpu1/topology/thread_siblings_list",
		   "0-1\n");
	assert_int_equal(plan_make(tree.root, &request, &plan, &diag), 0);
	/* others of this host, then 0, then its sibling */
	assert_int_equal(plan.cpus[plan.n_cpus - 1], 1);
	assert_int_equal(plan.cpus[plan.n_cpus - 2], 0);
	tree_done(&tree);
}

/* --- made-up results --- */

/* cost of (round, arm) in ns per page */
typedef double cost_fn(uint64_t *seed, uint32_t round, size_t arm);

static char *copy(const char *s)
{
	char *d = strdup(s);

	assert_non_null(d);
	return d;
}

static void make_result(struct result *result, const char *memcg, const char *boot_id,
			size_t n_arms, uint32_t rounds, uint64_t seed, cost_fn *cost)
{
	static const struct {
		const char *name;
		enum arm_kind kind;
	} arms[] = { { "root", ARM_ROOT }, { "control", ARM_ROOT }, { "child-2", ARM_CHILD } };

	*result = (struct result){};
	for (size_t i = 0; i < _CONTEXT_NUMBER_MAX; i++)
		result->numbers[i] = NAN;
	result->numbers[CONTEXT_CPUS] = 2;
	result->numbers[CONTEXT_MEMORY_KB] = 1000000;
	result->numbers[CONTEXT_PAGE_SIZE] = 4096;
	result->numbers[CONTEXT_FAULT_RATE] = 1000;
	result->numbers[CONTEXT_WATCHED] = 10;
	result->text[CONTEXT_MEMCG] = copy(memcg);
	result->text[CONTEXT_BOOT_ID] = copy(boot_id);
	result->text[CONTEXT_KERNEL] = copy("6.1.0");
	result->text[CONTEXT_CMDLINE] =
		copy(streq(memcg, "off") ? "quiet cgroup_disable=memory root=/dev/vda"
					 : "quiet root=/dev/vda");
	result->arms = calloc(3, sizeof(*result->arms));
	result->cases = calloc(1, sizeof(*result->cases));
	assert_true(result->arms && result->cases);
	for (size_t i = 0; i < n_arms; i++)
		result->arms[result->n_arms++] = (struct result_arm){
			.name = copy(n_arms == 2 && i == 0 ? "here" : arms[i].name),
			.kind = n_arms == 2 ? ARM_HERE : arms[i].kind,
			.control = i == 1,
			.depth = i == 2 ? 2 : 0,
		};
	result->cases[result->n_cases++] = (struct result_case){ .workload = copy("anon"),
								 .unit = copy("page"),
								 .clients = 1,
								 .loops = 8,
								 .bytes = 1 << 20 };
	for (uint32_t round = 0; round < rounds; round++)
		for (size_t arm = 0; arm < n_arms; arm++) {
			double ns = cost(&seed, round, arm);
			const struct result_sample s = {
				.round = round,
				.arm = (uint8_t)arm,
				.sample = { .units = 2048,
					    .counts = { .cpu_ns = (uint64_t)(ns * 2048),
							.wall_ns = (uint64_t)(ns * 2100),
							.minflt = 2048 },
					    .phase_ns = { 1, 2, 3 } },
			};

			assert_int_equal(result_add_sample(result, &s), 0);
		}
}

/* Drifts by a third, is noisy, and a child costs 4 % more. */
static double noisy_cost(uint64_t *seed, uint32_t round, size_t arm)
{
	return 1000 * (1 + round / 120.0) * (1 + 0.1 * uniform(seed)) * (arm == 2 ? 1.04 : 1);
}

static double equal_cost(uint64_t *seed, uint32_t round, size_t arm _unused_)
{
	return 1000 * (1 + round / 120.0) * (1 + 0.02 * uniform(seed));
}

static double wild_cost(uint64_t *seed, uint32_t round _unused_, size_t arm _unused_)
{
	return 1000 / (0.2 + uniform(seed));
}

static double off_cost(uint64_t *seed, uint32_t round _unused_, size_t arm _unused_)
{
	return 900 * (1 + 0.01 * uniform(seed));
}

static double on_cost(uint64_t *seed, uint32_t round _unused_, size_t arm)
{
	return (arm == 2 ? 1050 : 1000) * (1 + 0.01 * uniform(seed));
}

/* --- summaries --- */

static void test_summary(void **state _unused_)
{
	_cleanup_result_ struct result result = {};
	_cleanup_summary_ struct summary summary = {};
	const struct summary_difference *d;

	make_result(&result, "on", "a", 3, 40, 1, noisy_cost);
	/* one sample of the child is invalid: its round is no pair */
	result.samples[5].sample.invalid = SAMPLE_FAULTS;
	assert_int_equal(summary_make(&result, &summary), 0);
	assert_int_equal(summary.n, 1);
	assert_int_equal(summary.cases[0].n_differences, 1);
	d = &summary.cases[0].differences[0];
	assert_int_equal(d->arm, 2);
	assert_int_equal(d->cpu.n, 39);
	assert_int_equal(summary.cases[0].arms[2].n, 39);
	assert_int_equal(summary.cases[0].arms[2].dropped, 1);
	assert_int_equal(summary.cases[0].arms[2].reasons, SAMPLE_FAULTS);
	assert_near(d->cpu.value, log(1.04), 0.015);
	assert_int_equal(d->verdict, STATS_COST);
	assert_true(d->instructions.n == 0);
	assert_true(summary.cases[0].control.cpu.lo < 0 && summary.cases[0].control.cpu.hi > 0);
	assert_near(summary.cases[0].arms[0].faults, 1, 1e-9);
	/* the harmonic mean of a rate is the rate of the work: 1 over the mean cost */
	{
		double sum = 0;

		for (size_t i = 0; i < result.n_samples; i += 3)
			sum += (double)result.samples[i].sample.counts.cpu_ns / 2048 / 40;
		assert_near(summary.cases[0].arms[0].per_cpu, 1e9 / sum, 1e-3);
	}
	assert_false(summary_is_noisy(&summary));
}

static void test_summary_verdicts(void **state _unused_)
{
	static const struct {
		cost_fn *cost;
		uint32_t rounds;
		enum stats_verdict verdict;
	} cases[] = {
		{ equal_cost, 40, STATS_NO_DIFFERENCE },
		{ wild_cost, 40, STATS_NOISY },
		{ noisy_cost, 5, STATS_TOO_FEW },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_result_ struct result result = {};
		_cleanup_summary_ struct summary summary = {};

		make_result(&result, "on", "a", 3, cases[i].rounds, 7, cases[i].cost);
		assert_int_equal(summary_make(&result, &summary), 0);
		assert_int_equal(summary.cases[0].differences[0].verdict, cases[i].verdict);
		assert_int_equal(summary_is_noisy(&summary), i > 0);
	}
}

/* --- files --- */

static char *to_text(const struct result *result)
{
	_cleanup_json_ struct json *value = result_to_json(result);
	char *text = NULL;

	assert_int_equal(json_print(value, false, &text), 0);
	return text;
}

static void test_round_trip(void **state _unused_)
{
	_cleanup_result_ struct result result = {}, again = {};
	_cleanup_json_ struct json *value = NULL;
	_cleanup_free_ char *text = NULL, *text_again = NULL;
	_cleanup_diag_ struct diag diag = {};

	make_result(&result, "on", "a", 3, 10, 1, noisy_cost);
	result.cases[0].has_clients = true;
	result.cases[0].clients = 4;
	result.samples[3].sample.invalid = SAMPLE_FAILED;
	result.samples[3].sample.error = ENOSPC;
	strv_add(&result.warnings, "one");
	text = to_text(&result);
	assert_int_equal(json_parse(text, strlen(text), &value, NULL), 0);
	assert_int_equal(result_from_json(value, "x", &again, &diag), 0);
	text_again = to_text(&again);
	assert_string_equal(text, text_again);
}

/* Every way a file can be wrong is an error with a sentence, and none is a crash. */
static void test_wrong_files(void **state _unused_)
{
	static const struct {
		const char *from, *to;
	} changes[] = {
		{ "\"kind\":\"bench\"", "\"kind\":\"other\"" },
		{ "\"schema\":1", "\"schema\":2" },
		{ "\"arms\":[", "\"arms\":[],\"x\":[" },
		{ "\"arms\":[", "\"arms\":[{}],"
				"\"x\":[" },
		{ "\"workloads\":[", "\"workloads\":3,\"x\":[" },
		{ "\"cpu_ns\"", "\"cpu_nanoseconds\"" },
		{ "\"samples\":[[0,0,0", "\"samples\":[[9,0,0" },
		{ "\"samples\":[[0,0,0", "\"samples\":[[0,9,0" },
		{ "\"samples\":[[0,0,0", "\"samples\":[[0,0,4000000000" },
		{ "\"samples\":[[0,0,0", "\"samples\":[[0,0,-1" },
		{ "\"samples\":[[0,0,0,0,2048", "\"samples\":[[0,0,0,0,0" },
		{ "\"samples\":[[0,0,0", "\"samples\":[[0],[0,0,0" },
		{ "\"samples\":[[0,0,0", "\"samples\":[7,[0,0,0" },
	};
	_cleanup_result_ struct result result = {};
	_cleanup_free_ char *text = NULL;

	make_result(&result, "on", "a", 3, 10, 1, noisy_cost);
	text = to_text(&result);
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		_cleanup_json_ struct json *value = NULL;
		_cleanup_diag_ struct diag diag = {};
		_cleanup_free_ char *changed = NULL;
		struct result none = {};
		const char *at = strstr(text, changes[i].from);

		if (!at)
			fail_msg("%s is not there", changes[i].from);
		assert_true(str_printf(&changed, "%.*s%s%s", (int)(at - text), text,
				       changes[i].to, at + strlen(changes[i].from)) >= 0);
		assert_int_equal(json_parse(changed, strlen(changed), &value, NULL), 0);
		if (result_from_json(value, "x", &none, &diag) != -EINVAL)
			fail_msg("%s was taken", changes[i].to);
		assert_int_equal(diag_count(&diag, DIAG_ERROR), 1);
	}
}

static void test_csv(void **state _unused_)
{
	_cleanup_result_ struct result result = {};
	char *text = NULL;
	size_t size, lines = 0;
	FILE *f = open_memstream(&text, &size);

	make_result(&result, "on", "a", 3, 10, 1, noisy_cost);
	result.samples[1].sample.invalid = SAMPLE_MAJOR;
	assert_non_null(f);
	assert_int_equal(result_print_csv(&result, f), 0);
	assert_int_equal(fclose(f), 0);
	for (const char *p = text; *p; p++)
		lines += *p == '\n';
	assert_int_equal(lines, 31);
	assert_non_null(strstr(text, "\nanon,control,0,"));
	assert_non_null(strstr(text, ",major-faults,"));
	free(text);
}

/* --- boots --- */

struct made_boot {
	const char *memcg;
	cost_fn *cost;
};

/* Writes boots as files below the tree; returns their paths. */
static char **write_boots(const struct tree *tree, const struct made_boot *boots, size_t n)
{
	char **paths = calloc(n, sizeof(*paths));

	assert_non_null(paths);
	for (size_t i = 0; i < n; i++) {
		_cleanup_result_ struct result result = {};
		_cleanup_free_ char *text = NULL;
		char name[32];

		(void)snprintf(name, sizeof(name), "/boot-%zu", i);
		make_result(&result, boots[i].memcg, name, streq(boots[i].memcg, "off") ? 2 : 3,
			    10, i + 1, boots[i].cost);
		text = to_text(&result);
		tree_write(tree, name, text);
		assert_true(str_printf(&paths[i], "%s%s", tree->path, name) >= 0);
	}
	return paths;
}

static void free_paths(char **paths, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(paths[i]);
	free(paths);
}

static void test_compare(void **state _unused_)
{
	const struct made_boot boots[] = {
		{ "on", on_cost },   { "off", off_cost }, { "on", on_cost },
		{ "off", off_cost }, { "off", off_cost }, { "on", on_cost },
		{ "on", on_cost },   { "off", off_cost }, { "on", on_cost },
		{ "off", off_cost },
	};
	struct tree tree;
	char **paths;

	tree_init(&tree, ROOT_OFFLINE);
	paths = write_boots(&tree, boots, ARRAY_SIZE(boots));
	{
		_cleanup_comparison_ struct comparison c = {};
		_cleanup_diag_ struct diag diag = {};

		assert_int_equal(compare_files(paths, ARRAY_SIZE(boots), false, &c, &diag), 0);
		assert_true(c.on_off);
		assert_string_equal(c.sides[0].name, "memcg off");
		assert_int_equal(c.sides[1].boots, 5);
		assert_int_equal(c.n, 2);
		assert_string_equal(c.rows[0].arm, "root");
		assert_string_equal(c.rows[0].base, "here");
		assert_near(c.rows[0].d.value, log(1000 / 900.0), 0.01);
		assert_near(c.rows[1].d.value, log(1050 / 900.0), 0.01);
		assert_int_equal(c.rows[1].verdict, STATS_COST);
		assert_true(c.has_meaning);
		assert_near(c.meaning.cost_ns, 150, 10);
	}
	{
		/* three against three: never significant */
		_cleanup_comparison_ struct comparison c = {};
		_cleanup_diag_ struct diag diag = {};

		assert_int_equal(compare_files(paths, 6, false, &c, &diag), 0);
		assert_int_equal(c.rows[0].verdict, STATS_TOO_FEW);
		assert_true(comparison_is_noisy(&c));
		/* with two rows it takes five */
		assert_int_equal(c.boots_needed, 5);
	}
	free_paths(paths, ARRAY_SIZE(boots));
	tree_done(&tree);
}

/* The same boot measured twice is one boot. */
static void test_compare_same_boot(void **state _unused_)
{
	const struct made_boot boots[] = { { "on", on_cost }, { "off", off_cost } };
	struct tree tree;
	char **paths, *twice[4];

	tree_init(&tree, ROOT_OFFLINE);
	paths = write_boots(&tree, boots, 2);
	twice[0] = twice[2] = paths[0];
	twice[1] = twice[3] = paths[1];
	{
		_cleanup_comparison_ struct comparison c = {};
		_cleanup_diag_ struct diag diag = {};

		assert_int_equal(compare_files(twice, 4, false, &c, &diag), 0);
		assert_int_equal(c.sides[0].boots, 1);
		assert_int_equal(c.rows[0].n[0], 1);
	}
	free_paths(paths, 2);
	tree_done(&tree);
}

static void test_not_comparable(void **state _unused_)
{
	static const struct {
		const char *from, *to;
		bool forcible;
	} changes[] = {
		{ "\"kernel\":\"6.1.0\"", "\"kernel\":\"6.1.1\"", true },
		{ "\"cpus\":2", "\"cpus\":4", true },
		{ "\"memory_kb\":1000000", "\"memory_kb\":2000000", true },
		{ "quiet cgroup_disable=memory", "cgroup_disable=memory mitigations=off",
		  true },
		{ "\"memcg\":\"off\"", "\"memcg\":\"on\"", false },
	};
	const struct made_boot boots[] = { { "on", on_cost }, { "off", off_cost } };

	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		_cleanup_comparison_ struct comparison c = {}, forced = {};
		_cleanup_diag_ struct diag diag = {}, forced_diag = {};
		_cleanup_free_ char *text = NULL, *changed = NULL;
		struct tree tree;
		char **paths;
		const char *at;

		tree_init(&tree, ROOT_OFFLINE);
		paths = write_boots(&tree, boots, 2);
		text = tree_read(&tree, "/boot-1");
		at = strstr(text, changes[i].from);
		assert_non_null(at);
		assert_true(str_printf(&changed, "%.*s%s%s", (int)(at - text), text,
				       changes[i].to, at + strlen(changes[i].from)) >= 0);
		tree_write(&tree, "/boot-1", changed);
		if (compare_files(paths, 2, false, &c, &diag) != -EXDEV)
			fail_msg("%s was compared", changes[i].to);
		assert_int_equal(diag_count(&diag, DIAG_ERROR), 1);
		assert_int_equal(compare_files(paths, 2, true, &forced, &forced_diag),
				 changes[i].forcible ? 0 : -EXDEV);
		assert_int_equal(forced.warnings.n, changes[i].forcible);
		free_paths(paths, 2);
		tree_done(&tree);
	}
}

static void test_plot(void **state _unused_)
{
	_cleanup_result_ struct result result = {};
	_cleanup_summary_ struct summary summary = {};
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	make_result(&result, "on", "a", 3, 10, 1, noisy_cost);
	result.text[CONTEXT_CPU] = copy("<&\"\x01\xff>");
	assert_int_equal(summary_make(&result, &summary), 0);
	assert_non_null(f);
	assert_int_equal(plot_print(&(struct plot_file){ &result, &summary }, 1, NULL, f), 0);
	assert_int_equal(fclose(f), 0);
	assert_non_null(strstr(text, "&lt;&amp;&quot;\\x01\\xff&gt;"));
	assert_null(strstr(text, "nan"));
	assert_null(strstr(text, "inf"));
	assert_true(str_has_suffix(text, "</svg>\n"));
	free(text);
}

/* --- arms --- */

static void test_depth(void **state _unused_)
{
	_cleanup_free_ char *own = NULL;
	struct tree tree;

	assert_int_equal(scratch_depth(""), 0);
	assert_int_equal(scratch_depth("/"), 0);
	assert_int_equal(scratch_depth("/a"), 1);
	assert_int_equal(scratch_depth("/a/b/c"), 3);
	tree_init(&tree, ROOT_SNAPSHOT);
	assert_int_equal(arms_usual_depth(tree.root, true), 1);
	/* a kernel thread, two services and a session: the middle one decides */
	tree_write(&tree, "/proc/2/cgroup", "0::/\n");
	tree_write(&tree, "/proc/10/cgroup", "0::/system.slice/a.service\n");
	tree_write(&tree, "/proc/11/cgroup", "0::/system.slice/b.service\n");
	tree_write(&tree, "/proc/12/cgroup", "0::/user.slice/user-0.slice/session-1.scope\n");
	tree_write(&tree, "/proc/13/cgroup",
		   "9:name=systemd:/x\n4:cpu,memory:/a/b:c/d\n2:memory2:/no\n0::/u\n");
	assert_int_equal(arms_usual_depth(tree.root, true), 2);
	assert_int_equal(arms_own_group(tree.root, "13", false, &own), 0);
	assert_string_equal(own, "/a/b:c/d");
	assert_int_equal(arms_own_group(tree.root, "10", false, &own), -ENOENT);
	tree_done(&tree);
}

/* Where the root cgroup cannot be used there is one place, with its control and the reason. */
static void test_here(void **state _unused_)
{
	static const enum memcg_state states[] = { MEMCG_ON, MEMCG_OFF, MEMCG_UNAVAILABLE,
						   MEMCG_UNKNOWN };
	struct tree tree;

	tree_init(&tree, ROOT_SNAPSHOT);
	for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
		const struct running running = { .memcg = states[i] };
		const struct arms_request request = { .no_cgroup = states[i] == MEMCG_ON };
		_cleanup_diag_ struct diag diag = {};
		struct arms arms = {};

		assert_int_equal(arms_open(tree.root, &running, &request, &arms, &diag), 0);
		assert_int_equal(arms.n, 2);
		assert_string_equal(arms.items[0].name, "here");
		assert_true(arms.items[1].control);
		assert_non_null(arms.why_here);
		arms_close(&arms, &diag);
	}
	tree_done(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_plans),
		cmocka_unit_test(test_cpus),
		cmocka_unit_test(test_summary),
		cmocka_unit_test(test_summary_verdicts),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_wrong_files),
		cmocka_unit_test(test_csv),
		cmocka_unit_test(test_compare),
		cmocka_unit_test(test_compare_same_boot),
		cmocka_unit_test(test_not_comparable),
		cmocka_unit_test(test_plot),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_here),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
