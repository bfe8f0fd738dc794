/* What the events of a PyTorch trace mean: operations, calls of the runtime, annotated ranges. */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/trace_cursor.h" /* TRACE_TIME_MAX */
#include "import/trace_kineto_impl.h"
#include "import/trace_micro.h"

#define BYTES_MAX 1e15 /* a petabyte in one copy is no size */
#define DEVICES_MAX 4096

static int wrong_at(struct kineto *k, const struct kineto_event *e, const char *at,
		    const char *what)
{
	return kineto_wrong(k, e->place + (uint64_t)(at - e->begin), what);
}

static bool has(const char *hay, size_t n, const char *needle)
{
	return memmem(hay, n, needle, strlen(needle)) != NULL;
}

/* A text as it is meant. Lent until the next. */
static int unescaped(struct kineto *k, const struct kineto_event *e, const struct json_value *v,
		     struct json_pull *room, struct str *ret)
{
	*ret = v->text;
	if (!v->escaped)
		return 0;
	struct err why = { 0 };
	room->p = room->piece = v->text.p - 1;
	room->end = v->text.p + v->text.n + 1;
	room->err = &why;
	room->path = "";
	int rc = json_pull_text(room, ret);
	room->err = NULL; /* why ends here */
	if (rc == -ENOMEM)
		return k->j.rc = err_set(k->err, rc, "out of memory");
	return rc ? wrong_at(k, e, room->p, "a text with an escape that JSON does not have") : 0;
}

static int no_more(void *arg, const char **ret, size_t *ret_n, struct err *err)
{
	(void)arg;
	(void)err;
	*ret = NULL;
	*ret_n = 0;
	return 0;
}

/* ---- times --------------------------------------------------------------------------------------
 */

static int micro(struct kineto *k, const struct kineto_event *e, const struct json_value *v,
		 struct micro *ret)
{
	enum micro_is is =
		v->kind == '0' || v->kind == '"' ? micro_parse(v->text, ret) : MICRO_NOT_A_NUMBER;
	if (is == MICRO_OK)
		return 0;
	return wrong_at(k, e, v->text.p,
			is == MICRO_TOO_LARGE ? "a time of over 146 years"
					      : "a time in microseconds should stand here");
}

/* *timed: it has a begin and an end. */
static int times(struct kineto *k, const struct kineto_event *e, int64_t *begin, int64_t *end,
		 bool *timed)
{
	struct micro ts, dur;
	*timed = e->ts.text.p && e->dur.text.p && e->dur.kind != 'w' && e->ts.kind != 'w';
	if (!*timed)
		return 0;
	int rc = micro(k, e, &e->ts, &ts);
	if (!rc && ts.below)
		rc = wrong_at(k, e, e->ts.text.p, "a time below 0");
	if (!rc)
		rc = micro(k, e, &e->dur, &dur);
	if (rc)
		return rc;
	*begin = *end = micro_round(ts);
	if (!dur.below)
		*end = micro_round(micro_add(ts, dur));
	if (*end > TRACE_TIME_MAX)
		return wrong_at(k, e, e->ts.text.p, "a time of over 146 years");
	if (k->first_ns < 0)
		k->first_ns = *begin;
	return 0;
}

/* ---- operations
 * ----------------------------------------------------------------------------------- */

int kineto_device(struct kineto *k, struct str key, const char *name, uint32_t *ret)
{
	for (size_t i = 0; i < k->n_known; i++) {
		const struct kineto_device *d = &k->known[(k->last_known + i) % k->n_known];
		if (strlen(d->key) == key.n && memcmp(d->key, key.p, key.n) == 0) {
			k->last_known = (size_t)(d - k->known);
			*ret = d->number;
			return 0;
		}
	}
	if (k->n_known == DEVICES_MAX)
		return k->j.rc = err_set(k->err, -EINVAL,
					 "%s: over %d devices: not a trace of one process",
					 k->j.path, DEVICES_MAX);
	if (k->n_known == k->cap_known) {
		size_t cap = k->cap_known ? 2 * k->cap_known : 16;
		struct kineto_device *more = realloc(k->known, cap * sizeof *more);
		if (!more)
			return k->j.rc = err_set(k->err, -ENOMEM, "out of memory");
		k->known = more;
		k->cap_known = cap;
	}
	struct kineto_device *d = &k->known[k->n_known];
	d->key = strndup(key.p, key.n);
	if (!d->key || trace_device(k->t, name ? name : d->key, d->key, &d->number)) {
		free(d->key);
		return k->j.rc = err_set(k->err, -ENOMEM, "out of memory");
	}
	*ret = d->number;
	k->last_known = k->n_known++;
	return 0;
}

struct op_args {
	struct json_value device, bytes, kind;
};

static int op_args(struct kineto *k, const struct kineto_event *e, struct op_args *ret)
{
	*ret = (struct op_args){ 0 };
	if (e->args.kind != '{')
		return 0;
	struct json_scan s = { e->args.text.p + 1, e->args.text.p + e->args.text.n, NULL };
	struct json_value key, rest = { 0 };
	int rc;
	for (bool first = true; (rc = json_scan_key(&s, first, &key)) > 0; first = false) {
		struct json_value *to = json_scan_is(&key, "device", 6)  ? &ret->device
					: json_scan_is(&key, "bytes", 5) ? &ret->bytes
					: json_scan_is(&key, "kind", 4)  ? &ret->kind
									 : &rest;
		if (!json_scan_value(&s, to))
			break;
		if (to == &ret->device && e->class == KINETO_KERNEL)
			return 0; /* kernels have no bytes, but a lot more to say */
	}
	return rc ? wrong_at(k, e, s.p,
			     s.fault ? s.fault : "the arguments of an event end too early")
		  : 0;
}

/* Profilers have written sizes that no memory has: these are not known. */
static double size(struct kineto *k, const struct json_value *v)
{
	if (!v->text.p || v->kind == 'w')
		return NAN;
	char text[64] = "", *end = text;
	double x = NAN;
	if (v->text.n && v->text.n < sizeof text) {
		memcpy(text, v->text.p, v->text.n);
		text[v->text.n] = '\0';
		x = strtod(text, &end);
	}
	if (*end == '\0' && end > text && x >= 0 && x < BYTES_MAX && x == floor(x))
		return x;
	k->odd_sizes++;
	return NAN;
}

static enum category copy_of(const char *p, size_t n)
{
	if (has(p, n, "HtoD") || has(p, n, "HostToDevice") || has(p, n, "(H2D"))
		return COPY_H2D;
	if (has(p, n, "DtoH") || has(p, n, "DeviceToHost") || has(p, n, "(D2H"))
		return COPY_D2H;
	if (has(p, n, "DtoD") || has(p, n, "DeviceToDevice") || has(p, n, "(D2D"))
		return COPY_D2D;
	return COPY_OTHER;
}

/* Of oneAPI's tools. The calls of Level Zero that are no kernel have its names. */
static enum category gpu_op_of(struct str name)
{
	if (has(name.p, name.n, "MemoryCopy"))
		return copy_of(name.p, name.n);
	if (has(name.p, name.n, "MemoryFill"))
		return FILL;
	return name.n >= 13 && memcmp(name.p, "zeCommandList", 13) == 0 ? OTHER
									: kernel_category(name);
}

static enum category category(const struct kineto_event *e, struct str name,
			      const struct op_args *args)
{
	enum category c;
	switch (e->class) {
	case KINETO_COPY:
		c = copy_of(name.p, name.n);
		return c == COPY_OTHER && args->kind.kind == '"'
			       ? copy_of(args->kind.text.p, args->kind.text.n)
			       : c;
	case KINETO_FILL:
		return FILL;
	case KINETO_GPU_OP:
		return gpu_op_of(name);
	default:
		return kernel_category(name);
	}
}

static int take_op(struct kineto *k, const struct kineto_event *e, struct str name)
{
	int64_t begin, end;
	bool timed;
	struct op_args args;
	uint32_t device, number;
	int rc = times(k, e, &begin, &end, &timed);
	if (!rc)
		rc = op_args(k, e, &args);
	if (rc)
		return rc;
	if (!timed)
		return trace_untimed(k->t, 0, 1);
	struct str key = args.device.text.p ? args.device.text : e->pid.text;
	rc = kineto_device(k, key.n ? key : str_of("0"), NULL, &device);
	if (!rc)
		rc = trace_name(k->t, name, &number);
	if (!rc)
		rc = trace_op(k->t, 0, device, category(e, name, &args), number, begin, end,
			      size(k, &args.bytes));
	return rc;
}

/* ---- the host
 * --------------------------------------------------------------------------------------- */

static void remember_pid(struct kineto *k, const struct kineto_event *e)
{
	if (!*k->host_pid && e->pid.text.p && e->pid.text.n < sizeof k->host_pid)
		(void)snprintf(k->host_pid, sizeof k->host_pid, "%.*s", (int)e->pid.text.n,
			       e->pid.text.p);
}

static int take_call(struct kineto *k, const struct kineto_event *e, struct str name)
{
	int64_t begin, end;
	bool timed;
	char text[64];
	remember_pid(k, e);
	(void)snprintf(text, sizeof text, "%.*s", (int)(name.n < 63 ? name.n : 63), name.p);
	if (!*k->call_runtime && (strncmp(text, "hip", 3) == 0 || strncmp(text, "cu", 2) == 0))
		(void)snprintf(k->call_runtime, sizeof k->call_runtime,
			       *text == 'h' ? "hip" : "cuda");
	if (k->pass == TRACE_RANGES)
		return 0;
	int rc = times(k, e, &begin, &end, &timed);
	if (rc || !timed)
		return rc;
	return trace_call(k->t, 0, begin, end, sync_call(CALL_CUDA | CALL_HIP, name));
}

static int take_range(struct kineto *k, const struct kineto_event *e, struct str name)
{
	int64_t begin, end;
	bool timed;
	remember_pid(k, e);
	int rc = times(k, e, &begin, &end, &timed);
	if (rc)
		return rc;
	if (!timed)
		k->unfinished++;
	return timed ? trace_range(k->t, 0, name, begin, end) : 0;
}

static int take_other_range(struct kineto *k, const struct kineto_event *e, struct str name)
{
	enum trace_level level = e->class == KINETO_OPERATOR   ? TRACE_OPERATOR
				 : e->class == KINETO_FUNCTION ? TRACE_FUNCTION
							       : TRACE_ON_DEVICE;
	int64_t begin, end;
	bool timed;
	if (!trace_asked(k->t, name))
		return 0;
	int rc = times(k, e, &begin, &end, &timed);
	return rc || !timed ? rc : trace_range_level(k->t, 0, level, name, begin, end);
}

int kineto_take(struct kineto *k, const struct kineto_event *e)
{
	struct json_pull room = { .next = no_more };
	struct str name = str_of("(no name)");
	int rc = 0;
	if (e->name.kind == '"')
		rc = unescaped(k, e, &e->name, &room, &name);
	if (!rc && !name.n)
		name = str_of("(no name)");
	if (!rc)
		rc = e->class == KINETO_RANGE       ? take_range(k, e, name)
		     : e->class >= KINETO_OPERATOR ? take_other_range(k, e, name)
		     : e->class == KINETO_CALL     ? take_call(k, e, name)
						   : take_op(k, e, name);
	json_pull_done(&room);
	if (rc == -ENOMEM && !k->j.rc)
		k->j.rc = err_set(k->err, rc, "out of memory");
	return rc;
}
