/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Tables for people; programs read JSON instead. On terminals by libsmartcols, whose only user
 * this is; for a file or a pipe, where nothing is fitted to a width, and where it is not
 * there, without it, since it takes
 * more time for a hundred rows than their units (measured: 60,000 instructions a row).
 */

#include "base/macro.h"
#include "ui/term.h"

struct table;

enum table_column_flags {
	TABLE_RIGHT = 1 << 0,	 /* numbers */
	TABLE_TRUNCATE = 1 << 1, /* may be cut to fit the terminal */
	TABLE_WRAP = 1 << 2,	 /* may be wrapped to fit the terminal */
};

struct table_column {
	const char *name; /* NULL ends a list */
	unsigned flags;
};

/* columns are copied. */
int table_new(const struct args *args, const struct table_column *columns,
	      struct table **ret) _must_check_;
struct table *table_free(struct table *table);
DEFINE_CLEANUP(struct table *, table_free);
#define _cleanup_table_ _cleanup_(table_freep)

/* One more, for tables whose columns are known late. */
int table_add_column(struct table *table, const char *name, unsigned flags) _must_check_;
/* n cells, one per column; NULL is an empty cell. */
int table_add_row(struct table *table, size_t n, const char *const *cells) _must_check_;
/* Colours one cell of the last row. */
int table_set_style(struct table *table, const struct term *term, size_t column,
		    enum term_style style) _must_check_;
/* Nothing is printed for a table without rows. */
int table_print(struct table *table, FILE *f) _must_check_;
