/* What a runner hands in: one batch in a file without a name. All of it is looked at before any of
 * it is done. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/intake.h"
#include "lib/name.h"
#include "lib/num.h"
#include "schema/conformance.h"

#define LARGEST (BATCH_HEAD_BYTES + BATCH_MAX_SENDER + BATCH_MAX_PACKED)
#define NAME_MAX_BYTES 127u
#define KEEP_BYTES (1u << 20) /* of memory, from one batch to the next */

/* Copied: its sender may change it while it is read. */
static int copy_in(int fd, unsigned char **ret, size_t *ret_n, struct err *err)
{
	struct stat st;
	/* Only memory has seals: a read of a file on a disk of its user (FUSE) may never return. */
	if (fd < 0 || fcntl(fd, F_GET_SEALS) < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode))
		return err_set(err, -EINVAL, "a batch comes as a descriptor of a memory file");
	if (st.st_size <= 0 || (uint64_t)st.st_size > LARGEST)
		return err_set(err, -E2BIG, "a batch of %lld bytes: at most %u are taken",
			       (long long)st.st_size, LARGEST);
	size_t n = (size_t)st.st_size, done = 0;
	unsigned char *bytes = malloc(n);
	if (!bytes)
		return err_set(err, -ENOMEM, "no memory for a batch of %zu bytes", n);
	while (done < n) {
		ssize_t got = pread(fd, bytes + done, n - done, (off_t)done);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			free(bytes);
			return err_set(err, -EBADMSG, "a batch could not be read whole");
		}
		done += (size_t)got;
	}
	*ret = bytes;
	*ret_n = n;
	return 0;
}

static bool name_good(struct str s)
{
	if (!s.p || !s.n || s.n > NAME_MAX_BYTES)
		return false;
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] <= ' ' || (unsigned char)s.p[i] >= 127)
			return false;
	return true;
}

static void text(char to[NAME_MAX_BYTES + 1], struct str from)
{
	memcpy(to, from.p, from.n);
	to[from.n] = 0;
}

static int check_declare(const struct frame_declare *d, struct err *err)
{
	const char *why = name_fault(d->suite);
	return why ? err_set(err, -EBADMSG, "a declare frame: the name of the suite %s", why) : 0;
}

static int check_conformance(const struct frame_conformance *f, struct err *err)
{
	struct conformance result;
	struct arena a = { 0 };
	int rc = conformance_get(&result, &a, f->result.p ? f->result.p : "", f->result.n, err);
	arena_free(&a);
	return rc ? err_wrap(err, rc == -EINVAL ? -EBADMSG : rc, "a conformance frame") : 0;
}

/* Of a suite, of a platform. */
static bool of_no_run(const struct frame *f)
{
	return f->type == FRAME_DECLARE || f->type == FRAME_CONFORMANCE;
}

static int check(const struct connection *c, const struct frame *f, struct err *err)
{
	char run[NAME_MAX_BYTES + 1];
	struct str r = frame_run(f), e = frame_exec(f);
	if (f->type == FRAME_DECLARE)
		return check_declare(&f->as.declare, err);
	if (f->type == FRAME_CONFORMANCE)
		return check_conformance(&f->as.conformance, err);
	bool needs_exec = f->type == FRAME_EXECUTION_START || f->type == FRAME_EXECUTION_END ||
			  f->type == FRAME_PROCESS || f->type == FRAME_PICTURE;
	if (!name_good(r) || (needs_exec && !name_good(e)))
		return err_set(err, -EPERM,
			       "a %s frame: a runner speaks of runs and their executions, by name",
			       frame_name(f->type));
	if (f->type == FRAME_PROCESS && !name_good(f->as.process.stream))
		return err_set(err, -EBADMSG, "a process frame without a name");
	if (f->type == FRAME_PICTURE && !name_good(f->as.picture.file))
		return err_set(err, -EBADMSG, "a picture frame without a name");
	text(run, r);
	int rc = core_admits(c->agent->core, run, c->peer.uid);
	if (rc == -EPERM)
		return err_set(err, rc, "the run %s belongs to another user", run);
	if (rc == -EDQUOT && f->type == FRAME_RUN_ANNOUNCE)
		return err_set(err, rc,
			       "the run %s: you have as many runs as one user may have here", run);
	if (rc && f->type == FRAME_RUN_ANNOUNCE)
		return err_set(err, rc, "the run %s: the agent has as many runs as it can", run);
	return 0;
}

/* Nothing is said from the future: it would stand against all that follows. */
static int64_t not_later(int64_t real_ns)
{
	int64_t now_ns = agent_real();
	return real_ns == ROI_UNKNOWN || real_ns > now_ns ? now_ns : real_ns;
}

/* Who says so is what the socket knows, whatever the frame says. */
static void sign(struct frame *f, const struct connection *c)
{
	int64_t uid = c->peer.uid;
	switch (f->type) {
	case FRAME_RUN_ANNOUNCE:
		f->as.run_announce.uid = uid;
		break;
	case FRAME_EXECUTION_START:
		f->as.execution_start.uid = uid;
		break;
	case FRAME_EXECUTION_END:
		f->as.execution_end.uid = uid;
		break;
	case FRAME_PROCESS:
		/* Root's runner speaks for programs that run as others. */
		if (c->peer.uid != 0 || f->as.process.uid == ROI_UNKNOWN)
			f->as.process.uid = uid;
		/* The runner's look at the log takes the place of ours: our cost goes with it. */
		follow_cost(c->agent, &f->as.process);
		break;
	case FRAME_PICTURE:
		f->as.picture.uid = uid;
		break;
	case FRAME_RUN_END:
		f->as.run_end.uid = uid;
		break;
	case FRAME_DECLARE:
		f->as.declare.uid = uid;
		f->as.declare.real_ns = not_later(f->as.declare.real_ns);
		break;
	case FRAME_CONFORMANCE:
		f->as.conformance.uid = uid;
		f->as.conformance.real_ns = not_later(f->as.conformance.real_ns);
		break;
	default:
		break;
	}
}

/* The core is told what was put. */
static void act(struct connection *c, const struct frame *f)
{
	struct agent *a = c->agent;
	char run[NAME_MAX_BYTES + 1], more[NAME_MAX_BYTES + 1];
	text(run, frame_run(f));
	if (frame_exec(f).p)
		text(more, frame_exec(f));
	if (f->type == FRAME_RUN_ANNOUNCE &&
	    !core_announced(a->core, run, c->peer.uid, c, agent_now())) {
		c->announced = true;
		orphans_announced(a, run, f->as.run_announce.real_ns, &c->peer);
	}
	if (f->type == FRAME_EXECUTION_START)
		core_execution(a->core, run, more);
	if (f->type == FRAME_EXECUTION_END)
		core_execution(a->core, run, NULL);
	if (f->type == FRAME_PROCESS && f->as.process.final == YES &&
	    f->as.process.offset + f->as.process.data.n >= f->as.process.size) {
		text(more, f->as.process.stream);
		core_brought(a->core, run, more);
	}
	if (f->type == FRAME_PICTURE && f->as.picture.final == YES &&
	    f->as.picture.offset + f->as.picture.data.n >= f->as.picture.size) {
		text(more, f->as.picture.file);
		core_brought(a->core, run, more);
	}
	if (f->type == FRAME_RUN_END) {
		core_run_over(a->core, run, agent_now());
		orphans_over(a, run);
	}
	runs_note(&a->runs, f, c->peer.uid, c);
}

static int each(struct connection *c, struct err *err, bool take)
{
	struct batch_in *in = &c->agent->intake->in;
	struct frame f;
	int rc, more;
	batch_rewind(in);
	while ((more = batch_next(in, &f, err)) == 1) {
		if (!take) {
			rc = check(c, &f, err);
		} else {
			sign(&f, c);
			rc = outbox_put(c->agent->outbox, &f, err);
		}
		if (rc)
			return rc;
		if (take && !of_no_run(&f))
			act(c, &f);
	}
	return more;
}

int intake_batch(struct connection *c, int fd, struct err *err)
{
	struct agent *a = c->agent;
	struct outbox_stats st;
	unsigned char *bytes = NULL;
	size_t n = 0;
	outbox_stats(a->outbox, &st);
	/* What the outbox refuses counts as lost. A runner keeps what it has, and comes again. */
	if (st.full)
		return err_set(err, -ENOSPC, "the agent has no room on its disk; try again later");
	int rc = copy_in(fd, &bytes, &n, err);
	if (!rc)
		rc = batch_open(&a->intake->in, bytes, n, err);
	if (!rc && a->intake->in.head.bytes != n)
		rc = err_set(err, -EBADMSG, "there is more than one batch");
	if (!rc)
		rc = each(c, err, false);
	if (!rc)
		rc = each(c, err, true);
	free(bytes);
	if (a->intake->in.plain.cap > KEEP_BYTES)
		batch_in_done(&a->intake->in);
	if (!rc)
		a->dirty = true;
	return rc;
}
