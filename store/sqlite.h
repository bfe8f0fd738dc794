/* What the files of the SQLite store share. Nobody else includes this. */
#ifndef STORE_SQLITE_H
#define STORE_SQLITE_H

#include <sqlite3.h>
#include <stdbool.h>

#include "lib/buf.h"
#include "store/pack.h"
#include "store/store.h"

/* Statements that are kept; the text of each is beside the code that runs it. */
enum statement {
	STMT_BEGIN,
	STMT_COMMIT,
	STMT_FIND_RUN,
	STMT_FIND_CELL,
	STMT_NEW_CELL,
	STMT_PUT_RUN,
	STMT_PUT_BODY,
	STMT_CELL_COUNT,
	STMT_CELL_OK,
	STMT_CELL_LAST,
	STMT_CELL_BOTH,
	STMT_CELL_OF_RUN,
	STMT_DELETE_RUN,
	STMT_REMAKE_CELL, /* three */
	STMT_UNDECLARE = STMT_REMAKE_CELL + 3,
	STMT_DECLARE,
	STMT_GET_RUN,
	STMT_DATA_VERSION,
	STMT_VERSION,
	STMT_CHANGED,
	STMT_RUN_HASH,
	STMT_SNAPSHOT,
	STMT_SNAPSHOT_END,
	STMT_DECLARED, /* three: all, by suite, by both */
	STMT_DECLARED_LAST = STMT_DECLARED + 2,
	STMT_EACH_CELL, /* four: by suite, by app, by both, all */
	STMT_FIND_CONFORMANCE = STMT_EACH_CELL + 4,
	STMT_ADD_CONFORMANCE,
	STMT_EACH_CONFORMANCE,
	STMT_NEWEST_CONFORMANCE,
	STMT_INBOX, /* those of store/sqlite_inbox.h */
	STMT_N = STMT_INBOX + 80,
};

/* The columns that run and, with a prefix, the cell's ok_... and last_... share, in one order. */
#define SHARED(P)                                                                                  \
	P "kind, " P "utc, " P "wall_s, " P "cv, " P "min_s, " P "max_s, " P "samples, " P         \
	  "process_wall_s, " P "busy_frac, " P "fom, " P "caveats"
#define N_SHARED 11

struct store {
	sqlite3 *db;
	char *path;
	bool writable;
	bool in_transaction; /* of the caller */
	int broken;          /* what went wrong in it: it can't be committed any more */
	bool version_known;
	uint64_t version;      /* as it was when nobody had written since: */
	uint64_t data_version; /* by others */
	int changes;           /* by ourselves */
	int failed;            /* what sql_error answered last: for those who got no statement */
	sqlite3_stmt *statements[STMT_N];
	struct buf body, ops; /* kept for their memory, as are the packed ones */
	struct pack *pack_body, *pack_ops;
	struct buf found;    /* texts of the inbox's run that was found last */
	struct inbox *inbox; /* what is known of senders, made when it is needed */
};

/* The transaction is over: what the inbox has in memory stands, or is taken back. */
void inbox_settle(struct store *s, bool committed);
void inbox_free(struct inbox *in);

/* Translate SQLite's code and say what happened: "store PATH: <doing>: <why>". */
int sql_error(struct store *s, int code, struct err *err, const char *doing);

/* A kept statement, reset and without bindings; NULL after saying why. When it is in use further
 * up (a callback that asks again) a new one is made: give each back with sql_release. */
sqlite3_stmt *sql_statement(struct store *s, enum statement which, const char *text,
			    struct err *err);
void sql_release(struct store *s, enum statement which, sqlite3_stmt *stmt);

/* Run a statement that gives no row, and release it. */
int sql_run(struct store *s, enum statement which, sqlite3_stmt *stmt, struct err *err,
	    const char *doing);
int sql_exec(struct store *s, const char *text, struct err *err);

/* A transaction around a write, unless the caller has one. sql_end commits or, when rc is not 0,
 * takes back; returns rc or what went wrong. */
int sql_begin(struct store *s, struct err *err);
int sql_end(struct store *s, int rc, struct err *err);

void sql_bind_num(sqlite3_stmt *stmt, int at, double x);          /* NAN is NULL */
void sql_bind_text(sqlite3_stmt *stmt, int at, const char *text); /* borrowed until reset */
double sql_num(sqlite3_stmt *stmt, int column);                   /* NULL is NAN */
const char *sql_text(sqlite3_stmt *stmt, int column);

/* XXH3-128 of a record's bytes; ops may be NULL, which is not the same as empty. */
void sql_content_hash(unsigned char hash[16], const void *body, size_t n, const void *ops,
		      size_t ops_n);

/* Make or update the tables; s->writable says whether that is allowed. */
int steps_apply(struct store *s, struct err *err);

#endif
