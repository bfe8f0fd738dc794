/* rocprofv3's JSON, read twice in each pass: the names of things may stand after the records that
 * have but their numbers. Records are in the order of the profiler's buffers, list after list. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "import/trace_cursor.h"
#include "import/trace_rocprof_json_impl.h"

#define NONE INT64_MIN

struct record_of {
	int64_t begin, end, kind, operation, correlation, agent, kernel, from, to, bytes;
};

static bool is(struct str text, const char *word)
{
	return text.n == strlen(word) && memcmp(text.p, word, text.n) == 0;
}

/* ---- one record ----------------------------------------------------------------------------- */

/* A number of an object in it: {"handle": 5}. */
static int inner(struct json_pull *j, const char *name, int64_t *ret)
{
	struct str key;
	int rc = json_enter(j, '{');
	while (!rc && (rc = json_key(j, &key)) > 0)
		rc = is(key, name) ? json_int(j, ret) : json_skip(j);
	return rc;
}

static int dispatch(struct json_pull *j, struct record_of *d)
{
	struct str key;
	int rc = json_enter(j, '{');
	while (!rc && (rc = json_key(j, &key)) > 0) {
		if (is(key, "agent_id"))
			rc = inner(j, "handle", &d->agent);
		else
			rc = is(key, "kernel_id") ? json_int(j, &d->kernel) : json_skip(j);
	}
	return rc;
}

static int field(struct json_pull *j, struct str key, struct record_of *d)
{
	if (is(key, "start_timestamp"))
		return json_int(j, &d->begin);
	if (is(key, "end_timestamp"))
		return json_int(j, &d->end);
	if (is(key, "kind"))
		return json_int(j, &d->kind);
	if (is(key, "operation"))
		return json_int(j, &d->operation);
	if (is(key, "bytes"))
		return json_int(j, &d->bytes);
	if (is(key, "correlation_id"))
		return inner(j, "internal", &d->correlation);
	if (is(key, "dispatch_info"))
		return dispatch(j, d);
	if (is(key, "src_agent_id"))
		return inner(j, "handle", &d->from);
	if (is(key, "dst_agent_id"))
		return inner(j, "handle", &d->to);
	return json_skip(j);
}

static int record(struct json_pull *j, struct record_of *d)
{
	struct str key;
	*d = (struct record_of){ NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE };
	int rc = json_enter(j, '{');
	while (!rc && (rc = json_key(j, &key)) > 0)
		rc = field(j, key, d);
	if (rc)
		return rc;
	if (d->begin == NONE || d->end == NONE)
		return json_wrong(j,
				  "the record before has no start_timestamp or no end_timestamp");
	if (d->begin < 0 || d->end < 0 || d->begin > TRACE_TIME_MAX || d->end > TRACE_TIME_MAX)
		return json_wrong(
			j, "the record before has a time that is negative or over 146 years");
	return 0;
}

/* ---- what it means -------------------------------------------------------------------------- */

static const char *operation_name(const struct roc_tool *tool, const struct record_of *d)
{
	if (d->kind < 0 || (uint64_t)d->kind >= tool->n_kinds)
		return NULL;
	const struct roc_kind *k = &tool->kinds[d->kind];
	if (d->operation < 0 || (uint64_t)d->operation >= k->n)
		return NULL;
	return k->operations[d->operation];
}

static struct roc_agent *agent_of(struct roc_tool *tool, int64_t handle)
{
	for (size_t i = 0; i < tool->n_agents; i++)
		if (tool->agents[i].handle == handle)
			return &tool->agents[i];
	return NULL;
}

static int device_of(struct roc_json *r, struct roc_agent *a, int64_t handle, uint32_t *ret)
{
	char name[40];
	if (!a) {
		(void)snprintf(name, sizeof name, "agent %lld", (long long)handle);
		return trace_device(r->t, name, name, ret);
	}
	int rc = a->told ? 0 : trace_device(r->t, a->name, a->key, &a->number);
	a->told = !rc;
	*ret = a->number;
	return rc;
}

static int hand_out(struct roc_json *r, const struct roc_tool *tool, const struct record_of *d,
		    uint32_t device, enum category category, uint32_t name, double bytes)
{
	return trace_op(r->t, tool->process, device, category, name, d->begin, d->end, bytes);
}

static int kernel(struct roc_json *r, struct roc_tool *tool, const struct record_of *d)
{
	uint32_t device, name;
	enum category category = COMPUTE;
	if (d->agent == NONE || d->kernel == NONE)
		return json_wrong(&r->j, "the kernel before has no agent_id or no kernel_id");
	int rc = device_of(r, agent_of(tool, d->agent), d->agent, &device);
	if (rc)
		return rc;
	uint64_t known = trace_map_get(&tool->kernel_ids, d->kernel, 0);
	struct roc_kernel *k = known ? &tool->kernels[known - 1] : NULL;
	if (!k || !k->name) {
		rc = trace_name(r->t, str_of("(no name)"), &name);
	} else {
		if (!k->told) {
			k->category = kernel_category(str_of(k->name));
			rc = trace_name(r->t, str_of(k->name), &k->number);
			k->told = !rc;
		}
		name = k->number;
		category = k->category;
	}
	return rc ? rc : hand_out(r, tool, d, device, category, name, NAN);
}

static int copy_name(struct roc_json *r, const char *said, enum category category, uint32_t *ret)
{
	static const char *const names[CATEGORIES] = {
		[COPY_H2D] = "[memcpy host to device]",
		[COPY_D2H] = "[memcpy device to host]",
		[COPY_D2D] = "[memcpy device to device]",
		[COPY_OTHER] = "[memcpy]",
	};
	if (said)
		return trace_name(r->t, str_of(said), ret);
	*ret = r->copy_names[category] - 1;
	int rc = r->copy_names[category] ? 0 : trace_name(r->t, str_of(names[category]), ret);
	if (!rc)
		r->copy_names[category] = *ret + 1;
	return rc;
}

static int copy(struct roc_json *r, struct roc_tool *tool, const struct record_of *d)
{
	uint32_t device, name;
	const char *said = operation_name(tool, d);
	struct roc_agent *from = agent_of(tool, d->from), *to = agent_of(tool, d->to);
	enum category category = roc_copy_named(str_of(said));
	if (from && to && from->type && to->type)
		category = roc_copy(from->type, to->type, from == to);
	struct roc_agent *on = to && to->type == ROC_GPU       ? to
			       : from && from->type == ROC_GPU ? from
							       : to;
	if (d->bytes < 0 && d->bytes != NONE)
		return json_wrong(&r->j, "the copy before has negative bytes");
	int rc = device_of(r, on, d->to, &device);
	if (!rc)
		rc = copy_name(r, said, category, &name);
	return rc ? rc
		  : hand_out(r, tool, d, device, category, name,
			     d->bytes == NONE ? NAN : (double)d->bytes);
}

static int call(struct roc_json *r, struct roc_tool *tool, const struct record_of *d)
{
	bool known = d->kind >= 0 && (uint64_t)d->kind < tool->n_kinds;
	if (known && strncmp(tool->kinds[d->kind].name, "HIP_RUNTIME_API", 15) != 0)
		return 0; /* the compiler's own calls come with those of the runtime */
	const char *name = operation_name(tool, d);
	return trace_call(r->t, tool->process, d->begin, d->end, sync_call(CALL_HIP, str_of(name)));
}

static int range(struct roc_json *r, struct roc_tool *tool, const struct record_of *d)
{
	uint64_t said = trace_map_get(&tool->said, d->correlation, 0);
	return said ? trace_range(r->t, tool->process, str_of(tool->messages[said - 1]), d->begin,
				  d->end)
		    : 0;
}

/* ---- lists of them -------------------------------------------------------------------------- */

static int each(struct roc_json *r, struct roc_tool *tool,
		int (*take)(struct roc_json *r, struct roc_tool *tool, const struct record_of *d))
{
	struct record_of d;
	int rc = json_enter(&r->j, '[');
	while (!rc && (rc = json_item(&r->j)) > 0) {
		rc = record(&r->j, &d);
		if (!rc)
			rc = take(r, tool, &d);
	}
	return rc;
}

/* Is there one? All lists are there, traced or not: only a record says that it was. */
static int look(struct roc_json *r, bool *seen)
{
	int rc = json_enter(&r->j, '[');
	while (!rc && (rc = json_item(&r->j)) > 0) {
		*seen = true;
		rc = json_skip(&r->j);
	}
	return rc;
}

static int tell_process(struct roc_json *r, struct roc_tool *tool)
{
	char pid[24];
	size_t index = (size_t)(tool - r->tools);
	tool->process = tool->pid;
	for (size_t i = 0; i < index; i++)
		if (r->tools[i].pid == tool->pid) /* of another node */
			tool->process = (int64_t)((uint64_t)index << 40) ^ tool->pid;
	if (r->pass != TRACE_RANGES)
		return 0;
	(void)snprintf(pid, sizeof pid, "%lld", (long long)tool->pid);
	return trace_process(r->t, tool->process, tool->host[0] ? tool->host : NULL, pid, NULL,
			     tool->exe[0] ? tool->exe : NULL);
}

static int tell_agents(struct roc_json *r, struct roc_tool *tool)
{
	for (size_t i = 0; i < tool->n_agents; i++) {
		uint32_t device;
		struct roc_agent *a = &tool->agents[i];
		int rc = a->type == ROC_GPU && a->visible ? device_of(r, a, a->handle, &device) : 0;
		if (rc)
			return rc;
	}
	return 0;
}

static int tell_tool(struct roc_json *r, struct roc_tool *tool)
{
	if (tool->told)
		return 0;
	tool->told = true;
	int rc = tell_process(r, tool);
	return rc || r->pass == TRACE_RANGES ? rc : tell_agents(r, tool);
}

int roc_json_records(struct roc_json *r, struct roc_tool *tool)
{
	bool ranges = r->pass == TRACE_RANGES;
	struct str key;
	int rc = tool->done ? json_wrong(&r->j, "\"buffer_records\" is there twice")
			    : tell_tool(r, tool);
	tool->done = true;
	if (!rc)
		rc = json_enter(&r->j, '{');
	while (!rc && (rc = json_key(&r->j, &key)) > 0) {
		if (is(key, "kernel_dispatch"))
			rc = ranges ? look(r, &r->seen_kernels) : each(r, tool, kernel);
		else if (is(key, "memory_copy"))
			rc = ranges ? look(r, &r->seen_copies) : each(r, tool, copy);
		else if (is(key, "hip_api"))
			rc = ranges ? look(r, &r->seen_calls) : each(r, tool, call);
		else if (is(key, "marker_api") && ranges)
			rc = each(r, tool, range);
		else
			rc = json_skip(&r->j);
	}
	return rc;
}

static int records_of(struct roc_json *r, struct roc_tool *tool)
{
	struct str key;
	if (tool->done)
		return json_skip(&r->j);
	int rc = json_enter(&r->j, '{');
	while (!rc && (rc = json_key(&r->j, &key)) > 0)
		rc = is(key, "buffer_records") ? roc_json_records(r, tool) : json_skip(&r->j);
	return rc;
}

/* ---- processes ------------------------------------------------------------------------------ */

static struct roc_tool *tool_at(struct roc_json *r, size_t i)
{
	if (i < r->n_tools)
		return &r->tools[i];
	if (i == ROC_TOOLS) {
		(void)json_wrong(&r->j, "over 4096 processes in one file");
		return NULL;
	}
	r->tools = arena_grow(&r->arena, r->tools, &r->cap_tools, i + 1, sizeof *r->tools);
	if (!r->tools) {
		r->n_tools = 0;
		r->j.rc = -ENOMEM;
		return NULL;
	}
	r->tools[r->n_tools++] = (struct roc_tool){ 0 };
	return &r->tools[i];
}

static int each_tool(struct roc_json *r, int (*take)(struct roc_json *r, struct roc_tool *tool))
{
	int c = json_peek(&r->j);
	if (c == '{') { /* some tools write the one process without the list */
		struct roc_tool *tool = tool_at(r, 0);
		return tool ? take(r, tool) : r->j.rc;
	}
	int rc = json_enter(&r->j, '[');
	for (size_t i = 0; !rc && (rc = json_item(&r->j)) > 0; i++) {
		struct roc_tool *tool = tool_at(r, i);
		rc = tool ? take(r, tool) : r->j.rc;
	}
	return rc;
}

static int scan(struct roc_json *r, int (*take)(struct roc_json *r, struct roc_tool *tool))
{
	struct str key;
	bool found = false;
	int rc = json_enter(&r->j, '{');
	while (!rc && (rc = json_key(&r->j, &key)) > 0) {
		bool ours = is(key, "rocprofiler-sdk-tool");
		if (ours && found)
			return json_wrong(&r->j, "\"rocprofiler-sdk-tool\" is there twice");
		found |= ours;
		rc = ours ? each_tool(r, take) : json_skip(&r->j);
	}
	if (!rc)
		rc = json_finish(&r->j);
	if (!rc && !found)
		rc = json_wrong(&r->j, "no \"rocprofiler-sdk-tool\": not written by rocprofv3");
	return rc;
}

static int tell_seen(struct roc_json *r)
{
	unsigned bits = (r->seen_kernels ? ROC_KERNELS : 0) | (r->seen_copies ? ROC_COPIES : 0);
	int rc = bits ? trace_observes(r->t, bits)
		      : trace_note(r->t,
				   "the file has no kernel and no copy, and does not say whether "
				   "they were traced");
	if (!rc)
		rc = trace_runtime(r->t, "hip");
	if (!rc && r->seen_calls)
		rc = trace_calls_seen(r->t);
	return rc ? rc : trace_env_tell(&r->env, r->t);
}

static int read_all(struct roc_json *r, const struct roc_bytes *in)
{
	bool done = true;
	int rc = in->rewind(in->arg, r->j.err);
	if (!rc)
		rc = scan(r, roc_json_facts);
	for (size_t i = 0; i < r->n_tools && !rc; i++) {
		rc = tell_tool(r, &r->tools[i]);
		done &= r->tools[i].done;
	}
	if (!rc && !done) {
		rc = in->rewind(in->arg, r->j.err);
		r->j.p = r->j.end = r->j.piece = NULL;
		r->j.before = 0;
		r->j.depth = 0;
		if (!rc)
			rc = scan(r, records_of);
	}
	return rc || r->pass != TRACE_RANGES ? rc : tell_seen(r);
}

int roc_json_read(const struct roc_bytes *in, enum trace_pass pass, struct trace_sink *t,
		  struct err *err)
{
	if (pass == TRACE_ORDERED)
		return -ENOTSUP;
	struct roc_json r = {
		.j = { .next = in->next, .arg = in->arg, .path = in->path, .err = err },
		.t = t,
		.pass = pass,
		.arena = { .max_bytes = 256 << 20 },
	};
	int rc = read_all(&r, in);
	for (size_t i = 0; i < r.n_tools; i++) {
		trace_map_done(&r.tools[i].kernel_ids);
		trace_map_done(&r.tools[i].said);
	}
	json_pull_done(&r.j);
	arena_free(&r.arena);
	if (rc == -ENOMEM && err && !err->text[0])
		(void)err_set(err, rc, "out of memory");
	return rc;
}
