/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Menus that a trial is planned on: what is copied, and where it is refused. */

#include "tree.h"

#include "base/diag.h"
#include "base/str.h"
#include "boot/grub-once.h"
#include "boot/grub-trial.h"
#include "boot/grub.h"
#include "boot/grubenv.h"
#include "cmd/host.h"
#include "facts/running.h"

#include <stdio.h>
#include <sys/sysmacros.h>

#define HEADER                                                                \
	"### BEGIN /etc/grub.d/00_header ###\n"                               \
	"if [ -s $prefix/grubenv ]; then\n  load_env\nfi\n"                   \
	"if [ \"${next_entry}\" ] ; then\n   set default=\"${next_entry}\"\n" \
	"   set next_entry=\n   save_env next_entry\n   set boot_once=true\n" \
	"else\n   set default=\"%s\"\nfi\n"                                   \
	"### END /etc/grub.d/00_header ###\n"
#define LINUX(menu) \
	"### BEGIN /etc/grub.d/10_linux ###\n" menu "### END /etc/grub.d/10_linux ###\n"
#define FIRST                                                                \
	"menuentry 'Debian' --class debian $menuentry_id_option 'first' {\n" \
	"\tlinux\t/boot/vmlinuz-6.1.0-20 root=/dev/vda1 ro quiet\n}\n"
#define COPY_OF_FIRST(words)                                                           \
	"menuentry 'Debian, once with memcg off' --class debian $menuentry_id_option " \
	"'memcg-policy-trial' {\n\tlinux\t/boot/vmlinuz-6.1.0-20 root=/dev/vda1 ro "   \
	"quiet" words "\n}\n"
#define OFF " cgroup_disable=memory"

static const char cfg[] = "boot/grub/grub.cfg";
static const char env[] = "boot/grub/grubenv";

static const struct {
	const char *name;
	const char *lasting; /* $default */
	const char *menu, *env;
	enum boot_want want;
	const char *entry; /* NULL: refused */
	const char *why;   /* part of the refusal */
} cases[] = {
	{ "the first", "0", LINUX(FIRST), "", BOOT_WANT_OFF, COPY_OF_FIRST(OFF), NULL },
	{ "on where it is off", "0",
	  LINUX("menuentry 'D' {\n\tlinux /boot/vmlinuz-6.1.0-20 "
		"cgroup_disable=cpu,memory ro\n}\n"),
	  "", BOOT_WANT_ON,
	  "menuentry 'D, once with memcg on' $menuentry_id_option 'memcg-policy-trial' "
	  "{\n"
	  "\tlinux /boot/vmlinuz-6.1.0-20 cgroup_disable=cpu ro\n}\n",
	  NULL },
	{ "a line without words", "0",
	  LINUX("menuentry 'D' {\n\tlinux /boot/vmlinuz-6.1.0-20\n}\n"), "", BOOT_WANT_OFF,
	  "menuentry 'D, once with memcg off' $menuentry_id_option "
	  "'memcg-policy-trial' {\n"
	  "\tlinux /boot/vmlinuz-6.1.0-20 cgroup_disable=memory\n}\n",
	  NULL },
	{ "a title with a quote, a comment behind the line, words for init", "0",
	  LINUX("menuentry \"It's\" --unrestricted --users a --id=x {\n"
		"\tlinux /boot/vmlinuz-6.1.0-20 ro -- x # why\n\tinitrd "
		"/boot/initrd.img\n}\n"),
	  "", BOOT_WANT_OFF,
	  "menuentry 'It'\\''s, once with memcg off' --unrestricted --users a "
	  "$menuentry_id_option 'memcg-policy-trial' {\n"
	  "\tlinux /boot/vmlinuz-6.1.0-20 ro cgroup_disable=memory -- x # why\n"
	  "\tinitrd /boot/initrd.img\n}\n",
	  NULL },
	{ "an entry in a submenu, by its id", "sub>second",
	  LINUX(FIRST "submenu 'More' --id 'sub' {\n"
		      "\tmenuentry 'Old' --id 'second' {\n\t\tsavedefault\n"
		      "\t\tlinux /boot/vmlinuz-6.1.0-18 ro\n\t}\n}\n"),
	  "", BOOT_WANT_OFF,
	  "menuentry 'More > Old, once with memcg off' $menuentry_id_option "
	  "'memcg-policy-trial' {\n\t\tlinux /boot/vmlinuz-6.1.0-18 ro "
	  "cgroup_disable=memory\n\t}\n",
	  NULL },
	{ "a saved default", "${saved_entry}",
	  LINUX("menuentry 'Other' --id 'other' {\n\tlinux "
		"/boot/vmlinuz-6.1.0-18\n}\n" FIRST),
	  "saved_entry=first\n", BOOT_WANT_OFF, COPY_OF_FIRST(OFF), NULL },
	{ "a number with nothing behind", "1",
	  LINUX("menuentry 'Other' --id 'other' {\n\tlinux "
		"/boot/vmlinuz-6.1.0-18\n}\n" FIRST),
	  "", BOOT_WANT_OFF, COPY_OF_FIRST(OFF), NULL },
	{ "a number with entries behind", "1",
	  LINUX("menuentry 'Other' --id 'other' {\n\tlinux "
		"/boot/vmlinuz-6.1.0-18\n}\n" FIRST) "### BEGIN /etc/grub.d/50_mine "
						     "###\nmenuentry 'Mine' {\n\tlinux "
						     "/boot/vmlinuz-6.1.0-18\n}\n"
						     "### END /etc/grub.d/50_mine "
						     "###\n",
	  "", BOOT_WANT_OFF, NULL, "would move" },
	{ "Xen", "0",
	  "### BEGIN /etc/grub.d/20_linux_xen ###\n"
	  "menuentry 'X' {\n\tmultiboot2 /boot/xen.gz placeholder "
	  "cgroup_disable=memory\n"
	  "\tmodule2 /boot/vmlinuz-6.1.0-20 placeholder root=/dev/vda1\n"
	  "\tmodule2 --nounzip /boot/initrd.img\n}\n"
	  "### END /etc/grub.d/20_linux_xen ###\n",
	  "", BOOT_WANT_OFF,
	  "menuentry 'X, once with memcg off' $menuentry_id_option "
	  "'memcg-policy-trial' {\n"
	  "\tmultiboot2 /boot/xen.gz placeholder cgroup_disable=memory\n"
	  "\tmodule2 /boot/vmlinuz-6.1.0-20 placeholder root=/dev/vda1 "
	  "cgroup_disable=memory\n"
	  "\tmodule2 --nounzip /boot/initrd.img\n}\n",
	  NULL },
	{ "an entry of the admin's own", "0",
	  "### BEGIN /etc/grub.d/40_custom ###\n" FIRST "### END /etc/grub.d/40_custom ###\n",
	  "", BOOT_WANT_OFF, COPY_OF_FIRST(OFF), NULL },
	{ "a variable that holds the word", "0",
	  "set tuned_params=\"cgroup_disable=memory\"\n" LINUX(
		  "menuentry 'D' {\n\tlinux /boot/vmlinuz-6.1.0-20 ro "
		  "$tuned_params\n}\n"),
	  "", BOOT_WANT_ON, NULL, "would not have the same line" },
	{ "a variable that holds something else", "0",
	  "set tuned_params=\"audit=0\"\n" LINUX(
		  "menuentry 'D' {\n\tlinux /boot/vmlinuz-6.1.0-20 ro "
		  "$tuned_params\n}\n"),
	  "", BOOT_WANT_OFF,
	  "menuentry 'D, once with memcg off' $menuentry_id_option "
	  "'memcg-policy-trial' {\n"
	  "\tlinux /boot/vmlinuz-6.1.0-20 ro $tuned_params cgroup_disable=memory\n}\n",
	  NULL },
	{ "another system is the default", "0",
	  "### BEGIN /etc/grub.d/30_os-prober ###\n" FIRST
	  "### END /etc/grub.d/30_os-prober ###\n",
	  "", BOOT_WANT_OFF, NULL, "boots a kernel of this system" },
	{ "something that is no Linux is the default", "0",
	  LINUX("menuentry 'Setup' {\n\tfwsetup\n}\n" FIRST), "", BOOT_WANT_OFF, NULL,
	  "boots a kernel of this system" },
	{ "blscfg", "0", LINUX(FIRST "blscfg\n"), "", BOOT_WANT_OFF, NULL,
	  "boots a kernel of this system" },
	{ "the kernel is gone", "0",
	  LINUX("menuentry 'D' {\n\tlinux /boot/vmlinuz-5.10 ro\n}\n"), "", BOOT_WANT_OFF, NULL,
	  "cannot be found" },
	{ "somebody chose another entry", "0", LINUX(FIRST), "next_entry=first\n",
	  BOOT_WANT_OFF, NULL, "chosen for the next boot already" },
	{ "the initrd would stop it", "0",
	  LINUX("menuentry 'D' {\n\tlinux /boot/vmlinuz-6.1.0-20 rd.memcg-policy=halt\n}\n"),
	  "", BOOT_WANT_OFF, NULL, "may stop the trial" },
	{ "an open quote", "0",
	  LINUX("menuentry 'D' {\n\tlinux /boot/vmlinuz-6.1.0-20 ro x=\\\"a\n}\n"), "",
	  BOOT_WANT_OFF, NULL, "" },
};

struct planned {
	struct host host;
	struct changeset cs;
	struct diag diag;
	int r;
};

static void init(struct tree *tree, enum root_mode mode, const char *lasting, const char *menu,
		 const char *lines)
{
	_cleanup_free_ char *text = NULL, *header = NULL;
	char block[GRUBENV_SIZE + 1];
	int n = snprintf(block, sizeof(block), "# GRUB Environment Block\n%s", lines);

	memset(block + n, '#', sizeof(block) - (size_t)n);
	tree_init(tree, mode);
	assert_true(asprintf(&header, HEADER, lasting) >= 0);
	assert_true(str_printf(&text, "%s%s", header, menu) >= 0);
	tree_write(tree, cfg, text);
	tree_write_n(tree, env, block, GRUBENV_SIZE);
	tree_write(tree, "usr/sbin/grub-mkconfig", "default/grub.d\n");
	tree_write(tree, "boot/vmlinuz-6.1.0-20", "");
	tree_write(tree, "boot/vmlinuz-6.1.0-18", "");
	tree_mkdir(tree, "etc/grub.d");
}

static void plan(const struct tree *tree, enum boot_want want, struct planned *p)
{
	struct boot_words words;

	*p = (struct planned){};
	assert_int_equal(host_load_boot(tree->root, &p->host, &p->diag), 0);
	assert_int_equal(boot_words(&p->host.boot, want, &words, &p->diag), 0);
	p->r = grub_trial_plan_edits(&p->host.boot, &words, &p->cs, &p->diag);
}

static void planned_done(struct planned *p)
{
	changeset_done(&p->cs);
	host_done(&p->host);
	diag_done(&p->diag);
}

/* Writes what was planned. */
static void make(const struct tree *tree, const struct changeset *cs)
{
	for (size_t i = 0; i < cs->n; i++)
		tree_write_n(tree, cs->edits[i].path + 1, cs->edits[i].new.data,
			     cs->edits[i].new.size);
}

static void test_cases(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *old = NULL, *want = NULL;
		const struct edit *menu, *script, *block;
		struct planned p;
		struct tree tree;

		print_message("%s\n", cases[i].name);
		init(&tree, ROOT_SNAPSHOT, cases[i].lasting, cases[i].menu, cases[i].env);
		old = tree_read(&tree, cfg);
		plan(&tree, cases[i].want, &p);
		if (!cases[i].entry) {
			assert_true(p.r < 0);
			assert_int_equal(p.cs.n, 0);
			assert_true(p.diag.n > 0);
			assert_non_null(
				strstr(p.diag.messages[p.diag.n - 1].text, cases[i].why));
			planned_done(&p);
			tree_done(&tree);
			continue;
		}
		if (p.r < 0 && p.diag.n > 0)
			print_message("%s\n", p.diag.messages[0].text);
		assert_int_equal(p.r, 0);
		assert_int_equal(p.cs.n, 3);
		script = &p.cs.edits[0], menu = &p.cs.edits[1], block = &p.cs.edits[2];
		/* the block names the entry, so it is last */
		assert_string_equal(script->path, GRUB_OUR_SCRIPT);
		assert_string_equal(menu->path, "/boot/grub/grub.cfg");
		assert_string_equal(block->path, "/boot/grub/grubenv");
		assert_true(str_printf(&want,
				       "%s\n### BEGIN " GRUB_OUR_SCRIPT
				       " ###\n%s### END " GRUB_OUR_SCRIPT " ###\n",
				       old, cases[i].entry) >= 0);
		assert_string_equal(menu->new.data, want);
		assert_non_null(strstr(script->new.data, cases[i].entry));
		assert_non_null(strstr(block->new.data, "next_entry=memcg-policy-trial\n"));
		/* a second time there is nothing to do */
		make(&tree, &p.cs);
		planned_done(&p);
		plan(&tree, cases[i].want, &p);
		assert_int_equal(p.r, 0);
		assert_int_equal(p.cs.n, 0);
		assert_true(p.host.state.once && p.host.next_entry && p.host.next_entry->trial);
		assert_true(p.host.after_entry && !p.host.after_entry->trial);
		planned_done(&p);
		tree_done(&tree);
	}
}

/* GRUB with check_signatures=enforce reads no menu whose signature does not fit. */
static void test_signed(void **state)
{
	struct planned p;
	struct tree tree;

	(void)state;
	init(&tree, ROOT_SNAPSHOT, "0", LINUX(FIRST), "");
	tree_write(&tree, "boot/grub/grub.cfg.sig", "");
	plan(&tree, BOOT_WANT_OFF, &p);
	assert_int_equal(p.r, -ENOTSUP);
	assert_int_equal(p.cs.n, 0);
	assert_non_null(strstr(p.diag.messages[0].text, "signed"));
	planned_done(&p);
	tree_done(&tree);
}

/* It goes without a trace, and the block is the first to change. */
static void test_away(void **state)
{
	_cleanup_free_ char *old = NULL;
	struct planned p;
	struct tree tree;

	(void)state;
	init(&tree, ROOT_SNAPSHOT, "0", LINUX(FIRST), "a=b\n");
	old = tree_read(&tree, cfg);
	plan(&tree, BOOT_WANT_OFF, &p);
	make(&tree, &p.cs);
	changeset_done(&p.cs);
	assert_int_equal(grub_plan_no_trial(&p.host.boot, true, &p.cs, &p.diag), 0);
	assert_int_equal(p.cs.n, 3);
	assert_string_equal(p.cs.edits[0].path, "/boot/grub/grubenv");
	assert_true(p.cs.edits[0].flags & EDIT_ONE_WAY);
	assert_null(strstr(p.cs.edits[0].new.data, "next_entry"));
	assert_non_null(strstr(p.cs.edits[0].new.data, "a=b\n"));
	assert_string_equal(p.cs.edits[1].new.data, old);
	assert_null(p.cs.edits[2].new.data);
	/* only that the next boot is none */
	changeset_done(&p.cs);
	assert_int_equal(grub_plan_no_trial(&p.host.boot, false, &p.cs, &p.diag), 0);
	assert_int_equal(p.cs.n, 1);
	/* somebody else's choice is left alone */
	planned_done(&p);
	tree_done(&tree);
	init(&tree, ROOT_SNAPSHOT, "0", LINUX(FIRST), "next_entry=first\n");
	p = (struct planned){};
	assert_int_equal(host_load_boot(tree.root, &p.host, &p.diag), 0);
	assert_int_equal(grub_plan_no_trial(&p.host.boot, true, &p.cs, &p.diag), 0);
	assert_int_equal(p.cs.n, 0);
	planned_done(&p);
	tree_done(&tree);
}

/* By the kernel's name of the disk, on whatever file system the test runs. */
static void test_disks(void **state)
{
	static const struct {
		const char *disk, *menu, *why;
	} disks[] = {
		{ "pci0/virtio0/block/vda/vda1", NULL, NULL },
		{ "pci0/nvme/nvme0/nvme0n1/nvme0n1p2", NULL, NULL },
		{ "virtual/block/dm-0", NULL, "LVM" },
		{ "virtual/block/md127", NULL, "RAID" },
		{ "virtual/block/loop0", NULL, "not known" },
		{ NULL, NULL, "cannot be told" },
		{ "pci0/block/sda/sda1", "menuentry 'x' {\n}\n", "lines that forget it" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(disks); i++) {
		const struct running running = { .machine = (char *)"x86_64" };
		_cleanup_free_ char *path = NULL, *target = NULL, *menu = NULL;
		_cleanup_diag_ struct diag diag = {};
		struct tree tree;
		struct stat st;
		int r;

		init(&tree, ROOT_SNAPSHOT, "0", LINUX(FIRST), "");
		assert_int_equal(root_stat(tree.root, "/boot/grub/grubenv", &st), 0);
		if (disks[i].disk) {
			assert_true(str_printf(&path, "sys/dev/block/%u:%u", major(st.st_dev),
					       minor(st.st_dev)) >= 0);
			assert_true(str_printf(&target, "../../devices/%s", disks[i].disk) >=
				    0);
			tree_mkdir(&tree, "sys/dev/block");
			tree_symlink(&tree, target, path);
		}
		menu = tree_read(&tree, cfg);
		r = grub_once_check(tree.root, &running, "/boot/grub/grubenv",
				    disks[i].menu ? disks[i].menu : menu, &diag);
		/* what the test's own file system is has its turn first */
		if (r < 0 && strstr(diag.messages[0].text, "file system")) {
			print_message("SKIP disks: %s\n", diag.messages[0].text);
			tree_done(&tree);
			return;
		}
		print_message("%s: %s\n", disks[i].disk ? disks[i].disk : "none",
			      r < 0 ? diag.messages[0].text : "yes");
		assert_int_equal(r, disks[i].why ? -ENOTSUP : 0);
		if (disks[i].why)
			assert_non_null(strstr(diag.messages[0].text, disks[i].why));
		tree_done(&tree);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
		cmocka_unit_test(test_signed),
		cmocka_unit_test(test_away),
		cmocka_unit_test(test_disks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
