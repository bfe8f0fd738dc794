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
int process_start(const struct process_view *v, pid_t pid, uint64_t *ret_start)
{
	char text[1024];
	if (!slurp(v, pid, "stat", text, sizeof text))
		return errno == EACCES || errno == EPERM ? -EACCES : -ESRCH;
	const char *p = strrchr(text, ')');
	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	if (!p)
		return -ESRCH;
	*ret_start = strtoull(p + 1, NULL, 10);
	return 0;
}

/* Not by the owner of its folder in /proc, which is root for what may not be dumped. */
bool process_of(const struct process_view *v, pid_t pid, uid_t uid)
{
	char text[4096];
	unsigned ids[4];
	if (!slurp(v, pid, "status", text, sizeof text))
		return false;
	const char *line = strstr(text, "\nUid:");
	if (!line || sscanf(line + 5, "%u %u %u %u", &ids[0], &ids[1], &ids[2], &ids[3]) != 4)
		return false;
	return ids[0] == uid || ids[1] == uid || ids[2] == uid || ids[3] == uid;
}

/* Is it the process that has this start time, and this owner? The pidfd was opened before, so what
 * is looked at here is it, or one that took its number after it had ended, with another start. */
static enum process_state look_at(const struct process_view *v, pid_t pid,
				  const struct process_name *name, uid_t uid)
{
	uint64_t start;
	if (process_start(v, pid, &start) || start != name->start)
		return PROCESS_GONE;
	/* Root's programs may have given their rights away since; nobody else makes a log of
	 * root's. */
	return uid == 0 || process_of(v, pid, uid) ? PROCESS_HERE : PROCESS_OTHERS;
}

static enum process_state try_pid(const struct process_view *v, pid_t pid,
				  const struct process_name *name, uid_t uid, pid_t *ret_pid,
				  int *ret_pidfd)
{
	int fd = pidfd_of(pid);
	if (fd < 0)
		return PROCESS_GONE;
	enum process_state state = look_at(v, pid, name, uid);
	if (state == PROCESS_HERE) {
		*ret_pid = pid;
		*ret_pidfd = fd;
	} else {
		(void)close(fd);
	}
	return state;
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
	socklen_t n = sizeof fd;
	if (connection < 0 || getsockopt(connection, SOL_SOCKET, SO_PEERPIDFD, &fd, &n))
		fd = pidfd_of(peer);
	if (fd < 0)
		return false;
	int rc = process_start(v, peer, &start);
	/* Whoever may choose its number in a namespace of its own has not become the process that
	 * has it here, and whose log would be refused as a second one of the name. */
	uint64_t of_name;
	if (name->pid != peer && name->start && !process_start(v, name->pid, &of_name) &&
	    of_name == name->start && look_at(v, name->pid, name, uid) == PROCESS_OTHERS) {
		(void)close(fd);
		return false;
	}
	/* A name without a start, or a process that is not shown to us: then who speaks is it. In a
	 * time namespace the start is another one, and the process id must do. */
	if (rc == -EACCES || (!rc && !name->start) || (rc && v->hidden) ||
	    look_at(v, peer, name, uid) == PROCESS_HERE ||
	    (!rc && inner_pid(v, peer) == name->pid)) {
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
		pid_t pid = isdigit((unsigned char)e->d_name[0]) ? (pid_t)atoi(e->d_name) : 0;
		if (pid <= 0 || process_start(v, pid, &start) || start != name->start)
			continue;
		found = inner_pid(v, pid) == name->pid &&
			try_pid(v, pid, name, uid, ret_pid, ret_pidfd) == PROCESS_HERE;
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
	enum process_state state = PROCESS_GONE;
	if (name->start)
		state = try_pid(v, name->pid, name, uid, ret_pid, ret_pidfd);
	if (state != PROCESS_GONE)
		return state;
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
