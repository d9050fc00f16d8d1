/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Unified kernel images: a kernel, its initrd and its command line in one EFI program, put
 * together by systemd-stub (src/boot/stub.c, v254 to v261). The line is the image's own, or
 * what was passed to it (never with Secure Boot on, where the image has one); then what the
 * add-ons of the partition append, then those of the image, each in the order of their names.
 */

#include "boot/bls.h"
#include "boot/boot.h"

/* The add-on that is ours alone. */
#define UKI_ADDON "memcg-policy.addon.efi"

enum { UKI_MAX_ADDON = 1024 * 1024 };

struct uki {
	char *partition; /* where its file system is mounted: "/efi" */
	char *name;	 /* of the file */
	char *line;	 /* its own command line, or NULL */
	char *release;	 /* or NULL */
	bool foreign;	 /* of another system */
	bool counted;	 /* its name carries a boot counter, and changes */
	bool takes_addons;
	unsigned n_profiles;  /* at least one */
	struct bls_entry key; /* its place in the menu of systemd-boot */
	char *id;	      /* "x.efi", "x.efi@profile": what it is called there */
};

/* All images below the ESP and the extended boot partition. */
int uki_list(const struct root *root, struct strv *ret) _must_check_;
/*
 * One profile of an image, 0 being what is booted when nobody asks for another. -EBADMSG when
 * the file is no image.
 */
int uki_open(const struct boot *boot, const char *path, unsigned profile,
	     struct uki *ret) _must_check_;
void uki_done(struct uki *uki);
#define _cleanup_uki_ _cleanup_(uki_done)

/*
 * The line that the image's kernel gets. passed: what the loader passes to it, or NULL;
 * without: the name of an add-on that is passed over, or NULL. What is ignored is a warning.
 */
int uki_line(const struct boot *boot, const struct uki *uki, const char *path,
	     const char *passed, const char *without, char **ret,
	     struct diag *diag) _must_check_;

/* How uki_read() finds the default. All may be NULL. */
struct uki_menu {
	const char *chosen;	       /* as for bls_source */
	const struct bls_entry *rival; /* the best of the entries of type 1 */
	const char *without;	       /* the name of an add-on that is passed over */
};

/*
 * Adds the entries: each profile of each image, and each entry of type 1 that passes options to
 * one; "image" is the UKI.
 */
int uki_read(const struct boot *boot, const struct uki_menu *menu, struct boot_state *state,
	     struct diag *diag) _must_check_;
/* Whether uki_read() made the entry. */
bool uki_is_entry(const struct boot_entry *entry) _pure_;

/*
 * plan(), make() and take_back() of a backend that boots them: an add-on, where one is read and
 * can be built and, with Secure Boot, signed; else /etc/kernel/cmdline and what builds the
 * images anew, which is printed.
 */
int uki_plan(const struct boot *boot, const struct boot_state *state,
	     const struct boot_words *words, struct changeset *cs,
	     struct diag *diag) _must_check_;
int uki_make(const struct boot *boot, struct changeset *cs, struct diag *diag) _must_check_;
