/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * What looks like a secret in one line of somebody's file: by the name it is given to
 * (password=, --token X, "apiKey": "…"), by where it is (Environment=, URLs), by its own form.
 * Rather too much than too little: nothing that decides about memcg has such a name.
 */

#include "base/scrub.h"

#include <ctype.h>

static bool is_name(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("_.-", c));
}

static size_t blanks(const char *s, size_t size)
{
	size_t n = 0;

	while (n < size && (s[n] == ' ' || s[n] == '\t'))
		n++;
	return n;
}

/* Every byte but blanks and what structures the line. */
static void blank(struct scrub *scrub, char *s, size_t size)
{
	bool any = false;

	for (size_t i = 0; i < size; i++)
		if (!strchr(" \t\"'\\", s[i])) {
			s[i] = 'x';
			any = true;
		}
	scrub->n[SCRUB_SECRET] += any;
}

static bool contains(const char *s, size_t size, const char *word)
{
	size_t n = strlen(word);

	for (size_t i = 0; i + n <= size; i++)
		if (strncasecmp(s + i, word, n) == 0)
			return true;
	return false;
}

/* Whether what is given to something of that name is secret. */
static bool is_secret_name(const char *s, size_t size)
{
	static const char *const words[] = {
		"pass",	      "pwd", "secret", "token", "credential", "apikey",
		"privatekey", "psk", "auth",   "salt",	"cookie",     "signature",
	};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (contains(s, size, words[i]))
			return true;
	return size >= 3 && strncasecmp(s + size - 3, "key", 3) == 0;
}

/* How long the value at s is: to the quote that opened it or the name in front of it, or else
 * to the next blank. */
static size_t value_size(const char *s, size_t size, char quote)
{
	size_t n = 0;

	if (quote) {
		while (n < size && s[n] != quote)
			n += s[n] == '\\' && n + 1 < size ? 2 : 1;
		return MIN(n, size);
	}
	if (size > 0 && (*s == '"' || *s == '\''))
		return 1 + value_size(s + 1, size - 1, *s);
	while (n < size && !strchr(" \t\"'", s[n]))
		n++;
	return n;
}

/* NAME=VALUE, NAME: VALUE, "NAME": "VALUE", --NAME VALUE; returns where to go on. */
static size_t scrub_named(struct scrub *scrub, char *s, size_t size, size_t at)
{
	size_t end = at, value;
	char quote = at > 0 && strchr("\"'", s[at - 1]) ? s[at - 1] : '\0';
	bool option = s[at] == '-';

	while (end < size && is_name(s[end]))
		end++;
	if (!is_secret_name(s + at, end - at))
		return end;
	value = end;
	/* the quote of a JSON name ends before its colon */
	if (quote && value < size && s[value] == quote) {
		value++;
		quote = '\0';
	}
	value += blanks(s + value, size - value);
	if (value < size && strchr("=:", s[value])) {
		bool json = s[value] == ':';

		value++;
		value += blanks(s + value, size - value);
		/* "Authorization: Basic …": all of it */
		end = value + (json && value < size && !strchr("\"'", s[value])
				       ? size - value
				       : value_size(s + value, size - value, quote));
	} else if ((option && value > end) || (at == blanks(s, size) && value > end &&
					       strncmp(s + at, "password", 8) == 0)) {
		/* GRUB's "password USER SECRET" */
		end = option ? value + value_size(s + value, size - value, '\0') : size;
	} else
		return end;
	blank(scrub, s + value, end - value);
	return end;
}

/* In the words of an environment all values; s is behind the directive's '='. */
static void scrub_environment(struct scrub *scrub, char *s, size_t size)
{
	size_t at = 0;

	while (at < size) {
		char quote = '\0';
		size_t n;

		while (at < size && strchr(" \t\"'", s[at])) {
			quote = s[at] == '"' || s[at] == '\'' ? s[at] : '\0';
			at++;
		}
		n = value_size(s + at, size - at, quote);
		for (size_t i = 0; i < n; i++)
			if (s[at + i] == '=') {
				size_t more =
					value_size(s + at + i + 1, size - at - i - 1, quote);

				blank(scrub, s + at + i + 1, more);
				n = i + 1 + more;
				break;
			}
		at += n > 0 ? n : 1;
	}
}

/* "//user:password@" of URLs, also without a user. */
static void scrub_url(struct scrub *scrub, char *s, size_t size)
{
	for (size_t i = 0; i + 3 < size; i++) {
		size_t n = 0;

		if (memcmp(s + i, "://", 3) != 0)
			continue;
		i += 3;
		while (i + n < size && !strchr("/@ \t\"'", s[i + n]))
			n++;
		if (i + n < size && s[i + n] == '@')
			blank(scrub, s + i, n);
	}
}

/* Forms that services give to their tokens, and those of crypt(5). */
static void scrub_forms(struct scrub *scrub, char *s, size_t size)
{
	static const char *const starts[] = {
		"ghp_",	 "gho_",	"ghs_", "github_pat_", "glpat-",       "xoxb-",
		"xoxp-", "AKIA",	"eyJ",	"sk-",	       "hvs.",	       "dckr_pat_",
		"npm_",	 "AGE-SECRET-", "$1$",	"$2a$",	       "$2b$",	       "$2y$",
		"$5$",	 "$6$",		"$y$",	"$gy$",	       "grub.pbkdf2.",
	};

	for (size_t i = 0; i < size; i++)
		for (size_t k = 0; k < ARRAY_SIZE(starts); k++) {
			size_t n = strlen(starts[k]), more = 0;

			if (size - i < n || memcmp(s + i, starts[k], n) != 0 ||
			    (i > 0 && isalnum((unsigned char)s[i - 1])))
				continue;
			while (i + n + more < size &&
			       (isalnum((unsigned char)s[i + n + more]) ||
				strchr("_.-/+=$", s[i + n + more])))
				more++;
			if (more >= 12)
				blank(scrub, s + i + n, more);
		}
}

/* Whether the line, behind its blanks, assigns to the word; *ret is behind the '='. */
static bool assigns(const char *s, size_t size, const char *word, size_t *ret)
{
	size_t at = blanks(s, size), n = strlen(word);

	if (size - at <= n || memcmp(s + at, word, n) != 0)
		return false;
	at += n;
	at += blanks(s + at, size - at);
	*ret = at + 1;
	return at < size && s[at] == '=';
}

/* "-e NAME=VALUE", "--env=NAME=VALUE" on the command lines of container engines. */
static void scrub_env_options(struct scrub *scrub, char *s, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		static const char *const names[] = { "--env", "-e" };

		if (s[i] != '-' || (i > 0 && !strchr(" \t\"'=", s[i - 1])))
			continue;
		for (size_t k = 0; k < ARRAY_SIZE(names); k++) {
			size_t n = strlen(names[k]);

			if (size - i > n && memcmp(s + i, names[k], n) == 0 &&
			    strchr(" \t=", s[i + n])) {
				size_t word = i + n + 1;

				scrub_environment(scrub, s + word,
						  value_size(s + word, size - word, '\0'));
			}
		}
	}
}

/* The strings of "Env": […], one per line or all on one. */
static void scrub_json_env(struct scrub *scrub, char *s, size_t size)
{
	static const char *const names[] = { "\"env\"", "\"Env\"" };

	for (size_t k = 0; k < ARRAY_SIZE(names); k++) {
		char *at = memmem(s, size, names[k], strlen(names[k]));
		char *end = at ? memchr(at, ']', size - (size_t)(at - s)) : NULL;

		if (at && end) {
			at += strlen(names[k]);
			scrub_environment(scrub, at, (size_t)(end - at));
		}
	}
}

void scrub_secrets(struct scrub *scrub, char *s, size_t size)
{
	static const char *const whole[] = { "SetCredential", "SetCredentialEncrypted" };
	size_t at;

	if (assigns(s, size, "Environment", &at))
		scrub_environment(scrub, s + at, size - at);
	for (size_t i = 0; i < ARRAY_SIZE(whole); i++)
		if (assigns(s, size, whole[i], &at))
			blank(scrub, s + at, size - at);
	scrub_url(scrub, s, size);
	scrub_env_options(scrub, s, size);
	scrub_json_env(scrub, s, size);
	scrub_forms(scrub, s, size);
	for (size_t i = 0; i < size;)
		i = is_name(s[i]) ? MAX(scrub_named(scrub, s, size, i), i + 1) : i + 1;
}
