/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ui/output.h"

#include "base/diag.h"
#include "base/json.h"
#include "base/str.h"
#include "ui/cli.h"
#include "ui/term.h"

/* Tabs are safe, and half of what configuration files are made of. */
static void print_keeping_tabs(const char *s, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		size_t n = i;
		_cleanup_free_ char *safe = NULL;

		while (n < size && s[n] != '\t')
			n++;
		safe = str_escape(s + i, n - i);
		fputs(safe ? safe : "", stdout);
		if (n < size)
			putchar('\t');
		i = n;
	}
}

void output_diff(const struct term *term, const char *diff, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		const char *lf = memchr(diff + i, '\n', size - i);
		size_t n = (lf ? (size_t)(lf - diff) : size) - i;
		enum term_style style = diff[i] == '+'	 ? TERM_GOOD
					: diff[i] == '-' ? TERM_BAD
					: diff[i] == '@' ? TERM_DIM
							 : TERM_PLAIN;

		fputs(term_begin(term, style), stdout);
		print_keeping_tabs(diff + i, n);
		fputs(term_end(term), stdout);
		putchar('\n');
		i += n;
	}
}

int output_json(const struct args *args, const struct json *value)
{
	_cleanup_free_ char *text = NULL;
	int r = json_print(value, args->json == JSON_PRETTY, &text);

	if (r < 0)
		return r;
	return puts(text) < 0 ? -EIO : 0;
}

static void add_number(struct json *object, const char *key, unsigned value)
{
	if (value > 0)
		json_add_u64(object, key, value);
	else
		json_add_null(object, key);
}

struct json *output_warnings(const struct diag *diag)
{
	struct json *array = json_new_array();

	for (size_t i = 0; i < diag->n; i++) {
		const struct diag_message *m = &diag->messages[i];
		struct json *one;

		if (m->level != DIAG_WARNING)
			continue;
		one = json_new_object();
		json_add_string(one, "text", m->text);
		json_add_string(one, "path", m->path);
		add_number(one, "line", m->line);
		json_append(array, one);
	}
	return array;
}

void output_error(const struct args *args, const struct term *term, const struct diag *diag,
		  const char *fallback)
{
	const struct diag_message none = { .text = (char *)(uintptr_t)fallback }, *m = NULL;
	_cleanup_json_ struct json *top = NULL;
	struct json *error;

	for (size_t i = 0; i < diag->n && !m; i++)
		if (diag->messages[i].level == DIAG_ERROR)
			m = &diag->messages[i];
	term_print_diag(term, stderr, diag);
	if (!m) {
		m = &none;
		fprintf(stderr, "memcg-policy: %s\n", fallback);
	}
	if (args->json == JSON_OFF)
		return;
	top = json_new_object();
	error = json_new_object();
	json_add_int(top, "schema", 1);
	json_add_string(error, "text", m->text);
	json_add_string(error, "path", m->path);
	add_number(error, "line", m->line);
	add_number(error, "column", m->column);
	json_add_string(error, "hint", m->hint);
	json_add(top, "error", error);
	IGNORE(output_json(args, top)); /* the error itself was printed above */
}
