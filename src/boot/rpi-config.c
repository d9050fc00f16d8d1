/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot/rpi-config.h"

#include "base/root.h"
#include "base/str.h"

/* --- filters --- */

/* Filters of one kind replace each other, of different kinds they add up. */
enum filter_kind {
	FILTER_MODEL,
	FILTER_NONE,
	FILTER_TRYBOOT,
	FILTER_BOARD,
	FILTER_EDID,
	FILTER_SERIAL,
	FILTER_GPIO,
	FILTER_PARTITION,
	FILTER_OTHER,
	_FILTER_MAX,
};

static bool starts(const char *s, size_t size, const char *prefix)
{
	size_t n = strlen(prefix);

	return size >= n && strncasecmp(s, prefix, n) == 0;
}

static enum filter_kind filter_kind(const char *filter, size_t size)
{
	static const struct {
		const char *prefix;
		enum filter_kind kind;
	} kinds[] = {
		{ "none", FILTER_NONE },
		{ "tryboot", FILTER_TRYBOOT },
		{ "board-type=", FILTER_BOARD },
		{ "EDID=", FILTER_EDID },
		{ "0x", FILTER_SERIAL },
		{ "gpio", FILTER_GPIO },
		{ "partition=", FILTER_PARTITION },
		{ "boot_partition=", FILTER_PARTITION },
		{ "pi", FILTER_MODEL },
		{ "cm", FILTER_MODEL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (starts(filter, size, kinds[i].prefix))
			return kinds[i].kind;
	return FILTER_OTHER;
}

/* What the boards call themselves in their device tree, and the filters that hold for each. */
static const struct {
	const char *model; /* how it starts, the longer before the shorter */
	const char *filters;
} models[] = {
	{ "Raspberry Pi Zero 2", "pi0 pi0w pi02" },
	{ "Raspberry Pi Zero W", "pi0 pi0w" },
	{ "Raspberry Pi Zero", "pi0" },
	{ "Raspberry Pi 2 ", "pi2" },
	{ "Raspberry Pi 3 Model B Plus", "pi3 pi3+" },
	{ "Raspberry Pi 3 Model A Plus", "pi3 pi3+" },
	{ "Raspberry Pi 3 Model B", "pi3" },
	{ "Raspberry Pi 400", "pi4 pi400" },
	{ "Raspberry Pi 4 ", "pi4" },
	{ "Raspberry Pi 500", "pi5 pi500" },
	{ "Raspberry Pi 5 ", "pi5" },
	{ "Raspberry Pi Compute Module 4S", "pi4 cm4s" },
	{ "Raspberry Pi Compute Module 4 ", "pi4 cm4" },
	{ "Raspberry Pi Compute Module 5 ", "pi5 cm5" },
	{ "Raspberry Pi Model ", "pi1" },
};

static int model_holds(const char *filter, size_t size, const char *model)
{
	/* filters that every firmware of the listed boards knows */
	static const char *const known[] = { "pi0",   "pi0w", "pi02", "pi1",   "pi2",
					     "pi3",   "pi3+", "pi4",  "pi400", "pi5",
					     "pi500", "cm4",  "cm4s", "cm5" };
	const char *filters = NULL;
	bool is_known = false;

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		is_known |=
			strlen(known[i]) == size && strncasecmp(known[i], filter, size) == 0;
	for (size_t i = 0; model && !filters && i < ARRAY_SIZE(models); i++)
		if (str_skip_prefix(model, models[i].model))
			filters = models[i].filters;
	if (!is_known || !filters)
		return -1;
	for (const char *p = filters; *p;) {
		size_t n = strcspn(p, " ");

		if (n == size && strncasecmp(p, filter, n) == 0)
			return 1;
		p += n;
		p += strspn(p, " ");
	}
	return 0;
}

int rpi_filter_holds(const char *filter, size_t size, const char *model)
{
	switch (filter_kind(filter, size)) {
	case FILTER_NONE:
	case FILTER_TRYBOOT: /* set for one boot only, by who asks for it */
		return 0;
	case FILTER_MODEL:
		return model_holds(filter, size, model);
	default:
		return -1;
	}
}

/* --- reading --- */

struct reader {
	const struct root *root;
	const char *boot_dir;
	const char *model;
	struct rpi_config *config;
	int holds[_FILTER_MAX]; /* 1, 0, -1 unknown */
	unsigned depth;
	bool autoboot; /* it is autoboot.txt that is read */
};

static int all_hold(const struct reader *reader)
{
	int holds = 1;

	for (size_t i = 0; i < _FILTER_MAX; i++) {
		if (reader->holds[i] == 0)
			return 0;
		if (reader->holds[i] < 0)
			holds = -1;
	}
	return holds;
}

static void reset_filters(struct reader *reader)
{
	for (size_t i = 0; i < _FILTER_MAX; i++)
		reader->holds[i] = 1;
}

static int set(struct rpi_setting *setting, const char *value, size_t size, bool certain,
	       const char *path, unsigned line)
{
	_cleanup_free_ char *copy = NULL;

	if (!certain && setting->value && strlen(setting->value) == size &&
	    memcmp(setting->value, value, size) == 0)
		return 0;
	copy = certain ? str_dup_n(value, size) : strdup(path);
	if (!copy)
		return -ENOMEM;
	if (!certain) {
		free(setting->unsure_path);
		setting->unsure_path = TAKE_PTR(copy);
		setting->unsure_line = line;
		return 0;
	}
	freep(&setting->unsure_path);
	setting->unsure_path = NULL;
	setting->unsure_line = 0;
	free(setting->value);
	setting->value = TAKE_PTR(copy);
	return 0;
}

static int take_setting(struct reader *reader, const char *line, size_t size, const char *path,
			unsigned number)
{
	const struct {
		const char *key;
		struct rpi_setting *setting;
	} settings[] = {
		{ "cmdline", &reader->config->cmdline },
		{ "os_prefix", &reader->config->os_prefix },
		{ "kernel", &reader->config->kernel },
		{ "device_tree", &reader->config->device_tree },
		{ "boot_ramdisk", &reader->config->boot_ramdisk },
		{ "boot_partition", &reader->config->boot_partition },
	};
	const char *equals = memchr(line, '=', size);
	size_t key = equals ? (size_t)(equals - line) : 0;
	int holds = all_hold(reader);

	if (!equals || holds == 0)
		return 0;
	/* the files have settings of their own */
	if (reader->autoboot != (key == 14 && memcmp(line, "boot_partition", 14) == 0))
		return 0;
	/* nothing says what the firmware makes of blanks in front of the '=' */
	for (; key > 0 && (line[key - 1] == ' ' || line[key - 1] == '\t'); key--)
		holds = -1;
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++)
		if (strlen(settings[i].key) == key && memcmp(line, settings[i].key, key) == 0)
			return set(settings[i].setting, equals + 1,
				   size - (size_t)(equals + 1 - line), holds > 0, path, number);
	return 0;
}

static int read_file(struct reader *reader, const char *path);

/* Its lines stand under the filters that hold here. */
static int take_include(struct reader *reader, const char *name, size_t size)
{
	_cleanup_free_ char *file = NULL;

	if (all_hold(reader) == 0)
		return 0;
	if (str_printf(&file, "%s/%.*s", reader->boot_dir, (int)size, name) < 0)
		return -ENOMEM;
	return read_file(reader, file);
}

static int take_line(struct reader *reader, const char *line, size_t size, const char *path,
		     unsigned number)
{
	while (size > 0 &&
	       (line[size - 1] == ' ' || line[size - 1] == '\t' || line[size - 1] == '\r'))
		size--;
	while (size > 0 && (*line == ' ' || *line == '\t'))
		line++, size--;
	if (size == 0 || *line == '#')
		return 0;
	if (*line == '[') {
		const char *end = memchr(line, ']', size);
		size_t n = end ? (size_t)(end - line) - 1 : size - 1;

		if (n == 3 && strncasecmp(line + 1, "all", 3) == 0)
			reset_filters(reader);
		else
			reader->holds[filter_kind(line + 1, n)] =
				rpi_filter_holds(line + 1, n, reader->model);
		return 0;
	}
	if (starts(line, size, "include ")) {
		for (line += 8, size -= 8; size > 0 && *line == ' '; size--)
			line++;
		return take_include(reader, line, size);
	}
	return take_setting(reader, line, size, path, number);
}

static int say_why(struct rpi_config *config, const char *path, unsigned line, const char *why)
{
	free(config->why);
	free(config->why_path);
	config->why = strdup(why);
	config->why_path = strdup(path);
	config->why_line = line;
	return config->why && config->why_path ? 0 : -ENOMEM;
}

static int read_file(struct reader *reader, const char *path)
{
	_cleanup_free_ char *text = NULL;
	unsigned number = 1;
	size_t size;
	int r;

	if (reader->depth == RPI_MAX_INCLUDES) {
		r = say_why(reader->config, path, 0, "files include each other too deeply");
		return r < 0 ? r : -ELOOP;
	}
	r = root_read(reader->root, path, RPI_MAX_CONFIG, &text, &size);
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return say_why(reader->config, path, 0, strerror(-r)) < 0 ? -ENOMEM : r;
	reader->depth++;
	for (size_t i = 0; i < size; number++) {
		const char *eol = memchr(text + i, '\n', size - i);
		size_t end = eol ? (size_t)(eol - text) : size;

		r = take_line(reader, text + i, end - i, path, number);
		if (r < 0)
			return r;
		i = end + 1;
	}
	reader->depth--;
	return 0;
}

/* --- what follows --- */

static int exists(const struct root *root, const char *dir, const char *prefix,
		  const char *name)
{
	_cleanup_free_ char *path = NULL;

	if (str_printf(&path, "%s/%s%s", dir, prefix, name) < 0)
		return -ENOMEM;
	return root_exists(root, path);
}

static int any_matches(const struct root *root, const char *dir, const char *prefix,
		       const char *pattern)
{
	_cleanup_strv_ struct strv found = {};
	_cleanup_free_ char *path = NULL;
	int r;

	if (strpbrk(prefix, "*?[\\"))
		return 0;
	if (str_printf(&path, "%s/%s%s", dir, prefix, pattern) < 0)
		return -ENOMEM;
	r = root_glob(root, path, 16, &found);
	return r < 0 && r != -EFBIG ? r : found.n > 0;
}

/*
 * The firmware drops an os_prefix where it does not find the kernel and a device tree: 1 used,
 * 0 dropped, -EUNATCH when only one of the two is there.
 */
static int prefix_counts(const struct root *root, const char *dir,
			 const struct rpi_config *config)
{
	const char *prefix = config->os_prefix.value;
	const char *kernel = config->kernel.value, *tree = config->device_tree.value;
	int has_kernel = kernel ? exists(root, dir, prefix, kernel)
				: any_matches(root, dir, prefix, "kernel*.img");
	int has_tree = tree && *tree ? exists(root, dir, prefix, tree)
				     : any_matches(root, dir, prefix, "bcm2*.dtb");

	if (has_kernel < 0 || has_tree < 0)
		return has_kernel < 0 ? has_kernel : has_tree;
	if (has_kernel != has_tree)
		return -EUNATCH;
	return has_kernel;
}

static int conclude(const struct reader *reader, const char *autoboot,
		    struct rpi_config *config)
{
	const struct {
		const struct rpi_setting *setting;
		const char *why;
	} unsure[] = {
		{ &config->boot_partition, "whether this \"boot_partition=\" counts cannot be "
					   "told" },
		{ &config->boot_ramdisk, "whether this \"boot_ramdisk=\" counts depends on a "
					 "filter that cannot be evaluated here" },
		{ &config->os_prefix, "whether this \"os_prefix=\" counts depends on a filter "
				      "that cannot be evaluated here, or on its blanks" },
		{ &config->cmdline, "whether this \"cmdline=\" counts depends on a filter that "
				    "cannot be evaluated here, or on its blanks" },
	};
	_cleanup_free_ char *config_path = NULL;
	const char *name = config->cmdline.value ? config->cmdline.value : "cmdline.txt";
	int used = 0;

	if (str_printf(&config_path, "%s/config.txt", reader->boot_dir) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < ARRAY_SIZE(unsure); i++)
		if (unsure[i].setting->unsure_line)
			return say_why(config, unsure[i].setting->unsure_path,
				       unsure[i].setting->unsure_line, unsure[i].why);
	if (config->boot_partition.value && !streq(config->boot_partition.value, "1"))
		return say_why(config, autoboot, 0,
			       "with this \"boot_partition=\" the firmware goes on to the "
			       "files of another partition");
	if (!*name)
		return say_why(config, config_path, 0, "its \"cmdline=\" names no file");
	if (config->boot_ramdisk.value && !streq(config->boot_ramdisk.value, "0"))
		return say_why(config, config_path, 0,
			       "with \"boot_ramdisk\" the command line is inside boot.img");
	if (config->os_prefix.value && *config->os_prefix.value) {
		used = prefix_counts(reader->root, reader->boot_dir, config);
		if (used == -EUNATCH)
			return say_why(config, config_path, 0,
				       "only one of kernel and device tree is at its "
				       "\"os_prefix=\": whether the firmware uses that cannot "
				       "be told");
		if (used < 0)
			return used;
	}
	config->prefix = strdup(used ? config->os_prefix.value : "");
	if (!config->prefix)
		return -ENOMEM;
	if (strstr(name, "..") || strstr(config->prefix, ".."))
		return say_why(config, config_path, 0, "a path in it goes up a directory");
	return str_printf(&config->cmdline_path, "%s/%s%s", reader->boot_dir,
			  *name == '/' ? "" : config->prefix, *name == '/' ? name + 1 : name);
}

int rpi_config_load(const struct root *root, const char *boot_dir, const char *model,
		    struct rpi_config *ret)
{
	_cleanup_rpi_config_ struct rpi_config config = {};
	struct reader reader = {
		.root = root,
		.boot_dir = boot_dir,
		.model = model,
		.config = &config,
	};
	_cleanup_free_ char *path = NULL, *autoboot = NULL;
	int r;

	if (str_printf(&path, "%s/config.txt", boot_dir) < 0 ||
	    str_printf(&autoboot, "%s/autoboot.txt", boot_dir) < 0)
		return -ENOMEM;
	reset_filters(&reader);
	reader.autoboot = true;
	r = read_file(&reader, autoboot);
	reader.autoboot = false;
	reset_filters(&reader);
	if (r >= 0)
		r = read_file(&reader, path);
	if (r >= 0)
		r = conclude(&reader, autoboot, &config);
	if (r == -ENOMEM)
		return r;
	*ret = config;
	config = (struct rpi_config){};
	return r;
}

static void setting_done(struct rpi_setting *setting)
{
	free(setting->value);
	free(setting->unsure_path);
}

void rpi_config_done(struct rpi_config *config)
{
	setting_done(&config->cmdline);
	setting_done(&config->os_prefix);
	setting_done(&config->kernel);
	setting_done(&config->device_tree);
	setting_done(&config->boot_ramdisk);
	setting_done(&config->boot_partition);
	free(config->cmdline_path);
	free(config->prefix);
	free(config->why);
	free(config->why_path);
	*config = (struct rpi_config){};
}
