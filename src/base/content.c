/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/content.h"

#include "base/root.h"

#include <string.h>

bool content_equal(const struct content *a, const struct content *b)
{
	if (!a->data || !b->data)
		return !a->data && !b->data;
	return a->size == b->size && memcmp(a->data, b->data, a->size) == 0;
}

void content_done(struct content *content)
{
	free(content->data);
	*content = (struct content){};
}

int content_read(const struct root *root, const char *path, size_t max, struct content *ret)
{
	struct content content = {};
	int r = root_read(root, path, max, &content.data, &content.size);

	if (r < 0 && r != -ENOENT)
		return r;
	*ret = content;
	return 0;
}
