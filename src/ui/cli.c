/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ui/cli.h"

#include "base/diag.h"
#include "base/json.h"
#include "base/str.h"

#include <limits.h>

static const char *const color_choices[] = { "auto", "always", "never", NULL };
static const char *const json_choices[] = { "off", "short", "pretty", NULL };

#define FIELD(name) offsetof(struct args, name)
#define BENCH	    VERB(VERB_BENCH)
#define UNITS	    VERB(VERB_UNITS)
#define ROOTED	    (VERB_ANY & ~(BENCH | VERB(VERB_TRIAL)))
#define READS	    (ROOTED & ~(VERB_WRITES | VERB(VERB_WARN)))

const struct cli_option cli_options[] = {
	{ "root", 0, "DIR", OPTION_STRING, FIELD(root), ROOTED, NULL, 0,
	  "work on another system's root, offline" },
	{ "refresh", 0, NULL, OPTION_FLAG, FIELD(refresh), VERB_WRITES, NULL, 0,
	  "with --root: also regenerate its boot menu" },
	{ "snapshot", 0, "DIR", OPTION_STRING, FIELD(snapshot), READS, NULL, 0,
	  "look at a captured machine" },
	{ "hook", 0, NULL, OPTION_FLAG, FIELD(hook), VERB(VERB_APPLY), NULL, 0,
	  "for package scripts: quick, never fails them" },
	{ "user", 0, NULL, OPTION_FLAG, FIELD(user), UNITS, NULL, 0,
	  "units of the calling user's manager" },
	{ "all-users", 0, NULL, OPTION_FLAG, FIELD(all_users), UNITS, NULL, 0,
	  "units of every logged-in user's manager" },
	{ "json", 0, "[=pretty|short]", OPTION_CHOICE, FIELD(json), VERB_ANY, json_choices, -1,
	  "print JSON" },
	{ "dry-run", 'n', NULL, OPTION_FLAG, FIELD(dry_run), VERB_WRITES, NULL, 0,
	  "show what would be done, change nothing" },
	{ "force", 'f', NULL, OPTION_FLAG, FIELD(force), VERB_WRITES | BENCH, NULL, 0,
	  "do it although it was refused as unsafe" },
	{ "quick", 0, NULL, OPTION_FLAG, FIELD(quick), BENCH, NULL, 0, "bench: about 10 s" },
	{ "standard", 0, NULL, OPTION_FLAG, FIELD(standard), BENCH, NULL, 0,
	  "bench: about 2 min (the default)" },
	{ "thorough", 0, NULL, OPTION_FLAG, FIELD(thorough), BENCH, NULL, 0,
	  "bench: until --target is reached" },
	{ "target", 0, "PERCENT", OPTION_STRING, FIELD(target), BENCH, NULL, 0,
	  "bench: wanted half-width of the interval" },
	{ "max-time", 0, "TIME", OPTION_STRING, FIELD(max_time), BENCH, NULL, 0,
	  "bench: stop --thorough after this long" },
	{ "workload", 0, "LIST", OPTION_STRING, FIELD(workload), BENCH, NULL, 0,
	  "bench: workloads to run" },
	{ "where", 0, "LIST", OPTION_STRING, FIELD(where), BENCH, NULL, 0,
	  "bench: cgroups to compare (root,child,depth=N)" },
	{ "clients", 0, "LIST", OPTION_STRING, FIELD(clients), BENCH, NULL, 0,
	  "bench: numbers of clients for anon-large" },
	{ "rounds", 0, "N", OPTION_STRING, FIELD(rounds), BENCH, NULL, 0,
	  "bench: samples per arm" },
	{ "seed", 0, "N", OPTION_STRING, FIELD(seed), BENCH, NULL, 0,
	  "bench: seed of the order" },
	{ "cpus", 0, "LIST", OPTION_STRING, FIELD(cpus), BENCH, NULL, 0, "bench: CPUs to use" },
	{ "dir", 0, "DIR", OPTION_STRING, FIELD(dir), BENCH, NULL, 0,
	  "bench: where the file of the file workloads is" },
	{ "label", 0, "NAME", OPTION_STRING, FIELD(label), BENCH, NULL, 0,
	  "bench: name of this boot's arm, for compare" },
	{ "watch", 0, "TIME", OPTION_STRING, FIELD(watch), BENCH, NULL, 0,
	  "bench: how long to watch this host's fault rate" },
	{ "no-cgroup", 0, NULL, OPTION_FLAG, FIELD(no_cgroup), BENCH, NULL, 0,
	  "bench: measure here only, make no cgroup" },
	{ "profile", 0, NULL, OPTION_FLAG, FIELD(profile), BENCH, NULL, 0,
	  "bench: sample memcg's functions too" },
	{ "csv", 0, "FILE", OPTION_STRING, FIELD(csv), BENCH, NULL, 0,
	  "bench: write every sample as CSV" },
	{ "output", 'o', "FILE", OPTION_STRING, FIELD(output), BENCH, NULL, 0,
	  "bench: write the result (JSON) or the plot (SVG)" },
	{ "quiet", 'q', NULL, OPTION_FLAG, FIELD(quiet), VERB_ANY, NULL, 0,
	  "no informational lines" },
	{ "verbose", 'v', NULL, OPTION_FLAG, FIELD(verbose), VERB_ANY, NULL, 0,
	  "say more about what was looked at" },
	{ "no-pager", 0, NULL, OPTION_FLAG, FIELD(no_pager), VERB_ANY, NULL, 0,
	  "do not pipe output into a pager" },
	{ "no-legend", 0, NULL, OPTION_FLAG, FIELD(no_legend), VERB_ANY, NULL, 0,
	  "no table headers" },
	{ "color", 0, "auto|always|never", OPTION_CHOICE, FIELD(color), VERB_ANY, color_choices,
	  0, "colours" },
	{ "dump-table", 0, NULL, OPTION_FLAG, FIELD(dump_table), VERB_ANY, NULL, 0,
	  "print the tables this help is made of", true },
	{ "help", 'h', NULL, OPTION_FLAG, FIELD(help), VERB_ANY, NULL, 0, "print this help" },
	{ "version", 0, NULL, OPTION_FLAG, FIELD(version), VERB_ANY, NULL, 0,
	  "print the version and what was built in" },
};
const size_t cli_n_options = ARRAY_SIZE(cli_options);

const struct cli_verb cli_verbs[_VERB_MAX] = {
	{ VERB_STATUS, "status", "", 0, 0, NULL, "where this host stands (the default)" },
	{ VERB_CHECK, "check", "", 0, 0, NULL, "the same as pass or fail, for scripts" },
	{ VERB_EXPLAIN, "explain", "", 0, 0, NULL, "the decision with every reason" },
	{ VERB_NEEDS, "needs", "", 0, 0, NULL, "software here that needs or uses memcg" },
	{ VERB_UNITS, "units", "[UNIT...]", 0, SIZE_MAX, NULL,
	  "memory settings of systemd units, if enforced" },
	{ VERB_ENTRIES, "entries", "", 0, 0, NULL, "boot entries and memcg's state if booted" },
	{ VERB_SET, "set", "POLICY|ROLE", 1, 1,
	  "on off auto leave container-host desktop server embedded",
	  "write the site policy, then apply it" },
	{ VERB_APPLY, "apply", "", 0, 0, NULL, "bring the boot configuration in line" },
	{ VERB_UNSET, "unset", "", 0, 0, NULL, "take back everything this tool wrote" },
	{ VERB_UNDO, "undo", "", 0, 0, NULL, "take back the last change" },
	{ VERB_HISTORY, "history", "", 0, 0, NULL, "list the changes made" },
	{ VERB_TRIAL, "trial", "on|off", 1, 1, "on off", "boot once with the other setting" },
	{ VERB_WARN, "warn", "", 0, 0, NULL, "send the journal warnings now" },
	{ VERB_CAPTURE, "capture", "FILE", 1, 1, NULL,
	  "pack what is read, scrubbed, for a bug report" },
	{ VERB_BENCH, "bench", "[run|env|list|compare|report|plot] [FILE...]", 0, SIZE_MAX,
	  "run env list compare report plot", "measure what memcg costs here" },
};

static int usage_error(struct diag *diag, const char *hint, const char *fmt, ...)
	_printf_(3, 4);

static int usage_error(struct diag *diag, const char *hint, const char *fmt, ...)
{
	const struct diag_where where = {
		.hint = hint ? hint : "memcg-policy --help",
	};
	va_list ap;

	va_start(ap, fmt);
	diag_addv(diag, DIAG_ERROR, &where, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

/* The nearest name, or NULL. */
static const char *nearest(const char *word, const char *(*name_at)(size_t), size_t n)
{
	const char *best = NULL;
	unsigned least = UINT_MAX;

	for (size_t i = 0; i < n; i++) {
		const char *name = name_at(i);

		if (name && str_is_nearer(word, name, &least))
			best = name;
	}
	return best;
}

static const char *verb_name(size_t i)
{
	return cli_verbs[i].name;
}

static const char *option_name(size_t i)
{
	return cli_options[i].hidden ? NULL : cli_options[i].name;
}

static const struct cli_option *find_option(const char *name, size_t size)
{
	for (size_t i = 0; i < cli_n_options; i++)
		if (strlen(cli_options[i].name) == size &&
		    memcmp(cli_options[i].name, name, size) == 0)
			return &cli_options[i];
	return NULL;
}

static int set_option(const struct cli_option *option, const char *value, struct args *args,
		      struct diag *diag)
{
	void *field = (char *)args + option->offset;

	switch (option->kind) {
	case OPTION_FLAG:
		*(bool *)field = true;
		return 0;
	case OPTION_STRING:
		if (*value == '\0')
			return usage_error(diag, NULL, "--%s= needs a value", option->name);
		*(const char **)field = value;
		return 0;
	case OPTION_CHOICE:
		if (!value) {
			*(int *)field = option->no_value;
			return 0;
		}
		for (int i = 0; option->choices[i]; i++)
			if (streq(option->choices[i], value)) {
				*(int *)field = i;
				return 0;
			}
		return usage_error(diag, NULL, "--%s= does not know \"%s\"", option->name,
				   value);
	}
	return -EINVAL;
}

/* Parses the option at argv[*i]; *used collects what the verb must allow. */
static int parse_option(int argc, char **argv, int *i, struct args *args, bool *used,
			struct diag *diag)
{
	const char *word = argv[*i];
	const struct cli_option *option = NULL;
	const char *value = NULL;
	int r;

	if (word[1] == '-') {
		size_t n = strcspn(word + 2, "=");

		option = find_option(word + 2, n);
		if (!option) {
			_cleanup_free_ char *name = str_dup_n(word + 2, n);
			_cleanup_free_ char *hint = NULL;
			const char *near =
				name ? nearest(name, option_name, cli_n_options) : NULL;

			if (!name ||
			    (near && str_printf(&hint, "did you mean --%s?", near) < 0))
				return -ENOMEM;
			return usage_error(diag, hint, "unknown option --%s", name);
		}
		if (word[2 + n] == '=')
			value = word + 2 + n + 1;
		used[option - cli_options] = true;
		if (value && !option->metavar)
			return usage_error(diag, NULL, "--%s takes no value", option->name);
		if (!value && option->metavar && *option->metavar != '[') {
			if (*i + 1 >= argc)
				return usage_error(diag, NULL, "--%s needs a value",
						   option->name);
			value = argv[++*i];
		}
		return set_option(option, value, args, diag);
	}
	/* bundled letters: -nq */
	for (const char *p = word + 1; *p; p++) {
		option = NULL;
		for (size_t k = 0; k < cli_n_options; k++)
			if (cli_options[k].letter == *p)
				option = &cli_options[k];
		if (!option)
			return usage_error(diag, NULL, "unknown option -%c", *p);
		used[option - cli_options] = true;
		if (option->metavar) {
			value = p[1] ? p + 1 : *i + 1 < argc ? argv[++*i] : NULL;
			if (!value)
				return usage_error(diag, NULL, "-%c needs a value", *p);
			return set_option(option, value, args, diag);
		}
		r = set_option(option, NULL, args, diag);
		if (r < 0)
			return r;
	}
	return 0;
}

static int parse_verb(struct args *args, struct diag *diag)
{
	const char *word = args->words[0];

	for (size_t i = 0; i < _VERB_MAX; i++)
		if (streq(cli_verbs[i].name, word)) {
			args->verb = cli_verbs[i].id;
			args->verb_given = true;
			args->n_words--;
			memmove(args->words, args->words + 1, args->n_words * sizeof(char *));
			return 0;
		}
	{
		_cleanup_free_ char *hint = NULL;
		const char *near = nearest(word, verb_name, _VERB_MAX);

		if (near && str_printf(&hint, "did you mean memcg-policy %s?", near) < 0)
			return -ENOMEM;
		return usage_error(diag, hint, "unknown command \"%s\"", word);
	}
}

static int check_combination(const struct args *args, const bool *used, struct diag *diag)
{
	const struct cli_verb *verb = &cli_verbs[args->verb];

	for (size_t i = 0; i < cli_n_options; i++)
		if (used[i] && !(cli_options[i].verbs & VERB(args->verb)))
			return usage_error(diag, NULL, "--%s does not go with %s",
					   cli_options[i].name, verb->name);
	if (args->n_words < verb->min_words)
		return usage_error(diag, NULL, "%s needs %s", verb->name, verb->operands);
	if (args->n_words > verb->max_words)
		return usage_error(diag, NULL, "%s does not take \"%s\"", verb->name,
				   args->words[verb->max_words]);
	if (args->root && args->snapshot)
		return usage_error(diag, NULL, "--root and --snapshot exclude each other");
	if (args->refresh && !args->root)
		return usage_error(diag, NULL, "--refresh goes with --root");
	if (args->user && args->all_users)
		return usage_error(diag, NULL, "--user and --all-users exclude each other");
	if (args->quick + args->standard + args->thorough > 1)
		return usage_error(diag, NULL,
				   "--quick, --standard and --thorough exclude each other");
	return 0;
}

/* Whoever asked for JSON gets errors in JSON too, also for a command line that is wrong. */
static enum json_mode wanted_json(int argc, char **argv)
{
	enum json_mode json = JSON_OFF;

	for (int i = 1; i < argc && !streq(argv[i], "--"); i++)
		if (streq(argv[i], "--json"))
			json = isatty(STDOUT_FILENO) ? JSON_PRETTY : JSON_SHORT;
		else if (str_skip_prefix(argv[i], "--json="))
			json = streq(argv[i], "--json=pretty") ? JSON_PRETTY : JSON_SHORT;
	return json;
}

int cli_parse(int argc, char **argv, struct args *ret, struct diag *diag)
{
	_cleanup_(args_done) struct args args = { .verb = VERB_STATUS };
	bool used[ARRAY_SIZE(cli_options)] = {};
	bool options = true;
	int r;

	*ret = (struct args){ .json = wanted_json(argc, argv) };
	args.words = calloc((size_t)argc + 1, sizeof(char *));
	if (!args.words)
		return -ENOMEM;
	for (int i = 1; i < argc; i++) {
		if (options && streq(argv[i], "--"))
			options = false;
		else if (options && argv[i][0] == '-' && argv[i][1]) {
			r = parse_option(argc, argv, &i, &args, used, diag);
			if (r < 0)
				return r;
		} else
			args.words[args.n_words++] = argv[i];
	}
	if (args.n_words > 0) {
		r = parse_verb(&args, diag);
		if (r < 0)
			return r;
	}
	/* a bare --json means what suits the reader: lines for a person, one line for a program
	 */
	if ((int)args.json < 0)
		args.json = isatty(STDOUT_FILENO) ? JSON_PRETTY : JSON_SHORT;
	if (!args.help && !args.version && !args.dump_table) {
		r = check_combination(&args, used, diag);
		if (r < 0)
			return r;
	}
	*ret = args;
	args.words = NULL;
	return 0;
}

void args_done(struct args *args)
{
	free(args->words);
	args->words = NULL;
}

static void print_row(FILE *f, const char *left, const char *help)
{
	enum { LEFT = 28 };

	if (strlen(left) >= LEFT - 2)
		fprintf(f, "  %s\n  %*s%s\n", left, LEFT, "", help);
	else
		fprintf(f, "  %-*s%s\n", LEFT, left, help);
}

void cli_print_help(FILE *f, int verb)
{
	char left[128];

	if (verb >= 0)
		fprintf(f, "memcg-policy [OPTIONS] %s%s%s\n\n  %s\n", cli_verbs[verb].name,
			*cli_verbs[verb].operands ? " " : "", cli_verbs[verb].operands,
			cli_verbs[verb].help);
	else {
		fputs("memcg-policy [OPTIONS] [COMMAND]\n\n"
		      "Does this host need the kernel's memory controller (memcg), and does "
		      "the next\n"
		      "boot agree with the policy?\n\nCommands:\n",
		      f);
		for (size_t i = 0; i < _VERB_MAX; i++) {
			(void)snprintf(left, sizeof(left), "%s %s", cli_verbs[i].name,
				       cli_verbs[i].operands); /* cut is fine */
			print_row(f, left, cli_verbs[i].help);
		}
	}
	fputs("\nOptions:\n", f);
	for (size_t i = 0; i < cli_n_options; i++) {
		const struct cli_option *o = &cli_options[i];
		char letter[8] = "    ";

		if (o->hidden || (verb >= 0 && !(o->verbs & VERB(verb))))
			continue;
		if (verb < 0 && o->verbs == BENCH)
			continue; /* shown by "bench --help" */
		if (o->letter)
			(void)snprintf(letter, sizeof(letter), "-%c, ", o->letter); /* fits */
		(void)snprintf(left, sizeof(left), "%s--%s%s%s", letter, o->name,
			       o->metavar && *o->metavar != '[' ? "=" : "",
			       o->metavar ? o->metavar : ""); /* cut is fine */
		print_row(f, left, o->help);
	}
	if (verb < 0)
		fputs("\nmemcg-policy COMMAND --help shows the options of one command.", f);
	fprintf(f, "\nSee the memcg-policy%s(8) man page for details.\n",
		verb == VERB_BENCH ? "-bench" : "");
}

int cli_print_table(FILE *f)
{
	_cleanup_json_ struct json *top = json_new_object();
	struct json *verbs = json_new_array(), *options = json_new_array();
	_cleanup_free_ char *text = NULL;
	int r;

	for (size_t i = 0; i < _VERB_MAX; i++) {
		struct json *v = json_new_object();

		json_add_string(v, "name", cli_verbs[i].name);
		json_add_string(v, "operands", cli_verbs[i].operands);
		json_add_string(v, "words", cli_verbs[i].words);
		json_add_string(v, "help", cli_verbs[i].help);
		json_append(verbs, v);
	}
	for (size_t i = 0; i < cli_n_options; i++) {
		const struct cli_option *o = &cli_options[i];
		char letter[2] = { o->letter, '\0' };
		struct json *v = json_new_object(), *of = json_new_array(),
			    *choices = json_new_array();

		if (o->hidden) {
			json_free(v);
			json_free(of);
			json_free(choices);
			continue;
		}
		json_add_string(v, "name", o->name);
		json_add_string(v, "letter", o->letter ? letter : NULL);
		json_add_string(v, "metavar", o->metavar);
		for (size_t k = 0; o->choices && o->choices[k]; k++)
			json_append_string(choices, o->choices[k]);
		json_add(v, "choices", choices);
		for (size_t k = 0; k < _VERB_MAX; k++)
			if (o->verbs & VERB(k))
				json_append_string(of, cli_verbs[k].name);
		json_add(v, "verbs", of);
		json_add_string(v, "help", o->help);
		json_append(options, v);
	}
	json_add(top, "verbs", verbs);
	json_add(top, "options", options);
	r = json_print(top, true, &text);
	if (r < 0)
		return r;
	fprintf(f, "%s\n", text);
	return 0;
}
