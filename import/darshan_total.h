/* Several records of one module become one. */
#ifndef IMPORT_DARSHAN_TOTAL_H
#define IMPORT_DARSHAN_TOTAL_H

#include "import/darshan_counter.h"

/* All-zero: of no record. */
struct darshan_total {
	uint64_t records, file; /* file: of the first of them */
	bool files;             /* there are several */
	int64_t whole[DARSHAN_COUNTERS_MAX];
	double times[DARSHAN_TIMES_MAX];
	bool overflow; /* a sum is beyond 64 bits: the log is damaged, or lies */
};

void darshan_total_add(struct darshan_total *t, enum darshan_module m,
		       const struct darshan_record *rec);

/* Different numbers. All-zero: empty. */
struct darshan_ids {
	uint64_t *slots;
	size_t n, cap;
	bool zero;
};
/* 1: it is new; 0: it was there; -ENOMEM, also beyond 16 million. */
int darshan_ids_add(struct darshan_ids *ids, uint64_t id);
bool darshan_ids_has(const struct darshan_ids *ids, uint64_t id);
static inline size_t darshan_ids_count(const struct darshan_ids *ids)
{
	return ids->n + ids->zero;
}
void darshan_ids_done(struct darshan_ids *ids);

#endif
