/* rpd, schema 2: what rocmProfileData's tracer writes. Operations know their call, and calls their
 * process; markers are calls, too. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "import/trace_cursor.h"
#include "import/trace_rocprof_impl.h"

enum kind { OPERATIONS, CALLS, KINDS };

#define OPTYPES 64
#define SIZES_MAX (8 << 20) /* copies whose sizes are kept: 400 MB at most */

struct optype {
	int64_t id;
	uint32_t name;
	enum category category;
	bool kernel; /* the description is the name */
};

struct rpd {
	struct trace_db *db;
	struct trace_sink *t;
	struct trace_cursor cursors[KINDS];
	sqlite3_stmt *string, *owner;
	struct optype optypes[OPTYPES];
	size_t n_optypes;
	struct trace_map names; /* id of a description: number of the name * 2 + collective + 1 */
	struct trace_map
		calls; /* id of a call's name: 1 none of HIP's, 2 a call, 3 one that waits */
	struct trace_map sizes;   /* operation: bytes + 1 */
	struct trace_map devices; /* gpuId: number + 1 */
	struct trace_map pids;    /* that were told */
	int64_t pid;              /* of all operations, where there is but one */
	bool several;
	int64_t marker; /* id of the text UserMarker; -1: none */
};

static int string_of(struct rpd *r, int64_t id, struct str *ret, struct err *err)
{
	*ret = (struct str){ 0 };
	if (!r->string)
		return 0;
	(void)sqlite3_reset(r->string);
	(void)sqlite3_bind_int64(r->string, 1, id);
	int rc = trace_db_step(r->db, r->string, err);
	if (rc > 0)
		*ret = cell_text(r->string, 0);
	return rc < 0 ? rc : 0;
}

/* ---- processes ------------------------------------------------------------------------------ */

static int tell_process(struct rpd *r, int64_t pid)
{
	char text[24];
	if (trace_map_get(&r->pids, pid, 0))
		return 0;
	(void)snprintf(text, sizeof text, "%lld", (long long)pid);
	int rc = trace_process(r->t, pid, NULL, text, NULL, NULL);
	return rc ? rc : trace_map_put(&r->pids, pid, 0, 1);
}

static int find_processes(struct rpd *r, struct err *err)
{
	static const char *const columns[] = { "!pid" };
	sqlite3_stmt *q;
	int64_t pid;
	int rc = trace_db_select(r->db, &q, "rocpd_api", columns, 1, "", err);
	bool any = false;
	while (q && !r->several && (rc = trace_db_step(r->db, q, err)) > 0) {
		if (cell_int(q, 0, &pid) != CELL_IS)
			continue;
		r->several |= any && pid != r->pid;
		r->pid = pid;
		any = true;
	}
	(void)sqlite3_finalize(q);
	return rc < 0 ? rc : 0;
}

/* The process of an operation, by its call. */
static int owner_of(struct rpd *r, int64_t op, int64_t *ret, struct err *err)
{
	*ret = r->pid;
	if (!r->several)
		return 0;
	*ret = 0;
	if (!r->owner)
		return 0;
	(void)sqlite3_reset(r->owner);
	(void)sqlite3_bind_int64(r->owner, 1, op);
	int rc = trace_db_step(r->db, r->owner, err);
	if (rc > 0)
		(void)cell_int(r->owner, 0, ret);
	return rc < 0 ? rc : 0;
}

/* With several processes each operation's call is looked up: by an index of our own, in a temporary
 * table, since the file has none. */
static int index_owners(struct rpd *r, struct err *err)
{
	int have = trace_db_has(r->db, "rocpd_api_ops", err);
	if (!r->several || have <= 0)
		return have < 0 ? have : 0;
	int rc = sqlite3_exec(r->db->db,
			      "pragma temp_store = file;"
			      "create temp table owners (op integer primary key, pid);"
			      "insert or ignore into temp.owners select x.op_id, a.pid from "
			      "main.rocpd_api_ops x join main.rocpd_api a on a.id = x.api_id",
			      NULL, NULL, NULL);
	if (!rc)
		rc = sqlite3_prepare_v2(r->db->db, "select pid from temp.owners where op = ?1", -1,
					&r->owner, NULL);
	return rc ? err_set(err, (rc & 0xff) == SQLITE_NOMEM ? -ENOMEM : -EINVAL,
			    "%s: which process ran what cannot be told: SQLite: %s", r->db->path,
			    sqlite3_errmsg(r->db->db))
		  : 0;
}

/* ---- sizes of copies ------------------------------------------------------------------------ */

/* A call may have several operations, and its size is then none of theirs. */
static int read_sizes(struct rpd *r, struct err *err)
{
	int have = trace_db_has(r->db, "rocpd_copyapi", err);
	if (have > 0)
		have = trace_db_has(r->db, "rocpd_api_ops", err);
	if (have <= 0)
		return have;
	sqlite3_stmt *q;
	int rc = sqlite3_prepare_v2(
		r->db->db,
		"select c.size, x.op_id from main.rocpd_copyapi c join "
		"(select api_id, min(op_id) as op_id from main.rocpd_api_ops "
		"group by api_id having count(*) = 1) x on x.api_id = c.api_ptr_id",
		-1, &q, NULL);
	if (rc)
		return 0; /* other columns: sizes are not known */
	while ((rc = trace_db_step(r->db, q, err)) > 0) {
		int64_t size, op;
		if (cell_int(q, 0, &size) != CELL_IS || cell_int(q, 1, &op) != CELL_IS ||
		    size < 0 || size == INT64_MAX)
			continue;
		rc = r->sizes.n < SIZES_MAX ? trace_map_put(&r->sizes, op, 0, (uint64_t)size + 1)
					    : 0;
		if (rc)
			break;
	}
	(void)sqlite3_finalize(q);
	return rc;
}

/* ---- operations ----------------------------------------------------------------------------- */

static bool is(struct str text, const char *word)
{
	return text.p && text.n == strlen(word) && memcmp(text.p, word, text.n) == 0;
}

/* A Task is what a graph launched. */
static int optype_of(struct rpd *r, int64_t id, const struct optype **ret, struct err *err)
{
	for (size_t i = 0; i < r->n_optypes; i++)
		if (r->optypes[i].id == id) {
			*ret = &r->optypes[i];
			return 0;
		}
	struct str text;
	int rc = string_of(r, id, &text, err);
	if (rc)
		return rc;
	if (r->n_optypes == OPTYPES)
		return err_set(err, -EINVAL, "%s: table rocpd_op: over %d kinds of operations",
			       r->db->path, OPTYPES);
	struct optype *o = &r->optypes[r->n_optypes];
	*o = (struct optype){ .id = id, .category = OTHER };
	o->kernel = is(text, "KernelExecution") || is(text, "Task");
	if (text.n >= 4 && memcmp(text.p, "Copy", 4) == 0)
		o->category = roc_copy_named(text);
	else if (text.n >= 4 && memcmp(text.p, "Fill", 4) == 0)
		o->category = FILL;
	else if (o->kernel)
		o->category = COMPUTE;
	rc = trace_name(r->t, text.n ? text : str_of("(no name)"), &o->name);
	r->n_optypes += !rc;
	*ret = o;
	return rc;
}

static int kernel_name(struct rpd *r, int64_t id, const struct optype *o, uint32_t *ret,
		       enum category *category, struct err *err)
{
	uint64_t known = trace_map_get(&r->names, id, 0);
	if (known) {
		*ret = (uint32_t)((known - 1) >> 1);
		*category = (known - 1) & 1 ? COLLECTIVE : COMPUTE;
		return 0;
	}
	struct str text;
	int rc = string_of(r, id, &text, err);
	if (rc)
		return rc;
	*ret = o->name;
	*category = COMPUTE;
	if (!text.n)
		return 0;
	*category = kernel_category(text);
	rc = trace_name(r->t, text, ret);
	return rc ? rc
		  : trace_map_put(&r->names, id, 0,
				  ((uint64_t)*ret << 1 | (*category == COLLECTIVE)) + 1);
}

static int device_of(struct rpd *r, int64_t gpu, uint32_t *ret)
{
	uint64_t known = trace_map_get(&r->devices, gpu, 0);
	*ret = (uint32_t)(known - 1);
	if (known)
		return 0;
	char name[32], id[32];
	(void)snprintf(name, sizeof name, "%lld", (long long)gpu);
	(void)snprintf(id, sizeof id, "gpu%lld", (long long)gpu);
	int rc = trace_device(r->t, name, id, ret);
	return rc ? rc : trace_map_put(&r->devices, gpu, 0, (uint64_t)*ret + 1);
}

static int operation(struct rpd *r, const struct trace_cursor *c, struct err *err)
{
	int64_t id, gpu, description = -1, type, process;
	uint32_t device, name;
	const struct optype *o = NULL;
	if (cell_int(c->s, 2, &id) != CELL_IS || cell_int(c->s, 3, &gpu) != CELL_IS ||
	    cell_int(c->s, 4, &description) == CELL_BAD || cell_int(c->s, 5, &type) != CELL_IS)
		return trace_cursor_bad(r->db, c,
					"id, gpuId or a text's number is not a whole number", err);
	int rc = device_of(r, gpu, &device);
	if (!rc)
		rc = optype_of(r, type, &o, err);
	if (!rc)
		rc = owner_of(r, id, &process, err);
	if (!rc)
		rc = tell_process(r, process);
	if (rc)
		return rc;
	enum category category = o->category;
	name = o->name;
	if (o->kernel)
		rc = kernel_name(r, description, o, &name, &category, err);
	if (rc)
		return rc;
	uint64_t size = o->kernel ? 0 : trace_map_get(&r->sizes, id, 0);
	return c->timed ? trace_op(r->t, process, device, category, name, c->start, c->end,
				   size ? (double)(size - 1) : NAN)
			: trace_untimed(r->t, process, 1);
}

/* ---- calls and markers ---------------------------------------------------------------------- */

static int call(struct rpd *r, const struct trace_cursor *c, struct err *err)
{
	int64_t pid, id;
	if (cell_int(c->s, 2, &pid) != CELL_IS || cell_int(c->s, 3, &id) != CELL_IS)
		return trace_cursor_bad(r->db, c, "pid or apiName_id is not a whole number", err);
	uint64_t known = trace_map_get(&r->calls, id, 0);
	int rc = 0;
	if (!known) {
		struct str text;
		rc = string_of(r, id, &text, err);
		bool hip = text.n > 3 && memcmp(text.p, "hip", 3) == 0;
		known = !hip ? 1 : sync_call(CALL_HIP, text) ? 3 : 2;
		if (!rc)
			rc = trace_map_put(&r->calls, id, 0, known);
	}
	if (rc || known == 1 || !c->timed)
		return rc;
	rc = tell_process(r, pid);
	return rc ? rc : trace_call(r->t, pid, c->start, c->end, known == 3);
}

static int range(struct rpd *r, const struct trace_cursor *c, struct err *err)
{
	int64_t pid, id, args = -1;
	if (cell_int(c->s, 2, &pid) != CELL_IS || cell_int(c->s, 3, &id) != CELL_IS ||
	    cell_int(c->s, 4, &args) == CELL_BAD)
		return trace_cursor_bad(r->db, c, "pid or a text's number is not a whole number",
					err);
	if (id != r->marker || !c->timed)
		return 0;
	struct str text;
	int rc = string_of(r, args, &text, err);
	if (rc || !text.p || !trace_wants(r->t, text))
		return rc;
	rc = tell_process(r, pid);
	return rc ? rc : trace_range(r->t, pid, text, c->start, c->end);
}

/* ---- all of it ------------------------------------------------------------------------------ */

static int row(void *arg, const struct trace_cursor *c, struct err *err)
{
	return c->kind == OPERATIONS ? operation(arg, c, err) : call(arg, c, err);
}

static int marker_row(void *arg, const struct trace_cursor *c, struct err *err)
{
	return range(arg, c, err);
}

static const char *const columns[KINDS][6] = {
	[OPERATIONS] = { "!start", "!end", "!id", "!gpuId", "description_id", "!opType_id" },
	[CALLS] = { "!start", "!end", "!pid", "!apiName_id", "args_id" },
};
static const size_t n_columns[KINDS] = { [OPERATIONS] = 6, [CALLS] = 5 };
static const char *const tables[KINDS] = { "rocpd_op", "rocpd_api" };

static int open_cursor(struct rpd *r, enum kind k, bool ordered, struct err *err)
{
	r->cursors[k] = (struct trace_cursor){ .kind = k, .table = tables[k] };
	return trace_cursor_open(r->db, &r->cursors[k], columns[k], n_columns[k], ordered, err);
}

static int find_marker(struct rpd *r, struct err *err)
{
	static const char *const by_text[] = { "!id", "!string" };
	sqlite3_stmt *q;
	r->marker = -1;
	int rc = trace_db_select(r->db, &q, "rocpd_string", by_text, 2,
				 "where string = 'UserMarker'", err);
	if (q && (rc = trace_db_step(r->db, q, err)) > 0)
		(void)cell_int(q, 0, &r->marker);
	(void)sqlite3_finalize(q);
	return rc < 0 ? rc : 0;
}

/* Kernels, copies and fills come by one channel: one operation is a sign of all. */
static int observe(struct rpd *r, struct err *err)
{
	int rc = open_cursor(r, OPERATIONS, false, err);
	if (rc)
		return rc;
	rc = r->cursors[OPERATIONS].s
		     ? trace_observes(r->t, ROC_KERNELS | ROC_COPIES | 1u << FILL | 1u << OTHER)
		     : trace_note(r->t, "the file has no operation, and does not say whether they "
					"were traced");
	trace_cursor_close(&r->cursors[OPERATIONS]);
	return rc ? rc : trace_runtime(r->t, "hip");
}

static int ranges(struct rpd *r, struct err *err)
{
	int rc = observe(r, err);
	if (!rc)
		rc = open_cursor(r, CALLS, false, err);
	if (!rc && r->cursors[CALLS].s)
		rc = trace_calls_seen(r->t);
	if (!rc)
		rc = find_marker(r, err);
	return rc ? rc : trace_cursor_merge(r->db, r->cursors, KINDS, marker_row, r, err);
}

static int operations(struct rpd *r, bool ordered, struct err *err)
{
	int rc = find_processes(r, err);
	if (!rc)
		rc = index_owners(r, err);
	if (!rc)
		rc = read_sizes(r, err);
	for (int k = 0; k < KINDS && !rc; k++)
		rc = open_cursor(r, (enum kind)k, ordered, err);
	return rc ? rc : trace_cursor_merge(r->db, r->cursors, KINDS, row, r, err);
}

int rpd_is(struct trace_db *db, struct err *err)
{
	return trace_db_has(db, "rocpd_op", err);
}

int rpd_read(struct trace_db *db, enum trace_pass pass, struct trace_sink *t, struct err *err)
{
	static const char *const string[] = { "!string", "!id" };
	struct rpd r = { .db = db, .t = t };
	int rc = trace_db_select(db, &r.string, "rocpd_string", string, 2, "where id = ?1", err);
	if (!rc)
		rc = pass == TRACE_RANGES ? ranges(&r, err)
					  : operations(&r, pass == TRACE_ORDERED, err);
	for (size_t k = 0; k < KINDS; k++)
		trace_cursor_close(&r.cursors[k]);
	(void)sqlite3_finalize(r.string);
	(void)sqlite3_finalize(r.owner);
	trace_map_done(&r.names);
	trace_map_done(&r.calls);
	trace_map_done(&r.sizes);
	trace_map_done(&r.devices);
	trace_map_done(&r.pids);
	if (rc == -ENOMEM)
		(void)err_set(err, rc, "out of memory");
	return rc;
}
