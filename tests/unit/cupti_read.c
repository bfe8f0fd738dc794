/* Records of CUPTI into an engine that writes down what it is told: those parts of them that no
 * version has moved, in buffers made here, without any CUDA. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/tools/engine.c"

#include "collectors/cupti_impl.h"

/* ---- in the place of the other files of the collector
 * --------------------------------------------- */

static int woken;

void cupti_work_wake(void)
{
	woken++;
}

int64_t cupti_clock_now(void)
{
	return 1000000;
}

int64_t cupti_clock_convert(uint64_t t)
{
	return (int64_t)t;
}

void *cupti_driver_symbol(const char *name)
{
	(void)name;
	return NULL;
}

struct cupti_api cupti;

void cupti_result_text(int result, char *text, size_t room)
{
	(void)snprintf(text, room, "error %d", result);
}

/* ---- a buffer
 * ------------------------------------------------------------------------------------- */

static struct {
	_Alignas(8) uint8_t bytes[1 << 20];
	size_t n, lengths[4096], records, at, end;
	int last; /* what the step behind the last record says */
} buffer;

static int next_record(uint8_t *bytes, size_t n, void **record)
{
	(void)n;
	buffer.at = *record ? buffer.at + 1 : 0;
	if (buffer.at == buffer.records)
		return buffer.last;
	*record = *record ? (uint8_t *)*record + buffer.lengths[buffer.at - 1] : bytes;
	return CUPTI_OK;
}

static void add(const void *record, size_t n, size_t longer)
{
	size_t length = (n + longer + 7) & ~(size_t)7;
	memset(buffer.bytes + buffer.n, 0xee, length);
	memcpy(buffer.bytes + buffer.n, record, n);
	buffer.n += length;
	buffer.lengths[buffer.records++] = length;
}

static void read_all(void)
{
	cupti_read(buffer.bytes, buffer.n);
	buffer.n = buffer.records = 0;
}

static const char *name_of_call(int domain, uint32_t cbid)
{
	static const char *const runtime[] = { "cudaLaunchKernel_v7000", "cudaMemcpy_v3020",
					       "cudaStreamSynchronize_ptsz_v7000",
					       "cudaMemcpyAsync_v3020" };
	static const char *const driver[] = { "cuLaunchKernel", "cuMemcpyDtoH_v2",
					      "cuCtxSynchronize", "cuMemcpyDtoHAsync_v2",
					      "cuMemcpyHtoD_v2_ptds" };
	return domain == CUPTI_DOMAIN_RUNTIME ? runtime[cbid] : driver[cbid];
}

static int callback_name(int domain, uint32_t cbid, const char **ret)
{
	*ret = name_of_call(domain, cbid);
	return CUPTI_OK;
}

static int set_up(void **state)
{
	(void)state;
	/* Names and devices stay: the collector keeps their numbers. */
	memset(&engine, 0, offsetof(struct flow, names));
	engine.notes.n = 0;
	owner = getpid();
	buffer.last = CUPTI_ERROR_12_LIMIT;
	cupti.next_record = next_record;
	cupti.callback_name = callback_name;
	return 0;
}

static void add_kernel(const char *name, uint64_t start, uint64_t end, size_t longer)
{
	struct cupti_kernel_record r = {
		.kind = CUPTI_KIND_KERNEL, .start = start, .end = end, .device = 1, .name = name
	};
	add(&r, sizeof r, longer);
}

static void add_call(uint32_t kind, uint32_t cbid, uint64_t start)
{
	struct cupti_call_record r = {
		.kind = kind, .cbid = cbid, .start = start, .end = start + 5
	};
	add(&r, sizeof r, 0);
}

/* ---- tests
 * ---------------------------------------------------------------------------------------- */

static void kernels_of_any_length_are_read(void **state)
{
	(void)state;
	for (size_t longer = 0; longer < 256; longer += 24)
		add_kernel("work", 100 + longer, 150 + longer, longer);
	read_all();
	assert_int_equal(engine.ops[COMPUTE], 11);
	assert_int_equal(engine.sum[COMPUTE], 550);
	assert_int_equal(engine.devices.n, 1);
	assert_string_equal(engine.devices.list[0], "- CUDA device 1");
}

static void names_at_one_address_are_told_apart(void **state)
{
	char name[64];
	int64_t before = engine.names.n;
	(void)state;
	for (int i = 0; i < 300; i++) {
		(void)snprintf(name, sizeof name, "a_kernel_with_a_long_name_and_number_%03d_in_it",
			       i % 100);
		add_kernel(name, 100, 200, 0);
		read_all();
	}
	assert_int_equal(engine.names.n - before, 100);
	for (int64_t i = before; i < before + 100; i++)
		assert_int_equal(engine.named[i], 3);
}

static void kernels_of_nccl_are_collective(void **state)
{
	(void)state;
	add_kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 1,
		   2, 0);
	add_kernel("_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE",
		   1, 2, 0);
	add_kernel(NULL, 1, 2, 0);
	read_all();
	assert_int_equal(engine.ops[COLLECTIVE], 2);
	assert_int_equal(engine.ops[COMPUTE], 1);
}

static void times_that_are_none_are_counted(void **state)
{
	(void)state;
	add_kernel("work", 0, 0, 0);
	add_kernel("work", 100, 0, 0);
	add_kernel("work", 0, 100, 0);
	add_kernel("work", 100, 90, 0);
	add_kernel("work", 100, 100, 0);
	add_kernel("work", (uint64_t)INT64_MIN, 100, 0);
	add_kernel("work", 100, UINT64_MAX, 0);
	add_kernel("work", 100, UINT64_C(100000000000000), 0); /* a day ahead */
	add_kernel("work", 100, 200, 0);
	uint64_t before = cupti_untimed();
	woken = 0;
	read_all();
	assert_int_equal(cupti_untimed() - before, 8);
	assert_int_equal(engine.untimed, 8);
	assert_int_equal(engine.sum[COMPUTE], 100);
	assert_int_equal(woken, 1);
}

/* memcpy records end at 64 bytes, or at 88, or have copyCount there. */
static void add_copy(size_t length, uint64_t copies, uint64_t start, uint64_t end)
{
	uint8_t bytes[96] = { 0 };
	struct cupti_copy_record r = {
		.kind = CUPTI_KIND_MEMCPY, .copy_kind = 1, .bytes = 900, .start = start, .end = end
	};
	memcpy(bytes, &r, sizeof r);
	memcpy(bytes + CUPTI_COPY_COUNT_AT, &copies, sizeof copies);
	add(bytes, length, 0);
}

static void copies_in_a_batch_share_its_time(void **state)
{
	(void)state;
	add_copy(64, 9, 100, 200);
	add_copy(88, 9, 100, 200);
	add_copy(96, 0, 100, 200);
	add_copy(96, 1, 100, 200);
	read_all();
	assert_int_equal(engine.ops[COPY_H2D], 4);
	add_copy(96, 7, 100, 200);
	read_all();
	assert_int_equal(engine.ops[COPY_H2D], 11);
	assert_int_equal(engine.sum[COPY_H2D], 500);
	assert_int_equal((int)(engine.bytes[COPY_H2D] + 0.5), 4500);
	add_copy(96, 1000, 100, 200);       /* shorter than a nanosecond each */
	add_copy(96, UINT64_MAX, 100, 200); /* nonsense */
	read_all();
	assert_int_equal(engine.ops[COPY_H2D], 13);
	assert_int_equal(engine.untimed, 0);
}

static void other_kinds_of_work(void **state)
{
	struct cupti_fill_record fill = {
		.kind = CUPTI_KIND_MEMSET, .bytes = 64, .start = 5, .end = 9
	};
	struct cupti_copy_record peer = {
		.kind = CUPTI_KIND_PEER_COPY, .copy_kind = 10, .bytes = 32, .start = 5, .end = 9
	};
	struct cupti_um_record page = { .kind = CUPTI_KIND_UNIFIED_MEMORY,
					.counter = CUPTI_UM_DTOH,
					.value = 16,
					.start = 5,
					.end = 9,
					.from = 3,
					.to = UINT32_MAX };
	struct cupti_um_record fault = {
		.kind = CUPTI_KIND_UNIFIED_MEMORY, .counter = 4, .start = 5, .end = 9
	};
	struct cupti_decompress_record unpack = {
		.kind = CUPTI_KIND_DECOMPRESS, .operations = 2, .bytes = 8, .start = 5, .end = 9
	};
	uint32_t graph[14] = { CUPTI_KIND_GRAPH }, strange[4] = { 60 };
	(void)state;
	add(&fill, sizeof fill, 24);
	add(&peer, sizeof peer, 32);
	add(&page, sizeof page, 40);
	add(&fault, sizeof fault, 40);
	add(&unpack, sizeof unpack, 0);
	add(graph, sizeof graph, 0);
	add(strange, sizeof strange, 0);
	read_all();
	assert_int_equal(engine.ops[FILL], 1);
	assert_int_equal(engine.ops[COPY_OTHER], 1);
	assert_int_equal(engine.ops[COPY_D2H], 1);
	assert_int_equal(engine.ops[OTHER], 2);
	assert_int_equal(engine.graphs, 1);
	assert_int_equal((int)engine.bytes[COPY_D2H], 16);
	int64_t devices = engine.devices.n;
	assert_true(text_number(&engine.devices, "- CUDA device 3") < devices);
}

static void records_that_are_cut_are_left_alone(void **state)
{
	uint32_t kinds[] = { CUPTI_KIND_KERNEL, CUPTI_KIND_MEMCPY,         CUPTI_KIND_MEMSET,
			     CUPTI_KIND_MARKER, CUPTI_KIND_UNIFIED_MEMORY, CUPTI_KIND_DECOMPRESS,
			     CUPTI_KIND_DRIVER, CUPTI_KIND_OVERHEAD };
	(void)state;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		add(&kinds[i], sizeof kinds[i], 0);
	read_all();
	for (int c = 0; c < CATEGORIES; c++)
		assert_int_equal(engine.ops[c], 0);
	assert_int_equal(engine.calls, 0);
}

static void a_rest_that_can_not_be_read_is_a_loss(void **state)
{
	(void)state;
	add_kernel("work", 100, 200, 0);
	buffer.last = CUPTI_ERROR_21_KIND;
	read_all();
	assert_int_equal(engine.ops[COMPUTE], 1);
	assert_int_equal(engine.dropped, 1);
	assert_int_equal(engine.notes.n, 1);
}

static void calls_of_the_driver_are_inside_those_of_the_runtime(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 100; i++)
		add_call(CUPTI_KIND_DRIVER, i % 5, 100 + i);
	read_all();
	assert_int_equal(engine.calls, 0); /* nobody knows yet */
	assert_false(cupti_driver_calls_idle());
	for (uint32_t i = 0; i < 40; i++) {
		add_call(CUPTI_KIND_RUNTIME, i % 4, 500 + i);
		add_call(CUPTI_KIND_DRIVER, i % 5, 500 + i);
	}
	read_all();
	assert_int_equal(engine.calls, 40);
	assert_int_equal(engine.waits, 20);
	assert_true(cupti_driver_calls_idle());
	struct flow *f = live_take();
	cupti_calls_settle(f);
	live_give(f);
	assert_int_equal(engine.calls, 40);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(kernels_of_any_length_are_read, set_up),
		cmocka_unit_test_setup(other_kinds_of_work, set_up),
		cmocka_unit_test_setup(copies_in_a_batch_share_its_time, set_up),
		cmocka_unit_test_setup(kernels_of_nccl_are_collective, set_up),
		cmocka_unit_test_setup(times_that_are_none_are_counted, set_up),
		cmocka_unit_test_setup(names_at_one_address_are_told_apart, set_up),
		cmocka_unit_test_setup(records_that_are_cut_are_left_alone, set_up),
		cmocka_unit_test_setup(a_rest_that_can_not_be_read_is_a_loss, set_up),
		cmocka_unit_test_setup(calls_of_the_driver_are_inside_those_of_the_runtime, set_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
