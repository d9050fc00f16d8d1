/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Loaders that are recognised and not written to: what they would boot is shown where a file
 * says it, and what to do is said in their own words. Writing comes when it was tried for real.
 */

#include "base/diag.h"
#include "boot/bls-dir.h"
#include "boot/esp.h"
#include "boot/text.h"
#include "boot/tool.h"

/* What to do by hand; %s is the word, in the hint for "on" the one that has to go. */
struct advice {
	const char *path; /* what the message is about, or NULL */
	const char *text;
	const char *off;
	const char *on;
};

/* Nothing to do where every entry is as wanted already; else exit status 5 with the advice. */
static int advise(const struct advice *advice, const struct boot_state *state,
		  const struct boot_words *words, struct diag *diag)
{
	if (words->want == BOOT_WANT_NOTHING)
		return 0;
	if (state->entries_known && state->entries.n > 0 &&
	    boot_n_differing(state, words->want) == 0)
		return 0;
	diag_error(diag,
		   &(struct diag_where){
			   .path = advice->path,
			   .hint = words->want == BOOT_WANT_OFF ? advice->off : advice->on,
		   },
		   "%s", advice->text);
	return -ENOTSUP;
}

static int read_nothing(const struct boot *boot _unused_, struct boot_state *ret _unused_,
			struct diag *diag _unused_)
{
	return 0;
}

/* --- NixOS --- */

static int nixos_probe(const struct root *root, struct diag *diag _unused_)
{
	return root_exists(root, "/etc/NIXOS");
}

static int nixos_read(const struct boot *boot, struct boot_state *ret, struct diag *diag)
{
	static const struct bls_source source = { .dirs = esp_entry_dirs,
						  .reader = BLS_SYSTEMD };

	return bls_dir_read(boot, &source, ret, diag);
}

static int nixos_plan(const struct boot *boot _unused_, const struct boot_state *state,
		      const struct boot_words *words, struct changeset *cs _unused_,
		      struct diag *diag)
{
	static const struct advice advice = {
		"/etc/nixos/configuration.nix",
		"NixOS makes its boot entries of its configuration",
		"boot.kernelParams = [ \"cgroup_disable=memory\" ]; then: nixos-rebuild boot",
		"take \"cgroup_disable=memory\" out of boot.kernelParams, then: nixos-rebuild "
		"boot",
	};

	return advise(&advice, state, words, diag);
}

const struct boot_backend boot_nixos = {
	.name = "nixos",
	.title = "NixOS",
	.probe = nixos_probe,
	.read = nixos_read,
	.plan = nixos_plan,
};

/* --- kernelstub (Pop!_OS) --- */

#define KERNELSTUB "/etc/kernelstub/configuration"

static int kernelstub_probe(const struct root *root, struct diag *diag _unused_)
{
	return root_exists(root, KERNELSTUB);
}

static int kernelstub_plan(const struct boot *boot _unused_, const struct boot_state *state,
			   const struct boot_words *words, struct changeset *cs _unused_,
			   struct diag *diag)
{
	static const struct advice advice = {
		KERNELSTUB,
		"kernelstub writes the boot entries out of this file",
		"kernelstub -a cgroup_disable=memory",
		"kernelstub -d cgroup_disable=memory",
	};

	return advise(&advice, state, words, diag);
}

const struct boot_backend boot_kernelstub = {
	.name = "kernelstub",
	.title = "kernelstub",
	.probe = kernelstub_probe,
	.read = nixos_read,
	.plan = kernelstub_plan,
};

/* --- limine --- */

static int limine_probe(const struct root *root, struct diag *diag _unused_)
{
	static const char *const paths[] = { "/boot/limine.conf", "/boot/limine/limine.conf",
					     "/efi/limine.conf", "/boot/EFI/limine/limine.conf",
					     "/etc/default/limine" };

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		if (root_exists(root, paths[i]))
			return 1;
	return 0;
}

static int limine_plan(const struct boot *boot, const struct boot_state *state,
		       const struct boot_words *words, struct changeset *cs _unused_,
		       struct diag *diag)
{
	static const struct advice tool = {
		"/etc/default/limine",
		"limine is not written to yet",
		"KERNEL_CMDLINE[default]+=\" cgroup_disable=memory\" in this file, then: "
		"limine-update",
		"take cgroup_disable=memory out of this file, then: limine-update",
	};
	static const struct advice hand = {
		"/boot/limine.conf",
		"limine is not written to yet",
		"add cgroup_disable=memory to the cmdline: of each entry",
		"take cgroup_disable=memory out of the cmdline: of each entry",
	};

	return advise(root_exists(boot->root, tool.path) ? &tool : &hand, state, words, diag);
}

const struct boot_backend boot_limine = {
	.name = "limine",
	.title = "Limine",
	.probe = limine_probe,
	.read = read_nothing,
	.plan = limine_plan,
};

/* --- rEFInd --- */

#define REFIND "/boot/refind_linux.conf"

static int refind_probe(const struct root *root, struct diag *diag _unused_)
{
	return root_exists(root, REFIND);
}

/* Lines of two quoted strings, a title and the options; "" is a quote in one. */
static size_t quoted(const char *p, struct strbuf *out)
{
	size_t i = 1;

	for (; p[i] && p[i] != '\n'; i++) {
		if (p[i] == '"' && p[i + 1] == '"')
			i++;
		else if (p[i] == '"')
			return i + 1;
		strbuf_addc(out, p[i]);
	}
	return i;
}

static int refind_read(const struct boot *boot, struct boot_state *ret,
		       struct diag *diag _unused_)
{
	_cleanup_free_ char *text = NULL;
	unsigned number = 1;
	int r = root_read(boot->root, REFIND, ROOT_MAX_CMDLINE, &text, NULL);

	if (r < 0)
		return r == -ENOMEM ? r : 0;
	for (const char *p = text; *p; number++) {
		_cleanup_strbuf_ struct strbuf title = {}, args = {};
		struct boot_entry *entry;

		p += strspn(p, " \t");
		if (*p == '"') {
			p += quoted(p, &title);
			p += strspn(p, " \t");
			if (*p == '"')
				p += quoted(p, &args);
			entry = boot_entries_add(&ret->entries);
			if (!entry)
				return -ENOMEM;
			entry->source = strdup(REFIND);
			r = str_printf(&entry->id, "%u", number);
			if (r >= 0)
				r = strbuf_take(&title, &entry->title, NULL);
			if (r >= 0)
				r = strbuf_take(&args, &entry->args, NULL);
			if (r < 0 || !entry->source)
				return -ENOMEM;
			entry->line = number;
			entry->is_default = ret->entries.n == 1;
			entry->ours = true;
		}
		p += strcspn(p, "\n");
		p += *p == '\n';
	}
	ret->entries_known = ret->entries.n > 0;
	return 0;
}

static int refind_plan(const struct boot *boot _unused_, const struct boot_state *state,
		       const struct boot_words *words, struct changeset *cs _unused_,
		       struct diag *diag)
{
	static const struct advice advice = {
		REFIND,
		"rEFInd is not written to yet",
		"add cgroup_disable=memory to the second quoted text of each line",
		"take cgroup_disable=memory out of the second quoted text of each line",
	};

	return advise(&advice, state, words, diag);
}

const struct boot_backend boot_refind = {
	.name = "refind",
	.title = "rEFInd",
	.probe = refind_probe,
	.read = refind_read,
	.plan = refind_plan,
};

/* --- zipl (s390x) --- */

#define ZIPL "/etc/zipl.conf"

static int zipl_probe(const struct root *root, struct diag *diag _unused_)
{
	return root_exists(root, ZIPL) ||
	       (tool_exists(root, "zipl") && root_exists(root, "/boot/loader/entries"));
}

static int zipl_read(const struct boot *boot, struct boot_state *ret, struct diag *diag)
{
	static const char *const dirs[] = { "/boot/loader/entries", NULL };
	static const struct bls_source source = { .dirs = dirs, .reader = BLS_SYSTEMD };

	return bls_dir_read(boot, &source, ret, diag);
}

static int zipl_plan(const struct boot *boot, const struct boot_state *state,
		     const struct boot_words *words, struct changeset *cs _unused_,
		     struct diag *diag)
{
	static const struct advice conf = {
		ZIPL,
		"zipl is not written to yet",
		"add cgroup_disable=memory to each parameters= line, then: zipl",
		"take cgroup_disable=memory out of each parameters= line, then: zipl",
	};
	static const struct advice bls = {
		"/boot/loader/entries",
		"zipl is not written to yet",
		"add cgroup_disable=memory to each options line and to /etc/kernel/cmdline, "
		"then: zipl",
		"take cgroup_disable=memory out of each options line and of "
		"/etc/kernel/cmdline, then: zipl",
	};

	return advise(tool_mentions(boot->root, ZIPL, "parameters") ? &conf : &bls, state,
		      words, diag);
}

const struct boot_backend boot_zipl = {
	.name = "zipl",
	.title = "zipl",
	.probe = zipl_probe,
	.read = zipl_read,
	.plan = zipl_plan,
};

/* --- ZFSBootMenu --- */

#define ZBM "/etc/zfsbootmenu/config.yaml"

static int zbm_probe(const struct root *root, struct diag *diag _unused_)
{
	return root_exists(root, ZBM) && !root_exists(root, "/boot/grub/grub.cfg");
}

static int zbm_plan(const struct boot *boot _unused_, const struct boot_state *state,
		    const struct boot_words *words, struct changeset *cs _unused_,
		    struct diag *diag)
{
	static const struct advice advice = {
		ZBM,
		"ZFSBootMenu takes the command line from a property of the root file system",
		"zfs set org.zfsbootmenu:commandline=\"... cgroup_disable=memory\", with what "
		"\"zfs get\" shows in place of the dots",
		"zfs set org.zfsbootmenu:commandline=..., with what \"zfs get\" shows but "
		"cgroup_disable=memory",
	};

	return advise(&advice, state, words, diag);
}

const struct boot_backend boot_zfsbootmenu = {
	.name = "zfsbootmenu",
	.title = "ZFSBootMenu",
	.probe = zbm_probe,
	.read = read_nothing,
	.plan = zbm_plan,
};
