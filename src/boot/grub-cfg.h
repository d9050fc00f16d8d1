/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * grub.cfg as grub-mkconfig writes it: its menu entries, who made them, and which one the next
 * boot takes. GRUB's script language is read as far as entries go: words, quotes, variables
 * that are set to plain text; conditions are not evaluated.
 */

#include "boot/boot.h"

/* Where an entry stands in the text, in bytes. */
struct grub_place {
	size_t body;	       /* behind the "{" */
	size_t end;	       /* its "}" */
	size_t args, args_end; /* the words for the kernel */
	char *options; /* of the entry as they are written, without its title and its id */
};

struct grub_cfg {
	struct boot_entries entries; /* those that boot a Linux kernel, in menu order */
	struct grub_place *places;   /* of each entry */
	size_t n_places;
	char *lasting; /* $default without a choice for one boot, or NULL */
	bool once;     /* there is such a choice */
	bool blscfg;   /* more entries come from /boot/loader/entries */
	bool stub;     /* it only loads another one (configfile) */
};

/*
 * Entries get source path and their line, and is_default by the file, the environment block (a
 * block of GRUBENV_SIZE bytes, or NULL) and GRUB's rules;
 * kernel, request and the like are left to boot_read(). -EBADMSG with an error in diag when a
 * quote or brace does not end: GRUB would stop there too.
 */
int grub_cfg_parse(const char *path, const char *text, size_t size, const char *env,
		   struct grub_cfg *ret, struct diag *diag) _must_check_;
void grub_cfg_done(struct grub_cfg *cfg);
#define _cleanup_grub_cfg_ _cleanup_(grub_cfg_done)
