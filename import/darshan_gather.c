/* Pass after pass over a log's regions: MPI-IO first, since it tells of which files POSIX's calls may be
 * its own. */
#define _GNU_SOURCE
#include "import/darshan_gather.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const enum darshan_module modules[DARSHAN_SOURCES] = {
	[FROM_POSIX] = DARSHAN_POSIX, [FROM_MPIIO] = DARSHAN_MPIIO, [FROM_STDIO] = DARSHAN_STDIO
};

/* ---- files --------------------------------------------------------------------------------------
 */

static size_t slot_of(const struct darshan_gathered *g, uint64_t id)
{
	size_t i = (size_t)((id ^ id >> 29) * 0x9e3779b97f4a7c15u >> 20);
	for (;; i++) {
		i &= g->n_slots - 1;
		if (!g->slots[i] || g->files[g->slots[i] - 1].id == id)
			return i;
	}
}

struct darshan_file *darshan_file_found(const struct darshan_gathered *g, uint64_t id)
{
	uint32_t slot = g->n_slots ? g->slots[slot_of(g, id)] : 0;
	return slot ? &g->files[slot - 1] : NULL;
}

/* *ret NULL: no room for more; it is in the sums only. */
static int file_of(struct darshan_gathered *g, uint64_t id, struct darshan_file **ret)
{
	*ret = darshan_file_found(g, id);
	if (*ret || g->n_files >= DARSHAN_FILES_KEPT)
		return 0;
	struct darshan_file *files = arena_grow(&g->arena, g->files, &g->cap_files, g->n_files + 1,
						sizeof *files);
	if (!files)
		return -ENOMEM;
	g->files = files;
	*ret = &files[g->n_files++];
	**ret = (struct darshan_file){ .id = id };
	g->slots[slot_of(g, id)] = (uint32_t)g->n_files;
	return 0;
}

static void add_rank(struct darshan_ranks *r, int64_t rank)
{
	uint64_t x = (uint64_t)rank + 0x9e3779b97f4a7c15u;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	if (rank < 0)
		r->all = true;
	r->n++;
	r->set += x ^ x >> 31;
}

static int add_to_file(struct darshan_gathered *g, int source, const struct darshan_record *rec)
{
	struct darshan_file *f;
	int rc = file_of(g, rec->id, &f);
	if (rc || !f)
		return rc;
	if (!f->of[source])
		f->of[source] = arena_alloc(&g->arena, sizeof *f->of[source]);
	if (!f->of[source])
		return -ENOMEM;
	darshan_total_add(f->of[source], modules[source], rec);
	add_rank(&f->ranks[source], rec->rank);
	return 0;
}

static bool impossible(int source, const struct darshan_record *rec)
{
	const struct darshan_counters *c = darshan_counters_of(modules[source]);
	for (size_t i = 0; i < c->n_times; i++)
		if (!isfinite(rec->times[i]) || (c->times[i].rule == SUM && rec->times[i] < 0))
			return true;
	return false;
}

static int add_record(struct darshan_gathered *g, int source, const struct darshan_record *rec)
{
	struct darshan_total *sums = source == FROM_MPIIO ? &g->mpiio : &g->stdio;
	if (source == FROM_POSIX)
		sums = darshan_ids_has(&g->mpiio_ids, rec->id) ? &g->posix_within : &g->posix_own;
	if (source == FROM_MPIIO && darshan_ids_add(&g->mpiio_ids, rec->id) < 0)
		return -ENOMEM;
	if (darshan_ids_add(&g->ids, rec->id) < 0)
		return -ENOMEM;
	g->impossible_times += impossible(source, rec);
	darshan_total_add(sums, modules[source], rec);
	return add_to_file(g, source, rec);
}

static int read_source(struct darshan_gathered *g, int source, struct err *err)
{
	struct darshan_records *records;
	struct darshan_record rec;
	int rc = darshan_records_open(&records, g->log, modules[source], err);
	if (rc)
		return rc;
	while ((rc = darshan_records_next(records, &rec, err)) == 1) {
		rc = add_record(g, source, &rec);
		if (rc) {
			rc = err_set(err, rc, "%s: out of memory, or more than 16 million files",
				     g->log->path);
			break;
		}
	}
	darshan_records_close(records);
	return rc;
}

/* ---- what is damaged ----------------------------------------------------------------------------
 */

/* What was taken of a module before it broke does not count: its place in it is no good measure. */
static void forget(struct darshan_gathered *g, enum darshan_module m)
{
	for (int source = 0; source < DARSHAN_SOURCES; source++)
		for (size_t i = 0; modules[source] == m && i < g->n_files; i++) {
			g->files[i].of[source] = NULL;
			g->files[i].ranks[source] = (struct darshan_ranks){ 0 };
		}
	if (m == DARSHAN_POSIX)
		g->posix_own = g->posix_within = (struct darshan_total){ 0 };
	else if (m == DARSHAN_MPIIO)
		g->mpiio = (struct darshan_total){ 0 };
	else if (m == DARSHAN_STDIO)
		g->stdio = (struct darshan_total){ 0 };
	else if (m == DARSHAN_LUSTRE)
		for (size_t i = 0; i < g->n_files; i++)
			g->files[i].has_stripes = false;
}

static int leave_out(struct darshan_gathered *g, enum darshan_module m, int rc, bool salvage,
		     struct err *err)
{
	if (!rc || rc == -ENOMEM || !salvage)
		return rc;
	g->lost[m] = true;
	g->n_damaged++;
	const char *text = err ? err->text : "";
	g->damage = g->damage ? arena_printf(&g->arena, "%s; %s", g->damage, text)
			      : arena_strdup(&g->arena, text);
	if (!g->damage)
		return err_set(err, -ENOMEM, "out of memory");
	forget(g, m);
	if (err)
		err->text[0] = '\0';
	return 0;
}

/* ---- names, stripes -----------------------------------------------------------------------------
 */

double darshan_file_bytes(const struct darshan_file *f)
{
	double sum = 0;
	const struct darshan_total *m = f->of[FROM_MPIIO], *p = f->of[FROM_POSIX],
				   *s = f->of[FROM_STDIO];
	if (m)
		sum += (double)m->whole[MPIIO_BYTES_READ] + (double)m->whole[MPIIO_BYTES_WRITTEN];
	else if (p)
		sum += (double)p->whole[POSIX_BYTES_READ] + (double)p->whole[POSIX_BYTES_WRITTEN];
	if (s)
		sum += (double)s->whole[STDIO_BYTES_READ] + (double)s->whole[STDIO_BYTES_WRITTEN];
	return sum;
}

static int by_bytes(const void *a, const void *b)
{
	const struct darshan_file *x = *(struct darshan_file *const *)a,
				  *y = *(struct darshan_file *const *)b;
	double p = darshan_file_bytes(x), q = darshan_file_bytes(y);
	if (p != q)
		return p < q ? 1 : -1;
	return (x->id > y->id) - (x->id < y->id);
}

static int list_files(struct darshan_gathered *g)
{
	g->listed = arena_array(&g->arena, g->n_files + 1, sizeof *g->listed);
	if (!g->listed)
		return -ENOMEM;
	for (size_t i = 0; i < g->n_files; i++) {
		const struct darshan_file *f = &g->files[i];
		if (f->of[FROM_POSIX] || f->of[FROM_MPIIO] || f->of[FROM_STDIO])
			g->listed[g->n_listed++] = &g->files[i];
	}
	qsort(g->listed, g->n_listed, sizeof *g->listed, by_bytes);
	if (g->n_listed > DARSHAN_FILES_LISTED)
		g->n_listed = DARSHAN_FILES_LISTED;
	return 0;
}

static int take_name(void *self, uint64_t id, const char *name, size_t n)
{
	static const char heatmap[] = "heatmap:";
	static const char *const heats[DARSHAN_SOURCES] = {
		[FROM_POSIX] = "POSIX", [FROM_MPIIO] = "MPIIO", [FROM_STDIO] = "STDIO"
	};
	struct darshan_gathered *g = self;
	if (strncmp(name, heatmap, sizeof heatmap - 1) == 0)
		for (int i = 0; i < DARSHAN_SOURCES; i++)
			if (strcmp(name + sizeof heatmap - 1, heats[i]) == 0) {
				g->heat_ids[i] = id;
				g->has_heat_id[i] = true;
			}
	struct darshan_file *f = darshan_file_found(g, id);
	if (!f || f->name)
		return 0;
	f->name = arena_strndup(&g->arena, name, n);
	return f->name ? 0 : -ENOMEM;
}

static int read_stripes(struct darshan_gathered *g, struct err *err)
{
	struct darshan_lustre *l;
	struct darshan_stripes stripes;
	int rc = darshan_lustre_open(&l, g->log, err);
	if (rc)
		return rc;
	while ((rc = darshan_lustre_next(l, &stripes, err)) == 1) {
		struct darshan_file *f = darshan_file_found(g, stripes.id);
		if (f) {
			f->has_stripes = true;
			f->stripes = stripes;
		}
	}
	darshan_lustre_close(l);
	return rc;
}

/* ---- all ----------------------------------------------------------------------------------------
 */

static int read_counters(struct darshan_gathered *g, bool salvage, struct err *err)
{
	static const int order[] = { FROM_MPIIO, FROM_STDIO, FROM_POSIX };
	int rc = 0;
	for (size_t i = 0; i < 3 && !rc; i++) {
		enum darshan_module m = modules[order[i]];
		if (darshan_has(g->log, m))
			rc = leave_out(g, m, read_source(g, order[i], err), salvage, err);
	}
	return rc;
}

/* Numbers of names are made of the names, so they stay where names were made unreadable. */
static void known_heat_ids(struct darshan_gathered *g)
{
	static const uint64_t ids[DARSHAN_SOURCES] = { [FROM_POSIX] = 16592106915301738621u,
						       [FROM_MPIIO] = 3668870418325792824u,
						       [FROM_STDIO] = 3989511027826779520u };
	for (int i = 0; i < DARSHAN_SOURCES; i++)
		if (!g->has_heat_id[i]) {
			g->heat_ids[i] = ids[i];
			g->has_heat_id[i] = true;
		}
}

static int read_names(struct darshan_gathered *g, bool salvage, struct err *err)
{
	int rc = darshan_names(g->log, take_name, g, err);
	known_heat_ids(g);
	if (rc == -ENOMEM)
		return err_set(err, rc, "out of memory");
	return leave_out(g, DARSHAN_NULL, rc, salvage, err);
}

/* Modules that are not read must at least be in the file. */
static int look_at_others(struct darshan_gathered *g, bool salvage, struct err *err)
{
	int rc = 0;
	for (unsigned m = 0; m < DARSHAN_MODULES && !rc; m++) {
		const struct darshan_region *region = &g->log->modules[m];
		const char *name = darshan_module_name(m);
		struct darshan_stream *s;
		if (!region->bytes || g->lost[m])
			continue;
		rc = darshan_stream_open(&s, g->log, region, name ? name : "without a name", err);
		if (!rc)
			darshan_stream_close(s);
		rc = leave_out(g, m, rc, salvage, err);
	}
	return rc;
}

int darshan_gather(struct darshan_gathered *g, struct darshan_log *log, bool salvage,
		   struct err *err)
{
	*g = (struct darshan_gathered){ .log = log, .n_slots = 2 * DARSHAN_FILES_KEPT };
	g->slots = calloc(g->n_slots, sizeof *g->slots);
	int rc = g->slots ? 0 : err_set(err, -ENOMEM, "out of memory");
	if (!rc)
		rc = read_counters(g, salvage, err);
	if (!rc && list_files(g))
		rc = err_set(err, -ENOMEM, "out of memory");
	if (!rc)
		rc = read_names(g, salvage, err);
	if (!rc && darshan_has(log, DARSHAN_LUSTRE))
		rc = leave_out(g, DARSHAN_LUSTRE, read_stripes(g, err), salvage, err);
	if (!rc && darshan_has(log, DARSHAN_HEATMAP))
		rc = leave_out(g, DARSHAN_HEATMAP, darshan_gather_heat(g, err), salvage, err);
	for (enum darshan_module m = DARSHAN_DXT_POSIX; m <= DARSHAN_DXT_MPIIO && !rc; m++)
		if (darshan_has(log, m))
			rc = leave_out(g, m, darshan_gather_dxt(g, m, err), salvage, err);
	if (!rc)
		rc = look_at_others(g, salvage, err);
	if (rc)
		darshan_gather_done(g);
	return rc;
}

void darshan_gather_done(struct darshan_gathered *g)
{
	darshan_series_done(g);
	free(g->slots);
	darshan_ids_done(&g->ids);
	darshan_ids_done(&g->mpiio_ids);
	arena_free(&g->arena);
	*g = (struct darshan_gathered){ 0 };
}
