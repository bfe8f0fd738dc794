/* Files of the kernel, read again and again. */
#define _GNU_SOURCE
#include "agent/sample_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "schema/wire.h"

#define FIRST_ROOM ((size_t)8 << 10)
/* /proc/stat of 1024 CPUs has 120 KB, mountstats 2 KB for each NFS mount. */
#define MAX_ROOM ((size_t)1 << 20)

static bool make_room(struct sample_reader *r)
{
	size_t room = r->room ? r->room * 2 : FIRST_ROOM;
	if (room > MAX_ROOM)
		return false;
	char *text = realloc(r->text, room);
	if (!text)
		return false;
	r->text = text;
	r->room = room;
	return true;
}

/* What did not fit is left out with the line that it began in: half a number is another number. */
static size_t cut_line(const char *text, size_t n)
{
	const char *end = memrchr(text, '\n', n);
	return end ? (size_t)(end - text) + 1 : 0;
}

static int read_text(struct sample_reader *r, int fd, enum sample_whole whole, struct str *ret)
{
	size_t n = 0;
	if (!r->text && !make_room(r))
		return -ENOMEM;
	for (;;) {
		ssize_t got = pread(fd, r->text + n, r->room - n, (off_t)n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		n += (size_t)got;
		if (!got || (whole == SAMPLE_ONE_PIECE && n < r->room))
			break;
		if (n == r->room && !make_room(r)) {
			n = cut_line(r->text, n);
			break;
		}
	}
	r->bytes += (double)n;
	*ret = (struct str){ .p = r->text, .n = n };
	return 0;
}

static int open_below(const struct sample_reader *r, const char *path)
{
	char full[PATH_MAX];
	int n = snprintf(full, sizeof full, "%s%s", r->root, path);
	if (n < 0 || (size_t)n >= sizeof full)
		return -ENAMETOOLONG;
	int fd = open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

void sample_file_close(struct sample_reader *r, struct sample_file *f)
{
	if (f->fd < 0)
		return;
	(void)close(f->fd);
	f->fd = -1;
	r->kept--;
}

int sample_read(struct sample_reader *r, struct sample_file *f, const char *path,
		enum sample_whole whole, struct str *ret, struct err *err)
{
	if (r->mono_ns < f->next_ns)
		return -EAGAIN;
	const char *doing = "open";
	bool kept = f->fd >= 0;
	int fd = kept ? f->fd : open_below(r, path);
	int rc = fd < 0 ? fd : 0;
	if (!rc) {
		doing = "read";
		rc = read_text(r, fd, whole, ret);
	}
	if (!rc && !kept && r->kept < r->max_kept) {
		f->fd = fd;
		r->kept++;
	} else if (kept && rc) {
		sample_file_close(r, f); /* what is there now under this name may work again */
	} else if (!kept && fd >= 0) {
		(void)close(fd);
	}
	if (!rc) {
		f->pace.pause_ns = 0;
		return 0;
	}
	f->pace.max_ns = SAMPLE_SLOWEST_NS;
	f->next_ns = pace_next(&f->pace, r->mono_ns, false);
	return err_set(err, rc, "%s %s: %s", doing, path ? path : "again", strerror(-rc));
}

void sample_reader_done(struct sample_reader *r)
{
	free(r->text);
	r->text = NULL;
	r->room = 0;
}

bool sample_absent(int rc)
{
	/* EOPNOTSUPP: PSI that was switched off at boot. ENODEV: a control group that was removed.
	 */
	return rc == -ENOENT || rc == -ENOTDIR || rc == -EOPNOTSUPP || rc == -ENODEV;
}

void sample_put_value(struct buf *b, const char *name, double value)
{
	batch_pair_put(b, str_of(name), value);
}

void sample_put_thing(struct buf *b, const char *kind, struct str thing,
		      const struct text_key *keys, size_t n, const double *values)
{
	char name[512];
	size_t most = 400; /* a path may be longer, but nobody reads that */
	int at = snprintf(name, sizeof name, "%s.%.*s.", kind,
			  (int)(thing.n < most ? thing.n : most), thing.p);
	for (size_t i = 0; at > 0 && i < n; i++) {
		(void)snprintf(name + at, sizeof name - (size_t)at, "%s", keys[i].name);
		sample_put_value(b, name, values[i]);
	}
}

void sample_put_left_out(struct buf *b, const char *name, unsigned n)
{
	if (n)
		sample_put_value(b, name, n);
}
