/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The kernel's module "configs", which shows /proc/config.gz; by libkmod, whose only user this
 * is. */

#include "base/macro.h"

enum configs_module {
	CONFIGS_MODULE_MISSING,
	CONFIGS_MODULE_BUILTIN,
	CONFIGS_MODULE_LOADED,
	CONFIGS_MODULE_LOADABLE, /* it is there, and "modprobe configs" would show the file */
};

/*
 * dir is a kernel's module directory of this system ("/lib/modules/6.1.0-44-amd64"). 0, or
 * -EOPNOTSUPP without the library, -ENOENT where there is no such directory.
 */
int configs_module_find(const char *dir, enum configs_module *ret) _must_check_;
