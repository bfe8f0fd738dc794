/* The double of libcupti: records of what the host did, complete as they are written: calls, waits,
 * contexts, devices, markers, external ids. */
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fake_cupti.h"

#define KIND(x) CUPTI_ACTIVITY_KIND_##x

static CUpti_ActivityThreadIdType thread_type = CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT;

static uint32_t thread_id(void)
{
	return thread_type == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM ? (uint32_t)syscall(SYS_gettid)
								   : (uint32_t)pthread_self();
}

DOUBLE_EXPORT CUptiResult CUPTIAPI cuptiSetThreadIdType(CUpti_ActivityThreadIdType type)
{
	REFUSE();
	thread_type = type;
	return CUPTI_SUCCESS;
}

DOUBLE_EXPORT CUptiResult CUPTIAPI cuptiGetThreadIdType(CUpti_ActivityThreadIdType *type)
{
	REFUSE();
	*type = thread_type;
	return CUPTI_SUCCESS;
}

static void put(uint32_t kind, const void *record, size_t size)
{
	uint32_t room = record_size(kind);
	struct slot *s = slot_reserve(room);

	if (!s)
		return;
	memcpy(slot_bytes(s), record, size < room ? size : room);
	slot_publish(s, true);
}

/* Names of calls by their numbers, as far as they were made. */
enum { NAMES = 2048 };
static const char *call_names[2][NAMES];

DOUBLE_EXPORT CUptiResult CUPTIAPI cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t cbid,
							const char **name)
{
	REFUSE();
	if ((domain != CUPTI_CB_DOMAIN_DRIVER_API && domain != CUPTI_CB_DOMAIN_RUNTIME_API) ||
	    cbid >= NAMES)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*name = __atomic_load_n(&call_names[domain == CUPTI_CB_DOMAIN_RUNTIME_API][cbid],
				__ATOMIC_RELAXED);
	return *name ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

void record_call(const struct double_call *call)
{
	uint32_t kind = call->domain == CUPTI_CB_DOMAIN_RUNTIME_API ? KIND(RUNTIME) : KIND(DRIVER);

	if (call->cbid < NAMES)
		__atomic_store_n(&call_names[kind == KIND(RUNTIME)][call->cbid], call->name,
				 __ATOMIC_RELAXED);
	if (!call_enabled(kind, call->cbid))
		return;
	CUpti_ActivityAPI a = {
		.kind = kind,
		.cbid = call->cbid,
		.start = record_time(call->begin_ns),
		.processId = (uint32_t)getpid(),
		.threadId = thread_id(),
		.correlationId = call->correlation,
		.returnValue = (uint32_t)call->result,
	};
	a.end = a.start + (double_now() - call->begin_ns);
	put(kind, &a, sizeof a);
}

void record_sync(const struct double_sync *sync)
{
	if (!kind_enabled(KIND(SYNCHRONIZATION)))
		return;
	CUpti_ActivitySynchronization2 r = {
		.kind = KIND(SYNCHRONIZATION),
		.type = sync->type,
		.start = record_time(sync->begin_ns),
		.correlationId = sync->correlation,
		.contextId = sync->context,
		.streamId = sync->stream,
		.cudaEventId = sync->event ? sync->event : CUPTI_SYNCHRONIZATION_INVALID_VALUE,
	};
	r.end = r.start + (sync->end_ns - sync->begin_ns);
	put(r.kind, &r, sizeof r);
}

void record_context(const struct double_context *c)
{
	if (!kind_enabled(KIND(CONTEXT)))
		return;
	CUpti_ActivityContext3 r = {
		.kind = KIND(CONTEXT),
		.contextId = c->id,
		.deviceId = c->device,
		.computeApiKind = script_number("mps", 0) ? CUPTI_ACTIVITY_COMPUTE_API_CUDA_MPS
							  : CUPTI_ACTIVITY_COMPUTE_API_CUDA,
		.nullStreamId = 7,
		.numMultiprocessors = 132,
	};
	put(r.kind, &r, sizeof r);
}

void record_devices(void)
{
	const char *name = script_text("device-name");
	int64_t n = script_number("devices", 1), mig = script_number("mig", 0);

	for (int64_t d = 0; d < n && d < 16; d++) {
		CUpti_ActivityDevice5 r = {
			.kind = KIND(DEVICE),
			.globalMemorySize = (uint64_t)16 << 30,
			.numMultiprocessors = mig ? 16 : 132,
			.computeCapabilityMajor =
				(uint32_t)script_number("compute-capability", 90) / 10,
			.computeCapabilityMinor =
				(uint32_t)script_number("compute-capability", 90) % 10,
			.id = (uint32_t)d,
			.name = name ? name : "Double",
			.isCudaVisible = 1,
			.isMigEnabled = mig != 0,
			.gpuInstanceId = mig ? (uint32_t)d + 1 : 0xffffffff,
			.computeInstanceId = mig ? 0 : 0xffffffff,
		};
		for (int i = 0; i < 16; i++) {
			r.uuid.bytes[i] = (char)(0xd0 + (mig ? 0 : d) + i);
			r.migUuid.bytes[i] = (char)(mig ? 0x10 + d + i : 0);
		}
		put(r.kind, &r, sizeof r);
	}
}

/* ---- markers, from NVTX or the test itself ---- */

void record_marker(uint32_t flags, uint32_t id, const char *name, const char *domain)
{
	if (!kind_enabled(KIND(MARKER)))
		return;
	CUpti_ActivityMarker2 r = {
		.kind = KIND(MARKER),
		.flags = flags,
		.timestamp = record_time(double_now()),
		.id = id,
		.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD,
		.name = name,
		.domain = domain,
	};
	r.objectId.pt.processId = (uint32_t)getpid();
	r.objectId.pt.threadId = thread_id();
	put(r.kind, &r, sizeof r);
}

/* ---- external ids ---- */

enum { KINDS = 8, DEEP = 16 };
static __thread uint64_t external[KINDS][DEEP];
static __thread int depth[KINDS];

DOUBLE_EXPORT CUptiResult CUPTIAPI
cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t id)
{
	REFUSE();
	if ((unsigned)kind >= KINDS || depth[kind] == DEEP)
		return CUPTI_ERROR_INVALID_PARAMETER;
	external[kind][depth[kind]++] = id;
	return CUPTI_SUCCESS;
}

DOUBLE_EXPORT CUptiResult CUPTIAPI
cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t *last)
{
	REFUSE();
	if ((unsigned)kind >= KINDS)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (!depth[kind])
		return CUPTI_ERROR_QUEUE_EMPTY;
	depth[kind]--;
	if (last)
		*last = external[kind][depth[kind]];
	return CUPTI_SUCCESS;
}

void record_external(uint32_t correlation)
{
	if (!kind_enabled(KIND(EXTERNAL_CORRELATION)))
		return;
	for (uint32_t k = 0; k < KINDS; k++) {
		if (!depth[k])
			continue;
		CUpti_ActivityExternalCorrelation r = {
			.kind = KIND(EXTERNAL_CORRELATION),
			.externalKind = k,
			.externalId = external[k][depth[k] - 1],
			.correlationId = correlation,
		};
		put(r.kind, &r, sizeof r);
	}
}
