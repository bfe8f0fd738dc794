/* A run that went through batches is the record that it would have been without: the executions as
 * frames, the logs in pieces, out of order, and twice. */
/* wrap: malloc calloc realloc */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/carry.h"
#include "lib/num.h"
#include "schema/codec.h"
#include "tests/unit/fail_alloc.h"

#define EXECUTIONS 4
#define RUN "20260929T045201Z-0123abcd"

static char log_text[EXECUTIONS][200];

/* A program that enters its region once, at each execution a little longer. */
static void make_logs(void)
{
	for (int i = 0; i < EXECUTIONS; i++)
		(void)snprintf(log_text[i], sizeof log_text[i],
			       "# hpcperf-roi-log 2\nB 1000000000 1764459419000000000\n"
			       "E %d 176445942%d000000000\n",
			       2000000000 + i * 1000000, i);
}

static void set_up(struct record *rec)
{
	record_init(rec);
	rec->body.run_id = RUN;
	rec->body.suite = "demo";
	rec->body.app = "cg";
	rec->body.case_ = "small";
	rec->body.platform = "cpu.none";
	rec->body.kind = "measured";
	rec->body.utc = "2026-09-29T04:52:01Z";
	rec->body.measurement.region = "markers";
	rec->body.measurement.cleans_asked = EXECUTIONS - 1;
	rec->body.measurement.warmups = 1;
	rec->body.inputs.ranks = 1;
	rec->body.fom.name = "rate";
	rec->body.fom.unit = "1/s";
	rec->body.fom.better = "higher";
}

static struct timer_part parts[] = { { "solve", 0.75 }, { "io", 0.125 } };
static struct timer_result timer = { .wall_s = 1.5,
				     .steps = 10,
				     .excluded_s = (double)NAN,
				     .setup_s = 0.25,
				     .parts = parts,
				     .n_parts = 2 };
static const char *notes[] = { "no room for the log of process 7", "and another" };

/* The first runs at other clocks each time; the second has not been seen once. */
static void see_devices(struct execution *row, int i)
{
	static struct device_state all[EXECUTIONS][2];
	static const char *reasons[] = { "power_cap", "thermal_software" };
	struct device_state *d = all[i];
	for (int k = 0; k < 2; k++) {
		block_clear(&device_state_block, &d[k]);
		d[k].device = k ? "1" : "0";
		d[k].name = "GPU";
		d[k].within = "region";
		d[k].status = k ? "no_answer" : "ok";
		d[k].samples = k ? 0 : i + 1;
	}
	d[0].clock_min_hz = 1000 - i;
	d[0].clock_mean_hz = 1000 + i;
	d[0].clock_max_hz = 2000 + i;
	d[0].energy_j = 10;
	d[0].throttled_frac = i == 1 ? 1 : 0;
	d[0].throttle_reasons = (struct txts){ reasons + (i == 1 ? 0 : 1), i < 3 };
	d[0].others = i == 2 ? 3 : 0;
	row->devices.items = d;
	row->devices.n = 2;
}

static void see(struct observed *seen, int i, const struct roi_log *const *log)
{
	static const char *const names[] = { "warmup.0", "clean.0", "clean.1", "clean.2" };
	*seen = (struct observed){ .end = END_EXITED, .n_logs = 1, .logs = log };
	block_clear(&execution_block, &seen->row);
	seen->row.name = names[i];
	seen->row.order = i;
	seen->row.exit_code = 0;
	seen->row.process_wall_s = 1.25 + i / 1024.0;
	seen->row.load1 = 0.5;
	see_devices(&seen->row, i);
	seen->start_real_ns = 1764459418900000001 + i;
	seen->end_real_ns = seen->start_real_ns + 1250000000;
	seen->fom = (struct metric){ .status = METRIC_OK, .value = 1e9 / (7 + i) };
	seen->own_timer = (struct metric){ .status = METRIC_NOT_MATCHED, .value = (double)NAN };
	seen->timer = i == 2 ? &timer : NULL;
	seen->notes = (struct txts){ .items = notes, .n = i == 1 ? 2 : 0 };
}

static struct buf assembled(const struct observed *seen)
{
	struct record rec;
	struct buf b = { 0 };
	struct err err = { .text = "" };
	set_up(&rec);
	if (assemble(&rec, seen, EXECUTIONS, &err))
		fail_msg("%s", err.text);
	assert_string_equal(rec.body.status, "ok");
	assert_int_equal(rec.body.roi.runs_s.n, EXECUTIONS - 1);
	record_put(&b, &rec);
	assert_false(b.failed);
	record_done(&rec);
	return b;
}

static struct buf directly(void)
{
	struct roi_logs logs = { .n = 0 };
	struct observed seen[EXECUTIONS];
	const struct roi_log *log[EXECUTIONS];
	for (int i = 0; i < EXECUTIONS; i++) {
		assert_int_equal(roilog_parse(&logs, "log", log_text[i], strlen(log_text[i]), NULL),
				 0);
		log[i] = logs.items[i];
		see(&seen[i], i, &log[i]);
	}
	struct buf b = assembled(seen);
	roilogs_done(&logs);
	return b;
}

/* One batch an execution: its end, and its log in pieces of 50 bytes, the last one first. */
static void send(struct buf *to, int i)
{
	struct batch_out out = { .frames = 0 };
	struct carry carry = { .row = { 0 } };
	struct batch_sender s;
	struct observed seen;
	struct frame f;
	static const struct roi_log *const none;
	see(&seen, i, &none);
	assert_int_equal(observed_put(&f, &carry, RUN, &seen), 0);
	assert_int_equal(batch_put(&out, &f), 0);
	size_t n = strlen(log_text[i]);
	for (size_t piece = (n + 49) / 50; piece--;) {
		frame_clear(&f, FRAME_PROCESS);
		f.as.process.stream = str_of(seen.row.name);
		f.as.process.run = str_of(RUN);
		f.as.process.exec = str_of(seen.row.name);
		f.as.process.size = n;
		f.as.process.offset = piece * 50;
		f.as.process.data = (struct str){ .p = log_text[i] + piece * 50,
						  .n = n - piece * 50 < 50 ? n - piece * 50 : 50 };
		assert_int_equal(batch_put(&out, &f), 0);
	}
	batch_sender_clear(&s);
	s.agent = str_of("a");
	s.spool = str_of("b");
	s.seq = (uint64_t)i + 1;
	assert_int_equal(batch_end(&out, &s, to, NULL), 0);
	batch_out_done(&out);
	carry_done(&carry);
}

static int number_of(const struct observed *seen)
{
	return (int)seen->row.order;
}

static struct buf by_batches(const struct buf *posted)
{
	struct batch_in in = { .left = 0 };
	struct arena a = { .blocks = NULL };
	struct roi_logs logs = { .n = 0 };
	struct observed seen[EXECUTIONS], one;
	const struct roi_log *log[EXECUTIONS];
	static char back[EXECUTIONS][200];
	int at = -1;
	memset(back, 0, sizeof back);
	for (size_t done = 0; done < posted->len; done += in.head.bytes) {
		struct frame f;
		assert_int_equal(batch_open(&in, posted->data + done, posted->len - done, NULL), 0);
		while (batch_next(&in, &f, NULL) == 1) {
			const struct frame_process *p = &f.as.process;
			if (f.type == FRAME_EXECUTION_END) {
				assert_int_equal(observed_get(&one, &a, &f.as.execution_end, NULL),
						 0);
				at = number_of(&one);
				seen[at] = one;
			} else {
				memcpy(back[at] + p->offset, p->data.p, p->data.n);
			}
		}
	}
	for (int i = 0; i < EXECUTIONS; i++) {
		assert_int_equal(roilog_parse(&logs, "log", back[i], strlen(back[i]), NULL), 0);
		log[i] = logs.items[i];
		seen[i].logs = &log[i];
		seen[i].n_logs = 1;
	}
	struct buf b = assembled(seen);
	roilogs_done(&logs);
	arena_free(&a);
	batch_in_done(&in);
	return b;
}

static void the_record_is_the_same_by_way_of_batches(void **state)
{
	(void)state;
	make_logs();
	struct buf posted = { 0 };
	static const int order[] = { 2, 0, 3, 1, 2 };
	for (size_t i = 0; i < sizeof order / sizeof order[0]; i++)
		send(&posted, order[i]);
	struct buf a = directly(), b = by_batches(&posted);
	assert_int_equal(a.len, b.len);
	assert_memory_equal(a.data, b.data, a.len);
	buf_done(&a);
	buf_done(&b);
	buf_done(&posted);
}

static void an_execution_comes_back_whole(void **state)
{
	(void)state;
	struct carry carry = { .row = { 0 } };
	struct arena a = { .blocks = NULL };
	struct observed seen, back;
	struct frame f;
	see(&seen, 2, NULL);
	seen.notes = (struct txts){ .items = notes, .n = 2 };
	seen.row.why = "it took too long";
	seen.end = END_TIMEOUT;
	assert_int_equal(observed_put(&f, &carry, RUN, &seen), 0);
	assert_int_equal(observed_get(&back, &a, &f.as.execution_end, NULL), 0);
	assert_int_equal(back.end, END_TIMEOUT);
	assert_string_equal(back.row.why, seen.row.why);
	assert_string_equal(back.row.name, "clean.1");
	assert_true(back.start_real_ns == seen.start_real_ns &&
		    back.end_real_ns == seen.end_real_ns);
	assert_int_equal(back.own_timer.status, METRIC_NOT_MATCHED);
	assert_false(known(back.own_timer.value));
	assert_int_equal(back.notes.n, 2);
	assert_string_equal(back.notes.items[1], notes[1]);
	assert_non_null(back.timer);
	assert_true(back.timer->rc == 0 && back.timer->wall_s == 1.5 && back.timer->steps == 10);
	assert_true(!known(back.timer->excluded_s) && back.timer->setup_s == 0.25);
	assert_int_equal(back.timer->n_parts, 2);
	assert_string_equal(back.timer->parts[1].name, "io");
	assert_true(back.timer->parts[1].seconds == 0.125);
	assert_null(back.logs);
	carry_done(&carry);
	arena_free(&a);
}

static bool has_caveat(const struct record *rec, const char *code, const char *of)
{
	for (size_t i = 0; i < rec->body.caveats.n; i++)
		if (strcmp(rec->body.caveats.items[i].code, code) == 0 &&
		    strstr(rec->body.caveats.items[i].text, of))
			return true;
	return false;
}

/* Clean executions 1 to 3, with 2, 3 and 4 looks; the warm-up is not in it. */
static void how_devices_ran_is_told_of_all_clean_executions(void **state)
{
	(void)state;
	struct roi_logs logs = { .n = 0 };
	struct observed seen[EXECUTIONS];
	const struct roi_log *log[EXECUTIONS];
	struct record rec;
	for (int i = 0; i < EXECUTIONS; i++) {
		assert_int_equal(roilog_parse(&logs, "log", log_text[i], strlen(log_text[i]), NULL),
				 0);
		log[i] = logs.items[i];
		see(&seen[i], i, &log[i]);
	}
	set_up(&rec);
	assert_int_equal(assemble(&rec, seen, EXECUTIONS, NULL), 0);
	assert_int_equal(rec.body.context.devices.n, 2);
	const struct device_state *d = rec.body.context.devices.items;
	assert_true(d[0].samples == 9);
	assert_true(d[0].clock_min_hz == 997 && d[0].clock_max_hz == 2003);
	assert_true(fabs(d[0].clock_mean_hz - (1001 * 2 + 1002 * 3 + 1003 * 4) / 9.0) < 1e-9);
	assert_true(d[0].energy_j == 30);
	assert_true(fabs(d[0].throttled_frac - 2.0 / 9) < 1e-12);
	assert_int_equal(d[0].throttle_reasons.n, 2);
	assert_true(d[0].others == 3);
	assert_string_equal(d[0].status, "ok");
	assert_string_equal(d[1].status, "no_answer");
	assert_true(d[1].samples == 0 && isnan(d[1].clock_mean_hz));
	assert_null(d[1].throttle_reasons.items);
	assert_true(has_caveat(&rec, "device_throttled", "device 0 down in 22.2 % of 9 looks"));
	assert_true(has_caveat(&rec, "device_shared", "Up to 3 other processes were on device 0"));
	assert_true(has_caveat(&rec, "device_not_sampled", "device 1"));
	record_done(&rec);
	roilogs_done(&logs);
}

static void a_timer_that_was_not_found_says_why(void **state)
{
	(void)state;
	struct timer_result lost = { .rc = -ENOENT,
				     .why = "no line begins with Total",
				     .wall_s = (double)NAN };
	struct carry carry = { .row = { 0 } };
	struct arena a = { .blocks = NULL };
	struct observed seen, back;
	struct frame f;
	see(&seen, 0, NULL);
	seen.timer = &lost;
	assert_int_equal(observed_put(&f, &carry, RUN, &seen), 0);
	assert_int_equal(observed_get(&back, &a, &f.as.execution_end, NULL), 0);
	assert_int_equal(back.timer->rc, -ENOENT);
	assert_string_equal(back.timer->why, lost.why);
	f.as.execution_end.timer_why.p = NULL;
	assert_int_equal(observed_get(&back, &a, &f.as.execution_end, NULL), 0);
	assert_non_null(back.timer->why);
	carry_done(&carry);
	arena_free(&a);
}

static void what_can_not_be_is_refused(void **state)
{
	(void)state;
	struct carry carry = { .row = { 0 } };
	struct arena a = { .blocks = NULL };
	struct observed seen, back;
	struct frame f, good;
	see(&seen, 0, NULL);
	assert_int_equal(observed_put(&good, &carry, RUN, &seen), 0);
	for (int i = 0; i < 5; i++) {
		struct err err = { .text = "" };
		f = good;
		struct frame_execution_end *e = &f.as.execution_end;
		if (i == 0)
			e->end = 99;
		else if (i == 1)
			e->fom_status = 99;
		else if (i == 2)
			e->fom = (double)NAN; /* though it says that it was found */
		else if (i == 3)
			e->row.n--;
		else
			e->row.p = NULL;
		assert_int_equal(observed_get(&back, &a, e, &err), -EBADMSG);
		assert_string_not_equal(err.text, "");
	}
	carry_done(&carry);
	arena_free(&a);
}

static void every_failed_allocation_is_survived(void **state)
{
	(void)state;
	struct observed seen, back;
	struct frame f;
	see(&seen, 2, NULL);
	seen.notes = (struct txts){ .items = notes, .n = 2 };
	for (int n = 1; fail_alloc(n); n++) {
		struct carry carry = { .row = { 0 } };
		struct arena a = { .blocks = NULL };
		int rc = observed_put(&f, &carry, RUN, &seen);
		if (!rc)
			rc = observed_get(&back, &a, &f.as.execution_end, NULL);
		assert_int_equal(rc, alloc_failed ? -ENOMEM : 0);
		carry_done(&carry);
		arena_free(&a);
	}
	alloc_left = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_record_is_the_same_by_way_of_batches),
		cmocka_unit_test(an_execution_comes_back_whole),
		cmocka_unit_test(how_devices_ran_is_told_of_all_clean_executions),
		cmocka_unit_test(a_timer_that_was_not_found_says_why),
		cmocka_unit_test(what_can_not_be_is_refused),
		cmocka_unit_test(every_failed_allocation_is_survived),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
