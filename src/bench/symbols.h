/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The kernel's functions by address, and which of them are memcg's. */

#include "base/macro.h"

struct root;

enum symbol_group {
	SYMBOL_OTHER,
	SYMBOL_MEMCONTROL,   /* mm/memcontrol*.c, as far as names tell */
	SYMBOL_PAGE_COUNTER, /* mm/page_counter.c */
	SYMBOL_RSTAT,	     /* kernel/cgroup/rstat.c */
	SYMBOL_SHARED,	   /* memcontrol.c too, but they do their work with memcg off as well */
	SYMBOL_INTERRUPTS, /* let interrupts in again: where samples pile up without an NMI */
	_SYMBOL_GROUP_MAX,
};

const char *symbol_group_name(enum symbol_group group);
/* By a function's name; suffixes of the compiler (".isra.0") do not matter. */
enum symbol_group symbol_group(const char *name) _pure_;

struct symbol {
	uint64_t address;
	const char *name; /* in symbols.text, without the compiler's suffix */
	enum symbol_group group;
};

/* Initialise with {}. */
struct symbols {
	struct symbol *items; /* by address */
	size_t n;
	char *text;
};

/*
 * Takes the text of /proc/kallsyms over. -EPERM: the kernel hides the addresses; -ENODATA: no
 * function is in it.
 */
int symbols_parse_take(char *text, struct symbols *ret) _must_check_;
int symbols_load(const struct root *root, struct symbols *ret) _must_check_;
void symbols_done(struct symbols *symbols);
#define _cleanup_symbols_ _cleanup_(symbols_done)

/* The function an address is in: its index, or SIZE_MAX below the first. */
size_t symbols_find(const struct symbols *symbols, uint64_t address) _pure_;
