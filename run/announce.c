/* Batches to the agent, one at a time, each answered before the next. */
#define _GNU_SOURCE
#include "run/announce.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "lib/pace.h"
#include "lib/version.h"
#include "run/announce_frames.h"
#include "run/link.h"
#include "schema/conformance.h"
#include "schema/local.h"

#define BATCH_BYTES ((size_t)4 << 20) /* of frames; far below what a batch may hold */
#define TRY_NS INT64_C(50000000)      /* between two looks whether the agent is back */
#define URL_BYTES 1024
#define SECOND_NS UINT64_C(1000000000)

struct announce {
	struct arena arena;
	struct announce_options o;
	const char *user, *job;
	char host[256];
	int cancel;    /* -1: nothing ends a wait */
	int fd;        /* -1: not connected */
	uint64_t link; /* counts connections */
	size_t owed;   /* answers that were not waited for to their end */
	uint64_t kept; /* the highest number */
	uint64_t batches;
	struct pace pace;
	int64_t next_ns;              /* no try before */
	const struct suite *declared; /* that the agent has not kept; NULL: none */
	struct batch_out out;
	struct buf bytes, list;
	struct link_wait wait; /* of the call under way */
	struct err *err;       /* of the call under way */
};

/* ---- whose agent it is ----------------------------------------------------------------------- */

static bool ends(const char *text, size_t n, const char *with)
{
	size_t m = strlen(with);
	return n >= m && memcmp(text + n - m, with, m) == 0;
}

/* "http://Host:80/" and "HTTP://host" are one: the part before the path in small letters, no port
 * that is said by the scheme, no slash at the end. */
static void plain_url(char ret[URL_BYTES], const char *url)
{
	const char *host = strstr(url, "://");
	size_t before = host ? (size_t)(host + 3 - url) : 0, n = 0;
	before += strcspn(url + before, "/");
	for (; n < before && n < URL_BYTES - 1; n++)
		ret[n] = (char)(url[n] >= 'A' && url[n] <= 'Z' ? url[n] + 'a' - 'A' : url[n]);
	const char *port =
		strncmp(url, "https", 5) == 0 || strncmp(url, "HTTPS", 5) == 0 ? ":443" : ":80";
	if (ends(ret, n, port))
		n -= strlen(port);
	for (size_t at = before; url[at] && n < URL_BYTES - 1; at++)
		ret[n++] = url[at];
	while (n && ret[n - 1] == '/')
		n--;
	ret[n] = 0;
}

static int check_server(const struct announce *a, const json_t *status, struct err *err)
{
	char ours[URL_BYTES], its[URL_BYTES];
	const char *server = json_string_value(json_object_get(status, "server"));
	if (!server)
		return err_set(err, -EINVAL,
			       "the agent at %s sends to no daemon, so nothing would come to %s; "
			       "give it a [server] url",
			       a->o.socket, a->o.server);
	plain_url(ours, a->o.server);
	plain_url(its, server);
	if (strcmp(ours, its) != 0)
		return err_set(err, -EINVAL,
			       "--server %s: the agent at %s sends to %s; name that one, or "
			       "change the agent's [server] url",
			       a->o.server, a->o.socket, server);
	return 0;
}

static void let_go(struct announce *a)
{
	if (a->fd >= 0)
		(void)close(a->fd);
	a->fd = -1;
	a->owed = 0;
}

static int meet(struct announce *a, struct err *err)
{
	json_t *status = NULL;
	a->fd = link_open(a->o.socket, err);
	if (a->fd < 0)
		return a->fd;
	a->link++;
	int rc = link_status(a->fd, &status, &a->wait, err);
	if (!rc)
		rc = check_server(a, status, err);
	json_decref(status);
	if (rc)
		let_go(a);
	return rc;
}

static struct link_wait wait_from_now(const struct announce *a, double seconds)
{
	return (struct link_wait){ .until_ns = link_now_ns() + (int64_t)(seconds * 1e9),
				   .cancel = a->cancel };
}

/* While an agent is started anew its socket is not there for a moment: at the end of a case there
 * is time to wait for it. */
static int meet_again(struct announce *a, bool patient, struct err *err)
{
	for (;;) {
		int rc = meet(a, err);
		if (!patient || (rc != -ECONNREFUSED && rc != -EPIPE && rc != -EAGAIN))
			return rc;
		struct link_wait pause = { link_now_ns() + TRY_NS, a->wait.cancel };
		if (pause.until_ns >= a->wait.until_ns || link_pause(&pause) == -EINTR)
			return rc;
	}
}

/* ---- one batch ------------------------------------------------------------------------------- */

/* Answers come in the order of the batches. */
static int await_kept(struct announce *a)
{
	struct link_answer answer;
	int rc = link_receive(a->fd, &answer, &a->wait, a->err);
	if (rc)
		return rc;
	if (answer.pass >= 0)
		(void)close(answer.pass);
	if (answer.kind == LINK_DELIVERED || answer.kind == LINK_STATUS)
		return err_set(a->err, -EPROTO, "the agent answers what was not asked for");
	a->owed--;
	if (answer.kind == LINK_REFUSED)
		return err_set(a->err, answer.rc, "the agent refuses what it is told: %s",
			       answer.why.text);
	if (answer.seq > a->kept)
		a->kept = answer.seq;
	return 0;
}

static int send_batch(struct announce *a)
{
	struct batch_sender sender;
	batch_sender_clear(&sender);
	sender.agent = sender.spool = str_of("runner");
	sender.seq = ++a->batches;
	sender.host = str_of(a->host);
	sender.tool = str_of("roimeter " ROIMETER_VERSION_TEXT);
	a->bytes.len = 0;
	int rc = batch_end(&a->out, &sender, &a->bytes, a->err);
	int pass = rc ? rc : link_memory(a->bytes.data, a->bytes.len, a->err);
	if (pass < 0)
		return pass;
	rc = link_send(a->fd, LOCAL_BATCH, strlen(LOCAL_BATCH), pass, &a->wait, a->err);
	(void)close(pass);
	if (rc)
		return rc;
	a->owed++;
	return await_kept(a);
}

static int put(void *arg, const struct frame *frame)
{
	struct announce *a = arg;
	int rc = a->out.frames && a->out.body.len > BATCH_BYTES ? send_batch(a) : 0;
	if (!rc)
		rc = batch_put(&a->out, frame);
	return rc == -E2BIG || rc == -ENOMEM
		       ? err_set(a->err, rc, "put a batch together: %s", strerror(-rc))
		       : rc;
}

/* ---- what the suite declares ----------------------------------------------------------------- */

static int64_t clock_ns(clockid_t clock)
{
	struct timespec t;
	(void)clock_gettime(clock, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* A batch of its own: what is wrong with it is wrong with no case. */
static int declare(struct announce *a, struct err *err)
{
	if (!a->declared)
		return 0;
	int rc = announce_declaration(a->declared, clock_ns(CLOCK_REALTIME), &a->list, put, a, err);
	if (!rc)
		rc = send_batch(a);
	a->out.frames = a->out.body.len = 0;
	bool refused = rc == -EPERM || rc == -EBADMSG || rc == -EINVAL || rc == -E2BIG;
	if (!rc || refused)
		a->declared = NULL;
	return rc;
}

int announce_declare(struct announce *a, const struct suite *suite, struct err *err)
{
	a->declared = suite;
	a->wait = wait_from_now(a, a->o.patience_s);
	a->err = err;
	int rc = declare(a, err);
	if (rc == -EPIPE || rc == -EPROTO)
		let_go(a);
	a->err = NULL;
	return rc;
}

/* ---- what a conformance test found ----------------------------------------------------------- */

static int tell_result(struct announce *a, const struct frame *f, struct err *err)
{
	int rc = a->fd < 0 ? meet_again(a, true, err) : 0;
	while (!rc && a->owed)
		rc = await_kept(a);
	if (!rc)
		rc = put(a, f);
	if (!rc)
		rc = send_batch(a);
	a->out.frames = a->out.body.len = 0;
	if (rc == -EPIPE || rc == -EPROTO)
		let_go(a);
	return rc;
}

int announce_conformance(struct announce *a, const struct conformance *c, struct err *err)
{
	struct frame f;
	struct buf result = { 0 };
	int rc;
	conformance_put(&result, c);
	if (result.failed) {
		buf_done(&result);
		return err_set(err, -ENOMEM, "out of memory");
	}
	frame_clear(&f, FRAME_CONFORMANCE);
	f.as.conformance.real_ns = clock_ns(CLOCK_REALTIME);
	f.as.conformance.host = str_of(a->host);
	f.as.conformance.result = batch_list(&result);
	a->wait = wait_from_now(a, a->o.at_the_end_s);
	a->err = err;
	for (;;) {
		rc = tell_result(a, &f, err);
		struct link_wait pause = { link_now_ns() + TRY_NS, a->wait.cancel };
		if (rc != -EPIPE || pause.until_ns >= a->wait.until_ns ||
		    link_pause(&pause) == -EINTR)
			break;
	}
	a->err = NULL;
	buf_done(&result);
	return rc;
}

/* ---- a case ---------------------------------------------------------------------------------- */

static int tell(struct announce *a, struct case_run *c, const struct fill *f,
		const struct announce_news *news, struct err *err)
{
	int rc = 0;
	if (a->fd < 0)
		rc = meet_again(a, news->last, err);
	while (!rc && a->owed)
		rc = await_kept(a);
	if (rc)
		return rc;
	rc = declare(a, err);
	if (rc && a->declared) /* else it was refused, and that is all */
		return rc;
	const struct announce_what what = {
		.begin = c->announced.link != a->link,
		.from = c->announced.ends,
		.running = news->running,
		.order = news->order,
		.end = news->end,
		.real_ns = clock_ns(CLOCK_REALTIME),
		.snapshot = (uint64_t)clock_ns(CLOCK_BOOTTIME),
		.user = a->user,
		.job = a->job,
		.host = a->host,
	};
	rc = announce_frames(c, f, &what, put, a, err);
	if (!rc && a->out.frames)
		rc = send_batch(a);
	if (rc)
		return rc;
	c->announced = (struct announced){ a->link, c->n_made, news->end };
	return 0;
}

/* A connection that broke is made anew at once: an agent that was started anew takes all. */
static int tell_on(struct announce *a, struct case_run *c, const struct fill *f,
		   const struct announce_news *news, struct err *err)
{
	int64_t began = link_now_ns();
	for (;;) {
		bool fresh = a->fd < 0;
		int rc = tell(a, c, f, news, err);
		a->out.frames = a->out.body.len = 0;
		if (rc == -EPIPE || rc == -EPROTO)
			let_go(a);
		if (rc != -EPIPE || (fresh && !news->last) || link_now_ns() >= a->wait.until_ns)
			return rc;
		/* One that dies at each word is not asked in a circle. */
		struct link_wait pause = { fresh ? link_now_ns() + TRY_NS : began, a->wait.cancel };
		if (link_pause(&pause) == -EINTR)
			return rc;
	}
}

int announce_case(struct announce *a, struct case_run *c, const struct fill *f,
		  const struct announce_news *news, struct err *err)
{
	int64_t now = link_now_ns();
	if (c->announced.closed)
		return 0;
	if (!news->last && now < a->next_ns)
		return -EAGAIN;
	struct err why = { .text = "" };
	a->wait = wait_from_now(a, news->last ? a->o.at_the_end_s : a->o.patience_s);
	a->err = &why;
	int rc = tell_on(a, c, f, news, &why);
	a->err = NULL;
	now = link_now_ns();
	a->next_ns = rc ? (int64_t)pace_next(&a->pace, (uint64_t)now, false) : 0;
	if (!rc)
		a->pace.pause_ns = 0;
	return rc ? err_set(err, rc, "%s", why.text) : 0;
}

uint64_t announce_kept(const struct announce *a)
{
	return a->kept;
}

static int ask_delivered(struct announce *a, struct err *err)
{
	char text[64];
	struct link_answer answer = { .kind = LINK_KEPT, .pass = -1 };
	int rc = a->fd < 0 ? meet_again(a, true, err) : 0;
	while (!rc && a->owed)
		rc = await_kept(a);
	if (!rc) {
		(void)snprintf(text, sizeof text, LOCAL_DELIVERED "%" PRIu64 "\n", a->kept);
		rc = link_send(a->fd, text, strlen(text), -1, &a->wait, err);
	}
	if (!rc)
		rc = link_receive(a->fd, &answer, &a->wait, err);
	if (!rc && answer.pass >= 0)
		(void)close(answer.pass);
	if (!rc && answer.kind == LINK_REFUSED)
		return err_set(err, answer.rc, "%s", answer.why.text);
	return rc || answer.kind == LINK_DELIVERED ? rc : -EPROTO;
}

int announce_delivered(struct announce *a, double wait_s, struct err *err)
{
	int rc;
	a->wait = wait_from_now(a, wait_s);
	a->err = err;
	do {
		rc = ask_delivered(a, err);
		if (rc)
			let_go(a);
	} while (rc == -EPIPE && link_now_ns() < a->wait.until_ns);
	a->err = NULL;
	return rc;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static const char *user_name(struct arena *a)
{
	const struct passwd *p = getpwuid(getuid());
	return p ? arena_strdup(a, p->pw_name) : arena_printf(a, "%lu", (unsigned long)getuid());
}

int announce_open(struct announce **ret, const struct announce_options *o, struct err *err)
{
	struct announce *a = calloc(1, sizeof *a);
	if (!a)
		return err_set(err, -ENOMEM, "out of memory");
	a->o = *o;
	a->fd = a->cancel = -1;
	a->pace = (struct pace){ .max_ns = 60 * SECOND_NS, .first_ns = 2 * SECOND_NS };
	a->user = user_name(&a->arena);
	a->job = announce_job(&a->arena, getenv);
	if (gethostname(a->host, sizeof a->host - 1))
		a->host[0] = 0;
	/* Nothing is being measured yet: an agent on a busy node gets its time. */
	a->wait = wait_from_now(a, o->at_the_end_s);
	int rc = meet(a, err);
	if (rc) {
		announce_close(a);
		return rc == -EPIPE || rc == -EAGAIN || rc == -EPROTO ? -ECONNREFUSED : rc;
	}
	*ret = a;
	return 0;
}

void announce_cancel(struct announce *a, int fd)
{
	a->cancel = fd;
}

void announce_close(struct announce *a)
{
	if (!a)
		return;
	let_go(a);
	batch_out_done(&a->out);
	buf_done(&a->bytes);
	buf_done(&a->list);
	arena_free(&a->arena);
	free(a);
}
