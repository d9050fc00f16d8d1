/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Changing what a kernel command line asks for, and nothing else in it. */

#include "base/str.h"
#include "facts/cmdline.h"

void cmdline_changes_done(struct cmdline_changes *changes)
{
	for (size_t i = 0; i < changes->n; i++) {
		free(changes->items[i].before);
		free(changes->items[i].after);
	}
	free(changes->items);
	*changes = (struct cmdline_changes){};
}

static int note_change(struct cmdline_changes *changes, const char *before, size_t before_size,
		       const char *after, size_t after_size)
{
	struct cmdline_change *change;

	if (!GROW(changes->items, changes->n, changes->alloc))
		return -ENOMEM;
	change = &changes->items[changes->n++];
	*change = (struct cmdline_change){};
	if (before)
		change->before = str_dup_n(before, before_size);
	if (after)
		change->after = str_dup_n(after, after_size);
	return (before && !change->before) || (after && !change->after) ? -ENOMEM : 0;
}

/* Adds the word without the member memory; false if no member would be left. */
static bool add_without_memory(struct strbuf *out, const struct cmdline *cmdline,
			       const struct cmdline_word *word)
{
	const char *list = cmdline->text + word->value_offset;
	size_t size = word->value_size, value_end = word->value_offset + size;
	size_t start = out->len;
	bool first = true, left = false;

	strbuf_add(out, cmdline->text + word->offset, word->value_offset - word->offset);
	for (size_t i = 0; i <= size;) {
		const char *comma = i < size ? memchr(list + i, ',', size - i) : NULL;
		size_t end = comma ? (size_t)(comma - list) : size;

		if (end - i != 6 || memcmp(list + i, "memory", 6) != 0) {
			if (!first)
				strbuf_addc(out, ',');
			strbuf_add(out, list + i, end - i);
			first = false;
			left |= end > i;
		}
		i = end + 1;
	}
	strbuf_add(out, cmdline->text + value_end, word->offset + word->size - value_end);
	if (!left)
		strbuf_truncate(out, start);
	return left;
}

/* What the edited line looks like so far. */
struct edit {
	struct strbuf out;
	size_t kernel_end; /* in out, behind the last word of the kernel's */
	size_t init_start; /* in out, of the "--" */
	size_t tail;	   /* in the text, what is left to copy */
	bool kernel_words;
	bool init_words;
	bool changed;
};

static void edit_done(struct edit *edit)
{
	strbuf_done(&edit->out);
}

/* Copies the words, taking memory out of those that ask for the opposite. */
static int edit_words(const struct cmdline *cmdline, enum cmdline_request opposite,
		      struct edit *edit, struct cmdline_changes *changes)
{
	size_t at = 0;

	for (size_t i = 0; i < cmdline->n; i++) {
		const struct cmdline_word *word = &cmdline->words[i];
		const char *text = cmdline->text + word->offset;
		size_t gap = word->offset - at, start;
		bool left;
		int r;

		if (word->for_init || cmdline_word_request(cmdline, i) != opposite) {
			strbuf_add(&edit->out, cmdline->text + at, gap);
			if (word->for_init && !edit->init_words) {
				edit->init_words = true;
				edit->init_start = edit->out.len;
			}
			strbuf_add(&edit->out, text, word->size);
			at = word->offset + word->size;
			if (!word->for_init) {
				edit->kernel_words = true;
				edit->kernel_end = edit->out.len;
			}
			continue;
		}
		edit->changed = true;
		strbuf_add(&edit->out, cmdline->text + at, gap);
		start = edit->out.len;
		at = word->offset + word->size;
		left = add_without_memory(&edit->out, cmdline, word);
		if (edit->out.failed)
			return -ENOMEM;
		if (left) {
			r = note_change(changes, text, word->size, edit->out.data + start,
					edit->out.len - start);
			edit->kernel_words = true;
			edit->kernel_end = edit->out.len;
		} else {
			/* the blank that parted it from the word before, else from the next */
			if (edit->kernel_words)
				strbuf_truncate(&edit->out, edit->out.len - 1);
			else if (i + 1 < cmdline->n)
				at++;
			r = note_change(changes, text, word->size, NULL, 0);
		}
		if (r < 0)
			return r;
	}
	edit->tail = at;
	return edit->out.failed ? -ENOMEM : 0;
}

/* Adds a word behind the last of the kernel's. */
static int edit_add(const struct edit *edit, const char *word, struct strbuf *ret,
		    struct cmdline_changes *changes)
{
	size_t at = edit->kernel_words ? edit->kernel_end
		    : edit->init_words ? edit->init_start
				       : 0;

	if (at > 0)
		strbuf_add(ret, edit->out.data, at);
	if (edit->kernel_words)
		strbuf_addc(ret, ' ');
	strbuf_adds(ret, word);
	if (!edit->kernel_words && edit->init_words)
		strbuf_addc(ret, ' ');
	if (edit->out.len > at)
		strbuf_add(ret, edit->out.data + at, edit->out.len - at);
	return note_change(changes, NULL, 0, word, strlen(word));
}

static bool ends_in_quote(const struct cmdline *cmdline)
{
	const struct cmdline_word *last = cmdline->n ? &cmdline->words[cmdline->n - 1] : NULL;

	return last && last->open && !last->for_init;
}

int cmdline_edit(const char *text, size_t size, enum cmdline_form form, enum memcg_state want,
		 unsigned flags, char **ret, size_t *ret_size,
		 struct cmdline_changes *ret_changes)
{
	enum cmdline_request wanted = want == MEMCG_ON ? CMDLINE_ON : CMDLINE_OFF;
	bool writes =
		want == MEMCG_ON ? flags & CMDLINE_WRITE_ENABLE : !(flags & CMDLINE_NO_DISABLE);
	_cleanup_cmdline_changes_ struct cmdline_changes changes = {};
	_cleanup_cmdline_ struct cmdline cmdline = {};
	_cleanup_(edit_done) struct edit edit = {};
	_cleanup_strbuf_ struct strbuf out = {};
	int r;

	if (memchr(text, '\0', size))
		return -EBADMSG;
	r = cmdline_parse(text, size, form, &cmdline);
	if (r < 0)
		return r;
	r = edit_words(&cmdline, want == MEMCG_ON ? CMDLINE_OFF : CMDLINE_ON, &edit, &changes);
	if (r < 0)
		return r;
	if (writes && cmdline_find_request(&cmdline, wanted) < 0) {
		if (ends_in_quote(&cmdline))
			return -EINVAL;
		edit.changed = true;
		r = edit_add(&edit,
			     want == MEMCG_ON ? "cgroup_enable=memory"
					      : "cgroup_disable=memory",
			     &out, &changes);
		if (r < 0)
			return r;
	} else {
		strbuf_add(&out, edit.out.data, edit.out.len);
	}
	strbuf_add(&out, text + edit.tail, size - edit.tail);
	r = strbuf_take(&out, ret, ret_size);
	if (r < 0)
		return r;
	if (ret_changes) {
		*ret_changes = changes;
		changes = (struct cmdline_changes){};
	}
	return edit.changed;
}
