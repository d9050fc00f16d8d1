/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tree.h"

#include "base/spawn.h"
#include "base/str.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int run(const char *script, unsigned timeout, struct spawn_result *ret)
{
	const char *const argv[] = { "/bin/sh", "-c", script, NULL };

	return spawn_run(&(struct spawn){ .argv = argv, .timeout = timeout }, ret);
}

static double seconds(void)
{
	struct timespec ts;

	assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &ts), 0);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void test_results(void **state _unused_)
{
	static const struct {
		const char *script, *output;
		int status;
	} cases[] = {
		{ "echo out; echo err >&2; exit 3", "out\nerr\n", 3 },
		{ "exit 0", "", 0 },
		{ "kill -KILL $$", "", 128 + SIGKILL },
		{ "kill -TERM $$", "", 128 + SIGTERM },
		/* nobody answers a question */
		{ "read answer || echo nobody", "nobody\n", 0 },
		/* its end is seen although its output was closed long before */
		{ "exec >&- 2>&-; sleep 0.3; exit 4", "", 4 },
		/* and what it wrote before, in whatever pieces */
		{ "printf a; sleep 0.1; printf b; sleep 0.3; printf c", "abc", 0 },
		{ "umask; pwd; echo \"$HOME $TERM $LC_ALL\"", "0022\n/\n/ dumb C\n", 0 },
		{ "echo $PATH",
		  "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n", 0 },
		/* a daemon that holds the output open is not waited for */
		{ "sleep 30 & echo started", "started\n", 0 },
	};
	double start = seconds();

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_spawn_result_ struct spawn_result result = {};

		assert_int_equal(run(cases[i].script, 60, &result), 0);
		assert_int_equal(result.status, cases[i].status);
		assert_int_equal(result.size, strlen(cases[i].output));
		assert_string_equal(result.output, cases[i].output);
	}
	assert_true(seconds() - start < 25);
}

static void test_environment_is_not_ours(void **state _unused_)
{
	static const char *const argv[] = { "/usr/bin/env", NULL };
	_cleanup_spawn_result_ struct spawn_result result = {};

	assert_int_equal(setenv("LD_PRELOAD_", "x", 1), 0);
	assert_int_equal(setenv("BASH_ENV", "/nonexistent", 1), 0);
	assert_int_equal(spawn_run(&(struct spawn){ .argv = argv, .timeout = 60 }, &result), 0);
	assert_string_equal(
		result.output,
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n"
		"LC_ALL=C\nHOME=/\nTERM=dumb\n");
}

/* Blocked and ignored signals of ours are not handed on. */
static void test_signals_are_default(void **state _unused_)
{
	_cleanup_spawn_result_ struct spawn_result result = {};
	sigset_t set, old;
	int r;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	assert_int_equal(sigprocmask(SIG_BLOCK, &set, &old), 0);
	assert_ptr_not_equal(signal(SIGPIPE, SIG_IGN), SIG_ERR);
	r = run("grep -E '^Sig(Blk|Ign)' /proc/self/status", 60, &result);
	assert_int_equal(sigprocmask(SIG_SETMASK, &old, NULL), 0);
	assert_ptr_not_equal(signal(SIGPIPE, SIG_DFL), SIG_ERR);
	assert_int_equal(r, 0);
	assert_string_equal(result.output,
			    "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

/* The end of a long output is what tells of the failure. */
static void test_long_output(void **state _unused_)
{
	_cleanup_spawn_result_ struct spawn_result result = {};

	assert_int_equal(
		run("i=0; while [ $i -lt 20000 ]; do echo "
		    "\"line $i of a program that talks and talks and talks and talks\"; "
		    "i=$((i+1)); done; echo the end",
		    120, &result),
		0);
	assert_int_equal(result.size, 256 * 1024);
	assert_string_equal(result.output + result.size - 8, "the end\n");
}

static void test_timeout(void **state _unused_)
{
	static const struct {
		const char *script, *output;
	} cases[] = {
		{ "echo before; sleep 60", "before\n" },
		/* one that does not want to end, and its children */
		{ "trap '' TERM; echo before; sleep 60 & sleep 60; sleep 60", "before\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_spawn_result_ struct spawn_result result = {};
		double start = seconds();

		assert_int_equal(run(cases[i].script, 1, &result), -ETIMEDOUT);
		assert_string_equal(result.output, cases[i].output);
		assert_true(seconds() - start < 30);
	}
}

static void test_what_cannot_be_run(void **state _unused_)
{
	struct tree t;
	_cleanup_free_ char *script = NULL;
	const struct {
		const char *path;
		int result;
	} cases[] = {
		{ "/nonexistent/program", -ENOENT },
		{ "/etc/passwd", -EACCES },
		{ "/etc", -EACCES },
		{ "/etc/passwd/x", -ENOTDIR },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_spawn_result_ struct spawn_result result = {};
		const char *const argv[] = { cases[i].path, NULL };

		assert_int_equal(
			spawn_run(&(struct spawn){ .argv = argv, .timeout = 10 }, &result),
			cases[i].result);
	}
	/* no interpreter line: not guessed to be a shell script */
	tree_init(&t, ROOT_OFFLINE);
	tree_write(&t, "script", "echo hello\n");
	assert_true(str_printf(&script, "%s/script", t.path) >= 0);
	assert_int_equal(chmod(script, 0755), 0);
	{
		_cleanup_spawn_result_ struct spawn_result result = {};
		const char *const argv[] = { script, NULL };

		assert_int_equal(
			spawn_run(&(struct spawn){ .argv = argv, .timeout = 10 }, &result),
			-ENOEXEC);
	}
	tree_done(&t);
}

/* In a chroot / is no mount point, and a container may not: packages are built in both. */
static bool can_have_mounts(void)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(unshare(CLONE_NEWNS) < 0 ||
		      mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status == 0;
}

/* A root without /dev, /proc and /sys cannot get them; nothing is run outside of it instead. */
static void test_empty_root(void **state _unused_)
{
	static const char *const argv[] = { "/bin/true", NULL };
	struct tree t;

	if (geteuid() != 0 || !can_have_mounts()) {
		print_message("SKIP test_empty_root: needs root and mounts of its own\n");
		skip();
	}
	tree_init(&t, ROOT_OFFLINE);
	for (int where = SPAWN_CHROOT; where <= SPAWN_NAMESPACE; where++) {
		_cleanup_spawn_result_ struct spawn_result result = {};

		assert_int_equal(spawn_run(&(struct spawn){ .argv = argv,
							    .root = t.root,
							    .where = (enum spawn_where)where,
							    .timeout = 10 },
					   &result),
				 -ENOENT);
	}
	/* a link in place of a directory would lead the mount out of the root */
	tree_symlink(&t, "/tmp", "dev");
	{
		_cleanup_spawn_result_ struct spawn_result result = {};

		assert_int_equal(spawn_run(&(struct spawn){ .argv = argv,
							    .root = t.root,
							    .where = SPAWN_NAMESPACE,
							    .timeout = 10 },
					   &result),
				 -ENOTDIR);
	}
	tree_done(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_results),
		cmocka_unit_test(test_environment_is_not_ours),
		cmocka_unit_test(test_signals_are_default),
		cmocka_unit_test(test_long_output),
		cmocka_unit_test(test_timeout),
		cmocka_unit_test(test_what_cannot_be_run),
		cmocka_unit_test(test_empty_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
