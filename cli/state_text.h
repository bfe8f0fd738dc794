/* How accelerators and the processor ran while the clean executions did, in lines for people. */
#ifndef CLI_STATE_TEXT_H
#define CLI_STATE_TEXT_H

#include "lib/buf.h"
#include "schema/record.h"

/* One line a device, "clock 1.2 to 1.98 GHz, mean 1.6; 350 W, ...", for the value's column. */
void state_text_device(struct buf *b, const struct device_state *s);

/* Frequency, heat and energy of the processor. Empty where nothing is known. */
void state_text_cpu(struct buf *b, const struct context *c);

#endif
