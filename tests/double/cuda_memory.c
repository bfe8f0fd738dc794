/* The double of libcuda: memory, which is the host's, and copies and fills, which are done at once
 * and take their time on the stream. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "cuda.h"

enum { MOST = 4096 };
enum { PAGEABLE = 1, PINNED = 2, DEVICE = 3, MANAGED = 5 };
static struct {
	char *at;
	size_t size;
	uint32_t device;
	uint8_t kind;
} regions[MOST];

static CUresult region_new(void **ret, size_t size, uint8_t kind)
{
	CUcontext c = cuda_current();
	char *p = size && c ? calloc(1, size) : NULL;
	int i = 0;

	if (!p)
		return c ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_CONTEXT;
	cuda_lock();
	while (i < MOST && regions[i].at)
		i++;
	if (i < MOST) {
		regions[i].at = p;
		regions[i].size = size;
		regions[i].device = c->device;
		regions[i].kind = kind;
	}
	cuda_unlock();
	if (i == MOST) {
		free(p);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*ret = p;
	return CUDA_SUCCESS;
}

static CUresult region_free(void *p)
{
	CUresult rc = CUDA_ERROR_INVALID_VALUE;

	cuda_lock();
	for (int i = 0; p && i < MOST; i++)
		if (regions[i].at == p) {
			regions[i].at = NULL;
			free(p);
			rc = CUDA_SUCCESS;
			break;
		}
	cuda_unlock();
	return rc;
}

uint32_t cuda_device_of(CUdeviceptr p, bool *ret_known, uint8_t *ret_kind)
{
	const char *at = (const char *)(uintptr_t)p;
	uint32_t device = 0;

	*ret_known = false;
	*ret_kind = PAGEABLE;
	cuda_lock();
	for (int i = 0; i < MOST; i++)
		if (regions[i].at && at >= regions[i].at && at < regions[i].at + regions[i].size) {
			*ret_known = regions[i].kind != PINNED;
			*ret_kind = regions[i].kind;
			device = regions[i].device;
			break;
		}
	cuda_unlock();
	return device;
}

DOUBLE_EXPORT CUresult CUDAAPI cuMemAlloc_v2(CUdeviceptr *ret, size_t size)
{
	ENTER(cuMemAlloc_v2);
	void *p = NULL;
	CUresult rc = region_new(&p, size, DEVICE);
	*ret = (CUdeviceptr)(uintptr_t)p;
	LEAVE(rc);
}

DOUBLE_EXPORT CUresult CUDAAPI cuMemAllocManaged(CUdeviceptr *ret, size_t size, unsigned flags)
{
	ENTER(cuMemAllocManaged);
	void *p = NULL;
	CUresult rc = region_new(&p, size, MANAGED);
	(void)flags;
	*ret = (CUdeviceptr)(uintptr_t)p;
	LEAVE(rc);
}

DOUBLE_EXPORT CUresult CUDAAPI cuMemHostAlloc(void **ret, size_t size, unsigned flags)
{
	ENTER(cuMemHostAlloc);
	(void)flags;
	LEAVE(region_new(ret, size, PINNED));
}

DOUBLE_EXPORT CUresult CUDAAPI cuMemAllocHost_v2(void **ret, size_t size)
{
	ENTER(cuMemAllocHost_v2);
	LEAVE(region_new(ret, size, PINNED));
}

DOUBLE_EXPORT CUresult CUDAAPI cuMemFree_v2(CUdeviceptr p)
{
	ENTER(cuMemFree_v2);
	uint64_t tail = 0;
	if (cuda_current())
		cuda_streams_tail(cuda_current(), &tail);
	double_wait_until(tail); /* as the driver does */
	LEAVE(region_free((void *)(uintptr_t)p));
}

DOUBLE_EXPORT CUresult CUDAAPI cuMemFreeHost(void *p)
{
	ENTER(cuMemFreeHost);
	LEAVE(region_free(p));
}

DOUBLE_EXPORT CUresult CUDAAPI cuMemGetInfo_v2(size_t *left, size_t *all)
{
	ENTER(cuMemGetInfo_v2);
	*left = (size_t)15 << 30;
	*all = (size_t)16 << 30;
	LEAVE(CUDA_SUCCESS);
}

/* copyKind of a record: 1 h2d, 2 d2h, 8 d2d, 9 h2h, 10 between devices. */
static CUresult copy(struct call *call, CUdeviceptr to, CUdeviceptr from, size_t bytes,
		     CUstream handle, bool wait, bool async)
{
	CUstream s = cuda_stream(handle);
	bool to_device, from_device;
	struct double_op op = { .kind = CUPTI_ACTIVITY_KIND_MEMCPY, .bytes = bytes };

	if (!s)
		return CUDA_ERROR_INVALID_CONTEXT;
	op.dst_device = cuda_device_of(to, &to_device, &op.dst_kind);
	op.src_device = cuda_device_of(from, &from_device, &op.src_kind);
	op.copies = (uint64_t)script_number("copies", 1);
	op.copy_kind = from_device ? (to_device ? 8 : 2) : (to_device ? 1 : 9);
	if (op.copy_kind == 8 && op.src_device != op.dst_device) {
		op.kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
		op.copy_kind = 10;
	}
	if (script_number("copy-kind", 0))
		op.copy_kind = (uint8_t)script_number("copy-kind", 0);
	op.value = async; /* flags: CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC */
	if (!s->capture)
		memmove((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
	uint64_t end = cuda_put(s, &op, cuda_length("copy-ns", 20000), call->told.correlation);
	if (wait)
		double_wait_until(end);
	return CUDA_SUCCESS;
}

DOUBLE_EXPORT CUresult CUDAAPI cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes)
{
	ENTER(cuMemcpyHtoD_v2);
	LEAVE(copy(&call, to, (CUdeviceptr)(uintptr_t)from, bytes, NULL, true, false));
}

DOUBLE_EXPORT CUresult CUDAAPI cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes)
{
	ENTER(cuMemcpyDtoH_v2);
	LEAVE(copy(&call, (CUdeviceptr)(uintptr_t)to, from, bytes, NULL, true, false));
}

DOUBLE_EXPORT CUresult CUDAAPI cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
	ENTER(cuMemcpyDtoD_v2);
	LEAVE(copy(&call, to, from, bytes, NULL, false, false));
}

DOUBLE_EXPORT CUresult CUDAAPI cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
	ENTER(cuMemcpy);
	LEAVE(copy(&call, to, from, bytes, NULL, true, false));
}

DOUBLE_EXPORT CUresult CUDAAPI cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes,
						    CUstream s)
{
	ENTER(cuMemcpyHtoDAsync_v2);
	LEAVE(copy(&call, to, (CUdeviceptr)(uintptr_t)from, bytes, s, false, true));
}

DOUBLE_EXPORT CUresult CUDAAPI cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes,
						    CUstream s)
{
	ENTER(cuMemcpyDtoHAsync_v2);
	LEAVE(copy(&call, (CUdeviceptr)(uintptr_t)to, from, bytes, s, false, true));
}

DOUBLE_EXPORT CUresult CUDAAPI cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes,
						    CUstream s)
{
	ENTER(cuMemcpyDtoDAsync_v2);
	LEAVE(copy(&call, to, from, bytes, s, false, true));
}

DOUBLE_EXPORT CUresult CUDAAPI cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes,
					     CUstream s)
{
	ENTER(cuMemcpyAsync);
	LEAVE(copy(&call, to, from, bytes, s, false, true));
}

DOUBLE_EXPORT CUresult CUDAAPI cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context,
						 CUdeviceptr from, CUcontext from_context,
						 size_t bytes, CUstream s)
{
	ENTER(cuMemcpyPeerAsync);
	(void)to_context, (void)from_context;
	LEAVE(copy(&call, to, from, bytes, s, false, true));
}

static CUresult fill(struct call *call, CUdeviceptr to, uint32_t value, size_t width, size_t count,
		     CUstream handle)
{
	CUstream s = cuda_stream(handle);
	bool known;
	uint8_t kind;

	if (!s)
		return CUDA_ERROR_INVALID_CONTEXT;
	(void)cuda_device_of(to, &known, &kind);
	struct double_op op = {
		.kind = CUPTI_ACTIVITY_KIND_MEMSET,
		.bytes = count * width,
		.value = value,
		.memory_kind = kind,
	};
	for (size_t i = 0; !s->capture && i < count; i++) /* the host is little endian */
		memcpy((char *)(uintptr_t)to + i * width, &value, width);
	(void)cuda_put(s, &op, cuda_length("fill-ns", 5000), call->told.correlation);
	return CUDA_SUCCESS;
}

DOUBLE_EXPORT CUresult CUDAAPI cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t n)
{
	ENTER(cuMemsetD8_v2);
	LEAVE(fill(&call, to, value, 1, n, NULL));
}

DOUBLE_EXPORT CUresult CUDAAPI cuMemsetD32_v2(CUdeviceptr to, unsigned value, size_t n)
{
	ENTER(cuMemsetD32_v2);
	LEAVE(fill(&call, to, value, 4, n, NULL));
}

DOUBLE_EXPORT CUresult CUDAAPI cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t n,
					       CUstream s)
{
	ENTER(cuMemsetD8Async);
	LEAVE(fill(&call, to, value, 1, n, s));
}

DOUBLE_EXPORT CUresult CUDAAPI cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t n,
						CUstream s)
{
	ENTER(cuMemsetD32Async);
	LEAVE(fill(&call, to, value, 4, n, s));
}
