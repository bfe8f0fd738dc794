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

static int read_run(struct report_period_input *in, const char *name, const struct wish *w,
		    struct err *err)
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
			rc = report_period_series(in, &rec.body, w->source, err);
		}
		record_done(&rec);
	}
	free(id);
	store_close(s);
	return rc;
}

static int read_files(struct report_period_input *in, const struct wish *w, struct err *err)
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

static int print(const struct period_answer *a, enum format format, struct err *err)
{
	struct buf b = { 0 };
	int rc = 0;
	if (format == FORMAT_JSON) {
		json_t *json = report_period_json(a);
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

static int answer(const struct report_period_input *in, const struct wish *w, int *ret_code,
		  struct err *err)
{
	double rates[PERIOD_RATES];
	struct report_period found;
	for (size_t i = 0; i < w->rates.n; i++)
		rates[i] = strtod(w->rates.items[i], NULL);
	const struct report_period_question q = { .direction = w->direction,
						  .from_s = w->from_s,
						  .to_s = w->to_s,
						  .rates_hz = w->rates.n ? rates : NULL,
						  .n_rates = w->rates.n };
	int rc = report_period_ask(&found, in, &q, err);
	if (!rc)
		rc = print(&found.answer, w->format, err);
	const char *why = found.all.why_not;
	*ret_code = why && (strcmp(why, PERIOD_NOTHING) == 0 || strcmp(why, PERIOD_TOO_FEW) == 0)
			    ? EXIT_NOTHING
			    : EXIT_GOOD;
	report_period_done(&found);
	return rc;
}

static int period(const char *name, const struct wish *w, int *ret_code, struct err *err)
{
	struct report_period_input in = { 0 };
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
	report_period_input_done(&in);
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
	int rc = report_period_check(w->direction, w->source, err);
	if (rc)
		return rc;
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
	rc = seconds("from", w->from, &w->from_s, err);
	if (!rc)
		rc = seconds("to", w->to, &w->to_s, err);
	return rc ? rc : cli_format(w->format_text, &w->format, err);
}

int cmd_period(int argc, char **argv)
{
	struct wish w = { .direction = "both" };
	const struct opt opts[] = {
		{ "file", OPT_LIST, &w.files, "FILE,...",
		  "a flow to read instead of a run; several are one flow" },
		{ "direction", OPT_TEXT, &w.direction, "WHICH", "read, write or both (default)" },
		{ "source", OPT_TEXT, &w.source, "NAME",
		  "a run's series, or the first of " REPORT_PERIOD_SOURCES_TEXT },
		{ "rate", OPT_LIST, &w.rates, "HZ,...",
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
