/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The order of the menu, which says what is booted when nobody says. */

#include "base/str.h"
#include "boot/bls.h"

#include <limits.h>
#include <stdio.h>

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_alpha(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static int sign(long difference)
{
	return (difference > 0) - (difference < 0);
}

/* Compares two runs of digits as numbers of any length. */
static int compare_numbers(const char *a, size_t a_size, const char *b, size_t b_size)
{
	while (a_size > 0 && *a == '0')
		a++, a_size--;
	while (b_size > 0 && *b == '0')
		b++, b_size--;
	if (a_size != b_size)
		return a_size < b_size ? -1 : 1;
	return sign(memcmp(a, b, a_size));
}

static size_t run(const char *s, bool (*is)(char c))
{
	size_t n = 0;

	while (is(s[n]))
		n++;
	return n;
}

/* Letters compare as text, and a run that the other one starts with is the older. */
static int compare_letters(const char *a, size_t a_size, const char *b, size_t b_size)
{
	int r = sign(memcmp(a, b, MIN(a_size, b_size)));

	return r ? r : sign((long)a_size - (long)b_size);
}

static bool uapi_valid(char c)
{
	return is_digit(c) || is_alpha(c) || c == '~' || c == '-' || c == '^' || c == '.';
}

/* UAPI.10, the rules in their order. */
int bls_compare_uapi(const char *a, const char *b)
{
	static const char marks[] = "-^."; /* the older first */

	a = a ? a : "";
	b = b ? b : "";
	for (;;) {
		size_t an, bn;
		int r;

		while (*a && !uapi_valid(*a))
			a++;
		while (*b && !uapi_valid(*b))
			b++;
		/* '~' is older than anything, also than the end */
		if (*a == '~' || *b == '~') {
			if (*a != '~' || *b != '~')
				return *a == '~' ? -1 : 1;
			a++, b++;
			continue;
		}
		if (!*a || !*b)
			return sign((long)!!*a - (long)!!*b);
		for (const char *mark = marks; *mark; mark++) {
			if (*a != *mark && *b != *mark)
				continue;
			if (*a != *mark || *b != *mark)
				return *a == *mark ? -1 : 1;
			a++, b++;
		}
		/* a number is newer than letters */
		if (is_digit(*a) || is_digit(*b)) {
			an = run(a, is_digit);
			bn = run(b, is_digit);
			if (!an || !bn)
				return an ? 1 : -1;
			r = compare_numbers(a, an, b, bn);
		} else {
			an = run(a, is_alpha);
			bn = run(b, is_alpha);
			r = compare_letters(a, an, b, bn);
		}
		if (r)
			return r;
		a += an;
		b += bn;
	}
}

/* rpmvercmp() as GRUB of Fedora 44 and RHEL 10 has it; '+' is '~' but for the end. */
int bls_compare_rpm(const char *a, size_t a_size, const char *b, size_t b_size)
{
	const char *a_end = a + a_size, *b_end = b + b_size;

	if (a_size == b_size && memcmp(a, b, a_size) == 0)
		return 0;
	while (a < a_end || b < b_end) {
		const char *as, *bs;
		bool number;
		int r;

		while (a < a_end && !is_digit(*a) && !is_alpha(*a) && *a != '~' && *a != '+')
			a++;
		while (b < b_end && !is_digit(*b) && !is_alpha(*b) && *b != '~' && *b != '+')
			b++;
		if ((a < a_end && *a == '~') || (b < b_end && *b == '~')) {
			if (a == a_end || *a != '~')
				return 1;
			if (b == b_end || *b != '~')
				return -1;
			a++, b++;
			continue;
		}
		if (a == a_end || b == b_end)
			break;
		if (*a == '+' || *b == '+') {
			if (*a != '+' || *b != '+')
				return *a == '+' ? -1 : 1;
			a++, b++;
			continue;
		}
		as = a;
		bs = b;
		number = is_digit(*a);
		while (a < a_end && (number ? is_digit(*a) : is_alpha(*a)))
			a++;
		while (b < b_end && (number ? is_digit(*b) : is_alpha(*b)))
			b++;
		/* of another kind: a number is newer */
		if (b == bs)
			return number ? 1 : -1;
		r = number ? compare_numbers(as, (size_t)(a - as), bs, (size_t)(b - bs))
			   : compare_letters(as, (size_t)(a - as), bs, (size_t)(b - bs));
		if (r)
			return r;
	}
	return sign((long)(a < a_end) - (long)(b < b_end));
}

/* A name split at its last dashes, as rpm splits NAME-VERSION-RELEASE. */
struct nvr {
	const char *part[3];
	size_t size[3];
};

static struct nvr split_nvr(const char *s)
{
	const char *release = strrchr(s, '-'), *version;

	if (!release)
		return (struct nvr){ { s, "", "" }, { strlen(s), 0, 0 } };
	version = release > s ? memrchr(s, '-', (size_t)(release - s)) : NULL;
	if (!version)
		return (struct nvr){ { s, release + 1, "" },
				     { (size_t)(release - s), strlen(release + 1), 0 } };
	return (struct nvr){ { s, version + 1, release + 1 },
			     { (size_t)(version - s), (size_t)(release - version - 1),
			       strlen(release + 1) } };
}

/* Newest first. */
static int compare_grub(const struct bls_entry *a, const struct bls_entry *b)
{
	struct nvr x = split_nvr(a->id), y = split_nvr(b->id);

	for (size_t i = 0; i < 3; i++) {
		int r = bls_compare_rpm(x.part[i], x.size[i], y.part[i], y.size[i]);

		if (r)
			return -r;
	}
	return 0;
}

/* As its menu has it: in small letters, without boot counters, with the end of its file's name.
 */
static int compare_ids(const struct bls_entry *a, const struct bls_entry *b)
{
	const struct bls_entry *entries[] = { a, b };
	char ids[2][NAME_MAX + 8];

	for (size_t i = 0; i < 2; i++) {
		(void)snprintf(ids[i], sizeof(ids[i]), "%s%s", entries[i]->id,
			       entries[i]->is_uki ? ".efi" : ".conf"); /* of a file: it fits */
		for (char *p = ids[i]; *p; p++)
			if (*p >= 'A' && *p <= 'Z')
				*p = (char)(*p - 'A' + 'a');
	}
	return bls_compare_uapi(ids[0], ids[1]);
}

static int compare_systemd(const struct bls_entry *a, const struct bls_entry *b)
{
	int r = sign((long)(a->tries_left == 0) - (long)(b->tries_left == 0));

	if (r)
		return r;
	/* with a sort key before without */
	r = sign((long)!a->sort_key - (long)!b->sort_key);
	if (r)
		return r;
	if (a->sort_key && b->sort_key) {
		r = sign(strcmp(a->sort_key, b->sort_key));
		if (!r)
			r = sign(strcmp(a->machine_id ? a->machine_id : "",
					b->machine_id ? b->machine_id : ""));
		if (!r)
			r = -bls_compare_uapi(a->version, b->version);
		if (r)
			return r;
	}
	r = -compare_ids(a, b);
	if (!r && a->is_uki && b->is_uki)
		r = sign((long)a->profile - (long)b->profile);
	if (r || a->tries_left < 0 || b->tries_left < 0)
		return r;
	r = -sign((long)a->tries_left - (long)b->tries_left);
	return r ? r : sign((long)a->tries_done - (long)b->tries_done);
}

int bls_compare(const struct bls_entry *a, const struct bls_entry *b, enum bls_reader reader)
{
	return reader == BLS_GRUB ? compare_grub(a, b) : compare_systemd(a, b);
}
