/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Changing what unified kernel images ask for. An add-on is one file that comes and goes whole,
 * with no image built anew: below loader/addons for all images of the partition where all are
 * of this system (later ones too), else beside each image of ours.
 */

#include "base/diag.h"
#include "base/ini.h"
#include "boot/esp.h"
#include "boot/image.h"
#include "boot/kernel-cmdline.h"
#include "boot/record.h"
#include "boot/tool.h"
#include "boot/uki.h"

/* Where ukify leaves it before it goes to its place. */
#define MADE RECORD_DIR "/" UKI_ADDON

enum { MAX_FOUND = 256 };

/* --- ukify --- */

/* kernel-install's own settings, and ukify's options for them. */
static const struct {
	const char *key;
	const char *option;
} keys[] = {
	{ "SecureBootPrivateKey", "--secureboot-private-key" },
	{ "SecureBootCertificate", "--secureboot-certificate" },
	{ "SecureBootSigningTool", "--signtool" },
	{ "SigningEngine", "--signing-engine" },
	{ "SecureBootCertificateDir", "--secureboot-certificate-dir" },
	{ "SecureBootCertificateName", "--secureboot-certificate-name" },
};
enum { PRIVATE_KEY, CERTIFICATE, SIGNING_TOOL, ENGINE, NSS_DIR, NSS_NAME, _KEY_MAX };

struct signing {
	char *values[_KEY_MAX];
	bool possible;
};

static void signing_done(struct signing *signing)
{
	for (size_t i = 0; i < _KEY_MAX; i++)
		free(signing->values[i]);
}

static int parse_uki_conf(const char *text, size_t size, struct signing *ret)
{
	_cleanup_ini_ struct ini *ini = NULL;
	struct ini_item item;
	int r = ini_new(text, size, &ini);

	for (;;) {
		if (r >= 0)
			r = ini_next(ini, &item);
		if (r < 0 || item.kind == INI_END)
			return r;
		if (item.kind != INI_ASSIGNMENT || !streq(item.section, "UKI"))
			continue;
		for (size_t i = 0; i < _KEY_MAX; i++) {
			if (!streq(item.key, keys[i].key))
				continue;
			free(ret->values[i]);
			ret->values[i] = *item.value ? strdup(item.value) : NULL;
			if (*item.value && !ret->values[i])
				return -ENOMEM;
		}
	}
}

/* A file must be there; another engine's key ("pkcs11:...") may be anywhere. */
static bool is_usable(const struct root *root, const char *value)
{
	return value && (*value != '/' || root_exists(root, value));
}

/* The first of the files that kernel-install's plug-in for ukify looks at. */
static int find_signing(const struct root *root, struct signing *ret)
{
	static const char *const files[] = {
		"/etc/kernel/uki.conf",
		"/run/kernel/uki.conf",
		"/usr/local/lib/kernel/uki.conf",
		"/usr/lib/kernel/uki.conf",
	};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		_cleanup_free_ char *text = NULL;
		size_t size;
		int r = root_read(root, files[i], ROOT_MAX_POLICY, &text, &size);

		if (r == -ENOENT)
			continue;
		if (r >= 0)
			r = parse_uki_conf(text, size, ret);
		if (r < 0)
			return r == -ENOMEM ? r : 0;
		ret->possible = (is_usable(root, ret->values[PRIVATE_KEY]) &&
				 is_usable(root, ret->values[CERTIFICATE])) ||
				ret->values[NSS_NAME];
		return 0;
	}
	return 0;
}

static int find_ukify(const struct root *root, char **ret)
{
	static const char *const names[] = { "ukify", NULL };
	static const char early[] = "/usr/lib/systemd/ukify"; /* 253 and 254 */
	int r = tool_find(root, names, ret);

	if (r != -ENOENT || !root_exists(root, early))
		return r;
	*ret = strdup(early);
	return *ret ? 0 : -ENOMEM;
}

static bool has_addon_stub(const struct root *root)
{
	_cleanup_strv_ struct strv found = {};

	return root_glob(root, "/usr/lib/systemd/boot/efi/addon*.efi.stub", 1, &found) !=
		       -ENOMEM &&
	       found.n > 0;
}

static int plan_command(const struct boot *boot, const char *ukify,
			const struct signing *signing, const char *word, struct changeset *cs)
{
	_cleanup_strv_ struct strv argv = {};

	strv_add(&argv, ukify);
	strv_add(&argv, "build");
	strv_addf(&argv, "--cmdline=%s", word);
	for (size_t i = 0; signing->possible && i < _KEY_MAX; i++)
		if (signing->values[i])
			strv_addf(&argv, "%s=%s", keys[i].option, signing->values[i]);
	strv_add(&argv, "--output=" MADE);
	if (strv_error(&argv) < 0)
		return -ENOMEM;
	return tool_plan(boot, cs, (const char *const *)argv.items);
}

/* --- which files --- */

/* Whether an image of the partition is of another system: 1, 0 or a negative errno. */
static int is_shared(const struct boot *boot, const struct boot_state *bare,
		     const char *partition)
{
	for (size_t i = 0; i < bare->entries.n; i++) {
		const struct boot_entry *entry = &bare->entries.items[i];
		_cleanup_uki_ struct uki other = {};
		int r;

		if (entry->ours || entry->trial)
			continue;
		r = uki_open(boot, entry->image, 0, &other);
		if (r < 0 || streq(other.partition, partition))
			return r < 0 ? r : 1;
	}
	return 0;
}

/* Where add-ons of ours have to be: 1, or 0 when they would not be read there. */
static int wanted_paths(const struct boot *boot, const struct boot_state *bare,
			struct strv *ret)
{
	for (size_t i = 0; i < bare->entries.n; i++) {
		const struct boot_entry *entry = &bare->entries.items[i];
		_cleanup_free_ char *path = NULL;
		_cleanup_uki_ struct uki uki = {};
		int r;

		if (!entry->ours)
			continue;
		r = uki_open(boot, entry->image, 0, &uki);
		if (r < 0)
			return r;
		if (!uki.takes_addons)
			return 0;
		r = is_shared(boot, bare, uki.partition);
		if (r > 0 && uki.counted)
			return 0; /* the directory is named after the file, which is renamed */
		if (r == 0)
			r = str_printf(&path, "%s/loader/addons/" UKI_ADDON, uki.partition);
		else if (r > 0)
			r = str_printf(&path, "%s.extra.d/" UKI_ADDON, entry->image);
		if (r < 0)
			return r;
		strv_add_unique(ret, path);
	}
	return strv_error(ret) < 0 ? -ENOMEM : ret->n > 0;
}

static int existing_paths(const struct root *root, struct strv *ret)
{
	for (const char *const *dir = esp_dirs; *dir; dir++) {
		_cleanup_free_ char *global = NULL, *own = NULL;

		if (str_printf(&global, "%s/loader/addons/" UKI_ADDON, *dir) < 0 ||
		    str_printf(&own, "%s/[Ee][Ff][Ii]/*/*.extra.d/" UKI_ADDON, *dir) < 0 ||
		    root_glob(root, global, MAX_FOUND, ret) == -ENOMEM ||
		    root_glob(root, own, MAX_FOUND, ret) == -ENOMEM)
			return -ENOMEM;
	}
	return strv_error(ret);
}

/* Takes away those that are not wanted (NULL: all). */
static int plan_removal(const struct boot *boot, const struct strv *wanted,
			struct changeset *cs, struct diag *diag)
{
	_cleanup_strv_ struct strv paths = {};
	int r = existing_paths(boot->root, &paths);

	for (size_t i = 0; r >= 0 && i < paths.n; i++)
		if (!wanted || !strv_contains(wanted, paths.items[i]))
			r = changeset_edit(cs, boot->root, paths.items[i], UKI_MAX_ADDON, NULL,
					   0, 0644, ATOMIC_BOOT, diag);
	return r;
}

/* Whether the file says the word and, with Secure Boot on, is signed. */
static bool is_made(const struct root *root, const char *path, const char *word)
{
	_cleanup_free_ char *line = NULL;

	if (image_pe_section(root, path, ".cmdline", &line) < 0)
		return false;
	line[strcspn(line, "\n")] = '\0';
	return streq(line, word) &&
	       (esp_secure_boot(root) <= 0 || image_pe_is_signed(root, path) > 0);
}

/* --- an add-on --- */

/* Why there can be none; NULL: there can. */
static const char *why_not(const struct boot *boot, const char *ukify,
			   const struct signing *signing)
{
	int secure = esp_secure_boot(boot->root);

	if (!boot->refresh)
		return "no program of this system is run from outside of it, so that no add-on "
		       "is built";
	if (!ukify || !has_addon_stub(boot->root))
		return "ukify and systemd's stub for add-ons (254 or later) are not installed, "
		       "so that no add-on can be built";
	if (signing->possible || secure == 0)
		return NULL;
	return secure > 0 ? "Secure Boot is on and no key to sign with is in "
			    "/etc/kernel/uki.conf: an add-on would be ignored, and so is what "
			    "a loader passes to an image with a command line of its own"
			  : "whether Secure Boot is on cannot be told here, and with it an "
			    "add-on that is not signed would be ignored";
}

/* 1 when add-ons do it; 0 when not, with the reason. */
static int plan_addon(const struct boot *boot, const struct boot_state *bare, const char *word,
		      struct changeset *cs, const char **ret_why, struct diag *diag)
{
	_cleanup_(signing_done) struct signing signing = {};
	_cleanup_free_ char *ukify = NULL;
	_cleanup_strv_ struct strv wanted = {};
	bool build = false;
	int r = wanted_paths(boot, bare, &wanted);

	*ret_why = "an image's stub reads no add-ons (systemd before 254, or another), or its "
		   "name changes as boots are counted";
	if (r <= 0)
		return r;
	for (size_t i = 0; i < wanted.n; i++)
		build |= !is_made(boot->root, wanted.items[i], word);
	r = find_ukify(boot->root, &ukify);
	if (r >= 0 || r == -ENOENT)
		r = find_signing(boot->root, &signing);
	if (r < 0)
		return r;
	*ret_why = build ? why_not(boot, ukify, &signing) : NULL;
	if (*ret_why)
		return 0;
	r = plan_removal(boot, &wanted, cs, diag);
	for (size_t i = 0; r >= 0 && i < wanted.n; i++)
		if (!is_made(boot->root, wanted.items[i], word))
			r = changeset_edit_unmade(cs, boot->root, wanted.items[i],
						  UKI_MAX_ADDON, 0644, ATOMIC_BOOT, diag);
	if (r >= 0 && build)
		r = plan_command(boot, ukify, &signing, word, cs);
	return r < 0 ? r : 1;
}

static int fill(struct edit *edit, const struct content *made)
{
	content_done(&edit->new);
	edit->new.data = str_dup_n(made->data, made->size);
	if (!edit->new.data)
		return -ENOMEM;
	edit->new.size = made->size;
	edit->unmade = false;
	return 0;
}

int uki_make(const struct boot *boot, struct changeset *cs, struct diag *diag)
{
	static const struct content none = {};
	const struct command *command = &cs->commands[0];
	_cleanup_content_ struct content made = {};
	const char *word = strchr(command->argv.items[2], '=') + 1;
	int r = tool_run(boot, (const char *const *)command->argv.items, diag);

	if (r < 0)
		return r;
	r = content_read(boot->root, MADE, UKI_MAX_ADDON, &made);
	if (r >= 0 && (!made.data || !is_made(boot->root, MADE, word)))
		r = -EBADMSG;
	if (r < 0) {
		diag_error(diag, &(struct diag_where){ .path = command->argv.items[0] },
			   "succeeded, but made no add-on that says %s", word);
		return r;
	}
	for (size_t i = 0; r >= 0 && i < cs->n; i++)
		if (cs->edits[i].unmade)
			r = fill(&cs->edits[i], &made);
	IGNORE(atomic_put(boot->root, MADE, &made, &none, 0600, 0)); /* tidiness */
	return r;
}

/* --- images built anew --- */

static bool is_by_mkinitcpio(const struct root *root)
{
	_cleanup_strv_ struct strv presets = {};

	if (root_glob(root, "/etc/mkinitcpio.d/*.preset", MAX_FOUND, &presets) == -ENOMEM)
		return false;
	for (size_t i = 0; i < presets.n; i++)
		if (tool_mentions(root, presets.items[i], "_uki="))
			return tool_exists(root, "mkinitcpio");
	return false;
}

static const char *const *rebuild_command(const struct root *root)
{
	static const char *const mkinitcpio[] = { "mkinitcpio", "-P", NULL };
	static const char *const dracut[] = { "dracut", "--force", "--regenerate-all", NULL };
	static const char *const kernel_install[] = { "kernel-install", "add-all", NULL };

	if (is_by_mkinitcpio(root))
		return mkinitcpio;
	return tool_exists(root, "kernel-install") || !tool_exists(root, "dracut")
		       ? kernel_install
		       : dracut;
}

/* The line that later images get, and the command that makes images of it. */
static int plan_rebuild(const struct boot *boot, const struct boot_state *state,
			const struct boot_words *words, const char *why, struct changeset *cs,
			struct diag *diag)
{
	const char *const *argv = rebuild_command(boot->root);
	_cleanup_strv_ struct strv fragments = {};
	_cleanup_free_ char *hint = NULL;
	int r = 0;

	if (root_glob(boot->root, "/etc/cmdline.d/*.conf", 1, &fragments) == -ENOMEM)
		return -ENOMEM;
	if (words->want == BOOT_WANT_ON && fragments.n == 0)
		r = plan_removal(boot, NULL, cs, diag);
	if (r >= 0 && fragments.n == 0)
		r = kernel_cmdline_plan(boot, state, words, 0, cs, diag);
	if (r < 0)
		return r;
	if (fragments.n > 0 ||
	    (!changeset_find(cs, KERNEL_CMDLINE) && !root_exists(boot->root, KERNEL_CMDLINE))) {
		r = str_printf(&hint, "change it in %s, then: %s %s",
			       fragments.n > 0 ? "/etc/cmdline.d"
					       : "what the images are made of",
			       argv[0], argv[1]);
		if (r >= 0)
			diag_error(diag, &(struct diag_where){ .hint = hint },
				   "the command line is inside unified kernel images: %s", why);
		return r < 0 ? r : -ENOTSUP;
	}
	diag_notice(diag, NULL, "%s; the images have to be built anew", why);
	cs->refresh = REFRESH_PRINT;
	return changeset_add_command(cs, argv);
}

/* --- both --- */

/* Images that are built later: they get no add-on that lies beside another, and may not ask for
 * the opposite. One for all does for them too. */
static int plan_later(const struct boot *boot, const struct boot_state *state,
		      const struct boot_words *words, struct changeset *cs, struct diag *diag)
{
	bool beside = false;
	_cleanup_strv_ struct strv paths = {};
	int r = existing_paths(boot->root, &paths);

	for (size_t i = 0; i < paths.n; i++)
		beside |= strstr(paths.items[i], ".extra.d/") != NULL;
	for (size_t i = 0; i < cs->n; i++)
		beside |= cs->edits[i].unmade && strstr(cs->edits[i].path, ".extra.d/");
	if (r < 0 || !root_exists(boot->root, KERNEL_CMDLINE) ||
	    (words->want == BOOT_WANT_OFF && !beside))
		return r;
	r = kernel_cmdline_plan(boot, state, words, 0, cs, diag);
	return r < 0 ? r : 0;
}

/* How many entries would differ with this behind their lines. */
static int count_differing(const struct boot *boot, struct boot_state *bare, const char *word,
			   enum boot_want want, size_t *ret)
{
	for (size_t i = 0; i < bare->entries.n; i++) {
		struct boot_entry *entry = &bare->entries.items[i];
		char *args = entry->args;
		int r = str_printf(&entry->args, "%s %s", args, word);

		if (r >= 0) {
			r = boot_entry_judge(boot, entry);
			free(entry->args);
		}
		entry->args = args;
		if (r < 0)
			return r;
	}
	*ret = boot_n_differing(bare, want);
	return 0;
}

int uki_plan(const struct boot *boot, const struct boot_state *state,
	     const struct boot_words *words, struct changeset *cs, struct diag *diag)
{
	_cleanup_boot_state_ struct boot_state bare = {};
	_cleanup_diag_ struct diag ignored = {};
	const char *word = "", *why = "an image says so itself, and no add-on takes words out";
	size_t differing;
	int r = uki_read(boot, &(struct uki_menu){ .without = UKI_ADDON }, &bare, &ignored);

	if (words->want == BOOT_WANT_OFF && !(words->flags & CMDLINE_NO_DISABLE))
		word = "cgroup_disable=memory";
	else if (words->want == BOOT_WANT_ON && words->flags & CMDLINE_WRITE_ENABLE)
		word = "cgroup_enable=memory";
	if (r >= 0)
		r = count_differing(boot, &bare, "", words->want, &differing);
	if (r < 0)
		return r;
	if (differing == 0) {
		r = plan_removal(boot, NULL, cs, diag);
		return r < 0 ? r : plan_later(boot, state, words, cs, diag);
	}
	r = count_differing(boot, &bare, word, words->want, &differing);
	if (r >= 0 && differing == 0)
		r = plan_addon(boot, &bare, word, cs, &why, diag);
	if (r > 0)
		return plan_later(boot, state, words, cs, diag);
	if (r < 0)
		return r;
	return plan_rebuild(boot, state, words, why, cs, diag);
}
