/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tree.h"

#include "base/str.h"
#include "facts/cmdline.h"
#include "facts/container.h"

static void test_detect(void **state _unused_)
{
	static const struct {
		const char *path, *text; /* one file; NULL: none */
		const char *release;
		bool cgroup_namespace;
		const char *want;
	} cases[] = {
		{ NULL, NULL, NULL, false, "unknown" },
		{ NULL, NULL, NULL, true, "container-other" },
		{ "proc/1/environ", "HOME=/", NULL, false, "none" },
		{ "proc/1/environ", "HOME=/", NULL, true, "container-other" },
		{ "proc/1/environ", "container=lxc", NULL, false, "lxc" },
		{ "proc/1/environ", "xcontainer=lxc", NULL, false, "none" },
		{ "proc/1/environ", "container=", NULL, false, "none" },
		{ "proc/1/environ", "container=my-own", NULL, false, "container-other" },
		{ "run/systemd/container", "systemd-nspawn\n", NULL, false, "systemd-nspawn" },
		{ "run/host/container-manager", "podman\n", NULL, false, "podman" },
		{ "run/systemd/container", "\n", NULL, false, "unknown" },
		{ "run/.containerenv", "", NULL, false, "podman" },
		{ ".dockerenv", "", NULL, false, "docker" },
		{ "proc/vz/x", "", NULL, false, "openvz" },
		{ NULL, NULL, "6.18.33.1-microsoft-standard-WSL2", false, "wsl" },
		{ NULL, NULL, "6.1.0-44-amd64", false, "unknown" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *name = NULL;
		struct tree tree;

		tree_init(&tree, ROOT_SNAPSHOT);
		if (cases[i].path)
			tree_write(&tree, cases[i].path, cases[i].text);
		assert_int_equal(container_detect(tree.root, cases[i].release,
						  cases[i].cgroup_namespace, &name),
				 0);
		if (!streq(name, cases[i].want))
			fail_msg("case %zu: %s, wanted %s", i, name, cases[i].want);
		tree_done(&tree);
	}
}

static void test_more(void **state _unused_)
{
	_cleanup_free_ char *oci = NULL, *offline = NULL;
	struct tree tree;

	tree_init(&tree, ROOT_SNAPSHOT);
	tree_write(&tree, "run/systemd/container", "oci");
	tree_write(&tree, "run/.containerenv", "");
	assert_int_equal(container_detect(tree.root, NULL, false, &oci), 0);
	assert_string_equal(oci, "podman");
	tree_done(&tree);
	tree_init(&tree, ROOT_OFFLINE);
	tree_write(&tree, ".dockerenv", "");
	assert_int_equal(container_detect(tree.root, NULL, false, &offline), 0);
	assert_null(offline);
	tree_done(&tree);
}

static enum answer kdump(const struct tree *tree, const char *line)
{
	_cleanup_cmdline_ struct cmdline cmdline = {};

	assert_int_equal(cmdline_parse(line, strlen(line), CMDLINE_LINE, &cmdline), 0);
	return container_is_kdump(tree->root, &cmdline);
}

static void test_kdump(void **state _unused_)
{
	struct tree tree;

	tree_init(&tree, ROOT_SNAPSHOT);
	assert_int_equal(kdump(&tree, ""), ANSWER_UNKNOWN);
	assert_int_equal(kdump(&tree, "quiet"), ANSWER_NO);
	assert_int_equal(kdump(&tree, "quiet -- elfcorehdr=1"), ANSWER_NO);
	assert_int_equal(kdump(&tree, "elfcorehdr=0x1234"), ANSWER_YES);
	tree_write(&tree, "proc/vmcore", "");
	assert_int_equal(kdump(&tree, "quiet"), ANSWER_YES);
	tree_done(&tree);
	tree_init(&tree, ROOT_OFFLINE);
	assert_int_equal(kdump(&tree, "elfcorehdr=1"), ANSWER_NOT_LOOKED);
	assert_int_equal(container_is_chroot(tree.root), ANSWER_NOT_LOOKED);
	tree_done(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_detect),
		cmocka_unit_test(test_more),
		cmocka_unit_test(test_kdump),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
