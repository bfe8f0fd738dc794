/* The counter of the collector `io`: events into sums (core/iocount.h), and these into a picture of
 * the process; and what the collector of a device in this process wants to know of them. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "collectors/io_take.h"
#include "collectors/live_impl.h"
#include "core/iocount.h"
#include "lib/num.h"
#include "schema/iocap_file.h"

#define MOMENT_NS 10000000 /* in which all that has returned is handed over */

int io_counter_picture(struct flow *f, const struct live_who *who, struct arena *a, struct buf *b);

static struct iocount *counter; /* with live's lock; all but pictures with that of io.c, too */
static bool started;

/* In a forked child that has begun to work, too: until then nothing of the parent's is touched. */
static int start(void)
{
	static const struct iocount_options o = { .max_files = 0 };
	const char *exec = getenv("ROIMETER_EXEC");
	if (exec && strcmp(exec, IOCAP_EXEC_ALONE) == 0)
		return -ECANCELED; /* its picture is for nobody */
	int rc = counter ? 0 : iocount_new(&counter, &o, NULL);
	if (!rc && started)
		iocount_clear(counter);
	started = rc == 0;
	return rc;
}

static void text(uint32_t number, const char *text, size_t bytes)
{
	struct flow *f = live_take();
	if (f)
		iocount_text(counter, number, text, bytes);
	live_give(f);
}

/* ---- files ------------------------------------------------------------------------------------
 */

/* Those that HPC machines have; others say nothing. */
static const char *filesystem_of(uint64_t magic)
{
	static const struct {
		uint64_t magic;
		const char *name;
	} all[] = {
		{ 0xef53, "ext4" },         { 0x58465342, "xfs" },    { 0x01021994, "tmpfs" },
		{ 0x9123683e, "btrfs" },    { 0x6969, "nfs" },        { 0x0bd00bd0, "lustre" },
		{ 0x47504653, "gpfs" },     { 0x19830326, "beegfs" }, { 0x794c7630, "overlay" },
		{ 0x65735546, "fuse" },     { 0x2fc12fc1, "zfs" },    { 0x00c36400, "ceph" },
		{ 0x858458f6, "ramfs" },    { 0xff534d42, "cifs" },   { 0xfe534d42, "smb2" },
		{ 0x9fa0, "proc" },         { 0x62656572, "sysfs" },  { 0x01021997, "9p" },
		{ 0x20030528, "orangefs" }, { 0xaad7aaea, "panfs" },  { 0x5346414f, "afs" },
	};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (all[i].magic == magic)
			return all[i].name;
	return NULL;
}

/* Once for each file that has a line of its own. System calls themselves: nothing of this is the
 * program's. */
static void look(const struct io_handle_info *h)
{
	struct statfs fs;
	struct statx st;
	const char *name = iocount_name(counter, h->number);
	if (!name || name[0] != '/' || (h->type != IO_FILE && h->type != IO_DIRECTORY))
		return;
	struct iocount_detail d = { .filesystem = NULL };
	if (syscall(SYS_statfs, name, &fs) == 0)
		d.filesystem = filesystem_of((uint32_t)fs.f_type);
	if (syscall(SYS_statx, AT_FDCWD, name, 0, STATX_BTIME | STATX_INO, &st) == 0) {
		d.block_bytes = st.stx_blksize;
		/* Its name may be another file's by now. */
		if (st.stx_mask & STATX_BTIME && st.stx_ino == h->inode && st.stx_btime.tv_sec > 0)
			d.born_us = (uint64_t)st.stx_btime.tv_sec * 1000000 +
				    st.stx_btime.tv_nsec / 1000;
	}
	iocount_detail(counter, h->number, &d);
}

static void handle(const struct io_handle_info *h)
{
	const struct iocount_handle as = { .number = h->number,
					   .path = h->path,
					   .type = h->type,
					   .interface = h->interface,
					   .device = h->device,
					   .inode = h->inode };
	struct flow *f = live_take();
	if (f && iocount_handle(counter, &as))
		look(h);
	live_give(f);
}

/* ---- calls ------------------------------------------------------------------------------------
 */

static void events(const struct io_event *e, size_t n)
{
	int64_t cpu = live_cpu_sometimes();
	struct flow *f = live_take();
	if (f)
		iocount_events(counter, f, e, n);
	live_give(f);
	live_cpu_sometimes_end(cpu);
	/* Without the lock. */
	for (size_t i = 0; f && live_host_wanted() && i < n; i++)
		if (iocount_waits(counter, &e[i]))
			live_host(LIVE_HOST_IO, (int64_t)e[i].begin_ns, (int64_t)e[i].end_ns);
}

static void mpi(const struct io_event *e, size_t n)
{
	struct flow *f = live_take();
	if (f)
		iocount_mpi(counter, f, e, n);
	live_give(f);
	for (size_t i = 0; f && live_host_wanted() && i < n; i++)
		live_host(LIVE_HOST_MPI, (int64_t)e[i].begin_ns, (int64_t)e[i].end_ns);
}

static void flush(enum live_flush how)
{
	(void)how;
	struct flow *f = live_take();
	if (f)
		iocount_flushed(counter, live_now() - MOMENT_NS);
	live_give(f);
}

static void dropped(uint64_t calls)
{
	struct flow *f = live_take();
	if (f)
		iocount_dropped(counter, calls);
	live_give(f);
}

const struct io_taker io_counter = {
	.start = start,
	.text = text,
	.handle = handle,
	.events = events,
	.flush = flush,
	.dropped = dropped,
	.mpi = mpi,
};

/* ---- the picture ------------------------------------------------------------------------------
 */

static double all_of(const struct io_sums *s)
{
	return s->read_ops + s->write_ops + s->open_ops + s->seek_ops + s->sync_ops + s->meta_ops +
	       s->failed_ops;
}

/* Where the clock of the times is on the one of the day: the tightest of some, since this thread may
 * be put off its processor within one. */
static void put_clock(struct iopicture *p)
{
	struct timespec real;
	int64_t least = INT64_MAX, zero = -1;
	for (int i = 0; i < 5; i++) {
		int64_t before = live_now();
		(void)clock_gettime(CLOCK_REALTIME, &real);
		int64_t took = live_now() - before;
		if (took >= least)
			continue;
		least = took;
		zero = (int64_t)real.tv_sec * 1000000000 + real.tv_nsec - before - took / 2;
	}
	p->clock = "monotonic";
	if (zero < 0)
		return;
	p->real_s = (double)(zero / 1000000000);
	p->real_ns = (double)(zero % 1000000000);
}

int io_counter_picture(struct flow *f, const struct live_who *who, struct arena *a, struct buf *b)
{
	struct iopicture p;
	iopicture_clear(&p);
	if (!started)
		return -ECANCELED;
	int rc = iocount_picture(counter, f, a, &p, NULL);
	if (rc)
		return rc;
	p.collector = who->collector;
	p.tool = who->tool;
	p.status = who->status ? who->status : all_of(&p.whole) > 0 ? "ok" : "idle";
	p.why = who->why;
	p.final = who->final ? YES : NO;
	p.run = who->run;
	p.exec = who->exec;
	p.stream = who->stream;
	p.host = who->host;
	p.boot = who->boot;
	p.pid = who->pid;
	p.rank = who->rank;
	p.exe = who->exe;
	put_clock(&p);
	p.late_marks += who->marks_lost;
	p.dropped_ops += (double)io_untold();
	p.collector_cpu_s = who->cpu_s;
	p.collector_roi_cpu_s = who->roi_cpu_s;
	p.notes = who->notes;
	iopicture_put(b, &p);
	return 0;
}
