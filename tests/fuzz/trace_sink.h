/* A place for what readers of traces hand out: it looks at all of it and keeps nothing. */
#ifndef TESTS_FUZZ_TRACE_SINK_H
#define TESTS_FUZZ_TRACE_SINK_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/trace.h"

struct trace_sink {
	uint32_t devices, names;
	unsigned seen; /* so that nothing is optimized away */
};

static void look_at(struct trace_sink *t, const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		t->seen += (unsigned char)p[i];
}

static void look_at_text(struct trace_sink *t, const char *text)
{
	if (text)
		look_at(t, text, strlen(text));
}

int trace_process(struct trace_sink *t, int64_t process, const char *host, const char *pid,
		  const char *rank, const char *exe)
{
	(void)process;
	look_at_text(t, host);
	look_at_text(t, pid);
	look_at_text(t, rank);
	look_at_text(t, exe);
	return 0;
}

int trace_device(struct trace_sink *t, const char *name, const char *id, uint32_t *ret)
{
	if (!name)
		abort();
	look_at_text(t, name);
	look_at_text(t, id);
	*ret = t->devices++;
	return 0;
}

int trace_observes(struct trace_sink *t, unsigned categories)
{
	(void)t;
	if (!categories || categories >> CATEGORIES)
		abort();
	return 0;
}

int trace_runtime(struct trace_sink *t, const char *runtime)
{
	look_at_text(t, runtime);
	return 0;
}

int trace_epoch(struct trace_sink *t, int64_t add_ns)
{
	t->seen += (unsigned)add_ns;
	return 0;
}

int trace_note(struct trace_sink *t, const char *format, ...)
{
	char text[2048];
	va_list args;
	va_start(args, format);
	int n = vsnprintf(text, sizeof text, format, args);
	va_end(args);
	if (n <= 0)
		abort();
	look_at_text(t, text);
	return 0;
}

bool trace_wants(const struct trace_sink *t, struct str name)
{
	(void)t;
	if (!name.p && name.n)
		abort();
	return name.n % 2 == 0;
}

int trace_range(struct trace_sink *t, int64_t process, struct str name, int64_t begin_ns,
		int64_t end_ns)
{
	(void)process;
	if (!name.p || begin_ns < 0 || end_ns < 0)
		abort();
	look_at(t, name.p, name.n);
	return 0;
}

bool trace_asked(const struct trace_sink *t, struct str name)
{
	return trace_wants(t, name);
}

int trace_range_level(struct trace_sink *t, int64_t process, enum trace_level level,
		      struct str name, int64_t begin_ns, int64_t end_ns)
{
	(void)level;
	return trace_range(t, process, name, begin_ns, end_ns);
}

int trace_name(struct trace_sink *t, struct str name, uint32_t *ret)
{
	if (!name.p)
		abort();
	look_at(t, name.p, name.n);
	*ret = t->names++;
	return 0;
}

int trace_op(struct trace_sink *t, int64_t process, uint32_t device, enum category category,
	     uint32_t name, int64_t begin_ns, int64_t end_ns, double bytes)
{
	(void)process;
	if (device >= t->devices || name >= t->names || category >= CATEGORIES || begin_ns < 0 ||
	    end_ns < 0 || bytes < 0)
		abort();
	return 0;
}

int trace_call(struct trace_sink *t, int64_t process, int64_t begin_ns, int64_t end_ns, bool sync)
{
	(void)process;
	t->seen += (unsigned)(begin_ns ^ end_ns) + sync;
	return 0;
}

int trace_calls_seen(struct trace_sink *t)
{
	t->seen++;
	return 0;
}

int trace_untimed(struct trace_sink *t, int64_t process, uint64_t n)
{
	t->seen += (unsigned)process + (unsigned)n;
	return 0;
}

int trace_dropped(struct trace_sink *t, int64_t process, uint64_t n)
{
	t->seen += (unsigned)process + (unsigned)n;
	return 0;
}

int trace_graph(struct trace_sink *t, int64_t process, uint64_t n)
{
	t->seen += (unsigned)process + (unsigned)n;
	return 0;
}

/* Plain bytes, in pieces of a size that the first byte chooses. Each is gone when the next is asked
 * for. */
struct fuzz_memory {
	const char *bytes;
	size_t n, at, piece;
	char *lent;
};

static inline int fuzz_next(void *arg, const char **ret, size_t *ret_n, struct err *err)
{
	struct fuzz_memory *m = arg;
	(void)err;
	free(m->lent);
	*ret_n = m->n - m->at < m->piece ? m->n - m->at : m->piece;
	m->lent = malloc(*ret_n + 1);
	if (!m->lent)
		abort();
	memcpy(m->lent, m->bytes + m->at, *ret_n);
	*ret = m->lent;
	m->at += *ret_n;
	return 0;
}

static inline int fuzz_rewind(void *arg, struct err *err)
{
	(void)err;
	((struct fuzz_memory *)arg)->at = 0;
	return 0;
}

static inline void fuzz_result(int rc, const struct err *err)
{
	if (rc > 0 || (rc < 0 && !err->text[0]))
		abort(); /* a failure without a sentence */
}

#endif
