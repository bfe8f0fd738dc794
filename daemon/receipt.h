/* The answer to a post of batches. Used by the writer's thread alone. */
#ifndef DAEMON_RECEIPT_H
#define DAEMON_RECEIPT_H

#include "daemon/entity.h"
#include "daemon/writer.h"

struct receipts;

struct receipts *receipts_new(void);
void receipts_free(struct receipts *r);

/* Held for the caller; NULL: out of memory. path: for a problem. */
struct entity *receipt(struct receipts *r, const struct post *p, const char *path);

#endif
