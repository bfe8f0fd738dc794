/* Which numbers came, as spans without a hole. Pure. */
#ifndef STORE_SPANS_H
#define STORE_SPANS_H

#include "store/inbox.h"

#define SPANS_MAX 65536 /* of one sender: so many holes are a fault, not a loss */

/* In order, apart by at least one number. All-zero is a valid empty list. */
struct spans {
	struct inbox_span *items;
	size_t n, cap;
};

bool spans_has(const struct spans *s, uint64_t seq);

/* May it be added, within SPANS_MAX? */
bool spans_room(const struct spans *s, uint64_t seq);

/* Add a number that is not there yet. ret_low: the first number of the lowest span that is another
 * one now. -ENOMEM: nothing was changed. */
int spans_add(struct spans *s, uint64_t seq, int64_t from_ns, int64_t to_ns, uint64_t *ret_low);

/* How many numbers of [first, last] are in them. */
uint64_t spans_count(const struct spans *s, uint64_t first, uint64_t last);

/* Make to what from is; keeps to's memory. -ENOMEM: to is empty. */
int spans_copy(struct spans *to, const struct spans *from);
void spans_done(struct spans *s);

#endif
