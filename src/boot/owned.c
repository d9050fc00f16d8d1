/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot/owned.h"

#include "base/str.h"
#include "boot/grub-trial.h"
#include "boot/grub.h"
#include "policy/policy.h"

const char *const owned_files[] = {
	POLICY_SET_PATH,
	GRUB_OUR_DROPIN,
	GRUB_OUR_SCRIPT,
	NULL,
};

bool owned_is(const char *path)
{
	for (size_t i = 0; owned_files[i]; i++)
		if (streq(owned_files[i], path))
			return true;
	return false;
}
