/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot/uki.h"

#include "base/diag.h"
#include "boot/bls.h"
#include "boot/esp.h"
#include "boot/image.h"
#include "boot/shell-text.h"
#include "boot/systemd-trial.h"

#include <fnmatch.h>
#include <strings.h>

enum { MAX_UKIS = 256, FIRST_WITH_ADDONS = 254 };

void uki_done(struct uki *uki)
{
	free(uki->partition);
	free(uki->name);
	free(uki->line);
	free(uki->release);
	free(uki->id);
	bls_entry_done(&uki->key);
	*uki = (struct uki){};
}

int uki_list(const struct root *root, struct strv *ret)
{
	_cleanup_strv_ struct strv seen = {};

	for (const char *const *dir = esp_dirs; *dir; dir++) {
		_cleanup_free_ char *pattern = NULL, *real = NULL;
		_cleanup_strv_ struct strv paths = {};
		int r = root_resolve(root, *dir, &real);

		if (r == -ENOMEM)
			return r;
		/* /efi may be a link to another of them */
		if (r < 0 || !strv_add_unique(&seen, real))
			continue;
		if (str_printf(&pattern, "%s/[Ee][Ff][Ii]/*/*.[Ee][Ff][Ii]", *dir) < 0 ||
		    root_glob(root, pattern, MAX_UKIS, &paths) == -ENOMEM)
			return -ENOMEM;
		for (size_t i = 0; i < paths.n; i++) {
			r = image_pe_has(root, paths.items[i], ".linux");
			if (r == -ENOMEM)
				return r;
			if (r > 0)
				strv_add(ret, paths.items[i]);
		}
	}
	return strv_error(&seen) < 0 ? -ENOMEM : strv_error(ret);
}

/* --- one image --- */

/* A section as text; NULL in *ret when there is none that can be read. */
static int read_section(const struct root *root, const char *path, unsigned profile,
			const char *section, char **ret)
{
	int r = image_pe_profile_section(root, path, profile, section, ret);

	if (r < 0 && r != -ENOMEM)
		*ret = NULL;
	return r == -ENOMEM ? r : 0;
}

/* A value of a text like os-release, the last of its name, without quotes: a copy, or NULL. */
static int text_value(const char *text, const char *key, char **ret)
{
	const char *value = NULL;

	for (const char *p = text; p; p = strchr(p, '\n')) {
		const char *rest;

		p += *p == '\n';
		rest = str_skip_prefix(p, key);
		if (rest && *rest == '=')
			value = rest + 1;
	}
	*ret = NULL;
	if (!value)
		return 0;
	value += *value == '"' || *value == '\'';
	*ret = str_dup_n(value, strcspn(value, "\"'\n"));
	return *ret ? 0 : -ENOMEM;
}

/* The first of the keys that has a value. */
static int first_value(const char *text, const char *const *keys, char **ret)
{
	int r = 0;

	*ret = NULL;
	for (; r >= 0 && !*ret && *keys; keys++)
		r = text_value(text, *keys, ret);
	return r;
}

/* Whether the image says that it is of another distribution than the root. */
static int is_other_os(const struct root *root, const char *osrel, bool *ret)
{
	static const char *const files[] = { "/etc/os-release", "/usr/lib/os-release" };
	_cleanup_free_ char *own = NULL, *id = NULL;
	int r = text_value(osrel, "ID", &id);

	for (size_t i = 0; r >= 0 && !own && i < ARRAY_SIZE(files); i++)
		r = shell_text_value(root, files[i], "ID", &own);
	if (r < 0)
		return r;
	*ret = id && own && !streq(own, id);
	return 0;
}

/* Whether the name starts with the id of another installation, as kernel-install makes it. */
static bool is_other_machine(const struct root *root, const char *name)
{
	_cleanup_free_ char *id = NULL;

	return strspn(name, "0123456789abcdef") == 32 && name[32] == '-' &&
	       root_read(root, "/etc/machine-id", 256, &id, NULL) >= 0 && strlen(id) >= 32 &&
	       memcmp(id, name, 32) != 0;
}

/* "#### LoaderInfo: systemd-stub 257.7-1 ####" */
static int stub_version(const struct root *root, const char *path, unsigned *ret)
{
	static const char mark[] = "systemd-stub ";
	_cleanup_free_ char *magic = NULL;
	char *p;
	int r = read_section(root, path, 0, ".sdmagic", &magic);

	p = magic ? strstr(magic, mark) : NULL;
	if (r < 0 || !p)
		return r;
	p += sizeof(mark) - 1;
	p[strspn(p, "0123456789")] = '\0';
	if (str_parse_uint(p, ret) < 0)
		*ret = 0;
	return 0;
}

/* Its place in the menu, and its name there (bootspec_pick_name_version_sort_key() and
 * boot_entry_add_type2() of systemd). */
static int name_entry(const char *osrel, const char *profile_text, unsigned profile,
		      struct uki *uki)
{
	static const char *const sort_keys[] = { "IMAGE_ID", "ID", NULL };
	static const char *const versions[] = { "IMAGE_VERSION", "VERSION", "VERSION_ID",
						"BUILD_ID", NULL };
	_cleanup_free_ char *id = NULL;
	int r = first_value(osrel, sort_keys, &uki->key.sort_key);

	if (r >= 0)
		r = first_value(osrel, versions, &uki->key.version);
	if (r >= 0)
		r = text_value(profile_text, "ID", &id);
	if (r < 0)
		return r;
	uki->key.is_uki = true;
	uki->key.profile = profile;
	uki->key.id = str_dup_n(uki->name, strlen(uki->name) - strlen(".efi"));
	if (!uki->key.id)
		return -ENOMEM;
	bls_cut_tries(&uki->key);
	uki->counted = uki->key.tries_left >= 0;
	if (profile == 0)
		return str_printf(&uki->id, "%s.efi", uki->key.id);
	return id ? str_printf(&uki->id, "%s.efi@%s", uki->key.id, id)
		  : str_printf(&uki->id, "%s.efi@%u", uki->key.id, profile);
}

int uki_open(const struct boot *boot, const char *path, unsigned profile, struct uki *ret)
{
	/* ".../EFI/Linux/x.efi": the partition is three up */
	const char *name = strrchr(path, '/') + 1, *end = name - 1;
	_cleanup_free_ char *osrel = NULL, *profile_text = NULL;
	_cleanup_uki_ struct uki uki = {};
	unsigned version = 0;
	int r = image_pe_has(boot->root, path, ".linux"), n = 0;

	if (r <= 0)
		return r == -ENOMEM ? r : -EBADMSG;
	for (unsigned up = 0; up < 2 && end > path; up++)
		do
			end--;
		while (end > path && *end != '/');
	uki.partition = str_dup_n(path, (size_t)(end - path));
	uki.name = strdup(name);
	if (!uki.partition || !uki.name)
		return -ENOMEM;
	n = image_pe_profiles(boot->root, path);
	r = read_section(boot->root, path, profile, ".cmdline", &uki.line);
	if (r >= 0)
		r = read_section(boot->root, path, profile, ".uname", &uki.release);
	if (r >= 0)
		r = read_section(boot->root, path, profile, ".osrel", &osrel);
	if (r >= 0)
		r = read_section(boot->root, path, profile, ".profile", &profile_text);
	if (r >= 0)
		r = stub_version(boot->root, path, &version);
	if (r >= 0)
		r = is_other_os(boot->root, osrel, &uki.foreign);
	if (r >= 0)
		r = name_entry(osrel, profile_text, profile, &uki);
	if (r < 0 || n == -ENOMEM)
		return r < 0 ? r : n;
	if (uki.release)
		uki.release[strcspn(uki.release, " \n")] = '\0';
	uki.n_profiles = (unsigned)MAX(n, 1);
	uki.takes_addons = version >= FIRST_WITH_ADDONS;
	uki.foreign = uki.foreign || is_other_machine(boot->root, name) ||
		      (uki.release && boot->kernels->n > 0 &&
		       !kernels_find(boot->kernels, uki.release));
	*ret = uki;
	uki = (struct uki){};
	return 0;
}

/* --- the line that its kernel gets --- */

/* Whether systemd-stub takes an add-on for this image; what it does not take is a warning. */
static int is_taken(const struct root *root, const struct uki *uki, const char *path,
		    struct diag *diag)
{
	_cleanup_free_ char *release = NULL;
	int r = read_section(root, path, 0, ".uname", &release);

	if (r < 0)
		return r;
	if (release && uki->release && !streq(release, uki->release))
		return 0;
	if (esp_secure_boot(root) <= 0 || image_pe_is_signed(root, path) != 0)
		return 1;
	diag_warning(diag, &(struct diag_where){ .path = path },
		     "is not signed: with Secure Boot on it is ignored");
	return 0;
}

static int add_addons(const struct root *root, const struct uki *uki, const char *dir,
		      const char *without, struct strbuf *args, struct diag *diag)
{
	_cleanup_free_ char *pattern = NULL;
	_cleanup_strv_ struct strv paths = {};

	if (str_printf(&pattern, "%s/*.addon.[Ee][Ff][Ii]", dir) < 0 ||
	    root_glob(root, pattern, MAX_UKIS, &paths) == -ENOMEM)
		return -ENOMEM;
	for (size_t i = 0; i < paths.n; i++) {
		_cleanup_free_ char *line = NULL;
		int r;

		if (without && streq(strrchr(paths.items[i], '/') + 1, without))
			continue;
		r = is_taken(root, uki, paths.items[i], diag);
		if (r > 0)
			r = read_section(root, paths.items[i], 0, ".cmdline", &line);
		if (r < 0)
			return r;
		if (line)
			strbuf_addf(args, " %s", line);
	}
	return 0;
}

int uki_line(const struct boot *boot, const struct uki *uki, const char *path,
	     const char *passed, const char *without, char **ret, struct diag *diag)
{
	_cleanup_free_ char *global = NULL, *own = NULL;
	_cleanup_strbuf_ struct strbuf args = {};
	int r = 0;

	strbuf_adds(&args, passed ? passed : uki->line ? uki->line : "");
	if (uki->takes_addons) {
		if (str_printf(&global, "%s/loader/addons", uki->partition) < 0 ||
		    str_printf(&own, "%s.extra.d", path) < 0)
			return -ENOMEM;
		r = add_addons(boot->root, uki, global, without, &args, diag);
		if (r >= 0)
			r = add_addons(boot->root, uki, own, without, &args, diag);
	}
	return r < 0 ? r : strbuf_take(&args, ret, NULL);
}

/* --- entries --- */

static int add_entry(const struct boot *boot, const struct uki *uki, const char *path,
		     const char *source, unsigned line, const char *passed, const char *without,
		     struct boot_state *state, struct diag *diag)
{
	struct boot_entry *entry = boot_entries_add(&state->entries);
	const char *name = streq(source, path) ? uki->id : strrchr(source, '/') + 1;

	if (!entry)
		return -ENOMEM;
	entry->id = strdup(name);
	entry->title = strdup(name);
	entry->source = strdup(source);
	entry->image = strdup(path);
	entry->line = line;
	entry->trial = systemd_trial_is(source);
	entry->ours = !uki->foreign && !entry->trial;
	entry->foreign = uki->foreign;
	if (!entry->id || !entry->title || !entry->source || !entry->image ||
	    (uki->release && !(entry->kernel = strdup(uki->release))))
		return -ENOMEM;
	return uki_line(boot, uki, path, passed, without, &entry->args, diag);
}

static void mark_image(struct boot_entries *entries, const char *image)
{
	for (size_t i = 0; i < entries->n; i++)
		if (entries->items[i].image && streq(entries->items[i].image, image)) {
			entries->items[i].is_default = true;
			return;
		}
}

/* An entry of type 1 for one of the images ("uki" or "efi"), with options for it. */
static int add_passed(const struct boot *boot, const struct uki_menu *menu,
		      const char *partition, const char *path, struct boot_state *state,
		      struct diag *diag)
{
	_cleanup_free_ char *text = NULL, *image = NULL, *options = NULL;
	_cleanup_bls_entry_ struct bls_entry bls = {};
	_cleanup_uki_ struct uki uki = {};
	bool head;
	size_t size;
	int r = root_read(boot->root, path, ROOT_MAX_CMDLINE, &text, &size);

	if (r < 0)
		return r == -ENOMEM ? r : 0;
	r = bls_parse(strrchr(path, '/') + 1, text, size, BLS_SYSTEMD, &bls);
	if (r < 0 || !bls.efi)
		return r;
	if (str_printf(&image, "%s%s%s", partition, *bls.efi == '/' ? "" : "/", bls.efi) < 0)
		return -ENOMEM;
	head = menu->rival && streq_ptr(menu->rival->id, bls.id) &&
	       menu->rival->tries_left == bls.tries_left;
	if (bls.lines.n == 0) {
		if (head)
			mark_image(&state->entries, image);
		return 0;
	}
	r = uki_open(boot, image, 0, &uki);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	r = lines_join(text, &bls.lines, 0, &options);
	if (r < 0)
		return r;
	if (uki.line && esp_secure_boot(boot->root) > 0) {
		diag_warning(
			diag,
			&(struct diag_where){ .path = path, .line = bls.lines.pieces[0].line },
			"these options are ignored: with Secure Boot on, only what is in "
			"%s and in signed add-ons reaches the kernel",
			image);
		freep(&options);
		options = NULL;
	}
	r = add_entry(boot, &uki, image, path, bls.lines.pieces[0].line, options, menu->without,
		      state, diag);
	if (r >= 0)
		state->entries.items[state->entries.n - 1].is_default = head;
	return r;
}

static int add_all_passed(const struct boot *boot, const struct uki_menu *menu,
			  struct boot_state *state, struct diag *diag)
{
	int r = 0;

	for (size_t d = 0; r >= 0 && esp_dirs[d]; d++) {
		_cleanup_free_ char *pattern = NULL;
		_cleanup_strv_ struct strv paths = {};

		if (str_printf(&pattern, "%s/*.conf", esp_entry_dirs[d]) < 0 ||
		    root_glob(boot->root, pattern, MAX_UKIS, &paths) == -ENOMEM)
			return -ENOMEM;
		for (size_t i = 0; r >= 0 && i < paths.n; i++)
			r = add_passed(boot, menu, esp_dirs[d], paths.items[i], state, diag);
	}
	return r;
}

/* --- which of them is booted --- */

/* The best so far; key.id NULL: none. */
struct head {
	struct bls_entry key;
	char *id;
	bool listed; /* systemd-boot lists it by itself */
	size_t entry;
};

static void head_done(struct head *head)
{
	bls_entry_done(&head->key);
	free(head->id);
}

static bool is_chosen(const char *chosen, const char *id)
{
	return chosen && fnmatch(chosen, id, FNM_CASEFOLD) == 0;
}

static bool is_listed(const char *path)
{
	return strcasestr(path, "/EFI/Linux/") != NULL;
}

/* Takes over what the image is called when it stands in front of the best. */
static void compete(const char *chosen, const char *path, struct uki *uki, size_t entry,
		    struct head *best)
{
	/* one without os-release is not */
	bool listed = is_listed(path) && uki->key.sort_key;
	bool match = is_chosen(chosen, uki->id);

	if (best->key.id) {
		if (listed != best->listed ? best->listed
		    : match != is_chosen(chosen, best->id)
			    ? !match
			    : bls_compare(&uki->key, &best->key, BLS_SYSTEMD) >= 0)
			return;
	}
	head_done(best);
	*best = (struct head){
		.key = uki->key,
		.id = TAKE_PTR(uki->id),
		.listed = listed,
		.entry = entry,
	};
	uki->key = (struct bls_entry){};
}

/* Against the best entry of type 1, which is marked already if it is a kernel's. */
static int mark_default(const struct uki_menu *menu, const struct head *best,
			struct boot_entries *entries)
{
	const struct bls_entry *rival = menu->rival;
	_cleanup_free_ char *id = NULL;
	bool match;

	if (!best->key.id)
		return 0;
	if (rival && rival->id) {
		if (str_printf(&id, "%s.conf", rival->id) < 0)
			return -ENOMEM;
		match = is_chosen(menu->chosen, id) || is_chosen(menu->chosen, rival->id);
		if (!best->listed ||
		    (match != is_chosen(menu->chosen, best->id)
			     ? match
			     : bls_compare(rival, &best->key, BLS_SYSTEMD) < 0))
			return 0;
	}
	for (size_t i = 0; i < entries->n; i++)
		entries->items[i].is_default = i == best->entry;
	return 0;
}

static int add_image(const struct boot *boot, const struct uki_menu *menu, const char *path,
		     struct head *best, struct boot_state *state, struct diag *diag)
{
	unsigned n = 1;

	for (unsigned profile = 0; profile < n; profile++) {
		_cleanup_uki_ struct uki uki = {};
		int r = uki_open(boot, path, profile, &uki);

		if (r < 0)
			return r == -ENOMEM ? r : 0; /* went away meanwhile */
		n = uki.n_profiles;
		r = add_entry(boot, &uki, path, path, 1, NULL, menu->without, state, diag);
		if (r < 0)
			return r;
		compete(menu->chosen, path, &uki, state->entries.n - 1, best);
	}
	return 0;
}

int uki_read(const struct boot *boot, const struct uki_menu *menu, struct boot_state *state,
	     struct diag *diag)
{
	_cleanup_(head_done) struct head best = {};
	_cleanup_strv_ struct strv paths = {};
	int r = uki_list(boot->root, &paths);

	for (size_t i = 0; r >= 0 && i < paths.n; i++)
		r = add_image(boot, menu, paths.items[i], &best, state, diag);
	if (r >= 0 && paths.n > 0)
		r = add_all_passed(boot, menu, state, diag);
	return r < 0 ? r : mark_default(menu, &best, &state->entries);
}

bool uki_is_entry(const struct boot_entry *entry)
{
	size_t n = entry->image ? strlen(entry->image) : 0;

	return n > 4 && strcasecmp(entry->image + n - 4, ".efi") == 0;
}
