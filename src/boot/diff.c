/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot/diff.h"

#include <stdio.h>

enum {
	CONTEXT = 3,
	/* beyond so many differences (Myers' D, which costs memory by its square) the middle
	 * is shown as replaced whole: correct, only longer */
	MAX_DIFFERENCES = 1000,
};

struct lines {
	const char **start; /* n + 1 of them: start[i + 1] ends line i */
	size_t n;
};

static int split_lines(const char *text, size_t size, struct lines *ret)
{
	size_t n = 0, k = 0;
	const char *end = text + size;

	for (const char *p = text; p < end; n++) {
		const char *lf = memchr(p, '\n', (size_t)(end - p));

		p = lf ? lf + 1 : end;
	}
	ret->start = calloc(n + 1, sizeof(*ret->start));
	if (!ret->start)
		return -ENOMEM;
	for (const char *p = text; k < n; k++) {
		const char *lf = memchr(p, '\n', (size_t)(end - p));

		ret->start[k] = p;
		p = lf ? lf + 1 : end;
	}
	ret->start[n] = end;
	ret->n = n;
	return 0;
}

static bool same_line(const struct lines *a, size_t i, const struct lines *b, size_t j)
{
	size_t n = (size_t)(a->start[i + 1] - a->start[i]);

	return n == (size_t)(b->start[j + 1] - b->start[j]) &&
	       memcmp(a->start[i], b->start[j], n) == 0;
}

/* The part between the common head and tail, by Myers' greedy algorithm. */
struct middle {
	const struct lines *a, *b;
	size_t head, n, m; /* lines of a and b in the middle */
	bool *gone, *came; /* per line of a and of b */
};

static bool same_middle(const struct middle *mid, size_t x, size_t y)
{
	return same_line(mid->a, mid->head + x, mid->b, mid->head + y);
}

/* Walks the saved rounds backwards and marks the lines. v[d] has 2d + 1 values, k from -d. */
static void mark_path(const struct middle *mid, int **v, int d)
{
	int x = (int)mid->n, y = (int)mid->m;

	for (; d > 0; d--) {
		int k = x - y, *prev = v[d - 1] + (d - 1);
		bool down = k == -d || (k != d && prev[k - 1] < prev[k + 1]);
		int from_k = down ? k + 1 : k - 1, from_x = prev[from_k],
		    from_y = from_x - from_k;

		if (down)
			mid->came[mid->head + (size_t)from_y] = true;
		else
			mid->gone[mid->head + (size_t)from_x] = true;
		x = from_x;
		y = from_y;
	}
}

/* 1 when marked, 0 when there are too many differences. */
static int compare_middle(const struct middle *mid)
{
	int n = (int)mid->n, m = (int)mid->m, found = 0, d, last = -1,
	    most = MIN(n + m, MAX_DIFFERENCES);
	int **v = calloc((size_t)most + 1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	for (d = 0; d <= most && found == 0; d++) {
		int *now = malloc((size_t)(2 * d + 1) * sizeof(*now)), *prev;

		if (!now) {
			found = -ENOMEM;
			break;
		}
		v[d] = now;
		last = d;
		now += d;
		prev = d > 0 ? v[d - 1] + (d - 1) : NULL;
		for (int k = -d; k <= d; k += 2) {
			int x = d == 0 ? 0
				: k == -d || (k != d && prev[k - 1] < prev[k + 1])
					? prev[k + 1]
					: prev[k - 1] + 1;
			int y = x - k;

			while (x < n && y < m && x >= 0 && y >= 0 &&
			       same_middle(mid, (size_t)x, (size_t)y)) {
				x++;
				y++;
			}
			now[k] = x;
			if (x >= n && y >= m) {
				mark_path(mid, v, d);
				found = 1;
				break;
			}
		}
	}
	for (d = 0; d <= last; d++)
		free(v[d]);
	free(v);
	return found;
}

static int mark_lines(const struct lines *a, const struct lines *b, bool *gone, bool *came)
{
	struct middle mid = { .a = a, .b = b, .gone = gone, .came = came };
	size_t tail = 0;
	int r;

	while (mid.head < a->n && mid.head < b->n && same_line(a, mid.head, b, mid.head))
		mid.head++;
	while (tail < a->n - mid.head && tail < b->n - mid.head &&
	       same_line(a, a->n - 1 - tail, b, b->n - 1 - tail))
		tail++;
	mid.n = a->n - mid.head - tail;
	mid.m = b->n - mid.head - tail;
	r = mid.n + mid.m < INT32_MAX / 4 ? compare_middle(&mid) : 0;
	if (r != 0)
		return r;
	memset(gone + mid.head, true, mid.n);
	memset(came + mid.head, true, mid.m);
	return 0;
}

static void print_line(struct strbuf *out, char mark, const struct lines *lines, size_t i)
{
	size_t n = (size_t)(lines->start[i + 1] - lines->start[i]);

	strbuf_addc(out, mark);
	strbuf_add(out, lines->start[i], n);
	if (n == 0 || lines->start[i][n - 1] != '\n')
		strbuf_adds(out, "\n\\ No newline at end of file\n");
}

/* "-3,7" as diff prints it: an empty range names the line before it. */
static void print_range(struct strbuf *out, char mark, size_t from, size_t n)
{
	strbuf_addf(out, "%c%zu", mark, n == 0 ? from : from + 1);
	if (n != 1)
		strbuf_addf(out, ",%zu", n);
}

/* Prints a[i0..i1) and b[j0..j1) as one hunk. */
static void print_hunk(struct strbuf *out, const struct lines *a, const struct lines *b,
		       const bool *gone, const bool *came, size_t i0, size_t i1, size_t j0,
		       size_t j1)
{
	strbuf_adds(out, "@@ ");
	print_range(out, '-', i0, i1 - i0);
	strbuf_addc(out, ' ');
	print_range(out, '+', j0, j1 - j0);
	strbuf_adds(out, " @@\n");
	while (i0 < i1 || j0 < j1) {
		if (i0 < i1 && gone[i0])
			print_line(out, '-', a, i0++);
		else if (j0 < j1 && came[j0])
			print_line(out, '+', b, j0++);
		else {
			print_line(out, ' ', a, i0++);
			j0++;
		}
	}
}

static void print_hunks(struct strbuf *out, const struct lines *a, const struct lines *b,
			const bool *gone, const bool *came)
{
	size_t i = 0, j = 0;

	while (i < a->n || j < b->n) {
		size_t i0, j0, quiet = 0;

		if (i < a->n && j < b->n && !gone[i] && !came[j]) {
			i++;
			j++;
			continue;
		}
		if (!(i < a->n && gone[i]) && !(j < b->n && came[j]))
			break; /* cannot be: unchanged lines come in pairs */
		i0 = i - MIN(i, (size_t)CONTEXT);
		j0 = j - (i - i0);
		/* until 2 * CONTEXT unchanged lines or the end */
		while ((i < a->n || j < b->n) && quiet <= 2 * CONTEXT) {
			if (i < a->n && gone[i]) {
				i++;
				quiet = 0;
			} else if (j < b->n && came[j]) {
				j++;
				quiet = 0;
			} else {
				i++;
				j++;
				quiet++;
			}
		}
		if (quiet > CONTEXT) {
			i -= quiet - CONTEXT;
			j -= quiet - CONTEXT;
		}
		print_hunk(out, a, b, gone, came, i0, i, j0, j);
	}
}

static void linesp(struct lines *lines)
{
	free(lines->start);
}

void diff_unified(struct strbuf *out, const char *old_path, const char *old, size_t old_size,
		  const char *new_path, const char *new, size_t new_size)
{
	_cleanup_(linesp) struct lines a = {}, b = {};
	_cleanup_free_ bool *gone = NULL, *came = NULL;

	if (old_size == new_size && (old_size == 0 || memcmp(old, new, old_size) == 0) &&
	    old_path && new_path)
		return;
	/* as diff(1) tells them */
	if (memchr(old ? old : "", 0, old_size) || memchr(new ? new : "", 0, new_size)) {
		strbuf_addf(out, "Binary files %s and %s differ\n",
			    old_path ? old_path : "/dev/null",
			    new_path ? new_path : "/dev/null");
		return;
	}
	if (split_lines(old ? old : "", old_size, &a) < 0 ||
	    split_lines(new ? new : "", new_size, &b) < 0) {
		out->failed = true;
		return;
	}
	gone = calloc(a.n + 1, sizeof(*gone));
	came = calloc(b.n + 1, sizeof(*came));
	if (!gone || !came || mark_lines(&a, &b, gone, came) < 0) {
		out->failed = true;
		return;
	}
	strbuf_addf(out, "--- %s\n+++ %s\n", old_path ? old_path : "/dev/null",
		    new_path ? new_path : "/dev/null");
	print_hunks(out, &a, &b, gone, came);
}
