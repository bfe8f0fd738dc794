/* From the headers to the answer: what is refused, who may, what is there already, and who is
 * asked for the rest. */
#define _GNU_SOURCE /* strdup */
#include "daemon/request.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "daemon/receipt.h"
#include "lib/log.h"
#include "schema/batch.h"

#define HEADER_BYTES 64  /* that libmicrohttpd keeps for each header of a request */
#define ANSWER_BYTES 640 /* of an answer's headers */
#define RETRY_S 2        /* what waits is mostly gone by then */

struct request *request_new(struct service *s, const char *raw, uint64_t now_ns)
{
	struct request *r = calloc(1, sizeof *r);
	if (!r)
		return NULL;
	r->service = s;
	r->began_ns = now_ns;
	r->line = raw;
	r->raw = strdup(raw);
	if (r->raw)
		return r;
	free(r);
	return NULL;
}

void request_free(struct request *r)
{
	if (!r)
		return;
	entity_drop(r->entity);
	body_done(&r->body);
	free(r->post.why);
	free(r->key);
	free(r->target);
	free(r->raw);
	free(r);
}

/* ---- answers that need no handler ---------------------------------------------------------- */

static const char *path_of(const struct request *r)
{
	return r->target ? r->target->path : r->route ? r->route->pattern : "/";
}

static void refuse(struct request *r, struct answer *a, int status, const char *detail)
{
	a->challenge = status == 401;
	answer_problem(a, status, detail, path_of(r));
	r->entity = entity_new(a, false);
	answer_done(a);
}

static const char *header(const struct request *r, const char *name)
{
	return MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, name);
}

struct body_headers {
	size_t n; /* of all headers */
	int lengths, codings;
	bool bad, body;
	unsigned long long length; /* ULLONG_MAX: past all numbers */
};

static enum MHD_Result look_at(void *cls, enum MHD_ValueKind kind, const char *name,
			       const char *value)
{
	struct body_headers *h = cls;
	(void)kind;
	h->n++;
	if (strcasecmp(name, "Content-Length") == 0) {
		h->lengths++;
		h->bad |= !value || !*value || value[strspn(value, "0123456789")];
		h->body |= value && value[strspn(value, "0")];
		h->length = value ? strtoull(value, NULL, 10) : 0;
	} else if (strcasecmp(name, "Transfer-Encoding") == 0) {
		h->codings++;
		h->body = true;
	}
	return MHD_YES;
}

/* The headers of an answer must fit beside those of the request. Where they don't, libmicrohttpd
 * would hang up without a word. */
static bool has_room(const struct request *r, const struct body_headers *h)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(r->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
	return !info || info->header_size + h->n * HEADER_BYTES + ANSWER_BYTES <=
				r->service->connection_bytes;
}

/* A NUL ends the target for libmicrohttpd, but not for a proxy before it. The version stands in the
 * same line: one blank behind the target, or there was something between. */
static bool is_cut(const struct request *r, const char *version)
{
	uintptr_t from = (uintptr_t)r->line, to = (uintptr_t)version;
	return to > from && to - from < 65536 && to - from != strlen(r->raw) + 1;
}

static int check_access(struct request *r, struct answer *a)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(r->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	const struct access_request q = {
		.client = info->client_addr,
		.authorization = header(r, "Authorization"),
		.host = header(r, "Host"),
		.is_forwarded = header(r, "X-Forwarded-For") || header(r, "Forwarded"),
	};
	struct access *access = r->service->access;
	int status = r->route->place == AS_POST     ? access_post(access, &q)
		     : r->route->place == ON_WRITER ? access_write(access, &q)
		     : r->route->open               ? 0
						    : access_read(access, &q);
	if (status)
		refuse(r, a, status, access_detail(status, &q));
	return status ? -EACCES : 0;
}

/* ---- routing ------------------------------------------------------------------------------- */

static int find_route(struct request *r, const char *method, struct answer *a)
{
	struct err err = { { 0 } };
	if (!r->target)
		r->target = malloc(sizeof *r->target + ROUTE_ID_BYTES);
	if (!r->target)
		return -ENOMEM; /* no answer, the connection ends */
	r->id = (char *)(r->target + 1);
	int rc = target_parse(r->target, r->raw, &err);
	if (rc) {
		r->target->path = rc == -ENAMETOOLONG ? "/" : r->target->path;
		refuse(r, a, rc == -ENAMETOOLONG ? 414 : 400, err.text);
		return rc;
	}
	rc = route_find(method, r->target->path, &r->route, r->id, a->allow);
	if (rc == -ENOTSUP && strcmp(method, "OPTIONS") == 0) {
		a->status = 204;
		r->entity = entity_new(a, false);
	} else if (rc == -ENOTSUP) {
		refuse(r, a, 405, "this address has other methods; see Allow");
	} else if (rc) {
		a->allow[0] = 0;
		refuse(r, a, 404, "there is nothing at this address");
	}
	return rc;
}

static int check_query(struct request *r, struct answer *a)
{
	struct err err = { { 0 } };
	int rc = route_check(r->route, r->target, &err);
	if (rc)
		refuse(r, a, 400, err.text);
	r->media = rc ? MEDIA_NONE : negotiate_media(header(r, "Accept"), r->route->media);
	if (!rc && r->media == MEDIA_NONE && r->route->place != AS_ASSET) {
		refuse(r, a, 406, "this address has no answer in a form that Accept names");
		rc = -EINVAL;
	}
	return rc;
}

/* ---- a body -------------------------------------------------------------------------------- */

static bool is_batch(const char *type)
{
	size_t n = strlen(BATCH_TYPE);
	return type && strncasecmp(type, BATCH_TYPE, n) == 0 && !type[n + strspn(type + n, " \t")];
}

static void refuse_later(struct request *r, struct answer *a, const char *detail)
{
	a->retry_s = RETRY_S;
	refuse(r, a, 503, detail);
}

/* All that can be said before a byte of the body is read. */
static void check_body(struct request *r, const struct body_headers *h, const char *method,
		       struct answer *a)
{
	struct service *s = r->service;
	size_t length = h->lengths ? (size_t)h->length : 0;
	const char *coding = header(r, "Content-Encoding");
	if (find_route(r, method, a))
		return;
	if (r->route->place != AS_POST)
		refuse(r, a, 413, "this address takes no body");
	else if (check_access(r, a) || check_query(r, a))
		return;
	else if (!is_batch(header(r, "Content-Type")) || (coding && strcasecmp(coding, "identity")))
		refuse(r, a, 415, "a body of batches has the type " BATCH_TYPE " and no coding");
	else if (length > s->body_max)
		refuse(r, a, 413,
		       "the body is longer than this daemon takes; post fewer batches at once");
	else if (atomic_load(&s->bodies.used) + length > s->bodies.max || writer_is_full(s->writer))
		refuse_later(r, a, "too much is waiting to be stored; try again");
	else
		r->has_body = true;
	free(r->target);
	r->target = NULL;
	r->id = NULL;
	body_begin(&r->body, &s->bodies, s->body_max, length);
}

/* One that says two lengths, or a length and a coding, is an attempt to make a proxy and us see
 * different requests. The connection can't be used behind that, nor behind a body that is not
 * read. */
void request_check(struct request *r, const char *method, const char *version)
{
	struct body_headers h = { 0 };
	struct answer answer = { .status = 200, .close = true }, *a = &answer;
	r->is_checked = true;
	(void)snprintf(r->method, sizeof r->method, "%.*s",
		       (int)strspn(method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"), method);
	(void)MHD_get_connection_values(r->connection, MHD_HEADER_KIND, look_at, &h);
	if (!has_room(r, &h))
		r->entity = entity_bare(431);
	else if (is_cut(r, version))
		refuse(r, a, 400, "a byte in the address that must be encoded");
	else if (h.bad || h.lengths > 1 || h.codings > 1 || (h.lengths && h.codings))
		refuse(r, a, 400, "the length of the body is said wrong or twice");
	else if (h.body)
		check_body(r, &h, method, a);
}

void request_body(struct request *r, const void *bytes, size_t n)
{
	body_add(&r->body, bytes, n);
}

/* ---- handlers ------------------------------------------------------------------------------ */

static void handle(struct request *r, struct store *s, struct answer *a)
{
	struct err err = { { 0 } };
	const struct call c = { .route = r->route,
				.target = r->target,
				.id = r->id,
				.media = r->media,
				.store = s,
				.metrics = r->service->metrics,
				.writer = writer_numbers(r->service->writer),
				.db = r->service->db };
	a->media = r->media;
	int rc = r->route->handle(&c, a, &err);
	if (!rc && a->body.failed)
		rc = err_set(&err, -ENOMEM, "out of memory");
	if (rc) {
		answer_failure(a, rc, &err, path_of(r));
		if (a->status >= 500)
			log_error("%s %s: %s", r->route->method, path_of(r), err.text);
	} else if (r->route->cached || r->route->place == ON_LOOP) {
		answer_tag(a);
	}
}

/* On a thread of a pool. The entity comes last: behind the resume, r is the loop's again. */
static void run_work(struct work *w, struct store *s)
{
	struct request *r = (struct request *)w;
	struct answer a = { .status = 200 };
	struct service *service = r->service;
	/* Others may have asked the same while this waited. */
	if (r->route->cached)
		r->entity = cache_get(service->cache, r->key, r->version);
	if (!r->entity) {
		handle(r, s, &a);
		bool keep = r->route->cached && a.status == 200;
		r->entity = entity_new(&a, r->gzip);
		if (r->entity && keep)
			cache_put(service->cache, r->key, r->version, r->entity);
	}
	answer_done(&a);
	MHD_resume_connection(r->connection);
}

/* The grid's JSON is kept in another way than other answers. */
static bool is_grid(const struct request *r)
{
	return r->route->handle == handle_report && r->media == MEDIA_JSON;
}

/* On the reporter's thread. */
static void run_report(struct work *w, struct store *s)
{
	struct request *r = (struct request *)w;
	struct answer a = { .status = 200 };
	struct err err = { { 0 } };
	int rc = reporter_make(r->service->reporter, s, target_param(r->target, "suite"), r->gzip,
			       &r->entity, &err);
	if (rc) {
		answer_failure(&a, rc, &err, path_of(r));
		r->entity = entity_new(&a, false);
		if (a.status >= 500)
			log_error("%s %s: %s", r->route->method, path_of(r), err.text);
	}
	answer_done(&a);
	MHD_resume_connection(r->connection);
}

static bool make_key(struct request *r)
{
	struct buf b = { 0 };
	buf_printf(&b, "%d%d %s", (int)r->media, r->gzip, r->raw);
	r->key = b.data;
	return !b.failed;
}

static void send_back(struct request *r)
{
	struct answer a = { .status = 503 };
	refuse_later(r, &a, "too much is waiting; try again");
	answer_done(&a);
}

/* A reader; NULL: the writer. */
static void ask_other(struct request *r, struct work_pool *readers)
{
	bool grid = is_grid(r);
	r->work.run = grid ? run_report : run_work;
	/* Before it is queued: the thread may be done with it at once. */
	MHD_suspend_connection(r->connection);
	if (grid      ? reporter_put(r->service->reporter, &r->work)
	    : readers ? work_put(readers, &r->work)
		      : writer_put(r->service->writer, &r->work))
		return;
	send_back(r);
	MHD_resume_connection(r->connection);
}

/* True: handed over. */
static bool ask_store(struct request *r)
{
	struct service *s = r->service;
	struct err err = { { 0 } };
	r->gzip = negotiate_coding(header(r, "Accept-Encoding"), "gzip");
	if (r->route->cached && !make_key(r))
		return false; /* out of memory: no answer, the connection ends */
	if (r->route->cached) {
		int rc = store_version(s->store, &r->version, &err);
		if (rc)
			log_error("%s", err.text);
		/* The answer is of this version or a later one: never older than the key says. */
		r->entity = rc ? NULL
			    : is_grid(r)
				    ? reporter_get(s->reporter, target_param(r->target, "suite"),
						   r->gzip, r->version)
				    : cache_get(s->cache, r->key, r->version);
		metrics_cache(s->metrics, r->entity != NULL);
	}
	if (r->entity)
		return false;
	ask_other(r, s->readers);
	return true;
}

/* On the writer's thread. */
static void post_done(struct post *p)
{
	struct request *r = (struct request *)(void *)((char *)p - offsetof(struct request, post));
	r->entity = receipt(r->service->receipts, p, path_of(r));
	MHD_resume_connection(r->connection);
}

/* The whole body is here. True: the writer has it. */
static bool post_body(struct request *r)
{
	struct answer a = { .status = 200 };
	int failed = r->body.failed;
	r->post = (struct post){ .body = r->body.data, .n = r->body.len, .done = post_done };
	if (failed == -E2BIG) {
		refuse(r, &a, 413,
		       "the body is longer than this daemon takes; post fewer batches at once");
	} else if (failed) {
		refuse_later(r, &a, "too much is waiting to be stored; try again");
	} else if (!r->body.len) {
		refuse(r, &a, 400, "there is no batch in the body");
	} else {
		MHD_suspend_connection(r->connection);
		if (writer_post(r->service->writer, &r->post))
			return true;
		send_back(r);
		MHD_resume_connection(r->connection);
		return true;
	}
	answer_done(&a);
	return false;
}

static void start_stream(struct request *r, struct MHD_Response **ret)
{
	*ret = events_stream(r->service->events, r->connection, header(r, "Last-Event-ID"));
	if (*ret) {
		(void)MHD_add_response_header(*ret, "Content-Type", media_type(MEDIA_EVENTS));
		(void)MHD_add_response_header(*ret, "Cache-Control", "no-store");
		(void)MHD_add_response_header(*ret, "X-Accel-Buffering", "no");
		entity_secure(*ret, false);
		return;
	}
	struct answer a = { .status = 503, .retry_s = 10 };
	refuse(r, &a, 503, "too many event streams are open");
}

static void get_asset(struct request *r, struct answer *a)
{
	r->entity = assets_get(r->service->assets, r->id, header(r, "Accept-Encoding"));
	if (!r->entity)
		refuse(r, a, 404,
		       r->id[0] ? "there is no such file"
				: "this program was built without the page; "
				  "/api/v1/report has its data");
}

bool request_begin(struct request *r, const char *method, struct MHD_Response **ret_stream)
{
	struct answer a = { .status = 200 };
	bool is_away = false;
	r->has_begun = true;
	if (!r->has_body &&
	    (find_route(r, method, &a) || check_access(r, &a) || check_query(r, &a))) {
		answer_done(&a);
		return false;
	}
	switch (r->route->place) {
	case ON_LOOP:
		handle(r, NULL, &a);
		r->entity = entity_new(&a, false);
		break;
	case ON_READER:
		is_away = ask_store(r);
		break;
	case ON_WRITER:
		ask_other(r, NULL);
		is_away = true;
		break;
	case AS_POST:
		is_away = post_body(r);
		break;
	case AS_ASSET:
		get_asset(r, &a);
		break;
	case AS_STREAM:
		/* HEAD asks for the headers only, and MHD would read the stream. */
		if (strcmp(method, "HEAD") == 0) {
			a.media = MEDIA_EVENTS;
			r->entity = entity_new(&a, false);
		} else {
			start_stream(r, ret_stream);
		}
		break;
	}
	answer_done(&a);
	return is_away;
}
