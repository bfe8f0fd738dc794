/* Senders: what is known of each in memory, as of the open transaction and before it, and in the
 * tables. */
#include "store/sqlite_inbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* ---- senders in memory ----------------------------------------------------------------------- */

static void free_sender(struct sender *p)
{
	spans_done(&p->now.spans);
	spans_done(&p->before.spans);
	free(p->recent);
	free(p->self);
	free(p);
}

void in_forget(struct inbox *in)
{
	for (size_t i = 0; i < in->n_buckets; i++)
		for (struct sender **at = &in->buckets[i]; *at;) {
			struct sender *p = *at;
			if (p->now.dirty || p->touched || p->is_new) {
				at = &p->next;
				continue;
			}
			*at = p->next;
			in->n--;
			free_sender(p);
		}
}

void inbox_free(struct inbox *in)
{
	if (!in)
		return;
	for (size_t i = 0; i < in->n_buckets; i++)
		for (struct sender *p = in->buckets[i], *next; p; p = next) {
			next = p->next;
			free_sender(p);
		}
	free(in->buckets);
	free(in->pass.list);
	free(in);
}

static uint64_t hash_of(struct str agent, struct str spool)
{
	return XXH3_64bits_withSeed(agent.p, agent.n, XXH3_64bits(spool.p, spool.n));
}

static struct sender *find(const struct inbox *in, uint64_t hash, struct str agent,
			   struct str spool)
{
	struct sender *p = in->n_buckets ? in->buckets[hash & (in->n_buckets - 1)] : NULL;
	for (; p; p = p->next)
		if (p->hash == hash && p->agent_n == agent.n && p->spool_n == spool.n &&
		    !memcmp(p->name, agent.p, agent.n) &&
		    !memcmp(p->name + agent.n, spool.p, spool.n))
			return p;
	return NULL;
}

static int grow(struct inbox *in)
{
	size_t n = in->n_buckets ? 2 * in->n_buckets : 256;
	struct sender **buckets = calloc(n, sizeof(struct sender *));
	if (!buckets)
		return -ENOMEM;
	for (size_t i = 0; i < in->n_buckets; i++)
		for (struct sender *p = in->buckets[i], *next; p; p = next) {
			next = p->next;
			p->next = buckets[p->hash & (n - 1)];
			buckets[p->hash & (n - 1)] = p;
		}
	free(in->buckets);
	in->buckets = buckets;
	in->n_buckets = n;
	return 0;
}

static struct sender *new_sender(struct inbox *in, struct str agent, struct str spool)
{
	if (in->n >= in->n_buckets && grow(in))
		return NULL;
	struct sender *p = calloc(1, sizeof *p + agent.n + spool.n);
	if (!p)
		return NULL;
	p->hash = hash_of(agent, spool);
	p->agent_n = agent.n;
	p->spool_n = spool.n;
	memcpy(p->name, agent.p, agent.n);
	memcpy(p->name + agent.n, spool.p, spool.n);
	p->now.low = UINT64_MAX;
	p->now.to_ns = ROI_UNKNOWN;
	p->next = in->buckets[p->hash & (in->n_buckets - 1)];
	in->buckets[p->hash & (in->n_buckets - 1)] = p;
	in->n++;
	return p;
}

static void remove_sender(struct inbox *in, struct sender *gone)
{
	struct sender **at = &in->buckets[gone->hash & (in->n_buckets - 1)];
	while (*at != gone)
		at = &(*at)->next;
	*at = gone->next;
	in->n--;
	free_sender(gone);
}

int in_touch(struct inbox *in, struct sender *p)
{
	if (p->touched)
		return 0;
	struct spans spans = p->before.spans;
	if (spans_copy(&spans, &p->now.spans))
		return -ENOMEM;
	p->before = p->now;
	p->before.spans = spans;
	p->touched = true;
	p->next_touched = in->touched;
	in->touched = p;
	return 0;
}

static void take_back(struct sender *p)
{
	struct spans spans = p->now.spans;
	p->now = p->before;
	p->before.spans = spans; /* its memory is for the next time */
}

void inbox_settle(struct store *s, bool committed)
{
	struct inbox *in = s->inbox;
	if (!in)
		return;
	for (struct sender *p = in->touched, *next; p; p = next) {
		next = p->next_touched;
		bool was_new = p->is_new;
		p->touched = p->is_new = false;
		if (!committed && was_new)
			remove_sender(in, p);
		else if (!committed)
			take_back(p);
	}
	in->touched = NULL;
	if (!committed)
		in->log = in->log_before;
	in->log_before = in->log;
}

/* ---- senders in tables ----------------------------------------------------------------------- */

static uint64_t description(struct str host, struct str boot, struct str tool)
{
	uint64_t h = XXH3_64bits_withSeed(host.p, host.n, 1 + !host.p);
	h = XXH3_64bits_withSeed(boot.p, boot.n, h + !boot.p);
	return XXH3_64bits_withSeed(tool.p, tool.n, h + !tool.p);
}

static int load_spans(struct store *s, struct sender *p, struct err *err)
{
	sqlite3_stmt *stmt = in_statement(s, IN_SPANS,
					  "SELECT first, last, from_ns, to_ns FROM inbox_span "
					  "WHERE spool = ? ORDER BY first",
					  err);
	if (!stmt)
		return s->failed;
	(void)sqlite3_bind_int64(stmt, 1, p->id);
	int rc;
	while ((rc = in_step(s, stmt, err, "read the ledger")) > 0) {
		uint64_t low, first = (uint64_t)sqlite3_column_int64(stmt, 0);
		rc = spans_add(&p->now.spans, first, in_ns(stmt, 2), in_ns(stmt, 3), &low);
		if (rc) {
			rc = err_set(err, rc, "store %s: out of memory", s->path);
			break;
		}
		p->now.spans.items[p->now.spans.n - 1].last =
			(uint64_t)sqlite3_column_int64(stmt, 1);
	}
	in_release(s, IN_SPANS, stmt);
	return rc;
}

/* 1: read; 0: there is none. */
static int load(struct store *s, struct str agent, struct str spool, struct sender **ret,
		struct err *err)
{
	sqlite3_stmt *stmt =
		in_statement(s, IN_SPOOL_OF,
			     "SELECT id, host, boot, tool, last_real_ns, to_ns, last_seq, batches "
			     "FROM inbox_spool WHERE agent = ? AND spool = ?",
			     err);
	if (!stmt)
		return s->failed;
	in_bind_str(stmt, 1, agent);
	in_bind_str(stmt, 2, spool);
	int rc = in_step(s, stmt, err, "look for a sender");
	struct sender *p = rc > 0 ? new_sender(s->inbox, agent, spool) : NULL;
	if (rc > 0 && !p)
		rc = err_set(err, -ENOMEM, "store %s: out of memory", s->path);
	if (p) {
		p->id = sqlite3_column_int64(stmt, 0);
		p->now.described =
			description(in_text(stmt, 1), in_text(stmt, 2), in_text(stmt, 3));
		p->now.last_real_ns = sqlite3_column_int64(stmt, 4);
		p->now.to_ns = in_ns(stmt, 5);
		p->now.last_seq = (uint64_t)sqlite3_column_int64(stmt, 6);
		p->now.batches = (uint64_t)sqlite3_column_int64(stmt, 7);
	}
	in_release(s, IN_SPOOL_OF, stmt);
	if (rc <= 0)
		return rc;
	rc = load_spans(s, p, err);
	if (rc) {
		remove_sender(s->inbox, p);
		return rc;
	}
	*ret = p;
	return 1;
}

int in_sender(struct store *s, struct str agent, struct str spool, struct sender **ret,
	      struct err *err)
{
	*ret = find(s->inbox, hash_of(agent, spool), agent, spool);
	if (*ret)
		return 0;
	int rc = load(s, agent, spool, ret, err);
	return rc < 0 ? rc : 0;
}

int in_create(struct store *s, const struct batch_sender *from, int64_t real_ns,
	      struct sender **ret, struct err *err)
{
	sqlite3_stmt *stmt = in_statement(
		s, IN_NEW_SPOOL,
		"INSERT INTO inbox_spool (agent, spool, host, boot, tool, first_real_ns, "
		"last_real_ns, last_seq, batches) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, 0, 0)",
		err);
	if (!stmt)
		return s->failed;
	in_bind_str(stmt, 1, from->agent);
	in_bind_str(stmt, 2, from->spool);
	in_bind_str(stmt, 3, from->host);
	in_bind_str(stmt, 4, from->boot);
	in_bind_str(stmt, 5, from->tool);
	(void)sqlite3_bind_int64(stmt, 6, real_ns);
	int rc = in_run(s, IN_NEW_SPOOL, stmt, err, "add a sender");
	if (rc)
		return rc;
	struct sender *p = new_sender(s->inbox, from->agent, from->spool);
	if (!p)
		return err_set(err, -ENOMEM, "store %s: out of memory", s->path);
	p->id = sqlite3_last_insert_rowid(s->db);
	p->now.described = description(from->host, from->boot, from->tool);
	p->is_new = true;
	*ret = p;
	return in_touch(s->inbox, p);
}

int in_describe(struct store *s, struct sender *p, const struct batch_sender *from, struct err *err)
{
	uint64_t description_now = description(from->host, from->boot, from->tool);
	if (description_now == p->now.described)
		return 0;
	sqlite3_stmt *stmt = in_statement(
		s, IN_DESCRIBE,
		"UPDATE inbox_spool SET host = ?2, boot = ?3, tool = ?4 WHERE id = ?1", err);
	if (!stmt)
		return s->failed;
	(void)sqlite3_bind_int64(stmt, 1, p->id);
	in_bind_str(stmt, 2, from->host);
	in_bind_str(stmt, 3, from->boot);
	in_bind_str(stmt, 4, from->tool);
	p->now.described = description_now;
	return in_run(s, IN_DESCRIBE, stmt, err, "describe a sender");
}
