/* An engine for a collector that is tested by itself, in the place of collectors/live.c and
 * core/flow.c: it writes down what it was told. At the end, and when the collector gives up, its
 * text is added to the file SAW names: "saw finish", then lines of a key and its values. A call
 * that would wait for itself ends the program. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectors/live.h"

enum { TEXTS = 512, TEXT = 320 };

struct texts {
	char list[TEXTS][TEXT];
	int64_t n;
};

struct flow {
	uint64_t ops[CATEGORIES], untimed, dropped, calls, waits, graphs, early;
	int64_t sum[CATEGORIES], last;
	double bytes[CATEGORIES];
	uint64_t marks[4], named[TEXTS];
	struct texts names, devices, notes;
};

static struct flow engine;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread int held;
static struct live_options options;
static char status[32] = "ok", why[512], runtime_text[64];
static double offset, drift, error;
static pid_t owner;

static int64_t text_number(struct texts *t, const char *text)
{
	for (int64_t i = 0; i < t->n; i++)
		if (strcmp(t->list[i], text) == 0)
			return i;
	if (t->n == TEXTS)
		abort();
	(void)snprintf(t->list[t->n], TEXT, "%s", text);
	return t->n++;
}

static void must_not_hold(void)
{
	if (held)
		abort();
}

int64_t flow_name(struct flow *f, const char *name, size_t n)
{
	char text[TEXT];
	(void)snprintf(text, sizeof text, "%.*s", (int)n, name);
	return text_number(&f->names, text);
}

int64_t flow_device(struct flow *f, const char *name, const char *id)
{
	char text[TEXT];
	(void)snprintf(text, sizeof text, "%s %s", id ? id : "-", name);
	return text_number(&f->devices, text);
}

int flow_mark(struct flow *f, enum flow_mark what, int64_t at_ns)
{
	(void)at_ns;
	f->marks[what]++;
	return 0;
}

void flow_op(struct flow *f, const struct flow_op *op)
{
	f->ops[op->category]++;
	f->named[op->name]++;
	if (op->end_ns <= op->begin_ns) {
		f->untimed++;
		return;
	}
	f->sum[op->category] += op->end_ns - op->begin_ns;
	f->bytes[op->category] += op->bytes == op->bytes ? op->bytes : 0;
	f->early += op->begin_ns < f->last;
	f->last = op->begin_ns;
}

void flow_call(struct flow *f, int64_t begin_ns, int64_t end_ns, bool sync)
{
	f->calls += end_ns >= begin_ns;
	f->waits += sync;
}

void flow_untimed(struct flow *f, uint64_t n)
{
	f->untimed += n;
}

void flow_dropped(struct flow *f, uint64_t n)
{
	f->dropped += n;
}

void flow_graph(struct flow *f, uint64_t n)
{
	f->graphs += n;
}

static void tell(FILE *to, const char *how)
{
	const struct flow *f = &engine;
	fprintf(to, "saw %s\nstatus %s\nwhy %s\nruntime %s\nobserves %02x\nasks_calls %d\n", how,
		status, why, runtime_text, options.observes, options.calls);
	fprintf(to, "offset %.0f\ndrift %.0f\nerror %.0f\n", offset, drift, error);
	for (int c = 0; c < CATEGORIES; c++)
		fprintf(to, "%s %llu %lld %.0f\n", category_name((enum category)c),
			(unsigned long long)f->ops[c], (long long)f->sum[c], f->bytes[c]);
	fprintf(to, "untimed %llu\ndropped %llu\ncalls %llu\nwaits %llu\ngraphs %llu\nearly %llu\n",
		(unsigned long long)f->untimed, (unsigned long long)f->dropped,
		(unsigned long long)f->calls, (unsigned long long)f->waits,
		(unsigned long long)f->graphs, (unsigned long long)f->early);
	fprintf(to, "marks %llu %llu %llu %llu\n", (unsigned long long)f->marks[0],
		(unsigned long long)f->marks[1], (unsigned long long)f->marks[2],
		(unsigned long long)f->marks[3]);
	for (int64_t i = 0; i < f->devices.n; i++)
		fprintf(to, "device %s\n", f->devices.list[i]);
	for (int64_t i = 0; i < f->names.n; i++)
		fprintf(to, "name %llu %s\n", (unsigned long long)f->named[i], f->names.list[i]);
	for (int64_t i = 0; i < f->notes.n; i++)
		fprintf(to, "note %s\n", f->notes.list[i]);
}

static void write_down(const char *how)
{
	const char *path = getenv("SAW");
	FILE *to = path ? fopen(path, "ae") : NULL;
	if (!to)
		return;
	(void)pthread_mutex_lock(&lock);
	tell(to, how);
	(void)pthread_mutex_unlock(&lock);
	(void)fclose(to);
}

static void in_child(void)
{
	held = 0;
	if (options.child)
		options.child();
}

int live_start(const struct live_options *o)
{
	options = *o;
	owner = getpid();
	return -pthread_atfork(NULL, NULL, in_child);
}

void live_refuse(const char *new_status, const char *format, ...)
{
	va_list ap;
	must_not_hold();
	va_start(ap, format);
	(void)snprintf(status, sizeof status, "%s", new_status);
	(void)vsnprintf(why, sizeof why, format, ap);
	va_end(ap);
	write_down("refusal");
}

void live_note(const char *format, ...)
{
	char text[TEXT];
	va_list ap;
	must_not_hold();
	va_start(ap, format);
	(void)vsnprintf(text, sizeof text, format, ap);
	va_end(ap);
	(void)pthread_mutex_lock(&lock);
	(void)text_number(&engine.notes, text);
	(void)pthread_mutex_unlock(&lock);
}

void live_runtime(const char *text)
{
	(void)snprintf(runtime_text, sizeof runtime_text, "%s", text);
}

void live_clock(double offset_ns, double drift_ns, double error_ns)
{
	must_not_hold();
	offset = offset_ns;
	drift = drift_ns;
	error = error_ns;
}

struct flow *live_take(void)
{
	if (getpid() != owner)
		return NULL;
	must_not_hold();
	(void)pthread_mutex_lock(&lock);
	held++;
	return &engine;
}

void live_give(struct flow *f)
{
	(void)f;
	held--;
	(void)pthread_mutex_unlock(&lock);
}

void live_pending(int64_t change)
{
	(void)change;
	must_not_hold();
}

void live_thread(void)
{
}

bool live_alone(void)
{
	return false;
}

int64_t live_cpu_begin(void)
{
	return 0;
}

void live_cpu_end(int64_t begun)
{
	(void)begun;
}

int64_t live_cpu_sometimes(void)
{
	return 0;
}

void live_cpu_sometimes_end(int64_t begun)
{
	(void)begun;
}

void live_finish(void)
{
	if (options.flush)
		(void)options.flush(LIVE_FLUSH_LAST);
	write_down("finish");
}
