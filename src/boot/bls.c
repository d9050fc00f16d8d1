/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot/bls.h"

#include "base/str.h"

#include <limits.h>
#include <strings.h>

/* --- names --- */

static bool is_hex(const char *s, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (!((s[i] >= '0' && s[i] <= '9') || (s[i] >= 'a' && s[i] <= 'f')))
			return false;
	return true;
}

/* A decimal number that fits an int, and where it ends. */
static bool read_number(const char **p, int *ret)
{
	const char *s = *p;
	long value = 0;

	if (*s < '0' || *s > '9')
		return false;
	for (; *s >= '0' && *s <= '9'; s++) {
		value = value * 10 + (*s - '0');
		if (value > INT_MAX)
			return false;
	}
	*p = s;
	*ret = (int)value;
	return true;
}

void bls_cut_tries(struct bls_entry *entry)
{
	char *plus = strrchr(entry->id, '+');
	const char *p = plus ? plus + 1 : NULL;
	int left, done = 0;

	entry->tries_left = entry->tries_done = -1;
	if (!p || !read_number(&p, &left))
		return;
	if (*p == '-') {
		p++;
		if (!read_number(&p, &done))
			return;
	}
	if (*p)
		return;
	*plus = '\0';
	entry->tries_left = left;
	entry->tries_done = done;
}

/* "MACHINE-BOOTID-VERSION", the boot id being hexadecimal: what tuned too goes by. */
static bool is_boom_name(const char *id)
{
	const char *second = strchr(id, '-'), *third = second ? strchr(second + 1, '-') : NULL;

	return third && third - second - 1 >= 7 &&
	       is_hex(second + 1, (size_t)(third - second - 1));
}

bool bls_is_entry_name(const char *name, enum bls_reader reader)
{
	size_t n = strlen(name);

	if (n <= 5 || name[0] == '.')
		return false;
	if (reader == BLS_GRUB)
		return streq(name + n - 5, ".conf");
	return strcasecmp(name + n - 5, ".conf") == 0 && strncasecmp(name, "auto-", 5) != 0;
}

/* --- text --- */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* One line: key and value as pieces of the text. */
struct keyval {
	size_t key, key_size;
	size_t value, value_size;
	bool comment;
	bool value_missing;
};

/* The line in [start, end), which has no line end. */
static struct keyval split_line(const char *text, size_t start, size_t end,
				enum bls_reader reader)
{
	struct keyval kv = {};
	size_t p;

	/* GRUB skips CR anywhere; one inside a line is nothing anybody writes */
	while (reader == BLS_GRUB && end > start && text[end - 1] == '\r')
		end--;
	while (start < end && is_blank(text[start]))
		start++;
	while (reader == BLS_SYSTEMD && end > start && is_blank(text[end - 1]))
		end--;
	if (start < end && text[start] == '#') {
		kv.comment = true;
		return kv;
	}
	for (p = start; p < end && !is_blank(text[p]);)
		p++;
	kv.key = start;
	kv.key_size = p - start;
	kv.value_missing = p == end || (reader == BLS_GRUB && p + 1 == end);
	while (p < end && is_blank(text[p]))
		p++;
	if (reader == BLS_SYSTEMD && end - p >= 2 && (text[p] == '"' || text[p] == '\'') &&
	    text[end - 1] == text[p]) {
		p++;
		end--;
	}
	kv.value = p;
	kv.value_size = end - p;
	return kv;
}

static bool key_is(const char *text, const struct keyval *kv, const char *key)
{
	return strlen(key) == kv->key_size && memcmp(text + kv->key, key, kv->key_size) == 0;
}

/* GRUB takes the first of a key, systemd-boot the last. */
static int set_string(char **field, const char *text, const struct keyval *kv,
		      enum bls_reader reader)
{
	char *copy;

	if (*field && reader == BLS_GRUB)
		return 0;
	copy = str_dup_n(text + kv->value, kv->value_size);
	if (!copy)
		return -ENOMEM;
	free(*field);
	*field = copy;
	return 0;
}

static int take_line(struct bls_entry *entry, const char *text, const struct keyval *kv,
		     unsigned line, enum bls_reader reader)
{
	const struct {
		const char *key;
		char **field;
	} strings[] = {
		{ "title", &entry->title },	  { "version", &entry->version },
		{ "linux", &entry->image },	  { "machine-id", &entry->machine_id },
		{ "sort-key", &entry->sort_key }, { "architecture", &entry->architecture },
		{ "efi", &entry->efi },		  { "uki", &entry->efi },
	};

	if (key_is(text, kv, "options"))
		return lines_add(&entry->lines, 0, kv->value, kv->value_size, line);
	if (key_is(text, kv, "efi") || key_is(text, kv, "uki") || key_is(text, kv, "uki-url"))
		entry->not_linux = true;
	for (size_t i = 0; i < ARRAY_SIZE(strings); i++)
		if (key_is(text, kv, strings[i].key))
			return set_string(strings[i].field, text, kv, reader);
	return 0;
}

static int parse_text(struct bls_entry *entry, const char *text, size_t size,
		      enum bls_reader reader)
{
	unsigned line = 1;

	for (size_t i = 0; i < size; line++) {
		size_t end = i;
		struct keyval kv;
		int r;

		while (end < size && text[end] != '\n' &&
		       !(reader == BLS_SYSTEMD && text[end] == '\r'))
			end++;
		kv = split_line(text, i, end, reader);
		/* CR LF is one line end to people, though two to systemd-boot */
		if (end + 1 < size && text[end] == '\r' && text[end + 1] == '\n')
			end++;
		i = end + 1;
		if (kv.comment)
			continue;
		if (kv.value_missing) {
			if (reader == BLS_SYSTEMD)
				continue;
			entry->cut_line = line;
			return 0;
		}
		r = take_line(entry, text, &kv, line, reader);
		if (r < 0)
			return r;
	}
	return 0;
}

/* boom's entries carry comments with its own identifiers. */
static bool has_boom_comment(const char *text, size_t size)
{
	static const char mark[] = "#OsIdentifier:";
	const char *p = memmem(text, size, mark, sizeof(mark) - 1);

	return p && (p == text || p[-1] == '\n');
}

int bls_parse(const char *file_name, const char *text, size_t size, enum bls_reader reader,
	      struct bls_entry *ret)
{
	_cleanup_bls_entry_ struct bls_entry entry = {};
	size_t n = strlen(file_name);
	int r;

	entry.id = str_dup_n(file_name, n > 5 ? n - 5 : n);
	if (!entry.id)
		return -ENOMEM;
	bls_cut_tries(&entry);
	entry.lines.first_only = reader == BLS_GRUB;
	r = parse_text(&entry, text, strnlen(text, size), reader);
	if (r < 0)
		return r;
	entry.rescue = strstr(entry.id, "-0-rescue") || str_has_suffix(entry.id, "-rescue");
	entry.boom = is_boom_name(entry.id) || has_boom_comment(text, size);
	*ret = entry;
	entry = (struct bls_entry){};
	return 0;
}

void bls_entry_done(struct bls_entry *entry)
{
	free(entry->id);
	free(entry->title);
	free(entry->version);
	free(entry->image);
	free(entry->machine_id);
	free(entry->sort_key);
	free(entry->architecture);
	free(entry->efi);
	lines_done(&entry->lines);
	*entry = (struct bls_entry){};
}

static int find_lines(const char *text, size_t size, const char *path, enum bls_reader reader,
		      struct lines *ret)
{
	_cleanup_bls_entry_ struct bls_entry entry = {};
	const char *slash = strrchr(path, '/');
	int r = bls_parse(slash ? slash + 1 : path, text, size, reader, &entry);

	if (r < 0)
		return r;
	*ret = entry.lines;
	entry.lines = (struct lines){};
	return 0;
}

int bls_find_systemd(const char *text, size_t size, const char *path, struct lines *ret,
		     struct diag *diag _unused_)
{
	return find_lines(text, size, path, BLS_SYSTEMD, ret);
}

int bls_find_grub(const char *text, size_t size, const char *path, struct lines *ret,
		  struct diag *diag _unused_)
{
	return find_lines(text, size, path, BLS_GRUB, ret);
}

/* field_append() and expand_val() of blscfg.c: a value is followed by a blank, and eats one. */
int bls_expand(const char *options, const char *(*value)(const char *name, void *userdata),
	       void *userdata, char **ret)
{
	_cleanup_strbuf_ struct strbuf out = {};

	for (const char *p = options; *p;) {
		_cleanup_free_ char *name = NULL;
		const char *found;
		size_t n = 0;

		if (*p != '$' || (p > options && p[-1] == '\\')) {
			strbuf_addc(&out, *p++);
			continue;
		}
		p++;
		while ((p[n] >= '0' && p[n] <= '9') || (p[n] >= 'a' && p[n] <= 'z') ||
		       (p[n] >= 'A' && p[n] <= 'Z') || p[n] == '_')
			n++;
		name = str_dup_n(p, n);
		if (!name)
			return -ENOMEM;
		found = value(name, userdata);
		if (found) {
			strbuf_adds(&out, found);
			strbuf_addc(&out, ' ');
		}
		p += n;
		if (*p == ' ')
			p++;
	}
	return strbuf_take(&out, ret, NULL);
}
