/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Takes out of text what tells whose machine it is, and what looks like a secret, so that it
 * can be shown to strangers and still be read by programs: everything is replaced by something
 * of the same length and form, the same thing always by the same.
 */

#include "base/macro.h"
#include "base/str.h"

enum scrub_kind {
	SCRUB_HOST, /* names, given by scrub_add_name() */
	SCRUB_USER,
	SCRUB_ID,      /* UUIDs, machine IDs, volume serial numbers */
	SCRUB_ADDRESS, /* IPv4, IPv6, MAC */
	SCRUB_SECRET,
	_SCRUB_KIND_MAX,
};

/* Initialise with {}. */
struct scrub {
	struct strv names[2]; /* by kind: SCRUB_HOST, SCRUB_USER */
	struct strv ids;      /* in lower case without dashes; the place is the stand-in */
	size_t n[_SCRUB_KIND_MAX];
};

/*
 * A name to be replaced wherever it stands as a word. False when it is left: too short, or a
 * word like "docker" or "debian" that says nothing of whose machine it is.
 */
bool scrub_add_name(struct scrub *scrub, enum scrub_kind kind, const char *name);

/*
 * Changes text in place. Runs of printable bytes are looked at, so binary data are safe. With
 * names_only secrets are not looked for: paths. 0 or -ENOMEM.
 */
int scrub_text(struct scrub *scrub, char *text, size_t size, bool names_only) _must_check_;

void scrub_done(struct scrub *scrub);
#define _cleanup_scrub_ _cleanup_(scrub_done)

/* The secrets alone: scrub-secret.c. text is one line. */
void scrub_secrets(struct scrub *scrub, char *text, size_t size);
