/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot/initrd.h"

#include "base/diag.h"
#include "base/initramfs.h"
#include "base/root.h"
#include "base/temporary.h"
#include "boot/tool.h"

#define MODULE	     "/usr/lib/dracut/modules.d/50memcg-policy/module-setup.sh"
#define MODULE_NAME  "memcg-policy"
#define BAKED	     "usr/lib/memcg-policy/initrd"
#define REBUILD_HINT "dracut --force --regenerate-all"

enum { MAX_CONFIGURATION = 64 * 1024, MAX_OBSERVATION = 4096, MAX_FILES = 4096 };

int initrd_text(const char *decision, bool required, char **ret)
{
	return str_printf(ret, "decision=%s\nrequired=%s\n", decision, required ? "yes" : "no");
}

/* --- what is asked for --- */

/* add_dracutmodules+=" memcg-policy " and the like; a comment asks for nothing. */
static bool mentions_module(char *text)
{
	for (char *save = NULL, *line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		line += strspn(line, " \t");
		if (*line != '#' && !str_skip_prefix(line, "omit") &&
		    strstr(line, "dracutmodules") && strstr(line, MODULE_NAME))
			return true;
	}
	return false;
}

/* Whether dracut's configuration asks for the module (dracut.conf(5)). */
static bool is_configured(const struct root *root)
{
	static const char *const places[] = { "/etc/dracut.conf", "/etc/dracut.conf.d/*.conf",
					      "/usr/lib/dracut/dracut.conf.d/*.conf" };
	_cleanup_strv_ struct strv paths = {};

	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		IGNORE(root_glob(root, places[i], MAX_FILES, &paths)); /* what was found */
	for (size_t i = 0; i < paths.n; i++) {
		_cleanup_free_ char *text = NULL;

		if (root_read(root, paths.items[i], MAX_CONFIGURATION, &text, NULL) >= 0 &&
		    mentions_module(text))
			return true;
	}
	return false;
}

bool initrd_is_asked_for(const struct root *root)
{
	return root_exists(root, MODULE) &&
	       (root_exists(root, INITRD_OBSERVATION) || is_configured(root));
}

int initrd_observed(const struct root *root, char **ret)
{
	static const char *const known[] = { "decision=on\n", "decision=off\n",
					     "decision=leave\n" };
	_cleanup_free_ char *text = NULL;
	const char *from;
	int r = root_read(root, INITRD_OBSERVATION, MAX_OBSERVATION, &text, NULL);

	if (r < 0)
		return r;
	from = strstr(text, "\ndecision=");
	for (size_t i = 0; from && i < ARRAY_SIZE(known); i++)
		if (str_skip_prefix(from + 1, known[i])) {
			*ret = strdup(from + 1);
			return *ret ? 0 : -ENOMEM;
		}
	return -ENOENT;
}

/* --- images --- */

/* What an image says; text is what is baked into it, or NULL. */
struct image {
	bool by_dracut;
	char *text;
};

static void image_done(struct image *image)
{
	free(image->text);
}

static int see_member(void *userdata, const char *name, const char *data, size_t size)
{
	struct image *image = userdata;

	if (strstr(name, "lib/dracut/"))
		image->by_dracut = true;
	if (streq(name, BAKED) && data) {
		free(image->text);
		image->text = str_dup_n(data, size);
		if (!image->text)
			return -ENOMEM;
	}
	return 0;
}

/* To its end, so that one which is cut or damaged is told. */
static int read_image(const struct root *root, const char *path, struct image *ret)
{
	_cleanup_(image_done) struct image image = {};
	_cleanup_free_ char *data = NULL;
	size_t size;
	int r = root_read(root, path, INITRAMFS_MAX, &data, &size);

	if (r >= 0)
		r = initramfs_walk(data, size, see_member, &image);
	if (r < 0)
		return r;
	*ret = image;
	image = (struct image){};
	return 0;
}

/*
 * Where a distribution's hooks have dracut put the initrd of a kernel: Fedora, Debian,
 * openSUSE, and kernel-install's directories by machine. Rescue and kdump images are built with
 * options of their own, and are not ours to rebuild.
 */
static int find_images(const struct root *root, const char *release, struct strv *ret)
{
	static const char *const places[] = { "/boot/initramfs-%s.img", "/boot/initrd.img-%s",
					      "/boot/initrd-%s",	"/boot/*/%s/initrd",
					      "/boot/efi/*/%s/initrd",	"/efi/*/%s/initrd" };

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		const char *at = strstr(places[i], "%s");
		_cleanup_strv_ struct strv found = {};
		_cleanup_free_ char *pattern = NULL;

		if (str_printf(&pattern, "%.*s%s%s", (int)(at - places[i]), places[i], release,
			       at + 2) < 0)
			return -ENOMEM;
		IGNORE(root_glob(root, pattern, MAX_FILES, &found)); /* what was found */
		for (size_t k = 0; k < found.n; k++) {
			_cleanup_free_ char *path = NULL;
			int r = root_resolve(root, found.items[k], &path);

			if (r == -ENOMEM)
				return r;
			/* /boot and /boot/efi can be one */
			if (r >= 0)
				strv_add_unique(ret, path);
		}
	}
	return strv_error(ret);
}

static int find_dracut(const struct root *root, char **ret)
{
	return tool_find(root, (const char *const[]){ "dracut", NULL }, ret);
}

/* What an initrd must carry, and who builds it. */
struct plan {
	const struct boot *boot;
	const char *dracut;
	const char *text;
	bool wanted; /* the configuration asks for the module */
};

static int plan_command(const struct plan *plan, const char *release, const char *path,
			struct changeset *cs)
{
	const char *argv[] = { plan->dracut, "--force", "--kver", release, path, NULL };

	if (plan->boot->refresh)
		strv_add(&cs->initrds, path);
	else
		cs->refresh = REFRESH_PRINT;
	return strv_error(&cs->initrds) < 0 ? -ENOMEM : changeset_add_command(cs, argv);
}

static int plan_image(const struct plan *plan, const char *release, const char *path,
		      struct changeset *cs, struct diag *diag)
{
	const struct diag_where where = { .path = path, .hint = REBUILD_HINT };
	_cleanup_(image_done) struct image image = {};
	int r = read_image(plan->boot->root, path, &image);

	if (r == -ENOMEM)
		return r;
	/* of an image that is none, or not in dracut's hands, nothing is said */
	if (r == -EBADMSG && !plan->wanted)
		return 0;
	if (r < 0) {
		diag_warning(diag, &where, "cannot tell which decision it carries: %s",
			     r == -EOPNOTSUPP ? "libarchive is not installed"
			     : r == -EBADMSG  ? "it is damaged"
					      : root_read_error(r));
		return 0;
	}
	if (image.text ? streq(image.text, plan->text) : !plan->wanted || !image.by_dracut)
		return 0;
	return plan_command(plan, release, path, cs);
}

int initrd_plan(const struct boot *boot, const char *text, struct changeset *cs,
		struct diag *diag)
{
	struct plan plan = { .boot = boot, .text = text };
	_cleanup_free_ char *dracut = NULL;
	int r;

	if (!root_exists(boot->root, MODULE))
		return 0;
	r = find_dracut(boot->root, &dracut);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	plan.dracut = dracut;
	plan.wanted = is_configured(boot->root);
	for (size_t i = 0; r >= 0 && i < boot->kernels->n; i++) {
		const struct kernel *kernel = &boot->kernels->items[i];
		_cleanup_strv_ struct strv paths = {};

		if (!kernel->release || !kernel->image)
			continue;
		r = find_images(boot->root, kernel->release, &paths);
		for (size_t k = 0; r >= 0 && k < paths.n; k++)
			r = plan_image(&plan, kernel->release, paths.items[k], cs, diag);
	}
	return r;
}

/* --- building --- */

/* One run at a time has the lock, so a name by the place in the list is enough. */
static int temporary_path(const char *image, size_t i, char **ret)
{
	return str_printf(ret, "%.*s" TEMPORARY_PREFIX "i%05zu",
			  (int)(strrchr(image, '/') + 1 - image), image, i);
}

static const char *release_of(const struct boot *boot, const char *image)
{
	for (size_t i = 0; i < boot->kernels->n; i++) {
		const char *release = boot->kernels->items[i].release;
		_cleanup_strv_ struct strv paths = {};

		if (release && find_images(boot->root, release, &paths) >= 0 &&
		    strv_contains(&paths, image))
			return release;
	}
	return NULL;
}

static int check_built(const struct root *root, const char *path, const char *shown,
		       const char *text, bool wanted, struct diag *diag)
{
	_cleanup_(image_done) struct image image = {};
	int r = read_image(root, path, &image);

	if (r == -ENOMEM)
		return r;
	if (r < 0)
		diag_error(diag, &(struct diag_where){ .path = shown },
			   "what dracut built in its place cannot be read: %s",
			   r == -EBADMSG ? "it is damaged" : strerror(-r));
	else if (image.text ? !streq(image.text, text) : wanted) {
		diag_error(diag, &(struct diag_where){ .path = shown },
			   "what dracut built in its place does not carry this decision");
		r = -EIO;
	}
	return r;
}

int initrd_build(const struct boot *boot, const char *text, const struct strv *images,
		 struct diag *diag)
{
	bool wanted = is_configured(boot->root);
	_cleanup_free_ char *dracut = NULL;
	int r = find_dracut(boot->root, &dracut);

	if (r == -ENOENT)
		diag_error(diag, NULL, "there is no dracut any more");
	initrd_clean(boot->root, images);
	for (size_t i = 0; r >= 0 && i < images->n; i++) {
		const char *image = images->items[i], *release = release_of(boot, image);
		_cleanup_free_ char *temporary = NULL;
		const char *argv[] = { dracut, "--force", "--kver", release, NULL, NULL };

		if (!release)
			continue; /* its kernel is gone */
		r = temporary_path(image, i, &temporary);
		if (r < 0)
			break;
		argv[4] = temporary;
		r = tool_run(boot, argv, diag);
		if (r >= 0)
			r = check_built(boot->root, temporary, image, text, wanted, diag);
	}
	if (r < 0)
		initrd_clean(boot->root, images);
	return r;
}

int initrd_install(const struct root *root, const struct strv *images, struct diag *diag)
{
	for (size_t i = 0; i < images->n; i++) {
		const char *image = images->items[i];
		_cleanup_free_ char *temporary = NULL;
		int r = temporary_path(image, i, &temporary);

		if (r >= 0 && root_exists(root, temporary))
			r = atomic_take(root, image, strrchr(temporary, '/') + 1);
		if (r < 0) {
			diag_error(diag,
				   &(struct diag_where){ .path = image, .hint = REBUILD_HINT },
				   "the new initrd cannot take its place: %s", strerror(-r));
			initrd_clean(root, images);
			return r;
		}
	}
	return 0;
}

void initrd_clean(const struct root *root, const struct strv *images)
{
	for (size_t i = 0; i < images->n; i++)
		IGNORE(atomic_clean(root, images->items[i])); /* tidiness */
}
