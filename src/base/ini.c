/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/ini.h"

#include "base/str.h"

#define BLANKS " \t\r\n"

struct ini {
	const char *text;
	size_t size;
	size_t pos;
	unsigned line; /* of the byte at pos */
	bool odd_ends; /* lines end otherwise than in LF, too */
	bool bom_seen;
	bool stopped;
	char *section;
	struct strbuf logical; /* the current line, continuations joined */
};

/* One physical line. */
struct physical {
	const char *data;
	size_t size;
	unsigned line;
	bool too_long;
};

int ini_new(const char *text, size_t size, struct ini **ret)
{
	struct ini *ini = calloc(1, sizeof(*ini));

	if (!ini)
		return -ENOMEM;
	ini->text = text;
	ini->size = size;
	ini->line = 1;
	ini->odd_ends = memchr(text, '\r', size) || memchr(text, '\0', size);
	ini->section = strdup("");
	if (!ini->section) {
		free(ini);
		return -ENOMEM;
	}
	*ret = ini;
	return 0;
}

struct ini *ini_free(struct ini *ini)
{
	if (!ini)
		return NULL;
	free(ini->section);
	strbuf_done(&ini->logical);
	free(ini);
	return NULL;
}

enum eol { EOL_NONE = 0, EOL_NUL = 1, EOL_LF = 2, EOL_CR = 4 };

static enum eol eol_of(char c)
{
	return c == '\n' ? EOL_LF : c == '\r' ? EOL_CR : c == '\0' ? EOL_NUL : EOL_NONE;
}

/* False at the end of the text. */
static bool next_physical(struct ini *ini, struct physical *ret)
{
	const char *start = ini->text + ini->pos, *end = ini->text + ini->size, *p = start;
	unsigned seen = EOL_NONE;

	if (start == end)
		return false;
	if (ini->odd_ends) {
		while (p < end && !eol_of(*p))
			p++;
	} else {
		p = memchr(start, '\n', (size_t)(end - start));
		p = p ? p : end;
	}
	*ret = (struct physical){
		.data = start,
		.size = (size_t)(p - start),
		.line = ini->line,
		.too_long = (size_t)(p - start) >= INI_LINE_MAX,
	};
	/* each kind once makes one line end (CRLF, LFCR, LF NUL, ...); nothing follows a NUL */
	while (p < end && eol_of(*p) && !(seen & (EOL_NUL | eol_of(*p))))
		seen |= eol_of(*p++);
	ini->line++;
	ini->pos = (size_t)(p - ini->text);
	return true;
}

static size_t leading_blanks(const char *s, size_t size)
{
	size_t n = 0;

	while (n < size && (s[n] == ' ' || s[n] == '\t'))
		n++;
	return n;
}

static bool odd_backslashes(const char *s, size_t size)
{
	size_t n = 0;

	while (n < size && s[size - 1 - n] == '\\')
		n++;
	return n % 2 == 1;
}

/* UTF-8 as systemd wants it: without the code points that Unicode keeps for itself. */
static bool is_text(const char *s, size_t size)
{
	if (!str_is_utf8(s, size))
		return false;
	/* one of these is in each of them */
	if (!memchr(s, 0xef, size) && !memchr(s, 0xbf, size))
		return true;
	for (size_t i = 0; i + 2 < size; i++) {
		unsigned char a = s[i], b = s[i + 1], c = s[i + 2];

		if (a == 0xef && b == 0xb7 && c >= 0x90 && c <= 0xaf) /* U+FDD0..U+FDEF */
			return false;
		/* U+xFFFE and U+xFFFF end in BF BE or BF BF behind BF, xF or EF */
		if (b == 0xbf && c >= 0xbe && (a == 0xef || (a & 0xcf) == 0x8f) &&
		    (a == 0xef || (i > 0 && (unsigned char)s[i - 1] >= 0xf0)))
			return false;
	}
	return true;
}

/*
 * Joins the physical lines of one logical line into ini->logical. *ret_first is the line it
 * starts on. Returns 1, 0 at the end, -EINVAL when a line is too long, -EILSEQ when not UTF-8.
 */
static int next_logical(struct ini *ini, struct physical *ret_first)
{
	bool continued = false;
	struct physical line;

	ini->logical.len = 0;
	while (next_physical(ini, &line)) {
		size_t blanks = leading_blanks(line.data, line.size);
		const char *text = line.data + blanks;
		size_t size = line.size - blanks;
		bool more;

		if (!continued)
			*ret_first = line;
		if (line.too_long)
			return -EINVAL;
		if (size > 0 && (*text == '#' || *text == ';'))
			continue;
		/* looked for at the start of every line until it was seen */
		if (!ini->bom_seen && line.size >= 3 &&
		    memcmp(line.data, "\xef\xbb\xbf", 3) == 0) {
			ini->bom_seen = true;
			line.data += 3;
			line.size -= 3;
			if (!continued)
				*ret_first = line;
			blanks = leading_blanks(line.data, line.size);
			text = line.data + blanks;
			size = line.size - blanks;
		}
		if (!continued && size == 0)
			continue;
		if (continued) {
			/* a continued line keeps its leading blanks */
			text = line.data;
			size = line.size;
		}
		if (!is_text(text, size)) {
			if (!continued)
				*ret_first = line;
			return -EILSEQ;
		}
		more = odd_backslashes(text, size);
		if (ini->logical.len + size > INI_LINE_MAX)
			return -EINVAL;
		strbuf_add(&ini->logical, text, more ? size - 1 : size);
		if (more)
			strbuf_addc(&ini->logical, ' ');
		if (ini->logical.failed)
			return -ENOMEM;
		if (!more)
			return 1;
		continued = true;
	}
	return continued ? 1 : 0;
}

static char *strip(char *s)
{
	char *end;

	s += strspn(s, BLANKS);
	end = s + strlen(s);
	while (end > s && strchr(BLANKS, end[-1]))
		end--;
	*end = '\0';
	return s;
}

static unsigned column_of(const struct physical *first, const char *in_line)
{
	return (unsigned)(in_line - first->data) + 1;
}

/* string_is_safe() of systemd: no control character, quote or backslash. */
static bool is_section_name(const char *s, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if ((s[i] > 0 && s[i] < ' ') || s[i] == '"' || s[i] == '\'' || s[i] == '\\' ||
		    s[i] == '\x7f')
			return false;
	return true;
}

static int parse_logical(struct ini *ini, const struct physical *first, struct ini_item *ret)
{
	char *text = strip(ini->logical.data), *equals;
	const char *key_at = first->data + leading_blanks(first->data, first->size), *value_at;

	ret->column = column_of(first, key_at);
	if (*text == '\0')
		return -EAGAIN;
	if (*text == '[') {
		size_t n = strlen(text);
		char *section;

		if (text[n - 1] != ']' || !is_section_name(text + 1, n - 2)) {
			ret->kind = INI_BAD_SECTION;
			ini->stopped = true;
			return 0;
		}
		section = str_dup_n(text + 1, n - 2);
		if (!section)
			return -ENOMEM;
		free(ini->section);
		ini->section = section;
		ret->kind = INI_SECTION;
		ret->section = section;
		return 0;
	}
	equals = strchr(text, '=');
	if (!equals) {
		ret->kind = INI_NO_EQUALS;
		ret->key = text;
		return 0;
	}
	*equals = '\0';
	ret->key = strip(text);
	ret->value = strip(equals + 1);
	ret->kind = *ret->key ? INI_ASSIGNMENT : INI_EMPTY_KEY;
	/* the value's place: exact when it starts on the first line, else that line's end */
	value_at = memchr(first->data, '=', first->size);
	if (value_at) {
		const char *end = first->data + first->size;

		value_at++;
		while (value_at < end && (*value_at == ' ' || *value_at == '\t'))
			value_at++;
		ret->value_column = column_of(first, value_at);
	} else
		ret->value_column = ret->column;
	ret->value_line = first->line;
	return 0;
}

int ini_next(struct ini *ini, struct ini_item *ret)
{
	struct physical first = {};
	int r;

	do {
		*ret = (struct ini_item){ .kind = INI_END, .section = ini->section };
		if (ini->stopped)
			return 0;
		r = next_logical(ini, &first);
		if (r == 0) {
			ini->stopped = true;
			return 0;
		}
		ret->line = first.line;
		ret->source = first.data;
		ret->source_size = first.size;
		ret->column = 1;
		if (r == -EINVAL || r == -EILSEQ) {
			ret->kind = r == -EINVAL ? INI_LINE_TOO_LONG : INI_NOT_UTF8;
			ini->stopped = true;
			return 0;
		}
		if (r < 0)
			return r;
		r = parse_logical(ini, &first, ret);
	} while (r == -EAGAIN);
	return r;
}

void ini_resume(struct ini *ini)
{
	ini->stopped = false;
}
