/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Prints what src/facts says, as JSON, for truth.py and images.py:
 *   facts-print                       of this system
 *   facts-print --rule RULE DEFAULT LINE
 *                                     what a kernel would make of a line; RULE as in truth.py
 *   facts-print --lines FILE          what this system's kernel would make of each line of a
 * file facts-print --image PATH          of a kernel's image
 */

#include "base/json.h"
#include "base/root.h"
#include "base/str.h"
#include "facts/facts.h"
#include "facts/kernel-log.h"
#include "facts/kimage.h"

#include <stdio.h>

static int read_rule(const char *rule, const char *state_default, unsigned *ret_rule,
		     enum memcg_state *ret_default)
{
	static const struct {
		const char *name;
		unsigned rule;
	} rules[] = {
		{ "mainline", CMDLINE_MAINLINE },
		{ "last-wins", CMDLINE_LAST_WINS },
		{ "enable-wins", CMDLINE_ENABLE_WINS },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		if (streq(rules[i].name, rule)) {
			*ret_rule = rules[i].rule;
			*ret_default = streq(state_default, "on") ? MEMCG_ON : MEMCG_OFF;
			return 0;
		}
	return -EINVAL;
}

static int add_prediction(struct json *object, char **argv)
{
	_cleanup_cmdline_ struct cmdline cmdline = {};
	enum memcg_state state_default;
	const char *text = argv[2];
	unsigned rule;
	ssize_t word;
	int r = read_rule(argv[0], argv[1], &rule, &state_default);

	if (r >= 0)
		r = cmdline_parse(text, strlen(text), CMDLINE_LINE, &cmdline);
	if (r < 0)
		return r;
	json_add_string(object, "predicted",
			memcg_state_to_string(
				cmdline_predict(&cmdline, rule, state_default, ANSWER_YES)));
	json_add_string(object, "predicted_request",
			cmdline_request_to_string(cmdline_request(&cmdline, &word)));
	json_add_string_n(object, "predicted_token",
			  word < 0 ? NULL : text + cmdline.words[word].offset,
			  word < 0 ? 0 : cmdline.words[word].size);
	return 0;
}

static int add_one_of_lines(struct json *array, const struct kernel *kernel, const char *text)
{
	_cleanup_cmdline_ struct cmdline cmdline = {};
	enum memcg_state state;
	int r = cmdline_parse(text, strlen(text), CMDLINE_LINE, &cmdline);

	if (r >= 0)
		r = kernel_predict(kernel, &cmdline, &state);
	if (r < 0)
		return r;
	json_append_string(array, memcg_state_to_string(state));
	return 0;
}

/* As the program does it for an entry with such a word, for the kernel that runs here. */
static int add_lines(struct json *object, const char *path)
{
	_cleanup_root_ struct root *root = NULL;
	_cleanup_facts_ struct facts facts = {};
	_cleanup_free_ char *text = NULL;
	struct json *array = json_new_array();
	struct kernel *kernel;
	int r;

	r = root_open("/", ROOT_LIVE, &root);
	if (r >= 0)
		r = root_read(root, path, ROOT_MAX_CMDLINE, &text, NULL);
	if (r >= 0)
		r = facts_load(root, &facts);
	kernel = r >= 0 ? kernels_find_running(&facts.kernels) : NULL;
	if (r >= 0)
		r = kernel ? kernel_ask_enable(root, kernel, NULL) : -ENOENT;
	for (char *line = text, *end; r >= 0 && (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		r = add_one_of_lines(array, kernel, line);
	}
	json_add(object, "states", array);
	return r;
}

static int add_facts(struct json *object)
{
	_cleanup_root_ struct root *root = NULL;
	_cleanup_facts_ struct facts facts = {};
	const struct running *running = &facts.running;
	enum answer honours = ANSWER_UNKNOWN, said = ANSWER_UNKNOWN;
	int r;

	r = root_open("/", ROOT_LIVE, &root);
	if (r >= 0)
		r = facts_load(root, &facts);
	if (r >= 0)
		r = kimage_running_honours_enable(root, &honours);
	if (r >= 0)
		r = kernel_said_honours_enable(root, &said);
	if (r < 0)
		return r;
	json_add_string(object, "memcg", memcg_state_to_string(running->memcg));
	json_add_string(object, "why", running->why);
	json_add_string(object, "source", running->source);
	json_add_string(object, "hierarchy", hierarchy_to_string(running->hierarchy));
	json_add_string(object, "memory_tree", running->memory_tree);
	json_add_string(object, "kernel", running->release);
	json_add_string(object, "request", cmdline_request_to_string(running->request));
	json_add_string(object, "token", running->token);
	json_add_string(object, "container", running->container);
	json_add_string(object, "kdump", answer_to_string(running->kdump));
	json_add_string(object, "chroot", answer_to_string(running->chroot));
	json_add_string(object, "honours_enable", answer_to_string(honours));
	json_add_string(object, "said_honours", answer_to_string(said));
	json_add_string(object, "environment_honours",
			answer_to_string(kernel_environment_honours_enable(root)));
	return 0;
}

static int add_image(struct json *object, const char *path)
{
	_cleanup_free_ char *release = NULL, *header = NULL;
	_cleanup_root_ struct root *root = NULL;
	enum answer honours;
	int r;

	r = root_open("/", ROOT_LIVE, &root);
	if (r >= 0)
		r = kimage_honours_enable(root, path, NULL, &honours, &release);
	if (r < 0)
		return r;
	IGNORE(kimage_header_release(root, path, &header)); /* none has one but x86 */
	json_add_string(object, "honours_enable", answer_to_string(honours));
	json_add_string(object, "release", release);
	json_add_string(object, "header_release", header);
	return 0;
}

int main(int argc, char **argv)
{
	_cleanup_json_ struct json *object = json_new_object();
	_cleanup_free_ char *text = NULL;
	int r;

	if (argc > 2 && streq(argv[1], "--image"))
		r = add_image(object, argv[2]);
	else if (argc > 2 && streq(argv[1], "--lines"))
		r = add_lines(object, argv[2]);
	else if (argc > 4 && streq(argv[1], "--rule"))
		r = add_prediction(object, argv + 2);
	else
		r = add_facts(object);
	if (r >= 0)
		r = json_print(object, false, &text);
	if (r < 0) {
		fprintf(stderr, "facts-print: %s\n", strerror(-r));
		return 1;
	}
	puts(text);
	return 0;
}
