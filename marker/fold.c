/* What is more than the log has room for: sums and histograms. Each is written beside the valid
 * one and published by one store, so that a process may be killed in between. */
#define _GNU_SOURCE
#include "marker/guest.h"
#include "marker/mark.h"

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

/* The ring is full: its oldest records make room. */
void fold_oldest(struct mark_thread *t, double ns_per_tick)
{
	struct marklog_stream *s = t->stream;
	uint32_t side = GET(s->fold) ^ 1;
	struct marklog_fold *to = &s->folds[side];
	const struct marklog_record *r = t->next; /* ring full: the next place is the oldest */
	struct marklog_fold f;
	memcpy(&f, &s->folds[side ^ 1], sizeof f);
	if (!f.count) {
		f.min = UINT64_MAX;
		f.first = r->begin;
	}
	for (int i = 0; i < MARKLOG_FOLD; i++) {
		uint64_t gross = r->end - r->begin;
		uint64_t net = gross - r->excluded;
		f.gross += gross;
		f.excluded += r->excluded;
		f.excludes += r->excludes;
		f.min = least(f.min, net);
		f.max = most(f.max, net);
		f.last = r->end;
		f.bins[roi_bin((uint64_t)((double)net * ns_per_tick))]++;
		if (++r == t->limit)
			r = t->ring;
	}
	f.count += MARKLOG_FOLD;
	memcpy(to, &f, sizeof f);
	PUT_RELEASE(s->fold, side);
	t->fold_at += MARKLOG_FOLD;
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

/* Phases end with the entry they are in. */
void phases_close(struct mark_thread *t, uint64_t now)
{
	while (t->phase_depth) {
		COUNT(guest->header->unmatched_phase);
		phase_close(t, now);
	}
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
