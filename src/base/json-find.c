/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/json.h"

#include "base/str.h"

/* RFC 8259, and control characters in strings as json-c has it; the rest is left to
 * json_parse(). */

enum { MAX_DEPTH = 32 };

struct scan {
	const char *p;
	const char *end;
	struct json_span *found; /* one for each of n pointers */
	size_t n;
};

static void skip_blanks(struct scan *s)
{
	while (s->p < s->end &&
	       (*s->p == ' ' || *s->p == '\t' || *s->p == '\n' || *s->p == '\r'))
		s->p++;
}

/* The text between quotes; false at an escape sequence, too, when plain. */
static bool scan_string(struct scan *s, bool plain, struct json_span *ret)
{
	const char *start = s->p + 1, *p = start, *quote, *escape;

	for (;;) {
		quote = memchr(p, '"', (size_t)(s->end - p));
		if (!quote)
			return false;
		escape = memchr(p, '\\', (size_t)(quote - p));
		if (!escape)
			break;
		/* \u has rules of its own */
		if (plain || escape + 2 > s->end || !memchr("\"\\/bfnrt", escape[1], 8))
			return false;
		p = escape + 2;
	}
	*ret = (struct json_span){ start, (size_t)(quote - start), true };
	s->p = quote + 1;
	return true;
}

static bool scan_digits(struct scan *s)
{
	const char *start = s->p;

	while (s->p < s->end && *s->p >= '0' && *s->p <= '9')
		s->p++;
	return s->p > start;
}

static bool scan_number(struct scan *s)
{
	const char *start;

	if (*s->p == '-')
		s->p++;
	start = s->p;
	if (!scan_digits(s) || (*start == '0' && s->p > start + 1))
		return false;
	if (s->p < s->end && *s->p == '.') {
		s->p++;
		if (!scan_digits(s))
			return false;
	}
	if (s->p < s->end && (*s->p == 'e' || *s->p == 'E')) {
		s->p++;
		if (s->p < s->end && (*s->p == '+' || *s->p == '-'))
			s->p++;
		if (!scan_digits(s))
			return false;
	}
	return true;
}

static bool scan_word(struct scan *s, const char *word)
{
	size_t n = strlen(word);

	if ((size_t)(s->end - s->p) < n || memcmp(s->p, word, n) != 0)
		return false;
	s->p += n;
	return true;
}

static bool scan_value(struct scan *s, const char *const *pointers, unsigned depth);

/* The rest of pointer when its first token is key, else NULL. */
static const char *enter(const char *pointer, const struct json_span *key)
{
	size_t n;

	/* strchr() finds the NUL at the end, too */
	if (!pointer || *pointer != '/' || (key->size > 0 && pointer[1] != *key->text))
		return NULL;
	n = key->size;
	if (strnlen(pointer + 1, n) != n || memcmp(pointer + 1, key->text, n) != 0 ||
	    !strchr("/", pointer[1 + n]))
		return NULL;
	return pointer + 1 + n;
}

static bool scan_object(struct scan *s, const char *const *pointers, unsigned depth)
{
	s->p++;
	skip_blanks(s);
	if (s->p < s->end && *s->p == '}') {
		s->p++;
		return true;
	}
	for (;;) {
		const char *rest[JSON_FIND_MAX];
		struct json_span key;
		bool any = false;

		skip_blanks(s);
		if (s->p == s->end || *s->p != '"' || !scan_string(s, true, &key))
			return false;
		skip_blanks(s);
		if (s->p == s->end || *s->p++ != ':')
			return false;
		for (size_t i = 0; pointers && i < s->n; i++) {
			rest[i] = enter(pointers[i], &key);
			any = any || rest[i];
			/* of members with one name the last counts, as for json-c */
			if (rest[i])
				s->found[i].text = NULL;
		}
		if (!scan_value(s, any ? rest : NULL, depth + 1))
			return false;
		skip_blanks(s);
		if (s->p == s->end)
			return false;
		if (*s->p++ == '}')
			return true;
		if (s->p[-1] != ',')
			return false;
	}
}

static bool scan_array(struct scan *s, unsigned depth)
{
	s->p++;
	skip_blanks(s);
	if (s->p < s->end && *s->p == ']') {
		s->p++;
		return true;
	}
	for (;;) {
		if (!scan_value(s, NULL, depth + 1))
			return false;
		skip_blanks(s);
		if (s->p == s->end)
			return false;
		if (*s->p++ == ']')
			return true;
		if (s->p[-1] != ',')
			return false;
	}
}

/* pointers: what is left of them, "" for the value that is looked for, NULL off its way; all
 * NULL when none leads here. */
static bool scan_value(struct scan *s, const char *const *pointers, unsigned depth)
{
	struct json_span value = {};
	const char *start;
	bool wanted = false, ok;

	for (size_t i = 0; pointers && i < s->n; i++)
		wanted = wanted || (pointers[i] && *pointers[i] == '\0');
	skip_blanks(s);
	if (s->p == s->end || depth > MAX_DEPTH)
		return false;
	start = s->p;
	switch (*start) {
	case '{':
		return !wanted && scan_object(s, pointers, depth);
	case '[':
		/* an index in the pointer is left to the parser */
		return !pointers && scan_array(s, depth);
	case '"':
		if (!scan_string(s, wanted, &value))
			return false;
		break;
	default:
		ok = *start == 't'   ? scan_word(s, "true")
		     : *start == 'f' ? scan_word(s, "false")
		     : *start == 'n' ? scan_word(s, "null")
				     : scan_number(s);
		if (!ok)
			return false;
		value = (struct json_span){ start, (size_t)(s->p - start), false };
	}
	for (size_t i = 0; wanted && i < s->n; i++)
		if (pointers[i] && *pointers[i] == '\0')
			s->found[i] = value;
	return true;
}

int json_find(const char *text, size_t size, const char *const *pointers, size_t n,
	      struct json_span *ret)
{
	struct scan s = { .p = text, .end = text + size, .found = ret, .n = n };

	if (n > JSON_FIND_MAX)
		return -EAGAIN;
	for (size_t i = 0; i < n; i++) {
		ret[i] = (struct json_span){};
		if (strchr(pointers[i], '~'))
			return -EAGAIN;
	}
	if (!scan_value(&s, pointers, 0))
		return -EAGAIN;
	skip_blanks(&s);
	return s.p == s.end ? 0 : -EAGAIN;
}
