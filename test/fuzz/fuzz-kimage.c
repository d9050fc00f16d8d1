/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/root.h"
#include "facts/kimage.h"

#include <fcntl.h>
#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Headers that point anywhere, streams that are none: every answer is one of the answers. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *release = NULL, *header = NULL;
	_cleanup_root_ struct root *root = NULL;
	_cleanup_fd_ int fd = -EBADF;
	enum answer answer;
	char name[32];

	(void)snprintf(name, sizeof(name), "fuzz-kimage.%d", (int)getpid()); /* fits */
	if (root_open("/tmp", ROOT_OFFLINE, &root) < 0)
		return 0;
	fd = openat(root_fd(root), name, O_CREAT | O_TRUNC | O_WRONLY | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		return 0;
	if (kimage_honours_enable(root, name, NULL, &answer, &release) >= 0 &&
	    (answer <= ANSWER_NOT_LOOKED || answer >= _ANSWER_MAX))
		abort();
	if (kimage_header_release(root, name, &header) >= 0 && !*header)
		abort();
	(void)unlinkat(root_fd(root), name, 0); /* a scratch file */
	return 0;
}
