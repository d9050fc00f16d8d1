/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "need-tree.h"

#include "base/diag.h"
#include "base/str.h"

void need_tree_make(const struct tree *tree, const struct need_file *file)
{
	const char *target = str_skip_prefix(file->text, "->");
	_cleanup_free_ char *full = NULL, *parent = NULL;

	if (target)
		tree_symlink(tree, target, file->path);
	else if (streq(file->text, "/"))
		tree_mkdir(tree, file->path);
	else if (streq(file->text, "|")) {
		parent = strdup(file->path);
		assert_non_null(parent);
		if (strrchr(parent, '/')) {
			*strrchr(parent, '/') = '\0';
			tree_mkdir(tree, parent);
		}
		assert_int_equal(str_printf(&full, "%s/%s", tree->path, file->path), 0);
		assert_int_equal(mkfifo(full, 0600), 0);
	} else
		tree_write(tree, file->path, file->text);
}

void need_write_catalogue(const struct tree *tree, const char *rules)
{
	_cleanup_strbuf_ struct strbuf conf = {};

	strbuf_addf(&conf, NEED "%s", rules);
	tree_write(tree, CATALOGUE "x.conf", conf.data);
}

char *need_summary(const struct needs *needs)
{
	static const char *const states[] = { "no", "yes", "unknown" };
	struct strbuf buf = {};
	char *ret;

	if (needs->n == 0)
		strbuf_adds(&buf, "none");
	for (size_t i = 0; i < needs->n; i++) {
		const struct need *need = &needs->items[i];

		strbuf_addf(&buf, "%s%s %s %zu:", i > 0 ? "\n" : "", states[need->installed],
			    states[need->in_use], need->n_limits);
		for (size_t k = 0; k < need->n_evidence; k++)
			strbuf_addf(&buf, "%s %s:%u %s", k > 0 ? ";" : "",
				    need->evidence[k].path, need->evidence[k].line,
				    need->evidence[k].text);
	}
	if (needs->incomplete)
		strbuf_adds(&buf, " (incomplete)");
	assert_int_equal(strbuf_take(&buf, &ret, NULL), 0);
	return ret;
}

void need_check(const char *name, size_t i, enum root_mode mode, const struct need_case *c)
{
	_cleanup_strbuf_ struct strbuf conf = {};
	_cleanup_needs_ struct needs needs = {};
	_cleanup_diag_ struct diag diag = {};
	_cleanup_free_ char *got = NULL, *warning = NULL;
	struct tree tree;

	tree_init(&tree, mode);
	strbuf_addf(&conf, NEED "%s", c->rules);
	tree_write(&tree, CATALOGUE "x.conf", conf.data);
	for (size_t k = 0; k < ARRAY_SIZE(c->files) && c->files[k].path; k++)
		need_tree_make(&tree, &c->files[k]);
	assert_int_equal(needs_find(tree.root, NULL, NULL, &needs, &diag), 0);
	got = need_summary(&needs);
	if (!streq(got, c->want))
		fail_msg("%s %zu: got\n%s\nwanted\n%s", name, i, got, c->want);
	if (diag.n > 0)
		assert_int_equal(str_printf(&warning, "%s: %s", diag.messages[0].path,
					    diag.messages[0].text),
				 0);
	if (!streq_ptr(warning, c->warning))
		fail_msg("%s %zu: warned\n%s\nwanted\n%s", name, i, warning ? warning : "none",
			 c->warning ? c->warning : "none");
	tree_done(&tree);
}
