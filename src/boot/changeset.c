/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot/changeset.h"

#include "base/diag.h"
#include "boot/diff.h"
#include "boot/grubenv.h"
#include "boot/record.h"

static const char *const want_names[_BOOT_WANT_MAX] = {
	[BOOT_WANT_NOTHING] = "nothing",
	[BOOT_WANT_ON] = "on",
	[BOOT_WANT_OFF] = "off",
};

const char *boot_want_to_string(enum boot_want want)
{
	return want >= 0 && want < _BOOT_WANT_MAX ? want_names[want] : NULL;
}

enum boot_want boot_want_from_string(const char *s)
{
	for (int i = 0; i < _BOOT_WANT_MAX; i++)
		if (streq(want_names[i], s))
			return (enum boot_want)i;
	return _BOOT_WANT_INVALID;
}

static void edit_done(struct edit *edit)
{
	free(edit->path);
	content_done(&edit->old);
	content_done(&edit->new);
	*edit = (struct edit){};
}

void changeset_done(struct changeset *cs)
{
	for (size_t i = 0; i < cs->n; i++)
		edit_done(&cs->edits[i]);
	free(cs->edits);
	for (size_t i = 0; i < cs->n_commands; i++)
		strv_done(&cs->commands[i].argv);
	free(cs->commands);
	free(cs->backend);
	free(cs->undoes);
	strv_done(&cs->initrds);
	strv_done(&cs->rmdirs);
	*cs = (struct changeset){};
}

static struct edit *find_edit(const struct changeset *cs, const char *path)
{
	for (size_t i = 0; i < cs->n; i++)
		if (streq(cs->edits[i].path, path))
			return &cs->edits[i];
	return NULL;
}

const struct edit *changeset_find(const struct changeset *cs, const char *path)
{
	return find_edit(cs, path);
}

void changeset_add_flags(struct changeset *cs, const char *path, unsigned flags)
{
	struct edit *edit = find_edit(cs, path);

	if (edit)
		edit->flags |= flags;
}

static void drop_edit(struct changeset *cs, struct edit *edit)
{
	size_t i = (size_t)(edit - cs->edits);

	edit_done(edit);
	memmove(edit, edit + 1, (cs->n - i - 1) * sizeof(*edit));
	cs->n--;
}

static int append_edit(struct changeset *cs, struct edit *edit)
{
	if (!GROW(cs->edits, cs->n, cs->alloc))
		return -ENOMEM;
	cs->edits[cs->n++] = *edit;
	*edit = (struct edit){};
	return 0;
}

int changeset_edit(struct changeset *cs, const struct root *root, const char *path, size_t max,
		   const char *data, size_t size, mode_t mode, unsigned flags,
		   struct diag *diag)
{
	struct edit *old = find_edit(cs, path);
	_cleanup_(edit_done) struct edit edit = { .mode = mode, .flags = flags };
	int r;

	if (old)
		drop_edit(cs, old);
	edit.path = strdup(path);
	if (!edit.path)
		return -ENOMEM;
	r = content_read(root, path, max, &edit.old);
	if (r < 0) {
		if (r != -ENOMEM)
			diag_error(diag, &(struct diag_where){ .path = path }, "%s",
				   root_read_error(r));
		return r;
	}
	if (data) {
		edit.new.data = str_dup_n(data, size);
		if (!edit.new.data)
			return -ENOMEM;
		edit.new.size = size;
	}
	if (content_equal(&edit.old, &edit.new) && !(flags & ATOMIC_TOUCH))
		return 0;
	return append_edit(cs, &edit);
}

int changeset_edit_unmade(struct changeset *cs, const struct root *root, const char *path,
			  size_t max, mode_t mode, unsigned flags, struct diag *diag)
{
	int r = changeset_edit(cs, root, path, max, "", 1, mode, flags, diag);
	struct edit *edit = find_edit(cs, path);

	if (r >= 0 && edit)
		edit->unmade = true;
	return r;
}

int changeset_add_command(struct changeset *cs, const char *const *argv)
{
	struct command command = {};

	if (!GROW(cs->commands, cs->n_commands, cs->commands_alloc))
		return -ENOMEM;
	for (; *argv; argv++)
		strv_add(&command.argv, *argv);
	cs->commands[cs->n_commands++] = command;
	return strv_error(&command.argv);
}

/* Something is run after the edits. */
static bool has_sequel(const struct changeset *cs)
{
	return cs->refresh == REFRESH_RUN || cs->initrds.n > 0;
}

bool changeset_is_empty(const struct changeset *cs)
{
	return cs->n == 0 && !has_sequel(cs);
}

void changeset_diff_edit(const struct edit *edit, struct strbuf *ret)
{
	const struct content *old = &edit->old, *new = &edit->new;

	diff_unified(ret, old->data ? edit->path : NULL, old->data,
		     grubenv_text_size(old->data, old->size), new->data ? edit->path : NULL,
		     new->data, grubenv_text_size(new->data, new->size));
}

int changeset_diff(const struct changeset *cs, struct strbuf *ret)
{
	for (size_t i = 0; i < cs->n; i++)
		changeset_diff_edit(&cs->edits[i], ret);
	return ret->failed ? -ENOMEM : 0;
}

/* --- running --- */

static char *parent_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return str_dup_n(path, slash == path ? 1 : (size_t)(slash - path));
}

/* The directories that the edits will make, outermost first: recorded before they are made. */
static int missing_dirs(const struct changeset *cs, const struct root *root, struct strv *ret)
{
	for (size_t i = 0; i < cs->n; i++) {
		const char *path = cs->edits[i].path;

		if (!cs->edits[i].new.data)
			continue;
		for (const char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
			_cleanup_free_ char *dir = str_dup_n(path, (size_t)(p - path));

			if (!dir)
				return -ENOMEM;
			if (!root_exists(root, dir))
				strv_add_unique(ret, dir);
		}
	}
	return strv_error(ret);
}

static int apply_edit(const struct root *root, const char *path, const struct content *expected,
		      const struct content *wanted, mode_t mode, unsigned flags)
{
	if (wanted->data) {
		_cleanup_free_ char *dir = parent_of(path);
		int r = dir ? atomic_mkdir(root, dir, 0755, NULL) : -ENOMEM;

		if (r < 0)
			return r;
	}
	return atomic_put(root, path, expected, wanted, mode, flags);
}

/* -EPERM is what a plan that is refused comes with, and --force would not help here. */
static int write_error(int r)
{
	return r == -EPERM ? -EACCES : r;
}

static void report_write(struct diag *diag, enum diag_level level, const char *path, int r)
{
	const char *hint = NULL;

	if (r == -EROFS)
		hint = "make the file system writable, then run this again";
	else if (r == -ENOSPC || r == -EDQUOT)
		hint = "make room, then run this again";
	else if (r == -EPERM || r == -EACCES)
		hint = geteuid() == 0 ? "lsattr shows whether the file is immutable"
				      : "run this as root";
	diag_add(diag, level, &(struct diag_where){ .path = path, .hint = hint }, "%s",
		 r == -ESTALE ? "was changed by somebody else meanwhile" : strerror(-r));
}

/* Each holds four descriptors while it is on its way. */
enum { BATCH_MAX = 64 };

/*
 * How many edits from i on go to the disk together: replacements that a boot loader reads,
 * whose times mean nothing.
 */
static size_t batch_size(const struct changeset *cs, size_t i)
{
	size_t n = 0;

	for (; i + n < cs->n && n < BATCH_MAX; n++) {
		const struct edit *e = &cs->edits[i + n];

		if (e->flags != ATOMIC_BOOT || !e->old.data || !e->new.data)
			break;
	}
	return n;
}

static int apply_batch(const struct root *root, const struct edit *edits, size_t n,
		       struct diag *diag)
{
	struct atomic_change changes[BATCH_MAX];
	size_t at = 0;
	int r;

	for (size_t i = 0; i < n; i++)
		changes[i] = (struct atomic_change){ .path = edits[i].path,
						     .expected = &edits[i].old,
						     .wanted = &edits[i].new,
						     .mode = edits[i].mode,
						     .flags = edits[i].flags };
	r = atomic_put_all(root, changes, n, &at);
	if (r < 0)
		report_write(diag, DIAG_ERROR, edits[at].path, r);
	return write_error(r);
}

static int apply(const struct root *root, const struct changeset *cs, struct diag *diag)
{
	for (size_t i = 0; i < cs->n;) {
		const struct edit *e = &cs->edits[i];
		size_t n = batch_size(cs, i);
		int r;

		if (n > 1) {
			r = apply_batch(root, e, n, diag);
			i += n;
		} else {
			r = apply_edit(root, e->path, &e->old, &e->new, e->mode, e->flags);
			if (r < 0)
				report_write(diag, DIAG_ERROR, e->path, r);
			i++;
		}
		if (r < 0)
			return write_error(r);
	}
	for (size_t i = 0; i < cs->rmdirs.n; i++) {
		int r = atomic_rmdir(root, cs->rmdirs.items[i]);

		if (r < 0) {
			report_write(diag, DIAG_ERROR, cs->rmdirs.items[i], r);
			return write_error(r);
		}
	}
	return 0;
}

/*
 * Puts the old bytes back, in the order they were changed in: which of two files is the newer
 * means something to some tools. What is for one boot goes the other way: what names another
 * file was written last. A file somebody else changed is left to them.
 */
static int put_back(const struct root *root, const struct changeset *cs,
		    const struct strv *made, struct diag *diag)
{
	int first = 0;

	for (size_t i = 0; i < cs->n; i++) {
		const struct edit *e = &cs->edits[cs->once ? cs->n - 1 - i : i];
		int r;

		if (e->flags & EDIT_ONE_WAY)
			continue;
		r = apply_edit(root, e->path, &e->new, &e->old, e->mode, e->flags);
		if (r == -ESTALE)
			diag_warning(diag, &(struct diag_where){ .path = e->path },
				     "was changed by somebody else meanwhile, leaving it as "
				     "it is");
		else if (r < 0) {
			report_write(diag, DIAG_ERROR, e->path, r);
			first = first < 0 ? first : r;
		}
	}
	for (size_t i = made->n; i-- > 0;)
		IGNORE(atomic_rmdir(root,
				    made->items[i])); /* an empty directory does no harm */
	return first;
}

/* After a failure (with an error in diag): everything as it was, and says so. Returns cause. */
static int roll_back(const struct root *root, const struct changeset *cs,
		     const struct strv *made, int cause, struct diag *diag)
{
	int r = put_back(root, cs, made, diag);

	if (r >= 0)
		r = record_forget(root);
	if (r < 0)
		diag_error(diag,
			   &(struct diag_where){
				   .path = RECORD_PENDING,
				   .hint = "when the cause is gone: memcg-policy apply",
			   },
			   "the change could not be put back wholly (%s); the next run will "
			   "go on with that",
			   strerror(-r));
	else if (cs->n > 0)
		diag_notice(diag, NULL, "all files were put back as they were");
	return cause;
}

static bool all_new(const struct root *root, const struct changeset *cs)
{
	for (size_t i = 0; i < cs->n; i++) {
		const struct edit *e = &cs->edits[i];
		_cleanup_content_ struct content now = {};

		if (content_read(root, e->path, MAX(e->old.size, e->new.size) + 1, &now) < 0 ||
		    !content_equal(&now, &e->new))
			return false;
	}
	return true;
}

/* Finishes or takes back what a killed run left behind. Under the lock. */
static int recover(const struct changeset_task *task, struct diag *diag)
{
	_cleanup_record_ struct record record = {};
	int r = record_load_pending(task->root, &record, diag);

	if (r <= 0)
		return r;
	for (size_t i = 0; i < record.changes.n; i++)
		IGNORE(atomic_clean(task->root, record.changes.edits[i].path)); /* tidiness */
	for (size_t i = 0; i < record.changes.initrds.n; i++)
		IGNORE(atomic_clean(task->root,
				    record.changes.initrds.items[i])); /* likewise */
	if (record.changes.once || !all_new(task->root, &record.changes)) {
		r = roll_back(task->root, &record.changes, &record.made, 0, diag);
		if (r >= 0 && !record_is_pending(task->root))
			diag_notice(diag, NULL,
				    "an interrupted change (%s) was taken back first",
				    record.verb);
		return record_is_pending(task->root) ? -EIO : 0;
	}
	/* again: of the edits nothing is left to do, but empty directories may be */
	r = apply(task->root, &record.changes, diag);
	if (r >= 0 && has_sequel(&record.changes))
		r = task->finish(task->userdata, &record.changes, diag);
	if (r < 0)
		return roll_back(task->root, &record.changes, &record.made, r, diag);
	r = record_commit(task->root);
	if (r < 0) {
		report_write(diag, DIAG_ERROR, RECORD_PENDING, r);
		return write_error(r);
	}
	diag_notice(diag, NULL, "an interrupted change (%s) was finished first", record.verb);
	return 0;
}

static bool is_unmade(const struct changeset *cs)
{
	for (size_t i = 0; i < cs->n; i++)
		if (cs->edits[i].unmade)
			return true;
	return false;
}

static int run_locked(const struct changeset_task *task, struct changeset *cs,
		      struct diag *diag)
{
	_cleanup_strv_ struct strv made = {};
	int r = is_unmade(cs) ? task->make(task->userdata, cs, diag) : 0;

	if (r >= 0)
		r = missing_dirs(cs, task->root, &made);
	if (r < 0)
		return r;
	r = record_begin(task->root, cs, task->verb, &made);
	if (r < 0) {
		report_write(diag, DIAG_ERROR, RECORD_PENDING, r);
		return write_error(r);
	}
	r = apply(task->root, cs, diag);
	if (r >= 0 && has_sequel(cs))
		r = task->finish(task->userdata, cs, diag);
	if (r < 0)
		return roll_back(task->root, cs, &made, r, diag);
	r = record_commit(task->root);
	if (r < 0) {
		report_write(diag, DIAG_ERROR, RECORD_PENDING, r);
		return write_error(r); /* everything is done; the next run commits it */
	}
	return CHANGESET_CHANGED;
}

int changeset_run(const struct changeset_task *task, struct changeset *ret_plan,
		  struct diag *diag)
{
	_cleanup_fd_ int lock = -EBADF;
	bool pending = record_is_pending(task->root);
	int r;

	if (!pending || task->dry_run) {
		_cleanup_diag_ struct diag first = {};

		if (pending)
			diag_notice(diag, &(struct diag_where){ .path = RECORD_PENDING },
				    "a change was interrupted; it would be finished or taken "
				    "back first");
		r = task->plan(task->userdata, ret_plan, &first);
		if (r < 0 || task->dry_run || changeset_is_empty(ret_plan)) {
			diag_move(diag, &first);
			if (r < 0)
				return r;
			return changeset_is_empty(ret_plan) ? CHANGESET_UNCHANGED
							    : CHANGESET_WOULD_CHANGE;
		}
		changeset_done(ret_plan); /* what counts is the plan made under the lock */
	}
	r = record_lock(task->root, &lock, diag);
	if (r >= 0) {
		IGNORE(atomic_clean(task->root, RECORD_PENDING)); /* tidiness */
		r = recover(task, diag);
	}
	if (r >= 0)
		r = task->plan(task->userdata, ret_plan, diag);
	if (r < 0)
		return r;
	if (changeset_is_empty(ret_plan))
		return CHANGESET_UNCHANGED;
	return run_locked(task, ret_plan, diag);
}
