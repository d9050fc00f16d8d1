/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "facts/kconfig.h"

#include "base/archive.h"
#include "base/root.h"
#include "base/str.h"
#include "facts/release.h"

#define PREFIX	"CONFIG_"
#define NOT_SET " is not set"

static const char *const names[_KCONFIG_MAX] = {
	[KCONFIG_BOOT_CONFIG] = PREFIX "BOOT_CONFIG",
	[KCONFIG_BOOT_CONFIG_FORCE] = PREFIX "BOOT_CONFIG_FORCE",
	[KCONFIG_CGROUPS] = PREFIX "CGROUPS",
	[KCONFIG_CGROUP_MEM_CONT] = PREFIX "CGROUP_MEM_CONT",
	[KCONFIG_CGROUP_MEM_RES_CTLR] = PREFIX "CGROUP_MEM_RES_CTLR",
	[KCONFIG_CGROUP_MEM_RES_CTLR_DISABLED] = PREFIX "CGROUP_MEM_RES_CTLR_DISABLED",
	[KCONFIG_CMDLINE] = PREFIX "CMDLINE",
	[KCONFIG_CMDLINE_BOOL] = PREFIX "CMDLINE_BOOL",
	[KCONFIG_CMDLINE_EXTEND] = PREFIX "CMDLINE_EXTEND",
	[KCONFIG_CMDLINE_FORCE] = PREFIX "CMDLINE_FORCE",
	[KCONFIG_CMDLINE_OVERRIDE] = PREFIX "CMDLINE_OVERRIDE",
	[KCONFIG_IKCONFIG] = PREFIX "IKCONFIG",
	[KCONFIG_IKCONFIG_PROC] = PREFIX "IKCONFIG_PROC",
	[KCONFIG_LOCALVERSION] = PREFIX "LOCALVERSION",
	[KCONFIG_MEMCG] = PREFIX "MEMCG",
	[KCONFIG_MEMCG_DISABLED] = PREFIX "MEMCG_DISABLED",
	[KCONFIG_MEMCG_V1] = PREFIX "MEMCG_V1",
	[KCONFIG_X86] = PREFIX "X86",
};

const char *kconfig_symbol_name(enum kconfig_symbol symbol)
{
	return names[symbol];
}

static enum kconfig_symbol find_symbol(const char *name, size_t size)
{
	size_t low = 0, high = _KCONFIG_MAX;

	while (low < high) {
		size_t mid = (low + high) / 2, n = strlen(names[mid]);
		int c = memcmp(name, names[mid], MIN(size, n));

		if (c == 0 && size == n)
			return (enum kconfig_symbol)mid;
		if (c < 0 || (c == 0 && size < n))
			high = mid;
		else
			low = mid + 1;
	}
	return _KCONFIG_INVALID;
}

/* A quoted value, '\' quoting one byte, as scripts/kconfig/confdata.c reads it. */
static int unquote(const char *value, size_t size, char **ret)
{
	_cleanup_strbuf_ struct strbuf buf = {};
	size_t i = size > 0 && *value == '"' ? 1 : 0;

	for (; i < size && value[i] != '"'; i++) {
		if (value[i] == '\\' && i + 1 < size)
			i++;
		strbuf_addc(&buf, value[i]);
	}
	free(*ret);
	*ret = NULL;
	return strbuf_take(&buf, ret, NULL);
}

static int parse_value(struct kconfig *config, enum kconfig_symbol symbol, const char *value,
		       size_t size)
{
	enum kconfig_value v = KCONFIG_TEXT;

	if (size == 1 && *value == 'y')
		v = KCONFIG_YES;
	else if (size == 1 && *value == 'm')
		v = KCONFIG_MODULE;
	else if (size == 1 && *value == 'n')
		v = KCONFIG_NOT_SET;
	config->values[symbol] = v;
	if (symbol == KCONFIG_CMDLINE)
		return unquote(value, size, &config->cmdline);
	if (symbol == KCONFIG_LOCALVERSION)
		return unquote(value, size, &config->localversion);
	return 0;
}

/*
 * "# Linux/x86 6.1.176 Kernel Configuration", "# Linux kernel version: 2.6.32-5-amd64", and the
 * marks of a file that is there from its beginning to its end.
 */
static int parse_comment(struct kconfig *config, const char *line, size_t size, unsigned *marks)
{
	static const char *const parts[] = { "# Automatically generated ", "# Kernel hacking",
					     "# Library routines" };
	_cleanup_free_ char *text = str_dup_n(line, size);
	const char *version = NULL, *p;

	if (!text)
		return -ENOMEM;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (str_skip_prefix(text, parts[i]))
			*marks |= 1U << i;
	p = str_skip_prefix(text, "# Linux/");
	if (p && strstr(p, " Kernel Configuration"))
		version = strchr(p, ' ');
	else
		version = str_skip_prefix(text, "# Linux kernel version:");
	if (!version || config->version)
		return 0;
	version += strspn(version, " ");
	config->version = str_dup_n(version, strcspn(version, " "));
	return config->version ? 0 : -ENOMEM;
}

static int parse_line(struct kconfig *config, const char *line, size_t size, unsigned number,
		      unsigned *marks)
{
	size_t prefix = strlen(PREFIX), suffix = strlen(NOT_SET);
	enum kconfig_symbol symbol = _KCONFIG_INVALID;
	bool set = true;
	const char *end;
	int r = 0;

	if (size > prefix && memcmp(line, PREFIX, prefix) == 0) {
		end = memchr(line, '=', size);
		if (end)
			symbol = find_symbol(line, (size_t)(end - line));
	} else if (size > prefix + suffix + 2 && memcmp(line, "# " PREFIX, prefix + 2) == 0) {
		line += 2;
		size -= 2;
		end = memchr(line, ' ', size);
		if (end && (size_t)(line + size - end) >= suffix &&
		    memcmp(end, NOT_SET, suffix) == 0)
			symbol = find_symbol(line, (size_t)(end - line));
		set = false;
	} else if (size > 2 && *line == '#') {
		return parse_comment(config, line, size, marks);
	}
	if (symbol < 0)
		return 0;
	/* the last one counts, as for the kernel's build */
	config->lines[symbol] = number;
	config->values[symbol] = KCONFIG_NOT_SET;
	if (set)
		r = parse_value(config, symbol, end + 1, size - (size_t)(end + 1 - line));
	return r;
}

int kconfig_parse(const char *text, size_t size, struct kconfig *ret)
{
	_cleanup_kconfig_ struct kconfig config = {};
	const char *end = text + size;
	unsigned number = 0, marks = 0;

	for (const char *line = text; line < end;) {
		const char *eol = memchr(line, '\n', (size_t)(end - line));
		const char *next = eol ? eol + 1 : end;
		size_t n = (size_t)((eol ? eol : end) - line);
		int r;

		while (n > 0 && (line[n - 1] == '\r' || line[n - 1] == ' '))
			n--;
		r = parse_line(&config, line, n, ++number, &marks);
		if (r < 0)
			return r;
		line = next;
	}
	config.complete = marks == 7;
	*ret = config;
	config = (struct kconfig){};
	return 0;
}

void kconfig_done(struct kconfig *config)
{
	free(config->version);
	free(config->cmdline);
	free(config->localversion);
	*config = (struct kconfig){};
}

enum answer kconfig_memcg_built(const struct kconfig *config, enum kconfig_symbol *ret_symbol)
{
	static const enum kconfig_symbol symbols[] = { KCONFIG_MEMCG,
						       KCONFIG_CGROUP_MEM_RES_CTLR,
						       KCONFIG_CGROUP_MEM_CONT };
	enum kconfig_symbol symbol = _KCONFIG_INVALID;
	enum answer answer = ANSWER_UNKNOWN;

	for (size_t i = 0; i < ARRAY_SIZE(symbols); i++) {
		if (config->values[symbols[i]] == KCONFIG_YES) {
			answer = ANSWER_YES;
			symbol = symbols[i];
			break;
		}
		if (config->values[symbols[i]] == KCONFIG_NOT_SET) {
			answer = ANSWER_NO;
			symbol = symbols[i];
		}
	}
	/* all of them depend on it */
	if (answer == ANSWER_UNKNOWN && config->values[KCONFIG_CGROUPS] == KCONFIG_NOT_SET) {
		answer = ANSWER_NO;
		symbol = KCONFIG_CGROUPS;
	}
	/* a whole .config has a line for everything that is built in */
	if (answer == ANSWER_UNKNOWN && config->complete)
		answer = ANSWER_NO;
	if (ret_symbol)
		*ret_symbol = symbol;
	return answer;
}

enum kconfig_builtin kconfig_builtin(const struct kconfig *config)
{
	bool text = config->cmdline && *config->cmdline;

	if (config->values[KCONFIG_CMDLINE_FORCE] == KCONFIG_YES ||
	    config->values[KCONFIG_CMDLINE_OVERRIDE] == KCONFIG_YES)
		return KCONFIG_BUILTIN_REPLACES;
	if (text && config->values[KCONFIG_CMDLINE_EXTEND] == KCONFIG_YES)
		return KCONFIG_BUILTIN_BEHIND;
	if (text && config->values[KCONFIG_X86] == KCONFIG_YES &&
	    config->values[KCONFIG_CMDLINE_BOOL] == KCONFIG_YES)
		return KCONFIG_BUILTIN_BEFORE;
	return KCONFIG_BUILTIN_NONE;
}

/* --- finding it --- */

/* By rank; %s is the release. Every distribution has its own. */
static const char *const places[] = {
	"/boot/config-%s",
	"/usr/src/linux-%s/.config",
	"/usr/lib/modules/%s/config",
	"/lib/modules/%s/config",
	"/usr/lib/ostree-boot/config-%s",
	"/usr/lib/kernel/config-%s",
	"/usr/src/linux-headers-%s/.config",
	"/lib/modules/%s/build/.config",
};

static int read_place(const struct root *root, const char *path, struct kconfig *ret)
{
	_cleanup_free_ char *data = NULL, *text = NULL;
	size_t size;
	int r;

	r = root_read(root, path, ROOT_MAX_KCONFIG, &data, &size);
	if (r < 0)
		return r;
	if (!archive_is_compressed(data, size))
		return kconfig_parse(data, size, ret);
	r = archive_uncompress_all(data, size, ROOT_MAX_KCONFIG, &text, &size);
	return r < 0 ? r : kconfig_parse(text, size, ret);
}

/* /usr/src/linux is whatever was unpacked last: it must be this very kernel's. */
static bool is_of_release(const struct kconfig *config, const char *release)
{
	const char *rest = config->version ? str_skip_prefix(release, config->version) : NULL;

	if (!rest || (*rest >= '0' && *rest <= '9') || *rest == '.')
		return false;
	return !config->localversion || str_skip_prefix(rest, config->localversion);
}

struct search {
	const struct root *root;
	struct kconfig config;
	char *path; /* of config; or, with error, of the first that could not be read */
	int error;
};

static void search_done(struct search *search)
{
	kconfig_done(&search->config);
	free(search->path);
}

/* 1 if it was there, 0 if looking goes on. */
static int try_place(struct search *search, const char *path)
{
	char *copy;
	int r = read_place(search->root, path, &search->config);

	if (r == -ENOMEM || r == -ENOENT || r == -ENOTDIR || r == -ELOOP)
		return r == -ENOMEM ? r : 0;
	if (r < 0 && search->error < 0)
		return 0;
	copy = strdup(path);
	if (!copy)
		return -ENOMEM;
	free(search->path);
	search->path = copy;
	search->error = r < 0 ? r : 0;
	return r < 0 ? 0 : 1;
}

static int try_release(struct search *search, const char *release)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(places); i++) {
		_cleanup_strbuf_ struct strbuf buf = {};
		_cleanup_free_ char *path = NULL;
		const char *at = strstr(places[i], "%s");

		strbuf_add(&buf, places[i], (size_t)(at - places[i]));
		strbuf_adds(&buf, release);
		strbuf_adds(&buf, at + 2);
		r = strbuf_take(&buf, &path, NULL);
		if (r >= 0)
			r = try_place(search, path);
	}
	if (r != 0 || search->error < 0)
		return r;
	r = try_place(search, "/usr/src/linux/.config");
	if (r > 0 && !is_of_release(&search->config, release)) {
		kconfig_done(&search->config);
		r = 0;
	}
	return r;
}

int kconfig_load(const struct root *root, const char *release, bool running,
		 struct kconfig *ret, char **ret_path)
{
	_cleanup_(search_done) struct search search = { .root = root };
	int r = 0;

	if (release && !release_is_valid(release))
		return -EINVAL;
	if (running)
		r = try_place(&search, "/proc/config.gz");
	if (r == 0 && release)
		r = try_release(&search, release);
	if (r < 0)
		return r;
	if (r == 0 && search.error == 0)
		return -ENOENT;
	*ret_path = TAKE_PTR(search.path);
	if (r == 0)
		return search.error;
	*ret = search.config;
	search.config = (struct kconfig){};
	return 0;
}
