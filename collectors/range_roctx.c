/* ROCTX, of ROCm's libroctx64 and librocprofiler-sdk-roctx: this library is preloaded, so a program
 * finds these before them. A program that looks them up in its own handle of the library does not.
 */
#include "collectors/range.h"

#define PUBLIC __attribute__((visibility("default")))

PUBLIC int roctxRangePushA(const char *name);
PUBLIC int roctxRangePop(void);
PUBLIC uint64_t roctxRangeStartA(const char *name);
PUBLIC void roctxRangeStop(uint64_t number);

/* ROCTX and NVTX may be used in one thread: ranges of the two do not end each other. */
static const char domain;

int roctxRangePushA(const char *name)
{
	return range_push(&domain, range_fits(name));
}

int roctxRangePop(void)
{
	return range_pop(&domain);
}

uint64_t roctxRangeStartA(const char *name)
{
	return range_start(range_fits(name));
}

void roctxRangeStop(uint64_t number)
{
	range_end(number);
}
