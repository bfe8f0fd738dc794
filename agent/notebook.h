/* The runs that are open on this node and who runs them, on disk: the next life of an agent that
 * was killed ends those whose runners were killed, too. One small file of slots, each with a sum
 * of its own; one that is damaged is free, and counted. */
#ifndef AGENT_NOTEBOOK_H
#define AGENT_NOTEBOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/err.h"

#define NOTEBOOK_SLOT 256u /* bytes */
#define NOTEBOOK_MAX 1024u /* runs */

struct noted {
	char run[128];  /* printable, no blanks */
	uid_t uid;      /* who speaks for it */
	pid_t pid;      /* of its runner, 0: not known */
	uint64_t start; /* of that process, clock ticks after boot; 0: not known */
	uint64_t space; /* the pid namespace in which it has this number; 0: not known */
	char boot[40];
	int64_t announced_real_ns; /* INT64_MIN: not known */
};

struct notebook;

/* Opens or makes the file in this folder; ret_damaged (may be NULL): slots that said nothing any
 * more. */
int notebook_open(struct notebook **ret, const char *folder, size_t *ret_damaged, struct err *err);
void notebook_close(struct notebook *b); /* syncs nothing; NULL is fine */

/* Copied, in the place of what was noted about the same run. -ENOSPC: too many, or no room on disk
 * for more; -EINVAL: a name that can't be noted; -ENOMEM. Nothing has changed then. */
int notebook_put(struct notebook *b, const struct noted *run, struct err *err);
void notebook_remove(struct notebook *b, const char *run);

/* Everything put and removed so far is durable. When it fails it is tried again by the next one. */
int notebook_sync(struct notebook *b, struct err *err);

/* One after the other; *at is 0 at first. Lent until the next call but this one. NULL: no more. */
const struct noted *notebook_next(const struct notebook *b, size_t *at);

/* One slot as bytes and back. 1: taken; 0: it is free; -EBADMSG: damaged. */
void notebook_slot_make(unsigned char slot[NOTEBOOK_SLOT], const struct noted *run);
int notebook_slot_read(struct noted *ret, const unsigned char slot[NOTEBOOK_SLOT]);

#endif
