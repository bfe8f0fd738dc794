/* The agent about its node and about itself, and the times at which samples are taken. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "agent/config.h"
#include "agent/impl.h"
#include "agent/sample.h"
#include "lib/file.h"
#include "lib/log.h"
#include "node/platform.h"
#include "schema/codec.h"

#define SECOND INT64_C(1000000000)

/* ---- the node and the agent ----------------------------------------------------------------- */

void node_put(struct agent *a)
{
	struct arena arena = { .max_bytes = 8u << 20 };
	struct platform p;
	struct frame f;
	struct buf info = { .max = 1u << 20 };
	const struct platform_options o = { .root = "", .nvml = PLATFORM_NVML };
	struct err err = { .text = "" };
	frame_clear(&f, FRAME_NODE);
	f.as.node.real_ns = agent_real();
	f.as.node.host = str_of(a->host);
	f.as.node.boot = str_of(a->boot);
	if (platform_probe(&p, &arena, &o, &err)) {
		log_warn("platform: %s; runs from here have none", err.text);
	} else {
		block_put(&info, &platform_info_block, &p.info);
		f.as.node.platform = str_of(p.id);
		f.as.node.info = batch_list(&info);
	}
	(void)outbox_put(a->outbox, &f, NULL); /* what is lost there is counted */
	buf_done(&info);
	arena_free(&arena);
}

double self_rss(void)
{
	struct buf b = { .max = 256 };
	double pages = NAN;
	if (!file_read(&b, "/proc/self/statm", NULL) && b.data)
		(void)sscanf(b.data, "%*s %lf", &pages);
	buf_done(&b);
	return pages * (double)sysconf(_SC_PAGESIZE);
}

double self_cpu(void)
{
	struct rusage r;
	if (getrusage(RUSAGE_SELF, &r))
		return NAN;
	return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
	       1e-6 * (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec);
}

void self_put(struct agent *a)
{
	struct outbox_stats st;
	struct core_counts n;
	struct buf more = { .max = 0 };
	struct frame f;
	outbox_stats(a->outbox, &st);
	core_counts(a->core, &n);
	batch_pair_put(&more, str_of("logs_waiting"), (double)n.waiting);
	batch_pair_put(&more, str_of("runs"), (double)n.runs);
	batch_pair_put(&more, str_of("lost"), (double)st.lost);
	frame_clear(&f, FRAME_AGENT);
	f.as.agent = (struct frame_agent){
		.real_ns = agent_real(),
		.cpu_s = self_cpu(),
		.wakeups = (double)a->wakeups,
		.rss_bytes = self_rss(),
		.spool_bytes = (double)st.spool.bytes,
		.spool_max_bytes = (double)st.spool.max_bytes,
		.next_seq = st.spool.next_seq,
		.processes = n.logs,
		.start_real_ns = a->start_real_ns,
		.more = batch_list(&more),
	};
	if (!more.failed && !st.full)
		(void)outbox_put(a->outbox, &f, NULL);
	buf_done(&more);
}

/* ---- samples -------------------------------------------------------------------------------- */

static void put_sample(void *arg, const struct frame *f)
{
	struct agent *a = arg;
	(void)outbox_put(a->outbox, f, NULL);
}

static void take(uv_poll_t *handle, int status, int events)
{
	struct agent *a = handle->data;
	uint64_t times;
	struct timespec mono;
	(void)status;
	(void)events;
	a->wakeups++;
	/* -ECANCELED: the clock was set, and the next time is another one. */
	if (read(a->sampling_fd, &times, sizeof times) < 0 && errno != ECANCELED)
		return;
	(void)clock_gettime(CLOCK_MONOTONIC, &mono);
	const struct sample_time now = {
		.real_ns = agent_real(),
		.mono_ns = (uint64_t)mono.tv_sec * SECOND + (uint64_t)mono.tv_nsec,
	};
	a->sampling_ns = SAMPLE_NEVER;
	(void)samples_take(a->samples, now, put_sample, a);
}

/* What the core knows, for those who sample; and when they want to. */
void sampling_set(struct agent *a)
{
	const char *run, *exec;
	struct timespec mono;
	if (!a->samples)
		return;
	bool busy = core_busy(a->core, &run, &exec);
	bool quiet = a->config->quiet && core_quiet(a->core);
	run = run ? run : "";
	exec = exec ? exec : "";
	if (quiet != a->was_quiet) {
		(void)clock_gettime(CLOCK_MONOTONIC, &mono);
		samples_quiet(a->samples, quiet,
			      (uint64_t)mono.tv_sec * SECOND + (uint64_t)mono.tv_nsec);
		a->was_quiet = quiet;
	}
	if (busy != a->was_busy || strcmp(run, a->was_run) != 0 || strcmp(exec, a->was_exec) != 0) {
		if (!samples_set_run(a->samples, busy, *run ? run : NULL, *exec ? exec : NULL,
				     NULL))
			a->was_busy = busy;
		(void)snprintf(a->was_run, sizeof a->was_run, "%s", run);
		(void)snprintf(a->was_exec, sizeof a->was_exec, "%s", exec);
	}
	int64_t next = samples_next(a->samples, agent_real());
	if (next == a->sampling_ns)
		return;
	a->sampling_ns = next;
	struct itimerspec when = { .it_value = { .tv_sec = 0 } };
	if (next != SAMPLE_NEVER) {
		next = next > 0 ? next : 1; /* 0 would stop it */
		when.it_value.tv_sec = next / SECOND;
		when.it_value.tv_nsec = next % SECOND;
	}
	(void)timerfd_settime(a->sampling_fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &when,
			      NULL);
}

/* As many as the processes that may be followed don't need; raise_limit made room. */
static unsigned descriptors_left(const struct agent *a)
{
	struct rlimit r;
	double need = 2 * a->config->processes + 1024;
	if (getrlimit(RLIMIT_NOFILE, &r) || (double)r.rlim_cur < need + 64)
		return 64;
	return (double)r.rlim_cur - need < 1e6 ? (unsigned)((double)r.rlim_cur - need) : 1000000;
}

static int make_samples(struct samples **ret, const struct agent *a, struct err *err)
{
	const struct samples_options o = {
		.root = "",
		.process_period_ns = (uint64_t)(a->config->process_period_s * 1e9),
		.node_period_ns = (uint64_t)(a->config->period_s * 1e9),
		.when_idle = a->config->sample_idle,
		.max_descriptors = descriptors_left(a),
		.which = a->config->which.items,
		.n_which = a->config->which.n,
	};
	return samples_new(ret, &o, err);
}

int sampling_open(struct agent *a, struct err *err)
{
	a->sampling_ns = SAMPLE_NEVER;
	a->sampling_fd = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC);
	if (a->sampling_fd < 0)
		return err_set(err, -errno, "timerfd: %s", strerror(errno));
	int rc = uv_poll_init(a->loop, &a->sampling, a->sampling_fd);
	if (rc)
		return err_set(err, rc, "timerfd: %s", uv_strerror(rc));
	a->sampling.data = a;
	a->sampling_on = true;
	agent_handles_add(a);
	rc = uv_poll_start(&a->sampling, UV_READABLE, take);
	if (rc)
		return err_set(err, rc, "timerfd: %s", uv_strerror(rc));
	return a->config->period_s > 0 ? make_samples(&a->samples, a, err) : 0;
}

/* What its samples have cost so far; the new ones begin at 0. */
static void keep_cost(const struct agent *a, struct follow *f)
{
	if (!a->samples || !f->sampled)
		return;
	struct sample_cost c = samples_cost(a->samples, f->sampled);
	f->cpu_ns += (uint64_t)(c.cpu_s * 1e9);
	f->wakeups += (uint64_t)(c.wakeups + 0.5);
	f->bytes += (uint64_t)c.bytes;
}

/* Other periods or samplers: all processes are handed over. */
int sampling_again(struct agent *a, struct err *err)
{
	struct samples *fresh = NULL;
	int rc = a->config->period_s > 0 ? make_samples(&fresh, a, err) : 0;
	if (rc)
		return rc;
	for (size_t i = 0; i < FOLLOW_BUCKETS; i++)
		for (struct follow *f = a->buckets[i]; f; f = f->next)
			keep_cost(a, f);
	samples_free(a->samples);
	a->samples = fresh;
	a->was_quiet = a->was_busy = false;
	for (size_t i = 0; i < FOLLOW_BUCKETS; i++)
		for (struct follow *f = a->buckets[i]; f; f = f->next) {
			f->sampled = NULL;
			follow_sample(f);
		}
	return 0;
}

static void closed(uv_handle_t *handle)
{
	agent_handle_closed(handle->data);
}

void sampling_close(struct agent *a)
{
	samples_free(a->samples);
	a->samples = NULL;
	if (a->sampling_on)
		uv_close((uv_handle_t *)&a->sampling, closed);
	if (a->sampling_fd >= 0)
		(void)close(a->sampling_fd);
	a->sampling_on = false;
	a->sampling_fd = -1;
}
