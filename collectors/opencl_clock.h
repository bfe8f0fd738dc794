/* The clock behind a device's profiling times, found by what is true of it: a command that ran
 * between two readings of the right clock has its times between them. Then those times on
 * CLOCK_MONOTONIC, by pairs of readings taken now and then. Knows no OpenCL; not locked. */
#ifndef COLLECTORS_OPENCL_CLOCK_H
#define COLLECTORS_OPENCL_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum opencl_source { ON_MONOTONIC, ON_MONOTONIC_RAW, ON_BOOTTIME, ON_REALTIME, ON_TIMER, SOURCES };

#define NO_READING INT64_MIN /* of a source that can't be read here */

/* All sources, read back to back. */
struct opencl_reading {
	int64_t at_ns[SOURCES];
	int64_t width_ns; /* how long the reading took */
};

/* A command that ran between two readings, in the device's own time. */
struct opencl_bracket {
	struct opencl_reading before, after;
	int64_t start_ns, end_ns;
};

/* The device's own timer; false: it can't be read. */
typedef bool opencl_timer(void *device, int64_t *ret_ns);

#define CLOCK_PAIRS 256

struct opencl_clock {
	unsigned fits; /* bit 1u << source: not contradicted so far */
	enum opencl_source source;
	int64_t tolerance_ns;
	int64_t worst_ns; /* how far outside of what is possible a time was */
	int64_t width_ns; /* the widest reading of those that are used */
	int64_t first_offset_ns;
	size_t n;
	struct opencl_reading pairs[CLOCK_PAIRS];
};

/* The narrowest of a few. timer may be NULL. */
void opencl_read(struct opencl_reading *ret, opencl_timer *timer, void *device);

/* False: none of the sources fits all brackets. The first readings are taken from them. */
bool opencl_clock_find(struct opencl_clock *c, const struct opencl_bracket *b, size_t n,
		       int64_t resolution_ns);

/* Is another reading worth its time? */
bool opencl_clock_stale(const struct opencl_clock *c, int64_t now_ns);
void opencl_clock_pair(struct opencl_clock *c, const struct opencl_reading *r);

/* A command that was given to the runtime at begun_ns and was known to be over at known_ns, both on
 * CLOCK_MONOTONIC: its times of the device become times on CLOCK_MONOTONIC. Where two clocks could
 * not be told apart at the start, what commands say decides later. */
void opencl_clock_convert(struct opencl_clock *c, int64_t begun_ns, int64_t known_ns,
			  int64_t *start_ns, int64_t *end_ns);

/* Of the device's clock to CLOCK_MONOTONIC: at the start, its change since, and the error of both.
 */
void opencl_clock_tell(const struct opencl_clock *c, double *ret_offset, double *ret_drift,
		       double *ret_error);
const char *opencl_source_name(enum opencl_source s);

#endif
