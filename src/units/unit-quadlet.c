/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "units/unit-quadlet.h"

#include "base/str.h"

const struct unit_quadlet *unit_quadlets_find(const struct unit_quadlets *quadlets,
					      const char *service)
{
	for (size_t i = 0; i < quadlets->n; i++)
		if (streq(quadlets->items[i].service, service))
			return &quadlets->items[i];
	return NULL;
}
