/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/host-output.h"

#include "base/json.h"
#include "base/root.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/host.h"
#include "ui/output.h"

#include <stdio.h>

static void add_line(struct json *object, unsigned line)
{
	if (line > 0)
		json_add_u64(object, "line", line);
	else
		json_add_null(object, "line");
}

static struct json *place_to_json(const char *text, const char *path, unsigned line)
{
	struct json *object = json_new_object();

	if (text)
		json_add_string(object, "text", text);
	json_add_string(object, "path", path);
	add_line(object, line);
	return object;
}

static void add_origin(struct json *running, const struct origin *origin)
{
	struct json *object;

	if (origin->kind == ORIGIN_NONE) {
		json_add_null(running, "origin");
		return;
	}
	object = json_new_object();
	json_add_string(object, "kind", origin_kind_to_string(origin->kind));
	json_add_string(object, "text", origin_text(origin));
	json_add_string(object, "path", origin->path);
	add_line(object, origin->line);
	json_add(running, "origin", object);
}

static struct json *running_to_json(const struct host *host)
{
	const struct running *running = &host->facts.running;
	const struct origin *origin = &host->origin;
	struct json *object = json_new_object();

	json_add_string(object, "memcg", memcg_state_to_string(running->memcg));
	json_add_string(object, "hierarchy", hierarchy_to_string(running->hierarchy));
	json_add_string(object, "kernel", running->release);
	json_add_string(object, "container", running->container);
	json_add_string(object, "why", running->why);
	json_add_string(object, "source", running->source);
	json_add_string(object, "request", cmdline_request_to_string(running->request));
	json_add_string(object, "token", running->token);
	add_origin(object, origin);
	json_add_string(object, "entry", origin->booted ? origin->booted->id : NULL);
	json_add_string(object, "kexec", answer_to_string(origin->kexec));
	return object;
}

static struct json *kernels_to_json(const struct kernels *kernels)
{
	struct json *array = json_new_array();

	for (size_t i = 0; i < kernels->n; i++) {
		const struct kernel *kernel = &kernels->items[i];
		struct json *object = json_new_object();

		json_add_string(object, "release",
				kernel->release ? kernel->release : kernel->image);
		json_add_string(object, "memcg_built", answer_to_string(kernel->memcg_built));
		json_add_string(object, "config", kernel->config);
		json_add_string(object, "honours_enable",
				answer_to_string(kernel->honours_enable));
		json_add_string(object, "default",
				memcg_state_to_string(kernel->state_default));
		json_append(array, object);
	}
	return array;
}

static struct json *policy_to_json(const struct policy *policy)
{
	struct json *object = json_new_object(), *sources = json_new_array();
	const struct policy_source *places[] = { &policy->memcg.source, &policy->role.source };

	json_add_string(object, "memcg", policy_memcg_to_string(policy->memcg.value));
	json_add_string(object, "role", policy->effective_role);
	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (places[i]->path)
			json_append(sources,
				    place_to_json(NULL, places[i]->path, places[i]->line));
	json_add(object, "sources", sources);
	return object;
}

static struct json *decision_to_json(const struct host *host)
{
	const struct decision *decision = &host->decision;
	struct json *object = json_new_object(), *reasons = json_new_array();

	/* the dracut module reads these two, in this order */
	json_add_string(object, "memcg", decision_to_string(decision->memcg));
	json_add_bool(object, "required", host_required(host));
	for (size_t i = 0; i < decision->n_reasons; i++)
		json_append(reasons,
			    place_to_json(decision->reasons[i].text, decision->reasons[i].path,
					  decision->reasons[i].line));
	json_add(object, "reasons", reasons);
	return object;
}

/* The words of the next entry's line that are about memory cgroups, as they are spelt. */
static int add_args(struct json *array, const struct boot_entry *entry)
{
	_cleanup_cmdline_ struct cmdline line = {};
	int r;

	if (!entry || !entry->args)
		return 0;
	r = cmdline_parse(entry->args, strlen(entry->args), CMDLINE_LINE, &line);
	for (size_t i = 0; r >= 0 && i < line.n; i++) {
		_cleanup_free_ char *word = NULL;

		if (line.words[i].for_init || !(cmdline_name_is(&line, i, "cgroup_disable") ||
						cmdline_name_is(&line, i, "cgroup_enable")))
			continue;
		word = str_dup_n(line.text + line.words[i].offset, line.words[i].size);
		if (!word)
			return -ENOMEM;
		json_append_string(array, word);
	}
	return r;
}

static struct json *boot_to_json(const struct host *host)
{
	struct json *object = json_new_object(), *also = json_new_array(),
		    *args = json_new_array();
	const char *configured = cmdline_request_to_string(host->state.configured);
	const struct boot_entry *trial = host_trial(host);

	json_add_string(object, "backend", host->boot.backend->name);
	for (size_t i = 0; i < host->boot.n_also; i++)
		json_append_string(also, host->boot.also[i]->name);
	json_add(object, "also_present", also);
	json_add_string(object, "why", host->started.why);
	json_add_string(object, "configured", configured ? configured : "unknown");
	json_add_string(object, "next", memcg_state_to_string(host->next));
	json_add_string(object, "after", memcg_state_to_string(host->after));
	if (trial) {
		struct json *item = json_new_object();

		json_add_string(item, "memcg", memcg_state_to_string(trial->if_booted));
		json_add_bool(item, "armed", trial->is_default && host->state.once);
		json_add_bool(item, "running", host_runs_trial(host));
		json_add(object, "trial", item);
	} else
		json_add_null(object, "trial");
	if (host->state.entries_known) {
		json_add_u64(object, "entries", host->state.entries.n);
		json_add_u64(object, "entries_differing", host->entries_differing);
	} else {
		json_add_null(object, "entries");
		json_add_null(object, "entries_differing");
	}
	if (add_args(args, host->next_entry) < 0) {
		json_free(args);
		args = NULL; /* reported when printing */
	}
	json_add(object, "args", args);
	return object;
}

static const char *mode_to_string(enum root_mode mode)
{
	static const char *const names[] = {
		[ROOT_LIVE] = "live",
		[ROOT_OFFLINE] = "offline",
		[ROOT_SNAPSHOT] = "snapshot",
	};

	return names[mode];
}

static struct json *units_to_json(const struct host *host)
{
	struct json *object = json_new_object();

	json_add_u64(object, "settings", host->units.settings);
	json_add_u64(object, "unenforced", host->units.unenforced);
	json_add_u64(object, "ignored", host->units.ignored);
	json_add_u64(object, "invalid", host->units.invalid);
	return object;
}

struct json *host_to_json(const struct cmd *cmd, const struct host *host,
			  const struct diag *diag)
{
	struct json *top = json_new_object(), *warnings = json_new_array();

	json_add_int(top, "schema", 1);
	json_add_string(top, "version", VERSION);
	json_add_string(top, "root", root_path(cmd->root));
	json_add_string(top, "mode", mode_to_string(root_mode(cmd->root)));
	json_add(top, "running", running_to_json(host));
	json_add(top, "kernels", kernels_to_json(&host->facts.kernels));
	json_add(top, "policy", policy_to_json(&host->policy));
	json_add(top, "decision", decision_to_json(host));
	json_add(top, "boot", boot_to_json(host));
	json_add(top, "needs", needs_to_json(&host->needs));
	if (host->units_known)
		json_add(top, "units", units_to_json(host));
	else
		json_add_null(top, "units");
	json_add_string(top, "verdict", verdict_to_string(host->verdict));
	json_add_string(top, "next_step", host->next_step);
	for (size_t i = 0; i < diag->n; i++)
		if (diag->messages[i].level == DIAG_WARNING)
			json_append(warnings, place_to_json(diag->messages[i].text,
							    diag->messages[i].path,
							    diag->messages[i].line));
	json_add(top, "warnings", warnings);
	return top;
}

static enum term_style state_style(enum memcg_state state)
{
	switch (state) {
	case MEMCG_ON:
		return TERM_GOOD;
	case MEMCG_OFF:
	case MEMCG_UNAVAILABLE:
		return TERM_WARN;
	default:
		return TERM_DIM;
	}
}

static void print_state(const struct cmd *cmd, const char *label, enum memcg_state state)
{
	const char *name = memcg_state_to_string(state);

	printf("  %-11s%s%-12s%s", label, term_begin(cmd->term, state_style(state)),
	       name ? name : "not looked", term_end(cmd->term));
}

static void print_safe(const char *text)
{
	_cleanup_free_ char *safe = str_escape(text, strlen(text));

	fputs(safe ? safe : "?", stdout);
}

/* "(path:line)", behind a blank unless nothing stands before it. */
static void print_place(bool behind, const char *path, unsigned line)
{
	if (!path)
		return;
	fputs(behind ? " (" : "(", stdout);
	print_safe(path);
	if (line > 0)
		printf(":%u", line);
	putchar(')');
}

/* Where the word on the line comes from. */
static void print_origin(const struct host *host)
{
	const struct origin *origin = &host->origin;

	if (origin->kind == ORIGIN_NONE)
		return;
	printf("  %-11s", "its word");
	if (origin->kind == ORIGIN_ENTRY && origin->booted &&
	    streq_ptr(origin->path, origin->booted->source)) {
		fputs("in the boot entry \"", stdout);
		print_safe(origin->booted->title);
		putchar('"');
	} else
		fputs(origin_text(origin), stdout);
	print_place(true, origin->path, origin->line);
	putchar('\n');
}

/* Words that people take for on or off: what they are about. */
static void print_hints(const struct running *running)
{
	const struct cmdline *cmdline = &running->cmdline;

	for (size_t i = 0; i < cmdline->n; i++) {
		enum cmdline_hint hint = cmdline_hint(cmdline, i);
		_cleanup_free_ char *word = NULL;

		/* of the others the warnings tell */
		if (hint == CMDLINE_HINT_NONE || cmdline_hint_is_vain(hint))
			continue;
		word = str_dup_n(cmdline->text + cmdline->words[i].offset,
				 cmdline->words[i].size);
		printf("  %-11s", "");
		print_safe(word);
		printf(" %s\n", cmdline_hint_text(hint));
	}
}

static void print_running(const struct cmd *cmd, const struct host *host)
{
	const struct running *running = &host->facts.running;

	if (running->memcg == MEMCG_NOT_LOOKED) {
		puts("  running    -           this is another system's root");
		return;
	}
	print_state(cmd, "running", running->memcg);
	if (running->why)
		print_safe(running->why);
	print_place(running->why, running->source, 0);
	putchar('\n');
	print_origin(host);
	if (!running->release)
		return;
	printf("  %-11s", "kernel");
	print_safe(running->release);
	if (running->hierarchy > HIERARCHY_UNKNOWN)
		printf(", cgroup %s", hierarchy_to_string(running->hierarchy));
	if (running->container && !streq(running->container, "none") &&
	    !streq(running->container, "unknown"))
		printf(", in a container (%s)", running->container);
	if (host->origin.kexec == ANSWER_YES)
		fputs(", started by kexec", stdout);
	if (host_runs_trial(host))
		fputs(", this boot is a trial", stdout);
	putchar('\n');
	print_hints(running);
}

static void print_boot_by(const struct cmd *cmd, const char *label, enum memcg_state state,
			  const struct boot_entry *entry)
{
	print_state(cmd, label, state);
	if (entry) {
		print_safe(entry->title);
		print_place(true, entry->source, entry->line);
	} else
		fputs("no boot entry is known to be the default", stdout);
	putchar('\n');
}

static void print_next(const struct cmd *cmd, const struct host *host)
{
	print_boot_by(cmd, host->state.once ? "next, once" : "next boot", host->next,
		      host->next_entry);
	if (host->state.once)
		print_boot_by(cmd, "then", host->after, host->after_entry);
}

static void print_policy(const struct host *host)
{
	const struct policy *policy = &host->policy;

	printf("  %-11s%-12s", "policy", policy_memcg_to_string(policy->memcg.value));
	if (policy->effective_role) {
		fputs("role ", stdout);
		print_safe(policy->effective_role);
	}
	print_place(policy->effective_role, policy->memcg.source.path,
		    policy->memcg.source.line);
	putchar('\n');
	if (host->decision.memcg == DECISION_LEAVE)
		return;
	printf("  %-11s%-12s", "decision", decision_to_string(host->decision.memcg));
	if (host->decision.n_reasons > 0)
		print_safe(host->decision.reasons[host->decision.n_reasons - 1].text);
	putchar('\n');
}

static void print_boot(const struct host *host)
{
	printf("  %-11s%s", "boot", host->boot.backend->title);
	if (host->state.entries_known) {
		printf(", %zu %s", host->state.entries.n,
		       host->state.entries.n == 1 ? "entry" : "entries");
		if (host->entries_differing > 0)
			printf(", %zu not as decided", host->entries_differing);
	}
	for (size_t i = 0; i < host->boot.n_also; i++)
		printf("%s%s", i == 0 ? "; also present: " : ", ", host->boot.also[i]->title);
	if (host->started.why) {
		fputs("  (by ", stdout);
		print_safe(host->started.why);
		putchar(')');
	}
	putchar('\n');
}

static void print_needs(const struct host *host)
{
	size_t printed = 0;

	for (size_t i = 0; i < host->needs.n; i++) {
		const struct need *need = &host->needs.items[i];

		if (need->in_use == NEED_NO)
			continue;
		printf("  %-11s", printed++ == 0 ? "needs" : "");
		print_safe(need->title);
		printf(": %s%s", need_level_to_string(need->level),
		       need->in_use == NEED_UNKNOWN ? ", if it is in use" : "");
		if (need->n_evidence > 0)
			print_place(true, need->evidence[0].path, need->evidence[0].line);
		putchar('\n');
	}
	if (host->needs_known && printed == 0)
		printf("  %-11snothing here is known to need it\n", "needs");
}

static void print_units(const struct host *host)
{
	const struct unit_counts *units = &host->units;
	const char *before = ": ";

	if (!host->units_known || units->settings == 0)
		return;
	printf("  %-11s%zu memory setting%s", "units", units->settings,
	       units->settings == 1 ? "" : "s");
	if (units->unenforced > 0) {
		printf("%s%zu not enforced", before, units->unenforced);
		before = ", ";
	}
	if (units->ignored > 0) {
		printf("%s%zu ignored by systemd", before, units->ignored);
		before = ", ";
	}
	if (units->invalid > 0)
		printf("%s%zu invalid", before, units->invalid);
	puts(units->unenforced + units->ignored + units->invalid > 0
		     ? " (see memcg-policy units)"
		     : "");
}

void host_print(const struct cmd *cmd, const struct host *host)
{
	printf("%sMemory controller (memcg)%s\n", term_begin(cmd->term, TERM_BOLD),
	       term_end(cmd->term));
	print_running(cmd, host);
	print_next(cmd, host);
	print_policy(host);
	print_boot(host);
	print_needs(host);
	print_units(host);
}

void host_print_verdict(const struct cmd *cmd, const struct host *host)
{
	static const enum term_style styles[_VERDICT_MAX] = {
		[VERDICT_OK] = TERM_GOOD,
		[VERDICT_CHANGE_REQUIRED] = TERM_WARN,
		[VERDICT_REBOOT_REQUIRED] = TERM_WARN,
		[VERDICT_IMPOSSIBLE] = TERM_BAD,
		[VERDICT_UNMANAGED] = TERM_PLAIN,
		[VERDICT_UNKNOWN] = TERM_WARN,
	};

	printf("%s%s%s: ", term_begin(cmd->term, styles[host->verdict]),
	       verdict_to_string(host->verdict), term_end(cmd->term));
	print_safe(host->verdict_text);
	putchar('\n');
	if (host->next_step)
		printf("  next: %s\n", host->next_step);
}

int host_exit_code(const struct host *host)
{
	switch (host->verdict) {
	case VERDICT_IMPOSSIBLE:
		return EXIT_IMPOSSIBLE;
	case VERDICT_CHANGE_REQUIRED:
		return EXIT_CHANGE_REQUIRED;
	case VERDICT_REBOOT_REQUIRED:
		return EXIT_REBOOT_REQUIRED;
	default:
		return host->units.counting > 0 ? EXIT_UNENFORCED : EXIT_OK;
	}
}
