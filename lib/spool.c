/* The spool: opening, appending, making room, syncing, acknowledging. */
#define _GNU_SOURCE
#include "lib/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/uio.h>
#include <unistd.h>
#include <xxhash.h>

#include "lib/file.h"
#include "lib/spool_impl.h"

#define SEGMENT_MIN (64u << 10)
#define SEGMENT_MAX (16u << 20)

/* ---- open and close ---------------------------------------------------------------------------
 */

/* To the end of what is whole. A torn end is left, and the tail closed: nothing is ever cut away
 * that somebody may want to look at, and the next record begins a segment of its own. */
static int tail_scan(struct spool *s, enum spool_class class, struct tail *t)
{
	struct record_head h;
	int rc = 1;
	t->size = SEGMENT_HEAD_BYTES;
	while (rc > 0) {
		rc = record_head_read(t->fd, t->size, class, t->last, &h);
		if (rc <= 0)
			break;
		rc = record_bytes_read(t->fd, t->size, &h, &s->data, &s->data_cap);
		if (rc == 0) { /* damage in the middle is stepped over, at the end it is the end */
			struct record_head behind;
			uint64_t next = t->size + RECORD_HEAD_BYTES + h.n;
			rc = record_head_read(t->fd, next, class, h.seq, &behind);
		}
		if (rc > 0) {
			t->size += RECORD_HEAD_BYTES + h.n;
			t->last = h.seq;
		}
	}
	off_t end = lseek(t->fd, 0, SEEK_END);
	if (!rc && (end < 0 || fdatasync(t->fd)))
		rc = -errno;
	t->synced = t->size;
	if (!rc && (uint64_t)end != t->size) {
		(void)close(t->fd);
		t->fd = -1;
	}
	return rc;
}

/* The last segment of a class that holds a record. Those above it were begun by a life that ended
 * before it had written one; they are left, as all that can't be read. */
static int tail_open(struct spool *s, enum spool_class class)
{
	struct tail *t = &s->tails[class];
	struct found f;
	int rc = segment_find(s, class, UINT64_MAX, &f);
	while (!rc && f.from && !t->last) {
		uint64_t first = f.from;
		segment_leave(s, class, t->first);
		int fd = segment_open(s, class, first, O_RDWR);
		if (fd < 0)
			return fd;
		*t = (struct tail){ .fd = fd, .first = first };
		rc = tail_scan(s, class, t);
		if (!rc && !t->last)
			rc = segment_find(s, class, first - 1, &f);
	}
	if (!t->last)
		segment_leave(s, class, t->first);
	return rc;
}

/* Segments of a class all of whose numbers have arrived: those below another that begins at or
 * before the next number, and a tail whose last has. */
static int remove_acked(struct spool *s, enum spool_class class)
{
	const struct tail *t = &s->tails[class];
	struct found f;
	int rc;
	for (;;) {
		bool tail_gone = t->fd >= 0 && t->last <= s->state.acked && t->size == t->synced &&
				 t->size > s->segment_bytes / 2;
		/* An agent with little to do acknowledges each second: the folder is not read for
		 * it where the answer is known. */
		if (s->alone[class] == ALONE_NONE ||
		    (t->fd >= 0 && s->alone[class] == t->first && !tail_gone))
			return 0;
		rc = segment_find(s, class, 0, &f);
		if (rc)
			return rc;
		s->alone[class] = f.count == 1 ? f.lowest : f.count ? 0 : ALONE_NONE;
		if (!f.lowest)
			return 0;
		uint64_t first = f.lowest;
		bool gone = tail_gone && t->first == first;
		rc = segment_find(s, class, first, &f);
		if (rc || !(gone || (f.above && f.above <= s->state.acked + 1)))
			return rc;
		if (s->state_dirty)
			rc = state_save(s, true, NULL);
		if (!rc)
			rc = segment_remove(s, class, first);
		if (rc)
			return rc;
	}
}

static int look_through(struct spool *s)
{
	int rc = fdatasync(s->state_fd) ? -errno : 0; /* before it is acted upon */
	if (!rc && s->state.dropping)
		rc = segment_remove(s, SPOOL_CONTEXT, s->state.dropping);
	s->next = s->state.floor > s->state.acked ? s->state.floor : s->state.acked;
	for (int i = 0; !rc && i < SPOOL_CLASSES; i++) {
		struct found f;
		rc = tail_open(s, (enum spool_class)i);
		if (!rc)
			rc = segment_find(s, (enum spool_class)i, 0, &f);
		if (!rc)
			s->bytes += f.bytes;
		if (s->tails[i].last > s->next)
			s->next = s->tails[i].last;
	}
	if (!rc && fsync(s->folder))
		rc = -errno;
	s->synced = s->next++;
	for (int i = 0; !rc && i < SPOOL_CLASSES; i++)
		rc = remove_acked(s, (enum spool_class)i);
	return rc;
}

static int open_in(struct spool *s, const char *folder, struct err *err)
{
	s->path = strdup(folder);
	if (!s->path)
		return err_set(err, -ENOMEM, "open spool %s: out of memory", folder);
	int rc = file_mkdirs(folder, err);
	if (rc)
		return rc;
	s->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->folder >= 0)
		s->lock = openat(s->folder, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (s->lock < 0)
		return err_set(err, -errno, "open spool %s: %s", folder, strerror(errno));
	if (flock(s->lock, LOCK_EX | LOCK_NB))
		return err_set(err, errno == EWOULDBLOCK ? -EBUSY : -errno, "spool %s: %s", folder,
			       errno == EWOULDBLOCK ? "another agent uses it; each needs its own"
						    : strerror(errno));
	rc = state_open(s, err);
	if (rc)
		return rc;
	rc = look_through(s);
	if (rc)
		return err_set(err, rc, "open spool %s: %s", folder, strerror(-rc));
	spool_rewind(s);
	return 0;
}

int spool_open(struct spool **ret, const char *folder, uint64_t max_bytes, uint32_t segment_bytes,
	       struct err *err)
{
	if (max_bytes < SPOOL_MIN_BYTES)
		return err_set(err, -EINVAL, "a spool of %llu bytes: at least %u are needed",
			       (unsigned long long)max_bytes, SPOOL_MIN_BYTES);
	struct spool *s = calloc(1, sizeof *s);
	if (!s)
		return err_set(err, -ENOMEM, "open spool %s: out of memory", folder);
	s->folder = s->lock = s->state_fd = -1;
	for (int i = 0; i < SPOOL_CLASSES; i++)
		s->tails[i].fd = s->cursors[i].fd = -1;
	s->max_bytes = max_bytes;
	s->segment_bytes = segment_bytes ? segment_bytes : max_bytes / 16;
	if (!segment_bytes && s->segment_bytes < SEGMENT_MIN)
		s->segment_bytes = SEGMENT_MIN;
	if (!segment_bytes && s->segment_bytes > SEGMENT_MAX)
		s->segment_bytes = SEGMENT_MAX;
	int rc = open_in(s, folder, err);
	if (rc) {
		spool_close(s);
		return rc;
	}
	*ret = s;
	return 0;
}

static void close_fd(int fd)
{
	if (fd >= 0)
		(void)close(fd);
}

void spool_close(struct spool *s)
{
	if (!s)
		return;
	for (int i = 0; i < SPOOL_CLASSES; i++) {
		close_fd(s->tails[i].fd);
		close_fd(s->cursors[i].fd);
	}
	close_fd(s->state_fd);
	close_fd(s->lock);
	close_fd(s->folder);
	free(s->data);
	free(s->path);
	free(s);
}

/* ---- room ---------------------------------------------------------------------------------------
 */

/* What a context segment still holds that has not arrived. */
static int count_segment(struct spool *s, uint64_t first, struct spool_loss *loss)
{
	int fd = segment_open(s, SPOOL_CONTEXT, first, O_RDONLY);
	if (fd < 0)
		return fd;
	struct record_head h = { .seq = 0 };
	uint64_t at = SEGMENT_HEAD_BYTES;
	int rc;
	while ((rc = record_head_read(fd, at, SPOOL_CONTEXT, h.seq, &h)) > 0) {
		if (h.seq > s->state.acked)
			loss_add(loss, 1, h.n, h.real_ns);
		at += RECORD_HEAD_BYTES + h.n;
	}
	(void)close(fd);
	return rc;
}

/* The segment to drop: not the one that is being read, as long as there is another, since what is
 * on its way is not yet lost. 0: none. */
static int choose_context(struct spool *s, uint64_t *ret_first)
{
	struct found f;
	const struct cursor *c = &s->cursors[SPOOL_CONTEXT];
	int rc = segment_find(s, SPOOL_CONTEXT, 0, &f);
	*ret_first = f.lowest;
	if (rc || !f.lowest || c->fd < 0 || c->first != f.lowest || s->read < f.lowest ||
	    s->read == s->state.acked)
		return rc;
	rc = segment_find(s, SPOOL_CONTEXT, f.lowest, &f);
	if (f.above)
		*ret_first = f.above;
	return rc;
}

/* Counted first, then deleted: after a kill in between it is deleted when the spool is opened. All
 * is durable before, so that a number is only ever given up together with its record. */
static int drop_context(struct spool *s)
{
	uint64_t first = 0;
	struct spool_state before = s->state;
	int rc = choose_context(s, &first);
	if (!rc && !first)
		return -ENOSPC;
	if (!rc &&
	    (s->synced != s->next - 1 || s->folder_dirty)) /* the last drop, too, is past undoing */
		rc = spool_sync(s, NULL);
	if (!rc)
		rc = count_segment(s, first, &s->state.dropped);
	if (!rc) {
		s->state.dropping = first;
		s->state.floor = s->synced > s->state.floor ? s->synced : s->state.floor;
		rc = state_save(s, true, NULL);
	}
	if (rc) {
		uint64_t generation = s->state.generation; /* what was written may be there */
		s->state = before;
		s->state.generation = generation;
		return rc;
	}
	return segment_remove(s, SPOOL_CONTEXT, first);
}

static int make_room(struct spool *s, uint64_t need)
{
	int rc = 0;
	while (!rc && s->bytes + need > s->max_bytes)
		rc = drop_context(s);
	return rc;
}

/* ---- append -------------------------------------------------------------------------------------
 */

/* All of it or nothing. -EIO when what is half there can't be taken back: the file is given up. */
static int write_at(struct tail *t, struct iovec *iov, int count, size_t n)
{
	size_t done = 0;
	int rc = 0;
	while (done < n) {
		ssize_t now = pwritev(t->fd, iov, count, (off_t)(t->size + done));
		if (now < 0 && errno == EINTR)
			continue;
		if (now <= 0) {
			rc = now ? -errno : -ENOSPC;
			break;
		}
		done += (size_t)now;
		for (size_t left = (size_t)now; left;) {
			size_t step = left < iov->iov_len ? left : iov->iov_len;
			iov->iov_base = (char *)iov->iov_base + step;
			iov->iov_len -= step;
			left -= step;
			if (!iov->iov_len && left) {
				iov++;
				count--;
			}
		}
	}
	if (!rc) {
		t->size += n;
		return 0;
	}
	if (done && ftruncate(t->fd, (off_t)t->size)) {
		(void)close(t->fd);
		t->fd = -1;
	}
	return rc == -EDQUOT ? -ENOSPC : rc;
}

static int begin_segment(struct spool *s, enum spool_class class)
{
	struct tail *t = &s->tails[class];
	unsigned char head[SEGMENT_HEAD_BYTES];
	struct iovec iov = { .iov_base = head, .iov_len = sizeof head };
	segment_head_make(head, class);
	/* One of this name may be left that was begun and holds no record. */
	int rc = segment_remove(s, class, s->next);
	if (!rc && s->state.dropping == s->next) { /* that was another of this name */
		s->state.dropping = 0;
		rc = state_save(s, true, NULL);
	}
	if (rc)
		return rc;
	int fd = segment_open(s, class, s->next, O_RDWR | O_CREAT | O_EXCL);
	if (fd < 0)
		return fd;
	*t = (struct tail){ .fd = fd, .first = s->next };
	s->alone[class] = 0;
	s->folder_dirty = true;
	s->begun[class]++;
	rc = write_at(t, &iov, 1, sizeof head);
	if (rc) {
		segment_leave(s, class, s->next);
		(void)segment_remove(s, class, s->next);
		return rc;
	}
	s->bytes += sizeof head;
	return 0;
}

/* The tail that takes the record: a new one when it is full. All is durable before the old one is
 * left, so that only tails are ever dirty. */
static int tail_for(struct spool *s, enum spool_class class, uint64_t need)
{
	struct tail *t = &s->tails[class];
	if (t->fd >= 0 && t->last && t->size + need > s->segment_bytes) {
		int rc = t->synced == t->size ? 0 : spool_sync(s, NULL);
		if (rc)
			return rc == -ENOSPC ? -EIO : rc;
		(void)close(t->fd);
		*t = (struct tail){ .fd = -1 };
	}
	return t->fd >= 0 ? 0 : begin_segment(s, class);
}

static int append(struct spool *s, const struct record_head *h, const void *bytes)
{
	unsigned char head[RECORD_HEAD_BYTES];
	uint64_t need = sizeof head + h->n;
	int rc = make_room(s, need + SEGMENT_HEAD_BYTES);
	if (!rc)
		rc = tail_for(s, h->class, need);
	if (rc)
		return rc;
	struct tail *t = &s->tails[h->class];
	struct iovec iov[2] = { { .iov_base = head, .iov_len = sizeof head },
				{ .iov_base = (void *)(uintptr_t)bytes, .iov_len = h->n } };
	record_head_make(head, h);
	rc = write_at(t, iov, 2, need);
	if (rc)
		return rc;
	t->last = h->seq;
	s->bytes += need;
	s->next++;
	return 0;
}

int spool_append(struct spool *s, enum spool_class class, int64_t real_ns, const void *bytes,
		 size_t n, struct err *err)
{
	uint64_t whole = (uint64_t)n + RECORD_HEAD_BYTES + 2 * SEGMENT_HEAD_BYTES;
	if (!n || n > SPOOL_MAX_RECORD || whole > s->max_bytes)
		return err_set(err, -E2BIG, "spool %s: a record of %zu bytes does not fit", s->path,
			       n);
	struct record_head h = { .class = class,
				 .n = (uint32_t)n,
				 .seq = s->next,
				 .real_ns = real_ns,
				 .sum = XXH3_64bits(bytes, n) };
	int rc = append(s, &h, bytes);
	while (rc == -ENOSPC && !drop_context(s)) /* the disk is full before the spool is */
		rc = append(s, &h, bytes);
	if (!rc)
		return 0;
	loss_add(&s->state.refused[class], 1, n, real_ns);
	(void)state_save(s, false, NULL);
	return err_set(err, rc, "spool %s: %s record refused: %s", s->path,
		       class == SPOOL_MARK ? "a mark" : "a context",
		       rc == -ENOSPC ? "it is full of marks, or the disk is" : strerror(-rc));
}

/* ---- sync ---------------------------------------------------------------------------------------
 */

/* The kernel forgets what it could not write, and a second fdatasync would say all is well: what is
 * not durable is taken back. Numbers go back only if all of it can be. */
static void take_back(struct spool *s)
{
	bool all = true;
	for (int i = 0; i < SPOOL_CLASSES; i++) {
		struct tail *t = &s->tails[i];
		s->cursors[i].peeked = false;
		if (t->fd < 0 || t->size == t->synced)
			continue;
		uint64_t keep = t->synced ? t->synced : SEGMENT_HEAD_BYTES;
		if (ftruncate(t->fd, (off_t)keep)) {
			all = false;
			segment_leave(s, (enum spool_class)i, t->first);
			continue;
		}
		s->bytes -= t->size - keep;
		t->size = keep;
		if (!t->synced)
			(void)segment_remove(s, (enum spool_class)i, t->first);
	}
	if (all)
		s->next = (s->synced > s->state.floor ? s->synced : s->state.floor) + 1;
}

static int sync_all(struct spool *s)
{
	for (int i = 0; i < SPOOL_CLASSES; i++) {
		struct tail *t = &s->tails[i];
		if (t->fd >= 0 && t->size != t->synced && fdatasync(t->fd))
			return -errno;
	}
	if (s->folder_dirty && fsync(s->folder))
		return -errno;
	if (s->state_dirty && fdatasync(s->state_fd))
		return -errno;
	return 0;
}

int spool_sync(struct spool *s, struct err *err)
{
	int rc = sync_all(s);
	if (rc) {
		take_back(s);
		return err_set(err, rc, "sync the spool %s: %s", s->path, strerror(-rc));
	}
	for (int i = 0; i < SPOOL_CLASSES; i++)
		s->tails[i].synced = s->tails[i].size;
	s->folder_dirty = s->state_dirty = false;
	s->synced = s->next - 1;
	return 0;
}

/* ---- acknowledge --------------------------------------------------------------------------------
 */

int spool_ack(struct spool *s, uint64_t seq, struct err *err)
{
	if (seq > s->synced)
		return err_set(err, -EINVAL, "spool %s: number %llu was never sent", s->path,
			       (unsigned long long)seq);
	if (seq <= s->state.acked)
		return 0;
	s->state.acked = seq;
	s->state.floor = s->synced > s->state.floor ? s->synced : s->state.floor;
	int rc = state_save(s, false, err);
	if (rc)
		return rc;
	if (s->read < seq)
		spool_rewind(s);
	for (int i = 0; !rc && i < SPOOL_CLASSES; i++)
		rc = remove_acked(s, (enum spool_class)i);
	return rc ? err_set(err, rc, "spool %s: delete what has arrived: %s", s->path,
			    strerror(-rc))
		  : 0;
}

/* ---- looks --------------------------------------------------------------------------------------
 */

const char *spool_id(const struct spool *s)
{
	return s->state.id;
}

uint64_t spool_next_seq(const struct spool *s)
{
	return s->next;
}

void spool_stats(const struct spool *s, struct spool_stats *ret)
{
	*ret = (struct spool_stats){ .bytes = s->bytes,
				     .max_bytes = s->max_bytes,
				     .next_seq = s->next,
				     .synced_seq = s->synced,
				     .acked_seq = s->state.acked,
				     .read_seq = s->read,
				     .dropped = s->state.dropped,
				     .damaged = s->state.damaged };
	for (int i = 0; i < SPOOL_CLASSES; i++)
		ret->refused[i] = s->state.refused[i];
}
