/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the GRUB backends share: where its files are, its menu, and regenerating it safely. */

#include "boot/boot.h"
#include "boot/shell-vars.h"

#define GRUB_DEFAULT	"/etc/default/grub"
#define GRUB_DROPIN_DIR "/etc/default/grub.d"
/* sorts behind what packages and images put there: 50-cloudimg-settings, kdump-tools, xen */
#define GRUB_OUR_DROPIN GRUB_DROPIN_DIR "/zz-memcg-policy.cfg"

/* All paths are inside the root; NULL: there is none. */
struct grub {
	char *mkconfig;
	char *script_check;
	char *cfg;	    /* the one real grub.cfg, links resolved */
	char *other_cfg;    /* a second one: then nobody can tell which is read */
	bool reads_dropins; /* mkconfig reads /etc/default/grub.d */
	bool updates_env;   /* mkconfig must be told not to write other files (Fedora) */
};

int grub_find(const struct root *root, struct grub *ret) _must_check_;
/* The environment block, which is beside the menu, there or not. */
int grub_env_path(const char *cfg, char **ret) _must_check_;
/* A kernel's file in the system: where /boot is a file system of its own, GRUB's names start
 * below it. -ENOENT when it is not there. */
int grub_image_path(const struct root *root, const char *image, char **ret) _must_check_;
void grub_done(struct grub *grub);
#define _cleanup_grub_ _cleanup_(grub_done)

/*
 * The defaults as mkconfig reads them: GRUB_DEFAULT, then the drop-ins but without (NULL: all).
 * -EBADMSG, or the errno of a file that cannot be read, with an error in diag.
 */
int grub_load_defaults(const struct root *root, bool dropins, const char *without,
		       struct shell_script *ret, struct diag *diag) _must_check_;

/* Whether a line that is no comment has the option's name in it: for values that only running
 * the defaults would tell, a menu that was made before says nothing then. */
bool grub_defaults_mention(const struct shell_script *script,
			   enum cmdline_request request) _pure_;

/* The variables that reach a kernel's command line. */
extern const char *const grub_variables[];
enum {
	GRUB_LINUX,
	GRUB_LINUX_DEFAULT,
	GRUB_XEN_REPLACE,
	GRUB_XEN_REPLACE_DEFAULT,
	_GRUB_VARIABLE_MAX,
};

/* state->configured out of the defaults; unknown when they cannot be read. 0 or -ENOMEM. */
int grub_read_defaults(const struct root *root, bool dropins,
		       struct boot_state *state) _must_check_;
/* Parses a grub.cfg with the environment block beside it. */
struct grub_cfg;
int grub_parse_cfg(const struct root *root, const char *path, const char *text, size_t size,
		   struct grub_cfg *ret, struct diag *diag) _must_check_;
/* state->entries out of grub.cfg. */
int grub_read_entries(const struct root *root, const struct grub *grub,
		      struct boot_state *state, struct diag *diag) _must_check_;

/* Both: read() of the backends. */
int grub_read(const struct boot *boot, bool dropins, struct boot_state *ret,
	      struct diag *diag) _must_check_;

/* The errors of refreshing and verifying are in diag. */
int grub_plan_refresh(const struct boot *boot, const struct boot_state *state,
		      const struct boot_words *words, bool edited,
		      struct changeset *cs) _must_check_;
int grub_refresh(const struct boot *boot, const struct boot_words *words,
		 struct diag *diag) _must_check_;
int grub_verify(const struct boot *boot, const struct boot_words *words,
		struct diag *diag) _must_check_;

/* Things in charge that a GRUB backend must not write past: -ENOTSUP with the reason. */
int grub_check_supported(const struct root *root, const struct grub *grub,
			 const struct boot_state *state, struct diag *diag) _must_check_;
