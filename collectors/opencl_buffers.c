/* Buffers: read, written, copied, filled. */
#define _GNU_SOURCE
#include "collectors/opencl_impl.h"

static double volume(const size_t *region)
{
	return (double)region[0] * (double)region[1] * (double)region[2];
}

static CL_API_ENTRY cl_int CL_API_CALL read_buffer(cl_command_queue queue, cl_mem buffer,
						   cl_bool blocking, size_t offset, size_t bytes,
						   void *to, cl_uint n_wait, const cl_event *wait,
						   cl_event *event)
{
	struct opencl_call c;
	opencl_begin(&c, event);
	cl_int rc = opencl_next.clEnqueueReadBuffer(queue, buffer, blocking, offset, bytes, to,
						    n_wait, wait, c.event);
	return opencl_end(&c, queue, rc,
			  &(struct opencl_work){ .category = COPY_D2H,
						 .name = "clEnqueueReadBuffer",
						 .bytes = (double)bytes,
						 .sync = blocking });
}

static CL_API_ENTRY cl_int CL_API_CALL write_buffer(cl_command_queue queue, cl_mem buffer,
						    cl_bool blocking, size_t offset, size_t bytes,
						    const void *from, cl_uint n_wait,
						    const cl_event *wait, cl_event *event)
{
	struct opencl_call c;
	opencl_begin(&c, event);
	cl_int rc = opencl_next.clEnqueueWriteBuffer(queue, buffer, blocking, offset, bytes, from,
						     n_wait, wait, c.event);
	return opencl_end(&c, queue, rc,
			  &(struct opencl_work){ .category = COPY_H2D,
						 .name = "clEnqueueWriteBuffer",
						 .bytes = (double)bytes,
						 .sync = blocking });
}

static CL_API_ENTRY cl_int CL_API_CALL copy_buffer(cl_command_queue queue, cl_mem from, cl_mem to,
						   size_t from_offset, size_t to_offset,
						   size_t bytes, cl_uint n_wait,
						   const cl_event *wait, cl_event *event)
{
	struct opencl_call c;
	opencl_begin(&c, event);
	cl_int rc = opencl_next.clEnqueueCopyBuffer(queue, from, to, from_offset, to_offset, bytes,
						    n_wait, wait, c.event);
	return opencl_end(&c, queue, rc,
			  &(struct opencl_work){ .category = COPY_D2D,
						 .name = "clEnqueueCopyBuffer",
						 .bytes = (double)bytes });
}

static CL_API_ENTRY cl_int CL_API_CALL fill_buffer(cl_command_queue queue, cl_mem buffer,
						   const void *pattern, size_t pattern_bytes,
						   size_t offset, size_t bytes, cl_uint n_wait,
						   const cl_event *wait, cl_event *event)
{
	struct opencl_call c;
	opencl_begin(&c, event);
	cl_int rc = opencl_next.clEnqueueFillBuffer(queue, buffer, pattern, pattern_bytes, offset,
						    bytes, n_wait, wait, c.event);
	return opencl_end(&c, queue, rc,
			  &(struct opencl_work){ .category = FILL,
						 .name = "clEnqueueFillBuffer",
						 .bytes = (double)bytes });
}

static CL_API_ENTRY cl_int CL_API_CALL read_rect(cl_command_queue queue, cl_mem buffer,
						 cl_bool blocking, const size_t *origin,
						 const size_t *host_origin, const size_t *region,
						 size_t row, size_t slice, size_t host_row,
						 size_t host_slice, void *to, cl_uint n_wait,
						 const cl_event *wait, cl_event *event)
{
	struct opencl_call c;
	opencl_begin(&c, event);
	cl_int rc = opencl_next.clEnqueueReadBufferRect(queue, buffer, blocking, origin,
							host_origin, region, row, slice, host_row,
							host_slice, to, n_wait, wait, c.event);
	return opencl_end(&c, queue, rc,
			  &(struct opencl_work){ .category = COPY_D2H,
						 .name = "clEnqueueReadBufferRect",
						 .bytes = rc ? 0 : volume(region),
						 .sync = blocking });
}

static CL_API_ENTRY cl_int CL_API_CALL write_rect(
	cl_command_queue queue, cl_mem buffer, cl_bool blocking, const size_t *origin,
	const size_t *host_origin, const size_t *region, size_t row, size_t slice, size_t host_row,
	size_t host_slice, const void *from, cl_uint n_wait, const cl_event *wait, cl_event *event)
{
	struct opencl_call c;
	opencl_begin(&c, event);
	cl_int rc = opencl_next.clEnqueueWriteBufferRect(queue, buffer, blocking, origin,
							 host_origin, region, row, slice, host_row,
							 host_slice, from, n_wait, wait, c.event);
	return opencl_end(&c, queue, rc,
			  &(struct opencl_work){ .category = COPY_H2D,
						 .name = "clEnqueueWriteBufferRect",
						 .bytes = rc ? 0 : volume(region),
						 .sync = blocking });
}

static CL_API_ENTRY cl_int CL_API_CALL copy_rect(cl_command_queue queue, cl_mem from, cl_mem to,
						 const size_t *from_origin, const size_t *to_origin,
						 const size_t *region, size_t from_row,
						 size_t from_slice, size_t to_row, size_t to_slice,
						 cl_uint n_wait, const cl_event *wait,
						 cl_event *event)
{
	struct opencl_call c;
	opencl_begin(&c, event);
	cl_int rc = opencl_next.clEnqueueCopyBufferRect(queue, from, to, from_origin, to_origin,
							region, from_row, from_slice, to_row,
							to_slice, n_wait, wait, c.event);
	return opencl_end(&c, queue, rc,
			  &(struct opencl_work){ .category = COPY_D2D,
						 .name = "clEnqueueCopyBufferRect",
						 .bytes = rc ? 0 : volume(region) });
}

void opencl_wrap_buffers(cl_icd_dispatch *d)
{
	d->clEnqueueReadBuffer = read_buffer;
	d->clEnqueueWriteBuffer = write_buffer;
	d->clEnqueueCopyBuffer = copy_buffer;
	d->clEnqueueFillBuffer = fill_buffer;
	d->clEnqueueReadBufferRect = read_rect;
	d->clEnqueueWriteBufferRect = write_rect;
	d->clEnqueueCopyBufferRect = copy_rect;
}
