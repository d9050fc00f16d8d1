/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot/grubenv.h"

#include "base/str.h"

static const char signature[] = "# GRUB Environment Block\n";

int grubenv_check(const char *block, size_t size)
{
	return size == GRUBENV_SIZE && memcmp(block, signature, sizeof(signature) - 1) == 0
		       ? 0
		       : -EBADMSG;
}

/* The end of the line at p: behind its new-line, or the end of the block. */
static const char *line_end(const char *p, const char *end)
{
	for (; p < end; p++) {
		if (*p == '\\' && p + 1 < end)
			p++;
		else if (*p == '\n')
			return p + 1;
	}
	return end;
}

/* Where the padding starts, and the line of a variable if it is set. */
struct place {
	const char *line;
	const char *line_end;
	const char *padding;
};

static struct place find(const char *block, const char *name)
{
	const char *end = block + GRUBENV_SIZE;
	size_t n = strlen(name);
	struct place place = { .padding = end };

	for (const char *p = block + sizeof(signature) - 1; p < end;) {
		const char *next = line_end(p, end);

		/* padding is the last line, and has no end */
		if (*p == '#' && next == end) {
			place.padding = p;
			break;
		}
		if (!place.line && (size_t)(next - p) > n && memcmp(p, name, n) == 0 &&
		    p[n] == '=') {
			place.line = p;
			place.line_end = next;
		}
		p = next;
	}
	return place;
}

size_t grubenv_text_size(const char *data, size_t size)
{
	if (!data || grubenv_check(data, size) < 0)
		return size;
	return (size_t)(find(data, "").padding - data);
}

int grubenv_get(const char *block, const char *name, char **ret)
{
	_cleanup_strbuf_ struct strbuf out = {};
	struct place place = find(block, name);

	if (!place.line)
		return -ENOENT;
	for (const char *p = place.line + strlen(name) + 1; p < place.line_end && *p != '\n';
	     p++) {
		if (*p == '\\' && p + 1 < place.line_end)
			p++;
		strbuf_addc(&out, *p);
	}
	return strbuf_take(&out, ret, NULL);
}

int grubenv_set(const char *block, const char *name, const char *value, char **ret)
{
	struct place place = find(block, name);
	const char *at = place.line ? place.line : place.padding;
	const char *behind = place.line ? place.line_end : place.padding;
	_cleanup_strbuf_ struct strbuf out = {};

	strbuf_add(&out, block, (size_t)(at - block));
	if (value) {
		strbuf_addf(&out, "%s=", name);
		for (const char *p = value; *p; p++) {
			if (*p == '\\' || *p == '\n')
				strbuf_addc(&out, '\\');
			strbuf_addc(&out, *p);
		}
		strbuf_addc(&out, '\n');
	}
	strbuf_add(&out, behind, (size_t)(place.padding - behind));
	if (out.len > GRUBENV_SIZE)
		return -ENOSPC;
	while (out.len < GRUBENV_SIZE && !out.failed)
		strbuf_addc(&out, '#');
	return strbuf_take(&out, ret, NULL);
}
