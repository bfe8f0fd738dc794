/* The OpenCL layer between a program and a made-up driver whose commands are late, fail, come out
 * of order, or have no times. Every time that the engine is told is exactly the script's. */
#include "tests/unit/opencl_fake.h"

#define US INT64_C(1000)
#define MS INT64_C(1000000)

enum { NO_CLOCK, DISCRETE, SHARED_MEMORY, PART, TIMER };

static struct _cl_device_id fake_devices[5] = {
	[NO_CLOCK] = { .name = "odd", .extensions = "", .source = -1, .offset_ns = 12345678901 },
	[DISCRETE] = { .name = "GPU",
		       .extensions = "cl_khr_fp64 cl_khr_device_uuid",
		       .uuid = { 0xde, 0xad, 0xbe, 0xef, [15] = 1 } },
	[SHARED_MEMORY] = { .name = "CPU", .extensions = "cl_khr_pci_bus_info", .shares = true },
	[PART] = { .name = "part", .extensions = "", .parent_is_first = true },
	[TIMER] = { .name = "timer", .extensions = "", .source = ON_TIMER, .offset_ns = -777 * MS },
};

static cl_command_queue queue_on(int device)
{
	cl_command_queue q = through.clCreateCommandQueue(NULL, &fake_devices[device], 0, NULL);
	q->script = (struct script){ .start_ns = 2 * US, .length_ns = 5 * US };
	return q;
}

static cl_int run_kernel(cl_command_queue q, cl_event *e)
{
	return through.clEnqueueNDRangeKernel(q, &fake_gemm, 1, NULL, NULL, NULL, 0, NULL, e);
}

static int fresh(void **state)
{
	(void)state;
	seen_clear();
	return 0;
}

static int nothing_is_left(void **state)
{
	(void)state;
	assert_int_equal(seen_pending, 0);
	assert_int_equal(fake_events, 0);
	return 0;
}

/* ---- clocks ---- */

/* First, while no other device is known: then all of the process is refused. */
static void a_device_without_a_known_clock_is_refused(void **state)
{
	(void)state;
	cl_command_queue q = queue_on(NO_CLOCK);
	assert_non_null(strstr(seen.refused, "refused: clock: the OpenCL device \"odd\""));
	assert_int_equal(run_kernel(q, NULL), CL_SUCCESS);
	assert_int_equal(seen.n_ops, 0);
	assert_int_equal(seen.untimed, 1);
	(void)through.clReleaseCommandQueue(q);
	/* A part of it is the same device, and found to be so; another one works all the same. */
	seen.refused[0] = 0;
	q = queue_on(PART);
	assert_string_equal(seen.refused, "");
	assert_int_equal(run_kernel(q, NULL), CL_SUCCESS);
	assert_int_equal(seen.n_ops, 1);
	assert_string_equal(seen.devices[seen.ops[0].device], "odd|opencl:Fake:0");
	(void)through.clReleaseCommandQueue(q);
}

static void each_of_the_clocks_of_a_device_is_followed(void **state)
{
	(void)state;
	static struct _cl_device_id by_clock[SOURCES];
	for (int s = 0; s < SOURCES; s++) {
		seen_clear();
		by_clock[s] = (struct _cl_device_id){ .name = "by clock",
						      .extensions = "",
						      .source = s,
						      .offset_ns = s == ON_TIMER ? 999 * MS : 0 };
		cl_command_queue q = through.clCreateCommandQueue(NULL, &by_clock[s], 0, NULL);
		cl_event e = NULL;
		q->script = (struct script){ .start_ns = 2 * US, .length_ns = 5 * US };
		assert_int_equal(run_kernel(q, &e), CL_SUCCESS);
		assert_int_equal(seen.n_ops, 1);
		/* Two readings of two clocks are apart by as much as this thread may be stopped. */
		assert_in_range(seen.ops[0].begin_ns - e->true_start_ns + 20 * MS, 0, 40 * MS);
		assert_in_range(seen.ops[0].end_ns - seen.ops[0].begin_ns, 4 * US, 6 * US);
		(void)through.clReleaseEvent(e);
		(void)through.clReleaseCommandQueue(q);
	}
	live.flush(LIVE_FLUSH_LAST);
	assert_true(told_error >= 0 && told_error < 2e7);
}

/* ---- what a program sees ---- */

static void profiling_that_was_not_asked_for_is_not_shown(void **state)
{
	(void)state;
	cl_command_queue_properties p = 99, old = 99;
	cl_queue_properties list[8];
	cl_ulong t;
	size_t n = 0;
	cl_event e = NULL;
	cl_command_queue q = queue_on(DISCRETE);
	assert_true(q->properties & CL_QUEUE_PROFILING_ENABLE);
	assert_int_equal(through.clGetCommandQueueInfo(q, CL_QUEUE_PROPERTIES, sizeof p, &p, NULL),
			 0);
	assert_int_equal(p, 0);
	assert_int_equal(run_kernel(q, &e), CL_SUCCESS);
	assert_int_equal(
		through.clGetEventProfilingInfo(e, CL_PROFILING_COMMAND_END, sizeof t, &t, NULL),
		CL_PROFILING_INFO_NOT_AVAILABLE);
	/* It may ask later, and stop again: we keep what we need. */
	assert_int_equal(
		through.clSetCommandQueueProperty(q, CL_QUEUE_PROFILING_ENABLE, CL_TRUE, &old), 0);
	assert_int_equal(old, 0);
	assert_int_equal(
		through.clGetEventProfilingInfo(e, CL_PROFILING_COMMAND_END, sizeof t, &t, NULL),
		0);
	(void)through.clSetCommandQueueProperty(q, CL_QUEUE_PROFILING_ENABLE, CL_FALSE, NULL);
	assert_true(q->properties & CL_QUEUE_PROFILING_ENABLE);
	(void)through.clReleaseEvent(e);
	(void)through.clReleaseCommandQueue(q);

	const cl_queue_properties wish[] = { CL_QUEUE_PROPERTIES,
					     CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0x1234, 7, 0 };
	q = through.clCreateCommandQueueWithProperties(NULL, &fake_devices[DISCRETE], wish, NULL);
	assert_int_equal(q->properties,
			 CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE);
	assert_int_equal(
		through.clGetCommandQueueInfo(q, CL_QUEUE_PROPERTIES_ARRAY, sizeof list, list, &n),
		0);
	assert_int_equal(n, sizeof wish);
	assert_memory_equal(list, wish, sizeof wish);
	assert_int_equal(through.clGetCommandQueueInfo(q, CL_QUEUE_PROPERTIES_ARRAY, 8, list, &n),
			 CL_INVALID_VALUE);
	(void)through.clReleaseCommandQueue(q);

	q = through.clCreateCommandQueueWithProperties(NULL, &fake_devices[DISCRETE], NULL, NULL);
	assert_int_equal(q->properties, CL_QUEUE_PROFILING_ENABLE);
	n = 99;
	assert_int_equal(
		through.clGetCommandQueueInfo(q, CL_QUEUE_PROPERTIES_ARRAY, sizeof list, list, &n),
		0);
	assert_int_equal(n, 0);
	(void)through.clReleaseCommandQueue(q);
}

static void profiling_that_was_asked_for_is_as_without_us(void **state)
{
	(void)state;
	cl_command_queue_properties p = 0;
	cl_ulong t = 0;
	cl_event e = NULL;
	cl_command_queue q = through.clCreateCommandQueue(NULL, &fake_devices[DISCRETE],
							  CL_QUEUE_PROFILING_ENABLE, NULL);
	(void)through.clGetCommandQueueInfo(q, CL_QUEUE_PROPERTIES, sizeof p, &p, NULL);
	assert_int_equal(p, CL_QUEUE_PROFILING_ENABLE);
	q->script = (struct script){ .length_ns = 5 * US };
	assert_int_equal(run_kernel(q, &e), CL_SUCCESS);
	assert_int_equal(
		through.clGetEventProfilingInfo(e, CL_PROFILING_COMMAND_END, sizeof t, &t, NULL),
		0);
	assert_int_equal(t, e->end_ns);
	(void)through.clReleaseEvent(e);
	(void)through.clReleaseCommandQueue(q);
}

static void a_queue_on_the_device_is_left_alone(void **state)
{
	(void)state;
	const cl_queue_properties wish[] = {
		CL_QUEUE_PROPERTIES, CL_QUEUE_ON_DEVICE | CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0
	};
	cl_command_queue q = through.clCreateCommandQueueWithProperties(
		NULL, &fake_devices[DISCRETE], wish, NULL);
	assert_int_equal(q->properties, wish[1]);
	assert_int_equal(seen.n_notes, 1);
	(void)through.clReleaseCommandQueue(q);
}

/* ---- commands ---- */

static void expect_op(size_t i, enum category c, const char *name, double bytes)
{
	assert_true(i < seen.n_ops);
	assert_int_equal(seen.ops[i].category, c);
	assert_string_equal(seen.ops[i].name, name);
	if (isnan(bytes))
		assert_true(isnan(seen.ops[i].bytes));
	else
		assert_true(seen.ops[i].bytes == bytes);
}

static void each_command_is_what_it_is(void **state)
{
	(void)state;
	cl_command_queue q = queue_on(DISCRETE);
	const size_t region[3] = { 10, 20, 3 }, origin[3] = { 0 };
	char room[8];
	cl_mem b = (cl_mem)room;
	assert_int_equal(run_kernel(q, NULL), 0);
	(void)through.clEnqueueNDRangeKernel(q, &fake_nccl, 1, NULL, NULL, NULL, 0, NULL, NULL);
	(void)through.clEnqueueWriteBuffer(q, b, CL_TRUE, 0, 100, room, 0, NULL, NULL);
	(void)through.clEnqueueReadBuffer(q, b, CL_FALSE, 0, 200, room, 0, NULL, NULL);
	(void)through.clEnqueueCopyBuffer(q, b, b, 0, 0, 300, 0, NULL, NULL);
	(void)through.clEnqueueFillBuffer(q, b, room, 4, 0, 400, 0, NULL, NULL);
	(void)through.clEnqueueReadBufferRect(q, b, CL_TRUE, origin, origin, region, 0, 0, 0, 0,
					      room, 0, NULL, NULL);
	(void)through.clEnqueueReadImage(q, b, CL_FALSE, origin, region, 0, 0, room, 0, NULL, NULL);
	(void)through.clEnqueueSVMMemcpy(q, CL_FALSE, room, room, 500, 0, NULL, NULL);
	expect_op(0, COMPUTE, "gemm", NAN);
	expect_op(1, COLLECTIVE, "ncclKernel_AllReduce", NAN);
	expect_op(2, COPY_H2D, "clEnqueueWriteBuffer", 100);
	expect_op(3, COPY_D2H, "clEnqueueReadBuffer", 200);
	expect_op(4, COPY_D2D, "clEnqueueCopyBuffer", 300);
	expect_op(5, FILL, "clEnqueueFillBuffer", 400);
	expect_op(6, COPY_D2H, "clEnqueueReadBufferRect", 600);
	expect_op(7, COPY_D2H, "clEnqueueReadImage", 9600);
	expect_op(8, COPY_OTHER, "clEnqueueSVMMemcpy", 500);
	assert_int_equal(seen.n_ops, 9);
	assert_int_equal(seen.calls, 9);
	assert_int_equal(seen.syncs, 2);
	(void)through.clFinish(q);
	(void)through.clFlush(q);
	(void)through.clWaitForEvents(0, NULL);
	assert_int_equal(seen.calls, 12);
	assert_int_equal(seen.syncs, 4);
	assert_string_equal(seen.runtime, "opencl3.0");
	assert_string_equal(seen.devices[seen.ops[0].device],
			    "GPU|deadbeef-0000-0000-0000-000000000001");
	for (size_t i = 0; i < seen.n_ops; i++)
		assert_int_equal(seen.ops[i].end_ns - seen.ops[i].begin_ns, 5 * US);
	(void)through.clReleaseCommandQueue(q);
}

static void *map(cl_command_queue q, cl_map_flags flags, size_t at, size_t bytes)
{
	cl_int rc = 1;
	static char memory[4096];
	void *got = through.clEnqueueMapBuffer(q, (cl_mem)memory, CL_TRUE, flags, at, bytes, 0,
					       NULL, NULL, &rc);
	assert_int_equal(rc, CL_SUCCESS);
	assert_ptr_equal(got, memory + at);
	return got;
}

static void unmap(cl_command_queue q, void *memory, void *at)
{
	assert_int_equal(through.clEnqueueUnmapMemObject(q, memory, at, 0, NULL, NULL), 0);
}

static void a_map_moves_what_the_other_side_needs(void **state)
{
	(void)state;
	cl_command_queue q = queue_on(DISCRETE);
	void *base = map(q, CL_MAP_READ, 0, 100);
	unmap(q, base, base);
	unmap(q, base, map(q, CL_MAP_WRITE, 64, 200));
	unmap(q, base, map(q, CL_MAP_WRITE_INVALIDATE_REGION, 128, 300));
	unmap(q, base, (char *)base + 999); /* never mapped */
	expect_op(0, COPY_D2H, "clEnqueueMapBuffer", 100);
	expect_op(1, OTHER, "clEnqueueUnmapMemObject", NAN);
	expect_op(2, COPY_D2H, "clEnqueueMapBuffer", 200);
	expect_op(3, COPY_H2D, "clEnqueueUnmapMemObject", 200);
	expect_op(4, OTHER, "clEnqueueMapBuffer", NAN);
	expect_op(5, COPY_H2D, "clEnqueueUnmapMemObject", 300);
	expect_op(6, OTHER, "clEnqueueUnmapMemObject", NAN);
	(void)through.clEnqueueSVMMap(q, CL_FALSE, CL_MAP_READ | CL_MAP_WRITE, base, 50, 0, NULL,
				      NULL);
	(void)through.clEnqueueSVMUnmap(q, base, 0, NULL, NULL);
	expect_op(7, COPY_D2H, "clEnqueueSVMMap", 50);
	expect_op(8, COPY_H2D, "clEnqueueSVMUnmap", 50);
	(void)through.clReleaseCommandQueue(q);

	seen_clear();
	q = queue_on(SHARED_MEMORY);
	unmap(q, base, map(q, CL_MAP_READ | CL_MAP_WRITE, 0, 100));
	expect_op(0, OTHER, "clEnqueueMapBuffer", NAN);
	expect_op(1, OTHER, "clEnqueueUnmapMemObject", NAN);
	assert_string_equal(seen.devices[seen.ops[0].device], "CPU|pci:0000:3b:00.0");
	(void)through.clReleaseCommandQueue(q);
}

static void events_of_the_program_stay_its_own(void **state)
{
	(void)state;
	cl_command_queue q = queue_on(DISCRETE);
	cl_event mine = NULL;
	q->script.held = true;
	assert_int_equal(run_kernel(q, &mine), CL_SUCCESS);
	assert_non_null(mine);
	assert_int_equal(seen_pending, 1);
	(void)through.clReleaseEvent(mine); /* before it is over: ours keeps it */
	fake_over(mine);
	assert_int_equal(seen.n_ops, 1);
	assert_int_equal(seen.ops[0].begin_ns + 5 * US, seen.ops[0].end_ns);
	(void)through.clReleaseCommandQueue(q);
}

static void commands_that_come_out_of_order_have_their_own_times(void **state)
{
	(void)state;
	cl_command_queue q = queue_on(DISCRETE);
	cl_event held[40];
	int64_t want[40];
	for (int i = 0; i < 40; i++) {
		q->script = (struct script){ .start_ns = (40 - i) * US,
					     .length_ns = (i % 7 + 1) * US,
					     .held = true };
		assert_int_equal(run_kernel(q, NULL), CL_SUCCESS);
		held[i] = fake_last;
		want[i] = held[i]->true_start_ns;
	}
	assert_int_equal(seen_pending, 40);
	(void)through.clReleaseCommandQueue(q);
	for (int k = 0; k < 40; k++) {
		int i = k * 17 % 40;
		fake_over(held[i]);
		assert_int_equal(seen.ops[k].begin_ns, want[i]);
		assert_int_equal(seen.ops[k].end_ns - seen.ops[k].begin_ns, (i % 7 + 1) * US);
	}
}

static void what_has_no_time_is_counted_where_it_was_launched(void **state)
{
	(void)state;
	static const struct script bad[] = {
		{ .length_ns = 5 * US, .status = -5 },
		{ .length_ns = 5 * US, .no_times = true },
		{ .length_ns = 5 * US, .no_callback = true },
		{ .length_ns = 0 },
		{ .length_ns = -7 * US },
	};
	cl_command_queue q = queue_on(DISCRETE);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		cl_event e = NULL;
		int64_t before = fake_now(ON_MONOTONIC);
		q->script = bad[i];
		assert_int_equal(run_kernel(q, i % 2 ? &e : NULL), CL_SUCCESS);
		if (e)
			(void)through.clReleaseEvent(e);
		assert_int_equal(seen.n_ops, i + 1);
		assert_int_equal(seen.ops[i].begin_ns, seen.ops[i].end_ns);
		assert_in_range(seen.ops[i].begin_ns, before, fake_now(ON_MONOTONIC));
	}
	assert_int_equal(seen.n_notes, 1); /* the callback that was not taken */
	/* A call that fails is a call, and no command. */
	cl_event none = NULL;
	q->script = (struct script){ .refused = CL_OUT_OF_RESOURCES };
	assert_int_equal(run_kernel(q, &none), CL_OUT_OF_RESOURCES);
	assert_null(none);
	assert_int_equal(seen.n_ops, sizeof bad / sizeof *bad);
	assert_int_equal(seen.calls, sizeof bad / sizeof *bad + 1);
	(void)through.clReleaseCommandQueue(q);
}

static void command_buffers_are_said(void **state)
{
	(void)state;
	cl_command_queue q = queue_on(DISCRETE);
	clEnqueueCommandBufferKHR_fn enqueue;
	void *at =
		through.clGetExtensionFunctionAddressForPlatform(NULL, "clEnqueueCommandBufferKHR");
	memcpy(&enqueue, &at, sizeof enqueue);
	assert_true(enqueue != fake_graph);
	assert_ptr_equal(at, through.clGetExtensionFunctionAddressForPlatform(
				     NULL, "clEnqueueCommandBufferKHR"));
	assert_int_equal(enqueue(1, &q, (cl_command_buffer_khr)q, 0, NULL, NULL), CL_SUCCESS);
	assert_int_equal(enqueue(0, NULL, (cl_command_buffer_khr)q, 0, NULL, NULL), CL_SUCCESS);
	assert_int_equal(seen.graphs, 2);
	assert_int_equal(seen.n_ops, 2);
	expect_op(1, OTHER, "clEnqueueCommandBufferKHR", NAN);
	assert_int_equal(seen.ops[1].begin_ns, seen.ops[1].end_ns);
	assert_non_null(strstr(seen.notes[0], "command buffers"));
	/* What we do not know goes through, and is said; what is no work is not. */
	seen_clear();
	at = through.clGetExtensionFunctionAddressForPlatform(NULL, "clEnqueueWaitSignalXYZ");
	at = through.clGetExtensionFunctionAddressForPlatform(NULL, "clIcdGetPlatformIDsKHR");
	assert_int_equal(seen.n_notes, 0);
	at = through.clGetExtensionFunctionAddressForPlatform(NULL, "clEnqueueMagicXYZ");
	assert_ptr_equal(at, &fake_devices);
	assert_non_null(strstr(seen.notes[0], "clEnqueueMagicXYZ"));
	assert_null(through.clGetExtensionFunctionAddressForPlatform(NULL, "nothing"));
	(void)through.clReleaseCommandQueue(q);
}

/* ---- threads ---- */

#define THREADS 8
#define EACH 400

struct worker {
	pthread_t thread, driver;
	int number;
	cl_event held[EACH];
	int n_held; /* atomic */
	int64_t sum_ns;
};

static void *program(void *arg)
{
	struct worker *w = arg;
	cl_command_queue q = queue_on(w->number % 2 ? DISCRETE : TIMER);
	for (int i = 0; i < EACH; i++) {
		q->script = (struct script){ .length_ns = (i % 13 + 1) * US, .held = true };
		w->sum_ns += (i % 13 + 1) * US;
		cl_event e = NULL;
		(void)run_kernel(q, &e);
		w->held[i] = e;
		__atomic_store_n(&w->n_held, i + 1, __ATOMIC_RELEASE);
		if (i % 50 == 0)
			live.flush(LIVE_FLUSH);
	}
	return q;
}

/* Ends what the program began, two at a time in the wrong order. */
static void *driver(void *arg)
{
	struct worker *w = arg;
	const struct timespec pause = { .tv_nsec = 20000 };
	for (int i = 0; i < EACH; i += 2) {
		while (__atomic_load_n(&w->n_held, __ATOMIC_ACQUIRE) < i + 2)
			(void)nanosleep(&pause, NULL);
		fake_over(w->held[i + 1]);
		fake_over(w->held[i]);
	}
	return NULL;
}

/* A driver has a lock of its own for its events; so must this one under the thread sanitizer. */
static pthread_mutex_t event_lock = PTHREAD_MUTEX_INITIALIZER;

static cl_int locked_set_callback(cl_event e, cl_int type,
				  void(CL_CALLBACK *callback)(cl_event, cl_int, void *), void *data)
{
	(void)pthread_mutex_lock(&event_lock);
	cl_int rc = fake_set_callback(e, type, callback, data);
	(void)pthread_mutex_unlock(&event_lock);
	return rc;
}

static void eight_threads_lose_nothing(void **state)
{
	(void)state;
	static struct worker workers[THREADS];
	int64_t want = 0, got = 0;
	opencl_next.clSetEventCallback = locked_set_callback;
	for (int t = 0; t < THREADS; t++) {
		workers[t].number = t;
		assert_int_equal(pthread_create(&workers[t].thread, NULL, program, &workers[t]), 0);
		assert_int_equal(pthread_create(&workers[t].driver, NULL, driver, &workers[t]), 0);
	}
	for (int t = 0; t < THREADS; t++) {
		void *q = NULL;
		(void)pthread_join(workers[t].thread, &q);
		(void)pthread_join(workers[t].driver, NULL);
		want += workers[t].sum_ns;
		for (int i = 0; i < EACH; i++)
			(void)through.clReleaseEvent(workers[t].held[i]);
		(void)through.clReleaseCommandQueue(q);
	}
	opencl_next.clSetEventCallback = fake_set_callback;
	assert_int_equal(seen.n_ops, THREADS * EACH);
	for (size_t i = 0; i < seen.n_ops; i++)
		got += seen.ops[i].end_ns - seen.ops[i].begin_ns;
	/* The timer's line may bend by a nanosecond or two. */
	assert_in_range(got - want + 100 * US, 0, 200 * US);
}

/* ---- the end ---- */

static int64_t end_takes(void)
{
	int64_t before = fake_now(ON_MONOTONIC);
	live.flush(LIVE_FLUSH_LAST);
	return fake_now(ON_MONOTONIC) - before;
}

/* What runs is not waited for, what is over and was not seen is, and not for ever. */
static void the_end_waits_for_what_is_over(void **state)
{
	(void)state;
	cl_command_queue q = queue_on(DISCRETE), other = queue_on(DISCRETE);
	q->script.held = other->script.held = true;
	assert_int_equal(run_kernel(other, NULL), CL_SUCCESS);
	cl_event runs = fake_last;
	int64_t fast = end_takes();
	assert_int_equal(run_kernel(q, NULL), CL_SUCCESS);
	(void)through.clFinish(q); /* of a driver whose callbacks are late */
	int64_t slow = end_takes();
	assert_true(slow >= 400 * MS);
	assert_true(fast < slow / 2);
	assert_int_equal(seen_pending, 2);
	fake_over(fake_last);
	assert_true(end_takes() < slow / 2);
	fake_over(runs);
	(void)through.clReleaseCommandQueue(q);
	(void)through.clReleaseCommandQueue(other);
}

static void a_forked_child_is_left_alone(void **state)
{
	(void)state;
	cl_command_queue q = queue_on(DISCRETE), late;
	q->script.held = true;
	assert_int_equal(run_kernel(q, NULL), CL_SUCCESS);
	live.child();
	size_t calls = seen.calls;
	q->script.held = false;
	assert_int_equal(run_kernel(q, NULL), CL_SUCCESS);
	(void)through.clFinish(q);
	late = through.clCreateCommandQueue(NULL, &fake_devices[TIMER], 0, NULL);
	assert_int_equal(late->properties, 0);
	assert_int_equal(seen.calls, calls);
	assert_int_equal(seen.n_ops, 0);
	fake_over(fake_last); /* of before: its event is given back, and nothing is said */
	assert_int_equal(seen.n_ops, 0);
	assert_int_equal(fake_events, 0);
	(void)through.clReleaseCommandQueue(q);
	(void)through.clReleaseCommandQueue(late);
	seen_pending = 0;
}

static void a_loader_is_told_what_we_are(void **state)
{
	(void)state;
	cl_layer_api_version version = 0;
	char name[32];
	size_t n = 0;
	assert_int_equal(clGetLayerInfo(CL_LAYER_API_VERSION, sizeof version, &version, &n), 0);
	assert_int_equal(version, CL_LAYER_API_VERSION_100);
	assert_int_equal(clGetLayerInfo(CL_LAYER_NAME, sizeof name, name, &n), 0);
	assert_string_equal(name, "roimeter");
	assert_int_equal(clGetLayerInfo(CL_LAYER_NAME, 3, name, &n), CL_INVALID_VALUE);
	assert_int_equal(clGetLayerInfo(0, sizeof name, name, &n), CL_INVALID_VALUE);
	/* A second loader gets a layer that does nothing. */
	const cl_icd_dispatch *layer = NULL;
	cl_uint count = 0;
	assert_int_equal(clInitLayer(10, &fake, &count, &layer), CL_SUCCESS);
	assert_int_equal(count, 10);
	assert_null(layer->clCreateCommandQueue);
	assert_int_equal(clInitLayer(10, NULL, &count, &layer), CL_INVALID_VALUE);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fresh, nothing_is_left)
	const struct CMUnitTest tests[] = {
		TEST(a_device_without_a_known_clock_is_refused),
		TEST(each_of_the_clocks_of_a_device_is_followed),
		TEST(profiling_that_was_not_asked_for_is_not_shown),
		TEST(profiling_that_was_asked_for_is_as_without_us),
		TEST(a_queue_on_the_device_is_left_alone),
		TEST(each_command_is_what_it_is),
		TEST(a_map_moves_what_the_other_side_needs),
		TEST(events_of_the_program_stay_its_own),
		TEST(commands_that_come_out_of_order_have_their_own_times),
		TEST(what_has_no_time_is_counted_where_it_was_launched),
		TEST(command_buffers_are_said),
		TEST(eight_threads_lose_nothing),
		TEST(the_end_waits_for_what_is_over),
		TEST(a_loader_is_told_what_we_are),
		TEST(a_forked_child_is_left_alone),
	};
	fake_load();
	return cmocka_run_group_tests_name("opencl", tests, NULL, NULL);
}
