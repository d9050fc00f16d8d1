/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The architecture, for how long a kernel command line may be. */

#include "base/macro.h"

struct root;

/*
 * As uname -m has it: of the running kernel, or of what a root's /bin/sh is built for. NULL
 * where that cannot be told. ret is owned by the caller.
 */
int machine_detect(const struct root *root, char **ret) _must_check_;

/*
 * COMMAND_LINE_SIZE less the NUL: the kernel cuts longer lines off without a word. release may
 * be NULL. 0 for an architecture that is not known.
 */
size_t machine_line_max(const char *machine, const char *release) _pure_;
