/* Bins of the histograms over durations: exact up to 7 ns, then four to a power of two, so a
 * quantile read from them is right within a quarter of its power. */
#include "schema/roilog.h"

unsigned roi_bin(uint64_t ns)
{
	if (ns < 4)
		return (unsigned)ns;
	unsigned power = 63 - (unsigned)__builtin_clzll(ns); /* at least 2 */
	unsigned bin = 4 * (power - 1) + (unsigned)(ns >> (power - 2) & 3);
	return bin < ROI_BINS ? bin : ROI_BINS - 1;
}

uint64_t roi_bin_top(unsigned bin)
{
	if (bin < 4)
		return bin;
	if (bin >= ROI_BINS - 1)
		return UINT64_MAX;
	unsigned power = bin / 4 + 1;
	uint64_t width = UINT64_C(1) << (power - 2);
	return (4 + bin % 4) * width + width - 1;
}
