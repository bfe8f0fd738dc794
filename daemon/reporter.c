/* One thread makes all reports: their parts are its own, and only the files that are ready are
 * shared. */
#define _GNU_SOURCE /* strdup, memfd_create */
#include "daemon/reporter.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "lib/log.h"
#include "report/grid.h"

#define VIEWS 8                         /* of all, and of suites */
#define BYTES_MAX ((size_t)512 << 20)   /* of all of them; a larger one is made each time */
#define ASKED_NS (3600 * 1000000000ull) /* so long one that was asked for is made ahead */
#define REST 9                          /* times what that took: a tenth of one CPU at most, */
#define REST_NS 1000000000ull           /* but no longer: the first one reads all records */
#define FILE_BYTES 16384                /* from here on a file is cheaper (daemon/entity.c) */
#define GZIP_BYTES 1024                 /* smaller ones fit a packet as they are */

/* As it is, or with gzip. */
struct form {
	struct entity *entity;
	uint64_t version; /* of the store: it is good up to this one */
	uint64_t asked_ns;
};

struct view {
	char *suite;       /* "" is all; NULL: this place is free */
	struct grid *grid; /* of the thread alone */
	struct form forms[2];
	uint64_t used; /* the question that used it last, as a number */
};

struct reporter {
	pthread_mutex_t lock;
	struct work_pool *pool;
	struct view views[VIEWS];
	uint64_t questions;
	struct work ahead;
	bool is_queued;                         /* ahead */
	uint64_t ahead_version, ahead_after_ns; /* what it has done, and when it may again */
};

static uint64_t now_ns(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- views --------------------------------------------------------------------------------- */

static struct view *find_view(struct reporter *r, const char *suite)
{
	for (size_t i = 0; i < VIEWS; i++)
		if (r->views[i].suite && strcmp(r->views[i].suite, suite) == 0)
			return &r->views[i];
	return NULL;
}

/* On the thread. What others hold of it stays good. */
static void drop_view(struct reporter *r, struct view *v)
{
	struct view old = *v;
	(void)pthread_mutex_lock(&r->lock);
	*v = (struct view){ .suite = NULL };
	(void)pthread_mutex_unlock(&r->lock);
	free(old.suite);
	grid_free(old.grid);
	entity_drop(old.forms[0].entity);
	entity_drop(old.forms[1].entity);
}

static struct view *least_used(struct reporter *r, const struct view *but)
{
	struct view *least = NULL;
	(void)pthread_mutex_lock(&r->lock);
	for (size_t i = 0; i < VIEWS; i++) {
		struct view *v = &r->views[i];
		if (v != but && v->suite && (!least || v->used < least->used))
			least = v;
	}
	(void)pthread_mutex_unlock(&r->lock);
	return least;
}

static struct view *new_view(struct reporter *r, const char *suite)
{
	const struct report_options o = { .suites = &suite, .n_suites = *suite ? 1 : 0 };
	struct view new = { .suite = strdup(suite), .grid = grid_new(&o) };
	if (!new.suite || !new.grid) {
		free(new.suite);
		grid_free(new.grid);
		return NULL;
	}
	struct view *v = NULL;
	for (size_t i = 0; i < VIEWS && !v; i++)
		v = r->views[i].suite ? NULL : &r->views[i];
	if (!v) {
		v = least_used(r, NULL);
		drop_view(r, v);
	}
	(void)pthread_mutex_lock(&r->lock);
	new.used = ++r->questions;
	*v = new;
	(void)pthread_mutex_unlock(&r->lock);
	return v;
}

static size_t bytes_of(const struct view *v)
{
	size_t n = v->suite ? grid_held(v->grid) : 0;
	for (int i = 0; i < 2; i++)
		n += v->suite && v->forms[i].entity ? v->forms[i].entity->bytes : 0;
	return n;
}

/* On the thread, when v has been made and its answer is held. */
static void keep_within(struct reporter *r, struct view *v)
{
	for (;;) {
		size_t all = 0;
		for (size_t i = 0; i < VIEWS; i++)
			all += bytes_of(&r->views[i]);
		if (all <= BYTES_MAX)
			return;
		struct view *least = least_used(r, v);
		drop_view(r, least ? least : v);
		if (!least)
			return;
	}
}

/* ---- files --------------------------------------------------------------------------------- */

struct sink {
	int fd; /* -1: body */
	struct buf *body;
	size_t n, all;
	bool failed;
	char bytes[65536];
};

static void flush(struct sink *k)
{
	for (size_t done = 0; done < k->n && !k->failed;) {
		ssize_t w = write(k->fd, k->bytes + done, k->n - done);
		if (w > 0)
			done += (size_t)w;
		else if (w == 0 || errno != EINTR)
			k->failed = true;
	}
	k->n = 0;
}

/* Pieces are small, so that they are worth copying together; a large one goes by itself. */
static int take_piece(void *arg, const void *bytes, size_t n)
{
	struct sink *k = arg;
	if (k->fd < 0) {
		buf_put(k->body, bytes, n);
		return k->body->failed ? -ENOMEM : 0;
	}
	k->all += n;
	while (n && !k->failed) {
		size_t now = n < sizeof k->bytes - k->n ? n : sizeof k->bytes - k->n;
		memcpy(k->bytes + k->n, bytes, now);
		k->n += now;
		bytes = (const char *)bytes + now;
		n -= now;
		if (k->n == sizeof k->bytes)
			flush(k);
	}
	return k->failed ? -ENOMEM : 0;
}

static struct entity *make_entity(struct grid *g, bool gzip)
{
	struct answer a = { .status = 200, .media = MEDIA_JSON };
	bool is_file = grid_bytes(g) >= FILE_BYTES;
	gzip = gzip && grid_bytes(g) >= GZIP_BYTES;
	struct sink *k = malloc(sizeof *k);
	if (!k)
		return NULL;
	k->fd = is_file ? memfd_create("roimeterd-report", MFD_CLOEXEC) : -1;
	k->body = &a.body;
	k->n = k->all = 0;
	k->failed = is_file && k->fd < 0;
	grid_hash(g, a.etag);
	int rc = k->failed ? -ENOMEM
		 : gzip    ? grid_each_gzip(g, take_piece, k)
			   : grid_each_text(g, take_piece, k);
	if (!rc && is_file)
		flush(k);
	struct entity *e = NULL;
	if (!rc && !k->failed)
		e = entity_ready(&a, k->fd, k->all, gzip ? "gzip" : "");
	else if (k->fd >= 0)
		(void)close(k->fd);
	free(k);
	answer_done(&a);
	return e;
}

/* ---- making -------------------------------------------------------------------------------- */

static int update(struct view *v, struct store *s, struct err *err)
{
	int rc = store_snapshot(s, err);
	if (rc)
		return rc;
	rc = grid_update(v->grid, s, err);
	store_snapshot_end(s);
	return rc;
}

/* The form of the view as its grid is now; the other one is of no use when it is older. */
static int publish(struct reporter *r, struct view *v, bool gzip, struct entity **ret,
		   struct err *err)
{
	uint64_t version = grid_version(v->grid);
	struct form *f = &v->forms[gzip], *other = &v->forms[!gzip];
	struct entity *made = NULL, *old = NULL, *stale = NULL;
	char hash[33];
	grid_hash(v->grid, hash);
	bool is_good = f->entity && strcmp(f->entity->etag, hash) == 0;
	if (!is_good) {
		made = make_entity(v->grid, gzip);
		if (!made)
			return err_set(err, -ENOMEM, "out of memory");
	}
	(void)pthread_mutex_lock(&r->lock);
	if (made) {
		old = f->entity;
		f->entity = made;
	}
	f->version = version;
	if (other->entity && strcmp(other->entity->etag, hash) == 0) {
		other->version = version;
	} else {
		stale = other->entity;
		other->entity = NULL;
	}
	if (ret)
		*ret = entity_hold(f->entity);
	(void)pthread_mutex_unlock(&r->lock);
	entity_drop(old);
	entity_drop(stale);
	return 0;
}

int reporter_make(struct reporter *r, struct store *s, const char *suite, bool gzip,
		  struct entity **ret, struct err *err)
{
	const char *name = suite ? suite : "";
	struct view *v = find_view(r, name);
	if (!v)
		v = new_view(r, name);
	if (!v)
		return err_set(err, -ENOMEM, "out of memory");
	(void)pthread_mutex_lock(&r->lock);
	v->used = ++r->questions;
	v->forms[gzip].asked_ns = now_ns();
	(void)pthread_mutex_unlock(&r->lock);
	int rc = update(v, s, err);
	if (!rc)
		rc = publish(r, v, gzip, ret, err);
	if (rc == -ENOENT)
		drop_view(r, v); /* or names that nobody has would fill the places */
	else
		keep_within(r, v);
	return rc;
}

struct entity *reporter_get(struct reporter *r, const char *suite, bool gzip, uint64_t version)
{
	struct entity *e = NULL;
	(void)pthread_mutex_lock(&r->lock);
	struct view *v = find_view(r, suite ? suite : "");
	struct form *f = v ? &v->forms[gzip] : NULL;
	if (f && f->entity && f->version >= version) {
		e = entity_hold(f->entity);
		v->used = ++r->questions;
		f->asked_ns = now_ns();
	}
	(void)pthread_mutex_unlock(&r->lock);
	return e;
}

/* ---- ahead --------------------------------------------------------------------------------- */

static bool is_asked_for(struct reporter *r, const struct view *v, int form, uint64_t at_ns)
{
	(void)pthread_mutex_lock(&r->lock);
	uint64_t asked_ns = v->suite ? v->forms[form].asked_ns : 0;
	(void)pthread_mutex_unlock(&r->lock);
	return asked_ns && (asked_ns > at_ns || at_ns - asked_ns <= ASKED_NS);
}

static void make_ahead(struct reporter *r, struct store *s, struct view *v, uint64_t begin_ns,
		       struct err *err)
{
	for (int gzip = 0; gzip < 2; gzip++) {
		if (!is_asked_for(r, v, gzip, begin_ns))
			continue;
		int rc = update(v, s, err);
		if (!rc)
			rc = publish(r, v, gzip, NULL, err);
		if (rc == -ENOENT)
			drop_view(r, v);
		else if (rc)
			log_error("the report: %s", err->text);
		if (rc)
			return;
	}
}

static void run_ahead(struct work *w, struct store *s)
{
	struct reporter *r =
		(struct reporter *)(void *)((char *)w - offsetof(struct reporter, ahead));
	struct err err = { { 0 } };
	uint64_t begin_ns = now_ns(), version = 0;
	(void)store_version(s, &version, NULL);
	for (size_t i = 0; i < VIEWS; i++)
		make_ahead(r, s, &r->views[i], begin_ns, &err);
	keep_within(r, NULL);
	uint64_t end_ns = now_ns();
	(void)pthread_mutex_lock(&r->lock);
	r->is_queued = false;
	r->ahead_version = version;
	uint64_t rest_ns = REST * (end_ns - begin_ns);
	r->ahead_after_ns = end_ns + (rest_ns < REST_NS ? rest_ns : REST_NS);
	(void)pthread_mutex_unlock(&r->lock);
}

void reporter_tick(struct reporter *r, uint64_t version)
{
	(void)pthread_mutex_lock(&r->lock);
	bool now = !r->is_queued && version > r->ahead_version && now_ns() >= r->ahead_after_ns;
	r->is_queued |= now;
	(void)pthread_mutex_unlock(&r->lock);
	if (!now || work_put(r->pool, &r->ahead))
		return;
	(void)pthread_mutex_lock(&r->lock);
	r->is_queued = false;
	(void)pthread_mutex_unlock(&r->lock);
}

/* ---- begin and end ------------------------------------------------------------------------- */

int reporter_start(struct reporter **ret, const char *db, struct err *err)
{
	struct reporter *r = calloc(1, sizeof *r);
	if (!r)
		return err_set(err, -ENOMEM, "out of memory");
	(void)pthread_mutex_init(&r->lock, NULL);
	r->ahead.run = run_ahead;
	int rc = work_start(&r->pool, db, 1, err);
	struct view *all = rc ? NULL : new_view(r, "");
	if (!rc && !all)
		rc = err_set(err, -ENOMEM, "out of memory");
	if (rc) {
		reporter_free(r);
		return rc;
	}
	/* As a browser will ask; so the first one needn't wait for all records to be read. */
	all->forms[1].asked_ns = now_ns();
	reporter_tick(r, UINT64_MAX);
	*ret = r;
	return 0;
}

bool reporter_put(struct reporter *r, struct work *w)
{
	return work_put(r->pool, w);
}

void reporter_stop(struct reporter *r)
{
	if (r)
		work_stop(r->pool);
}

void reporter_free(struct reporter *r)
{
	if (!r)
		return;
	work_free(r->pool);
	for (size_t i = 0; i < VIEWS; i++)
		drop_view(r, &r->views[i]);
	(void)pthread_mutex_destroy(&r->lock);
	free(r);
}
