/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "units/unit-value.h"

#include "base/str.h"

#include <limits.h>

#define BLANKS " \t\n\r"

/* --- sizes --- */

/*
 * One term of a sum: a decimal number, a fraction, a suffix. The suffixes of a sum go down, so
 * *suffix is the first that may still come. As strtoull() reads the numbers, a plus sign and
 * the odd blanks of isspace() are part of the grammar.
 */
static int parse_term(const char **s, size_t *suffix, uint64_t *ret)
{
	static const struct {
		char letter; /* 0: none, which matches everywhere */
		unsigned shift;
	} suffixes[] = {
		{ 'E', 60 }, { 'P', 50 }, { 'T', 40 }, { 'G', 30 },
		{ 'M', 20 }, { 'K', 10 }, { 'B', 0 },  { 0, 0 },
	};
	const char *p = *s + strspn(*s, BLANKS);
	unsigned long long whole, digits;
	uint64_t factor, fraction_bytes;
	double fraction = 0;
	char *end;
	size_t i;

	errno = 0;
	whole = strtoull(p, &end, 10);
	if (errno > 0)
		return -errno;
	if (end == p)
		return -EINVAL;
	if (*p == '-')
		return -ERANGE;
	if (*end == '.') {
		const char *after = ++end;

		if (*after >= '0' && *after <= '9') {
			digits = strtoull(after, &end, 10);
			if (errno > 0)
				return -errno;
			fraction = (double)digits;
			for (; after < end; after++)
				fraction /= 10;
		}
	}
	end += strspn(end, BLANKS);
	for (i = *suffix; i < ARRAY_SIZE(suffixes); i++)
		if (!suffixes[i].letter || *end == suffixes[i].letter)
			break;
	if (i == ARRAY_SIZE(suffixes))
		return -EINVAL;
	factor = UINT64_C(1) << suffixes[i].shift;
	if (whole + (fraction > 0) > UINT64_MAX / factor)
		return -ERANGE;
	fraction_bytes = (uint64_t)(fraction * (double)factor);
	if (__builtin_add_overflow(whole * factor, fraction_bytes, ret))
		return -ERANGE;
	*s = end + (suffixes[i].letter ? 1 : 0);
	*suffix = i + 1;
	return 0;
}

static int parse_bytes(const char *s, uint64_t *ret)
{
	uint64_t sum = 0, term = 0;
	size_t suffix = 0;

	do {
		int r = parse_term(&s, &suffix, &term);

		if (r < 0)
			return r;
		if (__builtin_add_overflow(sum, term, &sum))
			return -ERANGE;
	} while (*s);
	*ret = sum;
	return 0;
}

int unit_value_size(const char *s, bool zero_allowed, unsigned version, struct unit_size *ret)
{
	struct unit_size size = { .kind = UNIT_SIZE_RESET };
	int r;

	if (streq(s, "infinity"))
		size.kind = UNIT_SIZE_INFINITY;
	else if (*s) {
		/* what is no share may still be a size, and the size's error is the answer */
		r = unit_value_share(s, version, &size.share);
		if (r >= 0)
			size.kind = UNIT_SIZE_SHARE;
		else {
			r = parse_bytes(s, &size.bytes);
			if (r < 0)
				return r;
			if (size.bytes == UINT64_MAX)
				return -ERANGE;
			size.kind = UNIT_SIZE_BYTES;
		}
		if (!zero_allowed && size.bytes == 0 && size.share == 0)
			return -ERANGE;
	}
	*ret = size;
	return 0;
}

/* --- shares --- */

/* safe_atoi(): C's prefixes for octal and hexadecimal, and 0b and 0o. Not negative. */
static int parse_int(const char *s, size_t size, int *ret)
{
	char buf[64], *end;
	const char *p, *q;
	int base = 0;
	long value;

	if (size >= sizeof(buf))
		return -ERANGE;
	memcpy(buf, s, size);
	buf[size] = '\0';
	p = buf + strspn(buf, BLANKS);
	if (p[0] == '0' && (p[1] == 'b' || p[1] == 'B'))
		base = 2;
	else if (p[0] == '0' && (p[1] == 'o' || p[1] == 'O'))
		base = 8;
	if (base > 0)
		p += 2;
	/* C23's strtol() takes 0b too: behind a sign, or a second one */
	q = p + (*p == '+' || *p == '-');
	if (q[0] == '0' && (q[1] == 'b' || q[1] == 'B'))
		return -EINVAL;
	errno = 0;
	value = strtol(p, &end, base);
	if (errno > 0)
		return -errno;
	if (end == p || *end)
		return -EINVAL;
	if (value < 0 || value > INT_MAX)
		return -ERANGE;
	*ret = (int)value;
	return 0;
}

int unit_value_share(const char *s, unsigned version, unsigned *ret)
{
	static const struct {
		const char *sign;
		unsigned scale;	  /* of one */
		unsigned since;	  /* systemd's version */
		size_t places[2]; /* behind the dot: before and since v248 */
	} signs[] = {
		{ "\xe2\x80\xb1", 1, 248, { 0, 0 } },  /* permyriad */
		{ "\xe2\x80\xb0", 10, 240, { 0, 1 } }, /* permille */
		{ "%", 100, 0, { 1, 2 } },
	};
	size_t size = strlen(s), i, places, allowed;
	unsigned scale, part = 0;
	const char *dot;
	int whole, r;

	for (i = 0; i < ARRAY_SIZE(signs); i++)
		if (str_has_suffix(s, signs[i].sign))
			break;
	if (i == ARRAY_SIZE(signs) || (version && version < signs[i].since))
		return -EINVAL;
	size -= strlen(signs[i].sign);
	scale = signs[i].scale;
	allowed = version && version < 240 ? 0 : signs[i].places[!version || version >= 248];
	dot = allowed > 0 ? memchr(s, '.', size) : NULL;
	if (dot) {
		places = size - (size_t)(dot - s) - 1;
		if (places == 0 || places > allowed)
			return -EINVAL;
		for (size_t k = 0, place = scale / 10; k < places; k++, place /= 10) {
			if (dot[1 + k] < '0' || dot[1 + k] > '9')
				return -EINVAL;
			part += (unsigned)(dot[1 + k] - '0') * (unsigned)place;
		}
		size = (size_t)(dot - s);
	}
	r = parse_int(s, size, &whole);
	if (r < 0)
		return r;
	if ((unsigned)whole > 10000 / scale || (unsigned)whole * scale + part > 10000)
		return -ERANGE;
	*ret = (unsigned)whole * scale + part;
	return 0;
}

/* --- time spans --- */

static uint64_t take_time_unit(const char **s)
{
	static const struct {
		const char *name;
		uint64_t usec;
	} units[] = {
		{ "seconds", 1000000 },
		{ "second", 1000000 },
		{ "sec", 1000000 },
		{ "s", 1000000 },
		{ "minutes", 60000000 },
		{ "minute", 60000000 },
		{ "min", 60000000 },
		{ "months", UINT64_C(2629800000000) },
		{ "month", UINT64_C(2629800000000) },
		{ "M", UINT64_C(2629800000000) },
		{ "msec", 1000 },
		{ "ms", 1000 },
		{ "m", 60000000 },
		{ "hours", UINT64_C(3600000000) },
		{ "hour", UINT64_C(3600000000) },
		{ "hr", UINT64_C(3600000000) },
		{ "h", UINT64_C(3600000000) },
		{ "days", UINT64_C(86400000000) },
		{ "day", UINT64_C(86400000000) },
		{ "d", UINT64_C(86400000000) },
		{ "weeks", UINT64_C(604800000000) },
		{ "week", UINT64_C(604800000000) },
		{ "w", UINT64_C(604800000000) },
		{ "years", UINT64_C(31557600000000) },
		{ "year", UINT64_C(31557600000000) },
		{ "y", UINT64_C(31557600000000) },
		{ "usec", 1 },
		{ "us", 1 },
		{ "\xce\xbcs", 1 },
		{ "\xc2\xb5s", 1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		const char *rest = str_skip_prefix(*s, units[i].name);

		if (rest) {
			*s = rest;
			return units[i].usec;
		}
	}
	return 1000000;
}

int unit_value_span(const char *s, uint64_t *ret)
{
	uint64_t sum = 0, unit, part;

	s += strspn(s, BLANKS);
	if (streq(s, "infinity")) {
		*ret = UINT64_MAX;
		return 0;
	}
	do {
		const char *fraction = NULL;
		long long whole;
		char *end;

		if (*s == '-')
			return -ERANGE;
		errno = 0;
		whole = strtoll(s, &end, 10);
		if (errno > 0)
			return -errno;
		if (*end == '.')
			fraction = end + 1;
		else if (end == s)
			return -EINVAL;
		if (whole < 0)
			return -ERANGE;
		s = fraction ? fraction + strspn(fraction, "0123456789") : end;
		if (fraction && s == fraction)
			return -EINVAL; /* "3.", "3.s" */
		end = (char *)s;
		s += strspn(s, BLANKS);
		unit = take_time_unit(&s);
		if (s == end && *s)
			return -EINVAL;
		if (__builtin_mul_overflow((uint64_t)whole, unit, &part) ||
		    __builtin_add_overflow(sum, part, &sum))
			return -ERANGE;
		for (uint64_t place = unit / 10;
		     fraction && *fraction >= '0' && *fraction <= '9'; fraction++, place /= 10)
			sum += (uint64_t)(*fraction - '0') * place;
		s += strspn(s, BLANKS);
	} while (*s);
	*ret = sum;
	return 0;
}

/* --- words --- */

int unit_value_word(const char **s, enum unit_word_flags flags, char **ret)
{
	_cleanup_strbuf_ struct strbuf word = {};
	const char *p = *s + strspn(*s, BLANKS);
	char quote = 0;
	int r;

	if (*p == '\0') {
		*s = p;
		return 0;
	}
	for (; *p && (quote || !strchr(BLANKS, *p)); p++) {
		if (*p == '\\' && !(flags & UNIT_WORD_KEEP_BACKSLASH)) {
			if (*++p == '\0')
				return -EINVAL;
			strbuf_addc(&word, *p);
		} else if (quote && *p == quote)
			quote = 0;
		else if ((flags & UNIT_WORD_UNQUOTE) && !quote && (*p == '"' || *p == '\''))
			quote = *p;
		else
			strbuf_addc(&word, *p);
	}
	if (quote)
		return -EINVAL;
	r = strbuf_take(&word, ret, NULL);
	if (r < 0)
		return r;
	*s = p;
	return 1;
}

/* --- complaints --- */

const char *unit_value_complaint(const char *s, int error)
{
	size_t digits = strspn(s, "0123456789. ");
	const char *tail = s + digits;

	if (strchr(s, '#') || strchr(s, ';'))
		return "systemd knows no comment behind a value";
	if (*s == '"' || *s == '\'')
		return "systemd takes the quotes for part of the value";
	if (str_has_suffix(s, "%") && digits > 0 && *tail == '%' && tail[1] == '\0' &&
	    s[digits - 1] != ' ')
		return "a percentage goes from 0% to 100%, with two decimals";
	if (error == -ERANGE)
		return *s == '-' ? "negative" : "out of range";
	if (strcasecmp(s, "infinity") == 0 || strcasecmp(s, "max") == 0 ||
	    strcasecmp(s, "unlimited") == 0 || strcasecmp(s, "none") == 0)
		return "no limit is written \"infinity\"";
	if (*s == '%')
		return "no specifiers are expanded here";
	if (*tail == '%' && digits > 0 && s[digits - 1] == ' ')
		return "no blank may stand before the sign";
	if (digits > 0 && *tail && strchr("kmgtpeKMGTPE", *tail) &&
	    (streq(tail + 1, "b") || streq(tail + 1, "B") || streq(tail + 1, "ib") ||
	     streq(tail + 1, "iB")))
		return "sizes end in K, M, G or T, without a B";
	if (digits > 0 && *tail && strchr("kmgtpe", *tail) && tail[1] == '\0')
		return "K, M, G and T are upper case";
	return "no size: bytes, K, M, G or T, or a percentage are";
}
