/* libcurl's multi interface driven by libuv. */
#define _GNU_SOURCE
#include "agent/http.h"

#include <assert.h>
#include <curl/curl.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/buf.h"
#include "lib/version.h"

#define ANSWER_BYTES 4096 /* of a body that are kept: problems are short */

struct http {
	uv_loop_t *loop;
	char *url, *ca, *certificate, *key;
	double connect_s, stall_s;

	CURLM *multi; /* NULL until the first request */
	CURL *easy;
	struct curl_slist *headers; /* of the request under way */
	char why[CURL_ERROR_SIZE];
	struct buf body;
	struct http_answer answer;
	bool whole; /* the headers of the answer came to their end */

	void (*done)(void *arg, const struct http_answer *answer); /* NULL: none under way */
	void *arg;
	uv_timer_t timer;
	unsigned handles; /* not yet closed */
	bool closing;
	void (*closed)(void *arg);
	void *closed_arg;
};

/* A socket of libcurl's. */
struct watch {
	uv_poll_t poll;
	struct http *http;
	curl_socket_t fd;
};

/* ---- the end --------------------------------------------------------------------------------- */

static void free_http(struct http *h)
{
	free(h->url);
	free(h->ca);
	free(h->certificate);
	free(h->key);
	buf_done(&h->body);
	free(h);
}

static void handle_gone(struct http *h)
{
	assert(h->handles > 0);
	if (--h->handles || !h->closing)
		return;
	void (*closed)(void *arg) = h->closed;
	void *arg = h->closed_arg;
	free_http(h);
	if (closed)
		closed(arg);
}

static void timer_gone(uv_handle_t *handle)
{
	handle_gone(handle->data);
}

static void watch_gone(uv_handle_t *handle)
{
	struct watch *w = handle->data;
	struct http *h = w->http;
	free(w);
	handle_gone(h);
}

void http_cancel(struct http *h)
{
	if (!h->done)
		return;
	h->done = NULL;
	(void)curl_multi_remove_handle(h->multi, h->easy);
}

void http_close(struct http *h, void (*closed)(void *arg), void *arg)
{
	if (!h)
		return;
	http_cancel(h);
	h->closing = true;
	h->closed = closed;
	h->closed_arg = arg;
	if (h->easy)
		curl_easy_cleanup(h->easy);
	if (h->multi)
		(void)curl_multi_cleanup(h->multi); /* closes its sockets, by on_socket */
	curl_slist_free_all(h->headers);
	uv_close((uv_handle_t *)&h->timer, timer_gone);
}

/* ---- the answer -------------------------------------------------------------------------------
 */

static size_t on_body(char *bytes, size_t size, size_t n, void *arg)
{
	struct http *h = arg;
	size_t room = ANSWER_BYTES - h->body.len;
	(void)size; /* 1 */
	buf_put(&h->body, bytes, n < room ? n : room);
	return n;
}

/* Seconds only: a date would need a wall clock that is right. */
static size_t on_header(char *line, size_t size, size_t n, void *arg)
{
	struct http *h = arg;
	char text[32];
	(void)size; /* 1 */
	/* An answer that ends within its headers is one to libcurl, and none to us: what it would
	 * acknowledge may not be stored. */
	h->whole = n <= 2 && *line != 'H';
	if (n > 12 && n - 12 < sizeof text && !strncasecmp(line, "retry-after:", 12)) {
		memcpy(text, line + 12, n - 12);
		text[n - 12] = 0;
		char *end;
		unsigned long s = strtoul(text, &end, 10);
		if (end != text && strspn(end, " \t\r\n") == strlen(end) && s < 1000000)
			h->answer.retry_after_s = (double)s;
	}
	return n;
}

/* What came from outside becomes a part of a line in the log. */
static void set_text(struct http_answer *a, const char *text)
{
	(void)snprintf(a->text, sizeof a->text, "%s", text);
	for (char *c = a->text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = ' ';
}

static void read_problem(struct http *h)
{
	const char *type = NULL;
	(void)curl_easy_getinfo(h->easy, CURLINFO_CONTENT_TYPE, &type);
	h->answer.problem = type && !strncasecmp(type, "application/problem+json", 24);
	json_t *json = h->answer.problem && h->body.len && !h->body.failed
			       ? json_loadb(h->body.data, h->body.len, 0, NULL)
			       : NULL;
	const char *detail = json_string_value(json_object_get(json, "detail"));
	if (!detail)
		detail = json_string_value(json_object_get(json, "title"));
	if (detail)
		set_text(&h->answer, detail);
	else
		(void)snprintf(h->answer.text, sizeof h->answer.text, "HTTP status %d",
			       h->answer.status);
	json_decref(json);
}

static void finish(struct http *h, CURLcode code)
{
	long status = 0;
	if (code == CURLE_OK && !h->whole)
		code = CURLE_GOT_NOTHING;
	if (code == CURLE_OK)
		(void)curl_easy_getinfo(h->easy, CURLINFO_RESPONSE_CODE, &status);
	h->answer.status = (int)status;
	if (code == CURLE_OK)
		read_problem(h);
	else
		set_text(&h->answer, *h->why ? h->why : curl_easy_strerror(code));
	void (*done)(void *arg, const struct http_answer *answer) = h->done;
	h->done = NULL;
	(void)curl_multi_remove_handle(h->multi, h->easy);
	if (done)
		done(h->arg, &h->answer);
}

/* done may begin the next request, but must not close: all others use h behind it. */
static void look(struct http *h)
{
	int left;
	CURLMsg *m;
	while ((m = curl_multi_info_read(h->multi, &left)))
		if (m->msg == CURLMSG_DONE)
			finish(h, m->data.result);
}

/* ---- libcurl in the loop ----------------------------------------------------------------------
 */

static void on_ready(uv_poll_t *poll, int status, int events)
{
	struct watch *w = poll->data;
	struct http *h = w->http;
	int running, flags = 0;
	if (status < 0)
		flags = CURL_CSELECT_ERR;
	if (events & UV_READABLE)
		flags |= CURL_CSELECT_IN;
	if (events & UV_WRITABLE)
		flags |= CURL_CSELECT_OUT;
	(void)curl_multi_socket_action(h->multi, w->fd, flags, &running);
	look(h);
}

static void on_timer(uv_timer_t *timer)
{
	struct http *h = timer->data;
	int running;
	(void)curl_multi_socket_action(h->multi, CURL_SOCKET_TIMEOUT, 0, &running);
	look(h);
}

static int on_timeout(CURLM *multi, long ms, void *arg)
{
	struct http *h = arg;
	(void)multi;
	if (ms < 0)
		(void)uv_timer_stop(&h->timer);
	else
		(void)uv_timer_start(&h->timer, on_timer, (uint64_t)ms, 0);
	return 0;
}

static struct watch *watch_new(struct http *h, curl_socket_t fd)
{
	struct watch *w = calloc(1, sizeof *w);
	if (!w)
		return NULL;
	w->http = h;
	w->fd = fd;
	if (uv_poll_init_socket(h->loop, &w->poll, fd)) {
		free(w);
		return NULL;
	}
	w->poll.data = w;
	h->handles++;
	(void)curl_multi_assign(h->multi, fd, w);
	return w;
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *of_socket)
{
	struct http *h = arg;
	struct watch *w = of_socket;
	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		if (w) {
			(void)uv_poll_stop(&w->poll); /* libcurl closes the socket at once */
			(void)curl_multi_assign(h->multi, fd, NULL);
			uv_close((uv_handle_t *)&w->poll, watch_gone);
		}
		return 0;
	}
	if (!w)
		w = watch_new(h, fd);
	if (!w)
		return -1;
	int events =
		(what & CURL_POLL_IN ? UV_READABLE : 0) | (what & CURL_POLL_OUT ? UV_WRITABLE : 0);
	return uv_poll_start(&w->poll, events, on_ready) ? -1 : 0;
}

/* ---- requests ---------------------------------------------------------------------------------
 */

static int set_texts(struct http *h)
{
	CURL *e = h->easy;
	CURLcode rc = curl_easy_setopt(e, CURLOPT_URL, h->url);
	if (!rc)
		rc = curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
	if (!rc) /* none, whatever the environment says: a token is not for proxies */
		rc = curl_easy_setopt(e, CURLOPT_PROXY, "");
	if (!rc)
		rc = curl_easy_setopt(e, CURLOPT_USERAGENT,
				      "roimeter-agent/" ROIMETER_VERSION_TEXT);
	if (!rc && h->ca)
		rc = curl_easy_setopt(e, CURLOPT_CAINFO, h->ca);
	if (!rc && h->certificate)
		rc = curl_easy_setopt(e, CURLOPT_SSLCERT, h->certificate);
	if (!rc && h->key)
		rc = curl_easy_setopt(e, CURLOPT_SSLKEY, h->key);
	return rc ? -EINVAL : 0;
}

static void set_numbers(struct http *h)
{
	CURL *e = h->easy;
	long stall = (long)ceil(h->stall_s);
	(void)curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
	(void)curl_easy_setopt(e, CURLOPT_FOLLOWLOCATION, 0L);
	(void)curl_easy_setopt(e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	(void)curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, (long)(h->connect_s * 1000));
	(void)curl_easy_setopt(e, CURLOPT_LOW_SPEED_LIMIT, 1L);
	(void)curl_easy_setopt(e, CURLOPT_LOW_SPEED_TIME, stall < 1 ? 1L : stall);
	(void)curl_easy_setopt(e, CURLOPT_TCP_KEEPALIVE, 1L);
	(void)curl_easy_setopt(e, CURLOPT_TCP_KEEPIDLE, 30L);
	(void)curl_easy_setopt(e, CURLOPT_TCP_KEEPINTVL, 10L);
	(void)curl_easy_setopt(e, CURLOPT_BUFFERSIZE, 4096L); /* answers are short */
	(void)curl_easy_setopt(e, CURLOPT_ERRORBUFFER, h->why);
	(void)curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, on_body);
	(void)curl_easy_setopt(e, CURLOPT_WRITEDATA, h);
	(void)curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, on_header);
	(void)curl_easy_setopt(e, CURLOPT_HEADERDATA, h);
	(void)curl_easy_setopt(e, CURLOPT_POST, 1L);
}

static int begin(struct http *h, struct err *err)
{
	if (h->multi)
		return 0;
	if (curl_global_init(CURL_GLOBAL_DEFAULT))
		return err_set(err, -ENOMEM, "libcurl could not begin");
	h->multi = curl_multi_init();
	h->easy = curl_easy_init();
	if (!h->multi || !h->easy)
		return err_set(err, -ENOMEM, "out of memory");
	(void)curl_multi_setopt(h->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
	(void)curl_multi_setopt(h->multi, CURLMOPT_SOCKETDATA, h);
	(void)curl_multi_setopt(h->multi, CURLMOPT_TIMERFUNCTION, on_timeout);
	(void)curl_multi_setopt(h->multi, CURLMOPT_TIMERDATA, h);
	(void)curl_multi_setopt(h->multi, CURLMOPT_MAXCONNECTS, 1L);
	set_numbers(h);
	int rc = set_texts(h);
	return rc ? err_set(err, rc, "%s: libcurl does not take this address", h->url) : 0;
}

static int set_headers(struct http *h, const char *type, const char *token)
{
	struct buf b = { 0 };
	curl_slist_free_all(h->headers);
	h->headers = curl_slist_append(NULL, "Expect:");
	struct curl_slist *last = h->headers;
	buf_printf(&b, "Content-Type: %s", type);
	if (last && !b.failed)
		last = curl_slist_append(h->headers, b.data);
	if (last && token) {
		b.len = 0;
		buf_printf(&b, "Authorization: Bearer %s", token);
		last = b.failed ? NULL : curl_slist_append(h->headers, b.data);
		explicit_bzero(b.data, b.len);
	}
	buf_done(&b);
	return last ? 0 : -ENOMEM;
}

int http_post(struct http *h, const char *type, const char *token, const void *body, size_t n,
	      void (*done)(void *arg, const struct http_answer *answer), void *arg, struct err *err)
{
	if (h->done || h->closing)
		return err_set(err, -EBUSY, "a request is under way");
	int rc = begin(h, err);
	if (rc)
		return rc;
	rc = set_headers(h, type, token);
	if (rc)
		return err_set(err, rc, "out of memory");
	h->answer = (struct http_answer){ .retry_after_s = (double)NAN };
	h->body.len = 0;
	h->whole = false;
	*h->why = 0;
	(void)curl_easy_setopt(h->easy, CURLOPT_HTTPHEADER, h->headers);
	(void)curl_easy_setopt(h->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)n);
	(void)curl_easy_setopt(h->easy, CURLOPT_POSTFIELDS, body);
	h->done = done;
	h->arg = arg;
	if (curl_multi_add_handle(h->multi, h->easy)) {
		h->done = NULL;
		return err_set(err, -ENOMEM, "libcurl does not begin the request");
	}
	return 0;
}

static bool copy(char **to, const char *from)
{
	*to = from ? strdup(from) : NULL;
	return !from || *to;
}

int http_open(struct http **ret, const struct http_options *o, struct err *err)
{
	struct http *h = calloc(1, sizeof *h);
	if (!h)
		return err_set(err, -ENOMEM, "out of memory");
	h->loop = o->loop;
	h->connect_s = o->connect_s;
	h->stall_s = o->stall_s;
	h->body.max = ANSWER_BYTES;
	if (!copy(&h->url, o->url) || !copy(&h->ca, o->ca) ||
	    !copy(&h->certificate, o->certificate) || !copy(&h->key, o->key)) {
		free_http(h);
		return err_set(err, -ENOMEM, "out of memory");
	}
	(void)uv_timer_init(h->loop, &h->timer);
	h->timer.data = h;
	h->handles = 1;
	*ret = h;
	return 0;
}
