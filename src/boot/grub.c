/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot/grub.h"

#include "base/diag.h"
#include "boot/fstab.h"
#include "boot/grub-cfg.h"
#include "boot/grubenv.h"
#include "boot/shell-quote.h"

enum { MAX_DROPINS = 1000 };

const char *const grub_variables[] = {
	[GRUB_LINUX] = "GRUB_CMDLINE_LINUX",
	[GRUB_LINUX_DEFAULT] = "GRUB_CMDLINE_LINUX_DEFAULT",
	[GRUB_XEN_REPLACE] = "GRUB_CMDLINE_LINUX_XEN_REPLACE",
	[GRUB_XEN_REPLACE_DEFAULT] = "GRUB_CMDLINE_LINUX_XEN_REPLACE_DEFAULT",
};

void grub_done(struct grub *grub)
{
	free(grub->mkconfig);
	free(grub->script_check);
	free(grub->cfg);
	free(grub->other_cfg);
	*grub = (struct grub){};
}

static int first_existing(const struct root *root, const char *const *paths, size_t n,
			  char **ret)
{
	for (size_t i = 0; i < n; i++) {
		struct stat st;

		if (root_stat(root, paths[i], &st) < 0 || !S_ISREG(st.st_mode))
			continue;
		*ret = strdup(paths[i]);
		return *ret ? 0 : -ENOMEM;
	}
	return 0;
}

/* Whether a line of text that is no comment has needle in it. */
static bool mentions(const char *text, const char *needle)
{
	for (const char *line = text; *line;) {
		size_t n = strcspn(line, "\n");
		const char *hit = strstr(line, needle);

		if (!hit)
			return false;
		if (hit < line + n && line[strspn(line, " \t")] != '#')
			return true;
		line += n + (line[n] == '\n');
	}
	return false;
}

static int find_tools(const struct root *root, struct grub *grub)
{
	static const char *const mkconfig[] = {
		"/usr/sbin/grub-mkconfig",	 "/usr/sbin/grub2-mkconfig",
		"/usr/bin/grub-mkconfig",	 "/usr/bin/grub2-mkconfig",
		"/sbin/grub-mkconfig",		 "/sbin/grub2-mkconfig",
		"/usr/local/sbin/grub-mkconfig",
	};
	static const char *const check[] = {
		"/usr/bin/grub-script-check",  "/usr/bin/grub2-script-check",
		"/usr/sbin/grub-script-check", "/usr/sbin/grub2-script-check",
		"/bin/grub-script-check",      "/usr/local/bin/grub-script-check",
	};
	_cleanup_free_ char *text = NULL;
	int r = first_existing(root, mkconfig, ARRAY_SIZE(mkconfig), &grub->mkconfig);

	if (r >= 0)
		r = first_existing(root, check, ARRAY_SIZE(check), &grub->script_check);
	if (r < 0 || !grub->mkconfig)
		return r;
	/* not by the distribution's name: the patch that reads drop-ins travels */
	r = root_read(root, grub->mkconfig, ROOT_MAX_GRUB_DEFAULT, &text, NULL);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	grub->reads_dropins = mentions(text, "default/grub.d");
	grub->updates_env = mentions(text, "no-grubenv-update");
	return 0;
}

/* Whether a grub.cfg only loads another one, as those on an ESP do. */
static bool is_stub(const char *text)
{
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (str_skip_prefix(line + strspn(line, " \t"), "configfile"))
			return true;
	}
	return false;
}

static int find_cfg(const struct root *root, struct grub *grub)
{
	static const char *const paths[] = { "/boot/grub/grub.cfg", "/boot/grub2/grub.cfg",
					     "/etc/grub2.cfg", "/etc/grub2-efi.cfg" };

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		_cleanup_free_ char *path = NULL, *text = NULL;
		int r = root_resolve(root, paths[i], &path);

		if (r == -ENOMEM)
			return r;
		if (r < 0 || streq_ptr(path, grub->cfg) || !root_exists(root, path))
			continue;
		r = root_read(root, path, ROOT_MAX_GRUB_CFG, &text, NULL);
		if (r == -ENOMEM)
			return r;
		if (r >= 0 && is_stub(text))
			continue;
		if (!grub->cfg)
			grub->cfg = TAKE_PTR(path);
		else if (!grub->other_cfg)
			grub->other_cfg = TAKE_PTR(path);
	}
	return 0;
}

int grub_find(const struct root *root, struct grub *ret)
{
	_cleanup_grub_ struct grub grub = {};
	int r = find_tools(root, &grub);

	if (r >= 0)
		r = find_cfg(root, &grub);
	if (r < 0)
		return r;
	*ret = grub;
	grub = (struct grub){};
	return 0;
}

/* --- the defaults --- */

static int add_defaults(const struct root *root, const char *path, struct shell_script *script,
			struct diag *diag)
{
	_cleanup_free_ char *text = NULL;
	size_t size;
	int r = root_read(root, path, ROOT_MAX_GRUB_DEFAULT, &text, &size);

	if (r == -ENOENT)
		return 0;
	if (r < 0) {
		if (r != -ENOMEM)
			diag_error(diag, &(struct diag_where){ .path = path }, "%s",
				   root_read_error(r));
		return r;
	}
	return shell_script_add(script, path, text, size, diag);
}

int grub_load_defaults(const struct root *root, bool dropins, const char *without,
		       struct shell_script *ret, struct diag *diag)
{
	_cleanup_shell_script_ struct shell_script script = {};
	_cleanup_strv_ struct strv names = {};
	int r = add_defaults(root, GRUB_DEFAULT, &script, diag);

	if (r >= 0 && dropins) {
		r = root_glob(root, GRUB_DROPIN_DIR "/*.cfg", MAX_DROPINS, &names);
		for (size_t i = 0; r >= 0 && i < names.n; i++)
			if (!streq_ptr(names.items[i], without))
				r = add_defaults(root, names.items[i], &script, diag);
	}
	if (r < 0)
		return r;
	*ret = script;
	script = (struct shell_script){};
	return 0;
}

bool grub_defaults_mention(const struct shell_script *script, enum cmdline_request request)
{
	static const char *const names[_CMDLINE_REQUEST_MAX][2] = {
		[CMDLINE_ON] = { "cgroup_enable", "cgroup-enable" },
		[CMDLINE_OFF] = { "cgroup_disable", "cgroup-disable" },
	};

	for (size_t i = 0; i < script->n; i++)
		for (size_t k = 0; k < 2; k++)
			if (mentions(script->files[i].text, names[request][k]))
				return true;
	return false;
}

/* Where byte at of the line "LINUX DEFAULT" was written. */
static int note_place(const struct shell_script *script, const struct shell_value *linux_value,
		      const struct shell_value *default_value, size_t at,
		      struct boot_state *state)
{
	bool behind = at > linux_value->size;
	const struct shell_origin *origin =
		behind ? &default_value->origins[at - linux_value->size - 1]
		       : &linux_value->origins[at];
	const struct shell_file *file = &script->files[origin->file];
	unsigned column;

	shell_position(file->text, origin->offset, &state->configured_line, &column);
	state->configured_path = strdup(file->path);
	return state->configured_path ? 0 : -ENOMEM;
}

static int read_configured(const struct shell_script *script, struct boot_state *state)
{
	_cleanup_shell_value_ struct shell_value first = {}, second = {};
	_cleanup_strbuf_ struct strbuf line = {};
	_cleanup_cmdline_ struct cmdline cmdline = {};
	ssize_t word = -ENOENT;
	int r;

	r = shell_script_value(script, grub_variables[GRUB_LINUX], &first);
	if (r >= 0)
		r = shell_script_value(script, grub_variables[GRUB_LINUX_DEFAULT], &second);
	if (r < 0 || first.known == SHELL_IS_DYNAMIC || second.known == SHELL_IS_DYNAMIC)
		return r; /* else it cannot be told */
	/* the order in which 10_linux puts them on the line */
	strbuf_add(&line, first.text, first.size);
	strbuf_addc(&line, ' ');
	strbuf_add(&line, second.text, second.size);
	if (line.failed)
		return -ENOMEM;
	r = cmdline_parse(line.data, line.len, CMDLINE_LINE, &cmdline);
	if (r < 0)
		return r;
	state->configured = cmdline_request(&cmdline, &word);
	return word < 0
		       ? 0
		       : note_place(script, &first, &second, cmdline.words[word].offset, state);
}

/* --- the menu --- */

int grub_env_path(const char *cfg, char **ret)
{
	return str_printf(ret, "%.*s/grubenv", (int)(strrchr(cfg, '/') - cfg), cfg);
}

int grub_image_path(const struct root *root, const char *image, char **ret)
{
	_cleanup_free_ char *below = NULL;
	int r = str_printf(&below, "/boot%s", image);

	if (r < 0)
		return r;
	if (root_exists(root, image)) {
		*ret = strdup(image);
		return *ret ? 0 : -ENOMEM;
	}
	if (!root_exists(root, below))
		return -ENOENT;
	*ret = TAKE_PTR(below);
	return 0;
}

int grub_parse_cfg(const struct root *root, const char *path, const char *text, size_t size,
		   struct grub_cfg *ret, struct diag *diag)
{
	_cleanup_free_ char *env_path = NULL, *env = NULL;
	size_t env_size;
	int r = grub_env_path(path, &env_path);

	if (r < 0)
		return r;
	/* without one, or with one that is broken, GRUB goes on too */
	r = root_read(root, env_path, ROOT_MAX_CMDLINE, &env, &env_size);
	if (r == -ENOMEM)
		return r;
	if (r >= 0)
		r = grubenv_check(env, env_size);
	return grub_cfg_parse(path, text, size, r >= 0 ? env : NULL, ret, diag);
}

int grub_read_entries(const struct root *root, const struct grub *grub,
		      struct boot_state *state, struct diag *diag)
{
	_cleanup_grub_cfg_ struct grub_cfg cfg = {};
	_cleanup_diag_ struct diag errors = {};
	_cleanup_free_ char *text = NULL;
	size_t size;
	int r;

	if (!grub->cfg)
		return 0;
	r = root_read(root, grub->cfg, ROOT_MAX_GRUB_CFG, &text, &size);
	if (r >= 0)
		r = grub_parse_cfg(root, grub->cfg, text, size, &cfg, &errors);
	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		/* unknown entries are no reason to stop: it will be made anew */
		if (r == -EBADMSG && errors.n > 0)
			diag_warning(diag,
				     &(struct diag_where){ .path = grub->cfg,
							   .line = errors.messages[0].line },
				     "%s", errors.messages[0].text);
		else
			diag_warning(diag, &(struct diag_where){ .path = grub->cfg },
				     "cannot be read: %s", strerror(-r));
		return 0;
	}
	boot_entries_done(&state->entries);
	state->entries = cfg.entries;
	cfg.entries = (struct boot_entries){};
	state->entries_known = !cfg.blscfg && !grub->other_cfg;
	state->bls = cfg.blscfg;
	state->once = cfg.once;
	return 0;
}

/* --- what is in charge instead --- */

static int unsupported(struct diag *diag, const char *path, const char *hint, const char *text)
{
	diag_error(diag, &(struct diag_where){ .path = path, .hint = hint }, "%s", text);
	return -ENOTSUP;
}

/* A variable of a shell fragment with that value. */
static bool variable_is(const struct root *root, const char *path, const char *name,
			const char *const *values)
{
	_cleanup_shell_script_ struct shell_script script = {};
	_cleanup_shell_value_ struct shell_value value = {};
	_cleanup_diag_ struct diag ignored = {};

	if (add_defaults(root, path, &script, &ignored) < 0 ||
	    shell_script_value(&script, name, &value) < 0 || value.known != SHELL_IS_STATIC)
		return false;
	for (; *values; values++)
		if (streq(value.text, *values))
			return true;
	return false;
}

int grub_read_defaults(const struct root *root, bool dropins, struct boot_state *state)
{
	_cleanup_shell_script_ struct shell_script script = {};
	_cleanup_diag_ struct diag trouble = {};
	int r = grub_load_defaults(root, dropins, NULL, &script, &trouble);

	if (r >= 0)
		r = read_configured(&script, state);
	/* defaults that cannot be read are planning's trouble; here they are unknown */
	return r == -ENOMEM ? r : 0;
}

int grub_read(const struct boot *boot, bool dropins, struct boot_state *ret, struct diag *diag)
{
	_cleanup_grub_ struct grub grub = {};
	int r = grub_find(boot->root, &grub);

	if (r >= 0)
		r = grub_read_defaults(boot->root, dropins, ret);
	return r < 0 ? r : grub_read_entries(boot->root, &grub, ret, diag);
}

int grub_check_supported(const struct root *root, const struct grub *grub,
			 const struct boot_state *state, struct diag *diag)
{
	static const char *const yes[] = { "true", NULL };
	static const char *const suse[] = { "grub2-bls", "systemd-boot", "u-boot", NULL };
	_cleanup_strv_ struct strv entries = {};

	if (root_exists(root, "/ostree/repo") || root_exists(root, "/run/ostree-booted"))
		return unsupported(diag, NULL, NULL,
				   "an ostree system keeps kernel arguments in its "
				   "deployments: not supported yet");
	if (variable_is(root, "/etc/sysconfig/bootloader", "LOADER_TYPE", suse))
		return unsupported(diag, "/etc/sysconfig/bootloader", NULL,
				   "this boot loader is not supported yet");
	if (fstab_root_is_read_only(root) &&
	    (root_exists(root, "/usr/sbin/transactional-update") ||
	     root_exists(root, "/usr/sbin/tukit")))
		return unsupported(diag, NULL, NULL,
				   "a transactional system is changed in new snapshots: not "
				   "supported yet");
	IGNORE(root_glob(root, "/boot/loader/entries/*.conf", 1, &entries)); /* one is enough */
	if (state->bls ||
	    (entries.n > 0 && variable_is(root, GRUB_DEFAULT, "GRUB_ENABLE_BLSCFG", yes)) ||
	    (!grub->reads_dropins &&
	     variable_is(root, GRUB_DEFAULT, "GRUB_ENABLE_BLSCFG", yes)))
		return unsupported(diag, NULL, NULL,
				   "boot loader entries (BLS) hold the kernel arguments here: "
				   "not supported yet");
	if (grub->other_cfg) {
		_cleanup_free_ char *hint = NULL;

		if (str_printf(&hint, "remove %s or %s, whichever GRUB does not read",
			       grub->cfg, grub->other_cfg) < 0)
			return -ENOMEM;
		return unsupported(diag, grub->other_cfg, hint,
				   "there are two grub.cfg, and which of them counts cannot "
				   "be told");
	}
	return 0;
}
