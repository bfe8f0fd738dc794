/* Who this process is, for the header of its log. A process id alone is no identity: it is used
 * again, and two nodes or containers that share a folder have the same ones. */
#define _GNU_SOURCE
#include "marker/guest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ARGV_MAX ((size_t)64 << 10)

/* At most room - 1 bytes of a small file, NUL behind them. 0 or a negative errno. */
int file_slurp(const char *path, char *text, size_t room, size_t *ret_n)
{
	size_t n = 0;
	text[0] = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ssize_t got;
	while (n < room - 1) {
		got = read(fd, text + n, room - 1 - n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		n += (size_t)got;
	}
	(void)close(fd);
	text[n] = 0;
	*ret_n = n;
	return 0;
}

/* Field 22 of stat; the name in field 2 may hold blanks and parentheses. */
static void start_find(char start[24])
{
	char text[1024];
	size_t n;
	start[0] = 0;
	if (!file_slurp("/proc/self/stat", text, sizeof text, &n)) {
		const char *p = strrchr(text, ')');
		for (int field = 2; p && field < 22; field++)
			p = strchr(p + 1, ' ');
		if (p)
			(void)sscanf(p, "%23[0-9 ]", start);
	}
	const char *digits = start + strspn(start, " ");
	memmove(start, digits, strlen(digits) + 1);
	start[strcspn(start, " ")] = 0;
	if (!start[0]) /* no /proc: the moment of the first mark must do */
		(void)snprintf(start, 24, "m%llu", (unsigned long long)clock_monotonic_ns());
}

static size_t argv_count(void)
{
	char part[4096];
	size_t n = 0;
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	ssize_t got;
	while (n < ARGV_MAX && (got = read(fd, part, sizeof part)) > 0)
		n += (size_t)got;
	(void)close(fd);
	return n < ARGV_MAX ? n : ARGV_MAX;
}

void identity_find(struct identity *id)
{
	size_t n;
	if (file_slurp("/proc/sys/kernel/random/boot_id", id->boot, sizeof id->boot, &n))
		(void)snprintf(id->boot, sizeof id->boot, "unknown");
	id->boot[strcspn(id->boot, "\n")] = 0;
	start_find(id->start);
	id->argv_bytes = argv_count();
}

/* Room for the texts: a dozen short ones, two paths, the arguments. */
size_t identity_room(const struct identity *id)
{
	return (size_t)4096 * 4 + id->argv_bytes;
}

struct texts {
	struct marklog_header *h;
	uint32_t at, end; /* offsets in the file */
};

static void text_put(struct texts *t, enum marklog_text which, const char *text, size_t n)
{
	if (n > t->end - t->at)
		n = t->end - t->at;
	memcpy((char *)t->h + t->at, text, n);
	t->h->texts[which].offset = t->at;
	t->h->texts[which].bytes = (uint32_t)n;
	t->at += (uint32_t)n;
}

static void text_puts(struct texts *t, enum marklog_text which, const char *text)
{
	if (text && *text)
		text_put(t, which, text, strnlen(text, 4096));
}

static void launch_put(struct texts *t)
{
	struct launch l = { .job = "" };
	launch_find(&l);
	text_puts(t, MARKLOG_RANK, l.rank);
	text_puts(t, MARKLOG_JOB, l.job);
	text_puts(t, MARKLOG_GROUP, l.group);
	text_puts(t, MARKLOG_WORLD, l.world);
}

static void argv_write(struct texts *t, size_t n)
{
	char *to = (char *)t->h + t->at;
	size_t got, room = t->end - t->at;
	if (n + 1 > room)
		n = room - 1;
	/* One byte more than counted tells whether there is more. */
	char more[2];
	if (file_slurp("/proc/self/cmdline", to, n + 1, &got))
		return;
	t->h->texts[MARKLOG_ARGV].offset = t->at;
	t->h->texts[MARKLOG_ARGV].bytes = (uint32_t)got;
	t->at += (uint32_t)got;
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (pread(fd, more, 1, (off_t)n) == 1)
		t->h->argv_cut = 1;
	(void)close(fd);
}

/* The line "NAME:\tVALUE" of /proc/self/status. */
static void status_put(struct texts *t, enum marklog_text which, const char *status,
		       const char *name)
{
	const char *line = strstr(status, name);
	if (!line)
		return;
	line += strlen(name);
	line += strspn(line, "\t ");
	text_put(t, which, line, strcspn(line, "\n"));
}

/* Here, where the region is about to open: MPI and OpenMP libraries move a process about before. */
static void places_put(struct texts *t)
{
	char status[8192];
	size_t n;
	if (file_slurp("/proc/self/status", status, sizeof status, &n))
		return;
	status_put(t, MARKLOG_CPUS, status, "\nCpus_allowed_list:");
	status_put(t, MARKLOG_MEMS, status, "\nMems_allowed_list:");
}

void identity_write(const struct identity *id, struct marklog_header *h, const char *parent)
{
	struct texts t = { .h = h, .at = MARKLOG_FIXED_BYTES, .end = h->header_bytes };
	char path[4096];
	h->pid = (uint32_t)getpid();
	h->ppid = (uint32_t)getppid();
	if (!gethostname(path, sizeof path - 1)) {
		path[sizeof path - 1] = 0;
		text_puts(&t, MARKLOG_HOST, path);
	}
	ssize_t n = readlink("/proc/self/exe", path, sizeof path);
	if (n > 0)
		text_put(&t, MARKLOG_EXE, path, (size_t)n);
	if (getcwd(path, sizeof path))
		text_puts(&t, MARKLOG_CWD, path);
	launch_put(&t);
	text_puts(&t, MARKLOG_RUN, getenv("ROIMETER_RUN"));
	text_puts(&t, MARKLOG_EXEC, getenv("ROIMETER_EXEC"));
	text_puts(&t, MARKLOG_BOOT_ID, id->boot);
	text_puts(&t, MARKLOG_STREAM, id->stream);
	text_puts(&t, MARKLOG_PARENT, parent);
	places_put(&t);
	argv_write(&t, id->argv_bytes);
}
