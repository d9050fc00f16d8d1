/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot/undo.h"

#include "base/diag.h"
#include "boot/owned.h"

/* What became of one file over the changes that are taken back. All borrowed. */
struct span {
	const char *path;
	const struct content *before;  /* the first of them */
	const struct content *written; /* the last of them */
	const char *backend;
	mode_t mode;
	unsigned flags;
};

struct spans {
	struct span *items;
	size_t n;
};

static void spans_done(struct spans *spans)
{
	free(spans->items);
}

/*
 * Whether a change is to be taken back: once, and taking back is itself no such change. "unset"
 * is one for "undo", but not for another "unset".
 */
static bool is_live(const struct record *record, enum undo_what what)
{
	return !record->taken_back && !streq(record->verb, "undo") &&
	       (what == UNDO_LAST || !streq(record->verb, "unset"));
}

/* Adds an older change: what it found is what is wanted. */
static void add_older(struct spans *spans, const struct record *record)
{
	for (size_t i = record->changes.n; i-- > 0;) {
		const struct edit *edit = &record->changes.edits[i];
		struct span *span = NULL;

		for (size_t k = 0; k < spans->n; k++)
			if (streq(spans->items[k].path, edit->path))
				span = &spans->items[k];
		if (!span) {
			span = &spans->items[spans->n++];
			*span = (struct span){
				.path = edit->path,
				.written = &edit->new,
				.backend = record->changes.backend,
			};
		}
		span->before = &edit->old;
		span->mode = edit->mode;
		span->flags = edit->flags;
	}
}

static int note_number(struct changeset *cs, unsigned number)
{
	unsigned *numbers = reallocarray(cs->undoes, cs->n_undoes + 1, sizeof(*numbers));

	if (!numbers)
		return -ENOMEM;
	cs->undoes = numbers;
	cs->undoes[cs->n_undoes++] = number;
	return 0;
}

/* Only our words, by the backend that wrote them. */
static int take_back_words(const struct boot *boot, const struct span *span,
			   const struct content *now, struct content *ret, struct diag *diag)
{
	const struct boot_backend *backend =
		span->backend ? boot_backend_find(span->backend) : NULL;
	int r;

	if (!now->data)
		return -EALREADY; /* somebody deleted it: nothing of ours is left */
	if (!backend || !backend->take_back) {
		diag_error(diag,
			   &(struct diag_where){
				   .path = span->path,
				   .hint = "take it back by hand; \"memcg-policy history -v\" "
					   "shows what was written",
			   },
			   "was changed since we wrote it, and which of it is ours cannot be "
			   "told");
		return -EBADMSG;
	}
	r = backend->take_back(boot, span->path, span->before, span->written, now, ret, diag);
	if (r >= 0)
		diag_notice(diag, &(struct diag_where){ .path = span->path },
			    "was changed since we wrote it: only our words are taken back");
	return r;
}

static int undo_file(const struct boot *boot, const struct span *span, struct changeset *cs,
		     struct diag *diag)
{
	_cleanup_content_ struct content now = {}, words = {};
	const struct content *wanted = span->before;
	int r = content_read(boot->root, span->path, ROOT_MAX_JSON, &now);

	if (r < 0) {
		diag_error(diag, &(struct diag_where){ .path = span->path }, "%s",
			   strerror(-r));
		return r;
	}
	if (content_equal(&now, span->before))
		return 0;
	/* what is ours alone goes back whatever it holds */
	if (!content_equal(&now, span->written) && !owned_is(span->path)) {
		r = take_back_words(boot, span, &now, &words, diag);
		if (r == -EALREADY)
			return 0;
		if (r < 0)
			return r;
		/* a file we made, and nothing but our words was in it */
		wanted = !span->before->data && words.size == 0 ? span->before : &words;
	}
	return changeset_edit(cs, boot->root, span->path, ROOT_MAX_JSON, wanted->data,
			      wanted->size, span->mode, span->flags, diag);
}

/* Directories that the changes made, innermost first; one with other files in it stays. */
static int note_directories(const struct history *history, const struct changeset *changes,
			    struct strv *ret)
{
	for (size_t i = history->n; i-- > 0;) {
		const struct record *record = &history->records[i];
		bool undone = false;

		for (size_t k = 0; k < changes->n_undoes; k++)
			undone |= changes->undoes[k] == record->number;
		for (size_t k = record->made.n; undone && k-- > 0;)
			strv_add_unique(ret, record->made.items[k]);
	}
	return strv_error(ret);
}

/* Files of ours that no record tells of: the records were lost, or never made. */
static int plan_leftovers(const struct boot *boot, struct changeset *cs, struct diag *diag)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && owned_files[i]; i++)
		if (!changeset_find(cs, owned_files[i]))
			r = changeset_edit(cs, boot->root, owned_files[i], ROOT_MAX_JSON, NULL,
					   0, 0644, 0, diag);
	return r;
}

static bool edits_boot_files(const struct changeset *cs)
{
	for (size_t i = 0; i < cs->n; i++)
		if (!str_skip_prefix(cs->edits[i].path, "/etc/memcg-policy/"))
			return true;
	return false;
}

int undo_plan(const struct boot *boot, const struct boot_state *state,
	      const struct history *history, enum undo_what what, struct changeset *cs,
	      struct diag *diag)
{
	const struct boot_words nothing = { .want = BOOT_WANT_NOTHING };
	_cleanup_(spans_done) struct spans spans = {};
	size_t n = 0;
	int r = 0;

	for (size_t i = 0; i < history->n; i++)
		n += history->records[i].changes.n;
	spans.items = calloc(n + 1, sizeof(*spans.items));
	if (!spans.items)
		return -ENOMEM;
	for (size_t i = history->n; i-- > 0;) {
		if (!is_live(&history->records[i], what))
			continue;
		add_older(&spans, &history->records[i]);
		r = note_number(cs, history->records[i].number);
		if (r < 0)
			return r;
		if (what == UNDO_LAST)
			break;
	}
	if (what == UNDO_LAST && cs->n_undoes == 0)
		return 0;
	for (size_t i = 0; r >= 0 && i < spans.n; i++)
		r = undo_file(boot, &spans.items[i], cs, diag);
	if (r >= 0 && what == UNDO_ALL)
		r = plan_leftovers(boot, cs, diag);
	/* nothing that is taken back makes the next boot a trial */
	if (r >= 0 && boot->backend->plan_no_trial)
		r = boot->backend->plan_no_trial(boot, what == UNDO_ALL, cs, diag);
	if (r >= 0)
		r = note_directories(history, cs, &cs->rmdirs);
	if (r < 0)
		return r;
	if (edits_boot_files(cs) && boot->backend->plan_refresh) {
		cs->backend = strdup(boot->backend->name);
		if (!cs->backend)
			return -ENOMEM;
		r = boot->backend->plan_refresh(boot, state, &nothing, true, cs);
	}
	return r < 0 ? r : 1;
}
