/* What CUPTI's versions for CUDA 11 to 13 have in common, written down here, so that one library
 * serves them all and is built without NVIDIA's headers: the parts of records that no version has
 * moved, and the numbers that we use. Where cupti.h is at hand, cupti_layout.c checks each of them
 * against it. A record of a newer version is longer, never shorter: libcupti itself steps from one
 * to the next, and its length says which of the later fields it has. */
#ifndef COLLECTORS_CUPTI_ABI_H
#define COLLECTORS_CUPTI_ABI_H

#include <stddef.h>
#include <stdint.h>

enum {
	CUPTI_KIND_MEMCPY = 1,
	CUPTI_KIND_MEMSET = 2,
	CUPTI_KIND_SERIAL_KERNEL = 3,
	CUPTI_KIND_DRIVER = 4,
	CUPTI_KIND_RUNTIME = 5,
	CUPTI_KIND_KERNEL = 10, /* the one that does not serialise them */
	CUPTI_KIND_MARKER = 12,
	CUPTI_KIND_OVERHEAD = 17,
	CUPTI_KIND_PEER_COPY = 22,
	CUPTI_KIND_UNIFIED_MEMORY = 25,
	CUPTI_KIND_GRAPH = 51,
	CUPTI_KIND_DEVICE_GRAPH = 53,
	CUPTI_KIND_DECOMPRESS = 54,
	CUPTI_KINDS = 64, /* more than we use */
};

enum {
	CUPTI_OK = 0,
	CUPTI_ERROR_1_PARAMETER = 1,
	CUPTI_ERROR_12_LIMIT = 12, /* the end of a buffer; of old: another subscriber */
	CUPTI_ERROR_15_EARLY = 15, /* the driver is not yet started */
	CUPTI_ERROR_21_KIND = 21,
	CUPTI_ERROR_39_SUBSCRIBERS = 39,
	CUPTI_ERROR_999_UNKNOWN = 999,
};

enum {
	CUPTI_ATTRIBUTE_DEVICE_POOL_LIMIT = 2,
	CUPTI_ATTRIBUTE_ZEROED = 5,
	CUPTI_ATTRIBUTE_PER_THREAD = 9,
	CUPTI_FLUSH_FORCED = 1,
	CUPTI_DOMAIN_DRIVER = 1,
	CUPTI_DOMAIN_RUNTIME = 2,
	CUPTI_DOMAIN_RESOURCE = 3,
	CUPTI_RESOURCE_CONTEXT_CREATED = 1,
	CUPTI_RESOURCE_CONTEXT_DESTROY = 2,
	CUPTI_RESOURCE_INIT_FINISHED = 5,
	CUPTI_MARKER_BEGINS = 2,
	CUPTI_MARKER_ENDS = 4,
	CUPTI_UM_SCOPE_DEVICE = 1,
	CUPTI_UM_SCOPE_ALL = 2,
	CUPTI_UM_HTOD = 1,
	CUPTI_UM_DTOH = 2,
	CUPTI_UM_DTOD = 8,
};

typedef void cupti_callback(void *arg, int domain, uint32_t cbid, const void *data);
typedef void cupti_requested(uint8_t **ret, size_t *ret_size, size_t *ret_records);
typedef void cupti_completed(void *context, uint32_t stream, uint8_t *buffer, size_t size,
			     size_t valid);

struct cupti_subscriber {
	size_t size;
	const char *name;
	char *other; /* who is there already */
	size_t other_room;
};

struct cupti_um_config {
	uint32_t scope, kind, device, enable;
};

struct cupti_kernel_record {
	uint32_t kind, flags[3];
	uint64_t start, end, completed;
	uint32_t device, context, stream, grid[3], block[3];
	uint32_t shared[2], local[2], correlation;
	int64_t grid_id;
	const char *name;
};

struct cupti_copy_record {
	uint32_t kind;
	uint8_t copy_kind, from, to, flags;
	uint64_t bytes, start, end;
	uint32_t device, context, stream, correlation;
};
/* Where the record is long enough: how many copies were given to the driver as one. */
#define CUPTI_COPY_COUNT_AT 88

struct cupti_fill_record {
	uint32_t kind, value;
	uint64_t bytes, start, end;
	uint32_t device, context, stream, correlation;
};

struct cupti_call_record {
	uint32_t kind, cbid;
	uint64_t start, end;
	uint32_t process, thread, correlation, result;
};

struct cupti_um_record {
	uint32_t kind, counter;
	uint64_t value, start, end, address;
	uint32_t from, to, stream, process;
};

struct cupti_marker_record {
	uint32_t kind, flags;
	uint64_t time;
	uint32_t id, object[5];
	const char *name, *domain;
};

struct cupti_overhead_record {
	uint32_t kind, what, object[4];
	uint64_t start, end;
};

struct cupti_decompress_record {
	uint32_t kind, device, context, stream, channel[2], correlation, operations;
	uint64_t bytes, reserved, start, end;
};

#endif
