/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tree.h"

#include "base/diag.h"
#include "base/str.h"
#include "boot/luks.h"
#include "boot/refuse.h"
#include "boot/tpm.h"
#include "facts/kernels.h"
#include "facts/running.h"
#include "policy/need.h"

#include <stdio.h>
#include <sys/wait.h>

/* base64url of the protected header of a JWE: what clevis stores in the clear. */
static char *encode(const char *text)
{
	static const char alphabet[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	struct strbuf buf = {};
	size_t size = strlen(text);
	char *ret;

	for (size_t i = 0; i < size; i += 3) {
		uint32_t bits = (uint32_t)(unsigned char)text[i] << 16;
		size_t n = MIN(size - i, (size_t)3);

		if (n > 1)
			bits |= (uint32_t)(unsigned char)text[i + 1] << 8;
		if (n > 2)
			bits |= (unsigned char)text[i + 2];
		for (size_t k = 0; k <= n; k++)
			strbuf_addc(&buf, alphabet[bits >> (18 - 6 * k) & 63]);
	}
	assert_int_equal(strbuf_take(&buf, &ret, NULL), 0);
	return ret;
}

static char *clevis(const char *header)
{
	_cleanup_free_ char *protected = encode(header);
	char *ret;

	assert_int_equal(str_printf(&ret,
				    "{\"type\":\"clevis\",\"keyslots\":[\"1\"],\"jwe\":"
				    "{\"ciphertext\":\"x\",\"protected\":\"%s\"}}",
				    protected),
			 0);
	return ret;
}

static char *sss(unsigned threshold, const char *one, const char *two)
{
	_cleanup_free_ char *a = encode(one), *b = encode(two), *header = NULL;

	assert_int_equal(str_printf(&header,
				    "{\"clevis\":{\"pin\":\"sss\",\"sss\":{\"t\":%u,\"jwe\":"
				    "[\"%s..i.c.t\",\"%s..i.c.t\"]}}}",
				    threshold, a, b),
			 0);
	return clevis(header);
}

#define SYSTEMD(rest) "{\"type\":\"systemd-tpm2\",\"keyslots\":[\"2\"]," rest "}"
#define TPM2_8	      "{\"clevis\":{\"pin\":\"tpm2\",\"tpm2\":{\"pcr_ids\":\"8\"}}}"
#define TANG	      "{\"clevis\":{\"pin\":\"tang\",\"tang\":{}}}"

static void check_token(const char *json, const char *want)
{
	_cleanup_free_ char *got = NULL;
	struct tpm_binding b;
	char pcrs[64];

	assert_int_equal(tpm_read_token(json, &b), 0);
	tpm_format_pcrs(b.pcrs, pcrs);
	assert_int_equal(str_printf(&got, "%s %s%s", b.bound ? "bound" : "free", pcrs,
				    b.unknown ? " unknown" : ""),
			 0);
	if (!streq(got, want))
		fail_msg("%s: got %s, wanted %s", json, got, want);
}

static void test_tokens(void **state _unused_)
{
	static const struct {
		const char *json;
		const char *want;
	} plain[] = {
		{ SYSTEMD("\"tpm2-pcrs\":[7]"), "bound 7" },
		{ SYSTEMD("\"tpm2-pcrs\":[]"), "bound " },
		{ SYSTEMD("\"tpm2-pcrs\":[8,9]"), "bound 8+9" },
		{ SYSTEMD("\"tpm2-pcrs\":[],\"tpm2_pubkey_pcrs\":[11]"), "bound 11" },
		{ SYSTEMD("\"tpm2-pcrs\":[],\"tpm2_pcrlock\":true"), "bound " },
		{ SYSTEMD("\"tpm2-pcrs\":7"), "bound  unknown" },
		{ SYSTEMD("\"tpm2-blob\":\"x\""), "bound  unknown" },
		{ "{\"type\":\"systemd-recovery\",\"keyslots\":[\"1\"]}", "free " },
		{ "{\"type\":\"luks2-keyring\"}", "free " },
		{ "{\"type\":\"clevis\",\"jwe\":{}}", "bound  unknown" },
		{ "{\"type\":\"clevis\",\"jwe\":{\"protected\":\"!\"}}", "bound  unknown" },
		{ "not json", "free " },
	};
	static const struct {
		const char *header;
		const char *want;
	} pins[] = {
		{ TPM2_8, "bound 8" },
		{ TANG, "free " },
		{ "{\"clevis\":{\"pin\":\"tpm2\",\"tpm2\":{\"pcr_ids\":\"7,8, 9\"}}}",
		  "bound 7+8+9" },
		{ "{\"clevis\":{\"pin\":\"tpm2\",\"tpm2\":{\"pcr_ids\":[1,4]}}}", "bound 1+4" },
		{ "{\"clevis\":{\"pin\":\"tpm2\",\"tpm2\":{}}}", "bound " },
		{ "{\"clevis\":{\"pin\":\"tpm2\",\"tpm2\":{\"pcr_ids\":\"x\"}}}",
		  "bound  unknown" },
		{ "{}", "bound  unknown" },
	};
	_cleanup_free_ char *one = NULL, *both = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(plain); i++)
		check_token(plain[i].json, plain[i].want);
	for (size_t i = 0; i < ARRAY_SIZE(pins); i++) {
		_cleanup_free_ char *json = clevis(pins[i].header);

		check_token(json, pins[i].want);
	}
	/* one of two will do: the server opens it whatever the TPM says */
	one = sss(1, TPM2_8, TANG);
	check_token(one, "free ");
	both = sss(2, TPM2_8, TANG);
	check_token(both, "bound 8");
}

static void test_moved(void **state _unused_)
{
	static const char *const cases[][2] = {
		{ "grub-dropin", "8+9" }, { "grub-default", "8+9" }, { "systemd-boot", "9+12" },
		{ "uki", "4+11+12" },	  { "bls", "4+8+9+11+12" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char pcrs[64];

		tpm_format_pcrs(tpm_moved_pcrs(cases[i][0]), pcrs);
		assert_string_equal(pcrs, cases[i][1]);
		assert_false(tpm_moved_pcrs(cases[i][0]) & 1U << 7);
	}
}

/* What refuse_check() says of an "off" through GRUB in the tree: its errors, one a line. */
static char *refusals_of(const struct tree *tree, const struct running *running,
			 const struct boot_state *state, const struct needs *needs,
			 const char *release, bool force, int *ret)
{
	struct kernel kernel = { .release = (char *)(uintptr_t)release };
	struct kernels kernels = { .items = &kernel, .n = release ? 1 : 0 };
	const struct boot boot = {
		.root = tree->root,
		.backend = &boot_grub_dropin,
		.kernels = &kernels,
	};
	struct edit edit = { .path = (char *)(uintptr_t) "/etc/default/grub.d/x.cfg" };
	const struct changeset cs = { .edits = &edit, .n = 1, .want = BOOT_WANT_OFF };
	_cleanup_diag_ struct diag diag = {};
	struct strbuf buf = {};
	char *text;

	*ret = refuse_check(&(struct refuse_input){ .root = tree->root,
						    .running = running,
						    .state = state,
						    .boot = &boot,
						    .needs = needs,
						    .changes = &cs },
			    force, &diag);
	for (size_t i = 0; i < diag.n; i++)
		strbuf_addf(&buf, "%s: %s\n",
			    diag.messages[i].path ? diag.messages[i].path : "-",
			    diag.messages[i].text);
	assert_int_equal(strbuf_take(&buf, &text, NULL), 0);
	return text;
}

static char *refusals(const struct tree *tree, const struct needs *needs, const char *release,
		      bool force, int *ret)
{
	static const struct running running;
	static const struct boot_state state;

	return refusals_of(tree, &running, &state, needs, release, force, ret);
}

/* The longest line counts, with what the loader puts in front and the NUL behind. */
static void test_length(void **state _unused_)
{
	/* BOOT_IMAGE=/k, a blank, the words, our word, NUL: 2048 in all */
	enum { ROOM = 2048 - 13 - 1 - 22 - 1 };
	static const struct {
		const char *machine;
		size_t size;
		ssize_t word; /* where it is already, -1: nowhere */
		bool ours;
		bool refused;
	} cases[] = {
		{ "x86_64", ROOM, -1, true, false },
		{ "x86_64", ROOM + 1, -1, true, true },
		{ "x86_64", ROOM + 1, 0, true, false },
		{ "x86_64", ROOM + 2048, 2000, true, false },
		{ "x86_64", ROOM + 2048, 2020, true, true }, /* behind the cut */
		{ "x86_64", ROOM + 1, -1, false, false },
		{ NULL, ROOM + 1, -1, true, true },
		{ "armv7l", ROOM - 1023, -1, true, true },
		{ "armv7l", ROOM - 1024, -1, true, false },
		{ "s390x", ROOM + 2048, -1, true, false },
	};
	struct tree tree;

	tree_init(&tree, ROOT_OFFLINE);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *got = NULL, *args = calloc(1, cases[i].size + 1);
		struct boot_entry entries[] = {
			{ .title = (char *)"short",
			  .args = (char *)"a",
			  .image = (char *)"/k",
			  .ours = true },
			{ .title = (char *)"long",
			  .args = args,
			  .image = (char *)"/k",
			  .source = (char *)"/g",
			  .ours = cases[i].ours },
		};
		const struct running running = { .machine =
							 (char *)(uintptr_t)cases[i].machine };
		const struct boot_state boot_state = { .entries = { entries, 2, 2 } };
		int r;

		memset(args, 'a', cases[i].size);
		if (cases[i].word > 0)
			args[cases[i].word - 1] = ' ';
		if (cases[i].word >= 0)
			memcpy(args + cases[i].word, "cgroup_disable=memory ", 22);
		got = refusals_of(&tree, &running, &boot_state, NULL, NULL, false, &r);
		if ((r == -EPERM) != cases[i].refused)
			fail_msg("case %zu: %s", i, got);
		if (cases[i].refused && !strstr(got, "\"long\" would have"))
			fail_msg("case %zu: %s", i, got);
	}
	tree_done(&tree);
}

static void test_files(void **state _unused_)
{
	static const struct {
		const char *path;
		const char *text;
		const char *want; /* start of the only line; NULL: nothing is refused */
	} cases[] = {
		{ "etc/crypttab", "root UUID=1 none luks\n", NULL },
		{ "etc/crypttab", "# root UUID=1 none tpm2-device=auto\n", NULL },
		{ "etc/crypttab", "root UUID=1 none luks,tpm2-device=auto\n",
		  "/etc/crypttab: root may be bound to a TPM (tpm2- options)" },
		{ "var/lib/systemd/pcrlock.json", "{\"pcrValues\":[{\"pcr\":7},{\"pcr\":4}]}",
		  NULL },
		{ "var/lib/systemd/pcrlock.json", "{\"pcrValues\":[{\"pcr\":7},{\"pcr\":9}]}",
		  "/var/lib/systemd/pcrlock.json: the TPM policy of systemd-pcrlock covers PCR "
		  "9" },
		{ "var/lib/systemd/pcrlock.json", "{",
		  "/var/lib/systemd/pcrlock.json: there is a TPM policy that cannot be read" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *got = NULL, *forced = NULL;
		struct tree tree;
		int r;

		tree_init(&tree, ROOT_OFFLINE);
		tree_write(&tree, cases[i].path, cases[i].text);
		got = refusals(&tree, NULL, NULL, false, &r);
		assert_int_equal(r, cases[i].want ? -EPERM : 0);
		if (cases[i].want ? !str_skip_prefix(got, cases[i].want) : *got != '\0')
			fail_msg("case %zu: %s", i, got);
		forced = refusals(&tree, NULL, NULL, true, &r);
		assert_int_equal(r, 0);
		assert_string_equal(forced, got);
		tree_done(&tree);
	}
}

static void test_limits(void **state _unused_)
{
	struct need_evidence evidence[] = {
		{ (char *)"/x/hostconfig.json", 0, (char *)"/Memory = 5" },
		{ (char *)"/y/hostconfig.json", 0, (char *)"/Memory = 6" },
		{ (char *)"/docker.service", 0, (char *)"docker.service is enabled" },
	};
	struct need items[] = {
		{ .title = (char *)"Docker",
		  .effect = (char *)"It breaks.",
		  .in_use = NEED_YES,
		  .n_limits = 2,
		  .evidence = evidence,
		  .n_evidence = ARRAY_SIZE(evidence) },
		{ .title = (char *)"Podman",
		  .effect = (char *)"It breaks.",
		  .in_use = NEED_YES },
	};
	const struct needs needs = { items, ARRAY_SIZE(items) };
	_cleanup_free_ char *got = NULL, *none = NULL, *unknown = NULL;
	struct tree tree;
	int r;

	tree_init(&tree, ROOT_OFFLINE);
	got = refusals(&tree, &needs, NULL, false, &r);
	assert_int_equal(r, -EPERM);
	assert_string_equal(got, "/x/hostconfig.json: Docker: 2 memory limits would no longer "
				 "hold: /Memory = 5 (/x/hostconfig.json); /Memory = 6 "
				 "(/y/hostconfig.json). It breaks.\n");
	items[0].n_limits = 0;
	items[0].in_use = NEED_UNKNOWN;
	items[0].limits_unknown = true;
	unknown = refusals(&tree, &needs, NULL, false, &r);
	assert_int_equal(r, -EPERM);
	assert_non_null(strstr(unknown, "Docker: whether memory limits are stored"));
	items[0].limits_unknown = false;
	none = refusals(&tree, &needs, NULL, false, &r);
	assert_int_equal(r, 0);
	tree_done(&tree);
}

static void test_leak(void **state _unused_)
{
	static const struct {
		const char *release;
		bool refused;
	} cases[] = {
		{ "4.14.98-v7+", true },      { "4.19.66-v8+", true }, { "4.19.66+", true },
		{ "4.19.0-27-amd64", false }, { "4.9.80-v7+", false }, { "5.4.51-v7+", false },
		{ "6.12.0-rpi", false },      { NULL, false },
	};
	struct tree tree;

	tree_init(&tree, ROOT_OFFLINE);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *got = NULL;
		int r;

		got = refusals(&tree, NULL, cases[i].release, false, &r);
		if ((r == -EPERM) != cases[i].refused)
			fail_msg("%s: %d %s", cases[i].release, r, got);
	}
	tree_done(&tree);
}

static bool run(const char *fmt, ...) _printf_(1, 2);
static bool run(const char *fmt, ...)
{
	_cleanup_free_ char *command = NULL;
	va_list ap;

	va_start(ap, fmt);
	assert_true(vasprintf(&command, fmt, ap) >= 0);
	va_end(ap);
	return system(command) == 0;
}

/* Real headers: an image file needs no device-mapper. */
static void test_images(void **state _unused_)
{
	static const struct {
		const char *type;
		const char *token;  /* NULL: none */
		const char *header; /* of a clevis token */
		const char *want;   /* part of the refusal, or NULL */
		bool policy;
	} cases[] = {
		{ "luks2", NULL, NULL, NULL },
		{ "luks2", SYSTEMD("\"tpm2-pcrs\":[7],\"tpm2-blob\":\"x\""), NULL, NULL },
		{ "luks2", SYSTEMD("\"tpm2-pcrs\":[],\"tpm2-blob\":\"x\""), NULL, NULL },
		{ "luks2", SYSTEMD("\"tpm2-pcrs\":[8,9],\"tpm2-blob\":\"x\""), NULL,
		  "sealed to PCR 8+9, and this change moves PCR 8+9" },
		{ "luks2", SYSTEMD("\"tpm2-pcrs\":[],\"tpm2_pcrlock\":true"), NULL,
		  "cannot be checked" },
		{ "luks2", NULL, "{\"clevis\":{\"pin\":\"tpm2\",\"tpm2\":{}}}", NULL },
		{ "luks2", NULL, TPM2_8, "key slot 0 (clevis) is sealed to PCR 8" },
		{ "luks1", NULL, NULL,
		  "its header cannot be read: LUKS1 has no room for tokens" },
		/* systemd-pcrlock's policy is known, and does not cover what GRUB measures */
		{ "luks2", SYSTEMD("\"tpm2-pcrs\":[],\"tpm2_pcrlock\":true"), NULL, NULL,
		  true },
	};
	_cleanup_strv_ struct strv tokens = {};

	if (luks_tokens("/dev/null", &tokens) == -EOPNOTSUPP ||
	    !run("cryptsetup --version >/dev/null 2>&1")) {
		printf("SKIP luks-images: cryptsetup or libcryptsetup is not here\n");
		skip();
	}
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *got = NULL, *crypttab = NULL, *made = NULL;
		const char *token = cases[i].token;
		struct tree tree;
		int r;

		tree_init(&tree, ROOT_LIVE);
		tree_write(&tree, "key", "secret");
		tree_write(&tree, "image", "");
		assert_true(
			run("truncate -s 32M %s/image && cryptsetup -q luksFormat --type %s "
			    "--pbkdf pbkdf2 --pbkdf-force-iterations 1000 %s/image %s/key",
			    tree.path, cases[i].type, tree.path, tree.path));
		if (cases[i].header)
			token = made = clevis(cases[i].header);
		if (token) {
			/* the token's key slot must exist */
			_cleanup_free_ char *own = strdup(token);
			char *slot = strstr(own, "\"keyslots\":[\"");

			slot[strlen("\"keyslots\":[\"")] = '0';
			tree_write(&tree, "token", own);
			assert_true(run("cryptsetup token import --disable-external-tokens "
					"--json-file %s/token %s/image",
					tree.path, tree.path));
		}
		assert_int_equal(str_printf(&crypttab, "root %s/image none tpm2-device=auto\n",
					    tree.path),
				 0);
		tree_write(&tree, "etc/crypttab", crypttab);
		if (cases[i].policy)
			tree_write(&tree, "var/lib/systemd/pcrlock.json",
				   "{\"pcrValues\":[{\"pcr\":7},{\"pcr\":4}]}");
		got = refusals(&tree, NULL, NULL, false, &r);
		if (r != (cases[i].want ? -EPERM : 0) ||
		    (cases[i].want ? !strstr(got, cases[i].want) : *got != '\0'))
			fail_msg("case %zu: %d %s", i, r, got);
		tree_done(&tree);
	}
}

/* What the command line has the initrd unlock, without a line in crypttab; and a device that is
 * not there. */
static void test_lines(void **state _unused_)
{
	static const struct {
		enum root_mode mode;
		const char *args;
		bool clevis;
		const char *want; /* part of the refusal, NULL: none */
	} cases[] = {
		{ ROOT_OFFLINE, "root=/dev/mapper/x rd.luks.uuid=luks-1", false, NULL },
		{ ROOT_OFFLINE, "rd.luks.uuid=luks-1", true,
		  "/g: UUID=1 may be bound to a TPM (clevis is installed)" },
		{ ROOT_OFFLINE, "rd.luks.name=1=root rd.luks.options=tpm2-device=auto", false,
		  "/g: UUID=1 may be bound to a TPM (tpm2- options)" },
		{ ROOT_OFFLINE, "luks.options=discard luks.uuid=1", false, NULL },
		{ ROOT_OFFLINE, "cryptdevice=/dev/sda2:root:x", true, "/g: /dev/sda2 may be" },
		{ ROOT_LIVE, "rd.luks.uuid=not-there luks.options=tpm2-device=auto", false,
		  "/dev/disk/by-uuid/not-there: its key may be bound to a TPM, and its header "
		  "cannot be read: " },
		{ ROOT_LIVE, "rd.luks.uuid=not-there", false, NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct boot_entry entry = {
			.args = (char *)(uintptr_t)cases[i].args,
			.title = (char *)"Linux",
			.source = (char *)"/g",
			.request = CMDLINE_OFF,
		};
		const struct boot_state boot_state = { .entries = { &entry, 1, 1 } };
		static const struct running running;
		_cleanup_free_ char *got = NULL;
		struct tree tree;
		int r;

		tree_init(&tree, cases[i].mode);
		if (cases[i].clevis)
			tree_write(&tree, "usr/bin/clevis-luks-unlock", "");
		got = refusals_of(&tree, &running, &boot_state, NULL, NULL, false, &r);
		if (r != (cases[i].want ? -EPERM : 0) ||
		    (cases[i].want ? !strstr(got, cases[i].want) || strstr(got, "LUKS1")
				   : *got != '\0'))
			fail_msg("case %zu: %d %s", i, r, got);
		tree_done(&tree);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tokens), cmocka_unit_test(test_moved),
		cmocka_unit_test(test_length), cmocka_unit_test(test_files),
		cmocka_unit_test(test_limits), cmocka_unit_test(test_leak),
		cmocka_unit_test(test_images), cmocka_unit_test(test_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
