/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tree.h"

#include "base/str.h"
#include "units/unit-setting.h"
#include "units/unit-value.h"

enum { NO = -1, OUT = -2 };

static void test_sizes(void **state _unused_)
{
	static const struct {
		const char *text;
		int error; /* 0, NO: -EINVAL, OUT: -ERANGE */
		uint64_t bytes;
	} cases[] = {
		{ "1G", 0, UINT64_C(1) << 30 },
		{ "1 G", 0, UINT64_C(1) << 30 },
		{ "1.5G", 0, 1610612736 },
		{ "10.M", 0, 10485760 },
		{ "5 B", 0, 5 },
		{ "07", 0, 7 },
		{ "+5M", 0, 5242880 },
		{ "1G 512M", 0, 1610612736 },
		{ "1G512M", 0, 1610612736 },
		{ "1K1B", 0, 1025 },
		{ "1B1", 0, 2 },
		{ "1T", 0, UINT64_C(1) << 40 },
		{ "1P", 0, UINT64_C(1) << 50 },
		{ "15.5E", OUT, 0 },
		{ "18446744073709551614", 0, UINT64_MAX - 1 },
		{ "0.3K", 0, 307 },
		{ "\v5", 0, 5 },
		{ "16E", OUT, 0 },
		{ "18446744073709551615", OUT, 0 },
		{ "18446744073709551616", OUT, 0 },
		{ "0", OUT, 0 },
		{ "0%", OUT, 0 },
		{ "-0%", OUT, 0 },
		{ "-1", OUT, 0 },
		{ "512M1G", NO, 0 },
		{ "1 2", NO, 0 },
		{ ".5G", NO, 0 },
		{ "100k", NO, 0 },
		{ "512MB", NO, 0 },
		{ "512MiB", NO, 0 },
		{ "1e3", NO, 0 },
		{ "0x10", NO, 0 },
		{ "\"1G\"", NO, 0 },
		{ "1G # c", NO, 0 },
		{ "max", NO, 0 },
		{ "Infinity", NO, 0 },
		{ "%H", NO, 0 },
		{ "1G,", NO, 0 },
		{ "101%", NO, 0 },
		{ "50 %", NO, 0 },
		{ "12.555%", NO, 0 },
	};
	static const int errors[] = { 0, -EINVAL, -ERANGE };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct unit_size size = {};
		int r = unit_value_size(cases[i].text, false, 252, &size);

		if (r != errors[-cases[i].error])
			fail_msg("%s: %d", cases[i].text, r);
		if (r == 0 && (size.kind != UNIT_SIZE_BYTES || size.bytes != cases[i].bytes))
			fail_msg("%s: %llu", cases[i].text, (unsigned long long)size.bytes);
	}
}

static void test_special_sizes(void **state _unused_)
{
	struct unit_size size;

	assert_int_equal(unit_value_size("", false, 252, &size), 0);
	assert_int_equal(size.kind, UNIT_SIZE_RESET);
	assert_int_equal(unit_value_size("infinity", false, 252, &size), 0);
	assert_int_equal(size.kind, UNIT_SIZE_INFINITY);
	assert_int_equal(unit_value_size("0", true, 252, &size), 0);
	assert_int_equal(size.kind, UNIT_SIZE_BYTES);
	assert_int_equal(size.bytes, 0);
	assert_int_equal(unit_value_size("0%", true, 252, &size), 0);
	assert_int_equal(size.kind, UNIT_SIZE_SHARE);
}

static void test_shares(void **state _unused_)
{
	static const struct {
		const char *text;
		unsigned version;
		int share; /* negative: not taken */
	} cases[] = {
		{ "50%", 0, 5000 },
		{ "12.5%", 0, 1250 },
		{ "12.55%", 0, 1255 },
		{ "100%", 0, 10000 },
		{ "500\xe2\x80\xb0", 0, 5000 },
		{ "12.5\xe2\x80\xb0", 0, 125 },
		{ "5000\xe2\x80\xb1", 0, 5000 },
		{ "0x32%", 0, 5000 },
		{ "010%", 0, 800 },
		{ "0b11%", 0, 300 },
		{ "0o17%", 0, 1500 },
		{ "+5%", 0, 500 },
		{ "-0%", 0, 0 },
		{ "100.01%", 0, -1 },
		{ "101%", 0, -1 },
		{ "-1%", 0, -1 },
		{ "12.%", 0, -1 },
		{ ".5%", 0, -1 },
		{ "50 %", 0, -1 },
		{ "50", 0, -1 },
		{ "%", 0, -1 },
		{ "1.5\xe2\x80\xb1", 0, -1 },
		{ "+0b11%", 0, -1 },
		/* permille since v240, permyriad and two decimals since v248 */
		{ "12.55%", 247, -1 },
		{ "12.5%", 247, 1250 },
		{ "5000\xe2\x80\xb1", 247, -1 },
		{ "12.5\xe2\x80\xb0", 247, -1 },
		{ "500\xe2\x80\xb0", 247, 5000 },
		{ "500\xe2\x80\xb0", 239, -1 },
		{ "12.5%", 239, -1 },
		{ "50%", 239, 5000 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		unsigned share = 0;
		int r = unit_value_share(cases[i].text, cases[i].version, &share);

		if ((r < 0) != (cases[i].share < 0) ||
		    (r >= 0 && share != (unsigned)cases[i].share))
			fail_msg("%s in v%u: %d, %u", cases[i].text, cases[i].version, r,
				 share);
	}
}

static void test_spans(void **state _unused_)
{
	static const struct {
		const char *text;
		uint64_t usec; /* 0: not taken */
	} cases[] = {
		{ "1", 1000000 },
		{ "30s", 30000000 },
		{ "1min 30s", 90000000 },
		{ "1min30s", 90000000 },
		{ "1.5s", 1500000 },
		{ "500ms", 500000 },
		{ "2 h", UINT64_C(7200000000) },
		{ "12.34 .56", 12900000 },
		{ "infinity", UINT64_MAX },
		{ "5m", 300000000 },
		{ "12.34.56", 0 },
		{ "3.", 0 },
		{ "-1", 0 },
		{ "", 0 },
		{ "x", 0 },
		{ "5 parsec", 0 },
		{ "99999999999999y", 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t usec = 0;
		int r = unit_value_span(cases[i].text, &usec);

		if ((r < 0) != (cases[i].usec == 0) || (r >= 0 && usec != cases[i].usec))
			fail_msg("%s: %d, %llu", cases[i].text, r, (unsigned long long)usec);
	}
}

static void test_words(void **state _unused_)
{
	const char *s = "  a \"b c\"d 'e' f\\ g";
	static const char *const wanted[] = { "a", "b cd", "e", "f g" };
	static const char *const kept[] = { "a\\", "b\\" };

	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		_cleanup_free_ char *word = NULL;

		assert_int_equal(unit_value_word(&s, UNIT_WORD_UNQUOTE, &word), 1);
		assert_string_equal(word, wanted[i]);
	}
	assert_int_equal(unit_value_word(&s, UNIT_WORD_UNQUOTE, &(char *){ NULL }), 0);
	s = "\"open";
	assert_int_equal(unit_value_word(&s, UNIT_WORD_UNQUOTE, &(char *){ NULL }), -EINVAL);
	s = "trailing\\";
	assert_int_equal(unit_value_word(&s, UNIT_WORD_UNQUOTE, &(char *){ NULL }), -EINVAL);
	s = "\"a\\\" b\\";
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
		_cleanup_free_ char *word = NULL;

		assert_int_equal(unit_value_word(&s,
						 UNIT_WORD_UNQUOTE | UNIT_WORD_KEEP_BACKSLASH,
						 &word),
				 1);
		assert_string_equal(word, kept[i]);
	}
}

/* The names that look alike, and are something else. */
static void test_lookalikes(void **state _unused_)
{
	static const char *const others[] = {
		"MemoryDenyWriteExecute",
		"MemoryKSM",
		"MemoryTHP",
		"AllowedMemoryNodes",
		"StartupAllowedMemoryNodes",
		"MemoryPressureWatch",
		"MemoryPressureThresholdSec",
		"ConditionMemory",
		"AssertMemory",
		"ConditionMemoryPressure",
		"LimitRSS",
		"LimitMEMLOCK",
		"OOMScoreAdjust",
		"TasksMax",
		"CoredumpReceive",
		"SystemMaxUse",
		"memorymax",
		"MemoryMaxx",
		"Memory",
	};

	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (unit_setting_find(others[i]))
			fail_msg("%s", others[i]);
	for (size_t i = 0; i < unit_n_settings; i++) {
		const char *name = unit_settings[i].name;

		assert_ptr_equal(unit_setting_find(name), &unit_settings[i]);
		assert_true(unit_setting_may_occur(name, strlen(name)));
	}
	assert_false(unit_setting_may_occur("[Service]\nExecStart=/bin/true\n", 28));
}

static void test_settings(void **state _unused_)
{
	static const struct {
		const char *name;
		enum unit_type type;
		const char *value;
		bool before;
		int want; /* 1: active, 0: default, or an errno */
	} cases[] = {
		{ "MemoryMax", UNIT_SERVICE, "1G", false, 1 },
		{ "MemoryMax", UNIT_SERVICE, "infinity", true, 0 },
		{ "MemoryMax", UNIT_SERVICE, "", true, 0 },
		{ "MemoryMax", UNIT_SERVICE, "0", true, -ERANGE },
		{ "MemorySwapMax", UNIT_SERVICE, "0", false, 1 },
		{ "MemoryLow", UNIT_SLICE, "infinity", false, 1 },
		{ "MemoryLow", UNIT_SLICE, "0", false, 0 },
		{ "MemoryMin", UNIT_SLICE, "0%", false, 0 },
		{ "MemoryAccounting", UNIT_SERVICE, "yes", false, 1 },
		{ "MemoryAccounting", UNIT_SERVICE, "OFF", false, 0 },
		{ "MemoryAccounting", UNIT_SERVICE, "", false, -EINVAL },
		{ "MemoryZSwapWriteback", UNIT_SERVICE, "no", false, 1 },
		{ "MemoryZSwapWriteback", UNIT_SERVICE, "1", false, 0 },
		{ "ManagedOOMSwap", UNIT_SLICE, "kill", false, 1 },
		{ "ManagedOOMSwap", UNIT_SLICE, "auto", false, 0 },
		{ "ManagedOOMSwap", UNIT_SOCKET, "kill", false, -EOPNOTSUPP },
		{ "ManagedOOMSwap", UNIT_MOUNT, "", false, -EOPNOTSUPP },
		{ "ManagedOOMMemoryPressureLimit", UNIT_SLICE, "60%", false, 1 },
		{ "ManagedOOMMemoryPressureLimit", UNIT_SLICE, "60", false, -EINVAL },
		{ "ManagedOOMMemoryPressureDurationSec", UNIT_SLICE, "20s", false, 1 },
		{ "ManagedOOMMemoryPressureDurationSec", UNIT_SLICE, "500ms", false, -ERANGE },
		{ "ManagedOOMMemoryPressureDurationSec", UNIT_SLICE, "", false, 0 },
		{ "ManagedOOMPreference", UNIT_SERVICE, "omit", false, 1 },
		{ "ManagedOOMPreference", UNIT_SERVICE, "none", false, 0 },
		{ "ManagedOOMPreference", UNIT_SERVICE, "", false, -EINVAL },
		/* as seen with systemd 262 */
		{ "OOMRules", UNIT_SERVICE, "a", false, 1 },
		{ "OOMRules", UNIT_SLICE, "a/b 'c d'", false, 1 },
		{ "OOMRules", UNIT_SERVICE, "", true, 0 },
		{ "OOMRules", UNIT_SERVICE, "a/b", true, -EINVAL },
		{ "OOMRules", UNIT_SERVICE, "..", false, -EINVAL },
		{ "OOMRules", UNIT_SERVICE, "a*", false, -EINVAL },
		{ "OOMRules", UNIT_SERVICE, "[a]", false, -EINVAL },
		{ "OOMRules", UNIT_SERVICE, "a\\x", false, -EINVAL },
		{ "OOMRules", UNIT_SERVICE, "a\\ b", false, 1 },
		{ "OOMRules", UNIT_SERVICE, "\"\"", false, -EINVAL },
		{ "OOMRules", UNIT_SERVICE, "b \"c", false, -EINVAL },
		{ "OOMRules", UNIT_SERVICE, "%i", false, 1 },
		{ "OOMRules", UNIT_SOCKET, "a", false, -EOPNOTSUPP },
		{ "OOMPolicy", UNIT_SERVICE, "stop", false, 1 },
		{ "OOMPolicy", UNIT_SERVICE, "", false, -EINVAL },
		{ "OOMPolicy", UNIT_SLICE, "stop", false, -EOPNOTSUPP },
		{ "Delegate", UNIT_SERVICE, "yes", false, 1 },
		{ "Delegate", UNIT_SERVICE, "pids memory", false, 1 },
		{ "Delegate", UNIT_SERVICE, "pids", true, 1 },
		{ "Delegate", UNIT_SERVICE, "pids", false, 0 },
		{ "Delegate", UNIT_SERVICE, "no", true, 0 },
		{ "Delegate", UNIT_SERVICE, "", true, 0 },
		{ "Delegate", UNIT_SLICE, "yes", false, -EOPNOTSUPP },
		{ "DisableControllers", UNIT_SLICE, "cpu memory", false, 1 },
		{ "DisableControllers", UNIT_SLICE, "cpu", true, 1 },
		{ "DisableControllers", UNIT_SLICE, "", true, 0 },
		{ "DisableControllers", UNIT_SLICE, "nonsense", true, -EINVAL },
		{ "ConditionControlGroupController", UNIT_TIMER, "memory", false, 1 },
		{ "ConditionControlGroupController", UNIT_TIMER, "| memory", false, 1 },
		{ "ConditionControlGroupController", UNIT_TIMER, "!memory", false, 0 },
		{ "ConditionControlGroupController", UNIT_TIMER, "v2", false, 0 },
		{ "ConditionControlGroupController", UNIT_TIMER, "v2", true, 1 },
		{ "ConditionControlGroupController", UNIT_TIMER, "", true, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct unit_parsed before = { .active = cases[i].before };
		struct unit_parsed parsed = {};
		int r = unit_setting_parse(unit_setting_find(cases[i].name), cases[i].type,
					   cases[i].value, 260, &before, &parsed);

		if ((r < 0 ? r : parsed.active) != cases[i].want)
			fail_msg("%s=%s: %d, %d", cases[i].name, cases[i].value, r,
				 parsed.active);
	}
}

static void test_complaints(void **state _unused_)
{
	static const struct {
		const char *text;
		const char *want;
	} cases[] = {
		{ "512MB", "without a B" }, { "512MiB", "without a B" },
		{ "100k", "upper case" },   { "2G # soft", "comment" },
		{ "\"1G\"", "quotes" },	    { "max", "infinity" },
		{ "-5M", "negative" },	    { "16E", "out of range" },
		{ "50 %", "blank" },	    { "150%", "0% to 100%" },
		{ "%H", "specifiers" },	    { "lots", "no size" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct unit_size size;
		int r = unit_value_size(cases[i].text, false, 252, &size);
		const char *got;

		assert_true(r < 0);
		got = unit_value_complaint(cases[i].text, r);
		if (!strstr(got, cases[i].want))
			fail_msg("%s: %s", cases[i].text, got);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),	 cmocka_unit_test(test_special_sizes),
		cmocka_unit_test(test_shares),	 cmocka_unit_test(test_spans),
		cmocka_unit_test(test_words),	 cmocka_unit_test(test_lookalikes),
		cmocka_unit_test(test_settings), cmocka_unit_test(test_complaints),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
