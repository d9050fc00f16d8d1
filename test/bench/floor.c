/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The floor for "units": opens and reads every file of a tree once, and does nothing with it.
 */

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static char buf[1024 * 1024];
static unsigned long long bytes;

static void walk(int fd)
{
	DIR *dir = fdopendir(fd);
	struct dirent *de;

	if (!dir)
		return;
	while ((de = readdir(dir))) {
		struct stat st;
		ssize_t n;
		int child;

		if (de->d_name[0] == '.')
			continue;
		if (de->d_type == DT_DIR) {
			child = openat(fd, de->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
			if (child >= 0)
				walk(child);
			continue;
		}
		child = openat(fd, de->d_name, O_RDONLY | O_CLOEXEC);
		if (child < 0)
			continue;
		if (fstat(child, &st) == 0) {
			n = read(child, buf, sizeof(buf));
			bytes += n > 0 ? (unsigned long long)n : 0;
		}
		close(child);
	}
	closedir(dir);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		int fd = open(argv[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (fd >= 0)
			walk(fd);
	}
	printf("%llu\n", bytes);
	return 0;
}
