/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "facts/kernel.h"

#include "base/str.h"
#include "facts/kernel-log.h"
#include "facts/kimage.h"
#include "facts/release.h"

void kernel_done(struct kernel *kernel)
{
	free(kernel->release);
	free(kernel->image);
	free(kernel->config);
	kconfig_done(&kernel->kconfig);
}

/*
 * Names that Raspberry Pi kernels have (LOCALVERSION of the defconfigs of raspberrypi/linux, of
 * its packages and of those who build from it). No proof either way: it only keeps from
 * claiming the mainline default.
 */
static bool may_be_raspberry(const char *release)
{
	static const char *const parts[] = { "+rpt-", "-rpi",  "raspi", "-v6+",
					     "-v7+",  "-v7l+", "-v8+",	"-v8-16k" };

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (strstr(release, parts[i]))
			return true;
	return false;
}

/*
 * What is known of rules and default from configuration and release alone (Debian switched its
 * default from off to on with 4.7; the Raspberry Pi's kernels, or the device trees that come
 * with them, are off from 5.4 on; everybody else is on).
 */
static void judge(struct kernel *kernel)
{
	static const enum kconfig_symbol marks[] = { KCONFIG_MEMCG_DISABLED,
						     KCONFIG_CGROUP_MEM_RES_CTLR_DISABLED };
	const char *release = kernel->release;

	kernel->rules = CMDLINE_RULE_UNKNOWN;
	kernel->state_default = MEMCG_UNKNOWN;
	kernel->honours_enable = ANSWER_NOT_LOOKED;
	for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
		enum kconfig_value value = kernel->kconfig.values[marks[i]];

		if (value == KCONFIG_ABSENT)
			continue;
		kernel->honours_enable = ANSWER_YES;
		kernel->rules = CMDLINE_LAST_WINS;
		kernel->state_default = value == KCONFIG_YES ? MEMCG_OFF : MEMCG_ON;
		return;
	}
	if (!release)
		return;
	if (may_be_raspberry(release)) {
		if (!strstr(release, "raspi") && release_is_from(release, 5, 4))
			kernel->state_default = MEMCG_OFF;
	} else if (release_is_from(release, 4, 7) || kernel->kconfig.complete) {
		kernel->state_default = MEMCG_ON;
	}
}

int kernel_examine(struct kernel *kernel, const struct root *root)
{
	int r;

	kconfig_done(&kernel->kconfig);
	free(kernel->config);
	kernel->config = NULL;
	kernel->config_error = 0;
	kernel->memcg_built = ANSWER_UNKNOWN;
	if (kernel->release || kernel->running) {
		r = kconfig_load(root, kernel->release, kernel->running, &kernel->kconfig,
				 &kernel->config);
		if (r == -ENOMEM)
			return r;
		if (r >= 0)
			kernel->memcg_built = kconfig_memcg_built(&kernel->kconfig, NULL);
		else if (kernel->config)
			kernel->config_error = r;
	}
	judge(kernel);
	return 0;
}

/*
 * Which of the two ways a kernel that honours it goes. The Raspberry Pi's had the mask form
 * from the end of 2017 on and have the order-based form since raspberrypi/linux#6524 of
 * December 2024; between 5.13 and 6.6 it is not known.
 */
static unsigned honouring_rules(const char *release)
{
	if (!release || !may_be_raspberry(release))
		return CMDLINE_HONOURS;
	if (release_is_from(release, 6, 12))
		return CMDLINE_LAST_WINS;
	if ((release_is_from(release, 4, 14) && release_is_before(release, 4, 19)) ||
	    (release_is_from(release, 5, 4) && release_is_before(release, 5, 13)))
		return CMDLINE_ENABLE_WINS;
	return CMDLINE_HONOURS;
}

int kernel_ask_enable(const struct root *root, struct kernel *kernel,
		      struct kimage_cache *cache)
{
	enum answer answer = ANSWER_UNKNOWN;
	char *release = NULL;
	int r = -ENOENT;

	if (kernel->honours_enable != ANSWER_NOT_LOOKED)
		return 0;
	if (kernel->running)
		r = kimage_running_honours_enable(root, &answer);
	if (kernel->running && r != -ENOMEM && answer == ANSWER_UNKNOWN)
		r = kernel_said_honours_enable(root, &answer);
	if ((r < 0 || answer == ANSWER_UNKNOWN) && r != -ENOMEM && kernel->image)
		r = kimage_honours_enable(root, kernel->image, cache, &answer, &release);
	if (r == -ENOMEM)
		return r;
	if (release && !kernel->release) {
		kernel->release = TAKE_PTR(release);
		r = kernel_examine(kernel, root);
		if (r < 0)
			return r;
	}
	free(release);
	kernel->honours_enable = answer;
	if (answer == ANSWER_NO)
		kernel->rules &= CMDLINE_MAINLINE;
	else if (answer == ANSWER_YES)
		kernel->rules &= honouring_rules(kernel->release);
	/* a kernel that has no such word is not off without one; the Pi's device tree may be */
	if (answer == ANSWER_NO && kernel->state_default == MEMCG_UNKNOWN && kernel->release &&
	    !may_be_raspberry(kernel->release))
		kernel->state_default = MEMCG_ON;
	return 0;
}

/* The rules and defaults that lead from the line to the state; false if none does. */
static bool fit(const struct kernel *kernel, bool any_default, const struct cmdline *cmdline,
		enum memcg_state state, unsigned *ret_rules, enum memcg_state *ret_default)
{
	static const enum memcg_state defaults[] = { MEMCG_ON, MEMCG_OFF };
	bool possible[ARRAY_SIZE(defaults)] = {};
	unsigned rules = 0;

	for (unsigned rule = CMDLINE_MAINLINE; rule <= CMDLINE_ENABLE_WINS; rule <<= 1)
		for (size_t i = 0; i < ARRAY_SIZE(defaults); i++) {
			if (!(kernel->rules & rule) ||
			    (!any_default && kernel->state_default != MEMCG_UNKNOWN &&
			     kernel->state_default != defaults[i]) ||
			    cmdline_predict(cmdline, rule, defaults[i], ANSWER_YES) != state)
				continue;
			rules |= rule;
			possible[i] = true;
		}
	*ret_rules = rules;
	*ret_default = possible[0] == possible[1] ? MEMCG_UNKNOWN
		       : possible[0]		  ? MEMCG_ON
						  : MEMCG_OFF;
	return rules != 0;
}

void kernel_learn(struct kernel *kernel, const struct cmdline *cmdline, enum memcg_state state)
{
	enum memcg_state state_default;
	unsigned rules;

	if (state != MEMCG_ON && state != MEMCG_OFF)
		return;
	kernel->memcg_built = ANSWER_YES;
	/* what was thought to be its default is thought no more if it cannot be */
	if (!fit(kernel, false, cmdline, state, &rules, &state_default) &&
	    !fit(kernel, true, cmdline, state, &rules, &state_default))
		return;
	kernel->rules = rules;
	kernel->state_default = state_default;
	if (!(rules & CMDLINE_MAINLINE))
		kernel->honours_enable = ANSWER_YES;
	else if (rules == CMDLINE_MAINLINE)
		kernel->honours_enable = ANSWER_NO;
}

int kernel_predict(const struct kernel *kernel, const struct cmdline *cmdline,
		   enum memcg_state *ret)
{
	enum kconfig_builtin builtin = kconfig_builtin(&kernel->kconfig);
	const char *own = kernel->kconfig.cmdline;
	_cleanup_cmdline_ struct cmdline whole = {};
	_cleanup_strbuf_ struct strbuf buf = {};
	int r;

	if (builtin == KCONFIG_BUILTIN_BEFORE)
		strbuf_addf(&buf, "%s ", own);
	if (builtin != KCONFIG_BUILTIN_REPLACES)
		strbuf_add(&buf, cmdline->text, cmdline->size);
	if (builtin == KCONFIG_BUILTIN_BEHIND)
		strbuf_addf(&buf, " %s", own);
	if (builtin == KCONFIG_BUILTIN_REPLACES)
		strbuf_adds(&buf, own ? own : "");
	if (buf.failed)
		return -ENOMEM;
	r = cmdline_parse(buf.data, buf.len, CMDLINE_LINE, &whole);
	if (r < 0)
		return r;
	*ret = cmdline_predict(&whole, kernel->rules, kernel->state_default,
			       kernel->memcg_built);
	return 0;
}
