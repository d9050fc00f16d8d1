/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot/image.h"

#include "base/root.h"
#include "base/str.h"

static uint16_t le16(const unsigned char *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}

static uint32_t le32(const unsigned char *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
	       (uint32_t)p[3] << 24;
}

static uint32_t be32(const unsigned char *p)
{
	return (uint32_t)p[3] | (uint32_t)p[2] << 8 | (uint32_t)p[1] << 16 |
	       (uint32_t)p[0] << 24;
}

/* --- PE --- */

/* All of it or -EBADMSG: what an image says lies outside of it is no image. */
static int read_at(int fd, void *buf, size_t size, uint64_t offset)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = pread(fd, (char *)buf + done, size - done, (off_t)(offset + done));

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 0)
			return -EBADMSG;
		if (n > 0)
			done += (size_t)n;
	}
	return 0;
}

/* An open image and its headers. */
struct pe {
	int fd;
	uint64_t at; /* of the COFF header, behind the signature */
	unsigned n_sections;
	unsigned optional_size;
};

static int pe_open(const struct root *root, const char *path, struct pe *ret)
{
	unsigned char dos[64], coff[24];
	_cleanup_fd_ int fd = -EBADF;
	uint64_t at;
	unsigned n;
	int r = root_open_file(root, path, &fd, NULL);

	if (r >= 0)
		r = read_at(fd, dos, sizeof(dos), 0);
	if (r < 0)
		return r;
	if (memcmp(dos, "MZ", 2) != 0)
		return -EBADMSG;
	at = le32(dos + 0x3c);
	r = read_at(fd, coff, sizeof(coff), at);
	if (r < 0)
		return r;
	n = le16(coff + 6);
	if (memcmp(coff, "PE\0\0", 4) != 0 || n > IMAGE_MAX_SECTIONS)
		return -EBADMSG;
	*ret = (struct pe){ fd, at + sizeof(coff), n, le16(coff + 20) };
	fd = -EBADF;
	return 0;
}

static void pe_close(struct pe *pe)
{
	closep(&pe->fd);
}

enum { PROFILE_BASE = -1, PROFILE_ANY = -2 };

static bool is_section(const unsigned char header[static 40], const char *section)
{
	return strncmp((const char *)header, section, 8) == 0;
}

/* The header of the first section of that name: of a profile, else of the base; or -ENOENT. */
static int pe_find(const struct pe *pe, const char *section, int profile,
		   unsigned char ret[static 40])
{
	uint64_t at = pe->at + pe->optional_size;
	int current = PROFILE_BASE;
	bool found = false;

	for (unsigned i = 0; i < pe->n_sections; i++, at += 40) {
		unsigned char header[40];
		bool own;
		int r = read_at(pe->fd, header, sizeof(header), at);

		if (r < 0)
			return r;
		current += is_section(header, ".profile");
		own = current == profile || profile == PROFILE_ANY;
		if (!is_section(header, section) ||
		    !(own || (current == PROFILE_BASE && !found)))
			continue;
		memcpy(ret, header, sizeof(header));
		found = true;
		if (own)
			break;
	}
	return found ? 0 : -ENOENT;
}

static int read_section(const struct root *root, const char *path, int profile,
			const char *section, char **ret)
{
	_cleanup_(pe_close) struct pe pe = { .fd = -EBADF };
	_cleanup_free_ char *text = NULL;
	unsigned char header[40];
	uint32_t size;
	int r = pe_open(root, path, &pe);

	if (r >= 0)
		r = pe_find(&pe, section, profile, header);
	if (r < 0)
		return r;
	/* as loaded: VirtualSize, of which the file holds SizeOfRawData */
	size = MIN(le32(header + 8), le32(header + 16));
	if (size > IMAGE_MAX_SECTION)
		return -EFBIG;
	text = malloc(size + 1);
	if (!text)
		return -ENOMEM;
	r = read_at(pe.fd, text, size, le32(header + 20));
	if (r < 0)
		return r;
	text[size] = '\0';
	*ret = TAKE_PTR(text);
	return 0;
}

int image_pe_section(const struct root *root, const char *path, const char *section, char **ret)
{
	return read_section(root, path, PROFILE_BASE, section, ret);
}

int image_pe_profile_section(const struct root *root, const char *path, unsigned profile,
			     const char *section, char **ret)
{
	return read_section(root, path, (int)MIN(profile, (unsigned)IMAGE_MAX_SECTIONS),
			    section, ret);
}

int image_pe_profiles(const struct root *root, const char *path)
{
	_cleanup_(pe_close) struct pe pe = { .fd = -EBADF };
	int n = 0, r = pe_open(root, path, &pe);

	for (unsigned i = 0; r >= 0 && i < pe.n_sections; i++) {
		unsigned char header[40];

		r = read_at(pe.fd, header, sizeof(header), pe.at + pe.optional_size + 40 * i);
		n += r >= 0 && is_section(header, ".profile");
	}
	return r < 0 ? r : n;
}

int image_pe_has(const struct root *root, const char *path, const char *section)
{
	_cleanup_(pe_close) struct pe pe = { .fd = -EBADF };
	unsigned char header[40];
	int r = pe_open(root, path, &pe);

	if (r >= 0)
		r = pe_find(&pe, section, PROFILE_ANY, header);
	return r == -ENOENT && pe.fd >= 0 ? 0 : r < 0 ? r : 1;
}

int image_pe_is_signed(const struct root *root, const char *path)
{
	/* the fifth data directory, "attribute certificates": behind 96 bytes in a PE32 and
	 * 112 in a PE32+ */
	enum { PE32 = 0x10b, PE32_PLUS = 0x20b, CERTIFICATES = 4 };
	_cleanup_(pe_close) struct pe pe = { .fd = -EBADF };
	unsigned char magic[2], directory[8];
	unsigned start;
	int r = pe_open(root, path, &pe);

	if (r >= 0)
		r = read_at(pe.fd, magic, sizeof(magic), pe.at);
	if (r < 0)
		return r;
	if (le16(magic) != PE32 && le16(magic) != PE32_PLUS)
		return -EBADMSG;
	start = (le16(magic) == PE32 ? 96 : 112) + CERTIFICATES * sizeof(directory);
	if (start + sizeof(directory) > pe.optional_size)
		return 0;
	r = read_at(pe.fd, directory, sizeof(directory), pe.at + start);
	return r < 0 ? r : le32(directory + 4) > 0;
}

/* --- device tree (devicetree specification, chapter 5) --- */

enum {
	FDT_MAGIC = (int)0xd00dfeed,
	FDT_BEGIN = 1,
	FDT_END_NODE,
	FDT_PROP,
	FDT_NOP,
	FDT_END = 9
};

struct fdt {
	const unsigned char *data;
	size_t structs, structs_end;
	size_t strings, strings_end;
};

static int fdt_open(const void *data, size_t size, struct fdt *ret)
{
	const unsigned char *p = data;
	uint64_t structs, strings, structs_size, strings_size;

	if (size < 40 || be32(p) != (uint32_t)FDT_MAGIC)
		return -EBADMSG;
	structs = be32(p + 8);
	strings = be32(p + 12);
	strings_size = be32(p + 32);
	structs_size = be32(p + 36);
	if (structs + structs_size > size || strings + strings_size > size)
		return -EBADMSG;
	*ret = (struct fdt){ p, (size_t)structs, (size_t)(structs + structs_size),
			     (size_t)strings, (size_t)(strings + strings_size) };
	return 0;
}

/* A NUL-terminated string in [at, end), or NULL. */
static const char *fdt_string(const struct fdt *fdt, uint64_t at, size_t end)
{
	if (at >= end || !memchr(fdt->data + at, '\0', end - (size_t)at))
		return NULL;
	return (const char *)fdt->data + at;
}

int image_dtb_bootargs(const void *data, size_t size, char **ret)
{
	struct fdt fdt;
	unsigned depth = 0;
	bool chosen = false;
	int r = fdt_open(data, size, &fdt);

	if (r < 0)
		return r;
	for (size_t at = fdt.structs; at + 4 <= fdt.structs_end;) {
		uint32_t token = be32(fdt.data + at);
		const char *name;

		at += 4;
		if (token == FDT_NOP)
			continue;
		if (token == FDT_END)
			return -ENOENT;
		if (token == FDT_BEGIN) {
			name = fdt_string(&fdt, at, fdt.structs_end);
			if (!name)
				return -EBADMSG;
			chosen = ++depth == 2 && streq(name, "chosen");
			at += (strlen(name) + 4) & ~(size_t)3;
		} else if (token == FDT_END_NODE) {
			if (depth-- == 0)
				return -EBADMSG;
			chosen = false;
		} else if (token == FDT_PROP) {
			uint32_t n;

			if (fdt.structs_end - at < 8)
				return -EBADMSG;
			n = be32(fdt.data + at);
			name = fdt_string(&fdt, fdt.strings + (uint64_t)be32(fdt.data + at + 4),
					  fdt.strings_end);
			at += 8;
			if (!name || n > fdt.structs_end - at)
				return -EBADMSG;
			if (chosen && depth == 2 && streq(name, "bootargs")) {
				const char *text = (const char *)fdt.data + at;

				*ret = str_dup_n(text, strnlen(text, n));
				return *ret ? 0 : -ENOMEM;
			}
			at += ((size_t)n + 3) & ~(size_t)3;
		} else {
			return -EBADMSG;
		}
	}
	return -EBADMSG;
}

/* --- EFI variables --- */

static void add_utf8(struct strbuf *out, uint32_t c)
{
	if (c < 0x80) {
		strbuf_addc(out, (char)c);
	} else if (c < 0x800) {
		strbuf_addc(out, (char)(0xc0 | c >> 6));
		strbuf_addc(out, (char)(0x80 | (c & 0x3f)));
	} else {
		/* one unit of UTF-16: names of loaders and files have no more */
		strbuf_addc(out, (char)(0xe0 | c >> 12));
		strbuf_addc(out, (char)(0x80 | (c >> 6 & 0x3f)));
		strbuf_addc(out, (char)(0x80 | (c & 0x3f)));
	}
}

int image_utf16(const void *data, size_t size, char **ret)
{
	const unsigned char *p = data;
	_cleanup_strbuf_ struct strbuf out = {};

	for (size_t i = 0; i + 1 < size; i += 2) {
		uint16_t c = le16(p + i);

		if (c == 0)
			break;
		add_utf8(&out, c >= 0xd800 && c < 0xe000 ? 0xfffd : c);
	}
	return strbuf_take(&out, ret, NULL);
}

int image_loader_variable(const struct root *root, const char *name, char **ret)
{
	_cleanup_free_ char *path = NULL, *data = NULL;
	size_t size;
	int r;

	if (str_printf(&path,
		       "/sys/firmware/efi/efivars/%s-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f",
		       name) < 0)
		return -ENOMEM;
	r = root_read(root, path, IMAGE_MAX_EFIVAR, &data, &size);
	if (r < 0)
		return r;
	/* four bytes of attributes come first */
	return size < 4 ? -EBADMSG : image_utf16(data + 4, size - 4, ret);
}
