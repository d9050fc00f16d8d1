/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* How bench says what it found; for a run and for a file that is shown again. */

#include "base/macro.h"

struct bench_comparison;
struct cmd;
struct json;
struct meaning;
struct needs;
struct result;
struct summary;

/* Text on standard output. needs may be NULL: this is not the host that was measured. */
int bench_report_run(const struct cmd *cmd, const struct result *result,
		     const struct summary *summary, const struct needs *needs) _must_check_;
/* The whole document: result, summary, meaning, needs. */
struct json *bench_report_json(const struct result *result, const struct summary *summary,
			       const struct needs *needs);

/* "12.3 ns", "4.5 µs": three digits. */
int bench_format_ns(double ns, char **ret) _must_check_;
/* "+4.1 %", with as many digits as make sense. */
int bench_format_percent(double ratio, char **ret) _must_check_;

/* Lines about what a cost comes to here, and what "off" would break. */
void bench_print_meaning(const struct meaning *meaning, const char *what,
			 const struct needs *needs);
