/* The symbols of a capture: segments decoded and checked, and a walk over them. Nothing is
 * believed: rules may run in circles, or stand for more calls than there are numbers. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "schema/iocap_impl.h"

int iocap_bad(const struct rprocess *p, struct err *err, const char *what)
{
	return err_set(err, -EINVAL, "%s: the capture contradicts itself: %s", p->name, what);
}

int iocap_more(void **items, size_t n, size_t *cap, size_t item_bytes)
{
	if (n < *cap)
		return 0;
	size_t more = *cap ? *cap * 2 : 16;
	void *q = realloc(*items, more * item_bytes);
	if (!q)
		return -ENOMEM;
	*items = q;
	*cap = more;
	return 0;
}

void iocap_symbols_free(struct symbols *s)
{
	free(s->items);
	free(s->begin);
	free(s->length);
	free(s->events);
	*s = (struct symbols){ 0 };
}

static bool add_times(uint64_t *sum, uint64_t x, uint64_t times)
{
	uint64_t product;
	return !__builtin_mul_overflow(x, times, &product) &&
	       !__builtin_add_overflow(*sum, product, sum);
}

/* Lengths of all rules, those that a rule uses before it. stack has room for all rules. */
static bool measure(struct symbols *s, size_t *stack, size_t *at, uint32_t switches)
{
	size_t depth = 0;
	stack[0] = 0;
	at[0] = s->begin[0];
	uint8_t *state = calloc(s->n_rules, 1); /* 1 under way, 2 known */
	bool ok = state != NULL;
	if (ok)
		state[0] = 1;
	while (ok) {
		size_t rule = stack[depth];
		if (at[rule] == s->begin[rule + 1]) {
			ok = s->length[rule] > 0;
			state[rule] = 2;
			if (!depth)
				break;
			depth--;
			continue;
		}
		const struct iocap_item *i = &s->items[at[rule]];
		if (i->is_rule && state[i->value] == 0) {
			stack[++depth] = i->value;
			at[i->value] = s->begin[i->value];
			state[i->value] = 1;
			continue;
		}
		ok = !i->is_rule || state[i->value] == 2;
		uint64_t one = i->is_rule ? s->length[i->value] : 1;
		uint64_t events = i->is_rule ? s->events[i->value] : i->value + 1 != switches;
		ok = ok && add_times(&s->length[rule], one, i->times) &&
		     add_times(&s->events[rule], events, i->times);
		at[rule]++;
	}
	free(state);
	return ok;
}

static int read_items(const struct rprocess *p, bool handles, struct symbols *s,
		      const uint64_t *items, const uint64_t *times)
{
	for (size_t i = 0; i < s->n_items; i++) {
		uint64_t v = items[i] >> 1;
		bool rule = items[i] & 1;
		uint64_t limit = rule      ? s->n_rules
				 : handles ? 2 * (uint64_t)p->n_infos + 2
					   : p->n_signatures;
		if (v >= limit || times[i] == UINT64_MAX)
			return -EINVAL;
		s->items[i] = (struct iocap_item){ (uint32_t)v, rule, times[i] + 1 };
	}
	return 0;
}

int iocap_symbols_read(const struct rprocess *p, const struct segment *g, bool handles,
		       struct symbols *ret, struct err *err)
{
	struct symbols s = { 0 };
	struct iocap_in in = g->in;
	size_t n_times = 0, sum = 0;
	int rc = -EINVAL;
	uint64_t *lengths = g->list ? NULL : iocap_column_read(&in, COLUMN_MAX, &s.n_rules);
	uint64_t *items = iocap_column_read(&in, COLUMN_MAX, &s.n_items);
	uint64_t *times = iocap_column_read(&in, COLUMN_MAX, &n_times);
	size_t *scratch = NULL;
	if (g->list)
		s.n_rules = 1;
	if (in.bad || n_times != s.n_items || !s.n_items || !s.n_rules)
		goto done;
	s.items = malloc(s.n_items * sizeof *s.items);
	s.begin = calloc(s.n_rules + 1, sizeof *s.begin);
	s.length = calloc(s.n_rules, sizeof *s.length);
	s.events = calloc(s.n_rules, sizeof *s.events);
	scratch = calloc(2 * s.n_rules, sizeof *scratch);
	rc = -ENOMEM;
	if (!s.items || !s.begin || !s.length || !s.events || !scratch)
		goto done;
	rc = -EINVAL;
	for (size_t k = 0; k < s.n_rules; k++) {
		uint64_t length = g->list ? s.n_items : lengths[k];
		if (length > s.n_items - sum)
			goto done;
		s.begin[k] = sum;
		sum += length;
	}
	s.begin[s.n_rules] = sum;
	if (sum != s.n_items || read_items(p, handles, &s, items, times) ||
	    !measure(&s, scratch, scratch + s.n_rules, handles ? 0 : p->switches))
		goto done;
	if (s.length[0] == g->symbols)
		rc = 0;
done:
	free(lengths);
	free(items);
	free(times);
	free(scratch);
	if (rc) {
		iocap_symbols_free(&s);
		return rc == -ENOMEM ? err_set(err, rc, "out of memory")
				     : iocap_bad(p, err, "the rules of a stream");
	}
	*ret = s;
	return 0;
}

/* ---- walk ---- */

void iocap_walk_init(struct walk *w, struct rprocess *p, struct rstream *s, bool handles)
{
	*w = (struct walk){ .p = p, .s = s, .handles = handles };
}

void iocap_walk_done(struct walk *w)
{
	iocap_symbols_free(&w->now);
	free(w->stack);
	for (unsigned k = 0; k < IOCAP_VALUES; k++)
		free(w->values[k].x);
}

static int enter(struct walk *w, size_t rule, uint64_t times, struct err *err)
{
	if (iocap_more((void **)&w->stack, w->depth, &w->cap, sizeof *w->stack))
		return err_set(err, -ENOMEM, "out of memory");
	w->stack[w->depth++] =
		(struct step){ .item = w->now.begin[rule], .rule = rule, .left = times };
	return 0;
}

static int load(struct walk *w, struct err *err)
{
	iocap_symbols_free(&w->now);
	int rc = iocap_symbols_read(w->p, &w->s->segments[w->segment++], w->handles, &w->now, err);
	return rc ? rc : enter(w, 0, 1, err);
}

int iocap_walk_next(struct walk *w, uint32_t *ret_symbol, struct err *err)
{
	for (;;) {
		if (!w->depth) {
			if (w->segment == w->s->n_segments)
				return 0;
			int rc = load(w, err);
			if (rc)
				return rc;
		}
		struct step *top = &w->stack[w->depth - 1];
		if (top->item == w->now.begin[top->rule + 1]) { /* once more, or back */
			if (--top->left)
				top->item = w->now.begin[top->rule];
			else
				w->depth--;
			continue;
		}
		const struct iocap_item *i = &w->now.items[top->item];
		if (i->is_rule) {
			top->item++;
			int rc = enter(w, i->value, i->times, err);
			if (rc)
				return rc;
			continue;
		}
		if (!top->item_left)
			top->item_left = i->times;
		if (!--top->item_left)
			top->item++;
		*ret_symbol = i->value;
		return 1;
	}
}

int iocap_walk_value(struct walk *w, enum iocap_value kind, int64_t *ret, struct err *err)
{
	while (w->values[kind].at == w->values[kind].n) {
		free(w->values[kind].x);
		w->values[kind].x = NULL;
		w->values[kind].at = w->values[kind].n = 0;
		if (w->values[kind].block == w->s->values.n)
			return iocap_bad(w->p, err,
					 "a stream has fewer values than its calls need");
		struct iocap_in in = w->s->values.items[w->values[kind].block++].in;
		for (unsigned k = 0; k < kind; k++)
			(void)iocap_column_skip(&in);
		const uint8_t *begin = in.at;
		w->values[kind].x = iocap_column_read(&in, COLUMN_MAX, &w->values[kind].n);
		iocap_view_past(&w->p->file, begin, in.at);
		if (in.bad)
			return iocap_bad(w->p, err, "a column of values");
	}
	*ret = iocap_unzigzag(w->values[kind].x[w->values[kind].at++]);
	return 0;
}
