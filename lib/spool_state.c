/* What the spool must remember beside its records: two slots in one file, written by turns. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>
#include <xxhash.h>

#include "lib/spool_impl.h"

static const char magic[8] = { 'r', 'o', 'i', 's', 't', 'a', 't', '1' };

/* A cursor over a slot that either writes or reads: the order of the fields stands here once. */
struct slot {
	unsigned char *p;
	bool read;
};

static void pass(struct slot *c, uint64_t *x)
{
	uint64_t got = 0;
	for (int i = 0; i < 8; i++) {
		if (!c->read)
			c->p[i] = (unsigned char)(*x >> 8 * i);
		got |= (uint64_t)c->p[i] << 8 * i;
	}
	*x = got;
	c->p += 8;
}

static void pass_time(struct slot *c, int64_t *x)
{
	uint64_t u = (uint64_t)*x;
	pass(c, &u);
	*x = (int64_t)u;
}

static void pass_loss(struct slot *c, struct spool_loss *l)
{
	pass(c, &l->records);
	pass(c, &l->bytes);
	pass_time(c, &l->from_real_ns);
	pass_time(c, &l->to_real_ns);
}

static void pass_state(struct slot *c, struct spool_state *st)
{
	pass(c, &st->generation);
	pass(c, &st->acked);
	pass(c, &st->floor);
	pass(c, &st->dropping);
	pass(c, &st->damaged);
	pass(c, &st->damaged_to);
	pass_loss(c, &st->dropped);
	for (int i = 0; i < SPOOL_CLASSES; i++)
		pass_loss(c, &st->refused[i]);
}

static void slot_make(unsigned char bytes[STATE_BYTES], struct spool_state *st)
{
	memset(bytes, 0, STATE_BYTES);
	memcpy(bytes, magic, 8);
	memcpy(bytes + 8, st->id, 16);
	struct slot c = { .p = bytes + 24 };
	pass_state(&c, st);
	uint64_t sum = XXH3_64bits(bytes, STATE_BYTES - 8);
	c.p = bytes + STATE_BYTES - 8;
	pass(&c, &sum);
}

static bool slot_read(int fd, int slot, struct spool_state *ret)
{
	unsigned char bytes[STATE_BYTES];
	uint64_t sum;
	if (pread(fd, bytes, sizeof bytes, (off_t)slot * STATE_SLOT_BYTES) !=
		    (ssize_t)sizeof bytes ||
	    memcmp(bytes, magic, 8) != 0)
		return false;
	struct slot c = { .p = bytes + STATE_BYTES - 8, .read = true };
	pass(&c, &sum);
	if (sum != XXH3_64bits(bytes, STATE_BYTES - 8))
		return false;
	memcpy(ret->id, bytes + 8, 16);
	ret->id[16] = 0;
	c.p = bytes + 24;
	pass_state(&c, ret);
	return true;
}

static bool slots_read(int fd, struct spool_state *ret)
{
	struct spool_state one, two;
	bool a = slot_read(fd, 0, &one), b = slot_read(fd, 1, &two);
	if (a && (!b || one.generation > two.generation))
		*ret = one;
	else if (b)
		*ret = two;
	return a || b;
}

int state_save(struct spool *s, bool durable, struct err *err)
{
	unsigned char bytes[STATE_BYTES];
	s->state.generation++;
	slot_make(bytes, &s->state);
	off_t at = (off_t)(s->state.generation % 2) * STATE_SLOT_BYTES;
	ssize_t n = pwrite(s->state_fd, bytes, sizeof bytes, at);
	if (n >= 0 && n != (ssize_t)sizeof bytes)
		errno = ENOSPC;
	if (n != (ssize_t)sizeof bytes || (durable && fdatasync(s->state_fd)))
		return err_set(err, -errno, "write %s/state: %s", s->path, strerror(errno));
	s->state_dirty = !durable;
	return 0;
}

static int id_make(char id[17])
{
	unsigned char random[8];
	if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
		return -errno;
	for (int i = 0; i < 8; i++)
		(void)snprintf(id + 2 * i, 3, "%02x", random[i]);
	return 0;
}

/* Both slots in a new file that takes its name when it is whole. What is read from segments that
 * outlived their state begins with the first of them: what came before is not known. */
static int state_make(struct spool *s, struct err *err)
{
	struct spool_loss none = { .from_real_ns = SPOOL_NO_TIME, .to_real_ns = SPOOL_NO_TIME };
	struct found marks, context;
	int rc = segment_find(s, SPOOL_MARK, 0, &marks);
	if (!rc)
		rc = segment_find(s, SPOOL_CONTEXT, 0, &context);
	s->state = (struct spool_state){ .dropped = none, .refused = { none, none } };
	if (!rc)
		rc = id_make(s->state.id);
	if (rc)
		return err_set(err, rc, "make %s/state: %s", s->path, strerror(-rc));
	uint64_t lowest = marks.lowest;
	if (!lowest || (context.lowest && context.lowest < lowest))
		lowest = context.lowest;
	s->state.acked = lowest ? lowest - 1 : 0;
	s->state_fd = openat(s->folder, "state.new", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (s->state_fd < 0)
		return err_set(err, -errno, "create %s/state.new: %s", s->path, strerror(errno));
	rc = state_save(s, false, err);
	if (!rc)
		rc = state_save(s, true, err);
	if (!rc && (renameat(s->folder, "state.new", s->folder, "state") || fsync(s->folder)))
		rc = err_set(err, -errno, "make %s/state: %s", s->path, strerror(errno));
	return rc;
}

int state_open(struct spool *s, struct err *err)
{
	s->state_fd = openat(s->folder, "state", O_RDWR | O_CLOEXEC);
	if (s->state_fd < 0 && errno != ENOENT)
		return err_set(err, -errno, "open %s/state: %s", s->path, strerror(errno));
	if (s->state_fd >= 0 && slots_read(s->state_fd, &s->state))
		return 0;
	if (s->state_fd >= 0)
		(void)close(s->state_fd);
	return state_make(s, err);
}

void loss_add(struct spool_loss *loss, uint64_t records, uint64_t bytes, int64_t real_ns)
{
	loss->records += records;
	loss->bytes += bytes;
	if (real_ns == SPOOL_NO_TIME)
		return;
	if (loss->from_real_ns == SPOOL_NO_TIME || real_ns < loss->from_real_ns)
		loss->from_real_ns = real_ns;
	if (loss->to_real_ns == SPOOL_NO_TIME || real_ns > loss->to_real_ns)
		loss->to_real_ns = real_ns;
}
