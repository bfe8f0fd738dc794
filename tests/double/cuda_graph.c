/* The double of libcuda: graphs, whose nodes run one after the other in the order they were added.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "cuda.h"

static uint32_t next_graph;
static uint64_t next_node;

static CUgraph graph_new(void)
{
	CUgraph g = calloc(1, sizeof *g);

	if (!g)
		abort();
	g->id = __atomic_add_fetch(&next_graph, 1, __ATOMIC_RELAXED);
	g->last = &g->first;
	return g;
}

/* The number of a node has its graph in the upper half, as the driver's has. */
CUgraphNode cuda_node_add(CUgraph g, const struct double_op *op, uint64_t length_ns)
{
	CUgraphNode n = calloc(1, sizeof *n);

	if (!n)
		abort();
	n->id = (uint64_t)g->id << 32 | __atomic_add_fetch(&next_node, 1, __ATOMIC_RELAXED);
	n->op = *op;
	n->length_ns = length_ns;
	*g->last = n;
	g->last = &n->next;
	return n;
}

void cuda_node_params(CUgraphNode n, void **params)
{
	if (!params || !n->op.name || strcmp(n->op.name, "roimeter_probe") != 0)
		return;
	for (int i = 0; i < 6; i++) {
		n->params[i] = i == 4 ? *(uint32_t *)params[i] : *(uint64_t *)params[i];
		n->at[i] = &n->params[i];
	}
	if (n->params[5])
		n->length_ns = n->params[5];
}

DOUBLE_EXPORT CUresult CUDAAPI cuGraphCreate(CUgraph *ret, unsigned flags)
{
	ENTER(cuGraphCreate);
	(void)flags;
	*ret = graph_new();
	LEAVE(CUDA_SUCCESS);
}

static CUgraphNode kernel_node(CUgraph g, CUfunction f, void **params, const unsigned *grid)
{
	struct double_op op = {
		.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
		.name = f->name,
		.grid = { grid[0], grid[1], grid[2] },
		.block = { grid[3], grid[4], grid[5] },
	};
	CUgraphNode n = cuda_node_add(g, &op, cuda_length("kernel-ns", 100000));
	cuda_node_params(n, params);
	return n;
}

#undef cuGraphAddKernelNode
CUresult CUDAAPI cuGraphAddKernelNode(CUgraphNode *, CUgraph, const CUgraphNode *, size_t,
				      const CUDA_KERNEL_NODE_PARAMS_v1 *);
DOUBLE_EXPORT CUresult CUDAAPI cuGraphAddKernelNode(CUgraphNode *ret, CUgraph g,
						    const CUgraphNode *before, size_t n,
						    const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	ENTER(cuGraphAddKernelNode);
	const unsigned grid[6] = { p->gridDimX,  p->gridDimY,  p->gridDimZ,
				   p->blockDimX, p->blockDimY, p->blockDimZ };
	(void)before, (void)n;
	*ret = kernel_node(g, p->func, p->kernelParams, grid);
	LEAVE(CUDA_SUCCESS);
}

DOUBLE_EXPORT CUresult CUDAAPI cuGraphAddKernelNode_v2(CUgraphNode *ret, CUgraph g,
						       const CUgraphNode *before, size_t n,
						       const CUDA_KERNEL_NODE_PARAMS_v2 *p)
{
	ENTER(cuGraphAddKernelNode_v2);
	const unsigned grid[6] = { p->gridDimX,  p->gridDimY,  p->gridDimZ,
				   p->blockDimX, p->blockDimY, p->blockDimZ };
	(void)before, (void)n;
	*ret = kernel_node(g, p->func, p->kernelParams, grid);
	LEAVE(CUDA_SUCCESS);
}

DOUBLE_EXPORT CUresult CUDAAPI cuGraphInstantiateWithFlags(CUgraphExec *ret, CUgraph g,
							   unsigned long long flags)
{
	ENTER(cuGraphInstantiateWithFlags);
	CUgraph copy = graph_new();
	(void)flags;
	*ret = calloc(1, sizeof **ret);
	if (!*ret)
		LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
	for (CUgraphNode n = g->first; n; n = n->next)
		cuda_node_params(cuda_node_add(copy, &n->op, n->length_ns),
				 n->at[0] ? n->at : NULL);
	(*ret)->id = (*ret)->graph = copy->id;
	(*ret)->first = copy->first;
	free(copy);
	LEAVE(CUDA_SUCCESS);
}

DOUBLE_EXPORT CUresult CUDAAPI cuGraphLaunch(CUgraphExec exec, CUstream handle)
{
	ENTER(cuGraphLaunch);
	CUstream s = cuda_stream(handle);
	if (!s)
		LEAVE(CUDA_ERROR_INVALID_CONTEXT);
	(void)cuda_graph_put(s, exec, call.told.correlation);
	LEAVE(CUDA_SUCCESS);
}

static void free_nodes(CUgraphNode n)
{
	while (n) {
		CUgraphNode next = n->next;
		free(n);
		n = next;
	}
}

DOUBLE_EXPORT CUresult CUDAAPI cuGraphDestroy(CUgraph g)
{
	ENTER(cuGraphDestroy);
	free_nodes(g->first);
	free(g);
	LEAVE(CUDA_SUCCESS);
}

DOUBLE_EXPORT CUresult CUDAAPI cuGraphExecDestroy(CUgraphExec exec)
{
	ENTER(cuGraphExecDestroy);
	free_nodes(exec->first);
	free(exec);
	LEAVE(CUDA_SUCCESS);
}

DOUBLE_EXPORT CUresult CUDAAPI cuStreamBeginCapture_v2(CUstream s, CUstreamCaptureMode mode)
{
	ENTER(cuStreamBeginCapture_v2);
	(void)mode;
	if (!s || s->capture)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	s->capture = graph_new();
	LEAVE(CUDA_SUCCESS);
}

DOUBLE_EXPORT CUresult CUDAAPI cuStreamEndCapture(CUstream s, CUgraph *ret)
{
	ENTER(cuStreamEndCapture);
	if (!s || !s->capture)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	*ret = s->capture;
	s->capture = NULL;
	LEAVE(CUDA_SUCCESS);
}
