/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "need-tree.h"

#include "base/str.h"

#define SEEN "yes yes 0: /" WANTS "a.service:0 a.service is enabled"

static void test_enabled(void **state _unused_)
{
	static const struct need_case cases[] = {
		{ "UnitEnabled=a.service\n", { { LIB "a.service", UNIT } }, "none" },
		{ "UnitEnabled=a.service\n",
		  { { LIB "a.service", UNIT }, { WANTS "a.service", "->/" LIB "a.service" } },
		  SEEN },
		/* what a removed package leaves behind starts nothing */
		{ "UnitEnabled=a.service\n",
		  { { WANTS "a.service", "->/" LIB "a.service" } },
		  "none" },
		/* the link's own name counts, not its target */
		{ "UnitEnabled=a.service\n",
		  { { LIB "a.service", UNIT },
		    { WANTS "a.service", "->/elsewhere/b.service" } },
		  SEEN },
		/* masked: link, empty file; the want itself masked */
		{ "UnitEnabled=a.service\n",
		  { { LIB "a.service", UNIT },
		    { WANTS "a.service", "->/" LIB "a.service" },
		    { ETC "a.service", "->/dev/null" } },
		  "none" },
		{ "UnitEnabled=a.service\n",
		  { { LIB "a.service", UNIT },
		    { WANTS "a.service", "->/" LIB "a.service" },
		    { ETC "a.service", "" } },
		  "none" },
		{ "UnitEnabled=a.service\n",
		  { { LIB "a.service", UNIT },
		    { LIB "multi-user.target.wants/a.service", "->../a.service" },
		    { WANTS "a.service", "->/dev/null" } },
		  "none" },
		/* another target's link is not masked by it */
		{ "UnitEnabled=a.service\n",
		  { { LIB "a.service", UNIT },
		    { LIB "basic.target.wants/a.service", "->../a.service" },
		    { WANTS "a.service", "->/dev/null" } },
		  "yes yes 0: /" LIB "basic.target.wants/a.service:0 a.service is enabled" },
		/* requires, upholds, the vendor's own links */
		{ "UnitEnabled=a.socket\n",
		  { { LIB "a.socket", "[Socket]\n" },
		    { ETC "b.service.requires/a.socket", "->/" LIB "a.socket" } },
		  "yes yes 0: /" ETC "b.service.requires/a.socket:0 a.socket is enabled" },
		{ "UnitEnabled=a.timer\n",
		  { { LIB "a.timer", "[Timer]\n" },
		    { LIB "timers.target.upholds/a.timer", "->../a.timer" } },
		  "yes yes 0: /" LIB "timers.target.upholds/a.timer:0 a.timer is enabled" },
		/* aliases: of the unit, and the want goes by the alias's name */
		{ "UnitEnabled=a.service\n",
		  { { LIB "a.service", UNIT },
		    { ETC "dbus-a.service", "->/" LIB "a.service" } },
		  "yes yes 0: /" ETC "dbus-a.service:0 a.service is enabled" },
		{ "UnitEnabled=a.service\n",
		  { { LIB "a.service", UNIT },
		    { LIB "b.service", "->a.service" },
		    { WANTS "b.service", "->/" LIB "b.service" } },
		  "yes yes 0: /" WANTS "b.service:0 b.service is enabled" },
		/* an alias that a package ships starts nothing by itself */
		{ "UnitEnabled=a.service\n",
		  { { LIB "a.service", UNIT }, { LIB "b.service", "->a.service" } },
		  "none" },
		{ "UnitEnabled=b.service\n",
		  { { ETC "b.service", "->c.service" },
		    { ETC "c.service", "->b.service" },
		    { WANTS "b.service", "->../b.service" } },
		  "none" },
		/* instances */
		{ "UnitEnabled=a@.service\n",
		  { { LIB "a@.service", UNIT },
		    { WANTS "a@x.service", "->/" LIB "a@.service" } },
		  "yes yes 0: /" WANTS "a@x.service:0 a@x.service is enabled" },
		{ "UnitEnabled=a@*.service b.service\n",
		  { { LIB "a@.service", UNIT },
		    { WANTS "a@x.service", "->/" LIB "a@.service" } },
		  "yes yes 0: /" WANTS "a@x.service:0 a@x.service is enabled" },
		{ "UnitEnabled=a@.service\n",
		  { { LIB "a@.service", UNIT },
		    { WANTS "a@x.service", "->/" LIB "a@.service" },
		    { ETC "a@.service", "->/dev/null" } },
		  "none" },
		/* split and merged /usr; a linked unit; an installer's own place */
		{ "UnitEnabled=a.service\n",
		  { { "lib/systemd/system/a.service", UNIT },
		    { WANTS "a.service", "->/lib/systemd/system/a.service" } },
		  SEEN },
		{ "UnitEnabled=a.service\n",
		  { { "lib", "->usr/lib" },
		    { LIB "a.service", UNIT },
		    { WANTS "a.service", "->/lib/systemd/system/a.service" } },
		  SEEN },
		{ "UnitEnabled=a.service\n",
		  { { "opt/a.service", UNIT },
		    { ETC "a.service", "->/opt/a.service" },
		    { WANTS "a.service", "->/opt/a.service" } },
		  SEEN },
		{ "UnitEnabled=a.service\n",
		  { { ETC "a.service", UNIT }, { WANTS "a.service", "->../a.service" } },
		  SEEN },
		/* OpenRC, runit, System V */
		{ "UnitEnabled=a.service\n",
		  { { "etc/init.d/a", "x" }, { "etc/runlevels/default/a", "->/etc/init.d/a" } },
		  "yes yes 0: /etc/runlevels/default/a:0 a.service is enabled" },
		{ "UnitEnabled=a.service\n",
		  { { "etc/init.d/a", "x" },
		    { "etc/runlevels/shutdown/a", "->/etc/init.d/a" } },
		  "none" },
		{ "UnitEnabled=a.service\n",
		  { { "etc/runlevels/default/a", "->/etc/init.d/a" } },
		  "none" },
		{ "UnitEnabled=a.service\n",
		  { { "etc/sv/a/run", "x" }, { "var/service/a", "->/etc/sv/a" } },
		  "yes yes 0: /var/service/a:0 a.service is enabled" },
		{ "UnitEnabled=a.service\n",
		  { { "etc/sv/a/run", "x" },
		    { "etc/sv/a/down", "" },
		    { "var/service/a", "->/etc/sv/a" } },
		  "none" },
		{ "UnitEnabled=a.service\n",
		  { { "etc/init.d/a", "x" }, { "etc/rc3.d/S01a", "->../init.d/a" } },
		  "yes yes 0: /etc/rc3.d/S01a:0 a.service is enabled" },
		{ "UnitEnabled=a.service\n",
		  { { "etc/init.d/a", "x" },
		    { "etc/rc3.d/S01a", "->../init.d/a" },
		    { LIB "a.service", UNIT } },
		  "none" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct need_case c = cases[i];
		_cleanup_free_ char *rules = NULL;

		assert_int_equal(str_printf(&rules, "[InUse]\n%s", c.rules), 0);
		c.rules = rules;
		need_check("enabled", i, ROOT_OFFLINE, &c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_enabled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
