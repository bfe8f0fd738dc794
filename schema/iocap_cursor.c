/* Calls out of a capture, one by one: symbols, what they leave open, times. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "schema/iocap_impl.h"

struct iocap_cursor {
	struct rprocess *p;
	struct rstream *s;
	struct walk walk;
	struct iocap_model model;
	uint64_t *gaps, *lengths;
	size_t n_times, at_time, time_block;
	uint64_t end; /* of the call before, in steps */
	uint64_t left;
};

int iocap_begin(struct iocap_cursor **ret, const struct iocap *c, size_t process, size_t stream,
		struct err *err)
{
	struct rprocess *p = c->processes[process];
	struct iocap_cursor *at = calloc(1, sizeof *at);
	if (!at)
		return err_set(err, -ENOMEM, "out of memory");
	at->p = p;
	at->s = &p->streams[stream];
	iocap_walk_init(&at->walk, p, at->s, false);
	iocap_model_init(&at->model, (unsigned)stream);
	if (at->s->n_segments)
		at->model.thread = at->s->segments[0].thread;
	*ret = at;
	return 0;
}

void iocap_end(struct iocap_cursor *at)
{
	if (!at)
		return;
	iocap_walk_done(&at->walk);
	iocap_model_done(&at->model);
	free(at->gaps);
	free(at->lengths);
	free(at);
}

static int next_times(struct iocap_cursor *at, struct err *err)
{
	size_t n;
	free(at->gaps);
	free(at->lengths);
	at->gaps = at->lengths = NULL;
	at->at_time = at->n_times = 0;
	if (at->time_block == at->s->times.n)
		return iocap_bad(at->p, err, "a stream has fewer times than calls");
	struct iocap_in in = at->s->times.items[at->time_block++].in;
	const uint8_t *begin = in.at;
	at->gaps = iocap_column_read(&in, COLUMN_MAX, &at->n_times);
	at->lengths = iocap_column_read(&in, COLUMN_MAX, &n);
	iocap_view_past(&at->p->file, begin, in.at);
	return in.bad || n != at->n_times ? iocap_bad(at->p, err, "a column of times") : 0;
}

static int put_times(struct iocap_cursor *at, struct io_event *e, struct err *err)
{
	while (at->at_time == at->n_times) {
		int rc = next_times(at, err);
		if (rc)
			return rc;
	}
	uint64_t begin = at->end + (uint64_t)iocap_unzigzag(at->gaps[at->at_time]);
	uint64_t length = at->lengths[at->at_time++], step = at->p->facts.step_ns;
	if (begin)
		at->end = begin + (length ? length - 1 : 0);
	if (!length) {
		e->when_ns = begin * step;
		return 0;
	}
	e->begin_ns = begin * step;
	e->end_ns = (begin + length - 1) * step;
	return 0;
}

static void set(struct io_event *e, unsigned field, int64_t v)
{
	if (field == IOCAP_RESULT)
		e->result = v;
	else if (field == IOCAP_AT)
		e->at = v;
	else if (field == IOCAP_COUNT)
		e->count = (uint32_t)v;
	else
		e->arg[field] = v;
}

static int fill(struct iocap_cursor *at, const struct iocap_signature *g, struct io_event *e,
		struct err *err)
{
	const struct iocap_shape *shape = iocap_shape(g->call);
	for (unsigned k = 0; k < IOCAP_FIELDS; k++) {
		unsigned i = shape->order[k];
		int64_t v;
		if (!iocap_model_expect(&at->model, shape, e, i, g->how[i], g->value[i], &v)) {
			if (g->how[i] != IOCAP_COLUMN)
				return iocap_bad(at->p, err, "a call expects what is not there");
			int rc = iocap_walk_value(&at->walk, iocap_value_of(shape, i), &v, err);
			if (rc)
				return rc;
			v = iocap_add(iocap_model_base(&at->model, shape, e, i), v);
		}
		set(e, i, v);
	}
	iocap_model_tell(&at->model, shape, e);
	return at->model.failed ? err_set(err, -ENOMEM, "out of memory") : 0;
}

int iocap_next(struct iocap_cursor *at, struct io_event *ret, uint32_t *ret_signature,
	       struct err *err)
{
	for (;;) {
		uint32_t symbol;
		int rc = iocap_walk_next(&at->walk, &symbol, err);
		if (rc <= 0)
			return rc;
		const struct iocap_signature *g = &at->p->signatures[symbol];
		if (symbol + 1 == at->p->switches) {
			int64_t v;
			rc = iocap_walk_value(&at->walk, IOCAP_V_OTHER, &v, err);
			if (rc)
				return rc;
			at->model.thread = (uint32_t)(at->model.thread + (uint64_t)v);
			continue;
		}
		*ret = (struct io_event){ .call = g->call,
					  .depth = g->depth,
					  .thread = at->model.thread };
		rc = fill(at, g, ret, err);
		if (!rc && at->p->facts.timed)
			rc = put_times(at, ret, err);
		if (ret_signature)
			*ret_signature = symbol;
		return rc ? rc : 1;
	}
}

/* ---- all streams of a process ---- */

struct head {
	struct iocap_cursor *at;
	struct io_event e;
	bool has;
};

struct iocap_merged {
	struct head heads[IOCAP_STREAMS];
	size_t n;
};

int iocap_merge(struct iocap_merged **ret, const struct iocap *c, size_t process, struct err *err)
{
	struct iocap_merged *m = calloc(1, sizeof *m);
	int rc = m ? 0 : err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; !rc && i < iocap_streams(c, process); i++) {
		struct head *h = &m->heads[m->n];
		rc = iocap_begin(&h->at, c, process, i, err);
		if (rc)
			break;
		m->n++;
		int got = iocap_next(h->at, &h->e, NULL, err);
		h->has = got > 0;
		rc = got < 0 ? got : 0;
	}
	if (rc) {
		iocap_merge_end(m);
		return rc;
	}
	*ret = m;
	return 0;
}

int iocap_merge_next(struct iocap_merged *m, struct io_event *ret, struct err *err)
{
	struct head *first = NULL;
	for (size_t i = 0; i < m->n; i++) {
		struct head *h = &m->heads[i];
		if (h->has && (!first || h->e.begin_ns < first->e.begin_ns))
			first = h;
	}
	if (!first)
		return 0;
	*ret = first->e;
	int got = iocap_next(first->at, &first->e, NULL, err);
	first->has = got > 0;
	return got < 0 ? got : 1;
}

void iocap_merge_end(struct iocap_merged *m)
{
	for (size_t i = 0; m && i < m->n; i++)
		iocap_end(m->heads[i].at);
	free(m);
}
