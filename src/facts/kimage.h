/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Whether a kernel honours cgroup_enable=, asked of its image or, for the running one, of its
 * symbols. Dear (tens to hundreds of milliseconds): only for those who must know, and cached.
 */

#include "base/macro.h"
#include "facts/state.h"

struct root;
struct stat;

struct kimage_cache_entry {
	uint64_t dev;
	uint64_t ino;
	uint64_t size;
	int64_t mtime_s;
	uint32_t mtime_ns;
	enum answer honours; /* yes or no */
	char *release;	     /* or NULL */
};

/* Answers by file identity. The caller reads and writes the file; initialise with {}. */
struct kimage_cache {
	struct kimage_cache_entry *entries;
	size_t n;
	size_t alloc;
	bool changed; /* worth writing */
};

enum { KIMAGE_MAX_CACHE = 64 * 1024 };

/* Lines that are not understood are skipped: a damaged cache is an emptier one. */
int kimage_cache_parse(const char *text, size_t size, struct kimage_cache *ret) _must_check_;
int kimage_cache_print(const struct kimage_cache *cache, char **ret) _must_check_;
void kimage_cache_done(struct kimage_cache *cache);
#define _cleanup_kimage_cache_ _cleanup_(kimage_cache_done)

/* For kimage_honours_enable(): -ENOENT when the file is not in it; release may be NULL. */
int kimage_cache_get(const struct kimage_cache *cache, const struct stat *st, enum answer *ret,
		     char **ret_release) _must_check_;
int kimage_cache_put(struct kimage_cache *cache, const struct stat *st, enum answer honours,
		     const char *release) _must_check_;

/*
 * Whether the image has the handler: the NUL-terminated text "cgroup_enable=" in the
 * uncompressed kernel, "cgroup_disable=" being there as the control. cache may be NULL.
 * ret_release (may be NULL) gets the release that the kernel says it is, or NULL.
 * 0 with yes, no or unknown; -ENOENT, -EACCES and the like when the file cannot be read.
 */
int kimage_honours_enable(const struct root *root, const char *path, struct kimage_cache *cache,
			  enum answer *ret, char **ret_release) _must_check_;

/* The release in the header of an x86 image, without uncompressing anything; or -ENOENT. */
int kimage_header_release(const struct root *root, const char *path, char **ret) _must_check_;

/* Whether the running kernel honours it, by /proc/kallsyms. */
int kimage_running_honours_enable(const struct root *root, enum answer *ret) _must_check_;
