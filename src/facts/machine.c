/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "facts/machine.h"

#include "base/root.h"
#include "base/str.h"
#include "facts/release.h"

#include <elf.h>
#include <sys/utsname.h>

#ifndef EM_RISCV
#define EM_RISCV 243
#endif
#ifndef EM_LOONGARCH
#define EM_LOONGARCH 258
#endif

static const char *elf_machine(unsigned machine)
{
	static const struct {
		unsigned machine;
		const char *name;
	} names[] = {
		{ EM_X86_64, "x86_64" },   { EM_386, "i686" },
		{ EM_AARCH64, "aarch64" }, { EM_ARM, "armv7l" },
		{ EM_PPC64, "ppc64" },	   { EM_PPC, "ppc" },
		{ EM_S390, "s390x" },	   { EM_RISCV, "riscv64" },
		{ EM_MIPS, "mips" },	   { EM_LOONGARCH, "loongarch64" },
		{ EM_PARISC, "parisc" },   { EM_IA_64, "ia64" },
		{ EM_68K, "m68k" },	   { EM_ALPHA, "alpha" },
		{ EM_SPARCV9, "sparc64" }, { EM_SPARC, "sparc" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (names[i].machine == machine)
			return names[i].name;
	return NULL;
}

/* e_machine, at the same place in 32 and 64 bit; the byte order is in e_ident. */
static const char *read_elf(const struct root *root, const char *path)
{
	unsigned char head[20];
	_cleanup_fd_ int fd = -EBADF;

	if (root_open_file(root, path, &fd, NULL) < 0 ||
	    pread(fd, head, sizeof(head), 0) != sizeof(head) ||
	    memcmp(head, ELFMAG, SELFMAG) != 0)
		return NULL;
	return elf_machine(head[EI_DATA] == ELFDATA2MSB ? (unsigned)head[18] << 8 | head[19]
							: (unsigned)head[19] << 8 | head[18]);
}

int machine_detect(const struct root *root, char **ret)
{
	const char *name;
	struct utsname uts;

	if (root_mode(root) == ROOT_LIVE && uname(&uts) >= 0)
		name = uts.machine;
	else
		name = read_elf(root, "/bin/sh");
	*ret = name ? strdup(name) : NULL;
	return name && !*ret ? -ENOMEM : 0;
}

size_t machine_line_max(const char *machine, const char *release)
{
	/* arch/ * /include/ (uapi/) asm/setup.h, Linux 5.10 to 7.2 */
	static const struct {
		const char *start; /* how the name starts, the longer before the shorter */
		size_t size;
	} sizes[] = {
		{ "x86_64", 2048 },  { "aarch64", 2048 }, { "arm64", 2048 },
		{ "arm", 1024 },     { "ppc", 2048 },	  { "ia64", 2048 },
		{ "s390", 4096 },    { "mips", 4096 },	  { "loongarch", 4096 },
		{ "parisc", 1024 },  { "alpha", 256 },	  { "m68k", 256 },
		{ "sparc64", 2048 }, { "sparc", 256 },	  { "microblaze", 256 },
		{ "arc", 256 },	     { "xtensa", 256 },
	};

	if (!machine)
		return 0;
	if (str_skip_prefix(machine, "riscv"))
		return release && release_is_from(release, 7, 2) ? 2047 : 1023;
	if (machine[0] == 'i' && str_has_suffix(machine, "86"))
		return 2047;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		if (str_skip_prefix(machine, sizes[i].start))
			return sizes[i].size - 1;
	return 0;
}
