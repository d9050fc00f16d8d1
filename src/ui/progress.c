/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ui/progress.h"

#include "ui/cli.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

enum { REDRAW_MS = 100, BAR = 30 };

static uint64_t now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t); /* is always there */
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

void progress_init(struct progress *progress, const struct args *args)
{
	const char *name = getenv("TERM");

	*progress = (struct progress){
		.on = !args->quiet && isatty(STDERR_FILENO) && name &&
		      strcmp(name, "dumb") != 0,
	};
}

void progress_show(struct progress *progress, const char *what, double done, double left_s)
{
	uint64_t now = now_ms();
	struct winsize size = {};
	char bar[BAR + 1], line[128];
	int filled, n;

	if (!progress->on || (progress->drawn && now - progress->last_ms < REDRAW_MS))
		return;
	done = fmin(1, fmax(0, done));
	filled = (int)(done * BAR);
	for (int i = 0; i < BAR; i++)
		bar[i] = i < filled ? '#' : '.';
	bar[BAR] = '\0';
	n = snprintf(line, sizeof(line), "%-12s [%s] %3.0f %%", what, bar, 100 * done);
	if (!isnan(left_s))
		n += snprintf(line + n, sizeof(line) - (size_t)n, "  %d:%02d left",
			      (int)(left_s / 60), (int)left_s % 60);
	/* a line that wraps could not be drawn over */
	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) >= 0 && size.ws_col > 0 && n >= size.ws_col)
		line[size.ws_col - 1] = '\0';
	fprintf(stderr, "\r%s\x1b[K", line);
	progress->drawn = true;
	progress->last_ms = now;
}

void progress_clear(struct progress *progress)
{
	if (progress->drawn)
		fputs("\r\x1b[K", stderr);
	progress->drawn = false;
}
