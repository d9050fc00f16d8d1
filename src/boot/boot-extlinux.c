/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * extlinux.conf, read by U-Boot's distro boot and by syslinux. Written by update-extlinux
 * (Alpine) out of default_kernel_opts, or by hand (Jetson and other boards): then every APPEND
 * is edited where it stands. Debian's u-boot-menu is boot-u-boot-menu.c.
 */

#include "base/diag.h"
#include "boot/extlinux-read.h"
#include "boot/formats.h"
#include "boot/shell-text.h"
#include "boot/text.h"
#include "boot/tool.h"

/* --- Alpine --- */

#define UPDATE_CONF "/etc/update-extlinux.conf"
#define ALPINE_MENU "/boot/extlinux.conf"

static const struct shell_text options = { UPDATE_CONF, "default_kernel_opts", NULL };

static int alpine_probe(const struct root *root, struct diag *diag _unused_)
{
	return root_exists(root, UPDATE_CONF) && tool_exists(root, "update-extlinux") &&
	       (root_exists(root, ALPINE_MENU) || root_mode(root) == ROOT_OFFLINE);
}

static int alpine_read(const struct boot *boot, struct boot_state *ret, struct diag *diag)
{
	int r = shell_text_read(boot, &options, ret);

	return r < 0 ? r : extlinux_read(boot, ALPINE_MENU, ret, diag);
}

static int alpine_plan_refresh(const struct boot *boot, const struct boot_state *state,
			       const struct boot_words *words, bool edited,
			       struct changeset *cs)
{
	static const char *const names[] = { "update-extlinux", NULL };
	_cleanup_free_ char *tool = NULL;
	int r;

	if (!edited && boot_n_differing(state, words->want) == 0)
		return 0;
	r = tool_find(boot->root, names, &tool);
	return r < 0 ? r : tool_plan(boot, cs, (const char *const[]){ tool, NULL });
}

static int alpine_plan(const struct boot *boot, const struct boot_state *state,
		       const struct boot_words *words, struct changeset *cs, struct diag *diag)
{
	_cleanup_free_ char *overwrite = NULL;
	int r = shell_text_value(boot->root, UPDATE_CONF, "overwrite", &overwrite);

	if (r >= 0 && streq_ptr(overwrite, "0") && words->want != BOOT_WANT_NOTHING) {
		diag_error(diag, &(struct diag_where){ .path = UPDATE_CONF },
			   "overwrite=0 keeps update-extlinux from writing " ALPINE_MENU);
		return -ENOTSUP;
	}
	if (r >= 0)
		r = shell_text_plan(boot, &options, words, cs, diag);
	return r < 0 ? r : alpine_plan_refresh(boot, state, words, cs->n > 0, cs);
}

static int alpine_refresh(const struct boot *boot, const struct boot_words *words _unused_,
			  struct diag *diag)
{
	static const char *const names[] = { "update-extlinux", NULL };
	_cleanup_free_ char *tool = NULL;
	int r = tool_find(boot->root, names, &tool);

	return r < 0 ? r : tool_run(boot, (const char *const[]){ tool, NULL }, diag);
}

static int alpine_take_back(const struct boot *boot _unused_, const char *path _unused_,
			    const struct content *before, const struct content *written,
			    const struct content *now, struct content *ret, struct diag *diag)
{
	return shell_text_take_back(&options, before, written, now, ret, diag);
}

const struct boot_backend boot_update_extlinux = {
	.name = "update-extlinux",
	.title = "extlinux by update-extlinux",
	.sign = "/etc/update-extlinux.conf",
	.by = BOOT_BY_SYSLINUX | BOOT_BY_OTHER,
	.tried = BOOT_TRIED_FIXTURES,
	.probe = alpine_probe,
	.read = alpine_read,
	.plan = alpine_plan,
	.plan_refresh = alpine_plan_refresh,
	.refresh = alpine_refresh,
	.verify = text_verify,
	.take_back = alpine_take_back,
};

/* --- by hand --- */

static const struct text_kind kind = {
	.find = format_find_append,
	.max = EXTLINUX_MAX,
	.flags = ATOMIC_BOOT,
};

static const char *menu_path(const struct root *root)
{
	static const char *const paths[] = { "/boot/extlinux/extlinux.conf",
					     "/extlinux/extlinux.conf", "/boot/extlinux.conf",
					     "/boot/syslinux/syslinux.cfg",
					     "/boot/extlinux/syslinux.cfg" };

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		if (root_exists(root, paths[i]))
			return paths[i];
	return NULL;
}

static int hand_probe(const struct root *root, struct diag *diag _unused_)
{
	return menu_path(root) != NULL;
}

static int hand_read(const struct boot *boot, struct boot_state *ret, struct diag *diag)
{
	const char *path = menu_path(boot->root);

	return path ? extlinux_read(boot, path, ret, diag) : 0;
}

static int hand_plan(const struct boot *boot, const struct boot_state *state,
		     const struct boot_words *words, struct changeset *cs, struct diag *diag)
{
	const char *path = menu_path(boot->root);
	int r;

	if (words->want == BOOT_WANT_NOTHING || !path)
		return text_plan_verify(boot, state, words, cs->n > 0, cs);
	if (tool_mentions(boot->root, path, "generated automatically")) {
		diag_error(diag, &(struct diag_where){ .path = path },
			   "says that a program writes it, and which one is not known here");
		return -ENOTSUP;
	}
	if (!state->entries_known) {
		diag_error(diag, &(struct diag_where){ .path = path },
			   "includes other files: not supported");
		return -ENOTSUP;
	}
	r = text_plan(boot, &kind, path, words, cs, diag);
	return r < 0 ? r : text_plan_verify(boot, state, words, cs->n > 0, cs);
}

static int hand_take_back(const struct boot *boot _unused_, const char *path,
			  const struct content *before, const struct content *written,
			  const struct content *now, struct content *ret, struct diag *diag)
{
	return text_take_back(&kind, path, before, written, now, ret, diag);
}

const struct boot_backend boot_extlinux = {
	.name = "extlinux",
	.title = "extlinux.conf",
	.sign = "extlinux.conf",
	.by = BOOT_BY_SYSLINUX | BOOT_BY_OTHER,
	.tried = BOOT_TRIED_FIXTURES,
	.probe = hand_probe,
	.read = hand_read,
	.plan = hand_plan,
	.plan_refresh = text_plan_verify,
	.refresh = text_no_refresh,
	.verify = text_verify,
	.take_back = hand_take_back,
};
