/* The doubles of libcuda and libcupti behave as tests/double/README.md says, and NVIDIA's own
 * library walks their buffers. Each case is a process of its own with its own script. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#ifndef HAVE_DOUBLE

static void doubles(void **state)
{
	(void)state;
	print_message("no <cupti.h> of CUDA 13\n");
	skip();
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(doubles) };

	return cmocka_run_group_tests_name("no <cupti.h> of CUDA 13: the doubles were not built",
					   tests, NULL, NULL);
}

#else

#include <cuda.h>
#include <cupti.h>

/* In the child: says where, and ends it. */
#define CHECK(x)                                                                                   \
	do {                                                                                       \
		if (!(x)) {                                                                        \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #x);            \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)
#define CU(name, ...) CHECK(((__typeof__(&name))symbol(cuda_library, #name))(__VA_ARGS__) == 0)
#define CUPTI(name, ...) CHECK(cupti(name, __VA_ARGS__) == 0)
#define cupti(name, ...) (((__typeof__(&name))symbol(cupti_library, #name))(__VA_ARGS__))

static void *cuda_library, *cupti_library;

static void *symbol(void *library, const char *name)
{
	void *s = dlsym(library, name);

	if (!s) {
		fprintf(stderr, "no %s\n", name);
		_exit(1);
	}
	return s;
}

static void in_child(const char *script, void (*body)(void))
{
	pid_t pid = fork();
	int status = -1;

	assert_true(pid >= 0);
	if (pid == 0) {
		alarm(60);
		setenv("DOUBLE", script, 1);
		unsetenv("DOUBLE_SCRIPT");
		unsetenv("CUDA_INJECTION64_PATH");
		body();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* ---- a client: keeps the buffers that came back ---- */

enum { BUFFERS = 64, MOST_BYTES = 1 << 16 };
static size_t buffer_bytes = 4096;
static struct {
	uint8_t *at;
	size_t valid;
} got[BUFFERS];
static size_t got_count;
static int asked;

static void CUPTIAPI requested(uint8_t **at, size_t *size, size_t *most)
{
	*at = aligned_alloc(8, MOST_BYTES);
	memset(*at, 0xee, MOST_BYTES);
	*size = buffer_bytes;
	*most = 0;
	asked++;
}

static void CUPTIAPI completed(CUcontext c, uint32_t stream, uint8_t *at, size_t size, size_t valid)
{
	(void)c, (void)stream;
	CHECK(size == buffer_bytes && got_count < BUFFERS);
	got[got_count].at = at;
	got[got_count].valid = valid;
	__atomic_store_n(&got_count, got_count + 1, __ATOMIC_RELEASE);
}

static uint64_t CUPTIAPI monotonic(void)
{
	uint64_t ns;

	CHECK(dlsym(cupti_library, "double_now") != NULL);
	ns = ((uint64_t(*)(void))symbol(cupti_library, "double_now"))();
	return ns;
}

static CUcontext context;
static CUfunction kernel;

static void load(void)
{
	const char *b = getenv("B");
	char path[4096];

	snprintf(path, sizeof path, "%s/tests/double/libcuda.so.1", b ? b : "build/release");
	cuda_library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	CHECK(cuda_library);
	snprintf(path, sizeof path, "%s/tests/double/libcupti.so.13", b ? b : "build/release");
	cupti_library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	CHECK(cupti_library);
}

static void begin(void)
{
	CUdevice device;
	CUmodule module;

	load();
	CUPTI(cuptiActivityRegisterCallbacks, requested, completed);
	CUPTI(cuptiActivityRegisterTimestampCallback, monotonic);
	CU(cuInit, 0);
	CU(cuDeviceGet, &device, 0);
	CU(cuDevicePrimaryCtxRetain, &context, device);
	CU(cuCtxSetCurrent, context);
	CU(cuModuleLoadData, &module, ".visible .entry spin()");
	CU(cuModuleGetFunction, &kernel, module, "spin");
	CUPTI(cuptiActivityEnable, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	CUPTI(cuptiActivityEnable, CUPTI_ACTIVITY_KIND_MEMCPY);
	CUPTI(cuptiActivityEnable, CUPTI_ACTIVITY_KIND_MEMSET);
}

static void launch(CUstream s)
{
	CU(cuLaunchKernel, kernel, 4, 1, 1, 32, 1, 1, 0, s, NULL, NULL);
}

/* The n-th record of all buffers in the order they came; NULL: there are fewer. */
static void *record(size_t n)
{
	for (size_t i = 0; i < got_count; i++) {
		CUpti_Activity *r = NULL;
		while (cupti(cuptiActivityGetNextRecord, got[i].at, got[i].valid, &r) == 0)
			if (n-- == 0)
				return r;
	}
	return NULL;
}

static size_t records(void)
{
	size_t n = 0;

	while (record(n))
		n++;
	return n;
}

/* ---- the cases ---- */

static void times_body(void)
{
	CUdeviceptr p;
	char host[64] = "roi";
	CUstream s;

	begin();
	CU(cuMemAlloc_v2, &p, 64);
	CU(cuMemcpyHtoD_v2, p, host, 64);
	CU(cuMemsetD8_v2, p, 7, 32);
	CU(cuStreamCreate, &s, CU_STREAM_NON_BLOCKING);
	launch(s);
	launch(s);
	launch(NULL);
	CU(cuCtxSynchronize);
	CU(cuMemcpyDtoH_v2, host, p, 64);
	CHECK(host[0] == 7 && host[31] == 7 && host[32] == 0);
	CUPTI(cuptiActivityFlushAll, 0);
	CHECK(records() == 6 && got_count == 1 && asked == 1);
	CUpti_ActivityMemcpy6 *up = record(0), *down = record(5);
	CUpti_ActivityMemset4 *fill = record(1);
	CUpti_ActivityKernel10 *k[3] = { record(2), record(3), record(4) };
	CHECK(up->copyKind == 1 && up->bytes == 64 && up->end - up->start == 20000);
	CHECK(up->srcKind == 1 && up->dstKind == 3 && up->copyCount == 1);
	CHECK(down->copyKind == 2 && down->end - down->start == 20000);
	CHECK(fill->value == 7 && fill->bytes == 32 && fill->end - fill->start == 5000);
	CHECK(k[0]->end - k[0]->start == 1000 && k[1]->end - k[1]->start == 2000);
	CHECK(k[1]->start == k[0]->start + 1000); /* launched while the first ran, or as it ended */
	CHECK(k[2]->end - k[2]->start == 3000 && k[2]->start == fill->end);
	CHECK(strcmp(k[0]->name, "spin") == 0 && k[0]->gridX == 4 && k[0]->blockX == 32);
	CHECK(k[0]->correlationId && k[0]->correlationId != k[1]->correlationId);
	CHECK(k[0]->streamId == k[1]->streamId && k[0]->streamId != k[2]->streamId);
}

static void times_are_those_of_the_script(void **state)
{
	(void)state;
	in_child("clock virtual 5000000; kernel-ns 1000 2000 3000", times_body);
}

static void real_clock_body(void)
{
	uint64_t before, now, after;

	begin();
	launch(NULL);
	launch(NULL);
	CU(cuCtxSynchronize);
	CUPTI(cuptiActivityFlushAll, 0);
	CHECK(records() == 2);
	CUpti_ActivityKernel10 *a = record(0), *b = record(1);
	CHECK(a->end - a->start == 300000 && b->end - b->start == 300000 && b->start >= a->end);
	before = monotonic();
	CUPTI(cuptiGetTimestamp, &now);
	after = monotonic();
	CHECK(before <= now && now <= after && b->end <= now);
}

static void durations_are_exact_with_the_real_clock_too(void **state)
{
	(void)state;
	in_child("kernel-ns 300000", real_clock_body);
}

static void flush_body(void)
{
	begin();
	launch(NULL);
	CU(cuCtxSynchronize);
	launch(NULL);
	CUPTI(cuptiActivityFlushAll, 0);
	CHECK(got_count == 0); /* the second one runs yet, and shares the buffer */
	CUPTI(cuptiActivityFlushAll, 1);
	CHECK(records() == 2);
	CUpti_ActivityKernel10 *a = record(0), *b = record(1);
	CHECK(a->end - a->start == 80000000 && b->end == 0);
	CU(cuCtxSynchronize);
	CUPTI(cuptiActivityFlushAll, 1);
	CHECK(records() == 2 && b->end == 0); /* never again */
}

static void a_flush_keeps_what_is_not_complete_unless_forced(void **state)
{
	(void)state;
	in_child("kernel-ns 80000000", flush_body);
}

static void full_body(void)
{
	buffer_bytes = 3 * sizeof(CUpti_ActivityKernel10) + 8;
	begin();
	for (int i = 0; i < 7; i++)
		launch(NULL);
	CU(cuCtxSynchronize);
	for (int i = 0; i < 30000 && __atomic_load_n(&got_count, __ATOMIC_ACQUIRE) < 2; i++)
		usleep(1000);
	CHECK(got_count == 2 && records() == 6 && asked == 3);
}

static void full_and_complete_buffers_come_by_themselves(void **state)
{
	(void)state;
	in_child("kernel-ns 100000", full_body);
}

static void drop_body(void)
{
	size_t n = 0;

	buffer_bytes = 2 * sizeof(CUpti_ActivityKernel10);
	begin();
	for (int i = 0; i < 9; i++)
		launch(NULL);
	CU(cuCtxSynchronize);
	CUPTI(cuptiActivityFlushAll, 0);
	CUPTI(cuptiActivityGetNumDroppedRecords, NULL, 0, &n);
	CHECK(n + records() == 9 && n == 2);
	CUPTI(cuptiActivityGetNumDroppedRecords, NULL, 0, &n);
	CHECK(n == 0);
}

static void what_has_no_buffer_is_dropped_and_counted_once(void **state)
{
	(void)state;
	in_child("clock virtual; deny-buffer 2; drop 5", drop_body);
}

static void lost_body(void)
{
	CUpti_Activity *r = NULL;

	begin();
	for (int i = 0; i < 6; i++)
		launch(NULL);
	CUPTI(cuptiActivityFlushAll, 0);
	CHECK(got_count == 0); /* the fifth never ends */
	CUPTI(cuptiActivityFlushAll, 1);
	CUpti_ActivityKernel10 *k = record(1);
	CHECK(k->start == 0 && k->end == 0);
	k = record(2);
	CHECK(k->end < k->start);
	CHECK(records() == 5);
	for (int i = 0; i < 5; i++)
		CUPTI(cuptiActivityGetNextRecord, got[0].at, got[0].valid, &r);
	CHECK(cupti(cuptiActivityGetNextRecord, got[0].at, got[0].valid, &r) ==
	      CUPTI_ERROR_INVALID_KIND);
}

static void records_are_lost_as_the_script_says(void **state)
{
	(void)state;
	in_child("clock virtual; lose 2; backwards 3; never 5; unknown-kind 6", lost_body);
}

static void CUPTIAPI on_callback(void *data, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
				 const void *cbdata)
{
	const CUpti_CallbackData *d = cbdata;

	if (domain == CUPTI_CB_DOMAIN_DRIVER_API && cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel)
		((int *)data)[d->callbackSite == CUPTI_API_EXIT]++;
}

static void subscriber_body(void)
{
	CUpti_SubscriberHandle s, other;
	int calls[2] = { 0, 0 };
	char name[64] = "";
	CUpti_SubscriberParams p = {
		.structSize = CUpti_SubscriberParams_STRUCT_SIZE,
		.subscriberName = "test",
		.oldSubscriberName = name,
		.oldSubscriberSize = sizeof name,
	};

	begin();
	CUPTI(cuptiSubscribe_v2, &s, on_callback, calls, &p);
	CHECK(cupti(cuptiSubscribe_v2, &other, on_callback, NULL, &p) == 39 &&
	      !strcmp(name, "test"));
	CUPTI(cuptiEnableCallback, 1, s, CUPTI_CB_DOMAIN_DRIVER_API,
	      CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
	launch(NULL);
	CUPTI(cuptiEnableCallback, 0, s, CUPTI_CB_DOMAIN_DRIVER_API,
	      CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
	launch(NULL);
	CHECK(calls[0] == 1 && calls[1] == 1);
	CUPTI(cuptiUnsubscribe, s);
	CUPTI(cuptiSubscribe, &s, on_callback, calls);
}

static void there_is_one_subscriber(void **state)
{
	(void)state;
	in_child("clock virtual", subscriber_body);
}

static void attached_body(void)
{
	CUpti_SubscriberHandle s;
	char name[64] = "";
	CUpti_SubscriberParams p = {
		.structSize = CUpti_SubscriberParams_STRUCT_SIZE,
		.oldSubscriberName = name,
		.oldSubscriberSize = sizeof name,
	};

	load();
	CHECK(cupti(cuptiSubscribe_v2, &s, on_callback, NULL, &p) == 39 &&
	      !strcmp(name, "Other Tool"));
	CHECK(cupti(cuptiActivityEnable, CUPTI_ACTIVITY_KIND_MEMSET) == 27);
	CHECK(cupti(cuptiActivityEnable, CUPTI_ACTIVITY_KIND_MEMCPY) == 0);
	CHECK(cupti(cuptiActivityFlushAll, 0) == 999);
}

static void calls_fail_as_the_script_says(void **state)
{
	(void)state;
	in_child("subscriber Other Tool; fail kind-2 27; fail cuptiActivityFlushAll 999",
		 attached_body);
}

static void graph_launch(bool whole)
{
	CUgraph graph;
	CUgraphNode node[2];
	CUgraphExec exec;
	CUDA_KERNEL_NODE_PARAMS p = { .func = kernel, .gridDimX = 1, .blockDimX = 1 };

	CU(cuGraphCreate, &graph, 0);
	CU(cuGraphAddKernelNode_v2, &node[0], graph, NULL, 0, &p);
	CU(cuGraphAddKernelNode_v2, &node[1], graph, &node[0], 1, &p);
	CU(cuGraphInstantiateWithFlags, &exec, graph, 0);
	if (whole)
		CUPTI(cuptiActivityEnable, CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
	CU(cuGraphLaunch, exec, NULL);
	CU(cuCtxSynchronize);
	CUPTI(cuptiActivityFlushAll, 0);
}

static void nodes_body(void)
{
	begin();
	graph_launch(false);
	CHECK(records() == 2);
	CUpti_ActivityKernel10 *a = record(0), *b = record(1);
	CHECK(a->graphNodeId && b->graphNodeId && a->graphNodeId != b->graphNodeId);
	CHECK(a->graphId && a->graphId == b->graphId && a->correlationId == b->correlationId);
}

static void whole_graph_body(void)
{
	begin();
	graph_launch(true);
	CHECK(records() == 1);
	CUpti_ActivityGraphTrace2 *g = record(0);
	CHECK(g->kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE && g->end - g->start == 3000);
}

static void graphs_are_nodes_or_a_whole(void **state)
{
	(void)state;
	in_child("clock virtual; kernel-ns 1000 2000", nodes_body);
	in_child("clock virtual; kernel-ns 1000 2000", whole_graph_body);
}

static void sizes_body(void)
{
	uint32_t version;

	begin();
	launch(NULL);
	launch(NULL);
	CUPTI(cuptiActivityFlushAll, 0);
	CUPTI(cuptiGetVersion, &version);
	CHECK(version == 14 && records() == 2);
	CHECK((char *)record(1) - (char *)record(0) ==
	      (ptrdiff_t)sizeof(CUpti_ActivityKernel6) + 16);
}

static void records_have_the_size_of_the_version(void **state)
{
	(void)state;
	in_child("clock virtual; cuda 11; longer 16", sizes_body);
}

/* ---- NVTX, as its header calls a tool ---- */

static int (*push_slot)(const char *), (*pop_slot)(void);

static int nvtx_functions(int module, void ****table, unsigned *n)
{
	static void **slots[16];

	if (module != 1)
		return 0;
	slots[9] = (void **)&push_slot;
	slots[11] = (void **)&pop_slot;
	*table = slots;
	*n = 16;
	return 1;
}

static const void *nvtx_table(uint32_t id)
{
	static const struct {
		size_t size;
		int (*functions)(int, void ****, unsigned *);
	} table = { sizeof table, nvtx_functions };

	return id == 1 ? &table : NULL;
}

static void nvtx_body(void)
{
	begin();
	CUPTI(cuptiActivityEnable, CUPTI_ACTIVITY_KIND_MARKER);
	CHECK(((int (*)(const void *(*)(uint32_t)))symbol(
		      cupti_library, "InitializeInjectionNvtx2"))(nvtx_table) == 1);
	push_slot("outer");
	push_slot("inner");
	launch(NULL);
	CHECK(pop_slot() == 1 && pop_slot() == 0 && pop_slot() < 0);
	CUPTI(cuptiActivityFlushAll, 0);
	CHECK(records() == 5);
	CUpti_ActivityMarker2 *outer = record(0), *inner = record(1), *a = record(3),
			      *b = record(4);
	CHECK(!strcmp(outer->name, "outer") && !strcmp(inner->name, "inner") && !a->name);
	CHECK(a->id == inner->id && b->id == outer->id && a->timestamp > inner->timestamp);
	CHECK(outer->flags == CUPTI_ACTIVITY_FLAG_MARKER_START);
	CHECK(b->flags == CUPTI_ACTIVITY_FLAG_MARKER_END);
}

static void ranges_are_marker_records(void **state)
{
	(void)state;
	in_child("clock virtual", nvtx_body);
}

/* ---- NVIDIA's own library ---- */

static const char *real_cupti(void)
{
	const char *list[] = { getenv("CUPTI_LIBRARY"), REAL_CUPTI };

	for (size_t i = 0; i < sizeof list / sizeof *list; i++)
		if (list[i] && *list[i] && access(list[i], R_OK) == 0)
			return list[i];
	return NULL;
}

static void every_kind(void)
{
	CUdeviceptr p, q;
	CUcontext second;
	CUdevice device;
	CUstream s;

	CUPTI(cuptiActivityEnable, CUPTI_ACTIVITY_KIND_MEMCPY2);
	CUPTI(cuptiActivityEnable, CUPTI_ACTIVITY_KIND_DEVICE);
	CUPTI(cuptiActivityEnable, CUPTI_ACTIVITY_KIND_CONTEXT);
	CUPTI(cuptiActivityEnable, CUPTI_ACTIVITY_KIND_DRIVER);
	CUPTI(cuptiActivityEnable, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
	CUPTI(cuptiActivityEnable, CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER);
	CUPTI(cuptiActivityEnable, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
	CUPTI(cuptiActivityEnable, CUPTI_ACTIVITY_KIND_MARKER);
	CUPTI(cuptiActivityPushExternalCorrelationId, CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 42);
	CU(cuMemAlloc_v2, &p, 4096);
	CU(cuMemsetD32_v2, p, 0, 1024);
	((void (*)(uint32_t, uint32_t, const char *, const char *))symbol(
		cupti_library, "double_marker"))(CUPTI_ACTIVITY_FLAG_MARKER_START, 1, "step", NULL);
	CU(cuStreamCreate, &s, 0);
	launch(s);
	CU(cuStreamSynchronize, s);
	CU(cuDeviceGet, &device, 1);
	CU(cuDevicePrimaryCtxRetain, &second, device);
	CU(cuCtxSetCurrent, second);
	CU(cuMemAlloc_v2, &q, 4096);
	CU(cuMemcpyDtoDAsync_v2, q, p, 4096, NULL);
	CU(cuCtxSynchronize);
	CU(cuCtxSetCurrent, context);
	CUPTI(cuptiActivityPopExternalCorrelationId, CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, NULL);
	graph_launch(true);
	CUPTI(cuptiActivityFlushAll, 1);
}

static void walk_body(void)
{
	void *library = dlopen(real_cupti(), RTLD_NOW | RTLD_LOCAL);
	size_t walked = 0;
	bool seen[64] = { false };

	CHECK(library);
	__typeof__(&cuptiActivityGetNextRecord) next =
		symbol(library, "cuptiActivityGetNextRecord");
	begin();
	CHECK(next != symbol(cupti_library, "cuptiActivityGetNextRecord"));
	every_kind();
	for (size_t i = 0; i < got_count; i++) {
		CUpti_Activity *ours = NULL, *theirs = NULL;
		for (;;) {
			CUptiResult a =
				cupti(cuptiActivityGetNextRecord, got[i].at, got[i].valid, &ours);
			CUptiResult b = next(got[i].at, got[i].valid, &theirs);
			CHECK(a == b);
			if (a)
				break;
			CHECK(ours == theirs);
			seen[ours->kind] = true;
			walked++;
		}
	}
	static const int kinds[] = { 1, 2, 4, 8, 9, 10, 12, 22, 25, 38, 39, 51 };
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		CHECK(seen[kinds[i]] || kinds[i] == 1);
	CHECK(walked > 20);
}

static void nvidia_walks_the_buffers_of_the_double(void **state)
{
	uint32_t version = 0;
	(void)state;

	if (!real_cupti()) {
		print_message("no libcupti.so.13 of NVIDIA; CUPTI_LIBRARY says where it is\n");
		skip();
	}
	/* Its records are those of the headers only if both are of one version. */
	void *library = dlopen(real_cupti(), RTLD_NOW | RTLD_LOCAL);
	assert_non_null(library);
	CUptiResult (*get)(uint32_t *) =
		(CUptiResult(*)(uint32_t *))dlsym(library, "cuptiGetVersion");
	assert_non_null(get);
	assert_int_equal(get(&version), 0);
	if (version != CUPTI_API_VERSION) {
		print_message("libcupti is version %u, the headers %u\n", version,
			      CUPTI_API_VERSION);
		skip();
	}
	in_child("clock virtual; devices 2; um-every 1", walk_body);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_are_those_of_the_script),
		cmocka_unit_test(durations_are_exact_with_the_real_clock_too),
		cmocka_unit_test(a_flush_keeps_what_is_not_complete_unless_forced),
		cmocka_unit_test(full_and_complete_buffers_come_by_themselves),
		cmocka_unit_test(what_has_no_buffer_is_dropped_and_counted_once),
		cmocka_unit_test(records_are_lost_as_the_script_says),
		cmocka_unit_test(there_is_one_subscriber),
		cmocka_unit_test(calls_fail_as_the_script_says),
		cmocka_unit_test(graphs_are_nodes_or_a_whole),
		cmocka_unit_test(records_have_the_size_of_the_version),
		cmocka_unit_test(ranges_are_marker_records),
		cmocka_unit_test(nvidia_walks_the_buffers_of_the_double),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
