/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot/kernel-cmdline.h"

#include "base/diag.h"
#include "boot/formats.h"
#include "boot/text.h"

static const struct text_kind kind = {
	.find = format_find_all_lines,
	.max = ROOT_MAX_CMDLINE,
	.key = "",
};

/* --- making it --- */

/* Words that belong to one boot, one entry or one kernel. */
static bool is_of_one_entry(const struct cmdline *cmdline, size_t word)
{
	static const char *const names[] = { "BOOT_IMAGE", "initrd", "systemd.machine_id" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (cmdline_name_is(cmdline, word, names[i]))
			return true;
	return false;
}

/* Whether the line says where the root file system is. */
static bool finds_root(const struct cmdline *cmdline)
{
	static const char *const names[] = { "root", "ostree", "mount.usr", "roothash",
					     "systemd.verity_root_data" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (cmdline_find(cmdline, names[i]) >= 0)
			return true;
	return false;
}

/* The line of an entry without what is its own; NULL in *ret when it cannot serve. */
static int entry_seed(const struct boot_entry *entry, char **ret)
{
	_cleanup_cmdline_ struct cmdline cmdline = {};
	_cleanup_strbuf_ struct strbuf out = {};
	int r;

	if (!entry->args || strchr(entry->args, '$'))
		return 0;
	r = cmdline_parse(entry->args, strlen(entry->args), CMDLINE_LINE, &cmdline);
	if (r < 0)
		return r;
	if (!finds_root(&cmdline))
		return 0;
	for (size_t i = 0; i < cmdline.n; i++) {
		const struct cmdline_word *word = &cmdline.words[i];

		if (is_of_one_entry(&cmdline, i))
			continue;
		strbuf_adds(&out, out.len > 0 ? " " : "");
		strbuf_add(&out, entry->args + word->offset, word->size);
	}
	strbuf_addc(&out, '\n');
	return strbuf_take(&out, ret, NULL);
}

/* What all entries of ours have in common, if that is everything; else NULL. */
static int common_seed(const struct boot_state *state, char **ret)
{
	_cleanup_free_ char *common = NULL;

	for (size_t i = 0; i < state->entries.n; i++) {
		_cleanup_free_ char *seed = NULL;
		int r;

		if (!state->entries.items[i].ours)
			continue;
		r = entry_seed(&state->entries.items[i], &seed);
		if (r < 0)
			return r;
		if (!seed || (common && !streq(common, seed)))
			return 0;
		if (!common)
			common = TAKE_PTR(seed);
	}
	*ret = TAKE_PTR(common);
	return 0;
}

static void say_later_kernels(const struct boot *boot, struct diag *diag)
{
	diag_notice(
		diag,
		&(struct diag_where){ .path = KERNEL_CMDLINE, .hint = "memcg-policy apply" },
		"is missing%s: kernels installed later take the command line of the system "
		"that runs then; after that, run this again",
		root_mode(boot->root) == ROOT_LIVE
			? ", and what it should hold cannot be told from the entries"
			: " and is not made for a system that does not run");
}

/* Whether kernels installed later would be other than wanted without the file. */
static int is_needed(const struct boot *boot, const struct boot_words *words, bool *ret)
{
	_cleanup_free_ char *running = NULL;
	enum cmdline_request request = CMDLINE_NONE;
	int r;

	*ret = true;
	if (words->want == BOOT_WANT_OFF || words->flags & CMDLINE_WRITE_ENABLE)
		return 0;
	r = root_read(boot->root, "/proc/cmdline", kind.max, &running, NULL);
	if (r >= 0)
		r = text_request(running, &request, NULL);
	*ret = request == CMDLINE_OFF;
	return r == -ENOMEM ? r : 0;
}

static int plan_new(const struct boot *boot, const struct boot_state *state,
		    const struct boot_words *words, struct changeset *cs, struct diag *diag)
{
	enum memcg_state want = words->want == BOOT_WANT_ON ? MEMCG_ON : MEMCG_OFF;
	_cleanup_free_ char *seed = NULL, *text = NULL;
	bool needed;
	size_t size;
	int r = is_needed(boot, words, &needed);

	if (r < 0)
		return r;
	r = root_read(boot->root, KERNEL_CMDLINE_VENDOR, kind.max, &seed, NULL);
	if (r == -ENOENT && !needed)
		return 0;
	if (r == -ENOENT)
		r = root_mode(boot->root) == ROOT_LIVE ? common_seed(state, &seed) : 0;
	if (r < 0)
		return r;
	if (!seed) {
		say_later_kernels(boot, diag);
		return 0;
	}
	r = cmdline_edit(seed, strlen(seed), CMDLINE_LINE, want, words->flags, &text, &size,
			 NULL);
	if (r == -EINVAL) {
		say_later_kernels(boot, diag);
		return 0;
	}
	/* the vendor's says it already */
	if (r < 0 || (r == 0 && root_exists(boot->root, KERNEL_CMDLINE_VENDOR)))
		return r;
	r = changeset_edit(cs, boot->root, KERNEL_CMDLINE, kind.max, text, size, 0644, 0, diag);
	return r < 0 ? r : 1;
}

int kernel_cmdline_plan(const struct boot *boot, const struct boot_state *state,
			const struct boot_words *words, unsigned flags, struct changeset *cs,
			struct diag *diag)
{
	struct text_kind here = kind;
	int r;

	if (words->want == BOOT_WANT_NOTHING)
		return 0;
	here.flags = flags;
	r = text_plan(boot, &here, KERNEL_CMDLINE, words, cs, diag);
	if (r == -ENOENT)
		r = plan_new(boot, state, words, cs, diag);
	return r;
}

int kernel_cmdline_read(const struct boot *boot, struct boot_state *state, struct diag *diag)
{
	static const char *const paths[] = { KERNEL_CMDLINE, KERNEL_CMDLINE_VENDOR };

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		_cleanup_free_ char *text = NULL, *line = NULL;
		_cleanup_lines_ struct lines lines = {};
		size_t size;
		int r = root_read(boot->root, paths[i], kind.max, &text, &size);

		if (r == -ENOENT)
			continue;
		if (r >= 0)
			r = kind.find(text, size, paths[i], &lines, diag);
		if (r >= 0)
			r = lines_join(text, &lines, 0, &line);
		if (r >= 0)
			r = text_request(line, &state->configured, NULL);
		if (r == -ENOMEM)
			return r;
		if (r < 0) {
			diag_warning(diag, &(struct diag_where){ .path = paths[i] }, "%s",
				     strerror(-r));
			return 0;
		}
		if (state->configured == CMDLINE_NONE)
			return 0;
		state->configured_path = strdup(paths[i]);
		state->configured_line = lines.n > 0 ? lines.pieces[0].line : 1;
		return state->configured_path ? 0 : -ENOMEM;
	}
	return 0;
}

int kernel_cmdline_take_back(const char *path, const struct content *before,
			     const struct content *written, const struct content *now,
			     struct content *ret, struct diag *diag)
{
	return text_take_back(&kind, path, before, written, now, ret, diag);
}
