/* What each kind of frame means for the inbox. A frame that can't be is counted in the ledger and
 * left out: its batch came, and an agent that sends it again would only send the same. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "daemon/gather_impl.h"
#include "lib/num.h"
#include "schema/roilog.h"
#include "schema/runid.h"

#define CONTEXT_NEWS_NS (10 * GATHER_SECOND)

/* ---- not taken in ---------------------------------------------------------------------------- */

static int refuse(struct gather *g, const struct frame *f, struct str run, const char *why,
		  struct err *err)
{
	const struct inbox_loss l = { .what = str_of(frame_name(f->type)),
				      .why = str_of(why),
				      .run = run.n <= GATHER_MAX_NAME ? run
								      : (struct str){ .n = 0 },
				      .count = 1,
				      .from_ns = g->in.head.sender.from_real_ns,
				      .to_ns = g->in.head.sender.to_real_ns,
				      .ours = true };
	g->result->refused++;
	return inbox_put_loss(g->s, g->spool, &l, g->now.real_ns, err);
}

/* ---- runs that are touched ------------------------------------------------------------------- */

/* Texts that inbox_run lends are good until the next run. */
static int settle_one(struct gather *g, struct touched *t, struct err *err)
{
	struct inbox_run r = t->run;
	if (!t->news)
		return 0;
	if (t->count && r.state == INBOX_STORED)
		r.state = INBOX_LATE;
	if (t->count && r.state == INBOX_FAILED)
		r.state = INBOX_OPEN;
	int64_t due = t->due || (t->count && r.state == INBOX_LATE)
			      ? g->age_ns
			      : g->age_ns + g->config.silence_ns;
	if (r.state != INBOX_STORED)
		r.due_age_ns = due < r.due_age_ns ? due : r.due_age_ns;
	r.news_age_ns = g->age_ns;
	g->result->due = g->result->due || r.due_age_ns <= g->age_ns;
	gather_note_change(g, t->name);
	return inbox_set_run(g->s, &r, err);
}

int gather_settle(struct gather *g, struct err *err)
{
	int rc = 0;
	for (size_t i = 0; i < g->n_touched && !rc; i++) {
		struct touched *t = &g->touched[i];
		/* Found again for its texts. */
		struct inbox_run now;
		rc = t->news ? inbox_find_run(g->s, t->name, &now, err) : 0;
		t->run.stored = rc || !t->news ? NULL : now.stored;
		t->run.why = rc || !t->news ? NULL : now.why;
		if (!rc)
			rc = settle_one(g, t, err);
	}
	g->n_touched = 0;
	return rc;
}

static int touch(struct gather *g, const char *name, bool ambient, struct touched **ret,
		 struct err *err)
{
	for (size_t i = g->n_touched; i--;)
		if (!strcmp(g->touched[i].name, name)) {
			*ret = &g->touched[i];
			return 0;
		}
	int rc = g->n_touched == GATHER_RUNS ? gather_settle(g, err) : 0;
	if (rc)
		return rc;
	struct touched *t = &g->touched[g->n_touched];
	*t = (struct touched){ .news = false };
	rc = inbox_run(g->s, name, ambient, g->age_ns, &t->run, err);
	if (rc)
		return rc;
	(void)snprintf(t->name, sizeof t->name, "%s", name);
	g->n_touched++;
	*ret = t;
	return 0;
}

static bool run_id_of(char name[RUNID_BYTES], struct str run)
{
	int64_t key;
	if (run.n != RUNID_BYTES - 1 || memchr(run.p, 0, run.n))
		return false;
	memcpy(name, run.p, run.n);
	name[run.n] = 0;
	return runid_key(name, &key);
}

/* The run that a frame names. 1: there is one; 0: what it says can't be, and was refused. */
static int named(struct gather *g, const struct frame *f, struct str run, int64_t uid,
		 struct touched **ret, struct err *err)
{
	char name[RUNID_BYTES];
	if (!run_id_of(name, run))
		return refuse(g, f, (struct str){ .p = NULL }, "no_run_id", err);
	int rc = touch(g, name, false, ret, err);
	if (rc)
		return rc;
	int64_t owner = (*ret)->run.uid;
	/* Root's runner may start programs of other users. */
	bool roots = owner == 0 && (f->type == FRAME_PROCESS || f->type == FRAME_PICTURE);
	if (owner != INBOX_UNKNOWN_UID && uid != ROI_UNKNOWN && uid != 0 && uid != owner && !roots)
		return refuse(g, f, run, "other_user", err);
	return 1;
}

/* A run that something came of before: 1, else 0. open: only where no record was made of it. */
static int existing(struct gather *g, struct str run, bool open, struct touched **ret,
		    struct err *err)
{
	char name[RUNID_BYTES];
	struct inbox_run found;
	struct err none;
	if (!run_id_of(name, run) || (open && !strcmp(name, g->not_open)))
		return 0;
	for (size_t i = g->n_touched; i--;)
		if (!strcmp(g->touched[i].name, name)) {
			*ret = &g->touched[i];
			return !open || (*ret)->run.state == INBOX_OPEN;
		}
	int rc = inbox_find_run(g->s, name, &found, &none);
	if (rc && rc != -ENOENT)
		return err_set(err, rc, "%s", none.text);
	if (rc || (open && found.state != INBOX_OPEN)) {
		memcpy(g->not_open, name, sizeof name);
		return 0;
	}
	rc = touch(g, name, false, ret, err);
	return rc ? rc : 1;
}

static int64_t known_uid(int64_t uid)
{
	return uid == ROI_UNKNOWN ? INBOX_UNKNOWN_UID : uid;
}

static bool is_exec(struct str exec)
{
	return exec.p && exec.n && exec.n <= 64 && !memchr(exec.p, 0, exec.n);
}

static int put(struct gather *g, struct touched *t, const struct inbox_frame *f, struct err *err)
{
	t->news = t->count = true;
	return inbox_put_frame(g->s, t->run.id, f, err);
}

/* ---- of runs --------------------------------------------------------------------------------- */

/* The first who announces a run is whose it is. */
static int own(struct gather *g, const struct frame *f, struct touched *t, struct err *err)
{
	const struct frame_run_announce *a = &f->as.run_announce;
	uint64_t n;
	if (t->run.uid != INBOX_UNKNOWN_UID || a->uid == ROI_UNKNOWN)
		return 0;
	t->run.uid = a->uid;
	int rc = inbox_refuse_others(g->s, t->run.id, a->uid, &n, err);
	for (; !rc && n; n--)
		rc = refuse(g, f, a->run, "other_user", err);
	return rc;
}

static int take_announce(struct gather *g, const struct frame *f, struct str bytes, struct err *err)
{
	const struct frame_run_announce *a = &f->as.run_announce;
	struct touched *t;
	int rc = named(g, f, a->run, a->uid, &t, err);
	if (rc <= 0)
		return rc;
	rc = own(g, f, t, err);
	if (rc)
		return rc;
	t->due = true;
	return put(g, t,
		   &(struct inbox_frame){ .type = f->type,
					  .uid = known_uid(a->uid),
					  .spool = g->spool,
					  .real_ns = a->real_ns,
					  .bytes = bytes },
		   err);
}

static int take_start(struct gather *g, const struct frame *f, struct str bytes, struct err *err)
{
	const struct frame_execution_start *a = &f->as.execution_start;
	struct touched *t;
	int rc = named(g, f, a->run, a->uid, &t, err);
	if (rc <= 0)
		return rc;
	if (!is_exec(a->exec))
		return refuse(g, f, a->run, "no_execution", err);
	return put(g, t,
		   &(struct inbox_frame){ .type = f->type,
					  .exec = a->exec,
					  .uid = known_uid(a->uid),
					  .spool = g->spool,
					  .real_ns = a->real_ns,
					  .bytes = bytes },
		   err);
}

static int take_execution_end(struct gather *g, const struct frame *f, struct str bytes,
			      struct err *err)
{
	const struct frame_execution_end *a = &f->as.execution_end;
	struct touched *t;
	int rc = named(g, f, a->run, a->uid, &t, err);
	if (rc <= 0)
		return rc;
	if (!is_exec(a->exec))
		return refuse(g, f, a->run, "no_execution", err);
	t->due = true;
	return put(g, t,
		   &(struct inbox_frame){ .type = f->type,
					  .exec = a->exec,
					  .uid = known_uid(a->uid),
					  .spool = g->spool,
					  .real_ns = a->end_real_ns,
					  .bytes = bytes },
		   err);
}

/* Of two the one that says complete, else the one with a record, else the later one. */
static int take_run_end(struct gather *g, const struct frame *f, struct str bytes, struct err *err)
{
	const struct frame_run_end *a = &f->as.run_end;
	struct touched *t;
	int rc = named(g, f, a->run, a->uid, &t, err);
	if (rc <= 0)
		return rc;
	if (t->run.ended_age_ns == ROI_UNKNOWN)
		t->run.ended_age_ns = g->age_ns;
	t->due = true;
	return put(g, t,
		   &(struct inbox_frame){ .type = f->type,
					  .uid = known_uid(a->uid),
					  .spool = g->spool,
					  .weight = 2 * (a->complete == YES) + !!a->record.p,
					  .real_ns = a->real_ns,
					  .bytes = bytes },
		   err);
}

/* ---- processes ------------------------------------------------------------------------------- */

/* How far it is, and how many processes stand in it. What can't be read is found out again when the
 * record is made, and said there. */
static int look_into(struct gather *g, int64_t log, struct str bytes, struct err *err)
{
	struct roi_logs logs = { .n = 0 };
	double steps = NAN;
	if (roilog_parse(&logs, "a log", bytes.n ? bytes.p : "", bytes.n, NULL) == -ENOMEM)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < logs.n; i++)
		if (logs.items[i]->has_steps && !(steps >= (double)logs.items[i]->steps))
			steps = (double)logs.items[i]->steps;
	int rc = inbox_set_progress(g->s, log, steps, (double)logs.n, err);
	roilogs_done(&logs);
	return rc;
}

static int look_into_pieces(struct gather *g, int64_t log, struct err *err)
{
	struct buf bytes = { .max = INBOX_MAX_LOG + 1 };
	int rc = inbox_get_log_bytes(g->s, log, &bytes, err);
	if (!rc)
		rc = look_into(g, log, batch_list(&bytes), err);
	buf_done(&bytes);
	return rc;
}

static bool is_sound(const struct frame_process *p)
{
	return p->stream.p && p->stream.n && p->stream.n <= GATHER_MAX_NAME &&
	       !memchr(p->stream.p, 0, p->stream.n) && p->snapshot <= INT64_MAX &&
	       p->size <= INBOX_MAX_LOG && p->data.n <= p->size &&
	       p->offset <= p->size - p->data.n && (!p->size || p->data.n) &&
	       (!p->exec.p || is_exec(p->exec)) && p->group.n <= GATHER_MAX_NAME;
}

/* Outside of runs: the processes of one launch are one, of one user. A launch of one is only that
 * process, however many of them its job step starts. */
static int ambient(struct gather *g, const struct frame_process *p, struct touched **ret,
		   struct err *err)
{
	char name[GATHER_MAX_NAME + 64];
	bool grouped = p->group.p && p->group.n && !(p->world == 1);
	struct str of = grouped ? p->group : p->stream;
	(void)snprintf(name, sizeof name, "ambient %" PRId64 " %s%.*s", known_uid(p->uid),
		       grouped ? "group " : "", (int)of.n, of.p);
	int rc = touch(g, name, true, ret, err);
	if (!rc)
		(*ret)->run.uid = known_uid(p->uid);
	return rc ? rc : 1;
}

static int take_process(struct gather *g, const struct frame *f, struct err *err)
{
	const struct frame_process *p = &f->as.process;
	struct touched *t;
	int64_t log;
	bool whole;
	if (!is_sound(p))
		return refuse(g, f, p->run, "impossible", err);
	int rc = p->run.p ? named(g, f, p->run, p->uid, &t, err) : ambient(g, p, &t, err);
	if (rc <= 0)
		return rc;
	rc = inbox_put_piece(g->s, t->run.id, g->spool, p, &log, &whole, err);
	if (rc == -E2BIG)
		return refuse(g, f, p->run, "too_many_pieces", err);
	t->news = true;
	t->count = t->count || whole || p->final == YES;
	t->due = t->due || (p->final == YES && whole);
	if (rc || !whole)
		return rc;
	return p->data.n == p->size ? look_into(g, log, p->data, err)
				    : look_into_pieces(g, log, err);
}

/* ---- pictures -------------------------------------------------------------------------------- */

/* Its name goes into sentences, and is what tells it from others. */
static bool is_file(struct str file)
{
	if (!file.p || !file.n || file.n > 255)
		return false;
	for (size_t i = 0; i < file.n; i++)
		if ((unsigned char)file.p[i] < ' ' || file.p[i] == 127 || file.p[i] == '/')
			return false;
	return true;
}

static bool is_sound_picture(const struct frame_picture *p)
{
	return is_file(p->file) && p->snapshot <= INT64_MAX && p->size <= INBOX_MAX_PICTURE &&
	       p->data.n <= p->size && p->offset <= p->size - p->data.n &&
	       (!p->size || p->data.n);
}

/* What is in it is looked at when the record is made: what can't be read is said there, as where
 * its runner makes the record. */
static int take_picture(struct gather *g, const struct frame *f, struct err *err)
{
	const struct frame_picture *p = &f->as.picture;
	struct touched *t;
	bool whole;
	int rc = named(g, f, p->run, p->uid, &t, err);
	if (rc <= 0)
		return rc;
	if (!is_exec(p->exec))
		return refuse(g, f, p->run, "no_execution", err);
	if (!is_sound_picture(p))
		return refuse(g, f, p->run, "impossible", err);
	rc = inbox_put_picture(g->s, t->run.id, g->spool, p, &whole, err);
	if (rc == -E2BIG)
		return refuse(g, f, p->run, "too_many_pieces", err);
	t->news = true;
	t->count = t->count || whole || p->final == YES;
	t->due = t->due || (p->final == YES && whole);
	return rc;
}

/* ---- context --------------------------------------------------------------------------------- */

/* Steps of a process, in a look that was only for that: name, value. */
static double steps_of(const struct frame_context *c)
{
	struct str list = c->values, key;
	double value;
	while (batch_pair_next(&list, &key, &value))
		if (key.n == 5 && !memcmp(key.p, "steps", 5))
			return value;
	return NAN;
}

/* Kept with its batch. What it says of a run that is going on: that it is, and how far. */
static int take_context(struct gather *g, const struct frame_context *c, struct err *err)
{
	static const char process[] = "process:";
	const size_t n = sizeof process - 1;
	struct touched *t;
	int rc = existing(g, c->run, true, &t, err);
	if (rc <= 0)
		return rc;
	t->news = t->news || g->age_ns - t->run.news_age_ns >= CONTEXT_NEWS_NS;
	double steps = steps_of(c);
	if (!known(steps) || c->scope.n <= n || c->scope.n > GATHER_MAX_NAME ||
	    (c->exec.p && !is_exec(c->exec)) || memcmp(c->scope.p, process, n) != 0)
		return 0;
	gather_note_change(g, t->name);
	const struct str stream = { .p = c->scope.p + n, .n = c->scope.n - n };
	return inbox_note_progress(g->s, t->run.id, c->exec, stream, steps, err);
}

/* ---- senders about themselves ---------------------------------------------------------------- */

static int take_gap(struct gather *g, const struct frame *f, struct err *err)
{
	const struct frame_gap *a = &f->as.gap;
	if (a->last_seq > INT64_MAX || !a->first_seq)
		return refuse(g, f, (struct str){ .p = NULL }, "impossible", err);
	if (a->first_seq > a->last_seq)
		return 0; /* all of it came */
	const struct inbox_gap gap = { .first = a->first_seq,
				       .last = a->last_seq,
				       .carried = a->last_seq == g->in.head.sender.seq,
				       .what = a->what,
				       .why = a->why,
				       .from_ns = a->from_real_ns,
				       .to_ns = a->to_real_ns };
	return inbox_put_gap(g->s, g->spool, &gap, g->now.real_ns, err);
}

/* Of a run that was stored before it makes another record: a caveat says so. */
static int take_loss(struct gather *g, const struct frame *f, struct err *err)
{
	const struct frame_loss *a = &f->as.loss;
	if (a->count > INT64_MAX || a->bytes > INT64_MAX || a->run.n > GATHER_MAX_NAME)
		return refuse(g, f, (struct str){ .p = NULL }, "impossible", err);
	const struct inbox_loss l = { .what = a->what,
				      .why = a->why,
				      .run = a->run,
				      .exec = a->exec,
				      .text = a->text,
				      .count = a->count,
				      .bytes = a->bytes,
				      .from_ns = a->from_real_ns,
				      .to_ns = a->to_real_ns };
	int rc = inbox_put_loss(g->s, g->spool, &l, g->now.real_ns, err);
	if (rc || !a->run.p)
		return rc;
	struct touched *t;
	rc = existing(g, a->run, false, &t, err);
	if (rc > 0)
		t->news = t->count = true;
	return rc < 0 ? rc : 0;
}

static int take_node(struct gather *g, const struct batch_sender *from, const struct frame *f,
		     struct str bytes, struct err *err)
{
	int rc = inbox_put_node(g->s, from->agent, f->as.node.real_ns, bytes, err);
	if (rc)
		return rc;
	g->result->due = true;
	return inbox_node_came(g->s, from->agent, g->age_ns, err);
}

static int take_declare(struct gather *g, const struct frame *f, struct err *err)
{
	const char *why = NULL;
	int rc = gather_declare(g, &f->as.declare, &why, err);
	return rc || !why ? rc : refuse(g, f, (struct str){ .p = NULL }, why, err);
}

static int take_conformance(struct gather *g, const struct frame *f, struct err *err)
{
	const char *why = NULL;
	int rc = gather_conformance(g, &f->as.conformance, &why, err);
	return rc || !why ? rc : refuse(g, f, (struct str){ .p = NULL }, why, err);
}

int gather_frame(struct gather *g, const struct batch_sender *from, const struct frame *f,
		 struct str bytes, struct err *err)
{
	switch (f->type) {
	case FRAME_RUN_ANNOUNCE:
		return take_announce(g, f, bytes, err);
	case FRAME_EXECUTION_START:
		return take_start(g, f, bytes, err);
	case FRAME_EXECUTION_END:
		return take_execution_end(g, f, bytes, err);
	case FRAME_PROCESS:
		return take_process(g, f, err);
	case FRAME_RUN_END:
		return take_run_end(g, f, bytes, err);
	case FRAME_CONTEXT:
		return f->as.context.run.p ? take_context(g, &f->as.context, err) : 0;
	case FRAME_LOSS:
		return take_loss(g, f, err);
	case FRAME_GAP:
		return take_gap(g, f, err);
	case FRAME_NODE:
		return take_node(g, from, f, bytes, err);
	case FRAME_DECLARE:
		return take_declare(g, f, err);
	case FRAME_CONFORMANCE:
		return take_conformance(g, f, err);
	case FRAME_PICTURE:
		return take_picture(g, f, err);
	case FRAME_AGENT: /* done with the batch */
	case FRAME_TYPES:
		break;
	}
	return 0;
}
