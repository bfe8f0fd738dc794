/* libcuda without its headers: opened when the program runs, its functions have had the same shape
 * since CUDA 10, and the kernel is text that the driver compiles. So it is built with any C
 * compiler where no toolkit is. Includes nothing of ours; its user has probe_fail(). */
#ifndef PROBE_CUDA_DRIVER_H
#define PROBE_CUDA_DRIVER_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* params: a, first, count, counter, rounds, wait_ns. One thread for each element; with wait_ns they
 * wait instead, by the device's own nanosecond clock. The first 64 threads count the launch. */
static const char kernel_text[] =
	".version 6.0\n"
	".target sm_50\n"
	".address_size 64\n"
	".visible .entry roimeter_probe(.param .u64 p_a, .param .u64 p_first, .param .u64 "
	"p_count,\n"
	"	.param .u64 p_counter, .param .u32 p_rounds, .param .u64 p_wait)\n"
	"{\n"
	"	.reg .pred %p<6>;\n"
	"	.reg .u32 %r<8>;\n"
	"	.reg .u64 %d<16>;\n"
	"	.reg .f32 %f<4>;\n"
	"	mov.u32 %r1, %ctaid.x;\n"
	"	mov.u32 %r2, %ntid.x;\n"
	"	mov.u32 %r3, %tid.x;\n"
	"	mul.wide.u32 %d1, %r1, %r2;\n"
	"	cvt.u64.u32 %d2, %r3;\n"
	"	add.u64 %d1, %d1, %d2;\n"
	"	ld.param.u64 %d3, [p_a];\n"
	"	cvta.to.global.u64 %d3, %d3;\n"
	"	ld.param.u64 %d4, [p_wait];\n"
	"	setp.ne.u64 %p1, %d4, 0;\n"
	"	@%p1 bra WAIT;\n"
	"	ld.param.u64 %d5, [p_count];\n"
	"	setp.ge.u64 %p2, %d1, %d5;\n"
	"	@%p2 bra COUNT;\n"
	"	ld.param.u64 %d6, [p_first];\n"
	"	add.u64 %d6, %d6, %d1;\n"
	"	shl.b64 %d6, %d6, 2;\n"
	"	add.u64 %d6, %d3, %d6;\n"
	"	ld.global.f32 %f1, [%d6];\n"
	"	ld.param.u32 %r4, [p_rounds];\n"
	"	mov.u32 %r5, 0;\n"
	"ROUND:\n"
	"	setp.ge.u32 %p3, %r5, %r4;\n"
	"	@%p3 bra STORE;\n"
	"	fma.rn.f32 %f1, %f1, 0f3F000000, 0f3F800000;\n"
	"	add.u32 %r5, %r5, 1;\n"
	"	bra ROUND;\n"
	"STORE:\n"
	"	st.global.f32 [%d6], %f1;\n"
	"	bra COUNT;\n"
	"WAIT:\n"
	"	mov.u64 %d7, %globaltimer;\n"
	"	add.u64 %d7, %d7, %d4;\n"
	"AGAIN:\n"
	"	mov.u64 %d8, %globaltimer;\n"
	"	setp.lt.u64 %p4, %d8, %d7;\n"
	"	@%p4 bra AGAIN;\n"
	"COUNT:\n"
	"	setp.ge.u64 %p5, %d1, 64;\n"
	"	@%p5 bra END;\n"
	"	ld.param.u64 %d9, [p_counter];\n"
	"	add.u64 %d9, %d9, %d1;\n"
	"	shl.b64 %d9, %d9, 2;\n"
	"	add.u64 %d9, %d3, %d9;\n"
	"	ld.global.f32 %f2, [%d9];\n"
	"	add.f32 %f2, %f2, 0f3F800000;\n"
	"	st.global.f32 [%d9], %f2;\n"
	"END:\n"
	"	ret;\n"
	"}\n";

typedef uint64_t cu_pointer;
typedef struct cu_object *cu_handle; /* contexts, streams, modules, functions, graphs, nodes */

struct cu_kernel_node {
	cu_handle function;
	unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
	void **params, **extra;
};

/* The functions that are used, by the names that libcuda exports them under. */
static struct {
	int (*cuInit)(unsigned);
	int (*cuGetErrorName)(int, const char **);
	int (*cuDeviceGetCount)(int *);
	int (*cuDeviceGet)(int *, int);
	int (*cuDeviceGetName)(char *, int, int);
	int (*cuDevicePrimaryCtxRetain)(cu_handle *, int);
	int (*cuCtxSetCurrent)(cu_handle);
	int (*cuCtxSynchronize)(void);
	int (*cuStreamCreate)(cu_handle *, unsigned);
	int (*cuModuleLoadData)(cu_handle *, const void *);
	int (*cuModuleGetFunction)(cu_handle *, cu_handle, const char *);
	int (*cuMemAlloc_v2)(cu_pointer *, size_t);
	int (*cuMemFree_v2)(cu_pointer);
	int (*cuMemcpyHtoD_v2)(cu_pointer, const void *, size_t);
	int (*cuMemcpyDtoH_v2)(void *, cu_pointer, size_t);
	int (*cuMemcpyDtoDAsync_v2)(cu_pointer, cu_pointer, size_t, cu_handle);
	int (*cuMemsetD32_v2)(cu_pointer, unsigned, size_t);
	int (*cuLaunchKernel)(cu_handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
			      unsigned, cu_handle, void **, void **);
	int (*cuGraphCreate)(cu_handle *, unsigned);
	int (*cuGraphAddKernelNode)(cu_handle *, cu_handle, const cu_handle *, size_t,
				    const struct cu_kernel_node *);
	int (*cuGraphInstantiateWithFlags)(cu_handle *, cu_handle, unsigned long long);
	int (*cuGraphLaunch)(cu_handle, cu_handle);
	int (*cuMemAllocHost_v2)(void **, size_t);
	int (*cuMemcpyHtoDAsync_v2)(cu_pointer, const void *, size_t, cu_handle);
	int (*cuMemcpyDtoHAsync_v2)(void *, cu_pointer, size_t, cu_handle);
	int (*cuEventCreate)(cu_handle *, unsigned);
	int (*cuEventRecord)(cu_handle, cu_handle);
	int (*cuEventElapsedTime)(float *, cu_handle, cu_handle);
} cu;

static const struct {
	const char *name;
	void *at;
} functions[] = {
#define FUNCTION(name)                                                                             \
	{                                                                                          \
#name, &cu.name                                                                    \
	}
	FUNCTION(cuInit),
	FUNCTION(cuGetErrorName),
	FUNCTION(cuDeviceGetCount),
	FUNCTION(cuDeviceGet),
	FUNCTION(cuDeviceGetName),
	FUNCTION(cuDevicePrimaryCtxRetain),
	FUNCTION(cuCtxSetCurrent),
	FUNCTION(cuCtxSynchronize),
	FUNCTION(cuStreamCreate),
	FUNCTION(cuModuleLoadData),
	FUNCTION(cuModuleGetFunction),
	FUNCTION(cuMemAlloc_v2),
	FUNCTION(cuMemFree_v2),
	FUNCTION(cuMemcpyHtoD_v2),
	FUNCTION(cuMemcpyDtoH_v2),
	FUNCTION(cuMemcpyDtoDAsync_v2),
	FUNCTION(cuMemsetD32_v2),
	FUNCTION(cuLaunchKernel),
	FUNCTION(cuGraphCreate),
	FUNCTION(cuGraphAddKernelNode),
	FUNCTION(cuGraphInstantiateWithFlags),
	FUNCTION(cuGraphLaunch),
	FUNCTION(cuMemAllocHost_v2),
	FUNCTION(cuMemcpyHtoDAsync_v2),
	FUNCTION(cuMemcpyDtoHAsync_v2),
	FUNCTION(cuEventCreate),
	FUNCTION(cuEventRecord),
	FUNCTION(cuEventElapsedTime),
};

#define TRY(call, ...)                                                                             \
	do {                                                                                       \
		int rc_ = cu.call(__VA_ARGS__);                                                    \
		if (rc_)                                                                           \
			return cuda_fail(#call, rc_);                                              \
	} while (0)

static int cuda_fail(const char *call, int rc)
{
	const char *name = NULL;

	if (cu.cuGetErrorName(rc, &name) || !name)
		name = "?";
	return probe_fail("%s: %s (%d)", call, name, rc);
}

static int cuda_load(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);

	if (!library) {
		(void)probe_fail("no CUDA driver here: %s", dlerror());
		return -1;
	}
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
		void *symbol = dlsym(library, functions[i].name);
		if (!symbol)
			return probe_fail("libcuda.so.1 has no %s", functions[i].name);
		memcpy(functions[i].at, &symbol, sizeof symbol);
	}
	return 0;
}

#endif
