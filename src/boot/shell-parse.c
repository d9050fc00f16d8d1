/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot/shell-parse.h"

#include "base/diag.h"
#include "base/str.h"

enum {
	MAX_NESTING = 100, /* of expansions and of compound commands */
	MAX_HEREDOCS = 16, /* begun on one line */
};

size_t shell_name_length(const char *s, size_t size)
{
	size_t n = 0;

	while (n < size &&
	       (s[n] == '_' || (s[n] >= 'a' && s[n] <= 'z') || (s[n] >= 'A' && s[n] <= 'Z') ||
		(n > 0 && s[n] >= '0' && s[n] <= '9')))
		n++;
	return n;
}

void shell_position(const char *text, size_t at, unsigned *ret_line, unsigned *ret_column)
{
	unsigned line = 1;
	size_t start = 0;

	for (size_t i = 0; i < at; i++)
		if (text[i] == '\n') {
			line++;
			start = i + 1;
		}
	*ret_line = line;
	*ret_column = (unsigned)(at - start + 1);
}

/* --- expansions and quotes --- */

static size_t skip_nested(const char *s, size_t size, size_t at, unsigned depth);

/* From behind "$(" to behind its ")". Quotes, comments and nested parentheses are minded; a
 * "case" pattern with a lone ")" inside is not, and then ends it early, as in old shells. */
static size_t skip_parens(const char *s, size_t size, size_t at, unsigned depth)
{
	unsigned open = 1;
	bool word = false; /* inside a word, where '#' starts no comment */

	while (at < size) {
		char c = s[at];

		if (c == '\\') {
			at += 2;
			word = true;
		} else if (c == '\'' || c == '"' || c == '`' || c == '$') {
			at = skip_nested(s, size, at, depth + 1);
			word = true;
		} else if (c == '#' && !word) {
			while (at < size && s[at] != '\n')
				at++;
		} else {
			if (c == '(')
				open++;
			else if (c == ')' && --open == 0)
				return at + 1;
			word = !strchr(" \t\n;&|()<>", c);
			at++;
		}
	}
	return SIZE_MAX;
}

/* From behind "${" to behind its "}". In double quotes, single quotes are ordinary. */
static size_t skip_braces(const char *s, size_t size, size_t at, bool quoted, unsigned depth)
{
	while (at < size) {
		char c = s[at];

		if (c == '}')
			return at + 1;
		if (c == '\\')
			at += 2;
		else if (c == '"' || c == '`' || c == '$' || (c == '\'' && !quoted))
			at = skip_nested(s, size, at, depth + 1);
		else
			at++;
	}
	return SIZE_MAX;
}

static size_t skip_double(const char *s, size_t size, size_t at, unsigned depth)
{
	while (at < size) {
		char c = s[at];

		if (c == '"')
			return at + 1;
		if (c == '\\')
			at += 2;
		else if (c == '$' && at + 1 < size && s[at + 1] == '{')
			at = skip_braces(s, size, at + 2, true, depth + 1);
		else if (c == '`' || (c == '$' && at + 1 < size && s[at + 1] == '('))
			at = skip_nested(s, size, at, depth + 1);
		else
			at++;
	}
	return SIZE_MAX;
}

static size_t skip_nested(const char *s, size_t size, size_t at, unsigned depth)
{
	char c = s[at];

	if (depth > MAX_NESTING)
		return SIZE_MAX;
	if (c == '"')
		return skip_double(s, size, at + 1, depth);
	if (c == '\'') {
		const char *end = memchr(s + at + 1, '\'', size - at - 1);

		return end ? (size_t)(end - s) + 1 : SIZE_MAX;
	}
	if (c == '`') {
		for (at++; at < size && s[at] != '`'; at++)
			if (s[at] == '\\')
				at++;
		return at < size ? at + 1 : SIZE_MAX;
	}
	if (at + 1 < size && s[at + 1] == '(')
		return skip_parens(s, size, at + 2, depth);
	if (at + 1 < size && s[at + 1] == '{')
		return skip_braces(s, size, at + 2, false, depth);
	/* $NAME, $1, or a lone $ */
	at++;
	if (at < size && shell_name_length(s + at, size - at) > 0)
		return at + shell_name_length(s + at, size - at);
	return at < size && s[at] != '\0' && strchr("0123456789@*#?-$!", s[at]) ? at + 1 : at;
}

size_t shell_skip_expansion(const char *text, size_t size, size_t at, bool quoted)
{
	if (quoted && at + 1 < size && text[at] == '$' && text[at + 1] == '{')
		return skip_braces(text, size, at + 2, true, 0);
	return skip_nested(text, size, at, 0);
}

/* --- the parser --- */

/* What a word is inside of. */
enum construct {
	IN_IF,
	IN_LOOP,
	IN_CASE,
	IN_BRACES,
	IN_PARENS,
	IN_FUNCTION, /* its body is the next compound command */
};

static const char *const construct_names[] = {
	[IN_IF] = "inside \"if\"",
	[IN_LOOP] = "inside a loop",
	[IN_CASE] = "inside \"case\"",
	[IN_BRACES] = "inside braces",
	[IN_PARENS] = "inside parentheses, a shell of its own",
	[IN_FUNCTION] = "inside a function",
};

struct frame {
	enum construct construct;
	size_t offset;
	size_t first_event; /* events since it was opened */
	bool conditional;   /* what is inside need not happen */
	bool patterns;	    /* IN_CASE: patterns come next, not commands */
};

struct parser {
	const char *path;
	const char *s;
	size_t size;
	size_t at;
	struct frame frames[MAX_NESTING];
	size_t depth;
	const char *chain;	       /* why this command need not run: "after \"&&\"" */
	size_t heredocs[MAX_HEREDOCS]; /* their delimiters, as they are written */
	size_t heredoc_ends[MAX_HEREDOCS];
	bool heredoc_tabs[MAX_HEREDOCS];
	size_t n_heredocs;
	struct shell_events *events;
	struct diag *diag;
};

static int syntax_error(struct parser *p, size_t at, const char *text)
{
	struct diag_where where = { .path = p->path };
	size_t start;

	if (at > p->size)
		at = p->size;
	shell_position(p->s, at, &where.line, &where.column);
	start = at - (where.column - 1);
	where.source = p->s + start;
	where.source_size = strcspn(p->s + start, "\n");
	if (where.source_size == 0)
		where.source = NULL;
	diag_error(p->diag, &where, "%s", text);
	return -EBADMSG;
}

static int add_event(struct parser *p, enum shell_event_kind kind, const char *name,
		     size_t name_size, size_t offset, const char *reason)
{
	struct shell_events *events = p->events;
	struct shell_event *event;

	if (events->n == events->alloc) {
		size_t alloc = events->alloc ? events->alloc * 2 : 16;
		struct shell_event *items = reallocarray(events->items, alloc, sizeof(*items));

		if (!items)
			return -ENOMEM;
		events->items = items;
		events->alloc = alloc;
	}
	event = &events->items[events->n++];
	*event = (struct shell_event){ .kind = kind, .offset = offset, .reason = reason };
	/* a function's body runs wherever it is called */
	for (size_t i = 0; i < p->depth; i++)
		event->lasting |= p->frames[i].construct == IN_FUNCTION;
	if (name) {
		event->name = str_dup_n(name, name_size);
		if (!event->name)
			return -ENOMEM;
	}
	return 0;
}

void shell_events_done(struct shell_events *events)
{
	for (size_t i = 0; i < events->n; i++)
		free(events->items[i].name);
	free(events->items);
	*events = (struct shell_events){};
}

/* Why something here need not happen, or NULL when it always does. */
static const char *conditional(const struct parser *p)
{
	for (size_t i = p->depth; i-- > 0;)
		if (p->frames[i].conditional)
			return construct_names[p->frames[i].construct];
	return p->chain;
}

static int push(struct parser *p, enum construct construct, size_t offset)
{
	if (p->depth == MAX_NESTING)
		return syntax_error(p, offset, "commands are nested too deeply");
	p->frames[p->depth++] = (struct frame){
		.construct = construct,
		.offset = offset,
		.first_event = p->events->n,
		/* braces as such change nothing, but they may follow "&&" */
		.conditional = construct != IN_BRACES || p->chain,
		.patterns = construct == IN_CASE,
	};
	p->chain = NULL;
	return 0;
}

/* Assignments since then happen in a shell of their own, or may: they do not count as known. */
static void doubt_events(struct parser *p, size_t first, const char *reason)
{
	for (size_t i = first; i < p->events->n; i++)
		if (p->events->items[i].kind != SHELL_OPAQUE) {
			p->events->items[i].kind = SHELL_MAYBE;
			p->events->items[i].reason = reason;
		}
}

/*
 * Assignments that hide in an expansion: ${NAME:=word}, and any name in $((...)). Looks at the
 * raw bytes, also inside single quotes: to doubt too much is safe.
 */
static int find_hidden(struct parser *p, size_t from, size_t to)
{
	for (size_t i = from; i + 2 < to; i++) {
		size_t n;
		int r;

		if (p->s[i] != '$')
			continue;
		if (p->s[i + 1] == '{') {
			size_t k = i + 2;

			n = shell_name_length(p->s + k, to - k);
			k += n;
			if (n > 0 && k < to &&
			    (p->s[k] == '=' ||
			     (p->s[k] == ':' && k + 1 < to && p->s[k + 1] == '='))) {
				r = add_event(p, SHELL_MAYBE, p->s + i + 2, n, i,
					      "assigned by ${...=...}");
				if (r < 0)
					return r;
			}
		} else if (p->s[i + 1] == '(' && p->s[i + 2] == '(') {
			for (size_t k = i + 3; k < to; k += MAX(n, (size_t)1)) {
				n = shell_name_length(p->s + k, to - k);
				r = n ? add_event(p, SHELL_MAYBE, p->s + k, n, i,
						  "used in arithmetic")
				      : 0;
				if (r < 0)
					return r;
			}
		}
	}
	return 0;
}

/* Reads one word: p->at is behind it. */
static int read_word(struct parser *p)
{
	while (p->at < p->size) {
		char c = p->s[p->at];
		size_t end;

		if (c == '\\') {
			p->at += 2;
			continue;
		}
		if (c == '\'' || c == '"' || c == '`' || c == '$') {
			end = shell_skip_expansion(p->s, p->size, p->at, false);
			if (end > p->size)
				return syntax_error(p, p->at,
						    c == '$' ? "this expansion does not end"
							     : "this quote does not end");
			p->at = end;
			continue;
		}
		if (strchr(" \t\n;&|()<>", c))
			break;
		p->at++;
	}
	if (p->at > p->size)
		p->at = p->size; /* a backslash at the end of the file stands for itself */
	return 0;
}

/* Skips blanks, continued lines and a comment; newlines too if asked for. */
static void skip_blanks(struct parser *p)
{
	while (p->at < p->size) {
		const char *s = p->s + p->at;

		if (*s == ' ' || *s == '\t')
			p->at++;
		else if (*s == '\\' && p->at + 1 < p->size && s[1] == '\n')
			p->at += 2;
		else if (*s == '#')
			while (p->at < p->size && p->s[p->at] != '\n')
				p->at++;
		else
			return;
	}
}

static bool word_is(const struct parser *p, size_t from, const char *word)
{
	size_t n = strlen(word);

	return p->at - from == n && memcmp(p->s + from, word, n) == 0;
}

/* The delimiter of a here-document: quotes are removed to compare it. */
static bool line_is_delimiter(const struct parser *p, size_t line, size_t end, size_t word,
			      size_t word_end)
{
	const char *s = p->s;

	while (word < word_end) {
		if (s[word] == '\'' || s[word] == '"' || s[word] == '\\') {
			word++;
			continue;
		}
		if (line >= end || s[line] != s[word])
			return false;
		line++;
		word++;
	}
	return line == end;
}

/* At a newline: the bodies of the here-documents begun on the line. */
static int skip_heredocs(struct parser *p)
{
	for (size_t i = 0; i < p->n_heredocs; i++) {
		bool found = false;

		while (p->at < p->size && !found) {
			const char *lf = memchr(p->s + p->at, '\n', p->size - p->at);
			size_t start = p->at, end = lf ? (size_t)(lf - p->s) : p->size;

			p->at = lf ? end + 1 : end;
			while (p->heredoc_tabs[i] && start < end && p->s[start] == '\t')
				start++;
			found = line_is_delimiter(p, start, end, p->heredocs[i],
						  p->heredoc_ends[i]);
		}
		if (!found)
			return syntax_error(p, p->heredocs[i],
					    "this here-document does not end");
	}
	p->n_heredocs = 0;
	return 0;
}

/* A redirection at p->at: 1 when there was one. */
static int read_redirection(struct parser *p)
{
	size_t start = p->at, digits = start;
	bool heredoc, tabs = false;
	int r;

	while (digits < p->size && p->s[digits] >= '0' && p->s[digits] <= '9')
		digits++;
	if (digits >= p->size || (p->s[digits] != '<' && p->s[digits] != '>'))
		return 0;
	p->at = digits + 1;
	heredoc = p->s[digits] == '<' && p->at < p->size && p->s[p->at] == '<';
	if (heredoc) {
		p->at++;
		if (p->at < p->size && p->s[p->at] == '<') { /* bash's <<< */
			heredoc = false;
			p->at++;
		} else if (p->at < p->size && p->s[p->at] == '-') {
			tabs = true;
			p->at++;
		}
	} else if (p->at < p->size && strchr("<>&|", p->s[p->at]) && p->s[p->at])
		p->at++;
	if (p->at < p->size && p->s[p->at] == '(') /* bash's <(...) */
		p->at = skip_parens(p->s, p->size, p->at + 1, 0);
	if (p->at > p->size)
		return syntax_error(p, start, "these parentheses do not end");
	skip_blanks(p);
	if (heredoc) {
		if (p->n_heredocs == MAX_HEREDOCS)
			return syntax_error(p, start, "too many here-documents on a line");
		p->heredocs[p->n_heredocs] = p->at;
		p->heredoc_tabs[p->n_heredocs] = tabs;
	}
	start = p->at;
	r = read_word(p);
	if (heredoc)
		p->heredoc_ends[p->n_heredocs++] = p->at;
	if (r >= 0)
		r = find_hidden(p, start, p->at);
	return r < 0 ? r : 1;
}

/* --- simple commands --- */

enum command_kind {
	COMMAND_OTHER,
	COMMAND_EXPORT, /* its operands are assignments */
	COMMAND_UNSET,
	COMMAND_NAMES,	/* its operands may be names that get values */
	COMMAND_OPAQUE, /* may do anything */
	COMMAND_LEAVES, /* what comes behind it need not happen */
};

static enum command_kind command_kind(const struct parser *p, size_t from)
{
	static const char *const names[] = { "read",	  "getopts", "printf", "local",
					     "declare",	  "typeset", "let",    "mapfile",
					     "readarray", "wait" };
	static const char *const opaque[] = { ".",	 "source",  "eval",    "exec",
					      "alias",	 "command", "builtin", "trap",
					      "unalias", "enable",  "shopt" };

	if (word_is(p, from, "export") || word_is(p, from, "readonly"))
		return COMMAND_EXPORT;
	if (word_is(p, from, "unset"))
		return COMMAND_UNSET;
	if (word_is(p, from, "exit") || word_is(p, from, "return"))
		return COMMAND_LEAVES;
	for (size_t i = 0; i < ARRAY_SIZE(opaque); i++)
		if (word_is(p, from, opaque[i]))
			return COMMAND_OPAQUE;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (word_is(p, from, names[i]))
			return COMMAND_NAMES;
	/* the name of the command is computed: it might be any of these */
	for (size_t i = from; i < p->at; i++)
		if (strchr("$`\\'\"", p->s[i]))
			return COMMAND_OPAQUE;
	return COMMAND_OTHER;
}

/* An assignment at from..p->at: NAME=value (or NAME+=value): 1 if it is one. */
static int add_assignment(struct parser *p, size_t from, const char *doubt)
{
	size_t n = shell_name_length(p->s + from, p->at - from), value = from + n + 1;
	bool append =
		from + n + 1 < p->at && p->s[from + n] == '+' && p->s[from + n + 1] == '=';
	const char *reason = doubt ? doubt : conditional(p);
	int r;

	if (n == 0 || from + n >= p->at || (p->s[from + n] != '=' && !append)) {
		/* bash's NAME[index]=value */
		if (n > 0 && from + n < p->at && p->s[from + n] == '[' &&
		    memchr(p->s + from + n, '=', p->at - from - n)) {
			r = add_event(p, SHELL_MAYBE, p->s + from, n, from, "an array");
			return r < 0 ? r : 1;
		}
		return 0;
	}
	r = find_hidden(p, from, p->at);
	if (r < 0)
		return r;
	if (append)
		reason = "\"+=\" is not for every shell: dash takes it for a command";
	r = add_event(p, reason ? SHELL_MAYBE : SHELL_ASSIGN, p->s + from, n, from, reason);
	if (r < 0)
		return r;
	if (!append && p->at < p->size && p->s[p->at] == '(' && value == p->at) {
		/* bash's NAME=(...) */
		p->at = skip_parens(p->s, p->size, p->at + 1, 0);
		if (p->at > p->size)
			return syntax_error(p, from, "these parentheses do not end");
		p->events->items[p->events->n - 1].kind = SHELL_MAYBE;
		p->events->items[p->events->n - 1].reason = "an array";
		return 1;
	}
	p->events->items[p->events->n - 1].value = value;
	p->events->items[p->events->n - 1].value_size = p->at - value;
	return 1;
}

/* An operand of a command that is about variables. */
static int add_operand(struct parser *p, enum command_kind kind, size_t from)
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
		r = add_assignment(p, from, doubt);
		return r < 0 ? r : 0;
	case COMMAND_UNSET:
		if (n > 0 && from + n == p->at)
			return add_event(p, conditional(p) ? SHELL_MAYBE : SHELL_UNSET,
					 p->s + from, n, from, conditional(p));
		return 0;
	case COMMAND_NAMES:
		return n > 0 ? add_event(p, SHELL_MAYBE, p->s + from, n, from,
					 "set by a command")
			     : 0;
	case COMMAND_OTHER:
	case COMMAND_OPAQUE:
	case COMMAND_LEAVES:
		break;
	}
	return 0;
}

/* The rest of a simple command whose first word, a command's name, is at from..p->at. */
static int read_operands(struct parser *p, size_t from)
{
	enum command_kind kind = command_kind(p, from);
	bool test = word_is(p, from, "[[");
	int r = 0;

	if (kind == COMMAND_OPAQUE)
		r = add_event(p, SHELL_OPAQUE, NULL, 0, from,
			      "this command may change any variable");
	if (kind == COMMAND_LEAVES)
		r = add_event(p, SHELL_OPAQUE, NULL, 0, from,
			      "what is behind this command need not be read");
	if (r >= 0 && kind == COMMAND_LEAVES)
		p->events->items[p->events->n - 1].lasting = true;
	while (r >= 0 && p->at < p->size) {
		size_t start;

		skip_blanks(p);
		start = p->at;
		if (test && p->at < p->size && strchr("&|<>()", p->s[p->at])) {
			p->at++; /* operators of [[ ]] */
			continue;
		}
		r = read_redirection(p);
		if (r != 0)
			continue;
		r = read_word(p);
		if (r < 0 || p->at == start)
			break;
		if (test && word_is(p, start, "]]"))
			test = false;
		r = find_hidden(p, start, p->at);
		if (r >= 0)
			r = add_operand(p, kind, start);
	}
	return MIN(r, 0);
}

/* --- compound commands --- */

static int close_frame(struct parser *p, enum construct construct, size_t at)
{
	if (p->depth == 0 || p->frames[p->depth - 1].construct != construct)
		return syntax_error(p, at, "this ends nothing that was begun");
	p->depth--;
	p->chain = NULL;
	/* ...and with it the function whose body it was */
	if (p->depth > 0 && p->frames[p->depth - 1].construct == IN_FUNCTION)
		p->depth--;
	/* what is piped, or in the background, has a shell of its own */
	skip_blanks(p);
	if (p->at < p->size && (p->s[p->at] == '|' || p->s[p->at] == '&') &&
	    !(p->at + 1 < p->size && p->s[p->at + 1] == p->s[p->at]))
		doubt_events(p, p->frames[p->depth].first_event, "in a pipeline");
	return 0;
}

/* "for NAME [in WORD...]" behind the "for". */
static int read_for(struct parser *p)
{
	size_t start;
	int r;

	skip_blanks(p);
	start = p->at;
	r = read_word(p);
	if (r >= 0)
		r = add_event(p, SHELL_MAYBE, p->s + start,
			      shell_name_length(p->s + start, p->at - start), start,
			      "the variable of a loop");
	while (r >= 0) {
		skip_blanks(p);
		start = p->at;
		r = read_word(p);
		if (r < 0 || p->at == start)
			break;
		r = find_hidden(p, start, p->at);
	}
	return r;
}

/* "case WORD in" behind the "case". */
static int read_case(struct parser *p)
{
	size_t start;
	int r;

	skip_blanks(p);
	start = p->at;
	r = read_word(p);
	if (r >= 0)
		r = find_hidden(p, start, p->at);
	while (r >= 0) {
		skip_blanks(p);
		if (p->at >= p->size || p->s[p->at] != '\n')
			break;
		p->at++;
		r = skip_heredocs(p);
	}
	start = p->at;
	if (r >= 0)
		r = read_word(p);
	if (r >= 0 && !word_is(p, start, "in"))
		r = syntax_error(p, start, "\"in\" is missing here");
	return r;
}

/* Reserved words: 1 when from..p->at was one (a command may follow at once), 2 when what it
 * ended may be followed by an operator only. */
static int read_reserved(struct parser *p, size_t from)
{
	static const struct {
		const char *word;
		enum construct construct;
		bool opens;
		bool closes;
	} words[] = {
		{ "if", IN_IF, true, false },
		{ "fi", IN_IF, false, true },
		{ "while", IN_LOOP, true, false },
		{ "until", IN_LOOP, true, false },
		{ "for", IN_LOOP, true, false },
		{ "select", IN_LOOP, true, false },
		{ "done", IN_LOOP, false, true },
		{ "case", IN_CASE, true, false },
		{ "esac", IN_CASE, false, true },
		{ "{", IN_BRACES, true, false },
		{ "}", IN_BRACES, false, true },
		{ "then", IN_IF, false, false },
		{ "else", IN_IF, false, false },
		{ "elif", IN_IF, false, false },
		{ "do", IN_LOOP, false, false },
		{ "!", IN_IF, false, false },
		{ "function", IN_FUNCTION, true, false },
	};
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (!word_is(p, from, words[i].word))
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
		if (r >= 0 && (word_is(p, from, "for") || word_is(p, from, "select")))
			r = read_for(p);
		else if (r >= 0 && words[i].construct == IN_CASE)
			r = read_case(p);
		else if (r >= 0 && words[i].construct == IN_FUNCTION) {
			skip_blanks(p);
			r = read_word(p);
		}
		return r < 0 ? r : 1;
	}
	return 0;
}

/* "()" behind a name: a function. 1 if so. */
static int read_function(struct parser *p, size_t from)
{
	size_t name_end = p->at;
	int r;

	if (memchr(p->s + from, '=', p->at - from))
		return 0; /* bash's NAME=(...) */
	skip_blanks(p);
	if (p->at >= p->size || p->s[p->at] != '(') {
		p->at = name_end;
		return 0;
	}
	p->at++;
	skip_blanks(p);
	if (p->at >= p->size || p->s[p->at] != ')')
		return syntax_error(p, from, "these parentheses mean nothing here");
	p->at++;
	r = push(p, IN_FUNCTION, from);
	return r < 0 ? r : 1;
}

/* Assignments in front of a command are for that command only; POSIX keeps them for the special
 * built-ins, bash does not. */
static void demote_assignments(struct parser *p, size_t first, size_t command)
{
	static const char *const special[] = { ":",	".",	  "eval",    "exec",
					       "exit",	"export", "return",  "readonly",
					       "set",	"shift",  "times",   "trap",
					       "unset", "break",  "continue" };

	for (size_t i = 0; i < ARRAY_SIZE(special); i++)
		if (word_is(p, command, special[i])) {
			doubt_events(p, first, "in front of a command");
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

/* One simple command, or the reserved word in its place. */
static int read_command(struct parser *p)
{
	size_t first = p->events->n;
	bool words = false;
	int r = 0;

	for (;;) {
		size_t start;

		skip_blanks(p);
		start = p->at;
		r = read_redirection(p);
		if (r < 0)
			return r;
		if (r > 0)
			continue;
		r = read_word(p);
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
		r = add_assignment(p, start, NULL);
		if (r < 0)
			return r;
		if (r > 0)
			continue;
		r = find_hidden(p, start, p->at);
		if (r < 0)
			return r;
		demote_assignments(p, first, start);
		return read_operands(p, start);
	}
}

/* The pattern list of a "case": up to its ")", or "esac". */
static int read_patterns(struct parser *p)
{
	size_t start;
	int r;

	skip_blanks(p);
	if (p->at < p->size && p->s[p->at] == '\n') {
		p->at++;
		return skip_heredocs(p);
	}
	if (p->at < p->size && p->s[p->at] == '(')
		p->at++;
	for (;;) {
		skip_blanks(p);
		start = p->at;
		r = read_word(p);
		if (r < 0)
			return r;
		if (word_is(p, start, "esac"))
			return close_frame(p, IN_CASE, start);
		skip_blanks(p);
		if (p->at < p->size && p->s[p->at] == '|') {
			p->at++;
			continue;
		}
		if (p->at >= p->size || p->s[p->at] != ')')
			return syntax_error(p, start, "\")\" is missing behind this pattern");
		p->at++;
		p->frames[p->depth - 1].patterns = false;
		return 0;
	}
}

/* The operator at p->at, and what it means for the commands around it. */
static int read_operator(struct parser *p, size_t first_event, bool empty)
{
	struct frame *top = p->depth > 0 ? &p->frames[p->depth - 1] : NULL;
	char c = p->s[p->at], next = p->at + 1 < p->size ? p->s[p->at + 1] : '\0';
	size_t at = p->at;

	p->at++;
	switch (c) {
	case '\n':
		if (!empty) /* else the line before ended in an operator, which goes on */
			p->chain = NULL;
		return skip_heredocs(p);
	case ';':
		if (next == ';' && top && top->construct == IN_CASE) {
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
		doubt_events(p, first_event, c == '&' ? "in the background" : "in a pipeline");
		p->chain = c == '&' ? NULL : "in a pipeline";
		return 0;
	case '(':
		return push(p, IN_PARENS, at);
	case ')':
		return close_frame(p, IN_PARENS, at);
	default:
		return syntax_error(p, at, "this is not understood");
	}
}

int shell_parse(const char *path, const char *text, size_t size, struct shell_events *ret,
		struct diag *diag)
{
	_cleanup_shell_events_ struct shell_events events = {};
	struct parser p = {
		.path = path, .s = text, .size = size, .events = &events, .diag = diag
	};
	const char *nul = memchr(text, '\0', size);
	int r = 0;

	if (nul)
		return syntax_error(&p, (size_t)(nul - text), "a NUL byte: this is no text");
	while (p.at < size) {
		size_t first_event = events.n;
		const struct frame *top = p.depth > 0 ? &p.frames[p.depth - 1] : NULL;
		size_t start;

		if (top && top->patterns) {
			r = read_patterns(&p);
			if (r < 0)
				return r;
			continue;
		}
		skip_blanks(&p);
		start = p.at;
		r = read_command(&p);
		if (r < 0)
			return r;
		skip_blanks(&p);
		if (p.at < size && strchr("\n;&|()", text[p.at])) {
			r = read_operator(&p, first_event, p.at == start);
			if (r < 0)
				return r;
		}
	}
	if (p.n_heredocs > 0)
		return syntax_error(&p, p.heredocs[0], "this here-document does not end");
	if (p.depth > 0) {
		static const char *const missing[] = {
			[IN_IF] = "this \"if\" has no \"fi\"",
			[IN_LOOP] = "this loop has no \"done\"",
			[IN_CASE] = "this \"case\" has no \"esac\"",
			[IN_BRACES] = "this \"{\" has no \"}\"",
			[IN_PARENS] = "this \"(\" has no \")\"",
			[IN_FUNCTION] = "this function has no body",
		};
		const struct frame *top = &p.frames[p.depth - 1];

		return syntax_error(&p, top->offset, missing[top->construct]);
	}
	*ret = events;
	events = (struct shell_events){};
	return 0;
}
