// The probe for AMD (HIP). Built with hipcc where there is one:
//     hipcc -O2 -Iinclude -o probe_hip examples/probes/probe_hip.cc
// The kernel is the one of the other probes; with --kernel-us one block waits by the device's steady clock.
#include "probe.h"

#include <hip/hip_runtime.h>

static const struct probe_options *options;
static struct {
	float *a, *b;
	hipStream_t stream[PROBE_MOST];
	hipGraphExec_t graph;
	unsigned long long ticks; // of --kernel-us, 0: no
} devices[PROBE_MOST];

#define TRY(call)                                                                              \
	do {                                                                                   \
		hipError_t rc_ = (call);                                                       \
		if (rc_ != hipSuccess)                                                         \
			return probe_fail("%s: %s", #call, hipGetErrorString(rc_));            \
	} while (0)

__global__ void roimeter_probe(float *a, size_t first, size_t count, size_t counter, unsigned rounds,
			       unsigned long long ticks)
{
	size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;

	if (ticks) {
		unsigned long long end = wall_clock64() + ticks;
		while (wall_clock64() < end)
			;
	} else if (i < count) {
		float x = a[first + i];
		for (unsigned r = 0; r < rounds; r++)
			x = x * 0.5F + 1.0F;
		a[first + i] = x;
	}
	if (i < PROBE_COUNTERS)
		a[counter + i] += 1.0F;
}

static int hip_open(const struct probe_options *o)
{
	int count = 0;
	hipDeviceProp_t properties;

	options = o;
	if (hipGetDeviceCount(&count) != hipSuccess || count < o->first_device + o->devices) {
		(void)probe_fail("%d HIP devices are here", count);
		return -1;
	}
	for (int d = 0; d < o->devices; d++) {
		int khz = 0;
		TRY(hipSetDevice(o->first_device + d));
		if (d == 0) {
			TRY(hipGetDeviceProperties(&properties, o->first_device));
			(void)snprintf(probe_device, sizeof probe_device, "%s", properties.name);
		}
		TRY(hipDeviceGetAttribute(&khz, hipDeviceAttributeWallClockRate, o->first_device + d));
		devices[d].ticks = (unsigned long long)(o->kernel_us * 1e-3 * khz);
		for (int q = 0; q < o->queues; q++)
			TRY(hipStreamCreate(&devices[d].stream[q]));
		TRY(hipMalloc((void **)&devices[d].a, o->floats * sizeof(float)));
		TRY(hipMalloc((void **)&devices[d].b, o->floats * sizeof(float)));
	}
	return 0;
}

static int hip_upload(int d, const float *from)
{
	TRY(hipSetDevice(options->first_device + d));
	TRY(hipMemcpy(devices[d].a, from, options->floats * sizeof *from, hipMemcpyHostToDevice));
	return 0;
}

static int hip_fill(int d, size_t first, size_t count)
{
	TRY(hipSetDevice(options->first_device + d));
	TRY(hipMemset(devices[d].a + first, 0, count * sizeof(float)));
	return 0;
}

static void launch(int d, hipStream_t stream, const struct probe_slice *s)
{
	unsigned blocks = devices[d].ticks ? 1 : (unsigned)((s->count + 255) / 256);

	roimeter_probe<<<dim3(blocks), dim3(256), 0, stream>>>(devices[d].a, s->first, s->count,
								s->counter, options->repeat,
								devices[d].ticks);
}

static int hip_launch(int d, int queue, const struct probe_slice *s)
{
	TRY(hipSetDevice(options->first_device + d));
	launch(d, devices[d].stream[queue], s);
	TRY(hipGetLastError());
	return 0;
}

static int hip_copy(int d)
{
	TRY(hipSetDevice(options->first_device + d));
	TRY(hipMemcpyAsync(devices[d].b, devices[d].a, options->floats * sizeof(float),
			   hipMemcpyDeviceToDevice, devices[d].stream[0]));
	return 0;
}

static int hip_download(int d, bool b, size_t first, size_t count, float *to)
{
	TRY(hipSetDevice(options->first_device + d));
	TRY(hipMemcpy(to, (b ? devices[d].b : devices[d].a) + first, count * sizeof *to,
		      hipMemcpyDeviceToHost));
	return 0;
}

static int hip_graph(int d, const struct probe_slice *s)
{
	TRY(hipSetDevice(options->first_device + d));
	if (!devices[d].graph) {
		hipGraph_t graph;
		TRY(hipStreamBeginCapture(devices[d].stream[0], hipStreamCaptureModeThreadLocal));
		for (int i = 0; i < PROBE_GRAPH_NODES; i++)
			launch(d, devices[d].stream[0], s);
		TRY(hipStreamEndCapture(devices[d].stream[0], &graph));
		TRY(hipGraphInstantiate(&devices[d].graph, graph, NULL, NULL, 0));
	}
	TRY(hipGraphLaunch(devices[d].graph, devices[d].stream[0]));
	return 0;
}

static int hip_finish(void)
{
	for (int d = 0; d < options->devices; d++) {
		TRY(hipSetDevice(options->first_device + d));
		TRY(hipDeviceSynchronize());
	}
	return 0;
}

static void hip_close(void)
{
	for (int d = 0; d < PROBE_MOST; d++) {
		if (devices[d].a)
			(void)hipFree(devices[d].a);
		if (devices[d].b)
			(void)hipFree(devices[d].b);
	}
}

int main(int argc, char **argv)
{
	static const struct probe_backend hip = { "hip",    hip_open,     hip_upload, hip_fill,
						  hip_launch, hip_copy,   hip_download, hip_graph,
						  hip_finish, hip_close,  0 };

	return probe_main(argc, argv, &hip);
}
