/* Inside of period.c, period_fold.c and period_gaps.c. */
#ifndef CORE_PERIOD_IMPL_H
#define CORE_PERIOD_IMPL_H

#include "core/period.h"

/* What the flow looks like cut into cycles of best_hz: filled, correlation, error_s. -ENOMEM. */
int period_fold(const struct period_piece *pieces, size_t n, struct period *p);

/* Gaps between bursts, whatever the clock: gap_s, gap_chance. -ENOMEM. */
int period_gaps(const struct period_piece *pieces, size_t n, struct period *p);

/* Its bursts: one for each cycle that has one, or each stretch above half of the mean flow. */
int period_phases(const struct period_piece *pieces, size_t n, double resolution_s,
		  struct period *p);

/* The regularized incomplete beta function; a and b above 0. */
double period_beta(double x, double a, double b);

#endif
