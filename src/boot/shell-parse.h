/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Shell fragments like /etc/default/grub, as far as their effect on variables goes. The grammar
 * is that of POSIX sh (dash); what bash adds is recognised and counts as "cannot be known".
 * Every byte of the text keeps its place: this is made for editing single words in it.
 */

#include "base/macro.h"

struct diag;

enum shell_event_kind {
	SHELL_ASSIGN, /* NAME=value, always and in this shell */
	SHELL_UNSET,  /* unset NAME, likewise */
	SHELL_MAYBE,  /* NAME may get a value that cannot be known: reason says why */
	SHELL_OPAQUE, /* anything may happen to any variable from here on */
};

/* Something that happens to a variable, in the order of the text. */
struct shell_event {
	enum shell_event_kind kind;
	char *name;    /* NULL for SHELL_OPAQUE */
	size_t offset; /* of the name or the command in the text */
	size_t value;  /* SHELL_ASSIGN: the raw value, quotes and all */
	size_t value_size;
	const char *reason; /* static text: "inside \"if\"" */
	bool lasting;	    /* MAYBE and OPAQUE: no later assignment makes it known again */
};

/* Initialise with {}. */
struct shell_events {
	struct shell_event *items;
	size_t n;
	size_t alloc;
};

/*
 * Finds all events. path is for messages only. -EBADMSG with an error in diag when a shell
 * could not read the text to its end (an open quote, an "if" without "fi").
 */
int shell_parse(const char *path, const char *text, size_t size, struct shell_events *ret,
		struct diag *diag) _must_check_;
void shell_events_done(struct shell_events *events);
#define _cleanup_shell_events_ _cleanup_(shell_events_done)
