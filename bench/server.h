/* A server as a child on the first CPU, and what it used; the client is on the second where there
 * is one. */
#ifndef BENCH_SERVER_H
#define BENCH_SERVER_H

#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/file.h"

static inline void die(const char *what)
{
	perror(what);
	exit(1);
}

static inline double wall_s(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static inline void pin(int cpu)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	(void)sched_setaffinity(0, sizeof set, &set); /* one CPU only: they share it */
}

/* As many descriptors as there may be; returns how many. */
static inline unsigned long descriptors(void)
{
	struct rlimit r = { 0 };
	if (getrlimit(RLIMIT_NOFILE, &r))
		die("getrlimit");
	r.rlim_cur = r.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &r);
	(void)getrlimit(RLIMIT_NOFILE, &r);
	return (unsigned long)r.rlim_cur;
}

/* ---- the floor: one read and one write a request --------------------------------------------- */

static inline int listen_any(int *ret_port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t n = sizeof a;
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&a, n) || listen(fd, 4096) ||
	    getsockname(fd, (struct sockaddr *)&a, &n))
		die("listen");
	*ret_port = ntohs(a.sin_port);
	return fd;
}

static inline void floor_loop(int listener, const char *answer, size_t n)
{
	int ep = epoll_create1(0);
	struct epoll_event e = { .events = EPOLLIN, .data.fd = listener }, got[128];
	(void)epoll_ctl(ep, EPOLL_CTL_ADD, listener, &e);
	for (;;) {
		int ready = epoll_wait(ep, got, 128, -1);
		for (int i = 0; i < ready; i++) {
			char buf[4096];
			int fd = got[i].data.fd;
			if (fd == listener) {
				e.data.fd = accept(listener, NULL, NULL);
				(void)epoll_ctl(ep, EPOLL_CTL_ADD, e.data.fd, &e);
			} else if (read(fd, buf, sizeof buf) <= 0 || write(fd, answer, n) < 0) {
				(void)close(fd);
			}
		}
	}
}

static inline pid_t start_floor(int *ret_port, const struct buf *answer)
{
	int listener = listen_any(ret_port);
	pid_t pid = fork();
	if (pid == 0) {
		pin(0);
		floor_loop(listener, answer->data, answer->len);
	}
	(void)close(listener);
	return pid;
}

/* ---- roimeterd ------------------------------------------------------------------------------- */

/* The daemon beside this program, with this configuration in a folder. */
static inline pid_t start_daemon(const char *self, const char *folder, const char *config,
				 bool is_pinned, int *ret_port)
{
	int out[2];
	char line[128] = { 0 }, program[4096], path[4096];
	const char *slash = strrchr(self, '/');
	(void)snprintf(program, sizeof program, "%.*s/../roimeterd",
		       slash ? (int)(slash - self) : 1, slash ? self : ".");
	(void)snprintf(path, sizeof path, "%s/d.ini", folder);
	if (file_write(path, config, strlen(config), NULL) || pipe(out))
		die(path);
	pid_t pid = fork();
	if (pid == 0) {
		if (is_pinned)
			pin(0);
		(void)dup2(out[1], STDOUT_FILENO);
		(void)close(out[0]);
		(void)close(out[1]);
		(void)execl(program, program, "--config", path, (char *)NULL);
		_exit(127);
	}
	(void)close(out[1]);
	if (read(out[0], line, sizeof line - 1) <= 0 ||
	    sscanf(line, "http://127.0.0.1:%d", ret_port) != 1)
		die(program);
	(void)close(out[0]);
	return pid;
}

static inline void end_child(pid_t pid, int signo)
{
	(void)kill(pid, signo);
	(void)waitpid(pid, NULL, 0);
}

/* A file of /proc; what is left of it stays in text. */
static inline const char *proc_text(pid_t pid, const char *name)
{
	static struct buf text;
	char path[400];
	text.len = 0;
	(void)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
	return file_read(&text, path, NULL) || !text.data ? "" : text.data;
}

/* CPU time of all threads, or of those of this name. */
static inline double used_by_s(pid_t pid, const char *name)
{
	char path[300];
	double sum = 0;
	(void)snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	DIR *d = opendir(path);
	for (struct dirent *e; d && (e = readdir(d));) {
		size_t n = name ? strlen(name) : 0;
		(void)snprintf(path, sizeof path, "task/%.16s/comm", e->d_name);
		if (name && strncmp(proc_text(pid, path), name, n) != 0)
			continue;
		(void)snprintf(path, sizeof path, "task/%.16s/schedstat", e->d_name);
		sum += strtod(proc_text(pid, path), NULL) / 1e9;
	}
	if (d)
		(void)closedir(d);
	return sum;
}

static inline double used_s(pid_t pid)
{
	return used_by_s(pid, NULL);
}

/* Memory in MB. */
static inline double rss_mb(pid_t pid)
{
	const char *at = strstr(proc_text(pid, "status"), "VmRSS:");
	return at ? strtod(at + 6, NULL) * 1024 / 1e6 : 0;
}

/* ---- the client ------------------------------------------------------------------------------ */

static inline int dial(int port)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons((uint16_t)port),
				 .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
	if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof a))
		die("connect");
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	return fd;
}

/* One answer, whole. Returns its bytes; into may be NULL. */
static inline size_t take(int fd, struct buf *into)
{
	static char buf[65536];
	size_t n = 0, need = 0;
	while (!need || n < need) {
		char *at = need ? buf : buf + n; /* behind the head they are only counted */
		ssize_t got = read(fd, at, sizeof buf - 1 - (size_t)(at - buf));
		if (got <= 0)
			die("read");
		if (into)
			buf_put(into, at, (size_t)got);
		n += (size_t)got;
		if (need)
			continue;
		buf[n] = 0;
		char *body = strstr(buf, "\r\n\r\n"), *length = strstr(buf, "Content-Length: ");
		if (body && length)
			need = (size_t)(body + 4 - buf) + strtoul(length + 16, NULL, 10);
	}
	return n;
}

static inline void ask(int fd, const char *path, const char *more)
{
	char text[512];
	int n = snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n", path,
			 more ? more : "");
	if (write(fd, text, (size_t)n) != n)
		die("write");
}

#endif
