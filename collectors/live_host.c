/* What collectors of one process tell each other by way of the marker library (marker/watch.c): one
 * sees a thread in I/O or MPI, another needs that for the device's gap. */
#define _GNU_SOURCE
#include "collectors/live_impl.h"

#include <errno.h>

/* ---- told -------------------------------------------------------------------------------------
 */

static void (*tell_others)(roimeter_watcher *from, const struct roimeter_watched *what);
static roimeter_watcher *ourselves;

void host_start(const struct roimeter_api *api, roimeter_watcher *self)
{
	bool knows = api->size_ >= offsetof(struct roimeter_api, watchers_) + sizeof api->watchers_;
	struct roimeter_watched will = { .what_ = ROIMETER_WATCH_TELLS_ };
	if (!knows || !live.o.tells)
		return;
	for (int i = 0; i <= LIVE_HOST_MPI; i++)
		if (live.o.tells & 1u << i)
			will.count_ |= 1u << (ROIMETER_WATCH_HOST_IO_ + i);
	tell_others = api->tell_;
	ourselves = self;
	tell_others(self, &will);
	PUT_RELEASE(live.watchers, api->watchers_());
}

bool live_host_wanted(void)
{
	const unsigned *n = GET_ACQUIRE(live.watchers);
	return n && GET(*n) > 1;
}

void live_host(enum live_host what, int64_t begin_ns, int64_t end_ns)
{
	if (!live_host_wanted() || end_ns <= begin_ns)
		return;
	const struct roimeter_watched stretch = { .what_ = ROIMETER_WATCH_HOST_IO_ + (int)what,
						  .at_ns_ = begin_ns,
						  .until_ns_ = end_ns };
	tell_others(ourselves, &stretch);
}

/* ---- taken ------------------------------------------------------------------------------------
 */

/* The program's thread is in a call of its own, perhaps in a signal handler: so it is only written
 * down, for the next one with work for the flow. */
static bool keep(const struct roimeter_watched *m)
{
	if (lock_take(&live.hosts_lock))
		return false;
	bool room = live.n_hosts < LIVE_HOSTS;
	if (room)
		live.hosts[live.n_hosts] = *m;
	PUT(live.n_hosts, live.n_hosts + room);
	lock_give(&live.hosts_lock);
	return room;
}

void host_take(const struct roimeter_watched *m)
{
	if (!live.flow || GET_ACQUIRE(live.state) != LIVE_ON)
		return;
	bool kept = keep(m);
	/* Whoever has the lock may have been put off its processor; a handler that came upon it is told so. */
	if (!kept && lock_take(&live.lock) == 0) {
		host_tell();
		kept = keep(m);
		lock_give(&live.lock);
	}
	if (!kept)
		ADD(live.hosts_lost, 1);
}

static void tell(const struct roimeter_watched *m)
{
	bool mpi = m->what_ == ROIMETER_WATCH_HOST_MPI_;
	flow_host(live.flow, mpi ? FLOW_MPI : FLOW_IO, m->at_ns_, m->until_ns_);
}

/* Nobody waits for hosts_lock longer than a copy takes. */
void host_tell(void)
{
	struct roimeter_watched some[32];
	uint32_t n = 0;
	if (!GET(live.n_hosts))
		return;
	do {
		if (lock_take(&live.hosts_lock))
			return;
		uint32_t left = live.n_hosts;
		for (n = 0; n < sizeof some / sizeof *some && left; n++)
			some[n] = live.hosts[--left];
		PUT(live.n_hosts, left);
		lock_give(&live.hosts_lock);
		for (uint32_t i = n; i-- > 0;)
			if (GET(live.state) == LIVE_ON && live.flow)
				tell(&some[i]);
	} while (n);
}
