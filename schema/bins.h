/* Bins of histograms over durations: exact up to 7 ns, then four to a power of two, so that a
 * quantile read from them is right within a quarter of its power. Inline, since marks count by
 * them. */
#ifndef SCHEMA_BINS_H
#define SCHEMA_BINS_H

#include <stdint.h>

#define ROI_BINS 128

/* The bin of a duration; the last one holds the rest, from 7.5 s on. */
static inline unsigned roi_bin(uint64_t ns)
{
	if (ns < 4)
		return (unsigned)ns;
	unsigned power = 63 - (unsigned)__builtin_clzll(ns); /* at least 2 */
	unsigned bin = 4 * (power - 1) + (unsigned)(ns >> (power - 2) & 3);
	return bin < ROI_BINS ? bin : ROI_BINS - 1;
}

/* The largest duration of a bin, in ns. */
static inline uint64_t roi_bin_top(unsigned bin)
{
	if (bin < 4)
		return bin;
	if (bin >= ROI_BINS - 1)
		return UINT64_MAX;
	unsigned power = bin / 4 + 1;
	uint64_t width = UINT64_C(1) << (power - 2);
	return (4 + bin % 4) * width + width - 1;
}

#endif
