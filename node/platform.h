/* What this machine is called, and why: <vendor>-<product>.<runtime><version>. */
#ifndef NODE_PLATFORM_H
#define NODE_PLATFORM_H

#include "lib/arena.h"
#include "lib/err.h"
#include "schema/record.h"

struct platform {
	const char *id;
	const char *why; /* a sentence: where the name comes from */
	struct platform_info info;
};

struct platform_options {
	const char *root;      /* "" for this machine, else a folder with proc, sys and etc in it */
	const char *nvml;      /* library to ask for NVIDIA devices; NULL: none is asked */
	double driver_limit_s; /* for the drivers of accelerators to answer; 0: the usual */
};

/* The usual name of NVML. */
#define PLATFORM_NVML "libnvidia-ml.so.1"

/* All in the arena. Whatever can't be found out is null; the name is always there. The drivers of
 * accelerators are asked by a process of its own, so that one that hangs or crashes is no more than
 * a driver that is not there. The caller is single-threaded. -ENOMEM. */
int platform_probe(struct platform *ret, struct arena *a, const struct platform_options *o,
		   struct err *err);

/* The same name by hand: may it be one? -EINVAL with what is wrong. */
int platform_check_id(const char *id, struct err *err);

/* "AMD EPYC 7763 64-Core Processor" -> "amd-epyc-7763", "Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz"
 * -> "intel-xeon-gold-6338". */
const char *platform_cpu_product(struct arena *a, const char *model);

/* "NVIDIA A100-SXM4-80GB" -> "a100-sxm4-80gb". */
const char *platform_gpu_product(struct arena *a, const char *name);

#endif
