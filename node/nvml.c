/* NVIDIA devices by NVML, loaded when asked for. All calls return an int, 0 for success; a call
 * that this driver does not have, or does not answer, leaves its value unknown. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/num.h"
#include "node/device_impl.h"
#include "node/nvml_abi.h"

#define PROCESSES_MAX 512

typedef int number_fn(void *device, unsigned *ret);
typedef int kind_fn(void *device, unsigned kind, unsigned *ret);
typedef int two_fn(void *device, unsigned *ret_now, unsigned *ret_pending);

struct nvml {
	void *library;
	char driver[80];
	int cuda;
	int (*init)(void), (*shutdown)(void);
	int (*count)(unsigned *ret);
	int (*handle)(unsigned index, void **ret);
	int (*name)(void *device, char *ret, unsigned bytes);
	int (*memory)(void *device, struct nvml_memory *ret);
	int (*pci)(void *device, struct nvml_pci *ret);
	int (*capability)(void *device, int *ret_major, int *ret_minor);
	int (*busy)(void *device, struct nvml_busy *ret);
	int (*energy)(void *device, unsigned long long *ret_mj);
	int (*reasons)(void *device, unsigned long long *ret);
	int (*processes)(void *device, unsigned *n, struct nvml_process *ret);
	number_fn *power, *power_limit, *persistence, *cores;
	kind_fn *clock, *clock_limit, *temperature;
	two_fn *mig, *ecc;
	int (*driver_version)(char *ret, unsigned bytes);
	int (*cuda_version)(int *ret);
};

/* A function out of a void pointer, as POSIX allows and ISO C does not spell. The first of the
 * names that is there. */
static void look_up(const struct nvml *n, void *into, const char *name, const char *else_name)
{
	void *at = dlsym(n->library, name);
	if (!at && else_name)
		at = dlsym(n->library, else_name);
	memcpy(into, &at, sizeof at);
}

static void look_up_all(struct nvml *n)
{
	look_up(n, &n->init, "nvmlInit_v2", NULL);
	look_up(n, &n->shutdown, "nvmlShutdown", NULL);
	look_up(n, &n->count, "nvmlDeviceGetCount_v2", NULL);
	look_up(n, &n->handle, "nvmlDeviceGetHandleByIndex_v2", NULL);
	look_up(n, &n->name, "nvmlDeviceGetName", NULL);
	look_up(n, &n->memory, "nvmlDeviceGetMemoryInfo", NULL);
	look_up(n, &n->pci, "nvmlDeviceGetPciInfo_v3", NULL);
	look_up(n, &n->capability, "nvmlDeviceGetCudaComputeCapability", NULL);
	look_up(n, &n->busy, "nvmlDeviceGetUtilizationRates", NULL);
	look_up(n, &n->energy, "nvmlDeviceGetTotalEnergyConsumption", NULL);
	look_up(n, &n->reasons, "nvmlDeviceGetCurrentClocksEventReasons",
		"nvmlDeviceGetCurrentClocksThrottleReasons");
	look_up(n, &n->processes, "nvmlDeviceGetComputeRunningProcesses_v3",
		"nvmlDeviceGetComputeRunningProcesses_v2");
	look_up(n, &n->power, "nvmlDeviceGetPowerUsage", NULL);
	look_up(n, &n->power_limit, "nvmlDeviceGetEnforcedPowerLimit", NULL);
	look_up(n, &n->persistence, "nvmlDeviceGetPersistenceMode", NULL);
	look_up(n, &n->cores, "nvmlDeviceGetNumGpuCores", NULL);
	look_up(n, &n->clock, "nvmlDeviceGetClockInfo", NULL);
	look_up(n, &n->clock_limit, "nvmlDeviceGetMaxClockInfo", NULL);
	look_up(n, &n->temperature, "nvmlDeviceGetTemperature", NULL);
	look_up(n, &n->mig, "nvmlDeviceGetMigMode", NULL);
	look_up(n, &n->ecc, "nvmlDeviceGetEccMode", NULL);
	look_up(n, &n->driver_version, "nvmlSystemGetDriverVersion", NULL);
	look_up(n, &n->cuda_version, "nvmlSystemGetCudaDriverVersion_v2", NULL);
}

static int nvml_open(struct nvml **ret, const char *library)
{
	struct nvml *n = calloc(1, sizeof *n);
	if (!n)
		return -ENOMEM;
	n->library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	if (n->library)
		look_up_all(n);
	if (!n->init || !n->shutdown || !n->count || !n->handle || !n->name || n->init()) {
		if (n->library)
			(void)dlclose(n->library);
		free(n);
		return -ENOENT;
	}
	if (!n->driver_version || n->driver_version(n->driver, sizeof n->driver))
		n->driver[0] = 0;
	if (!n->cuda_version || n->cuda_version(&n->cuda))
		n->cuda = 0;
	*ret = n;
	return 0;
}

void nvml_close(struct nvml *n)
{
	if (!n)
		return;
	(void)n->shutdown();
	(void)dlclose(n->library);
	free(n);
}

const char *nvml_driver(const struct nvml *n)
{
	return n->driver[0] ? n->driver : NULL;
}

int nvml_cuda(const struct nvml *n)
{
	return n->cuda;
}

/* ---- what it is ---- */

static double number(number_fn *ask, void *device, double scale)
{
	unsigned value = 0;
	return ask && ask(device, &value) == NVML_OK ? value * scale : (double)NAN;
}

static double number_of(kind_fn *ask, void *device, unsigned kind, double scale)
{
	unsigned value = 0;
	return ask && ask(device, kind, &value) == NVML_OK ? value * scale : (double)NAN;
}

static enum ternary mode(two_fn *ask, void *device)
{
	unsigned now = 0, pending = 0;
	if (!ask || ask(device, &now, &pending) != NVML_OK)
		return UNKNOWN;
	return now ? YES : NO;
}

/* Multiprocessors: NVML counts cores only, and how many of these one has depends on the
 * architecture. */
static double units(double cores, int capability)
{
	int each = capability == 60 || (capability >= 70 && capability <= 80) ? 64
		   : capability > 0 && (capability < 60 || capability > 120)  ? 0
									      : 128;
	double n = each ? cores / each : (double)NAN;
	return n == floor(n) ? n : (double)NAN;
}

static void describe(const struct gpu *d, struct arena *a, struct accelerator *ret)
{
	const struct nvml *n = d->of->nvml;
	struct nvml_memory memory = { 0 };
	char name[96] = "";
	int major = 0, minor = 0;
	ret->vendor = "nvidia";
	ret->source = "nvml";
	if (n->name(d->handle, name, sizeof name) == NVML_OK)
		ret->name = arena_strdup(a, name);
	if (n->memory && n->memory(d->handle, &memory) == NVML_OK)
		ret->memory_bytes = num15((double)memory.total);
	if (n->capability && n->capability(d->handle, &major, &minor) == NVML_OK)
		ret->architecture = arena_printf(a, "sm_%d%d", major, minor);
	if (ret->architecture)
		ret->units = units(number(n->cores, d->handle, 1), major * 10 + minor);
	ret->clock_limit_hz = number_of(n->clock_limit, d->handle, NVML_OF_SM, 1e6);
	ret->memory_clock_limit_hz = number_of(n->clock_limit, d->handle, NVML_OF_MEMORY, 1e6);
	ret->power_limit_w = number(n->power_limit, d->handle, 1e-3);
	ret->ecc = (signed char)mode(n->ecc, d->handle);
	double persistent = number(n->persistence, d->handle, 1);
	if (known(persistent))
		ret->persistence = persistent > 0 ? YES : NO;
	enum ternary mig = mode(n->mig, d->handle);
	if (mig != UNKNOWN)
		ret->partition = mig == YES ? "mig" : "none";
}

/* ---- how it runs ---- */

static uint32_t reasons_of(unsigned long long bits)
{
	static const struct {
		unsigned theirs;
		enum device_reason ours;
	} table[] = {
		{ NVML_REASON_POWER_CAP, DEVICE_POWER_CAP },
		{ NVML_REASON_HARDWARE, DEVICE_HARDWARE_SLOWDOWN },
		{ NVML_REASON_SYNC_BOOST, DEVICE_SYNC_BOOST },
		{ NVML_REASON_THERMAL_SOFTWARE, DEVICE_THERMAL_SOFTWARE },
		{ NVML_REASON_THERMAL_HARDWARE, DEVICE_THERMAL_HARDWARE },
		{ NVML_REASON_POWER_BRAKE, DEVICE_POWER_BRAKE },
	};
	uint32_t reasons = 0;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (bits & table[i].theirs)
			reasons |= table[i].ours;
	return reasons;
}

static int sample(const struct gpu *d, struct device_sample *ret)
{
	const struct nvml *n = d->of->nvml;
	struct nvml_busy busy = { 0, 0 };
	unsigned long long value = 0;
	unsigned clock = 0;
	int rc = n->clock ? n->clock(d->handle, NVML_OF_SM, &clock) : -1;
	if (rc == NVML_LOST) /* the other calls may wait for it */
		return -ENODEV;
	if (rc == NVML_OK)
		ret->clock_hz = clock * 1e6;
	ret->memory_clock_hz = number_of(n->clock, d->handle, NVML_OF_MEMORY, 1e6);
	ret->power_w = number(n->power, d->handle, 1e-3);
	ret->temperature_c = number_of(n->temperature, d->handle, NVML_OF_CORE, 1);
	if (n->busy && n->busy(d->handle, &busy) == NVML_OK)
		ret->busy_frac = busy.gpu / 100.0;
	if (n->energy && n->energy(d->handle, &value) == NVML_OK)
		ret->energy_j = (double)value / 1e3;
	if (n->reasons && n->reasons(d->handle, &value) == NVML_OK) {
		ret->reasons = reasons_of(value);
		ret->reasons_known = true;
	}
	return 0;
}

static int users(const struct gpu *d, pid_t *ret, size_t room, size_t *ret_n)
{
	const struct nvml *n = d->of->nvml;
	static struct nvml_process list[PROCESSES_MAX];
	unsigned count = PROCESSES_MAX;
	int rc = n->processes ? n->processes(d->handle, &count, list) : -1;
	if (rc == NVML_TOO_SMALL || (rc == NVML_OK && count > room))
		return -ENOSPC;
	if (rc != NVML_OK)
		return -ENOTSUP;
	for (unsigned i = 0; i < count; i++)
		ret[i] = (pid_t)list[i].pid;
	*ret_n = count;
	return 0;
}

static const struct device_kind kind = { describe, sample, users };

void nvml_find(struct devices *all, const char *library)
{
	unsigned count = 0;
	if (nvml_open(&all->nvml, library))
		return;
	if (all->nvml->count(&count) != NVML_OK)
		count = 0;
	for (unsigned i = 0; i < count; i++) {
		struct nvml_pci pci = { .domain = 0 };
		void *handle = NULL;
		if (all->nvml->handle(i, &handle) != NVML_OK)
			continue; /* of somebody else, or broken */
		struct gpu *d = device_add(all, &kind);
		if (!d)
			return;
		d->handle = handle;
		if (all->nvml->pci && all->nvml->pci(handle, &pci) == NVML_OK)
			(void)snprintf(d->place, sizeof d->place, "%04x:%02x:%02x.0", pci.domain,
				       pci.bus, pci.device);
	}
}
