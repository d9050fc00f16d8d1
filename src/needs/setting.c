/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "needs/setting.h"

#include "base/str.h"

#define BLANKS " \t\r"

/* Cuts blanks on both sides off, in place. */
char *setting_strip(char *s)
{
	char *end;

	s += strspn(s, BLANKS);
	end = s + strlen(s);
	while (end > s && strchr(BLANKS, end[-1]))
		end--;
	*end = '\0';
	return s;
}

static char *unquote(char *s)
{
	size_t n = strlen(s);

	if (n < 2 || (*s != '"' && *s != '\'') || s[n - 1] != *s)
		return s;
	s[n - 1] = '\0';
	return s + 1;
}

/* The next line of *text, NUL-terminated in place, or NULL at the end. */
char *setting_next_line(char **text, char *end)
{
	char *line = *text, *newline;

	if (line >= end)
		return NULL;
	newline = memchr(line, '\n', (size_t)(end - line));
	if (newline)
		*newline = '\0';
	*text = newline ? newline + 1 : end;
	return line;
}

struct setting setting_find(char *text, size_t size, const char *section, const char *key)
{
	struct setting result = {};
	char *end = text + size, *line;
	bool here = !section;
	unsigned number = 0;

	while ((line = setting_next_line(&text, end))) {
		char *equals, *name;

		number++;
		line = setting_strip(line);
		if (*line == '#' || *line == ';')
			continue;
		if (*line == '[') {
			line[strcspn(line, "]")] = '\0';
			if (section)
				here = streq(setting_strip(line + 1), section);
			continue;
		}
		equals = strchr(line, '=');
		if (!here || !equals)
			continue;
		*equals = '\0';
		name = setting_strip(line);
		if (str_skip_prefix(name, "export "))
			name = setting_strip(name + strlen("export "));
		if (strcasecmp(name, key) == 0)
			result = (struct setting){ unquote(setting_strip(equals + 1)), number };
	}
	return result;
}
