/* Shared by the files of the reader of PyTorch's (Kineto's) Chrome JSON. */
#ifndef IMPORT_TRACE_KINETO_IMPL_H
#define IMPORT_TRACE_KINETO_IMPL_H

#include "import/json_pull.h"
#include "import/json_scan.h"
#include "import/trace.h"

/* What an event is for us, by its "cat". */
enum kineto_class {
	KINETO_NOTHING,
	KINETO_KERNEL,
	KINETO_COPY,
	KINETO_FILL,
	KINETO_GPU_OP, /* oneAPI's, of any kind: its name says which */
	KINETO_CALL,
	KINETO_RANGE,
	KINETO_OPERATOR,  /* an operator, a function, a range on the device: a region only where no */
	KINETO_FUNCTION,  /* annotation has the name that is asked for */
	KINETO_ON_DEVICE,
};

struct kineto_event {
	enum kineto_class class;
	struct json_value name, ts, dur, pid, args;
	const char *begin; /* of the event, and the place of that in the file */
	uint64_t place;
};

struct kineto_device {
	char *key; /* args.device, else pid: as the file writes it */
	uint32_t number;
};

struct kineto {
	struct json_pull j;
	enum trace_pass pass;
	struct trace_sink *t;
	struct err *err;
	struct buf carry;                  /* an event that lies across pieces */
	bool events;                       /* there was a list of them */
	bool ops, gpu_ops, calls, devices; /* at least one was seen */
	uint64_t odd_sizes, unfinished;
	struct kineto_device *known;
	size_t n_known, cap_known, last_known;
	char runtime[32], call_runtime[8], host_pid[24], rank[24];
	int64_t base_ns, first_ns; /* first_ns: begin of the first event; -1 */
	bool has_base;
};

/* trace_kineto_scan.c: the next event of the list that was entered, of this pass. 1, 0 at the end
 * of the list, negative. Lent until the next call. */
int kineto_next(struct kineto *k, struct kineto_event *ret);
int kineto_wrong(struct kineto *k, uint64_t place, const char *what); /* -EINVAL */

/* trace_kineto_event.c: hands it to the trace. */
int kineto_take(struct kineto *k, const struct kineto_event *e);
/* The number of a device, by its key. */
int kineto_device(struct kineto *k, struct str key, const char *name, uint32_t *ret);

/* Plain bytes in, as json_pull wants them. */
int kineto_read_bytes(const struct json_pull *in, enum trace_pass pass, struct trace_sink *t,
		      struct err *err);

#endif
