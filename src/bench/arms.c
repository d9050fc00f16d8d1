/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/arms.h"

#include "base/diag.h"
#include "base/root.h"
#include "base/str.h"
#include "facts/running.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/vfs.h>

enum { DEEPEST = 16 };

/* Does the line of /proc/PID/cgroup belong to the memory tree? Its path, or NULL. */
static const char *memory_path(const char *line, bool v2)
{
	const char *controllers = strchr(line, ':'), *path;

	if (!controllers)
		return NULL;
	path = strchr(++controllers, ':');
	if (!path)
		return NULL;
	if (v2)
		return path == controllers ? path + 1 : NULL;
	for (const char *p = controllers; p < path; p += strcspn(p, ",:") + 1)
		if (strcspn(p, ",:") == 6 && strncmp(p, "memory", 6) == 0)
			return path + 1;
	return NULL;
}

int arms_own_group(const struct root *root, const char *process, bool v2, char **ret)
{
	_cleanup_free_ char *path = NULL, *text = NULL;
	_cleanup_strv_ struct strv lines = {};
	int r = str_printf(&path, "/proc/%s/cgroup", process);

	if (r >= 0)
		r = root_read(root, path, ROOT_MAX_CMDLINE, &text, NULL);
	if (r < 0)
		return r;
	strv_split(&lines, text, "\n");
	for (size_t i = 0; i < lines.n; i++) {
		const char *group = memory_path(lines.items[i], v2);

		if (group) {
			*ret = strdup(group);
			return *ret ? 0 : -ENOMEM;
		}
	}
	r = strv_error(&lines);
	return r < 0 ? r : -ENOENT;
}

unsigned arms_usual_depth(const struct root *root, bool v2)
{
	_cleanup_strv_ struct strv names = {};
	unsigned counts[DEEPEST + 1] = {}, all = 0, below = 0;

	if (root_list(root, "/proc", &names) < 0)
		return 1;
	for (size_t i = 0; i < names.n; i++) {
		_cleanup_free_ char *group = NULL;
		unsigned pid, depth;

		if (str_parse_uint(names.items[i], &pid) < 0 ||
		    arms_own_group(root, names.items[i], v2, &group) < 0)
			continue; /* no process, or gone by now */
		depth = MIN(scratch_depth(group), (unsigned)DEEPEST);
		/* kernel threads are all in the root */
		if (depth > 0) {
			counts[depth]++;
			all++;
		}
	}
	for (unsigned depth = 1; depth <= DEEPEST; depth++) {
		below += counts[depth];
		if (all > 0 && 2 * below >= all)
			return depth;
	}
	return 1;
}

/*
 * A cgroup namespace shows its own group as if it were the root; files that only the real root
 * has, or has not, tell.
 */
static bool is_real_root(const struct root *root, const char *tree, bool v2)
{
	_cleanup_free_ char *path = NULL;

	if (str_printf(&path, "%s/%s", tree, v2 ? "cgroup.type" : "release_agent") < 0)
		return false;
	return root_exists(root, path) != v2;
}

static bool is_v2(const struct root *root, const char *tree)
{
	_cleanup_fd_ int fd = -EBADF;
	struct statfs fs;

	return root_open_dir(root, tree, &fd) >= 0 && fstatfs(fd, &fs) >= 0 &&
	       fs.f_type == CGROUP2_SUPER_MAGIC;
}

const char *arms_why_here(const struct root *root, const struct running *running)
{
	switch (running->memcg) {
	case MEMCG_OFF:
		return "memcg is off in this boot";
	case MEMCG_UNAVAILABLE:
		return "this kernel was built without memcg";
	case MEMCG_ON:
		break;
	default:
		return "it is unknown whether memcg is on";
	}
	if (geteuid() != 0)
		return "not root";
	if (!running->memory_tree)
		return "no cgroup tree with the memory controller is mounted";
	if (!is_real_root(root, running->memory_tree, is_v2(root, running->memory_tree)))
		return "the root cgroup is not visible in this container";
	return NULL;
}

static int add(struct arms *arms, enum arm_kind kind, unsigned depth)
{
	struct arm arm = { .kind = kind, .depth = depth, .fd = -EBADF };

	for (size_t i = 0; i < arms->n; i++)
		if (arms->items[i].kind == kind && arms->items[i].depth == depth &&
		    !arms->items[i].control)
			return 0;
	if (arms->n == ARMS_MAX)
		return -E2BIG;
	if (kind == ARM_CHILD)
		(void)snprintf(arm.name, sizeof(arm.name), "child-%u", depth); /* fits */
	else
		(void)snprintf(arm.name, sizeof(arm.name), "%s",
			       kind == ARM_ROOT ? "root" : "here");
	arms->items[arms->n++] = arm;
	if (arms->n == 1) {
		arm.control = true;
		(void)snprintf(arm.name, sizeof(arm.name), "control");
		arms->items[arms->n++] = arm;
	}
	return 0;
}

/* One word of --where. */
static int add_word(struct arms *arms, const struct root *root, bool v2, const char *word,
		    struct diag *diag)
{
	const char *depth = str_skip_prefix(word, "depth=");
	unsigned number = 0;

	if (streq(word, "here"))
		return add(arms, ARM_HERE, 0);
	if (streq(word, "root"))
		return add(arms, ARM_ROOT, 0);
	if (streq(word, "child") || streq_ptr(depth, "auto")) {
		number = arms_usual_depth(root, v2);
		return add(arms, ARM_CHILD,
			   arms->has_scratch ? MAX(number, arms->scratch.base_depth + 1)
					     : number);
	}
	if (!depth || str_parse_uint(depth, &number) < 0 || number < 1 || number > DEEPEST) {
		diag_error(diag,
			   &(struct diag_where){
				   .hint = "memcg-policy bench run --where=root,child" },
			   "--where does not know \"%s\" (root, child, depth=1 to %d, here)",
			   word, DEEPEST);
		return -EINVAL;
	}
	if (arms->has_scratch && number <= arms->scratch.base_depth) {
		diag_error(diag, &(struct diag_where){},
			   "systemd manages this cgroup tree, so depth=%u cannot be had: %u is "
			   "the least",
			   number, arms->scratch.base_depth + 1);
		return -EINVAL;
	}
	return add(arms, ARM_CHILD, number);
}

static int open_arm(struct arms *arms, const struct root *root, const char *tree,
		    struct arm *arm)
{
	switch (arm->kind) {
	case ARM_HERE:
		return 0;
	case ARM_ROOT:
		return root_open_dir(root, tree, &arm->fd);
	case ARM_CHILD:
		return arm->control ? 0 : scratch_make(&arms->scratch, arm->depth, &arm->fd);
	}
	return -EINVAL;
}

/* The directory of the group to work below: our scope, or the root where nobody manages it. */
static int open_scratch(struct arms *arms, const struct root *root, const char *tree, bool v2)
{
	_cleanup_free_ char *own = NULL;
	int r = 0;

	if (root_exists(root, "/run/systemd/system"))
		r = arms_own_group(root, "self", v2, &own);
	if (r >= 0)
		r = scratch_open(root, tree, own ? own : "", v2, &arms->scratch);
	arms->has_scratch = r >= 0;
	return r;
}

static int open_all(struct arms *arms, const struct root *root, const struct running *running,
		    const struct arms_request *request, struct diag *diag)
{
	_cleanup_strv_ struct strv words = {};
	const char *tree = running->memory_tree;
	bool v2 = is_v2(root, tree);
	int r = open_scratch(arms, root, tree, v2);

	strv_split(&words, request->where ? request->where : "root,child", ",");
	if (r >= 0)
		r = strv_error(&words);
	for (size_t i = 0; i < words.n && r >= 0; i++)
		r = add_word(arms, root, v2, words.items[i], diag);
	for (size_t i = 0; i < arms->n && r >= 0; i++)
		r = open_arm(arms, root, tree, &arms->items[i]);
	/* the control shares the directory of what it controls */
	if (r >= 0 && arms->items[0].kind == ARM_CHILD)
		arms->items[1].fd = fcntl(arms->items[0].fd, F_DUPFD_CLOEXEC, 0);
	return r;
}

int arms_open(const struct root *root, const struct running *running,
	      const struct arms_request *request, struct arms *ret, struct diag *diag)
{
	struct arms arms = {};
	const char *why = request->no_cgroup ? "--no-cgroup" : arms_why_here(root, running);
	int r = why ? 0 : open_all(&arms, root, running, request, diag);

	if (r < 0) {
		arms_close(&arms, diag);
		if (r == -EINVAL && diag_count(diag, DIAG_ERROR) > 0)
			return r;
		/* say so, and measure what can be measured */
		r = str_printf(&arms.why_here, "no cgroup could be made: %s", strerror(-r));
	} else if (why)
		r = str_printf(&arms.why_here, "%s", why);
	if (r >= 0 && arms.why_here)
		r = add(&arms, ARM_HERE, 0);
	if (r < 0) {
		arms_close(&arms, diag);
		return r;
	}
	*ret = arms;
	return 0;
}

void arms_close(struct arms *arms, struct diag *diag)
{
	for (size_t i = 0; i < arms->n; i++)
		closep(&arms->items[i].fd);
	if (arms->has_scratch && !scratch_close(&arms->scratch))
		diag_warning(diag, &(struct diag_where){},
			     "a cgroup of this run could not be removed; the next run does");
	free(arms->why_here);
	*arms = (struct arms){};
}
