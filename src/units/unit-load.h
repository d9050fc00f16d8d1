/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * One unit as the manager would load it: fragment, names, drop-ins in order, the memory
 * settings in force and what was rejected (load-fragment.c, load-dropin.c, dropin.c,
 * conf-files.c).
 */

#include "base/macro.h"
#include "base/str.h"
#include "units/unit-alias.h"
#include "units/unit-name.h"
#include "units/unit-path.h"
#include "units/unit-setting.h"
#include "units/unit-text.h"

struct diag;
struct ini;

enum unit_load_state {
	UNIT_LOADED,
	UNIT_NOT_FOUND, /* no fragment, and units of that type need one */
	UNIT_MASKED,
	UNIT_FAILED, /* the fragment cannot be parsed: failure says why */
};

enum unit_line_state {
	UNIT_LINE_SET,	       /* in force, and not the default */
	UNIT_LINE_REJECTED,    /* systemd does not take the value, or never reads the line */
	UNIT_LINE_UNSUPPORTED, /* units of this type cannot have the setting */
	UNIT_LINE_UNREAD,      /* behind what this tool reads of a file */
};

/* One assignment of a memory setting. */
struct unit_line {
	const struct unit_setting *setting;
	enum unit_line_state state;
	struct unit_parsed parsed;
	char *value;   /* as written, blanks stripped */
	size_t source; /* index into the unit's sources */
	unsigned line;
	unsigned column;
	char *why; /* of lines that are not set: a sentence part */
};

/* "enabled": something on the disk starts it at boot. */
enum unit_enabled {
	UNIT_ENABLED_UNKNOWN,
	UNIT_ENABLED,
	UNIT_DISABLED, /* has an [Install] section, and nothing wants it */
	UNIT_STATIC,   /* started by others only */
	UNIT_ENABLED_MASKED,
	UNIT_ENABLED_TEMPLATE,
	_UNIT_ENABLED_MAX,
};

struct unit {
	char *name; /* the canonical one, as systemctl shows it */
	enum unit_type type;
	enum unit_form form;
	enum unit_load_state state;
	struct strv aliases;
	struct strv
		sources; /* paths: the fragment, if has_fragment, then the drop-ins in order */
	bool has_fragment;
	bool generated; /* made at boot by a generator or the kernel, from what is not a unit
			   file */
	char *slice;	/* the slice it lies in; NULL: none (the root slice, templates) */
	bool has_install;
	bool linked;	   /* another name of it was given where systemctl enables units */
	bool instantiated; /* a template of which an instance is known */
	char *triggers;	   /* Unit= or Service= of a timer, path or socket; NULL: the default */
	bool accept;	   /* of a socket: instances of a template */
	char *failure;
	enum unit_enabled enabled;

	struct unit_line *lines; /* those in force, then the others */
	size_t n_set;
	size_t n_lines;
	bool truncated; /* more of the others than are kept */
};

/*
 * Units as far as a scan has loaded them when it came by their fragments, so that these are
 * read once; sorted by name. Loading takes them out.
 */
struct unit_fragment {
	char *name;
	struct unit unit;
	bool taken;
};
struct unit_fragments {
	struct unit_fragment *items;
	size_t n;
	size_t alloc;
};

struct unit_quadlets;

/* What loading needs; what unit_loader_done() frees is its own. Initialise with {}. */
struct unit_loader {
	const struct root *root;
	const struct unit_path *path;
	const struct unit_aliases *aliases; /* sorted by target; NULL: none */
	struct unit_fragments *fragments;   /* NULL: none */
	/*
	 * The ".d" directories there are anywhere in path, sorted, each once; NULL: not known.
	 * shared_only: no more than those that more units than one can have are listed, and
	 * types says of which whole types there are some (1 << enum unit_type).
	 */
	const struct strv *dropin_dirs;
	bool shared_only;
	unsigned types;
	unsigned *turns; /* of each of them the last unit that it was listed for */
	unsigned turn;
	const struct unit_quadlets *quadlets; /* NULL: none */
	unsigned version;		      /* systemd's, 0: unknown */
	bool user;
	/* the first file or directory that this process may not read; and there are others */
	char *unreadable;
	bool unreadable_others;
	size_t *budget; /* what may still be looked at: see struct unit_text */
	struct diag *diag;
	struct unit_text text;
	char listing[UNIT_LISTING_SIZE];
};

void unit_loader_done(struct unit_loader *loader);
/* What loader->text holds, as the unit's last source. */
int unit_loader_parse(struct unit_loader *loader, struct unit *unit, bool dropin) _must_check_;
/*
 * Notes a file, or a directory where name is NULL, that could not be read for the error r: true
 * when that is for want of privileges, and then what it says is unknown.
 */
bool unit_loader_note_unreadable(struct unit_loader *loader, const char *dir, const char *name,
				 int r);

/* Loads the unit that has the name: 0 or an errno of this program, never of the unit. */
int unit_load(struct unit_loader *loader, const char *name, struct unit *ret) _must_check_;
/*
 * The unit as its fragment alone makes it, whose text is in loader->text: the file of that name
 * in that directory, which no other hides. -ENOMEM.
 */
int unit_load_fragment(struct unit_loader *loader, const char *name, size_t dir,
		       struct unit *ret) _must_check_;
void unit_done(struct unit *unit);

/* The unit that a name is: the file's own name, with the instance put in. -ENOENT, -ELOOP. */
int unit_canonical_name(const struct unit_path *path, const char *name, size_t *ret_dir,
			char ret_file[static UNIT_NAME_MAX],
			char ret_id[static UNIT_NAME_MAX]) _must_check_;

/* Whether a manager has such a unit from the start and cannot lose it. */
bool unit_is_perpetual(const char *name, bool user);
