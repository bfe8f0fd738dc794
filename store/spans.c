/* Spans of numbers: a sender counts up, so nearly always the last one grows. */
#include "store/spans.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The number of spans that begin at or before seq. */
static size_t before(const struct spans *s, uint64_t seq)
{
	size_t low = 0, high = s->n;
	if (s->n && s->items[s->n - 1].first <= seq)
		return s->n;
	while (low < high) {
		size_t mid = (low + high) / 2;
		if (s->items[mid].first <= seq)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

bool spans_has(const struct spans *s, uint64_t seq)
{
	size_t i = before(s, seq);
	return i && s->items[i - 1].last >= seq;
}

static bool touches(const struct spans *s, size_t i, uint64_t seq)
{
	return (i && s->items[i - 1].last + 1 == seq) || (i < s->n && s->items[i].first == seq + 1);
}

bool spans_room(const struct spans *s, uint64_t seq)
{
	return s->n < SPANS_MAX || touches(s, before(s, seq), seq);
}

static int reserve(struct spans *s, size_t n)
{
	if (n <= s->cap)
		return 0;
	size_t cap = s->cap ? 2 * s->cap : 1;
	cap = cap < n ? n : cap;
	struct inbox_span *items = realloc(s->items, cap * sizeof *items);
	if (!items)
		return -ENOMEM;
	s->items = items;
	s->cap = cap;
	return 0;
}

static void remove_at(struct spans *s, size_t i)
{
	s->n--;
	memmove(&s->items[i], &s->items[i + 1], (s->n - i) * sizeof *s->items);
}

int spans_add(struct spans *s, uint64_t seq, int64_t from_ns, int64_t to_ns, uint64_t *ret_low)
{
	size_t i = before(s, seq);
	bool left = i && s->items[i - 1].last + 1 == seq;
	bool right = i < s->n && s->items[i].first == seq + 1;
	*ret_low = left ? s->items[i - 1].first : seq;
	if (left) {
		struct inbox_span *span = &s->items[i - 1];
		span->last = right ? s->items[i].last : seq;
		span->to_ns = right ? s->items[i].to_ns : to_ns;
		if (right)
			remove_at(s, i);
		return 0;
	}
	if (right) {
		s->items[i].first = seq;
		s->items[i].from_ns = from_ns;
		return 0;
	}
	if (reserve(s, s->n + 1))
		return -ENOMEM;
	memmove(&s->items[i + 1], &s->items[i], (s->n - i) * sizeof *s->items);
	s->items[i] = (struct inbox_span){
		.first = seq, .last = seq, .from_ns = from_ns, .to_ns = to_ns
	};
	s->n++;
	return 0;
}

uint64_t spans_count(const struct spans *s, uint64_t first, uint64_t last)
{
	uint64_t n = 0;
	for (size_t i = before(s, first); i <= s->n; i++) {
		if (!i)
			continue;
		const struct inbox_span *span = &s->items[i - 1];
		uint64_t from = span->first > first ? span->first : first;
		uint64_t to = span->last < last ? span->last : last;
		if (span->first > last)
			break;
		if (from <= to)
			n += to - from + 1;
	}
	return n;
}

int spans_copy(struct spans *to, const struct spans *from)
{
	to->n = 0;
	if (reserve(to, from->n))
		return -ENOMEM;
	if (from->n)
		memcpy(to->items, from->items, from->n * sizeof *from->items);
	to->n = from->n;
	return 0;
}

void spans_done(struct spans *s)
{
	free(s->items);
	*s = (struct spans){ .n = 0 };
}
