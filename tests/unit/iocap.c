/* A capture against a plain list of the same calls: what is read is what was put, times included,
 * whatever was called and wherever the file ends. */
#define _DEFAULT_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "schema/iocap_alike.h"
#include "schema/iocap_code.h"
#include "tests/unit/iocap_program.h"

static struct iocap *open_memory(const struct memory *m)
{
	struct iocap *c = NULL;
	struct err err = { "" };
	if (iocap_open_bytes(&c, m->data, m->n, "memory", &err))
		fail_msg("%s", err.text);
	return c;
}

static void same_event(const struct io_event *a, const struct io_event *b, size_t i, bool timed,
		       uint64_t step)
{
	bool same = a->call == b->call && a->depth == b->depth && a->thread == b->thread &&
		    a->result == b->result && a->at == b->at && a->count == b->count &&
		    memcmp(a->arg, b->arg, sizeof a->arg) == 0;
	if (!same)
		fail_msg(
			"event %zu: %s(%lld, %lld, %lld) = %lld at %lld thread %u, wanted %s(%lld, "
			"%lld, %lld) = %lld at %lld thread %u",
			i, io_call_info(a->call)->name, (long long)a->arg[0], (long long)a->arg[1],
			(long long)a->arg[2], (long long)a->result, (long long)a->at, a->thread,
			io_call_info(b->call)->name, (long long)b->arg[0], (long long)b->arg[1],
			(long long)b->arg[2], (long long)b->result, (long long)b->at, b->thread);
	uint64_t begin = timed ? b->begin_ns : 0, end = timed ? b->end_ns : 0;
	uint64_t when = timed ? b->when_ns : 0;
	int64_t off_begin = (int64_t)(a->begin_ns - begin), off_end = (int64_t)(a->end_ns - end);
	assert_true(llabs((int64_t)(a->when_ns - when)) <= (int64_t)step / 2);
	assert_true(llabs(off_begin) <= (int64_t)step / 2 && llabs(off_end) <= (int64_t)step / 2);
}

/* All threads' calls in order, each thread by itself. */
static void same_calls(struct iocap *c, const struct program *p, bool timed, uint64_t step)
{
	struct err err = { "" };
	size_t *at = calloc(p->n + 1, sizeof *at), seen = 0; /* next of each thread's */
	for (size_t s = 0; s < iocap_streams(c, 0); s++) {
		struct iocap_cursor *k;
		struct io_event e;
		int rc;
		assert_int_equal(iocap_begin(&k, c, 0, s, &err), 0);
		while ((rc = iocap_next(k, &e, NULL, &err)) > 0) {
			size_t i = at[e.thread];
			while (i < p->n && p->events[i].thread != e.thread)
				i++;
			assert_true(i < p->n);
			same_event(&e, &p->events[i], i, timed, step);
			at[e.thread] = i + 1;
			seen++;
		}
		if (rc)
			fail_msg("%s", err.text);
		iocap_end(k);
	}
	assert_int_equal(seen, p->n);
	assert_int_equal(iocap_sums(c, 0)->events, p->n);
	free(at);
}

static void same_names(struct iocap *c, const struct program *p)
{
	for (uint32_t t = 1; t <= p->n_texts; t++) {
		char text[64];
		size_t n, got;
		program_text(t, text, &n);
		assert_string_equal(iocap_text(c, 0, t, &got), text);
		assert_int_equal(n, got);
	}
	assert_null(iocap_text(c, 0, p->n_texts + 1, NULL));
	for (size_t i = 0; i < p->n_handles; i++) {
		const struct iocap_handle *h = iocap_handle(c, 0, p->handles[i].number);
		assert_non_null(h);
		assert_int_equal(h->number, p->handles[i].number);
		assert_int_equal(h->path, p->handles[i].path);
		assert_int_equal(h->flags, p->handles[i].flags);
		assert_int_equal(h->device, p->handles[i].device);
		assert_int_equal(h->inode, p->handles[i].inode);
	}
	assert_null(iocap_handle(c, 0, 3));
}

static size_t there_and_back(const struct program *p, size_t batch, bool timed, uint64_t step,
			     size_t flush_each)
{
	struct memory m = { 0 };
	struct iocap_writer *w = program_writer(&m, timed, step);
	assert_non_null(w);
	struct program part = *p;
	for (size_t i = 0; flush_each && i < p->n; i += flush_each) {
		part.events = p->events + i;
		part.n = p->n - i < flush_each ? p->n - i : flush_each;
		if (i)
			part.n_texts = part.n_handles = 0;
		program_put(w, &part, batch);
		iocap_flush(w, false);
	}
	if (!flush_each)
		program_put(w, p, batch);
	assert_int_equal(iocap_finish(w), 0);
	assert_int_equal(m.n, iocap_written_bytes(w));
	iocap_writer_free(w);
	assert_int_equal(m.n_open, 0);
	struct iocap *c = open_memory(&m);
	assert_true(iocap_sums(c, 0)->finished);
	assert_false(iocap_sums(c, 0)->damaged);
	same_calls(c, p, timed, step);
	same_names(c, p);
	iocap_close(c);
	size_t n = m.n;
	memory_done(&m);
	return n;
}

/* ---- random programs ---- */

static void any_call(struct program *p, uint32_t newest)
{
	unsigned call;
	do
		call = (unsigned)program_dice(p, IO_CALL_LIMIT);
	while (!io_call_info(call)->name);
	struct io_event *e = program_call(p, (enum io_call)call, 0);
	int i = 0;
	for (const char *l = io_call_info(call)->signature; *l && *l != ':'; l++, i++)
		e->arg[i] = *l == 'h'                 ? (int64_t)program_dice(p, newest + 3)
			    : *l == 'p' || *l == 't'  ? (int64_t)program_dice(p, 9)
			    : program_dice(p, 9) == 0 ? INT64_MIN
			    : program_dice(p, 9) == 0 ? INT64_MAX
						      : (int64_t)program_dice(p, 5000) - 5;
	e->result = program_dice(p, 3) ? (int64_t)program_dice(p, 4096) - 100 : e->arg[1];
	e->at = program_dice(p, 3) ? -1 : (int64_t)program_dice(p, 100000);
	e->depth = (uint8_t)program_dice(p, 2);
	if (program_dice(p, 50) == 0) {
		e->when_ns = program_dice(p, 3) ? e->begin_ns : 0;
		e->begin_ns = e->end_ns = 0;
	} else if (program_dice(p, 50) == 0) {
		e->end_ns = INT64_MAX - program_dice(p, 5);
	}
	if (program_dice(p, 9) == 0)
		e->count = (uint32_t)program_dice(p, 100);
}

static void session(struct program *p, int kind)
{
	uint32_t path = 1 + (uint32_t)program_dice(p, 20);
	if (kind & 1)
		path = p->n_texts + 1;
	uint32_t h = program_open(p, path);
	int64_t stride = 512 * (int64_t)(1 + program_dice(p, 9)), n = program_dice(p, 60);
	for (int64_t i = 0; i < n; i++) {
		if (kind & 2)
			program_rw(p, IO_pwrite, h, 100, i * stride, true);
		else
			program_rw(p, IO_read, h, 4096, i * 4096, false);
		if (kind & 4 && program_dice(p, 4) == 0)
			any_call(p, h);
	}
	if (program_dice(p, 10))
		program_close(p, h);
}

static void make_random(struct program *p, uint64_t seed, size_t n, unsigned threads)
{
	*p = (struct program){ .dice = seed * 12345 + 1, .now = 1000000 };
	while (p->n < n) {
		int kind = (int)program_dice(p, 8);
		uint64_t dice = p->dice, times = 1 + program_dice(p, 5);
		p->thread = (uint32_t)program_dice(p, threads);
		for (uint64_t k = 0; k < times; k++) {
			if (program_dice(p, 3))
				p->dice = dice; /* as the last time */
			session(p, kind);
		}
	}
}

static void random_programs_come_back(void **s)
{
	(void)s;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct program p;
		make_random(&p, seed, 500 * seed % 9000 + 10, 1 + (unsigned)seed % 4);
		(void)there_and_back(&p, 1 + seed * 7 % 100, seed % 5 != 0, seed % 3 ? 1 : 100,
				     seed % 4 ? 0 : 700);
		program_done(&p);
	}
}

static size_t prefix_is_good(struct iocap *c, const struct program *p)
{
	struct iocap_merged *k;
	struct io_event e;
	struct err err = { "" };
	size_t n = 0;
	int rc = iocap_merge(&k, c, 0, &err);
	assert_int_equal(rc, 0);
	while ((rc = iocap_merge_next(k, &e, &err)) > 0) {
		same_event(&e, &p->events[n], n, true, 1);
		n++;
	}
	if (rc)
		fail_msg("%s", err.text);
	iocap_merge_end(k);
	assert_int_equal(iocap_sums(c, 0)->events, n);
	return n;
}

/* More threads than streams: calls of a thread lie in several, and times say what was first. */
static void many_threads_share_streams(void **s)
{
	(void)s;
	struct program p = { .now = 7 };
	struct memory m = { 0 };
	struct iocap_writer *w = program_writer(&m, true, 1);
	for (int i = 0; i < 60000; i++) {
		if (i % 5 == 0)
			p.thread = (uint32_t)program_dice(&p, 300);
		program_rw(&p, IO_pread, 4 + p.thread, 100, 100 * i, true);
	}
	for (size_t i = 0; i < p.n; i += 9000) {
		iocap_put_events(w, p.events + i, p.n - i < 9000 ? p.n - i : 9000);
		iocap_flush(w, false);
	}
	assert_int_equal(iocap_finish(w), 0);
	iocap_writer_free(w);
	struct iocap *c = open_memory(&m);
	assert_int_equal(iocap_streams(c, 0), IOCAP_STREAMS);
	assert_int_equal(prefix_is_good(c, &p), p.n);
	iocap_close(c);
	memory_done(&m);
	program_done(&p);
}

static void many_open_files(void **s)
{
	(void)s;
	struct program p = { .now = 1 };
	for (uint32_t i = 0; i < 40000; i++)
		(void)program_open(&p, 1 + i % 5000);
	for (uint32_t round = 0; round < 2; round++)
		for (uint32_t i = 0; i < 40000; i++)
			program_rw(&p, IO_write, 4 + i, 10, 10 * round, false);
	for (uint32_t i = 0; i < 40000; i++)
		program_close(&p, 4 + i);
	(void)there_and_back(&p, 64, true, 1, 0);
	program_done(&p);
}

/* ---- what it is for ---- */

static void regular_patterns_are_small(void **s)
{
	(void)s;
	for (int kind = 0; kind < 4; kind++) {
		struct program p = { .now = 5 };
		for (int round = 0; round < 300; round++) {
			uint32_t h = program_open(&p, kind == 1 ? 1 : 1 + (uint32_t)round % 2);
			for (int64_t i = 0; i < 300; i++)
				if (kind == 0)
					program_rw(&p, IO_write, h, 64, i * 64, false);
				else if (kind == 1)
					program_rw(&p, IO_pwrite, h, 512, i * i % 300 * 512, true);
				else if (kind == 2)
					program_rw(&p, IO_pread, h, 512,
						   i / 10 * 100000 + i % 10 * 512, true);
				else
					program_rw(&p, i % 7 ? IO_read : IO_write, h, 100, i * 100,
						   false);
			program_close(&p, h);
		}
		size_t n = there_and_back(&p, 64, false, 1, 0);
		print_message("pattern %d without times: %zu bytes of %zu calls\n", kind, n, p.n);
		if (kind != 1) /* its 300 offsets stand in the table */
			assert_true(n < 2048);
		else
			assert_true(n < 8192);
		program_done(&p);
	}
}

/* ---- damage ---- */

static void cut_anywhere_the_rest_is_read(void **s)
{
	(void)s;
	struct program p;
	make_random(&p, 9, 600, 1);
	struct memory m = { 0 };
	struct iocap_writer *w = program_writer(&m, true, 1);
	program_put(w, &p, 64);
	assert_int_equal(iocap_finish(w), 0);
	iocap_writer_free(w);
	size_t most = 0;
	for (size_t cut = 0; cut <= m.n; cut++) {
		uint8_t *exact = malloc(cut ? cut : 1);
		memcpy(exact, m.data, cut);
		struct iocap *c = NULL;
		struct err err = { "" };
		int rc = iocap_open_bytes(&c, exact, cut, "cut", &err);
		if (rc) {
			assert_int_equal(rc, -EINVAL);
			assert_true(strlen(err.text) > 10);
		} else {
			size_t n = prefix_is_good(c, &p);
			assert_true(n >= most);
			most = n;
			assert_int_equal(iocap_sums(c, 0)->finished, cut == m.n);
			iocap_close(c);
		}
		free(exact);
	}
	assert_int_equal(most, p.n);
	memory_done(&m);
	program_done(&p);
}

static void put_file(const char *folder, const char *name, const void *head, size_t n_head,
		     const void *bytes, size_t n)
{
	char path[256];
	(void)snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(head, 1, n_head, f), n_head);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

/* What a process that is killed now leaves: at least what it had at its last flush, with the names
 * of all that is named. */
static void killed_now(const char *folder, const struct memory *m, const struct program *p,
		       size_t least)
{
	uint8_t head[IOCAP_OPEN_HEAD];
	char path[256];
	struct err err = { "" };
	struct iocap *c;
	struct iocap_cursor *k;
	struct io_event e;
	iocap_open_head(head, 1, m->open, m->n_open);
	put_file(folder, "p.iocap", "", 0, m->data, m->n);
	put_file(folder, "p.iocap-open1", head, sizeof head, m->open, m->n_open);
	(void)snprintf(path, sizeof path, "%s/p.iocap", folder);
	if (iocap_open(&c, path, &err))
		fail_msg("%s", err.text);
	assert_false(iocap_sums(c, 0)->finished);
	assert_true(prefix_is_good(c, p) >= least);
	assert_int_equal(iocap_begin(&k, c, 0, 0, &err), 0);
	while (iocap_next(k, &e, NULL, &err) > 0)
		if (e.call == IO_open) {
			assert_non_null(iocap_text(c, 0, (uint32_t)e.arg[0], NULL));
			assert_non_null(iocap_handle(c, 0, (uint32_t)e.result));
		}
	iocap_end(k);
	iocap_close(c);
}

static void put_name(struct iocap_writer *w, const struct program *p, uint32_t *texts,
		     const struct io_event *e)
{
	for (; *texts < e->arg[0]; (*texts)++) {
		char text[64];
		size_t n;
		program_text(*texts + 1, text, &n);
		iocap_put_text(w, *texts + 1, text, n);
	}
	iocap_put_handle(w, &p->handles[e->result - 4]);
}

static void killed_at_any_time_it_leaves_its_last_flush(void **s)
{
	(void)s;
	char folder[] = "/tmp/roimeter-iocap-XXXXXX", path[256];
	assert_non_null(mkdtemp(folder));
	for (uint64_t seed = 1; seed <= 4; seed++) {
		struct program p = { .now = 5, .dice = seed };
		struct memory m = { 0 };
		struct iocap_writer *w = program_writer(&m, true, 1);
		uint32_t texts = 0;
		size_t flushed = 0;
		while (p.n < 75000) { /* so that segments end */
			uint32_t h = program_open(&p, 1 + p.n_texts * (program_dice(&p, 2) == 0));
			for (uint64_t i = program_dice(&p, seed == 1 ? 9 : 400); i; i--)
				program_rw(&p, seed % 2 ? IO_pwrite : IO_pread, h,
					   seed == 2 ? (int64_t)program_dice(&p, 999) : 64,
					   (int64_t)program_dice(&p, 1 << 20), true);
			program_close(&p, h);
		}
		for (size_t i = 0; i < p.n; i++) {
			if (p.events[i].call == IO_open)
				put_name(w, &p, &texts, &p.events[i]);
			iocap_put_events(w, &p.events[i], 1);
			if (program_dice(&p, 3000) == 0) {
				iocap_flush(w, false);
				flushed = i + 1;
			}
			bool after_flush = i + 1 == flushed && program_dice(&p, 5) == 0;
			if (flushed && (after_flush || program_dice(&p, 12000) == 0))
				killed_now(folder, &m, &p, flushed);
		}
		iocap_writer_free(w);
		memory_done(&m);
		program_done(&p);
	}
	(void)snprintf(path, sizeof path, "%s/p.iocap", folder);
	(void)unlink(path);
	(void)snprintf(path, sizeof path, "%s/p.iocap-open1", folder);
	(void)unlink(path);
	(void)rmdir(folder);
}

static void a_full_disk_leaves_what_was_before(void **s)
{
	(void)s;
	struct program p;
	make_random(&p, 11, 90000, 1);
	struct memory m = { .fail_after = 100000 };
	struct iocap_writer *w = program_writer(&m, true, 1);
	program_put(w, &p, 64);
	assert_int_equal(iocap_finish(w), -28);
	iocap_writer_free(w);
	struct iocap *c = open_memory(&m);
	assert_false(iocap_sums(c, 0)->finished);
	(void)prefix_is_good(c, &p);
	iocap_close(c);
	memory_done(&m);
	program_done(&p);
}

/* ---- hostile files ---- */

static void put_segment(struct iocap_bytes *file, uint64_t symbols, const uint64_t *lengths,
			size_t n, const uint64_t *items, const uint64_t *times, size_t n_items)
{
	struct iocap_bytes payload = { 0 }, scratch = { 0 };
	struct iocap_column c[3] = { 0 };
	iocap_varint_put(&payload, 0);
	iocap_varint_put(&payload, symbols);
	iocap_varint_put(&payload, 0);
	iocap_varint_put(&payload, 0);
	for (size_t i = 0; i < n; i++)
		iocap_column_put(&c[0], lengths[i]);
	for (size_t i = 0; i < n_items; i++) {
		iocap_column_put(&c[1], items[i]);
		iocap_column_put(&c[2], times[i]);
	}
	for (int i = 0; i < 3; i++) {
		iocap_column_write(&c[i], &payload, &scratch);
		iocap_column_done(&c[i]);
	}
	iocap_block_put(file, IOCAP_B_SEGMENT, 0, 0, &payload);
	iocap_bytes_done(&payload);
	iocap_bytes_done(&scratch);
}

static int open_rules(uint64_t symbols, const uint64_t *lengths, size_t n, const uint64_t *items,
		      const uint64_t *times, size_t n_items, struct iocap **ret, struct err *err)
{
	static const uint8_t sync_call[] = {
		IO_sync,
		0,
		0,
	};
	static uint8_t kept[1 << 16];
	struct memory m = { 0 };
	iocap_writer_free(program_writer(&m, false, 1));
	struct iocap_bytes file = { 0 }, payload = { 0 };
	iocap_bytes_put(&file, m.data, m.n);
	iocap_varint_put(&payload, sync_call[0]);
	iocap_varint_put(&payload, 0);
	iocap_varint_put(&payload, 0);
	iocap_block_put(&file, IOCAP_B_SIGNATURES, 0, 1, &payload);
	put_segment(&file, symbols, lengths, n, items, times, n_items);
	assert_true(file.len < sizeof kept);
	memcpy(kept, file.data, file.len);
	int rc = iocap_open_bytes(ret, kept, file.len, "hostile", err);
	iocap_bytes_done(&file);
	iocap_bytes_done(&payload);
	memory_done(&m);
	return rc;
}

#define RULES(symbols, lengths, items, times)                                                      \
	open_rules(symbols, lengths, sizeof lengths / sizeof *lengths, items, times,               \
		   sizeof items / sizeof *items, &c, &err)

static void hostile_rules_are_refused(void **s)
{
	(void)s;
	struct iocap *c = NULL;
	struct err err = { "" };
	/* Rule 0 is rule 1 four times, rule 1 is twice the one symbol. */
	const uint64_t good_lengths[] = { 1, 1 }, good_items[] = { 3, 0 }, good_times[] = { 3, 1 };
	assert_int_equal(RULES(8, good_lengths, good_items, good_times), 0);
	assert_int_equal(iocap_sums(c, 0)->events, 8);
	size_t n;
	uint64_t events;
	assert_int_equal(iocap_rule(c, 0, 0, 0, 1, &n, &events)[0].times, 2);
	assert_int_equal(events, 2);
	iocap_close(c);
	assert_int_equal(RULES(9, good_lengths, good_items, good_times), -EINVAL);
	/* Itself; a circle; a rule and a symbol that there are not; an empty rule; more items than
	 * lengths. */
	const uint64_t one[] = { 1 }, itself[] = { 1 }, once[] = { 0 }, no_rule[] = { 3 },
		       no_symbol[] = { 2 };
	assert_int_equal(RULES(1, one, itself, once), -EINVAL);
	assert_int_equal(RULES(1, one, no_rule, once), -EINVAL);
	assert_int_equal(RULES(1, one, no_symbol, once), -EINVAL);
	const uint64_t circle[] = { 3, 5, 3 }, three[] = { 1, 1, 1 }, ones[] = { 0, 0, 0 };
	assert_int_equal(RULES(1, three, circle, ones), -EINVAL);
	const uint64_t with_empty[] = { 1, 0 };
	assert_int_equal(RULES(UINT64_MAX, with_empty, no_rule, once), -EINVAL);
	const uint64_t too_short[] = { 1, 1 }, more[] = { 3, 0, 0 };
	assert_int_equal(RULES(2, too_short, more, ones), -EINVAL);
	/* A bomb whose length is more than there are numbers, and one that is not. */
	uint64_t lengths[80], items[80], times[80];
	for (uint64_t i = 0; i < 80; i++) {
		lengths[i] = 1;
		items[i] = i < 79 ? (i + 1) * 2 + 1 : 0;
		times[i] = 1;
	}
	assert_int_equal(RULES(1, lengths, items, times), -EINVAL);
	for (uint64_t i = 0; i < 80; i++)
		times[i] = i < 60;
	assert_int_equal(RULES((uint64_t)1 << 60, lengths, items, times), 0);
	assert_int_equal(iocap_sums(c, 0)->events, (uint64_t)1 << 60);
	struct iocap_cursor *k;
	struct io_event e;
	assert_int_equal(iocap_begin(&k, c, 0, 0, &err), 0);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(iocap_next(k, &e, NULL, &err), 1);
	iocap_end(k);
	iocap_close(c);
}

/* ---- alike ---- */

static void rank_file(struct memory *m, int64_t rank, bool timed)
{
	struct program p = { .now = 5, .dice = (uint64_t)rank };
	struct iocap_writer *w = program_writer(m, timed, 1);
	for (int round = 0; round < 20; round++) {
		uint32_t h = program_open(&p, 1 + (uint32_t)round);
		for (int64_t i = 0; i < 50; i++)
			program_rw(&p, IO_pwrite, h, 4096, (i * 8 + rank) * 4096, true);
		program_close(&p, h);
	}
	program_put(w, &p, 64);
	assert_int_equal(iocap_finish(w), 0);
	iocap_writer_free(w);
	program_done(&p);
}

static void ranks_that_are_alike_are_stored_once(void **s)
{
	(void)s;
	for (int timed = 0; timed < 2; timed++) {
		struct memory a = { 0 }, b = { 0 };
		rank_file(&a, 1, timed);
		rank_file(&b, 2, timed);
		struct iocap_bytes out = { 0 }, back = { 0 };
		struct iocap_blocks base = { 0 };
		assert_true(iocap_blocks_list(&base, a.data, a.n, IOCAP_MAGIC));
		assert_true(iocap_alike_put(&out, b.data, b.n, &base, "rank1"));
		print_message("%zu bytes, as what differs %zu\n", b.n, out.len);
		if (!timed)
			assert_true(out.len < b.n / 2);
		size_t n;
		assert_memory_equal(iocap_alike_base(out.data, out.len, &n), "rank1", 5);
		assert_true(iocap_alike_get(&back, out.data, out.len, &base));
		assert_int_equal(back.len, b.n);
		assert_memory_equal(back.data, b.data, b.n);
		for (size_t i = 0; i < out.len; i++) { /* cut, and changed */
			back.len = 0;
			/* Cut between two blocks it is a capture that ends early. */
			assert_true(!iocap_alike_get(&back, out.data, i, &base) || back.len < b.n);
			out.data[i] ^= 0x11;
			back.len = 0;
			assert_false(iocap_alike_get(&back, out.data, out.len, &base));
			out.data[i] ^= 0x11;
		}
		iocap_bytes_done(&out);
		iocap_bytes_done(&back);
		iocap_blocks_done(&base);
		memory_done(&a);
		memory_done(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_programs_come_back),
		cmocka_unit_test(many_threads_share_streams),
		cmocka_unit_test(many_open_files),
		cmocka_unit_test(regular_patterns_are_small),
		cmocka_unit_test(cut_anywhere_the_rest_is_read),
		cmocka_unit_test(killed_at_any_time_it_leaves_its_last_flush),
		cmocka_unit_test(a_full_disk_leaves_what_was_before),
		cmocka_unit_test(hostile_rules_are_refused),
		cmocka_unit_test(ranks_that_are_alike_are_stored_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
