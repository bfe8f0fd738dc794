/* A few cursors: the earliest is found by looking at all. */
#include "import/trace_cursor.h"

#include <errno.h>

int trace_cursor_bad(struct trace_db *d, const struct trace_cursor *c, const char *what,
		     struct err *err)
{
	return trace_db_bad(d, c->table, c->row, what, err);
}

void trace_cursor_close(struct trace_cursor *c)
{
	(void)sqlite3_finalize(c->s);
	c->s = NULL;
}

static int times(struct trace_db *d, struct trace_cursor *c, struct err *err)
{
	enum cell start = cell_int(c->s, 0, &c->start), end = cell_int(c->s, 1, &c->end);
	if (start == CELL_BAD || end == CELL_BAD)
		return trace_cursor_bad(d, c, "start or end is not a whole number", err);
	c->timed = start == CELL_IS && end == CELL_IS;
	if (c->timed && (c->start < c->least || c->end < c->least || c->start > TRACE_TIME_MAX ||
			 c->end > TRACE_TIME_MAX))
		return trace_cursor_bad(
			d, c, "start or end is negative or over 146 years: no time of a trace",
			err);
	return 0;
}

/* Rows without a time wait for nothing: they count as the beginning. */
static int advance(struct trace_db *d, struct trace_cursor *c, struct err *err)
{
	int rc = trace_db_step(d, c->s, err);
	if (rc <= 0) {
		trace_cursor_close(c);
		return rc;
	}
	c->row++;
	c->start = 0;
	return times(d, c, err);
}

int trace_cursor_open(struct trace_db *d, struct trace_cursor *c, const char *const *columns,
		      size_t n, bool ordered, struct err *err)
{
	c->row = 0;
	int rc = trace_db_select(d, &c->s, c->table, columns, n, ordered ? "order by start" : "",
				 err);
	return rc || !c->s ? rc : advance(d, c, err);
}

int trace_cursor_merge(struct trace_db *d, struct trace_cursor *cursors, size_t n,
		       int (*take)(void *arg, const struct trace_cursor *c, struct err *err),
		       void *arg, struct err *err)
{
	for (;;) {
		struct trace_cursor *first = NULL;
		for (size_t i = 0; i < n; i++)
			if (cursors[i].s && (!first || cursors[i].start < first->start))
				first = &cursors[i];
		if (!first)
			return 0;
		int rc = take(arg, first, err);
		if (!rc)
			rc = advance(d, first, err);
		if (rc)
			return rc;
	}
}
