/* Where records live. Speaks of runs, cells and cases; knows nothing of SQL. One store belongs
 * to one thread; several stores may be open on one database, one of them for writing. */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"
#include "schema/conformance.h"
#include "schema/record.h"

struct store;

enum store_mode {
	STORE_READ,  /* must exist */
	STORE_WRITE, /* made and migrated when needed */
};

/* -EPROTO: a newer program made this database. -EREMOTE: it lies on a network file system, where
 * SQLite's locks do not hold. -ENOENT, -EACCES, -ENOSPC, -EUCLEAN (not a database, or damaged). */
int store_open(struct store **ret_store, const char *path, enum store_mode mode, struct err *err);
void store_close(struct store *s);

/* Several writes as one; without it each call is its own transaction. Durable after commit. */
int store_begin(struct store *s, struct err *err);
int store_commit(struct store *s, struct err *err);
void store_rollback(struct store *s);

/* A number that grows whenever a run or what is declared is written or removed, by whoever; the
 * same in every store that is open on this database. As long as nobody has written at all it costs
 * no look at a table. Not to be asked inside a batch of one's own. */
int store_version(struct store *s, uint64_t *ret, struct err *err);

/* The applications whose runs or declared inputs have changed since that version (0: all that ever
 * were), in the order of their change. Some may have nothing left. */
int store_each_changed(struct store *s, uint64_t since,
		       int (*each)(void *arg, const char *suite, const char *app), void *arg,
		       struct err *err);

/* All that is read until the end is of one state. Not inside a batch. The log of the database grows
 * as long as others write meanwhile: end it soon. */
int store_snapshot(struct store *s, struct err *err);
void store_snapshot_end(struct store *s);

/* Add a run and keep the grid up to date. A run id that is there with the same content: 0,
 * nothing happens; with another content: -EEXIST. The record must pass record_check. */
int store_add_run(struct store *s, const struct record *rec, struct err *err);

/* Put this record in the place of the one that has its run id; the grid follows. The same content:
 * 0, nothing happens. -ENOENT: there is none (any more). */
int store_replace_run(struct store *s, const struct record *rec, struct err *err);

/* rec is initialised by this call, also when it fails. -ENOENT. */
int store_get_run(struct store *s, const char *run_id, struct record *rec, struct err *err);

/* By this a record's content is told from another's under the same id. -ENOENT. */
int store_run_hash(struct store *s, const char *run_id, unsigned char ret_hash[16],
		   struct err *err);

/* -ENOENT. The grid falls back to the run before. */
int store_delete_run(struct store *s, const char *run_id, struct err *err);

/* One line of a list of runs: what is in columns. Text is good until the callback returns. */
struct run_row {
	const char *run_id, *suite, *app, *case_, *platform, *kind, *utc, *status;
	double wall_s, cv, min_s, max_s; /* seconds; NAN = null */
	double samples;                  /* cleans_used */
	double process_wall_s, busy_frac, fom;
	double caveats; /* how many */
	const char *input_hash; /* in lists of runs only; NULL: not known */
};

struct run_query {
	const char *suite, *app, *case_, *platform, *status, *kind; /* NULL: any */
	const char *since;                                          /* utc, inclusive; NULL: any */
	const char
		*before; /* run id: only older ones (a cursor); NULL: newest first from the top */
	uint64_t limit;  /* 0: no limit */
};

/* Newest first (by run id). A callback that answers non-zero ends the walk with that number. */
int store_each_run(struct store *s, const struct run_query *q,
		   int (*each)(void *arg, const struct run_row *row), void *arg, struct err *err);

/* One cell of the grid: the latest ok run, or none, and what came after it. */
struct cell {
	const char *suite, *app, *case_, *platform;
	struct run_row ok;   /* the latest ok run; run_id NULL if there never was one */
	struct run_row last; /* the latest run of any status; there always is one */
	uint64_t runs;       /* stored for this cell */
};

/* Ordered by suite, app, case, platform (bytes). NULL: any. Never scans the runs. Only what has
 * runs: what was declared and never run is in store_each_declared. A callback may ask the store,
 * not write to it. */
int store_each_cell(struct store *s, const char *suite, const char *app,
		    int (*each)(void *arg, const struct cell *cell), void *arg, struct err *err);

/* Declared inputs, so that the grid can show what was never measured. Replaces what was declared
 * for this suite; the same again is no change. */
struct declared_case {
	const char *app, *case_;
	const char *title; /* or NULL */
	uint64_t place;    /* in its suite, when it is read; else ignored */
};
int store_declare(struct store *s, const char *suite, const struct declared_case *cases, size_t n,
		  struct err *err);
/* In their order, suites by name. NULL: any; an application only with its suite. */
int store_each_declared(struct store *s, const char *suite, const char *app,
			int (*each)(void *arg, const char *suite, const struct declared_case *c),
			void *arg, struct err *err);

/* Add a result. The same again, as bytes or as JSON, which has 15 digits: 0, nothing happens, and
 * ret_new (may be NULL) is false; another of the same platform, collector and time: -EEXIST; -EINVAL
 * as conformance_check. */
int store_add_conformance(struct store *s, const struct conformance *c, bool *ret_new,
			  struct err *err);

/* By platform, collector (bytes), the newest first. NULL: any. all: older ones too, else the newest of
 * each alone. c is good until the callback returns, which may ask the store, not write to it; what it
 * answers other than 0 ends the walk. */
int store_each_conformance(struct store *s, const char *platform, const char *collector, bool all,
			   int (*each)(void *arg, const struct conformance *c), void *arg,
			   struct err *err);

#endif
