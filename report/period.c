/* The series of a record as a flow, the question, and the answer as data. */
#include "report/period.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/num.h"

/* ---- what may be asked for ----------------------------------------------------------------------
 */

#define PLAIN(name) name,
static const char *const sources[] = { REPORT_PERIOD_SOURCES(PLAIN, PLAIN) };
#define SOURCES (sizeof sources / sizeof *sources)

int report_period_check(const char *direction, const char *source, struct err *err)
{
	bool good = !source;
	if (strcmp(direction, "read") != 0 && strcmp(direction, "write") != 0 &&
	    strcmp(direction, "both") != 0)
		return err_set(err, -EINVAL, "direction \"%s\": it is one of read, write, both",
			       direction);
	for (size_t i = 0; !good && i < SOURCES; i++)
		good = strcmp(source, sources[i]) == 0;
	return good ? 0
		    : err_set(err, -EINVAL,
			      "source \"%s\": it is one of " REPORT_PERIOD_SOURCES_TEXT, source);
}

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

static int add_bins(struct report_period_input *in, enum flow_direction d,
		    const struct io_series *s, const struct nums *bins, size_t *unknown)
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

int report_period_series(struct report_period_input *in, const struct record_body *r,
			 const char *wanted, struct err *err)
{
	bool all_ranks = true;
	const char *source = wanted;
	for (size_t i = 0; !source && i < SOURCES; i++)
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

void report_period_input_done(struct report_period_input *in)
{
	flow_done(&in->flow);
	buf_done(&in->of);
	buf_done(&in->aside);
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

static int ask(const struct report_period_input *in, const struct report_period_question *q,
	       bool reads, bool writes, struct period *ret, struct err *err)
{
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
				clip(&all[n++], q->from_s, q->to_s);
			}
	const struct period_options o = { .resolution_s = in->resolution_s,
					  .rates_hz = q->rates_hz,
					  .n_rates = q->n_rates };
	int rc = period_of(all, n, &o, ret);
	free(all);
	return rc == -EINVAL ? err_set(err, rc, "%s: the series holds times or bytes that are none",
				       in->of.data)
	       : rc          ? err_set(err, rc, "out of memory")
			     : 0;
}

int report_period_ask(struct report_period *ret, const struct report_period_input *in,
		      const struct report_period_question *q, struct err *err)
{
	bool both = strcmp(q->direction, "both") == 0;
	*ret = (struct report_period){ .answer = { .of = in->of.data,
						   .direction = q->direction,
						   .source = in->source[0] ? in->source : NULL,
						   .aside = in->aside.data,
						   .p = &ret->all } };
	int rc = ask(in, q, both || strcmp(q->direction, "read") == 0,
		     both || strcmp(q->direction, "write") == 0, &ret->all, err);
	bool unlike =
		both && in->flow.n[FLOW_READ] && in->flow.n[FLOW_WRITE] && !in->flow.n[FLOW_EITHER];
	for (int i = 0; i < 2 && !rc && unlike; i++) {
		rc = ask(in, q, i == 0, i == 1, &ret->alone[i], err);
		if (!rc && ret->alone[i].bytes > 0 && ret->alone[i].bytes < ret->all.bytes)
			ret->answer.alone[i] = &ret->alone[i];
	}
	return rc;
}

void report_period_done(struct report_period *p)
{
	period_done(&p->all);
	period_done(&p->alone[0]);
	period_done(&p->alone[1]);
}

/* ---- JSON ---- */

static json_t *number(double x)
{
	return known(x) ? json_real(num15(x)) : json_null();
}

static void put(json_t *into, const char *key, json_t *value)
{
	(void)json_object_set_new(into, key, value);
}

json_t *report_period_short(const struct period *p)
{
	json_t *o = json_object();
	put(o, "period_s", number(p->period_s));
	put(o, "frequency_hz", number(p->frequency_hz));
	put(o, "error_s", number(p->why_not ? NAN : p->error_s));
	put(o, "confidence", number(p->confidence));
	put(o, "why_not", p->why_not ? json_string(p->why_not) : json_null());
	return o;
}

static json_t *rates_json(const struct period *p)
{
	json_t *list = json_array();
	for (size_t i = 0; i < p->n_rates; i++) {
		const struct period_rate *r = &p->rates[i];
		json_t *o = json_object();
		put(o, "rate_hz", number(r->rate_hz));
		put(o, "bins", json_integer((json_int_t)r->bins));
		put(o, "frequency_hz", number(r->frequency_hz));
		put(o, "share", number(r->share));
		put(o, "agrees",
		    r->agrees == UNKNOWN ? json_null() : json_boolean(r->agrees == YES));
		(void)json_array_append_new(list, o);
	}
	return list;
}

static json_t *phases_json(const struct period *p)
{
	json_t *list = json_array();
	for (size_t i = 0; i < p->n_phases; i++) {
		json_t *o = json_object();
		put(o, "begin_s", number(p->phases[i].begin_s));
		put(o, "end_s", number(p->phases[i].end_s));
		put(o, "bytes", number(p->phases[i].bytes));
		(void)json_array_append_new(list, o);
	}
	return list;
}

json_t *report_period_json(const struct period_answer *a)
{
	static const char *const names[] = { "read", "write" };
	const struct period *p = a->p;
	json_t *o = report_period_short(p);
	put(o, "of", json_string(a->of));
	put(o, "direction", json_string(a->direction));
	put(o, "source", a->source ? json_string(a->source) : json_null());
	put(o, "begin_s", number(p->begin_s));
	put(o, "end_s", number(p->end_s));
	put(o, "bytes", number(p->bytes));
	put(o, "best_hz", number(p->best_hz));
	put(o, "chance", number(p->chance));
	put(o, "share", number(p->share));
	put(o, "agreement", number(p->agreement));
	put(o, "correlation", number(p->correlation));
	put(o, "cycles", number(p->cycles));
	put(o, "filled_cycles",
	    known(p->best_hz) ? json_integer((json_int_t)p->filled) : json_null());
	json_t *alone = json_object();
	for (int i = 0; i < 2; i++)
		if (a->alone[i])
			put(alone, names[i], report_period_short(a->alone[i]));
	put(o, "alone", alone);
	put(o, "rates", rates_json(p));
	put(o, "phases", phases_json(p));
	return o;
}
