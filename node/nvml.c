/* The few calls of NVML that are needed, with the layouts that its interface has kept since
 * version 2: all return an int, 0 for success. */
#define _GNU_SOURCE
#include "node/nvml.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

struct nvml_memory {
	unsigned long long total, free, used;
};

struct calls {
	int (*init)(void);
	int (*shutdown)(void);
	int (*count)(unsigned *ret);
	int (*handle)(unsigned index, void **ret);
	int (*name)(void *device, char *ret, unsigned bytes);
	int (*memory)(void *device, struct nvml_memory *ret);
	int (*driver)(char *ret, unsigned bytes);
	int (*cuda)(int *ret);
};

/* A function out of a void pointer, as POSIX allows and ISO C does not spell. */
static void look_up(void *library, const char *name, void *into)
{
	void *at = dlsym(library, name);
	memcpy(into, &at, sizeof at);
}

static void look_up_all(void *library, struct calls *c)
{
	look_up(library, "nvmlInit_v2", &c->init);
	look_up(library, "nvmlShutdown", &c->shutdown);
	look_up(library, "nvmlDeviceGetCount_v2", &c->count);
	look_up(library, "nvmlDeviceGetHandleByIndex_v2", &c->handle);
	look_up(library, "nvmlDeviceGetName", &c->name);
	look_up(library, "nvmlDeviceGetMemoryInfo", &c->memory);
	look_up(library, "nvmlSystemGetDriverVersion", &c->driver);
	look_up(library, "nvmlSystemGetCudaDriverVersion_v2", &c->cuda);
}

static int ask(const struct calls *c, struct nvml_info *ret)
{
	void *device = NULL;
	struct nvml_memory memory = { 0 };
	if (c->count(&ret->count) || ret->count == 0)
		return -ENOENT;
	if (c->handle(0, &device) || c->name(device, ret->name, sizeof ret->name))
		return -ENOENT;
	if (c->memory && c->memory(device, &memory) == 0)
		ret->memory_bytes = memory.total;
	if (c->driver)
		(void)c->driver(ret->driver, sizeof ret->driver);
	if (c->cuda)
		(void)c->cuda(&ret->cuda);
	return 0;
}

int nvml_ask(const char *library, struct nvml_info *ret)
{
	struct calls c = { 0 };
	*ret = (struct nvml_info){ 0 };
	void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		return -ENOENT;
	look_up_all(handle, &c);
	int rc = -ENOENT;
	if (c.init && c.shutdown && c.count && c.handle && c.name && c.init() == 0) {
		rc = ask(&c, ret);
		(void)c.shutdown();
	}
	(void)dlclose(handle);
	return rc;
}
