/* The events of one line: operations of a device, or what a thread of the host did. */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "import/trace_cursor.h" /* TRACE_TIME_MAX */
#include "import/trace_xplane_impl.h"

struct line {
	struct str name;
	int64_t ns; /* its events begin after that */
	bool async; /* TPU: copies beside the operations */
};

struct event {
	uint64_t meta, occurrences;
	int64_t offset_ps, duration_ps;
	struct str bytes; /* all of it, for its stats */
	bool timed;
};

static bool begins(struct str text, const char *with)
{
	size_t n = strlen(with);
	return text.n >= n && memcmp(text.p, with, n) == 0;
}

static bool has(struct str text, const char *word)
{
	return text.n && memmem(text.p, text.n, word, strlen(word));
}

static int read_event(struct xplane *x, struct str bytes, struct event *ret)
{
	struct wire w = wire_of(bytes);
	struct wire_field f;
	*ret = (struct event){ .bytes = bytes, .timed = true };
	while (wire_next(&w, &f)) {
		if (f.type != 0)
			continue;
		if (f.number == 1)
			ret->meta = f.value;
		else if (f.number == 2)
			ret->offset_ps = (int64_t)f.value;
		else if (f.number == 3)
			ret->duration_ps = (int64_t)f.value;
		else if (f.number == 5)
			ret->occurrences = f.value;
	}
	ret->timed = !ret->occurrences; /* else many, summed up */
	return xplane_ended(x, &w);
}

/* ps after ns, rounded; from the middle to the even one. -1: over 146 years. */
static int64_t round_ps(int64_t ns, int64_t ps)
{
	int64_t whole = ps / 1000, rest = ps % 1000;
	if (rest < 0) { /* before the line's own time */
		rest += 1000;
		whole--;
	}
	ns += whole;
	if (ns < 0)
		return -1;
	ns += rest > 500 || (rest == 500 && ns & 1);
	return ns > TRACE_TIME_MAX ? -1 : ns;
}

static int times(struct xplane *x, const struct line *l, const struct event *e, int64_t *begin,
		 int64_t *end)
{
	int64_t end_ps;
	*begin = round_ps(l->ns, e->offset_ps);
	*end = __builtin_add_overflow(e->offset_ps, e->duration_ps, &end_ps)
		       ? -1
		       : round_ps(l->ns, end_ps);
	if (*begin < 0 || *end < 0)
		return xplane_wrong(x, e->bytes.p,
				    "an event with a time below 0 or of over 146 years");
	if (!x->has_first || *begin < x->first_ns)
		x->first_ns = *begin;
	x->has_first = true;
	return 0;
}

static struct str name_of(struct xplane *x, const struct event *e)
{
	const struct xplane_meta *m = xplane_meta(&x->events, e->meta);
	return m && m->name.n ? m->name : str_of("(no name)");
}

/* ---- a device
 * --------------------------------------------------------------------------------------- */

/* CUPTI's and ROCm's names of what is no kernel. A kernel is never a copy, whatever it does. */
static enum category gpu_category(struct str name)
{
	bool copy = begins(name, "Memcpy") || begins(name, "CopyHostTo") ||
		    begins(name, "CopyDeviceTo");
	if (begins(name, "Memset") || begins(name, "FillBuffer"))
		return FILL;
	if (!copy)
		return kernel_category(name);
	if (has(name, "H2D") || has(name, "HtoD") || has(name, "HostToDevice"))
		return COPY_H2D;
	if (has(name, "D2H") || has(name, "DtoH") || has(name, "DeviceToHost"))
		return COPY_D2H;
	return has(name, "D2D") || has(name, "DtoD") || has(name, "DeviceToDevice") ? COPY_D2D
										    : COPY_OTHER;
}

/* By the names of HLO operations, with or without a "%" before them. */
static enum category tpu_category(struct str name, bool async)
{
	static const char *const collectives[] = { "all-reduce",         "all-gather",
						   "reduce-scatter",     "all-to-all",
						   "collective-permute", "collective-broadcast" };
	if (name.n && *name.p == '%') {
		name.p++;
		name.n--;
	}
	for (size_t i = 0; i < sizeof collectives / sizeof *collectives; i++)
		if (begins(name, collectives[i]))
			return COLLECTIVE;
	if (begins(name, "infeed") || begins(name, "outfeed"))
		return OTHER;
	return async ? COPY_OTHER : COMPUTE;
}

/* The text of one stat: its own, or a name that it refers to. */
static struct str stat_text(struct xplane *x, struct str bytes, const char *wanted)
{
	struct wire w = wire_of(bytes);
	struct wire_field f;
	const struct xplane_meta *m = NULL, *ref = NULL;
	struct str text = { 0 };
	while (wire_next(&w, &f)) {
		if (f.number == 1 && f.type == 0)
			m = xplane_meta(&x->stats, f.value);
		else if (f.number == 5 && f.type == 2)
			text = f.bytes;
		else if (f.number == 7 && f.type == 0)
			ref = xplane_meta(&x->stats, f.value);
	}
	if (!m || m->name.n != strlen(wanted) || memcmp(m->name.p, wanted, m->name.n) != 0)
		return (struct str){ 0 };
	return text.p ? text : ref ? ref->name : (struct str){ 0 };
}

/* "kind_src:pinned kind_dst:device size:4096 dest:0 async:1" */
static double size_in(struct str text, const char *key)
{
	const char *at = text.n ? memmem(text.p, text.n, key, strlen(key)) : NULL;
	double x = 0;
	if (!at)
		return NAN;
	at += strlen(key);
	if (at == text.p + text.n || !isdigit((unsigned char)*at))
		return NAN;
	for (; at < text.p + text.n && isdigit((unsigned char)*at); at++)
		x = x * 10 + (*at - '0');
	return x < 1e15 ? x : NAN;
}

static double size_of(struct xplane *x, const struct event *e, enum category c)
{
	struct wire w = wire_of(e->bytes);
	struct wire_field f;
	while (wire_next(&w, &f)) {
		if (f.number != 4 || f.type != 2)
			continue;
		struct str text =
			stat_text(x, f.bytes, c == FILL ? "memset_details" : "memcpy_details");
		if (text.p)
			return size_in(text, c == FILL ? "num_bytes:" : "size:");
	}
	return NAN;
}

static int take_op(struct xplane *x, const struct line *l, const struct event *e)
{
	int64_t begin, end;
	uint32_t number;
	if (!e->timed)
		return xplane_failed(x, trace_untimed(x->t, 0, e->occurrences));
	int rc = times(x, l, e, &begin, &end);
	if (rc)
		return rc;
	struct str name = name_of(x, e);
	struct xplane_meta *m = xplane_meta(&x->events, e->meta);
	if (m && m->numbered) {
		number = m->number;
	} else {
		rc = trace_name(x->t, name, &number);
		if (rc)
			return xplane_failed(x, rc);
		if (m) {
			m->number = number;
			m->numbered = true;
		}
	}
	enum category c = x->kind == XPLANE_TPU ? tpu_category(name, l->async) : gpu_category(name);
	bool sized = c != COMPUTE && c != COLLECTIVE && c != OTHER;
	return xplane_failed(x, trace_op(x->t, 0, x->device, c, number, begin, end,
					 sized ? size_of(x, e, c) : NAN));
}

/* ---- the host
 * ---------------------------------------------------------------------------------------- */

static bool is_upper(struct str name, size_t at)
{
	return name.n > at && name.p[at] >= 'A' && name.p[at] <= 'Z';
}

static int take_host(struct xplane *x, const struct line *l, const struct event *e)
{
	int64_t begin, end;
	struct str name = name_of(x, e);
	bool hip = begins(name, "hip") && is_upper(name, 3);
	bool cuda = (begins(name, "cuda") && is_upper(name, 4)) ||
		    (begins(name, "cu") && is_upper(name, 2));
	bool call = begins(l->name, "Host Threads/") && (hip || cuda);
	if (call)
		x->runtime = hip ? "hip" : "cuda";
	x->calls |= call;
	if (call != (x->pass != TRACE_RANGES) || !e->timed || (!call && !trace_wants(x->t, name)))
		return 0;
	int rc = times(x, l, e, &begin, &end);
	if (rc)
		return rc;
	return xplane_failed(
		x, call ? trace_call(x->t, 0, begin, end,
				     sync_call(CALL_CUDA | CALL_CUDA_DRIVER | CALL_HIP, name))
			: trace_range(x->t, 0, name, begin, end));
}

/* ---- all
 * ------------------------------------------------------------------------------------------------
 */

static bool is_work(struct xplane *x, struct line *l)
{
	if (x->kind == XPLANE_HOST)
		return true;
	if (x->pass == TRACE_RANGES)
		return false;
	if (x->kind == XPLANE_GPU) /* all other lines are derived from these */
		return begins(l->name, "Stream");
	l->async = begins(l->name, "Async XLA Ops");
	return l->async || (l->name.n == 7 && memcmp(l->name.p, "XLA Ops", 7) == 0);
}

int xplane_line(struct xplane *x, struct str bytes)
{
	struct line l = { 0 };
	struct wire w = wire_of(bytes);
	struct wire_field f;
	while (wire_next(&w, &f)) {
		if (f.number == 2 && f.type == 2)
			l.name = f.bytes;
		else if (f.number == 3 && f.type == 0)
			l.ns = (int64_t)f.value;
	}
	int rc = xplane_ended(x, &w);
	if (rc || !is_work(x, &l))
		return rc;
	if (l.ns < 0 || l.ns > TRACE_TIME_MAX)
		return xplane_wrong(x, bytes.p, "a line with a time below 0 or of over 146 years");
	w = wire_of(bytes);
	while (!rc && wire_next(&w, &f)) {
		struct event e;
		if (f.number != 4 || f.type != 2)
			continue;
		rc = read_event(x, f.bytes, &e);
		if (!rc)
			rc = x->kind == XPLANE_HOST ? take_host(x, &l, &e) : take_op(x, &l, &e);
	}
	return rc;
}
