/* Flows into pictures: what a trace does not observe is null in them. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "import/trace_impl.h"
#include "lib/num.h"

static void blind(struct nums *n, unsigned observes)
{
	for (unsigned c = 0; n->items && c < CATEGORIES; c++)
		if (!(observes & 1u << c))
			n->items[c] = NAN;
}

static void limit_sums(struct picture_sums *s, const struct trace_sink *t)
{
	struct picture_sums calls = *s;
	if (!t->observes)
		block_clear(&picture_sums_block, s);
	blind(&s->time_ns, t->observes);
	blind(&s->ops, t->observes);
	blind(&s->bytes, t->observes);
	blind(&s->union_ns, t->observes);
	s->calls = t->calls_seen ? calls.calls : NAN;
	s->calls_ns = t->calls_seen ? calls.calls_ns : NAN;
	s->sync_calls = t->calls_seen ? calls.sync_calls : NAN;
	s->sync_ns = t->calls_seen ? calls.sync_ns : NAN;
}

static int limit_observes(struct trace_sink *t, struct picture *p)
{
	p->observes.items = arena_array(&t->arena, CATEGORIES, sizeof *p->observes.items);
	p->observes.n = 0;
	if (!p->observes.items)
		return -ENOMEM;
	for (unsigned c = 0; c < CATEGORIES; c++)
		if (t->observes & 1u << c)
			p->observes.items[p->observes.n++] = category_name((enum category)c);
	return 0;
}

static int limit(struct trace_sink *t, struct picture *p)
{
	limit_sums(&p->roi, t);
	limit_sums(&p->whole, t);
	if (!t->calls_seen)
		p->gap.sync_ns = p->gap.api_ns = NAN;
	if (!t->observes) {
		block_clear(&picture_gap_block, &p->gap);
		p->devices.items = NULL;
		p->ops.items = p->whole_ops.items = NULL;
		p->devices.n = p->ops.n = p->whole_ops.n = 0;
	}
	return limit_observes(t, p);
}

static int describe(struct trace_sink *t, const struct trace_member *m, const char *collector,
		    bool first, struct picture *p)
{
	p->collector = collector;
	p->runtime = t->runtime;
	p->status = t->observes ? p->whole_ops.n ? "ok" : "idle" : "unseen";
	p->why = t->observes ? NULL : "nothing in the trace says that devices were watched";
	p->final = YES;
	p->host = m->host;
	p->pid = m->pid;
	p->rank = m->rank;
	p->exe = m->exe;
	p->clock = "trace";
	if (first && t->n_notes) {
		p->notes.items = t->notes;
		p->notes.n = t->n_notes;
	}
	return limit(t, p);
}

int trace_pictures(struct trace_sink *t, const char *collector, const struct picture *const **ret,
		   size_t *ret_n, struct err *err)
{
	const struct picture **list = arena_array(&t->arena, t->n_members + 1, sizeof *list);
	struct picture *all = arena_array(&t->arena, t->n_members + 1, sizeof *all);
	size_t n = 0;
	if (!list || !all)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < t->n_members; i++) {
		if (!t->members[i].flow)
			continue;
		int rc = flow_picture(t->members[i].flow, &t->arena, &all[n], err);
		if (!rc && describe(t, &t->members[i], collector, n == 0, &all[n]))
			rc = err_set(err, -ENOMEM, "out of memory");
		if (rc)
			return rc == -ERANGE ? -EINVAL : rc;
		list[n] = &all[n];
		n++;
	}
	*ret = list;
	*ret_n = n;
	return 0;
}
