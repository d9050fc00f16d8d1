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

static void kernel_done(struct kernel *kernel)
{
	free(kernel->release);
	free(kernel->image);
	free(kernel->config);
	kconfig_done(&kernel->kconfig);
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

/* Adds a kernel unless its release is there; both may be NULL. */
static int add_kernel(struct kernels *kernels, const char *release, const char *image,
		      struct kernel **ret)
{
	struct kernel *kernel = release ? kernels_find(kernels, release) : NULL;

	if (!kernel) {
		if (kernels->n == kernels->alloc) {
			size_t alloc = kernels->alloc ? kernels->alloc * 2 : 8;
			struct kernel *items =
				reallocarray(kernels->items, alloc, sizeof(*items));

			if (!items)
				return -ENOMEM;
			kernels->items = items;
			kernels->alloc = alloc;
		}
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

static int add_images(struct kernels *kernels, const struct root *root, const char *prefix)
{
	_cleanup_strbuf_ struct strbuf pattern = {};
	_cleanup_strv_ struct strv paths = {};
	int r;

	strbuf_addf(&pattern, "%s*", prefix);
	if (pattern.failed)
		return -ENOMEM;
	r = root_glob(root, pattern.data, MAX_IMAGES, &paths);
	for (size_t i = 0; r >= 0 && i < paths.n; i++) {
		const char *name = str_skip_prefix(paths.items[i], prefix);
		_cleanup_free_ char *release = NULL;

		if (!name || !*name || is_leftover(name))
			continue;
		r = find_release(root, paths.items[i], name, &release);
		if (r == -ENOMEM)
			return r;
		/* "image-backup" need not be a kernel */
		if (release || str_skip_prefix(prefix, "/boot/vmlinu"))
			r = add_kernel(kernels, release, paths.items[i], NULL);
		else
			r = 0;
	}
	return r == -ENOMEM ? r
			    : 0; /* a directory that cannot be read has no kernels to offer */
}

/* Images whose names say nothing: the Raspberry Pi's, Arch Linux ARM's, Ubuntu's for the Pi. */
static int add_unnamed(struct kernels *kernels, const struct root *root)
{
	static const char *const patterns[] = { "/boot/kernel*.img",
						"/boot/Image",
						"/boot/zImage",
						"/boot/vmlinuz",
						"/boot/firmware/kernel*.img",
						"/boot/firmware/vmlinuz" };
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
		_cleanup_strv_ struct strv paths = {};

		r = root_glob(root, patterns[i], MAX_IMAGES, &paths);
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
static int add_configs(struct kernels *kernels, const struct root *root)
{
	_cleanup_strv_ struct strv paths = {};
	int r;

	for (size_t i = 0; i < kernels->n; i++)
		if (kernels->items[i].image)
			return 0;
	r = root_glob(root, "/boot/config-*", MAX_IMAGES, &paths);
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

/* --- what each is like --- */

/*
 * Names that Raspberry Pi kernels have (LOCALVERSION of the defconfigs of raspberrypi/linux, of
 * its packages and of those who build from it). No proof either way: it only keeps from
 * claiming the mainline default.
 */
static bool may_be_raspberry(const char *release)
{
	static const char *const parts[] = { "+rpt-", "-rpi",  "raspi", "-v6+",
					     "-v7+",  "-v7l+", "-v8+",	"-v8-16k" };

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (strstr(release, parts[i]))
			return true;
	return false;
}

/*
 * What is known of rules and default from configuration and release alone (Debian switched its
 * default from off to on with 4.7; the Raspberry Pi's kernels, or the device trees that come
 * with them, are off from 5.4 on; everybody else is on).
 */
static void judge(struct kernel *kernel)
{
	static const enum kconfig_symbol marks[] = { KCONFIG_MEMCG_DISABLED,
						     KCONFIG_CGROUP_MEM_RES_CTLR_DISABLED };
	const char *release = kernel->release;

	kernel->rules = CMDLINE_RULE_UNKNOWN;
	kernel->state_default = MEMCG_UNKNOWN;
	kernel->honours_enable = ANSWER_NOT_LOOKED;
	for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
		enum kconfig_value value = kernel->kconfig.values[marks[i]];

		if (value == KCONFIG_ABSENT)
			continue;
		kernel->honours_enable = ANSWER_YES;
		kernel->rules = CMDLINE_LAST_WINS;
		kernel->state_default = value == KCONFIG_YES ? MEMCG_OFF : MEMCG_ON;
		return;
	}
	if (!release)
		return;
	if (may_be_raspberry(release)) {
		if (!strstr(release, "raspi") && release_is_from(release, 5, 4))
			kernel->state_default = MEMCG_OFF;
	} else if (release_is_from(release, 4, 7) || kernel->kconfig.complete) {
		kernel->state_default = MEMCG_ON;
	}
}

/* Reads its configuration and starts over judging it. */
static int examine(struct kernel *kernel, const struct root *root)
{
	int r;

	kconfig_done(&kernel->kconfig);
	free(kernel->config);
	kernel->config = NULL;
	kernel->config_error = 0;
	kernel->memcg_built = ANSWER_UNKNOWN;
	if (kernel->release || kernel->running) {
		r = kconfig_load(root, kernel->release, kernel->running, &kernel->kconfig,
				 &kernel->config);
		if (r == -ENOMEM)
			return r;
		if (r >= 0)
			kernel->memcg_built = kconfig_memcg_built(&kernel->kconfig, NULL);
		else if (kernel->config)
			kernel->config_error = r;
	}
	judge(kernel);
	return 0;
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
	static const char *const prefixes[] = { "/boot/vmlinuz-", "/boot/vmlinux-",
						"/boot/kernel-",  "/boot/Image-",
						"/boot/zImage-",  "/boot/image-" };
	_cleanup_kernels_ struct kernels kernels = {};
	int r = 0;

	if (running_release && !release_is_valid(running_release))
		running_release = NULL;
	for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(prefixes); i++)
		r = add_images(&kernels, root, prefixes[i]);
	if (r >= 0)
		r = add_modules(&kernels, root, "/usr/lib/modules");
	if (r >= 0 && !is_same_dir(root, "/lib/modules", "/usr/lib/modules"))
		r = add_modules(&kernels, root, "/lib/modules");
	if (r >= 0)
		r = add_unnamed(&kernels, root);
	if (r >= 0)
		r = add_configs(&kernels, root);
	if (r >= 0)
		r = add_running(&kernels, root, running_release);
	for (size_t i = 0; r >= 0 && i < kernels.n; i++)
		r = examine(&kernels.items[i], root);
	if (r < 0)
		return r;
	if (kernels.n > 0)
		qsort(kernels.items, kernels.n, sizeof(*kernels.items), compare_kernels);
	*ret = kernels;
	kernels = (struct kernels){};
	return 0;
}

/* --- asking more --- */

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

int kernel_ask_enable(const struct root *root, struct kernel *kernel,
		      struct kimage_cache *cache)
{
	enum answer answer = ANSWER_UNKNOWN;
	char *release = NULL;
	int r = -ENOENT;

	if (kernel->honours_enable != ANSWER_NOT_LOOKED)
		return 0;
	if (kernel->running)
		r = kimage_running_honours_enable(root, &answer);
	if ((r < 0 || answer == ANSWER_UNKNOWN) && r != -ENOMEM && kernel->image)
		r = kimage_honours_enable(root, kernel->image, cache, &answer, &release);
	if (r == -ENOMEM)
		return r;
	if (release && !kernel->release) {
		kernel->release = TAKE_PTR(release);
		r = examine(kernel, root);
		if (r < 0)
			return r;
	}
	free(release);
	kernel->honours_enable = answer;
	if (answer == ANSWER_NO)
		kernel->rules &= CMDLINE_MAINLINE;
	else if (answer == ANSWER_YES)
		kernel->rules &= CMDLINE_HONOURS;
	/* a kernel that has no such word is not off without one; the Pi's device tree may be */
	if (answer == ANSWER_NO && kernel->state_default == MEMCG_UNKNOWN && kernel->release &&
	    !may_be_raspberry(kernel->release))
		kernel->state_default = MEMCG_ON;
	return 0;
}

/* The rules and defaults that lead from the line to the state; false if none does. */
static bool fit(const struct kernel *kernel, bool any_default, const struct cmdline *cmdline,
		enum memcg_state state, unsigned *ret_rules, enum memcg_state *ret_default)
{
	static const enum memcg_state defaults[] = { MEMCG_ON, MEMCG_OFF };
	bool possible[ARRAY_SIZE(defaults)] = {};
	unsigned rules = 0;

	for (unsigned rule = CMDLINE_MAINLINE; rule <= CMDLINE_ENABLE_WINS; rule <<= 1)
		for (size_t i = 0; i < ARRAY_SIZE(defaults); i++) {
			if (!(kernel->rules & rule) ||
			    (!any_default && kernel->state_default != MEMCG_UNKNOWN &&
			     kernel->state_default != defaults[i]) ||
			    cmdline_predict(cmdline, rule, defaults[i], ANSWER_YES) != state)
				continue;
			rules |= rule;
			possible[i] = true;
		}
	*ret_rules = rules;
	*ret_default = possible[0] == possible[1] ? MEMCG_UNKNOWN
		       : possible[0]		  ? MEMCG_ON
						  : MEMCG_OFF;
	return rules != 0;
}

void kernel_learn(struct kernel *kernel, const struct cmdline *cmdline, enum memcg_state state)
{
	enum memcg_state state_default;
	unsigned rules;

	if (state != MEMCG_ON && state != MEMCG_OFF)
		return;
	kernel->memcg_built = ANSWER_YES;
	/* what was thought to be its default is thought no more if it cannot be */
	if (!fit(kernel, false, cmdline, state, &rules, &state_default) &&
	    !fit(kernel, true, cmdline, state, &rules, &state_default))
		return;
	kernel->rules = rules;
	kernel->state_default = state_default;
	if (!(rules & CMDLINE_MAINLINE))
		kernel->honours_enable = ANSWER_YES;
	else if (rules == CMDLINE_MAINLINE)
		kernel->honours_enable = ANSWER_NO;
}

int kernel_predict(const struct kernel *kernel, const struct cmdline *cmdline,
		   enum memcg_state *ret)
{
	enum kconfig_builtin builtin = kconfig_builtin(&kernel->kconfig);
	const char *own = kernel->kconfig.cmdline;
	_cleanup_cmdline_ struct cmdline whole = {};
	_cleanup_strbuf_ struct strbuf buf = {};
	int r;

	if (builtin == KCONFIG_BUILTIN_BEFORE)
		strbuf_addf(&buf, "%s ", own);
	if (builtin != KCONFIG_BUILTIN_REPLACES)
		strbuf_add(&buf, cmdline->text, cmdline->size);
	if (builtin == KCONFIG_BUILTIN_BEHIND)
		strbuf_addf(&buf, " %s", own);
	if (builtin == KCONFIG_BUILTIN_REPLACES)
		strbuf_adds(&buf, own ? own : "");
	if (buf.failed)
		return -ENOMEM;
	r = cmdline_parse(buf.data, buf.len, CMDLINE_LINE, &whole);
	if (r < 0)
		return r;
	*ret = cmdline_predict(&whole, kernel->rules, kernel->state_default,
			       kernel->memcg_built);
	return 0;
}
