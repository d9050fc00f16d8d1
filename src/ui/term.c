/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ui/term.h"

#include "base/diag.h"
#include "base/str.h"
#include "ui/cli.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

static bool want_color(const struct args *args, int fd)
{
	const char *name = getenv("TERM"), *no_color = getenv("NO_COLOR");

	if (args->color != COLOR_AUTO)
		return args->color == COLOR_ALWAYS;
	return !(no_color && *no_color) && isatty(fd) && name && !streq(name, "dumb");
}

void term_init(struct term *term, const struct args *args)
{
	*term = (struct term){
		.color_out = want_color(args, STDOUT_FILENO),
		.color_err = want_color(args, STDERR_FILENO),
		.quiet = args->quiet,
	};
}

static const char *style_sequence(enum term_style style)
{
	static const char *const sequences[_TERM_STYLE_MAX] = {
		[TERM_PLAIN] = "",	   [TERM_BOLD] = "\x1b[1m",  [TERM_GOOD] = "\x1b[32m",
		[TERM_BAD] = "\x1b[1;31m", [TERM_WARN] = "\x1b[33m", [TERM_DIM] = "\x1b[2m",
	};

	return sequences[style];
}

const char *term_begin(const struct term *term, enum term_style style)
{
	return term->color_out ? style_sequence(style) : "";
}

const char *term_end(const struct term *term)
{
	return term->color_out ? "\x1b[0m" : "";
}

/* The line the message is about, and a caret; a long line is shown around the place. */
static void print_source(const struct term *term, FILE *f, const struct diag_message *m)
{
	enum { WIDTH = 76 };
	size_t column = m->column > 0 ? m->column - 1 : 0, size = strlen(m->source);
	size_t from = column > WIDTH / 2 && size > WIDTH ? column - WIDTH / 2 : 0, n, before,
	       width;
	_cleanup_free_ char *shown = NULL, *left = NULL, *marked = NULL;

	if (column > size)
		column = size;
	n = MIN(size - from, (size_t)WIDTH);
	width = MIN(MAX(m->width, 1U), n > column - from ? n - (column - from) : 1);
	/* escaped text is wider than its bytes: measure what is left of the caret as it is
	 * shown */
	shown = str_escape(m->source + from, n);
	left = str_escape(m->source + from, column - from);
	marked = str_escape(m->source + column, MIN(width, size - column));
	if (!shown || !left || !marked)
		return;
	fprintf(f, "    %s\n", shown);
	if (m->column == 0)
		return;
	before = 0;
	for (const char *p = left; *p; p++)
		if (((unsigned char)*p & 0xc0) != 0x80)
			before++;
	width = 0;
	for (const char *p = marked; *p; p++)
		if (((unsigned char)*p & 0xc0) != 0x80)
			width++;
	fprintf(f, "    %*s%s^", (int)before, "",
		term->color_err ? style_sequence(TERM_GOOD) : "");
	for (size_t i = 1; i < width; i++)
		fputc('~', f);
	fprintf(f, "%s\n", term->color_err ? "\x1b[0m" : "");
}

void term_print_diag(const struct term *term, FILE *f, const struct diag *diag)
{
	static const char *const words[] = {
		[DIAG_ERROR] = "error: ",
		[DIAG_WARNING] = "warning: ",
		[DIAG_NOTICE] = "",
	};
	static const enum term_style styles[] = {
		[DIAG_ERROR] = TERM_BAD,
		[DIAG_WARNING] = TERM_WARN,
		[DIAG_NOTICE] = TERM_PLAIN,
	};
	const char *end = term->color_err ? "\x1b[0m" : "";

	for (size_t i = 0; i < diag->n; i++) {
		const struct diag_message *m = &diag->messages[i];
		_cleanup_free_ char *text = str_escape(m->text, strlen(m->text));
		_cleanup_free_ char *path =
			m->path ? str_escape(m->path, strlen(m->path)) : NULL;

		if (term->quiet && m->level != DIAG_ERROR)
			continue;
		if (path) {
			fprintf(f, "%s%s", term->color_err ? style_sequence(TERM_BOLD) : "",
				path);
			if (m->line > 0)
				fprintf(f, ":%u", m->line);
			if (m->column > 0)
				fprintf(f, ":%u", m->column);
			fprintf(f, ":%s ", end);
		} else
			fputs("memcg-policy: ", f);
		fprintf(f, "%s%s%s%s\n",
			term->color_err ? style_sequence(styles[m->level]) : "",
			words[m->level], end, text ? text : "(out of memory)");
		if (m->source)
			print_source(term, f, m);
		if (m->hint)
			fprintf(f, "  hint: %s\n", m->hint);
	}
	if (diag->failed)
		fputs("memcg-policy: out of memory, some messages are missing\n", f);
}

int term_open_pager(const struct args *args, pid_t *ret_pid)
{
	const char *pager = getenv("MEMCG_POLICY_PAGER");
	int fds[2];
	pid_t pid;

	*ret_pid = 0;
	if (args->no_pager || args->json != JSON_OFF || !isatty(STDOUT_FILENO))
		return 0;
	if (!pager)
		pager = getenv("PAGER");
	if (!pager || *pager == '\0')
		pager = "less";
	if (streq(pager, "cat"))
		return 0;
	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	(void)fflush(stdout); /* empty at this point */
	pid = fork();
	if (pid < 0) {
		closep(&fds[0]);
		closep(&fds[1]);
		return -errno;
	}
	if (pid == 0) {
		/* the command may have arguments, as everywhere $PAGER is used */
		const char *const argv[] = { "sh", "-c", pager, NULL };

		if (dup2(fds[0], STDIN_FILENO) < 0)
			_exit(1);
		(void)setenv("LESS", "FRSXMK", 0);
		(void)execv("/bin/sh", (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	if (dup2(fds[1], STDOUT_FILENO) < 0) {
		closep(&fds[0]);
		closep(&fds[1]);
		return -errno;
	}
	closep(&fds[0]);
	closep(&fds[1]);
	(void)signal(SIGPIPE, SIG_IGN);
	*ret_pid = pid;
	return 0;
}

void term_close_pager(pid_t pid)
{
	if (pid <= 0)
		return;
	(void)fflush(stdout);
	(void)close(STDOUT_FILENO);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}
