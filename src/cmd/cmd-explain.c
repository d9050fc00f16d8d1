/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/json.h"
#include "base/root.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/host-output.h"
#include "cmd/host.h"
#include "ui/output.h"

#include <stdio.h>

/* Text of other people's files, safe on a terminal. */
static void print_safe(const char *text)
{
	_cleanup_free_ char *safe = str_escape(text, strlen(text));

	fputs(safe ? safe : "?", stdout);
}

/* Words of text from column on, the lines after the first indented, at most 80 columns. */
static void print_wrapped(size_t column, size_t indent, const char *text)
{
	enum { WIDTH = 80 };
	_cleanup_free_ char *safe = str_escape(text, strlen(text));
	const char *p = safe ? safe : "?";

	for (bool first = true; *p; first = false) {
		size_t n = strcspn(p, " ");

		if (!first && column + 1 + n > WIDTH) {
			printf("\n%*s", (int)indent, "");
			column = indent;
		} else if (!first) {
			putchar(' ');
			column++;
		}
		(void)fwrite(p, 1, n, stdout); /* main looks at the stream's state */
		column += n;
		p += n;
		p += strspn(p, " ");
	}
	putchar('\n');
}

static void print_line(const char *text, const char *path, unsigned line)
{
	fputs("  ", stdout);
	print_safe(text);
	if (path) {
		fputs("\n      ", stdout);
		print_safe(path);
		if (line > 0)
			printf(":%u", line);
	}
	putchar('\n');
}

static void heading(const struct cmd *cmd, const char *text)
{
	printf("\n%s%s%s\n", term_begin(cmd->term, TERM_BOLD), text, term_end(cmd->term));
}

static void print_need(const struct need *need)
{
	fputs("  ", stdout);
	print_safe(need->title);
	printf(" (%s), level %s%s\n    with memcg off: ", need->id,
	       need_level_to_string(need->level),
	       need->in_use == NEED_UNKNOWN ? ", which may be in use" : "");
	print_wrapped(strlen("    with memcg off: "), 6, need->effect);
	if (need->documentation) {
		fputs("    see ", stdout);
		print_safe(need->documentation);
		putchar('\n');
	}
	for (size_t i = 0; i < need->n_evidence; i++) {
		const struct need_evidence *e = &need->evidence[i];

		fputs("    ", stdout);
		print_safe(e->text);
		fputs("\n      ", stdout);
		print_safe(e->path);
		if (e->line > 0)
			printf(":%u", e->line);
		putchar('\n');
	}
}

static void print_needs(const struct cmd *cmd, const struct needs *needs)
{
	size_t used = 0, unused = 0;

	heading(cmd, "Who needs it here");
	for (size_t i = 0; i < needs->n; i++)
		if (needs->items[i].in_use == NEED_NO)
			unused++;
		else {
			print_need(&needs->items[i]);
			used++;
		}
	if (used == 0)
		puts("  nothing that needs memcg was seen in use or enabled at boot");
	if (unused > 0) {
		fputs("  installed, but neither in use nor enabled:", stdout);
		for (size_t i = 0; i < needs->n; i++)
			if (needs->items[i].in_use == NEED_NO) {
				unused--;
				putchar(' ');
				print_safe(needs->items[i].title);
				if (unused > 0)
					putchar(',');
			}
		putchar('\n');
	}
	if (needs->incomplete)
		puts("  not every detector could be run: see the warnings");
	fputs("  ", stdout);
	print_wrapped(
		2, 2,
		"Not visible on disk: limits kept in a database (Incus, LXD, a Kubernetes "
		"API), and what only a running program knows.");
}

/* Whether "off" is wished for by the policy, or would be were it not for a need. */
static bool off_is_wished(const struct policy *policy)
{
	return policy->memcg.value == POLICY_OFF ||
	       (policy->memcg.value == POLICY_AUTO && policy->if_unneeded.value == POLICY_OFF);
}

/* kernel-parameters.txt, cgroup.memory=: nosocket and nokmem stop a part of the accounting. */
static void print_middle_way(const struct cmd *cmd, const struct host *host)
{
	bool limits = false;

	for (size_t i = 0; i < host->needs.n; i++)
		limits = limits || (host->needs.items[i].in_use == NEED_YES &&
				    host->needs.items[i].level == NEED_LIMITS);
	if (!limits || !off_is_wished(&host->policy))
		return;
	heading(cmd, "A middle way");
	fputs("  ", stdout);
	print_wrapped(
		2, 2,
		"The policy would like memcg off, and software here has use for memory "
		"limits. cgroup.memory=nokmem,nosocket on the kernel command line keeps "
		"limits on the memory of processes and files, and saves the accounting of "
		"kernel memory and of socket buffers, which then escape the limits. It is "
		"not set by memcg-policy. What memcg costs on this host: memcg-policy "
		"bench");
}

static void print_text(const struct cmd *cmd, const struct host *host)
{
	const struct decision *decision = &host->decision;

	printf("%sDecision: %s%s", term_begin(cmd->term, TERM_BOLD),
	       decision->memcg == DECISION_LEAVE ? "leave memcg as it is"
	       : decision->memcg == DECISION_ON	 ? "memcg on"
						 : "memcg off",
	       term_end(cmd->term));
	if (!streq(root_path(cmd->root), "/")) {
		fputs(" (", stdout);
		print_safe(root_path(cmd->root));
		putchar(')');
	}
	putchar('\n');
	heading(cmd, "Because");
	for (size_t i = 0; i < decision->n_reasons; i++)
		print_line(decision->reasons[i].text, decision->reasons[i].path,
			   decision->reasons[i].line);
	print_needs(cmd, &host->needs);
	print_middle_way(cmd, host);
	heading(cmd, "Where that stands");
	host_print(cmd, host);
	putchar('\n');
	host_print_verdict(cmd, host);
}

int cmd_explain(const struct cmd *cmd)
{
	_cleanup_diag_ struct diag diag = {};
	_cleanup_host_ struct host host = {};
	_cleanup_json_ struct json *json = NULL;
	int r;

	r = host_load(cmd->root, HOST_NEEDS | HOST_LIVE | HOST_VERDICT, &host, &diag);
	if (r < 0) {
		output_error(cmd->args, cmd->term, &diag, "cannot tell what is decided");
		return EXIT_FAILED;
	}
	if (cmd->args->json != JSON_OFF) {
		json = host_to_json(cmd, &host, &diag);
		r = output_json(cmd->args, json);
		if (r < 0)
			return r;
	} else
		print_text(cmd, &host);
	term_print_diag(cmd->term, stderr, &diag);
	return EXIT_OK;
}
