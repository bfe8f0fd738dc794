/* What a report and the REST interface say in short of a conformance result. */
#ifndef REPORT_BADGE_H
#define REPORT_BADGE_H

#include <jansson.h>

#include "schema/conformance.h"

#define BADGE_FAILS_MAX 12 /* names of failed checks; failed tells how many there are */

/* {"collector","verdict","utc","passed","failed","skipped", and, where there is something to say,
 * "why", "fails": [names]}. NULL: out of memory. */
json_t *report_badge(const struct conformance *c);

#endif
