/* wrap: malloc calloc realloc */
/* The grid, kept part by part: whatever is stored, removed, declared or put in another's place, it
 * is afterwards what one that is made from nothing is; and its gzip is one ordinary file. */
#define _GNU_SOURCE /* mkdtemp, and from here on the tests' headers */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/store_fixture.h"

#include "report/grid.h"
#include "report/pack.h"
#include "schema/runid.h"
#include "tests/unit/fail_alloc.h"

static int put_piece(void *arg, const void *bytes, size_t n)
{
	buf_put(arg, bytes, n);
	return 0;
}

static struct grid *new_grid(const char *suite)
{
	struct grid *g =
		grid_new(&(struct report_options){ .suites = &suite, .n_suites = suite ? 1 : 0 });
	assert_non_null(g);
	return g;
}

static int update(struct grid *g, struct store *s)
{
	struct err err = { { 0 } };
	assert_int_equal(store_snapshot(s, NULL), 0);
	int rc = grid_update(g, s, &err);
	store_snapshot_end(s);
	if (rc && rc != -ENOENT)
		fail_msg("%s", err.text);
	return rc;
}

static struct buf grid_text(struct grid *g)
{
	struct buf b = { 0 };
	assert_int_equal(grid_each_text(g, put_piece, &b), 0);
	assert_false(b.failed);
	assert_int_equal(b.len, grid_bytes(g));
	return b;
}

/* One member, all of it, nothing behind it. */
static void assert_unpacks(struct grid *g, const struct buf *text)
{
	struct buf packed = { 0 };
	char *out = malloc(text->len + 1);
	z_stream z = { .zalloc = NULL };
	assert_non_null(out);
	assert_int_equal(grid_each_gzip(g, put_piece, &packed), 0);
	assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
	z.next_in = (unsigned char *)packed.data;
	z.avail_in = (unsigned)packed.len;
	z.next_out = (unsigned char *)out;
	z.avail_out = (unsigned)text->len + 1;
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	assert_int_equal(z.avail_in, 0);
	assert_int_equal(z.total_out, text->len);
	assert_memory_equal(out, text->data, text->len);
	(void)inflateEnd(&z);
	free(out);
	buf_done(&packed);
}

/* g is brought up to date; a new one says what it should be. */
static void assert_as_new(struct grid *g, struct store *s, const char *suite, bool pack)
{
	struct grid *fresh = new_grid(suite);
	char hash[2][33];
	uint64_t version;
	int rc = update(g, s);
	assert_int_equal(update(fresh, s), rc);
	assert_int_equal(store_version(s, &version, NULL), 0);
	if (!rc) {
		struct buf a = grid_text(g), b = grid_text(fresh);
		size_t same = 0;
		while (same < a.len && same < b.len && a.data[same] == b.data[same])
			same++;
		if (same < a.len || same < b.len)
			fail_msg("at %zu: %.200s, and not %.200s", same, a.data + same,
				 b.data + same);
		grid_hash(g, hash[0]);
		grid_hash(fresh, hash[1]);
		assert_string_equal(hash[0], hash[1]);
		assert_int_equal(grid_version(g), version);
		if (pack)
			assert_unpacks(g, &a);
		json_error_t e;
		json_t *json = json_loads(a.data, JSON_REJECT_DUPLICATES, &e);
		if (!json)
			fail_msg("%s at %d of %s", e.text, e.position, a.data);
		json_decref(json);
		buf_done(&a);
		buf_done(&b);
	}
	grid_free(fresh);
}

/* ---- anything may happen ------------------------------------------------------------------- */

static const char *const platforms[] = { "cpu-x.linux6.1", "nvidia-b200.cuda13.2",
					 "amd-mi300x.rocm6.3", "cpu-y.linux6.12" };

struct world {
	struct store *s;
	struct dice d;
	char ids[200][RUNID_BYTES];
	size_t n;
	unsigned seconds;
	size_t n_platforms; /* that new runs are of */
};

static void add_any(struct world *w)
{
	struct record rec;
	any_record(&rec, &w->d, below(&w->d, 4) ? ++w->seconds : (unsigned)below(&w->d, 86400));
	rec.body.app = below(&w->d, 3) ? rec.body.app : "app10";
	rec.body.platform = platforms[below(&w->d, w->n_platforms)];
	if (store_add_run(w->s, &rec, NULL) == 0)
		(void)snprintf(w->ids[w->n++], RUNID_BYTES, "%s", rec.body.run_id);
	record_done(&rec);
}

static void delete_any(struct world *w)
{
	size_t i = below(&w->d, w->n);
	assert_int_equal(store_delete_run(w->s, w->ids[i], NULL), 0);
	memmove(w->ids[i], w->ids[--w->n], RUNID_BYTES);
}

/* Another record under the same id, as one that a late frame changed. */
static void replace_any(struct world *w)
{
	size_t i = below(&w->d, w->n);
	struct record old, rec;
	assert_int_equal(store_get_run(w->s, w->ids[i], &old, NULL), 0);
	any_record(&rec, &w->d, 1);
	rec.body.run_id = old.body.run_id;
	rec.body.suite = old.body.suite;
	rec.body.app = old.body.app;
	rec.body.case_ = old.body.case_;
	rec.body.platform = old.body.platform;
	assert_int_equal(store_begin(w->s, NULL), 0);
	assert_int_equal(store_delete_run(w->s, w->ids[i], NULL), 0);
	assert_int_equal(store_add_run(w->s, &rec, NULL), 0);
	assert_int_equal(store_commit(w->s, NULL), 0);
	record_done(&old);
	record_done(&rec);
}

static void declare_any(struct world *w)
{
	static const struct declared_case some[] = {
		{ .app = "lj.melt", .case_ = "n2", .title = "two \"atoms\"" },
		{ .app = "heat", .case_ = "n9" },
		{ .app = "app9", .case_ = "first" },
		{ .app = "heat", .case_ = "n1", .title = "\xc3\xa4" },
		{ .app = "app10", .case_ = "n0" },
	};
	size_t from = below(&w->d, 5), n = below(&w->d, 6 - from);
	assert_int_equal(
		store_declare(w->s, below(&w->d, 2) ? "demo" : "Suite-2", some + from, n, NULL), 0);
}

static void it_is_what_one_made_from_nothing_is(void **state)
{
	(void)state;
	static const char *const suites[] = { NULL, "demo", "Suite-2", "nope" };
	struct world w = { .s = open_store(STORE_WRITE), .d = { 5 }, .n_platforms = 2 };
	struct store *reader = open_store(STORE_READ);
	struct grid *grids[4];
	for (size_t i = 0; i < 4; i++) {
		grids[i] = new_grid(suites[i]);
		assert_as_new(grids[i], reader, suites[i], true);
	}
	for (int round = 0; round < 600; round++) {
		/* The columns become many, and few again when there is next to nothing left. */
		w.n_platforms = round < 200 ? 2 : round < 400 ? 4 : 1;
		bool shrinks = round > 180 && round % 200 > 150;
		size_t what = below(&w.d, 10);
		if (w.n > 190 || (w.n > 2 && (shrinks || what == 0)))
			delete_any(&w);
		else if (w.n && what == 1)
			replace_any(&w);
		else if (what == 2)
			declare_any(&w);
		else
			add_any(&w);
		for (size_t i = 0; i < 4; i++)
			if (below(&w.d, 3) == 0)
				assert_as_new(grids[i], reader, suites[i], round % 10 == 0);
	}
	for (size_t i = 0; i < 4; i++)
		grid_free(grids[i]);
	store_close(reader);
	store_close(w.s);
}

/* ---- one by one ---------------------------------------------------------------------------- */

static void put_run(struct store *s, struct record *rec, const char *id, const char *platform,
		    const char *status)
{
	rec->body.run_id = id;
	rec->body.platform = platform;
	rec->body.status = status;
	add(s, rec);
}

static struct record plain_record(void)
{
	struct record rec;
	record_init(&rec);
	rec.body.suite = "s";
	rec.body.app = "a";
	rec.body.case_ = "c";
	rec.body.kind = "measured";
	rec.body.utc = "2026-09-29T04:52:01Z";
	rec.body.roi.wall_s = 2;
	return rec;
}

static const char *cells_of(struct grid *g, struct store *s, struct buf *b)
{
	assert_int_equal(update(g, s), 0);
	buf_done(b);
	*b = grid_text(g);
	char *cells = strstr(b->data, "\"cells\":");
	assert_non_null(cells);
	b->data[b->len - strlen("]}]}]}]}\n")] = 0;
	return cells;
}

static void a_cell_says_what_is_known_and_nothing_else(void **state)
{
	(void)state;
	struct store *s = open_store(STORE_WRITE);
	struct grid *g = new_grid(NULL);
	struct buf b = { 0 };
	struct record rec = plain_record();
	put_run(s, &rec, "20260929T045201Z-00000001", "p-x.r1", "clean_failed");
	assert_string_equal(cells_of(g, s, &b),
			    "\"cells\":[{\"runs\":1,\"ok\":null,\"last\":{\"run_id\":"
			    "\"20260929T045201Z-00000001\",\"status\":\"clean_failed\"}}");
	double runs[] = { 1.9, 2, 2.125 };
	rec.body.roi.runs_s.items = runs;
	rec.body.roi.runs_s.n = 3;
	rec.body.roi.min_s = 1.9;
	rec.body.roi.max_s = 2.125;
	rec.body.roi.spread = 0.1125;
	rec.body.roi.stable = NO;
	rec.body.measurement.cleans_used = 3;
	struct caveat caveats[] = { { .code = "not_profiled", .text = "x" },
				    { .code = "machine_loaded", .text = "y" } };
	rec.body.caveats.items = caveats;
	rec.body.caveats.n = 2;
	rec.body.context.process_wall_s = 3;
	put_run(s, &rec, "20260929T045202Z-00000002", "p-x.r1", "ok");
	assert_string_equal(
		cells_of(g, s, &b),
		"\"cells\":[{\"runs\":2,\"ok\":{\"run_id\":\"20260929T045202Z-00000002\","
		"\"wall_s\":2,\"share\":0.6667,\"samples\":3,\"caveats\":2},"
		"\"spread\":0.1125,\"unstable\":true,\"notable\":1,\"dots\":[-50,0,63]}");
	/* With more columns there is no room for dots. */
	rec.body.roi.spread = 0.5;
	rec.body.roi.two_levels = YES;
	put_run(s, &rec, "20260929T045203Z-00000003", "p-y.r1", "ok");
	put_run(s, &rec, "20260929T045204Z-00000004", "p-z.r1", "ok");
	assert_non_null(strstr(cells_of(g, s, &b), "\"notable\":1},{"));
	assert_null(strstr(b.data, "dots"));
	assert_non_null(strstr(b.data, "\"spread\":0.5,\"two_levels\":true,"));
	rec.body.caveats.items = NULL;
	rec.body.roi.runs_s.items = NULL;
	record_done(&rec);
	buf_done(&b);
	grid_free(g);
	store_close(s);
}

static void facts_of_a_platform_are_its_newest(void **state)
{
	(void)state;
	struct store *s = open_store(STORE_WRITE);
	struct grid *g = new_grid(NULL);
	struct record rec = plain_record();
	put_run(s, &rec, "20260929T045203Z-00000003", "p-x.r1", "ok");
	assert_int_equal(update(g, s), 0);
	struct buf b = grid_text(g);
	assert_non_null(strstr(b.data, "[{\"id\":\"p-x.r1\",\"info\":null}]"));
	buf_done(&b);
	rec.body.app = "b";
	rec.body.platform_info.host = "old";
	put_run(s, &rec, "20260929T045201Z-00000001", "p-x.r1", "ok");
	rec.body.app = "c";
	rec.body.platform_info.host = "new";
	put_run(s, &rec, "20260929T045202Z-00000002", "p-x.r1", "ok");
	assert_int_equal(update(g, s), 0);
	b = grid_text(g);
	assert_non_null(strstr(b.data, "\"info\":{\"host\":\"new\"}"));
	buf_done(&b);
	assert_int_equal(store_delete_run(s, "20260929T045202Z-00000002", NULL), 0);
	assert_int_equal(update(g, s), 0);
	b = grid_text(g);
	assert_non_null(strstr(b.data, "\"info\":{\"host\":\"old\"}"));
	buf_done(&b);
	record_done(&rec);
	grid_free(g);
	store_close(s);
}

/* The hash is that of all that is behind it: a number that the grid does not show counts too. */
static void another_record_is_another_report(void **state)
{
	(void)state;
	char hash[3][33];
	for (int i = 0; i < 3; i++) {
		struct store *s = open_store(STORE_WRITE);
		struct grid *g = new_grid(NULL);
		struct record rec = plain_record();
		rec.body.context.load1 = i == 1 ? 7 : 1;
		put_run(s, &rec, "20260929T045201Z-00000001", "p-x.r1", "ok");
		assert_int_equal(update(g, s), 0);
		grid_hash(g, hash[i]);
		assert_int_equal(store_delete_run(s, "20260929T045201Z-00000001", NULL), 0);
		record_done(&rec);
		grid_free(g);
		store_close(s);
	}
	assert_string_not_equal(hash[0], hash[1]);
	assert_string_equal(hash[0], hash[2]);
}

static void a_suite_that_is_not_there_is_named(void **state)
{
	(void)state;
	struct store *s = open_store(STORE_WRITE);
	struct err err = { { 0 } };
	struct grid *g = new_grid("nope");
	assert_int_equal(grid_update(g, s, &err), -ENOENT);
	assert_non_null(strstr(err.text, "nope"));
	assert_int_equal(grid_update(g, s, &err), -ENOENT);
	grid_free(g);
	store_close(s);
}

static void long_pieces_are_packed_too(void **state)
{
	(void)state;
	struct packer p = { .is_open = 0 };
	struct dice d = { 3 };
	struct buf plain = { 0 }, packed = { 0 };
	uLong crc = crc32(0, NULL, 0);
	pack_begin(&packed);
	for (int i = 0; i < 5; i++) {
		size_t at = plain.len, n = (size_t)i * 300000;
		for (size_t k = 0; k < n / 8; k++) {
			uint64_t x = i % 2 ? roll(&d) : 7;
			buf_put(&plain, &x, 8);
		}
		assert_int_equal(packer_put(&p, &packed, plain.data + at, plain.len - at), 0);
		crc = crc32(crc, (unsigned char *)plain.data + at, (unsigned)(plain.len - at));
		pack_plain(&packed, "glue", 4);
		buf_puts(&plain, "glue");
		crc = crc32(crc, (const unsigned char *)"glue", 4);
	}
	pack_end(&packed, (uint32_t)crc, plain.len);
	char *out = malloc(plain.len + 1);
	z_stream z = { .zalloc = NULL };
	assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
	z.next_in = (unsigned char *)packed.data;
	z.avail_in = (unsigned)packed.len;
	z.next_out = (unsigned char *)out;
	z.avail_out = (unsigned)plain.len + 1;
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	assert_memory_equal(out, plain.data, plain.len);
	(void)inflateEnd(&z);
	free(out);
	packer_done(&p);
	buf_done(&plain);
	buf_done(&packed);
}

static void every_failed_allocation_is_survived(void **state)
{
	(void)state;
	struct world w = { .s = open_store(STORE_WRITE), .d = { 8 }, .n_platforms = 4 };
	for (int i = 0; i < 12; i++)
		add_any(&w);
	declare_any(&w);
	struct grid *fresh = new_grid(NULL), *kept = new_grid(NULL);
	assert_int_equal(update(kept, w.s), 0);
	for (int i = 0; i < 12; i++)
		add_any(&w);
	assert_int_equal(update(fresh, w.s), 0);
	struct buf wanted = grid_text(fresh);
	/* One is made from nothing, one brought on; either is right in the end or says that it
	 * failed. */
	for (int n = 1; fail_alloc(n); n++) {
		struct grid *g = grid_new(&(struct report_options){ .title = NULL });
		int rc = g ? grid_update(g, w.s, NULL) : -ENOMEM;
		if (!rc)
			rc = grid_each_gzip(g, put_piece, &(struct buf){ .max = 1 });
		grid_free(g);
		(void)grid_update(kept, w.s, NULL);
		alloc_left = 0;
		assert_true(rc == 0 || alloc_failed);
	}
	assert_int_equal(update(kept, w.s), 0);
	struct buf got = grid_text(kept);
	assert_string_equal(got.data, wanted.data);
	assert_unpacks(kept, &got);
	buf_done(&got);
	buf_done(&wanted);
	grid_free(fresh);
	grid_free(kept);
	store_close(w.s);
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, make_folder, remove_folder)
	const struct CMUnitTest tests[] = {
		TEST(it_is_what_one_made_from_nothing_is),
		TEST(a_cell_says_what_is_known_and_nothing_else),
		TEST(facts_of_a_platform_are_its_newest),
		TEST(another_record_is_another_report),
		TEST(a_suite_that_is_not_there_is_named),
		TEST(long_pieces_are_packed_too),
		TEST(every_failed_allocation_is_survived),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
