/* A made-up OpenCL driver with a script for each command, and a made-up engine that writes down
 * what the collector tells it. The layer under test is between them. */
#ifndef TESTS_OPENCL_FAKE_H
#define TESTS_OPENCL_FAKE_H

#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collectors/live.h"
#include "collectors/opencl_impl.h"

/* ---- the engine that writes down ---- */

#define SEEN_MOST 20000

struct seen_op {
	int64_t begin_ns, end_ns;
	double bytes;
	uint32_t device, category;
	char name[64];
};

struct flow {
	struct seen_op ops[SEEN_MOST];
	size_t n_ops;
	char names[64][64], devices[8][256], notes[16][256], refused[256], runtime[32];
	size_t n_names, n_devices, n_notes, calls, syncs, graphs, untimed;
};

static struct flow seen;
static pthread_mutex_t seen_lock = PTHREAD_MUTEX_INITIALIZER;
static int64_t seen_pending;
static struct live_options live;

static void seen_clear(void)
{
	seen.n_ops = seen.n_notes = seen.calls = seen.syncs = seen.graphs = seen.untimed = 0;
	seen.refused[0] = 0;
}

int64_t flow_name(struct flow *f, const char *name, size_t n)
{
	for (size_t i = 0; i < f->n_names; i++)
		if (strcmp(f->names[i], name) == 0)
			return (int64_t)i;
	assert_true(f->n_names < 64 && n == strlen(name));
	(void)snprintf(f->names[f->n_names], sizeof *f->names, "%s", name);
	return (int64_t)f->n_names++;
}

int64_t flow_device(struct flow *f, const char *name, const char *id)
{
	char text[256];
	(void)snprintf(text, sizeof text, "%s|%s", name, id);
	for (size_t i = 0; i < f->n_devices; i++)
		if (strcmp(f->devices[i], text) == 0)
			return (int64_t)i;
	assert_true(f->n_devices < 8);
	memcpy(f->devices[f->n_devices], text, sizeof text);
	return (int64_t)f->n_devices++;
}

void flow_op(struct flow *f, const struct flow_op *op)
{
	if (f->n_ops == SEEN_MOST)
		return;
	struct seen_op *s = &f->ops[f->n_ops++];
	*s = (struct seen_op){ .begin_ns = op->begin_ns,
			       .end_ns = op->end_ns,
			       .bytes = op->bytes,
			       .device = op->device,
			       .category = op->category };
	memcpy(s->name, f->names[op->name], sizeof s->name);
}

void flow_call(struct flow *f, int64_t begin_ns, int64_t end_ns, bool sync)
{
	f->calls += end_ns >= begin_ns;
	f->syncs += sync;
}

void flow_untimed(struct flow *f, uint64_t n)
{
	f->untimed += n;
}

void flow_dropped(struct flow *f, uint64_t n)
{
	(void)f, (void)n;
}

void flow_graph(struct flow *f, uint64_t n)
{
	f->graphs += n;
}

int live_start(const struct live_options *o)
{
	live = *o;
	return 0;
}

struct flow *live_take(void)
{
	(void)pthread_mutex_lock(&seen_lock);
	return &seen;
}

void live_give(struct flow *f)
{
	(void)f;
	(void)pthread_mutex_unlock(&seen_lock);
}

void live_pending(int64_t change)
{
	(void)__atomic_add_fetch(&seen_pending, change, __ATOMIC_SEQ_CST);
}

void live_note(const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	(void)pthread_mutex_lock(&seen_lock);
	if (seen.n_notes < 16)
		(void)vsnprintf(seen.notes[seen.n_notes++], sizeof *seen.notes, format, ap);
	(void)pthread_mutex_unlock(&seen_lock);
	va_end(ap);
}

void live_refuse(const char *status, const char *format, ...)
{
	va_list ap;
	int n = snprintf(seen.refused, sizeof seen.refused, "%s: ", status);
	va_start(ap, format);
	(void)vsnprintf(seen.refused + n, sizeof seen.refused - (size_t)n, format, ap);
	va_end(ap);
}

void live_runtime(const char *runtime)
{
	(void)snprintf(seen.runtime, sizeof seen.runtime, "%s", runtime);
}

static double told_offset, told_drift, told_error;

void live_clock(double offset, double drift, double error)
{
	(void)pthread_mutex_lock(&seen_lock);
	told_offset = offset;
	told_drift = drift;
	told_error = error;
	(void)pthread_mutex_unlock(&seen_lock);
}

void live_finish(void)
{
}

int64_t live_cpu_begin(void)
{
	return 0;
}

void live_cpu_end(int64_t begun)
{
	(void)begun;
}

int64_t live_cpu_sometimes(void)
{
	return 0;
}

void live_cpu_sometimes_end(int64_t begun)
{
	(void)begun;
}

/* ---- the driver ---- */

/* How the next commands of a queue go. Times are on CLOCK_MONOTONIC, after the call. */
struct script {
	int64_t start_ns, length_ns;
	cl_int status;    /* negative: the command fails */
	bool held;        /* over when fake_over() says so, else at once */
	bool no_times;    /* the event has none */
	bool no_callback; /* the driver takes none */
	cl_int refused;   /* the call itself fails */
};

struct _cl_device_id {
	const char *name, *extensions;
	int source; /* enum opencl_source; -1: a clock of its own that can't be read */
	int64_t offset_ns;
	bool shares, parent_is_first;
	unsigned char uuid[16];
};

struct _cl_command_queue {
	cl_device_id device;
	cl_command_queue_properties properties;
	cl_uint references;
	struct script script;
};

struct _cl_event {
	cl_command_queue queue;
	int references;
	bool over, profiled, no_times, no_callback;
	cl_int status;
	int64_t start_ns, end_ns; /* on the device's clock */
	int64_t true_start_ns, true_end_ns;
	void(CL_CALLBACK *callback)(cl_event, cl_int, void *);
	void *data;
	cl_command_type type;
};

struct _cl_kernel {
	const char *name;
};

static struct _cl_device_id fake_devices[5];
static int fake_events;                  /* that live */
static _Thread_local cl_event fake_last; /* held */

static int64_t fake_now(int source)
{
	static const clockid_t ids[] = { CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW, CLOCK_BOOTTIME,
					 CLOCK_REALTIME, CLOCK_MONOTONIC };
	struct timespec t;
	(void)clock_gettime(ids[source < 0 ? 0 : source], &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void fake_release(cl_event e)
{
	if (__atomic_sub_fetch(&e->references, 1, __ATOMIC_SEQ_CST) == 0) {
		(void)__atomic_sub_fetch(&fake_events, 1, __ATOMIC_SEQ_CST);
		free(e);
	}
}

/* Not before the time that the script says. */
static void fake_over(cl_event e)
{
	while (fake_now(ON_MONOTONIC) < e->true_end_ns)
		;
	e->over = true;
	if (e->callback)
		e->callback(e, e->status < 0 ? e->status : CL_COMPLETE, e->data);
	fake_release(e); /* the driver's own */
}

static cl_int fake_put(cl_command_queue q, cl_command_type type, cl_event *ret)
{
	const struct script *s = &q->script;
	if (s->refused)
		return s->refused;
	cl_event e = calloc(1, sizeof *e);
	int64_t now = fake_now(ON_MONOTONIC);
	int64_t shift = q->device->offset_ns;
	(void)__atomic_add_fetch(&fake_events, 1, __ATOMIC_SEQ_CST);
	if (q->device->source > 0)
		shift += fake_now(q->device->source) - fake_now(ON_MONOTONIC);
	e->queue = q;
	e->profiled = q->properties & CL_QUEUE_PROFILING_ENABLE;
	e->references = 1 + (ret != NULL);
	e->no_times = s->no_times;
	e->no_callback = s->no_callback;
	e->status = s->status;
	e->type = type;
	e->true_start_ns = now + s->start_ns;
	e->true_end_ns = e->true_start_ns + s->length_ns;
	e->start_ns = e->true_start_ns + shift;
	e->end_ns = e->true_end_ns + shift;
	if (ret)
		*ret = e;
	if (!s->held) {
		fake_over(e);
	} else {
		fake_last = e;
	}
	return CL_SUCCESS;
}

static cl_int text_out(const void *value, size_t n, size_t room, void *ret, size_t *ret_n)
{
	if (ret && room < n)
		return CL_INVALID_VALUE;
	if (ret)
		memcpy(ret, value, n);
	if (ret_n)
		*ret_n = n;
	return CL_SUCCESS;
}

static cl_int fake_platform_info(cl_platform_id p, cl_platform_info what, size_t room, void *ret,
				 size_t *n)
{
	(void)p, (void)what;
	return text_out("Fake", 5, room, ret, n);
}

static cl_int fake_platform_ids(cl_uint room, cl_platform_id *ret, cl_uint *n)
{
	(void)room, (void)ret;
	*n = 1;
	return CL_SUCCESS;
}

static cl_int fake_device_ids(cl_platform_id p, cl_device_type type, cl_uint room,
			      cl_device_id *ret, cl_uint *n)
{
	(void)p, (void)type, (void)room;
	for (int i = 0; i < 5; i++)
		ret[i] = &fake_devices[i];
	*n = 5;
	return CL_SUCCESS;
}

static cl_int fake_device_info(cl_device_id d, cl_device_info what, size_t room, void *ret,
			       size_t *n)
{
	const cl_bool shares = d->shares;
	const size_t resolution = 1;
	const cl_platform_id platform = NULL;
	const cl_device_id parent = d->parent_is_first ? &fake_devices[0] : NULL;
	const cl_uint pci[4] = { 0, 0x3b, 0, 0 };
	switch (what) {
	case CL_DEVICE_NAME:
		return text_out(d->name, strlen(d->name) + 1, room, ret, n);
	case CL_DEVICE_VERSION:
		return text_out("OpenCL 3.0 Fake", 16, room, ret, n);
	case CL_DEVICE_EXTENSIONS:
		return text_out(d->extensions, strlen(d->extensions) + 1, room, ret, n);
	case CL_DEVICE_HOST_UNIFIED_MEMORY:
		return text_out(&shares, sizeof shares, room, ret, n);
	case CL_DEVICE_PROFILING_TIMER_RESOLUTION:
		return text_out(&resolution, sizeof resolution, room, ret, n);
	case CL_DEVICE_PLATFORM:
		return text_out(&platform, sizeof(cl_platform_id), room, ret, n);
	case CL_DEVICE_PARENT_DEVICE:
		return text_out(&parent, sizeof(cl_device_id), room, ret, n);
	case 0x106A: /* CL_DEVICE_UUID_KHR */
		return text_out(d->uuid, 16, room, ret, n);
	case 0x410F: /* CL_DEVICE_PCI_BUS_INFO_KHR */
		return text_out(pci, sizeof pci, room, ret, n);
	default:
		return CL_INVALID_VALUE;
	}
}

static cl_mem fake_create_buffer(cl_context c, cl_mem_flags f, size_t n, void *at, cl_int *rc)
{
	(void)c, (void)f, (void)n, (void)at;
	*rc = CL_SUCCESS;
	return (cl_mem)&fake_devices;
}

static cl_int fake_release_mem(cl_mem m)
{
	(void)m;
	return CL_SUCCESS;
}

static cl_command_queue fake_create_queue(cl_context c, cl_device_id d,
					  cl_command_queue_properties p, cl_int *rc)
{
	cl_command_queue q = calloc(1, sizeof *q);
	(void)c;
	q->device = d;
	q->properties = p;
	q->references = 1;
	if (rc)
		*rc = CL_SUCCESS;
	return q;
}

static cl_command_queue fake_create_queue_list(cl_context c, cl_device_id d,
					       const cl_queue_properties *list, cl_int *rc)
{
	cl_command_queue_properties p = 0;
	for (; list && *list; list += 2)
		if (*list == CL_QUEUE_PROPERTIES)
			p = list[1];
	return fake_create_queue(c, d, p, rc);
}

static cl_int fake_release_queue(cl_command_queue q)
{
	if (--q->references == 0)
		free(q);
	return CL_SUCCESS;
}

static cl_int fake_queue_info(cl_command_queue q, cl_command_queue_info what, size_t room,
			      void *ret, size_t *n)
{
	const cl_queue_properties list[] = { CL_QUEUE_PROPERTIES, q->properties, 0 };
	if (what == CL_QUEUE_PROPERTIES)
		return text_out(&q->properties, sizeof q->properties, room, ret, n);
	if (what == CL_QUEUE_REFERENCE_COUNT)
		return text_out(&q->references, sizeof q->references, room, ret, n);
	if (what == CL_QUEUE_PROPERTIES_ARRAY)
		return text_out(list, sizeof list, room, ret, n);
	return CL_INVALID_VALUE;
}

static cl_int fake_set_property(cl_command_queue q, cl_command_queue_properties p, cl_bool on,
				cl_command_queue_properties *old)
{
	if (old)
		*old = q->properties;
	q->properties = on ? q->properties | p : q->properties & ~p;
	return CL_SUCCESS;
}

static cl_int fake_retain_event(cl_event e)
{
	(void)__atomic_add_fetch(&e->references, 1, __ATOMIC_SEQ_CST);
	return CL_SUCCESS;
}

static cl_int fake_release_event(cl_event e)
{
	fake_release(e);
	return CL_SUCCESS;
}

static cl_int fake_set_callback(cl_event e, cl_int type,
				void(CL_CALLBACK *callback)(cl_event, cl_int, void *), void *data)
{
	(void)type;
	if (e->no_callback)
		return CL_OUT_OF_RESOURCES;
	if (e->over) {
		callback(e, e->status < 0 ? e->status : CL_COMPLETE, data);
	} else {
		e->data = data;
		e->callback = callback;
	}
	return CL_SUCCESS;
}

static cl_int fake_profiling(cl_event e, cl_profiling_info what, size_t room, void *ret, size_t *n)
{
	const cl_ulong v = (cl_ulong)(what == CL_PROFILING_COMMAND_END ? e->end_ns : e->start_ns);
	if (e->no_times || !e->profiled)
		return CL_PROFILING_INFO_NOT_AVAILABLE;
	return text_out(&v, sizeof v, room, ret, n);
}

static cl_int fake_event_info(cl_event e, cl_event_info what, size_t room, void *ret, size_t *n)
{
	if (what == CL_EVENT_COMMAND_QUEUE)
		return text_out(&e->queue, sizeof e->queue, room, ret, n);
	return CL_INVALID_VALUE;
}

static cl_int fake_wait(cl_uint n, const cl_event *e)
{
	(void)n, (void)e;
	return CL_SUCCESS;
}

static cl_int fake_kernel_info(cl_kernel k, cl_kernel_info what, size_t room, void *ret, size_t *n)
{
	(void)what;
	return text_out(k->name, strlen(k->name) + 1, room, ret, n);
}

static cl_int fake_finish(cl_command_queue q)
{
	(void)q;
	return CL_SUCCESS;
}

/* Of a device whose clock is ON_TIMER: CLOCK_MONOTONIC and its offset. */
static cl_int fake_timer(cl_device_id d, cl_ulong *device, cl_ulong *host)
{
	if (d->source != ON_TIMER)
		return CL_INVALID_OPERATION;
	*host = (cl_ulong)fake_now(ON_MONOTONIC);
	*device = *host + (cl_ulong)d->offset_ns;
	return CL_SUCCESS;
}

/* The parameters that all commands end with. */
#define WAIT cl_uint n_wait, const cl_event *wait, cl_event *event
#define UNUSED_WAIT (void)n_wait, (void)wait

static cl_int fake_write(cl_command_queue q, cl_mem b, cl_bool block, size_t at, size_t n,
			 const void *from, WAIT)
{
	(void)b, (void)block, (void)at, (void)n, (void)from, UNUSED_WAIT;
	return fake_put(q, CL_COMMAND_WRITE_BUFFER, event);
}

static cl_int fake_read(cl_command_queue q, cl_mem b, cl_bool block, size_t at, size_t n, void *to,
			WAIT)
{
	(void)b, (void)block, (void)at, (void)n, (void)to, UNUSED_WAIT;
	return fake_put(q, CL_COMMAND_READ_BUFFER, event);
}

static cl_int fake_copy(cl_command_queue q, cl_mem a, cl_mem b, size_t x, size_t y, size_t n, WAIT)
{
	(void)a, (void)b, (void)x, (void)y, (void)n, UNUSED_WAIT;
	return fake_put(q, CL_COMMAND_COPY_BUFFER, event);
}

static cl_int fake_fill(cl_command_queue q, cl_mem b, const void *p, size_t pn, size_t at, size_t n,
			WAIT)
{
	(void)b, (void)p, (void)pn, (void)at, (void)n, UNUSED_WAIT;
	return fake_put(q, CL_COMMAND_FILL_BUFFER, event);
}

static cl_int fake_read_rect(cl_command_queue q, cl_mem b, cl_bool block, const size_t *o,
			     const size_t *ho, const size_t *r, size_t a1, size_t a2, size_t a3,
			     size_t a4, void *to, WAIT)
{
	(void)b, (void)block, (void)o, (void)ho, (void)r, (void)a1, (void)a2, (void)a3, (void)a4;
	(void)to, UNUSED_WAIT;
	return fake_put(q, CL_COMMAND_READ_BUFFER_RECT, event);
}

static cl_int fake_image_info(cl_mem m, cl_image_info what, size_t room, void *ret, size_t *n)
{
	const size_t element = 16;
	(void)m, (void)what;
	return text_out(&element, sizeof element, room, ret, n);
}

static cl_int fake_read_image(cl_command_queue q, cl_mem m, cl_bool block, const size_t *o,
			      const size_t *r, size_t row, size_t slice, void *to, WAIT)
{
	(void)m, (void)block, (void)o, (void)r, (void)row, (void)slice, (void)to, UNUSED_WAIT;
	return fake_put(q, CL_COMMAND_READ_IMAGE, event);
}

static cl_int fake_kernel(cl_command_queue q, cl_kernel k, cl_uint d, const size_t *o,
			  const size_t *g, const size_t *l, WAIT)
{
	(void)k, (void)d, (void)o, (void)g, (void)l, UNUSED_WAIT;
	return fake_put(q, CL_COMMAND_NDRANGE_KERNEL, event);
}

static void *fake_map(cl_command_queue q, cl_mem b, cl_bool block, cl_map_flags f, size_t at,
		      size_t n, WAIT, cl_int *rc)
{
	(void)block, (void)f, (void)n, UNUSED_WAIT;
	*rc = fake_put(q, CL_COMMAND_MAP_BUFFER, event);
	return *rc ? NULL : (char *)b + at;
}

static cl_int fake_unmap(cl_command_queue q, cl_mem b, void *at, WAIT)
{
	(void)b, (void)at, UNUSED_WAIT;
	return fake_put(q, CL_COMMAND_UNMAP_MEM_OBJECT, event);
}

static cl_int fake_svm_copy(cl_command_queue q, cl_bool block, void *to, const void *from, size_t n,
			    WAIT)
{
	(void)block, (void)to, (void)from, (void)n, UNUSED_WAIT;
	return fake_put(q, CL_COMMAND_SVM_MEMCPY, event);
}

static cl_int fake_svm_map(cl_command_queue q, cl_bool block, cl_map_flags f, void *at, size_t n,
			   WAIT)
{
	(void)block, (void)f, (void)at, (void)n, UNUSED_WAIT;
	return fake_put(q, CL_COMMAND_SVM_MAP, event);
}

static cl_int fake_svm_unmap(cl_command_queue q, void *at, WAIT)
{
	(void)at, UNUSED_WAIT;
	return fake_put(q, CL_COMMAND_SVM_UNMAP, event);
}

static cl_int fake_graph(cl_uint n, cl_command_queue *q, cl_command_buffer_khr b, WAIT)
{
	(void)n, UNUSED_WAIT;
	return fake_put(n ? q[0] : (cl_command_queue)b, CL_COMMAND_COMMAND_BUFFER_KHR, event);
}

static void *fake_address(cl_platform_id p, const char *name)
{
	void *at = NULL;
	(void)p;
	if (strcmp(name, "clEnqueueCommandBufferKHR") == 0) {
		clEnqueueCommandBufferKHR_fn f = fake_graph;
		memcpy(&at, &f, sizeof at);
	} else if (strncmp(name, "cl", 2) == 0) {
		at = &fake_devices;
	}
	return at;
}

static cl_icd_dispatch fake;    /* the driver */
static cl_icd_dispatch through; /* as a program sees it */
static struct _cl_kernel fake_gemm = { "gemm" }, fake_nccl = { "ncclKernel_AllReduce" };

static void fake_fill_table(void)
{
	fake.clGetPlatformIDs = fake_platform_ids;
	fake.clGetPlatformInfo = fake_platform_info;
	fake.clGetDeviceIDs = fake_device_ids;
	fake.clGetDeviceInfo = fake_device_info;
	fake.clCreateBuffer = fake_create_buffer;
	fake.clReleaseMemObject = fake_release_mem;
	fake.clCreateCommandQueue = fake_create_queue;
	fake.clCreateCommandQueueWithProperties = fake_create_queue_list;
	fake.clReleaseCommandQueue = fake_release_queue;
	fake.clGetCommandQueueInfo = fake_queue_info;
	fake.clSetCommandQueueProperty = fake_set_property;
	fake.clRetainEvent = fake_retain_event;
	fake.clReleaseEvent = fake_release_event;
	fake.clSetEventCallback = fake_set_callback;
	fake.clGetEventProfilingInfo = fake_profiling;
	fake.clGetEventInfo = fake_event_info;
	fake.clWaitForEvents = fake_wait;
	fake.clGetKernelInfo = fake_kernel_info;
	fake.clFinish = fake_finish;
	fake.clFlush = fake_finish;
	fake.clGetDeviceAndHostTimer = fake_timer;
	fake.clEnqueueWriteBuffer = fake_write;
	fake.clEnqueueReadBuffer = fake_read;
	fake.clEnqueueCopyBuffer = fake_copy;
	fake.clEnqueueFillBuffer = fake_fill;
	fake.clEnqueueReadBufferRect = fake_read_rect;
	fake.clGetImageInfo = fake_image_info;
	fake.clEnqueueReadImage = fake_read_image;
	fake.clEnqueueNDRangeKernel = fake_kernel;
	fake.clEnqueueMapBuffer = fake_map;
	fake.clEnqueueUnmapMemObject = fake_unmap;
	fake.clEnqueueSVMMemcpy = fake_svm_copy;
	fake.clEnqueueSVMMap = fake_svm_map;
	fake.clEnqueueSVMUnmap = fake_svm_unmap;
	fake.clGetExtensionFunctionAddressForPlatform = fake_address;
}

/* As a loader does it: what the layer leaves out is the driver's. */
static void fake_load(void)
{
	const cl_icd_dispatch *layer = NULL;
	cl_uint n = 0, all = sizeof fake / sizeof(void *);
	fake_fill_table();
	assert_int_equal(clInitLayer(all, &fake, &n, &layer), CL_SUCCESS);
	assert_int_equal(n, all);
	for (size_t i = 0; i < n; i++) {
		void *at;
		memcpy(&at, (const char *)layer + i * sizeof at, sizeof at);
		if (!at)
			memcpy(&at, (const char *)&fake + i * sizeof at, sizeof at);
		memcpy((char *)&through + i * sizeof at, &at, sizeof at);
	}
}

#endif
