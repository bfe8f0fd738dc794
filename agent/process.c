#define _GNU_SOURCE
#include "agent/process.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* Linux 6.5 */
#endif

static int pidfd_of(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0); /* close-on-exec, always */
	return fd < 0 ? -errno : fd;
}

static size_t slurp(const struct process_view *v, pid_t pid, const char *name, char *text,
		    size_t room)
{
	char path[256];
	(void)snprintf(path, sizeof path, "%.200s/%d/%s", v->proc, (int)pid, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	ssize_t n = read(fd, text, room - 1); /* the kernel makes the whole text at once */
	int error = errno;
	(void)close(fd);
	errno = error;
	text[n > 0 ? n : 0] = 0;
	return n > 0 ? (size_t)n : 0;
}

void process_view_open(struct process_view *v, const char *boot_id)
{
	char text[512];
	*v = (struct process_view){ .proc = "/proc" };
	(void)snprintf(v->boot, sizeof v->boot, "%.8s", boot_id);
	v->hidden = !slurp(v, 1, "stat", text, sizeof text);
}

int process_name_read(struct process_name *ret, const char *stream)
{
	size_t boot = strcspn(stream, "-");
	*ret = (struct process_name){ .pid = 0 };
	if (!boot || boot >= sizeof ret->boot || stream[boot] != '-' ||
	    !isdigit((unsigned char)stream[boot + 1]))
		return -EINVAL;
	memcpy(ret->boot, stream, boot);
	char *end;
	errno = 0;
	long pid = strtol(stream + boot + 1, &end, 10);
	if (errno || pid <= 0 || pid > INT32_MAX || *end != '-')
		return -EINVAL;
	ret->pid = (pid_t)pid;
	if (isdigit((unsigned char)end[1]))
		ret->start = strtoull(end + 1, NULL, 10); /* "m123": not known */
	return strchr(end, '.') ? 0 : -EINVAL;
}

/* Field 22 of stat; the name in field 2 may hold blanks and parentheses. */
int process_start(const struct process_view *v, pid_t pid, uint64_t *ret_start, uid_t *ret_uid)
{
	char text[1024];
	struct stat st;
	if (!slurp(v, pid, "stat", text, sizeof text))
		return errno == EACCES || errno == EPERM ? -EACCES : -ESRCH;
	const char *p = strrchr(text, ')');
	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	if (!p)
		return -ESRCH;
	*ret_start = strtoull(p + 1, NULL, 10);
	(void)snprintf(text, sizeof text, "%.200s/%d", v->proc, (int)pid);
	if (stat(text, &st))
		return -ESRCH;
	*ret_uid = st.st_uid;
	return 0;
}

/* Is it the process that has this start time, and this owner? The pidfd was opened before, so what
 * is looked at here is it, or one that took its number after it had ended, with another start. */
static bool is_it(const struct process_view *v, pid_t pid, const struct process_name *name,
		  uid_t uid)
{
	uint64_t start;
	uid_t owner;
	if (process_start(v, pid, &start, &owner))
		return false;
	/* What is not dumpable is shown as root's. */
	return start == name->start && (owner == uid || owner == 0 || uid == 0);
}

static bool try_pid(const struct process_view *v, pid_t pid, const struct process_name *name,
		    uid_t uid, pid_t *ret_pid, int *ret_pidfd)
{
	int fd = pidfd_of(pid);
	if (fd < 0)
		return false;
	if (!is_it(v, pid, name, uid)) {
		(void)close(fd);
		return false;
	}
	*ret_pid = pid;
	*ret_pidfd = fd;
	return true;
}

/* The number that it has in the innermost pid namespace. */
static pid_t inner_pid(const struct process_view *v, pid_t pid)
{
	char text[4096];
	if (!slurp(v, pid, "status", text, sizeof text))
		return 0;
	const char *line = strstr(text, "\nNSpid:");
	if (!line)
		return 0;
	long last = 0;
	char *end = (char *)(uintptr_t)(line + 7);
	while (*end == '\t' || *end == ' ')
		last = strtol(end + 1, &end, 10);
	return (pid_t)last;
}

/* Who speaks over the connection. Where the kernel hands out its pidfd no number is used again. */
static bool try_peer(const struct process_view *v, pid_t peer, int connection,
		     const struct process_name *name, uid_t uid, pid_t *ret_pid, int *ret_pidfd)
{
	int fd = -1;
	uint64_t start;
	uid_t owner;
	socklen_t n = sizeof fd;
	if (connection < 0 || getsockopt(connection, SOL_SOCKET, SO_PEERPIDFD, &fd, &n))
		fd = pidfd_of(peer);
	if (fd < 0)
		return false;
	int rc = process_start(v, peer, &start, &owner);
	/* A name without a start, or a process that is not shown to us: then who speaks is it. In a
	 * time namespace the start is another one, and the process id must do. */
	if (rc == -EACCES || (!rc && !name->start) || (rc && v->hidden) ||
	    is_it(v, peer, name, uid) || (!rc && inner_pid(v, peer) == name->pid)) {
		*ret_pid = peer;
		*ret_pidfd = fd;
		return true;
	}
	(void)close(fd);
	return false;
}

/* In another pid namespace: its start time is the same there and here. */
static bool search(const struct process_view *v, const struct process_name *name, uid_t uid,
		   pid_t *ret_pid, int *ret_pidfd)
{
	DIR *all = opendir(v->proc);
	if (!all)
		return false;
	const struct dirent *e;
	bool found = false;
	while (!found && (e = readdir(all))) {
		uint64_t start;
		uid_t owner;
		pid_t pid = isdigit((unsigned char)e->d_name[0]) ? (pid_t)atoi(e->d_name) : 0;
		if (pid <= 0 || process_start(v, pid, &start, &owner) || start != name->start)
			continue;
		found = inner_pid(v, pid) == name->pid &&
			try_pid(v, pid, name, uid, ret_pid, ret_pidfd);
	}
	(void)closedir(all);
	return found;
}

enum process_state process_find(const struct process_view *v, const struct process_name *name,
				uid_t uid, pid_t peer_pid, int peer_fd, bool exited, pid_t *ret_pid,
				int *ret_pidfd)
{
	*ret_pid = 0;
	*ret_pidfd = -1;
	if (strcmp(name->boot, v->boot) != 0)
		return PROCESS_BEFORE;
	if (peer_pid > 0 && try_peer(v, peer_pid, peer_fd, name, uid, ret_pid, ret_pidfd))
		return PROCESS_HERE;
	if (name->start && try_pid(v, name->pid, name, uid, ret_pid, ret_pidfd))
		return PROCESS_HERE;
	if (exited)
		return PROCESS_GONE; /* nearly all that we come too late for: no need to search */
	if (name->start && search(v, name, uid, ret_pid, ret_pidfd))
		return PROCESS_HERE;
	return v->hidden || !name->start ? PROCESS_UNCERTAIN : PROCESS_GONE;
}

size_t process_cgroup(const struct process_view *v, pid_t pid, char *text, size_t room)
{
	return slurp(v, pid, "cgroup", text, room);
}
