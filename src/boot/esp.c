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

/* "default" of loader.conf, or NULL. */
static int configured_default(const struct root *root, char **ret)
{
	for (const char *const *dir = esp_dirs; *dir; dir++) {
		_cleanup_free_ char *path = NULL, *text = NULL;
		_cleanup_strv_ struct strv lines = {};
		int r;

		if (str_printf(&path, "%s/loader/loader.conf", *dir) < 0)
			return -ENOMEM;
		r = root_read(root, path, ROOT_MAX_CMDLINE, &text, NULL);
		if (r == -ENOMEM)
			return r;
		if (r < 0)
			continue;
		strv_split(&lines, text, "\r\n");
		for (size_t i = 0; i < lines.n; i++) {
			_cleanup_strv_ struct strv words = {};

			strv_split(&words, lines.items[i], " \t");
			if (words.n < 2 || !streq(words.items[0], "default"))
				continue;
			free(*ret);
			*ret = strdup(words.items[1]);
			if (!*ret)
				return -ENOMEM;
		}
		if (strv_error(&lines) < 0)
			return -ENOMEM;
	}
	return 0;
}

int esp_chosen(const struct root *root, char **ret)
{
	static const char *const variables[] = { "LoaderEntryPreferred", "LoaderEntryDefault" };
	_cleanup_free_ char *chosen = NULL;
	int r = -ENOENT;

	for (size_t i = 0; r == -ENOENT && i < ARRAY_SIZE(variables); i++)
		r = image_loader_variable(root, variables[i], &chosen);
	if (r < 0 && r != -ENOMEM)
		r = configured_default(root, &chosen);
	if (r >= 0 && streq_ptr(chosen, "@saved")) {
		freep(&chosen);
		chosen = NULL;
		r = image_loader_variable(root, "LoaderEntryLastBooted", &chosen);
	}
	if (r == -ENOMEM)
		return r;
	*ret = TAKE_PTR(chosen);
	return 0;
}

static const char *const loaders[] = { "LoaderInfo", "StubInfo" };

int esp_secure_boot(const struct root *root)
{
	_cleanup_free_ char *data = NULL;
	size_t size;
	int r = root_read(
		root,
		"/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c",
		IMAGE_MAX_EFIVAR, &data, &size);

	if (r >= 0 && size == 5)
		return data[4] == 1;
	/* firmware without Secure Boot does not have the variable, though those of the loader
	 */
	if (r == -ENOENT)
		for (size_t i = 0; i < ARRAY_SIZE(loaders); i++) {
			_cleanup_free_ char *loader = NULL;

			if (image_loader_variable(root, loaders[i], &loader) >= 0)
				return 0;
		}
	return -ENODATA;
}
