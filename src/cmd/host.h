/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Everything that is known of a root, put together: what its kernel does now, what its next
 * boot will do, what the policy decides, and whether they agree. Reads only.
 */

#include "base/diag.h"
#include "boot/boot.h"
#include "boot/origin.h"
#include "boot/started.h"
#include "facts/facts.h"
#include "policy/decide.h"
#include "policy/need.h"
#include "policy/policy.h"
#include "units/unit-finding.h"

struct cmd;
struct root;

enum verdict {
	VERDICT_OK,		 /* running, next boot and decision agree */
	VERDICT_CHANGE_REQUIRED, /* apply would change the configuration or an entry */
	VERDICT_REBOOT_REQUIRED, /* configured and generated; the kernel still runs as before */
	VERDICT_IMPOSSIBLE,	 /* the decision cannot be had here */
	VERDICT_UNMANAGED,	 /* the policy is leave: nothing is decided */
	VERDICT_UNKNOWN,	 /* looked, and cannot tell */
	_VERDICT_MAX,
};

const char *verdict_to_string(enum verdict verdict);

enum host_parts {
	HOST_NEEDS = 1 << 0,   /* also when the policy does not ask for them */
	HOST_BOOT = 1 << 1,    /* the boot loader and its entries */
	HOST_VERDICT = 1 << 2, /* and what apply would change */
	HOST_UNITS = 1 << 3,   /* and memory settings of units, counted */
	HOST_LIVE = 1 << 4, /* with HOST_NEEDS: cgroups with limits too, whatever the policy */
};

/* Initialise with {}. */
struct host {
	const struct root *root; /* borrowed */
	struct facts facts;
	struct policy policy;
	struct needs needs;
	bool needs_known;
	struct decision decision;

	/* with HOST_BOOT */
	struct boot boot;
	struct boot_state state;
	enum memcg_state next;		     /* of the default entry, on that entry's kernel */
	const struct boot_entry *next_entry; /* borrowed from state, or NULL */
	/* of the boots behind it: the same unless the next one's entry is chosen for it alone
	 */
	enum memcg_state after;
	const struct boot_entry *after_entry;
	struct origin origin;
	struct started started;

	/* with HOST_UNITS */
	struct units unit_files;
	bool unit_files_loaded;
	struct unit_counts units;
	bool units_known;

	/* with HOST_VERDICT */
	size_t entries_differing;
	size_t edits; /* files that apply would change */
	enum verdict verdict;
	char *verdict_text;    /* one sentence: why the verdict is what it is */
	const char *next_step; /* the one command to run next, or NULL */
};

/*
 * Loads facts, policy, needs where they decide or were asked for, and the decision. Warnings go
 * to diag; a policy that is not understood is an error in diag and -EINVAL.
 */
int host_load(const struct root *root, unsigned parts, struct host *ret,
	      struct diag *diag) _must_check_;
/* The same as if the file that "set" writes held content. */
int host_load_with(const struct root *root, unsigned parts, const char *content,
		   struct host *ret, struct diag *diag) _must_check_;
/* Facts and HOST_BOOT alone. Of the policy only Backend= matters, if it can be read. */
int host_load_boot(const struct root *root, struct host *ret, struct diag *diag) _must_check_;
void host_done(struct host *host);
#define _cleanup_host_ _cleanup_(host_done)

/* The entry of a trial, or NULL; whether the kernel that runs was booted by it. */
const struct boot_entry *host_trial(const struct host *host) _pure_;
bool host_runs_trial(const struct host *host) _pure_;

/* What unit settings are judged by: the running kernel, or the next boot where there is none to
 * ask. Its cause borrows from host. */
struct unit_basis host_unit_basis(const struct host *host);

/* Decided on because the policy itself says so, or because something in use does not work
 * without. */
bool host_required(const struct host *host) _pure_;

/* What the decision wants of the boot loader; BOOT_WANT_NOTHING when it is leave. */
enum boot_want host_want(const struct host *host) _pure_;
