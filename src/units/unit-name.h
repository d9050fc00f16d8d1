/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Unit names by systemd's rules (systemd.unit(5); src/basic/unit-name.c of v252 to v260). */

#include "base/macro.h"

/* Longest name, with its NUL. */
enum { UNIT_NAME_MAX = 256 };

enum unit_type {
	UNIT_SERVICE,
	UNIT_MOUNT,
	UNIT_SWAP,
	UNIT_SOCKET,
	UNIT_TARGET,
	UNIT_DEVICE,
	UNIT_AUTOMOUNT,
	UNIT_TIMER,
	UNIT_PATH,
	UNIT_SLICE,
	UNIT_SCOPE,
	_UNIT_TYPE_MAX,
	_UNIT_TYPE_INVALID = -EINVAL,
};

/* "foo.service", "foo@x.service", "foo@.service" */
enum unit_form {
	UNIT_FORM_INVALID, /* no unit name */
	UNIT_FORM_PLAIN,
	UNIT_FORM_INSTANCE,
	UNIT_FORM_TEMPLATE,
};

const char *unit_type_to_string(enum unit_type type) _pure_;
enum unit_type unit_type_from_string(const char *s) _pure_;
/* The section of the type's own settings ("Service"), or NULL for types without memory
 * settings. */
const char *unit_type_section(enum unit_type type) _pure_;
/* Whether such units may have other names, and templates. */
bool unit_type_may_alias(enum unit_type type) _pure_;
bool unit_type_may_template(enum unit_type type) _pure_;

/* ret_type may be NULL; it is set for valid names only. */
enum unit_form unit_name_form(const char *name, enum unit_type *ret_type);
/* _UNIT_TYPE_INVALID for what is no unit name. */
enum unit_type unit_name_type(const char *name);

/* The template of an instance, or of a template itself: 0 or -EINVAL. */
int unit_name_template(const char *name, char ret[static UNIT_NAME_MAX]) _must_check_;
/* The instance text of an instance name ("x"); NULL for other names. ret_size is its length. */
const char *unit_name_instance(const char *name, size_t *ret_size);
/* template with the instance text of another name put in: 0 or -EINVAL. */
int unit_name_instantiate(const char *template, const char *like,
			  char ret[static UNIT_NAME_MAX]) _must_check_;

struct strv;
/*
 * The names whose ".d" directories hold drop-ins for a unit of that name, in the order in which
 * systemd looks at them within one search directory: the name, its template, then the same with
 * the prefix cut at every dash ("a-b@x.service": a-b@x, a-b@, a-, a-@x, a-@). The type level
 * ("service") is not among them.
 */
void unit_name_dropin_stems(const char *name, struct strv *ret);

/*
 * What a directory in a search directory belongs to: "foo.service" or "service" of
 * "foo.service.d" (*ret_dropins) and of "foo.service.wants" and the like. False for other
 * names.
 */
bool unit_name_split_subdir(const char *name, char stem[static UNIT_NAME_MAX],
			    bool *ret_dropins);
/* Whether drop-ins of that stem can belong to more units than the one of that very name. */
bool unit_name_is_shared_stem(const char *stem, enum unit_form form) _pure_;

/* The slice that a slice lies in; 0, or -ENOENT for the root slice. ret may be slice. */
int unit_name_parent_slice(const char *slice, char ret[static UNIT_NAME_MAX]) _must_check_;
/* The slice that a unit lies in unless it says otherwise: 0, or -ENOENT for the root slice and
 * names that lie in none. */
int unit_name_default_slice(const char *name, bool user,
			    char ret[static UNIT_NAME_MAX]) _must_check_;

/* Whether a file in a ".d" directory counts. */
bool unit_name_is_dropin(const char *name) _pure_;
/* Files that every directory reader of systemd passes over: hidden ones and backups. */
bool unit_name_is_backup(const char *name) _pure_;
