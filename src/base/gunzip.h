/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * gzip by zlib, opened on demand; its only user is archive.c. libarchive can do it too, but
 * brings a dozen libraries along (measured: 8 ms and 4 MiB), too much for the one gzip file
 * that "status" reads on many hosts, /proc/config.gz.
 */

#include "base/archive.h"

/* As archive_uncompress(), for a gzip stream; -EOPNOTSUPP without zlib. */
int gunzip(const void *data, size_t size, size_t max, archive_sink sink,
	   void *userdata) _must_check_;
