/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "units/unit-single.h"

#include "base/diag.h"
#include "base/root.h"
#include "units/unit-live.h"
#include "units/unit-quadlet.h"

int unit_load_single(const struct root *root, const struct unit_owner *owner, unsigned version,
		     const struct unit_quadlets *quadlets, const char *name, struct unit *ret)
{
	_cleanup_unit_path_ struct unit_path path = {};
	_cleanup_free_ struct unit_loader *loader = calloc(1, sizeof(*loader));
	_cleanup_diag_ struct diag ignored = {};
	size_t budget = ROOT_MAX_DIR_ENTRIES;
	int r;

	if (!loader)
		return -ENOMEM;
	r = unit_path_open(root, owner, version, &path);
	if (r < 0)
		return r;
	loader->root = root;
	loader->path = &path;
	loader->quadlets = quadlets;
	loader->version = version;
	loader->user = owner->user;
	loader->budget = loader->text.budget = &budget;
	loader->diag = &ignored;
	r = unit_load(loader, name, ret);
	unit_loader_done(loader);
	return r;
}

static bool is_quadlet(const struct unit_quadlets *quadlets, const char *name)
{
	for (size_t i = 0; i < quadlets->n; i++)
		if (streq(quadlets->items[i].name, name))
			return true;
	return false;
}

int unit_presence_find(const struct root *root, const struct unit_owner *owner,
		       const struct unit_view *view, const char *name, enum unit_presence *ret,
		       char **ret_mask)
{
	const struct unit_live *live = unit_bus_find(&view->bus, name);
	_cleanup_(unit_done) struct unit unit = {};
	int r;

	*ret_mask = NULL;
	*ret = UNIT_THERE;
	if (is_quadlet(&view->units.quadlets, name) || (live && live->active))
		return 0;
	if (unit_name_form(name, NULL) == UNIT_FORM_INVALID) {
		*ret = unit_quadlet_is_name(name) ? UNIT_ABSENT : UNIT_NAME_WRONG;
		return 0;
	}
	r = unit_load_single(root, owner, view->units.version, &view->units.quadlets, name,
			     &unit);
	if (r < 0)
		return r;
	if (unit.state == UNIT_NOT_FOUND)
		*ret = UNIT_ABSENT;
	else if (unit.state == UNIT_MASKED) {
		*ret = UNIT_THERE_MASKED;
		*ret_mask = strdup(unit.sources.items[0]);
		return *ret_mask ? 0 : -ENOMEM;
	} else if (unit.sources.n == 0 && !unit.generated && unit.state == UNIT_LOADED &&
		   !unit_is_perpetual(unit.name, owner->user))
		*ret = UNIT_UNMADE;
	return 0;
}
