/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/str.h"

#include <stdio.h>
#include <strings.h>

const char *str_skip_prefix(const char *s, const char *prefix)
{
	size_t n = strlen(prefix);

	return strncmp(s, prefix, n) == 0 ? s + n : NULL;
}

bool str_has_suffix(const char *s, const char *suffix)
{
	size_t n = strlen(s), m = strlen(suffix);

	return n >= m && memcmp(s + n - m, suffix, m) == 0;
}

char *str_dup_n(const char *s, size_t size)
{
	char *copy = malloc(size + 1);

	if (!copy)
		return NULL;
	if (size > 0)
		memcpy(copy, s, size);
	copy[size] = '\0';
	return copy;
}

int str_vprintf(char **ret, const char *fmt, va_list ap)
{
	char *s;

	if (vasprintf(&s, fmt, ap) < 0)
		return -ENOMEM;
	*ret = s;
	return 0;
}

int str_printf(char **ret, const char *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = str_vprintf(ret, fmt, ap);
	va_end(ap);
	return r;
}

static bool strbuf_grow(struct strbuf *buf, size_t more)
{
	size_t alloc = buf->alloc ? buf->alloc : 64;
	char *data;

	if (buf->failed)
		return false;
	if (more > SIZE_MAX / 4 || buf->len > SIZE_MAX / 4) {
		buf->failed = true;
		return false;
	}
	if (buf->len + more + 1 <= buf->alloc)
		return true;
	while (alloc < buf->len + more + 1)
		alloc *= 2;
	data = realloc(buf->data, alloc);
	if (!data) {
		buf->failed = true;
		return false;
	}
	buf->data = data;
	buf->alloc = alloc;
	return true;
}

void strbuf_add(struct strbuf *buf, const void *data, size_t size)
{
	if (!strbuf_grow(buf, size))
		return;
	if (size > 0)
		memcpy(buf->data + buf->len, data, size);
	buf->len += size;
	buf->data[buf->len] = '\0';
}

void strbuf_adds(struct strbuf *buf, const char *s)
{
	strbuf_add(buf, s, strlen(s));
}

void strbuf_addc(struct strbuf *buf, char c)
{
	strbuf_add(buf, &c, 1);
}

void strbuf_addf(struct strbuf *buf, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0 || !strbuf_grow(buf, (size_t)n)) {
		buf->failed = true;
		return;
	}
	va_start(ap, fmt);
	(void)vsnprintf(buf->data + buf->len, (size_t)n + 1, fmt, ap); /* measured above */
	va_end(ap);
	buf->len += (size_t)n;
}

void strbuf_truncate(struct strbuf *buf, size_t len)
{
	if (buf->failed || len >= buf->len)
		return;
	buf->len = len;
	buf->data[len] = '\0';
}

int strbuf_take(struct strbuf *buf, char **ret, size_t *ret_size)
{
	if (!strbuf_grow(buf, 0))
		return -ENOMEM;
	buf->data[buf->len] = '\0';
	if (ret_size)
		*ret_size = buf->len;
	*ret = TAKE_PTR(buf->data);
	*buf = (struct strbuf){};
	return 0;
}

void strbuf_done(struct strbuf *buf)
{
	free(buf->data);
	*buf = (struct strbuf){};
}

/* Takes s over; NULL means that allocating it failed. */
static void strv_take(struct strv *v, char *s)
{
	if (!s || v->failed) {
		free(s);
		v->failed = true;
		return;
	}
	if (!GROW(v->items, v->n + 1, v->alloc)) { /* and its NULL */
		free(s);
		v->failed = true;
		return;
	}
	v->items[v->n++] = s;
	v->items[v->n] = NULL;
}

void strv_add(struct strv *v, const char *s)
{
	strv_take(v, strdup(s));
}

void strv_add_n(struct strv *v, const char *s, size_t size)
{
	strv_take(v, str_dup_n(s, size));
}

void strv_addf(struct strv *v, const char *fmt, ...)
{
	char *s = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (str_vprintf(&s, fmt, ap) < 0)
		s = NULL;
	va_end(ap);
	strv_take(v, s);
}

void strv_pop(struct strv *v)
{
	free(v->items[--v->n]);
	v->items[v->n] = NULL;
}

bool strv_contains(const struct strv *v, const char *s)
{
	for (size_t i = 0; i < v->n; i++)
		if (streq(v->items[i], s))
			return true;
	return false;
}

bool strv_add_unique(struct strv *v, const char *s)
{
	if (strv_contains(v, s))
		return false;
	strv_add(v, s);
	return !v->failed;
}

static int compare_items(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void strv_sort(struct strv *v)
{
	if (v->n > 1)
		qsort(v->items, v->n, sizeof(*v->items), compare_items);
}

void strv_sort_unique(struct strv *v)
{
	size_t n = 0;

	strv_sort(v);
	for (size_t i = 0; i < v->n; i++) {
		if (n > 0 && streq(v->items[i], v->items[n - 1]))
			free(v->items[i]);
		else
			v->items[n++] = v->items[i];
	}
	if (n < v->n)
		v->items[n] = NULL;
	v->n = n;
}

bool strv_find_sorted(const struct strv *v, const char *s, size_t *ret)
{
	char **found =
		v->n > 0 ? bsearch(&s, v->items, v->n, sizeof(*v->items), compare_items) : NULL;

	if (found)
		*ret = (size_t)(found - v->items);
	return found;
}

size_t str_lower_bound(const char *s, size_t n,
		       const char *(*get)(const void *things, size_t i), const void *things)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (strcmp(get(things, mid), s) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

bool strv_contains_sorted(const struct strv *v, const char *s)
{
	return strv_find_sorted(v, s, &(size_t){ 0 });
}

void strv_split(struct strv *v, const char *s, const char *separators)
{
	for (;;) {
		size_t n;

		s += strspn(s, separators);
		if (*s == '\0')
			return;
		n = strcspn(s, separators);
		strv_add_n(v, s, n);
		s += n;
	}
}

int strv_error(const struct strv *v)
{
	return v->failed ? -ENOMEM : 0;
}

void strv_done(struct strv *v)
{
	for (size_t i = 0; i < v->n; i++)
		free(v->items[i]);
	free(v->items);
	*v = (struct strv){};
}

int str_parse_u64(const char *s, uint64_t *ret)
{
	uint64_t value = 0;

	if (*s == '\0')
		return -EINVAL;
	for (; *s; s++) {
		if (*s < '0' || *s > '9')
			return -EINVAL;
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*s - '0'), &value))
			return -ERANGE;
	}
	*ret = value;
	return 0;
}

int str_parse_uint(const char *s, unsigned *ret)
{
	uint64_t value;
	int r = str_parse_u64(s, &value);

	if (r < 0)
		return r;
	if (value > UINT32_MAX)
		return -ERANGE;
	*ret = (unsigned)value;
	return 0;
}

int str_parse_bool(const char *s, bool *ret)
{
	static const char *const yes[] = { "1", "yes", "y", "true", "t", "on" };
	static const char *const no[] = { "0", "no", "n", "false", "f", "off" };

	for (size_t i = 0; i < ARRAY_SIZE(yes); i++)
		if (strcasecmp(s, yes[i]) == 0) {
			*ret = true;
			return 0;
		}
	for (size_t i = 0; i < ARRAY_SIZE(no); i++)
		if (strcasecmp(s, no[i]) == 0) {
			*ret = false;
			return 0;
		}
	return -EINVAL;
}

/* Length of the UTF-8 sequence at s, or 0 if there is none. */
static size_t utf8_sequence(const unsigned char *s, size_t size)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	uint32_t c = s[0];
	size_t n;

	if (c < 0x80)
		return 1;
	if (c >= 0xc2 && c <= 0xdf) {
		n = 2;
		c &= 0x1f;
	} else if (c >= 0xe0 && c <= 0xef) {
		n = 3;
		c &= 0x0f;
	} else if (c >= 0xf0 && c <= 0xf4) {
		n = 4;
		c &= 0x07;
	} else
		return 0;
	if (size < n)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	return n;
}

bool str_is_utf8(const char *s, size_t size)
{
	const unsigned char *p = (const unsigned char *)s;

	while (size > 0) {
		size_t n;

		/* unit files are ASCII: eight bytes at a time */
		while (size >= 8) {
			uint64_t word;

			memcpy(&word, p, 8);
			if (word & UINT64_C(0x8080808080808080))
				break;
			p += 8;
			size -= 8;
		}
		if (size == 0)
			break;
		n = utf8_sequence(p, size);
		if (n == 0)
			return false;
		p += n;
		size -= n;
	}
	return true;
}

char *str_escape(const char *s, size_t size)
{
	_cleanup_strbuf_ struct strbuf buf = {};
	char *ret;

	for (size_t i = 0; i < size;) {
		const unsigned char *p = (const unsigned char *)s + i;
		size_t plain = 0, n;
		bool control;

		while (i + plain < size && p[plain] >= 0x20 && p[plain] < 0x7f)
			plain++;
		strbuf_add(&buf, p, plain);
		i += plain;
		if (i == size)
			break;
		p += plain;
		n = utf8_sequence(p, size - i);
		/* C0, DEL, and C1, which is C2 80 to C2 9F in UTF-8 */
		control = *p < 0x20 || *p == 0x7f || (n == 2 && p[0] == 0xc2 && p[1] < 0xa0);

		if (n == 0 || control) {
			n = MAX(n, (size_t)1);
			for (size_t k = 0; k < n; k++)
				strbuf_addf(&buf, "\\x%02x", p[k]);
		} else
			strbuf_add(&buf, p, n);
		i += n;
	}
	return strbuf_take(&buf, &ret, NULL) < 0 ? NULL : ret;
}

/* Matches one [...] at p against c; *ret_end is behind the bracket, NULL if it is not closed.
 */
static bool match_bracket(const char *p, char c, const char **ret_end)
{
	bool negate = p[1] == '!' || p[1] == '^', hit = false;
	const char *q = p + 1 + negate;

	for (bool first = true; *q && (first || *q != ']'); first = false) {
		if (q[1] == '-' && q[2] && q[2] != ']') {
			if ((unsigned char)c >= (unsigned char)q[0] &&
			    (unsigned char)c <= (unsigned char)q[2])
				hit = true;
			q += 3;
		} else {
			if (*q == c)
				hit = true;
			q++;
		}
	}
	*ret_end = *q == ']' ? q + 1 : NULL;
	return hit != negate;
}

bool str_match_glob(const char *pattern, const char *s)
{
	const char *star = NULL, *retry = NULL;

	/* one star to go back to is enough, so the time is bounded by both lengths multiplied
	 */
	for (;;) {
		const char *end = NULL;
		bool hit = false;

		if (*pattern == '*') {
			star = ++pattern;
			retry = s;
			continue;
		}
		if (*s == '\0' && *pattern == '\0')
			return true;
		if (*s != '\0') {
			if (*pattern == '?') {
				hit = true;
				end = pattern + 1;
			} else if (*pattern == '[') {
				hit = match_bracket(pattern, *s, &end);
				if (!end) {
					hit = *s == '[';
					end = pattern + 1;
				}
			} else if (*pattern != '\0') {
				hit = *pattern == *s;
				end = pattern + 1;
			}
		}
		if (hit) {
			pattern = end;
			s++;
			continue;
		}
		if (!star || *retry == '\0')
			return false;
		pattern = star;
		s = ++retry;
	}
}

unsigned str_distance(const char *a, const char *b)
{
	unsigned row[33];
	size_t n = strlen(a), m = strlen(b);

	if (m >= ARRAY_SIZE(row) || n >= ARRAY_SIZE(row))
		return UINT16_MAX;
	for (size_t j = 0; j <= m; j++)
		row[j] = (unsigned)j;
	for (size_t i = 1; i <= n; i++) {
		unsigned diagonal = row[0];

		row[0] = (unsigned)i;
		for (size_t j = 1; j <= m; j++) {
			unsigned above = row[j];

			unsigned change = diagonal + (a[i - 1] == b[j - 1] ? 0U : 1U);
			unsigned shift = MIN(above, row[j - 1]) + 1;

			row[j] = MIN(change, shift);
			diagonal = above;
		}
	}
	return row[m];
}

bool str_is_nearer(const char *word, const char *name, unsigned *least)
{
	unsigned distance = str_distance(word, name), score = distance * 2;

	/* a letter left out is likelier than a wrong one: "of" is off rather than on */
	if (str_skip_prefix(name, word))
		score--;
	if (score >= *least || distance > MAX((unsigned)strlen(name) / 3, 1U))
		return false;
	*least = score;
	return true;
}
