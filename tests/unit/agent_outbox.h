/* Frames that are only numbers, and what came of them: whoever puts frame n knows what must be
 * read. */
#ifndef TESTS_AGENT_OUTBOX_H
#define TESTS_AGENT_OUTBOX_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/outbox.h"
#include "lib/file.h"
#include "schema/roilog.h"
#include "tests/unit/random_record.h"

#define MOST 200000

static char at_folder[64];

static inline int make_folder(void **state)
{
	(void)state;
	(void)snprintf(at_folder, sizeof at_folder, "/tmp/roimeter-outbox.XXXXXX");
	return mkdtemp(at_folder) ? 0 : -1;
}

static inline int remove_folder(void **state)
{
	(void)state;
	return file_remove_tree(at_folder, NULL);
}

static uint64_t the_time = 1000000000;
static inline uint64_t test_clock(void)
{
	return the_time;
}

static inline struct outbox *open_outbox(uint64_t max_bytes, size_t batch_bytes)
{
	struct outbox *o = NULL;
	struct err err = { { 0 } };
	const struct outbox_options options = { .folder = at_folder,
						.max_bytes = max_bytes,
						.host = "node7",
						.boot = "b00t",
						.tool = "test 1",
						.batch_bytes = batch_bytes,
						.clock_ns = test_clock };
	int rc = outbox_open(&o, &options, &err);
	if (rc)
		(void)fprintf(stderr, "%s\n", err.text);
	return rc ? NULL : o;
}

/* Frame n: a process frame, or each third one a context frame; its bytes follow from n. */
static inline bool is_context(uint64_t n)
{
	return n % 3 == 0;
}

static inline int put_number(struct outbox *o, uint64_t n, size_t bytes)
{
	static char noise[1 << 20];
	struct dice d = { n };
	struct frame f;
	for (size_t i = 0; i < bytes; i += 8) {
		uint64_t r = roll(&d);
		memcpy(noise + i, &r, 8);
	}
	if (is_context(n)) {
		frame_clear(&f, FRAME_CONTEXT);
		f.as.context.real_ns = (int64_t)n;
		f.as.context.scope = (struct str){ .p = "node", .n = 4 };
	} else {
		frame_clear(&f, FRAME_PROCESS);
		f.as.process.real_ns = (int64_t)n;
		f.as.process.pid = (int64_t)n;
		f.as.process.run = str_of("20260929T045201Z-0123abcd");
		f.as.process.data = (struct str){ .p = noise, .n = bytes };
	}
	return outbox_put(o, &f, NULL);
}

struct seen {
	unsigned char times[MOST]; /* how often frame n was read */
	uint64_t marks, context, batches, gaps;
	uint64_t lost_process, lost_context, lost_marks; /* as the loss frames say */
	uint64_t loss_frames;
	uint64_t last_seq;
	char text[200];
};

static inline void see_loss(struct seen *s, const struct frame_loss *l)
{
	uint64_t *to = l->what.n == 7 && !memcmp(l->what.p, "process", 7)   ? &s->lost_process
		       : l->what.n == 7 && !memcmp(l->what.p, "context", 7) ? &s->lost_context
									    : &s->lost_marks;
	s->loss_frames++;
	assert_true(l->why.n > 0);
	*to = l->count > *to ? l->count : *to;
	if (l->text.p)
		(void)snprintf(s->text, sizeof s->text, "%.*s", (int)l->text.n, l->text.p);
}

static inline void see_batch(struct outbox *o, struct seen *s, const void *bytes, size_t n,
			     uint64_t seq)
{
	struct batch_in in = { .max_plain = 0 };
	struct frame f;
	int rc;
	assert_int_equal(batch_open(&in, bytes, n, NULL), 0);
	assert_int_equal(in.head.sender.seq, seq);
	assert_int_equal(in.head.sender.agent.n, strlen(outbox_agent(o)));
	assert_int_equal(in.head.sender.spool.n, 16);
	assert_int_equal(in.head.sender.host.n, 5);
	s->batches++;
	s->last_seq = seq;
	while ((rc = batch_next(&in, &f, NULL)) == 1) {
		if (f.type == FRAME_PROCESS) {
			s->times[f.as.process.pid]++;
			s->marks++;
			assert_true(in.head.sender.from_real_ns <= f.as.process.real_ns);
			assert_true(in.head.sender.to_real_ns >= f.as.process.real_ns);
		} else if (f.type == FRAME_CONTEXT) {
			s->times[f.as.context.real_ns]++;
			s->context++;
		} else if (f.type == FRAME_GAP) {
			s->gaps += f.as.gap.last_seq - f.as.gap.first_seq + 1;
			assert_int_equal(f.as.gap.last_seq, seq);
		} else if (f.type == FRAME_LOSS) {
			see_loss(s, &f.as.loss);
		}
	}
	assert_int_equal(rc, 0);
	batch_in_done(&in);
}

/* All there is to be read, and then acknowledged if that is wanted. */
static inline void read_all(struct outbox *o, struct seen *s, bool ack)
{
	struct spool_item item;
	int rc;
	while ((rc = outbox_read(o, &item, NULL)) == 1)
		see_batch(o, s, item.bytes, item.n, item.seq);
	assert_int_equal(rc, 0);
	if (ack)
		assert_int_equal(outbox_ack(o, s->last_seq, NULL), 0);
}

#endif
