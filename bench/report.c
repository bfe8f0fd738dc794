/* GET report of 1,000 applications by 10 inputs by 8 platforms: 80,000 cells, a record behind each.
 * Milliseconds until a client on this machine has all of it: when nothing has changed; at once
 * behind a run that another program stored, so that its part is made anew first; and a second
 * behind it, when that has been done ahead. Also pages of runs and single records.
 * The first answer, for which all records are read, is told without a goal.
 * BENCH_AGENTS=PORT asks a daemon that is there (under some load) with the store BENCH_DB. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench/fill_report.h"
#include "bench/ratio.h"

#define APPS 1000
#define INPUTS 10
#define PLATFORMS 8
#define GOAL_MS 10

static double now_ms(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* ---- the daemon ---------------------------------------------------------------------------- */

static pid_t start_daemon(const char *program, const char *db, int *ret_port)
{
	int out[2];
	char line[128] = { 0 };
	if (pipe(out))
		fill_die("pipe", "");
	pid_t pid = fork();
	if (pid == 0) {
		(void)dup2(out[1], STDOUT_FILENO);
		(void)execl(program, program, "--listen", "127.0.0.1:0", "--db", db, (char *)NULL);
		_exit(127);
	}
	(void)close(out[1]);
	if (read(out[0], line, sizeof line - 1) <= 0 ||
	    sscanf(line, "http://127.0.0.1:%d", ret_port) != 1)
		fill_die(program, "does not start");
	(void)close(out[0]);
	return pid;
}

/* CPU time of all its threads. */
static double used_ms(pid_t pid)
{
	char path[300];
	double sum = 0;
	(void)snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	DIR *d = pid > 0 ? opendir(path) : NULL;
	for (struct dirent *e; d && (e = readdir(d));) {
		unsigned long long ns = 0;
		(void)snprintf(path, sizeof path, "/proc/%d/task/%.16s/schedstat", (int)pid,
			       e->d_name);
		FILE *f = fopen(path, "r");
		if (f && fscanf(f, "%llu", &ns) == 1)
			sum += (double)ns / 1e6;
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
		fill_die("connect", "no answer");
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	return fd;
}

struct got {
	double ms;
	size_t bytes;
	char etag[64];
};

static char room[1 << 18];

/* One answer, whole, on a connection that stays. */
static struct got get(int fd, const char *path, bool gzip)
{
	struct got g = { 0 };
	char text[512];
	int n = snprintf(text, sizeof text,
			 "GET %s HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\n%s\r\n",
			 path, gzip ? "Accept-Encoding: gzip\r\n" : "");
	double begin = now_ms();
	size_t have = 0, need = 0;
	if (write(fd, text, (size_t)n) != n)
		fill_die("write", path);
	while (!need || have < need) {
		size_t at = need ? 0 : have;
		ssize_t r = read(fd, room + at, sizeof room - 1 - at);
		if (r <= 0)
			fill_die("read", path);
		have += (size_t)r;
		if (need)
			continue;
		room[have] = 0;
		char *body = strstr(room, "\r\n\r\n"), *length = strstr(room, "Content-Length: "),
		     *etag = strstr(room, "ETag: ");
		if (!body || !length)
			continue;
		if (strncmp(room, "HTTP/1.1 200", 12) != 0)
			fill_die(path, room);
		need = (size_t)(body + 4 - room) + strtoul(length + 16, NULL, 10);
		if (etag)
			(void)sscanf(etag, "ETag: %60s", g.etag);
	}
	g.ms = now_ms() - begin;
	g.bytes = have;
	return g;
}

/* ---- figures ------------------------------------------------------------------------------- */

struct times {
	double ms[512];
	size_t n;
};

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* The 99th of 100 must meet the goal. */
static int print_times(struct times *t, const char *name, double goal)
{
	qsort(t->ms, t->n, sizeof *t->ms, by_size);
	double p99 = t->ms[(t->n * 99 - 1) / 100];
	(void)printf("%s p50 %.2f p99 %.2f max %.2f goal %g %s\n", name, t->ms[t->n / 2], p99,
		     t->ms[t->n - 1], goal, p99 <= goal ? "ok" : "missed");
	return p99 <= goal;
}

static int unchanged(int fd, pid_t pid, const char *name, const char *path, bool gzip, double goal)
{
	struct times t = { .n = 0 };
	size_t bytes = 0;
	(void)get(fd, path, gzip);
	double before = used_ms(pid);
	for (int i = 0; i < 200; i++) {
		struct got g = get(fd, path, gzip);
		t.ms[t.n++] = g.ms;
		bytes = g.bytes;
		(void)usleep(5000);
	}
	(void)printf("# %s: %zu bytes, %.2f ms of CPU a request\n", name, bytes,
		     (used_ms(pid) - before) / 200);
	return print_times(&t, name, goal);
}

/* Behind each new run; pause: how long after it was stored. */
static int changed(int fd, pid_t pid, const char *db, const char *name, bool gzip, int pause_ms,
		   int times)
{
	static unsigned long run = APPS * INPUTS * PLATFORMS;
	struct times t = { .n = 0 };
	struct err err = { { 0 } };
	struct store *s;
	struct record rec = fill_template();
	char before[64];
	if (store_open(&s, db, STORE_WRITE, &err))
		fill_die("open", err.text);
	struct got g = get(fd, "/api/v1/report", gzip);
	double cpu = used_ms(pid);
	for (int i = 0; i < times; i++, run++) {
		(void)snprintf(before, sizeof before, "%s", g.etag);
		fill_one(s, &rec, run, (unsigned)(run * 7 % APPS), (unsigned)(run % INPUTS),
			 (unsigned)(run % PLATFORMS), &err);
		(void)usleep((useconds_t)pause_ms * 1000);
		g = get(fd, "/api/v1/report", gzip);
		if (strcmp(before, g.etag) == 0)
			fill_die(name, "the answer is older than what was stored before");
		t.ms[t.n++] = g.ms;
	}
	(void)printf("# %s: %.2f ms of CPU for a run and a request\n", name,
		     (used_ms(pid) - cpu) / times);
	record_done(&rec);
	store_close(s);
	return print_times(&t, name, GOAL_MS);
}

static int all(int port, pid_t pid, const char *db)
{
	int fd = dial(port), good = 1;
	struct got g = get(fd, "/api/v1/report", true);
	(void)printf("# the first one, for which all records are read: %.0f ms\n", g.ms);
	good &= unchanged(fd, pid, "report_unchanged_gzip_ms", "/api/v1/report", true, GOAL_MS);
	good &= unchanged(fd, pid, "report_unchanged_plain_ms", "/api/v1/report", false, GOAL_MS);
	good &= changed(fd, pid, db, "report_at_once_behind_a_run_gzip_ms", true, 0, 200);
	good &= changed(fd, pid, db, "report_at_once_behind_a_run_plain_ms", false, 0, 100);
	good &= changed(fd, pid, db, "report_made_ahead_gzip_ms", true, 700, 20);
	good &= unchanged(fd, pid, "runs_page_ms", "/api/v1/runs?limit=50&app=app0500", false, 5);
	good &= unchanged(fd, pid, "one_run_ms", "/api/v1/runs/20260901T000000Z-00000000", false,
			  5);
	(void)close(fd);
	return good;
}

int main(int argc, char **argv)
{
	char folder[] = "/tmp/roimeter-bench.XXXXXX", db[64], program[4096];
	const char *slash = argc ? strrchr(argv[0], '/') : NULL;
	const char *running = getenv("BENCH_AGENTS"), *its_db = getenv("BENCH_DB");
	int port = 0;
	(void)signal(SIGPIPE, SIG_IGN);
	if (running && its_db)
		return all(atoi(running), 0, its_db) ? 0 : 1;
	if (!slash || !mkdtemp(folder))
		fill_die("folder", folder);
	(void)snprintf(program, sizeof program, "%.*s/../roimeterd", (int)(slash - argv[0]),
		       argv[0]);
	(void)snprintf(db, sizeof db, "%s/d.db", folder);
	fill_store(db, APPS, INPUTS, PLATFORMS);
	pid_t pid = start_daemon(program, db, &port);
	int good = all(port, pid, db);
	(void)kill(pid, SIGTERM);
	(void)waitpid(pid, NULL, 0);
	(void)file_remove_tree(folder, NULL);
	return good ? 0 : 1;
}
