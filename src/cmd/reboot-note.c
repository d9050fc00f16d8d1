/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/reboot-note.h"

#include "base/atomic.h"
#include "base/str.h"

#define NOTE	 "/run/reboot-required"
#define PACKAGES NOTE ".pkgs"
#define OUR_NAME "memcg-policy\n"

enum { MAX_NOTE = 64 * 1024 };

/* Our line of the list, or NULL. */
static const char *find_name(const struct content *packages)
{
	for (const char *line = packages->data; line && *line;) {
		size_t n = strcspn(line, "\n");

		n += line[n] == '\n';
		if (n == strlen(OUR_NAME) && memcmp(line, OUR_NAME, n) == 0)
			return line;
		line += n;
	}
	return NULL;
}

static int put(const struct root *root, const char *path, const struct content *old,
	       const char *text, size_t size)
{
	const struct content new = { .data = size > 0 ? (char *)text : NULL, .size = size };
	int r = atomic_put(root, path, old, &new, 0644, 0);

	return MIN(r, 0);
}

static int add(const struct root *root, const struct content *note,
	       const struct content *packages)
{
	static const char text[] = "*** System restart required ***\n";
	_cleanup_strbuf_ struct strbuf names = {};
	int r = 0;

	/* a note without names is somebody's who keeps no list: nothing to add, and nothing
	 * that could be taken out again */
	if (find_name(packages) || (note->data && packages->size == 0))
		return 0;
	strbuf_add(&names, packages->data ? packages->data : "", packages->size);
	if (names.len > 0 && names.data[names.len - 1] != '\n')
		strbuf_addc(&names, '\n');
	strbuf_adds(&names, OUR_NAME);
	if (names.failed)
		return -ENOMEM;
	r = put(root, PACKAGES, packages, names.data, names.len);
	if (r >= 0 && !note->data)
		r = put(root, NOTE, note, text, sizeof(text) - 1);
	return r;
}

static int take_out(const struct root *root, const struct content *note,
		    const struct content *packages)
{
	const char *line = find_name(packages);
	_cleanup_strbuf_ struct strbuf names = {};
	size_t before;
	int r;

	if (!line)
		return 0;
	before = (size_t)(line - packages->data);
	strbuf_add(&names, packages->data, before);
	strbuf_adds(&names, line + strlen(OUR_NAME));
	if (names.failed)
		return -ENOMEM;
	r = put(root, PACKAGES, packages, names.data, names.len);
	/* the last name goes, and the note with it */
	if (r >= 0 && names.len == 0)
		r = put(root, NOTE, note, NULL, 0);
	return r;
}

int reboot_note_put(const struct root *root, bool required)
{
	_cleanup_content_ struct content note = {}, packages = {};
	int r;

	if (root_mode(root) != ROOT_LIVE || !root_exists(root, "/etc/debian_version"))
		return 0;
	r = content_read(root, NOTE, MAX_NOTE, &note);
	if (r >= 0)
		r = content_read(root, PACKAGES, MAX_NOTE, &packages);
	if (r < 0)
		return r;
	return required ? add(root, &note, &packages) : take_out(root, &note, &packages);
}
