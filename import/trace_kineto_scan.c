/* Events out of the list, as they lie in the pieces of the file. One that lies across pieces is put
 * together in a buffer. */
#include "import/trace_kineto_impl.h"

#include <errno.h>
#include <strings.h>

#define EVENT_BYTES_MAX ((size_t)64 << 20)
#define CARRY_BYTES ((size_t)4 << 10) /* of the next piece, at first */

int kineto_wrong(struct kineto *k, uint64_t place, const char *what)
{
	if (!k->j.rc)
		k->j.rc = err_set(k->err, -EINVAL, "%s: byte %llu: %s", k->j.path,
				  (unsigned long long)place, what);
	return k->j.rc;
}

static enum kineto_class class_of(struct str cat)
{
	static const struct {
		const char name[20];
		enum kineto_class class;
	} classes[] = {
		{ "kernel", KINETO_KERNEL },         { "gpu_memcpy", KINETO_COPY },
		{ "memcpy", KINETO_COPY },           { "gpu_memset", KINETO_FILL },
		{ "memset", KINETO_FILL },           { "gpu_op", KINETO_GPU_OP },
		{ "cuda_runtime", KINETO_CALL },     { "cuda_driver", KINETO_CALL },
		{ "runtime", KINETO_CALL },          { "xpu_runtime", KINETO_CALL },
		{ "user_annotation", KINETO_RANGE }, { "cpu_op", KINETO_OPERATOR },
		{ "operator", KINETO_OPERATOR },     { "python_function", KINETO_FUNCTION },
		{ "gpu_user_annotation", KINETO_ON_DEVICE },
	};
	if (!cat.n || cat.n >= sizeof classes[0].name)
		return KINETO_NOTHING;
	for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
		if (classes[i].name[0] == (*cat.p | 0x20) && !classes[i].name[cat.n] &&
		    strncasecmp(classes[i].name, cat.p, cat.n) == 0)
			return classes[i].class;
	return KINETO_NOTHING;
}

/* Ranges are for the first pass, work and calls for the others; the first only learns that there
 * are some. The pid of a call tells whose trace it is. */
static bool of_this_pass(struct kineto *k, enum kineto_class class)
{
	bool op = class >= KINETO_KERNEL && class <= KINETO_GPU_OP;
	k->ops |= op;
	k->gpu_ops |= class == KINETO_GPU_OP;
	k->calls |= class == KINETO_CALL;
	if (k->pass == TRACE_RANGES)
		return class >= KINETO_RANGE || (class == KINETO_CALL && !*k->host_pid);
	return op || class == KINETO_CALL;
}

static struct json_value *place_of(struct kineto_event *e, const struct json_value *key,
				   struct json_value *cat, struct json_value *ph,
				   struct json_value *rest)
{
	switch (key->text.n) {
	case 2:
		return json_scan_is(key, "ph", 2) ? ph : json_scan_is(key, "ts", 2) ? &e->ts : rest;
	case 3:
		return json_scan_is(key, "cat", 3)   ? cat
		       : json_scan_is(key, "dur", 3) ? &e->dur
		       : json_scan_is(key, "pid", 3) ? &e->pid
						     : rest;
	case 4:
		return json_scan_is(key, "name", 4)   ? &e->name
		       : json_scan_is(key, "args", 4) ? &e->args
						      : rest;
	default:
		return rest;
	}
}

/* Most operators and functions are nobody's region, and need not be looked at to their end. */
static bool nobody_asks(struct kineto *k, const struct kineto_event *e)
{
	return e->class >= KINETO_OPERATOR && e->name.kind == '"' && !e->name.escaped &&
	       !trace_asked(k->t, e->name.text);
}

/* The event that begins at s->p. Once it is known to be none of ours, only its end is looked for.
 * false: see s. */
static bool event(struct kineto *k, struct json_scan *s, struct kineto_event *e)
{
	struct json_value key, rest, cat = { 0 }, ph = { 0 };
	int rc;
	*e = (struct kineto_event){ .begin = s->p };
	if (*s->p != '{') {
		s->fault = "an event should stand here: an object";
		return false;
	}
	s->p++;
	for (bool first = true; (rc = json_scan_key(s, first, &key)) > 0; first = false) {
		struct json_value *to = place_of(e, &key, &cat, &ph, &rest);
		if (!json_scan_value(s, to))
			return false;
		if (to == &cat) {
			e->class = class_of(cat.text);
			if (!of_this_pass(k, e->class))
				e->class = KINETO_NOTHING;
		}
		bool not_ours =
			(to == &cat && !e->class) || (to == &ph && !json_scan_is(&ph, "X", 1)) ||
			((to == &cat || to == &e->name) && nobody_asks(k, e));
		if (not_ours) {
			e->class = KINETO_NOTHING;
			return json_scan_out(s);
		}
	}
	if (!ph.text.p)
		e->class = KINETO_NOTHING;
	return rc == 0;
}

static int fault_of(struct kineto *k, const struct json_scan *s, const char *begin, uint64_t place)
{
	return kineto_wrong(k, place + (uint64_t)(s->p - begin), s->fault);
}

/* The event begins in this piece and ends in a later one. */
static int across(struct kineto *k, struct kineto_event *e, uint64_t place)
{
	struct json_pull *j = &k->j;
	struct buf *b = &k->carry;
	b->len = 0;
	buf_put(b, j->p, (size_t)(j->end - j->p));
	j->p = j->end;
	for (;;) {
		int rc = json_more(j);
		if (rc < 0)
			return rc;
		if (!rc)
			return kineto_wrong(
				k, json_place(j),
				"the file ends here, in the middle of an event: it is cut");
		size_t before = b->len, n = (size_t)(j->end - j->p);
		size_t most = before > CARRY_BYTES ? before : CARRY_BYTES;
		n = n < most ? n : most;
		buf_put(b, j->p, n);
		if (b->failed)
			return j->rc = err_set(k->err, -ENOMEM, "out of memory");
		struct json_scan s = { b->data, b->data + b->len, NULL };
		if (event(k, &s, e)) {
			j->p += (size_t)(s.p - b->data) - before;
			return 1;
		}
		if (s.fault)
			return fault_of(k, &s, b->data, place);
		if (b->len > EVENT_BYTES_MAX)
			return kineto_wrong(k, place, "an event over 64 MiB");
		j->p += n;
	}
}

int kineto_next(struct kineto *k, struct kineto_event *ret)
{
	struct json_pull *j = &k->j;
	int rc;
	while ((rc = json_item(j)) > 0) {
		uint64_t place = json_place(j);
		struct json_scan s = { j->p, j->end, NULL };
		if (event(k, &s, ret)) {
			j->p = s.p;
		} else if (s.fault) {
			return fault_of(k, &s, j->p, place);
		} else {
			rc = across(k, ret, place);
			if (rc < 0)
				return rc;
		}
		ret->place = place;
		if (ret->class)
			return 1;
	}
	return rc;
}
