/* Buffers for libcupti: a fixed number, mapped at the start and not touched before they are used.
 * `requested` runs on the thread that launches, `completed` on one of libcupti's, or on any that
 * flushes. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "collectors/cupti_impl.h"
#include "collectors/live.h"

#define COUNT_DEFAULT 32
#define SIZE_DEFAULT (256u << 10)
#define COUNT_MAX 1024
#define SIZE_MIN (1u << 10)
#define SIZE_MAX_BYTES (64u << 20)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint8_t *memory;
static size_t count = COUNT_DEFAULT, size = SIZE_DEFAULT, n_free;
static uint16_t free_list[COUNT_MAX];
static bool out[COUNT_MAX]; /* in libcupti's hands */
static uint64_t given, given_seen, refused, come;

/* "64", "64x1M", "x512K" */
static void read_setting(const char *text)
{
	char *end = NULL;
	if (!text || !*text)
		return;
	unsigned long n = *text == 'x' ? COUNT_DEFAULT : strtoul(text, &end, 10);
	unsigned long bytes = SIZE_DEFAULT;
	const char *x = *text == 'x' ? text : end;
	if (*x == 'x') {
		bytes = strtoul(x + 1, &end, 10);
		x = end;
		if (*x == 'K' || *x == 'k')
			bytes <<= 10, x++;
		else if (*x == 'M' || *x == 'm')
			bytes <<= 20, x++;
	}
	if (*x || n < 2 || n > COUNT_MAX || bytes < SIZE_MIN || bytes > SIZE_MAX_BYTES) {
		live_note("ROIMETER_CUPTI_BUFFERS is \"%s\", not like \"64x256K\" (2 to %d buffers "
			  "of "
			  "1K to 64M): the default, %dx%uK, was used",
			  text, COUNT_MAX, COUNT_DEFAULT, SIZE_DEFAULT >> 10);
		return;
	}
	count = n;
	size = (bytes + 7) & ~7ul;
}

int cupti_pool_init(void)
{
	read_setting(getenv("ROIMETER_CUPTI_BUFFERS"));
	void *at = mmap(NULL, count * size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED)
		return -errno;
	memory = at;
	for (size_t i = 0; i < count; i++)
		free_list[i] =
			(uint16_t)(count - 1 - i); /* the same few are used again and again */
	n_free = count;
	return 0;
}

void cupti_pool_done(void)
{
	if (memory)
		(void)munmap(memory, count * size);
	memory = NULL;
	n_free = 0;
}

void cupti_buffer_requested(uint8_t **ret, size_t *ret_size, size_t *ret_records)
{
	int saved = errno;
	*ret = NULL;
	*ret_size = 0;
	*ret_records = 0;
	if (!cupti_on())
		return;
	(void)pthread_mutex_lock(&lock);
	if (n_free > 0) {
		uint16_t i = free_list[--n_free];
		*ret = memory + i * size;
		out[i] = true;
		*ret_size = size;
		given++;
	} else {
		refused++;
	}
	(void)pthread_mutex_unlock(&lock);
	if (!*ret)
		cupti_work_wake();
	errno = saved;
}

static void give_back(uint8_t *buffer)
{
	size_t i = (size_t)(buffer - memory) / size;
	(void)pthread_mutex_lock(&lock);
	if (n_free < count && i < count && out[i]) {
		free_list[n_free++] = (uint16_t)i;
		out[i] = false;
		come++;
	}
	(void)pthread_mutex_unlock(&lock);
}

/* How many libcupti dropped since this was last asked: reading takes them. That there were none is
 * told, too: it is not the same as not to know. */
void cupti_add_dropped(void)
{
	static bool told;
	size_t n = 0;
	if (!cupti.dropped || cupti.dropped(NULL, 0, &n) ||
	    (n == 0 && __atomic_exchange_n(&told, true, __ATOMIC_RELAXED)))
		return;
	struct flow *f = live_take();
	if (!f)
		return;
	flow_dropped(f, n);
	live_give(f);
}

void cupti_buffer_completed(void *context, uint32_t stream, uint8_t *buffer, size_t bytes,
			    size_t valid)
{
	int saved = errno;
	int64_t cpu;
	(void)context;
	(void)stream;
	if (!cupti_on() || !buffer || buffer < memory || buffer >= memory + count * size)
		return;
	cpu = live_cpu_begin();
	if (valid > bytes)
		valid = bytes;
	cupti_clock_refresh();
	cupti_read(buffer, valid);
	/* libcupti was told that it gets zeros. */
	memset(buffer, 0, valid);
	give_back(buffer);
	cupti_add_dropped();
	live_cpu_end(cpu);
	errno = saved;
}

bool cupti_pool_used(void)
{
	return __atomic_load_n(&given, __ATOMIC_RELAXED) > 0;
}

uint64_t cupti_pool_come(void)
{
	return __atomic_load_n(&come, __ATOMIC_RELAXED);
}

/* They were all zeros when they were given: one that begins with a record is not an empty one. */
size_t cupti_pool_missing(void)
{
	size_t n = 0;
	(void)pthread_mutex_lock(&lock);
	for (size_t i = 0; i < count; i++)
		n += out[i] &&
		     __atomic_load_n((uint32_t *)(void *)(memory + i * size), __ATOMIC_RELAXED);
	(void)pthread_mutex_unlock(&lock);
	return n;
}

bool cupti_pool_changed(void)
{
	(void)pthread_mutex_lock(&lock);
	bool changed = given != given_seen || n_free < count;
	given_seen = given;
	(void)pthread_mutex_unlock(&lock);
	return changed;
}

uint64_t cupti_pool_refused(void)
{
	(void)pthread_mutex_lock(&lock);
	uint64_t n = refused;
	(void)pthread_mutex_unlock(&lock);
	return n;
}

size_t cupti_pool_text(char *text, size_t room)
{
	int n = snprintf(text, room, "%zux%zuK", count, size >> 10);
	return n < 0 ? 0 : (size_t)n;
}
