/* What the application did to its files: from the pictures of one profiled execution into the
 * record, and what is to be said where they and the marks of the same processes do not go together.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "core/assemble_impl.h"
#include "core/iomerge.h"
#include "lib/buf.h"
#include "lib/num.h"

/* One that went well before one that did not. */
static const struct worked *io_execution(const struct assembly *a)
{
	const struct worked *best = NULL;
	for (size_t i = 0; i < a->n; i++) {
		const struct worked *w = &a->all[i];
		bool good = strcmp(w->status, "ok") == 0;
		if (is_picture(a, w) && w->seen->n_iopictures &&
		    (!best || (good && strcmp(best->status, "ok") != 0)))
			best = w;
	}
	return best;
}

static bool is_of(const struct iopicture *p, const struct roi_log *log)
{
	if (p->stream && log->stream)
		return strcmp(p->stream, log->stream) == 0;
	return p->pid && log->pid && strcmp(p->pid, log->pid) == 0;
}

/* What is known of why: of the first program, and how many more there are. NULL: nothing. */
static const char *unreachable(struct assembly *a, const struct worked *w)
{
	const struct txts *notes = &w->seen->notes;
	const char *first = NULL;
	size_t n = 0;
	for (size_t i = 0; i < notes->n; i++)
		if (strncmp(notes->items[i], NOTE_PROGRAM, strlen(NOTE_PROGRAM)) == 0) {
			first = first ? first : notes->items[i] + strlen(NOTE_PROGRAM);
			n++;
		}
	if (n < 2)
		return first;
	return arena_printf(&a->rec->arena, "%s; so it is with %zu more programs", first, n - 1);
}

static int unseen(struct assembly *a, const struct worked *w)
{
	size_t entered = 0, without = 0;
	for (size_t i = 0; i < w->seen->n_logs; i++) {
		bool seen = false;
		for (size_t k = 0; k < w->seen->n_iopictures && !seen; k++)
			seen = is_of(w->seen->iopictures[k], w->seen->logs[i]);
		entered += w->processes[i].entries > 0;
		without += w->processes[i].entries > 0 && !seen;
	}
	if (!without)
		return 0;
	a->rec->body.io.incomplete = YES;
	const char *why = unreachable(a, w);
	return record_caveat(
		a->rec, "io_unseen_ranks",
		"%s: of %zu of the %zu processes that entered the region nothing is known "
		"of their files: %s.",
		w->seen->row.name, without, entered,
		why ? why
		    : "LD_PRELOAD does not reach them, or they were killed before they wrote for "
		      "the first time");
}

/* Was the collector asked for? Then the first profiled execution. */
static const struct worked *asked_for(const struct assembly *a)
{
	const char *names = a->rec->body.measurement.collector;
	bool asked = false;
	for (const char *at = names ? names : ""; *at;) {
		size_t n = strcspn(at, ",");
		asked |= n == 2 && memcmp(at, "io", 2) == 0;
		at += n + (at[n] == ',');
	}
	for (size_t i = 0; asked && i < a->n; i++)
		if (is_picture(a, &a->all[i]))
			return &a->all[i];
	return NULL;
}

static int not_seen(struct assembly *a)
{
	const struct worked *w = asked_for(a);
	if (!w)
		return 0;
	const char *why = unreachable(a, w);
	int rc = record_null(a->rec, "io", "not_supported");
	if (rc)
		return rc;
	return record_caveat(a->rec, "io_not_observed", "No process of %s told of its files: %s.",
			     w->seen->row.name,
			     why ? why
				 : "LD_PRELOAD does not reach it, or it was killed before it wrote "
				   "for the first time");
}

static int put_device_bytes(struct assembly *a, const struct worked *w)
{
	struct io *io = &a->rec->body.io;
	const struct execution *row = &w->seen->row;
	io->device_read_bytes = row->device_read_bytes;
	io->device_write_bytes = row->device_write_bytes;
	io->cgroup_read_bytes = row->cgroup_read_bytes;
	io->cgroup_write_bytes = row->cgroup_write_bytes;
	int rc = known(io->device_read_bytes)
			 ? 0
			 : record_null(a->rec, "io.device_read_bytes", "not_supported");
	if (!rc && !known(io->device_write_bytes))
		rc = record_null(a->rec, "io.device_write_bytes", "not_supported");
	if (!rc && !known(io->cgroup_read_bytes))
		rc = record_null(a->rec, "io.cgroup_read_bytes", "not_supported");
	if (!rc && !known(io->cgroup_write_bytes))
		rc = record_null(a->rec, "io.cgroup_write_bytes", "not_supported");
	return rc;
}

/* Where the record is put together nobody can look at the files: run/layouts.h does, where they are. */
static int put_layouts(struct assembly *a)
{
	const struct io *io = &a->rec->body.io;
	bool lustre = false;
	for (size_t i = 0; i < io->files.n; i++)
		lustre |= io->files.items[i].filesystem &&
			  strcmp(io->files.items[i].filesystem, "lustre") == 0;
	return record_null(a->rec, "io.files.layout", lustre ? "not_measured" : "not_supported");
}

/* ---- captures -------------------------------------------------------------------------------- */

/* Of how many processes that were seen nothing is in the capture. */
static double without_capture(const struct worked *w)
{
	double n = (double)w->seen->n_iopictures - w->seen->row.capture.processes;
	return n > 0 ? n : 0;
}

static bool is_complete(const struct worked *w)
{
	const struct io_kept *k = &w->seen->row.capture;
	return known(k->bytes) && !(k->unfinished > 0) && !(k->dropped_ops > 0) &&
	       !(without_capture(w) > 0);
}

static int say_capture(struct assembly *a, const struct worked *w)
{
	const struct io_kept *k = &w->seen->row.capture;
	struct buf b = { .max = 2000 };
	if (!k->folder || is_complete(w))
		return 0;
	if (!known(k->bytes))
		return record_caveat(a->rec, "capture_unreadable", "%s: no capture in %.900s: %.900s.",
				     w->seen->row.name, k->folder, k->why ? k->why : "not known why");
	if (k->unfinished > 0)
		buf_printf(&b,
			   "; of %.0f of %.0f processes the end is missing (killed, still running, "
			   "or it could not be written)",
			   k->unfinished, k->processes);
	if (without_capture(w) > 0)
		buf_printf(&b, "; of %.0f more processes nothing is in it", without_capture(w));
	if (k->dropped_ops > 0)
		buf_printf(&b, "; %.0f calls were seen and could not be kept", k->dropped_ops);
	int rc = b.failed ? -ENOMEM
			  : record_caveat(a->rec, "capture_incomplete",
					  "%s: the capture in %.900s is not complete: %s.",
					  w->seen->row.name, k->folder, b.data + 2);
	buf_done(&b);
	return rc;
}

/* w: whose numbers io has. */
static int put_capture(struct assembly *a, const struct worked *w)
{
	const struct io_kept *k = &w->seen->row.capture;
	struct io *io = &a->rec->body.io;
	if (!k->folder)
		return 0;
	io->capture = record_text(a->rec, k->folder, strlen(k->folder));
	io->capture_bytes = k->bytes;
	io->capture_events = k->events;
	io->capture_rules = k->rules;
	io->capture_calls = k->calls;
	io->capture_processes = k->processes;
	io->capture_dropped_ops = k->dropped_ops;
	io->capture_complete = is_complete(w) ? YES : NO;
	return io->capture ? 0 : -ENOMEM;
}

static int put_captures(struct assembly *a)
{
	int rc = 0;
	for (size_t i = 0; !rc && i < a->n; i++)
		if (a->all[i].stage == PROFILED)
			rc = say_capture(a, &a->all[i]);
	return rc;
}

static int put_counts(struct assembly *a)
{
	struct record_body *b = &a->rec->body;
	const struct worked *w = io_execution(a);
	if (!w)
		return not_seen(a);
	int rc = iomerge_put_record(a->rec, w->seen->iopictures, w->seen->n_iopictures,
				    w->seen->start_real_ns);
	if (rc)
		return rc;
	double cpu = 0, roi = 0;
	for (size_t i = 0; i < w->seen->n_iopictures; i++) {
		const struct iopicture *p = w->seen->iopictures[i];
		cpu += known(p->collector_cpu_s) ? p->collector_cpu_s : 0;
		roi += known(p->collector_roi_cpu_s) ? p->collector_roi_cpu_s : 0;
	}
	struct observer *o = &b->observer;
	o->collector_cpu_s = num15((known(o->collector_cpu_s) ? o->collector_cpu_s : 0) + cpu);
	o->collector_roi_cpu_s =
		num15((known(o->collector_roi_cpu_s) ? o->collector_roi_cpu_s : 0) + roi);
	b->io.execution = record_text(a->rec, w->seen->row.name, strlen(w->seen->row.name));
	if (!b->io.execution)
		return -ENOMEM;
	rc = put_capture(a, w);
	if (!rc)
		rc = put_device_bytes(a, w);
	if (!rc)
		rc = put_layouts(a);
	return rc ? rc : unseen(a, w);
}

int put_io_parts(struct assembly *a)
{
	int rc = put_counts(a);
	return rc ? rc : put_captures(a);
}
