/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "need-tree.h"

#include "base/diag.h"
#include "base/str.h"
#include "facts/running.h"

/* Groups with limits of a live or captured tree; what a package's unit sets itself is no need.
 */
static void test_cgroups(void **state _unused_)
{
#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	static const struct {
		const char *path, *value;
		const char *want; /* the evidence, NULL: none */
		bool v1;
	} cases[] = {
		{ "cg/a.slice/memory.max", "max\n", NULL },
		{ "cg/memory.max", "5\n", NULL },
		{ "cg/a.slice/memory.max", "1048576\n", "memory.max = 1048576 of a.slice" },
		{ "cg/a.slice/b.service/memory.high", "4096\n",
		  "memory.high = 4096 of b.service" },
		{ "cg/a.slice/b.service/memory.zswap.max", "0\n",
		  "memory.zswap.max = 0 of b.service" },
		{ "cg/a.slice/b.service/memory.min", "0\n", NULL },
		/* as shipped, and with something of the administrator's beside it */
		{ "cg/a.slice/v.service/memory.high", "4096\n", NULL },
		{ "cg/a.slice/v@1.service/memory.low", "4096\n", NULL },
		{ "cg/a.slice/o.service/memory.high", "4096\n",
		  "memory.high = 4096 of o.service" },
		{ "cg/a.slice/s.service/memory.high", "4096\n",
		  "memory.high = 4096 of s.service" },
		/* containers */
		{ "cg/system.slice/docker-" ID ".scope/memory.max", "1\n",
		  "memory.max = 1 of docker container 0123456789ab" },
		{ "cg/machine.slice/libpod-" ID ".scope/container/memory.max", "1\n",
		  "memory.max = 1 of podman container 0123456789ab" },
		{ "cg/lxc.payload.c1/memory.max", "1\n", "memory.max = 1 of LXC container c1" },
		{ "cg/machine.slice/machine-c2.scope/memory.max", "1\n",
		  "memory.max = 1 of machine c2" },
		{ "cg/docker/" ID "/memory.limit_in_bytes", "67108864\n",
		  "memory.limit_in_bytes = 67108864 of docker container 0123456789ab", true },
		{ "cg/docker/x/memory.limit_in_bytes", "9223372036854771712\n", NULL, true },
		/* users and other people's groups */
		{ "cg/user.slice/user-1000.slice/memory.max", "1\n",
		  "memory.max = 1 of user-1000.slice of user ann" },
		{ "cg/user.slice/user-1001.slice/user@1001.service/app.slice/x.scope/"
		  "memory.max",
		  "1\n", "memory.max = 1 of x.scope of user 1001" },
		{ "cg/jobs/7/memory.max", "1\n", "memory.max = 1 of cgroup jobs/7" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct running running = {
			.memcg = MEMCG_ON,
			.memory_tree = (char *)"/cg",
			.hierarchy = cases[i].v1 ? HIERARCHY_V1 : HIERARCHY_V2,
		};
		_cleanup_needs_ struct needs needs = {};
		_cleanup_diag_ struct diag diag = {};
		_cleanup_free_ char *dir = strdup(cases[i].path);
		const char *got;
		struct tree tree;

		tree_init(&tree, ROOT_SNAPSHOT);
		tree_write(&tree, CATALOGUE "x.conf", NEED "[Limits]\nCgroupLimit=*\n");
		tree_write(&tree, "usr/lib/systemd/system/v.service", "");
		tree_write(&tree, "usr/lib/systemd/system/v@.service", "");
		tree_write(&tree, "usr/lib/systemd/system/o.service", "");
		tree_write(&tree, "etc/systemd/system/o.service.d/x.conf", "");
		tree_write(&tree, "usr/lib/systemd/system/s.service", "");
		tree_write(&tree, "etc/systemd/system.control/s.service.d/50-x.conf", "");
		tree_write(&tree, "etc/passwd", "root:x:0:0::/:/\nann:x:1000:1000::/:/\n");
		/* the controller is in every group from the root on */
		for (char *slash = strrchr(dir, '/'); slash; slash = strrchr(dir, '/')) {
			_cleanup_free_ char *path = NULL;

			*slash = '\0';
			assert_int_equal(str_printf(&path, "%s/%s", dir,
						    cases[i].v1 ? "memory.limit_in_bytes"
								: "memory.max"),
					 0);
			if (strchr(dir, '/'))
				tree_write(&tree, path,
					   cases[i].v1 ? "9223372036854771712\n" : "max\n");
		}
		tree_write(&tree, cases[i].path, cases[i].value);
		assert_int_equal(needs_find(tree.root, &running, NULL, &needs, &diag), 0);
		got = needs.n > 0 ? needs.items[0].evidence[0].text : NULL;
		/* the directory's owner is whoever runs this */
		if (cases[i].want && got && geteuid() != 0
			    ? !str_skip_prefix(got, cases[i].want)
			    : !streq_ptr(got, cases[i].want))
			fail_msg("%s: %s", cases[i].path, got ? got : "nothing");
		assert_int_equal(diag.n, 0);
		tree_done(&tree);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cgroups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
