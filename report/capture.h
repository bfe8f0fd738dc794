/* What is in a capture, as data: roimeter capture --show, and the daemon's route. */
#ifndef REPORT_CAPTURE_H
#define REPORT_CAPTURE_H

#include <jansson.h>

#include "schema/iocap.h"

/* Of all processes; *ret_unfinished: of how many the end is missing. */
struct iocap_sums report_capture_sums(const struct iocap *c, size_t *ret_unfinished);

/* NULL: out of memory. */
json_t *report_capture(const struct iocap *c, const char *folder);

#endif
