/* Is what cupti_abi.h says true? Asked of NVIDIA's header, where it was there when this was built.
 * Nothing here makes code. */
#include "collectors/cupti_abi.h"

#ifdef HAVE_CUPTI_H /* collectors/cupti.mk looks */

#include <assert.h>
#include <cupti.h>

#define SAME(type, theirs, record, ours)                                                           \
	static_assert(offsetof(type, theirs) == offsetof(struct record, ours) &&                   \
			      sizeof((type *)0)->theirs == sizeof((struct record *)0)->ours,       \
		      #type "." #theirs)

SAME(CUpti_ActivityKernel10, kind, cupti_kernel_record, kind);
SAME(CUpti_ActivityKernel10, start, cupti_kernel_record, start);
SAME(CUpti_ActivityKernel10, end, cupti_kernel_record, end);
SAME(CUpti_ActivityKernel10, deviceId, cupti_kernel_record, device);
SAME(CUpti_ActivityKernel10, correlationId, cupti_kernel_record, correlation);
SAME(CUpti_ActivityKernel10, name, cupti_kernel_record, name);
SAME(CUpti_ActivityMemcpy6, copyKind, cupti_copy_record, copy_kind);
SAME(CUpti_ActivityMemcpy6, bytes, cupti_copy_record, bytes);
SAME(CUpti_ActivityMemcpy6, start, cupti_copy_record, start);
SAME(CUpti_ActivityMemcpy6, end, cupti_copy_record, end);
SAME(CUpti_ActivityMemcpy6, deviceId, cupti_copy_record, device);
SAME(CUpti_ActivityMemcpyPtoP4, copyKind, cupti_copy_record, copy_kind);
SAME(CUpti_ActivityMemcpyPtoP4, bytes, cupti_copy_record, bytes);
SAME(CUpti_ActivityMemcpyPtoP4, start, cupti_copy_record, start);
SAME(CUpti_ActivityMemcpyPtoP4, end, cupti_copy_record, end);
SAME(CUpti_ActivityMemcpyPtoP4, deviceId, cupti_copy_record, device);
SAME(CUpti_ActivityMemset4, bytes, cupti_fill_record, bytes);
SAME(CUpti_ActivityMemset4, start, cupti_fill_record, start);
SAME(CUpti_ActivityMemset4, end, cupti_fill_record, end);
SAME(CUpti_ActivityMemset4, deviceId, cupti_fill_record, device);
SAME(CUpti_ActivityAPI, cbid, cupti_call_record, cbid);
SAME(CUpti_ActivityAPI, start, cupti_call_record, start);
SAME(CUpti_ActivityAPI, end, cupti_call_record, end);
SAME(CUpti_ActivityUnifiedMemoryCounter3, counterKind, cupti_um_record, counter);
SAME(CUpti_ActivityUnifiedMemoryCounter3, value, cupti_um_record, value);
SAME(CUpti_ActivityUnifiedMemoryCounter3, start, cupti_um_record, start);
SAME(CUpti_ActivityUnifiedMemoryCounter3, end, cupti_um_record, end);
SAME(CUpti_ActivityUnifiedMemoryCounter3, srcId, cupti_um_record, from);
SAME(CUpti_ActivityUnifiedMemoryCounter3, dstId, cupti_um_record, to);
SAME(CUpti_ActivityMarker2, flags, cupti_marker_record, flags);
SAME(CUpti_ActivityMarker2, timestamp, cupti_marker_record, time);
SAME(CUpti_ActivityMarker2, id, cupti_marker_record, id);
SAME(CUpti_ActivityMarker2, name, cupti_marker_record, name);
SAME(CUpti_ActivityOverhead3, overheadKind, cupti_overhead_record, what);
SAME(CUpti_ActivityOverhead3, start, cupti_overhead_record, start);
SAME(CUpti_ActivityOverhead3, end, cupti_overhead_record, end);

/* Records and calls that came with CUDA 12 and 13. */
#if CUPTI_API_VERSION >= 130000
static_assert(offsetof(CUpti_ActivityMemcpy6, copyCount) == CUPTI_COPY_COUNT_AT, "copyCount");
SAME(CUpti_ActivityMemDecompress, deviceId, cupti_decompress_record, device);
SAME(CUpti_ActivityMemDecompress, numberOfOperations, cupti_decompress_record, operations);
SAME(CUpti_ActivityMemDecompress, sourceBytes, cupti_decompress_record, bytes);
SAME(CUpti_ActivityMemDecompress, start, cupti_decompress_record, start);
SAME(CUpti_ActivityMemDecompress, end, cupti_decompress_record, end);
SAME(CUpti_SubscriberParams, structSize, cupti_subscriber, size);
SAME(CUpti_SubscriberParams, oldSubscriberName, cupti_subscriber, other);
SAME(CUpti_SubscriberParams, oldSubscriberSize, cupti_subscriber, other_room);
static_assert(CUpti_SubscriberParams_STRUCT_SIZE == sizeof(struct cupti_subscriber), "params");
static_assert((int)CUPTI_ACTIVITY_KIND_MEM_DECOMPRESS == CUPTI_KIND_DECOMPRESS, "kind");
static_assert((int)CUPTI_ACTIVITY_KIND_DEVICE_GRAPH_TRACE == CUPTI_KIND_DEVICE_GRAPH, "kind");
static_assert((int)CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER == CUPTI_ATTRIBUTE_PER_THREAD,
	      "attribute");
static_assert((int)CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED == CUPTI_ERROR_39_SUBSCRIBERS,
	      "error");
#endif
SAME(CUpti_ActivityUnifiedMemoryCounterConfig, scope, cupti_um_config, scope);
SAME(CUpti_ActivityUnifiedMemoryCounterConfig, kind, cupti_um_config, kind);
SAME(CUpti_ActivityUnifiedMemoryCounterConfig, deviceId, cupti_um_config, device);
SAME(CUpti_ActivityUnifiedMemoryCounterConfig, enable, cupti_um_config, enable);

#define EQUAL(theirs, ours) static_assert((int)(theirs) == (int)(ours), #theirs)
EQUAL(CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_KIND_MEMCPY);
EQUAL(CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_KIND_MEMSET);
EQUAL(CUPTI_ACTIVITY_KIND_KERNEL, CUPTI_KIND_SERIAL_KERNEL);
EQUAL(CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_KIND_DRIVER);
EQUAL(CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_KIND_RUNTIME);
EQUAL(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_KIND_KERNEL);
EQUAL(CUPTI_ACTIVITY_KIND_MARKER, CUPTI_KIND_MARKER);
EQUAL(CUPTI_ACTIVITY_KIND_OVERHEAD, CUPTI_KIND_OVERHEAD);
EQUAL(CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_KIND_PEER_COPY);
EQUAL(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER, CUPTI_KIND_UNIFIED_MEMORY);
EQUAL(CUPTI_ACTIVITY_KIND_GRAPH_TRACE, CUPTI_KIND_GRAPH);
EQUAL(CUPTI_ERROR_INVALID_PARAMETER, CUPTI_ERROR_1_PARAMETER);
EQUAL(CUPTI_ERROR_MAX_LIMIT_REACHED, CUPTI_ERROR_12_LIMIT);
EQUAL(CUPTI_ERROR_NOT_INITIALIZED, CUPTI_ERROR_15_EARLY);
EQUAL(CUPTI_ERROR_INVALID_KIND, CUPTI_ERROR_21_KIND);
EQUAL(CUPTI_ERROR_UNKNOWN, CUPTI_ERROR_999_UNKNOWN);
EQUAL(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT, CUPTI_ATTRIBUTE_DEVICE_POOL_LIMIT);
EQUAL(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, CUPTI_ATTRIBUTE_ZEROED);
EQUAL(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED, CUPTI_FLUSH_FORCED);
EQUAL(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DOMAIN_DRIVER);
EQUAL(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_DOMAIN_RUNTIME);
EQUAL(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_DOMAIN_RESOURCE);
EQUAL(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, CUPTI_RESOURCE_CONTEXT_CREATED);
EQUAL(CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, CUPTI_RESOURCE_CONTEXT_DESTROY);
EQUAL(CUPTI_CBID_RESOURCE_CU_INIT_FINISHED, CUPTI_RESOURCE_INIT_FINISHED);
EQUAL(CUPTI_ACTIVITY_FLAG_MARKER_START, CUPTI_MARKER_BEGINS);
EQUAL(CUPTI_ACTIVITY_FLAG_MARKER_END, CUPTI_MARKER_ENDS);
EQUAL(CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_SINGLE_DEVICE, CUPTI_UM_SCOPE_DEVICE);
EQUAL(CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_ALL_DEVICES, CUPTI_UM_SCOPE_ALL);
EQUAL(CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD, CUPTI_UM_HTOD);
EQUAL(CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH, CUPTI_UM_DTOH);
EQUAL(CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOD, CUPTI_UM_DTOD);

#endif
