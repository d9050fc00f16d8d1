/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tree.h"

#include "base/str.h"
#include "facts/kconfig.h"

#define HEADER                                              \
	"#\n# Automatically generated file; DO NOT EDIT.\n" \
	"# Linux/x86 6.1.176 Kernel Configuration\n#\n"
#define END "#\n# Library routines\n#\n# Kernel hacking\n"

static struct kconfig parse(const char *text)
{
	struct kconfig config = {};

	assert_int_equal(kconfig_parse(text, strlen(text), &config), 0);
	return config;
}

static void test_built(void **state _unused_)
{
	static const struct {
		const char *text;
		enum answer built;
	} cases[] = {
		{ "CONFIG_MEMCG=y\n", ANSWER_YES },
		{ "CONFIG_MEMCG=y", ANSWER_YES },
		{ "CONFIG_MEMCG=y\r\n", ANSWER_YES },
		{ "CONFIG_CGROUP_MEM_RES_CTLR=y\n", ANSWER_YES },
		{ "CONFIG_CGROUP_MEM_CONT=y\n", ANSWER_YES },
		{ "# CONFIG_MEMCG is not set\n", ANSWER_NO },
		{ "# CONFIG_MEMCG is not set\r\n", ANSWER_NO },
		{ "CONFIG_MEMCG=n\n", ANSWER_NO },
		{ "# CONFIG_CGROUP_MEM_RES_CTLR is not set\n", ANSWER_NO },
		{ "# CONFIG_CGROUPS is not set\n", ANSWER_NO },
		/* the last one counts */
		{ "CONFIG_MEMCG=y\n# CONFIG_MEMCG is not set\n", ANSWER_NO },
		{ "# CONFIG_MEMCG is not set\nCONFIG_MEMCG=y\n", ANSWER_YES },
		/* not the symbol, not a setting */
		{ "CONFIG_MEMCG_V1=y\n", ANSWER_UNKNOWN },
		{ "CONFIG_MEMCG_KMEM=y\nCONFIG_BLK_DEV_MEMCG=y\n", ANSWER_UNKNOWN },
		{ "CONFIG_NETFILTER_XT_MATCH_CGROUP=m\n", ANSWER_UNKNOWN },
		{ "# CONFIG_MEMCG was here\n", ANSWER_UNKNOWN },
		{ " CONFIG_MEMCG=y\n", ANSWER_UNKNOWN },
		{ "", ANSWER_UNKNOWN },
		/* absent: a minimal one says nothing, a whole one says no */
		{ "CONFIG_CGROUPS=y\nCONFIG_CGROUP_PIDS=y\n", ANSWER_UNKNOWN },
		{ HEADER "CONFIG_CGROUPS=y\n", ANSWER_UNKNOWN },
		{ HEADER "CONFIG_CGROUPS=y\n" END, ANSWER_NO },
		{ HEADER "CONFIG_CGROUPS=y\nCONFIG_MEMCG=y\n" END, ANSWER_YES },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_kconfig_ struct kconfig config = parse(cases[i].text);

		if (kconfig_memcg_built(&config, NULL) != cases[i].built)
			fail_msg("%s: %s", cases[i].text,
				 answer_to_string(kconfig_memcg_built(&config, NULL)));
	}
}

static void test_values(void **state _unused_)
{
	_cleanup_kconfig_ struct kconfig config =
		parse(HEADER "CONFIG_CMDLINE=\"a=\\\"b c\\\" d\"\nCONFIG_IKCONFIG=m\n"
			     "CONFIG_LOCALVERSION=\"-x\"\n# CONFIG_IKCONFIG_PROC is not set\n");
	_cleanup_kconfig_ struct kconfig old =
		parse("# Linux kernel version: 2.6.32-5-amd64\nCONFIG_CMDLINE=\"\"\n");
	enum kconfig_symbol symbol;

	assert_string_equal(config.version, "6.1.176");
	assert_string_equal(config.cmdline, "a=\"b c\" d");
	assert_string_equal(config.localversion, "-x");
	assert_int_equal(config.values[KCONFIG_IKCONFIG], KCONFIG_MODULE);
	assert_int_equal(config.lines[KCONFIG_IKCONFIG], 6);
	assert_int_equal(config.values[KCONFIG_IKCONFIG_PROC], KCONFIG_NOT_SET);
	assert_int_equal(config.values[KCONFIG_MEMCG], KCONFIG_ABSENT);
	assert_int_equal(config.values[KCONFIG_CMDLINE], KCONFIG_TEXT);
	assert_string_equal(old.version, "2.6.32-5-amd64");
	assert_string_equal(old.cmdline, "");
	/* every name finds itself */
	for (int i = 0; i < _KCONFIG_MAX; i++) {
		_cleanup_kconfig_ struct kconfig one = {};
		_cleanup_free_ char *line = NULL;

		assert_int_equal(str_printf(&line, "%s=y\n", kconfig_symbol_name(i)), 0);
		one = parse(line);
		assert_int_equal(one.values[i],
				 i == KCONFIG_CMDLINE || i == KCONFIG_LOCALVERSION
					 ? one.values[i]
					 : KCONFIG_YES);
		assert_int_equal(one.lines[i], 1);
	}
	assert_int_equal(kconfig_memcg_built(&old, &symbol), ANSWER_UNKNOWN);
	assert_int_equal(symbol, _KCONFIG_INVALID);
}

static void test_builtin(void **state _unused_)
{
	static const struct {
		const char *text;
		enum kconfig_builtin builtin;
	} cases[] = {
		{ "", KCONFIG_BUILTIN_NONE },
		{ "CONFIG_CMDLINE=\"a\"\n", KCONFIG_BUILTIN_NONE },
		{ "CONFIG_CMDLINE=\"a\"\nCONFIG_CMDLINE_FORCE=y\n", KCONFIG_BUILTIN_REPLACES },
		{ "CONFIG_CMDLINE=\"a\"\nCONFIG_CMDLINE_EXTEND=y\n", KCONFIG_BUILTIN_BEHIND },
		{ "CONFIG_X86=y\nCONFIG_CMDLINE_BOOL=y\nCONFIG_CMDLINE=\"a\"\n"
		  "# CONFIG_CMDLINE_OVERRIDE is not set\n",
		  KCONFIG_BUILTIN_BEFORE },
		{ "CONFIG_X86=y\nCONFIG_CMDLINE_BOOL=y\nCONFIG_CMDLINE=\"a\"\n"
		  "CONFIG_CMDLINE_OVERRIDE=y\n",
		  KCONFIG_BUILTIN_REPLACES },
		{ "CONFIG_X86=y\nCONFIG_CMDLINE_BOOL=y\nCONFIG_CMDLINE=\"\"\n",
		  KCONFIG_BUILTIN_NONE },
		{ "CONFIG_X86=y\n# CONFIG_CMDLINE_BOOL is not set\n", KCONFIG_BUILTIN_NONE },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_kconfig_ struct kconfig config = parse(cases[i].text);

		assert_int_equal(kconfig_builtin(&config), cases[i].builtin);
	}
}

/* Loads and says where from, or the error. */
static void expect_place(const struct tree *tree, bool running, const char *want, int want_r)
{
	_cleanup_kconfig_ struct kconfig config = {};
	_cleanup_free_ char *path = NULL;
	int r = kconfig_load(tree->root, "6.1.0-9-amd64", running, &config, &path);

	assert_int_equal(r, want_r);
	if (want)
		assert_string_equal(path, want);
	else
		assert_null(path);
}

static void test_places(void **state _unused_)
{
	/* the lowest rank first */
	static const char *const places[] = {
		"/lib/modules/6.1.0-9-amd64/build/.config",
		"/usr/src/linux-headers-6.1.0-9-amd64/.config",
		"/usr/lib/kernel/config-6.1.0-9-amd64",
		"/usr/lib/ostree-boot/config-6.1.0-9-amd64",
		"/lib/modules/6.1.0-9-amd64/config",
		"/usr/lib/modules/6.1.0-9-amd64/config",
		"/usr/src/linux-6.1.0-9-amd64/.config",
		"/boot/config-6.1.0-9-amd64",
	};
	static const char source[] = "/usr/src/linux/.config";
	_cleanup_kconfig_ struct kconfig config = {};
	char *path = NULL;
	struct tree tree;

	tree_init(&tree, ROOT_SNAPSHOT);
	expect_place(&tree, false, NULL, -ENOENT);
	tree_write(&tree, source, "CONFIG_MEMCG=y\n");
	expect_place(&tree, false, NULL, -ENOENT);
	tree_write(&tree, source, "# Linux/x86 6.1 Kernel Configuration\n");
	expect_place(&tree, false, NULL, -ENOENT);
	tree_write(&tree, source,
		   "# Linux/x86 6.1.0 Kernel Configuration\nCONFIG_LOCALVERSION=\"-8\"\n");
	expect_place(&tree, false, NULL, -ENOENT);
	tree_write(&tree, source, "# Linux/x86 6.1.0 Kernel Configuration\n");
	expect_place(&tree, false, source, 0);
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		tree_write(&tree, places[i], "CONFIG_MEMCG=y\n");
		expect_place(&tree, false, places[i], 0);
	}
	/* what cannot be read does not hide the next */
	assert_int_equal(unlinkat(root_fd(tree.root), "boot/config-6.1.0-9-amd64", 0), 0);
	tree_mkdir(&tree, "boot/config-6.1.0-9-amd64");
	expect_place(&tree, false, places[6], 0);
	tree_write(&tree, "proc/config.gz", "\x1f\x8b\x08 damaged");
	expect_place(&tree, true, places[6], 0);
	tree_write(&tree, "proc/config.gz", "CONFIG_MEMCG=y\n"); /* not compressed: fine */
	expect_place(&tree, true, "/proc/config.gz", 0);
	expect_place(&tree, false, places[6], 0);
	assert_int_equal(kconfig_load(tree.root, "../x", false, &config, &path), -EINVAL);
	assert_int_equal(kconfig_load(tree.root, NULL, true, &config, &path), 0);
	free(path);
	tree_done(&tree);
}

static void test_unreadable(void **state _unused_)
{
	struct tree tree;

	tree_init(&tree, ROOT_OFFLINE);
	tree_mkdir(&tree, "boot/config-6.1.0-9-amd64");
	expect_place(&tree, false, "/boot/config-6.1.0-9-amd64", -EISDIR);
	tree_done(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_built),	   cmocka_unit_test(test_values),
		cmocka_unit_test(test_builtin),	   cmocka_unit_test(test_places),
		cmocka_unit_test(test_unreadable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
