/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Not a part of the program: kernels.py includes it in kernel/cgroup/cgroup.c of Linux, in
 * front of cgroup_init(), to have kernels that honour cgroup_enable= as those of Raspberry Pi
 * and of Debian 7 and 8 did.
 *
 * ENABLE_WINS: what is enabled anywhere on the line is on, whatever stands before and behind
 * it; else the words count in their order. OFF_BY_DEFAULT: without its word, memory is off.
 */

static u16 cgroup_enable_mask __initdata;

static int __init cgroup_enable(char *str)
{
	struct cgroup_subsys *ss;
	char *token;
	int i;

	while ((token = strsep(&str, ",")) != NULL) {
		for_each_subsys(ss, i)
		{
			if (strcmp(token, ss->name) && strcmp(token, ss->legacy_name))
				continue;
			cgroup_enable_mask |= 1 << i;
			if (!ENABLE_WINS)
				static_branch_enable(cgroup_subsys_enabled_key[i]);
			pr_info("Enabling %s control group subsystem\n", ss->name);
		}
	}
	return 1;
}
__setup("cgroup_enable=", cgroup_enable);

/* From cgroup_init(), with the whole line read. */
static void __init cgroup_enable_apply(void)
{
	struct cgroup_subsys *ss;
	int i;

	for_each_subsys(ss, i) if (ENABLE_WINS && cgroup_enable_mask & 1 << i)
		static_branch_enable(cgroup_subsys_enabled_key[i]);
	if (OFF_BY_DEFAULT && !(cgroup_enable_mask & 1 << memory_cgrp_id) &&
	    cgroup_ssid_enabled(memory_cgrp_id)) {
		static_branch_disable(&memory_cgrp_subsys_enabled_key);
		pr_info("Disabling memory control group subsystem\n");
	}
}
