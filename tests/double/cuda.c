/* The double of libcuda: start, devices, contexts, and what every call has in common. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool ready;
static CUcontext contexts;
static uint32_t next_context = 1;
static __thread CUcontext stack[16];
static __thread int depth;
enum { DEVICES = 16 };
static CUcontext primary[DEVICES];

void cuda_lock(void)
{
	pthread_mutex_lock(&lock);
}

void cuda_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

bool cuda_ready(void)
{
	return __atomic_load_n(&ready, __ATOMIC_ACQUIRE);
}

CUcontext cuda_current(void)
{
	return depth ? stack[depth - 1] : NULL;
}

static int devices(void)
{
	int64_t n = script_number("devices", 1);

	return n < 0 ? 0 : n > DEVICES ? DEVICES : (int)n;
}

struct call call_enter(uint32_t cbid, const char *name, const void *params, const char *symbol)
{
	struct call c = { .l = double_listener() };
	CUcontext ctx = cuda_current();

	c.told = (struct double_call){
		.domain = CUPTI_CB_DOMAIN_DRIVER_API,
		.cbid = cbid,
		.name = name,
		.params = params,
		.context = ctx,
		.context_id = ctx ? ctx->id : 0,
		.correlation = double_correlation(),
		.begin_ns = double_now(),
		.symbol = symbol,
	};
	c.fail = script_fails(name);
	if (!c.fail && (!cuda_ready() || double_forked()))
		c.fail = CUDA_ERROR_NOT_INITIALIZED;
	if (c.l)
		c.l->enter(&c.told);
	double_advance((uint64_t)script_number("call-ns", 1000));
	return c;
}

CUresult call_leave(struct call *c, CUresult rc)
{
	c->told.result = rc;
	if (c->l)
		c->l->leave(&c->told);
	return rc;
}

/* ---- what libcupti asks ---- */

static uint32_t id_of_context(CUcontext c)
{
	return c ? c->id : 0;
}

static uint32_t device_of_context(CUcontext c)
{
	return c ? c->device : 0;
}

static uint32_t id_of_stream(CUcontext c, CUstream s)
{
	return s ? s->id : c ? c->null->id : 0;
}

static uint64_t id_of_node(CUgraphNode n)
{
	return n->id;
}

static uint32_t id_of_graph(CUgraph g)
{
	return g->id;
}

static uint32_t id_of_exec(CUgraphExec e)
{
	return e->id;
}

static void each_context(void (*f)(const struct double_context *))
{
	struct double_context list[64];
	int n = 0;

	cuda_lock();
	for (CUcontext c = contexts; c && n < 64; c = c->next)
		if (!c->dead)
			list[n++] = (struct double_context){ c, c->id, c->device };
	cuda_unlock();
	while (n > 0)
		f(&list[--n]);
}

static const struct double_driver driver = {
	.context_id = id_of_context,
	.context_device = device_of_context,
	.stream_id = id_of_stream,
	.node_id = id_of_node,
	.graph_id = id_of_graph,
	.exec_id = id_of_exec,
	.each_context = each_context,
	.current = cuda_current,
	.ready = cuda_ready,
};

/* ---- start ---- */

/* As the driver does it: in cuInit, with flags of its own, so that nobody else sees its symbols. */
static void inject(void)
{
	const char *path = getenv("CUDA_INJECTION64_PATH");
	union {
		void *symbol;
		int (*call)(void);
	} start;

	if (!path || !*path)
		return;
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		fprintf(stderr, "double: %s\n", dlerror());
		return;
	}
	start.symbol = dlsym(library, "InitializeInjection");
	if (start.symbol)
		(void)start.call();
}

DOUBLE_EXPORT CUresult CUDAAPI cuInit(unsigned flags)
{
	static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;
	int fail = script_fails("cuInit");

	(void)flags;
	if (fail)
		return (CUresult)fail;
	if (double_forked())
		return CUDA_ERROR_NOT_INITIALIZED;
	if (devices() == 0)
		return CUDA_ERROR_NO_DEVICE;
	pthread_mutex_lock(&once);
	if (!ready) {
		double_drive(&driver);
		__atomic_store_n(&ready, true, __ATOMIC_RELEASE);
		inject();
		if (double_listener())
			double_listener()->resource(CUPTI_CBID_RESOURCE_CU_INIT_FINISHED, NULL,
						    NULL);
	}
	pthread_mutex_unlock(&once);
	return CUDA_SUCCESS;
}

DOUBLE_EXPORT CUresult CUDAAPI cuDriverGetVersion(int *version)
{
	*version = (int)script_number("driver-version", 13000);
	return CUDA_SUCCESS;
}

DOUBLE_EXPORT CUresult CUDAAPI cuGetErrorName(CUresult rc, const char **name)
{
	static __thread char text[32];

	snprintf(text, sizeof text, "CUDA_DOUBLE_%d", (int)rc);
	*name = rc ? text : "CUDA_SUCCESS";
	return CUDA_SUCCESS;
}

DOUBLE_EXPORT CUresult CUDAAPI cuGetErrorString(CUresult rc, const char **text)
{
	*text = rc ? "an error of the double" : "no error";
	return CUDA_SUCCESS;
}

/* ---- devices ---- */

DOUBLE_EXPORT CUresult CUDAAPI cuDeviceGetCount(int *count)
{
	ENTER(cuDeviceGetCount);
	*count = devices();
	LEAVE(CUDA_SUCCESS);
}

DOUBLE_EXPORT CUresult CUDAAPI cuDeviceGet(CUdevice *device, int ordinal)
{
	ENTER(cuDeviceGet);
	if (ordinal < 0 || ordinal >= devices())
		LEAVE(CUDA_ERROR_INVALID_DEVICE);
	*device = ordinal;
	LEAVE(CUDA_SUCCESS);
}

DOUBLE_EXPORT CUresult CUDAAPI cuDeviceGetName(char *name, int room, CUdevice device)
{
	ENTER(cuDeviceGetName);
	const char *said = script_text("device-name");
	if (device < 0 || device >= devices())
		LEAVE(CUDA_ERROR_INVALID_DEVICE);
	snprintf(name, (size_t)room, "%s", said ? said : "Double");
	LEAVE(CUDA_SUCCESS);
}

DOUBLE_EXPORT CUresult CUDAAPI cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device)
{
	ENTER(cuDeviceGetUuid_v2);
	for (int i = 0; i < 16; i++)
		uuid->bytes[i] = (char)(0xd0 + device + i);
	LEAVE(CUDA_SUCCESS);
}

DOUBLE_EXPORT CUresult CUDAAPI cuDeviceGetAttribute(int *value, CUdevice_attribute a,
						    CUdevice device)
{
	ENTER(cuDeviceGetAttribute);
	int64_t cc = script_number("compute-capability", 90);
	(void)device;
	*value = a == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR   ? (int)(cc / 10)
		 : a == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR ? (int)(cc % 10)
		 : a == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT     ? 132
								     : 0;
	LEAVE(CUDA_SUCCESS);
}

DOUBLE_EXPORT CUresult CUDAAPI cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
	ENTER(cuDeviceTotalMem_v2);
	(void)device;
	*bytes = (size_t)16 << 30;
	LEAVE(CUDA_SUCCESS);
}

/* ---- contexts ---- */

static CUcontext context_new(CUdevice device, bool is_primary)
{
	CUcontext c = calloc(1, sizeof *c);
	CUstream s = calloc(1, sizeof *s);

	if (!c || !s)
		abort();
	cuda_lock();
	c->id = next_context++;
	c->device = (uint32_t)device;
	c->primary = is_primary;
	s->id = 7; /* as the driver numbers a context's null stream */
	s->context = c;
	c->next_stream = 13;
	c->streams = c->null = s;
	c->next = contexts;
	contexts = c;
	cuda_unlock();
	const struct double_listener *l = double_listener();
	if (l) {
		struct double_context told = { c, c->id, c->device };
		l->context_made(&told);
		l->resource(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, c, NULL);
	}
	return c;
}

static CUresult context_end(CUcontext c)
{
	uint64_t tail = 0;

	if (!c || c->dead)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (double_listener())
		double_listener()->resource(CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, c, NULL);
	cuda_streams_tail(c, &tail);
	double_wait_until(tail);
	c->dead = true; /* never freed: ids stay good for late records */
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxCreate_v2(CUcontext *ret, unsigned flags, CUdevice device);
DOUBLE_EXPORT CUresult CUDAAPI cuCtxCreate_v2(CUcontext *ret, unsigned flags, CUdevice device)
{
	ENTER(cuCtxCreate_v2);
	(void)flags;
	if (device < 0 || device >= devices() || depth == 16)
		LEAVE(CUDA_ERROR_INVALID_DEVICE);
	*ret = stack[depth++] = context_new(device, false);
	LEAVE(CUDA_SUCCESS);
}

DOUBLE_EXPORT CUresult CUDAAPI cuCtxDestroy_v2(CUcontext ctx)
{
	ENTER(cuCtxDestroy_v2);
	CUresult rc = context_end(ctx);
	if (depth && stack[depth - 1] == ctx)
		depth--;
	LEAVE(rc);
}

DOUBLE_EXPORT CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext *ret, CUdevice device)
{
	ENTER(cuDevicePrimaryCtxRetain);
	if (device < 0 || device >= devices())
		LEAVE(CUDA_ERROR_INVALID_DEVICE);
	if (!primary[device] || primary[device]->dead)
		primary[device] = context_new(device, true);
	*ret = primary[device];
	LEAVE(CUDA_SUCCESS);
}

DOUBLE_EXPORT CUresult CUDAAPI cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
	ENTER(cuDevicePrimaryCtxRelease_v2);
	if (device < 0 || device >= devices() || !primary[device])
		LEAVE(CUDA_ERROR_INVALID_CONTEXT);
	LEAVE(context_end(primary[device]));
}

DOUBLE_EXPORT CUresult CUDAAPI cuCtxSetCurrent(CUcontext ctx)
{
	ENTER(cuCtxSetCurrent);
	depth = ctx ? 1 : 0;
	stack[0] = ctx;
	LEAVE(CUDA_SUCCESS);
}

DOUBLE_EXPORT CUresult CUDAAPI cuCtxGetCurrent(CUcontext *ret)
{
	ENTER(cuCtxGetCurrent);
	*ret = cuda_current();
	LEAVE(CUDA_SUCCESS);
}

DOUBLE_EXPORT CUresult CUDAAPI cuCtxPushCurrent_v2(CUcontext ctx)
{
	ENTER(cuCtxPushCurrent_v2);
	if (depth == 16)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	stack[depth++] = ctx;
	LEAVE(CUDA_SUCCESS);
}

DOUBLE_EXPORT CUresult CUDAAPI cuCtxPopCurrent_v2(CUcontext *ret)
{
	ENTER(cuCtxPopCurrent_v2);
	if (!depth)
		LEAVE(CUDA_ERROR_INVALID_CONTEXT);
	depth--;
	if (ret)
		*ret = stack[depth];
	LEAVE(CUDA_SUCCESS);
}

DOUBLE_EXPORT CUresult CUDAAPI cuCtxGetDevice(CUdevice *device)
{
	ENTER(cuCtxGetDevice);
	if (!cuda_current())
		LEAVE(CUDA_ERROR_INVALID_CONTEXT);
	*device = (CUdevice)cuda_current()->device;
	LEAVE(CUDA_SUCCESS);
}

DOUBLE_EXPORT CUresult CUDAAPI cuCtxSynchronize(void)
{
	ENTER(cuCtxSynchronize);
	CUcontext c = cuda_current();
	uint64_t tail = 0;
	if (!c)
		LEAVE(CUDA_ERROR_INVALID_CONTEXT);
	cuda_streams_tail(c, &tail);
	LEAVE(cuda_wait(tail, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE, NULL, 0,
			&call));
}
