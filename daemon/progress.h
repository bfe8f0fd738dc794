/* A run that is not a record yet, as the API tells it. */
#ifndef DAEMON_PROGRESS_H
#define DAEMON_PROGRESS_H

#include <jansson.h>

#include "daemon/gather.h"
#include "lib/buf.h"

/* NULL: out of memory. */
json_t *progress_json(const struct gather_running *r);

/* The same on one line. -ENOMEM. */
int progress_text(struct buf *b, const struct gather_running *r);

#endif
