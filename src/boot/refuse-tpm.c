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

#include <stdio.h>

#define PCRLOCK "/var/lib/systemd/pcrlock.json"

struct search {
	const struct refuse_input *in;
	struct diag *diag;
	unsigned moved;
	struct strv seen; /* devices looked at */
};

static int refuse(const struct search *s, const char *path, const char *hint, const char *fmt,
		  ...) _printf_(4, 5);

static int refuse(const struct search *s, const char *path, const char *hint, const char *fmt,
		  ...)
{
	_cleanup_free_ char *text = NULL;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0)
		return -ENOMEM;
	diag_error(s->diag, &(struct diag_where){ .path = path, .hint = hint }, "%s", text);
	return 0;
}

static int judge_token(const struct search *s, const char *device, const char *json)
{
	_cleanup_free_ char *hint = NULL;
	struct tpm_binding b;
	char sealed[64], moved[64];
	int r = tpm_read_token(json, &b);

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

/* doubt: something else says that a TPM has to do with it. */
static int check_device(struct search *s, const char *device, bool doubt)
{
	_cleanup_strv_ struct strv tokens = {};
	int r;

	if (!strv_add_unique(&s->seen, device))
		return strv_error(&s->seen);
	r = luks_tokens(device, &tokens);
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		return doubt ? refuse(s, device, "look with: cryptsetup luksDump",
				      "its key may be bound to a TPM, and its header cannot be "
				      "read: %s",
				      r == -ENOTSUP	 ? "LUKS1"
				      : r == -EOPNOTSUPP ? "libcryptsetup is missing"
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

/* crypttab(5): name, source, key, options. */
static int check_crypttab_line(struct search *s, const char *line)
{
	bool live = root_mode(s->in->root) == ROOT_LIVE, tpm, doubt;
	_cleanup_strv_ struct strv fields = {};
	_cleanup_free_ char *path = NULL;
	int r;

	strv_split(&fields, line, " \t");
	r = strv_error(&fields);
	if (r < 0 || fields.n < 2 || *fields.items[0] == '#')
		return r;
	tpm = fields.n > 3 && strstr(fields.items[3], "tpm2-");
	doubt = tpm || has_clevis(s->in->root);
	r = source_path(fields.items[1], &path);
	if (r < 0)
		return r;
	if (live)
		return check_device(s, path, doubt);
	if (!doubt)
		return 0;
	return refuse(s, "/etc/crypttab",
		      "make sure that a passphrase or recovery key opens it, then --force",
		      "%s may be bound to a TPM (%s), which cannot be checked from here",
		      fields.items[0], tpm ? "tpm2- options" : "clevis is installed");
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
static int check_pcrlock(const struct search *s)
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

	r = check_crypttab(&s);
	if (r >= 0 && root_mode(in->root) == ROOT_LIVE)
		r = check_mapped(&s);
	if (r >= 0)
		r = check_pcrlock(&s);
	strv_done(&s.seen);
	return r;
}
