/* Makes a capture of one process (schema/iocap.h): takes texts, handles and calls, gives blocks of
 * bytes to a sink. Bounded memory (IOCAP_MEMORY_MAX), whatever the calls are; no lock, no clock, no
 * malloc: it takes whole pages from the kernel, so it may run within any call of a program. */
#ifndef CORE_IOCAP_WRITE_H
#define CORE_IOCAP_WRITE_H

#include "schema/iocap.h"

#define IOCAP_MEMORY_MAX ((size_t)24 << 20)

/* Where bytes go. 0, or a negative errno, after which nothing more is given: the capture is what
 * came before, without an end. */
struct iocap_sink {
	int (*append)(void *self, const void *bytes, size_t n);
	/* What is under way, in place of what was so given before; empty: nothing is any more. So
	 * that a process that is killed leaves it. NULL: not wanted. */
	int (*replace)(void *self, const void *bytes, size_t n);
	void *self;
};

struct iocap_writer;

/* -ENOMEM. Texts of p are copied. p->step_ns 0 is 1. The sink must outlive the writer. */
int iocap_writer_new(struct iocap_writer **ret, const struct iocap_process *p,
		     const struct iocap_sink *sink);

/* Each before the first event that names it; numbers in any order. */
void iocap_put_text(struct iocap_writer *w, uint32_t number, const char *text, size_t bytes);
void iocap_put_handle(struct iocap_writer *w, const struct iocap_handle *h);
/* Events of one thread in their order; threads in any. */
void iocap_put_events(struct iocap_writer *w, const struct io_event *e, size_t n);
void iocap_put_dropped(struct iocap_writer *w, uint64_t calls);

/* So that all until now can be read when the process is killed. all: where nothing comes after,
 * this was the end (exec, perhaps). */
void iocap_flush(struct iocap_writer *w, bool all);

/* All there is: closes what is open and says that this is the end. 0, or what the sink answered
 * when it failed, or -ENOMEM when something was lost for lack of memory. */
int iocap_finish(struct iocap_writer *w);
void iocap_writer_free(struct iocap_writer *w); /* NULL is fine; without finish: as if killed now */

uint64_t iocap_written_bytes(const struct iocap_writer *w);

#endif
