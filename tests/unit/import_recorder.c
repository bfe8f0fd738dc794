/* Recorder's traces: nested rules with their times, what a capture has of them, and grammars that lie. */
#define _GNU_SOURCE
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#include "import/recorder.h"
#include "import/recorder_map.h"
#include "import/recorder_trace.h"
#include "lib/file.h"
#include "schema/iocap.h"

#define TRACES "tests/fixtures/io/recorder/"

static char folder[64];

/* ---- traces -------------------------------------------------------------------------------------- */

static void put32(struct buf *b, uint32_t x)
{
	unsigned char bytes[] = { (unsigned char)x, (unsigned char)(x >> 8), (unsigned char)(x >> 16),
				  (unsigned char)(x >> 24) };
	buf_put(b, bytes, 4);
}

static void put64(struct buf *b, uint64_t x)
{
	put32(b, (uint32_t)x);
	put32(b, (uint32_t)(x >> 32));
}

static void put_double(struct buf *b, double x)
{
	uint64_t bits;
	memcpy(&bits, &x, sizeof bits);
	put64(b, bits);
}

static void save(const char *name, const struct buf *b)
{
	char path[160];
	(void)snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *f = fopen(path, "we");
	assert_non_null(f);
	assert_int_equal(fwrite(b->data, 1, b->len, f), b->len);
	assert_int_equal(fclose(f), 0);
}

/* How releases differ. */
struct form {
	size_t names_at, function_bytes;
	bool flags;  /* before the times of the metadata */
	bool counts; /* a table's entry has a rank and a count */
	bool merged; /* shared and packed files */
};
static const struct form release_23 = { 32, 1, false, false, false };
static const struct form release_24 = { 40, 1, false, true, false };
static const struct form release_25_merged = { 40, 1, true, true, true };
static const struct form release_30 = { 1024, 4, true, true, true };

static void put_key(const struct form *f, struct buf *b, uint32_t id, uint8_t function, uint8_t n_args,
		    const char *args)
{
	put32(b, id);
	if (f->counts)
		put32(b, 0);
	put32(b, (uint32_t)(8 + f->function_bytes + 6 + strlen(args)));
	if (f->counts)
		put32(b, 1);
	put64(b, 0);
	buf_put(b, (unsigned char[]){ function, 0, 0, 0 }, f->function_bytes);
	buf_put(b, (unsigned char[]){ 0, n_args }, 2);
	put32(b, (uint32_t)strlen(args));
	buf_puts(b, args);
}

static void pack(struct buf *b)
{
	uLongf n = compressBound(b->len);
	unsigned char *to = malloc(n);
	struct buf packed = { 0 };
	assert_int_equal(compress(to, &n, (const Bytef *)b->data, b->len), Z_OK);
	put64(&packed, n);
	put64(&packed, b->len);
	buf_put(&packed, to, n);
	free(to);
	buf_done(b);
	*b = packed;
}

static const char *function_names = "open\nwrite\nclose\n";

static void make_metadata(const struct form *f)
{
	struct buf mt = { 0 };
	put32(&mt, 1);
	put32(&mt, 0);
	if (f->flags)
		put64(&mt, 0);
	put_double(&mt, 1.8e9);
	put_double(&mt, 1e-7);
	while (mt.len < f->names_at)
		put32(&mt, 0);
	buf_puts(&mt, function_names);
	save("recorder.mt", &mt);
	buf_done(&mt);
}

static const char *write_args = "/f %p 100 ";
static uint32_t end_ticks = 14;

/* One process: open, write, close of one file; symbols: rules as in the format, after their number. */
static void make_trace_as(const struct form *f, const int32_t *symbols, size_t n_symbols, size_t events)
{
	struct buf cst = { 0 }, cfg = { 0 }, ts = { 0 };
	(void)file_remove_tree(folder, NULL);
	(void)mkdir(folder, 0700);
	make_metadata(f);
	put32(&cst, 3);
	put_key(f, &cst, 0, 0, 3, "/f 66 384 ");
	put_key(f, &cst, 1, 1, 3, write_args);
	put_key(f, &cst, 2, 2, 1, "/f ");
	for (size_t i = 0; i < n_symbols; i++)
		put32(&cfg, (uint32_t)symbols[i]);
	for (size_t i = 0; i < events; i++) {
		put32(&ts, 10);
		put32(&ts, end_ticks);
	}
	if (f->merged) {
		struct buf which = { 0 }, times = { 0 };
		pack(&cst);
		pack(&cfg);
		pack(&ts);
		put32(&which, 0);
		put32(&which, 1);
		put64(&times, ts.len);
		buf_put(&times, ts.data, ts.len);
		save("ug.mt", &which);
		save("recorder.ts", &times);
		buf_done(&which);
		buf_done(&times);
	}
	save(f->merged ? "recorder.cst" : "0.cst", &cst);
	save(f->merged ? "ug.cfg" : "0.cfg", &cfg);
	if (!f->merged)
		save("0.ts", &ts);
	buf_done(&cst);
	buf_done(&cfg);
	buf_done(&ts);
}

static void make_trace(const int32_t *symbols, size_t n_symbols, size_t events)
{
	make_trace_as(&release_24, symbols, n_symbols, events);
}

static void nested_in(const struct form *f)
{
	/* S: open R2*2 close; R2: R3*3 write; R3: write write */
	const int32_t symbols[] = { 3, -1, 3, 0, 1, -2, 2, 2, 1, -2, 2, -3, 3, 1, 1, -3, 2, 1, 1, 1, 1 };
	const size_t events = 1 + 2 * (3 * 2 + 1) + 1;
	struct recorder *r;
	struct recorder_cursor *c;
	struct recorder_call call;
	struct err err = { 0 };
	make_trace_as(f, symbols, sizeof symbols / sizeof *symbols, events);
	assert_int_equal(recorder_open(&r, folder, false, &err), 0);
	assert_true(r->begin_s == 1.8e9 && r->tick_s == 1e-7 && r->merged == f->merged);
	assert_int_equal(r->ranks[0].events, events);
	assert_int_equal(recorder_begin(&c, r, 0, &err), 0);
	for (size_t i = 0; i < events; i++) {
		assert_int_equal(recorder_next(c, &call, &err), 1);
		assert_int_equal(call.begin, 10 * (i + 1));
		assert_int_equal(call.end, 10 * i + 14);
		assert_string_equal(call.function, i == 0 ? "open" : i == events - 1 ? "close" : "write");
	}
	assert_int_equal(recorder_next(c, &call, &err), 0);
	recorder_end(c);
	recorder_close(r);
}

static void times_go_on_across_nested_rules_in_every_release(void **state)
{
	(void)state;
	nested_in(&release_23);
	nested_in(&release_24);
	nested_in(&release_25_merged);
	nested_in(&release_30);
}

/* A plain list of the same calls: any grammar, expanded by hand. */
static void expand(const int32_t *g, int32_t head, char *list, size_t *n, size_t max)
{
	size_t at = 1;
	for (int32_t rules = g[0]; rules > 0; rules--) {
		int32_t symbols = g[at + 1];
		for (int32_t i = 0; g[at] == head && i < symbols; i++)
			for (int32_t k = 0; k < g[at + 3 + 2 * (size_t)i]; k++) {
				int32_t value = g[at + 2 + 2 * (size_t)i];
				if (value < 0)
					expand(g, value, list, n, max);
				else if (*n < max)
					list[(*n)++] = (char)('0' + value);
			}
		at += 2 + 2 * (size_t)symbols;
	}
}

static void any_grammar_is_the_plain_list_of_its_calls(void **state)
{
	(void)state;
	unsigned seed = 1;
	for (int round = 0; round < 60; round++) {
		int32_t g[256];
		size_t n = 1;
		static char list[100000];
		size_t length = 0;
		int32_t rules = 1 + (int32_t)(rand_r(&seed) % 6);
		g[0] = rules;
		for (int32_t rule = 0; rule < rules; rule++) {
			int32_t symbols = 1 + (int32_t)(rand_r(&seed) % 4);
			g[n++] = -1 - rule;
			g[n++] = symbols;
			for (int32_t i = 0; i < symbols; i++) {
				/* Only of rules behind it, so that none contains itself. */
				bool nest = rule + 1 < rules && rand_r(&seed) % 2;
				g[n++] = nest ? -2 - rule - (int32_t)((unsigned)rand_r(&seed) %
								     (unsigned)(rules - rule - 1))
					      : (int32_t)(rand_r(&seed) % 3);
				g[n++] = 1 + (int32_t)(rand_r(&seed) % 3);
			}
		}
		expand(g, -1, list, &length, sizeof list);
		if (length == sizeof list)
			continue;
		struct recorder *r;
		struct recorder_cursor *c;
		struct recorder_call call;
		struct err err = { 0 };
		make_trace(g, n, length);
		assert_int_equal(recorder_open(&r, folder, false, &err), 0);
		assert_int_equal(r->ranks[0].events, length);
		assert_int_equal(recorder_begin(&c, r, 0, &err), 0);
		for (size_t i = 0; i < length; i++) {
			assert_int_equal(recorder_next(c, &call, &err), 1);
			assert_int_equal(call.key->function, list[i] - '0');
			assert_int_equal(call.begin, 10 * (i + 1));
		}
		assert_int_equal(recorder_next(c, &call, &err), 0);
		recorder_end(c);
		recorder_close(r);
	}
}

static void refused(const int32_t *symbols, size_t n, const char *why)
{
	struct recorder *r;
	struct err err = { 0 };
	make_trace(symbols, n, 4);
	assert_true(recorder_open(&r, folder, false, &err) < 0);
	if (!strstr(err.text, why))
		fail_msg("\"%s\" should say %s", err.text, why);
}

#define REFUSED(why, ...)                                                                          \
	refused((const int32_t[]){ __VA_ARGS__ },                                                  \
		sizeof((const int32_t[]){ __VA_ARGS__ }) / sizeof(int32_t), why)

static void grammars_that_lie_are_refused(void **state)
{
	(void)state;
	REFUSED("contains itself", 1, -1, 1, -1, 1);
	REFUSED("contains itself", 3, -1, 1, -2, 1, -2, 1, -3, 1, -3, 1, -2, 1);
	REFUSED("not there", 1, -1, 1, -7, 1);
	REFUSED("signature 3 of 3", 1, -1, 1, 3, 1);
	REFUSED("comes 0 times", 1, -1, 1, 0, 0);
	REFUSED("comes -5 times", 1, -1, 1, 0, -5);
	REFUSED("cut or damaged", 1, -1, 2, 0, 1);
	REFUSED("behind the grammar", 1, -1, 1, 0, 1, 7);
	REFUSED("not the start", 1, -2, 1, 0, 1);
	REFUSED("times for 4", 1, -1, 1, 1, 5);
	/* 2147483647^3 calls, without one of them being made */
	REFUSED("64 bits", 4, -1, 1, -2, 2147483647, -2, 1, -3, 2147483647, -3, 1, -4, 2147483647, -4, 1, 1, 1);
	/* 2^31 times nothing: nothing to go through */
	REFUSED("times for 4", 2, -1, 1, -2, 2147483647, -2, 0);
}

/* ---- captures ------------------------------------------------------------------------------------ */

static void the_capture_of(const char *trace, bool timed)
{
	struct imports in;
	struct err err = { 0 };
	const char *paths[] = { trace };
	char to[80];
	(void)snprintf(to, sizeof to, "%s-capture", folder);
	(void)file_remove_tree(to, NULL);
	struct io_options o = { .capture = to };
	assert_int_equal(import_recorder(&in, paths, 1, &o, &err), 0);
	const struct io *io = &in.records[0]->body.io;
	struct recorder *r;
	struct iocap *capture;
	assert_int_equal(recorder_open(&r, trace, false, &err), 0);
	assert_int_equal(iocap_open(&capture, to, &err), 0);
	assert_int_equal(iocap_processes(capture), r->n_ranks);
	double bytes[2] = { 0, 0 }, events = 0;
	for (size_t i = 0; i < r->n_ranks; i++) {
		struct iocap_merged *m;
		struct recorder_cursor *c;
		struct recorder_call call;
		struct io_event e;
		assert_int_equal(iocap_merge(&m, capture, i, &err), 0);
		assert_int_equal(recorder_begin(&c, r, i, &err), 0);
		while (recorder_next(c, &call, &err) == 1) {
			if (strncmp(call.function, "MPI_", 4) == 0 || strcmp(call.function, "umask") == 0)
				continue;
			assert_int_equal(iocap_merge_next(m, &e, &err), 1);
			if (timed)
				assert_int_equal(e.begin_ns, call.begin * 100);
			if (timed)
				assert_int_equal(e.end_ns, call.end * 100);
			enum io_kind kind = io_call_info(e.call)->kind;
			if (kind == IO_READ || kind == IO_WRITE)
				bytes[kind == IO_WRITE] += (double)e.result;
			events++;
		}
		assert_int_equal(iocap_merge_next(m, &e, &err), 0);
		recorder_end(c);
		iocap_merge_end(m);
	}
	assert_true(bytes[0] == io->whole.read_bytes && bytes[1] == io->whole.write_bytes);
	assert_true(events == io->capture_events);
	iocap_close(capture);
	recorder_close(r);
	imports_done(&in);
	assert_int_equal(file_remove_tree(to, NULL), 0);
}

static void a_capture_has_every_call_at_its_time(void **state)
{
	(void)state;
	the_capture_of(TRACES "nest.merged", true);
	the_capture_of(TRACES "nest.perrank", true);
	the_capture_of(TRACES "hacc_fpp.merged", true);
	the_capture_of(TRACES "stdio.merged", true);
}

static void numbers_of_a_trace_are_those_of_its_program(void **state)
{
	(void)state;
	struct imports in;
	struct err err = { 0 };
	const char *paths[] = { TRACES "nest.merged", TRACES "hacc_fpp.merged",
				TRACES "ior_mpiio_coll_ompi.perrank" };
	struct io_options o = { 0 };
	assert_int_equal(import_recorder(&in, paths, 3, &o, &err), 0);
	const struct io *nest = &in.records[0]->body.io, *hacc = &in.records[1]->body.io,
			*coll = &in.records[2]->body.io;
	assert_true(nest->whole.write_bytes == 491520 && nest->whole.read_bytes == 49152);
	assert_true(nest->whole.open_ops == 48 && nest->files_total == 4);
	assert_true(hacc->whole.write_bytes == 102183296 && hacc->whole.seek_ops == 80);
	/* Each rank writes from begin to end, and reads so: its first write is behind a seek. */
	assert_true(hacc->files.items[0].whole_pattern.turns == 0);
	assert_true(hacc->files.items[0].size_bytes == 25165824 + 38 * 10000);
	/* 16 MiB through MPI-IO; below it the trace has 400 bytes, which count nowhere twice. */
	assert_true(coll->whole.write_bytes == 16777216 && coll->whole.read_bytes == 16777216);
	for (size_t i = 0; i < coll->interfaces.n; i++)
		if (coll->interfaces.items[i].within)
			assert_true(coll->interfaces.items[i].whole.write_bytes == 400);
	assert_true(coll->mpi.n >= 2);
	imports_done(&in);
}

static bool has_caveat(const struct record *rec, const char *code)
{
	for (size_t i = 0; i < rec->body.caveats.n; i++)
		if (strcmp(rec->body.caveats.items[i].code, code) == 0)
			return true;
	return false;
}

/* open, three writes, close. */
static void import_small(struct imports *in)
{
	const int32_t symbols[] = { 1, -1, 3, 0, 1, 1, 3, 2, 1 };
	struct err err = { 0 };
	const char *paths[] = { folder };
	make_trace(symbols, sizeof symbols / sizeof *symbols, 5);
	if (import_recorder(in, paths, 1, &(struct io_options){ 0 }, &err))
		fail_msg("%s", err.text);
}

static void what_a_trace_does_not_tell_is_null(void **state)
{
	(void)state;
	struct imports in;
	import_small(&in);
	const struct io *io = &in.records[0]->body.io;
	assert_true(io->whole.write_bytes == 300 && io->whole.write_ops == 3 && io->whole.untimed_ops == 0);
	assert_true(isnan(io->whole.failed_ops) && isnan(io->dropped_ops) && !io->mpi.items);
	assert_false(has_caveat(in.records[0], "recorder_bytes_unknown"));
	assert_false(has_caveat(in.records[0], "recorder_wrap"));
	imports_done(&in);

	write_args = "/f %p ??? ";
	import_small(&in);
	io = &in.records[0]->body.io;
	assert_true(isnan(io->whole.write_bytes) && io->whole.write_ops == 3 && io->whole.read_bytes == 0);
	assert_true(isnan(io->interfaces.items[0].whole.write_bytes));
	assert_true(isnan(io->files.items[0].whole.write_bytes) && !io->series.items);
	assert_true(has_caveat(in.records[0], "recorder_bytes_unknown"));
	imports_done(&in);

	write_args = "/f %p 100 ";
	end_ticks = 5; /* a call that ends before it begins: a time that was too long for 32 bits */
	import_small(&in);
	io = &in.records[0]->body.io;
	assert_true(io->whole.write_bytes == 300 && io->whole.untimed_ops == 5);
	assert_true(has_caveat(in.records[0], "recorder_wrap"));
	imports_done(&in);
	end_ticks = 14;
}

/* One process's trace with this one call between open and close. */
static void import_call(struct imports *in, uint8_t function, uint8_t n_args, const char *args)
{
	const int32_t symbols[] = { 1, -1, 3, 0, 1, 1, 1, 2, 1 };
	struct buf cst = { 0 };
	struct err err = { 0 };
	const char *paths[] = { folder };
	make_trace(symbols, sizeof symbols / sizeof *symbols, 3);
	put32(&cst, 3);
	put_key(&release_24, &cst, 0, 0, 3, "/f 66 384 ");
	put_key(&release_24, &cst, 1, function, n_args, args);
	put_key(&release_24, &cst, 2, 2, 1, "/f ");
	save("0.cst", &cst);
	buf_done(&cst);
	if (import_recorder(in, paths, 1, &(struct io_options){ 0 }, &err))
		fail_msg("%s", err.text);
}

/* Number 255 is a function of the program, whose name is an argument. */
static void functions_of_the_program_itself_are_no_damage(void **state)
{
	(void)state;
	struct imports in;
	import_call(&in, 255, 2, "/bin/app solve ");
	assert_true(in.records[0]->body.io.whole.open_ops == 2);
	assert_true(has_caveat(in.records[0], "source_also_says"));
	imports_done(&in);
	struct recorder *r;
	struct err err = { 0 };
	struct buf cst = { 0 };
	put32(&cst, 1);
	put_key(&release_24, &cst, 0, 254, 0, "");
	save("0.cst", &cst);
	buf_done(&cst);
	assert_true(recorder_open(&r, folder, false, &err) < 0);
	assert_non_null(strstr(err.text, "function 254 of 3"));
}

/* "8192*r+0": of which group's rank is not told. */
static void an_offset_that_is_a_formula_is_not_zero(void **state)
{
	(void)state;
	struct imports in;
	function_names = "open\npwrite\nclose\n";
	import_call(&in, 1, 4, "/f %p 100 8192 ");
	assert_true(in.records[0]->body.io.files.items[0].size_bytes == 8292);
	assert_false(has_caveat(in.records[0], "recorder_offsets_unknown"));
	imports_done(&in);
	import_call(&in, 1, 4, "/f %p 100 8192*r+0 ");
	assert_true(in.records[0]->body.io.whole.write_bytes == 100);
	assert_true(isnan(in.records[0]->body.io.files.items[0].size_bytes));
	assert_true(has_caveat(in.records[0], "recorder_offsets_unknown"));
	imports_done(&in);
	function_names = "open\nlseek\nclose\n";
	import_call(&in, 1, 3, "/f 4096*r+0 SEEK_SET ");
	assert_true(has_caveat(in.records[0], "recorder_offsets_unknown"));
	imports_done(&in);
	function_names = "open\nwrite\nclose\n";
}

static void wrappers_names_are_those_of_what_was_called(void **state)
{
	(void)state;
	struct imports in;
	function_names = "open\nPMPI_Barrier\nclose\n";
	import_call(&in, 1, 1, "0 ");
	assert_int_equal(in.records[0]->body.io.mpi.n, 1);
	assert_string_equal(in.records[0]->body.io.mpi.items[0].class_, "collective");
	imports_done(&in);
	function_names = "open\nwrite\nclose\n";
}

/* Tables shared between processes, of a release before all of it was in few files: 0.cst, a file for
 * each different grammar, and ug.mt. */
static void make_shared(uint32_t grammar_of_last)
{
	const int32_t one[] = { 1, -1, 2, 0, 1, 2, 1 }, two[] = { 1, -1, 3, 0, 1, 1, 3, 2, 1 };
	struct buf which = { 0 }, cfg = { 0 }, ts = { 0 }, mt = { 0 };
	make_trace(two, sizeof two / sizeof *two, 5);
	put32(&mt, 3);
	put32(&mt, 0);
	put_double(&mt, 1.8e9);
	put_double(&mt, 1e-7);
	put64(&mt, 0);
	put64(&mt, 1); /* tables are shared */
	buf_puts(&mt, function_names);
	save("recorder.mt", &mt);
	for (size_t i = 0; i < sizeof one / sizeof *one; i++)
		put32(&cfg, (uint32_t)one[i]);
	save("1.cfg", &cfg);
	for (int i = 0; i < 2; i++) {
		put32(&ts, 10);
		put32(&ts, 14);
	}
	save("1.ts", &ts);
	put32(&which, 0);
	put32(&which, 1);
	put32(&which, grammar_of_last);
	put32(&which, 2);
	save("ug.mt", &which);
	buf_done(&which);
	buf_done(&cfg);
	buf_done(&ts);
	buf_done(&mt);
}

static void shared_tables_in_files_of_their_own_are_read(void **state)
{
	(void)state;
	struct recorder *r;
	struct err err = { 0 };
	make_shared(1);
	if (recorder_open(&r, folder, false, &err))
		fail_msg("%s", err.text);
	assert_true(r->n_ranks == 3 && r->ranks[0].events == 5 && r->ranks[1].events == 2);
	assert_string_equal(r->ranks[2].missing, "2.ts");
	assert_int_equal(r->n_missing, 1);
	recorder_close(r);
	make_shared(7);
	assert_true(recorder_open(&r, folder, false, &err) < 0);
	assert_non_null(strstr(err.text, "process 2 has grammar 7 of 2"));
}

static void layouts_that_are_not_read_are_named(void **state)
{
	(void)state;
	const int32_t symbols[] = { 1, -1, 1, 0, 1 };
	struct buf b = { 0 };
	struct recorder *r;
	struct err err = { 0 };
	make_trace(symbols, sizeof symbols / sizeof *symbols, 1);
	buf_puts(&b, "x");
	save("0.itf", &b);
	assert_true(recorder_open(&r, folder, false, &err) < 0);
	assert_non_null(strstr(err.text, "before 2.3"));
	make_trace(symbols, sizeof symbols / sizeof *symbols, 1);
	save("recorder.dat", &b);
	buf_done(&b);
	char path[160];
	(void)snprintf(path, sizeof path, "%s/recorder.mt", folder);
	assert_int_equal(unlink(path), 0);
	assert_true(recorder_open(&r, folder, false, &err) < 0);
	assert_non_null(strstr(err.text, "recorder.dat"));
}

static void arguments_are_taken_apart(void **state)
{
	(void)state;
	struct recorder_key key = { .n_args = 3, .args = str_of("/a %p ??? 12 ") };
	int64_t x;
	struct str s = recorder_arg(&key, 0);
	assert_true(s.n == 2 && memcmp(s.p, "/a", 2) == 0);
	assert_null(recorder_arg(&key, 2).p);
	assert_true(recorder_number(recorder_arg(&key, 3), &x) && x == 12);
	assert_null(recorder_arg(&key, 4).p);
	assert_false(recorder_number(str_of("99999999999999999999"), &x));
	assert_false(recorder_number(str_of("-"), &x));
	assert_false(recorder_number(str_of(""), &x));
	assert_true(recorder_number(str_of("-7"), &x) && x == -7);
}

int main(void)
{
	alarm(120);
	(void)snprintf(folder, sizeof folder, "/tmp/roimeter-recorder-%d", (int)getpid());
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_go_on_across_nested_rules_in_every_release),
		cmocka_unit_test(any_grammar_is_the_plain_list_of_its_calls),
		cmocka_unit_test(grammars_that_lie_are_refused),
		cmocka_unit_test(a_capture_has_every_call_at_its_time),
		cmocka_unit_test(numbers_of_a_trace_are_those_of_its_program),
		cmocka_unit_test(what_a_trace_does_not_tell_is_null),
		cmocka_unit_test(arguments_are_taken_apart),
		cmocka_unit_test(functions_of_the_program_itself_are_no_damage),
		cmocka_unit_test(an_offset_that_is_a_formula_is_not_zero),
		cmocka_unit_test(wrappers_names_are_those_of_what_was_called),
		cmocka_unit_test(shared_tables_in_files_of_their_own_are_read),
		cmocka_unit_test(layouts_that_are_not_read_are_named),
	};
	int rc = cmocka_run_group_tests(tests, NULL, NULL);
	(void)file_remove_tree(folder, NULL);
	return rc;
}
