/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What the running kernel said of the words on its line, for one that does not show its
 * symbols: its log, and the environment of PID 1, to which it leaves every word NAME=VALUE that
 * it has no handler for. Both may have lost it; that is "unknown", not "no".
 */

#include "base/macro.h"
#include "facts/state.h"

struct root;

/*
 * Whether the kernel honours cgroup_enable=, by its log as syslog(2) gives it ("<6>[    0.0]
 * ..."): it says "Enabling ..." (with "cgroup: " in front since 5.13), or lists the word as an
 * unknown parameter (5.14 and later). Lines that programs wrote into the log do not count.
 */
enum answer kernel_log_honours_enable(const char *log, size_t size) _pure_;
/* By the environment of PID 1: no, or unknown. */
enum answer kernel_environment_honours_enable(const struct root *root);
/* Either of them, of the running system. */
int kernel_said_honours_enable(const struct root *root, enum answer *ret) _must_check_;
