/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The kernel command line, split as the kernel splits it (next_arg() in lib/cmdline.c,
 * parse_args() in kernel/params.c, obsolete_checksetup() in init/main.c):
 *  - words end at white space outside double quotes; a quote toggles anywhere in a word,
 * nothing escapes it, single quotes are ordinary bytes;
 *  - white space is what the kernel's isspace() says: blank, \t \n \v \f \r and the byte 0xa0;
 *  - the first '=' not at the start of a word parts name and value; the quotes around
 *    "name=value" and name="value" are no part of them;
 *  - '-' and '_' are the same in names, never in values;
 *  - a word "--" ends the kernel's part, the rest is for init.
 * Nothing here reads a file, and every word keeps its place in the text.
 */

#include "base/macro.h"
#include "facts/state.h"

#include <sys/types.h>

enum cmdline_form {
	CMDLINE_LINE, /* all of the text; new-lines are white space (/proc/cmdline, a variable)
		       */
	CMDLINE_FILE, /* only the first line counts (cmdline.txt of a Raspberry Pi) */
};

/* Offsets and sizes are in bytes of the text. */
struct cmdline_word {
	size_t offset; /* of the whole word, quotes included */
	size_t size;
	size_t name_offset;
	size_t name_size;
	size_t value_offset;
	size_t value_size;
	bool has_value;
	bool for_init; /* the "--" and what is behind it: the kernel does not look at it */
	bool open;     /* ends inside a quote */
};

/* Initialise with {}; text is borrowed. */
struct cmdline {
	const char *text;
	size_t size; /* of the text that counts, without the line's end */
	struct cmdline_word *words;
	size_t n;
	size_t alloc;
	unsigned *more_lines; /* numbers of further lines with words (CMDLINE_FILE) */
	size_t n_more_lines;
	size_t more_lines_alloc;
};

/* A text ends at its first NUL byte, as for the kernel. */
int cmdline_parse(const char *text, size_t size, enum cmdline_form form,
		  struct cmdline *ret) _must_check_;
void cmdline_done(struct cmdline *cmdline);
#define _cleanup_cmdline_ _cleanup_(cmdline_done)

/* Whether the word's name is name, '-' and '_' being the same. */
bool cmdline_name_is(const struct cmdline *cmdline, size_t word, const char *name) _pure_;
/* The last of the kernel's words with that name, or -ENOENT. */
ssize_t cmdline_find(const struct cmdline *cmdline, const char *name) _pure_;

/* --- what the line asks for --- */

enum cmdline_request {
	CMDLINE_NOT_LOOKED,
	CMDLINE_NONE,
	CMDLINE_ON,
	CMDLINE_OFF,
	_CMDLINE_REQUEST_MAX,
};
const char *cmdline_request_to_string(enum cmdline_request request) _pure_;

/* What one word by itself asks for, wherever it stands. */
enum cmdline_request cmdline_word_request(const struct cmdline *cmdline, size_t word) _pure_;
/* The last of the kernel's words that asks for it, or -ENOENT. */
ssize_t cmdline_find_request(const struct cmdline *cmdline,
			     enum cmdline_request request) _pure_;
/*
 * What the line asks for, whatever a kernel makes of it: the last of cgroup_enable= and
 * cgroup_disable= whose comma list names memory. ret_word (may be NULL) gets that word's index,
 * or -ENOENT.
 */
enum cmdline_request cmdline_request(const struct cmdline *cmdline, ssize_t *ret_word);

/* Words that look as if they decided, and do not. */
enum cmdline_hint {
	CMDLINE_HINT_NONE,
	CMDLINE_HINT_BEHIND_DASHES, /* a deciding word, but for init */
	CMDLINE_HINT_NO_VALUE,	    /* a bare cgroup_enable or cgroup_disable */
	CMDLINE_HINT_OTHER_CASE,    /* "Memory": names are case-sensitive */
	CMDLINE_HINT_CGROUP_MEMORY, /* cgroup_memory=: Raspberry Pi kernels of late 2017 */
	CMDLINE_HINT_SWAPACCOUNT,   /* about swap only */
	CMDLINE_HINT_NO_V1,	    /* cgroup_no_v1=: memory stays usable on v2 */
	CMDLINE_HINT_ACCOUNTING,    /* cgroup.memory=: what is counted, not whether */
	_CMDLINE_HINT_MAX,
};
enum cmdline_hint cmdline_hint(const struct cmdline *cmdline, size_t word);
/* Whether somebody meant to switch memcg by such a word, and it does nothing. */
bool cmdline_hint_is_vain(enum cmdline_hint hint) _pure_;
/* One sentence part: "is about swap accounting only". NULL for CMDLINE_HINT_NONE. */
const char *cmdline_hint_text(enum cmdline_hint hint) _pure_;

/* --- what a kernel makes of it --- */

/*
 * How a kernel treats cgroup_enable=. A mask: a kernel that is not known well has several bits,
 * and a prediction is made only where all of them agree.
 */
enum cmdline_rule {
	CMDLINE_MAINLINE = 1 << 0,    /* not at all: any disable wins */
	CMDLINE_LAST_WINS = 1 << 1,   /* Debian 7 and 8, Raspberry Pi since December 2024 */
	CMDLINE_ENABLE_WINS = 1 << 2, /* Raspberry Pi, end of 2017 to 5.12 */
	CMDLINE_HONOURS = CMDLINE_LAST_WINS | CMDLINE_ENABLE_WINS,
	CMDLINE_RULE_UNKNOWN = CMDLINE_MAINLINE | CMDLINE_HONOURS,
};

/*
 * memcg's state when a kernel is booted with this line. rules is a mask of enum cmdline_rule;
 * state_default is what it does without any word (on, off or unknown). Where it is not known
 * whether memcg is built in, it is never "on"; a word that says off is "off" all the same.
 */
enum memcg_state cmdline_predict(const struct cmdline *cmdline, unsigned rules,
				 enum memcg_state state_default, enum answer built);

/* --- changing it --- */

enum cmdline_edit_flags {
	CMDLINE_WRITE_ENABLE = 1 << 0, /* on: see to a cgroup_enable=memory */
	CMDLINE_NO_DISABLE = 1 << 1,   /* off: the kernel is off without being told */
};

/* One word that an edit touches: before is NULL for an added one, after for a removed one. */
struct cmdline_change {
	char *before;
	char *after;
};
struct cmdline_changes {
	struct cmdline_change *items;
	size_t n;
	size_t alloc;
};
void cmdline_changes_done(struct cmdline_changes *changes);
#define _cleanup_cmdline_changes_ _cleanup_(cmdline_changes_done)

/*
 * Makes a line ask for on (MEMCG_ON: memory is in no cgroup_disable=) or off (MEMCG_OFF: memory
 * is in no cgroup_enable=, and in a cgroup_disable=). Other members of a list stay. A word that
 * would be left without members goes, with one of the blanks that part it from its neighbours;
 * a new word comes behind the last of the kernel's. Every other byte stays as it is, and doing
 * it twice is doing it once.
 * 1 if something changed, 0 with the same bytes if not; -EINVAL, where a word must be added, if
 * the line ends inside a quote (it would become part of it); -EBADMSG for a NUL byte in the
 * text. ret_changes may be NULL.
 */
int cmdline_edit(const char *text, size_t size, enum cmdline_form form, enum memcg_state want,
		 unsigned flags, char **ret, size_t *ret_size,
		 struct cmdline_changes *ret_changes) _must_check_;
