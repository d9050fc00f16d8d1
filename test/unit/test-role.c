/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "need-tree.h"

#include "base/diag.h"
#include "base/str.h"
#include "policy/decide.h"

static void test_role(void **state _unused_)
{
	static const struct {
		struct need_file files[5];
		const char *role;
		const char *want; /* "path: text" */
	} cases[] = {
		{ {},
		  "server",
		  "-: neither a container engine in use nor an enabled display manager was "
		  "seen, "
		  "so this is taken for a server" },
		{ { { "engine", "" } },
		  "container-host",
		  "/engine: X is in use: is there, so the role is container-host" },
		{ { { LIB "gdm.service", UNIT },
		    { LIB "default.target", "->graphical.target" },
		    { ETC "display-manager.service", "->/" LIB "gdm.service" } },
		  "desktop",
		  "/" ETC
		  "display-manager.service: gdm.service is enabled and the system boots to "
		  "graphical.target, so this looks like a desktop (Role= names another role)" },
		{ { { LIB "gdm.service", UNIT },
		    { LIB "default.target", "->graphical.target" },
		    { ETC "default.target", "->/" LIB "multi-user.target" },
		    { ETC "display-manager.service", "->/" LIB "gdm.service" } },
		  "server",
		  "-: neither a container engine in use nor an enabled display manager was "
		  "seen, "
		  "so this is taken for a server" },
		{ { { "etc/init.d/sddm", "x" },
		    { "etc/runlevels/default/sddm", "->/etc/init.d/sddm" } },
		  "desktop",
		  "/etc/runlevels/default/sddm: sddm.service is enabled, so this looks like a "
		  "desktop (Role= names another role)" },
		{ { { "engine", "|" } },
		  "server",
		  "-: neither a container engine in use nor an enabled display manager was "
		  "seen, "
		  "though not everything could be looked at, so this is taken for a server" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_needs_ struct needs needs = {};
		_cleanup_diag_ struct diag diag = {};
		struct decision_reason reason = {};
		_cleanup_free_ char *got = NULL;
		const char *role;
		struct tree tree;

		tree_init(&tree, ROOT_OFFLINE);
		need_write_catalogue(&tree,
				     i == 5 ? "Role=container-host\n[InUse]\nText=/engine x\n"
					    : "Role=container-host\n[InUse]\nPath=/engine\n");
		for (size_t k = 0; k < ARRAY_SIZE(cases[i].files) && cases[i].files[k].path;
		     k++)
			need_tree_make(&tree, &cases[i].files[k]);
		assert_int_equal(needs_find(tree.root, NULL, NULL, &needs, &diag), 0);
		assert_int_equal(needs_guess_role(tree.root, &needs, &role, &reason), 0);
		assert_string_equal(role, cases[i].role);
		assert_int_equal(str_printf(&got, "%s: %s", reason.path ? reason.path : "-",
					    reason.text),
				 0);
		if (!streq(got, cases[i].want))
			fail_msg("case %zu: got\n%s\nwanted\n%s", i, got, cases[i].want);
		decision_reason_done(&reason);
		tree_done(&tree);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_role),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
