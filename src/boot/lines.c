/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot/lines.h"

#include "base/atomic.h"
#include "base/diag.h"
#include "base/str.h"

int lines_add(struct lines *lines, size_t group, size_t offset, size_t size, unsigned line)
{
	if (!GROW(lines->pieces, lines->n, lines->alloc))
		return -ENOMEM;
	lines->pieces[lines->n++] = (struct line_piece){
		.offset = offset,
		.size = size,
		.group = group,
		.line = line,
	};
	lines->n_groups = MAX(lines->n_groups, group + 1);
	return 0;
}

void lines_done(struct lines *lines)
{
	free(lines->pieces);
	*lines = (struct lines){};
}

int lines_join(const char *text, const struct lines *lines, size_t group, char **ret)
{
	_cleanup_strbuf_ struct strbuf out = {};
	bool found = false;

	for (size_t i = 0; i < lines->n && !(found && lines->first_only); i++) {
		const struct line_piece *piece = &lines->pieces[i];

		if (piece->group != group)
			continue;
		if (found)
			strbuf_addc(&out, ' ');
		strbuf_add(&out, text + piece->offset, piece->size);
		found = true;
	}
	return strbuf_take(&out, ret, NULL);
}

/* --- editing --- */

/* What becomes of one piece. */
struct piece_edit {
	char *text; /* NULL: as it is */
	size_t size;
	bool for_init; /* behind a "--" of an earlier piece */
};

struct edits {
	struct piece_edit *pieces;
	size_t n;
};

static void edits_done(struct edits *edits)
{
	for (size_t i = 0; i < edits->n; i++)
		free(edits->pieces[i].text);
	free(edits->pieces);
}

static int quote_error(const struct line_piece *piece, const char *text, const char *path,
		       struct diag *diag)
{
	diag_error(diag,
		   &(struct diag_where){
			   .path = path,
			   .line = piece->line,
			   .source = text + piece->offset,
			   .source_size = piece->size,
			   .hint = "close the quote in that line, then run this again",
		   },
		   "the command line ends inside a double quote: a word added to it would "
		   "become part of the quoted text");
	return -EINVAL;
}

/* Edits one piece, which may have been edited before; 1 if that changed something. */
static int edit_piece(const char *text, const struct line_piece *piece, enum memcg_state want,
		      unsigned flags, struct piece_edit *edit)
{
	const char *old = edit->text ? edit->text : text + piece->offset;
	char *new;
	size_t size;
	int r = cmdline_edit(old, edit->text ? edit->size : piece->size, CMDLINE_LINE, want,
			     flags, &new, &size, NULL);

	if (r < 0)
		return r;
	if (r == 0) {
		free(new);
		return 0;
	}
	free(edit->text);
	edit->text = new;
	edit->size = size;
	return 1;
}

/* What one piece holds before it is edited. */
struct piece_look {
	bool asks; /* for what is wanted */
	bool open;
	bool dashes;
};

static int look_at(const char *text, const struct line_piece *piece,
		   enum cmdline_request wanted, struct piece_look *ret)
{
	_cleanup_cmdline_ struct cmdline cmdline = {};
	struct piece_look look = {};
	int r = cmdline_parse(text + piece->offset, piece->size, CMDLINE_LINE, &cmdline);

	if (r < 0)
		return r;
	for (size_t i = 0; i < cmdline.n; i++) {
		if (cmdline.words[i].for_init)
			look.dashes = true;
		else if (cmdline_word_request(&cmdline, i) == wanted)
			look.asks = true;
		look.open = cmdline.words[i].open;
	}
	*ret = look;
	return 0;
}

/* Takes the opposite out of all pieces of a group, and sees to the word in the first. */
static int edit_group(const char *text, const struct lines *lines, size_t group,
		      enum memcg_state want, unsigned flags, const char *path,
		      struct edits *edits, struct diag *diag)
{
	enum cmdline_request wanted = want == MEMCG_ON ? CMDLINE_ON : CMDLINE_OFF;
	bool writes =
		want == MEMCG_ON ? flags & CMDLINE_WRITE_ENABLE : !(flags & CMDLINE_NO_DISABLE);
	unsigned only_remove = want == MEMCG_ON ? 0 : CMDLINE_NO_DISABLE;
	const struct line_piece *first = NULL, *last = NULL;
	bool asks = false, dashes = false, open = false;
	int changed = 0, r;

	for (size_t i = 0; i < lines->n; i++) {
		const struct line_piece *piece = &lines->pieces[i];
		struct piece_look look;

		/* what the reader does not read stays as it is */
		if (piece->group != group || (first && lines->first_only))
			continue;
		/* a quote that runs on into the next piece: the pieces are no whole words */
		if (open)
			return quote_error(last, text, path, diag);
		r = look_at(text, piece, wanted, &look);
		if (r < 0)
			return r;
		if (!dashes) {
			r = edit_piece(text, piece, want, only_remove, &edits->pieces[i]);
			if (r < 0)
				return r;
			changed |= r;
			asks |= look.asks;
		}
		dashes |= look.dashes;
		open = look.open && !look.dashes;
		last = piece;
		first = first ? first : piece;
	}
	if (!first || !writes || asks)
		return changed;
	r = edit_piece(text, first, want, flags, &edits->pieces[first - lines->pieces]);
	return r == -EINVAL ? quote_error(first, text, path, diag) : r < 0 ? r : 1;
}

int lines_edit(const char *text, size_t size, const struct lines *lines, enum memcg_state want,
	       unsigned flags, const char *path, char **ret, size_t *ret_size,
	       struct diag *diag)
{
	_cleanup_(edits_done) struct edits edits = {};
	_cleanup_strbuf_ struct strbuf out = {};
	size_t at = 0;
	int changed = 0, r;

	edits.pieces = calloc(lines->n ? lines->n : 1, sizeof(*edits.pieces));
	if (!edits.pieces)
		return -ENOMEM;
	edits.n = lines->n;
	for (size_t group = 0; group < lines->n_groups; group++) {
		r = edit_group(text, lines, group, want, flags, path, &edits, diag);
		if (r < 0)
			return r;
		changed |= r;
	}
	for (size_t i = 0; i < lines->n; i++) {
		const struct line_piece *piece = &lines->pieces[i];
		const struct piece_edit *edit = &edits.pieces[i];

		if (!edit->text)
			continue;
		strbuf_add(&out, text + at, piece->offset - at);
		strbuf_add(&out, edit->text, edit->size);
		at = piece->offset + piece->size;
	}
	strbuf_add(&out, text + at, size - at);
	r = strbuf_take(&out, ret, ret_size);
	return r < 0 ? r : changed;
}

/* --- taking back --- */

struct asks {
	bool on;
	bool off;
};

static int group_asks(const char *text, const struct lines *lines, size_t group,
		      struct asks *ret)
{
	_cleanup_free_ char *joined = NULL;
	_cleanup_cmdline_ struct cmdline cmdline = {};
	struct asks asks = {};
	int r;

	if (group >= lines->n_groups) {
		*ret = asks;
		return 0;
	}
	r = lines_join(text, lines, group, &joined);

	if (r >= 0)
		r = cmdline_parse(joined, strlen(joined), CMDLINE_LINE, &cmdline);
	if (r < 0)
		return r;
	for (size_t i = 0; i < cmdline.n && !cmdline.words[i].for_init; i++) {
		asks.on |= cmdline_word_request(&cmdline, i) == CMDLINE_ON;
		asks.off |= cmdline_word_request(&cmdline, i) == CMDLINE_OFF;
	}
	*ret = asks;
	return 0;
}

/* The group of another version of the file that answers to this one. */
static size_t same_group(const struct lines *lines, const struct lines *other, size_t group)
{
	return lines->n_groups == other->n_groups ? group : 0;
}

/* Whether all groups ask for the same, so that it does not matter which is which. */
static int is_uniform(const char *text, const struct lines *lines)
{
	struct asks first = {}, asks;
	int r;

	for (size_t i = 0; i < lines->n_groups; i++) {
		r = group_asks(text, lines, i, i ? &asks : &first);
		if (r < 0)
			return r;
		if (i && (asks.on != first.on || asks.off != first.off))
			return 0;
	}
	return lines->n_groups > 0;
}

static int cannot_tell(const char *path, const char *why, struct diag *diag)
{
	diag_error(diag, &(struct diag_where){ .path = path, .hint = "memcg-policy history" },
		   "%s since this tool wrote it: which words are to go back cannot be told",
		   why);
	return -ENOTSUP;
}

/* Makes one group ask for what is wanted of it, by the edits there are. */
static int put_back(struct content *now, lines_find_t find, const char *path, size_t group,
		    const struct asks *want, const struct asks *is, struct diag *diag)
{
	static const struct {
		enum memcg_state state;
		unsigned flags;
	} steps[2][2][2] = {
		/* neither: take both out */
		[0][0] = { { MEMCG_ON, 0 }, { MEMCG_OFF, CMDLINE_NO_DISABLE } },
		[0][1] = { { MEMCG_OFF, 0 } },
		[1][0] = { { MEMCG_ON, CMDLINE_WRITE_ENABLE } },
	};

	if (want->on == is->on && want->off == is->off)
		return 0;
	if (want->on && want->off)
		return cannot_tell(path, "it asked for both on and off, and was changed", diag);
	for (size_t i = 0; i < 2 && steps[want->on][want->off][i].state; i++) {
		_cleanup_lines_ struct lines all = {}, one = {};
		char *text;
		size_t size;
		int r = find(now->data, now->size, path, &all, diag);

		one.first_only = all.first_only;
		for (size_t k = 0; k < all.n && r >= 0; k++)
			if (all.pieces[k].group == group)
				r = lines_add(&one, 0, all.pieces[k].offset, all.pieces[k].size,
					      all.pieces[k].line);
		if (r >= 0)
			r = lines_edit(
				now->data, now->size, &one, steps[want->on][want->off][i].state,
				steps[want->on][want->off][i].flags, path, &text, &size, diag);
		if (r < 0)
			return r;
		free(now->data);
		*now = (struct content){ text, size };
	}
	return 0;
}

int lines_take_back(lines_find_t find, const char *path, const struct content *before,
		    const struct content *written, const struct content *now,
		    struct content *ret, struct diag *diag)
{
	_cleanup_lines_ struct lines b = {}, w = {}, n = {};
	_cleanup_content_ struct content out = {};
	int r;

	if (!before->data || !written->data || !now->data)
		return cannot_tell(path, "the file was made or deleted", diag);
	r = find(before->data, before->size, path, &b, diag);
	if (r >= 0)
		r = find(written->data, written->size, path, &w, diag);
	if (r >= 0)
		r = find(now->data, now->size, path, &n, diag);
	if (r >= 0 && (b.n_groups != n.n_groups || w.n_groups != n.n_groups)) {
		/* a file that had none asked for nothing */
		r = b.n_groups == 0 ? 1 : is_uniform(before->data, &b);
		if (r > 0)
			r = is_uniform(written->data, &w);
		if (r == 0)
			r = cannot_tell(path, "command lines came or went", diag);
	}
	if (r < 0)
		return r;
	out.data = str_dup_n(now->data, now->size);
	if (!out.data)
		return -ENOMEM;
	out.size = now->size;
	for (size_t group = 0; group < n.n_groups; group++) {
		struct asks was, made, is, want;

		r = group_asks(before->data, &b, same_group(&n, &b, group), &was);
		if (r >= 0)
			r = group_asks(written->data, &w, same_group(&n, &w, group), &made);
		if (r >= 0)
			r = group_asks(now->data, &n, group, &is);
		if (r < 0)
			return r;
		/* what we did not change is as somebody else wants it now */
		want.on = was.on == made.on ? is.on : was.on;
		want.off = was.off == made.off ? is.off : was.off;
		r = put_back(&out, find, path, group, &want, &is, diag);
		if (r < 0)
			return r;
	}
	*ret = out;
	out = (struct content){};
	return 0;
}
