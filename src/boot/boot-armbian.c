/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Armbian: boot.cmd puts extraargs and extraboardargs of armbianEnv.txt on the line, and then,
 * unless docker_optimizations is off, cgroup_enable=memory behind them. No program follows.
 */

#include "base/diag.h"
#include "boot/formats.h"
#include "boot/text.h"

#define ENV    "/boot/armbianEnv.txt"
#define DOCKER "docker_optimizations"

static const struct text_kind kind = {
	.find = format_find_extraargs,
	.max = ROOT_MAX_CMDLINE,
	.flags = ATOMIC_BOOT,
	.key = "extraargs=",
};

static int armbian_probe(const struct root *root, struct diag *diag _unused_)
{
	return root_exists(root, ENV);
}

/* boot.cmd sets it to "on" before it reads the file. */
static bool docker_is_on(const char *text, size_t size)
{
	struct line_piece piece;

	return !format_env_value(text, size, DOCKER, &piece) ||
	       (piece.size == 2 && memcmp(text + piece.offset, "on", 2) == 0);
}

static void add_value(struct strbuf *out, const char *text, size_t size, const char *name)
{
	struct line_piece piece;

	if (!format_env_value(text, size, name, &piece) || piece.size == 0)
		return;
	strbuf_adds(out, out->len > 0 ? " " : "");
	strbuf_add(out, text + piece.offset, piece.size);
}

static int armbian_read(const struct boot *boot, struct boot_state *ret, struct diag *diag)
{
	_cleanup_boot_state_ struct boot_state state = {};
	_cleanup_strbuf_ struct strbuf args = {};
	_cleanup_free_ char *text = NULL;
	struct boot_entry *entry;
	struct line_piece piece = {};
	size_t size;
	int r = root_read(boot->root, ENV, kind.max, &text, &size);

	if (r < 0) {
		if (r != -ENOMEM)
			diag_warning(diag, &(struct diag_where){ .path = ENV }, "%s",
				     strerror(-r));
		return r == -ENOMEM ? r : 0;
	}
	add_value(&args, text, size, "extraargs");
	r = text_request(args.data ? args.data : "", &state.configured, NULL);
	if (r < 0)
		return r;
	if (state.configured != CMDLINE_NONE) {
		(void)format_env_value(text, size, "extraargs", &piece); /* it is there */
		state.configured_line = piece.line;
		state.configured_path = strdup(ENV);
		if (!state.configured_path)
			return -ENOMEM;
	}
	add_value(&args, text, size, "extraboardargs");
	if (docker_is_on(text, size)) {
		strbuf_adds(&args, args.len > 0 ? " " : "");
		strbuf_adds(&args, "cgroup_enable=memory");
	}
	entry = boot_entries_add(&state.entries);
	if (!entry)
		return -ENOMEM;
	entry->id = strdup("armbianEnv.txt");
	entry->title = strdup("Armbian");
	entry->source = strdup(ENV);
	entry->image =
		strdup(root_exists(boot->root, "/boot/Image") ? "/boot/Image" : "/boot/zImage");
	r = strbuf_take(&args, &entry->args, NULL);
	if (r < 0 || !entry->id || !entry->title || !entry->source || !entry->image)
		return -ENOMEM;
	entry->line = MAX(piece.line, 1u);
	entry->is_default = entry->ours = true;
	state.entries_known = true;
	*ret = state;
	state = (struct boot_state){};
	return 0;
}

/* Puts a value in place of the last one of that name, or in a line of its own. */
static int set_value(const char *text, size_t size, const char *name, const char *value,
		     char **ret, size_t *ret_size)
{
	_cleanup_strbuf_ struct strbuf out = {};
	struct line_piece piece;

	if (format_env_value(text, size, name, &piece)) {
		strbuf_add(&out, text, piece.offset);
		strbuf_adds(&out, value);
		strbuf_add(&out, text + piece.offset + piece.size,
			   size - piece.offset - piece.size);
	} else {
		strbuf_add(&out, text, size);
		strbuf_adds(&out, size > 0 && text[size - 1] != '\n' ? "\n" : "");
		strbuf_addf(&out, "%s=%s\n", name, value);
	}
	return strbuf_take(&out, ret, ret_size);
}

static int armbian_plan(const struct boot *boot, const struct boot_state *state,
			const struct boot_words *words, struct changeset *cs, struct diag *diag)
{
	_cleanup_free_ char *text = NULL, *edited = NULL;
	const struct edit *edit;
	size_t size, edited_size;
	int r = text_plan(boot, &kind, ENV, words, cs, diag);

	if (r >= 0)
		r = root_read(boot->root, ENV, kind.max, &text, &size);
	if (r < 0)
		return r;
	edit = changeset_find(cs, ENV);
	if (words->want == BOOT_WANT_OFF && docker_is_on(text, size)) {
		r = edit ? set_value(edit->new.data, edit->new.size, DOCKER, "off", &edited,
				     &edited_size)
			 : set_value(text, size, DOCKER, "off", &edited, &edited_size);
		if (r >= 0)
			r = changeset_edit(cs, boot->root, ENV, kind.max, edited, edited_size,
					   0644, kind.flags, diag);
	}
	return r < 0 ? r : text_plan_verify(boot, state, words, cs->n > 0, cs);
}

static int armbian_take_back(const struct boot *boot _unused_, const char *path,
			     const struct content *before, const struct content *written,
			     const struct content *now, struct content *ret, struct diag *diag)
{
	_cleanup_content_ struct content out = {};
	char *edited;
	size_t size;
	int r = text_take_back(&kind, path, before, written, now, &out, diag);

	/* "on" is also what it is without the line */
	if (r >= 0 && docker_is_on(before->data, before->size) &&
	    !docker_is_on(written->data, written->size) && !docker_is_on(out.data, out.size)) {
		r = set_value(out.data, out.size, DOCKER, "on", &edited, &size);
		if (r >= 0) {
			content_done(&out);
			out = (struct content){ edited, size };
		}
	}
	if (r < 0)
		return r;
	*ret = out;
	out = (struct content){};
	return 0;
}

const struct boot_backend boot_armbian = {
	.name = "armbian",
	.title = "Armbian's boot script",
	.sign = "/boot/armbianEnv.txt",
	.by = BOOT_BY_OTHER,
	.tried = BOOT_TRIED_FIXTURES,
	.probe = armbian_probe,
	.read = armbian_read,
	.plan = armbian_plan,
	.plan_refresh = text_plan_verify,
	.refresh = text_no_refresh,
	.verify = text_verify,
	.take_back = armbian_take_back,
};
