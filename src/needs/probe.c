/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "needs/probe.h"

#include "facts/running.h"
#include "needs/look.h"

/* The rest of what was counted and not listed. */
static int add_rest(struct look *p, const struct rule *rule, size_t matches)
{
	_cleanup_free_ char *text = NULL;
	int r;

	if (matches <= LOOK_MAX_EVIDENCE || rule->kind == RULE_PATH)
		return 0;
	r = str_printf(&text, "and %zu more", matches - LOOK_MAX_EVIDENCE);
	return r < 0 ? r
		     : need_add_evidence(p->need,
					 rule->kind == RULE_CGROUP_LIMIT
						 ? p->running->memory_tree
						 : rule->words.items[0],
					 0, text);
}

/* Whether the rule, or one that asks the same files, matched, did not, or cannot tell. */
static int run_rule(struct look *p, const struct rule *rule, enum need_state *ret)
{
	const struct rule *end = p->detector->rules + p->detector->n_rules;
	bool matched = false;
	int r = 0;

	p->rule = rule;
	p->failed = false;
	for (size_t i = 0; r >= 0 && i < (rule->kind <= RULE_PATH ? rule->words.n : 1); i++)
		r = look_word(p, rule, rule->words.items[i]);
	for (const struct rule *other = rule; r >= 0 && other < end; other++) {
		size_t matches = p->matches[other - p->detector->rules];

		if (other != rule && !look_same_files(rule, other))
			continue;
		matched = matched || matches > 0;
		r = add_rest(p, other, matches);
	}
	*ret = matched ? NEED_YES : p->failed ? NEED_UNKNOWN : NEED_NO;
	return r < 0 ? r : 0;
}

static bool is_answered(const struct look *p, const struct rule *rule)
{
	for (const struct rule *before = p->detector->rules; before < rule; before++)
		if (look_same_files(before, rule))
			return true;
	return false;
}

/* Runs the rules of one section; yes beats unknown beats no. */
static int run_section(struct look *p, enum rule_section section, enum need_state *state)
{
	for (size_t i = 0; i < p->detector->n_rules; i++) {
		const struct rule *rule = &p->detector->rules[i];
		enum need_state one;
		int r;

		if (rule->section != section || is_answered(p, rule))
			continue;
		/* that it is installed need not be shown twice */
		if (section == RULE_INSTALLED && *state == NEED_YES)
			return 0;
		r = run_rule(p, rule, &one);
		if (r < 0)
			return r;
		if (section == RULE_LIMITS && one == NEED_UNKNOWN)
			p->need->limits_unknown = true;
		if (one == NEED_YES || (one == NEED_UNKNOWN && *state == NEED_NO))
			*state = one;
	}
	return 0;
}

static bool has_section(const struct detector *d, enum rule_section section)
{
	for (size_t i = 0; i < d->n_rules; i++)
		if (d->rules[i].section == section)
			return true;
	return false;
}

/* Moves the first n pieces of evidence behind the others: what proves use is read first. */
static int move_back(struct need *need, size_t n)
{
	_cleanup_free_ struct need_evidence *first = NULL;

	if (n == 0 || n == need->n_evidence)
		return 0;
	first = calloc(n, sizeof(*first));
	if (!first)
		return -ENOMEM;
	memcpy(first, need->evidence, n * sizeof(*first));
	memmove(need->evidence, need->evidence + n, (need->n_evidence - n) * sizeof(*first));
	memcpy(need->evidence + need->n_evidence - n, first, n * sizeof(*first));
	return 0;
}

/* Whether it is in use, where a rule of [Enabled] has to match first. */
static int run_use(struct look *p, struct need *need)
{
	enum need_state enabled = NEED_YES;
	size_t n;
	int r;

	if (has_section(p->detector, RULE_ENABLED)) {
		enabled = NEED_NO;
		r = run_section(p, RULE_ENABLED, &enabled);
		if (r < 0 || enabled == NEED_NO)
			return r;
	}
	n = need->n_evidence;
	/* limits first: of several reasons the stored limit is the one to read first */
	r = run_section(p, RULE_LIMITS, &need->in_use);
	if (r >= 0)
		r = run_section(p, RULE_IN_USE, &need->in_use);
	if (need->in_use == NEED_YES)
		need->in_use = enabled;
	return r < 0 ? r : move_back(need, n);
}

int probe_run(struct look *p, const struct detector *d, struct need *need)
{
	enum need_state start = d->bad ? NEED_UNKNOWN : NEED_NO;
	_cleanup_free_ size_t *matches = calloc(d->n_rules + 1, sizeof(*matches));
	int r;

	if (!matches)
		return -ENOMEM;
	p->matches = matches;
	p->detector = d;
	p->need = need;
	p->broken = d->bad;
	p->budget = LOOK_MAX_ENTRIES;
	p->detector_until = look_now(CLOCK_THREAD_CPUTIME_ID) + LOOK_MAX_DETECTOR_MS;
	strv_done(&p->warned);
	need->in_use = start;
	need->installed = start;
	r = run_use(p, need);
	if (need->in_use == NEED_YES)
		need->installed = NEED_YES;
	if (r >= 0)
		r = run_section(p, RULE_INSTALLED, &need->installed);
	/* other people's directories say nothing about what is not installed */
	if (r >= 0 && need->installed == NEED_NO && !p->broken) {
		need->in_use = NEED_NO;
		need->limits_unknown = false;
	} else
		diag_move(p->diag, &p->warnings);
	diag_done(&p->warnings);
	return r;
}
