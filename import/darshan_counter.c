/* Records of POSIX, MPI-IO and STDIO, of any release. */
#include "import/darshan_counter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define COUNTER(name, rule) { #name, rule },
static const struct darshan_counter posix_whole[] = { DARSHAN_POSIX_COUNTERS(COUNTER) };
static const struct darshan_counter posix_times[] = { DARSHAN_TIMES(COUNTER, POSIX) };
static const struct darshan_counter mpiio_whole[] = { DARSHAN_MPIIO_COUNTERS(COUNTER) };
static const struct darshan_counter mpiio_times[] = { DARSHAN_TIMES(COUNTER, MPIIO) };
static const struct darshan_counter stdio_whole[] = { DARSHAN_STDIO_COUNTERS(COUNTER) };
static const struct darshan_counter stdio_times[] = { DARSHAN_STDIO_TIMES(COUNTER) };

_Static_assert(POSIX_COUNTERS == 69 && POSIX_TIMES == 17, "as POSIX 4 has them");
_Static_assert(MPIIO_COUNTERS == 51 && MPIIO_TIMES == 17, "as MPI-IO 3 has them");
_Static_assert(STDIO_COUNTERS == 14 && STDIO_TIMES == 15, "as STDIO 2 has them");

const struct darshan_counters *darshan_counters_of(enum darshan_module m)
{
	static const struct darshan_counters posix = { posix_whole, posix_times, POSIX_COUNTERS,
						       POSIX_TIMES };
	static const struct darshan_counters mpiio = { mpiio_whole, mpiio_times, MPIIO_COUNTERS,
						       MPIIO_TIMES };
	static const struct darshan_counters stdio = { stdio_whole, stdio_times, STDIO_COUNTERS,
						       STDIO_TIMES };
	switch (m) {
	case DARSHAN_POSIX:
		return &posix;
	case DARSHAN_MPIIO:
		return &mpiio;
	case DARSHAN_STDIO:
		return &stdio;
	default:
		return NULL;
	}
}

/* ---- how older releases differ ------------------------------------------------------------------
 */

/* Places of the newest record that an older one has not got, in order; ends with -1. */
struct older {
	enum darshan_module module;
	uint32_t version;
	signed char lacks[6], lacks_times[3];
	unsigned char extra_at, extra; /* that only this one has: left out */
};

#define NO_FIRST_CLOSE { POSIX_F_CLOSE_START_TIMESTAMP, POSIX_F_OPEN_END_TIMESTAMP, -1 }
#define LACKS_OF_POSIX                                                                             \
	{ POSIX_FILENOS, POSIX_DUPS, POSIX_RENAME_SOURCES, POSIX_RENAME_TARGETS,                   \
	  POSIX_RENAMED_FROM, -1 }
static const struct older olders[] = {
	/* Calls of stdio at 6 to 9, from before there was a module for them. */
	{ DARSHAN_POSIX, 1, LACKS_OF_POSIX, NO_FIRST_CLOSE, 6, 4 },
	{ DARSHAN_POSIX, 2, LACKS_OF_POSIX, NO_FIRST_CLOSE, 0, 0 },
	{ DARSHAN_POSIX, 3, LACKS_OF_POSIX, { -1 }, 0, 0 },
	{ DARSHAN_POSIX, 4, { -1 }, { -1 }, 0, 0 },
	{ DARSHAN_MPIIO, 1, { -1 }, NO_FIRST_CLOSE, 0, 0 },
	{ DARSHAN_MPIIO, 2, { -1 }, NO_FIRST_CLOSE, 0, 0 },
	{ DARSHAN_MPIIO, 3, { -1 }, { -1 }, 0, 0 },
	{ DARSHAN_STDIO, 1, { STDIO_FDOPENS, -1 }, { -1 }, 0, 0 },
	{ DARSHAN_STDIO, 2, { -1 }, { -1 }, 0, 0 },
};

struct darshan_records {
	struct darshan_log *log;
	struct darshan_stream *stream;
	const struct darshan_counters *counters;
	const struct older *older;
	size_t bytes; /* of a record */
};

static size_t lacking(const signed char *list)
{
	size_t n = 0;
	while (list[n] >= 0)
		n++;
	return n;
}

int darshan_records_open(struct darshan_records **ret, struct darshan_log *log,
			 enum darshan_module m, struct err *err)
{
	const struct darshan_region *region = &log->modules[m];
	const char *name = darshan_module_name(m);
	const struct older *o = NULL;
	for (size_t i = 0; i < sizeof olders / sizeof *olders; i++)
		if (olders[i].module == m && olders[i].version == region->version)
			o = &olders[i];
	if (!o)
		return err_set(err, -EINVAL,
			       "%s: module %s has version %u, which is not known here: its counters "
			       "can't be told",
			       log->path, name, region->version);
	struct darshan_records *r = calloc(1, sizeof *r);
	if (!r)
		return err_set(err, -ENOMEM, "out of memory");
	const struct darshan_counters *c = darshan_counters_of(m);
	*r = (struct darshan_records){ .log = log, .counters = c, .older = o };
	r->bytes = 8 * (2 + c->n_whole - lacking(o->lacks) + o->extra + c->n_times -
			lacking(o->lacks_times));
	int rc = darshan_stream_open(&r->stream, log, region, name, err);
	if (rc) {
		free(r);
		return rc;
	}
	*ret = r;
	return 0;
}

void darshan_records_close(struct darshan_records *r)
{
	if (!r)
		return;
	darshan_stream_close(r->stream);
	free(r);
}

static bool lacks(const signed char *list, size_t i)
{
	for (size_t k = 0; list[k] >= 0; k++)
		if ((size_t)list[k] == i)
			return true;
	return false;
}

/* false: one that is to be left out. */
static bool decode(const struct darshan_records *r, const unsigned char *b,
		   struct darshan_record *ret)
{
	const struct older *o = r->older;
	ret->id = darshan_u64(r->log, b);
	ret->rank = (int64_t)darshan_u64(r->log, b + 8);
	b += 16;
	/* Of streams, whose descriptors that release could not tell from files. */
	if (o->extra && (int64_t)darshan_u64(r->log, b + 8 * (size_t)o->extra_at) > 0)
		return false;
	size_t from = 0;
	for (size_t i = 0; i < r->counters->n_whole; i++) {
		if (lacks(o->lacks, i)) {
			/* A number of a file's name, not a count: 0 is none. */
			bool name = r->older->module == DARSHAN_POSIX && i == POSIX_RENAMED_FROM;
			ret->whole[i] = name ? 0 : -1;
			continue;
		}
		if (o->extra && from == o->extra_at)
			from += o->extra;
		ret->whole[i] = (int64_t)darshan_u64(r->log, b + 8 * from++);
	}
	for (size_t i = 0; i < r->counters->n_times; i++)
		ret->times[i] = lacks(o->lacks_times, i) ? -1 : darshan_f64(r->log, b + 8 * from++);
	return true;
}

int darshan_records_next(struct darshan_records *r, struct darshan_record *ret, struct err *err)
{
	unsigned char b[16 + 8 * (DARSHAN_COUNTERS_MAX + DARSHAN_TIMES_MAX) + 32];
	for (;;) {
		int rc = darshan_stream_take(r->stream, b, r->bytes, err);
		if (rc <= 0)
			return rc;
		if (decode(r, b, ret)) {
			if (ret->rank < -1 || ret->rank >= r->log->job.ranks)
				return darshan_stream_fault(
					r->stream, err,
					"a record of process %lld of %lld; the log is damaged",
					(long long)ret->rank, (long long)r->log->job.ranks);
			return 1;
		}
	}
}
