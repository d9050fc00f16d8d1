/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot/boot.h"

#include "base/diag.h"

/* In the order they are asked: the most specific first, the one that always answers last. */
static const struct boot_backend *const backends[] = {
	/* clang-format off */
	/* the whole system is made of something else than its files */
	&boot_ostree,
	&boot_nixos,
	/* boards */
	&boot_raspi_firmware,
	&boot_rpi,
	&boot_armbian,
	&boot_zipl,
	/* distributions with a tool of their own */
	&boot_sdbootutil,
	&boot_transactional,
	&boot_proxmox,
	&boot_kernelstub,
	&boot_limine,
	&boot_zfsbootmenu,
	/* EFI */
	&boot_efistub,
	&boot_systemd,
	&boot_uki,
	/* GRUB */
	&boot_bls,
	&boot_grub_dropin,
	&boot_grub_default,
	/* U-Boot, syslinux, and what is left */
	&boot_u_boot_menu,
	&boot_flash_kernel,
	&boot_update_extlinux,
	&boot_extlinux,
	&boot_refind,
	&boot_petitboot,
	&boot_none,
	/* clang-format on */
};

const struct boot_backend *boot_backend_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(backends); i++)
		if (streq(backends[i]->name, name))
			return backends[i];
	return NULL;
}

static void refuse_name(const char *name, struct diag *diag)
{
	_cleanup_strbuf_ struct strbuf hint = {};

	strbuf_adds(&hint, "there are");
	for (size_t i = 0; i < ARRAY_SIZE(backends); i++)
		strbuf_addf(&hint, "%s %s", i > 0 ? "," : "", backends[i]->name);
	diag_error(diag, &(struct diag_where){ .hint = hint.data },
		   "there is no boot backend \"%s\"", name);
}

static int probe(const struct boot_backend *backend, const struct root *root, struct diag *diag)
{
	if (backend->probe)
		return backend->probe(root, diag);
	for (const char *const *path = backend->found_by; *path; path++)
		if (root_exists(root, *path))
			return 1;
	return 0;
}

int boot_probe(const struct root *root, struct kernels *kernels, const char *name,
	       struct boot *ret, struct diag *diag)
{
	struct boot boot = {
		.root = root,
		.kernels = kernels,
		.refresh = root_mode(root) == ROOT_LIVE,
	};

	if (name) {
		boot.backend = boot_backend_find(name);
		boot.forced = true;
		if (!boot.backend) {
			refuse_name(name, diag);
			return -EINVAL;
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(backends); i++) {
		int r;

		/* "none" is what is left, not something present beside others */
		if (backends[i] == &boot_none && boot.backend)
			break;
		if (backends[i] == boot.backend)
			continue;
		r = probe(backends[i], root, diag);
		if (r < 0)
			return r;
		if (r == 0)
			continue;
		if (!boot.backend)
			boot.backend = backends[i];
		else if (boot.n_also < BOOT_MAX_ALSO)
			boot.also[boot.n_also++] = backends[i];
	}
	*ret = boot;
	return 0;
}

/* --- entries --- */

static void entry_done(struct boot_entry *entry)
{
	free(entry->id);
	free(entry->title);
	free(entry->kernel);
	free(entry->image);
	free(entry->args);
	free(entry->source);
	free(entry->token);
}

struct boot_entry *boot_entries_add(struct boot_entries *entries)
{
	if (!GROW(entries->items, entries->n, entries->alloc))
		return NULL;
	entries->items[entries->n] = (struct boot_entry){};
	return &entries->items[entries->n++];
}

void boot_entries_done(struct boot_entries *entries)
{
	for (size_t i = 0; i < entries->n; i++)
		entry_done(&entries->items[i]);
	free(entries->items);
	*entries = (struct boot_entries){};
}

void boot_state_done(struct boot_state *state)
{
	free(state->configured_path);
	boot_entries_done(&state->entries);
	*state = (struct boot_state){};
}

/* The kernel an entry boots, or NULL: by its file, also where /boot is a file system of its own
 * and the loader's names start below it. */
static struct kernel *find_kernel(const struct boot *boot, const struct boot_entry *entry)
{
	_cleanup_free_ char *below = NULL;
	struct kernel *kernel;

	if (entry->foreign || !entry->image || *entry->image != '/')
		return NULL;
	kernel = kernels_find_image(boot->kernels, boot->root, entry->image);
	/* an image that holds more than a kernel: by what the entry says */
	if (!kernel && entry->kernel)
		kernel = kernels_find(boot->kernels, entry->kernel);
	if (kernel || str_printf(&below, "/boot%s", entry->image) < 0)
		return kernel;
	return kernels_find_image(boot->kernels, boot->root, below);
}

/* "/boot/vmlinuz-6.1.0-18-amd64" -> "6.1.0-18-amd64"; NULL when the name does not say. */
static const char *release_in_name(const char *image)
{
	static const char *const prefixes[] = { "vmlinuz-", "vmlinux-", "kernel-", "Image-" };
	const char *slash = image ? strrchr(image, '/') : NULL,
		   *name = slash ? slash + 1 : image;

	for (size_t i = 0; name && i < ARRAY_SIZE(prefixes); i++) {
		const char *rest = str_skip_prefix(name, prefixes[i]);

		if (rest && *rest >= '0' && *rest <= '9')
			return rest;
	}
	return NULL;
}

/* Whether a word of the kernel's part asks for on: then it matters how a kernel treats it. */
static bool has_enable(const struct cmdline *cmdline)
{
	for (size_t i = 0; i < cmdline->n && !cmdline->words[i].for_init; i++)
		if (cmdline_word_request(cmdline, i) == CMDLINE_ON)
			return true;
	return false;
}

static int predict(const struct boot *boot, struct kernel *kernel,
		   const struct cmdline *cmdline, enum memcg_state *ret)
{
	int r;

	if (!kernel) {
		*ret = cmdline_predict(cmdline, CMDLINE_RULE_UNKNOWN, MEMCG_UNKNOWN,
				       ANSWER_UNKNOWN);
		return 0;
	}
	r = kernel_predict(kernel, cmdline, ret);
	if (r < 0 || *ret != MEMCG_UNKNOWN || !has_enable(cmdline) ||
	    kernel->honours_enable != ANSWER_NOT_LOOKED)
		return r;
	/* dear, so only where such a word leaves it open */
	r = kernel_ask_enable(boot->root, kernel, NULL);
	return r < 0 ? r : kernel_predict(kernel, cmdline, ret);
}

int boot_entry_judge(const struct boot *boot, struct boot_entry *entry)
{
	_cleanup_cmdline_ struct cmdline cmdline = {};
	struct kernel *kernel = find_kernel(boot, entry);
	const char *release =
		kernel && kernel->release ? kernel->release : release_in_name(entry->image);
	const char *args = entry->args ? entry->args : "";
	ssize_t word;
	int r = cmdline_parse(args, strlen(args), CMDLINE_LINE, &cmdline);

	if (r < 0)
		return r;
	if (release && !entry->kernel) {
		entry->kernel = strdup(release);
		if (!entry->kernel)
			return -ENOMEM;
	}
	entry->request = cmdline_request(&cmdline, &word);
	if (word >= 0 && !entry->token) {
		entry->token =
			str_dup_n(args + cmdline.words[word].offset, cmdline.words[word].size);
		if (!entry->token)
			return -ENOMEM;
	}
	return predict(boot, kernel, &cmdline, &entry->if_booted);
}

int boot_read(const struct boot *boot, struct boot_state *ret, struct diag *diag)
{
	_cleanup_boot_state_ struct boot_state state = {};
	int r = boot->backend->read(boot, &state, diag);

	for (size_t i = 0; r >= 0 && i < state.entries.n; i++)
		r = boot_entry_judge(boot, &state.entries.items[i]);
	if (r < 0)
		return r;
	*ret = state;
	state = (struct boot_state){};
	return 0;
}

bool boot_entry_is(const struct boot_entry *entry, enum boot_want want)
{
	/* a kernel without memcg is off, and cannot be turned on by words */
	if (want == BOOT_WANT_NOTHING || entry->if_booted == MEMCG_UNAVAILABLE)
		return true;
	if (entry->if_booted == MEMCG_ON || entry->if_booted == MEMCG_OFF)
		return (entry->if_booted == MEMCG_ON) == (want == BOOT_WANT_ON);
	return want == BOOT_WANT_OFF ? entry->request == CMDLINE_OFF
				     : entry->request != CMDLINE_OFF;
}

const struct boot_entry *boot_lasting_entry(const struct boot_entries *entries, bool once)
{
	for (size_t i = 0; i < entries->n; i++) {
		const struct boot_entry *entry = &entries->items[i];

		if (once ? entry->is_lasting : entry->is_default)
			return entry;
	}
	return NULL;
}

size_t boot_n_differing(const struct boot_state *state, enum boot_want want)
{
	size_t n = 0;

	for (size_t i = 0; i < state->entries.n; i++)
		if (state->entries.items[i].ours &&
		    !boot_entry_is(&state->entries.items[i], want))
			n++;
	return n;
}

/* --- the words for a decision --- */

int boot_words(const struct boot *boot, enum boot_want want, struct boot_words *ret,
	       struct diag *diag)
{
	struct boot_words words = { .want = want };
	size_t n_with = 0, n_off = 0, n_enable = 0;

	for (size_t i = 0; i < boot->kernels->n && want != BOOT_WANT_NOTHING; i++) {
		struct kernel *kernel = &boot->kernels->items[i];

		if (kernel->memcg_built == ANSWER_NO)
			continue;
		n_with++;
		/* a kernel that is on without a word needs none; only others are asked */
		if (kernel->state_default != MEMCG_ON &&
		    kernel->honours_enable == ANSWER_NOT_LOOKED) {
			int r = kernel_ask_enable(boot->root, kernel, NULL);

			if (r < 0)
				return r;
		}
		n_off += kernel->state_default == MEMCG_OFF;
		n_enable += kernel->state_default == MEMCG_OFF &&
			    kernel->honours_enable == ANSWER_YES;
	}
	if (want == BOOT_WANT_ON && boot->kernels->n > 0 && n_with == 0) {
		diag_error(diag, &(struct diag_where){ .path = boot->kernels->items[0].config },
			   "no kernel of this system is built with memcg (CONFIG_MEMCG): it "
			   "cannot be turned on");
		return -ENOTSUP;
	}
	if (want == BOOT_WANT_ON && n_enable > 0)
		words.flags |= CMDLINE_WRITE_ENABLE;
	if (want == BOOT_WANT_OFF && n_with > 0 && n_off == n_with)
		words.flags |= CMDLINE_NO_DISABLE;
	*ret = words;
	return 0;
}
