/* What was counted on the nodes of a run while it ran: the samples of their agents, as they are
 * kept. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/csv.h"
#include "daemon/route.h"
#include "daemon/values.h"
#include "lib/num.h"
#include "store/inbox.h"

#define SAMPLES_MAX 100000
#define LONGEST_S 1e9                 /* of an execution: longer ones are no times */
#define MARGIN_NS INT64_C(2000000000) /* clocks of nodes differ, and a sample is of a second */

struct samples {
	const struct record *rec;
	int64_t from_ns, to_ns;
	struct batch_in in;
	size_t n;
	json_t *rows;      /* NULL: CSV */
	struct buf *table; /* of CSV */
	struct err *err;
};

/* ---- which nodes, which time --------------------------------------------------------------- */

/* A short name and a full one are the same node. */
static bool same_host(const char *a, struct str b)
{
	size_t n = a ? strcspn(a, ".") : 0;
	const char *dot = b.p ? memchr(b.p, '.', b.n) : NULL;
	size_t m = dot ? (size_t)(dot - b.p) : b.n;
	return n && n == m && memcmp(a, b.p, n) == 0;
}

static bool ran_on(const struct record *rec, struct str host)
{
	if (same_host(rec->body.platform_info.host, host))
		return true;
	const struct rank *ranks = rec->body.ranks.items;
	for (size_t i = 0; i < rec->body.ranks.n; i++)
		if (same_host(ranks[i].host, host))
			return true;
	return false;
}

/* From the start of the first execution to the end of the last. */
static int find_time(struct samples *all, struct err *err)
{
	const struct execution *list = all->rec->body.executions.items;
	all->from_ns = INT64_MAX;
	all->to_ns = INT64_MIN;
	for (size_t i = 0; i < all->rec->body.executions.n; i++) {
		int64_t at;
		if (!list[i].utc || !utc_parse(list[i].utc, &at))
			continue;
		double wall_s = known(list[i].process_wall_s) ? list[i].process_wall_s : 0;
		if (!(wall_s >= 0 && wall_s < LONGEST_S))
			continue;
		int64_t end = at + (int64_t)(wall_s * 1e9);
		all->from_ns = at < all->from_ns ? at : all->from_ns;
		all->to_ns = end > all->to_ns ? end : all->to_ns;
	}
	if (all->from_ns > all->to_ns)
		return err_set(err, -ENOENT, "run %s does not say when it ran",
			       all->rec->body.run_id);
	all->from_ns -= MARGIN_NS;
	all->to_ns += MARGIN_NS;
	return 0;
}

/* ---- samples ------------------------------------------------------------------------------- */

static int add_json(struct samples *all, const struct frame_context *c, struct str host)
{
	struct str list = c->values, name;
	double value;
	json_t *values = json_object();
	while (batch_pair_next(&list, &name, &value)) {
		char key[128];
		(void)snprintf(key, sizeof key, "%.*s", (int)name.n, name.p ? name.p : "");
		(void)json_object_set_new(values, key, number_json(value));
	}
	json_t *row = json_pack(
		"{s:o, s:s%, s:o, s:o, s:o}", "time", utc_json(c->real_ns), "node", host.p, host.n,
		"scope", c->scope.p ? json_stringn(c->scope.p, c->scope.n) : json_null(),
		"execution", c->exec.p ? json_stringn(c->exec.p, c->exec.n) : json_null(), "values",
		values);
	return json_array_append_new(all->rows, row) ? -ENOMEM : 0;
}

static void csv_str(struct buf *b, struct str s)
{
	char text[256];
	(void)snprintf(text, sizeof text, "%.*s", s.p ? (int)s.n : 0, s.p ? s.p : "");
	csv_text(b, s.p ? text : NULL);
}

static int add_csv(struct samples *all, const struct frame_context *c, struct str host)
{
	struct str list = c->values, name;
	double value;
	char time[UTC_BYTES];
	bool is_time = utc_text(time, c->real_ns);
	while (batch_pair_next(&list, &name, &value)) {
		csv_text(all->table, is_time ? time : NULL);
		csv_str(all->table, host);
		csv_str(all->table, c->scope);
		csv_str(all->table, c->exec);
		csv_str(all->table, name);
		csv_number(all->table, value);
		csv_end(all->table);
	}
	return all->table->failed ? -ENOMEM : 0;
}

static int add_frame(struct samples *all, const struct frame_context *c, struct str host)
{
	if (c->real_ns < all->from_ns || c->real_ns > all->to_ns)
		return 0;
	/* Of a cgroup or a process, only what is this run's. */
	bool node = c->scope.n == 4 && memcmp(c->scope.p, "node", 4) == 0;
	const char *id = all->rec->body.run_id;
	if (!node && (c->run.n != strlen(id) || memcmp(c->run.p, id, c->run.n) != 0))
		return 0;
	if (all->n++ == SAMPLES_MAX)
		return err_set(all->err, -E2BIG,
			       "more than %d samples; ask for less with since and until",
			       SAMPLES_MAX);
	return all->rows ? add_json(all, c, host) : add_csv(all, c, host);
}

static int add_batch(void *arg, struct str batch)
{
	struct samples *all = arg;
	struct frame f;
	struct batch_head head;
	int rc = batch_look(&head, batch.p, batch.n, all->err);
	if (rc || !ran_on(all->rec, head.sender.host))
		return rc;
	rc = batch_open(&all->in, batch.p, batch.n, all->err);
	while (!rc && (rc = batch_next(&all->in, &f, all->err)) == 1)
		rc = f.type == FRAME_CONTEXT ? add_frame(all, &f.as.context, head.sender.host) : 0;
	return rc;
}

static int narrow(struct samples *all, const struct target *t, struct err *err)
{
	const char *since = target_param(t, "since"), *until = target_param(t, "until");
	int64_t from_ns = INT64_MIN, to_ns = INT64_MAX;
	if ((since && !utc_parse(since, &from_ns)) || (until && !utc_parse(until, &to_ns)))
		return err_set(err, -EINVAL, "since, until: there is no such time");
	all->from_ns = from_ns > all->from_ns ? from_ns : all->from_ns;
	all->to_ns = to_ns < all->to_ns ? to_ns : all->to_ns;
	return 0;
}

int handle_run_context(const struct call *c, struct answer *a, struct err *err)
{
	struct record rec;
	struct samples all = { .rec = &rec, .table = &a->body, .err = err };
	int rc = store_get_run(c->store, c->id, &rec, err);
	if (rc == -ENOENT)
		rc = err_set(err, rc, "there is no run \"%.60s\"", c->id);
	if (!rc)
		rc = find_time(&all, err);
	if (!rc)
		rc = narrow(&all, c->target, err);
	if (!rc && c->media == MEDIA_CSV)
		buf_puts(&a->body, "time,node,scope,execution,name,value\r\n");
	else if (!rc)
		all.rows = json_array();
	if (!rc)
		rc = inbox_each_context(c->store, NULL, all.from_ns, all.to_ns, add_batch, &all,
					err);
	if (rc == -ENOMEM)
		rc = err_set(err, rc, "out of memory");
	if (!rc && c->media != MEDIA_CSV)
		rc = answer_json_take(a,
				      json_pack("{s:s, s:o, s:o, s:O}", "run_id", c->id, "from",
						utc_json(all.from_ns), "to", utc_json(all.to_ns),
						"samples", all.rows),
				      err);
	json_decref(all.rows);
	batch_in_done(&all.in);
	record_done(&rec);
	return rc;
}
