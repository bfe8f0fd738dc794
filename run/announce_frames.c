/* Frames of a run: the announcement, executions with their logs, the end. */
#define _GNU_SOURCE
#include "run/announce_frames.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/carry.h"
#include "lib/num.h"
#include "schema/codec.h"

/* What a sequence of frames borrows from. */
struct teller {
	struct case_run *c;
	const struct fill *f;
	const struct announce_what *what;
	int (*put)(void *arg, const struct frame *frame);
	void *arg;
	struct carry carry;
	struct buf record, names;
};

static struct str text(const char *s)
{
	return str_of(s);
}

static int put(struct teller *t, const struct frame *f)
{
	return t->put(t->arg, f);
}

static int put_record(struct teller *t, struct record *rec, struct err *err)
{
	int rc = fill_known(rec, t->c, t->f, err);
	t->record.len = 0;
	if (!rc)
		record_put(&t->record, rec);
	return rc ? rc : t->record.failed ? err_set(err, -ENOMEM, "out of memory") : 0;
}

/* ---- the run --------------------------------------------------------------------------------- */

static void put_names(struct teller *t)
{
	char name[EXECUTION_NAME_BYTES];
	t->names.len = 0;
	for (size_t i = 0; i < case_planned(t->c); i++)
		batch_text_put(&t->names, text(case_execution(t->c, t->f, i, name)));
}

static int announce(struct teller *t, struct err *err)
{
	struct record rec;
	struct frame frame;
	struct frame_run_announce *a = &frame.as.run_announce;
	int rc = put_record(t, &rec, err);
	put_names(t);
	if (!rc && t->names.failed)
		rc = err_set(err, -ENOMEM, "out of memory");
	if (!rc) {
		const struct record_body *b = &rec.body;
		frame_clear(&frame, FRAME_RUN_ANNOUNCE);
		a->run = text(b->run_id);
		a->suite = text(b->suite);
		a->app = text(b->app);
		a->case_ = text(b->case_);
		a->platform = text(b->platform);
		a->kind = text(b->kind);
		a->real_ns = t->what->real_ns;
		a->executions = batch_list(&t->names);
		a->ranks = t->c->spread ? (double)t->c->c->ranks : (double)NAN;
		a->expected_s = t->c->expected_s;
		a->steps = t->c->expected_steps;
		a->timeout_s = b->measurement.timeout_s;
		a->user = text(t->what->user);
		a->job = text(t->what->job);
		a->record = batch_list(&t->record);
		rc = put(t, &frame);
	}
	record_done(&rec);
	return rc;
}

static int end(struct teller *t, struct err *err)
{
	struct record rec;
	struct frame frame;
	struct frame_run_end *e = &frame.as.run_end;
	int rc = put_record(t, &rec, err);
	if (!rc) {
		frame_clear(&frame, FRAME_RUN_END);
		e->run = text(rec.body.run_id);
		e->complete = t->c->cut ? NO : YES;
		e->real_ns = t->what->real_ns;
		e->runner_cpu_s = rec.body.observer.runner_cpu_s;
		e->log_bytes = rec.body.observer.log_bytes;
		e->wakeups = rec.body.observer.wakeups;
		e->record = batch_list(&t->record);
		rc = put(t, &frame);
	}
	record_done(&rec);
	return rc;
}

/* ---- executions ------------------------------------------------------------------------------ */

static int start(struct teller *t, const char *exec, double order, int64_t real_ns)
{
	struct frame frame;
	frame_clear(&frame, FRAME_EXECUTION_START);
	frame.as.execution_start.run = text(t->c->run_id);
	frame.as.execution_start.exec = text(exec);
	frame.as.execution_start.order = order > 0 ? (uint64_t)order : 0;
	frame.as.execution_start.real_ns = real_ns;
	return put(t, &frame);
}

/* The first process of this file; NULL: it is no log. All processes of a file have one place. */
static const struct roi_log *log_of(const struct worked *w, const char *file, size_t *ret_i)
{
	for (size_t i = 0; i < w->logs.n; i++)
		if (strcmp(w->logs.items[i]->file, file) == 0) {
			*ret_i = i;
			return w->logs.items[i];
		}
	return NULL;
}

static int64_t whole_number(const char *digits)
{
	char *stop = NULL;
	long long n = digits && *digits >= '0' && *digits <= '9' ? strtoll(digits, &stop, 10) : 0;
	return stop && !*stop ? n : ROI_UNKNOWN;
}

static void describe(struct teller *t, const struct made *m, const struct blob *b,
		     const struct roi_log *log, size_t i, struct frame_process *p)
{
	p->run = text(t->c->run_id);
	p->exec = text(m->capture.row.name);
	p->file = text(b->name);
	p->snapshot = t->what->snapshot;
	p->size = b->n;
	p->final = YES;
	p->real_ns = m->capture.end_real_ns;
	p->host = text(log->host ? log->host : t->what->host);
	p->pid = whole_number(log->pid);
	p->uid = (int64_t)getuid();
	p->rank = text(log->rank);
	p->cpus = text(m->worked.rank_cpus[i]);
	p->threads = m->worked.rank_threads[i];
	p->job = text(log->job ? log->job : t->what->job);
}

static int put_log(struct teller *t, const struct made *m, const struct blob *b)
{
	char stream[300];
	size_t i = 0;
	struct frame frame;
	const struct roi_log *log = log_of(&m->worked, b->name, &i);
	int rc = 0;
	if (!log)
		return 0;
	/* A foreign log has no name of its own; only a runner tells of it, and its file is unique
	 * within the execution. */
	(void)snprintf(stream, sizeof stream, "runner:%s", b->name);
	frame_clear(&frame, FRAME_PROCESS);
	describe(t, m, b, log, i, &frame.as.process);
	frame.as.process.stream = text(log->stream ? log->stream : stream);
	for (size_t at = 0; !rc && at < b->n; at += BATCH_CHUNK) {
		frame.as.process.offset = at;
		frame.as.process.data =
			(struct str){ .p = b->data + at,
				      .n = b->n - at < BATCH_CHUNK ? b->n - at : BATCH_CHUNK };
		rc = put(t, &frame);
	}
	return rc;
}

/* One that can't be read goes as well: the daemon says of it what is said here. */
static int put_picture(struct teller *t, const struct made *m, const struct blob *b)
{
	struct frame frame;
	struct arena a = { 0 };
	struct picture_head of;
	frame_clear(&frame, FRAME_PICTURE);
	struct frame_picture *p = &frame.as.picture;
	p->host = text(t->what->host);
	if (picture_head_peek(&of, &a, b->data, b->n, NULL) == 0) {
		p->stream = text(of.stream);
		p->pid = whole_number(of.pid);
		p->host = text(of.host ? of.host : t->what->host);
	}
	p->run = text(t->c->run_id);
	p->exec = text(m->capture.row.name);
	p->file = text(b->name);
	p->snapshot = t->what->snapshot;
	p->size = b->n;
	p->final = YES;
	p->real_ns = m->capture.end_real_ns;
	p->uid = (int64_t)getuid();
	int rc = 0;
	size_t at = 0;
	do { /* an empty one is one, too */
		p->offset = at;
		p->data = (struct str){ .p = b->data + at,
					.n = b->n - at < BATCH_CHUNK ? b->n - at : BATCH_CHUNK };
		rc = put(t, &frame);
		at += BATCH_CHUNK;
	} while (!rc && at < b->n);
	arena_free(&a);
	return rc;
}

static int ended(struct teller *t, const struct made *m, struct err *err)
{
	struct frame frame;
	int rc = start(t, m->capture.row.name, m->capture.row.order, m->capture.start_real_ns);
	for (size_t i = 0; !rc && i < m->capture.n_blobs; i++)
		if (m->capture.blobs[i].kind == BLOB_LOG)
			rc = put_log(t, m, &m->capture.blobs[i]);
		else if (m->capture.blobs[i].kind == BLOB_PICTURE)
			rc = put_picture(t, m, &m->capture.blobs[i]);
	if (rc)
		return rc;
	rc = observed_put(&frame, &t->carry, t->c->run_id, &m->worked.observed);
	return rc ? err_set(err, rc, "out of memory") : put(t, &frame);
}

int announce_frames(struct case_run *c, const struct fill *f, const struct announce_what *what,
		    int (*put_one)(void *arg, const struct frame *frame), void *arg,
		    struct err *err)
{
	struct teller t = { .c = c, .f = f, .what = what, .put = put_one, .arg = arg };
	int rc = what->begin ? announce(&t, err) : 0;
	for (size_t i = what->from; !rc && i < c->n_made; i++)
		rc = ended(&t, c->made[i], err);
	if (!rc && what->running)
		rc = start(&t, what->running, what->order, what->real_ns);
	if (!rc && what->end)
		rc = end(&t, err);
	carry_done(&t.carry);
	buf_done(&t.record);
	buf_done(&t.names);
	return rc;
}

/* ---- what its suite declares ----------------------------------------------------------------- */

int announce_declaration(const struct suite *s, int64_t real_ns, struct buf *list,
			 int (*put_one)(void *arg, const struct frame *frame), void *arg,
			 struct err *err)
{
	struct frame frame;
	list->len = 0;
	for (size_t i = 0; i < s->n_cases; i++) {
		struct str title = text(s->cases[i].title);
		batch_text_put(list, text(s->cases[i].app));
		batch_text_put(list, text(s->cases[i].name));
		batch_text_put(list, title.n <= DECLARE_MAX_TITLE ? title : text(NULL));
	}
	if (list->failed)
		return err_set(err, -ENOMEM, "out of memory");
	frame_clear(&frame, FRAME_DECLARE);
	frame.as.declare.suite = text(s->name);
	frame.as.declare.real_ns = real_ns;
	frame.as.declare.cases = batch_list(list);
	return put_one(arg, &frame);
}

/* ---- where it runs --------------------------------------------------------------------------- */

const char *announce_job(struct arena *a, char *(*get)(const char *name))
{
	static const char *const ids[][2] = {
		{ "slurm", "SLURM_JOB_ID" },
		{ "pbs", "PBS_JOBID" },
		{ "flux", "FLUX_JOB_ID" },
	};
	const char *array = get("SLURM_ARRAY_JOB_ID"), *task = get("SLURM_ARRAY_TASK_ID");
	if (array && *array && task && *task)
		return arena_printf(a, "slurm:%s_%s", array, task);
	for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
		const char *id = get(ids[i][1]);
		if (id && *id)
			return arena_printf(a, "%s:%s", ids[i][0], id);
	}
	return NULL;
}
