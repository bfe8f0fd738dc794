/* libmicrohttpd, set up and taken down.
 *
 * One internal thread with epoll: measured on two cores, it costs a small answer as much CPU as a
 * bare epoll loop (0.9 of nginx), and 10,000 clients that post once a second 24.5 us a post, where
 * the bare loop takes 22.6; poll takes 133 us and loses some. A pool of such threads gains nothing
 * as long as no handler waits, and none does: what asks the store is suspended meanwhile.
 * 3 KB of memory a connection: it is touched and cleared for each request. With the default of
 * 32 KB those 10,000 clients take 322 MB instead of 39, and p99 is 180 ms instead of 3. It also
 * bounds the headers: what a browser sends takes half of it. An external loop would never use
 * sendfile. */
#define _GNU_SOURCE
#include "daemon/server.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "daemon/follow.h"
#include "daemon/ingest.h"
#include "daemon/receipt.h"
#include "daemon/request.h"
#include "lib/log.h"

#define CONNECTION_BYTES 3072
#define TICK_NS 250000000ull
#define BEAT_TICKS 40 /* 10 s */
#define SWEEP_TICKS 2

struct server {
	struct service service;
	struct MHD_Daemon *http;
	int fd; /* listening; -1: MHD's */
	uint64_t timeout_ns;
	pthread_t ticker;
	bool ticks;
	pthread_mutex_t lock; /* of stop */
	pthread_cond_t wake;
	bool stop;
	struct store *ticker_store;
	struct follow *follow;
	struct ingest *ingest;
	char *db;
};

static uint64_t now_ns(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- requests ------------------------------------------------------------------------------ */

static struct connection *connection_of(struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *i =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	return i ? i->socket_context : NULL;
}

static void *on_line(void *cls, const char *uri, struct MHD_Connection *c)
{
	struct server *s = cls;
	struct request *r = request_new(&s->service, uri, now_ns());
	if (r)
		r->connection = c;
	connection_hold(connection_of(c), r);
	return r;
}

/* Percent signs stay as they are: target_parse reads the line that came. */
static size_t leave_escaped(void *cls, struct MHD_Connection *c, char *text)
{
	(void)cls;
	(void)c;
	return strlen(text);
}

static enum MHD_Result send_entity(struct request *r)
{
	struct entity *e = r->entity;
	const char *match =
		MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, "If-None-Match");
	if (e->status == 200 && e->etag[0] && match && negotiate_match(match, e->etag)) {
		struct entity *short_one = entity_not_modified(e);
		if (short_one) {
			entity_drop(e);
			e = r->entity = short_one;
		}
	}
	r->status = e->status;
	r->bytes = e->bytes;
	return MHD_queue_response(r->connection, (unsigned)e->status, e->response);
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *c, const char *url,
				  const char *method, const char *version, const char *upload,
				  size_t *upload_n, void **con_cls)
{
	struct server *s = cls;
	struct request *r = *con_cls;
	struct MHD_Response *stream = NULL;
	(void)url;
	if (!r)
		return MHD_NO; /* out of memory */
	if (!r->is_checked) {
		/* An answer now, before the end of the request, ends the connection. A body has as
		 * much time again as its headers had. */
		request_check(r, method, version);
		connection_idle(s->service.connections, connection_of(c), now_ns());
		return r->entity ? send_entity(r) : MHD_YES;
	}
	if (*upload_n) {
		request_body(r, upload, *upload_n);
		*upload_n = 0;
		return MHD_YES;
	}
	if (!r->has_begun) {
		connection_busy(s->service.connections, connection_of(c));
		if (request_begin(r, method, &stream))
			return MHD_YES; /* r is not ours now */
		if (stream) {
			r->status = 200;
			enum MHD_Result sent = MHD_queue_response(c, 200, stream);
			MHD_destroy_response(stream);
			return sent;
		}
	}
	return r->entity ? send_entity(r) : MHD_NO;
}

static void log_access(const struct server *s, const struct request *r, uint64_t time_ns)
{
	const union MHD_ConnectionInfo *i =
		MHD_get_connection_info(r->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	char host[LISTEN_TEXT];
	/* What asks every few seconds whether we are here would fill the log, and so would each
	 * batch of each agent; that they are sent back is told once, by the writer. */
	enum route_place place = r->route ? r->route->place : ON_READER;
	bool dull = (r->status == 200 && (place == ON_LOOP || place == AS_POST)) ||
		    (r->status == 503 && place == AS_POST);
	if (dull || !access_logs(s->service.access))
		return;
	bool good = r->status != 400 && r->status != 414;
	size_t path = good ? strcspn(r->raw, "?") : 0;
	char bytes[32] = "-"; /* nobody counts those of a stream */
	if (place != AS_STREAM || r->status != 200)
		(void)snprintf(bytes, sizeof bytes, "%zu", r->bytes);
	log_info("%s %s %.*s %d %s B %.2f ms", listen_host(host, i->client_addr),
		 r->method[0] ? r->method : "-", path ? (int)path : 1, path ? r->raw : "-",
		 r->status, bytes, (double)time_ns / 1e6);
}

static void on_completed(void *cls, struct MHD_Connection *c, void **con_cls,
			 enum MHD_RequestTerminationCode why)
{
	struct server *s = cls;
	struct request *r = *con_cls;
	(void)why;
	if (r && r->status) {
		uint64_t time_ns = now_ns() - r->began_ns;
		metrics_count(s->service.metrics, r->route, r->status, time_ns);
		log_access(s, r, time_ns);
	}
	request_free(r);
	*con_cls = NULL;
	connection_hold(connection_of(c), NULL);
	connection_idle(s->service.connections, connection_of(c), now_ns());
}

static void on_connection(void *cls, struct MHD_Connection *c, void **socket_context,
			  enum MHD_ConnectionNotificationCode what)
{
	struct server *s = cls;
	bool begins = what == MHD_CONNECTION_NOTIFY_STARTED;
	metrics_connections(s->service.metrics, begins ? 1 : -1);
	writer_senders(s->service.writer, begins ? 1 : -1);
	if (begins) {
		const union MHD_ConnectionInfo *i =
			MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
		*socket_context = connection_begin(s->service.connections, i->connect_fd, now_ns());
	} else {
		request_free(connection_held(*socket_context));
		connection_end(s->service.connections, *socket_context);
		*socket_context = NULL;
	}
}

/* libmicrohttpd complains of each client that goes away; only what is ours to do is worth a line.
 */
static void on_complaint(void *cls, const char *format, va_list args)
{
	(void)cls;
	(void)format;
	(void)args;
}

/* ---- every quarter of a second ------------------------------------------------------------- */

static void tick(struct server *s, uint64_t n, bool *was_bad)
{
	struct err err = { { 0 } };
	uint64_t version;
	int rc = follow_poll(s->follow, s->ticker_store, s->service.events, &err);
	if (!rc && !store_version(s->ticker_store, &version, NULL))
		reporter_tick(s->service.reporter, version);
	if (rc && !*was_bad)
		log_error("events: %s", err.text);
	else if (!rc && *was_bad)
		log_info("events: the store can be read again");
	*was_bad = rc;
	if (n % SWEEP_TICKS == 0)
		connections_sweep(s->service.connections, now_ns() - s->timeout_ns);
	if (n % BEAT_TICKS == 0)
		events_beat(s->service.events);
}

static void *tick_loop(void *arg)
{
	struct server *s = arg;
	bool was_bad = false;
	(void)pthread_mutex_lock(&s->lock);
	for (uint64_t n = 0; !s->stop; n++) {
		(void)pthread_mutex_unlock(&s->lock);
		tick(s, n, &was_bad);
		struct timespec until;
		(void)clock_gettime(CLOCK_MONOTONIC, &until);
		uint64_t at = (uint64_t)until.tv_nsec + TICK_NS;
		until.tv_sec += (time_t)(at / 1000000000u);
		until.tv_nsec = (long)(at % 1000000000u);
		(void)pthread_mutex_lock(&s->lock);
		if (!s->stop)
			(void)pthread_cond_clockwait(&s->wake, &s->lock, CLOCK_MONOTONIC, &until);
	}
	(void)pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* ---- begin and end ------------------------------------------------------------------------- */

static int make_parts(struct server *s, const struct daemon_config *c, struct err *err)
{
	struct service *v = &s->service;
	unsigned boot = 0;
	if (getrandom(&boot, sizeof boot, 0) != sizeof boot)
		boot = (unsigned)now_ns();
	s->db = c->db ? strdup(c->db) : NULL;
	v->db = s->db;
	v->cache = cache_new();
	v->metrics = metrics_new();
	v->events = events_new((int)c->streams, boot);
	v->assets = assets_new();
	v->access = access_new();
	v->connections = connections_new();
	v->receipts = receipts_new();
	v->connection_bytes = CONNECTION_BYTES;
	s->ingest = ingest_new(c, v->events);
	v->bodies.max = (size_t)(c->bodies_mib * 1048576);
	v->body_max = (size_t)(c->body_mib * 1048576);
	s->follow = follow_new();
	if (!v->cache || !v->metrics || !v->events || !v->assets || !v->access || !v->connections ||
	    !v->receipts || !s->follow || !s->ingest || (c->db && !s->db))
		return err_set(err, -ENOMEM, "out of memory");
	if (!s->db)
		return err_set(err, -EINVAL, "no database is named; use --db FILE or [store] db");
	return access_load(v->access, c, err);
}

/* The writer comes first: it makes the database. */
static int open_stores(struct server *s, const struct daemon_config *c, struct err *err)
{
	struct service *v = &s->service;
	const struct writer_core core = ingest_core(s->ingest);
	int rc = writer_start(&v->writer, s->db, &core, err);
	if (!rc)
		rc = work_start(&v->readers, s->db, (int)c->readers, err);
	if (!rc)
		rc = reporter_start(&v->reporter, s->db, err);
	if (!rc)
		rc = store_open(&v->store, s->db, STORE_READ, err);
	if (!rc)
		rc = store_open(&s->ticker_store, s->db, STORE_READ, err);
	return rc;
}

/* A connection past the limit on descriptors would not be accepted, and asked for again and again.
 * Returns how many there may be. */
static unsigned allow_connections(double wanted)
{
	const unsigned others = 100; /* stores, events, what a moment needs */
	struct rlimit r;
	rlim_t need = (rlim_t)wanted + others;
	if (getrlimit(RLIMIT_NOFILE, &r))
		return (unsigned)wanted;
	if (r.rlim_cur < need) {
		r.rlim_cur = r.rlim_max < need ? r.rlim_max : need;
		(void)setrlimit(RLIMIT_NOFILE, &r);
	}
	if (r.rlim_cur >= need)
		return (unsigned)wanted;
	unsigned most = r.rlim_cur > 2 * others ? (unsigned)r.rlim_cur - others : others;
	log_warn("%.0f connections are configured; the limit on open files allows %u "
		 "(LimitNOFILE=, ulimit -n)",
		 wanted, most);
	return most;
}

static int start_http(struct server *s, const struct daemon_config *c, struct err *err)
{
	unsigned connections = allow_connections(c->connections);
	const struct MHD_OptionItem options[] = {
		{ MHD_OPTION_EXTERNAL_LOGGER, (intptr_t)on_complaint, s },
		{ MHD_OPTION_LISTEN_SOCKET, s->fd, NULL },
		{ MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_BYTES, NULL },
		{ MHD_OPTION_CONNECTION_MEMORY_INCREMENT, 1024, NULL },
		{ MHD_OPTION_CONNECTION_LIMIT, (intptr_t)connections, NULL },
		{ MHD_OPTION_PER_IP_CONNECTION_LIMIT, (intptr_t)c->per_ip, NULL },
		{ MHD_OPTION_CONNECTION_TIMEOUT, (intptr_t)(c->timeout_s + 0.999), NULL },
		{ MHD_OPTION_STRICT_FOR_CLIENT, 1, NULL },
		{ MHD_OPTION_UNESCAPE_CALLBACK, (intptr_t)leave_escaped, s },
		{ MHD_OPTION_URI_LOG_CALLBACK, (intptr_t)on_line, s },
		{ MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)on_completed, s },
		{ MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)on_connection, s },
		{ MHD_OPTION_END, 0, NULL },
	};
	s->timeout_ns = (uint64_t)(c->timeout_s * 1e9);
	s->http = MHD_start_daemon(
		MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0,
		NULL, NULL, on_request, s, MHD_OPTION_ARRAY, options, MHD_OPTION_END);
	if (!s->http)
		return err_set(err, -EIO, "the HTTP server does not start: %s", strerror(errno));
	s->fd = -1;
	if (pthread_create(&s->ticker, NULL, tick_loop, s))
		return err_set(err, -EAGAIN, "no thread can be started");
	s->ticks = true;
	return 0;
}

int server_start(struct server **ret, const struct daemon_config *c, char text[LISTEN_TEXT],
		 struct err *err)
{
	struct server *s = calloc(1, sizeof *s);
	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	(void)pthread_mutex_init(&s->lock, NULL);
	(void)pthread_cond_init(&s->wake, NULL);
	s->fd = -1;
	int rc = make_parts(s, c, err);
	if (!rc)
		rc = open_stores(s, c, err);
	if (!rc)
		rc = listen_open(&s->fd, text, c->listen ? c->listen : "", err);
	if (!rc)
		rc = start_http(s, c, err);
	if (rc)
		server_stop(s);
	else
		*ret = s;
	return rc;
}

int server_check(const struct daemon_config *c, struct err *err)
{
	struct access *a = access_new();
	int rc = a ? listen_check(c->listen ? c->listen : "", err)
		   : err_set(err, -ENOMEM, "out of memory");
	if (!rc)
		rc = access_load(a, c, err);
	access_free(a);
	return rc;
}

int server_reload(struct server *s, const struct daemon_config *c, struct err *err)
{
	return access_load(s->service.access, c, err);
}

static void stop_ticker(struct server *s)
{
	if (!s->ticks)
		return;
	(void)pthread_mutex_lock(&s->lock);
	s->stop = true;
	(void)pthread_cond_signal(&s->wake);
	(void)pthread_mutex_unlock(&s->lock);
	(void)pthread_join(s->ticker, NULL);
}

/* Every suspended connection must be resumed before MHD_stop_daemon: the pools resume theirs when
 * they have run dry, the events theirs. */
void server_stop(struct server *s)
{
	if (!s)
		return;
	struct service *v = &s->service;
	stop_ticker(s);
	int fd = s->http ? (int)MHD_quiesce_daemon(s->http) : s->fd;
	if (fd >= 0)
		(void)close(fd);
	work_stop(v->readers);
	reporter_stop(v->reporter);
	writer_stop(v->writer);
	if (v->events)
		events_stop(v->events);
	if (s->http)
		MHD_stop_daemon(s->http);
	work_free(v->readers);
	reporter_free(v->reporter);
	writer_free(v->writer);
	ingest_free(s->ingest);
	receipts_free(v->receipts);
	store_close(v->store);
	store_close(s->ticker_store);
	cache_free(v->cache);
	metrics_free(v->metrics);
	events_free(v->events);
	assets_free(v->assets);
	access_free(v->access);
	connections_free(v->connections);
	follow_free(s->follow);
	(void)pthread_cond_destroy(&s->wake);
	(void)pthread_mutex_destroy(&s->lock);
	free(s->db);
	free(s);
}
