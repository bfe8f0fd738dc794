/* Shared by the files of the reader of XLA's profiles (XSpace, XPlane). */
#ifndef IMPORT_TRACE_XPLANE_IMPL_H
#define IMPORT_TRACE_XPLANE_IMPL_H

#include "import/trace.h"
#include "import/trace_map.h"
#include "import/wire_scan.h"

enum xplane_kind { XPLANE_NOTHING, XPLANE_GPU, XPLANE_TPU, XPLANE_HOST, XPLANE_TASK };

/* An entry of a plane's event_metadata or stat_metadata. */
struct xplane_meta {
	struct str name;
	uint32_t number; /* of trace_name() */
	bool numbered;
};

struct xplane_metas {
	struct trace_map ids; /* id -> 1 + index */
	struct xplane_meta *items;
	size_t n, cap;
};

struct xplane {
	struct str bytes; /* that are in memory, borrowed: of the file, or of one plane */
	uint64_t before;  /* where they begin in the file */
	const char *path;
	enum trace_pass pass;
	struct trace_sink *t;
	struct err *err;
	int rc;
	/* the plane that is read */
	enum xplane_kind kind;
	struct str name;
	uint32_t device;
	struct xplane_metas events, stats;
	/* of all planes */
	bool planes, gpu, tpu, calls, has_start, has_first;
	uint64_t start_ns; /* of the profile, since 1970 */
	int64_t first_ns;
	char host[128];
	const char *runtime;
};

/* -EINVAL with the place; the first failure stays. */
int xplane_wrong(struct xplane *x, const void *at, const char *what);
/* Took wire_next its end? Else says what is wrong. */
int xplane_ended(struct xplane *x, const struct wire *w);
int xplane_failed(struct xplane *x, int rc);                          /* what the trace answered */
struct xplane_meta *xplane_meta(struct xplane_metas *m, uint64_t id); /* NULL: not there */

/* trace_xplane_line.c: one line of the plane. */
int xplane_line(struct xplane *x, struct str bytes);

/* A field of the file as it stands: a plane, or anything else. */
int xplane_field(struct xplane *x, const struct wire_field *f);
/* At the end. */
int xplane_tell(struct xplane *x);
/* A whole file in memory. */
int xplane_read_bytes(struct str bytes, const char *path, enum trace_pass pass,
		      struct trace_sink *t, struct err *err);

#endif
