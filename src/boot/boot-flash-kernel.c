/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * flash-kernel (Debian, Ubuntu): /etc/default/flash-kernel's LINUX_KERNEL_CMDLINE comes last on
 * the line of the boot script that it makes, LINUX_KERNEL_CMDLINE_DEFAULTS first.
 */

#include "base/diag.h"
#include "boot/shell-text.h"
#include "boot/text.h"
#include "boot/tool.h"

static const struct shell_text text = { "/etc/default/flash-kernel", "LINUX_KERNEL_CMDLINE",
					"LINUX_KERNEL_CMDLINE_DEFAULTS" };
#define SCRIPT "/boot/boot.scr"
enum { MAX_SCRIPT = 1024 * 1024 };

static int flash_probe(const struct root *root, struct diag *diag _unused_)
{
	/* where EFI starts the machine it does nothing, and says that it succeeded */
	if (root_exists(root, "/sys/firmware/efi") &&
	    !root_exists(root, "/etc/flash-kernel/ignore-efi"))
		return 0;
	/* beside GRUB it is installed and idle: it knows the machines it is for */
	return root_exists(root, text.path) && tool_exists(root, "flash-kernel") &&
	       !root_exists(root, "/boot/grub/grub.cfg");
}

/* The last "setenv bootargs" of the boot script, which is text inside a U-Boot image. */
static int flash_read(const struct boot *boot, struct boot_state *ret,
		      struct diag *diag _unused_)
{
	static const char mark[] = "setenv bootargs ";
	_cleanup_free_ char *script = NULL;
	struct boot_entry *entry;
	const char *line = NULL, *end;
	size_t size;
	int r = shell_text_read(boot, &text, ret);

	if (r >= 0)
		r = root_read(boot->root, SCRIPT, MAX_SCRIPT, &script, &size);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	end = script + size;
	for (const char *p = script;
	     (p = memmem(p, (size_t)(end - p), mark, sizeof(mark) - 1)) != NULL;)
		line = p += sizeof(mark) - 1;
	if (!line)
		return 0;
	if (*line == '"')
		line++;
	entry = boot_entries_add(&ret->entries);
	if (!entry)
		return -ENOMEM;
	entry->args = str_dup_n(line, strnlen(line, (size_t)(end - line)));
	entry->id = strdup("boot.scr");
	entry->title = strdup("U-Boot script of flash-kernel");
	entry->source = strdup(SCRIPT);
	entry->image = strdup("/boot/vmlinuz");
	if (!entry->args || !entry->id || !entry->title || !entry->source || !entry->image)
		return -ENOMEM;
	entry->args[strcspn(entry->args, "\"\n")] = '\0';
	entry->is_default = entry->ours = true;
	ret->entries_known = true;
	return 0;
}

static int flash_plan_refresh(const struct boot *boot, const struct boot_state *state,
			      const struct boot_words *words, bool edited, struct changeset *cs)
{
	static const char *const argv[] = { "/usr/sbin/flash-kernel", NULL };

	if (!edited && boot_n_differing(state, words->want) == 0)
		return 0;
	return tool_plan(boot, cs, argv);
}

/* It puts the words into the script by a sed command with '!' in it. */
static int check_value(const struct boot *boot, struct diag *diag)
{
	const char *variables[] = { text.variable, text.other };

	for (size_t i = 0; i < ARRAY_SIZE(variables); i++) {
		_cleanup_free_ char *value = NULL;
		int r = shell_text_value(boot->root, text.path, variables[i], &value);

		if (r < 0)
			return r;
		if (!value || !strchr(value, '!'))
			continue;
		diag_error(diag, &(struct diag_where){ .path = text.path },
			   "%s has a \"!\" in it, at which flash-kernel fails", variables[i]);
		return -ENOTSUP;
	}
	return 0;
}

static int flash_plan(const struct boot *boot, const struct boot_state *state,
		      const struct boot_words *words, struct changeset *cs, struct diag *diag)
{
	int r = 0;

	if (words->want != BOOT_WANT_NOTHING)
		r = check_value(boot, diag);
	if (r >= 0)
		r = shell_text_plan(boot, &text, words, cs, diag);
	return r < 0 ? r : flash_plan_refresh(boot, state, words, cs->n > 0, cs);
}

static int flash_refresh(const struct boot *boot, const struct boot_words *words _unused_,
			 struct diag *diag)
{
	static const char *const argv[] = { "/usr/sbin/flash-kernel", NULL };

	return tool_run(boot, argv, diag);
}

static int flash_verify(const struct boot *boot, const struct boot_words *words,
			struct diag *diag)
{
	/* other methods of it write images, flash memory, or nothing */
	if (words->want != BOOT_WANT_NOTHING && !root_exists(boot->root, SCRIPT))
		diag_notice(diag, NULL,
			    "flash-kernel made no " SCRIPT
			    ": what this machine will boot cannot "
			    "be looked at");
	return text_verify(boot, words, diag);
}

static int flash_take_back(const struct boot *boot _unused_, const char *path _unused_,
			   const struct content *before, const struct content *written,
			   const struct content *now, struct content *ret, struct diag *diag)
{
	return shell_text_take_back(&text, before, written, now, ret, diag);
}

const struct boot_backend boot_flash_kernel = {
	.name = "flash-kernel",
	.title = "flash-kernel",
	.sign = "flash-kernel and its defaults",
	.by = BOOT_BY_OTHER,
	.tried = BOOT_TRIED_TOOLS,
	.probe = flash_probe,
	.read = flash_read,
	.plan = flash_plan,
	.plan_refresh = flash_plan_refresh,
	.refresh = flash_refresh,
	.verify = flash_verify,
	.take_back = flash_take_back,
};
