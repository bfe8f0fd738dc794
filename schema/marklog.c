/* Reads the native mark log. Nothing in the file is trusted: every size and count is held against
 * what there is, and what does not fit is left out and said. */
#define _GNU_SOURCE
#include "schema/marklog.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "schema/marklog_impl.h"
#include "schema/utf8.h"

static_assert(sizeof(struct marklog_pair) == 32, "layout");
static_assert(sizeof(struct marklog_record) == 32, "layout");
static_assert(sizeof(struct marklog_header) <= MARKLOG_FIXED_BYTES, "layout");
static_assert(sizeof(struct marklog_stream) <= MARKLOG_BLOCK_BYTES, "layout");
static_assert(offsetof(struct marklog_header, texts) == 88, "layout");
static_assert(offsetof(struct marklog_header, ready) == 216, "layout");
static_assert(offsetof(struct marklog_header, pair) == 384, "layout");
static_assert(offsetof(struct marklog_stream, folds) == 64, "layout");

#define RECORDS_MAX (UINT32_C(1) << 20) /* of one stream, whatever the header says */

bool marklog_is(const void *bytes, size_t n)
{
	static const char any[] = "roimeter-mark-log ";
	return n >= sizeof any - 1 && !memcmp(bytes, any, sizeof any - 1);
}

/* ---- texts ---------------------------------------------------------------------------------- */

/* A path is bytes, a record is UTF-8. */
static const char *text_copy(struct source *s, const unsigned char *p, size_t n)
{
	size_t len = strnlen((const char *)p, n);
	char *text = arena_alloc(s->arena, 3 * len + 1);
	if (!text) {
		s->failed = true;
		return NULL;
	}
	(void)utf8_clean(text, (const char *)p, len);
	return text;
}

static bool span_find(const struct source *s, enum marklog_text which, const unsigned char **ret,
		      size_t *ret_n)
{
	const unsigned char *span = s->bytes + offsetof(struct marklog_header, texts) +
				    (size_t)which * sizeof(struct marklog_span);
	size_t offset = get32(span), n = get32(span + 4);
	if (!n || offset > s->n || n > s->n - offset)
		return false;
	*ret = s->bytes + offset;
	*ret_n = n;
	return true;
}

static const char *text(struct source *s, enum marklog_text which)
{
	const unsigned char *p;
	size_t n;
	return span_find(s, which, &p, &n) ? text_copy(s, p, n) : NULL;
}

static void read_argv(struct source *s)
{
	const unsigned char *p;
	size_t n, count = 0;
	if (!span_find(s, MARKLOG_ARGV, &p, &n))
		return;
	for (size_t i = 0; i < n; i++)
		count += !p[i] || i + 1 == n;
	const char **items = arena_array(s->arena, count, sizeof *items);
	if (!items) {
		s->failed = true;
		return;
	}
	size_t k = 0;
	for (size_t from = 0; from < n && k < count; k++) {
		const unsigned char *end = memchr(p + from, 0, n - from);
		size_t len = end ? (size_t)(end - p) - from : n - from;
		items[k] = text_copy(s, p + from, len);
		from += len + 1;
	}
	s->log->argv.items = items;
	s->log->argv.n = k;
}

static void read_identity(struct source *s)
{
	struct roi_log *log = s->log;
	log->format = "roimeter-mark-log 1";
	log->host = text(s, MARKLOG_HOST);
	log->exe = text(s, MARKLOG_EXE);
	log->cwd = text(s, MARKLOG_CWD);
	log->rank = text(s, MARKLOG_RANK);
	log->run = text(s, MARKLOG_RUN);
	log->exec = text(s, MARKLOG_EXEC);
	log->boot_id = text(s, MARKLOG_BOOT_ID);
	log->stream = text(s, MARKLOG_STREAM);
	log->parent = text(s, MARKLOG_PARENT);
	log->cpus = text(s, MARKLOG_CPUS);
	log->mems = text(s, MARKLOG_MEMS);
	log->job = text(s, MARKLOG_JOB);
	log->group = text(s, MARKLOG_GROUP);
	log->world = text(s, MARKLOG_WORLD);
	log->pid = arena_printf(s->arena, "%" PRIu32, AT32(s->bytes, struct marklog_header, pid));
	log->argv_cut = AT32(s->bytes, struct marklog_header, argv_cut) != 0;
	read_argv(s);
}

/* ---- streams -------------------------------------------------------------------------------- */

struct totals {
	uint64_t begin_tick, end_tick; /* first begin, last end over all streams; 0: none */
	size_t entries_cap, excludes_cap;
	uint64_t excludes;
	bool excludes_lost; /* intervals that left their ring */
	uint64_t phase_count[MARKLOG_PHASES];
	struct marklog_sum phase[MARKLOG_PHASES];
};

static void span_note(struct totals *t, uint64_t begin, uint64_t end)
{
	if (!t->begin_tick || begin < t->begin_tick)
		t->begin_tick = begin;
	if (end > t->end_tick)
		t->end_tick = end;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t read_fold(struct source *s, struct totals *t, const unsigned char *p)
{
	struct roi_log *log = s->log;
	uint64_t count = AT64(p, struct marklog_fold, count);
	if (!count)
		return 0;
	uint64_t first = AT64(p, struct marklog_fold, first);
	uint64_t last = AT64(p, struct marklog_fold, last);
	uint64_t gross = ns_between(s, AT64(p, struct marklog_fold, gross), first, last);
	uint64_t excluded = ns_between(s, AT64(p, struct marklog_fold, excluded), first, last);
	uint64_t min = ns_between(s, AT64(p, struct marklog_fold, min), first, last);
	uint64_t max = ns_between(s, AT64(p, struct marklog_fold, max), first, last);
	uint64_t net = gross > excluded ? gross - excluded : 0;

	log->folded_min_ns = log->folded ? least(log->folded_min_ns, min) : min;
	log->folded_max_ns = most(log->folded_max_ns, max);
	log->folded += count;
	log->folded_gross_ns += gross;
	log->folded_excluded_ns += least(excluded, gross);
	log->folded_excludes += AT64(p, struct marklog_fold, excludes);
	for (size_t i = 0; i < ROI_BINS; i++)
		log->folded_bins[i] += get64(p + offsetof(struct marklog_fold, bins) + 8 * i);
	log->folded_threads++;
	log->folded_largest_thread_ns = most(log->folded_largest_thread_ns, net);
	t->excludes += AT64(p, struct marklog_fold, excludes);
	return count;
}

static void add_entry(struct source *s, struct totals *t, const unsigned char *r, uint32_t stream)
{
	struct roi_log *log = s->log;
	uint64_t begin = get64(r), end = get64(r + 8), excluded = get64(r + 16);
	int64_t begin_ns = tick_sane(s, begin) ? to_mono(s, begin) : ROI_UNKNOWN;
	int64_t end_ns = tick_sane(s, end) ? to_mono(s, end) : ROI_UNKNOWN;
	if (begin_ns == ROI_UNKNOWN || end_ns == ROI_UNKNOWN || end < begin || end_ns < begin_ns ||
	    excluded > end - begin) {
		source_damaged(s, "a record makes no sense");
		log->overflow++;
		return;
	}
	struct roi_entry *e =
		arena_grow(s->arena, log->entries, &t->entries_cap, log->n_entries + 1, sizeof *e);
	if (!e) {
		s->failed = true;
		return;
	}
	log->entries = e;
	e += log->n_entries++;
	e->begin_ns = begin_ns;
	e->end_ns = end_ns;
	e->excluded_ns = excluded ? ns_between(s, excluded, begin, end) : 0;
	if (e->excluded_ns > (uint64_t)(e->end_ns - e->begin_ns))
		e->excluded_ns = (uint64_t)(e->end_ns - e->begin_ns);
	e->excludes = get32(r + 24);
	e->thread = stream;
	t->excludes += e->excludes;
	span_note(t, begin, end);
}

/* The first ones, then what of the ring is not folded. A record that the file was cut before, or
 * that carries another index, is lost. */
static void read_entries(struct source *s, struct totals *t, const unsigned char *p, size_t room,
			 uint32_t stream, uint64_t folded)
{
	const struct marklog_header *h = &s->h;
	uint64_t head = AT64(p, struct marklog_stream, head);
	uint64_t ring = h->records - h->kept;
	uint64_t from = h->kept + folded; /* first index in the ring */
	if (head > INT64_MAX || folded > INT64_MAX || (folded && head < from) ||
	    (head > from && head - from > ring)) {
		source_damaged(s, "a stream's counters do not agree");
		return;
	}
	for (uint64_t i = 0; i < head && !s->failed; i++) {
		if (i == h->kept)
			i = from;
		if (i >= head)
			break;
		uint64_t slot = i < h->kept ? i : h->kept + (i - h->kept) % ring;
		size_t at = h->block_bytes + (size_t)slot * h->record_bytes;
		if (at + h->record_bytes > room) {
			source_damaged(s, "the file is cut");
			s->log->overflow++;
		} else if (get32(p + at + 28) != (uint32_t)(i + 1)) {
			source_damaged(s, "a record is not the one that belongs there");
			s->log->overflow++;
		} else {
			add_entry(s, t, p + at, stream);
		}
	}
}

static void read_excludes(struct source *s, struct totals *t, const unsigned char *p, size_t room,
			  uint32_t stream)
{
	const struct marklog_header *h = &s->h;
	struct roi_log *log = s->log;
	uint64_t head = AT64(p, struct marklog_stream, exclude_head);
	uint64_t from = head > h->excludes ? head - h->excludes : 0;
	if (from)
		t->excludes_lost = true;
	size_t base = h->block_bytes + (size_t)h->records * h->record_bytes;
	for (uint64_t i = from; i < head; i++) {
		size_t at = base + (size_t)(i % h->excludes) * h->exclude_bytes;
		if (at + h->exclude_bytes > room)
			return;
		uint64_t begin = get64(p + at), end = get64(p + at + 8);
		int64_t begin_ns = tick_sane(s, begin) ? to_mono(s, begin) : ROI_UNKNOWN;
		int64_t end_ns = tick_sane(s, end) ? to_mono(s, end) : ROI_UNKNOWN;
		if (begin_ns == ROI_UNKNOWN || end_ns == ROI_UNKNOWN || end_ns < begin_ns)
			continue;
		struct roi_exclude *x = arena_grow(s->arena, log->excludes, &t->excludes_cap,
						   log->n_excludes + 1, sizeof *x);
		if (!x) {
			s->failed = true;
			return;
		}
		log->excludes = x;
		x += log->n_excludes++;
		x->begin_ns = begin_ns;
		x->end_ns = end_ns;
		x->thread = stream;
	}
}

static struct marklog_sum sum_at(const unsigned char *side, uint64_t count)
{
	const unsigned char *p = side + (count % 2) * sizeof(struct marklog_sum);
	return (struct marklog_sum){ .total = get64(p), .min = get64(p + 8), .max = get64(p + 16) };
}

static void read_steps(struct source *s, const unsigned char *p)
{
	struct roi_log *log = s->log;
	uint64_t steps = AT64(p, struct marklog_stream, steps);
	if (!steps)
		return;
	struct marklog_sum sum = sum_at(p + offsetof(struct marklog_stream, step), steps);
	uint64_t min = to_ns(s, sum.min);
	log->step_min_ns = log->steps ? least(log->step_min_ns, min) : min;
	log->step_max_ns = most(log->step_max_ns, to_ns(s, sum.max));
	log->step_sum_ns += to_ns(s, sum.total);
	log->steps += steps;
	for (size_t i = 0; i < ROI_BINS; i++)
		log->step_bins[i] += get64(p + offsetof(struct marklog_stream, step_bins) + 8 * i);
}

static void read_phases(struct totals *t, const unsigned char *p)
{
	for (size_t i = 0; i < MARKLOG_PHASES; i++) {
		const unsigned char *q = p + offsetof(struct marklog_stream, phases) +
					 i * sizeof(struct marklog_phase);
		uint64_t count = get64(q);
		if (!count)
			continue;
		struct marklog_sum sum = sum_at(q + 8, count);
		struct marklog_sum *all = &t->phase[i];
		all->min = t->phase_count[i] ? least(all->min, sum.min) : sum.min;
		all->max = most(all->max, sum.max);
		all->total += sum.total;
		t->phase_count[i] += count;
	}
}

/* room: bytes of this stream that are there, at least the block. */
static void read_stream(struct source *s, struct totals *t, const unsigned char *p, size_t room,
			uint32_t stream)
{
	struct roi_log *log = s->log;
	uint64_t begun = AT64(p, struct marklog_stream, begun);
	uint64_t head = AT64(p, struct marklog_stream, head);
	uint32_t side = AT32(p, struct marklog_stream, fold) & 1;
	uint64_t folded = read_fold(s, t,
				    p + offsetof(struct marklog_stream, folds) +
					    side * sizeof(struct marklog_fold));
	size_t before = log->n_entries;
	uint64_t lost = log->overflow;
	read_entries(s, t, p, room, stream, folded);
	read_excludes(s, t, p, room, stream);
	read_steps(s, p);
	read_phases(t, p);
	log->begun += folded + (log->n_entries - before);
	log->threads += AT64(p, struct marklog_stream, tenants) != 0;
	if (begun != head + 1 || log->overflow != lost)
		return;
	uint64_t open = AT64(p, struct marklog_stream, open_begin);
	log->begun++;
	log->open++;
	if (AT64(p, struct marklog_stream, exclude_begin))
		log->exclude_open = true;
	if (tick_sane(s, open))
		span_note(t, open, 0);
}

static void read_streams(struct source *s, struct totals *t)
{
	const struct marklog_header *h = &s->h;
	uint32_t n = AT32(s->bytes, struct marklog_header, streams);
	for (uint32_t i = 0; i < n && !s->failed; i++) {
		uint64_t at = h->header_bytes + (uint64_t)i * h->stream_bytes;
		if (at > s->n || s->n - at < h->block_bytes) {
			source_damaged(s, "the file is cut");
			return;
		}
		size_t room = s->n - (size_t)at;
		if (room < h->stream_bytes)
			source_damaged(s, "the file is cut");
		else
			room = h->stream_bytes;
		read_stream(s, t, s->bytes + at, room, i);
	}
}

/* ---- the whole ------------------------------------------------------------------------------ */

static int finish_phases(struct source *s, const struct totals *t)
{
	struct roi_log *log = s->log;
	uint32_t n = AT32(s->bytes, struct marklog_header, phases);
	if (n > MARKLOG_PHASES)
		n = MARKLOG_PHASES;
	log->phases = arena_array(s->arena, n ? n : 1, sizeof *log->phases);
	if (!log->phases)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		if (!t->phase_count[i])
			continue;
		const unsigned char *name =
			s->bytes + offsetof(struct marklog_header, phase) + i * MARKLOG_NAME_BYTES;
		log->phases[log->n_phases++] = (struct roi_phase){
			.name = text_copy(s, name, MARKLOG_NAME_BYTES),
			.count = t->phase_count[i],
			.total_ns = to_ns(s, t->phase[i].total),
			.min_ns = to_ns(s, t->phase[i].min),
			.max_ns = to_ns(s, t->phase[i].max),
		};
		log->marks += 2 * t->phase_count[i];
	}
	return 0;
}

/* Intervals say something only where several threads marked, and only when all are there. Else
 * each entry's own sum is what counts. */
static void finish_excludes(struct roi_log *log, const struct totals *t)
{
	if (log->threads < 2 || t->excludes_lost)
		log->n_excludes = 0;
}

static void finish_counters(struct source *s, const struct totals *t)
{
	const unsigned char *h = s->bytes;
	struct roi_log *log = s->log;
	uint32_t cause = AT32(h, struct marklog_header, overflow_errno);
	log->overflow += AT64(h, struct marklog_header, overflow);
	if (log->overflow && cause)
		log->overflow_cause =
			arena_printf(s->arena, "no room for the marks of one more thread: %s",
				     strerror((int)(cause & 0xffff)));
	else if (log->overflow)
		log->overflow_cause =
			log->damage ? log->damage
				    : "more threads than can mark, or a mark in a signal handler";
	log->unmatched_end = AT64(h, struct marklog_header, unmatched_end);
	log->unmatched_exclude = AT64(h, struct marklog_header, unmatched_exclude);
	log->unmatched_phase = AT64(h, struct marklog_header, unmatched_phase);
	log->unmatched_step = AT64(h, struct marklog_header, unmatched_step);
	log->syncs = AT64(h, struct marklog_header, syncs);
	log->syncs_missing = AT64(h, struct marklog_header, syncs_missing);
	log->syncs_failed = AT64(h, struct marklog_header, syncs_failed);
	log->has_steps = true;
	log->first_begin_ns = t->begin_tick ? to_mono(s, t->begin_tick) : ROI_UNKNOWN;
	log->first_begin_real = t->begin_tick ? to_real(s, t->begin_tick) : ROI_UNKNOWN;
	log->last_end_ns = t->end_tick ? to_mono(s, t->end_tick) : ROI_UNKNOWN;
	log->last_end_real = t->end_tick ? to_real(s, t->end_tick) : ROI_UNKNOWN;
	log->marks += log->begun + (log->begun - log->open) + 2 * t->excludes + log->steps;
}

static int read_sizes(struct source *s, const char *file, struct err *err)
{
	const unsigned char *b = s->bytes;
	struct marklog_header *h = &s->h;
	if (s->n < MARKLOG_FIXED_BYTES)
		return err_set(err, -EINVAL, "%s: cut inside its header", file);
	if (memcmp(b, MARKLOG_MAGIC, sizeof MARKLOG_MAGIC))
		return err_set(err, -EINVAL,
			       "%s: a mark log of another version; this reads version 1", file);
	h->header_bytes = AT32(b, struct marklog_header, header_bytes);
	h->stream_bytes = AT32(b, struct marklog_header, stream_bytes);
	h->block_bytes = AT32(b, struct marklog_header, block_bytes);
	h->record_bytes = AT32(b, struct marklog_header, record_bytes);
	h->records = AT32(b, struct marklog_header, records);
	h->kept = AT32(b, struct marklog_header, kept);
	h->exclude_bytes = AT32(b, struct marklog_header, exclude_bytes);
	h->excludes = AT32(b, struct marklog_header, excludes);
	uint64_t stream = h->block_bytes + (uint64_t)h->records * h->record_bytes +
			  (uint64_t)h->excludes * h->exclude_bytes;
	if (h->header_bytes < MARKLOG_FIXED_BYTES ||
	    h->block_bytes < sizeof(struct marklog_stream) ||
	    h->record_bytes < sizeof(struct marklog_record) ||
	    h->exclude_bytes < sizeof(struct marklog_exclude) || !h->kept ||
	    h->kept >= h->records || h->records > RECORDS_MAX || !h->excludes ||
	    h->excludes > RECORDS_MAX || stream > h->stream_bytes)
		return err_set(err, -EINVAL, "%s: the sizes in its header do not fit", file);
	return 0;
}

static int read_all(struct source *s, const char *file, struct err *err)
{
	struct totals t = { .entries_cap = 0 };
	if (AT32(s->bytes, struct marklog_header, ready) != 1) {
		s->log->format = "roimeter-mark-log 1";
		s->log->damage = "the process ended while it made its log";
		return 0;
	}
	int rc = source_clock(s);
	if (rc == -EINVAL)
		return err_set(err, rc, "%s: without a reading of the clock", file);
	if (rc)
		return rc;
	read_identity(s);
	read_streams(s, &t);
	rc = finish_phases(s, &t);
	if (rc || s->failed)
		return -ENOMEM;
	finish_excludes(s->log, &t);
	finish_counters(s, &t);
	return s->failed ? -ENOMEM : 0;
}

int marklog_parse(struct roi_logs *logs, const char *file, const void *bytes, size_t n,
		  struct err *err)
{
	struct source s = { .bytes = bytes, .n = n, .arena = &logs->arena };
	int rc = read_sizes(&s, file, err);
	if (rc)
		return rc;
	size_t before = logs->n;
	s.log = roilogs_add(logs, file);
	rc = s.log ? read_all(&s, file, err) : -ENOMEM;
	if (rc == -ENOMEM)
		(void)err_set(err, rc, "%s: out of memory", file);
	if (rc)
		logs->n = before;
	return rc;
}
