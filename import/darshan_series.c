/* Bytes over time: of Darshan's heat maps, or of single accesses where there are no heat maps. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "import/darshan_gather.h"

#define BINS_WANTED 200
#define BINS_MAX ((size_t)1 << 20)
#define BINS_APART 1024 /* of each process by itself */

static int source_of(const struct darshan_gathered *g, uint64_t id)
{
	for (int i = 0; i < DARSHAN_SOURCES; i++)
		if (g->has_heat_id[i] && g->heat_ids[i] == id)
			return i;
	return -1;
}

static int make_room(struct darshan_series *s, double bin_s, size_t bins, struct err *err)
{
	s->read = calloc(bins + 1, sizeof *s->read);
	s->write = calloc(bins + 1, sizeof *s->write);
	s->bin_s = bin_s;
	s->bins = bins;
	return s->read && s->write ? 0 : err_set(err, -ENOMEM, "out of memory");
}

static void forget(struct darshan_series *s)
{
	free(s->read);
	free(s->write);
	*s = (struct darshan_series){ 0 };
}

/* ---- HEATMAP ------------------------------------------------------------------------------------
 */

static int each_heat(struct darshan_gathered *g,
		     void (*each)(struct darshan_gathered *, int, const struct darshan_heat *),
		     struct err *err)
{
	struct darshan_heats *h;
	struct darshan_heat heat;
	int rc = darshan_heats_open(&h, g->log, err);
	if (rc)
		return rc;
	while ((rc = darshan_heats_next(h, &heat, err)) == 1) {
		int source = source_of(g, heat.id);
		if (source >= 0)
			each(g, source, &heat);
	}
	darshan_heats_close(h);
	return rc;
}

/* The widest bins, and how many of them reach to the end. */
static void measure(struct darshan_gathered *g, int source, const struct darshan_heat *heat)
{
	struct darshan_series *s = &g->series[source];
	double end = (double)heat->bins * heat->bin_s;
	double before = (double)s->bins * s->bin_s;
	if (heat->bin_s > s->bin_s)
		s->bin_s = heat->bin_s;
	end = end > before ? end : before;
	s->bins = (size_t)ceil(end / s->bin_s - 1e-6);
}

/* Widths are doubled at run time, so narrower bins fit into wider ones. */
static void add_bins(struct darshan_series *s, const struct darshan_heat *heat)
{
	for (size_t i = 0; i < heat->bins; i++) {
		size_t to = (size_t)(((double)i + 0.5) * heat->bin_s / s->bin_s);
		if (to >= s->bins)
			to = s->bins;
		s->read[to] += (double)heat->read[i];
		s->write[to] += (double)heat->write[i];
	}
}

static void add_heat(struct darshan_gathered *g, int source, const struct darshan_heat *heat)
{
	add_bins(&g->series[source], heat);
	if (g->by_rank[source] && heat->rank >= 0 && heat->rank < g->log->job.ranks)
		add_bins(&g->by_rank[source][heat->rank], heat);
}

static int rooms(struct darshan_gathered *g, int source, struct err *err)
{
	struct darshan_series *s = &g->series[source];
	int64_t ranks = g->log->job.ranks;
	if (!s->bins)
		return 0;
	if (s->bins > BINS_MAX)
		return err_set(err, -EINVAL, "%s: HEATMAP has bins of widths that don't fit",
			       g->log->path);
	int rc = make_room(s, s->bin_s, s->bins, err);
	if (rc || ranks < 2 || ranks > DARSHAN_RANKS_APART || s->bins > BINS_APART)
		return rc;
	g->by_rank[source] = calloc(DARSHAN_RANKS_APART, sizeof **g->by_rank);
	if (!g->by_rank[source])
		return err_set(err, -ENOMEM, "out of memory");
	for (int64_t i = 0; i < ranks && !rc; i++)
		rc = make_room(&g->by_rank[source][i], s->bin_s, s->bins, err);
	return rc;
}

static int from_heatmap(struct darshan_gathered *g, struct err *err)
{
	int rc = each_heat(g, measure, err);
	for (int i = 0; i < DARSHAN_SOURCES && !rc; i++)
		rc = rooms(g, i, err);
	return rc ? rc : each_heat(g, add_heat, err);
}

void darshan_series_done(struct darshan_gathered *g)
{
	for (int i = 0; i < DARSHAN_SOURCES; i++) {
		forget(&g->series[i]);
		for (int k = 0; g->by_rank[i] && k < DARSHAN_RANKS_APART; k++)
			forget(&g->by_rank[i][k]);
		free(g->by_rank[i]);
		g->by_rank[i] = NULL;
	}
}

int darshan_gather_heat(struct darshan_gathered *g, struct err *err)
{
	int rc = from_heatmap(g, err);
	/* With a part of the bytes only it would be no picture. */
	if (rc || g->log->modules[DARSHAN_HEATMAP].partial)
		darshan_series_done(g);
	return rc;
}

/* ---- DXT ----------------------------------------------------------------------------------------
 */

/* An access's bytes, spread over its time. */
static void spread(double *bins, const struct darshan_series *s, const struct darshan_segment *seg)
{
	double bytes = (double)seg->bytes, length = seg->end_s - seg->begin_s;
	double from = seg->begin_s / s->bin_s, to = seg->end_s / s->bin_s;
	if (!(from >= 0) || !(to >= from))
		return;
	size_t first = from < (double)s->bins ? (size_t)from : s->bins - 1;
	size_t last = to < (double)s->bins ? (size_t)to : s->bins - 1;
	if (first == last || length <= 0) {
		bins[first] += bytes;
		return;
	}
	for (size_t i = first; i <= last; i++) {
		double a = i == first ? from : (double)i;
		double b = i == last ? to : (double)i + 1;
		bins[i] += bytes * (b - a) / (to - from);
	}
}

size_t darshan_power(int64_t bytes)
{
	size_t k = 0;
	for (uint64_t x = bytes < 0 ? 0 : (uint64_t)bytes; x; x >>= 1)
		k++;
	return k;
}

/* Of a file that MPI-IO has, MPI-IO's accesses; else those of POSIX. NULL: nothing to be counted. */
static struct darshan_file *counted_file(struct darshan_gathered *g, enum darshan_module m, uint64_t id)
{
	struct darshan_file *f = darshan_file_found(g, id);
	return f && (f->of[FROM_MPIIO] != NULL) == (m == DARSHAN_DXT_MPIIO) ? f : NULL;
}

static int count_size(struct darshan_gathered *g, struct darshan_file *f,
		      const struct darshan_segment *seg)
{
	struct darshan_powers **to = &f->seen[seg->write];
	if (!*to)
		*to = arena_alloc(&g->arena, sizeof **to);
	if (!*to)
		return -ENOMEM;
	(*to)->n[darshan_power(seg->bytes)]++;
	return 0;
}

/* series: NULL where bytes over time are known otherwise, or can't be. */
static int each_access(struct darshan_gathered *g, enum darshan_module m, struct darshan_dxt *d,
		       struct darshan_series *series, struct err *err)
{
	struct darshan_dxt_file file;
	struct darshan_segment seg;
	int rc;
	while ((rc = darshan_dxt_file(d, &file, err)) == 1) {
		struct darshan_file *f = counted_file(g, m, file.id);
		while ((rc = darshan_dxt_segment(d, &seg, err)) == 1) {
			if (series)
				spread(seg.write ? series->write : series->read, series, &seg);
			if (f && count_size(g, f, &seg))
				return err_set(err, -ENOMEM, "out of memory");
		}
		if (rc)
			return rc;
	}
	return rc;
}

int darshan_gather_dxt(struct darshan_gathered *g, enum darshan_module m, struct err *err)
{
	struct darshan_dxt *d;
	struct darshan_series *series = NULL;
	double run_s = darshan_run_s(g->log);
	int rc = darshan_dxt_open(&d, g->log, m, err);
	if (rc)
		return rc;
	if (!darshan_has(g->log, DARSHAN_HEATMAP) && !g->log->modules[m].partial) {
		series = &g->series[m == DARSHAN_DXT_POSIX ? FROM_POSIX : FROM_MPIIO];
		rc = make_room(series, run_s > 1e-9 && run_s < 1e9 ? run_s / BINS_WANTED : 1,
			       BINS_WANTED, err);
	}
	if (!rc)
		rc = each_access(g, m, d, series, err);
	darshan_dxt_close(d);
	if (rc && series)
		forget(series);
	return rc;
}
