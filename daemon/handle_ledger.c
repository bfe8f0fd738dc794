/* What came from the agents, and what did not. */
#include <errno.h>
#include <jansson.h>
#include <stdint.h>
#include <string.h>

#include "daemon/route.h"
#include "daemon/values.h"
#include "store/inbox.h"

static json_t *count(uint64_t n)
{
	return json_integer((json_int_t)n);
}

static json_t *text_json(struct str s)
{
	return s.p ? json_stringn(s.p, s.n) : json_null();
}

static json_t *spans_json(const struct inbox_ledger *l)
{
	json_t *list = json_array();
	for (size_t i = 0; i < l->n_spans; i++) {
		const struct inbox_span *s = &l->spans[i];
		(void)json_array_append_new(list, json_pack("{s:o, s:o, s:o, s:o}", "first",
							    count(s->first), "last", count(s->last),
							    "from", utc_json(s->from_ns), "to",
							    utc_json(s->to_ns)));
	}
	return list;
}

static json_t *holes_json(const struct inbox_ledger *l)
{
	json_t *list = json_array();
	for (size_t i = 0; i < l->n_holes; i++) {
		const struct inbox_hole *h = &l->holes[i];
		(void)json_array_append_new(
			list, json_pack("{s:o, s:o, s:o, s:s?, s:s?, s:b, s:o, s:o}", "first",
					count(h->first), "last", count(h->last), "batches",
					count(h->count), "what", h->what, "why", h->why, "final",
					(int)h->told, "from", utc_json(h->from_ns), "to",
					utc_json(h->to_ns)));
	}
	return list;
}

static json_t *losses_json(const struct inbox_ledger *l)
{
	json_t *list = json_array();
	for (size_t i = 0; i < l->n_losses; i++) {
		const struct inbox_lost *x = &l->losses[i];
		(void)json_array_append_new(
			list,
			json_pack("{s:s?, s:s?, s:s?, s:s?, s:s?, s:o, s:o, s:o, s:o, s:b}", "what",
				  x->what, "why", x->why, "run_id", x->run, "execution", x->exec,
				  "text", x->text, "count", count(x->count), "bytes",
				  count(x->bytes), "from", utc_json(x->from_ns), "to",
				  utc_json(x->to_ns), "ours", (int)x->ours));
	}
	return list;
}

/* Its newest frame about itself; null where it sent none. */
static json_t *self_json(struct str bytes)
{
	struct frame f;
	if (!bytes.p || frame_get(&f, bytes, NULL) || f.type != FRAME_AGENT)
		return json_null();
	const struct frame_agent *a = &f.as.agent;
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "time", utc_json(a->real_ns),
			 "started", utc_json(a->start_real_ns), "cpu_s", number_json(a->cpu_s),
			 "wakeups", number_json(a->wakeups), "rss_bytes", number_json(a->rss_bytes),
			 "spool_bytes", number_json(a->spool_bytes), "spool_max_bytes",
			 number_json(a->spool_max_bytes), "processes", count(a->processes));
}

static json_t *platform_json(struct str bytes)
{
	struct frame f;
	if (!bytes.p || frame_get(&f, bytes, NULL) || f.type != FRAME_NODE)
		return json_null();
	return text_json(f.as.node.platform);
}

static json_t *ledger_json(const struct inbox_ledger *l)
{
	return json_pack("{s:s?, s:s?, s:s?, s:s?, s:s?, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:b, "
			 "s:s?, s:o, s:o, s:o, s:o}",
			 "agent", l->agent, "spool", l->spool, "host", l->host, "boot", l->boot,
			 "tool", l->tool, "platform", platform_json(l->node), "first_news",
			 utc_json(l->first_real_ns), "last_news", utc_json(l->last_real_ns), "to",
			 utc_json(l->last_to_ns), "last", count(l->last_seq), "batches",
			 count(l->batches), "complete", (int)l->complete, "marks_complete",
			 (int)l->marks_complete, "why", l->complete ? NULL : l->why, "received",
			 spans_json(l), "missing", holes_json(l), "lost", losses_json(l), "self",
			 self_json(l->self));
}

struct ledgers {
	json_t *rows;
	bool complete, marks_complete;
};

static int add(void *arg, const struct inbox_ledger *l)
{
	struct ledgers *all = arg;
	all->complete &= l->complete;
	all->marks_complete &= l->marks_complete;
	return json_array_append_new(all->rows, ledger_json(l)) ? -ENOMEM : 0;
}

/* Silence proves nothing: where nobody had news, whether all is here is not known. */
static json_t *verdict(const struct ledgers *all, bool good)
{
	return json_array_size(all->rows) ? json_boolean(good) : json_null();
}

int handle_ledger(const struct call *c, struct answer *a, struct err *err)
{
	const char *since = target_param(c->target, "since");
	const char *until = target_param(c->target, "until");
	const char *agent = target_param(c->target, "agent");
	struct ledgers all = { .rows = json_array(), .complete = true, .marks_complete = true };
	int64_t from_ns = INT64_MIN, to_ns = INT64_MAX;
	int rc = 0;
	if ((since && !utc_parse(since, &from_ns)) || (until && !utc_parse(until, &to_ns)))
		rc = err_set(err, -EINVAL, "since, until: there is no such time");
	else if (from_ns > to_ns)
		rc = err_set(err, -EINVAL, "until is before since");
	if (!rc)
		rc = inbox_each_ledger(c->store, agent, from_ns, to_ns, add, &all, err);
	if (rc == -ENOMEM)
		rc = err_set(err, rc, "out of memory");
	if (!rc)
		rc = answer_json_take(a,
				      json_pack("{s:s?, s:s?, s:s?, s:o, s:o, s:O}", "agent", agent,
						"since", since, "until", until, "complete",
						verdict(&all, all.complete), "marks_complete",
						verdict(&all, all.marks_complete), "spools",
						all.rows),
				      err);
	json_decref(all.rows);
	return rc;
}
