/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tree.h"

#include "base/str.h"
#include "cmd/reboot-note.h"

#define NOTE "*** System restart required ***\n"

static const char note_path[] = "run/reboot-required";
static const char packages_path[] = "run/reboot-required.pkgs";
static const char debian[] = "etc/debian_version";

struct state {
	const char *note, *packages; /* NULL: not there */
};

static const struct {
	const char *name;
	struct state before, with, without; /* at first; required; and not any more */
} cases[] = {
	{ "nobody asked before", { NULL, NULL }, { NOTE, "memcg-policy\n" }, { NULL, NULL } },
	{ "a kernel asked",
	  { NOTE, "linux-image-6.1.0-20-amd64\nlinux-base\n" },
	  { NOTE, "linux-image-6.1.0-20-amd64\nlinux-base\nmemcg-policy\n" },
	  { NOTE, "linux-image-6.1.0-20-amd64\nlinux-base\n" } },
	{ "another text stays",
	  { "reboot!\n", "x" },
	  { "reboot!\n", "x\nmemcg-policy\n" },
	  { "reboot!\n", "x\n" } },
	{ "somebody who keeps no list", { NOTE, NULL }, { NOTE, NULL }, { NOTE, NULL } },
	{ "somebody with an empty list", { NOTE, "" }, { NOTE, "" }, { NOTE, "" } },
	{ "a list without a note",
	  { NULL, "x\n" },
	  { NOTE, "x\nmemcg-policy\n" },
	  { NOTE, "x\n" } },
	{ "a name that only contains ours",
	  { NOTE, "memcg-policy-doc\nnot-memcg-policy\n" },
	  { NOTE, "memcg-policy-doc\nnot-memcg-policy\nmemcg-policy\n" },
	  { NOTE, "memcg-policy-doc\nnot-memcg-policy\n" } },
	{ "somebody behind us",
	  { NOTE, "memcg-policy\nlinux-base\n" },
	  { NOTE, "memcg-policy\nlinux-base\n" },
	  { NOTE, "linux-base\n" } },
};

static void check(const struct tree *tree, const struct state *want)
{
	_cleanup_free_ char *note = tree_read(tree, note_path);
	_cleanup_free_ char *packages = tree_read(tree, packages_path);

	assert_true(streq_ptr(note, want->note));
	assert_true(streq_ptr(packages, want->packages));
}

static void init(struct tree *tree, enum root_mode mode, const struct state *before)
{
	tree_init(tree, mode);
	tree_mkdir(tree, "run");
	if (before->note)
		tree_write(tree, note_path, before->note);
	if (before->packages)
		tree_write(tree, packages_path, before->packages);
}

static void test_cases(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct tree tree;

		print_message("%s\n", cases[i].name);
		init(&tree, ROOT_LIVE, &cases[i].before);
		tree_write(&tree, debian, "12.0\n");
		for (int twice = 0; twice < 2; twice++) {
			assert_int_equal(reboot_note_put(tree.root, true), 0);
			check(&tree, &cases[i].with);
		}
		for (int twice = 0; twice < 2; twice++) {
			assert_int_equal(reboot_note_put(tree.root, false), 0);
			check(&tree, &cases[i].without);
		}
		tree_done(&tree);
	}
}

/* Not on Fedora, and never in another system's root. */
static void test_elsewhere(void **state)
{
	static const struct state nothing = {};
	struct tree tree;

	(void)state;
	init(&tree, ROOT_LIVE, &nothing);
	assert_int_equal(reboot_note_put(tree.root, true), 0);
	check(&tree, &nothing);
	tree_done(&tree);
	init(&tree, ROOT_OFFLINE, &nothing);
	tree_write(&tree, debian, "12.0\n");
	assert_int_equal(reboot_note_put(tree.root, true), 0);
	check(&tree, &nothing);
	tree_done(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
		cmocka_unit_test(test_elsewhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
