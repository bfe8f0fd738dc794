/* rocprofv3's database, schema 3. Each session has tables of its own, whose names end in its UUID;
 * the views without it put sessions together, but their numbers then mean several things: the
 * tables are read, session by session. */
#define _GNU_SOURCE
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/trace_rocpd_impl.h"

/* ---- operations ----------------------------------------------------------------------------- */

static int unknown_agent(struct rocpd *r, int64_t id, uint32_t *ret)
{
	char name[32];
	(void)snprintf(name, sizeof name, "agent %lld", (long long)id);
	return trace_device(r->t, name, name, ret);
}

static int kernel_name(struct rocpd *r, struct session *s, int64_t id, uint32_t *ret,
		       enum category *category, struct err *err)
{
	uint64_t known = trace_map_get(&s->kernels, id, 0);
	if (known) {
		*ret = (uint32_t)((known - 1) >> 1);
		*category = (known - 1) & 1 ? COLLECTIVE : COMPUTE;
		return 0;
	}
	struct str text = { 0 };
	int rc = rocpd_by_id(r, s->symbol, id, err);
	if (rc < 0)
		return rc;
	if (rc > 0) {
		text = cell_text(s->symbol, 0);
		if (!text.n)
			text = cell_text(s->symbol, 1);
	}
	if (!text.n)
		text = str_of("(no name)");
	*category = kernel_category(text);
	rc = trace_name(r->t, text, ret);
	return rc ? rc
		  : trace_map_put(&s->kernels, id, 0,
				  ((uint64_t)*ret << 1 | (*category == COLLECTIVE)) + 1);
}

static int kernel(struct rocpd *r, struct session *s, const struct trace_cursor *c, struct err *err)
{
	int64_t pid = 0, agent, id;
	uint32_t device, name;
	enum category category;
	if (cell_int(c->s, 2, &pid) == CELL_BAD || cell_int(c->s, 3, &agent) != CELL_IS ||
	    cell_int(c->s, 4, &id) != CELL_IS)
		return trace_cursor_bad(r->db, c,
					"pid, agent_id or kernel_id is not a whole number", err);
	struct agent *a = rocpd_agent(s, agent);
	int rc = a ? rocpd_device(r, a, &device) : unknown_agent(r, agent, &device);
	if (!rc)
		rc = kernel_name(r, s, id, &name, &category, err);
	if (rc)
		return rc;
	int64_t process = rocpd_process(s, pid);
	return c->timed ? trace_op(r->t, process, device, category, name, c->start, c->end, NAN)
			: trace_untimed(r->t, process, 1);
}

static int copy_name(struct rocpd *r, struct session *s, const struct trace_cursor *c,
		     uint32_t *ret, enum category *named, struct err *err)
{
	int64_t id = -1;
	*named = COPY_OTHER;
	if (cell_int(c->s, 3, &id) == CELL_BAD)
		return trace_cursor_bad(r->db, c, "name_id is not a whole number", err);
	uint64_t known = trace_map_get(&s->copies, id, 0);
	if (known) {
		*ret = (uint32_t)((known - 1) >> 8);
		*named = (enum category)((known - 1) & 0xff);
		return 0;
	}
	struct str text;
	int rc = rocpd_string(r, s, id, &text, err);
	if (rc)
		return rc;
	*named = roc_copy_named(text);
	rc = trace_name(r->t, text.n ? text : str_of("(copy)"), ret);
	return rc ? rc : trace_map_put(&s->copies, id, 0, ((uint64_t)*ret << 8 | *named) + 1);
}

static int copy(struct rocpd *r, struct session *s, const struct trace_cursor *c, struct err *err)
{
	int64_t pid = 0, to = -1, from = -1, size = 0;
	uint32_t device, name;
	enum category category;
	if (cell_int(c->s, 2, &pid) == CELL_BAD || cell_int(c->s, 4, &to) == CELL_BAD ||
	    cell_int(c->s, 5, &from) == CELL_BAD)
		return trace_cursor_bad(r->db, c, "pid or an agent is not a whole number", err);
	enum cell sized = cell_int(c->s, 6, &size);
	if (sized == CELL_BAD || (sized == CELL_IS && size < 0))
		return trace_cursor_bad(r->db, c, "size is negative or not a whole number", err);
	int rc = copy_name(r, s, c, &name, &category, err);
	if (rc)
		return rc;
	struct agent *a = rocpd_agent(s, from), *b = rocpd_agent(s, to);
	if (a && b && a->type && b->type)
		category = roc_copy(a->type, b->type, a == b);
	struct agent *on = b && b->type == ROC_GPU ? b : a && a->type == ROC_GPU ? a : b;
	rc = on ? rocpd_device(r, on, &device) : unknown_agent(r, to, &device);
	if (rc)
		return rc;
	int64_t process = rocpd_process(s, pid);
	return c->timed ? trace_op(r->t, process, device, category, name, c->start, c->end,
				   sized == CELL_IS ? (double)size : NAN)
			: trace_untimed(r->t, process, 1);
}

/* ---- regions -------------------------------------------------------------------------------- */

static bool begins(struct str text, const char *word)
{
	size_t n = strlen(word);
	return text.p && text.n >= n && memcmp(text.p, word, n) == 0;
}

/* Without events (other programs write such files) every region is somebody's range. With one: its
 * category tells. The event's row stays current for message_of. */
static int region_of(struct rocpd *r, struct session *s, sqlite3_stmt *q, int column,
		     enum region *ret, struct err *err)
{
	int64_t event, category;
	*ret = REGION_MARKER;
	if (!s->event || cell_int(q, column, &event) != CELL_IS)
		return 0;
	int rc = rocpd_by_id(r, s->event, event, err);
	if (rc <= 0 || cell_int(s->event, 0, &category) != CELL_IS)
		return rc < 0 ? rc : 0;
	uint64_t known = trace_map_get(&s->categories, category, 0);
	if (known) {
		*ret = (enum region)(known - 1);
		return 0;
	}
	struct str text;
	rc = rocpd_string(r, s, category, &text, err);
	if (rc)
		return rc;
	*ret = begins(text, "MARKER") || !text.p ? REGION_MARKER
	       : begins(text, "HIP_RUNTIME_API") ? REGION_CALL
						 : REGION_OTHER;
	return trace_map_put(&s->categories, category, 0, (uint64_t)*ret + 1);
}

/* roctx: the name is the function's, what the program said is {"message": ...} beside it. */
static int tell_range(struct rocpd *r, int64_t process, struct str name, struct str extra,
		      int64_t begin, int64_t end)
{
	json_t *json = extra.n && extra.n < 1 << 20 ? json_loadb(extra.p, extra.n, 0, NULL) : NULL;
	const char *message = json_string_value(json_object_get(json, "message"));
	struct str said = message ? str_of(message) : name;
	int rc = said.p ? trace_range(r->t, process, said, begin, end) : 0;
	json_decref(json);
	return rc;
}

static int range(struct rocpd *r, struct session *s, sqlite3_stmt *q, int64_t row, struct err *err)
{
	int64_t begin = 0, end = 0, pid = 0, id = -1;
	enum region what;
	char table[160];
	struct str name;
	int rc = region_of(r, s, q, 4, &what, err);
	if (rc || what != REGION_MARKER)
		return rc;
	rocpd_table(s, ROCPD_REGION, table);
	enum cell a = cell_int(q, 0, &begin), b = cell_int(q, 1, &end);
	if (a == CELL_NULL || b == CELL_NULL)
		return 0; /* never closed */
	if (a == CELL_BAD || b == CELL_BAD || begin < 0 || end < 0 || begin > TRACE_TIME_MAX ||
	    end > TRACE_TIME_MAX || cell_int(q, 2, &pid) == CELL_BAD ||
	    cell_int(q, 3, &id) == CELL_BAD)
		return trace_db_bad(r->db, table, row,
				    "start, end, pid or name_id is no such number", err);
	struct str extra = { 0 };
	if (s->event && sqlite3_data_count(s->event) > 1)
		extra = cell_text(s->event, 1);
	if (!extra.n || (extra.n == 2 && extra.p[0] == '{'))
		extra = cell_text(q, 5);
	rc = rocpd_string(r, s, id, &name, err);
	return rc ? rc : tell_range(r, rocpd_process(s, pid), name, extra, begin, end);
}

static int ranges(struct rocpd *r, struct session *s, struct err *err)
{
	static const char *const columns[] = { "!start",   "!end",     "pid",
					       "!name_id", "event_id", "extdata" };
	sqlite3_stmt *q;
	int rc = rocpd_select(r, s, ROCPD_REGION, columns, 6, "", &q, err);
	for (int64_t row = 1; q && !rc; row++) {
		rc = trace_db_step(r->db, q, err);
		if (rc <= 0)
			break;
		if (s->event)
			(void)sqlite3_reset(s->event);
		rc = range(r, s, q, row, err);
	}
	(void)sqlite3_finalize(q);
	return rc;
}

static int call(struct rocpd *r, struct session *s, const struct trace_cursor *c, struct err *err)
{
	enum region what;
	int64_t pid = 0, id = -1;
	int rc = region_of(r, s, c->s, 4, &what, err);
	if (rc || what != REGION_CALL || !c->timed)
		return rc;
	if (cell_int(c->s, 2, &pid) == CELL_BAD || cell_int(c->s, 3, &id) == CELL_BAD)
		return trace_cursor_bad(r->db, c, "pid or name_id is not a whole number", err);
	uint64_t known = trace_map_get(&s->calls, id, 0);
	if (!known) {
		struct str text;
		rc = rocpd_string(r, s, id, &text, err);
		known = sync_call(CALL_HIP, text) ? 2 : 1;
		if (!rc)
			rc = trace_map_put(&s->calls, id, 0, known);
	}
	return rc ? rc : trace_call(r->t, rocpd_process(s, pid), c->start, c->end, known == 2);
}

/* ---- all of it ------------------------------------------------------------------------------ */

static int row(void *arg, const struct trace_cursor *c, struct err *err)
{
	struct rocpd *r = arg;
	struct session *s = &r->sessions[c->kind / KINDS];
	switch (c->kind % KINDS) {
	case KERNELS:
		return kernel(r, s, c, err);
	case COPIES:
		return copy(r, s, c, err);
	default:
		return call(r, s, c, err);
	}
}

static const char *const columns[KINDS][7] = {
	[KERNELS] = { "!start", "!end", "pid", "!agent_id", "!kernel_id" },
	[COPIES] = { "!start", "!end", "pid", "name_id", "dst_agent_id", "src_agent_id", "size" },
	[CALLS] = { "!start", "!end", "pid", "!name_id", "event_id" },
};
static const size_t n_columns[KINDS] = { [KERNELS] = 5, [COPIES] = 7, [CALLS] = 5 };

/* Tables are always there: an empty one says nothing of whether there was anything to see. */
static int observe(struct rocpd *r, bool seen[KINDS], struct err *err)
{
	unsigned bits = 0;
	bool calls = false;
	for (size_t i = 0; i < r->n_sessions; i++) {
		struct session *s = &r->sessions[i];
		for (int k = 0; k < KINDS; k++) {
			sqlite3_stmt *q;
			int rc = trace_db_select(r->db, &q, s->tables[k], columns[k], n_columns[k],
						 k == CALLS ? "" : "limit 1", err);
			while (q && !s->seen[k] && (rc = trace_db_step(r->db, q, err)) > 0) {
				enum region what = REGION_CALL;
				rc = k == CALLS ? region_of(r, s, q, 4, &what, err) : 0;
				if (rc)
					break;
				s->seen[k] = what == REGION_CALL && (k != CALLS || s->event);
			}
			(void)sqlite3_finalize(q);
			if (rc < 0)
				return rc;
			seen[k] |= s->seen[k];
		}
	}
	bits |= seen[KERNELS] ? ROC_KERNELS : 0;
	bits |= seen[COPIES] ? ROC_COPIES : 0;
	calls = seen[CALLS];
	int rc = bits ? trace_observes(r->t, bits)
		      : trace_note(r->t,
				   "the file has no kernel and no copy, and does not say whether "
				   "they were traced");
	if (!rc && calls)
		rc = trace_calls_seen(r->t);
	return rc;
}

static int operations(struct rocpd *r, enum trace_pass pass, struct err *err)
{
	size_t n = r->n_sessions * KINDS;
	r->cursors = calloc(n ? n : 1, sizeof *r->cursors);
	if (!r->cursors)
		return -ENOMEM;
	for (size_t i = 0; i < r->n_sessions; i++)
		for (size_t a = 0; a < r->sessions[i].n_agents; a++) {
			uint32_t device;
			struct agent *agent = &r->sessions[i].agents[a];
			int rc = agent->type == ROC_GPU ? rocpd_device(r, agent, &device) : 0;
			if (rc)
				return rc;
		}
	for (size_t i = 0; i < n; i++) {
		struct trace_cursor *c = &r->cursors[i];
		*c = (struct trace_cursor){ .kind = (int)i,
					    .table = r->sessions[i / KINDS].tables[i % KINDS] };
		int rc = trace_cursor_open(r->db, c, columns[i % KINDS], n_columns[i % KINDS],
					   pass == TRACE_ORDERED, err);
		if (rc)
			return rc;
	}
	return trace_cursor_merge(r->db, r->cursors, n, row, r, err);
}

static int read_all(struct rocpd *r, enum trace_pass pass, struct err *err)
{
	bool seen[KINDS] = { false };
	int rc = rocpd_open(r, pass, err);
	if (rc || pass != TRACE_RANGES)
		return rc ? rc : operations(r, pass, err);
	rc = observe(r, seen, err);
	if (!rc)
		rc = trace_runtime(r->t, "hip");
	if (!rc)
		rc = trace_env_tell(&r->env, r->t);
	for (size_t i = 0; i < r->n_sessions && !rc; i++)
		rc = ranges(r, &r->sessions[i], err);
	return rc;
}

int rocpd_read(struct trace_db *db, enum trace_pass pass, struct trace_sink *t, struct err *err)
{
	struct rocpd r = { .db = db, .t = t };
	int rc = read_all(&r, pass, err);
	rocpd_close(&r);
	if (rc == -ENOMEM)
		(void)err_set(err, rc, "out of memory");
	return rc;
}
