/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "loader.h"

#include "base/str.h"
#include "facts/kernels.h"

struct run {
	struct boot boot;
	enum boot_want want;
};

static int plan(void *userdata, struct changeset *cs, struct diag *diag)
{
	struct run *run = userdata;
	_cleanup_boot_state_ struct boot_state state = {};
	struct boot_words words;
	int r = boot_read(&run->boot, &state, diag);

	if (r >= 0)
		r = boot_words(&run->boot, run->want, &words, diag);
	if (r >= 0)
		r = run->boot.backend->plan(&run->boot, &state, &words, cs, diag);
	return r;
}

static int finish(void *userdata, const struct changeset *cs _unused_, struct diag *diag)
{
	struct run *run = userdata;
	struct boot_words words;
	int r = boot_words(&run->boot, run->want, &words, diag);

	if (r >= 0)
		r = run->boot.backend->refresh(&run->boot, &words, diag);
	if (r >= 0)
		r = run->boot.backend->verify(&run->boot, &words, diag);
	return r;
}

struct loader_result loader_run(const struct tree *tree, enum boot_want want)
{
	struct loader_result result = {};
	_cleanup_kernels_ struct kernels kernels = {};
	_cleanup_changeset_ struct changeset cs = {};
	_cleanup_strbuf_ struct strbuf commands = {};
	struct run run = { .want = want };
	const struct changeset_task task = {
		.root = tree->root,
		.verb = "test",
		.plan = plan,
		.finish = finish,
		.userdata = &run,
	};

	assert_int_equal(kernels_load(tree->root, NULL, &kernels), 0);
	result.r = boot_probe(tree->root, &kernels, NULL, &run.boot, &result.diag);
	assert_int_equal(result.r, 0);
	result.backend = strdup(run.boot.backend->name);
	result.r = changeset_run(&task, &cs, &result.diag);
	for (size_t i = 0; i < cs.n_commands; i++)
		for (size_t k = 0; k < cs.commands[i].argv.n; k++)
			strbuf_addf(&commands, "%s%c", cs.commands[i].argv.items[k],
				    k + 1 < cs.commands[i].argv.n ? ' ' : '\n');
	assert_int_equal(strbuf_take(&commands, &result.commands, NULL), 0);
	return result;
}

void loader_result_done(struct loader_result *result)
{
	free(result->backend);
	free(result->commands);
	diag_done(&result->diag);
	*result = (struct loader_result){};
}

char *loader_entries(const struct tree *tree)
{
	_cleanup_diag_ struct diag diag = {};
	_cleanup_kernels_ struct kernels kernels = {};
	_cleanup_boot_state_ struct boot_state state = {};
	struct strbuf out = {};
	struct boot boot;
	char *ret;

	assert_int_equal(kernels_load(tree->root, NULL, &kernels), 0);
	assert_int_equal(boot_probe(tree->root, &kernels, NULL, &boot, &diag), 0);
	assert_int_equal(boot_read(&boot, &state, &diag), 0);
	for (size_t i = 0; i < state.entries.n; i++) {
		const struct boot_entry *e = &state.entries.items[i];

		strbuf_addf(&out, "%s%s %s%s%s", i ? "|" : "", e->id,
			    cmdline_request_to_string(e->request), e->is_default ? " d" : "",
			    e->ours ? " o" : "");
	}
	assert_int_equal(strbuf_take(&out, &ret, NULL), 0);
	return ret;
}
