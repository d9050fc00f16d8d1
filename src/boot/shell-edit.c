/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot/shell-edit.h"

#include "base/diag.h"
#include "base/str.h"
#include "facts/cmdline.h"

/* A change of a value: size bytes at that place go, text comes. */
struct splice {
	size_t at;
	size_t size;
	char *text; /* owned, or NULL */
};

struct splices {
	struct splice *items;
	size_t n, alloc;
};

static void splices_done(struct splices *splices)
{
	for (size_t i = 0; i < splices->n; i++)
		free(splices->items[i].text);
	free(splices->items);
}

/* text is copied and may be NULL. */
static int add_splice(struct splices *splices, size_t at, size_t size, const char *text,
		      size_t text_size)
{
	struct splice *splice;

	if (splices->n == splices->alloc) {
		size_t alloc = splices->alloc ? splices->alloc * 2 : 8;
		struct splice *items = reallocarray(splices->items, alloc, sizeof(*items));

		if (!items)
			return -ENOMEM;
		splices->items = items;
		splices->alloc = alloc;
	}
	splice = &splices->items[splices->n++];
	*splice = (struct splice){ .at = at, .size = size };
	if (text) {
		splice->text = str_dup_n(text, text_size);
		if (!splice->text)
			return -ENOMEM;
	}
	return 0;
}

static int refuse_at(const struct shell_script *script, unsigned file, size_t at,
		     struct diag *diag, const char *name, const char *reason)
{
	const struct shell_file *f = &script->files[file];
	struct diag_where where = { .path = f->path };
	_cleanup_free_ char *hint = NULL;

	shell_position(f->text, at, &where.line, &where.column);
	where.source = f->text + at - (where.column - 1);
	where.source_size = strcspn(where.source, "\n");
	if (str_printf(&hint, "change %s there by hand, or give it a plain value", name) < 0)
		return -ENOMEM;
	where.hint = hint;
	diag_error(diag, &where, "%s cannot be known without running this: %s", name, reason);
	return -ENOTSUP;
}

/* --- from a value's bytes to the bytes of the text --- */

static bool written_here(const struct shell_value *value, size_t i)
{
	const struct shell_origin *o = &value->origins[i];

	return o->file == value->file && o->offset >= value->event->value &&
	       o->offset < value->event->value + value->event->value_size;
}

/* Whether the raw value is one word that needs no quotes and has none; quotes then go around
 * the whole. A CR before the line's end is not part of it. */
static size_t plain_size(const struct shell_file *file, const struct shell_event *event)
{
	const char *raw = file->text + event->value;
	size_t n = event->value_size;

	if (n > 0 && raw[n - 1] == '\r')
		n--;
	for (size_t i = 0; i < n; i++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
			    "_.,:=/+@%-",
			    raw[i]))
			return SIZE_MAX;
	return n;
}

/* Where text goes that stands before value byte at: the file, the offset, and in what quotes.
 */
static struct shell_origin insertion_place(const struct shell_script *script,
					   const struct shell_value *value, size_t at)
{
	const struct shell_event *event = value->event;
	const char *raw = script->files[value->file].text + event->value;
	struct shell_origin place = { .file = value->file };
	size_t n = event->value_size;

	if (at > 0 && written_here(value, at - 1)) {
		place = value->origins[at - 1];
		place.offset += place.size;
		return place;
	}
	/* "" and '', also before a CR */
	if (at == 0 && n >= 2 && (raw[0] == '"' || raw[0] == '\'') && raw[1] == raw[0]) {
		place.offset = event->value + 1;
		place.context = raw[0] == '"' ? SHELL_DOUBLE_QUOTED : SHELL_SINGLE_QUOTED;
		return place;
	}
	if (at < value->size && written_here(value, at))
		return value->origins[at];
	if (at == value->size) {
		place.offset = event->value + n;
		if (n > 0 && (raw[n - 1] == '"' || raw[n - 1] == '\'')) {
			place.offset--;
			place.context =
				raw[n - 1] == '"' ? SHELL_DOUBLE_QUOTED : SHELL_SINGLE_QUOTED;
		}
		return place;
	}
	/* inside what another assignment wrote: there, then */
	if (at > 0) {
		place = value->origins[at - 1];
		place.offset += place.size;
		return place;
	}
	return value->origins[at];
}

/* An edit of a text. */
struct raw_edit {
	unsigned file;
	size_t offset;
	size_t size;
	char *text;
	size_t order; /* edits at one place keep their order */
};

struct raw_edits {
	struct raw_edit *items;
	size_t n, alloc;
};

static void raw_edits_done(struct raw_edits *edits)
{
	for (size_t i = 0; i < edits->n; i++)
		free(edits->items[i].text);
	free(edits->items);
}

static int add_raw(struct raw_edits *edits, unsigned file, size_t offset, size_t size,
		   const char *prefix, const char *text, const char *suffix)
{
	struct raw_edit *edit;

	if (edits->n == edits->alloc) {
		size_t alloc = edits->alloc ? edits->alloc * 2 : 64;
		struct raw_edit *items = reallocarray(edits->items, alloc, sizeof(*items));

		if (!items)
			return -ENOMEM;
		edits->items = items;
		edits->alloc = alloc;
	}
	edit = &edits->items[edits->n];
	*edit = (struct raw_edit){
		.file = file, .offset = offset, .size = size, .order = edits->n
	};
	edits->n++;
	return str_printf(&edit->text, "%s%s%s", prefix, text, suffix);
}

static int compare_raw(const void *a, const void *b)
{
	const struct raw_edit *x = a, *y = b;

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	/* what comes at a place comes before what goes there */
	if ((x->size == 0) != (y->size == 0))
		return x->size == 0 ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static int insert_raw(const struct shell_script *script, const struct shell_value *value,
		      size_t at, const char *text, struct raw_edits *edits)
{
	const struct shell_file *file = &script->files[value->file];
	struct shell_origin place = insertion_place(script, value, at);
	size_t plain = plain_size(file, value->event), start = value->event->value;
	int r;

	if (place.context != SHELL_UNQUOTED)
		return add_raw(edits, place.file, place.offset, 0, "", text, "");
	if (place.file != value->file || plain == SIZE_MAX || place.offset < start ||
	    place.offset > start + plain)
		return add_raw(edits, place.file, place.offset, 0, "\"", text, "\"");
	r = add_raw(edits, value->file, start, 0, "\"", "", "");
	if (r >= 0)
		r = add_raw(edits, value->file, place.offset, 0, "", text, "");
	if (r >= 0)
		r = add_raw(edits, value->file, start + plain, 0, "", "", "\"");
	return r;
}

/* The splices as edits of the texts. An expansion used twice is deleted once. */
static int map_splices(const struct shell_script *script, const struct shell_value *value,
		       const struct splices *splices, struct raw_edits *ret)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < splices->n; i++) {
		const struct splice *splice = &splices->items[i];

		if (splice->text)
			r = insert_raw(script, value, splice->at, splice->text, ret);
		for (size_t k = 0; r >= 0 && k < splice->size; k++) {
			const struct shell_origin *o = &value->origins[splice->at + k];

			r = add_raw(ret, o->file, o->offset, o->size, "", "", "");
		}
	}
	if (r >= 0 && ret->n > 1)
		qsort(ret->items, ret->n, sizeof(*ret->items), compare_raw);
	return r;
}

static int apply_raw(struct shell_script *script, size_t index, const struct raw_edits *edits,
		     struct diag *diag)
{
	const struct shell_file *file = &script->files[index];
	_cleanup_strbuf_ struct strbuf out = {};
	size_t at = 0;
	bool any = false;

	for (size_t i = 0; i < edits->n; i++) {
		const struct raw_edit *edit = &edits->items[i];

		if (edit->file != index || edit->offset < at)
			continue; /* before at: the same byte was deleted already */
		strbuf_add(&out, file->text + at, edit->offset - at);
		strbuf_adds(&out, edit->text);
		at = edit->offset + edit->size;
		any = true;
	}
	if (!any)
		return 0;
	strbuf_add(&out, file->text + at, file->size - at);
	if (out.failed)
		return -ENOMEM;
	return shell_script_replace(script, index, out.data, out.len, diag);
}

/* What the value must be afterwards. */
static int splice_value(const struct shell_value *value, const struct splices *splices,
			struct strbuf *ret)
{
	size_t at = 0;

	for (size_t i = 0; i < splices->n; i++) {
		strbuf_add(ret, value->text + at, splices->items[i].at - at);
		if (splices->items[i].text)
			strbuf_adds(ret, splices->items[i].text);
		at = splices->items[i].at + splices->items[i].size;
	}
	strbuf_add(ret, value->text + at, value->size - at);
	return ret->failed ? -ENOMEM : 0;
}

/* Applies splices (in order, not overlapping) and proves that the shell sees just them. */
static int apply_splices(struct shell_script *script, const char *name,
			 const struct shell_value *value, const struct splices *splices,
			 struct diag *diag)
{
	_cleanup_(raw_edits_done) struct raw_edits edits = {};
	_cleanup_shell_value_ struct shell_value now = {};
	_cleanup_strbuf_ struct strbuf wanted = {};
	unsigned file = value->file;
	size_t at = value->at;
	int r;

	r = splice_value(value, splices, &wanted);
	if (r >= 0)
		r = map_splices(script, value, splices, &edits);
	for (size_t i = 0; r >= 0 && i < script->n; i++)
		r = apply_raw(script, i, &edits, diag);
	if (r >= 0)
		r = shell_script_value(script, name, &now);
	if (r < 0)
		return r;
	if (now.known != SHELL_IS_STATIC || now.size != wanted.len ||
	    memcmp(now.text, wanted.data, now.size) != 0)
		return refuse_at(script, file, at, diag, name,
				 "its words are used in more than one place");
	return 1;
}

/* --- which bytes of a value an edit of its words concerns --- */

/* A word that lost members of its list: after is before without some bytes. */
static int splice_word(struct splices *splices, size_t at, const char *before,
		       const char *after)
{
	int r = 0;

	for (; r >= 0 && *before; before++, at++)
		if (*before == *after)
			after++;
		else
			r = add_splice(splices, at, 1, NULL, 0);
	return r;
}

/* cmdline_edit()'s removals, as ranges of the old text. */
static int splice_removals(const struct cmdline *cmdline, const struct cmdline_changes *changes,
			   enum cmdline_request opposite, struct splices *splices)
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
		} else if (kept) /* with the blank before it */
			r = add_splice(splices, word->offset - 1, word->size + 1, NULL, 0);
		else /* with the blank behind it, if there is more */
			r = add_splice(splices, word->offset,
				       word->size + (i + 1 < cmdline->n ? 1 : 0), NULL, 0);
	}
	return r;
}

/* The one insertion that makes new of old without what goes; keeps the splices in order. */
static int splice_addition(const char *old, size_t old_size, const char *new, size_t new_size,
			   struct splices *splices)
{
	_cleanup_strbuf_ struct strbuf kept = {};
	const struct shell_value value = { .text = (char *)(uintptr_t)old, .size = old_size };
	size_t common = 0, at = 0, seen = 0, i = 0;
	int r;

	r = splice_value(&value, splices, &kept);
	if (r < 0)
		return r;
	if (kept.len >= new_size)
		return 0;
	while (common < kept.len && kept.data[common] == new[common])
		common++;
	/* back to the old text: behind the kept byte number common */
	for (at = 0; seen < common; at++) {
		while (i < splices->n && splices->items[i].at + splices->items[i].size <= at)
			i++;
		if (i >= splices->n || at < splices->items[i].at)
			seen++;
	}
	r = add_splice(splices, at, 0, new + common, new_size - kept.len);
	if (r < 0)
		return r;
	/* into its place: behind what starts before it */
	for (i = splices->n - 1; i > 0 && splices->items[i - 1].at >= at; i--) {
		struct splice swap = splices->items[i];

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
	_cleanup_strbuf_ struct strbuf out = {};
	_cleanup_shell_value_ struct shell_value now = {};
	int r;

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
	if (now.known != SHELL_IS_STATIC || !streq(now.text, text))
		return refuse_at(script, (unsigned)script->n - 1, now.at, diag, name,
				 now.reason ? now.reason : "a line cannot be added");
	return 1;
}

static int refuse_dynamic(const struct shell_script *script, const char *name,
			  const struct shell_value *value, struct diag *diag)
{
	return refuse_at(script, value->file, value->at, diag, name, value->reason);
}

int shell_edit(struct shell_script *script, const char *name, enum memcg_state want,
	       unsigned flags, struct diag *diag)
{
	_cleanup_cmdline_changes_ struct cmdline_changes changes = {};
	_cleanup_shell_value_ struct shell_value value = {};
	_cleanup_(splices_done) struct splices splices = {};
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
		return refuse_at(script, value.file, value.at, diag, name,
				 "its value ends inside a quote");
	if (r <= 0)
		return r;
	if (value.known == SHELL_IS_UNSET)
		return append_assignment(script, name, new, diag);
	r = cmdline_parse(old, value.size, CMDLINE_LINE, &cmdline);
	if (r >= 0)
		r = splice_removals(&cmdline, &changes,
				    want == MEMCG_ON ? CMDLINE_OFF : CMDLINE_ON, &splices);
	if (r >= 0)
		r = splice_addition(old, value.size, new, new_size, &splices);
	return r < 0 ? r : apply_splices(script, name, &value, &splices, diag);
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
		       struct splices *splices)
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
	return word.failed ? -ENOMEM : add_splice(splices, at, 0, word.data, word.len);
}

/* One step: added (or NULL) goes, removed (or NULL) comes, in its place if there is one. */
static int reverse_word(struct shell_script *script, const char *name, const char *added,
			size_t added_size, const char *removed, size_t removed_size,
			struct diag *diag)
{
	_cleanup_shell_value_ struct shell_value value = {};
	_cleanup_(splices_done) struct splices splices = {};
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
		r = add_splice(&splices, word->offset, word->size, removed, removed_size);
	else if (word && found > 0)
		r = add_splice(&splices, word->offset - 1, word->size + 1, NULL, 0);
	else if (word)
		r = add_splice(&splices, word->offset, word->size + (cmdline.n > 1), NULL, 0);
	else if (removed && find_word(&cmdline, removed, removed_size) < 0)
		r = splice_back(&cmdline, removed, removed_size, &splices);
	if (r < 0 || splices.n == 0)
		return r;
	return apply_splices(script, name, &value, &splices, diag);
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
