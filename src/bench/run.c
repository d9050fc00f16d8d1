/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/run.h"

#include "base/diag.h"
#include "base/json.h"
#include "base/root.h"
#include "base/str.h"
#include "bench/arms.h"
#include "bench/context.h"
#include "bench/env.h"
#include "bench/plan.h"
#include "bench/profile.h"
#include "bench/result.h"
#include "bench/stats.h"
#include "bench/summary.h"
#include "bench/worker.h"

#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>

enum {
	SAMPLE_NS = 5000000,	   /* long enough for the clocks, short against drift */
	SAMPLE_LEAST_UNITS = 2000, /* the charge cache is refilled every 64 pages */
	REGION_NS = 40000000,	   /* a region that takes longer is made smaller */
	SPARE_ROUNDS = 2,	   /* some samples may be dropped */
	BEFORE_ROUNDS = 10,	   /* of kernel objects, before any child ran */
	FIRST_LOOK = 50,	   /* --thorough looks here and at every doubling */
	PROFILE_NS = 1000000000,   /* of a workload in a place */
};

/* All that a run carries around. */
struct run {
	const struct root *root;
	struct plan *plan;
	struct arms arms;
	struct workload_env env;
	struct result *result;
	const struct run_hooks *hooks;
	struct symbols symbols; /* with --profile */
	int signal_fd;
	uint64_t state;	   /* of the generator */
	uint64_t round_ns; /* how long a round takes, estimated */
	uint64_t start_ns;
};

static void show(const struct run *run, enum run_stage stage, double done, double left_s)
{
	if (run->hooks && run->hooks->progress)
		run->hooks->progress(run->hooks->data,
				     &(struct run_progress){ stage, done, left_s });
}

/* xorshift64*; the order of samples needs no better. */
static size_t random_below(struct run *run, size_t n)
{
	run->state ^= run->state >> 12;
	run->state ^= run->state << 25;
	run->state ^= run->state >> 27;
	return (size_t)((run->state * UINT64_C(2685821657736338717) >> 32) * n >> 32);
}

/* Sleeps, or -EINTR. */
static int pause_ns(const struct run *run, uint64_t ns)
{
	struct pollfd fd = { .fd = run->signal_fd, .events = POLLIN };
	int r;

	do
		r = poll(&fd, 1, (int)(ns / 1000000));
	while (r < 0 && errno == EINTR);
	return r < 0 ? -errno : r > 0 ? -EINTR : 0;
}

/* --- before --- */

static int watch_faults(struct run *run)
{
	const uint64_t step = 250000000, length = run->plan->watch_ns;
	double before = context_read_field(run->root, "/proc/vmstat", "pgfault");
	uint64_t start = counters_wall_ns(), now = start;
	int r = 0;

	while (now - start < length && r >= 0) {
		show(run, RUN_WATCHING, (double)(now - start) / (double)length,
		     (double)(length - (now - start)) / 1e9);
		r = pause_ns(run, MIN(step, length - (now - start)) + 1000000);
		now = counters_wall_ns();
	}
	if (length > 0) {
		double after = context_read_field(run->root, "/proc/vmstat", "pgfault");
		double seconds = (double)(now - start) / 1e9;

		run->result->numbers[CONTEXT_FAULT_RATE] = (after - before) / seconds;
		run->result->numbers[CONTEXT_WATCHED] = seconds;
	}
	return r;
}

static int check_memory(const struct run *run, const struct running *running, struct diag *diag)
{
	_cleanup_free_ char *why = NULL;
	uint64_t bytes;
	int r = env_memory(run->root, running, &bytes, &why);

	if (r < 0)
		return r;
	if (run->plan->bytes <= bytes)
		return 0;
	diag_error(
		diag, &(struct diag_where){ .hint = "memcg-policy bench run --workload=anon" },
		"this run would use %.0f MiB at once and %.0f MiB can be used without hurting "
		"(half of what is available%s%s)",
		(double)run->plan->bytes / 0x1p20, (double)bytes / 0x1p20, why ? "; " : "",
		why ? why : "");
	return -ENOMEM;
}

/* One sample; the error of a worker that could not run is in the sample. */
static int take(struct run *run, size_t c, size_t arm, struct sample *ret)
{
	return worker_sample(&run->plan->cases[c], &run->env, run->arms.items[arm].fd,
			     run->signal_fd, ret);
}

static int failed(const struct run *run, size_t c, const struct sample *sample,
		  struct diag *diag)
{
	const struct workload *workload = run->plan->cases[c].workload;
	const struct diag_where where = { .path = workload->has_file ? run->plan->dir : NULL };

	diag_error(diag, &where, "workload %s in %s: %s", workload->name,
		   run->arms.items[0].name,
		   sample->error ? strerror(sample->error) : "it died");
	return -ECANCELED;
}

/*
 * Region, loops and expected faults of one workload: found once, in arm 0, the same for all.
 */
static int calibrate(struct run *run, size_t c, struct diag *diag)
{
	struct workload_case *one = &run->plan->cases[c];
	const struct workload *workload = one->workload;
	struct sample sample;
	uint64_t start, loop_ns, units;
	int r;

	one->bytes = workload->least_region;
	r = take(run, c, 0, &sample); /* warms the caches of the tool too */
	if (r >= 0)
		r = take(run, c, 0, &sample);
	if (r >= 0 && (sample.invalid & SAMPLE_FAILED))
		r = failed(run, c, &sample, diag);
	if (r < 0)
		return r;
	loop_ns = MAX(sample.counts.wall_ns, 1U);
	units = sample.units;
	while (one->bytes < workload->region && loop_ns < REGION_NS / 2) {
		one->bytes *= 2;
		loop_ns *= 2;
		units *= 2;
	}
	if (!workload->has_clients) {
		one->loops = (SAMPLE_NS + loop_ns - 1) / loop_ns;
		if (workload->faults != FAULTS_ANY)
			one->loops = MAX(one->loops, (SAMPLE_LEAST_UNITS + units - 1) / units);
	}
	start = counters_wall_ns();
	r = take(run, c, 0, &sample);
	if (r >= 0 && (sample.invalid & SAMPLE_FAILED))
		r = failed(run, c, &sample, diag);
	run->round_ns += (counters_wall_ns() - start) * run->arms.n;
	one->faults = sample.counts.minflt;
	return r;
}

/* --- measuring --- */

static int keep(struct run *run, size_t c, size_t place, struct result_sample s)
{
	int r;

	s.c = (uint16_t)c;
	r = take(run, c, place, &s.sample);
	return r < 0 ? r : result_add_sample(run->result, &s);
}

/* Every workload once in every arm, in an order that is drawn anew. */
static int measure_round(struct run *run, uint32_t round)
{
	int r = 0;

	for (size_t c = 0; c < run->plan->n_cases && r >= 0; c++) {
		size_t order[ARMS_MAX];

		for (size_t i = 0; i < run->arms.n; i++)
			order[i] = i;
		for (size_t i = run->arms.n; i > 1; i--) {
			size_t k = random_below(run, i), swap = order[i - 1];

			order[i - 1] = order[k];
			order[k] = swap;
		}
		for (size_t i = 0; i < run->arms.n && r >= 0; i++)
			r = keep(run, c, order[i],
				 (struct result_sample){ .round = round,
							 .position = (uint8_t)i,
							 .arm = (uint8_t)order[i] });
	}
	return r;
}

/*
 * Kernel objects of the root get dearer for good once a child has used some (their slabs then
 * carry owners), so the root is measured before any child of ours ran, in an arm of its own.
 */
static int measure_before(struct run *run)
{
	size_t arm = run->arms.n;
	int r = 0;

	if (run->result->n_arms == arm)
		return 0;
	for (uint32_t round = 0; round < BEFORE_ROUNDS; round++)
		for (size_t c = 0; c < run->plan->n_cases && r >= 0; c++)
			if (run->plan->cases[c].workload->group)
				r = keep(run, c, 0,
					 (struct result_sample){ .round = round,
								 .arm = (uint8_t)arm });
	return r;
}

/* The least with which all that is compared could be significant, also after Holm's adjustment.
 */
static uint32_t least_rounds(const struct run *run)
{
	size_t comparisons = run->plan->n_cases * (run->arms.n > 2 ? run->arms.n - 2 : 1);
	double pairs = 1 + log2((double)comparisons / STATS_ALPHA);

	return (uint32_t)ceil(fmax(6, pairs)) + SPARE_ROUNDS;
}

/* How many rounds fit; decided before the first, so that no result can have a say in it. */
static uint32_t count_rounds(const struct run *run)
{
	const struct plan *plan = run->plan;
	uint64_t fit = plan->budget_ns / MAX(run->round_ns, 1U);

	if (plan->budget_ns == 0)
		return plan->rounds;
	return (uint32_t)MIN(MAX(fit, (uint64_t)least_rounds(run)), (uint64_t)plan->rounds);
}

/* --thorough: whether the widest interval is as narrow as wanted; looked at only at doublings.
 */
static int is_narrow(const struct run *run, uint32_t rounds, bool *ret)
{
	_cleanup_summary_ struct summary summary = {};
	uint32_t look = FIRST_LOOK;
	int r;

	*ret = false;
	while (look < rounds)
		look *= 2;
	if (run->plan->preset != PLAN_THOROUGH || run->plan->fixed_rounds || look != rounds)
		return 0;
	r = summary_make(run->result, &summary);
	if (r >= 0)
		*ret = summary_widest(&summary) <= run->plan->target;
	return r;
}

/* The time was over first. */
static int warn_wide(struct run *run)
{
	_cleanup_summary_ struct summary summary = {};
	int r = summary_make(run->result, &summary);

	if (r >= 0 && !(summary_widest(&summary) <= run->plan->target))
		strv_addf(
			&run->result->warnings,
			"the target of %.2g %% was not reached in time: the widest interval is "
			"%.2g %% to either side",
			100 * run->plan->target, 100 * summary_widest(&summary));
	return r < 0 ? r : strv_error(&run->result->warnings);
}

static int measure(struct run *run)
{
	uint32_t rounds = count_rounds(run), round = 0;
	uint64_t start = counters_wall_ns();
	/* a host that got much slower meanwhile does not hold anybody up */
	uint64_t latest = run->plan->budget_ns + run->plan->budget_ns / 2;
	bool narrow = false;
	int r = measure_before(run);

	while (round < rounds && r >= 0 && !narrow) {
		uint64_t spent = counters_wall_ns() - start;
		uint64_t left =
			round == 0 ? rounds * run->round_ns : spent / round * (rounds - round);

		if (run->plan->budget_ns > 0 && spent > latest && round >= least_rounds(run))
			break;
		show(run, RUN_MEASURING, (double)round / rounds, (double)left / 1e9);
		r = measure_round(run, round++);
		if (r >= 0)
			r = is_narrow(run, round, &narrow);
	}
	run->result->numbers[CONTEXT_ROUNDS] = round;
	if (r >= 0 && run->plan->preset == PLAN_THOROUGH && !run->plan->fixed_rounds && !narrow)
		r = warn_wide(run);
	return r;
}

/* --- profiles, after everything that is compared --- */

static int watch_worker(void *data, pid_t pid)
{
	return profiler_start(PROFILE_CYCLES, pid, data);
}

/* One workload in one place for about a second: appended to array. */
static int profile_one(struct run *run, size_t c, size_t arm, struct json *array)
{
	_cleanup_profile_ struct profile profile = {};
	struct workload_case one = run->plan->cases[c];
	struct profiler profiler = { .fd = -EBADF };
	struct sample sample;
	struct json *object;
	int r = take(run, c, arm, &sample);

	if (r < 0)
		return r;
	one.loops *= PROFILE_NS / MAX(sample.counts.wall_ns, UINT64_C(1)) + 1;
	one.faults = 0; /* of a sample of another length */
	r = worker_sample_watched(&one, &run->env, run->arms.items[arm].fd, run->signal_fd,
				  watch_worker, &profiler, &sample);
	if (r >= 0)
		r = profiler_stop(&profiler, &run->symbols, &profile);
	profiler_close(&profiler);
	if (r < 0)
		return r;
	object = profile_to_json(&profile, &run->symbols);
	json_add_string(object, "workload", one.workload->name);
	json_add_string(object, "arm", run->arms.items[arm].name);
	json_append(array, object);
	return 0;
}

/* Workloads of one process: the work of others is not sampled. */
static int profile_all(struct run *run)
{
	_cleanup_json_ struct json *array = json_new_array();
	size_t all = run->plan->n_cases * run->arms.n;
	int r = 0;

	for (size_t i = 0; i < all && r >= 0; i++) {
		const struct workload *workload = run->plan->cases[i / run->arms.n].workload;

		show(run, RUN_PROFILING, (double)i / (double)all, NAN);
		if (!workload->has_clients && !workload->no_pmu &&
		    !run->arms.items[i % run->arms.n].control)
			r = profile_one(run, i / run->arms.n, i % run->arms.n, array);
	}
	return r < 0 ? r : json_print(array, false, &run->result->profile);
}

/* Asked for and not to be had is an error, found out before anything is measured. */
static int prepare_profile(struct run *run, struct diag *diag)
{
	_cleanup_free_ char *why = NULL;
	int r = run->plan->profile ? profile_probe(run->root, &run->symbols, &why) : 0;

	if (r >= 0 || !why)
		return r;
	diag_error(
		diag,
		&(struct diag_where){
			.hint = "memcg-policy bench env; without a unit, ./dev cost-table of "
				"the source counts instructions" },
		"no profile can be taken: %s", why);
	return r;
}

/* --- around --- */

static int describe(struct run *run, const char *label)
{
	struct result *result = run->result;
	const struct plan *plan = run->plan;
	bool kmem = false;

	result->arms = calloc(run->arms.n + 1, sizeof(*result->arms));
	result->cases = calloc(plan->n_cases, sizeof(*result->cases));
	if (!result->arms || !result->cases)
		return -ENOMEM;
	for (size_t i = 0; i < plan->n_cases; i++) {
		const struct workload_case *from = &plan->cases[i];
		struct result_case *to = &result->cases[result->n_cases++];

		to->workload = strdup(from->workload->name);
		to->unit = strdup(from->workload->unit);
		if (!to->workload || !to->unit)
			return -ENOMEM;
		to->has_clients = from->workload->has_clients;
		to->clients = from->clients;
		to->loops = from->loops;
		to->bytes = from->bytes;
		to->faults = from->faults;
		kmem = kmem || from->workload->group;
	}
	for (size_t i = 0; i < run->arms.n + 1; i++) {
		const struct arm *from = &run->arms.items[i < run->arms.n ? i : 0];
		struct result_arm *to = &result->arms[i];

		/* only where there is a child that could spoil it */
		if (i == run->arms.n && (!kmem || i < 3 || from->kind != ARM_ROOT))
			break;
		to->name = strdup(i < run->arms.n ? from->name : "root-before");
		if (!to->name)
			return -ENOMEM;
		to->kind = from->kind;
		to->control = from->control && i < run->arms.n;
		to->before = i == run->arms.n;
		to->depth = from->depth;
		result->n_arms++;
	}
	if (label) {
		result->text[CONTEXT_LABEL] = str_escape(label, strlen(label));
		if (!result->text[CONTEXT_LABEL])
			return -ENOMEM;
	}
	result->text[CONTEXT_WHY_HERE] = TAKE_PTR(run->arms.why_here);
	result->numbers[CONTEXT_SEED] = (double)plan->seed;
	result->numbers[CONTEXT_BYTES] = (double)plan->bytes;
	return 0;
}

/* What the reader should know before he believes the numbers. */
static int add_warnings(struct result *result)
{
	size_t dropped = 0;

	for (size_t i = 0; i < result->n_samples; i++)
		dropped += result->samples[i].sample.invalid != 0;
	if (dropped * 20 > result->n_samples)
		strv_addf(&result->warnings, "%zu of %zu samples were invalid and do not count",
			  dropped, result->n_samples);
	if (result->numbers[CONTEXT_STEAL] > 0.01)
		strv_addf(&result->warnings,
			  "the hypervisor gave %.1f %% of the time to other guests",
			  100 * result->numbers[CONTEXT_STEAL]);
	if (fabs(result->numbers[CONTEXT_KHZ_END] / result->numbers[CONTEXT_KHZ_START] - 1) >
	    0.1)
		strv_addf(&result->warnings, "the CPU went from %.0f to %.0f MHz",
			  result->numbers[CONTEXT_KHZ_START] / 1000,
			  result->numbers[CONTEXT_KHZ_END] / 1000);
	return strv_error(&result->warnings);
}

/* With groups made and signals held back: everything up to the samples. */
static int run_inside(struct run *run, const char *label, struct diag *diag)
{
	struct context_ticks before, after;
	double *numbers = run->result->numbers;
	int r = watch_faults(run);

	for (size_t c = 0; c < run->plan->n_cases && r >= 0; c++) {
		show(run, RUN_CALIBRATING, (double)c / (double)run->plan->n_cases, NAN);
		r = calibrate(run, c, diag);
	}
	if (r >= 0)
		r = describe(run, label);
	if (r < 0)
		return r;
	numbers[CONTEXT_KHZ_START] = context_khz(run->root, run->plan->cpus[0]);
	before = context_ticks(run->root);
	r = measure(run);
	if (r >= 0 && run->plan->profile) {
		int e = profile_all(run);

		/* what was measured is worth keeping */
		if (e < 0 && e != -EINTR)
			strv_addf(&run->result->warnings, "no profile was taken: %s",
				  strerror(-e));
		r = e == -EINTR ? e : r;
	}
	after = context_ticks(run->root);
	numbers[CONTEXT_KHZ_END] = context_khz(run->root, run->plan->cpus[0]);
	if (after.all > before.all)
		numbers[CONTEXT_STEAL] =
			(after.stolen - before.stolen) / (after.all - before.all);
	return r < 0 ? r : add_warnings(run->result);
}

/* Signals that end a run arrive as something to read, between and during samples. */
static int hold_signals(sigset_t *ret_old)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	sigset_t set;
	int fd;

	(void)sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		(void)sigaddset(&set, signals[i]);
	if (sigprocmask(SIG_BLOCK, &set, ret_old) < 0)
		return -errno;
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

static int read_signal(int fd)
{
	struct signalfd_siginfo info;

	return read(fd, &info, sizeof(info)) == sizeof(info) ? (int)info.ssi_signo : 0;
}

int run_plan(const struct root *root, const struct running *running, struct plan *plan,
	     const struct arms_request *where, const char *label, const struct run_hooks *hooks,
	     struct result *ret, int *ret_signal, struct diag *diag)
{
	_cleanup_result_ struct result result = {};
	_cleanup_fd_ int signal_fd = -EBADF;
	struct run run = {
		.root = root,
		.plan = plan,
		.result = &result,
		.hooks = hooks,
		.state = plan->seed,
		.env = { .dir = plan->dir,
			 .file_fd = -EBADF,
			 .page_size = (size_t)sysconf(_SC_PAGESIZE),
			 .pmu = counters_probe_pmu() == 0,
			 .cpus = plan->cpus,
			 .n_cpus = plan->n_cpus },
	};
	sigset_t old;
	int r = check_memory(&run, running, diag);

	*ret_signal = 0;
	if (r >= 0)
		r = prepare_profile(&run, diag);
	if (r >= 0)
		r = context_load(root, running, &result);
	if (r >= 0)
		r = signal_fd = run.signal_fd = hold_signals(&old);
	if (r < 0) {
		symbols_done(&run.symbols);
		return r;
	}
	r = arms_open(root, running, where, &run.arms, diag);
	if (r >= 0) {
		r = run_inside(&run, label, diag);
		if (r == -EAGAIN || r == -EMFILE || r == -ENFILE)
			diag_error(diag, &(struct diag_where){ .hint = "ulimit -u; ulimit -n" },
				   "no worker could be started, a limit of processes or files "
				   "is reached: %s",
				   strerror(-r));
		arms_close(&run.arms, diag);
	}
	*ret_signal = read_signal(signal_fd);
	(void)sigprocmask(SIG_SETMASK, &old, NULL); /* cannot fail with what it gave */
	symbols_done(&run.symbols);
	if (r < 0)
		return r;
	*ret = result;
	result = (struct result){};
	return 0;
}
