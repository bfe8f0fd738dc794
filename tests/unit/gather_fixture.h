/* What the tests of the daemon's taking-in share: a run with several processes on two nodes as its
 * runner has it and as frames, posts, and a daemon that is started again now and then. */
#ifndef TESTS_UNIT_GATHER_FIXTURE_H
#define TESTS_UNIT_GATHER_FIXTURE_H

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/carry.h"
#include "core/category.h"
#include "core/finish.h"
#include "core/verdict.h"
#include "daemon/gather.h"
#include "lib/num.h"
#include "schema/codec.h"
#include "schema/marklog.h"
#include "tests/unit/store_fixture.h"

#define RUN "20260929T045201Z-0123abcd"
#define REAL INT64_C(1790657521000000000) /* when it was announced */
#define AGENTS 3
#define RANKS 4
#define EXECUTIONS 4
#define PROFILED (EXECUTIONS - 1) /* the one with pictures */
#define SECOND GATHER_SECOND

static const char *const exec_names[EXECUTIONS] = { "warmup.0", "clean.0", "clean.1",
						     "profiled.opencl" };

/* In memory where there is a place for it: thousands of commits are not about the disk here. */
static inline int make_quick_folder(void **state)
{
	(void)state;
	(void)snprintf(folder, sizeof folder, "/dev/shm/roimeter-gather.XXXXXX");
	if (!mkdtemp(folder))
		return make_folder(state);
	(void)snprintf(path, sizeof path, "%s/store.db", folder);
	return 0;
}

/* ---- a daemon -------------------------------------------------------------------------------- */

struct world {
	struct store *s;
	struct gather *g;
	struct gather_now now;
	struct gather_config config;
	uint64_t seq[AGENTS]; /* of its last batch */
	char told[4096];      /* what gather_tick told, one line each */
};

static inline struct world start(void)
{
	struct world w = { .now = { .mono_ns = 1000 * SECOND, .real_ns = REAL },
			   .config = GATHER_DEFAULTS };
	struct err err;
	w.s = open_store(STORE_WRITE);
	if (gather_open(&w.g, w.s, &w.config, &w.now, &err))
		fail_msg("%s", err.text);
	return w;
}

static inline void stop(struct world *w)
{
	gather_close(w->g);
	store_close(w->s);
	w->g = NULL;
	w->s = NULL;
}

/* Its monotonic clock begins anywhere. */
static inline void restart(struct world *w, int64_t mono_ns)
{
	struct err err;
	stop(w);
	w->now.mono_ns = mono_ns;
	w->s = open_store(STORE_WRITE);
	if (gather_open(&w->g, w->s, &w->config, &w->now, &err))
		fail_msg("%s", err.text);
}

static inline int try_post(struct world *w, const struct buf *body, struct gather_result *ret,
			   struct err *err)
{
	assert_int_equal(store_begin(w->s, err), 0);
	int rc = gather_take(w->g, w->s, body->data, body->len, &w->now, ret, err);
	if (rc)
		store_rollback(w->s);
	else
		rc = store_commit(w->s, err);
	return rc;
}

static inline struct gather_result post(struct world *w, const struct buf *body)
{
	struct gather_result result;
	struct err err = { .text = "" };
	if (try_post(w, body, &result, &err))
		fail_msg("%s", err.text);
	return result;
}

static inline void hear(void *arg, enum gather_change what, const char *run)
{
	static const char *const names[] = { "progress", "stored", "gone", "failed" };
	struct world *w = arg;
	size_t n = strlen(w->told);
	(void)snprintf(w->told + n, sizeof w->told - n, "%s %s\n", names[what], run);
}

/* Until nothing is due any more. */
static inline void tick(struct world *w)
{
	struct err err = { .text = "" };
	for (int i = 0; i < 1000; i++) {
		int64_t next;
		if (gather_tick(w->g, w->s, &w->now, hear, w, &next, &err))
			fail_msg("%s", err.text);
		if (next > w->now.mono_ns)
			return;
	}
	fail_msg("there is always something due");
}

static inline void pass(struct world *w, int64_t ns)
{
	w->now.mono_ns += ns;
	w->now.real_ns += ns;
	tick(w);
}

/* ---- batches --------------------------------------------------------------------------------- */

static inline struct batch_sender sender(int agent, uint64_t seq)
{
	static const char *const agents[AGENTS] = { "agent-a", "agent-b", "agent-c" };
	static const char *const spools[AGENTS] = { "00a", "00b", "00c" };
	struct batch_sender from;
	batch_sender_clear(&from);
	from.agent = str_of(agents[agent]);
	from.spool = str_of(spools[agent]);
	from.host = str_of(agents[agent] + 6);
	from.boot = str_of("0f3c9a52");
	from.tool = str_of("roimeter-agent 0");
	from.seq = seq;
	from.from_real_ns = REAL + (int64_t)seq * SECOND;
	from.to_real_ns = from.from_real_ns + SECOND / 2;
	return from;
}

static inline struct buf batch_of(const struct frame *frames, size_t n, int agent, uint64_t seq)
{
	struct batch_out out = { .frames = 0 };
	struct batch_sender from = sender(agent, seq);
	struct buf b = { 0 };
	for (size_t i = 0; i < n; i++)
		assert_int_equal(batch_put(&out, &frames[i]), 0);
	assert_int_equal(batch_end(&out, &from, &b, NULL), 0);
	batch_out_done(&out);
	return b;
}

/* The next batch of this agent. */
static inline struct gather_result say(struct world *w, int agent, const struct frame *frames,
				       size_t n)
{
	struct buf b = batch_of(frames, n, agent, ++w->seq[agent]);
	struct gather_result result = post(w, &b);
	buf_done(&b);
	return result;
}

/* ---- a run ----------------------------------------------------------------------------------- */

/* Of one process in one execution: enters its region once. */
static inline struct str log_text(char text[200], int exec, int rank)
{
	int n = snprintf(
		text, 200,
		"# hpcperf-roi-log 2\nB %d 1790657531000000000\nE %d 1790657532%d00000000\n",
		1000000000 + rank, 2000000000 + exec * 1000000 + rank * 1000, rank);
	return (struct str){ .p = text, .n = (size_t)n };
}

/* What a collector left of a process in it: a device that two share. final no: as it was before. */
static inline void put_picture(struct buf *b, int rank, bool final)
{
	double busy = (rank + 1) * 1e8 + (final ? 1234 : 0), sums[4][CATEGORIES] = { { 0 } };
	const double windows[] = { 0, 1e9 }, ranges[] = { 1000, 1000 + busy }, bins[] = { 40, 5 };
	const char *const observes[] = { "compute", "copy_h2d" };
	char name[16], stream[32];
	struct picture p;
	struct picture_device device;
	struct picture_op op;
	(void)snprintf(name, sizeof name, "%d", rank);
	(void)snprintf(stream, sizeof stream, "boot-%d-%d.0", rank, PROFILED);
	picture_clear(&p);
	block_clear(&picture_device_block, &device);
	block_clear(&picture_op_block, &op);
	p.collector = "opencl";
	p.observes = (struct txts){ .items = (const char **)(uintptr_t)observes, .n = 2 };
	p.status = "ok";
	p.final = final ? YES : NO;
	p.run = RUN;
	p.exec = exec_names[PROFILED];
	p.stream = stream;
	p.host = "a";
	p.boot = "boot";
	p.pid = p.rank = name;
	p.clock = "monotonic";
	p.base_s = 100;
	p.base_ns = 0;
	p.found = YES;
	p.entries = 1;
	p.gross_ns = p.wall_ns = 1e9;
	p.windows = (struct nums){ .items = (double *)(uintptr_t)windows, .n = 2 };
	sums[0][COMPUTE] = sums[3][COMPUTE] = busy;
	sums[1][COMPUTE] = 5;
	p.roi.time_ns = (struct nums){ .items = sums[0], .n = CATEGORIES };
	p.roi.ops = (struct nums){ .items = sums[1], .n = CATEGORIES };
	p.roi.bytes = (struct nums){ .items = sums[2], .n = CATEGORIES };
	p.roi.union_ns = (struct nums){ .items = sums[3], .n = CATEGORIES };
	p.roi.op_sum_ns = p.roi.busy_ns = p.roi.device_busy_ns = busy;
	p.roi.untimed = 0;
	p.whole = p.roi;
	device.name = rank % 2 ? "Device 1" : "Device 0";
	device.id = device.name + 7;
	device.busy_ns = device.whole_busy_ns = busy;
	device.busy = (struct nums){ .items = (double *)(uintptr_t)ranges, .n = 2 };
	device.closed_ns = 0;
	p.devices.items = &device;
	p.devices.n = 1;
	op.name = rank ? "probe_step" : "probe_check";
	op.category = COMPUTE;
	op.count = 5;
	op.total_ns = busy;
	op.min_ns = 1;
	op.max_ns = busy - 4;
	op.bins = (struct nums){ .items = (double *)(uintptr_t)bins, .n = 2 };
	p.ops.items = p.whole_ops.items = &op;
	p.ops.n = p.whole_ops.n = 1;
	p.dropped = p.late = p.late_marks = p.graphs = p.pending = 0;
	p.gap.total_ns = 1e9 - busy;
	p.gap.sync_ns = 1e6;
	picture_put(b, &p);
	assert_false(b->failed);
}

static inline void known_record(struct record *rec, bool end)
{
	record_init(rec);
	struct record_body *b = &rec->body;
	b->run_id = RUN;
	b->suite = "demo";
	b->app = "cg";
	b->case_ = "small";
	b->platform = "cpu.none";
	b->kind = "measured";
	b->utc = "2026-09-29T04:52:01Z";
	b->measurement.region = "markers";
	b->measurement.cleans_asked = EXECUTIONS - 2;
	b->measurement.warmups = 1;
	b->inputs.ranks = RANKS;
	if (end) {
		b->observer.runner_cpu_s = 0.125;
		b->observer.wakeups = 10;
		b->observer.log_bytes = 999;
		assert_int_equal(record_caveat(rec, "output_cut", "The output is cut."), 0);
	}
}

static inline void see(struct observed *seen, int exec)
{
	*seen = (struct observed){ .end = END_EXITED, .n_logs = RANKS };
	block_clear(&execution_block, &seen->row);
	seen->row.name = exec_names[exec];
	seen->row.order = exec;
	seen->row.exit_code = 0;
	seen->row.utc = "2026-09-29T04:52:02Z";
	seen->row.process_wall_s = 1.25 + exec / 1024.0;
	seen->start_real_ns = REAL + exec * 10 * SECOND;
	seen->end_real_ns = seen->start_real_ns + 5 * SECOND;
	seen->fom.value = seen->own_timer.value = (double)NAN;
}

/* As the runner makes it, without an agent. */
static inline struct buf directly(void)
{
	struct record rec;
	struct arena a = { .blocks = NULL };
	struct observed seen[EXECUTIONS];
	struct roi_logs logs[EXECUTIONS] = { { .n = 0 } };
	struct buf b = { 0 };
	known_record(&rec, true);
	for (int i = 0; i < EXECUTIONS; i++) {
		static char text[RANKS][200], file[RANKS][8];
		struct carried_log list[RANKS];
		for (int r = 0; r < RANKS; r++) {
			struct str log = log_text(text[r], i, r);
			(void)snprintf(file[r], sizeof file[r], "l.%d", r);
			list[r] = (struct carried_log){ .file = file[r],
							.bytes = log.p,
							.n = log.n,
							.cpus = "0-3",
							.threads = r + 1 };
		}
		see(&seen[i], i);
		assert_int_equal(observed_logs(&seen[i], &logs[i], &a, list, RANKS, NULL), 0);
	}
	static char file[RANKS][32];
	struct carried_picture list[RANKS];
	struct buf bytes[RANKS] = { { .data = NULL } };
	for (int r = 0; r < RANKS; r++) {
		put_picture(&bytes[r], r, true);
		(void)snprintf(file[r], sizeof file[r], "l.%d.opencl.roipic", r);
		list[r] = (struct carried_picture){ .file = file[r],
						    .bytes = bytes[r].data,
						    .n = bytes[r].len };
	}
	assert_int_equal(observed_pictures(&seen[PROFILED], &a, list, RANKS, NULL), 0);
	const struct run_close close = { .complete = true,
					 .planned = EXECUTIONS,
					 .begun_real_ns = REAL };
	assert_int_equal(record_finish(&rec, seen, EXECUTIONS, &close, NULL), 0);
	assert_int_equal(record_put_verdicts(&rec, NULL, 0), 0); /* nothing was tested */
	record_put(&b, &rec);
	record_done(&rec);
	for (int i = 0; i < EXECUTIONS; i++)
		roilogs_done(&logs[i]);
	for (int r = 0; r < RANKS; r++)
		buf_done(&bytes[r]);
	arena_free(&a);
	return b;
}

/* Frames that point into an arena. */
struct frames {
	struct arena a;
	struct frame items[400];
	int agent[400];
	size_t n;
};

static inline struct frame *more(struct frames *f, int agent, enum frame_type type)
{
	assert_true(f->n < sizeof f->items / sizeof *f->items);
	frame_clear(&f->items[f->n], type);
	f->agent[f->n] = agent;
	return &f->items[f->n++];
}

static inline struct str lend(struct frames *f, const void *bytes, size_t n)
{
	return (struct str){ .p = arena_strndup(&f->a, bytes, n), .n = n };
}

static inline struct str lend_text(struct frames *f, const char *text)
{
	return lend(f, text, strlen(text));
}

static inline struct str lend_record(struct frames *f, bool end)
{
	struct record rec;
	struct buf b = { 0 };
	known_record(&rec, end);
	record_put(&b, &rec);
	struct str s = lend(f, b.data, b.len);
	record_done(&rec);
	buf_done(&b);
	return s;
}

static inline void put_announce(struct frames *f)
{
	struct frame_run_announce *a = &more(f, 0, FRAME_RUN_ANNOUNCE)->as.run_announce;
	struct buf names = { 0 };
	for (int i = 0; i < EXECUTIONS; i++)
		batch_text_put(&names, str_of(exec_names[i]));
	a->run = str_of(RUN);
	a->suite = str_of("demo");
	a->app = str_of("cg");
	a->case_ = str_of("small");
	a->platform = str_of("cpu.none");
	a->kind = str_of("measured");
	a->user = str_of("ann");
	a->real_ns = REAL;
	a->executions = lend(f, names.data, names.len);
	a->ranks = RANKS;
	a->expected_s = 7;
	a->steps = 100;
	a->timeout_s = 60;
	a->uid = 1000;
	a->record = lend_record(f, false);
	buf_done(&names);
}

static inline void put_start(struct frames *f, int exec)
{
	struct frame_execution_start *a = &more(f, 0, FRAME_EXECUTION_START)->as.execution_start;
	a->run = str_of(RUN);
	a->exec = str_of(exec_names[exec]);
	a->order = (uint64_t)exec;
	a->real_ns = REAL + exec * 10 * SECOND;
	a->uid = 1000;
}

/* One look, in pieces of so many bytes. The runner of the first node knows CPU sets and threads,
 * agents know what it cost them. */
static inline void put_look(struct frames *f, int agent, int exec, int rank, uint64_t snapshot,
			    size_t piece, bool final, bool by_runner)
{
	char text[200], name[32];
	struct str log = log_text(text, exec, rank);
	if (!final)
		log.n -= 20; /* the process goes on */
	for (size_t at = 0; at < log.n; at += piece) {
		struct frame_process *p = &more(f, agent, FRAME_PROCESS)->as.process;
		size_t n = log.n - at < piece ? log.n - at : piece;
		(void)snprintf(name, sizeof name, "boot-%d-%d.0", rank, exec);
		p->stream = lend_text(f, name);
		p->run = str_of(RUN);
		p->exec = str_of(exec_names[exec]);
		(void)snprintf(name, sizeof name, "l.%d", rank);
		p->file = lend_text(f, name);
		p->snapshot = snapshot;
		p->size = log.n;
		p->offset = at;
		p->data = lend(f, log.p + at, n);
		p->final = final;
		p->uid = 1000;
		(void)snprintf(name, sizeof name, "%d", rank);
		p->rank = lend_text(f, name);
		if (by_runner)
			p->cpus = str_of("0-3");
		if (by_runner || !final) /* what was true before does not count */
			p->threads = final ? rank + 1 : 77;
	}
}

/* The same of what a collector left. */
static inline void put_picture_look(struct frames *f, int agent, int rank, uint64_t snapshot,
				    size_t piece, bool final)
{
	struct buf b = { 0 };
	char name[32];
	put_picture(&b, rank, final);
	for (size_t at = 0; at < b.len; at += piece) {
		struct frame_picture *p = &more(f, agent, FRAME_PICTURE)->as.picture;
		p->run = str_of(RUN);
		p->exec = str_of(exec_names[PROFILED]);
		(void)snprintf(name, sizeof name, "l.%d.opencl.roipic", rank);
		p->file = lend_text(f, name);
		p->snapshot = snapshot;
		p->size = b.len;
		p->offset = at;
		p->data = lend(f, b.data + at, b.len - at < piece ? b.len - at : piece);
		p->final = final ? YES : NO;
		p->uid = 1000;
	}
	buf_done(&b);
}

static inline void put_end(struct frames *f, int exec)
{
	struct carry carry = { .row = { 0 } };
	struct observed seen;
	struct frame frame;
	see(&seen, exec);
	assert_int_equal(observed_put(&frame, &carry, RUN, &seen), 0);
	frame.as.execution_end.uid = 1000;
	frame.as.execution_end.run = str_of(RUN);
	frame.as.execution_end.exec = str_of(exec_names[exec]);
	frame.as.execution_end.row =
		lend(f, frame.as.execution_end.row.p, frame.as.execution_end.row.n);
	*more(f, 0, FRAME_EXECUTION_END) = frame;
	carry_done(&carry);
}

static inline void put_run_end(struct frames *f)
{
	struct frame_run_end *e = &more(f, 0, FRAME_RUN_END)->as.run_end;
	e->run = str_of(RUN);
	e->complete = YES;
	e->real_ns = REAL + 40 * SECOND;
	e->record = lend_record(f, true);
	e->uid = 1000;
}

/* All of it, in the order in which it happens. Ranks 0 and 1 are on the runner's node, followed by
 * its agent, too; the others on two more. */
static inline void put_run(struct frames *f)
{
	put_announce(f);
	for (int i = 0; i < EXECUTIONS; i++) {
		put_start(f, i);
		for (int r = 0; r < RANKS; r++) {
			int agent = r < 2 ? 0 : r - 1;
			put_look(f, agent, i, r, 10, 30, false, false);
			put_look(f, agent, i, r, 20, 50, true, false);
			put_look(f, 0, i, r, 30, 200, true, true);
			if (i != PROFILED)
				continue;
			put_picture_look(f, agent, r, 10, 300, false);
			put_picture_look(f, agent, r, 20, 250, true);
			if (r < 2)
				put_picture_look(f, 0, r, 30, BATCH_CHUNK, true);
		}
		put_end(f, i);
	}
	put_run_end(f);
}

static inline struct buf stored(struct store *s, const char *run)
{
	struct record rec;
	struct buf b = { 0 };
	struct err err = { .text = "" };
	if (store_get_run(s, run, &rec, &err))
		fail_msg("%s", err.text);
	record_put(&b, &rec);
	record_done(&rec);
	return b;
}

static inline void assert_same(const struct buf *a, const struct buf *b)
{
	if (a->len == b->len && !memcmp(a->data, b->data, a->len))
		return;
	struct record x, y;
	assert_int_equal(record_get(&x, a->data, a->len, NULL, 0, NULL), 0);
	assert_int_equal(record_get(&y, b->data, b->len, NULL, 0, NULL), 0);
	struct buf t = text_of(&x), u = text_of(&y);
	assert_string_equal(t.data, u.data);
	fail_msg("the same text, other bytes");
}

static inline struct record get(struct store *s)
{
	struct record rec;
	struct err err = { .text = "" };
	if (store_get_run(s, RUN, &rec, &err))
		fail_msg("%s", err.text);
	return rec;
}

static inline const char *caveat(const struct record *rec, const char *code)
{
	for (size_t i = 0; i < rec->body.caveats.n; i++)
		if (!strcmp(rec->body.caveats.items[i].code, code))
			return rec->body.caveats.items[i].text;
	return NULL;
}

#endif
