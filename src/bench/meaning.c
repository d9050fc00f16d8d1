/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/meaning.h"

#include "base/json.h"
#include "base/str.h"
#include "bench/result.h"
#include "bench/summary.h"

#include <math.h>

void meaning_of_cost(double fault_rate, double watched_s, double fault_ns, double cost_ns,
		     double high_ns, struct meaning *ret)
{
	*ret = (struct meaning){
		.fault_rate = fault_rate,
		.watched_s = watched_s,
		.fault_ns = fault_ns,
		.all_share = fault_rate * fault_ns / 1e9,
		.cost_ns = cost_ns,
		.cost_share = isfinite(high_ns) ? fault_rate * fmax(0, high_ns) / 1e9 : NAN,
	};
}

/* The dearest arm of the anonymous loop: where a fault of a service is taken. */
void meaning_of_run(const struct result *result, const struct summary *summary,
		    struct meaning *ret)
{
	double fault_ns = NAN, cost_ns = NAN, high_ns = NAN;

	for (size_t c = 0; c < summary->n; c++) {
		const struct summary_case *one = &summary->cases[c];

		if (!streq(result->cases[c].workload, "anon"))
			continue;
		for (size_t i = 0; i < summary->n_arms; i++)
			if (one->arms[i].n > 0)
				fault_ns = fmax(fault_ns, one->arms[i].cost.value);
		for (size_t i = 0; i < one->n_differences; i++) {
			cost_ns = fmax(cost_ns, one->differences[i].ns);
			high_ns = fmax(high_ns, one->arms[0].cost.value *
							expm1(one->differences[i].cpu.hi));
		}
	}
	meaning_of_cost(result->numbers[CONTEXT_FAULT_RATE], result->numbers[CONTEXT_WATCHED],
			fault_ns, cost_ns, high_ns, ret);
}

struct json *meaning_to_json(const struct meaning *meaning)
{
	struct json *object = json_new_object();

	json_add_double(object, "fault_rate", meaning->fault_rate);
	json_add_double(object, "watched_s", meaning->watched_s);
	json_add_double(object, "fault_ns", meaning->fault_ns);
	json_add_double(object, "all_share", meaning->all_share);
	json_add_double(object, "cost_ns", meaning->cost_ns);
	json_add_double(object, "cost_share", meaning->cost_share);
	return object;
}
