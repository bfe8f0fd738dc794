/* Frames with anything in them, the same for the same seed, and batches of them. */
#ifndef TESTS_BATCH_FRAMES_H
#define TESTS_BATCH_FRAMES_H

#include "schema/batch.h"
#include "schema/roilog.h"
#include "tests/unit/random_record.h"

/* ---- any frame, and are two the same? -------------------------------------------------------- */

static struct arena texts; /* what the frames of a test point to */

static inline uint64_t any_u64(struct dice *d)
{
	return roll(d) >> below(d, 64);
}

static inline int64_t any_i64(struct dice *d)
{
	return below(d, 4) ? (int64_t)(roll(d) >> below(d, 64)) - 1000 : ROI_UNKNOWN;
}

static inline double any_num(struct dice *d)
{
	return any_number(d, true);
}

static inline signed char any_ter(struct dice *d)
{
	return (signed char)((int)below(d, 3) - 1);
}

static inline struct str any_bin(struct dice *d)
{
	struct str s = { .n = below(d, 4) ? below(d, 60) : 5000 };
	if (!below(d, 4))
		return (struct str){ .p = NULL };
	char *p = arena_alloc(&texts, s.n + 1);
	assert_non_null(p);
	for (size_t i = 0; i < s.n; i++)
		p[i] = (char)roll(d);
	s.p = p;
	return s;
}

static inline struct str any_txt(struct dice *d)
{
	static const char *const some[] = { NULL, "", "clean.0", "20260929T045201Z-0123abcd",
					    "Zoë" };
	return str_of(some[below(d, 5)]);
}

static inline struct str any_list(struct dice *d, bool pairs)
{
	struct buf b = { 0 };
	for (size_t i = below(d, 9); i; i--) {
		if (pairs)
			batch_pair_put(&b, any_txt(d), any_num(d));
		else
			batch_text_put(&b, any_txt(d));
	}
	char *copy = b.data ? arena_alloc(&texts, b.len + 1) : NULL;
	if (copy)
		memcpy(copy, b.data, b.len);
	struct str list = { .p = copy, .n = b.len };
	buf_done(&b);
	return list;
}

static inline struct str any_txts(struct dice *d)
{
	return any_list(d, false);
}

static inline struct str any_pairs(struct dice *d)
{
	return any_list(d, true);
}

static inline bool same_u64(uint64_t a, uint64_t b)
{
	return a == b;
}

static inline bool same_i64(int64_t a, int64_t b)
{
	return a == b;
}

static inline bool same_num(double a, double b)
{
	return a == b || (!known(a) && !known(b));
}

static inline bool same_ter(signed char a, signed char b)
{
	return a == b;
}

static inline bool same_bin(struct str a, struct str b)
{
	return !a.p == !b.p && a.n == b.n && (!a.n || !memcmp(a.p, b.p, a.n));
}
#define same_txt same_bin
#define same_txts same_bin
#define same_pairs same_bin

#define ANY(type, name, unit, meaning) f->name = any_##type(d);
#define SAME(type, name, unit, meaning)                                                            \
	if (!same_##type(a->name, b->name))                                                        \
		fail_msg("%s differs", #name);
#define HELPERS(number, kind, KIND)                                                                \
	static inline void any_##kind(struct dice *d, struct frame_##kind *f)                      \
	{                                                                                          \
		FRAME_##KIND##_FIELDS(ANY)                                                         \
	}                                                                                          \
	static inline void same_##kind(const struct frame_##kind *a, const struct frame_##kind *b) \
	{                                                                                          \
		FRAME_##KIND##_FIELDS(SAME)                                                        \
	}
BATCH_FRAMES(HELPERS)

static inline void same_sender(const struct batch_sender *a, const struct batch_sender *b)
{
	BATCH_SENDER_FIELDS(SAME)
}

static inline struct frame any_of(struct dice *d, enum frame_type type)
{
	struct frame f;
	frame_clear(&f, type);
	switch (f.type) {
#define ANY_CASE(number, kind, KIND)                                                               \
	case FRAME_##KIND:                                                                         \
		any_##kind(d, &f.as.kind);                                                         \
		break;
		BATCH_FRAMES(ANY_CASE)
	case FRAME_TYPES:
		break;
	}
	return f;
}

static inline struct frame any_frame(struct dice *d)
{
	return any_of(d, (enum frame_type)(1 + below(d, FRAME_TYPES - 1)));
}

static inline void assert_same_frame(const struct frame *a, const struct frame *b)
{
	assert_int_equal(a->type, b->type);
	switch (a->type) {
#define SAME_CASE(number, kind, KIND)                                                              \
	case FRAME_##KIND:                                                                         \
		same_##kind(&a->as.kind, &b->as.kind);                                             \
		return;
		BATCH_FRAMES(SAME_CASE)
	case FRAME_TYPES:
		return;
	}
}

static inline struct batch_sender a_sender(uint64_t seq)
{
	struct batch_sender s;
	batch_sender_clear(&s);
	s.agent = str_of("agent-1");
	s.spool = str_of("1a2b3c4d5e6f7081");
	s.boot = str_of("0f3c9a52-9a3f-4a0e-8a6b-5d2f5b1c7e10");
	s.seq = seq;
	s.from_real_ns = 1764459419123456789;
	s.to_real_ns = 1764459420123456789;
	s.host = str_of("n1");
	return s;
}

static inline void put(struct batch_out *o, struct frame f)
{
	assert_int_equal(batch_put(o, &f), 0);
}

static inline void end(struct batch_out *o, uint64_t seq, struct buf *ret)
{
	struct batch_sender s = a_sender(seq);
	assert_int_equal(batch_end(o, &s, ret, NULL), 0);
}

static inline struct buf an_example(void)
{
	struct batch_out out = { .frames = 0 };
	struct buf b = { 0 };
	struct dice d = { 7 };
	for (int type = 1; type < FRAME_TYPES; type++)
		put(&out, any_of(&d, (enum frame_type)type));
	end(&out, 9, &b);
	batch_out_done(&out);
	arena_free(&texts);
	return b;
}

#endif
