/* The double of libcupti as the library of NVTX_INJECTION64_PATH: ranges and marks of the program
 * become marker records. The shapes are those that the NVTX 3 header agrees on with its tools. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "fake_cupti.h"

enum { MODULE_CORE = 1, MODULE_CORE2 = 5, TABLE_CALLBACKS = 1 };
enum { MARK_A = 2, RANGE_START_A = 5, RANGE_END = 7, RANGE_PUSH_A = 9, RANGE_POP = 11 };
enum {
	DOMAIN_MARK_EX = 1,
	DOMAIN_RANGE_START_EX = 2,
	DOMAIN_RANGE_END = 3,
	DOMAIN_RANGE_PUSH_EX = 4,
	DOMAIN_RANGE_POP = 5,
	DOMAIN_REGISTER_STRING_A = 10,
	DOMAIN_CREATE_A = 12,
};
enum { MESSAGE_ASCII = 1, MESSAGE_REGISTERED = 3 };

struct nvtx_attributes {
	uint16_t version, size;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type, reserved;
	uint64_t payload;
	int32_t message_type;
	const void *message;
};

struct nvtx_callbacks {
	size_t size;
	int (*functions)(int module, void ****ret_table, unsigned *ret_size);
};

enum { DEEP = 64 };
static __thread struct {
	const char *domain;
	uint32_t id;
} open_ranges[DEEP];
static __thread int depth;
static uint32_t last_id;

static uint32_t next_id(void)
{
	return __atomic_add_fetch(&last_id, 1, __ATOMIC_RELAXED);
}

static const char *message(const struct nvtx_attributes *a)
{
	bool text =
		a && (a->message_type == MESSAGE_ASCII || a->message_type == MESSAGE_REGISTERED);

	return text ? strdup(a->message) : NULL; /* records point to it: never freed */
}

static int push(const char *name, const char *domain)
{
	if (depth == DEEP)
		return -1;
	open_ranges[depth].domain = domain;
	open_ranges[depth].id = next_id();
	record_marker(CUPTI_ACTIVITY_FLAG_MARKER_START, open_ranges[depth].id, name, domain);
	return depth++;
}

static int pop(const char *domain)
{
	int i = depth - 1;

	while (i >= 0 && open_ranges[i].domain != domain)
		i--;
	if (i < 0)
		return -2;
	record_marker(CUPTI_ACTIVITY_FLAG_MARKER_END, open_ranges[i].id, NULL, domain);
	memmove(&open_ranges[i], &open_ranges[i + 1],
		(size_t)(depth - i - 1) * sizeof *open_ranges);
	return --depth;
}

static void mark_a(const char *name)
{
	record_marker(CUPTI_ACTIVITY_FLAG_MARKER_INSTANTANEOUS, next_id(), strdup(name), NULL);
}

static uint64_t range_start_a(const char *name)
{
	uint32_t id = next_id();

	record_marker(CUPTI_ACTIVITY_FLAG_MARKER_START, id, strdup(name), NULL);
	return id;
}

static void range_end(uint64_t id)
{
	record_marker(CUPTI_ACTIVITY_FLAG_MARKER_END, (uint32_t)id, NULL, NULL);
}

static int range_push_a(const char *name)
{
	return push(strdup(name), NULL);
}

static int range_pop(void)
{
	return pop(NULL);
}

/* A domain's handle is its name. */
static void domain_mark_ex(char *domain, const struct nvtx_attributes *a)
{
	record_marker(CUPTI_ACTIVITY_FLAG_MARKER_INSTANTANEOUS, next_id(), message(a), domain);
}

static uint64_t domain_range_start_ex(char *domain, const struct nvtx_attributes *a)
{
	uint32_t id = next_id();

	record_marker(CUPTI_ACTIVITY_FLAG_MARKER_START, id, message(a), domain);
	return id;
}

static void domain_range_end(char *domain, uint64_t id)
{
	record_marker(CUPTI_ACTIVITY_FLAG_MARKER_END, (uint32_t)id, NULL, domain);
}

static int domain_range_push_ex(char *domain, const struct nvtx_attributes *a)
{
	return push(message(a), domain);
}

static char *keep_text(void *domain, const char *text)
{
	(void)domain;
	return strdup(text);
}

static char *domain_create_a(const char *name)
{
	return strdup(name);
}

static void patch(void ***table, unsigned size, unsigned id, void *function)
{
	if (id < size && table[id])
		*table[id] = function;
}

DOUBLE_EXPORT int InitializeInjectionNvtx2(const void *(*get_table)(uint32_t));
int InitializeInjectionNvtx2(const void *(*get_table)(uint32_t))
{
	const struct nvtx_callbacks *c = get_table(TABLE_CALLBACKS);
	void ***table;
	unsigned n;

	if (!c || c->size < sizeof *c)
		return 0;
	if (c->functions(MODULE_CORE, &table, &n)) {
		patch(table, n, MARK_A, (void *)mark_a);
		patch(table, n, RANGE_START_A, (void *)range_start_a);
		patch(table, n, RANGE_END, (void *)range_end);
		patch(table, n, RANGE_PUSH_A, (void *)range_push_a);
		patch(table, n, RANGE_POP, (void *)range_pop);
	}
	if (c->functions(MODULE_CORE2, &table, &n)) {
		patch(table, n, DOMAIN_MARK_EX, (void *)domain_mark_ex);
		patch(table, n, DOMAIN_RANGE_START_EX, (void *)domain_range_start_ex);
		patch(table, n, DOMAIN_RANGE_END, (void *)domain_range_end);
		patch(table, n, DOMAIN_RANGE_PUSH_EX, (void *)domain_range_push_ex);
		patch(table, n, DOMAIN_RANGE_POP, (void *)pop);
		patch(table, n, DOMAIN_REGISTER_STRING_A, (void *)keep_text);
		patch(table, n, DOMAIN_CREATE_A, (void *)domain_create_a);
	}
	return 1;
}
