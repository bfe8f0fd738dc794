/* Devices: who they are, what clock they are on. */
#define _GNU_SOURCE
#include "collectors/opencl_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/live.h"
#include "lib/num.h"

#define BRACKETS 4
#define TEXT_BYTES 256

/* Of extensions whose names are older than some headers. */
#define DEVICE_UUID_KHR 0x106A
#define DEVICE_PCI_BUS_INFO_KHR 0x410F
#define DEVICE_PCI_BUS_ID_NV 0x4008
#define DEVICE_PCI_SLOT_ID_NV 0x4009

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct opencl_device *devices;

/* ---- who ---- */

static const char *text_of(cl_device_id d, cl_device_info what, char ret[TEXT_BYTES])
{
	size_t n = 0;
	ret[0] = 0;
	if (opencl_next.clGetDeviceInfo(d, what, TEXT_BYTES - 1, ret, &n))
		return ""; /* too long, too: none of those we ask for is */
	ret[n < TEXT_BYTES ? n : TEXT_BYTES - 1] = 0;
	return ret;
}

static bool has_extension(cl_device_id d, const char *name)
{
	size_t n = 0;
	bool found = false;
	if (opencl_next.clGetDeviceInfo(d, CL_DEVICE_EXTENSIONS, 0, NULL, &n) || n == 0)
		return false;
	char *all = calloc(1, n + 1);
	if (all && !opencl_next.clGetDeviceInfo(d, CL_DEVICE_EXTENSIONS, n, all, NULL))
		found = strstr(all, name);
	free(all);
	return found;
}

static bool id_by_uuid(cl_device_id d, char ret[TEXT_BYTES])
{
	unsigned char u[16];
	if (!has_extension(d, "cl_khr_device_uuid") ||
	    opencl_next.clGetDeviceInfo(d, DEVICE_UUID_KHR, sizeof u, u, NULL))
		return false;
	(void)snprintf(ret, TEXT_BYTES,
		       "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0],
		       u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12],
		       u[13], u[14], u[15]);
	return true;
}

static bool id_by_place(cl_device_id d, char ret[TEXT_BYTES])
{
	cl_uint at[4] = { 0 }; /* domain, bus, device, function */
	if (has_extension(d, "cl_khr_pci_bus_info")) {
		if (opencl_next.clGetDeviceInfo(d, DEVICE_PCI_BUS_INFO_KHR, sizeof at, at, NULL))
			return false;
	} else if (has_extension(d, "cl_nv_device_attribute_query")) {
		if (opencl_next.clGetDeviceInfo(d, DEVICE_PCI_BUS_ID_NV, sizeof at[1], &at[1],
						NULL) ||
		    opencl_next.clGetDeviceInfo(d, DEVICE_PCI_SLOT_ID_NV, sizeof at[2], &at[2],
						NULL))
			return false;
	} else {
		return false;
	}
	(void)snprintf(ret, TEXT_BYTES, "pci:%04x:%02x:%02x.%x", at[0], at[1], at[2], at[3]);
	return true;
}

/* The platform's name and the place among its devices: the same in all processes that see the same
 * devices. */
static void id_by_index(cl_device_id d, char ret[TEXT_BYTES])
{
	cl_platform_id platform = NULL;
	char name[TEXT_BYTES / 2] = "";
	cl_device_id all[64];
	cl_uint n = 0, at = 0;
	(void)opencl_next.clGetDeviceInfo(d, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL);
	(void)opencl_next.clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name - 1, name,
					    NULL);
	if (opencl_next.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 64, all, &n))
		n = 0;
	while (at < n && at < 64 && all[at] != d)
		at++;
	(void)snprintf(ret, TEXT_BYTES, "opencl:%s:%u", name, at);
}

/* Parts of a device are that device: what runs on two of them at once keeps one device busy. */
static cl_device_id root_of(cl_device_id d)
{
	cl_device_id parent = NULL;
	while (!opencl_next.clGetDeviceInfo(d, CL_DEVICE_PARENT_DEVICE, sizeof(parent), &parent,
					    NULL) &&
	       parent)
		d = parent;
	return d;
}

static void identify(struct opencl_device *d)
{
	cl_device_id root = root_of(d->handle);
	char name[TEXT_BYTES], id[TEXT_BYTES], version[TEXT_BYTES], runtime[32];
	cl_bool unified = CL_FALSE;
	int major = 0, minor = 0;
	(void)text_of(root, CL_DEVICE_NAME, name);
	if (!id_by_uuid(root, id) && !id_by_place(root, id))
		id_by_index(root, id);
	(void)opencl_next.clGetDeviceInfo(root, CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof unified,
					  &unified, NULL);
	d->unified = unified;
	/* "OpenCL 3.0 PoCL ..." */
	if (sscanf(text_of(root, CL_DEVICE_VERSION, version), "OpenCL %d.%d", &major, &minor) ==
	    2) {
		(void)snprintf(runtime, sizeof runtime, "opencl%d.%d", major, minor);
		live_runtime(runtime);
	}
	struct flow *f = live_take();
	if (!f)
		return;
	int64_t number = flow_device(f, name[0] ? name : "OpenCL device", id);
	live_give(f);
	d->usable = number >= 0;
	d->number = (uint32_t)number;
}

/* ---- what clock ---- */

static bool read_timer(void *device, int64_t *ret_ns)
{
	cl_ulong on_device = 0, on_host = 0;
	if (!opencl_next.clGetDeviceAndHostTimer ||
	    opencl_next.clGetDeviceAndHostTimer(device, &on_device, &on_host))
		return false;
	*ret_ns = (int64_t)on_device;
	return true;
}

static cl_int event_times(cl_event event, int64_t *ret_start, int64_t *ret_end)
{
	cl_ulong start = 0, end = 0;
	cl_int rc = opencl_next.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START,
							sizeof start, &start, NULL);
	if (!rc)
		rc = opencl_next.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END,
							 sizeof end, &end, NULL);
	*ret_start = (int64_t)start;
	*ret_end = (int64_t)end;
	return rc;
}

static cl_int one_bracket(struct opencl_device *d, cl_command_queue queue, cl_mem buffer,
			  struct opencl_bracket *ret)
{
	cl_event event = NULL;
	const cl_uint word = 0;
	opencl_read(&ret->before, d->timer, d->handle);
	cl_int rc = opencl_next.clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, sizeof word, &word,
						     0, NULL, &event);
	if (rc)
		return rc;
	rc = opencl_next.clWaitForEvents(1, &event);
	opencl_read(&ret->after, d->timer, d->handle);
	if (!rc)
		rc = event_times(event, &ret->start_ns, &ret->end_ns);
	(void)opencl_next.clReleaseEvent(event);
	return rc;
}

/* 0, or what OpenCL said. The first command may be slow, which makes its bracket wide and no worse.
 */
static cl_int run_brackets(struct opencl_device *d, cl_context context,
			   struct opencl_bracket b[BRACKETS])
{
	cl_int rc = 0;
	cl_mem buffer =
		opencl_next.clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(cl_uint), NULL, &rc);
	if (!buffer)
		return rc;
	cl_command_queue queue = opencl_next.clCreateCommandQueue(context, d->handle,
								  CL_QUEUE_PROFILING_ENABLE, &rc);
	for (int i = 0; queue && !rc && i < BRACKETS; i++)
		rc = one_bracket(d, queue, buffer, &b[i]);
	if (queue)
		(void)opencl_next.clReleaseCommandQueue(queue);
	(void)opencl_next.clReleaseMemObject(buffer);
	return rc;
}

/* Of the first device the answer is for the whole process: without a clock nothing can be said. */
static void no_clock(const struct opencl_device *d, cl_int rc)
{
	char name[TEXT_BYTES], why[160];
	(void)text_of(d->handle, CL_DEVICE_NAME, name);
	if (rc)
		(void)snprintf(why, sizeof why, "OpenCL could not time a first command (error %d)",
			       (int)rc);
	else
		(void)snprintf(why, sizeof why,
			       "its profiling times are on none of the host's clocks, and not on "
			       "its own timer");
	if (devices)
		live_note("operations of the OpenCL device \"%s\" have no time: %s", name, why);
	else
		live_refuse("refused", "clock: the OpenCL device \"%s\": %s", name, why);
}

static void find_clock(struct opencl_device *d, cl_context context)
{
	struct opencl_bracket b[BRACKETS];
	size_t resolution = 0;
	int64_t ignored;
	if (read_timer(d->handle, &ignored))
		d->timer = read_timer;
	(void)opencl_next.clGetDeviceInfo(d->handle, CL_DEVICE_PROFILING_TIMER_RESOLUTION,
					  sizeof resolution, &resolution, NULL);
	if (resolution > 1000000)
		resolution = 1000000;
	cl_int rc = run_brackets(d, context, b);
	if (!rc && opencl_clock_find(&d->clock, b, BRACKETS, (int64_t)resolution))
		return;
	d->usable = false;
	no_clock(d, rc);
}

/* ---- the list ---- */

static struct opencl_device *find(cl_device_id handle)
{
	struct opencl_device *d = devices;
	while (d && d->handle != handle)
		d = d->next;
	return d;
}

struct opencl_device *opencl_device(cl_context context, cl_device_id handle)
{
	(void)pthread_mutex_lock(&lock);
	struct opencl_device *d = find(handle);
	if (!d && (d = calloc(1, sizeof *d))) {
		(void)pthread_mutex_init(&d->lock, NULL);
		d->handle = handle;
		identify(d);
		if (d->usable)
			find_clock(d, context);
		d->next = devices;
		devices = d;
	}
	(void)pthread_mutex_unlock(&lock);
	return d;
}

void opencl_device_times(struct opencl_device *d, int64_t begun_ns, int64_t *start_ns,
			 int64_t *end_ns)
{
	struct opencl_reading r;
	int64_t known_ns = opencl_now();
	(void)pthread_mutex_lock(&d->lock);
	bool stale = opencl_clock_stale(&d->clock, known_ns);
	(void)pthread_mutex_unlock(&d->lock);
	/* Without the lock: the driver's timer may wait for a thread that wants it. */
	if (stale)
		opencl_read(&r, d->timer, d->handle);
	(void)pthread_mutex_lock(&d->lock);
	if (stale)
		opencl_clock_pair(&d->clock, &r);
	opencl_clock_convert(&d->clock, begun_ns, known_ns, start_ns, end_ns);
	(void)pthread_mutex_unlock(&d->lock);
}

/* Of several devices the one whose clock is known worst. */
void opencl_tell_clocks(void)
{
	double offset = 0, drift = 0, error = -1;
	/* At the end of a process nothing may wait for a thread that is stuck in a driver. */
	if (pthread_mutex_trylock(&lock))
		return;
	for (struct opencl_device *d = devices; d; d = d->next) {
		double o, r, e;
		if (!d->usable)
			continue;
		(void)pthread_mutex_lock(&d->lock);
		opencl_clock_tell(&d->clock, &o, &r, &e);
		(void)pthread_mutex_unlock(&d->lock);
		if (e > error) {
			offset = o;
			drift = r;
			error = e;
		}
	}
	(void)pthread_mutex_unlock(&lock);
	if (error >= 0)
		live_clock(offset, drift, error);
}
