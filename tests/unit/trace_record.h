/* What a reader of traces hands out, kept as it comes, and the arithmetic of windows once more, the
 * simplest way there is: what ../shared/data/device expects is compared with it to the nanosecond.
 */
#ifndef TESTS_UNIT_TRACE_RECORD_H
#define TESTS_UNIT_TRACE_RECORD_H

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "import/trace.h"
#include "lib/arena.h"
#include "lib/buf.h"

struct recorded_op {
	int64_t process, begin, end;
	double bytes;
	uint32_t device, name;
	enum category category;
};

struct recorded_range {
	int64_t process, begin, end;
	const char *name;
};

struct recorded_process {
	int64_t process;
	const char *host, *pid, *rank, *exe;
};

struct trace_sink {
	struct arena arena;
	struct recorded_op *ops;
	size_t n_ops, cap_ops;
	struct recorded_range *ranges;
	size_t n_ranges, cap_ranges;
	struct recorded_process processes[64];
	size_t n_processes;
	const char *devices[64], *ids[64];
	size_t n_devices;
	const char *names[4096];
	size_t n_names;
	char notes[4096];
	unsigned observes;
	bool calls_seen;
	char runtime[64];
	int64_t epoch;
	bool has_epoch;
	uint64_t calls, syncs, untimed, dropped, graphs, unordered;
	int64_t last;      /* begin of the last operation or call */
	const char *wants; /* only ranges of this name; NULL: all */
	int fail_after;    /* > 0: calls until -ENOMEM */
};

static bool record_fails(struct trace_sink *t)
{
	return t->fail_after > 0 && --t->fail_after == 0;
}

#define RECORD_OR_FAIL(t)                                                                          \
	do {                                                                                       \
		if (record_fails(t))                                                               \
			return -ENOMEM;                                                            \
	} while (0)

int trace_process(struct trace_sink *t, int64_t process, const char *host, const char *pid,
		  const char *rank, const char *exe)
{
	RECORD_OR_FAIL(t);
	if (t->n_processes < 64)
		t->processes[t->n_processes++] = (struct recorded_process){
			process, arena_strdup(&t->arena, host), arena_strdup(&t->arena, pid),
			arena_strdup(&t->arena, rank), arena_strdup(&t->arena, exe)
		};
	return 0;
}

int trace_device(struct trace_sink *t, const char *name, const char *id, uint32_t *ret)
{
	RECORD_OR_FAIL(t);
	for (size_t i = 0; i < t->n_devices; i++)
		if (strcmp(t->ids[i], id ? id : name) == 0) {
			*ret = (uint32_t)i;
			return 0;
		}
	if (t->n_devices == 64)
		return -ENOMEM;
	*ret = (uint32_t)t->n_devices;
	t->devices[t->n_devices] = arena_strdup(&t->arena, name);
	t->ids[t->n_devices++] = arena_strdup(&t->arena, id ? id : name);
	return 0;
}

int trace_observes(struct trace_sink *t, unsigned categories)
{
	RECORD_OR_FAIL(t);
	t->observes |= categories;
	return 0;
}

int trace_runtime(struct trace_sink *t, const char *runtime)
{
	RECORD_OR_FAIL(t);
	(void)snprintf(t->runtime, sizeof t->runtime, "%s", runtime);
	return 0;
}

int trace_epoch(struct trace_sink *t, int64_t add_ns)
{
	RECORD_OR_FAIL(t);
	t->epoch = add_ns;
	t->has_epoch = true;
	return 0;
}

int trace_note(struct trace_sink *t, const char *format, ...)
{
	RECORD_OR_FAIL(t);
	size_t n = strlen(t->notes);
	va_list args;
	va_start(args, format);
	(void)vsnprintf(t->notes + n, sizeof t->notes - n, format, args);
	va_end(args);
	n = strlen(t->notes);
	(void)snprintf(t->notes + n, sizeof t->notes - n, "\n");
	return 0;
}

bool trace_wants(const struct trace_sink *t, struct str name)
{
	return !t->wants || (name.n == strlen(t->wants) && memcmp(name.p, t->wants, name.n) == 0);
}

bool trace_asked(const struct trace_sink *t, struct str name)
{
	return trace_wants(t, name);
}

/* What is expected is about annotations. */
int trace_range_level(struct trace_sink *t, int64_t process, enum trace_level level,
		      struct str name, int64_t begin_ns, int64_t end_ns)
{
	return level == TRACE_ANNOTATION ? trace_range(t, process, name, begin_ns, end_ns) : 0;
}

int trace_range(struct trace_sink *t, int64_t process, struct str name, int64_t begin_ns,
		int64_t end_ns)
{
	RECORD_OR_FAIL(t);
	if (!trace_wants(t, name) || end_ns <= begin_ns)
		return 0;
	t->ranges = arena_grow(&t->arena, t->ranges, &t->cap_ranges, t->n_ranges + 1,
			       sizeof *t->ranges);
	t->ranges[t->n_ranges++] =
		(struct recorded_range){ process, begin_ns, end_ns,
					 arena_strndup(&t->arena, name.p, name.n) };
	return 0;
}

int trace_name(struct trace_sink *t, struct str name, uint32_t *ret)
{
	RECORD_OR_FAIL(t);
	for (size_t i = 0; i < t->n_names; i++)
		if (strlen(t->names[i]) == name.n && memcmp(t->names[i], name.p, name.n) == 0) {
			*ret = (uint32_t)i;
			return 0;
		}
	if (t->n_names == 4096)
		return -ENOMEM;
	*ret = (uint32_t)t->n_names;
	t->names[t->n_names++] = arena_strndup(&t->arena, name.p, name.n);
	return 0;
}

int trace_op(struct trace_sink *t, int64_t process, uint32_t device, enum category category,
	     uint32_t name, int64_t begin_ns, int64_t end_ns, double bytes)
{
	RECORD_OR_FAIL(t);
	if (device >= t->n_devices || name >= t->n_names || category < 0 || category >= CATEGORIES)
		abort();
	if (end_ns <= begin_ns) {
		t->untimed++;
		return 0;
	}
	t->unordered += t->n_ops + t->calls > 0 && begin_ns < t->last;
	t->last = begin_ns;
	t->ops = arena_grow(&t->arena, t->ops, &t->cap_ops, t->n_ops + 1, sizeof *t->ops);
	t->ops[t->n_ops++] =
		(struct recorded_op){ process, begin_ns, end_ns, bytes, device, name, category };
	return 0;
}

int trace_call(struct trace_sink *t, int64_t process, int64_t begin_ns, int64_t end_ns, bool sync)
{
	(void)process;
	(void)end_ns;
	RECORD_OR_FAIL(t);
	t->unordered += t->n_ops + t->calls > 0 && begin_ns < t->last;
	t->last = begin_ns;
	t->calls++;
	t->syncs += sync;
	return 0;
}

int trace_calls_seen(struct trace_sink *t)
{
	RECORD_OR_FAIL(t);
	t->calls_seen = true;
	return 0;
}

int trace_untimed(struct trace_sink *t, int64_t process, uint64_t n)
{
	(void)process;
	RECORD_OR_FAIL(t);
	t->untimed += n;
	return 0;
}

int trace_dropped(struct trace_sink *t, int64_t process, uint64_t n)
{
	(void)process;
	RECORD_OR_FAIL(t);
	t->dropped += n;
	return 0;
}

int trace_graph(struct trace_sink *t, int64_t process, uint64_t n)
{
	(void)process;
	RECORD_OR_FAIL(t);
	t->graphs += n;
	return 0;
}

static void sink_done(struct trace_sink *t)
{
	arena_free(&t->arena);
	*t = (struct trace_sink){ 0 };
}

/* ---- windows -------------------------------------------------------------------------------- */

struct span {
	int64_t b, e;
};

static int by_begin(const void *a, const void *b)
{
	const struct span *x = a, *y = b;
	return (x->b > y->b) - (x->b < y->b);
}

static int64_t union_of(struct span *s, size_t n)
{
	int64_t sum = 0, end = INT64_MIN;
	qsort(s, n, sizeof *s, by_begin);
	for (size_t i = 0; i < n; i++) {
		int64_t b = s[i].b > end ? s[i].b : end;
		sum += s[i].e > b ? s[i].e - b : 0;
		end = s[i].e > end ? s[i].e : end;
	}
	return sum;
}

static struct span *spans_of(json_t *segments)
{
	struct span *s = calloc(json_array_size(segments) + 1, sizeof *s);
	for (size_t i = 0; i < json_array_size(segments); i++) {
		json_t *pair = json_array_get(segments, i);
		s[i].b = json_integer_value(json_array_get(pair, 0));
		s[i].e = json_integer_value(json_array_get(pair, 1));
	}
	return s;
}

/* The union of the ranges of a name, as disjoint spans: long lists are cut where they are expected.
 */
static struct span *ranges_of(const struct trace_sink *t, const char *name, size_t *ret_n)
{
	struct span *s = calloc(t->n_ranges + 1, sizeof *s);
	size_t k = 0, n = 0;
	for (size_t i = 0; i < t->n_ranges; i++)
		if (strcmp(t->ranges[i].name, name) == 0)
			s[k++] = (struct span){ t->ranges[i].begin, t->ranges[i].end };
	qsort(s, k, sizeof *s, by_begin);
	for (size_t i = 0; i < k; i++)
		if (n && s[i].b <= s[n - 1].e)
			s[n - 1].e = s[i].e > s[n - 1].e ? s[i].e : s[n - 1].e;
		else
			s[n++] = s[i];
	*ret_n = n;
	return s;
}

struct sums {
	int64_t busy, sum, started, touching, bytes, device_busy[64];
};

/* The operations of one category (or all: CATEGORIES) in the segments. */
static struct sums sums_in(const struct trace_sink *t, const struct span *segments, size_t n,
			   enum category only)
{
	struct sums r = { 0 };
	struct span *cut = calloc(t->n_ops * 4 + 16, sizeof *cut);
	for (uint32_t device = 0; device < t->n_devices; device++) {
		size_t k = 0, room = t->n_ops * 4 + 16;
		for (size_t i = 0; i < t->n_ops; i++) {
			const struct recorded_op *o = &t->ops[i];
			bool touches = false;
			if (o->device != device || (only != CATEGORIES && o->category != only))
				continue;
			for (size_t j = 0; j < n; j++) {
				int64_t b = o->begin > segments[j].b ? o->begin : segments[j].b;
				int64_t e = o->end < segments[j].e ? o->end : segments[j].e;
				if (o->begin >= segments[j].b && o->begin < segments[j].e) {
					r.started++;
					r.bytes += isnan(o->bytes) ? 0 : (int64_t)o->bytes;
				}
				if (b >= e)
					continue;
				touches = true;
				r.sum += e - b;
				if (k == room) {
					room *= 2;
					cut = realloc(cut, room * sizeof *cut);
				}
				cut[k++] = (struct span){ b, e };
			}
			r.touching += touches;
		}
		r.device_busy[device] = union_of(cut, k);
		r.busy += r.device_busy[device];
	}
	free(cut);
	return r;
}

static int64_t number(json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

#define SAME(window, what, got, want)                                                              \
	do {                                                                                       \
		int64_t g_ = (got), w_ = (want);                                                   \
		if (g_ != w_)                                                                      \
			fail_msg("%s: %s: %lld, expected %lld", window, what, (long long)g_,       \
				 (long long)w_);                                                   \
	} while (0)

static bool bytes_unknown; /* nobody computed those of rpd: they are 0 in what is expected */

static void expect_window(const struct trace_sink *t, json_t *w)
{
	const char *name = json_string_value(json_object_get(w, "name"));
	json_t *segments = json_object_get(w, "segments_ns");
	size_t n = json_array_size(segments);
	bool marker = strncmp(name, "marker:", 7) == 0;
	struct span *s = marker ? ranges_of(t, name + 7, &n) : spans_of(segments);
	int64_t wall = 0;
	for (size_t i = 0; i < n; i++)
		wall += s[i].e - s[i].b;
	SAME(name, "wall", wall, number(w, "wall_ns"));
	struct sums all = sums_in(t, s, n, CATEGORIES);
	SAME(name, "busy", all.busy, number(w, "busy_ns"));
	SAME(name, "sum", all.sum, number(w, "sum_ns"));
	SAME(name, "overlap", all.sum - all.busy, number(w, "overlap_ns"));
	SAME(name, "ops_started", all.started, number(w, "ops_started"));
	SAME(name, "ops_touching", all.touching, number(w, "ops_touching"));
	for (size_t i = 0; i < t->n_devices; i++) { /* the first word is the number */
		json_t *by = json_object_get(w, "busy_ns_by_device");
		char key[64];
		(void)snprintf(key, sizeof key, "%.*s", (int)strcspn(t->devices[i], " "),
			       t->devices[i]);
		if (!json_object_get(by, key))
			(void)snprintf(key, sizeof key, "%s", t->devices[i]);
		SAME(name, t->devices[i], all.device_busy[i], number(by, key));
	}
	for (enum category c = 0; c < CATEGORIES; c++) {
		json_t *x = json_object_get(json_object_get(w, "categories"), category_name(c));
		struct sums one = sums_in(t, s, n, c);
		SAME(name, category_name(c), one.sum, number(x, "time_ns"));
		SAME(name, "union of the category", one.busy, number(x, "union_ns"));
		SAME(name, "ops of the category", one.touching, number(x, "ops_touching"));
		SAME(name, "started", one.started, number(x, "ops_started"));
		if (!bytes_unknown)
			SAME(name, "bytes", one.bytes, number(x, "bytes"));
	}
	free(s);
}

/* Of each file. false: there is no such file here. */
static __attribute__((unused)) bool expect_file(const struct trace_sink *t, const char *path)
{
	json_t *json = json_load_file(path, 0, NULL);
	if (!json)
		return false;
	json_t *w;
	size_t i;
	SAME(path, "operations", (int64_t)(t->n_ops + t->untimed), number(json, "ops"));
	json_array_foreach(json_object_get(json, "windows"), i, w) expect_window(t, w);
	json_decref(json);
	return true;
}

/* ---- files ---------------------------------------------------------------------------------- */

/* Unpacked or not; false: not there. */
static __attribute__((unused)) bool plain_bytes(const char *path, struct buf *ret)
{
	gzFile in = gzopen(path, "rb");
	char piece[65536];
	int n;
	*ret = (struct buf){ 0 };
	if (!in)
		return false;
	while ((n = gzread(in, piece, sizeof piece)) > 0)
		buf_put(ret, piece, (size_t)n);
	(void)gzclose(in);
	return true;
}

#endif
