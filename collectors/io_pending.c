#include "collectors/io_pending.h"

#include <fcntl.h>
#include <string.h>

#define ROOM 16384
#define BUCKETS 4096 /* a power of two */

struct entry {
	struct io_pending p;
	struct entry *next;
	uint32_t forks;
};

/* With the lock. Touched only where such operations are. */
static struct entry entries[ROOM], *buckets[BUCKETS], *unused;
static size_t n_entries;

static struct entry **bucket(const void *of, uint64_t id)
{
	uint64_t h = ((uint64_t)(uintptr_t)of ^ id) * UINT64_C(0x9E3779B97F4A7C15);
	return &buckets[h >> 52 & (BUCKETS - 1)];
}

void io_pending_add(const struct io_pending *p)
{
	int saved = errno;
	if (io_lock() == 0) {
		struct entry *e = unused;
		if (e)
			unused = e->next;
		else if (n_entries < ROOM)
			e = &entries[n_entries++];
		struct entry **to = bucket(p->of, p->id);
		while (e && *to)
			to = &(*to)->next;
		if (e) {
			*e = (struct entry){ .p = *p, .forks = io.forks };
			*to = e;
		} else {
			ADD(io.dropped, 1);
		}
		io_unlock();
	}
	errno = saved;
}

static bool take(const void *of, uint64_t id, struct io_pending *ret)
{
	bool found = false;
	if (!GET(n_entries) || io_lock())
		return false;
	for (struct entry **at = bucket(of, id), *e; !found && (e = *at); at = &e->next) {
		if (e->p.of != of || e->p.id != id || e->forks != io.forks)
			continue;
		*ret = e->p;
		*at = e->next;
		e->next = unused;
		unused = e;
		found = true;
		break;
	}
	io_unlock();
	return found;
}

/* What the program has now: another descriptor, or one less. */
static int64_t opened(const struct io_pending *p, int64_t result)
{
	if (result < 0)
		return result;
	const struct io_opened as = { .fd = (int)result,
				      .path = p->path,
				      .flags = p->arg[2],
				      .interface = IO_URING,
				      .type = IO_FILE };
	return io_number(io_opened(&as));
}

void io_pending_end(const struct io_span *c, const void *of, uint64_t id, int64_t result)
{
	struct io_pending p;
	int saved = errno;
	uint64_t end = io_now();
	if (take(of, id, &p)) {
		if (p.own)
			p.at = io_place_move(p.own, result > 0 ? result : 0);
		if (p.call == IO_uring_open)
			result = opened(&p, result);
		io_put(c, p.begin, end, (enum io_call)p.call, result, p.at, p.n_args, p.arg);
	}
	errno = saved;
}

void io_pending_drop(const void *of, uint64_t id)
{
	struct io_pending p;
	int saved = errno;
	(void)take(of, id, &p);
	errno = saved;
}

void io_pending_forget(const void *of)
{
	int saved = errno;
	if (!GET(n_entries) || io_lock())
		return;
	for (size_t i = 0; i < BUCKETS; i++)
		for (struct entry **at = &buckets[i], *e; (e = *at);) {
			if (e->p.of != of) {
				at = &e->next;
				continue;
			}
			*at = e->next;
			e->next = unused;
			unused = e;
		}
	io_unlock();
	errno = saved;
}
