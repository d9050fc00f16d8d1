/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The command line. One table of verbs and one of options feed parsing, --help, "did you mean",
 * the shell completions and the manual test; nothing else knows an option's name.
 */

#include "base/macro.h"

#include <stdio.h>

struct diag;

enum verb_id {
	VERB_STATUS,
	VERB_CHECK,
	VERB_EXPLAIN,
	VERB_NEEDS,
	VERB_UNITS,
	VERB_ENTRIES,
	VERB_SET,
	VERB_APPLY,
	VERB_UNSET,
	VERB_UNDO,
	VERB_HISTORY,
	VERB_TRIAL,
	VERB_WARN,
	VERB_CAPTURE,
	VERB_BENCH,
	_VERB_MAX,
	_VERB_INVALID = -EINVAL,
};

enum color_mode {
	COLOR_AUTO,
	COLOR_ALWAYS,
	COLOR_NEVER,
	_COLOR_MAX,
};

enum json_mode {
	JSON_OFF,
	JSON_SHORT,
	JSON_PRETTY,
	_JSON_MAX,
};

/* What the user asked for; filled by cli_parse(), read-only afterwards. All borrow argv. */
struct args {
	enum verb_id verb;
	bool verb_given; /* or status by default */
	char **words;	 /* operands behind the verb */
	size_t n_words;

	const char *root;
	const char *snapshot;
	bool refresh;
	bool user;
	bool all_users;
	enum json_mode json;
	bool dry_run;
	bool force;
	bool hook;
	bool quiet;
	bool verbose;
	bool no_pager;
	bool paged; /* no option: a pager was opened, and shows on a terminal what is printed */
	bool no_legend;
	enum color_mode color;
	bool help;
	bool version;
	bool dump_table; /* hidden: the tables as JSON, for completion/ and test/meta */

	/* bench */
	bool quick;
	bool standard;
	bool thorough;
	bool no_cgroup;
	bool profile;
	const char *workload;
	const char *where;
	const char *clients;
	const char *rounds;
	const char *seed;
	const char *cpus;
	const char *label;
	const char *target;
	const char *max_time;
	const char *watch;
	const char *csv;
	const char *output;
	const char *dir;
};

enum option_kind {
	OPTION_FLAG,   /* bool */
	OPTION_STRING, /* const char * */
	OPTION_CHOICE, /* enum, from choices */
};

#define VERB(id) (1U << (id))
#define VERB_ANY ((1U << _VERB_MAX) - 1)
#define VERB_WRITES                                                               \
	(VERB(VERB_SET) | VERB(VERB_APPLY) | VERB(VERB_UNSET) | VERB(VERB_UNDO) | \
	 VERB(VERB_TRIAL))

/* Those whose text may be longer than a screen. */
#define VERB_PAGED                                                                       \
	(VERB(VERB_EXPLAIN) | VERB(VERB_NEEDS) | VERB(VERB_UNITS) | VERB(VERB_ENTRIES) | \
	 VERB(VERB_HISTORY))

struct cli_option {
	const char *name;
	char letter;	     /* or 0 */
	const char *metavar; /* NULL: no value; "[=X]" style optional values start with '[' */
	enum option_kind kind;
	size_t offset;		    /* in struct args */
	unsigned verbs;		    /* VERB() mask */
	const char *const *choices; /* NULL-terminated, position = enum value */
	int no_value; /* OPTION_CHOICE with an optional value: what a bare option means */
	const char *help;
	bool hidden;
};

struct cli_verb {
	enum verb_id id;
	const char *name;
	const char *operands; /* as in --help, or "" */
	size_t min_words;
	size_t max_words; /* SIZE_MAX: any number */
	const char
		*words; /* completion: space-separated words for the first operand, or NULL */
	const char *help;
};

extern const struct cli_option cli_options[];
extern const size_t cli_n_options;
extern const struct cli_verb cli_verbs[];

/*
 * Parses argv. On -EINVAL one error is in diag (a sentence, and a hint where there is one), and
 * ret says only how to print it.
 */
int cli_parse(int argc, char **argv, struct args *ret, struct diag *diag) _must_check_;
void args_done(struct args *args);

/* For one verb, or all when verb < 0. */
void cli_print_help(FILE *f, int verb);
/* The tables as JSON, for completion/generate.py and test/meta. */
int cli_print_table(FILE *f) _must_check_;
