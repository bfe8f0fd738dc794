/* What is more than the log has room for: sums and histograms. Each is written beside the valid
 * one and published by one store, so that a process may be killed in between. */
#define _GNU_SOURCE
#include "marker/guest.h"
#include "marker/mark.h"

#include <assert.h>
#include <string.h>

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void bins_count(uint64_t *bins, uint64_t ticks, double ns_per_tick)
{
	uint64_t *bin = &bins[roi_bin((uint64_t)((double)ticks * ns_per_tick))];
	PUT(*bin, GET(*bin) + 1);
}

/* Counts of one batch. Four records in a row count in four places: two counts of the same bin need
 * not wait for each other then, which is most of the time this takes. */
#define WAYS 4

struct batch {
	uint64_t gross, excluded, excludes, min, max;
	_Alignas(8) uint8_t bins[WAYS][ROI_BINS];
};

static_assert(MARKLOG_FOLD / WAYS <= UINT8_MAX, "a bin holds a batch");
static_assert(MARKLOG_FOLD % WAYS == 0, "all ways are equal");
static_assert((MARKLOG_RECORDS - MARKLOG_KEPT) % MARKLOG_FOLD == 0, "a batch never wraps");

/* roi_bin() by what the processor has done already when it made a double of the number: exponent
 * and two bits of the fraction are the bin. */
static inline unsigned bin_of(double ns)
{
	if (ns < 4)
		return (unsigned)ns;
	uint64_t bits;
	memcpy(&bits, &ns, sizeof bits);
	uint64_t bin = (bits >> 50) - 4096; /* 4 ns: exponent 1023 + 2, bin 4 */
	return bin < ROI_BINS ? (unsigned)bin : ROI_BINS - 1;
}

static inline void batch_add(struct batch *b, const struct marklog_record *r, double ns_per_tick,
			     int way)
{
	uint64_t gross = r->end - r->begin;
	uint64_t net = gross - r->excluded;
	b->gross += gross;
	b->excluded += r->excluded;
	b->excludes += r->excludes;
	b->min = least(b->min, net);
	b->max = most(b->max, net);
	b->bins[way][bin_of((double)(int64_t)net * ns_per_tick)]++;
}

/* Most groups of eight bins are empty. */
static void bins_sum(uint64_t *to, const uint64_t *from, const struct batch *b)
{
	memcpy(to, from, ROI_BINS * sizeof *to);
	for (int i = 0; i < ROI_BINS; i += 8) {
		uint64_t any = 0, eight;
		for (int way = 0; way < WAYS; way++) {
			memcpy(&eight, &b->bins[way][i], sizeof eight);
			any |= eight;
		}
		for (int k = i; any && k < i + 8; k++)
			to[k] += (uint64_t)b->bins[0][k] + b->bins[1][k] + b->bins[2][k] +
				 b->bins[3][k];
	}
}

/* The ring is full: its oldest records make room. Sums are written beside the valid ones. */
static void fold_oldest(struct mark_thread *t, double ns_per_tick)
{
	struct marklog_stream *s = t->stream;
	uint32_t side = GET(s->fold) ^ 1;
	struct marklog_fold *to = &s->folds[side];
	const struct marklog_fold *from = &s->folds[side ^ 1];
	const struct marklog_record *r = t->next; /* ring full: the next place is the oldest */
	struct batch b = { .min = from->count ? from->min : UINT64_MAX, .max = from->max };

	for (int i = 0; i < MARKLOG_FOLD; i += WAYS) {
		batch_add(&b, r + i, ns_per_tick, 0);
		batch_add(&b, r + i + 1, ns_per_tick, 1);
		batch_add(&b, r + i + 2, ns_per_tick, 2);
		batch_add(&b, r + i + 3, ns_per_tick, 3);
	}
	to->count = from->count + MARKLOG_FOLD;
	to->gross = from->gross + b.gross;
	to->excluded = from->excluded + b.excluded;
	to->excludes = from->excludes + b.excludes;
	to->min = b.min;
	to->max = b.max;
	to->first = from->count ? from->first : r->begin;
	to->last = r[MARKLOG_FOLD - 1].end;
	bins_sum(to->bins, from->bins, &b);
	PUT_RELEASE(s->fold, side);
	t->fold_at += MARKLOG_FOLD;
}

void end_odd(struct mark_thread *t, uint64_t now)
{
	if (GET(t->exclude_depth)) {
		exclude_close(t, now);
		PUT(t->exclude_depth, 0);
	}
	while (t->phase_depth) { /* phases end with the entry they are in */
		COUNT(guest->header->unmatched_phase);
		phase_close(t, now);
	}
}

/* Where the next record goes, and up to which entry nothing of this is due again. */
static void turn(struct mark_thread *t, double ns_per_tick)
{
	if (t->next == t->limit)
		t->next = t->ring;
	if (t->head == t->fold_at)
		fold_oldest(t, ns_per_tick);
	uint64_t to_limit = t->head + (uint64_t)(t->limit - t->next);
	t->turn_at = least(to_limit, t->fold_at);
}

void end_late(struct mark_thread *t, uint64_t now)
{
	struct guest *g = guest;
	if (t->head >= t->turn_at)
		turn(t, g->ns_per_tick);
	if (now < t->pair_at)
		return;
	uint64_t due = GET(g->pair_last) + g->pair_every;
	if (now >= due) {
		clock_check(g);
		due = GET(g->pair_last) + g->pair_every;
	}
	t->pair_at = due;
}

static void sum_next(uint64_t *count, struct marklog_sum side[2], uint64_t ticks)
{
	uint64_t n = GET(*count);
	const struct marklog_sum *was = &side[n % 2];
	struct marklog_sum *is = &side[(n + 1) % 2];
	PUT(is->total, GET(was->total) + ticks);
	PUT(is->min, n ? least(GET(was->min), ticks) : ticks);
	PUT(is->max, n ? most(GET(was->max), ticks) : ticks);
	PUT_RELEASE(*count, n + 1);
}

void step_add(struct mark_thread *t, uint64_t ticks, double ns_per_tick)
{
	struct marklog_stream *s = t->stream;
	bins_count(s->step_bins, ticks, ns_per_tick);
	sum_next(&s->steps, s->step, ticks);
}

void phase_add(struct mark_thread *t, uint32_t index, uint64_t ticks)
{
	struct marklog_phase *p = &t->stream->phases[index];
	sum_next(&p->count, p->side, ticks);
}

/* Cut where a character begins, or a reader would find half of one. */
static void name_cut(char cut[MARKLOG_NAME_BYTES], const char *name)
{
	size_t n = MARKLOG_NAME_BYTES - 1;
	while (n && ((unsigned char)name[n] & 0xc0) == 0x80)
		n--;
	memcpy(cut, name, n);
	cut[n] = 0;
}

static uint32_t name_find(const struct marklog_header *h, uint32_t n, const char *name)
{
	uint32_t i = 0;
	while (i < n && strcmp(h->phase[i], name))
		i++;
	return i;
}

/* Names are few and never leave. What is more than fits shares the last place. */
uint32_t phase_index(struct marklog_header *h, const char *name)
{
	char cut[MARKLOG_NAME_BYTES];
	if (!name)
		name = "";
	if (strnlen(name, MARKLOG_NAME_BYTES) == MARKLOG_NAME_BYTES) {
		name_cut(cut, name);
		name = cut;
	}
	uint32_t n = GET_ACQUIRE(h->phases);
	uint32_t i = name_find(h, n, name);
	if (i < n)
		return i;
	(void)pthread_mutex_lock(&guest->names_lock);
	n = GET_ACQUIRE(h->phases);
	i = name_find(h, n, name);
	if (i == n && n < MARKLOG_PHASES) {
		const char *kept = n == MARKLOG_PHASES - 1 ? "(other phases)" : name;
		memcpy(h->phase[n], kept, strlen(kept) + 1);
		PUT_RELEASE(h->phases, n + 1);
	}
	(void)pthread_mutex_unlock(&guest->names_lock);
	return i < MARKLOG_PHASES ? i : MARKLOG_PHASES - 1;
}
