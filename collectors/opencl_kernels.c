/* Kernels, and the calls that wait. */
#define _GNU_SOURCE
#include "collectors/opencl_impl.h"

#include <math.h>
#include <stdlib.h>

#define NAME_BYTES 1024

/* In ret; a name too long for it, which nobody has written, is cut by asking for all of it. */
static const char *name_of(cl_kernel kernel, char ret[NAME_BYTES])
{
	size_t n = 0;
	ret[0] = 0;
	cl_int rc = opencl_next.clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, NAME_BYTES - 1,
						ret, &n);
	if (rc == CL_INVALID_VALUE &&
	    !opencl_next.clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, 0, NULL, &n)) {
		char *all = n ? calloc(1, n) : NULL;
		if (all &&
		    !opencl_next.clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, n, all, NULL))
			for (size_t i = 0; i < NAME_BYTES - 1 && i < n; i++)
				ret[i] = all[i];
		free(all);
	}
	ret[NAME_BYTES - 1] = 0;
	return ret[0] ? ret : "(unnamed kernel)";
}

static cl_int end_kernel(struct opencl_call *c, cl_command_queue queue, cl_int rc, cl_kernel kernel)
{
	char name[NAME_BYTES];
	if (rc || !opencl_on())
		return opencl_end(c, queue, rc, &(struct opencl_work){ .name = "" });
	const char *text = name_of(kernel, name);
	return opencl_end(c, queue, rc,
			  &(struct opencl_work){ .category = kernel_category(str_of(text)),
						 .name = text,
						 .bytes = (double)NAN });
}

static CL_API_ENTRY cl_int CL_API_CALL ndrange(cl_command_queue queue, cl_kernel kernel,
					       cl_uint dimensions, const size_t *offset,
					       const size_t *global, const size_t *local,
					       cl_uint n_wait, const cl_event *wait,
					       cl_event *event)
{
	struct opencl_call c;
	opencl_begin(&c, event);
	cl_int rc = opencl_next.clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global,
						       local, n_wait, wait, c.event);
	return end_kernel(&c, queue, rc, kernel);
}

static CL_API_ENTRY cl_int CL_API_CALL task(cl_command_queue queue, cl_kernel kernel,
					    cl_uint n_wait, const cl_event *wait, cl_event *event)
{
	struct opencl_call c;
	opencl_begin(&c, event);
	cl_int rc = opencl_next.clEnqueueTask(queue, kernel, n_wait, wait, c.event);
	return end_kernel(&c, queue, rc, kernel);
}

static CL_API_ENTRY cl_int CL_API_CALL native(cl_command_queue queue,
					      void(CL_CALLBACK *function)(void *), void *args,
					      size_t args_bytes, cl_uint n_mem,
					      const cl_mem *mem_list, const void **mem_at,
					      cl_uint n_wait, const cl_event *wait, cl_event *event)
{
	struct opencl_call c;
	opencl_begin(&c, event);
	cl_int rc = opencl_next.clEnqueueNativeKernel(queue, function, args, args_bytes, n_mem,
						      mem_list, mem_at, n_wait, wait, c.event);
	return opencl_end(&c, queue, rc,
			  &(struct opencl_work){ .category = COMPUTE,
						 .name = "clEnqueueNativeKernel",
						 .bytes = (double)NAN });
}

static CL_API_ENTRY cl_int CL_API_CALL finish(cl_command_queue queue)
{
	struct opencl_call c;
	opencl_begin(&c, NULL);
	cl_int rc = opencl_next.clFinish(queue);
	if (!rc && opencl_on())
		opencl_finished(queue);
	opencl_call_end(&c, true);
	return rc;
}

static CL_API_ENTRY cl_int CL_API_CALL flush(cl_command_queue queue)
{
	struct opencl_call c;
	opencl_begin(&c, NULL);
	cl_int rc = opencl_next.clFlush(queue);
	opencl_call_end(&c, false);
	return rc;
}

static CL_API_ENTRY cl_int CL_API_CALL wait_for_events(cl_uint n, const cl_event *events)
{
	struct opencl_call c;
	opencl_begin(&c, NULL);
	cl_int rc = opencl_next.clWaitForEvents(n, events);
	opencl_call_end(&c, true);
	return rc;
}

void opencl_wrap_kernels(cl_icd_dispatch *d)
{
	d->clEnqueueNDRangeKernel = ndrange;
	d->clEnqueueTask = task;
	d->clEnqueueNativeKernel = native;
	d->clFinish = finish;
	d->clFlush = flush;
	d->clWaitForEvents = wait_for_events;
}
