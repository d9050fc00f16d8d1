/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/unit-views.h"

#include "base/diag.h"
#include "base/root.h"
#include "base/systemd.h"
#include "cmd/cmd.h"
#include "cmd/host.h"

#include <pwd.h>

/* Together for all calls to one manager. */
enum { MANAGER_TIMEOUT_MS = 5000 };

struct loading {
	const struct cmd *cmd;
	const struct host *host;
	struct unit_views *views;
	struct diag *diag;
};

static int load_view(const struct loading *loading, const struct unit_owner *owner, uid_t user,
		     struct systemd *systemd)
{
	const struct unit_basis basis = host_unit_basis(loading->host);
	struct unit_views *views = loading->views;
	void *items = reallocarray(views->items, views->n + 1, sizeof(*views->items));
	struct unit_views_item *item;

	if (!items)
		return -ENOMEM;
	views->items = items;
	item = &views->items[views->n++];
	*item = (struct unit_views_item){
		.user = user,
		.owner = { .user = owner->user,
			   .uid = owner->uid,
			   .home = owner->home ? strdup(owner->home) : NULL,
			   .runtime = owner->runtime ? strdup(owner->runtime) : NULL },
	};
	if ((owner->home && !item->owner.home) || (owner->runtime && !item->owner.runtime))
		return -ENOMEM;
	return unit_view_load(loading->cmd->root, owner, &basis, &loading->host->facts.running,
			      systemd, &item->view, loading->diag);
}

/* Without a manager to ask the files are what there is. */
static int load_live(const struct loading *loading, const struct unit_owner *owner, uid_t user)
{
	_cleanup_systemd_ struct systemd *systemd = NULL;
	const struct unit_view *view;
	int opened, r;

	opened = owner->user ? systemd_open_user(user, MANAGER_TIMEOUT_MS, &systemd)
			     : systemd_open(MANAGER_TIMEOUT_MS, &systemd);
	if (opened == -ENOMEM)
		return opened;
	r = load_view(loading, owner, user, systemd);
	if (r < 0)
		return r;
	view = &loading->views->items[loading->views->n - 1].view;
	if (opened < 0)
		diag_notice(loading->diag, &(struct diag_where){},
			    "judged by the unit files: the manager cannot be asked (%s)",
			    strerror(-opened));
	else if (view->by_files)
		diag_notice(loading->diag, &(struct diag_where){},
			    "judged by the unit files: %s", view->by_files_why);
	return 0;
}

static int load_user(const struct loading *loading, uid_t user)
{
	const struct passwd *entry = getpwuid(user);
	_cleanup_free_ char *runtime = NULL;
	int r = str_printf(&runtime, "/run/user/%u", (unsigned)user);

	if (r < 0)
		return r;
	return load_live(loading,
			 &(struct unit_owner){ .user = true,
					       .home = entry ? entry->pw_dir : NULL,
					       .uid = user,
					       .runtime = runtime },
			 user);
}

/* Users who are logged in, or linger, have a manager. */
static int load_all_users(const struct loading *loading)
{
	const struct root *root = loading->cmd->root;
	_cleanup_strv_ struct strv names = {};
	int r = root_list(root, "/run/user", &names);

	if (r == -ENOENT)
		return 0;
	for (size_t i = 0; i < names.n && r >= 0; i++) {
		_cleanup_free_ char *path = NULL;
		unsigned user;

		if (str_parse_uint(names.items[i], &user) < 0)
			continue;
		r = str_printf(&path, "/run/user/%u/systemd", user);
		if (r >= 0 && root_exists(root, path))
			r = load_user(loading, user);
	}
	return r;
}

int unit_views_load(const struct cmd *cmd, const struct host *host, struct unit_views *ret,
		    struct diag *diag)
{
	_cleanup_unit_views_ struct unit_views views = {};
	const struct loading loading = { cmd, host, &views, diag };
	bool user = cmd->args->user || cmd->args->all_users;
	int r;

	if (root_mode(cmd->root) != ROOT_LIVE)
		r = load_view(&loading, &(struct unit_owner){ .user = user },
			      UNIT_VIEWS_NO_USER, NULL);
	else if (cmd->args->all_users)
		r = load_all_users(&loading);
	else if (user)
		r = load_user(&loading, getuid());
	else
		r = load_live(&loading, &(struct unit_owner){}, UNIT_VIEWS_NO_USER);
	if (r < 0)
		return r;
	*ret = views;
	views = (struct unit_views){};
	return 0;
}

void unit_views_done(struct unit_views *views)
{
	for (size_t i = 0; i < views->n; i++) {
		unit_view_done(&views->items[i].view);
		free((char *)views->items[i].owner.home);
		free((char *)views->items[i].owner.runtime);
	}
	free(views->items);
	*views = (struct unit_views){};
}
