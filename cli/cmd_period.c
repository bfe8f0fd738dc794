/* roimeter period: when a run did its I/O, and whether that comes again and again. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd.h"
#include "cli/db.h"
#include "cli/period_text.h"
#include "cli/query.h"
#include "import/flow.h"
#include "lib/num.h"
#include "lib/opt.h"
#include "schema/codec.h"

struct wish {
	const char *db, *format_text, *direction, *source, *from, *to;
	struct opt_list files, rates;
	enum format format;
	double from_s, to_s;
};

struct input {
	struct flow flow;
	double resolution_s;
	struct buf of, aside;
	char source[32];
};

/* ---- a run's series -----------------------------------------------------------------------------
 */

static bool is_of(const struct io_series *s, const char *source, bool all_ranks)
{
	return s->source && strcmp(s->source, source) == 0 && known(s->rank) != all_ranks &&
	       known(s->begin_s) && s->bin_s > 0;
}

/* The series of this source that together are the run: the one of all processes, or those of each.
 */
static bool has(const struct record_body *r, const char *source, bool *ret_all_ranks)
{
	for (int all = 1; all >= 0; all--)
		for (size_t i = 0; i < r->io.series.n; i++)
			if (is_of(&r->io.series.items[i], source, all)) {
				*ret_all_ranks = all;
				return true;
			}
	return false;
}

static int add_bins(struct input *in, enum flow_direction d, const struct io_series *s,
		    const struct nums *bins, size_t *unknown)
{
	for (size_t i = 0; i < bins->n; i++) {
		double begin = s->begin_s + (double)i * s->bin_s;
		if (!known(bins->items[i])) {
			(*unknown)++;
			continue;
		}
		int rc = flow_add(&in->flow, d,
				  (struct period_piece){ begin, begin + s->bin_s, bins->items[i] });
		if (rc)
			return rc;
	}
	return 0;
}

static int take_series(struct input *in, const struct record_body *r, const char *wanted,
		       struct err *err)
{
	static const char *const sources[] = { "program", "posix", "mpiio", "stdio", "device" };
	bool all_ranks = true;
	const char *source = wanted;
	for (size_t i = 0; !source && i < sizeof sources / sizeof *sources; i++)
		if (has(r, sources[i], &all_ranks))
			source = sources[i];
	if (!source || !has(r, source, &all_ranks))
		return 0;
	(void)snprintf(in->source, sizeof in->source, "%s", source);
	size_t unknown = 0;
	for (size_t i = 0; i < r->io.series.n; i++) {
		const struct io_series *s = &r->io.series.items[i];
		if (!is_of(s, source, all_ranks))
			continue;
		in->resolution_s = fmax(in->resolution_s, s->bin_s);
		int rc = add_bins(in, FLOW_READ, s, &s->read_bytes, &unknown);
		if (!rc)
			rc = add_bins(in, FLOW_WRITE, s, &s->write_bytes, &unknown);
		if (rc)
			return err_set(err, rc, "out of memory");
	}
	if (unknown)
		buf_printf(&in->aside, "%zu bins of the series are not known, and count as none.",
			   unknown);
	return 0;
}

static int read_run(struct input *in, const char *name, const struct wish *w, struct err *err)
{
	struct store *s = NULL;
	char *id = NULL;
	int rc = cli_open_store(&s, w->db, STORE_READ, err);
	if (!rc)
		rc = cli_find_run(s, name, &id, err);
	if (!rc) {
		struct record rec;
		rc = store_get_run(s, id, &rec, err);
		if (!rc) {
			buf_puts(&in->of, rec.body.run_id);
			rc = take_series(in, &rec.body, w->source, err);
		}
		record_done(&rec);
	}
	free(id);
	store_close(s);
	return rc;
}

static int read_files(struct input *in, const struct wish *w, struct err *err)
{
	int rc = 0;
	for (size_t i = 0; i < w->files.n && !rc; i++) {
		buf_printf(&in->of, "%s%s", i ? " " : "", w->files.items[i]);
		rc = flow_read_file(&in->flow, w->files.items[i], err);
	}
	if (!rc && in->flow.n[FLOW_EITHER] && strcmp(w->direction, "both") != 0)
		rc = err_set(err, -EINVAL,
			     "%s does not tell reads from writes: leave --direction out",
			     in->of.data);
	return rc;
}

/* ---- asking -------------------------------------------------------------------------------------
 */

static void clip(struct period_piece *p, double from_s, double to_s)
{
	double begin = fmax(p->begin_s, from_s), end = fmin(p->end_s, to_s),
	       length = p->end_s - p->begin_s;
	if (end < begin || (length > 0 && end == begin)) {
		p->bytes = 0;
		return;
	}
	if (length > 0)
		p->bytes *= (end - begin) / length;
	p->begin_s = begin;
	p->end_s = end;
}

static int ask(const struct input *in, const struct wish *w, bool reads, bool writes,
	       struct period *ret, struct err *err)
{
	double rates[PERIOD_RATES];
	size_t n = 0;
	const struct flow *f = &in->flow;
	struct period_piece *all = calloc(f->n[0] + f->n[1] + f->n[2] + 1, sizeof *all);
	*ret = (struct period){ 0 };
	if (!all)
		return err_set(err, -ENOMEM, "out of memory");
	for (int d = 0; d < FLOW_DIRECTIONS; d++)
		for (size_t i = 0; i < f->n[d]; i++)
			if (d == FLOW_EITHER || (d == FLOW_READ ? reads : writes)) {
				all[n] = f->pieces[d][i];
				clip(&all[n++], w->from_s, w->to_s);
			}
	struct period_options o = { .resolution_s = in->resolution_s, .n_rates = w->rates.n };
	for (size_t i = 0; i < w->rates.n; i++)
		rates[i] = strtod(w->rates.items[i], NULL);
	if (w->rates.n)
		o.rates_hz = rates;
	int rc = period_of(all, n, &o, ret);
	free(all);
	return rc == -EINVAL ? err_set(err, rc, "%s: the series holds times or bytes that are none",
				       in->of.data)
	       : rc          ? err_set(err, rc, "out of memory")
			     : 0;
}

static int print(const struct period_answer *a, enum format format, struct err *err)
{
	struct buf b = { 0 };
	int rc = 0;
	if (format == FORMAT_JSON) {
		json_t *json = period_json(a);
		rc = json ? json_text(&b, json) : -ENOMEM;
		json_decref(json);
		buf_puts(&b, "\n");
	} else if (format == FORMAT_CSV) {
		period_csv(&b, a);
	} else {
		period_text(&b, a);
	}
	if (rc || b.failed)
		rc = err_set(err, -ENOMEM, "out of memory");
	else
		(void)fwrite(b.data, 1, b.len, stdout);
	buf_done(&b);
	return rc;
}

static int answer(const struct input *in, const struct wish *w, int *ret_code, struct err *err)
{
	bool both = strcmp(w->direction, "both") == 0;
	struct period all, alone[2];
	struct period_answer a = { .of = in->of.data,
				   .direction = w->direction,
				   .source = in->source[0] ? in->source : NULL,
				   .aside = in->aside.data,
				   .p = &all };
	int rc = ask(in, w, both || strcmp(w->direction, "read") == 0,
		     both || strcmp(w->direction, "write") == 0, &all, err);
	memset(alone, 0, sizeof alone);
	bool unlike =
		both && in->flow.n[FLOW_READ] && in->flow.n[FLOW_WRITE] && !in->flow.n[FLOW_EITHER];
	for (int i = 0; i < 2 && !rc && unlike; i++) {
		rc = ask(in, w, i == 0, i == 1, &alone[i], err);
		if (!rc && alone[i].bytes > 0 && alone[i].bytes < all.bytes)
			a.alone[i] = &alone[i];
	}
	if (!rc)
		rc = print(&a, w->format, err);
	const char *why = all.why_not;
	*ret_code = why && (strcmp(why, PERIOD_NOTHING) == 0 || strcmp(why, PERIOD_TOO_FEW) == 0)
			    ? EXIT_NOTHING
			    : EXIT_GOOD;
	period_done(&all);
	period_done(&alone[0]);
	period_done(&alone[1]);
	return rc;
}

static int period(const char *name, const struct wish *w, int *ret_code, struct err *err)
{
	struct input in = { 0 };
	int rc = name ? read_run(&in, name, w, err) : read_files(&in, w, err);
	if (!rc && name && !in.source[0]) {
		(void)fprintf(stderr,
			      "roimeter period: run %s has no series of bytes over time%s%s: it "
			      "was measured "
			      "without the collector io, or imported without one\n",
			      in.of.data, w->source ? " of " : "", w->source ? w->source : "");
		*ret_code = EXIT_NOTHING;
	} else if (!rc) {
		rc = answer(&in, w, ret_code, err);
	}
	flow_done(&in.flow);
	buf_done(&in.of);
	buf_done(&in.aside);
	return rc;
}

/* ---- the call -----------------------------------------------------------------------------------
 */

static int seconds(const char *option, const char *text, double *ret, struct err *err)
{
	char *end;
	if (!text)
		return 0;
	*ret = strtod(text, &end);
	return end != text && !*end && isfinite(*ret)
		       ? 0
		       : err_set(err, -EINVAL, "--%s: \"%s\" is no number of seconds", option,
				 text);
}

static int check(struct wish *w, struct err *err)
{
	if (strcmp(w->direction, "read") != 0 && strcmp(w->direction, "write") != 0 &&
	    strcmp(w->direction, "both") != 0)
		return err_set(err, -EINVAL, "--direction: \"%s\" is neither read, write nor both",
			       w->direction);
	if (w->files.n && w->source)
		return err_set(err, -EINVAL, "--source is of a run, not of a file");
	if (w->rates.n > PERIOD_RATES)
		return err_set(err, -EINVAL, "--rate: at most %d rates", PERIOD_RATES);
	for (size_t i = 0; i < w->rates.n; i++) {
		char *end;
		double hz = strtod(w->rates.items[i], &end);
		if (end == w->rates.items[i] || *end || !(hz > 0) || !isfinite(hz))
			return err_set(err, -EINVAL, "--rate: \"%s\" is no frequency in Hz",
				       w->rates.items[i]);
	}
	w->from_s = -INFINITY;
	w->to_s = INFINITY;
	int rc = seconds("from", w->from, &w->from_s, err);
	if (!rc)
		rc = seconds("to", w->to, &w->to_s, err);
	return rc ? rc : cli_format(w->format_text, &w->format, err);
}

int cmd_period(int argc, char **argv)
{
	struct wish w = { .direction = "both" };
	const struct opt opts[] = {
		{ "file", OPT_LIST, &w.files, "FILE",
		  "a flow to read instead of a run; several are one flow" },
		{ "direction", OPT_TEXT, &w.direction, "WHICH", "read, write or both (default)" },
		{ "source", OPT_TEXT, &w.source, "NAME",
		  "series of the run: program (default), posix, mpiio, stdio, device" },
		{ "rate", OPT_LIST, &w.rates, "HZ",
		  "bins a second, instead of widths made to the length" },
		{ "from", OPT_TEXT, &w.from, "S",
		  "leave out what is before, in seconds on the flow's clock" },
		{ "to", OPT_TEXT, &w.to, "S", "leave out what is behind" },
		{ "format", OPT_TEXT, &w.format_text, "FORMAT", "text, json, or csv (the phases)" },
		{ "db", OPT_TEXT, &w.db, "FILE",
		  "database (default: the one in your data folder)" },
	};
	const struct opt_table t = {
		.command = "roimeter period",
		.synopsis = "[OPTIONS] RUN_ID|latest\n--file FILE[,FILE...] [OPTIONS]",
		.about = "Tells the phases of a run's I/O and their period, if they have one.\n"
			 "Files are JSON of TMIO, lists by name, or CSV of time and bandwidth\n"
			 "(docs/period.md).",
		.opts = opts,
		.n = sizeof opts / sizeof *opts,
		.epilog = "Examples:\n  roimeter period latest --direction write\n"
			  "  roimeter period --file trace.jsonl --direction write --format json\n"
			  "It answers 0 whether there is a period or not, and 4 where nothing can "
			  "be said.",
	};
	struct err err = { 0 };
	int first, code = EXIT_GOOD, rc = opt_parse(&t, argc, argv, &first, &err);
	if (rc == 1)
		return EXIT_GOOD;
	if (!rc && argc - first != (w.files.n ? 0 : 1))
		rc = err_set(&err, -EINVAL, "%s; see roimeter period --help",
			     w.files.n      ? "a run or files, not both"
			     : first < argc ? "one run at a time"
					    : "which run? give its id, or latest, or --file");
	if (!rc)
		rc = check(&w, &err);
	if (!rc)
		rc = period(w.files.n ? NULL : argv[first], &w, &code, &err);
	opt_done(&t);
	return rc ? opt_fail(t.command, rc, &err) : code;
}
