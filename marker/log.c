/* The mapped file: made, found again, extended. Every byte is reserved before it is mapped, since
 * a store into a page that a full disk can't provide would kill the program (SIGBUS). No
 * descriptor stays open: programs close what they do not know, and use its number again. */
#define _GNU_SOURCE
#include "marker/guest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define GENERATIONS 10000
#define PAGE 4096

/* Of the last log this process or the one it was forked from had; not wiped. */
static char last_stream[96];

static int reserve(int fd, off_t at, size_t bytes)
{
	/* Past the limit for files the kernel would send SIGXFSZ, which ends a program. */
	struct rlimit limit;
	if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur != RLIM_INFINITY &&
	    (uint64_t)at + bytes > limit.rlim_cur)
		return -EFBIG;
	if (!fallocate(fd, 0, at, (off_t)bytes))
		return 0;
	if (errno != EOPNOTSUPP && errno != ENOSYS)
		return -errno;
	static const char zeros[PAGE];
	for (size_t done = 0; done < bytes;) {
		size_t part = bytes - done < PAGE ? bytes - done : PAGE;
		ssize_t n = pwrite(fd, zeros, part, at + (off_t)done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -ENOSPC;
		done += (size_t)n;
	}
	return 0;
}

/* Map a part of the file that is reserved, and touch each page by writing: the first store into a
 * page costs microseconds, and MAP_POPULATE does not make shared pages writable. */
static void *map_part(int fd, off_t at, size_t bytes, int *ret_rc)
{
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, at);
	if (p == MAP_FAILED) {
		*ret_rc = -errno;
		return NULL;
	}
	for (size_t i = 0; i < bytes; i += PAGE)
		__atomic_fetch_or(p + i, 0, __ATOMIC_RELAXED);
	*ret_rc = 0;
	return p;
}

/* ---- a log of this name exists already ------------------------------------------------------ */

/* One line of /proc/self/maps: "from-to perms offset major:minor inode path". */
static const struct marklog_header *maps_line(const char *line, ino_t inode)
{
	unsigned long from, offset, number;
	if (sscanf(line, "%lx-%*x %*s %lx %*x:%*x %lu", &from, &offset, &number) != 3)
		return NULL;
	return number == inode && !offset ? (const struct marklog_header *)from : NULL;
}

/* Where is this file mapped in this process? NULL: nowhere. The device is not compared: with
 * some file systems stat and maps do not agree on it; what is found is checked by its magic. */
static const struct marklog_header *mapped_at(ino_t inode)
{
	char part[4096], line[256]; /* what matters is in the first 100 bytes of a line */
	size_t len = 0;
	const struct marklog_header *found = NULL;
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	ssize_t n;
	while (!found && (n = read(fd, part, sizeof part)) > 0) {
		for (ssize_t i = 0; i < n && !found; i++) {
			if (part[i] != '\n') {
				if (len < sizeof line - 1)
					line[len++] = part[i];
				continue;
			}
			line[len] = 0;
			len = 0;
			found = strstr(line, MARKLOG_SUFFIX) || strlen(line) == sizeof line - 1
					? maps_line(line, inode)
					: NULL;
		}
	}
	(void)close(fd);
	return found;
}

static bool file_ready(const char *path)
{
	uint32_t ready = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return true;
	ssize_t n = pread(fd, &ready, sizeof ready, offsetof(struct marklog_header, ready));
	(void)close(fd);
	return n == (ssize_t)sizeof ready && ready;
}

/* Is it another copy of this library that made the file, in this very process? It may be half
 * way through making it, so wait a little; one left behind by a death there costs that once. */
static const struct roimeter_api *other_copy(const char *path)
{
	struct stat st;
	for (int i = 0; i < 50 && !file_ready(path); i++) {
		struct timespec ms = { .tv_nsec = 1000000 };
		(void)nanosleep(&ms, NULL);
	}
	if (stat(path, &st))
		return NULL;
	const struct marklog_header *h = mapped_at(st.st_ino);
	if (!h || memcmp(h->magic, MARKLOG_MAGIC, sizeof MARKLOG_MAGIC) ||
	    h->pid != (uint32_t)getpid() || !GET_ACQUIRE(h->ready))
		return NULL;
	return (const struct roimeter_api *)(uintptr_t)GET(h->api);
}

/* ---- make it -------------------------------------------------------------------------------- */

static int make_file(struct guest *g, const char *folder, struct identity *id,
		     uint32_t *ret_generation, char previous[96])
{
	/* The path is needed again for the streams of other threads; the program may be elsewhere
	 * by then. */
	char here[4096] = "";
	if (folder[0] != '/' && (!getcwd(here, sizeof here - 1) || !*here))
		return -ENOENT;
	if (*here)
		memcpy(here + strlen(here), "/", 2);
	for (uint32_t i = 0; i < GENERATIONS; i++) {
		memcpy(previous, id->stream, sizeof id->stream);
		(void)snprintf(id->stream, sizeof id->stream, "%.8s-%ld-%s.%u", id->boot,
			       (long)getpid(), id->start, i);
		int n = snprintf(g->path, sizeof g->path, "%s%s/%s" MARKLOG_SUFFIX, here, folder,
				 id->stream);
		if (n < 0 || (size_t)n >= sizeof g->path)
			return -ENAMETOOLONG;
		int fd = open(g->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
		if (fd >= 0) {
			*ret_generation = i;
			return fd;
		}
		if (errno != EEXIST)
			return -errno;
		g->other = other_copy(g->path);
		if (g->other)
			return -EEXIST;
	}
	return -EEXIST;
}

static void header_fill(struct marklog_header *h, size_t header_bytes, uint32_t clock)
{
	memcpy(h->magic, MARKLOG_MAGIC, sizeof MARKLOG_MAGIC);
	h->header_bytes = (uint32_t)header_bytes;
	h->stream_bytes = MARKLOG_STREAM_BYTES;
	h->block_bytes = MARKLOG_BLOCK_BYTES;
	h->record_bytes = sizeof(struct marklog_record);
	h->records = MARKLOG_RECORDS;
	h->kept = MARKLOG_KEPT;
	h->exclude_bytes = sizeof(struct marklog_exclude);
	h->excludes = MARKLOG_EXCLUDES;
	h->phase_count = MARKLOG_PHASES;
	h->name_bytes = MARKLOG_NAME_BYTES;
	h->pair_count = MARKLOG_PAIRS;
	h->clock = clock;
}

static int log_fill(struct guest *g, int fd, const struct identity *id, uint32_t generation,
		    const char *parent)
{
	size_t header_bytes = MARKLOG_FIXED_BYTES + identity_room(id);
	header_bytes = (header_bytes + PAGE - 1) / PAGE * PAGE;
	uint32_t clock = clock_choose();
	struct stat st;
	if (fstat(fd, &st))
		return -errno;
	g->dev = st.st_dev;
	g->ino = st.st_ino;
	int rc = reserve(fd, 0, header_bytes + MARKLOG_STREAM_BYTES);
	if (rc)
		return rc;
	struct marklog_header *h = map_part(fd, 0, header_bytes, &rc);
	if (!h)
		return rc;
	g->header = h;
	header_fill(h, header_bytes, clock);
	clock_start(g);
	h->generation = generation;
	identity_write(id, h, parent);
	struct marklog_stream *s = map_part(fd, (off_t)header_bytes, MARKLOG_STREAM_BYTES, &rc);
	if (!s) {
		(void)munmap(h, header_bytes);
		g->header = NULL;
		return rc;
	}
	g->threads[0].stream = s;
	g->slots = 1;
	h->streams = 1;
	clock_settle(g);
	h->api = (uint64_t)(uintptr_t)&roimeter_api_1;
	PUT_RELEASE(h->ready, 1);
	return 0;
}

/* 0; -EEXIST with g->other: another copy of this library is at work here; else why not. */
int log_open(struct guest *g)
{
	const char *folder = getenv("ROIMETER_LOG");
	struct identity id;
	memset(&id, 0, sizeof id);
	identity_find(&id);
	uint32_t generation = 0;
	char previous[96];
	int fd = make_file(g, folder, &id, &generation, previous);
	if (fd < 0) {
		if (!g->other)
			log_loss(g, -fd, "make");
		return fd;
	}
	const char *parent = generation ? previous : last_stream;
	int rc = log_fill(g, fd, &id, generation, parent);
	(void)close(fd);
	if (rc) {
		(void)unlink(g->path); /* half a log would be read as a process without entries */
		log_loss(g, -rc, "reserve");
		return rc;
	}
	memcpy(last_stream, id.stream, sizeof last_stream);
	return 0;
}

/* One more stream, at the end of the file. */
int log_stream(struct guest *g, uint32_t index, struct marklog_stream **ret)
{
	off_t at = (off_t)(g->header->header_bytes + (uint64_t)index * MARKLOG_STREAM_BYTES);
	int fd = open(g->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	struct stat st;
	int rc = fstat(fd, &st) ? -errno : 0;
	if (!rc && (st.st_dev != g->dev || st.st_ino != g->ino))
		rc = -ESTALE; /* the folder was replaced under us */
	if (!rc)
		rc = reserve(fd, at, MARKLOG_STREAM_BYTES);
	if (!rc) {
		*ret = map_part(fd, at, MARKLOG_STREAM_BYTES, &rc);
		if (*ret)
			PUT_RELEASE(g->header->streams, index + 1);
	}
	(void)close(fd);
	return rc;
}

void thread_bind(struct mark_thread *t, struct marklog_stream *s)
{
	char *records = (char *)s + MARKLOG_BLOCK_BYTES;
	struct marklog_record *r = (struct marklog_record *)records;
	t->stream = s;
	t->next = r;
	t->ring = r + MARKLOG_KEPT;
	t->limit = r + MARKLOG_RECORDS;
	t->excludes = (struct marklog_exclude *)t->limit;
	t->turn_at = t->fold_at = MARKLOG_RECORDS;
	t->pair_at = 0;
}

/* ---- losses --------------------------------------------------------------------------------- */

static struct marklog_loss *loss_slot(const char *folder)
{
	char path[4096];
	int n = snprintf(path, sizeof path, "%s/" MARKLOG_LOSSES, folder);
	if (n < 0 || (size_t)n >= sizeof path)
		return NULL;
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return NULL;
	struct stat st;
	struct marklog_losses *l = MAP_FAILED;
	if (!fstat(fd, &st) && st.st_size >= (off_t)sizeof *l)
		l = mmap(NULL, sizeof *l, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	(void)close(fd);
	if (l == MAP_FAILED)
		return NULL;
	if (!memcmp(l->magic, MARKLOG_LOSSES_MAGIC, sizeof MARKLOG_LOSSES_MAGIC)) {
		uint64_t i = __atomic_fetch_add(&l->next, 1, __ATOMIC_RELAXED);
		if (i < MARKLOG_LOSS_SLOTS)
			return &l->slots[i]; /* stays mapped: lost entries are counted there */
	}
	(void)munmap(l, sizeof *l);
	return NULL;
}

static bool loss_line(const char *folder, const char *line)
{
	char path[4096];
	int n = snprintf(path, sizeof path, "%s/" MARKLOG_UNATTACHED, folder);
	if (n < 0 || (size_t)n >= sizeof path)
		return false;
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0)
		return false;
	size_t len = strlen(line);
	bool written = write(fd, line, len) == (ssize_t)len;
	(void)close(fd);
	return written;
}

/* Without a descriptor or a byte of space there is still the name of a link: its target is the
 * text. */
static void loss_link(const char *folder, char *line)
{
	char path[4096];
	int n = snprintf(path, sizeof path, "%s/" MARKLOG_LOSS_LINK "%ld", folder, (long)getpid());
	if (n < 0 || (size_t)n >= sizeof path)
		return;
	line[strcspn(line, "\n")] = 0;
	if (symlink(line, path)) {
		/* Nothing is left that could be told. */
	}
}

/* The log can't be. Say so in the file that the runner made for that while there was room. */
void log_loss(struct guest *g, int error, const char *what)
{
	const char *folder = getenv("ROIMETER_LOG");
	struct marklog_loss *loss = loss_slot(folder);
	if (loss) {
		loss->pid = (uint32_t)getpid();
		loss->error = error;
		(void)snprintf(loss->what, sizeof loss->what, "%s", what);
		PUT_RELEASE(loss->used, 1);
		g->loss = loss;
		return;
	}
	char line[256], why[128];
	(void)snprintf(line, sizeof line, "pid %ld: could not %s its mark log: %s\n",
		       (long)getpid(), what, strerror_r(error, why, sizeof why));
	if (!loss_line(folder, line))
		loss_link(folder, line);
}
