/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Inside of shell_parse(): shell-lex.c reads words and what is between them, shell-command.c
 * simple commands, shell-parse.c what they stand in.
 */

#include "boot/shell-parse.h"

enum {
	SHELL_MAX_NESTING = 100, /* of compound commands */
	SHELL_MAX_HEREDOCS = 16, /* begun on one line */
};

/* What a word is inside of. */
enum shell_construct {
	SHELL_IN_IF,
	SHELL_IN_LOOP,
	SHELL_IN_CASE,
	SHELL_IN_BRACES,
	SHELL_IN_PARENS,
	SHELL_IN_FUNCTION, /* its body is the next compound command */
};

struct shell_frame {
	enum shell_construct construct;
	size_t offset;
	size_t first_event; /* events since it was opened */
	bool conditional;   /* what is inside need not happen */
	bool patterns;	    /* SHELL_IN_CASE: patterns come next, not commands */
};

struct shell_parser {
	const char *path;
	const char *s;
	size_t size;
	size_t at;
	struct shell_frame frames[SHELL_MAX_NESTING];
	size_t depth;
	const char *chain;		     /* why this command need not run: "after \"&&\"" */
	size_t heredocs[SHELL_MAX_HEREDOCS]; /* their delimiters, as they are written */
	size_t heredoc_ends[SHELL_MAX_HEREDOCS];
	bool heredoc_tabs[SHELL_MAX_HEREDOCS];
	size_t n_heredocs;
	struct shell_events *events;
	struct diag *diag;
};

/* --- shell-lex.c: each error is in the parser's diag --- */

/* -EBADMSG, with text at that place in diag. */
int shell_syntax_error(struct shell_parser *p, size_t at, const char *text);
int shell_add_event(struct shell_parser *p, enum shell_event_kind kind, const char *name,
		    size_t name_size, size_t offset, const char *reason) _must_check_;
/* Why something here need not happen, or NULL when it always does. */
const char *shell_conditional(const struct shell_parser *p) _pure_;
/* Assignments since then happen in a shell of their own, or may: they do not count as known. */
void shell_doubt_events(struct shell_parser *p, size_t first, const char *reason);
/* Adds the assignments that hide in the expansions of from..to. */
int shell_find_hidden(struct shell_parser *p, size_t from, size_t to) _must_check_;
/* Reads one word: p->at is behind it. */
int shell_read_word(struct shell_parser *p) _must_check_;
bool shell_word_is(const struct shell_parser *p, size_t from, const char *word) _pure_;
/* Skips blanks, continued lines and a comment. */
void shell_skip_blanks(struct shell_parser *p);
/* At a newline: the bodies of the here-documents begun on the line. */
int shell_skip_heredocs(struct shell_parser *p) _must_check_;
/* A redirection at p->at: 1 when there was one. */
int shell_read_redirection(struct shell_parser *p) _must_check_;

/* --- shell-command.c --- */

/* An assignment at from..p->at: NAME=value (or NAME+=value): 1 if it is one. */
int shell_add_assignment(struct shell_parser *p, size_t from, const char *doubt) _must_check_;
/* The rest of a simple command whose first word, a command's name, is at from..p->at. */
int shell_read_operands(struct shell_parser *p, size_t from) _must_check_;
/* Assignments in front of a command are for that command only; POSIX keeps them for the special
 * built-ins, bash does not. */
void shell_demote_assignments(struct shell_parser *p, size_t first, size_t command);
