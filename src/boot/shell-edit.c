/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot/shell-edit.h"

#include "base/str.h"
#include "boot/shell-splice.h"
#include "facts/cmdline.h"

/* --- which bytes of a value an edit of its words concerns --- */

/* A word that lost members of its list: after is before without some bytes. */
static int splice_word(struct shell_splices *splices, size_t at, const char *before,
		       const char *after)
{
	int r = 0;

	for (; r >= 0 && *before; before++, at++)
		if (*before == *after)
			after++;
		else
			r = shell_splices_add(splices, at, 1, NULL, 0);
	return r;
}

/*
 * A word that goes, with a blank beside it: the one before it behind words that stay, else the
 * one behind it. A blank that is written elsewhere stays: the one of "$X word" parts the name
 * from what comes.
 */
static int splice_out(const struct shell_value *value, const struct cmdline *cmdline, size_t i,
		      bool kept, struct shell_splices *splices)
{
	const struct cmdline_word *word = &cmdline->words[i];
	const struct shell_splice *last =
		splices->n > 0 ? &splices->items[splices->n - 1] : NULL;
	size_t at = word->offset, size = word->size, free = last ? last->at + last->size : 0;

	if (kept && at > free && shell_written_together(value, at - 1)) {
		at--;
		size++;
	} else if (i + 1 < cmdline->n && shell_written_together(value, at + size - 1)) {
		size++;
	}
	return shell_splices_add(splices, at, size, NULL, 0);
}

/* cmdline_edit()'s removals, as ranges of the old text. */
static int splice_removals(const struct shell_value *value, const struct cmdline *cmdline,
			   const struct cmdline_changes *changes, enum cmdline_request opposite,
			   struct shell_splices *splices)
{
	size_t next = 0;
	bool kept = false;
	int r = 0;

	for (size_t i = 0; r >= 0 && i < cmdline->n; i++) {
		const struct cmdline_word *word = &cmdline->words[i];
		const struct cmdline_change *change =
			next < changes->n ? &changes->items[next] : NULL;

		if (word->for_init || cmdline_word_request(cmdline, i) != opposite || !change ||
		    !change->before) {
			kept |= !word->for_init;
			continue;
		}
		next++;
		if (change->after) {
			r = splice_word(splices, word->offset, change->before, change->after);
			kept = true;
		} else {
			r = splice_out(value, cmdline, i, kept, splices);
		}
	}
	return r;
}

/* The one insertion that is left to do when the removals are made; keeps the splices in order.
 */
static int splice_addition(const struct shell_value *value, enum memcg_state want,
			   unsigned flags, struct shell_splices *splices)
{
	_cleanup_strbuf_ struct strbuf kept = {};
	_cleanup_free_ char *new = NULL;
	size_t common = 0, at = 0, seen = 0, i = 0, new_size;
	int r;

	r = shell_splice_text(value, splices, &kept);
	if (r >= 0)
		r = cmdline_edit(kept.data ? kept.data : "", kept.len, CMDLINE_LINE, want,
				 flags, &new, &new_size, NULL);
	if (r <= 0)
		return r;
	while (common < kept.len && kept.data[common] == new[common])
		common++;
	/* back to the old text: behind the kept byte number common */
	for (at = 0; seen < common; at++) {
		while (i < splices->n && splices->items[i].at + splices->items[i].size <= at)
			i++;
		if (i >= splices->n || at < splices->items[i].at)
			seen++;
	}
	r = shell_splices_add(splices, at, 0, new + common, new_size - kept.len);
	if (r < 0)
		return r;
	/* into its place: behind what starts before it */
	for (i = splices->n - 1; i > 0 && splices->items[i - 1].at >= at; i--) {
		struct shell_splice swap = splices->items[i];

		splices->items[i] = splices->items[i - 1];
		splices->items[i - 1] = swap;
	}
	return 0;
}

/* NAME="text" on a line of its own at the end of the last fragment. */
static int append_assignment(struct shell_script *script, const char *name, const char *text,
			     struct diag *diag)
{
	const struct shell_file *file = &script->files[script->n - 1];
	_cleanup_free_ char *old = str_dup_n(file->text, file->size);
	_cleanup_strbuf_ struct strbuf out = {};
	_cleanup_shell_value_ struct shell_value now = {};
	size_t old_size = file->size;
	int r;

	if (!old)
		return -ENOMEM;
	strbuf_add(&out, file->text, file->size);
	if (file->size > 0 && file->text[file->size - 1] != '\n')
		strbuf_addc(&out, '\n');
	strbuf_addf(&out, "%s=\"%s\"\n", name, text);
	if (out.failed)
		return -ENOMEM;
	r = shell_script_replace(script, script->n - 1, out.data, out.len, diag);
	if (r >= 0)
		r = shell_script_value(script, name, &now);
	if (r < 0)
		return r;
	/* the file may end in a backslash, or after an "exit" */
	if (now.known != SHELL_IS_STATIC || !streq(now.text, text)) {
		r = shell_script_replace(script, script->n - 1, old, old_size, diag);
		return r < 0 ? r
			     : shell_refuse(script, (unsigned)script->n - 1,
					    MIN(now.at, old_size), diag, name,
					    now.reason ? now.reason : "a line cannot be added");
	}
	return 1;
}

static int refuse_dynamic(const struct shell_script *script, const char *name,
			  const struct shell_value *value, struct diag *diag)
{
	return shell_refuse(script, value->file, value->at, diag, name, value->reason);
}

int shell_edit(struct shell_script *script, const char *name, enum memcg_state want,
	       unsigned flags, struct diag *diag)
{
	_cleanup_cmdline_changes_ struct cmdline_changes changes = {};
	_cleanup_shell_value_ struct shell_value value = {};
	_cleanup_shell_splices_ struct shell_splices splices = {};
	_cleanup_cmdline_ struct cmdline cmdline = {};
	_cleanup_free_ char *new = NULL;
	size_t new_size;
	const char *old;
	int r;

	r = shell_script_value(script, name, &value);
	if (r < 0)
		return r;
	if (value.known == SHELL_IS_DYNAMIC)
		return refuse_dynamic(script, name, &value, diag);
	old = value.text ? value.text : "";
	r = cmdline_edit(old, value.size, CMDLINE_LINE, want, flags, &new, &new_size, &changes);
	if (r == -EINVAL)
		return shell_refuse(script, value.file, value.at, diag, name,
				    "its value ends inside a quote");
	if (r <= 0)
		return r;
	if (value.known == SHELL_IS_UNSET)
		return append_assignment(script, name, new, diag);
	r = cmdline_parse(old, value.size, CMDLINE_LINE, &cmdline);
	if (r >= 0)
		r = splice_removals(&value, &cmdline, &changes,
				    want == MEMCG_ON ? CMDLINE_OFF : CMDLINE_ON, &splices);
	if (r >= 0)
		r = splice_addition(&value, want, flags, &splices);
	return r < 0 ? r : shell_splice(script, name, &value, &splices, diag);
}

/* --- taking back --- */

/* The words for memcg that are in only one of two values; the texts are borrowed. */
struct own_words {
	const char **items;
	size_t *sizes;
	size_t n;
};

static void own_words_done(struct own_words *words)
{
	free(words->items);
	free(words->sizes);
}

static bool is_own(const struct cmdline *cmdline, size_t i)
{
	return !cmdline->words[i].for_init && (cmdline_name_is(cmdline, i, "cgroup_disable") ||
					       cmdline_name_is(cmdline, i, "cgroup_enable"));
}

static size_t count_word(const struct cmdline *cmdline, size_t end, const char *text,
			 size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < end; i++)
		n += !cmdline->words[i].for_init && cmdline->words[i].size == size &&
		     memcmp(cmdline->text + cmdline->words[i].offset, text, size) == 0;
	return n;
}

/* Words of a beyond those that b has too. */
static int words_only_in(const struct cmdline *a, const struct cmdline *b,
			 struct own_words *ret)
{
	ret->items = calloc(a->n + 1, sizeof(*ret->items));
	ret->sizes = calloc(a->n + 1, sizeof(*ret->sizes));
	if (!ret->items || !ret->sizes)
		return -ENOMEM;
	for (size_t i = 0; i < a->n; i++) {
		const char *text = a->text + a->words[i].offset;
		size_t size = a->words[i].size;

		if (!is_own(a, i) ||
		    count_word(a, i, text, size) < count_word(b, b->n, text, size))
			continue;
		ret->items[ret->n] = text;
		ret->sizes[ret->n++] = size;
	}
	return 0;
}

/* The last of the kernel's words with that text, or -ENOENT. */
static ssize_t find_word(const struct cmdline *cmdline, const char *text, size_t size)
{
	for (size_t i = cmdline->n; i-- > 0;)
		if (!cmdline->words[i].for_init && cmdline->words[i].size == size &&
		    memcmp(cmdline->text + cmdline->words[i].offset, text, size) == 0)
			return (ssize_t)i;
	return -ENOENT;
}

/* Where a word goes that comes back: behind the last of the kernel's. */
static int splice_back(const struct cmdline *cmdline, const char *text, size_t size,
		       struct shell_splices *splices)
{
	_cleanup_strbuf_ struct strbuf word = {};
	size_t last = 0, at = 0;

	while (last < cmdline->n && !cmdline->words[last].for_init)
		last++;
	if (last > 0) {
		at = cmdline->words[last - 1].offset + cmdline->words[last - 1].size;
		strbuf_addc(&word, ' ');
	} else if (cmdline->n > 0)
		at = cmdline->words[0].offset;
	strbuf_add(&word, text, size);
	if (last == 0 && cmdline->n > 0)
		strbuf_addc(&word, ' ');
	return word.failed ? -ENOMEM : shell_splices_add(splices, at, 0, word.data, word.len);
}

/* One step: added (or NULL) goes, removed (or NULL) comes, in its place if there is one. */
static int reverse_word(struct shell_script *script, const char *name, const char *added,
			size_t added_size, const char *removed, size_t removed_size,
			struct diag *diag)
{
	_cleanup_shell_value_ struct shell_value value = {};
	_cleanup_shell_splices_ struct shell_splices splices = {};
	_cleanup_cmdline_ struct cmdline cmdline = {};
	const struct cmdline_word *word;
	ssize_t found;
	int r;

	r = shell_script_value(script, name, &value);
	if (r < 0)
		return r;
	if (value.known == SHELL_IS_DYNAMIC)
		return refuse_dynamic(script, name, &value, diag);
	if (value.known == SHELL_IS_UNSET) {
		_cleanup_free_ char *text = removed ? str_dup_n(removed, removed_size) : NULL;

		if (removed && !text)
			return -ENOMEM;
		return text ? append_assignment(script, name, text, diag) : 0;
	}
	r = cmdline_parse(value.text, value.size, CMDLINE_LINE, &cmdline);
	if (r < 0)
		return r;
	found = added ? find_word(&cmdline, added, added_size) : -ENOENT;
	word = found >= 0 ? &cmdline.words[found] : NULL;
	if (word && removed)
		r = shell_splices_add(&splices, word->offset, word->size, removed,
				      removed_size);
	else if (word)
		r = splice_out(&value, &cmdline, (size_t)found, found > 0, &splices);
	else if (removed && find_word(&cmdline, removed, removed_size) < 0)
		r = splice_back(&cmdline, removed, removed_size, &splices);
	if (r < 0 || splices.n == 0)
		return r;
	return shell_splice(script, name, &value, &splices, diag);
}

/* Whether two words have the same name up to '-' and '_': the one was made of the other. */
static bool same_name(const struct own_words *a, size_t i, const struct own_words *b, size_t j)
{
	size_t n = strcspn(a->items[i], "=");

	if (strcspn(b->items[j], "=") != n)
		return false;
	for (size_t k = 0; k < n; k++)
		if (a->items[i][k] != b->items[j][k] &&
		    !(strchr("-_", a->items[i][k]) && strchr("-_", b->items[j][k])))
			return false;
	return true;
}

int shell_edit_reverse(struct shell_script *script, const char *name,
		       const struct shell_value *before, const struct shell_value *written,
		       struct diag *diag)
{
	_cleanup_cmdline_ struct cmdline old = {}, new = {};
	_cleanup_(own_words_done) struct own_words added = {}, removed = {};
	size_t taken = 0; /* of removed: those that were turned into an added word */
	int any = 0, r;

	r = cmdline_parse(before->text ? before->text : "", before->size, CMDLINE_LINE, &old);
	if (r >= 0)
		r = cmdline_parse(written->text ? written->text : "", written->size,
				  CMDLINE_LINE, &new);
	if (r >= 0)
		r = words_only_in(&new, &old, &added);
	if (r >= 0)
		r = words_only_in(&old, &new, &removed);
	for (size_t i = 0; r >= 0 && i < added.n; i++) {
		bool pair = taken < removed.n && same_name(&removed, taken, &added, i);

		r = reverse_word(script, name, added.items[i], added.sizes[i],
				 pair ? removed.items[taken] : NULL,
				 pair ? removed.sizes[taken] : 0, diag);
		taken += pair;
		any |= r > 0;
	}
	for (; r >= 0 && taken < removed.n; taken++) {
		r = reverse_word(script, name, NULL, 0, removed.items[taken],
				 removed.sizes[taken], diag);
		any |= r > 0;
	}
	return r < 0 ? r : any;
}
