/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot/uki.h"

#include "base/diag.h"
#include "boot/bls.h"
#include "boot/esp.h"
#include "boot/image.h"
#include "boot/shell-text.h"

#include <fnmatch.h>
#include <strings.h>

enum { MAX_UKIS = 256, FIRST_WITH_ADDONS = 254 };

void uki_done(struct uki *uki)
{
	free(uki->partition);
	free(uki->name);
	free(uki->line);
	free(uki->release);
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
static int read_section(const struct root *root, const char *path, const char *section,
			char **ret)
{
	int r = image_pe_section(root, path, section, ret);

	if (r < 0 && r != -ENOMEM)
		*ret = NULL;
	return r == -ENOMEM ? r : 0;
}

/* "ID" of the text of an os-release file, without quotes: a piece of the text. */
static const char *os_id(const char *text, size_t *ret_size)
{
	for (const char *p = text; p; p = strchr(p, '\n')) {
		const char *value;

		p += *p == '\n';
		value = str_skip_prefix(p, "ID=");
		if (!value)
			continue;
		value += *value == '"' || *value == '\'';
		*ret_size = strcspn(value, "\"'\n");
		return value;
	}
	return NULL;
}

/* Whether the image says that it is of another distribution than the root. */
static int is_other_os(const struct root *root, const char *path, bool *ret)
{
	static const char *const files[] = { "/etc/os-release", "/usr/lib/os-release" };
	_cleanup_free_ char *osrel = NULL, *own = NULL;
	const char *id;
	size_t size;
	int r = read_section(root, path, ".osrel", &osrel);

	for (size_t i = 0; r >= 0 && !own && i < ARRAY_SIZE(files); i++)
		r = shell_text_value(root, files[i], "ID", &own);
	if (r < 0)
		return r;
	id = osrel ? os_id(osrel, &size) : NULL;
	*ret = id && own && !(strlen(own) == size && memcmp(own, id, size) == 0);
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

/* ".../x+3-1.efi" */
static bool has_counter(const char *name)
{
	const char *plus = strrchr(name, '+'), *p = plus ? plus + 1 : "";
	size_t n = strspn(p, "0123456789");

	if (n > 0 && p[n] == '-')
		n += 1 + strspn(p + n + 1, "0123456789");
	return n > 0 && strcasecmp(p + n, ".efi") == 0;
}

/* "#### LoaderInfo: systemd-stub 257.7-1 ####" */
static int stub_version(const struct root *root, const char *path, unsigned *ret)
{
	static const char mark[] = "systemd-stub ";
	_cleanup_free_ char *magic = NULL;
	char *p;
	int r = read_section(root, path, ".sdmagic", &magic);

	p = magic ? strstr(magic, mark) : NULL;
	if (r < 0 || !p)
		return r;
	p += sizeof(mark) - 1;
	p[strspn(p, "0123456789")] = '\0';
	if (str_parse_uint(p, ret) < 0)
		*ret = 0;
	return 0;
}

int uki_open(const struct boot *boot, const char *path, struct uki *ret)
{
	/* ".../EFI/Linux/x.efi": the partition is three up */
	const char *name = strrchr(path, '/') + 1, *end = name - 1;
	_cleanup_uki_ struct uki uki = {};
	unsigned version = 0;
	int r = image_pe_has(boot->root, path, ".linux");

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
	r = read_section(boot->root, path, ".cmdline", &uki.line);
	if (r >= 0)
		r = read_section(boot->root, path, ".uname", &uki.release);
	if (r >= 0)
		r = stub_version(boot->root, path, &version);
	if (r >= 0)
		r = is_other_os(boot->root, path, &uki.foreign);
	if (r < 0)
		return r;
	if (uki.release)
		uki.release[strcspn(uki.release, " \n")] = '\0';
	uki.takes_addons = version >= FIRST_WITH_ADDONS;
	uki.counted = has_counter(name);
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
	int r = read_section(root, path, ".uname", &release);

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
			r = read_section(root, paths.items[i], ".cmdline", &line);
		if (r < 0)
			return r;
		if (line)
			strbuf_addf(args, " %s", line);
	}
	return 0;
}

/* passed: what the loader passes to the image, or NULL. */
static int make_line(const struct boot *boot, const struct uki *uki, const char *path,
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
	const char *name = strrchr(source, '/') + 1;

	if (!entry)
		return -ENOMEM;
	entry->id = strdup(name);
	entry->title = strdup(name);
	entry->source = strdup(source);
	entry->image = strdup(path);
	entry->line = line;
	entry->ours = !uki->foreign;
	entry->foreign = uki->foreign;
	if (!entry->id || !entry->title || !entry->source || !entry->image ||
	    (uki->release && !(entry->kernel = strdup(uki->release))))
		return -ENOMEM;
	return make_line(boot, uki, path, passed, without, &entry->args, diag);
}

/* An entry of type 1 for one of the images ("uki" or "efi"), with options for it. */
static int add_passed(const struct boot *boot, const char *partition, const char *path,
		      const char *without, struct boot_state *state, struct diag *diag)
{
	_cleanup_free_ char *text = NULL, *image = NULL, *options = NULL;
	_cleanup_bls_entry_ struct bls_entry bls = {};
	_cleanup_uki_ struct uki uki = {};
	size_t size;
	int r = root_read(boot->root, path, ROOT_MAX_CMDLINE, &text, &size);

	if (r < 0)
		return r == -ENOMEM ? r : 0;
	r = bls_parse(strrchr(path, '/') + 1, text, size, BLS_SYSTEMD, &bls);
	if (r < 0 || !bls.efi || bls.lines.n == 0)
		return r;
	if (str_printf(&image, "%s%s%s", partition, *bls.efi == '/' ? "" : "/", bls.efi) < 0)
		return -ENOMEM;
	r = uki_open(boot, image, &uki);
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
	return add_entry(boot, &uki, image, path, bls.lines.pieces[0].line, options, without,
			 state, diag);
}

static int add_all_passed(const struct boot *boot, const char *without,
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
			r = add_passed(boot, esp_dirs[d], paths.items[i], without, state, diag);
	}
	return r;
}

/* What the loader was told, else the newest: names that kernel-install and mkinitcpio give. */
static void mark_default(struct boot_entries *entries, size_t first, const char *chosen)
{
	struct boot_entry *newest = NULL;

	for (size_t i = first; i < entries->n; i++) {
		struct boot_entry *entry = &entries->items[i];

		if (chosen && fnmatch(chosen, entry->id, FNM_CASEFOLD) == 0) {
			newest = entry;
			break;
		}
		if (str_has_suffix(entry->id, ".conf"))
			continue;
		if (!newest || bls_compare_uapi(entry->id, newest->id) >= 0)
			newest = entry;
	}
	for (size_t i = 0; newest && i < first; i++)
		if (entries->items[i].is_default && !chosen)
			return;
	if (!newest)
		return;
	for (size_t i = 0; i < first; i++)
		entries->items[i].is_default = false;
	newest->is_default = true;
}

int uki_read(const struct boot *boot, const char *chosen, const char *without,
	     struct boot_state *state, struct diag *diag)
{
	_cleanup_strv_ struct strv paths = {};
	size_t first = state->entries.n;
	int r = uki_list(boot->root, &paths);

	for (size_t i = 0; r >= 0 && i < paths.n; i++) {
		_cleanup_uki_ struct uki uki = {};

		r = uki_open(boot, paths.items[i], &uki);
		if (r >= 0)
			r = add_entry(boot, &uki, paths.items[i], paths.items[i], 1, NULL,
				      without, state, diag);
		else if (r != -ENOMEM)
			r = 0; /* went away meanwhile */
	}
	if (r >= 0 && paths.n > 0)
		r = add_all_passed(boot, without, state, diag);
	if (r >= 0)
		mark_default(&state->entries, first, chosen);
	return r;
}

bool uki_is_entry(const struct boot_entry *entry)
{
	size_t n = entry->image ? strlen(entry->image) : 0;

	return n > 4 && strcasecmp(entry->image + n - 4, ".efi") == 0;
}
