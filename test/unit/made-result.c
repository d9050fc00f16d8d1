/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "made-result.h"

#include "tree.h"

#include "base/json.h"
#include "bench/result.h"

#include <math.h>

void assert_near(double value, double expected, double tolerance)
{
	if (!(fabs(value - expected) <= tolerance))
		fail_msg("%.12g, expected %.12g", value, expected);
}

static double uniform(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return (double)(*state * UINT64_C(2685821657736338717) >> 11) * 0x1p-53;
}

char *copy(const char *s)
{
	char *d = strdup(s);

	assert_non_null(d);
	return d;
}

void make_result(struct result *result, const char *memcg, const char *boot_id, size_t n_arms,
		 uint32_t rounds, uint64_t seed, cost_fn *cost)
{
	static const struct {
		const char *name;
		enum arm_kind kind;
	} arms[] = { { "root", ARM_ROOT }, { "control", ARM_ROOT }, { "child-2", ARM_CHILD } };

	*result = (struct result){};
	for (size_t i = 0; i < _CONTEXT_NUMBER_MAX; i++)
		result->numbers[i] = NAN;
	result->numbers[CONTEXT_CPUS] = 2;
	result->numbers[CONTEXT_MEMORY_KB] = 1000000;
	result->numbers[CONTEXT_PAGE_SIZE] = 4096;
	result->numbers[CONTEXT_FAULT_RATE] = 1000;
	result->numbers[CONTEXT_WATCHED] = 10;
	result->text[CONTEXT_MEMCG] = copy(memcg);
	result->text[CONTEXT_BOOT_ID] = copy(boot_id);
	result->text[CONTEXT_KERNEL] = copy("6.1.0");
	result->text[CONTEXT_CMDLINE] =
		copy(streq(memcg, "off") ? "quiet cgroup_disable=memory root=/dev/vda"
					 : "quiet root=/dev/vda");
	result->arms = calloc(3, sizeof(*result->arms));
	result->cases = calloc(1, sizeof(*result->cases));
	assert_true(result->arms && result->cases);
	for (size_t i = 0; i < n_arms; i++)
		result->arms[result->n_arms++] = (struct result_arm){
			.name = copy(n_arms == 2 && i == 0 ? "here" : arms[i].name),
			.kind = n_arms == 2 ? ARM_HERE : arms[i].kind,
			.control = i == 1,
			.depth = i == 2 ? 2 : 0,
		};
	result->cases[result->n_cases++] = (struct result_case){ .workload = copy("anon"),
								 .unit = copy("page"),
								 .clients = 1,
								 .loops = 8,
								 .bytes = 1 << 20 };
	for (uint32_t round = 0; round < rounds; round++)
		for (size_t arm = 0; arm < n_arms; arm++) {
			double ns = cost(&seed, round, arm);
			const struct result_sample s = {
				.round = round,
				.arm = (uint8_t)arm,
				.sample = { .units = 2048,
					    .counts = { .cpu_ns = (uint64_t)(ns * 2048),
							.wall_ns = (uint64_t)(ns * 2100),
							.minflt = 2048 },
					    .phase_ns = { 1, 2, 3 } },
			};

			assert_int_equal(result_add_sample(result, &s), 0);
		}
}

/* Drifts by a third, is noisy, and a child costs 4 % more. */
double noisy_cost(uint64_t *seed, uint32_t round, size_t arm)
{
	return 1000 * (1 + round / 120.0) * (1 + 0.1 * uniform(seed)) * (arm == 2 ? 1.04 : 1);
}

double equal_cost(uint64_t *seed, uint32_t round, size_t arm _unused_)
{
	return 1000 * (1 + round / 120.0) * (1 + 0.02 * uniform(seed));
}

double wild_cost(uint64_t *seed, uint32_t round _unused_, size_t arm _unused_)
{
	return 1000 / (0.2 + uniform(seed));
}

double off_cost(uint64_t *seed, uint32_t round _unused_, size_t arm _unused_)
{
	return 900 * (1 + 0.01 * uniform(seed));
}

double on_cost(uint64_t *seed, uint32_t round _unused_, size_t arm)
{
	return (arm == 2 ? 1050 : 1000) * (1 + 0.01 * uniform(seed));
}

char *to_text(const struct result *result)
{
	_cleanup_json_ struct json *value = result_to_json(result);
	char *text = NULL;

	assert_int_equal(json_print(value, false, &text), 0);
	return text;
}
