/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Every write is a changeset: file edits with the bytes they start from, and then what makes
 * the boot loader's own files follow. Planning only collects; changeset_run() records, applies,
 * finishes, and puts everything back when something fails. Killed at any instruction, every
 * file holds its old or its new bytes, and the next run finishes the change or takes it back.
 */

#include "base/atomic.h"
#include "base/str.h"

struct diag;
struct json;

enum boot_want {
	BOOT_WANT_NOTHING, /* no words of ours: unset */
	BOOT_WANT_ON,
	BOOT_WANT_OFF,
	_BOOT_WANT_MAX,
	_BOOT_WANT_INVALID = -EINVAL,
};

const char *boot_want_to_string(enum boot_want want);
enum boot_want boot_want_from_string(const char *s);

/* Beside enum atomic_flags. */
enum edit_flags {
	/* Not taken back when the change fails or is interrupted: the old bytes would make the
	 * next boot another one. */
	EDIT_ONE_WAY = 1 << 8,
};

struct edit {
	char *path; /* inside the root */
	struct content old;
	struct content new; /* no data: the file goes */
	mode_t mode;	    /* of a new file */
	unsigned flags;	    /* enum atomic_flags, enum edit_flags */
	/* a program makes the new bytes; until changeset_task.make() a NUL stands for them */
	bool unmade;
};

/* Something that is run, or that the user has to run. */
struct command {
	struct strv argv;
};

enum changeset_refresh {
	REFRESH_NONE,  /* nothing reads what was edited but us */
	REFRESH_RUN,   /* the loader's files must follow now */
	REFRESH_PRINT, /* they must follow, and not by us (--root): the commands are printed */
};

/* Initialise with {}. */
struct changeset {
	struct edit *edits;
	size_t n;
	size_t alloc;

	enum changeset_refresh refresh;
	struct command *commands; /* what refreshing runs, for people */
	size_t n_commands;
	size_t commands_alloc;
	struct strv initrds; /* images that are built anew, see boot/initrd.h */

	/* for the record, so that an interrupted change can be finished */
	char *backend; /* NULL: none is concerned */
	enum boot_want want;
	/* for one boot: interrupted, it is taken back and not finished, since that boot may be
	 * over by then */
	bool once;

	/* filled by changeset_take_back() */
	unsigned *undoes; /* numbers of the records that this one takes back */
	size_t n_undoes;
	struct strv rmdirs; /* directories that go if they are empty, innermost first */
};

/*
 * Plans that path holds size bytes of data (NULL: that it is gone). Reads what is there now; an
 * edit that changes nothing is dropped (but for one with ATOMIC_TOUCH), a second one of the
 * same path replaces the first.
 */
int changeset_edit(struct changeset *cs, const struct root *root, const char *path, size_t max,
		   const char *data, size_t size, mode_t mode, unsigned flags,
		   struct diag *diag) _must_check_;
/* Plans that path will hold what changeset_task.make() makes. */
int changeset_edit_unmade(struct changeset *cs, const struct root *root, const char *path,
			  size_t max, mode_t mode, unsigned flags,
			  struct diag *diag) _must_check_;
/* The planned bytes of a path, or NULL when it is not edited. */
const struct edit *changeset_find(const struct changeset *cs, const char *path) _pure_;
/* Adds flags to the planned edit of a path, if there is one. */
void changeset_add_flags(struct changeset *cs, const char *path, unsigned flags);
/* argv is NULL-terminated and copied. */
int changeset_add_command(struct changeset *cs, const char *const *argv) _must_check_;
/* Nothing to write and nothing to run. */
bool changeset_is_empty(const struct changeset *cs) _pure_;
/* An edit as a unified diff for people, without the padding of GRUB's environment blocks.
 * Memory failures stick in ret. */
void changeset_diff_edit(const struct edit *edit, struct strbuf *ret);
/* All of them: 0 or -ENOMEM. */
int changeset_diff(const struct changeset *cs, struct strbuf *ret) _must_check_;

void changeset_done(struct changeset *cs);
#define _cleanup_changeset_ _cleanup_(changeset_done)

/* What changeset_run() needs from its caller; userdata is passed through. */
struct changeset_task {
	const struct root *root;
	const char *verb; /* for the record: "set off" */

	/* Called without the lock, and again under it. Never writes. */
	int (*plan)(void *userdata, struct changeset *cs, struct diag *diag);
	/*
	 * Runs what makes the bytes of unmade edits: under the lock, before anything is
	 * recorded, so that nothing has to be put back when it fails.
	 */
	int (*make)(void *userdata, struct changeset *cs, struct diag *diag);
	/*
	 * Makes the loader's files follow and proves it; also called to finish a change that
	 * was interrupted (cs then is its record). 0, or a negative errno with an error in
	 * diag.
	 */
	int (*finish)(void *userdata, const struct changeset *cs, struct diag *diag);
	void *userdata;

	bool dry_run;
};

enum changeset_result {
	CHANGESET_UNCHANGED,
	CHANGESET_WOULD_CHANGE,
	CHANGESET_CHANGED,
};

/*
 * Recovers an interrupted change, plans, locks, plans again, records, applies, finishes. The
 * plan is in *ret_plan also on failure (when it got that far). An enum changeset_result, or a
 * negative errno with errors in diag that say whether everything was put back.
 */
int changeset_run(const struct changeset_task *task, struct changeset *ret_plan,
		  struct diag *diag) _must_check_;
