/* The runner's side: it never waits, but for a copy that the other side has begun. */
#define _GNU_SOURCE
#include "run/sampler.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/num.h"
#include "run/sampler_impl.h"

#define STARTS_MAX 3                     /* a driver that crashes each time is left alone then */
#define SILENT_NS INT64_C(1000000000)    /* a look that takes longer is no answer */
#define STARTING_NS INT64_C(30000000000) /* the same for the drivers' start */
#define COPY_TRIES 50
#define REAP_MS 50

struct sampler {
	struct sampler_options o;
	struct sampler_page *page;
	struct looks *copy;
	pid_t pid;
	int control;
	uint32_t execution, starts;
	int64_t started_ns;
	uint64_t cpu_before_ns, wakeups_before; /* of those that crashed */
};

static int64_t now_ns(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* Devices that a driver can be asked about come first in the list, in the same order. */
static size_t askable(const struct platform_info *info)
{
	size_t n = 0;
	while (n < info->devices.n && n < SAMPLED_MAX && info->devices.items[n].source &&
	       (strcmp(info->devices.items[n].source, "nvml") == 0 ||
		strcmp(info->devices.items[n].source, "sysfs") == 0))
		n++;
	return n;
}

static int launch(struct sampler *s)
{
	int ends[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends))
		return -errno;
	atomic_store(&s->page->ready, 0);
	atomic_store(&s->page->looking_since_ns, 0);
	atomic_store(&s->page->seq, 0);
	s->page->execution = 0;
	s->started_ns = now_ns();
	s->pid = fork();
	if (s->pid == 0) {
		(void)close(ends[0]);
		sampler_process(s->page, ends[1], &s->o);
	}
	int rc = s->pid < 0 ? -errno : 0;
	(void)close(ends[1]);
	if (rc)
		(void)close(ends[0]);
	else
		s->control = ends[0];
	s->starts++;
	return rc;
}

/* One that is stuck in the kernel does not end: then it is left to the system. */
static void end_process(struct sampler *s)
{
	if (s->control >= 0)
		(void)close(s->control);
	s->control = -1;
	/* Only while it is a child of ours is its number its own. */
	for (int i = 0; i < REAP_MS && s->pid > 0 && waitpid(s->pid, NULL, WNOHANG) == 0; i++) {
		const struct timespec pause = { .tv_nsec = 1000000 };
		(void)kill(s->pid, SIGKILL);
		(void)nanosleep(&pause, NULL);
	}
	s->pid = 0;
	if (!s->page)
		return;
	s->cpu_before_ns += atomic_exchange(&s->page->cpu_ns, 0);
	s->wakeups_before += atomic_exchange(&s->page->wakeups, 0);
}

void sampler_stop(struct sampler *s)
{
	if (!s)
		return;
	end_process(s);
	if (s->page)
		(void)munmap(s->page, sizeof *s->page);
	free(s->copy);
	free(s);
}

int sampler_start(struct sampler **ret, const struct sampler_options *o)
{
	*ret = NULL;
	if (!askable(o->info) || !(o->per_s > 0))
		return 0;
	struct sampler *s = calloc(1, sizeof *s);
	if (!s)
		return -ENOMEM;
	*s = (struct sampler){ .o = *o, .control = -1, .copy = malloc(sizeof *s->copy) };
	void *page = mmap(NULL, sizeof *s->page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			  -1, 0);
	int rc = !s->copy ? -ENOMEM : page == MAP_FAILED ? -errno : 0;
	s->page = page == MAP_FAILED ? NULL : page;
	if (!rc)
		rc = launch(s);
	if (rc) {
		sampler_stop(s);
		return rc;
	}
	*ret = s;
	return 0;
}

/* 0, -EAGAIN: it hangs, and has not read the last ones; or -errno: it is gone. */
static int tell(struct sampler *s, const struct sampler_message *m)
{
	if (s->control < 0)
		return -ENOTCONN;
	ssize_t n = send(s->control, m, sizeof *m, MSG_NOSIGNAL | MSG_DONTWAIT);
	return n < 0 ? -errno : 0;
}

void sampler_begin(struct sampler *s, pid_t root, const char *run_id)
{
	struct sampler_message m = { .root = root };
	if (!s)
		return;
	m.execution = ++s->execution;
	(void)snprintf(m.run_id, sizeof m.run_id, "%s", run_id ? run_id : "");
	int rc = tell(s, &m);
	if (!rc || rc == -EAGAIN || s->starts >= STARTS_MAX)
		return;
	end_process(s);
	if (launch(s) == 0)
		(void)tell(s, &m);
}

void sampler_end(struct sampler *s)
{
	const struct sampler_message over = { .execution = 0 };
	if (s)
		(void)tell(s, &over);
}

/* One device's looks, as they stand between two changes. */
static bool copy_looks(struct sampler *s, size_t i, bool *ret_gone)
{
	const struct sampler_page *p = s->page;
	for (int t = 0; t < COPY_TRIES; t++) {
		uint32_t before = atomic_load_explicit(&p->seq, memory_order_acquire);
		if (!(before & 1)) {
			bool mine = p->execution == s->execution && i < p->n;
			uint64_t n = mine ? p->devices[i].looks.n : 0;
			n = n < LOOKS_BINS ? n : LOOKS_BINS;
			memcpy(s->copy->bins, p->devices[i].looks.bins, n * sizeof *s->copy->bins);
			s->copy->n = n;
			*ret_gone = mine && p->devices[i].gone;
			atomic_thread_fence(memory_order_acquire);
			if (atomic_load_explicit(&p->seq, memory_order_relaxed) == before)
				return mine;
		}
		const struct timespec pause = { .tv_nsec = 100000 };
		(void)nanosleep(&pause, NULL);
	}
	s->copy->n = 0;
	return false;
}

/* Does it answer? A hang is one of all devices: they are asked one after the other. */
static const char *status_of(const struct sampler *s)
{
	int64_t now = now_ns(), since = atomic_load(&s->page->looking_since_ns);
	if (s->control < 0)
		return "no_answer";
	if (!atomic_load(&s->page->ready))
		return now - s->started_ns > STARTING_NS ? "no_answer" : "not_ready";
	return since && now - since > SILENT_NS ? "no_answer" : "ok";
}

int sampler_take(struct sampler *s, int64_t from_real_ns, int64_t to_real_ns, const char *within,
		 struct arena *a, struct execution *row)
{
	size_t n = s ? askable(s->o.info) : 0;
	struct device_state *list = n ? arena_array(a, n, sizeof *list) : NULL;
	if (!n || !list)
		return n ? -ENOMEM : 0;
	if (s->pid > 0 && waitpid(s->pid, NULL, WNOHANG) != 0) { /* it has crashed */
		s->pid = 0;
		end_process(s);
	}
	for (size_t i = 0; i < n; i++) {
		const struct accelerator *d = &s->o.info->devices.items[i];
		const char *status = status_of(s);
		bool gone = false;
		block_clear(&device_state_block, &list[i]);
		list[i].device = arena_printf(a, "%zu", i);
		list[i].name = d->name;
		list[i].place = d->place;
		list[i].within = within;
		bool mine = copy_looks(s, i, &gone);
		int rc = looks_sum(s->copy, from_real_ns, to_real_ns, a, &list[i]);
		if (rc || !list[i].device)
			return -ENOMEM;
		if (strcmp(status, "ok") == 0 && !mine)
			status = "too_short"; /* it has not begun to look yet */
		if (strcmp(status, "ok") == 0 && list[i].samples == 0)
			status = "too_short";
		list[i].status = gone ? "gone" : status;
	}
	row->devices.items = list;
	row->devices.n = n;
	return 0;
}

void sampler_cost(const struct sampler *s, double *ret_cpu_s, double *ret_wakeups)
{
	*ret_cpu_s = *ret_wakeups = 0;
	if (!s)
		return;
	*ret_cpu_s = (double)(s->cpu_before_ns + atomic_load(&s->page->cpu_ns)) / 1e9;
	*ret_wakeups = (double)(s->wakeups_before + atomic_load(&s->page->wakeups));
}
