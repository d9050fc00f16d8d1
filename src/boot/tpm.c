/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot/tpm.h"

#include "base/json.h"
#include "base/str.h"

#include <stdio.h>

#define PCR(n) (1U << (n))

enum { N_PCRS = 24 };

/* the tangled web of "sss" pins in "sss" pins ends here */
enum { MAX_NESTING = 4 };

unsigned tpm_moved_pcrs(const char *backend)
{
	/* UAPI.7 and systemd-stub(7): GRUB measures each command and the command line into 8
	 * and the files it reads into 9; systemd-boot into 12, and the kernel's stub into 9;
	 * the line in a unified kernel image is part of 4 and 11 */
	static const struct {
		const char *backend;
		unsigned pcrs;
	} table[] = {
		{ "grub-dropin", PCR(8) | PCR(9) },
		{ "grub-default", PCR(8) | PCR(9) },
		{ "systemd-boot", PCR(9) | PCR(12) },
		{ "uki", PCR(4) | PCR(11) | PCR(12) },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (streq(table[i].backend, backend))
			return table[i].pcrs;
	/* BLS entries are GRUB's or systemd-boot's, and of others too little is known */
	return PCR(4) | PCR(8) | PCR(9) | PCR(11) | PCR(12);
}

void tpm_format_pcrs(unsigned pcrs, char ret[static 64])
{
	size_t n = 0;

	*ret = '\0';
	for (unsigned i = 0; i < N_PCRS; i++)
		if (pcrs & PCR(i))
			n += (size_t)snprintf(
				ret + n, 64 - n, "%s%u", n > 0 ? "+" : "",
				i); /* 24 of at most 3 bytes fit but for the last */
}

static void add_pcr(struct tpm_binding *b, uint64_t pcr)
{
	if (pcr < N_PCRS)
		b->pcrs |= PCR(pcr);
	else
		b->unknown = true;
}

/* [7,8] or "7,8"; anything else cannot be told. */
static int add_pcrs(struct tpm_binding *b, const struct json *value)
{
	const char *text = json_as_string(value);
	_cleanup_strv_ struct strv words = {};
	uint64_t pcr;
	int r;

	for (size_t i = 0; json_is_array(value) && i < json_length(value); i++)
		if (json_as_u64(json_at(value, i), &pcr) >= 0)
			add_pcr(b, pcr);
		else
			b->unknown = true;
	if (!text) {
		if (!json_is_array(value))
			b->unknown = true;
		return 0;
	}
	strv_split(&words, text, ", ");
	r = strv_error(&words);
	for (size_t i = 0; i < words.n; i++)
		if (str_parse_u64(words.items[i], &pcr) >= 0)
			add_pcr(b, pcr);
		else
			b->unknown = true;
	return r;
}

/* systemd-cryptenroll(1), src/cryptsetup/cryptsetup-tokens of systemd. */
static int read_systemd(const struct json *token, struct tpm_binding *b)
{
	bool pcrlock;
	int r = 0;

	b->bound = true;
	if (json_has(token, "tpm2-pcrs"))
		r = add_pcrs(b, json_get(token, "tpm2-pcrs"));
	else
		b->unknown = true;
	/* signed for: it holds only if what is booted next brings a signature that fits */
	if (r >= 0 && json_has(token, "tpm2_pubkey_pcrs"))
		r = add_pcrs(b, json_get(token, "tpm2_pubkey_pcrs"));
	/* the policy is elsewhere, and is looked at there */
	b->pcrlock = json_as_bool(json_get(token, "tpm2_pcrlock"), &pcrlock) >= 0 && pcrlock;
	return r;
}

static int base64url_decode(const char *s, size_t size, struct strbuf *ret)
{
	static const char alphabet[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	uint32_t bits = 0;
	unsigned n = 0;

	for (size_t i = 0; i < size && s[i] != '='; i++) {
		const char *at = s[i] ? strchr(alphabet, s[i]) : NULL;

		if (!at)
			return -EINVAL;
		bits = bits << 6 | (uint32_t)(at - alphabet);
		n += 6;
		if (n >= 8) {
			n -= 8;
			strbuf_addc(ret, (char)(bits >> n & 0xff));
		}
	}
	return ret->failed ? -ENOMEM : 0;
}

static int read_jwe(const char *protected, size_t size, unsigned nesting,
		    struct tpm_binding *b);

/* "t" of the shares open it: bound when those without a TPM are fewer. */
static int read_shares(const struct json *sss, unsigned nesting, struct tpm_binding *b)
{
	const struct json *shares = json_get(sss, "jwe");
	uint64_t threshold, others = 0;

	if (json_as_u64(json_get(sss, "t"), &threshold) < 0) {
		b->bound = b->unknown = true;
		return 0;
	}
	for (size_t i = 0; i < json_length(shares); i++) {
		const char *share = json_as_string(json_at(shares, i));
		struct tpm_binding one = {};
		int r = share ? read_jwe(share, strcspn(share, "."), nesting + 1, &one)
			      : -EINVAL;

		if (r == -ENOMEM)
			return r;
		if (r < 0)
			b->unknown = true;
		others += r >= 0 && !one.bound;
		b->bound = b->bound || one.bound || r < 0;
		b->pcrs |= one.pcrs;
		b->unknown = b->unknown || one.unknown;
	}
	if (others >= threshold)
		*b = (struct tpm_binding){ .kind = b->kind };
	return 0;
}

/* A JWE's protected header holds clevis's pin in the clear. */
static int read_jwe(const char *protected, size_t size, unsigned nesting, struct tpm_binding *b)
{
	_cleanup_json_ struct json *header = NULL;
	_cleanup_strbuf_ struct strbuf text = {};
	const struct json *clevis, *tpm2;
	const char *pin;
	size_t offset;
	int r;

	if (nesting > MAX_NESTING)
		return -EINVAL;
	r = base64url_decode(protected, size, &text);
	if (r < 0)
		return r;
	if (text.len == 0)
		return -EINVAL;
	r = json_parse(text.data, text.len, &header, &offset);
	if (r < 0)
		return r;
	clevis = json_get(header, "clevis");
	pin = json_as_string(json_get(clevis, "pin"));
	if (!pin)
		return -EINVAL;
	if (streq(pin, "sss"))
		return read_shares(json_get(clevis, "sss"), nesting, b);
	if (!streq(pin, "tpm2"))
		return 0;
	b->bound = true;
	tpm2 = json_get(clevis, "tpm2");
	/* without pcr_ids the key is the TPM's, whatever was booted */
	return json_has(tpm2, "pcr_ids") ? add_pcrs(b, json_get(tpm2, "pcr_ids")) : 0;
}

int tpm_read_token(const char *text, struct tpm_binding *ret)
{
	_cleanup_json_ struct json *token = NULL;
	struct tpm_binding b = { .slot = "?" };
	const char *type, *protected, *slot;
	size_t offset;
	int r;

	r = json_parse(text, strlen(text), &token, &offset);
	if (r < 0 && r != -EINVAL)
		return r;
	type = r < 0 ? NULL : json_as_string(json_get(token, "type"));
	slot = json_as_string(json_at(json_get(token, "keyslots"), 0));
	if (slot)
		(void)snprintf(b.slot, sizeof(b.slot), "%s", slot); /* a number; cut is fine */
	if (type && streq(type, "systemd-tpm2")) {
		b.kind = "systemd-tpm2";
		r = read_systemd(token, &b);
	} else if (type && streq(type, "clevis")) {
		b.kind = "clevis";
		protected = json_as_string(json_get(json_get(token, "jwe"), "protected"));
		r = protected ? read_jwe(protected, strlen(protected), 0, &b) : -EINVAL;
		if (r < 0 && r != -ENOMEM) {
			b.bound = b.unknown = true;
			r = 0;
		}
	} else
		r = 0;
	if (r < 0)
		return r;
	*ret = b;
	return 0;
}
