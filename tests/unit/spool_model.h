/* What a spool must do, as a program that keeps only numbers: the class and the bytes of a record
 * follow from its number, so that whoever reads one knows what must be in it. */
#ifndef TESTS_SPOOL_MODEL_H
#define TESTS_SPOOL_MODEL_H

#include "lib/spool.h"
#include "tests/unit/random_record.h"

#define MODEL_MAX_BYTES 400

static bool model_marks_only;

static inline enum spool_class model_class(uint64_t seq)
{
	if (model_marks_only)
		return SPOOL_MARK;
	struct dice d = { seq * 3 };
	return roll(&d) % 2 ? SPOOL_MARK : SPOOL_CONTEXT;
}

static inline size_t model_bytes(uint64_t seq, char bytes[MODEL_MAX_BYTES])
{
	struct dice d = { seq * 5 + 1 };
	size_t n = 1 + below(&d, MODEL_MAX_BYTES);
	for (size_t i = 0; i < n; i++)
		bytes[i] = (char)(i % 8 ? bytes[i - i % 8] + (int)i : (int)roll(&d));
	return n;
}

static inline int model_append(struct spool *s)
{
	char bytes[MODEL_MAX_BYTES];
	uint64_t seq = spool_next_seq(s);
	size_t n = model_bytes(seq, bytes);
	return spool_append(s, model_class(seq), (int64_t)seq * 10, bytes, n, NULL);
}

/* n records of that class, durable; those whose number asks for the other class go in between,
 * since the numbers tell the class. */
static inline void model_append_class(struct spool *s, enum spool_class class, size_t n)
{
	while (n) {
		n -= model_class(spool_next_seq(s)) == class;
		assert_int_equal(model_append(s), 0);
	}
	assert_int_equal(spool_sync(s, NULL), 0);
}

static inline void model_check(const struct spool_item *item)
{
	char bytes[MODEL_MAX_BYTES];
	size_t n = model_bytes(item->seq, bytes);
	assert_int_equal(item->n, n);
	assert_memory_equal(item->bytes, bytes, n);
	assert_int_equal(item->class, model_class(item->seq));
	assert_int_equal(item->real_ns, (int64_t)item->seq * 10);
}

/* Where a power cut is played: 1 for numbers that were given out and never promised, which may be
 * gone; 2 for others that are, which must have been dropped. */
static unsigned char *model_excused;
static uint64_t model_gone;

static inline void model_may_be_gone(uint64_t seq)
{
	if (model_excused && model_excused[seq])
		return;
	assert_int_equal(model_class(seq), SPOOL_CONTEXT);
	if (!model_excused)
		return;
	model_excused[seq] = 2;
	model_gone++;
}

struct model_seen {
	uint64_t from, to; /* first and last number read, gaps too; 0: nothing */
	uint64_t gone, damaged;
	uint64_t marks; /* records */
};

/* other: a text that a mark may have in place of what its number asks for, or NULL. */
static inline void model_read_foreign(struct spool *s, struct model_seen *seen, const char *other)
{
	struct spool_item item;
	*seen = (struct model_seen){ .from = 0 };
	int rc;
	while ((rc = spool_read(s, &item, NULL)) == 1) {
		assert_true(!seen->to || item.first_seq == seen->to + 1);
		if (!seen->from)
			seen->from = item.first_seq;
		seen->to = item.seq;
		for (uint64_t seq = item.first_seq; item.gap && seq <= item.seq; seq++) {
			seen->gone++;
			seen->damaged += item.damaged;
			if (!item.damaged || model_excused)
				model_may_be_gone(seq);
		}
		seen->marks += !item.gap && item.class == SPOOL_MARK;
		if (item.gap ||
		    (other && item.n == strlen(other) && !memcmp(item.bytes, other, item.n)))
			continue;
		model_check(&item);
	}
	assert_int_equal(rc, 0);
}

static inline void model_read(struct spool *s, struct model_seen *seen)
{
	model_read_foreign(s, seen, NULL);
}

struct model {
	uint64_t synced, acked; /* what the spool has promised, and was told */
	uint64_t dropped_seen, refused;
};

/* After a stop, or a kill: all that was promised is there. */
static inline void model_opened(struct model *m, struct spool *s)
{
	struct spool_stats st;
	struct model_seen seen;
	spool_stats(s, &st);
	assert_true(st.synced_seq >= m->synced);
	assert_true(st.acked_seq >= m->acked);
	assert_true(st.bytes <= st.max_bytes);
	for (uint64_t seq = m->synced + 1; model_excused && seq <= st.synced_seq; seq++)
		model_excused[seq] = 1;
	model_read(s, &seen);
	assert_true(model_excused || !(st.damaged || seen.damaged));
	assert_true(model_gone <= st.dropped.records);
	assert_true(!seen.from || seen.from == st.acked_seq + 1);
	assert_int_equal(seen.to, st.synced_seq == st.acked_seq ? 0 : st.synced_seq);
	spool_rewind(s);
	m->synced = st.synced_seq;
}

static inline void model_step(struct model *m, struct spool *s, struct dice *d)
{
	struct spool_item item;
	struct spool_stats st;
	int rc;
	switch (below(d, 8)) {
	case 0:
		if (spool_sync(s, NULL) == 0)
			m->synced = spool_next_seq(s) - 1;
		break;
	case 1:
	case 2:
		rc = spool_read(s, &item, NULL);
		assert_true(rc >= 0);
		if (rc == 1 && !item.gap)
			model_check(&item);
		for (uint64_t seq = item.first_seq; rc == 1 && item.gap && seq <= item.seq; seq++) {
			model_may_be_gone(seq);
			m->dropped_seen++;
		}
		break;
	case 3:
		spool_stats(s, &st);
		if (st.read_seq > st.acked_seq && !below(d, 3)) {
			uint64_t seq = st.acked_seq + 1 + below(d, st.read_seq - st.acked_seq);
			assert_int_equal(spool_ack(s, seq, NULL), 0);
			m->acked = seq;
		}
		if (!below(d, 50))
			spool_rewind(s);
		break;
	default:
		rc = model_append(s);
		assert_true(rc == 0 || rc == -ENOSPC || rc == -EIO);
		m->refused += rc != 0;
		spool_stats(s, &st);
		assert_true(st.bytes <= st.max_bytes);
		break;
	}
}

#endif
