/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot/formats.h"

#include "base/str.h"

/* The line that starts at offset: [*start, *end) without its line end; returns the next one. */
static size_t next_line(const char *text, size_t size, size_t offset, size_t *start,
			size_t *end)
{
	const char *eol = memchr(text + offset, '\n', size - offset);
	size_t stop = eol ? (size_t)(eol - text) : size;

	*start = offset;
	*end = stop > offset && text[stop - 1] == '\r' ? stop - 1 : stop;
	return stop + 1;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static size_t skip_blanks(const char *text, size_t start, size_t end)
{
	while (start < end && is_blank(text[start]))
		start++;
	return start;
}

int format_find_first_line(const char *text, size_t size, const char *path _unused_,
			   struct lines *ret, struct diag *diag _unused_)
{
	_cleanup_lines_ struct lines lines = {};
	size_t start, end;
	int r;

	(void)next_line(text, size, 0, &start, &end);
	r = lines_add(&lines, 0, start, end - start, 1);
	if (r < 0)
		return r;
	*ret = lines;
	lines = (struct lines){};
	return 0;
}

int format_find_all_lines(const char *text, size_t size, const char *path _unused_,
			  struct lines *ret, struct diag *diag _unused_)
{
	_cleanup_lines_ struct lines lines = {};
	unsigned line = 1;
	bool comments = false;
	int r;

	for (size_t i = 0; i < size; line++) {
		size_t start, end, p;

		i = next_line(text, size, i, &start, &end);
		p = skip_blanks(text, start, end);
		if (p < end && text[p] == '#')
			comments = true;
		if (p == end || text[p] == '#')
			continue;
		r = lines_add(&lines, 0, start, end - start, line);
		if (r < 0)
			return r;
	}
	/* no words: where they would go, which must not be behind a comment */
	if (lines.n == 0 && (!comments || text[size - 1] == '\n')) {
		r = lines_add(&lines, 0, comments ? size : 0, 0, line);
		if (r < 0)
			return r;
	}
	*ret = lines;
	lines = (struct lines){};
	return 0;
}

/* --- armbianEnv.txt --- */

bool format_env_value(const char *text, size_t size, const char *name, struct line_piece *ret)
{
	size_t n = strlen(name);
	unsigned line = 1;
	bool found = false;

	for (size_t i = 0; i < size; line++) {
		size_t start, end;

		i = next_line(text, size, i, &start, &end);
		start = skip_blanks(text, start, end);
		if (end - start <= n || memcmp(text + start, name, n) != 0 ||
		    text[start + n] != '=')
			continue;
		*ret = (struct line_piece){
			.offset = start + n + 1,
			.size = end - start - n - 1,
			.line = line,
		};
		found = true;
	}
	return found;
}

int format_find_extraargs(const char *text, size_t size, const char *path _unused_,
			  struct lines *ret, struct diag *diag _unused_)
{
	_cleanup_lines_ struct lines lines = {};
	struct line_piece piece;

	if (format_env_value(text, size, "extraargs", &piece)) {
		int r = lines_add(&lines, 0, piece.offset, piece.size, piece.line);

		if (r < 0)
			return r;
	}
	*ret = lines;
	lines = (struct lines){};
	return 0;
}

/* --- extlinux.conf --- */

/* Whether the line's first word is keyword; *at then is behind it and its blanks. */
static bool takes(const char *text, size_t end, const char *keyword, size_t *at)
{
	size_t n = strlen(keyword);

	if (end - *at < n || strncasecmp(text + *at, keyword, n) != 0)
		return false;
	if (*at + n < end && !is_blank(text[*at + n]))
		return false;
	*at = skip_blanks(text, *at + n, end);
	return true;
}

static struct extlinux_label *add_label(struct extlinux *extlinux)
{
	if (!GROW(extlinux->labels, extlinux->n, extlinux->alloc))
		return NULL;
	extlinux->labels[extlinux->n] = (struct extlinux_label){ .group = -1 };
	return &extlinux->labels[extlinux->n++];
}

static int set_text(char **field, const char *text, size_t start, size_t end)
{
	char *copy;

	while (end > start && is_blank(text[end - 1]))
		end--;
	copy = str_dup_n(text + start, end - start);
	if (!copy)
		return -ENOMEM;
	free(*field);
	*field = copy;
	return 0;
}

struct extlinux_reader {
	struct extlinux *extlinux;
	struct extlinux_label *label; /* of the lines that follow */
	char *default_name;
	ssize_t global; /* group of an APPEND before the first label */
};

static int take_append(struct extlinux_reader *reader, const char *text, size_t at, size_t end,
		       unsigned line)
{
	struct lines *lines = &reader->extlinux->lines;
	ssize_t group = -1;

	if (end - at != 1 || text[at] != '-') {
		int r = lines_add(lines, lines->n_groups, at, end - at, line);

		if (r < 0)
			return r;
		group = (ssize_t)lines->n_groups - 1;
	}
	if (reader->label) {
		reader->label->group = group;
		reader->label->line = line;
	} else {
		reader->global = group;
	}
	return 0;
}

static int take_line(struct extlinux_reader *reader, const char *text, size_t at, size_t end,
		     unsigned line)
{
	struct extlinux_label *label = reader->label;

	if (takes(text, end, "label", &at)) {
		reader->label = add_label(reader->extlinux);
		if (!reader->label)
			return -ENOMEM;
		reader->label->line = line;
		reader->label->group = reader->global;
		return set_text(&reader->label->name, text, at, end);
	}
	if (takes(text, end, "append", &at))
		return take_append(reader, text, at, end, line);
	if (takes(text, end, "default", &at) || takes(text, end, "ontimeout", &at))
		return reader->default_name ? 0
					    : set_text(&reader->default_name, text, at, end);
	if (takes(text, end, "include", &at))
		reader->extlinux->includes = true;
	if (!label)
		return 0;
	if (takes(text, end, "linux", &at) || takes(text, end, "kernel", &at))
		return set_text(&label->kernel, text, at, end);
	if (takes(text, end, "menu", &at)) {
		if (takes(text, end, "label", &at))
			return set_text(&label->title, text, at, end);
		if (takes(text, end, "default", &at))
			label->is_default = true;
		if (takes(text, end, "include", &at))
			reader->extlinux->includes = true;
	}
	return 0;
}

static void mark_default(struct extlinux *extlinux, const char *name)
{
	for (size_t i = 0; i < extlinux->n; i++)
		if (extlinux->labels[i].is_default)
			return;
	for (size_t i = 0; name && i < extlinux->n; i++)
		if (strcasecmp(extlinux->labels[i].name, name) == 0) {
			extlinux->labels[i].is_default = true;
			return;
		}
	if (extlinux->n > 0)
		extlinux->labels[0].is_default = true;
}

int extlinux_parse(const char *text, size_t size, struct extlinux *ret)
{
	_cleanup_extlinux_ struct extlinux extlinux = {};
	struct extlinux_reader reader = { .extlinux = &extlinux, .global = -1 };
	unsigned line = 1;
	int r = 0;

	for (size_t i = 0; i < size && r >= 0; line++) {
		size_t start, end;

		i = next_line(text, size, i, &start, &end);
		start = skip_blanks(text, start, end);
		if (start < end && text[start] != '#')
			r = take_line(&reader, text, start, end, line);
	}
	if (r >= 0)
		mark_default(&extlinux, reader.default_name);
	free(reader.default_name);
	if (r < 0)
		return r;
	*ret = extlinux;
	extlinux = (struct extlinux){};
	return 0;
}

void extlinux_done(struct extlinux *extlinux)
{
	for (size_t i = 0; i < extlinux->n; i++) {
		free(extlinux->labels[i].name);
		free(extlinux->labels[i].title);
		free(extlinux->labels[i].kernel);
	}
	free(extlinux->labels);
	lines_done(&extlinux->lines);
	*extlinux = (struct extlinux){};
}

int format_find_append(const char *text, size_t size, const char *path _unused_,
		       struct lines *ret, struct diag *diag _unused_)
{
	_cleanup_extlinux_ struct extlinux extlinux = {};
	int r = extlinux_parse(text, size, &extlinux);

	if (r < 0)
		return r;
	*ret = extlinux.lines;
	extlinux.lines = (struct lines){};
	return 0;
}
