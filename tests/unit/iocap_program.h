/* Programs that never were: the calls of made-up loops over made-up files, as the collector would
 * hand them over; and a capture of them in memory. */
#ifndef TESTS_UNIT_IOCAP_PROGRAM_H
#define TESTS_UNIT_IOCAP_PROGRAM_H

#include <stdlib.h>
#include <string.h>

#include "core/iocap_write.h"
#include "schema/iocap.h"

struct program {
	uint64_t dice;
	struct io_event *events;
	size_t n, cap;
	struct iocap_handle *handles; /* by number */
	size_t n_handles, handles_cap;
	uint32_t n_texts, thread;
	uint64_t now;
};

static inline uint64_t program_dice(struct program *p, uint64_t n)
{
	p->dice = p->dice * 6364136223846793005u + 1442695040888963407u;
	return (p->dice >> 24) % n;
}

static inline struct io_event *program_call(struct program *p, enum io_call call, int64_t result)
{
	if (p->n == p->cap) {
		p->cap = p->cap ? p->cap * 2 : 4096;
		p->events = realloc(p->events, p->cap * sizeof *p->events);
	}
	struct io_event *e = &p->events[p->n++];
	*e = (struct io_event){
		.call = (uint16_t)call, .thread = p->thread, .result = result, .at = -1
	};
	p->now += 20 + program_dice(p, 40);
	e->begin_ns = p->now;
	p->now += 1300 + program_dice(p, 200);
	e->end_ns = p->now;
	return e;
}

static inline uint32_t program_open(struct program *p, uint32_t path)
{
	if (p->n_handles == p->handles_cap) {
		p->handles_cap = p->handles_cap ? p->handles_cap * 2 : 1024;
		p->handles = realloc(p->handles, p->handles_cap * sizeof *p->handles);
	}
	uint32_t number = (uint32_t)p->n_handles + 4;
	p->handles[p->n_handles++] = (struct iocap_handle){
		.number = number, .path = path, .flags = 0102, .device = 66, .inode = 1000 + path
	};
	struct io_event *e = program_call(p, IO_open, number);
	e->arg[0] = path;
	e->arg[1] = 0102;
	e->arg[2] = 0644;
	if (path > p->n_texts)
		p->n_texts = path;
	return number;
}

static inline void program_close(struct program *p, uint32_t handle)
{
	program_call(p, IO_close, 0)->arg[0] = handle;
}

static inline void program_rw(struct program *p, enum io_call call, uint32_t handle, int64_t n,
			      int64_t offset, bool positioned)
{
	struct io_event *e = program_call(p, call, n);
	e->arg[0] = handle;
	e->arg[1] = n;
	if (positioned)
		e->arg[2] = offset;
	e->at = offset;
}

static inline void program_done(struct program *p)
{
	free(p->events);
	free(p->handles);
	*p = (struct program){ 0 };
}

/* ---- a sink in memory ---- */

struct memory {
	uint8_t *data, *open;
	size_t n, cap, n_open, fail_after;
};

static inline int memory_append(void *self, const void *bytes, size_t n)
{
	struct memory *m = self;
	if (m->fail_after && m->n + n > m->fail_after)
		return -28;
	if (m->n + n > m->cap) {
		m->cap = (m->n + n) * 2;
		m->data = realloc(m->data, m->cap);
	}
	memcpy(m->data + m->n, bytes, n);
	m->n += n;
	return 0;
}

static inline int memory_replace(void *self, const void *bytes, size_t n)
{
	struct memory *m = self;
	m->open = realloc(m->open, n ? n : 1);
	if (n)
		memcpy(m->open, bytes, n);
	m->n_open = n;
	return 0;
}

static inline void memory_done(struct memory *m)
{
	free(m->data);
	free(m->open);
	*m = (struct memory){ 0 };
}

static inline struct iocap_writer *program_writer(struct memory *m, bool timed, uint64_t step)
{
	struct iocap_sink sink = { memory_append, memory_replace, m };
	struct iocap_process facts = { .pid = 77,
				       .parent = 1,
				       .rank = 3,
				       .host = "node1",
				       .program = "made up",
				       .source = "live",
				       .timed = timed,
				       .step_ns = step,
				       .real_minus_mono_ns = -5 };
	struct iocap_writer *w = NULL;
	return iocap_writer_new(&w, &facts, &sink) ? NULL : w;
}

static inline void program_text(uint32_t number, char text[64], size_t *n)
{
	*n = (size_t)snprintf(text, 64, "/data/run%u/step.%04u.h5", number % 3, number);
}

/* As the collector does: texts and handles before they are named, events in batches. */
static inline void program_put(struct iocap_writer *w, const struct program *p, size_t batch)
{
	for (uint32_t t = 1; t <= p->n_texts; t++) {
		char text[64];
		size_t n;
		program_text(t, text, &n);
		iocap_put_text(w, t, text, n);
	}
	for (size_t i = 0; i < p->n_handles; i++)
		iocap_put_handle(w, &p->handles[i]);
	for (size_t i = 0; i < p->n; i += batch)
		iocap_put_events(w, &p->events[i], p->n - i < batch ? p->n - i : batch);
}

#endif
