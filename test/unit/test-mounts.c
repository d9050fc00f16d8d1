/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tree.h"

#include "base/mounts.h"
#include "base/str.h"

static void test_mountinfo(void **state _unused_)
{
	_cleanup_mounts_ struct mounts mounts = {};
	struct tree tree;
	int r;

	tree_init(&tree, ROOT_SNAPSHOT);
	assert_int_equal(mounts_load(tree.root, &mounts),
			 HAVE_LIBMOUNT ? -ENOENT : -EOPNOTSUPP);
	tree_write(&tree, "proc/mounts", "cgroup /m cgroup rw,memory 0 0\n");
	r = mounts_load(tree.root, &mounts);
	if (r == -EOPNOTSUPP) {
		print_message("SKIP mounts: no libmount\n");
		tree_done(&tree);
		skip();
	}
	assert_int_equal(r, 0);
	assert_string_equal(mounts.path, "/proc/mounts");
	assert_int_equal(mounts.n, 1);
	mounts_done(&mounts);
	tree_write(
		&tree, "proc/self/mountinfo",
		"22 1 8:2 / / rw,relatime shared:1 - ext4 /dev/sda2 rw\n"
		"30 22 0:26 / /sys/fs/cgroup/memory\\040x rw,nosuid - cgroup none rw,memory\n"
		"31 22 8:1 /sub /boot ro - vfat /dev/sda1 rw,umask=0077\n");
	assert_int_equal(mounts_load(tree.root, &mounts), 0);
	assert_string_equal(mounts.path, "/proc/self/mountinfo");
	assert_int_equal(mounts.n, 3);
	assert_string_equal(mounts.items[0].target, "/");
	assert_string_equal(mounts.items[0].source, "/dev/sda2");
	assert_string_equal(mounts.items[1].target, "/sys/fs/cgroup/memory x");
	assert_string_equal(mounts.items[1].type, "cgroup");
	assert_true(mount_has_option(&mounts.items[1], "memory"));
	assert_true(mount_has_option(&mounts.items[1], "nosuid"));
	assert_false(mount_has_option(&mounts.items[1], "mem"));
	assert_string_equal(mounts.items[2].root, "/sub");
	assert_true(mount_has_option(&mounts.items[2], "umask"));
	/* mounted read-only, whatever the file system itself is */
	assert_true(mount_has_option(&mounts.items[2], "ro"));
	tree_done(&tree);
}

static void test_offline(void **state _unused_)
{
	_cleanup_mounts_ struct mounts mounts = {};
	struct tree tree;

	tree_init(&tree, ROOT_OFFLINE);
	tree_write(&tree, "proc/self/mountinfo", "22 1 8:2 / / rw - ext4 /dev/sda2 rw\n");
	assert_int_equal(mounts_load(tree.root, &mounts), -ENOENT);
	tree_done(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mountinfo),
		cmocka_unit_test(test_offline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
