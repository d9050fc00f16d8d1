/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Strings: comparison, growing buffers, vectors, strict parsing, escaping. */

#include "base/macro.h"

#include <stdarg.h>
#include <string.h>

static inline bool streq(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

/* Equal, where both may be NULL. */
static inline bool streq_ptr(const char *a, const char *b)
{
	return a && b ? streq(a, b) : a == b;
}

/* The rest of s behind prefix, or NULL. */
const char *str_skip_prefix(const char *s, const char *prefix) _pure_;

bool str_has_suffix(const char *s, const char *suffix) _pure_;

/* A copy of the first size bytes, NUL added; NULL when out of memory. */
char *str_dup_n(const char *s, size_t size) _must_check_;

/* asprintf() with our error convention: 0 or -ENOMEM. */
int str_printf(char **ret, const char *fmt, ...) _must_check_ _printf_(2, 3);
int str_vprintf(char **ret, const char *fmt, va_list ap) _must_check_ _printf_(2, 0);

/*
 * A growing byte buffer, always NUL-terminated once something was added. A failed allocation
 * sticks: later calls do nothing and strbuf_take() reports -ENOMEM, so callers check once.
 * Initialise with {}.
 */
struct strbuf {
	char *data;
	size_t len;
	size_t alloc;
	bool failed;
};

void strbuf_add(struct strbuf *buf, const void *data, size_t size);
void strbuf_adds(struct strbuf *buf, const char *s);
void strbuf_addc(struct strbuf *buf, char c);
void strbuf_addf(struct strbuf *buf, const char *fmt, ...) _printf_(2, 3);
/* Cuts it to its first len bytes, which it must have. */
void strbuf_truncate(struct strbuf *buf, size_t len);
/* Hands the bytes over (an empty string when nothing was added) and empties the buffer. */
int strbuf_take(struct strbuf *buf, char **ret, size_t *ret_size) _must_check_;
void strbuf_done(struct strbuf *buf);

/* A vector of owned strings, NULL-terminated once something was added; sticky like strbuf. */
struct strv {
	char **items;
	size_t n;
	size_t alloc;
	bool failed;
};

void strv_add(struct strv *v, const char *s);
void strv_add_n(struct strv *v, const char *s, size_t size);
void strv_addf(struct strv *v, const char *fmt, ...) _printf_(2, 3);
/* Adds s unless it is there; true if it was added. */
bool strv_add_unique(struct strv *v, const char *s);
bool strv_contains(const struct strv *v, const char *s) _pure_;
/* Takes the last one away; there must be one. */
void strv_pop(struct strv *v);
/* Byte order. */
void strv_sort(struct strv *v);
/* The same, each string once. */
void strv_sort_unique(struct strv *v);
/* Of a sorted vector: where it is, and whether. */
bool strv_find_sorted(const struct strv *v, const char *s, size_t *ret);
bool strv_contains_sorted(const struct strv *v, const char *s) _pure_;
/*
 * Of n things sorted by a string of each, in byte order: the first whose string is not less
 * than s, or n.
 */
size_t str_lower_bound(const char *s, size_t n,
		       const char *(*get)(const void *things, size_t i), const void *things);
/* Appends the words of s between runs of the bytes in separators. */
void strv_split(struct strv *v, const char *s, const char *separators);
/* 0, or -ENOMEM if an addition had failed. */
int strv_error(const struct strv *v) _must_check_;
void strv_done(struct strv *v);

/* Decimal digits only, no sign, no blanks: 0, -EINVAL or -ERANGE. */
int str_parse_u64(const char *s, uint64_t *ret) _must_check_;
int str_parse_uint(const char *s, unsigned *ret) _must_check_;
/* The words systemd knows (systemd.syntax(7), "Booleans"): 0 or -EINVAL. */
int str_parse_bool(const char *s, bool *ret) _must_check_;

/* Whether the bytes are UTF-8 (RFC 3629: no surrogates, nothing above U+10FFFF). */
bool str_is_utf8(const char *s, size_t size) _pure_;

/*
 * Text that is safe on a terminal and in JSON: control characters and bytes that are not UTF-8
 * become \xNN. A backslash stays as it is. NULL when out of memory.
 */
char *str_escape(const char *s, size_t size) _must_check_;

/* Shell-style match with *, ? and [...]; '/' is an ordinary byte. */
bool str_match_glob(const char *pattern, const char *s);

/* Edit distance with a cap, for "did you mean". */
unsigned str_distance(const char *a, const char *b) _pure_;
/*
 * Whether name is a better guess at word than the one before; start with *least = UINT_MAX. At
 * most a third of a name may be wrong.
 */
bool str_is_nearer(const char *word, const char *name, unsigned *least);

DEFINE_CLEANUP(struct strbuf *, strbuf_done);
DEFINE_CLEANUP(struct strv *, strv_done);

/* For values: _cleanup_strbuf_ struct strbuf buf = {}; */
#define _cleanup_strbuf_ _cleanup_(strbuf_done)
#define _cleanup_strv_	 _cleanup_(strv_done)
