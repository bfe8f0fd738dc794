/* Between the runner's side of the sampler and its process. */
#ifndef RUN_SAMPLER_IMPL_H
#define RUN_SAMPLER_IMPL_H

#include <stdatomic.h>

#include "run/looks.h"
#include "run/sampler.h"

#define SAMPLED_MAX 64
#define SAMPLER_RUN_BYTES 64

struct sampler_message {
	uint32_t execution; /* counts from 1; 0: it is over */
	pid_t root;
	char run_id[SAMPLER_RUN_BYTES];
};

struct sampled {
	bool gone;
	struct looks looks;
};

/* Shared memory. What is behind seq is written while it is odd, by the sampler only, and never for
 * longer than it takes to copy: no driver is asked meanwhile. */
struct sampler_page {
	_Atomic uint32_t ready;           /* the drivers have answered */
	_Atomic int64_t looking_since_ns; /* CLOCK_MONOTONIC; 0: it is waiting */
	_Atomic uint64_t cpu_ns, wakeups; /* its own */
	_Atomic uint32_t seq;
	uint32_t execution; /* what is below is of this one */
	uint32_t n;
	struct sampled devices[SAMPLED_MAX];
};

/* The process: ends with the runner. */
_Noreturn void sampler_process(struct sampler_page *page, int control,
			       const struct sampler_options *o);

#endif
