/* The double of libcuda: streams, events, launches, and when each operation starts and ends. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda.h"

CUstream cuda_stream(CUstream handle)
{
	CUcontext c = cuda_current();

	if (!c)
		return NULL;
	if (!handle || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD)
		return c->null;
	return handle;
}

void cuda_streams_tail(CUcontext ctx, uint64_t *ret_tail)
{
	cuda_lock();
	for (CUstream s = ctx->streams; s; s = s->next)
		if (s->tail > *ret_tail)
			*ret_tail = s->tail;
	cuda_unlock();
}

/* The null stream waits for all blocking ones, and they for it. Under the lock. */
static uint64_t earliest(const struct CUstream_st *s)
{
	uint64_t at = double_now() + (uint64_t)script_number("launch-ns", 0);
	const struct CUstream_st *null = s->context->null;

	if (s->tail > at)
		at = s->tail;
	if (s->blocking && null->tail > at)
		at = null->tail;
	if (s == null)
		for (const struct CUstream_st *o = s->context->streams; o; o = o->next)
			if (o->blocking && o->tail > at)
				at = o->tail;
	return at;
}

static uint64_t schedule(CUstream s, const struct double_op *op, uint64_t length_ns)
{
	const struct double_listener *l = double_listener();
	void *slot = l ? l->reserve(op) : NULL;

	cuda_lock();
	uint64_t start = earliest(s), end = start + length_ns;
	s->tail = end;
	cuda_unlock();
	if (slot)
		double_schedule(start, end, l->complete, slot);
	return end;
}

uint64_t cuda_put(CUstream s, struct double_op *op, uint64_t length_ns, uint32_t correlation)
{
	static uint64_t kernels;

	op->device = s->context->device;
	op->context = s->context->id;
	op->stream = s->id;
	op->correlation = correlation;
	if (s->capture) {
		(void)cuda_node_add(s->capture, op, length_ns);
		return 0;
	}
	if (op->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL &&
	    script_every("um-every", __atomic_add_fetch(&kernels, 1, __ATOMIC_RELAXED))) {
		struct double_op um = *op; /* its memory comes over first */
		um.kind = CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER;
		um.um_kind = (uint32_t)script_number("um-kind", 1);
		um.bytes = (uint64_t)script_number("um-bytes", 65536);
		(void)schedule(s, &um, cuda_length("um-ns", 2000));
	}
	return schedule(s, op, length_ns);
}

uint64_t cuda_graph_put(CUstream s, CUgraphExec exec, uint32_t correlation)
{
	const struct double_listener *l = double_listener();
	uint64_t total = 0;

	if (l && l->enabled(CUPTI_ACTIVITY_KIND_GRAPH_TRACE)) {
		struct double_op op = { .kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE,
					.graph = exec->graph };
		for (CUgraphNode n = exec->first; n; n = n->next)
			total += n->length_ns;
		return cuda_put(s, &op, total, correlation);
	}
	for (CUgraphNode n = exec->first; n; n = n->next) {
		struct double_op op = n->op;
		op.graph_node = n->id;
		op.graph = exec->graph;
		if (n->at[0])
			cuda_run_kernel(op.name, n->at, &n->length_ns);
		total = cuda_put(s, &op, n->length_ns, correlation);
	}
	return total;
}

CUresult cuda_wait(uint64_t until, uint32_t sync_type, CUstream s, uint32_t event, struct call *c)
{
	CUcontext ctx = cuda_current();
	struct double_sync sync = {
		.type = sync_type,
		.context = ctx ? ctx->id : 0,
		.stream = s ? s->id : CUPTI_SYNCHRONIZATION_INVALID_VALUE,
		.event = event,
		.correlation = c->told.correlation,
		.begin_ns = double_now(),
		.ctx = ctx,
		.handle = s,
	};

	double_wait_until(until);
	sync.end_ns = double_now();
	if (c->l)
		c->l->synchronized(&sync);
	return CUDA_SUCCESS;
}

uint64_t cuda_length(const char *key, uint64_t otherwise)
{
	static uint64_t turns[4];
	size_t which = strcmp(key, "kernel-ns") == 0 ? 0
		       : strcmp(key, "copy-ns") == 0 ? 1
		       : strcmp(key, "fill-ns") == 0 ? 2
						     : 3;

	return (uint64_t)script_turn(key, __atomic_fetch_add(&turns[which], 1, __ATOMIC_RELAXED),
				     (int64_t)otherwise);
}

/* ---- streams ---- */

static CUresult stream_new(CUstream *ret, unsigned flags)
{
	CUcontext c = cuda_current();
	CUstream s = calloc(1, sizeof *s);

	if (!c || !s) {
		free(s);
		return CUDA_ERROR_INVALID_CONTEXT;
	}
	s->context = c;
	s->blocking = !(flags & CU_STREAM_NON_BLOCKING);
	cuda_lock();
	s->id = c->next_stream++;
	s->next = c->streams;
	c->streams = s;
	cuda_unlock();
	if (double_listener())
		double_listener()->resource(CUPTI_CBID_RESOURCE_STREAM_CREATED, c, s);
	*ret = s;
	return CUDA_SUCCESS;
}

DOUBLE_EXPORT CUresult CUDAAPI cuStreamCreate(CUstream *ret, unsigned flags)
{
	ENTER(cuStreamCreate);
	LEAVE(stream_new(ret, flags));
}

DOUBLE_EXPORT CUresult CUDAAPI cuStreamCreateWithPriority(CUstream *ret, unsigned flags,
							  int priority)
{
	ENTER(cuStreamCreateWithPriority);
	(void)priority;
	LEAVE(stream_new(ret, flags));
}

DOUBLE_EXPORT CUresult CUDAAPI cuStreamDestroy_v2(CUstream s)
{
	ENTER(cuStreamDestroy_v2);
	if (!s)
		LEAVE(CUDA_ERROR_INVALID_HANDLE);
	if (call.l)
		call.l->resource(CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING, s->context, s);
	LEAVE(CUDA_SUCCESS); /* stays in the list: what it has to do still counts */
}

DOUBLE_EXPORT CUresult CUDAAPI cuStreamSynchronize(CUstream handle)
{
	ENTER(cuStreamSynchronize);
	CUstream s = cuda_stream(handle);
	if (!s)
		LEAVE(CUDA_ERROR_INVALID_CONTEXT);
	LEAVE(cuda_wait(s->tail, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE, s, 0,
			&call));
}

DOUBLE_EXPORT CUresult CUDAAPI cuStreamQuery(CUstream handle)
{
	ENTER(cuStreamQuery);
	CUstream s = cuda_stream(handle);
	if (!s)
		LEAVE(CUDA_ERROR_INVALID_CONTEXT);
	LEAVE(s->tail <= double_now() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY);
}

DOUBLE_EXPORT CUresult CUDAAPI cuStreamWaitEvent(CUstream handle, CUevent event, unsigned flags)
{
	ENTER(cuStreamWaitEvent);
	CUstream s = cuda_stream(handle);
	(void)flags;
	if (!s || !event)
		LEAVE(CUDA_ERROR_INVALID_HANDLE);
	cuda_lock();
	if (event->recorded && event->time > s->tail)
		s->tail = event->time;
	cuda_unlock();
	LEAVE(CUDA_SUCCESS);
}

/* ---- events ---- */

DOUBLE_EXPORT CUresult CUDAAPI cuEventCreate(CUevent *ret, unsigned flags)
{
	static uint32_t next;
	ENTER(cuEventCreate);
	(void)flags;
	*ret = calloc(1, sizeof **ret);
	if (!*ret)
		LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
	(*ret)->id = __atomic_add_fetch(&next, 1, __ATOMIC_RELAXED);
	LEAVE(CUDA_SUCCESS);
}

DOUBLE_EXPORT CUresult CUDAAPI cuEventDestroy_v2(CUevent event)
{
	ENTER(cuEventDestroy_v2);
	free(event);
	LEAVE(CUDA_SUCCESS);
}

DOUBLE_EXPORT CUresult CUDAAPI cuEventRecord(CUevent event, CUstream handle)
{
	ENTER(cuEventRecord);
	CUstream s = cuda_stream(handle);
	if (!s || !event)
		LEAVE(CUDA_ERROR_INVALID_HANDLE);
	cuda_lock();
	event->time = earliest(s);
	event->recorded = true;
	cuda_unlock();
	LEAVE(CUDA_SUCCESS);
}

DOUBLE_EXPORT CUresult CUDAAPI cuEventSynchronize(CUevent event)
{
	ENTER(cuEventSynchronize);
	if (!event)
		LEAVE(CUDA_ERROR_INVALID_HANDLE);
	LEAVE(cuda_wait(event->time, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE, NULL,
			event->id, &call));
}

DOUBLE_EXPORT CUresult CUDAAPI cuEventQuery(CUevent event)
{
	ENTER(cuEventQuery);
	LEAVE(event->time <= double_now() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY);
}

#ifdef cuEventElapsedTime
#define ELAPSED_TWICE
#endif
DOUBLE_EXPORT CUresult CUDAAPI cuEventElapsedTime(float *ms, CUevent from, CUevent to)
{
	ENTER(cuEventElapsedTime);
	if (!from || !to || !from->recorded || !to->recorded)
		LEAVE(CUDA_ERROR_INVALID_HANDLE);
	*ms = (float)((double)(int64_t)(to->time - from->time) * 1e-6);
	LEAVE(CUDA_SUCCESS);
}

#ifdef ELAPSED_TWICE
/* Newer headers mean its second version by this name; both are exported. */
DOUBLE_EXPORT CUresult CUDAAPI elapsed_time_1(float *ms, CUevent from,
					      CUevent to) __asm__("cuEventElapsedTime");
CUresult CUDAAPI elapsed_time_1(float *ms, CUevent from, CUevent to)
{
	return cuEventElapsedTime(ms, from, to);
}
#endif

/* ---- modules and kernels ---- */

DOUBLE_EXPORT CUresult CUDAAPI cuModuleLoadData(CUmodule *ret, const void *image)
{
	ENTER(cuModuleLoadData);
	*ret = calloc(1, sizeof **ret);
	if (!*ret)
		LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
	(*ret)->image = strdup(image); /* text of PTX only */
	LEAVE((*ret)->image ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
}

DOUBLE_EXPORT CUresult CUDAAPI cuModuleLoadDataEx(CUmodule *ret, const void *image, unsigned n,
						  CUjit_option *options, void **values)
{
	(void)n, (void)options, (void)values;
	return cuModuleLoadData(ret, image);
}

DOUBLE_EXPORT CUresult CUDAAPI cuModuleUnload(CUmodule module)
{
	ENTER(cuModuleUnload);
	if (module)
		free(module->image);
	free(module);
	LEAVE(CUDA_SUCCESS);
}

DOUBLE_EXPORT CUresult CUDAAPI cuModuleGetFunction(CUfunction *ret, CUmodule module,
						   const char *name)
{
	ENTER(cuModuleGetFunction);
	if (!strstr(module->image, name))
		LEAVE(CUDA_ERROR_NOT_FOUND);
	*ret = calloc(1, sizeof **ret); /* never freed: records point to the name */
	if (!*ret)
		LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
	snprintf((*ret)->name, sizeof(*ret)->name, "%s", name);
	LEAVE(CUDA_SUCCESS);
}

/* The one kernel that the double can do: roimeter_probe of examples/probes/probe_cuda.c. */
void cuda_run_kernel(const char *name, void **params, uint64_t *length_ns)
{
	if (strcmp(name, "roimeter_probe") != 0 || !params)
		return;
	float *a = *(float **)params[0];
	uint64_t first = *(uint64_t *)params[1], n = *(uint64_t *)params[2];
	uint64_t counter = *(uint64_t *)params[3], wait_ns = *(uint64_t *)params[5];
	uint32_t rounds = *(uint32_t *)params[4];

	if (wait_ns)
		*length_ns = wait_ns;
	else
		for (uint64_t i = first; i < first + n; i++)
			for (uint32_t r = 0; r < rounds && r < 64; r++) /* 2 by then */
				a[i] = a[i] * 0.5F + 1.0F;
	for (int i = 0; i < 64; i++)
		a[counter + (uint64_t)i] += 1.0F;
}

DOUBLE_EXPORT CUresult CUDAAPI cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz,
					      unsigned bx, unsigned by, unsigned bz,
					      unsigned shared, CUstream handle, void **params,
					      void **extra)
{
	ENTER_AS(cuLaunchKernel, NULL, f ? f->name : NULL);
	CUstream s = cuda_stream(handle);
	(void)shared, (void)extra;
	if (!s || !f)
		LEAVE(CUDA_ERROR_INVALID_HANDLE);
	uint64_t length = cuda_length("kernel-ns", 100000);
	struct double_op op = {
		.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
		.name = f->name,
		.grid = { gx, gy, gz },
		.block = { bx, by, bz },
	};
	if (s->capture) {
		cuda_node_params(cuda_node_add(s->capture, &op, length), params);
		LEAVE(CUDA_SUCCESS);
	}
	cuda_run_kernel(f->name, params, &length);
	(void)cuda_put(s, &op, length, call.told.correlation);
	LEAVE(CUDA_SUCCESS);
}
