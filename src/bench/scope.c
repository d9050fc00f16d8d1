/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * systemd allows groups only below one that it has delegated ("single writer"), so bench runs
 * itself again in a scope with Delegate=yes. systemd removes the scope with all that is in it
 * when the last process ends, also if that was killed.
 */

#include "bench/arms.h"

#include "base/root.h"
#include "facts/running.h"

#define SCOPE	    "memcg-policy-bench-"
#define SYSTEMD_RUN "/usr/bin/systemd-run"

/* The words this program was started with, from /proc: NUL-separated. */
static int own_words(const struct root *root, char **ret_text, struct strv *ret)
{
	size_t size;
	int r = root_read(root, "/proc/self/cmdline", ROOT_MAX_CMDLINE, ret_text, &size);

	if (r < 0)
		return r;
	for (size_t at = 0; at < size; at += strlen(*ret_text + at) + 1)
		strv_add(ret, *ret_text + at);
	return strv_error(ret);
}

static bool in_own_scope(const struct root *root, const struct running *running)
{
	_cleanup_free_ char *group = NULL;
	const char *last;

	/* the name systemd gave is in every tree it manages, so also in the one of memory */
	if (arms_own_group(root, "self", running->hierarchy == HIERARCHY_V2, &group) < 0)
		return false;
	last = strstr(group, "/" SCOPE);
	return last && strstr(last, ".scope");
}

int arms_enter_scope(const struct root *root, const struct running *running)
{
	_cleanup_strv_ struct strv own = {}, words = {};
	_cleanup_free_ char *text = NULL, *program = NULL;
	int r;

	if (geteuid() != 0 || running->memcg != MEMCG_ON ||
	    !root_exists(root, "/run/systemd/system") || in_own_scope(root, running))
		return 0;
	r = own_words(root, &text, &own);
	if (r >= 0)
		r = root_readlink(root, "/proc/self/exe", &program);
	if (r < 0)
		return r;
	strv_add(&words, SYSTEMD_RUN);
	strv_add(&words, "--scope");
	strv_add(&words, "--quiet");
	strv_add(&words, "--collect");
	strv_addf(&words, "--unit=" SCOPE "%d", (int)getpid());
	strv_add(&words, "--slice=-.slice"); /* as near to the root as can be */
	strv_add(&words, "--property=Delegate=yes");
	strv_add(&words, "--property=MemoryAccounting=yes"); /* v1: or it is in no group */
	strv_add(&words, "--");
	strv_add(&words, program);
	for (size_t i = 1; i < own.n; i++)
		strv_add(&words, own.items[i]);
	r = strv_error(&words);
	if (r < 0)
		return r;
	(void)execv(SYSTEMD_RUN, words.items);
	return -errno;
}
