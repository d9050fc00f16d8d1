/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What a LUKS2 token binds its key to, against the TPM registers (PCRs) that a change moves. */

#include "base/macro.h"

struct tpm_binding {
	bool bound;	  /* to a TPM at all */
	unsigned pcrs;	  /* bit n: PCR n must be as it was */
	bool pcrlock;	  /* as well to the policy that systemd-pcrlock keeps */
	bool unknown;	  /* bound in a way that cannot be told */
	const char *kind; /* "systemd-tpm2", "clevis" */
	char slot[16];	  /* its key slot, or "?" */
};

/*
 * Reads a token's JSON. A clevis policy that other pins can satisfy without the TPM is not
 * bound. 0 or -ENOMEM.
 */
int tpm_read_token(const char *json, struct tpm_binding *ret) _must_check_;

/* The PCRs that a change of the kernel command line moves, by the boot backend's name. */
unsigned tpm_moved_pcrs(const char *backend) _pure_;

/* "8+9" */
void tpm_format_pcrs(unsigned pcrs, char ret[static 64]);
