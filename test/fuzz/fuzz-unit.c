/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/diag.h"
#include "units/unit-load.h"
#include "units/unit-parse.h"

#include <stdio.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A unit file: every line that is kept has a place in the text, and quick and slow agree. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = { "a.service", "a.slice", "a.socket", "a.timer" };
	const char *text = (const char *)data;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct unit unit = { .type = unit_name_type(names[i]) };
		_cleanup_diag_ struct diag diag = {};

		strv_add(&unit.sources, names[i]);
		if (unit_parse(&(struct unit_parse){ .text = text,
						     .size = size,
						     .dropin = i % 2 == 1,
						     .version = 252,
						     .diag = &diag },
			       &unit) < 0)
			abort();
		if ((unit.n_lines > 0 || unit.slice) && !unit_setting_may_occur(text, size))
			abort();
		for (size_t k = 0; k < unit.n_lines; k++)
			if (unit.lines[k].line == 0 || !unit.lines[k].value ||
			    (unit.lines[k].state != UNIT_LINE_SET && !unit.lines[k].why))
				abort();
		unit_done(&unit);
	}
	return 0;
}
