/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/scrub.h"

#include <ctype.h>
#include <stdio.h>

enum {
	MIN_NAME = 3,
	MIN_RUN = 8, /* printable bytes among binary ones that are looked at, as strings(1) */
	UUID_SIZE = 36,
	ID_SIZE = 32,
};

void scrub_done(struct scrub *scrub)
{
	for (size_t i = 0; i < ARRAY_SIZE(scrub->names); i++)
		strv_done(&scrub->names[i]);
	strv_done(&scrub->ids);
	*scrub = (struct scrub){};
}

bool scrub_add_name(struct scrub *scrub, enum scrub_kind kind, const char *name)
{
	/* what boot loaders, distributions and container engines are called by everybody */
	/* clang-format off */
	static const char *const common[] = {
		"all", "alpine", "arch", "armbian", "auto", "bin", "boot", "centos",
		"container", "core", "cpu", "current", "debian", "default", "dev", "disk",
		"docker", "efi", "etc", "fedora", "group", "grub", "grub2", "high", "home",
		"host", "incus", "initrd", "install", "kernel", "kubelet", "label", "lib",
		"libvirt", "linux", "loader", "local", "localdomain", "localhost", "log",
		"low", "lxc", "lxd", "machine", "max", "mem", "memory", "min", "mount",
		"name", "net", "nixos", "node", "none", "off", "opensuse", "opt", "options",
		"path", "podman", "proc", "proxmox", "raspberrypi", "raspbian", "redhat",
		"rhel", "rocky", "role", "root", "run", "sbin", "scope", "server", "service",
		"slice", "slurm", "snap", "socket", "src", "srv", "suse", "swap", "sys",
		"system", "systemd", "target", "timer", "title", "tmp", "ubuntu", "unit",
		"user", "users", "usr", "uuid", "var", "version", "vmlinuz", "www", "yes",
	};
	/* clang-format on */

	if (strlen(name) < MIN_NAME)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(common); i++)
		if (strcasecmp(common[i], name) == 0)
			return false;
	strv_add_unique(&scrub->names[kind], name);
	return true;
}

#define STAND_IN "c0ffee"

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* --- stand-ins --- */

/* "host1", "us1", "userxxxx12": as long as the name. */
static void put_name(char *s, size_t size, enum scrub_kind kind, size_t index)
{
	const char *base = kind == SCRUB_HOST ? "host" : "user";
	char number[24];
	size_t digits = (size_t)snprintf(number, sizeof(number), "%zu", index + 1);

	for (size_t i = 0; i < size; i++)
		s[i] = i < strlen(base) ? base[i] : 'x';
	if (digits < size)
		memcpy(s + size - digits, number, digits);
}

/* The digits and letters of a form of hexadecimal digits, from its end; the dashes stay. */
static void put_id(char *s, size_t size, size_t index)
{
	static const char fixed[] = STAND_IN; /* never all zero, which means "none" to some */
	size_t digit = 0;

	index++;
	for (size_t i = size; i-- > 0;) {
		if (s[i] == '-')
			continue;
		s[i] = "0123456789abcdef"[index & 15];
		index >>= 4;
		digit++;
	}
	for (size_t i = 0, k = 0; digit >= ID_SIZE && k < strlen(fixed); i++)
		if (s[i] != '-')
			s[i] = fixed[k++];
}

/* The same id, in whatever case and with or without dashes, is the same stand-in. */
static int replace_id(struct scrub *scrub, char *s, size_t size)
{
	char key[UUID_SIZE + 1];
	size_t n = 0, at = 0;

	for (size_t i = 0; i < size; i++)
		if (s[i] != '-')
			key[n++] = (char)tolower((unsigned char)s[i]);
	key[n] = '\0';
	if (n == ID_SIZE && str_skip_prefix(key, STAND_IN "0000"))
		return 0; /* of an archive that is packed again */
	while (at < scrub->ids.n && !streq(scrub->ids.items[at], key))
		at++;
	if (at == scrub->ids.n)
		strv_add(&scrub->ids, key);
	put_id(s, size, at);
	scrub->n[SCRUB_ID]++;
	return strv_error(&scrub->ids);
}

static void zero_digits(struct scrub *scrub, char *s, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (isxdigit((unsigned char)s[i]))
			s[i] = '0';
	scrub->n[SCRUB_ADDRESS]++;
}

/* --- forms --- */

/* How many bytes at s have the form, x standing for a hexadecimal digit. */
static size_t match_form(const char *s, size_t size, const char *form)
{
	size_t n = strlen(form);

	if (size < n)
		return 0;
	for (size_t i = 0; i < n; i++)
		if (form[i] == 'x' ? !isxdigit((unsigned char)s[i]) : s[i] != form[i])
			return 0;
	return n;
}

/* Four numbers up to 255. Some names mean the same everywhere. */
static size_t match_ipv4(const char *s, size_t size)
{
	size_t n = 0;

	for (int part = 0; part < 4; part++) {
		unsigned value = 0, digits = 0;

		if (part > 0 && (n == size || s[n++] != '.'))
			return 0;
		for (; n < size && isdigit((unsigned char)s[n]) && digits < 3; n++, digits++)
			value = value * 10 + (unsigned)(s[n] - '0');
		if (digits == 0 || value > 255)
			return 0;
	}
	if (n < size && (s[n] == '.' || s[n] == '-') && n + 1 < size && is_word(s[n + 1]))
		return 0; /* a version */
	return strncmp(s, "127.", 4) == 0 || strncmp(s, "0.", 2) == 0 ||
			       strncmp(s, "255.", 4) == 0
		       ? 0
		       : n;
}

/* Six bytes or more: PXE puts the kind in front, InfiniBand has twenty. */
static size_t match_mac(const char *s, size_t size)
{
	size_t n = match_form(s, size, "xx:xx:xx:xx:xx:xx");

	if (n == 0)
		n = match_form(s, size, "xx-xx-xx-xx-xx-xx");
	while (n > 0 && (match_form(s + n, size - n, ":xx") > 0 ||
			 match_form(s + n, size - n, "-xx") > 0))
		n += 3;
	return n;
}

/* Groups of up to four digits, eight of them or some left out ("::"). */
static size_t match_ipv6(const char *s, size_t size)
{
	size_t n = 0, groups = 0, digits = 0;
	bool gap = false;

	for (; n < size && (isxdigit((unsigned char)s[n]) || s[n] == ':'); n++) {
		if (s[n] != ':') {
			groups += digits++ == 0;
			if (digits > 4)
				return 0;
			continue;
		}
		if (n > 0 && s[n - 1] == ':') {
			if (gap)
				return 0;
			gap = true;
		}
		digits = 0;
	}
	return (gap && groups >= 2 && groups < 8) || groups == 8 ? n : 0;
}

/* Letters tell a volume's serial number ("ABCD-1234") from years and counts. */
static bool is_serial(const char *s)
{
	bool letter = false;

	for (size_t i = 0; i < 9; i++) {
		if (islower((unsigned char)s[i]))
			return false;
		letter = letter || isupper((unsigned char)s[i]);
	}
	return letter;
}

/* Replaces what stands at s, if it is something; *ret_size is how much was. */
static int replace_at(struct scrub *scrub, char *s, size_t size, char before, size_t *ret_size)
{
	size_t n;

	*ret_size = 0;
	for (size_t kind = 0; kind < ARRAY_SIZE(scrub->names); kind++)
		for (size_t i = 0; i < scrub->names[kind].n; i++) {
			const char *name = scrub->names[kind].items[i];

			n = strlen(name);
			if (n > size || strncasecmp(s, name, n) != 0 ||
			    (n < size && is_word(s[n])))
				continue;
			put_name(s, n, (enum scrub_kind)kind, i);
			scrub->n[kind]++;
			*ret_size = n;
			return 0;
		}
	if (!isxdigit((unsigned char)*s))
		return 0;
	n = match_form(s, size, "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx");
	if (n == 0)
		n = match_form(s, size, "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
	if (n == 0 && match_form(s, size, "xxxx-xxxx") > 0 && is_serial(s))
		n = strlen("xxxx-xxxx");
	if (n > 0 && !(n < size && is_word(s[n]))) {
		*ret_size = n;
		return replace_id(scrub, s, n);
	}
	n = match_mac(s, size);
	if (n == 0 && before != '.')
		n = match_ipv4(s, size);
	if (n == 0 && before != '.' && before != ':')
		n = match_ipv6(s, size);
	if (n > 0 && !(n < size && is_word(s[n]))) {
		zero_digits(scrub, s, n);
		*ret_size = n;
	}
	return 0;
}

static int scrub_line(struct scrub *scrub, char *s, size_t size, bool names_only)
{
	if (!names_only)
		scrub_secrets(scrub, s, size);
	for (size_t i = 0; i < size;) {
		char before = i > 0 ? s[i - 1] : '\0';
		size_t n = 0;
		int r;

		if (is_word(s[i]) && !is_word(before)) {
			r = replace_at(scrub, s + i, size - i, before, &n);
			if (r < 0)
				return r;
		}
		i += n > 0 ? n : 1;
	}
	return 0;
}

static bool is_printable(char c)
{
	return (c >= ' ' && c != '\x7f') || c == '\t' || c < 0; /* < 0: parts of UTF-8 */
}

/* Whether the line begins (ends) what is a key until it ends. */
static bool is_armour(const char *s, size_t size, const char *word)
{
	return memmem(s, size, word, strlen(word)) && memmem(s, size, "PRIVATE KEY", 11);
}

int scrub_text(struct scrub *scrub, char *text, size_t size, bool names_only)
{
	bool binary = memchr(text, '\0', size), key = false;
	size_t start = 0;

	for (size_t i = 0; i <= size; i++) {
		char *run = text + start;
		size_t n = i - start;
		int r = 0;

		if (i < size && is_printable(text[i]))
			continue;
		if (is_armour(run, n, "-----END"))
			key = false;
		if (key) {
			memset(run, 'x', n);
			scrub->n[SCRUB_SECRET]++;
		} else if (n >= (binary && size > 4096 ? (size_t)MIN_RUN : 1))
			r = scrub_line(scrub, run, n, names_only);
		if (r < 0)
			return r;
		key = key || is_armour(run, n, "-----BEGIN");
		start = i + 1;
	}
	return 0;
}
