/* One execution: is it a sample, and if not, why; its row, and the rows of its processes. */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "core/assemble_impl.h"
#include "lib/num.h"
#include "schema/walk.h"

double seconds(uint64_t ns)
{
	return num15((double)ns / 1e9);
}

/* From one time of the wall clock to a later one. A clock that was set in between makes it
 * negative: then it is not known (the caveat clock_inconsistent says so). Nor is one that has no
 * room in 63 bits, which only a forged log has. */
static double real_between(int64_t from_ns, int64_t to_ns)
{
	int64_t ns;
	if (from_ns == ROI_UNKNOWN || to_ns == ROI_UNKNOWN || to_ns < from_ns ||
	    __builtin_sub_overflow(to_ns, from_ns, &ns))
		return NAN;
	return seconds((uint64_t)ns);
}

static const char *signal_text(struct arena *arena, int number)
{
	const char *name = sigabbrev_np(number);
	return arena_printf(arena, "was ended by signal %d%s%s", number, name ? ", SIG" : "",
			    name ? name : "");
}

/* Shells and launchers tell a signal of what they started as 128 and its number. */
static const char *exit_text(struct arena *arena, int code)
{
	const char *name = code > 128 && code < 128 + NSIG ? sigabbrev_np(code - 128) : NULL;
	if (name)
		return arena_printf(arena, "ended with exit code %d, which may stand for SIG%s",
				    code, name);
	return arena_printf(arena, "ended with exit code %d", code);
}

/* How an execution ended that did not end well. */
static const char *bad_end(struct assembly *a, const struct observed *seen)
{
	struct arena *arena = &a->rec->arena;
	const struct execution *row = &seen->row;
	if (row->why)
		return arena_strdup(arena, row->why);
	switch (seen->end) {
	case END_TIMEOUT:
		if (known(a->rec->body.measurement.timeout_s))
			return arena_printf(arena, "ran past its limit of %.15g s and was ended",
					    a->rec->body.measurement.timeout_s);
		return arena_strdup(arena, "ran past its limit and was ended");
	case END_INTERRUPTED:
		return arena_strdup(arena, "was interrupted");
	case END_NOT_STARTED:
		return arena_strdup(arena, "could not be started");
	case END_EXITED:
		break;
	}
	if (known(row->signal))
		return signal_text(arena, (int)row->signal);
	if (known(row->exit_code))
		return exit_text(arena, (int)row->exit_code);
	return arena_strdup(arena, "ended in an unknown way");
}

/* The same, and whether that was inside the region: there one looks first. */
static const char *why_bad(struct assembly *a, const struct worked *w)
{
	struct arena *arena = &a->rec->arena;
	const char *why = bad_end(a, w->seen);
	uint64_t open = 0;
	for (size_t i = 0; w->entered && i < w->seen->n_logs; i++)
		open += w->processes[i].unterminated;
	if (!why || !open)
		return why;
	if (w->job.processes == 1)
		return arena_printf(arena, "%s, inside its region", why);
	return arena_printf(arena, "%s, inside the region in %" PRIu64 " of %" PRIu64 " processes",
			    why, open, w->job.processes);
}

/* "process 41 (rank 3)", as far as the log tells. */
static const char *process_name(struct arena *arena, const struct roi_log *log)
{
	bool ranked = log->rank && strcmp(log->rank, "-") != 0;
	return arena_printf(arena, "%s%s%s%s%s", log->pid ? "process " : "a process",
			    log->pid ? log->pid : "", ranked ? " (rank " : "",
			    ranked ? log->rank : "", ranked ? ")" : "");
}

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* The first about marks. */
static const char *note_of(const struct observed *seen)
{
	for (size_t i = 0; i < seen->notes.n; i++)
		if (!begins(seen->notes.items[i], NOTE_PICTURE) &&
		    !begins(seen->notes.items[i], NOTE_RANGES) &&
		    !begins(seen->notes.items[i], NOTE_PROGRAM))
			return seen->notes.items[i];
	return NULL;
}

/* What there was in place of the region. */
static const char *ranges_of(const struct observed *seen)
{
	for (size_t i = 0; i < seen->notes.n; i++)
		if (begins(seen->notes.items[i], NOTE_RANGES))
			return seen->notes.items[i] + strlen(NOTE_RANGES);
	return NULL;
}

/* Nobody entered the region. */
static const char *no_entry(struct assembly *a, const struct observed *seen)
{
	struct arena *arena = &a->rec->arena;
	const char *note = note_of(seen), *region = a->rec->body.measurement.region;
	if (!note && region && begins(region, "range:")) {
		const char *ranges = ranges_of(seen);
		return arena_printf(arena, "had no range called \"%s\"%s%s",
				    region + strlen("range:"), ranges ? ": " : "",
				    ranges ? ranges : "");
	}
	return arena_printf(arena, "%s%s%s",
			    seen->n_logs ? "never entered the region" : "wrote no region log",
			    note ? ": " : "", note ? note : "");
}

/* Why an execution that ended well is no sample. NULL when it is one, or out of memory. */
static const char *no_sample(struct assembly *a, const struct worked *w)
{
	struct arena *arena = &a->rec->arena;
	const struct observed *seen = w->seen;
	if (!seen->n_logs || !w->entered)
		return no_entry(a, seen);
	for (size_t i = 0; i < seen->n_logs; i++) {
		const struct roi_process *p = &w->processes[i];
		if (!p->entries)
			continue;
		const char *name = process_name(arena, seen->logs[i]);
		if (!name)
			return NULL;
		if (p->unterminated)
			return arena_printf(arena,
					    "ended inside its region in %s: %" PRIu64 " of %" PRIu64
					    " entries were finished",
					    name, p->finished, p->entries);
		if (p->lost_ends)
			return arena_printf(
				arena, "lost the END of an entry in %s, so its time is not known",
				name);
		if (!p->finished)
			return arena_printf(arena, "never finished an entry in %s", name);
	}
	return NULL;
}

static double between(const struct worked *w)
{
	const struct roi_log *log = w->seen->logs[w->job.slowest];
	const struct roi_process *p = &w->processes[w->job.slowest];
	if (log->first_begin_ns == ROI_UNKNOWN || log->last_end_ns == ROI_UNKNOWN ||
	    p->unterminated)
		return NAN;
	double ns = (double)(log->last_end_ns - log->first_begin_ns) - (double)p->gross_ns;
	return ns < 0 ? NAN : num15(ns / 1e9);
}

static int sum_marks(struct assembly *a, struct worked *w)
{
	const struct observed *seen = w->seen;
	w->processes = arena_array(&a->rec->arena, seen->n_logs + 1, sizeof *w->processes);
	if (!w->processes)
		return -ENOMEM;
	for (size_t i = 0; i < seen->n_logs; i++)
		roi_process_sum(seen->logs[i], &w->processes[i]);
	w->entered = roi_job_sum(w->processes, seen->n_logs, &w->job) == 0;
	if (!w->entered)
		return 0;
	w->pre_s = real_between(seen->start_real_ns, w->job.first_begin_real);
	if (!w->job.unfinished) /* else the region's end is not known */
		w->post_s = real_between(w->job.last_end_real, seen->end_real_ns);
	w->between_s = between(w);
	if (w->job.last_end_real != ROI_UNKNOWN) /* something was finished */
		w->roi_s = seconds(w->job.wall_ns);
	return 0;
}

static enum stage stage_of(const struct observed *seen)
{
	const char *name = seen->row.name ? seen->row.name : "";
	if (strncmp(name, "warmup", 6) == 0)
		return WARMUP;
	return strncmp(name, "profiled", 8) == 0 ? PROFILED : CLEAN;
}

int work_out(struct assembly *a, struct worked *w)
{
	const struct observed *seen = w->seen;
	const struct execution *row = &seen->row;
	w->stage = stage_of(seen);
	w->roi_s = w->pre_s = w->post_s = w->between_s = NAN;
	w->status = "ok";
	int rc = sum_marks(a, w);
	if (rc)
		return rc;
	w->ended_well = seen->end == END_EXITED && known(row->exit_code) && row->exit_code == 0 &&
			!known(row->signal);
	if (!w->ended_well) {
		w->status = seen->end == END_TIMEOUT       ? "timeout"
			    : seen->end == END_INTERRUPTED ? "interrupted"
							   : "failed";
		w->why = why_bad(a, w);
		rc = w->why ? 0 : -ENOMEM;
	}
	if (a->by_timer) {
		const struct timer_result *t = seen->timer;
		bool there = t && t->rc == 0 && isfinite(t->wall_s) && t->wall_s >= 0;
		w->roi_s = there ? num15(t->wall_s) : NAN;
		if (w->ended_well && !there) {
			w->status = "timer_missing";
			w->why = arena_printf(&a->rec->arena, "has no timer: %s",
					      t && t->why ? t->why : "it was not looked for");
			rc = w->why ? 0 : -ENOMEM;
		}
	} else if (w->ended_well) {
		w->why = no_sample(a, w);
		if (w->why)
			w->status = "roi_missing";
		else if (!w->entered || w->job.unterminated || w->job.lost_ends ||
			 w->job.unfinished)
			rc = -ENOMEM;
	}
	w->used = w->stage == CLEAN && strcmp(w->status, "ok") == 0;
	return rc;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static double largest_steps(const struct observed *seen)
{
	double steps = NAN;
	for (size_t i = 0; i < seen->n_logs; i++)
		if (seen->logs[i]->has_steps && !(steps >= (double)seen->logs[i]->steps))
			steps = (double)seen->logs[i]->steps;
	return steps;
}

/* Every number of a block with 15 digits. */
static void round_block(const struct block *block, void *at)
{
	for (size_t i = 0; i < block->count; i++)
		if (block->fields[i].type == FIELD_NUM) {
			double *x = field_in(&block->fields[i], at);
			*x = num15(*x);
		}
}

/* Copies, in the record's own encoding: programs print anything. */
static int own_texts(struct record *rec, const struct block *block, void *at)
{
	for (size_t i = 0; i < block->count; i++) {
		if (block->fields[i].type != FIELD_TXT)
			continue;
		const char **text = field_in(&block->fields[i], at);
		const char *copy = *text ? record_text(rec, *text, strlen(*text)) : NULL;
		if (*text && !copy)
			return -ENOMEM;
		*text = copy;
	}
	return 0;
}

static int put_execution(struct assembly *a, const struct worked *w, struct execution *row)
{
	const struct observed *seen = w->seen;
	*row = seen->row;
	row->status = w->status;
	row->why = w->why;
	row->used = w->used ? YES : NO;
	row->roi_s = w->roi_s;
	if (!known(row->process_wall_s))
		row->process_wall_s = real_between(seen->start_real_ns, seen->end_real_ns);
	if (w->entered) {
		row->pre_roi_s = w->pre_s;
		row->post_roi_s = w->post_s;
		row->entries = (double)w->job.entries;
		row->processes = (double)w->job.processes;
		row->unfinished = (double)w->job.unfinished;
		if (w->job.last_end_real != ROI_UNKNOWN) /* something was finished */
			row->excluded_s = seconds(w->job.excluded_ns);
		if (w->job.processes > w->job.unfinished)
			row->imbalance_s = seconds(w->job.imbalance_ns);
	}
	row->steps = largest_steps(seen);
	if (a->by_timer && seen->timer && seen->timer->rc == 0) {
		row->steps = seen->timer->steps;
		row->excluded_s = seen->timer->excluded_s;
	}
	row->fom = seen->fom.status == METRIC_OK ? seen->fom.value : NAN;
	row->own_timer_s = seen->own_timer.status == METRIC_OK ? seen->own_timer.value : NAN;
	if (w->used)
		row->output_tail = NULL;
	round_block(&execution_block, row);
	if (block_copy(&a->rec->arena, &execution_block, row)) /* its lists, too */
		return -ENOMEM;
	return own_texts(a->rec, &execution_block, row);
}

static double whole_number_of(const char *text)
{
	char *end = NULL;
	double value = text && *text >= '0' && *text <= '9' ? strtod(text, &end) : NAN;
	return end && !*end ? value : NAN;
}

static int put_rank(struct assembly *a, const struct worked *w, size_t i, struct rank *row)
{
	const struct observed *seen = w->seen;
	const struct roi_log *log = seen->logs[i];
	const struct roi_process *p = &w->processes[i];
	block_clear(&rank_block, row);
	row->execution = seen->row.name;
	row->rank = whole_number_of(log->rank);
	row->host = log->host;
	row->pid = whole_number_of(log->pid);
	row->entries = (double)p->finished;
	row->unterminated = p->unterminated ? YES : NO;
	row->lost = (double)(p->overflow + p->lost_ends);
	if (p->finished) {
		row->roi_s = seconds(p->wall_ns);
		row->gross_s = seconds(p->gross_ns);
		row->excluded_s = seconds(p->excluded_ns);
	}
	row->first_begin_s = real_between(seen->start_real_ns, p->first_begin_real);
	row->last_end_s = real_between(seen->start_real_ns, p->last_end_real);
	row->steps = log->has_steps ? (double)log->steps : NAN;
	row->cpus = seen->rank_cpus ? seen->rank_cpus[i] : NULL;
	row->threads = seen->rank_threads ? seen->rank_threads[i] : NAN;
	return own_texts(a->rec, &rank_block, row);
}

/* Within an execution by rank, those without one behind; then by host and process. */
static int by_rank(const void *x, const void *y)
{
	const struct rank *a = x, *b = y;
	double p = known(a->rank) ? a->rank : INFINITY, q = known(b->rank) ? b->rank : INFINITY;
	if (p != q)
		return p < q ? -1 : 1;
	int hosts = strcmp(a->host ? a->host : "", b->host ? b->host : "");
	if (hosts)
		return hosts;
	return a->pid < b->pid ? -1 : a->pid > b->pid;
}

/* A collector attaches the marker library in every process of a profiled execution, shells and
 * launchers included: of those that never marked, nothing is to be said. */
static bool is_listed(const struct worked *w, size_t i)
{
	const struct roi_process *p = &w->processes[i];
	return w->stage != PROFILED || p->entries || p->unterminated || p->overflow ||
	       p->lost_ends || p->unmatched_end || w->seen->logs[i]->steps ||
	       w->seen->logs[i]->n_phases;
}

/* The rows of its processes, into room for one for each log. */
static int put_ranks(struct assembly *a, struct worked *w, struct rank *rows)
{
	int rc = 0;
	w->n_ranks = 0;
	for (size_t i = 0; i < w->seen->n_logs && !rc; i++)
		if (is_listed(w, i))
			rc = put_rank(a, w, i, &rows[w->n_ranks++]);
	if (!rc)
		qsort(rows, w->n_ranks, sizeof *rows, by_rank);
	return rc;
}

int put_executions(struct assembly *a)
{
	struct record_body *body = &a->rec->body;
	size_t ranks = 0;
	for (size_t i = 0; i < a->n; i++)
		ranks += a->all[i].seen->n_logs;
	body->executions.items =
		arena_array(&a->rec->arena, a->n + 1, sizeof *body->executions.items);
	body->ranks.items = arena_array(&a->rec->arena, ranks + 1, sizeof *body->ranks.items);
	if (!body->executions.items || !body->ranks.items)
		return -ENOMEM;
	body->executions.n = a->n;
	body->ranks.n = 0;
	for (size_t i = 0; i < a->n; i++) {
		struct worked *w = &a->all[i];
		int rc = put_execution(a, w, &body->executions.items[i]);
		if (!rc)
			rc = put_ranks(a, w, body->ranks.items + body->ranks.n);
		if (rc)
			return rc;
		body->ranks.n += w->n_ranks;
	}
	return 0;
}
