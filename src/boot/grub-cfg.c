/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot/grub-cfg.h"

#include "base/diag.h"
#include "boot/grub-menu.h"
#include "boot/grubenv.h"

enum { MAX_DEPTH = 32 };

/* --- reading the script --- */

enum block {
	BLOCK_OTHER,
	BLOCK_MENUENTRY,
	BLOCK_SUBMENU,
};

struct reader {
	const char *path;
	const char *s;
	size_t size;
	size_t at;
	unsigned line;
	struct diag *diag;

	/* the command being read */
	struct strv words;
	struct strv raw; /* unexpanded, for "set default" */
	size_t *starts;	 /* where each of them is */
	size_t starts_alloc;
	size_t last_end; /* behind the last word */
	unsigned command_line;

	struct {
		enum block block;
		ssize_t node;
		unsigned line;
		size_t body;
		char *options;
	} blocks[MAX_DEPTH];
	size_t depth;

	struct strv names, values; /* set to plain text so far */
	const char *env;	   /* the environment block, or NULL */
	bool in_ours;
	bool in_foreign;
	bool in_trial;
	char *fallback_default; /* of "set default" without a one-time entry */
	bool xen;		/* the entry loads a hypervisor first */

	struct grub_menu menu;
	struct grub_cfg *cfg;
};

static void reader_done(struct reader *r)
{
	strv_done(&r->words);
	strv_done(&r->raw);
	free(r->starts);
	for (size_t i = 0; i < r->depth; i++)
		free(r->blocks[i].options);
	strv_done(&r->names);
	strv_done(&r->values);
	free(r->fallback_default);
	grub_menu_done(&r->menu);
}

static int unfinished(struct reader *r, unsigned line, const char *what)
{
	diag_error(r->diag, &(struct diag_where){ .path = r->path, .line = line }, "%s", what);
	return -EBADMSG;
}

static int set_variable(struct reader *r, const char *name, size_t name_size, const char *value)
{
	for (size_t i = 0; i < r->names.n; i++)
		if (strlen(r->names.items[i]) == name_size &&
		    memcmp(r->names.items[i], name, name_size) == 0) {
			char *copy = strdup(value);

			if (!copy)
				return -ENOMEM;
			free(r->values.items[i]);
			r->values.items[i] = copy;
			return 0;
		}
	strv_add_n(&r->names, name, name_size);
	strv_add(&r->values, value);
	return r->names.failed || r->values.failed ? -ENOMEM : 0;
}

/* A variable that is not set is nothing. */
static int add_variable(const struct reader *r, const char *name, struct strbuf *out)
{
	_cleanup_free_ char *value = NULL;
	int e;

	/* set in both branches of an "if" about an old GRUB */
	if (streq(name, "menuentry_id_option")) {
		strbuf_adds(out, "--id");
		return 0;
	}
	for (size_t i = 0; i < r->names.n; i++)
		if (streq(r->names.items[i], name)) {
			strbuf_adds(out, r->values.items[i]);
			return 0;
		}
	e = r->env ? grubenv_get(r->env, name, &value) : -ENOENT;
	if (e >= 0)
		strbuf_adds(out, value);
	return e == -ENOMEM ? e : 0;
}

/* "$name" or "${name}" at r->at: appends its value; a lone dollar stands for itself. */
static int read_variable(struct reader *r, struct strbuf *out)
{
	bool braces = r->at + 1 < r->size && r->s[r->at + 1] == '{';
	size_t start = r->at + 1 + braces, end = start;
	_cleanup_free_ char *name = NULL;
	int e;

	while (end < r->size && (r->s[end] == '_' || (r->s[end] >= '0' && r->s[end] <= '9') ||
				 (r->s[end] >= 'a' && r->s[end] <= 'z') ||
				 (r->s[end] >= 'A' && r->s[end] <= 'Z')))
		end++;
	if (end == start || (braces && (end >= r->size || r->s[end] != '}'))) {
		strbuf_addc(out, r->s[r->at++]);
		return 0;
	}
	name = str_dup_n(r->s + start, end - start);
	if (!name)
		return -ENOMEM;
	e = add_variable(r, name, out);
	r->at = end + braces;
	return e;
}

/* Inside double quotes, behind the first. */
static int read_double(struct reader *r, struct strbuf *out)
{
	unsigned line = r->line;
	int e;

	while (r->at < r->size && r->s[r->at] != '"') {
		char c = r->s[r->at];

		if (c == '$') {
			e = read_variable(r, out);
			if (e < 0)
				return e;
			continue;
		}
		if (c == '\\' && r->at + 1 < r->size && strchr("$\"\\", r->s[r->at + 1]))
			c = r->s[++r->at];
		r->line += c == '\n';
		strbuf_addc(out, c);
		r->at++;
	}
	if (r->at >= r->size)
		return unfinished(r, line, "a double quote that starts here does not end");
	r->at++;
	return 0;
}

static int read_single(struct reader *r, struct strbuf *out)
{
	const char *start = r->s + r->at, *end = memchr(start, '\'', r->size - r->at);

	if (!end)
		return unfinished(r, r->line, "a single quote that starts here does not end");
	for (const char *p = start; p < end; p++)
		r->line += *p == '\n';
	strbuf_add(out, start, (size_t)(end - start));
	r->at = (size_t)(end - r->s) + 1;
	return 0;
}

/* One word into r->words, and as it is written into r->raw. */
static int read_word(struct reader *r)
{
	_cleanup_strbuf_ struct strbuf out = {};
	size_t start = r->at;
	int e = 0;

	strbuf_adds(&out, "");
	while (e >= 0 && r->at < r->size && !strchr(" \t\r\n;|&<>{}", r->s[r->at])) {
		char c = r->s[r->at];

		if (c == '\'') {
			r->at++;
			e = read_single(r, &out);
		} else if (c == '"') {
			r->at++;
			e = read_double(r, &out);
		} else if (c == '$') {
			e = read_variable(r, &out);
		} else {
			if (c == '\\' && r->at + 1 < r->size) {
				c = r->s[++r->at];
				r->line += c == '\n';
			}
			if (c != '\n')
				strbuf_addc(&out, c);
			r->at++;
		}
	}
	if (e < 0)
		return e;
	/* '{' and '}' are words by themselves only where a word could start */
	if (r->at == start)
		strbuf_addc(&out, r->s[r->at++]);
	if (out.failed)
		return -ENOMEM;
	if (!GROW(r->starts, r->raw.n, r->starts_alloc))
		return -ENOMEM;
	r->starts[r->raw.n] = start;
	r->last_end = r->at;
	strv_add_n(&r->words, out.data, out.len);
	strv_add_n(&r->raw, r->s + start, r->at - start);
	return r->words.failed || r->raw.failed ? -ENOMEM : 0;
}

static void forget_command(struct reader *r)
{
	strv_done(&r->words);
	strv_done(&r->raw);
}

/*
 * Which script of /etc/grub.d made what follows. Its number is the admin's to change (an order
 * of the menu); grub-customizer runs the script through another one with "_proxy" in its name.
 */
static void note_script(struct reader *r, const char *path)
{
	static const char *const ours[] = { "_linux", "_linux_zfs", "_linux_xen",
					    "_linux_proxy" };
	const char *name = strrchr(path, '/');

	r->in_ours = r->in_foreign = r->in_trial = false;
	if (!name)
		return;
	name += 1 + strspn(name + 1, "0123456789");
	r->in_foreign = streq(name, "_os-prober") || streq(name, "_os-prober_proxy");
	r->in_trial = streq(name, "_memcg_policy");
	for (size_t i = 0; i < ARRAY_SIZE(ours); i++)
		if (streq(name, ours[i]))
			r->in_ours = true;
}

/* "### BEGIN /etc/grub.d/10_linux ###" */
static void read_comment(struct reader *r)
{
	size_t start = r->at, n;
	_cleanup_free_ char *text = NULL;
	const char *rest;

	while (r->at < r->size && r->s[r->at] != '\n')
		r->at++;
	text = str_dup_n(r->s + start, r->at - start);
	if (!text)
		return; /* then nothing is ours, and nothing is changed */
	if (str_skip_prefix(text, "### END "))
		r->in_ours = r->in_foreign = r->in_trial = false;
	rest = str_skip_prefix(text, "### BEGIN ");
	if (!rest)
		return;
	n = strcspn(rest, " ");
	text[(size_t)(rest - text) + n] = '\0';
	note_script(r, rest);
}

/* The innermost block of that kind we are in, or -1. */
static ssize_t current_block(const struct reader *r, enum block block)
{
	for (size_t i = r->depth; i-- > 0;)
		if (r->blocks[i].block == block)
			return (ssize_t)i;
	return -1;
}

static ssize_t current_node(const struct reader *r, enum block block)
{
	ssize_t i = current_block(r, block);

	return i < 0 ? -1 : r->blocks[i].node;
}

/* Where the entry that was just added stands; its end is not known yet. */
static int add_place(struct reader *r, ssize_t block, size_t first_arg)
{
	struct grub_place *places =
		reallocarray(r->cfg->places, r->cfg->n_places + 1, sizeof(*places));

	if (!places)
		return -ENOMEM;
	r->cfg->places = places;
	places[r->cfg->n_places++] = (struct grub_place){
		.body = r->blocks[block].body,
		.args = first_arg < r->raw.n ? r->starts[first_arg] : r->last_end,
		.args_end = r->last_end,
		.options = TAKE_PTR(r->blocks[block].options),
	};
	return 0;
}

/* The words from first on as GRUB hands them to the kernel: a word with a blank gets quotes. */
static int join_words(const struct strv *words, size_t first, char **ret)
{
	_cleanup_strbuf_ struct strbuf buf = {};

	for (size_t i = first; i < words->n; i++) {
		const char *word = words->items[i];
		bool quote = strchr(word, ' ');

		if (*word == '\0')
			continue;
		if (buf.len > 0)
			strbuf_addc(&buf, ' ');
		strbuf_addf(&buf, quote ? "\"%s\"" : "%s", word);
	}
	return strbuf_take(&buf, ret, NULL);
}

/* The kernel of the entry we are in. */
static int add_kernel(struct reader *r, size_t image_word, size_t first_arg)
{
	ssize_t node = current_node(r, BLOCK_MENUENTRY);
	struct boot_entry *entry;
	int e;

	if (node < 0 || r->menu.nodes[node].entry >= 0 || r->words.n <= image_word)
		return 0;
	entry = boot_entries_add(&r->cfg->entries);
	if (!entry)
		return -ENOMEM;
	r->menu.nodes[node].entry = (ssize_t)r->cfg->entries.n - 1;
	entry->line = r->command_line;
	entry->ours = r->in_ours;
	entry->foreign = r->in_foreign;
	entry->trial = r->in_trial;
	e = add_place(r, current_block(r, BLOCK_MENUENTRY), first_arg);
	if (e >= 0)
		e = grub_menu_name(&r->menu, node, true, ">", &entry->id);
	if (e >= 0)
		e = grub_menu_name(&r->menu, node, false, " > ", &entry->title);
	if (e >= 0)
		e = join_words(&r->words, first_arg, &entry->args);
	if (e < 0)
		return e;
	entry->image = strdup(r->words.items[image_word]);
	entry->source = strdup(r->path);
	/* by GRUB's own ids; a title may say anything in any language */
	entry->recovery = strstr(entry->id, "-recovery-") != NULL;
	return entry->image && entry->source ? 0 : -ENOMEM;
}

/* multiboot: the first module behind a hypervisor is the kernel. */
static int add_module(struct reader *r)
{
	size_t image = 1;

	if (!r->xen)
		return 0;
	r->xen = false;
	while (image < r->words.n && str_skip_prefix(r->words.items[image], "--"))
		image++;
	/* Xen drops the word behind the file's name, so 20_linux_xen puts one there */
	if (image + 1 < r->words.n && streq(r->words.items[image + 1], "placeholder"))
		return add_kernel(r, image, image + 2);
	return add_kernel(r, image, image + 1);
}

static int assign(struct reader *r, size_t word)
{
	const char *text = r->words.items[word], *equals = strchr(text, '=');

	if (!equals || equals == text)
		return 0;
	if (streq_ptr(str_skip_prefix(text, "default="), equals + 1) && r->depth == 0 &&
	    !strstr(r->raw.items[word], "next_entry")) {
		free(r->fallback_default);
		r->fallback_default = strdup(equals + 1);
		if (!r->fallback_default)
			return -ENOMEM;
	}
	return set_variable(r, text, (size_t)(equals - text), equals + 1);
}

static int end_command(struct reader *r)
{
	static const char *const linux_commands[] = { "linux", "linux16", "linuxefi" };
	static const char *const xen_commands[] = { "multiboot", "multiboot2",
						    "xen_hypervisor" };
	static const char *const module_commands[] = { "module", "module2", "xen_module",
						       "xen_linux" };
	const char *command = r->words.n ? r->words.items[0] : "";
	int e = 0;

	/* "then linux ..." */
	while (r->words.n > 1 && (streq(command, "then") || streq(command, "else") ||
				  streq(command, "do") || streq(command, "elif"))) {
		free(r->words.items[0]);
		free(r->raw.items[0]);
		memmove(r->words.items, r->words.items + 1, r->words.n * sizeof(char *));
		memmove(r->raw.items, r->raw.items + 1, r->raw.n * sizeof(char *));
		memmove(r->starts, r->starts + 1, (r->raw.n - 1) * sizeof(*r->starts));
		r->words.n--;
		r->raw.n--;
		command = r->words.items[0];
	}
	for (size_t i = 0; i < ARRAY_SIZE(linux_commands) && e >= 0; i++)
		if (streq(command, linux_commands[i]))
			e = add_kernel(r, 1, 2);
	for (size_t i = 0; i < ARRAY_SIZE(xen_commands); i++)
		if (streq(command, xen_commands[i]))
			r->xen = true;
	for (size_t i = 0; i < ARRAY_SIZE(module_commands) && e >= 0; i++)
		if (streq(command, module_commands[i]))
			e = add_module(r);
	if (streq(command, "set") && r->words.n > 1)
		e = assign(r, 1);
	else if (strchr(command, '='))
		e = assign(r, 0);
	else if (streq(command, "blscfg"))
		r->cfg->blscfg = true;
	else if (streq(command, "configfile") && r->depth == 0)
		r->cfg->stub = true;
	forget_command(r);
	return e;
}

/* '{': what the words before it begin. */
static int open_block(struct reader *r)
{
	const char *command = r->words.n ? r->words.items[0] : "";
	enum block block = streq(command, "menuentry") ? BLOCK_MENUENTRY
			   : streq(command, "submenu") ? BLOCK_SUBMENU
						       : BLOCK_OTHER;
	_cleanup_strbuf_ struct strbuf options = {};
	const char *title = NULL, *id = NULL;
	size_t node = 0;
	int e = 0;

	if (r->depth == MAX_DEPTH)
		return unfinished(r, r->line, "braces are nested too deeply");
	if (block != BLOCK_OTHER) {
		for (size_t i = 1; i < r->words.n; i++) {
			const char *word = r->words.items[i];
			bool more = i + 1 < r->words.n;

			if (str_skip_prefix(word, "--id=")) {
				id = word + 5;
				continue;
			}
			if (streq(word, "--id") && more) {
				id = r->words.items[++i];
				continue;
			}
			if (!title && !str_skip_prefix(word, "--")) {
				title = word;
				continue;
			}
			strbuf_addf(&options, " %s", r->raw.items[i]);
			if ((streq(word, "--class") || streq(word, "--users") ||
			     streq(word, "--hotkey") || streq(word, "--source")) &&
			    more)
				strbuf_addf(&options, " %s", r->raw.items[++i]);
		}
		e = strbuf_take(&options, &r->blocks[r->depth].options, NULL);
		if (e < 0)
			return e;
		e = grub_menu_add(&r->menu, current_node(r, BLOCK_SUBMENU), title ? title : "",
				  id, block == BLOCK_SUBMENU, &node);
		r->xen = false;
	}
	r->blocks[r->depth].body = r->at + 1;
	r->blocks[r->depth].block = block;
	r->blocks[r->depth].node = (ssize_t)node;
	r->blocks[r->depth++].line = r->command_line;
	forget_command(r);
	return e;
}

/* '}' */
static void close_block(struct reader *r)
{
	size_t i = --r->depth;
	ssize_t entry = -1;

	free(r->blocks[i].options);
	r->blocks[i].options = NULL;
	if (r->blocks[i].block == BLOCK_MENUENTRY)
		entry = r->menu.nodes[r->blocks[i].node].entry;
	if (entry >= 0)
		r->cfg->places[entry].end = r->at;
}

static int read_script(struct reader *r)
{
	int e = 0;

	while (e >= 0 && r->at < r->size) {
		char c = r->s[r->at];

		if (r->words.n == 0)
			r->command_line = r->line;
		if (c == ' ' || c == '\t' || c == '\r') {
			r->at++;
		} else if (c == '\\' && r->at + 1 < r->size && r->s[r->at + 1] == '\n') {
			r->at += 2;
			r->line++;
		} else if (c == '#') {
			read_comment(r);
		} else if (c == '\n' || c == ';') {
			e = end_command(r);
			r->line += c == '\n';
			r->at++;
		} else if (c == '{') {
			e = open_block(r);
			r->at++;
		} else if (c == '}') {
			e = end_command(r);
			if (r->depth == 0)
				return unfinished(r, r->line, "a \"}\" that ends nothing");
			close_block(r);
			r->at++;
		} else {
			e = read_word(r);
		}
	}
	if (e >= 0)
		e = end_command(r);
	if (e >= 0 && r->depth > 0)
		return unfinished(r, r->blocks[r->depth - 1].line,
				  "a \"{\" on this line does not end");
	return e;
}

/* The entry that a value of "default" means, "0" when there is none; NULL: no kernel's. */
static int find_default(const struct reader *reader, const char *value, struct boot_entry **ret)
{
	ssize_t node = -1;
	int r = grub_menu_find(&reader->menu, value ? value : "0", &node);

	*ret = NULL;
	if (r >= 0 && node >= 0 && reader->menu.nodes[node].entry >= 0)
		*ret = &reader->cfg->entries.items[reader->menu.nodes[node].entry];
	return r;
}

int grub_cfg_parse(const char *path, const char *text, size_t size, const char *env,
		   struct grub_cfg *ret, struct diag *diag)
{
	_cleanup_grub_cfg_ struct grub_cfg cfg = {};
	_cleanup_(reader_done) struct reader reader = {
		.path = path,
		.s = text,
		.size = size,
		.line = 1,
		.diag = diag,
		.env = env,
		.cfg = &cfg,
	};
	_cleanup_free_ char *next = NULL;
	struct boot_entry *lasting, *entry;
	int r;

	if (memchr(text, '\0', size))
		return unfinished(&reader, 1, "a NUL byte: this is no text");
	r = read_script(&reader);
	if (r < 0)
		return r;
	r = env ? grubenv_get(env, "next_entry", &next) : -ENOENT;
	if (r == -ENOMEM)
		return r;
	cfg.once = next && *next;
	r = find_default(&reader, reader.fallback_default, &lasting);
	/* the header takes next_entry first, whatever GRUB_DEFAULT= says */
	if (r >= 0)
		r = find_default(&reader, cfg.once ? next : reader.fallback_default, &entry);
	if (r < 0)
		return r;
	if (entry)
		entry->is_default = true;
	if (lasting)
		lasting->is_lasting = cfg.once;
	cfg.lasting = TAKE_PTR(reader.fallback_default);
	*ret = cfg;
	cfg = (struct grub_cfg){};
	return 0;
}

void grub_cfg_done(struct grub_cfg *cfg)
{
	boot_entries_done(&cfg->entries);
	for (size_t i = 0; i < cfg->n_places; i++)
		free(cfg->places[i].options);
	free(cfg->places);
	free(cfg->lasting);
	*cfg = (struct grub_cfg){};
}
