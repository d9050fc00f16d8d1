/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/context.h"

#include "base/root.h"
#include "base/str.h"
#include "bench/counters.h"
#include "bench/result.h"
#include "facts/running.h"

#include <math.h>
#include <time.h>

char *context_read(const struct root *root, const char *path)
{
	char *text;
	size_t size;

	if (root_read(root, path, ROOT_MAX_PROC, &text, &size) < 0)
		return NULL;
	while (size > 0 && strchr(" \t\n", text[size - 1]))
		text[--size] = '\0';
	return text;
}

static double to_number(const char *s)
{
	char *end;
	double value = strtod(s, &end); /* the C locale: main() sets no other */

	return end == s ? NAN : value;
}

double context_read_number(const struct root *root, const char *path)
{
	_cleanup_free_ char *text = context_read(root, path);

	return text ? to_number(text) : NAN;
}

/* The text behind a name at the start of a line, or NULL. */
static const char *find_field(const char *text, const char *name)
{
	for (const char *line = text; line && *line;) {
		const char *rest = str_skip_prefix(line, name);

		if (rest && strchr(" \t:", *rest))
			return rest + strspn(rest, " \t:");
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	return NULL;
}

double context_read_field(const struct root *root, const char *path, const char *name)
{
	_cleanup_free_ char *text = context_read(root, path);
	const char *value = text ? find_field(text, name) : NULL;

	return value ? to_number(value) : NAN;
}

char *context_read_choice(const struct root *root, const char *path)
{
	_cleanup_free_ char *text = context_read(root, path);
	const char *from = text ? strchr(text, '[') : NULL;

	return from ? str_dup_n(from + 1, strcspn(from + 1, "]")) : NULL;
}

double context_khz(const struct root *root, int cpu)
{
	_cleanup_free_ char *path = NULL;

	if (str_printf(&path, "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq", cpu) <
	    0)
		return NAN;
	return context_read_number(root, path);
}

struct context_ticks context_ticks(const struct root *root)
{
	enum { STEAL = 7, COLUMNS = 8 }; /* user nice system idle iowait irq softirq steal */
	_cleanup_free_ char *text = context_read(root, "/proc/stat");
	const char *p = text ? find_field(text, "cpu") : NULL;
	struct context_ticks ticks = { .stolen = NAN };

	for (int i = 0; p && i < COLUMNS; i++) {
		char *end;
		double value = strtod(p, &end);

		if (end == p)
			return (struct context_ticks){ NAN, NAN };
		ticks.all += value;
		if (i == STEAL)
			ticks.stolen = value;
		p = end;
	}
	return p ? ticks : (struct context_ticks){ NAN, NAN };
}

/* The processor's name, whatever the architecture calls it. */
static char *read_cpu(const char *cpuinfo)
{
	static const char *const names[] = { "model name", "Processor", "cpu model", "cpu",
					     "uarch",	   "vendor_id", "CPU part" };

	for (size_t i = 0; cpuinfo && i < ARRAY_SIZE(names); i++) {
		const char *value = find_field(cpuinfo, names[i]);

		if (value)
			return str_dup_n(value, strcspn(value, "\n"));
	}
	return NULL;
}

static char *read_model(const struct root *root)
{
	_cleanup_free_ char *vendor = context_read(root, "/sys/class/dmi/id/sys_vendor"),
			    *product = context_read(root, "/sys/class/dmi/id/product_name");
	char *model = NULL;

	if (vendor && product)
		return str_printf(&model, "%s %s", vendor, product) < 0 ? NULL : model;
	return context_read(root, "/proc/device-tree/model");
}

char *context_hypervisor(const struct root *root)
{
	_cleanup_free_ char *cpuinfo = context_read(root, "/proc/cpuinfo");
	const char *flags = cpuinfo ? find_field(cpuinfo, "flags") : NULL;
	_cleanup_free_ char *line = flags ? str_dup_n(flags, strcspn(flags, "\n")) : NULL;
	_cleanup_strv_ struct strv words = {};
	char *type = context_read(root, "/sys/hypervisor/type");

	if (type || !line)
		return type;
	strv_split(&words, line, " ");
	return strdup(strv_contains(&words, "hypervisor") ? "yes" : "no");
}

static char *read_time(void)
{
	time_t now = time(NULL);
	struct tm tm;
	char text[32];

	if (!gmtime_r(&now, &tm) ||
	    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		return NULL;
	return strdup(text);
}

static char *copy(const char *s)
{
	return s ? strdup(s) : NULL;
}

static void load_numbers(const struct root *root, double *numbers)
{
	for (size_t i = 0; i < _CONTEXT_NUMBER_MAX; i++)
		numbers[i] = NAN;
	numbers[CONTEXT_CPUS] = (double)sysconf(_SC_NPROCESSORS_ONLN);
	numbers[CONTEXT_MEMORY_KB] = context_read_field(root, "/proc/meminfo", "MemTotal");
	numbers[CONTEXT_PAGE_SIZE] = (double)sysconf(_SC_PAGESIZE);
	numbers[CONTEXT_SMT] = context_read_number(root, "/sys/devices/system/cpu/smt/active");
	numbers[CONTEXT_PARANOID] =
		context_read_number(root, "/proc/sys/kernel/perf_event_paranoid");
	numbers[CONTEXT_UPTIME] = context_read_number(root, "/proc/uptime");
	numbers[CONTEXT_LOAD] = context_read_number(root, "/proc/loadavg");
}

int context_load(const struct root *root, const struct running *running, struct result *result)
{
	static const char clocksource[] =
		"/sys/devices/system/clocksource/clocksource0/current_clocksource";
	static const char governor[] = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";
	_cleanup_free_ char *cpuinfo = context_read(root, "/proc/cpuinfo"), *cmdline = NULL;
	int pmu = counters_probe_pmu();
	char **text = result->text;

	load_numbers(root, result->numbers);
	if (running->cmdline_text) {
		size_t size = strlen(running->cmdline_text);

		while (size > 0 && strchr(" \n", running->cmdline_text[size - 1]))
			size--;
		cmdline = str_dup_n(running->cmdline_text, size);
	}
	text[CONTEXT_VERSION] = strdup(VERSION);
	text[CONTEXT_TIME] = read_time();
	text[CONTEXT_BOOT_ID] = context_read(root, "/proc/sys/kernel/random/boot_id");
	text[CONTEXT_KERNEL] = copy(running->release);
	text[CONTEXT_BUILD] = context_read(root, "/proc/sys/kernel/version");
	text[CONTEXT_MACHINE] = copy(running->machine);
	text[CONTEXT_CPU] = read_cpu(cpuinfo);
	text[CONTEXT_MODEL] = read_model(root);
	text[CONTEXT_HYPERVISOR] = context_hypervisor(root);
	text[CONTEXT_CMDLINE] = TAKE_PTR(cmdline);
	text[CONTEXT_MEMCG] = copy(memcg_state_to_string(running->memcg));
	text[CONTEXT_HIERARCHY] = copy(hierarchy_to_string(running->hierarchy));
	text[CONTEXT_CONTAINER] = copy(running->container);
	text[CONTEXT_THP] =
		context_read_choice(root, "/sys/kernel/mm/transparent_hugepage/enabled");
	text[CONTEXT_GOVERNOR] = context_read(root, governor);
	text[CONTEXT_CLOCKSOURCE] = context_read(root, clocksource);
	text[CONTEXT_PMU] = strdup(pmu < 0 ? counters_pmu_reason(pmu) : "yes");
	/* the others may be missing for other reasons */
	return text[CONTEXT_VERSION] && text[CONTEXT_PMU] ? 0 : -ENOMEM;
}
