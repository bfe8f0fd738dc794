/* Calls about files, counted as they come, against a model that looks at every nanosecond and byte.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/iocount.h"
#include "lib/num.h"
#include "schema/codec.h"

enum { SPAN = 400, THREADS = 3, FILES = 4, EVENTS = 120, BYTES = 600 };
enum { SHIFT = 1000003 };

static uint32_t seed;

static unsigned dice(unsigned n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % n;
}

#define SAME(a, b) assert_true((double)(a) == (double)(b))

/* ---- hand-made ------------------------------------------------------------------------------ */

struct world {
	struct iocount *c;
	struct flow *f;
	struct arena arena;
	struct iopicture p;
};

static void begin(struct world *w, size_t max_files)
{
	const struct flow_options flow = { .observes = 0 };
	const struct iocount_options o = { .max_files = max_files };
	*w = (struct world){ .c = NULL };
	assert_int_equal(flow_new(&w->f, &flow, NULL), 0);
	assert_int_equal(iocount_new(&w->c, &o, NULL), 0);
}

static void look(struct world *w)
{
	arena_free(&w->arena);
	w->arena = (struct arena){ 0 };
	iopicture_clear(&w->p);
	assert_int_equal(iocount_picture(w->c, w->f, &w->arena, &w->p, NULL), 0);
	/* It can be written, and comes back. */
	struct buf b = { 0 };
	struct iopicture again;
	struct err err = { "" };
	w->p.collector = "io";
	w->p.status = "ok";
	iopicture_put(&b, &w->p);
	if (iopicture_get(&again, &w->arena, "F", b.data, b.len, &err))
		fail_msg("%s", err.text);
	buf_done(&b);
}

static void end(struct world *w)
{
	arena_free(&w->arena);
	iocount_free(w->c);
	flow_free(w->f);
}

static void file(struct world *w, uint32_t handle, uint32_t text, const char *path)
{
	const struct iocount_handle h = { .number = handle, .path = text, .type = IO_FILE };
	iocount_text(w->c, text, path, strlen(path));
	(void)iocount_handle(w->c, &h);
}

static void tell(struct world *w, struct io_event e)
{
	iocount_events(w->c, w->f, &e, 1);
}

static const struct iopicture_file *named(const struct world *w, const char *name)
{
	for (size_t i = 0; i < w->p.files.n; i++)
		if (strcmp(w->p.files.items[i].name, name) == 0)
			return &w->p.files.items[i];
	return NULL;
}

#define READ(h, n, from, to, where)                                                                \
	(struct io_event)                                                                          \
	{                                                                                          \
		.call = IO_pread, .begin_ns = from, .end_ns = to, .result = n,                     \
		.arg = { h, n, where }, .at = where                                                \
	}
#define WRITE(h, n, from, to, where)                                                               \
	(struct io_event)                                                                          \
	{                                                                                          \
		.call = IO_pwrite, .begin_ns = from, .end_ns = to, .result = n,                    \
		.arg = { h, n, where }, .at = where                                                \
	}

static void a_call_that_the_region_cuts_counts_once_and_pro_rata(void **state)
{
	struct world w;
	(void)state;
	begin(&w, 0);
	file(&w, 4, 1, "/a");
	assert_int_equal(flow_mark(w.f, FLOW_BEGIN, 1000), 0);
	assert_int_equal(flow_mark(w.f, FLOW_END, 2000), 0);
	tell(&w, WRITE(4, 100, 900, 1100, 0));   /* half */
	tell(&w, WRITE(4, 7, 1200, 1300, 100));  /* in */
	tell(&w, WRITE(4, 11, 2100, 2200, 107)); /* out */
	tell(&w, READ(4, 118, 2300, 2400, 0));
	look(&w);
	SAME(w.p.roi.write_bytes, 57);
	SAME(w.p.roi.write_ops, 2);
	SAME(w.p.whole.write_bytes, 118);
	SAME(w.p.whole.write_ops, 3);
	SAME(w.p.roi.write_s, 200e-9);
	SAME(w.p.whole.write_s, 400e-9);
	SAME(w.p.wait_ns, 200);
	SAME(w.p.whole_wait_ns, 500);
	const struct iopicture_file *f = named(&w, "/a");
	assert_non_null(f);
	SAME(f->whole_pattern.reread_bytes, 118);
	SAME(f->whole_pattern.consecutive_writes, 2);
	SAME(f->whole_pattern.turns, 1);
	SAME(f->size_bytes, 118);
	end(&w);
}

/* Nothing but calls tells the flow how far it is: what is killed in its region leaves what it did
 * there. */
static void a_region_that_never_ends_goes_as_far_as_was_looked(void **state)
{
	struct world w;
	(void)state;
	begin(&w, 0);
	file(&w, 4, 1, "/a");
	assert_int_equal(flow_mark(w.f, FLOW_BEGIN, 1000), 0);
	look(&w);
	assert_true(w.p.found == NO); /* it has not lasted yet */
	tell(&w, WRITE(4, 7, 1200, 1300, 0));
	tell(&w, WRITE(4, 11, 900, 950, 7));
	iocount_flushed(w.c, 1500);
	look(&w);
	assert_true(w.p.found == YES);
	SAME(w.p.wall_ns, 500);
	SAME(w.p.roi.write_bytes, 7);
	SAME(w.p.whole.write_bytes, 18);
	SAME(named(&w, "/a")->roi.write_ops, 1);
	end(&w);
}

/* fwrite's like come as one event for many calls, without a time of their own. */
static void many_alike_are_multiplied(void **state)
{
	struct world w;
	(void)state;
	begin(&w, 0);
	file(&w, 4, 1, "/a");
	assert_int_equal(flow_mark(w.f, FLOW_BEGIN, 1000), 0);
	assert_int_equal(flow_mark(w.f, FLOW_END, 2000), 0);
	struct io_event e = { .call = IO_fwrite, .result = 16, .arg = { 4, 16 }, .count = 1000 };
	e.when_ns = 1500;
	tell(&w, e);
	e.at = 16000;
	e.when_ns = 2500;
	tell(&w, e);
	look(&w);
	SAME(w.p.roi.write_ops, 1000);
	SAME(w.p.roi.write_bytes, 16000);
	SAME(w.p.whole.write_bytes, 32000);
	SAME(w.p.whole.untimed_ops, 2000);
	SAME(w.p.whole.write_s, 0);
	const struct iopicture_file *f = named(&w, "/a");
	SAME(f->whole_pattern.consecutive_writes, 1999);
	SAME(f->size_bytes, 32000);
	assert_int_equal(f->whole_pattern.write_bins.n, 2);
	SAME(f->whole_pattern.write_bins.items[0], 5);
	SAME(f->whole_pattern.write_bins.items[1], 2000);
	end(&w);
}

static void copies_count_in_both_files_and_pipes_in_their_line_only(void **state)
{
	struct world w;
	(void)state;
	begin(&w, 0);
	file(&w, 4, 1, "/from");
	file(&w, 5, 2, "/to");
	const struct iocount_handle pipe = { .number = 6, .type = IO_PIPE };
	const struct iocount_handle out = { .number = 1, .type = IO_PIPE };
	(void)iocount_handle(w.c, &pipe);
	(void)iocount_handle(w.c, &out);
	tell(&w, (struct io_event){ .call = IO_copy_file_range,
				    .begin_ns = 10,
				    .end_ns = 30,
				    .result = 40,
				    .arg = { 4, -1, 5, -1, 100 } });
	tell(&w, WRITE(6, 5, 40, 50, -1));
	tell(&w, WRITE(1, 9, 50, 60, -1));
	look(&w);
	SAME(w.p.whole.read_bytes, 40);
	SAME(w.p.whole.write_bytes, 40);
	SAME(w.p.whole.read_ops, 1);
	SAME(w.p.whole.write_ops, 1);
	SAME(w.p.whole.write_s, 20e-9);
	SAME(w.p.whole.read_s, 0);
	SAME(w.p.whole_wait_ns, 20);
	SAME(named(&w, "/from")->whole.read_bytes, 40);
	SAME(named(&w, "/to")->whole.write_bytes, 40);
	SAME(named(&w, "(pipes)")->whole.write_bytes, 5);
	SAME(named(&w, "stdin")->whole.write_bytes, 9);
	assert_false(known(named(&w, "(pipes)")->whole_pattern.consecutive_writes));
	end(&w);
}

static void what_a_library_does_within_a_call_is_apart(void **state)
{
	struct world w;
	(void)state;
	begin(&w, 0);
	iocount_text(w.c, 1, "/a", 2);
	const struct iocount_handle mpi = {
		.number = 4, .path = 1, .type = IO_FILE, .interface = IO_MPIIO
	};
	const struct iocount_handle posix = { .number = 5, .path = 1, .type = IO_FILE };
	(void)iocount_handle(w.c, &mpi);
	(void)iocount_handle(w.c, &posix);
	struct io_event e = WRITE(5, 4096, 20, 30, 0);
	e.depth = 1;
	tell(&w, e);
	tell(&w, (struct io_event){ .call = IO_MPI_File_write_at,
				    .begin_ns = 10,
				    .end_ns = 40,
				    .result = 4000,
				    .arg = { 4, 4000, 0, 1000, 2 } });
	look(&w);
	SAME(w.p.whole.write_bytes, 4000);
	assert_int_equal(w.p.interfaces.n, 2);
	assert_string_equal(w.p.interfaces.items[0].name, "posix");
	assert_string_equal(w.p.interfaces.items[0].within, "mpiio");
	SAME(w.p.interfaces.items[0].whole.write_bytes, 4096);
	assert_string_equal(w.p.interfaces.items[1].name, "mpiio");
	assert_null(w.p.interfaces.items[1].within);
	assert_int_equal(w.p.files.n, 1);
	assert_string_equal(w.p.files.items[0].interface, "mpiio");
	SAME(w.p.files.items[0].whole.write_bytes, 4000);
	SAME(w.p.whole_wait_ns, 30);
	end(&w);
}

static void files_beyond_the_limit_are_in_the_sums(void **state)
{
	struct world w;
	(void)state;
	begin(&w, 100);
	for (uint32_t i = 0; i < 100000; i++) {
		char path[32];
		uint32_t text = 1 + i % 50000; /* each twice */
		(void)snprintf(path, sizeof path, "/f%u", text);
		file(&w, 4 + i, text, path);
		tell(&w, WRITE(4 + i, 3, 10 * i + 1, 10 * i + 5, 0));
		tell(&w, (struct io_event){ .call = IO_close,
					    .begin_ns = 10 * i + 5,
					    .end_ns = 10 * i + 7,
					    .arg = { 4 + i } });
	}
	look(&w);
	SAME(w.p.whole.write_bytes, 300000);
	SAME(w.p.whole.open_ops, 100000);
	SAME(w.p.files_total, 50000);
	SAME(w.p.files_folded, 49900);
	assert_int_equal(w.p.files.n, 100);
	SAME(w.p.files.items[0].whole.write_bytes, 6);
	end(&w);
}

/* Whatever the length of the run, every byte is in a bin, and bins begin at multiples. */
static void no_byte_is_lost_over_time(void **state)
{
	struct world w;
	double sum = 0, told = 0;
	(void)state;
	begin(&w, 0);
	file(&w, 4, 1, "/a");
	uint64_t at = 77777777777;
	for (seed = 5; told < 1e7;) {
		unsigned bytes = dice(1000), length = 1 + dice(100000000);
		tell(&w, WRITE(4, bytes, at, at + length, -1));
		at += length + dice(1000000);
		told += bytes;
		if (dice(50) == 0) /* another thread's, long ago */
			at -= at > 80000000000 ? 3000000000 : 0;
	}
	look(&w);
	assert_true(w.p.series.n == 2);
	const struct iopicture_series *s = &w.p.series.items[0];
	for (size_t i = 0; i < s->write_bytes.n; i++)
		sum += s->write_bytes.items[i];
	SAME(sum, told);
	assert_true(s->write_bytes.n <= 256);
	assert_true(s->first_bin * s->bin_ns <= 77777777777 &&
		    (s->first_bin + (double)s->write_bytes.n) * s->bin_ns >= 77777777777);
	end(&w);
}

/* ---- the model ------------------------------------------------------------------------------ */

struct model {
	bool window[SPAN], wait[SPAN];
	double read_bytes[2], write_bytes[2], in_part;
	uint64_t ops[2][2], ns[2][2];
	struct {
		double bytes[2][2];
		uint64_t ops[2][2], turns, consecutive[2], sequential[2];
		bool written[BYTES];
		double reread;
	} files[FILES];
};

static void apply(struct model *m, const struct io_event *e)
{
	bool write = e->call == IO_pwrite;
	uint64_t from = e->begin_ns - SHIFT, to = e->end_ns - SHIFT, in = 0;
	unsigned file = (unsigned)e->arg[0] - 4;
	for (uint64_t t = from; t < to; t++) {
		in += m->window[t];
		m->wait[t] = true;
	}
	double part = (double)in / (double)(to - from);
	for (int scope = 0; scope < 2; scope++) {
		if (scope == 0 && !in)
			continue;
		double bytes = (double)e->result * (scope ? 1 : part);
		m->ops[scope][write]++;
		m->ns[scope][write] += scope ? to - from : in;
		*(write ? &m->write_bytes[scope] : &m->read_bytes[scope]) += bytes;
		m->files[file].bytes[scope][write] += bytes;
		m->files[file].ops[scope][write]++;
	}
	for (int64_t b = e->at; b < e->at + e->result; b++) {
		m->files[file].reread += !write && m->files[file].written[b];
		m->files[file].written[b] |= write;
	}
}

static int by_end(const void *a, const void *b)
{
	const struct io_event *x = a, *y = b;
	return (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns);
}

/* Of each thread disjoint calls; told in batches, thread by thread. */
static size_t random_calls(struct io_event *e)
{
	size_t n = 0;
	for (uint32_t thread = 0; thread < THREADS; thread++) {
		uint64_t at = dice(30);
		while (at < SPAN - 40 && n < EVENTS) {
			uint64_t length = 1 + dice(dice(4) ? 10 : 35);
			bool write = dice(2);
			int64_t where = dice(BYTES - 100), bytes = dice(100);
			unsigned file = 4 + dice(FILES);
			e[n] = write ? WRITE(file, bytes, SHIFT + at, SHIFT + at + length, where)
				     : READ(file, bytes, SHIFT + at, SHIFT + at + length, where);
			e[n++].thread = thread;
			at += length + dice(15);
		}
	}
	return n;
}

static void marks(struct world *w, struct model *m)
{
	int64_t at = dice(60);
	while (at < SPAN - 90) {
		int64_t length = 1 + dice(80), x = at + dice((unsigned)length), y = x + dice(20);
		y = y < at + length ? y : at + length;
		assert_int_equal(flow_mark(w->f, FLOW_BEGIN, SHIFT + at), 0);
		assert_int_equal(flow_mark(w->f, FLOW_EXCLUDE_BEGIN, SHIFT + x), 0);
		assert_int_equal(flow_mark(w->f, FLOW_EXCLUDE_END, SHIFT + y), 0);
		assert_int_equal(flow_mark(w->f, FLOW_END, SHIFT + at + length), 0);
		for (int64_t t = at; t < at + length; t++)
			m->window[t] = t < x || t >= y;
		at += length + 1 + dice(50);
	}
}

static bool near(double a, double b)
{
	return fabs(a - b) <= 0.5 + 1e-6;
}

static void compare(const struct world *w, const struct model *m)
{
	const struct iopicture *p = &w->p;
	double wait = 0, whole = 0;
	for (int t = 0; t < SPAN; t++) {
		wait += m->wait[t] && m->window[t];
		whole += m->wait[t];
	}
	SAME(p->whole_wait_ns, whole);
	if (p->found == YES)
		SAME(p->wait_ns, wait);
	for (int scope = p->found != YES; scope < 2; scope++) {
		const struct io_sums *s = scope ? &p->whole : &p->roi;
		assert_true(near(s->read_bytes, m->read_bytes[scope]));
		assert_true(near(s->write_bytes, m->write_bytes[scope]));
		SAME(s->read_ops, m->ops[scope][0]);
		SAME(s->write_ops, m->ops[scope][1]);
		SAME(rint(s->read_s * 1e9), m->ns[scope][0]);
		SAME(rint(s->write_s * 1e9), m->ns[scope][1]);
	}
	for (unsigned i = 0; i < FILES; i++) {
		char name[8];
		(void)snprintf(name, sizeof name, "/%u", i);
		const struct iopicture_file *f = named(w, name);
		for (int scope = p->found != YES; f && scope < 2; scope++) {
			const struct io_sums *s = scope ? &f->whole : &f->roi;
			assert_true(near(s->read_bytes, m->files[i].bytes[scope][0]));
			assert_true(near(s->write_bytes, m->files[i].bytes[scope][1]));
			SAME(s->read_ops, m->files[i].ops[scope][0]);
			SAME(s->write_ops, m->files[i].ops[scope][1]);
		}
		if (f)
			SAME(f->whole_pattern.reread_bytes, m->files[i].reread);
	}
}

static void random_calls_agree_with_the_model(void **state)
{
	(void)state;
	for (uint32_t round = 1; round < 2000; round++) {
		struct io_event e[EVENTS + THREADS];
		struct model m;
		struct world w;
		seed = round;
		memset(&m, 0, sizeof m);
		begin(&w, 0);
		for (unsigned i = 0; i < FILES; i++) {
			char name[8];
			(void)snprintf(name, sizeof name, "/%u", i);
			file(&w, 4 + i, 1 + i, name);
		}
		marks(&w, &m);
		size_t n = random_calls(e);
		if (dice(2)) /* as they end, in batches of one */
			qsort(e, n, sizeof *e, by_end);
		for (size_t i = 0, k; i < n; i = k) {
			for (k = i + 1; k < n && e[k].thread == e[i].thread && dice(6); k++)
				;
			iocount_events(w.c, w.f, &e[i], k - i);
		}
		for (size_t i = 0; i < n; i++)
			apply(&m, &e[i]);
		look(&w);
		compare(&w, &m);
		end(&w);
	}
}

static void hints_in_force_are_those_after_the_hints_given_last(void **state)
{
	struct world w;
	(void)state;
	begin(&w, 0);
	file(&w, 9, 1, "/a");
	iocount_text(w.c, 2, "cb_nodes=2", 10);
	iocount_text(w.c, 3, "cb_nodes=1", 10);
	iocount_text(w.c, 4, "cb_nodes=4", 10);
	iocount_text(w.c, 5, "cb_nodes=3", 10);
	tell(&w, (struct io_event){ .call = IO_MPI_File_open,
				    .begin_ns = 1,
				    .end_ns = 2,
				    .result = 9,
				    .arg = { 0, 1, 9, 2, 3 } });
	look(&w);
	assert_string_equal(named(&w, "/a")->hints_set, "cb_nodes=2");
	assert_string_equal(named(&w, "/a")->hints_in_force, "cb_nodes=1");
	const double meta = w.p.whole.meta_ops, untimed = w.p.whole.untimed_ops;
	tell(&w, (struct io_event){ .call = IO_MPI_File_set_view,
				    .begin_ns = 3,
				    .end_ns = 4,
				    .arg = { 9, 0, 0, 0, 0, 4 } });
	tell(&w, (struct io_event){ .call = IO_MPI_File_in_force, .when_ns = 4, .arg = { 9, 5 } });
	look(&w);
	assert_string_equal(named(&w, "/a")->hints_set, "cb_nodes=4");
	assert_string_equal(named(&w, "/a")->hints_in_force, "cb_nodes=3");
	SAME(w.p.whole.meta_ops, meta + 1); /* the view */
	SAME(w.p.whole.untimed_ops, untimed);
	end(&w);
}

/* What one costs; a figure to look at. */
static void a_million_calls(void **state)
{
	struct world w;
	struct timespec from, to;
	static struct io_event e[128];
	(void)state;
	begin(&w, 0);
	file(&w, 4, 1, "/a");
	assert_int_equal(flow_mark(w.f, FLOW_BEGIN, 1000), 0);
	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
	for (uint64_t i = 0; i < 1000000 / 128; i++) {
		for (uint64_t k = 0; k < 128; k++) {
			uint64_t at = (i * 128 + k) * 300;
			e[k] = WRITE(4, 512, 2000 + at, 2100 + at, (int64_t)(i * 128 + k) * 512);
		}
		iocount_events(w.c, w.f, e, 128);
	}
	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
	print_message("%.0f ns an event\n", ((double)(to.tv_sec - from.tv_sec) * 1e9 +
					     (double)(to.tv_nsec - from.tv_nsec)) /
						    1e6);
	look(&w);
	SAME(w.p.whole.write_ops, 1000000 / 128 * 128);
	assert_true(w.p.series.n == 2);
	for (size_t k = 0; k < w.p.series.n; k++) {
		double sum = 0;
		for (size_t i = 0; i < w.p.series.items[k].write_bytes.n; i++)
			sum += w.p.series.items[k].write_bytes.items[i];
		SAME(sum, 1000000 / 128 * 128 * 512.0);
	}
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_that_the_region_cuts_counts_once_and_pro_rata),
		cmocka_unit_test(a_region_that_never_ends_goes_as_far_as_was_looked),
		cmocka_unit_test(many_alike_are_multiplied),
		cmocka_unit_test(copies_count_in_both_files_and_pipes_in_their_line_only),
		cmocka_unit_test(what_a_library_does_within_a_call_is_apart),
		cmocka_unit_test(files_beyond_the_limit_are_in_the_sums),
		cmocka_unit_test(no_byte_is_lost_over_time),
		cmocka_unit_test(random_calls_agree_with_the_model),
		cmocka_unit_test(hints_in_force_are_those_after_the_hints_given_last),
		cmocka_unit_test(a_million_calls),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
