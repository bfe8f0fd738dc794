/* hpcperf-roi-log 2 as text in, marks out; files and folders. Our own format has its tests with the
 * marker library. */
/* wrap: malloc calloc realloc */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/roi.h"
#include "lib/file.h"
#include "lib/buf.h"
#include "schema/roilog.h"
#include "tests/unit/fail_alloc.h"

#define HEAD "# hpcperf-roi-log 2\n"

static struct roi_logs logs;
static struct err err;

static int clean(void **state)
{
	(void)state;
	roilogs_done(&logs);
	err.text[0] = 0;
	return 0;
}

static int parse(const char *text)
{
	/* Exactly as long as the text, so that a sanitizer sees what reads past it. */
	size_t n = strlen(text);
	char *copy = malloc(n ? n : 1);
	memcpy(copy, text, n);
	int rc = roilog_parse(&logs, "a.log", copy, n, &err);
	free(copy);
	return rc;
}

static void refused(const char *text, const char *place, const char *word)
{
	assert_int_equal(parse(text), -EINVAL);
	assert_int_equal(logs.n, 0);
	if (!strstr(err.text, place) || !strstr(err.text, word))
		fail_msg("\"%s\" has not both %s and %s", err.text, place, word);
}

static struct roi_process sum(size_t i)
{
	struct roi_process p;
	roi_process_sum(logs.items[i], &p);
	return p;
}

static void other_versions_are_refused_by_number(void **state)
{
	(void)state;
	refused("# hpcperf-roi-log 1\nB 0 0\nE 1 1\n", "a.log:1", "version \"1\"");
	refused("# hpcperf-roi-log 22\n", "a.log:1", "version \"22\"");
	refused("# hpcperf-roi-log\n", "a.log:1", "version");
	refused("# hpcperf-roi-log 2 beta\n", "a.log:1", "version");
	refused(HEAD "B 0 0\nE 1 1\n# hpcperf-roi-log 3\n", "a.log:4", "version \"3\"");
}

static void what_is_no_log_is_refused(void **state)
{
	(void)state;
	refused("", "a.log", "empty");
	refused("hello\n", "a.log:1", "version");
	refused("B 0 0\nE 1 1\n", "a.log", "not a region log");
}

static void numbers_are_whole_and_fit(void **state)
{
	(void)state;
	refused(HEAD "B 0 0\nE twelve 12\n", "a.log:3", "number");
	refused(HEAD "B 0 0\nE nan 12\n", "a.log:3", "number");
	refused(HEAD "B 0 0\nE 1.5 12\n", "a.log:3", "number");
	refused(HEAD "B -1 0\n", "a.log:2", "number");
	refused(HEAD "B 9223372036854775808 0\n", "a.log:2", "number");
	refused(HEAD "B 0 99999999999999999999\n", "a.log:2", "number");
	refused(HEAD "B 0 0\nE 5 5\nx 1 many\n", "a.log:4", "number");
	refused(HEAD "overflow lots\n", "a.log:2", "number");
	assert_int_equal(parse(HEAD "B 9223372036854775806 9223372036854775806\n"
				    "E 9223372036854775807 9223372036854775807\n"),
			 0);
	assert_int_equal(sum(0).wall_ns, 1);
	assert_int_equal(sum(0).last_end_real, INT64_MAX);
}

static void short_and_long_lines_are_refused(void **state)
{
	(void)state;
	refused(HEAD "B\n", "a.log:2", "number");
	refused(HEAD "B 0\nE 1 1\n", "a.log:2", "number");
	refused(HEAD "B 0 0\nE 1\nB 3 3\n", "a.log:3", "number");
	refused(HEAD "B 0 0 0\n", "a.log:2", "number");
	refused(HEAD "B 0 0\nE 9 9\nx 4\n", "a.log:4", "number");
	refused(HEAD "unmatched_end\n", "a.log:2", "number");
}

/* The same lines with room behind them take the other path through the parser. */
static void both_paths_of_the_parser_see_the_same(void **state)
{
	(void)state;
	static const char room[] =
		"\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n"
		"\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n";
	static const struct {
		const char *lines;
		bool good;
	} samples[] = {
		{ "B 1 1\nE 2 2\n", true },
		{ "B 12345678 123456789\nE 123456789 1234567890123456789\n", true },
		{ "B 604800000000000 1790000000000000000\nE 604800000012345 1790000000000012345\n",
		  true },
		{ "B 99999999999999999 1\nE 999999999999999999 2\n", true },
		{ "B 999999999999999999 1\nE 9223372036854775807 9223372036854775807\n", true },
		{ "B\t1\t1\nE  2   2\r\n", true },
		{ "B 1 1\nE 2 9223372036854775808\n", false },
		{ "B 1 1\nE 1234567:9 2\n", false },
		{ "B 1 1\nE 12/456789 2\n", false },
		{ "B 1 1\nE 2 12345678x\n", false },
		{ "B 1 1\nE 2 \xff\xff\xff\xff\xff\xff\xff\xff\n", false },
		{ "B 1 1\nE  2\n", false },
		{ "B 1 1\nE 2 \n", false },
		/* Lines like the one before are only compared with it. */
		{ "B 10000000000 1790000000000000000\nE 10000000001 1790000000000000001\n"
		  "B 10000000002 1790000000000000002\nE 10099999999 1790000000099999999\n"
		  "B 10100000000 1790000000100000000\nE 20100000000 1790000010100000000\n",
		  true },
		{ "B 10000000 10000000\nE 10000001 10000001\nB 1000000x 10000002\n", false },
		{ "B 10000000 10000000\nE 10000001 10000001\nB 10000002 1000000:\n", false },
		{ "B 10000000 10000000\nE 10000001 10000001\nB 10000002 10000002 \n", true },
		{ "B 10000000 10000000\nE 10000001 10000001\nB 10000002\t10000002\n", true },
		{ "B 10000000 10000000\nE 10000001 10000001\nU 10000002 10000002\n", true },
		{ "B 10000000 10000000\nE 10000001 10000001\nB 10000002 100000020\n", true },
	};
	for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
		char text[512];
		struct roi_process p[2] = { { 0 }, { 0 } };
		for (int k = 0; k < 2; k++) {
			(void)snprintf(text, sizeof text, "%s%s%s", HEAD, samples[i].lines,
				       k ? room : "");
			assert_int_equal(parse(text), samples[i].good ? 0 : -EINVAL);
			if (samples[i].good)
				p[k] = sum(0);
			roilogs_done(&logs);
		}
		assert_memory_equal(&p[0], &p[1], sizeof p[0]);
	}
}

static uint32_t seed = 1;

static unsigned dice(unsigned n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % n;
}

/* A mark at some time, now and then with a wrong letter or a wrong byte in it. */
static void random_line(char line[96], unsigned i, uint64_t *mono, uint64_t *real)
{
	char kind = dice(40) ? "BE"[i % 2] : "BEUx"[dice(4)];
	*mono += dice(3) ? dice(1000) : UINT64_C(1) << dice(40);
	*real += dice(1000);
	(void)snprintf(line, 96, "%c %" PRIu64 " %" PRIu64, kind, *mono, *real);
	if (dice(60) == 0)
		line[2 + dice((unsigned)strlen(line) - 2)] = "x:/ 9\n"[dice(6)];
}

/* A tab before a line sends it the slow way. */
static void random_lines_mean_the_same_on_both_paths(void **state)
{
	(void)state;
	for (int round = 0; round < 3000; round++) {
		char text[2][4096] = { HEAD, HEAD }, line[96];
		uint64_t mono = UINT64_C(1) << dice(55), real = UINT64_C(1) << dice(60);
		size_t at[2] = { strlen(HEAD), strlen(HEAD) };
		for (unsigned i = 0, n = 2 + dice(30); i < n; i++) {
			random_line(line, i, &mono, &real);
			for (int k = 0; k < 2; k++)
				at[k] += (size_t)snprintf(text[k] + at[k], 128, "%s%s\n",
							  k ? "\t" : "", line);
		}
		struct roi_process p[2] = { { 0 }, { 0 } };
		struct err errs[2] = { { "" }, { "" } };
		int rc[2];
		for (int k = 0; k < 2; k++) {
			memset(text[k] + at[k], '\n', 70); /* so that the last line has room, too */
			rc[k] = roilog_parse(&logs, "f", text[k], at[k] + 70, &errs[k]);
			if (!rc[k])
				p[k] = sum(0);
			roilogs_done(&logs);
		}
		assert_int_equal(rc[0], rc[1]);
		assert_string_equal(errs[0].text, errs[1].text);
		assert_memory_equal(&p[0], &p[1], sizeof p[0]);
	}
}

static void a_header_only_process_is_there_without_entries(void **state)
{
	(void)state;
	assert_int_equal(parse(HEAD "pid 7\nrank -\nhost a b\n"), 0);
	assert_int_equal(sum(0).entries, 0);
	assert_string_equal(logs.items[0]->pid, "7");
	assert_string_equal(logs.items[0]->rank, "-");
	assert_string_equal(logs.items[0]->host, "a b");
	assert_null(logs.items[0]->exe);
	assert_null(logs.items[0]->argv.items);
	assert_true(logs.items[0]->first_begin_real == ROI_UNKNOWN);
}

static void the_published_self_test_holds(void **state)
{
	(void)state;
	assert_int_equal(parse(HEAD "B 0 0\nE 1000 1000\nx 500 2\nB 2000 2000\nE 4000 4000\nB 5000 "
				    "5000\nU 6000 6000\n"
				    "unmatched_end 1\n" HEAD "B 0 0\nE 4000 4000\n"),
			 0);
	struct roi_process p[2] = { sum(0), sum(1) };
	struct roi_job job;
	assert_int_equal(p[0].entries, 3);
	assert_int_equal(p[0].gross_ns, 3000);
	assert_int_equal(p[0].excluded_ns, 500);
	assert_int_equal(p[0].excludes, 2);
	assert_int_equal(p[0].wall_ns, 2500);
	assert_true(p[0].unterminated);
	assert_int_equal(roi_job_sum(p, 2, &job), 0);
	assert_int_equal(job.wall_ns, 4000);
	assert_int_equal(job.processes, 2);
	assert_int_equal(job.unfinished, 1);
	assert_int_equal(job.imbalance_ns, 1500);
}

static void time_that_goes_back_is_of_two_writers(void **state)
{
	(void)state;
	refused(HEAD "B 100 100\nE 90 90\n", "a.log:3", "before its BEGIN");
	refused(HEAD "B 0 0\nE 100 100\nB 50 50\nE 150 150\n", "a.log:4", "two processes");
	refused(HEAD "B 0 10\nB 1 11\nE 90 100\nE 100 110\n", "a.log:5", "two processes");
}

static void excluded_time_stays_within_its_entry(void **state)
{
	(void)state;
	refused(HEAD "B 0 0\nE 10 10\nx 11 1\n", "a.log:4", "excluded");
	refused(HEAD "B 0 0\nE 10 10\nx 6 1\nx 5 1\n", "a.log:5", "excluded");
	assert_int_equal(parse(HEAD "x 3 1\nB 0 0\nE 10 10\nx 6 1\nx 4 1\n"), 0);
	assert_int_equal(sum(0).wall_ns, 0);
	assert_int_equal(sum(0).excludes, 2);
	assert_non_null(strstr(logs.items[0]->damage, "line 2"));
}

static void an_end_without_begin_is_left_out_and_said(void **state)
{
	(void)state;
	assert_int_equal(parse(HEAD "E 5 5\nB 10 10\nE 30 30\n"), 0);
	assert_int_equal(sum(0).entries, 1);
	assert_int_equal(sum(0).wall_ns, 20);
	assert_int_equal(sum(0).unmatched_end, 0); /* the marker counts those itself */
	assert_non_null(strstr(logs.items[0]->damage, "line 2: an END without its BEGIN"));
}

static void a_cut_last_line_is_damage_only(void **state)
{
	(void)state;
	static const struct {
		const char *lines;
		unsigned entries, finished, wall_ns;
		bool unterminated, damaged;
	} samples[] = {
		{ "B 0 1000\nE 10 1010\nB 2", 1, 1, 10, false, true },
		{ "B 0 1000\nE 10 1010\nB 20 1020\nE 3", 2, 1, 10, true, true },
		{ "B 0 1000\nE 10 1010", 1, 1, 10, false, false },
		{ "B 0 1000\nE 10 1010\nx 4", 1, 0, 0, true, true },
		{ "B 0 1000\nE 10 1010\nx 4 1", 1, 1, 6, false, false },
		{ "B 0 1000\nE 10 1010\nunmat", 1, 1, 10, false, false },
	};
	for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
		char text[256];
		(void)snprintf(text, sizeof text, HEAD "%s", samples[i].lines);
		assert_int_equal(parse(text), 0);
		struct roi_process p = sum(0);
		assert_int_equal(p.entries, samples[i].entries);
		assert_int_equal(p.finished, samples[i].finished);
		assert_int_equal(p.wall_ns, samples[i].wall_ns);
		assert_int_equal(p.unterminated, samples[i].unterminated);
		assert_int_equal(logs.items[0]->damage != NULL, samples[i].damaged);
		roilogs_done(&logs);
	}
	/* Cut within the wall clock of the last END: the region is right, that time is not known.
	 */
	assert_int_equal(parse(HEAD "B 0 1790000000000000000\nE 10 17900"), 0);
	assert_int_equal(sum(0).wall_ns, 10);
	assert_true(sum(0).last_end_real == ROI_UNKNOWN);
	roilogs_done(&logs);
	refused(HEAD "B 0 0\nE 1\n", "a.log:3", "number"); /* whole, but short */
}

static void arguments_in_any_state_do_not_lose_the_log(void **state)
{
	(void)state;
	assert_int_equal(parse(HEAD "argv [\"a\", \"b\nB 0 0\nE 5 5\n"), 0);
	assert_int_equal(sum(0).wall_ns, 5);
	assert_true(logs.items[0]->argv_cut);
	assert_null(logs.items[0]->argv.items);
	assert_non_null(strstr(logs.items[0]->damage, "line 2"));
	roilogs_done(&logs);
	assert_int_equal(parse(HEAD "argv [1, 2]\n"), 0);
	assert_true(logs.items[0]->argv_cut);
	roilogs_done(&logs);
	assert_int_equal(parse(HEAD "argv [\"caf\xe9\"]\nexe /x/\xff\n"), 0);
	assert_string_equal(logs.items[0]->argv.items[0], "caf\xef\xbf\xbd");
	assert_string_equal(logs.items[0]->exe, "/x/\xef\xbf\xbd");
}

/* 20 004 entries as the published self-test has them, then enough to be folded. */
static void a_long_log_is_exact_in_bounded_memory(void **state)
{
	(void)state;
	enum { MANY = 200000 };
	struct buf text = { 0 };
	buf_puts(&text, HEAD);
	for (int i = 0; i < MANY; i++) {
		long at = 1000L * i;
		buf_printf(&text, "B %ld %ld\nE %ld %ld\n", at, at, at + 100 + i % 7, at + 100 + i % 7);
		if (i % 10 == 0)
			buf_puts(&text, "x 50 2\n");
	}
	assert_int_equal(roilog_parse(&logs, "long", text.data, text.len, &err), 0);
	buf_done(&text);
	struct roi_process got = sum(0);
	uint64_t gross = 0, excluded = 50 * (MANY / 10);
	for (int i = 0; i < MANY; i++)
		gross += 100 + (uint64_t)(i % 7);
	assert_int_equal(got.entries, MANY);
	assert_int_equal(got.finished, MANY);
	assert_int_equal(got.gross_ns, gross);
	assert_int_equal(got.excluded_ns, excluded);
	assert_int_equal(got.excludes, 2 * (MANY / 10));
	assert_int_equal(got.entry_min_ns, 50);
	assert_int_equal(got.entry_max_ns, 106);
	assert_int_equal(got.last_end_real, 1000L * (MANY - 1) + 100 + (MANY - 1) % 7);
	assert_true(got.folded > 0);
	assert_false(got.approximate);
	assert_true(logs.arena.used_bytes < (16u << 20));
	uint64_t in_bins = 0;
	for (size_t i = 0; i < ROI_BINS; i++)
		in_bins += logs.items[0]->folded_bins[i];
	assert_int_equal(in_bins, got.folded);
}

static void folders_are_read_in_order_and_the_rest_left_alone(void **state)
{
	(void)state;
	char folder[] = "/tmp/roimeter-roilog-XXXXXX", path[64];
	assert_non_null(mkdtemp(folder));
	(void)snprintf(path, sizeof path, "%s/b.2", folder);
	assert_int_equal(file_write(path, HEAD "pid 2\n", strlen(HEAD "pid 2\n"), NULL), 0);
	(void)snprintf(path, sizeof path, "%s/a.1", folder);
	assert_int_equal(file_write(path, HEAD "pid 1\n", strlen(HEAD "pid 1\n"), NULL), 0);
	(void)snprintf(path, sizeof path, "%s/notes", folder);
	assert_int_equal(file_write(path, "nothing\n", 8, NULL), 0);
	(void)snprintf(path, sizeof path, "%s/empty", folder);
	assert_int_equal(file_write(path, "", 0, NULL), 0);
	(void)snprintf(path, sizeof path, "%s/pipe", folder);
	assert_int_equal(mkfifo(path, 0600), 0);
	(void)snprintf(path, sizeof path, "%s/below", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(roilog_read(&logs, folder, &err), 0);
	assert_int_equal(logs.n, 2);
	assert_string_equal(logs.items[0]->pid, "1");
	assert_string_equal(logs.items[1]->pid, "2");

	/* Two among them that are broken: the others are read all the same. */
	(void)snprintf(path, sizeof path, "%s/b.1", folder);
	assert_int_equal(file_write(path, HEAD "E\n", strlen(HEAD "E\n"), NULL), 0);
	(void)snprintf(path, sizeof path, "%s/c.3", folder);
	assert_int_equal(file_write(path, HEAD "B x\n", strlen(HEAD "B x\n"), NULL), 0);
	assert_int_equal(roilog_read(&logs, folder, &err), -EINVAL);
	assert_int_equal(logs.n, 4);
	assert_non_null(strstr(err.text, "2 logs can't be read; the first: "));
	assert_non_null(strstr(err.text, "b.1:2"));
	assert_int_equal(file_remove_tree(folder, NULL), 0);
	assert_int_equal(roilog_read(&logs, folder, &err), -ENOENT);
}

static void every_failed_allocation_is_an_error(void **state)
{
	(void)state;
	static const char text[] = HEAD "pid 1\nargv [\"a\"]\nB 0 0\nE 5 5\nE 6 6\n" HEAD "pid 2\n";
	int failures = 0;
	for (int n = 1; fail_alloc(n); n++) {
		err.text[0] = 0;
		int rc = roilog_parse(&logs, "a.log", text, sizeof text - 1, &err);
		alloc_left = 0;
		/* Without memory for jansson the arguments are said to be lost, and the rest is
		 * read. */
		assert_true(rc == 0 || (rc == -ENOMEM && strstr(err.text, "out of memory")));
		assert_int_equal(logs.n, rc ? 0 : 2);
		failures += rc != 0;
		roilogs_done(&logs);
	}
	assert_true(failures > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(other_versions_are_refused_by_number, clean),
		cmocka_unit_test_teardown(what_is_no_log_is_refused, clean),
		cmocka_unit_test_teardown(numbers_are_whole_and_fit, clean),
		cmocka_unit_test_teardown(short_and_long_lines_are_refused, clean),
		cmocka_unit_test_teardown(both_paths_of_the_parser_see_the_same, clean),
		cmocka_unit_test_teardown(random_lines_mean_the_same_on_both_paths, clean),
		cmocka_unit_test_teardown(a_header_only_process_is_there_without_entries, clean),
		cmocka_unit_test_teardown(the_published_self_test_holds, clean),
		cmocka_unit_test_teardown(time_that_goes_back_is_of_two_writers, clean),
		cmocka_unit_test_teardown(excluded_time_stays_within_its_entry, clean),
		cmocka_unit_test_teardown(an_end_without_begin_is_left_out_and_said, clean),
		cmocka_unit_test_teardown(a_cut_last_line_is_damage_only, clean),
		cmocka_unit_test_teardown(arguments_in_any_state_do_not_lose_the_log, clean),
		cmocka_unit_test_teardown(a_long_log_is_exact_in_bounded_memory, clean),
		cmocka_unit_test_teardown(folders_are_read_in_order_and_the_rest_left_alone, clean),
		cmocka_unit_test_teardown(every_failed_allocation_is_an_error, clean),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
