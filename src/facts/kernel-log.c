/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "facts/kernel-log.h"

#include "base/root.h"
#include "base/str.h"

#include <stdio.h>
#include <sys/klog.h>

enum { SYSLOG_READ_ALL = 3, SYSLOG_SIZE = 10, MAX_LOG = 16 * 1024 * 1024 };

/* Whether text has the parameter as a word: "cgroup_enable=memory", '-' being '_'. */
static bool has_parameter(const char *text, size_t size)
{
	static const char name[] = "cgroup_enable=";
	enum { SIZE = sizeof(name) - 1 };

	for (size_t i = 0; i + SIZE <= size; i++) {
		size_t n = 0;

		if (i > 0 && text[i - 1] != ' ' && text[i - 1] != '"')
			continue;
		while (n < SIZE && (text[i + n] == '-' ? '_' : text[i + n]) == name[n])
			n++;
		if (n == SIZE)
			return true;
	}
	return false;
}

/* The message of a line: what is behind "<6>" and "[    0.000000]"; empty for a program's. */
static const char *message(const char *line, size_t size, size_t *ret_size)
{
	unsigned priority = 0;
	size_t i = 1;

	*ret_size = 0;
	if (size < 3 || *line != '<')
		return line;
	for (; i < size && line[i] >= '0' && line[i] <= '9' && i < 6; i++)
		priority = priority * 10 + (unsigned)(line[i] - '0');
	/* facility 0 is the kernel; it alone can have that */
	if (i >= size || line[i] != '>' || priority > 7)
		return line;
	i++;
	/* the time, and with PRINTK_CALLER who said it */
	while (i < size && (line[i] == '[' || line[i] == ' ')) {
		const char *end = line[i] == '[' ? memchr(line + i, ']', size - i) : line + i;

		if (!end)
			return line;
		i = (size_t)(end - line) + 1;
	}
	*ret_size = size - i;
	return line + i;
}

static bool skip(const char **text, size_t *size, const char *prefix)
{
	size_t n = strlen(prefix);

	if (*size < n || memcmp(*text, prefix, n) != 0)
		return false;
	*text += n;
	*size -= n;
	return true;
}

static bool ends_with(const char *text, size_t size, const char *suffix)
{
	size_t n = strlen(suffix);

	return size >= n && memcmp(text + size - n, suffix, n) == 0;
}

enum answer kernel_log_honours_enable(const char *log, size_t size)
{
	enum answer answer = ANSWER_UNKNOWN;

	for (size_t i = 0; i < size;) {
		const char *end = memchr(log + i, '\n', size - i);
		size_t line = end ? (size_t)(end - log) - i : size - i, n;
		const char *text = message(log + i, line, &n);

		i += line + 1;
		if (skip(&text, &n, "Unknown kernel command line parameters ") ||
		    skip(&text, &n, "Unknown command line parameters: ")) {
			if (has_parameter(text, n))
				return ANSWER_NO;
			continue;
		}
		(void)skip(&text, &n, "cgroup: "); /* since 5.13 */
		if (skip(&text, &n, "Enabling ") &&
		    ends_with(text, n, " control group subsystem"))
			answer = ANSWER_YES;
	}
	return answer;
}

enum answer kernel_environment_honours_enable(const struct root *root)
{
	_cleanup_free_ char *text = NULL;
	size_t size;

	if (root_read(root, "/proc/1/environ", ROOT_MAX_PROC, &text, &size) < 0)
		return ANSWER_UNKNOWN;
	for (size_t i = 0; i < size; i += strlen(text + i) + 1)
		if (has_parameter(text + i, MIN(strlen(text + i), strlen("cgroup_enable="))))
			return ANSWER_NO;
	return ANSWER_UNKNOWN;
}

int kernel_said_honours_enable(const struct root *root, enum answer *ret)
{
	_cleanup_free_ char *log = NULL;
	int size;

	*ret = kernel_environment_honours_enable(root);
	if (*ret != ANSWER_UNKNOWN || root_mode(root) != ROOT_LIVE)
		return 0;
	size = klogctl(SYSLOG_SIZE, NULL, 0);
	if (size <= 0 || size > MAX_LOG)
		return 0; /* dmesg_restrict, or a container */
	log = malloc((size_t)size);
	if (!log)
		return -ENOMEM;
	size = klogctl(SYSLOG_READ_ALL, log, size);
	if (size > 0)
		*ret = kernel_log_honours_enable(log, (size_t)size);
	return 0;
}
