/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The values facts have. "Unknown" is a value: looked, and cannot be told. "Not looked at" is
 * another: an offline root has no kernel to ask, a dear question was not needed. Their names
 * are those of the JSON output, NULL (JSON null) for not looked at.
 */

#include "base/macro.h"

enum memcg_state {
	MEMCG_NOT_LOOKED,
	MEMCG_UNKNOWN,
	MEMCG_ON,
	MEMCG_OFF,	   /* built in, switched off at boot */
	MEMCG_UNAVAILABLE, /* the kernel was built without it */
	_MEMCG_STATE_MAX,
};

enum answer {
	ANSWER_NOT_LOOKED,
	ANSWER_UNKNOWN,
	ANSWER_NO,
	ANSWER_YES,
	_ANSWER_MAX,
};

const char *memcg_state_to_string(enum memcg_state state) _pure_;
const char *answer_to_string(enum answer answer) _pure_;
