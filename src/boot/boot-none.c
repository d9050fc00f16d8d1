/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* No boot loader: a container, a kernel booted directly, a target before its loader. */

#include "base/diag.h"
#include "boot/boot.h"

static int none_probe(const struct root *root _unused_, struct diag *diag _unused_)
{
	return 1;
}

static int none_read(const struct boot *boot _unused_, struct boot_state *ret _unused_,
		     struct diag *diag _unused_)
{
	return 0;
}

static int none_plan(const struct boot *boot, const struct boot_state *state _unused_,
		     const struct boot_words *words, struct changeset *cs _unused_,
		     struct diag *diag)
{
	if (words->want == BOOT_WANT_NOTHING)
		return 0;
	/* a target gets its loader later; the policy is there then, and the kernel hook speaks
	 */
	if (root_mode(boot->root) == ROOT_OFFLINE) {
		diag_notice(diag, NULL,
			    "no boot loader in this root yet: only the policy is stored");
		return 0;
	}
	diag_error(diag,
		   &(struct diag_where){
			   .hint = words->want == BOOT_WANT_OFF
					   ? "add cgroup_disable=memory to the kernel command "
					     "line where this system is started from"
					   : "take cgroup_disable=memory off the kernel "
					     "command line where this system is started from",
		   },
		   "no boot loader of this system was found (looked for GRUB)");
	return -ENOTSUP;
}

const struct boot_backend boot_none = {
	.name = "none",
	.title = "no boot loader",
	.probe = none_probe,
	.read = none_read,
	.plan = none_plan,
};
