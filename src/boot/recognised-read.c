/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot/recognised-read.h"

#include "base/diag.h"
#include "boot/bls-dir.h"
#include "boot/esp.h"
#include "boot/grub.h"

#include <strings.h>

int recognised_read_nothing(const struct boot *boot _unused_, struct boot_state *ret _unused_,
			    struct diag *diag _unused_)
{
	return 0;
}

int recognised_read_menu(const struct boot *boot, struct boot_state *ret, struct diag *diag)
{
	static const struct bls_source source = { .dirs = esp_entry_dirs,
						  .reader = BLS_SYSTEMD };
	_cleanup_grub_ struct grub grub = {};
	int r = bls_dir_read(boot, &source, ret, diag);

	if (r >= 0 && ret->entries.n == 0)
		r = grub_find(boot->root, &grub);
	if (r >= 0 && grub.cfg)
		r = grub_read_entries(boot->root, &grub, ret, diag);
	if (r >= 0)
		ret->entries_known = ret->entries.n > 0;
	return r;
}

/* --- lines --- */

/* A file's text, line by line; blanks around a line do not count. */
struct reader {
	const char *path;
	char *text;
	char *line; /* the current one, without its end */
	char *next;
	unsigned number;
};

static void reader_done(struct reader *reader)
{
	free(reader->text);
}

/* 1, or 0 when there is no file that can be read. */
static int reader_open(const struct boot *boot, const char *path, struct reader *ret,
		       struct diag *diag)
{
	int r = root_read(boot->root, path, ROOT_MAX_CMDLINE, &ret->text, NULL);

	if (r == -ENOMEM || r == -ENOENT)
		return r == -ENOMEM ? r : 0;
	if (r < 0) {
		diag_warning(diag, &(struct diag_where){ .path = path }, "%s",
			     root_read_error(r));
		return 0;
	}
	ret->path = path;
	ret->next = ret->text;
	return 1;
}

static bool reader_next(struct reader *reader)
{
	char *end;

	if (!*reader->next)
		return false;
	reader->number++;
	reader->line = reader->next + strspn(reader->next, " \t");
	end = reader->next + strcspn(reader->next, "\n");
	reader->next = end + (*end == '\n');
	*end = '\0';
	while (end > reader->line && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
		*--end = '\0';
	return true;
}

static struct boot_entry *add_entry(struct boot_state *state, const struct reader *reader,
				    const char *name)
{
	struct boot_entry *entry = boot_entries_add(&state->entries);

	if (!entry)
		return NULL;
	entry->id = strdup(name);
	entry->title = strdup(name);
	entry->source = strdup(reader->path);
	entry->args = strdup("");
	entry->line = reader->number;
	entry->ours = true;
	return entry->id && entry->title && entry->source && entry->args ? entry : NULL;
}

static int set(char **field, const char *value)
{
	char *copy = strdup(value);

	if (!copy)
		return -ENOMEM;
	free(*field);
	*field = copy;
	return 0;
}

/* The value of "KEY<separator> value", in any case, or NULL. */
static const char *value_of(const char *line, const char *key, char separator)
{
	size_t n = strlen(key);

	if (strncasecmp(line, key, n) != 0)
		return NULL;
	line += n + strspn(line + n, " \t");
	if (*line != separator)
		return NULL;
	line++;
	return line + strspn(line, " \t");
}

/* The chosen one by name or by number from first, else the first. */
static void mark_default(struct boot_state *state, const char *chosen, unsigned first)
{
	unsigned number = first;

	if (state->entries.n == 0)
		return;
	if (!chosen || str_parse_uint(chosen, &number) < 0)
		number = first;
	for (size_t i = 0; chosen && i < state->entries.n; i++)
		if (streq(state->entries.items[i].id, chosen))
			number = first + (unsigned)i;
	if (number < first || number - first >= state->entries.n)
		number = first;
	state->entries.items[number - first].is_default = true;
	state->entries_known = true;
}

/* --- Limine: CONFIG.md; "/Title" and "key: value", before version 8 ":Title" and "KEY=value"
 */

int recognised_read_limine(const struct boot *boot, struct boot_state *ret, struct diag *diag)
{
	static const char *const paths[] = {
		"/boot/limine.conf",
		"/boot/limine/limine.conf",
		"/boot/EFI/limine/limine.conf",
		"/efi/limine.conf",
		"/efi/EFI/limine/limine.conf",
		"/boot/efi/limine.conf",
		"/boot/limine.cfg",
		"/boot/limine/limine.cfg",
	};
	_cleanup_(reader_done) struct reader reader = {};
	_cleanup_free_ char *chosen = NULL;
	struct boot_entry *entry = NULL;
	bool old = false;
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(paths); i++) {
		r = reader_open(boot, paths[i], &reader, diag);
		old = str_has_suffix(paths[i], ".cfg");
	}
	while (r > 0 && reader_next(&reader)) {
		char separator = old ? '=' : ':', mark = old ? ':' : '/';
		const char *title = reader.line, *value;

		if (*title == mark) {
			title += strspn(title, old ? ":" : "/");
			title += *title == '+';
			entry = add_entry(ret, &reader, title + strspn(title, " \t"));
			if (!entry)
				return -ENOMEM;
		} else if (!entry) {
			value = value_of(reader.line, "default_entry", separator);
			r = value && set(&chosen, value) < 0 ? -ENOMEM : 1;
		} else if ((value = value_of(reader.line, "cmdline", separator)) ||
			   (value = value_of(reader.line, "kernel_cmdline", separator))) {
			entry->line = reader.number;
			r = set(&entry->args, value) < 0 ? -ENOMEM : 1;
		} else if ((value = value_of(reader.line, "path", separator)) ||
			   (value = value_of(reader.line, "kernel_path", separator))) {
			/* "boot():/vmlinuz-linux" */
			value = strchr(value, '/') ? strchr(value, '/') : value;
			r = set(&entry->image, value) < 0 ? -ENOMEM : 1;
		}
	}
	if (r < 0)
		return r;
	/* directories of the menu, and what boots no Linux */
	for (size_t i = ret->entries.n; i-- > 0;)
		ret->entries.items[i].ours = ret->entries.items[i].image != NULL;
	mark_default(ret, chosen, 1);
	return 0;
}

/* --- rEFInd: refind_linux.conf, lines of two quoted texts; "" is a quote in one --- */

static const char *take_quoted(const char *p, struct strbuf *out)
{
	for (p++; *p; p++) {
		if (*p == '"' && p[1] == '"')
			p++;
		else if (*p == '"')
			return p + 1;
		strbuf_addc(out, *p);
	}
	return p;
}

int recognised_read_refind(const struct boot *boot, struct boot_state *ret, struct diag *diag)
{
	_cleanup_(reader_done) struct reader reader = {};
	int r = reader_open(boot, "/boot/refind_linux.conf", &reader, diag);

	while (r > 0 && reader_next(&reader)) {
		_cleanup_strbuf_ struct strbuf title = {}, args = {};
		_cleanup_free_ char *name = NULL;
		struct boot_entry *entry;
		const char *p;

		if (*reader.line != '"')
			continue;
		p = take_quoted(reader.line, &title);
		p += strspn(p, " \t");
		if (*p == '"')
			(void)take_quoted(p, &args); /* the rest is not read by rEFInd either */
		if (strbuf_take(&title, &name, NULL) < 0)
			return -ENOMEM;
		entry = add_entry(ret, &reader, name);
		if (!entry || (args.data && set(&entry->args, args.data) < 0))
			return -ENOMEM;
	}
	mark_default(ret, NULL, 1);
	return r < 0 ? r : 0;
}

/* --- zipl.conf(5): sections with image= and parameters=, or entries of type 1 --- */

static const char *unquoted(char *value)
{
	size_t n = strlen(value);

	if (n < 2 || (*value != '"' && *value != '\'') || value[n - 1] != *value)
		return value;
	value[n - 1] = '\0';
	return value + 1;
}

static int read_zipl_conf(struct reader *reader, struct boot_state *ret)
{
	_cleanup_free_ char *chosen = NULL;
	struct boot_entry *entry = NULL;
	bool defaults = false;
	int r = 0;

	while (r >= 0 && reader_next(reader)) {
		char *value = strchr(reader->line, '=');

		if (*reader->line == '[') {
			reader->line[strcspn(reader->line, "]")] = '\0';
			defaults = streq(reader->line + 1, "defaultboot");
			entry = defaults ? NULL : add_entry(ret, reader, reader->line + 1);
			if (!defaults && !entry)
				return -ENOMEM;
			continue;
		}
		if (!value || *reader->line == '#')
			continue;
		value += 1 + strspn(value + 1, " \t");
		if (defaults && value_of(reader->line, "default", '='))
			r = set(&chosen, unquoted(value));
		else if (entry && value_of(reader->line, "image", '='))
			r = set(&entry->image, unquoted(value));
		else if (entry && value_of(reader->line, "parameters", '=')) {
			entry->line = reader->number;
			r = set(&entry->args, unquoted(value));
		}
	}
	if (r < 0)
		return r;
	/* dumps, and menus that only list others */
	for (size_t i = 0; i < ret->entries.n; i++)
		ret->entries.items[i].ours = ret->entries.items[i].image != NULL;
	mark_default(ret, chosen, 1);
	return 0;
}

int recognised_read_zipl(const struct boot *boot, struct boot_state *ret, struct diag *diag)
{
	static const char *const dirs[] = { "/boot/loader/entries", NULL };
	static const struct bls_source source = { .dirs = dirs, .reader = BLS_SYSTEMD };
	_cleanup_(reader_done) struct reader reader = {};
	int r = reader_open(boot, "/etc/zipl.conf", &reader, diag);

	if (r > 0)
		r = read_zipl_conf(&reader, ret);
	/* with BLS zipl.conf has no sections but [defaultboot] */
	if (r >= 0 && ret->entries.n == 0)
		r = bls_dir_read(boot, &source, ret, diag);
	if (r >= 0)
		ret->entries_known = ret->entries.n > 0;
	return r;
}

/* --- petitboot's kboot.conf: label='image initrd=... arguments' --- */

int recognised_read_kboot(const struct boot *boot, struct boot_state *ret, struct diag *diag)
{
	_cleanup_(reader_done) struct reader reader = {};
	_cleanup_free_ char *chosen = NULL;
	int r = reader_open(boot, "/etc/kboot.conf", &reader, diag);

	if (r == 0)
		r = reader_open(boot, "/boot/kboot.conf", &reader, diag);
	while (r > 0 && reader_next(&reader)) {
		char *equals = strchr(reader.line, '=');
		struct boot_entry *entry;
		const char *value;
		size_t n;

		if (!equals || *reader.line == '#')
			continue;
		*equals = '\0';
		value = unquoted(equals + 1);
		if (streq(reader.line, "default") && set(&chosen, value) < 0)
			return -ENOMEM;
		/* settings for all; the others have no path in their value */
		if (streq(reader.line, "message") || streq(reader.line, "initrd") ||
		    streq(reader.line, "root"))
			continue;
		if (*value != '/' && !strstr(value, ":/"))
			continue;
		entry = add_entry(ret, &reader, reader.line);
		n = strcspn(value, " \t");
		if (!entry || !(entry->image = str_dup_n(value, n)) ||
		    set(&entry->args, value + n + strspn(value + n, " \t")) < 0)
			return -ENOMEM;
	}
	mark_default(ret, chosen, 1);
	return r < 0 ? r : 0;
}
