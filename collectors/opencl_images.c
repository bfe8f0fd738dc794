/* Images: read, written, copied, filled. Their bytes are those of the elements; what a driver pads
 * is not seen. */
#define _GNU_SOURCE
#include "collectors/opencl_impl.h"

#include <math.h>

/* Of a region of an image; unknown where the element's size can't be asked. */
static double image_bytes(cl_mem image, const size_t *region)
{
	size_t element = 0;
	if (!opencl_next.clGetImageInfo ||
	    opencl_next.clGetImageInfo(image, CL_IMAGE_ELEMENT_SIZE, sizeof element, &element,
				       NULL))
		return (double)NAN;
	return (double)element * (double)region[0] * (double)region[1] * (double)region[2];
}

static cl_int end_image(struct opencl_call *c, cl_command_queue queue, cl_int rc, cl_mem image,
			const size_t *region, struct opencl_work w)
{
	if (!rc && opencl_on())
		w.bytes = image_bytes(image, region);
	return opencl_end(c, queue, rc, &w);
}

static CL_API_ENTRY cl_int CL_API_CALL read_image(cl_command_queue queue, cl_mem image,
						  cl_bool blocking, const size_t *origin,
						  const size_t *region, size_t row, size_t slice,
						  void *to, cl_uint n_wait, const cl_event *wait,
						  cl_event *event)
{
	struct opencl_call c;
	opencl_begin(&c, event);
	cl_int rc = opencl_next.clEnqueueReadImage(queue, image, blocking, origin, region, row,
						   slice, to, n_wait, wait, c.event);
	return end_image(&c, queue, rc, image, region,
			 (struct opencl_work){ .category = COPY_D2H,
					       .name = "clEnqueueReadImage",
					       .sync = blocking });
}

static CL_API_ENTRY cl_int CL_API_CALL write_image(cl_command_queue queue, cl_mem image,
						   cl_bool blocking, const size_t *origin,
						   const size_t *region, size_t row, size_t slice,
						   const void *from, cl_uint n_wait,
						   const cl_event *wait, cl_event *event)
{
	struct opencl_call c;
	opencl_begin(&c, event);
	cl_int rc = opencl_next.clEnqueueWriteImage(queue, image, blocking, origin, region, row,
						    slice, from, n_wait, wait, c.event);
	return end_image(&c, queue, rc, image, region,
			 (struct opencl_work){ .category = COPY_H2D,
					       .name = "clEnqueueWriteImage",
					       .sync = blocking });
}

static CL_API_ENTRY cl_int CL_API_CALL copy_image(cl_command_queue queue, cl_mem from, cl_mem to,
						  const size_t *from_origin,
						  const size_t *to_origin, const size_t *region,
						  cl_uint n_wait, const cl_event *wait,
						  cl_event *event)
{
	struct opencl_call c;
	opencl_begin(&c, event);
	cl_int rc = opencl_next.clEnqueueCopyImage(queue, from, to, from_origin, to_origin, region,
						   n_wait, wait, c.event);
	return end_image(
		&c, queue, rc, from, region,
		(struct opencl_work){ .category = COPY_D2D, .name = "clEnqueueCopyImage" });
}

static CL_API_ENTRY cl_int CL_API_CALL image_to_buffer(cl_command_queue queue, cl_mem from,
						       cl_mem to, const size_t *origin,
						       const size_t *region, size_t offset,
						       cl_uint n_wait, const cl_event *wait,
						       cl_event *event)
{
	struct opencl_call c;
	opencl_begin(&c, event);
	cl_int rc = opencl_next.clEnqueueCopyImageToBuffer(queue, from, to, origin, region, offset,
							   n_wait, wait, c.event);
	return end_image(
		&c, queue, rc, from, region,
		(struct opencl_work){ .category = COPY_D2D, .name = "clEnqueueCopyImageToBuffer" });
}

static CL_API_ENTRY cl_int CL_API_CALL buffer_to_image(cl_command_queue queue, cl_mem from,
						       cl_mem to, size_t offset,
						       const size_t *origin, const size_t *region,
						       cl_uint n_wait, const cl_event *wait,
						       cl_event *event)
{
	struct opencl_call c;
	opencl_begin(&c, event);
	cl_int rc = opencl_next.clEnqueueCopyBufferToImage(queue, from, to, offset, origin, region,
							   n_wait, wait, c.event);
	return end_image(
		&c, queue, rc, to, region,
		(struct opencl_work){ .category = COPY_D2D, .name = "clEnqueueCopyBufferToImage" });
}

static CL_API_ENTRY cl_int CL_API_CALL fill_image(cl_command_queue queue, cl_mem image,
						  const void *color, const size_t *origin,
						  const size_t *region, cl_uint n_wait,
						  const cl_event *wait, cl_event *event)
{
	struct opencl_call c;
	opencl_begin(&c, event);
	cl_int rc = opencl_next.clEnqueueFillImage(queue, image, color, origin, region, n_wait,
						   wait, c.event);
	return end_image(&c, queue, rc, image, region,
			 (struct opencl_work){ .category = FILL, .name = "clEnqueueFillImage" });
}

/* Where device and host share memory a map moves nothing. Else it brings what may be read: what is
 * mapped for writing only must still show what was there, unless the program gives that up. */
static CL_API_ENTRY void *CL_API_CALL map_image(cl_command_queue queue, cl_mem image,
						cl_bool blocking, cl_map_flags flags,
						const size_t *origin, const size_t *region,
						size_t *row, size_t *slice, cl_uint n_wait,
						const cl_event *wait, cl_event *event, cl_int *ret)
{
	struct opencl_call c;
	cl_int rc = CL_SUCCESS;
	double bytes = 0;
	opencl_begin(&c, event);
	void *at = opencl_next.clEnqueueMapImage(queue, image, blocking, flags, origin, region, row,
						 slice, n_wait, wait, c.event, &rc);
	if (!rc && opencl_on())
		bytes = image_bytes(image, region);
	(void)opencl_end_map(
		&c, queue, rc, image, at, bytes, flags,
		&(struct opencl_work){ .name = "clEnqueueMapImage", .sync = blocking });
	if (ret)
		*ret = rc;
	return at;
}

void opencl_wrap_images(cl_icd_dispatch *d)
{
	d->clEnqueueReadImage = read_image;
	d->clEnqueueWriteImage = write_image;
	d->clEnqueueCopyImage = copy_image;
	d->clEnqueueCopyImageToBuffer = image_to_buffer;
	d->clEnqueueCopyBufferToImage = buffer_to_image;
	d->clEnqueueFillImage = fill_image;
	d->clEnqueueMapImage = map_image;
}
