/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "units/unit-cgroup.h"

#include "base/root.h"
#include "base/str.h"
#include "units/unit-setting.h"

#include <limits.h>

/* page_counter_memparse() in mm/page_counter.c of the kernel; PAGE_COUNTER_MAX is LONG_MAX /
 * PAGE_SIZE and reads "max" */
uint64_t unit_cgroup_round(uint64_t bytes)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t pages = bytes / page;

	return pages >= LONG_MAX / page ? UINT64_MAX : pages * page;
}

/* A file of a cgroup; -ENOENT also for a cgroup that is being removed. */
static int read_file(const struct root *root, const char *tree, const char *cgroup,
		     const char *file, char **ret)
{
	_cleanup_free_ char *path = NULL;
	char *newline;
	int r = str_printf(&path, "%s%s/%s", tree, streq(cgroup, "/") ? "" : cgroup, file);

	if (r >= 0)
		r = root_read(root, path, ROOT_MAX_PROC, ret, NULL);
	if (r == -ENODEV)
		return -ENOENT;
	if (r < 0)
		return r;
	newline = strchr(*ret, '\n');
	if (newline)
		*newline = '\0';
	return 0;
}

/* Whether a file of a cgroup lists memory: 1, 0, or an errno. */
static int lists_memory(const struct root *root, const char *tree, const char *cgroup,
			const char *file)
{
	_cleanup_strv_ struct strv words = {};
	_cleanup_free_ char *text = NULL;
	int r = read_file(root, tree, cgroup, file, &text);

	if (r < 0)
		return r;
	strv_split(&words, text, " ");
	r = strv_error(&words);
	return r < 0 ? r : strv_contains(&words, "memory");
}

/* From the cgroup up: the first one that has memory itself is where it stops. */
static int find_stop(const struct root *root, const char *tree, const char *cgroup, char **ret)
{
	_cleanup_free_ char *at = strdup(cgroup);

	if (!at)
		return -ENOMEM;
	for (;;) {
		char *slash = strrchr(at, '/');
		int r;

		if (!slash || streq(at, "/"))
			return 0;
		slash[slash == at] = '\0';
		r = lists_memory(root, tree, at, "cgroup.controllers");
		if (r == -ENOMEM)
			return r;
		if (r > 0) {
			*ret = TAKE_PTR(at);
			return 0;
		}
	}
}

/* The file that holds the setting; NULL: none does. */
static const char *setting_file(const struct unit_setting *setting, bool v1)
{
	if (!v1)
		return setting->file;
	return setting->file && streq(setting->file, "memory.max") ? "memory.limit_in_bytes"
								   : NULL;
}

static int look_at_missing(const struct root *root, const char *tree, bool v1,
			   const char *cgroup, struct unit_cgroup_answer *ret)
{
	_cleanup_free_ char *text = NULL;
	int r = read_file(root, tree, cgroup, v1 ? "memory.usage_in_bytes" : "memory.current",
			  &text);

	if (r == -ENOMEM)
		return r;
	if (r >= 0) {
		ret->hold = UNIT_HOLDS_NO_FILE;
		return 0;
	}
	free(text);
	text = NULL;
	r = read_file(root, tree, cgroup, "cgroup.procs", &text);
	if (r == -ENOMEM)
		return r;
	/* v1: without the directory the unit is in its parent's group */
	if (v1 && r == -ENOENT)
		ret->hold = UNIT_HOLDS_NOT_ON;
	/* -EOPNOTSUPP: a threaded group lists no processes */
	if (v1 || (r < 0 && r != -EOPNOTSUPP && r != -EACCES))
		return 0;
	ret->hold = UNIT_HOLDS_NOT_ON;
	return find_stop(root, tree, cgroup, &ret->stopped_below);
}

int unit_cgroup_look(const struct root *root, const char *tree, bool v1, const char *cgroup,
		     const struct unit_setting *setting, uint64_t want,
		     struct unit_cgroup_answer *ret)
{
	const char *file = setting_file(setting, v1);
	_cleanup_free_ char *text = NULL;
	uint64_t value;
	int r;

	*ret = (struct unit_cgroup_answer){ .hold = UNIT_HOLD_UNKNOWN };
	if (!file) {
		r = look_at_missing(root, tree, v1, cgroup, ret);
		/* memory is on there, and that is all there is to see */
		if (ret->hold == UNIT_HOLDS_NO_FILE && !v1)
			ret->hold = UNIT_HOLDS;
		return r;
	}
	r = read_file(root, tree, cgroup, file, &text);
	if (r == -ENOENT)
		return look_at_missing(root, tree, v1, cgroup, ret);
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		return 0;
	if (streq(text, "max"))
		value = UINT64_MAX;
	else if (str_parse_u64(text, &value) < 0)
		return 0;
	if (setting->form == UNIT_VALUE_SIZE) {
		value = unit_cgroup_round(value);
		want = unit_cgroup_round(want);
	}
	ret->hold = value == want ? UNIT_HOLDS : UNIT_HOLDS_OTHER;
	ret->value = value;
	return 0;
}

void unit_cgroup_answer_done(struct unit_cgroup_answer *answer)
{
	free(answer->stopped_below);
	*answer = (struct unit_cgroup_answer){};
}
