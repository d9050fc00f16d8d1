/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/worker.h"
#include "bench/workload.h"

#include "base/str.h"

#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/signalfd.h>

#include <cmocka.h>

static void open_env(struct workload_env *env)
{
	static int cpus[2];
	cpu_set_t set;

	*env = (struct workload_env){ .page_size = (size_t)sysconf(_SC_PAGESIZE),
				      .cpus = cpus };
	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	for (int cpu = 0; cpu < CPU_SETSIZE && env->n_cpus < ARRAY_SIZE(cpus); cpu++)
		if (CPU_ISSET(cpu, &set))
			cpus[env->n_cpus++] = cpu;
}

/* Every workload, in a worker: valid, as many units as it must be, and time in every phase. */
static void test_all(void **state _unused_)
{
	struct workload_env env;

	open_env(&env);
	for (size_t i = 0; i < n_workloads; i++) {
		const struct workload *w = workloads[i];

		for (unsigned clients = 1; clients <= (w->has_clients ? 3U : 1U); clients++) {
			struct workload_case c = { .workload = w,
						   .clients = clients,
						   .loops = 2,
						   .bytes = w->least_region };
			struct sample s;

			assert_ptr_equal(workload_find(w->name), w);
			/* emulated page tables add a fault at times; that is what the rule is
			 * for */
			for (int attempt = 0; attempt < 5; attempt++) {
				assert_int_equal(worker_sample(&c, &env, -EBADF, -EBADF, &s),
						 0);
				if (!s.invalid)
					break;
			}
			if (s.invalid)
				fail_msg("%u %s: %s, error %d, %lu faults of %lu", clients,
					 w->name, sample_invalid_name(s.invalid), s.error,
					 (unsigned long)s.counts.minflt,
					 (unsigned long)s.units);
			assert_true(s.units > 0 && s.counts.wall_ns > 0 && s.counts.cpu_ns > 0);
			for (size_t k = 0; k < _PHASE_MAX; k++)
				assert_int_equal(s.phase_ns[k] > 0, w->has_phases);
			if (streq(w->name, "anon"))
				assert_int_equal(s.units, 2 * (w->region / env.page_size));
			if (streq(w->name, "file-read"))
				assert_true(s.counts.minflt < s.units);
		}
	}
}

static int fail_loop(const struct workload_case *c _unused_,
		     const struct workload_env *env _unused_, struct sample *ret _unused_)
{
	return -ENOSPC;
}

static int die_loop(const struct workload_case *c _unused_,
		    const struct workload_env *env _unused_, struct sample *ret _unused_)
{
	_exit(3);
}

static int hang_loop(const struct workload_case *c _unused_,
		     const struct workload_env *env _unused_, struct sample *ret _unused_)
{
	(void)pause();
	return 0;
}

static void test_trouble(void **state _unused_)
{
	static const struct workload failing = { .run = fail_loop },
				     dying = { .run = die_loop },
				     hanging = { .run = hang_loop };
	struct workload_env env = {};
	struct workload_case c = { .workload = &failing, .clients = 1, .loops = 1 };
	struct sample s;
	sigset_t set;
	int fd;

	assert_int_equal(worker_sample(&c, &env, -EBADF, -EBADF, &s), 0);
	assert_int_equal(s.invalid, SAMPLE_FAILED);
	assert_int_equal(s.error, ENOSPC);
	c.workload = &dying;
	assert_int_equal(worker_sample(&c, &env, -EBADF, -EBADF, &s), 0);
	assert_int_equal(s.invalid, SAMPLE_FAILED);
	/* a signal ends it, and nothing is left behind */
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	assert_int_equal(sigprocmask(SIG_BLOCK, &set, NULL), 0);
	fd = signalfd(-1, &set, SFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(raise(SIGTERM), 0);
	c.workload = &hanging;
	assert_int_equal(worker_sample(&c, &env, -EBADF, fd, &s), -EINTR);
	closep(&fd);
}

static void test_check(void **state _unused_)
{
	static const struct workload each = { .faults = FAULTS_EACH },
				     around = { .faults = FAULTS_AROUND },
				     any = { .faults = FAULTS_ANY };
	static const struct {
		const struct workload *w;
		struct counts counts;
		uint64_t expected;
		unsigned invalid;
	} cases[] = {
		{ &each, { .minflt = 2048 }, 0, 0 },
		{ &each, { .minflt = 2068 }, 0, 0 },
		{ &each, { .minflt = 2069 }, 0, SAMPLE_FAULTS },
		{ &each, { .minflt = 2027 }, 0, SAMPLE_FAULTS },
		{ &each, { .minflt = 8 }, 0, SAMPLE_FAULTS }, /* huge pages */
		{ &each, { .minflt = 2047, .majflt = 1 }, 0, SAMPLE_MAJOR },
		{ &each, { .minflt = 2048, .last_cpu = 1 }, 0, SAMPLE_MIGRATED },
		{ &each,
		  { .minflt = 2048, .has_pmu = true, .multiplexed = true },
		  0,
		  SAMPLE_MULTIPLEXED },
		{ &around, { .minflt = 129 }, 0, 0 }, /* the first sets it */
		{ &around, { .minflt = 4 }, 0, SAMPLE_FAULTS },
		{ &around, { .minflt = 129 }, 128, 0 },
		{ &around, { .minflt = 140 }, 128, SAMPLE_FAULTS },
		{ &any, { .minflt = 5, .majflt = 5 }, 0, 0 },
	};
	const struct workload_env env = { .n_cpus = 1 };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct workload_case c = { .workload = cases[i].w,
						 .faults = cases[i].expected };
		struct sample s = { .counts = cases[i].counts, .units = 2048 };

		sample_check(&c, &env, &s);
		if (s.invalid != cases[i].invalid)
			fail_msg("case %zu: %x", i, s.invalid);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_trouble),
		cmocka_unit_test(test_check),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
