/* The body of a request, as it comes in. Memory is taken for bytes that are here, never for a
 * length that was only said; what all bodies take together is bounded too. */
#ifndef DAEMON_BODY_H
#define DAEMON_BODY_H

#include <stdatomic.h>
#include <stddef.h>

/* Of all bodies that are being read or wait. */
struct body_budget {
	atomic_size_t used;
	size_t max;
};

struct body {
	char *data;
	size_t len, cap;
	size_t max, expected; /* expected: the length that was said; 0: none */
	struct body_budget *budget;
	int failed; /* 0; -E2BIG: past max; -ENOBUFS: past the budget; -ENOMEM */
};

/* Nothing is allocated yet. */
void body_begin(struct body *b, struct body_budget *budget, size_t max, size_t expected);

/* Once it has failed, what there was is freed, and what comes is only counted off. */
void body_add(struct body *b, const void *bytes, size_t n);

/* All-zero is fine. */
void body_done(struct body *b);

#endif
