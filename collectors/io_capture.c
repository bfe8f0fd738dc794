/* What takes the calls that the collector `io` sees and keeps them all, small: roimeter capture.
 * Works where ROIMETER_CAPTURE names a folder; ROIMETER_CAPTURE_STEP is what times are rounded to,
 * in nanoseconds, or "none" for no times. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "collectors/io_take.h"
#include "core/iocap_write.h"
#include "schema/iocap_file.h"

#define FLUSH_NS 900000000 /* live's own thread comes every second */

static struct iocap_writer *writer;
static struct iocap_file file;
static uint64_t flushed_ns;

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;
	(void)clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* As the launchers say it, those of MPIs first: srun may have started mpirun. */
static int64_t find_rank(void)
{
	static const char *const names[] = {
		"OMPI_COMM_WORLD_RANK", "PMIX_RANK",    "PMI_RANK", "MV2_COMM_WORLD_RANK",
		"FLUX_TASK_RANK",       "SLURM_PROCID", "RANK"
	};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const char *text = getenv(names[i]);
		char *end = NULL;
		long rank = text ? strtol(text, &end, 10) : -1;
		if (text && end != text && !*end && rank >= 0)
			return rank;
	}
	return -1;
}

static int begin(const char *folder)
{
	const char *step = getenv("ROIMETER_CAPTURE_STEP");
	struct utsname host;
	char name[64];
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	struct iocap_process p = {
		.pid = getpid(),
		.parent = getppid(),
		.rank = find_rank(),
		.host = uname(&host) == 0 ? host.nodename : NULL,
		.program = program_invocation_name,
		.source = "live",
		.real_minus_mono_ns = (int64_t)(clock_ns(CLOCK_REALTIME) - now),
		.timed = !step || strcmp(step, "none") != 0,
		.step_ns = step ? strtoull(step, NULL, 10) : 1,
	};
	struct iocap_sink sink = { iocap_file_append, iocap_file_replace, &file };
	/* A process id comes again, and after exec it is the same. */
	(void)snprintf(name, sizeof name, "%.32s-%ld-%llx", p.host ? p.host : "node",
		       (long)getpid(), (unsigned long long)now);
	int rc = iocap_file_open(&file, folder, name);
	if (!rc)
		rc = iocap_writer_new(&writer, &p, &sink);
	return rc;
}

static int capture_start(void)
{
	const char *folder = getenv("ROIMETER_CAPTURE");
	if (!folder || !*folder)
		return -ENOENT;
	int saved = errno, rc = begin(folder);
	errno = saved;
	return rc;
}

static void capture_text(uint32_t number, const char *text, size_t bytes)
{
	iocap_put_text(writer, number, text, bytes);
}

static void capture_handle(const struct io_handle_info *h)
{
	iocap_put_handle(writer, &(struct iocap_handle){ .number = h->number,
							 .path = h->path,
							 .type = (uint8_t)h->type,
							 .interface = (uint8_t)h->interface,
							 .was_open = h->was_open,
							 .flags = h->flags,
							 .device = h->device,
							 .inode = h->inode });
}

static void capture_events(const struct io_event *e, size_t n)
{
	iocap_put_events(writer, e, n);
}

static void capture_dropped(uint64_t calls)
{
	iocap_put_dropped(writer, calls);
}

static void capture_flush(enum live_flush how)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	if (how == LIVE_FLUSH_LAST) {
		(void)iocap_finish(writer);
		iocap_file_close(&file);
	} else if (how == LIVE_FLUSH_NOW || now - flushed_ns >= FLUSH_NS) {
		iocap_flush(writer, how == LIVE_FLUSH_NOW);
		flushed_ns = now;
	}
}

static void capture_child(void)
{
	iocap_writer_free(writer);
	iocap_file_forget(&file);
	writer = NULL;
	flushed_ns = 0;
}

const struct io_taker io_capture = {
	.start = capture_start,
	.text = capture_text,
	.handle = capture_handle,
	.events = capture_events,
	.flush = capture_flush,
	.dropped = capture_dropped,
	.child = capture_child,
};
