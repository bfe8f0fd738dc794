/* Pauses that double. */
#include "lib/pace.h"

/* Many agents whose daemon went away must not come back at the same moment: xorshift, seeded by the
 * caller with something of its own. */
static uint64_t spread(struct pace *p, uint64_t pause_ns)
{
	if (!p->random)
		return pause_ns;
	p->random ^= p->random << 13;
	p->random ^= p->random >> 7;
	p->random ^= p->random << 17;
	return pause_ns - pause_ns / 4 + p->random % (pause_ns / 2 + 1);
}

uint64_t pace_next(struct pace *p, uint64_t now_ns, bool ok)
{
	if (ok) {
		p->pause_ns = 0;
		return now_ns + p->period_ns;
	}
	uint64_t first = p->first_ns ? p->first_ns : p->period_ns;
	if (!first)
		first = 1000000000u;
	/* Compared before it is doubled: no overflow, whatever max_ns is. */
	if (!p->pause_ns)
		p->pause_ns = first;
	else
		p->pause_ns = p->pause_ns > p->max_ns / 2 ? p->max_ns : p->pause_ns * 2;
	if (p->pause_ns > p->max_ns)
		p->pause_ns = p->max_ns;
	return now_ns + spread(p, p->pause_ns);
}
