/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "facts/state.h"

const char *memcg_state_to_string(enum memcg_state state)
{
	static const char *const names[_MEMCG_STATE_MAX] = {
		[MEMCG_UNKNOWN] = "unknown",
		[MEMCG_ON] = "on",
		[MEMCG_OFF] = "off",
		[MEMCG_UNAVAILABLE] = "unavailable",
	};

	return names[state];
}

const char *answer_to_string(enum answer answer)
{
	static const char *const names[_ANSWER_MAX] = {
		[ANSWER_UNKNOWN] = "unknown",
		[ANSWER_NO] = "no",
		[ANSWER_YES] = "yes",
	};

	return names[answer];
}
