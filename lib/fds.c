/* By one call of Linux 5.9 and 5.11; older kernels, which clusters have for long, one by one. */
#define _GNU_SOURCE
#include "lib/fds.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FDS_MAX 65536 /* where /proc does not tell which there are */

static int range(unsigned first, unsigned last, unsigned flags)
{
	return first > last ? 0 : (int)syscall(SYS_close_range, first, last, flags);
}

static void on_exec(int fd)
{
	(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
}

static void now(int fd)
{
	(void)close(fd);
}

static void each(int keep, void (*what)(int fd))
{
	DIR *d = opendir("/proc/self/fd");
	long max = d ? 0 : sysconf(_SC_OPEN_MAX);
	for (struct dirent *e; d && (e = readdir(d));) {
		int fd = atoi(e->d_name);
		if (fd > 2 && fd != keep && fd != dirfd(d))
			what(fd);
	}
	if (d)
		(void)closedir(d);
	for (int fd = 3; fd < max && fd < FDS_MAX; fd++)
		if (fd != keep)
			what(fd);
}

void fds_close_on_exec(void)
{
	if (range(3, ~0u, CLOSE_RANGE_CLOEXEC))
		each(-1, on_exec);
}

void fds_let_go(int keep)
{
	unsigned k = keep > 2 ? (unsigned)keep : 2;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; fd < 3 && null >= 0; fd++)
		if (fd != keep)
			(void)dup2(null, fd);
	if (range(3, k - 1, 0) || range(k + 1, ~0u, 0))
		each(keep, now);
}
