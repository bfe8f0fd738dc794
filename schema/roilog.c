/* Which format it is, files and folders, the list of logs. */
#define _GNU_SOURCE
#include "schema/roilog.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/file.h"
#include "lib/num.h"
#include "schema/hpcperflog.h"
#include "schema/marklog.h"

#define STDIN_MAX_BYTES ((size_t)1 << 30)

struct roi_log *roilogs_add(struct roi_logs *logs, const char *file)
{
	void *items =
		arena_grow(&logs->arena, logs->items, &logs->cap, logs->n + 1, sizeof *logs->items);
	if (!items)
		return NULL;
	logs->items = items;
	struct roi_log *log = arena_alloc(&logs->arena, sizeof *log);
	char *name = arena_strdup(&logs->arena, file);
	if (!log || !name)
		return NULL;
	log->file = name;
	log->first_begin_ns = log->last_end_ns = ROI_UNKNOWN;
	log->first_begin_real = log->last_end_real = ROI_UNKNOWN;
	log->mark_cost_ns = log->clock_error_ns = NAN;
	logs->items[logs->n++] = log;
	return log;
}

static int by_entry_end(const void *a, const void *b)
{
	const struct roi_entry *x = a, *y = b;
	return x->end_ns < y->end_ns ? -1 : x->end_ns > y->end_ns;
}

static int by_exclude_end(const void *a, const void *b)
{
	const struct roi_exclude *x = a, *y = b;
	return x->end_ns < y->end_ns ? -1 : x->end_ns > y->end_ns;
}

/* Threads end up in the file one after the other; core/roi.c relies on the order. */
static void put_in_order(struct roi_log *log)
{
	bool sorted = true;
	for (size_t i = 1; i < log->n_entries && sorted; i++)
		sorted = log->entries[i - 1].end_ns <= log->entries[i].end_ns;
	if (!sorted)
		qsort(log->entries, log->n_entries, sizeof *log->entries, by_entry_end);
	sorted = true;
	for (size_t i = 1; i < log->n_excludes && sorted; i++)
		sorted = log->excludes[i - 1].end_ns <= log->excludes[i].end_ns;
	if (!sorted)
		qsort(log->excludes, log->n_excludes, sizeof *log->excludes, by_exclude_end);
}

int roilog_parse(struct roi_logs *logs, const char *file, const void *bytes, size_t n,
		 struct err *err)
{
	size_t before = logs->n;
	int rc;
	if (marklog_is(bytes, n))
		rc = marklog_parse(logs, file, bytes, n, err);
	else if (hpcperflog_is(bytes, n))
		rc = hpcperflog_parse(logs, file, bytes, n, err);
	else if (n == 0)
		rc = err_set(err, -EINVAL, "%s: empty, so neither a region log nor its version",
			     file);
	else
		rc = err_set(err, -EINVAL,
			     "%s:1: not a region log of a known version; expected "
			     "\"# hpcperf-roi-log 2\", or a log of roimeter",
			     file);
	if (rc) {
		logs->n = before;
		return rc;
	}
	for (size_t i = before; i < logs->n; i++)
		if (logs->items[i]->threads > 1)
			put_in_order(logs->items[i]);
	return 0;
}

/* Mapped, not read: a log of 10^6 entries is 60 MB that would only be copied. */
static int read_file(struct roi_logs *logs, int fd, const char *path, size_t size, struct err *err)
{
	if (size == 0)
		return roilog_parse(logs, path, "", 0, err);
	void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	if (bytes == MAP_FAILED)
		return err_set(err, -errno, "map %s: %s", path, strerror(errno));
	int rc = roilog_parse(logs, path, bytes, size, err);
	(void)munmap(bytes, size);
	return rc;
}

static int read_stream(struct roi_logs *logs, const char *path, struct err *err)
{
	struct buf b = { .max = STDIN_MAX_BYTES };
	int rc = file_read(&b, path, err);
	if (!rc)
		rc = roilog_parse(logs, strcmp(path, "-") == 0 ? "standard input" : path,
				  b.data ? b.data : "", b.len, err);
	buf_done(&b);
	return rc;
}

/* What a folder holds beside logs is left alone: the first bytes decide. */
static bool looks_like_log(int fd)
{
	char head[64];
	ssize_t n = pread(fd, head, sizeof head, 0);
	return n > 0 && (marklog_is(head, (size_t)n) || hpcperflog_is(head, (size_t)n));
}

/* One name in a folder. Answers 0 for what is no log. */
static int read_below(struct roi_logs *logs, const char *path, struct err *err)
{
	struct stat st;
	int rc = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 && errno == ENXIO) /* a socket */
		return 0;
	if (fd < 0)
		return err_set(err, -errno, "open %s: %s", path, strerror(errno));
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && looks_like_log(fd))
		rc = read_file(logs, fd, path, (size_t)st.st_size, err);
	(void)close(fd);
	return rc;
}

static int read_folder(struct roi_logs *logs, const char *path, struct err *err)
{
	struct dirent **names;
	int n = scandir(path, &names, NULL, alphasort);
	if (n < 0)
		return err_set(err, -errno, "open folder %s: %s", path, strerror(errno));
	int first_rc = 0, more = 0;
	for (int i = 0; i < n; i++) {
		struct err why = { "" };
		char *below = NULL;
		int rc = 0;
		if (names[i]->d_name[0] != '.') {
			if (asprintf(&below, "%s/%s", path, names[i]->d_name) < 0)
				below = NULL;
			rc = below ? read_below(logs, below, &why) : -ENOMEM;
		}
		if (rc && !first_rc)
			first_rc = err_set(err, rc, "%s", why.text[0] ? why.text : "out of memory");
		else if (rc)
			more++;
		free(below);
		free(names[i]);
	}
	free(names);
	return more ? err_wrap(err, first_rc, "%d logs can't be read; the first", more + 1)
		    : first_rc;
}

int roilog_read(struct roi_logs *logs, const char *path, struct err *err)
{
	if (strcmp(path, "-") == 0)
		return read_stream(logs, path, err);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_set(err, -errno, "open %s: %s", path, strerror(errno));
	struct stat st;
	int rc;
	if (fstat(fd, &st))
		rc = err_set(err, -errno, "stat %s: %s", path, strerror(errno));
	else if (S_ISDIR(st.st_mode))
		rc = read_folder(logs, path, err);
	else if (S_ISREG(st.st_mode))
		rc = read_file(logs, fd, path, (size_t)st.st_size, err);
	else
		rc = read_stream(logs, path, err);
	(void)close(fd);
	return rc;
}

void roilogs_done(struct roi_logs *logs)
{
	arena_free(&logs->arena);
	*logs = (struct roi_logs){ 0 };
}
