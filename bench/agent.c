/* roimeter-agent, the whole program with a daemon that says yes to all:
 *   - eight processes that mark 12,500 entries a second each through shared memory, durable on the
 *     node each second, against a small agent that gets each entry as a packet of 32 bytes over a
 *     socket, adds it to a checksum, and appends to a file in writes of 256 KB, synced each second;
 *   - what it costs when nothing happens but samples at 1 Hz, sent each second.
 * CPU time is that of the agents' processes, all threads, by the kernel's CPU clocks. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/ratio.h"
#include "include/roimeter.h"
#include "lib/file.h"
#include "lib/num.h"
#include "schema/batch.h"

#define ROUNDS 5
#define PROCESSES 8
#define RATE 12500 /* entries a second, of each */
#define SECONDS 4
#define SETTLE_US 2500000 /* what an agent does behind the end belongs to it */
#define IDLE_S 20
#define EVENT_BYTES 32
#define WRITE_BYTES (256u << 10)

static char folder[] = "/var/tmp/roimeter-bench.XXXXXX";
static char build[4096]; /* where the programs are */

static void die(const char *what)
{
	perror(what);
	(void)file_remove_tree(folder, NULL);
	exit(1);
}

static double cpu_of(pid_t pid)
{
	clockid_t clock;
	struct timespec t;
	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t))
		die("the CPU clock of a process");
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double wall_s(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static pid_t child(void)
{
	(void)fflush(NULL);
	pid_t pid = fork();
	if (pid < 0)
		die("fork");
	if (!pid)
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

static void end(pid_t pid)
{
	(void)kill(pid, SIGTERM);
	(void)waitpid(pid, NULL, 0);
}

/* ---- the daemon that says yes ------------------------------------------------------------------
 */

/* Logs that came whole: what is measured must have arrived. */
static uint64_t *finals;

static void count_finals(const char *body, size_t n)
{
	struct batch_in in = { .max_plain = 0 };
	struct frame f;
	for (size_t at = 0; at < n && !batch_open(&in, body + at, n - at, NULL);
	     at += in.head.bytes)
		while (batch_next(&in, &f, NULL) == 1)
			*finals += f.type == FRAME_PROCESS && f.as.process.final == YES &&
				   f.as.process.offset + f.as.process.data.n == f.as.process.size;
	batch_in_done(&in);
}

/* False: the connection is over. */
static bool one_post(int fd)
{
	static char bytes[16u << 20];
	size_t n = 0, head = 0, need = 0;
	while (!need || n < need) {
		ssize_t got = read(fd, bytes + n, sizeof bytes - 1 - n);
		if (got <= 0)
			return false;
		n += (size_t)got;
		if (need)
			continue;
		bytes[n] = 0;
		const char *end = strstr(bytes, "\r\n\r\n");
		const char *length = strcasestr(bytes, "content-length:");
		if (end && length) {
			head = (size_t)(end + 4 - bytes);
			need = head + strtoul(length + 15, NULL, 10);
		}
	}
	count_finals(bytes + head, need - head);
	static const char yes[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
	return write(fd, yes, sizeof yes - 1) == (ssize_t)sizeof yes - 1;
}

static void say_yes(int listener)
{
	for (;;) {
		int fd = accept(listener, NULL, NULL);
		while (fd >= 0 && one_post(fd))
			;
		(void)close(fd);
	}
}

static pid_t sink(int *ret_port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof a;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&a, n) || listen(fd, 16) ||
	    getsockname(fd, (struct sockaddr *)&a, &n))
		die("a socket for the daemon");
	*ret_port = ntohs(a.sin_port);
	pid_t pid = child();
	if (!pid)
		say_yes(fd);
	(void)close(fd);
	return pid;
}

/* ---- our agent --------------------------------------------------------------------------------
 */

static pid_t agent(const char *name, int port, const char *more)
{
	char config[200], text[1000], program[4200], path[200];
	(void)snprintf(config, sizeof config, "%s/%s.ini", folder, name);
	(void)snprintf(text, sizeof text,
		       "[agent]\nsocket = %s/%s.sock\nsnapshot = 1\nsnapshot_max = 1\n"
		       "[server]\nurl = http://127.0.0.1:%d\n[spool]\nfolder = %s/%s\n%s",
		       folder, name, port, folder, name, more);
	if (file_write(config, text, strlen(text), NULL))
		die(config);
	(void)snprintf(program, sizeof program, "%s/roimeter-agent", build);
	pid_t pid = child();
	if (!pid) {
		int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
		(void)dup2(null, 1);
		(void)execl(program, program, "--config", config, (char *)NULL);
		die(program);
	}
	(void)snprintf(path, sizeof path, "%s/%s.sock", folder, name);
	for (int i = 0; access(path, F_OK); i++) {
		if (i == 200)
			die(path);
		(void)usleep(50000);
	}
	return pid;
}

/* ---- the small agent beside it ----------------------------------------------------------------
 */

static uint64_t sum;
static char *held;
static size_t held_bytes;

static void append(int file)
{
	if (write(file, held, held_bytes) != (ssize_t)held_bytes)
		die("append");
	held_bytes = 0;
}

static void take(int file, const unsigned char *event)
{
	for (int i = 0; i < EVENT_BYTES; i++)
		sum = (sum ^ event[i]) * UINT64_C(1099511628211);
	memcpy(held + held_bytes, event, EVENT_BYTES);
	held_bytes += EVENT_BYTES;
	if (held_bytes == WRITE_BYTES)
		append(file);
}

static void serve(int listener)
{
	char path[200];
	unsigned char event[EVENT_BYTES];
	struct epoll_event ready[16], e = { .events = EPOLLIN, .data.fd = listener };
	(void)snprintf(path, sizeof path, "%s/peer.log", folder);
	int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int poll_fd = epoll_create1(EPOLL_CLOEXEC);
	held = malloc(WRITE_BYTES);
	if (file < 0 || poll_fd < 0 || !held || epoll_ctl(poll_fd, EPOLL_CTL_ADD, listener, &e))
		die("the small agent");
	double synced = wall_s();
	for (;;) {
		int n = epoll_wait(poll_fd, ready, 16, 1000);
		for (int i = 0; i < n; i++) {
			int fd = ready[i].data.fd;
			if (fd == listener) {
				e.data.fd = accept4(fd, NULL, NULL, SOCK_NONBLOCK);
				(void)epoll_ctl(poll_fd, EPOLL_CTL_ADD, e.data.fd, &e);
				continue;
			}
			ssize_t got = 0;
			for (int k = 0; k < 64; k++) { /* as long as there is something */
				got = recv(fd, event, sizeof event, 0);
				if (got != EVENT_BYTES)
					break;
				take(file, event);
			}
			if (got == 0)
				(void)close(fd);
		}
		if (wall_s() - synced >= 1) {
			append(file);
			(void)fdatasync(file);
			synced = wall_s();
		}
	}
}

static pid_t peer(struct sockaddr_un *ret_address)
{
	*ret_address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	(void)snprintf(ret_address->sun_path, sizeof ret_address->sun_path, "%s/peer.sock", folder);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)ret_address, sizeof *ret_address) ||
	    listen(fd, 64))
		die("a socket for the small agent");
	pid_t pid = child();
	if (!pid)
		serve(fd);
	(void)close(fd);
	return pid;
}

/* ---- eight processes ---------------------------------------------------------------------------
 */

static void one_entry(int fd)
{
	unsigned char event[EVENT_BYTES] = { 1 };
	if (fd < 0) {
		ROIMETER_BEGIN();
		ROIMETER_END();
	} else if (send(fd, event, sizeof event, MSG_NOSIGNAL) != EVENT_BYTES) {
		_exit(1);
	}
}

/* Each millisecond as many as are due. */
static void work(int fd)
{
	struct timespec next;
	(void)clock_gettime(CLOCK_MONOTONIC, &next);
	long done = 0;
	for (long ms = 1; ms <= SECONDS * 1000; ms++) {
		next.tv_nsec += 1000000;
		next.tv_sec += next.tv_nsec / 1000000000;
		next.tv_nsec %= 1000000000;
		(void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
		for (; done < ms * RATE / 1000; done++)
			one_entry(fd);
	}
}

static void mark(const char *socket_path)
{
	char library[4200];
	(void)snprintf(library, sizeof library, "%s/libroimeter.so", build);
	(void)unsetenv("ROIMETER_LOG");
	(void)setenv("ROIMETER_LIBRARY", library, 1);
	(void)setenv("ROIMETER_AGENT", socket_path, 1);
	work(-1);
	exit(0); /* through the library's exit handler, as a program would */
}

static void send_packets(const struct sockaddr_un *to)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	if (fd < 0 || connect(fd, (const struct sockaddr *)to, sizeof *to))
		_exit(1);
	work(fd);
	_exit(0);
}

/* CPU seconds of the agent for a round of all processes. */
static double round_of(pid_t agent_pid, const char *marks_to, const struct sockaddr_un *packets_to)
{
	double before = cpu_of(agent_pid);
	pid_t pids[PROCESSES];
	for (int i = 0; i < PROCESSES; i++) {
		pids[i] = child();
		if (!pids[i] && marks_to)
			mark(marks_to);
		else if (!pids[i])
			send_packets(packets_to);
	}
	for (int i = 0; i < PROCESSES; i++) {
		int status;
		(void)waitpid(pids[i], &status, 0);
		if (!WIFEXITED(status) || WEXITSTATUS(status)) {
			(void)fprintf(stderr, "a marking process failed\n");
			exit(1);
		}
	}
	(void)usleep(SETTLE_US);
	return cpu_of(agent_pid) - before;
}

static uint64_t spooled(const char *name)
{
	char path[200];
	struct stat st;
	(void)snprintf(path, sizeof path, "%s/%s", folder, name);
	return stat(path, &st) ? 0 : (uint64_t)st.st_size;
}

static int events(int port)
{
	struct sockaddr_un address;
	struct ratio ratio = { .n = 0 };
	char path[200];
	double ours = 0, theirs = 0;
	pid_t small = peer(&address);
	pid_t pid = agent("events", port, "[sample]\nperiod = 0\n");
	(void)snprintf(path, sizeof path, "%s/events.sock", folder);
	(void)usleep(SETTLE_US);
	for (int i = 0; i < ROUNDS; i++) {
		double a = round_of(pid, path, NULL);
		double b = round_of(small, NULL, &address);
		ratio_add(&ratio, a, b);
		ours += a;
		theirs += b;
	}
	if (*finals != ROUNDS * PROCESSES) {
		(void)fprintf(stderr, "%llu logs arrived of %d\n", (unsigned long long)*finals,
			      ROUNDS * PROCESSES);
		return 0;
	}
	double all = (double)ROUNDS * SECONDS;
	int good = ratio_print(&ratio, "agent_100k_events_a_second", 0.2);
	(void)printf("# %.3f %% of a core, %.3f %% with a packet an event; %llu bytes appended by "
		     "the latter\n",
		     100 * ours / all, 100 * theirs / all, (unsigned long long)spooled("peer.log"));
	end(pid);
	(void)kill(small, SIGKILL);
	(void)waitpid(small, NULL, 0);
	return good;
}

/* ---- nothing happens ---------------------------------------------------------------------------
 */

static double rss_mb(pid_t pid)
{
	char path[64], *at;
	struct buf b = { 0 };
	(void)snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	if (file_read(&b, path, NULL) || !(at = strstr(b.data, "VmRSS:")))
		die(path);
	double mb = strtod(at + 6, NULL) * 1024 / 1e6;
	buf_done(&b);
	return mb;
}

static int one_figure(double value, const char *name, double goal)
{
	struct ratio r = { .n = 0 };
	ratio_add(&r, value, 1);
	return ratio_print(&r, name, goal);
}

static int idle(int port)
{
	pid_t pid = agent("idle", port, "[sample]\nperiod = 1\nidle = yes\n");
	(void)usleep(8000000); /* the beginning, and what it gives back after it */
	double before = cpu_of(pid), began = wall_s();
	(void)usleep(IDLE_S * 1000000);
	double percent = 100 * (cpu_of(pid) - before) / (wall_s() - began);
	int good = one_figure(percent, "agent_idle_at_1Hz_percent_of_a_core", 0.05);
	good &= one_figure(rss_mb(pid), "agent_idle_rss_MB", 8);
	end(pid);
	return good;
}

int main(void)
{
	ssize_t n = readlink("/proc/self/exe", build, sizeof build - 1);
	for (int i = 0; i < 2 && n > 0; i++) { /* build/bench/agent: two up */
		build[n] = 0;
		char *slash = strrchr(build, '/');
		n = slash ? slash - build : 0;
	}
	build[n > 0 ? n : 0] = 0;
	finals = mmap(NULL, sizeof *finals, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (!mkdtemp(folder) || finals == MAP_FAILED)
		die(folder);
	int port = 0;
	pid_t daemon = sink(&port);
	int good = idle(port);
	good &= events(port);
	(void)kill(daemon, SIGKILL);
	(void)waitpid(daemon, NULL, 0);
	(void)file_remove_tree(folder, NULL);
	return !good;
}
