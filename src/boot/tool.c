/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot/tool.h"

#include "base/diag.h"
#include "base/root.h"
#include "base/spawn.h"
#include "base/str.h"
#include "boot/record.h"

/* seconds: DESIGN, "refresh command"; the test that lets one hang is built with less */
#ifndef TOOL_TIMEOUT
#define TOOL_TIMEOUT (15 * 60)
#endif

enum {
	TOOL_MAX_TEXT = 64 * 1024 * 1024, /* also a program, not only a script */
	TAIL_LINES = 3,			  /* of a failed command's output in the message */
};

/* What a failed command printed. */
#define KEPT_LOG RECORD_DIR "/refresh.log"

int tool_find(const struct root *root, const char *const *names, char **ret)
{
	static const char *const dirs[] = { "/usr/sbin", "/usr/bin", "/sbin", "/bin" };

	for (; *names; names++)
		for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
			_cleanup_free_ char *path = NULL;

			if (str_printf(&path, "%s/%s", dirs[i], *names) < 0)
				return -ENOMEM;
			if (!root_exists(root, path))
				continue;
			*ret = TAKE_PTR(path);
			return 0;
		}
	return -ENOENT;
}

bool tool_exists(const struct root *root, const char *name)
{
	_cleanup_free_ char *path = NULL;

	return tool_find(root, (const char *const[]){ name, NULL }, &path) >= 0;
}

bool tool_mentions(const struct root *root, const char *path, const char *text)
{
	_cleanup_free_ char *data = NULL;
	size_t size;

	return root_read(root, path, TOOL_MAX_TEXT, &data, &size) >= 0 &&
	       memmem(data, size, text, strlen(text));
}

int tool_plan(const struct boot *boot, struct changeset *cs, const char *const *argv)
{
	cs->refresh = boot->refresh ? REFRESH_RUN : REFRESH_PRINT;
	return changeset_add_command(cs, argv);
}

/* The last lines of what a command printed, for the message. */
static char *last_words(const struct spawn_result *result)
{
	const char *text = result->output;
	size_t end = result->size, start;
	unsigned lines = 0;

	while (end > 0 && (text[end - 1] == '\n' || text[end - 1] == ' '))
		end--;
	for (start = end; start > 0; start--)
		if (text[start - 1] == '\n' && ++lines == TAIL_LINES)
			break;
	return str_escape(text + start, end - start);
}

/* Keeps what it printed; a log that cannot be written does not make matters worse. */
static void keep_log(const struct root *root, struct spawn_result *result)
{
	const struct content new = { .data = result->output, .size = result->size };
	_cleanup_content_ struct content old = {};

	if (content_read(root, KEPT_LOG, ROOT_MAX_PROC, &old) >= 0)
		IGNORE(atomic_put(root, KEPT_LOG, &old, &new, 0600, 0));
}

int tool_run(const struct boot *boot, const char *const *argv, struct diag *diag)
{
	_cleanup_spawn_result_ struct spawn_result result = {};
	const struct spawn spawn = {
		.argv = argv,
		.root = boot->root,
		.where = root_mode(boot->root) == ROOT_LIVE ? SPAWN_HERE : SPAWN_NAMESPACE,
		.timeout = TOOL_TIMEOUT,
	};
	_cleanup_free_ char *tail = NULL, *hint = NULL;
	int r = spawn_run(&spawn, &result);

	if (r < 0 && r != -ETIMEDOUT) {
		diag_error(diag, &(struct diag_where){ .path = argv[0] }, "cannot be run: %s",
			   strerror(-r));
		return r;
	}
	if (r == 0 && result.status == 0)
		return 0;
	keep_log(boot->root, &result);
	tail = last_words(&result);
	if (tail && *tail)
		IGNORE(str_printf(&hint, "it printed (all of it is in " KEPT_LOG "): %s",
				  tail)); /* then without */
	if (r < 0)
		diag_error(diag, &(struct diag_where){ .path = argv[0], .hint = hint },
			   "was still running after %d seconds and was stopped", TOOL_TIMEOUT);
	else
		diag_error(diag, &(struct diag_where){ .path = argv[0], .hint = hint },
			   "failed with exit status %d", result.status);
	return r < 0 ? r : -EIO;
}
