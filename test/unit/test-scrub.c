/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tree.h"

#include "base/scrub.h"
#include "base/str.h"

#define UUID	 "1b4e28ba-2fa1-41d2-883f-b9a761bde3fb"
#define STAND_IN "c0ffee00-0000-0000-0000-000000000001"

static void test_text(void **state _unused_)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		/* ids: the same one however it is written */
		{ "root=UUID=" UUID " ro", "root=UUID=" STAND_IN " ro" },
		{ "1B4E28BA2FA141D2883FB9A761BDE3FB " UUID,
		  "c0ffee00000000000000000000000001 " STAND_IN },
		{ "a1b4e28ba2fa141d2883fb9a761bde3fb", "a1b4e28ba2fa141d2883fb9a761bde3fb" },
		{ "search --fs-uuid BEEF-1234", "search --fs-uuid 0000-0001" },
		{ "2023-2024 6.1.0-1234", "2023-2024 6.1.0-1234" },
		/* addresses, and what is none */
		{ "ip=192.168.1.2::10.0.0.1:255.255.255.0:x",
		  "ip=000.000.0.0::00.0.0.0:255.255.255.0:x" },
		{ "127.0.0.1 0.0.0.0 ::1", "127.0.0.1 0.0.0.0 ::1" },
		{ "5.15.153.1-microsoft 1.2.3.4.5", "5.15.153.1-microsoft 1.2.3.4.5" },
		{ "fe80::a1b2:c3d4 12:34:56", "0000::0000:0000 12:34:56" },
		{ "52:54:00:ab:cd:ef 01-52-54-00-ab-cd-ef",
		  "00:00:00:00:00:00 00-00-00-00-00-00-00" },
		/* names stand as words; case does not matter */
		{ "/dev/mapper/gandalf--vg-root /home/Frodo/x", "/dev/mapper/hostxx1--vg-root "
								"/home/user1/x" },
		{ "gandalfs frodo_x memory.max", "gandalfs frodo_x memory.max" },
		/* secrets: by name */
		{ "password=hunter2 quiet", "password=xxxxxxx quiet" },
		{ "rd.luks.key=/a b", "rd.luks.key=xx b" },
		{ "keymap=de KeyringMode=shared", "keymap=de KeyringMode=shared" },
		{ "x --api-token abc --memory 1g", "x --api-token xxx --memory 1g" },
		{ "{\"apiKey\": \"a b\", \"Memory\": 5}",
		  "{\"apiKey\": \"x x\", \"Memory\": 5}" },
		{ "Authorization: Basic abc", "Authorization: xxxxx xxx" },
		{ "password root hunter2", "password xxxx xxxxxxx" },
		/* by place */
		{ "Environment=A=b \"C=d e\" F='g h'", "Environment=A=x \"C=x x\" F='x x'" },
		{ "run -e A=b --env=C=d --env E=f", "run -e A=x --env=C=x --env E=x" },
		{ "https://u:p@h/ https://h/", "https://xxx@h/ https://h/" },
		{ "{\"Env\": [\"A=b\", \"C=d\"], \"Memory\": 1}",
		  "{\"Env\": [\"A=x\", \"C=x\"], \"Memory\": 1}" },
		{ "SetCredential=a:b c", "SetCredential=xxx x" },
		/* by form */
		{ "ghp_abcdefghijklmnop $6$salt$hashhash",
		  "ghp_xxxxxxxxxxxxxxxx $6$xxxxxxxxxxxxx" },
		{ "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\nMIIE",
		  "-----BEGIN PRIVATE KEY-----\nxxxx\n-----END PRIVATE KEY-----\nMIIE" },
		/* what decides stays */
		{ "GRUB_CMDLINE_LINUX=\"cgroup_disable=memory swapaccount=1\"",
		  "GRUB_CMDLINE_LINUX=\"cgroup_disable=memory swapaccount=1\"" },
		{ "MemoryMax=1G\nMemoryLow=5%", "MemoryMax=1G\nMemoryLow=5%" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_scrub_ struct scrub scrub = {};
		/* one allocation each, so that a byte too far is seen */
		_cleanup_free_ char *text = strdup(cases[i].text);

		assert_true(scrub_add_name(&scrub, SCRUB_HOST, "gandalf"));
		assert_true(scrub_add_name(&scrub, SCRUB_USER, "frodo"));
		assert_int_equal(scrub_text(&scrub, text, strlen(text), false), 0);
		if (!streq(text, cases[i].want))
			fail_msg("%s:\n%s\n%s", cases[i].text, text, cases[i].want);
		/* once more changes nothing */
		assert_int_equal(scrub_text(&scrub, text, strlen(text), false), 0);
		if (!strstr(text, "c0ffee") && !strstr(text, "0000-0001"))
			assert_string_equal(text, cases[i].want);
	}
}

static void test_names(void **state _unused_)
{
	static const char *const left[] = { "pi", "debian", "Docker", "max", "localhost" };
	_cleanup_scrub_ struct scrub scrub = {};

	for (size_t i = 0; i < ARRAY_SIZE(left); i++)
		assert_false(scrub_add_name(&scrub, SCRUB_USER, left[i]));
	assert_int_equal(scrub.names[SCRUB_USER].n, 0);
}

/* Short runs of printable bytes in large binary files stay: compressed data. */
static void test_binary(void **state _unused_)
{
	enum { SIZE = 8192 };
	_cleanup_scrub_ struct scrub scrub = {};
	_cleanup_free_ char *data = calloc(SIZE, 1);

	assert_true(scrub_add_name(&scrub, SCRUB_HOST, "gandalf"));
	memcpy(data + 100, "gandalf", 7);
	memcpy(data + 200, "root=UUID=" UUID, 46);
	assert_int_equal(scrub_text(&scrub, data, SIZE, false), 0);
	assert_memory_equal(data + 100, "gandalf", 8);
	assert_memory_equal(data + 200, "root=UUID=" STAND_IN, 47);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_binary),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
