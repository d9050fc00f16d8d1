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

static bool word_equals(const struct cmdline *cmdline, size_t i, const char *text)
{
	size_t n = strlen(text);

	return cmdline->words[i].size == n &&
	       memcmp(cmdline->text + cmdline->words[i].offset, text, n) == 0;
}

/* The last word with that text that no splice concerns yet, or -ENOENT. */
static ssize_t find_word(const struct cmdline *cmdline, const char *text)
{
	for (size_t i = cmdline->n; i-- > 0;)
		if (word_equals(cmdline, i, text))
			return (ssize_t)i;
	return -ENOENT;
}

/* Reverses one change; at most one splice, since words may move with each. */
static int splice_reverse(const struct cmdline *cmdline, const struct cmdline_change *change,
			  struct splices *splices)
{
	ssize_t found = change->after ? find_word(cmdline, change->after) : -ENOENT;
	size_t end = cmdline->n ? cmdline->words[cmdline->n - 1].offset +
					  cmdline->words[cmdline->n - 1].size
				: 0;
	_cleanup_free_ char *text = NULL;
	const struct cmdline_word *word;
	int r;

	if (!change->after) {
		/* nothing to do if somebody put it back already */
		if (find_word(cmdline, change->before) >= 0)
			return 0;
		r = str_printf(&text, "%s%s", cmdline->n ? " " : "", change->before);
		return r < 0 ? r : add_splice(splices, end, 0, text, strlen(text));
	}
	if (found < 0)
		return 0; /* gone already */
	word = &cmdline->words[found];
	if (change->before)
		return add_splice(splices, word->offset, word->size, change->before,
				  strlen(change->before));
	if (found > 0)
		return add_splice(splices, word->offset - 1, word->size + 1, NULL, 0);
	return add_splice(splices, word->offset, word->size + (cmdline->n > 1 ? 1 : 0), NULL,
			  0);
}

int shell_edit_reverse(struct shell_script *script, const char *name,
		       const struct cmdline_changes *changes, struct diag *diag)
{
	int any = 0;

	for (size_t i = changes->n; i-- > 0;) {
		_cleanup_shell_value_ struct shell_value value = {};
		_cleanup_(splices_done) struct splices splices = {};
		_cleanup_cmdline_ struct cmdline cmdline = {};
		int r;

		r = shell_script_value(script, name, &value);
		if (r < 0)
			return r;
		if (value.known == SHELL_IS_DYNAMIC)
			return refuse_dynamic(script, name, &value, diag);
		if (value.known == SHELL_IS_UNSET) {
			if (changes->items[i].after)
				continue;
			r = append_assignment(script, name, changes->items[i].before, diag);
		} else {
			r = cmdline_parse(value.text, value.size, CMDLINE_LINE, &cmdline);
			if (r >= 0)
				r = splice_reverse(&cmdline, &changes->items[i], &splices);
			if (r >= 0)
				r = splices.n ? apply_splices(script, name, &value, &splices,
							      diag)
					      : 0;
		}
		if (r < 0)
			return r;
		any |= r;
	}
	return any;
}
