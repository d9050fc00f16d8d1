/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Simple commands: assignments, and commands that are about variables. */

#include "boot/shell-parser.h"
#include "boot/shell-quote.h"

#include <string.h>

enum command_kind {
	COMMAND_OTHER,
	COMMAND_EXPORT, /* its operands are assignments */
	COMMAND_UNSET,
	COMMAND_NAMES,	/* its operands may be names that get values */
	COMMAND_OPAQUE, /* may do anything */
	COMMAND_LEAVES, /* what comes behind it need not happen */
};

static enum command_kind command_kind(const struct shell_parser *p, size_t from)
{
	static const char *const names[] = { "read",	  "getopts", "printf", "local",
					     "declare",	  "typeset", "let",    "mapfile",
					     "readarray", "wait" };
	static const char *const opaque[] = { ".",	 "source",  "eval",    "exec",
					      "alias",	 "command", "builtin", "trap",
					      "unalias", "enable",  "shopt" };

	if (shell_word_is(p, from, "export") || shell_word_is(p, from, "readonly"))
		return COMMAND_EXPORT;
	if (shell_word_is(p, from, "unset"))
		return COMMAND_UNSET;
	if (shell_word_is(p, from, "exit") || shell_word_is(p, from, "return"))
		return COMMAND_LEAVES;
	for (size_t i = 0; i < ARRAY_SIZE(opaque); i++)
		if (shell_word_is(p, from, opaque[i]))
			return COMMAND_OPAQUE;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (shell_word_is(p, from, names[i]))
			return COMMAND_NAMES;
	/* the name of the command is computed: it might be any of these */
	for (size_t i = from; i < p->at; i++)
		if (strchr("$`\\'\"", p->s[i]))
			return COMMAND_OPAQUE;
	return COMMAND_OTHER;
}

int shell_add_assignment(struct shell_parser *p, size_t from, const char *doubt)
{
	size_t n = shell_name_length(p->s + from, p->at - from), value = from + n + 1;
	bool append =
		from + n + 1 < p->at && p->s[from + n] == '+' && p->s[from + n + 1] == '=';
	const char *reason = doubt ? doubt : shell_conditional(p);
	int r;

	if (n == 0 || from + n >= p->at || (p->s[from + n] != '=' && !append)) {
		/* bash's NAME[index]=value */
		if (n > 0 && from + n < p->at && p->s[from + n] == '[' &&
		    memchr(p->s + from + n, '=', p->at - from - n)) {
			r = shell_add_event(p, SHELL_MAYBE, p->s + from, n, from, "an array");
			return r < 0 ? r : 1;
		}
		return 0;
	}
	r = shell_find_hidden(p, from, p->at);
	if (r < 0)
		return r;
	if (append)
		reason = "\"+=\" is not for every shell: dash takes it for a command";
	r = shell_add_event(p, reason ? SHELL_MAYBE : SHELL_ASSIGN, p->s + from, n, from,
			    reason);
	if (r < 0)
		return r;
	if (!append && p->at < p->size && p->s[p->at] == '(' && value == p->at) {
		/* bash's NAME=(...) */
		p->at = shell_skip_parens(p->s, p->size, p->at + 1);
		if (p->at > p->size)
			return shell_syntax_error(p, from, "these parentheses do not end");
		p->events->items[p->events->n - 1].kind = SHELL_MAYBE;
		p->events->items[p->events->n - 1].reason = "an array";
		return 1;
	}
	p->events->items[p->events->n - 1].value = value;
	p->events->items[p->events->n - 1].value_size = p->at - value;
	return 1;
}

/* An operand of a command that is about variables. */
static int add_operand(struct shell_parser *p, enum command_kind kind, size_t from)
{
	size_t n = shell_name_length(p->s + from, p->at - from);
	const char *doubt = NULL;
	int r;

	switch (kind) {
	case COMMAND_EXPORT:
		/* older shells split the value at blanks here unless it is quoted */
		for (size_t i = from; i < p->at; i++)
			if (p->s[i] == '$' || p->s[i] == '`')
				doubt = "the operand of a command";
		r = shell_add_assignment(p, from, doubt);
		return r < 0 ? r : 0;
	case COMMAND_UNSET:
		if (n > 0 && from + n == p->at)
			return shell_add_event(p,
					       shell_conditional(p) ? SHELL_MAYBE : SHELL_UNSET,
					       p->s + from, n, from, shell_conditional(p));
		return 0;
	case COMMAND_NAMES:
		return n > 0 ? shell_add_event(p, SHELL_MAYBE, p->s + from, n, from,
					       "set by a command")
			     : 0;
	case COMMAND_OTHER:
	case COMMAND_OPAQUE:
	case COMMAND_LEAVES:
		break;
	}
	return 0;
}

int shell_read_operands(struct shell_parser *p, size_t from)
{
	enum command_kind kind = command_kind(p, from);
	bool test = shell_word_is(p, from, "[[");
	int r = 0;

	if (kind == COMMAND_OPAQUE)
		r = shell_add_event(p, SHELL_OPAQUE, NULL, 0, from,
				    "this command may change any variable");
	if (kind == COMMAND_LEAVES)
		r = shell_add_event(p, SHELL_OPAQUE, NULL, 0, from,
				    "what is behind this command need not be read");
	if (r >= 0 && kind == COMMAND_LEAVES)
		p->events->items[p->events->n - 1].lasting = true;
	while (r >= 0 && p->at < p->size) {
		size_t start;

		shell_skip_blanks(p);
		start = p->at;
		if (test && p->at < p->size && strchr("&|<>()", p->s[p->at])) {
			p->at++; /* operators of [[ ]] */
			continue;
		}
		r = shell_read_redirection(p);
		if (r != 0)
			continue;
		r = shell_read_word(p);
		if (r < 0 || p->at == start)
			break;
		if (test && shell_word_is(p, start, "]]"))
			test = false;
		r = shell_find_hidden(p, start, p->at);
		if (r >= 0)
			r = add_operand(p, kind, start);
	}
	return MIN(r, 0);
}

void shell_demote_assignments(struct shell_parser *p, size_t first, size_t command)
{
	static const char *const special[] = { ":",	".",	  "eval",    "exec",
					       "exit",	"export", "return",  "readonly",
					       "set",	"shift",  "times",   "trap",
					       "unset", "break",  "continue" };

	for (size_t i = 0; i < ARRAY_SIZE(special); i++)
		if (shell_word_is(p, command, special[i])) {
			shell_doubt_events(p, first, "in front of a command");
			return;
		}
	for (size_t i = first; i < p->events->n;) {
		struct shell_event *event = &p->events->items[i];

		if (event->value == 0) {
			i++; /* ${X:=...} in a value does set X */
			continue;
		}
		free(event->name);
		memmove(event, event + 1, (--p->events->n - i) * sizeof(*event));
	}
}
