/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot/refuse.h"

#include "base/diag.h"
#include "base/root.h"
#include "base/str.h"
#include "facts/kernels.h"
#include "facts/running.h"
#include "policy/need.h"

#include <stdio.h>

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

/* Whether more than our own policy would change: the line that the kernel gets. */
static bool changes_boot(const struct refuse_input *in)
{
	for (size_t i = 0; i < in->changes->n; i++)
		if (!str_skip_prefix(in->changes->edits[i].path, "/etc/memcg-policy/"))
			return true;
	return false;
}

static int check_tpm(const struct refuse_input *in, struct diag *diag)
{
	return changes_boot(in) ? refuse_tpm(in, diag) : 0;
}

/* Limits that are stored or set: each consumer once, with the first places. */
static int check_limits(const struct refuse_input *in, struct diag *diag)
{
	if (in->changes->want != BOOT_WANT_OFF)
		return 0;
	for (size_t i = 0; in->needs && i < in->needs->n; i++) {
		const struct need *need = &in->needs->items[i];
		const struct need_evidence *first = need->evidence;
		struct diag_where where = {
			.hint = "memcg-policy needs lists them; --force switches memcg off all "
				"the same",
		};

		if (need->in_use != NEED_YES || need->n_limits == 0)
			continue;
		if (need->n_evidence > 0) {
			where.path = first->path;
			where.line = first->line;
		}
		diag_error(diag, &where, "%s: %zu memory limit%s would no longer hold (%s). %s",
			   need->title, need->n_limits, need->n_limits == 1 ? "" : "s",
			   need->n_evidence > 0 ? first->text : "?", need->effect);
	}
	return 0;
}

/* raspberrypi/linux 2829, 2908, 2941: 4.14 to 4.19 leak memory with memcg switched off. */
static bool leaks_when_off(const char *release)
{
	unsigned major, minor;

	if (!release || sscanf(release, "%u.%u.", &major, &minor) != 2)
		return false;
	return major == 4 && minor >= 14 && minor <= 19 &&
	       (strstr(release, "-v7") || strstr(release, "-v8") || strstr(release, "-rpi") ||
		strstr(release, "-raspi") || release[strlen(release) - 1] == '+');
}

static int check_leak(const struct refuse_input *in, struct diag *diag)
{
	const struct kernels *kernels = in->boot->kernels;

	if (in->changes->want != BOOT_WANT_OFF)
		return 0;
	for (size_t i = 0; kernels && i < kernels->n; i++)
		if (leaks_when_off(kernels->items[i].release)) {
			diag_error(diag,
				   &(struct diag_where){ .hint = "update the kernel first" },
				   "Raspberry Pi kernels 4.14 to 4.19 leak memory with memcg "
				   "switched off, and this root has %s",
				   kernels->items[i].release);
			return 0;
		}
	return 0;
}

int refuse_check(const struct refuse_input *in, bool force, struct diag *diag)
{
	static int (*const checks[])(const struct refuse_input *in, struct diag *diag) = {
		check_container,
		check_tpm,
		check_limits,
		check_leak,
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
