/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "facts/kernels.h"

#include "base/root.h"
#include "base/str.h"
#include "facts/kimage.h"
#include "facts/release.h"

enum { MAX_IMAGES = 4096 };

/* --- the list --- */

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

void kernels_done(struct kernels *kernels)
{
	for (size_t i = 0; i < kernels->n; i++)
		kernel_done(&kernels->items[i]);
	free(kernels->items);
	*kernels = (struct kernels){};
}

struct kernel *kernels_find(const struct kernels *kernels, const char *release)
{
	for (size_t i = 0; i < kernels->n; i++)
		if (streq_ptr(kernels->items[i].release, release))
			return &kernels->items[i];
	return NULL;
}

struct kernel *kernels_find_running(const struct kernels *kernels)
{
	for (size_t i = 0; i < kernels->n; i++)
		if (kernels->items[i].running)
			return &kernels->items[i];
	return NULL;
}

struct kernel *kernels_find_image(const struct kernels *kernels, const struct root *root,
				  const char *path)
{
	const char *name = strrchr(path, '/'), *release;
	struct stat wanted, st;

	if (root_stat(root, path, &wanted) >= 0)
		for (size_t i = 0; i < kernels->n; i++)
			if (kernels->items[i].image &&
			    root_stat(root, kernels->items[i].image, &st) >= 0 &&
			    same_file(&st, &wanted))
				return &kernels->items[i];
	/* another copy, or on a boot partition that is not mounted: by what its name says */
	release = name ? strchr(name, '-') : NULL;
	return release ? kernels_find(kernels, release + 1) : NULL;
}

/* Adds a kernel unless its release is there; both may be NULL. */
static int add_kernel(struct kernels *kernels, const char *release, const char *image,
		      struct kernel **ret)
{
	struct kernel *kernel = release ? kernels_find(kernels, release) : NULL;

	if (!kernel) {
		if (!GROW(kernels->items, kernels->n, kernels->alloc))
			return -ENOMEM;
		kernel = &kernels->items[kernels->n++];
		*kernel = (struct kernel){};
		if (release) {
			kernel->release = strdup(release);
			if (!kernel->release)
				return -ENOMEM;
		}
	}
	if (image && !kernel->image) {
		kernel->image = strdup(image);
		if (!kernel->image)
			return -ENOMEM;
	}
	if (ret)
		*ret = kernel;
	return 0;
}

/* --- finding what is installed --- */

/* Files beside a kernel that have its name and something behind it. */
static bool is_leftover(const char *name)
{
	static const char *const suffixes[] = { ".old",	     ".bak",	    ".orig",
						".sig",	     ".efi.signed", ".hmac",
						".rpmsave",  ".rpmnew",	    ".dpkg-old",
						".dpkg-new", ".dpkg-tmp",   "~" };

	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++)
		if (str_has_suffix(name, suffixes[i]))
			return true;
	return false;
}

/*
 * The release of /boot/vmlinuz-NAME. NAME it is when there is more by that name, or when it
 * looks like one; "linux" (Arch) and "0-rescue-…" (Fedora) are not: the image's header says.
 */
static int find_release(const struct root *root, const char *image, const char *name,
			char **ret)
{
	_cleanup_free_ char *modules = NULL, *plain = NULL;
	struct release_version version;
	const char *dot = strrchr(name, '.');
	int r;

	/* vmlinux-6.4.0-default.gz */
	if (dot && (streq(dot, ".gz") || streq(dot, ".xz") || streq(dot, ".zst"))) {
		plain = str_dup_n(name, (size_t)(dot - name));
		if (!plain)
			return -ENOMEM;
		name = plain;
	}
	r = str_printf(&modules, "/lib/modules/%s", name);
	if (r < 0)
		return r;
	if (!root_exists(root, modules)) {
		r = kimage_header_release(root, image, ret);
		if (r >= 0 || r == -ENOMEM)
			return r;
		if (release_parse(name, &version) < 0)
			return -ENOENT;
	}
	*ret = strdup(name);
	return *ret ? 0 : -ENOMEM;
}

/* Paths of the names in /boot that match and lead to something, in the order of the names. */
static int find_in_boot(const struct root *root, const struct strv *boot, const char *pattern,
			struct strv *ret)
{
	for (size_t i = 0; i < boot->n && ret->n < MAX_IMAGES; i++) {
		_cleanup_free_ char *path = NULL;

		if (*boot->items[i] == '.' || !str_match_glob(pattern, boot->items[i]))
			continue;
		if (str_printf(&path, "/boot/%s", boot->items[i]) < 0)
			return -ENOMEM;
		if (root_exists(root, path))
			strv_add(ret, path);
	}
	return strv_error(ret);
}

static int add_images(struct kernels *kernels, const struct root *root, const struct strv *boot,
		      const char *prefix)
{
	_cleanup_free_ char *pattern = NULL;
	_cleanup_strv_ struct strv paths = {};
	int r = str_printf(&pattern, "%s*", prefix);

	if (r >= 0)
		r = find_in_boot(root, boot, pattern, &paths);
	for (size_t i = 0; r >= 0 && i < paths.n; i++) {
		const char *name = paths.items[i] + strlen("/boot/") + strlen(prefix);
		_cleanup_free_ char *release = NULL;

		if (!*name || is_leftover(name))
			continue;
		r = find_release(root, paths.items[i], name, &release);
		if (r == -ENOMEM)
			return r;
		/* "image-backup" need not be a kernel */
		if (release || str_skip_prefix(prefix, "vmlinu"))
			r = add_kernel(kernels, release, paths.items[i], NULL);
		else
			r = 0;
	}
	return r;
}

/* Images whose names say nothing: the Raspberry Pi's, Arch Linux ARM's, Ubuntu's for the Pi. */
static int add_unnamed(struct kernels *kernels, const struct root *root,
		       const struct strv *boot)
{
	static const char *const patterns[] = { "kernel*.img",
						"Image",
						"zImage",
						"vmlinuz",
						"/boot/firmware/kernel*.img",
						"/boot/firmware/vmlinuz" };
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
		_cleanup_strv_ struct strv paths = {};

		r = *patterns[i] == '/' ? root_glob(root, patterns[i], MAX_IMAGES, &paths)
					: find_in_boot(root, boot, patterns[i], &paths);
		for (size_t k = 0; r >= 0 && k < paths.n; k++) {
			_cleanup_free_ char *release = NULL;

			/* a link to one that has a name */
			if (kernels_find_image(kernels, root, paths.items[k]))
				continue;
			r = kimage_header_release(root, paths.items[k], &release);
			if (r != -ENOMEM)
				r = add_kernel(kernels, release, paths.items[k], NULL);
		}
		if (r == -ENOMEM)
			return r;
	}
	return 0;
}

/*
 * /lib/modules/RELEASE, with the image inside (Fedora, openSUSE, Debian from 7.x on) or not.
 * modules.order comes with a kernel's package; without it the directory is what other packages
 * left behind when the kernel was removed.
 */
static int add_modules(struct kernels *kernels, const struct root *root, const char *dir)
{
	_cleanup_strv_ struct strv names = {};
	int r;

	r = root_list(root, dir, &names);
	if (r == -ENOMEM)
		return r;
	for (size_t i = 0; i < names.n; i++) {
		_cleanup_free_ char *image = NULL, *order = NULL;
		const char *release = names.items[i];
		bool bootable;

		if (!release_is_valid(release))
			continue;
		r = str_printf(&image, "%s/%s/vmlinuz", dir, release);
		if (r >= 0)
			r = str_printf(&order, "%s/%s/modules.order", dir, release);
		if (r < 0)
			return r;
		bootable = root_exists(root, image);
		if (!bootable && !root_exists(root, order))
			continue;
		r = add_kernel(kernels, release, bootable ? image : NULL, NULL);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Where no image was found, as in a captured machine, configurations tell of kernels. */
static int add_configs(struct kernels *kernels, const struct root *root,
		       const struct strv *boot)
{
	_cleanup_strv_ struct strv paths = {};
	int r;

	for (size_t i = 0; i < kernels->n; i++)
		if (kernels->items[i].image)
			return 0;
	r = find_in_boot(root, boot, "config-*", &paths);
	for (size_t i = 0; r >= 0 && i < paths.n; i++) {
		const char *name = str_skip_prefix(paths.items[i], "/boot/config-");

		if (name && release_is_valid(name) && !is_leftover(name))
			r = add_kernel(kernels, name, NULL, NULL);
	}
	return r == -ENOMEM ? r : 0;
}

static int add_running(struct kernels *kernels, const struct root *root, const char *release)
{
	struct kernel *kernel;
	int r;

	if (root_mode(root) == ROOT_OFFLINE ||
	    (!release && !root_exists(root, "/proc/config.gz")))
		return 0;
	r = add_kernel(kernels, release, NULL, &kernel);
	if (r >= 0)
		kernel->running = true;
	return r;
}

static int compare_kernels(const void *a, const void *b)
{
	const struct kernel *ka = a, *kb = b;

	if (ka->release && kb->release)
		return -release_compare(ka->release, kb->release);
	if (ka->release || kb->release)
		return ka->release ? -1 : 1;
	return strcmp(ka->image ? ka->image : "", kb->image ? kb->image : "");
}

static bool is_same_dir(const struct root *root, const char *a, const char *b)
{
	struct stat sa, sb;

	return root_stat(root, a, &sa) >= 0 && root_stat(root, b, &sb) >= 0 &&
	       same_file(&sa, &sb);
}

int kernels_load(const struct root *root, const char *running_release, struct kernels *ret)
{
	/* the first image of a release is the one a boot loader reads */
	static const char *const prefixes[] = { "vmlinuz-", "vmlinux-", "kernel-",
						"Image-",   "zImage-",	"image-" };
	_cleanup_kernels_ struct kernels kernels = {};
	_cleanup_strv_ struct strv boot = {};
	int r = root_list(root, "/boot", &boot);

	if (r == -ENOMEM)
		return r;
	if (r < 0)
		strv_done(&boot); /* what cannot be read has no kernels to offer */
	r = 0;

	if (running_release && !release_is_valid(running_release))
		running_release = NULL;
	for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(prefixes); i++)
		r = add_images(&kernels, root, &boot, prefixes[i]);
	if (r >= 0)
		r = add_modules(&kernels, root, "/usr/lib/modules");
	if (r >= 0 && !is_same_dir(root, "/lib/modules", "/usr/lib/modules"))
		r = add_modules(&kernels, root, "/lib/modules");
	if (r >= 0)
		r = add_unnamed(&kernels, root, &boot);
	if (r >= 0)
		r = add_configs(&kernels, root, &boot);
	if (r >= 0)
		r = add_running(&kernels, root, running_release);
	for (size_t i = 0; r >= 0 && i < kernels.n; i++)
		r = kernel_examine(&kernels.items[i], root);
	if (r < 0)
		return r;
	if (kernels.n > 0)
		qsort(kernels.items, kernels.n, sizeof(*kernels.items), compare_kernels);
	*ret = kernels;
	kernels = (struct kernels){};
	return 0;
}
