/* PyTorch's profiler (Kineto), on NVIDIA, AMD and Intel: Chrome's JSON, of any size, twice from
 * begin to end and in constant memory. The members around the list of events are read strictly; of
 * the events, those that matter. */
#define _GNU_SOURCE
#include "import/trace_kineto_impl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define SEEN                                                                                       \
	(1u << COMPUTE | 1u << COPY_H2D | 1u << COPY_D2H | 1u << COPY_D2D | 1u << COPY_OTHER |     \
	 1u << FILL | 1u << COLLECTIVE)
#define YEAR_2001_NS 1000000000000000000

static bool key_is(struct str key, const char *text)
{
	return strlen(text) == key.n && memcmp(text, key.p, key.n) == 0;
}

/* ---- what stands around the events
 * ------------------------------------------------------------------ */

/* {"id": 0, "name": "NVIDIA A100", ...} */
static int device_property(struct kineto *k)
{
	struct json_pull *j = &k->j;
	struct str key, text;
	char name[256] = "", label[300], id[24];
	int64_t number = 0;
	bool has_id = false;
	int rc = json_peek(j) == '{' ? json_enter(j, '{') : json_skip(j);
	if (rc || !j->depth || j->closes[j->depth - 1] != '}')
		return rc;
	while ((rc = json_key(j, &key)) > 0) {
		if (key_is(key, "id"))
			rc = json_maybe_int(j, &number, &has_id);
		else if (key_is(key, "name") && json_peek(j) == '"') {
			rc = json_pull_text(j, &text);
			if (!rc)
				(void)snprintf(name, sizeof name, "%.*s", (int)text.n, text.p);
		} else
			rc = json_skip(j);
		if (rc)
			return rc;
	}
	if (rc || !has_id)
		return rc;
	uint32_t ignored;
	(void)snprintf(id, sizeof id, "%lld", (long long)number);
	(void)snprintf(label, sizeof label, "%s%s%s", id, *name ? " " : "", name);
	k->devices = true;
	return kineto_device(k, str_of(id), label, &ignored);
}

static int device_properties(struct kineto *k)
{
	struct json_pull *j = &k->j;
	if (json_peek(j) != '[')
		return json_skip(j);
	int rc = json_enter(j, '[');
	while (!rc && (rc = json_item(j)) > 0)
		rc = device_property(k);
	return rc;
}

/* {"backend": "nccl", "rank": 0, "world_size": 8} */
static int distributed(struct kineto *k)
{
	struct json_pull *j = &k->j;
	struct str key;
	int64_t rank;
	bool is;
	if (json_peek(j) != '{')
		return json_skip(j);
	int rc = json_enter(j, '{');
	while (!rc && (rc = json_key(j, &key)) > 0) {
		if (!key_is(key, "rank")) {
			rc = json_skip(j);
			continue;
		}
		rc = json_maybe_int(j, &rank, &is);
		if (!rc && is)
			(void)snprintf(k->rank, sizeof k->rank, "%lld", (long long)rank);
	}
	return rc;
}

/* 12040 is CUDA 12.4, 60443483 is HIP 6.4. */
static int runtime_version(struct kineto *k, bool hip)
{
	int64_t v;
	bool is;
	int rc = json_maybe_int(&k->j, &v, &is);
	if (rc || !is || v < 1000)
		return rc;
	if (hip)
		(void)snprintf(k->runtime, sizeof k->runtime, "hip%d.%d",
			       (int)(v / 10000000 % 1000), (int)(v / 100000 % 100));
	else
		(void)snprintf(k->runtime, sizeof k->runtime, "cuda%d.%d", (int)(v / 1000 % 1000),
			       (int)(v / 10 % 100));
	return 0;
}

static int events(struct kineto *k)
{
	struct kineto_event e;
	int rc = json_enter(&k->j, '[');
	k->events = true;
	while (!rc && (rc = kineto_next(k, &e)) > 0)
		rc = kineto_take(k, &e);
	return rc;
}

static int member(struct kineto *k, struct str key)
{
	if (key_is(key, "traceEvents"))
		return events(k);
	if (key_is(key, "deviceProperties"))
		return device_properties(k);
	if (key_is(key, "distributedInfo"))
		return distributed(k);
	if (key_is(key, "baseTimeNanoseconds"))
		return json_maybe_int(&k->j, &k->base_ns, &k->has_base);
	if (key_is(key, "cuda_runtime_version"))
		return runtime_version(k, false);
	if (key_is(key, "hip_runtime_version"))
		return runtime_version(k, true);
	return json_skip(&k->j);
}

static int document(struct kineto *k)
{
	struct str key;
	int first = json_peek(&k->j), rc;
	if (first == '[') {
		rc = events(k);
	} else {
		rc = first < 0 ? first : json_enter(&k->j, '{');
		while (!rc && (rc = json_key(&k->j, &key)) > 0)
			rc = member(k, key);
	}
	if (!rc)
		rc = json_finish(&k->j);
	if (!rc && !k->events)
		rc = err_set(k->err, -EINVAL,
			     "%s: JSON, but no trace of PyTorch: it has no traceEvents", k->j.path);
	return rc;
}

/* ---- what the trace is told at the end
 * --------------------------------------------------------------- */

static int tell_first(struct kineto *k)
{
	int rc = trace_process(k->t, 0, NULL, *k->host_pid ? k->host_pid : NULL,
			       *k->rank ? k->rank : NULL, NULL);
	if (!rc && k->has_base)
		rc = trace_epoch(k->t, k->base_ns);
	else if (!rc && k->first_ns >= YEAR_2001_NS)
		rc = trace_epoch(k->t, 0);
	if (!rc && k->unfinished)
		rc = trace_note(k->t, "%llu annotated ranges have no time; they can be no region",
				(unsigned long long)k->unfinished);
	return rc;
}

static int tell_last(struct kineto *k)
{
	return k->odd_sizes ? trace_note(k->t,
					 "%llu copies and fills have sizes that can't be true; the "
					 "bytes of "
					 "their category are not known",
					 (unsigned long long)k->odd_sizes)
			    : 0;
}

/* A device that ran nothing is 0, and no word of any device is null: calls of its runtime say that
 * it was watched. */
static int tell(struct kineto *k)
{
	bool watched = k->ops || (k->calls && k->devices);
	const char *runtime = *k->runtime ? k->runtime : *k->call_runtime ? k->call_runtime : NULL;
	int rc = watched ? trace_observes(k->t, SEEN | (k->gpu_ops ? 1u << OTHER : 0)) : 0;
	if (!rc && runtime)
		rc = trace_runtime(k->t, runtime);
	if (!rc && k->calls)
		rc = trace_calls_seen(k->t);
	if (!rc)
		rc = k->pass == TRACE_RANGES ? tell_first(k) : tell_last(k);
	return rc ? err_set(k->err, rc, "out of memory") : 0;
}

int kineto_read_bytes(const struct json_pull *in, enum trace_pass pass, struct trace_sink *t,
		      struct err *err)
{
	struct kineto k = { .j = { .next = in->next, .arg = in->arg, .path = in->path, .err = err },
			    .pass = pass,
			    .t = t,
			    .err = err,
			    .first_ns = -1 };
	int rc = pass == TRACE_ORDERED ? -ENOTSUP : document(&k);
	if (rc == -ENOTSUP)
		(void)err_set(err, rc, "%s: its events are in no order", in->path);
	else if (!rc)
		rc = tell(&k);
	for (size_t i = 0; i < k.n_known; i++)
		free(k.known[i].key);
	free(k.known);
	buf_done(&k.carry);
	json_pull_done(&k.j);
	return rc;
}

/* ---- as files
 * ------------------------------------------------------------------------------------------ */

static int next(void *arg, const char **ret, size_t *ret_n, struct err *err)
{
	return source_next(arg, ret, ret_n, err);
}

static bool kineto_knows(const struct source *s)
{
	size_t n;
	const char *head = source_head(s, &n);
	size_t i = strspn(head, " \t\r\n");
	if (head[i] == '[')
		return memmem(head, n, "\"ph\"", 4) != NULL;
	return head[i] == '{' && (memmem(head, n, "\"traceEvents\"", 13) ||
				  memmem(head, n, "\"schemaVersion\"", 15) ||
				  memmem(head, n, "\"deviceProperties\"", 18));
}

static int kineto_read(struct source *s, enum trace_pass pass, struct trace_sink *t,
		       struct err *err)
{
	struct json_pull in = { .next = next, .arg = s, .path = source_path(s) };
	int rc = source_rewind(s, err);
	return rc ? rc : kineto_read_bytes(&in, pass, t, err);
}

const struct trace_reader kineto_reader = {
	.name = "kineto", .unordered = true, .knows = kineto_knows, .read = kineto_read
};
