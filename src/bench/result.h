/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What a run brings home: the host it ran on, the arms and workloads, and every raw sample. As
 * a file it is JSON (docs/schema/bench.json); summary.h computes the rest from it, so a file
 * that is read again says the same.
 */

#include "base/macro.h"
#include "base/str.h"
#include "bench/arms.h"
#include "bench/workload.h"

#include <stdio.h>

struct diag;
struct json;

enum { RESULT_MAX_ROUNDS = 100000 };

/* Text about the host; in JSON under "context", by the names in result.c. */
enum context_key {
	CONTEXT_VERSION, /* of this program */
	CONTEXT_TIME,	 /* UTC */
	CONTEXT_LABEL,
	CONTEXT_BOOT_ID,
	CONTEXT_KERNEL,
	CONTEXT_BUILD, /* uname -v */
	CONTEXT_MACHINE,
	CONTEXT_CPU,
	CONTEXT_MODEL,
	CONTEXT_HYPERVISOR,
	CONTEXT_CMDLINE,
	CONTEXT_MEMCG,
	CONTEXT_HIERARCHY,
	CONTEXT_CONTAINER,
	CONTEXT_THP,
	CONTEXT_GOVERNOR,
	CONTEXT_CLOCKSOURCE,
	CONTEXT_PMU, /* "yes", or why not */
	CONTEXT_WHY_HERE,
	_CONTEXT_MAX,
};

/* Numbers likewise; NAN is not known (null). */
enum context_number {
	CONTEXT_CPUS,
	CONTEXT_MEMORY_KB,
	CONTEXT_PAGE_SIZE,
	CONTEXT_SMT,
	CONTEXT_PARANOID,
	CONTEXT_UPTIME,	   /* seconds, at the start */
	CONTEXT_LOAD,	   /* of the last minute, at the start */
	CONTEXT_KHZ_START, /* of the CPU measured on */
	CONTEXT_KHZ_END,
	CONTEXT_STEAL,	    /* share of the run that the hypervisor took, 0 to 1 */
	CONTEXT_FAULT_RATE, /* this host's page faults per second, before the run */
	CONTEXT_WATCHED,    /* seconds it was watched for */
	CONTEXT_ROUNDS,
	CONTEXT_SEED,
	CONTEXT_BYTES, /* most memory in use at once, as announced */
	_CONTEXT_NUMBER_MAX,
};

extern const char *const context_key_names[_CONTEXT_MAX];
extern const char *const context_number_names[_CONTEXT_NUMBER_MAX];

struct result_arm {
	char *name;
	enum arm_kind kind;
	bool control;
	bool before; /* the root before any child of this run: kernel objects only */
	unsigned depth;
};

struct result_case {
	char *workload;
	char *unit;
	unsigned clients;
	bool has_clients;
	uint64_t loops, bytes, faults;
};

struct result_sample {
	uint32_t round;
	uint8_t position; /* in the order of the round */
	uint8_t arm;
	uint16_t c;
	struct sample sample;
};

/* Initialise with {}; everything is owned. */
struct result {
	char *text[_CONTEXT_MAX];
	double numbers[_CONTEXT_NUMBER_MAX];
	struct result_arm *arms;
	size_t n_arms;
	struct result_case *cases;
	size_t n_cases;
	struct result_sample *samples;
	size_t n_samples, samples_alloc;
	char *profile; /* --profile's JSON array, as it is in the file; or NULL */
	struct strv warnings;
};

int result_add_sample(struct result *result, const struct result_sample *sample) _must_check_;
/* "anon", or "anon-large, 4 clients". */
int result_case_title(const struct result_case *c, char **ret) _must_check_;

/* The file's value, without a summary. NULL when out of memory (json_add() takes that). */
struct json *result_to_json(const struct result *result);
/* -EINVAL with an error in diag for anything that is not such a value. */
int result_from_json(const struct json *value, const char *path, struct result *ret,
		     struct diag *diag) _must_check_;
/* Reads a file the user names, as he names it. */
int result_read(const char *path, struct result *ret, struct diag *diag) _must_check_;
/* One row a sample. */
int result_print_csv(const struct result *result, FILE *f) _must_check_;

void result_done(struct result *result);
#define _cleanup_result_ _cleanup_(result_done)
