/* What the program's threads did: on a CPU, or not. From the CPU clocks of the threads that mark,
 * read every 1 to 10 ms (a 2000th of the time since the region began): within such a period it is
 * known how long the busiest of them was on a CPU, and not when; it is taken for the last part of
 * the period. */
#define _GNU_SOURCE
#include "collectors/live_impl.h"

#include <time.h>

#define LEAST_NS 1000000
#define MOST_NS 10000000
#define PARTS 2000
#define LINGER_NS 1000000000 /* after the region was closed: it may open again at once */

static int64_t cpu_of(clockid_t clock)
{
	struct timespec t;
	return clock_gettime(clock, &t) ? -1 : (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* How long the busiest was on a CPU since it was asked last; who is gone is forgotten. */
static int64_t busiest(void)
{
	int64_t most = 0;
	for (size_t i = 0; i < live.n_threads;) {
		struct live_thread *t = &live.threads[i];
		int64_t cpu = cpu_of(t->clock);
		if (cpu < 0) {
			*t = live.threads[--live.n_threads];
			continue;
		}
		most = cpu - t->cpu_ns > most ? cpu - t->cpu_ns : most;
		t->cpu_ns = cpu;
		i++;
	}
	return most;
}

void sample_here(int64_t now)
{
	pthread_t self = pthread_self();
	struct live_thread t = { .self = self };
	if (live.o.picture) /* nobody asks */
		return;
	if (!live.sampled_ns) {
		(void)busiest(); /* what they did meanwhile is nobody's */
		live.sampled_ns = now;
	}
	for (size_t i = 0; i < live.n_threads; i++)
		if (pthread_equal(live.threads[i].self, self))
			return;
	if (live.n_threads == LIVE_THREADS || pthread_getcpuclockid(self, &t.clock))
		return;
	t.cpu_ns = cpu_of(t.clock);
	live.threads[live.n_threads++] = t;
}

void sample_all(int64_t now)
{
	int64_t since = live.sampled_ns;
	if (!since || now <= since)
		return;
	int64_t on = busiest();
	on = on > now - since ? now - since : on;
	if (on < now - since)
		flow_thread(live.flow, since, now - on, false);
	if (on)
		flow_thread(live.flow, now - on, now, true);
	live.sampled_ns = now;
}

int64_t sample_next(int64_t now)
{
	if (!live.sampled_ns)
		return INT64_MAX;
	if (!GET(live.inside) && now - live.closed_ns > LINGER_NS) {
		live.sampled_ns = 0; /* until the next mark */
		return INT64_MAX;
	}
	int64_t period = (now - live.first_ns) / PARTS;
	period = period < LEAST_NS ? LEAST_NS : period > MOST_NS ? MOST_NS : period;
	return now + period;
}
