#include "schema/iocap_model.h"

#include <pthread.h>
#include <string.h>

#include "lib/pages.h"

static struct iocap_shape shapes[IO_CALL_LIMIT];
static pthread_once_t shapes_once = PTHREAD_ONCE_INIT;

static void shape_make(struct iocap_shape *s, const struct io_call_info *info)
{
	static const uint8_t tracks[IO_KINDS] = {
		[IO_OPEN] = 2, [IO_CLOSE] = 2, [IO_READ] = 0, [IO_WRITE] = 1, [IO_COPY] = 0,
		[IO_SEEK] = 2, [IO_SYNC] = 2,  [IO_META] = 2, [IO_MAP] = 2,   [IO_WAIT] = 2
	};
	*s = (struct iocap_shape){ .handle = 0xff, .offset = 0xff, .whence = 0xff, .asked = 0xff };
	const char *p = info->name ? info->signature : "iiiiii:i"; /* unknown ones are kept, too */
	for (; *p && *p != ':' && s->n_args < IO_ARGS; p++) {
		uint8_t i = s->n_args++;
		s->letter[i] = *p;
		uint8_t *first = *p == 'h'   ? &s->handle
				 : *p == 'o' ? &s->offset
				 : *p == 'w' ? &s->whence
				 : *p == 'n' ? &s->asked
					     : NULL;
		if (first && *first == 0xff)
			*first = i;
	}
	s->letter[IOCAP_RESULT] = *p == ':' ? p[1] : 'v';
	s->letter[IOCAP_AT] = 'a';
	s->letter[IOCAP_COUNT] = 'c';
	unsigned n = 0;
	for (int offsets = 0; offsets < 2; offsets++)
		for (uint8_t i = 0; i < s->n_args; i++)
			if ((s->letter[i] == 'o') == offsets)
				s->order[n++] = i;
	for (uint8_t i = s->n_args; i < IOCAP_FIELDS; i++)
		s->order[n++] = i;
	if (!info->name)
		return;
	s->track = tracks[info->kind];
	s->moves = info->kind == IO_READ || info->kind == IO_WRITE;
	s->makes = s->letter[IOCAP_RESULT] == 'h';
	s->ends = info->kind == IO_CLOSE;
	s->known = true;
}

static void shapes_make(void)
{
	for (unsigned i = 0; i < IO_CALL_LIMIT; i++)
		shape_make(&shapes[i], io_call_info(i));
}

const struct iocap_shape *iocap_shape(unsigned call)
{
	(void)pthread_once(&shapes_once, shapes_make);
	return &shapes[call < IO_CALL_LIMIT ? call : 0];
}

enum iocap_value iocap_value_of(const struct iocap_shape *s, unsigned field)
{
	if (field == IOCAP_AT)
		return IOCAP_V_AT;
	switch (s->letter[field]) {
	case 'h':
		return IOCAP_V_HANDLE;
	case 'p':
	case 't':
		return IOCAP_V_TEXT;
	case 'o':
		return field == IOCAP_RESULT ? IOCAP_V_RESULT : IOCAP_V_OFFSET;
	case 'n':
		return field == IOCAP_RESULT ? IOCAP_V_RESULT : IOCAP_V_BYTES;
	default:
		return field == IOCAP_RESULT ? IOCAP_V_RESULT : IOCAP_V_OTHER;
	}
}

/* ---- slots ---- */

void iocap_model_init(struct iocap_model *m, unsigned stream)
{
	*m = (struct iocap_model){ .max = stream ? 1024 : 16384 };
}

void iocap_model_done(struct iocap_model *m)
{
	(void)pages_resize(m->slots, m->cap * sizeof *m->slots, 0);
	(void)pages_resize(m->map, m->map_cap * sizeof *m->map, 0);
	*m = (struct iocap_model){ 0 };
}

static uint32_t home(const struct iocap_model *m, uint32_t handle)
{
	return (uint32_t)((handle * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (m->map_cap - 1);
}

/* Its place in the map, or the free one where it would be. */
static uint32_t place(const struct iocap_model *m, uint32_t handle)
{
	uint32_t i = home(m, handle);
	while (m->map[i] && m->slots[m->map[i] - 1].handle != handle)
		i = (i + 1) & (m->map_cap - 1);
	return i;
}

int64_t iocap_model_slot(struct iocap_model *m, uint32_t handle)
{
	if (!handle || !m->map)
		return -1;
	if (handle == m->last_handle)
		return m->last_handle_slot;
	uint32_t i = place(m, handle);
	if (!m->map[i])
		return -1;
	m->last_handle = handle;
	m->last_handle_slot = m->map[i] - 1;
	return m->last_handle_slot;
}

static void release(struct iocap_model *m, uint32_t handle)
{
	int64_t slot = iocap_model_slot(m, handle);
	if (slot < 0)
		return;
	uint32_t mask = m->map_cap - 1, hole = place(m, handle);
	for (uint32_t i = (hole + 1) & mask; m->map[i]; i = (i + 1) & mask) {
		uint32_t h = home(m, m->slots[m->map[i] - 1].handle);
		if (((i - h) & mask) >= ((i - hole) & mask)) {
			m->map[hole] = m->map[i];
			hole = i;
		}
	}
	m->map[hole] = 0;
	m->map_used--;
	m->slots[slot].handle = 0;
	m->last_handle = 0;
	if (slot < m->first_free)
		m->first_free = (uint32_t)slot;
}

static bool grow(struct iocap_model *m)
{
	uint32_t cap = m->cap ? m->cap * 2 : 32;
	struct iocap_slot *slots =
		pages_resize(m->slots, m->cap * sizeof *slots, cap * sizeof *slots);
	if (!slots)
		return false;
	m->slots = slots;
	m->cap = cap;
	(void)pages_resize(m->map, m->map_cap * sizeof *m->map, 0);
	m->map_cap = 0;
	m->map = pages_resize(NULL, 0, cap * 2 * sizeof *m->map);
	if (!m->map)
		return false;
	m->map_cap = cap * 2;
	for (uint32_t s = 0; s < m->n_slots; s++)
		if (slots[s].handle)
			m->map[place(m, slots[s].handle)] = s + 1;
	return true;
}

static void forget_all(struct iocap_model *m)
{
	memset(m->map, 0, m->map_cap * sizeof *m->map);
	m->n_slots = m->first_free = m->map_used = m->last_handle = 0;
}

/* The lowest free slot, so that what is opened anew each time is in the same place each time. */
static int64_t bind(struct iocap_model *m, uint32_t handle)
{
	if (!handle || m->failed)
		return -1;
	uint32_t s = m->first_free;
	while (s < m->n_slots && m->slots[s].handle)
		s++;
	if (s == m->max) {
		forget_all(m);
		s = 0;
	}
	if (s == m->cap && !grow(m)) {
		m->failed = true;
		return -1;
	}
	if (s >= m->n_slots)
		m->n_slots = s + 1;
	m->first_free = s + 1;
	m->slots[s] = (struct iocap_slot){ .handle = 0 };
	uint32_t i = place(m, handle);
	m->slots[s].handle = handle;
	m->map[i] = s + 1;
	m->map_used++;
	m->last_handle = handle;
	m->last_handle_slot = s;
	return s;
}

/* ---- what a call tells ---- */

static void tell_access(struct iocap_slot *slot, const struct iocap_shape *s,
			const struct io_event *e)
{
	bool set = s->whence == 0xff || e->arg[s->whence] == 0;
	if (s->offset != 0xff && set) {
		struct iocap_track *t = &slot->track[s->track];
		int64_t offset = e->arg[s->offset], delta = iocap_sub(offset, t->offset);
		if (delta == t->delta)
			t->stride = delta;
		t->delta = delta;
		t->offset = offset;
		t->end = iocap_add(offset, s->moves && e->result > 0       ? e->result
					   : !s->moves && s->asked != 0xff ? e->arg[s->asked]
									   : 0);
	}
	if (s->moves && s->offset == 0xff && e->result >= 0 && e->at >= 0)
		slot->position = iocap_add(
			e->at, (int64_t)((uint64_t)e->result * (e->count ? e->count : 1)));
	if (s->whence != 0xff && s->letter[IOCAP_RESULT] == 'o' && e->result >= 0)
		slot->position = e->result;
}

void iocap_model_tell(struct iocap_model *m, const struct iocap_shape *s, const struct io_event *e)
{
	for (unsigned i = 0; i < s->n_args; i++) {
		uint32_t v = (uint32_t)e->arg[i];
		if (s->letter[i] == 'h') {
			int64_t slot = iocap_model_slot(m, v);
			if (slot < 0)
				slot = bind(m, v);
			if (v > m->newest_handle)
				m->newest_handle = v;
			if (slot >= 0 && i == s->handle)
				m->last_slot = (uint32_t)slot;
		} else if ((s->letter[i] == 'p' || s->letter[i] == 't') && v > m->newest_text) {
			m->newest_text = v;
		}
	}
	int64_t slot = s->handle == 0xff ? -1 : iocap_model_slot(m, (uint32_t)e->arg[s->handle]);
	if (slot >= 0)
		tell_access(&m->slots[slot], s, e);
	if (s->ends && s->handle != 0xff)
		release(m, (uint32_t)e->arg[s->handle]);
	if (s->makes && e->result > 0) {
		uint32_t made = (uint32_t)e->result;
		release(m, made); /* a number that is given again is another */
		(void)bind(m, made);
		if (made > m->newest_handle)
			m->newest_handle = made;
	}
}

static const struct iocap_slot *slot_of(struct iocap_model *m, const struct iocap_shape *s,
					const struct io_event *e)
{
	int64_t slot = s->handle == 0xff ? -1 : iocap_model_slot(m, (uint32_t)e->arg[s->handle]);
	return slot < 0 ? NULL : &m->slots[slot];
}

int64_t iocap_model_base(struct iocap_model *m, const struct iocap_shape *s,
			 const struct io_event *e, unsigned field)
{
	const struct iocap_slot *slot;
	switch (iocap_value_of(s, field)) {
	case IOCAP_V_HANDLE:
		return (int64_t)m->newest_handle + 1;
	case IOCAP_V_TEXT:
		return (int64_t)m->newest_text + 1;
	case IOCAP_V_OFFSET:
		if (s->whence != 0xff && e->arg[s->whence] != 0)
			return 0;
		slot = slot_of(m, s, e);
		return slot && field == s->offset ? slot->track[s->track].offset : 0;
	case IOCAP_V_AT:
		slot = slot_of(m, s, e);
		return slot ? slot->position : 0;
	case IOCAP_V_RESULT:
		return s->letter[IOCAP_RESULT] == 'n' && s->asked != 0xff ? e->arg[s->asked] : 0;
	default:
		return 0;
	}
}

static bool expect_offset(struct iocap_model *m, const struct iocap_shape *s,
			  const struct io_event *e, enum iocap_how how, int64_t *ret)
{
	const struct iocap_slot *slot = slot_of(m, s, e);
	if (!slot || (s->whence != 0xff && e->arg[s->whence] != 0))
		return false;
	const struct iocap_track *t = &slot->track[s->track];
	*ret = how == IOCAP_FOLLOW ? t->end : iocap_add(t->offset, t->stride);
	return true;
}

static bool expect_asked(struct iocap_model *m, const struct iocap_shape *s,
			 const struct io_event *e, unsigned field, int64_t *ret)
{
	const struct iocap_slot *slot = slot_of(m, s, e);
	if (field == IOCAP_AT) {
		*ret = s->offset == 0xff ? -1 : e->arg[s->offset];
		return s->offset != 0xff;
	}
	if (s->letter[IOCAP_RESULT] == 'n' && s->asked != 0xff) {
		*ret = e->arg[s->asked];
		return true;
	}
	if (s->letter[IOCAP_RESULT] != 'o' || s->offset == 0xff)
		return false;
	int64_t whence = s->whence == 0xff ? 0 : e->arg[s->whence];
	*ret = whence == 1 && slot ? iocap_add(slot->position, e->arg[s->offset])
				   : e->arg[s->offset];
	return whence == 0 || (whence == 1 && slot);
}

bool iocap_model_expect(struct iocap_model *m, const struct iocap_shape *s,
			const struct io_event *e, unsigned field, enum iocap_how how, int64_t value,
			int64_t *ret)
{
	const struct iocap_slot *slot;
	switch (how) {
	case IOCAP_NONE:
		*ret = field == IOCAP_AT ? -1 : 0;
		return true;
	case IOCAP_FIXED:
		*ret = value;
		return true;
	case IOCAP_STEP:
		value = iocap_add(value, m->last_slot); /* fallthrough */
	case IOCAP_SLOT:
		if (value < 0 || value >= m->n_slots || !m->slots[value].handle)
			return false;
		*ret = m->slots[value].handle;
		return true;
	case IOCAP_NEXT:
		*ret = iocap_model_base(m, s, e, field);
		return true;
	case IOCAP_FOLLOW:
		if (field != IOCAP_AT)
			return expect_offset(m, s, e, how, ret);
		slot = slot_of(m, s, e);
		*ret = slot ? slot->position : 0;
		return slot != NULL;
	case IOCAP_STRIDE:
		return expect_offset(m, s, e, how, ret);
	case IOCAP_DELTA:
		*ret = iocap_add(iocap_model_base(m, s, e, field), value);
		return true;
	case IOCAP_ASKED:
		return expect_asked(m, s, e, field, ret);
	case IOCAP_COLUMN:
		return false;
	}
	return false;
}
