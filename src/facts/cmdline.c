/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "facts/cmdline.h"

#include "base/str.h"

/* --- splitting --- */

/* lib/ctype.c of the kernel: 0xa0 is a blank there, in whatever encoding it stands. */
static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r') || (unsigned char)c == 0xa0;
}

static char plain_dash(char c)
{
	return c == '-' ? '_' : c;
}

/* next_arg() of the kernel, for the word at offset. */
static void read_word(const char *text, size_t size, size_t offset, struct cmdline_word *ret)
{
	size_t start = offset, equals = 0, i;
	bool in_quote = false, quoted = false, closed = false;

	if (text[start] == '"') {
		start++;
		in_quote = quoted = true;
	}
	for (i = start; i < size; i++) {
		if (is_space(text[i]) && !in_quote)
			break;
		/* an '=' at the start of a word is part of the name */
		if (equals == 0 && text[i] == '=' && i > start)
			equals = i;
		if (text[i] == '"')
			in_quote = !in_quote;
	}
	*ret = (struct cmdline_word){
		.offset = offset,
		.size = i - offset,
		.name_offset = start,
		.open = in_quote,
	};
	if (equals > 0) {
		size_t value = equals + 1, end = i;

		if (value < i && text[value] == '"') {
			value++;
			closed = text[i - 1] == '"';
		}
		if (closed || (quoted && text[i - 1] == '"'))
			end--;
		ret->has_value = true;
		ret->name_size = equals - start;
		ret->value_offset = value;
		ret->value_size = end > value ? end - value : 0;
	} else {
		closed = quoted && i > start && text[i - 1] == '"';
		ret->name_size = i - start - (closed ? 1 : 0);
	}
}

static int add_word(struct cmdline *cmdline, const struct cmdline_word *word)
{
	if (!GROW(cmdline->words, cmdline->n, cmdline->alloc))
		return -ENOMEM;
	cmdline->words[cmdline->n++] = *word;
	return 0;
}

static int split(struct cmdline *cmdline)
{
	const char *text = cmdline->text;
	bool for_init = false;

	for (size_t i = 0; i < cmdline->size;) {
		struct cmdline_word word;
		int r;

		if (is_space(text[i])) {
			i++;
			continue;
		}
		read_word(text, cmdline->size, i, &word);
		if (!word.has_value && word.name_size == 2 &&
		    memcmp(text + word.name_offset, "--", 2) == 0)
			for_init = true;
		word.for_init = for_init;
		r = add_word(cmdline, &word);
		if (r < 0)
			return r;
		i += word.size;
	}
	return 0;
}

static int note_line(struct cmdline *cmdline, unsigned line)
{
	if (!GROW(cmdline->more_lines, cmdline->n_more_lines, cmdline->more_lines_alloc))
		return -ENOMEM;
	cmdline->more_lines[cmdline->n_more_lines++] = line;
	return 0;
}

/* Notes every line behind the first that is not blank. */
static int note_more_lines(struct cmdline *cmdline, const char *rest, size_t size)
{
	unsigned line = 2;
	bool noted = false;

	for (size_t i = 0; i < size; i++) {
		if (rest[i] == '\n') {
			line++;
			noted = false;
		} else if (!is_space(rest[i]) && !noted) {
			int r = note_line(cmdline, line);

			if (r < 0)
				return r;
			noted = true;
		}
	}
	return 0;
}

int cmdline_parse(const char *text, size_t size, enum cmdline_form form, struct cmdline *ret)
{
	_cleanup_cmdline_ struct cmdline cmdline = { .text = text };
	const char *eol;
	int r;

	size = strnlen(text, size);
	eol = form == CMDLINE_FILE ? memchr(text, '\n', size) : NULL;
	cmdline.size = size;
	if (eol) {
		size_t used = (size_t)(eol - text) + 1;

		cmdline.size = used;
		r = note_more_lines(&cmdline, text + used, size - used);
		if (r < 0)
			return r;
	}
	/* the line's end is no part of an open quote */
	if (cmdline.size > 0 && text[cmdline.size - 1] == '\n')
		cmdline.size--;
	if (cmdline.size > 0 && text[cmdline.size - 1] == '\r')
		cmdline.size--;
	r = split(&cmdline);
	if (r < 0)
		return r;
	*ret = cmdline;
	cmdline = (struct cmdline){};
	return 0;
}

void cmdline_done(struct cmdline *cmdline)
{
	free(cmdline->words);
	free(cmdline->more_lines);
	*cmdline = (struct cmdline){};
}

bool cmdline_name_is(const struct cmdline *cmdline, size_t word, const char *name)
{
	const struct cmdline_word *w = &cmdline->words[word];
	const char *text = cmdline->text + w->name_offset;

	if (strlen(name) != w->name_size)
		return false;
	for (size_t i = 0; i < w->name_size; i++)
		if (plain_dash(text[i]) != plain_dash(name[i]))
			return false;
	return true;
}

ssize_t cmdline_find(const struct cmdline *cmdline, const char *name)
{
	for (size_t i = cmdline->n; i > 0; i--)
		if (!cmdline->words[i - 1].for_init && cmdline_name_is(cmdline, i - 1, name))
			return (ssize_t)(i - 1);
	return -ENOENT;
}

/* --- what the line asks for --- */

static bool list_has(const char *list, size_t size, const char *member, bool any_case)
{
	size_t n = strlen(member);

	for (size_t i = 0; i <= size;) {
		const char *comma = i < size ? memchr(list + i, ',', size - i) : NULL;
		size_t end = comma ? (size_t)(comma - list) : size;

		if (end - i == n && (any_case ? strncasecmp(list + i, member, n)
					      : memcmp(list + i, member, n)) == 0)
			return true;
		i = end + 1;
	}
	return false;
}

static bool names_memory(const struct cmdline *cmdline, size_t word)
{
	const struct cmdline_word *w = &cmdline->words[word];

	return w->has_value &&
	       list_has(cmdline->text + w->value_offset, w->value_size, "memory", false);
}

const char *cmdline_request_to_string(enum cmdline_request request)
{
	static const char *const names[_CMDLINE_REQUEST_MAX] = {
		[CMDLINE_NONE] = "none",
		[CMDLINE_ON] = "on",
		[CMDLINE_OFF] = "off",
	};

	return names[request];
}

enum cmdline_request cmdline_word_request(const struct cmdline *cmdline, size_t word)
{
	if (!names_memory(cmdline, word))
		return CMDLINE_NONE;
	if (cmdline_name_is(cmdline, word, "cgroup_disable"))
		return CMDLINE_OFF;
	if (cmdline_name_is(cmdline, word, "cgroup_enable"))
		return CMDLINE_ON;
	return CMDLINE_NONE;
}

ssize_t cmdline_find_request(const struct cmdline *cmdline, enum cmdline_request request)
{
	for (size_t i = cmdline->n; i > 0; i--)
		if (!cmdline->words[i - 1].for_init &&
		    cmdline_word_request(cmdline, i - 1) == request)
			return (ssize_t)(i - 1);
	return -ENOENT;
}

enum cmdline_request cmdline_request(const struct cmdline *cmdline, ssize_t *ret_word)
{
	ssize_t on = cmdline_find_request(cmdline, CMDLINE_ON);
	ssize_t off = cmdline_find_request(cmdline, CMDLINE_OFF);

	if (ret_word)
		*ret_word = MAX(on, off);
	return on < 0 && off < 0 ? CMDLINE_NONE : on > off ? CMDLINE_ON : CMDLINE_OFF;
}

enum cmdline_hint cmdline_hint(const struct cmdline *cmdline, size_t word)
{
	const struct cmdline_word *w = &cmdline->words[word];
	const char *value = cmdline->text + w->value_offset;

	if (w->for_init)
		return cmdline_word_request(cmdline, word) == CMDLINE_NONE
			       ? CMDLINE_HINT_NONE
			       : CMDLINE_HINT_BEHIND_DASHES;
	if (cmdline_name_is(cmdline, word, "cgroup_enable") ||
	    cmdline_name_is(cmdline, word, "cgroup_disable")) {
		if (!w->has_value)
			return CMDLINE_HINT_NO_VALUE;
		if (!names_memory(cmdline, word) &&
		    list_has(value, w->value_size, "memory", true))
			return CMDLINE_HINT_OTHER_CASE;
		return CMDLINE_HINT_NONE;
	}
	if (!w->has_value)
		return CMDLINE_HINT_NONE;
	if (cmdline_name_is(cmdline, word, "cgroup_memory"))
		return CMDLINE_HINT_CGROUP_MEMORY;
	if (cmdline_name_is(cmdline, word, "swapaccount"))
		return CMDLINE_HINT_SWAPACCOUNT;
	if (cmdline_name_is(cmdline, word, "cgroup.memory"))
		return CMDLINE_HINT_ACCOUNTING;
	if (cmdline_name_is(cmdline, word, "cgroup_no_v1") &&
	    (list_has(value, w->value_size, "memory", false) ||
	     list_has(value, w->value_size, "all", false)))
		return CMDLINE_HINT_NO_V1;
	return CMDLINE_HINT_NONE;
}

bool cmdline_hint_is_vain(enum cmdline_hint hint)
{
	return hint == CMDLINE_HINT_BEHIND_DASHES || hint == CMDLINE_HINT_NO_VALUE ||
	       hint == CMDLINE_HINT_OTHER_CASE;
}

const char *cmdline_hint_text(enum cmdline_hint hint)
{
	static const char *const texts[_CMDLINE_HINT_MAX] = {
		[CMDLINE_HINT_BEHIND_DASHES] = "stands behind \"--\" and is for init only",
		[CMDLINE_HINT_NO_VALUE] = "names no controller and does nothing",
		[CMDLINE_HINT_OTHER_CASE] =
			"does nothing: names of controllers are case-sensitive",
		[CMDLINE_HINT_CGROUP_MEMORY] =
			"is a word of some Raspberry Pi kernels of 2017 to 2018, and nothing "
			"to any other",
		[CMDLINE_HINT_SWAPACCOUNT] =
			"is about accounting of swap, not about the controller",
		[CMDLINE_HINT_NO_V1] =
			"keeps the controller from cgroup v1 mounts and leaves it to v2",
		[CMDLINE_HINT_ACCOUNTING] = "is about what is accounted, not about the "
					    "controller",
	};

	return texts[hint];
}

/* --- what a kernel makes of it --- */

enum memcg_state cmdline_predict(const struct cmdline *cmdline, unsigned rules,
				 enum memcg_state state_default, enum answer built)
{
	enum cmdline_request last = cmdline_request(cmdline, NULL);
	bool enable = cmdline_find_request(cmdline, CMDLINE_ON) >= 0;
	bool disable = cmdline_find_request(cmdline, CMDLINE_OFF) >= 0;
	bool can_be_on = false, can_be_off = false;

	if (built == ANSWER_NO)
		return MEMCG_UNAVAILABLE;
	/* what each rule that may hold says; "none" is the default's turn */
	for (unsigned rule = CMDLINE_MAINLINE; rule <= CMDLINE_ENABLE_WINS; rule <<= 1) {
		enum cmdline_request says = CMDLINE_NONE;

		if (!(rules & rule))
			continue;
		if (rule == CMDLINE_MAINLINE)
			says = disable ? CMDLINE_OFF : CMDLINE_NONE;
		else if (rule == CMDLINE_LAST_WINS)
			says = last;
		else
			says = enable ? CMDLINE_ON : last;
		can_be_on |= says == CMDLINE_ON ||
			     (says == CMDLINE_NONE && state_default != MEMCG_OFF);
		can_be_off |= says == CMDLINE_OFF ||
			      (says == CMDLINE_NONE && state_default != MEMCG_ON);
	}
	if (!can_be_on)
		return MEMCG_OFF;
	return can_be_off || built != ANSWER_YES ? MEMCG_UNKNOWN : MEMCG_ON;
}
