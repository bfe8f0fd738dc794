/* Queues are made with profiling on. What the program asked for is remembered, and shown to it
 * where it looks: it must not find what it did not ask for. */
#define _GNU_SOURCE
#include "collectors/opencl_impl.h"

#include <stdlib.h>
#include <string.h>

#include "collectors/live.h"

#define BUCKETS 256
#define LIST_MAX 32 /* values of a list of properties; longer ones are handed on as they are */

struct queue {
	struct queue *next;
	cl_command_queue handle;
	struct opencl_device *device; /* NULL: without profiling */
	bool asked;                   /* the program itself wants profiling */
	size_t n;                     /* of list, its 0 included */
	cl_queue_properties list[];   /* as the program gave it */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct queue *buckets[BUCKETS];

static struct queue **place(cl_command_queue handle)
{
	struct queue **at = &buckets[(uintptr_t)handle / 64 % BUCKETS];
	while (*at && (*at)->handle != handle)
		at = &(*at)->next;
	return at;
}

static void forget(cl_command_queue handle)
{
	(void)pthread_mutex_lock(&lock);
	struct queue **at = place(handle), *q = *at;
	if (q)
		*at = q->next;
	(void)pthread_mutex_unlock(&lock);
	free(q);
}

static void remember(cl_command_queue handle, struct opencl_device *device, bool asked,
		     const cl_queue_properties *list, size_t n)
{
	struct queue *q = calloc(1, sizeof *q + n * sizeof *list);
	forget(handle); /* of a queue that is no more */
	if (!q)
		return;
	q->handle = handle;
	q->device = device;
	q->asked = asked;
	q->n = n;
	if (n)
		memcpy(q->list, list, n * sizeof *list);
	(void)pthread_mutex_lock(&lock);
	struct queue **at = place(handle);
	q->next = *at;
	*at = q;
	(void)pthread_mutex_unlock(&lock);
}

struct opencl_device *opencl_queue_device(cl_command_queue handle)
{
	(void)pthread_mutex_lock(&lock);
	const struct queue *q = *place(handle);
	struct opencl_device *d = q ? q->device : NULL;
	(void)pthread_mutex_unlock(&lock);
	return d && d->usable ? d : NULL;
}

/* Did we turn profiling on for a program that did not ask for it? */
static bool hidden(cl_command_queue handle)
{
	(void)pthread_mutex_lock(&lock);
	const struct queue *q = *place(handle);
	bool answer = q && q->device && !q->asked;
	(void)pthread_mutex_unlock(&lock);
	return answer;
}

/* ---- making ---- */

static CL_API_ENTRY cl_command_queue CL_API_CALL create(cl_context context, cl_device_id device,
							cl_command_queue_properties properties,
							cl_int *ret)
{
	if (!opencl_on())
		return opencl_next.clCreateCommandQueue(context, device, properties, ret);
	struct opencl_device *d = opencl_device(context, device);
	bool asked = properties & CL_QUEUE_PROFILING_ENABLE;
	cl_command_queue queue = opencl_next.clCreateCommandQueue(
		context, device, properties | (d ? CL_QUEUE_PROFILING_ENABLE : 0), ret);
	if (!queue && d && !asked) {
		d = NULL;
		queue = opencl_next.clCreateCommandQueue(context, device, properties, ret);
	}
	if (queue)
		remember(queue, d, asked, NULL, 0);
	return queue;
}

/* The list with profiling in it. 0: it can't be had, for a queue on the device or a list too long.
 */
static size_t with_profiling(const cl_queue_properties *list, size_t n,
			     cl_queue_properties ret[LIST_MAX + 3])
{
	bool found = false;
	if (n > LIST_MAX)
		return 0;
	if (n)
		memcpy(ret, list, n * sizeof *list);
	for (size_t i = 0; i + 1 < n; i += 2) {
		if (ret[i] != CL_QUEUE_PROPERTIES)
			continue;
		if (ret[i + 1] & CL_QUEUE_ON_DEVICE)
			return 0;
		ret[i + 1] |= CL_QUEUE_PROFILING_ENABLE;
		found = true;
	}
	if (found)
		return n;
	n = n ? n - 1 : 0; /* over the 0 */
	ret[n++] = CL_QUEUE_PROPERTIES;
	ret[n++] = CL_QUEUE_PROFILING_ENABLE;
	ret[n++] = 0;
	return n;
}

static cl_queue_properties flags_of(const cl_queue_properties *list)
{
	for (; list && *list; list += 2)
		if (*list == CL_QUEUE_PROPERTIES)
			return list[1];
	return 0;
}

cl_command_queue opencl_create_queue(cl_api_clCreateCommandQueueWithProperties go_on,
				     cl_context context, cl_device_id device,
				     const cl_queue_properties *list, cl_int *ret)
{
	cl_queue_properties more[LIST_MAX + 3];
	size_t n = 0;
	if (!opencl_on())
		return go_on(context, device, list, ret);
	if (list) {
		while (list[n])
			n += 2;
		n++;
	}
	bool asked = flags_of(list) & CL_QUEUE_PROFILING_ENABLE;
	struct opencl_device *d = NULL;
	cl_command_queue queue = NULL;
	if (with_profiling(list, n, more)) {
		d = opencl_device(context, device);
		queue = d ? go_on(context, device, more, ret) : NULL;
	} else if (flags_of(list) & CL_QUEUE_ON_DEVICE) {
		live_note("kernels that kernels start by themselves, on a queue on the device, are "
			  "not seen");
	}
	if (!queue) {
		d = NULL;
		queue = go_on(context, device, list, ret);
	}
	if (queue)
		remember(queue, d, asked, list, n);
	return queue;
}

static CL_API_ENTRY cl_command_queue CL_API_CALL create_with_properties(
	cl_context context, cl_device_id device, const cl_queue_properties *list, cl_int *ret)
{
	return opencl_create_queue(opencl_next.clCreateCommandQueueWithProperties, context, device,
				   list, ret);
}

static CL_API_ENTRY cl_int CL_API_CALL release(cl_command_queue queue)
{
	cl_uint references = 0;
	/* Where the driver counts itself in, the queue stays with us until its handle comes again.
	 */
	if (opencl_on() &&
	    !opencl_next.clGetCommandQueueInfo(queue, CL_QUEUE_REFERENCE_COUNT, sizeof references,
					       &references, NULL) &&
	    references == 1)
		forget(queue);
	return opencl_next.clReleaseCommandQueue(queue);
}

/* ---- showing ---- */

/* The list that the program gave; 1: it gave none that we know of, and the driver may answer. */
static cl_int show_list(cl_command_queue handle, size_t room, void *ret, size_t *ret_size)
{
	cl_int rc = 1;
	(void)pthread_mutex_lock(&lock);
	const struct queue *q = *place(handle);
	if (q && q->n) {
		size_t bytes = q->n * sizeof *q->list;
		rc = ret && room < bytes ? CL_INVALID_VALUE : CL_SUCCESS;
		if (ret && !rc)
			memcpy(ret, q->list, bytes);
		if (ret_size && !rc)
			*ret_size = bytes;
	} else if (q && q->device && ret_size) {
		*ret_size = 0;
		rc = CL_SUCCESS;
	}
	(void)pthread_mutex_unlock(&lock);
	return rc;
}

static CL_API_ENTRY cl_int CL_API_CALL get_info(cl_command_queue queue, cl_command_queue_info what,
						size_t room, void *ret, size_t *ret_size)
{
	if (opencl_on() && what == CL_QUEUE_PROPERTIES_ARRAY && hidden(queue)) {
		cl_int rc = show_list(queue, room, ret, ret_size);
		if (rc <= 0)
			return rc;
	}
	cl_int rc = opencl_next.clGetCommandQueueInfo(queue, what, room, ret, ret_size);
	cl_command_queue_properties flags;
	if (!rc && what == CL_QUEUE_PROPERTIES && ret && room >= sizeof flags && opencl_on() &&
	    hidden(queue)) {
		memcpy(&flags, ret, sizeof flags);
		flags &= ~(cl_command_queue_properties)CL_QUEUE_PROFILING_ENABLE;
		memcpy(ret, &flags, sizeof flags);
	}
	return rc;
}

static CL_API_ENTRY cl_int CL_API_CALL profiling_info(cl_event event, cl_profiling_info what,
						      size_t room, void *ret, size_t *ret_size)
{
	cl_command_queue queue = NULL;
	if (opencl_on() &&
	    !opencl_next.clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof(queue), &queue,
					NULL) &&
	    queue && hidden(queue))
		return CL_PROFILING_INFO_NOT_AVAILABLE;
	return opencl_next.clGetEventProfilingInfo(event, what, room, ret, ret_size);
}

/* Of OpenCL 1.0. A program that turns profiling off must not take it from us. */
static CL_API_ENTRY cl_int CL_API_CALL set_property(cl_command_queue handle,
						    cl_command_queue_properties properties,
						    cl_bool enable,
						    cl_command_queue_properties *ret_old)
{
	const cl_command_queue_properties profiling = CL_QUEUE_PROFILING_ENABLE;
	bool before = false, ours = false;
	if (opencl_on()) {
		(void)pthread_mutex_lock(&lock);
		struct queue *q = *place(handle);
		ours = q && q->device;
		before = q && q->asked;
		if (ours && properties & profiling)
			q->asked = enable;
		(void)pthread_mutex_unlock(&lock);
	}
	cl_int rc = opencl_next.clSetCommandQueueProperty(
		handle, ours ? properties & ~profiling : properties, enable, ret_old);
	if (!rc && ours && ret_old && !before)
		*ret_old &= ~profiling;
	return rc;
}

void opencl_wrap_queues(cl_icd_dispatch *d)
{
	d->clCreateCommandQueue = create;
	d->clCreateCommandQueueWithProperties = create_with_properties;
	d->clReleaseCommandQueue = release;
	d->clGetCommandQueueInfo = get_info;
	d->clSetCommandQueueProperty = set_property;
	d->clGetEventProfilingInfo = profiling_info;
}
