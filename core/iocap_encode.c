/* Calls into symbols. A signature says as much as comes again: first all of the call; where such a
 * call was never seen, without offsets, texts and odd results; where there are too many sizes,
 * without those; when the table is full, the call alone. What it does not say goes into columns. */
#include <string.h>

#include "core/iocap_impl.h"
#include "lib/pages.h"

#define SEEN (1u << 15)
#define SIZES (1u << 12)
#define SIZES_EACH 8

bool iocap_encoder_init(struct encoder *x)
{
	x->seen = pages_resize(NULL, 0, SEEN * sizeof *x->seen);
	x->sizes = pages_resize(NULL, 0, SIZES);
	return x->seen && x->sizes;
}

void iocap_encoder_done(struct encoder *x)
{
	(void)pages_resize(x->items, x->cap * sizeof *x->items, 0);
	(void)pages_resize(x->map, x->map_cap * sizeof *x->map, 0);
	(void)pages_resize(x->seen, SEEN * sizeof *x->seen, 0);
	(void)pages_resize(x->sizes, SIZES, 0);
	*x = (struct encoder){ 0 };
}

static uint64_t hash(const struct iocap_signature *s)
{
	uint64_t h = (uint64_t)s->how[IOCAP_COUNT] << 32 | (uint64_t)s->call << 8 | s->depth, how;
	memcpy(&how, s->how, sizeof how);
	h = (h ^ how) * UINT64_C(0x9e3779b97f4a7c15);
	for (unsigned i = 0; i < IOCAP_FIELDS; i++)
		if (s->value[i])
			h = (h ^ (h >> 29) ^ (uint64_t)s->value[i] ^ (uint64_t)i << 59) *
			    UINT64_C(0xbf58476d1ce4e5b9);
	return h ^ h >> 32;
}

static bool equal(const struct iocap_signature *a, const struct iocap_signature *b)
{
	return a->call == b->call && a->depth == b->depth &&
	       memcmp(a->how, b->how, sizeof a->how) == 0 &&
	       memcmp(a->value, b->value, sizeof a->value) == 0;
}

static uint32_t find(const struct encoder *x, const struct iocap_signature *s, uint64_t h)
{
	for (uint32_t i = (uint32_t)h; x->map_cap; i++) {
		uint32_t at = x->map[i & (x->map_cap - 1)];
		if (!at)
			break;
		if (equal(&x->items[at - 1], s))
			return at - 1;
	}
	return SIGNATURE_NONE;
}

static void map_put(struct encoder *x, uint32_t number, uint64_t h)
{
	uint32_t i = (uint32_t)h;
	while (x->map[i & (x->map_cap - 1)])
		i++;
	x->map[i & (x->map_cap - 1)] = number + 1;
}

static bool grow(struct encoder *x)
{
	uint32_t cap = x->cap ? x->cap * 2 : 64;
	struct iocap_signature *items =
		pages_resize(x->items, x->cap * sizeof *items, cap * sizeof *items);
	if (!items)
		return false;
	x->items = items;
	x->cap = cap;
	uint32_t *map = pages_resize(NULL, 0, cap * 2 * sizeof *map);
	if (!map)
		return false;
	(void)pages_resize(x->map, x->map_cap * sizeof *map, 0);
	x->map = map;
	x->map_cap = cap * 2;
	for (uint32_t i = 0; i < x->n; i++)
		map_put(x, i, hash(&items[i]));
	return true;
}

static uint32_t admit(struct encoder *x, const struct iocap_signature *s, uint64_t h)
{
	if (x->n == SIGNATURES_MAX || (x->n == x->cap && !grow(x)))
		return SIGNATURE_NONE;
	x->items[x->n] = *s;
	map_put(x, x->n, h);
	return x->n++;
}

/* ---- a call, in the most exact words ---- */

struct draft {
	struct iocap_signature s;
	unsigned varying, sizes; /* fields of the kinds that are first left open, by bit */
};

static void set(struct draft *d, unsigned field, enum iocap_how how, int64_t value)
{
	d->s.how[field] = (uint8_t)how;
	d->s.value[field] = value;
}

static void draft_handle(struct draft *d, struct iocap_model *m, unsigned i, int64_t v)
{
	int64_t slot = v > 0 && v <= UINT32_MAX ? iocap_model_slot(m, (uint32_t)v) : -1;
	if (v == 0)
		set(d, i, IOCAP_FIXED, 0);
	else if (slot >= 0 && slot < 64)
		set(d, i, IOCAP_SLOT, slot);
	else if (slot >= 0) {
		set(d, i, IOCAP_STEP, slot - m->last_slot);
		if (d->s.value[i] > 1 || d->s.value[i] < -1)
			d->varying |= 1u << i;
	} else if (v == (int64_t)m->newest_handle + 1)
		set(d, i, IOCAP_NEXT, 0);
	else
		set(d, i, IOCAP_COLUMN, 0);
}

static void draft_text(struct draft *d, const struct iocap_model *m, unsigned i, int64_t v)
{
	if (v == (int64_t)m->newest_text + 1) {
		set(d, i, IOCAP_NEXT, 0);
		return;
	}
	set(d, i, IOCAP_FIXED, v);
	if (v)
		d->varying |= 1u << i;
}

/* One of these ways, when it gives what is so. */
static bool draft_if(struct draft *d, struct iocap_model *m, const struct iocap_shape *shape,
		     const struct io_event *e, unsigned field, enum iocap_how how, int64_t v)
{
	int64_t expected;
	if (!iocap_model_expect(m, shape, e, field, how, 0, &expected) || expected != v)
		return false;
	set(d, field, how, 0);
	return true;
}

static void draft_result(struct draft *d, struct iocap_model *m, const struct iocap_shape *shape,
			 const struct io_event *e)
{
	int64_t v = e->result;
	char letter = shape->letter[IOCAP_RESULT];
	if (letter == 'h' && v > 0) {
		bool next = v == iocap_model_base(m, shape, e, IOCAP_RESULT);
		/* base is that of handles only for their letter */
		set(d, IOCAP_RESULT, next ? IOCAP_NEXT : IOCAP_COLUMN, 0);
		return;
	}
	if (draft_if(d, m, shape, e, IOCAP_RESULT, IOCAP_ASKED, v))
		return;
	set(d, IOCAP_RESULT, IOCAP_FIXED, v);
	if (v <= 0)
		return;
	if (letter == 'n' && shape->asked == 0xff)
		d->sizes |= 1u << IOCAP_RESULT;
	else
		d->varying |= 1u << IOCAP_RESULT;
}

static void draft_field(struct draft *d, struct iocap_model *m, const struct iocap_shape *shape,
			const struct io_event *e, unsigned i)
{
	int64_t v = e->arg[i];
	switch (shape->letter[i]) {
	case 'h':
		draft_handle(d, m, i, v);
		break;
	case 'p':
	case 't':
		draft_text(d, m, i, v);
		break;
	case 'o':
		if (i == shape->offset && (draft_if(d, m, shape, e, i, IOCAP_FOLLOW, v) ||
					   draft_if(d, m, shape, e, i, IOCAP_STRIDE, v)))
			break;
		set(d, i, IOCAP_DELTA, iocap_sub(v, iocap_model_base(m, shape, e, i)));
		d->varying |= 1u << i;
		break;
	case 'n':
	case 'i':
		set(d, i, IOCAP_FIXED, v);
		d->sizes |= 1u << i;
		break;
	default:
		set(d, i, IOCAP_FIXED, v);
	}
}

static void draft_at(struct draft *d, struct iocap_model *m, const struct iocap_shape *shape,
		     const struct io_event *e)
{
	if (e->at == -1)
		set(d, IOCAP_AT, IOCAP_FIXED, -1);
	else if (!draft_if(d, m, shape, e, IOCAP_AT, IOCAP_ASKED, e->at) &&
		 !draft_if(d, m, shape, e, IOCAP_AT, IOCAP_FOLLOW, e->at)) {
		set(d, IOCAP_AT, IOCAP_DELTA,
		    iocap_sub(e->at, iocap_model_base(m, shape, e, IOCAP_AT)));
		d->varying |= 1u << IOCAP_AT;
	}
}

static void leave_open(struct iocap_signature *s, unsigned fields)
{
	for (unsigned i = 0; i < IOCAP_FIELDS; i++)
		if (fields & 1u << i) {
			s->how[i] = IOCAP_COLUMN;
			s->value[i] = 0;
		}
}

static uint32_t less_exact(struct encoder *x, struct draft *d)
{
	struct iocap_signature *s = &d->s, open;
	leave_open(s, d->varying);
	uint64_t h = hash(s);
	uint32_t number = find(x, s, h);
	if (number != SIGNATURE_NONE)
		return number;
	open = *s;
	leave_open(&open, d->sizes);
	uint64_t h_open = hash(&open);
	uint8_t *sizes = &x->sizes[h_open % SIZES];
	if ((!d->sizes || *sizes < SIZES_EACH) && x->n < SIGNATURES_SIZES) {
		*sizes += d->sizes != 0;
		return admit(x, s, h);
	}
	*s = open;
	number = find(x, s, h_open);
	if (number == SIGNATURE_NONE && x->n < SIGNATURES_OPEN)
		number = admit(x, s, h_open);
	if (number != SIGNATURE_NONE)
		return number;
	for (unsigned i = 0; i < IOCAP_FIELDS; i++)
		if (s->how[i] != IOCAP_NONE)
			leave_open(s, 1u << i);
	h = hash(s);
	number = find(x, s, h);
	return number == SIGNATURE_NONE ? admit(x, s, h) : number;
}

static uint32_t choose(struct encoder *x, struct draft *d)
{
	uint64_t h = hash(&d->s);
	uint32_t number = find(x, &d->s, h);
	if (number != SIGNATURE_NONE)
		return number;
	uint32_t *seen = &x->seen[h % SEEN], mark = (uint32_t)(h >> 20) | 1;
	if (x->n < SIGNATURES_EXACT && (!(d->varying | d->sizes) || *seen == mark))
		return admit(x, &d->s, h);
	*seen = mark;
	return less_exact(x, d);
}

static int64_t value_of(const struct io_event *e, unsigned field)
{
	switch (field) {
	case IOCAP_RESULT:
		return e->result;
	case IOCAP_AT:
		return e->at;
	case IOCAP_COUNT:
		return e->count;
	default:
		return e->arg[field];
	}
}

static void put_columns(struct stream *s, const struct iocap_shape *shape, const struct io_event *e,
			const struct iocap_signature *g)
{
	for (unsigned k = 0; k < IOCAP_FIELDS; k++) {
		unsigned i = shape->order[k];
		if (g->how[i] != IOCAP_COLUMN)
			continue;
		int64_t v = value_of(e, i);
		int64_t base = iocap_model_base(&s->model, shape, e, i);
		iocap_column_put(&s->values[iocap_value_of(shape, i)],
				 iocap_zigzag(iocap_sub(v, base)));
	}
}

uint32_t iocap_encode(struct encoder *x, struct stream *s, const struct io_event *e)
{
	const struct iocap_shape *shape = iocap_shape(e->call);
	struct draft d;
	memset(&d, 0, sizeof d);
	d.s.call = e->call;
	d.s.depth = e->depth;
	for (unsigned k = 0; k < shape->n_args; k++)
		draft_field(&d, &s->model, shape, e, shape->order[k]);
	draft_result(&d, &s->model, shape, e);
	draft_at(&d, &s->model, shape, e);
	set(&d, IOCAP_COUNT, IOCAP_FIXED, e->count);
	if (e->count > 1)
		d.sizes |= 1u << IOCAP_COUNT;
	uint32_t number = choose(x, &d);
	if (number == SIGNATURE_NONE)
		return number;
	put_columns(s, shape, e, &x->items[number]);
	iocap_model_tell(&s->model, shape, e);
	return number;
}

uint32_t iocap_encode_switch(struct encoder *x, struct stream *s, uint32_t thread)
{
	struct iocap_signature g = { .call = IO_CALL_NONE, .how = { IOCAP_COLUMN } };
	uint64_t h = hash(&g);
	uint32_t number = find(x, &g, h);
	if (number == SIGNATURE_NONE)
		number = admit(x, &g, h);
	if (number != SIGNATURE_NONE)
		iocap_column_put(&s->values[IOCAP_V_OTHER],
				 iocap_zigzag((int64_t)thread - (int64_t)s->model.thread));
	s->model.thread = thread;
	return number;
}
