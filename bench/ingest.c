/* A run of 200 operations into the store: from its bytes as they come over the wire, checked,
 * stored, indexed, the grid kept, durable in batches of 100; against the plain way: its JSON
 * parsed with jansson, a row of 40 columns and a child row for each operation with an index.
 * Kernels have the names of the programs: 200 different ones, the same in each run. */
#define _GNU_SOURCE
#include <math.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/ratio.h"
#include "lib/file.h"
#include "lib/num.h"
#include "schema/codec.h"
#include "store/store.h"

#define BATCH 100
#define ROUNDS 20
#define OPS 200

static void die(const char *what, const char *why)
{
	(void)fprintf(stderr, "bench/ingest: %s: %s\n", what, why);
	exit(1);
}

static unsigned long long state = 1;
static unsigned long long next(unsigned long long n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (state >> 33) % n;
}

/* ---- the record ---------------------------------------------------------------------------- */

static void fill_ops(struct record *rec)
{
	static const char *const families[] = { "jacobi_sweep", "spmv_csr", "dot_partial", "axpy",
						"halo_pack" };
	struct op *ops = arena_array(&rec->arena, OPS, sizeof *ops);
	double sum = 0;
	for (size_t i = 0; ops && i < OPS; i++) {
		block_clear(&op_block, &ops[i]);
		ops[i].name = arena_printf(&rec->arena, "%s<double, %zu>", families[i % 5], i);
		ops[i].category = i % 5 == 4 ? "copy_d2d" : "compute";
		ops[i].count = (double)(1 + next(5000));
		ops[i].min_s = (double)(1000 + next(100000)) / 1e9;
		ops[i].max_s = (double)(100000 + next(1000000)) / 1e9;
		ops[i].total_s = ops[i].count * (double)(1000 + next(100000)) / 1e9;
		ops[i].total_s = num15(ops[i].total_s);
		ops[i].avg_s = num15(ops[i].total_s / ops[i].count);
		sum += ops[i].total_s;
	}
	for (size_t i = 0; ops && i < OPS; i++)
		ops[i].share = num15(ops[i].total_s / sum);
	rec->body.ops.items = ops;
	rec->body.ops.n = OPS;
}

/* About forty fields besides. */
static void fill(struct record *rec, unsigned number)
{
	record_init(rec);
	struct record_body *b = &rec->body;
	static double runs[3];
	for (int i = 0; i < 3; i++)
		runs[i] = (double)(1000000000 + next(50000000)) / 1e9;
	b->run_id = arena_printf(&rec->arena, "20260929T%02u%02u%02uZ-%08llx", number / 3600 % 24,
				 number / 60 % 60, number % 60, next(1ull << 32));
	b->suite = "bench";
	b->app = "heat";
	b->case_ = arena_printf(&rec->arena, "n%u", number % 50);
	b->platform = "nvidia-b200.cuda13.2";
	b->kind = "measured";
	b->utc = "2026-09-29T04:52:01Z";
	b->status = "ok";
	b->measurement.tool = "roimeter 0.1.0";
	b->measurement.warmups = 1;
	b->measurement.cleans_asked = b->measurement.cleans_made = b->measurement.cleans_used = 3;
	b->measurement.region = "markers";
	b->roi.wall_s = runs[0];
	b->roi.runs_s.items = runs;
	b->roi.runs_s.n = 3;
	b->roi.min_s = runs[1];
	b->roi.max_s = runs[2];
	b->roi.stddev_s = num15(fabs(runs[2] - runs[1]) / 2);
	b->roi.cv = num15(b->roi.stddev_s / runs[0]);
	b->roi.entries = 1;
	b->roi.excluded_s = 0.0123;
	b->roi.processes = 4;
	b->roi.imbalance_s = 0.00123;
	b->roi.steps = 1000;
	b->roi.step_s = 0.001;
	b->roi.source = "markers";
	b->device.busy_s = num15(0.93 * runs[0]);
	b->device.busy_frac_of_roi = 0.93;
	b->device.compute_s = b->device.busy_s;
	b->device.compute_ops = 40000;
	b->context.process_wall_s = num15(runs[0] + 0.7);
	b->context.pre_roi_s = 0.5;
	b->context.post_roi_s = 0.2;
	b->context.user_s = num15(4 * runs[0]);
	b->context.max_rss_bytes = 123456789;
	b->fom.name = "updates";
	b->fom.value = num15(1e9 / runs[0]);
	b->fom.unit = "1/s";
	fill_ops(rec);
}

struct wire {
	struct buf body, ops, json;
};

static void make_wire(struct wire *w, unsigned number)
{
	struct record rec;
	fill(&rec, number);
	w->body.len = w->ops.len = w->json.len = 0;
	record_put(&w->body, &rec);
	record_put_ops(&w->ops, &rec);
	json_t *json = record_to_json(&rec);
	if (w->body.failed || w->ops.failed || !json || json_text(&w->json, json))
		die("make a record", "out of memory");
	json_decref(json);
	record_done(&rec);
}

/* ---- ours ---------------------------------------------------------------------------------- */

static double ours(struct store *s, struct wire *wires)
{
	struct err err;
	double begin = cpu_s();
	if (store_begin(s, &err))
		die("begin", err.text);
	for (int i = 0; i < BATCH; i++) {
		struct wire *w = &wires[i];
		struct record rec;
		if (record_get(&rec, w->body.data, w->body.len, w->ops.data, w->ops.len, &err) ||
		    record_check(&rec, &err) || store_add_run(s, &rec, &err))
			die("add", err.text);
		record_done(&rec);
	}
	if (store_commit(s, &err))
		die("commit", err.text);
	return cpu_s() - begin;
}

/* The same from JSON, as "roimeter import" takes it: for comparison, since agents send bytes. */
static double ours_from_json(struct store *s, struct wire *wires)
{
	struct err err;
	double begin = cpu_s();
	if (store_begin(s, &err))
		die("begin", err.text);
	for (int i = 0; i < BATCH; i++) {
		struct wire *w = &wires[i];
		struct record rec;
		json_t *json;
		if (json_parse(&json, w->json.data, w->json.len, "bench", &err) ||
		    record_from_json(&rec, json, &err) || store_add_run(s, &rec, &err))
			die("add", err.text);
		json_decref(json);
		record_done(&rec);
	}
	if (store_commit(s, &err))
		die("commit", err.text);
	return cpu_s() - begin;
}

/* ---- theirs -------------------------------------------------------------------------------- */

struct plain {
	sqlite3 *db;
	sqlite3_stmt *run, *op;
};

static void sql(sqlite3 *db, const char *text)
{
	char *why = NULL;
	if (sqlite3_exec(db, text, NULL, NULL, &why))
		die(text, why ? why : "?");
}

static void plain_open(struct plain *p, const char *path)
{
	struct buf b = { 0 };
	if (sqlite3_open(path, &p->db))
		die(path, "can't be opened");
	sql(p->db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
	buf_puts(&b, "CREATE TABLE run (run_id TEXT NOT NULL UNIQUE, suite, app, case_, platform, "
		     "utc, status");
	for (int i = 7; i < 40; i++)
		buf_printf(&b, ", m%d REAL", i);
	buf_puts(&b, "); CREATE INDEX run_key ON run (suite, app, case_, platform, utc);"
		     "CREATE TABLE op (run INTEGER, seq INTEGER, name TEXT, category TEXT, count "
		     "REAL, total_s REAL,"
		     "avg_s REAL, min_s REAL, max_s REAL, share REAL); CREATE INDEX op_run ON op "
		     "(run, seq)");
	sql(p->db, b.data);
	b.len = 0;
	buf_puts(&b, "INSERT INTO run VALUES (?");
	for (int i = 1; i < 40; i++)
		buf_puts(&b, ",?");
	buf_puts(&b, ")");
	if (sqlite3_prepare_v2(p->db, b.data, -1, &p->run, NULL) ||
	    sqlite3_prepare_v2(p->db, "INSERT INTO op VALUES (?,?,?,?,?,?,?,?,?,?)", -1, &p->op,
			       NULL))
		die("prepare", sqlite3_errmsg(p->db));
	buf_done(&b);
}

static void step(struct plain *p, sqlite3_stmt *stmt)
{
	if (sqlite3_step(stmt) != SQLITE_DONE)
		die("insert", sqlite3_errmsg(p->db));
	(void)sqlite3_reset(stmt);
}

static void bind(sqlite3_stmt *stmt, int at, const json_t *value)
{
	if (json_is_string(value))
		(void)sqlite3_bind_text(stmt, at, json_string_value(value), -1, SQLITE_STATIC);
	else if (json_is_number(value))
		(void)sqlite3_bind_double(stmt, at, json_number_value(value));
	else
		(void)sqlite3_bind_null(stmt, at);
}

static void plain_add(struct plain *p, const struct wire *w)
{
	static const char *const names[] = { "run_id",   "suite", "app",   "case",
					     "platform", "utc",   "status" };
	static const char *const blocks[] = { "measurement", "roi", "device", "context", "fom" };
	json_error_t e;
	json_t *json = json_loadb(w->json.data, w->json.len, JSON_REJECT_DUPLICATES, &e);
	if (!json)
		die("JSON", e.text);
	int at = 1;
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		bind(p->run, at++, json_object_get(json, names[i]));
	for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
		const char *key;
		json_t *value;
		json_object_foreach(json_object_get(json, blocks[i]), key,
				    value) if (json_is_number(value) && at <= 40)
			bind(p->run, at++, value);
	}
	step(p, p->run);
	sqlite3_int64 run = sqlite3_last_insert_rowid(p->db);
	size_t seq;
	json_t *op;
	json_array_foreach(json_object_get(json, "ops"), seq, op)
	{
		static const char *const columns[] = { "name",  "category", "count", "total_s",
						       "avg_s", "min_s",    "max_s", "share" };
		(void)sqlite3_bind_int64(p->op, 1, run);
		(void)sqlite3_bind_int64(p->op, 2, (sqlite3_int64)seq);
		for (int i = 0; i < 8; i++)
			bind(p->op, 3 + i, json_object_get(op, columns[i]));
		step(p, p->op);
	}
	json_decref(json);
}

static double theirs(struct plain *p, struct wire *wires)
{
	double begin = cpu_s();
	sql(p->db, "BEGIN");
	for (int i = 0; i < BATCH; i++)
		plain_add(p, &wires[i]);
	sql(p->db, "COMMIT");
	return cpu_s() - begin;
}

/* ---- both ---------------------------------------------------------------------------------- */

static double file_bytes(const char *path)
{
	struct stat st;
	return stat(path, &st) ? 0 : (double)st.st_size;
}

int main(void)
{
	char folder[] = "bench-ingest.XXXXXX", ours_path[64], json_path[64], plain_path[64];
	static struct wire wires[BATCH];
	struct store *s, *from_json;
	struct err err;
	struct plain p = { 0 };
	struct ratio r = { .n = 0 }, json = { .n = 0 };
	double cpu = 0;
	if (chdir(getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp") || !mkdtemp(folder))
		die("a folder for the databases", "can't be made");
	(void)snprintf(ours_path, sizeof ours_path, "%s/ours.db", folder);
	(void)snprintf(json_path, sizeof json_path, "%s/json.db", folder);
	(void)snprintf(plain_path, sizeof plain_path, "%s/plain.db", folder);
	if (store_open(&s, ours_path, STORE_WRITE, &err))
		die("open", err.text);
	if (store_open(&from_json, json_path, STORE_WRITE, &err))
		die("open", err.text);
	plain_open(&p, plain_path);
	for (unsigned round = 0; round < ROUNDS; round++) {
		for (unsigned i = 0; i < BATCH; i++)
			make_wire(&wires[i], round * BATCH + i);
		double a, b;
		if (round % 2) {
			a = ours(s, wires);
			b = theirs(&p, wires);
		} else {
			b = theirs(&p, wires);
			a = ours(s, wires);
		}
		double c = ours_from_json(from_json, wires);
		if (round > 0) { /* the first one makes the files */
			ratio_add(&json, c, b);
			ratio_add(&r, a, b);
			cpu += a;
		}
	}
	store_close(s);
	store_close(from_json);
	sql(p.db, "PRAGMA wal_checkpoint(TRUNCATE)");
	double runs = ROUNDS * BATCH;
	(void)printf("# ours %.0f us of CPU a run; on disk %.0f bytes a run, theirs %.0f; JSON "
		     "%zu, wire %zu\n",
		     cpu / (runs - BATCH) * 1e6, file_bytes(ours_path) / runs,
		     file_bytes(plain_path) / runs, wires[0].json.len,
		     wires[0].body.len + wires[0].ops.len);
	(void)ratio_print(&r, "ingest", 0.2);
	(void)ratio_print(&json, "ingest_from_json", 1);
	struct ratio bytes = { .n = 0 };
	ratio_add(&bytes, file_bytes(ours_path) / runs, (double)wires[0].json.len);
	(void)ratio_print(&bytes, "bytes_on_disk_to_json", 0.25);
	(void)file_remove_tree(folder, NULL);
	return 0;
}
