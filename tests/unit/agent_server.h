/* An HTTP server with a script, in the loop of the test: it takes batches as the daemon does, and
 * does to the sender what the script says. */
#ifndef TESTS_AGENT_SERVER_H
#define TESTS_AGENT_SERVER_H

#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "lib/buf.h"
#include "schema/batch.h"

enum act {
	ACT_TAKE,
	ACT_429,
	ACT_503_AFTER, /* Retry-After: 1 */
	ACT_500,
	ACT_401,
	ACT_404,
	ACT_415,
	ACT_302,
	ACT_400_FOREIGN, /* not from a daemon of ours */
	ACT_CUT,         /* in the middle of the answer, before anything is stored */
	ACT_TAKE_CUT,    /* stored, and the answer is lost */
	ACT_DROP,        /* the connection ends without an answer */
	ACT_SILENT,      /* never answers */
	ACT_SLOW,        /* a byte of the answer at a time */
};

#define SERVER_MOST 4096

struct server {
	uv_tcp_t listener;
	uv_timer_t slow;
	uv_loop_t *loop;
	int port;
	const enum act *script; /* then ACT_TAKE */
	size_t steps, at;
	uint64_t poison; /* a process frame of this pid makes a batch that is refused; 0: none */
	uint64_t conflict_to; /* numbers up to this are somebody else's */
	bool poison_gaps;

	uint64_t posts, bodies_of_many, duplicates, connections;
	size_t largest;
	char authorization[300], type[100];
	uint64_t posted_ms[64]; /* when, of the first posts */

	unsigned char frames[SERVER_MOST]; /* of this pid, stored how often */
	uint64_t sums[SERVER_MOST];        /* by sequence number */
	uint64_t stored, gaps, losses;
	char loss_text[200];
};

struct client {
	uv_tcp_t tcp;
	struct server *server;
	struct buf in, out;
	size_t sent; /* of out, when slow */
	bool closed;
};

static inline void client_gone(uv_handle_t *h)
{
	struct client *c = h->data;
	if (c->server->slow.data == c)
		(void)uv_timer_stop(&c->server->slow);
	buf_done(&c->in);
	buf_done(&c->out);
	free(c);
}

static inline void client_close(struct client *c)
{
	if (!c->closed)
		uv_close((uv_handle_t *)&c->tcp, client_gone);
	c->closed = true;
}

/* 200, 409, or 400 with nothing stored. */
static inline int server_take(struct server *s, const char *body, size_t n)
{
	struct batch_head h;
	struct frame f;
	size_t batches = 0;
	for (size_t at = 0; at < n; at += h.bytes, batches++) {
		struct batch_in in = { .max_plain = 0 };
		assert_int_equal(batch_open(&in, body + at, n - at, NULL), 0);
		h = in.head;
		int status = 200;
		if (h.sender.seq <= s->conflict_to ||
		    (s->sums[h.sender.seq] && s->sums[h.sender.seq] != h.sum))
			status = 409;
		while (batch_next(&in, &f, NULL) == 1) {
			if (s->poison && f.type == FRAME_PROCESS &&
			    (uint64_t)f.as.process.pid == s->poison)
				status = 400;
			if (s->poison_gaps && f.type == FRAME_GAP)
				status = 400;
		}
		batch_in_done(&in);
		if (status != 200)
			return status;
	}
	s->bodies_of_many += batches > 1;
	for (size_t at = 0; at < n; at += h.bytes) {
		struct batch_in in = { .max_plain = 0 };
		(void)batch_open(&in, body + at, n - at, NULL);
		h = in.head;
		s->duplicates += s->sums[h.sender.seq] != 0;
		while (!s->sums[h.sender.seq] && batch_next(&in, &f, NULL) == 1) {
			if (f.type == FRAME_PROCESS)
				s->frames[f.as.process.pid]++;
			s->gaps += f.type == FRAME_GAP;
			if (f.type == FRAME_LOSS) {
				s->losses += f.as.loss.count;
				(void)snprintf(s->loss_text, sizeof s->loss_text, "%.*s",
					       (int)f.as.loss.text.n, f.as.loss.text.p);
			}
		}
		s->stored += s->sums[h.sender.seq] == 0;
		s->sums[h.sender.seq] = h.sum;
		batch_in_done(&in);
	}
	return 200;
}

static inline void server_header(const char *head, const char *name, char *to, size_t room)
{
	const char *at = strstr(head, name);
	*to = 0;
	if (at)
		(void)snprintf(to, room, "%.*s", (int)strcspn(at + strlen(name), "\r"),
			       at + strlen(name));
}

static inline void slow_step(uv_timer_t *t)
{
	struct client *c = t->data;
	uv_buf_t b = uv_buf_init(c->out.data + c->sent, 1);
	if (c->closed || c->sent == c->out.len) {
		(void)uv_timer_stop(t);
		return;
	}
	c->sent += uv_try_write((uv_stream_t *)&c->tcp, &b, 1) == 1;
}

static inline void server_say(struct client *c, const char *status, const char *more,
			      const char *body, size_t cut)
{
	c->out.len = 0;
	buf_printf(&c->out, "HTTP/1.1 %s\r\n%sContent-Length: %zu\r\n\r\n%s", status, more,
		   strlen(body), body);
	uv_buf_t b = uv_buf_init(c->out.data, (unsigned)(cut ? cut : c->out.len));
	(void)uv_try_write((uv_stream_t *)&c->tcp, &b, 1);
	if (cut)
		client_close(c);
}

#define PROBLEM "Content-Type: application/problem+json\r\n"

static inline void server_act(struct client *c, const char *body, size_t n)
{
	struct server *s = c->server;
	enum act act = s->at < s->steps ? s->script[s->at++] : ACT_TAKE;
	static const char *const plain[] = {
		[ACT_429] = "429 Too Many", [ACT_500] = "500 Oh",   [ACT_401] = "401 No",
		[ACT_404] = "404 Where",    [ACT_415] = "415 What", [ACT_302] = "302 There"
	};
	int status;
	switch (act) {
	case ACT_503_AFTER:
		server_say(c, "503 Busy", "Retry-After: 1\r\n", "", 0);
		return;
	case ACT_400_FOREIGN:
		server_say(c, "400 Bad", "Content-Type: text/html\r\n", "<html>", 0);
		return;
	case ACT_CUT:
		server_say(c, "200 OK", "", "{}", 20);
		return;
	case ACT_TAKE_CUT:
		assert_int_equal(server_take(s, body, n), 200);
		server_say(c, "200 OK", "", "{}", 10);
		return;
	case ACT_DROP:
		client_close(c);
		return;
	case ACT_SILENT:
		return;
	case ACT_TAKE:
	case ACT_SLOW:
		status = server_take(s, body, n);
		if (act == ACT_SLOW) {
			buf_puts(&c->out, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}");
			c->sent = 0;
			s->slow.data = c;
			(void)uv_timer_start(&s->slow, slow_step, 1, 1);
		} else if (status == 200) {
			server_say(c, "200 OK", "", "{}", 0);
		} else if (status == 409) {
			server_say(c, "409 Conflict", PROBLEM, "{\"detail\": \"another sum\"}", 0);
		} else {
			server_say(c, "400 Bad", PROBLEM, "{\"detail\": \"frame 1 is bad\"}", 0);
		}
		return;
	default:
		server_say(c, plain[act], "Location: /elsewhere\r\n", "", 0);
	}
}

static inline void server_alloc(uv_handle_t *h, size_t n, uv_buf_t *ret)
{
	static char room[65536];
	(void)h;
	(void)n;
	*ret = uv_buf_init(room, sizeof room);
}

static inline void server_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *b)
{
	struct client *c = stream->data;
	struct server *s = c->server;
	char length[32];
	if (n < 0) {
		client_close(c);
		return;
	}
	buf_put(&c->in, b->base, (size_t)n);
	char *end = c->in.data ? strstr(c->in.data, "\r\n\r\n") : NULL;
	if (!end)
		return;
	size_t head = (size_t)(end + 4 - c->in.data);
	server_header(c->in.data, "Content-Length: ", length, sizeof length);
	size_t body = strtoul(length, NULL, 10);
	if (c->in.len < head + body)
		return;
	assert_memory_equal(c->in.data, "POST /api/v1/ingest HTTP/1.1\r\n", 30);
	server_header(c->in.data, "Authorization: ", s->authorization, sizeof s->authorization);
	server_header(c->in.data, "Content-Type: ", s->type, sizeof s->type);
	if (s->posts < 64)
		s->posted_ms[s->posts] = uv_hrtime() / 1000000;
	s->posts++;
	s->largest = body > s->largest ? body : s->largest;
	server_act(c, c->in.data + head, body);
	if (!c->closed)
		c->in.len = 0;
}

static inline void server_accept(uv_stream_t *listener, int status)
{
	struct server *s = listener->data;
	struct client *c = calloc(1, sizeof *c);
	assert_int_equal(status, 0);
	assert_non_null(c);
	c->server = s;
	(void)uv_tcp_init(s->loop, &c->tcp);
	c->tcp.data = c;
	assert_int_equal(uv_accept(listener, (uv_stream_t *)&c->tcp), 0);
	s->connections++;
	(void)uv_read_start((uv_stream_t *)&c->tcp, server_alloc, server_read);
}

static inline void server_begin(struct server *s, uv_loop_t *loop)
{
	struct sockaddr_in a;
	int n = sizeof a;
	*s = (struct server){ .loop = loop };
	(void)uv_ip4_addr("127.0.0.1", 0, &a);
	(void)uv_tcp_init(loop, &s->listener);
	(void)uv_timer_init(loop, &s->slow);
	s->listener.data = s;
	assert_int_equal(uv_tcp_bind(&s->listener, (struct sockaddr *)&a, 0), 0);
	assert_int_equal(uv_listen((uv_stream_t *)&s->listener, 16, server_accept), 0);
	(void)uv_tcp_getsockname(&s->listener, (struct sockaddr *)&a, &n);
	s->port = ntohs(a.sin_port);
}

#endif
