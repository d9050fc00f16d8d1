/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The grammar of values, to the letter (config_parse_memory_limit(), parse_size(),
 * parse_permyriad(), extract_first_word() and parse_sec() of systemd v240 to v260). Every value
 * comes stripped of blanks, as base/ini gives it. version is systemd's, 0 when unknown (then
 * the newest grammar holds).
 */

#include "base/macro.h"

enum unit_size_kind {
	UNIT_SIZE_RESET,    /* empty: back to the default */
	UNIT_SIZE_INFINITY, /* "infinity" */
	UNIT_SIZE_BYTES,
	UNIT_SIZE_SHARE, /* of the physical memory, which is not known here */
};

struct unit_size {
	enum unit_size_kind kind;
	uint64_t bytes; /* of UNIT_SIZE_BYTES */
	unsigned share; /* of UNIT_SIZE_SHARE: 10000 is everything */
};

/* 0, -EINVAL when it is no size, -ERANGE when it is one that systemd refuses. */
int unit_value_size(const char *s, bool zero_allowed, unsigned version,
		    struct unit_size *ret) _must_check_;
/* A percentage, permille or permyriad up to 100 %: 0, -EINVAL or -ERANGE. */
int unit_value_share(const char *s, unsigned version, unsigned *ret) _must_check_;
/* A time span in microseconds, UINT64_MAX for "infinity": 0, -EINVAL or -ERANGE. */
int unit_value_span(const char *s, uint64_t *ret) _must_check_;

enum unit_word_flags {
	UNIT_WORD_UNQUOTE = 1 << 0,	   /* quotes are taken off, else part of the word */
	UNIT_WORD_KEEP_BACKSLASH = 1 << 1, /* else it makes the next byte one like others */
};

/*
 * Takes the next word off *s, as extract_first_word() does: 1 with the word, which the caller
 * frees; 0 at the end; -EINVAL for an open quote or a last backslash that is taken off.
 */
int unit_value_word(const char **s, enum unit_word_flags flags, char **ret) _must_check_;

/* What is wrong with a size that was refused with error, for people: a static string. */
const char *unit_value_complaint(const char *s, int error) _pure_;
