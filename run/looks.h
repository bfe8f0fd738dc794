/* Looks at one device, folded into bins of time as they come: constant memory however long it runs,
 * and still enough to leave out what was before and after the region. Pure. */
#ifndef RUN_LOOKS_H
#define RUN_LOOKS_H

#include "node/device.h"

#define LOOKS_BINS 512

/* The values of a sample that have a least, a mean and a most. */
#define LOOKS_VALUES(X) X(clock_hz) X(memory_clock_hz) X(power_w) X(temperature_c) X(busy_frac)
enum looks_value_place {
#define PLACE(name) LOOKS_##name,
	LOOKS_VALUES(PLACE)
#undef PLACE
		LOOKS_VALUE_COUNT
};

struct looks_value {
	double min, max, sum;
	uint64_t n; /* of the looks that had it */
};

struct looks_bin {
	int64_t first_real_ns, last_real_ns; /* begin of its first look, end of its last */
	uint64_t n, n_reasons, n_throttled;  /* n_reasons: of the looks that had reasons */
	uint32_t reasons;
	double others;                        /* most at once; NAN: no look had it */
	double energy_first_j, energy_last_j; /* NAN unknown */
	struct looks_value values[LOOKS_VALUE_COUNT];
};

struct looks {
	uint64_t n, per_bin; /* looks in a full bin: 1, 2, 4, ... */
	struct looks_bin bins[LOOKS_BINS];
};

void looks_clear(struct looks *l);
void looks_add(struct looks *l, int64_t begin_real_ns, int64_t end_real_ns,
	       const struct device_sample *s, double others);

/* The bins that lie within, in the fields of the row that are made of looks; the others are left.
 * Texts are constants; the list of reasons is in the arena. -ENOMEM. */
int looks_sum(const struct looks *l, int64_t from_real_ns, int64_t to_real_ns, struct arena *a,
	      struct device_state *ret);

#endif
