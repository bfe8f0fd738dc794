/* How the bytes of a flow lie over time and over frequencies, at one width of bins. Bins keep the
 * volume: a piece gives each bin what falls into it, so no burst is missed between two samples. */
#ifndef CORE_SPECTRUM_H
#define CORE_SPECTRUM_H

#include <stddef.h>

#include "core/period.h"

#define SPECTRUM_BINS 65536

struct spectrum {
	double begin_s, span_s, rate_hz;
	size_t n_bins;
	double *bins;       /* bytes */
	double step_hz;     /* between two lines */
	size_t n;           /* lines, up to half the rate */
	double *power_upto; /* of lines 0 to k; as a share of the mean flow's square */
};

/* Volume in each of n bins from begin_s on; n above 0. -ENOMEM. */
int spectrum_bin(const struct period_piece *pieces, size_t n_pieces, double begin_s, double bin_s,
		 double *bins, size_t n);

/* n_bins from begin_s to the end of the span, at most SPECTRUM_BINS; something was moved. -ENOMEM.
 */
int spectrum_of(struct spectrum *s, const struct period_piece *pieces, size_t n_pieces,
		double begin_s, double span_s, size_t n_bins);
void spectrum_done(struct spectrum *s);

/* A fundamental and its harmonics against all that lies around them. */
struct family {
	unsigned lines;  /* harmonics that were taken, the fundamental among them */
	double share;    /* of the band's variation within half a line's width of them */
	double expected; /* the same of a flat spectrum */
	double weight;   /* of the lines: 1 when one has it all, `lines` when all have the same */
	double score; /* how much better than a flat spectrum this explains the flow; 0: not at all
		       */
};

/* The family of a frequency, with as many harmonics as explain most. Score 0 where the bins are too
 * wide to see it. */
struct family spectrum_family(const struct spectrum *s, double hz);

/* Power at exactly this frequency and its first harmonics. */
double spectrum_at(const struct spectrum *s, double hz, unsigned lines);

#endif
