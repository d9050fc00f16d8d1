/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "units/unit-quadlet-limit.h"

#include "base/ini.h"
#include "base/root.h"
#include "base/str.h"
#include "units/unit-quadlet.h"
#include "units/unit-value.h"

/* --- sizes --- */

/* A decimal number with a fraction and a unit out of a list of (name, factor). */
struct size_unit {
	const char *name;
	double factor;
};

static int parse_size(const char *s, const struct size_unit *units, size_t n, uint64_t *ret)
{
	size_t digits = strspn(s, "0123456789.");
	char number[64], *end;
	double value;

	if (digits == 0 || digits >= sizeof(number) || s[0] == '.')
		return -EINVAL;
	memcpy(number, s, digits);
	number[digits] = '\0';
	/* the program never sets a locale, so the point is a point */
	value = strtod(number, &end);
	if (*end)
		return -EINVAL;
	s += digits;
	s += strspn(s, " ");
	for (size_t i = 0; i < n; i++)
		if (strcasecmp(s, units[i].name) == 0) {
			value *= units[i].factor;
			if (!(value < 9.2e18))
				return -EINVAL;
			*ret = (uint64_t)value;
			return 0;
		}
	return -EINVAL;
}

int unit_quadlet_size(const char *s, uint64_t *ret)
{
	static const struct size_unit units[] = {
		{ "", 1 },	   { "b", 1 },	      { "k", 0x1p10 },	 { "kb", 0x1p10 },
		{ "kib", 0x1p10 }, { "m", 0x1p20 },   { "mb", 0x1p20 },	 { "mib", 0x1p20 },
		{ "g", 0x1p30 },   { "gb", 0x1p30 },  { "gib", 0x1p30 }, { "t", 0x1p40 },
		{ "tb", 0x1p40 },  { "tib", 0x1p40 }, { "p", 0x1p50 },	 { "pb", 0x1p50 },
		{ "pib", 0x1p50 },
	};

	return parse_size(s, units, ARRAY_SIZE(units), ret);
}

/* Kubernetes' quantities: Mi of 1024, M of 1000; the case matters there ("m" is a thousandth).
 */
static int parse_quantity(const char *s, uint64_t *ret)
{
	static const struct {
		const char *name;
		double factor;
	} units[] = {
		{ "", 1 },	  { "Ki", 0x1p10 }, { "Mi", 0x1p20 }, { "Gi", 0x1p30 },
		{ "Ti", 0x1p40 }, { "k", 1e3 },	    { "M", 1e6 },     { "G", 1e9 },
		{ "T", 1e12 },	  { "m", 1e-3 },
	};
	size_t digits = strspn(s, "0123456789.");

	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (streq(s + digits, units[i].name)) {
			const struct size_unit unit = { s + digits, units[i].factor };

			return parse_size(s, &unit, 1, ret);
		}
	return -EINVAL;
}

/* --- the list --- */

struct place {
	const char *path;
	unsigned line;
	unsigned column;
};

static void limit_done(struct unit_quadlet_limit *limit)
{
	free(limit->setting);
	free(limit->value);
	free(limit->path);
}

/* Takes out the limits of that setting, or of all that start so. */
static void remove_limits(struct unit_quadlet *quadlet, const char *setting, bool prefix)
{
	size_t n = 0;

	for (size_t i = 0; i < quadlet->n_limits; i++) {
		struct unit_quadlet_limit *limit = &quadlet->limits[i];

		if (prefix ? str_skip_prefix(limit->setting, setting) != NULL
			   : streq(limit->setting, setting))
			limit_done(limit);
		else
			quadlet->limits[n++] = *limit;
	}
	quadlet->n_limits = n;
}

/* of which a pod has one for each of its containers */
#define POD_LIMIT "resources.limits.memory"

/* The last of a kind wins, as on podman's command line. */
static int add_limit(struct unit_quadlet *quadlet, const char *setting, const char *value,
		     int error, uint64_t bytes, const struct place *place)
{
	struct unit_quadlet_limit limit = {
		.invalid = error < 0,
		.bytes = bytes,
		/* a reservation is memory.low */
		.kind = strstr(setting, "reservation") ? UNIT_PROTECTION : UNIT_LIMIT,
		.line = place->line,
		.column = place->column,
	};
	struct unit_quadlet_limit *limits;

	if (!streq(setting, POD_LIMIT))
		remove_limits(quadlet, setting, false);
	/* nothing and -1 are no limit */
	if (error >= 0 && bytes == 0)
		return 0;
	limit.setting = strdup(setting);
	limit.value = strdup(value);
	limit.path = strdup(place->path);
	limits = limit.setting && limit.value && limit.path
			 ? reallocarray(quadlet->limits, quadlet->n_limits + 1, sizeof(*limits))
			 : NULL;
	if (!limits) {
		limit_done(&limit);
		return -ENOMEM;
	}
	quadlet->limits = limits;
	limits[quadlet->n_limits++] = limit;
	return 0;
}

static int add_podman(struct unit_quadlet *quadlet, const char *setting, const char *value,
		      const struct place *place)
{
	uint64_t bytes = 0;
	int r = streq(value, "-1") || streq(value, "") ? 0 : unit_quadlet_size(value, &bytes);

	return add_limit(quadlet, setting, value, r, bytes, place);
}

/* --- podman's arguments --- */

/* The option a word is, and its value when that is part of the word. */
static const char *match_option(const char *word, const char **ret_value)
{
	static const struct {
		const char *word;
		const char *setting;
	} options[] = {
		{ "--memory", "PodmanArgs --memory" },
		{ "-m", "PodmanArgs --memory" },
		{ "--memory-reservation", "PodmanArgs --memory-reservation" },
		{ "--memory-swap", "PodmanArgs --memory-swap" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		const char *rest = str_skip_prefix(word, options[i].word);

		if (!rest)
			continue;
		*ret_value = *rest == '=' ? rest + 1 : NULL;
		if (*rest == '\0' || *rest == '=')
			return options[i].setting;
		if (word[1] == 'm') { /* -m3g */
			*ret_value = rest;
			return options[i].setting;
		}
	}
	return NULL;
}

static int read_arguments(struct unit_quadlet *quadlet, const char *value,
			  const struct place *place)
{
	_cleanup_free_ char *pending = NULL;

	for (;;) {
		_cleanup_free_ char *word = NULL;
		const char *setting, *inside;
		int r = unit_value_word(&value, UNIT_WORD_UNQUOTE, &word);

		if (r == -ENOMEM)
			return r;
		if (r <= 0)
			return 0; /* podman's problem */
		if (pending) {
			r = add_podman(quadlet, pending, word, place);
			free(TAKE_PTR(pending));
		} else {
			setting = match_option(word, &inside);
			if (setting && inside)
				r = add_podman(quadlet, setting, inside, place);
			else if (setting) {
				pending = strdup(setting);
				r = pending ? 0 : -ENOMEM;
			}
		}
		if (r < 0)
			return r;
	}
}

/* --- YAML of pods --- */

/* "  memory: 512Mi  # note" -> "512Mi"; false when the line has another key. */
static bool yaml_value(char *line, const char *key, char **ret_value)
{
	char *p = line + strspn(line, " -{,\t"), *end;
	size_t n = strlen(key);

	if (strncmp(p, key, n) != 0 || p[n] != ':')
		return false;
	p += n + 1;
	p += strspn(p, " \t\"'");
	end = p + strcspn(p, " \t\"'#},");
	*end = '\0';
	*ret_value = p;
	return true;
}

/*
 * The memory limits of a pod's YAML: lines with a "memory" key below a "limits" key. This is no
 * YAML reader; what it is not sure about it does not report.
 */
static int read_yaml(struct unit_quadlet *quadlet, const char *path, char *text)
{
	size_t limits_indent = SIZE_MAX;
	unsigned number = 0;
	int r = 0;

	for (char *line = text, *next; line && r >= 0; line = next) {
		size_t indent = strspn(line, " "), at;
		uint64_t bytes = 0;
		char *value, *limits;

		number++;
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		at = indent + strspn(line + indent, "- ");
		if (line[at] == '\0' || line[at] == '#')
			continue;
		if (limits_indent != SIZE_MAX && at <= limits_indent)
			limits_indent = SIZE_MAX;
		limits = strstr(line + at, "limits:");
		if (limits && (limits == line + at || strchr("{, ", limits[-1]))) {
			limits_indent = at;
			/* "limits: {memory: 1Gi}" */
			line = strstr(limits, "memory:");
			if (!line)
				continue;
		} else if (limits_indent == SIZE_MAX)
			continue;
		if (yaml_value(line, "memory", &value) && *value) {
			int error = parse_quantity(value, &bytes);

			r = add_limit(quadlet, POD_LIMIT, value, error, bytes,
				      &(struct place){ path, number, 0 });
		}
	}
	return r;
}

static int read_yaml_file(const struct root *root, struct unit_quadlet *quadlet,
			  const char *dir, const char *name)
{
	_cleanup_free_ char *path = NULL, *text = NULL;
	size_t size;
	int r;

	r = *name == '/' ? str_printf(&path, "%s", name)
			 : str_printf(&path, "%s/%s", dir, name);
	if (r < 0)
		return r;
	r = root_read(root, path, ROOT_MAX_UNIT, &text, &size);
	if (r < 0)
		return r == -ENOMEM ? r : 0; /* a home not mounted, a specifier in the name */
	return read_yaml(quadlet, path, text);
}

/* --- the files --- */

int unit_quadlet_limits(const struct root *root, struct unit_quadlet *quadlet,
			const char *section, const char *dir)
{
	_cleanup_free_ char *yaml = NULL;
	int r = 0;

	for (size_t i = 0; i < quadlet->n_files && r >= 0; i++) {
		_cleanup_ini_ struct ini *ini = NULL;
		struct ini_item item;

		r = ini_new(quadlet->files[i].text, quadlet->files[i].size, &ini);
		while (r >= 0 && (r = ini_next(ini, &item)) >= 0 && item.kind != INI_END) {
			const struct place place = { quadlet->files[i].path, item.value_line,
						     item.value_column };

			if (item.kind != INI_ASSIGNMENT || !streq(item.section, section))
				continue;
			if (streq(item.key, "Memory"))
				r = add_podman(quadlet, "Memory", item.value, &place);
			else if (streq(item.key, "PodmanArgs") && !*item.value)
				remove_limits(quadlet, "PodmanArgs ", true);
			else if (streq(item.key, "PodmanArgs"))
				r = read_arguments(quadlet, item.value, &place);
			else if (streq(item.key, "Yaml") && *item.value) {
				free(yaml);
				yaml = strdup(item.value);
				r = yaml ? 0 : -ENOMEM;
			}
		}
	}
	if (r >= 0 && yaml)
		r = read_yaml_file(root, quadlet, dir, yaml);
	return r;
}
