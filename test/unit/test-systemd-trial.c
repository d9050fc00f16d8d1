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

static void check_refused(int r, const struct changeset *cs, const struct diag *diag,
			  const char *why)
{
	assert_int_equal(r, -ENOTSUP);
	assert_int_equal(cs->n, 0);
	assert_non_null(strstr(diag->messages[diag->n - 1].text, why));
}

/* Of a trial that is written and chosen: a second time nothing is to do, and it goes. */
static void check_again(const struct host *again, const struct boot_words *words,
			struct changeset *cs, struct diag *diag)
{
	changeset_done(cs);
	assert_int_equal(systemd_plan_trial(&again->boot, &again->state, words, cs, diag), 0);
	assert_true(changeset_is_empty(cs));
	assert_int_equal(systemd_plan_no_trial(&again->boot, true, cs, diag), 0);
	assert_int_equal(cs->n, 1);
	assert_null(cs->edits[0].new.data);
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
			check_refused(r, &cs, &diag, cases[i].why);
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
		check_again(&again, &words, &cs, &diag);
		tree_done(&tree);
	}
}

/* --- unified kernel images --- */

#define IMAGE_TRIAL(want, options)                                                             \
	"title linux.efi, once with memcg " want "\nsort-key zz-memcg-policy\nefi /EFI/Linux/" \
	"linux.efi\noptions " options "\n"

static const struct {
	const char *name;
	const char *file;
	const char *stub, *line; /* of the image */
	const char *addon;	 /* its line, or NULL */
	int secure_boot;	 /* -1: not said */
	enum boot_want want;
	const char *trial; /* NULL: refused */
	const char *why;
} images[] = {
	{ "off", "linux.efi", "257.7", " root=x\tro\nquiet\n", NULL, 0, BOOT_WANT_OFF,
	  IMAGE_TRIAL("off", "root=x ro quiet cgroup_disable=memory"), NULL },
	{ "on", "linux.efi", "254", "root=x cgroup_disable=memory,pids ro", "quiet", 0,
	  BOOT_WANT_ON, IMAGE_TRIAL("on", "root=x cgroup_disable=pids ro"), NULL },
	{ "an add-on says the opposite", "linux.efi", "257.7", "root=x",
	  "cgroup_disable=memory", 0, BOOT_WANT_ON, NULL, "an add-on says the opposite" },
	{ "Secure Boot", "linux.efi", "257.7", "root=x", NULL, 1, BOOT_WANT_OFF, NULL,
	  "Secure Boot is on" },
	{ "Secure Boot is not told", "linux.efi", "257.7", "root=x", NULL, -1, BOOT_WANT_OFF,
	  NULL, "Secure Boot is on, or cannot be told" },
	{ "an old stub", "linux.efi", "252.39", "root=x", NULL, 0, BOOT_WANT_OFF, NULL,
	  "older than systemd 254" },
	{ "no line of its own", "linux.efi", "257.7", NULL, NULL, 0, BOOT_WANT_OFF, NULL,
	  "no line of its own" },
	{ "boots are counted", "linux+3.efi", "257.7", "root=x", NULL, 0, BOOT_WANT_OFF, NULL,
	  "changes as boots are counted" },
	{ "an open quote", "linux.efi", "257.7", "root=x \"a", NULL, 0, BOOT_WANT_OFF, NULL,
	  "inside a quote" },
	{ "quotes at both ends", "linux.efi", "257.7", "cgroup_disable=memory \"a b\"", NULL, 0,
	  BOOT_WANT_ON, NULL, "begins and ends with a quote" },
};

static void put_le(struct strbuf *out, size_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		strbuf_addc(out, (char)(value >> 8 * i));
}

static void pad(struct strbuf *out, size_t to)
{
	while (out->len < to)
		strbuf_addc(out, '\0');
}

/* A PE image; sections are names and texts in turn, a text that is NULL drops its section. */
static void write_image(const struct tree *tree, const char *path, const char *const *sections)
{
	_cleanup_strbuf_ struct strbuf table = {}, bodies = {}, out = {};
	unsigned n = 0;

	for (; *sections; sections += 2) {
		size_t start = table.len;

		if (!sections[1])
			continue;
		strbuf_adds(&table, sections[0]);
		pad(&table, start + 8);
		put_le(&table, strlen(sections[1]), 4);
		put_le(&table, 0, 4);
		put_le(&table, strlen(sections[1]), 4);
		put_le(&table, 0x400 + bodies.len, 4);
		pad(&table, start + 40);
		strbuf_adds(&bodies, sections[1]);
		n++;
	}
	strbuf_adds(&out, "MZ");
	pad(&out, 0x3c);
	put_le(&out, 0x80, 4);
	pad(&out, 0x80);
	strbuf_add(&out, "PE\0\0\x64\x86", 6);
	put_le(&out, n, 2);
	pad(&out, 0x80 + 20);
	put_le(&out, 16, 2); /* the optional header */
	pad(&out, 0x80 + 24 + 16);
	strbuf_add(&out, table.data, table.len);
	pad(&out, 0x400);
	if (bodies.len > 0)
		strbuf_add(&out, bodies.data, bodies.len);
	assert_false(out.failed);
	tree_write_n(tree, path, out.data, out.len);
}

static void init_image(struct tree *tree, size_t i)
{
	const char features[12] = { 6, 0, 0, 0, 0x3f };
	const char secure[] = { 6, 0, 0, 0, images[i].secure_boot == 1 };
	_cleanup_free_ char *path = NULL, *addon = NULL, *magic = NULL;

	tree_init(tree, ROOT_SNAPSHOT);
	write_variable(tree, "LoaderInfo", "systemd-boot 257.7");
	write_variable(tree, "StubInfo", "systemd-stub 257.7");
	tree_write_n(tree, EFIVARS "LoaderFeatures" LOADER, features, sizeof(features));
	/* one byte behind the attributes is what it has to be */
	tree_write_n(tree, EFIVARS "SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c", secure,
		     images[i].secure_boot >= 0 ? 5 : 4);
	tree_write(tree, "usr/bin/bootctl", "");
	tree_write(tree, "etc/os-release", "ID=arch\n");
	assert_true(str_printf(&path, "efi/EFI/Linux/%s", images[i].file) >= 0);
	assert_true(str_printf(&addon, "%s.extra.d/x.addon.efi", path) >= 0);
	assert_true(str_printf(&magic, "#### LoaderInfo: systemd-stub %s ####",
			       images[i].stub) >= 0);
	write_image(tree, path,
		    (const char *const[]){ ".sdmagic", magic, ".linux", "MZ", ".osrel",
					   "ID=arch\n", ".cmdline", images[i].line, NULL });
	if (images[i].addon)
		write_image(tree, addon,
			    (const char *const[]){ ".cmdline", images[i].addon, NULL });
}

static void test_images(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(images); i++) {
		static const char path[] = "efi/loader/entries/" SYSTEMD_TRIAL_ID ".conf";
		_cleanup_host_ struct host host = {}, again = {};
		_cleanup_changeset_ struct changeset cs = {};
		_cleanup_diag_ struct diag diag = {};
		struct boot_words words;
		struct tree tree;
		int r;

		print_message("%s\n", images[i].name);
		init_image(&tree, i);
		assert_int_equal(host_load_boot(tree.root, &host, &diag), 0);
		assert_string_equal(host.boot.backend->name, "uki");
		assert_int_equal(boot_words(&host.boot, images[i].want, &words, &diag), 0);
		r = systemd_plan_trial(&host.boot, &host.state, &words, &cs, &diag);
		if (!images[i].trial) {
			check_refused(r, &cs, &diag, images[i].why);
			tree_done(&tree);
			continue;
		}
		assert_int_equal(r, 0);
		assert_int_equal(cs.n, 1);
		assert_int_equal(cs.refresh, REFRESH_RUN);
		assert_string_equal(cs.edits[0].path + 1, path);
		assert_string_equal(cs.edits[0].new.data, images[i].trial);
		/* the same backend, once its entry, and the image as before behind it */
		tree_write(&tree, path, images[i].trial);
		write_variable(&tree, "LoaderEntryOneShot", SYSTEMD_TRIAL_ID ".conf");
		assert_int_equal(host_load_boot(tree.root, &again, &diag), 0);
		assert_string_equal(again.boot.backend->name, "uki");
		assert_true(again.state.once && again.next_entry->trial &&
			    !again.next_entry->ours);
		assert_true(boot_entry_is(again.next_entry, images[i].want));
		assert_true(again.after_entry && again.after_entry->ours);
		assert_string_equal(again.after_entry->id, "linux.efi");
		check_again(&again, &words, &cs, &diag);
		tree_done(&tree);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
		cmocka_unit_test(test_images),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
