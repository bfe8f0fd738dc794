/* Rows with a begin and an end, of several tables, read side by side: the earliest next. So what
 * the tables say of one moment comes together, whatever their sizes. */
#ifndef IMPORT_TRACE_CURSOR_H
#define IMPORT_TRACE_CURSOR_H

#include "import/trace_sql.h"

#define TRACE_TIME_MAX ((int64_t)1 << 62) /* 146 years */

struct trace_cursor {
	int kind;          /* the caller's */
	const char *table; /* borrowed */
	sqlite3_stmt *s;   /* column 0 begins, column 1 ends; NULL: no more rows */
	int64_t least;     /* times below are none */
	int64_t row;       /* the one that is current, from 1 */
	int64_t start, end;
	bool timed; /* both are there */
};

/* The first row. c->kind, table and least are set. ordered: by begin, else as they lie. */
int trace_cursor_open(struct trace_db *d, struct trace_cursor *c, const char *const *columns,
		      size_t n, bool ordered, struct err *err);
/* take sees each row once. 0, or what take or reading answered. */
int trace_cursor_merge(struct trace_db *d, struct trace_cursor *cursors, size_t n,
		       int (*take)(void *arg, const struct trace_cursor *c, struct err *err),
		       void *arg, struct err *err);
void trace_cursor_close(struct trace_cursor *c);
int trace_cursor_bad(struct trace_db *d, const struct trace_cursor *c, const char *what,
		     struct err *err);

#endif
