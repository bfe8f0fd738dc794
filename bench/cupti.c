/* What the CUPTI collector does in a program for each record that libcupti hands it: names,
 * devices, the flow. Against stepping over the same buffers with cuptiActivityGetNextRecord alone,
 * which whoever reads them must do: NVIDIA's own where it is, else one of ours that knows the
 * length. By turns, by the process's CPU time. And against the flow alone, without
 * what is read. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include "bench/ratio.h"
#include "collectors/cupti_impl.h"
#include "collectors/live.h"

#define RECORD 216 /* a kernel of CUDA 13 */
#define RECORDS 1213
#define BYTES (RECORDS * RECORD)
#define NAMES 64
#define STREAMS 8
#define ROUNDS 21
#define BUFFERS 200

/* ---- in the place of the rest of the collector
 * --------------------------------------------------- */

struct cupti_api cupti;
static struct flow *flow;
static int64_t now_ns;

struct flow *live_take(void)
{
	return flow;
}

void live_give(struct flow *f)
{
	(void)f;
}

void live_note(const char *format, ...)
{
	(void)format;
}

void cupti_work_wake(void)
{
}

int64_t cupti_clock_now(void)
{
	return now_ns;
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

void cupti_result_text(int result, char *text, size_t room)
{
	(void)snprintf(text, room, "%d", result);
}

/* ---- libcupti
 * ------------------------------------------------------------------------------------ */

static int step(uint8_t *buffer, size_t bytes, void **record)
{
	uint8_t *next = *record ? (uint8_t *)*record + RECORD : buffer;
	if (next >= buffer + bytes)
		return CUPTI_ERROR_12_LIMIT;
	*record = next;
	return CUPTI_OK;
}

static const char *find_step(void)
{
	static const char *const places[] = {
		"libcupti.so.13",
		"/usr/local/cuda/extras/CUPTI/lib64/libcupti.so",
		"/usr/local/cuda/lib64/libcupti.so",
		"/usr/local/cuda/lib/libcupti.so",
	};
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		void *h = dlopen(places[i], RTLD_NOW | RTLD_LOCAL);
		void *at = h ? dlsym(h, "cuptiActivityGetNextRecord") : NULL;
		if (!at)
			continue;
		memcpy(&cupti.next_record, &at, sizeof at);
		return "NVIDIA's";
	}
	cupti.next_record = step;
	return "ours";
}

/* ---- the work
 * ------------------------------------------------------------------------------------ */

static _Alignas(8) uint8_t buffer[BYTES];
static char names[NAMES][96];

static void make_names(void)
{
	for (int i = 0; i < NAMES; i++)
		(void)snprintf(
			names[i], sizeof names[i],
			"void at::native::vectorized_elementwise_kernel<%d, float, functor>(int)",
			i);
}

/* Streams beside each other, each without a gap: 2 us a kernel. */
static void fill(int64_t at)
{
	for (int i = 0; i < RECORDS; i++) {
		struct cupti_kernel_record r = {
			.kind = CUPTI_KIND_KERNEL,
			.start = (uint64_t)(at + i * 250 + i % 7 * 30),
			.device = (uint32_t)i % 2,
			.stream = (uint32_t)i % STREAMS,
			.correlation = (uint32_t)i,
			.name = names[i * 7 % NAMES],
		};
		r.end = r.start + 1900;
		memcpy(buffer + (size_t)i * RECORD, &r, sizeof r);
	}
	now_ns = at + RECORDS * 250 + 10000;
}

static void walk(void)
{
	void *record = NULL;
	while (cupti.next_record(buffer, BYTES, &record) == CUPTI_OK)
		__asm__ volatile("" : : "r"(record) : "memory");
}

/* The flow, without records. */
static void flow_alone(int64_t at)
{
	for (int i = 0; i < RECORDS; i++) {
		struct flow_op op = { .begin_ns = at + i * 250 + i % 7 * 30,
				      .bytes = NAN,
				      .device = (uint32_t)i % 2,
				      .name = (uint32_t)(i * 7 % NAMES) };
		op.end_ns = op.begin_ns + 1900;
		flow_op(flow, &op);
	}
}

static int make_flow(void)
{
	struct flow_options o = { .observes = 255, .keep_busy = true, .calls = true };
	flow_free(flow);
	flow = NULL;
	return flow_new(&flow, &o, NULL);
}

int main(void)
{
	struct ratio whole = { .n = 0 }, over_flow = { .n = 0 };
	const char *whose = find_step();
	double best = INFINITY, longest = 0;
	int64_t at = 1000000000;
	make_names();
	if (make_flow())
		return 1;
	(void)flow_range(flow, false, at, at + (int64_t)1e15);
	for (int round = -1; round < ROUNDS; round++) {
		double ours = 0, theirs = 0, alone = 0;
		for (int b = 0; b < BUFFERS; b++, at += RECORDS * 250) {
			fill(at);
			double t0 = cpu_s();
			walk();
			double t1 = cpu_s();
			cupti_read(buffer, BYTES);
			double t2 = cpu_s();
			at += RECORDS * 250;
			flow_alone(at);
			double t3 = cpu_s();
			theirs += t1 - t0;
			ours += t2 - t1;
			alone += t3 - t2;
			if (round >= 0 && t2 - t1 > longest)
				longest = t2 - t1;
		}
		if (round < 0)
			continue;
		ratio_add(&whole, ours, theirs);
		ratio_add(&over_flow, ours - theirs, alone);
		if (ours < best)
			best = ours;
	}
	flow_free(flow);
	(void)printf("# step: %s; %.1f ns a record in all, longest buffer %.0f us\n", whose,
		     best / BUFFERS / RECORDS * 1e9, longest * 1e6);
	int ok = ratio_print(&over_flow, "cupti/record-over-flow", 3.0);
	ok &= ratio_print(&whole, "cupti/record-over-step", 15.0);
	return ok ? 0 : 1;
}
