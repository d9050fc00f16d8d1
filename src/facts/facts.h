/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What is known about a root and its kernel. Every value has its source; what an offline root
 * cannot know is "not looked at". Whether kernels honour cgroup_enable= is looked up only when
 * asked for: kernel_ask_enable().
 */

#include "base/macro.h"
#include "facts/kernels.h"
#include "facts/running.h"

struct root;

/* Initialise with {}. */
struct facts {
	struct running running;
	struct kernels kernels;
};

int facts_load(const struct root *root, struct facts *ret) _must_check_;
void facts_done(struct facts *facts);
#define _cleanup_facts_ _cleanup_(facts_done)
