/* A program that fills memory of the (doubled) device, for tests of the CUPTI collector:
 *
 * cuda_work jump FILE TEXT: 7 fills in a region, TEXT into FILE, 7 more fills
 *
 * cuda_work late LIBRARY: 7 fills; LIBRARY is loaded, and its InitializeInjection called; 7 in a
 * region
 *
 * cuda_work early LIBRARY: the same before the device is used at all
 *
 * cuda_work own: uses libcupti itself before it starts the driver; 7 fills in a region
 *
 * cuda_work threads: 6 threads that fill and mark at once: 1980 fills, 1800 of them "asynchronous",
 * on a stream of each thread; it is chance which are within an exclude of another thread. Then one
 * thread alone: 7 in a region, and 7 that are excluded
 *
 * cuda_work exec: 7 fills in a region and 7 more, then itself with a region
 *
 * Knows nothing of CUDA's headers. Exit code 0, or 3 where a call fails. */
#include "include/roimeter.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 6, ROUNDS = 30, EACH = 10, FILLS = 7, BYTES = 64 };

static void *context;
static unsigned long long memory;
static struct {
	int (*init)(unsigned);
	int (*retain)(void **, int);
	int (*set)(void *);
	int (*sync)(void);
	int (*alloc)(unsigned long long *, size_t);
	int (*fill)(unsigned long long, unsigned char, size_t);
	int (*fill_async)(unsigned long long, unsigned char, size_t, void *);
	int (*stream)(void **, unsigned);
} cu;

static void find(void *library, const char *name, void *into)
{
	void *at = library ? dlsym(library, name) : NULL;
	if (!at) {
		fprintf(stderr, "cuda_work: no %s\n", name);
		exit(3);
	}
	memcpy(into, &at, sizeof at);
}

static void open_driver(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	find(library, "cuInit", &cu.init);
	find(library, "cuDevicePrimaryCtxRetain", &cu.retain);
	find(library, "cuCtxSetCurrent", &cu.set);
	find(library, "cuCtxSynchronize", &cu.sync);
	find(library, "cuMemAlloc_v2", &cu.alloc);
	find(library, "cuMemsetD8_v2", &cu.fill);
	find(library, "cuMemsetD8Async", &cu.fill_async);
	find(library, "cuStreamCreate", &cu.stream);
}

static void start(void)
{
	if (cu.init(0) || cu.retain(&context, 0) || cu.set(context) || cu.alloc(&memory, BYTES))
		exit(3);
}

static void fill(void)
{
	for (int i = 0; i < FILLS; i++)
		if (cu.fill(memory, 1, BYTES))
			exit(3);
	if (cu.sync())
		exit(3);
}

static void region(void)
{
	ROIMETER_BEGIN();
	fill();
	ROIMETER_END();
}

static void load(const char *path)
{
	int (*inject)(void);
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		fprintf(stderr, "cuda_work: %s\n", dlerror());
	find(library, "InitializeInjection", &inject);
	if (inject() != 1)
		exit(3);
}

/* To a new file that takes the place of the old one: whoever reads it meanwhile reads one of them.
 */
static void jump(const char *path, const char *text)
{
	char beside[512];
	ROIMETER_BEGIN();
	fill();
	snprintf(beside, sizeof beside, "%s.new", path);
	FILE *f = fopen(beside, "w");
	if (!f || fprintf(f, "%s\n", text) < 0 || fclose(f) || rename(beside, path))
		exit(3);
	fill();
	ROIMETER_END();
}

static void nothing(void *arg, int domain, uint32_t id, const void *data)
{
	(void)arg, (void)domain, (void)id, (void)data;
}

static void own(void)
{
	int (*subscribe)(void **, void (*)(void *, int, uint32_t, const void *), void *);
	void *subscriber;
	find(dlopen("libcupti.so.13", RTLD_NOW), "cuptiSubscribe", &subscribe);
	if (subscribe(&subscriber, nothing, NULL))
		exit(3);
}

static void *thread(void *arg)
{
	unsigned long long at;
	void *stream;
	(void)arg;
	if (cu.set(context) || cu.alloc(&at, BYTES) || cu.stream(&stream, 1))
		exit(3);
	for (int i = 0; i < ROUNDS; i++) {
		ROIMETER_BEGIN();
		for (int k = 0; k < EACH; k++)
			if (cu.fill_async(at, 1, BYTES, stream))
				exit(3);
		ROIMETER_EXCLUDE_BEGIN();
		if (cu.fill(at, 1, BYTES))
			exit(3);
		ROIMETER_EXCLUDE_END();
		ROIMETER_STEP();
		if (cu.sync())
			exit(3);
		ROIMETER_END();
	}
	return NULL;
}

static void threads(void)
{
	pthread_t list[THREADS];
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&list[i], NULL, thread, NULL))
			exit(3);
	for (int i = 0; i < THREADS; i++)
		pthread_join(list[i], NULL);
	ROIMETER_BEGIN();
	fill();
	ROIMETER_EXCLUDE_BEGIN();
	fill();
	ROIMETER_EXCLUDE_END();
	ROIMETER_END();
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "", *word = argc > 2 ? argv[2] : "";
	open_driver();
	if (!strcmp(how, "own"))
		own();
	if (!strcmp(how, "early"))
		load(word);
	start();
	if (!strcmp(how, "late")) {
		fill();
		load(word);
	}
	if (!strcmp(how, "jump"))
		jump(word, argc > 3 ? argv[3] : "");
	else if (!strcmp(how, "threads"))
		threads();
	else
		region();
	if (!strcmp(how, "exec")) {
		fill();
		execl("/proc/self/exe", argv[0], "region", (char *)NULL);
		return 3;
	}
	return 0;
}
