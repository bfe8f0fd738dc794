/* Logs come in: by a descriptor that a process passed, or as a file in a folder. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "agent/config.h"
#include "agent/impl.h"
#include "agent/sample.h"
#include "lib/log.h"
#include "node/jobs.h"
#include "schema/hpcperflog.h"
#include "schema/roilog.h"

#ifndef FUSE_SUPER_MAGIC
#define FUSE_SUPER_MAGIC 0x65735546
#endif
#define STREAM_BYTES 96 /* of a name, as the markers make it */
#define RUN_BYTES 128
#define TEXT_BYTES 4096
#define TICKS_PER_S 100u /* of /proc/PID/stat, whatever the kernel's own are */

/* ---- the table ------------------------------------------------------------------------------ */

static struct follow **bucket(const struct agent *a, ino_t ino)
{
	return (struct follow **)(uintptr_t)&a->buckets[(ino * UINT64_C(0x9e3779b97f4a7c15)) >> 54];
}

struct follow *follow_find(const struct agent *a, dev_t dev, ino_t ino)
{
	struct follow *f = *bucket(a, ino);
	while (f && (f->dev != dev || f->ino != ino))
		f = f->next;
	return f;
}

struct follow *follow_stream(const struct agent *a, const char *stream)
{
	for (size_t i = 0; i < FOLLOW_BUCKETS; i++)
		for (struct follow *f = a->buckets[i]; f; f = f->next)
			if (!strcmp(f->core.stream, stream))
				return f;
	return NULL;
}

static void table_add(struct agent *a, struct follow *f)
{
	struct follow **at = bucket(a, f->ino);
	f->next = *at;
	*at = f;
	a->n_follows++;
}

static void table_remove(struct agent *a, struct follow *f)
{
	struct follow **at = bucket(a, f->ino);
	while (*at != f)
		at = &(*at)->next;
	*at = f->next;
	a->n_follows--;
}

void follow_refile(struct follow *f, int fd, const struct stat *st)
{
	table_remove(f->agent, f);
	(void)close(f->fd);
	f->fd = fd;
	f->dev = st->st_dev;
	f->ino = st->st_ino;
	table_add(f->agent, f);
}

/* ---- what it is ----------------------------------------------------------------------------- */

/* What is known about a log before it is followed. Slices of other memory. */
struct found {
	struct stat st;
	struct markpeek_who who;
	struct process_name name;
	struct str cgroup, container, job;
	char made_stream[STREAM_BYTES], made_job[256];
	struct arena arena; /* of a picture's texts */
	char cgroup_text[4096];
	enum process_state state;
	pid_t pid;
	int pidfd;
	bool text, exited, picture;
};

/* Descriptors come from anybody. */
static int check_file(struct found *x, int fd, const struct follow_from *from, struct err *err)
{
	struct statfs fs;
	int mode = fcntl(fd, F_GETFL);
	if (fstat(fd, &x->st) || mode < 0)
		return err_set(err, -errno, "look at a log: %s", strerror(errno));
	if (!S_ISREG(x->st.st_mode) || (mode & O_ACCMODE) == O_WRONLY || (mode & O_PATH))
		return err_set(err, -EPERM, "what was given as a log is no file that can be read");
	/* A read from a file system that is a program of its user may never return. */
	if (from->peer && (fstatfs(fd, &fs) || (unsigned long)fs.f_type == FUSE_SUPER_MAGIC))
		return err_set(err, -EPERM,
			       "a log on a FUSE file system is not read through a descriptor; set "
			       "ROIMETER_LOG to a folder that the agent watches");
	if (from->peer && from->peer->uid != x->st.st_uid && from->peer->uid != 0)
		return err_set(err, -EPERM, "user %u gave a log that belongs to user %u",
			       (unsigned)from->peer->uid, (unsigned)x->st.st_uid);
	return 0;
}

/* Names go into file names, messages and keys. */
static bool name_good(struct str s, size_t max)
{
	if (!s.n || s.n >= max)
		return false;
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];
		if (c <= ' ' || c >= 127 || c == '"' || c == '\\' || c == '/')
			return false;
	}
	return true;
}

/* A text log has no name of its own: its file has. */
static int look_text(struct found *x, const void *bytes, size_t n, struct err *err)
{
	struct roi_logs logs = { .n = 0 };
	logs.arena.max_bytes = 64u << 20;
	/* The last line may be cut here; what matters is in the first. */
	const char *end = memrchr(bytes, '\n', n);
	int rc = roilog_parse(&logs, "text log", bytes,
			      end ? (size_t)(end + 1 - (const char *)bytes) : n, err);
	long pid = !rc && logs.n && logs.items[0]->pid ? strtol(logs.items[0]->pid, NULL, 10) : 0;
	roilogs_done(&logs);
	if (rc)
		return rc;
	x->name.pid = pid > 0 && pid <= INT32_MAX ? (pid_t)pid : 0;
	x->text = true;
	return 0;
}

/* It is called as the log of its process is, and more. */
static int look_picture(struct agent *a, struct found *x, int fd, const char *name, struct err *err)
{
	x->picture = true;
	int rc = picture_who(&x->who, &x->exited, &x->arena, fd, a->scratch, err);
	if (rc)
		return rc;
	if (!name_good(str_of(name), STREAM_BYTES) || process_name_read(&x->name, name))
		return err_set(err, -EPERM, "a picture has a name that can't be");
	(void)snprintf(x->made_stream, sizeof x->made_stream, "%s", name);
	if (!name_good(x->who.run, RUN_BYTES) || !name_good(x->who.exec, RUN_BYTES))
		return err_set(err, -EPERM,
			       "a picture that says of no run and execution what it saw");
	return 0;
}

static int look_inside(struct agent *a, struct found *x, int fd, struct err *err)
{
	ssize_t n = pread(fd, a->scratch, MARKPEEK_HEAD, 0);
	if (n < 0)
		return err_set(err, -EIO, "read a log: %s", strerror(errno));
	if (hpcperflog_is(a->scratch, (size_t)n))
		return look_text(x, a->scratch, (size_t)n, err);
	int rc = markpeek_who(&x->who, a->scratch, (size_t)n);
	if (rc)
		return rc == -EAGAIN ? rc : err_set(err, -EINVAL, "a file is no mark log");
	struct markpeek_state state;
	markpeek_state(&state, a->scratch);
	x->exited = state.exited;
	if (!name_good(x->who.stream, STREAM_BYTES))
		return err_set(err, -EPERM, "a mark log has a name that can't be");
	(void)snprintf(x->made_stream, sizeof x->made_stream, "%.*s", (int)x->who.stream.n,
		       x->who.stream.p);
	if (process_name_read(&x->name, x->made_stream))
		return err_set(err, -EPERM, "a mark log has a name that can't be");
	if (!name_good(x->who.run, RUN_BYTES))
		x->who.run.p = NULL;
	if (!x->who.run.p || !name_good(x->who.exec, RUN_BYTES))
		x->who.exec.p = NULL;
	return 0;
}

/* A process that began behind the file's last word did not write it. */
static bool is_older(const struct stat *st, uint64_t start_ticks)
{
	int64_t boot_ns = agent_real() - agent_now();
	int64_t start_ns = boot_ns + (int64_t)(start_ticks * (1000000000u / TICKS_PER_S));
	return start_ns <= ((int64_t)st->st_mtim.tv_sec + 1) * 1000000000;
}

/* The process of a text log is known by its number alone. */
static void find_text(struct agent *a, struct found *x)
{
	uint64_t start = 0;
	if (x->name.pid && !process_start(&a->view, x->name.pid, &start) &&
	    process_of(&a->view, x->name.pid, x->st.st_uid) && is_older(&x->st, start)) {
		memcpy(x->name.boot, a->view.boot, sizeof x->name.boot);
		x->name.start = start;
		x->state = process_find(&a->view, &x->name, x->st.st_uid, 0, -1, false, &x->pid,
					&x->pidfd);
	} else {
		x->state = PROCESS_GONE;
	}
	(void)snprintf(x->made_stream, sizeof x->made_stream, "%s-%d-f%" PRIu64 ".t", a->view.boot,
		       (int)x->name.pid, (uint64_t)x->st.st_ino);
}

static void find_process(struct agent *a, struct found *x, const struct follow_from *from)
{
	x->pidfd = -1;
	if (x->text)
		find_text(a, x);
	else
		x->state = process_find(&a->view, &x->name, x->st.st_uid,
					from->peer ? from->peer->pid : 0, from->connection,
					x->exited, &x->pid, &x->pidfd);
	if (x->state != PROCESS_HERE)
		return;
	size_t n = process_cgroup(&a->view, x->pid, x->cgroup_text, sizeof x->cgroup_text);
	struct cgroup_place place;
	cgroup_place_read(&place, (struct str){ .p = x->cgroup_text, .n = n });
	if (!n || !place.path.p)
		return;
	x->cgroup = place.path;
	x->container = place.job.container;
	if (place.job.manager && place.job.job.p)
		(void)snprintf(x->made_job, sizeof x->made_job, "%s:%.*s", place.job.manager,
			       (int)place.job.job.n, place.job.job.p);
}

/* ---- follow it ------------------------------------------------------------------------------ */

/* Copies; NULL stays NULL. Bounded, since it comes from others. */
static const char *keep(char **at, struct str s)
{
	if (!s.p)
		return NULL;
	size_t n = s.n < TEXT_BYTES ? s.n : TEXT_BYTES;
	char *to = *at;
	memcpy(to, s.p, n);
	to[n] = 0;
	*at += n + 1;
	return to;
}

static struct follow *make(struct agent *a, const struct found *x, const struct follow_from *from)
{
	const struct str parts[] = {
		str_of(x->made_stream),
		x->who.run,
		x->who.exec,
		str_of(from->name),
		x->who.host,
		x->who.exe,
		x->who.rank,
		x->who.job,
		x->who.group,
		x->cgroup,
		x->container,
		x->picture ? x->who.stream : (struct str){ .p = NULL },
	};
	const size_t n = sizeof parts / sizeof *parts;
	const char *kept[sizeof parts / sizeof *parts];
	size_t room = sizeof x->made_job + STREAM_BYTES + 16;
	for (size_t i = 0; i < n; i++)
		room += (parts[i].n < TEXT_BYTES ? parts[i].n : TEXT_BYTES) + 1;
	struct follow *f = calloc(1, sizeof *f + room);
	if (!f)
		return NULL;
	char *at = f->names;
	for (size_t i = 0; i < n; i++)
		kept[i] = keep(&at, parts[i]);
	f->core.stream = kept[0];
	f->core.run = kept[1];
	f->core.exec = kept[2];
	if (!kept[3]) { /* as it would be called */
		kept[3] = at;
		at += snprintf(at, STREAM_BYTES + 16, "%s" MARKLOG_SUFFIX, x->made_stream) + 1;
	}
	f->file = kept[3];
	f->host = kept[4] ? kept[4] : a->host;
	f->exe = kept[5];
	f->rank = kept[6];
	f->job = kept[7] ? kept[7] : keep(&at, str_of(*x->made_job ? x->made_job : NULL));
	f->group = kept[8];
	f->cgroup = kept[9];
	f->container = kept[10];
	f->of = kept[11];
	char world[24] = "";
	if (x->who.world.p && x->who.world.n < sizeof world)
		memcpy(world, x->who.world.p, x->who.world.n);
	f->world = *world ? strtod(world, NULL) : NAN;
	return f;
}

static void process_ended(uv_poll_t *handle, int status, int events)
{
	struct follow *f = handle->data;
	(void)status;
	(void)events;
	f->agent->wakeups++;
	(void)uv_poll_stop(handle);
	core_ended(f->agent->core, &f->core, agent_now());
	agent_turn_soon(f->agent);
}

static void follow_freed(uv_handle_t *handle)
{
	struct follow *f = handle->data;
	struct agent *a = f->agent;
	free(f);
	agent_handle_closed(a);
}

static void release(struct follow *f)
{
	if (f->watching)
		uv_close((uv_handle_t *)&f->end, follow_freed);
	if (f->pidfd >= 0)
		(void)close(f->pidfd);
	if (f->fd >= 0)
		(void)close(f->fd);
	if (!f->watching)
		free(f);
}

/* The handle keeps the agent alive until it is closed. */
static int watch(struct agent *a, struct follow *f)
{
	if (f->pidfd < 0)
		return 0;
	int rc = uv_poll_init(a->loop, &f->end, f->pidfd);
	if (rc)
		return rc;
	f->end.data = f;
	f->watching = true;
	agent_handles_add(a);
	return uv_poll_start(&f->end, UV_READABLE, process_ended);
}

void follow_sample(struct follow *f)
{
	struct agent *a = f->agent;
	if (!a->samples || f->picture || f->core.gone || f->pid <= 0)
		return;
	const struct sample_who who = {
		.stream = f->core.stream,
		.run = f->core.mine ? f->core.run : NULL,
		.exec = f->core.mine ? f->core.exec : NULL,
		.pid = f->pid,
		.start_ticks = f->start,
	};
	if (samples_add_process(a->samples, &who, &f->sampled, NULL))
		f->sampled =
			NULL; /* then it has no samples, and its frames say so by having none */
}

static int begin(struct agent *a, int fd, const struct found *x, const struct follow_from *from,
		 struct err *err)
{
	struct follow *f = make(a, x, from);
	if (!f) {
		if (x->pidfd >= 0)
			(void)close(x->pidfd);
		return err_set(err, -ENOMEM, "out of memory");
	}
	f->agent = a;
	f->folder = from->folder;
	f->fd = fd;
	f->pidfd = x->pidfd;
	f->size = (uint64_t)x->st.st_size;
	f->dev = x->st.st_dev;
	f->ino = x->st.st_ino;
	f->pid = x->pid ? x->pid : x->name.pid;
	f->start = x->name.start;
	f->text = x->text;
	f->picture = x->picture;
	f->exited = x->exited;
	f->header_bytes = x->who.header_bytes;
	f->stream_bytes = x->who.stream_bytes;
	f->since_real_ns = agent_real();
	f->core.uid = x->st.st_uid;
	f->core.gone = x->state == PROCESS_GONE || x->state == PROCESS_BEFORE;
	f->core.unwatched = x->state == PROCESS_UNCERTAIN;
	int rc = watch(a, f);
	if (!rc)
		rc = core_add(a->core, &f->core, agent_now());
	if (rc) {
		f->fd = -1; /* the caller closes it */
		release(f);
		return rc == -ENOSPC || rc == -EDQUOT
			       ? rc
			       : err_set(err, rc, "follow a log: %s", strerror(-rc));
	}
	table_add(a, f);
	a->n_pictures += f->picture;
	if (!f->folder)
		held_add(&a->held, f->core.stream, f->fd, f->core.run && f->core.mine);
	follow_sample(f);
	if (f->core.run && !f->core.mine && !f->picture) /* of a picture its last look says it */
		agent_lose(a, "process", "refused", f->core.run,
			   "process %d of user %u names the run %s, which is another user's: it is "
			   "taken as one without a run",
			   (int)f->pid, (unsigned)f->core.uid, f->core.run);
	if (a->config->log_processes)
		log_info("process %d, %s: followed", (int)f->pid, f->core.stream);
	agent_turn_soon(a);
	return 0;
}

/* Of another boot: a file that stayed on disk while the machine went down is taken for the last
 * time; one of another machine, in a folder that is shared, is that machine's. */
static bool is_ours(const struct agent *a, const struct found *x, const struct follow_from *from)
{
	if (x->state != PROCESS_BEFORE || (from->folder && folder_is_own(from->folder)))
		return true;
	return from->folder && x->who.host.p && x->who.host.n == strlen(a->host) &&
	       !memcmp(x->who.host.p, a->host, x->who.host.n);
}

static int take(struct agent *a, int fd, const struct follow_from *from, struct err *err)
{
	struct found *x = calloc(1, sizeof *x);
	if (!x)
		return err_set(err, -ENOMEM, "out of memory");
	int rc = check_file(x, fd, from, err);
	bool known = !rc && follow_find(a, x->st.st_dev, x->st.st_ino);
	if (!rc && !known)
		rc = from->picture ? look_picture(a, x, fd, from->name, err)
				   : look_inside(a, x, fd, err);
	if (rc || known) {
		arena_free(&x->arena);
		free(x);
		return rc ? rc : -EEXIST;
	}
	find_process(a, x, from);
	const struct follow *same = follow_stream(a, x->made_stream);
	if (!is_ours(a, x, from))
		rc = -EINVAL;
	else if (x->state == PROCESS_OTHERS)
		rc = err_set(err, -EPERM, "a log of user %u has the name of another user's process",
			     (unsigned)x->st.st_uid);
	else if (same)
		rc = err_set(err, -EPERM,
			     "a second log of the name %s, of user %u; one of user %u is "
			     "followed already",
			     x->made_stream, (unsigned)x->st.st_uid, (unsigned)same->core.uid);
	if (rc && x->pidfd >= 0)
		(void)close(x->pidfd);
	if (!rc)
		rc = begin(a, fd, x, from, err);
	arena_free(&x->arena);
	free(x);
	return rc;
}

int follow_take(struct agent *a, int fd, const struct follow_from *from, struct err *err)
{
	int rc = take(a, fd, from, err);
	if (rc)
		(void)close(fd); /* of a log that is followed one descriptor is enough */
	return rc == -EEXIST ? 0 : rc;
}

void follow_forget(struct follow *f, bool durable)
{
	struct agent *a = f->agent;
	if (!f->folder)
		held_remove(&a->held, f->core.stream);
	else
		folder_done(f->folder, f->file, durable, f->dev, f->ino);
	if (a->samples && f->sampled)
		samples_remove_process(a->samples, f->sampled);
	if (a->config->log_processes)
		log_info("process %d, %s: %s", (int)f->pid, f->core.stream,
			 durable ? "done" : "lost");
	table_remove(a, f);
	a->n_pictures -= f->picture;
	release(f);
	folders_room(a);
}

void follow_close_all(struct agent *a)
{
	for (size_t i = 0; i < FOLLOW_BUCKETS; i++)
		while (a->buckets[i]) {
			struct follow *f = a->buckets[i];
			table_remove(a, f);
			release(f);
		}
}
