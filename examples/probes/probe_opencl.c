/* The probe on any OpenCL device: each of the launches is one clEnqueueNDRangeKernel, on in-order
 * queues without profiling, without events. --graph takes command buffers where the device has
 * cl_khr_command_buffer. */
#define CL_TARGET_OPENCL_VERSION 120
#include "probe.h"

#include <CL/cl.h>
#include <CL/cl_ext.h>

static const char source[] = "kernel void probe_step(global float *a, ulong first, ulong count, "
			     "ulong counter, uint rounds,\n"
			     "                       ulong idle) {\n"
			     "	size_t i = get_global_id(0);\n"
			     "	if (i < count && rounds) {\n"
			     "		float x = a[first + i];\n"
			     "		for (uint r = 0; r < rounds; r++)\n"
			     "			x = x * 0.5f + 1.0f;\n"
			     "		a[first + i] = x;\n"
			     "	}\n"
			     "	if (idle && i == 0) {\n"
			     "		float y = 0.0f;\n"
			     "		for (ulong r = 0; r < idle; r++)\n"
			     "			y = y * 0.5f + 1.0f;\n"
			     "		if (y > 2.0f) /* never, which no compiler knows */\n"
			     "			a[first] = y;\n"
			     "	}\n"
			     "	if (i < 64)\n"
			     "		a[counter + i] += 1.0f;\n"
			     "}\n";

/* Rounds of a chain that waits for itself: 4 cycles each, at 1.5 (GPUs) to 3.5 GHz. */
#define ROUNDS_PER_US 700

struct device {
	cl_platform_id platform;
	cl_device_id id;
	cl_context context;
	cl_command_queue queues[PROBE_MOST];
	cl_program program;
	cl_kernel kernel;
	cl_mem array[2];
};

static const struct probe_options *options;
static struct device devices[PROBE_MOST];

static int check(cl_int rc, const char *call)
{
	return rc == CL_SUCCESS ? 0 : probe_fail("%s: error %d", call, (int)rc);
}

/* ---- start ---- */

static int build(struct device *d)
{
	const char *text = source;
	char log[2000] = "";
	cl_int rc;

	d->program = clCreateProgramWithSource(d->context, 1, &text, NULL, &rc);
	if (!d->program)
		return check(rc, "clCreateProgramWithSource");
	rc = clBuildProgram(d->program, 1, &d->id, "", NULL, NULL);
	if (rc) {
		clGetProgramBuildInfo(d->program, d->id, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log,
				      NULL);
		return probe_fail("clBuildProgram: error %d: %s", (int)rc, log);
	}
	d->kernel = clCreateKernel(d->program, "probe_step", &rc);
	return check(rc, "clCreateKernel");
}

static int open_device(struct device *d)
{
	cl_int rc = CL_SUCCESS;

	d->context = clCreateContext(NULL, 1, &d->id, NULL, NULL, &rc);
	if (!d->context)
		return check(rc, "clCreateContext");
	for (int q = 0; q < options->queues; q++) {
		d->queues[q] = clCreateCommandQueue(d->context, d->id, 0, &rc);
		if (!d->queues[q])
			return check(rc, "clCreateCommandQueue");
	}
	for (int k = 0; k < 2; k++) {
		d->array[k] = clCreateBuffer(d->context, CL_MEM_READ_WRITE,
					     options->floats * sizeof(float), NULL, &rc);
		if (!d->array[k])
			return check(rc, "clCreateBuffer");
	}
	return build(d);
}

/* Devices of all platforms, one after the other. */
static int find_devices(int first, int wanted)
{
	cl_platform_id platforms[PROBE_MOST];
	cl_device_id found[PROBE_MOST];
	cl_uint n_platforms = 0, n = 0;
	int at = 0, have = 0;

	if (clGetPlatformIDs(PROBE_MOST, platforms, &n_platforms))
		n_platforms = 0;
	for (cl_uint p = 0; p < n_platforms && p < PROBE_MOST; p++) {
		if (clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, PROBE_MOST, found, &n))
			continue;
		for (cl_uint i = 0; i < n && i < PROBE_MOST; i++, at++) {
			if (at < first || have >= wanted)
				continue;
			devices[have].platform = platforms[p];
			devices[have++].id = found[i];
		}
	}
	return have;
}

/* An extension, which a driver may have for some of its devices. */
static bool has_command_buffers(const struct device *d)
{
	size_t n = 0;
	bool has = false;

	if (clGetDeviceInfo(d->id, CL_DEVICE_EXTENSIONS, 0, NULL, &n) || !n)
		return false;
	char *text = malloc(n + 1);
	if (text && !clGetDeviceInfo(d->id, CL_DEVICE_EXTENSIONS, n, text, NULL)) {
		text[n] = 0;
		has = strstr(text, "cl_khr_command_buffer");
	}
	free(text);
	return has;
}

static int opencl_open(const struct probe_options *o)
{
	options = o;
	int have = find_devices(o->first_device, o->devices);
	if (have < o->devices) {
		probe_fail("%d OpenCL device%s from number %d on, wanted %d", have,
			   have == 1 ? "" : "s", o->first_device, o->devices);
		return -1;
	}
	clGetDeviceInfo(devices[0].id, CL_DEVICE_NAME, sizeof probe_device - 1, probe_device, NULL);
	for (int d = 0; d < o->devices; d++)
		if (o->graph && !has_command_buffers(&devices[d]))
			return -probe_fail("--graph: the device has no cl_khr_command_buffer");
	for (int d = 0; d < o->devices; d++)
		if (open_device(&devices[d]))
			return 1;
	return 0;
}

/* ---- work ---- */

static int opencl_upload(int device, const float *from)
{
	struct device *d = &devices[device];

	return check(clEnqueueWriteBuffer(d->queues[0], d->array[0], CL_TRUE, 0,
					  options->floats * sizeof *from, from, 0, NULL, NULL),
		     "clEnqueueWriteBuffer");
}

static int opencl_fill(int device, size_t first, size_t count)
{
	struct device *d = &devices[device];
	const float zero = 0;

	return check(clEnqueueFillBuffer(d->queues[0], d->array[0], &zero, sizeof zero,
					 first * sizeof zero, count * sizeof zero, 0, NULL, NULL),
		     "clEnqueueFillBuffer");
}

static int set_args(struct device *d, const struct probe_slice *s)
{
	const cl_ulong first = s->first, count = s->count, counter = s->counter;
	const cl_ulong idle = (cl_ulong)(options->kernel_us * ROUNDS_PER_US);
	const cl_uint rounds = options->kernel_us > 0 ? 0 : options->repeat;
	cl_int rc = clSetKernelArg(d->kernel, 0, sizeof(cl_mem), &d->array[0]);

	rc |= clSetKernelArg(d->kernel, 1, sizeof first, &first);
	rc |= clSetKernelArg(d->kernel, 2, sizeof count, &count);
	rc |= clSetKernelArg(d->kernel, 3, sizeof counter, &counter);
	rc |= clSetKernelArg(d->kernel, 4, sizeof rounds, &rounds);
	rc |= clSetKernelArg(d->kernel, 5, sizeof idle, &idle);
	return check(rc, "clSetKernelArg");
}

/* One work-item for each element; with a given time, as few as there are counters. */
static size_t items(const struct probe_slice *s)
{
	return options->kernel_us > 0 || s->count < PROBE_COUNTERS ? PROBE_COUNTERS : s->count;
}

static int opencl_launch(int device, int queue, const struct probe_slice *s)
{
	struct device *d = &devices[device];
	size_t n = items(s);

	if (set_args(d, s) || check(clEnqueueNDRangeKernel(d->queues[queue], d->kernel, 1, NULL, &n,
							   NULL, 0, NULL, NULL),
				    "clEnqueueNDRangeKernel"))
		return 1;
	return check(clFlush(d->queues[queue]), "clFlush");
}

static int opencl_copy(int device)
{
	struct device *d = &devices[device];

	return check(clEnqueueCopyBuffer(d->queues[0], d->array[0], d->array[1], 0, 0,
					 options->floats * sizeof(float), 0, NULL, NULL),
		     "clEnqueueCopyBuffer");
}

static int opencl_download(int device, bool b, size_t first, size_t count, float *to)
{
	struct device *d = &devices[device];

	return check(clEnqueueReadBuffer(d->queues[0], d->array[b], CL_TRUE, first * sizeof *to,
					 count * sizeof *to, to, 0, NULL, NULL),
		     "clEnqueueReadBuffer");
}

static int opencl_finish(void)
{
	for (int d = 0; d < options->devices; d++)
		for (int q = 0; q < options->queues; q++)
			if (check(clFinish(devices[d].queues[q]), "clFinish"))
				return 1;
	return 0;
}

/* ---- command buffers ---- */

#ifdef cl_khr_command_buffer

static void *function_of(const struct device *d, const char *name)
{
	return clGetExtensionFunctionAddressForPlatform(d->platform, name);
}

static int record(struct device *d, cl_command_buffer_khr buffer, const struct probe_slice *s)
{
	clCommandNDRangeKernelKHR_fn add;
	void *at = function_of(d, "clCommandNDRangeKernelKHR");
	cl_sync_point_khr before = 0, after = 0;
	size_t n = items(s);

	memcpy(&add, &at, sizeof add);
	for (int i = 0; i < PROBE_GRAPH_NODES; i++, before = after)
		if (check(add(buffer, NULL, NULL, d->kernel, 1, NULL, &n, NULL, i > 0,
			      i > 0 ? &before : NULL, &after, NULL),
			  "clCommandNDRangeKernelKHR"))
			return 1;
	return 0;
}

static int opencl_graph(int device, const struct probe_slice *s)
{
	struct device *d = &devices[device];
	clCreateCommandBufferKHR_fn create;
	clFinalizeCommandBufferKHR_fn finalize;
	clEnqueueCommandBufferKHR_fn enqueue;
	clReleaseCommandBufferKHR_fn release;
	void *at[4] = { function_of(d, "clCreateCommandBufferKHR"),
			function_of(d, "clFinalizeCommandBufferKHR"),
			function_of(d, "clEnqueueCommandBufferKHR"),
			function_of(d, "clReleaseCommandBufferKHR") };
	cl_int rc = CL_SUCCESS;

	if (!at[0] || !at[1] || !at[2] || !at[3])
		return probe_fail("--graph: the device has no cl_khr_command_buffer");
	memcpy(&create, &at[0], sizeof create);
	memcpy(&finalize, &at[1], sizeof finalize);
	memcpy(&enqueue, &at[2], sizeof enqueue);
	memcpy(&release, &at[3], sizeof release);
	cl_command_buffer_khr buffer = create(1, &d->queues[0], NULL, &rc);
	if (!buffer)
		return check(rc, "clCreateCommandBufferKHR");
	int bad = set_args(d, s) || record(d, buffer, s) ||
		  check(finalize(buffer), "clFinalizeCommandBufferKHR") ||
		  check(enqueue(0, NULL, buffer, 0, NULL, NULL), "clEnqueueCommandBufferKHR");
	if (!bad)
		bad = check(clFinish(d->queues[0]), "clFinish");
	release(buffer);
	return bad;
}

#endif

/* ---- end ---- */

static void opencl_close(void)
{
	for (int i = 0; i < PROBE_MOST; i++) {
		struct device *d = &devices[i];
		for (int k = 0; k < 2; k++)
			if (d->array[k])
				clReleaseMemObject(d->array[k]);
		if (d->kernel)
			clReleaseKernel(d->kernel);
		if (d->program)
			clReleaseProgram(d->program);
		for (int q = 0; q < PROBE_MOST; q++)
			if (d->queues[q])
				clReleaseCommandQueue(d->queues[q]);
		if (d->context)
			clReleaseContext(d->context);
	}
}

int main(int argc, char **argv)
{
	static const struct probe_backend opencl = {
		.name = "opencl",
		.open = opencl_open,
		.upload = opencl_upload,
		.fill = opencl_fill,
		.launch = opencl_launch,
		.copy = opencl_copy,
		.download = opencl_download,
#ifdef cl_khr_command_buffer
		.graph = opencl_graph,
#endif
		.finish = opencl_finish,
		.close = opencl_close,
		.elements = 1 << 16,
	};

	return probe_main(argc, argv, &opencl);
}
