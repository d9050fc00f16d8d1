/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Prints what src/facts says, as JSON, for truth.py and images.py: of this system; with a line
 * given, what a mainline kernel would make of it; with --image, of a kernel's image.
 */

#include "base/json.h"
#include "base/root.h"
#include "base/str.h"
#include "facts/facts.h"
#include "facts/kimage.h"

#include <stdio.h>

static int add_prediction(struct json *object, const char *text)
{
	_cleanup_cmdline_ struct cmdline cmdline = {};
	ssize_t word;
	int r = cmdline_parse(text, strlen(text), CMDLINE_LINE, &cmdline);

	if (r < 0)
		return r;
	json_add_string(object, "predicted",
			memcg_state_to_string(cmdline_predict(&cmdline, CMDLINE_MAINLINE,
							      MEMCG_ON, ANSWER_YES)));
	json_add_string(object, "predicted_request",
			cmdline_request_to_string(cmdline_request(&cmdline, &word)));
	json_add_string_n(object, "predicted_token",
			  word < 0 ? NULL : text + cmdline.words[word].offset,
			  word < 0 ? 0 : cmdline.words[word].size);
	return 0;
}

static int add_facts(struct json *object)
{
	_cleanup_root_ struct root *root = NULL;
	_cleanup_facts_ struct facts facts = {};
	const struct running *running = &facts.running;
	enum answer honours = ANSWER_UNKNOWN;
	int r;

	r = root_open("/", ROOT_LIVE, &root);
	if (r >= 0)
		r = facts_load(root, &facts);
	if (r >= 0)
		r = kimage_running_honours_enable(root, &honours);
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
	else
		r = argc > 1 ? add_prediction(object, argv[1]) : add_facts(object);
	if (r >= 0)
		r = json_print(object, false, &text);
	if (r < 0) {
		fprintf(stderr, "facts-print: %s\n", strerror(-r));
		return 1;
	}
	puts(text);
	return 0;
}
