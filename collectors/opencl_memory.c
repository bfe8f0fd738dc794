/* Memory that host and device both see: maps of buffers and images, shared virtual memory, and
 * migration.
 *
 * Where device and host share memory (CL_DEVICE_HOST_UNIFIED_MEMORY) a map moves nothing: it is an
 * operation of category other. Else a map brings what may be looked at (mapped for reading, and for
 * writing, too, unless the program gives up what was there): copy_d2h; and the unmap of what was
 * mapped for writing takes it back: copy_h2d. Memory that a driver pins and maps without a copy
 * looks the same to us. */
#define _GNU_SOURCE
#include "collectors/opencl_impl.h"

#include <math.h>
#include <stdlib.h>

#define BUCKETS 256
#define MAPS_MAX                                                                                   \
	65536 /* of a program that never unmaps; more are of unknown size when unmapped            \
	       */

struct map {
	struct map *next;
	const void *owner, *at;
	double bytes;
	cl_map_flags flags;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct map *buckets[BUCKETS];
static unsigned n_maps;

static size_t bucket_of(const void *at)
{
	return ((uintptr_t)at / 64 ^ (uintptr_t)at / 65536) % BUCKETS;
}

static void mapped(const void *owner, const void *at, double bytes, cl_map_flags flags)
{
	struct map *m = malloc(sizeof *m);
	if (!m)
		return;
	*m = (struct map){ .owner = owner, .at = at, .bytes = bytes, .flags = flags };
	struct map **b = &buckets[bucket_of(at)];
	(void)pthread_mutex_lock(&lock);
	bool room = n_maps < MAPS_MAX;
	if (room) {
		m->next = *b;
		*b = m;
		n_maps++;
	}
	(void)pthread_mutex_unlock(&lock);
	if (!room)
		free(m);
}

/* False: unknown. */
static bool unmapped(const void *owner, const void *at, double *ret_bytes, cl_map_flags *ret_flags)
{
	(void)pthread_mutex_lock(&lock);
	struct map **b = &buckets[bucket_of(at)];
	while (*b && ((*b)->owner != owner || (*b)->at != at))
		b = &(*b)->next;
	struct map *m = *b;
	if (m) {
		*b = m->next;
		n_maps--;
	}
	(void)pthread_mutex_unlock(&lock);
	if (!m)
		return false;
	*ret_bytes = m->bytes;
	*ret_flags = m->flags;
	free(m);
	return true;
}

static bool copies(cl_command_queue queue)
{
	const struct opencl_device *d = opencl_queue_device(queue);
	return d && !d->unified;
}

cl_int opencl_end_map(struct opencl_call *c, cl_command_queue queue, cl_int rc, const void *owner,
		      const void *at, double bytes, cl_map_flags flags, struct opencl_work *w)
{
	w->category = OTHER;
	w->bytes = (double)NAN;
	if (!rc && opencl_on()) {
		mapped(owner, at, bytes, flags);
		if (flags & (CL_MAP_READ | CL_MAP_WRITE) && copies(queue)) {
			w->category = COPY_D2H;
			w->bytes = bytes;
		}
	}
	return opencl_end(c, queue, rc, w);
}

static cl_int end_unmap(struct opencl_call *c, cl_command_queue queue, cl_int rc, const void *owner,
			const void *at, const char *name)
{
	struct opencl_work w = { .category = OTHER, .name = name, .bytes = (double)NAN };
	double bytes = 0;
	cl_map_flags flags = 0;
	if (!rc && opencl_on() && unmapped(owner, at, &bytes, &flags) &&
	    flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION) && copies(queue)) {
		w.category = COPY_H2D;
		w.bytes = bytes;
	}
	return opencl_end(c, queue, rc, &w);
}

static CL_API_ENTRY void *CL_API_CALL map_buffer(cl_command_queue queue, cl_mem buffer,
						 cl_bool blocking, cl_map_flags flags,
						 size_t offset, size_t bytes, cl_uint n_wait,
						 const cl_event *wait, cl_event *event, cl_int *ret)
{
	struct opencl_call c;
	cl_int rc = CL_SUCCESS;
	opencl_begin(&c, event);
	void *at = opencl_next.clEnqueueMapBuffer(queue, buffer, blocking, flags, offset, bytes,
						  n_wait, wait, c.event, &rc);
	(void)opencl_end_map(
		&c, queue, rc, buffer, at, (double)bytes, flags,
		&(struct opencl_work){ .name = "clEnqueueMapBuffer", .sync = blocking });
	if (ret)
		*ret = rc;
	return at;
}

static CL_API_ENTRY cl_int CL_API_CALL unmap(cl_command_queue queue, cl_mem owner, void *at,
					     cl_uint n_wait, const cl_event *wait, cl_event *event)
{
	struct opencl_call c;
	opencl_begin(&c, event);
	cl_int rc = opencl_next.clEnqueueUnmapMemObject(queue, owner, at, n_wait, wait, c.event);
	return end_unmap(&c, queue, rc, owner, at, "clEnqueueUnmapMemObject");
}

static CL_API_ENTRY cl_int CL_API_CALL migrate(cl_command_queue queue, cl_uint n, const cl_mem *mem,
					       cl_mem_migration_flags flags, cl_uint n_wait,
					       const cl_event *wait, cl_event *event)
{
	struct opencl_call c;
	opencl_begin(&c, event);
	cl_int rc =
		opencl_next.clEnqueueMigrateMemObjects(queue, n, mem, flags, n_wait, wait, c.event);
	return opencl_end(&c, queue, rc,
			  &(struct opencl_work){ .category = OTHER,
						 .name = "clEnqueueMigrateMemObjects",
						 .bytes = (double)NAN });
}

/* ---- shared virtual memory: one address on both sides, so its copies have no direction ---- */

static CL_API_ENTRY cl_int CL_API_CALL svm_copy(cl_command_queue queue, cl_bool blocking, void *to,
						const void *from, size_t bytes, cl_uint n_wait,
						const cl_event *wait, cl_event *event)
{
	struct opencl_call c;
	opencl_begin(&c, event);
	cl_int rc = opencl_next.clEnqueueSVMMemcpy(queue, blocking, to, from, bytes, n_wait, wait,
						   c.event);
	return opencl_end(&c, queue, rc,
			  &(struct opencl_work){ .category = COPY_OTHER,
						 .name = "clEnqueueSVMMemcpy",
						 .bytes = (double)bytes,
						 .sync = blocking });
}

static CL_API_ENTRY cl_int CL_API_CALL svm_fill(cl_command_queue queue, void *at,
						const void *pattern, size_t pattern_bytes,
						size_t bytes, cl_uint n_wait, const cl_event *wait,
						cl_event *event)
{
	struct opencl_call c;
	opencl_begin(&c, event);
	cl_int rc = opencl_next.clEnqueueSVMMemFill(queue, at, pattern, pattern_bytes, bytes,
						    n_wait, wait, c.event);
	return opencl_end(&c, queue, rc,
			  &(struct opencl_work){ .category = FILL,
						 .name = "clEnqueueSVMMemFill",
						 .bytes = (double)bytes });
}

static CL_API_ENTRY cl_int CL_API_CALL svm_map(cl_command_queue queue, cl_bool blocking,
					       cl_map_flags flags, void *at, size_t bytes,
					       cl_uint n_wait, const cl_event *wait,
					       cl_event *event)
{
	struct opencl_call c;
	opencl_begin(&c, event);
	cl_int rc = opencl_next.clEnqueueSVMMap(queue, blocking, flags, at, bytes, n_wait, wait,
						c.event);
	return opencl_end_map(&c, queue, rc, NULL, at, (double)bytes, flags,
			      &(struct opencl_work){ .name = "clEnqueueSVMMap", .sync = blocking });
}

static CL_API_ENTRY cl_int CL_API_CALL svm_unmap(cl_command_queue queue, void *at, cl_uint n_wait,
						 const cl_event *wait, cl_event *event)
{
	struct opencl_call c;
	opencl_begin(&c, event);
	cl_int rc = opencl_next.clEnqueueSVMUnmap(queue, at, n_wait, wait, c.event);
	return end_unmap(&c, queue, rc, NULL, at, "clEnqueueSVMUnmap");
}

static CL_API_ENTRY cl_int CL_API_CALL svm_migrate(cl_command_queue queue, cl_uint n,
						   const void **at, const size_t *bytes,
						   cl_mem_migration_flags flags, cl_uint n_wait,
						   const cl_event *wait, cl_event *event)
{
	struct opencl_call c;
	opencl_begin(&c, event);
	cl_int rc = opencl_next.clEnqueueSVMMigrateMem(queue, n, at, bytes, flags, n_wait, wait,
						       c.event);
	return opencl_end(&c, queue, rc,
			  &(struct opencl_work){ .category = OTHER,
						 .name = "clEnqueueSVMMigrateMem",
						 .bytes = (double)NAN });
}

void opencl_wrap_memory(cl_icd_dispatch *d)
{
	d->clEnqueueMapBuffer = map_buffer;
	d->clEnqueueUnmapMemObject = unmap;
	d->clEnqueueMigrateMemObjects = migrate;
	d->clEnqueueSVMMemcpy = svm_copy;
	d->clEnqueueSVMMemFill = svm_fill;
	d->clEnqueueSVMMap = svm_map;
	d->clEnqueueSVMUnmap = svm_unmap;
	d->clEnqueueSVMMigrateMem = svm_migrate;
}
