/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/diag.h"

#include "base/str.h"

#include <stdio.h>

static void message_done(struct diag_message *m)
{
	free(m->text);
	free(m->path);
	free(m->source);
	free(m->hint);
}

static bool copy(const char *s, char **ret)
{
	if (s) {
		*ret = strdup(s);
		return *ret != NULL;
	}
	*ret = NULL;
	return true;
}

/* A place for one more message, or NULL. */
static struct diag_message *reserve(struct diag *diag)
{
	if (!GROW(diag->messages, diag->n, diag->alloc))
		return NULL;
	return &diag->messages[diag->n];
}

void diag_addv(struct diag *diag, enum diag_level level, const struct diag_where *where,
	       const char *fmt, va_list ap)
{
	static const struct diag_where nowhere;
	struct diag_message *slot, m = { .level = level };

	if (!where)
		where = &nowhere;
	if (str_vprintf(&m.text, fmt, ap) < 0) {
		diag->failed = true;
		return;
	}
	m.line = where->line;
	m.column = where->column;
	m.width = where->width;
	slot = reserve(diag);
	if (where->source && where->source_size > 0)
		m.source = str_dup_n(where->source, where->source_size);
	else
		(void)copy(where->source, &m.source); /* checked below */
	if (!slot || !copy(where->path, &m.path) || !copy(where->hint, &m.hint) ||
	    (where->source && !m.source)) {
		diag->failed = true;
		message_done(&m);
		return;
	}
	*slot = m;
	diag->n++;
}

void diag_add(struct diag *diag, enum diag_level level, const struct diag_where *where,
	      const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	diag_addv(diag, level, where, fmt, ap);
	va_end(ap);
}

size_t diag_count(const struct diag *diag, enum diag_level level)
{
	size_t count = 0;

	for (size_t i = 0; i < diag->n; i++)
		if (diag->messages[i].level == level)
			count++;
	return count;
}

static int compare_messages(const void *a, const void *b)
{
	const struct diag_message *x = a, *y = b;
	int r = strcmp(x->path ? x->path : "", y->path ? y->path : "");

	if (r == 0)
		r = (x->line > y->line) - (x->line < y->line);
	if (r == 0)
		r = (x->column > y->column) - (x->column < y->column);
	return r ? r : strcmp(x->text, y->text);
}

void diag_sort(struct diag *diag, size_t first)
{
	size_t n = first;

	if (diag->n > first)
		qsort(diag->messages + first, diag->n - first, sizeof(*diag->messages),
		      compare_messages);
	for (size_t i = first; i < diag->n; i++) {
		if (n > first &&
		    compare_messages(&diag->messages[i], &diag->messages[n - 1]) == 0)
			message_done(&diag->messages[i]);
		else
			diag->messages[n++] = diag->messages[i];
	}
	diag->n = n;
}

void diag_move(struct diag *to, struct diag *from)
{
	for (size_t i = 0; i < from->n; i++) {
		struct diag_message *slot = reserve(to);

		if (!slot) {
			to->failed = true;
			message_done(&from->messages[i]);
			continue;
		}
		*slot = from->messages[i];
		to->n++;
	}
	to->failed = to->failed || from->failed;
	from->n = 0;
	diag_done(from);
}

void diag_done(struct diag *diag)
{
	for (size_t i = 0; i < diag->n; i++)
		message_done(&diag->messages[i]);
	free(diag->messages);
	*diag = (struct diag){};
}
