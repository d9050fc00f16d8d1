/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* How bench says what it found; for a run and for a file that is shown again. */

#include "base/macro.h"

struct cmd;
struct comparison;
struct json;
struct meaning;
struct needs;
struct result;
struct summary;

/* Text on standard output. needs may be NULL: this is not the host that was measured. */
int bench_report_run(const struct cmd *cmd, const struct result *result,
		     const struct summary *summary, const struct needs *needs) _must_check_;
/* The table of --profile; text is its JSON. -EINVAL when it is none. */
int bench_report_profile(const struct cmd *cmd, const char *text) _must_check_;
/* The whole document: result, summary, meaning, needs. */
struct json *bench_report_json(const struct result *result, const struct summary *summary,
			       const struct needs *needs);

/* Text on standard output. */
int bench_report_comparison(const struct cmd *cmd,
			    const struct comparison *comparison) _must_check_;
