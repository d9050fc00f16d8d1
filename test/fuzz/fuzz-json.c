/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/json.h"
#include "base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What was parsed is printed as UTF-8 that parses again. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = str_dup_n((const char *)data, size), *printed = NULL;
	_cleanup_json_ struct json *value = NULL, *again = NULL;
	struct json *at;

	if (!text || json_parse(text, size, &value, NULL) < 0 || !value)
		return 0;
	IGNORE(json_pointer(value, "/a/0/b", &at)); /* must only not crash */
	if (json_print(value, false, &printed) < 0)
		return 0;
	if (json_parse(printed, strlen(printed), &again, NULL) < 0)
		abort();
	return 0;
}
