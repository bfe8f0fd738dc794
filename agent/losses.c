/* The counts of losses, in a mapped file of fixed size. */
#define _GNU_SOURCE
#include "agent/losses.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINES 128
#define MAGIC "roilost1"

struct line {
	char what[16], why[16], run[64], exec[32], text[160];
	uint64_t count, bytes; /* count 0: the line is free */
	int64_t from_real_ns, to_real_ns;
	uint64_t told, telling; /* as many as a durable, and as the last given frame says */
};

/* Of one machine, so in its own byte order. */
struct file {
	char magic[8];
	uint64_t line_bytes;
	struct line lines[LINES];
};

struct losses {
	struct file *map;
	int fd;
};

static bool is_text(const char *field, size_t room)
{
	return memchr(field, 0, room) != NULL;
}

static bool is_whole(const struct file *f)
{
	if (memcmp(f->magic, MAGIC, sizeof f->magic) != 0 || f->line_bytes != sizeof f->lines[0])
		return false;
	for (size_t i = 0; i < LINES; i++) {
		const struct line *l = &f->lines[i];
		if (!is_text(l->what, sizeof l->what) || !is_text(l->why, sizeof l->why) ||
		    !is_text(l->run, sizeof l->run) || !is_text(l->exec, sizeof l->exec) ||
		    !is_text(l->text, sizeof l->text))
			return false;
	}
	return true;
}

/* The lines come before the magic: a file that was cut off in the making is made again. */
static void begin(struct file *f)
{
	memset(f, 0, sizeof *f);
	f->line_bytes = sizeof f->lines[0];
	memcpy(f->magic, MAGIC, sizeof f->magic);
}

static int map_file(struct losses *l, const char *path, struct err *err)
{
	struct stat st;
	l->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (l->fd < 0 || fstat(l->fd, &st))
		return err_set(err, -errno, "open %s: %s", path, strerror(errno));
	bool is_new = st.st_size == 0;
	int rc = posix_fallocate(l->fd, 0, sizeof *l->map);
	if (rc)
		return err_set(err, -rc, "%s: no room for %zu bytes: %s", path, sizeof *l->map,
			       strerror(rc));
	l->map = mmap(NULL, sizeof *l->map, PROT_READ | PROT_WRITE, MAP_SHARED, l->fd, 0);
	if (l->map == MAP_FAILED) {
		l->map = NULL;
		return err_set(err, -errno, "map %s: %s", path, strerror(errno));
	}
	if (!is_new && !is_whole(l->map)) {
		char *aside = NULL;
		if (asprintf(&aside, "%s.damaged", path) < 0)
			return err_set(err, -ENOMEM, "out of memory");
		rc = rename(path, aside) ? -errno : 0;
		free(aside);
		return rc ? err_set(err, rc, "%s is damaged and can't be put aside: %s", path,
				    strerror(-rc))
			  : -EAGAIN;
	}
	if (is_new)
		begin(l->map);
	for (size_t i = 0; i < LINES; i++)
		l->map->lines[i].telling = l->map->lines[i].told;
	return 0;
}

static void unmap(struct losses *l)
{
	if (l->map)
		(void)munmap(l->map, sizeof *l->map);
	if (l->fd >= 0)
		(void)close(l->fd);
	l->map = NULL;
	l->fd = -1;
}

int losses_open(struct losses **ret, const char *path, struct err *err)
{
	struct losses *l = calloc(1, sizeof *l);
	if (!l)
		return err_set(err, -ENOMEM, "out of memory");
	l->fd = -1;
	int rc = map_file(l, path, err);
	if (rc == -EAGAIN) {
		unmap(l);
		rc = map_file(l, path, err);
	}
	if (rc) {
		losses_close(l);
		return rc;
	}
	*ret = l;
	return 0;
}

void losses_close(struct losses *l)
{
	if (!l)
		return;
	unmap(l);
	free(l);
}

int losses_sync(struct losses *l, struct err *err)
{
	return msync(l->map, sizeof *l->map, MS_SYNC)
		       ? err_set(err, -errno, "sync the counts of losses: %s", strerror(errno))
		       : 0;
}

/* ---- counting -------------------------------------------------------------------------------- */

static bool is(const char *field, size_t room, struct str text)
{
	size_t n = text.n < room - 1 ? text.n : room - 1;
	return strlen(field) == n && (!n || !memcmp(field, text.p, n));
}

static void set(char *field, size_t room, struct str text)
{
	size_t n = text.n < room - 1 ? text.n : room - 1;
	if (n)
		memcpy(field, text.p, n);
	field[n] = 0;
}

#define IS(member, text) is(member, sizeof(member), text)
#define SET(member, text) set(member, sizeof(member), text)

/* The line of this key, or a free one that gets it; NULL: there is none. The last lines are kept
 * for keys without a run, so that there always is one to share. */
static struct line *line_of(struct losses *l, struct str what, struct str why, struct str run,
			    struct str exec)
{
	size_t end = run.n ? LINES - 32 : LINES;
	struct line *unused = NULL;
	for (size_t i = 0; i < end; i++) {
		struct line *line = &l->map->lines[i];
		if (line->count && IS(line->what, what) && IS(line->why, why) &&
		    IS(line->run, run) && IS(line->exec, exec))
			return line;
		if (!line->count && (!unused || !run.n))
			unused = line;
	}
	if (unused) {
		SET(unused->what, what);
		SET(unused->why, why);
		SET(unused->run, run);
		SET(unused->exec, exec);
		unused->from_real_ns = unused->to_real_ns = ROI_UNKNOWN;
		unused->bytes = unused->told = unused->telling = 0;
	}
	return unused;
}

void losses_add(struct losses *l, const struct outbox_loss *loss)
{
	const struct str none = { .p = "", .n = 0 };
	struct str what = str_of(loss->what), why = str_of(loss->why);
	struct line *line = loss->count ? line_of(l, what, why, loss->run, loss->exec) : NULL;
	if (loss->count && !line)
		line = line_of(l, what, why, none, none);
	if (!line)
		return;
	if (loss->text)
		SET(line->text, str_of(loss->text));
	if (loss->from_real_ns != ROI_UNKNOWN &&
	    (line->from_real_ns == ROI_UNKNOWN || loss->from_real_ns < line->from_real_ns))
		line->from_real_ns = loss->from_real_ns;
	if (loss->to_real_ns != ROI_UNKNOWN && loss->to_real_ns > line->to_real_ns)
		line->to_real_ns = loss->to_real_ns; /* unknown is the least of all numbers */
	line->bytes += loss->bytes;
	line->count += loss->count; /* at last: that it is there makes the line one */
}

uint64_t losses_count(const struct losses *l)
{
	uint64_t all = 0;
	for (size_t i = 0; i < LINES; i++)
		all += l->map->lines[i].count;
	return all;
}

/* ---- telling --------------------------------------------------------------------------------- */

static struct str text_or_null(const char *field)
{
	return *field ? str_of(field) : (struct str){ .p = NULL };
}

static void line_frame(const struct line *line, struct frame *ret)
{
	frame_clear(ret, FRAME_LOSS);
	struct frame_loss *f = &ret->as.loss;
	f->what = text_or_null(line->what);
	f->why = text_or_null(line->why);
	f->run = text_or_null(line->run);
	f->exec = text_or_null(line->exec);
	f->text = text_or_null(line->text);
	f->count = line->count;
	f->bytes = line->bytes;
	f->from_real_ns = line->from_real_ns;
	f->to_real_ns = line->to_real_ns;
}

bool losses_next(struct losses *l, size_t *at, struct frame *ret)
{
	while (*at < LINES && l->map->lines[*at].count == l->map->lines[*at].telling)
		++*at;
	if (*at == LINES)
		return false;
	struct line *line = &l->map->lines[(*at)++];
	line->telling = line->count;
	line_frame(line, ret);
	return true;
}

bool losses_each(const struct losses *l, size_t *at, struct frame *ret)
{
	while (*at < LINES && !l->map->lines[*at].count)
		++*at;
	if (*at == LINES)
		return false;
	line_frame(&l->map->lines[(*at)++], ret);
	return true;
}

void losses_told(struct losses *l)
{
	for (size_t i = 0; i < LINES; i++)
		l->map->lines[i].told = l->map->lines[i].telling;
}

void losses_untold(struct losses *l)
{
	for (size_t i = 0; i < LINES; i++)
		l->map->lines[i].telling = l->map->lines[i].told;
}

bool losses_waiting(const struct losses *l)
{
	for (size_t i = 0; i < LINES; i++)
		if (l->map->lines[i].count != l->map->lines[i].telling)
			return true;
	return false;
}
