/* Shared by the files around the core: the agent, what it follows, who is connected. */
#ifndef AGENT_IMPL_H
#define AGENT_IMPL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <uv.h>

#include "agent/core.h"
#include "agent/held.h"
#include "agent/loop.h"
#include "agent/outbox.h"
#include "agent/process.h"
#include "agent/runs.h"
#include "lib/buf.h"
#include "lib/err.h"
#include "lib/unixsock.h"
#include "schema/batch.h"
#include "schema/markpeek.h"

#define FOLLOW_BUCKETS 1024u
#define FOLLOW_MAX_BYTES (UINT64_C(128) << 20) /* of one log; its rest is lost, and said */
#define AGENT_MAX_RUNS 1024

struct samples;
struct sampled;
struct folder;
struct connection;
struct notebook;
struct orphan;

/* One log that is followed. Freed when its handle is closed. */
struct follow {
	struct core_log core;
	struct agent *agent;
	struct follow *next;   /* in its bucket */
	struct folder *folder; /* where its file lies; NULL: known by its descriptor only */
	uv_poll_t end;         /* on pidfd */
	bool watching, text;   /* text: a foreign log, which is not looked into while it grows */
	bool picture;          /* what a collector leaves: made anew under its name, each time */
	int fd, pidfd;
	dev_t dev;
	ino_t ino;
	uint64_t size; /* of the file, as of the last time it was sent */
	pid_t pid;
	uint64_t start; /* clock ticks after boot, as in its name */
	uint32_t header_bytes, stream_bytes;
	struct markpeek_far far;
	uint32_t streams;
	bool exited;
	double world;
	int64_t since_real_ns;

	/* What it costs us. */
	uint64_t cpu_ns, cost_from_ns, wakeups, bytes, snapshots;
	struct sampled *sampled;

	/* In names, one behind the other. */
	const char *file, *host, *exe, *rank, *job, *group, *cgroup, *container;
	const char *of; /* of a picture: the stream of its process's log */
	char names[];
};

struct agent {
	uv_loop_t *loop;
	struct core *core;
	struct outbox *outbox;
	struct post *post;
	struct samples *samples;
	struct agent_config *config; /* our own */

	uv_prepare_t turn;  /* before the loop sleeps: what is to be done, made durable, answered */
	uv_timer_t clock;   /* core_next */
	uv_poll_t sampling; /* on a timerfd: samples are taken at aligned times */
	int sampling_fd;
	int64_t sampling_ns; /* when it fires, CLOCK_REALTIME */
	bool started; /* all of it is open */
	bool sampling_on, stopping;
	bool was_quiet, was_busy; /* as the samplers were told */
	char was_run[128], was_exec[128];
	bool dirty;       /* something was put that somebody waits for */
	bool again;       /* a turn could not do all */
	int64_t retry_ns; /* after a sync that failed */
	unsigned handles; /* not closed yet */

	struct follow *buckets[FOLLOW_BUCKETS];
	size_t n_follows, n_pictures; /* the second are among the first */

	struct intake *intake;
	struct folders *folders;
	struct process_view view;
	struct runs runs;
	struct notebook *notebook; /* NULL: it could not be opened */
	struct orphan *orphans;
	bool forgetting;  /* the notebook has trouble: said once */
	struct held held; /* logs that are known by their descriptor only */

	char boot[40], host[256];
	int64_t start_real_ns;
	uint64_t wakeups, losses, unsaid;
	int64_t said_second;
	unsigned said;          /* losses, in the log in this second */
	unsigned char *scratch; /* BATCH_CHUNK bytes */
	bool losing;            /* the last log could not be followed: said once */
	uint64_t lost;          /* frames, as the outbox said at the last sync */
};

/* Clocks, in ns. */
int64_t agent_now(void);  /* CLOCK_BOOTTIME: the core's */
int64_t agent_real(void); /* CLOCK_REALTIME */
uint64_t agent_cpu(void); /* of this thread */

/* Handles that are open keep the agent's memory; the last one that closes frees it. */
void agent_handles_add(struct agent *a);
void agent_handle_closed(struct agent *a);
void agent_turn_soon(struct agent *a);
void agent_clock(uv_timer_t *handle);

/* May one more loss be told in the log in this second? Else it is counted there. */
bool agent_may_say(struct agent *a);
/* A loss, for the daemon and for the log. */
void agent_lose(struct agent *a, const char *what, const char *why, const char *run,
		const char *format, ...) __attribute__((format(printf, 5, 6)));

/* ---- follow.c: one log ---------------------------------------------------------------------- */

struct follow_from {
	struct folder *folder;            /* NULL: by a descriptor that was passed */
	const char *name;                 /* of the file, or NULL */
	bool picture;                     /* it is no log, but what a collector left */
	const struct unixsock_peer *peer; /* who passed it, or NULL */
	int connection;                   /* over which, or -1 */
};

/* Follow what this descriptor leads to; it is taken. 0: followed, or already. -EAGAIN: it is not
 * ready; -ENOSPC: as many are followed as may be, -EDQUOT: of this user; -EINVAL: no log; -EPERM
 * and others: refused, with a sentence. */
int follow_take(struct agent *a, int fd, const struct follow_from *from, struct err *err);
struct follow *follow_find(const struct agent *a, dev_t dev, ino_t ino);

struct follow *follow_stream(const struct agent *a, const char *stream);
/* From now on it is this file. */
void follow_refile(struct follow *f, int fd, const struct stat *st);
/* All of these bytes, or a failure; -ENODATA: the file is shorter. Booked to its process. */
int follow_read(struct follow *f, void *to, size_t n, uint64_t at);
bool follow_room(const struct agent *a); /* in the outbox */
const char *follow_run(const struct follow *f);
const char *follow_exec(const struct follow *f);
/* What was followed, or a part of it, is lost: counted, and said with its process. */
void follow_lose(struct follow *f, const char *why, const char *what);

/* What the core asks for. */
void follow_look(struct follow *f);
void follow_progress(struct follow *f);
void follow_send(struct follow *f, bool final);
void follow_sample(struct follow *f); /* hand it to the samplers */

/* follow_picture.c: the same of what a collector left. */
int picture_look(struct follow *f, struct core_look *ret);
int picture_send(struct follow *f, bool final);
/* Who left it, from its first bytes; texts are in the arena. -EINVAL: it is none. */
int picture_who(struct markpeek_who *ret, bool *ret_final, struct arena *a, int fd, void *scratch,
		struct err *err);

/* What following the process of this frame has cost so far, into it; nothing where none is
 * followed. */
void follow_cost(struct agent *a, struct frame_process *p);
void follow_forget(struct follow *f, bool durable);
/* All of them, without a word to the core. */
void follow_close_all(struct agent *a);

/* ---- folder.c ------------------------------------------------------------------------------- */

int folders_open(struct agent *a, const char *own, struct err *err);
int folders_set(struct agent *a, const char *const *paths, size_t n, struct err *err);
void folders_close(struct agent *a);
/* Goes on reading folders, where there is room for what is in them; when to call it next. */
void folders_go_on(struct agent *a);
int64_t folders_next(const struct agent *a);
struct json_t *folders_list(const struct agent *a); /* their paths */
bool folder_is_own(const struct folder *folder);
const char *folder_path(const struct folder *folder);
int folder_open(const struct folder *folder, const char *name); /* a descriptor, or -errno */
void folder_done(struct folder *folder, const char *name, bool durable, dev_t dev, ino_t ino);
/* The folder in which this file lies, or NULL; name: of the file, "" when it has none. */
struct folder *folders_of(const struct agent *a, int fd, char name[256]);
/* There was no room for one of its logs: -ENOSPC, or -EDQUOT: for one of this user. */
void folder_more(struct folder *folder, int rc);
void folders_room(struct agent *a);  /* a log went */
void folders_check(struct agent *a); /* now and then, for what no event tells */

/* ---- intake.c ------------------------------------------------------------------------------- */

int intake_open(struct agent *a, int listening, struct err *err);
void intake_last(struct agent *a); /* what waits at the socket, before it is closed */
void intake_close(struct agent *a);
void intake_kept(struct agent *a, uint64_t seq); /* all that was put is durable, up to seq */
void intake_delivered(struct agent *a, uint64_t seq);

/* ---- orphan.c: runs that the next life of the agent is to know ------------------------------ */

/* Runs of an earlier life: those whose runner lives are watched, those whose runner is gone end. */
void orphans_open(struct agent *a);
void orphans_close(struct agent *a);
/* The runner at the other end announced this run; its end was put, by itself or for it. */
void orphans_announced(struct agent *a, const char *run, int64_t real_ns,
		       const struct unixsock_peer *runner);
void orphans_over(struct agent *a, const char *run);
/* All that was put is durable: so is now what the two said, or it is a warning. */
void orphans_durable(struct agent *a);
void orphans_go_on(struct agent *a);
int64_t orphans_next(const struct agent *a); /* when orphans_go_on has something to do */

/* ---- self.c --------------------------------------------------------------------------------- */

void node_put(struct agent *a); /* the machine, once */
void self_put(struct agent *a); /* the agent, now and then */
double self_rss(void);          /* NAN: not known */
double self_cpu(void);
int sampling_open(struct agent *a, struct err *err);
int sampling_again(struct agent *a, struct err *err); /* the configuration is another */
void sampling_set(struct agent *a); /* tells the samplers what is on the node; sets the timer */
void sampling_close(struct agent *a);

/* ---- status.c ------------------------------------------------------------------------------- */

/* What this user may know: its own processes and runs; root and the agent's own user all. */
char *status_text(const struct agent *a, uid_t uid); /* free it; NULL: no memory */

#endif
