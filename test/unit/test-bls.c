/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tree.h"

#include "base/diag.h"
#include "base/str.h"
#include "boot/bls.h"

#include <stdio.h>

/* "id|left,done|title|image|flags|options" as the reader sees it. */
static char *parsed(const char *name, const char *text, size_t size, enum bls_reader reader)
{
	_cleanup_bls_entry_ struct bls_entry e = {};
	_cleanup_free_ char *options = NULL;
	struct strbuf out = {};
	char *ret;

	assert_int_equal(bls_parse(name, text, size, reader, &e), 0);
	for (size_t i = 0; i < e.lines.n; i++)
		assert_true(e.lines.pieces[i].offset + e.lines.pieces[i].size <= size);
	assert_int_equal(lines_join(text, &e.lines, 0, &options), 0);
	strbuf_addf(&out, "%s|%d,%d|%s|%s|", e.id, e.tries_left, e.tries_done,
		    e.title ? e.title : "-", e.image ? e.image : "-");
	strbuf_adds(&out, e.rescue ? "r" : "");
	strbuf_adds(&out, e.boom ? "b" : "");
	strbuf_adds(&out, e.not_linux ? "x" : "");
	if (e.cut_line)
		strbuf_addf(&out, "c%u", e.cut_line);
	strbuf_addf(&out, "|%s", e.lines.n ? options : "-");
	assert_int_equal(strbuf_take(&out, &ret, NULL), 0);
	return ret;
}

static void test_parse(void **state _unused_)
{
	static const struct {
		const char *name;
		const char *text;
		enum bls_reader reader;
		const char *want;
	} cases[] = {
		{ "a.conf", "title A b\nlinux /v\noptions x y\n", BLS_SYSTEMD,
		  "a|-1,-1|A b|/v||x y" },
		{ "a.conf", "title\tA\nlinux\t/v\noptions\tx y", BLS_SYSTEMD,
		  "a|-1,-1|A|/v||x y" },
		{ "a.conf", "linux /v\r\noptions x\r\n\r\noptions y \r\n", BLS_SYSTEMD,
		  "a|-1,-1|-|/v||x y" },
		{ "a.conf", "linux /v\r\noptions x\r\noptions y\r\n", BLS_GRUB,
		  "a|-1,-1|-|/v||x" },
		/* several are joined by the one, the first is taken by the other */
		{ "a.conf", "options x\noptions y  z\nlinux /v\n", BLS_SYSTEMD,
		  "a|-1,-1|-|/v||x y  z" },
		{ "a.conf", "options x\noptions y  z\nlinux /v\n", BLS_GRUB,
		  "a|-1,-1|-|/v||x" },
		/* a blank line ends it for GRUB */
		{ "a.conf", "linux /v\n\noptions x\n", BLS_GRUB, "a|-1,-1|-|/v|c2|-" },
		{ "a.conf", "linux /v\n\noptions x\n", BLS_SYSTEMD, "a|-1,-1|-|/v||x" },
		{ "a.conf", "linux /v\ngrub_users \noptions x\n", BLS_GRUB,
		  "a|-1,-1|-|/v|c2|-" },
		{ "a.conf", "linux /v\n# options z\n  options x  \n", BLS_SYSTEMD,
		  "a|-1,-1|-|/v||x" },
		{ "a.conf", "linux /v\noptions \"x y\"\n", BLS_SYSTEMD, "a|-1,-1|-|/v||x y" },
		{ "a.conf", "linux /v\noptions \"x y\" z\n", BLS_SYSTEMD,
		  "a|-1,-1|-|/v||\"x y\" z" },
		{ "a.conf", "linux /v\noptions \"x y\"\n", BLS_GRUB, "a|-1,-1|-|/v||\"x y\"" },
		{ "a.conf", "title A\ntitle B\nlinux /v\n", BLS_SYSTEMD, "a|-1,-1|B|/v||-" },
		{ "a.conf", "title A\ntitle B\nlinux /v\n", BLS_GRUB, "a|-1,-1|A|/v||-" },
		{ "a.conf", "options\n", BLS_SYSTEMD, "a|-1,-1|-|-||-" },
		{ "a.conf", "efi /x.efi\noptions y\n", BLS_SYSTEMD, "a|-1,-1|-|-|x|y" },
		{ "a.conf", "optionsx y\nlinux /v\n", BLS_SYSTEMD, "a|-1,-1|-|/v||-" },
		{ "a.conf", "", BLS_GRUB, "a|-1,-1|-|-||-" },
		/* boot counters */
		{ "a+3-1.conf", "", BLS_SYSTEMD, "a|3,1|-|-||-" },
		{ "a+0.conf", "", BLS_SYSTEMD, "a|0,0|-|-||-" },
		{ "a-6.1+deb.conf", "", BLS_SYSTEMD, "a-6.1+deb|-1,-1|-|-||-" },
		{ "a+debug+2.conf", "", BLS_SYSTEMD, "a+debug|2,0|-|-||-" },
		{ "a+99999999999.conf", "", BLS_SYSTEMD, "a+99999999999|-1,-1|-|-||-" },
		{ "a+3-.conf", "", BLS_SYSTEMD, "a+3-|-1,-1|-|-||-" },
		/* left alone */
		{ "0123456789abcdef0123456789abcdef-0-rescue.conf", "", BLS_GRUB,
		  "0123456789abcdef0123456789abcdef-0-rescue|-1,-1|-|-|r|-" },
		{ "m-0-rescue-0123.conf", "", BLS_GRUB, "m-0-rescue-0123|-1,-1|-|-|r|-" },
		{ "x-rescue.conf", "", BLS_GRUB, "x-rescue|-1,-1|-|-|r|-" },
		{ "0123456-89abcde-6.5.6.conf", "", BLS_GRUB,
		  "0123456-89abcde-6.5.6|-1,-1|-|-|b|-" },
		{ "0123456-6.5.6-300.fc39.conf", "", BLS_GRUB,
		  "0123456-6.5.6-300.fc39|-1,-1|-|-||-" },
		{ "z.conf", "#OsIdentifier: 01234\nlinux /v\n", BLS_SYSTEMD,
		  "z|-1,-1|-|/v|b|-" },
	};
	_cleanup_free_ char *nul =
		parsed("a.conf", "options x\0y\nlinux /v\n", 21, BLS_SYSTEMD);

	assert_string_equal(nul, "a|-1,-1|-|-||x");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *got = parsed(cases[i].name, cases[i].text,
						  strlen(cases[i].text), cases[i].reader);

		if (!streq(got, cases[i].want))
			fail_msg("case %zu: %s, not %s", i, got, cases[i].want);
	}
}

static void test_names(void **state _unused_)
{
	assert_true(bls_is_entry_name("a.conf", BLS_GRUB));
	assert_true(bls_is_entry_name("a.CONF", BLS_SYSTEMD));
	assert_false(bls_is_entry_name("a.CONF", BLS_GRUB));
	assert_false(bls_is_entry_name(".a.conf", BLS_GRUB));
	assert_false(bls_is_entry_name(".conf", BLS_SYSTEMD));
	assert_false(bls_is_entry_name("Auto-x.conf", BLS_SYSTEMD));
	assert_false(bls_is_entry_name("a.conf.bak", BLS_SYSTEMD));
}

/* Every byte outside the options stays. */
static void test_edit(void **state _unused_)
{
	static const struct {
		const char *text;
		enum bls_reader reader;
		const char *want;
	} cases[] = {
		{ "title A\noptions root=x $tuned_params\nlinux /v\n", BLS_GRUB,
		  "title A\noptions root=x $tuned_params cgroup_disable=memory\nlinux /v\n" },
		{ "options\troot=x\r\nlinux /v\r\n", BLS_SYSTEMD,
		  "options\troot=x cgroup_disable=memory\r\nlinux /v\r\n" },
		{ "options\troot=x\r\nlinux /v\r\n", BLS_GRUB,
		  "options\troot=x cgroup_disable=memory\r\nlinux /v\r\n" },
		{ "linux /v\noptions root=x", BLS_GRUB,
		  "linux /v\noptions root=x cgroup_disable=memory" },
		{ "options 'root=x'  \n", BLS_SYSTEMD,
		  "options 'root=x cgroup_disable=memory'  \n" },
		{ "options a  \noptions b\n", BLS_SYSTEMD,
		  "options a cgroup_disable=memory  \noptions b\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_diag_ struct diag diag = {};
		_cleanup_lines_ struct lines lines = {};
		_cleanup_free_ char *got = NULL;
		const char *text = cases[i].text;
		int r = (cases[i].reader == BLS_GRUB ? bls_find_grub : bls_find_systemd)(
			text, strlen(text), "/boot/loader/entries/a.conf", &lines, &diag);

		assert_int_equal(r, 0);
		r = lines_edit(text, strlen(text), &lines, MEMCG_OFF, 0, "f", &got, NULL,
			       &diag);
		assert_int_equal(r, 1);
		if (!streq(got, cases[i].want))
			fail_msg("case %zu: \"%s\", not \"%s\"", i, got, cases[i].want);
	}
}

static void test_versions(void **state _unused_)
{
	/* UAPI.10's own list, oldest first */
	static const char *const uapi[] = { "122.1",   "123~rc1-1", "123",     "123-a",
					    "123-a.1", "123-1",	    "123-1.1", "123^post1",
					    "123.a-1", "123.1-1",   "123a-1",  "124-1" };
	static const char *const rpm[] = { "1.0~rc1", "1.0",	"1.0a", "1.0.1", "1.2",
					   "1.10",    "1.10.1", "2",	"10" };
	static const struct {
		const char *older;
		const char *newer;
	} ids[] = {
		{ "m-6.5.6-300.fc39.x86_64", "m-6.5.10-300.fc39.x86_64" },
		{ "m-0-rescue", "m-5.14.0-70.el9.x86_64" },
		{ "m-5.14.0-70.el9.x86_64", "m-5.14.0-70.el9.x86_64+debug" },
		{ "m-5.14.0-70.el9.x86_64", "m-5.14.0-162.el9.x86_64" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(uapi); i++)
		for (size_t k = 0; k < ARRAY_SIZE(uapi); k++)
			assert_int_equal(bls_compare_uapi(uapi[i], uapi[k]), (i > k) - (i < k));
	assert_int_equal(bls_compare_uapi(NULL, ""), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rpm); i++)
		for (size_t k = 0; k < ARRAY_SIZE(rpm); k++)
			if (bls_compare_rpm(rpm[i], strlen(rpm[i]), rpm[k], strlen(rpm[k])) !=
			    (i > k) - (i < k))
				fail_msg("%s and %s", rpm[i], rpm[k]);
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		struct bls_entry a = { .id = (char *)ids[i].older },
				 b = { .id = (char *)ids[i].newer };

		if (bls_compare(&b, &a, BLS_GRUB) != -1 || bls_compare(&a, &b, BLS_GRUB) != 1)
			fail_msg("%s and %s", a.id, b.id);
	}
}

static void test_order(void **state _unused_)
{
	static char fedora[] = "fedora", one[] = "1", two[] = "2", m[] = "m", id1[] = "i1",
		    id2[] = "i2";
	struct bls_entry key_old = { .id = id1,
				     .sort_key = fedora,
				     .version = one,
				     .machine_id = m,
				     .tries_left = -1 },
			 key_new = { .id = id1,
				     .sort_key = fedora,
				     .version = two,
				     .machine_id = m,
				     .tries_left = -1 },
			 bare_old = { .id = id1, .tries_left = -1 },
			 bare_new = { .id = id2, .tries_left = -1 },
			 bad = { .id = id2,
				 .sort_key = fedora,
				 .version = two,
				 .machine_id = m },
			 some = { .id = id2, .tries_left = 1, .tries_done = 2 },
			 more = { .id = id2, .tries_left = 3 };
	const struct bls_entry *order[] = { &key_new, &key_old, &bare_new, &bare_old, &bad };

	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		for (size_t k = 0; k < ARRAY_SIZE(order); k++)
			if (bls_compare(order[i], order[k], BLS_SYSTEMD) != (i > k) - (i < k))
				fail_msg("%zu and %zu", i, k);
	assert_int_equal(bls_compare(&more, &some, BLS_SYSTEMD), -1);
}

static const char *value(const char *name, void *userdata _unused_)
{
	return streq(name, "kernelopts") ? "root=x ro" : streq(name, "e") ? "" : NULL;
}

static void test_expand(void **state _unused_)
{
	static const struct {
		const char *text;
		const char *want;
	} cases[] = {
		{ "$kernelopts", "root=x ro " },
		{ "$kernelopts $tuned_params", "root=x ro " },
		{ "a $kernelopts quiet", "a root=x ro quiet" },
		{ "a \\$kernelopts", "a \\$kernelopts" },
		{ "$", "" },
		{ "a$", "a" },
		{ "$e$e", "  " },
		{ "", "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *got = NULL;

		assert_int_equal(bls_expand(cases[i].text, value, NULL, &got), 0);
		if (!streq(got, cases[i].want))
			fail_msg("case %zu: \"%s\", not \"%s\"", i, got, cases[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse), cmocka_unit_test(test_names),
		cmocka_unit_test(test_edit),  cmocka_unit_test(test_versions),
		cmocka_unit_test(test_order), cmocka_unit_test(test_expand),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
