/* Threads that each have the store open for reading, and a queue before them. The loop's thread
 * never asks the store for more than its version: a query that takes long would hold up every
 * connection. */
#ifndef DAEMON_WORK_H
#define DAEMON_WORK_H

#include <stdbool.h>

#include "lib/err.h"
#include "store/store.h"

/* Put into the struct of what is to be done. */
struct work {
	struct work *next;
	void (*run)(struct work *w, struct store *s);
};

struct work_pool;

/* The stores are opened before this returns. */
int work_start(struct work_pool **ret, const char *db, int threads, struct err *err);

/* False: too much is waiting already. */
bool work_put(struct work_pool *p, struct work *w);

/* What is queued is done first; nothing is taken after it. NULL is fine for both. */
void work_stop(struct work_pool *p);
void work_free(struct work_pool *p);

#endif
