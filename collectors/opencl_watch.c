/* A command from the call that gives it to the queue to the callback that says it is over. The
 * callback runs on any thread, also on the one that asks for it. */
#define _GNU_SOURCE
#include "collectors/opencl_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collectors/live.h"

/* What is not seen by then, at the end of a process, never will be. */
#define DRAIN_NS 500000000

#define COUNTERS 1024 /* queues whose handles meet in one count together */

struct command {
	struct opencl_device *device;
	struct count *count;
	int64_t begun_ns;
	double bytes;
	uint32_t name, category;
	bool graph;
};

/* Of a queue: commands whose callback is to come, and those of them that are known to be over. */
static struct count {
	int64_t under_way, owed;
} counts[COUNTERS];

static struct count *count_of(cl_command_queue queue)
{
	return &counts[((uintptr_t)queue / 64 ^ (uintptr_t)queue / 65536) % COUNTERS];
}

static void come(struct count *c, int64_t change)
{
	(void)__atomic_add_fetch(&c->under_way, change, __ATOMIC_ACQ_REL);
	if (change < 0 && __atomic_load_n(&c->owed, __ATOMIC_ACQUIRE) > 0)
		(void)__atomic_add_fetch(&c->owed, change, __ATOMIC_ACQ_REL);
	live_pending(change);
}

void opencl_finished(cl_command_queue queue)
{
	struct count *c = count_of(queue);
	__atomic_store_n(&c->owed, __atomic_load_n(&c->under_way, __ATOMIC_ACQUIRE),
			 __ATOMIC_RELEASE);
}

static bool owed(void)
{
	for (int i = 0; i < COUNTERS; i++)
		if (__atomic_load_n(&counts[i].owed, __ATOMIC_ACQUIRE) > 0)
			return true;
	return false;
}

/* Never for commands that still run while a process ends: parts of a driver are gone by then
 * (LLVM's within PoCL), and each millisecond that it is given may be the one in which it needs
 * them. */
void opencl_drain(void)
{
	const struct timespec pause = { .tv_nsec = 500000 };
	int64_t until = opencl_now() + DRAIN_NS;
	while (owed() && opencl_now() < until)
		(void)nanosleep(&pause, NULL);
}

/* 0 and the times, or no times: it failed, or the runtime has none for it. */
static int times_of(cl_event event, cl_int status, int64_t *ret_start, int64_t *ret_end)
{
	cl_ulong start = 0, end = 0;
	if (status < 0)
		return -ECANCELED;
	if (opencl_next.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof start,
						&start, NULL) ||
	    opencl_next.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end,
						NULL))
		return -ENODATA;
	if (start == 0 || end <= start)
		return -ENODATA;
	*ret_start = (int64_t)start;
	*ret_end = (int64_t)end;
	return 0;
}

/* An operation without a time stands where it was given to the queue. */
static void put(const struct command *c, bool timed, int64_t start_ns, int64_t end_ns)
{
	const struct flow_op op = {
		.begin_ns = timed ? start_ns : c->begun_ns,
		.end_ns = timed ? end_ns : c->begun_ns,
		.bytes = c->bytes,
		.device = c->device->number,
		.name = c->name,
		.category = c->category,
	};
	struct flow *f = live_take();
	if (!f)
		return;
	flow_op(f, &op);
	live_give(f);
}

static void CL_CALLBACK over(cl_event event, cl_int status, void *of)
{
	struct command *c = of;
	int saved = errno;
	int64_t cpu = live_cpu_sometimes(), start = 0, end = 0;
	if (opencl_on()) {
		bool timed = !c->graph && times_of(event, status, &start, &end) == 0;
		if (timed)
			opencl_device_times(c->device, c->begun_ns, &start, &end);
		put(c, timed, start, end);
		come(c->count, -1);
	}
	(void)opencl_next.clReleaseEvent(event);
	free(c);
	live_cpu_sometimes_end(cpu);
	errno = saved;
}

void opencl_begin(struct opencl_call *c, cl_event *event)
{
	c->own = NULL;
	c->event = event ? event : &c->own;
	c->begin_ns = opencl_now();
}

/* The call, and the number of the command's name. */
static uint32_t note_call(const struct opencl_call *c, int64_t end_ns, const struct opencl_work *w,
			  bool command)
{
	struct flow *f = live_take();
	int64_t name = 0;
	if (!f)
		return 0;
	flow_call(f, c->begin_ns, end_ns, w->sync);
	if (command)
		name = flow_name(f, w->name, strlen(w->name));
	if (command && w->graph)
		flow_graph(f, 1);
	live_give(f);
	return name < 0 ? 0 : (uint32_t)name;
}

/* From here on the event is ours, too: our callback releases it. */
static void follow(cl_event event, bool own, const struct command *of)
{
	struct command *c = malloc(sizeof *c);
	if (c) {
		*c = *of;
		if (!own && opencl_next.clRetainEvent(event)) {
			free(c);
			put(of, false, 0, 0);
			return;
		}
		come(c->count, 1);
		if (!opencl_next.clSetEventCallback(event, CL_COMPLETE, over, c))
			return;
		come(c->count, -1);
		free(c);
		live_note("OpenCL did not take a callback for the end of a command");
	}
	put(of, false, 0, 0);
	if (own || c)
		(void)opencl_next.clReleaseEvent(event);
}

cl_int opencl_end(struct opencl_call *call, cl_command_queue queue, cl_int rc,
		  const struct opencl_work *w)
{
	if (!opencl_on()) {
		if (!rc && call->own)
			(void)opencl_next.clReleaseEvent(call->own);
		return rc;
	}
	int saved = errno;
	int64_t end_ns = opencl_now(), cpu = live_cpu_sometimes();
	uint32_t name = note_call(call, end_ns, w, rc == CL_SUCCESS);
	if (rc == CL_SUCCESS) {
		const struct command c = {
			.device = opencl_queue_device(queue),
			.count = count_of(queue),
			.begun_ns = call->begin_ns,
			.bytes = w->bytes,
			.name = name,
			.category = w->category,
			.graph = w->graph,
		};
		if (c.device) {
			follow(*call->event, call->own != NULL, &c);
		} else {
			struct flow *f = live_take();
			if (f) {
				flow_untimed(f, 1);
				live_give(f);
			}
			if (call->own)
				(void)opencl_next.clReleaseEvent(call->own);
		}
	}
	live_cpu_sometimes_end(cpu);
	errno = saved;
	return rc;
}

void opencl_call_end(const struct opencl_call *call, bool sync)
{
	int saved = errno;
	int64_t end_ns = opencl_now();
	struct flow *f = opencl_on() ? live_take() : NULL;
	if (f) {
		flow_call(f, call->begin_ns, end_ns, sync);
		live_give(f);
	}
	errno = saved;
}
