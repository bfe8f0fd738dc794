/* Times of CUPTI on CLOCK_MONOTONIC. libcupti is asked, once, to take its stamps from our clock;
 * its own would be CLOCK_REALTIME, which jumps. Whether it does is seen by asking it for a stamp
 * between two readings of ours. Where it does not, times are converted by the difference of the
 * clocks. */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "collectors/cupti_impl.h"
#include "collectors/live.h"

#define TRIES 8
#define JUMP_NS 1000000 /* a clock that is set, not one that is slewed between two buffers */
#define SAME_NS 1000000 /* more than that off: another clock */

static enum { ON_OURS, ON_REALTIME, ON_OTHER } source;
static int64_t offset; /* of the stamps to CLOCK_MONOTONIC; 0 with our clock */
static bool compared;
static int64_t first_offset, last_offset, widest; /* whole: a double counts 50 years by 256 ns */

static int64_t read_clock(clockid_t clock)
{
	struct timespec t;
	(void)clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t cupti_clock_now(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

static uint64_t stamp(void)
{
	return (uint64_t)read_clock(CLOCK_MONOTONIC);
}

static int64_t realtime_now(void)
{
	return read_clock(CLOCK_REALTIME);
}

static int64_t stamp_now(void)
{
	uint64_t t = 0;
	return cupti.timestamp && cupti.timestamp(&t) == 0 ? (int64_t)t : -1;
}

/* The other clock less ours, from the narrowest of a few pairs of our readings around one of it;
 * -1: it can't be read. 0: and how far off that may be. */
static int compare(int64_t (*other)(void), int64_t *ret_offset, int64_t *ret_error)
{
	int64_t narrowest = INT64_MAX;
	for (int i = 0; i < TRIES; i++) {
		int64_t before = cupti_clock_now(), at = other(), after = cupti_clock_now();
		if (at < 0)
			return -1;
		if (after - before < narrowest) {
			narrowest = after - before;
			*ret_offset = at - (before + narrowest / 2);
		}
	}
	*ret_error = narrowest / 2 + 1;
	return 0;
}

static void keep(int64_t o, int64_t error)
{
	if (!compared)
		first_offset = o;
	compared = true;
	last_offset = o;
	if (error > widest)
		widest = error;
}

void cupti_clock_start(void)
{
	int rc = cupti.register_timestamp ? cupti.register_timestamp(stamp) : -1;
	int64_t o = 0, error = 0, real = 0, real_error = 0;
	bool known = compare(stamp_now, &o, &error) == 0;
	if (rc == CUPTI_OK && (!known || llabs(o) <= SAME_NS + error)) {
		source = ON_OURS;
		offset = 0;
		keep(known ? o : 0, known ? error : 0);
		return;
	}
	(void)compare(realtime_now, &real, &real_error);
	source = !known || llabs(o - real) <= SAME_NS ? ON_REALTIME : ON_OTHER;
	offset = source == ON_REALTIME ? real : o;
	keep(offset, source == ON_REALTIME ? real_error : error);
}

void cupti_clock_refresh(void)
{
	int64_t o = 0, error = 0;
	if (source == ON_OURS ||
	    compare(source == ON_REALTIME ? realtime_now : stamp_now, &o, &error) != 0)
		return;
	int64_t old = __atomic_exchange_n(&offset, o, __ATOMIC_RELAXED);
	if (llabs(o - old) > JUMP_NS + error) /* large where each reading was interrupted */
		live_note(
			"the clock of the device's times was set while the program ran: operations "
			"around that moment have wrong times");
}

void cupti_clock_check(void)
{
	int64_t o = 0, error = 0;
	if (compare(source == ON_REALTIME ? realtime_now : stamp_now, &o, &error) == 0)
		keep(o, error);
}

void cupti_clock_tell(void)
{
	if (source != ON_OURS)
		live_note("CUPTI did not take its time stamps from our clock; they were converted "
			  "from %s",
			  source == ON_REALTIME ? "CLOCK_REALTIME" : "a clock of its own");
	if (compared)
		live_clock((double)first_offset, (double)(last_offset - first_offset),
			   (double)widest);
}

int64_t cupti_clock_convert(uint64_t t)
{
	return (int64_t)t - __atomic_load_n(&offset, __ATOMIC_RELAXED);
}
