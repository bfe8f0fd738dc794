/* What the agent holds and does, as JSON; docs/agent-status.md has the keys. */
#define _GNU_SOURCE
#include <jansson.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "agent/config.h"
#include "agent/impl.h"
#include "agent/post.h"
#include "agent/sample.h"
#include "lib/version.h"

/* What jansson can't make for want of memory is left out; the whole text then fails, or is short.
 */
static void put(json_t *o, const char *key, json_t *value)
{
	(void)json_object_set_new(o, key, value ? value : json_null());
}

static json_t *text(const char *s)
{
	return s && *s ? json_string(s) : json_null(); /* not UTF-8: NULL, and so null */
}

static json_t *slice(struct str s)
{
	return s.p ? json_stringn(s.p, s.n) : json_null();
}

static json_t *whole(uint64_t n)
{
	return json_integer((json_int_t)n);
}

static json_t *when(int64_t real_ns)
{
	return real_ns == ROI_UNKNOWN ? json_null() : json_integer(real_ns);
}

static json_t *number(double x)
{
	return isfinite(x) ? json_real(x) : json_null();
}

static json_t *cost(const struct agent *a)
{
	json_t *o = json_object();
	put(o, "cpu_s", number(self_cpu()));
	put(o, "wakeups", whole(a->wakeups));
	put(o, "rss_bytes", isfinite(self_rss()) ? whole((uint64_t)self_rss()) : json_null());
	return o;
}

static json_t *spool(const struct agent *a, const struct outbox_stats *st)
{
	json_t *o = json_object();
	put(o, "folder", text(a->config->spool));
	put(o, "id", text(outbox_spool(a->outbox)));
	put(o, "bytes", whole(st->spool.bytes));
	put(o, "max_bytes", whole(st->spool.max_bytes));
	put(o, "next_seq", whole(st->spool.next_seq));
	put(o, "synced_seq", whole(st->spool.synced_seq));
	put(o, "acked_seq", whole(st->spool.acked_seq));
	put(o, "damaged", whole(st->spool.damaged));
	put(o, "full", json_boolean(st->full));
	put(o, "waiting_bytes", whole(st->waiting_bytes));
	return o;
}

static json_t *post(const struct agent *a)
{
	if (!a->post)
		return json_null();
	struct post_stats st;
	post_stats(a->post, &st);
	json_t *o = json_object();
	put(o, "posts", whole(st.posts));
	put(o, "batches", whole(st.delivered_batches));
	put(o, "bytes", whole(st.delivered_bytes));
	put(o, "in_flight", json_boolean(st.in_flight));
	put(o, "good_real_ns", when(st.good_real_ns));
	put(o, "http_status", st.status ? json_integer(st.status) : json_null());
	put(o, "failures", whole(st.failures_in_a_row));
	put(o, "refused", whole(st.refused_batches));
	put(o, "renumbered", whole(st.renumbered_batches));
	put(o, "failure", st.trouble ? text(st.why) : json_null());
	put(o, "failed_real_ns", when(st.failed_real_ns));
	int64_t left = (int64_t)st.next_try_ns - (int64_t)uv_hrtime();
	put(o, "next_real_ns",
	    st.trouble && st.next_try_ns ? json_integer(agent_real() + left) : json_null());
	return o;
}

static json_t *losses(const struct agent *a)
{
	json_t *list = json_array();
	struct frame f;
	for (size_t at = 0; outbox_each_loss(a->outbox, &at, &f);) {
		const struct frame_loss *l = &f.as.loss;
		json_t *o = json_object();
		put(o, "what", slice(l->what));
		put(o, "count", whole(l->count));
		put(o, "bytes", whole(l->bytes));
		put(o, "why", slice(l->why));
		put(o, "from_real_ns", when(l->from_real_ns));
		put(o, "to_real_ns", when(l->to_real_ns));
		put(o, "run", slice(l->run));
		put(o, "text", slice(l->text));
		(void)json_array_append_new(list, o);
	}
	return list;
}

static json_t *runs(const struct agent *a, uid_t uid, bool all)
{
	json_t *list = json_array();
	for (const struct run_info *r = a->runs.first; r; r = r->next) {
		if (!all && r->uid != uid)
			continue;
		json_t *o = json_object();
		put(o, "run", text(r->run));
		put(o, "suite", text(r->suite));
		put(o, "app", text(r->app));
		put(o, "case", text(r->case_));
		put(o, "uid", whole(r->uid));
		put(o, "executions", r->executions ? whole(r->executions) : json_null());
		put(o, "ended", r->recalled ? json_null() : whole(r->ended));
		put(o, "exec", text(r->exec));
		put(o, "announced_real_ns", when(r->announced_real_ns));
		put(o, "connected", json_boolean(r->connection));
		(void)json_array_append_new(list, o);
	}
	return list;
}

static json_t *process(const struct follow *f)
{
	json_t *o = json_object();
	put(o, "stream", text(f->core.stream));
	put(o, "pid", f->pid > 0 ? json_integer(f->pid) : json_null());
	put(o, "uid", whole(f->core.uid));
	put(o, "exe", text(f->exe));
	put(o, "run", text(f->core.mine ? f->core.run : NULL));
	put(o, "exec", text(f->core.mine ? f->core.exec : NULL));
	put(o, "rank", text(f->rank));
	put(o, "job", text(f->job));
	/* As of the last look; before the first it is not known. */
	bool looked = f->streams > 0;
	put(o, "open", looked ? json_boolean(f->far.open) : json_null());
	put(o, "entries", looked ? whole(f->far.entries) : json_null());
	put(o, "steps", looked ? whole(f->far.steps) : json_null());
	put(o, "marks", json_null());
	put(o, "quiet", json_boolean(f->core.open));
	put(o, "snapshots", whole(f->snapshots));
	put(o, "bytes", whole(f->size));
	put(o, "from_real_ns", when(f->since_real_ns));
	put(o, "container", text(f->container));
	put(o, "alive", json_boolean(core_live(&f->core)));
	/* After a kill of the agent its log can be had again only from a folder. */
	put(o, "folder", f->folder ? text(folder_path(f->folder)) : json_null());
	return o;
}

static json_t *processes(const struct agent *a, uid_t uid, bool all)
{
	json_t *list = json_array();
	for (size_t i = 0; i < FOLLOW_BUCKETS; i++)
		for (const struct follow *f = a->buckets[i]; f; f = f->next)
			if (!f->picture && (all || f->core.uid == uid))
				(void)json_array_append_new(list, process(f));
	return list;
}

static void add_trouble(void *list, const char *sentence)
{
	size_t n = strcspn(sentence, ":");
	json_t *o = json_object();
	put(o, "name", json_stringn(sentence, n));
	put(o, "failure",
	    text(sentence[n] ? sentence + n + 1 + strspn(sentence + n + 1, " ") : sentence));
	(void)json_array_append_new(list, o);
}

static json_t *samplers(const struct agent *a)
{
	json_t *list = json_array();
	if (a->samples)
		samples_each_trouble(a->samples, add_trouble, list);
	return list;
}

char *status_text(const struct agent *a, uid_t uid)
{
	bool all = uid == 0 || uid == geteuid();
	struct outbox_stats st;
	outbox_stats(a->outbox, &st);
	json_t *o = json_object();
	put(o, "status", json_integer(1));
	put(o, "agent", text(outbox_agent(a->outbox)));
	put(o, "tool", text("roimeter-agent " ROIMETER_VERSION_TEXT));
	put(o, "host", text(a->host));
	put(o, "pid", json_integer(getpid()));
	put(o, "start_real_ns", when(a->start_real_ns));
	put(o, "real_ns", when(agent_real()));
	put(o, "server", text(a->config->url));
	put(o, "socket", text(a->config->socket));
	put(o, "folders", folders_list(a));
	put(o, "quiet", json_boolean(core_quiet(a->core)));
	put(o, "cost", cost(a));
	put(o, "spool", spool(a, &st));
	put(o, "post", post(a));
	put(o, "losses", all ? losses(a) : json_null());
	put(o, "runs", runs(a, uid, all));
	put(o, "processes", processes(a, uid, all));
	put(o, "followed", whole(a->n_follows - a->n_pictures));
	put(o, "samplers", samplers(a));
	char *out = json_dumps(o, JSON_COMPACT);
	json_decref(o);
	return out;
}
