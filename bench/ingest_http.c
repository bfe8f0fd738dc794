/* A post of one batch, from its first byte sent to its acknowledgement, which means that it is
 * committed and on the disk: one sender, and 32 that each send the next when the last one is
 * acknowledged. Against appending the same bytes to a file and fdatasync, one after the other. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/stat.h>

#include "bench/ratio.h"
#include "bench/server.h"
#include "tests/agents/batch.h"

#define TOKEN "bench-token-000000000000"
#define POSTS 200 /* of one sender in a round */
#define TURN 10   /* of them, by turns with as many appended */
#define SENDERS 32
#define POSTS_EACH 60
#define ROUNDS 11

static struct buf requests; /* made before the time is taken */
static size_t ends[SENDERS * POSTS_EACH + 1];

static void add_request(size_t at, unsigned agent, uint64_t seq)
{
	static struct buf body;
	body.len = 0;
	batch_make(&body, "bench-", agent, seq, 0);
	buf_printf(&requests,
		   "POST /api/v1/ingest HTTP/1.1\r\nHost: localhost\r\nContent-Type: " BATCH_TYPE
		   "\r\nAuthorization: Bearer " TOKEN "\r\nContent-Length: %zu\r\n\r\n",
		   body.len);
	buf_put(&requests, body.data, body.len);
	ends[at + 1] = requests.len;
	if (requests.failed)
		die("memory");
}

static void send_request(int fd, size_t at)
{
	size_t n = ends[at + 1] - ends[at];
	if (write(fd, requests.data + ends[at], n) != (ssize_t)n)
		die("write");
}

static void take_ack(int fd)
{
	char text[2048];
	ssize_t n = read(fd, text, sizeof text - 1);
	text[n > 0 ? n : 0] = 0;
	if (strncmp(text, "HTTP/1.1 200", 12) != 0 || !strstr(text, "\"batches\":1,")) {
		(void)fprintf(stderr, "not acknowledged: %s\n", text);
		exit(1);
	}
}

/* Seconds for these, appended and made durable one by one. */
static double append(int fd, size_t from, size_t to)
{
	double begin = wall_s();
	for (size_t i = from; i < to; i++) {
		const char *body = strstr(requests.data + ends[i], "\r\n\r\n") + 4;
		size_t n = (size_t)(requests.data + ends[i + 1] - body);
		if (write(fd, body, n) != (ssize_t)n || fdatasync(fd))
			die("append");
	}
	return wall_s() - begin;
}

static double post(int fd, size_t from, size_t to)
{
	double begin = wall_s();
	for (size_t i = from; i < to; i++) {
		send_request(fd, i);
		take_ack(fd);
	}
	return wall_s() - begin;
}

/* Seconds a post, of one sender and of appending, by turns of a few: others use the disk, too. */
static void one_each(int port, const char *path, uint64_t *seq, double *ret_ours,
		     double *ret_theirs)
{
	int fd = open(path, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600), to = dial(port);
	if (fd < 0)
		die(path);
	requests.len = 0;
	*ret_ours = *ret_theirs = 0;
	for (size_t i = 0; i < POSTS; i++)
		add_request(i, 999999, (*seq)++);
	for (size_t i = 0; i < POSTS; i += TURN) {
		*ret_theirs += append(fd, i, i + TURN) / POSTS;
		*ret_ours += post(to, i, i + TURN) / POSTS;
	}
	(void)close(fd);
	(void)close(to);
}

static double many_each(int port, uint64_t *seq)
{
	int fds[SENDERS], ep = epoll_create1(EPOLL_CLOEXEC);
	size_t sent[SENDERS] = { 0 }, left = SENDERS * POSTS_EACH;
	requests.len = 0;
	for (size_t i = 0; i < left; i++)
		add_request(i, (unsigned)(i / POSTS_EACH), *seq + i % POSTS_EACH);
	*seq += POSTS_EACH;
	for (size_t i = 0; i < SENDERS; i++) {
		struct epoll_event e = { .events = EPOLLIN, .data.u64 = i };
		fds[i] = dial(port);
		(void)epoll_ctl(ep, EPOLL_CTL_ADD, fds[i], &e);
	}
	double begin = wall_s();
	for (size_t i = 0; i < SENDERS; i++)
		send_request(fds[i], i * POSTS_EACH + sent[i]++);
	while (left) {
		struct epoll_event got[SENDERS];
		int n = epoll_wait(ep, got, SENDERS, -1);
		for (int k = 0; k < n; k++) {
			size_t i = got[k].data.u64;
			take_ack(fds[i]);
			left--;
			if (sent[i] < POSTS_EACH)
				send_request(fds[i], i * POSTS_EACH + sent[i]++);
		}
	}
	double took = wall_s() - begin;
	for (size_t i = 0; i < SENDERS; i++)
		(void)close(fds[i]);
	(void)close(ep);
	return took / (SENDERS * POSTS_EACH);
}

int main(int argc, char **argv)
{
	char folder[] = "/tmp/roimeter-bench.XXXXXX", path[64];
	struct buf config = { 0 };
	struct ratio one = { .n = 0 }, many = { .n = 0 };
	uint64_t seq_one = 1, seq_many = 1;
	int port = 0;
	(void)argc;
	if (!mkdtemp(folder))
		die("folder");
	(void)snprintf(path, sizeof path, "%s/token", folder);
	if (file_write(path, TOKEN "\n", strlen(TOKEN) + 1, NULL) || chmod(path, 0600))
		die(path);
	buf_printf(&config,
		   "[http]\nlisten = 127.0.0.1:0\n[store]\ndb = %s/d.db\n[auth]\ningest_tokens = "
		   "%s\n[log]\naccess = no\n",
		   folder, path);
	(void)snprintf(path, sizeof path, "%s/floor", folder);
	pid_t pid = start_daemon(argv[0], folder, config.data, false, &port);
	for (int i = -1; i < ROUNDS; i++) {
		double ours, theirs;
		one_each(port, path, &seq_one, &ours, &theirs);
		double shared = many_each(port, &seq_many);
		if (i < 0)
			continue;
		ratio_add(&one, ours, theirs);
		ratio_add(&many, shared, theirs);
		(void)printf("# append + fdatasync %.0f us; one sender %.0f us; 32 senders %.0f us "
			     "each\n",
			     theirs * 1e6, ours * 1e6, shared * 1e6);
	}
	int good = ratio_print(&one, "ingest_http_1_sender_vs_append_fdatasync", 1.5);
	good &= ratio_print(&many, "ingest_http_32_senders_each_vs_append_fdatasync", 0.3);
	end_child(pid, SIGTERM);
	(void)file_remove_tree(folder, NULL);
	buf_done(&requests);
	buf_done(&config);
	return good ? 0 : 1;
}
