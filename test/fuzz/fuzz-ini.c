/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/ini.h"
#include "base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every item lies inside the text and is UTF-8; the reader ends. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_ini_ struct ini *ini = NULL;
	const char *text = (const char *)data;
	size_t items = 0;

	if (ini_new(text, size, &ini) < 0)
		return 0;
	for (;;) {
		struct ini_item item;

		if (ini_next(ini, &item) < 0 || item.kind == INI_END)
			return 0;
		if (++items > size + 1)
			abort();
		if (item.source < text || item.source + item.source_size > text + size)
			abort();
		if (item.kind == INI_ASSIGNMENT &&
		    (!str_is_utf8(item.key, strlen(item.key)) ||
		     !str_is_utf8(item.value, strlen(item.value))))
			abort();
	}
}
