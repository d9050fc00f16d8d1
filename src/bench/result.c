/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/result.h"

#include "base/diag.h"
#include "base/json.h"
#include "base/root.h"
#include "base/str.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>

const char *const context_key_names[_CONTEXT_MAX] = {
	[CONTEXT_VERSION] = "version",
	[CONTEXT_TIME] = "time",
	[CONTEXT_LABEL] = "label",
	[CONTEXT_BOOT_ID] = "boot_id",
	[CONTEXT_KERNEL] = "kernel",
	[CONTEXT_BUILD] = "build",
	[CONTEXT_MACHINE] = "machine",
	[CONTEXT_CPU] = "cpu",
	[CONTEXT_MODEL] = "model",
	[CONTEXT_HYPERVISOR] = "hypervisor",
	[CONTEXT_CMDLINE] = "cmdline",
	[CONTEXT_MEMCG] = "memcg",
	[CONTEXT_HIERARCHY] = "hierarchy",
	[CONTEXT_CONTAINER] = "container",
	[CONTEXT_THP] = "thp",
	[CONTEXT_GOVERNOR] = "governor",
	[CONTEXT_CLOCKSOURCE] = "clocksource",
	[CONTEXT_PMU] = "pmu",
	[CONTEXT_WHY_HERE] = "why_here",
};

const char *const context_number_names[_CONTEXT_NUMBER_MAX] = {
	[CONTEXT_CPUS] = "cpus",
	[CONTEXT_MEMORY_KB] = "memory_kb",
	[CONTEXT_PAGE_SIZE] = "page_size",
	[CONTEXT_SMT] = "smt",
	[CONTEXT_PARANOID] = "perf_event_paranoid",
	[CONTEXT_UPTIME] = "uptime_s",
	[CONTEXT_LOAD] = "load",
	[CONTEXT_KHZ_START] = "khz_start",
	[CONTEXT_KHZ_END] = "khz_end",
	[CONTEXT_STEAL] = "steal",
	[CONTEXT_FAULT_RATE] = "fault_rate",
	[CONTEXT_WATCHED] = "watched_s",
	[CONTEXT_ROUNDS] = "rounds",
	[CONTEXT_SEED] = "seed",
	[CONTEXT_BYTES] = "bytes",
};

static const char *const kind_names[] = {
	[ARM_HERE] = "here",
	[ARM_ROOT] = "root",
	[ARM_CHILD] = "child",
};

/* The columns of a sample, in JSON and CSV. */
enum column {
	COLUMN_WORKLOAD, /* indices in JSON, names in CSV */
	COLUMN_ARM,
	COLUMN_ROUND,
	COLUMN_POSITION,
	COLUMN_UNITS,
	COLUMN_WALL,
	COLUMN_CPU_TIME,
	COLUMN_MAP,
	COLUMN_TOUCH,
	COLUMN_UNMAP,
	COLUMN_TOUCH_CPU,
	COLUMN_MINFLT,
	COLUMN_MAJFLT,
	COLUMN_NVCSW,
	COLUMN_NIVCSW,
	COLUMN_CPU,
	COLUMN_HAS_PMU,
	COLUMN_INSTRUCTIONS,
	COLUMN_CYCLES,
	COLUMN_INVALID,
	COLUMN_ERROR,
	_COLUMN_MAX,
};

static const char *const column_names[_COLUMN_MAX] = {
	[COLUMN_WORKLOAD] = "workload",
	[COLUMN_ARM] = "arm",
	[COLUMN_ROUND] = "round",
	[COLUMN_POSITION] = "position",
	[COLUMN_UNITS] = "units",
	[COLUMN_WALL] = "wall_ns",
	[COLUMN_CPU_TIME] = "cpu_ns",
	[COLUMN_MAP] = "map_ns",
	[COLUMN_TOUCH] = "touch_ns",
	[COLUMN_UNMAP] = "unmap_ns",
	[COLUMN_TOUCH_CPU] = "touch_cpu_ns",
	[COLUMN_MINFLT] = "minflt",
	[COLUMN_MAJFLT] = "majflt",
	[COLUMN_NVCSW] = "nvcsw",
	[COLUMN_NIVCSW] = "nivcsw",
	[COLUMN_CPU] = "cpu",
	[COLUMN_HAS_PMU] = "pmu",
	[COLUMN_INSTRUCTIONS] = "instructions_k",
	[COLUMN_CYCLES] = "cycles_k",
	[COLUMN_INVALID] = "invalid",
	[COLUMN_ERROR] = "error",
};

static void to_row(const struct result_sample *s, uint64_t row[static _COLUMN_MAX])
{
	const struct counts *counts = &s->sample.counts;
	const uint64_t values[_COLUMN_MAX] = {
		[COLUMN_WORKLOAD] = s->c,
		[COLUMN_ARM] = s->arm,
		[COLUMN_ROUND] = s->round,
		[COLUMN_POSITION] = s->position,
		[COLUMN_UNITS] = s->sample.units,
		[COLUMN_WALL] = counts->wall_ns,
		[COLUMN_CPU_TIME] = counts->cpu_ns,
		[COLUMN_MAP] = s->sample.phase_ns[PHASE_MAP],
		[COLUMN_TOUCH] = s->sample.phase_ns[PHASE_TOUCH],
		[COLUMN_UNMAP] = s->sample.phase_ns[PHASE_UNMAP],
		[COLUMN_TOUCH_CPU] = s->sample.touch_cpu_ns,
		[COLUMN_MINFLT] = counts->minflt,
		[COLUMN_MAJFLT] = counts->majflt,
		[COLUMN_NVCSW] = counts->nvcsw,
		[COLUMN_NIVCSW] = counts->nivcsw,
		[COLUMN_CPU] = (uint64_t)MAX(counts->first_cpu, 0),
		[COLUMN_HAS_PMU] = counts->has_pmu,
		[COLUMN_INSTRUCTIONS] = counts->instructions,
		[COLUMN_CYCLES] = counts->cycles,
		[COLUMN_INVALID] = s->sample.invalid,
		[COLUMN_ERROR] = (uint64_t)s->sample.error,
	};

	memcpy(row, values, sizeof(values));
}

static void from_row(const uint64_t row[static _COLUMN_MAX], struct result_sample *ret)
{
	*ret = (struct result_sample){
		.round = (uint32_t)row[COLUMN_ROUND],
		.position = (uint8_t)row[COLUMN_POSITION],
		.arm = (uint8_t)row[COLUMN_ARM],
		.c = (uint16_t)row[COLUMN_WORKLOAD],
		.sample = {
			.counts = {
				.wall_ns = row[COLUMN_WALL],
				.cpu_ns = row[COLUMN_CPU_TIME],
				.minflt = row[COLUMN_MINFLT],
				.majflt = row[COLUMN_MAJFLT],
				.nvcsw = row[COLUMN_NVCSW],
				.nivcsw = row[COLUMN_NIVCSW],
				.instructions = row[COLUMN_INSTRUCTIONS],
				.cycles = row[COLUMN_CYCLES],
				.has_pmu = row[COLUMN_HAS_PMU] != 0,
				.first_cpu = (int)row[COLUMN_CPU],
				.last_cpu = (int)row[COLUMN_CPU],
			},
			.units = row[COLUMN_UNITS],
			.phase_ns = { row[COLUMN_MAP], row[COLUMN_TOUCH], row[COLUMN_UNMAP] },
			.touch_cpu_ns = row[COLUMN_TOUCH_CPU],
			.invalid = (unsigned)row[COLUMN_INVALID],
			.error = (int)row[COLUMN_ERROR],
		},
	};
}

int result_add_sample(struct result *result, const struct result_sample *sample)
{
	if (!GROW(result->samples, result->n_samples, result->samples_alloc))
		return -ENOMEM;
	result->samples[result->n_samples++] = *sample;
	return 0;
}

int result_case_title(const struct result_case *c, char **ret)
{
	if (!c->has_clients)
		return str_printf(ret, "%s", c->workload);
	return str_printf(ret, "%s-%u", c->workload, c->clients);
}

void result_done(struct result *result)
{
	for (size_t i = 0; i < _CONTEXT_MAX; i++)
		free(result->text[i]);
	for (size_t i = 0; i < result->n_arms; i++)
		free(result->arms[i].name);
	for (size_t i = 0; i < result->n_cases; i++) {
		free(result->cases[i].workload);
		free(result->cases[i].unit);
	}
	free(result->arms);
	free(result->cases);
	free(result->samples);
	free(result->profile);
	strv_done(&result->warnings);
	*result = (struct result){};
}

/* --- writing --- */

static struct json *context_to_json(const struct result *result)
{
	struct json *context = json_new_object();

	for (size_t i = 0; i < _CONTEXT_MAX; i++)
		json_add_string(context, context_key_names[i], result->text[i]);
	for (size_t i = 0; i < _CONTEXT_NUMBER_MAX; i++) {
		double value = result->numbers[i];

		/* whole numbers as such, also the 53 bits of a seed */
		if (isnan(value))
			json_add_null(context, context_number_names[i]);
		else if (value >= 0 && value < 0x1p53 && floor(value) >= value)
			json_add_u64(context, context_number_names[i], (uint64_t)value);
		else
			json_add_double(context, context_number_names[i], value);
	}
	return context;
}

static struct json *arms_to_json(const struct result *result)
{
	struct json *arms = json_new_array();

	for (size_t i = 0; i < result->n_arms; i++) {
		const struct result_arm *arm = &result->arms[i];
		struct json *object = json_new_object();

		json_add_string(object, "name", arm->name);
		json_add_string(object, "kind", kind_names[arm->kind]);
		json_add_bool(object, "control", arm->control);
		json_add_bool(object, "before", arm->before);
		json_add_u64(object, "depth", arm->depth);
		json_append(arms, object);
	}
	return arms;
}

static struct json *cases_to_json(const struct result *result)
{
	struct json *cases = json_new_array();

	for (size_t i = 0; i < result->n_cases; i++) {
		const struct result_case *c = &result->cases[i];
		struct json *object = json_new_object();

		json_add_string(object, "name", c->workload);
		json_add_string(object, "unit", c->unit);
		if (c->has_clients)
			json_add_u64(object, "clients", c->clients);
		else
			json_add_null(object, "clients");
		json_add_u64(object, "loops", c->loops);
		json_add_u64(object, "bytes", c->bytes);
		json_add_u64(object, "faults", c->faults);
		json_append(cases, object);
	}
	return cases;
}

/* An array of arrays, one a sample. */
static char *samples_to_text(const struct result *result)
{
	_cleanup_strbuf_ struct strbuf buf = {};
	char *text;

	strbuf_addc(&buf, '[');
	for (size_t i = 0; i < result->n_samples; i++) {
		uint64_t row[_COLUMN_MAX];

		to_row(&result->samples[i], row);
		for (size_t k = 0; k < _COLUMN_MAX; k++)
			strbuf_addf(&buf, "%s%" PRIu64, k ? "," : i ? ",[" : "[", row[k]);
		strbuf_addc(&buf, ']');
	}
	strbuf_addc(&buf, ']');
	return strbuf_take(&buf, &text, NULL) < 0 ? NULL : text;
}

struct json *result_to_json(const struct result *result)
{
	struct json *top = json_new_object(), *columns = json_new_array(),
		    *warnings = json_new_array();

	json_add_int(top, "schema", 1);
	json_add_string(top, "kind", "bench");
	json_add(top, "context", context_to_json(result));
	json_add(top, "arms", arms_to_json(result));
	json_add(top, "workloads", cases_to_json(result));
	for (size_t i = 0; i < _COLUMN_MAX; i++)
		json_append_string(columns, column_names[i]);
	json_add(top, "columns", columns);
	json_add_text_take(top, "samples", samples_to_text(result));
	if (result->profile)
		json_add_text_take(top, "profile", strdup(result->profile));
	else
		json_add_null(top, "profile");
	for (size_t i = 0; i < result->warnings.n; i++) {
		struct json *warning = json_new_object();

		json_add_string(warning, "text", result->warnings.items[i]);
		json_append(warnings, warning);
	}
	json_add(top, "warnings", warnings);
	return top;
}

int result_print_csv(const struct result *result, FILE *f)
{
	for (size_t k = 0; k < _COLUMN_MAX; k++)
		fprintf(f, "%s%s", k ? "," : "", column_names[k]);
	fputc('\n', f);
	for (size_t i = 0; i < result->n_samples; i++) {
		const struct result_sample *s = &result->samples[i];
		_cleanup_free_ char *title = NULL;
		uint64_t row[_COLUMN_MAX];
		int r = result_case_title(&result->cases[s->c], &title);

		if (r < 0)
			return r;
		to_row(s, row);
		fprintf(f, "%s,%s", title, result->arms[s->arm].name);
		for (size_t k = COLUMN_ROUND; k < _COLUMN_MAX; k++)
			if (k == COLUMN_INVALID)
				fprintf(f, ",%s",
					row[k] ? sample_invalid_name((unsigned)row[k]) : "");
			else
				fprintf(f, ",%" PRIu64, row[k]);
		fputc('\n', f);
	}
	return ferror(f) ? -EIO : 0;
}

/* --- reading --- */

static int wrong(struct diag *diag, const char *path, const char *what)
{
	diag_error(diag,
		   &(struct diag_where){ .path = path,
					 .hint = "memcg-policy bench run -o FILE makes one" },
		   "no result of memcg-policy bench: %s", what);
	return -EINVAL;
}

/* Whoever made the file: what it says is printed later, so no terminal may take it for orders.
 */
static int copy_string(const struct json *object, const char *key, char **ret)
{
	const char *value = json_as_string(json_get(object, key));

	if (!value)
		return 0;
	*ret = str_escape(value, strlen(value));
	return *ret ? 0 : -ENOMEM;
}

static int read_context(const struct json *context, struct result *result)
{
	for (size_t i = 0; i < _CONTEXT_MAX; i++) {
		int r = copy_string(context, context_key_names[i], &result->text[i]);

		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < _CONTEXT_NUMBER_MAX; i++)
		if (json_as_number(json_get(context, context_number_names[i]),
				   &result->numbers[i]) < 0)
			result->numbers[i] = NAN;
	return 0;
}

static bool get_bool(const struct json *object, const char *key)
{
	bool value;

	return json_as_bool(json_get(object, key), &value) >= 0 && value;
}

static uint64_t get_u64(const struct json *object, const char *key)
{
	uint64_t value;

	return json_as_u64(json_get(object, key), &value) < 0 ? 0 : value;
}

static int read_arms(const struct json *arms, struct result *result)
{
	size_t n = json_length(arms);

	if (!json_is_array(arms) || n == 0 || n > UINT8_MAX)
		return -EINVAL;
	result->arms = calloc(n, sizeof(*result->arms));
	if (!result->arms)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct json *object = json_at(arms, i);
		const char *kind = json_as_string(json_get(object, "kind"));
		struct result_arm *arm = &result->arms[result->n_arms++];
		int r = copy_string(object, "name", &arm->name);

		if (r < 0)
			return r;
		if (!arm->name || !kind)
			return -EINVAL;
		for (size_t k = 0; k < ARRAY_SIZE(kind_names); k++)
			if (streq(kind, kind_names[k]))
				arm->kind = (enum arm_kind)k;
		arm->control = get_bool(object, "control");
		arm->before = get_bool(object, "before");
		arm->depth = (unsigned)get_u64(object, "depth");
	}
	return 0;
}

/* Ten workloads for each of 128 clients; every pair of cases is looked at. */
enum { MAX_CASES = 1280 };

static int read_cases(const struct json *cases, struct result *result)
{
	size_t n = json_length(cases);

	if (!json_is_array(cases) || n == 0 || n > MAX_CASES)
		return -EINVAL;
	result->cases = calloc(n, sizeof(*result->cases));
	if (!result->cases)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct json *object = json_at(cases, i);
		struct result_case *c = &result->cases[result->n_cases++];
		int r = copy_string(object, "name", &c->workload);

		if (r >= 0)
			r = copy_string(object, "unit", &c->unit);
		if (r < 0)
			return r;
		if (!c->workload || !c->unit)
			return -EINVAL;
		c->clients = (unsigned)get_u64(object, "clients");
		c->has_clients = c->clients > 0;
		c->clients = MAX(c->clients, 1U);
		c->loops = get_u64(object, "loops");
		c->bytes = get_u64(object, "bytes");
		c->faults = get_u64(object, "faults");
	}
	return 0;
}

/* Columns are found by name: a later version may have more, in another order. */
static int read_samples(const struct json *top, struct result *result)
{
	const struct json *names = json_get(top, "columns"),
			  *samples = json_get(top, "samples");
	size_t places[_COLUMN_MAX];

	for (size_t k = 0; k < _COLUMN_MAX; k++) {
		places[k] = SIZE_MAX;
		for (size_t i = 0; i < json_length(names); i++)
			if (streq_ptr(json_as_string(json_at(names, i)), column_names[k]))
				places[k] = i;
		if (places[k] == SIZE_MAX)
			return -EINVAL;
	}
	if (!json_is_array(samples))
		return -EINVAL;
	for (size_t i = 0; i < json_length(samples); i++) {
		const struct json *array = json_at(samples, i);
		struct result_sample sample;
		uint64_t row[_COLUMN_MAX];
		int r;

		for (size_t k = 0; k < _COLUMN_MAX; k++)
			if (places[k] >= json_length(array) ||
			    json_as_u64(json_at(array, places[k]), &row[k]) < 0)
				return -EINVAL;
		if (row[COLUMN_WORKLOAD] >= result->n_cases ||
		    row[COLUMN_ARM] >= result->n_arms ||
		    row[COLUMN_ROUND] >= RESULT_MAX_ROUNDS ||
		    (row[COLUMN_INVALID] == 0 && row[COLUMN_UNITS] == 0))
			return -EINVAL;
		from_row(row, &sample);
		r = result_add_sample(result, &sample);
		if (r < 0)
			return r;
	}
	return 0;
}

int result_from_json(const struct json *value, const char *path, struct result *ret,
		     struct diag *diag)
{
	_cleanup_result_ struct result result = {};
	const struct json *warnings = json_get(value, "warnings");
	const char *what = "context";
	int r;

	if (!streq_ptr(json_as_string(json_get(value, "kind")), "bench"))
		return wrong(diag, path, "it has no \"kind\": \"bench\"");
	if (get_u64(value, "schema") != 1)
		return wrong(diag, path, "it has another schema than 1");
	r = read_context(json_get(value, "context"), &result);
	if (r >= 0) {
		what = "\"arms\" is not understood";
		r = read_arms(json_get(value, "arms"), &result);
	}
	if (r >= 0) {
		what = "\"workloads\" is not understood";
		r = read_cases(json_get(value, "workloads"), &result);
	}
	if (r >= 0) {
		what = "\"samples\" is not understood";
		r = read_samples(value, &result);
	}
	if (r == -EINVAL)
		return wrong(diag, path, what);
	if (r >= 0 && json_is_array(json_get(value, "profile")))
		r = json_print(json_get(value, "profile"), false, &result.profile);
	for (size_t i = 0; i < json_length(warnings); i++) {
		_cleanup_free_ char *text = NULL;
		int e = copy_string(json_at(warnings, i), "text", &text);

		r = r < 0 ? r : e;
		if (text)
			strv_add(&result.warnings, text);
	}
	if (r >= 0)
		r = strv_error(&result.warnings);
	if (r < 0)
		return r;
	*ret = result;
	result = (struct result){};
	return 0;
}

int result_read(const char *path, struct result *ret, struct diag *diag)
{
	_cleanup_json_ struct json *value = NULL;
	_cleanup_free_ char *text = NULL;
	_cleanup_fd_ int fd = -EBADF;
	size_t size, offset;
	int r;

	/* the user's own file, not one of a root; it may be a pipe */
	fd = streq(path, "-") ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
			      : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	r = fd < 0 ? -errno : root_read_fd(fd, ROOT_MAX_JSON, &text, &size);
	if (r < 0) {
		diag_error(diag, &(struct diag_where){ .path = path }, "%s", strerror(-r));
		return r;
	}
	r = json_parse(text, size, &value, &offset);
	if (r == -EINVAL)
		return wrong(diag, path, "it is not JSON");
	return r < 0 ? r : result_from_json(value, path, ret, diag);
}
