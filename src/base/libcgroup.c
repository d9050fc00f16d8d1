/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/libcgroup.h"

#include "base/str.h"

#if HAVE_LIBCGROUP

#include "base/dlopen.h"

#include <libcgroup.h>

#define SYMBOLS(_)                  \
	_(cgroup_init)              \
	_(cgroup_new_cgroup)        \
	_(cgroup_add_controller)    \
	_(cgroup_free)              \
	_(cgroup_create_cgroup)     \
	_(cgroup_delete_cgroup_ext) \
	_(cgroup_walk_tree_begin)   \
	_(cgroup_walk_tree_next)    \
	_(cgroup_walk_tree_end)
DLOPEN_LIBRARY(libcgroup_library, "suggested", LIBCGROUP_SONAME, "cgroup",
	       "groups of cgroup v1", SYMBOLS);

/* Its codes start at 50000 and say less than errno, which it mostly leaves alone. */
static int to_errno(int code)
{
	switch (code) {
	case 0:
		return 0;
	case ECGROUPNOTALLOWED:
		return -EPERM;
	case ECGROUPNOTEXIST:
	case ECGROUPSUBSYSNOTMOUNTED:
	case ECGROUPNOTMOUNTED:
		return -ENOENT;
	case ECGNONEMPTY:
		return -EBUSY;
	default:
		return errno > 0 ? -errno : -EIO;
	}
}

static int start(struct libcgroup_library *lib)
{
	int r = libcgroup_library_open(lib);

	return r < 0 ? r : lib->cgroup_init() == 0 ? 0 : -EOPNOTSUPP;
}

static int with_group(const char *controller, const char *name, bool make)
{
	struct libcgroup_library lib;
	struct cgroup *group;
	int r = start(&lib);

	if (r < 0)
		return r;
	group = lib.cgroup_new_cgroup(name);
	if (!group)
		return -ENOMEM;
	errno = 0;
	if (!lib.cgroup_add_controller(group, controller))
		r = -ENOMEM;
	else if (make)
		/* 1: owner and mode stay what mkdir() gives */
		r = to_errno(lib.cgroup_create_cgroup(group, 1));
	else
		r = to_errno(lib.cgroup_delete_cgroup_ext(group, CGFLAG_DELETE_RECURSIVE));
	lib.cgroup_free(&group);
	return r;
}

int libcgroup_make(const char *controller, const char *name)
{
	return with_group(controller, name, true);
}

int libcgroup_remove(const char *controller, const char *name)
{
	return with_group(controller, name, false);
}

int libcgroup_list(const char *controller, size_t max, struct strv *ret)
{
	struct cgroup_file_info info;
	struct libcgroup_library lib;
	void *handle = NULL;
	size_t top = 0;
	int level, code, r = start(&lib);

	if (r < 0)
		return r;
	code = lib.cgroup_walk_tree_begin(controller, "/", 0, &handle, &info, &level);
	/* the first is the root itself; when the beginning fails there is nothing to end */
	if (code != 0)
		return -EOPNOTSUPP;
	top = strlen(info.full_path);
	while ((code = lib.cgroup_walk_tree_next(0, &handle, &info, level)) == 0 && r >= 0) {
		const char *name = info.full_path + top;

		/* each directory is met again on the way up, as "other" */
		if (info.type != CGROUP_FILE_TYPE_DIR)
			continue;
		name += strspn(name, "/");
		if (ret->n >= max)
			r = -EFBIG;
		else
			strv_add(ret, name);
	}
	(void)lib.cgroup_walk_tree_end(&handle); /* only read */
	if (r >= 0 && code != 0 && code != ECGEOF)
		r = -EIO;
	return r < 0 ? r : strv_error(ret);
}

#else

int libcgroup_make(const char *controller _unused_, const char *name _unused_)
{
	return -EOPNOTSUPP;
}

int libcgroup_remove(const char *controller _unused_, const char *name _unused_)
{
	return -EOPNOTSUPP;
}

int libcgroup_list(const char *controller _unused_, size_t max _unused_,
		   struct strv *ret _unused_)
{
	return -EOPNOTSUPP;
}

#endif
