/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot/systemd-trial.h"

#include "base/diag.h"
#include "boot/bls-dir.h"
#include "boot/esp.h"
#include "boot/image.h"
#include "boot/text.h"
#include "boot/tool.h"
#include "boot/uki.h"

#define FILE_NAME    SYSTEMD_TRIAL_ID ".conf"
#define ONE_SHOT     "LoaderEntryOneShot"
#define OUR_SORT_KEY "zz-memcg-policy"
#define LOADER_FEATURES \
	"/sys/firmware/efi/efivars/LoaderFeatures-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"

enum { FEATURE_ONE_SHOT = 1 << 3 }; /* src/boot/efi/efi-loader.h of systemd */

static int refuse(struct diag *diag, const char *path, const char *text)
{
	diag_error(diag, &(struct diag_where){ .path = path }, "%s", text);
	return -ENOTSUP;
}

bool systemd_trial_is(const char *path)
{
	return str_has_suffix(path, "/" FILE_NAME);
}

/* --- what is chosen --- */

/* The name without ".conf", in any case as on FAT. */
static bool names(const char *chosen, const struct boot_entry *entry)
{
	size_t n = strlen(entry->id);

	return strncasecmp(chosen, entry->id, n) == 0 &&
	       (chosen[n] == '\0' || strcasecmp(chosen + n, ".conf") == 0);
}

int systemd_trial_read(const struct root *root, struct boot_state *state)
{
	struct boot_entry *once = NULL, *lasting = NULL;
	_cleanup_free_ char *chosen = NULL;
	int r = image_loader_variable(root, ONE_SHOT, &chosen);

	if (r < 0)
		return r == -ENOMEM ? r : 0;
	for (size_t i = 0; i < state->entries.n; i++) {
		struct boot_entry *entry = &state->entries.items[i];

		if (names(chosen, entry))
			once = entry;
		if (entry->is_default)
			lasting = entry;
	}
	if (!once)
		return 0;
	if (lasting) {
		lasting->is_default = false;
		lasting->is_lasting = true;
	}
	once->is_default = true;
	state->once = true;
	return 0;
}

/* The variable of the loader itself: whether it looks for a choice of one boot. */
static bool loader_can(const struct root *root)
{
	_cleanup_free_ char *data = NULL;
	size_t size;

	/* four bytes of attributes come first */
	return root_read(root, LOADER_FEATURES, IMAGE_MAX_EFIVAR, &data, &size) >= 0 &&
	       size >= 12 && data[4] & FEATURE_ONE_SHOT;
}

static const char *const bootctl[] = { "bootctl", NULL };

static int arm(const struct boot *boot, struct diag *diag)
{
	_cleanup_free_ char *chosen = NULL, *program = NULL;
	int r = tool_find(boot->root, bootctl, &program);

	if (r >= 0)
		r = tool_run(boot,
			     (const char *const[]){ program, "set-oneshot", FILE_NAME, NULL },
			     diag);
	if (r < 0)
		return r;
	r = image_loader_variable(boot->root, ONE_SHOT, &chosen);
	if (r == -ENOMEM)
		return r;
	if (r >= 0 && streq(chosen, FILE_NAME))
		return 0;
	diag_error(diag, NULL, "bootctl set-oneshot did not set " ONE_SHOT);
	return -EIO;
}

int systemd_trial_refresh(const struct boot *boot, const struct boot_words *words _unused_,
			  struct diag *diag)
{
	return boot->changes && boot->changes->once ? arm(boot, diag) : 0;
}

int systemd_trial_verify(const struct boot *boot, const struct boot_words *words,
			 struct diag *diag)
{
	return boot->changes && boot->changes->once ? 0 : text_verify(boot, words, diag);
}

/* --- the entry --- */

static bool is_key(const char *line, const char *key)
{
	const char *rest = str_skip_prefix(line, key);

	return rest && (*rest == ' ' || *rest == '\t');
}

/* A title that tells, and the last place where the loader goes by sort keys. */
static int make_text(const char *text, const char *title, enum boot_want want, char **ret,
		     size_t *ret_size)
{
	_cleanup_strbuf_ struct strbuf out = {};

	strbuf_addf(&out, "title %s, once with memcg %s\n", title, boot_want_to_string(want));
	for (const char *line = text; *line;) {
		size_t n = strcspn(line, "\n");
		const char *key = line + strspn(line, " \t\r");

		n += line[n] == '\n';
		if (is_key(key, "sort-key"))
			strbuf_adds(&out, "sort-key " OUR_SORT_KEY "\n");
		else if (!is_key(key, "title"))
			strbuf_add(&out, line, n);
		line += n;
	}
	return strbuf_take(&out, ret, ret_size);
}

/* A line without what it asks of memcg. */
static int without_words(const char *args, char **ret)
{
	_cleanup_free_ char *text = NULL;
	size_t size;
	int r = cmdline_edit(args, strlen(args), CMDLINE_LINE, MEMCG_ON, 0, &text, &size, NULL);

	return r < 0 ? r
		     : cmdline_edit(text, size, CMDLINE_LINE, MEMCG_OFF, CMDLINE_NO_DISABLE,
				    ret, &size, NULL);
}

/* Whether the default entry's kernel would boot as asked for with that line. */
static int check_outcome(const struct boot *boot, const struct boot_entry *base, char *args,
			 const struct boot_words *words, const char *otherwise,
			 struct diag *diag)
{
	struct boot_entry entry = { .image = base->image,
				    .kernel = base->kernel,
				    .args = args };
	int r = boot_entry_judge(boot, &entry);

	free(entry.token);
	if (entry.kernel != base->kernel)
		free(entry.kernel);
	if (r < 0)
		return r;
	return boot_entry_is(&entry, words->want) ? 0 : refuse(diag, base->source, otherwise);
}

/* Our entry as the loader reads it: the default one's line with the words and no other change,
 * and not the first of the menu. */
static int check_text(const struct boot *boot, const struct boot_entry *base,
		      const struct boot_words *words, const char *base_text, const char *text,
		      struct diag *diag)
{
	_cleanup_free_ char *args = NULL, *mine = NULL, *its = NULL;
	_cleanup_bls_entry_ struct bls_entry old = {}, new = {};
	int r = bls_parse(strrchr(base->source, '/') + 1, base_text, strlen(base_text),
			  BLS_SYSTEMD, &old);

	if (r >= 0)
		r = bls_parse(FILE_NAME, text, strlen(text), BLS_SYSTEMD, &new);
	if (r >= 0)
		r = lines_join(text, &new.lines, 0, &args);
	if (r >= 0)
		r = without_words(args, &mine);
	if (r >= 0)
		r = without_words(base->args ? base->args : "", &its);
	if (r < 0)
		return r;
	if (!streq(mine, its) || !streq_ptr(old.image, new.image))
		return refuse(diag, base->source,
			      "a copy would not have the same line but for memcg's words");
	if (bls_compare(&new, &old, BLS_SYSTEMD) <= 0)
		return refuse(diag, base->source, "a copy would stand before it in the menu");
	return check_outcome(boot, base, args, words, "a copy would not boot as asked for",
			     diag);
}

static int plan_entry(const struct boot *boot, const struct boot_entry *base,
		      const struct boot_words *words, struct changeset *cs, struct diag *diag)
{
	enum memcg_state want = words->want == BOOT_WANT_ON ? MEMCG_ON : MEMCG_OFF;
	_cleanup_free_ char *text = NULL, *edited = NULL, *new = NULL, *path = NULL;
	_cleanup_lines_ struct lines lines = {};
	size_t size, edited_size, new_size;
	int r = root_read(boot->root, base->source, BLS_MAX_FILE, &text, &size);

	if (r < 0) {
		if (r != -ENOMEM)
			diag_error(diag, &(struct diag_where){ .path = base->source }, "%s",
				   root_read_error(r));
		return r;
	}
	r = bls_find_systemd(text, size, base->source, &lines, diag);
	if (r >= 0)
		r = lines_edit(text, size, &lines, want, words->flags, base->source, &edited,
			       &edited_size, diag);
	if (r >= 0)
		r = make_text(edited, base->title, words->want, &new, &new_size);
	if (r >= 0)
		r = check_text(boot, base, words, text, new, diag);
	if (r >= 0)
		r = str_printf(&path, "%.*s/" FILE_NAME,
			       (int)(strrchr(base->source, '/') - base->source), base->source);
	return r < 0 ? r
		     : changeset_edit(cs, boot->root, path, BLS_MAX_FILE, new, new_size, 0644,
				      ATOMIC_BOOT, diag);
}

/* --- of a unified kernel image --- */

/* As systemd-stub does it with its own line (mangle_stub_cmdline()). */
static char *plain_line(const char *line)
{
	char *text = strdup(line + strspn(line, " \t\r\n")), *p;

	if (!text)
		return NULL;
	for (p = text; *p; p++)
		if ((unsigned char)*p < ' ')
			*p = ' ';
	while (p > text && p[-1] == ' ')
		*--p = '\0';
	return text;
}

static int check_image(const struct boot *boot, const struct boot_entry *base,
		       const struct uki *uki, struct diag *diag)
{
	if (esp_secure_boot(boot->root) != 0)
		return refuse(diag, base->source,
			      "Secure Boot is on, or cannot be told to be off: the image would "
			      "ignore a line that is passed to it");
	if (!uki->takes_addons || !uki->line)
		return refuse(diag, base->source,
			      "whether the image takes a line that is passed to it is not "
			      "known: its stub is older than systemd 254 or another one, or it "
			      "has no line of its own");
	if (uki->counted)
		return refuse(diag, base->source, "its name changes as boots are counted");
	if (strchr(base->id, '@'))
		return refuse(diag, base->source,
			      "the default entry is a further profile of the image, and a line "
			      "that is passed to it is for the first");
	return 0;
}

/* The entry as the loader reads it, and the line that the kernel gets with it. */
static int check_passed(const struct boot *boot, const struct boot_entry *base,
			const struct uki *uki, const struct boot_words *words,
			const char *options, const char *text, struct diag *diag)
{
	_cleanup_free_ char *passed = NULL, *args = NULL;
	_cleanup_bls_entry_ struct bls_entry bls = {};
	int r = bls_parse(FILE_NAME, text, strlen(text), BLS_SYSTEMD, &bls);

	if (r >= 0)
		r = lines_join(text, &bls.lines, 0, &passed);
	if (r < 0)
		return r;
	if (!streq(passed, options))
		return refuse(diag, base->source,
			      "its line begins and ends with a quote, and systemd-boot would "
			      "take both off");
	if (bls_compare(&bls, &uki->key, BLS_SYSTEMD) <= 0)
		return refuse(diag, base->source, "a copy would stand before it in the menu");
	r = uki_line(boot, uki, base->source, passed, NULL, &args, diag);
	if (r < 0)
		return r;
	return check_outcome(boot, base, args, words,
			     "an add-on says the opposite, and is added to any line that is "
			     "passed to the image",
			     diag);
}

static int plan_image(const struct boot *boot, const struct boot_entry *base,
		      const struct boot_words *words, struct changeset *cs, struct diag *diag)
{
	enum memcg_state want = words->want == BOOT_WANT_ON ? MEMCG_ON : MEMCG_OFF;
	_cleanup_free_ char *line = NULL, *options = NULL, *text = NULL, *path = NULL;
	_cleanup_uki_ struct uki uki = {};
	size_t size;
	int r = uki_open(boot, base->source, 0, &uki);

	if (r >= 0)
		r = check_image(boot, base, &uki, diag);
	if (r < 0)
		return r;
	line = plain_line(uki.line);
	r = line ? cmdline_edit(line, strlen(line), CMDLINE_LINE, want, words->flags, &options,
				&size, NULL)
		 : -ENOMEM;
	if (r == -EINVAL)
		return refuse(diag, base->source,
			      "its line ends inside a quote: no word can be added");
	if (r >= 0)
		r = str_printf(&text,
			       "title %s, once with memcg %s\n"
			       "%s"
			       "efi %s\n"
			       "options %s\n",
			       uki.name, boot_want_to_string(words->want),
			       uki.key.sort_key ? "sort-key " OUR_SORT_KEY "\n" : "",
			       base->source + strlen(uki.partition), options);
	if (r >= 0)
		r = check_passed(boot, base, &uki, words, options, text, diag);
	if (r >= 0)
		r = str_printf(&path, "%s/loader/entries/" FILE_NAME, uki.partition);
	return r < 0 ? r
		     : changeset_edit(cs, boot->root, path, BLS_MAX_FILE, text, strlen(text),
				      0644, ATOMIC_BOOT, diag);
}

/* --- both --- */

int systemd_plan_trial(const struct boot *boot, const struct boot_state *state,
		       const struct boot_words *words, struct changeset *cs, struct diag *diag)
{
	const struct boot_entry *base = boot_lasting_entry(&state->entries, state->once),
				*next = NULL;
	_cleanup_free_ char *loader = NULL, *program = NULL;
	int r = esp_loader(boot->root, &loader);

	if (r >= 0)
		r = tool_find(boot->root, bootctl, &program);
	if (r == -ENOMEM)
		return r;
	if (!loader || !str_skip_prefix(loader, "systemd-boot") || !loader_can(boot->root) ||
	    !program)
		return refuse(
			diag, NULL,
			"systemd-boot did not say at this boot that it takes a choice for "
			"one boot, or bootctl is missing");
	for (size_t i = 0; i < state->entries.n; i++)
		if (state->entries.items[i].is_default)
			next = &state->entries.items[i];
	if (state->once && next && !next->trial) {
		diag_error(diag, &(struct diag_where){ .hint = "bootctl set-oneshot \"\"" },
			   "another entry is chosen for the next boot already");
		return -ENOTSUP;
	}
	if (!base || !base->ours || (uki_is_entry(base) && !streq(base->source, base->image)))
		return refuse(diag, base ? base->source : NULL,
			      "the default entry is none that boots a kernel of this system by "
			      "a line of its own");
	r = uki_is_entry(base) ? plan_image(boot, base, words, cs, diag)
			       : plan_entry(boot, base, words, cs, diag);
	/* the same again, and chosen */
	if (r < 0 || (cs->n == 0 && state->once && next && next->trial))
		return r;
	cs->refresh = REFRESH_RUN;
	return changeset_add_command(
		cs, (const char *const[]){ program, "set-oneshot", FILE_NAME, NULL });
}

int systemd_plan_no_trial(const struct boot *boot, bool all, struct changeset *cs,
			  struct diag *diag)
{
	int r = 0;

	/* a choice that names no entry is none */
	for (const char *const *dir = esp_entry_dirs; all && r >= 0 && *dir; dir++) {
		_cleanup_free_ char *path = NULL;

		if (str_printf(&path, "%s/" FILE_NAME, *dir) < 0)
			return -ENOMEM;
		if (root_exists(boot->root, path))
			r = changeset_edit(cs, boot->root, path, BLS_MAX_FILE, NULL, 0, 0644,
					   ATOMIC_BOOT, diag);
	}
	return r;
}
