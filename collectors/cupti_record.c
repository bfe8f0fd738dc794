/* Records of CUPTI to operations of the flow. */
#include <math.h>
#include <string.h>

#include "collectors/cupti_impl.h"
#include "collectors/live.h"
#include "core/category.h"

#define BATCH 256           /* records read under one lock: 20 us, about */
#define AHEAD_NS 1000000000 /* a time that lies more than this in the future is no time */
#define COPIES_MAX 65536    /* of a batch that are told apart */
#define COPY_NAMES 14

static uint64_t untimed;
static int64_t overhead_ns; /* under the flow's lock, as all below */
static uint64_t overheads, batched;

static const char *const copy_names[COPY_NAMES] = {
	[0] = "[CUDA memcpy]",
	[1] = "[CUDA memcpy Host-to-Device]",
	[2] = "[CUDA memcpy Device-to-Host]",
	[3] = "[CUDA memcpy Host-to-Array]",
	[4] = "[CUDA memcpy Array-to-Host]",
	[5] = "[CUDA memcpy Array-to-Array]",
	[6] = "[CUDA memcpy Array-to-Device]",
	[7] = "[CUDA memcpy Device-to-Array]",
	[8] = "[CUDA memcpy Device-to-Device]",
	[9] = "[CUDA memcpy Host-to-Host]",
	[10] = "[CUDA memcpy Peer-to-Peer]",
	[11] = "[CUDA Unified Memory memcpy Host-to-Device]",
	[12] = "[CUDA Unified Memory memcpy Device-to-Host]",
	[13] = "[CUDA Unified Memory memcpy Device-to-Device]",
};

struct batch {
	struct flow *f;
	int64_t now;
};

/* A fixed text: its number is asked for once. */
static uint32_t name_of(struct flow *f, const char *text, int64_t *kept)
{
	if (*kept <= 0) {
		int64_t n = flow_name(f, text, strlen(text));
		*kept = n < 0 ? 0 : n + 1;
		return n < 0 ? 0 : (uint32_t)n;
	}
	return (uint32_t)(*kept - 1);
}

/* The driver lost the time (0), or it is one that can't be: counted, and nothing else. What is
 * known of it, the begin, is kept. */
static void put(const struct batch *b, uint64_t start, uint64_t end, struct flow_op *op)
{
	bool good = start && end > start && end <= INT64_MAX;
	op->begin_ns = start && start <= INT64_MAX ? cupti_clock_convert(start) : 0;
	op->end_ns = good ? cupti_clock_convert(end) : 0;
	if (good && op->end_ns <= b->now + AHEAD_NS) {
		flow_op(b->f, op);
		return;
	}
	(void)__atomic_add_fetch(&untimed, 1, __ATOMIC_RELAXED);
	if (op->begin_ns > 0 && op->begin_ns <= b->now + AHEAD_NS) {
		op->end_ns = op->begin_ns;
		flow_op(b->f, op);
	} else {
		flow_untimed(b->f, 1);
	}
}

/* Several operations that have one time together share it evenly: their number, sum and union are
 * right, each one's length is a guess, which is said. */
static void put_shared(const struct batch *b, uint64_t start, uint64_t end, struct flow_op *op,
		       uint64_t n)
{
	uint64_t length = end > start ? end - start : 0;
	if (n <= 1 || n > COPIES_MAX || length < n) {
		put(b, start, end, op);
		return;
	}
	batched += n;
	op->bytes /= (double)n;
	for (uint64_t i = 0; i < n; i++)
		put(b, start + length / n * i, i + 1 == n ? end : start + length / n * (i + 1), op);
}

static void read_kernel(const struct batch *b, const void *record, size_t bytes)
{
	const struct cupti_kernel_record *r = record;
	if (bytes < sizeof *r)
		return;
	struct cupti_name name = cupti_kernel_name(b->f, r->name);
	struct flow_op op = {
		.bytes = NAN,
		.device = cupti_device(b->f, r->device),
		.name = name.number,
		.category = name.category,
	};
	put(b, r->start, r->end, &op);
}

static uint32_t copy_name(struct flow *f, unsigned kind)
{
	static int64_t kept[COPY_NAMES];
	if (kind >= COPY_NAMES)
		kind = 0;
	return name_of(f, copy_names[kind], &kept[kind]);
}

static void read_copy(const struct batch *b, const void *record, size_t bytes)
{
	const struct cupti_copy_record *r = record;
	uint64_t n = 1;
	if (bytes < sizeof *r)
		return;
	struct flow_op op = {
		.bytes = (double)r->bytes,
		.device = cupti_device(b->f, r->device),
		.name = copy_name(b->f, r->copy_kind),
		.category = copy_kind_category(r->copy_kind),
	};
	if (r->kind == CUPTI_KIND_MEMCPY && bytes >= CUPTI_COPY_COUNT_AT + sizeof n)
		memcpy(&n, (const char *)record + CUPTI_COPY_COUNT_AT, sizeof n);
	put_shared(b, r->start, r->end, &op, n);
}

static void read_fill(const struct batch *b, const void *record, size_t bytes)
{
	static int64_t kept;
	const struct cupti_fill_record *r = record;
	if (bytes < sizeof *r)
		return;
	struct flow_op op = {
		.bytes = (double)r->bytes,
		.device = cupti_device(b->f, r->device),
		.name = name_of(b->f, "[CUDA memset]", &kept),
		.category = FILL,
	};
	put(b, r->start, r->end, &op);
}

/* Pages that moved by themselves. The host has no number of a device. */
static void read_migration(const struct batch *b, const void *record, size_t bytes)
{
	const struct cupti_um_record *r = record;
	if (bytes < sizeof *r)
		return;
	unsigned kind = r->counter == CUPTI_UM_HTOD   ? 11
			: r->counter == CUPTI_UM_DTOH ? 12
			: r->counter == CUPTI_UM_DTOD ? 13
						      : 0;
	if (kind == 0)
		return;
	struct flow_op op = {
		.bytes = (double)r->value,
		.device = cupti_device(b->f, kind == 12 ? r->from : r->to),
		.name = copy_name(b->f, kind),
		.category = copy_kind_category(kind),
	};
	put(b, r->start, r->end, &op);
}

static void read_decompress(const struct batch *b, const void *record, size_t bytes)
{
	static int64_t kept;
	const struct cupti_decompress_record *r = record;
	if (bytes < sizeof *r)
		return;
	struct flow_op op = {
		.bytes = (double)r->bytes,
		.device = cupti_device(b->f, r->device),
		.name = name_of(b->f, "[CUDA memory decompression]", &kept),
		.category = OTHER,
	};
	put_shared(b, r->start, r->end, &op, r->operations);
}

static void read_overhead(const void *record, size_t bytes)
{
	const struct cupti_overhead_record *r = record;
	if (bytes < sizeof *r || r->end <= r->start)
		return;
	overheads++;
	overhead_ns += (int64_t)(r->end - r->start);
}

static void read_one(const struct batch *b, const void *record, size_t bytes)
{
	uint32_t kind;
	memcpy(&kind, record, sizeof kind);
	switch (kind) {
	case CUPTI_KIND_SERIAL_KERNEL:
	case CUPTI_KIND_KERNEL:
		read_kernel(b, record, bytes);
		break;
	case CUPTI_KIND_MEMCPY:
	case CUPTI_KIND_PEER_COPY:
		read_copy(b, record, bytes);
		break;
	case CUPTI_KIND_MEMSET:
		read_fill(b, record, bytes);
		break;
	case CUPTI_KIND_UNIFIED_MEMORY:
		read_migration(b, record, bytes);
		break;
	case CUPTI_KIND_DECOMPRESS:
		read_decompress(b, record, bytes);
		break;
	case CUPTI_KIND_RUNTIME:
	case CUPTI_KIND_DRIVER:
		if (bytes >= sizeof(struct cupti_call_record))
			cupti_call(b->f, record);
		break;
	case CUPTI_KIND_MARKER:
		if (bytes >= sizeof(struct cupti_marker_record))
			cupti_marker(b->f, record);
		break;
	case CUPTI_KIND_OVERHEAD:
		read_overhead(record, bytes);
		break;
	case CUPTI_KIND_GRAPH: /* only if somebody else turned it on */
	case CUPTI_KIND_DEVICE_GRAPH:
		flow_graph(b->f, 1);
		break;
	default: /* a kind that was not asked for */
		break;
	}
}

/* An unknown kind: libcupti can't step over it, so the rest of the buffer is lost; how many records
 * that were nobody can say. */
static void note_rest(int rc)
{
	char text[160];
	cupti_result_text(rc, text, sizeof text);
	live_note("CUPTI could not read all of its own records, the rest of a buffer was lost: %s",
		  text);
}

void cupti_read(uint8_t *buffer, size_t bytes)
{
	const uint8_t *end = buffer + bytes;
	struct batch b = { .now = cupti_clock_now() };
	void *record = NULL;
	int rc = bytes ? cupti.next_record(buffer, bytes, &record) : CUPTI_ERROR_12_LIMIT;
	uint64_t untimed_before = cupti_untimed();
	while (rc == CUPTI_OK) {
		b.f = live_take();
		if (!b.f)
			return;
		for (int n = 0; rc == CUPTI_OK && n < BATCH; n++) {
			const uint8_t *at = record;
			/* Records lie one behind the other: where the next one is, this one ends.
			 */
			rc = cupti.next_record(buffer, bytes, &record);
			const uint8_t *next = rc == CUPTI_OK ? record : end;
			if (at >= buffer && next > at && next <= end)
				read_one(&b, at, (size_t)(next - at));
		}
		bool lost = rc != CUPTI_OK && rc != CUPTI_ERROR_12_LIMIT;
		if (lost)
			flow_dropped(b.f, 1);
		live_give(b.f);
		if (lost)
			note_rest(rc);
	}
	if (cupti_untimed() > untimed_before)
		cupti_work_wake();
}

uint64_t cupti_untimed(void)
{
	return __atomic_load_n(&untimed, __ATOMIC_RELAXED);
}

void cupti_record_notes(void)
{
	struct flow *f = live_take();
	if (!f)
		return;
	uint64_t n = overheads, copies = batched;
	int64_t ns = overhead_ns;
	bool no_room = cupti_ranges_lost();
	live_give(f);
	if (no_room)
		live_note("more NVTX ranges were open at the same time than there was room for: "
			  "the region "
			  "is wrong");
	if (n)
		live_note("CUPTI itself took %.6f s of the program's threads, in %llu pieces",
			  (double)ns / 1e9, (unsigned long long)n);
	if (copies)
		live_note("%llu copies were given to the driver in batches: each has its even "
			  "share of "
			  "its batch's time",
			  (unsigned long long)copies);
}
