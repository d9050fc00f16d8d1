/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot/efi-option.h"

#include "boot/image.h"

#include <stdio.h>

#define EFIVARS "/sys/firmware/efi/efivars"
#define GLOBAL	"8be4df61-93ca-11d2-aa0d-00e098032b8c"

enum { ATTRIBUTES = 4, ACTIVE = 1, MAX_ORDER = 256 };

struct option {
	char *title;
	char *args;
	bool active;
};

static void option_done(struct option *option)
{
	free(option->title);
	free(option->args);
}

static int read_variable(const struct root *root, const char *name, unsigned char **ret,
			 size_t *ret_size)
{
	_cleanup_free_ char *path = NULL;
	char *data;
	int r;

	if (str_printf(&path, EFIVARS "/%s-" GLOBAL, name) < 0)
		return -ENOMEM;
	r = root_read(root, path, IMAGE_MAX_EFIVAR, &data, ret_size);
	if (r < 0)
		return r;
	*ret = (unsigned char *)data;
	return 0;
}

static unsigned le16(const unsigned char *p)
{
	return p[0] | (unsigned)p[1] << 8;
}

/* The entry of that number; -EBADMSG when it starts no kernel with a line. */
static int read_option(const struct root *root, unsigned number, struct option *ret)
{
	_cleanup_(option_done) struct option option = {};
	_cleanup_free_ unsigned char *data = NULL;
	char name[16];
	size_t size, at = ATTRIBUTES + 6, paths;
	int r;

	(void)snprintf(name, sizeof(name), "Boot%04X", number & 0xffff); /* fits */
	r = read_variable(root, name, &data, &size);
	if (r < 0)
		return r;
	if (size < at)
		return -EBADMSG;
	option.active = data[ATTRIBUTES] & ACTIVE;
	paths = le16(data + ATTRIBUTES + 4);
	r = image_utf16(data + at, size - at, &option.title);
	while (at + 1 < size && le16(data + at) != 0)
		at += 2;
	at += 2 + paths;
	if (r < 0 || at > size)
		return r < 0 ? r : -EBADMSG;
	r = image_utf16(data + at, size - at, &option.args);
	if (r < 0)
		return r;
	/* other programs have options, too */
	if (!strstr(option.args, "root=") && !strstr(option.args, "initrd="))
		return -EBADMSG;
	*ret = option;
	option = (struct option){};
	return 0;
}

/* The number in a variable of one, BootCurrent or BootNext: -1 when there is none. */
static int read_number(const struct root *root, const char *name)
{
	_cleanup_free_ unsigned char *data = NULL;
	size_t size;

	return read_variable(root, name, &data, &size) >= 0 && size >= ATTRIBUTES + 2
		       ? (int)le16(data + ATTRIBUTES)
		       : -1;
}

int efi_option_probe(const struct root *root, struct diag *diag _unused_)
{
	_cleanup_(option_done) struct option option = {};
	int current = root_mode(root) != ROOT_OFFLINE ? read_number(root, "BootCurrent") : -1;
	int r = current >= 0 ? read_option(root, (unsigned)current, &option) : -ENOENT;

	return r == -ENOMEM ? r : r >= 0;
}

static int add_option(const struct root *root, unsigned number, bool next,
		      struct boot_state *state)
{
	_cleanup_(option_done) struct option option = {};
	struct boot_entry *entry;
	int r = read_option(root, number, &option);

	if (r < 0)
		return r == -ENOMEM ? r : 0;
	entry = boot_entries_add(&state->entries);
	if (!entry)
		return -ENOMEM;
	if (str_printf(&entry->id, "Boot%04X", number) < 0 ||
	    str_printf(&entry->source, EFIVARS "/Boot%04X-" GLOBAL, number) < 0)
		return -ENOMEM;
	entry->title = TAKE_PTR(option.title);
	entry->args = TAKE_PTR(option.args);
	entry->line = 1;
	entry->is_default = next;
	entry->ours = option.active;
	return 0;
}

int efi_option_read(const struct boot *boot, struct boot_state *ret, struct diag *diag _unused_)
{
	int next = read_number(boot->root, "BootNext");
	_cleanup_free_ unsigned char *order = NULL;
	size_t size = 0;
	int r = read_variable(boot->root, "BootOrder", &order, &size);

	if (r < 0)
		return r == -ENOMEM ? r : 0;
	for (size_t i = ATTRIBUTES; r >= 0 && i + 1 < size && i < ATTRIBUTES + 2 * MAX_ORDER;
	     i += 2) {
		unsigned number = le16(order + i);

		/* the firmware takes the first that it can start */
		r = add_option(boot->root, number,
			       next < 0 ? i == ATTRIBUTES : number == (unsigned)next, ret);
	}
	if (r >= 0)
		ret->entries_known = ret->entries.n > 0;
	return r;
}
