/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/env.h"

#include "base/root.h"
#include "base/str.h"
#include "bench/arms.h"
#include "bench/context.h"
#include "bench/counters.h"
#include "facts/running.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>

enum { SETTLE_SECONDS = 300 };

const char *env_state_name(enum env_state state)
{
	static const char *const names[_ENV_STATE_MAX] = {
		[ENV_OK] = "ok",
		[ENV_WARN] = "warn",
		[ENV_UNKNOWN] = "unknown",
	};

	return names[state];
}

void env_done(struct env *env)
{
	for (size_t i = 0; i < env->n; i++)
		free(env->checks[i].text);
	free(env->checks);
	*env = (struct env){};
}

/* What a check sees. */
struct look {
	const struct root *root;
	const struct running *running;
	uint64_t watch_ns;
};

/* Each gives a state and a text (owned by the caller; NULL: out of memory). */
typedef enum env_state check_fn(const struct look *look, char **ret);

static enum env_state say(enum env_state state, char **ret, const char *fmt, ...)
	_printf_(3, 4);

static enum env_state say(enum env_state state, char **ret, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (str_vprintf(ret, fmt, ap) < 0)
		*ret = NULL;
	va_end(ap);
	return state;
}

static enum env_state check_memcg(const struct look *look, char **ret)
{
	const char *state = memcg_state_to_string(look->running->memcg);

	switch (look->running->memcg) {
	case MEMCG_ON:
		return say(ENV_OK, ret, "on: root and child cgroups can be compared");
	case MEMCG_OFF:
	case MEMCG_UNAVAILABLE:
		return say(ENV_OK, ret,
			   "%s: this boot is the off half of a comparison of boots", state);
	default:
		return say(ENV_UNKNOWN, ret, "%s: %s", state ? state : "unknown",
			   look->running->why ? look->running->why : "not looked at");
	}
}

static enum env_state check_privilege(const struct look *look _unused_, char **ret)
{
	if (geteuid() != 0)
		return say(ENV_WARN, ret,
			   "not root: samples can only be taken here, not in "
			   "the root cgroup and a child");
	return say(ENV_OK, ret, "root");
}

static enum env_state check_cgroups(const struct look *look, char **ret)
{
	const struct running *running = look->running;
	const char *why = arms_why_here(look->root, running);
	bool v2 = running->hierarchy == HIERARCHY_V2;

	if (running->memcg == MEMCG_OFF || running->memcg == MEMCG_UNAVAILABLE)
		return say(ENV_OK, ret, "not needed in this boot");
	if (why)
		return say(ENV_WARN, ret, "%s: one place only, nothing to compare it with",
			   why);
	return say(ENV_OK, ret, "memory is in the %s tree %s; most processes are %u deep",
		   v2 ? "v2" : "v1", running->memory_tree, arms_usual_depth(look->root, v2));
}

static enum env_state check_machine(const struct look *look, char **ret)
{
	_cleanup_free_ char *hypervisor = context_hypervisor(look->root);

	if (!hypervisor)
		return say(ENV_UNKNOWN, ret, "not known whether it is virtual");
	if (streq(hypervisor, "no"))
		return say(ENV_OK, ret, "not virtual");
	return say(
		ENV_WARN, ret,
		"virtual%s%s: a fault costs more than on bare metal, and neighbours are felt",
		streq(hypervisor, "yes") ? "" : ", ",
		streq(hypervisor, "yes") ? "" : hypervisor);
}

static enum env_state check_isolation(const struct look *look, char **ret)
{
	_cleanup_free_ char *cpus =
		context_read(look->root, "/sys/devices/system/cpu/isolated");

	if (!cpus || !*cpus)
		return say(ENV_OK, ret, "no CPU is kept free of other work");
	return say(ENV_OK, ret, "CPUs %s are kept free of other work: --cpus=%s uses them",
		   cpus, cpus);
}

static enum env_state check_pmu(const struct look *look _unused_, char **ret)
{
	int r = counters_probe_pmu();

	return say(r < 0 ? ENV_WARN : ENV_OK, ret, "%s%s", counters_pmu_reason(r),
		   r < 0 ? ": time only" : "");
}

static enum env_state check_cpus(const struct look *look, char **ret)
{
	cpu_set_t set;
	int n = sched_getaffinity(0, sizeof(set), &set) < 0 ? 0 : CPU_COUNT(&set);
	double smt = context_read_number(look->root, "/sys/devices/system/cpu/smt/active");

	if (n == 1)
		return say(ENV_WARN, ret, "one CPU: everything else here runs between samples");
	if (smt > 0)
		return say(ENV_WARN, ret,
			   "SMT is active: a sibling that works makes its neighbour slower");
	return say(ENV_OK, ret, "%d, no active SMT siblings seen", n);
}

static enum env_state check_frequency(const struct look *look, char **ret)
{
	static const char boost[] = "/sys/devices/system/cpu/cpufreq/boost",
			  no_turbo[] = "/sys/devices/system/cpu/intel_pstate/no_turbo";
	_cleanup_free_ char *governor = context_read(
		look->root, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
	bool boosts = context_read_number(look->root, boost) > 0 ||
		      context_read_number(look->root, no_turbo) < 1;

	if (!governor)
		return say(ENV_UNKNOWN, ret, "the kernel does not control it here");
	if (!streq(governor, "performance"))
		return say(ENV_WARN, ret, "governor %s: the clock follows the load", governor);
	if (boosts)
		return say(ENV_WARN, ret, "boost is on: the clock follows heat and neighbours");
	return say(ENV_OK, ret, "governor performance, no boost");
}

static enum env_state check_throttle(const struct look *look, char **ret)
{
	static const char path[] =
		"/sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count";
	double count = context_read_number(look->root, path);

	if (isnan(count))
		return say(ENV_UNKNOWN, ret, "not counted here");
	return say(count > 0 ? ENV_WARN : ENV_OK, ret, "%.0f times since boot", count);
}

static enum env_state check_clock(const struct look *look, char **ret)
{
	static const char path[] =
		"/sys/devices/system/clocksource/clocksource0/current_clocksource";
	_cleanup_free_ char *name = context_read(look->root, path);

	if (!name)
		return say(ENV_UNKNOWN, ret, "clocksource not known");
	if (streq(name, "hpet") || streq(name, "acpi_pm") || streq(name, "jiffies") ||
	    streq(name, "refined-jiffies"))
		return say(ENV_WARN, ret, "%s is slow or coarse", name);
	return say(ENV_OK, ret, "%s", name);
}

static enum env_state check_steal(const struct look *look, char **ret)
{
	struct context_ticks ticks = context_ticks(look->root);
	double share = ticks.stolen / ticks.all;

	if (isnan(share))
		return say(ENV_UNKNOWN, ret, "not known");
	return say(share > 0.01 ? ENV_WARN : ENV_OK, ret,
		   "%.2f %% since boot went to other guests", 100 * share);
}

static enum env_state check_load(const struct look *look, char **ret)
{
	double load = context_read_number(look->root, "/proc/loadavg");
	double cpus = (double)sysconf(_SC_NPROCESSORS_ONLN);

	if (isnan(load))
		return say(ENV_UNKNOWN, ret, "not known");
	return say(load > 0.2 * cpus ? ENV_WARN : ENV_OK, ret, "%.2f on %.0f CPUs%s", load,
		   cpus, load > 0.2 * cpus ? ": others are working" : "");
}

static enum env_state check_pressure(const struct look *look, char **ret)
{
	_cleanup_free_ char *text = context_read(look->root, "/proc/pressure/memory");
	const char *avg = text ? strstr(text, "avg10=") : NULL;
	double share = avg ? strtod(avg + 6, NULL) : NAN;

	if (isnan(share))
		return say(ENV_UNKNOWN, ret, "the kernel does not tell (no PSI)");
	return say(share > 0 ? ENV_WARN : ENV_OK, ret,
		   "%.2f %% of the last 10 s were spent waiting for memory", share);
}

static enum env_state check_uptime(const struct look *look, char **ret)
{
	double uptime = context_read_number(look->root, "/proc/uptime");

	if (isnan(uptime))
		return say(ENV_UNKNOWN, ret, "not known");
	if (uptime < SETTLE_SECONDS)
		return say(ENV_WARN, ret, "booted %.0f s ago: a host settles for some minutes",
			   uptime);
	return say(ENV_OK, ret, "booted %.0f min ago", uptime / 60);
}

static enum env_state check_huge_pages(const struct look *look, char **ret)
{
	_cleanup_free_ char *thp =
		context_read_choice(look->root, "/sys/kernel/mm/transparent_hugepage/enabled");

	return say(ENV_OK, ret, "%s; measured memory opts out, and faults are counted",
		   thp ? thp : "none");
}

static enum env_state check_merging(const struct look *look, char **ret)
{
	double ksm = context_read_number(look->root, "/sys/kernel/mm/ksm/run");

	if (ksm > 0)
		return say(ENV_WARN, ret, "KSM is merging pages");
	return say(ENV_OK, ret, "KSM is not running");
}

static enum env_state check_numa(const struct look *look, char **ret)
{
	_cleanup_free_ char *nodes =
		context_read(look->root, "/sys/devices/system/node/possible");
	double balancing = context_read_number(look->root, "/proc/sys/kernel/numa_balancing");

	if (nodes && !streq(nodes, "0") && balancing > 0)
		return say(ENV_WARN, ret,
			   "nodes %s with balancing, which makes faults of its own", nodes);
	return say(ENV_OK, ret, "%s", nodes ? nodes : "one node");
}

/* What the cost of a fault is to be multiplied with. */
static enum env_state check_faults(const struct look *look, char **ret)
{
	const struct timespec watch = { (time_t)(look->watch_ns / 1000000000),
					(long)(look->watch_ns % 1000000000) };
	double uptime = context_read_number(look->root, "/proc/uptime");
	double before = context_read_field(look->root, "/proc/vmstat", "pgfault");
	uint64_t start = counters_wall_ns();
	double seconds;

	if (look->watch_ns == 0) {
		if (isnan(before) || isnan(uptime))
			return say(ENV_UNKNOWN, ret, "not counted here");
		return say(ENV_OK, ret,
			   "%.0f a second on average since boot; --watch=10s counts now",
			   before / uptime);
	}
	if (nanosleep(&watch, NULL) < 0)
		return say(ENV_UNKNOWN, ret, "interrupted");
	seconds = (double)(counters_wall_ns() - start) / 1e9;
	before = context_read_field(look->root, "/proc/vmstat", "pgfault") - before;
	if (isnan(before))
		return say(ENV_UNKNOWN, ret, "not counted here");
	return say(ENV_OK, ret, "%.0f a second, counted for %.1f s", before / seconds, seconds);
}

static enum env_state check_memory(const struct look *look, char **ret)
{
	_cleanup_free_ char *why = NULL;
	uint64_t bytes;
	int r = env_memory(look->root, look->running, &bytes, &why);

	if (r < 0)
		return say(ENV_UNKNOWN, ret, "%s", strerror(-r));
	return say(why ? ENV_WARN : ENV_OK, ret, "%.0f MiB can be used%s%s",
		   (double)bytes / 0x1p20, why ? ": " : "", why ? why : "");
}

static const struct {
	const char *name;
	check_fn *look;
} checks[] = {
	{ "memcg", check_memcg },
	{ "privilege", check_privilege },
	{ "cgroups", check_cgroups },
	{ "machine", check_machine },
	{ "PMU", check_pmu },
	{ "CPUs", check_cpus },
	{ "isolation", check_isolation },
	{ "frequency", check_frequency },
	{ "throttling", check_throttle },
	{ "clock", check_clock },
	{ "steal", check_steal },
	{ "load", check_load },
	{ "pressure", check_pressure },
	{ "uptime", check_uptime },
	{ "huge pages", check_huge_pages },
	{ "page merging", check_merging },
	{ "NUMA", check_numa },
	{ "memory", check_memory },
	{ "page faults", check_faults },
};

int env_look(const struct root *root, const struct running *running, uint64_t watch_ns,
	     struct env *ret)
{
	const struct look look = { root, running, watch_ns };
	_cleanup_env_ struct env env = {
		.checks = calloc(ARRAY_SIZE(checks), sizeof(*env.checks)),
	};

	if (!env.checks)
		return -ENOMEM;
	for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
		struct env_check *check = &env.checks[env.n++];

		check->name = checks[i].name;
		check->state = checks[i].look(&look, &check->text);
		if (!check->text)
			return -ENOMEM;
	}
	*ret = env;
	env = (struct env){};
	return 0;
}

/* --- memory --- */

/* The file of a group as a number; INFINITY for "max" and for v1's largest. */
static double read_limit(const struct root *root, const char *tree, const char *group,
			 const char *file)
{
	_cleanup_free_ char *path = NULL, *text = NULL;
	double value;

	if (str_printf(&path, "%s%s/%s", tree, group, file) < 0)
		return NAN;
	text = context_read(root, path);
	if (!text)
		return NAN; /* the root group has none */
	value = streq(text, "max") ? INFINITY : strtod(text, NULL);
	return value > 0x1p62 ? INFINITY : value;
}

/* What the limits of one group leave, and the reason if it is less than *left. */
static int look_at_group(const struct root *root, const char *tree, const char *group,
			 double *left, char **why)
{
	static const struct {
		const char *limit, *usage;
	} files[] = {
		{ "memory.max", "memory.current" },
		{ "memory.high", "memory.current" },
		{ "memory.limit_in_bytes", "memory.usage_in_bytes" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		double limit = read_limit(root, tree, group, files[i].limit);
		double usage = read_limit(root, tree, group, files[i].usage);

		if (!isfinite(limit) || isnan(usage) || limit - usage >= *left)
			continue;
		*left = fmax(0, limit - usage);
		free(*why);
		*why = NULL;
		if (str_printf(why, "%s of the cgroup %s leaves %.0f MiB", files[i].limit,
			       *group ? group : "/", *left / 0x1p20) < 0)
			return -ENOMEM;
	}
	return 0;
}

int env_memory(const struct root *root, const struct running *running, uint64_t *ret,
	       char **ret_why)
{
	_cleanup_free_ char *group = NULL, *why = NULL;
	double left = 1024 * context_read_field(root, "/proc/meminfo", "MemAvailable");
	int r = 0;

	if (isnan(left)) /* before 3.14 */
		left = 1024 * context_read_field(root, "/proc/meminfo", "MemFree");
	if (isnan(left))
		return -ENODATA;
	if (running->memory_tree && running->memcg == MEMCG_ON &&
	    arms_own_group(root, "self", running->hierarchy == HIERARCHY_V2, &group) >= 0) {
		/* from our own group up to the root of the tree */
		for (char *end = group + strlen(group); r >= 0; *end = '\0') {
			r = look_at_group(root, running->memory_tree,
					  streq(group, "/") ? "" : group, &left, &why);
			end = strrchr(group, '/');
			if (!end || end == group)
				break;
		}
	}
	if (r < 0)
		return r;
	*ret = (uint64_t)(left / 2);
	*ret_why = TAKE_PTR(why);
	return 0;
}
