/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The words of bench that work on result files, and how such files are written. */

#include "base/macro.h"

struct args;
struct cmd;
struct diag;
struct json;
struct needs;
struct result;
struct summary;

/* Prints the errors of diag and chooses the exit status; without one, hands the error on. */
int bench_give_up(const struct cmd *cmd, struct diag *diag, int error);

/* A result is dear: whether it can be written is known before it is measured. */
int bench_check_outputs(const struct args *args, struct diag *diag) _must_check_;
/* Writes the files of --output and --csv. */
int bench_write_outputs(const struct args *args, const struct result *result,
			const struct json *document, struct diag *diag) _must_check_;
/* Text or JSON on standard output; the exit status, or a negative errno. needs may be NULL. */
int bench_show_result(const struct cmd *cmd, const struct result *result,
		      const struct summary *summary, const struct needs *needs,
		      const struct json *document) _must_check_;

int bench_report(const struct cmd *cmd);
int bench_compare(const struct cmd *cmd);
int bench_plot(const struct cmd *cmd);
