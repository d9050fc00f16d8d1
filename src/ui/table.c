/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ui/table.h"

#include "base/str.h"
#include "ui/cli.h"

#include <libsmartcols.h>

struct table {
	struct libscols_table *scols;
	struct libscols_line *last;
};

int table_new(const struct args *args, const struct table_column *columns, struct table **ret)
{
	_cleanup_table_ struct table *table = calloc(1, sizeof(*table));
	int r;

	if (!table)
		return -ENOMEM;
	table->scols = scols_new_table();
	if (!table->scols)
		return -ENOMEM;
	r = scols_table_enable_noheadings(table->scols, args->no_legend);
	/* cells come escaped; smartcols would escape the backslashes of "dev-\\x2d.mount" again */
	if (r >= 0)
		r = scols_table_enable_noencoding(table->scols, 1);
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
	scols_unref_table(table->scols);
	free(table);
	return NULL;
}

int table_add_column(struct table *table, const char *name, unsigned flags)
{
	int scols_flags = (flags & TABLE_RIGHT ? SCOLS_FL_RIGHT : 0) |
			  (flags & TABLE_TRUNCATE ? SCOLS_FL_TRUNC : 0) |
			  (flags & TABLE_WRAP ? SCOLS_FL_WRAP : 0);

	return scols_table_new_column(table->scols, name, 0, scols_flags) ? 0 : -ENOMEM;
}

int table_add_row(struct table *table, size_t n, const char *const *cells)
{
	table->last = scols_table_new_line(table->scols, NULL);
	if (!table->last)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		_cleanup_free_ char *safe = NULL;
		int r;

		if (!cells[i])
			continue;
		safe = str_escape(cells[i], strlen(cells[i]));
		if (!safe)
			return -ENOMEM;
		r = scols_line_refer_data(table->last, i, TAKE_PTR(safe));
		if (r < 0)
			return r;
	}
	return 0;
}

int table_set_style(struct table *table, const struct term *term, size_t column,
		    enum term_style style)
{
	struct libscols_cell *cell = scols_line_get_cell(table->last, column);

	if (!term->color_out || style == TERM_PLAIN)
		return 0;
	(void)scols_table_enable_colors(table->scols, 1); /* only fails without a table */
	return scols_cell_set_color(cell, term_begin(term, style));
}

size_t table_n_rows(const struct table *table)
{
	return scols_table_get_nlines(table->scols);
}

int table_print(struct table *table, FILE *f)
{
	int r;

	if (table_n_rows(table) == 0)
		return 0;
	r = scols_table_set_stream(table->scols, f);
	if (r < 0)
		return r;
	return scols_print_table(table->scols);
}
