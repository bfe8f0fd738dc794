/* Server-sent events: what happened lately, kept for those who come back, and the streams that
 * are open. Used by the loop's thread and by whoever pushes. */
#ifndef DAEMON_EVENTS_H
#define DAEMON_EVENTS_H

#include <microhttpd.h>

struct events;

/* boot goes into the ids, so that those of another start of the daemon are not taken for ours. */
struct events *events_new(int max_streams, unsigned boot);
void events_free(struct events *e); /* when no stream is left */

void events_push(struct events *e, const char *name, const char *data);
/* A comment to all: proxies keep the line, and a client that is gone is found out. */
void events_beat(struct events *e);
/* All streams end, and no new one begins. */
void events_stop(struct events *e);

/* The endless answer on this connection. last_id: Last-Event-ID, or NULL. NULL: too many. */
struct MHD_Response *events_stream(struct events *e, struct MHD_Connection *c, const char *last_id);

#endif
