/* A file of its own beside the database: to close the database's own file would drop the locks that
 * SQLite has on it. It is never removed: another one could be about to lock it. */
#define _GNU_SOURCE /* realpath */
#include "daemon/alone.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

int alone_take(int *ret_fd, const char *db, struct err *err)
{
	char real[PATH_MAX], file[PATH_MAX + 8];
	*ret_fd = -1;
	/* By whatever name it is opened. */
	if (!realpath(db, real))
		return err_set(err, -errno, "store %s: %s", db, strerror(errno));
	(void)snprintf(file, sizeof file, "%s-daemon", real);
	int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return err_set(err, -errno, "%s, the lock of a daemon: %s", file, strerror(errno));
	if (!flock(fd, LOCK_EX | LOCK_NB)) {
		*ret_fd = fd;
		return 0;
	}
	int rc = -errno;
	(void)close(fd);
	if (rc == -EWOULDBLOCK)
		return err_set(err, -EBUSY,
			       "store %s: another roimeterd takes in for it and holds %s; end that "
			       "one, or name another database",
			       db, file);
	return err_set(err, rc, "%s, the lock of a daemon: %s", file, strerror(-rc));
}
