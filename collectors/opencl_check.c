/* The loader that a program would get: is it there, does it know layers, is there any device? */
#define _GNU_SOURCE
#include "collectors/opencl_check.h"

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LOADER "libOpenCL.so.1"
#define LIMIT_MS 20000 /* a driver that is started for the first time may take seconds */

enum answer { GOOD, NO_LOADER, NO_LAYERS, NO_PLATFORM, NO_DEVICE, ANSWERS };

static const struct {
	int rc;
	const char *why;
} answers[ANSWERS] = {
	[NO_LOADER] = { -ENOENT, "there is no OpenCL loader (" LOADER
				 "); on Debian: apt install ocl-icd-libopencl1" },
	[NO_LAYERS] = { -ENOTSUP, "the OpenCL loader (" LOADER
				  ") knows no layers; ocl-icd does from 2.3 on, and that of "
				  "Khronos from 2021 on" },
	[NO_PLATFORM] = { -ENOENT, "no OpenCL driver is installed (/etc/OpenCL/vendors)" },
	[NO_DEVICE] = { -ENOENT, "no OpenCL driver has a device" },
};

/* A loader that knows layers has the name of their variable in it. */
static bool knows_layers(void *loader)
{
	struct link_map *map = NULL;
	struct stat st;
	bool found = false;
	if (dlinfo(loader, RTLD_DI_LINKMAP, &map) || !map)
		return false;
	int fd = open(map->l_name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	if (fstat(fd, &st) == 0 && st.st_size > 0) {
		size_t n = (size_t)st.st_size;
		void *at = mmap(NULL, n, PROT_READ, MAP_PRIVATE, fd, 0);
		if (at != MAP_FAILED) {
			found = memmem(at, n, "OPENCL_LAYERS", sizeof "OPENCL_LAYERS");
			(void)munmap(at, n);
		}
	}
	(void)close(fd);
	return found;
}

static void look_up(void *library, const char *name, void *into)
{
	void *at = dlsym(library, name);
	memcpy(into, &at, sizeof at);
}

static enum answer ask(void)
{
	cl_int (*platforms_of)(cl_uint, cl_platform_id *, cl_uint *) = NULL;
	cl_int (*devices_of)(cl_platform_id, cl_device_type, cl_uint, cl_device_id *, cl_uint *) =
		NULL;
	cl_platform_id platforms[32];
	cl_uint n = 0, devices = 0;
	void *loader = dlopen(LOADER, RTLD_NOW | RTLD_LOCAL);
	if (!loader)
		return NO_LOADER;
	if (!knows_layers(loader))
		return NO_LAYERS;
	look_up(loader, "clGetPlatformIDs", &platforms_of);
	look_up(loader, "clGetDeviceIDs", &devices_of);
	if (!platforms_of || !devices_of)
		return NO_LOADER;
	if (platforms_of(32, platforms, &n) || n == 0)
		return NO_PLATFORM;
	for (cl_uint i = 0; i < n && i < 32; i++)
		if (devices_of(platforms[i], CL_DEVICE_TYPE_ALL, 0, NULL, &devices) == CL_SUCCESS &&
		    devices > 0)
			return GOOD;
	return NO_DEVICE;
}

/* In the child: nothing of ours is cleaned up, and nothing of it is printed. */
static void answer_and_go(int to)
{
	int nothing = open("/dev/null", O_RDWR);
	(void)unsetenv("OPENCL_LAYERS");
	if (nothing >= 0) {
		(void)dup2(nothing, 0);
		(void)dup2(nothing, 1);
		(void)dup2(nothing, 2);
	}
	unsigned char answer = (unsigned char)ask();
	_exit(write(to, &answer, 1) == 1 ? 0 : 1);
}

static bool answered(int from, unsigned char *ret)
{
	struct pollfd p = { .fd = from, .events = POLLIN };
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	int64_t now = (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000, until = now + LIMIT_MS;
	while (now < until) {
		int n = poll(&p, 1, (int)(until - now));
		if (n > 0)
			return read(from, ret, 1) == 1 && *ret < ANSWERS;
		if (n < 0 && errno != EINTR)
			return false;
		(void)clock_gettime(CLOCK_MONOTONIC, &t);
		now = (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
	}
	return false;
}

int opencl_check(char *why, size_t room)
{
	int ends[2];
	unsigned char answer = ANSWERS;
	if (pipe2(ends, O_CLOEXEC)) {
		int rc = -errno;
		(void)snprintf(why, room, "OpenCL could not be asked: %s", strerror(-rc));
		return rc;
	}
	pid_t child = fork();
	if (child == 0)
		answer_and_go(ends[1]);
	(void)close(ends[1]);
	bool good = child > 0 && answered(ends[0], &answer);
	(void)close(ends[0]);
	if (child > 0) {
		if (!good)
			(void)kill(child, SIGKILL);
		while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
			;
	}
	if (!good) {
		(void)snprintf(why, room,
			       "an OpenCL driver died, or did not answer in %d s, when "
			       "it was asked for its devices",
			       LIMIT_MS / 1000);
		return -EIO;
	}
	if (answer != GOOD)
		(void)snprintf(why, room, "%s", answers[answer].why);
	return answers[answer].rc;
}
