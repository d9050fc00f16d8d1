/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/str.h"
#include "facts/cmdline.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An edit asks for what it was told, and a second one changes nothing. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum memcg_state wants[] = { MEMCG_ON, MEMCG_OFF };

	for (int i = 0; i < 4; i++) {
		enum cmdline_form form = i & 1 ? CMDLINE_FILE : CMDLINE_LINE;
		enum memcg_state want = wants[i >> 1];
		_cleanup_cmdline_ struct cmdline line = {};
		_cleanup_free_ char *once = NULL, *twice = NULL;
		size_t once_size, twice_size;
		int r = cmdline_edit((const char *)data, size, form, want, 0, &once, &once_size,
				     NULL);

		if (r < 0)
			continue;
		if (cmdline_parse(once, once_size, form, &line) < 0)
			return 0;
		if (cmdline_request(&line, NULL) ==
		    (want == MEMCG_ON ? CMDLINE_OFF : CMDLINE_ON))
			abort();
		if (want == MEMCG_OFF && cmdline_request(&line, NULL) != CMDLINE_OFF)
			abort();
		r = cmdline_edit(once, once_size, form, want, 0, &twice, &twice_size, NULL);
		if (r != 0 || once_size != twice_size || memcmp(once, twice, once_size) != 0)
			abort();
	}
	return 0;
}
