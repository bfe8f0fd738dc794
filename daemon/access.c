/* Reading without a token is for people on this machine. Their browser must not be made to read
 * for somebody else: a page of another site whose name suddenly leads to 127.0.0.1 comes with that
 * site's name in Host, and is refused. */
#define _GNU_SOURCE /* explicit_bzero */
#include "daemon/access.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "daemon/listen.h"
#include "daemon/token.h"

struct rules {
	struct arena arena;
	struct tokens write, read, ingest;
	bool read_loopback, read_all, log;
	struct conf_words hosts;
};

struct access {
	pthread_mutex_t lock;
	struct rules *rules;
};

struct access *access_new(void)
{
	struct access *a = calloc(1, sizeof *a);
	if (a)
		(void)pthread_mutex_init(&a->lock, NULL);
	return a;
}

static void rules_free(struct rules *r)
{
	if (!r)
		return;
	arena_free(&r->arena);
	explicit_bzero(r, sizeof *r);
	free(r);
}

void access_free(struct access *a)
{
	if (!a)
		return;
	rules_free(a->rules);
	(void)pthread_mutex_destroy(&a->lock);
	free(a);
}

static int copy_hosts(struct rules *r, const struct conf_words *w)
{
	r->hosts.items = arena_array(&r->arena, w->n + 1, sizeof *r->hosts.items);
	for (size_t i = 0; r->hosts.items && i < w->n; i++) {
		r->hosts.items[i] = arena_strdup(&r->arena, w->items[i]);
		if (!r->hosts.items[i])
			return -ENOMEM;
	}
	r->hosts.n = w->n;
	return r->hosts.items ? 0 : -ENOMEM;
}

int access_load(struct access *a, const struct daemon_config *c, struct err *err)
{
	struct rules *r = calloc(1, sizeof *r);
	if (!r)
		return err_set(err, -ENOMEM, "out of memory");
	r->read_all = strcmp(c->read, "all") == 0;
	r->read_loopback = strcmp(c->read, "loopback") == 0;
	r->log = c->access_log;
	int rc = tokens_read(&r->write, c->write_tokens, err);
	if (!rc)
		rc = tokens_read(&r->read, c->read_tokens, err);
	if (!rc)
		rc = tokens_read(&r->ingest, c->ingest_tokens, err);
	if (!rc && copy_hosts(r, &c->hosts))
		rc = err_set(err, -ENOMEM, "out of memory");
	if (rc) {
		rules_free(r);
		return rc;
	}
	(void)pthread_mutex_lock(&a->lock);
	struct rules *old = a->rules;
	a->rules = r;
	(void)pthread_mutex_unlock(&a->lock);
	rules_free(old);
	return 0;
}

/* The name in "name:port" or "[::1]:port". */
static bool host_is(const char *host, const char *name)
{
	size_t n = strlen(name);
	if (strncasecmp(host, name, n) != 0)
		return false;
	return !host[n] || (host[n] == ':' && !host[n + 1 + strspn(host + n + 1, "0123456789")]);
}

static bool host_is_ours(const struct rules *r, const char *host)
{
	if (!host)
		return true; /* HTTP/1.0; no browser */
	bool ours =
		host_is(host, "localhost") || host_is(host, "127.0.0.1") || host_is(host, "[::1]");
	for (size_t i = 0; i < r->hosts.n; i++)
		ours |= host_is(host, r->hosts.items[i]);
	return ours;
}

static int may_read(const struct rules *r, const struct access_request *q)
{
	if (q->authorization)
		return tokens_match(&r->read, q->authorization) ||
				       tokens_match(&r->write, q->authorization)
			       ? 0
		       : tokens_match(&r->ingest, q->authorization) ? 403
								    : 401;
	if (r->read_all)
		return 0;
	if (!r->read_loopback || q->is_forwarded || !listen_is_loopback(q->client))
		return 401;
	return host_is_ours(r, q->host) ? 0 : 421;
}

int access_read(struct access *a, const struct access_request *q)
{
	(void)pthread_mutex_lock(&a->lock);
	int status = may_read(a->rules, q);
	(void)pthread_mutex_unlock(&a->lock);
	return status;
}

int access_write(struct access *a, const struct access_request *q)
{
	(void)pthread_mutex_lock(&a->lock);
	const struct rules *r = a->rules;
	int status = tokens_match(&r->write, q->authorization) ? 0
		     : tokens_match(&r->read, q->authorization) ||
				     tokens_match(&r->ingest, q->authorization)
			     ? 403
			     : 401;
	(void)pthread_mutex_unlock(&a->lock);
	return status;
}

int access_post(struct access *a, const struct access_request *q)
{
	(void)pthread_mutex_lock(&a->lock);
	const struct rules *r = a->rules;
	int status = tokens_match(&r->ingest, q->authorization) ||
				     tokens_match(&r->write, q->authorization)
			     ? 0
		     : tokens_match(&r->read, q->authorization) ? 403
								: 401;
	(void)pthread_mutex_unlock(&a->lock);
	return status;
}

bool access_logs(struct access *a)
{
	(void)pthread_mutex_lock(&a->lock);
	bool log = a->rules->log;
	(void)pthread_mutex_unlock(&a->lock);
	return log;
}

const char *access_detail(int status, const struct access_request *q)
{
	return status == 403 ? "this is not what the token is for"
	       : status == 421
		       ? "this name is not one of the daemon's; see hosts in its configuration"
	       : q->authorization ? "this token is not in the daemon's files of tokens; if it was "
				    "added just now, the daemon reads them again at SIGHUP"
				  : "this needs a token: Authorization: Bearer TOKEN";
}
