/* The journal's file: lines of JSON, some followed by bytes.
 *   {"journal":1,"cases":[{"app":..,"case":..,"fingerprint":..,"run_id":..}]}
 *   {"begin":i,"run_id":"..","resumed":false}
 *   {"execution":i, ..., "blobs":[["L","name",bytes,packed],...]}   and the packed bytes
 *   {"stored":i,"interrupted":false} */
#define _GNU_SOURCE
#include "run/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/file.h"
#include "lib/num.h"
#include "run/journal_text.h"

#define FILE_MAX ((size_t)1 << 30)
#define SYNC_NS INT64_C(1000000000)
#define LOCK_WAIT_NS INT64_C(4000000000) /* longer than a tree's usual end */

struct journal {
	int fd;
	char *path;
	int64_t synced_ns;
	bool broken; /* a write failed: what follows could not be read */
};

static int64_t monotonic_ns(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void journal_free(struct journal *j)
{
	if (j && j->fd >= 0)
		(void)close(j->fd);
	if (j)
		free(j->path);
	free(j);
}

/* The keeper of a runner that was killed holds its files until the tree has ended: wait for that.
 */
static int lock_file(int fd)
{
	const struct timespec pause = { .tv_nsec = 20000000 };
	int64_t until = monotonic_ns() + LOCK_WAIT_NS;
	while (flock(fd, LOCK_EX | LOCK_NB)) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -errno;
		if (monotonic_ns() > until)
			return -EBUSY;
		(void)nanosleep(&pause, NULL);
	}
	return 0;
}

/* Open and lock; the file may have been removed by its owner between the two. */
static int open_file(struct journal **ret, const char *folder, const char *key, int flags,
		     struct err *err)
{
	struct journal *j = calloc(1, sizeof *j);
	if (!j)
		return err_set(err, -ENOMEM, "out of memory");
	j->fd = -1;
	int rc = asprintf(&j->path, "%s/%s.journal", folder, key) < 0 ? -ENOMEM : 0;
	for (int tries = 0; !rc && tries < 10; tries++) {
		struct stat mine, now;
		j->fd = open(j->path, O_RDWR | O_APPEND | O_CLOEXEC | flags, 0600);
		if (j->fd < 0)
			rc = -errno;
		else
			rc = lock_file(j->fd);
		if (!rc && fstat(j->fd, &mine) == 0 && stat(j->path, &now) == 0 &&
		    mine.st_ino == now.st_ino)
			break;
		if (!rc) {
			(void)close(j->fd);
			j->fd = -1;
		}
	}
	if (!rc && j->fd < 0)
		rc = -EAGAIN;
	if (rc) {
		(void)err_set(err, rc, "journal %s: %s", j->path ? j->path : key,
			      rc == -EBUSY ? "the same run is under way; wait for its end"
					   : strerror(-rc));
		journal_free(j);
		return rc;
	}
	*ret = j;
	return 0;
}

static int append(struct journal *j, const struct buf *b, bool sync_now, struct err *err)
{
	if (j->broken)
		return -EIO;
	int rc = b->failed ? -ENOMEM : 0;
	for (size_t at = 0; !rc && at < b->len;) {
		ssize_t n = write(j->fd, b->data + at, b->len - at);
		if (n > 0)
			at += (size_t)n;
		else if (n < 0 && errno != EINTR)
			rc = -errno;
	}
	int64_t now = monotonic_ns();
	if (!rc && (sync_now || now - j->synced_ns >= SYNC_NS)) {
		rc = fdatasync(j->fd) ? -errno : 0;
		j->synced_ns = now;
	}
	if (rc) {
		j->broken = true;
		(void)err_set(err, rc, "write %s: %s", j->path, strerror(-rc));
	}
	return rc;
}

static int append_head(struct journal *j, const struct journal_case *cases, size_t n,
		       struct err *err)
{
	struct buf b = { 0 };
	journal_put_head(&b, cases, n);
	int rc = append(j, &b, true, err);
	buf_done(&b);
	return rc;
}

static int read_all(struct journal *j, struct buf *b, struct err *err)
{
	b->max = FILE_MAX;
	return file_read(b, j->path, err);
}

int journal_create(struct journal **ret, const char *folder, const char *key,
		   const struct journal_case *cases, size_t n, size_t *ret_discarded,
		   struct err *err)
{
	struct journal *j = NULL;
	struct buf old = { 0 };
	*ret_discarded = 0;
	int rc = file_mkdirs(folder, err);
	if (!rc)
		rc = open_file(&j, folder, key, O_CREAT, err);
	if (rc)
		return rc;
	if (read_all(j, &old, NULL) == 0)
		*ret_discarded = journal_count(old.data, old.len);
	buf_done(&old);
	if (ftruncate(j->fd, 0))
		rc = err_set(err, -errno, "empty %s: %s", j->path, strerror(errno));
	if (!rc)
		rc = append_head(j, cases, n, err);
	if (rc) {
		journal_free(j);
		return rc;
	}
	*ret = j;
	return 0;
}

int journal_resume(struct journal **ret, const char *folder, const char *key,
		   struct journal_case *cases, size_t n,
		   int (*each)(void *arg, size_t i, struct capture *c), void *arg, struct err *err)
{
	struct journal *j = NULL;
	struct buf b = { 0 };
	size_t good = 0;
	int rc = open_file(&j, folder, key, 0, err);
	if (rc)
		return rc;
	rc = read_all(j, &b, err);
	if (!rc)
		rc = journal_get(b.data, b.len, cases, n, each, arg, &good, err);
	/* Cut off the half-written end. What was not taken over stays in the file, unread: the new
	 * head below says which cases count from now on. */
	if (!rc && ftruncate(j->fd, (off_t)good))
		rc = err_set(err, -errno, "cut %s: %s", j->path, strerror(errno));
	if (!rc)
		rc = append_head(j, cases, n, err);
	buf_done(&b);
	if (rc) {
		journal_free(j);
		return rc;
	}
	*ret = j;
	return 0;
}

int journal_begin(struct journal *j, size_t i, const char *run_id, bool resumed, struct err *err)
{
	struct buf b = { 0 };
	buf_printf(&b, "{\"begin\":%zu,\"run_id\":\"%s\",\"resumed\":%s}\n", i, run_id,
		   resumed ? "true" : "false");
	int rc = append(j, &b, false, err);
	buf_done(&b);
	return rc;
}

int journal_add(struct journal *j, size_t i, const struct capture *c, struct err *err)
{
	struct buf b = { 0 };
	int rc = journal_put_execution(&b, i, c);
	if (!rc)
		rc = append(j, &b, false, err);
	buf_done(&b);
	return rc;
}

int journal_stored(struct journal *j, size_t i, bool interrupted, struct err *err)
{
	struct buf b = { 0 };
	buf_printf(&b, "{\"stored\":%zu,\"interrupted\":%s}\n", i, interrupted ? "true" : "false");
	int rc = append(j, &b, true, err);
	buf_done(&b);
	return rc;
}

void journal_close(struct journal *j, bool done)
{
	if (j && done)
		(void)unlink(j->path); /* while the lock is held */
	journal_free(j);
}
