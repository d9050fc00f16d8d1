/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "units/unit-name.h"

#include "base/str.h"

#include <stdio.h>

static const struct {
	const char *name;
	const char *section;
	bool may_alias;
	bool may_template;
} types[_UNIT_TYPE_MAX] = {
	[UNIT_SERVICE] = { "service", "Service", true, true },
	[UNIT_MOUNT] = { "mount", "Mount", false, false },
	[UNIT_SWAP] = { "swap", "Swap", false, false },
	[UNIT_SOCKET] = { "socket", "Socket", true, true },
	[UNIT_TARGET] = { "target", NULL, true, true },
	[UNIT_DEVICE] = { "device", NULL, true, false },
	[UNIT_AUTOMOUNT] = { "automount", NULL, false, false },
	[UNIT_TIMER] = { "timer", NULL, true, true },
	[UNIT_PATH] = { "path", NULL, true, true },
	[UNIT_SLICE] = { "slice", "Slice", false, false },
	[UNIT_SCOPE] = { "scope", "Scope", false, false },
};

const char *unit_type_to_string(enum unit_type type)
{
	return types[type].name;
}

enum unit_type unit_type_from_string(const char *s)
{
	for (int i = 0; i < _UNIT_TYPE_MAX; i++)
		if (streq(s, types[i].name))
			return (enum unit_type)i;
	return _UNIT_TYPE_INVALID;
}

const char *unit_type_section(enum unit_type type)
{
	return types[type].section;
}

bool unit_type_may_alias(enum unit_type type)
{
	return types[type].may_alias;
}

bool unit_type_may_template(enum unit_type type)
{
	return types[type].may_template;
}

static bool is_name_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr(":-_.\\", c));
}

enum unit_form unit_name_form(const char *name, enum unit_type *ret_type)
{
	const char *dot = strrchr(name, '.'), *at = NULL;
	enum unit_type type;

	if (!dot || dot == name || strlen(name) >= UNIT_NAME_MAX)
		return UNIT_FORM_INVALID;
	type = unit_type_from_string(dot + 1);
	if (type < 0)
		return UNIT_FORM_INVALID;
	for (const char *p = name; p < dot; p++) {
		if (*p == '@') {
			if (!at)
				at = p;
		} else if (!is_name_byte(*p))
			return UNIT_FORM_INVALID;
	}
	if (at == name)
		return UNIT_FORM_INVALID;
	if (ret_type)
		*ret_type = type;
	if (!at)
		return UNIT_FORM_PLAIN;
	return at + 1 == dot ? UNIT_FORM_TEMPLATE : UNIT_FORM_INSTANCE;
}

enum unit_type unit_name_type(const char *name)
{
	enum unit_type type = _UNIT_TYPE_INVALID;

	return unit_name_form(name, &type) == UNIT_FORM_INVALID ? _UNIT_TYPE_INVALID : type;
}

/* Prefix, '@' and instance if there is one, suffix: -EINVAL when it does not fit. */
static int build(char ret[static UNIT_NAME_MAX], const char *prefix, size_t prefix_size,
		 const char *instance, size_t instance_size, const char *suffix)
{
	int n = snprintf(ret, UNIT_NAME_MAX, "%.*s%s%.*s%s", (int)prefix_size, prefix,
			 instance ? "@" : "", instance ? (int)instance_size : 0,
			 instance ? instance : "", suffix);

	return n < 0 || n >= UNIT_NAME_MAX ? -EINVAL : 0;
}

int unit_name_template(const char *name, char ret[static UNIT_NAME_MAX])
{
	enum unit_form form = unit_name_form(name, NULL);
	const char *at = strchr(name, '@');

	if (form != UNIT_FORM_INSTANCE && form != UNIT_FORM_TEMPLATE)
		return -EINVAL;
	return build(ret, name, (size_t)(at - name), "", 0, strrchr(name, '.'));
}

const char *unit_name_instance(const char *name, size_t *ret_size)
{
	const char *at;

	if (unit_name_form(name, NULL) != UNIT_FORM_INSTANCE)
		return NULL;
	at = strchr(name, '@');
	*ret_size = (size_t)(strrchr(name, '.') - at) - 1;
	return at + 1;
}

int unit_name_instantiate(const char *template, const char *like,
			  char ret[static UNIT_NAME_MAX])
{
	size_t n;
	const char *instance = unit_name_instance(like, &n), *at = strchr(template, '@');

	if (!instance || !at)
		return -EINVAL;
	return build(ret, template, (size_t)(at - template), instance, n,
		     strrchr(template, '.'));
}

/*
 * Where a prefix is cut next: behind its last dash, but a dash at the very end is passed over
 * once. 0 when nothing is left to cut.
 */
static size_t cut_prefix(const char *prefix, size_t size)
{
	const char *dash = memrchr(prefix, '-', size);

	if (dash && dash > prefix && dash + 1 == prefix + size)
		dash = memrchr(prefix, '-', size - 1);
	return dash && dash > prefix ? (size_t)(dash - prefix) + 1 : 0;
}

static void add_stem(struct strv *ret, const char *prefix, size_t prefix_size,
		     const char *instance, size_t instance_size, const char *suffix)
{
	char stem[UNIT_NAME_MAX];

	if (build(stem, prefix, prefix_size, instance, instance_size, suffix) == 0)
		strv_add(ret, stem);
}

void unit_name_dropin_stems(const char *name, struct strv *ret)
{
	enum unit_form form = unit_name_form(name, NULL);
	const char *suffix = strrchr(name, '.'), *at = strchr(name, '@'), *instance;
	size_t size, instance_size = 0;

	if (form == UNIT_FORM_INVALID)
		return;
	instance = unit_name_instance(name, &instance_size);
	size = at ? (size_t)(at - name) : (size_t)(suffix - name);
	strv_add(ret, name);
	if (instance)
		add_stem(ret, name, size, "", 0, suffix);
	/* a cut template is a plain name, and comes before the cut instances */
	for (size_t n = cut_prefix(name, size); n > 0; n = cut_prefix(name, n))
		add_stem(ret, name, n, NULL, 0, suffix);
	for (size_t n = cut_prefix(name, size); instance && n > 0; n = cut_prefix(name, n)) {
		add_stem(ret, name, n, instance, instance_size, suffix);
		add_stem(ret, name, n, "", 0, suffix);
	}
}

bool unit_name_split_subdir(const char *name, char stem[static UNIT_NAME_MAX],
			    bool *ret_dropins)
{
	static const char *const suffixes[] = { ".d", ".wants", ".requires", ".upholds" };
	const char *dot = strrchr(name, '.');

	for (size_t i = 0; dot && i < ARRAY_SIZE(suffixes); i++) {
		size_t n = (size_t)(dot - name);

		if (!streq(dot, suffixes[i]) || n >= UNIT_NAME_MAX)
			continue;
		memcpy(stem, name, n);
		stem[n] = '\0';
		*ret_dropins = i == 0;
		return unit_name_form(stem, NULL) != UNIT_FORM_INVALID ||
		       unit_type_from_string(stem) >= 0;
	}
	return false;
}

bool unit_name_is_shared_stem(const char *stem, enum unit_form form)
{
	const char *at = strchr(stem, '@'), *end = at ? at : strrchr(stem, '.');

	return form == UNIT_FORM_TEMPLATE || end[-1] == '-';
}

int unit_name_parent_slice(const char *slice, char ret[static UNIT_NAME_MAX])
{
	const char *dash = strrchr(slice, '-');
	size_t n = dash ? (size_t)(dash - slice) : 0;

	if (streq(slice, "-.slice"))
		return -ENOENT;
	if (n + sizeof(".slice") > UNIT_NAME_MAX)
		return -EINVAL;
	/* in place as well: every slice above another one is asked for like this */
	memmove(ret, slice, n);
	strcpy(ret + n, dash ? ".slice" : "-.slice");
	return 0;
}

/* A template's prefix as one component of a slice's name: dashes and odd bytes as \xNN. */
static int instance_slice(const char *name, bool user, char ret[static UNIT_NAME_MAX])
{
	char buf[4 * UNIT_NAME_MAX + 32], *p = buf;
	const char *at = strchr(name, '@');

	p = stpcpy(p, user ? "app-" : "system-");
	for (const char *s = name; s < at; s++) {
		if (*s == '-' || *s == '\\' || (s == name && *s == '.'))
			p += sprintf(p, "\\x%02x", (unsigned char)*s);
		else
			*p++ = *s;
	}
	strcpy(p, ".slice");
	if (strlen(buf) >= UNIT_NAME_MAX)
		return -ENOENT; /* systemd refuses such a unit */
	strcpy(ret, buf);
	return 0;
}

int unit_name_default_slice(const char *name, bool user, char ret[static UNIT_NAME_MAX])
{
	enum unit_type type;
	enum unit_form form = unit_name_form(name, &type);

	if (form == UNIT_FORM_INVALID || form == UNIT_FORM_TEMPLATE)
		return -ENOENT;
	if (type == UNIT_SLICE)
		return unit_name_parent_slice(name, ret);
	if (form == UNIT_FORM_INSTANCE)
		return instance_slice(name, user, ret);
	/* what a user manager finds mounted, and PID 1's own scope */
	if ((user && (type == UNIT_MOUNT || type == UNIT_SWAP)) || streq(name, "-.mount") ||
	    streq(name, "init.scope"))
		strcpy(ret, "-.slice");
	else
		strcpy(ret, user ? "app.slice" : "system.slice");
	return 0;
}

bool unit_name_is_dropin(const char *name)
{
	/* no other ending of a backup is left */
	return name[0] != '.' && str_has_suffix(name, ".conf");
}

bool unit_name_is_backup(const char *name)
{
	static const char *const suffixes[] = {
		"ignore",   "rpmnew",	 "rpmsave",  "rpmorig",	    "dpkg-old",	   "dpkg-new",
		"dpkg-tmp", "dpkg-dist", "dpkg-bak", "dpkg-backup", "dpkg-remove", "ucf-new",
		"ucf-old",  "ucf-dist",	 "swp",	     "bak",	    "old",	   "new",
	};
	const char *dot = strrchr(name, '.');

	if (name[0] == '.' || str_has_suffix(name, "~") || streq(name, "lost+found") ||
	    streq(name, "aquota.user") || streq(name, "aquota.group"))
		return true;
	for (size_t i = 0; dot && i < ARRAY_SIZE(suffixes); i++)
		if (streq(dot + 1, suffixes[i]))
			return true;
	return false;
}
