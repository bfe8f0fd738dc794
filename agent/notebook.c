/* A slot, little endian:
 *
 *	0   "roirun-1"
 *	8   XXH3-64 of the rest
 *	16  uid, pid (4 each)
 *	24  start, space, announced_real_ns (8 each)
 *	48  boot (40) and run (128), each with a NUL, zeros behind it
 *	216 zeros
 *
 * All zeros: free. Slots do not cross pages, so a kill leaves the old one or the new one. */
#define _GNU_SOURCE
#include "agent/notebook.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define NAME "runs"
#define MAGIC "roirun-1"
#define SUM_FROM 16u
#define BOOT_AT 48u
#define RUN_AT 88u
#define GROW 16u /* slots, one page: the first ones have room on a disk that is full */

static_assert(4096 % NOTEBOOK_SLOT == 0, "a slot lies within a page");
static_assert(RUN_AT + sizeof((struct noted *)0)->run <= NOTEBOOK_SLOT, "it fits");

struct slot {
	struct noted run; /* its name is empty: free */
	bool dirty;
};

struct notebook {
	struct slot *slots;
	size_t n; /* as many as the file has room for */
	size_t dirty;
	bool unsynced; /* written, and not durable */
	int fd;
};

/* ---- one slot ------------------------------------------------------------------------------- */

static void put_number(unsigned char *to, uint64_t x, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		to[i] = (unsigned char)(x >> (8 * i));
}

static uint64_t get_number(const unsigned char *from, unsigned bytes)
{
	uint64_t x = 0;
	for (unsigned i = 0; i < bytes; i++)
		x |= (uint64_t)from[i] << (8 * i);
	return x;
}

static uint64_t sum(const unsigned char slot[NOTEBOOK_SLOT])
{
	return XXH3_64bits(slot + SUM_FROM, NOTEBOOK_SLOT - SUM_FROM);
}

/* A word with zeros behind it, that fills the field as its own copy would. */
static bool is_word(const unsigned char *field, size_t room, bool may_be_empty)
{
	size_t n = 0;
	while (n < room && field[n] > ' ' && field[n] < 127)
		n++;
	if (n == room || (!n && !may_be_empty))
		return false;
	for (; n < room; n++)
		if (field[n])
			return false;
	return true;
}

void notebook_slot_make(unsigned char slot[NOTEBOOK_SLOT], const struct noted *run)
{
	memset(slot, 0, NOTEBOOK_SLOT);
	if (!run->run[0])
		return;
	memcpy(slot, MAGIC, 8);
	put_number(slot + 16, run->uid, 4);
	put_number(slot + 20, (uint32_t)run->pid, 4);
	put_number(slot + 24, run->start, 8);
	put_number(slot + 32, run->space, 8);
	put_number(slot + 40, (uint64_t)run->announced_real_ns, 8);
	memcpy(slot + BOOT_AT, run->boot, strnlen(run->boot, sizeof run->boot - 1));
	memcpy(slot + RUN_AT, run->run, strnlen(run->run, sizeof run->run - 1));
	put_number(slot + 8, sum(slot), 8);
}

int notebook_slot_read(struct noted *ret, const unsigned char slot[NOTEBOOK_SLOT])
{
	static const unsigned char zeros[NOTEBOOK_SLOT];
	if (!memcmp(slot, zeros, NOTEBOOK_SLOT))
		return 0;
	if (memcmp(slot, MAGIC, 8) != 0 || get_number(slot + 8, 8) != sum(slot) ||
	    get_number(slot + 20, 4) > INT32_MAX ||
	    !is_word(slot + BOOT_AT, sizeof ret->boot, true) ||
	    !is_word(slot + RUN_AT, sizeof ret->run, false))
		return -EBADMSG;
	*ret = (struct noted){
		.uid = (uid_t)get_number(slot + 16, 4),
		.pid = (pid_t)get_number(slot + 20, 4),
		.start = get_number(slot + 24, 8),
		.space = get_number(slot + 32, 8),
		.announced_real_ns = (int64_t)get_number(slot + 40, 8),
	};
	memcpy(ret->boot, slot + BOOT_AT, sizeof ret->boot);
	memcpy(ret->run, slot + RUN_AT, sizeof ret->run);
	return 1;
}

/* ---- in memory ------------------------------------------------------------------------------ */

static struct slot *find(const struct notebook *b, const char *run)
{
	for (size_t i = 0; i < b->n; i++)
		if (!strcmp(b->slots[i].run.run, run))
			return &b->slots[i];
	return NULL;
}

static void touch(struct notebook *b, struct slot *s)
{
	b->dirty += !s->dirty;
	s->dirty = true;
}

static int widen(struct notebook *b, size_t n)
{
	struct slot *more = n > b->n ? realloc(b->slots, n * sizeof *more) : b->slots;
	if (!more)
		return -ENOMEM;
	for (size_t i = b->n; i < n; i++)
		more[i] = (struct slot){ .dirty = false };
	b->slots = more;
	b->n = n > b->n ? n : b->n;
	return 0;
}

/* Room on disk first: what was put can be written whatever fills the disk meanwhile. */
static int grow(struct notebook *b)
{
	if (b->n >= NOTEBOOK_MAX)
		return -ENOSPC;
	int rc = -posix_fallocate(b->fd, 0, (off_t)(b->n + GROW) * NOTEBOOK_SLOT);
	return rc ? rc : widen(b, b->n + GROW);
}

int notebook_put(struct notebook *b, const struct noted *run, struct err *err)
{
	size_t length = strnlen(run->run, sizeof run->run);
	if (length == sizeof run->run ||
	    !is_word((const unsigned char *)run->run, length + 1, false))
		return err_set(err, -EINVAL, "a name that is no run's");
	struct slot *s = find(b, run->run);
	if (!s)
		s = find(b, "");
	size_t had = b->n;
	int rc = s ? 0 : grow(b);
	if (rc)
		return err_set(err, rc, "%zu runs are noted, and there is no room for one more: %s",
			       b->n, strerror(-rc));
	if (!s)
		s = &b->slots[had];
	s->run = *run;
	touch(b, s);
	return 0;
}

void notebook_remove(struct notebook *b, const char *run)
{
	struct slot *s = *run ? find(b, run) : NULL;
	if (!s)
		return;
	s->run = (struct noted){ .pid = 0 };
	touch(b, s);
}

const struct noted *notebook_next(const struct notebook *b, size_t *at)
{
	while (*at < b->n) {
		const struct noted *run = &b->slots[(*at)++].run;
		if (run->run[0])
			return run;
	}
	return NULL;
}

/* ---- on disk -------------------------------------------------------------------------------- */

static int write_slot(const struct notebook *b, size_t i)
{
	unsigned char bytes[NOTEBOOK_SLOT];
	notebook_slot_make(bytes, &b->slots[i].run);
	ssize_t n;
	do
		n = pwrite(b->fd, bytes, sizeof bytes, (off_t)i * NOTEBOOK_SLOT);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof bytes ? 0 : n < 0 ? -errno : -ENOSPC;
}

int notebook_sync(struct notebook *b, struct err *err)
{
	int rc = 0;
	for (size_t i = 0; !rc && b->dirty && i < b->n; i++) {
		if (!b->slots[i].dirty)
			continue;
		rc = write_slot(b, i);
		if (rc)
			break;
		b->slots[i].dirty = false;
		b->dirty--;
		b->unsynced = true;
	}
	if (!rc && b->unsynced && fdatasync(b->fd))
		rc = -errno;
	if (rc)
		return err_set(err, rc, "write down which runs are open: %s", strerror(-rc));
	b->unsynced = false;
	return 0;
}

/* Damaged slots, and such that speak of a run a second time, are made free. */
static int read_all(struct notebook *b, size_t *ret_damaged)
{
	unsigned char bytes[NOTEBOOK_SLOT];
	ssize_t n;
	*ret_damaged = 0;
	for (size_t i = 0; i < NOTEBOOK_MAX; i++) {
		do
			n = pread(b->fd, bytes, sizeof bytes, (off_t)i * NOTEBOOK_SLOT);
		while (n < 0 && errno == EINTR);
		if (n <= 0)
			return n ? -errno : 0;
		struct noted run = { .pid = 0 };
		memset(bytes + n, 0, sizeof bytes - (size_t)n); /* cut off within a slot */
		int is = notebook_slot_read(&run, bytes);
		bool free_it = is < 0 || (is && find(b, run.run));
		int rc = widen(b, i + 1);
		if (rc)
			return rc;
		if (free_it) {
			touch(b, &b->slots[i]);
			++*ret_damaged;
		} else {
			b->slots[i].run = run;
		}
	}
	return 0;
}

static int sync_folder(const char *folder)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc = fd < 0 || fsync(fd) ? -errno : 0;
	if (fd >= 0)
		(void)close(fd);
	return rc;
}

static int open_in(struct notebook *b, const char *folder, size_t *ret_damaged, struct err *err)
{
	char path[4096];
	if (snprintf(path, sizeof path, "%s/" NAME, folder) >= (int)sizeof path)
		return err_set(err, -ENAMETOOLONG, "%s: %s", folder, strerror(ENAMETOOLONG));
	b->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (b->fd < 0)
		return err_set(err, -errno, "open %s: %s", path, strerror(errno));
	int rc = read_all(b, ret_damaged);
	if (!rc && !b->n) {
		rc = grow(b);
		b->unsynced = true;
	}
	if (!rc && b->unsynced)
		rc = sync_folder(folder); /* it is new: its name is to stay */
	return rc ? err_set(err, rc, "%s: %s", path, strerror(-rc)) : 0;
}

int notebook_open(struct notebook **ret, const char *folder, size_t *ret_damaged, struct err *err)
{
	size_t damaged = 0;
	struct notebook *b = calloc(1, sizeof *b);
	if (!b)
		return err_set(err, -ENOMEM, "out of memory");
	b->fd = -1;
	int rc = open_in(b, folder, &damaged, err);
	if (rc) {
		notebook_close(b);
		return rc;
	}
	if (ret_damaged)
		*ret_damaged = damaged;
	*ret = b;
	return 0;
}

void notebook_close(struct notebook *b)
{
	if (!b)
		return;
	if (b->fd >= 0)
		(void)close(b->fd);
	free(b->slots);
	free(b);
}
