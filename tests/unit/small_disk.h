/* A small disk of a test's own, to be filled. For tests that fork first: the caller moves to a
 * mount name space of its own for good. Includers define _GNU_SOURCE. */
#ifndef TESTS_UNIT_SMALL_DISK_H
#define TESTS_UNIT_SMALL_DISK_H

#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

static inline bool small_disk_map(const char *file, const char *text)
{
	int fd = open(file, O_WRONLY | O_CLOEXEC);
	bool good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	if (fd >= 0)
		(void)close(fd);
	return good;
}

/* Mounts a tmpfs with these options ("size=2m") at that folder, as root or not. False where that is not
 * permitted: a reason to skip. */
static inline bool small_disk_mount(const char *where, const char *options)
{
	char uid_map[64], gid_map[64];
	bool root = getuid() == 0;
	(void)snprintf(uid_map, sizeof uid_map, "0 %u 1", (unsigned)getuid());
	(void)snprintf(gid_map, sizeof gid_map, "0 %u 1", (unsigned)getgid());
	if (unshare(CLONE_NEWNS | (root ? 0 : CLONE_NEWUSER)))
		return false;
	if (!root && !(small_disk_map("/proc/self/setgroups", "deny") &&
		       small_disk_map("/proc/self/uid_map", uid_map) &&
		       small_disk_map("/proc/self/gid_map", gid_map)))
		return false;
	return !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	       !mount("none", where, "tmpfs", 0, options);
}

#endif
