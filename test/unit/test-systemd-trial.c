/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Partitions of systemd-boot that a trial is planned on. */

#include "tree.h"

#include "base/diag.h"
#include "base/str.h"
#include "boot/systemd-trial.h"
#include "cmd/host.h"

#define EFIVARS "sys/firmware/efi/efivars/"
#define LOADER	"-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"
#define ID	"0123456789abcdef0123456789abcdef"
#define ENTRY(more)                                                              \
	"title Debian\nversion 6.1.0-20\n" more "linux /" ID "/6.1.0-20/linux\n" \
	"initrd /" ID "/6.1.0-20/initrd.img\noptions root=/dev/vda2 ro\noptions quiet\n"
#define TRIAL(more, words)                                                        \
	"title Debian, once with memcg off\nversion 6.1.0-20\n" more "linux /" ID \
	"/6.1.0-20/linux\ninitrd /" ID "/6.1.0-20/initrd.img\n"                   \
	"options root=/dev/vda2 ro" words "\noptions quiet\n"

static const char entries[] = "boot/efi/loader/entries/";

static const struct {
	const char *name;
	const char *file, *text; /* the default entry */
	const char *loader_conf;
	const char *once;  /* LoaderEntryOneShot, or NULL */
	bool cannot;	   /* the loader does not say that it can */
	const char *trial; /* NULL: refused */
	const char *why;
} cases[] = {
	{ "kernel-install's, with sort keys", ID "-6.1.0-20.conf", ENTRY("sort-key debian\n"),
	  "", NULL, false, TRIAL("sort-key zz-memcg-policy\n", " cgroup_disable=memory"),
	  NULL },
	{ "without sort keys, by name", "arch.conf", ENTRY(""), "default arch.conf\n", NULL,
	  false, TRIAL("", " cgroup_disable=memory"), NULL },
	{ "boots are counted", ID "-6.1.0-20+3.conf", ENTRY("sort-key debian\n"), "", NULL,
	  false, TRIAL("sort-key zz-memcg-policy\n", " cgroup_disable=memory"), NULL },
	{ "it would be the first of the menu", "-odd.conf", ENTRY(""), "default -odd.conf\n",
	  NULL, false, NULL, "would stand before it" },
	{ "the loader cannot", ID "-6.1.0-20.conf", ENTRY(""), "", NULL, true, NULL,
	  "a choice for one boot" },
	{ "another entry is chosen", ID "-6.1.0-20.conf", ENTRY(""),
	  "default " ID "-6.1.0-20.conf\n", "other.conf", false, NULL,
	  "chosen for the next boot already" },
	{ "a choice that names nothing is none", ID "-6.1.0-20.conf",
	  ENTRY("sort-key debian\n"), "", "gone.conf", false,
	  TRIAL("sort-key zz-memcg-policy\n", " cgroup_disable=memory"), NULL },
};

static void write_variable(const struct tree *tree, const char *name, const char *text)
{
	_cleanup_free_ char *path = NULL;
	char data[256] = { 6 };
	size_t n = 4;

	for (; *text; text++, n += 2)
		data[n] = *text;
	assert_true(str_printf(&path, EFIVARS "%s" LOADER, name) >= 0);
	tree_write_n(tree, path, data, n + 2);
}

static void write_entry(const struct tree *tree, const char *name, const char *text)
{
	_cleanup_free_ char *path = NULL;

	assert_true(str_printf(&path, "%s%s", entries, name) >= 0);
	tree_write(tree, path, text);
}

static void init(struct tree *tree, size_t i)
{
	char features[12] = { 6, 0, 0, 0, cases[i].cannot ? 0x37 & ~8 : 0x3f };

	tree_init(tree, ROOT_SNAPSHOT);
	write_variable(tree, "LoaderInfo", "systemd-boot 257.7");
	tree_write_n(tree, EFIVARS "LoaderFeatures" LOADER, features, sizeof(features));
	if (cases[i].once)
		write_variable(tree, "LoaderEntryOneShot", cases[i].once);
	tree_write(tree, "etc/machine-id", ID "\n");
	tree_write(tree, "usr/bin/bootctl", "");
	tree_write(tree, "boot/efi/loader/loader.conf", cases[i].loader_conf);
	tree_write(tree, "boot/efi/EFI/systemd/systemd-bootx64.efi", "");
	tree_write(tree, "boot/efi/" ID "/6.1.0-20/linux", "");
	tree_mkdir(tree, "usr/lib/modules/6.1.0-20");
	write_entry(tree, cases[i].file, cases[i].text);
	write_entry(tree, "other.conf", "title Other\nlinux /other\noptions ro\n");
}

static void test_cases(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_host_ struct host host = {}, again = {};
		_cleanup_changeset_ struct changeset cs = {};
		_cleanup_diag_ struct diag diag = {};
		struct boot_words words;
		struct tree tree;
		int r;

		print_message("%s\n", cases[i].name);
		init(&tree, i);
		assert_int_equal(host_load_boot(tree.root, &host, &diag), 0);
		assert_string_equal(host.boot.backend->name, "systemd-boot");
		assert_int_equal(boot_words(&host.boot, BOOT_WANT_OFF, &words, &diag), 0);
		r = systemd_plan_trial(&host.boot, &host.state, &words, &cs, &diag);
		if (!cases[i].trial) {
			assert_int_equal(r, -ENOTSUP);
			assert_int_equal(cs.n, 0);
			assert_non_null(strstr(diag.messages[diag.n - 1].text, cases[i].why));
			tree_done(&tree);
			continue;
		}
		if (r < 0)
			print_message("%s\n", diag.messages[diag.n - 1].text);
		assert_int_equal(r, 0);
		assert_int_equal(cs.n, 1);
		assert_int_equal(cs.refresh, REFRESH_RUN);
		assert_true(systemd_trial_is(cs.edits[0].path));
		assert_string_equal(cs.edits[0].new.data, cases[i].trial);
		/* written and chosen: once that, and then as before */
		write_entry(&tree, SYSTEMD_TRIAL_ID ".conf", cases[i].trial);
		write_variable(&tree, "LoaderEntryOneShot", SYSTEMD_TRIAL_ID ".conf");
		assert_int_equal(host_load_boot(tree.root, &again, &diag), 0);
		assert_true(again.state.once && again.next_entry->trial &&
			    !again.next_entry->ours);
		assert_int_equal(again.next, MEMCG_OFF);
		assert_true(again.after_entry && again.after_entry->ours);
		assert_int_equal(boot_n_differing(&again.state, BOOT_WANT_ON), 0);
		/* a second time nothing is to do */
		changeset_done(&cs);
		assert_int_equal(
			systemd_plan_trial(&again.boot, &again.state, &words, &cs, &diag), 0);
		assert_true(changeset_is_empty(&cs));
		/* and it goes */
		assert_int_equal(systemd_plan_no_trial(&again.boot, true, &cs, &diag), 0);
		assert_int_equal(cs.n, 1);
		assert_null(cs.edits[0].new.data);
		tree_done(&tree);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
