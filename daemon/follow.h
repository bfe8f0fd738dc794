/* Watches the store for what anybody writes, and tells it as events: "run" for each new run, with
 * its row; "gone" for one that was removed; "change" behind them. The daemon is not the only one
 * that may write: "roimeter run" on the same machine does too. */
#ifndef DAEMON_FOLLOW_H
#define DAEMON_FOLLOW_H

#include "daemon/events.h"
#include "store/store.h"

struct follow;

struct follow *follow_new(void);
void follow_free(struct follow *f);

/* The first call only looks. A run is noticed when it is among the newest 1000. */
int follow_poll(struct follow *f, struct store *s, struct events *e, struct err *err);

#endif
