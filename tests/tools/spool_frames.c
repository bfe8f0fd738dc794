/* Prints what a spool holds, a line for each frame, and puts the logs of processes together:
 *     spool_frames SPOOL FOLDER
 * FOLDER/STREAM.roilog is the log of the highest snapshot that is whole. For the tests of the
 * agent. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/spool.h"
#include "schema/batch.h"

#define STREAMS 20000

struct one {
	char stream[128];
	uint64_t snapshot, got; /* of the snapshot that is being put together */
	uint64_t finals;
};

static struct one *all;
static size_t n_all;

static struct one *find(struct str stream)
{
	for (size_t i = 0; i < n_all; i++)
		if (strlen(all[i].stream) == stream.n && !memcmp(all[i].stream, stream.p, stream.n))
			return &all[i];
	if (n_all == STREAMS || stream.n >= sizeof all->stream)
		abort();
	memcpy(all[n_all].stream, stream.p, stream.n);
	return &all[n_all++];
}

static void keep(const struct frame_process *p, const char *folder)
{
	char part[4096], whole[4096];
	struct one *o = find(p->stream);
	(void)snprintf(part, sizeof part, "%s/%s.part", folder, o->stream);
	(void)snprintf(whole, sizeof whole, "%s/%s.roilog", folder, o->stream);
	if (p->snapshot < o->snapshot)
		return;
	if (p->snapshot > o->snapshot)
		(void)unlink(part);
	o->got = p->snapshot > o->snapshot ? p->data.n : o->got + p->data.n;
	o->snapshot = p->snapshot;
	int fd = open(part, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0 || pwrite(fd, p->data.p, p->data.n, (off_t)p->offset) != (ssize_t)p->data.n)
		abort();
	(void)close(fd);
	if (o->got >= p->size)
		(void)rename(part, whole);
}

static void text(const char *name, struct str s)
{
	if (s.p)
		printf(" %s=%.*s", name, (int)s.n, s.p);
}

static void number(const char *name, int64_t x)
{
	if (x != INT64_MIN)
		printf(" %s=%" PRId64, name, x);
}

static void print(const struct frame *f, const char *folder)
{
	const struct frame_process *p = &f->as.process;
	struct str list, name;
	double value;
	switch (f->type) {
	case FRAME_PROCESS:
		text("stream", p->stream);
		text("run", p->run);
		text("exec", p->exec);
		text("file", p->file);
		text("group", p->group);
		text("job", p->job);
		text("cgroup", p->cgroup);
		number("uid", p->uid);
		number("pid", p->pid);
		printf(" size=%" PRIu64 " offset=%" PRIu64
		       " final=%d killed=%d cpu_s=%.6f wakeups=%.0f "
		       "bytes=%.0f",
		       p->size, p->offset, p->final, p->killed, p->agent_cpu_s, p->wakeups,
		       p->bytes);
		keep(p, folder);
		break;
	case FRAME_RUN_END:
		text("run", f->as.run_end.run);
		number("uid", f->as.run_end.uid);
		printf(" complete=%d", f->as.run_end.complete);
		break;
	case FRAME_LOSS:
		text("what", f->as.loss.what);
		text("why", f->as.loss.why);
		text("text", f->as.loss.text);
		printf(" count=%" PRIu64, f->as.loss.count);
		break;
	case FRAME_CONTEXT:
		text("scope", f->as.context.scope);
		text("run", f->as.context.run);
		text("exec", f->as.context.exec);
		list = f->as.context.values;
		while (batch_pair_next(&list, &name, &value))
			printf(" %.*s=%.17g", (int)name.n, name.p, value);
		number("real_ns", f->as.context.real_ns);
		break;
	default:
		break;
	}
}

int main(int argc, char **argv)
{
	struct spool *s = NULL;
	struct err err = { .text = "" };
	struct spool_item item;
	struct batch_in in = { .max_plain = 0 };
	struct frame f;
	int rc;
	all = calloc(STREAMS, sizeof *all);
	if (argc != 3 || !all || spool_open(&s, argv[1], UINT64_C(1) << 40, 0, &err)) {
		(void)fprintf(stderr, "spool_frames SPOOL FOLDER: %s\n", err.text);
		return 2;
	}
	while ((rc = spool_read(s, &item, &err)) == 1) {
		if (item.gap) {
			printf("%" PRIu64 " gap from %" PRIu64 "\n", item.seq, item.first_seq);
			continue;
		}
		rc = batch_open(&in, item.bytes, item.n, &err);
		while (!rc && batch_next(&in, &f, &err) == 1) {
			printf("%" PRIu64 " %s", item.seq, frame_name(f.type));
			print(&f, argv[2]);
			printf("\n");
		}
		if (rc)
			break;
	}
	if (rc)
		(void)fprintf(stderr, "spool_frames: %s\n", err.text);
	batch_in_done(&in);
	spool_close(s);
	free(all);
	return rc ? 1 : 0;
}
