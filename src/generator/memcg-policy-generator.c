/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A systemd generator (systemd.generator(7)): runs at boot and at each daemon-reload, before
 * units are loaded, and all of the boot waits for it. Says nothing unless it fails.
 */

#include "base/root.h"
#include "base/str.h"
#include "generator/closed.h"

#include <stdio.h>

/* There is no journal yet; the kernel's log is what generators have. */
static void log_failure(int error)
{
	FILE *f = fopen("/dev/kmsg", "we");

	if (!f)
		return;
	/* nobody is left to tell if this fails */
	(void)fprintf(f, "<4>memcg-policy-generator: FailClosed= has no effect: %s\n",
		      strerror(-error));
	(void)fclose(f);
}

/* For a user manager, or before the root is mounted, there is nothing to do. */
static bool is_elsewhere(void)
{
	const char *scope = getenv("SYSTEMD_SCOPE"), *initrd = getenv("SYSTEMD_IN_INITRD");

	return (scope && !streq(scope, "system")) || (initrd && streq(initrd, "1")) ||
	       access("/etc/initrd-release", F_OK) == 0;
}

int main(int argc, char **argv)
{
	_cleanup_root_ struct root *root = NULL;
	_cleanup_closed_ struct closed closed = {};
	int r;

	if (argc < 2 || is_elsewhere())
		return EXIT_SUCCESS;
	r = root_open("/", ROOT_LIVE, &root);
	if (r >= 0)
		r = closed_find(root, &closed);
	if (r >= 0 && closed.n > 0)
		r = closed_write(&closed, argv[1]);
	if (r < 0)
		log_failure(r);
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
