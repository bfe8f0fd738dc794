/* Inside the double of libcuda. One lock for all; an operation's time is settled when it is
 * launched. */
#ifndef TESTS_DOUBLE_CUDA_H
#define TESTS_DOUBLE_CUDA_H

#include <cuda.h>
#include <cupti.h>

#include "double.h"

struct CUctx_st {
	uint32_t id, device;
	bool primary, dead;
	uint32_t next_stream;
	struct CUstream_st *streams; /* the null stream is the last of the list */
	struct CUstream_st *null;
	CUcontext next;
};

struct CUstream_st {
	uint32_t id;
	CUcontext context;
	bool blocking; /* waits for the null stream, and it for this one */
	uint64_t tail; /* when the last of its operations ends */
	CUgraph capture;
	CUstream next;
};

struct CUevent_st {
	uint64_t time;
	uint32_t id;
	bool recorded;
};

struct CUmod_st {
	char *image;
};

struct CUfunc_st {
	char name[128];
};

struct CUgraphNode_st {
	uint64_t id;
	struct double_op op;
	uint64_t length_ns;
	uint64_t params[6]; /* of roimeter_probe, whose values are taken when the node is made */
	void *at[6];        /* NULL: another kernel */
	CUgraphNode next;
};

struct CUgraph_st {
	uint32_t id;
	CUgraphNode first, *last;
};

struct CUgraphExec_st {
	uint32_t id, graph;
	CUgraphNode first;
};

/* ---- calls ---- */

struct call {
	struct double_call told;
	const struct double_listener *l;
	int fail;
};

struct call call_enter(uint32_t cbid, const char *name, const void *params, const char *symbol);
CUresult call_leave(struct call *c, CUresult rc);

/* The first lines of every entry point: the call is told to libcupti, and may fail by the script.
 */
#define ENTER_AS(name, params, symbol)                                                             \
	struct call call = call_enter(CUPTI_DRIVER_TRACE_CBID_##name, #name, params, symbol);      \
	if (call.fail)                                                                             \
	return call_leave(&call, (CUresult)call.fail)
#define ENTER(name) ENTER_AS(name, NULL, NULL)
#define LEAVE(rc) return call_leave(&call, rc)

void cuda_lock(void);
void cuda_unlock(void);
CUcontext cuda_current(void);
bool cuda_ready(void);

/* The stream that a handle means in the current context; NULL: there is no context. */
CUstream cuda_stream(CUstream handle);
/* Puts an operation behind what its stream has, and tells libcupti. Returns when it ends. Takes the
 * lock. */
uint64_t cuda_put(CUstream s, struct double_op *op, uint64_t length_ns, uint32_t correlation);
uint64_t cuda_graph_put(CUstream s, CUgraphExec exec, uint32_t correlation);
CUresult cuda_wait(uint64_t until, uint32_t sync_type, CUstream s, uint32_t event, struct call *c);
CUgraphNode cuda_node_add(CUgraph g, const struct double_op *op, uint64_t length_ns);
void cuda_node_params(CUgraphNode n, void **params);
uint32_t cuda_device_of(CUdeviceptr p, bool *ret_known, uint8_t *ret_kind);
uint64_t cuda_length(const char *key, uint64_t otherwise);
void cuda_run_kernel(const char *name, void **params, uint64_t *length_ns);
void cuda_streams_tail(CUcontext ctx, uint64_t *ret_tail);

#endif
