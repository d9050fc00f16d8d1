/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ui/term.h"

#include "base/diag.h"
#include "base/str.h"
#include "ui/cli.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio_ext.h>
#include <sys/ioctl.h>
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

/* Where the pager is a program of the user's choice, its absence is the user's to see. */
static const char default_pager[] = "command -v less >/dev/null && exec less\n"
				    "command -v more >/dev/null && exec more\n"
				    "exec cat\n";

/* The command, or NULL for none: empty and "cat" say so, as for systemd's tools. */
static const char *find_pager(const struct args *args)
{
	const char *pager = getenv("MEMCG_POLICY_PAGER"), *name = getenv("TERM");

	if (args->no_pager || args->json != JSON_OFF || !(VERB(args->verb) & VERB_PAGED) ||
	    !isatty(STDOUT_FILENO) || !name || streq(name, "dumb"))
		return NULL;
	if (!pager)
		pager = getenv("PAGER");
	if (!pager)
		return default_pager;
	return *pager == '\0' || streq(pager, "cat") ? NULL : pager;
}

static void run_pager(const char *command, int input)
{
	/* the command may have arguments, as everywhere $PAGER is used */
	const char *const argv[] = { "sh", "-c", command, NULL };

	if (dup2(input, STDIN_FILENO) >= 0) {
		(void)setenv("LESS", "FRSXMK", 0);
		/* who may only run this tool as root gets no shell from its pager */
		(void)setenv("LESSSECURE", "1", 0);
		(void)execv("/bin/sh", (char *const *)(uintptr_t)argv);
	}
	_exit(127);
}

/* What fits tables to a terminal cannot ask a pipe how wide it is. */
static void hand_width_on(void)
{
	struct winsize size;
	char columns[16];

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
		return;
	(void)snprintf(columns, sizeof(columns), "%u", size.ws_col); /* fits */
	(void)setenv("COLUMNS", columns, 0);
}

void term_open_pager(struct args *args, struct pager *ret)
{
	const char *command = find_pager(args);
	_cleanup_fd_ int input = -EBADF, output = -EBADF;
	struct pager pager = { .out = -EBADF, .err = -EBADF };
	int fds[2];

	*ret = pager;
	if (!command || pipe2(fds, O_CLOEXEC) < 0)
		return;
	input = fds[0];
	output = fds[1];
	hand_width_on();
	(void)fflush(stdout); /* empty at this point */
	pager.pid = fork();
	if (pager.pid == 0)
		run_pager(command, input);
	if (pager.pid < 0)
		return;
	pager.out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	/* warnings belong below the text, not across it */
	if (isatty(STDERR_FILENO))
		pager.err = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	if (pager.out >= 0)
		(void)dup2(output, STDOUT_FILENO); /* else the pager has nothing to show */
	if (pager.err >= 0)
		(void)dup2(output, STDERR_FILENO);
	/* who leaves the pager has seen enough */
	(void)signal(SIGPIPE, SIG_IGN);
	args->paged = true;
	*ret = pager;
}

void term_close_pager(struct pager *pager)
{
	if (pager->pid <= 0)
		return;
	(void)fflush(stdout);
	/* what a pager that was left did not take is not for the terminal behind it */
	__fpurge(stdout);
	clearerr(stdout);
	if (pager->out >= 0)
		(void)dup2(pager->out, STDOUT_FILENO);
	if (pager->err >= 0)
		(void)dup2(pager->err, STDERR_FILENO);
	closep(&pager->out);
	closep(&pager->err);
	/* the pager's key, not the end of us both */
	(void)signal(SIGINT, SIG_IGN);
	while (waitpid(pager->pid, NULL, 0) < 0 && errno == EINTR)
		;
	pager->pid = 0;
}
