/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* No boot loader: a container, a kernel booted directly, a target before its loader. */

#include "base/diag.h"
#include "boot/boot.h"
#include "boot/fstab.h"

static int none_probe(const struct root *root _unused_, struct diag *diag _unused_)
{
	return 1;
}

static int none_read(const struct boot *boot _unused_, struct boot_state *ret _unused_,
		     struct diag *diag _unused_)
{
	return 0;
}

static int refuse_unmounted(const char *place, struct diag *diag)
{
	_cleanup_free_ char *hint = NULL;
	int r = str_printf(&hint, "mount %s, then run this again", place);

	if (r >= 0)
		diag_error(diag, &(struct diag_where){ .path = "/etc/fstab", .hint = hint },
			   "%s is not mounted, and no boot loader is found without it", place);
	return r < 0 ? r : -ENOTSUP;
}

static int none_plan(const struct boot *boot, const struct boot_state *state _unused_,
		     const struct boot_words *words, struct changeset *cs _unused_,
		     struct diag *diag)
{
	const char *place;

	if (words->want == BOOT_WANT_NOTHING)
		return 0;
	place = fstab_unmounted_boot(boot->root);
	if (place)
		return refuse_unmounted(place, diag);
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
		   "no boot loader of this system was found: no grub.cfg; no systemd-boot or "
		   "unified kernel image in /efi, /boot, /boot/efi; no config.txt, "
		   "armbianEnv.txt, extlinux.conf; no deployment, and nothing of the others in "
		   "memcg-policy(8)");
	return -ENOTSUP;
}

const struct boot_backend boot_none = {
	.name = "none",
	.title = "no boot loader",
	.probe = none_probe,
	.read = none_read,
	.plan = none_plan,
};
