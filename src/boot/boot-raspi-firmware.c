/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Debian's raspi-firmware: its hook makes cmdline.txt anew at every change of kernel or initrd,
 * and puts what /etc/default/raspi-extra-cmdline holds at the end.
 */

#include "base/diag.h"
#include "boot/formats.h"
#include "boot/text.h"
#include "boot/tool.h"

#define EXTRA "/etc/default/raspi-extra-cmdline"
#define HOOK  "/etc/kernel/postinst.d/z50-raspi-firmware"

static const struct text_kind kind = {
	.find = format_find_all_lines,
	.max = ROOT_MAX_CMDLINE,
};

static int raspi_probe(const struct root *root, struct diag *diag _unused_)
{
	return root_exists(root, HOOK) && (root_exists(root, "/boot/firmware/config.txt") ||
					   root_exists(root, "/boot/firmware/cmdline.txt"));
}

static int raspi_read(const struct boot *boot, struct boot_state *ret, struct diag *diag)
{
	_cleanup_free_ char *text = NULL;
	int r = boot_rpi.read(boot, ret, diag);

	if (r < 0)
		return r;
	/* what the file says now is what was generated */
	free(ret->configured_path);
	ret->configured_path = NULL;
	ret->configured_line = 0;
	ret->configured = CMDLINE_NONE;
	r = root_read(boot->root, EXTRA, kind.max, &text, NULL);
	if (r == -ENOENT)
		return 0;
	if (r >= 0)
		r = text_request(text, &ret->configured, NULL);
	if (r >= 0 && ret->configured != CMDLINE_NONE &&
	    !(ret->configured_path = strdup(EXTRA)))
		r = -ENOMEM;
	return r == -ENOMEM ? r : 0;
}

static int raspi_plan_refresh(const struct boot *boot, const struct boot_state *state,
			      const struct boot_words *words, bool edited, struct changeset *cs)
{
	static const char *const argv[] = { "/usr/sbin/update-initramfs", "-u", "-k", "all",
					    NULL };

	if (!edited && boot_n_differing(state, words->want) == 0)
		return 0;
	return tool_plan(boot, cs, argv);
}

static int raspi_plan(const struct boot *boot, const struct boot_state *state,
		      const struct boot_words *words, struct changeset *cs, struct diag *diag)
{
	const char *word = NULL;
	int r = text_plan(boot, &kind, EXTRA, words, cs, diag);

	if (r == -ENOENT) {
		if (words->want == BOOT_WANT_OFF && !(words->flags & CMDLINE_NO_DISABLE))
			word = "cgroup_disable=memory\n";
		else if (words->want == BOOT_WANT_ON && words->flags & CMDLINE_WRITE_ENABLE)
			word = "cgroup_enable=memory\n";
		r = word ? changeset_edit(cs, boot->root, EXTRA, kind.max, word, strlen(word),
					  0644, 0, diag)
			 : 0;
	}
	return r < 0 ? r : raspi_plan_refresh(boot, state, words, cs->n > 0, cs);
}

static int raspi_refresh(const struct boot *boot, const struct boot_words *words _unused_,
			 struct diag *diag)
{
	static const char *const argv[] = { "/usr/sbin/update-initramfs", "-u", "-k", "all",
					    NULL };

	return tool_run(boot, argv, diag);
}

static int raspi_take_back(const struct boot *boot _unused_, const char *path,
			   const struct content *before, const struct content *written,
			   const struct content *now, struct content *ret, struct diag *diag)
{
	static char nothing[] = "";
	const struct content empty = { nothing, 0 };

	return text_take_back(&kind, path, before->data ? before : &empty, written, now, ret,
			      diag);
}

const struct boot_backend boot_raspi_firmware = {
	.name = "raspi-firmware",
	.title = "Debian's raspi-firmware",
	.sign = "Debian's hook z50-raspi-firmware",
	.by = BOOT_BY_OTHER,
	.tried = BOOT_TRIED_FIXTURES,
	.probe = raspi_probe,
	.read = raspi_read,
	.plan = raspi_plan,
	.plan_refresh = raspi_plan_refresh,
	.refresh = raspi_refresh,
	.verify = text_verify,
	.take_back = raspi_take_back,
};
