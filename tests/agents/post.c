/* Agents that post, for the tests of roimeterd.
 *
 *   post make FIRST COUNT [SALT]           a body of batches of agent 0 on standard output
 *   post announce RUN SEQ                  a body that says that a run has begun
 *   post run PORT TOKEN AGENTS COUNT [GATE]
 *                                          each agent posts 1..COUNT, one after the other, each
 *                                          until it is acknowledged; prints "AGENT SEQ DUPLICATES"
 *                                          for each. Comes again when the daemon is not there.
 *                                          All together no more than the number in the file GATE.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tests/agents/batch.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int port;
static const char *token;
static uint64_t posts;
static const char *gate;
static uint64_t begun, allowed = UINT64_MAX; /* under the lock */

static int dial(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons((uint16_t)port),
				 .sin_addr = { htonl(INADDR_LOOPBACK) } };
	const struct timeval limit = { .tv_sec = 20 };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
	if (fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof a)) {
		(void)close(fd);
		return -1;
	}
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
	return fd;
}

/* The status, or 0 when the connection ended. */
static int answer(int fd, char *text, size_t max)
{
	size_t n = 0;
	for (;;) {
		ssize_t got = read(fd, text + n, max - 1 - n);
		if (got <= 0)
			return 0;
		n += (size_t)got;
		text[n] = 0;
		char *end = strstr(text, "\r\n\r\n"), *length = strstr(text, "Content-Length: ");
		if (end && length && n >= (size_t)(end + 4 - text) + strtoul(length + 16, NULL, 10))
			return (int)strtol(text + 9, NULL, 10);
		if (n == max - 1)
			return 0;
	}
}

static int post(int fd, const struct buf *body, unsigned long *ret_duplicates)
{
	char text[4096];
	struct buf b = { 0 };
	buf_printf(&b,
		   "POST /api/v1/ingest HTTP/1.1\r\nHost: localhost\r\nContent-Type: " BATCH_TYPE
		   "\r\nAuthorization: Bearer %s\r\nContent-Length: %zu\r\n\r\n",
		   token, body->len);
	buf_put(&b, body->data, body->len);
	bool sent = write(fd, b.data, b.len) == (ssize_t)b.len;
	buf_done(&b);
	int status = sent ? answer(fd, text, sizeof text) : 0;
	char *duplicates = status == 200 ? strstr(text, "\"duplicates\":") : NULL;
	*ret_duplicates = duplicates ? strtoul(duplicates + 13, NULL, 10) : 0;
	return status;
}

/* Waits until the gate lets one more go on. */
static void pass_gate(void)
{
	(void)pthread_mutex_lock(&lock);
	while (begun >= allowed) {
		FILE *f = fopen(gate, "r");
		unsigned long long n;
		if (f && fscanf(f, "%llu", &n) == 1)
			allowed = n;
		if (f)
			(void)fclose(f);
		if (begun >= allowed)
			(void)usleep(5000);
	}
	begun++;
	(void)pthread_mutex_unlock(&lock);
}

static void *run(void *arg)
{
	unsigned agent = (unsigned)(uintptr_t)arg;
	struct buf body = { 0 };
	int fd = -1;
	for (uint64_t seq = 1, passed = 0; seq <= posts;) {
		unsigned long duplicates;
		if (gate && passed < seq) {
			pass_gate();
			passed = seq;
		}
		body.len = 0;
		(void)pthread_mutex_lock(&lock);
		batch_make(&body, "test-", agent, seq, 0);
		(void)pthread_mutex_unlock(&lock);
		if (fd < 0)
			fd = dial();
		int status = fd < 0 ? 0 : post(fd, &body, &duplicates);
		if (status == 200) {
			(void)printf("%u %llu %lu\n", agent, (unsigned long long)seq++, duplicates);
			continue;
		}
		if (fd >= 0)
			(void)close(fd);
		fd = -1;
		if (status && status != 503) {
			(void)fprintf(stderr, "agent %u, %llu: status %d\n", agent,
				      (unsigned long long)seq, status);
			exit(1);
		}
		(void)usleep(20000);
	}
	if (fd >= 0)
		(void)close(fd);
	buf_done(&body);
	return NULL;
}

static int make(int argc, char **argv)
{
	struct buf body = { 0 };
	uint64_t first = strtoull(argv[2], NULL, 10), n = strtoull(argv[3], NULL, 10);
	uint64_t salt = argc > 4 ? strtoull(argv[4], NULL, 10) : 0;
	for (uint64_t i = 0; i < n; i++)
		batch_make(&body, "test-", 0, first + i, salt);
	bool good = fwrite(body.data, 1, body.len, stdout) == body.len;
	buf_done(&body);
	return good ? 0 : 1;
}

static int announce(const char *run, uint64_t seq)
{
	struct batch_out out = { .frames = 0 };
	struct batch_sender sender;
	struct frame f;
	struct buf names = { 0 }, body = { 0 };
	batch_text_put(&names, str_of("clean.0"));
	batch_text_put(&names, str_of("clean.1"));
	frame_clear(&f, FRAME_RUN_ANNOUNCE);
	f.as.run_announce.run = str_of(run);
	f.as.run_announce.suite = str_of("demo");
	f.as.run_announce.app = str_of("heat");
	f.as.run_announce.case_ = str_of("n128");
	f.as.run_announce.platform = str_of("cpu-test.linux6.1");
	f.as.run_announce.kind = str_of("measured");
	f.as.run_announce.real_ns = BATCH_TIME_NS;
	f.as.run_announce.executions = batch_list(&names);
	f.as.run_announce.expected_s = 10;
	f.as.run_announce.steps = 100;
	f.as.run_announce.uid = 1000;
	int rc = batch_put(&out, &f);
	frame_clear(&f, FRAME_EXECUTION_START);
	f.as.execution_start.run = str_of(run);
	f.as.execution_start.exec = str_of("clean.0");
	f.as.execution_start.real_ns = BATCH_TIME_NS;
	f.as.execution_start.uid = 1000;
	rc = rc ? rc : batch_put(&out, &f);
	batch_sender_clear(&sender);
	sender.agent = str_of("runner-agent");
	sender.spool = str_of("00000000000000aa");
	sender.seq = seq;
	sender.from_real_ns = sender.to_real_ns = BATCH_TIME_NS;
	sender.host = str_of("node1");
	rc = rc ? rc : batch_end(&out, &sender, &body, NULL);
	bool good = !rc && fwrite(body.data, 1, body.len, stdout) == body.len;
	batch_out_done(&out);
	buf_done(&names);
	buf_done(&body);
	return good ? 0 : 1;
}

int main(int argc, char **argv)
{
	pthread_t threads[256];
	if (argc >= 4 && strcmp(argv[1], "make") == 0)
		return make(argc, argv);
	if (argc == 4 && strcmp(argv[1], "announce") == 0)
		return announce(argv[2], strtoull(argv[3], NULL, 10));
	if (argc < 6 || argc > 7 || strcmp(argv[1], "run") != 0)
		return 2;
	if (argc == 7) {
		gate = argv[6];
		allowed = 0;
	}
	port = (int)strtol(argv[2], NULL, 10);
	token = argv[3];
	unsigned long n = strtoul(argv[4], NULL, 10);
	posts = strtoull(argv[5], NULL, 10);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	for (unsigned long i = 0; i < n && i < 256; i++)
		if (pthread_create(&threads[i], NULL, run, (void *)(uintptr_t)i))
			return 1;
	for (unsigned long i = 0; i < n && i < 256; i++)
		(void)pthread_join(threads[i], NULL);
	return 0;
}
