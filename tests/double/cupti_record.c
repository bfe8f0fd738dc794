/* The double of libcupti: the records, with the layouts of NVIDIA's own headers, in the sizes of
 * the version that the script asks for. What a shorter record has no room for is cut off. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "fake_cupti.h"

#define KIND(x) CUPTI_ACTIVITY_KIND_##x

/* Sizes in CUDA 11.1 to 11.5, 12, and what these headers have (13.0). */
static const struct {
	uint32_t kind;
	uint16_t cuda11, cuda12, now;
	uint16_t start, end;
} layouts[] = {
	{ KIND(MEMCPY), sizeof(CUpti_ActivityMemcpy4), sizeof(CUpti_ActivityMemcpy5),
	  sizeof(CUpti_ActivityMemcpy6), offsetof(CUpti_ActivityMemcpy6, start),
	  offsetof(CUpti_ActivityMemcpy6, end) },
	{ KIND(MEMSET), sizeof(CUpti_ActivityMemset3), sizeof(CUpti_ActivityMemset4),
	  sizeof(CUpti_ActivityMemset4), offsetof(CUpti_ActivityMemset4, start),
	  offsetof(CUpti_ActivityMemset4, end) },
	{ KIND(KERNEL), sizeof(CUpti_ActivityKernel6), sizeof(CUpti_ActivityKernel9),
	  sizeof(CUpti_ActivityKernel10), offsetof(CUpti_ActivityKernel10, start),
	  offsetof(CUpti_ActivityKernel10, end) },
	{ KIND(CONCURRENT_KERNEL), sizeof(CUpti_ActivityKernel6), sizeof(CUpti_ActivityKernel9),
	  sizeof(CUpti_ActivityKernel10), offsetof(CUpti_ActivityKernel10, start),
	  offsetof(CUpti_ActivityKernel10, end) },
	{ KIND(MEMCPY2), sizeof(CUpti_ActivityMemcpyPtoP3), sizeof(CUpti_ActivityMemcpyPtoP4),
	  sizeof(CUpti_ActivityMemcpyPtoP4), offsetof(CUpti_ActivityMemcpyPtoP4, start),
	  offsetof(CUpti_ActivityMemcpyPtoP4, end) },
	{ KIND(UNIFIED_MEMORY_COUNTER), sizeof(CUpti_ActivityUnifiedMemoryCounter2),
	  sizeof(CUpti_ActivityUnifiedMemoryCounter2), sizeof(CUpti_ActivityUnifiedMemoryCounter3),
	  offsetof(CUpti_ActivityUnifiedMemoryCounter3, start),
	  offsetof(CUpti_ActivityUnifiedMemoryCounter3, end) },
	{ KIND(GRAPH_TRACE), sizeof(CUpti_ActivityGraphTrace), sizeof(CUpti_ActivityGraphTrace2),
	  sizeof(CUpti_ActivityGraphTrace2), offsetof(CUpti_ActivityGraphTrace2, start),
	  offsetof(CUpti_ActivityGraphTrace2, end) },
	{ KIND(DRIVER), sizeof(CUpti_ActivityAPI), sizeof(CUpti_ActivityAPI),
	  sizeof(CUpti_ActivityAPI), 0, 0 },
	{ KIND(RUNTIME), sizeof(CUpti_ActivityAPI), sizeof(CUpti_ActivityAPI),
	  sizeof(CUpti_ActivityAPI), 0, 0 },
	{ KIND(DEVICE), sizeof(CUpti_ActivityDevice3), sizeof(CUpti_ActivityDevice5),
	  sizeof(CUpti_ActivityDevice5), 0, 0 },
	{ KIND(CONTEXT), sizeof(CUpti_ActivityContext), sizeof(CUpti_ActivityContext2),
	  sizeof(CUpti_ActivityContext3), 0, 0 },
	{ KIND(MARKER), sizeof(CUpti_ActivityMarker2), sizeof(CUpti_ActivityMarker2),
	  sizeof(CUpti_ActivityMarker2), 0, 0 },
	{ KIND(OVERHEAD), sizeof(CUpti_ActivityOverhead), sizeof(CUpti_ActivityOverhead2),
	  sizeof(CUpti_ActivityOverhead3), 0, 0 },
	{ KIND(SYNCHRONIZATION), sizeof(CUpti_ActivitySynchronization),
	  sizeof(CUpti_ActivitySynchronization), sizeof(CUpti_ActivitySynchronization2), 0, 0 },
	{ KIND(EXTERNAL_CORRELATION), sizeof(CUpti_ActivityExternalCorrelation),
	  sizeof(CUpti_ActivityExternalCorrelation), sizeof(CUpti_ActivityExternalCorrelation), 0,
	  0 },
};
enum { LAYOUTS = sizeof layouts / sizeof *layouts };

static int layout_of(uint32_t kind)
{
	for (int i = 0; i < LAYOUTS; i++)
		if (layouts[i].kind == kind)
			return i;
	return -1;
}

uint32_t record_size(uint32_t kind)
{
	int64_t cuda = script_number("cuda", 13);
	int i = layout_of(kind);

	if (i < 0)
		return 0;
	uint32_t size = cuda < 12   ? layouts[i].cuda11
			: cuda < 13 ? layouts[i].cuda12
				    : layouts[i].now;
	return size + (uint32_t)script_number("longer", 0) / 8 * 8;
}

/* ---- the clock ---- */

static CUpti_TimestampCallbackFunc timestamp;
static int registrations, spoiled;

/* Re-registering spoils one record each time: seen with the real one. */
void record_timestamp_callback(CUpti_TimestampCallbackFunc f)
{
	timestamp = f;
	if (registrations++)
		spoiled++;
}

uint64_t record_time(uint64_t ns)
{
	int64_t off = script_number("clock-offset-ns", 0);

	if (!ns)
		return 0;
	off += (int64_t)((double)ns * 1e-6 * (double)script_number("clock-ppm", 0));
	if (timestamp) {
		/* Within a millisecond it is the device's clock itself: then every time is exact.
		 */
		int64_t theirs = (int64_t)(timestamp() - double_now());
		return (uint64_t)((int64_t)ns + off + (llabs(theirs) < 1000000 ? 0 : theirs));
	}
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)((int64_t)ns + off + (int64_t)t.tv_sec * 1000000000 + t.tv_nsec -
			  (int64_t)double_now());
}

/* ---- operations ---- */

struct pending_record {
	struct slot *slot;
	uint32_t kind;
	uint64_t n;
};

static void put_copy(const struct double_op *op, uint8_t *to, uint32_t size)
{
	CUpti_ActivityMemcpy6 m = {
		.kind = op->kind,
		.copyKind = op->copy_kind,
		.srcKind = op->src_kind,
		.dstKind = op->dst_kind,
		.flags = (uint8_t)op->value,
		.bytes = op->bytes,
		.deviceId = op->device,
		.contextId = op->context,
		.streamId = op->stream,
		.correlationId = op->correlation,
		.graphNodeId = op->graph_node,
		.graphId = op->graph,
		.copyCount = op->copies,
	};
	memcpy(to, &m, size < sizeof m ? size : sizeof m);
}

static void put_peer_copy(const struct double_op *op, uint8_t *to, uint32_t size)
{
	CUpti_ActivityMemcpyPtoP4 m = {
		.kind = op->kind,
		.copyKind = op->copy_kind,
		.srcKind = op->src_kind,
		.dstKind = op->dst_kind,
		.flags = (uint8_t)op->value,
		.bytes = op->bytes,
		.deviceId = op->device,
		.contextId = op->context,
		.streamId = op->stream,
		.srcDeviceId = op->src_device,
		.dstDeviceId = op->dst_device,
		.correlationId = op->correlation,
		.graphNodeId = op->graph_node,
		.graphId = op->graph,
	};
	memcpy(to, &m, size < sizeof m ? size : sizeof m);
}

static void put_fill(const struct double_op *op, uint8_t *to, uint32_t size)
{
	CUpti_ActivityMemset4 m = {
		.kind = op->kind,
		.value = op->value,
		.bytes = op->bytes,
		.deviceId = op->device,
		.contextId = op->context,
		.streamId = op->stream,
		.correlationId = op->correlation,
		.memoryKind = (uint16_t)op->memory_kind,
		.graphNodeId = op->graph_node,
		.graphId = op->graph,
	};
	memcpy(to, &m, size < sizeof m ? size : sizeof m);
}

static void put_kernel(const struct double_op *op, uint8_t *to, uint32_t size)
{
	CUpti_ActivityKernel10 k = {
		.kind = op->kind,
		.deviceId = op->device,
		.contextId = op->context,
		.streamId = op->stream,
		.gridX = (int32_t)op->grid[0],
		.gridY = (int32_t)op->grid[1],
		.gridZ = (int32_t)op->grid[2],
		.blockX = (int32_t)op->block[0],
		.blockY = (int32_t)op->block[1],
		.blockZ = (int32_t)op->block[2],
		.correlationId = op->correlation,
		.gridId = op->correlation,
		.name = op->name,
		.graphNodeId = op->graph_node,
		.graphId = op->graph,
	};
	memcpy(to, &k, size < sizeof k ? size : sizeof k);
}

static void put_transfer(const struct double_op *op, uint8_t *to, uint32_t size)
{
	CUpti_ActivityUnifiedMemoryCounter3 u = {
		.kind = op->kind,
		.counterKind = op->um_kind,
		.value = op->bytes,
		.streamId = op->stream,
		.processId = (uint32_t)getpid(),
		.srcId = op->um_kind == 1 ? 0xffffffff : op->device,
		.dstId = op->um_kind == 2 ? 0xffffffff : op->device,
	};
	memcpy(to, &u, size < sizeof u ? size : sizeof u);
}

static void put_graph(const struct double_op *op, uint8_t *to, uint32_t size)
{
	CUpti_ActivityGraphTrace2 g = {
		.kind = op->kind,
		.correlationId = op->correlation,
		.deviceId = op->device,
		.graphId = op->graph,
		.contextId = op->context,
		.streamId = op->stream,
		.endDeviceId = op->device,
		.endContextId = op->context,
	};
	memcpy(to, &g, size < sizeof g ? size : sizeof g);
}

static void put_op(const struct double_op *op, uint8_t *to, uint32_t size)
{
	switch (op->kind) {
	case KIND(MEMCPY):
		put_copy(op, to, size);
		break;
	case KIND(MEMCPY2):
		put_peer_copy(op, to, size);
		break;
	case KIND(MEMSET):
		put_fill(op, to, size);
		break;
	case KIND(UNIFIED_MEMORY_COUNTER):
		put_transfer(op, to, size);
		break;
	case KIND(GRAPH_TRACE):
		put_graph(op, to, size);
		break;
	default:
		put_kernel(op, to, size);
	}
}

void *record_reserve(const struct double_op *told)
{
	static uint64_t count;
	struct double_op op = *told;

	/* Whoever enables KERNEL has all kernels one after the other; the records are alike. */
	if (op.kind == KIND(CONCURRENT_KERNEL) && !kind_enabled(op.kind) &&
	    kind_enabled(KIND(KERNEL)))
		op.kind = KIND(KERNEL);
	if (!kind_enabled(op.kind))
		return NULL;
	uint32_t size = record_size(op.kind);
	uint64_t n = __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
	struct slot *s = slot_reserve(size);
	struct pending_record *p = s ? malloc(sizeof *p) : NULL;
	if (!p)
		return NULL;
	*p = (struct pending_record){ s, op.kind, n };
	put_op(&op, slot_bytes(s), size);
	if (script_has("unknown-kind", (int64_t)n))
		memset(slot_bytes(s), 0, 4);
	slot_publish(s, false);
	return p;
}

void record_complete(void *slot, uint64_t start, uint64_t end)
{
	struct pending_record *p = slot;
	int i = layout_of(p->kind);
	int64_t lose_from = script_number("lose-from", 0),
		lose_to = script_number("lose-to", INT64_MAX);

	uint64_t length = end - start;
	start = record_time(start); /* once: the conversion itself takes time */
	end = start + length;
	if ((lose_from && (int64_t)p->n >= lose_from && (int64_t)p->n <= lose_to) ||
	    script_has("lose", (int64_t)p->n))
		start = end = 0;
	if (script_has("backwards", (int64_t)p->n)) {
		uint64_t t = start;
		start = end;
		end = t;
	}
	if (p->kind == KIND(CONCURRENT_KERNEL) && spoiled > 0) {
		spoiled--;
		start -= 100000000000000U;
	}
	if (!script_has("never", (int64_t)p->n))
		slot_complete(p->slot, layouts[i].start, layouts[i].end, start, end);
	free(p);
}
