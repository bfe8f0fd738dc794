/* XLA's profiles (JAX, TensorFlow, PyTorch/XLA) on GPUs and TPUs: XSpace, a protocol buffer. A plane
 * is in memory while it is read: names are indexed and lines are walked. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/trace_xplane_impl.h"

#define ON_GPU                                                                                     \
	(1u << COMPUTE | 1u << COPY_H2D | 1u << COPY_D2H | 1u << COPY_D2D | 1u << COPY_OTHER |     \
	 1u << FILL | 1u << COLLECTIVE)
#define ON_TPU (1u << COMPUTE | 1u << COLLECTIVE | 1u << COPY_OTHER | 1u << OTHER)
#define YEAR_2001_NS 1000000000000000000

int xplane_wrong(struct xplane *x, const void *at, const char *what)
{
	if (!x->rc)
		x->rc = err_set(x->err, -EINVAL,
				"%s: byte %llu: %s; no profile of XLA, or it is cut or damaged",
				x->path,
				(unsigned long long)(x->before +
						     (uint64_t)((const char *)at - x->bytes.p)),
				what);
	return x->rc;
}

int xplane_ended(struct xplane *x, const struct wire *w)
{
	return w->fault ? xplane_wrong(x, w->p, w->fault) : 0;
}

int xplane_failed(struct xplane *x, int rc)
{
	if (rc && !x->rc)
		x->rc = err_set(x->err, rc, "out of memory");
	return rc;
}

/* ---- names
 * ------------------------------------------------------------------------------------------- */

struct xplane_meta *xplane_meta(struct xplane_metas *m, uint64_t id)
{
	uint64_t have = trace_map_get(&m->ids, (int64_t)id, 0);
	return have ? &m->items[have - 1] : NULL;
}

static void forget(struct xplane_metas *m)
{
	trace_map_done(&m->ids);
	free(m->items);
	*m = (struct xplane_metas){ 0 };
}

static int add_meta(struct xplane *x, struct xplane_metas *m, uint64_t id, struct str name)
{
	if (m->n == m->cap) {
		size_t cap = m->cap ? 2 * m->cap : 256;
		struct xplane_meta *more = realloc(m->items, cap * sizeof *more);
		if (!more)
			return xplane_failed(x, -ENOMEM);
		m->items = more;
		m->cap = cap;
	}
	m->items[m->n] = (struct xplane_meta){ .name = name };
	return xplane_failed(x, trace_map_put(&m->ids, (int64_t)id, 0, ++m->n));
}

/* An entry of a map: key 1, value 2, in which the name is 2, and what people should see 4. */
static int read_meta(struct xplane *x, struct xplane_metas *m, struct str bytes)
{
	struct wire w = wire_of(bytes);
	struct wire_field f;
	struct str value = { "", 0 }, name = { 0 }, display = { 0 };
	uint64_t id = 0;
	while (wire_next(&w, &f)) {
		if (f.number == 1 && f.type == 0)
			id = f.value;
		else if (f.number == 2 && f.type == 2)
			value = f.bytes;
	}
	int rc = xplane_ended(x, &w);
	if (rc)
		return rc;
	w = wire_of(value);
	while (wire_next(&w, &f)) {
		if (f.number == 2 && f.type == 2)
			name = f.bytes;
		else if (f.number == 4 && f.type == 2)
			display = f.bytes;
	}
	rc = xplane_ended(x, &w);
	return rc ? rc : add_meta(x, m, id, name.n ? name : display.p ? display : str_of(""));
}

/* ---- planes
 * ----------------------------------------------------------------------------------------- */

static enum xplane_kind kind_of(struct str name)
{
	static const struct {
		const char *begin;
		enum xplane_kind kind;
	} kinds[] = {
		{ "/device:GPU:", XPLANE_GPU },
		{ "/device:TPU:", XPLANE_TPU },
		{ "/host:CPU", XPLANE_HOST },
		{ "Task Environment", XPLANE_TASK },
	};
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (name.n >= strlen(kinds[i].begin) &&
		    memcmp(name.p, kinds[i].begin, strlen(kinds[i].begin)) == 0)
			return kinds[i].kind;
	return XPLANE_NOTHING;
}

/* When the profile began, of the plane "Task Environment". */
static void task_stat(struct xplane *x, struct str bytes)
{
	struct wire w = wire_of(bytes);
	struct wire_field f;
	const struct xplane_meta *m = NULL;
	uint64_t value = 0;
	while (wire_next(&w, &f)) {
		if (f.number == 1 && f.type == 0)
			m = xplane_meta(&x->stats, f.value);
		else if ((f.number == 3 || f.number == 4) && f.type == 0)
			value = f.value;
	}
	if (m && m->name.n == 18 && memcmp(m->name.p, "profile_start_time", 18) == 0 &&
	    value < INT64_MAX) {
		x->start_ns = value;
		x->has_start = true;
	}
}

static int plane_names(struct xplane *x, struct str bytes)
{
	struct wire w = wire_of(bytes);
	struct wire_field f;
	int rc = 0;
	x->name = (struct str){ "", 0 };
	while (!rc && wire_next(&w, &f)) {
		if (f.type != 2)
			continue;
		if (f.number == 2)
			x->name = f.bytes;
		else if (f.number == 4)
			rc = read_meta(x, &x->events, f.bytes);
		else if (f.number == 5)
			rc = read_meta(x, &x->stats, f.bytes);
	}
	return rc ? rc : xplane_ended(x, &w);
}

/* Also one without a line: it was watched, and idle. */
static int add_device(struct xplane *x)
{
	char name[256];
	(void)snprintf(name, sizeof name, "%.*s", (int)(x->name.n < 255 ? x->name.n : 255),
		       x->name.p);
	x->gpu |= x->kind == XPLANE_GPU;
	x->tpu |= x->kind == XPLANE_TPU;
	return xplane_failed(x, trace_device(x->t, name, NULL, &x->device));
}

static int plane_lines(struct xplane *x, struct str bytes)
{
	struct wire w = wire_of(bytes);
	struct wire_field f;
	int rc = 0;
	while (!rc && wire_next(&w, &f)) {
		if (f.number == 3 && f.type == 2)
			rc = xplane_line(x, f.bytes);
		else if (f.number == 6 && f.type == 2 && x->kind == XPLANE_TASK)
			task_stat(x, f.bytes);
	}
	return rc;
}

static int plane(struct xplane *x, struct str bytes)
{
	int rc = plane_names(x, bytes);
	x->planes = true;
	x->kind = kind_of(x->name);
	if (!rc && (x->kind == XPLANE_GPU || x->kind == XPLANE_TPU))
		rc = add_device(x);
	if (!rc && x->kind)
		rc = plane_lines(x, bytes);
	forget(&x->events);
	forget(&x->stats);
	return rc;
}

int xplane_field(struct xplane *x, const struct wire_field *f)
{
	if (f->number == 4 && f->type == 2 && !*x->host)
		(void)snprintf(x->host, sizeof x->host, "%.*s",
			       (int)(f->bytes.n < 127 ? f->bytes.n : 127), f->bytes.p);
	return f->number == 1 && f->type == 2 ? plane(x, f->bytes) : 0;
}

/* ---- what the trace is told at the end
 * ---------------------------------------------------------------- */

int xplane_tell(struct xplane *x)
{
	if (!x->planes)
		return xplane_wrong(x, x->bytes.p, "there is no plane in it");
	unsigned observes = (x->gpu ? ON_GPU : 0) | (x->tpu ? ON_TPU : 0);
	int rc = trace_process(x->t, 0, *x->host ? x->host : NULL, NULL, NULL, NULL);
	if (!rc && observes)
		rc = trace_observes(x->t, observes);
	if (!rc && x->runtime)
		rc = trace_runtime(x->t, x->runtime);
	if (!rc && x->calls)
		rc = trace_calls_seen(x->t);
	bool absolute = x->has_first && x->first_ns >= YEAR_2001_NS;
	if (!rc && (absolute || x->has_start))
		rc = trace_epoch(x->t, absolute ? 0 : (int64_t)x->start_ns);
	return xplane_failed(x, rc);
}

int xplane_read_bytes(struct str bytes, const char *path, enum trace_pass pass,
		      struct trace_sink *t, struct err *err)
{
	struct xplane x = { .bytes = bytes, .path = path, .pass = pass, .t = t, .err = err };
	if (pass == TRACE_ORDERED)
		return err_set(err, -ENOTSUP, "%s: its events are in the order of their streams",
			       path);
	struct wire w = wire_of(bytes);
	struct wire_field f;
	int rc = 0;
	while (!rc && wire_next(&w, &f))
		rc = xplane_field(&x, &f);
	if (!rc)
		rc = xplane_ended(&x, &w);
	return rc ? rc : xplane_tell(&x);
}
