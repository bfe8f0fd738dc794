/* Bytes over time of all processes, in bins of one width; no byte is lost. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/iomerge_impl.h"
#include "lib/num.h"

#define SOURCES_MAX 8

/* Bins of one kind: from begin_ns (after the start of the command) on, n of them. */
struct grid {
	int64_t begin_ns, width_ns;
	size_t n;
};

struct span {
	int64_t from, to; /* after the start of the command */
};

static bool span_of(const struct iomerge *m, const struct iopicture *p,
		    const struct iopicture_series *s, struct span *ret)
{
	int64_t zero = 0;
	if (!iomerge_zero(m, p, &zero) || !s->read_bytes.n)
		return false;
	ret->from = (int64_t)s->first_bin * (int64_t)s->bin_ns + zero;
	ret->to = ret->from + (int64_t)s->read_bytes.n * (int64_t)s->bin_ns;
	return true;
}

/* All bins of all pictures, as wide as the widest and as it takes. */
static bool make_grid(const struct iomerge *m, struct grid *g)
{
	int64_t from = INT64_MAX, to = INT64_MIN, anchor = 0;
	*g = (struct grid){ .width_ns = 0 };
	for (size_t i = 0; i < m->n; i++)
		for (size_t k = 0; k < m->pictures[i]->series.n; k++) {
			const struct iopicture_series *s = &m->pictures[i]->series.items[k];
			struct span x;
			if (!span_of(m, m->pictures[i], s, &x))
				continue;
			if (x.to - x.from > INT64_MAX / 4)
				return false;
			if ((int64_t)s->bin_ns > g->width_ns) {
				g->width_ns = (int64_t)s->bin_ns;
				anchor = x.from;
			}
			from = x.from < from ? x.from : from;
			to = x.to > to ? x.to : to;
		}
	if (!g->width_ns || to - from < 0)
		return false;
	/* On the bins of the widest: those of one node fit then. */
	g->begin_ns = anchor;
	if (from < anchor)
		g->begin_ns -= ((anchor - from + g->width_ns - 1) / g->width_ns) * g->width_ns;
	else
		g->begin_ns += ((from - anchor) / g->width_ns) * g->width_ns;
	while ((to - g->begin_ns + g->width_ns - 1) / g->width_ns > IOMERGE_BINS)
		g->width_ns *= 2;
	g->n = (size_t)((to - g->begin_ns + g->width_ns - 1) / g->width_ns);
	return g->n > 0;
}

/* One bin's bytes over [from, to), by share, the rest to the last. */
static void spread(const struct grid *g, double *bins, int64_t from, int64_t to, double bytes)
{
	size_t first = (size_t)((from - g->begin_ns) / g->width_ns);
	size_t last = (size_t)((to - 1 - g->begin_ns) / g->width_ns);
	double done = 0;
	last = last < g->n ? last : g->n - 1;
	for (size_t i = first; i < last; i++) {
		double end = (double)(g->begin_ns + (int64_t)(i + 1) * g->width_ns - from);
		double due = floor(bytes * end / (double)(to - from));
		bins[i] += due - done;
		done = due;
	}
	bins[last] += bytes - done;
}

static void add(const struct grid *g, const struct span *x, const struct iopicture_series *s,
		struct io_series *to)
{
	int64_t width = (int64_t)s->bin_ns;
	for (size_t i = 0; i < s->read_bytes.n; i++) {
		int64_t from = x->from + (int64_t)i * width;
		if (s->read_bytes.items[i] > 0)
			spread(g, to->read_bytes.items, from, from + width, s->read_bytes.items[i]);
		if (s->write_bytes.items[i] > 0)
			spread(g, to->write_bytes.items, from, from + width,
			       s->write_bytes.items[i]);
	}
}

static double rank_of(const struct iopicture *p)
{
	char *end = NULL;
	double rank =
		p->rank && p->rank[0] >= '0' && p->rank[0] <= '9' ? strtod(p->rank, &end) : NAN;
	return end && !*end ? rank : NAN;
}

/* The row of a source, of all processes or one rank; made when there is none. NULL: no memory. */
static struct io_series *row_of(struct iomerge *m, const struct grid *g, const char *source,
				double rank)
{
	struct io *io = &m->rec->body.io;
	struct arena *a = &m->rec->arena;
	for (size_t i = 0; i < io->series.n; i++) {
		struct io_series *s = &io->series.items[i];
		if (strcmp(s->source, source) == 0 &&
		    (known(rank) ? s->rank == rank : !known(s->rank)))
			return s;
	}
	struct io_series *s = &io->series.items[io->series.n];
	block_clear(&io_series_block, s);
	s->source = source;
	s->rank = rank;
	s->begin_s = num15((double)g->begin_ns / 1e9);
	s->bin_s = num15((double)g->width_ns / 1e9);
	s->read_bytes = (struct nums){ arena_array(a, g->n, sizeof(double)), g->n };
	s->write_bytes = (struct nums){ arena_array(a, g->n, sizeof(double)), g->n };
	if (!s->read_bytes.items || !s->write_bytes.items)
		return NULL;
	for (size_t i = 0; i < g->n; i++)
		s->read_bytes.items[i] = s->write_bytes.items[i] = 0;
	io->series.n++;
	return s;
}

static size_t ranks_of(const struct iomerge *m)
{
	double most = -1;
	for (size_t i = 0; i < m->n; i++)
		most = known(rank_of(m->pictures[i])) ? fmax(most, rank_of(m->pictures[i])) : most;
	return most < 0 ? 0 : most >= IOMERGE_RANKS ? IOMERGE_RANKS : (size_t)most + 1;
}

static int put_row(struct iomerge *m, const struct grid *g, const struct iopicture *p,
		   const struct iopicture_series *s, double rank)
{
	struct span x;
	if (!span_of(m, p, s, &x))
		return 0;
	struct io_series *row = row_of(m, g, s->source, rank);
	if (!row)
		return -ENOMEM;
	add(g, &x, s, row);
	return 0;
}

int iomerge_series(struct iomerge *m)
{
	struct io *io = &m->rec->body.io;
	struct grid g;
	size_t ranks = ranks_of(m), room = SOURCES_MAX + ranks;
	int rc = 0;
	if (!make_grid(m, &g))
		return 0;
	io->series.items = arena_array(&m->rec->arena, room, sizeof *io->series.items);
	if (!io->series.items)
		return -ENOMEM;
	for (size_t i = 0; i < m->n; i++) { /* all together first */
		const struct iopicture *p = m->pictures[i];
		for (size_t k = 0; !rc && k < p->series.n && io->series.n < SOURCES_MAX; k++)
			rc = put_row(m, &g, p, &p->series.items[k], NAN);
	}
	for (size_t i = 0; ranks > 1 && i < m->n; i++) {
		const struct iopicture *p = m->pictures[i];
		double rank = rank_of(p);
		for (size_t k = 0; !rc && k < p->series.n; k++)
			if (rank < (double)ranks && io->series.n < room &&
			    strcmp(p->series.items[k].source, "program") == 0)
				rc = put_row(m, &g, p, &p->series.items[k], rank);
	}
	return rc;
}
