/* What processes say that could not keep their marks. */
#define _GNU_SOURCE
#include "schema/marklog.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/file.h"

static_assert(sizeof(struct marklog_loss) == 256, "layout");
static_assert(offsetof(struct marklog_losses, slots) == 256, "layout");

#define UNATTACHED_MAX ((size_t)1 << 20)
#define SENTENCES_MAX 1000

int marklog_losses_create(const char *folder, struct err *err)
{
	char path[4096];
	int n = snprintf(path, sizeof path, "%s/" MARKLOG_LOSSES, folder);
	if (n < 0 || (size_t)n >= sizeof path)
		return err_set(err, -ENAMETOOLONG, "%s: %s", folder, strerror(ENAMETOOLONG));
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return err_set(err, -errno, "create %s: %s", path, strerror(errno));
	int rc = -posix_fallocate(fd, 0, sizeof(struct marklog_losses));
	if (!rc && pwrite(fd, MARKLOG_LOSSES_MAGIC, sizeof MARKLOG_LOSSES_MAGIC, 0) < 0)
		rc = -errno;
	if (close(fd) && !rc)
		rc = -errno;
	if (!rc)
		return 0;
	(void)unlink(path);
	return err_set(err, rc, "reserve %s: %s", path, strerror(-rc));
}

struct sentences {
	struct arena *arena;
	struct txts *to;
	size_t cap;
	bool failed;
};

static void say(struct sentences *s, const char *sentence)
{
	const char **items =
		arena_grow(s->arena, s->to->items, &s->cap, s->to->n + 1, sizeof *items);
	if (!items || !sentence) {
		s->failed = true;
		return;
	}
	s->to->items = items;
	items[s->to->n++] = sentence;
}

static void say_losses(struct sentences *s, const struct marklog_losses *l)
{
	uint64_t n = l->next < MARKLOG_LOSS_SLOTS ? l->next : MARKLOG_LOSS_SLOTS;
	for (uint64_t i = 0; i < n && !s->failed; i++) {
		const struct marklog_loss *x = &l->slots[i];
		if (!x->used)
			say(s, "a process ended while it said why it could not keep its marks");
		else if (x->used == MARKLOG_LOSS_SAID && x->entries == MARKLOG_ENTRIES_UNKNOWN)
			say(s,
			    arena_printf(s->arena,
					 "process %" PRIu32 " could not %.*s its mark log: %s; "
					 "how many finished entries are lost is not known",
					 x->pid, (int)sizeof x->what, x->what, strerror(x->error)));
		else if (x->used == MARKLOG_LOSS_SAID)
			say(s, arena_printf(s->arena,
					    "process %" PRIu32 " could not %.*s its mark log: %s; "
					    "%" PRIu64 " finished entries are lost",
					    x->pid, (int)sizeof x->what, x->what,
					    strerror(x->error), x->entries));
	}
	if (l->next > n)
		say(s, arena_printf(s->arena, "%" PRIu64 " more processes lost their marks",
				    l->next - n));
}

/* Of a process without a log; or of a collector, which speaks of its picture
 * (collectors/live_write.c). */
static void say_line(struct sentences *s, const char *line)
{
	bool picture = line && strncmp(line, "picture ", strlen("picture ")) == 0;
	if (!line)
		s->failed = true;
	else
		say(s, arena_printf(s->arena, "%s%s", picture ? "" : "marks are missing: ", line));
}

static void say_lines(struct sentences *s, char *text)
{
	char *rest = text, *line;
	while (!s->failed && (line = strsep(&rest, "\n")))
		if (*line && s->to->n < SENTENCES_MAX)
			say_line(s, line);
}

static void say_links(struct sentences *s, const char *folder)
{
	DIR *all = opendir(folder);
	if (!all)
		return; /* then the other files were not there either */
	const struct dirent *e;
	while (!s->failed && (e = readdir(all))) {
		char target[512];
		if (strncmp(e->d_name, MARKLOG_LOSS_LINK, strlen(MARKLOG_LOSS_LINK)) != 0)
			continue;
		ssize_t n = readlinkat(dirfd(all), e->d_name, target, sizeof target);
		if (n > 0 && s->to->n < SENTENCES_MAX)
			say_line(s, arena_printf(s->arena, "%.*s", (int)n, target));
	}
	(void)closedir(all);
}

/* -ENOENT is no failure: then nobody said anything. */
static int slurp(struct buf *b, const char *folder, const char *name, struct err *err)
{
	char path[4096];
	int n = snprintf(path, sizeof path, "%s/%s", folder, name);
	if (n < 0 || (size_t)n >= sizeof path)
		return err_set(err, -ENAMETOOLONG, "%s: %s", folder, strerror(ENAMETOOLONG));
	/* Others may write to this folder: a pipe or a link of this name is not followed. */
	struct stat st;
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0
				       : err_set(err, -errno, "open %s: %s", path, strerror(errno));
	int rc = fstat(fd, &st) ? -errno : S_ISREG(st.st_mode) ? 0 : -EPERM;
	if (rc)
		(void)err_set(err, rc, "%s is no file", path);
	b->max = UNATTACHED_MAX;
	if (!rc)
		rc = file_read_fd(b, fd, path, err);
	(void)close(fd);
	return rc;
}

int marklog_losses_read(const char *folder, struct arena *a, struct txts *ret_sentences,
			struct err *err)
{
	struct txts found = { .n = 0 };
	struct sentences s = { .arena = a, .to = &found };
	struct buf losses = { .max = 0 }, lines = { .max = 0 };
	int rc = slurp(&losses, folder, MARKLOG_LOSSES, err);
	if (!rc)
		rc = slurp(&lines, folder, MARKLOG_UNATTACHED, err);
	if (!rc && losses.len >= sizeof(struct marklog_losses) &&
	    !memcmp(losses.data, MARKLOG_LOSSES_MAGIC, sizeof MARKLOG_LOSSES_MAGIC)) {
		struct marklog_losses l;
		memcpy(&l, losses.data, sizeof l);
		say_losses(&s, &l);
	}
	if (!rc && lines.len)
		say_lines(&s, lines.data);
	if (!rc)
		say_links(&s, folder);
	if (!rc && s.failed)
		rc = err_set(err, -ENOMEM, "%s: out of memory", folder);
	buf_done(&losses);
	buf_done(&lines);
	if (!rc)
		*ret_sentences = found;
	return rc;
}
