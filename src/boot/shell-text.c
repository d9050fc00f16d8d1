/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot/shell-text.h"

#include "base/diag.h"
#include "boot/shell-edit.h"
#include "boot/text.h"

static int load(const struct root *root, const char *path, struct shell_script *ret,
		struct diag *diag)
{
	_cleanup_free_ char *text = NULL;
	size_t size;
	int r = root_read(root, path, ROOT_MAX_GRUB_DEFAULT, &text, &size);

	if (r == -ENOENT || r == -ENOMEM)
		return r;
	if (r < 0) {
		diag_error(diag, &(struct diag_where){ .path = path }, "%s", strerror(-r));
		return r;
	}
	return shell_script_add(ret, path, text, size, diag);
}

int shell_text_plan(const struct boot *boot, const struct shell_text *what,
		    const struct boot_words *words, struct changeset *cs, struct diag *diag)
{
	enum memcg_state want = words->want == BOOT_WANT_ON ? MEMCG_ON : MEMCG_OFF;
	unsigned remove = want == MEMCG_ON ? 0 : CMDLINE_NO_DISABLE;
	_cleanup_shell_script_ struct shell_script script = {};
	int r, changed;

	if (words->want == BOOT_WANT_NOTHING)
		return 0;
	r = load(boot->root, what->path, &script, diag);
	if (r >= 0)
		r = shell_edit(&script, what->variable, want, words->flags, diag);
	changed = r;
	if (r >= 0 && what->other) {
		r = shell_edit(&script, what->other, want, remove, diag);
		changed |= r;
	}
	if (r < 0 || !changed)
		return r;
	r = changeset_edit(cs, boot->root, what->path, ROOT_MAX_GRUB_DEFAULT,
			   script.files[0].text, script.files[0].size, 0644, 0, diag);
	return r < 0 ? r : 1;
}

int shell_text_value(const struct root *root, const char *path, const char *variable,
		     char **ret)
{
	_cleanup_shell_script_ struct shell_script script = {};
	_cleanup_shell_value_ struct shell_value value = {};
	_cleanup_diag_ struct diag ignored = {};
	int r = load(root, path, &script, &ignored);

	if (r >= 0)
		r = shell_script_value(&script, variable, &value);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	if (value.known == SHELL_IS_STATIC && value.text) {
		*ret = str_dup_n(value.text, value.size);
		return *ret ? 0 : -ENOMEM;
	}
	return 0;
}

int shell_text_read(const struct boot *boot, const struct shell_text *what,
		    struct boot_state *state)
{
	_cleanup_free_ char *line = NULL;
	int r = shell_text_value(boot->root, what->path, what->variable, &line);

	if (r < 0 || !line)
		return r;
	r = text_request(line, &state->configured, NULL);
	if (r >= 0 && state->configured != CMDLINE_NONE) {
		state->configured_path = strdup(what->path);
		if (!state->configured_path)
			return -ENOMEM;
	}
	return r;
}

static int add_content(struct shell_script *script, const char *path,
		       const struct content *content, struct diag *diag)
{
	return shell_script_add(script, path, content->data ? content->data : "", content->size,
				diag);
}

int shell_text_take_back(const struct shell_text *what, const struct content *before,
			 const struct content *written, const struct content *now,
			 struct content *ret, struct diag *diag)
{
	_cleanup_shell_script_ struct shell_script script = {}, old = {}, new = {};
	const char *variables[] = { what->variable, what->other };
	int r = add_content(&script, what->path, now, diag);

	if (r >= 0)
		r = add_content(&old, what->path, before, diag);
	if (r >= 0)
		r = add_content(&new, what->path, written, diag);
	for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(variables); i++) {
		_cleanup_shell_value_ struct shell_value a = {}, b = {};

		if (!variables[i])
			continue;
		r = shell_script_value(&old, variables[i], &a);
		if (r >= 0)
			r = shell_script_value(&new, variables[i], &b);
		if (r >= 0)
			r = shell_edit_reverse(&script, variables[i], &a, &b, diag);
	}
	if (r < 0)
		return r;
	*ret = (struct content){ TAKE_PTR(script.files[0].text), script.files[0].size };
	return 0;
}
