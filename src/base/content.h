/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "base/macro.h"

struct root;

/* The bytes of a file. data NULL: there is no file. */
struct content {
	char *data;
	size_t size;
};

bool content_equal(const struct content *a, const struct content *b) _pure_;
void content_done(struct content *content);
#define _cleanup_content_ _cleanup_(content_done)

/* The file at path, or no file (also when a directory above is missing). Owned by the caller.
 */
int content_read(const struct root *root, const char *path, size_t max,
		 struct content *ret) _must_check_;
