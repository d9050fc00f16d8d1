/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What makes measurements here good or bad. Only looked at, never changed: a benchmark that
 * sets the governor measures another host.
 */

#include "base/macro.h"

struct root;
struct running;

enum env_state {
	ENV_OK,
	ENV_WARN,
	ENV_UNKNOWN,
	_ENV_STATE_MAX,
};

const char *env_state_name(enum env_state state);

struct env_check {
	const char *name;
	enum env_state state;
	char *text; /* what was seen, and why it matters if it does */
};

/* Initialise with {}. */
struct env {
	struct env_check *checks;
	size_t n, alloc;
};

/* watch_ns: how long to count this host's page faults for; 0: take those since boot. */
int env_look(const struct root *root, const struct running *running, uint64_t watch_ns,
	     struct env *ret) _must_check_;
void env_done(struct env *env);
#define _cleanup_env_ _cleanup_(env_done)

/*
 * Bytes that can be used without hurting anybody: half of what is available and of what every
 * memory limit above this process leaves. 0 with the reason in *ret_why (a string to free) when
 * it cannot be told.
 */
int env_memory(const struct root *root, const struct running *running, uint64_t *ret,
	       char **ret_why) _must_check_;
