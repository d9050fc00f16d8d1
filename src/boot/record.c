/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot/record.h"

#include "base/diag.h"
#include "base/json.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/file.h>
#include <time.h>

enum {
	RECORD_SCHEMA = 1,
	LOCK_WAIT_SECONDS = 60,
};

/* --- bytes in JSON: base64 (RFC 4648), since a file need not be UTF-8 --- */

static const char base64_digits[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void add_bytes(struct json *object, const char *key, const struct content *content)
{
	_cleanup_strbuf_ struct strbuf buf = {};
	const unsigned char *p = (const unsigned char *)content->data;

	if (!content->data) {
		json_add_null(object, key);
		return;
	}
	strbuf_adds(&buf, "");
	for (size_t i = 0; i < content->size; i += 3) {
		size_t n = MIN(content->size - i, (size_t)3);
		unsigned v = (unsigned)p[i] << 16 | (n > 1 ? (unsigned)p[i + 1] << 8 : 0) |
			     (n > 2 ? p[i + 2] : 0);
		char out[4] = {
			base64_digits[v >> 18],
			base64_digits[v >> 12 & 63],
			n > 1 ? base64_digits[v >> 6 & 63] : '=',
			n > 2 ? base64_digits[v & 63] : '=',
		};

		strbuf_add(&buf, out, 4);
	}
	/* a lost string makes the whole document fail to print */
	json_add_string(object, key, buf.failed ? NULL : buf.data);
	if (buf.failed)
		json_add(object, key, NULL);
}

static int get_bytes(const struct json *object, const char *key, struct content *ret)
{
	const struct json *value = json_get(object, key);
	const char *text = json_as_string(value);
	_cleanup_strbuf_ struct strbuf buf = {};
	size_t n;

	if (!json_has(object, key))
		return -EBADMSG;
	if (!value)
		return 0; /* null: no file */
	n = text ? strlen(text) : 1;
	if (n % 4 != 0)
		return -EBADMSG;
	for (size_t i = 0; i < n; i += 4) {
		unsigned v = 0, pad = 0;

		for (size_t k = 0; k < 4; k++) {
			const char *digit = strchr(base64_digits, text[i + k]);

			if (digit && pad == 0)
				v = v << 6 | (unsigned)(digit - base64_digits);
			else if (text[i + k] == '=' && k >= 2 && i + 4 == n) {
				v <<= 6;
				pad++;
			} else
				return -EBADMSG;
		}
		strbuf_addc(&buf, (char)(v >> 16));
		if (pad < 2)
			strbuf_addc(&buf, (char)(v >> 8 & 255));
		if (pad < 1)
			strbuf_addc(&buf, (char)(v & 255));
	}
	return strbuf_take(&buf, &ret->data, &ret->size);
}

/* --- a record as JSON --- */

/*
 * A name with bytes that JSON text cannot hold (json.h escapes them, for people) is there a
 * second time, as bytes.
 */
static void add_path(struct json *object, const char *path)
{
	_cleanup_free_ char *escaped = str_escape(path, strlen(path));

	json_add_string(object, "path", path);
	if (!escaped)
		json_add(object, "path", NULL); /* out of memory: printing fails */
	else if (!streq(escaped, path))
		add_bytes(object, "path_bytes",
			  &(struct content){ .data = (char *)(uintptr_t)path,
					     .size = strlen(path) });
}

static struct json *strings_to_json(const struct strv *v)
{
	struct json *array = json_new_array();

	for (size_t i = 0; i < v->n; i++)
		json_append_string(array, v->items[i]);
	return array;
}

static int print_record(const struct changeset *cs, const char *verb, const struct strv *made,
			char **ret)
{
	_cleanup_json_ struct json *top = json_new_object();
	struct json *edits = json_new_array(), *undoes = json_new_array();

	json_add_int(top, "schema", RECORD_SCHEMA);
	json_add_string(top, "version", VERSION);
	json_add_int(top, "time", time(NULL));
	json_add_string(top, "verb", verb);
	json_add_string(top, "backend", cs->backend);
	json_add_string(top, "want", boot_want_to_string(cs->want));
	json_add_bool(top, "refresh", cs->refresh == REFRESH_RUN);
	json_add_bool(top, "once", cs->once);
	for (size_t i = 0; i < cs->n_undoes; i++)
		json_append_u64(undoes, cs->undoes[i]);
	json_add(top, "undoes", undoes);
	json_add(top, "made", strings_to_json(made));
	json_add(top, "rmdirs", strings_to_json(&cs->rmdirs));
	json_add(top, "initrds", strings_to_json(&cs->initrds));
	for (size_t i = 0; i < cs->n; i++) {
		const struct edit *edit = &cs->edits[i];
		struct json *object = json_new_object();

		add_path(object, edit->path);
		json_add_int(object, "mode", edit->mode);
		json_add_int(object, "flags", edit->flags);
		add_bytes(object, "old", &edit->old);
		add_bytes(object, "new", &edit->new);
		json_append(edits, object);
	}
	json_add(top, "edits", edits);
	return json_print(top, false, ret);
}

static int get_string(const struct json *object, const char *key, char **ret)
{
	const char *s = json_as_string(json_get(object, key));

	if (!s)
		return -EBADMSG;
	*ret = strdup(s);
	return *ret ? 0 : -ENOMEM;
}

static int get_path(const struct json *object, char **ret)
{
	_cleanup_content_ struct content bytes = {};
	int r;

	if (!json_has(object, "path_bytes"))
		r = get_string(object, "path", ret);
	else {
		r = get_bytes(object, "path_bytes", &bytes);
		if (r >= 0 && (!bytes.data || strlen(bytes.data) != bytes.size))
			r = -EBADMSG;
		if (r >= 0)
			*ret = TAKE_PTR(bytes.data);
	}
	return r >= 0 && **ret != '/' ? -EBADMSG : r;
}

static int get_strings(const struct json *object, const char *key, struct strv *ret)
{
	const struct json *array = json_get(object, key);

	if (!json_is_array(array))
		return -EBADMSG;
	for (size_t i = 0; i < json_length(array); i++) {
		const char *s = json_as_string(json_at(array, i));

		if (!s || *s != '/')
			return -EBADMSG;
		strv_add(ret, s);
	}
	return strv_error(ret);
}

static int get_edit(const struct json *object, struct edit *ret)
{
	uint64_t mode, flags;
	int r = get_path(object, &ret->path);

	if (r >= 0)
		r = get_bytes(object, "old", &ret->old);
	if (r >= 0)
		r = get_bytes(object, "new", &ret->new);
	if (r < 0)
		return r;
	if (json_as_u64(json_get(object, "mode"), &mode) < 0 || mode > 07777 ||
	    json_as_u64(json_get(object, "flags"), &flags) < 0 || flags > UINT_MAX)
		return -EBADMSG;
	ret->mode = (mode_t)mode;
	ret->flags = (unsigned)flags;
	return 0;
}

static int get_edits(const struct json *array, struct changeset *ret)
{
	size_t n = json_length(array);

	if (!json_is_array(array))
		return -EBADMSG;
	ret->edits = calloc(n + 1, sizeof(*ret->edits));
	if (!ret->edits)
		return -ENOMEM;
	ret->alloc = n + 1;
	for (size_t i = 0; i < n; i++) {
		int r = get_edit(json_at(array, i), &ret->edits[ret->n++]);

		if (r < 0)
			return r;
	}
	return 0;
}

static int get_undoes(const struct json *array, struct changeset *ret)
{
	size_t n = json_length(array);

	if (!json_is_array(array))
		return -EBADMSG;
	ret->undoes = calloc(n + 1, sizeof(*ret->undoes));
	if (!ret->undoes)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		uint64_t number;

		if (json_as_u64(json_at(array, i), &number) < 0 || number > UINT32_MAX)
			return -EBADMSG;
		ret->undoes[ret->n_undoes++] = (unsigned)number;
	}
	return 0;
}

static int parse_record(const struct json *top, struct record *ret)
{
	const char *backend = json_as_string(json_get(top, "backend")),
		   *want = json_as_string(json_get(top, "want"));
	uint64_t schema, when;
	bool refresh;
	int r;

	if (json_as_u64(json_get(top, "schema"), &schema) < 0 || schema != RECORD_SCHEMA ||
	    json_as_u64(json_get(top, "time"), &when) < 0 || when > INT64_MAX ||
	    json_as_bool(json_get(top, "refresh"), &refresh) < 0 || !want)
		return -EBADMSG;
	ret->time = (int64_t)when;
	ret->changes.refresh = refresh ? REFRESH_RUN : REFRESH_NONE;
	if (json_get(top, "once") &&
	    json_as_bool(json_get(top, "once"), &ret->changes.once) < 0)
		return -EBADMSG;
	ret->changes.want = boot_want_from_string(want);
	if (ret->changes.want < 0)
		return -EBADMSG;
	if (backend) {
		ret->changes.backend = strdup(backend);
		if (!ret->changes.backend)
			return -ENOMEM;
	}
	r = get_string(top, "version", &ret->version);
	if (r >= 0)
		r = get_string(top, "verb", &ret->verb);
	if (r >= 0)
		r = get_strings(top, "made", &ret->made);
	if (r >= 0)
		r = get_strings(top, "rmdirs", &ret->changes.rmdirs);
	/* older records have none */
	if (r >= 0 && json_has(top, "initrds"))
		r = get_strings(top, "initrds", &ret->changes.initrds);
	if (r >= 0)
		r = get_undoes(json_get(top, "undoes"), &ret->changes);
	if (r >= 0)
		r = get_edits(json_get(top, "edits"), &ret->changes);
	return r;
}

static int load_record(const struct root *root, const char *path, struct record *ret)
{
	_cleanup_record_ struct record record = {};
	_cleanup_json_ struct json *top = NULL;
	_cleanup_free_ char *text = NULL;
	size_t size, offset;
	int r;

	r = root_read(root, path, ROOT_MAX_JSON, &text, &size);
	if (r < 0)
		return r;
	r = json_parse(text, size, &top, &offset);
	if (r < 0)
		return r == -EINVAL ? -EBADMSG : r;
	r = parse_record(top, &record);
	if (r < 0)
		return r;
	*ret = record;
	record = (struct record){};
	return 0;
}

void record_done(struct record *record)
{
	free(record->version);
	free(record->verb);
	strv_done(&record->made);
	changeset_done(&record->changes);
	*record = (struct record){};
}

void history_done(struct history *history)
{
	for (size_t i = 0; i < history->n; i++)
		record_done(&history->records[i]);
	free(history->records);
	*history = (struct history){};
}

/* "0007.json" -> 7, or 0. */
static unsigned record_number(const char *name)
{
	_cleanup_free_ char *digits = NULL;
	unsigned number;

	if (!str_has_suffix(name, ".json"))
		return 0;
	digits = str_dup_n(name, strlen(name) - 5);
	return digits && str_parse_uint(digits, &number) >= 0 ? number : 0;
}

static int compare_records(const void *a, const void *b)
{
	unsigned x = ((const struct record *)a)->number, y = ((const struct record *)b)->number;

	return x < y ? -1 : x > y;
}

/* A change that was taken back counts no more, unless taking it back was itself undone. */
static void mark_taken_back(struct history *history)
{
	for (size_t i = history->n; i-- > 0;) {
		const struct record *record = &history->records[i];

		if (record->taken_back)
			continue;
		for (size_t k = 0; k < record->changes.n_undoes; k++)
			for (size_t j = 0; j < i; j++)
				if (history->records[j].number == record->changes.undoes[k])
					history->records[j].taken_back = true;
	}
}

int history_load(const struct root *root, struct history *ret, struct diag *diag)
{
	_cleanup_history_ struct history history = {};
	_cleanup_strv_ struct strv names = {};
	int r = root_list(root, RECORD_DIR, &names);

	if (r < 0 && r != -ENOENT) {
		diag_error(diag, &(struct diag_where){ .path = RECORD_DIR }, "cannot look: %s",
			   strerror(-r));
		return r;
	}
	history.records = calloc(names.n + 1, sizeof(*history.records));
	if (!history.records)
		return -ENOMEM;
	for (size_t i = 0; i < names.n; i++) {
		_cleanup_free_ char *path = NULL;
		unsigned number = record_number(names.items[i]);

		if (number == 0)
			continue;
		r = str_printf(&path, RECORD_DIR "/%s", names.items[i]);
		if (r >= 0)
			r = load_record(root, path, &history.records[history.n]);
		if (r == -ENOMEM || r == -ELIBACC)
			return r; /* not this record's fault */
		if (r < 0) {
			diag_warning(diag, &(struct diag_where){ .path = path },
				     "this change cannot be read, leaving it out: %s",
				     strerror(-r));
			continue;
		}
		history.records[history.n++].number = number;
	}
	if (history.n > 1)
		qsort(history.records, history.n, sizeof(*history.records), compare_records);
	mark_taken_back(&history);
	*ret = history;
	history = (struct history){};
	return 0;
}

bool record_is_pending(const struct root *root)
{
	return root_exists(root, RECORD_PENDING);
}

int record_load_pending(const struct root *root, struct record *ret, struct diag *diag)
{
	int r = load_record(root, RECORD_PENDING, ret);

	if (r == -ENOENT)
		return 0;
	if (r == -ENOMEM || r == -ELIBACC)
		return r; /* not this record's fault */
	if (r < 0) {
		diag_error(diag,
			   &(struct diag_where){
				   .path = RECORD_PENDING,
				   .hint = "look at the boot configuration, then remove this "
					   "file",
			   },
			   "an interrupted change cannot be read: %s", strerror(-r));
		return r;
	}
	return 1;
}

int record_begin(const struct root *root, const struct changeset *cs, const char *verb,
		 const struct strv *made)
{
	_cleanup_content_ struct content content = {};
	int r = print_record(cs, verb, made, &content.data);

	if (r < 0)
		return r;
	content.size = strlen(content.data);
	if (content.size > ROOT_MAX_JSON)
		return -EFBIG;
	r = atomic_put(root, RECORD_PENDING, &(struct content){}, &content, 0600, 0);
	return r < 0 ? r : 0;
}

int record_commit(const struct root *root)
{
	_cleanup_strv_ struct strv names = {};
	_cleanup_fd_ int dir = -EBADF;
	unsigned last = 0;
	char name[32];
	int r = root_list(root, RECORD_DIR, &names);

	if (r < 0)
		return r;
	for (size_t i = 0; i < names.n; i++)
		last = MAX(last, record_number(names.items[i]));
	(void)snprintf(name, sizeof(name), "%04u.json", last + 1); /* fits */
	r = root_open_dir(root, RECORD_DIR, &dir);
	if (r < 0)
		return r;
	if (renameat(dir, "pending.json", dir, name) < 0 || fsync(dir) < 0)
		return -errno;
	return 0;
}

int record_forget(const struct root *root)
{
	_cleanup_fd_ int dir = -EBADF;
	int r = root_open_dir(root, RECORD_DIR, &dir);

	if (r < 0)
		return r;
	if (unlinkat(dir, "pending.json", 0) < 0 || fsync(dir) < 0)
		return -errno;
	return 0;
}

int record_lock(const struct root *root, int *ret_fd, struct diag *diag)
{
	_cleanup_fd_ int dir = -EBADF, fd = -EBADF;
	const struct diag_where where = { .path = RECORD_LOCK };
	int r;

	r = atomic_mkdir(root, RECORD_DIR, 0700, NULL);
	if (r >= 0)
		r = root_open_dir(root, RECORD_DIR, &dir);
	if (r >= 0) {
		fd = openat(dir, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		r = fd < 0 ? -errno : 0;
	}
	if (r < 0) {
		diag_error(diag, &where, "cannot write here: %s", strerror(-r));
		return r;
	}
	for (unsigned tries = 0; flock(fd, LOCK_EX | LOCK_NB) < 0; tries++) {
		if (errno != EWOULDBLOCK && errno != EINTR) {
			r = -errno;
			diag_error(diag, &where, "cannot lock: %s", strerror(-r));
			return r;
		}
		if (tries >= LOCK_WAIT_SECONDS * 10) {
			diag_error(diag, &where,
				   "another memcg-policy has been changing this system for "
				   "more than %d s",
				   LOCK_WAIT_SECONDS);
			return -EWOULDBLOCK;
		}
		(void)nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
	}
	*ret_fd = TAKE_FD(fd);
	return 0;
}
