/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What variables hold after a shell has read some fragments one after the other, known without
 * running them or not at all. Every byte of a value knows where in which text it is written,
 * also through X="$X more".
 */

#include "base/macro.h"
#include "boot/shell-parse.h"

struct diag;

/* One fragment. Everything is owned. */
struct shell_file {
	char *path;
	char *text;
	size_t size;
	struct shell_events events;
};

/* The fragments in the order they are read. Initialise with {}. */
struct shell_script {
	struct shell_file *files;
	size_t n;
	size_t alloc;
};

/* Adds a fragment; text is copied. Errors are shell_parse()'s. */
int shell_script_add(struct shell_script *script, const char *path, const char *text,
		     size_t size, struct diag *diag) _must_check_;
/* Gives a fragment another text, which must be readable too. */
int shell_script_replace(struct shell_script *script, size_t file, const char *text,
			 size_t size, struct diag *diag) _must_check_;
void shell_script_done(struct shell_script *script);
#define _cleanup_shell_script_ _cleanup_(shell_script_done)

enum shell_known {
	SHELL_IS_UNSET,
	SHELL_IS_STATIC,
	SHELL_IS_DYNAMIC, /* cannot be known without running the text */
};

enum shell_context {
	SHELL_UNQUOTED,
	SHELL_DOUBLE_QUOTED,
	SHELL_SINGLE_QUOTED,
};

/* Where a byte of a value is written. */
struct shell_origin {
	unsigned file;
	enum shell_context context;
	size_t offset;
	size_t size; /* 2 for an escaped byte */
};

/* Initialise with {}. */
struct shell_value {
	enum shell_known known;
	char *text;
	size_t size;
	struct shell_origin *origins; /* one per byte */
	/* the assignment that counts, and for DYNAMIC the place that is to blame */
	const struct shell_event *event; /* borrowed from the script; NULL: none */
	unsigned file;
	size_t at;
	const char *reason; /* static text */
};
void shell_value_done(struct shell_value *value);
#define _cleanup_shell_value_ _cleanup_(shell_value_done)

/*
 * The value of a variable at the end of the script. Variables that no fragment sets are unset
 * when their name starts with GRUB_CMDLINE_, and unknown otherwise: mkconfig sets some itself.
 */
int shell_script_value(const struct shell_script *script, const char *name,
		       struct shell_value *ret) _must_check_;
