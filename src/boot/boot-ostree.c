/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * ostree, rpm-ostree, bootc: kernel arguments are part of a deployment, and a change of them is
 * made by the tool that makes deployments. What we had it append and delete is remembered in a
 * file, the one edit of the change: it follows the file, in both directions, so that taking the
 * file back takes back exactly that. An image that is being built gets a file of kargs.d.
 */

#include "base/diag.h"
#include "boot/bls-dir.h"
#include "boot/record.h"
#include "boot/text.h"
#include "boot/tool.h"

/* "append WORD" or "delete WORD", a line each */
#define OURS   RECORD_DIR "/kargs"
#define STAGED "/run/ostree/staged-deployment"
#define KARGS  "/usr/lib/bootc/kargs.d"
#define IMAGE  KARGS "/90-memcg-policy.toml"

enum { MAX_OURS = 4096, MAX_STAGED = 1024 * 1024, MAX_TOML = 1000 };

enum owner {
	BY_NOBODY,
	BY_RPM_OSTREE,
	BY_BOOTC,
	BY_OSTREE,
	BY_IMAGE, /* what is built here is deployed elsewhere */
};

static int ostree_probe(const struct root *root, struct diag *diag _unused_)
{
	return root_exists(root, "/run/ostree-booted") || root_exists(root, "/ostree/repo") ||
	       root_exists(root, "/sysroot/ostree/repo") || root_exists(root, KARGS);
}

static enum owner find_owner(const struct root *root)
{
	static const char *const bootc[] = { "bootc", NULL };
	_cleanup_free_ char *path = NULL;

	if (root_mode(root) == ROOT_OFFLINE)
		return (root_exists(root, KARGS) || tool_exists(root, "bootc")) &&
				       !root_exists(root, "/boot/loader/entries")
			       ? BY_IMAGE
			       : BY_NOBODY;
	if (tool_exists(root, "rpm-ostree"))
		return BY_RPM_OSTREE;
	if (tool_find(root, bootc, &path) >= 0 &&
	    tool_mentions(root, path, "set-options-for-source"))
		return BY_BOOTC;
	return tool_exists(root, "ostree") ? BY_OSTREE : BY_NOBODY;
}

/* --- reading --- */

/*
 * The arguments of a deployment that is staged: of a GVariant dictionary, "kargs" and an array
 * of strings, each with its NUL. What comes behind them is offsets, and no word.
 */
static int staged_args(const struct root *root, char **ret)
{
	static const char key[] = "kargs";
	_cleanup_free_ char *data = NULL;
	_cleanup_strbuf_ struct strbuf args = {};
	const char *p, *end;
	size_t size;
	int r = root_read(root, STAGED, MAX_STAGED, &data, &size);

	if (r < 0)
		return r;
	p = memmem(data, size, key, sizeof(key));
	if (!p)
		return -EBADMSG;
	end = data + size;
	for (p += sizeof(key); p < end && !*p; p++)
		;
	while (p < end) {
		size_t n = strnlen(p, (size_t)(end - p));

		if (n == 0 || p + n == end)
			break;
		for (size_t i = 0; i < n; i++)
			if ((unsigned char)p[i] < ' ')
				return strbuf_take(&args, ret, NULL);
		strbuf_adds(&args, args.len > 0 ? " " : "");
		strbuf_add(&args, p, n);
		p += n + 1;
	}
	return strbuf_take(&args, ret, NULL);
}

/* The deployment that the next boot takes is the one that counts: the others are ways back. */
static int read_deployments(const struct boot *boot, struct boot_state *ret, struct diag *diag)
{
	static const char *const dirs[] = { "/boot/loader/entries", NULL };
	static const struct bls_source source = { .dirs = dirs, .reader = BLS_SYSTEMD };
	_cleanup_free_ char *staged = NULL;
	struct boot_entry *entry;
	int r = bls_dir_read(boot, &source, ret, diag);

	if (r >= 0)
		r = staged_args(boot->root, &staged);
	if (r == -ENOMEM)
		return r;
	for (size_t i = 0; i < ret->entries.n; i++) {
		entry = &ret->entries.items[i];
		entry->ours = entry->is_default = entry->is_default && !staged;
	}
	ret->entries_known = ret->entries.n > 0;
	if (!staged)
		return 0;
	entry = boot_entries_add(&ret->entries);
	if (!entry)
		return -ENOMEM;
	entry->id = strdup("staged");
	entry->title = strdup("the deployment that is staged");
	entry->source = strdup(STAGED);
	entry->args = TAKE_PTR(staged);
	entry->line = 1;
	entry->ours = entry->is_default = ret->entries_known = true;
	return entry->id && entry->title && entry->source ? 0 : -ENOMEM;
}

/* What files of kargs.d but ours ask for: every quoted text is looked at. */
static int read_image(const struct root *root, bool with_ours, struct boot_state *ret)
{
	_cleanup_strv_ struct strv paths = {};

	if (root_glob(root, KARGS "/*.toml", MAX_TOML, &paths) == -ENOMEM)
		return -ENOMEM;
	ret->configured = CMDLINE_NONE;
	for (size_t i = 0; i < paths.n; i++) {
		_cleanup_free_ char *text = NULL;
		unsigned line = 1;
		int r = root_read(root, paths.items[i], ROOT_MAX_CMDLINE, &text, NULL);

		if (r == -ENOMEM)
			return r;
		if (r < 0 || (!with_ours && streq(paths.items[i], IMAGE)))
			continue;
		for (char *p = text; *p; p++) {
			char *end = *p == '"' || *p == '\'' ? strchr(p + 1, *p) : NULL;
			enum cmdline_request request;

			line += *p == '\n';
			if (*p == '#')
				p += strcspn(p, "\n") - 1;
			if (!end)
				continue;
			*end = '\0';
			r = text_request(p + 1, &request, NULL);
			p = end;
			if (r < 0)
				return r;
			if (request == CMDLINE_NONE)
				continue;
			ret->configured = request;
			ret->configured_line = line;
			free(ret->configured_path);
			ret->configured_path = strdup(paths.items[i]);
			if (!ret->configured_path)
				return -ENOMEM;
		}
	}
	return 0;
}

static int ostree_read(const struct boot *boot, struct boot_state *ret, struct diag *diag)
{
	_cleanup_boot_state_ struct boot_state state = {};
	int r = find_owner(boot->root) == BY_IMAGE ? read_image(boot->root, true, &state)
						   : read_deployments(boot, &state, diag);

	if (r < 0)
		return r;
	*ret = state;
	state = (struct boot_state){};
	return 0;
}

/* --- what we had the tool do --- */

struct kargs {
	struct strv append; /* words that were not there before us */
	struct strv delete; /* words that were */
};

static void kargs_done(struct kargs *kargs)
{
	strv_done(&kargs->append);
	strv_done(&kargs->delete);
}

static int kargs_parse(const char *text, struct kargs *ret)
{
	_cleanup_strv_ struct strv lines = {};

	strv_split(&lines, text ? text : "", "\n");
	for (size_t i = 0; i < lines.n; i++) {
		const char *word = str_skip_prefix(lines.items[i], "append ");

		if (word)
			strv_add(&ret->append, word);
		else if ((word = str_skip_prefix(lines.items[i], "delete ")))
			strv_add(&ret->delete, word);
	}
	return strv_error(&lines) < 0 || strv_error(&ret->append) < 0 ||
			       strv_error(&ret->delete) < 0
		       ? -ENOMEM
		       : 0;
}

/* Words of a that b has not. */
static void add_missing(const struct strv *a, const struct strv *b, struct strv *ret)
{
	for (size_t i = 0; i < a->n; i++)
		if (!strv_contains(b, a->items[i]))
			strv_add_unique(ret, a->items[i]);
}

/* What leads from one state of the file to the other. */
static int kargs_between(const char *from, const char *to, struct kargs *ret)
{
	_cleanup_(kargs_done) struct kargs a = {}, b = {};
	int r = kargs_parse(from, &a);

	if (r >= 0)
		r = kargs_parse(to, &b);
	if (r < 0)
		return r;
	add_missing(&b.append, &a.append, &ret->append);
	add_missing(&a.delete, &b.delete, &ret->append);
	add_missing(&b.delete, &a.delete, &ret->delete);
	add_missing(&a.append, &b.append, &ret->delete);
	return strv_error(&ret->append) < 0 || strv_error(&ret->delete) < 0 ? -ENOMEM : 0;
}

/* The file behind a further change: what comes back to where it was is forgotten. */
static int kargs_after(const char *old, const struct cmdline_changes *changes, char **ret,
		       size_t *ret_size)
{
	_cleanup_(kargs_done) struct kargs before = {}, added = {}, after = {};
	_cleanup_strbuf_ struct strbuf out = {};
	int r = kargs_parse(old, &before);

	if (r < 0)
		return r;
	for (size_t i = 0; i < changes->n; i++) {
		if (changes->items[i].after)
			strv_add(&added.append, changes->items[i].after);
		if (changes->items[i].before)
			strv_add(&added.delete, changes->items[i].before);
	}
	add_missing(&before.append, &added.delete, &after.append);
	add_missing(&added.append, &before.delete, &after.append);
	add_missing(&before.delete, &added.append, &after.delete);
	add_missing(&added.delete, &before.append, &after.delete);
	for (size_t i = 0; i < after.append.n; i++)
		strbuf_addf(&out, "append %s\n", after.append.items[i]);
	for (size_t i = 0; i < after.delete.n; i++)
		strbuf_addf(&out, "delete %s\n", after.delete.items[i]);
	if (strv_error(&after.append) < 0 || strv_error(&after.delete) < 0 ||
	    added.append.failed || added.delete.failed)
		return -ENOMEM;
	return strbuf_take(&out, ret, ret_size);
}

/* --- the commands --- */

/* "ostree admin instutil set-kargs" takes the whole line; ostree= it adds by itself. */
static int add_whole_line(const char *args, const struct kargs *kargs, struct strv *argv)
{
	_cleanup_cmdline_ struct cmdline cmdline = {};
	int r = cmdline_parse(args, strlen(args), CMDLINE_LINE, &cmdline);

	for (size_t i = 0; r >= 0 && i < cmdline.n; i++) {
		_cleanup_free_ char *word =
			str_dup_n(args + cmdline.words[i].offset, cmdline.words[i].size);

		if (!word)
			return -ENOMEM;
		if (!cmdline_name_is(&cmdline, i, "ostree") &&
		    !strv_contains(&kargs->delete, word))
			strv_add(argv, word);
	}
	for (size_t i = 0; i < kargs->append.n; i++)
		strv_add_unique(argv, kargs->append.items[i]);
	return r;
}

static int make_argv(const struct root *root, enum owner owner, const char *args,
		     const struct kargs *kargs, const char *to, struct strv *argv)
{
	_cleanup_(kargs_done) struct kargs wanted = {};
	static const char *const names[][2] = { [BY_RPM_OSTREE] = { "rpm-ostree" },
						[BY_BOOTC] = { "bootc" },
						[BY_OSTREE] = { "ostree" } };
	_cleanup_free_ char *tool = NULL;
	int r = tool_find(root, names[owner], &tool);

	if (r >= 0)
		r = kargs_parse(to, &wanted);
	if (r < 0)
		return r;
	strv_add(argv, tool);
	switch (owner) {
	case BY_RPM_OSTREE:
		strv_add(argv, "kargs");
		for (size_t i = 0; i < kargs->append.n; i++)
			strv_addf(argv, "--append-if-missing=%s", kargs->append.items[i]);
		for (size_t i = 0; i < kargs->delete.n; i++)
			strv_addf(argv, "--delete-if-present=%s", kargs->delete.items[i]);
		break;
	case BY_BOOTC:
		/* by source: all that is ours each time, and nothing takes it away */
		strv_split(argv, "loader-entries set-options-for-source --source memcg-policy",
			   " ");
		if (wanted.append.n > 0)
			strv_add(argv, "--options");
		for (size_t i = 0; i < wanted.append.n; i++)
			strv_add(argv, wanted.append.items[i]);
		break;
	default:
		strv_split(argv, "admin instutil set-kargs", " ");
		r = add_whole_line(args, kargs, argv);
		break;
	}
	return r < 0 ? r : strv_error(argv);
}

static const char *default_args(const struct boot_state *state)
{
	for (size_t i = 0; i < state->entries.n; i++)
		if (state->entries.items[i].ours)
			return state->entries.items[i].args;
	return NULL;
}

/* The command that an edit of our file stands for. */
static int argv_of_edit(const struct boot *boot, const struct boot_state *state,
			const struct edit *edit, struct strv *argv)
{
	_cleanup_(kargs_done) struct kargs kargs = {};
	const char *args = default_args(state);
	int r = kargs_between(edit->old.data, edit->new.data, &kargs);

	return r < 0 ? r
		     : make_argv(boot->root, find_owner(boot->root), args ? args : "", &kargs,
				 edit->new.data, argv);
}

static int ostree_plan_refresh(const struct boot *boot, const struct boot_state *state,
			       const struct boot_words *words _unused_, bool edited _unused_,
			       struct changeset *cs)
{
	const struct edit *edit = changeset_find(cs, OURS);
	_cleanup_strv_ struct strv argv = {};
	int r;

	if (!edit || find_owner(boot->root) == BY_NOBODY)
		return 0;
	r = argv_of_edit(boot, state, edit, &argv);
	return r < 0 ? r : tool_plan(boot, cs, (const char *const *)argv.items);
}

static int ostree_refresh(const struct boot *boot, const struct boot_words *words _unused_,
			  struct diag *diag)
{
	const struct edit *edit = changeset_find(boot->changes, OURS);
	_cleanup_boot_state_ struct boot_state state = {};
	_cleanup_strv_ struct strv argv = {};
	int r;

	if (!edit)
		return 0;
	r = ostree_read(boot, &state, diag);
	if (r >= 0)
		r = argv_of_edit(boot, &state, edit, &argv);
	return r < 0 ? r : tool_run(boot, (const char *const *)argv.items, diag);
}

/* --- planning --- */

static int plan_image(const struct boot *boot, const struct boot_words *words,
		      struct changeset *cs, struct diag *diag)
{
	static const char off[] = "# Written by memcg-policy, which replaces this file whole.\n"
				  "kargs = [\"cgroup_disable=memory\"]\n";
	_cleanup_boot_state_ struct boot_state others = {};
	bool write = words->want == BOOT_WANT_OFF && !(words->flags & CMDLINE_NO_DISABLE);
	int r = read_image(boot->root, false, &others);

	if (r < 0)
		return r;
	if (words->want == BOOT_WANT_ON && others.configured == CMDLINE_OFF) {
		diag_error(diag,
			   &(struct diag_where){ .path = others.configured_path,
						 .line = others.configured_line,
						 .hint = "take it out there" },
			   "the image switches memcg off here, and no file takes that back");
		return -ENOTSUP;
	}
	return changeset_edit(cs, boot->root, IMAGE, MAX_OURS, write ? off : NULL,
			      write ? sizeof(off) - 1 : 0, 0644, 0, diag);
}

static int refuse_offline(const struct boot *boot, const struct boot_words *words,
			  struct diag *diag)
{
	bool live = root_mode(boot->root) == ROOT_LIVE, off = words->want == BOOT_WANT_OFF;

	diag_error(diag,
		   &(struct diag_where){
			   .hint = off ? "in the running system: rpm-ostree kargs "
					 "--append-if-missing=cgroup_disable=memory"
				       : "in the running system: rpm-ostree kargs "
					 "--delete-if-present=cgroup_disable=memory" },
		   "kernel arguments are part of a deployment here, and %s",
		   live ? "no rpm-ostree, bootc (with set-options-for-source) or ostree is "
			  "installed to change them"
			: "are changed by the tools of the system while it runs");
	return -ENOTSUP;
}

static int ostree_plan(const struct boot *boot, const struct boot_state *state,
		       const struct boot_words *words, struct changeset *cs, struct diag *diag)
{
	enum memcg_state want = words->want == BOOT_WANT_ON ? MEMCG_ON : MEMCG_OFF;
	_cleanup_cmdline_changes_ struct cmdline_changes changes = {};
	_cleanup_free_ char *edited = NULL, *text = NULL;
	enum owner owner = find_owner(boot->root);
	_cleanup_content_ struct content now = {};
	const char *args = default_args(state);
	size_t size;
	int r;

	if (words->want == BOOT_WANT_NOTHING)
		return 0;
	if (owner == BY_IMAGE)
		return plan_image(boot, words, cs, diag);
	if (args && boot_n_differing(state, words->want) == 0)
		return 0;
	if (owner == BY_NOBODY || !boot->refresh || !args)
		return refuse_offline(boot, words, diag);
	r = content_read(boot->root, OURS, MAX_OURS, &now);
	if (r >= 0)
		r = cmdline_edit(args, strlen(args), CMDLINE_LINE, want, words->flags, &edited,
				 NULL, &changes);
	if (r > 0)
		r = kargs_after(now.data, &changes, &text, &size);
	if (r < 0 || !text)
		return r;
	for (size_t i = 0; owner == BY_BOOTC && i < changes.n; i++)
		if (changes.items[i].before &&
		    !(now.data && strstr(now.data, changes.items[i].before))) {
			diag_error(diag, &(struct diag_where){ .hint = KARGS " of the image" },
				   "%s is not ours, and bootc takes back only what it was told "
				   "to add",
				   changes.items[i].before);
			return -ENOTSUP;
		}
	r = changeset_edit(cs, boot->root, OURS, MAX_OURS, size > 0 ? text : NULL, size, 0600,
			   0, diag);
	return r < 0 ? r : ostree_plan_refresh(boot, state, words, cs->n > 0, cs);
}

static int ostree_take_back(const struct boot *boot _unused_, const char *path _unused_,
			    const struct content *before,
			    const struct content *written _unused_,
			    const struct content *now _unused_, struct content *ret,
			    struct diag *diag _unused_)
{
	/* both files are ours alone */
	if (!before->data)
		return 0;
	ret->data = str_dup_n(before->data, before->size);
	ret->size = before->size;
	return ret->data ? 0 : -ENOMEM;
}

const struct boot_backend boot_ostree = {
	.name = "ostree",
	.title = "ostree deployments",
	.sign = "a repository of ostree, or an image for bootc",
	.tried = BOOT_TRIED_TOOLS,
	.remounts = true,
	.probe = ostree_probe,
	.read = ostree_read,
	.plan = ostree_plan,
	.plan_refresh = ostree_plan_refresh,
	.refresh = ostree_refresh,
	.verify = text_verify,
	.take_back = ostree_take_back,
};
