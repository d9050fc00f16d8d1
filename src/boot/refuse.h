/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What is unsafe and not done without --force, each with its reason and a way out. Only asked
 * when something would be changed; reading verbs never refuse.
 */

#include "boot/boot.h"

struct needs;
struct running;
struct started;

/* All borrowed. */
struct refuse_input {
	const struct root *root;
	const struct running *running;
	const struct boot *boot;
	const struct boot_state *state;
	const struct started *started;
	const struct needs *needs;
	const struct changeset *changes;
};

/* Disk keys sealed to TPM registers: refuse-tpm.c. 0 or -ENOMEM, reasons as errors in diag. */
int refuse_tpm(const struct refuse_input *input, struct diag *diag) _must_check_;

/*
 * 0, or -EPERM with every reason as an error in diag. With force the reasons are warnings and
 * the answer is 0.
 */
int refuse_check(const struct refuse_input *input, bool force, struct diag *diag) _must_check_;
