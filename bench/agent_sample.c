/* What sampling costs, batches and their compression with it: 100 processes ten times a second, all
 * asleep or all awake, and the whole node with these 200 once a second, against one scrape a second
 * of Prometheus' node_exporter, which tells of no process at all. By turns, at the pace of real
 * life: between two passes the caches belong to others. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/sample.h"
#include "bench/ratio.h"

#define EXPORTER "/usr/bin/prometheus-node-exporter"
#define CHILDREN 200
#define ROUNDS 11
#define PASSES 10 /* a second */

struct subject {
	struct samples *samples;
	struct batch_out batch;
	struct buf packed;
	unsigned missed; /* passes that came within the instant before */
};

static pid_t children[CHILDREN], exporter;

static void end_children(void)
{
	for (size_t i = 0; i < CHILDREN; i++)
		if (children[i] > 0)
			(void)kill(children[i], SIGKILL);
	if (exporter > 0)
		(void)kill(exporter, SIGKILL);
	while (wait(NULL) > 0)
		;
}

static void die(const char *what)
{
	perror(what);
	end_children();
	exit(1);
}

static void child_start(size_t i)
{
	children[i] = fork();
	if (children[i] < 0)
		die("fork");
	if (children[i])
		return;
	(void)alarm(300);
	int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	struct timespec nap = { .tv_nsec = 45000000 };
	char c;
	while (i >= CHILDREN / 2 && read(zero, &c, 1) == 1) /* between any two passes */
		(void)nanosleep(&nap, NULL);
	for (;;)
		(void)pause();
}

/* ---- ours ---- */

static void put(void *arg, const struct frame *f)
{
	struct subject *s = arg;
	if (batch_put(&s->batch, f))
		die("batch_put");
}

static struct subject subject_new(size_t first, size_t processes, bool node)
{
	static const char *const which[] = { "processes" };
	struct subject s = { .samples = NULL };
	struct samples_options o = { .root = "", .when_idle = true, .which = which };
	struct sampled *p;
	struct err err;
	o.n_which = node ? 0 : 1;
	o.node_period_ns = node ? SAMPLE_SECOND_NS : SAMPLE_SECOND_NS / PASSES;
	if (samples_new(&s.samples, &o, &err))
		die(err.text);
	for (size_t i = first; i < first + processes; i++) {
		char stream[80];
		(void)snprintf(stream, sizeof stream, "8a1b2c3d-0f1e-4a5b-9c8d-%012ld-77000.0",
			       (long)children[i]);
		struct sample_who who = { .stream = stream,
					  .run = "20261130T010203Z-0badcafe",
					  .exec = "clean.0",
					  .pid = children[i] };
		if (samples_add_process(s.samples, &who, &p, &err))
			die(err.text);
	}
	return s;
}

/* CPU seconds of one pass; last: the batch is made, too. */
static double pass(struct subject *s, bool last)
{
	struct timespec real, mono;
	(void)clock_gettime(CLOCK_REALTIME, &real);
	(void)clock_gettime(CLOCK_MONOTONIC, &mono);
	struct sample_time now = {
		.real_ns = real.tv_sec * (int64_t)SAMPLE_SECOND_NS + real.tv_nsec,
		.mono_ns = (uint64_t)mono.tv_sec * SAMPLE_SECOND_NS + (uint64_t)mono.tv_nsec,
	};
	const struct batch_sender sender = { .agent = str_of("a"), .spool = str_of("s"), .seq = 1 };
	double begin = cpu_s();
	if (!samples_take(s->samples, now, put, s))
		s->missed++;
	if (last) {
		s->packed.len = 0;
		if (batch_end(&s->batch, &sender, &s->packed, NULL))
			die("batch_end");
	}
	return cpu_s() - begin;
}

static void subject_done(struct subject *s)
{
	samples_free(s->samples);
	batch_out_done(&s->batch);
	buf_done(&s->packed);
}

/* ---- theirs ---- */

static int free_port(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr = { .s_addr = htonl(INADDR_LOOPBACK) } };
	socklen_t n = sizeof at;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof at) ||
	    getsockname(fd, (struct sockaddr *)&at, &n))
		die("bind");
	(void)close(fd);
	return ntohs(at.sin_port);
}

/* Bytes of its answer; 0: it does not answer. */
static size_t scrape(int port)
{
	static const char request[] = "GET /metrics HTTP/1.0\r\n\r\n";
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)port),
				  .sin_addr = { .s_addr = htonl(INADDR_LOOPBACK) } };
	static char text[1 << 16];
	size_t all = 0;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		die("socket");
	if (!connect(fd, (struct sockaddr *)&at, sizeof at) &&
	    write(fd, request, sizeof request - 1) == (ssize_t)sizeof request - 1)
		for (ssize_t n; (n = read(fd, text, sizeof text)) > 0;)
			all += (size_t)n;
	(void)close(fd);
	return all;
}

static bool exporter_start(int *ret_port)
{
	char listen[64];
	if (access(EXPORTER, X_OK)) {
		(void)printf("# against node_exporter: skipped, there is no " EXPORTER "\n");
		return false;
	}
	*ret_port = free_port();
	(void)snprintf(listen, sizeof listen, "--web.listen-address=127.0.0.1:%d", *ret_port);
	exporter = fork();
	if (exporter < 0)
		die("fork");
	if (!exporter) {
		int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
		(void)dup2(null, STDERR_FILENO);
		(void)alarm(300);
		(void)execl(EXPORTER, EXPORTER, listen, (char *)NULL);
		_exit(127);
	}
	for (int i = 0; i < 100; i++) {
		if (scrape(*ret_port) > 1000)
			return true;
		(void)usleep(100000);
	}
	(void)printf("# against node_exporter: skipped, it did not answer on 127.0.0.1:%d\n",
		     *ret_port);
	return false;
}

static double exporter_cpu_s(void)
{
	clockid_t clock;
	struct timespec t;
	if (clock_getcpuclockid(exporter, &clock) || clock_gettime(clock, &t))
		die("clock of node_exporter");
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- by turns ---- */

static void tenth_of_a_second(void)
{
	struct timespec t = { .tv_nsec = 100000000 };
	(void)nanosleep(&t, NULL);
}

int main(void)
{
	struct ratio fast = { .n = 0 }, core = { .n = 0 }, whole = { .n = 0 }, idle = { .n = 0 };
	struct ratio busy = { .n = 0 }, busy_core = { .n = 0 };
	int port = 0;
	for (size_t i = 0; i < CHILDREN; i++)
		child_start(i);
	bool peer = exporter_start(&port);
	struct subject asleep = subject_new(0, 100, false), awake = subject_new(100, 100, false);
	struct subject node = subject_new(0, CHILDREN, true), alone = subject_new(0, 0, true);
	double scrape_s = 0;
	for (int i = 0; i < ROUNDS; i++) {
		double asleep_s = 0, awake_s = 0, node_s = 0, alone_s = 0;
		double theirs = peer ? exporter_cpu_s() : 0;
		for (int k = 0; k < PASSES; k++) {
			asleep_s += pass(&asleep, k == PASSES - 1);
			awake_s += pass(&awake, k == PASSES - 1);
			if (k == 2)
				node_s = pass(&node, true);
			if (k == 4)
				alone_s = pass(&alone, true);
			if (k == 7 && peer && scrape(port) < 1000)
				die("scrape");
			tenth_of_a_second();
		}
		if (!i)
			continue; /* the first opens the files */
		if (peer) {
			theirs = exporter_cpu_s() - theirs;
			scrape_s += theirs / (ROUNDS - 1);
			ratio_add(&fast, asleep_s, theirs);
			ratio_add(&busy, awake_s, theirs);
		}
		ratio_add(&core, asleep_s, 1);
		ratio_add(&busy_core, awake_s, 1);
		ratio_add(&whole, node_s, 1);
		ratio_add(&idle, alone_s, 1);
	}
	int ok = 1;
	if (peer) {
		ok &= ratio_print(&fast, "sample, 100 asleep at 10 Hz / a scrape of node_exporter",
				  1);
		ok &= ratio_print(&busy, "sample, 100 awake at 10 Hz / a scrape of node_exporter",
				  1);
		(void)printf("# one scrape: %.3g ms of CPU\n", scrape_s * 1e3);
	}
	ok &= ratio_print(&core, "sample, 100 asleep at 10 Hz / a core", 0.005);
	ok &= ratio_print(&busy_core, "sample, 100 awake at 10 Hz / a core", 0.005);
	ok &= ratio_print(&whole, "sample, a node with 200 processes at 1 Hz / a core", 0.01);
	ok &= ratio_print(&idle, "sample, a node with nothing on it at 1 Hz / a core", 0.0005);
	(void)printf("# a second of 100 awake at 10 Hz: %zu bytes\n", awake.packed.len);
	if (asleep.missed + awake.missed + node.missed + alone.missed > ROUNDS)
		die("too many passes fell into one instant");
	subject_done(&asleep);
	subject_done(&awake);
	subject_done(&node);
	subject_done(&alone);
	end_children();
	return !ok;
}
