/* Records of DXT, HEATMAP and LUSTRE. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "import/darshan_counter.h"

#define DXT_HEAD_BYTES 104
#define DXT_SEGMENTS_MAX ((uint64_t)1 << 40)
#define HEAT_HEAD_BYTES 48
#define HEAT_BINS_MAX (1 << 20)
#define STRIPES_MAX (1 << 20)
#define PATTERN_MDT 0x100 /* of a component: its bytes are on the metadata server */

static int unknown_version(struct darshan_log *log, enum darshan_module m, struct err *err)
{
	return err_set(err, -EINVAL,
		       "%s: module %s has version %u, which is not known here: its records can't be told",
		       log->path, darshan_module_name(m), log->modules[m].version);
}

/* ---- DXT ----------------------------------------------------------------------------------------
 */

struct darshan_dxt {
	struct darshan_log *log;
	struct darshan_stream *stream;
	size_t segment_bytes;
	bool no_offsets;
	uint64_t writes, reads; /* that are still to come of the file */
};

int darshan_dxt_open(struct darshan_dxt **ret, struct darshan_log *log, enum darshan_module m,
		     struct err *err)
{
	uint32_t version = log->modules[m].version;
	uint32_t with_threads = m == DARSHAN_DXT_POSIX ? 2 : 3;
	if (version < 1 || version > with_threads)
		return unknown_version(log, m, err);
	struct darshan_dxt *d = calloc(1, sizeof *d);
	if (!d)
		return err_set(err, -ENOMEM, "out of memory");
	*d = (struct darshan_dxt){ .log = log,
				   .segment_bytes = version == with_threads ? 40 : 32,
				   .no_offsets = m == DARSHAN_DXT_MPIIO && version == 1 };
	int rc = darshan_stream_open(&d->stream, log, &log->modules[m], darshan_module_name(m), err);
	if (rc) {
		free(d);
		return rc;
	}
	*ret = d;
	return 0;
}

void darshan_dxt_close(struct darshan_dxt *d)
{
	if (!d)
		return;
	darshan_stream_close(d->stream);
	free(d);
}

int darshan_dxt_file(struct darshan_dxt *d, struct darshan_dxt_file *ret, struct err *err)
{
	unsigned char b[DXT_HEAD_BYTES];
	if (d->writes + d->reads) {
		uint64_t n = (d->writes + d->reads) * d->segment_bytes;
		int rc = darshan_stream_take(d->stream, NULL, n, err);
		if (rc <= 0)
			return rc ? rc
				  : darshan_stream_fault(d->stream, err,
							 "it ends before the accesses that it tells "
							 "of; the log is damaged");
	}
	d->writes = d->reads = 0;
	int rc = darshan_stream_take(d->stream, b, sizeof b, err);
	if (rc <= 0)
		return rc;
	*ret = (struct darshan_dxt_file){ .id = darshan_u64(d->log, b),
					  .rank = (int64_t)darshan_u64(d->log, b + 8),
					  .writes = darshan_u64(d->log, b + 88),
					  .reads = darshan_u64(d->log, b + 96) };
	memcpy(ret->host, b + 24, 64);
	if (ret->writes > DXT_SEGMENTS_MAX || ret->reads > DXT_SEGMENTS_MAX)
		return darshan_stream_fault(d->stream, err,
					    "a file with %llu writes and %llu reads; the log is damaged",
					    (unsigned long long)ret->writes,
					    (unsigned long long)ret->reads);
	if (ret->rank < -1 || ret->rank >= d->log->job.ranks)
		return darshan_stream_fault(d->stream, err,
					    "a record of process %lld of %lld; the log is damaged",
					    (long long)ret->rank, (long long)d->log->job.ranks);
	d->writes = ret->writes;
	d->reads = ret->reads;
	return 1;
}

int darshan_dxt_segment(struct darshan_dxt *d, struct darshan_segment *ret, struct err *err)
{
	unsigned char b[40];
	if (!(d->writes + d->reads))
		return 0;
	int rc = darshan_stream_take(d->stream, b, d->segment_bytes, err);
	if (rc <= 0)
		return rc ? rc
			  : darshan_stream_fault(d->stream, err,
						 "it ends before the accesses that it tells of; the log "
						 "is damaged");
	*ret = (struct darshan_segment){
		.write = d->writes > 0,
		.offset = d->no_offsets ? -1 : (int64_t)darshan_u64(d->log, b),
		.bytes = (int64_t)darshan_u64(d->log, b + 8),
		.begin_s = darshan_f64(d->log, b + 16),
		.end_s = darshan_f64(d->log, b + 24),
		.thread = d->segment_bytes == 40 ? darshan_u64(d->log, b + 32) : 0,
	};
	if (d->writes)
		d->writes--;
	else
		d->reads--;
	return 1;
}

/* ---- HEATMAP ------------------------------------------------------------------------------------
 */

struct darshan_heats {
	struct darshan_log *log;
	struct darshan_stream *stream;
	int64_t *values;
	size_t cap;
};

int darshan_heats_open(struct darshan_heats **ret, struct darshan_log *log, struct err *err)
{
	if (log->modules[DARSHAN_HEATMAP].version != 1)
		return unknown_version(log, DARSHAN_HEATMAP, err);
	struct darshan_heats *h = calloc(1, sizeof *h);
	if (!h)
		return err_set(err, -ENOMEM, "out of memory");
	h->log = log;
	int rc = darshan_stream_open(&h->stream, log, &log->modules[DARSHAN_HEATMAP], "HEATMAP", err);
	if (rc) {
		free(h);
		return rc;
	}
	*ret = h;
	return 0;
}

void darshan_heats_close(struct darshan_heats *h)
{
	if (!h)
		return;
	darshan_stream_close(h->stream);
	free(h->values);
	free(h);
}

static int room_for(struct darshan_heats *h, size_t n, struct err *err)
{
	if (n <= h->cap)
		return 0;
	int64_t *values = realloc(h->values, n * sizeof *values);
	if (!values)
		return err_set(err, -ENOMEM, "out of memory");
	h->values = values;
	h->cap = n;
	return 0;
}

int darshan_heats_next(struct darshan_heats *h, struct darshan_heat *ret, struct err *err)
{
	unsigned char b[HEAT_HEAD_BYTES];
	int rc = darshan_stream_take(h->stream, b, sizeof b, err);
	if (rc <= 0)
		return rc;
	*ret = (struct darshan_heat){ .id = darshan_u64(h->log, b),
				      .rank = (int64_t)darshan_u64(h->log, b + 8),
				      .bin_s = darshan_f64(h->log, b + 16) };
	uint64_t bins = darshan_u64(h->log, b + 24);
	if (bins > HEAT_BINS_MAX || !isfinite(ret->bin_s) || ret->bin_s <= 0)
		return darshan_stream_fault(h->stream, err,
					    "%llu bins of %g s; the log is damaged",
					    (unsigned long long)bins, ret->bin_s);
	rc = room_for(h, 2 * (size_t)bins + 1, err);
	if (!rc && bins)
		rc = darshan_stream_take(h->stream, h->values, 16 * bins, err);
	else if (!rc)
		rc = 1;
	if (rc < 0)
		return rc;
	if (!rc)
		return darshan_stream_fault(h->stream, err,
					    "it ends before the bins that it tells of; the log is damaged");
	for (size_t i = 0; i < 2 * bins; i++)
		h->values[i] = (int64_t)darshan_u64(h->log, (const unsigned char *)&h->values[i]);
	ret->bins = (size_t)bins;
	ret->write = h->values;
	ret->read = h->values + bins;
	return 1;
}

/* ---- LUSTRE -------------------------------------------------------------------------------------
 */

struct darshan_lustre {
	struct darshan_log *log;
	struct darshan_stream *stream;
	bool components; /* of files that lie in parts, each in its own way */
};

int darshan_lustre_open(struct darshan_lustre **ret, struct darshan_log *log, struct err *err)
{
	uint32_t version = log->modules[DARSHAN_LUSTRE].version;
	if (version < 1 || version > 2)
		return unknown_version(log, DARSHAN_LUSTRE, err);
	struct darshan_lustre *l = calloc(1, sizeof *l);
	if (!l)
		return err_set(err, -ENOMEM, "out of memory");
	*l = (struct darshan_lustre){ .log = log, .components = version == 2 };
	int rc = darshan_stream_open(&l->stream, log, &log->modules[DARSHAN_LUSTRE], "LUSTRE", err);
	if (rc) {
		free(l);
		return rc;
	}
	*ret = l;
	return 0;
}

void darshan_lustre_close(struct darshan_lustre *l)
{
	if (!l)
		return;
	darshan_stream_close(l->stream);
	free(l);
}

static int must_take(struct darshan_lustre *l, unsigned char *to, size_t n, struct err *err)
{
	int rc = darshan_stream_take(l->stream, to, n, err);
	if (rc)
		return rc < 0 ? rc : 0;
	return darshan_stream_fault(l->stream, err, "it ends within a record; the log is damaged");
}

static int take_targets(struct darshan_lustre *l, uint64_t n, struct darshan_stripes *ret,
			struct err *err)
{
	unsigned char b[8];
	for (uint64_t i = 0; i < n; i++) {
		int rc = must_take(l, b, sizeof b, err);
		if (rc)
			return rc;
		if (i < LAYOUT_TARGETS)
			ret->layout.targets[i] = (int64_t)darshan_u64(l->log, b);
	}
	ret->layout.n_targets = (size_t)n;
	return 0;
}

/* Stripe size, stripe count, pattern, flags, extent from, to, mirror; a pool's name. */
static int take_components(struct darshan_lustre *l, uint64_t n, struct darshan_stripes *ret,
			   struct err *err)
{
	unsigned char b[72];
	struct layout *to = &ret->layout;
	int64_t mirrors = 0;
	for (uint64_t i = 0; i < n; i++) {
		int rc = must_take(l, b, sizeof b, err);
		if (rc)
			return rc;
		int64_t size = (int64_t)darshan_u64(l->log, b);
		int64_t mirror = (int64_t)darshan_u64(l->log, b + 48);
		if (size == -1)
			continue;
		if (mirror > mirrors)
			mirrors = mirror;
		to->components++;
		if (darshan_u64(l->log, b + 16) & PATTERN_MDT) {
			to->mdt_bytes = (int64_t)darshan_u64(l->log, b + 40);
		} else if (to->size_bytes < 0) {
			to->size_bytes = size;
			to->count = (int64_t)darshan_u64(l->log, b + 8);
			memcpy(to->pool, b + 56, LAYOUT_POOL_BYTES - 1);
		}
	}
	to->mirrors = mirrors;
	return 0;
}

int darshan_lustre_next(struct darshan_lustre *l, struct darshan_stripes *ret, struct err *err)
{
	unsigned char b[56];
	size_t head = l->components ? 32 : 56;
	int rc = darshan_stream_take(l->stream, b, head, err);
	if (rc <= 0)
		return rc;
	*ret = (struct darshan_stripes){ .id = darshan_u64(l->log, b), .layout = LAYOUT_UNKNOWN };
	uint64_t components = l->components ? darshan_u64(l->log, b + 16) : 1;
	uint64_t targets = darshan_u64(l->log, b + (l->components ? 24 : 48));
	if (components > STRIPES_MAX || targets > STRIPES_MAX)
		return darshan_stream_fault(l->stream, err,
					    "a file of %llu parts on %llu targets; the log is damaged",
					    (unsigned long long)components,
					    (unsigned long long)targets);
	rc = 0;
	if (l->components) {
		rc = take_components(l, components, ret, err);
	} else { /* targets, metadata targets, offset, stripe size, stripe count */
		ret->layout.components = 1;
		ret->layout.size_bytes = (int64_t)darshan_u64(l->log, b + 40);
		ret->layout.count = (int64_t)targets;
	}
	if (!rc)
		rc = take_targets(l, targets, ret, err);
	return rc ? rc : 1;
}
