/* Nsight Systems, as it exports to SQLite (2020 to 2026). The tables of kernels, copies, fills and
 * calls are each mostly in order of time; they are read side by side, always the earliest row next,
 * so that a process's operations and calls come together. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/trace_cursor.h"
#include "import/trace_nsys_impl.h"

enum table { KERNELS, COPIES, FILLS, CALLS, TABLES };

enum column { START, END, DEVICE, GLOBAL, NAME, BYTES, COUNT };

static const char *const table_names[TABLES] = { NSYS_KERNEL, NSYS_MEMCPY, NSYS_MEMSET,
						 NSYS_RUNTIME };

#define KERNEL_NAMES "demangledName|shortName|mangledName|name"

static const char *const columns[TABLES][7] = {
	[KERNELS] = { "!start", "!end", "!deviceId", "globalPid", "!" KERNEL_NAMES },
	[COPIES] = { "!start", "!end", "!deviceId", "globalPid", "!copyKind", "bytes",
		     "copyCount" },
	[FILLS] = { "!start", "!end", "!deviceId", "globalPid", "start", "bytes" },
	[CALLS] = { "!start", "!end", "start", "globalTid", "!nameId|name" },
};
static const size_t n_columns[TABLES] = { [KERNELS] = 5, [COPIES] = 7, [FILLS] = 6, [CALLS] = 5 };

struct merge {
	struct nsys *n;
	struct trace_cursor cursors[TABLES];
	uint32_t copy_names[16], fill_name; /* number + 1 */
	int64_t last_process, last_ordinal; /* the answer of device_of is for them */
	uint32_t last_device;
	bool have_last;
	uint64_t batches;
};

static int bad(struct merge *m, const struct trace_cursor *c, const char *what, struct err *err)
{
	return trace_cursor_bad(&m->n->db, c, what, err);
}

/* ---- what a row means ----------------------------------------------------------------------- */

static int process_of(struct merge *m, const struct trace_cursor *c, int64_t *ret, struct err *err)
{
	int64_t global;
	enum cell cell = cell_int(c->s, GLOBAL, &global);
	if (m->n->one || cell == CELL_NULL) {
		*ret = m->n->one ? 0 : m->n->only;
		return nsys_seen(m->n, *ret);
	}
	if (cell == CELL_BAD)
		return bad(m, c, "the process is not a whole number", err);
	*ret = nsys_process(global);
	return *ret == m->last_process && m->have_last ? 0 : nsys_seen(m->n, *ret);
}

static int device_of(struct merge *m, const struct trace_cursor *c, int64_t process, uint32_t *ret,
		     struct err *err)
{
	int64_t ordinal = -1;
	if (cell_int(c->s, DEVICE, &ordinal) == CELL_BAD)
		return bad(m, c, "deviceId is not a whole number", err);
	if (m->have_last && process == m->last_process && ordinal == m->last_ordinal) {
		*ret = m->last_device;
		return 0;
	}
	uint64_t known = trace_map_get(&m->n->devices, process, ordinal);
	*ret = (uint32_t)(known - 1);
	int rc = known ? 0 : nsys_device(m->n, process, ordinal, ret);
	m->have_last = !rc;
	m->last_process = process;
	m->last_ordinal = ordinal;
	m->last_device = *ret;
	return rc;
}

static int new_kernel(struct nsys *n, struct str text, uint32_t *ret, enum category *ret_category)
{
	*ret_category = kernel_category(text);
	return trace_name(n->t, text, ret);
}

static int kernel_name(struct merge *m, const struct trace_cursor *c, uint32_t *ret,
		       enum category *ret_category, struct err *err)
{
	struct nsys *n = m->n;
	int64_t id;
	enum cell cell = cell_int(c->s, NAME, &id);
	if (cell != CELL_IS) {
		struct str text = cell_text(c->s, NAME);
		if (cell == CELL_BAD && !text.p)
			return bad(m, c, "the kernel's name is neither a number nor text", err);
		return new_kernel(n, text.p ? text : str_of("(no name)"), ret, ret_category);
	}
	uint64_t known = trace_map_get(&n->names, id, 0);
	if (known) {
		*ret = (uint32_t)((known - 1) >> 1);
		*ret_category = (known - 1) & 1 ? COLLECTIVE : COMPUTE;
		return 0;
	}
	struct str text;
	int rc = nsys_string(n, id, &text, err);
	if (!rc)
		rc = new_kernel(n, text.p ? text : str_of("(no name)"), ret, ret_category);
	if (!rc)
		rc = trace_map_put(&n->names, id, 0,
				   ((uint64_t)*ret << 1 | (*ret_category == COLLECTIVE)) + 1);
	return rc;
}

static const char *copy_text(int64_t kind)
{
	static const char *const texts[] = {
		"[memcpy unknown]",
		"[memcpy host to device]",
		"[memcpy device to host]",
		"[memcpy host to array]",
		"[memcpy array to host]",
		"[memcpy array to array]",
		"[memcpy array to device]",
		"[memcpy device to array]",
		"[memcpy device to device]",
		"[memcpy host to host]",
		"[memcpy peer to peer]",
		"[unified memory host to device]",
		"[unified memory device to host]",
		"[unified memory device to device]",
	};
	return kind >= 0 && kind < 14 ? texts[kind] : texts[0];
}

static int copy_name(struct merge *m, int64_t kind, uint32_t *ret)
{
	size_t slot = kind > 0 && kind < 14 ? (size_t)kind : 0;
	*ret = m->copy_names[slot] - 1;
	if (m->copy_names[slot])
		return 0;
	int rc = trace_name(m->n->t, str_of(copy_text(kind)), ret);
	if (!rc)
		m->copy_names[slot] = *ret + 1;
	return rc;
}

static int fill_name(struct merge *m, uint32_t *ret)
{
	*ret = m->fill_name - 1;
	if (m->fill_name)
		return 0;
	int rc = trace_name(m->n->t, str_of("[memset]"), ret);
	if (!rc)
		m->fill_name = *ret + 1;
	return rc;
}

static int bytes_of(struct merge *m, const struct trace_cursor *c, double *ret, struct err *err)
{
	int64_t bytes;
	enum cell cell = cell_int(c->s, BYTES, &bytes);
	*ret = NAN;
	if (cell == CELL_BAD || (cell == CELL_IS && bytes < 0))
		return bad(m, c, "bytes is negative or not a whole number", err);
	if (cell == CELL_IS)
		*ret = (double)bytes;
	return 0;
}

/* An export does not say on whose side an array lies: those that compare exports count it by no
 * direction, and so do we. */
static enum category direction_of(int64_t kind)
{
	return kind >= 3 && kind <= 7 ? COPY_OTHER : copy_kind_category((unsigned)kind);
}

static int copy_row(struct merge *m, const struct trace_cursor *c, uint32_t *ret_name,
		    enum category *ret_category, double *ret_bytes, struct err *err)
{
	int64_t kind, count;
	enum cell cell = cell_int(c->s, NAME, &kind);
	if (cell == CELL_BAD)
		return bad(m, c, "copyKind is not a whole number", err);
	if (cell == CELL_NULL || kind < 0 || kind > 255)
		kind = 0;
	*ret_category = direction_of(kind);
	m->batches += cell_int(c->s, COUNT, &count) == CELL_IS && count > 1;
	int rc = copy_name(m, kind, ret_name);
	return rc ? rc : bytes_of(m, c, ret_bytes, err);
}

static int operation(struct merge *m, const struct trace_cursor *c, struct err *err)
{
	int64_t process;
	uint32_t device, name;
	enum category category = FILL;
	double bytes = NAN;
	int rc = process_of(m, c, &process, err);
	if (!rc)
		rc = device_of(m, c, process, &device, err);
	if (rc)
		return rc;
	if (c->kind == KERNELS)
		rc = kernel_name(m, c, &name, &category, err);
	else if (c->kind == COPIES)
		rc = copy_row(m, c, &name, &category, &bytes, err);
	else {
		rc = fill_name(m, &name);
		if (!rc)
			rc = bytes_of(m, c, &bytes, err);
	}
	if (rc)
		return rc;
	if (!c->timed)
		return trace_untimed(m->n->t, process, 1);
	return trace_op(m->n->t, process, device, category, name, c->start, c->end, bytes);
}

/* ---- calls ---------------------------------------------------------------------------------- */

static int waits(struct merge *m, const struct trace_cursor *c, bool *ret, struct err *err)
{
	int64_t id;
	if (cell_int(c->s, NAME, &id) != CELL_IS) {
		*ret = sync_call(CALL_CUDA, cell_text(c->s, NAME));
		return 0;
	}
	uint64_t known = trace_map_get(&m->n->syncs, id, 0);
	*ret = known == 2;
	if (known)
		return 0;
	struct str text;
	int rc = nsys_string(m->n, id, &text, err);
	if (rc)
		return rc;
	*ret = sync_call(CALL_CUDA, text);
	return trace_map_put(&m->n->syncs, id, 0, *ret ? 2 : 1);
}

static int call(struct merge *m, const struct trace_cursor *c, struct err *err)
{
	int64_t process;
	bool sync;
	if (!c->timed)
		return 0; /* it never returned: no length is known */
	int rc = process_of(m, c, &process, err);
	if (!rc)
		rc = waits(m, c, &sync, err);
	return rc ? rc : trace_call(m->n->t, process, c->start, c->end, sync);
}

/* ---- all tables ----------------------------------------------------------------------------- */

static int row(void *arg, const struct trace_cursor *c, struct err *err)
{
	return c->kind == CALLS ? call(arg, c, err) : operation(arg, c, err);
}

/* Calls are written process by process, which is no order as soon as there are two. */
static int operations(struct nsys *n, enum trace_pass pass, struct err *err)
{
	struct merge m = { .n = n };
	int rc = 0;
	for (int k = 0; k < TABLES && !rc; k++) {
		struct trace_cursor *c = &m.cursors[k];
		/* A call may begin just before the clock of the trace does. */
		*c = (struct trace_cursor){ .kind = k,
					    .table = table_names[k],
					    .least = k == CALLS ? -TRACE_TIME_MAX : 0 };
		bool ordered = pass == TRACE_ORDERED || (k == CALLS && n->processes.n > 1);
		rc = trace_cursor_open(&n->db, c, columns[k], n_columns[k], ordered, err);
	}
	if (!rc && m.cursors[CALLS].s)
		rc = trace_calls_seen(n->t);
	if (!rc)
		rc = trace_cursor_merge(&n->db, m.cursors, TABLES, row, &m, err);
	for (size_t k = 0; k < TABLES; k++)
		trace_cursor_close(&m.cursors[k]);
	if (!rc && m.batches)
		rc = trace_note(n->t,
				"%llu copies are batches of several: each counts as one operation",
				(unsigned long long)m.batches);
	return rc;
}

static int graphs(struct nsys *n, struct err *err)
{
	sqlite3_stmt *s;
	int rc = trace_db_select(&n->db, &s, NSYS_GRAPH, (const char *const[]){ "globalPid" }, 1,
				 "", err);
	while (s && (rc = trace_db_step(&n->db, s, err)) > 0) {
		int64_t global, process = n->only;
		if (cell_int(s, 0, &global) == CELL_IS && !n->one)
			process = nsys_process(global);
		rc = nsys_seen(n, n->one ? 0 : process);
		if (!rc)
			rc = trace_graph(n->t, n->one ? 0 : process, 1);
		if (rc)
			break;
	}
	(void)sqlite3_finalize(s);
	return rc;
}

/* ---- ranges --------------------------------------------------------------------------------- */

/* NVTX: a range pushed and popped, or started and ended; the same, from text that was brought in.
 */
static bool is_range(int64_t type)
{
	return type == 59 || type == 60 || type == 70 || type == 71;
}

static int range_name(struct nsys *n, sqlite3_stmt *s, struct str *ret, struct err *err)
{
	int64_t id;
	*ret = cell_text(s, 3);
	if (ret->p || cell_int(s, 4, &id) != CELL_IS)
		return 0;
	uint64_t known = trace_map_get(&n->wanted, id, 0);
	if (known == 1)
		return 0;
	int rc = nsys_string(n, id, ret, err);
	if (!rc && !known)
		rc = trace_map_put(&n->wanted, id, 0, ret->p && trace_wants(n->t, *ret) ? 2 : 1);
	return rc;
}

static int range(struct nsys *n, sqlite3_stmt *s, int64_t at, struct err *err)
{
	int64_t start, end = 0, type, global = 0;
	enum cell has_end = cell_int(s, 1, &end);
	if (cell_int(s, 2, &type) != CELL_IS || !is_range(type) || has_end == CELL_NULL)
		return 0;
	struct str name;
	int rc = range_name(n, s, &name, err);
	if (rc || !name.p || !trace_wants(n->t, name))
		return rc;
	if (cell_int(s, 0, &start) != CELL_IS || has_end == CELL_BAD || start < 0 || end < 0 ||
	    start > TRACE_TIME_MAX || end > TRACE_TIME_MAX)
		return trace_db_bad(&n->db, "NVTX_EVENTS", at, "start or end is no time of a trace",
				    err);
	enum cell whose = cell_int(s, 5, &global);
	if (whose == CELL_BAD)
		return trace_db_bad(&n->db, "NVTX_EVENTS", at, "globalTid is not a whole number",
				    err);
	int64_t process = n->one ? 0 : whose == CELL_IS ? nsys_process(global) : n->only;
	rc = nsys_seen(n, process);
	return rc ? rc : trace_range(n->t, process, name, start, end);
}

static int ranges(struct nsys *n, struct err *err)
{
	static const char *const nvtx[] = { "!start", "!end",   "!eventType",
					    "text",   "textId", "globalTid" };
	sqlite3_stmt *s;
	int rc = trace_db_select(&n->db, &s, "NVTX_EVENTS", nvtx, 6, "", err);
	for (int64_t at = 1; s && !rc; at++) {
		rc = trace_db_step(&n->db, s, err);
		if (rc <= 0)
			break;
		rc = range(n, s, at, err);
	}
	(void)sqlite3_finalize(s);
	return rc;
}

/* ---- the reader ----------------------------------------------------------------------------- */

static int open_strings(struct nsys *n, struct err *err)
{
	static const char *const strings[] = { "!value", "!id" };
	return trace_db_select(&n->db, &n->string, "StringIds", strings, 2, "where id = ?1", err);
}

int nsys_read_db(struct trace_db *db, enum trace_pass pass, struct trace_sink *t, struct err *err)
{
	struct nsys n = { .db = *db, .t = t };
	n.gpus = calloc(NSYS_GPUS, sizeof *n.gpus);
	n.places = calloc(NSYS_GPUS, sizeof *n.places);
	int rc = n.gpus && n.places ? nsys_info(&n, pass, err) : -ENOMEM;
	if (!rc)
		rc = open_strings(&n, err);
	if (!rc && pass == TRACE_RANGES)
		rc = ranges(&n, err);
	else if (!rc) {
		rc = operations(&n, pass, err);
		if (!rc)
			rc = graphs(&n, err);
	}
	(void)sqlite3_finalize(n.string);
	trace_map_done(&n.devices);
	trace_map_done(&n.ordinals);
	trace_map_done(&n.processes);
	trace_map_done(&n.names);
	trace_map_done(&n.syncs);
	trace_map_done(&n.wanted);
	free(n.gpus);
	free(n.places);
	if (rc == -ENOMEM)
		(void)err_set(err, rc, "out of memory");
	return rc;
}
