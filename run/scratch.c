/* Scratch folders and their locks. */
#define _GNU_SOURCE
#include "run/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/file.h"

#define LOCK_NAME "lock"

static void prefix(char text[64])
{
	(void)snprintf(text, 64, "roimeter-%ld-", (long)getuid());
}

/* The lock is taken before it gets its name: a folder with a free lock is a dead run's. */
static int take_lock(struct scratch *s, struct err *err)
{
	char fresh[SCRATCH_PATH_BYTES + 32], name[SCRATCH_PATH_BYTES + 32];
	(void)snprintf(fresh, sizeof fresh, "%s/%s.new", s->path, LOCK_NAME);
	(void)snprintf(name, sizeof name, "%s/%s", s->path, LOCK_NAME);
	s->lock = open(fresh, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (s->lock < 0 || flock(s->lock, LOCK_EX | LOCK_NB) || rename(fresh, name))
		return err_set(err, -errno, "lock %s: %s", name, strerror(errno));
	return 0;
}

static int make_in(struct scratch *s, const char *base, struct err *err)
{
	char start[64];
	prefix(start);
	int n = snprintf(s->path, sizeof s->path, "%s/%s%ld-XXXXXX", base, start, (long)getpid());
	if (n < 0 || (size_t)n >= sizeof s->path - 64) /* room for what goes below */
		return err_set(err, -ENAMETOOLONG, "the path of the scratch folder is too long: %s",
			       base);
	if (!mkdtemp(s->path)) {
		int rc = -errno;
		s->path[0] = 0;
		return err_set(err, rc,
			       "make a scratch folder in %s: %s; choose another with [run] scratch",
			       base, strerror(-rc));
	}
	return take_lock(s, err);
}

int scratch_open(struct scratch *s, const char *base, struct err *err)
{
	const char *const places[] = { "/dev/shm", getenv("XDG_RUNTIME_DIR"), getenv("TMPDIR"),
				       "/tmp" };
	int rc = -ENOENT;
	*s = (struct scratch){ .lock = -1 };
	if (base) {
		scratch_sweep(base);
		rc = make_in(s, base, err);
	}
	for (size_t i = 0; !base && rc && i < sizeof places / sizeof *places; i++) {
		if (!places[i] || places[i][0] != '/')
			continue;
		scratch_sweep(places[i]);
		scratch_close(s);
		rc = make_in(s, places[i], err);
	}
	if (rc)
		scratch_close(s);
	return rc;
}

void scratch_close(struct scratch *s)
{
	if (s->path[0])
		(void)file_remove_tree(s->path, NULL);
	if (s->path[0] && s->lock >= 0)
		(void)close(s->lock);
	*s = (struct scratch){ .lock = -1 };
}

void scratch_sweep(const char *base)
{
	char start[64];
	prefix(start);
	DIR *dir = opendir(base);
	if (!dir)
		return;
	for (struct dirent *e; (e = readdir(dir));) {
		char path[SCRATCH_PATH_BYTES], lock[SCRATCH_PATH_BYTES + 16];
		struct stat st;
		if (strncmp(e->d_name, start, strlen(start)) != 0)
			continue;
		int n = snprintf(path, sizeof path, "%s/%s", base, e->d_name);
		if (n < 0 || (size_t)n >= sizeof path || lstat(path, &st) || !S_ISDIR(st.st_mode) ||
		    st.st_uid != getuid())
			continue;
		(void)snprintf(lock, sizeof lock, "%s/%s", path, LOCK_NAME);
		int fd = open(lock, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
		if (fd < 0)
			continue; /* being made just now, or not of this kind */
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			(void)file_remove_tree(path, NULL);
		(void)close(fd);
	}
	(void)closedir(dir);
}
