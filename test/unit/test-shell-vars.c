/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tree.h"

#include "base/diag.h"
#include "base/str.h"
#include "boot/shell-edit.h"
#include "facts/cmdline.h"

#include <stdio.h>
#include <sys/wait.h>

#define X "GRUB_CMDLINE_LINUX"

/* The value, or "?reason" for one that cannot be known, or "-" when unset. */
static char *value_of(const char *text, const char *name)
{
	_cleanup_(shell_script_done) struct shell_script script = {};
	_cleanup_shell_value_ struct shell_value value = {};
	_cleanup_diag_ struct diag diag = {};
	char *ret = NULL;
	int r = shell_script_add(&script, "f", text, strlen(text), &diag);

	if (r == -EBADMSG) {
		assert_int_equal(diag_count(&diag, DIAG_ERROR), 1);
		assert_true(diag.messages[0].line > 0);
		assert_true(asprintf(&ret, "!%u:%u", diag.messages[0].line,
				     diag.messages[0].column) > 0);
		return ret;
	}
	assert_int_equal(r, 0);
	assert_int_equal(shell_script_value(&script, name, &value), 0);
	if (value.known == SHELL_IS_UNSET)
		return strdup("-");
	if (value.known == SHELL_IS_DYNAMIC) {
		assert_true(asprintf(&ret, "?%s", value.reason) > 0);
		return ret;
	}
	return strdup(value.text);
}

static void test_value(void **state _unused_)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "", "-" },
		{ X "=quiet", "quiet" },
		{ X "=\"a b\"\n", "a b" },
		{ X "='a \"b\"'", "a \"b\"" },
		{ X "=", "" },
		{ "export " X "=\"a b\"\n", "a b" },
		{ " \t" X "=a # c\n", "a" },
		{ X "=a#b", "a#b" },
		{ "#" X "=a\n", "-" },
		{ X "=a;" X "=b", "b" },
		{ X "=a " X "=b", "b" },
		{ X "=\"a \\\nb\"", "a b" },
		{ X "='a \\\nb'", "a \\\nb" },
		{ X "=a\\ b", "a b" },
		{ X "=\"a\\$b\\x\"", "a$b\\x" },
		{ X "=a\"b\"'c'", "abc" },
		{ X "=\"$" X " b\"", " b" },
		{ X "=a\n" X "=\"$" X " b\"", "a b" },
		{ X "=a\n" X "=\"${" X ":+$" X " }\\$tuned\"", "a $tuned" },
		{ X "=\"${" X ":+$" X " }\\$tuned\"", "$tuned" },
		{ "Y=1\n" X "=${Y-x}${Z:-y}", "?uses a variable that these files do not set" },
		{ "Y=1\n" X "=${Y-x}${" X "_Z:-y}", "1y" },
		{ X "=\"a\"\r\n", "a\r" },
		{ X "=$(cat x)", "?uses a command's output" },
		{ X "=`cat x`", "?uses a command's output" },
		{ X "=$((1+1))", "?uses arithmetic" },
		{ X "=$HOME", "?uses a variable that these files do not set" },
		{ X "=~/x", "?uses a home directory" },
		{ X "=a$", "a$" },
		{ X "=$'a'", "?uses bash's quotes" },
		{ X "+=a", "?\"+=\" is not for every shell: dash takes it for a command" },
		{ "if true; then " X "=a; fi", "?inside \"if\"" },
		{ "if true; then " X "=a; fi\n" X "=b", "b" },
		{ X "=b\nif true; then Y=1; fi", "b" },
		{ "[ -f x ] && " X "=a", "?after \"&&\"" },
		{ "true &&\n" X "=a", "?after \"&&\"" },
		{ "true && Y=1\n" X "=a", "a" },
		{ "for i in 1 2; do " X "=$i; done", "?inside a loop" },
		{ "for " X " in 1 2; do :; done", "?the variable of a loop" },
		{ "while :; do " X "=a; done", "?inside a loop" },
		{ "case x in x) " X "=a;; *) Y=1;; esac", "?inside \"case\"" },
		{ "case x in\nx|y)\n" X "=a\n;;\nesac\n" X "=b", "b" },
		{ "{ " X "=a; }", "a" },
		{ "{ " X "=a; } | cat", "?in a pipeline" },
		{ "true && { " X "=a; }", "?inside braces" },
		{ "( " X "=a )", "?inside parentheses, a shell of its own" },
		{ X "=a | cat", "?in a pipeline" },
		{ X "=a &", "?in the background" },
		{ "f() { " X "=a; }\n" X "=b\nf", "?inside a function" },
		{ "f() { :; }\n" X "=b\nf", "b" },
		{ "f() {\nif x; then\n" X "=a\nfi\n}\n" X "=b", "?inside \"if\"" },
		{ X "=a cmd", "-" },
		{ X "=a cmd x 2> /dev/null || echo b", "-" },
		{ X "=b\n" X "=a cmd", "b" },
		{ "unset " X, "-" },
		{ X "=a\nunset " X "\n", "-" },
		{ X "=a\nread " X, "?set by a command" },
		{ X "=a\n. /x", "?this command may change any variable" },
		{ ". /x\n" X "=a", "a" },
		{ X "=a\neval x", "?this command may change any variable" },
		{ X "=a\n$cmd", "?this command may change any variable" },
		{ X "=a\nif x; then exit 1; fi\n" X "=b",
		  "?what is behind this command need not be read" },
		{ ": ${" X ":=a}", "?assigned by ${...=...}" },
		{ "cat << E\n" X "=a\nE\n" X "=b", "b" },
		{ "cat <<- 'E F'\n\t" X "=a\n\tE F\n", "-" },
		{ "cat <<A <<\"B\"\na\nA\n" X "=a\nB\n" X "=b\n", "b" },
		{ "Y=$(echo \")\" '(' # )\n)\n" X "=b", "b" },
		{ "Y=`echo \\`x\\``\n" X "=b", "b" },
		{ "Y=\"${Z:-\"}\"}\"\n" X "=b", "b" },
		{ "Y=\"it's\"\n" X "=b", "b" },
		{ X "=(a b)", "?an array" },
		{ X "[1]=a", "?an array" },
		{ "[[ a && b || ( c < d ) ]]\n" X "=b", "b" },
		{ X "=\"a", "!1:20" },
		{ "\n " X "='a\n\n", "!2:21" },
		{ "Y=$(cat", "!1:3" },
		{ "Y=${a", "!1:3" },
		{ "if true; then\n" X "=a\n", "!1:1" },
		{ "fi", "!1:1" },
		{ "cat <<E\nx\n", "!1:7" },
		{ "f() ", "!1:1" },
		{ "case x in y", "!1:11" },
		{ "a (b", "!1:1" },
		{ ")", "!1:1" },
		{ "\"a\\", "!1:1" },
		{ X "=a\\", "a\\" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *got = value_of(cases[i].text, X);

		if (!streq(got, cases[i].want))
			print_error("%s\n", cases[i].text);
		assert_string_equal(got, cases[i].want);
	}
}

/* Runs the text with sh and returns what it says the variable is. */
static char *ask_sh(const char *text, const char *name)
{
	_cleanup_free_ char *script = NULL;
	char *ret;
	size_t n = 0;
	FILE *f;
	int fds[2];
	pid_t pid;

	assert_true(asprintf(&script, "unset %s\n%s\nprintf '%%s' \"$%s\"", name, text, name) >
		    0);
	assert_int_equal(pipe(fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		dup2(fds[1], 1);
		close(fds[0]);
		execl("/bin/sh", "sh", "-c", script, NULL);
		_exit(1);
	}
	close(fds[1]);
	f = fdopen(fds[0], "r");
	ret = calloc(1, 65536);
	n = fread(ret, 1, 65535, f);
	ret[n] = '\0';
	fclose(f);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return ret;
}

static int edit_text(const char *text, enum memcg_state want, unsigned flags, char **ret)
{
	_cleanup_(shell_script_done) struct shell_script script = {};
	_cleanup_diag_ struct diag diag = {};
	int r;

	assert_int_equal(shell_script_add(&script, "f", text, strlen(text), &diag), 0);
	r = shell_edit(&script, X, want, flags, &diag);
	if (r == -ENOTSUP) {
		assert_int_equal(diag_count(&diag, DIAG_ERROR), 1);
		assert_true(diag.messages[0].line > 0 && diag.messages[0].column > 0);
	} else
		assert_true(r >= 0);
	*ret = str_dup_n(script.files[0].text, script.files[0].size);
	return r;
}

#define D "cgroup_disable=memory"
#define E "cgroup_enable=memory"

static void test_edit(void **state _unused_)
{
	static const struct {
		enum memcg_state want;
		const char *text, *result; /* NULL: refused */
	} cases[] = {
		{ MEMCG_OFF, "", X "=\"" D "\"\n" },
		{ MEMCG_OFF, "A=1", "A=1\n" X "=\"" D "\"\n" },
		{ MEMCG_OFF, X "=\"\"\n", X "=\"" D "\"\n" },
		{ MEMCG_OFF, X "=''\n", X "='" D "'\n" },
		{ MEMCG_OFF, X "=\n", X "=\"" D "\"\n" },
		{ MEMCG_OFF, X "=quiet\n", X "=\"quiet " D "\"\n" },
		{ MEMCG_OFF, X "=quiet # c\n", X "=\"quiet " D "\" # c\n" },
		{ MEMCG_OFF, X "=a\\ b\n", X "=a\\ b\" " D "\"\n" },
		{ MEMCG_OFF, X "=\"a  b\"\n", X "=\"a  b " D "\"\n" },
		{ MEMCG_OFF, X "='a b' # c\n", X "='a b " D "' # c\n" },
		{ MEMCG_OFF, X "=\"a\"'b'\n", X "=\"a\"'b " D "'\n" },
		{ MEMCG_OFF, X "=\"a\"b\n", X "=\"a\"b\" " D "\"\n" },
		{ MEMCG_OFF, X "=\"a\"\r\n", X "=\"a " D "\"\r\n" },
		{ MEMCG_OFF, X "=\"\"\r\n", X "=\"" D "\"\r\n" },
		{ MEMCG_OFF, X "=\r\n", X "=\"" D "\"\r\n" },
		{ MEMCG_OFF, X "=a\r\n", X "=\"a " D "\"\r\n" },
		{ MEMCG_OFF, X "=\"a \"\n", X "=\"a " D " \"\n" },
		{ MEMCG_OFF, X "=\"a -- b\"\n", X "=\"a " D " -- b\"\n" },
		{ MEMCG_OFF, X "=\"-- b\"\n", X "=\"" D " -- b\"\n" },
		{ MEMCG_OFF, X "=\"a \\\n b\"\n", X "=\"a \\\n b " D "\"\n" },
		{ MEMCG_OFF, X "=a\n" X "=b\n", X "=a\n" X "=\"b " D "\"\n" },
		{ MEMCG_OFF, X "=a\n" X "=\"$" X " b\"\n", X "=a\n" X "=\"$" X " b " D "\"\n" },
		{ MEMCG_OFF, X "=a\n" X "=\"b $" X "\"\n", X "=a\n" X "=\"b $" X " " D "\"\n" },
		{ MEMCG_OFF, "Y=a\n" X "=$Y\n", "Y=a\n" X "=$Y\" " D "\"\n" },
		{ MEMCG_OFF, X "=\"${" X ":+$" X " }\\$t\"\n",
		  X "=\"${" X ":+$" X " }\\$t " D "\"\n" },
		{ MEMCG_OFF, X "=\"a " D " b\"\n", X "=\"a " D " b\"\n" },
		{ MEMCG_OFF, X "=\"a " E " b\"\n", X "=\"a b " D "\"\n" },
		{ MEMCG_OFF, X "=\"" E "\"\n", X "=\"" D "\"\n" },
		{ MEMCG_OFF, X "=" E "\n", X "=\"" D "\"\n" },
		{ MEMCG_OFF, X "=\"cgroup_enable=cpuset,memory\"\n",
		  X "=\"cgroup_enable=cpuset " D "\"\n" },
		{ MEMCG_OFF, X "=\"$(cat x)\"\n", NULL },
		{ MEMCG_OFF, X "+=\" x\"\n", NULL },
		{ MEMCG_OFF, "if x; then " X "=a; fi\n", NULL },
		{ MEMCG_OFF, X "=a\nexit 0\n", NULL },
		{ MEMCG_OFF, "exit 0\n", NULL },
		{ MEMCG_OFF, X "='a=\"b'\n", NULL },
		{ MEMCG_ON, X "=\"a " D " b\"\n", X "=\"a b\"\n" },
		{ MEMCG_ON, X "=\"a  " D "  b\"\n", X "=\"a   b\"\n" },
		{ MEMCG_ON, X "=\"a " D "\"\n", X "=\"a\"\n" },
		{ MEMCG_ON, X "=\"" D " b\"\n", X "=\"b\"\n" },
		{ MEMCG_ON, X "=\"" D "\"\n", X "=\"\"\n" },
		{ MEMCG_ON, X "=" D "\n", X "=\n" },
		{ MEMCG_ON, X "=\"cgroup_disable=pressure,memory\"\n",
		  X "=\"cgroup_disable=pressure\"\n" },
		{ MEMCG_ON, X "=\"cgroup_disable=memory,pressure,memory\"\n",
		  X "=\"cgroup_disable=pressure\"\n" },
		{ MEMCG_ON, X "=\"a " D "\"\n" X "=\"$" X " b\"\n",
		  X "=\"a\"\n" X "=\"$" X " b\"\n" },
		{ MEMCG_ON, X "=\"a " D "\"\n" X "=\"$" X " $" X "\"\n",
		  X "=\"a\"\n" X "=\"$" X " $" X "\"\n" },
		/* a blank behind a name stays, or the name would be another one */
		{ MEMCG_ON, X "=\"" D "\"\n" X "=\"$" X " b\"\n",
		  X "=\"\"\n" X "=\"$" X " b\"\n" },
		{ MEMCG_ON, "Y=" D "\n" X "=\"$Y b\"\n", "Y=\n" X "=\"$Y b\"\n" },
		{ MEMCG_ON, "Y=\"" D " " D "\"\n" X "=\"a $Y b\"\n",
		  "Y=\"\"\n" X "=\"a $Y b\"\n" },
		{ MEMCG_OFF, "Y=" E "\n" X "=\"$Y b\"\n", "Y=\n" X "=\"$Y b " D "\"\n" },
		{ MEMCG_ON, "Y=cgroup_\n" X "=\"${Y:-x}disable=memory ${Y}x\"\n", NULL },
		{ MEMCG_ON, X "=\"a -- " D "\"\n", X "=\"a -- " D "\"\n" },
		{ MEMCG_ON, X "=a\\ " D "\n", X "=a\n" },
		{ MEMCG_ON, X "=\"a \\\n  " D " \\\n  b\"\n", X "=\"a \\\n  \\\n  b\"\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *got = NULL, *twice = NULL, *said = NULL, *again = NULL;
		int r = edit_text(cases[i].text, cases[i].want, 0, &got);

		if (!cases[i].result) {
			if (r != -ENOTSUP)
				print_error("%s -> %s\n", cases[i].text, got);
			assert_int_equal(r, -ENOTSUP);
			/* a refusal leaves the text: its caller may go on with it */
			assert_string_equal(got, cases[i].text);
			continue;
		}
		if (r < 0 || !streq(got, cases[i].result))
			print_error("%s\n", cases[i].text);
		assert_true(r >= 0);
		assert_string_equal(got, cases[i].result);
		assert_int_equal(r, !streq(cases[i].text, got));
		/* twice is once */
		assert_int_equal(edit_text(got, cases[i].want, 0, &twice), 0);
		assert_string_equal(twice, got);
		/* and sh agrees */
		said = ask_sh(got, X);
		again = value_of(got, X);
		assert_string_equal(said, streq(again, "-") ? "" : again);
	}
}

static void test_reverse(void **state _unused_)
{
	static const struct {
		const char *before, *written, *text, *result;
	} cases[] = {
		{ "a", "a " D, X "=\"a " D " c\"\n", X "=\"a c\"\n" },
		{ "a", "a " D, X "=\"a c\"\n", X "=\"a c\"\n" },
		{ "", D, X "=" D "\n", X "=\n" },
		{ "a " D, "a", X "=\"a c\"\n", X "=\"a c " D "\"\n" },
		{ D, "", X "=\"a " D "\"\n", X "=\"a " D "\"\n" },
		{ D, "", "", X "=\"" D "\"\n" },
		{ "b cgroup_disable=pressure,memory", "b cgroup_disable=pressure",
		  X "=\"cgroup_disable=pressure x\"\n",
		  X "=\"cgroup_disable=pressure,memory x\"\n" },
		{ "a " E, "a " D, X "=\"x -- y\"\n", X "=\"x " E " -- y\"\n" },
		{ "a " E, "a " D, X "=\"x " D "\"\n", X "=\"x " E "\"\n" },
		{ D " a", D " a " D, X "=\"" D " b " D "\"\n", X "=\"" D " b\"\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(shell_script_done) struct shell_script script = {};
		_cleanup_diag_ struct diag diag = {};
		const struct shell_value before = { .text = (char *)cases[i].before,
						    .size = strlen(cases[i].before) },
					 written = { .text = (char *)cases[i].written,
						     .size = strlen(cases[i].written) };

		assert_int_equal(shell_script_add(&script, "f", cases[i].text,
						  strlen(cases[i].text), &diag),
				 0);
		assert_int_equal(shell_edit_reverse(&script, X, &before, &written, &diag),
				 !streq(cases[i].text, cases[i].result));
		assert_string_equal(script.files[0].text, cases[i].result);
	}
}

/* Fragments that follow each other share their variables. */
static void test_two_files(void **state _unused_)
{
	_cleanup_(shell_script_done) struct shell_script script = {};
	_cleanup_shell_value_ struct shell_value value = {};
	_cleanup_diag_ struct diag diag = {};

	assert_int_equal(shell_script_add(&script, "a", X "=a\n", strlen(X "=a\n"), &diag), 0);
	assert_int_equal(shell_script_add(&script, "b", X "=\"$" X " " D "\"\n",
					  strlen(X "=\"$" X " " D "\"\n"), &diag),
			 0);
	assert_int_equal(shell_script_value(&script, X, &value), 0);
	assert_string_equal(value.text, "a " D);
	assert_int_equal(value.origins[0].file, 0);
	assert_int_equal(value.origins[2].file, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_value),
		cmocka_unit_test(test_edit),
		cmocka_unit_test(test_reverse),
		cmocka_unit_test(test_two_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
