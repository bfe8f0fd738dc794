/* The probe for CUDA, through the driver's own interface: libcuda is opened when it runs, its
 * functions have had the same shape since CUDA 10, and the kernel is text that the driver compiles.
 * So it is built with any C compiler where no toolkit is. */
#include "probe.h"

#include <dlfcn.h>

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
};

static const struct probe_options *options;
static struct {
	cu_handle context, function, graph, stream[PROBE_MOST];
	cu_pointer a, b;
} devices[PROBE_MOST];

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

static int cuda_open_device(int d)
{
	int device;

	TRY(cuDeviceGet, &device, options->first_device + d);
	if (d == 0)
		TRY(cuDeviceGetName, probe_device, (int)sizeof probe_device - 1, device);
	TRY(cuDevicePrimaryCtxRetain, &devices[d].context, device);
	TRY(cuCtxSetCurrent, devices[d].context);
	for (int q = 0; q < options->queues; q++)
		TRY(cuStreamCreate, &devices[d].stream[q], 0);
	cu_handle module;
	TRY(cuModuleLoadData, &module, kernel_text);
	TRY(cuModuleGetFunction, &devices[d].function, module, "roimeter_probe");
	TRY(cuMemAlloc_v2, &devices[d].a, options->floats * sizeof(float));
	TRY(cuMemAlloc_v2, &devices[d].b, options->floats * sizeof(float));
	return 0;
}

static int cuda_open(const struct probe_options *o)
{
	int count = 0, rc = cuda_load();

	options = o;
	if (rc)
		return rc;
	rc = cu.cuInit(0);
	if (!rc)
		rc = cu.cuDeviceGetCount(&count);
	if (rc == 100 || (!rc && count < o->first_device + o->devices)) { /* CUDA_ERROR_NO_DEVICE */
		(void)probe_fail("%d CUDA devices are here", count);
		return -1;
	}
	if (rc)
		return cuda_fail("cuInit", rc);
	for (int d = 0; d < o->devices; d++)
		if (cuda_open_device(d))
			return 1;
	return 0;
}

static int cuda_upload(int d, const float *from)
{
	TRY(cuCtxSetCurrent, devices[d].context);
	TRY(cuMemcpyHtoD_v2, devices[d].a, from, options->floats * sizeof *from);
	return 0;
}

static int cuda_fill(int d, size_t first, size_t count)
{
	TRY(cuCtxSetCurrent, devices[d].context);
	TRY(cuMemsetD32_v2, devices[d].a + first * sizeof(float), 0, count);
	return 0;
}

/* What a launch needs; pointers into itself. */
struct launch {
	uint64_t a, first, count, counter, wait_ns;
	unsigned rounds, blocks;
	void *params[6];
};

static void launch_make(struct launch *l, int d, const struct probe_slice *s)
{
	l->a = devices[d].a;
	l->first = s->first;
	l->count = s->count;
	l->counter = s->counter;
	l->rounds = options->repeat;
	l->wait_ns = (uint64_t)(options->kernel_us * 1e3);
	l->blocks = l->wait_ns ? 1 : (unsigned)((s->count + 255) / 256);
	l->params[0] = &l->a;
	l->params[1] = &l->first;
	l->params[2] = &l->count;
	l->params[3] = &l->counter;
	l->params[4] = &l->rounds;
	l->params[5] = &l->wait_ns;
}

static int cuda_launch(int d, int queue, const struct probe_slice *s)
{
	struct launch l;

	launch_make(&l, d, s);
	TRY(cuCtxSetCurrent, devices[d].context);
	TRY(cuLaunchKernel, devices[d].function, l.blocks, 1, 1, 256, 1, 1, 0,
	    devices[d].stream[queue], l.params, NULL);
	return 0;
}

static int cuda_copy(int d)
{
	TRY(cuCtxSetCurrent, devices[d].context);
	TRY(cuMemcpyDtoDAsync_v2, devices[d].b, devices[d].a, options->floats * sizeof(float),
	    devices[d].stream[0]);
	return 0;
}

static int cuda_download(int d, bool b, size_t first, size_t count, float *to)
{
	TRY(cuCtxSetCurrent, devices[d].context);
	TRY(cuMemcpyDtoH_v2, to, (b ? devices[d].b : devices[d].a) + first * sizeof *to,
	    count * sizeof *to);
	return 0;
}

/* The nodes one behind the other; made at the first launch, which is no work of the device. */
static int cuda_graph(int d, const struct probe_slice *s)
{
	TRY(cuCtxSetCurrent, devices[d].context);
	if (!devices[d].graph) {
		struct launch l;
		cu_handle graph, node = NULL;
		launch_make(&l, d, s);
		struct cu_kernel_node kernel = {
			devices[d].function, l.blocks, 1, 1, 256, 1, 1, 0, l.params, NULL
		};
		TRY(cuGraphCreate, &graph, 0);
		for (int i = 0; i < PROBE_GRAPH_NODES; i++) {
			cu_handle before = node;
			TRY(cuGraphAddKernelNode, &node, graph, i ? &before : NULL, i > 0, &kernel);
		}
		TRY(cuGraphInstantiateWithFlags, &devices[d].graph, graph, 0);
	}
	TRY(cuGraphLaunch, devices[d].graph, devices[d].stream[0]);
	return 0;
}

static int cuda_finish(void)
{
	for (int d = 0; d < options->devices; d++) {
		TRY(cuCtxSetCurrent, devices[d].context);
		TRY(cuCtxSynchronize);
	}
	return 0;
}

static void cuda_close(void)
{
	for (int d = 0; d < PROBE_MOST; d++)
		if (devices[d].b && !cu.cuCtxSetCurrent(devices[d].context)) {
			(void)cu.cuMemFree_v2(devices[d].a);
			(void)cu.cuMemFree_v2(devices[d].b);
		}
}

int main(int argc, char **argv)
{
	static const struct probe_backend cuda = {
		.name = "cuda",
		.open = cuda_open,
		.upload = cuda_upload,
		.fill = cuda_fill,
		.launch = cuda_launch,
		.copy = cuda_copy,
		.download = cuda_download,
		.graph = cuda_graph,
		.finish = cuda_finish,
		.close = cuda_close,
	};

	return probe_main(argc, argv, &cuda);
}
