/* The few calls of OpenCL that are needed, with the numbers of its standard (1.0, unchanged since).
 */
#define _GNU_SOURCE
#include "node/opencl.h"

#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#define MOST 64
#define TEXT_MAX 4096

enum { PLATFORM_NAME = 0x0902 };
enum {
	DEVICE_TYPE = 0x1000,
	DEVICE_COMPUTE_UNITS = 0x1002,
	DEVICE_CLOCK_MHZ = 0x100C,
	DEVICE_MEMORY_BYTES = 0x101F,
	DEVICE_NAME = 0x102B,
	DEVICE_VENDOR = 0x102C,
	DRIVER_VERSION = 0x102D,
	DEVICE_VERSION = 0x102F
};
#define TYPE_ALL UINT64_C(0xFFFFFFFF)

typedef int ask_fn(void *of, unsigned what, size_t room, void *ret, size_t *ret_n);

struct calls {
	int (*platforms)(unsigned room, void **ret, unsigned *ret_n);
	int (*devices)(void *platform, uint64_t type, unsigned room, void **ret, unsigned *ret_n);
	ask_fn *platform, *device;
};

/* A function out of a void pointer, as POSIX allows and ISO C does not spell. */
static void look_up(void *library, const char *name, void *into)
{
	void *at = dlsym(library, name);
	memcpy(into, &at, sizeof at);
}

/* Without the blanks that some drivers put around names. NULL: unknown, or out of memory. */
static const char *text_of(struct arena *a, ask_fn *ask, void *of, unsigned what)
{
	char text[TEXT_MAX];
	size_t n = 0;
	if (ask(of, what, sizeof text - 1, text, &n) || n == 0 || n >= sizeof text)
		return NULL;
	text[n] = 0;
	const char *at = text + strspn(text, " \t\n");
	n = strlen(at);
	while (n && strchr(" \t\n", at[n - 1]))
		n--;
	return n ? arena_strndup(a, at, n) : NULL;
}

static double number_of(ask_fn *ask, void *of, unsigned what)
{
	unsigned value = 0;
	return ask(of, what, sizeof value, &value, NULL) ? (double)NAN : value;
}

static const char *type_of(ask_fn *ask, void *of)
{
	static const char *const names[] = { NULL, "cpu", "gpu", "accelerator", "custom" };
	uint64_t type = 0;
	if (ask(of, DEVICE_TYPE, sizeof type, &type, NULL))
		return NULL;
	for (unsigned i = 1; i < sizeof names / sizeof *names; i++)
		if (type & UINT64_C(1) << i)
			return names[i];
	return NULL;
}

static void describe(const struct calls *c, struct arena *a, void *platform, void *device,
		     struct opencl_info *ret)
{
	uint64_t bytes = 0;
	double mhz = number_of(c->device, device, DEVICE_CLOCK_MHZ);
	ret->platform = text_of(a, c->platform, platform, PLATFORM_NAME);
	ret->name = text_of(a, c->device, device, DEVICE_NAME);
	ret->vendor = text_of(a, c->device, device, DEVICE_VENDOR);
	ret->version = text_of(a, c->device, device, DEVICE_VERSION);
	ret->driver = text_of(a, c->device, device, DRIVER_VERSION);
	ret->type = type_of(c->device, device);
	ret->compute_units = number_of(c->device, device, DEVICE_COMPUTE_UNITS);
	ret->clock_hz = mhz > 0 ? mhz * 1e6 : (double)NAN; /* 0: the driver does not know */
	ret->memory_bytes =
		c->device(device, DEVICE_MEMORY_BYTES, sizeof bytes, &bytes, NULL) == 0 && bytes
			? (double)bytes
			: (double)NAN;
}

static size_t ask_all(const struct calls *c, struct arena *a, struct opencl_info *ret)
{
	void *platforms[MOST], *devices[MOST];
	unsigned n_platforms = 0, n = 0;
	size_t found = 0;
	if (c->platforms(MOST, platforms, &n_platforms))
		return 0;
	for (unsigned p = 0; p < n_platforms && p < MOST; p++) {
		if (c->devices(platforms[p], TYPE_ALL, MOST, devices, &n))
			continue;
		for (unsigned i = 0; i < n && i < MOST && found < MOST; i++)
			describe(c, a, platforms[p], devices[i], &ret[found++]);
	}
	return found;
}

int opencl_ask(const char *library, struct arena *a, const struct opencl_info **ret, size_t *ret_n)
{
	struct calls c = { 0 };
	struct opencl_info *all = arena_alloc(a, MOST * sizeof *all);
	if (!all)
		return -ENOMEM;
	void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		return -ENOENT;
	look_up(handle, "clGetPlatformIDs", &c.platforms);
	look_up(handle, "clGetPlatformInfo", &c.platform);
	look_up(handle, "clGetDeviceIDs", &c.devices);
	look_up(handle, "clGetDeviceInfo", &c.device);
	size_t n = c.platforms && c.platform && c.devices && c.device ? ask_all(&c, a, all) : 0;
	/* Not closed: threads that a driver started may still be in it. */
	if (!n)
		return -ENOENT;
	*ret = all;
	*ret_n = n;
	return 0;
}
