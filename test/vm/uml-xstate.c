/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Loaded in front of user-mode Linux on processors whose registers are more than it knows: it
 * hands back the first 2696 bytes of them (all but AMX), and the host takes the whole set or
 * nothing (EFAULT: each machine dies at its first program). What it does not know stays.
 */

#include <dlfcn.h>
#include <elf.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/uio.h>

static char whole[1 << 16];

static long exchange(long (*next)(enum __ptrace_request, ...), enum __ptrace_request request,
		     pid_t pid, void *kind, struct iovec *part)
{
	struct iovec all = { whole, sizeof(whole) };
	long r = next(PTRACE_GETREGSET, pid, kind, &all);

	if (r < 0)
		return r;
	if (part->iov_len > all.iov_len)
		part->iov_len = all.iov_len;
	if (request == PTRACE_GETREGSET) {
		memcpy(part->iov_base, whole, part->iov_len);
		return r;
	}
	memcpy(whole, part->iov_base, part->iov_len);
	return next(request, pid, kind, &all);
}

long ptrace(enum __ptrace_request request, ...)
{
	static long (*next)(enum __ptrace_request, ...);
	void *address, *data;
	va_list arguments;
	pid_t pid;

	va_start(arguments, request);
	pid = va_arg(arguments, pid_t);
	address = va_arg(arguments, void *);
	data = va_arg(arguments, void *);
	va_end(arguments);
	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "ptrace");
	if ((request == PTRACE_GETREGSET || request == PTRACE_SETREGSET) &&
	    address == (void *)NT_X86_XSTATE)
		return exchange(next, request, pid, address, data);
	return next(request, pid, address, data);
}
