/* Darshan's logs, byte by byte: what is cut anywhere is refused, and nothing is read beyond it. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "import/darshan.h"
#include "import/darshan_total.h"
#include "lib/file.h"
#include "lib/num.h"

#define LOG "tests/fixtures/io/darshan/own__hacc_fpp.dxt.darshan"

#define MPIIO_LOG "tests/fixtures/io/darshan/own__lammps_mpiio.dxt.darshan"

static char path[64];

static void write_log(const void *bytes, size_t n)
{
	FILE *f = fopen(path, "we");
	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

static int import_it(bool salvage)
{
	struct imports in;
	struct err err = { 0 };
	const char *paths[] = { path };
	struct io_options o = { .salvage = salvage };
	int rc = import_darshan(&in, paths, 1, &o, &err);
	if (rc)
		assert_true(strlen(err.text) > 10);
	else
		imports_done(&in);
	return rc;
}

static void a_log_that_is_cut_anywhere_is_refused(void **state)
{
	(void)state;
	struct buf b = { 0 };
	assert_int_equal(file_read(&b, LOG, NULL), 0);
	write_log(b.data, b.len);
	assert_int_equal(import_it(false), 0);
	for (size_t n = 0; n < b.len; n += n < 1700 ? 61 : 37) {
		write_log(b.data, n);
		assert_true(import_it(false) < 0);
		(void)import_it(true);
	}
	buf_done(&b);
}

/* Each byte of the header may be anything: an answer, and no memory beyond reason. */
static void a_header_that_lies_does_no_harm(void **state)
{
	(void)state;
	struct buf b = { 0 };
	assert_int_equal(file_read(&b, LOG, NULL), 0);
	for (size_t i = 0; i < 1328; i += i < 400 ? 5 : 41) {
		char was = b.data[i];
		b.data[i] = (char)(was ^ 0x81);
		write_log(b.data, b.len);
		(void)import_it(false);
		b.data[i] = was;
	}
	buf_done(&b);
}

static const struct io *with_flags(const char *log, char flags, struct imports *in)
{
	struct buf b = { 0 };
	struct err err = { 0 };
	const char *paths[] = { path };
	assert_int_equal(file_read(&b, log, NULL), 0);
	b.data[24] = flags; /* a bit for each module */
	write_log(b.data, b.len);
	buf_done(&b);
	assert_int_equal(import_darshan(in, paths, 1, &(struct io_options){ 0 }, &err), 0);
	return &in->records[0]->body.io;
}

static bool has_caveat(const struct imports *in, const char *code)
{
	const struct record_body *b = &in->records[0]->body;
	for (size_t i = 0; i < b->caveats.n; i++)
		if (strcmp(b->caveats.items[i].code, code) == 0)
			return true;
	return false;
}

static void a_module_that_had_no_room_is_flagged_in_all_that_is_made_of_it(void **state)
{
	(void)state;
	struct imports in;
	const struct io *io = with_flags(LOG, 0, &in);
	assert_true(io->incomplete == NO && io->partial.n == 0 && !isnan(io->files_total));
	assert_false(has_caveat(&in, "io_partial"));
	imports_done(&in);

	io = with_flags(LOG, 1 << DARSHAN_POSIX, &in);
	assert_true(io->incomplete == YES && io->partial.n == 1);
	assert_string_equal(io->partial.items[0], "darshan POSIX");
	assert_true(has_caveat(&in, "io_partial"));
	assert_true(io->whole.write_bytes >= 102183296); /* a lower bound */
	assert_true(isnan(io->files_total) && isnan(io->files.items[0].processes));
	imports_done(&in);

	/* Nobody knows then what of POSIX was within MPI-IO. */
	io = with_flags(MPIIO_LOG, 1 << DARSHAN_MPIIO, &in);
	assert_true(io->incomplete == YES && isnan(io->whole.write_bytes));
	assert_true(io->interfaces.n == 4 && !isnan(io->interfaces.items[3].whole.write_bytes));
	imports_done(&in);
}

/* ---- releases of which there is no log here ------------------------------------------------------ */

static void put64(struct buf *b, uint64_t x)
{
	for (int i = 0; i < 8; i++)
		buf_put(b, &(unsigned char){ (unsigned char)(x >> 8 * i) }, 1);
}

static void put_double(struct buf *b, double x)
{
	uint64_t bits;
	memcpy(&bits, &x, sizeof bits);
	put64(b, bits);
}

/* A log of format 3.10, not packed, with one module that has one record: its counters are 100, 101, ...,
 * its times 1000, 1001, ... */
static void make_old_log(unsigned place, uint32_t version, size_t n_whole, size_t n_times)
{
	struct buf b = { 0 };
	const size_t job = 40 + 1024 + 8, names = 8 + 3, record = 16 + 8 * (n_whole + n_times);
	buf_put(&b, "3.10\0\0\0\0", 8);
	put64(&b, 6567223);
	put64(&b, 2); /* as it is */
	put64(&b, 360 + job);
	put64(&b, names);
	for (unsigned i = 0; i < 16; i++) {
		put64(&b, i == place ? 360 + job + names : 0);
		put64(&b, i == place ? record : 0);
	}
	for (unsigned i = 0; i < 16; i += 2)
		put64(&b, i == place ? version : i + 1 == place ? (uint64_t)version << 32 : 0);
	put64(&b, 1000);
	put64(&b, 1500000000);
	put64(&b, 1500000009);
	put64(&b, 4);
	put64(&b, 77);
	while (b.len < 360 + 40 + 1024)
		buf_put(&b, "", 1);
	buf_put(&b, "app 1\n\0", 8);
	put64(&b, 5);
	buf_put(&b, "/f", 3);
	put64(&b, 5);
	put64(&b, (uint64_t)-1);
	for (size_t i = 0; i < n_whole; i++)
		put64(&b, 100 + i);
	for (size_t i = 0; i < n_times; i++)
		put_double(&b, 1000 + (double)i);
	write_log(b.data, b.len);
	buf_done(&b);
}

static void the_record(enum darshan_module m, struct darshan_record *ret)
{
	struct darshan_log *log;
	struct darshan_records *records;
	struct err err = { 0 };
	if (darshan_open(&log, path, &err))
		fail_msg("%s", err.text);
	assert_int_equal(log->job.ranks, 4);
	assert_int_equal(darshan_run_s(log), 10);
	assert_int_equal(darshan_records_open(&records, log, m, &err), 0);
	assert_int_equal(darshan_records_next(records, ret, &err), 1);
	struct darshan_record more;
	assert_int_equal(darshan_records_next(records, &more, &err), 0);
	darshan_records_close(records);
	darshan_close(log);
}

static void counters_of_old_releases_stand_where_the_newest_has_them(void **state)
{
	(void)state;
	struct darshan_record r;
	make_old_log(1, 2, 64, 15);
	the_record(DARSHAN_POSIX, &r);
	assert_true(r.id == 5 && r.rank == -1);
	assert_int_equal(r.whole[POSIX_OPENS], 100);
	assert_int_equal(r.whole[POSIX_READS], 101);
	assert_int_equal(r.whole[POSIX_WRITES], 102);
	assert_int_equal(r.whole[POSIX_BYTES_READ], 109);
	assert_int_equal(r.whole[POSIX_BYTES_WRITTEN], 110);
	assert_int_equal(r.whole[POSIX_SLOWEST_RANK_BYTES], 163);
	assert_int_equal(r.whole[POSIX_DUPS], -1);
	assert_true(r.times[POSIX_F_OPEN_START_TIMESTAMP] == 1000);
	assert_true(r.times[POSIX_F_CLOSE_START_TIMESTAMP] == -1 && r.times[POSIX_F_OPEN_END_TIMESTAMP] == -1);
	assert_true(r.times[POSIX_F_READ_END_TIMESTAMP] == 1003 && r.times[POSIX_F_READ_TIME] == 1006);
	assert_true(r.times[POSIX_F_VARIANCE_RANK_BYTES] == 1014);

	make_old_log(1, 3, 64, 17);
	the_record(DARSHAN_POSIX, &r);
	assert_true(r.times[POSIX_F_CLOSE_START_TIMESTAMP] == 1003);

	make_old_log(2, 2, 51, 15);
	the_record(DARSHAN_MPIIO, &r);
	assert_int_equal(r.whole[MPIIO_BYTES_WRITTEN], 115);
	assert_true(r.times[MPIIO_F_READ_TIME] == 1006);

	/* The seventh in a format that has neither H5D nor PNETCDF_VAR. */
	make_old_log(7, 1, 13, 15);
	the_record(DARSHAN_STDIO, &r);
	assert_int_equal(r.whole[STDIO_FDOPENS], -1);
	assert_int_equal(r.whole[STDIO_READS], 101);
	assert_int_equal(r.whole[STDIO_BYTES_READ], 106);
	assert_true(r.times[STDIO_F_READ_TIME] == 1002);
}

/* A log of format 3.41, not packed, with a heat map of two bins and names that say nothing any more. */
static void make_heat_log(uint64_t id)
{
	struct buf b = { 0 };
	const size_t job = 56 + 1024 + 8, names = 8 + 9, record = 48 + 4 * 8;
	buf_put(&b, "3.41\0\0\0\0", 8);
	put64(&b, 6567223);
	put64(&b, 2); /* as it is */
	put64(&b, 0);
	put64(&b, 1328 + job);
	put64(&b, names);
	for (unsigned i = 0; i < 64; i++) {
		put64(&b, i == DARSHAN_HEATMAP ? 1328 + job + names : 0);
		put64(&b, i == DARSHAN_HEATMAP ? record : 0);
	}
	for (unsigned i = 0; i < 64; i += 2)
		put64(&b, i + 1 == DARSHAN_HEATMAP ? (uint64_t)1 << 32 : 0);
	put64(&b, 1000);
	put64(&b, 1500000000);
	put64(&b, 0);
	put64(&b, 1500000009);
	put64(&b, 0);
	put64(&b, 4);
	put64(&b, 77);
	while (b.len < 1328 + 56 + 1024)
		buf_put(&b, "", 1);
	buf_put(&b, "app 1\n\0", 8);
	put64(&b, id);
	buf_put(&b, "19931230", 9);
	put64(&b, id);
	put64(&b, 3);
	put_double(&b, 0.5);
	put64(&b, 2);
	put64(&b, 0);
	put64(&b, 0);
	for (uint64_t i = 0; i < 4; i++)
		put64(&b, 1000 * i);
	write_log(b.data, b.len);
	buf_done(&b);
}

static void heat_maps_are_known_without_their_names(void **state)
{
	(void)state;
	struct imports in;
	struct err err = { 0 };
	const char *paths[] = { path };
	make_heat_log(16592106915301738621u);
	if (import_darshan(&in, paths, 1, &(struct io_options){ 0 }, &err))
		fail_msg("%s", err.text);
	const struct io *io = &in.records[0]->body.io;
	assert_true(io->series.n >= 1);
	const struct io_series *s = &io->series.items[io->series.n - 1];
	assert_true(s->bin_s == 0.5 && s->read_bytes.n == 2);
	assert_true(s->write_bytes.items[1] == 1000 && s->read_bytes.items[1] == 3000);
	imports_done(&in);
	make_heat_log(17); /* of nobody knows what */
	assert_int_equal(import_darshan(&in, paths, 1, &(struct io_options){ 0 }, &err), 0);
	assert_int_equal(in.records[0]->body.io.series.n, 0);
	imports_done(&in);
}

static void frequent_values_of_several_records_are_those_of_all(void **state)
{
	(void)state;
	struct darshan_record rec = { .rank = 0 };
	struct darshan_total t = { 0 };
	int64_t *size = &rec.whole[POSIX_ACCESS1_ACCESS], *count = &rec.whole[POSIX_ACCESS1_COUNT];
	size[0] = 100;
	count[0] = 3;
	size[1] = 7;
	count[1] = 1;
	darshan_total_add(&t, DARSHAN_POSIX, &rec);
	size[0] = 7;
	count[0] = 1;
	size[1] = 8;
	count[1] = 1;
	darshan_total_add(&t, DARSHAN_POSIX, &rec);
	const int64_t sizes[] = { 100, 7, 8, 0 }, counts[] = { 3, 2, 1, 0 };
	assert_memory_equal(&t.whole[POSIX_ACCESS1_ACCESS], sizes, sizeof sizes);
	assert_memory_equal(&t.whole[POSIX_ACCESS1_COUNT], counts, sizeof counts);
}

static void what_one_record_does_not_know_the_sum_does_not(void **state)
{
	(void)state;
	struct darshan_record rec = { .rank = 0 };
	struct darshan_total t = { 0 };
	rec.whole[POSIX_DUPS] = 5;
	darshan_total_add(&t, DARSHAN_POSIX, &rec);
	rec.whole[POSIX_DUPS] = -1;
	rec.times[POSIX_F_OPEN_START_TIMESTAMP] = 2;
	rec.whole[POSIX_BYTES_READ] = INT64_MAX;
	darshan_total_add(&t, DARSHAN_POSIX, &rec);
	rec.times[POSIX_F_OPEN_START_TIMESTAMP] = 1;
	darshan_total_add(&t, DARSHAN_POSIX, &rec);
	assert_int_equal(t.whole[POSIX_DUPS], -1);
	assert_true(t.overflow);
	assert_int_equal(t.whole[POSIX_BYTES_READ], -1);
	assert_true(t.times[POSIX_F_OPEN_START_TIMESTAMP] == 1);
}

static void different_numbers_are_counted_once(void **state)
{
	(void)state;
	struct darshan_ids ids = { 0 };
	for (int round = 0; round < 2; round++)
		for (uint64_t i = 0; i < 5000; i++)
			assert_int_equal(darshan_ids_add(&ids, i * 0x10001), round == 0);
	assert_int_equal(darshan_ids_count(&ids), 5000);
	assert_true(darshan_ids_has(&ids, 0));
	assert_false(darshan_ids_has(&ids, 3));
	darshan_ids_done(&ids);
}

int main(void)
{
	alarm(120);
	(void)snprintf(path, sizeof path, "/tmp/roimeter-darshan-%d", (int)getpid());
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_log_that_is_cut_anywhere_is_refused),
		cmocka_unit_test(a_header_that_lies_does_no_harm),
		cmocka_unit_test(a_module_that_had_no_room_is_flagged_in_all_that_is_made_of_it),
		cmocka_unit_test(counters_of_old_releases_stand_where_the_newest_has_them),
		cmocka_unit_test(heat_maps_are_known_without_their_names),
		cmocka_unit_test(frequent_values_of_several_records_are_those_of_all),
		cmocka_unit_test(what_one_record_does_not_know_the_sum_does_not),
		cmocka_unit_test(different_numbers_are_counted_once),
	};
	int rc = cmocka_run_group_tests(tests, NULL, NULL);
	(void)unlink(path);
	return rc;
}
