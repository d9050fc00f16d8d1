/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/plan.h"

#include "base/diag.h"
#include "base/root.h"
#include "base/str.h"
#include "bench/result.h"

#include <math.h>
#include <sched.h>
#include <sys/random.h>

#define NS_PER_S UINT64_C(1000000000)

enum {
	MAX_CPUS = 8192,
	DEFAULT_CLIENTS = 8,
	OWN_BYTES = 4 << 20,	  /* this program and one worker of it */
	PROFILE_BYTES = 16 << 20, /* the kernel's symbols */
	SAMPLE_BYTES = sizeof(struct result_sample) + 256, /* and in the file */
	LEAST_SAMPLE_NS = 5000000,
	MOST_ARMS = 4, /* as a rule */
};

static const struct {
	uint32_t rounds;
	unsigned budget_s, watch_s;
} presets[] = {
	[PLAN_QUICK] = { 40, 8, 2 },
	[PLAN_STANDARD] = { 400, 110, 10 },
	[PLAN_THOROUGH] = { RESULT_MAX_ROUNDS, 600, 10 },
};

/* --- values --- */

int plan_parse_time(const char *s, uint64_t *ret_ns)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = { { "", NS_PER_S },	      { "ms", NS_PER_S / 1000 },
		      { "s", NS_PER_S },      { "min", 60 * NS_PER_S },
		      { "m", 60 * NS_PER_S }, { "h", 3600 * NS_PER_S } };
	size_t digits = strspn(s, "0123456789");
	_cleanup_free_ char *number = str_dup_n(s, digits);
	uint64_t value;
	int r;

	if (!number)
		return -ENOMEM;
	r = str_parse_u64(number, &value);
	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (streq(s + digits, units[i].name)) {
			if (value > UINT64_MAX / 2 / units[i].ns)
				return -ERANGE;
			*ret_ns = value * units[i].ns;
			return 0;
		}
	return -EINVAL;
}

int plan_parse_list(const char *s, unsigned max, int **ret, size_t *ret_n)
{
	_cleanup_strv_ struct strv words = {};
	_cleanup_free_ int *list = NULL;
	size_t n = 0;

	strv_split(&words, s, ",");
	if (strv_error(&words) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < words.n; i++) {
		char *dash = strchr(words.items[i], '-');
		unsigned from, to;
		int *more;

		if (dash)
			*dash = '\0';
		if (str_parse_uint(words.items[i], &from) < 0 ||
		    str_parse_uint(dash ? dash + 1 : words.items[i], &to) < 0 || to < from ||
		    to >= max)
			return -EINVAL;
		more = reallocarray(list, n + to - from + 1, sizeof(*list));
		if (!more)
			return -ENOMEM;
		list = more;
		for (; from <= to; from++)
			list[n++] = (int)from;
	}
	if (n == 0)
		return -EINVAL;
	*ret = TAKE_PTR(list);
	*ret_n = n;
	return 0;
}

/* "1%", "0.5": a percentage as a ratio. */
static int parse_percent(const char *s, double *ret)
{
	char *end;
	double value;

	if (*s < '0' || *s > '9') /* strtod() takes signs, blanks and "nan" */
		return -EINVAL;
	value = strtod(s, &end);
	if (*end == '%')
		end++;
	if (*end || !(value > 0) || value > 100)
		return -EINVAL;
	*ret = value / 100;
	return 0;
}

static int wrong(struct diag *diag, const char *option, const char *value, const char *expected)
{
	diag_error(diag, &(struct diag_where){ .hint = "memcg-policy bench --help" },
		   "--%s does not take \"%s\"; expected %s", option, value, expected);
	return -EINVAL;
}

/* --- CPUs --- */

/* 0: the first of its core; 1: CPU 0, where interrupts go; 2: an SMT sibling of another. */
static int cpu_rank(const struct root *root, int cpu)
{
	_cleanup_free_ char *path = NULL, *text = NULL;
	unsigned first;

	if (str_printf(&path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list",
		       cpu) >= 0 &&
	    root_read(root, path, ROOT_MAX_PROC, &text, NULL) >= 0) {
		text[strspn(text, "0123456789")] = '\0';
		if (str_parse_uint(text, &first) >= 0 && (int)first < cpu)
			return 2;
	}
	return cpu == 0;
}

static int allowed_cpus(cpu_set_t **ret, size_t *ret_size)
{
	cpu_set_t *set = CPU_ALLOC(MAX_CPUS);
	size_t size = CPU_ALLOC_SIZE(MAX_CPUS);

	if (!set)
		return -ENOMEM;
	CPU_ZERO_S(size, set);
	if (sched_getaffinity(0, size, set) < 0) {
		int r = -errno;

		CPU_FREE(set);
		return r;
	}
	*ret = set;
	*ret_size = size;
	return 0;
}

/* Those this process may use, the quietest first. */
static int default_cpus(const struct root *root, struct plan *plan)
{
	cpu_set_t *set;
	size_t size;
	int r = allowed_cpus(&set, &size);

	if (r < 0)
		return r;
	plan->cpus = calloc((size_t)CPU_COUNT_S(size, set) + 1, sizeof(*plan->cpus));
	for (int rank = 0; plan->cpus && rank <= 2; rank++)
		for (int cpu = 0; cpu < MAX_CPUS; cpu++)
			if (CPU_ISSET_S(cpu, size, set) && cpu_rank(root, cpu) == rank)
				plan->cpus[plan->n_cpus++] = cpu;
	CPU_FREE(set);
	return plan->cpus ? 0 : -ENOMEM;
}

static int choose_cpus(const struct root *root, const char *list, struct plan *plan,
		       struct diag *diag)
{
	cpu_set_t *set;
	size_t size;
	int r;

	if (!list)
		return default_cpus(root, plan);
	r = plan_parse_list(list, MAX_CPUS, &plan->cpus, &plan->n_cpus);
	if (r == -EINVAL)
		return wrong(diag, "cpus", list, "a list like 1,2-3");
	if (r >= 0)
		r = allowed_cpus(&set, &size);
	if (r < 0)
		return r;
	for (size_t i = 0; i < plan->n_cpus; i++)
		if (!CPU_ISSET_S(plan->cpus[i], size, set))
			r = -EINVAL;
	CPU_FREE(set);
	return r < 0 ? wrong(diag, "cpus", list, "CPUs this process may use") : 0;
}

/* --- workloads --- */

static int add_case(struct plan *plan, const struct workload *workload, unsigned clients)
{
	struct workload_case *cases;

	for (size_t i = 0; i < plan->n_cases; i++)
		if (plan->cases[i].workload == workload && plan->cases[i].clients == clients)
			return 0;
	cases = reallocarray(plan->cases, plan->n_cases + 1, sizeof(*cases));
	if (!cases)
		return -ENOMEM;
	plan->cases = cases;
	cases[plan->n_cases++] = (struct workload_case){
		.workload = workload,
		.clients = clients,
		.loops = 1,
		.bytes = workload->region,
	};
	return 0;
}

static int add_workload(struct plan *plan, const struct workload *workload, const int *clients,
			size_t n_clients)
{
	int r = 0;

	if (!workload->has_clients)
		return add_case(plan, workload, 1);
	for (size_t i = 0; i < n_clients && r >= 0; i++)
		r = add_case(plan, workload, (unsigned)clients[i]);
	return r;
}

static bool is_selected(const struct workload *workload, const struct strv *words,
			enum plan_preset preset)
{
	if (words->n == 0)
		return preset != PLAN_QUICK || workload == &workload_anon ||
		       workload == &workload_file_read || workload == &workload_file_write;
	return strv_contains(words, workload->name) || strv_contains(words, "all") ||
	       (workload->group && strv_contains(words, workload->group));
}

static bool is_known(const char *word)
{
	if (streq(word, "all") || workload_find(word))
		return true;
	for (size_t i = 0; i < n_workloads; i++)
		if (streq_ptr(workloads[i]->group, word))
			return true;
	return false;
}

static int choose_workloads(const struct plan_request *request, struct plan *plan,
			    struct diag *diag)
{
	_cleanup_strv_ struct strv words = {};
	_cleanup_free_ int *clients = NULL;
	const int most = (int)MIN(plan->n_cpus, (size_t)DEFAULT_CLIENTS);
	const int usual[] = { 1, most };
	size_t n_clients = most > 1 ? 2 : 1;
	int r = 0;

	strv_split(&words, request->workload ? request->workload : "", ",");
	r = strv_error(&words);
	for (size_t i = 0; i < words.n && r >= 0; i++)
		if (!is_known(words.items[i]))
			return wrong(diag, "workload", words.items[i],
				     "names of \"memcg-policy bench list\"");
	if (r >= 0 && request->clients)
		r = plan_parse_list(request->clients, WORKLOAD_MAX_CLIENTS + 1, &clients,
				    &n_clients);
	for (size_t i = 0; clients && i < n_clients; i++)
		r = clients[i] == 0 ? -EINVAL : r;
	if (r == -EINVAL)
		return wrong(diag, "clients", request->clients, "a list like 1,2,4, up to 128");
	for (size_t i = 0; i < n_workloads && r >= 0; i++) {
		bool skip_one = workloads[i] == &workload_anon_large_threads && !clients &&
				words.n == 0; /* one thread is one process */

		if (is_selected(workloads[i], &words, request->preset))
			r = add_workload(plan, workloads[i],
					 clients ? clients : usual + skip_one,
					 n_clients - skip_one);
	}
	return r;
}

/* --- the whole --- */

static uint64_t random_seed(void)
{
	uint32_t seed;

	/* any number will do: it only decides the order, and it is printed */
	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed))
		seed = (uint32_t)counters_wall_ns();
	return seed ? seed : 1; /* the generator stays at 0 */
}

static int set_numbers(const struct plan_request *request, struct plan *plan, struct diag *diag)
{
	if (request->rounds && (str_parse_uint(request->rounds, &plan->rounds) < 0 ||
				plan->rounds == 0 || plan->rounds > RESULT_MAX_ROUNDS))
		return wrong(diag, "rounds", request->rounds, "a number up to 100000");
	plan->fixed_rounds = request->rounds != NULL;
	if (plan->fixed_rounds)
		plan->budget_ns = 0;
	if (request->seed && (str_parse_u64(request->seed, &plan->seed) < 0 ||
			      plan->seed > UINT32_MAX || plan->seed == 0))
		return wrong(diag, "seed", request->seed, "a number from 1 to 4294967295");
	if (request->target && parse_percent(request->target, &plan->target) < 0)
		return wrong(diag, "target", request->target, "a percentage like 1%");
	if (request->target && request->preset != PLAN_THOROUGH)
		return wrong(diag, "target", request->target, "--thorough beside it");
	if (request->max_time && plan_parse_time(request->max_time, &plan->budget_ns) < 0)
		return wrong(diag, "max-time", request->max_time, "a time like 10min");
	if (request->watch && plan_parse_time(request->watch, &plan->watch_ns) < 0)
		return wrong(diag, "watch", request->watch, "a time like 10s");
	return 0;
}

static uint64_t most_samples(const struct plan *plan)
{
	uint64_t samples = (uint64_t)plan->rounds * plan->n_cases * MOST_ARMS;

	return plan->fixed_rounds ? samples : MIN(samples, plan->budget_ns / LEAST_SAMPLE_NS);
}

int plan_make(const struct root *root, const struct plan_request *request, struct plan *ret,
	      struct diag *diag)
{
	_cleanup_plan_ struct plan plan = {
		.preset = request->preset,
		.rounds = presets[request->preset].rounds,
		.budget_ns = presets[request->preset].budget_s * NS_PER_S,
		.watch_ns = presets[request->preset].watch_s * NS_PER_S,
		.target = 0.01,
		.seed = random_seed(),
		.dir = request->dir,
		.profile = request->profile,
	};
	int r = set_numbers(request, &plan, diag);

	if (r >= 0)
		r = choose_cpus(root, request->cpus, &plan, diag);
	if (r >= 0)
		r = choose_workloads(request, &plan, diag);
	if (r < 0)
		return r;
	for (size_t i = 0; i < plan.n_cases; i++)
		plan.bytes = MAX(plan.bytes,
				 workload_bytes(plan.cases[i].workload, plan.cases[i].bytes));
	plan.bytes += plan.bytes / 256 + OWN_BYTES + most_samples(&plan) * SAMPLE_BYTES;
	if (plan.profile)
		plan.bytes += PROFILE_BYTES;
	*ret = plan;
	plan = (struct plan){};
	return 0;
}

void plan_done(struct plan *plan)
{
	free(plan->cases);
	free(plan->cpus);
	*plan = (struct plan){};
}
