/* The picture as a file: made beside its place, then renamed, so that there is a whole one always.
 */
#define _GNU_SOURCE
#include "collectors/live_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/num.h"
#include "lib/version.h"
#include "schema/local.h"
#include "schema/local_folder.h"
#include "schema/marklog.h"
#include "schema/markpeek.h"
#include "schema/picture.h"

#define PROGRAMS 1000 /* of one process; those after them share a picture */
#define BOOT_ID "/proc/sys/kernel/random/boot_id"

/* ---- who this is ---------------------------------------------------------------------------- */

static size_t slurp(const char *path, char *text, size_t room)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, room - 1);
	if (fd >= 0)
		(void)close(fd);
	text[n > 0 ? n : 0] = 0;
	return n > 0 ? (size_t)n : 0;
}

/* Ticks since boot, the 22nd word; the second one may hold anything, in brackets. */
static void start_of_process(char *text, size_t room)
{
	char stat[1024];
	(void)slurp("/proc/self/stat", stat, sizeof stat);
	const char *at = strrchr(stat, ')');
	for (int i = 0; at && i < 20; i++)
		at = strchr(at + 1, ' ');
	(void)snprintf(text, room, "%.*s", at ? (int)strcspn(at + 1, " ") : 1, at ? at + 1 : "0");
}

/* path, or the folder of the agent whose socket it is. */
static int take_folder(const char *path, bool agents)
{
	char *to = live.folder;
	size_t room = sizeof live.folder, at = 0;
	if (path[0] != '/') { /* the program may be elsewhere by the time */
		if (!getcwd(to, room - 1))
			return -ENOENT;
		at = strlen(to);
		to[at++] = '/';
	}
	const char *slash = strrchr(path, '/');
	int n = !agents ? snprintf(to + at, room - at, "%s", path)
			: snprintf(to + at, room - at, "%.*s" LOCAL_LOGS,
				   slash ? (int)(slash - path) + 1 : 0, path);
	live.agents = agents;
	return n < 0 || (size_t)n >= room - at ? -ENAMETOOLONG : 0;
}

/* As of the mark log: the one that was asked for, or where that is not there (its runner is on
 * another node), the one of this node's agent. */
static int find_folder(void)
{
	const char *folder = getenv("ROIMETER_LOG"), *agent = getenv(LOCAL_VARIABLE);
	bool asked = folder && *folder, beside = agent && *agent;
	if (!asked && !beside)
		return -ENOENT;
	int rc = asked ? take_folder(folder, false) : -ENOENT;
	if (!beside || (!rc && access(live.folder, W_OK | X_OK) == 0))
		return rc;
	rc = take_folder(agent, true);
	bool there = !rc && access(live.folder, W_OK | X_OK) == 0;
	return asked && !there ? take_folder(folder, false) : rc;
}

static const char *own(const char *text)
{
	return text && *text ? arena_strdup(&live.texts, text) : NULL;
}

static void name_file(void)
{
	(void)snprintf(live.name, sizeof live.name, "%.160s.%.32s", live.stream, live.o.collector);
}

static int picture_path(char path[PATH_MAX], const char *hidden)
{
	int n = snprintf(path, PATH_MAX, "%s/%s%s%s", live.folder, hidden, live.name,
			 live.o.picture ? live.o.suffix : PICTURE_SUFFIX);
	return n < 0 || n >= PATH_MAX ? -ENAMETOOLONG : 0;
}

/* As the mark log is called. Where there is none, nobody knows how often the process went through
 * exec, and what each of its programs left stays: "p", "p1", ... */
static void name_stream(const char *start)
{
	char path[PATH_MAX], which[16] = "p";
	for (unsigned i = 1; i <= PROGRAMS; i++) {
		live.stream = arena_printf(&live.texts, "%.8s-%s-%s.%s",
					   live.boot ? live.boot : "unknown", live.pid_text, start,
					   which);
		if (!live.stream)
			return;
		name_file();
		if (picture_path(path, "") || access(path, F_OK))
			return;
		(void)snprintf(which, sizeof which, "p%u", i);
	}
}

int who_find(void)
{
	char text[PATH_MAX], start[32];
	int rc = find_folder();
	if (rc)
		return rc;
	live.run = own(getenv("ROIMETER_RUN"));
	live.exec = own(getenv("ROIMETER_EXEC"));
	live.pid_text = arena_printf(&live.texts, "%ld", (long)getpid());
	if (gethostname(text, sizeof text - 1) == 0)
		live.host = own(text);
	ssize_t n = readlink("/proc/self/exe", text, sizeof text - 1);
	text[n > 0 ? n : 0] = 0;
	live.exe = own(text);
	if (slurp(BOOT_ID, text, sizeof text))
		text[strcspn(text, "\n")] = 0;
	live.boot = own(text);
	start_of_process(start, sizeof start);
	if (live.pid_text)
		name_stream(start);
	return live.stream ? 0 : -ENOMEM;
}

static void replace(const char **text, struct str by)
{
	const char *copy = by.p && by.n ? arena_strndup(&live.texts, by.p, by.n) : NULL;
	if (copy)
		*text = copy;
}

/* The log's header says it better: the stream's own name, and the rank. */
void who_take(const void *log)
{
	struct markpeek_who who;
	const struct marklog_header *h = log;
	if (markpeek_who(&who, log, h->header_bytes))
		return;
	replace(&live.stream, who.stream);
	replace(&live.rank, who.rank);
	replace(&live.host, who.host);
	replace(&live.boot, who.boot_id);
	name_file();
}

/* ---- the file ------------------------------------------------------------------------------- */

/* Past its limit for files the kernel would end the program with SIGXFSZ. */
static int within_limit(size_t n)
{
	struct rlimit limit;
	bool past = !getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur != RLIM_INFINITY &&
		    n > limit.rlim_cur;
	return past ? -EFBIG : 0;
}

static int put_bytes(int fd, const char *at, size_t n)
{
	while (n) {
		ssize_t done = write(fd, at, n);
		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done ? -errno : -ENOSPC;
		at += done;
		n -= (size_t)done;
	}
	return 0;
}

/* Not synced: what must survive is the process, and not the machine. */
static int put_file(const struct buf *b)
{
	char path[PATH_MAX], hidden[PATH_MAX];
	int rc = b->failed ? -ENOMEM : within_limit(b->len);
	if (!rc && (picture_path(path, "") || picture_path(hidden, ".")))
		rc = -ENAMETOOLONG;
	if (rc)
		return rc;
	(void)unlink(hidden); /* of a try that failed */
	int fd = open(hidden, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0)
		return -errno;
	rc = live.agents ? local_folder_take(fd) : 0;
	if (!rc)
		rc = put_bytes(fd, b->data, b->len);
	if (close(fd) && !rc)
		rc = -errno;
	if (!rc && rename(hidden, path))
		rc = -errno;
	if (rc)
		(void)unlink(hidden);
	return rc;
}

static void loss_path(char path[PATH_MAX])
{
	(void)snprintf(path, PATH_MAX, "%.3900s/" MARKLOG_LOSS_LINK "%s.picture%s", live.folder,
		       live.pid_text, live.o.picture ? live.o.suffix : "");
}

/* A link holds the sentence: that needs neither space nor a descriptor. It is taken back when a
 * later try did it. */
static void say_failure(int rc)
{
	char path[PATH_MAX], text[256], why[128];
	loss_path(path);
	if (!rc && live.said)
		live.said = unlink(path) != 0;
	if (!rc || live.said)
		return;
	(void)snprintf(text, sizeof text, "picture of process %s by %s could not be written: %s",
		       live.pid_text, live.o.collector, strerror_r(-rc, why, sizeof why));
	live.said = symlink(text, path) == 0;
}

/* ---- the picture ---------------------------------------------------------------------------- */

static bool has_work(const struct picture *p)
{
	double ops = 0;
	for (size_t i = 0; i < p->whole.ops.n; i++)
		ops += p->whole.ops.items[i] > 0 ? p->whole.ops.items[i] : 0;
	return ops > 0 || p->whole.untimed > 0 || p->devices.n || p->pending > 0 || p->graphs > 0;
}

/* Whoever could observe nothing says nothing but where the region was. */
static void keep_region(struct picture *p)
{
	struct picture seen = *p;
	picture_clear(p);
	p->base_s = seen.base_s;
	p->base_ns = seen.base_ns;
	p->found = seen.found;
	p->entries = seen.entries;
	p->gross_ns = seen.gross_ns;
	p->wall_ns = seen.wall_ns;
	p->windows = seen.windows;
	p->windows_closed_ns = seen.windows_closed_ns;
}

static void put_notes(struct txts *ret, struct arena *a)
{
	size_t n = live.n_notes + (live.notes_left_out > 0);
	ret->items = arena_array(a, n + 1, sizeof *ret->items);
	for (size_t i = 0; ret->items && i < live.n_notes; i++)
		ret->items[ret->n++] = live.notes[i];
	const char *more = live.notes_left_out ? arena_printf(a, "%zu more sentences had no room",
							      live.notes_left_out)
					       : NULL;
	if (ret->items && more)
		ret->items[ret->n++] = more;
}

static void put_cost(struct picture *p)
{
	p->collector_cpu_s = (double)GET(live.cpu_ns) / 1e9;
	p->collector_roi_cpu_s = (double)GET(live.roi_cpu_ns) / 1e9;
}

/* With the lock. */
static int make(struct picture *p, struct arena *a, bool final)
{
	int64_t pending = GET(live.pending);
	sample_all(live_now());
	int rc = flow_picture(live.flow, a, p, NULL);
	if (rc)
		return rc;
	p->pending = pending > 0 ? (double)pending : 0;
	if (live.status[0])
		keep_region(p);
	p->status = live.status[0] ? arena_strdup(a, live.status) : has_work(p) ? "ok" : "idle";
	p->why = live.why[0] ? arena_strdup(a, live.why) : NULL;
	p->runtime = live.runtime[0] ? arena_strdup(a, live.runtime) : NULL;
	p->collector = live.o.collector;
	p->tool = "roimeter " ROIMETER_VERSION_TEXT;
	p->final = final ? YES : NO;
	p->run = live.run;
	p->exec = live.exec;
	p->stream = live.stream;
	p->host = live.host;
	p->boot = live.boot;
	p->pid = live.pid_text;
	p->rank = live.rank;
	p->exe = live.exe;
	p->clock = "monotonic";
	p->clock_offset_ns = live.clock_offset_ns;
	p->clock_drift_ns = live.clock_drift_ns;
	p->clock_error_ns = live.clock_error_ns;
	p->late_marks += (double)GET(live.marks_lost);
	p->late_calls += (double)GET(live.hosts_lost);
	put_notes(&p->notes, a);
	put_cost(p);
	return p->status ? 0 : -ENOMEM;
}

/* The same of another kind. */
static int make_other(struct buf *b, struct arena *a, bool final)
{
	struct live_who who = {
		.collector = live.o.collector,
		.tool = "roimeter " ROIMETER_VERSION_TEXT,
		.status = live.status[0] ? live.status : NULL,
		.why = live.why[0] ? live.why : NULL,
		.run = live.run,
		.exec = live.exec,
		.stream = live.stream,
		.host = live.host,
		.boot = live.boot,
		.pid = live.pid_text,
		.rank = live.rank,
		.exe = live.exe,
		.final = final,
		.cpu_s = (double)GET(live.cpu_ns) / 1e9,
		.roi_cpu_s = (double)GET(live.roi_cpu_ns) / 1e9,
		.marks_lost = (double)GET(live.marks_lost),
	};
	put_notes(&who.notes, a);
	return live.o.picture(live.flow, &who, a, b);
}

static int make_any(struct buf *b, struct arena *a, bool final)
{
	struct picture p;
	if (live.o.picture)
		return make_other(b, a, final);
	int rc = make(&p, a, final);
	if (!rc)
		picture_put(b, &p);
	return rc;
}

/* One that was made later may be there already. */
static int put_newest(const struct buf *b, int rc, uint64_t number)
{
	int locked = lock_take(&live.write);
	if (locked)
		return locked;
	if (number > live.written) {
		if (!rc)
			rc = put_file(b);
		if (!rc)
			live.written = number;
		say_failure(rc);
	}
	lock_give(&live.write);
	return 0;
}

int live_write(enum live_picture which)
{
	struct arena a = { 0 };
	struct buf b = { .max = PICTURE_MAX_BYTES };
	int rc = live_lock(), made = -ECANCELED;
	if (rc)
		return rc;
	uint64_t number = ++live.made;
	if (GET(live.state) == LIVE_ON && live.flow && !live.last)
		made = make_any(&b, &a, which != LIVE_MORE);
	live.last |= which == LIVE_LAST;
	live_unlock();
	if (made != -ECANCELED)
		rc = put_newest(&b, made, number);
	buf_done(&b);
	arena_free(&a);
	return rc;
}
