/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot/shell-parse.h"

#include "boot/shell-parser.h"
#include "boot/shell-quote.h"

#include <string.h>

static int push(struct shell_parser *p, enum shell_construct construct, size_t offset)
{
	if (p->depth == SHELL_MAX_NESTING)
		return shell_syntax_error(p, offset, "commands are nested too deeply");
	p->frames[p->depth++] = (struct shell_frame){
		.construct = construct,
		.offset = offset,
		.first_event = p->events->n,
		/* braces as such change nothing, but they may follow "&&" */
		.conditional = construct != SHELL_IN_BRACES || p->chain,
		.patterns = construct == SHELL_IN_CASE,
	};
	p->chain = NULL;
	return 0;
}
static int close_frame(struct shell_parser *p, enum shell_construct construct, size_t at)
{
	if (p->depth == 0 || p->frames[p->depth - 1].construct != construct)
		return shell_syntax_error(p, at, "this ends nothing that was begun");
	p->depth--;
	p->chain = NULL;
	/* ...and with it the function whose body it was */
	if (p->depth > 0 && p->frames[p->depth - 1].construct == SHELL_IN_FUNCTION)
		p->depth--;
	/* what is piped, or in the background, has a shell of its own */
	shell_skip_blanks(p);
	if (p->at < p->size && (p->s[p->at] == '|' || p->s[p->at] == '&') &&
	    !(p->at + 1 < p->size && p->s[p->at + 1] == p->s[p->at]))
		shell_doubt_events(p, p->frames[p->depth].first_event, "in a pipeline");
	return 0;
}

/* "for NAME [in WORD...]" behind the "for". */
static int read_for(struct shell_parser *p)
{
	size_t start;
	int r;

	shell_skip_blanks(p);
	start = p->at;
	r = shell_read_word(p);
	if (r >= 0)
		r = shell_add_event(p, SHELL_MAYBE, p->s + start,
				    shell_name_length(p->s + start, p->at - start), start,
				    "the variable of a loop");
	while (r >= 0) {
		shell_skip_blanks(p);
		start = p->at;
		r = shell_read_word(p);
		if (r < 0 || p->at == start)
			break;
		r = shell_find_hidden(p, start, p->at);
	}
	return r;
}

/* "case WORD in" behind the "case". */
static int read_case(struct shell_parser *p)
{
	size_t start;
	int r;

	shell_skip_blanks(p);
	start = p->at;
	r = shell_read_word(p);
	if (r >= 0)
		r = shell_find_hidden(p, start, p->at);
	while (r >= 0) {
		shell_skip_blanks(p);
		if (p->at >= p->size || p->s[p->at] != '\n')
			break;
		p->at++;
		r = shell_skip_heredocs(p);
	}
	start = p->at;
	if (r >= 0)
		r = shell_read_word(p);
	if (r >= 0 && !shell_word_is(p, start, "in"))
		r = shell_syntax_error(p, start, "\"in\" is missing here");
	return r;
}

/* Reserved words: 1 when from..p->at was one (a command may follow at once), 2 when what it
 * ended may be followed by an operator only. */
static int read_reserved(struct shell_parser *p, size_t from)
{
	static const struct {
		const char *word;
		enum shell_construct construct;
		bool opens;
		bool closes;
	} words[] = {
		{ "if", SHELL_IN_IF, true, false },
		{ "fi", SHELL_IN_IF, false, true },
		{ "while", SHELL_IN_LOOP, true, false },
		{ "until", SHELL_IN_LOOP, true, false },
		{ "for", SHELL_IN_LOOP, true, false },
		{ "select", SHELL_IN_LOOP, true, false },
		{ "done", SHELL_IN_LOOP, false, true },
		{ "case", SHELL_IN_CASE, true, false },
		{ "esac", SHELL_IN_CASE, false, true },
		{ "{", SHELL_IN_BRACES, true, false },
		{ "}", SHELL_IN_BRACES, false, true },
		{ "then", SHELL_IN_IF, false, false },
		{ "else", SHELL_IN_IF, false, false },
		{ "elif", SHELL_IN_IF, false, false },
		{ "do", SHELL_IN_LOOP, false, false },
		{ "!", SHELL_IN_IF, false, false },
		{ "function", SHELL_IN_FUNCTION, true, false },
	};
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (!shell_word_is(p, from, words[i].word))
			continue;
		if (words[i].closes) {
			r = close_frame(p, words[i].construct, from);
			return r < 0 ? r : 2;
		}
		if (!words[i].opens) {
			if (words[i].word[0] != '!')
				p->chain = NULL;
			return 1;
		}
		r = push(p, words[i].construct, from);
		if (r >= 0 &&
		    (shell_word_is(p, from, "for") || shell_word_is(p, from, "select")))
			r = read_for(p);
		else if (r >= 0 && words[i].construct == SHELL_IN_CASE)
			r = read_case(p);
		else if (r >= 0 && words[i].construct == SHELL_IN_FUNCTION) {
			shell_skip_blanks(p);
			r = shell_read_word(p);
		}
		return r < 0 ? r : 1;
	}
	return 0;
}

/* "()" behind a name: a function. 1 if so. */
static int read_function(struct shell_parser *p, size_t from)
{
	size_t name_end = p->at;
	int r;

	if (memchr(p->s + from, '=', p->at - from))
		return 0; /* bash's NAME=(...) */
	shell_skip_blanks(p);
	if (p->at >= p->size || p->s[p->at] != '(') {
		p->at = name_end;
		return 0;
	}
	p->at++;
	shell_skip_blanks(p);
	if (p->at >= p->size || p->s[p->at] != ')')
		return shell_syntax_error(p, from, "these parentheses mean nothing here");
	p->at++;
	r = push(p, SHELL_IN_FUNCTION, from);
	return r < 0 ? r : 1;
}

/* One simple command, or the reserved word in its place. */
static int read_command(struct shell_parser *p)
{
	size_t first = p->events->n;
	bool words = false;
	int r = 0;

	for (;;) {
		size_t start;

		shell_skip_blanks(p);
		start = p->at;
		r = shell_read_redirection(p);
		if (r < 0)
			return r;
		if (r > 0)
			continue;
		r = shell_read_word(p);
		if (r < 0 || p->at == start)
			return r;
		if (!words) {
			r = read_reserved(p, start);
			if (r == 0)
				r = read_function(p, start);
			if (r != 0)
				return MIN(r, 0);
		}
		words = true;
		r = shell_add_assignment(p, start, NULL);
		if (r < 0)
			return r;
		if (r > 0)
			continue;
		r = shell_find_hidden(p, start, p->at);
		if (r < 0)
			return r;
		shell_demote_assignments(p, first, start);
		return shell_read_operands(p, start);
	}
}

/* The pattern list of a "case": up to its ")", or "esac". */
static int read_patterns(struct shell_parser *p)
{
	size_t start;
	int r;

	shell_skip_blanks(p);
	if (p->at < p->size && p->s[p->at] == '\n') {
		p->at++;
		return shell_skip_heredocs(p);
	}
	if (p->at < p->size && p->s[p->at] == '(')
		p->at++;
	for (;;) {
		shell_skip_blanks(p);
		start = p->at;
		r = shell_read_word(p);
		if (r < 0)
			return r;
		if (shell_word_is(p, start, "esac"))
			return close_frame(p, SHELL_IN_CASE, start);
		shell_skip_blanks(p);
		if (p->at < p->size && p->s[p->at] == '|') {
			p->at++;
			continue;
		}
		if (p->at >= p->size || p->s[p->at] != ')')
			return shell_syntax_error(p, start,
						  "\")\" is missing behind this pattern");
		p->at++;
		p->frames[p->depth - 1].patterns = false;
		return 0;
	}
}

/* The operator at p->at, and what it means for the commands around it. */
static int read_operator(struct shell_parser *p, size_t first_event, bool empty)
{
	struct shell_frame *top = p->depth > 0 ? &p->frames[p->depth - 1] : NULL;
	char c = p->s[p->at], next = p->at + 1 < p->size ? p->s[p->at + 1] : '\0';
	size_t at = p->at;

	p->at++;
	switch (c) {
	case '\n':
		if (!empty) /* else the line before ended in an operator, which goes on */
			p->chain = NULL;
		return shell_skip_heredocs(p);
	case ';':
		if (next == ';' && top && top->construct == SHELL_IN_CASE) {
			p->at++;
			top->patterns = true;
		}
		p->chain = NULL;
		return 0;
	case '&':
	case '|':
		if (next == c) {
			p->at++;
			p->chain = c == '&' ? "after \"&&\"" : "after \"||\"";
			return 0;
		}
		shell_doubt_events(p, first_event,
				   c == '&' ? "in the background" : "in a pipeline");
		p->chain = c == '&' ? NULL : "in a pipeline";
		return 0;
	case '(':
		return push(p, SHELL_IN_PARENS, at);
	case ')':
		return close_frame(p, SHELL_IN_PARENS, at);
	default:
		return shell_syntax_error(p, at, "this is not understood");
	}
}

int shell_parse(const char *path, const char *text, size_t size, struct shell_events *ret,
		struct diag *diag)
{
	_cleanup_shell_events_ struct shell_events events = {};
	struct shell_parser p = {
		.path = path, .s = text, .size = size, .events = &events, .diag = diag
	};
	const char *nul = memchr(text, '\0', size);
	int r = 0;

	if (nul)
		return shell_syntax_error(&p, (size_t)(nul - text),
					  "a NUL byte: this is no text");
	while (p.at < size) {
		size_t first_event = events.n;
		const struct shell_frame *top = p.depth > 0 ? &p.frames[p.depth - 1] : NULL;
		size_t start;

		if (top && top->patterns) {
			r = read_patterns(&p);
			if (r < 0)
				return r;
			continue;
		}
		shell_skip_blanks(&p);
		start = p.at;
		r = read_command(&p);
		if (r < 0)
			return r;
		shell_skip_blanks(&p);
		if (p.at < size && strchr("\n;&|()", text[p.at])) {
			r = read_operator(&p, first_event, p.at == start);
			if (r < 0)
				return r;
		}
	}
	if (p.n_heredocs > 0)
		return shell_syntax_error(&p, p.heredocs[0], "this here-document does not end");
	if (p.depth > 0) {
		static const char *const missing[] = {
			[SHELL_IN_IF] = "this \"if\" has no \"fi\"",
			[SHELL_IN_LOOP] = "this loop has no \"done\"",
			[SHELL_IN_CASE] = "this \"case\" has no \"esac\"",
			[SHELL_IN_BRACES] = "this \"{\" has no \"}\"",
			[SHELL_IN_PARENS] = "this \"(\" has no \")\"",
			[SHELL_IN_FUNCTION] = "this function has no body",
		};
		const struct shell_frame *top = &p.frames[p.depth - 1];

		return shell_syntax_error(&p, top->offset, missing[top->construct]);
	}
	*ret = events;
	events = (struct shell_events){};
	return 0;
}
