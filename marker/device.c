/* The device: wait for it (only through libraries that the program has loaded already), and
 * ranges for its profiler. */
#define _GNU_SOURCE
#include "marker/guest.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

/* Weak, and dlopen asked for by name, as in the header: a static program has nothing to find here,
 * and its linker would complain about dlopen. */
static void *find_symbol(void *, const char *) __attribute__((weakref("dlsym")));

uint32_t ranges_wanted;

typedef int (*sync_call)(void);

void *symbol_in_program(const char *name)
{
	return find_symbol ? find_symbol(NULL, name) : NULL;
}

void *symbol_of(const char *const *libraries, int mode, const char *name)
{
	void *(*open_library)(const char *, int) =
		(void *(*)(const char *, int))symbol_in_program("dlopen");
	if (!open_library)
		return NULL;
	for (; *libraries; libraries++) {
		void *library = open_library(*libraries, RTLD_NOW | RTLD_LOCAL | mode);
		void *symbol = library ? find_symbol(library, name) : NULL;
		if (symbol)
			return symbol;
	}
	return NULL;
}

void device_sync(void)
{
	static const char *const cuda[] = { "libcuda.so.1", NULL };
	static const char *const hip[] = { "libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6",
					   "libamdhip64.so.5", NULL };
	static void *found; /* what it was the last time; a library that is in use stays */
	struct guest *g = GET_ACQUIRE(guest);
	if (!g)
		return;
	if (g->other) {
		g->other->sync_();
		return;
	}
	if (g->state == GUEST_FAILED)
		return; /* nothing measures */
	int saved = errno;
	void *call = GET(found);
	if (!call)
		call = symbol_of(cuda, RTLD_NOLOAD, "cuCtxSynchronize");
	if (!call)
		call = symbol_of(hip, RTLD_NOLOAD, "hipDeviceSynchronize");
	PUT(found, call);
	int rc = call ? ((sync_call)call)() : 0;
	if (g->header) {
		COUNT(g->header->syncs);
		if (!call)
			COUNT(g->header->syncs_missing);
		else if (rc)
			COUNT(g->header->syncs_failed);
	}
	errno = saved;
}

/* ---- ranges --------------------------------------------------------------------------------- */

static int (*roctx_push)(const char *);
static int (*roctx_pop)(void);

static void roctx_find(void)
{
	static const char *const roctx[] = { "librocprofiler-sdk-roctx.so.1",
					     "librocprofiler-sdk-roctx.so", "libroctx64.so.4",
					     "libroctx64.so", NULL };
	roctx_push = (int (*)(const char *))symbol_of(roctx, 0, "roctxRangePushA");
	roctx_pop = (int (*)(void))symbol_of(roctx, 0, "roctxRangePop");
	if (!roctx_push || !roctx_pop)
		roctx_push = NULL;
}

bool range_is_region(void)
{
	const char *glob = getenv("ROIMETER_RANGE");
	return glob && *glob;
}

/* Where a range is the region, whoever reads ranges reads them for us. */
void ranges_find(void)
{
	bool nvidia = getenv("NVTX_INJECTION64_PATH") && !range_is_region();
	bool amd = getenv("ROCP_TOOL_LIBRARIES") || getenv("ROCPROFILER_REGISTER_LIBRARY");
	if (amd && !roctx_push)
		roctx_find();
	PUT(ranges_wanted, nvidia || roctx_push ? RANGES_PROFILER : 0);
}

void range_push(const char *name)
{
	if (roctx_push)
		(void)roctx_push(name);
	else
		(void)nvtx_push(name);
}

void range_pop(void)
{
	if (roctx_push)
		(void)roctx_pop();
	else
		(void)nvtx_pop();
}
