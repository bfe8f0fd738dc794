/* Reading back in the order of the numbers: two chains of segments, merged. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "lib/spool_impl.h"

void cursor_reset(struct cursor *c)
{
	if (c->fd >= 0)
		(void)close(c->fd);
	*c = (struct cursor){ .fd = -1 };
}

void spool_rewind(struct spool *s)
{
	for (int i = 0; i < SPOOL_CLASSES; i++)
		cursor_reset(&s->cursors[i]);
	s->read = s->state.acked;
	s->read_ns = SPOOL_NO_TIME;
}

/* The next segment of the class: the one that holds what comes after the last read, or the first
 * one above the one that is at its end. 0: none. */
static int cursor_move(struct spool *s, enum spool_class class)
{
	struct cursor *c = &s->cursors[class];
	struct found f;
	bool fresh = c->fd < 0;
	if (c->none == s->begun[class] + 1)
		return 0;
	int rc = segment_find(s, class, fresh ? s->read + 1 : c->first, &f);
	if (rc)
		return rc;
	uint64_t first = fresh && f.from ? f.from : f.above;
	if (!first) {
		c->none = s->begun[class] + 1;
		return 0;
	}
	int fd = segment_open(s, class, first, O_RDONLY);
	if (fd < 0)
		return fd;
	uint64_t last = c->last;
	bool damaged = c->damaged;
	cursor_reset(c);
	*c = (struct cursor){
		.fd = fd, .first = first, .at = SEGMENT_HEAD_BYTES, .last = last, .damaged = damaged
	};
	return 1;
}

static void cursor_pass(struct cursor *c)
{
	c->last = c->head.seq;
	c->at += RECORD_HEAD_BYTES + c->head.n;
	c->peeked = false;
}

/* 1: the head of the next record of the class that is past what was read. */
static int cursor_peek(struct spool *s, enum spool_class class)
{
	struct cursor *c = &s->cursors[class];
	const struct tail *t = &s->tails[class];
	for (;;) {
		if (c->peeked && c->head.seq > s->read)
			return 1;
		if (c->peeked)
			cursor_pass(c);
		int rc = c->fd < 0 ? 0 : record_head_read(c->fd, c->at, class, c->last, &c->head);
		if (rc < 0)
			return rc;
		if (rc) {
			c->peeked = true;
			continue;
		}
		if (c->fd >= 0 && t->fd >= 0 && t->first == c->first && c->at >= t->size)
			return 0; /* more will come here */
		if (c->fd >= 0 && lseek(c->fd, 0, SEEK_END) > (off_t)c->at)
			c->damaged = true; /* or only the torn end of an earlier life */
		rc = cursor_move(s, class);
		if (rc <= 0)
			return rc;
	}
}

/* The class whose next record has the lowest number that is durable; -ENOENT: neither. */
static int next_class(struct spool *s)
{
	int best = -ENOENT;
	for (int i = 0; i < SPOOL_CLASSES; i++) {
		int rc = cursor_peek(s, (enum spool_class)i);
		if (rc < 0)
			return rc;
		uint64_t seq = s->cursors[i].head.seq;
		if (rc && seq <= s->synced && (best < 0 || seq < s->cursors[best].head.seq))
			best = i;
	}
	return best;
}

static int tell_gap(struct spool *s, uint64_t last, int64_t to_real_ns, struct spool_item *ret)
{
	bool damaged = false;
	for (int i = 0; i < SPOOL_CLASSES; i++)
		damaged |= s->cursors[i].damaged;
	*ret = (struct spool_item){ .gap = true,
				    .damaged = damaged,
				    .first_seq = s->read + 1,
				    .seq = last,
				    .real_ns = SPOOL_NO_TIME,
				    .from_real_ns = s->read_ns,
				    .to_real_ns = to_real_ns };
	if (damaged && last > s->state.damaged_to) {
		uint64_t known = s->read > s->state.damaged_to ? s->read : s->state.damaged_to;
		s->state.damaged += last - known;
		s->state.damaged_to = last;
		(void)state_save(s, false, NULL); /* counted at least until the next stop */
	}
	s->read = last;
	return 1;
}

int spool_read(struct spool *s, struct spool_item *ret, struct err *err)
{
	if (s->read >= s->synced)
		return 0; /* asked again and again by who waits: without a look at the disk */
	for (;;) {
		int class = next_class(s);
		if (class == -ENOENT)
			return s->read < s->synced ? tell_gap(s, s->synced, SPOOL_NO_TIME, ret) : 0;
		if (class < 0)
			return err_set(err, class, "read the spool %s: %s", s->path,
				       strerror(-class));
		struct cursor *c = &s->cursors[class];
		if (c->head.seq > s->read + 1)
			return tell_gap(s, c->head.seq - 1, c->head.real_ns, ret);
		int rc = record_bytes_read(c->fd, c->at, &c->head, &s->data, &s->data_cap);
		if (rc < 0)
			return err_set(err, rc, "read the spool %s: %s", s->path, strerror(-rc));
		struct record_head h = c->head;
		uint64_t before = c->last;
		cursor_pass(c);
		c->damaged = !rc;
		if (!rc) { /* torn, its number may come again in the next segment */
			c->last = before;
			continue;
		}
		*ret = (struct spool_item){ .class = h.class,
					    .seq = h.seq,
					    .first_seq = h.seq,
					    .real_ns = h.real_ns,
					    .from_real_ns = h.real_ns,
					    .to_real_ns = h.real_ns,
					    .bytes = s->data,
					    .n = h.n };
		s->read = h.seq;
		s->read_ns = h.real_ns;
		return 1;
	}
}
