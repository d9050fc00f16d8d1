/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot/shell-vars.h"
#include "boot/shell-quote.h"

#include "base/diag.h"
#include "base/str.h"

enum {
	MAX_VALUE = 64 * 1024, /* as long as any command line may be; X="$X$X" doubles */
	MAX_EXPANSIONS = 100,
};

static void file_done(struct shell_file *file)
{
	free(file->path);
	free(file->text);
	shell_events_done(&file->events);
	*file = (struct shell_file){};
}

void shell_script_done(struct shell_script *script)
{
	for (size_t i = 0; i < script->n; i++)
		file_done(&script->files[i]);
	free(script->files);
	*script = (struct shell_script){};
}

static int load_file(const char *path, const char *text, size_t size, struct shell_file *ret,
		     struct diag *diag)
{
	_cleanup_(file_done) struct shell_file file = { .size = size };
	int r;

	file.path = strdup(path);
	file.text = str_dup_n(text, size);
	if (!file.path || !file.text)
		return -ENOMEM;
	r = shell_parse(path, file.text, size, &file.events, diag);
	if (r < 0)
		return r;
	*ret = file;
	file = (struct shell_file){};
	return 0;
}

int shell_script_add(struct shell_script *script, const char *path, const char *text,
		     size_t size, struct diag *diag)
{
	int r;

	if (!GROW(script->files, script->n, script->alloc))
		return -ENOMEM;
	r = load_file(path, text, size, &script->files[script->n], diag);
	if (r < 0)
		return r;
	script->n++;
	return 0;
}

int shell_script_replace(struct shell_script *script, size_t file, const char *text,
			 size_t size, struct diag *diag)
{
	struct shell_file new;
	int r = load_file(script->files[file].path, text, size, &new, diag);

	if (r < 0)
		return r;
	file_done(&script->files[file]);
	script->files[file] = new;
	return 0;
}

/* --- values --- */

void shell_value_done(struct shell_value *value)
{
	free(value->text);
	free(value->origins);
	*value = (struct shell_value){};
}

/* A value being put together. */
struct builder {
	struct strbuf text;
	struct shell_origin *origins;
	size_t n, alloc;
};

static void builder_done(struct builder *b)
{
	strbuf_done(&b->text);
	free(b->origins);
}

static int builder_add(struct builder *b, char c, const struct shell_origin *origin)
{
	if (b->n == MAX_VALUE)
		return -EFBIG;
	if (!GROW(b->origins, b->n, b->alloc))
		return -ENOMEM;
	strbuf_addc(&b->text, c);
	b->origins[b->n++] = *origin;
	return b->text.failed ? -ENOMEM : 0;
}

/* The variables set so far. */
struct variable {
	char *name;
	struct shell_value value;
	bool lasting; /* dynamic for good */
};

struct environment {
	struct variable *items;
	size_t n, alloc;
	/* SHELL_OPAQUE was met: variables not in the list are what it says */
	bool opaque, lasting;
	struct shell_value doubt;
};

static void environment_done(struct environment *env)
{
	for (size_t i = 0; i < env->n; i++) {
		free(env->items[i].name);
		shell_value_done(&env->items[i].value);
	}
	free(env->items);
}

static struct variable *find_variable(const struct environment *env, const char *name,
				      size_t size)
{
	for (size_t i = 0; i < env->n; i++)
		if (strlen(env->items[i].name) == size &&
		    memcmp(env->items[i].name, name, size) == 0)
			return &env->items[i];
	return NULL;
}

/* Takes value over. */
static int set_variable(struct environment *env, const char *name, struct shell_value *value,
			bool lasting)
{
	struct variable *variable = find_variable(env, name, strlen(name));

	if (!variable) {
		if (!GROW(env->items, env->n, env->alloc))
			return -ENOMEM;
		variable = &env->items[env->n];
		*variable = (struct variable){ .name = strdup(name) };
		if (!variable->name)
			return -ENOMEM;
		env->n++;
	}
	if (variable->lasting && !lasting)
		return 0;
	variable->lasting |= lasting;
	shell_value_done(&variable->value);
	variable->value = *value;
	*value = (struct shell_value){};
	return 0;
}

/* What a name stands for now; borrowed. */
static struct shell_value look_up(const struct environment *env, const char *name, size_t size)
{
	const struct variable *variable = find_variable(env, name, size);

	if (variable)
		return variable->value;
	if (env->opaque)
		return env->doubt;
	if (size > 13 && memcmp(name, "GRUB_CMDLINE_", 13) == 0)
		return (struct shell_value){ .known = SHELL_IS_UNSET };
	return (struct shell_value){
		.known = SHELL_IS_DYNAMIC,
		.reason = "uses a variable that these files do not set",
	};
}

/* One raw value being evaluated. */
struct evaluation {
	const struct environment *env;
	const struct shell_file *file;
	unsigned file_index;
	struct builder *out;
	unsigned expansions;
	/* set when the value cannot be known */
	const char *reason;
	size_t reason_at;
};

static int give_up(struct evaluation *ev, size_t at, const char *reason)
{
	ev->reason = reason;
	ev->reason_at = at;
	return -ENOTSUP;
}

static int evaluate(struct evaluation *ev, size_t at, size_t end, enum shell_context context,
		    bool in_braces);

static int add_byte(struct evaluation *ev, size_t at, size_t size, enum shell_context context)
{
	const struct shell_origin origin = {
		.file = ev->file_index, .context = context, .offset = at, .size = size
	};

	/* the byte itself is the last one of an escape */
	return builder_add(ev->out, ev->file->text[at + size - 1], &origin);
}

static int add_value(struct evaluation *ev, const struct shell_value *value)
{
	for (size_t i = 0; i < value->size; i++) {
		int r = builder_add(ev->out, value->text[i], &value->origins[i]);

		if (r < 0)
			return r;
	}
	return 0;
}

/* ${NAME...} between the braces: from..to. */
static int expand_braces(struct evaluation *ev, size_t dollar, size_t from, size_t to,
			 enum shell_context context)
{
	const char *s = ev->file->text;
	size_t n = shell_name_length(s + from, to - from), op = from + n;
	struct shell_value value;
	bool colon, use_word;

	if (n == 0)
		return give_up(ev, dollar, "uses an expansion");
	value = look_up(ev->env, s + from, n);
	if (value.known == SHELL_IS_DYNAMIC)
		return give_up(ev, dollar, value.reason);
	if (op == to)
		return add_value(ev, &value);
	colon = s[op] == ':';
	op += colon;
	if (op >= to || !strchr("+-", s[op]))
		return give_up(ev, dollar, "uses an expansion");
	use_word = value.known == SHELL_IS_UNSET || (colon && value.size == 0);
	if (s[op] == '+')
		use_word = !use_word;
	else if (!use_word)
		return add_value(ev, &value);
	return use_word ? evaluate(ev, op + 1, to, context, true) : 0;
}

static int expand(struct evaluation *ev, size_t *at, size_t end, enum shell_context context)
{
	const char *s = ev->file->text;
	size_t dollar = *at, n;
	size_t behind = shell_skip_expansion(s, end, dollar, context == SHELL_DOUBLE_QUOTED);
	struct shell_value value;

	if (++ev->expansions > MAX_EXPANSIONS || behind > end)
		return give_up(ev, dollar, "uses an expansion");
	*at = behind;
	if (s[dollar] == '`')
		return give_up(ev, dollar, "uses a command's output");
	if (behind == dollar + 1) {
		/* a lone dollar stands for itself; before a quote it is bash's $'...' */
		if (context == SHELL_UNQUOTED && behind < end &&
		    (s[behind] == '\'' || s[behind] == '"'))
			return give_up(ev, dollar, "uses bash's quotes");
		return add_byte(ev, dollar, 1, context);
	}
	if (s[dollar + 1] == '(')
		return give_up(ev, dollar,
			       dollar + 2 < end && s[dollar + 2] == '('
				       ? "uses arithmetic"
				       : "uses a command's output");
	if (s[dollar + 1] == '{')
		return expand_braces(ev, dollar, dollar + 2, behind - 1, context);
	n = shell_name_length(s + dollar + 1, behind - dollar - 1);
	if (n == 0)
		return give_up(ev, dollar, "uses a special parameter");
	value = look_up(ev->env, s + dollar + 1, n);
	if (value.known == SHELL_IS_DYNAMIC)
		return give_up(ev, dollar, value.reason);
	return add_value(ev, &value);
}

/* Evaluates raw text; in_braces: it is the word of ${NAME:+word}. */
static int evaluate(struct evaluation *ev, size_t at, size_t end, enum shell_context context,
		    bool in_braces)
{
	const char *s = ev->file->text;
	size_t start = at;
	int r = 0;

	while (r >= 0 && at < end) {
		char c = s[at];

		if (c == '\\' && at + 1 < end) {
			bool escapes =
				context == SHELL_UNQUOTED || strchr("$`\"\\\n}", s[at + 1]);

			if (s[at + 1] == '}' && context != SHELL_UNQUOTED && !in_braces)
				escapes = false;
			if (s[at + 1] == '\n') {
				at += 2;
				continue;
			}
			r = add_byte(ev, at, escapes ? 2 : 1, context);
			at += escapes ? 2 : 1;
		} else if (c == '\'' && context == SHELL_UNQUOTED) {
			size_t behind = shell_skip_expansion(s, end, at, false);

			for (at++; r >= 0 && at + 1 < behind; at++)
				r = add_byte(ev, at, 1, SHELL_SINGLE_QUOTED);
			at = behind;
		} else if (c == '"' && context == SHELL_UNQUOTED) {
			size_t behind = shell_skip_expansion(s, end, at, false);

			r = evaluate(ev, at + 1, behind - 1, SHELL_DOUBLE_QUOTED, false);
			at = behind;
		} else if (c == '"') {
			/* "${X:+"word"}": shells differ in what the inner quotes do */
			r = give_up(ev, at, "has quotes inside an expansion");
		} else if (c == '$' || c == '`') {
			r = expand(ev, &at, end, context);
		} else if (c == '~' && context == SHELL_UNQUOTED &&
			   (at == start || s[at - 1] == ':')) {
			r = give_up(ev, at, "uses a home directory");
		} else {
			r = add_byte(ev, at, 1, context);
			at++;
		}
	}
	return r;
}

static int evaluate_event(const struct environment *env, const struct shell_file *file,
			  unsigned file_index, const struct shell_event *event,
			  struct shell_value *ret)
{
	_cleanup_(builder_done) struct builder out = {};
	struct evaluation ev = {
		.env = env, .file = file, .file_index = file_index, .out = &out
	};
	struct shell_value value = { .event = event, .file = file_index, .at = event->offset };
	int r = evaluate(&ev, event->value, event->value + event->value_size, SHELL_UNQUOTED,
			 false);

	if (r == -EFBIG)
		r = give_up(&ev, event->offset, "is too long");
	if (r == -ENOTSUP) {
		value.known = SHELL_IS_DYNAMIC;
		value.at = ev.reason_at;
		value.reason = ev.reason;
	} else if (r < 0)
		return r;
	else {
		value.known = SHELL_IS_STATIC;
		r = strbuf_take(&out.text, &value.text, &value.size);
		if (r < 0)
			return r;
		value.origins = TAKE_PTR(out.origins);
	}
	*ret = value;
	return 0;
}

static int run_event(struct environment *env, const struct shell_file *file,
		     unsigned file_index, const struct shell_event *event)
{
	_cleanup_shell_value_ struct shell_value value = {
		.event = event,
		.file = file_index,
		.at = event->offset,
		.reason = event->reason,
	};
	int r;

	switch (event->kind) {
	case SHELL_ASSIGN:
		r = evaluate_event(env, file, file_index, event, &value);
		if (r < 0)
			return r;
		break;
	case SHELL_UNSET:
		value.known = SHELL_IS_UNSET;
		break;
	case SHELL_MAYBE:
		value.known = SHELL_IS_DYNAMIC;
		break;
	case SHELL_OPAQUE:
		value.known = SHELL_IS_DYNAMIC;
		for (size_t i = 0; i < env->n; i++) {
			struct variable *variable = &env->items[i];

			shell_value_done(&variable->value);
			variable->value = value;
			variable->lasting |= event->lasting;
		}
		env->opaque = true;
		env->lasting |= event->lasting;
		env->doubt = value;
		return 0;
	}
	if (env->lasting) { /* nothing can be known any more */
		shell_value_done(&value);
		value = env->doubt;
	}
	return set_variable(env, event->name, &value, event->lasting);
}

int shell_script_value(const struct shell_script *script, const char *name,
		       struct shell_value *ret)
{
	_cleanup_(environment_done) struct environment env = {};
	struct variable *variable;

	for (size_t i = 0; i < script->n; i++)
		for (size_t k = 0; k < script->files[i].events.n; k++) {
			int r = run_event(&env, &script->files[i], (unsigned)i,
					  &script->files[i].events.items[k]);

			if (r < 0)
				return r;
		}
	variable = find_variable(&env, name, strlen(name));
	if (variable) {
		*ret = variable->value;
		variable->value = (struct shell_value){};
	} else
		/* what others use may come from outside; this is what they make of it */
		*ret = env.opaque ? env.doubt : (struct shell_value){ .known = SHELL_IS_UNSET };
	return 0;
}
