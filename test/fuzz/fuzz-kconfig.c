/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "facts/kconfig.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Nothing but memory can fail, and every answer is one of the answers. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_kconfig_ struct kconfig config = {};
	enum kconfig_symbol symbol;
	enum answer built;

	if (kconfig_parse((const char *)data, size, &config) < 0)
		return 0;
	built = kconfig_memcg_built(&config, &symbol);
	if (built <= ANSWER_NOT_LOOKED || built >= _ANSWER_MAX)
		abort();
	/* yes is never said without a line that says it */
	if (built == ANSWER_YES && (symbol < 0 || config.lines[symbol] == 0))
		abort();
	if (kconfig_builtin(&config) == KCONFIG_BUILTIN_BEFORE && !config.cmdline)
		abort();
	return 0;
}
