/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The only user of libcgroup: groups in the memory tree of cgroup v1. */

#include "bench/scratch.h"

#if HAVE_LIBCGROUP

#include "base/dlopen.h"

#include <libcgroup.h>

#define SYMBOLS(_)               \
	_(cgroup_init)           \
	_(cgroup_new_cgroup)     \
	_(cgroup_add_controller) \
	_(cgroup_free) _(cgroup_create_cgroup) _(cgroup_delete_cgroup_ext)
DLOPEN_LIBRARY(libcgroup_library, LIBCGROUP_SONAME, "cgroup",
	       "groups of the benchmark on cgroup v1", SYMBOLS);

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

static int with_group(const char *name, bool make)
{
	struct libcgroup_library lib;
	struct cgroup *group;
	int code, r = libcgroup_library_open(&lib);

	if (r < 0)
		return r;
	code = lib.cgroup_init();
	if (code != 0)
		return -EOPNOTSUPP; /* it does not understand this host's mounts */
	group = lib.cgroup_new_cgroup(name);
	if (!group)
		return -ENOMEM;
	errno = 0;
	if (!lib.cgroup_add_controller(group, "memory"))
		r = -ENOMEM;
	else if (make)
		/* 1: owner and mode stay what mkdir() gives */
		r = to_errno(lib.cgroup_create_cgroup(group, 1));
	else
		r = to_errno(lib.cgroup_delete_cgroup_ext(group, CGFLAG_DELETE_RECURSIVE));
	lib.cgroup_free(&group);
	return r;
}

int libcgroup_make(const char *name)
{
	return with_group(name, true);
}

int libcgroup_remove(const char *name)
{
	return with_group(name, false);
}

#else

int libcgroup_make(const char *name _unused_)
{
	return -EOPNOTSUPP;
}

int libcgroup_remove(const char *name _unused_)
{
	return -EOPNOTSUPP;
}

#endif
