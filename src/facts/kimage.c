/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "facts/kimage.h"

#include "base/archive.h"
#include "base/root.h"
#include "base/str.h"
#include "facts/release.h"

#include <sys/stat.h>

/* A signed unified image with its initrd is the largest; what comes out is at most that. */
#define MAX_IMAGE  (512U * 1024 * 1024)
#define MAX_KERNEL (512U * 1024 * 1024)

/* --- searching for the handlers' names --- */

/* Both as they stand in the kernel: with the '=' and the NUL of __setup(). */
static const char wanted[] = "cgroup_enable=";
static const char control[] = "cgroup_disable=";

/* What /proc/version starts with, before the release. */
static const char banner[] = "Linux version ";

enum { CARRY = 128 }; /* more than any of these with a release behind it */

/* A search through the pieces of a stream. */
struct search {
	bool enable;
	bool disable;
	char release[CARRY - sizeof(banner)]; /* "" until it was seen */
	char carry[CARRY];		      /* the last bytes of what came before */
	size_t carry_size;
};

static void search_release(struct search *search, const char *data, size_t size)
{
	const char *end = data + size, *p = data;

	while ((p = memmem(p, (size_t)(end - p), banner, sizeof(banner) - 1))) {
		size_t n = 0;

		p += sizeof(banner) - 1;
		while (p + n < end && p[n] > ' ' && p[n] < 0x7f)
			n++;
		if (p + n == end || p[n] != ' ' || n >= sizeof(search->release))
			continue; /* cut off, or a format */
		memcpy(search->release, p, n);
		search->release[n] = '\0';
		if (*p >= '0' && *p <= '9' && release_is_valid(search->release))
			return;
		search->release[0] = '\0';
	}
}

static void search_bytes(struct search *search, const char *data, size_t size)
{
	search->enable |= memmem(data, size, wanted, sizeof(wanted)) != NULL;
	search->disable |= memmem(data, size, control, sizeof(control)) != NULL;
	if (!*search->release)
		search_release(search, data, size);
}

/* An archive_sink: stops when all was found. */
static int search_piece(void *userdata, const void *data, size_t size)
{
	struct search *search = userdata;
	char seam[2 * CARRY];
	size_t head = MIN(size, (size_t)CARRY), n = search->carry_size + head;

	memcpy(seam, search->carry, search->carry_size);
	memcpy(seam + search->carry_size, data, head);
	search_bytes(search, seam, n);
	search_bytes(search, data, size);
	search->carry_size = MIN(size >= CARRY ? size : n, (size_t)CARRY);
	if (size >= CARRY)
		memcpy(search->carry, (const char *)data + size - CARRY, CARRY);
	else
		memcpy(search->carry, seam + n - search->carry_size, search->carry_size);
	return search->enable && search->disable && *search->release;
}

static enum answer search_answer(const struct search *search)
{
	if (!search->disable)
		return ANSWER_UNKNOWN;
	return search->enable ? ANSWER_YES : ANSWER_NO;
}

/* --- where the kernel is in its image --- */

struct bytes {
	const unsigned char *data;
	size_t size;
};

static uint32_t get16(const struct bytes *image, size_t offset)
{
	const unsigned char *p = image->data + offset;

	return offset + 2 <= image->size ? (uint32_t)p[0] | (uint32_t)p[1] << 8 : 0;
}

static uint32_t get32(const struct bytes *image, size_t offset)
{
	return get16(image, offset) | get16(image, offset + 2) << 16;
}

static bool has(const struct bytes *image, size_t offset, const char *text, size_t size)
{
	return offset + size <= image->size && memcmp(image->data + offset, text, size) == 0;
}

/* The part of image, or nothing if it is not inside. */
static struct bytes part(const struct bytes *image, size_t offset, size_t size)
{
	if (offset > image->size || size > image->size - offset)
		return (struct bytes){};
	return (struct bytes){ image->data + offset, size };
}

/* The kernel in a unified image: its section .linux (UAPI specification of UKIs; PE/COFF). */
static struct bytes uki_kernel(const struct bytes *image)
{
	size_t pe = get32(image, 0x3c), n, table;

	if (!has(image, 0, "MZ", 2) || !has(image, pe, "PE\0", 4))
		return (struct bytes){};
	n = get16(image, pe + 6);
	table = pe + 24 + get16(image, pe + 20);
	for (size_t i = 0; i < n; i++) {
		size_t section = table + i * 40, size;

		if (!has(image, section, ".linux\0", 8))
			continue;
		/* the smaller of what it has in the file and in memory */
		size = MIN(get32(image, section + 8), get32(image, section + 16));
		return part(image, get32(image, section + 20), size);
	}
	return (struct bytes){};
}

/* The payload of an x86 bzImage (Documentation/arch/x86/boot.rst, protocol 2.08 and later). */
static struct bytes x86_payload(const struct bytes *image)
{
	size_t sectors = image->size > 0x1f1 ? image->data[0x1f1] : 0;

	if (!has(image, 0x202, "HdrS", 4) || get16(image, 0x206) < 0x208)
		return (struct bytes){};
	return part(image, ((sectors ? sectors : 4) + 1) * 512 + get32(image, 0x248),
		    get32(image, 0x24c));
}

/* The payload of an EFI zboot image (drivers/firmware/efi/libstub/zboot-header.S). */
static struct bytes zboot_payload(const struct bytes *image)
{
	if (!has(image, 0, "MZ", 2) || !has(image, 4, "zimg", 4))
		return (struct bytes){};
	return part(image, get32(image, 8), get32(image, 12));
}

/* --- asking the image --- */

struct kimage_result {
	enum answer honours;
	char *release; /* or NULL */
};

static void result_done(struct kimage_result *result)
{
	free(result->release);
}

/* Passes on what a search found, if it found the control: a part proves nothing. */
static int take_result(const struct search *search, struct kimage_result *ret)
{
	ret->honours = search_answer(search);
	if (ret->honours == ANSWER_UNKNOWN || !*search->release || ret->release)
		return 0;
	ret->release = strdup(search->release);
	return ret->release ? 0 : -ENOMEM;
}

static int search_stream(const struct bytes *stream, struct kimage_result *ret)
{
	struct search search = {};
	int r = archive_uncompress(stream->data, stream->size, MAX_KERNEL, search_piece,
				   &search);

	if (r == -ENOMEM)
		return r;
	if (r < 0 && !search.enable)
		search.disable = false; /* what was not read may have it */
	return take_result(&search, ret);
}

/*
 * Images whose layout is not known (arm's zImage, s390, powerpc): whatever looks like the start
 * of a compressed stream is tried, as scripts/extract-vmlinux of the kernel does.
 */
static int search_anywhere(const struct bytes *image, struct kimage_result *ret)
{
	enum { MAX_TRIES = 16 };
	unsigned tries = 0;

	for (size_t i = 1; i + 8 < image->size && tries < MAX_TRIES; i++) {
		struct bytes stream = { image->data + i, image->size - i };
		int r;

		if (!archive_is_compressed(stream.data, stream.size))
			continue;
		tries++;
		r = search_stream(&stream, ret);
		if (r < 0 || ret->honours != ANSWER_UNKNOWN)
			return r;
	}
	return 0;
}

/*
 * The kernel's build appends the uncompressed size, four bytes, to all but gzip (which has its
 * own). xz and zstd streams are read to the end only without them; whether the size in a header
 * counts them depends on the header and on the kernel's version.
 */
static int search_payload(const struct bytes *payload, struct kimage_result *ret)
{
	struct bytes shorter = part(payload, 0, payload->size - MIN(payload->size, 4U));
	int r = 0;

	if (!has(payload, 0, "\x1f\x8b", 2))
		r = search_stream(&shorter, ret);
	return r < 0 || ret->honours != ANSWER_UNKNOWN ? r : search_stream(payload, ret);
}

static int search_kernel(const struct bytes *image, struct kimage_result *ret)
{
	struct bytes payload = x86_payload(image);
	struct search plain = {};
	int r;

	if (archive_is_compressed(image->data, image->size))
		return search_stream(image, ret);
	if (payload.size == 0)
		payload = zboot_payload(image);
	if (payload.size > 0)
		return search_payload(&payload, ret);
	IGNORE(search_piece(&plain, image->data, image->size)); /* one piece: nothing to stop */
	r = take_result(&plain, ret);
	if (r < 0 || ret->honours != ANSWER_UNKNOWN)
		return r;
	return search_anywhere(image, ret);
}

static int ask_image(int fd, struct kimage_result *ret)
{
	_cleanup_free_ char *data = NULL;
	struct bytes image, inner;
	size_t size;
	int r;

	r = root_read_fd(fd, MAX_IMAGE, &data, &size);
	if (r < 0)
		return r;
	ret->honours = ANSWER_UNKNOWN;
	image = (struct bytes){ (const unsigned char *)data, size };
	inner = uki_kernel(&image);
	return search_kernel(inner.size > 0 ? &inner : &image, ret);
}

int kimage_honours_enable(const struct root *root, const char *path, struct kimage_cache *cache,
			  enum answer *ret, char **ret_release)
{
	_cleanup_(result_done) struct kimage_result result = {};
	_cleanup_fd_ int fd = -EBADF;
	struct stat st;
	int r;

	r = root_open_file(root, path, &fd, &st);
	if (r < 0)
		return r;
	r = cache ? kimage_cache_get(cache, &st, &result.honours, &result.release) : -ENOENT;
	if (r == -ENOENT) {
		r = ask_image(fd, &result);
		/* "cannot tell" is not kept: with libarchive installed it may be told */
		if (r >= 0 && cache && result.honours != ANSWER_UNKNOWN)
			r = kimage_cache_put(cache, &st, result.honours, result.release);
	}
	if (r < 0)
		return r;
	*ret = result.honours;
	if (ret_release)
		*ret_release = TAKE_PTR(result.release);
	return 0;
}

int kimage_header_release(const struct root *root, const char *path, char **ret)
{
	unsigned char data[0x200 + 0x10000 + 256];
	_cleanup_fd_ int fd = -EBADF;
	struct bytes image = { data, 0 };
	size_t offset, n;
	ssize_t size;
	char *release;
	int r;

	r = root_open_file(root, path, &fd, NULL);
	if (r < 0)
		return r;
	size = pread(fd, data, sizeof(data), 0);
	if (size < 0)
		return -errno;
	image.size = (size_t)size;
	offset = get16(&image, 0x20e);
	if (!has(&image, 0x202, "HdrS", 4) || get16(&image, 0x206) < 0x200 || offset == 0)
		return -ENOENT;
	offset += 0x200;
	for (n = 0; offset + n < image.size && data[offset + n] > ' '; n++)
		;
	release = str_dup_n((const char *)data + offset, offset < image.size ? n : 0);
	if (!release)
		return -ENOMEM;
	if (!release_is_valid(release)) {
		free(release);
		return -ENOENT;
	}
	*ret = release;
	return 0;
}

/* --- asking the running kernel --- */

int kimage_running_honours_enable(const struct root *root, enum answer *ret)
{
	/* third column: "0000000000000000 t cgroup_enable" */
	static const char names[][18] = { " cgroup_enable\n", " cgroup_disable\n" };
	_cleanup_fd_ int fd = -EBADF;
	char buf[64 * 1024];
	bool found[2] = {};
	size_t kept = 0;
	int r;

	r = root_open_file(root, "/proc/kallsyms", &fd, NULL);
	if (r < 0)
		return r;
	while (!found[0] || !found[1]) {
		ssize_t n = read(fd, buf + kept, sizeof(buf) - kept);
		size_t size;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		size = kept + (size_t)n;
		for (size_t i = 0; i < 2; i++)
			found[i] |= memmem(buf, size, names[i], strlen(names[i])) != NULL;
		kept = MIN(size, sizeof(names[0]));
		memmove(buf, buf + size - kept, kept);
	}
	/* without the control nothing is known: no symbols, or renamed by LTO */
	*ret = !found[1] ? ANSWER_UNKNOWN : found[0] ? ANSWER_YES : ANSWER_NO;
	return 0;
}
