/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A copy of the default entry with other words, at the end of the menu, and next_entry in the
 * environment block, which GRUB's header takes out again before it boots anything. The menu is
 * not made anew: what it has stays byte by byte, and our section is what grub-mkconfig will
 * make of our script the next time. The block is written last and taken back first, so that it
 * never names an entry that is not there.
 */

#include "boot/grub-trial.h"

#include "base/diag.h"
#include "boot/grub-cfg.h"
#include "boot/grub-once.h"
#include "boot/grub.h"
#include "boot/grubenv.h"
#include "facts/running.h"

#define NEXT_ENTRY "next_entry"
#define BEGIN	   "### BEGIN " GRUB_OUR_SCRIPT " ###\n"
#define END	   "### END " GRUB_OUR_SCRIPT " ###\n"
#define HERE_END   "end-of-memcg-policy-entry"

static int refuse(struct diag *diag, const char *path, unsigned line, const char *text)
{
	diag_error(diag, &(struct diag_where){ .path = path, .line = line }, "%s", text);
	return -ENOTSUP;
}

/* --- the environment block --- */

/* 1 when the block chooses our entry, 0 when not or when it is no block. */
static int chooses_ours(const struct content *env)
{
	_cleanup_free_ char *next = NULL;
	int r;

	if (!env->data || grubenv_check(env->data, env->size) < 0)
		return 0;
	r = grubenv_get(env->data, NEXT_ENTRY, &next);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	return streq(next, GRUB_TRIAL_ID);
}

/* What a file will hold by the edits so far. *now is filled for a file that is not edited. */
static int planned(const struct changeset *cs, const struct root *root, const char *path,
		   size_t max, struct content *now, const struct content **ret)
{
	const struct edit *edit = changeset_find(cs, path);
	int r = edit ? 0 : content_read(root, path, max, now);

	*ret = edit ? &edit->new : now;
	return r;
}

/* The next boot is none of ours. Once it is so it stays so, also when a change is put back. */
static int plan_disarmed(const struct boot *boot, const char *cfg, struct changeset *cs,
			 struct diag *diag)
{
	_cleanup_free_ char *path = NULL, *text = NULL;
	_cleanup_content_ struct content now = {};
	const struct content *env;
	int r = grub_env_path(cfg, &path);

	if (r >= 0)
		r = planned(cs, boot->root, path, ROOT_MAX_CMDLINE, &now, &env);
	if (r >= 0)
		r = chooses_ours(env);
	if (r <= 0) {
		/* planned already, where a record is taken back */
		if (path)
			changeset_add_flags(cs, path, EDIT_ONE_WAY);
		return r == -ENOMEM ? r : 0; /* what cannot be read is not ours */
	}
	r = grubenv_set(env->data, NEXT_ENTRY, NULL, &text);
	if (r < 0)
		return r;
	return changeset_edit(cs, boot->root, path, ROOT_MAX_CMDLINE, text, GRUBENV_SIZE, 0644,
			      ATOMIC_BOOT | ATOMIC_IN_PLACE | EDIT_ONE_WAY, diag);
}

static int plan_armed(const struct boot *boot, const char *path, const char *block,
		      struct changeset *cs, struct diag *diag)
{
	return changeset_edit(cs, boot->root, path, ROOT_MAX_CMDLINE, block, GRUBENV_SIZE, 0644,
			      ATOMIC_BOOT | ATOMIC_IN_PLACE, diag);
}

/* --- our section of the menu --- */

/* Where it is, with the empty line that grub-mkconfig puts in front: false when it is not. */
static bool find_section(const char *menu, size_t *ret_start, size_t *ret_end)
{
	const char *begin = strstr(menu, BEGIN), *end = begin ? strstr(begin, END) : NULL;

	if (!end || (begin > menu && begin[-1] != '\n'))
		return false;
	end += strlen(END);
	if (begin - menu >= 2 && begin[-2] == '\n')
		begin--;
	*ret_start = (size_t)(begin - menu);
	*ret_end = (size_t)(end - menu);
	return true;
}

/* The menu with another section in the place of ours, or at its end; NULL: without ours. */
static int put_section(const char *menu, const char *entry, char **ret, size_t *ret_size)
{
	_cleanup_strbuf_ struct strbuf out = {};
	size_t start = strlen(menu), end = start;

	(void)find_section(menu, &start, &end);
	strbuf_add(&out, menu, start);
	if (entry) {
		if (out.len > 0 && out.data[out.len - 1] != '\n')
			strbuf_addc(&out, '\n');
		strbuf_addf(&out, "\n" BEGIN "%s" END, entry);
	}
	strbuf_adds(&out, menu + end);
	return strbuf_take(&out, ret, ret_size);
}

static int read_menu(const struct boot *boot, const char *cfg, char **ret, struct diag *diag)
{
	int r = root_read(boot->root, cfg, ROOT_MAX_GRUB_CFG, ret, NULL);

	if (r < 0 && r != -ENOMEM)
		diag_error(diag, &(struct diag_where){ .path = cfg }, "%s", root_read_error(r));
	return r;
}

/* --- the entry --- */

/* In GRUB's single quotes; what is no text in a menu becomes a question mark. */
static void add_quoted(struct strbuf *out, const char *text)
{
	strbuf_addc(out, '\'');
	for (; *text; text++)
		if (*text == '\'')
			strbuf_adds(out, "'\\''");
		else
			strbuf_addc(out, (unsigned char)*text < ' ' ? '?' : *text);
	strbuf_addc(out, '\'');
}

/* Lines from start to end, but those that make the entry booted the default one. */
static void add_lines(struct strbuf *out, const char *menu, size_t start, size_t end)
{
	for (size_t at = start; at < end;) {
		size_t n = strcspn(menu + at, "\n"), blank = strspn(menu + at, " \t");
		size_t word = strcspn(menu + at + blank, " \t\n;");

		n = MIN(n + 1, end - at);
		if (word != strlen("savedefault") ||
		    memcmp(menu + at + blank, "savedefault", word) != 0)
			strbuf_add(out, menu + at, n);
		at += n;
	}
}

/* The default entry as it is, with the words, a title and an id of its own. */
static int make_entry(const char *menu, const struct boot_entry *base,
		      const struct grub_place *place, const struct boot_words *words,
		      char **ret)
{
	enum memcg_state want = words->want == BOOT_WANT_ON ? MEMCG_ON : MEMCG_OFF;
	_cleanup_free_ char *args = NULL, *title = NULL;
	_cleanup_strbuf_ struct strbuf out = {};
	size_t size;
	int r = cmdline_edit(menu + place->args, place->args_end - place->args, CMDLINE_LINE,
			     want, words->flags, &args, &size, NULL);

	if (r >= 0)
		r = str_printf(&title, "%s, once with memcg %s", base->title,
			       boot_want_to_string(words->want));
	if (r < 0)
		return r;
	strbuf_adds(&out, "menuentry ");
	add_quoted(&out, title);
	strbuf_addf(&out, "%s $menuentry_id_option '" GRUB_TRIAL_ID "' {", place->options);
	add_lines(&out, menu, place->body, place->args);
	if (place->args == place->args_end && size > 0)
		strbuf_addc(&out, ' ');
	strbuf_add(&out, args, size);
	add_lines(&out, menu, place->args_end, place->end);
	strbuf_adds(&out, "}\n");
	return strbuf_take(&out, ret, NULL);
}

/* What grub-mkconfig runs: the same bytes, as long as the kernel is there. */
static int make_script(const char *entry, const char *kernel, enum boot_want want, char **ret,
		       size_t *ret_size)
{
	_cleanup_strbuf_ struct strbuf out = {};

	strbuf_addf(
		&out,
		"#!/bin/sh\n"
		"# Written by \"memcg-policy trial %s\": a copy of the default entry, which "
		"GRUB boots once\n"
		"# when next_entry of its environment block names it. \"memcg-policy undo\" "
		"takes it away.\n"
		"if test -e '%s'; then\n"
		"cat <<'" HERE_END "'\n"
		"%s" HERE_END "\n"
		"fi\n",
		boot_want_to_string(want), kernel, entry);
	return strbuf_take(&out, ret, ret_size);
}

/* --- proving it --- */

static struct boot_entry *find_trial(const struct boot_entries *entries)
{
	struct boot_entry *found = NULL;

	for (size_t i = 0; i < entries->n; i++)
		if (entries->items[i].trial) {
			if (found)
				return NULL;
			found = &entries->items[i];
		}
	return found;
}

static const struct boot_entry *find_id(const struct boot_entries *entries, const char *id)
{
	for (size_t i = 0; i < entries->n; i++)
		if (streq(entries->items[i].id, id))
			return &entries->items[i];
	return NULL;
}

/*
 * The new menu as GRUB will read it: one entry more, chosen once, the default's line with the
 * words and no other change; and the default is the entry that it was.
 */
static int check_menu(const struct boot *boot, const char *cfg, const char *menu,
		      const char *block, const struct boot_entry *base,
		      const struct boot_words *words, struct diag *diag)
{
	enum memcg_state want = words->want == BOOT_WANT_ON ? MEMCG_ON : MEMCG_OFF;
	_cleanup_grub_cfg_ struct grub_cfg parsed = {};
	const char *args = base->args ? base->args : "";
	_cleanup_free_ char *expected = NULL;
	struct boot_entry *trial;
	const struct boot_entry *lasting;
	size_t size;
	int r = grub_cfg_parse(cfg, menu, strlen(menu), block, &parsed, diag);

	if (r >= 0)
		r = cmdline_edit(args, strlen(args), CMDLINE_LINE, want, words->flags,
				 &expected, &size, NULL);
	if (r < 0)
		return r;
	trial = find_trial(&parsed.entries);
	lasting = find_id(&parsed.entries, base->id);
	if (!trial || !trial->is_default || !lasting || !lasting->is_lasting)
		return refuse(diag, cfg, base->line,
			      "a copy of the default entry would not be chosen alone");
	if (!streq_ptr(trial->args, expected) || !streq_ptr(trial->image, base->image))
		return refuse(
			diag, cfg, base->line,
			"a copy of the default entry would not have the same line but for "
			"memcg's words");
	r = boot_entry_judge(boot, trial);
	if (r < 0)
		return r;
	return boot_entry_is(trial, words->want)
		       ? 0
		       : refuse(diag, cfg, base->line,
				"a copy of the default entry would not boot as asked for");
}

/* Where the menu's later scripts have entries, ours moves them when it is made anew. */
static int check_index(const struct grub_cfg *parsed, const char *menu, const char *cfg,
		       struct diag *diag)
{
	const char *lasting = parsed->lasting ? parsed->lasting : "0";
	static const char mark[] = "### BEGIN /etc/grub.d/";

	if (*lasting < '1' || *lasting > '9' ||
	    lasting[strspn(lasting, "0123456789")] > '>') /* "2" or "1>2", no title */
		return 0;
	for (const char *at = strstr(menu, mark); at; at = strstr(at + 1, mark)) {
		const char *end = strstr(at, "### END ");
		const char *entry = strstr(at, "menuentry '");

		/* in the text a name goes on with " ###" */
		if (strcmp(at + strlen(mark), "42_memcg_policy ~") > 0 && end && entry &&
		    entry < end)
			return refuse(diag, cfg, 0,
				      "the default entry is a number, and entries of scripts "
				      "behind " GRUB_OUR_SCRIPT " would move");
	}
	return 0;
}

/* --- planning --- */

struct trial {
	struct grub grub;
	char *menu, *env_path;
	struct content env;
	struct grub_cfg parsed;
	const struct boot_entry *base; /* the default entry, in parsed */
};

static void trial_done(struct trial *t)
{
	grub_done(&t->grub);
	free(t->menu);
	free(t->env_path);
	content_done(&t->env);
	grub_cfg_done(&t->parsed);
}

static int load(const struct boot *boot, struct trial *t, struct diag *diag)
{
	int r = grub_find(boot->root, &t->grub);

	if (r < 0)
		return r;
	if (!t->grub.cfg || t->grub.other_cfg || !root_exists(boot->root, "/etc/grub.d"))
		return refuse(diag, t->grub.cfg, 0,
			      "there is no one menu that grub-mkconfig made");
	r = read_menu(boot, t->grub.cfg, &t->menu, diag);
	if (r >= 0)
		r = grub_env_path(t->grub.cfg, &t->env_path);
	if (r >= 0)
		r = content_read(boot->root, t->env_path, ROOT_MAX_CMDLINE, &t->env);
	if (r >= 0)
		r = grub_parse_cfg(boot->root, t->grub.cfg, t->menu, strlen(t->menu),
				   &t->parsed, diag);
	if (r < 0)
		return r;
	t->base = boot_lasting_entry(&t->parsed.entries, t->parsed.once);
	return 0;
}

/* The dracut module's word: the initrd would not go on without memcg. */
static bool stops_without(const struct boot_entry *base)
{
	_cleanup_cmdline_ struct cmdline line = {};
	const char *args = base->args ? base->args : "";
	ssize_t word;

	if (cmdline_parse(args, strlen(args), CMDLINE_LINE, &line) < 0)
		return false;
	word = cmdline_find(&line, "rd.memcg_policy");
	return word >= 0 && line.words[word].value_size == 4 &&
	       memcmp(line.text + line.words[word].value_offset, "halt", 4) == 0;
}

static int check(const struct root *root, const struct trial *t, enum boot_want want,
		 struct diag *diag)
{
	_cleanup_free_ char *hint = NULL, *signature = NULL;

	if (t->parsed.blscfg || !t->base || t->base->foreign || t->base->trial)
		return refuse(diag, t->grub.cfg, 0,
			      "the default entry is none that boots a kernel of this system");
	if (str_printf(&signature, "%s.sig", t->grub.cfg) < 0)
		return -ENOMEM;
	if (root_exists(root, signature))
		return refuse(diag, signature, 0,
			      "the menu is signed, and would not be read any more");
	if (want == BOOT_WANT_OFF && stops_without(t->base))
		return refuse(
			diag, t->grub.cfg, t->base->line,
			"rd.memcg_policy=halt on its line: the initrd may stop the trial");
	if (!t->env.data || grubenv_check(t->env.data, t->env.size) < 0)
		return refuse(diag, t->env_path, 0, "is no environment block of GRUB");
	if (t->parsed.once && chooses_ours(&t->env) == 0) {
		if (str_printf(&hint, "grub-editenv %s unset " NEXT_ENTRY, t->env_path) < 0)
			return -ENOMEM;
		diag_error(diag, &(struct diag_where){ .path = t->env_path, .hint = hint },
			   "another entry is chosen for the next boot already");
		return -ENOTSUP;
	}
	return check_index(&t->parsed, t->menu, t->grub.cfg, diag);
}

int grub_trial_plan_edits(const struct boot *boot, const struct boot_words *words,
			  struct changeset *cs, struct diag *diag)
{
	_cleanup_free_ char *kernel = NULL, *entry = NULL, *script = NULL, *menu = NULL,
			    *block = NULL;
	_cleanup_(trial_done) struct trial t = {};
	size_t script_size, menu_size;
	int r = load(boot, &t, diag);

	if (r >= 0)
		r = check(boot->root, &t, words->want, diag);
	if (r < 0)
		return r;
	if (grub_image_path(boot->root, t.base->image, &kernel) < 0 || strchr(kernel, '\''))
		return refuse(diag, t.grub.cfg, t.base->line,
			      "the kernel of the default entry cannot be found");
	r = make_entry(t.menu, t.base, &t.parsed.places[t.base - t.parsed.entries.items], words,
		       &entry);
	if (r >= 0 && strstr(entry, HERE_END))
		return refuse(diag, t.grub.cfg, t.base->line, "the default entry is odd");
	if (r >= 0)
		r = make_script(entry, kernel, words->want, &script, &script_size);
	if (r >= 0)
		r = put_section(t.menu, entry, &menu, &menu_size);
	if (r >= 0)
		r = grubenv_set(t.env.data, NEXT_ENTRY, GRUB_TRIAL_ID, &block);
	if (r == -ENOSPC)
		return refuse(diag, t.env_path, 0, "the environment block is full");
	if (r >= 0)
		r = check_menu(boot, t.grub.cfg, menu, block, t.base, words, diag);
	if (r == -EINVAL)
		return refuse(diag, t.grub.cfg, t.base->line,
			      "the line ends inside a quote: no word can be added");
	if (r >= 0)
		r = changeset_edit(cs, boot->root, GRUB_OUR_SCRIPT, ROOT_MAX_GRUB_CFG, script,
				   script_size, 0755, 0, diag);
	if (r >= 0)
		r = changeset_edit(cs, boot->root, t.grub.cfg, ROOT_MAX_GRUB_CFG, menu,
				   menu_size, 0600, ATOMIC_BOOT, diag);
	return r < 0 ? r : plan_armed(boot, t.env_path, block, cs, diag);
}

int grub_plan_trial(const struct boot *boot, const struct boot_state *state _unused_,
		    const struct boot_words *words, struct changeset *cs, struct diag *diag)
{
	_cleanup_running_ struct running running = {};
	_cleanup_(trial_done) struct trial t = {};
	int r = load(boot, &t, diag);

	if (r >= 0)
		r = running_identify(boot->root, &running);
	if (r >= 0)
		r = grub_once_check(boot->root, &running, t.env_path, t.menu, diag);
	return r < 0 ? r : grub_trial_plan_edits(boot, words, cs, diag);
}

/* --- taking it away --- */

/* Where the menu will be made anew it is not edited: without the script the entry goes. */
static int plan_menu(const struct boot *boot, const char *cfg, struct changeset *cs,
		     struct diag *diag)
{
	_cleanup_free_ char *menu = NULL, *without = NULL;
	size_t start, end, size;
	int r;

	if (cs->refresh == REFRESH_RUN || changeset_find(cs, cfg))
		return 0;
	/* a menu that cannot be read is for those to say who need it */
	r = root_read(boot->root, cfg, ROOT_MAX_GRUB_CFG, &menu, NULL);
	if (r < 0 || !find_section(menu, &start, &end))
		return r == -ENOMEM ? r : 0;
	r = put_section(menu, NULL, &without, &size);
	return r < 0 ? r
		     : changeset_edit(cs, boot->root, cfg, ROOT_MAX_GRUB_CFG, without, size,
				      0600, ATOMIC_BOOT, diag);
}

int grub_plan_no_trial(const struct boot *boot, bool all, struct changeset *cs,
		       struct diag *diag)
{
	_cleanup_grub_ struct grub grub = {};
	int r = grub_find(boot->root, &grub);

	if (r < 0 || !grub.cfg)
		return r;
	r = plan_disarmed(boot, grub.cfg, cs, diag);
	if (r >= 0 && all)
		r = plan_menu(boot, grub.cfg, cs, diag);
	if (r >= 0 && all)
		r = changeset_edit(cs, boot->root, GRUB_OUR_SCRIPT, ROOT_MAX_GRUB_CFG, NULL, 0,
				   0755, 0, diag);
	return r;
}

static const char *base_name(const char *path)
{
	return strrchr(path, '/') + 1;
}

int grub_trial_take_back(const char *path, const struct content *now, struct content *ret)
{
	int r;

	if (streq(base_name(path), "grubenv")) {
		r = chooses_ours(now);
		if (r < 0)
			return r;
		if (r > 0)
			r = grubenv_set(now->data, NEXT_ENTRY, NULL, &ret->data);
		else
			r = (ret->data = str_dup_n(now->data, now->size)) ? 0 : -ENOMEM;
		ret->size = now->size;
		return r < 0 ? r : 1;
	}
	if (!streq(base_name(path), "grub.cfg"))
		return 0;
	r = put_section(now->data, NULL, &ret->data, &ret->size);
	return r < 0 ? r : 1;
}

static bool is_trial_file(const char *path)
{
	return streq(path, GRUB_OUR_SCRIPT) || streq(base_name(path), "grubenv") ||
	       streq(base_name(path), "grub.cfg") ||
	       str_skip_prefix(path, "/etc/memcg-policy/");
}

bool grub_trial_is_all(const struct changeset *cs)
{
	for (size_t i = 0; i < cs->n; i++)
		if (!is_trial_file(cs->edits[i].path))
			return false;
	return true;
}

int grub_trial_leave_menu(const struct root *root, const char *cfg, struct changeset *cs,
			  struct diag *diag)
{
	const struct edit *edit = changeset_find(cs, cfg);
	_cleanup_content_ struct content now = {};
	int r;

	if (!edit)
		return 0;
	r = content_read(root, cfg, ROOT_MAX_GRUB_CFG, &now);
	return r < 0 ? r
		     : changeset_edit(cs, root, cfg, ROOT_MAX_GRUB_CFG, now.data, now.size,
				      0600, 0, diag);
}
