/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Libraries that are opened when they are needed, and are not needed to start. The one .c that
 * includes a library's header says which of its functions it uses:
 *
 *	#define SYMBOLS(_) _(archive_read_new) _(archive_read_free)
 *	DLOPEN_LIBRARY(libarchive, "suggested", "libarchive.so.13", "archive",
 *		       "compressed kernel images and /proc/config.gz", SYMBOLS);
 *
 * which gives struct libarchive, a member for each function, and libarchive_open():
 *
 *	struct libarchive lib;
 *
 *	r = libarchive_open(&lib);
 *	if (r < 0)
 *		return r;
 *	a = lib.archive_read_new();
 *
 * Opening twice costs microseconds: the loader keeps what it has. Packagers find the dependency
 * in the ELF note (https://uapi-group.org/specifications/specs/elf_dlopen_metadata/), with its
 * priority: without a "suggested" library the program works and says what it cannot tell.
 */

#include "base/macro.h"

/*
 * Opens soname and looks up the functions named in symbols (NULL-terminated) into table, an
 * array of as many pointers. -EOPNOTSUPP when the library or one of them is not there.
 */
int dlopen_symbols(const char *soname, const char *const *symbols, void **table) _must_check_;

#define DLOPEN_MEMBER(symbol) __typeof__(symbol) *symbol;
#define DLOPEN_NAME(symbol)   #symbol,

#define DLOPEN_LIBRARY(library, priority, soname, feature, description, symbols)       \
	DLOPEN_NOTE(library,                                                           \
		    "[{\"feature\":\"" feature "\",\"description\":\"" description     \
		    "\",\"priority\":\"" priority "\",\"soname\":[\"" soname "\"]}]"); \
	struct library {                                                               \
		symbols(DLOPEN_MEMBER)                                                 \
	};                                                                             \
	_must_check_ static int library##_open(struct library *ret)                    \
	{                                                                              \
		static const char *const names[] = { symbols(DLOPEN_NAME) NULL };      \
                                                                                       \
		_Static_assert(sizeof(*ret) == sizeof(names) - sizeof(names[0]),       \
			       "functions only");                                      \
		return dlopen_symbols(soname, names, (void **)ret);                    \
	}                                                                              \
	struct _dlopen_needs_semicolon_

/* clang would surround it with red zones, gcc does not know the attribute for variables */
#ifdef __clang__
#define DLOPEN_NO_ASAN __attribute__((no_sanitize("address")))
#else
#define DLOPEN_NO_ASAN
#endif

#define DLOPEN_NOTE(library, text)                                 \
	__attribute__((used, section(".note.dlopen"), aligned(4))) \
	DLOPEN_NO_ASAN static const struct {                       \
		uint32_t name_size, json_size, type;               \
		char name[4];                                      \
		char json[(sizeof(text) + 3) / 4 * 4];             \
	} library##_note = { 4, sizeof(text), 0x407c0c0a, "FDO", text }
