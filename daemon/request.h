/* One HTTP request on its way. Only server.c and request.c look in here. */
#ifndef DAEMON_REQUEST_H
#define DAEMON_REQUEST_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stdint.h>

#include "daemon/access.h"
#include "daemon/assets.h"
#include "daemon/body.h"
#include "daemon/cache.h"
#include "daemon/connections.h"
#include "daemon/entity.h"
#include "daemon/events.h"
#include "daemon/metrics.h"
#include "daemon/reporter.h"
#include "daemon/route.h"
#include "daemon/target.h"
#include "daemon/work.h"
#include "daemon/writer.h"

/* What all requests share. */
struct service {
	const char *db;
	struct store *store; /* of the loop's thread, which only asks for its version */
	struct work_pool *readers;
	struct reporter *reporter;
	struct writer *writer;
	struct receipts *receipts; /* answers to posts, of the writer's thread */
	struct body_budget bodies;
	size_t body_max, connection_bytes;
	struct cache *cache;
	struct metrics *metrics;
	struct events *events;
	struct assets *assets;
	struct access *access;
	struct connections *connections;
};

struct request {
	struct work work; /* first: it is the same address */
	struct post post;
	struct body body;
	struct service *service;
	struct MHD_Connection *connection;
	char *raw;             /* the target as it came, with its query */
	const char *line;      /* where libmicrohttpd has it; only to be compared */
	struct target *target; /* large, with id: gone again while a body is read and stored */
	char *id;
	char method[12]; /* for the log */
	const struct route *route;
	enum media media;
	bool gzip, is_checked, has_begun, has_body;
	uint64_t version, began_ns;
	char *key;             /* of the cache */
	struct entity *entity; /* the answer, when there is one */
	int status;            /* that was sent */
	size_t bytes;
};

struct request *request_new(struct service *s, const char *raw, uint64_t now_ns);
void request_free(struct request *r);

/* The headers are here. A body is only read where r->has_body says so: the route takes one, the
 * client may post, and its type and length can be. Otherwise, when it says it has one, r->entity is
 * the refusal, to be sent at once; the connection ends behind it. */
void request_check(struct request *r, const char *method, const char *version);

/* More of the body, where it has one. */
void request_body(struct request *r, const void *bytes, size_t n);

/* The whole request is here. True: the connection is suspended, and another thread has r now; it
 * comes back resumed, with r->entity. False: r->entity is the answer, or *ret_stream is; neither:
 * out of memory. */
bool request_begin(struct request *r, const char *method, struct MHD_Response **ret_stream);

#endif
