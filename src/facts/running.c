/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "facts/running.h"

#include "base/root.h"
#include "base/str.h"
#include "facts/cgroupfs.h"
#include "facts/configs-module.h"
#include "facts/container.h"
#include "facts/kernel.h"
#include "facts/machine.h"
#include "facts/release.h"

enum { MAX_SMALL = 64 * 1024 };

const char *hierarchy_to_string(enum hierarchy hierarchy)
{
	static const char *const names[_HIERARCHY_MAX] = {
		[HIERARCHY_UNKNOWN] = "unknown", [HIERARCHY_NONE] = "none",
		[HIERARCHY_V1] = "v1",		 [HIERARCHY_HYBRID] = "hybrid",
		[HIERARCHY_V2] = "v2",
	};

	return names[hierarchy];
}

void running_done(struct running *running)
{
	free(running->why);
	free(running->source);
	free(running->memory_tree);
	free(running->release);
	free(running->machine);
	free(running->token);
	free(running->container);
	cmdline_done(&running->cmdline);
	free(running->cmdline_text);
	*running = (struct running){};
}

/* --- what the kernel says about itself --- */

static int read_release(const struct root *root, char **ret)
{
	_cleanup_free_ char *text = NULL;
	const char *release;
	size_t n;
	int r = root_read(root, "/proc/sys/kernel/osrelease", MAX_SMALL, &text, NULL);

	if (r == -ENOENT) /* of a captured machine, perhaps this was kept */
		r = root_read(root, "/proc/version", MAX_SMALL, &text, NULL);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	release = str_skip_prefix(text, "Linux version ");
	if (!release)
		release = text;
	n = strcspn(release, " \n");
	*ret = str_dup_n(release, n);
	if (!*ret)
		return -ENOMEM;
	if (!release_is_valid(*ret)) {
		free(*ret);
		*ret = NULL;
	}
	return 0;
}

static int read_cmdline(const struct root *root, struct running *running)
{
	ssize_t word;
	size_t size;
	int r;

	r = root_read(root, "/proc/cmdline", ROOT_MAX_CMDLINE, &running->cmdline_text, &size);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	r = cmdline_parse(running->cmdline_text, size, CMDLINE_LINE, &running->cmdline);
	if (r < 0)
		return r;
	running->request = cmdline_request(&running->cmdline, &word);
	if (word >= 0) {
		const struct cmdline_word *w = &running->cmdline.words[word];

		running->token = str_dup_n(running->cmdline_text + w->offset, w->size);
		if (!running->token)
			return -ENOMEM;
	}
	return 0;
}

int running_identify(const struct root *root, struct running *running)
{
	int r;

	if (root_mode(root) == ROOT_OFFLINE)
		return 0;
	r = read_release(root, &running->release);
	if (r >= 0)
		r = read_cmdline(root, running);
	if (r >= 0)
		r = machine_detect(root, &running->machine);
	return r;
}

/* --- off, and why --- */

/* Whether every kernel that has memcg is off with this line. */
static bool line_says_off(const struct running *running)
{
	return running->cmdline_text && cmdline_predict(&running->cmdline, CMDLINE_RULE_UNKNOWN,
							MEMCG_UNKNOWN, ANSWER_YES) == MEMCG_OFF;
}

/* bootconfig puts "kernel.NAME = VALUE" from the initrd in front of the line. */
static bool is_in_bootconfig(const struct root *root)
{
	_cleanup_free_ char *text = NULL;

	return root_read(root, "/proc/bootconfig", ROOT_MAX_CMDLINE, &text, NULL) >= 0 &&
	       (strstr(text, "kernel.cgroup_disable") || strstr(text, "kernel.cgroup-disable"));
}

/* A Raspberry Pi's firmware adds what its device tree has to the words of cmdline.txt. */
static const char *missing_from_file(const struct root *root)
{
	static const char *const paths[] = { "/boot/firmware/cmdline.txt",
					     "/boot/cmdline.txt" };

	if (root_mode(root) == ROOT_LIVE && !root_exists(root, "/proc/device-tree"))
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		_cleanup_cmdline_ struct cmdline cmdline = {};
		_cleanup_free_ char *text = NULL;
		size_t size;

		if (root_read(root, paths[i], ROOT_MAX_CMDLINE, &text, &size) < 0 ||
		    cmdline_parse(text, size, CMDLINE_FILE, &cmdline) < 0)
			continue;
		return cmdline_request(&cmdline, NULL) == CMDLINE_OFF ? NULL : paths[i];
	}
	return NULL;
}

static bool is_built_in(const struct kernel *kernel)
{
	_cleanup_cmdline_ struct cmdline cmdline = {};
	const char *own = kernel ? kernel->kconfig.cmdline : NULL;

	return own && kconfig_builtin(&kernel->kconfig) != KCONFIG_BUILTIN_NONE &&
	       cmdline_parse(own, strlen(own), CMDLINE_LINE, &cmdline) >= 0 &&
	       cmdline_request(&cmdline, NULL) == CMDLINE_OFF;
}

/* Off although the last word says on, or none says anything. */
static int explain_unasked(const struct running *running, char **ret)
{
	const struct cmdline *cmdline = &running->cmdline;
	ssize_t word = cmdline_find_request(cmdline, CMDLINE_OFF);
	_cleanup_free_ char *off = NULL, *on = NULL;

	if (running->request != CMDLINE_ON)
		return str_printf(ret, "%s",
				  running->cmdline_text ? "this kernel is off unless told on"
							: "the kernel lists it as disabled");
	on = str_escape(running->token, strlen(running->token));
	if (word >= 0)
		off = str_escape(cmdline->text + cmdline->words[word].offset,
				 cmdline->words[word].size);
	if (!on || (word >= 0 && !off))
		return -ENOMEM;
	if (word >= 0)
		return str_printf(
			ret, "%s on the kernel command line (this kernel does not know %s)",
			off, on);
	return str_printf(ret, "this kernel is off and does not know %s", on);
}

/* Says by what memcg is off, and where that comes from if it can be told. */
static int explain_off(const struct root *root, const struct kernel *kernel,
		       const struct running *running, char **ret)
{
	_cleanup_free_ char *token = NULL;
	const char *file;

	if (running->request != CMDLINE_OFF)
		return explain_unasked(running, ret);
	token = str_escape(running->token, strlen(running->token));
	if (!token)
		return -ENOMEM;
	if (is_in_bootconfig(root))
		return str_printf(ret, "%s from the bootconfig in the initrd", token);
	if (is_built_in(kernel))
		return str_printf(ret, "%s in the line built into the kernel (CONFIG_CMDLINE)",
				  token);
	file = missing_from_file(root);
	if (file)
		return str_printf(ret, "%s from the device tree: %s does not have it", token,
				  file);
	return str_printf(ret, "%s on the kernel command line", token);
}

static int conclude(struct running *running, enum memcg_state state, const char *source,
		    const char *why)
{
	if (source) {
		free(running->source);
		running->source = strdup(source);
	}
	free(running->why);
	running->why = strdup(why);
	running->memcg = state;
	return running->why && (!source || running->source) ? 0 : -ENOMEM;
}

static int conclude_off(const struct root *root, const struct kernel *kernel,
			struct running *running, const char *source)
{
	_cleanup_free_ char *why = NULL;
	int r = explain_off(root, kernel, running, &why);

	return r < 0 ? r : conclude(running, MEMCG_OFF, source, why);
}

/* Not built in, by the kernel's configuration. */
static int conclude_not_built(const struct kernel *kernel, struct running *running)
{
	return conclude(running, MEMCG_UNAVAILABLE, kernel->config,
			"the kernel is built without CONFIG_MEMCG");
}

/* --- where the cgroup trees do not say --- */

/* One with a view of its own; WSL is none in this respect. */
static bool is_container(const struct running *running)
{
	return !streq(running->container, "none") && !streq(running->container, "unknown") &&
	       !streq(running->container, "wsl");
}

/* Names in /sys/kernel/cgroup/delegate: those of memcg are there when it is built in. */
static enum answer built_by_delegate(const struct root *root, const char *release)
{
	_cleanup_free_ char *text = NULL;

	if (root_read(root, "/sys/kernel/cgroup/delegate", MAX_SMALL, &text, NULL) < 0)
		return ANSWER_UNKNOWN;
	if (strstr(text, "memory.oom.group") || strstr(text, "memory.reclaim"))
		return ANSWER_YES;
	/* memory.oom.group came with 4.19 */
	return *text && release && release_is_from(release, 4, 19) ? ANSWER_NO : ANSWER_UNKNOWN;
}

/* Whether the kernel has its configuration in a module that nobody has loaded. */
static bool can_show_config(const struct root *root, const char *release)
{
	_cleanup_free_ char *dir = NULL;
	enum configs_module state;

	return root_mode(root) == ROOT_LIVE && release &&
	       str_printf(&dir, "/lib/modules/%s", release) >= 0 &&
	       configs_module_find(dir, &state) >= 0 && state == CONFIGS_MODULE_LOADABLE;
}

/* The v2 root answered, and no tree has memory: off, or not built in? */
static int judge_absent(const struct root *root, const struct kernel *kernel,
			struct running *running, const char *source)
{
	enum answer built = kernel ? kernel->memcg_built : ANSWER_UNKNOWN;

	if (built == ANSWER_NO)
		return conclude_not_built(kernel, running);
	/* what is off unless told on is there */
	if (kernel && kernel->state_default == MEMCG_OFF)
		built = ANSWER_YES;
	if (built != ANSWER_YES && !line_says_off(running)) {
		built = built_by_delegate(root, running->release);
		if (built == ANSWER_NO)
			return conclude(running, MEMCG_UNAVAILABLE,
					"/sys/kernel/cgroup/delegate",
					"the kernel is built without CONFIG_MEMCG");
	}
	if (built == ANSWER_YES || line_says_off(running))
		return conclude_off(root, kernel, running, source);
	return conclude(
		running, MEMCG_UNKNOWN, source,
		can_show_config(root, running->release)
			? "memory is not usable: switched off or not built in; \"modprobe "
			  "configs\" would let the kernel tell"
			: "memory is not usable: switched off or not built in");
}

/* 1 if it decided, 0 if it did not say: then *ret_why may have learnt why. */
static int judge_table(const struct root *root, const struct kernel *kernel,
		       struct running *running, const char **ret_why)
{
	static const char path[] = "/proc/cgroups";
	struct cgroupfs_table table;
	int r = cgroupfs_read_table(root, &table);

	if (r < 0)
		return r == -ENOMEM ? r : 0;
	/* cgroup v2 came with 4.5 */
	if (table.mounted && running->hierarchy == HIERARCHY_UNKNOWN && running->release &&
	    release_is_before(running->release, 4, 5))
		running->hierarchy = HIERARCHY_V1;
	if (table.memory == ANSWER_YES)
		r = conclude(running, MEMCG_ON, path, "the kernel lists memory as enabled");
	else if (table.memory == ANSWER_NO)
		r = conclude_off(root, kernel, running, path);
	/* from 6.11 on, only what has v1 files is listed */
	else if (table.rows && running->release && release_is_before(running->release, 6, 11))
		r = conclude(running, MEMCG_UNAVAILABLE, path,
			     "the kernel lists its controllers, and memory is none of them");
	else if (table.rows)
		*ret_why = "no v1 memory controller, and the v2 tree is not visible here";
	return r < 0 ? r : running->memcg != MEMCG_UNKNOWN;
}

static int judge_rest(const struct root *root, const struct kernel *kernel,
		      struct running *running, bool table_first)
{
	const char *why = is_container(running) ? "not visible from inside this container"
						: "no cgroup tree or table of the kernel tells";
	int r = table_first ? judge_table(root, kernel, running, &why) : 0;

	if (r != 0)
		return MIN(r, 0);
	if (kernel && kernel->memcg_built == ANSWER_NO)
		return conclude_not_built(kernel, running);
	if (line_says_off(running))
		return conclude_off(root, kernel, running, "/proc/cmdline");
	if (!table_first)
		r = judge_table(root, kernel, running, &why);
	if (r != 0)
		return MIN(r, 0);
	return conclude(running, MEMCG_UNKNOWN, NULL, why);
}

int running_look(const struct root *root, const struct kernel *kernel, struct running *running)
{
	_cleanup_cgroupfs_ struct cgroupfs cgroupfs = {};
	bool snapshot = root_mode(root) == ROOT_SNAPSHOT;
	const char *why;
	int r;

	if (root_mode(root) == ROOT_OFFLINE)
		return 0;
	r = cgroupfs_look(root, &cgroupfs);
	if (r < 0)
		return r;
	r = container_detect(root, running->release, cgroupfs.namespaced, &running->container);
	if (r < 0)
		return r;
	running->kdump = container_is_kdump(root, &running->cmdline);
	running->chroot = container_is_chroot(root);
	running->hierarchy = cgroupfs.hierarchy;
	running->memory_tree = TAKE_PTR(cgroupfs.memory_tree);
	running->memcg = MEMCG_UNKNOWN;
	if (cgroupfs.memcg == MEMCG_ON)
		return conclude(running, MEMCG_ON, cgroupfs.source, cgroupfs.why);
	if (cgroupfs.absent && root_mode(root) == ROOT_LIVE &&
	    !root_exists(root, "/proc/self/cgroup"))
		return conclude(running, MEMCG_UNKNOWN, NULL,
				"memory is not in the v2 tree, and without /proc it cannot be "
				"told whether a v1 tree has it");
	/* a container's tree may have been captured without what tells it from a root */
	if (!cgroupfs.absent || (snapshot && is_container(running) && !cgroupfs.sure_root))
		return judge_rest(root, kernel, running, snapshot || !cgroupfs.v2_only);
	/* a capture has no log to spare */
	r = snapshot ? judge_table(root, kernel, running, &why) : 0;
	if (r != 0)
		return MIN(r, 0);
	return judge_absent(root, kernel, running, cgroupfs.source);
}
