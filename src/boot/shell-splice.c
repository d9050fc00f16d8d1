/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot/shell-splice.h"

#include "base/atomic.h"
#include "base/diag.h"
#include "base/str.h"
#include "boot/shell-quote.h"

void shell_splices_done(struct shell_splices *splices)
{
	for (size_t i = 0; i < splices->n; i++)
		free(splices->items[i].text);
	free(splices->items);
}

int shell_splices_add(struct shell_splices *splices, size_t at, size_t size, const char *text,
		      size_t text_size)
{
	struct shell_splice *splice;

	if (!GROW(splices->items, splices->n, splices->alloc))
		return -ENOMEM;
	splice = &splices->items[splices->n++];
	*splice = (struct shell_splice){ .at = at, .size = size };
	if (text) {
		splice->text = str_dup_n(text, text_size);
		if (!splice->text)
			return -ENOMEM;
	}
	return 0;
}

int shell_refuse(const struct shell_script *script, unsigned file, size_t at, struct diag *diag,
		 const char *name, const char *reason)
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

bool shell_written_together(const struct shell_value *value, size_t i)
{
	const struct shell_origin *a = &value->origins[i], *b = a + 1;

	return (written_here(value, i) && written_here(value, i + 1)) ||
	       (a->file == b->file && a->offset + a->size == b->offset);
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

	if (!GROW(edits->items, edits->n, edits->alloc))
		return -ENOMEM;
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
		       const struct shell_splices *splices, struct raw_edits *ret)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < splices->n; i++) {
		const struct shell_splice *splice = &splices->items[i];

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

/* Texts of a script, to go back to. */
struct saved {
	struct content *texts;
	size_t n;
};

static void saved_done(struct saved *saved)
{
	for (size_t i = 0; i < saved->n; i++)
		content_done(&saved->texts[i]);
	free(saved->texts);
}

static int save(const struct shell_script *script, struct saved *ret)
{
	ret->texts = calloc(script->n ? script->n : 1, sizeof(*ret->texts));
	if (!ret->texts)
		return -ENOMEM;
	for (; ret->n < script->n; ret->n++) {
		const struct shell_file *file = &script->files[ret->n];

		ret->texts[ret->n].data = str_dup_n(file->text, file->size);
		if (!ret->texts[ret->n].data)
			return -ENOMEM;
		ret->texts[ret->n].size = file->size;
	}
	return 0;
}

static int restore(struct shell_script *script, const struct saved *saved, struct diag *diag)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < saved->n; i++)
		r = shell_script_replace(script, i, saved->texts[i].data, saved->texts[i].size,
					 diag);
	return r;
}

int shell_splice_text(const struct shell_value *value, const struct shell_splices *splices,
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

int shell_splice(struct shell_script *script, const char *name, const struct shell_value *value,
		 const struct shell_splices *splices, struct diag *diag)
{
	_cleanup_(raw_edits_done) struct raw_edits edits = {};
	_cleanup_shell_value_ struct shell_value now = {};
	_cleanup_(saved_done) struct saved saved = {};
	_cleanup_strbuf_ struct strbuf wanted = {};
	unsigned file = value->file;
	size_t at = value->at;
	int r = save(script, &saved);

	if (r >= 0)
		r = shell_splice_text(value, splices, &wanted);
	if (r >= 0)
		r = map_splices(script, value, splices, &edits);
	for (size_t i = 0; r >= 0 && i < script->n; i++)
		r = apply_raw(script, i, &edits, diag);
	if (r >= 0)
		r = shell_script_value(script, name, &now);
	if (r < 0)
		return r;
	if (now.known != SHELL_IS_STATIC || now.size != wanted.len ||
	    memcmp(now.text, wanted.data, now.size) != 0) {
		r = restore(script, &saved, diag);
		return r < 0 ? r
			     : shell_refuse(script, file, at, diag, name,
					    "its words are used in more than one place");
	}
	return 1;
}
