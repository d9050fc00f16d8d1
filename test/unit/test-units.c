/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tree.h"

#include "base/diag.h"
#include "base/str.h"
#include "units/unit-finding.h"

#define SYSTEM "/etc/systemd/system/"
#define VENDOR "/usr/lib/systemd/system/"

/* A root in which every test writes its own units. */
static int setup(void **state)
{
	static struct tree tree;

	tree_init(&tree, ROOT_OFFLINE);
	*state = &tree;
	return 0;
}

static int teardown(void **state)
{
	tree_done(*state);
	return 0;
}

static const struct unit_basis memcg_on = { .memcg = MEMCG_ON, .next = true };
static const struct unit_basis memcg_off = {
	.memcg = MEMCG_OFF,
	.next = true,
	.cause = "cgroup_disable=memory",
};

/* All findings, one a line: "unit setting=value state enabled path:line". */
static char *findings_of(const struct tree *tree, bool user, unsigned version,
			 const struct unit_basis *basis, size_t *ret_counting)
{
	_cleanup_unit_findings_ struct unit_findings findings = {};
	_cleanup_strbuf_ struct strbuf buf = {};
	_cleanup_units_ struct units units = {};
	_cleanup_diag_ struct diag diag = {};
	struct unit_counts counts;
	char *text;

	assert_int_equal(units_load(tree->root, &(struct unit_owner){ .user = user }, NULL,
				    &units, &diag),
			 0);
	if (version > 0)
		units.version = version;
	assert_int_equal(units_judge(&units, basis, &findings), 0);
	unit_findings_count(&findings, &counts);
	if (ret_counting)
		*ret_counting = counts.counting;
	for (size_t i = 0; i < findings.n; i++) {
		const struct unit_finding *f = &findings.items[i];

		assert_non_null(f->why);
		assert_true(*f->why);
		strbuf_addf(&buf, "%s %s=%s %s %s %s:%u\n", f->unit, f->setting, f->value,
			    unit_finding_state_to_string(f->state),
			    unit_enabled_to_string(f->enabled), f->path, f->line);
	}
	assert_int_equal(strbuf_take(&buf, &text, NULL), 0);
	return text;
}

static void expect(const struct tree *tree, const struct unit_basis *basis, const char *want)
{
	_cleanup_free_ char *got = findings_of(tree, false, 0, basis, NULL);

	if (!streq(got, want))
		fail_msg("got\n%swanted\n%s", got, want);
}

static void test_nothing(void **state)
{
	expect(*state, &memcg_off, "");
}

static void test_dropin_order(void **state)
{
	const struct tree *tree = *state;

	tree_write(tree, VENDOR "a-b.service", "[Service]\nExecStart=/x\nMemoryMax=1M\n");
	/* equal names: the search directory beats how special the name is */
	tree_write(tree, VENDOR "a-b.service.d/50-x.conf", "[Service]\nMemoryMax=2M\n");
	tree_write(tree, SYSTEM "a-.service.d/50-x.conf", "[Service]\nMemoryMax=3M\n");
	expect(tree, &memcg_on,
	       "a-b.service MemoryMax=3M enforced static " SYSTEM "a-.service.d/50-x.conf:2\n");
	/* the type level is late only among equal names */
	tree_write(tree, VENDOR "service.d/90-y.conf", "[Service]\nMemoryMax=4M\n");
	expect(tree, &memcg_on,
	       "a-b.service MemoryMax=4M enforced static " VENDOR "service.d/90-y.conf:2\n");
	/* a mask by name */
	tree_symlink(tree, "/dev/null", SYSTEM "a-b.service.d/90-y.conf");
	expect(tree, &memcg_on,
	       "a-b.service MemoryMax=3M enforced static " SYSTEM "a-.service.d/50-x.conf:2\n");
	tree_write(tree, SYSTEM "a-b.service.d/50-x.conf", "");
	expect(tree, &memcg_on,
	       "a-b.service MemoryMax=1M enforced static " VENDOR "a-b.service:3\n");
	/* a reset gives no finding */
	tree_write(tree, SYSTEM "a-b.service.d/60-reset.conf", "[Service]\nMemoryMax=\n");
	expect(tree, &memcg_on, "");
}

static void test_masks_and_aliases(void **state)
{
	const struct tree *tree = *state;

	tree_write(tree, VENDOR "real.service",
		   "[Service]\nMemoryMax=1M\n[Install]\nAlias=x\n");
	tree_write(tree, VENDOR "masked.service", "[Service]\nMemoryMax=1M\n");
	tree_symlink(tree, "/dev/null", SYSTEM "masked.service");
	tree_write(tree, SYSTEM "masked.service.d/x.conf", "[Service]\nMemoryMax=1M\n");
	tree_symlink(tree, "real.service", VENDOR "other.service");
	tree_write(tree, SYSTEM "other.service.d/x.conf", "[Service]\nMemoryHigh=2M\n");
	expect(tree, &memcg_on,
	       "real.service MemoryMax=1M enforced disabled " VENDOR "real.service:2\n"
	       "real.service MemoryHigh=2M enforced disabled " SYSTEM
	       "other.service.d/x.conf:2\n");
	/* a manager cannot lose its own slice */
	tree_symlink(tree, "/dev/null", SYSTEM "system.slice");
	tree_write(tree, SYSTEM "system.slice.d/x.conf", "[Slice]\nMemoryMax=9G\n");
	tree_symlink(tree, "../real.service", SYSTEM "multi-user.target.wants/other.service");
	expect(tree, &memcg_on,
	       "real.service MemoryMax=1M enforced enabled " VENDOR "real.service:2\n"
	       "real.service MemoryHigh=2M enforced enabled " SYSTEM
	       "other.service.d/x.conf:2\n"
	       "system.slice MemoryMax=9G enforced enabled " SYSTEM
	       "system.slice.d/x.conf:2\n");
}

static void test_templates(void **state)
{
	const struct tree *tree = *state;

	tree_write(tree, VENDOR "t@.service", "[Service]\nMemoryMax=1M\n");
	expect(tree, &memcg_on,
	       "t@.service MemoryMax=1M enforced template " VENDOR "t@.service:2\n");
	tree_symlink(tree, "/nowhere/t@.service", SYSTEM "x.target.upholds/t@a.service");
	tree_write(tree, SYSTEM "t@a.service.d/x.conf", "[Service]\nMemoryHigh=2M\n");
	tree_write(tree, SYSTEM "system-t.slice.d/x.conf", "[Slice]\nMemoryMax=3M\n");
	expect(tree, &memcg_on,
	       "system-t.slice MemoryMax=3M enforced enabled " SYSTEM
	       "system-t.slice.d/x.conf:2\n"
	       "t@a.service MemoryMax=1M enforced enabled " VENDOR "t@.service:2\n"
	       "t@a.service MemoryHigh=2M enforced enabled " SYSTEM "t@a.service.d/x.conf:2\n");
	/* the same link in a higher directory takes the wish away */
	tree_symlink(tree, "/dev/null", SYSTEM "x.target.upholds/t@b.service");
	tree_symlink(tree, "/x", VENDOR "x.target.upholds/t@b.service");
	tree_symlink(tree, "/dev/null",
		     "/etc/systemd/system.control/x.target.upholds/t@a.service");
	expect(tree, &memcg_on,
	       "system-t.slice MemoryMax=3M enforced static " SYSTEM
	       "system-t.slice.d/x.conf:2\n"
	       "t@a.service MemoryMax=1M enforced static " VENDOR "t@.service:2\n"
	       "t@a.service MemoryHigh=2M enforced static " SYSTEM "t@a.service.d/x.conf:2\n");
}

static void test_triggers(void **state)
{
	const struct tree *tree = *state;

	tree_write(tree, VENDOR "a.service", "[Service]\nMemoryMax=1M\n");
	tree_write(tree, VENDOR "b.service", "[Service]\nMemoryMax=1M\n");
	tree_write(tree, VENDOR "c@.service", "[Service]\nMemoryMax=1M\n");
	tree_write(tree, VENDOR "d.service", "[Service]\nMemoryMax=1M\n");
	tree_write(tree, VENDOR "a.timer", "[Timer]\nOnCalendar=daily\n");
	tree_write(tree, VENDOR "x.timer", "[Timer]\nUnit=b.service\n");
	tree_write(tree, VENDOR "c.socket", "[Socket]\nAccept=yes\n");
	tree_write(tree, VENDOR "d.path", "[Path]\nPathExists=/x\n");
	tree_symlink(tree, "a", SYSTEM "timers.target.wants/a.timer");
	tree_symlink(tree, "x", SYSTEM "timers.target.wants/x.timer");
	tree_symlink(tree, "c", SYSTEM "sockets.target.wants/c.socket");
	expect(tree, &memcg_on,
	       "a.service MemoryMax=1M enforced enabled " VENDOR "a.service:2\n"
	       "b.service MemoryMax=1M enforced enabled " VENDOR "b.service:2\n"
	       "c@.service MemoryMax=1M enforced enabled " VENDOR "c@.service:2\n"
	       "d.service MemoryMax=1M enforced static " VENDOR "d.service:2\n");
}

static void test_slices(void **state)
{
	const struct tree *tree = *state;

	tree_write(tree, VENDOR "a.service", "[Service]\nSlice=s-t.slice\nMemoryMax=4M\n");
	tree_write(tree, SYSTEM "s.slice", "[Slice]\nMemoryMax=2M\n[Service]\nMemoryLow=1M\n");
	tree_write(tree, SYSTEM "s-.slice.d/x.conf", "[Slice]\nMemoryHigh=1M\n");
	tree_symlink(tree, "a", SYSTEM "x.target.wants/a.service");
	expect(tree, &memcg_on,
	       "a.service MemoryMax=4M enforced enabled " VENDOR "a.service:3\n"
	       "s-.slice MemoryHigh=1M enforced template " SYSTEM "s-.slice.d/x.conf:2\n"
	       "s-t.slice MemoryHigh=1M enforced enabled " SYSTEM "s-.slice.d/x.conf:2\n"
	       "s.slice MemoryMax=2M enforced enabled " SYSTEM "s.slice:2\n");
	/* the controller taken away above */
	tree_write(tree, SYSTEM "s-t.slice", "[Slice]\nDisableControllers=memory\n");
	expect(tree, &memcg_on,
	       "a.service MemoryMax=4M unenforced enabled " VENDOR "a.service:3\n"
	       "s-.slice MemoryHigh=1M enforced template " SYSTEM "s-.slice.d/x.conf:2\n"
	       "s-t.slice MemoryHigh=1M unenforced enabled " SYSTEM "s-.slice.d/x.conf:2\n"
	       "s-t.slice DisableControllers=memory enforced enabled " SYSTEM "s-t.slice:2\n"
	       "s.slice MemoryMax=2M enforced enabled " SYSTEM "s.slice:2\n");
}

/* Two and more slices up. */
static void test_slices_above(void **state)
{
	const struct tree *tree = *state;

	tree_write(tree, SYSTEM "s.slice", "[Slice]\nDisableControllers=memory\n");
	tree_write(tree, SYSTEM "s-.slice.d/x.conf", "[Slice]\nMemoryHigh=1M\n");
	tree_write(tree, VENDOR "a.service", "[Service]\nSlice=s-t-u-v.slice\nMemoryMax=4M\n");
	tree_symlink(tree, "a", SYSTEM "x.target.wants/a.service");
	expect(tree, &memcg_on,
	       "a.service MemoryMax=4M unenforced enabled " VENDOR "a.service:3\n"
	       "s-.slice MemoryHigh=1M unenforced template " SYSTEM "s-.slice.d/x.conf:2\n"
	       "s-t-u-v.slice MemoryHigh=1M unenforced enabled " SYSTEM "s-.slice.d/x.conf:2\n"
	       "s-t-u.slice MemoryHigh=1M unenforced enabled " SYSTEM "s-.slice.d/x.conf:2\n"
	       "s-t.slice MemoryHigh=1M unenforced enabled " SYSTEM "s-.slice.d/x.conf:2\n"
	       "s.slice DisableControllers=memory enforced enabled " SYSTEM "s.slice:2\n");
}

/* graphical.target's Wants= is in its file, not in a link: the alias is what enables a unit. */
static void test_enabled_by_alias(void **state)
{
	const struct tree *tree = *state;

	tree_write(tree, VENDOR "gdm.service",
		   "[Service]\nMemoryMax=1M\n[Install]\nAlias=display-manager.service\n");
	tree_write(tree, VENDOR "kdm.service",
		   "[Service]\nMemoryMax=1M\n[Install]\nAlias=display-manager.service\n");
	tree_write(tree, VENDOR "old.service",
		   "[Service]\nMemoryMax=1M\n[Install]\nWantedBy=multi-user.target\n");
	/* a package's own name for it says nothing of the site */
	tree_symlink(tree, "old.service", VENDOR "ancient.service");
	tree_symlink(tree, VENDOR "gdm.service", SYSTEM "display-manager.service");
	expect(tree, &memcg_on,
	       "gdm.service MemoryMax=1M enforced enabled " VENDOR "gdm.service:2\n"
	       "kdm.service MemoryMax=1M enforced disabled " VENDOR "kdm.service:2\n"
	       "old.service MemoryMax=1M enforced disabled " VENDOR "old.service:2\n");
}

/* The site's drop-ins are for the package's other names: seen with smbd.service, smb.service.
 */
static void test_enabled_by_own_name(void **state)
{
	const struct tree *tree = *state;

	tree_write(tree, VENDOR "smbd.service",
		   "[Service]\nExecStart=/x\n[Install]\n"
		   "WantedBy=multi-user.target\n");
	tree_symlink(tree, "smbd.service", VENDOR "smb.service");
	tree_symlink(tree, "../smbd.service", SYSTEM "multi-user.target.wants/smbd.service");
	tree_write(tree, SYSTEM "smb.service.d/x.conf", "[Service]\nMemoryMax=1M\n");
	tree_write(tree, VENDOR "nmbd.service",
		   "[Service]\nExecStart=/x\n[Install]\n"
		   "WantedBy=multi-user.target\n");
	tree_symlink(tree, "nmbd.service", VENDOR "samba-names.service");
	tree_symlink(tree, "../nmbd.service", SYSTEM "multi-user.target.wants/nmbd.service");
	tree_write(tree, SYSTEM "samba-.service.d/x.conf", "[Service]\nMemoryMax=1M\n");
	expect(tree, &memcg_on,
	       "nmbd.service MemoryMax=1M enforced enabled " SYSTEM
	       "samba-.service.d/x.conf:2\n"
	       "smbd.service MemoryMax=1M enforced enabled " SYSTEM "smb.service.d/x.conf:2\n");
}

static void test_orphans(void **state)
{
	const struct tree *tree = *state;

	tree_write(tree, SYSTEM "gone.service.d/x.conf", "[Service]\nMemoryMax=1M\n");
	tree_write(tree, SYSTEM "some-.service.d/x.conf", "[Service]\nMemoryMax=1M\n");
	tree_write(tree, SYSTEM "home.mount.d/x.conf", "[Mount]\nMemoryMax=1M\n");
	tree_write(tree, SYSTEM "legacy.service.d/x.conf", "[Service]\nMemoryMax=1M\n");
	tree_write(tree, "/etc/init.d/legacy", "#!/bin/sh\n");
	expect(tree, &memcg_off,
	       "gone.service MemoryMax=1M unknown unknown " SYSTEM "gone.service.d/x.conf:2\n"
	       "home.mount MemoryMax=1M unenforced unknown " SYSTEM "home.mount.d/x.conf:2\n"
	       "legacy.service MemoryMax=1M unenforced unknown " SYSTEM
	       "legacy.service.d/x.conf:2\n"
	       "some-.service MemoryMax=1M unknown unknown " SYSTEM
	       "some-.service.d/x.conf:2\n");
	/* a unit of that prefix is what the drop-in is for */
	tree_write(tree, VENDOR "some-thing.service", "[Service]\nExecStart=/x\n");
	expect(tree, &memcg_off,
	       "gone.service MemoryMax=1M unknown unknown " SYSTEM "gone.service.d/x.conf:2\n"
	       "home.mount MemoryMax=1M unenforced unknown " SYSTEM "home.mount.d/x.conf:2\n"
	       "legacy.service MemoryMax=1M unenforced unknown " SYSTEM
	       "legacy.service.d/x.conf:2\n"
	       "some-thing.service MemoryMax=1M unenforced static " SYSTEM
	       "some-.service.d/x.conf:2\n");
}

static void test_failures(void **state)
{
	const struct tree *tree = *state;

	tree_write(tree, SYSTEM "a.service", "[Service]\nMemoryMax=1M\n[bad\nMemoryHigh=1M\n");
	tree_write(tree, SYSTEM "a.service.d/x.conf", "[Service]\nMemoryLow=1M\n");
	tree_write(tree, SYSTEM "b.service", "[Service]\nExecStart=/x\n");
	tree_write(tree, SYSTEM "b.service.d/x.conf",
		   "[Service]\nMemoryMax=1M\n[bad\nMemoryHigh=1M\n");
	expect(tree, &memcg_on,
	       "a.service MemoryMax=1M invalid static " SYSTEM "a.service:2\n"
	       "a.service MemoryHigh=1M invalid static " SYSTEM "a.service:4\n"
	       "b.service MemoryMax=1M enforced static " SYSTEM "b.service.d/x.conf:2\n"
	       "b.service MemoryHigh=1M invalid static " SYSTEM "b.service.d/x.conf:4\n");
}

/* v257 goes on behind a header without a name, v262 refuses the unit. */
static void test_empty_header(void **state)
{
	const struct tree *tree = *state;

	tree_write(tree, SYSTEM "a.service", "[Service]\nMemoryMax=1M\n[]\n");
	expect(tree, &memcg_on,
	       "a.service MemoryMax=1M enforced static " SYSTEM "a.service:2\n");
	tree_write(tree, "/usr/lib/x86_64-linux-gnu/systemd/libsystemd-shared-262.so", "");
	expect(tree, &memcg_on,
	       "a.service MemoryMax=1M invalid static " SYSTEM "a.service:2\n");
}

/* An installed, enabled unit with one setting, as each systemd sees it. */
/* As "systemd-analyze unit-paths" of 252, 257 and 262 says. */
static void test_search_path(void **state)
{
	static const struct {
		const char *dir;
		bool user;
		unsigned with;
		unsigned without;
	} cases[] = {
		{ "/lib/systemd/system", false, 257, 258 },
		{ "/etc/xdg/systemd/user", true, 256, 257 },
		{ "/home/u/.config/systemd/user.attached", true, 260, 259 },
		{ "/run/user/1/systemd/user.attached", true, 260, 259 },
	};
	const struct tree *tree = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct unit_owner owner = { .user = cases[i].user };

		if (cases[i].user)
			owner = (struct unit_owner){ true, "/home/u", 1, "/run/user/1" };
		/* of an unknown version all count */
		for (int k = 0; k < 3; k++) {
			unsigned version = k == 0   ? cases[i].with
					   : k == 1 ? 0
						    : cases[i].without;
			_cleanup_unit_path_ struct unit_path path = {};
			bool found = false;

			assert_int_equal(unit_path_open(tree->root, &owner, version, &path), 0);
			for (size_t j = 0; j < path.n_spelt; j++)
				found |= streq(path.spelt[j], cases[i].dir);
			if (found != (k < 2))
				fail_msg("%s in v%u", cases[i].dir, version);
		}
	}
}

static void test_versions(void **state)
{
	static const struct {
		const char *lines;
		unsigned version;
		const char *state; /* with memcg on */
		size_t counting;   /* with memcg on */
	} cases[] = {
		{ "MemoryLimit=1G", 252, "enforced", 0 },
		{ "MemoryLimit=1G", 257, "enforced", 0 },
		{ "MemoryLimit=1G", 258, "ignored", 1 },
		{ "MemoryZSwapMax=1G", 252, "ignored", 1 },
		{ "MemoryZSwapMax=1G", 253, "enforced", 0 },
		{ "StartupMemoryMax=1G", 253, "ignored", 1 },
		{ "StartupMemoryMax=1G", 254, "enforced", 0 },
		{ "MemoryZSwapWriteback=no", 255, "ignored", 1 },
		{ "MemoryZSwapWriteback=no", 256, "enforced", 0 },
		{ "DefaultMemoryLow=1G", 259, "enforced", 0 },
		{ "DefaultMemoryLow=1G", 260, "ignored", 1 },
		{ "DefaultStartupMemoryLow=1G", 260, "ignored", 1 },
		{ "MemoryMin=1G", 239, "ignored", 1 },
		{ "ManagedOOMMemoryPressureDurationSec=5s", 256, "ignored", 0 },
		{ "ManagedOOMMemoryPressureDurationSec=5s", 257, "enforced", 0 },
		{ "OOMRules=a", 260, "ignored", 0 },
		{ "OOMRules=a", 261, "enforced", 0 },
	};
	const struct tree *tree = *state;

	tree_symlink(tree, "a", SYSTEM "x.target.wants/a.service");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *text = NULL, *got = NULL;
		size_t counting;

		assert_int_equal(str_printf(&text, "[Service]\n%s\n", cases[i].lines), 0);
		tree_write(tree, SYSTEM "a.service", text);
		got = findings_of(tree, false, cases[i].version, &memcg_on, &counting);
		if (!strstr(got, cases[i].state) || counting != cases[i].counting)
			fail_msg("%s in v%u: %zu, %s", cases[i].lines, cases[i].version,
				 counting, got);
	}
	/* not known which systemd: only what the versions agree on */
	tree_write(tree, SYSTEM "a.service", "[Service]\nMemoryLimit=1G\n");
	expect(tree, &memcg_on,
	       "a.service MemoryLimit=1G unknown enabled " SYSTEM "a.service:2\n");
	expect(tree, &memcg_off,
	       "a.service MemoryLimit=1G unenforced enabled " SYSTEM "a.service:2\n");
	/* the new name takes over, which is no loss */
	tree_write(tree, SYSTEM "a.service", "[Service]\nMemoryLimit=1G\nMemoryMax=2G\n");
	tree_write(tree, "/usr/lib/x86_64-linux-gnu/systemd/libsystemd-shared-252.so", "");
	expect(tree, &memcg_on,
	       "a.service MemoryMax=2G enforced enabled " SYSTEM "a.service:3\n"
	       "a.service MemoryLimit=1G ignored enabled " SYSTEM "a.service:2\n");
	/* a default of a slice above as well */
	tree_write(tree, SYSTEM "a.service", "[Service]\nMemoryLimit=1G\n");
	tree_write(tree, SYSTEM "system.slice.d/x.conf", "[Slice]\nDefaultMemoryLow=1M\n");
	expect(tree, &memcg_on,
	       "a.service MemoryLimit=1G ignored enabled " SYSTEM "a.service:2\n"
	       "system.slice DefaultMemoryLow=1M enforced enabled " SYSTEM
	       "system.slice.d/x.conf:2\n");
}

static void test_systemd_version(void **state)
{
	const struct tree *tree = *state;
	unsigned version = 99;

	assert_int_equal(units_systemd_version(tree->root, &version), 0);
	assert_int_equal(version, 0);
	tree_write(
		tree, "/var/lib/dpkg/status",
		"Package: aaa\nVersion: 1\n\nPackage: systemd\nStatus: install ok installed\n"
		"Version: 247.3-7\n\nPackage: zzz\nVersion: 3\n");
	assert_int_equal(units_systemd_version(tree->root, &version), 0);
	assert_int_equal(version, 247);
	tree_write(tree, "/usr/lib/systemd/libsystemd-shared-254.10-1.fc39.so", "");
	assert_int_equal(units_systemd_version(tree->root, &version), 0);
	assert_int_equal(version, 254);
}

static void test_bases(void **state)
{
	const struct tree *tree = *state;
	const struct unit_basis v1 = { .memcg = MEMCG_ON, .hierarchy = HIERARCHY_HYBRID };
	const struct unit_basis built_out = { .memcg = MEMCG_UNAVAILABLE };
	const struct unit_basis unknown = { .memcg = MEMCG_UNKNOWN, .cause = "no entry" };

	tree_write(tree, SYSTEM "a.service",
		   "[Service]\nMemoryMax=1M\nMemoryHigh=1M\nMemoryAccounting=yes\n"
		   "OOMPolicy=continue\n");
	tree_write(tree, SYSTEM "-.slice.d/x.conf", "[Slice]\nMemoryMax=1M\n");
	expect(tree, &v1,
	       "-.slice MemoryMax=1M ignored enabled " SYSTEM "-.slice.d/x.conf:2\n"
	       "a.service MemoryMax=1M enforced static " SYSTEM "a.service:2\n"
	       "a.service MemoryHigh=1M unenforced static " SYSTEM "a.service:3\n"
	       "a.service OOMPolicy=continue enforced static " SYSTEM "a.service:5\n"
	       "a.service MemoryAccounting=yes enforced static " SYSTEM "a.service:4\n");
	expect(tree, &built_out,
	       "-.slice MemoryMax=1M ignored enabled " SYSTEM "-.slice.d/x.conf:2\n"
	       "a.service MemoryMax=1M unenforced static " SYSTEM "a.service:2\n"
	       "a.service MemoryHigh=1M unenforced static " SYSTEM "a.service:3\n"
	       "a.service OOMPolicy=continue enforced static " SYSTEM "a.service:5\n"
	       "a.service MemoryAccounting=yes unenforced static " SYSTEM "a.service:4\n");
	expect(tree, &unknown,
	       "-.slice MemoryMax=1M ignored enabled " SYSTEM "-.slice.d/x.conf:2\n"
	       "a.service MemoryMax=1M unknown static " SYSTEM "a.service:2\n"
	       "a.service MemoryHigh=1M unknown static " SYSTEM "a.service:3\n"
	       "a.service OOMPolicy=continue enforced static " SYSTEM "a.service:5\n"
	       "a.service MemoryAccounting=yes unknown static " SYSTEM "a.service:4\n");
}

/* What makes "units" and "check" exit with 6. */
static void test_counting(void **state)
{
	const struct tree *tree = *state;
	_cleanup_free_ char *off = NULL, *on = NULL;
	size_t counting;

	tree_write(tree, VENDOR "systemd-oomd.service", "[Service]\nMemoryMin=64M\n");
	tree_write(
		tree, VENDOR "a.service",
		"[Service]\nMemoryMax=1M\nMemoryLow=1M\nMemoryAccounting=yes\nOOMPolicy=stop\n"
		"Delegate=yes\nMemoryHigh=bad\n");
	tree_write(tree, VENDOR "b.service", "[Service]\nMemoryMax=1M\n");
	tree_symlink(tree, "a", SYSTEM "x.target.wants/a.service");
	tree_symlink(tree, "a", SYSTEM "x.target.wants/systemd-oomd.service");
	off = findings_of(tree, false, 0, &memcg_off, &counting);
	assert_int_equal(counting, 2);
	on = findings_of(tree, false, 0, &memcg_on, &counting);
	assert_int_equal(counting, 0);
	/* what the administrator adds to a unit of systemd counts */
	tree_write(tree, SYSTEM "systemd-oomd.service.d/x.conf", "[Service]\nMemoryMax=1G\n");
	free(TAKE_PTR(off));
	off = findings_of(tree, false, 0, &memcg_off, &counting);
	assert_int_equal(counting, 3);
}

static void test_user(void **state)
{
	const struct tree *tree = *state;
	_cleanup_free_ char *got = NULL, *undelegated = NULL;

	tree_write(tree, "/usr/lib/systemd/user/a.service", "[Service]\nMemoryMax=1M\n");
	got = findings_of(tree, true, 0, &memcg_on, NULL);
	assert_string_equal(got, "a.service MemoryMax=1M enforced static "
				 "/usr/lib/systemd/user/a.service:2\n");
	tree_write(tree, VENDOR "user@.service", "[Service]\nDelegate=pids\n");
	undelegated = findings_of(tree, true, 0, &memcg_on, NULL);
	assert_non_null(strstr(undelegated, "unenforced"));
}

static void test_quadlets(void **state)
{
	const struct tree *tree = *state;

	tree_write(
		tree, "/etc/containers/systemd/web.container",
		"[Container]\nPodmanArgs=--memory=3g --pids-limit=5\n[Service]\nMemoryMax=4G\n"
		"[Install]\nWantedBy=multi-user.target\n");
	tree_write(tree, "/etc/containers/systemd/web.container.d/x.conf",
		   "[Container]\nMemory=1.5GiB\n");
	tree_write(tree, "/etc/containers/systemd/sub/db.pod",
		   "[Pod]\nPodmanArgs=-m 1g\nPodmanArgs=\nPodmanArgs=\"--memory\" lots\n");
	tree_write(tree, "/usr/share/containers/systemd/web.container",
		   "[Container]\nMemory=5g\n");
	tree_write(tree, "/etc/containers/systemd/users/u.container",
		   "[Container]\nMemory=5g\n");
	tree_write(tree, "/etc/containers/systemd/plain.container", "[Container]\nImage=x\n");
	tree_write(tree, SYSTEM "plain.service.d/x.conf", "[Service]\nMemoryMax=6G\n");
	tree_write(tree, "/etc/containers/systemd/p.kube", "[Kube]\nYaml=p.yaml\n");
	tree_write(
		tree, "/etc/containers/systemd/p.yaml",
		"spec:\n  containers:\n  - resources:\n      requests:\n        memory: 1Mi\n"
		"      limits:\n        cpu: 1\n        memory: \"512Mi\" # x\n"
		"  - resources: {limits: {memory: 1G}}\n    memory: 5\n");
	expect(tree, &memcg_off,
	       "db.pod PodmanArgs --memory=lots invalid static "
	       "/etc/containers/systemd/sub/db.pod:4\n"
	       "p.kube resources.limits.memory=512Mi unenforced static "
	       "/etc/containers/systemd/p.yaml:8\n"
	       "p.kube resources.limits.memory=1G unenforced static "
	       "/etc/containers/systemd/p.yaml:9\n"
	       "plain.service MemoryMax=6G unenforced static " SYSTEM
	       "plain.service.d/x.conf:2\n"
	       "web.container PodmanArgs --memory=3g unenforced enabled "
	       "/etc/containers/systemd/web.container:2\n"
	       "web.container Memory=1.5GiB unenforced enabled "
	       "/etc/containers/systemd/web.container.d/x.conf:2\n"
	       "web.service MemoryMax=4G unenforced enabled "
	       "/etc/containers/systemd/web.container:4\n");
	/* a unit file of that name in a higher directory is not made again */
	tree_write(tree, SYSTEM "web.service", "[Service]\nMemoryMax=7G\n");
	{
		_cleanup_free_ char *got = findings_of(tree, false, 0, &memcg_off, NULL);

		assert_non_null(strstr(got, "web.service MemoryMax=7G"));
		assert_null(strstr(got, "MemoryMax=4G"));
	}
}

static void expect_quadlets(const struct tree *tree, struct unit_owner owner, const char *want)
{
	struct unit_quadlets quadlets = {};
	_cleanup_strbuf_ struct strbuf buf = {};
	_cleanup_free_ char *got = NULL;
	size_t budget = 1000;

	assert_int_equal(unit_quadlets_load(tree->root, &owner, &budget, &quadlets), 0);
	for (size_t i = 0; i < quadlets.n; i++)
		strbuf_addf(&buf, "%s %s\n", quadlets.items[i].service,
			    quadlets.items[i].files[0].path);
	assert_int_equal(strbuf_take(&buf, &got, NULL), 0);
	unit_quadlets_done(&quadlets);
	if (!streq(got, want))
		fail_msg("got\n%swanted\n%s", got, want);
}

/* As "quadlet -dryrun" of podman 5.4 and 5.8 has it. */
static void test_quadlet_places(void **state)
{
	static const char *const files[] = {
		"/etc/containers/systemd/a.container",
		"/etc/containers/systemd/b.artifact",
		"/etc/containers/systemd/users/b.container",
		"/etc/containers/systemd/users/c.container",
		"/etc/containers/systemd/users/1000/b.container",
		"/etc/containers/systemd/users/1000/d.container",
		"/etc/containers/systemd/users/1001/e.container",
		"/etc/containers/systemd/users/sub/d.container",
		"/usr/share/containers/systemd/users/f.container",
		"/home/u/.config/containers/systemd/c.container",
		"/home/u/.config/containers/systemd/sub/g.container",
	};
	const struct tree *tree = *state;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		tree_write(tree, files[i], "[Container]\nImage=x\n");
	expect_quadlets(tree, (struct unit_owner){},
			"a.service /etc/containers/systemd/a.container\n"
			"b-artifact.service /etc/containers/systemd/b.artifact\n"
			"f.service /usr/share/containers/systemd/users/f.container\n");
	expect_quadlets(tree,
			(struct unit_owner){ .user = true, .home = "/home/u", .uid = 1000 },
			"b.service /etc/containers/systemd/users/b.container\n"
			"c.service /home/u/.config/containers/systemd/c.container\n"
			"d.service /etc/containers/systemd/users/sub/d.container\n"
			"g.service /home/u/.config/containers/systemd/sub/g.container\n");
	/* of nobody in particular: all that somebody has */
	expect_quadlets(tree, (struct unit_owner){ .user = true },
			"b.service /etc/containers/systemd/users/b.container\n"
			"c.service /etc/containers/systemd/users/c.container\n"
			"d.service /etc/containers/systemd/users/sub/d.container\n"
			"e.service /etc/containers/systemd/users/1001/e.container\n");
}

static void test_merged_usr(void **state)
{
	const struct tree *tree = *state;

	tree_write(tree, VENDOR "a.service", "[Service]\nMemoryMax=1M\n");
	tree_symlink(tree, "usr/lib", "/lib");
	expect(tree, &memcg_on,
	       "a.service MemoryMax=1M enforced static " VENDOR "a.service:2\n");
}

/* Links of the root lead into the root. */
static void test_inside_root(void **state)
{
	const struct tree *tree = *state;

	tree_write(tree, "/opt/x/linked.service", "[Service]\nMemoryMax=1M\n");
	tree_symlink(tree, "/opt/x/linked.service", SYSTEM "linked.service");
	tree_write(tree, VENDOR "real.service", "[Service]\nMemoryMax=2M\n");
	tree_symlink(tree, "/usr/lib/systemd/system/real.service", SYSTEM "alias.service");
	tree_symlink(tree, "../../../usr/lib/systemd/system/real.service",
		     SYSTEM "rel.service");
	tree_symlink(tree, "/run/x.service", SYSTEM "hidden.service");
	tree_symlink(tree, "/opt/d", SYSTEM "real.service.d");
	tree_write(tree, "/opt/d/x.conf", "[Service]\nMemoryHigh=3M\n");
	expect(tree, &memcg_on,
	       "linked.service MemoryMax=1M enforced static " SYSTEM "linked.service:2\n"
	       "real.service MemoryMax=2M enforced static " VENDOR "real.service:2\n"
	       "real.service MemoryHigh=3M enforced static " SYSTEM
	       "real.service.d/x.conf:2\n");
}

static void test_large_files(void **state)
{
	const struct tree *tree = *state;
	_cleanup_strbuf_ struct strbuf many = {}, comment = {};

	/* lines of a file that is larger than is read */
	strbuf_adds(&many, "[Service]\nMemoryMax=1M\n");
	for (size_t i = 0; i < 3 * 1024 * 1024 / 16; i++)
		strbuf_adds(&many, "# fifteen bytes\n");
	tree_write_n(tree, SYSTEM "many.service", many.data, many.len);
	/* a comment that kills the unit */
	strbuf_adds(&comment, "[Service]\nMemoryMax=1M\n#");
	for (size_t i = 0; i < 1024 * 1024; i++)
		strbuf_addc(&comment, 'x');
	strbuf_adds(&comment, "\nMemoryHigh=1M\n");
	tree_write_n(tree, SYSTEM "comment.service", comment.data, comment.len);
	expect(tree, &memcg_on,
	       "comment.service MemoryMax=1M invalid static " SYSTEM "comment.service:2\n"
	       "comment.service MemoryHigh=1M invalid static " SYSTEM "comment.service:4\n"
	       "many.service MemoryMax=1M unknown static " SYSTEM "many.service:2\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_dropin_order, setup, teardown),
		cmocka_unit_test_setup_teardown(test_masks_and_aliases, setup, teardown),
		cmocka_unit_test_setup_teardown(test_templates, setup, teardown),
		cmocka_unit_test_setup_teardown(test_triggers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_slices, setup, teardown),
		cmocka_unit_test_setup_teardown(test_slices_above, setup, teardown),
		cmocka_unit_test_setup_teardown(test_enabled_by_alias, setup, teardown),
		cmocka_unit_test_setup_teardown(test_enabled_by_own_name, setup, teardown),
		cmocka_unit_test_setup_teardown(test_orphans, setup, teardown),
		cmocka_unit_test_setup_teardown(test_failures, setup, teardown),
		cmocka_unit_test_setup_teardown(test_empty_header, setup, teardown),
		cmocka_unit_test_setup_teardown(test_search_path, setup, teardown),
		cmocka_unit_test_setup_teardown(test_versions, setup, teardown),
		cmocka_unit_test_setup_teardown(test_systemd_version, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bases, setup, teardown),
		cmocka_unit_test_setup_teardown(test_counting, setup, teardown),
		cmocka_unit_test_setup_teardown(test_user, setup, teardown),
		cmocka_unit_test_setup_teardown(test_quadlets, setup, teardown),
		cmocka_unit_test_setup_teardown(test_quadlet_places, setup, teardown),
		cmocka_unit_test_setup_teardown(test_merged_usr, setup, teardown),
		cmocka_unit_test_setup_teardown(test_inside_root, setup, teardown),
		cmocka_unit_test_setup_teardown(test_large_files, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
