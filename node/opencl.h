/* OpenCL devices of all drivers, by the loader, which is looked up when asked for: no OpenCL
 * software is needed to build. Drivers are started in this process, and may start threads. */
#ifndef NODE_OPENCL_H
#define NODE_OPENCL_H

#include <stddef.h>

#include "lib/arena.h"

/* The usual name of the loader. */
#define OPENCL_LOADER "libOpenCL.so.1"

struct opencl_info {
	const char *platform, *name, *vendor, *version, *driver; /* NULL unknown */
	const char *type;     /* "gpu", "cpu", "accelerator", "custom"; NULL unknown */
	double compute_units; /* NAN unknown, these three */
	double memory_bytes, clock_hz;
};

/* All in the arena, in the order of the loader. 0, -ENOENT: no loader, no driver or no device;
 * -ENOMEM. */
int opencl_ask(const char *library, struct arena *a, const struct opencl_info **ret, size_t *ret_n);

#endif
