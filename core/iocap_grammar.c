#include "core/iocap_grammar.h"

#include <string.h>

#include "lib/pages.h"

#define NONE 0xffffffffu
#define END 0xfffffffeu /* of a chain */
#define RULE 0x80000000u
#define GUARD 0xfffffffeu
#define FREE 0xffffffffu
#define TIMES_MAX 0xffffffffu
#define UTILITY 0x80000000u /* of what is to do: look at a rule, not at a node */

#define N(i) (g->nodes[i])

/* ---- memory ---- */

static bool grow(void **p, uint32_t *cap, size_t item, uint32_t first)
{
	uint32_t more = *cap ? *cap * 2 : first;
	void *q = more < UTILITY ? pages_resize(*p, *cap * item, more * item) : NULL;
	if (!q)
		return false;
	*p = q;
	*cap = more;
	return true;
}

static uint32_t node_new(struct iocap_grammar *g, uint32_t value, uint32_t times)
{
	uint32_t i = g->free_node;
	if (i != NONE)
		g->free_node = N(i).next;
	else if (g->nodes_top < g->nodes_cap ||
		 grow((void **)&g->nodes, &g->nodes_cap, sizeof *g->nodes, 204))
		i = g->nodes_top++;
	else
		return NONE;
	N(i) = (struct iocap_node){ .value = value, .times = times, .chain = NONE };
	return i;
}

static void node_free(struct iocap_grammar *g, uint32_t i)
{
	N(i).value = FREE;
	N(i).next = g->free_node;
	g->free_node = i;
}

static uint32_t rule_new(struct iocap_grammar *g)
{
	uint32_t r = g->free_rule;
	if (r != NONE)
		g->free_rule = g->rules[r].guard;
	else if (g->rules_top < g->rules_cap ||
		 grow((void **)&g->rules, &g->rules_cap, sizeof *g->rules, 341))
		r = g->rules_top++;
	else
		return NONE;
	uint32_t guard = node_new(g, GUARD, r);
	if (guard == NONE)
		return NONE;
	N(guard).prev = N(guard).next = guard;
	g->rules[r] = (struct iocap_rule){ .guard = guard };
	g->n_rules++;
	return r;
}

static void rule_free(struct iocap_grammar *g, uint32_t r)
{
	node_free(g, g->rules[r].guard);
	g->rules[r] = (struct iocap_rule){ .guard = g->free_rule, .uses = NONE };
	g->free_rule = r;
	g->n_rules--;
}

/* The same thing twice does no harm, so nobody looks whether it is there already. */
static void later(struct iocap_grammar *g, uint32_t what)
{
	if (g->n_todo < g->todo_cap || grow((void **)&g->todo, &g->todo_cap, sizeof *g->todo, 1024))
		g->todo[g->n_todo++] = what;
	else
		g->failed = true;
}

/* ---- uses of rules ---- */

static bool is_rule(uint32_t value)
{
	return (value & RULE) && value < GUARD;
}

static void use(struct iocap_grammar *g, uint32_t i)
{
	if (is_rule(N(i).value)) {
		struct iocap_rule *r = &g->rules[N(i).value & ~RULE];
		r->uses++;
		r->users ^= i;
	}
}

static void unuse(struct iocap_grammar *g, uint32_t i)
{
	if (is_rule(N(i).value)) {
		uint32_t number = N(i).value & ~RULE;
		struct iocap_rule *r = &g->rules[number];
		r->users ^= i;
		if (--r->uses == 1)
			later(g, number | UTILITY);
	}
}

/* ---- pairs, by what they are ---- */

static uint32_t bucket(const struct iocap_grammar *g, uint32_t i)
{
	const struct iocap_node *a = &N(i), *b = &N(a->next);
	uint64_t x = ((uint64_t)a->value << 32 | b->value) * UINT64_C(0x9e3779b97f4a7c15);
	x ^= x >> 29;
	x += (uint64_t)a->times << 32 | b->times;
	x *= UINT64_C(0xbf58476d1ce4e5b9);
	return (uint32_t)(x >> 32) & (g->buckets_cap - 1);
}

static bool same(const struct iocap_grammar *g, uint32_t i, uint32_t k)
{
	const struct iocap_node *a = &N(i), *b = &N(k);
	return a->value == b->value && a->times == b->times &&
	       N(a->next).value == N(b->next).value && N(a->next).times == N(b->next).times;
}

static void index_put(struct iocap_grammar *g, uint32_t i)
{
	uint32_t *head = &g->buckets[bucket(g, i)];
	N(i).chain = *head;
	*head = i;
}

static void index_drop(struct iocap_grammar *g, uint32_t i)
{
	if (N(i).chain == NONE)
		return;
	uint32_t *at = &g->buckets[bucket(g, i)];
	while (*at != i)
		at = &N(*at).chain;
	*at = N(i).chain;
	N(i).chain = NONE;
}

static bool index_grow(struct iocap_grammar *g)
{
	uint32_t cap = g->buckets_cap, wanted = cap ? cap * 2 : 1024;
	uint32_t *old = g->buckets;
	uint32_t *p = pages_resize(NULL, 0, (size_t)wanted * sizeof *p);
	if (!p)
		return false;
	memset(p, 0xff, (size_t)wanted * sizeof *p);
	for (uint32_t b = 0; b < wanted; b++)
		p[b] = END;
	g->buckets = p;
	g->buckets_cap = wanted;
	for (uint32_t b = 0; b < cap; b++)
		for (uint32_t i = old[b], next; i != END; i = next) {
			next = N(i).chain;
			index_put(g, i);
		}
	(void)pages_resize(old, (size_t)cap * sizeof *old, 0);
	return true;
}

/* ---- lists ---- */

static bool is_guard(const struct iocap_grammar *g, uint32_t i)
{
	return N(i).value == GUARD;
}

static void insert_after(struct iocap_grammar *g, uint32_t at, uint32_t i)
{
	N(i).prev = at;
	N(i).next = N(at).next;
	N(N(i).next).prev = i;
	N(at).next = i;
	g->items++;
}

/* b, behind a, which is the same symbol, becomes part of a. */
static bool melt(struct iocap_grammar *g, uint32_t a, uint32_t b)
{
	if (is_guard(g, a) || is_guard(g, b) || N(a).value != N(b).value ||
	    N(a).times > TIMES_MAX - N(b).times)
		return false;
	if (!is_guard(g, N(a).prev))
		index_drop(g, N(a).prev);
	index_drop(g, a);
	if (!is_guard(g, N(b).next))
		index_drop(g, b);
	N(a).times += N(b).times;
	N(a).next = N(b).next;
	N(N(b).next).prev = a;
	unuse(g, b);
	node_free(g, b);
	g->items--;
	return true;
}

/* i has new neighbours, or is new: where it now is, after it has melted with those that are the
 * same. */
static uint32_t settle(struct iocap_grammar *g, uint32_t i)
{
	uint32_t left = N(i).prev;
	if (melt(g, left, i))
		i = left;
	(void)melt(g, i, N(i).next);
	later(g, i);
	later(g, N(i).prev);
	return i;
}

static void substitute(struct iocap_grammar *g, uint32_t p, uint32_t rule)
{
	uint32_t q = N(p).next;
	if (!is_guard(g, N(p).prev))
		index_drop(g, N(p).prev);
	index_drop(g, p);
	if (!is_guard(g, N(q).next))
		index_drop(g, q);
	unuse(g, p);
	unuse(g, q);
	N(p).next = N(q).next;
	N(N(q).next).prev = p;
	node_free(g, q);
	g->items--;
	N(p).value = rule | RULE;
	N(p).times = 1;
	use(g, p);
	(void)settle(g, p);
}

static bool whole_body(const struct iocap_grammar *g, uint32_t i)
{
	return is_guard(g, N(i).prev) && is_guard(g, N(N(i).next).next) && N(N(i).prev).times != 0;
}

/* The pairs at i and at m, which is in the index, are the same. */
static void match(struct iocap_grammar *g, uint32_t i, uint32_t m)
{
	if (whole_body(g, m)) {
		substitute(g, i, N(N(m).prev).times);
		return;
	}
	if (whole_body(g, i)) {
		uint32_t rule = N(N(i).prev).times;
		substitute(g, m, rule);
		later(g, i);
		return;
	}
	uint32_t r = rule_new(g);
	uint32_t a = r == NONE ? NONE : node_new(g, N(i).value, N(i).times);
	uint32_t b = a == NONE ? NONE : node_new(g, N(N(i).next).value, N(N(i).next).times);
	if (b == NONE) {
		g->failed = true;
		return;
	}
	insert_after(g, g->rules[r].guard, a);
	insert_after(g, a, b);
	use(g, a);
	use(g, b);
	substitute(g, m, r);
	substitute(g, i, r);
	index_put(g, a);
}

/* The last item of rule 0 may still become more of the same, so its pair waits. */
static void look(struct iocap_grammar *g, uint32_t i)
{
	if (N(i).value == FREE || is_guard(g, i) || N(i).chain != NONE)
		return;
	uint32_t next = N(i).next;
	if (is_guard(g, next) || N(next).next == g->rules[0].guard)
		return;
	if (g->items > g->buckets_cap && !index_grow(g) && !g->buckets_cap) {
		g->failed = true;
		return;
	}
	uint32_t m = g->buckets[bucket(g, i)];
	while (m != END && !same(g, m, i))
		m = N(m).chain;
	if (m == END)
		index_put(g, i);
	else if (N(m).next != i && next != m)
		match(g, i, m);
}

/* A rule that is used once, and not several times there, is put in its user's place. */
static void look_rule(struct iocap_grammar *g, uint32_t r)
{
	if (r >= g->rules_top || g->rules[r].uses != 1 || N(g->rules[r].users).times != 1)
		return;
	uint32_t i = g->rules[r].users, guard = g->rules[r].guard;
	uint32_t first = N(guard).next, last = N(guard).prev, left = N(i).prev, right = N(i).next;
	if (!is_guard(g, left))
		index_drop(g, left);
	if (!is_guard(g, right))
		index_drop(g, i);
	N(left).next = first;
	N(first).prev = left;
	N(last).next = right;
	N(right).prev = last;
	node_free(g, i);
	g->items--;
	rule_free(g, r);
	if (first != last)
		(void)settle(g, last);
	(void)settle(g, first);
}

void iocap_grammar_put(struct iocap_grammar *g, uint32_t symbol)
{
	if (g->failed)
		return;
	if (!g->nodes_top) {
		g->free_node = g->free_rule = NONE;
		if (rule_new(g) == NONE || (!g->buckets_cap && !index_grow(g))) {
			g->failed = true;
			return;
		}
	}
	g->events++;
	uint32_t guard = g->rules[0].guard, tail = N(guard).prev;
	if (N(tail).value == symbol && N(tail).times < TIMES_MAX) {
		if (!is_guard(g, N(tail).prev))
			index_drop(g, N(tail).prev);
		N(tail).times++;
		return;
	}
	g->runs++;
	uint32_t i = node_new(g, symbol, 1);
	if (i == NONE) {
		g->failed = true;
		return;
	}
	insert_after(g, tail, i);
	later(g, N(tail).prev);
	while (g->n_todo && !g->failed) {
		uint32_t what = g->todo[--g->n_todo];
		if (what & UTILITY)
			look_rule(g, what & ~UTILITY);
		else
			look(g, what);
	}
}

void iocap_grammar_reset(struct iocap_grammar *g)
{
	for (uint32_t b = 0; b < g->buckets_cap; b++)
		g->buckets[b] = END;
	g->nodes_top = g->rules_top = g->n_todo = g->items = g->n_rules = 0;
	g->free_node = g->free_rule = NONE;
	g->runs = g->events = 0;
	g->failed = false;
}

void iocap_grammar_done(struct iocap_grammar *g)
{
	(void)pages_resize(g->nodes, g->nodes_cap * sizeof *g->nodes, 0);
	(void)pages_resize(g->rules, g->rules_cap * sizeof *g->rules, 0);
	(void)pages_resize(g->buckets, (size_t)g->buckets_cap * sizeof *g->buckets, 0);
	(void)pages_resize(g->todo, g->todo_cap * sizeof *g->todo, 0);
	*g = (struct iocap_grammar){ 0 };
}

size_t iocap_grammar_memory(const struct iocap_grammar *g)
{
	return g->nodes_cap * sizeof *g->nodes + g->rules_cap * sizeof *g->rules +
	       (size_t)(g->buckets_cap + g->todo_cap) * sizeof(uint32_t);
}

/* ---- out ---- */

bool iocap_grammar_write(struct iocap_grammar *g, struct iocap_column *lengths,
			 struct iocap_column *items, struct iocap_column *times)
{
	if (g->failed || !g->nodes_top)
		return !g->failed;
	size_t bytes = 2 * (size_t)g->rules_top * sizeof(uint32_t);
	uint32_t *order = pages_resize(NULL, 0, bytes);
	if (!order)
		return false;
	uint32_t *number = order + g->rules_top, n = 1; /* order[0] is rule 0; number 0: none yet */
	for (uint32_t k = 0; k < n; k++) {
		uint32_t guard = g->rules[order[k]].guard, length = 0;
		for (uint32_t i = N(guard).next; i != guard; i = N(i).next, length++) {
			uint32_t v = N(i).value;
			if (is_rule(v)) {
				uint32_t r = v & ~RULE;
				if (!number[r]) {
					number[r] = n;
					order[n++] = r;
				}
				iocap_column_put(items, (uint64_t)number[r] * 2 + 1);
			} else {
				iocap_column_put(items, (uint64_t)v * 2);
			}
			iocap_column_put(times, N(i).times - 1);
		}
		iocap_column_put(lengths, length);
	}
	(void)pages_resize(order, bytes, 0);
	return true;
}

struct level {
	uint32_t node, left; /* times that are left of the item it is in */
};

bool iocap_grammar_list(struct iocap_grammar *g, struct iocap_column *items,
			struct iocap_column *times)
{
	if (g->failed || !g->nodes_top)
		return !g->failed;
	size_t bytes = ((size_t)g->n_rules + 1) * sizeof(struct level);
	struct level *stack = pages_resize(NULL, 0, bytes);
	if (!stack)
		return false;
	size_t depth = 0;
	stack[0].node = N(g->rules[0].guard).next;
	uint32_t last = NONE;
	uint64_t run = 0;
	for (;;) {
		uint32_t i = stack[depth].node, v = N(i).value;
		if (v == GUARD) {
			if (!depth)
				break;
			struct level *up = &stack[--depth];
			uint32_t rule = N(up->node).value & ~RULE;
			if (--up->left)
				stack[++depth].node = N(g->rules[rule].guard).next;
			else
				up->node = N(up->node).next;
		} else if (is_rule(v)) {
			stack[depth].left = N(i).times;
			stack[++depth].node = N(g->rules[v & ~RULE].guard).next;
		} else {
			if (v != last && run) {
				iocap_column_put(items, (uint64_t)last * 2);
				iocap_column_put(times, run - 1);
			}
			run = v == last ? run + N(i).times : N(i).times;
			last = v;
			stack[depth].node = N(i).next;
		}
	}
	if (run) {
		iocap_column_put(items, (uint64_t)last * 2);
		iocap_column_put(times, run - 1);
	}
	(void)pages_resize(stack, bytes, 0);
	return true;
}
