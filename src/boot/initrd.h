/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Initrds of dracut that carry our module (dracut/50memcg-policy): what it found decided is
 * baked into them, so they are rebuilt when the decision changes. Each is built beside the old
 * one, looked at, and takes its place at the end.
 */

#include "boot/boot.h"

/* What module-setup.sh writes of a decision; decision is "on", "off" or "leave". */
int initrd_text(const char *decision, bool required, char **ret) _must_check_;

/* Whether anything says that initrds here carry the module: one look each, no image is read. */
bool initrd_is_asked_for(const struct root *root);

/* What the hook saw in this boot. */
#define INITRD_OBSERVATION "/run/memcg-policy/initrd"

/* The text that the initrd of this boot carried; -ENOENT: none, or it knew no decision. */
int initrd_observed(const struct root *root, char **ret) _must_check_;

/*
 * Adds the images of this root's kernels that carry another text, or do not carry the module
 * although dracut's configuration asks for it, and the commands that are run. What cannot be
 * read is a warning in diag.
 */
int initrd_plan(const struct boot *boot, const char *text, struct changeset *cs,
		struct diag *diag) _must_check_;

/* Builds the images anew, each as a temporary beside the old one. An error leaves none. */
int initrd_build(const struct boot *boot, const char *text, const struct strv *images,
		 struct diag *diag) _must_check_;
/* Puts them in their places. */
int initrd_install(const struct root *root, const struct strv *images,
		   struct diag *diag) _must_check_;
/* Removes what initrd_build() left beside them. */
void initrd_clean(const struct root *root, const struct strv *images);
