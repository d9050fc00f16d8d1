/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tree.h"

#include "base/str.h"
#include "facts/cmdline.h"

#include <stdio.h>

/* "name:value|..." with the word's own bytes in place and "--" for what is init's. */
static char *words(const char *text, size_t size, enum cmdline_form form)
{
	_cleanup_cmdline_ struct cmdline cmdline = {};
	struct strbuf buf = {};
	char *ret;

	assert_int_equal(cmdline_parse(text, size, form, &cmdline), 0);
	for (size_t i = 0; i < cmdline.n; i++) {
		const struct cmdline_word *w = &cmdline.words[i];

		assert_true(w->offset + w->size <= size);
		strbuf_adds(&buf, i ? "|" : "");
		strbuf_add(&buf, text + w->name_offset, w->name_size);
		strbuf_adds(&buf, w->has_value ? ":" : "");
		strbuf_add(&buf, text + w->value_offset, w->value_size);
		strbuf_adds(&buf, w->open ? "<" : "");
		strbuf_adds(&buf, w->for_init ? "@" : "");
	}
	for (size_t i = 0; i < cmdline.n_more_lines; i++)
		strbuf_addf(&buf, " +%u", cmdline.more_lines[i]);
	assert_int_equal(strbuf_take(&buf, &ret, NULL), 0);
	return ret;
}

static void test_split(void **state _unused_)
{
	static const struct {
		const char *text;
		const char *want;
		enum cmdline_form form;
	} cases[] = {
		{ "", "" },
		{ " \t\n", "" },
		{ "a b=c  d\n", "a|b:c|d" },
		{ "a=b=c =x =x=y ==z", "a:b=c|=x|=x:y|=:z" },
		{ "a=", "a:" },
		{ "\"a=b c\" d", "a:b c|d" },
		{ "a=\"b c\" d", "a:b c|d" },
		{ "a=b\"c d\"e f", "a:b\"c d\"e|f" },
		{ "a\"b c\"=d", "a\"b c\":d" },
		{ "\"a=\"b c\"\"", "a:b|c\"\"" },
		{ "\"a b", "a b<" },
		{ "a=\"b c\n", "a:b c<" },
		{ "a=\"", "a:<" },
		{ "\"", "<" },
		{ "\"\"", "" },
		{ "\"=\"", "=" },
		{ "'a b'", "'a|b'" },
		{ "a -- b c=d", "a|--@|b@|c:d@" },
		{ "a \"--\" b", "a|--@|b@" },
		{ "a --- b", "a|---|b" },
		{ "a --=x b", "a|--:x|b" },
		/* 0xa0 is a blank to the kernel, also as half of a letter */
		{ "a\xc3\xa0"
		  "b c",
		  "a\xc3|b|c" },
		{ "a\vb\fc\rd\te", "a|b|c|d|e" },
		{ "a\nb", "a|b" },
		{ "a b\nc\n", "a|b +2", CMDLINE_FILE },
		{ "a b\r\n \n\nc d\r\n\ne", "a|b +4 +6", CMDLINE_FILE },
		{ "\na", " +2", CMDLINE_FILE },
		{ "a=\"b\nc\"", "a:b< +2", CMDLINE_FILE },
	};
	_cleanup_free_ char *nul = words("a\0b", 3, CMDLINE_LINE);

	assert_string_equal(nul, "a");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *got =
			words(cases[i].text, strlen(cases[i].text), cases[i].form);

		if (!streq(got, cases[i].want))
			fail_msg("%s: got %s, wanted %s", cases[i].text, got, cases[i].want);
	}
}

/* What the line asks for, by which word, and what every rule makes of it. */
static void test_request(void **state _unused_)
{
	static const struct {
		const char *text;
		enum cmdline_request request;
		int word;
		/* mainline, default on; last wins, enable wins and nothing known, default off
		 */
		const char *states;
	} cases[] = {
		{ "quiet", CMDLINE_NONE, -ENOENT, "+---" },
		{ "cgroup_disable=memory", CMDLINE_OFF, 0, "----" },
		{ "a cgroup-disable=memory", CMDLINE_OFF, 1, "----" },
		{ "cgroup_disable=cpu,memory,x", CMDLINE_OFF, 0, "----" },
		{ "cgroup_disable=,memory,", CMDLINE_OFF, 0, "----" },
		{ "\"cgroup_disable=memory\"", CMDLINE_OFF, 0, "----" },
		{ "cgroup_disable=\"cpu,memory\"", CMDLINE_OFF, 0, "----" },
		{ "cgroup_disable=\"cpu,memory", CMDLINE_OFF, 0, "----" },
		{ "cgroup_disable=cpu,\"memory\"", CMDLINE_NONE, -ENOENT, "+---" },
		{ "\"cgroup_disable=memory cpu\"", CMDLINE_NONE, -ENOENT, "+---" },
		{ "cgroup_disable=Memory", CMDLINE_NONE, -ENOENT, "+---" },
		{ "Cgroup_disable=memory", CMDLINE_NONE, -ENOENT, "+---" },
		{ "cgroup_disable=memory_", CMDLINE_NONE, -ENOENT, "+---" },
		{ "cgroup_disable=", CMDLINE_NONE, -ENOENT, "+---" },
		{ "cgroup_disable", CMDLINE_NONE, -ENOENT, "+---" },
		{ "xcgroup_disable=memory", CMDLINE_NONE, -ENOENT, "+---" },
		{ "=cgroup_disable=memory", CMDLINE_NONE, -ENOENT, "+---" },
		{ "cgroup_disable==memory", CMDLINE_NONE, -ENOENT, "+---" },
		{ "-- cgroup_disable=memory", CMDLINE_NONE, -ENOENT, "+---" },
		{ "--- cgroup_disable=memory", CMDLINE_OFF, 1, "----" },
		{ "cgroup_memory=1", CMDLINE_NONE, -ENOENT, "+---" },
		{ "cgroup_no_v1=memory", CMDLINE_NONE, -ENOENT, "+---" },
		{ "cgroup_enable=memory", CMDLINE_ON, 0, "+++?" },
		{ "cgroup_enable=cpuset,memory", CMDLINE_ON, 0, "+++?" },
		{ "cgroup_enable=memory cgroup_disable=memory", CMDLINE_OFF, 1, "--+?" },
		{ "cgroup_disable=memory cgroup_enable=memory", CMDLINE_ON, 1, "-++?" },
		{ "cgroup_disable=memory cgroup_enable=cpuset", CMDLINE_OFF, 0, "----" },
		{ "cgroup_disable=memory cgroup_disable=cpu", CMDLINE_OFF, 0, "----" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		static const struct {
			unsigned rules;
			enum memcg_state state_default;
		} kernels[] = {
			{ CMDLINE_MAINLINE, MEMCG_ON },
			{ CMDLINE_LAST_WINS, MEMCG_OFF },
			{ CMDLINE_ENABLE_WINS, MEMCG_OFF },
			{ CMDLINE_RULE_UNKNOWN, MEMCG_OFF },
		};
		_cleanup_cmdline_ struct cmdline cmdline = {};
		const char *text = cases[i].text;
		ssize_t word;

		assert_int_equal(cmdline_parse(text, strlen(text), CMDLINE_LINE, &cmdline), 0);
		if (cmdline_request(&cmdline, &word) != cases[i].request ||
		    word != cases[i].word)
			fail_msg("%s: asks for %s by word %zd", text,
				 cmdline_request_to_string(cmdline_request(&cmdline, NULL)),
				 word);
		for (size_t k = 0; k < ARRAY_SIZE(kernels); k++) {
			enum memcg_state got =
				cmdline_predict(&cmdline, kernels[k].rules,
						kernels[k].state_default, ANSWER_YES);
			char c = got == MEMCG_ON ? '+' : got == MEMCG_OFF ? '-' : '?';

			if (c != cases[i].states[k])
				fail_msg("%s: kernel %zu predicted %s", text, k,
					 memcg_state_to_string(got));
		}
		assert_int_equal(
			cmdline_predict(&cmdline, CMDLINE_MAINLINE, MEMCG_ON, ANSWER_NO),
			MEMCG_UNAVAILABLE);
		/* perhaps not built: never on, but a word that says off is enough */
		assert_int_equal(
			cmdline_predict(&cmdline, CMDLINE_MAINLINE, MEMCG_ON, ANSWER_UNKNOWN),
			cases[i].states[0] == '-' ? MEMCG_OFF : MEMCG_UNKNOWN);
	}
}

static void test_predict_unknown(void **state _unused_)
{
	static const struct {
		const char *text;
		unsigned rules;
		enum memcg_state state_default, want;
	} cases[] = {
		/* the rule does not matter */
		{ "cgroup_disable=memory", CMDLINE_RULE_UNKNOWN, MEMCG_UNKNOWN, MEMCG_OFF },
		{ "cgroup_enable=memory", CMDLINE_RULE_UNKNOWN, MEMCG_ON, MEMCG_ON },
		{ "cgroup_enable=memory", CMDLINE_HONOURS, MEMCG_UNKNOWN, MEMCG_ON },
		{ "cgroup_disable=memory cgroup_enable=memory", CMDLINE_HONOURS, MEMCG_OFF,
		  MEMCG_ON },
		/* it does */
		{ "cgroup_enable=memory cgroup_disable=memory", CMDLINE_HONOURS, MEMCG_OFF,
		  MEMCG_UNKNOWN },
		{ "cgroup_disable=memory cgroup_enable=memory", CMDLINE_RULE_UNKNOWN, MEMCG_ON,
		  MEMCG_UNKNOWN },
		{ "quiet", CMDLINE_RULE_UNKNOWN, MEMCG_UNKNOWN, MEMCG_UNKNOWN },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_cmdline_ struct cmdline cmdline = {};
		const char *text = cases[i].text;

		assert_int_equal(cmdline_parse(text, strlen(text), CMDLINE_LINE, &cmdline), 0);
		assert_string_equal(
			memcg_state_to_string(cmdline_predict(
				&cmdline, cases[i].rules, cases[i].state_default, ANSWER_YES)),
			memcg_state_to_string(cases[i].want));
	}
}

/*
 * Kernels that honour cgroup_enable= cannot be had as packages, so their rules are tested here
 * on what is recorded of them: logs in reports, source, maintainers' words; and on kernels that
 * were built to have them, as mainline's on a real one (test/uml/truth.py, "./dev kernels").
 */
static void test_recorded(void **state _unused_)
{
	static const struct {
		const char *kernel, *line;
		unsigned rule;
		enum memcg_state state_default;
		const char *log; /* the last of Disabling and Enabling is what it did */
	} records[] = {
		{ "Debian 3.16", "quiet", CMDLINE_LAST_WINS, MEMCG_OFF, "" },
		{ "Debian 3.16", "quiet cgroup_enable=memory", CMDLINE_LAST_WINS, MEMCG_OFF,
		  "Enabling memory control group subsystem" },
		{ "Debian 3.16", "cgroup_enable=memory cgroup_disable=memory",
		  CMDLINE_LAST_WINS, MEMCG_OFF,
		  "Enabling memory control group subsystem\n"
		  "Disabling memory control group subsystem" },
		{ "Debian 4.9", "cgroup_enable=memory cgroup_disable=memory", CMDLINE_MAINLINE,
		  MEMCG_ON, "Disabling memory control group subsystem" },
		/* the mask form: what is enabled is taken out of what is disabled, at the end
		 */
		{ "raspberrypi 4.14", "cgroup_enable=memory cgroup_disable=memory",
		  CMDLINE_ENABLE_WINS, MEMCG_OFF, "Enabling memory control group subsystem" },
		{ "raspberrypi 5.4", "cgroup_enable=memory", CMDLINE_ENABLE_WINS, MEMCG_OFF,
		  "cgroup: Enabling memory control group subsystem" },
		/* after raspberrypi/linux#6439, before #6524 */
		{ "raspberrypi 6.6",
		  "coherent_pool=1M cgroup_disable=memory cgroup_memory=1 cgroup_enable=memory",
		  CMDLINE_MAINLINE, MEMCG_ON,
		  "cgroup: Disabling memory control group subsystem\n"
		  "Unknown kernel command line parameters \"cgroup_memory=1 "
		  "cgroup_enable=memory\", will be passed to user space." },
		{ "raspberrypi 6.18.29+rpt-rpi-2712",
		  "reboot=w cgroup_disable=memory numa_policy=interleave  cgroup_enable=memory",
		  CMDLINE_LAST_WINS, MEMCG_OFF,
		  "cgroup: Disabling memory control group subsystem\n"
		  "cgroup: Enabling memory control group subsystem" },
		/* raspberrypi/linux#6980: a device tree that puts its word last */
		{ "raspberrypi 6.12",
		  "rootwait cgroup_enable=memory cgroup_memory=1 "
		  "cgroup_disable=memory",
		  CMDLINE_LAST_WINS, MEMCG_OFF,
		  "cgroup: Enabling memory control group subsystem\n"
		  "cgroup: Disabling memory control group subsystem" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(records); i++) {
		_cleanup_cmdline_ struct cmdline cmdline = {};
		const char *line = records[i].line, *log = records[i].log, *at;
		enum memcg_state did = records[i].state_default, predicted, unknown;

		while ((at = strstr(log, "ing memory control group"))) {
			did = at[-1] == 'l' && at[-2] == 'b' && at[-3] == 'a' && at[-4] == 's'
				      ? MEMCG_OFF
				      : MEMCG_ON;
			log = at + 1;
		}
		assert_int_equal(cmdline_parse(line, strlen(line), CMDLINE_LINE, &cmdline), 0);
		predicted = cmdline_predict(&cmdline, records[i].rule, records[i].state_default,
					    ANSWER_YES);
		if (predicted != did)
			fail_msg("%s, %s: it was %s", records[i].kernel, line,
				 memcg_state_to_string(did));
		/* where the rule is not known, nothing wrong is said */
		unknown = cmdline_predict(&cmdline, CMDLINE_RULE_UNKNOWN,
					  records[i].state_default, ANSWER_YES);
		assert_true(unknown == did || unknown == MEMCG_UNKNOWN);
	}
	print_message("rules of kernels that honour cgroup_enable=: %zu records; on booted "
		      "kernels by ./dev kernels\n",
		      ARRAY_SIZE(records));
}

static void test_hints(void **state _unused_)
{
	static const char text[] = "cgroup_memory=1 swapaccount=1 cgroup_no_v1=all "
				   "cgroup-no-v1=cpu cgroup.memory=nokmem cgroup_enable "
				   "cgroup_disable=MEMORY,cpu cgroup_disable=memory quiet "
				   "cgroup_no_v1=memory -- cgroup_disable=memory x";
	static const enum cmdline_hint want[] = {
		CMDLINE_HINT_CGROUP_MEMORY, CMDLINE_HINT_SWAPACCOUNT,
		CMDLINE_HINT_NO_V1,	    CMDLINE_HINT_NONE,
		CMDLINE_HINT_ACCOUNTING,    CMDLINE_HINT_NO_VALUE,
		CMDLINE_HINT_OTHER_CASE,    CMDLINE_HINT_NONE,
		CMDLINE_HINT_NONE,	    CMDLINE_HINT_NO_V1,
		CMDLINE_HINT_NONE,	    CMDLINE_HINT_BEHIND_DASHES,
		CMDLINE_HINT_NONE,
	};
	_cleanup_cmdline_ struct cmdline cmdline = {};

	assert_int_equal(cmdline_parse(text, strlen(text), CMDLINE_LINE, &cmdline), 0);
	assert_int_equal(cmdline.n, ARRAY_SIZE(want));
	for (size_t i = 0; i < cmdline.n; i++) {
		assert_int_equal(cmdline_hint(&cmdline, i), want[i]);
		assert_int_equal(!cmdline_hint_text(want[i]), want[i] == CMDLINE_HINT_NONE);
		assert_int_equal(cmdline_hint_is_vain(want[i]), i == 5 || i == 6 || i == 11);
	}
	assert_int_equal(cmdline_find(&cmdline, "cgroup-memory"), 0);
	assert_int_equal(cmdline_find(&cmdline, "cgroup_disable"), 7);
	assert_int_equal(cmdline_find(&cmdline, "x"), -ENOENT);
}

static char *edited(const char *text, enum cmdline_form form, enum memcg_state want,
		    unsigned flags, int *ret_changed)
{
	char *ret = NULL;
	size_t size;

	*ret_changed = cmdline_edit(text, strlen(text), form, want, flags, &ret, &size, NULL);
	if (*ret_changed >= 0)
		assert_int_equal(strlen(ret), size);
	return ret;
}

static void test_edit(void **state _unused_)
{
	/* NULL: as it was */
	static const struct {
		const char *text;
		const char *off, *on, *on_enable;
	} cases[] = {
		{ "a b", "a b cgroup_disable=memory", NULL, "a b cgroup_enable=memory" },
		{ "", "cgroup_disable=memory", NULL, "cgroup_enable=memory" },
		{ "\n", "cgroup_disable=memory\n", NULL, "cgroup_enable=memory\n" },
		{ "a  b \n", "a  b cgroup_disable=memory \n", NULL,
		  "a  b cgroup_enable=memory \n" },
		{ "a\r\n", "a cgroup_disable=memory\r\n", NULL, "a cgroup_enable=memory\r\n" },
		{ "a -- b", "a cgroup_disable=memory -- b", NULL,
		  "a cgroup_enable=memory -- b" },
		{ " -- b", " cgroup_disable=memory -- b", NULL, " cgroup_enable=memory -- b" },
		{ "a -- cgroup_disable=memory",
		  "a cgroup_disable=memory -- "
		  "cgroup_disable=memory",
		  NULL, "a cgroup_enable=memory -- cgroup_disable=memory" },
		{ "a cgroup_disable=memory b", NULL, "a b", "a b cgroup_enable=memory" },
		{ "cgroup_disable=memory b", NULL, "b", "b cgroup_enable=memory" },
		{ "a cgroup_disable=memory", NULL, "a", "a cgroup_enable=memory" },
		{ "a cgroup_disable=memory \n", NULL, "a \n", "a cgroup_enable=memory \n" },
		{ " cgroup_disable=memory ", NULL, "  ", "cgroup_enable=memory  " },
		{ "cgroup_disable=memory", NULL, "", "cgroup_enable=memory" },
		{ "a  cgroup_disable=memory  b", NULL, "a   b", "a   b cgroup_enable=memory" },
		{ "a\tcgroup-disable=memory b", NULL, "a b", "a b cgroup_enable=memory" },
		{ "cgroup_disable=memory cgroup_disable=memory b", NULL, "b",
		  "b cgroup_enable=memory" },
		{ "cgroup_disable=memory -- b", NULL, "-- b", "cgroup_enable=memory -- b" },
		{ "cgroup_disable=pressure,memory x", NULL, "cgroup_disable=pressure x",
		  "cgroup_disable=pressure x cgroup_enable=memory" },
		{ "cgroup_disable=memory,pressure", NULL, "cgroup_disable=pressure",
		  "cgroup_disable=pressure cgroup_enable=memory" },
		{ "cgroup_disable=cpu,memory,io,memory", NULL, "cgroup_disable=cpu,io",
		  "cgroup_disable=cpu,io cgroup_enable=memory" },
		{ "cgroup_disable=memory,,", NULL, "", "cgroup_enable=memory" },
		{ "\"cgroup_disable=memory\" a", NULL, "a", "a cgroup_enable=memory" },
		{ "\"cgroup_disable=cpu,memory\"", NULL, "\"cgroup_disable=cpu\"",
		  "\"cgroup_disable=cpu\" cgroup_enable=memory" },
		{ "cgroup_disable=\"cpu,memory\" a", NULL, "cgroup_disable=\"cpu\" a",
		  "cgroup_disable=\"cpu\" a cgroup_enable=memory" },
		{ "cgroup_disable=Memory", "cgroup_disable=Memory cgroup_disable=memory", NULL,
		  "cgroup_disable=Memory cgroup_enable=memory" },
		{ "cgroup_enable=memory", "cgroup_disable=memory", NULL, NULL },
		{ "cgroup_enable=cpuset,memory a",
		  "cgroup_enable=cpuset a "
		  "cgroup_disable=memory",
		  NULL, NULL },
		{ "cgroup_enable=cpuset cgroup_enable=memory swapaccount=1 \n",
		  "cgroup_enable=cpuset swapaccount=1 cgroup_disable=memory \n", NULL, NULL },
		{ "cgroup_disable=memory cgroup_enable=memory", "cgroup_disable=memory",
		  "cgroup_enable=memory", "cgroup_enable=memory" },
		{ "cgroup_enable=memory cgroup_disable=memory", "cgroup_disable=memory",
		  "cgroup_enable=memory", "cgroup_enable=memory" },
		{ "a=\"x y\" 'b c'", "a=\"x y\" 'b c' cgroup_disable=memory", NULL,
		  "a=\"x y\" 'b c' cgroup_enable=memory" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *text = cases[i].text;
		struct {
			const char *want;
			enum memcg_state state;
			unsigned flags;
		} edits[] = {
			{ cases[i].off, MEMCG_OFF, 0 },
			{ cases[i].on, MEMCG_ON, 0 },
			{ cases[i].on_enable, MEMCG_ON, CMDLINE_WRITE_ENABLE },
		};

		for (size_t k = 0; k < ARRAY_SIZE(edits); k++) {
			const char *want = edits[k].want ? edits[k].want : text;
			_cleanup_free_ char *got = NULL;
			int changed;

			got = edited(text, CMDLINE_LINE, edits[k].state, edits[k].flags,
				     &changed);
			if (changed < 0 || !streq(got, want) ||
			    changed != (edits[k].want ? 1 : 0))
				fail_msg("\"%s\" edit %zu: %d, got \"%s\", wanted \"%s\"", text,
					 k, changed, got, want);
		}
	}
}

static void test_edit_limits(void **state _unused_)
{
	_cleanup_cmdline_changes_ struct cmdline_changes changes = {};
	_cleanup_free_ char *file = NULL, *open = NULL, *init = NULL, *list = NULL;
	char *none = NULL;
	size_t size;
	int r;

	file = edited("a\r\nb cgroup_enable=memory\n", CMDLINE_FILE, MEMCG_OFF, 0, &r);
	assert_string_equal(file, "a cgroup_disable=memory\r\nb cgroup_enable=memory\n");
	/* a word added behind an open quote would be part of it */
	none = edited("a b=\"c", CMDLINE_LINE, MEMCG_OFF, 0, &r);
	assert_int_equal(r, -EINVAL);
	assert_null(none);
	open = edited("cgroup_disable=\"cpu,memory", CMDLINE_LINE, MEMCG_ON, 0, &r);
	assert_string_equal(open, "cgroup_disable=\"cpu");
	init = edited("a -- \"b", CMDLINE_LINE, MEMCG_OFF, 0, &r);
	assert_string_equal(init, "a cgroup_disable=memory -- \"b");
	assert_int_equal(
		cmdline_edit("a\0b", 3, CMDLINE_LINE, MEMCG_OFF, 0, &none, &size, NULL),
		-EBADMSG);
	list = NULL;
	r = cmdline_edit("cgroup_enable=memory cgroup_enable=cpu,memory", 45, CMDLINE_LINE,
			 MEMCG_OFF, 0, &list, &size, &changes);
	assert_int_equal(r, 1);
	assert_int_equal(changes.n, 3);
	assert_string_equal(changes.items[0].before, "cgroup_enable=memory");
	assert_null(changes.items[0].after);
	assert_string_equal(changes.items[1].after, "cgroup_enable=cpu");
	assert_null(changes.items[2].before);
	assert_string_equal(changes.items[2].after, "cgroup_disable=memory");
	free(list);
	list = edited("a cgroup_enable=memory", CMDLINE_LINE, MEMCG_OFF, CMDLINE_NO_DISABLE,
		      &r);
	assert_string_equal(list, "a");
}

/* --- properties on random lines --- */

static const char *const pieces[] = {
	"cgroup_disable=",
	"cgroup_enable=",
	"cgroup-disable=",
	"memory",
	",",
	"cpu",
	"pressure",
	"\"",
	" ",
	"  ",
	"\t",
	"--",
	" -- ",
	"a",
	"=",
	"quiet ",
	"\n",
	"\r\n",
	"memory ",
	"Memory",
	" cgroup_disable=memory ",
	"\xa0",
	"x=y ",
	" \"cgroup_disable=memory\" ",
	" cgroup_enable=memory ",
};

/* Every byte but blanks of words that are not about memory, in order. */
static char *other_words(const char *text, size_t size)
{
	_cleanup_cmdline_ struct cmdline cmdline = {};
	struct strbuf buf = {};
	char *ret;

	assert_int_equal(cmdline_parse(text, size, CMDLINE_LINE, &cmdline), 0);
	for (size_t i = 0; i < cmdline.n; i++) {
		const struct cmdline_word *w = &cmdline.words[i];

		if (!w->for_init && (cmdline_name_is(&cmdline, i, "cgroup_disable") ||
				     cmdline_name_is(&cmdline, i, "cgroup_enable")))
			continue;
		strbuf_add(&buf, text + w->offset, w->size);
		strbuf_addc(&buf, '|');
	}
	assert_int_equal(strbuf_take(&buf, &ret, NULL), 0);
	return ret;
}

static void check_random(const char *text, size_t size, enum memcg_state want, unsigned flags)
{
	_cleanup_free_ char *once = NULL, *twice = NULL, *before = NULL, *after = NULL;
	_cleanup_cmdline_ struct cmdline cmdline = {};
	size_t once_size, twice_size;
	enum memcg_state got;
	int r;

	r = cmdline_edit(text, size, CMDLINE_LINE, want, flags, &once, &once_size, NULL);
	if (r == -EINVAL)
		return;
	assert_true(r == 0 || r == 1);
	if (r == 0)
		assert_true(size == once_size && memcmp(text, once, size) == 0);
	/* twice = once */
	r = cmdline_edit(once, once_size, CMDLINE_LINE, want, flags, &twice, &twice_size, NULL);
	assert_int_equal(r, 0);
	/* every kernel whose default the flags take into account does as wanted */
	assert_int_equal(cmdline_parse(once, once_size, CMDLINE_LINE, &cmdline), 0);
	for (unsigned rule = CMDLINE_MAINLINE; rule <= CMDLINE_ENABLE_WINS; rule <<= 1) {
		if (want == MEMCG_ON && rule != CMDLINE_MAINLINE &&
		    !(flags & CMDLINE_WRITE_ENABLE))
			continue;
		got = cmdline_predict(&cmdline, rule,
				      want == MEMCG_ON && rule == CMDLINE_MAINLINE ? MEMCG_ON
				      : want == MEMCG_ON			   ? MEMCG_OFF
										   : MEMCG_ON,
				      ANSWER_YES);
		assert_int_equal(got, want);
	}
	/* the other words keep their bytes and their order */
	before = other_words(text, size);
	after = other_words(once, once_size);
	assert_string_equal(before, after);
}

static void test_edit_random(void **state _unused_)
{
	const char *env = getenv("MEMCG_POLICY_SEED");
	unsigned seed = env ? (unsigned)strtoul(env, NULL, 10) : 20261;

	print_message("MEMCG_POLICY_SEED=%u\n", seed);
	srandom(seed);
	for (int round = 0; round < 20000; round++) {
		_cleanup_strbuf_ struct strbuf buf = {};
		size_t n = (size_t)random() % 14;

		strbuf_adds(&buf, "");
		for (size_t i = 0; i < n; i++)
			strbuf_adds(&buf, pieces[(size_t)random() % ARRAY_SIZE(pieces)]);
		check_random(buf.data, buf.len, MEMCG_ON, 0);
		check_random(buf.data, buf.len, MEMCG_ON, CMDLINE_WRITE_ENABLE);
		check_random(buf.data, buf.len, MEMCG_OFF, 0);
	}
}

/* A line without our words is the same bytes again once ours is taken out. */
static void test_edit_round_trip(void **state _unused_)
{
	static const char *const lines[] = { "",	 " ",	  "\n",	      " \n",
					     "a",	 "a ",	  " a  b\n",  "a\r\n",
					     "-- x",	 " -- x", "a -- x\n", "a=\"b c\"",
					     "\t a\tb\t" };

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		_cleanup_free_ char *off = NULL, *on = NULL;
		int r;

		off = edited(lines[i], CMDLINE_LINE, MEMCG_OFF, 0, &r);
		assert_int_equal(r, 1);
		on = edited(off, CMDLINE_LINE, MEMCG_ON, 0, &r);
		assert_string_equal(on, lines[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_split),		cmocka_unit_test(test_request),
		cmocka_unit_test(test_predict_unknown), cmocka_unit_test(test_hints),
		cmocka_unit_test(test_recorded),	cmocka_unit_test(test_edit),
		cmocka_unit_test(test_edit_limits),	cmocka_unit_test(test_edit_random),
		cmocka_unit_test(test_edit_round_trip),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
