/* What the OpenCL collector costs for each kernel that a program gives to a queue: the same loop in
 * processes with the layer and without, by turns; CPU time of the whole process, its driver's
 * threads included. The kernel does nothing, so this is the most that it can be. */
#define _GNU_SOURCE
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/ratio.h"
#include "lib/file.h"

#if defined(__has_include)
#if __has_include(<CL/cl.h>)
#define HAVE_OPENCL 1
#endif
#endif

#ifdef HAVE_OPENCL
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>

#define KERNELS 2000
#define BATCH 100 /* between two clFinish */
#define SLICES 7
#define PAIRS 9

static void *loader;

/* The loader is opened here: no machine needs it to build this. */
#define CALL(name) ((__typeof__(&name))dlsym(loader, #name))

/* ---- the program that is measured ---------------------------------------------------------------
 */

static cl_kernel make_kernel(cl_context context, cl_device_id device)
{
	const char *source = "kernel void nothing(void) {}";
	cl_int rc;
	cl_program p = CALL(clCreateProgramWithSource)(context, 1, &source, NULL, &rc);
	if (rc || CALL(clBuildProgram)(p, 1, &device, "", NULL, NULL))
		return NULL;
	return CALL(clCreateKernel)(p, "nothing", &rc);
}

static bool give(cl_command_queue queue, cl_kernel kernel, int n)
{
	const size_t one = 1;
	for (int i = 1; i <= n; i++) {
		if (CALL(clEnqueueNDRangeKernel)(queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL))
			return false;
		if (i % BATCH == 0 && CALL(clFinish)(queue))
			return false;
	}
	return true;
}

/* The best slice, in ns for each kernel. NAN: there is no OpenCL device. */
static double measure(void)
{
	cl_platform_id platform;
	cl_device_id device;
	cl_int rc = 0;
	double best = INFINITY;
	loader = dlopen("libOpenCL.so.1", RTLD_NOW);
	if (!loader || CALL(clGetPlatformIDs)(1, &platform, NULL) ||
	    CALL(clGetDeviceIDs)(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
		return NAN;
	cl_context context = CALL(clCreateContext)(NULL, 1, &device, NULL, NULL, &rc);
	cl_command_queue queue = rc ? NULL : CALL(clCreateCommandQueue)(context, device, 0, &rc);
	cl_kernel kernel = queue ? make_kernel(context, device) : NULL;
	if (!kernel || !give(queue, kernel, KERNELS))
		return NAN;
	for (int i = 0; i < SLICES; i++) {
		double begun = cpu_s();
		if (!give(queue, kernel, KERNELS))
			return NAN;
		double ns = (cpu_s() - begun) / KERNELS * 1e9;
		best = ns < best ? ns : best;
	}
	return best;
}

/* ---- by turns -----------------------------------------------------------------------------------
 */

static double run(const char *self, const char *layer, const char *logs)
{
	char text[64] = { 0 };
	int ends[2];
	if (pipe(ends))
		return NAN;
	pid_t pid = fork();
	if (pid == 0) {
		(void)dup2(ends[1], STDOUT_FILENO);
		(void)close(ends[0]);
		(void)close(ends[1]);
		if (layer) {
			(void)setenv("OPENCL_LAYERS", layer, 1);
			(void)setenv("ROIMETER_EXEC", "profiled.bench", 1);
			(void)setenv("ROIMETER_LOG", logs, 1);
		}
		(void)execl(self, self, "measure", (char *)NULL);
		_exit(127);
	}
	(void)close(ends[1]);
	ssize_t n = read(ends[0], text, sizeof text - 1);
	(void)close(ends[0]);
	(void)waitpid(pid, NULL, 0);
	return n > 0 ? strtod(text, NULL) : NAN;
}

int main(int argc, char **argv)
{
	char self[4096], layer[4200], logs[] = "/tmp/roimeter-bench-opencl.XXXXXX";
	struct ratio r = { .n = 0 };
	double least = INFINITY, least_plain = INFINITY;
	if (argc > 1 && strcmp(argv[1], "measure") == 0) {
		(void)printf("%.17g\n", measure());
		return 0;
	}
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	self[n > 0 ? n : 0] = 0;
	char *slash = strrchr(self, '/');
	(void)snprintf(layer, sizeof layer, "%.*s/../libroimeter-opencl.so",
		       slash ? (int)(slash - self) : 0, self);
	bool can = n > 0 && access(layer, R_OK) == 0 && mkdtemp(logs);
	for (int i = 0; can && i < PAIRS; i++) {
		double plain = run(self, NULL, logs), with = run(self, layer, logs);
		can = isfinite(plain) && isfinite(with);
		if (!can)
			break;
		ratio_add(&r, with, plain);
		least = with < least ? with : least;
		least_plain = plain < least_plain ? plain : least_plain;
	}
	(void)file_remove_tree(logs, NULL);
	if (!can) {
		(void)printf("# no OpenCL device, or no collector for it: left out\n");
		return 0;
	}
	(void)printf("# a kernel given to a queue: %.0f ns, %.0f ns with the collector\n",
		     least_plain, least);
	return ratio_print(&r, "opencl/enqueue-with-collector", 2.0) ? 0 : 1;
}
#else
int main(void)
{
	(void)printf("# built without <CL/cl.h>: left out\n");
	return 0;
}
#endif
