/* The device that the doubles of libcuda and libcupti share: a clock, a script, and operations that
 * end when their time has come. In libdouble.so, which both need, so that it makes no difference
 * which of them a program loads first. */
#ifndef TESTS_DOUBLE_H
#define TESTS_DOUBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cuda.h>

#define DOUBLE_EXPORT __attribute__((visibility("default")))

/* ---- the script: README.md lists the keys ---- */

int64_t script_number(const char *key, int64_t otherwise);
const char *script_text(const char *key);        /* NULL: not said */
bool script_has(const char *key, int64_t value); /* is value in the key's list? "deny-buffer 2 5" */
/* The n-th (from 0) number of a list, which begins anew at its end. */
int64_t script_turn(const char *key, uint64_t n, int64_t otherwise);
int script_fails(const char *call);             /* "fail CALL CODE": CODE, else 0 */
bool script_every(const char *key, uint64_t n); /* n from 1; "drop-every 3": true for 3, 6, ... */

/* ---- the clock and the device ---- */

uint64_t double_now(void); /* ns, CLOCK_MONOTONIC or the virtual clock */
bool double_virtual(void);
void double_advance(uint64_t ns);    /* the virtual clock; nothing with the real one */
void double_wait_until(uint64_t ns); /* and until everything that ends by then has ended */
/* done is called when end has come, from the device's thread; with the virtual clock at once. */
void double_schedule(uint64_t start, uint64_t end, void (*done)(void *, uint64_t, uint64_t),
		     void *arg);
bool double_forked(void); /* in a child of a process that had a device: nothing works here */

/* ---- what libcupti is told ---- */

struct double_op {
	uint32_t kind; /* CUPTI_ACTIVITY_KIND_*: CONCURRENT_KERNEL, MEMCPY, MEMCPY2, MEMSET,
			  UNIFIED_MEMORY_COUNTER, GRAPH_TRACE */
	uint32_t device, context, stream, correlation;
	uint64_t graph_node;
	uint32_t graph;
	const char *name; /* of a kernel */
	uint32_t grid[3], block[3];
	uint64_t bytes;
	uint32_t value, memory_kind;           /* fills */
	uint8_t copy_kind, src_kind, dst_kind; /* copies */
	uint32_t src_device, dst_device, src_context, dst_context;
	uint64_t copies;
	uint32_t um_kind; /* transfers of unified memory */
};

struct double_call {
	uint32_t domain, cbid; /* CUPTI_CB_DOMAIN_DRIVER_API, ..._RUNTIME_API */
	const char *name;
	const void *params;
	CUcontext context;
	uint32_t context_id, correlation;
	uint64_t begin_ns, data;
	int result;
	const char *symbol; /* the kernel's name at a launch */
};

struct double_sync {
	uint32_t type; /* CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_* */
	uint32_t context, stream, event, correlation;
	uint64_t begin_ns, end_ns;
	CUcontext ctx;
	CUstream handle;
};

struct double_context {
	CUcontext handle;
	uint32_t id, device;
};

struct double_listener {
	/* On the launching thread; what complete() gets later. NULL: no record. */
	void *(*reserve)(const struct double_op *op);
	void (*complete)(void *slot, uint64_t start_ns, uint64_t end_ns);
	void (*enter)(struct double_call *call);
	void (*leave)(struct double_call *call);
	void (*synchronized)(const struct double_sync *sync);
	void (*resource)(uint32_t cbid, CUcontext context, CUstream stream);
	void (*context_made)(const struct double_context *c);
	bool (*enabled)(uint32_t kind);
};

void double_listen(const struct double_listener *l);
const struct double_listener *double_listener(void); /* NULL: libcupti is not there */

/* What libcuda answers to libcupti. */
struct double_driver {
	uint32_t (*context_id)(CUcontext context);
	uint32_t (*context_device)(CUcontext context);
	uint32_t (*stream_id)(CUcontext context, CUstream stream);
	uint64_t (*node_id)(CUgraphNode node);
	uint32_t (*graph_id)(CUgraph graph);
	uint32_t (*exec_id)(CUgraphExec exec);
	void (*each_context)(void (*f)(const struct double_context *c));
	CUcontext (*current)(void);
	bool (*ready)(void); /* cuInit was called and went well */
};

void double_drive(const struct double_driver *d);
const struct double_driver *double_driver(void);

uint32_t double_correlation(void); /* the next one */

#endif
