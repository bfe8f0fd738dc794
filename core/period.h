/* The period of a flow of bytes over time, if it has one. Deterministic: the same pieces give the
 * same answer. docs/period.md has the formulas and how often the answer is right. */
#ifndef CORE_PERIOD_H
#define CORE_PERIOD_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes that were moved evenly between two moments. Of one moment when both are the same. */
struct period_piece {
	double begin_s, end_s, bytes; /* finite; bytes not below 0 */
};

#define PERIOD_RATES 12

struct period_options {
	double resolution_s;    /* what the pieces were summed over before; 0: they are as they
				   happened */
	const double *rates_hz; /* widths of bins to look at; NULL: seven, made to the length */
	size_t n_rates;         /* at most PERIOD_RATES */
};

/* The answer of one width of bins, by itself. */
struct period_rate {
	double rate_hz;
	size_t bins;
	double frequency_hz; /* the family that explains most here; NAN where there is nothing */
	double share; /* of the variation that the answer's family explains here; NAN: not to be
			 seen */
	signed char
		agrees; /* enum ternary: with the answer; UNKNOWN: these bins are too wide for it */
};

/* Of why_not: nothing can be said. Any other says that there is none. */
#define PERIOD_NOTHING "nothing was moved"
#define PERIOD_TOO_FEW "the flow is known in too few bins to see one"

struct period_phase {
	double begin_s, end_s, bytes;
};

struct period {
	double begin_s, end_s, bytes; /* from the first byte to the last */
	/* The answer. All NAN when there is no period. */
	double period_s, frequency_hz;
	double error_s;    /* of period_s: one standard deviation */
	double confidence; /* 0 to 1 */
	/* What it is made of, of the best candidate, also when it was turned down. NAN: none. */
	double best_hz;
	double chance;    /* that a flow without a period would show so much */
	double share;     /* of the variation in the family, less what chance gives; 0 to 1 */
	double agreement; /* of the widths that can see it, the share that find it by themselves */
	double gap_s;         /* mean gap between the centres of bursts */
	double gap_chance;    /* that gaps between bursts at random would be so even */
	double correlation;   /* of the flow with itself, one period later */
	double cycles;        /* from begin to end */
	size_t filled;        /* cycles that moved anything worth speaking of */
	double first_cycle_s; /* where the first of them begins, where the flow is thinnest */
	const char *why_not;  /* a sentence's end; NULL when there is a period */
	struct period_rate rates[PERIOD_RATES];
	size_t n_rates;
	struct period_phase *phases; /* in order */
	size_t n_phases;
};

/* pieces in any order. -ENOMEM, -EINVAL for pieces or rates that are none. */
int period_of(const struct period_piece *pieces, size_t n, const struct period_options *options,
	      struct period *ret);
void period_done(struct period *p);

#endif
