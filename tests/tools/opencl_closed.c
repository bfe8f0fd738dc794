/* A program that brings the OpenCL loader by dlopen, uses a device, and closes it again. */
#define _GNU_SOURCE
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static void *loader;

static void look_up(const char *name, void *into)
{
	void *at = dlsym(loader, name);
	memcpy(into, &at, sizeof at);
}

#define CALL(name)                                                                                 \
	__typeof__(name) *p_##name;                                                                \
	look_up(#name, &p_##name)

static int use(void)
{
	CALL(clGetPlatformIDs);
	CALL(clGetDeviceIDs);
	CALL(clCreateContext);
	CALL(clCreateCommandQueue);
	CALL(clCreateBuffer);
	CALL(clEnqueueFillBuffer);
	CALL(clFinish);
	CALL(clReleaseMemObject);
	CALL(clReleaseCommandQueue);
	CALL(clReleaseContext);
	cl_platform_id platform;
	cl_device_id device;
	cl_int rc, pattern = 7;
	if (p_clGetPlatformIDs(1, &platform, NULL) ||
	    p_clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
		return 4;
	cl_context context = p_clCreateContext(NULL, 1, &device, NULL, NULL, &rc);
	cl_command_queue q = p_clCreateCommandQueue(context, device, 0, &rc);
	cl_mem m = p_clCreateBuffer(context, CL_MEM_READ_WRITE, 4096, NULL, &rc);
	for (int i = 0; i < 3; i++)
		rc |= p_clEnqueueFillBuffer(q, m, &pattern, sizeof pattern, 0, 4096, 0, NULL, NULL);
	rc |= p_clFinish(q);
	p_clReleaseMemObject(m);
	p_clReleaseCommandQueue(q);
	p_clReleaseContext(context);
	return rc ? 3 : 0;
}

int main(void)
{
	int rc = 4;
	loader = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
	if (loader)
		rc = use();
	if (loader)
		(void)dlclose(loader);
	printf("closed %d\n", rc);
	return rc;
}
