/* OpenCL as programs use it, one way for each word: "everything", "out-of-order", "overlap",
 * "user-event", "threads", and ways to end. Prints what it computed and what it was told, so that
 * runs with and without a collector can be compared. Exit code 4: no device. */
#define _GNU_SOURCE
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "roimeter.h"

#define N 4096

static const char source[] = "kernel void twice(global float *a) { a[get_global_id(0)] *= 2.0f; }\n"
			     "kernel void spin(global float *a, uint rounds) {\n"
			     "	float x = a[get_global_id(0)];\n"
			     "	for (uint r = 0; r < rounds; r++)\n"
			     "		x = x * 0.5f + 1.0f;\n"
			     "	a[get_global_id(0)] = x;\n"
			     "}\n";

static cl_device_id device;
static cl_context context;
static cl_program program;
static cl_mem a, b;
static float host[N];

static void must(cl_int rc, int line)
{
	if (rc == CL_SUCCESS)
		return;
	fprintf(stderr, "line %d: OpenCL error %d\n", line, (int)rc);
	exit(3);
}
#define MUST(call) must(call, __LINE__)

static void start(void)
{
	cl_platform_id platform;
	const char *text = source;
	cl_int rc;
	if (clGetPlatformIDs(1, &platform, NULL) ||
	    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
		exit(4);
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &rc);
	MUST(rc);
	program = clCreateProgramWithSource(context, 1, &text, NULL, &rc);
	MUST(rc);
	MUST(clBuildProgram(program, 1, &device, "", NULL, NULL));
	a = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof host, NULL, &rc);
	MUST(rc);
	b = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof host, NULL, &rc);
	MUST(rc);
	for (int i = 0; i < N; i++)
		host[i] = (float)(i % 10);
}

static cl_command_queue queue_with(cl_command_queue_properties p)
{
	cl_int rc;
	cl_command_queue q = clCreateCommandQueue(context, device, p, &rc);
	MUST(rc);
	return q;
}

static cl_kernel kernel_of(const char *name)
{
	cl_int rc;
	cl_kernel k = clCreateKernel(program, name, &rc);
	MUST(rc);
	MUST(clSetKernelArg(k, 0, sizeof(cl_mem), &a));
	return k;
}

static void launch(cl_command_queue q, cl_kernel k, cl_uint n, const cl_event *wait, cl_event *e)
{
	const size_t size = N;
	MUST(clEnqueueNDRangeKernel(q, k, 1, NULL, &size, NULL, n, wait, e));
}

static void say_sum(cl_command_queue q, cl_mem of)
{
	double sum = 0;
	MUST(clEnqueueReadBuffer(q, of, CL_TRUE, 0, sizeof host, host, 0, NULL, NULL));
	for (int i = 0; i < N; i++)
		sum += host[i];
	printf("sum %.0f\n", sum);
}

static void CL_CALLBACK native(void *args)
{
	(void)args;
}

static void images(cl_command_queue q)
{
	const cl_image_format format = { CL_RGBA, CL_UNSIGNED_INT8 };
	const cl_image_desc shape = { .image_type = CL_MEM_OBJECT_IMAGE2D,
				      .image_width = 16,
				      .image_height = 8 };
	const size_t origin[3] = { 0 }, region[3] = { 16, 8, 1 };
	const cl_uint color[4] = { 1, 2, 3, 4 };
	static unsigned char pixels[16 * 8 * 4];
	size_t pitch;
	cl_int rc;
	cl_mem x = clCreateImage(context, CL_MEM_READ_WRITE, &format, &shape, NULL, &rc);
	MUST(rc);
	cl_mem y = clCreateImage(context, CL_MEM_READ_WRITE, &format, &shape, NULL, &rc);
	MUST(rc);
	MUST(clEnqueueFillImage(q, x, color, origin, region, 0, NULL, NULL));
	MUST(clEnqueueCopyImage(q, x, y, origin, origin, region, 0, NULL, NULL));
	MUST(clEnqueueWriteImage(q, x, CL_TRUE, origin, region, 0, 0, pixels, 0, NULL, NULL));
	MUST(clEnqueueReadImage(q, y, CL_TRUE, origin, region, 0, 0, pixels, 0, NULL, NULL));
	MUST(clEnqueueCopyImageToBuffer(q, y, b, origin, region, 0, 0, NULL, NULL));
	MUST(clEnqueueCopyBufferToImage(q, b, x, 0, origin, region, 0, NULL, NULL));
	unsigned char *at = clEnqueueMapImage(q, y, CL_TRUE, CL_MAP_READ, origin, region, &pitch,
					      NULL, 0, NULL, NULL, &rc);
	MUST(rc);
	printf("image %d %d\n", pixels[0], at[3]);
	MUST(clEnqueueUnmapMemObject(q, y, at, 0, NULL, NULL));
	MUST(clFinish(q));
	MUST(clReleaseMemObject(x));
	MUST(clReleaseMemObject(y));
}

static void everything(void)
{
	const size_t from[3] = { 0 }, region[3] = { 64, 4, 2 };
	const float one = 1;
	cl_int rc;
	cl_command_queue q = queue_with(0);
	cl_kernel k = kernel_of("twice");
	MUST(clEnqueueWriteBuffer(q, a, CL_FALSE, 0, sizeof host, host, 0, NULL, NULL));
	launch(q, k, 0, NULL, NULL);
	MUST(clEnqueueTask(q, k, 0, NULL, NULL));
	MUST(clEnqueueCopyBuffer(q, a, b, 0, 0, sizeof host, 0, NULL, NULL));
	MUST(clEnqueueFillBuffer(q, b, &one, sizeof one, 0, 1024, 0, NULL, NULL));
	MUST(clEnqueueWriteBufferRect(q, b, CL_TRUE, from, from, region, 64, 256, 64, 256, host, 0,
				      NULL, NULL));
	MUST(clEnqueueReadBufferRect(q, b, CL_TRUE, from, from, region, 64, 256, 64, 256, host, 0,
				     NULL, NULL));
	MUST(clEnqueueCopyBufferRect(q, a, b, from, from, region, 64, 256, 64, 256, 0, NULL, NULL));
	float *at = clEnqueueMapBuffer(q, b, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, 2048, 0, NULL,
				       NULL, &rc);
	MUST(rc);
	at[0] = 5;
	MUST(clEnqueueUnmapMemObject(q, b, at, 0, NULL, NULL));
	MUST(clEnqueueMigrateMemObjects(q, 1, &a, 0, 0, NULL, NULL));
	rc = clEnqueueNativeKernel(q, native, NULL, 0, 0, NULL, NULL, 0, NULL, NULL);
	printf("native %d\n", (int)rc);
	MUST(clEnqueueMarkerWithWaitList(q, 0, NULL, NULL));
	MUST(clEnqueueBarrierWithWaitList(q, 0, NULL, NULL));
	images(q);
	say_sum(q, a);
	say_sum(q, b);
	MUST(clReleaseKernel(k));
	MUST(clReleaseCommandQueue(q));
}

/* What a program is told about its queue and its events. */
static void told(void)
{
	cl_command_queue_properties p = 77;
	cl_queue_properties list[8] = { 0 };
	const cl_queue_properties wish[] = { CL_QUEUE_PROPERTIES,
					     CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0 };
	cl_command_queue q = queue_with(0);
	cl_kernel k = kernel_of("twice");
	cl_event e = NULL;
	cl_ulong t = 0;
	cl_uint n = 0;
	size_t bytes = 0;
	launch(q, k, 0, NULL, &e);
	MUST(clFinish(q));
	cl_int rc = clGetEventProfilingInfo(e, CL_PROFILING_COMMAND_END, sizeof t, &t, NULL);
	MUST(clGetCommandQueueInfo(q, CL_QUEUE_PROPERTIES, sizeof p, &p, NULL));
	/* The runtime lets go of its own reference when its thread comes to it. */
	cl_uint least = UINT_MAX;
	for (int i = 0; i < 50; i++, usleep(5000)) {
		MUST(clGetEventInfo(e, CL_EVENT_REFERENCE_COUNT, sizeof n, &n, NULL));
		least = n < least ? n : least;
	}
	printf("queue %llu, times %d, references %u\n", (unsigned long long)p, (int)rc, least);
	MUST(clReleaseEvent(e));
	MUST(clReleaseCommandQueue(q));
	q = clCreateCommandQueueWithProperties(context, device, wish, &rc);
	MUST(rc);
	MUST(clGetCommandQueueInfo(q, CL_QUEUE_PROPERTIES, sizeof p, &p, NULL));
	rc = clGetCommandQueueInfo(q, CL_QUEUE_PROPERTIES_ARRAY, sizeof list, list, &bytes);
	printf("queue %llu, list %d %zu %llu\n", (unsigned long long)p, (int)rc, bytes,
	       (unsigned long long)list[1]);
	MUST(clReleaseCommandQueue(q));
	q = queue_with(CL_QUEUE_PROFILING_ENABLE);
	launch(q, k, 0, NULL, &e);
	MUST(clWaitForEvents(1, &e));
	rc = clGetEventProfilingInfo(e, CL_PROFILING_COMMAND_END, sizeof t, &t, NULL);
	MUST(clGetCommandQueueInfo(q, CL_QUEUE_PROPERTIES, sizeof p, &p, NULL));
	printf("queue %llu, times %d %d\n", (unsigned long long)p, (int)rc, t > 0);
	MUST(clReleaseEvent(e));
	MUST(clReleaseKernel(k));
	MUST(clReleaseCommandQueue(q));
}

/* A chain, back to front: each kernel waits for the one that is given to the queue before it. */
static void out_of_order(void)
{
	cl_command_queue q = queue_with(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	cl_kernel k = kernel_of("twice");
	cl_event last = NULL, e;
	MUST(clEnqueueWriteBuffer(q, a, CL_TRUE, 0, sizeof host, host, 0, NULL, NULL));
	for (int i = 0; i < 50; i++) {
		launch(q, k, last ? 1 : 0, last ? &last : NULL, i % 2 && i < 49 ? &e : &e);
		if (last)
			MUST(clReleaseEvent(last));
		last = e;
		if (i % 10 == 9) /* back to what fits a float */
			MUST(clEnqueueFillBuffer(q, b, &i, sizeof i, 0, 4096, 0, NULL, NULL));
	}
	MUST(clWaitForEvents(1, &last));
	MUST(clReleaseEvent(last));
	MUST(clFinish(q));
	MUST(clReleaseKernel(k));
	MUST(clReleaseCommandQueue(q));
	printf("done\n");
}

/* A kernel that is held until the program says so, one that is never let go. */
static void user_event(void)
{
	cl_int rc;
	cl_command_queue q = queue_with(0), never = queue_with(0);
	cl_kernel k = kernel_of("twice");
	cl_event gate = clCreateUserEvent(context, &rc), closed = clCreateUserEvent(context, &rc),
		 e;
	MUST(rc);
	launch(q, k, 1, &gate, &e);
	launch(never, k, 1, &closed, NULL);
	MUST(clFlush(q));
	MUST(clFlush(never));
	(void)usleep(20000);
	MUST(clSetUserEventStatus(gate, CL_COMPLETE));
	MUST(clWaitForEvents(1, &e));
	printf("done\n");
	fflush(stdout);
}

static void *many(void *arg)
{
	cl_command_queue q = queue_with(0);
	cl_kernel k = kernel_of("twice");
	for (int i = 0; i < 100; i++)
		launch(q, k, 0, NULL, NULL);
	MUST(clFinish(q));
	MUST(clReleaseKernel(k));
	MUST(clReleaseCommandQueue(q));
	return arg;
}

static void threads(void)
{
	pthread_t t[4];
	for (int i = 0; i < 4; i++)
		if (pthread_create(&t[i], NULL, many, NULL))
			exit(3);
	for (int i = 0; i < 4; i++)
		(void)pthread_join(t[i], NULL);
	printf("done\n");
}

/* Kernels that run while the program ends. One before them: PoCL dies, with and without us, when it is
 * compiling by then. */
static void leave_running(void)
{
	cl_command_queue q = queue_with(0);
	cl_kernel k = kernel_of("spin");
	const cl_uint rounds = 20000;
	MUST(clSetKernelArg(k, 1, sizeof rounds, &rounds));
	launch(q, k, 0, NULL, NULL);
	MUST(clFinish(q));
	for (int i = 0; i < 5; i++)
		launch(q, k, 0, NULL, NULL);
	MUST(clFlush(q));
	printf("left\n");
	fflush(stdout);
}

static void in_a_child(void)
{
	everything();
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		printf("child\n");
		exit(7);
	}
	int status = 0;
	(void)waitpid(child, &status, 0);
	printf("child %d\n", WEXITSTATUS(status));
	say_sum(queue_with(0), a);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "everything", *how = argc > 2 ? argv[2] : "return";
	if (strcmp(what, "nothing") == 0)
		return 0;
	if (strcmp(what, "look") == 0) {
		cl_uint n = 0;
		(void)clGetPlatformIDs(0, NULL, &n);
		return n ? 0 : 4;
	}
	start();
	ROIMETER_BEGIN();
	if (strcmp(what, "everything") == 0)
		everything();
	else if (strcmp(what, "told") == 0)
		told();
	else if (strcmp(what, "out-of-order") == 0)
		out_of_order();
	else if (strcmp(what, "user-event") == 0)
		user_event();
	else if (strcmp(what, "threads") == 0)
		threads();
	else if (strcmp(what, "left-running") == 0)
		leave_running();
	else if (strcmp(what, "child") == 0)
		in_a_child();
	else
		return 2;
	ROIMETER_END();
	if (strcmp(how, "_exit") == 0) {
		fflush(stdout);
		_exit(5);
	}
	if (strcmp(how, "exit") == 0)
		exit(5);
	if (strcmp(how, "signal") == 0) {
		fflush(stdout);
		(void)raise(SIGTERM);
	}
	return 0;
}
