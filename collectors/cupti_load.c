/* Finding libcupti and libcuda, which may be there or not, in whatever version. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/cupti_impl.h"

struct cupti_api cupti;

static const struct {
	const char *name;
	void *entry; /* where in the table; functions and data have one size wherever CUDA runs */
} symbols[] = {
	{ "cuptiGetVersion", &cupti.version },
	{ "cuptiGetResultString", &cupti.result_string },
	{ "cuptiGetErrorMessage", &cupti.error_message },
	{ "cuptiSubscribe", &cupti.subscribe },
	{ "cuptiSubscribe_v2", &cupti.subscribe_v2 },
	{ "cuptiUnsubscribe", &cupti.unsubscribe },
	{ "cuptiEnableCallback", &cupti.enable_callback },
	{ "cuptiGetCallbackName", &cupti.callback_name },
	{ "cuptiActivityRegisterCallbacks", &cupti.register_callbacks },
	{ "cuptiActivityEnable", &cupti.enable },
	{ "cuptiActivityDisable", &cupti.disable },
	{ "cuptiActivitySetAttribute", &cupti.set_attribute },
	{ "cuptiActivityGetAttribute", &cupti.get_attribute },
	{ "cuptiActivityRegisterTimestampCallback", &cupti.register_timestamp },
	{ "cuptiGetTimestamp", &cupti.timestamp },
	{ "cuptiActivityConfigureUnifiedMemoryCounter", &cupti.configure_um },
	{ "cuptiActivityGetNextRecord", &cupti.next_record },
	{ "cuptiActivityGetNumDroppedRecords", &cupti.dropped },
	{ "cuptiActivityFlushAll", &cupti.flush_all },
};

static char path[512];

const char *cupti_path(void)
{
	return path;
}

/* ---- the driver ---- */

static void *driver(void)
{
	static void *found; /* of two threads that ask at once both find the same */
	void *h = __atomic_load_n(&found, __ATOMIC_ACQUIRE);
	if (!h) {
		h = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
		__atomic_store_n(&found, h, __ATOMIC_RELEASE);
	}
	return h;
}

bool cupti_driver_there(void)
{
	return driver() != NULL;
}

void *cupti_driver_symbol(const char *name)
{
	void *h = driver();
	return h ? dlsym(h, name) : NULL;
}

uint32_t cupti_driver_version(void)
{
	int (*ask)(int *) = NULL;
	void *symbol = cupti_driver_symbol("cuDriverGetVersion");
	int version = 0;
	memcpy(&ask, &symbol, sizeof ask);
	return ask && ask(&version) == 0 && version > 0 ? (uint32_t)version : 0;
}

/* ---- libcupti ---- */

static bool take(void *h)
{
	struct cupti_api api = cupti;
	struct link_map *map = NULL;
	for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
		void *at = dlsym(h, symbols[i].name);
		memcpy(symbols[i].entry, &at, sizeof at);
	}
	if (!cupti.version || !cupti.register_callbacks || !cupti.enable || !cupti.next_record ||
	    !cupti.flush_all || !(cupti.subscribe || cupti.subscribe_v2)) {
		cupti = api;
		return false;
	}
	if (dlinfo(h, RTLD_DI_LINKMAP, &map) == 0 && map)
		(void)snprintf(path, sizeof path, "%s", map->l_name);
	return true;
}

/* flags: RTLD_NOLOAD, or nothing. */
static bool try_name(const char *name, int flags)
{
	void *h = dlopen(name, RTLD_NOW | RTLD_LOCAL | flags);
	if (!h)
		return false;
	if (take(h))
		return true;
	(void)dlclose(h);
	return false;
}

/* That of the driver's own CUDA version first; a newer one than the driver may not work with it, an
 * older one does. */
static bool try_names(int flags)
{
	char name[32];
	uint32_t major = cupti_driver_version() / 1000;
	if (major >= 12 && major < 100) {
		(void)snprintf(name, sizeof name, "libcupti.so.%u", major);
		if (try_name(name, flags))
			return true;
	}
	for (int v = 13; v >= 12; v--) {
		(void)snprintf(name, sizeof name, "libcupti.so.%d", v);
		if (try_name(name, flags))
			return true;
	}
	for (int v = 8; v >= 0; v--) {
		(void)snprintf(name, sizeof name, "libcupti.so.11.%d", v);
		if (try_name(name, flags))
			return true;
	}
	return try_name("libcupti.so", flags);
}

static bool try_toolkit(const char *root)
{
	static const char *const folders[] = { "extras/CUPTI/lib64", "lib64", "lib" };
	char name[512];
	for (size_t i = 0; root && *root && i < sizeof folders / sizeof *folders; i++) {
		int n = snprintf(name, sizeof name, "%s/%s/libcupti.so", root, folders[i]);
		if (n > 0 && (size_t)n < sizeof name && try_name(name, 0))
			return true;
	}
	return false;
}

/* The newest of /usr/local/cuda-*, which is the last by its name as numbers go. */
static bool try_local(void)
{
	struct dirent **list = NULL;
	bool found = try_toolkit("/usr/local/cuda");
	int n = found ? 0 : scandir("/usr/local", &list, NULL, versionsort);
	for (int i = n - 1; i >= 0; i--) {
		char root[320];
		if (!found && strncmp(list[i]->d_name, "cuda-", 5) == 0) {
			(void)snprintf(root, sizeof root, "/usr/local/%s", list[i]->d_name);
			found = try_toolkit(root);
		}
		free(list[i]);
	}
	free(list);
	return found;
}

static bool find(void)
{
	const char *said = getenv("ROIMETER_CUPTI");
	if (said && *said)
		return try_name(said, 0) || try_toolkit(said);
	/* A program that brings its own and has loaded it gets no second one beside it. */
	return try_names(RTLD_NOLOAD) || try_names(0) || try_toolkit(getenv("CUDA_HOME")) ||
	       try_toolkit(getenv("CUDA_PATH")) || try_local() || try_toolkit("/opt/cuda");
}

int cupti_load(char *why, size_t room)
{
	const char *said = getenv("ROIMETER_CUPTI");
	if (!cupti_driver_there()) {
		(void)snprintf(why, room,
			       "there is no NVIDIA driver here (libcuda.so.1 is not found)");
		return CUPTI_NO_DRIVER;
	}
	if (find())
		return CUPTI_LOADED;
	if (said && *said)
		(void)snprintf(why, room,
			       "ROIMETER_CUPTI is %s, which is no libcupti and no CUDA toolkit "
			       "that has one",
			       said);
	else
		(void)snprintf(why, room,
			       "libcupti is not found; it comes with the CUDA toolkit: set "
			       "CUDA_HOME, or ROIMETER_CUPTI to the library (of Python's packages "
			       "it is nvidia/*/lib/libcupti.so.*)");
	return CUPTI_NO_LIBRARY;
}

void cupti_result_text(int result, char *text, size_t room)
{
	const char *name = NULL, *message = NULL;
	if (!cupti.result_string || cupti.result_string(result, &name) || !name)
		name = "an error that this libcupti has no name for";
	if (cupti.error_message && cupti.error_message(result, &message))
		message = NULL;
	(void)snprintf(text, room, "%s (%d)%s%s", name, result, message && *message ? ": " : "",
		       message ? message : "");
}

/* ---- the runner's question ---- */

int cupti_check(char *why, size_t room)
{
	int rc = cupti_load(why, room);
	if (rc == CUPTI_LOADED)
		return 0;
	return -ENOENT;
}
