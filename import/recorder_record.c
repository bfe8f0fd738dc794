/* A trace into its record, and maybe a capture: one pass over each process's calls for both. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/assemble.h"
#include "import/io_capture.h"
#include "import/made.h"
#include "import/recorder.h"
#include "import/recorder_count.h"
#include "import/recorder_map.h"
#include "import/recorder_trace.h"
#include "lib/buf.h"
#include "lib/num.h"
#include "schema/codec.h"

#define DEPTH_MAX 256
#define WRAP 4294967296.0 /* ticks: how long a gap between two calls can be told */
#define THREADS_KEPT 4096
#define OTHERS_TOLD 12

struct reading {
	struct recorder *r;
	struct recorder_count *count;
	struct io_capture *capture; /* NULL: none is wanted */
	uint64_t *others;           /* calls of functions that have no place in a record */
	double *last;               /* of each process, in ticks */
	uint64_t backward;          /* calls that end before they begin */
	uint64_t placeless;         /* accesses whose offset the trace does not tell */
	/* of the process that is under way */
	unsigned char around[DEPTH_MAX]; /* 1 + interface of the calls that it is in; 0: another */
	uint64_t threads[THREADS_KEPT];
	size_t n_threads;
};

/* ---- calls --------------------------------------------------------------------------------------
 */

static void take_text(void *self, uint32_t number, const char *text, size_t n)
{
	struct reading *g = self;
	recorder_count_text(g->count, number, text, n);
	if (g->capture)
		iocap_put_text(g->capture->writer, number, text, n);
}

static void take_handle(void *self, const struct recorder_handle *h)
{
	struct reading *g = self;
	recorder_count_handle(g->count, h);
	struct iocap_handle to = { .number = h->number, .path = h->path, .type = h->type,
				   .interface = h->interface, .was_open = h->was_open,
				   .flags = h->flags };
	if (g->capture)
		iocap_put_handle(g->capture->writer, &to);
}

static uint32_t thread_of(struct reading *g, uint64_t id)
{
	for (size_t i = g->n_threads; i-- > 0;)
		if (g->threads[i] == id)
			return (uint32_t)i;
	if (g->n_threads == THREADS_KEPT)
		return THREADS_KEPT - 1;
	g->threads[g->n_threads] = id;
	return (uint32_t)g->n_threads++;
}

/* The interface of the nearest call around this one; IO_INTERFACES: none. Calls come in the order in
 * which they began, so what is around has been seen. */
static unsigned enter(struct reading *g, const struct recorder_call *call, bool file,
		      unsigned interface)
{
	size_t depth = call->key->depth;
	unsigned within = IO_INTERFACES;
	for (size_t i = depth; i-- > 0 && within == IO_INTERFACES;)
		if (g->around[i])
			within = g->around[i] - 1u;
	g->around[depth] = file ? (unsigned char)(interface + 1) : 0;
	return within;
}

static uint64_t ns_of(const struct reading *g, uint64_t ticks)
{
	return (uint64_t)llround((double)ticks * g->r->tick_s * 1e9);
}

static void take_call(struct reading *g, const struct recorder_call *call, struct recorder_event *e)
{
	bool file = e->class == RECORDER_FILE;
	unsigned within = enter(g, call, file, file ? io_call_info(e->event.call)->interface : 0);
	if (e->class == RECORDER_OTHER)
		g->others[call->key->function]++;
	e->event.thread = thread_of(g, call->key->thread);
	e->event.depth = within < IO_INTERFACES;
	if (call->end >= call->begin) { /* else its time is not known */
		e->event.begin_ns = ns_of(g, call->begin);
		e->event.end_ns = ns_of(g, call->end);
	}
	if (e->class == RECORDER_MPI && within == IO_INTERFACES)
		recorder_count_mpi(g->count, e);
	if (!file)
		return;
	g->placeless += e->place_unknown;
	recorder_count_event(g->count, e);
	if (g->capture)
		iocap_put_events(g->capture->writer, &e->event, 1);
}

static int begin_capture(struct reading *g, size_t rank, struct err *err)
{
	struct iocap_process p = {
		.pid = -1, .parent = -1, .rank = (int64_t)rank, .source = "recorder", .timed = true,
		.real_minus_mono_ns = (int64_t)(g->r->begin_s * 1e9),
		.step_ns = g->r->tick_s >= 1e-9 ? (uint64_t)llround(g->r->tick_s * 1e9) : 1
	};
	return g->capture ? io_capture_begin(g->capture, &p, err) : 0;
}

static int read_rank(struct reading *g, size_t rank, struct err *err)
{
	struct recorder_taker taker = { take_text, take_handle, g };
	struct recorder_names *names = NULL;
	struct recorder_cursor *c = NULL;
	struct recorder_call call;
	struct recorder_event e;
	g->n_threads = 0;
	memset(g->around, 0, sizeof g->around);
	recorder_count_begin(g->count);
	int rc = begin_capture(g, rank, err);
	if (!rc && recorder_names_new(&names, &taker))
		rc = err_set(err, -ENOMEM, "out of memory");
	if (!rc)
		rc = recorder_begin(&c, g->r, rank, err);
	while (!rc && (rc = recorder_next(c, &call, err)) == 1) {
		g->last[rank] = fmax(g->last[rank], (double)call.end);
		g->backward += call.end < call.begin;
		rc = recorder_map(names, &call, &e);
		if (rc)
			rc = err_set(err, rc, "out of memory");
		else
			take_call(g, &call, &e);
	}
	recorder_end(c);
	recorder_names_free(names);
	if (!rc)
		rc = recorder_count_end(g->count, rank, err);
	if (!rc && g->capture)
		rc = io_capture_end(g->capture, err);
	return rc;
}

static int read_all(struct reading *g, struct err *err)
{
	int rc = 0;
	for (size_t i = 0; i < g->r->n_ranks && !rc; i++)
		if (g->r->ranks[i].grammar)
			rc = read_rank(g, i, err);
	return rc;
}

/* ---- limits -------------------------------------------------------------------------------------
 */

static int put_missing(struct record *rec, const struct recorder *r)
{
	struct buf list = { 0 };
	size_t told = 0;
	if (!r->n_missing)
		return 0;
	for (size_t i = 0; i < r->n_ranks; i++)
		if (r->ranks[i].missing && told++ < OTHERS_TOLD)
			buf_printf(&list, "%s%zu (no %s)", told > 1 ? ", " : "", i, r->ranks[i].missing);
	int rc = list.failed ? -ENOMEM
			     : record_caveat(rec, "io_ranks_missing",
					     "Files of %zu of %zu processes are missing, which are in no number: "
					     "%s%s.",
					     r->n_missing, r->n_ranks, list.data,
					     told > OTHERS_TOLD ? ", ..." : "");
	buf_done(&list);
	return rc;
}

static int put_cut(struct record *rec, const struct recorder *r)
{
	uint64_t events = 0, times = 0;
	for (size_t i = 0; i < r->n_ranks; i++)
		if (r->ranks[i].grammar && r->ranks[i].times < r->ranks[i].events) {
			events += r->ranks[i].events;
			times += r->ranks[i].times;
		}
	if (events == times)
		return 0;
	return record_caveat(rec, "io_damaged",
			     "Times of calls are cut off: of processes that had %llu calls at most %llu are "
			     "in the numbers.",
			     (unsigned long long)events, (unsigned long long)times);
}

/* A gap of more than 2^32 ticks is kept without that. Where it was can't be known; that processes of one
 * job end so far apart tells that it was. */
static int put_wrap(struct record *rec, const struct reading *g)
{
	double first = INFINITY, last = 0;
	for (size_t i = 0; i < g->r->n_ranks; i++)
		if (g->r->ranks[i].grammar && g->r->ranks[i].events) {
			first = fmin(first, g->last[i]);
			last = fmax(last, g->last[i]);
		}
	char a[32];
	if (last - first < 0.9 * WRAP && !g->backward)
		return 0;
	return record_caveat(rec, "recorder_wrap",
			     "Recorder keeps gaps between calls of a process without whole multiples of %s, and "
			     "here processes end so far apart, or calls end before they begin: times behind such "
			     "a gap are too early.",
			     num_duration(a, WRAP * g->r->tick_s));
}

/* Recorder can keep an offset as a formula of a rank, and not of which group of processes. */
static int put_placeless(struct record *rec, const struct reading *g)
{
	if (!g->placeless)
		return 0;
	return record_caveat(rec, "recorder_offsets_unknown",
			     "Of %llu accesses the trace does not tell where they begin (a formula in place of "
			     "a number): the order and the ends of files do not know of them, and a capture has "
			     "them at 0.",
			     (unsigned long long)g->placeless);
}

static int put_others(struct record *rec, const struct reading *g)
{
	struct buf list = { 0 };
	size_t told = 0;
	for (size_t i = 0; i <= g->r->n_functions; i++)
		if (g->others[i] && told++ < OTHERS_TOLD)
			buf_printf(&list, "%s%s %llu", told > 1 ? ", " : "", g->r->functions[i],
				   (unsigned long long)g->others[i]);
	int rc = 0;
	if (told)
		rc = list.failed ? -ENOMEM
				 : record_caveat(rec, "source_also_says",
						 "Calls that no number here is made of: %s%s.", list.data,
						 told > OTHERS_TOLD ? ", ..." : "");
	buf_done(&list);
	return rc;
}

static int put_limits(struct record *rec, const struct reading *g)
{
	char a[32];
	int rc = record_caveat(
		rec, "recorder_scope",
		"Recorder keeps no results: bytes are those that were asked for, and a call that failed counts "
		"as if it had not; it does not see calls that it does not wrap (pwritev, openat, stat of glibc 2.33 "
		"and later, fgets, ...), and gaps between calls of more than %s are told too short.",
		num_duration(a, WRAP * g->r->tick_s));
	if (!rc)
		rc = put_missing(rec, g->r);
	if (!rc)
		rc = put_cut(rec, g->r);
	if (!rc)
		rc = put_wrap(rec, g);
	if (!rc)
		rc = put_placeless(rec, g);
	return rc ? rc : put_others(rec, g);
}

/* ---- one trace ----------------------------------------------------------------------------------
 */

static int put_nulls(struct record *rec)
{
	static const char *const never[] = { "io.whole.failed_ops",   "io.device_read_bytes",
					     "io.device_write_bytes", "io.cgroup_read_bytes",
					     "io.cgroup_write_bytes", "io.dropped_ops",
					     "context.process_wall_s", "io.whole.read_bytes",
					     "io.whole.write_bytes",  "io.series", "io.files.layout" };
	int rc = 0;
	for (size_t i = 0; i < sizeof never / sizeof *never && !rc; i++)
		rc = record_null(rec, never[i], "not_supported");
	return rc ? rc : record_explain_nulls(rec);
}

static int fill(struct record *rec, struct reading *g, struct err *err)
{
	const struct recorder *r = g->r;
	struct record_body *b = &rec->body;
	b->utc = made_utc(rec, (int64_t)(r->begin_s * 1e9));
	b->inputs.ranks = (double)r->n_ranks;
	int rc = b->utc ? recorder_count_put(g->count, rec, err) : err_set(err, -ENOMEM, "out of memory");
	if (rc)
		return rc;
	rc = put_limits(rec, g);
	b->io.incomplete = r->n_missing ? YES : NO;
	for (size_t i = 0; i < b->caveats.n; i++)
		if (strcmp(b->caveats.items[i].code, "io_damaged") == 0)
			b->io.incomplete = YES;
	return rc ? err_set(err, -ENOMEM, "out of memory") : 0;
}

static int finish(struct record *rec, struct err *err)
{
	int rc = put_nulls(rec);
	if (!rc)
		rc = made_id(rec);
	return rc ? err_set(err, rc, "out of memory") : record_check(rec, err);
}

static int read_trace(struct record *rec, struct recorder *r, const struct io_options *o,
		      struct err *err)
{
	struct made_from from = { .suite = o->suite, .app = o->app, .case_ = o->case_,
				  .platform = o->platform, .format = "recorder",
				  .what = "a trace of Recorder", .path = r->path, .hash = r->hash };
	struct io_capture capture;
	struct reading *g = calloc(1, sizeof *g);
	int rc = g ? made_whole(rec, &from, err) : err_set(err, -ENOMEM, "out of memory");
	if (g) {
		g->r = r;
		g->others = calloc(r->n_functions + 1, sizeof *g->others);
		g->last = calloc(r->n_ranks + 1, sizeof *g->last);
	}
	if (!rc && (!g->others || !g->last))
		rc = err_set(err, -ENOMEM, "out of memory");
	if (!rc)
		rc = recorder_count_new(&g->count, r->begin_s, err);
	if (!rc && o->capture) {
		rc = io_capture_open(&capture, o->capture, err);
		g->capture = rc ? NULL : &capture;
	}
	if (!rc)
		rc = read_all(g, err);
	if (!rc)
		rc = fill(rec, g, err);
	if (!rc && g->capture)
		rc = io_capture_close(&capture, rec, err);
	if (!rc)
		rc = finish(rec, err);
	if (rc && g && g->capture)
		io_capture_drop(&capture);
	if (g) {
		recorder_count_free(g->count);
		free(g->others);
		free(g->last);
	}
	free(g);
	return rc;
}

static int add_trace(struct imports *in, const char *path, const struct io_options *o, struct err *err)
{
	struct record *rec = calloc(1, sizeof *rec);
	struct recorder *r = NULL;
	if (!rec)
		return err_set(err, -ENOMEM, "out of memory");
	record_init(rec);
	int rc = recorder_open(&r, path, o->salvage, err);
	if (!rc)
		rc = read_trace(rec, r, o, err);
	recorder_close(r);
	if (!rc)
		return made_take(in, rec, err);
	record_done(rec);
	free(rec);
	return rc;
}

int import_recorder(struct imports *ret, const char *const *paths, size_t n,
		    const struct io_options *options, struct err *err)
{
	*ret = (struct imports){ 0 };
	int rc = 0;
	if (options->capture && n != 1)
		return err_set(err, -EINVAL, "--capture is for one trace, not for %zu", n);
	for (size_t i = 0; i < n && !rc; i++)
		rc = add_trace(ret, paths[i], options, err);
	if (rc)
		imports_done(ret);
	return rc;
}
