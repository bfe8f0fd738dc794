/* Three loads of a CUDA device, timed by CUDA events as well: what the events say is compared with
 * what a collector says, and the wall time with and without one is what collecting costs.
 *
 *   loads launch|copy|long [COUNT [FILE [MIB]]]
 *
 * launch: many launches of no length, the host is busy. copy: copies to the device and back, MIB
 * (16) each: while one is under way the host has given the next, so that the events have nothing
 * but copies between them. long: launches of 20 ms. Prints a line of JSON: the region's wall time, its operations, and
 * the sum of the times between an event before and one behind each operation (launch: before and
 * behind all). The line is put at the end of FILE, too: the last execution of a run is the one with
 * the collector. */
#include "examples/probes/probe.h"

#include "examples/probes/cuda_driver.h"

enum { MOST = 64 };

static size_t bytes = (size_t)16 << 20;
static cu_handle context, function, stream, events[MOST][2];
static cu_pointer memory;
static void *host;

static int start(void)
{
	cu_handle module;
	int device, rc = cuda_load();

	if (rc)
		return rc;
	rc = cu.cuInit(0);
	if (rc)
		return cuda_fail("cuInit", rc);
	TRY(cuDeviceGet, &device, 0);
	TRY(cuDeviceGetName, probe_device, (int)sizeof probe_device - 1, device);
	TRY(cuDevicePrimaryCtxRetain, &context, device);
	TRY(cuCtxSetCurrent, context);
	TRY(cuStreamCreate, &stream, 0);
	TRY(cuModuleLoadData, &module, kernel_text);
	TRY(cuModuleGetFunction, &function, module, "roimeter_probe");
	TRY(cuMemAlloc_v2, &memory, bytes);
	TRY(cuMemsetD32_v2, memory, 0, bytes / sizeof(float));
	for (int i = 0; i < MOST; i++)
		for (int k = 0; k < 2; k++)
			TRY(cuEventCreate, &events[i][k], 0);
	TRY(cuMemAllocHost_v2, &host, bytes);
	return 0;
}

static int launch(uint64_t wait_ns)
{
	uint64_t first = 0, count = 0, counter = 0;
	unsigned rounds = 0;
	void *params[] = { &memory, &first, &count, &counter, &rounds, &wait_ns };

	TRY(cuLaunchKernel, function, 1, 1, 1, 64, 1, 1, 0, stream, params, NULL);
	return 0;
}

static int one(const char *load, int i)
{
	if (load[0] != 'c')
		return launch(load[1] == 'o' ? 20000000 : 0);
	if (i % 2)
		TRY(cuMemcpyDtoHAsync_v2, host, memory, bytes, stream);
	else
		TRY(cuMemcpyHtoDAsync_v2, memory, host, bytes, stream);
	return 0;
}

/* Events about each operation, or, of more than MOST, about all of them. */
static int region(const char *load, int count)
{
	bool each = count <= MOST;

	for (int i = 0; i < count; i++) {
		if (each || i == 0)
			TRY(cuEventRecord, events[each ? i : 0][0], stream);
		if (one(load, i))
			return 1;
		if (each || i == count - 1)
			TRY(cuEventRecord, events[each ? i : 0][1], stream);
	}
	TRY(cuCtxSynchronize);
	return 0;
}

static void say(FILE *to, const char *load, int count, double region_s, double events_s)
{
	fprintf(to,
		"{\"load\": \"%s\", \"device\": \"%s\", \"operations\": %d, \"region_s\": %.9f, "
		"\"events_s\": %.9f}\n",
		load, probe_device, count, region_s, events_s);
}

static int run(const char *load, int count, const char *path)
{
	double events_s = 0;

	if (region(load, count < 8 ? count : 8)) /* warm-up */
		return 1;
	ROIMETER_BEGIN_SYNC();
	double begin_s = probe_now_s();
	if (region(load, count))
		return 1;
	double region_s = probe_now_s() - begin_s;
	ROIMETER_END_SYNC();
	for (int i = 0; i < (count <= MOST ? count : 1); i++) {
		float ms;
		TRY(cuEventElapsedTime, &ms, events[i][0], events[i][1]);
		events_s += 1e-3 * (double)ms;
	}
	say(stdout, load, count, region_s, events_s);
	if (path) {
		FILE *f = fopen(path, "a");
		if (!f)
			return probe_fail("cannot open %s", path);
		say(f, load, count, region_s, events_s);
		if (fclose(f))
			return probe_fail("cannot write %s", path);
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *load = argc > 1 ? argv[1] : "";
	bool known = !strcmp(load, "launch") || !strcmp(load, "copy") || !strcmp(load, "long");
	long mib = argc > 4 ? strtol(argv[4], NULL, 10) : 16;
	long count = argc > 2                           ? strtol(argv[2], NULL, 10)
		     : load[0] == 'l' && load[1] == 'a' ? 20000
							: 40;

	probe_name = "loads";
	if (!known || count < 1 || count > 10000000 || mib < 1 || mib > 4096)
		return probe_fail("usage: loads launch|copy|long [COUNT [FILE [MIB]]]"), 2;
	bytes = (size_t)mib << 20;
	int rc = start();
	if (!rc)
		rc = run(load, (int)count, argc > 3 ? argv[3] : NULL);
	return rc < 0 ? 4 : rc ? 2 : 0;
}
