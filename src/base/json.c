/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/json.h"

#include "base/dlopen.h"
#include "base/str.h"

#include <json-c/json.h>
#include <limits.h>
#include <math.h>

enum { MAX_DEPTH = 32 };

#define SYMBOLS(_)                        \
	_(json_object_new_object)         \
	_(json_object_new_array)          \
	_(json_object_new_string)         \
	_(json_object_new_int64)          \
	_(json_object_new_uint64)         \
	_(json_object_new_double)         \
	_(json_object_new_boolean)        \
	_(json_object_object_add)         \
	_(json_object_array_add)          \
	_(json_object_put)                \
	_(json_object_set_serializer)     \
	_(json_object_get_userdata)       \
	_(printbuf_memappend)             \
	_(json_object_to_json_string_ext) \
	_(json_tokener_new_ex)            \
	_(json_tokener_free)              \
	_(json_tokener_parse_ex)          \
	_(json_tokener_get_parse_end)     \
	_(json_tokener_get_error)         \
	_(json_object_is_type)            \
	_(json_object_object_get_ex)      \
	_(json_object_object_length)      \
	_(json_object_array_length)       \
	_(json_object_array_get_idx)      \
	_(json_object_get_string)         \
	_(json_object_get_double)         \
	_(json_object_get_int64)          \
	_(json_object_get_uint64)         \
	_(json_object_get_boolean)
DLOPEN_LIBRARY(jsonc, "required", "libjson-c.so.5", "json", "--json, undo records, JSON files",
	       SYMBOLS);

/*
 * The library's functions, opened by the first call that needs one: most runs need none, and
 * would load it at their start. Kept here, because every value needs them; set once, and the
 * same whoever sets it. Where they cannot be had there is no value but NULL.
 */
static struct jsonc jsonc;

static bool have_library(void)
{
	struct jsonc opened;

	if (!jsonc.json_object_put && jsonc_open(&opened) >= 0)
		jsonc = opened;
	return jsonc.json_object_put;
}

int json_open(void)
{
	return have_library() ? 0 : -ELIBACC;
}

/* struct json is json-c's object under our name, so that no other file includes its header */
static json_object *unwrap(const struct json *value)
{
	return (json_object *)(uintptr_t)value;
}

static struct json *wrap(json_object *object)
{
	return (struct json *)object;
}

static bool is_type(const json_object *object, enum json_type type)
{
	return object && jsonc.json_object_is_type(object, type);
}

/* A container that lost a member must not be printed as if it were whole. */
static int refuse_to_print(json_object *object _unused_, struct printbuf *buf _unused_,
			   int level _unused_, int flags _unused_)
{
	return -1;
}

static void mark_failed(json_object *container)
{
	jsonc.json_object_set_serializer(container, refuse_to_print, NULL, NULL);
}

struct json *json_new_object(void)
{
	return have_library() ? wrap(jsonc.json_object_new_object()) : NULL;
}

struct json *json_new_array(void)
{
	return have_library() ? wrap(jsonc.json_object_new_array()) : NULL;
}

static void add(struct json *object, const char *key, json_object *value, bool ok)
{
	if (!object) {
		json_free(wrap(value));
		return;
	}
	if (!ok || jsonc.json_object_object_add(unwrap(object), key, value) < 0) {
		json_free(wrap(value));
		mark_failed(unwrap(object));
	}
}

static void append(struct json *array, json_object *value, bool ok)
{
	if (!array) {
		json_free(wrap(value));
		return;
	}
	if (!ok || jsonc.json_object_array_add(unwrap(array), value) < 0) {
		json_free(wrap(value));
		mark_failed(unwrap(array));
	}
}

static json_object *new_string(const char *value, size_t size)
{
	_cleanup_free_ char *safe = str_escape(value, size);

	return safe ? jsonc.json_object_new_string(safe) : NULL;
}

void json_add_string_n(struct json *object, const char *key, const char *value, size_t size)
{
	json_object *string = object && value ? new_string(value, size) : NULL;

	add(object, key, string, !value || string);
}

void json_add_text(struct json *object, const char *key, const char *value, size_t size)
{
	_cleanup_strbuf_ struct strbuf buf = {};
	json_object *string = NULL;

	if (!object || !value) {
		add(object, key, NULL, false);
		return;
	}
	for (size_t i = 0; i < size;) {
		size_t n = i;
		_cleanup_free_ char *safe = NULL;

		while (n < size && value[n] != '\n' && value[n] != '\t')
			n++;
		safe = str_escape(value + i, n - i);
		if (!safe)
			buf.failed = true;
		else
			strbuf_adds(&buf, safe);
		if (n < size)
			strbuf_addc(&buf, value[n++]);
		i = n;
	}
	strbuf_adds(&buf, "");
	if (!buf.failed)
		string = jsonc.json_object_new_string(buf.data);
	add(object, key, string, string);
}

void json_add_string(struct json *object, const char *key, const char *value)
{
	json_add_string_n(object, key, value, value ? strlen(value) : 0);
}

void json_add_int(struct json *object, const char *key, int64_t value)
{
	json_object *number = object ? jsonc.json_object_new_int64(value) : NULL;

	add(object, key, number, number);
}

void json_add_u64(struct json *object, const char *key, uint64_t value)
{
	json_object *number = object ? jsonc.json_object_new_uint64(value) : NULL;

	add(object, key, number, number);
}

void json_add_double(struct json *object, const char *key, double value)
{
	json_object *number =
		object && isfinite(value) ? jsonc.json_object_new_double(value) : NULL;

	/* JSON has no infinity */
	add(object, key, number, number || !isfinite(value));
}

void json_add_bool(struct json *object, const char *key, bool value)
{
	json_object *boolean = object ? jsonc.json_object_new_boolean(value) : NULL;

	add(object, key, boolean, boolean);
}

void json_add_null(struct json *object, const char *key)
{
	add(object, key, NULL, true);
}

void json_add(struct json *object, const char *key, struct json *value)
{
	add(object, key, unwrap(value), value);
}

static int print_text(json_object *object, struct printbuf *buf, int level _unused_,
		      int flags _unused_)
{
	const char *text = jsonc.json_object_get_userdata(object);

	return jsonc.printbuf_memappend(buf, text, (int)strlen(text));
}

static void free_text(json_object *object _unused_, void *text)
{
	free(text);
}

void json_add_text_take(struct json *object, const char *key, char *text)
{
	json_object *value = object && text && strlen(text) < INT_MAX
				     ? jsonc.json_object_new_object()
				     : NULL;

	if (value)
		jsonc.json_object_set_serializer(value, print_text, text, free_text);
	else
		free(text);
	add(object, key, value, value);
}

void json_append_string(struct json *array, const char *value)
{
	json_object *string = array ? new_string(value, strlen(value)) : NULL;

	append(array, string, string);
}

void json_append_u64(struct json *array, uint64_t value)
{
	json_object *number = array ? jsonc.json_object_new_uint64(value) : NULL;

	append(array, number, number);
}

void json_append(struct json *array, struct json *value)
{
	append(array, unwrap(value), value);
}

int json_print(const struct json *value, bool pretty, char **ret)
{
	int flags = JSON_C_TO_STRING_NOSLASHESCAPE;
	const char *text;

	if (!value)
		return have_library() ? -ENOMEM : -ELIBACC;
	if (pretty)
		flags |= JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED;
	text = jsonc.json_object_to_json_string_ext(unwrap(value), flags);
	if (!text)
		return -ENOMEM;
	*ret = strdup(text);
	return *ret ? 0 : -ENOMEM;
}

static void tokener_freep(json_tokener **tokener)
{
	if (*tokener)
		jsonc.json_tokener_free(*tokener);
}

int json_parse(const char *text, size_t size, struct json **ret, size_t *ret_offset)
{
	_cleanup_(tokener_freep) json_tokener *tokener = NULL;
	json_object *value;
	size_t end;

	if (!have_library())
		return -ELIBACC;
	tokener = jsonc.json_tokener_new_ex(MAX_DEPTH);
	if (!tokener)
		return -ENOMEM;
	if (size >= INT_MAX)
		return -EINVAL;
	/* the terminating NUL makes a number at the end complete */
	value = jsonc.json_tokener_parse_ex(tokener, text, (int)size + 1);
	end = MIN(jsonc.json_tokener_get_parse_end(tokener), size); /* it may count the NUL */
	if (jsonc.json_tokener_get_error(tokener) != json_tokener_success ||
	    end + strspn(text + end, " \t\r\n") != size) {
		json_free(wrap(value));
		if (ret_offset)
			*ret_offset = end;
		return -EINVAL;
	}
	*ret = wrap(value);
	return 0;
}

struct json *json_get(const struct json *object, const char *key)
{
	json_object *value;

	if (!is_type(unwrap(object), json_type_object) ||
	    !jsonc.json_object_object_get_ex(unwrap(object), key, &value))
		return NULL;
	return wrap(value);
}

bool json_has(const struct json *object, const char *key)
{
	return is_type(unwrap(object), json_type_object) &&
	       jsonc.json_object_object_get_ex(unwrap(object), key, NULL);
}

int json_pointer(const struct json *value, const char *pointer, struct json **ret)
{
	json_object *at = unwrap(value);

	while (*pointer) {
		_cleanup_strbuf_ struct strbuf token = {};
		_cleanup_free_ char *key = NULL;
		uint64_t index;

		if (*pointer++ != '/')
			return -EINVAL;
		for (; *pointer && *pointer != '/'; pointer++) {
			if (*pointer == '~' && (pointer[1] == '0' || pointer[1] == '1'))
				strbuf_addc(&token, *++pointer == '0' ? '~' : '/');
			else
				strbuf_addc(&token, *pointer);
		}
		if (strbuf_take(&token, &key, NULL) < 0)
			return -ENOMEM;
		if (is_type(at, json_type_object)) {
			if (!jsonc.json_object_object_get_ex(at, key, &at))
				return -ENOENT;
		} else if (is_type(at, json_type_array)) {
			if (str_parse_u64(key, &index) < 0 ||
			    index >= jsonc.json_object_array_length(at))
				return -ENOENT;
			at = jsonc.json_object_array_get_idx(at, index);
		} else
			return -ENOENT;
	}
	*ret = wrap(at);
	return 0;
}

size_t json_length(const struct json *value)
{
	if (is_type(unwrap(value), json_type_array))
		return jsonc.json_object_array_length(unwrap(value));
	if (is_type(unwrap(value), json_type_object))
		return (size_t)jsonc.json_object_object_length(unwrap(value));
	return 0;
}

struct json *json_at(const struct json *array, size_t index)
{
	if (!json_is_array(array))
		return NULL;
	return wrap(jsonc.json_object_array_get_idx(unwrap(array), index));
}

bool json_is_object(const struct json *value)
{
	return is_type(unwrap(value), json_type_object);
}

bool json_is_array(const struct json *value)
{
	return is_type(unwrap(value), json_type_array);
}

bool json_is_string(const struct json *value)
{
	return is_type(unwrap(value), json_type_string);
}

const char *json_as_string(const struct json *value)
{
	return json_is_string(value) ? jsonc.json_object_get_string(unwrap(value)) : NULL;
}

int json_as_number(const struct json *value, double *ret)
{
	if (!is_type(unwrap(value), json_type_int) && !is_type(unwrap(value), json_type_double))
		return -EINVAL;
	*ret = jsonc.json_object_get_double(unwrap(value));
	return 0;
}

int json_as_u64(const struct json *value, uint64_t *ret)
{
	if (!is_type(unwrap(value), json_type_int) ||
	    jsonc.json_object_get_int64(unwrap(value)) < 0)
		return -EINVAL;
	*ret = jsonc.json_object_get_uint64(unwrap(value));
	return 0;
}

int json_as_bool(const struct json *value, bool *ret)
{
	if (!is_type(unwrap(value), json_type_boolean))
		return -EINVAL;
	*ret = jsonc.json_object_get_boolean(unwrap(value));
	return 0;
}

struct json *json_free(struct json *value)
{
	if (value)
		jsonc.json_object_put(unwrap(value));
	return NULL;
}
