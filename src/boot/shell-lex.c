/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot/shell-parser.h"

#include "base/diag.h"
#include "base/str.h"
#include "boot/shell-quote.h"

static const char *const construct_names[] = {
	[SHELL_IN_IF] = "inside \"if\"",
	[SHELL_IN_LOOP] = "inside a loop",
	[SHELL_IN_CASE] = "inside \"case\"",
	[SHELL_IN_BRACES] = "inside braces",
	[SHELL_IN_PARENS] = "inside parentheses, a shell of its own",
	[SHELL_IN_FUNCTION] = "inside a function",
};

int shell_syntax_error(struct shell_parser *p, size_t at, const char *text)
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

int shell_add_event(struct shell_parser *p, enum shell_event_kind kind, const char *name,
		    size_t name_size, size_t offset, const char *reason)
{
	struct shell_events *events = p->events;
	struct shell_event *event;

	if (!GROW(events->items, events->n, events->alloc))
		return -ENOMEM;
	event = &events->items[events->n++];
	*event = (struct shell_event){ .kind = kind, .offset = offset, .reason = reason };
	/* a function's body runs wherever it is called */
	for (size_t i = 0; i < p->depth; i++)
		event->lasting |= p->frames[i].construct == SHELL_IN_FUNCTION;
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

const char *shell_conditional(const struct shell_parser *p)
{
	for (size_t i = p->depth; i-- > 0;)
		if (p->frames[i].conditional)
			return construct_names[p->frames[i].construct];
	return p->chain;
}

void shell_doubt_events(struct shell_parser *p, size_t first, const char *reason)
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
int shell_find_hidden(struct shell_parser *p, size_t from, size_t to)
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
				r = shell_add_event(p, SHELL_MAYBE, p->s + i + 2, n, i,
						    "assigned by ${...=...}");
				if (r < 0)
					return r;
			}
		} else if (p->s[i + 1] == '(' && p->s[i + 2] == '(') {
			for (size_t k = i + 3; k < to; k += MAX(n, (size_t)1)) {
				n = shell_name_length(p->s + k, to - k);
				r = n ? shell_add_event(p, SHELL_MAYBE, p->s + k, n, i,
							"used in arithmetic")
				      : 0;
				if (r < 0)
					return r;
			}
		}
	}
	return 0;
}

int shell_read_word(struct shell_parser *p)
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
				return shell_syntax_error(
					p, p->at,
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

void shell_skip_blanks(struct shell_parser *p)
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

bool shell_word_is(const struct shell_parser *p, size_t from, const char *word)
{
	size_t n = strlen(word);

	return p->at - from == n && memcmp(p->s + from, word, n) == 0;
}

/* The delimiter of a here-document: quotes are removed to compare it. */
static bool line_is_delimiter(const struct shell_parser *p, size_t line, size_t end,
			      size_t word, size_t word_end)
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

int shell_skip_heredocs(struct shell_parser *p)
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
			return shell_syntax_error(p, p->heredocs[i],
						  "this here-document does not end");
	}
	p->n_heredocs = 0;
	return 0;
}

int shell_read_redirection(struct shell_parser *p)
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
		p->at = shell_skip_parens(p->s, p->size, p->at + 1);
	if (p->at > p->size)
		return shell_syntax_error(p, start, "these parentheses do not end");
	shell_skip_blanks(p);
	if (heredoc) {
		if (p->n_heredocs == SHELL_MAX_HEREDOCS)
			return shell_syntax_error(p, start,
						  "too many here-documents on a line");
		p->heredocs[p->n_heredocs] = p->at;
		p->heredoc_tabs[p->n_heredocs] = tabs;
	}
	start = p->at;
	r = shell_read_word(p);
	if (heredoc)
		p->heredoc_ends[p->n_heredocs++] = p->at;
	if (r >= 0)
		r = shell_find_hidden(p, start, p->at);
	return r < 0 ? r : 1;
}
