/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * GRUB whose grub-mkconfig reads /etc/default/grub.d, as Debian and its relatives patch it: one
 * drop-in of our own, and no file of anybody else is touched.
 */

#include "base/diag.h"
#include "boot/grub-text.h"
#include "boot/grub-trial.h"
#include "boot/grub.h"

static int dropin_probe(const struct root *root, struct diag *diag _unused_)
{
	_cleanup_grub_ struct grub grub = {};
	int r = grub_find(root, &grub);

	if (r < 0)
		return r;
	/* the tools alone do not boot a running system; a target gets its menu later */
	return grub.mkconfig && grub.reads_dropins &&
	       (grub.cfg || root_mode(root) == ROOT_OFFLINE);
}

static int dropin_read(const struct boot *boot, struct boot_state *ret, struct diag *diag)
{
	return grub_read(boot, true, ret, diag);
}

/* What the defaults without our drop-in need done about the words. */
struct need {
	bool take_out; /* words against it are there, or may be */
	bool add;      /* a word for it is to be added */
	bool plain;    /* behind what GRUB_CMDLINE_LINUX is, and nowhere else */
};

/* Whether an entry made without our drop-in has a word against it: the answer where the
 * defaults are a program. */
static bool entries_ask_for(const struct boot_state *state, enum cmdline_request request)
{
	for (size_t i = 0; i < state->entries.n; i++)
		if (state->entries.items[i].ours && state->entries.items[i].request == request)
			return true;
	return false;
}

/* Whether a word can just be put behind the value: nothing in it is for init. */
static int ends_for_kernel(const struct shell_value *value, bool *ret)
{
	_cleanup_cmdline_ struct cmdline cmdline = {};
	int r = cmdline_parse(value->text, value->size, CMDLINE_LINE, &cmdline);

	if (r >= 0)
		*ret = cmdline.n == 0 || !cmdline.words[cmdline.n - 1].for_init;
	return r;
}

static int judge_variable(const struct shell_script *script, int variable,
			  const struct boot_words *words, struct need *need, bool *ret_dynamic)
{
	enum memcg_state want = words->want == BOOT_WANT_ON ? MEMCG_ON : MEMCG_OFF;
	_cleanup_cmdline_changes_ struct cmdline_changes changes = {};
	_cleanup_shell_value_ struct shell_value value = {};
	_cleanup_free_ char *edited = NULL;
	size_t size;
	int r = shell_script_value(script, grub_variables[variable], &value);

	if (r < 0)
		return r;
	if (value.known == SHELL_IS_DYNAMIC) {
		*ret_dynamic = true;
		return 0;
	}
	if (!value.text)
		value.text = strdup("");
	if (!value.text)
		return -ENOMEM;
	r = cmdline_edit(value.text, value.size, CMDLINE_LINE, want, words->flags, &edited,
			 &size, &changes);
	/* an open quote: only the drop-in's own reader can go on from there */
	if (r == -EINVAL) {
		*ret_dynamic = true;
		return 0;
	}
	if (r < 0)
		return r;
	if (variable == GRUB_LINUX) {
		r = ends_for_kernel(&value, &need->plain);
		if (r < 0)
			return r;
	} else if (variable == GRUB_XEN_REPLACE && value.size > 0)
		need->plain = false;
	for (size_t i = 0; i < changes.n; i++) {
		if (changes.items[i].before)
			need->take_out = true;
		/* DEFAULT does not reach recovery entries; a word in LINUX reaches all */
		else if (variable == GRUB_LINUX ||
			 (variable == GRUB_XEN_REPLACE && value.size > 0))
			need->add = true;
	}
	return 0;
}

static int judge_defaults(const struct boot *boot, const struct boot_state *state,
			  const struct boot_words *words, struct need *need, struct diag *diag)
{
	enum cmdline_request opposite = words->want == BOOT_WANT_ON ? CMDLINE_OFF : CMDLINE_ON;
	_cleanup_shell_script_ struct shell_script script = {};
	bool dynamic = false;
	int r = grub_load_defaults(boot->root, true, GRUB_OUR_DROPIN, &script, diag);

	for (int i = 0; r >= 0 && i < _GRUB_VARIABLE_MAX; i++)
		r = judge_variable(&script, i, words, need, &dynamic);
	if (r < 0 || !dynamic)
		return r;
	need->plain = false;
	/*
	 * What they come to is known from the menu if our own words are not in it already, and
	 * nothing was written since that the menu does not have yet. A drop-in that is written
	 * anyway looks for itself: so it is the same the next time, when the menu shows its
	 * effect.
	 */
	if (words->want == BOOT_WANT_OFF || !state->entries_known ||
	    root_exists(boot->root, GRUB_OUR_DROPIN) || entries_ask_for(state, opposite) ||
	    grub_defaults_mention(&script, opposite))
		need->take_out = true;
	if (words->want == BOOT_WANT_OFF ? !(words->flags & CMDLINE_NO_DISABLE)
					 : words->flags & CMDLINE_WRITE_ENABLE)
		need->add = true;
	return 0;
}

/* Appends text with @MARK@ replaced. */
static void add_text(struct strbuf *out, const char *text, const char *mark, const char *value)
{
	for (const char *hit; (hit = strstr(text, mark)); text = hit + strlen(mark)) {
		strbuf_add(out, text, (size_t)(hit - text));
		strbuf_adds(out, value);
	}
	strbuf_adds(out, text);
}

static int make_text(const struct boot_words *words, const struct need *need,
		     struct strbuf *out)
{
	bool on = words->want == BOOT_WANT_ON;
	const char *word = on ? "cgroup_enable=memory" : "cgroup_disable=memory";

	strbuf_addf(out,
		    "# memcg %s. Written by memcg-policy, which replaces this file whole;\n"
		    "# \"memcg-policy unset\" takes it away. See memcg-policy(8).\n",
		    on ? "on" : "off");
	if (need->take_out) {
		strbuf_addc(out, '\n');
		add_text(out, grub_text_take_out, "@PATTERN@",
			 on ? "cgroup[-_]disable" : "cgroup[-_]enable");
	}
	if (need->add && need->plain) {
		/* no "+=": dash takes that for a command */
		strbuf_addf(out,
			    "GRUB_CMDLINE_LINUX=\"${GRUB_CMDLINE_LINUX:+$GRUB_CMDLINE_LINUX }"
			    "%s\"\n",
			    word);
	} else if (need->add) {
		strbuf_addc(out, '\n');
		add_text(out, grub_text_add, "@WORD@", word);
	}
	return out->failed ? -ENOMEM : 0;
}

static int dropin_plan(const struct boot *boot, const struct boot_state *state,
		       const struct boot_words *words, struct changeset *cs, struct diag *diag)
{
	_cleanup_strbuf_ struct strbuf text = {};
	_cleanup_grub_ struct grub grub = {};
	struct need need = {};
	int r = grub_find(boot->root, &grub);

	if (r >= 0 && words->want != BOOT_WANT_NOTHING) {
		r = grub_check_supported(boot->root, &grub, state, diag);
		if (r >= 0)
			r = judge_defaults(boot, state, words, &need, diag);
	}
	if (r >= 0 && (need.take_out || need.add))
		r = make_text(words, &need, &text);
	if (r >= 0)
		r = changeset_edit(cs, boot->root, GRUB_OUR_DROPIN, ROOT_MAX_GRUB_DEFAULT,
				   text.data, text.len, 0644, 0, diag);
	if (r >= 0)
		r = grub_plan_refresh(boot, state, words, cs->n > 0, cs);
	return r;
}

/* Files of others are only edited for a trial. */
static int dropin_take_back(const struct boot *boot _unused_, const char *path,
			    const struct content *before _unused_,
			    const struct content *written _unused_, const struct content *now,
			    struct content *ret, struct diag *diag)
{
	int r = grub_trial_take_back(path, now, ret);

	if (r != 0)
		return MIN(r, 0);
	diag_error(diag, &(struct diag_where){ .path = path }, "is none of our files");
	return -EBADMSG;
}

const struct boot_backend boot_grub_dropin = {
	.name = "grub-dropin",
	.title = "GRUB, drop-in in " GRUB_DROPIN_DIR,
	.sign = "grub-mkconfig",
	.by = BOOT_BY_GRUB,
	.probe = dropin_probe,
	.read = dropin_read,
	.plan = dropin_plan,
	.plan_refresh = grub_plan_refresh,
	.refresh = grub_refresh,
	.verify = grub_verify,
	.plan_trial = grub_plan_trial,
	.plan_no_trial = grub_plan_no_trial,
	.take_back = dropin_take_back,
};
