/* A process's calls, one by one, with their times: rules are expanded as it goes. */
#include "import/recorder_trace.h"

#include <errno.h>
#include <stdlib.h>

struct frame {
	uint32_t rule, symbol; /* which of the rule's */
	uint32_t done;         /* times of that symbol that are behind us */
};

struct recorder_cursor {
	struct recorder *r;
	const struct recorder_rank *rank;
	struct recorder_ticks *ticks;
	struct frame *frames; /* rules that are under way: no rule is in itself, so there is room */
	size_t depth;
	uint64_t at; /* begin of the call before, in ticks: one for all levels of rules */
};

int recorder_begin(struct recorder_cursor **ret, struct recorder *r, size_t rank, struct err *err)
{
	struct recorder_cursor *c = calloc(1, sizeof *c);
	if (!c)
		return err_set(err, -ENOMEM, "out of memory");
	c->r = r;
	c->rank = &r->ranks[rank];
	c->frames = calloc(c->rank->grammar->n_rules + 1, sizeof *c->frames);
	int rc = c->frames ? recorder_ticks_of(r, rank, &c->ticks, err) : err_set(err, -ENOMEM, "out of memory");
	if (rc) {
		recorder_end(c);
		return rc;
	}
	c->depth = c->rank->grammar->n_rules ? 1 : 0;
	*ret = c;
	return 0;
}

void recorder_end(struct recorder_cursor *c)
{
	if (!c)
		return;
	recorder_ticks_close(c->ticks);
	free(c->frames);
	free(c);
}

/* The next signature; -1: no more. */
static int64_t next_value(struct recorder_cursor *c)
{
	const struct recorder_grammar *g = c->rank->grammar;
	while (c->depth) {
		struct frame *f = &c->frames[c->depth - 1];
		const struct recorder_rule *rule = &g->rules[f->rule];
		if (f->symbol == rule->n) {
			c->depth--;
			continue;
		}
		const struct recorder_symbol *s = &g->symbols[rule->first + f->symbol];
		if (f->done == s->times) {
			f->symbol++;
			f->done = 0;
			continue;
		}
		/* A rule without calls need not be gone through a billion times. */
		f->done = s->is_rule && !g->rules[s->value].events ? s->times : f->done + 1;
		if (!s->is_rule)
			return s->value;
		if (g->rules[s->value].events)
			c->frames[c->depth++] = (struct frame){ .rule = s->value };
	}
	return -1;
}

int recorder_next(struct recorder_cursor *c, struct recorder_call *ret, struct err *err)
{
	uint32_t begin, end;
	int64_t value = next_value(c);
	if (value < 0)
		return 0;
	int rc = recorder_ticks_next(c->ticks, &begin, &end, err);
	if (rc < 0)
		return rc;
	if (!rc)
		return c->r->salvage ? 0
				     : err_set(err, -EINVAL,
					       "%s: the times end before the calls: the trace is cut or damaged",
					       c->r->path);
	const struct recorder_key *key = &c->rank->table->keys[value];
	*ret = (struct recorder_call){ .key = key, .function = c->r->functions[key->function],
				       .begin = c->at + begin, .end = c->at + end };
	c->at = ret->begin;
	return 1;
}
