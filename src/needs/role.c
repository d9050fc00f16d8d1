/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "needs/needs.h"

#include "base/str.h"
#include "needs/enabled.h"
#include "policy/decide.h"

static int reason(struct decision_reason *ret, const char *path, unsigned line, char *text)
{
	struct decision_reason r = { .text = text, .line = path ? line : 0 };

	if (path) {
		r.path = strdup(path);
		if (!r.path) {
			free(text);
			return -ENOMEM;
		}
	}
	*ret = r;
	return 0;
}

/* The link that starts a display manager, or NULL; owned by e. */
static int find_display_manager(const struct enabled *e, const char **ret_unit,
				const char **ret_path)
{
	/* by name only where no alias tells: OpenRC, runit */
	static const char *const names[] = {
		"display-manager.service", "gdm.service",  "gdm3.service", "sddm.service",
		"lightdm.service",	   "lxdm.service", "xdm.service",  "greetd.service",
	};
	const char *target;
	int r;

	enabled_alias(e, "display-manager.service", &target, ret_path);
	if (target) {
		*ret_unit = target;
		return 1;
	}
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		size_t state = 0;

		r = enabled_next(e, names[i], &state, ret_unit, ret_path);
		if (r != 0)
			return r;
	}
	return 0;
}

static int guess_desktop(const struct enabled *e, struct decision_reason *ret)
{
	const char *unit, *path, *target, *link;
	char *text;
	int r;

	r = find_display_manager(e, &unit, &path);
	if (r <= 0)
		return r;
	/* without an alias there is no systemd, and a display manager that is enabled starts */
	enabled_alias(e, "default.target", &target, &link);
	if (target && !streq(target, "graphical.target"))
		return 0;
	r = str_printf(
		&text,
		"%s is enabled%s, so this looks like a desktop (Role= names another role)",
		unit, target ? " and the system boots to graphical.target" : "");
	if (r >= 0)
		r = reason(ret, path, 0, text);
	return r < 0 ? r : 1;
}

int needs_guess_role(const struct root *root, const struct needs *needs, const char **ret_role,
		     struct decision_reason *ret_reason)
{
	_cleanup_enabled_ struct enabled *e = NULL;
	bool unknown = needs->incomplete;
	char *text;
	int r;

	for (size_t i = 0; i < needs->n; i++) {
		const struct need *need = &needs->items[i];
		const struct need_evidence *seen = need->evidence;

		if (!need->role)
			continue;
		if (need->in_use == NEED_UNKNOWN)
			unknown = true;
		if (need->in_use != NEED_YES)
			continue;
		r = str_printf(&text, "%s is in use%s%s, so the role is %s", need->title,
			       need->n_evidence > 0 ? ": " : "",
			       need->n_evidence > 0 ? seen->text : "", need->role);
		if (r >= 0)
			r = reason(ret_reason, need->n_evidence > 0 ? seen->path : NULL,
				   need->n_evidence > 0 ? seen->line : 0, text);
		if (r >= 0)
			*ret_role = need->role;
		return r;
	}
	r = enabled_new(root, &e);
	if (r < 0)
		return r;
	r = guess_desktop(e, ret_reason);
	if (r > 0)
		*ret_role = "desktop";
	if (r != 0)
		return r < 0 ? r : 0;
	r = str_printf(&text,
		       "neither a container engine in use nor an enabled display manager "
		       "was seen%s, so this is taken for a server",
		       unknown ? ", though not everything could be looked at" : "");
	if (r >= 0)
		r = reason(ret_reason, NULL, 0, text);
	if (r >= 0)
		*ret_role = "server";
	return r;
}
