/* A file's bytes, to be looked at: read when they are few, else mapped, so that a capture may be
 * larger than memory. */
#ifndef SCHEMA_IOCAP_VIEW_H
#define SCHEMA_IOCAP_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

struct iocap_view {
	uint8_t *p;
	size_t n;
	bool mapped;
};

/* A file that becomes shorter while it is mapped ends the process with SIGBUS: captures only grow,
 * or are replaced whole. */
int iocap_view_open(struct iocap_view *v, const char *path, struct err *err);
/* Read in any case, so that nothing that is done to the file meanwhile can hurt. -EFBIG past max. */
int iocap_view_read(struct iocap_view *v, const char *path, size_t max, struct err *err);
void iocap_view_close(struct iocap_view *v);

/* These bytes, if they are mapped ones, need not stay in memory: they can be looked at again. */
void iocap_view_past(const struct iocap_view *v, const uint8_t *from, const uint8_t *to);

#endif
