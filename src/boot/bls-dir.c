/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot/bls-dir.h"

#include "base/diag.h"
#include "boot/systemd-trial.h"
#include "boot/text.h"

#include <ctype.h>
#include <fnmatch.h>

static const struct text_kind kinds[] = {
	[BLS_SYSTEMD] = { .find = bls_find_systemd,
			  .max = BLS_MAX_FILE,
			  .flags = ATOMIC_BOOT,
			  .key = "options " },
	[BLS_GRUB] = { .find = bls_find_grub, .max = BLS_MAX_FILE, .flags = ATOMIC_BOOT },
};

/* One file that is an entry. */
struct found {
	char *path;
	char *text;
	struct bls_entry entry;
};

struct founds {
	struct found *items;
	size_t n;
	size_t alloc;
};

static void founds_done(struct founds *founds)
{
	for (size_t i = 0; i < founds->n; i++) {
		free(founds->items[i].path);
		free(founds->items[i].text);
		bls_entry_done(&founds->items[i].entry);
	}
	free(founds->items);
}

static struct found *add_found(struct founds *founds)
{
	if (!GROW(founds->items, founds->n, founds->alloc))
		return NULL;
	founds->items[founds->n] = (struct found){};
	return &founds->items[founds->n++];
}

static void warn(struct diag *diag, const char *path, unsigned line, const char *text)
{
	diag_warning(diag, &(struct diag_where){ .path = path, .line = line }, "%s", text);
}

static int read_file(const struct boot *boot, const struct bls_source *source, const char *dir,
		     const char *name, struct founds *founds, struct diag *diag)
{
	_cleanup_free_ char *path = NULL, *text = NULL;
	struct found *found;
	size_t size;
	int r;

	if (str_printf(&path, "%s/%s", dir, name) < 0)
		return -ENOMEM;
	r = root_read(boot->root, path, BLS_MAX_FILE, &text, &size);
	if (r < 0) {
		if (r != -ENOMEM && r != -EISDIR && r != -ENOENT)
			warn(diag, path, 0, root_read_error(r));
		return r == -ENOMEM ? r : 0;
	}
	found = add_found(founds);
	if (!found)
		return -ENOMEM;
	found->path = TAKE_PTR(path);
	found->text = TAKE_PTR(text);
	return bls_parse(name, found->text, size, source->reader, &found->entry);
}

static int read_dirs(const struct boot *boot, const struct bls_source *source,
		     struct founds *founds, struct diag *diag)
{
	for (const char *const *dir = source->dirs; *dir; dir++) {
		_cleanup_strv_ struct strv names = {};
		int r = root_list(boot->root, *dir, &names);

		if (r == -ENOMEM)
			return r;
		if (r < 0 && r != -ENOENT && r != -ENOTDIR) {
			warn(diag, *dir, 0, root_read_error(r));
			continue;
		}
		for (size_t i = 0; i < names.n && founds->n < BLS_MAX_FILES; i++) {
			if (!bls_is_entry_name(names.items[i], source->reader))
				continue;
			r = read_file(boot, source, *dir, names.items[i], founds, diag);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

static int compare_systemd(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	return bls_compare(&x->entry, &y->entry, BLS_SYSTEMD);
}

static int compare_grub(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	return bls_compare(&x->entry, &y->entry, BLS_GRUB);
}

/* --- whose it is --- */

/* The id of this installation, 32 hexadecimal digits, or NULL. */
static char *machine_id(const struct root *root)
{
	char *id;

	if (root_read(root, "/etc/machine-id", 256, &id, NULL) < 0)
		return NULL;
	id[strcspn(id, "\n")] = '\0';
	if (strlen(id) == 32)
		return id;
	free(id);
	return NULL;
}

/* The release an entry is for: its version, or what its image is named after. */
static const char *release_of(const struct bls_entry *entry)
{
	static const char *const prefixes[] = { "vmlinuz-", "vmlinux-", "kernel-", "Image-",
						"linux-" };
	const char *slash = entry->image ? strrchr(entry->image, '/') : NULL;
	const char *name = slash ? slash + 1 : entry->image;

	for (size_t i = 0; name && i < ARRAY_SIZE(prefixes); i++)
		if (str_skip_prefix(name, prefixes[i]))
			return str_skip_prefix(name, prefixes[i]);
	return entry->version;
}

static bool has_modules(const struct root *root, const char *release)
{
	static const char *const dirs[] = { "/usr/lib/modules", "/lib/modules" };

	for (size_t i = 0; release && *release && i < ARRAY_SIZE(dirs); i++) {
		_cleanup_free_ char *path = NULL;

		if (str_printf(&path, "%s/%s", dirs[i], release) >= 0 &&
		    root_exists(root, path))
			return true;
	}
	return false;
}

/* Where the root has the file that the loader calls by a name below its own file system. */
static int find_image(const struct root *root, const char *entry_path, const char *image,
		      char **ret)
{
	/* "/boot/loader/entries/x.conf": names start at /boot, or at / */
	const char *end = strstr(entry_path, "/loader/entries/");
	_cleanup_free_ char *below = NULL;

	if (end && str_printf(&below, "%.*s%s%s", (int)(end - entry_path), entry_path,
			      *image == '/' ? "" : "/", image) < 0)
		return -ENOMEM;
	if (below && root_exists(root, below))
		*ret = TAKE_PTR(below);
	else
		*ret = strdup(image);
	return *ret ? 0 : -ENOMEM;
}

static bool is_ours(const struct boot *boot, const struct bls_entry *entry, const char *image,
		    const char *id)
{
	const char *release = release_of(entry);

	if (entry->not_linux || entry->rescue || entry->boom)
		return false;
	if (id && entry->machine_id)
		return streq(entry->machine_id, id);
	if (id && strncmp(entry->id, id, 32) == 0)
		return true;
	/* an image's entries carry the id of the machine it was built on */
	if (has_modules(boot->root, release))
		return true;
	/* written by hand: by its file, if no other installation's kernels are around */
	return root_exists(boot->root, image) &&
	       !(strlen(entry->id) > 32 && entry->id[32] == '-' &&
		 strspn(entry->id, "0123456789abcdef") == 32);
}

/* --- entries --- */

static int set_args(const struct bls_source *source, const struct found *found, char **ret)
{
	_cleanup_free_ char *options = NULL;
	int r = lines_join(found->text, &found->entry.lines, 0, &options);

	if (r < 0)
		return r;
	if (!source->value) {
		*ret = TAKE_PTR(options);
		return 0;
	}
	return bls_expand(options, source->value, source->userdata, ret);
}

static int add_entry(const struct boot *boot, const struct bls_source *source,
		     const struct found *found, const char *id, struct boot_state *state,
		     struct diag *diag)
{
	const struct bls_entry *bls = &found->entry;
	struct boot_entry *entry = boot_entries_add(&state->entries);
	int r;

	if (!entry)
		return -ENOMEM;
	entry->id = strdup(bls->id);
	entry->title = strdup(bls->title ? bls->title : bls->id);
	entry->source = strdup(found->path);
	entry->line = bls->lines.n > 0 ? bls->lines.pieces[0].line : 1;
	entry->recovery = bls->rescue;
	if (!entry->id || !entry->title || !entry->source)
		return -ENOMEM;
	r = find_image(boot->root, found->path, bls->image, &entry->image);
	if (r >= 0)
		r = set_args(source, found, &entry->args);
	if (r < 0)
		return r;
	if (release_of(bls) && !(entry->kernel = strdup(release_of(bls))))
		return -ENOMEM;
	entry->trial = streq(bls->id, SYSTEMD_TRIAL_ID);
	entry->ours = !entry->trial && is_ours(boot, bls, entry->image, id);
	if (entry->ours && bls->lines.n == 0) {
		/* systemd-boot boots it without; GRUB takes options from elsewhere then */
		entry->ours = source->reader == BLS_SYSTEMD;
		if (!entry->ours)
			warn(diag, found->path, bls->cut_line,
			     bls->cut_line ? "GRUB stops reading this entry here, before its "
					     "options: left as it is"
					   : "has no options line: left as it is");
	}
	return 0;
}

/* GRUB: id, title or number; systemd-boot: a shell pattern of the file's name, in any case. */
static bool is_chosen(const struct bls_source *source, const struct boot_entry *entry, size_t i)
{
	_cleanup_free_ char *name = NULL;
	unsigned number;

	if (source->reader == BLS_GRUB)
		return streq(source->chosen, entry->id) ||
		       streq(source->chosen, entry->title) ||
		       (str_parse_uint(source->chosen, &number) >= 0 && number == i);
	return str_printf(&name, "%s.conf", entry->id) >= 0 &&
	       (fnmatch(source->chosen, name, FNM_CASEFOLD) == 0 ||
		fnmatch(source->chosen, entry->id, FNM_CASEFOLD) == 0);
}

static void mark_default(const struct bls_source *source, struct boot_state *state,
			 size_t first)
{
	struct boot_entries *entries = &state->entries;

	for (size_t i = first; source->chosen && i < entries->n; i++)
		if (is_chosen(source, &entries->items[i], i - first)) {
			entries->items[i].is_default = true;
			return;
		}
	if (entries->n > first)
		entries->items[first].is_default = true;
}

/* systemd-boot takes programs of the partition as well: then no entry here is the default. */
static void take_head(const struct bls_source *source, struct founds *founds,
		      struct boot_state *state, size_t first)
{
	struct boot_entries *entries = &state->entries;
	struct found *head = founds->n > 0 ? &founds->items[0] : NULL;

	for (size_t i = 0; source->chosen && i < founds->n; i++) {
		const struct boot_entry entry = { .id = founds->items[i].entry.id };

		if (is_chosen(source, &entry, i)) {
			head = &founds->items[i];
			break;
		}
	}
	for (size_t i = first; head && i < entries->n; i++)
		entries->items[i].is_default = streq(entries->items[i].source, head->path);
	if (head && source->ret_head) {
		*source->ret_head = head->entry;
		head->entry = (struct bls_entry){};
	}
}

int bls_dir_read(const struct boot *boot, const struct bls_source *source,
		 struct boot_state *state, struct diag *diag)
{
	_cleanup_(founds_done) struct founds founds = {};
	_cleanup_free_ char *id = machine_id(boot->root);
	size_t first = state->entries.n;
	int r = read_dirs(boot, source, &founds, diag);

	if (r < 0)
		return r;
	if (founds.n > 0)
		qsort(founds.items, founds.n, sizeof(*founds.items),
		      source->reader == BLS_GRUB ? compare_grub : compare_systemd);
	for (size_t i = 0; i < founds.n; i++) {
		/* no kernel of ours to speak of: firmware tools, other loaders */
		if (!founds.items[i].entry.image)
			continue;
		r = add_entry(boot, source, &founds.items[i], id, state, diag);
		if (r < 0)
			return r;
	}
	if (source->reader == BLS_SYSTEMD)
		take_head(source, &founds, state, first);
	else
		mark_default(source, state, first);
	return 0;
}

/* --- changing --- */

/* GRUB stops at a line without a value: an edit must not make one. */
static int check_edit(const struct changeset *cs, const char *path, struct diag *diag)
{
	const struct edit *edit = changeset_find(cs, path);
	_cleanup_bls_entry_ struct bls_entry old = {}, new = {};
	int r;

	if (!edit)
		return 0;
	r = bls_parse("x.conf", edit->old.data, edit->old.size, BLS_GRUB, &old);
	if (r >= 0)
		r = bls_parse("x.conf", edit->new.data, edit->new.size, BLS_GRUB, &new);
	if (r < 0 || (new.cut_line == old.cut_line &&streq_ptr(new.image, old.image)))
		return r;
	diag_error(diag, &(struct diag_where){ .path = path, .line = new.cut_line },
		   "this options line would be left without a value, and GRUB stops reading "
		   "there");
	return -ENOTSUP;
}

/* How many values have quotes around them that systemd-boot takes off. */
static int count_quoted(const struct content *content, size_t *ret)
{
	_cleanup_bls_entry_ struct bls_entry entry = {};
	int r = bls_parse("x.conf", content->data, content->size, BLS_SYSTEMD, &entry);

	*ret = 0;
	for (size_t i = 0; r >= 0 && i < entry.lines.n; i++) {
		char before = content->data[entry.lines.pieces[i].offset - 1];

		*ret += before == '"' || before == '\'';
	}
	return r;
}

/* An edit must not leave a value that begins and ends with a quote by chance. */
static int check_quotes(const struct changeset *cs, const char *path, struct diag *diag)
{
	const struct edit *edit = changeset_find(cs, path);
	size_t old, new;
	int r = edit ? count_quoted(&edit->old, &old) : 0;

	if (edit && r >= 0)
		r = count_quoted(&edit->new, &new);
	if (r < 0 || !edit || old == new)
		return r;
	diag_error(diag, &(struct diag_where){ .path = path },
		   "an options line would begin and end with a quote, and systemd-boot would "
		   "take both off");
	return -ENOTSUP;
}

int bls_dir_plan(const struct boot *boot, const struct bls_source *source,
		 const struct boot_state *state, const struct boot_words *words,
		 struct changeset *cs, struct diag *diag)
{
	for (size_t i = 0; i < state->entries.n; i++) {
		const struct boot_entry *entry = &state->entries.items[i];
		int r;

		if (!entry->ours)
			continue;
		r = text_plan(boot, &kinds[source->reader], entry->source, words, cs, diag);
		/* systemd-boot renames entries while it counts boots: the next look sees it */
		if (r == -ENOENT)
			diag_error(diag, &(struct diag_where){ .path = entry->source },
				   "went away meanwhile");
		if (r > 0)
			r = source->reader == BLS_GRUB ? check_edit(cs, entry->source, diag)
						       : check_quotes(cs, entry->source, diag);
		if (r < 0)
			return r;
	}
	return 0;
}

int bls_take_back(enum bls_reader reader, const char *path, const struct content *before,
		  const struct content *written, const struct content *now, struct content *ret,
		  struct diag *diag)
{
	return text_take_back(&kinds[reader], path, before, written, now, ret, diag);
}

int bls_dir_options(const struct boot *boot, enum bls_reader reader, const char *path,
		    char **ret, struct diag *diag)
{
	_cleanup_free_ char *text = NULL;
	_cleanup_lines_ struct lines lines = {};
	size_t size;
	int r = root_read(boot->root, path, BLS_MAX_FILE, &text, &size);

	if (r >= 0)
		r = kinds[reader].find(text, size, path, &lines, diag);
	return r < 0 ? r : lines_join(text, &lines, 0, ret);
}
