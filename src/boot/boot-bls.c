/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * GRUB with blscfg: Fedora since 30, RHEL since 8. The truth is in three places: the entries
 * (kernels installed now; on RHEL 8 their common part is grubenv's kernelopts), /etc/kernel/
 * cmdline (kernels installed later), /etc/default/grub (what grub2-mkconfig makes both of).
 * Fedora's kernel-install plugin runs grub2-mkconfig when /etc/default/grub is the newer of the
 * last two, so that their order is kept. GRUB reads the entries at boot: nothing is run.
 */

#include "base/diag.h"
#include "boot/bls-dir.h"
#include "boot/grub.h"
#include "boot/grubenv.h"
#include "boot/kernel-cmdline.h"
#include "boot/shell-edit.h"
#include "boot/text.h"
#include "boot/tool.h"

#define ENTRIES "/boot/loader/entries"
static const char *const dirs[] = { ENTRIES, NULL };

/* --- grubenv --- */

struct env {
	char *path;
	char *block; /* GRUBENV_SIZE bytes; NULL: there is none */
	char *kernelopts, *tuned_params, *saved_entry;
};

static void env_done(struct env *env)
{
	free(env->path);
	free(env->block);
	free(env->kernelopts);
	free(env->tuned_params);
	free(env->saved_entry);
}

static int get(const struct env *env, const char *name, char **ret)
{
	int r = grubenv_get(env->block, name, ret);

	return r == -ENOENT ? 0 : r;
}

/* tuned's 00_tuned writes the value into grub.cfg: set tuned_params="..." */
static int get_tuned_params(const struct root *root, const char *cfg, struct env *env)
{
	static const char mark[] = "\nset tuned_params=\"";
	_cleanup_free_ char *text = NULL;
	const char *p;
	int r = root_read(root, cfg, ROOT_MAX_GRUB_CFG, &text, NULL);

	if (r < 0)
		return r == -ENOMEM ? r : 0;
	p = strstr(text, mark);
	if (!p)
		return 0;
	p += sizeof(mark) - 1;
	free(env->tuned_params);
	env->tuned_params = str_dup_n(p, strcspn(p, "\"\n"));
	return env->tuned_params ? 0 : -ENOMEM;
}

static int load_env(const struct root *root, const struct grub *grub, struct env *ret)
{
	_cleanup_(env_done) struct env env = {};
	size_t size;
	int r = grub_env_path(grub->cfg ? grub->cfg : "/boot/grub2/grub.cfg", &env.path);

	if (r >= 0)
		r = root_read(root, env.path, GRUBENV_SIZE, &env.block, &size);
	if (r >= 0 && grubenv_check(env.block, size) < 0) {
		freep(&env.block);
		env.block = NULL;
	}
	if (r == -ENOMEM)
		return r;
	r = 0;
	if (env.block)
		r = get(&env, "kernelopts", &env.kernelopts);
	if (env.block && r >= 0)
		r = get(&env, "tuned_params", &env.tuned_params);
	if (env.block && r >= 0)
		r = get(&env, "saved_entry", &env.saved_entry);
	if (grub->cfg && r >= 0)
		r = get_tuned_params(root, grub->cfg, &env);
	if (r < 0)
		return r;
	*ret = env;
	env = (struct env){};
	return 0;
}

static const char *variable(const char *name, void *userdata)
{
	const struct env *env = userdata;

	if (streq(name, "kernelopts"))
		return env->kernelopts;
	if (streq(name, "tuned_params"))
		return env->tuned_params;
	return NULL;
}

static struct bls_source source_of(struct env *env)
{
	return (struct bls_source){
		.dirs = dirs,
		.reader = BLS_GRUB,
		.value = variable,
		.userdata = env,
		.chosen = env->saved_entry,
	};
}

/* --- probing, reading --- */

static bool enables_blscfg(const struct root *root)
{
	_cleanup_shell_script_ struct shell_script script = {};
	_cleanup_shell_value_ struct shell_value value = {};
	_cleanup_diag_ struct diag ignored = {};

	return grub_load_defaults(root, false, NULL, &script, &ignored) >= 0 &&
	       shell_script_value(&script, "GRUB_ENABLE_BLSCFG", &value) >= 0 &&
	       value.known == SHELL_IS_STATIC && streq(value.text, "true");
}

static bool has_entries(const struct root *root)
{
	_cleanup_strv_ struct strv names = {};

	if (root_list(root, ENTRIES, &names) < 0)
		return false;
	for (size_t i = 0; i < names.n; i++)
		if (bls_is_entry_name(names.items[i], BLS_GRUB))
			return true;
	return false;
}

static int bls_probe(const struct root *root, struct diag *diag _unused_)
{
	_cleanup_boot_state_ struct boot_state state = {};
	_cleanup_diag_ struct diag ignored = {};
	_cleanup_grub_ struct grub grub = {};
	bool entries = has_entries(root);
	int r;

	/* the cheap questions first: most hosts with GRUB have no such entries. While a system
	 * is being installed there are none yet, only the word that there will be */
	if ((!entries && !tool_mentions(root, GRUB_DEFAULT, "GRUB_ENABLE_BLSCFG")) ||
	    root_exists(root, "/ostree/repo") || root_exists(root, "/run/ostree-booted"))
		return 0;
	r = grub_find(root, &grub);
	if (r >= 0 && grub.cfg)
		r = grub_read_entries(root, &grub, &state, &ignored);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	if (!grub.cfg && !grub.mkconfig)
		return 0;
	/* where drop-ins are read (Debian) the variable means nothing */
	return state.bls || ((entries || !grub.reads_dropins) && enables_blscfg(root));
}

static int bls_read(const struct boot *boot, struct boot_state *ret, struct diag *diag)
{
	_cleanup_boot_state_ struct boot_state state = {};
	_cleanup_(env_done) struct env env = {};
	_cleanup_grub_ struct grub grub = {};
	struct bls_source source;
	int r = grub_find(boot->root, &grub);

	if (r >= 0)
		r = load_env(boot->root, &grub, &env);
	if (r < 0)
		return r;
	source = source_of(&env);
	r = bls_dir_read(boot, &source, &state, diag);
	if (r < 0)
		return r;
	state.entries_known = state.entries.n > 0;
	state.bls = true;
	/* later kernels go by the one, grub2-mkconfig by the other */
	r = kernel_cmdline_read(boot, &state, diag);
	if (r >= 0 && state.configured == CMDLINE_NOT_LOOKED)
		r = grub_read_defaults(boot->root, false, &state);
	if (r == -ENOMEM)
		return r;
	*ret = state;
	state = (struct boot_state){};
	return 0;
}

/* --- changing --- */

/* /etc/default/grub: words against it go from both variables, the word itself into LINUX. */
static int plan_defaults(const struct boot *boot, const struct boot_words *words,
			 unsigned edit_flags, struct changeset *cs, struct diag *diag)
{
	enum memcg_state want = words->want == BOOT_WANT_ON ? MEMCG_ON : MEMCG_OFF;
	unsigned remove = want == MEMCG_ON ? 0 : CMDLINE_NO_DISABLE;
	_cleanup_shell_script_ struct shell_script script = {};
	int r = grub_load_defaults(boot->root, false, NULL, &script, diag);

	if (r < 0 || script.n == 0)
		return r;
	r = shell_edit(&script, grub_variables[GRUB_LINUX], want, words->flags, diag);
	if (r >= 0)
		r = shell_edit(&script, grub_variables[GRUB_LINUX_DEFAULT], want, remove, diag);
	if (r < 0)
		return r;
	return changeset_edit(cs, boot->root, GRUB_DEFAULT, ROOT_MAX_GRUB_DEFAULT,
			      script.files[0].text, script.files[0].size, 0644, edit_flags,
			      diag);
}

/* The entries whose options name kernelopts take them from grubenv. */
static int uses_kernelopts(const struct boot *boot, const struct boot_state *state,
			   struct diag *diag)
{
	for (size_t i = 0; i < state->entries.n; i++) {
		const struct boot_entry *entry = &state->entries.items[i];
		_cleanup_free_ char *options = NULL;
		int r;

		if (!entry->ours)
			continue;
		r = bls_dir_options(boot, BLS_GRUB, entry->source, &options, diag);
		if (r < 0)
			return r;
		if (strstr(options, "$kernelopts"))
			return 1;
	}
	return 0;
}

static int plan_kernelopts(const struct boot *boot, const struct env *env,
			   const struct boot_words *words, struct changeset *cs,
			   struct diag *diag)
{
	enum memcg_state want = words->want == BOOT_WANT_ON ? MEMCG_ON : MEMCG_OFF;
	_cleanup_free_ char *text = NULL, *block = NULL;
	int r;

	if (!env->block || !env->kernelopts) {
		diag_error(diag,
			   &(struct diag_where){
				   .path = env->path,
				   .hint = "grub2-mkconfig -o /etc/grub2.cfg writes it",
			   },
			   "the entries take their arguments from kernelopts in this file, and "
			   "it is not there");
		return -ENOTSUP;
	}
	r = cmdline_edit(env->kernelopts, strlen(env->kernelopts), CMDLINE_LINE, want,
			 words->flags, &text, NULL, NULL);
	if (r == -EINVAL)
		diag_error(diag, &(struct diag_where){ .path = env->path },
			   "kernelopts ends inside a double quote");
	if (r <= 0)
		return r;
	r = grubenv_set(env->block, "kernelopts", text, &block);
	if (r == -ENOSPC) {
		diag_error(diag,
			   &(struct diag_where){
				   .path = env->path,
				   .hint = "grub2-editenv list shows what fills it",
			   },
			   "GRUB's environment block has no room for one more argument");
		return -ENOTSUP;
	}
	if (r < 0)
		return r;
	return changeset_edit(cs, boot->root, env->path, GRUBENV_SIZE, block, GRUBENV_SIZE,
			      0644, ATOMIC_BOOT | ATOMIC_IN_PLACE, diag);
}

/* Without kernelopts an entry gets the word itself, with it only loses what is against it. */
static int plan_entries(const struct boot *boot, const struct bls_source *source,
			const struct env *env, const struct boot_state *state,
			const struct boot_words *words, struct changeset *cs, struct diag *diag)
{
	struct boot_words here = *words;
	int r = uses_kernelopts(boot, state, diag);

	if (r > 0) {
		here.flags = words->want == BOOT_WANT_ON ? 0 : CMDLINE_NO_DISABLE;
		r = plan_kernelopts(boot, env, words, cs, diag);
	}
	return r < 0 ? r : bls_dir_plan(boot, source, state, &here, cs, diag);
}

/* --- which of the two files is the newer --- */

static bool is_newer(const struct stat *a, const struct stat *b)
{
	return a->st_mtim.tv_sec != b->st_mtim.tv_sec ? a->st_mtim.tv_sec > b->st_mtim.tv_sec
						      : a->st_mtim.tv_nsec > b->st_mtim.tv_nsec;
}

/* The words of a line but ours, and but those that grub2-mkconfig finds out by itself. */
static int other_words(const char *line, struct strv *ret)
{
	static const char *const own[] = {
		"root", "ro", "rw", "rootflags", "cgroup_enable", "cgroup_disable"
	};
	_cleanup_cmdline_ struct cmdline cmdline = {};
	int r = cmdline_parse(line, strlen(line), CMDLINE_LINE, &cmdline);

	for (size_t i = 0; r >= 0 && i < cmdline.n; i++) {
		bool skip = false;

		for (size_t k = 0; k < ARRAY_SIZE(own); k++)
			skip |= cmdline_name_is(&cmdline, i, own[k]);
		if (!skip)
			strv_add_n(ret, line + cmdline.words[i].offset, cmdline.words[i].size);
	}
	return r < 0 ? r : strv_error(ret);
}

static bool contains_all(const struct strv *a, const struct strv *b)
{
	for (size_t i = 0; i < b->n; i++)
		if (!strv_contains(a, b->items[i]))
			return false;
	return true;
}

/* What grub2-mkconfig would put on the line; NULL in *ret when that cannot be known. */
static int defaults_line(const struct root *root, char **ret)
{
	_cleanup_shell_script_ struct shell_script script = {};
	_cleanup_diag_ struct diag ignored = {};
	_cleanup_strbuf_ struct strbuf line = {};
	int r = grub_load_defaults(root, false, NULL, &script, &ignored);

	for (int i = GRUB_LINUX; r >= 0 && i <= GRUB_LINUX_DEFAULT; i++) {
		_cleanup_shell_value_ struct shell_value value = {};

		r = shell_script_value(&script, grub_variables[i], &value);
		if (r >= 0 && value.known == SHELL_IS_DYNAMIC)
			return 0;
		if (r >= 0 && value.text)
			strbuf_add(&line, value.text, value.size);
		strbuf_addc(&line, ' ');
	}
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	return strbuf_take(&line, ret, NULL);
}

/*
 * Whether somebody changed the arguments in /etc/default/grub and nothing has carried that out
 * yet: it is the newer of the two, and asks for other words.
 */
static int is_pending(const struct root *root, bool *ret)
{
	_cleanup_free_ char *defaults = NULL, *cmdline = NULL;
	_cleanup_strv_ struct strv a = {}, b = {};
	struct stat defaults_st, cmdline_st;
	int r;

	*ret = false;
	if (root_stat(root, GRUB_DEFAULT, &defaults_st) < 0 ||
	    root_stat(root, KERNEL_CMDLINE, &cmdline_st) < 0 ||
	    !is_newer(&defaults_st, &cmdline_st))
		return 0;
	r = root_read(root, KERNEL_CMDLINE, ROOT_MAX_CMDLINE, &cmdline, NULL);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	r = defaults_line(root, &defaults);
	if (r < 0 || !defaults)
		return r;
	r = other_words(defaults, &a);
	if (r >= 0)
		r = other_words(cmdline, &b);
	if (r >= 0)
		*ret = !contains_all(&a, &b) || !contains_all(&b, &a);
	return r;
}

/* Both, the newer last and, if one is written, the other too: the plug-in goes by their times.
 */
static int plan_both(const struct boot *boot, const struct boot_state *state,
		     const struct boot_words *words, struct changeset *cs, struct diag *diag)
{
	bool pending, exists = root_exists(boot->root, KERNEL_CMDLINE);
	unsigned touch;
	int r = is_pending(boot->root, &pending);

	if (r < 0)
		return r;
	if (!pending) {
		r = plan_defaults(boot, words, 0, cs, diag);
		touch = exists && changeset_find(cs, GRUB_DEFAULT) ? ATOMIC_TOUCH : 0;
		return r < 0 ? r : kernel_cmdline_plan(boot, state, words, touch, cs, diag);
	}
	diag_warning(diag,
		     &(struct diag_where){ .path = GRUB_DEFAULT,
					   .hint = "grub2-mkconfig -o /etc/grub2.cfg" },
		     "was changed after " KERNEL_CMDLINE " and asks for other arguments: the "
		     "next kernel that is installed carries that out, as it would have without "
		     "this change");
	r = kernel_cmdline_plan(boot, state, words, 0, cs, diag);
	touch = changeset_find(cs, KERNEL_CMDLINE) ? ATOMIC_TOUCH : 0;
	return r < 0 ? r : plan_defaults(boot, words, touch, cs, diag);
}

/* ppc64le with an old petitboot: grub2-mkconfig writes the entries into grub.cfg. */
static int has_written_menu(const struct boot *boot, bool *ret)
{
	_cleanup_boot_state_ struct boot_state state = {};
	_cleanup_diag_ struct diag ignored = {};
	_cleanup_grub_ struct grub grub = {};
	int r = grub_find(boot->root, &grub);

	if (r >= 0)
		r = grub_read_entries(boot->root, &grub, &state, &ignored);
	*ret = r >= 0 && !state.bls && state.entries.n > 0;
	return r;
}

static int bls_plan_refresh(const struct boot *boot, const struct boot_state *state,
			    const struct boot_words *words, bool edited, struct changeset *cs)
{
	bool written;
	int r = has_written_menu(boot, &written);

	if (r >= 0 && written)
		return grub_plan_refresh(boot, state, words, edited, cs);
	return r < 0 ? r : text_plan_verify(boot, state, words, edited, cs);
}

static int bls_plan(const struct boot *boot, const struct boot_state *state,
		    const struct boot_words *words, struct changeset *cs, struct diag *diag)
{
	_cleanup_(env_done) struct env env = {};
	_cleanup_grub_ struct grub grub = {};
	struct bls_source source;
	int r = grub_find(boot->root, &grub);

	if (r >= 0)
		r = load_env(boot->root, &grub, &env);
	if (r < 0)
		return r;
	if (words->want == BOOT_WANT_NOTHING)
		return bls_plan_refresh(boot, state, words, cs->n > 0, cs);
	source = source_of(&env);
	/* RHEL 8: later kernels' entries name kernelopts, and no file is to be made for them */
	if (env.kernelopts && !root_exists(boot->root, KERNEL_CMDLINE))
		r = plan_defaults(boot, words, 0, cs, diag);
	else
		r = plan_both(boot, state, words, cs, diag);
	if (r >= 0)
		r = plan_entries(boot, &source, &env, state, words, cs, diag);
	return r < 0 ? r : bls_plan_refresh(boot, state, words, cs->n > 0, cs);
}

static int bls_refresh(const struct boot *boot, const struct boot_words *words,
		       struct diag *diag)
{
	bool written;
	int r = has_written_menu(boot, &written);

	return r >= 0 && written ? grub_refresh(boot, words, diag) : r;
}

/* --- taking back --- */

static int kernelopts_of(const struct content *block, struct content *ret)
{
	int r;

	if (!block->data || grubenv_check(block->data, block->size) < 0)
		return -EBADMSG;
	r = grubenv_get(block->data, "kernelopts", &ret->data);
	if (r >= 0)
		ret->size = strlen(ret->data);
	return r;
}

/* grubenv changes at every boot: only the words in kernelopts are ours. */
static int take_back_env(const char *path, const struct content *before,
			 const struct content *written, const struct content *now,
			 struct content *ret, struct diag *diag)
{
	_cleanup_content_ struct content a = {}, b = {}, c = {}, value = {};
	char *block;
	int r = kernelopts_of(before, &a);

	if (r >= 0)
		r = kernelopts_of(written, &b);
	if (r >= 0)
		r = kernelopts_of(now, &c);
	if (r >= 0)
		r = kernel_cmdline_take_back(path, &a, &b, &c, &value, diag);
	if (r >= 0)
		r = grubenv_set(now->data, "kernelopts", value.data, &block);
	if (r < 0)
		return r;
	*ret = (struct content){ block, GRUBENV_SIZE };
	return 0;
}

static int bls_take_back_path(const struct boot *boot, const char *path,
			      const struct content *before, const struct content *written,
			      const struct content *now, struct content *ret, struct diag *diag)
{
	if (streq(path, GRUB_DEFAULT))
		return boot_grub_default.take_back(boot, path, before, written, now, ret, diag);
	if (streq(path, KERNEL_CMDLINE))
		return kernel_cmdline_take_back(path, before, written, now, ret, diag);
	if (str_has_suffix(path, "/grubenv"))
		return take_back_env(path, before, written, now, ret, diag);
	return bls_take_back(BLS_GRUB, path, before, written, now, ret, diag);
}

const struct boot_backend boot_bls = {
	.name = "bls",
	.title = "GRUB with boot loader entries (BLS)",
	.sign = "entries that GRUB reads",
	.by = BOOT_BY_GRUB,
	.tried = BOOT_TRIED_TOOLS,
	.probe = bls_probe,
	.read = bls_read,
	.plan = bls_plan,
	.plan_refresh = bls_plan_refresh,
	.refresh = bls_refresh,
	.verify = text_verify,
	.take_back = bls_take_back_path,
};
