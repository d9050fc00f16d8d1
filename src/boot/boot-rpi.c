/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Raspberry Pi: the firmware loads kernel and device tree itself and passes chosen/bootargs of
 * the tree, words of its own, and then the first line of cmdline.txt. Since the end of 2024 the
 * tree's bootargs hold cgroup_disable=memory, so that "on" needs cgroup_enable=memory behind
 * it, which not every kernel honours. Ubuntu since 25.10 keeps current/, new/ and old/ ("A/B
 * boot"): flash-kernel makes new/cmdline.txt of current/cmdline.txt, and the next boot tries
 * new/ when new/state says "unknown".
 */

#include "base/diag.h"
#include "boot/formats.h"
#include "boot/image.h"
#include "boot/rpi-config.h"
#include "boot/text.h"
#include "facts/kernels.h"

static const struct text_kind kind = {
	.find = format_find_first_line,
	.max = ROOT_MAX_CMDLINE,
	.flags = ATOMIC_BOOT,
};

/* --- what there is --- */

static bool any(const struct root *root, const char *dir, const char *pattern)
{
	_cleanup_strv_ struct strv found = {};
	_cleanup_free_ char *path = NULL;

	return str_printf(&path, "%s/%s", dir, pattern) >= 0 &&
	       root_glob(root, path, 1, &found) != -ENOMEM && found.n > 0;
}

/* The boot partition: NULL when it is not there, or not mounted. */
static const char *boot_dir(const struct root *root)
{
	/* Raspberry Pi OS since 12, Ubuntu and Debian; before; Alpine */
	static const char *const dirs[] = { "/boot/firmware", "/boot", "/media/mmcblk0p1" };

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		if (any(root, dirs[i], "config.txt"))
			return dirs[i];
		if (!any(root, dirs[i], "cmdline.txt"))
			continue;
		/* /boot/cmdline.txt alone may be a leftover, or a note not to edit it */
		if (i == 0 || any(root, dirs[i], "start*.elf") ||
		    any(root, dirs[i], "bootcode.bin") || any(root, dirs[i], "bcm2*.dtb"))
			return dirs[i];
	}
	return NULL;
}

/* "Raspberry Pi 4 Model B Rev 1.4" of the board we run on, or NULL. */
static char *board(const struct root *root)
{
	char *model;

	return root_read(root, "/proc/device-tree/model", 256, &model, NULL) < 0 ? NULL : model;
}

struct rpi {
	const char *dir;
	char *model;
	struct rpi_config config;
	char *tree_args; /* what the device trees add, "" for nothing; NULL: they differ */
	char *next;	 /* cmdline.txt of a slot that the next boot tries first, or NULL */
};

static void rpi_done(struct rpi *rpi)
{
	free(rpi->model);
	rpi_config_done(&rpi->config);
	free(rpi->tree_args);
	free(rpi->next);
}

/* Which trees are for this board, as far as that is known. */
static bool is_for_board(const char *path, const char *model)
{
	const char *name = strrchr(path, '/') + 1;

	if (!model)
		return true;
	if (strstr(model, "Pi 5") || strstr(model, "Module 5"))
		return str_skip_prefix(name, "bcm2712");
	if (strstr(model, "Pi 4") || strstr(model, "Module 4"))
		return str_skip_prefix(name, "bcm2711");
	return !str_skip_prefix(name, "bcm2711") && !str_skip_prefix(name, "bcm2712");
}

/* What chosen/bootargs of the trees ask for; NULL in *ret when that is not the same in all. */
static int read_trees(const struct root *root, struct rpi *rpi)
{
	_cleanup_free_ char *pattern = NULL, *args = NULL;
	_cleanup_strv_ struct strv paths = {};
	enum cmdline_request first = CMDLINE_NOT_LOOKED;
	const char *prefix = rpi->config.prefix;
	int r;

	if (strpbrk(prefix, "*?[\\"))
		return 0;
	r = str_printf(&pattern, "%s/%s%s", rpi->dir, prefix, "bcm2*.dtb");
	if (r >= 0)
		r = root_glob(root, pattern, 200, &paths);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	for (size_t i = 0; i < paths.n; i++) {
		_cleanup_free_ char *tree = NULL, *text = NULL;
		enum cmdline_request request;
		size_t size;

		if (!is_for_board(paths.items[i], rpi->model))
			continue;
		r = root_read(root, paths.items[i], IMAGE_MAX_DTB, &tree, &size);
		if (r >= 0)
			r = image_dtb_bootargs(tree, size, &text);
		if (r == -ENOMEM)
			return r;
		if (r < 0 && r != -ENOENT)
			continue; /* no tree, and the firmware will not take it */
		r = text_request(text ? text : "", &request, NULL);
		if (r < 0)
			return r;
		if (first != CMDLINE_NOT_LOOKED && request != first)
			return 0;
		if (first == CMDLINE_NOT_LOOKED)
			args = TAKE_PTR(text);
		first = request;
	}
	rpi->tree_args = args ? TAKE_PTR(args) : strdup("");
	return rpi->tree_args ? 0 : -ENOMEM;
}

/* Ubuntu: the slot that was written and not yet booted. */
static int find_next_slot(const struct root *root, struct rpi *rpi)
{
	_cleanup_free_ char *path = NULL, *state = NULL, *next = NULL;
	int r;

	if (!streq(rpi->config.prefix, "current/"))
		return 0;
	if (str_printf(&path, "%s/new/state", rpi->dir) < 0 ||
	    str_printf(&next, "%s/new/cmdline.txt", rpi->dir) < 0)
		return -ENOMEM;
	r = root_read(root, path, 256, &state, NULL);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	if (str_skip_prefix(state, "unknown") && root_exists(root, next))
		rpi->next = TAKE_PTR(next);
	return 0;
}

static int load(const struct root *root, struct rpi *ret, struct diag *diag)
{
	_cleanup_(rpi_done) struct rpi rpi = { .dir = boot_dir(root), .model = board(root) };
	int r = 0;

	if (!rpi.dir) {
		diag_error(diag, &(struct diag_where){ .hint = "mount /boot/firmware" },
			   "the boot partition of this Raspberry Pi is not mounted");
		return -ENOTSUP;
	}
	r = rpi_config_load(root, rpi.dir, rpi.model, &rpi.config);
	if (r == -ENOMEM)
		return r;
	if (!rpi.config.cmdline_path) {
		diag_error(diag,
			   &(struct diag_where){
				   .path = rpi.config.why_path,
				   .line = rpi.config.why_line,
			   },
			   "which file the firmware takes the command line from cannot be "
			   "told: %s",
			   rpi.config.why ? rpi.config.why : strerror(-r));
		return -ENOTSUP;
	}
	r = read_trees(root, &rpi);
	if (r >= 0)
		r = find_next_slot(root, &rpi);
	if (r < 0)
		return r;
	*ret = rpi;
	rpi = (struct rpi){};
	return 0;
}

static int probe(const struct root *root, struct diag *diag _unused_)
{
	_cleanup_free_ char *model = NULL;
	const char *dir = boot_dir(root);
	_cleanup_rpi_config_ struct rpi_config config = {};
	int r;

	if (!dir) {
		model = board(root);
		return model && str_skip_prefix(model, "Raspberry Pi") &&
		       !root_exists(root, "/boot/grub/grub.cfg") &&
		       !root_exists(root, "/boot/extlinux/extlinux.conf");
	}
	/* a second loader takes its own command line */
	r = rpi_config_load(root, dir, NULL, &config);
	if (r == -ENOMEM)
		return r;
	return !config.kernel.value ||
	       (!strstr(config.kernel.value, "u-boot") &&
		!strstr(config.kernel.value, "uboot") && !strstr(config.kernel.value, ".efi") &&
		!strstr(config.kernel.value, ".fd"));
}

/* --- reading --- */

/* Warns of what people put on further lines. */
static int warn_more_lines(const char *path, const char *text, size_t size, struct diag *diag)
{
	_cleanup_cmdline_ struct cmdline cmdline = {};
	int r = cmdline_parse(text, size, CMDLINE_FILE, &cmdline);

	if (r < 0)
		return r;
	if (cmdline.n_more_lines > 0)
		diag_warning(diag,
			     &(struct diag_where){
				     .path = path,
				     .line = cmdline.more_lines[0],
				     .hint = "join the lines into one, or delete what is "
					     "not needed",
			     },
			     "the firmware takes the first line only: what stands here has "
			     "no effect");
	return (int)cmdline.n_more_lines;
}

static int add_entry(const struct boot *boot, const struct rpi *rpi, const char *path,
		     bool is_default, struct boot_state *state, struct diag *diag)
{
	_cleanup_content_ struct content text = {};
	_cleanup_lines_ struct lines lines = {};
	_cleanup_free_ char *line = NULL, *image = NULL;
	const char *kernel = rpi->config.kernel.value;
	const struct kernel *known;
	struct boot_entry *entry;
	int r = content_read(boot->root, path, kind.max, &text);

	if (r < 0 || !text.data) {
		if (r != -ENOMEM)
			diag_error(diag, &(struct diag_where){ .path = path },
				   "the firmware reads this file, and it %s",
				   r < 0 ? "cannot be read" : "is missing");
		return r < 0 ? r : -ENOTSUP;
	}
	r = warn_more_lines(path, text.data, text.size, diag);
	if (r >= 0)
		r = kind.find(text.data, text.size, path, &lines, diag);
	if (r >= 0)
		r = lines_join(text.data, &lines, 0, &line);
	if (r < 0)
		return r;
	entry = boot_entries_add(&state->entries);
	if (!entry)
		return -ENOMEM;
	r = str_printf(&entry->args, "%s%s%s", rpi->tree_args ? rpi->tree_args : "",
		       rpi->tree_args && *rpi->tree_args ? " " : "", line);
	entry->id = strdup(path + strlen(rpi->dir) + 1);
	entry->title = strdup("Raspberry Pi firmware");
	entry->source = strdup(path);
	if (r < 0 || !entry->id || !entry->title || !entry->source)
		return -ENOMEM;
	entry->tree_size = strlen(entry->args) - strlen(line);
	entry->line = 1;
	entry->is_default = is_default;
	entry->ours = true;
	if (!kernel)
		return 0;
	if (str_printf(&image, "%s/%s%s", rpi->dir, rpi->config.prefix, kernel) < 0)
		return -ENOMEM;
	known = boot->kernels ? kernels_find_image(boot->kernels, boot->root, image) : NULL;
	if (known && known->release && !(entry->kernel = strdup(known->release)))
		return -ENOMEM;
	entry->image = TAKE_PTR(image);
	return 0;
}

static int read_state(const struct boot *boot, struct boot_state *ret, struct diag *diag)
{
	_cleanup_(rpi_done) struct rpi rpi = {};
	_cleanup_boot_state_ struct boot_state state = {};
	_cleanup_diag_ struct diag errors = {};
	_cleanup_content_ struct content text = {};
	_cleanup_lines_ struct lines lines = {};
	_cleanup_free_ char *line = NULL;
	int r = load(boot->root, &rpi, &errors);

	if (r == -ENOTSUP) {
		/* plan() says it as an error */
		for (size_t i = 0; i < errors.n; i++)
			diag_warning(diag,
				     &(struct diag_where){
					     .path = errors.messages[i].path,
					     .line = errors.messages[i].line,
					     .hint = errors.messages[i].hint,
				     },
				     "%s", errors.messages[i].text);
		return 0;
	}
	if (r < 0)
		return r;
	r = add_entry(boot, &rpi, rpi.config.cmdline_path, !rpi.next, &state, diag);
	if (r >= 0 && rpi.next)
		r = add_entry(boot, &rpi, rpi.next, true, &state, diag);
	if (r >= 0)
		r = content_read(boot->root, rpi.config.cmdline_path, kind.max, &text);
	if (r >= 0)
		r = kind.find(text.data, text.size, rpi.config.cmdline_path, &lines, diag);
	if (r >= 0)
		r = lines_join(text.data, &lines, 0, &line);
	if (r >= 0)
		r = text_request(line, &state.configured, NULL);
	if (r < 0)
		return r;
	if (state.configured != CMDLINE_NONE) {
		state.configured_line = 1;
		state.configured_path = TAKE_PTR(rpi.config.cmdline_path);
	}
	state.entries_known = true;
	*ret = state;
	state = (struct boot_state){};
	return 0;
}

/* --- changing --- */

/* Whether every kernel that this Pi may boot honours cgroup_enable=: dear. */
static int honours_enable(const struct boot *boot, enum answer *ret)
{
	enum answer answer = ANSWER_NOT_LOOKED;

	for (size_t i = 0; boot->kernels && i < boot->kernels->n; i++) {
		struct kernel *kernel = &boot->kernels->items[i];
		int r;

		if (!kernel->image)
			continue;
		r = kernel_ask_enable(boot->root, kernel, NULL);
		if (r == -ENOMEM)
			return r;
		if (kernel->honours_enable == ANSWER_NO)
			answer = ANSWER_NO;
		else if (kernel->honours_enable != ANSWER_YES && answer != ANSWER_NO)
			answer = ANSWER_UNKNOWN;
		else if (answer == ANSWER_NOT_LOOKED)
			answer = ANSWER_YES;
	}
	*ret = answer;
	return 0;
}

/* What "on" needs here beyond what the kernels alone need. */
static int words_for_on(const struct boot *boot, const struct rpi *rpi, unsigned *flags,
			struct diag *diag)
{
	enum cmdline_request tree = CMDLINE_NONE;
	enum answer honours;
	int r = 0;

	if (rpi->tree_args)
		r = text_request(rpi->tree_args, &tree, NULL);
	if (r >= 0)
		r = honours_enable(boot, &honours);
	if (r < 0)
		return r;
	/* a Pi kernel that nothing is known of: its own default is off, and the word is
	 * harmless where it is not */
	if (honours == ANSWER_NOT_LOOKED || honours == ANSWER_UNKNOWN || !rpi->tree_args)
		*flags |= CMDLINE_WRITE_ENABLE;
	if (tree != CMDLINE_OFF)
		return 0;
	if (honours == ANSWER_NO) {
		diag_error(diag,
			   &(struct diag_where){
				   .path = rpi->dir,
				   .hint = "install a kernel of Raspberry Pi OS that is newer "
					   "than December 2024",
			   },
			   "the device tree here says cgroup_disable=memory, and a kernel "
			   "here does not honour cgroup_enable=: no command line can turn "
			   "memcg on");
		return -ENOTSUP;
	}
	*flags |= CMDLINE_WRITE_ENABLE;
	if (honours != ANSWER_YES)
		diag_warning(diag,
			     &(struct diag_where){
				     .path = rpi->dir,
				     .hint = "after the reboot: memcg-policy check",
			     },
			     "the device tree here says cgroup_disable=memory; whether the "
			     "kernel honours the cgroup_enable=memory behind it cannot be "
			     "told from its image");
	return 0;
}

/* Things that make it unsafe to touch the file now. */
static int check_file(const struct boot *boot, const char *path, struct diag *diag)
{
	_cleanup_content_ struct content text = {};
	_cleanup_cmdline_ struct cmdline cmdline = {};
	int r = content_read(boot->root, path, kind.max, &text);

	if (r < 0 || !text.data) {
		diag_error(diag, &(struct diag_where){ .path = path },
			   "the firmware reads this file, and it %s",
			   r < 0 ? strerror(-r) : "is missing");
		return r < 0 ? r : -ENOTSUP;
	}
	r = cmdline_parse(text.data, text.size, CMDLINE_FILE, &cmdline);
	if (r < 0)
		return r;
	if (cmdline.n_more_lines > 0) {
		diag_error(diag,
			   &(struct diag_where){
				   .path = path,
				   .line = cmdline.more_lines[0],
				   .hint = "join the lines into one, or delete what is not "
					   "needed",
			   },
			   "this file must hold one line: the firmware does not read this "
			   "one, and which words are meant cannot be told");
		return -EPERM;
	}
	/* the first boot of an imager's card cuts the line off there */
	if (cmdline_find(&cmdline, "systemd.run") >= 0) {
		diag_error(diag,
			   &(struct diag_where){
				   .path = path,
				   .line = 1,
				   .hint = "boot it once, then run this again",
			   },
			   "the first boot is still to come, and will delete what stands "
			   "behind systemd.run= in this line");
		return -EPERM;
	}
	return 0;
}

static int plan(const struct boot *boot, const struct boot_state *state _unused_,
		const struct boot_words *words, struct changeset *cs, struct diag *diag)
{
	_cleanup_(rpi_done) struct rpi rpi = {};
	struct boot_words here = *words;
	int r;

	if (words->want == BOOT_WANT_NOTHING)
		return 0;
	r = load(boot->root, &rpi, diag);
	if (r >= 0)
		r = check_file(boot, rpi.config.cmdline_path, diag);
	if (r >= 0 && words->want == BOOT_WANT_ON)
		r = words_for_on(boot, &rpi, &here.flags, diag);
	if (r >= 0)
		r = text_plan(boot, &kind, rpi.config.cmdline_path, &here, cs, diag);
	if (r >= 0 && rpi.next)
		r = text_plan(boot, &kind, rpi.next, &here, cs, diag);
	return r < 0 ? r : text_plan_verify(boot, NULL, words, cs->n > 0, cs);
}

static int take_back(const struct boot *boot _unused_, const char *path,
		     const struct content *before, const struct content *written,
		     const struct content *now, struct content *ret, struct diag *diag)
{
	return text_take_back(&kind, path, before, written, now, ret, diag);
}

const struct boot_backend boot_rpi = {
	.name = "rpi",
	.title = "Raspberry Pi firmware (cmdline.txt)",
	.sign = "config.txt or cmdline.txt of the firmware",
	.by = BOOT_BY_OTHER,
	.tried = BOOT_TRIED_FIXTURES,
	.probe = probe,
	.read = read_state,
	.plan = plan,
	.plan_refresh = text_plan_verify,
	.refresh = text_no_refresh,
	.verify = text_verify,
	.take_back = take_back,
};
