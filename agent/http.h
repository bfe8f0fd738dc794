/* One HTTP server, one request at a time, in a libuv loop: libcurl's sockets and timers as handles
 * of the loop. libcurl is begun with the first request, so an agent that has nowhere to send is
 * small. */
#ifndef AGENT_HTTP_H
#define AGENT_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

#include "lib/err.h"

#define HTTP_TEXT 256

struct http_options {
	uv_loop_t *loop;
	const char *url;                    /* whole; http or https, nothing else is followed */
	const char *ca, *certificate, *key; /* NULL: the system's, none */
	double connect_s, stall_s;
};

struct http_answer {
	int status;           /* 0: there was none */
	double retry_after_s; /* NAN: not said */
	bool problem;         /* the body is application/problem+json */
	char text[HTTP_TEXT]; /* what it says, or why there is none; one line */
};

struct http;

/* Texts are copied. */
int http_open(struct http **ret, const struct http_options *o, struct err *err);

/* done is called from the loop, once, unless the request is cancelled. The body must stay. token
 * may be NULL. -EBUSY: one is under way. */
int http_post(struct http *h, const char *type, const char *token, const void *body, size_t n,
	      void (*done)(void *arg, const struct http_answer *answer), void *arg,
	      struct err *err);
void http_cancel(struct http *h);

/* Cancels; the handles close in the loop, then closed is called (may be NULL). NULL is fine. */
void http_close(struct http *h, void (*closed)(void *arg), void *arg);

#endif
