/* Reads the native mark log. Nothing in the file is trusted: every size and count is held against
 * what there is, and what does not fit is left out and said. */
#include "schema/marklog.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static_assert(sizeof(struct marklog_pair) == 32, "layout");
static_assert(sizeof(struct marklog_record) == 32, "layout");
static_assert(sizeof(struct marklog_header) <= MARKLOG_FIXED_BYTES, "layout");
static_assert(sizeof(struct marklog_stream) <= MARKLOG_BLOCK_BYTES, "layout");
static_assert(offsetof(struct marklog_header, texts) == 88, "layout");
static_assert(offsetof(struct marklog_header, ready) == 216, "layout");
static_assert(offsetof(struct marklog_header, pair) == 384, "layout");
static_assert(offsetof(struct marklog_stream, folds) == 64, "layout");

struct source {
	const unsigned char *bytes;
	size_t n;
	struct arena *arena;
	struct roi_log *log;
	struct marklog_header h; /* in this machine's order */
	struct marklog_pair *pairs;
	size_t n_pairs;
	double rate; /* ns for a tick, over all pairs */
	bool failed; /* out of memory */
};

static uint32_t get32(const unsigned char *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint64_t get64(const unsigned char *p)
{
	return get32(p) | (uint64_t)get32(p + 4) << 32;
}

#define AT32(base, type, member) get32((base) + offsetof(type, member))
#define AT64(base, type, member) get64((base) + offsetof(type, member))

bool marklog_is(const void *bytes, size_t n)
{
	static const char any[] = "roimeter-mark-log ";
	return n >= sizeof any - 1 && !memcmp(bytes, any, sizeof any - 1);
}

static void damaged(struct source *s, const char *sentence)
{
	if (!s->log->damage)
		s->log->damage = sentence;
}

/* ---- texts ---------------------------------------------------------------------------------- */

/* Length of the UTF-8 character that begins here, or 0: none does. */
static size_t utf8_length(const unsigned char *p, size_t n)
{
	size_t len = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3
		     : p[0] < 0xf5                                                      ? 4
											: 0;
	if (!len || len > n)
		return 0;
	for (size_t i = 1; i < len; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
	    (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
		return 0;
	return len;
}

/* A path is bytes, a record is UTF-8: what is not becomes the replacement character. */
static const char *text_copy(struct source *s, const unsigned char *p, size_t n)
{
	char *text = arena_alloc(s->arena, 3 * n + 1);
	if (!text) {
		s->failed = true;
		return NULL;
	}
	size_t at = 0;
	for (size_t i = 0; i < n && p[i];) {
		size_t len = utf8_length(p + i, n - i);
		if (len) {
			memcpy(text + at, p + i, len);
			at += len;
			i += len;
		} else {
			memcpy(text + at, "\xef\xbf\xbd", 3);
			at += 3;
			i++;
		}
	}
	text[at] = 0;
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
	log->pid = arena_printf(s->arena, "%" PRIu32, AT32(s->bytes, struct marklog_header, pid));
	log->argv_cut = AT32(s->bytes, struct marklog_header, argv_cut) != 0;
	read_argv(s);
}

/* ---- the clock ------------------------------------------------------------------------------ */

static struct marklog_pair pair_at(const unsigned char *p)
{
	return (struct marklog_pair){ .tick = get64(p),
				      .mono_ns = (int64_t)get64(p + 8),
				      .real_ns = (int64_t)get64(p + 16),
				      .window = get64(p + 24) };
}

static void pair_add(struct source *s, const unsigned char *p)
{
	struct marklog_pair q = pair_at(p);
	/* Held to a range in which differences can't overflow: some 146 years. */
	bool sane = q.tick <= INT64_MAX && q.mono_ns >= 0 && q.mono_ns <= INT64_MAX / 2 &&
		    q.real_ns >= 0 && q.real_ns <= INT64_MAX / 2;
	const struct marklog_pair *last = s->n_pairs ? &s->pairs[s->n_pairs - 1] : NULL;
	if (!sane || (last && (q.tick <= last->tick || q.mono_ns <= last->mono_ns))) {
		if (!last || !sane || q.tick != last->tick)
			damaged(s, "the clock's readings are not in order");
		return;
	}
	s->pairs[s->n_pairs++] = q;
}

static double pair_rate(const struct marklog_pair *a, const struct marklog_pair *b)
{
	return (double)(b->mono_ns - a->mono_ns) / (double)(b->tick - a->tick);
}

/* How far the clock was from the kernel's: half the time a reading took, and at each reading
 * between two others its distance from their straight line. */
static double clock_error(const struct source *s)
{
	double worst = 0;
	for (size_t i = 0; i < s->n_pairs; i++) {
		double doubt = (double)s->pairs[i].window * s->rate / 2;
		if (doubt > worst)
			worst = doubt;
	}
	for (size_t i = 1; i + 1 < s->n_pairs; i++) {
		const struct marklog_pair *a = &s->pairs[i - 1], *b = a + 1, *c = a + 2;
		double line = (double)(b->tick - a->tick) * pair_rate(a, c);
		double off = fabs(line - (double)(b->mono_ns - a->mono_ns));
		if (off > worst)
			worst = off;
	}
	return worst;
}

static int read_clock(struct source *s)
{
	const unsigned char *h = s->bytes;
	uint32_t n = AT32(h, struct marklog_header, pairs);
	uint32_t latest = AT32(h, struct marklog_header, latest);
	if (n > MARKLOG_PAIRS)
		n = MARKLOG_PAIRS;
	s->pairs = arena_array(s->arena, (size_t)n + 1, sizeof *s->pairs);
	if (!s->pairs)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		pair_add(s, h + offsetof(struct marklog_header, pair) +
				    i * sizeof(struct marklog_pair));
	if (latest == 1 || latest == 2)
		pair_add(s, h + offsetof(struct marklog_header, last) +
				    (latest - 1) * sizeof(struct marklog_pair));
	if (!s->n_pairs)
		return -EINVAL;
	uint32_t clock = AT32(h, struct marklog_header, clock);
	s->log->clock = clock == MARKLOG_MONOTONIC ? "monotonic"
			: clock == MARKLOG_TSC	   ? "tsc"
						   : "cntvct";
	s->rate = s->n_pairs > 1 ? pair_rate(&s->pairs[0], &s->pairs[s->n_pairs - 1]) : 1;
	if (clock == MARKLOG_MONOTONIC)
		s->rate = 1;
	s->log->clock_error_ns = clock_error(s);
	s->log->mark_cost_ns = (double)AT64(h, struct marklog_header, mark_ticks) / 16 * s->rate;
	return 0;
}

/* The last pair that is not after this tick; the first one for what is before all. */
static size_t pair_before(const struct source *s, uint64_t tick)
{
	size_t low = 0, high = s->n_pairs;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		if (s->pairs[middle].tick <= tick)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static int64_t to_mono(const struct source *s, uint64_t tick)
{
	size_t i = pair_before(s, tick);
	const struct marklog_pair *a = &s->pairs[i];
	bool inside = i + 1 < s->n_pairs && tick >= a->tick;
	double rate = s->rate == 1 ? 1 : inside ? pair_rate(a, a + 1) : s->rate;
	int64_t ticks = (int64_t)(tick - a->tick);
	if (rate == 1)
		return a->mono_ns + ticks;
	double ns = (double)ticks * rate;
	if (fabs(ns) > 4e18)
		return ROI_UNKNOWN;
	return a->mono_ns + llround(ns);
}

static int64_t to_real(const struct source *s, uint64_t tick)
{
	const struct marklog_pair *a = &s->pairs[pair_before(s, tick)];
	int64_t mono = to_mono(s, tick);
	return mono == ROI_UNKNOWN ? ROI_UNKNOWN : a->real_ns + (mono - a->mono_ns);
}

static uint64_t to_ns(const struct source *s, uint64_t ticks)
{
	double ns = (double)ticks * s->rate;
	return ns < 1.8e19 ? (uint64_t)(ns + 0.5) : UINT64_MAX;
}

/* A tick that lies within what the pairs can speak of. */
static bool tick_sane(const struct source *s, uint64_t tick)
{
	const uint64_t year = UINT64_C(1) << 58; /* at 5 GHz, nearly two */
	return tick <= INT64_MAX && tick + year >= s->pairs[0].tick &&
	       tick <= s->pairs[s->n_pairs - 1].tick + year;
}

/* ---- streams -------------------------------------------------------------------------------- */

struct totals {
	uint64_t begin_tick, end_tick; /* first begin, last end over all streams; 0: none */
	size_t entries_cap, excludes_cap;
	uint64_t largest_fold_ns, excludes;
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

/* ns for ticks that were counted between two moments, by the clock's rate between them. */
static uint64_t ns_between(const struct source *s, uint64_t ticks, uint64_t from, uint64_t to)
{
	if (!tick_sane(s, from) || !tick_sane(s, to) || to <= from)
		return to_ns(s, ticks);
	double rate = (double)(to_mono(s, to) - to_mono(s, from)) / (double)(to - from);
	double ns = (double)ticks * rate;
	return ns >= 0 && ns < 1.8e19 ? (uint64_t)(ns + 0.5) : to_ns(s, ticks);
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
	if (!tick_sane(s, begin) || !tick_sane(s, end) || end < begin || excluded > end - begin) {
		damaged(s, "a record makes no sense");
		log->overflow++;
		return;
	}
	struct roi_entry *e = arena_grow(s->arena, log->entries, &t->entries_cap,
					 log->n_entries + 1, sizeof *e);
	if (!e) {
		s->failed = true;
		return;
	}
	log->entries = e;
	e += log->n_entries++;
	e->begin_ns = to_mono(s, begin);
	e->end_ns = to_mono(s, end);
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
		damaged(s, "a stream's counters do not agree");
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
			damaged(s, "the file is cut");
			s->log->overflow++;
		} else if (get32(p + at + 28) != (uint32_t)(i + 1)) {
			damaged(s, "a record is not the one that belongs there");
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
	size_t base = h->block_bytes + (size_t)h->records * h->record_bytes;
	for (uint64_t i = from; i < head; i++) {
		size_t at = base + (size_t)(i % h->excludes) * h->exclude_bytes;
		if (at + h->exclude_bytes > room)
			return;
		uint64_t begin = get64(p + at), end = get64(p + at + 8);
		if (!tick_sane(s, begin) || !tick_sane(s, end) || end < begin)
			continue;
		struct roi_exclude *x = arena_grow(s->arena, log->excludes, &t->excludes_cap,
						   log->n_excludes + 1, sizeof *x);
		if (!x) {
			s->failed = true;
			return;
		}
		log->excludes = x;
		x += log->n_excludes++;
		x->begin_ns = to_mono(s, begin);
		x->end_ns = to_mono(s, end);
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
	log->threads += (uint32_t)AT64(p, struct marklog_stream, tenants);
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
			damaged(s, "the file is cut");
			return;
		}
		size_t room = s->n - (size_t)at;
		if (room < h->stream_bytes)
			damaged(s, "the file is cut");
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
		const unsigned char *name = s->bytes + offsetof(struct marklog_header, phase) +
					    i * MARKLOG_NAME_BYTES;
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

static int by_end(const void *a, const void *b)
{
	const struct roi_entry *x = a, *y = b;
	return (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns);
}

static int exclude_by_end(const void *a, const void *b)
{
	const struct roi_exclude *x = a, *y = b;
	return (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns);
}

static void finish_threads(struct source *s)
{
	struct roi_log *log = s->log;
	if (AT32(s->bytes, struct marklog_header, streams) < 2) {
		log->n_excludes = 0; /* each entry's own sum says it all */
		return;
	}
	qsort(log->entries, log->n_entries, sizeof *log->entries, by_end);
	qsort(log->excludes, log->n_excludes, sizeof *log->excludes, exclude_by_end);
}

static void finish_counters(struct source *s, const struct totals *t)
{
	const unsigned char *h = s->bytes;
	struct roi_log *log = s->log;
	uint32_t cause = AT32(h, struct marklog_header, overflow_errno);
	log->overflow += AT64(h, struct marklog_header, overflow);
	if (log->overflow && cause)
		log->overflow_cause = arena_printf(
			s->arena, "no room for the marks of one more thread: %s",
			strerror((int)(cause & 0xffff)));
	else if (log->overflow)
		log->overflow_cause = log->damage ? log->damage : "more threads than can mark";
	log->unmatched_end = AT64(h, struct marklog_header, unmatched_end);
	log->unmatched_exclude = AT64(h, struct marklog_header, unmatched_exclude);
	log->unmatched_phase = AT64(h, struct marklog_header, unmatched_phase);
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
	if (AT32(b, struct marklog_header, ready) != 1)
		return err_set(err, -EINVAL, "%s: its process ended while it was made", file);
	if (h->header_bytes < MARKLOG_FIXED_BYTES || h->block_bytes < sizeof(struct marklog_stream) ||
	    h->record_bytes < sizeof(struct marklog_record) ||
	    h->exclude_bytes < sizeof(struct marklog_exclude) || !h->kept ||
	    h->kept >= h->records || !h->excludes || stream > h->stream_bytes)
		return err_set(err, -EINVAL, "%s: the sizes in its header do not fit", file);
	return 0;
}

static int read_all(struct source *s, const char *file, struct err *err)
{
	struct totals t = { .entries_cap = 0 };
	int rc = read_clock(s);
	if (rc == -EINVAL)
		return err_set(err, rc, "%s: without a reading of the clock", file);
	if (rc)
		return rc;
	read_identity(s);
	read_streams(s, &t);
	rc = finish_phases(s, &t);
	if (rc || s->failed)
		return -ENOMEM;
	finish_threads(s);
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
