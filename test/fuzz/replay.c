/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Runs a fuzz target over every file of the folders given, so that each corpus is an ordinary
 * test. */

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int run_file(const char *path)
{
	static uint8_t data[4 << 20];
	FILE *f = fopen(path, "rbe");
	size_t size;

	if (!f)
		return -1;
	size = fread(data, 1, sizeof(data), f);
	(void)fclose(f); /* only read */
	return LLVMFuzzerTestOneInput(data, size);
}

int main(int argc, char **argv)
{
	unsigned n = 0;

	for (int i = 1; i < argc; i++) {
		DIR *dir = opendir(argv[i]);
		struct dirent *de;

		if (!dir) {
			perror(argv[i]);
			return 1;
		}
		while ((de = readdir(dir))) {
			char path[4096];

			if (de->d_name[0] == '.')
				continue;
			(void)snprintf(path, sizeof(path), "%s/%s", argv[i],
				       de->d_name); /* fits */
			if (run_file(path) < 0)
				return 1;
			n++;
		}
		(void)closedir(dir); /* only read */
	}
	printf("%u inputs replayed\n", n);
	return n > 0 ? 0 : 1;
}
