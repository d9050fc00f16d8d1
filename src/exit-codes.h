/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The exit statuses: a promise to scripts, each one in memcg-policy(8), "EXIT STATUS". */
enum exit_code {
	EXIT_OK = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_CHANGE_REQUIRED = 3, /* check: apply would change the configuration or an entry */
	EXIT_REBOOT_REQUIRED = 4, /* check: all in line, a full reboot is needed */
	EXIT_IMPOSSIBLE = 5,	  /* the decision cannot be had here */
	EXIT_UNENFORCED = 6,	 /* check, units: limits or protections that are not enforced */
	EXIT_REFUSED = 7,	 /* unsafe without --force */
	EXIT_NOISY = 8,		 /* bench: too noisy to tell */
	EXIT_NOT_COMPARABLE = 9, /* bench: results not comparable */
};
