/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Attributes, cleanup helpers and the few macros that every file uses. */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#define _cleanup_(f)	  __attribute__((cleanup(f)))
#define _must_check_	  __attribute__((warn_unused_result))
#define _printf_(fmt, va) __attribute__((format(printf, fmt, va)))
#define _pure_		  __attribute__((pure))
#define _unused_	  __attribute__((unused))

/* A _must_check_ result that is deliberately not looked at; the comment beside it says why. */
#define IGNORE(call)                                \
	do {                                        \
		__typeof__(call) _ignored = (call); \
		(void)_ignored;                     \
	} while (0)

#define ARRAY_SIZE(x) (sizeof(x) / sizeof((x)[0]))

#define MIN(a, b)                                  \
	({                                         \
		__typeof__(a) _min_a = (a);        \
		__typeof__(b) _min_b = (b);        \
		_min_a < _min_b ? _min_a : _min_b; \
	})
#define MAX(a, b)                                  \
	({                                         \
		__typeof__(a) _max_a = (a);        \
		__typeof__(b) _max_b = (b);        \
		_max_a > _max_b ? _max_a : _max_b; \
	})

/* Hand a pointer over: evaluates to its value and leaves NULL behind. */
#define TAKE_PTR(p)                          \
	({                                   \
		__typeof__(p) *_pp = &(p);   \
		__typeof__(p) _taken = *_pp; \
		*_pp = NULL;                 \
		_taken;                      \
	})

/* Likewise for a descriptor: leaves -EBADF behind. */
#define TAKE_FD(fd)                 \
	({                          \
		int *_fdp = &(fd);  \
		int _taken = *_fdp; \
		*_fdp = -EBADF;     \
		_taken;             \
	})

/*
 * Makes room in an array for one more item behind its first n, doubling: false when out of
 * memory, with the array as it was. items and alloc are variables; items may be NULL and alloc
 * 0.
 */
#define GROW(items, n, alloc)                                                    \
	({                                                                       \
		void *_grown = array_grow(items, n, &(alloc), sizeof(*(items))); \
		if (_grown)                                                      \
			(items) = _grown;                                        \
		_grown != NULL;                                                  \
	})

static inline void *array_grow(void *items, size_t n, size_t *alloc, size_t size)
{
	size_t more = *alloc ? *alloc * 2 : 8;
	void *grown;

	if (n < *alloc)
		return items;
	grown = reallocarray(items, more, size);
	if (grown)
		*alloc = more;
	return grown;
}

static inline void freep(void *p)
{
	free(*(void **)p);
}

static inline void closep(int *fd)
{
	if (*fd >= 0) {
		int saved = errno;

		(void)close(*fd); /* nothing was written through it, or it was fsynced */
		errno = saved;
		*fd = -EBADF; /* so that an early close and the scope's do not meet */
	}
}

#define _cleanup_free_ _cleanup_(freep)
#define _cleanup_fd_   _cleanup_(closep)

/* Defines funcp() so that _cleanup_(funcp) calls func() on a pointer variable. */
#define DEFINE_CLEANUP(type, func)          \
	static inline void func##p(type *p) \
	{                                   \
		if (*p)                     \
			func(*p);           \
	}                                   \
	struct _cleanup_needs_semicolon_
