/* What a small answer of roimeterd costs beside a bare epoll loop: one read and one write a
 * request, a constant of the same size. CPU time of the server alone, for each request, by turns;
 * the client is on another CPU where there is one. /health is made anew each time, runs comes from
 * the cache and asks the store whether it has changed. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <unistd.h>

#include "bench/ratio.h"
#include "lib/buf.h"
#include "lib/file.h"

#define CONNECTIONS 32
#define REQUESTS 8000
#define ROUNDS 9
#define GOAL 1.25

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void pin(int cpu)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	(void)sched_setaffinity(0, sizeof set, &set); /* one CPU only: they share it */
}

/* ---- the floor ----------------------------------------------------------------------------- */

static int listen_any(int *ret_port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t n = sizeof a;
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&a, n) || listen(fd, 128) ||
	    getsockname(fd, (struct sockaddr *)&a, &n))
		die("listen");
	*ret_port = ntohs(a.sin_port);
	return fd;
}

static void floor_loop(int listener, const char *answer, size_t n)
{
	int ep = epoll_create1(0);
	struct epoll_event e = { .events = EPOLLIN, .data.fd = listener }, got[64];
	(void)epoll_ctl(ep, EPOLL_CTL_ADD, listener, &e);
	for (;;) {
		int ready = epoll_wait(ep, got, 64, -1);
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

static pid_t start_floor(int *ret_port, const struct buf *answer)
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

/* ---- roimeterd ----------------------------------------------------------------------------- */

static pid_t start_daemon(const char *program, const char *config, int *ret_port)
{
	int out[2];
	char line[128] = { 0 };
	if (pipe(out))
		die("pipe");
	pid_t pid = fork();
	if (pid == 0) {
		pin(0);
		(void)dup2(out[1], STDOUT_FILENO);
		(void)execl(program, program, "--config", config, (char *)NULL);
		_exit(127);
	}
	(void)close(out[1]);
	if (read(out[0], line, sizeof line - 1) <= 0 ||
	    sscanf(line, "http://127.0.0.1:%d", ret_port) != 1)
		die(program);
	(void)close(out[0]);
	return pid;
}

/* CPU time of all threads. */
static double used_s(pid_t pid)
{
	char path[300];
	double sum = 0;
	(void)snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	DIR *d = opendir(path);
	for (struct dirent *e; d && (e = readdir(d));) {
		unsigned long long ns = 0;
		(void)snprintf(path, sizeof path, "/proc/%d/task/%.16s/schedstat", (int)pid,
			       e->d_name);
		FILE *f = fopen(path, "r");
		if (f && fscanf(f, "%llu", &ns) == 1)
			sum += (double)ns / 1e9;
		if (f)
			(void)fclose(f);
	}
	if (d)
		(void)closedir(d);
	return sum;
}

/* ---- the client ---------------------------------------------------------------------------- */

static int dial(int port)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons((uint16_t)port),
				 .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
	if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof a))
		die("connect");
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	return fd;
}

/* One answer, whole: it is small, so that its head says all in the first read. */
static size_t take(int fd, struct buf *into)
{
	char buf[8192];
	size_t n = 0, need = 1;
	while (n < need) {
		ssize_t got = read(fd, buf + n, sizeof buf - 1 - n);
		if (got <= 0)
			die("read");
		n += (size_t)got;
		buf[n] = 0;
		char *body = strstr(buf, "\r\n\r\n"), *length = strstr(buf, "Content-Length: ");
		if (body && length)
			need = (size_t)(body + 4 - buf) + strtoul(length + 16, NULL, 10);
		else
			need = n + 1;
	}
	if (into)
		buf_put(into, buf, n);
	return n;
}

static void ask(int fd, const char *path)
{
	char text[256];
	int n = snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path);
	if (write(fd, text, (size_t)n) != n)
		die("write");
}

/* Microseconds of the server's CPU for each request. */
static double load_us(pid_t pid, int port, const char *path)
{
	int fds[CONNECTIONS];
	for (int i = 0; i < CONNECTIONS; i++) {
		fds[i] = dial(port);
		ask(fds[i], path);
		(void)take(fds[i], NULL);
	}
	double before = used_s(pid);
	for (int k = 0; k < REQUESTS / CONNECTIONS; k++) {
		for (int i = 0; i < CONNECTIONS; i++)
			ask(fds[i], path);
		for (int i = 0; i < CONNECTIONS; i++)
			(void)take(fds[i], NULL);
	}
	double after = used_s(pid);
	for (int i = 0; i < CONNECTIONS; i++)
		(void)close(fds[i]);
	return (after - before) / (REQUESTS / CONNECTIONS * CONNECTIONS) * 1e6;
}

static int compare(const char *name, pid_t daemon, int port, const char *path)
{
	struct ratio r = { .n = 0 };
	struct buf answer = { 0 };
	double best = 1e9;
	int fd = dial(port), floor_port;
	ask(fd, path);
	(void)take(fd, &answer);
	(void)close(fd);
	pid_t floor = start_floor(&floor_port, &answer);
	for (int i = -1; i < ROUNDS; i++) {
		double theirs = load_us(floor, floor_port, path),
		       ours = load_us(daemon, port, path);
		if (i < 0)
			continue;
		ratio_add(&r, ours, theirs);
		best = theirs < best ? theirs : best;
	}
	(void)kill(floor, SIGKILL);
	(void)waitpid(floor, NULL, 0);
	(void)printf("# %s: %zu bytes, floor %.1f us a request\n", name, answer.len, best);
	buf_done(&answer);
	return ratio_print(&r, name, GOAL);
}

int main(int argc, char **argv)
{
	char folder[] = "/tmp/roimeter-bench.XXXXXX", config[64], program[4096];
	struct buf b = { 0 };
	int port = 0, good = 1;
	const char *slash = argc ? strrchr(argv[0], '/') : NULL;
	if (!slash || !mkdtemp(folder))
		die("folder");
	(void)snprintf(program, sizeof program, "%.*s/../roimeterd", (int)(slash - argv[0]),
		       argv[0]);
	(void)snprintf(config, sizeof config, "%s/d.ini", folder);
	buf_printf(&b, "[http]\nlisten = 127.0.0.1:0\n[store]\ndb = %s/d.db\n[log]\naccess = no\n",
		   folder);
	if (b.failed || file_write(config, b.data, b.len, NULL))
		die(config);
	buf_done(&b);
	(void)signal(SIGPIPE, SIG_IGN);
	pid_t daemon = start_daemon(program, config, &port);
	pin(1);
	good &= compare("http_constant_vs_epoll_cpu", daemon, port, "/health");
	good &= compare("http_runs_cached_vs_epoll_cpu", daemon, port, "/api/v1/runs?limit=5");
	(void)kill(daemon, SIGTERM);
	(void)waitpid(daemon, NULL, 0);
	(void)file_remove_tree(folder, NULL);
	return good ? 0 : 1;
}
