/* What is said when the marks can't be kept. */
#define _GNU_SOURCE
#include "marker/guest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* More than one process may have the same number: containers share the agent's folder. */
#define LINKS 10

static struct marklog_loss *loss_slot(const char *folder)
{
	char path[4096];
	int n = snprintf(path, sizeof path, "%s/" MARKLOG_LOSSES, folder);
	if (n < 0 || (size_t)n >= sizeof path)
		return NULL;
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return NULL;
	struct stat st;
	struct marklog_losses *l = MAP_FAILED;
	if (!fstat(fd, &st) && st.st_size >= (off_t)sizeof *l)
		l = mmap(NULL, sizeof *l, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	(void)close(fd);
	if (l == MAP_FAILED)
		return NULL;
	if (!memcmp(l->magic, MARKLOG_LOSSES_MAGIC, sizeof MARKLOG_LOSSES_MAGIC)) {
		uint64_t i = __atomic_fetch_add(&l->next, 1, __ATOMIC_RELAXED);
		if (i < MARKLOG_LOSS_SLOTS)
			return &l->slots[i]; /* stays mapped: lost entries are counted there */
	}
	(void)munmap(l, sizeof *l);
	return NULL;
}

/* Past its limit for files the kernel would end the program with SIGXFSZ. */
static bool within_limit(int fd, size_t more)
{
	struct rlimit limit;
	struct stat st;
	if (getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return true;
	return !fstat(fd, &st) && (uint64_t)st.st_size + more <= limit.rlim_cur;
}

static bool loss_line(const char *folder, const char *line)
{
	char path[4096];
	int n = snprintf(path, sizeof path, "%s/" MARKLOG_UNATTACHED, folder);
	if (n < 0 || (size_t)n >= sizeof path)
		return false;
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0)
		return false;
	size_t len = strlen(line);
	bool written = within_limit(fd, len) && write(fd, line, len) == (ssize_t)len;
	(void)close(fd);
	return written;
}

/* Without a descriptor or a byte of space there is still the name of a link: its target is the
 * text. */
static bool loss_link(const char *folder, char *line)
{
	char path[4096];
	line[strcspn(line, "\n")] = 0;
	for (int i = 0; i < LINKS; i++) {
		char more[16] = "";
		if (i)
			(void)snprintf(more, sizeof more, ".%d", i);
		int n = snprintf(path, sizeof path, "%s/" MARKLOG_LOSS_LINK "%ld%s", folder,
				 (long)getpid(), more);
		if (n < 0 || (size_t)n >= sizeof path)
			return false;
		if (!symlink(line, path))
			return true;
		if (errno != EEXIST)
			return false;
	}
	return false;
}

/* In the agent's folder only a link: what others may write to there is not for us to open, and the
 * owner of a mapped file could cut it under us. */
static void loss_to_agent(const char *line)
{
	char folder[4096], longer[768];
	if (!place_of_agent(folder, sizeof folder))
		return;
	const char *run = getenv("ROIMETER_RUN"), *exec = getenv("ROIMETER_EXEC");
	(void)snprintf(longer, sizeof longer, "%.*s%s%.64s%s%.64s", (int)strcspn(line, "\n"), line,
		       run ? ", of run " : "", run ? run : "", run && exec ? " " : "",
		       run && exec ? exec : "");
	(void)loss_link(folder, longer);
}

void loss_say(struct guest *g, int error, const char *what, uint64_t entries)
{
	const char *folder = getenv("ROIMETER_LOG");
	bool asked = folder && *folder;
	struct marklog_loss *loss = asked ? loss_slot(folder) : NULL;
	if (loss) {
		loss->pid = (uint32_t)getpid();
		loss->error = error;
		loss->entries = entries;
		(void)snprintf(loss->what, sizeof loss->what, "%s", what);
		PUT_RELEASE(loss->used, MARKLOG_LOSS_SAID);
		g->loss = loss;
		return;
	}
	char line[256], why[128];
	(void)snprintf(line, sizeof line, "pid %ld: could not %s its mark log: %s\n",
		       (long)getpid(), what, strerror_r(error, why, sizeof why));
	if (!asked || (!loss_line(folder, line) && !loss_link(folder, line)))
		loss_to_agent(line);
}
