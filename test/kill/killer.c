/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * killer OUT N calls|writes PROGRAM [ARGUMENT...]
 *
 * Runs a program and kills it, with everything it started, at its N-th stop, before the system
 * call there is done:
 *  - calls: every system call of the program itself;
 *  - writes: every open for writing, rename, unlink, truncate and fsync of it and its children.
 * OUT gets "killed", or "exited STATUS STOPS" when it ended before.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_PROCESSES = 4096 };

static pid_t processes[MAX_PROCESSES];
static size_t n_processes;

static void die(const char *what)
{
	perror(what);
	exit(2);
}

static void remember(pid_t pid)
{
	for (size_t i = 0; i < n_processes; i++)
		if (processes[i] == pid)
			return;
	if (n_processes == MAX_PROCESSES)
		die("too many processes");
	processes[n_processes++] = pid;
}

static void forget(pid_t pid)
{
	for (size_t i = 0; i < n_processes; i++)
		if (processes[i] == pid)
			processes[i] = processes[--n_processes];
}

/* Makes the kernel stop for us at the calls that change what is on a disk, and at no others. */
static void filter_writes(void)
{
#define AT(nr)                                           \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (nr), 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE)
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		/* openat: only with O_WRONLY, O_RDWR, O_CREAT or O_TRUNC */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC, 0,
			 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
#ifdef SYS_open
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_open, 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC, 0,
			 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		AT(SYS_rename),
		AT(SYS_unlink),
#endif
		AT(SYS_renameat),
		AT(SYS_renameat2),
		AT(SYS_unlinkat),
		AT(SYS_ftruncate),
		AT(SYS_fsync),
		AT(SYS_fdatasync),
		AT(SYS_syncfs),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {
		.len = sizeof(filter) / sizeof(filter[0]),
		.filter = filter,
	};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		die("seccomp");
}

static void kill_all(void)
{
	for (size_t i = 0; i < n_processes; i++)
		kill(processes[i], SIGKILL);
	/* orphans come to us: whoever is left dies too, and is waited for */
	for (;;) {
		int status;
		pid_t pid = waitpid(-1, &status, __WALL);

		if (pid < 0 && errno == ECHILD)
			return;
		if (pid > 0 && WIFSTOPPED(status))
			kill(pid, SIGKILL);
	}
}

/* Untraced children that outlive the program: it asked to have them killed with it. */
static void wait_for_orphans(void)
{
	while (waitpid(-1, NULL, __WALL) > 0 || errno == EINTR)
		;
}

int main(int argc, char **argv)
{
	bool writes;
	unsigned long wanted, stops = 0;
	bool entry = true;
	long options = PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD;
	pid_t child;
	int status;
	FILE *out;

	if (argc < 5) {
		fputs("usage: killer OUT N calls|writes PROGRAM [ARGUMENT...]\n", stderr);
		return 2;
	}
	wanted = strtoul(argv[2], NULL, 10);
	writes = strcmp(argv[3], "writes") == 0;
	out = fopen(argv[1], "we");
	if (!out)
		die(argv[1]);
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
		die("subreaper");
	child = fork();
	if (child < 0)
		die("fork");
	if (child == 0) {
		setpgid(0, 0);
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
			die("ptrace");
		raise(SIGSTOP);
		if (writes)
			filter_writes();
		execv(argv[4], argv + 4);
		die(argv[4]);
	}
	if (waitpid(child, &status, 0) < 0)
		die("waitpid");
	if (writes)
		options |= PTRACE_O_TRACESECCOMP | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
			   PTRACE_O_TRACECLONE;
	if (ptrace(PTRACE_SETOPTIONS, child, NULL, options) < 0)
		die("options");
	remember(child);
	ptrace(writes ? PTRACE_CONT : PTRACE_SYSCALL, child, NULL, NULL);
	for (;;) {
		pid_t pid = waitpid(-1, &status, __WALL);
		int event, sig = 0;

		if (pid < 0)
			die("waitpid");
		if (!WIFSTOPPED(status)) {
			forget(pid);
			if (pid != child)
				continue;
			wait_for_orphans();
			fprintf(out, "exited %d %lu\n",
				WIFEXITED(status) ? WEXITSTATUS(status)
						  : 128 + WTERMSIG(status),
				stops);
			return fclose(out) == 0 ? 0 : 2;
		}
		remember(pid);
		event = status >> 16;
		if (WSTOPSIG(status) == (SIGTRAP | 0x80)) {
			/* of each pair of stops the first is before the call */
			stops += entry;
			if (entry && stops == wanted)
				break;
			entry = !entry;
		} else if (event == PTRACE_EVENT_SECCOMP) {
			if (++stops == wanted)
				break;
		} else if (event == 0 && WSTOPSIG(status) != SIGSTOP &&
			   WSTOPSIG(status) != SIGTRAP) {
			sig = WSTOPSIG(status);
		}
		ptrace(writes ? PTRACE_CONT : PTRACE_SYSCALL, pid, NULL, sig);
	}
	kill(-child, SIGKILL);
	kill_all();
	fputs("killed\n", out);
	return fclose(out) == 0 ? 0 : 2;
}
