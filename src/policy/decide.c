/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy/decide.h"

#include "base/str.h"
#include "policy/policy.h"

#include <stdio.h>

static const char *const names[_DECISION_MAX] = {
	[DECISION_LEAVE] = "leave",
	[DECISION_ON] = "on",
	[DECISION_OFF] = "off",
};

const char *decision_to_string(enum decision_memcg memcg)
{
	return names[memcg];
}

void decision_done(struct decision *decision)
{
	for (size_t i = 0; i < decision->n_reasons; i++)
		decision_reason_done(&decision->reasons[i]);
	free(decision->reasons);
	*decision = (struct decision){};
}

void decision_reason_done(struct decision_reason *reason)
{
	free(reason->text);
	free(reason->path);
	*reason = (struct decision_reason){};
}

static int add(struct decision *d, const char *path, unsigned line, const char *fmt, ...)
	_printf_(4, 5);

static int add(struct decision *d, const char *path, unsigned line, const char *fmt, ...)
{
	struct decision_reason *more = reallocarray(d->reasons, d->n_reasons + 1,
						    sizeof(*more)),
			       reason = { .line = path ? line : 0 };
	va_list ap;
	int r;

	if (!more)
		return -ENOMEM;
	d->reasons = more;
	va_start(ap, fmt);
	r = str_vprintf(&reason.text, fmt, ap);
	va_end(ap);
	if (r < 0)
		return r;
	if (path) {
		reason.path = strdup(path);
		if (!reason.path) {
			free(reason.text);
			return -ENOMEM;
		}
	}
	d->reasons[d->n_reasons++] = reason;
	return 0;
}

/* Where the policy word comes from: the role it is read from first, then the word. */
static int add_policy(struct decision *d, const struct policy *policy,
		      const struct decision_reason *role_reason)
{
	const struct policy_memcg_setting *memcg = &policy->memcg;
	struct policy_memcg_setting of_role = policy_role_memcg(policy);
	const char *role = policy->effective_role;
	int r = 0;

	if (policy->role.value) {
		r = add(d, policy->role.source.path, policy->role.source.line, "Role=%s",
			policy->role.value);
		if (r >= 0 && role_reason)
			r = add(d, role_reason->path, role_reason->line, "%s",
				role_reason->text);
	}
	if (r < 0)
		return r;
	if (!memcg->source.path)
		return add(d, NULL, 0, "no policy is set: memcg is left as it is");
	if (of_role.value >= 0 && memcg->source.path == of_role.source.path &&
	    memcg->source.line == of_role.source.line)
		return add(d, memcg->source.path, memcg->source.line, "role %s says Memcg=%s",
			   role, policy_memcg_to_string(memcg->value));
	if (of_role.value >= 0 && of_role.value != memcg->value) {
		r = add(d, of_role.source.path, of_role.source.line,
			"role %s says Memcg=%s, but a key that is set beats the role", role,
			policy_memcg_to_string(of_role.value));
		if (r < 0)
			return r;
	}
	return add(d, memcg->source.path, memcg->source.line, "Memcg=%s",
		   policy_memcg_to_string(memcg->value));
}

/* The first thing seen that proves use. */
static int add_need(struct decision *d, const struct need *need, const char *what)
{
	const struct need_evidence *e = need->n_evidence > 0 ? need->evidence : NULL;

	return add(d, e ? e->path : NULL, e ? e->line : 0, "%s %s%s%s", need->title, what,
		   e ? ": " : "", e ? e->text : "");
}

static int decide_auto(struct decision *d, const struct policy *policy,
		       const struct needs *needs)
{
	enum need_level least = policy->need_level.value;
	bool needed = false, unknown = !needs || needs->incomplete;
	char what[96];
	int r = 0;

	for (size_t i = 0; needs && r >= 0 && i < needs->n; i++) {
		const struct need *need = &needs->items[i];
		const char *level = need_level_to_string(need->level);

		if (need->in_use == NEED_UNKNOWN && need->level >= least) {
			unknown = true;
			r = add(d, need->path, 0, "cannot tell whether %s is in use",
				need->title);
		}
		if (need->in_use != NEED_YES)
			continue;
		if (need->level >= least) {
			needed = true;
			(void)snprintf(what, sizeof(what), "is in use (level %s)",
				       level); /* fits */
		} else
			(void)snprintf(what, sizeof(what),
				       "is in use, but level %s is below NeedLevel=%s", level,
				       need_level_to_string(least)); /* fits */
		r = add_need(d, need, what);
	}
	if (r < 0)
		return r;
	if (needed) {
		d->memcg = DECISION_ON;
		return add(d, policy->need_level.source.path, policy->need_level.source.line,
			   "so memcg is needed (NeedLevel=%s%s)", need_level_to_string(least),
			   policy->need_level.source.path ? "" : ", the default");
	}
	if (policy->if_unneeded.value == POLICY_OFF && !unknown)
		d->memcg = DECISION_OFF;
	if (unknown)
		return add(d, NULL, 0,
			   "not everything could be looked at, so memcg is not switched off");
	return add(d, policy->if_unneeded.source.path, policy->if_unneeded.source.line,
		   "nothing here needs memcg: IfUnneeded=%s%s",
		   policy_memcg_to_string(policy->if_unneeded.value),
		   policy->if_unneeded.source.path ? "" : " (the default)");
}

int decide(const struct policy *policy, const struct needs *needs,
	   const struct decision_reason *role_reason, struct decision *ret)
{
	_cleanup_decision_ struct decision d = {};
	int r = add_policy(&d, policy, role_reason);

	if (r < 0)
		return r;
	switch (policy->memcg.value) {
	case POLICY_ON:
		d.memcg = DECISION_ON;
		break;
	case POLICY_OFF:
		d.memcg = DECISION_OFF;
		break;
	case POLICY_AUTO:
		r = decide_auto(&d, policy, needs);
		break;
	default:
		d.memcg = DECISION_LEAVE;
	}
	if (r < 0)
		return r;
	*ret = d;
	d = (struct decision){};
	return 0;
}
