/* Sums of counters, by the rule of each. */
#include "import/darshan_total.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define IDS_MAX ((size_t)1 << 24)
#define COMMON_VALUES 4

/* ---- numbers of names ---------------------------------------------------------------------------
 */

static size_t slot_of(const struct darshan_ids *ids, uint64_t id)
{
	size_t i = (size_t)((id ^ id >> 29) * 0x9e3779b97f4a7c15u >> 20);
	for (;; i++) {
		i &= ids->cap - 1;
		if (!ids->slots[i] || ids->slots[i] == id)
			return i;
	}
}

static int ids_grow(struct darshan_ids *ids)
{
	struct darshan_ids more = { .cap = ids->cap ? 2 * ids->cap : 256, .zero = ids->zero };
	if (ids->n >= IDS_MAX)
		return -ENOMEM;
	more.slots = calloc(more.cap, sizeof *more.slots);
	if (!more.slots)
		return -ENOMEM;
	for (size_t i = 0; i < ids->cap; i++)
		if (ids->slots[i])
			more.slots[slot_of(&more, ids->slots[i])] = ids->slots[i];
	more.n = ids->n;
	free(ids->slots);
	*ids = more;
	return 0;
}

int darshan_ids_add(struct darshan_ids *ids, uint64_t id)
{
	if (!id) {
		int fresh = !ids->zero;
		ids->zero = true;
		return fresh;
	}
	if (2 * ids->n >= ids->cap && ids_grow(ids))
		return -ENOMEM;
	size_t i = slot_of(ids, id);
	if (ids->slots[i])
		return 0;
	ids->slots[i] = id;
	ids->n++;
	return 1;
}

bool darshan_ids_has(const struct darshan_ids *ids, uint64_t id)
{
	if (!id)
		return ids->zero;
	return ids->cap && ids->slots[slot_of(ids, id)];
}

void darshan_ids_done(struct darshan_ids *ids)
{
	free(ids->slots);
	*ids = (struct darshan_ids){ 0 };
}

/* ---- counters -----------------------------------------------------------------------------------
 */

/* Where a value is among the four; COMMON_VALUES: it is not. */
static size_t place_of(const int64_t *common, int64_t value)
{
	size_t k = 0;
	while (k < COMMON_VALUES && common[k] != value)
		k++;
	return k;
}

/* Before the first that is less frequent, or as frequent and smaller. */
static void insert_common(int64_t *to, int64_t value, int64_t count)
{
	int64_t *counts = to + COMMON_VALUES;
	size_t k = 0;
	while (k < COMMON_VALUES && (counts[k] > count || (counts[k] == count && to[k] > value)))
		k++;
	if (k == COMMON_VALUES)
		return;
	memmove(to + k + 1, to + k, (COMMON_VALUES - 1 - k) * sizeof *to);
	memmove(counts + k + 1, counts + k, (COMMON_VALUES - 1 - k) * sizeof *counts);
	to[k] = value;
	counts[k] = count;
}

/* Values with their counts behind them. First what is there already, which keeps its place while its
 * count grows; then what is new. So Darshan itself does it, and what is told as its totals has to have
 * the same four. */
static void add_common(int64_t *to, const int64_t *from)
{
	bool there[COMMON_VALUES];
	for (size_t i = 0; i < COMMON_VALUES; i++) {
		size_t k = place_of(to, from[i]);
		there[i] = k < COMMON_VALUES && from[i];
		if (there[i] && __builtin_add_overflow(to[COMMON_VALUES + k], from[COMMON_VALUES + i],
						       &to[COMMON_VALUES + k]))
			to[COMMON_VALUES + k] = INT64_MAX;
	}
	for (size_t i = 0; i < COMMON_VALUES; i++)
		if (!there[i] && from[i])
			insert_common(to, from[i], from[COMMON_VALUES + i]);
}

/* Unknown in one is unknown in all; of STDIO Darshan itself adds on. */
static void add_sum(struct darshan_total *t, enum darshan_module m, size_t i, int64_t value)
{
	int64_t *to = &t->whole[i];
	if (m != DARSHAN_STDIO && (*to < 0 || value < 0)) {
		*to = -1;
	} else if (__builtin_add_overflow(*to, value, to)) {
		t->overflow = true;
		*to = -1;
	}
}

/* The time that the size at i goes with. */
static size_t time_of_size(enum darshan_module m, size_t i)
{
	if (m == DARSHAN_POSIX)
		return i == POSIX_MAX_READ_TIME_SIZE ? POSIX_F_MAX_READ_TIME : POSIX_F_MAX_WRITE_TIME;
	return i == MPIIO_MAX_READ_TIME_SIZE ? MPIIO_F_MAX_READ_TIME : MPIIO_F_MAX_WRITE_TIME;
}

static void add_whole(struct darshan_total *t, enum darshan_module m,
		      const struct darshan_counters *c, const struct darshan_record *rec)
{
	for (size_t i = 0; i < c->n_whole; i++) {
		switch (c->whole[i].rule) {
		case SUM:
			add_sum(t, m, i, rec->whole[i]);
			break;
		case MAX:
			if (rec->whole[i] > t->whole[i])
				t->whole[i] = rec->whole[i];
			break;
		case LAST:
			t->whole[i] = rec->whole[i];
			break;
		case SIZE:
			if (rec->times[time_of_size(m, i)] > t->times[time_of_size(m, i)])
				t->whole[i] = rec->whole[i];
			break;
		case COMMON:
			add_common(t->whole + i, rec->whole + i);
			i += 2 * COMMON_VALUES - 1;
			break;
		default: /* add_ranks */
			break;
		}
	}
}

static void add_times(struct darshan_total *t, const struct darshan_counters *c,
		      const struct darshan_record *rec)
{
	for (size_t i = 0; i < c->n_times; i++) {
		double *to = &t->times[i], from = rec->times[i];
		switch (c->times[i].rule) {
		case SUM:
			*to += from;
			break;
		case MAX:
			if (from > *to)
				*to = from;
			break;
		case FIRST:
			if (from > 0 && (*to == 0 || from < *to))
				*to = from;
			break;
		default: /* add_ranks; a variance of several is not worth having */
			break;
		}
	}
}

/* Where the counters of the fastest and the slowest process are, and of what they are made. */
struct of_ranks {
	size_t fastest, slowest;           /* whole: rank, behind it bytes */
	size_t fastest_time, slowest_time; /* times */
	size_t read_time, write_time, meta_time, read_bytes, write_bytes;
};

static const struct of_ranks *ranks_of(enum darshan_module m)
{
	static const struct of_ranks posix = {
		POSIX_FASTEST_RANK, POSIX_SLOWEST_RANK, POSIX_F_FASTEST_RANK_TIME,
		POSIX_F_SLOWEST_RANK_TIME, POSIX_F_READ_TIME, POSIX_F_WRITE_TIME, POSIX_F_META_TIME,
		POSIX_BYTES_READ, POSIX_BYTES_WRITTEN
	};
	static const struct of_ranks mpiio = {
		MPIIO_FASTEST_RANK, MPIIO_SLOWEST_RANK, MPIIO_F_FASTEST_RANK_TIME,
		MPIIO_F_SLOWEST_RANK_TIME, MPIIO_F_READ_TIME, MPIIO_F_WRITE_TIME, MPIIO_F_META_TIME,
		MPIIO_BYTES_READ, MPIIO_BYTES_WRITTEN
	};
	static const struct of_ranks stdio = {
		STDIO_FASTEST_RANK, STDIO_SLOWEST_RANK, STDIO_F_FASTEST_RANK_TIME,
		STDIO_F_SLOWEST_RANK_TIME, STDIO_F_READ_TIME, STDIO_F_WRITE_TIME, STDIO_F_META_TIME,
		STDIO_BYTES_READ, STDIO_BYTES_WRITTEN
	};
	return m == DARSHAN_POSIX ? &posix : m == DARSHAN_MPIIO ? &mpiio : &stdio;
}

static void set_rank(struct darshan_total *t, size_t at, size_t time_at, int64_t rank, int64_t bytes,
		     double time)
{
	t->whole[at] = rank;
	t->whole[at + 1] = bytes;
	t->times[time_at] = time;
}

/* Of one file only; of a file that all processes share the log has it. */
static void add_ranks(struct darshan_total *t, enum darshan_module m, const struct darshan_record *rec)
{
	const struct of_ranks *of = ranks_of(m);
	if (t->records && t->file != rec->id)
		t->files = true;
	if (t->files) {
		set_rank(t, of->fastest, of->fastest_time, -1, -1, 0);
		set_rank(t, of->slowest, of->slowest_time, -1, -1, 0);
	} else if (rec->rank < 0) {
		set_rank(t, of->fastest, of->fastest_time, rec->whole[of->fastest],
			 rec->whole[of->fastest + 1], rec->times[of->fastest_time]);
		set_rank(t, of->slowest, of->slowest_time, rec->whole[of->slowest],
			 rec->whole[of->slowest + 1], rec->times[of->slowest_time]);
	} else {
		double time = rec->times[of->read_time] + rec->times[of->write_time] +
			      rec->times[of->meta_time];
		int64_t bytes;
		if (__builtin_add_overflow(rec->whole[of->read_bytes], rec->whole[of->write_bytes], &bytes))
			bytes = -1;
		if (!t->records || time < t->times[of->fastest_time])
			set_rank(t, of->fastest, of->fastest_time, rec->rank, bytes, time);
		if (!t->records || time > t->times[of->slowest_time])
			set_rank(t, of->slowest, of->slowest_time, rec->rank, bytes, time);
	}
}

void darshan_total_add(struct darshan_total *t, enum darshan_module m,
		       const struct darshan_record *rec)
{
	const struct darshan_counters *c = darshan_counters_of(m);
	add_whole(t, m, c, rec); /* looks at times of before */
	add_times(t, c, rec);
	add_ranks(t, m, rec);
	if (!t->records)
		t->file = rec->id;
	t->records++;
}
