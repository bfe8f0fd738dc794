/* What the writer does with the bodies of agents: hands them to gather, closes what is due, and
 * tells the events of what came of it. */
#ifndef DAEMON_INGEST_H
#define DAEMON_INGEST_H

#include "daemon/config.h"
#include "daemon/events.h"
#include "daemon/writer.h"

struct ingest;

struct ingest *ingest_new(const struct daemon_config *c, struct events *e);
void ingest_free(struct ingest *i);

/* Good as long as i is. */
struct writer_core ingest_core(struct ingest *i);

#endif
