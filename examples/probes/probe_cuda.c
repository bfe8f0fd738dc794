/* The probe for CUDA, through the driver's own interface. */
#include "probe.h"

#include "cuda_driver.h"

static const struct probe_options *options;
static struct {
	cu_handle context, function, graph, stream[PROBE_MOST];
	cu_pointer a, b;
} devices[PROBE_MOST];

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
