/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Captured machines; what a real kernel shows is in test/uml/truth.py. */

#include "tree.h"

#include "base/str.h"
#include "facts/facts.h"

#define TABLE	  "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpuset\t0\t77\t1\ncpu\t0\t77\t1\n"
#define MEMORY(n) TABLE "memory\t" n "\n"

struct file {
	const char *path, *text;
};

struct machine {
	const char *name;
	struct file files[8];
	enum memcg_state memcg;
	enum hierarchy hierarchy;
	const char *source; /* NULL: none */
	const char *why;    /* part of it */
};

static const char controllers[] = "sys/fs/cgroup/cgroup.controllers";
static const char release[] = "proc/sys/kernel/osrelease";

static const struct machine machines[] = {
	{ "nothing captured",
	  {},
	  MEMCG_UNKNOWN,
	  HIERARCHY_UNKNOWN,
	  NULL,
	  "no cgroup tree or table of the kernel tells" },
	/* --- v2 --- */
	{ "v2 root",
	  { { controllers, "cpuset cpu io memory pids\n" } },
	  MEMCG_ON,
	  HIERARCHY_V2,
	  "/sys/fs/cgroup/cgroup.controllers",
	  "v2" },
	{ "v2 root, no row in the table of 6.12",
	  { { controllers, "cpu memory\n" },
	    { release, "6.12.9-arch1-1\n" },
	    { "proc/cgroups", TABLE } },
	  MEMCG_ON,
	  HIERARCHY_V2,
	  "/sys/fs/cgroup/cgroup.controllers",
	  "v2" },
	{ "a controller of another name",
	  { { controllers, "cpu memory2 xmemory\n" } },
	  MEMCG_UNKNOWN,
	  HIERARCHY_V2,
	  "/sys/fs/cgroup/cgroup.controllers",
	  "off or not built in" },
	{ "v2 root without memory, told off",
	  { { controllers, "cpu io\n" },
	    { "proc/cmdline", "quiet cgroup_disable=cpu,memory\n" } },
	  MEMCG_OFF,
	  HIERARCHY_V2,
	  "/sys/fs/cgroup/cgroup.controllers",
	  "cgroup_disable=cpu,memory on the kernel command line" },
	{ "told off behind the dashes",
	  { { controllers, "cpu io\n" },
	    { "proc/cmdline", "quiet -- cgroup_disable=memory\n" } },
	  MEMCG_UNKNOWN,
	  HIERARCHY_V2,
	  "/sys/fs/cgroup/cgroup.controllers",
	  "off or not built in" },
	{ "v2 root without memory, built by the delegate file",
	  { { controllers, "cpu io\n" },
	    { "sys/kernel/cgroup/delegate", "cgroup.procs\nmemory.oom.group\n" },
	    { "proc/cmdline", "quiet\n" } },
	  MEMCG_OFF,
	  HIERARCHY_V2,
	  "/sys/fs/cgroup/cgroup.controllers",
	  "off unless told on" },
	{ "v2 root without memory, not built by the delegate file",
	  { { controllers, "cpu io\n" },
	    { release, "6.1.0-44\n" },
	    { "sys/kernel/cgroup/delegate", "cgroup.procs\ncgroup.threads\n" } },
	  MEMCG_UNAVAILABLE,
	  HIERARCHY_V2,
	  "/sys/kernel/cgroup/delegate",
	  "CONFIG_MEMCG" },
	{ "v2 root without memory, not built by the configuration",
	  { { controllers, "cpu io\n" },
	    { release, "6.1.0-44\n" },
	    { "boot/config-6.1.0-44", "# CONFIG_MEMCG is not set\n" },
	    { "proc/cmdline", "cgroup_disable=memory\n" } },
	  MEMCG_UNAVAILABLE,
	  HIERARCHY_V2,
	  "/boot/config-6.1.0-44",
	  "CONFIG_MEMCG" },
	{ "v2 root without memory, built by the configuration",
	  { { controllers, "cpu io\n" },
	    { release, "6.1.0-44\n" },
	    { "boot/config-6.1.0-44", "CONFIG_MEMCG=y\n" } },
	  MEMCG_OFF,
	  HIERARCHY_V2,
	  "/sys/fs/cgroup/cgroup.controllers",
	  "disabled" },
	{ "v2 root without memory on a kernel that is off by default",
	  { { controllers, "cpuset cpu io pids\n" },
	    { "proc/version",
	      "Linux version 6.6.31+rpt-rpi-v8 (serge@raspberrypi.com) #1\n" } },
	  MEMCG_OFF,
	  HIERARCHY_V2,
	  "/sys/fs/cgroup/cgroup.controllers",
	  "disabled" },
	{ "both words, mainline",
	  { { controllers, "cpu io\n" },
	    { release, "6.1.0-44\n" },
	    { "boot/config-6.1.0-44", "CONFIG_MEMCG=y\n" },
	    { "proc/cmdline", "cgroup_disable=memory cgroup_enable=memory\n" } },
	  MEMCG_OFF,
	  HIERARCHY_V2,
	  "/sys/fs/cgroup/cgroup.controllers",
	  "cgroup_disable=memory on the kernel command line (this kernel does not know "
	  "cgroup_enable=memory)" },
	/* --- namespaces and containers --- */
	{ "child with the controller's files",
	  { { controllers, "\n" },
	    { "sys/fs/cgroup/cgroup.events", "populated 1\n" },
	    { "sys/fs/cgroup/memory.max", "max\n" } },
	  MEMCG_ON,
	  HIERARCHY_V2,
	  "/sys/fs/cgroup/memory.max",
	  "files" },
	{ "child without: its parent decides",
	  { { controllers, "cpu pids\n" },
	    { "sys/fs/cgroup/cgroup.type", "domain\n" },
	    { release, "6.12.1\n" },
	    { "proc/cgroups", TABLE } },
	  MEMCG_UNKNOWN,
	  HIERARCHY_V2,
	  NULL,
	  "no v1 memory controller" },
	{ "child without, the table knows",
	  { { controllers, "cpu pids\n" },
	    { "sys/fs/cgroup/cgroup.type", "domain\n" },
	    { "proc/cgroups", MEMORY("0\t77\t1") } },
	  MEMCG_ON,
	  HIERARCHY_V2,
	  "/proc/cgroups",
	  "enabled" },
	{ "a container's tree is no root's, told apart or not",
	  { { controllers, "cpu pids\n" }, { ".dockerenv", "" } },
	  MEMCG_UNKNOWN,
	  HIERARCHY_V2,
	  NULL,
	  "not visible from inside" },
	{ "WSL shows the real root",
	  { { controllers, "cpu pids\n" },
	    { release, "6.18.33.1-microsoft-standard-WSL2\n" },
	    { "proc/cmdline", "cgroup_disable=memory\n" } },
	  MEMCG_OFF,
	  HIERARCHY_V2,
	  "/sys/fs/cgroup/cgroup.controllers",
	  "cgroup_disable=memory" },
	/* --- v1 and hybrid --- */
	{ "v1",
	  { { "sys/fs/cgroup/memory/memory.usage_in_bytes", "1\n" },
	    { "sys/fs/cgroup/memory/cgroup.procs", "1\n" } },
	  MEMCG_ON,
	  HIERARCHY_V1,
	  "/sys/fs/cgroup/memory",
	  "v1" },
	{ "hybrid",
	  { { "sys/fs/cgroup/memory/memory.usage_in_bytes", "1\n" },
	    { "sys/fs/cgroup/memory/cgroup.procs", "1\n" },
	    { "sys/fs/cgroup/unified/cgroup.controllers", "hugetlb\n" } },
	  MEMCG_ON,
	  HIERARCHY_HYBRID,
	  "/sys/fs/cgroup/memory",
	  "v1" },
	{ "hybrid, memory on v2",
	  { { "sys/fs/cgroup/systemd/cgroup.procs", "1\n" },
	    { "sys/fs/cgroup/unified/cgroup.controllers", "memory\n" } },
	  MEMCG_ON,
	  HIERARCHY_HYBRID,
	  "/sys/fs/cgroup/unified/cgroup.controllers",
	  "v2" },
	{ "hybrid, only the table tells that v1 has it",
	  { { "sys/fs/cgroup/systemd/cgroup.procs", "1\n" },
	    { "sys/fs/cgroup/unified/cgroup.controllers", "hugetlb\n" },
	    { "proc/cgroups", MEMORY("4\t30\t1") } },
	  MEMCG_ON,
	  HIERARCHY_HYBRID,
	  "/proc/cgroups",
	  "enabled" },
	{ "a v1 hierarchy by the process's own cgroups",
	  { { "proc/self/cgroup", "5:pids:/\n4:cpu,memory:/a:b,memory\n0::/\n" } },
	  MEMCG_ON,
	  HIERARCHY_UNKNOWN,
	  "/proc/self/cgroup",
	  "v1 hierarchy" },
	{ "not by a path of that name",
	  { { "proc/self/cgroup", "5:pids:/memory\n1:name=memory:/\n0::/memory:memory\n" } },
	  MEMCG_UNKNOWN,
	  HIERARCHY_UNKNOWN,
	  NULL,
	  "tells" },
	/* --- /proc/cgroups --- */
	{ "row with 0",
	  { { "proc/cgroups", MEMORY("0\t77\t0") } },
	  MEMCG_OFF,
	  HIERARCHY_UNKNOWN,
	  "/proc/cgroups",
	  "lists it as disabled" },
	{ "row with 1",
	  { { "proc/cgroups", MEMORY("3\t77\t1") } },
	  MEMCG_ON,
	  HIERARCHY_UNKNOWN,
	  "/proc/cgroups",
	  "enabled" },
	{ "row with 0, and the word",
	  { { "proc/cgroups", MEMORY("0\t77\t0") },
	    { "proc/cmdline", "cgroup-disable=memory" } },
	  MEMCG_OFF,
	  HIERARCHY_UNKNOWN,
	  "/proc/cgroups",
	  "cgroup-disable=memory on the kernel command line" },
	{ "row with blanks",
	  { { "proc/cgroups", "#subsys_name  hierarchy\nmemory    1      1    0\n" } },
	  MEMCG_OFF,
	  HIERARCHY_UNKNOWN,
	  "/proc/cgroups",
	  "disabled" },
	{ "no row, old kernel",
	  { { "proc/cgroups", TABLE }, { release, "5.10.0-1\n" } },
	  MEMCG_UNAVAILABLE,
	  HIERARCHY_UNKNOWN,
	  "/proc/cgroups",
	  "none of them" },
	{ "no row, 6.11",
	  { { "proc/cgroups", TABLE }, { release, "6.11.0\n" } },
	  MEMCG_UNKNOWN,
	  HIERARCHY_UNKNOWN,
	  NULL,
	  "no v1 memory controller" },
	{ "no row, no release",
	  { { "proc/cgroups", TABLE } },
	  MEMCG_UNKNOWN,
	  HIERARCHY_UNKNOWN,
	  NULL,
	  "no v1 memory controller" },
	{ "no rows at all",
	  { { "proc/cgroups", "#subsys_name\n" }, { release, "5.10.0-1\n" } },
	  MEMCG_UNKNOWN,
	  HIERARCHY_UNKNOWN,
	  NULL,
	  "tells" },
	{ "no row, not built",
	  { { "proc/cgroups", TABLE },
	    { release, "6.12.0\n" },
	    { "boot/config-6.12.0", "# CONFIG_MEMCG is not set\n" } },
	  MEMCG_UNAVAILABLE,
	  HIERARCHY_UNKNOWN,
	  "/boot/config-6.12.0",
	  "CONFIG_MEMCG" },
	/* --- only the line --- */
	{ "off whatever the kernel is",
	  { { "proc/cmdline", "cgroup_disable=memory\n" } },
	  MEMCG_OFF,
	  HIERARCHY_UNKNOWN,
	  "/proc/cmdline",
	  "cgroup_disable=memory" },
	{ "depends on the kernel",
	  { { "proc/cmdline", "cgroup_disable=memory cgroup_enable=memory\n" } },
	  MEMCG_UNKNOWN,
	  HIERARCHY_UNKNOWN,
	  NULL,
	  "tells" },
	/* --- where a word comes from --- */
	{ "device tree",
	  { { "proc/cmdline", "a cgroup_disable=memory b\n" },
	    { "boot/firmware/cmdline.txt", "b\n" },
	    { controllers, "cpu\n" } },
	  MEMCG_OFF,
	  HIERARCHY_V2,
	  "/sys/fs/cgroup/cgroup.controllers",
	  "device tree: /boot/firmware/cmdline.txt does not have it" },
	{ "cmdline.txt itself",
	  { { "proc/cmdline", "a cgroup_disable=memory\n" },
	    { "boot/cmdline.txt", "cgroup_disable=memory\n" },
	    { controllers, "cpu\n" } },
	  MEMCG_OFF,
	  HIERARCHY_V2,
	  "/sys/fs/cgroup/cgroup.controllers",
	  "on the kernel command line" },
	{ "bootconfig",
	  { { "proc/cmdline", "cgroup_disable=\"memory\" quiet\n" },
	    { "proc/bootconfig", "kernel.cgroup_disable = \"memory\"\n" },
	    { controllers, "cpu\n" } },
	  MEMCG_OFF,
	  HIERARCHY_V2,
	  "/sys/fs/cgroup/cgroup.controllers",
	  "cgroup_disable=\"memory\" from the bootconfig" },
	{ "built in",
	  { { "proc/cmdline", "cgroup_disable=memory quiet\n" },
	    { release, "6.1.0-x\n" },
	    { "boot/config-6.1.0-x", "CONFIG_X86=y\nCONFIG_MEMCG=y\nCONFIG_CMDLINE_BOOL=y\n"
				     "CONFIG_CMDLINE=\"cgroup_disable=memory\"\n" },
	    { controllers, "cpu\n" } },
	  MEMCG_OFF,
	  HIERARCHY_V2,
	  "/sys/fs/cgroup/cgroup.controllers",
	  "CONFIG_CMDLINE" },
	/* --- odd captures --- */
	{ "one slice",
	  { { "sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/cgroup.controllers",
	      "memory pids\n" } },
	  MEMCG_ON,
	  HIERARCHY_UNKNOWN,
	  "/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/cgroup.controllers",
	  "a cgroup has memory" },
	{ "one slice without",
	  { { "sys/fs/cgroup/user.slice/cgroup.controllers", "cpu pids\n" } },
	  MEMCG_UNKNOWN,
	  HIERARCHY_UNKNOWN,
	  NULL,
	  "tells" },
	{ "a limit",
	  { { "sys/fs/cgroup/system.slice/memory.max", "max\n" } },
	  MEMCG_ON,
	  HIERARCHY_UNKNOWN,
	  "/sys/fs/cgroup/system.slice/memory.max",
	  "a cgroup has memory" },
	{ "pressure is not memcg",
	  { { "sys/fs/cgroup/system.slice/memory.pressure", "some avg10=0\n" },
	    { "sys/fs/cgroup/memory.pressure", "some avg10=0\n" },
	    { "sys/fs/cgroup/cgroup.stat", "nr_subsys_memory 1\n" } },
	  MEMCG_UNKNOWN,
	  HIERARCHY_UNKNOWN,
	  NULL,
	  "tells" },
};

static void test_machines(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(machines); i++) {
		const struct machine *m = &machines[i];
		_cleanup_facts_ struct facts facts = {};
		const struct running *r = &facts.running;
		struct tree tree;

		tree_init(&tree, ROOT_SNAPSHOT);
		for (size_t k = 0; k < ARRAY_SIZE(m->files) && m->files[k].path; k++)
			tree_write(&tree, m->files[k].path, m->files[k].text);
		assert_int_equal(facts_load(tree.root, &facts), 0);
		if (r->memcg != m->memcg || r->hierarchy != m->hierarchy ||
		    !streq_ptr(r->source, m->source) || !r->why || !strstr(r->why, m->why))
			fail_msg("%s: %s, %s, %s, source %s", m->name,
				 memcg_state_to_string(r->memcg),
				 hierarchy_to_string(r->hierarchy), r->why, r->source);
		tree_done(&tree);
	}
}

static void test_mounts(void **state _unused_)
{
	static const struct {
		const char *mounts;
		enum memcg_state memcg;
		enum hierarchy hierarchy;
		const char *tree;
	} cases[] = {
		{ "cgroup /cg cgroup rw,cpu,memory 0 0\n", MEMCG_ON, HIERARCHY_V1, "/cg" },
		{ "cgroup /cg cgroup rw,cpu 0 0\n", MEMCG_UNKNOWN, HIERARCHY_V1, NULL },
		{ "cgroup /cg cgroup rw,cpu 0 0\ncgroup2 /cg2 cgroup2 rw 0 0\n", MEMCG_UNKNOWN,
		  HIERARCHY_HYBRID, NULL },
		{ "cgroup2 /cg2 cgroup2 rw,memory_recursiveprot 0 0\n", MEMCG_UNKNOWN,
		  HIERARCHY_V2, NULL },
		{ "tmpfs /memory tmpfs rw,memory 0 0\n", MEMCG_UNKNOWN, HIERARCHY_UNKNOWN,
		  NULL },
	};

	if (!HAVE_LIBMOUNT) {
		print_message("SKIP mounts: no libmount\n");
		skip();
	}
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_facts_ struct facts facts = {};
		struct tree tree;

		tree_init(&tree, ROOT_SNAPSHOT);
		tree_write(&tree, "proc/mounts", cases[i].mounts);
		assert_int_equal(facts_load(tree.root, &facts), 0);
		assert_int_equal(facts.running.memcg, cases[i].memcg);
		assert_int_equal(facts.running.hierarchy, cases[i].hierarchy);
		assert_true(streq_ptr(facts.running.memory_tree, cases[i].tree));
		tree_done(&tree);
	}
}

/* An offline root has no kernel: nothing is looked at, not even what lies there. */
static void test_offline(void **state _unused_)
{
	_cleanup_facts_ struct facts facts = {};
	struct tree tree;

	tree_init(&tree, ROOT_OFFLINE);
	tree_write(&tree, controllers, "memory\n");
	tree_write(&tree, "proc/cmdline", "cgroup_disable=memory\n");
	tree_write(&tree, release, "6.1.0\n");
	tree_write(&tree, "boot/vmlinuz-6.1.0-44-amd64", "x");
	assert_int_equal(facts_load(tree.root, &facts), 0);
	assert_int_equal(facts.running.memcg, MEMCG_NOT_LOOKED);
	assert_null(memcg_state_to_string(facts.running.memcg));
	assert_null(facts.running.why);
	assert_null(hierarchy_to_string(facts.running.hierarchy));
	assert_null(facts.running.release);
	assert_null(facts.running.container);
	assert_null(cmdline_request_to_string(facts.running.request));
	assert_int_equal(facts.kernels.n, 1);
	assert_false(facts.kernels.items[0].running);
	tree_done(&tree);
}

/* What the running kernel did is known of it afterwards. */
static void test_learnt(void **state _unused_)
{
	_cleanup_facts_ struct facts facts = {};
	const struct kernel *kernel;
	struct tree tree;

	tree_init(&tree, ROOT_SNAPSHOT);
	tree_write(&tree, controllers, "memory\n");
	tree_write(&tree, "proc/cmdline", "cgroup_disable=memory cgroup_enable=memory\n");
	tree_write(&tree, release, "6.12.34+rpt-rpi-2712\n");
	assert_int_equal(facts_load(tree.root, &facts), 0);
	assert_int_equal(facts.running.request, CMDLINE_ON);
	assert_string_equal(facts.running.token, "cgroup_enable=memory");
	kernel = kernels_find_running(&facts.kernels);
	assert_non_null(kernel);
	assert_int_equal(kernel->memcg_built, ANSWER_YES);
	assert_int_equal(kernel->honours_enable, ANSWER_YES);
	assert_int_equal(kernel->rules, CMDLINE_HONOURS);
	tree_done(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_machines),
		cmocka_unit_test(test_mounts),
		cmocka_unit_test(test_offline),
		cmocka_unit_test(test_learnt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
