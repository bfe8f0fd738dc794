/* What the daemon counts of itself. Written by the loop's thread, read by others: numbers of one
 * look may be of slightly different moments. */
#ifndef DAEMON_METRICS_H
#define DAEMON_METRICS_H

#include <stdint.h>

struct metrics;
struct route;

struct metrics *metrics_new(void);
void metrics_free(struct metrics *m);

/* One request has ended. route NULL: there was none for it. */
void metrics_count(struct metrics *m, const struct route *route, int status, uint64_t time_ns);
void metrics_connections(struct metrics *m, int change);
void metrics_cache(struct metrics *m, int hit);

#endif
