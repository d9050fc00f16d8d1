/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "facts/facts.h"

int facts_load(const struct root *root, struct facts *ret)
{
	_cleanup_facts_ struct facts facts = {};
	struct kernel *kernel;
	int r;

	r = running_identify(root, &facts.running);
	if (r >= 0)
		r = kernels_load(root, facts.running.release, &facts.kernels);
	if (r < 0)
		return r;
	kernel = kernels_find_running(&facts.kernels);
	r = running_look(root, kernel, &facts.running);
	if (r < 0)
		return r;
	if (kernel && facts.running.cmdline_text)
		kernel_learn(kernel, &facts.running.cmdline, facts.running.memcg);
	*ret = facts;
	facts = (struct facts){};
	return 0;
}

void facts_done(struct facts *facts)
{
	running_done(&facts->running);
	kernels_done(&facts->kernels);
}
