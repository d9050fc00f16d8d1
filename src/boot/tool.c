/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot/tool.h"

#include "base/diag.h"
#include "base/root.h"
#include "base/spawn.h"
#include "base/str.h"

enum {
	TOOL_TIMEOUT = 15 * 60, /* seconds: DESIGN, "refresh command" */
	TOOL_MAX_TEXT = 4 * 1024 * 1024,
	TOOL_MAX_SHOWN = 400, /* bytes of its output in a message */
};

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

/* The last lines of what it printed. */
static const char *last_lines(const struct spawn_result *result)
{
	const char *p = result->output;

	if (!p)
		return "";
	if (result->size > TOOL_MAX_SHOWN) {
		const char *eol = strchr(p + result->size - TOOL_MAX_SHOWN, '\n');

		p = eol ? eol + 1 : p + result->size - TOOL_MAX_SHOWN;
	}
	return p;
}

int tool_run(const struct boot *boot, const char *const *argv, char **ret_output,
	     struct diag *diag)
{
	_cleanup_spawn_result_ struct spawn_result result = {};
	const struct spawn spawn = {
		.argv = argv,
		.root = boot->root,
		.where = root_mode(boot->root) == ROOT_LIVE ? SPAWN_HERE : SPAWN_NAMESPACE,
		.timeout = TOOL_TIMEOUT,
	};
	int r = spawn_run(&spawn, &result);

	if (r < 0) {
		diag_error(diag, &(struct diag_where){ .path = argv[0] }, "%s",
			   r == -ETIMEDOUT ? "did not end in time and was killed"
					   : strerror(-r));
		return r;
	}
	if (result.status != 0) {
		diag_error(diag, &(struct diag_where){ .path = argv[0] },
			   "failed with exit status %d: %s", result.status,
			   last_lines(&result));
		return -EIO;
	}
	if (ret_output)
		*ret_output = TAKE_PTR(result.output);
	return 0;
}
