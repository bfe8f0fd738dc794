/* Nsight Systems: who ran, on what, and what was recorded. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "import/trace_env.h"
#include "import/trace_nsys_impl.h"

static void keep(char to[NSYS_TEXT], struct str text)
{
	size_t n = text.n < NSYS_TEXT - 1 ? text.n : NSYS_TEXT - 1;
	while (n && n < text.n && ((unsigned char)text.p[n] & 0xc0) == 0x80)
		n--; /* no half of a character */
	if (n)
		memcpy(to, text.p, n);
	to[n] = '\0';
}

static bool is(struct str text, const char *word)
{
	return text.p && text.n == strlen(word) && memcmp(text.p, word, text.n) == 0;
}

static bool ends(struct str text, const char *word)
{
	size_t n = strlen(word);
	return text.p && text.n >= n && memcmp(text.p + text.n - n, word, n) == 0;
}

/* ---- what was recorded ---------------------------------------------------------------------- */

struct capture {
	bool cuda, told;
	struct trace_env env;
	char version[NSYS_TEXT];
};

static void take_pair(struct nsys *n, struct capture *c, struct str name, struct str value)
{
	if (is(name, "CAPTURE_EVENT_TYPE")) {
		c->told = true;
		c->cuda |= is(value, "Cuda");
	} else if (is(name, "HasCudaEvents")) {
		c->told = true;
		c->cuda |= is(value, "1");
	} else if (is(name, "Hostname"))
		keep(n->host, value);
	else if (is(name, "EXPORT_PRODUCT_VERSION"))
		keep(c->version, value);
	else if (is(name, "DeviceEnvironment") && value.p)
		trace_env_pairs(&c->env, value);
	else if (ends(name, ":ENVIRONMENT_VARIABLE") && value.p)
		trace_env_pair(&c->env, value);
}

static int read_pairs(struct nsys *n, const char *table, struct capture *c, struct err *err)
{
	static const char *const columns[] = { "name", "value" };
	sqlite3_stmt *s;
	int rc = trace_db_select(&n->db, &s, table, columns, 2, "", err);
	while (s && (rc = trace_db_step(&n->db, s, err)) > 0)
		take_pair(n, c, cell_text(s, 0), cell_text(s, 1));
	(void)sqlite3_finalize(s);
	return rc;
}

/* 0: not there, 1: there and empty, 2: has rows. */
static int filled(struct nsys *n, const char *table, struct err *err)
{
	sqlite3_stmt *s;
	int rc = trace_db_select(&n->db, &s, table, (const char *const[]){ "start" }, 1, "limit 1",
				 err);
	if (rc || !s)
		return rc;
	rc = trace_db_step(&n->db, s, err);
	(void)sqlite3_finalize(s);
	return rc < 0 ? rc : 1 + rc;
}

/* Tables come with their first row: one that is not there is 0 operations where CUDA was traced,
 * and not known where nothing says that it was. */
static int observe(struct nsys *n, const struct capture *c, struct err *err)
{
	static const char *const tables[] = { NSYS_KERNEL, NSYS_MEMCPY, NSYS_MEMSET, NSYS_RUNTIME,
					      NSYS_GRAPH };
	static const unsigned seen[] = { 1u << COMPUTE | 1u << COLLECTIVE,
					 1u << COPY_H2D | 1u << COPY_D2H | 1u << COPY_D2D |
						 1u << COPY_OTHER,
					 1u << FILL };
	int have[5];
	bool any = false;
	for (size_t i = 0; i < 5; i++) {
		have[i] = filled(n, tables[i], err);
		if (have[i] < 0)
			return have[i];
		any |= have[i] == 2;
	}
	unsigned bits = 0;
	for (size_t i = 0; i < 3; i++)
		if (c->cuda || have[i] == 2 || (have[i] == 1 && any))
			bits |= seen[i];
	int rc = bits ? trace_observes(n->t, bits) : 0;
	if (!rc && !bits)
		rc = trace_note(
			n->t, c->told ? "CUDA was not traced: nothing is known of the devices"
				      : "nothing in the file says that CUDA was traced, and it has "
					"no device operation");
	if (!rc && (have[3] == 2 || (have[3] == 1 && (any || c->cuda))))
		rc = trace_calls_seen(n->t);
	return rc;
}

/* The profiler's own doubts. Its texts may hold paths and more: they are not repeated. */
static int diagnostics(struct nsys *n, struct err *err)
{
	static const char *const columns[] = { "!text" };
	sqlite3_stmt *s;
	bool lost = false;
	int rc = trace_db_has(&n->db, "DIAGNOSTIC_EVENT", err);
	if (rc <= 0)
		return rc;
	rc = trace_db_select(&n->db, &s, "DIAGNOSTIC_EVENT", columns, 1, "", err);
	while (s && (rc = trace_db_step(&n->db, s, err)) > 0) {
		struct str text = cell_text(s, 0);
		static const char *const words[] = { "lost", "dropped", "Not all CUDA" };
		for (size_t i = 0; i < 3 && text.p && !lost; i++)
			lost = memmem(text.p, text.n, words[i], strlen(words[i])) != NULL;
	}
	(void)sqlite3_finalize(s);
	if (!rc && lost)
		rc = trace_note(n->t,
				"Nsight Systems says that it lost events: see its diagnostics");
	return rc;
}

static int session_start(struct nsys *n, struct err *err)
{
	static const char *const columns[] = { "utcEpochNs" };
	sqlite3_stmt *s;
	int64_t epoch;
	int rc = trace_db_select(&n->db, &s, "TARGET_INFO_SESSION_START_TIME", columns, 1,
				 "limit 1", err);
	if (s && (rc = trace_db_step(&n->db, s, err)) > 0)
		rc = cell_int(s, 0, &epoch) == CELL_IS ? trace_epoch(n->t, epoch) : 0;
	(void)sqlite3_finalize(s);
	return rc;
}

static int versions(struct nsys *n, enum trace_pass pass, struct err *err)
{
	struct capture c = { 0 };
	static const char *const tables[] = { "META_DATA_CAPTURE", "META_DATA_EXPORT",
					      "EXPORT_META_DATA", "TARGET_INFO_SYSTEM_ENV" };
	for (size_t i = 0; i < 4; i++) {
		int rc = read_pairs(n, tables[i], &c, err);
		if (rc)
			return rc;
	}
	if (pass != TRACE_RANGES)
		return 0;
	int rc = observe(n, &c, err);
	if (!rc)
		rc = trace_runtime(n->t, "cuda");
	if (!rc)
		rc = trace_env_tell(&c.env, n->t);
	if (!rc)
		rc = session_start(n, err);
	if (!rc)
		rc = diagnostics(n, err);
	return rc;
}

/* ---- processes ------------------------------------------------------------------------------ */

static int tell_process(struct nsys *n, int64_t process, const char *exe)
{
	char pid[24];
	(void)snprintf(pid, sizeof pid, "%lld", (long long)(process & 0xffffff));
	int rc = trace_process(n->t, process, n->host[0] ? n->host : NULL, process ? pid : NULL,
			       NULL, exe);
	if (!rc)
		rc = trace_map_put(&n->processes, process, 0, 1);
	return rc;
}

int nsys_seen(struct nsys *n, int64_t process)
{
	return trace_map_get(&n->processes, process, 0) ? 0 : tell_process(n, process, NULL);
}

static int processes(struct nsys *n, struct err *err)
{
	static const char *const columns[] = { "!globalPid", "name" };
	int rc = trace_db_has(&n->db, "PROCESSES", err);
	if (rc <= 0)
		return rc;
	sqlite3_stmt *s;
	rc = trace_db_select(&n->db, &s, "PROCESSES", columns, 2, "limit 100000", err);
	while (s && (rc = trace_db_step(&n->db, s, err)) > 0) {
		int64_t global;
		if (cell_int(s, 0, &global) != CELL_IS)
			continue;
		char exe[NSYS_TEXT];
		struct str name = cell_text(s, 1);
		keep(exe, name);
		n->only = n->processes.n ? 0 : nsys_process(global);
		if (n->one)
			continue; /* what they did can't be told apart */
		rc = tell_process(n, nsys_process(global), name.n ? exe : NULL);
		if (rc)
			break;
	}
	(void)sqlite3_finalize(s);
	return rc;
}

/* ---- devices -------------------------------------------------------------------------------- */

/* An identity that two of them share is none: files are made anonymous. */
static void distinct(struct nsys *n)
{
	for (size_t i = 0; i < n->n_gpus; i++)
		for (size_t k = 0; k < i; k++) {
			struct nsys_gpu *a = &n->gpus[i], *b = &n->gpus[k];
			if (strcmp(a->uuid, b->uuid) == 0)
				a->uuid[0] = '\0';
			if (strcmp(a->bus, b->bus) == 0)
				a->bus[0] = '\0';
		}
}

static int gpus(struct nsys *n, struct err *err)
{
	static const char *const columns[] = { "!id|deviceId|gpuId", "name", "uuid", "busLocation",
					       "cuDevice" };
	sqlite3_stmt *s;
	int rc = trace_db_select(&n->db, &s, "TARGET_INFO_GPU", columns, 5, "", err);
	while (s && (rc = trace_db_step(&n->db, s, err)) > 0 && n->n_gpus < NSYS_GPUS) {
		struct nsys_gpu *g = &n->gpus[n->n_gpus];
		if (cell_int(s, 0, &g->id) != CELL_IS)
			continue;
		keep(g->name, cell_text(s, 1));
		keep(g->uuid, cell_text(s, 2));
		keep(g->bus, cell_text(s, 3));
		if (cell_int(s, 4, &g->ordinal) != CELL_IS)
			g->ordinal = -1;
		n->n_gpus++;
	}
	(void)sqlite3_finalize(s);
	if (rc >= 0)
		distinct(n);
	return rc < 0 ? rc : 0;
}

static size_t gpu_of_id(struct nsys *n, int64_t id)
{
	size_t i = 0;
	while (i < n->n_gpus && n->gpus[i].id != id)
		i++;
	if (i == n->n_gpus && i < NSYS_GPUS) { /* the table of GPUs is not there */
		n->gpus[i] = (struct nsys_gpu){ .id = id, .ordinal = -1 };
		n->n_gpus++;
	}
	return i;
}

static int places(struct nsys *n, struct err *err)
{
	static const char *const columns[] = { "!gpuId", "!cudaId", "pid", "uuid" };
	int rc = trace_db_has(&n->db, "TARGET_INFO_CUDA_DEVICE", err);
	if (rc <= 0)
		return rc;
	sqlite3_stmt *s;
	rc = trace_db_select(&n->db, &s, "TARGET_INFO_CUDA_DEVICE", columns, 4, "", err);
	while (s && (rc = trace_db_step(&n->db, s, err)) > 0 && n->n_places < NSYS_GPUS) {
		struct nsys_place *p = &n->places[n->n_places];
		int64_t id;
		if (cell_int(s, 0, &id) != CELL_IS || cell_int(s, 1, &p->ordinal) != CELL_IS)
			continue;
		if (cell_int(s, 2, &p->pid) != CELL_IS)
			p->pid = 0;
		p->gpu = gpu_of_id(n, id);
		if (p->gpu == NSYS_GPUS)
			continue;
		if (!n->gpus[p->gpu].uuid[0])
			keep(n->gpus[p->gpu].uuid, cell_text(s, 3));
		n->n_places++;
	}
	(void)sqlite3_finalize(s);
	if (rc >= 0)
		distinct(n);
	return rc < 0 ? rc : 0;
}

/* Do all processes call each GPU by the same number, and no other by it? Then that is its name. */
static bool same_for_all(const struct nsys *n)
{
	for (size_t i = 0; i < n->n_places; i++)
		for (size_t k = 0; k < i; k++)
			if ((n->places[i].gpu == n->places[k].gpu) !=
			    (n->places[i].ordinal == n->places[k].ordinal))
				return false;
	return true;
}

/* Number and model, so that two of a kind are two for people; the identity is the same in all
 * processes of the machine. */
static int tell_gpu(struct nsys *n, struct nsys_gpu *g, int64_t ordinal, uint32_t *ret)
{
	char name[NSYS_TEXT + 32], id[NSYS_TEXT + 32];
	(void)snprintf(name, sizeof name, "%lld%s%s", (long long)(n->by_ordinal ? ordinal : g->id),
		       g->name[0] ? " " : "", g->name);
	if (g->uuid[0])
		(void)snprintf(id, sizeof id, "%s", g->uuid);
	else
		(void)snprintf(id, sizeof id, "gpu%lld", (long long)g->id);
	int rc = g->known ? 0 : trace_device(n->t, name, id, &g->number);
	g->known = !rc;
	*ret = g->number;
	return rc;
}

static struct nsys_gpu *find_gpu(struct nsys *n, int64_t process, int64_t ordinal)
{
	for (size_t i = 0; i < n->n_places; i++)
		if (n->places[i].ordinal == ordinal &&
		    (!n->places[i].pid || n->places[i].pid == (process & 0xffffff)))
			return &n->gpus[n->places[i].gpu];
	if (n->n_places)
		return NULL;
	for (size_t i = 0; i < n->n_gpus; i++)
		if (n->gpus[i].ordinal == ordinal)
			return &n->gpus[i];
	for (size_t i = 0; i < n->n_gpus; i++)
		if (n->gpus[i].ordinal < 0 && n->gpus[i].id == ordinal)
			return &n->gpus[i];
	return NULL;
}

/* Without the table of places, device 0 of two processes is taken for one GPU: say so. */
static int same_ordinal(struct nsys *n, int64_t process, int64_t ordinal)
{
	uint64_t user = trace_map_get(&n->ordinals, ordinal, 0);
	if (!user)
		return trace_map_put(&n->ordinals, ordinal, 0, (uint64_t)process + 2);
	if (user == (uint64_t)process + 2 || n->shared_ordinal)
		return 0;
	n->shared_ordinal = true;
	return trace_note(
		n->t,
		"several processes used a device %lld, and the file does not say whether it "
		"is the same: it is taken for one",
		(long long)ordinal);
}

int nsys_device(struct nsys *n, int64_t process, int64_t ordinal, uint32_t *ret)
{
	struct nsys_gpu *g = find_gpu(n, process, ordinal);
	int rc = n->n_places && g ? 0 : same_ordinal(n, process, ordinal);
	if (!rc && g)
		rc = tell_gpu(n, g, ordinal, ret);
	else if (!rc) {
		char name[32], id[32];
		(void)snprintf(name, sizeof name, "%lld", (long long)ordinal);
		(void)snprintf(id, sizeof id, "cuda%lld", (long long)ordinal);
		rc = trace_device(n->t, name, id, ret);
	}
	return rc ? rc : trace_map_put(&n->devices, process, ordinal, (uint64_t)*ret + 1);
}

/* ---- all of it ------------------------------------------------------------------------------ */

/* Is there a column that says whose the rows are? */
static int says_process(struct nsys *n, const char *table, bool *ret, struct err *err)
{
	sqlite3_stmt *s;
	int rc = filled(n, table, err);
	if (rc < 2)
		return rc < 0 ? rc : 0;
	rc = trace_db_select(&n->db, &s, table, (const char *const[]){ "!globalPid" }, 1, "limit 1",
			     NULL);
	(void)sqlite3_finalize(s);
	if (rc)
		*ret = false;
	return rc == -EINVAL ? 0 : rc;
}

static int is_export(struct nsys *n, struct err *err)
{
	static const char *const tables[] = { "StringIds",   "META_DATA_EXPORT", "EXPORT_META_DATA",
					      "NVTX_EVENTS", NSYS_KERNEL,        NSYS_MEMCPY,
					      NSYS_MEMSET,   NSYS_RUNTIME,       NSYS_GRAPH };
	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
		int rc = trace_db_has(&n->db, tables[i], err);
		if (rc)
			return rc < 0 ? rc : 0;
	}
	return err_set(err, -EINVAL,
		       "%s: an SQLite database, but not of Nsight Systems: it has none of its "
		       "tables; make "
		       "one with: nsys export --type sqlite",
		       n->db.path);
}

int nsys_info(struct nsys *n, enum trace_pass pass, struct err *err)
{
	bool says = true;
	int rc = is_export(n, err);
	if (!rc)
		rc = versions(n, pass, err);
	static const char *const tables[] = { NSYS_KERNEL, NSYS_MEMCPY, NSYS_MEMSET };
	for (size_t i = 0; i < 3 && !rc; i++)
		rc = says_process(n, tables[i], &says, err);
	n->one = !says;
	if (!rc)
		rc = processes(n, err);
	if (!rc)
		rc = gpus(n, err);
	if (!rc)
		rc = places(n, err);
	n->by_ordinal = same_for_all(n);
	/* Those that a process could use: the machine may have more, which say nothing of this
	 * program. */
	for (size_t i = 0; i < n->n_places && !rc && pass != TRACE_RANGES; i++) {
		uint32_t number;
		rc = tell_gpu(n, &n->gpus[n->places[i].gpu], n->places[i].ordinal, &number);
	}
	return rc;
}

int nsys_string(struct nsys *n, int64_t id, struct str *ret, struct err *err)
{
	*ret = (struct str){ 0 };
	if (!n->string)
		return 0;
	(void)sqlite3_reset(n->string);
	(void)sqlite3_bind_int64(n->string, 1, id);
	int rc = trace_db_step(&n->db, n->string, err);
	if (rc > 0)
		*ret = cell_text(n->string, 0);
	return rc < 0 ? rc : 0;
}
