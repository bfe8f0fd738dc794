/* Time comes in here; gather is told. */
#define _GNU_SOURCE
#include "daemon/ingest.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "daemon/gather.h"
#include "daemon/progress.h"
#include "lib/log.h"

#define PROGRESS_NS INT64_C(1000000000) /* between two events about one run */
#define PROGRESS_SHARE 9                /* so many times as long as it took nothing is told */

struct ingest {
	struct gather *gather;
	struct gather_config config;
	struct events *events;
	struct store *store; /* of the writer, while it runs */
	int64_t progress_ns; /* when it was told last */
};

struct ingest *ingest_new(const struct daemon_config *c, struct events *e)
{
	struct ingest *i = calloc(1, sizeof *i);
	if (!i)
		return NULL;
	i->events = e;
	i->config = (struct gather_config)GATHER_DEFAULTS;
	i->config.wait_ns = (int64_t)(c->wait_s * 1e9);
	i->config.silence_ns = (int64_t)(c->silence_s * 1e9);
	i->config.keep_ns = (int64_t)(c->keep_days * 86400e9);
	i->config.context_keep_ns = (int64_t)(c->context_hours * 3600e9);
	i->config.context_bytes = (uint64_t)(c->context_mib * 1048576);
	return i;
}

void ingest_free(struct ingest *i)
{
	if (!i)
		return;
	gather_close(i->gather);
	free(i);
}

static struct gather_now now(void)
{
	struct timespec mono, real;
	/* A machine that slept was not silent. */
	(void)clock_gettime(CLOCK_MONOTONIC, &mono);
	(void)clock_gettime(CLOCK_REALTIME, &real);
	return (struct gather_now){ .mono_ns = mono.tv_sec * INT64_C(1000000000) + mono.tv_nsec,
				    .real_ns = real.tv_sec * INT64_C(1000000000) + real.tv_nsec };
}

static int open_gather(void *self, struct store *s, struct err *err)
{
	struct ingest *i = self;
	const struct gather_now t = now();
	i->store = s;
	return gather_open(&i->gather, s, &i->config, &t, err);
}

static int take(void *self, struct store *s, struct post *p, struct err *err)
{
	struct ingest *i = self;
	const struct gather_now t = now();
	struct gather_result r = { 0 };
	int rc = gather_take(i->gather, s, p->body, p->n, &t, &r, err);
	p->batches = r.batches;
	p->duplicates = r.duplicates;
	p->due = r.due;
	return rc;
}

/* ---- events ---------------------------------------------------------------------------------- */

static int push_progress(void *arg, const struct gather_running *r)
{
	struct ingest *i = arg;
	struct buf b = { 0 };
	if (progress_text(&b, r) == 0)
		events_push(i->events, "progress", b.data);
	buf_done(&b);
	return 0;
}

static void tell_progress(void *arg, enum gather_change what, const char *run)
{
	struct ingest *i = arg;
	struct err err = { { 0 } };
	(void)what;
	int rc = gather_each_running(i->store, run, push_progress, i, &err);
	if (rc < 0)
		log_warn("progress of run %s: %s", run, err.text);
}

/* What was stored and what is gone is seen in the store, whoever wrote it (daemon/follow.h). */
static void changed(void *arg, enum gather_change what, const char *run)
{
	(void)arg;
	if (what == GATHER_STORED)
		log_info("run %s is stored", run);
	else if (what == GATHER_GONE)
		log_info("run %s is gone: its record has another id now", run);
	else if (what == GATHER_FAILED)
		log_warn("run %s: no record can be made of what came", run);
}

static int tick(void *self, struct store *s, uint64_t *ret_pause_ns, struct err *err)
{
	struct ingest *i = self;
	const struct gather_now t = now();
	int64_t next_ns = t.mono_ns + PROGRESS_NS;
	int rc = gather_tick(i->gather, s, &t, changed, i, &next_ns, err);
	const int64_t begin_ns = now().mono_ns;
	if (begin_ns - i->progress_ns >= PROGRESS_NS) {
		gather_each_change(i->gather, tell_progress, i);
		/* Of runs with very many processes it is told less often: agents wait meanwhile. */
		i->progress_ns = begin_ns + PROGRESS_SHARE * (now().mono_ns - begin_ns);
	}
	*ret_pause_ns = next_ns > t.mono_ns ? (uint64_t)(next_ns - t.mono_ns) : 0;
	return rc;
}

struct writer_core ingest_core(struct ingest *i)
{
	return (struct writer_core){ .self = i, .open = open_gather, .take = take, .tick = tick };
}
