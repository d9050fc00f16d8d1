/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What kernel images answered, kept by the identity of the file. */

#include "base/str.h"
#include "facts/kimage.h"
#include "facts/release.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

static bool cache_matches(const struct kimage_cache_entry *entry, const struct stat *st)
{
	return entry->dev == st->st_dev && entry->ino == st->st_ino &&
	       entry->size == (uint64_t)st->st_size && entry->mtime_s == st->st_mtim.tv_sec &&
	       entry->mtime_ns == (uint32_t)st->st_mtim.tv_nsec;
}

static const struct kimage_cache_entry *cache_find(const struct kimage_cache *cache,
						   const struct stat *st)
{
	for (size_t i = 0; i < cache->n; i++)
		if (cache_matches(&cache->entries[i], st))
			return &cache->entries[i];
	return NULL;
}

int kimage_cache_get(const struct kimage_cache *cache, const struct stat *st, enum answer *ret,
		     char **ret_release)
{
	const struct kimage_cache_entry *entry = cache_find(cache, st);
	char *release = NULL;

	if (!entry)
		return -ENOENT;
	if (entry->release) {
		release = strdup(entry->release);
		if (!release)
			return -ENOMEM;
	}
	*ret = entry->honours;
	*ret_release = release;
	return 0;
}

/* release is copied; NULL is none. */
static int cache_add(struct kimage_cache *cache, const struct kimage_cache_entry *entry,
		     const char *release)
{
	char *copy = release ? strdup(release) : NULL;

	if (release && !copy)
		return -ENOMEM;
	if (!GROW(cache->entries, cache->n, cache->alloc)) {
		free(copy);
		return -ENOMEM;
	}
	cache->entries[cache->n] = *entry;
	cache->entries[cache->n++].release = copy;
	return 0;
}

int kimage_cache_put(struct kimage_cache *cache, const struct stat *st, enum answer honours,
		     const char *release)
{
	struct kimage_cache_entry entry = {
		.dev = st->st_dev,
		.ino = st->st_ino,
		.size = (uint64_t)st->st_size,
		.mtime_s = st->st_mtim.tv_sec,
		.mtime_ns = (uint32_t)st->st_mtim.tv_nsec,
		.honours = honours,
	};
	int r = cache_add(cache, &entry, release);

	cache->changed |= r >= 0;
	return r;
}

void kimage_cache_done(struct kimage_cache *cache)
{
	for (size_t i = 0; i < cache->n; i++)
		free(cache->entries[i].release);
	free(cache->entries);
	*cache = (struct kimage_cache){};
}

/* "DEV INO SIZE SECONDS NANOSECONDS yes|no RELEASE|-", a kernel a line */
static bool parse_cache_line(char *line, struct kimage_cache_entry *ret,
			     const char **ret_release)
{
	char *words[7], *save = NULL;
	uint64_t numbers[5];
	size_t n = 0;

	for (char *word = strtok_r(line, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		if (n == ARRAY_SIZE(words))
			return false;
		words[n++] = word;
	}
	if (n != ARRAY_SIZE(words))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		if (str_parse_u64(words[i], &numbers[i]) < 0)
			return false;
	*ret = (struct kimage_cache_entry){
		.dev = numbers[0],
		.ino = numbers[1],
		.size = numbers[2],
		.mtime_s = (int64_t)numbers[3],
		.mtime_ns = (uint32_t)numbers[4],
		.honours = streq(words[5], "yes")  ? ANSWER_YES
			   : streq(words[5], "no") ? ANSWER_NO
						   : ANSWER_UNKNOWN,
	};
	*ret_release = words[6];
	return ret->honours != ANSWER_UNKNOWN &&
	       (streq(words[6], "-") || release_is_valid(words[6]));
}

int kimage_cache_parse(const char *text, size_t size, struct kimage_cache *ret)
{
	_cleanup_kimage_cache_ struct kimage_cache cache = {};
	_cleanup_strv_ struct strv lines = {};
	_cleanup_free_ char *copy = str_dup_n(text, size);
	int r;

	if (!copy)
		return -ENOMEM;
	strv_split(&lines, copy, "\n");
	r = strv_error(&lines);
	for (size_t i = 0; r >= 0 && i < lines.n; i++) {
		struct kimage_cache_entry entry;
		const char *release;

		if (!parse_cache_line(lines.items[i], &entry, &release))
			continue;
		r = cache_add(&cache, &entry, streq(release, "-") ? NULL : release);
	}
	if (r < 0)
		return r;
	*ret = cache;
	cache = (struct kimage_cache){};
	return 0;
}

int kimage_cache_print(const struct kimage_cache *cache, char **ret)
{
	_cleanup_strbuf_ struct strbuf buf = {};

	for (size_t i = 0; i < cache->n; i++) {
		const struct kimage_cache_entry *e = &cache->entries[i];

		strbuf_addf(&buf, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIi64 " %u %s %s\n",
			    e->dev, e->ino, e->size, e->mtime_s, e->mtime_ns,
			    answer_to_string(e->honours), e->release ? e->release : "-");
	}
	return strbuf_take(&buf, ret, NULL);
}
