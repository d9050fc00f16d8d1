/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "facts/configs-module.h"

#if HAVE_LIBKMOD
#include "base/dlopen.h"

#include <libkmod.h>
#include <stdarg.h>

#define SYMBOLS(_)                     \
	_(kmod_new)                    \
	_(kmod_unref)                  \
	_(kmod_set_log_fn)             \
	_(kmod_module_new_from_lookup) \
	_(kmod_module_get_module)      \
	_(kmod_module_get_initstate)   \
	_(kmod_module_unref)           \
	_(kmod_module_unref_list)
DLOPEN_LIBRARY(libkmod, "suggested", "libkmod.so.2", "kmod",
	       "whether the module configs is there", SYMBOLS);

/* Without one the library writes to standard error itself. */
static void keep_quiet(void *data _unused_, int priority _unused_, const char *file _unused_,
		       int line _unused_, const char *fn _unused_, const char *format _unused_,
		       va_list args _unused_)
{
}

static enum configs_module judge(const struct libkmod *lib, const struct kmod_list *list)
{
	struct kmod_module *module = lib->kmod_module_get_module(list);
	int state = lib->kmod_module_get_initstate(module);

	lib->kmod_module_unref(module);
	switch (state) {
	case KMOD_MODULE_BUILTIN:
		return CONFIGS_MODULE_BUILTIN;
	case KMOD_MODULE_LIVE:
	case KMOD_MODULE_COMING:
		return CONFIGS_MODULE_LOADED;
	default:
		return CONFIGS_MODULE_LOADABLE;
	}
}

int configs_module_find(const char *dir, enum configs_module *ret)
{
	static const char *const no_config[] = { NULL };
	struct kmod_list *list = NULL;
	struct libkmod lib;
	struct kmod_ctx *ctx;
	int r = libkmod_open(&lib);

	if (r < 0)
		return r;
	if (access(dir, F_OK) < 0)
		return -errno;
	/* aliases and blacklists of modprobe.d do not matter */
	ctx = lib.kmod_new(dir, no_config);
	if (!ctx)
		return -ENOMEM;
	lib.kmod_set_log_fn(ctx, keep_quiet, NULL);
	r = lib.kmod_module_new_from_lookup(ctx, "configs", &list);
	if (r >= 0)
		*ret = list ? judge(&lib, list) : CONFIGS_MODULE_MISSING;
	lib.kmod_module_unref_list(list);
	lib.kmod_unref(ctx);
	return MIN(r, 0);
}

#else

int configs_module_find(const char *dir _unused_, enum configs_module *ret _unused_)
{
	return -EOPNOTSUPP;
}

#endif
