/* A million kernels of a Nsight Systems export made into a record, against SQLite's own C interface
 * reading the same columns of the same table, by turns. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/nsys_table.h"
#include "bench/ratio.h"
#include "import/trace.h"

#define ROWS 1000000
#define ROUNDS 11
#define GOAL 1.5

static double bare(const char *path)
{
	double begin = cpu_s();
	sqlite3 *db;
	sqlite3_stmt *s;
	sqlite3_int64 sum = 0, rows = 0;
	must(NULL, sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	must(db,
	     sqlite3_prepare_v2(db,
				"select start, end, deviceId, globalPid, demangledName from "
				"CUPTI_ACTIVITY_KIND_KERNEL",
				-1, &s, NULL),
	     SQLITE_OK);
	int rc;
	while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
		for (int i = 0; i < 5; i++)
			sum ^= sqlite3_column_int64(s, i);
		rows++;
	}
	must(db, rc, SQLITE_DONE);
	(void)sqlite3_finalize(s);
	(void)sqlite3_close(db);
	if (rows != ROWS || sum == 1)
		abort();
	return cpu_s() - begin;
}

static double ours(const char *path)
{
	double begin = cpu_s();
	struct imports in = { 0 };
	struct err err = { "" };
	if (import_traces(&in, &nsys_reader, &path, 1, &(struct trace_options){ .case_ = "bench" },
			  &err)) {
		(void)fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
	double took = cpu_s() - begin;
	if (in.n_records != 1 || in.records[0]->body.context.whole_process.compute_ops != ROWS)
		abort();
	imports_done(&in);
	return took;
}

int main(void)
{
	char folder[] = "/tmp/roimeter-bench.XXXXXX", path[64];
	struct ratio ratio = { 0 };
	double best = 1e9;
	if (!mkdtemp(folder))
		return 1;
	(void)snprintf(path, sizeof path, "%s/kernels.sqlite", folder);
	make_kernels(path, ROWS);
	(void)bare(path); /* into the page cache */
	for (int i = 0; i < ROUNDS; i++) {
		double theirs = bare(path), mine = ours(path);
		ratio_add(&ratio, mine, theirs);
		best = mine < best ? mine : best;
	}
	int met = ratio_print(&ratio, "nsys_import_against_bare_read", GOAL);
	(void)printf("nsys_import_ns_per_row %.0f\n", best * 1e9 / ROWS);
	(void)unlink(path);
	(void)rmdir(folder);
	return !met;
}
