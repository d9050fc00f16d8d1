/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot/refuse.h"

#include "base/diag.h"
#include "base/root.h"
#include "facts/running.h"

static int check_container(const struct refuse_input *in, struct diag *diag)
{
	const char *container = in->running->container;

	if (root_mode(in->root) != ROOT_LIVE || !container || streq(container, "none") ||
	    streq(container, "unknown"))
		return 0;
	diag_error(diag,
		   &(struct diag_where){ .hint = "run this on the host, or prepare an image "
						 "with --root=DIR" },
		   "this is a container (%s): its kernel is booted elsewhere", container);
	return 0;
}

int refuse_check(const struct refuse_input *in, bool force, struct diag *diag)
{
	static int (*const checks[])(const struct refuse_input *in, struct diag *diag) = {
		check_container,
	};
	int r = 0;

	for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(checks); i++)
		r = checks[i](in, diag);
	if (r < 0)
		return r;
	if (!force)
		return diag_count(diag, DIAG_ERROR) > 0 ? -EPERM : 0;
	for (size_t i = 0; i < diag->n; i++)
		if (diag->messages[i].level == DIAG_ERROR)
			diag->messages[i].level = DIAG_WARNING;
	return 0;
}
