/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/str.h"
#include "units/unit-quadlet.h"
#include "units/unit-setting.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A value of every setting, and as podman would read it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const unsigned versions[] = { 0, 239, 247, 252, 260 };
	_cleanup_free_ char *value = str_dup_n((const char *)data, size);
	uint64_t bytes;

	if (!value)
		return 0;
	for (size_t i = 0; i < unit_n_settings; i++)
		for (size_t v = 0; v < ARRAY_SIZE(versions); v++) {
			const struct unit_parsed before = {};
			struct unit_parsed parsed = {};
			int r = unit_setting_parse(&unit_settings[i], UNIT_SERVICE, value,
						   versions[v], &before, &parsed);

			if (r < 0 && r != -EINVAL && r != -ERANGE && r != -EOPNOTSUPP)
				abort();
			if (r >= 0 && parsed.size.share > 10000)
				abort();
			if (r < 0 && !*unit_value_complaint(value, r))
				abort();
		}
	IGNORE(unit_quadlet_size(value, &bytes)); /* any answer will do */
	return 0;
}
