/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A directory of Boot Loader Specification entries, and changing them. */

#include "boot/bls.h"
#include "boot/boot.h"

enum { BLS_MAX_FILE = 64 * 1024, BLS_MAX_FILES = 4096 };

struct bls_source {
	const char *const *dirs; /* absolute, NULL-terminated; one that is missing is empty */
	enum bls_reader reader;
	/* a $variable's value, NULL: not set; NULL function: they stay as they are */
	const char *(*value)(const char *name, void *userdata);
	void *userdata;
	/* what the loader boots without being told, by id or title or number, or NULL: the
	 * first; a pattern for systemd-boot */
	const char *chosen;
	/* gets the one that is booted of these files, also where it is no kernel's and so none
	 * of the entries; owned by the caller; NULL: not asked for */
	struct bls_entry *ret_head;
};

/*
 * Adds the entries in menu order. An entry is ours when its kernel is this root's and nobody
 * else looks after it. Files that cannot be read, or that the loader would not take, are
 * warnings.
 */
int bls_dir_read(const struct boot *boot, const struct bls_source *source,
		 struct boot_state *state, struct diag *diag) _must_check_;

/* Plans that every entry of ours asks for the words by its own options. */
int bls_dir_plan(const struct boot *boot, const struct bls_source *source,
		 const struct boot_state *state, const struct boot_words *words,
		 struct changeset *cs, struct diag *diag) _must_check_;

/* take_back() of an entry. */
int bls_take_back(enum bls_reader reader, const char *path, const struct content *before,
		  const struct content *written, const struct content *now, struct content *ret,
		  struct diag *diag) _must_check_;

/* The options of an entry as they are written, pieces joined; owned by the caller. */
int bls_dir_options(const struct boot *boot, enum bls_reader reader, const char *path,
		    char **ret, struct diag *diag) _must_check_;
