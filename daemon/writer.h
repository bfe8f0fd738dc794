/* The one thread that changes the store. Posts of agents that wait are taken together, in one
 * transaction, and each is answered when that is durable: many cost one sync of the disk. What else
 * changes the store has its turn between two groups. */
#ifndef DAEMON_WRITER_H
#define DAEMON_WRITER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/work.h"
#include "lib/err.h"
#include "store/store.h"

/* Put into the struct of whose body it is. */
struct post {
	struct post *next;
	const void *body;
	size_t n;
	/* On the writer's thread, once it is known what has become of it; the post is its owner's
	 * again. */
	void (*done)(struct post *p);

	uint64_t batches, duplicates; /* where rc is 0 */
	bool due;                     /* so that the next tick should come soon */
	/* 0: durable. -EBADMSG, -EEXIST, -EPROTONOSUPPORT, -E2BIG: refused, nothing of it was
	 * stored. Any other: the store failed, and the same body may be posted again. */
	int rc;
	char *why; /* a sentence to go with rc, or NULL; its owner frees it */
};

/* What is done with the bodies. */
struct writer_core {
	void *self;
	/* By writer_start, once the store is open. */
	int (*open)(void *self, struct store *s, struct err *err);
	/* On the writer's thread, within a transaction that others share: what is refused has
	 * changed nothing. Fills in what p says when rc is 0. */
	int (*take)(void *self, struct store *s, struct post *p, struct err *err);
	/* On the writer's thread, about once a second and when a post said so; no transaction is
	 * open. *ret_pause_ns: call again no later than after that. */
	int (*tick)(void *self, struct store *s, uint64_t *ret_pause_ns, struct err *err);
};

#define WRITER_BUCKETS 8
extern const double writer_bounds_s[WRITER_BUCKETS];

/* Since the start. Written by the writer alone. */
struct writer_numbers {
	atomic_ulong posts, bytes, batches, duplicates, refused, failed;
	atomic_ulong commits, commit_ns, commit_buckets[WRITER_BUCKETS + 1];
};

struct writer;

/* The store is opened, and made, before this returns. */
int writer_start(struct writer **ret, const char *db, const struct writer_core *core,
		 struct err *err);

/* False: too much is waiting already, or it ends. */
bool writer_post(struct writer *w, struct post *p);
bool writer_put(struct writer *w, struct work *job);
bool writer_is_full(struct writer *w);

/* So many more, or fewer, are connected and may post. */
void writer_senders(struct writer *w, long change);

const struct writer_numbers *writer_numbers(const struct writer *w);

/* What is queued is done first; nothing is taken after it. NULL is fine for both. */
void writer_stop(struct writer *w);
void writer_free(struct writer *w);

#endif
