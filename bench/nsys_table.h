/* A table of kernels as Nsight Systems exports it, of any number of rows. */
#ifndef BENCH_NSYS_TABLE_H
#define BENCH_NSYS_TABLE_H

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

#define KERNEL_COLUMNS                                                                             \
	"start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, "                \
	"contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, "          \
	"correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL, "               \
	"shortName INTEGER NOT NULL, mangledName INTEGER, launchType INTEGER, cacheConfig "        \
	"INTEGER, "                                                                                \
	"registersPerThread INTEGER NOT NULL, gridX INTEGER NOT NULL, gridY INTEGER NOT NULL, "    \
	"gridZ INTEGER NOT NULL, blockX INTEGER NOT NULL, blockY INTEGER NOT NULL, "               \
	"blockZ INTEGER NOT NULL, staticSharedMemory INTEGER NOT NULL, "                           \
	"dynamicSharedMemory INTEGER NOT NULL, localMemoryPerThread INTEGER NOT NULL, "            \
	"localMemoryTotal INTEGER NOT NULL, gridId INTEGER NOT NULL, sharedMemoryExecuted "        \
	"INTEGER, "                                                                                \
	"graphNodeId INTEGER, sharedMemoryLimitConfig INTEGER"

static void must(sqlite3 *db, int rc, int wanted)
{
	if (rc == wanted)
		return;
	(void)fprintf(stderr, "sqlite: %s\n", sqlite3_errmsg(db));
	exit(1);
}

/* 8 streams of one process on one device, 64 kernels, begins mostly in order. */
static void make_kernels(const char *path, int rows)
{
	sqlite3 *db;
	sqlite3_stmt *s;
	must(NULL, sqlite3_open(path, &db), SQLITE_OK);
	must(db,
	     sqlite3_exec(db,
			  "pragma journal_mode = off; pragma synchronous = off; begin;"
			  "create table StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT "
			  "NULL);"
			  "create table META_DATA_CAPTURE (name TEXT NOT NULL, value TEXT);"
			  "insert into META_DATA_CAPTURE values ('CAPTURE_EVENT_TYPE', 'Cuda');"
			  "create table CUPTI_ACTIVITY_KIND_KERNEL (" KERNEL_COLUMNS ");",
			  NULL, NULL, NULL),
	     SQLITE_OK);
	for (int i = 0; i < 64; i++) {
		char sql[256];
		(void)snprintf(
			sql, sizeof sql,
			"insert into StringIds values (%d, 'void space::kernel_%d<float, %d>(float "
			"const*, float*, int)')",
			1000 + i, i, i);
		must(db, sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	}
	must(db,
	     sqlite3_prepare_v2(
		     db,
		     "insert into CUPTI_ACTIVITY_KIND_KERNEL values (?1, ?2, 0, 1, null, ?3, ?4, "
		     "281476838981632, ?5, ?5, ?5, 0, 0, 128, 108, 1, 1, 256, 1, 1, 0, 49152, 0, "
		     "314572800, ?4, 102400, null, 0)",
		     -1, &s, NULL),
	     SQLITE_OK);
	unsigned seed = 1;
	for (int i = 0; i < rows; i++) {
		seed = seed * 1664525u + 1013904223u;
		sqlite3_int64 start = 155330248986 + (sqlite3_int64)i * 4000 + (seed >> 20);
		(void)sqlite3_bind_int64(s, 1, start);
		(void)sqlite3_bind_int64(s, 2, start + 3000 + (seed >> 18) % 5000);
		(void)sqlite3_bind_int(s, 3, 7 + (int)(seed >> 28) % 8);
		(void)sqlite3_bind_int(s, 4, 100000 + i);
		(void)sqlite3_bind_int(s, 5, 1000 + (int)(seed >> 24) % 64);
		must(db, sqlite3_step(s), SQLITE_DONE);
		(void)sqlite3_reset(s);
	}
	(void)sqlite3_finalize(s);
	must(db, sqlite3_exec(db, "commit", NULL, NULL, NULL), SQLITE_OK);
	must(NULL, sqlite3_close(db), SQLITE_OK);
}

#endif
