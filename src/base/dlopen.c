/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/dlopen.h"

#include <dlfcn.h>

int dlopen_symbols(const char *soname, const char *const *symbols, void **table)
{
	/* never unloaded: libraries leave threads, exit handlers and TLS behind */
	void *library = dlopen(soname, RTLD_NOW | RTLD_NODELETE);

	if (!library)
		return -EOPNOTSUPP;
	for (size_t i = 0; symbols[i]; i++) {
		table[i] = dlsym(library, symbols[i]);
		if (!table[i]) {
			(void)dlclose(library); /* nothing of it was used */
			return -EOPNOTSUPP;
		}
	}
	return 0;
}
