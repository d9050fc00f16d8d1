/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Debian's u-boot-menu: u-boot-update makes extlinux.conf of U_BOOT_PARAMETERS, for which it
 * reads /etc/default/u-boot and then fragments. Ours comes last. Setting the variable switches
 * its fallback off (/etc/kernel/cmdline, else "ro quiet"), so that ours does that first.
 */

#include "base/diag.h"
#include "boot/extlinux-read.h"
#include "boot/grub-text.h"
#include "boot/shell-vars.h"
#include "boot/text.h"
#include "boot/tool.h"

#define DEFAULTS "/etc/default/u-boot"
#define READER	 "/usr/share/u-boot-menu/read-config"
#define TOOL	 "/usr/sbin/u-boot-update"
#define MENU	 "/boot/extlinux/extlinux.conf"
#define DIR	 "/etc/u-boot-menu/conf.d"
#define OURS	 DIR "/zz-memcg-policy.conf"
#define VARIABLE "U_BOOT_PARAMETERS"
enum { MAX_FRAGMENTS = 1000, MAX_OURS = 64 * 1024 };

static const char *reader(const struct root *root)
{
	return root_exists(root, READER) ? READER : TOOL;
}

static int menu_probe(const struct root *root, struct diag *diag _unused_)
{
	return root_exists(root, TOOL) && !root_exists(root, "/boot/grub/grub.cfg");
}

/* What the fragments but ours set it to; known is STATIC, UNSET or DYNAMIC. */
static int load_value(const struct root *root, bool ours, struct shell_value *ret)
{
	static const char *const patterns[] = { DEFAULTS,
						"/usr/share/u-boot-menu/conf.d/*.conf",
						DIR "/*.conf" };
	_cleanup_shell_script_ struct shell_script script = {};
	_cleanup_diag_ struct diag ignored = {};
	_cleanup_strv_ struct strv paths = {};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(patterns); i++)
		if (root_glob(root, patterns[i], MAX_FRAGMENTS, &paths) == -ENOMEM)
			return -ENOMEM;
	for (size_t i = 0; r >= 0 && i < paths.n; i++) {
		_cleanup_free_ char *text = NULL;
		size_t size;

		if (!ours && streq(paths.items[i], OURS))
			continue;
		r = root_read(root, paths.items[i], ROOT_MAX_GRUB_DEFAULT, &text, &size);
		if (r >= 0)
			r = shell_script_add(&script, paths.items[i], text, size, &ignored);
	}
	if (r >= 0)
		r = shell_script_value(&script, VARIABLE, ret);
	/* the script goes, and with it what the value borrows of it */
	ret->event = NULL;
	return r;
}

static int menu_read(const struct boot *boot, struct boot_state *ret, struct diag *diag)
{
	_cleanup_shell_value_ struct shell_value value = {};
	int r = load_value(boot->root, true, &value);

	if (r == -ENOMEM)
		return r;
	if (r >= 0 && value.known != SHELL_IS_DYNAMIC) {
		r = text_request(value.text ? value.text : "", &ret->configured, NULL);
		if (r < 0)
			return r;
	}
	return extlinux_read(boot, MENU, ret, diag);
}

/* The text of grub.d/ with our variable in it, and the rest of its marks. */
static void add_snippet(struct strbuf *out, const char *text, const char *mark,
			const char *value)
{
	static const char in[] = "for _memcg_var in ";

	while (*text) {
		if (strncmp(text, in, sizeof(in) - 1) == 0) {
			strbuf_addf(out, "%s" VARIABLE "; do", in);
			text = strstr(text, "; do") + strlen("; do");
		} else if (strncmp(text, mark, strlen(mark)) == 0) {
			strbuf_adds(out, value);
			text += strlen(mark);
		} else {
			strbuf_addc(out, *text++);
		}
	}
}

static void add_fallback(struct strbuf *out, const struct root *root)
{
	strbuf_adds(out, "\n# what u-boot-update does when nobody sets the variable\n"
			 "if [ -z \"${" VARIABLE "-}\" ]; then\n");
	if (tool_mentions(root, reader(root), "/etc/kernel/cmdline"))
		strbuf_adds(out,
			    "\tif [ -f /etc/kernel/cmdline ]; then\n"
			    "\t\t" VARIABLE "=$(sed -e 's/root=[^[:space:]]*//' "
			    "-e 's/^[[:space:]]*//' /etc/kernel/cmdline)\n"
			    "\t\tif [ -z \"${U_BOOT_ROOT-}\" ]; then\n"
			    "\t\t\tU_BOOT_ROOT=$(sed -re 's/.*(root=[^[:space:]]*).*/\\1/' "
			    "/etc/kernel/cmdline)\n"
			    "\t\tfi\n"
			    "\tfi\n");
	strbuf_adds(out, "\t" VARIABLE "=${" VARIABLE ":-ro quiet}\nfi\n");
}

static int make_text(const struct boot *boot, const struct boot_words *words, bool take_out,
		     const char *word, char **ret, size_t *ret_size)
{
	_cleanup_strbuf_ struct strbuf out = {};
	bool on = words->want == BOOT_WANT_ON;

	strbuf_addf(&out,
		    "# memcg %s. Written by memcg-policy, which replaces this file whole;\n"
		    "# \"memcg-policy unset\" takes it away. See memcg-policy(8).\n",
		    on ? "on" : "off");
	add_fallback(&out, boot->root);
	strbuf_addc(&out, '\n');
	if (take_out)
		add_snippet(&out, grub_text_take_out, "@PATTERN@",
			    on ? "cgroup[-_]disable" : "cgroup[-_]enable");
	if (word)
		add_snippet(&out, grub_text_add, "@WORD@", word);
	strbuf_adds(&out, ":\n");
	return strbuf_take(&out, ret, ret_size);
}

static int menu_plan_refresh(const struct boot *boot, const struct boot_state *state,
			     const struct boot_words *words, bool edited, struct changeset *cs)
{
	static const char *const argv[] = { TOOL, NULL };

	if (!edited && boot_n_differing(state, words->want) == 0)
		return 0;
	return tool_plan(boot, cs, argv);
}

static int plan_fragment(const struct boot *boot, const struct boot_words *words,
			 struct changeset *cs, struct diag *diag)
{
	enum memcg_state want = words->want == BOOT_WANT_ON ? MEMCG_ON : MEMCG_OFF;
	_cleanup_cmdline_changes_ struct cmdline_changes changes = {};
	_cleanup_shell_value_ struct shell_value value = {};
	_cleanup_free_ char *text = NULL, *edited = NULL;
	bool take_out = false, add = false;
	const char *word = NULL;
	size_t size;
	int r = load_value(boot->root, false, &value);

	if (r == -ENOMEM)
		return r;
	if (r < 0 || value.known == SHELL_IS_DYNAMIC) {
		take_out = true;
		add = want == MEMCG_ON ? words->flags & CMDLINE_WRITE_ENABLE
				       : !(words->flags & CMDLINE_NO_DISABLE);
	} else {
		r = cmdline_edit(value.text ? value.text : "", value.text ? value.size : 0,
				 CMDLINE_LINE, want, words->flags, &edited, &size, &changes);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < changes.n; i++) {
		take_out |= changes.items[i].before != NULL;
		add |= changes.items[i].before == NULL;
	}
	if (add)
		word = want == MEMCG_ON ? "cgroup_enable=memory" : "cgroup_disable=memory";
	if (!take_out && !add)
		return changeset_edit(cs, boot->root, OURS, MAX_OURS, NULL, 0, 0644, 0, diag);
	r = make_text(boot, words, take_out, word, &text, &size);
	if (r < 0)
		return r;
	return changeset_edit(cs, boot->root, OURS, MAX_OURS, text, size, 0644, 0, diag);
}

static int menu_plan(const struct boot *boot, const struct boot_state *state,
		     const struct boot_words *words, struct changeset *cs, struct diag *diag)
{
	int r = 0;

	if (!tool_mentions(boot->root, reader(boot->root), "u-boot-menu/conf.d")) {
		diag_error(diag, &(struct diag_where){ .path = TOOL },
			   "does not read " DIR ": too old a version of u-boot-menu");
		return -ENOTSUP;
	}
	if (words->want == BOOT_WANT_NOTHING)
		r = changeset_edit(cs, boot->root, OURS, MAX_OURS, NULL, 0, 0644, 0, diag);
	else
		r = plan_fragment(boot, words, cs, diag);
	return r < 0 ? r : menu_plan_refresh(boot, state, words, cs->n > 0, cs);
}

static int menu_refresh(const struct boot *boot, const struct boot_words *words _unused_,
			struct diag *diag)
{
	static const char *const argv[] = { TOOL, NULL };

	return tool_run(boot, argv, diag);
}

const struct boot_backend boot_u_boot_menu = {
	.name = "u-boot-menu",
	.title = "extlinux.conf by u-boot-menu",
	.sign = "u-boot-update",
	.by = BOOT_BY_OTHER,
	.tried = BOOT_TRIED_TOOLS,
	.probe = menu_probe,
	.read = menu_read,
	.plan = menu_plan,
	.plan_refresh = menu_plan_refresh,
	.refresh = menu_refresh,
	.verify = text_verify,
};
