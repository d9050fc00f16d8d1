/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Disk keys sealed to TPM registers that the change would move: the next boot asks for another.
 */

#include "boot/refuse.h"

#include "base/diag.h"
#include "base/json.h"
#include "base/root.h"
#include "base/str.h"
#include "boot/luks.h"
#include "boot/tpm.h"
#include "facts/running.h"

#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define PCRLOCK "/var/lib/systemd/pcrlock.json"

struct search {
	const struct refuse_input *in;
	struct diag *diag;
	unsigned moved;
	struct strv seen; /* devices looked at, by name and by number */
	bool has_policy;  /* of systemd-pcrlock, and what it covers is known */
	bool tpm;	  /* there is one, as far as can be seen */
};

static int refuse(const struct search *s, const char *path, const char *hint, const char *fmt,
		  ...) _printf_(4, 5);

static int refuse(const struct search *s, const char *path, const char *hint, const char *fmt,
		  ...)
{
	va_list ap;

	va_start(ap, fmt);
	diag_addv(s->diag, DIAG_ERROR, &(struct diag_where){ .path = path, .hint = hint }, fmt,
		  ap);
	va_end(ap);
	return 0;
}

static int judge_token(const struct search *s, const char *device, const char *json)
{
	_cleanup_free_ char *hint = NULL;
	struct tpm_binding b;
	char sealed[64], moved[64];
	int r = tpm_read_token(json, &b);

	if (r >= 0 && b.pcrlock && !s->has_policy)
		b.unknown = true;
	if (r < 0 || !b.bound || (!b.unknown && !(b.pcrs & s->moved)))
		return r;
	tpm_format_pcrs(b.pcrs, sealed);
	tpm_format_pcrs(s->moved, moved);
	r = streq(b.kind, "clevis")
		    ? str_printf(&hint,
				 "make sure a passphrase opens it; then --force, reboot, and: "
				 "clevis luks regen -d %s -s %s",
				 device, b.slot)
		    : str_printf(&hint,
				 "systemd-cryptenroll --recovery-key %s first; then --force, "
				 "reboot, and enroll the TPM again",
				 device);
	if (r < 0)
		return r;
	if (b.unknown)
		return refuse(s, device, hint,
			      "key slot %s (%s) is bound to the TPM in a way that cannot be "
			      "checked, and this change moves PCR %s",
			      b.slot, b.kind, moved);
	return refuse(s, device, hint,
		      "key slot %s (%s) is sealed to PCR %s, and this change moves PCR %s",
		      b.slot, b.kind, sealed, moved);
}

/* The same device has many names. */
static bool is_seen(struct search *s, const char *device)
{
	char number[64];
	struct stat st;

	if (!strv_add_unique(&s->seen, device))
		return true;
	if (stat(device, &st) < 0 || !S_ISBLK(st.st_mode))
		return false;
	(void)snprintf(number, sizeof(number), "%u:%u", major(st.st_rdev),
		       minor(st.st_rdev)); /* fits */
	return !strv_add_unique(&s->seen, number);
}

/* doubt: something else says that a TPM has to do with it. */
static int check_device(struct search *s, const char *device, bool doubt)
{
	_cleanup_strv_ struct strv tokens = {};
	_cleanup_free_ char *hint = NULL;
	int r;

	if (is_seen(s, device))
		return strv_error(&s->seen);
	r = luks_tokens(device, &tokens);
	if (r == -ENOMEM || str_printf(&hint, "look with: cryptsetup luksDump %s", device) < 0)
		return -ENOMEM;
	/* without the library nothing is known of any key */
	if (r == -EOPNOTSUPP)
		doubt = doubt || s->tpm;
	if (r < 0)
		return doubt ? refuse(s, device, hint,
				      "its key may be bound to a TPM, and its header cannot be "
				      "read: %s",
				      r == -EPROTONOSUPPORT ? "LUKS1 has no room for tokens"
				      : r == -EOPNOTSUPP    ? "libcryptsetup is not installed"
				      : r == -EINVAL	    ? "not a LUKS header"
				      : r == -ENOENT || r == -ENOTBLK
					      ? "there is no such device now"
					      : strerror(-r))
			     : 0;
	for (size_t i = 0; r >= 0 && i < tokens.n; i++)
		r = judge_token(s, device, tokens.items[i]);
	return r;
}

/* Whether an initrd of this root may unlock by clevis. */
static bool has_clevis(const struct root *root)
{
	return root_exists(root, "/usr/bin/clevis-luks-unlock") ||
	       root_exists(root, "/usr/share/initramfs-tools/hooks/clevis") ||
	       root_exists(root, "/usr/lib/dracut/modules.d/60clevis");
}

/* "UUID=..." as a path; other sources are paths already. */
static int source_path(const char *source, char **ret)
{
	static const char *const kinds[][2] = { { "UUID=", "by-uuid" },
						{ "PARTUUID=", "by-partuuid" },
						{ "LABEL=", "by-label" },
						{ "PARTLABEL=", "by-partlabel" } };

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		const char *value = str_skip_prefix(source, kinds[i][0]);

		if (value)
			return str_printf(ret, "/dev/disk/%s/%s", kinds[i][1], value);
	}
	*ret = strdup(source);
	return *ret ? 0 : -ENOMEM;
}

/* One encrypted device and what makes one doubt its key, looked at or, in another system's
 * root, where its devices are not to be seen, only named. */
static int check_source(struct search *s, const char *where, const char *name,
			const char *source, bool tpm2_option)
{
	bool doubt = tpm2_option || has_clevis(s->in->root);
	_cleanup_free_ char *path = NULL;
	int r = source_path(source, &path);

	if (r < 0)
		return r;
	if (root_mode(s->in->root) == ROOT_LIVE)
		return check_device(s, path, doubt);
	if (!doubt)
		return 0;
	return refuse(s, where,
		      "make sure that a passphrase or recovery key opens it, then --force",
		      "%s may be bound to a TPM (%s), which cannot be checked from here", name,
		      tpm2_option ? "tpm2- options" : "clevis is installed");
}

/* crypttab(5): name, source, key, options. */
static int check_crypttab_line(struct search *s, const char *line)
{
	_cleanup_strv_ struct strv fields = {};
	int r;

	strv_split(&fields, line, " \t");
	r = strv_error(&fields);
	if (r < 0 || fields.n < 2 || *fields.items[0] == '#')
		return r;
	return check_source(s, "/etc/crypttab", fields.items[0], fields.items[1],
			    fields.n > 3 && strstr(fields.items[3], "tpm2-"));
}

static int check_crypttab(struct search *s)
{
	_cleanup_free_ char *text = NULL;
	_cleanup_strv_ struct strv lines = {};
	int r = root_read(s->in->root, "/etc/crypttab", ROOT_MAX_UNIT, &text, NULL);

	if (r == -ENOENT || r == -ENOMEM)
		return r == -ENOMEM ? r : 0;
	if (r < 0)
		return refuse(s, "/etc/crypttab", NULL, "cannot be read: %s", strerror(-r));
	strv_split(&lines, text, "\n\r");
	r = strv_error(&lines);
	for (size_t i = 0; r >= 0 && i < lines.n; i++)
		r = check_crypttab_line(s, lines.items[i]);
	return r;
}

/* "luks-UUID", "UUID=NAME" and plain UUIDs as a source. */
static int add_uuid(struct strv *sources, const char *value)
{
	const char *rest = str_skip_prefix(value, "luks-");

	value = rest ? rest : value;
	strv_addf(sources, "UUID=%.*s", (int)strcspn(value, "="), value);
	return strv_error(sources);
}

/*
 * Devices that the command line has the initrd unlock, which crypttab need not know:
 * systemd-cryptsetup-generator(8), dracut.cmdline(7), and cryptdevice= of Arch's mkinitcpio.
 */
static int check_line(struct search *s, const char *args, const char *where)
{
	static const char *const uuids[] = { "luks.uuid=", "luks.name=" };
	_cleanup_strv_ struct strv words = {}, sources = {};
	bool tpm2 = false;
	int r;

	strv_split(&words, args, " \t");
	r = strv_error(&words);
	for (size_t i = 0; i < words.n && r >= 0; i++) {
		const char *word = words.items[i], *rd = str_skip_prefix(word, "rd."), *value;

		word = rd ? rd : word;
		if ((value = str_skip_prefix(word, "luks.options=")))
			tpm2 = tpm2 || strstr(value, "tpm2-");
		for (size_t k = 0; k < ARRAY_SIZE(uuids) && r >= 0; k++)
			if ((value = str_skip_prefix(word, uuids[k])))
				r = add_uuid(&sources, value);
		if ((value = str_skip_prefix(word, "cryptdevice=")))
			strv_add_n(&sources, value, strcspn(value, ":"));
	}
	for (size_t i = 0; i < sources.n && r >= 0; i++)
		r = check_source(s, where, sources.items[i], sources.items[i], tpm2);
	return r < 0 ? r : strv_error(&sources);
}

static int check_lines(struct search *s)
{
	const struct boot_entries *entries = &s->in->state->entries;
	int r = s->in->running->cmdline_text
			? check_line(s, s->in->running->cmdline_text, "/proc/cmdline")
			: 0;

	for (size_t i = 0; i < entries->n && r >= 0; i++)
		if (entries->items[i].args && !entries->items[i].foreign)
			r = check_line(s, entries->items[i].args, entries->items[i].source);
	return r;
}

/* The devices below what is unlocked now. */
static int check_mapped(struct search *s)
{
	_cleanup_strv_ struct strv uuids = {};
	int r = root_glob(s->in->root, "/sys/block/dm-*/dm/uuid", 4096, &uuids);

	if (r == -ENOMEM)
		return r;
	for (size_t i = 0; i < uuids.n; i++) {
		_cleanup_free_ char *uuid = NULL, *slaves = NULL;
		_cleanup_strv_ struct strv names = {};

		if (root_read(s->in->root, uuids.items[i], 4096, &uuid, NULL) < 0 ||
		    !str_skip_prefix(uuid, "CRYPT-LUKS"))
			continue;
		r = str_printf(&slaves, "%.*s/slaves",
			       (int)(strlen(uuids.items[i]) - strlen("/dm/uuid")),
			       uuids.items[i]);
		if (r < 0)
			return r;
		if (root_list(s->in->root, slaves, &names) == -ENOMEM)
			return -ENOMEM;
		for (size_t k = 0; k < names.n; k++) {
			_cleanup_free_ char *device = NULL;

			r = str_printf(&device, "/dev/%s", names.items[k]);
			if (r >= 0)
				r = check_device(s, device, has_clevis(s->in->root));
			if (r < 0)
				return r;
		}
	}
	return 0;
}

/* systemd-pcrlock(8): a policy of its own over what it predicts. */
static int check_pcrlock(struct search *s)
{
	_cleanup_free_ char *text = NULL;
	_cleanup_json_ struct json *top = NULL;
	const struct json *values;
	unsigned pcrs = 0;
	uint64_t pcr;
	size_t size, offset;
	char both[64];
	int r = root_read(s->in->root, PCRLOCK, ROOT_MAX_JSON, &text, &size);

	if (r == -ENOENT || r == -ENOMEM)
		return r == -ENOMEM ? r : 0;
	if (r >= 0)
		r = json_parse(text, size, &top, &offset);
	if (r == -ENOMEM)
		return r;
	values = json_get(top, "pcrValues");
	if (r < 0 || !json_is_array(values))
		return refuse(s, PCRLOCK, "systemd-pcrlock make-policy",
			      "there is a TPM policy that cannot be read");
	for (size_t i = 0; i < json_length(values); i++)
		if (json_as_u64(json_get(json_at(values, i), "pcr"), &pcr) >= 0 && pcr < 24)
			pcrs |= 1U << pcr;
	s->has_policy = true;
	if (!(pcrs & s->moved))
		return 0;
	tpm_format_pcrs(pcrs & s->moved, both);
	return refuse(
		s, PCRLOCK,
		"--force, then before the reboot: systemd-pcrlock lock-kernel-cmdline FILE, "
		"systemd-pcrlock make-policy",
		"the TPM policy of systemd-pcrlock covers PCR %s, which this change moves",
		both);
}

int refuse_tpm(const struct refuse_input *in, struct diag *diag)
{
	struct search s = {
		.in = in,
		.diag = diag,
		.moved = tpm_moved_pcrs(in->boot->backend->name),
	};
	int r;

	s.tpm = root_exists(in->root, "/sys/class/tpm/tpm0");
	r = check_pcrlock(&s); /* first: tokens may refer to it */
	if (r >= 0)
		r = check_crypttab(&s);
	if (r >= 0)
		r = check_lines(&s);
	if (r >= 0 && root_mode(in->root) == ROOT_LIVE)
		r = check_mapped(&s);
	strv_done(&s.seen);
	return r;
}
