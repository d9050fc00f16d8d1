/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot/esp.h"

#include "base/root.h"
#include "base/str.h"
#include "boot/image.h"

const char *const esp_dirs[] = { "/efi", "/boot", "/boot/efi", NULL };
const char *const esp_entry_dirs[] = { "/efi/loader/entries", "/boot/loader/entries",
				       "/boot/efi/loader/entries", NULL };

int esp_has_systemd_boot(const struct root *root)
{
	for (const char *const *dir = esp_dirs; *dir; dir++) {
		_cleanup_strv_ struct strv found = {};
		_cleanup_free_ char *pattern = NULL;

		/* FAT keeps names in any case, a copied tree does not match them so */
		if (str_printf(&pattern, "%s/[Ee][Ff][Ii]/systemd/systemd-boot*.efi", *dir) < 0)
			return -ENOMEM;
		if (root_glob(root, pattern, 1, &found) == -ENOMEM)
			return -ENOMEM;
		if (found.n > 0)
			return 1;
	}
	return 0;
}

int esp_loader(const struct root *root, char **ret)
{
	int r = image_loader_variable(root, "LoaderInfo", ret);

	if (r == -ENOMEM)
		return r;
	if (r < 0)
		*ret = NULL;
	return 0;
}

int esp_secure_boot(const struct root *root)
{
	_cleanup_free_ char *data = NULL;
	size_t size;

	if (root_read(
		    root,
		    "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c",
		    IMAGE_MAX_EFIVAR, &data, &size) < 0 ||
	    size != 5)
		return -ENODATA;
	return data[4] == 1;
}
