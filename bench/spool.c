/* A batch into the spool and durable, against the plain way: append the same bytes to a file and
 * fdatasync. Once for one sender, once for 32 that share a sync; wall time, since a disk is waited
 * for. And what an event costs that is spooled in batches of 64, against a write of these. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "bench/ratio.h"
#include "lib/file.h"
#include "lib/spool.h"

#define ROUNDS 15
#define EACH 32
#define BATCH_BYTES 2048
#define EVENTS 100000
#define EVENT_BYTES 32
#define EVENTS_A_BATCH 64

static char folder[] = "/var/tmp/roimeter-bench.XXXXXX";
static char bytes[BATCH_BYTES];

static void die(const char *what)
{
	perror(what);
	(void)file_remove_tree(folder, NULL);
	exit(1);
}

static double wall_s(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void append(struct spool *s, size_t n)
{
	if (spool_append(s, SPOOL_MARK, 0, bytes, n, NULL))
		die("spool_append");
}

static void sync_it(struct spool *s)
{
	if (spool_sync(s, NULL))
		die("spool_sync");
}

static void acknowledge(struct spool *s)
{
	if (spool_ack(s, spool_next_seq(s) - 1, NULL))
		die("spool_ack");
}

/* Seconds for EACH batches, each durable by itself. */
static double plain(int fd)
{
	double begin = wall_s();
	for (int i = 0; i < EACH; i++)
		if (write(fd, bytes, sizeof bytes) != (ssize_t)sizeof bytes || fdatasync(fd))
			die("write");
	return wall_s() - begin;
}

static double one_sender(struct spool *s)
{
	double begin = wall_s();
	for (int i = 0; i < EACH; i++) {
		append(s, sizeof bytes);
		sync_it(s);
	}
	return wall_s() - begin;
}

static double shared(struct spool *s)
{
	double begin = wall_s();
	for (int i = 0; i < EACH; i++)
		append(s, sizeof bytes);
	sync_it(s);
	return wall_s() - begin;
}

/* CPU seconds for EVENTS, durable at the end. */
static double events_spooled(struct spool *s)
{
	double begin = cpu_s();
	for (int i = 0; i < EVENTS / EVENTS_A_BATCH; i++)
		append(s, (size_t)EVENTS_A_BATCH * EVENT_BYTES);
	sync_it(s);
	return cpu_s() - begin;
}

static double events_written(int fd)
{
	double begin = cpu_s();
	for (int i = 0; i < EVENTS / EVENTS_A_BATCH; i++)
		if (write(fd, bytes, (size_t)EVENTS_A_BATCH * EVENT_BYTES) < 0)
			die("write");
	if (fdatasync(fd))
		die("fdatasync");
	return cpu_s() - begin;
}

int main(void)
{
	char path[64];
	struct spool *s = NULL;
	struct ratio one = { .n = 0 }, many = { .n = 0 }, cpu = { .n = 0 };
	double best = 0;
	if (!mkdtemp(folder))
		die("mkdtemp");
	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (char)(i * 131 >> 3);
	(void)snprintf(path, sizeof path, "%s/plain", folder);
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	(void)snprintf(path, sizeof path, "%s/spool", folder);
	if (fd < 0 || spool_open(&s, path, 256 << 20, 0, NULL))
		die("open");
	for (int i = 0; i < ROUNDS; i++) {
		double floor = plain(fd);
		ratio_add(&one, one_sender(s), floor);
		ratio_add(&many, shared(s), floor);
		double written = events_written(fd), spooled = events_spooled(s);
		ratio_add(&cpu, spooled, written);
		best = EVENTS / spooled > best ? EVENTS / spooled : best;
		acknowledge(s);
	}
	int ok = ratio_print(&one, "spool, one sender, durable / append+fdatasync", 1.5);
	ok &= ratio_print(&many, "spool, 32 share a sync, each / append+fdatasync", 0.3);
	ok &= ratio_print(&cpu, "spool, CPU of an event in batches of 64 / write of them", 2);
	(void)printf("# %.3g M events a second of CPU, best round\n", best / 1e6);
	spool_close(s);
	(void)close(fd);
	(void)file_remove_tree(folder, NULL);
	return !ok;
}
