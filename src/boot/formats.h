/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Small files that hold one command line: each is a lines_find_t, and the edit of a file that
 * lacks the line. None of them is shell text; that is boot/shell-vars.h.
 */

#include "base/macro.h"
#include "boot/lines.h"

/* cmdline.txt of a Raspberry Pi: the first line, whatever stands below it. */
int format_find_first_line(const char *text, size_t size, const char *path, struct lines *ret,
			   struct diag *diag);

/*
 * /etc/kernel/cmdline, /etc/default/raspi-extra-cmdline: all lines are one. Lines that start
 * with '#' are passed over; systemd before 257 passes them to the kernel, so nothing is ever
 * added to one.
 */
int format_find_all_lines(const char *text, size_t size, const char *path, struct lines *ret,
			  struct diag *diag);

/*
 * armbianEnv.txt, read by U-Boot's "env import -t": NAME=value up to the line's end, the last
 * one of a name counts. Finds extraargs.
 */
int format_find_extraargs(const char *text, size_t size, const char *path, struct lines *ret,
			  struct diag *diag);
/* The value of the last line of that name, a piece of the text: false when there is none. */
bool format_env_value(const char *text, size_t size, const char *name, struct line_piece *ret);

/*
 * extlinux.conf and syslinux.cfg: a group for each APPEND, in the order of the file. Keywords
 * are in any case. "append -" is no command line.
 */
int format_find_append(const char *text, size_t size, const char *path, struct lines *ret,
		       struct diag *diag);

/* One LABEL of such a file. Strings are owned. */
struct extlinux_label {
	char *name;
	char *title;   /* MENU LABEL, or NULL */
	char *kernel;  /* LINUX or KERNEL, or NULL */
	ssize_t group; /* of its command line; -1: none */
	unsigned line;
	bool is_default;
};
/* Initialise with {}. */
struct extlinux {
	struct extlinux_label *labels;
	size_t n;
	size_t alloc;
	struct lines lines;
	bool includes; /* other files belong to it, and were not looked at */
};
int extlinux_parse(const char *text, size_t size, struct extlinux *ret) _must_check_;
void extlinux_done(struct extlinux *extlinux);
#define _cleanup_extlinux_ _cleanup_(extlinux_done)
