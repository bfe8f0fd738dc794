/* The double of libcupti: versions, subscribers, what is enabled, and the walk over a buffer. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake_cupti.h"

enum { KINDS = 64, CALLS = 2048 };

static bool kinds[KINDS];
static uint8_t calls[2][CALLS]; /* of DRIVER and RUNTIME: 1 on, 2 off */
static bool any_call[2];

struct CUpti_Subscriber_st {
	CUpti_CallbackFunc callback;
	void *data;
	uint8_t on[CUPTI_CB_DOMAIN_SIZE][CALLS];
};
static struct CUpti_Subscriber_st subscriber;
static bool subscribed;
static char subscriber_name[64];
static CUptiResult last_error;

/* With a driver? As the real one: without, nearly every call answers 999. */
static bool has_driver(void)
{
	static int known = -1;

	if (known < 0) {
		void *cuda =
			script_number("no-driver", 0) ? NULL : dlopen("libcuda.so.1", RTLD_NOW);
		known = cuda != NULL;
	}
	return known == 1;
}

CUptiResult refuse(const char *call)
{
	int fail = script_fails(call);

	if (!fail && !has_driver())
		fail = CUPTI_ERROR_UNKNOWN;
	if (fail)
		last_error = (CUptiResult)fail;
	return (CUptiResult)fail;
}

bool kind_enabled(uint32_t kind)
{
	return kind < KINDS && __atomic_load_n(&kinds[kind], __ATOMIC_RELAXED);
}

bool call_enabled(uint32_t kind, uint32_t cbid)
{
	int which = kind == CUPTI_ACTIVITY_KIND_RUNTIME;

	if (cbid >= CALLS)
		return false;
	if (kind_enabled(kind))
		return calls[which][cbid] != 2;
	return any_call[which] && calls[which][cbid] == 1;
}

/* ---- what libcuda tells ---- */

static void tell(CUpti_CallbackDomain domain, uint32_t cbid, const void *data)
{
	if (subscribed && cbid < CALLS && subscriber.on[domain][cbid] && subscriber.callback)
		subscriber.callback(subscriber.data, domain, cbid, data);
}

static void tell_call(struct double_call *call, CUpti_ApiCallbackSite site)
{
	CUpti_CallbackData data = {
		.callbackSite = site,
		.functionName = call->name,
		.functionParams = call->params,
		.functionReturnValue = site == CUPTI_API_EXIT ? &call->result : NULL,
		.symbolName = call->symbol,
		.context = call->context,
		.contextUid = call->context_id,
		.correlationData = &call->data,
		.correlationId = call->correlation,
	};

	tell((CUpti_CallbackDomain)call->domain, call->cbid, &data);
}

static void on_enter(struct double_call *call)
{
	tell_call(call, CUPTI_API_ENTER);
	record_external(call->correlation);
}

static void on_leave(struct double_call *call)
{
	record_call(call);
	tell_call(call, CUPTI_API_EXIT);
}

static void on_synchronized(const struct double_sync *sync)
{
	CUpti_SynchronizeData data = { sync->ctx, sync->handle };

	record_sync(sync);
	tell(CUPTI_CB_DOMAIN_SYNCHRONIZE,
	     sync->handle ? CUPTI_CBID_SYNCHRONIZE_STREAM_SYNCHRONIZED
			  : CUPTI_CBID_SYNCHRONIZE_CONTEXT_SYNCHRONIZED,
	     &data);
}

static void on_resource(uint32_t cbid, CUcontext context, CUstream stream)
{
	CUpti_ResourceData data = { .context = context, .resourceHandle.stream = stream };

	tell(CUPTI_CB_DOMAIN_RESOURCE, cbid, &data);
}

static const struct double_listener listener = {
	.reserve = record_reserve,
	.complete = record_complete,
	.enter = on_enter,
	.leave = on_leave,
	.synchronized = on_synchronized,
	.resource = on_resource,
	.context_made = record_context,
	.enabled = kind_enabled,
};

__attribute__((constructor)) static void begin(void)
{
	double_listen(&listener);
}

/* ---- versions and texts ---- */

DOUBLE_EXPORT CUptiResult CUPTIAPI cuptiGetVersion(uint32_t *version)
{
	int64_t cuda = script_number("cuda", 13);
	int fail = script_fails("cuptiGetVersion");

	*version = (uint32_t)script_number("version", cuda < 12   ? 14
						      : cuda < 13 ? 28
								  : CUPTI_API_VERSION);
	return (CUptiResult)fail;
}

DOUBLE_EXPORT CUptiResult CUPTIAPI cuptiGetResultString(CUptiResult rc, const char **text)
{
	static __thread char said[48];

	snprintf(said, sizeof said, "CUPTI_DOUBLE_RESULT_%d", (int)rc);
	*text = rc == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED
			? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"
			: said;
	return CUPTI_SUCCESS;
}

DOUBLE_EXPORT CUptiResult CUPTIAPI cuptiGetErrorMessage(CUptiResult rc, const char **text)
{
	return cuptiGetResultString(rc, text);
}

DOUBLE_EXPORT CUptiResult CUPTIAPI cuptiGetLastError(void)
{
	CUptiResult e = last_error;

	last_error = CUPTI_SUCCESS;
	return e;
}

DOUBLE_EXPORT CUptiResult CUPTIAPI cuptiComputeCapabilitySupported(int major, int minor,
								   int *support)
{
	*support = major * 10 + minor >= (script_number("cuda", 13) < 13 ? 50 : 75);
	return CUPTI_SUCCESS;
}

DOUBLE_EXPORT CUptiResult CUPTIAPI cuptiDeviceSupported(CUdevice device, int *support)
{
	(void)device;
	REFUSE();
	return cuptiComputeCapabilitySupported((int)script_number("compute-capability", 90) / 10,
					       (int)script_number("compute-capability", 90) % 10,
					       support);
}

/* ---- subscribers ---- */

static CUptiResult subscribe(CUpti_SubscriberHandle *ret, CUpti_CallbackFunc f, void *data,
			     CUpti_SubscriberParams *p)
{
	const char *other = script_text("subscriber");

	if (subscribed)
		other = subscriber_name;
	if (other) {
		if (p && p->oldSubscriberName && p->oldSubscriberSize)
			snprintf(p->oldSubscriberName, p->oldSubscriberSize, "%s", other);
		return (CUptiResult)script_number("subscriber-error",
						  CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
	}
	snprintf(subscriber_name, sizeof subscriber_name, "%s",
		 p && p->subscriberName ? p->subscriberName : "Unknown");
	memset(&subscriber, 0, sizeof subscriber);
	subscriber.callback = f;
	subscriber.data = data;
	subscribed = true;
	*ret = &subscriber;
	return CUPTI_SUCCESS;
}

DOUBLE_EXPORT CUptiResult CUPTIAPI cuptiSubscribe(CUpti_SubscriberHandle *ret, CUpti_CallbackFunc f,
						  void *data)
{
	REFUSE();
	return subscribe(ret, f, data, NULL);
}

DOUBLE_EXPORT CUptiResult CUPTIAPI cuptiSubscribe_v2(CUpti_SubscriberHandle *ret,
						     CUpti_CallbackFunc f, void *data,
						     CUpti_SubscriberParams *p)
{
	REFUSE();
	if (p && p->structSize < CUpti_SubscriberParams_STRUCT_SIZE)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (p && p->subscriberName && strlen(p->subscriberName) > CUPTI_SUBSCRIBER_NAME_MAX_LEN)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (p && p->oldSubscriberName && p->oldSubscriberSize < CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN)
		return CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
	return subscribe(ret, f, data, p);
}

DOUBLE_EXPORT CUptiResult CUPTIAPI cuptiUnsubscribe(CUpti_SubscriberHandle s)
{
	if (!s)
		return CUPTI_ERROR_INVALID_PARAMETER;
	REFUSE();
	subscribed = false;
	return CUPTI_SUCCESS;
}

DOUBLE_EXPORT CUptiResult CUPTIAPI cuptiEnableCallback(uint32_t on, CUpti_SubscriberHandle s,
						       CUpti_CallbackDomain domain,
						       CUpti_CallbackId cbid)
{
	if (!s || domain >= CUPTI_CB_DOMAIN_SIZE || cbid >= CALLS)
		return CUPTI_ERROR_INVALID_PARAMETER;
	REFUSE();
	s->on[domain][cbid] = on != 0;
	return CUPTI_SUCCESS;
}

DOUBLE_EXPORT CUptiResult CUPTIAPI cuptiEnableDomain(uint32_t on, CUpti_SubscriberHandle s,
						     CUpti_CallbackDomain domain)
{
	if (!s || domain >= CUPTI_CB_DOMAIN_SIZE)
		return CUPTI_ERROR_INVALID_PARAMETER;
	REFUSE();
	memset(s->on[domain], on != 0, CALLS);
	return CUPTI_SUCCESS;
}

DOUBLE_EXPORT CUptiResult CUPTIAPI cuptiEnableAllDomains(uint32_t on, CUpti_SubscriberHandle s)
{
	for (int d = 1; d < CUPTI_CB_DOMAIN_SIZE; d++) {
		CUptiResult rc = cuptiEnableDomain(on, s, (CUpti_CallbackDomain)d);
		if (rc)
			return rc;
	}
	return CUPTI_SUCCESS;
}

DOUBLE_EXPORT CUptiResult CUPTIAPI cuptiGetCallbackState(uint32_t *on, CUpti_SubscriberHandle s,
							 CUpti_CallbackDomain domain,
							 CUpti_CallbackId cbid)
{
	if (!s || domain >= CUPTI_CB_DOMAIN_SIZE || cbid >= CALLS)
		return CUPTI_ERROR_INVALID_PARAMETER;
	REFUSE();
	*on = s->on[domain][cbid];
	return CUPTI_SUCCESS;
}

/* ---- kinds ---- */

static void enable_context_record(const struct double_context *c)
{
	record_context(c);
}

static CUptiResult enable(uint32_t kind, bool on)
{
	char name[32];

	if (kind >= KINDS || !kind)
		return CUPTI_ERROR_INVALID_KIND;
	snprintf(name, sizeof name, "kind-%u", kind);
	if (on && script_fails(name))
		return (CUptiResult)script_fails(name);
	if (on && !record_size(kind)) /* a kind that this double has no records for */
		return kind <= CUPTI_ACTIVITY_KIND_MEM_DECOMPRESS ? CUPTI_SUCCESS
								  : CUPTI_ERROR_INVALID_KIND;
	bool was = kinds[kind];
	__atomic_store_n(&kinds[kind], on, __ATOMIC_RELAXED);
	if (on && !was && kind == CUPTI_ACTIVITY_KIND_DEVICE)
		record_devices();
	if (on && !was && kind == CUPTI_ACTIVITY_KIND_CONTEXT && double_driver())
		double_driver()->each_context(enable_context_record);
	return CUPTI_SUCCESS;
}

DOUBLE_EXPORT CUptiResult CUPTIAPI cuptiActivityEnable(CUpti_ActivityKind kind)
{
	REFUSE();
	return enable(kind, true);
}

DOUBLE_EXPORT CUptiResult CUPTIAPI cuptiActivityEnableAndDump(CUpti_ActivityKind kind)
{
	REFUSE();
	return enable(kind, true);
}

DOUBLE_EXPORT CUptiResult CUPTIAPI cuptiActivityEnableContext(CUcontext context,
							      CUpti_ActivityKind kind)
{
	(void)context;
	REFUSE();
	return enable(kind, true);
}

DOUBLE_EXPORT CUptiResult CUPTIAPI cuptiActivityDisable(CUpti_ActivityKind kind)
{
	REFUSE();
	return enable(kind, false);
}

static CUptiResult enable_call(int which, uint32_t cbid, uint8_t on)
{
	if (cbid >= CALLS)
		return CUPTI_ERROR_INVALID_PARAMETER;
	calls[which][cbid] = on ? 1 : 2;
	any_call[which] = true;
	return CUPTI_SUCCESS;
}

DOUBLE_EXPORT CUptiResult CUPTIAPI cuptiActivityEnableDriverApi(CUpti_CallbackId cbid, uint8_t on)
{
	REFUSE();
	return enable_call(0, cbid, on);
}

DOUBLE_EXPORT CUptiResult CUPTIAPI cuptiActivityEnableRuntimeApi(CUpti_CallbackId cbid, uint8_t on)
{
	REFUSE();
	return enable_call(1, cbid, on);
}

DOUBLE_EXPORT CUptiResult CUPTIAPI cuptiActivityConfigureUnifiedMemoryCounter(
	CUpti_ActivityUnifiedMemoryCounterConfig *config, uint32_t n)
{
	(void)config, (void)n;
	REFUSE();
	if (!double_driver() || !double_driver()->ready())
		return CUPTI_ERROR_NOT_INITIALIZED;
	return script_number("mps", 0) ? CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_WITH_MPS
				       : CUPTI_SUCCESS;
}

/* ---- switches that change nothing here ---- */

#define SWITCH(name)                                                                               \
	DOUBLE_EXPORT CUptiResult CUPTIAPI name(uint8_t on)                                        \
	{                                                                                          \
		(void)on;                                                                          \
		REFUSE();                                                                          \
		return CUPTI_SUCCESS;                                                              \
	}
SWITCH(cuptiActivityEnableLatencyTimestamps)
SWITCH(cuptiActivityEnableDeviceGraph)
SWITCH(cuptiActivityEnableLaunchAttributes)
SWITCH(cuptiActivityEnableAllocationSource)
SWITCH(cuptiActivityEnableAllSyncRecords)

DOUBLE_EXPORT CUptiResult CUPTIAPI cuptiActivityEnableHWTrace(uint8_t on)
{
	(void)on;
	REFUSE();
	return CUPTI_ERROR_NOT_SUPPORTED;
}

/* ---- buffers ---- */

DOUBLE_EXPORT CUptiResult CUPTIAPI cuptiActivityRegisterCallbacks(
	CUpti_BuffersCallbackRequestFunc r, CUpti_BuffersCallbackCompleteFunc c)
{
	int fail = script_fails(__func__);

	if (fail)
		return (CUptiResult)fail;
	if (!r || !c)
		return CUPTI_ERROR_INVALID_PARAMETER;
	buffers_callbacks(r, c);
	return CUPTI_SUCCESS;
}

DOUBLE_EXPORT CUptiResult CUPTIAPI
cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc f)
{
	REFUSE();
	if (!f)
		return CUPTI_ERROR_INVALID_PARAMETER;
	record_timestamp_callback(f);
	return CUPTI_SUCCESS;
}

DOUBLE_EXPORT CUptiResult CUPTIAPI cuptiActivityFlushAll(uint32_t flag)
{
	REFUSE();
	/* In a child that forked off a process with a device it never came back: seen with the real
	 * one. */
	while (double_forked())
		pause();
	cupti_own_lock();
	buffers_flush((flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) != 0);
	cupti_own_unlock();
	return CUPTI_SUCCESS;
}

DOUBLE_EXPORT CUptiResult CUPTIAPI cuptiActivityFlush(CUcontext context, uint32_t stream,
						      uint32_t flag)
{
	(void)context, (void)stream;
	return cuptiActivityFlushAll(flag);
}

DOUBLE_EXPORT CUptiResult CUPTIAPI cuptiActivityFlushPeriod(uint32_t ms)
{
	(void)ms; /* what it moves, full and complete buffers, goes at once here */
	REFUSE();
	return CUPTI_SUCCESS;
}

DOUBLE_EXPORT CUptiResult CUPTIAPI cuptiActivityGetNumDroppedRecords(CUcontext context,
								     uint32_t stream, size_t *ret)
{
	int fail = script_fails(__func__);

	(void)context, (void)stream;
	if (fail)
		return (CUptiResult)fail;
	cupti_own_lock();
	*ret = buffers_dropped();
	cupti_own_unlock();
	return CUPTI_SUCCESS;
}

DOUBLE_EXPORT CUptiResult CUPTIAPI cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid,
							      CUpti_Activity **record)
{
	size_t at = 0;
	uint32_t kind;

	if (!buffer || !record)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (*record) {
		at = (size_t)((uint8_t *)*record - buffer);
		memcpy(&kind, buffer + at, sizeof kind);
		at += record_size(kind);
	}
	if (at + sizeof kind > valid)
		return CUPTI_ERROR_MAX_LIMIT_REACHED;
	memcpy(&kind, buffer + at, sizeof kind);
	if (!record_size(kind))
		return CUPTI_ERROR_INVALID_KIND;
	if (at + record_size(kind) > valid)
		return CUPTI_ERROR_MAX_LIMIT_REACHED;
	*record = (CUpti_Activity *)(void *)(buffer + at);
	return CUPTI_SUCCESS;
}

static struct {
	uint64_t value;
	bool set;
} attributes[16];

static const struct {
	uint8_t size;
	uint64_t value;
} attribute_defaults[16] = {
	[CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE] = { sizeof(size_t), 3200000 },
	[CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT] = { sizeof(size_t), 250 },
	[CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER] = { sizeof(uint8_t), 0 },
	[CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE] = { sizeof(size_t), 3 },
	[CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED] = { sizeof(uint8_t), 0 },
	[CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER] = { sizeof(uint8_t), 1 },
};

DOUBLE_EXPORT CUptiResult CUPTIAPI cuptiActivitySetAttribute(CUpti_ActivityAttribute a,
							     size_t *size, void *value)
{
	REFUSE();
	if ((unsigned)a >= 16 || !attribute_defaults[a].size || !size || !value)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (*size < attribute_defaults[a].size)
		return CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
	attributes[a].value = 0;
	attributes[a].set = true;
	memcpy(&attributes[a].value, value, attribute_defaults[a].size);
	if (a == CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER) {
		if (buffers_ready()) /* only before the callbacks are there */
			return CUPTI_ERROR_INVALID_OPERATION;
		buffers_per_thread(attributes[a].value != 0);
	}
	return CUPTI_SUCCESS;
}

DOUBLE_EXPORT CUptiResult CUPTIAPI cuptiActivityGetAttribute(CUpti_ActivityAttribute a,
							     size_t *size, void *value)
{
	REFUSE();
	if ((unsigned)a >= 16 || !attribute_defaults[a].size || !size || !value)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (*size < attribute_defaults[a].size)
		return CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
	uint64_t v = attributes[a].set ? attributes[a].value : attribute_defaults[a].value;
	memcpy(value, &v, attribute_defaults[a].size);
	*size = attribute_defaults[a].size;
	return CUPTI_SUCCESS;
}

/* ---- the rest ---- */

DOUBLE_EXPORT CUptiResult CUPTIAPI cuptiGetTimestamp(uint64_t *ret)
{
	int fail = script_fails(__func__);

	if (!fail)
		*ret = record_time(double_now());
	return (CUptiResult)fail;
}

DOUBLE_EXPORT CUptiResult CUPTIAPI cuptiGetContextId(CUcontext c, uint32_t *ret)
{
	REFUSE();
	if (!c || !double_driver())
		return CUPTI_ERROR_INVALID_CONTEXT;
	*ret = double_driver()->context_id(c);
	return CUPTI_SUCCESS;
}

DOUBLE_EXPORT CUptiResult CUPTIAPI cuptiGetDeviceId(CUcontext c, uint32_t *ret)
{
	REFUSE();
	if (!c || !double_driver())
		return CUPTI_ERROR_INVALID_CONTEXT;
	*ret = double_driver()->context_device(c);
	return CUPTI_SUCCESS;
}

DOUBLE_EXPORT CUptiResult CUPTIAPI cuptiGetStreamIdEx(CUcontext c, CUstream s, uint8_t per_thread,
						      uint32_t *ret)
{
	(void)per_thread;
	REFUSE();
	if (!double_driver())
		return CUPTI_ERROR_INVALID_STREAM;
	*ret = double_driver()->stream_id(c ? c : double_driver()->current(), s);
	return CUPTI_SUCCESS;
}

DOUBLE_EXPORT CUptiResult CUPTIAPI cuptiGetStreamId(CUcontext c, CUstream s, uint32_t *ret)
{
	return cuptiGetStreamIdEx(c, s, 0, ret);
}

DOUBLE_EXPORT CUptiResult CUPTIAPI cuptiGetGraphNodeId(CUgraphNode n, uint64_t *ret)
{
	REFUSE();
	*ret = double_driver() ? double_driver()->node_id(n) : 0;
	return CUPTI_SUCCESS;
}

DOUBLE_EXPORT CUptiResult CUPTIAPI cuptiGetGraphId(CUgraph g, uint32_t *ret)
{
	REFUSE();
	*ret = double_driver() ? double_driver()->graph_id(g) : 0;
	return CUPTI_SUCCESS;
}

DOUBLE_EXPORT CUptiResult CUPTIAPI cuptiGetGraphExecId(CUgraphExec e, uint32_t *ret)
{
	REFUSE();
	*ret = double_driver() ? double_driver()->exec_id(e) : 0;
	return CUPTI_SUCCESS;
}

DOUBLE_EXPORT CUptiResult CUPTIAPI cuptiFinalize(void)
{
	for (int k = 0; k < KINDS; k++)
		__atomic_store_n(&kinds[k], false, __ATOMIC_RELAXED);
	subscribed = false;
	return CUPTI_SUCCESS;
}

/* For tests that have no NVTX: a range or a mark of their own. flags as in CUpti_ActivityMarker2.
 */
DOUBLE_EXPORT void double_marker(uint32_t flags, uint32_t id, const char *name, const char *domain);
void double_marker(uint32_t flags, uint32_t id, const char *name, const char *domain)
{
	record_marker(flags, id, name, domain);
}
