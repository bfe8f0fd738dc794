/* What the files of the OpenCL collector share. The loader puts this layer between the program and
 * the drivers: each call that is wrapped goes on by way of opencl_next. All is thread-safe. */
#ifndef COLLECTORS_OPENCL_IMPL_H
#define COLLECTORS_OPENCL_IMPL_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <CL/cl_layer.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "collectors/opencl_clock.h"
#include "core/category.h"

/* What we wrap goes on by these; one that the loader does not have is NULL. */
extern cl_icd_dispatch opencl_next;

/* No: this is a forked child, which saw nothing begin; every call goes on as it came. */
bool opencl_on(void);
void opencl_off(void);

int64_t opencl_now(void); /* CLOCK_MONOTONIC */

/* ---- devices ---- */

struct opencl_device {
	struct opencl_device *next;
	cl_device_id handle;
	uint32_t number; /* of flow_device */
	bool usable;     /* its clock is known */
	bool unified;    /* shares its memory with the host */
	opencl_timer *timer;
	pthread_mutex_t lock; /* of clock */
	struct opencl_clock clock;
};

/* The first time a device is seen, its clock is looked for, with a few tiny commands on a queue of
 * our own. Lives as long as the process. NULL: out of memory. */
struct opencl_device *opencl_device(cl_context context, cl_device_id handle);

/* The times of a command on CLOCK_MONOTONIC. */
void opencl_device_times(struct opencl_device *d, int64_t begun_ns, int64_t *start_ns,
			 int64_t *end_ns);

/* How good the clocks were, for the picture. */
void opencl_tell_clocks(void);

/* ---- queues ---- */

/* NULL: a queue that we did not see made, or one that can't be timed. */
struct opencl_device *opencl_queue_device(cl_command_queue queue);
void opencl_wrap_queues(cl_icd_dispatch *d);

/* Made by go_on: the standard's call, or that of an extension before it. */
cl_command_queue opencl_create_queue(cl_api_clCreateCommandQueueWithProperties go_on,
				     cl_context context, cl_device_id device,
				     const cl_queue_properties *list, cl_int *ret);

/* ---- a call, and the command that it gives to a queue ---- */

struct opencl_call {
	int64_t begin_ns;
	cl_event own, *event; /* event: what to hand on instead of the caller's */
};

struct opencl_work {
	enum category category;
	const char *name; /* copied */
	double bytes;     /* NAN unknown */
	bool sync;        /* the call waits for the device */
	bool graph;       /* many commands in one */
};

void opencl_begin(struct opencl_call *c, cl_event *event);

/* After the call went on and answered rc; answers rc. */
cl_int opencl_end(struct opencl_call *c, cl_command_queue queue, cl_int rc,
		  const struct opencl_work *work);

/* A call without a command of its own: clFinish, clFlush, clWaitForEvents. */
void opencl_call_end(const struct opencl_call *c, bool sync);

/* clFinish came back: what the queue had is over. */
void opencl_finished(cl_command_queue queue);

/* Waits until what is known to be over has been seen, but not for ever. */
void opencl_drain(void);

void opencl_wrap_kernels(cl_icd_dispatch *d);
void opencl_wrap_buffers(cl_icd_dispatch *d);
void opencl_wrap_images(cl_icd_dispatch *d);
void opencl_wrap_memory(cl_icd_dispatch *d);
void opencl_wrap_extensions(cl_icd_dispatch *d);

/* After a map: at is where, owner the cl_mem, NULL for shared virtual memory. Sets category and
 * bytes of w. */
cl_int opencl_end_map(struct opencl_call *c, cl_command_queue queue, cl_int rc, const void *owner,
		      const void *at, double bytes, cl_map_flags flags, struct opencl_work *w);

#endif
