/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/plot.h"

#include "base/str.h"
#include "bench/compare.h"
#include "bench/result.h"
#include "bench/summary.h"

#include <math.h>

/* The page, in pixels. */
enum {
	WIDTH = 1000,
	MARGIN = 16,
	LABELS = 150, /* names of the arms */
	LEFT = MARGIN + LABELS,
	LEFT_WIDTH = 390,		 /* samples */
	RIGHT = LEFT + LEFT_WIDTH + 230, /* differences, their names before them */
	RIGHT_WIDTH = WIDTH - MARGIN - RIGHT - 10,
	ROW = 30,
	SAMPLES = 12, /* of a row: the upper part has the samples */
	HEAD = 64,    /* title of the page */
	PANEL_HEAD = 30,
	PANEL_FOOT = 34, /* axis */
	MAX_TICKS = 5,
};

/* Colours that also colour-blind readers and printers tell apart (Okabe and Ito). */
static const char *const colours[] = { "#0072b2", "#d55e00", "#009e73",
				       "#cc79a7", "#e69f00", "#56b4e9" };

struct axis {
	double min, max;
	double from, width; /* pixels */
};

static double place(const struct axis *axis, double value)
{
	double share = (value - axis->min) / (axis->max - axis->min);

	return axis->from + axis->width * fmin(1, fmax(0, share));
}

static void print_escaped(FILE *f, const char *s)
{
	for (; *s; s++)
		switch (*s) {
		case '<':
			fputs("&lt;", f);
			break;
		case '>':
			fputs("&gt;", f);
			break;
		case '&':
			fputs("&amp;", f);
			break;
		case '"':
			fputs("&quot;", f);
			break;
		default:
			fputc(*s, f);
		}
}

static void print_text(FILE *f, double x, double y, const char *attributes, const char *text)
{
	/* control characters have no place in XML, bytes that are not UTF-8 neither */
	_cleanup_free_ char *safe = str_escape(text, strlen(text));

	fprintf(f, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, attributes);
	print_escaped(f, safe ? safe : "");
	fputs("</text>\n", f);
}

/* 1, 2 or 5 times a power of ten: a step that gives at most MAX_TICKS ticks. */
static double tick_step(double range)
{
	double power = pow(10, floor(log10(range / MAX_TICKS)));
	double rest = range / MAX_TICKS / power;

	return power * (rest <= 1 ? 1 : rest <= 2 ? 2 : rest <= 5 ? 5 : 10);
}

static void print_axis(FILE *f, const struct axis *axis, double top, double bottom,
		       const char *unit)
{
	double step = tick_step(axis->max - axis->min);

	for (double tick = ceil(axis->min / step) * step; tick <= axis->max; tick += step) {
		double x = place(axis, tick);
		char text[32];

		(void)snprintf(text, sizeof(text), "%.6g", fabs(tick) < step / 2 ? 0 : tick);
		fprintf(f, "<path d=\"M%.1f %.1fV%.1f\" stroke=\"#ddd\"/>\n", x, top, bottom);
		print_text(f, x, bottom + 14, "text-anchor=\"middle\" class=\"s\"", text);
	}
	print_text(f, axis->from + axis->width, bottom + 28, "text-anchor=\"end\" class=\"s\"",
		   unit);
}

/* --- samples --- */

/* The axis of a workload: from the least to where all but the slowest samples are. */
static int fit_samples(const struct plot_file *files, size_t n, const char *title,
		       struct axis *axis)
{
	double least = INFINITY, most = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t c = 0; c < files[i].result->n_cases; c++) {
			_cleanup_free_ char *own = NULL;

			if (result_case_title(&files[i].result->cases[c], &own) < 0)
				return -ENOMEM;
			if (!streq(own, title))
				continue;
			for (size_t a = 0; a < files[i].summary->n_arms; a++) {
				const struct summary_arm *arm =
					&files[i].summary->cases[c].arms[a];

				if (arm->n == 0)
					continue;
				least = fmin(least, arm->least);
				most = fmax(
					most,
					fmin(arm->cost.value *
						     (1 + 3 * (isnan(arm->cv) ? 0 : arm->cv)),
					     2 * arm->cost.value));
			}
		}
	if (!(most > 0))
		return 0;
	most = fmax(most, least * 1.001);
	*axis = (struct axis){ least - (most - least) * 0.04, most, LEFT, LEFT_WIDTH };
	return 1;
}

/* Every sample a short stroke, spread over the row so that many at one place can be seen. */
static void print_samples(FILE *f, const struct axis *axis, const struct result *result,
			  size_t c, size_t arm, const char *colour, double y)
{
	unsigned jitter = 0, beyond = 0;

	fprintf(f, "<path class=\"d\" stroke=\"%s\" d=\"", colour);
	for (size_t i = 0; i < result->n_samples; i++) {
		const struct result_sample *s = &result->samples[i];
		double cost = summary_cost(s, METRIC_CPU);

		if (s->c != c || s->arm != arm || isnan(cost))
			continue;
		beyond += cost > axis->max;
		jitter = (jitter + 7) % 16; /* visits all of 0 to 15 */
		fprintf(f, "M%.1f %.1fv5", place(axis, cost),
			y + (double)jitter * SAMPLES / 16);
	}
	fputs("\"/>\n", f);
	if (beyond > 0) {
		char text[32];

		(void)snprintf(text, sizeof(text), "+%u", beyond);
		print_text(f, axis->from + axis->width + 4, y + SAMPLES, "class=\"s\"", text);
	}
}

/* A mark at the value and a bar over the interval, if there is one. */
static void print_interval(FILE *f, const struct axis *axis, double value, double lo, double hi,
			   double y, const char *colour)
{
	if (isfinite(hi - lo))
		fprintf(f, "<path d=\"M%.1f %.1fH%.1f\" stroke=\"%s\" stroke-width=\"3\"/>\n",
			place(axis, lo), y, place(axis, hi), colour);
	fprintf(f, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\" stroke=\"#fff\"/>\n",
		place(axis, value), y, colour);
}

static const char *kind_of(const struct result *result)
{
	const char *kind = result->text[CONTEXT_LABEL] ? result->text[CONTEXT_LABEL]
						       : result->text[CONTEXT_MEMCG];

	return kind ? kind : "?";
}

static int print_arm_label(FILE *f, const struct result *result, size_t arm, bool many,
			   double y)
{
	_cleanup_free_ char *text = NULL;
	int r;

	if (many)
		r = str_printf(&text, "%.12s: %s", kind_of(result), result->arms[arm].name);
	else
		r = str_printf(&text, "%s", result->arms[arm].name);
	if (r < 0)
		return r;
	print_text(f, LEFT - 8, y + 4, "text-anchor=\"end\"", text);
	return 0;
}

/* --- differences --- */

/* One interval on the right: where it came from does not matter any more. */
struct difference {
	char *name;
	size_t row; /* beside which samples it is drawn */
	struct stats_difference d;
	enum stats_verdict verdict;
	double resolution; /* a ratio; NAN: no control */
};

struct differences {
	struct difference *items;
	size_t n;
};

static void differences_done(struct differences *differences)
{
	for (size_t i = 0; i < differences->n; i++)
		free(differences->items[i].name);
	free(differences->items);
}

/* Takes name over. */
static int add_difference(struct differences *differences, char *name, size_t row,
			  const struct stats_difference *d, enum stats_verdict verdict,
			  double resolution)
{
	struct difference *items =
		reallocarray(differences->items, differences->n + 1, sizeof(*items));

	if (!items) {
		free(name);
		return -ENOMEM;
	}
	differences->items = items;
	items[differences->n++] = (struct difference){ name, row, *d, verdict, resolution };
	return 0;
}

static int find_in_file(const struct plot_file *file, size_t c, struct differences *ret)
{
	const struct summary_case *one = &file->summary->cases[c];
	int r = 0;

	for (size_t i = 0; i < one->n_differences && r >= 0; i++) {
		const struct summary_difference *d = &one->differences[i];
		size_t row = 0;
		char *name;

		for (size_t arm = 0; arm < d->arm; arm++)
			row += one->arms[arm].n > 0;
		r = str_printf(&name, "%s - %s", file->result->arms[d->arm].name,
			       file->result->arms[0].name);
		if (r >= 0)
			r = add_difference(ret, name, row, &d->cpu, d->verdict,
					   one->control.cpu.n > 0
						   ? stats_resolution(&one->control.cpu)
						   : NAN);
	}
	return r;
}

static int find_in_comparison(const struct comparison *comparison, const char *title,
			      struct differences *ret)
{
	int r = 0;

	for (size_t i = 0; i < comparison->n && r >= 0; i++) {
		const struct compare_row *row = &comparison->rows[i];
		char *name;

		if (!streq(row->title, title))
			continue;
		r = str_printf(&name, "%s - %.12s", row->arm, comparison->sides[0].name);
		if (r >= 0)
			r = add_difference(ret, name, ret->n, &row->d, row->verdict, NAN);
	}
	return r;
}

static void fit_differences(const struct differences *differences, struct axis *axis)
{
	double most = 0.005;

	for (size_t i = 0; i < differences->n; i++) {
		const struct difference *d = &differences->items[i];
		double ends[] = { d->d.value, d->d.lo, d->d.hi,
				  isnan(d->resolution) ? 0 : d->resolution };

		for (size_t k = 0; k < ARRAY_SIZE(ends); k++)
			if (isfinite(ends[k]))
				most = fmax(most, fabs(ends[k]));
	}
	most = fmin(100 * expm1(most * 1.1), 200);
	*axis = (struct axis){ -most, most, RIGHT, RIGHT_WIDTH };
}

static void print_differences(FILE *f, const struct differences *differences, double top,
			      double bottom)
{
	struct axis axis;

	fit_differences(differences, &axis);
	for (size_t i = 0; i < differences->n; i++) {
		double r = 100 * differences->items[i].resolution, from, to;

		if (!isfinite(r))
			continue;
		from = place(&axis, -r);
		to = place(&axis, r);
		fprintf(f,
			"<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" "
			"fill=\"#eee\"/>\n",
			from, top + ROW * (double)differences->items[i].row + 2, to - from,
			ROW - 4);
	}
	print_axis(f, &axis, top, bottom, "% costs more");
	fprintf(f, "<path d=\"M%.1f %.1fV%.1f\" stroke=\"#333\"/>\n", place(&axis, 0), top,
		bottom);
	for (size_t i = 0; i < differences->n; i++) {
		const struct difference *d = &differences->items[i];
		double y = top + ROW * ((double)d->row + 0.5);
		bool sure = d->verdict == STATS_COST || d->verdict == STATS_SAVING;
		char text[32];

		print_interval(f, &axis, 100 * expm1(d->d.value),
			       isfinite(d->d.lo) ? 100 * expm1(d->d.lo) : NAN,
			       100 * expm1(d->d.hi), y, sure ? "#d55e00" : "#888");
		(void)snprintf(text, sizeof(text), "%+.1f %%", 100 * expm1(d->d.value));
		print_text(f, RIGHT - 8, y + 4,
			   sure ? "text-anchor=\"end\" font-weight=\"bold\""
				: "text-anchor=\"end\"",
			   text);
		print_text(f, RIGHT - 70, y + 4, "text-anchor=\"end\"", d->name);
	}
}

/* --- panels --- */

/* Of several boots the controls would only be in the way. */
static bool is_drawn(const struct plot_file *file, size_t c, size_t arm, bool many)
{
	return file->summary->cases[c].arms[arm].n > 0 &&
	       !(many && file->result->arms[arm].control);
}

/* Arms of one boot have a colour each, boots one for each kind. */
static const char *get_colour(const struct plot_file *files, size_t n, size_t file, size_t arm)
{
	size_t first = 0;

	if (n == 1)
		return colours[arm % ARRAY_SIZE(colours)];
	while (!streq(kind_of(files[first].result), kind_of(files[file].result)))
		first++;
	return colours[first % ARRAY_SIZE(colours)];
}

/* How many arms of all files have that workload. */
static size_t count_rows(const struct plot_file *files, size_t n, const char *title)
{
	size_t rows = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t c = 0; c < files[i].result->n_cases; c++) {
			_cleanup_free_ char *own = NULL;

			if (result_case_title(&files[i].result->cases[c], &own) < 0 ||
			    !streq(own, title))
				continue;
			for (size_t a = 0; a < files[i].summary->n_arms; a++)
				rows += is_drawn(&files[i], c, a, n > 1);
		}
	return rows;
}

static int print_file_rows(FILE *f, const struct plot_file *files, size_t n, size_t i, size_t c,
			   const struct axis *axis, double *y)
{
	const struct plot_file *file = &files[i];
	int r = 0;

	for (size_t a = 0; a < file->summary->n_arms && r >= 0; a++) {
		const struct summary_arm *arm = &file->summary->cases[c].arms[a];

		if (!is_drawn(file, c, a, n > 1))
			continue;
		print_samples(f, axis, file->result, c, a, get_colour(files, n, i, a), *y + 3);
		print_interval(f, axis, arm->cost.value, arm->cost.lo, arm->cost.hi,
			       *y + SAMPLES + 12, "#222");
		r = print_arm_label(f, file->result, a, n > 1, *y + ROW / 2.0);
		*y += ROW;
	}
	return r;
}

/* One workload; *y moves below it. */
static int print_panel(FILE *f, const struct plot_file *files, size_t n,
		       const struct comparison *comparison, const char *title, const char *unit,
		       double *y)
{
	_cleanup_(differences_done) struct differences differences = {};
	_cleanup_free_ char *head = NULL, *axis_unit = NULL;
	size_t rows = count_rows(files, n, title);
	double top = *y + PANEL_HEAD, row = top, bottom;
	struct axis axis;
	int r = fit_samples(files, n, title, &axis);

	if (r <= 0)
		return r;
	r = comparison ? find_in_comparison(comparison, title, &differences) : 0;
	for (size_t i = 0; i < n && r >= 0 && !comparison; i++)
		for (size_t c = 0; c < files[i].result->n_cases && r >= 0; c++) {
			_cleanup_free_ char *own = NULL;

			r = result_case_title(&files[i].result->cases[c], &own);
			if (r >= 0 && streq(own, title))
				r = find_in_file(&files[i], c, &differences);
		}
	if (r >= 0)
		r = str_printf(&head, "%s", title);
	if (r >= 0)
		r = str_printf(&axis_unit, "ns of CPU per %s", unit);
	if (r < 0)
		return r;
	bottom = top + ROW * (double)MAX(rows, differences.n);
	print_text(f, MARGIN, *y + 18, "class=\"h\"", head);
	print_axis(f, &axis, top, bottom, axis_unit);
	for (size_t i = 0; i < n && r >= 0; i++)
		for (size_t c = 0; c < files[i].result->n_cases && r >= 0; c++) {
			_cleanup_free_ char *own = NULL;

			r = result_case_title(&files[i].result->cases[c], &own);
			if (r >= 0 && streq(own, title))
				r = print_file_rows(f, files, n, i, c, &axis, &row);
		}
	if (differences.n > 0)
		print_differences(f, &differences, top, bottom);
	*y = bottom + PANEL_FOOT;
	return r;
}

static double page_height(const struct plot_file *files, size_t n, const struct strv *titles,
			  const struct comparison *comparison)
{
	double height = HEAD + MARGIN;

	for (size_t i = 0; i < titles->n; i++) {
		size_t rows = count_rows(files, n, titles->items[i]), differences = 0;

		for (size_t k = 0; comparison && k < comparison->n; k++)
			differences += streq(comparison->rows[k].title, titles->items[i]);
		height += PANEL_HEAD + PANEL_FOOT + ROW * (double)MAX(rows, differences);
	}
	return height;
}

/* The question that is answered: a child against the root is not on against off. */
static const char *get_title(const struct plot_file *files, size_t n,
			     const struct comparison *comparison)
{
	const struct result *first = files[0].result;

	if (comparison && comparison->on_off)
		return "What memcg costs: boots with it on against boots with it off";
	if (n > 1)
		return "Boots side by side";
	if (first->arms[0].kind == ARM_ROOT && first->n_arms > 2)
		return "What charging in a child cgroup costs, against the root cgroup of one "
		       "boot";
	return "One place in one boot: nothing is compared";
}

static void print_head(FILE *f, const struct plot_file *files, size_t n,
		       const struct comparison *comparison, double height)
{
	const struct result *first = files[0].result;
	_cleanup_free_ char *text = NULL;

	fprintf(f,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\" "
		"viewBox=\"0 0 %d %.0f\" font-family=\"sans-serif\" font-size=\"12\" "
		"fill=\"#222\">\n"
		"<style>.h{font-size:15px;font-weight:bold}.s{font-size:10.5px;fill:#666}"
		".d{fill:none;stroke-width:1.5;opacity:.6}</style>\n"
		"<rect width=\"%d\" height=\"%.0f\" fill=\"#fff\"/>\n",
		WIDTH, height, WIDTH, height, WIDTH, height);
	print_text(f, MARGIN, 26, "class=\"h\"", get_title(files, n, comparison));
	if (str_printf(&text, "Linux %s, %s, %.0f CPUs; memcg-policy %s",
		       first->text[CONTEXT_KERNEL] ? first->text[CONTEXT_KERNEL] : "?",
		       first->text[CONTEXT_CPU] ? first->text[CONTEXT_CPU] : "unknown CPU",
		       first->numbers[CONTEXT_CPUS],
		       first->text[CONTEXT_VERSION] ? first->text[CONTEXT_VERSION] : "?") >= 0)
		print_text(f, MARGIN, 44, "class=\"s\"", text);
	print_text(
		f, MARGIN, 58, "class=\"s\"",
		"left: every sample, median and its 95 % interval; right: difference and its "
		"95 % interval, orange where it is significant, grey band: what the control "
		"resolves");
}

int plot_print(const struct plot_file *files, size_t n, const struct comparison *comparison,
	       FILE *f)
{
	_cleanup_strv_ struct strv titles = {}, units = {};
	double y = HEAD;
	int r = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t c = 0; c < files[i].result->n_cases && r >= 0; c++) {
			_cleanup_free_ char *title = NULL;

			r = result_case_title(&files[i].result->cases[c], &title);
			if (r >= 0 && strv_add_unique(&titles, title))
				strv_add(&units, files[i].result->cases[c].unit);
		}
	if (r >= 0)
		r = strv_error(&titles);
	if (r >= 0)
		r = strv_error(&units);
	if (r < 0)
		return r;
	print_head(f, files, n, comparison, page_height(files, n, &titles, comparison));
	for (size_t i = 0; i < titles.n && r >= 0; i++)
		r = print_panel(f, files, n, comparison, titles.items[i], units.items[i], &y);
	fputs("</svg>\n", f);
	return r < 0 ? r : ferror(f) ? -EIO : 0;
}
