/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot/origin.h"

#include "base/root.h"
#include "base/str.h"
#include "facts/facts.h"

#include <stdio.h>

enum { MAX_SMALL = 4096 };

#define BOOTCONFIG "/proc/bootconfig"
#define BOOTARGS   "/proc/device-tree/chosen/bootargs"

const char *origin_kind_to_string(enum origin_kind kind)
{
	static const char *const names[_ORIGIN_MAX] = {
		[ORIGIN_ENTRY] = "entry",
		[ORIGIN_DEFAULTS] = "defaults",
		[ORIGIN_BOOTCONFIG] = "bootconfig",
		[ORIGIN_BUILT_IN] = "built-in",
		[ORIGIN_DEVICE_TREE] = "device-tree",
		[ORIGIN_UNKNOWN] = "unknown",
	};

	return names[kind];
}

const char *origin_text(const struct origin *origin)
{
	switch (origin->kind) {
	case ORIGIN_ENTRY:
		return "in a boot entry";
	case ORIGIN_DEFAULTS:
		return "in the boot loader's defaults, and in no entry now";
	case ORIGIN_BOOTCONFIG:
		return "from the bootconfig in the initrd or in the kernel";
	case ORIGIN_BUILT_IN:
		return "built into the kernel (CONFIG_CMDLINE)";
	case ORIGIN_DEVICE_TREE:
		return "from the device tree, or added to it by the firmware";
	case ORIGIN_UNKNOWN:
		switch (origin->changed) {
		case ANSWER_NO:
			return "typed at the boot menu or added by the loader: no file that "
			       "was read has it";
		case ANSWER_YES:
			return "in none of the boot entries, which were written after this "
			       "kernel booted: from them as they were, typed at the boot "
			       "menu or added by the loader";
		default:
			return "typed at the boot menu, added by the loader, or from an "
			       "earlier configuration: no file that was read has it";
		}
	default:
		return NULL;
	}
}

void origin_done(struct origin *origin)
{
	free(origin->path);
	*origin = (struct origin){};
}

static int set(struct origin *origin, enum origin_kind kind, const char *path, unsigned line)
{
	origin->kind = kind;
	origin->line = line;
	if (!path)
		return 0;
	origin->path = strdup(path);
	return origin->path ? 0 : -ENOMEM;
}

/* --- the entry --- */

static bool words_equal(const struct cmdline *a, size_t i, const struct cmdline *b, size_t k)
{
	return a->words[i].size == b->words[k].size &&
	       memcmp(a->text + a->words[i].offset, b->text + b->words[k].offset,
		      a->words[i].size) == 0;
}

/*
 * Whether a line has all words of an entry in their order. Others may stand before, between and
 * behind them: loader, firmware and kernel add some. *ret_extra says how many.
 */
static bool has_words_of(const struct cmdline *line, const struct cmdline *entry,
			 size_t *ret_extra)
{
	size_t k = 0;

	for (size_t i = 0; i < line->n && k < entry->n; i++)
		k += words_equal(line, i, entry, k);
	*ret_extra = line->n - entry->n;
	return entry->n > 0 && k == entry->n;
}

/* "BOOT_IMAGE=(hd0,gpt2)/vmlinuz-6.1" against "/boot/vmlinuz-6.1": the file's name. False only
 * where the line names another kernel. */
static bool may_be_image(const struct cmdline *line, const char *image)
{
	ssize_t word = cmdline_find(line, "BOOT_IMAGE");
	const char *slash = image ? strrchr(image, '/') : NULL;
	const struct cmdline_word *w;
	size_t n;

	if (word < 0 || !image)
		return true;
	w = &line->words[word];
	image = slash ? slash + 1 : image;
	n = strlen(image);
	return w->value_size >= n &&
	       memcmp(line->text + w->value_offset + w->value_size - n, image, n) == 0;
}

/* The entry that explains most of the line; of equals the default one, then the first. */
static int find_booted(const struct running *running, const struct boot_state *state,
		       struct origin *origin)
{
	size_t best = SIZE_MAX;

	for (size_t i = 0; i < state->entries.n; i++) {
		const struct boot_entry *entry = &state->entries.items[i];
		const char *args = entry->args ? entry->args : "";
		_cleanup_cmdline_ struct cmdline words = {};
		size_t extra;
		int r = cmdline_parse(args, strlen(args), CMDLINE_LINE, &words);

		if (r < 0)
			return r;
		if (entry->foreign || !may_be_image(&running->cmdline, entry->image) ||
		    !has_words_of(&running->cmdline, &words, &extra))
			continue;
		if (extra < best || (extra == best && entry->is_default)) {
			origin->booted = entry;
			best = extra;
		}
	}
	return 0;
}

/* The last place of the word, as it is spelt, in an entry's line: 1, or 0 when it is not there.
 */
static int entry_has(const struct boot_entry *entry, const char *token, size_t *ret_offset)
{
	_cleanup_cmdline_ struct cmdline words = {};
	const char *args = entry->args ? entry->args : "";
	int r = cmdline_parse(args, strlen(args), CMDLINE_LINE, &words);

	for (size_t i = 0; i < words.n; i++)
		if (words.words[i].size == strlen(token) &&
		    memcmp(args + words.words[i].offset, token, strlen(token)) == 0) {
			*ret_offset = words.words[i].offset;
			r = 1;
		}
	return r;
}

/* The first entry of this system that has the word; the one that booted is asked alone. */
static int find_entry(const struct boot_state *state, const char *token,
		      const struct boot_entry *only, struct origin *origin)
{
	for (size_t i = 0; i < state->entries.n && origin->kind == ORIGIN_NONE; i++) {
		const struct boot_entry *entry = &state->entries.items[i];
		size_t at = 0;
		int r;

		if (entry->foreign || (only && entry != only))
			continue;
		r = entry_has(entry, token, &at);
		if (r > 0)
			r = at < entry->tree_size
				    ? set(origin, ORIGIN_DEVICE_TREE, BOOTARGS, 0)
				    : set(origin, ORIGIN_ENTRY, entry->source, entry->line);
		if (r < 0)
			return r;
	}
	return 0;
}

/* --- what stands before and behind the loader's line --- */

/* "kernel.cgroup_disable = "memory"": the line, or 0. The kernel shows one key a line. */
static unsigned line_in_bootconfig(const char *text, enum cmdline_request request)
{
	const char *verb = request == CMDLINE_OFF ? "disable" : "enable";
	unsigned number = 1;

	for (const char *line = text; *line; number++) {
		size_t n = strcspn(line, "\n");
		const char *key = str_skip_prefix(line, "kernel.cgroup");
		const char *value = memchr(line, '=', n);

		if (key && value && (*key == '_' || *key == '-') &&
		    str_skip_prefix(key + 1, verb) &&
		    memmem(value, n - (size_t)(value - line), "memory", 6))
			return number;
		line += n + (line[n] == '\n');
	}
	return 0;
}

static int find_in_bootconfig(const struct root *root, const struct running *running,
			      struct origin *origin)
{
	_cleanup_free_ char *text = NULL;
	unsigned line;
	int r = root_read(root, BOOTCONFIG, ROOT_MAX_CMDLINE, &text, NULL);

	if (r < 0)
		return r == -ENOMEM ? r : 0;
	line = line_in_bootconfig(text, running->request);
	return line > 0 ? set(origin, ORIGIN_BOOTCONFIG, BOOTCONFIG, line) : 0;
}

static int find_built_in(const struct kernel *kernel, const struct running *running,
			 struct origin *origin)
{
	_cleanup_cmdline_ struct cmdline own = {};
	const char *text = kernel ? kernel->kconfig.cmdline : NULL;
	int r;

	if (!text || kconfig_builtin(&kernel->kconfig) == KCONFIG_BUILTIN_NONE)
		return 0;
	r = cmdline_parse(text, strlen(text), CMDLINE_LINE, &own);
	if (r < 0 || cmdline_find_request(&own, running->request) < 0)
		return r;
	return set(origin, ORIGIN_BUILT_IN, kernel->config,
		   kernel->kconfig.lines[KCONFIG_CMDLINE]);
}

/*
 * On a Raspberry Pi the firmware is the loader and merges what its trees have with cmdline.txt:
 * what was not in that file is the firmware's. Everywhere else chosen/bootargs is the loader's
 * whole line (U-Boot's, or by EFI's stub), which tells nothing.
 */
static int find_in_device_tree(const struct root *root, const struct running *running,
			       struct origin *origin)
{
	_cleanup_free_ char *text = NULL, *model = NULL;
	_cleanup_cmdline_ struct cmdline line = {};
	size_t size;
	int r = root_read(root, "/proc/device-tree/model", MAX_SMALL, &model, NULL);

	if (r == -ENOMEM)
		return r;
	if (r < 0 || !str_skip_prefix(model, "Raspberry Pi") || origin->changed == ANSWER_YES ||
	    root_exists(root, "/sys/firmware/efi"))
		return 0;
	r = root_read(root, BOOTARGS, ROOT_MAX_CMDLINE, &text, &size);
	if (r >= 0)
		r = cmdline_parse(text, size, CMDLINE_LINE, &line);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	return cmdline_find_request(&line, running->request) >= 0
		       ? set(origin, ORIGIN_DEVICE_TREE, BOOTARGS, 0)
		       : 0;
}

/* --- kexec, and when --- */

/*
 * x86 kernels say who loaded them: 0xd in the upper bits is kexec (Documentation/arch/x86/
 * boot.rst, type_of_loader). On device-tree machines the loading kernel leaves a property.
 */
static enum answer find_kexec(const struct root *root)
{
	_cleanup_free_ char *text = NULL;
	unsigned type;

	if (root_exists(root, "/proc/device-tree/chosen/linux,booted-from-kexec"))
		return ANSWER_YES;
	if (root_read(root, "/proc/sys/kernel/bootloader_type", MAX_SMALL, &text, NULL) < 0)
		return ANSWER_UNKNOWN;
	text[strcspn(text, "\n")] = '\0';
	if (str_parse_uint(text, &type) < 0 || type == 0)
		return ANSWER_UNKNOWN;
	return type >> 4 == 0xd ? ANSWER_YES : ANSWER_NO;
}

/* Seconds since the epoch at which this kernel booted, or 0. A soft-reboot does not move it. */
static time_t boot_time(const struct root *root)
{
	_cleanup_free_ char *text = NULL;
	const char *at;
	long long when;

	if (root_read(root, "/proc/stat", ROOT_MAX_PROC, &text, NULL) < 0)
		return 0;
	at = strstr(text, "\nbtime ");
	return at && sscanf(at + 7, "%lld", &when) == 1 ? (time_t)when : 0;
}

/* By the files the entries are in. Copying a captured machine makes them new, so only live. */
static enum answer find_changed(const struct root *root, const struct boot_state *state)
{
	enum answer answer = ANSWER_UNKNOWN;
	const char *last = NULL;
	time_t booted;

	if (root_mode(root) != ROOT_LIVE)
		return ANSWER_UNKNOWN;
	booted = boot_time(root);
	for (size_t i = 0; booted > 0 && i < state->entries.n; i++) {
		const char *source = state->entries.items[i].source;
		struct stat st;

		if (!source || streq_ptr(source, last) || root_stat(root, source, &st) < 0)
			continue;
		if (st.st_mtime >= booted)
			return ANSWER_YES;
		answer = ANSWER_NO;
		last = source;
	}
	return answer;
}

int origin_find(const struct boot *boot, const struct boot_state *state,
		const struct facts *facts, struct origin *ret)
{
	const struct running *running = &facts->running;
	struct origin origin = {};
	int r;

	if (!running->cmdline_text)
		return 0;
	origin.kexec = find_kexec(boot->root);
	origin.changed = find_changed(boot->root, state);
	r = find_booted(running, state, &origin);
	if (r >= 0 && running->token) {
		/* the entry that booted, or any where none is known to have; in between what is
		 * beside the loader's line */
		if (origin.booted)
			r = find_entry(state, running->token, origin.booted, &origin);
		if (r >= 0 && origin.kind == ORIGIN_NONE)
			r = find_in_bootconfig(boot->root, running, &origin);
		if (r >= 0 && origin.kind == ORIGIN_NONE)
			r = find_built_in(kernels_find_running(&facts->kernels), running,
					  &origin);
		if (r >= 0 && origin.kind == ORIGIN_NONE && !origin.booted)
			r = find_entry(state, running->token, NULL, &origin);
		if (r >= 0 && origin.kind == ORIGIN_NONE)
			r = find_in_device_tree(boot->root, running, &origin);
		if (r >= 0 && origin.kind == ORIGIN_NONE &&
		    state->configured == running->request && state->configured_path)
			r = set(&origin, ORIGIN_DEFAULTS, state->configured_path,
				state->configured_line);
		if (r >= 0 && origin.kind == ORIGIN_NONE)
			origin.kind = ORIGIN_UNKNOWN;
	}
	if (r < 0) {
		origin_done(&origin);
		return r;
	}
	*ret = origin;
	return 0;
}
