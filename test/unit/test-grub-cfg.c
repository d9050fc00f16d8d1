/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tree.h"

#include "base/diag.h"
#include "base/str.h"
#include "boot/grub-cfg.h"

#include <stdio.h>

#define ENV_SIZE 1024

/* An environment block: the header, the lines, and # up to its size. */
static void make_env(char *block, const char *lines)
{
	int n = snprintf(block, ENV_SIZE, "# GRUB Environment Block\n%s", lines);

	assert_true(n > 0 && n < ENV_SIZE);
	memset(block + n, '#', ENV_SIZE - (size_t)n);
}

/* "title|image|args|line[ default][ recovery][ ours]" of each entry, one a line. */
static char *summary(const char *text, const char *env, int *ret_r)
{
	_cleanup_grub_cfg_ struct grub_cfg cfg = {};
	_cleanup_diag_ struct diag diag = {};
	struct strbuf buf = {};
	char *ret;

	*ret_r = grub_cfg_parse("/boot/grub/grub.cfg", text, strlen(text), env, &cfg, &diag);
	if (*ret_r < 0) {
		assert_int_equal(diag_count(&diag, DIAG_ERROR), 1);
		return NULL;
	}
	for (size_t i = 0; i < cfg.entries.n; i++) {
		const struct boot_entry *e = &cfg.entries.items[i];

		strbuf_addf(&buf, "%s|%s|%s|%u%s%s%s\n", e->title, e->image, e->args, e->line,
			    e->is_default ? " default" : "", e->recovery ? " recovery" : "",
			    e->ours ? " ours" : "");
	}
	if (cfg.blscfg)
		strbuf_adds(&buf, "blscfg\n");
	if (cfg.stub)
		strbuf_adds(&buf, "stub\n");
	assert_int_equal(strbuf_take(&buf, &ret, NULL), 0);
	return ret;
}

#define BEGIN(name) "### BEGIN /etc/grub.d/" name " ###\n"
#define END(name)   "### END /etc/grub.d/" name " ###\n"

static void test_entries(void **state _unused_)
{
	static const struct {
		const char *text, *env, *want;
	} cases[] = {
		{ BEGIN("10_linux") "menuentry 'A' --class os $menuentry_id_option 'a-id' {\n"
				    "\tlinux\t/boot/vmlinuz-1 root=/dev/vda1 ro  "
				    "quiet\n}\n" END("10_linux"),
		  NULL, "A|/boot/vmlinuz-1|root=/dev/vda1 ro quiet|3 default ours\n" },
		/* a menu in a menu, and the second entry by its index */
		{ "set default=\"1>1\"\n" BEGIN(
			  "10_linux") "menuentry 'A' { linux /k a\n}\n"
				      "submenu 'More' {\n"
				      " menuentry 'B' {\n  linux /k b\n }\n"
				      " menuentry 'C' {\n  linux /k c\n }\n}\n" END("10_linux"),
		  NULL,
		  "A|/k|a|3 ours\nMore > B|/k|b|7 ours\nMore > C|/k|c|10 default ours\n" },
		/* saved_entry, by id, is used only when the file says so */
		{ "if [ \"${env_block}\" ]; then\nload_env\nfi\nset "
		  "default=\"${saved_entry}\"\n"
		  "menuentry 'A' $menuentry_id_option 'a' {\nlinux /k a\n}\n"
		  "menuentry 'B' $menuentry_id_option 'b' {\nlinux /k b\n}\n",
		  "saved_entry=b\n", "A|/k|a|6\nB|/k|b|9 default\n" },
		/* somebody else's, and Xen's dom0 on a module2 line, whose first word is no
		 * argument
		 */
		{ BEGIN("20_linux_xen") "menuentry 'X' {\n multiboot2 /xen.gz placeholder\n"
					" module2 /vmlinuz-1 placeholder root=/dev/vda1 x\n"
					" module2 --nounzip /initrd\n}\n" END("20_linux_xen")
						BEGIN("40_custom") "menuentry 'Mine' {\n linux "
								   "/k y\n}\n" END("40_custom"),
		  NULL, "X|/vmlinuz-1|root=/dev/vda1 x|4 default ours\nMine|/k|y|10\n" },
		/* scripts under another number, as people order their menu, and a proxy */
		{ BEGIN("09_os-prober") "menuentry 'W' { linux /k w\n}\n" END("09_os-prober")
			  BEGIN("50_linux") "menuentry 'A' { linux /k a\n}\n" END("50_linux")
				  BEGIN("10_linux_proxy") "menuentry 'B' { linux /k b\n}\n" END(
					  "10_linux_proxy")
					  BEGIN("41_my_linux") "menuentry 'C' { linux /k "
							       "c\n}\n",
		  NULL, "W|/k|w|2 default\nA|/k|a|6 ours\nB|/k|b|10 ours\nC|/k|c|14\n" },
		/* the default boots no Linux: none of the entries is it */
		{ "set default=1\nmenuentry 'Memtest' { linux16 /memtest\n}\n"
		  "menuentry 'Setup' { fwsetup\n}\nmenuentry 'A' { linux /k a\n}\n",
		  NULL, "Memtest|/memtest||2\nA|/k|a|6\n" },
		{ "blscfg\n", NULL, "blscfg\n" },
		{ "search --fs-uuid --set=root x\nconfigfile $prefix/grub.cfg\n", NULL,
		  "stub\n" },
		{ "", NULL, "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char env[ENV_SIZE];
		_cleanup_free_ char *got = NULL;
		int r;

		if (cases[i].env)
			make_env(env, cases[i].env);
		got = summary(cases[i].text, cases[i].env ? env : NULL, &r);
		assert_int_equal(r, 0);
		if (!streq(got, cases[i].want))
			fail_msg("case %zu: got\n%swanted\n%s", i, got, cases[i].want);
	}
}

static void test_open_ends(void **state _unused_)
{
	static const char *const bad[] = {
		"menuentry 'A {\n linux /k\n}\n",
		"menuentry 'A' {\n linux /k\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		int r;

		assert_null(summary(bad[i], NULL, &r));
		assert_int_equal(r, -EBADMSG);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_entries),
		cmocka_unit_test(test_open_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
