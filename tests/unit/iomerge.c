/* Pictures of the files of several processes into one block of a record. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "core/iomerge.h"
#include "lib/num.h"
#include "schema/codec.h"
#include "schema/roilog.h"

#define SAME(a, b) assert_true((double)(a) == (double)(b))
#define BEGUN INT64_C(1700000000000000000)

/* A process whose clock was at 0 so long before the command began. */
static void process(struct iopicture *p, const char *rank, double before_s)
{
	iopicture_clear(p);
	p->collector = "io";
	p->status = "ok";
	p->final = YES;
	p->found = YES;
	p->host = p->boot = "node";
	p->rank = rank;
	p->real_s = 1700000000 - before_s;
	p->real_ns = 0;
	p->wait_ns = 5;
	p->whole_wait_ns = 7;
	p->files_folded = 0;
}

static void file(struct iopicture_file *f, const char *name, double inode, double bytes)
{
	static double bins[] = { 4, 2 };
	block_clear(&iopicture_file_block, f);
	f->name = name;
	f->type = "file";
	f->interface = "posix";
	f->device = 1;
	f->inode = inode;
	f->born_us = 1.7e15;
	f->whole.write_bytes = f->roi.write_bytes = bytes;
	f->whole_pattern.write_bins = (struct nums){ bins, 2 };
	f->first_s = f->last_s = 100;
}

static void series(struct iopicture_series *s, double first, double width_ns, double *bytes,
		   size_t n)
{
	static double none[8];
	block_clear(&iopicture_series_block, s);
	s->source = "program";
	s->first_bin = first;
	s->bin_ns = width_ns;
	s->read_bytes = (struct nums){ none, n };
	s->write_bytes = (struct nums){ bytes, n };
}

static const struct io_file *named(const struct record *rec, const char *name)
{
	for (size_t i = 0; i < rec->body.io.files.n; i++)
		if (strcmp(rec->body.io.files.items[i].name, name) == 0)
			return &rec->body.io.files.items[i];
	return NULL;
}

static bool said(const struct record *rec, const char *code)
{
	for (size_t i = 0; i < rec->body.caveats.n; i++)
		if (strcmp(rec->body.caveats.items[i].code, code) == 0)
			return true;
	return false;
}

static void files_of_one_name_or_inode_are_one(void **state)
{
	struct iopicture p[2];
	struct iopicture_file a[2], b[2];
	const struct iopicture *const both[] = { &p[0], &p[1] };
	struct record rec;
	(void)state;
	process(&p[0], "0", 90);
	process(&p[1], "1", 90);
	file(&a[0], "/shared", 11, 10);
	file(&a[1], "/own", 12, 100);
	file(&b[0], "/shared", 11, 1);
	file(&b[1], "/link/to/own", 12, 1000);
	p[0].files.items = a;
	p[1].files.items = b;
	p[0].files.n = p[1].files.n = 2;
	p[1].files_folded = 3;
	record_init(&rec);
	assert_int_equal(iomerge_put_record(&rec, both, 2, BEGUN), 0);
	const struct io *io = &rec.body.io;
	assert_int_equal(io->files.n, 2);
	assert_string_equal(io->files.items[0].name, "/link/to/own"); /* most bytes first */
	SAME(io->files.items[0].whole.write_bytes, 1100);
	SAME(named(&rec, "/shared")->roi.write_bytes, 11);
	SAME(named(&rec, "/shared")->processes, 2);
	assert_int_equal(named(&rec, "/shared")->shared, YES);
	SAME(named(&rec, "/shared")->whole_pattern.write_bins.n, 2);
	SAME(named(&rec, "/shared")->whole_pattern.write_bins.items[1], 4);
	SAME(named(&rec, "/shared")->first_s, 10);
	SAME(io->files_total, 5);
	SAME(io->files_folded, 3);
	assert_true(said(&rec, "io_files_folded"));
	SAME(io->wait_s, 10e-9);
	SAME(io->processes, 2);
	assert_int_equal(io->incomplete, NO);
	record_done(&rec);
}

/* Removed by one process, its number is another one's file; and where nobody knows, names alone
 * count. */
static void one_inode_may_be_two_files(void **state)
{
	static const double born_us[][2] = { { 1.7e15, 1.7e15 + 1 },
					     { NAN, NAN },
					     { 1.7e15, NAN } };
	(void)state;
	for (size_t i = 0; i < sizeof born_us / sizeof *born_us; i++) {
		struct iopicture p[2];
		struct iopicture_file a, b;
		const struct iopicture *const both[] = { &p[0], &p[1] };
		struct record rec;
		process(&p[0], "0", 90);
		process(&p[1], "1", 90);
		file(&a, "/tmp/first", 11, 10);
		file(&b, "/tmp/second", 11, 1);
		a.born_us = born_us[i][0];
		b.born_us = born_us[i][1];
		p[0].files.items = &a;
		p[1].files.items = &b;
		p[0].files.n = p[1].files.n = 1;
		record_init(&rec);
		assert_int_equal(iomerge_put_record(&rec, both, 2, BEGUN), 0);
		assert_int_equal(rec.body.io.files.n, 2);
		SAME(named(&rec, "/tmp/first")->whole.write_bytes, 10);
		assert_int_equal(named(&rec, "/tmp/second")->shared, NO);
		record_done(&rec);
	}
}

static double sum(const struct nums *n)
{
	double sum = 0;
	for (size_t i = 0; i < n->n; i++)
		sum += n->items[i];
	return sum;
}

/* One has bins of 1 s, the other of 2 s; the third is on a node whose clock began 0.5 s later. */
static void series_of_several_widths_and_clocks_are_put_together(void **state)
{
	static double x[] = { 1, 2, 4, 8 }, y[] = { 16, 32 }, z[] = { 101 };
	struct iopicture p[3];
	struct iopicture_series s[3];
	const struct iopicture *const all[] = { &p[0], &p[1], &p[2] };
	struct record rec;
	(void)state;
	for (int i = 0; i < 3; i++) {
		process(&p[i], i == 0 ? "0" : i == 1 ? "1" : "2", 100);
		p[i].series.items = &s[i];
		p[i].series.n = 1;
	}
	p[2].real_ns = 500000000;
	series(&s[0], 100, 1e9, x, 4); /* 0 to 4 s after the start */
	series(&s[1], 50, 2e9, y, 2);  /* 0 to 4 s */
	series(&s[2], 101, 1e9, z, 1); /* 1.5 to 2.5 s */
	record_init(&rec);
	assert_int_equal(iomerge_put_record(&rec, all, 3, BEGUN), 0);
	const struct io *io = &rec.body.io;
	assert_int_equal(io->series.n, 4);
	const struct io_series *t = &io->series.items[0];
	assert_false(known(t->rank));
	SAME(t->begin_s, 0);
	SAME(t->bin_s, 2);
	SAME(t->write_bytes.n, 2);
	SAME(t->write_bytes.items[0], 1 + 2 + 16 + 50);
	SAME(t->write_bytes.items[1], 4 + 8 + 32 + 51);
	SAME(sum(&io->series.items[1].write_bytes), 15);
	SAME(io->series.items[2].rank, 1);
	SAME(sum(&io->series.items[3].write_bytes), 101);
	record_done(&rec);
}

static void what_is_missing_is_said(void **state)
{
	struct iopicture p;
	const struct iopicture *const one[] = { &p };
	struct record rec;
	(void)state;
	process(&p, NULL, 1);
	p.final = NO;
	p.dropped_ops = 3;
	p.wait_closed_ns = 10;
	p.whole.untimed_ops = 4;
	record_init(&rec);
	assert_int_equal(iomerge_put_record(&rec, one, 1, ROI_UNKNOWN), 0);
	assert_int_equal(rec.body.io.incomplete, YES);
	assert_true(said(&rec, "io_not_final") && said(&rec, "io_dropped") &&
		    said(&rec, "io_wait_is_bound"));
	assert_true(!said(&rec, "io_untimed") && !said(&rec, "io_reread_bound"));
	record_done(&rec);
}

/* One interface, whose calls have no time; and a file with gaps that count as written. */
static bool says(const char *interface, const char *within, double reread, const char *code)
{
	struct io_by_interface row;
	struct iopicture_file f;
	struct iopicture p;
	const struct iopicture *const one[] = { &p };
	struct record rec;
	process(&p, NULL, 1);
	block_clear(&io_by_interface_block, &row);
	row.name = interface;
	row.within = within;
	row.whole.untimed_ops = p.whole.untimed_ops = 4;
	p.interfaces.items = &row;
	p.interfaces.n = 1;
	block_clear(&iopicture_file_block, &f);
	f.name = "/data/a";
	f.closed_bytes = 512;
	f.whole_pattern.reread_bytes = reread;
	p.files.items = &f;
	p.files.n = 1;
	record_init(&rec);
	assert_int_equal(iomerge_put_record(&rec, one, 1, ROI_UNKNOWN), 0);
	bool is = said(&rec, code);
	record_done(&rec);
	return is;
}

static void streams_without_times_are_no_caveat(void **state)
{
	(void)state;
	assert_false(says("stdio", NULL, 0, "io_untimed"));
	assert_false(says("posix", "mpiio", 0, "io_untimed"));
	assert_true(says("posix", NULL, 0, "io_untimed"));
}

static void reads_of_closed_gaps_are_a_bound(void **state)
{
	(void)state;
	assert_false(says("posix", NULL, 0, "io_reread_bound"));
	assert_false(says("posix", NULL, (double)NAN, "io_reread_bound"));
	assert_true(says("posix", NULL, 100, "io_reread_bound"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_of_one_name_or_inode_are_one),
		cmocka_unit_test(one_inode_may_be_two_files),
		cmocka_unit_test(series_of_several_widths_and_clocks_are_put_together),
		cmocka_unit_test(what_is_missing_is_said),
		cmocka_unit_test(streams_without_times_are_no_caveat),
		cmocka_unit_test(reads_of_closed_gaps_are_a_bound),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
