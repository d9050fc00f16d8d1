/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot/started.h"

#include "base/root.h"
#include "base/str.h"
#include "boot/image.h"
#include "facts/running.h"

void started_done(struct started *started)
{
	free(started->loader);
	free(started->stub);
	free(started->why);
	free(started->doubt);
	free(started->note);
	*started = (struct started){};
}

static int read_variable(const struct root *root, const char *name, char **ret)
{
	int r = image_loader_variable(root, name, ret);

	if (r < 0 && r != -ENOMEM)
		*ret = NULL;
	return r == -ENOMEM ? r : 0;
}

static int look(const struct root *root, const struct running *running, struct started *started)
{
	int r = read_variable(root, "LoaderInfo", &started->loader);

	if (r >= 0)
		r = read_variable(root, "StubInfo", &started->stub);
	started->efi =
		started->loader || started->stub || root_exists(root, "/sys/firmware/efi");
	started->boot_image =
		running->cmdline_text && cmdline_find(&running->cmdline, "BOOT_IMAGE") >= 0;
	return r;
}

/* An entry may have the word itself, copied from a line that GRUB made. */
static bool entries_have_image(const struct boot_state *state)
{
	for (size_t i = 0; i < state->entries.n; i++) {
		const char *args = state->entries.items[i].args;

		if (args && strstr(args, "BOOT_IMAGE="))
			return true;
	}
	return false;
}

/* Whether the loader's own name is one that boots what the backend writes. */
static bool is_by(const char *loader, unsigned by)
{
	if (str_skip_prefix(loader, "systemd-boot"))
		return by & BOOT_BY_SYSTEMD_BOOT;
	if (str_skip_prefix(loader, "GRUB"))
		return by & BOOT_BY_GRUB;
	return false;
}

static int find_doubt(const struct boot *boot, const struct boot_state *state,
		      const struct running *running, bool by_kexec, struct started *started)
{
	unsigned by = boot->backend->by;
	const char *title = boot->backend->title;

	/* whatever started an image, its line is the image's and its add-ons' */
	if (started->stub)
		return by & BOOT_BY_STUB
			       ? 0
			       : str_printf(&started->doubt,
					    "this kernel was started from a unified kernel "
					    "image (StubInfo is \"%s\"), not by an entry of %s",
					    started->stub, title);
	if (by == BOOT_BY_STUB)
		return str_printf(&started->doubt,
				  "this kernel was not started from a unified kernel image "
				  "(there is no StubInfo)");
	if (started->loader && !is_by(started->loader, by))
		return str_printf(&started->doubt,
				  "this system was started by another loader (LoaderInfo is "
				  "\"%s\") than %s",
				  started->loader, title);
	if (by_kexec)
		return 0; /* the line says nothing of the loader */
	if (started->boot_image && !(by & (BOOT_BY_GRUB | BOOT_BY_SYSLINUX)) &&
	    !entries_have_image(state))
		return str_printf(&started->doubt,
				  "BOOT_IMAGE= is on the kernel's line, as GRUB puts it there, "
				  "and %s does not",
				  title);
	if (!started->efi && by & BOOT_BY_SYSTEMD_BOOT && !(by & BOOT_BY_GRUB) &&
	    running->chroot != ANSWER_YES)
		return str_printf(&started->doubt,
				  "this machine was not started by UEFI firmware, and %s needs "
				  "it",
				  title);
	if (started->efi && !started->loader && !started->boot_image && running->cmdline_text &&
	    by == BOOT_BY_GRUB)
		return str_printf(&started->note,
				  "nothing shows that GRUB started this kernel: there is "
				  "neither LoaderInfo nor BOOT_IMAGE= on its line");
	return 0;
}

/* By what the probe knew it; and what it left behind, if it says so itself. */
static int find_why(const struct boot *boot, struct started *started)
{
	const struct boot_backend *backend = boot->backend;
	_cleanup_strbuf_ struct strbuf why = {};

	if (boot->forced)
		strbuf_adds(&why, "Backend= of the policy");
	else if (backend->sign)
		strbuf_adds(&why, backend->sign);
	else
		for (const char *const *path = backend->found_by; path && *path; path++)
			if (root_exists(boot->root, *path)) {
				strbuf_adds(&why, *path);
				break;
			}
	if (started->loader)
		strbuf_addf(&why, "%sLoaderInfo \"%s\"", why.len > 0 ? "; " : "",
			    started->loader);
	if (started->stub)
		strbuf_addf(&why, "%sStubInfo \"%s\"", why.len > 0 ? "; " : "", started->stub);
	if (started->boot_image && !started->loader && backend->by & BOOT_BY_GRUB)
		strbuf_addf(&why, "%sBOOT_IMAGE= on the kernel's line",
			    why.len > 0 ? "; " : "");
	return why.len > 0 || why.failed ? strbuf_take(&why, &started->why, NULL) : 0;
}

int started_find(const struct boot *boot, const struct boot_state *state,
		 const struct running *running, bool by_kexec, struct started *ret)
{
	_cleanup_started_ struct started started = {};
	int r = 0;

	if (root_mode(boot->root) != ROOT_OFFLINE) {
		r = look(boot->root, running, &started);
		if (r >= 0 && boot->backend->by && !boot->forced)
			r = find_doubt(boot, state, running, by_kexec, &started);
	}
	if (r >= 0)
		r = find_why(boot, &started);
	if (r < 0)
		return r;
	*ret = started;
	started = (struct started){};
	return 0;
}
