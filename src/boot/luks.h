/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Tokens in LUKS2 headers, by libcryptsetup, whose only user this is. Nothing is unlocked. */

#include "base/macro.h"

struct strv;

/*
 * The JSON of every token of a device or image file. -EOPNOTSUPP without the library,
 * -EPROTONOSUPPORT * for LUKS1 (whose header has no place for tokens), -EINVAL for what is not
 * LUKS at all, or the errno of what keeps it from being read.
 */
int luks_tokens(const char *device, struct strv *ret) _must_check_;
