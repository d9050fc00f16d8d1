/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* From a cost per fault to this host: how many page faults it takes, and what they come to. */

#include "base/macro.h"

struct json;
struct result;
struct summary;

/* Shares are of one CPU's time; NAN where something is missing. */
struct meaning {
	double fault_rate, watched_s;
	double fault_ns;   /* a whole anonymous fault with its share of map and unmap */
	double all_share;  /* what all page faults cost: off cannot save more of them than that
			    */
	double cost_ns;	   /* the difference that was measured, per fault */
	double cost_share; /* what it comes to here, at most: the upper end of its interval */
};

/* Of a run in one boot. */
void meaning_of_run(const struct result *result, const struct summary *summary,
		    struct meaning *ret);
/* Of a difference found otherwise: ns per fault, with its upper end. */
void meaning_of_cost(double fault_rate, double watched_s, double fault_ns, double cost_ns,
		     double high_ns, struct meaning *ret);

struct json *meaning_to_json(const struct meaning *meaning);
