/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot/text.h"

#include "base/diag.h"

static int add_line(const char *text, size_t size, const char *key, const char *word,
		    char **ret, size_t *ret_size)
{
	_cleanup_strbuf_ struct strbuf out = {};

	strbuf_add(&out, text, size);
	if (size > 0 && text[size - 1] != '\n')
		strbuf_addc(&out, '\n');
	strbuf_addf(&out, "%s%s\n", key, word);
	return strbuf_take(&out, ret, ret_size);
}

/* The word that a line of its own would need, or NULL. */
static const char *lone_word(enum memcg_state want, unsigned flags)
{
	if (want == MEMCG_ON)
		return flags & CMDLINE_WRITE_ENABLE ? "cgroup_enable=memory" : NULL;
	return flags & CMDLINE_NO_DISABLE ? NULL : "cgroup_disable=memory";
}

int text_plan(const struct boot *boot, const struct text_kind *kind, const char *path,
	      const struct boot_words *words, struct changeset *cs, struct diag *diag)
{
	enum memcg_state want = words->want == BOOT_WANT_ON ? MEMCG_ON : MEMCG_OFF;
	_cleanup_content_ struct content now = {};
	_cleanup_lines_ struct lines lines = {};
	_cleanup_free_ char *text = NULL;
	size_t size;
	int r;

	if (words->want == BOOT_WANT_NOTHING)
		return 0;
	r = content_read(boot->root, path, kind->max, &now);
	if (r < 0) {
		if (r != -ENOMEM)
			diag_error(diag, &(struct diag_where){ .path = path }, "%s",
				   strerror(-r));
		return r;
	}
	if (!now.data)
		return -ENOENT;
	r = kind->find(now.data, now.size, path, &lines, diag);
	if (r < 0)
		return r;
	if (lines.n == 0) {
		const char *word = lone_word(want, words->flags);

		if (!kind->key || !word)
			return 0;
		r = add_line(now.data, now.size, kind->key, word, &text, &size);
	} else {
		r = lines_edit(now.data, now.size, &lines, want, words->flags, path, &text,
			       &size, diag);
		if (r == -EBADMSG)
			diag_error(diag, &(struct diag_where){ .path = path },
				   "holds a NUL byte: this is no text");
		if (r == 0 && !(kind->flags & ATOMIC_TOUCH))
			return 0;
	}
	if (r >= 0)
		r = changeset_edit(cs, boot->root, path, kind->max, text, size, 0644,
				   kind->flags, diag);
	return r < 0 ? r : 1;
}

int text_take_back(const struct text_kind *kind, const char *path, const struct content *before,
		   const struct content *written, const struct content *now,
		   struct content *ret, struct diag *diag)
{
	return lines_take_back(kind->find, path, before, written, now, ret, diag);
}

int text_request(const char *line, enum cmdline_request *ret, char **ret_token)
{
	_cleanup_cmdline_ struct cmdline cmdline = {};
	_cleanup_free_ char *token = NULL;
	enum cmdline_request request;
	ssize_t word;
	int r = cmdline_parse(line, strlen(line), CMDLINE_LINE, &cmdline);

	if (r < 0)
		return r;
	request = cmdline_request(&cmdline, &word);
	if (ret_token && word >= 0) {
		token = str_dup_n(line + cmdline.words[word].offset, cmdline.words[word].size);
		if (!token)
			return -ENOMEM;
	}
	if (ret_token)
		*ret_token = TAKE_PTR(token);
	*ret = request;
	return 0;
}

int text_verify(const struct boot *boot, const struct boot_words *words, struct diag *diag)
{
	_cleanup_boot_state_ struct boot_state state = {};
	size_t n;
	int r = boot_read(boot, &state, diag);

	if (r < 0)
		return r;
	n = words->want == BOOT_WANT_NOTHING ? 0 : boot_n_differing(&state, words->want);
	if (n == 0)
		return 0;
	diag_error(diag, &(struct diag_where){ .hint = "memcg-policy entries" },
		   "%zu boot %s not as wanted after the change", n,
		   n == 1 ? "entry is" : "entries are");
	return -EBADMSG;
}

int text_plan_verify(const struct boot *boot _unused_, const struct boot_state *state _unused_,
		     const struct boot_words *words _unused_, bool edited, struct changeset *cs)
{
	cs->refresh = edited ? REFRESH_RUN : REFRESH_NONE;
	return 0;
}

int text_no_refresh(const struct boot *boot _unused_, const struct boot_words *words _unused_,
		    struct diag *diag _unused_)
{
	return 0;
}
