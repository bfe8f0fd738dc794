/* Which counter the marks read, and how it runs against the kernel's clocks.
 *
 * The machine's tick counter is read in a quarter of the time of clock_gettime, so it is the
 * default where it runs evenly. It is never trusted alone: pairs of its value and the kernel's time
 * are kept in the log, and the reader converts between them. Pairs are taken when the log is made,
 * after an entry when a millisecond has passed since the last one (so whatever takes a millisecond
 * has a pair right behind it), and at exit. */
#define _GNU_SOURCE
#include "marker/guest.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

uint32_t clock_is_tsc;
clock_reader *clock_read = clock_gettime;

/* The way through libc's wrapper costs a pair of marks as much as all else they do. */
static void vdso_find(void)
{
	static const char *const vdso[] = { "linux-vdso.so.1", NULL };
#if defined(__aarch64__)
	static const char name[] = "__kernel_clock_gettime";
#else
	static const char name[] = "__vdso_clock_gettime";
#endif
	clock_reader *found = (clock_reader *)symbol_of(vdso, RTLD_NOLOAD, name);
	struct timespec t;
	if (found && !found(CLOCK_MONOTONIC, &t))
		clock_read = found;
}

#if defined(__x86_64__) || defined(__i386__)
/* The processor must say that the counter is invariant, and the kernel must not have found it
 * wanting (it leaves it out of this list then). A list that can't be read decides nothing. */
static bool tsc_usable(void)
{
	unsigned a, b, c, d;
	if (!__get_cpuid(0x80000007, &a, &b, &c, &d) || !(d & 1u << 8))
		return false;
	char text[256];
	size_t n;
	static const char list[] =
		"/sys/devices/system/clocksource/clocksource0/available_clocksource";
	return file_slurp(list, text, sizeof text, &n) || strstr(text, "tsc");
}
#define COUNTER MARKLOG_TSC
#elif defined(__aarch64__)
static bool tsc_usable(void)
{
	return true; /* the generic timer runs evenly by definition */
}
#define COUNTER MARKLOG_CNTVCT
#else
static bool tsc_usable(void)
{
	return false;
}
#define COUNTER MARKLOG_MONOTONIC
#endif

uint32_t clock_choose(void)
{
	const char *wanted = getenv("ROIMETER_CLOCK");
	bool tsc = tsc_usable();
	if (wanted && !strcmp(wanted, "monotonic"))
		tsc = false;
	else if (wanted && !strcmp(wanted, "tsc"))
		tsc = COUNTER != MARKLOG_MONOTONIC;
	clock_is_tsc = tsc;
	vdso_find();
	return tsc ? COUNTER : MARKLOG_MONOTONIC;
}

static int64_t real_ns(void)
{
	struct timespec t;
	(void)clock_read(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The narrowest of some tries: an interrupt between the readings spoils one, not all. */
static struct marklog_pair pair_take(void)
{
	struct marklog_pair best = { .window = UINT64_MAX };
	for (int i = 0; i < 5; i++) {
		uint64_t before = clock_tick();
		uint64_t mono = clock_monotonic_ns();
		uint64_t after = clock_tick();
		if (after - before >= best.window)
			continue;
		best.window = after - before;
		best.mono_ns = (int64_t)mono;
		best.tick = clock_is_tsc ? before + (after - before) / 2 : mono;
	}
	int64_t mono = (int64_t)clock_monotonic_ns();
	best.real_ns = real_ns() - (mono - best.mono_ns);
	return best;
}

static void pair_copy(struct marklog_pair *to, const struct marklog_pair *from)
{
	PUT(to->tick, from->tick);
	PUT(to->mono_ns, from->mono_ns);
	PUT(to->real_ns, from->real_ns);
	PUT(to->window, from->window);
}

/* Kept for ever are pairs at distances that grow by a quarter each time, which is 128 in more
 * time than a computer runs; the last one is kept beside them, in turns at two places. */
static void pair_put(struct guest *g, const struct marklog_pair *p)
{
	struct marklog_header *h = g->header;
	uint64_t age = p->tick - g->pair_first;
	uint32_t n = h->pairs;
	if (n < MARKLOG_PAIRS && (n < 2 || age >= g->pair_kept + g->pair_kept / 4)) {
		pair_copy(&h->pair[n], p);
		PUT_RELEASE(h->pairs, n + 1);
		g->pair_kept = age;
	} else {
		uint32_t side = h->latest == 1 ? 1 : 0;
		pair_copy(&h->last[side], p);
		PUT_RELEASE(h->latest, side + 1);
	}
	PUT(g->pair_last, p->tick);
}

void clock_start(struct guest *g)
{
	struct marklog_pair p = pair_take();
	g->pair_first = p.tick;
	pair_put(g, &p);
}

#define BASELINE_NS 200000 /* two pairs of 50 ns doubt each: rate known to 0.05 % at once */

void clock_settle(struct guest *g)
{
	const struct marklog_pair *first = &g->header->pair[0];
	while (clock_monotonic_ns() - (uint64_t)first->mono_ns < BASELINE_NS)
		continue;
	struct marklog_pair p = pair_take();
	pair_put(g, &p);
	uint64_t ticks = p.tick - first->tick;
	double rate = ticks ? (double)(p.mono_ns - first->mono_ns) / (double)ticks : 1;
	g->ns_per_tick = clock_is_tsc ? rate : 1;
	g->pair_every = (uint64_t)(1e6 / g->ns_per_tick);

	uint64_t before = clock_tick();
	for (int i = 0; i < 15; i++)
		(void)clock_tick();
	g->header->mark_ticks = clock_tick() - before;
}

void clock_check(struct guest *g)
{
	if (__atomic_exchange_n(&g->pair_busy, 1, __ATOMIC_ACQUIRE))
		return; /* another thread is at it */
	struct marklog_pair p = pair_take();
	if (p.tick > GET(g->pair_last))
		pair_put(g, &p);
	PUT_RELEASE(g->pair_busy, 0);
}
