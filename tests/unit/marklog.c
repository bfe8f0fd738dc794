/* The reader of mark logs, on logs made by hand: what stands in them, what was folded, how ticks
 * become time, and what becomes of files that are cut, foreign, or wrong. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "tests/unit/marklog_build.h"

static struct built b;
static struct roi_logs logs;

static const struct roi_log *parsed(size_t n)
{
	struct err err = { .text = "" };
	roilogs_done(&logs);
	if (roilog_parse(&logs, "x.roilog", b.bytes, n, &err))
		fail_msg("%s", err.text);
	assert_int_equal(logs.n, 1);
	return logs.items[0];
}

static int refresh(void **state)
{
	(void)state;
	built_init(&b);
	return 0;
}

static int forget(void **state)
{
	(void)state;
	roilogs_done(&logs);
	return 0;
}

static void identity_is_told(void **state)
{
	(void)state;
	const struct roi_log *log = parsed(BUILD_BYTES);
	assert_string_equal(log->format, "roimeter-mark-log 1");
	assert_string_equal(log->pid, "4711");
	assert_string_equal(log->host, "node1");
	assert_string_equal(log->exe, "/opt/\xef\xbf\xbd/app");
	assert_string_equal(log->rank, "3");
	assert_string_equal(log->clock, "tsc");
	assert_null(log->cwd);
	assert_null(log->run);
	assert_int_equal(log->argv.n, 3);
	assert_string_equal(log->argv.items[1], "");
	assert_string_equal(log->argv.items[2], "-n 3");
	assert_int_equal(log->begun, 0);
	assert_true(log->first_begin_ns == ROI_UNKNOWN && log->last_end_real == ROI_UNKNOWN);
	assert_null(log->damage);
}

static void ticks_follow_the_kernels_clock(void **state)
{
	(void)state;
	built_entry(&b, 0, 200, 400, 100);         /* 2 ticks a ns */
	built_entry(&b, 0, 999000, 1004000, 0);    /* across the change: 500 ns and 1000 ns */
	built_entry(&b, 0, 1500000, 1500400, 400); /* 4 ticks a ns */
	built_entry(&b, 0, 2000000, 2000000, 0);   /* at the last reading */
	const struct roi_log *log = parsed(BUILD_BYTES);
	assert_int_equal(log->n_entries, 4);
	const struct roi_entry *e = log->entries;
	assert_int_equal(e[0].begin_ns, BUILD_MONO + 100);
	assert_int_equal(e[0].end_ns, BUILD_MONO + 200);
	assert_int_equal(e[0].excluded_ns, 50);
	assert_int_equal(e[0].excludes, 1);
	assert_int_equal(e[1].end_ns - e[1].begin_ns, 1500);
	assert_int_equal(e[2].end_ns - e[2].begin_ns, 100);
	assert_int_equal(e[2].excluded_ns, 100);
	assert_int_equal(e[3].end_ns - e[3].begin_ns, 0);
	assert_int_equal(log->first_begin_ns, BUILD_MONO + 100);
	assert_int_equal(log->first_begin_real, BUILD_REAL + 100);
	assert_int_equal(log->last_end_ns, BUILD_MONO + 750000);
	assert_int_equal(log->last_end_real, BUILD_REAL + 760000); /* realtime had been set */
	/* The middle reading is 125000 ns off the line between its neighbours, and that is said. */
	assert_true(fabs(log->clock_error_ns - 125000) < 1);
}

static void one_reading_is_enough_with_the_kernels_clock(void **state)
{
	(void)state;
	struct marklog_header *h = built_header(&b);
	h->clock = MARKLOG_MONOTONIC;
	h->pair[0].tick = (uint64_t)h->pair[0].mono_ns;
	h->pairs = 1;
	h->latest = 0;
	built_entry(&b, 0, (uint64_t)BUILD_MONO + 7, (uint64_t)BUILD_MONO + 1000000007, 0);
	const struct roi_log *log = parsed(BUILD_BYTES);
	assert_string_equal(log->clock, "monotonic");
	assert_int_equal(log->entries[0].begin_ns, BUILD_MONO + 7);
	assert_int_equal(log->entries[0].end_ns - log->entries[0].begin_ns, 1000000000);
}

static void the_ring_holds_the_last_ones(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 10; i++)
		built_entry(&b, 0, 1000 * i, 1000 * i + 20, 0);
	struct marklog_fold *f = &built_stream(&b, 0)->folds[1];
	*f = (struct marklog_fold){ .count = 2,
				    .gross = 40,
				    .min = 20,
				    .max = 20,
				    .first = 4000,
				    .last = 5020,
				    .excludes = 3 };
	f->bins[roi_bin(10)] = 2;
	built_stream(&b, 0)->fold = 1;
	const struct roi_log *log = parsed(BUILD_BYTES);
	assert_null(log->damage);
	assert_int_equal(log->n_entries, 8);
	assert_int_equal(log->folded, 2);
	assert_int_equal(log->folded_gross_ns, 20);
	assert_int_equal(log->folded_excludes, 3);
	assert_int_equal(log->folded_min_ns, 10);
	assert_int_equal(log->folded_bins[roi_bin(10)], 2);
	assert_int_equal(log->folded_threads, 1);
	assert_int_equal(log->begun, 10);
	const struct roi_entry *e = log->entries;
	assert_int_equal(e[3].begin_ns, BUILD_MONO + 1500);
	assert_int_equal(e[4].begin_ns, BUILD_MONO + 3000); /* 4 and 5 are folded */
	assert_int_equal(e[7].begin_ns, BUILD_MONO + 4500);
}

static void an_open_entry_is_seen(void **state)
{
	(void)state;
	built_entry(&b, 0, 100, 200, 0);
	struct marklog_stream *s = built_stream(&b, 0);
	s->begun = 2;
	s->open_begin = 300;
	const struct roi_log *log = parsed(BUILD_BYTES);
	assert_int_equal(log->open, 1);
	assert_int_equal(log->begun, 2);
	assert_false(log->exclude_open);
	s->exclude_begin = 310;
	assert_true(parsed(BUILD_BYTES)->exclude_open);
}

static void two_threads(void)
{
	built_header(&b)->streams = 2;
	built_stream(&b, 1)->tenants = 1;
	built_entry(&b, 0, 100, 1000, 100);
	built_entry(&b, 1, 200, 600, 100);
	for (unsigned i = 0; i < 2; i++) {
		struct marklog_exclude *x =
			(struct marklog_exclude *)(void *)(built_records(&b, i) + 8);
		x[0] = (struct marklog_exclude){ 400 + 50 * i, 500 + 50 * i };
		built_stream(&b, i)->exclude_head = 1;
	}
}

static void threads_keep_their_excludes(void **state)
{
	(void)state;
	two_threads();
	const struct roi_log *log = parsed(BUILD_BYTES);
	assert_int_equal(log->threads, 2);
	assert_int_equal(log->n_entries, 2);
	assert_int_equal(log->entries[0].thread, 1); /* in order of their end */
	assert_int_equal(log->n_excludes, 2);
	assert_int_equal(log->excludes[0].begin_ns, BUILD_MONO + 200);
	assert_int_equal(log->excludes[1].end_ns, BUILD_MONO + 275);

	/* When one left its ring, the rest would say too little. */
	built_stream(&b, 1)->exclude_head = 5;
	assert_int_equal(parsed(BUILD_BYTES)->n_excludes, 0);
}

static void a_cut_file_is_read_as_far_as_it_goes(void **state)
{
	(void)state;
	two_threads();
	built_entry(&b, 0, 2000, 3000, 0);
	for (size_t n = 0; n <= BUILD_BYTES; n++) {
		struct err err = { .text = "" };
		/* A copy of this size, so that a sanitizer sees a read past its end. */
		unsigned char *copy = malloc(n ? n : 1);
		assert_non_null(copy);
		memcpy(copy, b.bytes, n);
		roilogs_done(&logs);
		int rc = roilog_parse(&logs, "cut", copy, n, &err);
		free(copy);
		if (n < MARKLOG_FIXED_BYTES) {
			assert_int_equal(rc, -EINVAL);
			assert_int_equal(logs.n, 0);
			continue;
		}
		assert_int_equal(rc, 0);
		const struct roi_log *log = logs.items[0];
		assert_true((log->damage != NULL) == (n < BUILD_BYTES));
		bool all = n >= BUILD_HEADER + BUILD_STREAM + MARKLOG_BLOCK_BYTES + 32;
		assert_true((log->n_entries == 3) == all);
		if (n >= BUILD_HEADER + BUILD_STREAM + MARKLOG_BLOCK_BYTES)
			assert_int_equal(log->n_entries + log->overflow, 3);
	}
}

static void wrong(size_t n, const char *wanted)
{
	struct err err = { .text = "" };
	roilogs_done(&logs);
	assert_int_equal(roilog_parse(&logs, "x.roilog", b.bytes, n, &err), -EINVAL);
	assert_int_equal(logs.n, 0);
	if (!strstr(err.text, wanted) || !strstr(err.text, "x.roilog"))
		fail_msg("\"%s\" does not say \"%s\"", err.text, wanted);
}

static void other_versions_are_refused(void **state)
{
	(void)state;
	b.bytes[18] = '2';
	wrong(BUILD_BYTES, "another version");
	refresh(NULL);
	built_header(&b)->record_bytes = 16;
	wrong(BUILD_BYTES, "do not fit");
	refresh(NULL);
	built_header(&b)->pairs = 0;
	built_header(&b)->latest = 0;
	wrong(BUILD_BYTES, "reading of the clock");
}

static void records_that_are_wrong_are_said(void **state)
{
	(void)state;
	built_entry(&b, 0, 100, 200, 0);
	built_entry(&b, 0, 300, 400, 0);
	built_records(&b, 0)[1].check = 7;
	const struct roi_log *log = parsed(BUILD_BYTES);
	assert_int_equal(log->n_entries, 1);
	assert_int_equal(log->overflow, 1);
	assert_non_null(strstr(log->damage, "not the one that belongs there"));
	built_records(&b, 0)[1] = (struct marklog_record){ 400, 300, 0, 0, 2 };
	log = parsed(BUILD_BYTES);
	assert_int_equal(log->n_entries, 1);
	assert_non_null(strstr(log->damage, "makes no sense"));
	built_stream(&b, 0)->head = 1000;
	assert_non_null(parsed(BUILD_BYTES)->damage);
	built_header(&b)->ready = 0;
	assert_non_null(strstr(parsed(BUILD_BYTES)->damage, "made its log"));
}

static void newer_logs_may_be_larger(void **state)
{
	(void)state;
	static unsigned char larger[BUILD_HEADER + MARKLOG_BLOCK_BYTES + 4096 + 8 * 48 + 4 * 16];
	built_entry(&b, 0, 100, 200, 0);
	built_entry(&b, 0, 300, 500, 0);
	memcpy(larger, b.bytes, BUILD_HEADER + MARKLOG_BLOCK_BYTES);
	struct marklog_header *h = (struct marklog_header *)(void *)larger;
	h->block_bytes += 4096;
	h->record_bytes = 48;
	h->stream_bytes = (uint32_t)(sizeof larger - BUILD_HEADER);
	for (size_t i = 0; i < 2; i++)
		memcpy(larger + BUILD_HEADER + h->block_bytes + 48 * i, &built_records(&b, 0)[i],
		       32);
	assert_int_equal(roilog_parse(&logs, "new", larger, sizeof larger, NULL), 0);
	assert_int_equal(logs.items[0]->n_entries, 2);
	assert_int_equal(logs.items[0]->entries[1].end_ns, BUILD_MONO + 250);
}

static void bins_are_four_to_a_power(void **state)
{
	(void)state;
	assert_int_equal(roi_bin(0), 0);
	assert_int_equal(roi_bin(7), 7);
	assert_int_equal(roi_bin(8), 8);
	assert_int_equal(roi_bin(9), 8);
	assert_int_equal(roi_bin(UINT64_MAX), ROI_BINS - 1);
	assert_true(roi_bin_top(ROI_BINS - 1) == UINT64_MAX);
	for (unsigned i = 0; i + 1 < ROI_BINS; i++) {
		assert_int_equal(roi_bin(roi_bin_top(i)), i);
		assert_int_equal(roi_bin(roi_bin_top(i) + 1), i + 1);
	}
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, refresh, forget)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(identity_is_told),
		CASE(ticks_follow_the_kernels_clock),
		CASE(one_reading_is_enough_with_the_kernels_clock),
		CASE(the_ring_holds_the_last_ones),
		CASE(an_open_entry_is_seen),
		CASE(threads_keep_their_excludes),
		CASE(a_cut_file_is_read_as_far_as_it_goes),
		CASE(other_versions_are_refused),
		CASE(records_that_are_wrong_are_said),
		CASE(newer_logs_may_be_larger),
		CASE(bins_are_four_to_a_power),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
