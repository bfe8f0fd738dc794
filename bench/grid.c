/* The grid (the latest ok run of each cell) out of 10^6 stored runs: 20000 cells, 10 % of the runs
 * failed; all of it, and one application's 34 cells. Against the query that everybody writes first:
 * a table with names in columns, GROUP BY and max(). And is it flat from a tenth of the runs on?
 *
 * The first tenth goes through the store. The rest is copied from it in SQL, to earlier times and
 * without the records' bytes, which neither side reads: so a million runs take seconds.
 * BENCH_RUNS sets how many. */
#define _GNU_SOURCE
#include <math.h>
#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

#include "bench/ratio.h"
#include "lib/file.h"
#include "store/store.h"

#define CELLS_OF_APP 34
#define APPS 588
#define CELLS (CELLS_OF_APP * APPS)
#define ROUNDS 7

static void die(const char *what, const char *why)
{
	(void)fprintf(stderr, "bench/grid: %s: %s\n", what, why);
	exit(1);
}

static void sql(sqlite3 *db, const char *text)
{
	char *why = NULL;
	if (sqlite3_exec(db, text, NULL, NULL, &why))
		die(text, why ? why : "?");
}

/* ---- filling ------------------------------------------------------------------------------- */

static void fill(const char *path, unsigned long runs)
{
	struct store *s;
	struct err err;
	unsigned long long state = 1;
	if (store_open(&s, path, STORE_WRITE, &err))
		die("open", err.text);
	for (unsigned long i = 0; i < runs; i++) {
		struct record rec;
		state = state * 6364136223846793005u + 1442695040888963407u;
		/* Each cell once first, then any. */
		unsigned long cell = i < CELLS ? i : (unsigned long)(state >> 33) % CELLS;
		record_init(&rec);
		struct record_body *b = &rec.body;
		b->run_id = arena_printf(&rec.arena, "202609%02luT%02lu%02lu%02luZ-%08lx",
					 1 + i / 86400, i / 3600 % 24, i / 60 % 60, i % 60, i);
		b->utc = arena_printf(&rec.arena, "2026-09-%02luT%02lu:%02lu:%02luZ", 1 + i / 86400,
				      i / 3600 % 24, i / 60 % 60, i % 60);
		b->suite = "bench";
		b->app = arena_printf(&rec.arena, "application%03lu", cell / CELLS_OF_APP);
		b->case_ = arena_printf(&rec.arena, "n%lu", cell % CELLS_OF_APP / 2);
		b->platform = cell % 2 ? "nvidia-b200.cuda13.2" : "amd-mi300x.rocm6.3";
		b->kind = "measured";
		b->status = i >= CELLS && (state >> 40) % 10 == 0 ? "clean_failed" : "ok";
		b->roi.wall_s = 1 + (double)(state >> 40) / 1e9;
		b->roi.cv = 0.01;
		b->roi.min_s = 1;
		b->roi.max_s = 1.1;
		b->measurement.cleans_used = 3;
		b->context.process_wall_s = 2;
		if ((i % 1000 == 0 && store_begin(s, &err)) || store_add_run(s, &rec, &err) ||
		    (i % 1000 == 999 && store_commit(s, &err)))
			die("add", err.text);
		record_done(&rec);
	}
	if (runs % 1000 && store_commit(s, &err))
		die("commit", err.text);
	store_close(s);
}

/* Nine copies of each run, a year earlier each. */
static void grow(const char *from, const char *path)
{
	struct buf b = { 0 };
	struct err err;
	sqlite3 *db;
	if (file_read(&b, from, &err) || file_write(path, b.data, b.len, &err))
		die("copy", err.text);
	buf_done(&b);
	if (sqlite3_open(path, &db))
		die(path, sqlite3_errmsg(db));
	sql(db, "PRAGMA synchronous = OFF; PRAGMA cache_size = -200000; BEGIN;"
		"CREATE TEMP TABLE template AS SELECT * FROM run;"
		"WITH RECURSIVE k(n) AS (VALUES (9) UNION ALL SELECT n - 1 FROM k WHERE n > 1)"
		"INSERT INTO run (id, cell, kind, utc, wall_s, cv, min_s, max_s, samples, "
		"process_wall_s, busy_frac, fom, caveats, status, hash) SELECT id - n * (31536000 "
		"<< 32), cell, kind, utc, wall_s, cv, "
		"min_s, max_s,"
		" samples, process_wall_s, busy_frac, fom, caveats, status, hash FROM k, template;"
		"UPDATE cell SET runs = 10 * runs; COMMIT; PRAGMA wal_checkpoint(TRUNCATE)");
	(void)sqlite3_close(db);
}

static sqlite3 *plain_open(const char *path, const char *from)
{
	char text[400];
	sqlite3 *db;
	if (sqlite3_open(path, &db))
		die(path, sqlite3_errmsg(db));
	(void)snprintf(text, sizeof text,
		       "PRAGMA synchronous = OFF; ATTACH '%s' AS s; CREATE TABLE run AS SELECT "
		       "run.id AS run_id, suite, "
		       "app, case_name, platform, kind, utc, status, wall_s, cv, min_s, max_s, "
		       "samples, process_wall_s, "
		       "busy_frac, fom, caveats FROM s.run JOIN s.cell ON s.cell.id = s.run.cell; "
		       "DETACH s",
		       from);
	sql(db, text);
	return db;
}

/* ---- asking -------------------------------------------------------------------------------- */

struct sum {
	unsigned long cells;
	double wall_s;
};

static int take(void *arg, const struct cell *c)
{
	struct sum *sum = arg;
	sum->cells++;
	sum->wall_s += c->ok.wall_s;
	return 0;
}

static double ours(struct store *s, const char *suite, const char *app, int times, struct sum *sum)
{
	struct err err;
	double begin = cpu_s();
	for (int i = 0; i < times; i++) {
		*sum = (struct sum){ 0 };
		if (store_each_cell(s, suite, app, take, sum, &err))
			die("grid", err.text);
	}
	return (cpu_s() - begin) / times;
}

static double naive(sqlite3 *db, const char *where, struct sum *sum)
{
	char text[400];
	sqlite3_stmt *stmt;
	double begin = cpu_s();
	(void)snprintf(
		text, sizeof text,
		"SELECT suite, app, case_name, platform, max(run_id), kind, utc, wall_s, cv, "
		"min_s, max_s, samples,"
		" process_wall_s, busy_frac, fom, caveats, status FROM run WHERE status = 'ok' %s "
		"GROUP BY suite, app, case_name, platform",
		where);
	if (sqlite3_prepare_v2(db, text, -1, &stmt, NULL))
		die("prepare", sqlite3_errmsg(db));
	*sum = (struct sum){ 0 };
	while (sqlite3_step(stmt) == SQLITE_ROW) {
		sum->cells++;
		sum->wall_s += sqlite3_column_double(stmt, 7);
	}
	(void)sqlite3_finalize(stmt);
	return cpu_s() - begin;
}

static void same(const struct sum *a, const struct sum *b)
{
	if (a->cells != b->cells || fabs(a->wall_s - b->wall_s) > 1e-6)
		die("the two answers differ", "nothing to compare");
}

int main(void)
{
	char folder[] = "bench-grid.XXXXXX", small[64], big[64], plain[64];
	const char *asked = getenv("BENCH_RUNS");
	unsigned long runs = asked ? strtoul(asked, NULL, 10) : 1000000;
	struct store *tenth, *all;
	struct err err;
	struct ratio whole = { .n = 0 }, app = { .n = 0 }, flat = { .n = 0 };
	double cell_ms = 0, app_ms = 0;
	if (runs < 10 * CELLS || runs > 10 * 2000000)
		die("BENCH_RUNS", "from 200000 to 20000000, please");
	if (chdir(getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp") || !mkdtemp(folder))
		die("a folder for the databases", "can't be made");
	(void)snprintf(small, sizeof small, "%s/small.db", folder);
	(void)snprintf(big, sizeof big, "%s/big.db", folder);
	(void)snprintf(plain, sizeof plain, "%s/plain.db", folder);
	fill(small, runs / 10);
	grow(small, big);
	sqlite3 *db = plain_open(plain, big);
	if (store_open(&tenth, small, STORE_READ, &err) || store_open(&all, big, STORE_READ, &err))
		die("open", err.text);

	struct sum a, b;
	(void)ours(tenth, NULL, NULL, 1, &a);
	for (int round = 0; round < ROUNDS; round++) {
		double few = ours(tenth, NULL, NULL, 4, &b);
		double many = ours(all, NULL, NULL, 4, &a);
		double by_hand = naive(db, "", &b);
		same(&a, &b);
		ratio_add(&flat, many, few);
		ratio_add(&whole, many, by_hand);
		cell_ms = many * 1e3;
		double one = ours(all, "bench", "application300", 200, &a);
		by_hand = naive(db, "AND suite = 'bench' AND app = 'application300'", &b);
		same(&a, &b);
		ratio_add(&app, one, by_hand);
		app_ms = one * 1e3;
	}
	(void)printf(
		"# %lu runs, %d cells: the whole grid %.1f ms of CPU, one application %.3f ms\n",
		runs, CELLS, cell_ms, app_ms);
	(void)ratio_print(&whole, "grid_all", 0.01);
	(void)ratio_print(&app, "grid_app", 0.001);
	(void)ratio_print(&flat, "grid_flat", 1.5);
	store_close(tenth);
	store_close(all);
	(void)sqlite3_close(db);
	(void)file_remove_tree(folder, NULL);
	return 0;
}
