/* OpenCL in a program that nobody marked, but for ranges: 5 kernels and a copy are in "step", 3 kernels
 * before it, 2 after it. Exit code 4: no device. */
#define _GNU_SOURCE
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <stdio.h>

#include "../fixtures/run/nvtx_client.h"

#define N 4096
#define MUST(call)             \
	do {                    \
		if (call)       \
			return 3; \
	} while (0)

static float host[N];

int main(void)
{
	const char *text = "kernel void twice(global float *a) { a[get_global_id(0)] *= 2.0f; }\n";
	cl_platform_id platform;
	cl_device_id device;
	cl_int rc;
	size_t n = N;
	if (clGetPlatformIDs(1, &platform, NULL) ||
	    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
		return 4;
	cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &rc);
	MUST(rc);
	cl_command_queue queue = clCreateCommandQueue(context, device, 0, &rc);
	MUST(rc);
	cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &rc);
	MUST(rc);
	MUST(clBuildProgram(program, 1, &device, "", NULL, NULL));
	cl_kernel kernel = clCreateKernel(program, "twice", &rc);
	MUST(rc);
	cl_mem a = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof host, NULL, &rc);
	MUST(rc);
	MUST(clSetKernelArg(kernel, 0, sizeof a, &a));
	for (int i = 0; i < 10; i++) {
		if (i == 3) {
			nvtxRangePushA("step");
			MUST(clEnqueueWriteBuffer(queue, a, CL_TRUE, 0, sizeof host, host, 0, NULL,
						  NULL));
		}
		MUST(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &n, NULL, 0, NULL, NULL));
		MUST(clFinish(queue));
		if (i == 7)
			nvtxRangePop();
	}
	return 0;
}
