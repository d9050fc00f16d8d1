/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/host.h"

#include "base/root.h"
#include "base/str.h"
#include "needs/needs.h"

#include <stdio.h>

const char *verdict_to_string(enum verdict verdict)
{
	static const char *const names[_VERDICT_MAX] = {
		[VERDICT_OK] = "ok",
		[VERDICT_CHANGE_REQUIRED] = "change-required",
		[VERDICT_REBOOT_REQUIRED] = "reboot-required",
		[VERDICT_IMPOSSIBLE] = "impossible",
		[VERDICT_UNMANAGED] = "unmanaged",
		[VERDICT_UNKNOWN] = "unknown",
	};

	return names[verdict];
}

enum boot_want host_want(const struct host *host)
{
	switch (host->decision.memcg) {
	case DECISION_ON:
		return BOOT_WANT_ON;
	case DECISION_OFF:
		return BOOT_WANT_OFF;
	default:
		return BOOT_WANT_NOTHING;
	}
}

bool host_required(const struct host *host)
{
	bool required = host->policy.memcg.value == POLICY_ON;

	for (size_t i = 0; i < host->needs.n; i++)
		required |= host->needs.items[i].in_use == NEED_YES &&
			    host->needs.items[i].level == NEED_REQUIRED;
	return required && host->decision.memcg == DECISION_ON;
}

/* With the unit files, where they are loaded anyway; a walk through all cgroups is for those
 * who ask who needs memcg, and for a decision that hangs on it. */
static int find_needs(struct host *host, unsigned parts, struct diag *diag)
{
	bool live = parts & HOST_LIVE || host->policy.memcg.value == POLICY_AUTO;
	int r = needs_find(host->root, live ? &host->facts.running : NULL,
			   host->unit_files_loaded ? &host->unit_files : NULL, &host->needs,
			   diag);

	host->needs_known = r >= 0;
	return r;
}

/* Policy, role and needs as far as they are wanted, and what they decide. */
static int load_decision(struct host *host, unsigned parts, const char *content,
			 struct diag *diag)
{
	struct decision_reason role_reason = {};
	const char *role = NULL;
	bool guess;
	int r;

	r = content ? policy_load_with(host->root, content, &host->policy, diag)
		    : policy_load(host->root, &host->policy, diag);
	if (r < 0)
		return r;
	guess = host->policy.role.value && streq(host->policy.role.value, POLICY_ROLE_AUTO);
	if (guess || parts & HOST_NEEDS || host->policy.memcg.value == POLICY_AUTO) {
		r = find_needs(host, parts, diag);
		if (r < 0)
			return r;
	}
	if (guess) {
		r = needs_guess_role(host->root, &host->needs, &role, &role_reason);
		if (r >= 0)
			r = policy_resolve(&host->policy, role);
	}
	if (r >= 0 && host->policy.memcg.value == POLICY_AUTO && !host->needs_known)
		r = find_needs(host, parts, diag);
	if (r >= 0)
		r = decide(&host->policy, host->needs_known ? &host->needs : NULL,
			   guess ? &role_reason : NULL, &host->decision);
	free(role_reason.text);
	free(role_reason.path);
	return r;
}

/* What the newest kernel would do with what the defaults ask for, while there is no menu yet.
 */
static int predict_from_defaults(struct host *host)
{
	static const char *const lines[_CMDLINE_REQUEST_MAX] = {
		[CMDLINE_NONE] = "",
		[CMDLINE_ON] = "cgroup_enable=memory",
		[CMDLINE_OFF] = "cgroup_disable=memory",
	};
	const char *text = lines[host->state.configured];
	_cleanup_cmdline_ struct cmdline line = {};
	int r;

	if (!text || host->facts.kernels.n == 0)
		return 0;
	r = cmdline_parse(text, strlen(text), CMDLINE_LINE, &line);
	if (r < 0)
		return r;
	return kernel_predict(&host->facts.kernels.items[0], &line, &host->next);
}

/* What the next boot gives: the default entry's answer on that entry's kernel. */
static int find_next(struct host *host)
{
	int r;

	host->next = host->after = MEMCG_UNKNOWN;
	if (!host->state.entries_known) {
		r = predict_from_defaults(host);
		host->after = host->next;
		return r;
	}
	for (size_t i = 0; i < host->state.entries.n; i++)
		if (host->state.entries.items[i].is_default) {
			host->next_entry = &host->state.entries.items[i];
			host->next = host->next_entry->if_booted;
		}
	host->after_entry = boot_lasting_entry(&host->state.entries, host->state.once);
	if (host->after_entry)
		host->after = host->after_entry->if_booted;
	return 0;
}

const struct boot_entry *host_trial(const struct host *host)
{
	for (size_t i = 0; i < host->state.entries.n; i++)
		if (host->state.entries.items[i].trial)
			return &host->state.entries.items[i];
	return NULL;
}

bool host_runs_trial(const struct host *host)
{
	const struct boot_entry *trial = host_trial(host);

	return trial && host->origin.booted == trial && !trial->is_default;
}

static bool agrees(enum memcg_state state, enum boot_want want)
{
	return want == BOOT_WANT_ON ? state == MEMCG_ON
				    : state == MEMCG_OFF || state == MEMCG_UNAVAILABLE;
}

/* Whether the state is known, and not as wanted. */
static bool disagrees(enum memcg_state state, enum boot_want want)
{
	return state != MEMCG_UNKNOWN && state != MEMCG_NOT_LOOKED && !agrees(state, want);
}

static int set_verdict(struct host *host, enum verdict verdict, const char *next_step,
		       const char *fmt, ...) _printf_(4, 5);

static int set_verdict(struct host *host, enum verdict verdict, const char *next_step,
		       const char *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = str_vprintf(&host->verdict_text, fmt, ap);
	va_end(ap);
	if (r < 0)
		return r;
	host->verdict = verdict;
	host->next_step = next_step;
	return 0;
}

/* What apply would do: *ret_impossible is the reason why it cannot, or NULL. */
static int look_ahead(struct host *host, enum boot_want want, char **ret_impossible,
		      struct diag *diag)
{
	_cleanup_changeset_ struct changeset cs = {};
	_cleanup_diag_ struct diag why = {};
	struct boot_words words;
	int r;

	r = boot_words(&host->boot, want, &words, &why);
	if (r >= 0)
		r = host->boot.backend->plan(&host->boot, &host->state, &words, &cs, &why);
	if (r == -ENOTSUP) {
		*ret_impossible =
			strdup(why.n > 0 ? why.messages[0].text : "not supported here");
		return *ret_impossible ? 0 : -ENOMEM;
	}
	host->edits = cs.n;
	host->entries_differing = boot_n_differing(&host->state, want);
	/* a plan that fails is for apply to say; here it is partial information */
	for (size_t i = 0; i < why.n; i++)
		if (why.messages[i].level == DIAG_ERROR)
			why.messages[i].level = DIAG_WARNING;
	diag_move(diag, &why);
	return r == -ENOMEM ? r : 0;
}

static const char *want_name(enum boot_want want)
{
	return want == BOOT_WANT_ON ? "on" : "off";
}

/* "reboot" may start something else than the boot loader. */
static void warn_of_shortcuts(const struct root *root, struct diag *diag)
{
	_cleanup_free_ char *loaded = NULL;

	if (root_read(root, "/sys/kernel/kexec_loaded", 16, &loaded, NULL) >= 0 &&
	    *loaded == '1')
		diag_warning(
			diag,
			&(struct diag_where){ .path = "/sys/kernel/kexec_loaded",
					      .hint = "kexec -u" },
			"a kernel is loaded for kexec: \"reboot\" may start that one, with "
			"its own line, and ask no boot loader");
	if (root_exists(root, "/run/nextroot/usr"))
		diag_warning(
			diag, &(struct diag_where){ .path = "/run/nextroot" },
			"a system is prepared for a soft-reboot: \"reboot\" may start that "
			"one and leave the kernel as it is");
}

/*
 * Configuration and entries are as decided, and the running kernel is not. A reboot is the
 * answer, but not where what made it so stands beside the boot loader's line.
 */
static int judge_running(struct host *host, enum boot_want want, struct diag *diag)
{
	const struct origin *origin = &host->origin;
	const char *now = memcg_state_to_string(host->facts.running.memcg);
	const char *token = host->facts.running.token;
	bool enabled = host->after_entry && host->after_entry->request == CMDLINE_ON;

	if (host_runs_trial(host))
		return set_verdict(host, VERDICT_REBOOT_REQUIRED, "reboot",
				   "this boot is a trial with memcg %s; the next one is as "
				   "decided again",
				   now);
	/* an enabling word of the loader's may still win over the tree's */
	if (want == BOOT_WANT_ON &&
	    (origin->kind == ORIGIN_BOOTCONFIG ||
	     (origin->kind == ORIGIN_DEVICE_TREE && !enabled && origin->changed == ANSWER_NO)))
		return set_verdict(host, VERDICT_IMPOSSIBLE, NULL,
				   "%s is %s (%s): no boot entry can take it away", token,
				   origin_text(origin), origin->path);
	warn_of_shortcuts(host->root, diag);
	if (origin->kexec == ANSWER_YES)
		return set_verdict(host, VERDICT_REBOOT_REQUIRED, "reboot",
				   "everything is in line; kexec started this kernel and asked "
				   "no boot loader: memcg is %s until a full reboot",
				   now);
	if (origin->booted && !origin->booted->is_default && origin->changed == ANSWER_NO)
		return set_verdict(
			host, VERDICT_REBOOT_REQUIRED, "reboot",
			"everything is in line; this is the entry \"%s\" and not the "
			"default one: memcg is %s until the next boot",
			origin->booted->title, now);
	if (origin->kind == ORIGIN_UNKNOWN && origin->changed == ANSWER_NO)
		return set_verdict(host, VERDICT_REBOOT_REQUIRED, "reboot",
				   "everything is in line; %s was typed at the boot menu or "
				   "added by the loader: memcg is %s until the next boot",
				   token, now);
	return set_verdict(host, VERDICT_REBOOT_REQUIRED, "reboot",
			   "everything is in line; memcg is %s until the next boot", now);
}

/* A write refuses for the first; the second may have its reason. */
static void warn_of_loader(const struct host *host, struct diag *diag)
{
	const struct started *started = &host->started;

	if (started->doubt)
		diag_warning(diag, &(struct diag_where){ .hint = STARTED_HINT }, "%s",
			     started->doubt);
	if (started->note)
		diag_warning(
			diag,
			&(struct diag_where){ .hint = "what the firmware starts: efibootmgr" },
			"%s", started->note);
}

/* Words of the running kernel's line that were meant to decide, and do not. */
static void warn_of_words(const struct running *running, struct diag *diag)
{
	const struct cmdline *cmdline = &running->cmdline;

	for (size_t i = 0; i < cmdline->n; i++) {
		const struct cmdline_word *word = &cmdline->words[i];
		enum cmdline_hint hint = cmdline_hint(cmdline, i);

		if (cmdline_hint_is_vain(hint))
			diag_warning(diag, &(struct diag_where){ .path = "/proc/cmdline" },
				     "%.*s %s", (int)MIN(word->size, 200U),
				     cmdline->text + word->offset, cmdline_hint_text(hint));
	}
}

static int judge(struct host *host, struct diag *diag)
{
	const struct running *running = &host->facts.running;
	enum boot_want want = host_want(host);
	_cleanup_free_ char *impossible = NULL;
	const char *name = want_name(want);
	int r;

	if (want == BOOT_WANT_NOTHING)
		return set_verdict(
			host, VERDICT_UNMANAGED, NULL,
			"the policy is \"leave\": nothing is decided, nothing is changed");
	r = look_ahead(host, want, &impossible, diag);
	if (r < 0)
		return r;
	if (impossible && !(agrees(running->memcg, want) && host->after != MEMCG_UNKNOWN &&
			    agrees(host->after, want)))
		return set_verdict(host, VERDICT_IMPOSSIBLE, NULL, "%s", impossible);
	if (host->edits > 0 || host->entries_differing > 0)
		return set_verdict(
			host, VERDICT_CHANGE_REQUIRED, "memcg-policy apply",
			"the decision is %s, and the boot configuration does not agree", name);
	if (host->after == MEMCG_UNAVAILABLE && want == BOOT_WANT_ON)
		return set_verdict(host, VERDICT_IMPOSSIBLE, NULL,
				   "the kernel of the next boot is built without memcg");
	if (disagrees(host->after, want))
		return set_verdict(
			host, VERDICT_IMPOSSIBLE, NULL,
			"the next boot will have memcg %s although its configuration "
			"is as decided: %s:%u",
			memcg_state_to_string(host->after), host->after_entry->source,
			host->after_entry->line);
	if (disagrees(running->memcg, want)) {
		if (running->memcg == MEMCG_UNAVAILABLE && host->after != MEMCG_ON)
			return set_verdict(host, VERDICT_IMPOSSIBLE, NULL,
					   "this kernel is built without memcg");
		return judge_running(host, want, diag);
	}
	if (host->after == MEMCG_UNKNOWN || running->memcg == MEMCG_UNKNOWN)
		return set_verdict(host, VERDICT_UNKNOWN, NULL,
				   "the decision is %s; what the %s does cannot be told", name,
				   host->after == MEMCG_UNKNOWN ? "next boot"
								: "running kernel");
	return set_verdict(host, VERDICT_OK, NULL, "memcg is %s, as decided", name);
}

static int load_boot(struct host *host, struct diag *diag)
{
	int r = boot_probe(host->root, &host->facts.kernels, host->policy.backend.value,
			   &host->boot, diag);

	if (r >= 0)
		r = boot_read(&host->boot, &host->state, diag);
	if (r >= 0)
		r = find_next(host);
	if (r >= 0)
		r = origin_find(&host->boot, &host->state, &host->facts, &host->origin);
	if (r < 0)
		return r;
	return started_find(&host->boot, &host->state, &host->facts.running,
			    host->origin.kexec == ANSWER_YES, &host->started);
}

struct unit_basis host_unit_basis(const struct host *host)
{
	const struct running *running = &host->facts.running;
	const struct boot_entry *entry = host->next_entry;

	if (running->memcg == MEMCG_NOT_LOOKED)
		return (struct unit_basis){
			.memcg = host->next,
			.next = true,
			.cause = entry ? entry->token
				       : "no boot entry is known to be the default",
		};
	return (struct unit_basis){
		.memcg = running->memcg,
		.hierarchy = running->hierarchy,
		.cause = running->memcg == MEMCG_OFF && running->token ? running->token
								       : running->why,
	};
}

static int load_units(struct host *host)
{
	/* what is odd about unit files is for "units" to say */
	_cleanup_diag_ struct diag ignored = {};
	int r = units_load(host->root, &(struct unit_owner){}, NULL, &host->unit_files,
			   &ignored);

	host->unit_files_loaded = r >= 0;
	return r;
}

static int count_units(struct host *host)
{
	_cleanup_unit_findings_ struct unit_findings findings = {};
	const struct unit_basis basis = host_unit_basis(host);
	int r = units_judge(&host->unit_files, &basis, &findings);

	if (r < 0)
		return r;
	unit_findings_count(&findings, &host->units);
	host->units_known = true;
	return 0;
}

int host_load_boot(const struct root *root, struct host *ret, struct diag *diag)
{
	_cleanup_diag_ struct diag ignored = {};
	int r = policy_load(root, &ret->policy, &ignored);

	if (r == -ENOMEM)
		return r;
	ret->root = root;
	r = facts_load(root, &ret->facts);
	return r < 0 ? r : load_boot(ret, diag);
}

int host_load_with(const struct root *root, unsigned parts, const char *content,
		   struct host *ret, struct diag *diag)
{
	int r;

	ret->root = root;
	r = facts_load(root, &ret->facts);
	if (r >= 0 && parts & HOST_UNITS)
		r = load_units(ret);
	if (r >= 0)
		r = load_decision(ret, parts, content, diag);
	if (r < 0 || !(parts & (HOST_BOOT | HOST_VERDICT)))
		return r;
	r = load_boot(ret, diag);
	if (r < 0 || !(parts & HOST_VERDICT))
		return r;
	warn_of_loader(ret, diag);
	warn_of_words(&ret->facts.running, diag);
	if (parts & HOST_UNITS)
		r = count_units(ret);
	return r < 0 ? r : judge(ret, diag);
}

int host_load(const struct root *root, unsigned parts, struct host *ret, struct diag *diag)
{
	return host_load_with(root, parts, NULL, ret, diag);
}

void host_done(struct host *host)
{
	facts_done(&host->facts);
	policy_done(&host->policy);
	needs_done(&host->needs);
	decision_done(&host->decision);
	started_done(&host->started);
	origin_done(&host->origin);
	boot_state_done(&host->state);
	if (host->unit_files_loaded)
		units_done(&host->unit_files);
	free(host->verdict_text);
	*host = (struct host){};
}
