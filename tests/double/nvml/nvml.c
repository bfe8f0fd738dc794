/* A double of libnvidia-ml.so.1: devices by a script, on machines without one. Its interface
 * is that of node/nvml_abi.h, which check.c holds against NVIDIA's own nvml.h where that is found.
 * The script is NVML_DOUBLE, "key value;key value", read at each call of nvmlInit; a file that
 * NVML_DOUBLE_FILE names is read at each sample, and wins. tests/double/README.md has the keys. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node/nvml_abi.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes" /* NVIDIA's header has them */

#define EXPORT __attribute__((visibility("default")))
#define MOST 8
enum { NOT_SUPPORTED = 3, INVALID = 2, NOT_FOUND = 6, NO_DRIVER = 9 };

struct device {
	unsigned index;
};
static struct device devices[MOST];
static unsigned long long calls; /* samples asked for, all devices */
static char script[4096];

static void read_script(void)
{
	const char *file = getenv("NVML_DOUBLE_FILE"), *text = getenv("NVML_DOUBLE");
	FILE *f = file ? fopen(file, "r") : NULL;
	if (f) {
		size_t n = fread(script, 1, sizeof script - 1, f);
		script[n] = 0;
		(void)fclose(f);
	} else if (!file) {
		(void)snprintf(script, sizeof script, "%s", text ? text : "");
	}
}

/* The value of a key; what is between the ';'. NULL: not there. */
static const char *value_of(const char *key, char ret[256])
{
	size_t n = strlen(key);
	for (const char *at = script; at && *at;
	     at = strpbrk(at, ";\n") ? strpbrk(at, ";\n") + 1 : NULL) {
		at += strspn(at, " \t");
		if (strncmp(at, key, n) != 0 || (at[n] != ' ' && at[n] != ';' && at[n]))
			continue;
		const char *from = at + n + strspn(at + n, " ");
		(void)snprintf(ret, 256, "%.*s", (int)strcspn(from, ";\n"), from);
		return ret;
	}
	return NULL;
}

/* The i-th of a list of numbers, in turn. */
static unsigned long long number(const char *key, unsigned long long i,
				 unsigned long long otherwise)
{
	char text[256], *rest = NULL;
	unsigned long long list[32], n = 0;
	if (!value_of(key, text))
		return otherwise;
	for (char *word = strtok_r(text, " ", &rest); word && n < 32;
	     word = strtok_r(NULL, " ", &rest))
		list[n++] = strtoull(word, NULL, 0);
	return n ? list[i % n] : otherwise;
}

static int answer(const char *call, unsigned long long i)
{
	char text[256];
	read_script();
	if (value_of("hang", text) && strcmp(text, call) == 0)
		for (;;)
			(void)pause();
	if (value_of("crash", text) && strcmp(text, call) == 0)
		abort();
	if (value_of("refuse", text) && strstr(text, call))
		return NOT_SUPPORTED;
	unsigned long long gone = number("vanish-after", 0, UINT64_MAX);
	return i > gone ? NVML_LOST : NVML_OK;
}

EXPORT int nvmlInit_v2(void)
{
	read_script();
	for (unsigned i = 0; i < MOST; i++)
		devices[i].index = i;
	char text[256];
	return value_of("no-driver", text) ? NO_DRIVER : answer("init", 0);
}

EXPORT int nvmlShutdown(void)
{
	return NVML_OK;
}

EXPORT int nvmlDeviceGetCount_v2(unsigned *ret)
{
	*ret = (unsigned)number("devices", 0, 1);
	return answer("count", 0);
}

EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **ret)
{
	if (i >= MOST)
		return INVALID;
	*ret = &devices[i];
	return answer("handle", 0);
}

EXPORT int nvmlDeviceGetName(void *device, char *ret, unsigned bytes)
{
	char text[256];
	(void)device;
	(void)snprintf(ret, bytes, "%s", value_of("name", text) ? text : "NVIDIA Double 1");
	return answer("name", 0);
}

EXPORT int nvmlDeviceGetMemoryInfo(void *device, struct nvml_memory *ret)
{
	(void)device;
	*ret = (struct nvml_memory){ .total = number("memory-bytes", 0, 80ull << 30) };
	return answer("memory", 0);
}

EXPORT int nvmlDeviceGetPciInfo_v3(void *device, struct nvml_pci *ret)
{
	const struct device *d = device;
	*ret = (struct nvml_pci){ .domain = 0, .bus = 0x17 + d->index, .device = 0 };
	(void)snprintf(ret->bus_id, sizeof ret->bus_id, "00000000:%02X:00.0", ret->bus);
	return answer("pci", 0);
}

EXPORT int nvmlDeviceGetCudaComputeCapability(void *device, int *ret_major, int *ret_minor)
{
	(void)device;
	*ret_major = (int)number("capability", 0, 90) / 10;
	*ret_minor = (int)number("capability", 0, 90) % 10;
	return answer("capability", 0);
}

EXPORT int nvmlDeviceGetNumGpuCores(void *device, unsigned *ret)
{
	(void)device;
	*ret = (unsigned)number("cores", 0, 16896);
	return answer("cores", 0);
}

/* So that a test can wait for looks: a byte for each that begins. */
static void count_in_file(void)
{
	char path[256];
	FILE *f;
	read_script();
	if (value_of("count-in", path) && (f = fopen(path, "a"))) {
		(void)fputc('x', f);
		(void)fclose(f);
	}
}

/* A sample begins with the clock. */
EXPORT int nvmlDeviceGetClockInfo(void *device, unsigned kind, unsigned *ret)
{
	(void)device;
	if (kind == NVML_OF_SM) {
		calls++;
		count_in_file();
	}
	*ret = (unsigned)(kind == NVML_OF_SM ? number("clock-mhz", calls - 1, 1980)
					     : number("memory-clock-mhz", calls - 1, 2619));
	return answer("clock", calls);
}

EXPORT int nvmlDeviceGetMaxClockInfo(void *device, unsigned kind, unsigned *ret)
{
	(void)device;
	*ret = kind == NVML_OF_SM ? 1980 : 2619;
	return answer("max-clock", 0);
}

EXPORT int nvmlDeviceGetPowerUsage(void *device, unsigned *ret)
{
	(void)device;
	*ret = (unsigned)number("power-mw", calls - 1, 350000);
	return answer("power", calls);
}

EXPORT int nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned *ret)
{
	(void)device;
	*ret = (unsigned)number("power-limit-mw", 0, 700000);
	return answer("power-limit", 0);
}

EXPORT int nvmlDeviceGetTemperature(void *device, unsigned sensor, unsigned *ret)
{
	(void)device;
	if (sensor != NVML_OF_CORE)
		return INVALID;
	*ret = (unsigned)number("temperature-c", calls - 1, 60);
	return answer("temperature", calls);
}

EXPORT int nvmlDeviceGetUtilizationRates(void *device, struct nvml_busy *ret)
{
	(void)device;
	*ret = (struct nvml_busy){ .gpu = (unsigned)number("busy-percent", calls - 1, 100) };
	return answer("busy", calls);
}

EXPORT int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *ret)
{
	(void)device;
	*ret = 1000000 + calls * number("energy-mj", 0, 35000);
	return answer("energy", calls);
}

EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *ret)
{
	(void)device;
	*ret = number("reasons", calls - 1, 0);
	return answer("reasons", calls);
}

EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *n,
						   struct nvml_process *ret)
{
	char text[256], *rest = NULL;
	unsigned room = *n;
	(void)device;
	*n = 0;
	if (value_of("pids", text))
		for (char *word = strtok_r(text, " ", &rest); word;
		     word = strtok_r(NULL, " ", &rest)) {
			if (*n < room)
				ret[*n] = (struct nvml_process){ .pid = (unsigned)strtoul(
									 word, NULL, 10) };
			++*n;
		}
	int rc = answer("processes", calls);
	return rc ? rc : *n > room ? NVML_TOO_SMALL : NVML_OK;
}

EXPORT int nvmlDeviceGetMigMode(void *device, unsigned *now, unsigned *pending)
{
	(void)device;
	*now = *pending = (unsigned)number("mig", 0, 0);
	return answer("mig", 0);
}

EXPORT int nvmlDeviceGetEccMode(void *device, unsigned *now, unsigned *pending)
{
	(void)device;
	*now = *pending = (unsigned)number("ecc", 0, 1);
	return answer("ecc", 0);
}

EXPORT int nvmlDeviceGetPersistenceMode(void *device, unsigned *ret)
{
	(void)device;
	*ret = (unsigned)number("persistence", 0, 1);
	return answer("persistence", 0);
}

EXPORT int nvmlSystemGetDriverVersion(char *ret, unsigned bytes)
{
	(void)snprintf(ret, bytes, "580.65.06");
	return answer("driver", 0);
}

EXPORT int nvmlSystemGetCudaDriverVersion_v2(int *ret)
{
	*ret = (int)number("cuda", 0, 13000);
	return answer("cuda", 0);
}
