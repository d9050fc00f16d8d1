/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Runs the rules of one detector. Everything is bounded: bytes of a file, entries of
 * directories, time; what goes beyond is a warning and "unknown", never "no".
 */

#include "base/macro.h"

struct detector;
struct diag;
struct need;
struct probe;
struct root;

/* Things shared by all detectors: root and diag are borrowed. */
int probe_new(const struct root *root, struct diag *diag, struct probe **ret) _must_check_;
struct probe *probe_free(struct probe *probe);
DEFINE_CLEANUP(struct probe *, probe_free);
#define _cleanup_probe_ _cleanup_(probe_freep)

/* Fills the state and the evidence of need, whose fixed parts are there. 0 or -ENOMEM. */
int probe_run(struct probe *probe, const struct detector *detector,
	      struct need *need) _must_check_;
