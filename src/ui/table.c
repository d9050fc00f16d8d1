/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ui/table.h"

#include "base/dlopen.h"
#include "base/str.h"
#include "ui/cli.h"

#if HAVE_LIBSMARTCOLS
#include <libsmartcols.h>

#define SYMBOLS(_)                       \
	_(scols_new_table)               \
	_(scols_unref_table)             \
	_(scols_table_enable_noheadings) \
	_(scols_table_enable_noencoding) \
	_(scols_table_enable_colors)     \
	_(scols_table_set_termforce)     \
	_(scols_table_new_column)        \
	_(scols_table_new_line)          \
	_(scols_line_set_data)           \
	_(scols_line_get_cell)           \
	_(scols_cell_set_color)          \
	_(scols_table_set_stream)        \
	_(scols_print_table)
DLOPEN_LIBRARY(smartcols, "suggested", "libsmartcols.so.1", "tables",
	       "tables that fit the terminal", SYMBOLS);
#endif

struct cell {
	char *text;	   /* safe for terminals; NULL is empty */
	const char *style; /* the sequence that starts it, or NULL */
};

struct table {
	struct strv names;
	unsigned *flags;
	struct cell *cells; /* row by row, names.n each */
	size_t n_rows;
	size_t alloc;
	bool no_headings;
	bool paged; /* a pager shows it on a terminal */
	const char *style_end;
};

int table_new(const struct args *args, const struct table_column *columns, struct table **ret)
{
	_cleanup_table_ struct table *table = calloc(1, sizeof(*table));
	int r = 0;

	if (!table)
		return -ENOMEM;
	table->no_headings = args->no_legend;
	table->paged = args->paged;
	for (; r >= 0 && columns->name; columns++)
		r = table_add_column(table, columns->name, columns->flags);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(table);
	return 0;
}

struct table *table_free(struct table *table)
{
	if (!table)
		return NULL;
	for (size_t i = 0; i < table->n_rows * table->names.n; i++)
		free(table->cells[i].text);
	free(table->cells);
	free(table->flags);
	strv_done(&table->names);
	free(table);
	return NULL;
}

int table_add_column(struct table *table, const char *name, unsigned flags)
{
	unsigned *all = reallocarray(table->flags, table->names.n + 1, sizeof(*all));

	if (!all)
		return -ENOMEM;
	table->flags = all;
	all[table->names.n] = flags;
	strv_add(&table->names, name);
	return strv_error(&table->names);
}

int table_add_row(struct table *table, size_t n, const char *const *cells)
{
	size_t columns = table->names.n;
	struct cell *row;

	if (table->n_rows == table->alloc) {
		size_t alloc = table->alloc ? table->alloc * 2 : 16;
		struct cell *more =
			reallocarray(table->cells, alloc * columns, sizeof(*table->cells));

		if (!more)
			return -ENOMEM;
		table->cells = more;
		table->alloc = alloc;
	}
	row = table->cells + table->n_rows++ * columns;
	memset(row, 0, columns * sizeof(*row));
	for (size_t i = 0; i < n; i++) {
		if (!cells[i])
			continue;
		row[i].text = str_escape(cells[i], strlen(cells[i]));
		if (!row[i].text)
			return -ENOMEM;
	}
	return 0;
}

int table_set_style(struct table *table, const struct term *term, size_t column,
		    enum term_style style)
{
	if (term->color_out && style != TERM_PLAIN) {
		table->cells[(table->n_rows - 1) * table->names.n + column].style =
			term_begin(term, style);
		table->style_end = term_end(term);
	}
	return 0;
}

/* --- for files and pipes: nothing is cut, wrapped or measured against a width --- */

/* In characters, also of UTF-8. */
static size_t width_of(const char *s)
{
	size_t n = 0;

	for (; *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

static void print_cell(const struct table *table, size_t column, size_t width, const char *text,
		       const char *style, FILE *f)
{
	bool last = column + 1 == table->names.n, right = table->flags[column] & TABLE_RIGHT;
	size_t used = width_of(text);
	int pad = width > used && (right || !last) ? (int)(width - used) : 0;

	if (right && pad > 0)
		fprintf(f, "%*s", pad, "");
	if (style)
		fputs(style, f);
	fputs(text, f);
	if (style)
		fputs(table->style_end, f);
	if (!right && pad > 0)
		fprintf(f, "%*s", pad, "");
	putc(last ? '\n' : ' ', f);
}

static int print_plain(const struct table *table, FILE *f)
{
	size_t columns = table->names.n;
	_cleanup_free_ size_t *widths = calloc(columns, sizeof(*widths));

	if (!widths)
		return -ENOMEM;
	for (size_t i = 0; i < columns; i++)
		widths[i] = table->no_headings ? 0 : width_of(table->names.items[i]);
	for (size_t i = 0; i < table->n_rows * columns; i++)
		if (table->cells[i].text)
			widths[i % columns] =
				MAX(widths[i % columns], width_of(table->cells[i].text));
	for (size_t i = 0; i < columns && !table->no_headings; i++)
		print_cell(table, i, widths[i], table->names.items[i], NULL, f);
	for (size_t i = 0; i < table->n_rows * columns; i++) {
		const struct cell *cell = &table->cells[i];

		print_cell(table, i % columns, widths[i % columns],
			   cell->text ? cell->text : "", cell->style, f);
	}
	return 0;
}

/* --- for terminals --- */

#if HAVE_LIBSMARTCOLS

static int fill(const struct table *table, const struct smartcols *lib,
		struct libscols_table *scols)
{
	size_t columns = table->names.n;
	int r = lib->scols_table_enable_noheadings(scols, table->no_headings);

	/* cells are safe already; the backslash of "dev-\x2d.mount" must stay what it is */
	if (r >= 0)
		r = lib->scols_table_enable_noencoding(scols, 1);
	if (r >= 0)
		r = lib->scols_table_enable_colors(scols, table->style_end != NULL);
	if (r >= 0 && table->paged)
		r = lib->scols_table_set_termforce(scols, SCOLS_TERMFORCE_ALWAYS);
	for (size_t i = 0; r >= 0 && i < columns; i++) {
		unsigned flags = table->flags[i];

		if (!lib->scols_table_new_column(
			    scols, table->names.items[i], 0,
			    (flags & TABLE_RIGHT ? SCOLS_FL_RIGHT : 0) |
				    (flags & TABLE_TRUNCATE ? SCOLS_FL_TRUNC : 0) |
				    (flags & TABLE_WRAP ? SCOLS_FL_WRAP : 0)))
			r = -ENOMEM;
	}
	for (size_t i = 0; r >= 0 && i < table->n_rows; i++) {
		struct libscols_line *line = lib->scols_table_new_line(scols, NULL);
		const struct cell *row = table->cells + i * columns;

		if (!line)
			return -ENOMEM;
		for (size_t k = 0; r >= 0 && k < columns; k++) {
			if (row[k].text)
				r = lib->scols_line_set_data(line, k, row[k].text);
			if (r >= 0 && row[k].style)
				r = lib->scols_cell_set_color(lib->scols_line_get_cell(line, k),
							      row[k].style);
		}
	}
	return r;
}

static int print_terminal(const struct table *table, FILE *f)
{
	struct smartcols lib;
	struct libscols_table *scols;
	int r = smartcols_open(&lib);

	if (r < 0)
		return r;
	scols = lib.scols_new_table();
	r = scols ? fill(table, &lib, scols) : -ENOMEM;
	if (r >= 0)
		r = lib.scols_table_set_stream(scols, f);
	if (r >= 0)
		r = lib.scols_print_table(scols);
	lib.scols_unref_table(scols);
	return r;
}

#else
static int print_terminal(const struct table *table _unused_, FILE *f _unused_)
{
	return -EOPNOTSUPP;
}
#endif

int table_print(struct table *table, FILE *f)
{
	if (table->n_rows == 0)
		return 0;
	if (table->paged || isatty(fileno(f))) {
		int r = print_terminal(table, f);

		if (r != -EOPNOTSUPP)
			return r;
	}
	return print_plain(table, f);
}
