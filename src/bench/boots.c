/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/boots.h"

#include "base/diag.h"
#include "bench/compare.h"
#include "bench/summary.h"
#include "facts/cmdline.h"

#include <math.h>

void boots_done(struct boots *boots)
{
	for (size_t i = 0; i < boots->n; i++) {
		result_done(&boots->items[i].result);
		free(boots->items[i].cpu);
		free(boots->items[i].instructions);
		free(boots->items[i].kind);
		free(boots->items[i].words);
	}
	free(boots->items);
	*boots = (struct boots){};
}

/* --- reading --- */

/* The command line without the words that turn memcg on or off, or parts of it. */
static int other_words(const char *text, char **ret)
{
	_cleanup_cmdline_ struct cmdline line = {};
	_cleanup_strbuf_ struct strbuf buf = {};
	int r = cmdline_parse(text, strlen(text), CMDLINE_LINE, &line);

	for (size_t i = 0; i < line.n && r >= 0; i++) {
		if (cmdline_name_is(&line, i, "cgroup_disable") ||
		    cmdline_name_is(&line, i, "cgroup_enable") ||
		    cmdline_name_is(&line, i, "cgroup_memory") ||
		    cmdline_name_is(&line, i, "cgroup.memory"))
			continue;
		strbuf_add(&buf, line.text + line.words[i].offset, line.words[i].size);
		strbuf_addc(&buf, ' ');
	}
	return r < 0 ? r : strbuf_take(&buf, ret, NULL);
}

/* Keeps the medians and lets the samples go. */
static int reduce(struct boot *boot)
{
	struct result *result = &boot->result;
	_cleanup_summary_ struct summary summary = {};
	size_t cells = result->n_cases * result->n_arms;
	int r = summary_make(result, &summary);

	if (r < 0)
		return r;
	boot->cpu = calloc(cells, sizeof(*boot->cpu));
	boot->instructions = calloc(cells, sizeof(*boot->instructions));
	if (!boot->cpu || !boot->instructions)
		return -ENOMEM;
	for (size_t i = 0; i < cells; i++) {
		const struct summary_arm *arm =
			&summary.cases[i / result->n_arms].arms[i % result->n_arms];

		boot->cpu[i] = arm->n > 0 ? arm->cost.value : NAN;
		boot->instructions[i] = arm->n > 0 ? arm->instructions : NAN;
	}
	free(result->samples);
	result->samples = NULL;
	result->n_samples = result->samples_alloc = 0;
	return 0;
}

static int read_boot(const char *path, struct boot *boot, struct diag *diag)
{
	char *const *text = boot->result.text;
	int r;

	boot->path = path;
	r = result_read(path, &boot->result, diag);
	if (r >= 0)
		r = reduce(boot);
	if (r >= 0)
		r = other_words(text[CONTEXT_CMDLINE] ? text[CONTEXT_CMDLINE] : "",
				&boot->words);
	if (r < 0)
		return r;
	if (text[CONTEXT_LABEL])
		return str_printf(&boot->kind, "%s", text[CONTEXT_LABEL]);
	return str_printf(&boot->kind, "memcg %s",
			  text[CONTEXT_MEMCG] ? text[CONTEXT_MEMCG] : "unknown");
}

/* Each file after the one before, so that one value tree is in memory at a time. */
int boots_read(char *const *paths, size_t n, struct boots *ret, struct diag *diag)
{
	_cleanup_(boots_done) struct boots boots = { .items = calloc(n, sizeof(*boots.items)) };

	if (!boots.items)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		struct boot *boot = &boots.items[boots.n++];
		const char *id;
		int r = read_boot(paths[i], boot, diag);

		if (r < 0)
			return r;
		id = boot->result.text[CONTEXT_BOOT_ID];
		boot->first = i;
		for (size_t k = i; k-- > 0;)
			if (id && streq(boots.items[k].kind, boot->kind) &&
			    streq_ptr(id, boots.items[k].result.text[CONTEXT_BOOT_ID]))
				boot->first = k;
	}
	*ret = boots;
	boots = (struct boots){};
	return 0;
}

/* --- may they be compared? --- */

int boots_not_comparable(struct diag *diag, const char *path, const char *hint, const char *fmt,
			 ...)
{
	va_list ap;

	va_start(ap, fmt);
	diag_addv(diag, DIAG_ERROR, &(struct diag_where){ .path = path, .hint = hint }, fmt,
		  ap);
	va_end(ap);
	return -EXDEV;
}

/* What must be the same in all, else the difference is not memcg's. */
static const enum context_key same_text[] = {
	CONTEXT_KERNEL, CONTEXT_BUILD, CONTEXT_MACHINE,
	CONTEXT_CPU,	CONTEXT_MODEL, CONTEXT_HYPERVISOR
};
static const enum context_number same_number[] = { CONTEXT_CPUS, CONTEXT_PAGE_SIZE };
/* What should be: it changes times, but a comparison is not senseless. */
static const enum context_key like_text[] = { CONTEXT_GOVERNOR, CONTEXT_CLOCKSOURCE };

/* The first thing that differs, in words; *ret NULL: nothing. */
static int find_difference(const struct boot *a, const struct boot *b, char **ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(same_text); i++) {
		const char *one = a->result.text[same_text[i]],
			   *two = b->result.text[same_text[i]];

		if (!streq_ptr(one, two))
			return str_printf(ret, "%s is \"%s\" here and \"%s\" in %s",
					  context_key_names[same_text[i]],
					  two ? two : "unknown", one ? one : "unknown",
					  a->path);
	}
	for (size_t i = 0; i < ARRAY_SIZE(same_number); i++) {
		double one = a->result.numbers[same_number[i]],
		       two = b->result.numbers[same_number[i]];

		if (fabs(one - two) > 0)
			return str_printf(ret, "%s is %g here and %g in %s",
					  context_number_names[same_number[i]], two, one,
					  a->path);
	}
	/* memcg itself takes some memory at boot */
	if (fabs(a->result.numbers[CONTEXT_MEMORY_KB] / b->result.numbers[CONTEXT_MEMORY_KB] -
		 1) > 0.03)
		return str_printf(ret, "memory is %.0f MiB here and %.0f MiB in %s",
				  b->result.numbers[CONTEXT_MEMORY_KB] / 1024,
				  a->result.numbers[CONTEXT_MEMORY_KB] / 1024, a->path);
	if (!streq(a->words, b->words))
		return str_printf(ret,
				  "the kernel command line is \"%s\" here and \"%s\" in %s",
				  b->words, a->words, a->path);
	return 0;
}

int boots_check(const struct boots *boots, bool force, struct comparison *comparison,
		struct diag *diag)
{
	int r = 0;

	for (size_t i = 1; i < boots->n && r >= 0; i++) {
		_cleanup_free_ char *text = NULL;

		r = find_difference(&boots->items[0], &boots->items[i], &text);
		if (r >= 0 && text && force)
			strv_addf(&comparison->warnings, "%s: %s", boots->items[i].path, text);
		else if (r >= 0 && text)
			r = boots_not_comparable(diag, boots->items[i].path,
						 "--force compares all the same",
						 "not comparable: %s", text);
		for (size_t k = 0; k < ARRAY_SIZE(like_text) && r >= 0; k++)
			if (!streq_ptr(boots->items[0].result.text[like_text[k]],
				       boots->items[i].result.text[like_text[k]]))
				strv_addf(&comparison->warnings, "%s: another %s than in %s",
					  boots->items[i].path, context_key_names[like_text[k]],
					  boots->items[0].path);
	}
	return r < 0 ? r : strv_error(&comparison->warnings);
}

static bool is_off(const char *memcg)
{
	return streq_ptr(memcg, "off") || streq_ptr(memcg, "unavailable");
}

/* memcg's state in all boots of a kind; NULL: unknown, or not the same. */
static const char *state_of(const struct boots *boots, const char *kind)
{
	const char *state = NULL;

	for (size_t i = 0; i < boots->n; i++) {
		const char *own = boots->items[i].result.text[CONTEXT_MEMCG];

		if (!streq(boots->items[i].kind, kind))
			continue;
		if (!own || (state && !streq(own, state)))
			return NULL;
		state = own;
	}
	return state;
}

/* The two kinds of boots; those with memcg off come first, so that its cost is positive. */
int boots_find_sides(const struct boots *boots, struct comparison *comparison,
		     struct diag *diag)
{
	static const char hint[] =
		"memcg-policy bench run -o FILE --label=NAME in boots of two kinds";
	const char *kinds[2] = {}, *states[2];

	for (size_t i = 0; i < boots->n; i++) {
		const char *kind = boots->items[i].kind;

		if (!kinds[0] || streq(kinds[0], kind))
			kinds[0] = kind;
		else if (!kinds[1] || streq(kinds[1], kind))
			kinds[1] = kind;
		else
			return boots_not_comparable(
				diag, boots->items[i].path, hint,
				"a third kind of boots, \"%s\" beside \"%s\" and "
				"\"%s\": two are compared",
				kind, kinds[0], kinds[1]);
	}
	if (!kinds[1])
		return boots_not_comparable(diag, NULL, hint,
					    "all files are of one kind of boots, \"%s\"",
					    kinds[0]);
	for (size_t i = 0; i < 2; i++)
		states[i] = state_of(boots, kinds[i]);
	if (is_off(states[1]) && !is_off(states[0])) {
		const char *kind = kinds[0], *state = states[0];

		kinds[0] = kinds[1];
		states[0] = states[1];
		kinds[1] = kind;
		states[1] = state;
	}
	comparison->on_off = is_off(states[0]) && streq_ptr(states[1], "on");
	for (size_t i = 0; i < 2; i++) {
		struct compare_side *side = &comparison->sides[i];

		side->name = strdup(kinds[i]);
		side->memcg = states[i] ? strdup(states[i]) : NULL;
		if (!side->name || (states[i] && !side->memcg))
			return -ENOMEM;
		for (size_t k = 0; k < boots->n; k++)
			side->boots += boots->items[k].first == k &&
				       streq(boots->items[k].kind, kinds[i]);
	}
	return 0;
}
