/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot/luks.h"

#include "base/str.h"

#if HAVE_LIBCRYPTSETUP
#include "base/dlopen.h"

#include <libcryptsetup.h>

#define SYMBOLS(_)    \
	_(crypt_init) \
	_(crypt_load) \
	_(crypt_free) _(crypt_get_type) _(crypt_token_json_get) _(crypt_set_log_callback)
DLOPEN_LIBRARY(libcryptsetup, "suggested", "libcryptsetup.so.12", "cryptsetup", "LUKS2 tokens",
	       SYMBOLS);

/* as many as a header may hold (lib/luks2/luks2.h) */
enum { MAX_TOKENS = 32 };

/* Without one the library writes to standard error itself. */
static void keep_quiet(int level _unused_, const char *text _unused_, void *data _unused_)
{
}

static int read_tokens(const struct libcryptsetup *lib, struct crypt_device *device,
		       struct strv *ret)
{
	const char *type = lib->crypt_get_type(device), *json;

	if (!type || !streq(type, CRYPT_LUKS2))
		return -EPROTONOSUPPORT;
	for (int i = 0; i < MAX_TOKENS; i++)
		if (lib->crypt_token_json_get(device, i, &json) >= 0)
			strv_add(ret, json);
	return strv_error(ret);
}

int luks_tokens(const char *path, struct strv *ret)
{
	struct crypt_device *device = NULL;
	struct libcryptsetup lib;
	int r = libcryptsetup_open(&lib);

	if (r < 0)
		return r;
	lib.crypt_set_log_callback(NULL, keep_quiet, NULL);
	r = lib.crypt_init(&device, path);
	if (r >= 0)
		r = lib.crypt_load(device, CRYPT_LUKS, NULL);
	if (r >= 0)
		r = read_tokens(&lib, device, ret);
	lib.crypt_free(device);
	return r;
}
#else
int luks_tokens(const char *path _unused_, struct strv *ret _unused_)
{
	return -EOPNOTSUPP;
}
#endif
