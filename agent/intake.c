/* The agent's socket: who is connected, what they say, what they are answered. Nothing here waits
 * for a client, and no client for the agent, but a runner for the word that its batch is durable.
 */
#define _GNU_SOURCE
#include "agent/intake.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/config.h"
#include "lib/log.h"
#include "schema/local.h"

#define A_TURN 256 /* connections let in between two turns of the loop */
#define CONNECTIONS                                                                                \
	1024u       /* at a time; the others wait in the kernel, which is not told to them         \
		     */
#define ANSWERS 64u /* a client that does not read so many is not served any more */
#define PAUSE_MS 1000

/* ---- answers -------------------------------------------------------------------------------- */

static void set_poll(struct connection *c);

/* true: it is done, or the client is gone, which its next read tells. */
static bool send_now(const struct connection *c, const struct answer *x)
{
	return unixsock_send(c->fd, x->text, strlen(x->text), x->pass) != -EAGAIN;
}

static void answer_drop(struct answer *x)
{
	if (x->pass >= 0)
		(void)close(x->pass);
	free(x);
}

static void send_waiting(struct connection *c)
{
	while (c->answers && send_now(c, c->answers)) {
		struct answer *x = c->answers;
		c->answers = x->next;
		c->n_answers--;
		answer_drop(x);
	}
	set_poll(c);
}

/* pass is taken. */
static void answer(struct connection *c, const char *text, int pass)
{
	size_t n = strlen(text) + 1;
	struct answer *x = c->n_answers < ANSWERS ? calloc(1, sizeof *x + n) : NULL;
	if (!x) {
		if (pass >= 0)
			(void)close(pass);
		c->broken = true;
		return;
	}
	memcpy(x->text, text, n);
	x->pass = pass;
	struct answer **at = &c->answers;
	while (*at)
		at = &(*at)->next;
	*at = x;
	c->n_answers++;
	send_waiting(c);
}

static void answer_number(struct connection *c, const char *line, uint64_t number)
{
	char text[64];
	(void)snprintf(text, sizeof text, "%s%llu\n", line, (unsigned long long)number);
	answer(c, text, -1);
}

static void answer_error(struct connection *c, int rc, const struct err *err)
{
	char text[ERR_TEXT_BYTES + 128];
	const char *name = strerrorname_np(-rc);
	(void)snprintf(text, sizeof text, LOCAL_ERROR "%s\n%s\n", name ? name : "EIO", err->text);
	answer(c, text, -1);
}

/* ---- what is said --------------------------------------------------------------------------- */

static void on_hello(struct connection *c, int fd)
{
	struct agent *a = c->agent;
	struct err err = { .text = "" };
	char name[256];
	if (fd < 0)
		return; /* it could not pass it: then it is found in its folder, or by nobody */
	struct folder *folder = folders_of(a, fd, name);
	const struct follow_from from = {
		.folder = folder, .name = *name ? name : NULL, .peer = &c->peer, .connection = c->fd
	};
	int rc = follow_take(a, fd, &from, &err);
	if (!rc || rc == -EAGAIN)
		return;
	bool full = rc == -ENOSPC || rc == -EDQUOT;
	if (full && folder)
		folder_more(folder, rc); /* it is found there when there is room */
	else if (full)
		agent_lose(a, "process", "refused", NULL,
			   "process %d of user %u: as many are followed as [agent] %s allows, "
			   "and its log is in no folder of the agent",
			   (int)c->peer.pid, (unsigned)c->peer.uid,
			   rc == -ENOSPC ? "processes" : "share");
	else
		agent_lose(a, "process", "refused", NULL, "process %d of user %u: %s",
			   (int)c->peer.pid, (unsigned)c->peer.uid,
			   err.text[0] ? err.text : "what it passed is no mark log");
}

static void on_delivered(struct connection *c, const char *text)
{
	struct agent *a = c->agent;
	char *end;
	errno = 0;
	uint64_t seq = strtoull(text, &end, 10);
	struct err err;
	if (errno || end == text || strcmp(end, "\n") != 0 || seq > outbox_durable(a->outbox)) {
		err_set(&err, -EINVAL, "%.20s is no number of a batch that was kept", text);
		answer_error(c, -EINVAL, &err);
		return;
	}
	if (seq <= outbox_delivered(a->outbox)) {
		answer_number(c, LOCAL_DELIVERED, seq);
		return;
	}
	if (c->n_waits == sizeof c->waits / sizeof *c->waits) {
		err_set(&err, -EBUSY, "as many deliveries are waited for as can be");
		answer_error(c, -EBUSY, &err);
		return;
	}
	c->waits[c->n_waits++] = seq;
}

/* What a client was answered and has not read is still in memory, which is ours. */
static bool has_read(const struct connection *c)
{
	int unread = 0;
	return !c->answers && !ioctl(c->fd, SIOCOUTQ, &unread) && unread == 0;
}

static void on_status(struct connection *c)
{
	struct err err;
	if (!has_read(c)) {
		err_set(&err, -EBUSY, "read what you were answered before you ask for the status");
		answer_error(c, -EBUSY, &err);
		return;
	}
	char *text = status_text(c->agent, c->peer.uid);
	size_t n = text ? strlen(text) : 0;
	int fd = text ? memfd_create("status", MFD_CLOEXEC) : -1;
	bool written = fd >= 0;
	for (size_t at = 0; written && at < n;) {
		ssize_t some = write(fd, text + at, n - at);
		written = some > 0;
		at += some > 0 ? (size_t)some : 0;
	}
	free(text);
	if (written) {
		answer(c, LOCAL_STATUS, fd);
		return;
	}
	if (fd >= 0)
		(void)close(fd);
	err_set(&err, -ENOMEM, "no memory for the status");
	answer_error(c, -ENOMEM, &err);
}

static void on_batch(struct connection *c, int fd)
{
	struct err err = { .text = "" };
	int rc = intake_batch(c, fd, &err);
	if (fd >= 0)
		(void)close(fd);
	if (rc)
		answer_error(c, rc, &err);
	else
		c->kept++; /* answered behind the next sync */
}

static bool is(const char *text, size_t n, const char *line)
{
	return n >= strlen(line) && !memcmp(text, line, strlen(line));
}

/* One packet; text is followed by a NUL. fd, if any, is taken. */
void intake_packet(struct connection *c, const char *text, size_t n, int fd)
{
	struct err err;
	if (is(text, n, LOCAL_HELLO)) {
		on_hello(c, fd);
		return;
	}
	if (is(text, n, LOCAL_BATCH)) {
		on_batch(c, fd);
		return;
	}
	if (fd >= 0)
		(void)close(fd);
	if (is(text, n, LOCAL_DELIVERED)) {
		on_delivered(c, text + strlen(LOCAL_DELIVERED));
	} else if (is(text, n, LOCAL_STATUS)) {
		on_status(c);
	} else {
		err_set(&err, -EPROTO, "the agent does not know this message");
		answer_error(c, -EPROTO, &err);
	}
}

/* ---- connections ---------------------------------------------------------------------------- */

static void freed(uv_handle_t *handle)
{
	struct connection *c = handle->data;
	struct agent *a = c->agent;
	free(c);
	agent_handle_closed(a);
}

static void hang_up(struct connection *c)
{
	struct agent *a = c->agent;
	struct connection **at = &a->intake->first;
	while (*at && *at != c)
		at = &(*at)->next;
	if (*at) {
		*at = c->next;
		a->intake->n--;
	}
	while (c->answers) {
		struct answer *x = c->answers;
		c->answers = x->next;
		answer_drop(x);
	}
	if (c->announced && !a->stopping) {
		core_hangup(a->core, c, agent_now());
		runs_hangup(&a->runs, c);
		agent_turn_soon(a);
	}
	if (c->polled)
		uv_close((uv_handle_t *)&c->poll, freed);
	(void)close(c->fd);
	if (!c->polled)
		free(c);
}

/* Packets that are there, some. false: the client is gone, or will not be served any more. */
static bool read_some(struct connection *c)
{
	char text[LOCAL_MAX_BYTES + 1];
	for (int i = 0; i < 16 && !c->broken; i++) {
		int pass;
		ssize_t n = unixsock_recv(c->fd, text, LOCAL_MAX_BYTES, &pass);
		if (n == -EAGAIN)
			return true;
		if (n == -EMSGSIZE) {
			struct err err;
			err_set(&err, -EMSGSIZE,
				"a message is at most %u bytes, with one "
				"descriptor",
				LOCAL_MAX_BYTES);
			answer_error(c, -EMSGSIZE, &err);
			continue;
		}
		if (n <= 0)
			return false;
		text[n] = 0;
		intake_packet(c, text, (size_t)n, pass);
	}
	return !c->broken;
}

static void on_ready(uv_poll_t *handle, int status, int events)
{
	struct connection *c = handle->data;
	c->agent->wakeups++;
	if (!status && (events & UV_WRITABLE))
		send_waiting(c);
	if (status < 0 || ((events & UV_READABLE) && !read_some(c)))
		hang_up(c);
	agent_turn_soon(c->agent);
}

static void set_poll(struct connection *c)
{
	int events = UV_READABLE | (c->answers ? UV_WRITABLE : 0);
	if (!c->polled || events == c->events)
		return;
	c->events = events;
	(void)uv_poll_start(&c->poll, events, on_ready);
}

static bool may_stay(struct connection *c)
{
	const struct agent *a = c->agent;
	size_t mine = 0;
	for (const struct connection *x = a->intake->first; x; x = x->next)
		mine += x != c && x->peer.uid == c->peer.uid;
	if (core_may_hold(a->core, c->peer.uid, CONNECTIONS, a->intake->n - 1, mine))
		return true;
	struct err err;
	err_set(&err, -EDQUOT, "you have as many connections as one user may have here");
	answer_error(c, -EDQUOT, &err);
	return false;
}

/* Most say hello, and are gone: those need no handle. */
static void let_in(struct agent *a, int fd)
{
	struct connection *c = calloc(1, sizeof *c);
	if (!c || unixsock_peer(fd, &c->peer)) {
		free(c);
		(void)close(fd);
		return;
	}
	c->agent = a;
	c->fd = fd;
	c->next = a->intake->first;
	a->intake->first = c;
	a->intake->n++;
	/* What it said is heard; to stay is another thing. */
	if (!read_some(c) || !may_stay(c) || uv_poll_init(a->loop, &c->poll, fd)) {
		hang_up(c);
		return;
	}
	c->poll.data = c;
	c->polled = true;
	agent_handles_add(a);
	set_poll(c);
}

static void listen_again(uv_timer_t *timer)
{
	struct agent *a = timer->data;
	a->wakeups++;
	(void)uv_poll_start(&a->intake->listening, UV_READABLE, intake_accept);
}

void intake_accept(uv_poll_t *handle, int status, int events)
{
	struct agent *a = handle->data;
	(void)status;
	(void)events;
	a->wakeups++;
	for (int i = 0; i < A_TURN; i++) {
		int fd = a->intake->n < CONNECTIONS ? unixsock_accept(a->intake->fd) : -EMFILE;
		if (fd == -EAGAIN)
			break;
		if (fd < 0) {
			/* Who waits is let in when others have gone. */
			if (!a->intake->full)
				log_warn("socket: no more connections can be let in: %s; tried "
					 "again "
					 "each second",
					 strerror(-fd));
			a->intake->full = true;
			(void)uv_poll_stop(handle);
			(void)uv_timer_start(&a->intake->pause, listen_again, PAUSE_MS, 0);
			break;
		}
		a->intake->full = false;
		let_in(a, fd);
	}
	agent_turn_soon(a);
}

void intake_kept(struct agent *a, uint64_t seq)
{
	for (struct connection *c = a->intake->first, *next; c; c = next) {
		next = c->next;
		for (; c->kept && !c->broken; c->kept--)
			answer_number(c, LOCAL_KEPT, seq);
		if (c->broken)
			hang_up(c);
	}
}

void intake_delivered(struct agent *a, uint64_t seq)
{
	for (struct connection *c = a->intake->first, *next; c; c = next) {
		next = c->next;
		for (unsigned i = 0; i < c->n_waits;) {
			if (c->waits[i] > seq) {
				i++;
				continue;
			}
			uint64_t had = c->waits[i];
			c->waits[i] = c->waits[--c->n_waits];
			answer_number(c, LOCAL_DELIVERED, had);
		}
		if (c->broken)
			hang_up(c);
	}
}

/* ---- open and close ------------------------------------------------------------------------- */

int intake_open(struct agent *a, int listening, struct err *err)
{
	struct intake *in = calloc(1, sizeof *in);
	if (!in)
		return err_set(err, -ENOMEM, "out of memory");
	a->intake = in;
	in->fd = listening >= 0 ? listening : unixsock_listen(a->config->socket, 0666, err);
	if (in->fd < 0)
		return in->fd;
	in->passed = listening >= 0;
	int rc = uv_poll_init(a->loop, &in->listening, in->fd);
	if (rc)
		return err_set(err, rc, "socket %s: %s", a->config->socket, uv_strerror(rc));
	(void)uv_timer_init(a->loop, &in->pause);
	in->handles = 2;
	agent_handles_add(a);
	in->listening.data = in->pause.data = a;
	(void)uv_poll_start(&in->listening, UV_READABLE, intake_accept);
	return 0;
}

static void closed(uv_handle_t *handle)
{
	struct agent *a = handle->data;
	if (--a->intake->handles)
		return;
	batch_in_done(&a->intake->in);
	free(a->intake);
	a->intake = NULL;
	agent_handle_closed(a);
}

/* What was said before the end is heard: who said hello to us and left has nobody else for its log.
 * At a socket that was passed to us it waits for the next life. */
void intake_last(struct agent *a)
{
	struct intake *in = a->intake;
	for (struct connection *c = in->first, *next; c; c = next) {
		next = c->next;
		if (!read_some(c))
			hang_up(c);
	}
	for (unsigned i = 0; !in->passed && i < CONNECTIONS && in->n < CONNECTIONS; i++) {
		int fd = unixsock_accept(in->fd);
		if (fd < 0)
			break;
		let_in(a, fd);
	}
}

void intake_close(struct agent *a)
{
	struct intake *in = a->intake;
	if (!in)
		return;
	while (in->first)
		hang_up(in->first);
	if (in->handles) {
		uv_close((uv_handle_t *)&in->listening, closed);
		uv_close((uv_handle_t *)&in->pause, closed);
	}
	if (in->fd >= 0)
		(void)close(in->fd);
	if (!in->passed && in->fd >= 0)
		(void)unlink(a->config->socket);
	if (!in->handles) {
		free(in);
		a->intake = NULL;
	}
}
