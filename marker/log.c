/* The mapped file: made, found again, extended. Every byte is reserved before it is mapped, since
 * a store into a page that a full disk can't provide would kill the program (SIGBUS). No
 * descriptor stays open, but that of a log without a name: programs close what they do not know,
 * and use its number again. */
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

#include "schema/local.h"
#include "schema/local_folder.h"

#define GENERATIONS 10000
#define PAGE 4096
#define HIGH_DESCRIPTOR 250            /* out of the way of programs that count on low ones */
#define MEMORY_NOEXEC 8u               /* MFD_NOEXEC_SEAL, Linux 6.3: else it wonders, or refuses */

/* Of the last log this process or the one it was forked from had; not wiped. */
static char last_stream[96];
static struct {
	int fd;
	uint64_t dev, ino;
} last_memory = { .fd = -1 };

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

/* ---- where --------------------------------------------------------------------------------------
 */

/* The folders in which the log may be, the first one that will do counts. */
struct places {
	const char *folder[2];
	size_t n;
	size_t agents; /* which of them is the agent's; n: none is */
	char beside[4096];
};

bool place_of_agent(char *folder, size_t room)
{
	const char *path = getenv(LOCAL_VARIABLE);
	if (!path || !*path)
		return false;
	const char *slash = strrchr(path, '/');
	int n = snprintf(folder, room, "%.*s" LOCAL_LOGS, slash ? (int)(slash - path) + 1 : 0,
			 path);
	return n > 0 && (size_t)n < room;
}

static void places_find(struct places *p)
{
	const char *folder = getenv("ROIMETER_LOG");
	p->n = 0;
	if (folder && *folder)
		p->folder[p->n++] = folder;
	p->agents = p->n;
	if (place_of_agent(p->beside, sizeof p->beside))
		p->folder[p->n++] = p->beside;
}

/* Absolute, since it is needed again for the streams of other threads; the program may be elsewhere
 * by then. */
static int path_make(char *path, size_t room, const char *folder, const char *stream)
{
	size_t at = 0;
	if (folder[0] != '/') {
		if (!getcwd(path, room - 1) || path[0] != '/')
			return -ENOENT;
		at = strlen(path);
		path[at++] = '/';
	}
	int n = snprintf(path + at, room - at, "%s/%s" MARKLOG_SUFFIX, folder, stream);
	return n < 0 || (size_t)n >= room - at ? -ENAMETOOLONG : 0;
}

static void stream_name(struct identity *id, uint32_t generation)
{
	(void)snprintf(id->stream, sizeof id->stream, "%.8s-%ld-%s.%u", id->boot, (long)getpid(),
		       id->start, generation);
}

/* A log of this name is in one of the other places. */
static bool is_elsewhere(const struct places *p, size_t here, const char *stream)
{
	char path[4096];
	for (size_t i = 0; i < p->n; i++)
		if (i != here && !path_make(path, sizeof path, p->folder[i], stream) &&
		    !access(path, F_OK))
			return true;
	return false;
}

/* ---- make it -------------------------------------------------------------------------------- */

static int make_file(struct guest *g, const struct places *p, size_t here, struct identity *id,
		     char previous[96], uint32_t *ret_generation)
{
	previous[0] = 0;
	for (uint32_t i = 0; i < GENERATIONS; i++) {
		stream_name(id, i);
		int rc = path_make(g->path, sizeof g->path, p->folder[here], id->stream);
		if (rc)
			return rc;
		if (!is_elsewhere(p, here, id->stream)) {
			int fd = open(g->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
				      0644);
			if (fd >= 0) {
				*ret_generation = i;
				return fd;
			}
			if (errno != EEXIST)
				return -errno;
			g->other = copy_of_file(g->path);
			if (g->other)
				return -EEXIST;
		}
		memcpy(previous, id->stream, sizeof id->stream);
	}
	return -EEXIST;
}

static bool is_file(int fd, uint64_t dev, uint64_t ino)
{
	struct stat st;
	return !fstat(fd, &st) && st.st_dev == dev && st.st_ino == ino;
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

static int log_in_folder(struct guest *g, const struct places *p, size_t here, struct identity *id,
			 const char **ret_what)
{
	char previous[96];
	uint32_t generation = 0;
	*ret_what = "make";
	int fd = make_file(g, p, here, id, previous, &generation);
	if (fd < 0)
		return fd;
	*ret_what = "reserve";
	int rc = here == p->agents ? local_folder_take(fd) : 0;
	if (!rc)
		rc = log_fill(g, fd, id, generation, generation ? previous : last_stream);
	if (rc)
		(void)unlink(g->path); /* half a log would be read as a process without entries */
	else if (g->agent[0])
		(void)hello_say(g->agent, fd); /* else the agent finds it in its folder */
	(void)close(fd);
	return rc;
}

/* Nobody is there who could take the log, and it is not to be expected that somebody will. */
static bool nobody(int rc)
{
	return rc == -ENOENT || rc == -ENOTDIR || rc == -EACCES || rc == -EPERM ||
	       rc == -ENAMETOOLONG;
}

static void log_unmap(struct guest *g)
{
	(void)munmap(g->threads[0].stream, MARKLOG_STREAM_BYTES);
	(void)munmap(g->header, g->header->header_bytes);
	g->threads[0].stream = NULL;
	g->slots = 0;
	g->header = NULL;
}

static int memory_make(const char *name)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MEMORY_NOEXEC);
	if (fd < 0 && errno == EINVAL)
		fd = memfd_create(name, MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	int high = fcntl(fd, F_DUPFD_CLOEXEC, HIGH_DESCRIPTOR);
	if (high < 0)
		return fd;
	(void)close(fd);
	return high;
}

/* The last place. It has no name that exec could find again, so the moment makes the generation:
 * milliseconds, of which no two execs share one. */
static int log_in_memory(struct guest *g, struct identity *id)
{
	char name[128];
	if (!g->agent[0])
		return -ENOENT;
	uint32_t generation =
		GENERATIONS + (uint32_t)(clock_monotonic_ns() / 1000000 % 4000000000u);
	stream_name(id, generation);
	(void)snprintf(name, sizeof name, "%s" MARKLOG_SUFFIX, id->stream);
	int fd = memory_make(name);
	if (fd < 0)
		return fd;
	int rc = log_fill(g, fd, id, generation, last_stream);
	if (rc) {
		(void)close(fd);
		return rc;
	}
	rc = hello_say(g->agent, fd);
	if (nobody(rc)) {
		log_unmap(g);
		(void)close(fd);
		return rc;
	}
	g->in_memory = 1;
	g->handed_over = !rc;
	g->memory_fd = last_memory.fd = fd;
	last_memory.dev = g->dev;
	last_memory.ino = g->ino;
	if (rc) /* the agent may be back by the end */
		loss_say(g, -rc, "hand over", MARKLOG_ENTRIES_UNKNOWN);
	return 0;
}

/* Of the process that this one was forked from. */
static void memory_forget(void)
{
	if (last_memory.fd >= 0 && is_file(last_memory.fd, last_memory.dev, last_memory.ino))
		(void)close(last_memory.fd);
	last_memory.fd = -1;
}

static void agent_find(struct guest *g)
{
	const char *path = getenv(LOCAL_VARIABLE);
	if (path && strlen(path) < sizeof g->agent)
		memcpy(g->agent, path, strlen(path) + 1);
}

/* Of a copy of this library whose log may be in another place than the one we would take. */
static bool copy_anywhere(struct guest *g, struct identity *id)
{
	stream_name(id, 0);
	id->stream[strlen(id->stream) - 1] = 0; /* of whatever generation */
	g->other = copy_mapped(id->stream);
	return g->other != NULL;
}

bool log_wanted(void)
{
	const char *folder = getenv("ROIMETER_LOG"), *agent = getenv(LOCAL_VARIABLE);
	return (folder && *folder) || (agent && *agent);
}

/* 0; -EEXIST with g->other: another copy of this library is at work here; else why not. */
int log_open(struct guest *g)
{
	struct places p;
	struct identity id;
	memset(&id, 0, sizeof id);
	memory_forget();
	places_find(&p);
	identity_find(&id);
	agent_find(g);
	if (p.agents < p.n && copy_anywhere(g, &id))
		return -EEXIST;
	const char *what = "make", *later;
	int rc = -ENOENT, made = -ENOENT;
	for (size_t i = 0; i < p.n && made && !g->other; i++) {
		made = log_in_folder(g, &p, i, &id, i ? &later : &what);
		if (i == 0)
			rc = made;
	}
	if (g->other)
		return -EEXIST;
	if (made)
		made = log_in_memory(g, &id);
	if (!made) {
		memcpy(last_stream, id.stream, sizeof last_stream);
		return 0;
	}
	if (p.agents) /* ROIMETER_LOG: somebody waits for the log; else nobody is there */
		loss_say(g, -rc, what, 0);
	return rc;
}

/* The process ends. What has no name must be with the agent by now. */
void log_leave(struct guest *g)
{
	if (!g->in_memory)
		return;
	int rc = is_file(g->memory_fd, g->dev, g->ino) ? hello_say(g->agent, g->memory_fd) : -EBADF;
	uint64_t entries = 0;
	for (uint32_t i = 0; i < g->slots; i++)
		entries += g->threads[i].stream ? GET(g->threads[i].stream->head) : 0;
	if (g->everyone.stream)
		entries += GET(g->everyone.stream->head);
	if (g->loss && !rc)
		PUT_RELEASE(g->loss->used, MARKLOG_LOSS_WITHDRAWN);
	else if (g->loss)
		PUT(g->loss->entries, entries);
	else if (g->handed_over && (rc == -ECONNREFUSED || nobody(rc)))
		loss_say(g, -rc, "hand over", entries); /* who had taken it is gone */
}

/* One more stream, at the end of the file. */
int log_stream(struct guest *g, uint32_t index, struct marklog_stream **ret)
{
	off_t at = (off_t)(g->header->header_bytes + (uint64_t)index * MARKLOG_STREAM_BYTES);
	int fd = g->in_memory ? g->memory_fd : open(g->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	/* The folder was replaced under us, or the descriptor closed and used for something else.
	 */
	bool ours = is_file(fd, g->dev, g->ino);
	int rc = ours ? 0 : -ESTALE;
	if (!rc)
		rc = reserve(fd, at, MARKLOG_STREAM_BYTES);
	if (!rc) {
		*ret = map_part(fd, at, MARKLOG_STREAM_BYTES, &rc);
		if (*ret)
			PUT_RELEASE(g->header->streams, index + 1);
	}
	if (!g->in_memory)
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
