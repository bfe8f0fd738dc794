/* One cell of the grid. Few bytes, since there may be 100,000 of them in an answer: what has its
 * default is left out, and what stands in the run's own row or record is not said again. */
#include "report/cell.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/num.h"

const struct run_row *report_cell_shown(const struct cell *c)
{
	return c->ok.run_id ? &c->ok : &c->last;
}

static bool is_whole(double x)
{
	return x == floor(x) && fabs(x) < 9007199254740992.0;
}

/* Not by buf_printf, which must look twice: numbers are most of the work. */
static void put_number(struct buf *b, const char *name, double x)
{
	char text[32];
	if (!isfinite(x))
		return;
	buf_puts(b, name);
	if (is_whole(x))
		(void)snprintf(text, sizeof text, "%lld", (long long)x);
	else
		(void)snprintf(text, sizeof text, "%.15g", x);
	buf_puts(b, text);
}

/* Four digits: what is only drawn. */
static void put_share(struct buf *b, const char *name, double x)
{
	char text[32];
	if (!isfinite(x))
		return;
	(void)snprintf(text, sizeof text, "%.4g", x + 0.0); /* no -0 */
	buf_puts(b, name);
	buf_puts(b, text);
}

/* Ids, kinds and statuses are words that need no escape: record_check saw to it. */
static void put_ok(struct buf *b, const struct run_row *ok)
{
	buf_puts(b, "{\"run_id\":\"");
	buf_puts(b, ok->run_id);
	buf_puts(b, "\"");
	if (ok->kind && strcmp(ok->kind, "measured") != 0)
		buf_printf(b, ",\"kind\":\"%s\"", ok->kind);
	put_number(b, ",\"wall_s\":", ok->wall_s);
	put_share(b, ",\"share\":", ok->wall_s / ok->process_wall_s);
	put_number(b, ",\"samples\":", ok->samples);
	if (!known(ok->caveats))
		buf_puts(b, ",\"caveats\":null");
	else if (ok->caveats > 0)
		put_number(b, ",\"caveats\":", ok->caveats);
	buf_puts(b, "}");
}

void report_cell_put(struct buf *b, const struct cell *c)
{
	bool later = !c->ok.run_id || strcmp(c->ok.run_id, c->last.run_id) != 0;
	buf_printf(b, "{\"runs\":%llu,\"ok\":", (unsigned long long)c->runs);
	if (c->ok.run_id)
		put_ok(b, &c->ok);
	else
		buf_puts(b, "null");
	if (later)
		buf_printf(b, ",\"last\":{\"run_id\":\"%s\",\"status\":\"%s\"}", c->last.run_id,
			   c->last.status);
}

/* Caveats that every measurement of its kind has, or that have a mark of their own: they are told
 * with the measurement and do not mark its cell. web/src/words.ts has the same list. */
static const char *const routine[] = {
	"not_profiled",
	"ci_not_95",
	"multi_process_roi",
	"conformance_missing",
	"imported_rounded",
	"imported_incomplete",
	"source_also_says",
	"operations_cut",
	"exit_unknown",
	"single_execution",
	"unstable",
	"two_levels",
	"drift",
};

static bool is_routine(const char *code)
{
	for (size_t i = 0; i < sizeof routine / sizeof *routine; i++)
		if (strcmp(routine[i], code) == 0)
			return true;
	return false;
}

static size_t count_notable(const struct record_body *r)
{
	size_t n = 0;
	for (size_t i = 0; i < r->caveats.n; i++)
		n += r->caveats.items[i].code && !is_routine(r->caveats.items[i].code);
	return n;
}

/* In thousandths of the median: a dot of the page is some hundredths wide. */
static void put_dots(struct buf *b, const struct record_body *r)
{
	double median = r->roi.wall_s;
	if (r->roi.runs_s.n < 2 || !(median > 0))
		return;
	buf_puts(b, ",\"dots\":[");
	for (size_t i = 0; i < r->roi.runs_s.n; i++) {
		double x = r->roi.runs_s.items[i];
		buf_puts(b, i ? "," : "");
		if (isfinite(x))
			put_number(b, "", round((x / median - 1) * 1000) + 0.0);
		else
			buf_puts(b, "null");
	}
	buf_puts(b, "]");
}

void report_cell_put_facts(struct buf *b, const struct record *rec, bool dots)
{
	const struct record_body *r = &rec->body;
	size_t notable = count_notable(r);
	put_share(b, ",\"spread\":", r->roi.spread);
	if (r->roi.two_levels == YES)
		buf_puts(b, ",\"two_levels\":true");
	if (r->roi.stable == NO || r->roi.drift == YES)
		buf_puts(b, ",\"unstable\":true");
	if (notable)
		buf_printf(b, ",\"notable\":%zu", notable);
	if (dots)
		put_dots(b, r);
	buf_puts(b, "}");
}
