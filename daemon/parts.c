/* Frames and logs of a run out of the inbox, and what is still to come. */
#define _GNU_SOURCE
#include "daemon/parts.h"

#include <errno.h>
#include <string.h>

#include "core/carry.h"
#include "lib/num.h"
#include "schema/codec.h"

static int no_memory(struct err *err)
{
	return err_set(err, -ENOMEM, "out of memory while a run is put together");
}

/* ---- loading --------------------------------------------------------------------------------- */

static int need_exec(struct parts *p, const char *name, struct part_exec **ret, struct err *err)
{
	for (size_t i = p->n_execs; i--;)
		if (!strcmp(p->execs[i].name, name)) {
			*ret = &p->execs[i];
			return 0;
		}
	if (p->n_execs == PARTS_EXECS)
		return err_set(err, -E2BIG, "run %s: more than %d executions", p->run, PARTS_EXECS);
	struct part_exec *execs =
		arena_grow(&p->arena, p->execs, &p->cap_execs, p->n_execs + 1, sizeof *execs);
	char *copy = arena_strdup(&p->arena, name);
	if (!execs || !copy)
		return no_memory(err);
	p->execs = execs;
	p->execs[p->n_execs] = (struct part_exec){ .name = copy };
	*ret = &p->execs[p->n_execs++];
	return 0;
}

static void heard(struct parts *p, int64_t spool, int64_t real_ns)
{
	p->spool = spool;
	if (real_ns == ROI_UNKNOWN)
		return;
	if (p->from_ns == ROI_UNKNOWN || real_ns < p->from_ns)
		p->from_ns = real_ns;
	if (real_ns > p->to_ns) /* ROI_UNKNOWN is the smallest */
		p->to_ns = real_ns;
}

/* What can't be read is told when the record is made. */
static bool has_failed(struct parts *p, const struct frame_execution_end *f)
{
	struct execution row;
	if (f->end != END_EXITED)
		return true;
	int rc = block_get(&p->arena, &execution_block, &row, f->row.p ? f->row.p : "", f->row.n,
			   NULL);
	return rc || known(row.signal) || (known(row.exit_code) && row.exit_code != 0);
}

struct loading {
	struct parts *p;
	struct err *err;
	size_t cap_logs, cap_pictures;
	int64_t weight[FRAME_TYPES], real_ns[FRAME_TYPES]; /* of the frames of the whole run */
};

/* Several users may have said it where nobody announced whose the run is. */
static bool counts(struct loading *l, const struct inbox_frame *f, bool have)
{
	if (have && (f->weight < l->weight[f->type] ||
		     (f->weight == l->weight[f->type] && f->real_ns < l->real_ns[f->type])))
		return false;
	l->weight[f->type] = f->weight;
	l->real_ns[f->type] = f->real_ns;
	return true;
}

static int load_frame(void *arg, const struct inbox_frame *row)
{
	struct loading *l = arg;
	struct parts *p = l->p;
	struct frame f;
	struct part_exec *e = NULL;
	const struct str bytes = { .p = arena_strndup(&p->arena, row->bytes.p, row->bytes.n),
				   .n = row->bytes.n };
	char *name = arena_str(&p->arena, row->exec);
	if (!bytes.p || !name)
		return no_memory(l->err);
	heard(p, row->spool, row->real_ns);
	int rc = frame_get(&f, bytes, l->err);
	bool of_exec = f.type == FRAME_EXECUTION_START || f.type == FRAME_EXECUTION_END;
	if (rc)
		return err_wrap(l->err, -EUCLEAN, "a frame in the inbox");
	if (of_exec)
		rc = need_exec(p, name, &e, l->err);
	if (rc)
		return rc;
	if (f.type == FRAME_RUN_ANNOUNCE && counts(l, row, p->announced)) {
		p->announced = true;
		p->announce = f.as.run_announce;
	} else if (f.type == FRAME_RUN_END && counts(l, row, p->ended)) {
		p->ended = true;
		p->end = f.as.run_end;
	} else if (f.type == FRAME_EXECUTION_START &&
		   (!e->started || e->start.real_ns <= row->real_ns)) {
		e->started = true;
		e->start = f.as.execution_start;
	} else if (f.type == FRAME_EXECUTION_END &&
		   (!e->ended || e->end.end_real_ns <= row->real_ns)) {
		e->ended = true;
		e->end = f.as.execution_end;
		e->failed = has_failed(p, &e->end);
	}
	return 0;
}

static int load_log(void *arg, const struct inbox_log *row)
{
	struct loading *l = arg;
	struct parts *p = l->p;
	if (p->n_logs == PARTS_LOGS)
		return err_set(l->err, -E2BIG, "run %s: more than %d logs", p->run, PARTS_LOGS);
	struct part_log *logs =
		arena_grow(&p->arena, p->logs, &l->cap_logs, p->n_logs + 1, sizeof *logs);
	if (!logs)
		return no_memory(l->err);
	p->logs = logs;
	struct part_log *log = &p->logs[p->n_logs++];
	*log = (struct part_log){ .row = *row };
	log->row.exec = arena_strdup(&p->arena, row->exec ? row->exec : "");
	log->row.stream = arena_strdup(&p->arena, row->stream);
	return log->row.exec && log->row.stream ? 0 : no_memory(l->err);
}

static int load_picture(void *arg, const struct inbox_picture *row)
{
	struct loading *l = arg;
	struct parts *p = l->p;
	if (p->n_pictures == PARTS_LOGS)
		return err_set(l->err, -E2BIG, "run %s: more than %d pictures", p->run, PARTS_LOGS);
	struct inbox_picture *pictures =
		arena_grow(&p->arena, p->pictures, &l->cap_pictures, p->n_pictures + 1,
			   sizeof *pictures);
	if (!pictures)
		return no_memory(l->err);
	p->pictures = pictures;
	struct inbox_picture *picture = &p->pictures[p->n_pictures++];
	*picture = *row;
	picture->exec = arena_strdup(&p->arena, row->exec);
	picture->file = arena_strdup(&p->arena, row->file);
	heard(p, row->spool, row->real_ns);
	return picture->exec && picture->file ? 0 : no_memory(l->err);
}

/* They come by execution. */
static int place_pictures(struct parts *p, struct err *err)
{
	struct part_exec *e = NULL;
	for (size_t i = 0; i < p->n_pictures; i++) {
		const char *name = p->pictures[i].exec;
		int rc = e && !strcmp(e->name, name) ? 0 : need_exec(p, name, &e, err);
		if (rc)
			return rc;
		if (!e->n_pictures)
			e->pictures = &p->pictures[i];
		e->n_pictures++;
	}
	return 0;
}

/* Likewise. */
static int place_logs(struct parts *p, struct err *err)
{
	struct part_exec *e = NULL;
	for (size_t i = 0; i < p->n_logs; i++) {
		const char *name = p->logs[i].row.exec;
		int rc = e && !strcmp(e->name, name) ? 0 : need_exec(p, name, &e, err);
		if (rc)
			return rc;
		if (!e->n_logs)
			e->logs = &p->logs[i];
		e->n_logs++;
	}
	return 0;
}

int parts_load(struct parts *p, struct store *s, const struct inbox_run *run, struct err *err)
{
	*p = (struct parts){ .from_ns = ROI_UNKNOWN, .to_ns = ROI_UNKNOWN };
	struct loading l = { .p = p, .err = err };
	p->run = arena_strdup(&p->arena, run->name);
	if (!p->run)
		return no_memory(err);
	int rc = inbox_each_frame(s, run->id, load_frame, &l, err);
	if (!rc)
		rc = inbox_each_log(s, run->id, load_log, &l, err);
	for (size_t i = 0; i < p->n_logs && !rc; i++) {
		rc = inbox_get_log(s, p->logs[i].row.id, &p->arena, &p->logs[i].said, err);
		heard(p, p->logs[i].row.spool, p->logs[i].said.real_ns);
	}
	if (!rc)
		rc = inbox_each_picture(s, run->id, load_picture, &l, err);
	if (!rc)
		rc = place_logs(p, err);
	return rc ? rc : place_pictures(p, err);
}

void parts_done(struct parts *p)
{
	arena_free(&p->arena);
}

/* ---- is it all? ------------------------------------------------------------------------------ */

double parts_planned(const struct parts *p)
{
	struct str list = p->announce.executions, name;
	double n = 0;
	if (!p->announced || !list.p)
		return NAN;
	while (batch_text_next(&list, &name))
		n++;
	return n;
}

/* ranks of the announcement: what the launcher was asked for. A region that is a timer leaves no
 * logs but those that the runner saw, and so does what did not start. */
double parts_expected(const struct parts *p, const struct part_exec *e)
{
	double seen = e->ended && known(e->end.processes) ? e->end.processes : 0;
	double asked = p->announced && known(p->announce.ranks) ? p->announce.ranks : 0;
	if (e->ended && (e->end.end == END_NOT_STARTED || e->end.timer == YES))
		return seen;
	return asked > 1 && asked > seen ? asked : seen;
}

double parts_here(const struct part_exec *e)
{
	double n = 0;
	for (size_t i = 0; i < e->n_logs; i++)
		if (e->logs[i].row.final)
			n += known(e->logs[i].row.processes) ? e->logs[i].row.processes : 0;
	return n;
}

static bool exec_complete(const struct parts *p, const struct part_exec *e)
{
	for (size_t i = 0; i < e->n_logs; i++)
		if (!e->logs[i].row.final)
			return false;
	for (size_t i = 0; i < e->n_pictures; i++)
		if (!e->pictures[i].final)
			return false;
	/* Of one that failed there is no time to measure: nobody waits for ranks that maybe never
	 * began. Those that come make the record anew. */
	return !*e->name || (e->ended && (e->failed || parts_here(e) >= parts_expected(p, e)));
}

/* An agent that lost its runner ends the run as not complete; the runner may come back. */
bool parts_complete(const struct parts *p)
{
	if (!p->ended || (p->end.complete != YES && !p->end.record.p))
		return false;
	if (!p->announced)
		return false;
	for (size_t i = 0; i < p->n_execs; i++)
		if (!exec_complete(p, &p->execs[i]))
			return false;
	return true;
}

/* ---- logs, one by one ------------------------------------------------------------------------ */

static int load_bytes(const struct carried_log *l, const void **ret_bytes, size_t *ret_n,
		      struct err *err)
{
	const struct part_load *load = l->arg;
	struct buf *b = &load->loader->bytes;
	int rc = inbox_get_log_bytes(load->loader->s, load->id, b, err);
	*ret_bytes = b->data;
	*ret_n = b->len;
	return rc;
}

int parts_carry(struct arena *a, struct part_loader *loader, const struct part_log *logs, size_t n,
		struct carried_log **ret, size_t *ret_n, struct err *err)
{
	struct carried_log *list = arena_array(a, n + 1, sizeof *list);
	struct part_load *loads = arena_array(a, n + 1, sizeof *loads);
	*ret = list;
	*ret_n = 0;
	if (!list || !loads)
		return no_memory(err);
	for (size_t i = 0; i < n; i++) {
		const struct part_log *log = &logs[i];
		if (log->row.snapshot < 0)
			continue;
		loads[i] = (struct part_load){ .loader = loader, .id = log->row.id };
		list[*ret_n] = (struct carried_log){ .file = arena_str(a, log->said.file),
						     .cpus = arena_str(a, log->said.cpus),
						     .threads = log->said.threads,
						     .load = load_bytes,
						     .arg = &loads[i] };
		if ((log->said.file.p && !list[*ret_n].file) ||
		    (log->said.cpus.p && !list[*ret_n].cpus))
			return no_memory(err);
		++*ret_n;
	}
	return 0;
}

static int load_picture_bytes(const struct carried_picture *c, const void **ret_bytes,
			      size_t *ret_n, struct err *err)
{
	const struct part_load *load = c->arg;
	struct buf *b = &load->loader->bytes;
	int rc = inbox_get_picture_bytes(load->loader->s, load->id, b, err);
	*ret_bytes = b->data;
	*ret_n = b->len;
	return rc;
}

int parts_carry_pictures(struct arena *a, struct part_loader *loader,
			 const struct inbox_picture *pictures, size_t n,
			 struct carried_picture **ret, size_t *ret_n, struct err *err)
{
	struct carried_picture *list = arena_array(a, n + 1, sizeof *list);
	struct part_load *loads = arena_array(a, n + 1, sizeof *loads);
	*ret = list;
	*ret_n = 0;
	if (!list || !loads)
		return no_memory(err);
	for (size_t i = 0; i < n; i++) {
		if (pictures[i].snapshot < 0)
			continue;
		loads[i] = (struct part_load){ .loader = loader, .id = pictures[i].id };
		list[(*ret_n)++] = (struct carried_picture){ .file = pictures[i].file,
							     .load = load_picture_bytes,
							     .arg = &loads[i] };
	}
	return 0;
}

/* ---- what measuring cost --------------------------------------------------------------------- */

static double sum(double a, double b)
{
	return !known(a) ? b : !known(b) ? a : a + b;
}

void parts_cost(const struct parts *p, struct observer *o)
{
	double cpu_s = NAN, wakeups = NAN, bytes = NAN;
	for (size_t i = 0; i < p->n_logs; i++) {
		const struct part_log *log = &p->logs[i];
		bool clean = !*log->row.exec || !strncmp(log->row.exec, "clean", 5);
		if (!clean)
			continue;
		cpu_s = sum(cpu_s, log->said.agent_cpu_s);
		wakeups = sum(wakeups, log->said.wakeups);
		bytes = sum(bytes, log->row.snapshot < 0 ? (double)NAN : (double)log->said.size);
	}
	if (known(cpu_s))
		o->agent_cpu_s = num15(cpu_s);
	o->wakeups = sum(o->wakeups, wakeups);
	if (!known(o->log_bytes))
		o->log_bytes = bytes;
}
