/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What binary files of the boot partition say: sections of a PE image (a UKI's ".cmdline"), the
 * chosen/bootargs of a flattened device tree, EFI variables. All sizes and offsets in them are
 * checked against what there is.
 */

#include "base/macro.h"

struct root;

enum {
	IMAGE_MAX_SECTION = 64 * 1024,
	IMAGE_MAX_SECTIONS = 96, /* more than Windows takes */
	IMAGE_MAX_DTB = 1024 * 1024,
	IMAGE_MAX_EFIVAR = 64 * 1024,
};

/*
 * A section's bytes up to their first NUL, owned by the caller. -ENOENT when the image has no
 * such section, -EBADMSG when it is no PE image. A unified kernel image may have profiles: each
 * begins with a section ".profile", and what it does not have is that of the base in front of
 * them (src/boot/pe.c of systemd 257).
 */
int image_pe_section(const struct root *root, const char *path, const char *section,
		     char **ret) _must_check_;
int image_pe_profile_section(const struct root *root, const char *path, unsigned profile,
			     const char *section, char **ret) _must_check_;
/* How many there are: 0 or more, or a negative errno. */
int image_pe_profiles(const struct root *root, const char *path) _must_check_;

/* Whether an image has such a section, or a signature: 1, 0 or a negative errno as above. */
int image_pe_has(const struct root *root, const char *path, const char *section) _must_check_;
int image_pe_is_signed(const struct root *root, const char *path) _must_check_;

/* chosen/bootargs of a device tree, owned by the caller. -ENOENT: none; -EBADMSG: no tree. */
int image_dtb_bootargs(const void *data, size_t size, char **ret) _must_check_;

/* UTF-16LE up to its first NUL, as UTF-8; owned by the caller. */
int image_utf16(const void *data, size_t size, char **ret) _must_check_;

/*
 * A variable of systemd's loader interface, as UTF-8: "LoaderInfo". Live roots only: -ENOENT
 * elsewhere, and without EFI.
 */
int image_loader_variable(const struct root *root, const char *name, char **ret) _must_check_;
