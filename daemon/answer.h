/* The answer to one request, as a handler makes it; how it goes out is the server's. */
#ifndef DAEMON_ANSWER_H
#define DAEMON_ANSWER_H

#include "daemon/negotiate.h"
#include "lib/buf.h"
#include "lib/err.h"

struct answer {
	int status; /* of HTTP */
	enum media media;
	struct buf body;
	char etag[40];  /* without quotes; empty: none */
	char allow[64]; /* Allow; empty: none */
	char link[256]; /* Link; empty: none */
	int retry_s;    /* Retry-After; 0: none */
	bool challenge; /* WWW-Authenticate: Bearer */
	bool close;     /* the connection ends behind it */
};

void answer_done(struct answer *a);

/* The hash of the body becomes the tag. */
void answer_tag(struct answer *a);

/* Turn it into application/problem+json (RFC 9457). instance: the path. */
void answer_problem(struct answer *a, int status, const char *detail, const char *instance);

/* The same for a negative errno and its sentence. What is our fault is not told to the client in
 * detail: the sentence names files. */
void answer_failure(struct answer *a, int rc, const struct err *err, const char *instance);

/* The same for a post of batches. What the store could not take may always come again: 503. */
void answer_post_failure(struct answer *a, int rc, const struct err *err, const char *instance);

/* "Not Found" */
const char *status_title(int status);

#endif
