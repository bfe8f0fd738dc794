/* Functions of extensions, which a program asks for by name, platform by platform. Each target that
 * is asked for gets one of a few wrappers of its own. A function that gives a command to a queue
 * and that we do not know is handed out as it is, and said. */
#define _GNU_SOURCE
#include "collectors/opencl_impl.h"

#include <math.h>
#include <string.h>

#include "collectors/live.h"

#define SLOTS 4 /* platforms with the same extension in one program */
#define EACH_SLOT(X) X(0) X(1) X(2) X(3)

typedef cl_int(CL_API_CALL *copy_fn)(cl_command_queue, cl_bool, void *, const void *, size_t,
				     cl_uint, const cl_event *, cl_event *);
typedef cl_int(CL_API_CALL *fill_fn)(cl_command_queue, void *, const void *, size_t, size_t,
				     cl_uint, const cl_event *, cl_event *);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static clEnqueueCommandBufferKHR_fn buffer_next[SLOTS];
static cl_api_clCreateCommandQueueWithProperties queue_next[SLOTS];
static copy_fn copy_next[SLOTS];
static fill_fn fill_next[SLOTS];

/* ---- command buffers: the commands in them have no events. That of the whole says when it ended,
 * but not reliably when it began: PoCL 3.1 takes the time after the last command. So the whole is
 * an operation without a time. ---- */

static cl_int enqueue_buffer(unsigned slot, cl_uint n, cl_command_queue *queues,
			     cl_command_buffer_khr buffer, cl_uint n_wait, const cl_event *wait,
			     cl_event *event)
{
	struct opencl_call c;
	cl_command_queue queue = n && queues ? queues[0] : NULL;
	opencl_begin(&c, event);
	cl_int rc = buffer_next[slot](n, queues, buffer, n_wait, wait, c.event);
	if (!rc && !queue) /* that which the buffer was made for */
		(void)opencl_next.clGetEventInfo(*c.event, CL_EVENT_COMMAND_QUEUE, sizeof(queue),
						 &queue, NULL);
	if (!rc && opencl_on())
		live_note("command buffers (cl_khr_command_buffer) hide their commands: each is "
			  "counted as one operation without a time");
	return opencl_end(&c, queue, rc,
			  &(struct opencl_work){ .category = OTHER,
						 .name = "clEnqueueCommandBufferKHR",
						 .bytes = (double)NAN,
						 .graph = true });
}

#define BUFFER(i)                                                                                  \
	static CL_API_ENTRY cl_int CL_API_CALL buffer_##i(                                         \
		cl_uint n, cl_command_queue *queues, cl_command_buffer_khr buffer, cl_uint n_wait, \
		const cl_event *wait, cl_event *event)                                             \
	{                                                                                          \
		return enqueue_buffer(i, n, queues, buffer, n_wait, wait, event);                  \
	}
EACH_SLOT(BUFFER)

/* ---- queues before OpenCL 2.0 ---- */

#define QUEUE(i)                                                                                   \
	static CL_API_ENTRY cl_command_queue CL_API_CALL queue_##i(                                \
		cl_context context, cl_device_id device, const cl_queue_properties *list,          \
		cl_int *ret)                                                                       \
	{                                                                                          \
		return opencl_create_queue(queue_next[i], context, device, list, ret);             \
	}
EACH_SLOT(QUEUE)

/* ---- unified shared memory (Intel): one address on both sides ---- */

static cl_int copy(unsigned slot, cl_command_queue queue, cl_bool blocking, void *to,
		   const void *from, size_t bytes, cl_uint n_wait, const cl_event *wait,
		   cl_event *event)
{
	struct opencl_call c;
	opencl_begin(&c, event);
	cl_int rc = copy_next[slot](queue, blocking, to, from, bytes, n_wait, wait, c.event);
	return opencl_end(&c, queue, rc,
			  &(struct opencl_work){ .category = COPY_OTHER,
						 .name = "clEnqueueMemcpyINTEL",
						 .bytes = (double)bytes,
						 .sync = blocking });
}

#define COPY(i)                                                                                    \
	static CL_API_ENTRY cl_int CL_API_CALL copy_##i(                                           \
		cl_command_queue queue, cl_bool blocking, void *to, const void *from,              \
		size_t bytes, cl_uint n_wait, const cl_event *wait, cl_event *event)               \
	{                                                                                          \
		return copy(i, queue, blocking, to, from, bytes, n_wait, wait, event);             \
	}
EACH_SLOT(COPY)

static cl_int fill(unsigned slot, cl_command_queue queue, void *at, const void *pattern,
		   size_t pattern_bytes, size_t bytes, cl_uint n_wait, const cl_event *wait,
		   cl_event *event)
{
	struct opencl_call c;
	opencl_begin(&c, event);
	cl_int rc =
		fill_next[slot](queue, at, pattern, pattern_bytes, bytes, n_wait, wait, c.event);
	return opencl_end(&c, queue, rc,
			  &(struct opencl_work){ .category = FILL,
						 .name = "clEnqueueMemFillINTEL",
						 .bytes = (double)bytes });
}

#define FILL_AT(i)                                                                                 \
	static CL_API_ENTRY cl_int CL_API_CALL fill_##i(                                           \
		cl_command_queue queue, void *at, const void *pattern, size_t pattern_bytes,       \
		size_t bytes, cl_uint n_wait, const cl_event *wait, cl_event *event)               \
	{                                                                                          \
		return fill(i, queue, at, pattern, pattern_bytes, bytes, n_wait, wait, event);     \
	}
EACH_SLOT(FILL_AT)

/* ---- by name ---- */

#define NAME_OF_SLOT(x, i) (void (*)(void)) x##_##i
#define ALL_SLOTS(x)                                                                               \
	{                                                                                          \
		NAME_OF_SLOT(x, 0), NAME_OF_SLOT(x, 1), NAME_OF_SLOT(x, 2), NAME_OF_SLOT(x, 3)     \
	}

static const struct wrapped {
	const char *name;
	void *next; /* SLOTS functions */
	void (*ours[SLOTS])(void);
} wrapped[] = {
	{ "clEnqueueCommandBufferKHR", buffer_next, ALL_SLOTS(buffer) },
	{ "clCreateCommandQueueWithPropertiesKHR", queue_next, ALL_SLOTS(queue) },
	{ "clEnqueueMemcpyINTEL", copy_next, ALL_SLOTS(copy) },
	{ "clEnqueueMemFillINTEL", fill_next, ALL_SLOTS(fill) },
};

/* NULL: all slots are taken. */
static void *wrapper(const struct wrapped *w, void *target)
{
	void *answer = NULL;
	(void)pthread_mutex_lock(&lock);
	for (size_t i = 0; i < SLOTS && !answer; i++) {
		char *at = (char *)w->next + i * sizeof target;
		void *taken;
		memcpy(&taken, at, sizeof taken);
		if (taken && taken != target)
			continue;
		memcpy(at, &target, sizeof target);
		memcpy(&answer, &w->ours[i], sizeof answer);
	}
	(void)pthread_mutex_unlock(&lock);
	return answer;
}

/* Commands that are no work of a device, and those that only tell of them. */
static bool no_work(const char *name)
{
	static const char *const starts[] = { "clEnqueueAcquire", "clEnqueueRelease",
					      "clEnqueueMarker",  "clEnqueueBarrier",
					      "clEnqueueWait",    "clEnqueueSVMFree" };
	if (strncmp(name, "clEnqueue", 9) != 0)
		return true;
	for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
		if (strncmp(name, starts[i], strlen(starts[i])) == 0)
			return true;
	return false;
}

static void *wrap(const char *name, void *target)
{
	void *answer = NULL;
	if (!target || !name || !opencl_on())
		return target;
	for (size_t i = 0; i < sizeof wrapped / sizeof *wrapped; i++)
		if (strcmp(name, wrapped[i].name) == 0)
			answer = wrapper(&wrapped[i], target);
	if (!answer && !no_work(name))
		live_note("the program asked for %s, an extension of OpenCL that is not watched: "
			  "what it does is not seen",
			  name);
	return answer ? answer : target;
}

static CL_API_ENTRY void *CL_API_CALL address(const char *name)
{
	return wrap(name, opencl_next.clGetExtensionFunctionAddress(name));
}

static CL_API_ENTRY void *CL_API_CALL address_for(cl_platform_id platform, const char *name)
{
	return wrap(name, opencl_next.clGetExtensionFunctionAddressForPlatform(platform, name));
}

void opencl_wrap_extensions(cl_icd_dispatch *d)
{
	d->clGetExtensionFunctionAddress = address;
	d->clGetExtensionFunctionAddressForPlatform = address_for;
}
