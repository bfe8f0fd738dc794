/* What marks add up to, in one process and over a job; threads against a model that looks at every
 * nanosecond. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/roi.h"

static struct roi_log empty(void)
{
	return (struct roi_log){ .first_begin_ns = ROI_UNKNOWN,
				 .last_end_ns = ROI_UNKNOWN,
				 .first_begin_real = ROI_UNKNOWN,
				 .last_end_real = ROI_UNKNOWN,
				 .threads = 1 };
}

static void one_thread_adds_up_its_entries(void **state)
{
	(void)state;
	struct roi_entry entries[] = { { 0, 100, 30, 2, 0 }, { 200, 250, 0, 0, 0 } };
	struct roi_log log = empty();
	struct roi_process p;
	log.entries = entries;
	log.n_entries = 2;
	log.begun = 3;
	log.open = 1;
	roi_process_sum(&log, &p);
	assert_int_equal(p.entries, 3);
	assert_int_equal(p.finished, 2);
	assert_int_equal(p.gross_ns, 150);
	assert_int_equal(p.excluded_ns, 30);
	assert_int_equal(p.wall_ns, 120);
	assert_int_equal(p.entry_min_ns, 50);
	assert_int_equal(p.entry_max_ns, 70);
	assert_true(p.unterminated);
	assert_false(p.approximate);
}

static void folded_entries_count_like_kept_ones(void **state)
{
	(void)state;
	struct roi_entry entries[] = { { 0, 100, 0, 0, 0 } };
	struct roi_log log = empty();
	struct roi_process p;
	log.entries = entries;
	log.n_entries = 1;
	log.begun = 11;
	log.folded = 10;
	log.folded_gross_ns = 1000;
	log.folded_excluded_ns = 200;
	log.folded_excludes = 4;
	log.folded_min_ns = 20;
	log.folded_max_ns = 300;
	log.folded_threads = 1;
	roi_process_sum(&log, &p);
	assert_int_equal(p.finished, 11);
	assert_int_equal(p.wall_ns, 900);
	assert_int_equal(p.excludes, 4);
	assert_int_equal(p.entry_min_ns, 20);
	assert_int_equal(p.entry_max_ns, 300);
	assert_int_equal(p.folded, 10);
	assert_false(p.approximate);
	/* Several threads: what is sure is what the longest of them spent. */
	log.threads = log.folded_threads = 2;
	log.folded_largest_thread_ns = 600;
	roi_process_sum(&log, &p);
	assert_true(p.approximate);
	assert_int_equal(p.wall_ns, 600);
}

/* ---- threads ------------------------------------------------------------------------------------
 */

enum { SPAN = 400, THREADS = 3, MOST = 64 };

static uint32_t seed;

static unsigned dice(unsigned n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % n;
}

static int entry_by_end(const void *a, const void *b)
{
	const struct roi_entry *x = a, *y = b;
	return x->end_ns < y->end_ns ? -1 : x->end_ns > y->end_ns;
}

static int exclude_by_end(const void *a, const void *b)
{
	const struct roi_exclude *x = a, *y = b;
	return x->end_ns < y->end_ns ? -1 : x->end_ns > y->end_ns;
}

struct sample {
	struct roi_entry entries[MOST];
	struct roi_exclude excludes[MOST];
	struct roi_log log;
};

/* Threads enter, exclude and leave at random. */
static void make_sample(struct sample *s)
{
	*s = (struct sample){ .log = empty() };
	for (uint32_t t = 0; t < THREADS; t++)
		for (int64_t at = dice(60); at < SPAN - 60;) {
			struct roi_entry *e = &s->entries[s->log.n_entries++];
			*e = (struct roi_entry){ .begin_ns = at,
						 .end_ns = at + 1 + dice(50),
						 .thread = t };
			for (int64_t x = at + dice(10); x < e->end_ns - 2 && dice(2); x += 5) {
				int64_t end = x + 1 + dice(4);
				end = end < e->end_ns ? end : e->end_ns;
				s->excludes[s->log.n_excludes++] =
					(struct roi_exclude){ x, end, t };
				e->excluded_ns += (uint64_t)(end - x);
				e->excludes++;
			}
			at = e->end_ns + 1 + dice(60);
		}
	qsort(s->entries, s->log.n_entries, sizeof *s->entries, entry_by_end);
	qsort(s->excludes, s->log.n_excludes, sizeof *s->excludes, exclude_by_end);
	s->log.entries = s->entries;
	s->log.excludes = s->excludes;
	s->log.begun = s->log.n_entries;
	s->log.threads = THREADS;
}

static void check_sample(const struct sample *s)
{
	bool in[SPAN] = { false }, out[SPAN] = { false };
	uint64_t gross = 0, excluded = 0, entries = 0;
	for (size_t i = 0; i < s->log.n_entries; i++)
		for (int64_t t = s->entries[i].begin_ns; t < s->entries[i].end_ns; t++)
			in[t] = true;
	for (size_t i = 0; i < s->log.n_excludes; i++)
		for (int64_t t = s->excludes[i].begin_ns; t < s->excludes[i].end_ns; t++)
			out[t] = true;
	for (int t = 0; t < SPAN; t++) {
		gross += in[t];
		excluded += in[t] && out[t];
		entries += in[t] && (t == 0 || !in[t - 1]);
	}
	struct roi_process p;
	roi_process_sum(&s->log, &p);
	assert_int_equal(p.gross_ns, gross);
	assert_int_equal(p.excluded_ns, excluded);
	assert_int_equal(p.wall_ns, gross - excluded);
	assert_false(p.approximate);
	/* Entries that touch without overlapping are two, which the model can't see. */
	assert_true(p.entries >= entries);
}

static void threads_are_the_union_of_their_entries_less_that_of_their_excludes(void **state)
{
	(void)state;
	for (seed = 1; seed < 3000; seed += 7) {
		uint32_t keep = seed;
		struct sample s;
		make_sample(&s);
		check_sample(&s);
		seed = keep;
	}
}

static void an_exclude_of_one_thread_counts_inside_the_entry_of_another(void **state)
{
	(void)state;
	struct roi_entry entries[] = { { 10, 20, 4, 1, 1 },
				       { 0, 100, 0, 0, 0 },
				       { 100, 110, 0, 0, 1 } };
	struct roi_exclude excludes[] = { { 12, 16, 1 }, { 105, 120, 0 } };
	struct roi_log log = empty();
	struct roi_process p;
	log.entries = entries;
	log.n_entries = 3;
	log.excludes = excludes;
	log.n_excludes = 2;
	log.begun = 3;
	log.threads = 2;
	roi_process_sum(&log, &p);
	assert_int_equal(p.entries, 2); /* 0..100 and 100..110 touch, and are two */
	assert_int_equal(p.gross_ns, 110);
	assert_int_equal(p.excluded_ns, 4 + 5);
	assert_int_equal(p.entry_min_ns, 5);
	assert_int_equal(p.entry_max_ns, 96);
}

static void excludes_that_were_not_kept_make_it_a_lower_bound(void **state)
{
	(void)state;
	struct roi_entry entries[] = { { 0, 60, 20, 2, 0 }, { 30, 100, 10, 1, 1 } };
	struct roi_log log = empty();
	struct roi_process p;
	log.entries = entries;
	log.n_entries = 2;
	log.threads = 2;
	roi_process_sum(&log, &p);
	assert_int_equal(p.gross_ns, 100);
	assert_int_equal(p.wall_ns, 70); /* if they did not overlap */
	assert_true(p.approximate);
}

/* ---- jobs ---------------------------------------------------------------------------------------
 */

static struct roi_process process(uint64_t entries, uint64_t finished, uint64_t wall)
{
	return (struct roi_process){ .entries = entries,
				     .finished = finished,
				     .wall_ns = wall,
				     .gross_ns = wall,
				     .unterminated = finished < entries,
				     .first_begin_real = entries ? 10 : ROI_UNKNOWN,
				     .last_end_real = finished ? 20 : ROI_UNKNOWN };
}

static void processes_outside_the_region_do_not_count(void **state)
{
	(void)state;
	struct roi_process p[] = { process(0, 0, 0), process(1, 1, 50), process(0, 0, 0),
				   process(1, 1, 40) };
	struct roi_job job;
	p[0].overflow = 3; /* has its own line and its caveat */
	assert_int_equal(roi_job_sum(p, 4, &job), 0);
	assert_int_equal(job.processes, 2);
	assert_int_equal(job.slowest, 1);
	assert_int_equal(job.wall_ns, 50);
	assert_int_equal(job.imbalance_ns, 10);
	assert_int_equal(job.overflow, 0);
	assert_int_equal(roi_job_sum(p, 1, &job), -ENOENT);
	assert_int_equal(roi_job_sum(NULL, 0, &job), -ENOENT);
}

static void unfinished_processes_are_counted_beside_the_imbalance(void **state)
{
	(void)state;
	struct roi_process p[] = { process(1, 1, 50), process(1, 1, 42), process(1, 0, 0),
				   process(3, 2, 35) };
	struct roi_job job;
	assert_int_equal(roi_job_sum(p, 4, &job), 0);
	assert_int_equal(job.processes, 4);
	assert_int_equal(job.unfinished, 2);
	assert_int_equal(job.imbalance_ns, 15); /* with what the open one finished, as in wall_ns */
	assert_int_equal(job.entries, 3);
	assert_true(job.unterminated);
	assert_int_equal(roi_job_sum(&p[2], 1, &job), 0);
	assert_int_equal(job.imbalance_ns, 0);
	assert_true(job.last_end_real == ROI_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_thread_adds_up_its_entries),
		cmocka_unit_test(folded_entries_count_like_kept_ones),
		cmocka_unit_test(
			threads_are_the_union_of_their_entries_less_that_of_their_excludes),
		cmocka_unit_test(an_exclude_of_one_thread_counts_inside_the_entry_of_another),
		cmocka_unit_test(excludes_that_were_not_kept_make_it_a_lower_bound),
		cmocka_unit_test(processes_outside_the_region_do_not_count),
		cmocka_unit_test(unfinished_processes_are_counted_beside_the_imbalance),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
