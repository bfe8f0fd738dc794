/* Answers GET report. The text is kept, in parts, and its file ready to be sent; when something is
 * stored only the parts that it touched are made anew, ahead of the next question where somebody
 * has asked lately. What is sent is never older than what was stored when it was asked for. */
#ifndef DAEMON_REPORTER_H
#define DAEMON_REPORTER_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/entity.h"
#include "daemon/work.h"
#include "lib/err.h"
#include "store/store.h"

struct reporter;

/* The store is opened before this returns, and the report of all that is in it is begun. */
int reporter_start(struct reporter **ret, const char *db, struct err *err);

/* The report of a suite (NULL: of all), of this version of the store (store_version) or a later
 * one, held for the caller. NULL: it has to be made. Any thread. */
struct entity *reporter_get(struct reporter *r, const char *suite, bool gzip, uint64_t version);

/* w is run on the reporter's thread with its store; there it may call reporter_make. False: too
 * much is waiting already. */
bool reporter_put(struct reporter *r, struct work *w);

/* As the store is now. *ret is held for the caller. -ENOENT: there is no such suite. */
int reporter_make(struct reporter *r, struct store *s, const char *suite, bool gzip,
		  struct entity **ret, struct err *err);

/* The store has this version now. Any thread; the sooner it is said, the sooner the report is
 * ready. */
void reporter_tick(struct reporter *r, uint64_t version);

/* What is queued is done first; nothing is taken after it. NULL is fine for both. */
void reporter_stop(struct reporter *r);
void reporter_free(struct reporter *r);

#endif
