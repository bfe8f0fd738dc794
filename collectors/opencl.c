/* The OpenCL collector: a layer for the OpenCL loader (OPENCL_LAYERS), which any program gets that
 * uses the loader. Queues are made with profiling on, each command's event says when it ran. */
#define _GNU_SOURCE
#include "collectors/opencl_impl.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collectors/collector.h"
#include "collectors/live.h"
#include "collectors/opencl_check.h"
#include "lib/version.h"

#define LAYER_NAME "roimeter"

#define PUBLIC __attribute__((visibility("default")))

cl_icd_dispatch opencl_next;
static cl_icd_dispatch ours;
static bool on;

bool opencl_on(void)
{
	return __atomic_load_n(&on, __ATOMIC_RELAXED);
}

void opencl_off(void)
{
	__atomic_store_n(&on, false, __ATOMIC_RELAXED);
}

int64_t opencl_now(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* What is under way is counted (live_pending). */
static bool flush(enum live_flush how)
{
	if (how != LIVE_FLUSH)
		opencl_drain();
	opencl_tell_clocks();
	return true;
}

/* A forked child has this from its parent. */
static void end(void)
{
	if (opencl_on())
		live_finish();
}

static const unsigned observes = 1u << COMPUTE | 1u << COPY_H2D | 1u << COPY_D2H | 1u << COPY_D2D |
				 1u << COPY_OTHER | 1u << FILL | 1u << COLLECTIVE | 1u << OTHER;

/* Of OpenCL's commands none is lost: that is known, and not null. */
static void nothing_is_dropped(void)
{
	struct flow *f = live_take();
	if (!f)
		return;
	flow_dropped(f, 0);
	live_give(f);
}

/* A loader that is older or newer than our headers has fewer or more calls; what it does not have
 * is not wrapped, what we do not know goes on by itself. */
static void wrap_what_is_there(size_t known)
{
	opencl_wrap_queues(&ours);
	opencl_wrap_kernels(&ours);
	opencl_wrap_buffers(&ours);
	opencl_wrap_images(&ours);
	opencl_wrap_memory(&ours);
	opencl_wrap_extensions(&ours);
	for (size_t i = 0; i < known; i++) {
		void *target;
		memcpy(&target, (char *)&opencl_next + i * sizeof target, sizeof target);
		if (!target)
			memset((char *)&ours + i * sizeof target, 0, sizeof target);
	}
}

PUBLIC cl_int clGetLayerInfo(cl_layer_info name, size_t room, void *ret, size_t *ret_size)
{
	const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
	const void *value = &version;
	size_t n = sizeof version;
	if (name == CL_LAYER_NAME) {
		value = LAYER_NAME;
		n = sizeof LAYER_NAME;
	} else if (name != CL_LAYER_API_VERSION) {
		return CL_INVALID_VALUE;
	}
	if (ret && room < n)
		return CL_INVALID_VALUE;
	if (ret)
		memcpy(ret, value, n);
	if (ret_size)
		*ret_size = n;
	return CL_SUCCESS;
}

PUBLIC cl_int clInitLayer(cl_uint n, const cl_icd_dispatch *target, cl_uint *ret_n,
			  const cl_icd_dispatch **ret)
{
	const size_t mine = sizeof ours / sizeof(void *), known = n < mine ? n : mine;
	const struct live_options o = {
		.collector = "opencl",
		.runtime = "opencl",
		.observes = observes,
		.calls = true,
		.flush = flush,
		.child = opencl_off,
	};
	if (!target || !ret_n || !ret)
		return CL_INVALID_VALUE;
	/* A loader asks once; a second one in the process must not take the first one's way. */
	if (!opencl_on() && !opencl_next.clGetPlatformIDs) {
		/* cppcheck-suppress pointerSize ; of a table of pointers */
		memcpy(&opencl_next, target, known * sizeof(void *));
		if (live_start(&o) == 0) {
			nothing_is_dropped();
			wrap_what_is_there(known);
			(void)atexit(end);
			__atomic_store_n(&on, true, __ATOMIC_RELAXED);
		}
		*ret = &ours;
	} else {
		static const cl_icd_dispatch nothing;
		*ret = &nothing;
	}
	*ret_n = (cl_uint)known;
	return CL_SUCCESS;
}

static const char *const environment[] = { "OPENCL_LAYERS", "{library}", NULL };

PUBLIC const struct collector collector = {
	.abi = COLLECTOR_ABI,
	.name = "opencl",
	.version = ROIMETER_VERSION_TEXT,
	.observes = 1u << COMPUTE | 1u << COPY_H2D | 1u << COPY_D2H | 1u << COPY_D2D |
		    1u << COPY_OTHER | 1u << FILL | 1u << COLLECTIVE | 1u << OTHER,
	.runtime = "opencl",
	.environment = environment,
	.check = opencl_check,
};
