/* What each call adds to the sums. */
#include "core/iocount.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/iocount_impl.h"

#define BATCH 256 /* stretches that are merged at once */

static int8_t place_of(const char *signature, char letter, int from)
{
	for (int i = from; signature[i] && signature[i] != ':'; i++)
		if (signature[i] == letter)
			return (int8_t)i;
	return -1;
}

static void read_signatures(struct iocount *c)
{
	for (unsigned i = 0; i < IO_CALL_LIMIT; i++) {
		const char *signature = io_call_info(i)->signature;
		const char *result = signature ? strchr(signature, ':') : NULL;
		if (!result)
			continue;
		struct count_call *call = &c->calls[i];
		call->handle = place_of(signature, 'h', 0);
		call->to = place_of(signature, 'h', call->handle + 1);
		call->asked = place_of(signature, 'n', 0);
		call->path = place_of(signature, 'p', 0);
		call->result = result[1];
	}
}

/* ---- made, made anew ------------------------------------------------------------------------ */

static void reset(struct iocount *c)
{
	size_t from = offsetof(struct iocount, sums), to = offsetof(struct iocount, waits);
	waits_clear(&c->waits);
	memset((char *)c + from, 0, to - from);
	c->width_ns = SERIES_NS;
	c->gap = c->window = (struct range){ INT64_MAX, INT64_MIN };
}

int iocount_new(struct iocount **ret, const struct iocount_options *o, struct err *err)
{
	struct iocount *c = calloc(1, sizeof *c);
	if (!c)
		return err_set(err, -ENOMEM, "out of memory");
	c->options = *o;
	read_signatures(c);
	int rc = files_init(c);
	if (!rc)
		rc = waits_init(&c->waits);
	if (rc) {
		iocount_free(c);
		return err_set(err, rc, "out of memory");
	}
	reset(c);
	*ret = c;
	return 0;
}

void iocount_free(struct iocount *c)
{
	if (!c)
		return;
	files_done(c);
	waits_done(&c->waits);
	free(c);
}

void iocount_clear(struct iocount *c)
{
	files_clear(c);
	reset(c);
}

void iocount_dropped(struct iocount *c, uint64_t calls)
{
	c->dropped += calls;
}

void iocount_flushed(struct iocount *c, int64_t at_ns)
{
	c->waits.flushed = later(c->waits.flushed, at_ns);
}

/* ---- what is inside ------------------------------------------------------------------------- */

/* The window, and the gap between two of them, that calls fell in last. Marks come before the calls
 * of their time, so within one batch nothing of this changes. */
static void look_anew(struct iocount *c)
{
	c->gap = c->window = (struct range){ INT64_MAX, INT64_MIN };
}

static void look_at(struct iocount *c, const struct ranges *w, size_t at, int64_t begin)
{
	if (at < w->n && w->items[at].begin <= begin)
		c->window = w->items[at];
	else
		c->gap = (struct range){ at ? w->items[at - 1].end : INT64_MIN,
					 at < w->n ? w->items[at].begin : INT64_MAX };
}

/* Half open; an empty call at the end of a window is in it. */
static void share_of(struct iocount *c, const struct flow *f, int64_t begin, int64_t end,
		     struct share *s)
{
	uint64_t ns = end > begin ? range_ns(begin, end) : 0;
	*s = (struct share){ .ns = ns };
	if (begin >= c->window.begin && end <= c->window.end) {
		*s = (struct share){ true, 1, ns, ns };
		return;
	}
	if (begin >= c->gap.begin && end <= c->gap.end && (ns || begin > c->gap.begin))
		return;
	const struct ranges *w = &f->windows.list;
	size_t at = windows_find(w, begin);
	look_at(c, w, at, begin);
	if (!ns) {
		s->in = windows_hold(w, at, begin, begin);
		s->part = s->in;
		return;
	}
	s->in_ns = windows_clip(w, at, begin, end, NULL);
	s->in = s->in_ns > 0;
	s->part = s->in_ns == ns ? 1 : (double)s->in_ns / (double)ns;
}

static bool is_timed(const struct io_event *e)
{
	return e->begin_ns || e->end_ns;
}

static void share_of_event(struct iocount *c, const struct flow *f, const struct io_event *e,
			   struct share *s)
{
	if (is_timed(e)) {
		share_of(c, f, (int64_t)e->begin_ns, (int64_t)e->end_ns, s);
	} else if (e->when_ns) {
		share_of(c, f, (int64_t)e->when_ns, (int64_t)e->when_ns, s);
		s->ns = s->in_ns = 0;
	} else {
		*s = (struct share){ .in = false };
	}
}

/* ---- sums ----------------------------------------------------------------------------------- */

/* What one event adds, before it is clipped: two of them where it copies. */
struct amount {
	enum io_kind kind;
	bool failed;
	bool timed;
	uint64_t n;     /* calls */
	uint64_t bytes; /* of all of them */
};

static void add_times(struct count_sums *s, enum io_kind kind, uint64_t ns)
{
	if (kind == IO_READ)
		s->read_ns += ns;
	else if (kind == IO_WRITE || kind == IO_COPY)
		s->write_ns += ns;
	else
		s->meta_ns += ns;
}

static void add_ops(struct count_sums *s, enum io_kind kind, uint64_t n, double bytes)
{
	switch (kind) {
	case IO_READ:
		s->read_ops += n;
		s->read_bytes += bytes;
		break;
	case IO_WRITE:
		s->write_ops += n;
		s->write_bytes += bytes;
		break;
	case IO_OPEN:
	case IO_CLOSE:
		s->open_ops += n;
		break;
	case IO_SEEK:
		s->seek_ops += n;
		break;
	case IO_SYNC:
		s->sync_ops += n;
		break;
	default:
		s->meta_ops += n;
	}
}

static void add(struct count_sums *s, const struct amount *a, uint64_t ns, double part)
{
	if (a->timed)
		add_times(s, a->kind, ns);
	else
		s->untimed_ops += a->n;
	if (a->failed)
		s->failed_ops += a->n;
	else
		add_ops(s, a->kind, a->n, part == 1 ? (double)a->bytes : (double)a->bytes * part);
}

static void add_both(struct count_sums sums[SCOPES], const struct amount *a, const struct share *s)
{
	add(&sums[WHOLE], a, s->ns, 1);
	if (s->in)
		add(&sums[ROI], a, s->in_ns, s->part);
}

/* ---- events --------------------------------------------------------------------------------- */

static uint64_t count_of(const struct io_event *e)
{
	return e->count > 1 ? e->count : 1;
}

/* What was moved; of a call that only begins it, what was asked for. */
static uint64_t bytes_of(const struct io_event *e, const struct count_call *call)
{
	if (call->result == 'n')
		return e->result > 0 ? (uint64_t)e->result : 0;
	return call->asked >= 0 && e->arg[call->asked] > 0 ? (uint64_t)e->arg[call->asked] : 0;
}

/* From submission to completion: the calls that begin and end it are events of their own. */
static bool is_beside(const struct io_event *e, const struct io_call_info *info)
{
	if (info->interface == IO_MPIIO)
		return e->call >= IO_MPI_File_iread && e->call <= IO_MPI_File_write_ordered_begin;
	return (info->interface == IO_AIO || info->interface == IO_URING) && info->kind != IO_WAIT;
}

/* In a thread's own time. */
static bool is_wait(const struct io_event *e, const struct io_call_info *info)
{
	bool beside = is_beside(e, info);
	return e->depth == 0 && e->end_ns > e->begin_ns && !beside;
}

static bool is_counted(const struct count_handle *h)
{
	return !h || h->type == IO_FILE || h->type == IO_DIRECTORY;
}

bool iocount_waits(struct iocount *c, const struct io_event *e)
{
	const struct io_call_info *info = io_call_info(e->call);
	int h = info->name ? c->calls[e->call].handle : -1;
	return info->name && is_wait(e, info) &&
	       (h < 0 || is_counted(handle_find(c, (uint32_t)e->arg[h])));
}

/* What one call does to one handle. at: where in its file; -1 unknown. */
static void count_at(struct iocount *c, const struct io_event *e, const struct io_call_info *info,
		     struct count_handle *h, struct amount *a, int64_t at, const struct share *s)
{
	bool moves = (a->kind == IO_READ || a->kind == IO_WRITE) && !a->failed;
	bool write = a->kind == IO_WRITE;
	int64_t when = is_timed(e) ? (int64_t)e->begin_ns : (int64_t)e->when_ns;
	int64_t until = is_timed(e) ? (int64_t)e->end_ns : when;
	if (is_counted(h)) {
		add_both(c->sums[info->interface][e->depth > 0], a, s);
		if (moves && when)
			series_add(c, 1 + info->interface, write, when, until, a->bytes);
		if (e->depth == 0) {
			add_both(c->all, a, s);
			if (moves && when)
				series_add(c, 0, write, when, until, a->bytes);
		}
	}
	if (e->depth || !h || h->file == NO_FILE)
		return;
	struct count_file *f = &c->files[h->file];
	add_both(f->sums, a, s);
	if (moves) {
		int asked = c->calls[e->call].asked;
		bool cut = !write && asked >= 0 && e->result < e->arg[asked];
		file_access(f, h, write, at, a->bytes / a->n, cut, a->n, s);
	}
	if (moves && when) {
		f->first_ns = earlier(f->first_ns, when);
		f->last_ns = later(f->last_ns, until);
	}
}

static void count_copy(struct iocount *c, const struct io_event *e, const struct io_call_info *info,
		       struct amount *a, const struct share *s)
{
	const int ends[2] = { c->calls[e->call].handle, c->calls[e->call].to };
	struct share untimed = *s;
	for (int i = 0; i < 2; i++) { /* its time is of the writing */
		int64_t offset = info->signature[ends[i] + 1] == 'o' ? e->arg[ends[i] + 1] : -1;
		a->kind = i ? IO_WRITE : IO_READ;
		if (!i)
			untimed.ns = untimed.in_ns = 0;
		count_at(c, e, info, handle_find(c, (uint32_t)e->arg[ends[i]]), a, offset,
			 i ? s : &untimed);
	}
}

/* The handle that it makes, or works on; or the file of the path that it names. */
static struct count_handle *handle_of(struct iocount *c, const struct io_event *e,
				      struct count_handle *by_path)
{
	const struct count_call *call = &c->calls[e->call];
	if (call->result == 'h' && e->result > 0)
		return handle_find(c, (uint32_t)e->result);
	if (call->path >= 0) {
		const struct count_file *f = file_of_path(c, (uint32_t)e->arg[call->path]);
		*by_path = (struct count_handle){ .file = f ? (uint32_t)(f - c->files) : NO_FILE,
						  .type = IO_FILE };
		return by_path;
	}
	return call->handle >= 0 ? handle_find(c, (uint32_t)e->arg[call->handle]) : NULL;
}

static void count_event(struct iocount *c, const struct flow *f, const struct io_event *e)
{
	const struct io_call_info *info = io_call_info(e->call);
	struct count_handle by_path;
	struct share s;
	if (!info->name) {
		c->dropped += count_of(e);
		return;
	}
	if (e->call == IO_MPI_File_in_force) {
		struct count_handle *of = handle_find(c, (uint32_t)e->arg[0]);
		if (of && of->file != NO_FILE)
			file_hints(&c->files[of->file], e);
		return;
	}
	struct amount a = {
		.kind = info->kind, .failed = e->result < 0, .timed = is_timed(e), .n = count_of(e)
	};
	share_of_event(c, f, e, &s);
	if (a.kind == IO_COPY && !a.failed) {
		a.bytes = (uint64_t)e->result * a.n;
		count_copy(c, e, info, &a, &s);
		return;
	}
	if ((a.kind == IO_READ || a.kind == IO_WRITE) && !a.failed) {
		a.bytes = bytes_of(e, &c->calls[e->call]) * a.n;
		count_at(c, e, info, handle_find(c, (uint32_t)e->arg[0]), &a, e->at, &s);
		return;
	}
	struct count_handle *h = handle_of(c, e, &by_path);
	count_at(c, e, info, h, &a, -1, &s);
	if (h && info->kind == IO_CLOSE && !a.failed)
		h->closed = true;
	if (h && h->file != NO_FILE && info->interface == IO_MPIIO)
		file_hints(&c->files[h->file], e);
}

/* ---- many alike ------------------------------------------------------------------------------
 * Most calls are like the one before: same call, same file, in the same window or gap. What they
 * add to the sums is put together first. */

struct tally {
	const struct io_call_info *info; /* NULL: none is under way */
	struct count_handle *h;
	struct count_file *file;
	struct range within; /* of time, the window or gap */
	struct share share;  /* of each */
	struct amount sum;
	uint64_t ns, binned; /* binned: bytes that go into c->bin */
	uint16_t call;
	int8_t asked;
	bool write;
};

static void tally_bin(struct iocount *c, struct tally *t)
{
	int64_t at = c->bin.begin;
	if (!t->binned)
		return;
	series_add(c, 0, t->write, at, at, t->binned);
	series_add(c, 1 + t->info->interface, t->write, at, at, t->binned);
	t->binned = 0;
}

static void tally_end(struct iocount *c, struct tally *t)
{
	if (!t->info)
		return;
	const struct share s = { t->share.in, 1, t->ns, t->ns };
	if (t->sum.n) {
		tally_bin(c, t);
		add_both(c->sums[t->info->interface][0], &t->sum, &s);
		add_both(c->all, &t->sum, &s);
		add_both(t->file->sums, &t->sum, &s);
	}
	t->info = NULL;
}

/* After an event that was counted by itself: those like it may follow. */
static void tally_begin(struct iocount *c, struct tally *t, const struct io_event *e)
{
	const struct io_call_info *info = io_call_info(e->call);
	if (!info->name || (info->kind != IO_READ && info->kind != IO_WRITE) || e->depth ||
	    (info->interface != IO_POSIX && info->interface != IO_STDIO))
		return;
	bool in = (int64_t)e->begin_ns >= c->window.begin && (int64_t)e->end_ns <= c->window.end;
	struct count_handle *h = handle_find(c, (uint32_t)e->arg[0]);
	if (!h || h->file == NO_FILE || !is_counted(h))
		return;
	*t = (struct tally){ .info = info,
			     .h = h,
			     .file = &c->files[h->file],
			     .within = in ? c->window : c->gap,
			     .share = { .in = in, .part = 1 },
			     .sum = { .kind = info->kind, .timed = true },
			     .call = e->call,
			     .asked = c->calls[e->call].asked,
			     .write = info->kind == IO_WRITE };
}

/* False: this one is another. */
static bool tally_add(struct iocount *c, struct tally *t, const struct io_event *e)
{
	int64_t begin = (int64_t)e->begin_ns, end = (int64_t)e->end_ns;
	if (!t->info || e->call != t->call || (uint32_t)e->arg[0] != t->h->number || e->depth ||
	    e->result < 0 || e->count > 1 || end <= begin || begin < t->within.begin ||
	    end > t->within.end || !begin)
		return false;
	uint64_t bytes = (uint64_t)e->result;
	bool cut = !t->write && t->asked >= 0 && e->result < e->arg[t->asked];
	t->sum.n++;
	t->sum.bytes += bytes;
	t->ns += (uint64_t)(end - begin);
	if (begin >= c->bin.begin && end <= c->bin.end) {
		t->binned += bytes;
	} else {
		tally_bin(c, t);
		series_add(c, 1 + t->info->interface, t->write, begin, end, bytes);
		series_add(c, 0, t->write, begin, end, bytes);
	}
	file_access(t->file, t->h, t->write, e->at, bytes, cut, 1, &t->share);
	t->file->first_ns = earlier(t->file->first_ns, begin);
	t->file->last_ns = later(t->file->last_ns, end);
	return true;
}

void iocount_events(struct iocount *c, struct flow *f, const struct io_event *e, size_t n)
{
	struct range waits[BATCH];
	struct tally tally = { .info = NULL };
	size_t n_waits = 0;
	if (!n || windows_ready(f)) {
		c->dropped += n;
		return;
	}
	look_anew(c);
	for (size_t i = 0; i < n; i++) {
		if (!tally_add(c, &tally, &e[i])) {
			tally_end(c, &tally);
			count_event(c, f, &e[i]);
			tally_begin(c, &tally, &e[i]);
			if (!iocount_waits(c, &e[i]))
				continue;
		}
		waits[n_waits++] = (struct range){ (int64_t)e[i].begin_ns, (int64_t)e[i].end_ns };
		if (n_waits == BATCH) {
			waits_add(c, f, waits, n_waits, e[i].thread);
			n_waits = 0;
		}
	}
	tally_end(c, &tally);
	if (n_waits)
		waits_add(c, f, waits, n_waits, e[n - 1].thread);
}

void iocount_mpi(struct iocount *c, struct flow *f, const struct io_event *e, size_t n)
{
	if (windows_ready(f)) {
		c->dropped += n;
		return;
	}
	look_anew(c);
	for (size_t i = 0; i < n; i++) {
		struct share s;
		if (e[i].call >= IOPICTURE_MPI_CLASSES)
			continue;
		share_of_event(c, f, &e[i], &s);
		c->mpi_calls[e[i].call][WHOLE] += count_of(&e[i]);
		c->mpi_ns[e[i].call][WHOLE] += s.ns;
		c->mpi_calls[e[i].call][ROI] += s.in ? count_of(&e[i]) : 0;
		c->mpi_ns[e[i].call][ROI] += s.in_ns;
	}
}
