/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Boot loaders: what they are asked for now, what they will really boot, and how to change it.
 * A backend is one way to persist a kernel argument on one kind of system: one file, one const
 * struct, one line in the list of boot.c.
 */

#include "boot/changeset.h"
#include "facts/kernels.h"

/* One thing that can be booted. */
struct boot_entry {
	char *id;	  /* as the loader knows it */
	char *title;	  /* as people see it, " > " between a submenu and its entry */
	char *kernel;	  /* release ("6.1.0-18-amd64"), or NULL when it cannot be told */
	char *image;	  /* the kernel's file as the loader names it, or NULL */
	char *args;	  /* the command line as the loader will pass it, without the image */
	size_t tree_size; /* bytes at its start that the device tree adds, not the source */
	char *source;	  /* file and line that says so */
	unsigned line;
	bool is_default; /* the next boot takes it unless someone chooses */
	bool recovery;
	bool ours;	 /* made for this root's kernels out of what the backend edits */
	bool foreign;	 /* of another system: its kernel is none of this root's */
	bool trial;	 /* made by "trial", and not ours in the sense above */
	bool is_lasting; /* with boot_state.once: the boots behind the next one take it */
	/* derived from args and the facts of its kernel by boot_read() */
	enum cmdline_request request;
	char *token; /* the deciding word, or NULL */
	enum memcg_state if_booted;
};

/* Initialise with {}. */
struct boot_entries {
	struct boot_entry *items;
	size_t n;
	size_t alloc;
};

/* A new empty entry at the end, or NULL. */
struct boot_entry *boot_entries_add(struct boot_entries *entries);
void boot_entries_done(struct boot_entries *entries);

/* What read() found. Initialise with {}. */
struct boot_state {
	/* what the loader's defaults ask for; NOT_LOOKED: there are none, or they cannot be
	 * known without running them */
	enum cmdline_request configured;
	char *configured_path; /* where the deciding word is, or NULL */
	unsigned configured_line;
	struct boot_entries entries;
	bool entries_known; /* false: there is no menu (yet), or it cannot be read */
	bool bls;	    /* the loader also reads /boot/loader/entries */
	bool once;	    /* the next boot takes its entry once */
};

void boot_state_done(struct boot_state *state);
#define _cleanup_boot_state_ _cleanup_(boot_state_done)

struct boot_backend;

enum { BOOT_MAX_ALSO = 8 };

/* The loader of a root. All borrowed; filled by boot_probe(). */
struct boot {
	const struct root *root;
	struct kernels *kernels; /* of this root */
	const struct boot_backend *backend;
	const struct boot_backend *also[BOOT_MAX_ALSO];
	size_t n_also;
	bool forced;  /* Backend= of the policy, not the probe */
	bool refresh; /* --refresh: run the loader's tools in an offline root too */
	/* in refresh() and verify(): the change, or the record of one that was interrupted */
	const struct changeset *changes;
};

/* What the words must be for a decision, by the kernels of the root (boot_words()). */
struct boot_words {
	enum boot_want want;
	unsigned flags; /* enum cmdline_edit_flags */
};

/* How far our tests got with a loader, as docs/BOOT-LOADERS.md has it; said after a write. */
enum boot_tried {
	BOOT_TRIED_REAL,     /* machines were booted by it */
	BOOT_TRIED_TOOLS,    /* its own tools ran, or read what was written */
	BOOT_TRIED_FIXTURES, /* only files as it is documented to have them */
};

/* What can have started a system that boots by a backend's files (boot/started.h): a mask. 0:
 * many things, or nothing is written. */
enum boot_by {
	BOOT_BY_SYSTEMD_BOOT = 1 << 0,
	BOOT_BY_GRUB = 1 << 1,
	BOOT_BY_STUB = 1 << 2,	   /* systemd-stub in a unified kernel image */
	BOOT_BY_SYSLINUX = 1 << 3, /* puts BOOT_IMAGE= on the line, as GRUB does */
	BOOT_BY_OTHER = 1 << 4,	   /* leaves neither EFI variables nor that word */
};

struct boot_backend {
	const char *name;  /* Backend=, JSON */
	const char *title; /* for people, without an article */
	const char *sign;  /* what it was found by; NULL: the path of found_by that is there */
	unsigned by;	   /* enum boot_by */
	enum boot_tried tried;
	bool remounts; /* its tool writes where it has to, also below what is read-only */

	/* Whether this loader is in charge: 1, 0, or a negative errno (said in diag). */
	int (*probe)(const struct root *root, struct diag *diag);
	const char *const *found_by; /* in its place: paths, one of which is enough */

	const struct boot_advice *advice; /* of those that are only recognised */

	/* Never writes, never runs anything. */
	int (*read)(const struct boot *boot, struct boot_state *ret, struct diag *diag);

	/*
	 * Adds the edits that make the defaults ask for the words, and says in cs->refresh and
	 * the commands what has to follow. state is what read() found. -ENOTSUP when it cannot
	 * be had here (exit status 5), with the reason in diag.
	 */
	int (*plan)(const struct boot *boot, const struct boot_state *state,
		    const struct boot_words *words, struct changeset *cs, struct diag *diag);

	/* The second part of plan() alone: for files that are put back. NULL: nothing follows.
	 */
	int (*plan_refresh)(const struct boot *boot, const struct boot_state *state,
			    const struct boot_words *words, bool edited, struct changeset *cs);

	/* Makes the bytes of the edits that plan() left unmade, and changes nothing else. NULL:
	 * there are none. */
	int (*make)(const struct boot *boot, struct changeset *cs, struct diag *diag);

	/* Makes the loader's own files follow. An error leaves them as they were. */
	int (*refresh)(const struct boot *boot, const struct boot_words *words,
		       struct diag *diag);

	/*
	 * Adds the edits that make the next boot, and no other, have the words. Only where the
	 * loader forgets it before it boots, whatever happens then. NULL: it never does.
	 * -ENOTSUP with the reason in diag.
	 */
	int (*plan_trial)(const struct boot *boot, const struct boot_state *state,
			  const struct boot_words *words, struct changeset *cs,
			  struct diag *diag);
	/* Adds the edits that take a trial away; without all: that the next boot is none. */
	int (*plan_no_trial)(const struct boot *boot, bool all, struct changeset *cs,
			     struct diag *diag);

	/* Proves by the loader's own files that every entry of ours is as wanted. */
	int (*verify)(const struct boot *boot, const struct boot_words *words,
		      struct diag *diag);

	/*
	 * A file that we edited holds other bytes than we wrote: takes only our words back.
	 * written is what we made of before; now is what is there. NULL: the file was ours
	 * alone, and goes.
	 */
	int (*take_back)(const struct boot *boot, const char *path,
			 const struct content *before, const struct content *written,
			 const struct content *now, struct content *ret, struct diag *diag);
};

/*
 * Finds the backend in charge; never NULL, "none" is one. name (Backend=) overrides the probe.
 * -EINVAL with an error in diag when name is none of ours.
 */
int boot_probe(const struct root *root, struct kernels *kernels, const char *name,
	       struct boot *ret, struct diag *diag) _must_check_;
/* NULL when there is none of that name. */
const struct boot_backend *boot_backend_find(const char *name) _pure_;

/* read() of the backend, and what each entry asks for and would give. */
int boot_read(const struct boot *boot, struct boot_state *ret, struct diag *diag) _must_check_;

/* The words for a decision on this root's kernels, or -ENOTSUP or -EPERM (refuse) with the
 * reason in diag. */
int boot_words(const struct boot *boot, enum boot_want want, struct boot_words *ret,
	       struct diag *diag) _must_check_;

/* Whether an entry would boot as wanted; what cannot be told goes by the words on its line. */
bool boot_entry_is(const struct boot_entry *entry, enum boot_want want) _pure_;
/* Fills request, token and if_booted in. */
int boot_entry_judge(const struct boot *boot, struct boot_entry *entry) _must_check_;
/* What boots take when no choice is made for one of them (once: there is one), or NULL. */
const struct boot_entry *boot_lasting_entry(const struct boot_entries *entries,
					    bool once) _pure_;
/* Entries of ours that are not as wanted. */
size_t boot_n_differing(const struct boot_state *state, enum boot_want want) _pure_;

/* The backends. */
extern const struct boot_backend boot_armbian;
extern const struct boot_backend boot_bls;
extern const struct boot_backend boot_efistub;
extern const struct boot_backend boot_extlinux;
extern const struct boot_backend boot_flash_kernel;
extern const struct boot_backend boot_grub_default;
extern const struct boot_backend boot_grub_dropin;
extern const struct boot_backend boot_kernelstub;
extern const struct boot_backend boot_limine;
extern const struct boot_backend boot_nixos;
extern const struct boot_backend boot_none;
extern const struct boot_backend boot_ostree;
extern const struct boot_backend boot_petitboot;
extern const struct boot_backend boot_proxmox;
extern const struct boot_backend boot_raspi_firmware;
extern const struct boot_backend boot_refind;
extern const struct boot_backend boot_rpi;
extern const struct boot_backend boot_sdbootutil;
extern const struct boot_backend boot_systemd;
extern const struct boot_backend boot_transactional;
extern const struct boot_backend boot_u_boot_menu;
extern const struct boot_backend boot_uki;
extern const struct boot_backend boot_update_extlinux;
extern const struct boot_backend boot_zfsbootmenu;
extern const struct boot_backend boot_zipl;
