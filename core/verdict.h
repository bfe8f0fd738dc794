/* Were the collectors of a record's numbers tested on its platform? Pure. A record says what was
 * known when it was put together, and stays so; reports show the newest results beside it. */
#ifndef CORE_VERDICT_H
#define CORE_VERDICT_H

#include <stddef.h>

#include "schema/record.h"

struct verdict {
	const char *collector, *verdict, *utc, *why; /* as in struct conformance; why may be NULL */
};

#define VERDICT_MARKS "none" /* the collector of results that are about marks alone */

/* known: one for each collector. Sets platform_info.conformance to the verdict on the collector that
 * the device's numbers are of, else the first that was used, else on the marks, and adds a caveat
 * for each that has no pass: for `io`, too, where it counted in another's execution. Marks alone are tested by any pass, and by pass-clean-only. Borrows
 * nothing. 0, -ENOMEM. */
int record_put_verdicts(struct record *rec, const struct verdict *known, size_t n);

#endif
