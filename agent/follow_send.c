/* What is read of a log that is followed, and told about it. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/impl.h"
#include "agent/sample.h"
#include "lib/num.h"

#define STREAMS_MAX 4096u

/* What the work between two of these took is booked to the process that it was for. */
static void cost_begin(struct follow *f)
{
	f->wakeups++;
	f->cost_from_ns = agent_cpu();
}

static void cost_so_far(struct follow *f)
{
	uint64_t now = agent_cpu();
	f->cpu_ns += now - f->cost_from_ns;
	f->cost_from_ns = now;
}

int follow_read(struct follow *f, void *to, size_t n, uint64_t at)
{
	for (size_t done = 0; done < n;) {
		ssize_t got = pread(f->fd, (char *)to + done, n - done, (off_t)(at + done));
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? -errno : -ENODATA;
		done += (size_t)got;
		f->bytes += (uint64_t)got;
	}
	return 0;
}

/* ---- look ----------------------------------------------------------------------------------- */

static int look(struct follow *f, struct core_look *ret)
{
	unsigned char *block = f->agent->scratch;
	struct markpeek_state state;
	struct markpeek_far far = { .entries = 0 };
	int rc = follow_read(f, block, MARKPEEK_STATE, 0);
	if (rc)
		return rc;
	markpeek_state(&state, block);
	uint32_t n = state.streams < STREAMS_MAX ? state.streams : STREAMS_MAX;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t at = f->header_bytes + (uint64_t)i * f->stream_bytes;
		rc = follow_read(f, block, MARKLOG_BLOCK_BYTES, at);
		if (rc == -ENODATA)
			break; /* cut: what is there counts */
		if (rc)
			return rc;
		markpeek_far_add(&far, block);
	}
	f->far = far;
	f->streams = n;
	f->exited = state.exited;
	*ret = (struct core_look){
		.state = far.marks ^ state.lost ^ (uint64_t)state.streams << 32,
		.open = far.open != 0,
		.exited = state.exited,
	};
	return 0;
}

void follow_look(struct follow *f)
{
	struct core_look seen = { .state = 0 };
	cost_begin(f);
	int rc = f->picture ? picture_look(f, &seen)
		 : f->text  ? 0 /* text is read when it is finished */
			    : look(f, &seen);
	cost_so_far(f);
	core_looked(f->agent->core, &f->core, rc ? NULL : &seen, agent_now());
}

const char *follow_run(const struct follow *f)
{
	return f->core.mine ? f->core.run : NULL;
}

const char *follow_exec(const struct follow *f)
{
	return f->core.mine ? f->core.exec : NULL;
}

static void pair(struct buf *b, const char *name, double value)
{
	batch_pair_put(b, str_of(name), value);
}

void follow_progress(struct follow *f)
{
	struct frame x;
	struct buf values = { .max = 0 }, scope = { .max = 0 };
	struct timespec mono;
	if (f->picture)
		return; /* how far its process is, its log tells */
	cost_begin(f);
	(void)clock_gettime(CLOCK_MONOTONIC, &mono);
	buf_printf(&scope, "process:%s", f->core.stream);
	pair(&values, "entries", (double)f->far.entries);
	pair(&values, "entries_open", (double)f->far.open);
	pair(&values, "steps", (double)f->far.steps);
	frame_clear(&x, FRAME_CONTEXT);
	x.as.context = (struct frame_context){
		.real_ns = agent_real(),
		.mono_ns = (int64_t)mono.tv_sec * 1000000000 + mono.tv_nsec,
		.scope = batch_list(&scope),
		.run = str_of(follow_run(f)),
		.exec = str_of(follow_exec(f)),
		.values = batch_list(&values),
	};
	if (!values.failed && !scope.failed)
		(void)outbox_put(f->agent->outbox, &x, NULL); /* what is lost there is counted */
	buf_done(&values);
	buf_done(&scope);
	cost_so_far(f);
}

/* ---- send ----------------------------------------------------------------------------------- */

static void fill(struct follow *f, struct frame_process *p, bool final)
{
	*p = (struct frame_process){
		.stream = str_of(f->core.stream),
		.run = str_of(follow_run(f)),
		.exec = str_of(follow_exec(f)),
		.file = str_of(f->file),
		.snapshot = (uint64_t)agent_now(), /* only grows while the stream may */
		.final = final ? YES : NO,
		.real_ns = agent_real(),
		.host = str_of(f->host),
		.pid = f->pid ? f->pid : ROI_UNKNOWN,
		.uid = f->core.uid,
		.rank = str_of(f->rank),
		.threads = NAN,
		.killed = !final || f->text ? UNKNOWN
			  : f->exited       ? NO
					    : YES,
		.job = str_of(f->job),
		.cgroup = str_of(f->cgroup),
		.container = str_of(f->container),
		.group = str_of(f->group),
		.world = f->world,
	};
}

/* With what was read just now. What the writing will take comes with the next frame of it. */
static void fill_cost(struct follow *f, struct frame_process *p)
{
	struct sample_cost more = { .cpu_s = 0 };
	if (f->agent->samples && f->sampled)
		more = samples_cost(f->agent->samples, f->sampled);
	cost_so_far(f);
	p->agent_cpu_s = (double)f->cpu_ns * 1e-9 + more.cpu_s;
	p->wakeups = (double)f->wakeups + more.wakeups;
	p->bytes = (double)f->bytes + more.bytes;
}

void follow_cost(struct agent *a, struct frame_process *p)
{
	for (size_t i = 0; i < FOLLOW_BUCKETS; i++)
		for (struct follow *f = a->buckets[i]; f; f = f->next)
			if (p->stream.n == strlen(f->core.stream) &&
			    !memcmp(p->stream.p, f->core.stream, p->stream.n)) {
				f->cost_from_ns = agent_cpu();
				fill_cost(f, p);
				return;
			}
}

bool follow_room(const struct agent *a)
{
	struct outbox_stats st;
	outbox_stats(a->outbox, &st);
	return !st.full;
}

/* Counters come before the records in a stream, so reading from front to back sees no record that
 * was not written; a ring that turns meanwhile is noticed by whoever parses it. */
static int send_pieces(struct follow *f, struct frame *x, uint64_t size)
{
	struct agent *a = f->agent;
	struct frame_process *p = &x->as.process;
	p->size = size;
	for (uint64_t at = 0; at < size;) {
		size_t n = size - at < BATCH_CHUNK ? (size_t)(size - at) : BATCH_CHUNK;
		int rc = follow_read(f, a->scratch, n, at);
		if (rc)
			return rc;
		/* What is refused by the outbox is counted as lost there. It is not: it is in the
		 * log, and sent when there is room. So it is asked before. */
		if (!follow_room(a))
			return -ENOSPC;
		fill_cost(f, p);
		p->offset = at;
		p->data = (struct str){ .p = (const char *)a->scratch, .n = n };
		rc = outbox_put(a->outbox, x, NULL);
		if (rc)
			return rc == -EBADMSG ? -EIO : rc;
		at += n;
	}
	return 0;
}

static int final_state(struct follow *f)
{
	struct markpeek_state state;
	int rc = f->text ? 0 : follow_read(f, f->agent->scratch, MARKPEEK_STATE, 0);
	if (rc || f->text)
		return rc;
	markpeek_state(&state, f->agent->scratch);
	f->exited = state.exited;
	return 0;
}

void follow_lose(struct follow *f, const char *why, const char *what)
{
	agent_lose(f->agent, f->picture ? "picture" : "marks", why, follow_run(f),
		   "process %d of user %u (%s): %s", (int)f->pid, (unsigned)f->core.uid,
		   f->core.stream, what);
}

static int send_all(struct follow *f, bool final)
{
	struct frame x;
	struct stat st;
	if (!follow_room(f->agent))
		return -ENOSPC;
	int rc = fstat(f->fd, &st) ? -errno : 0;
	if (!rc && final)
		rc = final_state(f);
	if (rc)
		return rc;
	uint64_t size = (uint64_t)st.st_size;
	f->size = size;
	frame_clear(&x, FRAME_PROCESS);
	fill(f, &x.as.process, final);
	rc = send_pieces(f, &x, size < FOLLOW_MAX_BYTES ? size : FOLLOW_MAX_BYTES);
	if (!rc && size > FOLLOW_MAX_BYTES && final)
		follow_lose(f, "refused",
			    "its log is larger than the agent takes; the end of it is lost");
	return rc;
}

/* What can't be read now can't be read ever: it is a file, and its process is gone. */
static int give_up(struct follow *f, int rc)
{
	if (rc == -ENOSPC || rc == -ENOMEM || rc == -E2BIG || rc == -EAGAIN)
		return rc;
	follow_lose(f, "unreadable",
		    rc == -ENODATA ? "its log was cut short"
		    : rc == -EFBIG ? "its picture is larger than any can be"
				   : strerror(-rc));
	return -EBADMSG;
}

void follow_send(struct follow *f, bool final)
{
	cost_begin(f);
	int rc = f->picture ? picture_send(f, final) : send_all(f, final);
	if (rc == -ENODATA && final && !f->picture)
		rc = send_all(f, final); /* it was cut while it was read: as it is now */
	if (rc && final)
		rc = give_up(f, rc);
	cost_so_far(f);
	f->snapshots += !rc;
	f->agent->dirty = true;
	core_sent(f->agent->core, &f->core, rc, agent_now());
}
