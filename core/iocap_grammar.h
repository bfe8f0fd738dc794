/* A grammar of one sequence of symbols, made while they come (Sequitur, with repeat counts): no
 * pair of neighbours stands twice, and no rule is used once only, unless so many times in a row. A
 * pair that comes again is replaced by its rule, and a rule that is no longer needed is put in its
 * user's place by linking its list there: each step costs the same however long a rule is. */
#ifndef CORE_IOCAP_GRAMMAR_H
#define CORE_IOCAP_GRAMMAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/iocap_code.h"

#define IOCAP_SYMBOL_MAX 0x7fffffffu /* symbols are below it */

struct iocap_node {
	uint32_t prev, next, value, times, chain;
};
struct iocap_rule {
	uint32_t guard, uses,
		users; /* users: their nodes' numbers, xored: with one use, its node */
};

struct iocap_grammar {
	struct iocap_node *nodes;
	struct iocap_rule *rules;
	uint32_t *buckets, *todo;
	uint32_t nodes_cap, nodes_top, free_node; /* top: never used from here on */
	uint32_t rules_cap, rules_top, free_rule;
	uint32_t buckets_cap, todo_cap, n_todo;
	uint32_t items, n_rules; /* in all bodies; rules */
	uint64_t runs, events;   /* put so far: with a run of the same symbol as one, and each */
	bool failed;             /* no memory: reset it, what it had is lost */
};

void iocap_grammar_put(struct iocap_grammar *g, uint32_t symbol);
void iocap_grammar_reset(struct iocap_grammar *g); /* empty; keeps its memory */
void iocap_grammar_done(struct iocap_grammar *g);
size_t iocap_grammar_memory(const struct iocap_grammar *g);

/* Into columns: of each rule how many items it has; the items (symbol * 2, or rule * 2 + 1, rule 0
 * first, others in the order of first use); how often each, less one. False: no memory. */
bool iocap_grammar_write(struct iocap_grammar *g, struct iocap_column *lengths,
			 struct iocap_column *items, struct iocap_column *times);
/* The same as one rule without others. */
bool iocap_grammar_list(struct iocap_grammar *g, struct iocap_column *items,
			struct iocap_column *times);

#endif
