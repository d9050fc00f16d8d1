/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Regenerating grub.cfg. grub-mkconfig ends in a truncating copy, so that whoever dies there
 * leaves an empty menu: it writes a file of ours beside grub.cfg, which is checked and then
 * takes the real one's place at once.
 */

#include "base/diag.h"
#include "base/temporary.h"
#include "boot/grub-cfg.h"
#include "boot/grub-trial.h"
#include "boot/grub.h"
#include "boot/record.h"
#include "boot/tool.h"

#include <fcntl.h>

/* The former grub.cfg. */
#define KEPT_CFG RECORD_DIR "/grub.cfg"

static int make_temporary_path(const char *cfg, char **ret)
{
	const char *slash = strrchr(cfg, '/');

	/* the lock keeps other runs of ours away; a name the process has to itself is enough */
	return str_printf(ret, "%.*s/" TEMPORARY_PREFIX "%06d", (int)(slash - cfg), cfg,
			  (int)getpid() % 1000000);
}

int grub_plan_refresh(const struct boot *boot, const struct boot_state *state,
		      const struct boot_words *words, bool edited, struct changeset *cs)
{
	_cleanup_grub_ struct grub grub = {};
	int r = grub_find(boot->root, &grub);
	const char *argv[] = { grub.mkconfig, "-o", grub.cfg, NULL };
	bool stale = state->entries_known && boot_n_differing(state, words->want) > 0;
	_cleanup_diag_ struct diag ignored = {}; /* a menu that cannot be read is not edited */

	/* without a menu there is nothing to follow yet: it is made when GRUB is installed */
	if (r < 0 || !grub.mkconfig || !grub.cfg ||
	    !(stale || (edited && !grub_trial_is_all(cs))))
		return r;
	r = tool_plan(boot, cs, argv);
	return r < 0 || cs->refresh != REFRESH_RUN
		       ? r
		       : grub_trial_leave_menu(boot->root, grub.cfg, cs, &ignored);
}

/* --- checking a menu --- */

static const struct boot_entry *find_entry(const struct boot_entries *entries, const char *id)
{
	for (size_t i = 0; i < entries->n; i++)
		if (streq(entries->items[i].id, id))
			return &entries->items[i];
	return NULL;
}

/* Every entry of ours is as wanted. */
static int check_words(const struct boot *boot, struct boot_entries *entries,
		       const struct boot_words *words, const char *shown, struct diag *diag)
{
	size_t n = 0;

	for (size_t i = 0; i < entries->n; i++) {
		struct boot_entry *entry = &entries->items[i];
		int r;

		if (!entry->ours)
			continue;
		n++;
		r = boot_entry_judge(boot, entry);
		if (r < 0)
			return r;
		if (boot_entry_is(entry, words->want))
			continue;
		diag_error(diag, &(struct diag_where){ .path = shown, .line = entry->line },
			   "the entry \"%s\" would not boot with memcg %s%s%s", entry->title,
			   boot_want_to_string(words->want), entry->token ? ": it has " : "",
			   entry->token ? entry->token : "");
		return -EIO;
	}
	if (n > 0)
		return 0;
	diag_error(diag, &(struct diag_where){ .path = shown },
		   "has no entry for a kernel of this system");
	return -EIO;
}

/* Every kernel that the old menu could boot, and that is still there, is in the new one. */
static int check_kernels(const struct boot *boot, const struct boot_entries *old,
			 const struct boot_entries *new, struct diag *diag)
{
	for (size_t i = 0; i < old->n; i++) {
		const struct boot_entry *entry = &old->items[i];
		_cleanup_free_ char *path = NULL;
		bool found = false;
		int r;

		if (!entry->ours || find_entry(new, entry->id))
			continue;
		for (size_t k = 0; k < new->n && !found; k++)
			if (new->items[k].ours)
				found = streq(new->items[k].image, entry->image);
		if (found)
			continue;
		r = grub_image_path(boot->root, entry->image, &path);
		if (r == -ENOENT)
			continue;
		if (r < 0)
			return r;
		diag_error(diag, NULL, "the new menu has no entry for %s, the old one has",
			   entry->image);
		return -EIO;
	}
	return 0;
}

static int parse(const struct root *root, const char *path, const struct content *content,
		 struct grub_cfg *ret, struct diag *diag)
{
	return grub_parse_cfg(root, path, content->data ? content->data : "", content->size,
			      ret, diag);
}

static int check_menu(const struct boot *boot, const struct grub *grub,
		      const struct boot_words *words, const char *path,
		      const struct content *old, const struct content *new, struct diag *diag)
{
	_cleanup_grub_cfg_ struct grub_cfg old_cfg = {}, new_cfg = {};
	_cleanup_diag_ struct diag ignored = {};
	int r = parse(boot->root, path, new, &new_cfg, diag);

	if (r >= 0)
		r = check_words(boot, &new_cfg.entries, words, path, diag);
	if (r < 0)
		return r;
	/* an old menu that cannot be read promises nothing */
	r = parse(boot->root, grub->cfg, old, &old_cfg, &ignored);
	if (r == -ENOMEM)
		return r;
	return r < 0 ? 0 : check_kernels(boot, &old_cfg.entries, &new_cfg.entries, diag);
}

/* --- refreshing --- */

static int generate(const struct boot *boot, const struct grub *grub, const char *temporary,
		    struct content *ret, struct diag *diag)
{
	const char *mkconfig[] = { grub->mkconfig, "-o", temporary, NULL, NULL };
	const char *check[] = { grub->script_check, temporary, NULL };
	int r;

	if (grub->updates_env)
		mkconfig[3] = "--no-grubenv-update";
	r = tool_run(boot, mkconfig, diag);
	if (r >= 0 && grub->script_check)
		r = tool_run(boot, check, diag);
	if (r < 0)
		return r;
	r = content_read(boot->root, temporary, ROOT_MAX_GRUB_CFG, ret);
	if (r >= 0 && !ret->data)
		r = -ENOENT;
	if (r < 0)
		diag_error(diag, &(struct diag_where){ .path = temporary },
			   "the new menu cannot be read: %s", strerror(-r));
	return r;
}

/* Puts the new menu in the old one's place, whose bytes are kept. */
static int install(const struct root *root, const char *cfg, const struct content *old,
		   const struct content *new, struct diag *diag)
{
	_cleanup_content_ struct content kept = {};
	const char *path = KEPT_CFG;
	int r = 0;

	if (content_equal(old, new))
		return 0;
	if (old->data) {
		r = content_read(root, KEPT_CFG, ROOT_MAX_GRUB_CFG, &kept);
		if (r >= 0)
			r = atomic_put(root, KEPT_CFG, &kept, old, 0600, 0);
	}
	if (r >= 0) {
		path = cfg;
		/* as mkconfig makes it: passwords may be in it */
		r = atomic_put(root, cfg, old, new, 0600, ATOMIC_BOOT);
	}
	if (r < 0)
		diag_error(diag, &(struct diag_where){ .path = path }, "%s",
			   r == -ESTALE ? "was changed by somebody else meanwhile"
					: strerror(-r));
	return MIN(r, 0);
}

int grub_refresh(const struct boot *boot, const struct boot_words *words, struct diag *diag)
{
	_cleanup_content_ struct content old = {}, new = {};
	_cleanup_grub_ struct grub grub = {};
	_cleanup_free_ char *temporary = NULL;
	int r = grub_find(boot->root, &grub);

	if (r < 0)
		return r;
	if (!grub.mkconfig || !grub.cfg) {
		diag_error(diag, NULL, "there is no %s any more",
			   grub.mkconfig ? "grub.cfg" : "grub-mkconfig");
		return -ENOENT;
	}
	r = make_temporary_path(grub.cfg, &temporary);
	if (r >= 0)
		r = atomic_clean(boot->root, grub.cfg);
	if (r >= 0)
		r = content_read(boot->root, grub.cfg, ROOT_MAX_GRUB_CFG, &old);
	if (r < 0) {
		diag_error(diag, &(struct diag_where){ .path = grub.cfg }, "%s", strerror(-r));
		return r;
	}
	r = generate(boot, &grub, temporary, &new, diag);
	if (r >= 0)
		r = check_menu(boot, &grub, words, temporary, &old, &new, diag);
	if (r >= 0)
		r = install(boot->root, grub.cfg, &old, &new, diag);
	IGNORE(atomic_clean(boot->root, grub.cfg)); /* tidiness; the next run does it too */
	return r;
}

int grub_verify(const struct boot *boot, const struct boot_words *words, struct diag *diag)
{
	_cleanup_content_ struct content content = {};
	_cleanup_grub_cfg_ struct grub_cfg cfg = {};
	_cleanup_grub_ struct grub grub = {};
	int r = grub_find(boot->root, &grub);

	if (r < 0 || !grub.cfg)
		return r;
	r = content_read(boot->root, grub.cfg, ROOT_MAX_GRUB_CFG, &content);
	if (r >= 0)
		r = parse(boot->root, grub.cfg, &content, &cfg, diag);
	if (r >= 0)
		r = check_words(boot, &cfg.entries, words, grub.cfg, diag);
	return r;
}
