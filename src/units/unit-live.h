/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The units of one manager and their findings: from the files, and on a live system held
 * against what the manager has loaded and what the kernel does in the units' cgroups.
 */

#include "base/macro.h"
#include "base/str.h"
#include "units/unit-bus.h"
#include "units/unit-finding.h"
#include "units/units.h"

struct diag;
struct root;
struct running;
struct systemd;

/* Initialise with {}. */
struct unit_view {
	struct units units;
	struct unit_findings findings;
	struct unit_bus bus;
	bool by_files;	    /* the manager did not say (all): judged by the files alone */
	char *by_files_why; /* a sentence part, or NULL */
	struct strv extra;  /* strings of findings that no file accounts for */
};

/*
 * Loads the files of a manager and judges them by basis. systemd, unless NULL, is the manager
 * itself, asked what it has loaded; the kernel's word on the units that run is looked up in the
 * tree of running. A manager that does not answer in time is no error: by_files.
 */
int unit_view_load(const struct root *root, const struct unit_owner *owner,
		   const struct unit_basis *basis, const struct running *running,
		   struct systemd *systemd, struct unit_view *ret,
		   struct diag *diag) _must_check_;
void unit_view_done(struct unit_view *view);
#define _cleanup_unit_view_ _cleanup_(unit_view_done)

/* What is lost on this system besides single settings: sentences, each once. Of the system
 * manager's view. */
int unit_view_host(const struct root *root, const struct unit_view *view,
		   const struct unit_basis *basis, struct strv *ret) _must_check_;
