/* What a runner tells its agent is enough: from its frames, out of order and twice, comes the
 * record that it makes itself, byte for byte. For runs of every kind, made up. */
/* wrap: malloc calloc realloc */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/carry.h"
#include "core/finish.h"
#include "lib/num.h"
#include "run/announce_frames.h"
#include "schema/codec.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/marklog_build.h"

#define RUN_ID "20260929T045201Z-0123abcd"
#define RUNS 400
#define MADE_MAX 8
#define LOGS_MAX 64

static uint64_t seed;

static unsigned pick(unsigned below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)((seed >> 20) % below);
}

static double number(void)
{
	return pick(6) ? pick(1000000) / 1024.0 / 3 : (double)NAN;
}

/* ---- a run that was never made --------------------------------------------------------------- */

static const char timer_text[] =
	"name: t\ntitle: T\nsource: its code\ncovers: the loop\nranks: max\n"
	"device_sync: unknown\ncaveat: It leaves out \xc3\xa9.\n"
	"file: run.log\nregion:\n  pattern: 'loop ([0-9.]+) s'\n"
	"  unit: s\n  missing: no loop\n";

struct fiction {
	struct suite suite;
	struct suite_case suite_case;
	struct sweep_options o;
	struct platform platform;
	struct fill fill;
	struct case_run c;
	struct arena arena;
	struct made made[MADE_MAX], *list[MADE_MAX];
};

static void add_blob(struct fiction *t, struct capture *c, enum blob_kind kind, const char *name,
		     const void *data, size_t n)
{
	struct blob *b = arena_array(&t->arena, c->n_blobs + 1, sizeof *b);
	if (c->n_blobs)
		memcpy(b, c->blobs, c->n_blobs * sizeof *b);
	b[c->n_blobs] = (struct blob){ kind, arena_strdup(&t->arena, name),
				       arena_strndup(&t->arena, data, n), n };
	c->blobs = b;
	c->n_blobs++;
}

static void add_native(struct fiction *t, struct capture *c, unsigned i, unsigned execution)
{
	static struct built b;
	char stream[64], name[80], rank[16];
	uint32_t at = MARKLOG_FIXED_BYTES + 512;
	built_init(&b);
	built_header(&b)->pid = 4000 + i + execution * 100;
	built_header(&b)->unmatched_end = pick(8) == 0;
	int n = snprintf(stream, sizeof stream, "boot-%u-%u.0", 4000 + i + execution * 100, i);
	built_text(&b, MARKLOG_STREAM, &at, stream, (size_t)n);
	n = snprintf(rank, sizeof rank, "%u", i);
	built_text(&b, MARKLOG_RANK, &at, rank, (size_t)n);
	if (pick(2))
		built_text(&b, MARKLOG_CPUS, &at, "0-3", 3);
	if (pick(2))
		built_text(&b, MARKLOG_JOB, &at, "slurm:7", 7);
	for (unsigned k = pick(4); k; k--)
		built_entry(&b, 0, 1000 * (4 - k) + pick(100), 1000 * (4 - k) + 500 + pick(400), 0);
	if (pick(8) == 0)
		built_stream(&b, 0)->begun++;
	(void)snprintf(name, sizeof name, "%s" MARKLOG_SUFFIX, stream);
	add_blob(t, c, BLOB_LOG, name, b.bytes, pick(30) ? sizeof b.bytes : 13000);
}

static void add_foreign(struct fiction *t, struct capture *c, unsigned i)
{
	char text[600], name[32];
	int at = 0;
	for (unsigned k = 1 + pick(2); k; k--)
		at += snprintf(text + at, sizeof text - (size_t)at,
			       "# hpcperf-roi-log 2\n# pid %u\nB 1000000000 1790000000000000000\n"
			       "E %u 1790000001000000000\n",
			       900 + i, 1500000000 + pick(1000000));
	(void)snprintf(name, sizeof name, "hpcperf.%u", 900 + i);
	add_blob(t, c, BLOB_LOG, name, text, (size_t)at);
}

static void add_logs(struct fiction *t, struct capture *c, unsigned execution)
{
	unsigned kind = pick(6), n = pick(4) ? 1 : 1 + pick(5);
	if (kind == 0)
		return;
	for (unsigned i = 0; kind < 5 && i < n; i++) /* names of equal length: in their order */
		add_native(t, c, i, execution);
	for (unsigned i = 0; kind >= 4 && i < n; i++)
		add_foreign(t, c, i);
	if (pick(20) == 0)
		add_blob(t, c, BLOB_LOG, "zzz", "nonsense\xff", 9);
}

static void add_output(struct fiction *t, struct capture *c)
{
	char text[200];
	int n = snprintf(text, sizeof text, "rate = %u.%u Gs\ntook %u ms\nloop %u.5 s\n%s\n",
			 pick(100), pick(10), pick(5000), pick(9), pick(3) ? "" : "\xff\xfe odd");
	add_blob(t, c, BLOB_OUTPUT, "run.log", text, pick(9) ? (size_t)n : 0);
}

static void add_seen(struct fiction *t, struct capture *c, unsigned execution)
{
	c->n_seen = pick(5);
	c->seen = arena_array(&t->arena, c->n_seen + 1, sizeof *c->seen);
	for (size_t i = 0; i < c->n_seen; i++)
		c->seen[i] = (struct watched){
			.pid = (pid_t)(pick(3) ? 4000 + i + execution * 100 : 900 + i),
			.name = "x",
			.cpus = pick(4) ? "0-1" : NULL,
			.mems = "0",
			.threads = pick(4) ? (double)pick(9) : (double)NAN,
			.leaf = pick(2),
			.looked_real = pick(2) ? BUILD_REAL + pick(1000000) : 0,
		};
}

static void end_somehow(struct capture *c)
{
	unsigned how = pick(12);
	c->row.exit_code = 0;
	if (how == 0)
		c->end = END_TIMEOUT;
	else if (how == 1)
		c->end = END_INTERRUPTED;
	else if (how == 2)
		c->row.exit_code = 3;
	else if (how == 3)
		c->row.signal = 9;
	else if (how == 4)
		c->row.why = "could not be started: no room for \xfe";
	if (how == 4)
		c->end = END_NOT_STARTED;
	if (how == 0 || how == 3)
		c->row.exit_code = NAN;
	if (how < 5)
		c->row.output_tail = capture_tail(c);
}

static void make_one(struct fiction *t, unsigned i, const char *name)
{
	struct made *m = &t->made[i];
	struct capture *c = &m->capture;
	capture_init(c);
	c->row.name = name;
	c->row.order = i;
	c->row.utc = "2026-09-29T04:52:01Z";
	c->row.process_wall_s = number();
	c->row.load1 = number();
	c->row.user_s = number();
	c->row.others_cpu_s = number();
	c->row.cpu_khz_max = 3e6 + pick(2) * 4e5;
	c->start_real_ns = BUILD_REAL - pick(1000000000);
	c->end_real_ns = BUILD_REAL + 2000000000 + pick(1000000000);
	c->state = (struct watch_result){ .steal_frac = number() / 1e6,
					  .temperature_c = number(),
					  .runner_cpu_s = number(),
					  .wakeups = pick(90),
					  .oversubscribed = NO,
					  .sampler_cpu_s = number(),
					  .energy_denied = pick(2) };
	c->others_running = pick(9) == 0;
	c->outlived = pick(9) == 0;
	c->output_cut = pick(9) == 0;
	c->grouped = pick(2);
	add_logs(t, c, i);
	add_output(t, c);
	add_seen(t, c, i);
	for (unsigned k = pick(9) ? 0 : 1 + pick(4); k; k--)
		assert_int_equal(capture_note(c, "pid 7: make the log /x/\xff"), 0);
	end_somehow(c);
	c->log_bytes = 77;
	assert_int_equal(capture_work_out(&m->worked, c, &t->suite_case, t->c.timer, NULL), 0);
	t->list[i] = m;
	t->c.n_made++;
}

static void declare(struct fiction *t)
{
	static const char *argv[] = { "cg", "--n", "1\xff", "2" };
	struct suite_case *s = &t->suite_case;
	*s = (struct suite_case){ .app = "cg",
				  .name = "small",
				  .command = { argv, 1 + pick(4) },
				  .region = pick(4) ? "markers" : "timer:t",
				  .ranks = pick(5),
				  .verify = pick(2) ? "none" : NULL,
				  .excludes = "the output",
				  .timeout_s = NAN };
	if (pick(2))
		s->fom = (struct pattern_spec){ "rate", "rate = ([0-9.]+)", "Gs", "higher" };
	if (pick(2))
		s->own_timer = (struct pattern_spec){ NULL, "took ([0-9]+)", "ms", NULL };
	t->suite = (struct suite){ .name = "demo", .file = "/x/demo.yaml", .hash = "ab" };
	t->platform.id = "cpu-x.linux6.1";
	block_clear(&platform_info_block, &t->platform.info);
	t->platform.info.cpus = 4;
	t->o = (struct sweep_options){ .suite = &t->suite, .platform = &t->platform };
	t->fill = (struct fill){
		.o = &t->o, .git_commit = "0123abc", .governor = "performance", .git_dirty = NO
	};
}

static void invent(struct fiction *t, uint64_t number_of_run)
{
	static const char *names[] = { "warmup.0", "clean.0", "clean.1", "clean.2",
				       "clean.3",  "clean.4", "clean.5", "clean.6" };
	*t = (struct fiction){ .suite = { .name = NULL } };
	seed = number_of_run * UINT64_C(0x9e3779b97f4a7c15) + 1;
	declare(t);
	struct case_run *c = &t->c;
	c->c = &t->suite_case;
	if (strcmp(t->suite_case.region, "markers") != 0)
		assert_int_equal(
			timer_def_parse(&c->timer, "t.yaml", timer_text, strlen(timer_text), NULL),
			0);
	c->command.launcher = "direct";
	c->command.exe_hash = "00ff";
	c->command.allow = (struct txts){ names, pick(2) };
	c->warmups = pick(2);
	c->cleans = 1 + pick(6);
	c->timeout_s = 1 / 3.0;
	c->expected_s = number();
	c->expected_steps = NAN;
	c->earlier = c->resumed = pick(5) == 0;
	c->made = t->list;
	memcpy(c->run_id, RUN_ID, sizeof RUN_ID);
	unsigned first = c->warmups > 0 ? 0 : 1, all = (unsigned)(c->warmups + c->cleans);
	unsigned n = pick(3) ? all : pick(all + 1);
	c->cut = n < all && pick(2);
	for (unsigned i = 0; i < n; i++)
		make_one(t, i, names[first + i]);
}

static void forget(struct fiction *t)
{
	for (size_t i = 0; i < t->c.n_made; i++) {
		worked_done(&t->made[i].worked);
		capture_done(&t->made[i].capture);
	}
	timer_def_free(t->c.timer);
	arena_free(&t->arena);
}

/* ---- as a daemon puts it together ------------------------------------------------------------ */

struct told_log {
	char *exec, *stream, *file, *cpus, *bytes;
	double threads;
	size_t n;
};

struct listener {
	struct batch_out out;
	struct buf posted;
	size_t fail_after; /* frames; 0: never */
	size_t frames;

	struct arena arena;
	struct observed seen[MADE_MAX];
	size_t n_seen;
	struct told_log logs[LOGS_MAX];
	size_t n_logs;
	struct str record, first_record;
	bool complete, ended;
	double planned, processes;
	int64_t begun;
};

static void post(struct listener *l)
{
	struct batch_sender s;
	batch_sender_clear(&s);
	s.agent = s.spool = str_of("runner");
	s.seq = 1;
	if (l->out.frames)
		assert_int_equal(batch_end(&l->out, &s, &l->posted, NULL), 0);
}

static int listen(void *arg, const struct frame *f)
{
	struct listener *l = arg;
	if (l->fail_after && ++l->frames >= l->fail_after)
		return -EPIPE;
	int rc = batch_put(&l->out, f);
	if (pick(3) == 0)
		post(l);
	return rc;
}

static char *text_of(struct listener *l, struct str s)
{
	return arena_str(&l->arena, s);
}

static void take_log(struct listener *l, const struct frame_process *p)
{
	struct told_log *at = NULL;
	for (size_t i = 0; i < l->n_logs; i++)
		if (strlen(l->logs[i].exec) == p->exec.n &&
		    strlen(l->logs[i].stream) == p->stream.n &&
		    memcmp(l->logs[i].exec, p->exec.p, p->exec.n) == 0 &&
		    memcmp(l->logs[i].stream, p->stream.p, p->stream.n) == 0)
			at = &l->logs[i];
	if (!at) {
		assert_true(l->n_logs < LOGS_MAX);
		at = &l->logs[l->n_logs++];
		*at = (struct told_log){ .exec = text_of(l, p->exec),
					 .stream = text_of(l, p->stream),
					 .file = text_of(l, p->file),
					 .cpus = text_of(l, p->cpus),
					 .bytes = arena_alloc(&l->arena, p->size + 1),
					 .threads = p->threads,
					 .n = p->size };
	}
	assert_true(p->offset + p->data.n <= at->n && p->final == YES);
	memcpy(at->bytes + p->offset, p->data.p, p->data.n);
}

static void take_end(struct listener *l, const struct frame_execution_end *e)
{
	struct observed one;
	struct err err = { .text = "" };
	if (observed_get(&one, &l->arena, e, &err))
		fail_msg("%s", err.text);
	for (size_t i = 0; i < l->n_seen; i++)
		if (strcmp(l->seen[i].row.name, one.row.name) == 0) {
			l->seen[i] = one;
			return;
		}
	l->seen[l->n_seen++] = one;
}

static struct str keep(struct listener *l, struct str bytes)
{
	return (struct str){ .p = arena_strndup(&l->arena, bytes.p, bytes.n), .n = bytes.n };
}

static void take(struct listener *l, const struct frame *f)
{
	if (f->type == FRAME_PROCESS)
		take_log(l, &f->as.process);
	if (f->type == FRAME_EXECUTION_END)
		take_end(l, &f->as.execution_end);
	if (f->type == FRAME_RUN_END) {
		l->record = keep(l, f->as.run_end.record);
		l->complete = f->as.run_end.complete == YES;
		l->ended = true;
	}
	if (f->type == FRAME_RUN_ANNOUNCE) {
		struct str list = f->as.run_announce.executions, name;
		for (l->planned = 0; batch_text_next(&list, &name);)
			l->planned++;
		l->first_record = keep(l, f->as.run_announce.record);
		l->begun = f->as.run_announce.real_ns;
	}
}

/* Batches in any order, some twice. */
static void hear_all(struct listener *l)
{
	size_t at[4 * LOGS_MAX], n = 0, done = 0;
	struct batch_in in = { .left = 0 };
	struct frame f;
	while (done < l->posted.len) {
		struct batch_head head;
		assert_int_equal(
			batch_look(&head, l->posted.data + done, l->posted.len - done, NULL), 0);
		at[n++] = done;
		done += head.bytes;
	}
	for (size_t i = n; i > 1; i--) {
		size_t k = pick((unsigned)i), swap = at[k];
		at[k] = at[i - 1];
		at[i - 1] = swap;
	}
	for (size_t i = 0; i < n; i++)
		for (int times = pick(4) ? 1 : 2; times; times--) {
			assert_int_equal(batch_open(&in, l->posted.data + at[i],
						    l->posted.len - at[i], NULL),
					 0);
			while (batch_next(&in, &f, NULL) == 1)
				take(l, &f);
		}
	batch_in_done(&in);
}

static int by_order(const void *x, const void *y)
{
	const struct observed *a = x, *b = y;
	return a->row.order < b->row.order ? -1 : a->row.order > b->row.order;
}

static void put_together(struct listener *l, struct record *rec)
{
	struct roi_logs logs[MADE_MAX] = { { .n = 0 } };
	qsort(l->seen, l->n_seen, sizeof *l->seen, by_order);
	for (size_t i = 0; i < l->n_seen; i++) {
		struct carried_log list[LOGS_MAX];
		size_t n = 0;
		for (size_t k = 0; k < l->n_logs; k++)
			if (strcmp(l->logs[k].exec, l->seen[i].row.name) == 0)
				list[n++] = (struct carried_log){ .file = l->logs[k].file,
								  .bytes = l->logs[k].bytes,
								  .n = l->logs[k].n,
								  .cpus = l->logs[k].cpus,
								  .threads = l->logs[k].threads };
		assert_int_equal(observed_logs(&l->seen[i], &logs[i], &l->arena, list, n, NULL), 0);
	}
	const struct run_close close = { l->complete, l->planned, l->begun };
	assert_int_equal(record_get(rec, l->record.p, l->record.n, NULL, 0, NULL), 0);
	assert_int_equal(record_finish(rec, l->seen, l->n_seen, &close, NULL), 0);
	for (size_t i = 0; i < l->n_seen; i++)
		roilogs_done(&logs[i]);
}

static void listener_done(struct listener *l)
{
	batch_out_done(&l->out);
	buf_done(&l->posted);
	arena_free(&l->arena);
}

/* ---- the tests ------------------------------------------------------------------------------- */

static void compare(const struct record *a, const struct record *b, unsigned run)
{
	struct buf x = { 0 }, y = { 0 }, p = { 0 }, q = { 0 };
	record_put(&x, a);
	record_put(&y, b);
	if (x.len != y.len || memcmp(x.data, y.data, x.len) != 0) {
		json_t *m = record_to_json(a), *n = record_to_json(b);
		assert_int_equal(json_text(&p, m), 0);
		assert_int_equal(json_text(&q, n), 0);
		size_t at = 0;
		while (p.data[at] && p.data[at] == q.data[at])
			at++;
		fail_msg("run %u: ... %.300s\n instead of ... %.300s", run,
			 q.data + (at > 60 ? at - 60 : 0), p.data + (at > 60 ? at - 60 : 0));
	}
	buf_done(&x);
	buf_done(&y);
}

/* In one go, or as it is told: begin, start and end of each execution, end. */
static void tell(struct fiction *t, struct listener *l, bool step_by_step)
{
	struct announce_what what = { .begin = true,
				      .end = true,
				      .real_ns = BUILD_REAL,
				      .snapshot = 5,
				      .user = "me",
				      .host = "node1" };
	size_t all = t->c.n_made;
	for (size_t i = 0; step_by_step && i < all; i++) {
		t->c.n_made = i;
		what.end = false;
		what.running = t->list[i]->capture.row.name;
		assert_int_equal(announce_frames(&t->c, &t->fill, &what, listen, l, NULL), 0);
		t->c.n_made = i + 1;
		what.begin = false;
		what.running = NULL;
		assert_int_equal(announce_frames(&t->c, &t->fill, &what, listen, l, NULL), 0);
		what.from = i + 1;
		what.end = true;
	}
	assert_int_equal(announce_frames(&t->c, &t->fill, &what, listen, l, NULL), 0);
	post(l);
}

static void the_record_of_frames_is_that_of_the_runner(void **state)
{
	(void)state;
	static struct fiction t;
	size_t kinds[2] = { 0, 0 };
	for (unsigned run = 0; run < RUNS; run++) {
		struct listener l = { .begun = ROI_UNKNOWN };
		struct record a, b;
		invent(&t, run);
		/* Without an execution the daemon has a record, and the runner makes none. */
		if (t.c.n_made) {
			tell(&t, &l, pick(2));
			hear_all(&l);
			assert_int_equal(l.n_seen, t.c.n_made);
			assert_int_equal(fill_record(&a, &t.c, &t.fill, NULL), 0);
			put_together(&l, &b);
			kinds[strcmp(a.body.status, "ok") == 0]++;
			compare(&a, &b, run);
			record_done(&a);
			record_done(&b);
		}
		listener_done(&l);
		forget(&t);
	}
	assert_true(kinds[0] > RUNS / 20 && kinds[1] > RUNS / 20);
}

static void an_announcement_has_all_that_can_be_known_before(void **state)
{
	(void)state;
	static struct fiction t;
	struct listener l = { .begun = ROI_UNKNOWN };
	struct record rec;
	invent(&t, 1);
	for (size_t i = 0; i < t.c.n_made; i++) {
		worked_done(&t.made[i].worked);
		capture_done(&t.made[i].capture);
	}
	t.c.n_made = 0;
	const struct announce_what what = { .begin = true, .real_ns = 7, .running = "clean.0" };
	assert_int_equal(announce_frames(&t.c, &t.fill, &what, listen, &l, NULL), 0);
	post(&l);
	hear_all(&l);
	assert_true(l.planned == t.c.warmups + t.c.cleans && l.begun == 7);
	assert_int_equal(record_get(&rec, l.first_record.p, l.first_record.n, NULL, 0, NULL), 0);
	assert_string_equal(rec.body.run_id, RUN_ID);
	assert_string_equal(rec.body.platform, "cpu-x.linux6.1");
	assert_string_equal(rec.body.kind, "measured");
	assert_true(rec.body.measurement.cleans_asked == t.c.cleans);
	assert_null(rec.body.status);
	record_done(&rec);
	listener_done(&l);
	forget(&t);
}

static int ranks_told(void *arg, const struct frame *f)
{
	if (f->type == FRAME_RUN_ANNOUNCE)
		*(double *)arg = f->as.run_announce.ranks;
	return 0;
}

static void ranks_are_waited_for_only_where_they_may_be_elsewhere(void **state)
{
	(void)state;
	static struct fiction t;
	const struct announce_what what = { .begin = true };
	double ranks = 1;
	invent(&t, 3);
	t.suite_case.ranks = 8;
	assert_int_equal(announce_frames(&t.c, &t.fill, &what, ranks_told, &ranks, NULL), 0);
	assert_false(known(ranks));
	t.c.spread = true;
	assert_int_equal(announce_frames(&t.c, &t.fill, &what, ranks_told, &ranks, NULL), 0);
	assert_true(ranks == 8);
	forget(&t);
}

static int pieces(void *arg, const struct frame *f)
{
	size_t *at = arg;
	if (f->type == FRAME_PROCESS) {
		assert_int_equal(f->as.process.offset, *at);
		assert_true(f->as.process.data.n <= BATCH_CHUNK);
		*at += f->as.process.data.n;
	}
	return 0;
}

static void a_long_log_goes_in_pieces(void **state)
{
	(void)state;
	static struct fiction t;
	struct announce_what what = { .end = true };
	size_t size = 2 * BATCH_CHUNK + 7, at = 0;
	char *text = malloc(size);
	invent(&t, 2);
	forget(&t);
	t = (struct fiction){ .suite = { .name = NULL } };
	declare(&t);
	t.suite_case.region = "markers";
	t.c.c = &t.suite_case;
	t.c.made = t.list;
	memset(text, '\n', size);
	memcpy(text, "# hpcperf-roi-log 2\nB 1 1\nE 2 2", 31);
	struct capture *c = &t.made[0].capture;
	capture_init(c);
	c->row.name = "clean.0";
	add_blob(&t, c, BLOB_LOG, "hpcperf.1", text, size);
	c->blobs[0].data = text; /* arena_strndup stops at no NUL here, and copies all */
	assert_int_equal(capture_work_out(&t.made[0].worked, c, &t.suite_case, NULL, NULL), 0);
	t.list[0] = &t.made[0];
	t.c.n_made = 1;
	assert_int_equal(t.made[0].worked.logs.n, 1);
	assert_int_equal(announce_frames(&t.c, &t.fill, &what, pieces, &at, NULL), 0);
	assert_int_equal(at, size);
	forget(&t);
	free(text);
}

static void what_ends_the_frames_comes_back(void **state)
{
	(void)state;
	static struct fiction t;
	const struct announce_what what = { .begin = true, .end = true };
	invent(&t, 5);
	for (size_t n = 1; n < 4; n++) {
		struct listener l = { .fail_after = n };
		assert_int_equal(announce_frames(&t.c, &t.fill, &what, listen, &l, NULL), -EPIPE);
		assert_int_equal(l.frames, n);
		listener_done(&l);
	}
	forget(&t);
}

static int ignore(void *arg, const struct frame *f)
{
	(void)arg;
	(void)f;
	return 0;
}

static void every_failed_allocation_is_survived(void **state)
{
	(void)state;
	static struct fiction t;
	const struct announce_what what = { .begin = true, .end = true };
	invent(&t, 9);
	for (int n = 1; fail_alloc(n); n++) {
		int rc = announce_frames(&t.c, &t.fill, &what, ignore, NULL, NULL);
		assert_int_equal(rc, alloc_failed ? -ENOMEM : 0);
	}
	alloc_left = 0;
	forget(&t);
}

static int keep_declared(void *arg, const struct frame *f)
{
	struct buf *b = arg;
	struct str cases = f->as.declare.cases, t;
	assert_int_equal(f->type, FRAME_DECLARE);
	buf_printf(b, "%.*s at %lld:", (int)f->as.declare.suite.n, f->as.declare.suite.p,
		   (long long)f->as.declare.real_ns);
	while (batch_text_next(&cases, &t))
		buf_printf(b, " %.*s", t.p ? (int)t.n : 1, t.p ? t.p : "-");
	return 0;
}

static void what_a_suite_declares_goes_as_one_list(void **state)
{
	(void)state;
	static char title[DECLARE_MAX_TITLE + 2];
	struct suite_case cases[] = { { .app = "b", .name = "two", .title = "Second" },
				      { .app = "a", .name = "one" },
				      { .app = "a", .name = "long", .title = title } };
	const struct suite suite = { .name = "demo", .cases = cases, .n_cases = 3 };
	struct buf list = { 0 }, b = { 0 };
	memset(title, 'x', sizeof title - 1);
	for (int twice = 0; twice < 2; twice++) {
		b.len = 0;
		assert_int_equal(announce_declaration(&suite, 7, &list, keep_declared, &b, NULL),
				 0);
		assert_string_equal(b.data, "demo at 7: b two Second a one - a long -");
	}
	buf_done(&list);
	for (int n = 1; fail_alloc(n); n++) {
		int rc = announce_declaration(&suite, 7, &list, ignore, NULL, NULL);
		assert_int_equal(rc, alloc_failed ? -ENOMEM : 0);
		buf_done(&list);
		list = (struct buf){ 0 };
	}
	alloc_left = 0;
	buf_done(&list);
	buf_done(&b);
}

static const char *job_variables[][2] = { { NULL, NULL }, { NULL, NULL } };

static char *get(const char *name)
{
	for (size_t i = 0; i < 2; i++)
		if (job_variables[i][0] && strcmp(job_variables[i][0], name) == 0)
			return (char *)(uintptr_t)job_variables[i][1];
	return NULL;
}

static void a_batch_job_has_its_name(void **state)
{
	(void)state;
	struct arena a = { 0 };
	static const char *const wanted[][5] = {
		{ "SLURM_JOB_ID", "1234", "X", "", "slurm:1234" },
		{ "SLURM_ARRAY_JOB_ID", "12", "SLURM_ARRAY_TASK_ID", "3", "slurm:12_3" },
		{ "PBS_JOBID", "12.host", "X", "", "pbs:12.host" },
		{ "FLUX_JOB_ID", "f2x", "X", "", "flux:f2x" },
		{ "SLURM_JOB_ID", "", "FLUX_JOB_ID", "f3", "flux:f3" },
	};
	assert_null(announce_job(&a, get));
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
		for (size_t k = 0; k < 2; k++) {
			job_variables[k][0] = wanted[i][2 * k];
			job_variables[k][1] = wanted[i][2 * k + 1];
		}
		assert_string_equal(announce_job(&a, get), wanted[i][4]);
	}
	arena_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_record_of_frames_is_that_of_the_runner),
		cmocka_unit_test(an_announcement_has_all_that_can_be_known_before),
		cmocka_unit_test(ranks_are_waited_for_only_where_they_may_be_elsewhere),
		cmocka_unit_test(a_long_log_goes_in_pieces),
		cmocka_unit_test(what_ends_the_frames_comes_back),
		cmocka_unit_test(every_failed_allocation_is_survived),
		cmocka_unit_test(what_a_suite_declares_goes_as_one_list),
		cmocka_unit_test(a_batch_job_has_its_name),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
