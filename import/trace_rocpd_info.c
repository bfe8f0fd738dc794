/* rocprofv3's database: its sessions, processes and agents. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/trace_rocpd_impl.h"

#define SESSIONS 256

static void keep(char *to, size_t cap, struct str text)
{
	size_t n = text.n < cap - 1 ? text.n : cap - 1;
	while (n && n < text.n && ((unsigned char)text.p[n] & 0xc0) == 0x80)
		n--; /* no half of a character */
	if (n)
		memcpy(to, text.p, n);
	to[n] = '\0';
}

void rocpd_table(const struct session *s, const char *table, char ret[160])
{
	(void)snprintf(ret, 160, "%.30s%.127s", table, s->suffix);
}

int rocpd_select(struct rocpd *r, const struct session *s, const char *table,
		 const char *const *columns, size_t n, const char *tail, sqlite3_stmt **ret,
		 struct err *err)
{
	char name[160];
	rocpd_table(s, table, name);
	return trace_db_select(r->db, ret, name, columns, n, tail, err);
}

/* ---- text by number ------------------------------------------------------------------------- */

int rocpd_by_id(struct rocpd *r, sqlite3_stmt *s, int64_t id, struct err *err)
{
	if (!s)
		return 0;
	(void)sqlite3_reset(s);
	(void)sqlite3_bind_int64(s, 1, id);
	return trace_db_step(r->db, s, err);
}

int rocpd_string(struct rocpd *r, struct session *s, int64_t id, struct str *ret, struct err *err)
{
	*ret = (struct str){ 0 };
	int rc = rocpd_by_id(r, s->string, id, err);
	if (rc > 0)
		*ret = cell_text(s->string, 0);
	return rc < 0 ? rc : 0;
}

/* ---- who and where -------------------------------------------------------------------------- */

static uint64_t hash(uint64_t sum, struct str text)
{
	for (size_t i = 0; i < text.n; i++)
		sum = (sum ^ (unsigned char)text.p[i]) * 0x100000001b3u;
	return sum;
}

static int read_nodes(struct rocpd *r, struct session *s, struct err *err)
{
	static const char *const columns[] = { "!id", "hostname", "machine_id" };
	sqlite3_stmt *q;
	int rc = rocpd_select(r, s, "rocpd_info_node", columns, 3, "limit 65536", &q, err);
	while (q && (rc = trace_db_step(r->db, q, err)) > 0) {
		if (s->n_nodes == s->cap_nodes) {
			size_t cap = s->cap_nodes ? 2 * s->cap_nodes : 4;
			struct node *more = realloc(s->nodes, cap * sizeof *more);
			if (!more) {
				rc = -ENOMEM;
				break;
			}
			s->nodes = more;
			s->cap_nodes = cap;
		}
		struct node *n = &s->nodes[s->n_nodes];
		if (cell_int(q, 0, &n->id) != CELL_IS)
			continue;
		keep(n->host, sizeof n->host, cell_text(q, 1));
		n->machine = hash(0xcbf29ce484222325u, str_of(n->host));
		n->machine = hash(n->machine * 0x100000001b3u, cell_text(q, 2));
		s->n_nodes++;
	}
	(void)sqlite3_finalize(q);
	return rc;
}

static const struct node *node_of(const struct session *s, int64_t id)
{
	for (size_t i = 0; i < s->n_nodes; i++)
		if (s->nodes[i].id == id)
			return &s->nodes[i];
	return NULL;
}

static uint64_t machine_of(const struct session *s, int64_t id)
{
	const struct node *n = node_of(s, id);
	return n ? (n->machine ^ n->machine >> 32) & 0xffffffff : (uint64_t)id;
}

static void name_agent(const struct session *s, struct agent *a, sqlite3_stmt *q)
{
	int64_t place, index, node = 0;
	char text[ROCPD_TEXT];
	struct str model = cell_text(q, 2);
	keep(text, sizeof text, model.n ? model : cell_text(q, 6));
	if (cell_int(q, 3, &index) != CELL_IS)
		index = a->id;
	(void)cell_int(q, 5, &node);
	(void)snprintf(a->name, sizeof a->name, "%lld%s%s", (long long)index, text[0] ? " " : "",
		       text);
	bool placed = cell_int(q, 4, &place) == CELL_IS;
	(void)snprintf(a->key, sizeof a->key, "node%llx %s%lld",
		       (unsigned long long)machine_of(s, node), placed ? "agent" : "id",
		       (long long)(placed ? place : a->id));
}

static int read_agents(struct rocpd *r, struct session *s, struct err *err)
{
	static const char *const columns[] = {
		"!id", "!type", "product_name|model_name|name", "type_index", "absolute_index",
		"nid", "name"
	};
	sqlite3_stmt *q;
	int rc = rocpd_select(r, s, "rocpd_info_agent", columns, 7, "limit 65536", &q, err);
	while (q && (rc = trace_db_step(r->db, q, err)) > 0) {
		if (s->n_agents == s->cap_agents) {
			size_t cap = s->cap_agents ? 2 * s->cap_agents : 16;
			struct agent *more = realloc(s->agents, cap * sizeof *more);
			if (!more) {
				rc = -ENOMEM;
				break;
			}
			s->agents = more;
			s->cap_agents = cap;
		}
		struct agent *a = &s->agents[s->n_agents];
		*a = (struct agent){ 0 };
		if (cell_int(q, 0, &a->id) != CELL_IS)
			continue;
		struct str type = cell_text(q, 1);
		a->type = type.n == 3 && memcmp(type.p, "GPU", 3) == 0   ? ROC_GPU
			  : type.n == 3 && memcmp(type.p, "CPU", 3) == 0 ? ROC_CPU
									 : ROC_UNKNOWN;
		name_agent(s, a, q);
		s->n_agents++;
	}
	(void)sqlite3_finalize(q);
	return rc;
}

static int tell_process(struct rocpd *r, struct session *s, sqlite3_stmt *q, bool tell)
{
	struct process p = { 0 };
	int64_t pid = 0, node = 0;
	char text[24], exe[ROCPD_TEXT];
	if (cell_int(q, 0, &p.id) != CELL_IS || cell_int(q, 1, &pid) != CELL_IS)
		return 0;
	(void)cell_int(q, 2, &node);
	if (s->n_processes == s->cap_processes) {
		size_t cap = s->cap_processes ? 2 * s->cap_processes : 16;
		struct process *more = realloc(s->processes, cap * sizeof *more);
		if (!more)
			return -ENOMEM;
		s->processes = more;
		s->cap_processes = cap;
	}
	const struct node *on = node_of(s, node);
	p.number = (int64_t)(machine_of(s, node) << 32 ^ (uint64_t)pid);
	s->processes[s->n_processes++] = p;
	trace_env_json(&r->env, cell_text(q, 4));
	if (!tell)
		return 0;
	/* The program without its arguments, which may be anything. */
	struct str command = cell_text(q, 3);
	size_t n = 0;
	while (n < command.n && command.p[n] != ' ')
		n++;
	keep(exe, sizeof exe, (struct str){ command.p, n });
	(void)snprintf(text, sizeof text, "%lld", (long long)pid);
	return trace_process(r->t, p.number, on && on->host[0] ? on->host : NULL, text, NULL,
			     exe[0] ? exe : NULL);
}

static int read_processes(struct rocpd *r, struct session *s, bool tell, struct err *err)
{
	static const char *const columns[] = { "!id", "!pid", "nid", "command", "environment" };
	sqlite3_stmt *q;
	int rc = rocpd_select(r, s, "rocpd_info_process", columns, 5, "limit 1000000", &q, err);
	while (q && (rc = trace_db_step(r->db, q, err)) > 0) {
		rc = tell_process(r, s, q, tell);
		if (rc)
			break;
	}
	(void)sqlite3_finalize(q);
	return rc;
}

int64_t rocpd_process(const struct session *s, int64_t id)
{
	for (size_t i = 0; i < s->n_processes; i++)
		if (s->processes[i].id == id)
			return s->processes[i].number;
	return id;
}

int rocpd_device(struct rocpd *r, struct agent *a, uint32_t *ret)
{
	int rc = a->told ? 0 : trace_device(r->t, a->name, a->key, &a->number);
	a->told = !rc;
	*ret = a->number;
	return rc;
}

struct agent *rocpd_agent(struct session *s, int64_t id)
{
	for (size_t i = 0; i < s->n_agents; i++)
		if (s->agents[i].id == id)
			return &s->agents[i];
	return NULL;
}

/* ---- sessions ------------------------------------------------------------------------------- */

static int statement(struct rocpd *r, struct session *s, const char *table,
		     const char *const *columns, size_t n, sqlite3_stmt **ret, struct err *err)
{
	return rocpd_select(r, s, table, columns, n, "where id = ?1", ret, err);
}

static int open_session(struct rocpd *r, struct session *s, enum trace_pass pass, struct err *err)
{
	static const char *const string[] = { "!string", "!id" };
	static const char *const symbol[] = { "display_name|kernel_name", "kernel_name", "!id" };
	static const char *const event[] = { "category_id", "extdata", "!id" };
	static const char *const tables[] = { ROCPD_DISPATCH, ROCPD_COPY, ROCPD_REGION };
	for (size_t k = 0; k < KINDS; k++)
		rocpd_table(s, tables[k], s->tables[k]);
	int rc = statement(r, s, "rocpd_string", string, 2, &s->string, err);
	if (!rc)
		rc = statement(r, s, "rocpd_info_kernel_symbol", symbol, 3, &s->symbol, err);
	if (!rc)
		rc = statement(r, s, "rocpd_event", event, 3, &s->event, err);
	if (!rc)
		rc = read_nodes(r, s, err);
	if (!rc)
		rc = read_agents(r, s, err);
	return rc ? rc : read_processes(r, s, pass == TRACE_RANGES, err);
}

static int add_session(struct rocpd *r, const char *suffix, struct err *err)
{
	for (size_t i = 0; i < r->n_sessions; i++)
		if (strcmp(r->sessions[i].suffix, suffix) == 0)
			return 0;
	if (strlen(suffix) >= sizeof r->sessions->suffix)
		return 0; /* none of rocprofv3's */
	if (r->n_sessions == SESSIONS)
		return err_set(err, -EINVAL,
			       "%s: over %d sessions in one file; import them one by one",
			       r->db->path, SESSIONS);
	struct session *more = realloc(r->sessions, (r->n_sessions + 1) * sizeof *more);
	if (!more)
		return -ENOMEM;
	r->sessions = more;
	more[r->n_sessions] = (struct session){ 0 };
	memcpy(more[r->n_sessions++].suffix, suffix, strlen(suffix) + 1);
	return 0;
}

static int find_sessions(struct rocpd *r, struct err *err)
{
	static const char *const tables[] = { ROCPD_DISPATCH, ROCPD_COPY, ROCPD_REGION };
	for (size_t k = 0; k < KINDS; k++) {
		char name[256], after[256] = "";
		for (;;) {
			int rc =
				trace_db_next(r->db, tables[k], after[0] ? after : NULL, name, err);
			if (!rc && name[0])
				rc = add_session(r, name + strlen(tables[k]), err);
			if (rc)
				return rc;
			if (!name[0])
				break;
			memcpy(after, name, sizeof after);
		}
	}
	return 0;
}

int rocpd_is(struct trace_db *db, struct err *err)
{
	static const char *const tables[] = { ROCPD_DISPATCH, ROCPD_COPY, "rocpd_info_agent" };
	for (size_t k = 0; k < 3; k++) {
		char name[256];
		int rc = trace_db_next(db, tables[k], NULL, name, err);
		if (rc || name[0])
			return rc ? rc : 1;
	}
	return 0;
}

static void session_done(struct session *s)
{
	(void)sqlite3_finalize(s->string);
	(void)sqlite3_finalize(s->symbol);
	(void)sqlite3_finalize(s->event);
	trace_map_done(&s->kernels);
	trace_map_done(&s->copies);
	trace_map_done(&s->calls);
	trace_map_done(&s->categories);
	free(s->nodes);
	free(s->agents);
	free(s->processes);
}

void rocpd_close(struct rocpd *r)
{
	for (size_t i = 0; r->cursors && i < r->n_sessions * KINDS; i++)
		trace_cursor_close(&r->cursors[i]);
	free(r->cursors);
	for (size_t i = 0; i < r->n_sessions; i++)
		session_done(&r->sessions[i]);
	free(r->sessions);
}

int rocpd_open(struct rocpd *r, enum trace_pass pass, struct err *err)
{
	int rc = find_sessions(r, err);
	for (size_t i = 0; i < r->n_sessions && !rc; i++)
		rc = open_session(r, &r->sessions[i], pass, err);
	return rc;
}
