/* The routes, in one table: it finds the handler, checks the query, says what is allowed, and
 * prints openapi.json. */
#ifndef DAEMON_ROUTE_H
#define DAEMON_ROUTE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/answer.h"
#include "daemon/target.h"
#include "store/store.h"

enum route_param_type {
	PARAM_NAME,   /* any text */
	PARAM_STATUS, /* of a run */
	PARAM_UTC,    /* 2026-09-29 or 2026-09-29T04:52:01Z */
	PARAM_COUNT,  /* 1 to 1000 */
	PARAM_RUN,    /* a run id */
};

struct route_param {
	const char *name;
	enum route_param_type type;
	const char *about;
};

struct metrics;
struct writer_numbers;

/* One request on its way through a handler. */
struct call {
	const struct route *route;
	const struct target *target;
	const char *id; /* what {id} stands for; empty where there is none */
	enum media media;
	struct store *store; /* of this thread; NULL on the loop's */
	struct metrics *metrics;
	const struct writer_numbers *writer;
	const char *db; /* path of the database */
};

enum route_place {
	ON_LOOP,   /* answers at once */
	ON_READER, /* asks the store */
	ON_WRITER, /* changes the store; needs a token that may write */
	AS_POST,   /* a body of batches, for the writer; needs a token that may post */
	AS_ASSET,  /* a file of the page */
	AS_STREAM, /* server-sent events */
};

struct route {
	const char *method, *pattern, *summary;
	unsigned media; /* what it offers */
	enum route_place place;
	bool open;   /* tells nothing that is stored: needs no permission to read */
	bool cached; /* the same until the store changes */
	/* 0, or a negative errno that becomes a problem. */
	int (*handle)(const struct call *c, struct answer *a, struct err *err);
	const struct route_param *params;
	size_t n_params;
};

extern const struct route routes[];
extern const size_t n_routes;

#define ROUTE_ID_BYTES 256

/* 0: *ret is the route, and id what {id} stands for (empty where it has none). -ENOENT: no such
 * path. -ENOTSUP: allow says which methods it has. */
int route_find(const char *method, const char *path, const struct route **ret,
	       char ret_id[ROUTE_ID_BYTES], char allow[64]);

/* Every parameter is known and has a value of its type. -EINVAL. */
int route_check(const struct route *r, const struct target *t, struct err *err);

/* ---- handlers ---- */

int handle_health(const struct call *c, struct answer *a, struct err *err);
int handle_metrics(const struct call *c, struct answer *a, struct err *err);
int handle_openapi(const struct call *c, struct answer *a, struct err *err);
int handle_report(const struct call *c, struct answer *a, struct err *err);
int handle_runs(const struct call *c, struct answer *a, struct err *err);
int handle_run(const struct call *c, struct answer *a, struct err *err);
int handle_run_ops(const struct call *c, struct answer *a, struct err *err);
int handle_run_io(const struct call *c, struct answer *a, struct err *err);
int handle_run_capture(const struct call *c, struct answer *a, struct err *err);
int handle_run_period(const struct call *c, struct answer *a, struct err *err);
int handle_run_context(const struct call *c, struct answer *a, struct err *err);
int handle_ledger(const struct call *c, struct answer *a, struct err *err);
int handle_delete_run(const struct call *c, struct answer *a, struct err *err);
int handle_running(const struct call *c, struct answer *a, struct err *err);
int handle_platforms(const struct call *c, struct answer *a, struct err *err);
int handle_platform(const struct call *c, struct answer *a, struct err *err);
int handle_conformance(const struct call *c, struct answer *a, struct err *err);
int handle_conformance_of(const struct call *c, struct answer *a, struct err *err);

/* The JSON of o, which is taken, becomes the body. -ENOMEM. */
int answer_json_take(struct answer *a, json_t *o, struct err *err);

#endif
