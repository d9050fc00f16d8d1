/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tree.h"

#include "base/str.h"
#include "facts/kernels.h"
#include "facts/kimage.h"

#include <stdio.h>

static char *list(const struct tree *tree, const char *running)
{
	_cleanup_kernels_ struct kernels kernels = {};
	struct strbuf buf = {};
	char *ret;

	assert_int_equal(kernels_load(tree->root, running, &kernels), 0);
	for (size_t i = 0; i < kernels.n; i++) {
		const struct kernel *k = &kernels.items[i];

		strbuf_addf(&buf, "%s%s|%s|%s|%s|%s|%s\n", k->release ? k->release : "?",
			    k->running ? "*" : "", k->image ? k->image : "-",
			    k->config ? k->config : "-", answer_to_string(k->memcg_built),
			    k->honours_enable ? answer_to_string(k->honours_enable) : "-",
			    memcg_state_to_string(k->state_default));
	}
	assert_int_equal(strbuf_take(&buf, &ret, NULL), 0);
	return ret;
}

static void write_header(const struct tree *tree, const char *path, const char *release)
{
	char image[2048] = "MZ";

	memcpy(image + 0x202, "HdrS\x0f\x02", 6);
	memcpy(image + 0x20e, "\0\x03", 2);
	(void)snprintf(image + 0x500, 256, "%s (x@y) #1", release);
	tree_write_n(tree, path, image, sizeof(image));
}

/* One root per distribution's way. */
static void test_layouts(void **state _unused_)
{
	_cleanup_free_ char *debian = NULL, *split = NULL, *fedora = NULL, *arch = NULL,
			    *suse = NULL, *pi = NULL, *none = NULL, *captured = NULL;
	struct tree tree;

	tree_init(&tree, ROOT_OFFLINE);
	none = list(&tree, NULL);
	assert_string_equal(none, "");
	tree_write(&tree, "boot/vmlinuz-6.1.0-9-amd64", "x");
	tree_write(&tree, "boot/vmlinuz-6.1.0-44-amd64", "x");
	tree_write(&tree, "boot/vmlinuz-6.1.0-44-amd64.dpkg-tmp", "x");
	tree_write(&tree, "boot/config-6.1.0-44-amd64", "CONFIG_MEMCG=y\n");
	tree_write(&tree, "boot/config-5.10.0-1-amd64", "CONFIG_MEMCG=y\n");
	tree_write(&tree, "usr/lib/modules/6.1.0-44-amd64/modules.order", "");
	tree_write(&tree, "usr/lib/modules/5.10.0-1-amd64/updates/dkms/x.ko", "");
	tree_symlink(&tree, "usr/lib", "lib");
	tree_symlink(&tree, "boot/vmlinuz-6.1.0-44-amd64", "vmlinuz");
	debian = list(&tree, "6.1.0-9-amd64");
	assert_string_equal(debian,
			    "6.1.0-44-amd64|/boot/vmlinuz-6.1.0-44-amd64|"
			    "/boot/config-6.1.0-44-amd64|yes|-|on\n"
			    "6.1.0-9-amd64|/boot/vmlinuz-6.1.0-9-amd64|-|unknown|-|on\n");
	tree_done(&tree);

	tree_init(&tree, ROOT_OFFLINE);
	tree_write(&tree, "usr/lib/modules/7.2.13+deb15-amd64/vmlinuz", "x");
	tree_write(&tree, "boot/config-7.2.13+deb15-amd64", "# CONFIG_MEMCG is not set\n");
	split = list(&tree, NULL);
	assert_string_equal(split, "7.2.13+deb15-amd64|/usr/lib/modules/7.2.13+deb15-amd64/"
				   "vmlinuz|/boot/config-7.2.13+deb15-amd64|no|-|on\n");
	tree_done(&tree);

	tree_init(&tree, ROOT_OFFLINE);
	tree_write(&tree, "boot/vmlinuz-6.12.5-200.fc41.x86_64", "x");
	write_header(&tree, "boot/vmlinuz-0-rescue-0123456789abcdef", "6.11.4-300.fc41.x86_64");
	tree_write(&tree, "usr/lib/modules/6.12.5-200.fc41.x86_64/vmlinuz", "x");
	tree_write(&tree, "usr/lib/modules/6.12.5-200.fc41.x86_64/config", "CONFIG_MEMCG=y\n");
	fedora = list(&tree, NULL);
	assert_string_equal(
		fedora,
		"6.12.5-200.fc41.x86_64|/boot/vmlinuz-6.12.5-200.fc41.x86_64|"
		"/usr/lib/modules/6.12.5-200.fc41.x86_64/config|yes|-|on\n"
		"6.11.4-300.fc41.x86_64|/boot/vmlinuz-0-rescue-0123456789abcdef|-|unknown|-|"
		"on\n");
	tree_done(&tree);

	tree_init(&tree, ROOT_OFFLINE);
	write_header(&tree, "boot/vmlinuz-linux", "6.12.9-arch1-1");
	tree_write(&tree, "usr/lib/modules/6.12.9-arch1-1/vmlinuz", "x");
	arch = list(&tree, NULL);
	assert_string_equal(arch, "6.12.9-arch1-1|/boot/vmlinuz-linux|-|unknown|-|on\n");
	tree_done(&tree);

	tree_init(&tree, ROOT_OFFLINE);
	tree_write(&tree, "boot/vmlinuz-6.4.0-150600.23-default", "x");
	tree_write(&tree, "boot/vmlinux-6.4.0-150600.23-default.gz", "x");
	tree_symlink(&tree, "vmlinuz-6.4.0-150600.23-default", "boot/vmlinuz");
	tree_write(&tree, "boot/image-backup.iso", "x");
	suse = list(&tree, NULL);
	assert_string_equal(suse, "6.4.0-150600.23-default|/boot/vmlinuz-6.4.0-150600.23-"
				  "default|-|unknown|-|on\n");
	tree_done(&tree);

	tree_init(&tree, ROOT_OFFLINE);
	tree_write(&tree, "boot/firmware/kernel8.img", "x");
	tree_write(&tree, "boot/firmware/kernel_2712.img", "y");
	tree_write(&tree, "boot/config-6.12.25+rpt-rpi-v8", "CONFIG_MEMCG=y\n");
	tree_write(&tree, "boot/vmlinuz-6.12.25+rpt-rpi-v8", "z");
	pi = list(&tree, NULL);
	assert_string_equal(pi, "6.12.25+rpt-rpi-v8|/boot/vmlinuz-6.12.25+rpt-rpi-v8|"
				"/boot/config-6.12.25+rpt-rpi-v8|yes|-|off\n"
				"?|/boot/firmware/kernel8.img|-|unknown|-|unknown\n"
				"?|/boot/firmware/kernel_2712.img|-|unknown|-|unknown\n");
	tree_done(&tree);

	tree_init(&tree, ROOT_SNAPSHOT);
	tree_write(&tree, "boot/config-6.1.0-44-amd64", "CONFIG_MEMCG=y\n");
	tree_write(&tree, "boot/config-3.16.0-4-amd64",
		   "CONFIG_MEMCG=y\nCONFIG_MEMCG_DISABLED=y\n");
	captured = list(&tree, "6.18.44-custom");
	assert_string_equal(captured,
			    "6.18.44-custom*|-|-|unknown|-|on\n"
			    "6.1.0-44-amd64|-|/boot/config-6.1.0-44-amd64|yes|-|on\n"
			    "3.16.0-4-amd64|-|/boot/config-3.16.0-4-amd64|yes|yes|off\n");
	tree_done(&tree);
}

static void test_find(void **state _unused_)
{
	_cleanup_kernels_ struct kernels kernels = {};
	struct tree tree;

	tree_init(&tree, ROOT_OFFLINE);
	tree_write(&tree, "boot/vmlinuz-6.1.0-44-amd64", "x");
	tree_symlink(&tree, "boot/vmlinuz-6.1.0-44-amd64", "vmlinuz");
	assert_int_equal(kernels_load(tree.root, NULL, &kernels), 0);
	assert_ptr_equal(kernels_find(&kernels, "6.1.0-44-amd64"), kernels.items);
	assert_null(kernels_find(&kernels, "6.1.0-4"));
	assert_null(kernels_find_running(&kernels));
	assert_ptr_equal(kernels_find_image(&kernels, tree.root, "/vmlinuz"), kernels.items);
	/* of a boot partition that is not mounted */
	assert_ptr_equal(kernels_find_image(&kernels, tree.root, "/vmlinuz-6.1.0-44-amd64"),
			 kernels.items);
	assert_null(kernels_find_image(&kernels, tree.root, "/vmlinuz-6.1.0-45-amd64"));
	tree_done(&tree);
}

static void test_ask(void **state _unused_)
{
	static const char no[] = "Linux version 6.6.31+rpt-rpi-v8 (x)\0cgroup_disable=\0";
	static const char yes[] = "Linux version 6.6.31 (x)\0cgroup_disable=\0cgroup_enable=\0";
	_cleanup_kernels_ struct kernels kernels = {};
	struct kernel *named, *unnamed;
	struct tree tree;

	tree_init(&tree, ROOT_OFFLINE);
	tree_write_n(&tree, "boot/kernel8.img", no, sizeof(no));
	tree_write_n(&tree, "boot/vmlinuz-6.6.31-mine", yes, sizeof(yes));
	tree_write(&tree, "boot/config-6.6.31+rpt-rpi-v8", "CONFIG_MEMCG=y\n");
	assert_int_equal(kernels_load(tree.root, NULL, &kernels), 0);
	assert_int_equal(kernels.n, 2);
	named = &kernels.items[0];
	unnamed = &kernels.items[1];
	assert_int_equal(named->rules, CMDLINE_RULE_UNKNOWN);
	assert_int_equal(kernel_ask_enable(tree.root, named, NULL), 0);
	assert_int_equal(named->honours_enable, ANSWER_YES);
	assert_int_equal(named->rules, CMDLINE_HONOURS);
	/* the image tells who it is, and the configuration is found */
	assert_int_equal(kernel_ask_enable(tree.root, unnamed, NULL), 0);
	assert_int_equal(unnamed->honours_enable, ANSWER_NO);
	assert_int_equal(unnamed->rules, CMDLINE_MAINLINE);
	assert_string_equal(unnamed->release, "6.6.31+rpt-rpi-v8");
	assert_int_equal(unnamed->memcg_built, ANSWER_YES);
	assert_int_equal(unnamed->state_default, MEMCG_OFF);
	tree_done(&tree);
}

/* Which of the two ways of honouring it, where that is known. */
static void test_ways(void **state _unused_)
{
	static const char yes[] = "cgroup_disable=\0cgroup_enable=\0";
	static const struct {
		const char *release;
		unsigned rules;
	} cases[] = {
		{ "3.16.0-4-amd64", CMDLINE_HONOURS },
		{ "4.9.80-v7+", CMDLINE_HONOURS },
		{ "4.14.98-v7+", CMDLINE_ENABLE_WINS },
		{ "4.19.66-v7+", CMDLINE_HONOURS },
		{ "5.10.103-v7l+", CMDLINE_ENABLE_WINS },
		{ "6.1.21-v8+", CMDLINE_HONOURS },
		{ "6.6.74+rpt-rpi-v8", CMDLINE_HONOURS },
		{ "6.12.25+rpt-rpi-2712", CMDLINE_LAST_WINS },
		{ "6.12.25-mine", CMDLINE_HONOURS },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_kernels_ struct kernels kernels = {};
		_cleanup_free_ char *path = NULL;
		struct tree tree;

		tree_init(&tree, ROOT_OFFLINE);
		assert_int_equal(str_printf(&path, "boot/vmlinuz-%s", cases[i].release), 0);
		tree_write_n(&tree, path, yes, sizeof(yes));
		assert_int_equal(kernels_load(tree.root, NULL, &kernels), 0);
		assert_int_equal(kernels.n, 1);
		assert_int_equal(kernel_ask_enable(tree.root, kernels.items, NULL), 0);
		if (kernels.items[0].rules != cases[i].rules)
			fail_msg("%s: %x", cases[i].release, kernels.items[0].rules);
		tree_done(&tree);
	}
}

/* What a kernel did with its line narrows what it can be. */
static void test_learn(void **state _unused_)
{
	static const struct {
		const char *line;
		enum memcg_state before, state;
		unsigned rules;
		enum memcg_state after;
		enum answer honours;
	} cases[] = {
		{ "quiet", MEMCG_UNKNOWN, MEMCG_ON, CMDLINE_RULE_UNKNOWN, MEMCG_ON,
		  ANSWER_NOT_LOOKED },
		{ "quiet", MEMCG_UNKNOWN, MEMCG_OFF, CMDLINE_RULE_UNKNOWN, MEMCG_OFF,
		  ANSWER_NOT_LOOKED },
		{ "cgroup_disable=memory", MEMCG_UNKNOWN, MEMCG_OFF, CMDLINE_RULE_UNKNOWN,
		  MEMCG_UNKNOWN, ANSWER_NOT_LOOKED },
		{ "cgroup_disable=memory cgroup_enable=memory", MEMCG_UNKNOWN, MEMCG_ON,
		  CMDLINE_HONOURS, MEMCG_UNKNOWN, ANSWER_YES },
		{ "cgroup_disable=memory cgroup_enable=memory", MEMCG_ON, MEMCG_OFF,
		  CMDLINE_MAINLINE, MEMCG_ON, ANSWER_NO },
		{ "cgroup_enable=memory cgroup_disable=memory", MEMCG_OFF, MEMCG_ON,
		  CMDLINE_ENABLE_WINS, MEMCG_OFF, ANSWER_YES },
		{ "cgroup_enable=memory", MEMCG_OFF, MEMCG_OFF, CMDLINE_MAINLINE, MEMCG_OFF,
		  ANSWER_NO },
		{ "cgroup_enable=memory", MEMCG_OFF, MEMCG_ON, CMDLINE_HONOURS, MEMCG_OFF,
		  ANSWER_YES },
		/* the default was thought wrong */
		{ "quiet", MEMCG_OFF, MEMCG_ON, CMDLINE_RULE_UNKNOWN, MEMCG_ON,
		  ANSWER_NOT_LOOKED },
		/* nothing explains it: nothing is learnt */
		{ "cgroup_disable=memory", MEMCG_ON, MEMCG_ON, CMDLINE_RULE_UNKNOWN, MEMCG_ON,
		  ANSWER_NOT_LOOKED },
		{ "cgroup_enable=memory", MEMCG_ON, MEMCG_UNKNOWN, CMDLINE_RULE_UNKNOWN,
		  MEMCG_ON, ANSWER_NOT_LOOKED },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_cmdline_ struct cmdline cmdline = {};
		struct kernel kernel = { .rules = CMDLINE_RULE_UNKNOWN,
					 .state_default = cases[i].before };
		const char *line = cases[i].line;

		assert_int_equal(cmdline_parse(line, strlen(line), CMDLINE_LINE, &cmdline), 0);
		kernel_learn(&kernel, &cmdline, cases[i].state);
		if (kernel.rules != cases[i].rules || kernel.state_default != cases[i].after ||
		    kernel.honours_enable != cases[i].honours)
			fail_msg("case %zu: rules %x, default %s, honours %d", i, kernel.rules,
				 memcg_state_to_string(kernel.state_default),
				 kernel.honours_enable);
	}
}

static void test_predict(void **state _unused_)
{
	static const struct {
		const char *config, *line;
		enum memcg_state want;
	} cases[] = {
		{ "", "quiet", MEMCG_ON },
		{ "", "cgroup_disable=memory", MEMCG_OFF },
		{ "CONFIG_X86=y\nCONFIG_CMDLINE_BOOL=y\n"
		  "CONFIG_CMDLINE=\"cgroup_disable=memory\"\n",
		  "quiet", MEMCG_OFF },
		{ "CONFIG_CMDLINE_FORCE=y\nCONFIG_CMDLINE=\"quiet\"\n", "cgroup_disable=memory",
		  MEMCG_ON },
		{ "CONFIG_CMDLINE_EXTEND=y\nCONFIG_CMDLINE=\"cgroup_disable=memory\"\n",
		  "quiet", MEMCG_OFF },
		/* what is behind "--" is init's, also what is appended */
		{ "CONFIG_CMDLINE_EXTEND=y\nCONFIG_CMDLINE=\"cgroup_disable=memory\"\n",
		  "quiet -- single", MEMCG_ON },
		{ "CONFIG_CMDLINE=\"cgroup_disable=memory\"\n", "quiet", MEMCG_ON },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_cmdline_ struct cmdline cmdline = {};
		_cleanup_kconfig_ struct kconfig config = {};
		struct kernel kernel = { .rules = CMDLINE_RULE_UNKNOWN,
					 .state_default = MEMCG_ON,
					 .memcg_built = ANSWER_YES };
		enum memcg_state got;

		assert_int_equal(
			kconfig_parse(cases[i].config, strlen(cases[i].config), &config), 0);
		kernel.kconfig = config;
		assert_int_equal(cmdline_parse(cases[i].line, strlen(cases[i].line),
					       CMDLINE_LINE, &cmdline),
				 0);
		assert_int_equal(kernel_predict(&kernel, &cmdline, &got), 0);
		if (got != cases[i].want)
			fail_msg("case %zu: %s", i, memcg_state_to_string(got));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layouts), cmocka_unit_test(test_find),
		cmocka_unit_test(test_ask),	cmocka_unit_test(test_ways),
		cmocka_unit_test(test_learn),	cmocka_unit_test(test_predict),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
