/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "units/unit-setting.h"

#include "base/str.h"

#include <limits.h>

#define T(type) (1U << (type))

/* types with a cgroup of their own */
#define CGROUP                                                                             \
	(T(UNIT_SERVICE) | T(UNIT_SOCKET) | T(UNIT_MOUNT) | T(UNIT_SWAP) | T(UNIT_SLICE) | \
	 T(UNIT_SCOPE))
#define OOMD (T(UNIT_SERVICE) | T(UNIT_SLICE) | T(UNIT_SCOPE))
#define ANY  (T(_UNIT_TYPE_MAX) - 1)

/* kind, form, since, ignored since, types, may be zero, file (load-fragment-gperf.gperf.in) */
const struct unit_setting unit_settings[] = {
	{ "MemoryMax", UNIT_LIMIT, UNIT_VALUE_SIZE, 231, 0, CGROUP, false, "memory.max" },
	{ "MemoryHigh", UNIT_LIMIT, UNIT_VALUE_SIZE, 231, 0, CGROUP, false, "memory.high" },
	{ "MemorySwapMax", UNIT_LIMIT, UNIT_VALUE_SIZE, 232, 0, CGROUP, true,
	  "memory.swap.max" },
	{ "MemoryZSwapMax", UNIT_LIMIT, UNIT_VALUE_SIZE, 253, 0, CGROUP, true,
	  "memory.zswap.max" },
	{ "MemoryZSwapWriteback", UNIT_LIMIT, UNIT_VALUE_BOOL, 256, 0, CGROUP, false,
	  "memory.zswap.writeback" },
	{ "MemoryLimit", UNIT_LIMIT, UNIT_VALUE_SIZE, 205, 258, CGROUP, false, "memory.max" },
	{ "StartupMemoryMax", UNIT_LIMIT, UNIT_VALUE_SIZE, 254, 0, CGROUP, false, NULL },
	{ "StartupMemoryHigh", UNIT_LIMIT, UNIT_VALUE_SIZE, 254, 0, CGROUP, false, NULL },
	{ "StartupMemorySwapMax", UNIT_LIMIT, UNIT_VALUE_SIZE, 254, 0, CGROUP, true, NULL },
	{ "StartupMemoryZSwapMax", UNIT_LIMIT, UNIT_VALUE_SIZE, 254, 0, CGROUP, true, NULL },
	{ "MemoryMin", UNIT_PROTECTION, UNIT_VALUE_SIZE, 240, 0, CGROUP, true, "memory.min" },
	{ "MemoryLow", UNIT_PROTECTION, UNIT_VALUE_SIZE, 231, 0, CGROUP, true, "memory.low" },
	{ "DefaultMemoryMin", UNIT_PROTECTION, UNIT_VALUE_SIZE, 243, 260, CGROUP, true, NULL },
	{ "DefaultMemoryLow", UNIT_PROTECTION, UNIT_VALUE_SIZE, 243, 260, CGROUP, true, NULL },
	{ "StartupMemoryLow", UNIT_PROTECTION, UNIT_VALUE_SIZE, 254, 0, CGROUP, true, NULL },
	{ "DefaultStartupMemoryLow", UNIT_PROTECTION, UNIT_VALUE_SIZE, 254, 260, CGROUP, true,
	  NULL },
	{ "ManagedOOMSwap", UNIT_OOMD, UNIT_VALUE_OOM_MODE, 247, 0, OOMD, false, NULL },
	{ "ManagedOOMMemoryPressure", UNIT_OOMD, UNIT_VALUE_OOM_MODE, 247, 0, OOMD, false,
	  NULL },
	{ "ManagedOOMMemoryPressureLimit", UNIT_OOMD, UNIT_VALUE_OOM_SHARE, 248, 0, OOMD, false,
	  NULL },
	{ "ManagedOOMMemoryPressureDurationSec", UNIT_OOMD, UNIT_VALUE_OOM_SPAN, 257, 0, OOMD,
	  false, NULL },
	{ "ManagedOOMPreference", UNIT_OOMD, UNIT_VALUE_PREFERENCE, 248, 0, CGROUP, false,
	  NULL },
	{ "OOMRules", UNIT_OOMD, UNIT_VALUE_OOM_RULES, 261, 0, OOMD, false, NULL },
	{ "OOMPolicy", UNIT_OOMD, UNIT_VALUE_OOM_POLICY, 243, 0,
	  T(UNIT_SERVICE) | T(UNIT_SCOPE), false, NULL },
	{ "MemoryAccounting", UNIT_ACCOUNTING, UNIT_VALUE_BOOL, 205, 0, CGROUP, false, NULL },
	{ "Delegate", UNIT_DELEGATION, UNIT_VALUE_DELEGATE, 218, 0,
	  T(UNIT_SERVICE) | T(UNIT_SCOPE), false, NULL },
	{ "DisableControllers", UNIT_DELEGATION, UNIT_VALUE_CONTROLLERS, 240, 0, CGROUP, false,
	  NULL },
	{ "ConditionControlGroupController", UNIT_ACCOUNTING, UNIT_VALUE_CONDITION, 237, 0, ANY,
	  false, NULL },
	{ "AssertControlGroupController", UNIT_ACCOUNTING, UNIT_VALUE_CONDITION, 237, 0, ANY,
	  false, NULL },
};
const size_t unit_n_settings = ARRAY_SIZE(unit_settings);

const char *unit_setting_kind_to_string(enum unit_setting_kind kind)
{
	static const char *const names[_UNIT_SETTING_KIND_MAX] = {
		[UNIT_LIMIT] = "limit",
		[UNIT_PROTECTION] = "protection",
		[UNIT_OOMD] = "oomd",
		[UNIT_ACCOUNTING] = "accounting",
		[UNIT_DELEGATION] = "delegation",
	};

	return names[kind];
}

const struct unit_setting *unit_setting_find(const char *name)
{
	/* nearly every key of a unit file ends here */
	if (*name == '\0' || !strchr("MSDOAC", *name))
		return NULL;
	for (size_t i = 0; i < unit_n_settings; i++)
		if (streq(name, unit_settings[i].name))
			return &unit_settings[i];
	return NULL;
}

unsigned unit_setting_since(const struct unit_setting *setting, enum unit_type type)
{
	/* scopes got it later than services */
	if (setting->form == UNIT_VALUE_OOM_POLICY && type == UNIT_SCOPE)
		return 253;
	return setting->since;
}

/* A reset or a value that asks for nothing is no finding. */
static int parse_size(const struct unit_setting *setting, const char *value, unsigned version,
		      struct unit_parsed *ret)
{
	int r = unit_value_size(value, setting->zero_allowed, version, &ret->size);

	if (r < 0)
		return r;
	if (setting->kind == UNIT_PROTECTION)
		ret->active = ret->size.kind == UNIT_SIZE_INFINITY || ret->size.bytes > 0 ||
			      ret->size.share > 0;
	else
		ret->active =
			ret->size.kind == UNIT_SIZE_BYTES || ret->size.kind == UNIT_SIZE_SHARE;
	return 0;
}

/* The first word is what the setting does by default. */
static int parse_word(const char *const *words, size_t n, const char *value,
		      struct unit_parsed *ret)
{
	for (size_t i = 0; i < n; i++)
		if (streq(value, words[i])) {
			ret->active = i > 0;
			return 0;
		}
	return -EINVAL;
}

static int parse_oom_span(const char *value, struct unit_parsed *ret)
{
	uint64_t usec;
	int r;

	if (!*value)
		return 0;
	r = unit_value_span(value, &usec);
	if (r < 0)
		return r;
	if (usec < 1000000 || usec == UINT64_MAX)
		return -ERANGE;
	ret->active = true;
	return 0;
}

static int parse_oom_share(const char *value, unsigned version, struct unit_parsed *ret)
{
	int r = 0;

	if (*value)
		r = unit_value_share(value, version, &ret->size.share);
	if (r < 0)
		return r;
	ret->size.kind = UNIT_SIZE_SHARE;
	ret->active = ret->size.share > 0;
	return 0;
}

/* A name of oomd's rules, in /etc/systemd/oomd/rules.d: a file's name without odd bytes. */
static bool is_rule_name(const char *word)
{
	size_t size = strlen(word);

	if (size == 0 || size > NAME_MAX || streq(word, ".") || streq(word, ".."))
		return false;
	for (const char *p = word; *p; p++)
		if ((unsigned char)*p < ' ' || strchr("/*?[\"'\\\x7f", *p))
			return false;
	return true;
}

/* Words that are no names are passed over; an open quote loses the whole line. */
static int parse_oom_rules(const char *value, const struct unit_parsed *before,
			   struct unit_parsed *ret)
{
	bool any = false;

	if (!*value)
		return 0;
	for (;;) {
		_cleanup_free_ char *word = NULL;
		int r = unit_value_word(&value, UNIT_WORD_UNQUOTE | UNIT_WORD_KEEP_BACKSLASH,
					&word);

		if (r < 0)
			return r;
		if (r == 0)
			break;
		any |= is_rule_name(word);
	}
	ret->active = before->active || any;
	return any ? 0 : -EINVAL;
}

static bool is_controller(const char *word)
{
	static const char *const names[] = {
		"cpu",
		"cpuacct",
		"cpuset",
		"io",
		"blkio",
		"memory",
		"devices",
		"pids",
		"bpf-firewall",
		"bpf-devices",
		"bpf-foreign",
		"bpf-socket-bind",
		"bpf-restrict-network-interfaces",
		"bpf-bind-network-interface",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (streq(word, names[i]))
			return true;
	return false;
}

/* Looks for memory in a list of controllers. *ret_any: it names any controller at all. */
static int has_memory(const char *value, enum unit_word_flags flags, bool *ret, bool *ret_any)
{
	*ret = *ret_any = false;
	for (;;) {
		_cleanup_free_ char *word = NULL;
		int r = unit_value_word(&value, flags, &word);

		if (r <= 0)
			return r;
		*ret |= streq(word, "memory");
		*ret_any |= is_controller(word);
	}
}

static int parse_delegate(const char *value, const struct unit_parsed *before,
			  struct unit_parsed *ret)
{
	bool yes, memory, any;
	int r;

	/* nothing: delegation without controllers */
	if (!*value)
		return 0;
	if (str_parse_bool(value, &yes) == 0) {
		ret->active = yes;
		return 0;
	}
	r = has_memory(value, UNIT_WORD_UNQUOTE, &memory, &any);
	ret->active = before->active || memory;
	return r;
}

static int parse_controllers(const char *value, const struct unit_parsed *before,
			     struct unit_parsed *ret)
{
	bool memory, any;
	int r;

	if (!*value)
		return 0;
	r = has_memory(value, 0, &memory, &any);
	if (r < 0)
		return r;
	if (!any)
		return -EINVAL;
	ret->active = before->active || memory;
	return 0;
}

/* A condition that wants the controller absent holds without it. */
static int parse_condition(const char *value, const struct unit_parsed *before,
			   struct unit_parsed *ret)
{
	bool memory = false, any;
	int r;

	if (!*value)
		return 0;
	if (*value == '|')
		value += 1 + strspn(value + 1, " \t");
	if (*value != '!') {
		r = has_memory(value, 0, &memory, &any);
		if (r == -ENOMEM)
			return r;
		memory = r >= 0 && memory;
	}
	ret->active = before->active || memory;
	return 0;
}

int unit_setting_parse(const struct unit_setting *setting, enum unit_type type,
		       const char *value, unsigned version, const struct unit_parsed *before,
		       struct unit_parsed *ret)
{
	static const char *const modes[] = { "auto", "kill" };
	static const char *const preferences[] = { "none", "avoid", "omit" };
	/* "": there is no default word, all three are explicit */
	static const char *const policies[] = { "", "continue", "stop", "kill" };
	struct unit_parsed parsed = {};
	bool yes;
	int r;

	if (!(setting->types & T(type)))
		return -EOPNOTSUPP;
	switch (setting->form) {
	case UNIT_VALUE_SIZE:
		r = parse_size(setting, value, version, &parsed);
		break;
	case UNIT_VALUE_BOOL:
		r = str_parse_bool(value, &yes);
		/* accounting is on and zswap is written back unless somebody says otherwise */
		parsed.active = r >= 0 && yes == (setting->kind == UNIT_ACCOUNTING);
		break;
	case UNIT_VALUE_OOM_MODE:
		r = *value ? parse_word(modes, ARRAY_SIZE(modes), value, &parsed) : 0;
		break;
	case UNIT_VALUE_OOM_SHARE:
		r = parse_oom_share(value, version, &parsed);
		break;
	case UNIT_VALUE_OOM_SPAN:
		r = parse_oom_span(value, &parsed);
		break;
	case UNIT_VALUE_PREFERENCE:
		r = parse_word(preferences, ARRAY_SIZE(preferences), value, &parsed);
		break;
	case UNIT_VALUE_OOM_POLICY:
		r = *value ? parse_word(policies, ARRAY_SIZE(policies), value, &parsed)
			   : -EINVAL;
		break;
	case UNIT_VALUE_OOM_RULES:
		r = parse_oom_rules(value, before, &parsed);
		break;
	case UNIT_VALUE_DELEGATE:
		r = parse_delegate(value, before, &parsed);
		break;
	case UNIT_VALUE_CONTROLLERS:
		r = parse_controllers(value, before, &parsed);
		break;
	case UNIT_VALUE_CONDITION:
	default:
		r = parse_condition(value, before, &parsed);
		break;
	}
	if (r >= 0)
		*ret = parsed;
	return r;
}

/* Whether the line begins with a key that matters, and an '=' or a continuation behind it. */
static bool assigns_setting(const char *line, const char *end)
{
	const char *rest;
	size_t n = 0;

	while (line + n < end &&
	       ((line[n] >= 'a' && line[n] <= 'z') || (line[n] >= 'A' && line[n] <= 'Z')))
		n++;
	rest = line + n;
	while (rest < end && (*rest == ' ' || *rest == '\t'))
		rest++;
	if (rest < end && *rest != '=' && *rest != '\\')
		return false;
	if (n == strlen("Slice") && memcmp(line, "Slice", n) == 0)
		return true;
	for (size_t i = 0; i < unit_n_settings; i++)
		if (strncmp(unit_settings[i].name, line, n) == 0 &&
		    unit_settings[i].name[n] == '\0')
			return true;
	return false;
}

/* By how the keys begin, in as many letters as keep others out: nearly every line ends here. */
static bool may_begin(const char *line, size_t size)
{
	static const struct {
		char text[12];
		size_t size;
	} beginnings[] = {
		{ "Memory", 6 },      { "Managed", 7 },	 { "Startup", 7 },  { "Slice", 5 },
		{ "DefaultM", 8 },    { "DefaultS", 8 }, { "Delegate", 8 }, { "DisableC", 8 },
		{ "ConditionC", 10 }, { "AssertC", 7 },	 { "OOMP", 4 },	    { "OOMR", 4 },
	};

	switch (*line) {
	case 'M':
	case 'S':
	case 'D':
	case 'C':
	case 'A':
	case 'O':
		break;
	default:
		return (unsigned char)*line == 0xef; /* a byte order mark */
	}
	for (size_t i = 0; i < ARRAY_SIZE(beginnings); i++)
		if (*line == *beginnings[i].text && size >= beginnings[i].size &&
		    memcmp(line, beginnings[i].text, beginnings[i].size) == 0)
			return true;
	return false;
}

bool unit_setting_may_occur(const char *text, size_t size)
{
	size_t n;

	/* odd line ends are for the parser */
	if (memchr(text, '\r', size) || memchr(text, '\0', size))
		return true;
	for (size_t pos = 0; pos < size; pos += n + 1) {
		const char *line, *eol;

		while (pos < size && (text[pos] == ' ' || text[pos] == '\t'))
			pos++;
		line = text + pos;
		eol = memchr(line, '\n', size - pos);
		n = eol ? (size_t)(eol - line) : size - pos;
		if (n > 0 && may_begin(line, n) &&
		    ((unsigned char)*line == 0xef || assigns_setting(line, line + n)))
			return true;
	}
	return false;
}
