/* Prometheus text format 0.0.4. */
#include "daemon/metrics.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "daemon/route.h"
#include "daemon/writer.h"
#include "store/inbox.h"

#define ROUTES_MAX 32
#define STATUSES 18
#define BUCKETS 10

static const int statuses[STATUSES] = { 200, 204, 304, 400, 401, 403, 404, 405, 406,
					409, 413, 414, 415, 421, 500, 503, 507, 0 };
static const double bounds_s[BUCKETS] = {
	0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3
};

struct metrics {
	atomic_ulong requests[ROUTES_MAX][STATUSES]; /* the last: any other status */
	atomic_ulong buckets[BUCKETS + 1], time_ns, hits, misses;
	atomic_long connections;
};

struct metrics *metrics_new(void)
{
	return calloc(1, sizeof(struct metrics));
}

void metrics_free(struct metrics *m)
{
	free(m);
}

void metrics_count(struct metrics *m, const struct route *route, int status, uint64_t time_ns)
{
	size_t r = route ? (size_t)(route - routes) : n_routes, s = 0, b = 0;
	while (s < STATUSES - 1 && statuses[s] != status)
		s++;
	while (b < BUCKETS && (double)time_ns > bounds_s[b] * 1e9)
		b++;
	if (r < ROUTES_MAX)
		(void)atomic_fetch_add(&m->requests[r][s], 1);
	if (route && route->place == AS_STREAM && status == 200)
		return; /* as long as somebody listens: no answer's duration */
	(void)atomic_fetch_add(&m->buckets[b], 1);
	(void)atomic_fetch_add(&m->time_ns, time_ns);
}

void metrics_connections(struct metrics *m, int change)
{
	(void)atomic_fetch_add(&m->connections, change);
}

void metrics_cache(struct metrics *m, int hit)
{
	(void)atomic_fetch_add(hit ? &m->hits : &m->misses, 1);
}

static void put(struct buf *b, const char *name, const char *type, const char *help, double value)
{
	buf_printf(b, "# HELP %s %s\n# TYPE %s %s\n%s %.15g\n", name, help, name, type, name,
		   value);
}

static void put_requests(struct buf *b, struct metrics *m)
{
	buf_puts(b, "# HELP roimeterd_requests_total Requests answered.\n"
		    "# TYPE roimeterd_requests_total counter\n");
	for (size_t r = 0; r <= n_routes && r < ROUTES_MAX; r++)
		for (size_t s = 0; s < STATUSES; s++) {
			unsigned long n = atomic_load(&m->requests[r][s]);
			char status[12] = "other";
			if (statuses[s])
				(void)snprintf(status, sizeof status, "%d", statuses[s]);
			if (n)
				buf_printf(b,
					   "roimeterd_requests_total{method=\"%s\",route=\"%s\","
					   "status=\"%s\"} %lu\n",
					   r < n_routes ? routes[r].method : "",
					   r < n_routes ? routes[r].pattern : "none", status, n);
		}
}

static void put_latencies(struct buf *b, struct metrics *m)
{
	unsigned long sum = 0;
	buf_puts(b,
		 "# HELP roimeterd_request_seconds From the first line of a request to the end of "
		 "its answer; without streams.\n# TYPE roimeterd_request_seconds histogram\n");
	for (size_t i = 0; i < BUCKETS; i++) {
		sum += atomic_load(&m->buckets[i]);
		buf_printf(b, "roimeterd_request_seconds_bucket{le=\"%g\"} %lu\n", bounds_s[i],
			   sum);
	}
	sum += atomic_load(&m->buckets[BUCKETS]);
	buf_printf(b,
		   "roimeterd_request_seconds_bucket{le=\"+Inf\"} %lu\n"
		   "roimeterd_request_seconds_sum %.9g\nroimeterd_request_seconds_count %lu\n",
		   sum, (double)atomic_load(&m->time_ns) / 1e9, sum);
}

static double of(const atomic_ulong *n)
{
	return (double)atomic_load((atomic_ulong *)(uintptr_t)n);
}

static void put_commits(struct buf *b, const struct writer_numbers *w)
{
	double sum = 0;
	buf_puts(b, "# HELP roimeterd_commit_seconds Making a group of posts durable.\n"
		    "# TYPE roimeterd_commit_seconds histogram\n");
	for (size_t i = 0; i <= WRITER_BUCKETS; i++) {
		sum += of(&w->commit_buckets[i]);
		if (i < WRITER_BUCKETS)
			buf_printf(b, "roimeterd_commit_seconds_bucket{le=\"%g\"} %.0f\n",
				   writer_bounds_s[i], sum);
	}
	buf_printf(b,
		   "roimeterd_commit_seconds_bucket{le=\"+Inf\"} %.0f\n"
		   "roimeterd_commit_seconds_sum %.9g\nroimeterd_commit_seconds_count %.0f\n",
		   sum, of(&w->commit_ns) / 1e9, sum);
}

static void put_ingest(struct buf *b, const struct writer_numbers *w)
{
	put(b, "roimeterd_ingest_posts_total", "counter",
	    "Posts of agents that the writer took up.", of(&w->posts));
	put(b, "roimeterd_ingest_bytes_total", "counter", "Of posts that were stored.",
	    of(&w->bytes));
	put(b, "roimeterd_ingest_batches_total", "counter", "Batches stored.", of(&w->batches));
	put(b, "roimeterd_ingest_duplicates_total", "counter", "Batches that had come before.",
	    of(&w->duplicates));
	put(b, "roimeterd_ingest_refused_total", "counter", "Posts that are at fault.",
	    of(&w->refused));
	put(b, "roimeterd_ingest_failed_total", "counter",
	    "Posts sent back for later, as the database could not be written to.", of(&w->failed));
	put_commits(b, w);
}

struct stored {
	double runs, cells;
};

static int count_cell(void *arg, const struct cell *cell)
{
	struct stored *s = arg;
	s->runs += (double)cell->runs;
	s->cells++;
	return 0;
}

static double file_bytes(const char *path, const char *suffix)
{
	struct buf name = { 0 };
	struct stat st = { 0 };
	buf_printf(&name, "%s%s", path, suffix);
	bool there = !name.failed && stat(name.data, &st) == 0;
	buf_done(&name);
	return there ? (double)st.st_size : 0;
}

int handle_metrics(const struct call *c, struct answer *a, struct err *err)
{
	struct stored stored = { 0 };
	struct buf *b = &a->body;
	uint64_t agents = 0, open = 0;
	int rc = store_each_cell(c->store, NULL, NULL, count_cell, &stored, err);
	if (!rc)
		rc = inbox_count(c->store, &agents, &open, err);
	if (rc)
		return rc;
	put(b, "roimeterd_agents", "gauge", "Agents that ever posted.", (double)agents);
	put(b, "roimeterd_runs_open", "gauge", "Runs that are not complete yet.", (double)open);
	put(b, "roimeterd_runs", "gauge", "Runs stored.", stored.runs);
	put(b, "roimeterd_cells", "gauge", "Cells of the grid that have runs.", stored.cells);
	put(b, "roimeterd_store_bytes", "gauge", "Size of the database with its log.",
	    file_bytes(c->db, "") + file_bytes(c->db, "-wal"));
	put(b, "roimeterd_connections", "gauge", "Open connections.",
	    (double)atomic_load(&c->metrics->connections));
	put(b, "roimeterd_cache_hits_total", "counter", "Answers that were there already.",
	    (double)atomic_load(&c->metrics->hits));
	put(b, "roimeterd_cache_misses_total", "counter", "Answers that the store was asked for.",
	    (double)atomic_load(&c->metrics->misses));
	put_ingest(b, c->writer);
	put_requests(b, c->metrics);
	put_latencies(b, c->metrics);
	return 0;
}
