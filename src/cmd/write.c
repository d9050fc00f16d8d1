/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/write.h"

#include "base/json.h"
#include "base/root.h"
#include "base/str.h"
#include "boot/initrd.h"
#include "boot/refuse.h"
#include "cmd/cmd.h"
#include "cmd/reboot-note.h"
#include "needs/needs.h"
#include "ui/output.h"

#include <stdio.h>

static void unload(struct write *w)
{
	strv_done(&w->taken_back);
	host_done(&w->host);
	diag_done(&w->refused);
}

static int load(struct write *w, struct diag *diag)
{
	const struct root *root = w->cmd->root;
	int r = w->ignores_policy
			? host_load_boot(root, &w->host, diag)
			: host_load_with(root, HOST_BOOT, w->policy_content, &w->host, diag);

	/* inside a chroot the loader's tools would look at the wrong system's disks */
	w->host.boot.refresh =
		(root_mode(root) == ROOT_LIVE && w->host.facts.running.chroot != ANSWER_YES) ||
		w->cmd->args->refresh;
	return r;
}

int write_plan_boot(struct write *w, struct changeset *cs, struct diag *diag)
{
	struct boot_words words;
	enum boot_want want = host_want(&w->host);
	int r;

	if (want == BOOT_WANT_NOTHING)
		return 0;
	r = boot_words(&w->host.boot, want, &words, diag);
	if (r >= 0)
		r = w->host.boot.backend->plan(&w->host.boot, &w->host.state, &words, cs, diag);
	if (r < 0)
		return r;
	cs->want = want;
	cs->backend = strdup(w->host.boot.backend->name);
	return cs->backend ? 0 : -ENOMEM;
}

/*
 * What initrds will have to carry once the changes are made; content is what "set" writes then,
 * or NULL when that file stays. -ENOENT when the policy decides nothing because it is broken.
 */
static int baked_text(const struct root *root, const char *content, char **ret)
{
	_cleanup_diag_ struct diag ignored = {}; /* for the verbs that decide to say */
	_cleanup_host_ struct host host = {};
	int r = host_load_with(root, 0, content, &host, &ignored);

	if (r < 0)
		return r == -ENOMEM ? r : -ENOENT;
	return initrd_text(decision_to_string(host.decision.memcg), host_required(&host), ret);
}

/* Images are large: they are read when something else changes, or when somebody asks. */
static int plan_initrds(struct write *w, struct changeset *cs, struct diag *diag)
{
	const struct root *root = w->cmd->root;
	const struct edit *policy = changeset_find(cs, POLICY_SET_PATH);
	_cleanup_free_ char *text = NULL;
	int r;

	if (cs->n == 0 && (w->cmd->args->hook || !initrd_is_asked_for(root)))
		return 0;
	r = baked_text(root,
		       !policy		  ? w->policy_content
		       : policy->new.data ? policy->new.data
					  : "",
		       &text);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	return initrd_plan(&w->host.boot, text, cs, diag);
}

/* --- the changeset's side --- */

static int plan(void *userdata, struct changeset *cs, struct diag *diag)
{
	struct write *w = userdata;
	const struct args *args = w->cmd->args;
	struct refuse_input input;
	int r;

	unload(w);
	r = load(w, diag);
	if (r < 0)
		return r;
	if (w->host.facts.running.kdump == ANSWER_YES) {
		w->nothing_to_do_here = true;
		return 0;
	}
	r = w->plan(w, cs, diag);
	/* a trial is no decision, which is what they carry */
	if (r >= 0 && !cs->once)
		r = plan_initrds(w, cs, diag);
	if (r < 0 || changeset_is_empty(cs))
		return r;
	/* who would be hurt by an "off" that is ordered, not decided */
	if (cs->want == BOOT_WANT_OFF && !w->host.needs_known) {
		r = needs_find(w->cmd->root, &w->host.facts.running, NULL, &w->host.needs,
			       diag);
		if (r < 0)
			return r;
		w->host.needs_known = true;
	}
	input = (struct refuse_input){
		.root = w->cmd->root,
		.running = &w->host.facts.running,
		.boot = &w->host.boot,
		.state = &w->host.state,
		.started = &w->host.started,
		.needs = &w->host.needs,
		.changes = cs,
	};
	r = refuse_check(&input, args->force, &w->refused);
	if (r == -EPERM && args->dry_run)
		return 0; /* it shows what would be done, and says that it would be refused */
	return r;
}

static int make(void *userdata, struct changeset *cs, struct diag *diag)
{
	struct write *w = userdata;

	return w->host.boot.backend->make(&w->host.boot, cs, diag);
}

/* The loader's files follow; for an interrupted change the record says what was wanted. */
static int refresh(struct boot *boot, const struct changeset *cs, struct diag *diag)
{
	struct boot_words words = { .want = cs->want };
	int r;

	if (!streq(boot->backend->name, cs->backend))
		boot->backend = boot_backend_find(cs->backend);
	if (!boot->backend || !boot->backend->refresh) {
		diag_error(diag, NULL, "there is no boot backend \"%s\" to go on with",
			   cs->backend);
		return -ENOTSUP;
	}
	boot->changes = cs;
	r = boot->backend->refresh(boot, &words, diag);
	if (r >= 0 && boot->backend->verify)
		r = boot->backend->verify(boot, &words, diag);
	return r;
}

/*
 * Initrds take minutes and can fail, so they are built first, and take their places when the
 * loader's files have followed: one that insists on memcg must not meet a line without it.
 */
static int finish(void *userdata, const struct changeset *cs, struct diag *diag)
{
	struct write *w = userdata;
	const struct root *root = w->cmd->root;
	_cleanup_facts_ struct facts facts = {};
	_cleanup_free_ char *text = NULL;
	struct boot boot = w->host.boot;
	int r = 0;

	/* recovery comes before the plan that loads them */
	if (!boot.backend) {
		r = facts_load(root, &facts);
		if (r >= 0)
			r = boot_probe(root, &facts.kernels, cs->backend, &boot, diag);
		if (r < 0)
			return r;
		boot.refresh = true;
	}
	if (cs->initrds.n > 0) {
		r = baked_text(root, NULL, &text);
		if (r >= 0)
			r = initrd_build(&boot, text, &cs->initrds, diag);
	}
	if (r >= 0 && cs->refresh == REFRESH_RUN && cs->backend)
		r = refresh(&boot, cs, diag);
	if (r >= 0 && cs->initrds.n > 0)
		r = initrd_install(root, &cs->initrds, diag);
	if (r < 0)
		initrd_clean(root, &cs->initrds);
	return r;
}

/* --- showing --- */

static const char *edit_kind(const struct edit *edit)
{
	return !edit->old.data ? "create" : !edit->new.data ? "delete" : "edit";
}

static void print_commands(const struct changeset *cs, bool done)
{
	const char *what = cs->refresh == REFRESH_PRINT ? "to be run in the system" : "ran";

	if (cs->refresh != REFRESH_PRINT && !done)
		what = "runs";
	for (size_t i = 0; i < cs->n_commands; i++) {
		printf("%s:", what);
		for (size_t k = 0; k < cs->commands[i].argv.n; k++)
			printf(" %s", cs->commands[i].argv.items[k]);
		putchar('\n');
	}
}

/* Whether the running kernel is not yet as the changed configuration will have it. */
static bool reboot_required(const struct write *w, const struct changeset *cs)
{
	enum memcg_state now = w->host.facts.running.memcg;

	if (root_mode(w->cmd->root) != ROOT_LIVE || cs->once)
		return false;
	if (cs->want == BOOT_WANT_ON)
		return now == MEMCG_OFF;
	if (cs->want == BOOT_WANT_OFF)
		return now == MEMCG_ON;
	return w->next_differs;
}

/* What was taken back is nothing that is wanted: the entries tell what comes of it. */
static int look_again(struct write *w, const struct changeset *cs)
{
	enum memcg_state now = w->host.facts.running.memcg;
	_cleanup_host_ struct host host = {};
	_cleanup_diag_ struct diag ignored = {};
	int r;

	if (root_mode(w->cmd->root) != ROOT_LIVE || cs->want != BOOT_WANT_NOTHING ||
	    (now != MEMCG_ON && now != MEMCG_OFF))
		return 0;
	r = host_load_boot(w->cmd->root, &host, &ignored);
	w->next_differs =
		r >= 0 && host.next != now && (host.next == MEMCG_ON || host.next == MEMCG_OFF);
	return r == -ENOMEM ? r : 0;
}

static size_t count_entries(const struct write *w, bool ours)
{
	size_t n = 0;

	for (size_t i = 0; i < w->host.state.entries.n; i++)
		n += w->host.state.entries.items[i].ours == ours &&
		     !w->host.state.entries.items[i].trial;
	return n;
}

/* How many are left alone, and whether one of them is what the next boot takes. */
static void print_left_alone(const struct write *w)
{
	const struct boot_entries *entries = &w->host.state.entries;
	size_t n = count_entries(w, false);

	if (n == 0)
		return;
	printf("%zu other %s not ours and left alone (memcg-policy entries)\n", n,
	       n == 1 ? "entry is" : "entries are");
	for (size_t i = 0; i < entries->n; i++)
		if (entries->items[i].is_default && !entries->items[i].ours &&
		    !entries->items[i].trial)
			printf("what boots by default is %s\n",
			       n == 1 ? "that one" : "one of them");
}

static void print_outcome(const struct write *w, const struct changeset *cs, int result)
{
	static const char *const tried[] = {
		[BOOT_TRIED_REAL] = NULL,
		[BOOT_TRIED_TOOLS] =
			"tested with its own tools, and no machine was booted by it",
		[BOOT_TRIED_FIXTURES] = "tested on fixtures only",
	};

	if (w->cmd->args->quiet)
		return;
	switch (result) {
	case CHANGESET_UNCHANGED:
		puts("nothing to do");
		if (cs->refresh == REFRESH_PRINT)
			print_commands(cs, false);
		return;
	case CHANGESET_WOULD_CHANGE:
		puts(w->refused.n > 0 ? "refused without --force; nothing was changed"
				      : "dry run: nothing was changed");
		return;
	default:
		break;
	}
	if (cs->refresh == REFRESH_RUN && cs->want != BOOT_WANT_NOTHING &&
	    w->host.state.entries_known) {
		if (count_entries(w, true) > 0)
			printf("every boot entry of this system has memcg %s now\n",
			       boot_want_to_string(cs->want));
		print_left_alone(w);
	}
	if (cs->backend && w->host.boot.backend && tried[w->host.boot.backend->tried])
		printf("%s: %s, so look after the reboot: memcg-policy check\n",
		       w->host.boot.backend->title, tried[w->host.boot.backend->tried]);
	if (cs->once)
		printf("the next boot has memcg %s; those behind it are as before\n"
		       "reboot to try it, and look then: memcg-policy status\n",
		       boot_want_to_string(cs->want));
	if (reboot_required(w, cs))
		puts("reboot to finish");
	if (!streq(w->verb, "undo"))
		puts("\"memcg-policy undo\" takes this back");
}

static struct json *changes_json(const struct changeset *cs)
{
	struct json *array = json_new_array();

	for (size_t i = 0; i < cs->n; i++) {
		const struct edit *e = &cs->edits[i];
		struct json *object = json_new_object();
		_cleanup_strbuf_ struct strbuf diff = {};

		changeset_diff_edit(e, &diff);
		json_add_string(object, "path", e->path);
		json_add_string(object, "kind", edit_kind(e));
		json_add_text(object, "diff",
			      diff.failed ? NULL
			      : diff.data ? diff.data
					  : "",
			      diff.len);
		json_append(array, object);
	}
	return array;
}

static int print_json(const struct write *w, const struct changeset *cs, const char *result)
{
	_cleanup_json_ struct json *top = json_new_object();
	struct json *commands = json_new_array(), *refused = json_new_array();

	json_add_int(top, "schema", 1);
	json_add(top, "changes", changes_json(cs));
	for (size_t i = 0; i < cs->n_commands; i++) {
		struct json *argv = json_new_array();

		for (size_t k = 0; k < cs->commands[i].argv.n; k++)
			json_append_string(argv, cs->commands[i].argv.items[k]);
		json_append(commands, argv);
	}
	json_add(top, "commands", commands);
	json_add_string(top, "result", result);
	for (size_t i = 0; i < w->refused.n; i++) {
		struct json *object = json_new_object();

		json_add_string(object, "text", w->refused.messages[i].text);
		json_append(refused, object);
	}
	json_add(top, "refused", refused);
	json_add_bool(top, "reboot_required", reboot_required(w, cs));
	return output_json(w->cmd->args, top);
}

static const char *result_name(int r)
{
	switch (r) {
	case CHANGESET_UNCHANGED:
		return "unchanged";
	case CHANGESET_WOULD_CHANGE:
		return "would-change";
	case CHANGESET_CHANGED:
		return "changed";
	case -EPERM:
		return "refused";
	default:
		return "failed";
	}
}

/* The diff and what follows from it, for people. */
static int show(const struct write *w, const struct changeset *cs, int result)
{
	_cleanup_strbuf_ struct strbuf diff = {};
	int r = changeset_diff(cs, &diff);

	if (r < 0)
		return r;
	output_diff(w->cmd->term, diff.data, diff.len);
	if (result != CHANGESET_UNCHANGED)
		print_commands(cs, result == CHANGESET_CHANGED);
	if (result >= 0)
		print_outcome(w, cs, result);
	return 0;
}

static int exit_code(int r)
{
	switch (r) {
	case -ENOTSUP:
		return EXIT_IMPOSSIBLE;
	case -EPERM:
		return EXIT_REFUSED;
	default:
		return r < 0 ? EXIT_FAILED : EXIT_OK;
	}
}

static int report(const struct write *w, const struct changeset *cs, struct diag *diag,
		  int result)
{
	const struct args *args = w->cmd->args;
	bool shown = cs->n > 0 || cs->n_commands > 0 || result >= 0;
	int r = 0;

	if (args->hook && result == CHANGESET_UNCHANGED && diag->n == 0)
		return EXIT_OK;
	/* an error without a plan is only an error */
	if (args->json != JSON_OFF && shown)
		r = print_json(w, cs, result_name(result));
	else if (args->json == JSON_OFF && shown)
		r = show(w, cs, result);
	if (r < 0)
		return r;
	(void)fflush(stdout); /* main() looks at it; the reasons come behind the diff */
	term_print_diag(w->cmd->term, stderr, &w->refused);
	if (result == -EPERM)
		fputs("memcg-policy: refused as unsafe, nothing was changed; --force does it "
		      "all "
		      "the same\n",
		      stderr);
	if (result == -EPERM)
		term_print_diag(w->cmd->term, stderr, diag);
	else if (result < 0 && !(args->json != JSON_OFF && shown))
		output_error(args, w->cmd->term, diag, strerror(-result));
	else
		term_print_diag(w->cmd->term, stderr, diag);
	return args->hook ? EXIT_OK : exit_code(result);
}

/* Copies on FAT that nobody needs when the change is taken back. */
static void forget_copies(const struct write *w, struct diag *diag)
{
	for (size_t i = 0; i < w->taken_back.n; i++) {
		int r = atomic_forget_copy(w->cmd->root, w->taken_back.items[i]);

		if (r < 0)
			diag_warning(
				diag, &(struct diag_where){ .path = w->taken_back.items[i] },
				"its copy *" ATOMIC_FAT_COPY_SUFFIX " cannot be removed: %s",
				strerror(-r));
	}
}

/* For those who look whether a reboot is due. */
static void note_reboot(const struct write *w, const struct changeset *cs, struct diag *diag)
{
	int r = reboot_note_put(w->cmd->root, reboot_required(w, cs));

	if (r < 0)
		diag_warning(diag, &(struct diag_where){ .path = "/run/reboot-required" },
			     "cannot be written: %s", strerror(-r));
}

int write_run(struct write *w)
{
	const struct changeset_task task = {
		.root = w->cmd->root,
		.verb = w->verb,
		.plan = plan,
		.make = make,
		.finish = finish,
		.userdata = w,
		.dry_run = w->cmd->args->dry_run,
	};
	_cleanup_changeset_ struct changeset cs = {};
	_cleanup_diag_ struct diag diag = {};
	int r = changeset_run(&task, &cs, &diag);

	if (r == -ENOMEM) {
		unload(w);
		return r;
	}
	if (w->nothing_to_do_here) {
		if (!w->cmd->args->quiet)
			fputs("memcg-policy: this is a crash kernel: nothing to do\n", stderr);
	}
	if (r == CHANGESET_CHANGED && look_again(w, &cs) == -ENOMEM) {
		unload(w);
		return -ENOMEM;
	}
	if (r == CHANGESET_CHANGED || (r == CHANGESET_UNCHANGED && !w->cmd->args->dry_run))
		forget_copies(w, &diag);
	/* a trial changes nothing about what waits for a reboot */
	if (r == CHANGESET_CHANGED && !cs.once)
		note_reboot(w, &cs, &diag);
	r = report(w, &cs, &diag, r);
	unload(w);
	return r;
}
