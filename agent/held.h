/* Logs that are known by their descriptor only: from folders that the agent can't see, or without a
 * name. A restart under systemd hands the descriptors on (its descriptor store); after a kill
 * elsewhere they are gone, and this file tells whose they were, so that it can be said what was
 * lost. */
#ifndef AGENT_HELD_H
#define AGENT_HELD_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/err.h"

struct held {
	char path[4096];
	int fd;                 /* of the file, appended to; -1: not open */
	size_t bytes, renew_at; /* of the file: made anew when it has so many */
	char *before; /* names of the life before that were not let go, a NUL behind each */
	size_t n_before;
};

/* Reads what the life before left, and begins anew. */
int held_open(struct held *h, const char *folder, struct err *err);
void held_close(struct held *h);

/* name: that of the stream. The descriptor is given to systemd, where there is one. told: its marks
 * come from a runner in any case, and are not lost without us. */
void held_add(struct held *h, const char *name, int fd, bool told);
void held_remove(struct held *h, const char *name);

/* The next name of the life before that has not come back; NULL: that was the last. *at is 0 at
 * first. */
const char *held_before(const struct held *h, size_t *at);
/* It came back, or is known to be lost; false: it is not one of them. */
bool held_settle(struct held *h, const char *name);

#endif
