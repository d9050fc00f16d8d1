/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * A kernel's build configuration: what it says about memcg and about the command line, and
 * where it lies.
 */

#include "base/macro.h"
#include "facts/state.h"

struct root;

/* In byte order of their names. */
enum kconfig_symbol {
	KCONFIG_BOOT_CONFIG,
	KCONFIG_BOOT_CONFIG_FORCE,
	KCONFIG_CGROUPS,
	KCONFIG_CGROUP_MEM_CONT,     /* MEMCG in 2.6.25-rc */
	KCONFIG_CGROUP_MEM_RES_CTLR, /* MEMCG to 3.5 */
	KCONFIG_CGROUP_MEM_RES_CTLR_DISABLED,
	KCONFIG_CMDLINE,
	KCONFIG_CMDLINE_BOOL,
	KCONFIG_CMDLINE_EXTEND,
	KCONFIG_CMDLINE_FORCE,
	KCONFIG_CMDLINE_OVERRIDE,
	KCONFIG_IKCONFIG,
	KCONFIG_IKCONFIG_PROC,
	KCONFIG_LOCALVERSION,
	KCONFIG_MEMCG,		/* 3.6 and later */
	KCONFIG_MEMCG_DISABLED, /* Debian to 4.7-rc: honours cgroup_enable=, is off without */
	KCONFIG_MEMCG_V1,	/* 6.11 and later: the files of cgroup v1 */
	KCONFIG_X86,
	_KCONFIG_MAX,
	_KCONFIG_INVALID = -EINVAL,
};

enum kconfig_value {
	KCONFIG_ABSENT, /* not mentioned: not the same as not set */
	KCONFIG_NOT_SET,
	KCONFIG_YES,
	KCONFIG_MODULE,
	KCONFIG_TEXT, /* a string or a number */
};

/* Initialise with {}. */
struct kconfig {
	enum kconfig_value values[_KCONFIG_MAX];
	unsigned lines[_KCONFIG_MAX]; /* where, from 1; 0: not mentioned */
	char *version;		      /* "6.1.176" of the header, or NULL */
	char *cmdline;		      /* CONFIG_CMDLINE without its quotes, or NULL */
	char *localversion;	      /* likewise */
	bool complete; /* as the kernel's build wrote it: what it does not mention, it
			  does not have */
};

/* Any text is read; only -ENOMEM can happen. */
int kconfig_parse(const char *text, size_t size, struct kconfig *ret) _must_check_;
void kconfig_done(struct kconfig *config);
#define _cleanup_kconfig_ _cleanup_(kconfig_done)

/* By MEMCG or an older name of it; ret_symbol (may be NULL) says which, or is invalid. */
enum answer kconfig_memcg_built(const struct kconfig *config, enum kconfig_symbol *ret_symbol);
/* "CONFIG_MEMCG" */
const char *kconfig_symbol_name(enum kconfig_symbol symbol) _pure_;

/* What the kernel does with the boot loader's line. */
enum kconfig_builtin {
	KCONFIG_BUILTIN_NONE,	  /* no text of its own, or only if the loader gives none */
	KCONFIG_BUILTIN_BEFORE,	  /* x86: its own text comes first */
	KCONFIG_BUILTIN_BEHIND,	  /* CMDLINE_EXTEND on device-tree machines: it comes last */
	KCONFIG_BUILTIN_REPLACES, /* CMDLINE_FORCE, CMDLINE_OVERRIDE: the loader's is ignored */
};
enum kconfig_builtin kconfig_builtin(const struct kconfig *config) _pure_;

/*
 * Finds and reads the configuration of a release (may be NULL): the running kernel's own
 * (/proc/config.gz) first if running is set, then every place where they are kept (the list is
 * in kconfig.c), /usr/src/linux/.config last and only if it is of this release. ret_path says
 * where, owned by the caller. -ENOENT when there is none. Another error when the only ones
 * there cannot be read: then ret_path is set too, to the first of them, unless it is -ENOMEM or
 * -EINVAL (no release).
 */
int kconfig_load(const struct root *root, const char *release, bool running,
		 struct kconfig *ret, char **ret_path) _must_check_;
