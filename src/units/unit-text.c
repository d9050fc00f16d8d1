/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "units/unit-text.h"

#include "base/ini.h"
#include "base/root.h"
#include "base/str.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/syscall.h>

/* enough to see that a line is too long where a file of the permitted size ends in one */
enum { BUFFER_SIZE = ROOT_MAX_UNIT + INI_LINE_MAX };

static int read_all(int fd, struct unit_text *text, bool whole)
{
	text->size = 0;
	text->cut = false;
	for (;;) {
		ssize_t n = read(fd, text->data + text->size, BUFFER_SIZE - text->size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		text->size += (size_t)n;
		if (n == 0 || (whole && text->size < BUFFER_SIZE))
			break;
		if (text->size == BUFFER_SIZE) {
			text->cut = true;
			break;
		}
	}
	if (text->budget)
		*text->budget -= MIN(*text->budget, text->size / UNIT_TEXT_COST);
	return text->size > 0 ? 0 : -ENODATA;
}

/* A link to /dev/null masks also in a root that has no devices yet. */
static bool is_null_link(int dir_fd, const char *name)
{
	char link[16];
	ssize_t n = readlinkat(dir_fd, name, link, sizeof(link));

	return n == (ssize_t)strlen("/dev/null") && memcmp(link, "/dev/null", (size_t)n) == 0;
}

int unit_text_read(struct unit_text *text, const struct root *root, int dir_fd,
		   const char *dir_path, const char *name, bool regular)
{
	bool whole = text->whole_reads;
	_cleanup_fd_ int fd = -EBADF;
	int r;

	if (!text->data) {
		text->data = malloc(BUFFER_SIZE);
		if (!text->data)
			return -ENOMEM;
	}
	/*
	 * The slash-less name of a listed regular file cannot lead out of the root. Should it
	 * have become something else meanwhile, a link is not followed and a FIFO does not
	 * block.
	 */
	if (regular)
		root_note(root, ROOT_ACCESS_FILE, dir_path, name);
	if (regular)
		fd = openat(dir_fd, name,
			    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0) {
		if (regular && errno != ELOOP)
			return -errno;
		if (is_null_link(dir_fd, name))
			return -ENODATA;
		r = root_open_file_at(root, dir_fd, dir_path, name, &fd, NULL);
		if (r == -EBADFD)
			return -ENODATA;
		if (r < 0)
			return r;
		whole = false;
	}
	return read_all(fd, text, whole);
}

void unit_text_done(struct unit_text *text)
{
	free(text->data);
	*text = (struct unit_text){};
}

/* as the kernel writes it, getdents64(2) */
struct record {
	uint64_t ino;
	int64_t off;
	unsigned short size;
	unsigned char type;
	char name[];
};

bool unit_listing_next(struct unit_listing *listing, const char **ret_name,
		       unsigned char *ret_type)
{
	for (;;) {
		const struct record *record;

		if (listing->pos >= listing->n) {
			listing->pos = 0;
			listing->n = syscall(SYS_getdents64, listing->fd, listing->buf,
					     UNIT_LISTING_SIZE);
			if (listing->n <= 0)
				return false;
		}
		record = (const struct record *)(const void *)(listing->buf + listing->pos);
		listing->pos += record->size;
		if (streq(record->name, ".") || streq(record->name, ".."))
			continue;
		if (*listing->budget == 0)
			return false;
		(*listing->budget)--;
		*ret_name = record->name;
		*ret_type = record->type;
		return true;
	}
}

void unit_listing_done(struct unit_listing *listing)
{
	closep(&listing->fd);
}
