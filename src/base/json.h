/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * JSON values, built or parsed; the only user of json-c, which is opened on demand. Building is
 * sticky: when an allocation fails, printing reports -ENOMEM instead of a value that lost a
 * member, and -ELIBACC where the library is not there.
 * Strings are escaped by str_escape(), so output is always UTF-8 without control characters.
 */

#include "base/macro.h"

struct json; /* a json-c object; NULL is JSON null */

/* 0, or -ELIBACC: for those who would do something else first, and then could not say so. */
int json_open(void) _must_check_;

struct json *json_new_object(void) _must_check_;
struct json *json_new_array(void) _must_check_;

/* Each adds a member to an object. A NULL string adds null. */
void json_add_string(struct json *object, const char *key, const char *value);
void json_add_string_n(struct json *object, const char *key, const char *value, size_t size);
/* Text of several lines: line feeds and tabs stay, the rest is escaped. */
void json_add_text(struct json *object, const char *key, const char *value, size_t size);
void json_add_int(struct json *object, const char *key, int64_t value);
void json_add_u64(struct json *object, const char *key, uint64_t value);
void json_add_double(struct json *object, const char *key, double value);
void json_add_bool(struct json *object, const char *key, bool value);
void json_add_null(struct json *object, const char *key);
/* Takes value over; NULL is what json_new_object() returns when out of memory, not null. */
void json_add(struct json *object, const char *key, struct json *value);
/*
 * Adds a value that is JSON text already: for long tables, where an object per number would
 * cost a hundred times its size. text is taken over; NULL is out of memory.
 */
void json_add_text_take(struct json *object, const char *key, char *text);
/* Each appends to an array. */
void json_append_string(struct json *array, const char *value);
void json_append_u64(struct json *array, uint64_t value);
/* Takes value over. */
void json_append(struct json *array, struct json *value);

/* NUL-terminated text without a trailing newline: 0, -ENOMEM or -ELIBACC. */
int json_print(const struct json *value, bool pretty, char **ret) _must_check_;

/* Parses exactly one value, depth at most 32: 0, -EINVAL with *ret_offset (also
 * when json-c ran out of memory, which it does not tell apart), -ENOMEM or -ELIBACC. */
int json_parse(const char *text, size_t size, struct json **ret,
	       size_t *ret_offset) _must_check_;

/*
 * Looks scalars up without building a tree, for thousands of files: one span for each of the
 * pointers with the value's text as written in the file (a string without its quotes), text
 * NULL where there is no value. 0, or -EAGAIN when json_parse() has to judge: malformed text,
 * an escape sequence or an array on the way, or a value that is no scalar.
 */
enum { JSON_FIND_MAX = 8 };
struct json_span {
	const char *text; /* in the file's text, not terminated */
	size_t size;
	bool is_string;
};
int json_find(const char *text, size_t size, const char *const *pointers, size_t n,
	      struct json_span *ret) _must_check_;

/* Borrowed member, or NULL when there is none or the value is no object. */
struct json *json_get(const struct json *object, const char *key);
bool json_has(const struct json *object, const char *key);
/* Borrowed value at a JSON pointer (RFC 6901), "" is the value itself: 0 or -ENOENT. */
int json_pointer(const struct json *value, const char *pointer, struct json **ret) _must_check_;

/* Members and items, all borrowed. */
size_t json_length(const struct json *value);
struct json *json_at(const struct json *array, size_t index);

bool json_is_object(const struct json *value);
bool json_is_array(const struct json *value);
bool json_is_string(const struct json *value);
/* The string, or NULL when the value is none. */
const char *json_as_string(const struct json *value);
/* -EINVAL when the value is not a number (bool). */
int json_as_number(const struct json *value, double *ret) _must_check_;
int json_as_u64(const struct json *value, uint64_t *ret) _must_check_;
int json_as_bool(const struct json *value, bool *ret) _must_check_;

struct json *json_free(struct json *value);
DEFINE_CLEANUP(struct json *, json_free);
#define _cleanup_json_ _cleanup_(json_freep)
