/* SQLite files that other programs wrote, read with suspicion: read-only, nothing in them is run
 * but plain tables, columns are found by name, and a value of another type than it should be is an
 * error that says where. */
#ifndef IMPORT_TRACE_SQL_H
#define IMPORT_TRACE_SQL_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/str.h"

struct trace_db {
	sqlite3 *db;
	const char *path; /* for sentences; borrowed */
	void *map;        /* of a file without a name; NULL */
	size_t map_bytes;
};

/* file: what is opened, read-only and as it stands; path: what people know it by. -EINVAL: no
 * database, cut, damaged, or one whose last changes are in a log beside it. */
int trace_db_open(struct trace_db *ret, const char *file, const char *path, struct err *err);
/* The bytes of such a file; borrowed until close. */
int trace_db_memory(struct trace_db *ret, const void *bytes, size_t n, const char *path,
		    struct err *err);
void trace_db_close(struct trace_db *d);

/* Is it there, as a table that holds rows itself (no view, no virtual table)? Negative: cannot be
 * read. */
int trace_db_has(struct trace_db *d, const char *table, struct err *err);
/* The first table whose name begins so and comes after `after` (NULL: from the start), in the order
 * of names; "" when there is none. Cut names are none. */
int trace_db_next(struct trace_db *d, const char *prefix, const char *after, char ret_name[256],
		  struct err *err);

/* Columns of one table, without an order but that of the rows. Each column is a name, or several
 * with
 * '|' between, of which the first that exists is taken; one that does not exist gives NULL in each
 * row, or is an error if it begins with '!'. tail: more SQL ("where ...", "order by start"), made
 * by us, never of names in the file. A table that is not there gives *ret NULL. */
int trace_db_select(struct trace_db *d, sqlite3_stmt **ret, const char *table,
		    const char *const *columns, size_t n, const char *tail, struct err *err);

/* 1: a row; 0: no more. */
int trace_db_step(struct trace_db *d, sqlite3_stmt *s, struct err *err);

enum cell { CELL_NULL, CELL_IS, CELL_BAD };

/* A whole number: CELL_BAD where there is anything else. The value is looked at where it lies: one
 * connection, one thread, and half the time of asking for its type and then for it. */
static inline enum cell cell_int(sqlite3_stmt *s, int column, int64_t *ret)
{
	sqlite3_value *v = sqlite3_column_value(s, column);
	int type = sqlite3_value_type(v);
	if (type == SQLITE_INTEGER) {
		*ret = sqlite3_value_int64(v);
		return CELL_IS;
	}
	return type == SQLITE_NULL ? CELL_NULL : CELL_BAD;
}

/* Text, lent until the next row; p NULL for NULL and for anything else than text. */
static inline struct str cell_text(sqlite3_stmt *s, int column)
{
	if (sqlite3_column_type(s, column) != SQLITE_TEXT)
		return (struct str){ 0 };
	const char *p = (const char *)sqlite3_column_text(s, column);
	return (struct str){ .p = p, .n = p ? (size_t)sqlite3_column_bytes(s, column) : 0 };
}

/* "file: table T: column is no whole number", with the place of the row. */
int trace_db_bad(struct trace_db *d, const char *table, int64_t row, const char *what,
		 struct err *err);

#endif
