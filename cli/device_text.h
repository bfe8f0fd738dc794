/* What the device did, and what the files saw, in a few lines. */
#ifndef CLI_DEVICE_TEXT_H
#define CLI_DEVICE_TEXT_H

#include "lib/buf.h"
#include "schema/record.h"

/* Nothing where no execution was profiled; else what is null is said to be. */
void device_text(struct buf *b, const struct record_body *r);

#endif
