/* rocprofv3's JSON: processes, agents, kernels, and the names of things. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "import/trace_rocprof_json_impl.h"

static bool is(struct str text, const char *word)
{
	return text.n == strlen(word) && memcmp(text.p, word, text.n) == 0;
}

static int no_memory(struct roc_json *r)
{
	return r->j.rc = err_set(r->j.err, -ENOMEM, "%s: out of memory, or over 256 MiB of names",
				 r->j.path);
}

/* A text, or nothing where it is another value. */
static int text_or_skip(struct json_pull *j, struct str *ret)
{
	*ret = (struct str){ 0 };
	int c = json_peek(j);
	return c < 0 ? c : c == '"' ? json_pull_text(j, ret) : json_skip(j);
}

static int keep_text(struct json_pull *j, char *to, size_t cap)
{
	struct str text;
	int rc = text_or_skip(j, &text);
	if (rc)
		return rc;
	size_t n = text.n < cap - 1 ? text.n : cap - 1;
	while (n && n < text.n && ((unsigned char)text.p[n] & 0xc0) == 0x80)
		n--; /* no half of a character */
	if (n)
		memcpy(to, text.p, n);
	to[n] = '\0';
	return 0;
}

static int int_or_skip(struct json_pull *j, int64_t *ret)
{
	int c = json_peek(j);
	return c < 0 ? c : c == '0' ? json_int(j, ret) : json_skip(j);
}

/* {"handle": 5} */
static int handle(struct json_pull *j, int64_t *ret)
{
	struct str key;
	int c = json_peek(j), rc;
	if (c != '{')
		return c < 0 ? c : int_or_skip(j, ret);
	rc = json_enter(j, '{');
	while (!rc && (rc = json_key(j, &key)) > 0)
		rc = is(key, "handle") ? json_int(j, ret) : json_skip(j);
	return rc;
}

/* ---- the process ---------------------------------------------------------------------------- */

static int node(struct roc_json *r, struct roc_tool *tool)
{
	struct str key;
	int rc = json_enter(&r->j, '{');
	while (!rc && (rc = json_key(&r->j, &key)) > 0)
		rc = is(key, "hostname") ? keep_text(&r->j, tool->host, sizeof tool->host)
					 : json_skip(&r->j);
	return rc;
}

/* The program, without its arguments, which may be anything. */
static int command(struct roc_json *r, struct roc_tool *tool)
{
	int c = json_peek(&r->j);
	if (c != '[')
		return c < 0 ? c : json_skip(&r->j);
	int rc = json_enter(&r->j, '[');
	for (bool first = true; !rc && (rc = json_item(&r->j)) > 0; first = false)
		rc = first ? keep_text(&r->j, tool->exe, sizeof tool->exe) : json_skip(&r->j);
	return rc;
}

static int environment(struct roc_json *r)
{
	struct str text;
	int c = json_peek(&r->j), rc;
	if (c != '{' && c != '[')
		return c < 0 ? c : json_skip(&r->j);
	rc = json_enter(&r->j, (char)c);
	while (!rc && (rc = c == '{' ? json_key(&r->j, &text) : json_item(&r->j)) > 0) {
		if (c == '{') {
			trace_env_name(&r->env, text);
			rc = json_skip(&r->j);
		} else {
			rc = text_or_skip(&r->j, &text);
			if (!rc)
				trace_env_pair(&r->env, text);
		}
	}
	return rc;
}

static int metadata(struct roc_json *r, struct roc_tool *tool)
{
	struct str key;
	int rc = json_enter(&r->j, '{');
	while (!rc && (rc = json_key(&r->j, &key)) > 0) {
		if (is(key, "pid"))
			rc = json_int(&r->j, &tool->pid);
		else if (is(key, "node"))
			rc = node(r, tool);
		else if (is(key, "command"))
			rc = command(r, tool);
		else if (is(key, "environment"))
			rc = environment(r);
		else
			rc = json_skip(&r->j);
	}
	return rc;
}

/* ---- agents --------------------------------------------------------------------------------- */

struct agent_fields {
	int64_t type, node_id, index, location, domain, hip;
	char name[ROC_TEXT], product[ROC_TEXT];
};

static int visibility(struct json_pull *j, int64_t *hip)
{
	struct str key;
	int c = json_peek(j);
	if (c != '{')
		return c < 0 ? c : json_skip(j);
	int rc = json_enter(j, '{');
	while (!rc && (rc = json_key(j, &key)) > 0)
		rc = is(key, "hip") ? int_or_skip(j, hip) : json_skip(j);
	return rc;
}

static int agent_field(struct json_pull *j, struct str key, struct roc_agent *a,
		       struct agent_fields *f)
{
	static const struct {
		const char *key;
		size_t at;
	} numbers[] = {
		{ "type", offsetof(struct agent_fields, type) },
		{ "node_id", offsetof(struct agent_fields, node_id) },
		{ "logical_node_type_id", offsetof(struct agent_fields, index) },
		{ "location_id", offsetof(struct agent_fields, location) },
		{ "domain", offsetof(struct agent_fields, domain) },
	};
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		if (is(key, numbers[i].key))
			return int_or_skip(j, (int64_t *)(void *)((char *)f + numbers[i].at));
	if (is(key, "id"))
		return handle(j, &a->handle);
	if (is(key, "name"))
		return keep_text(j, f->name, sizeof f->name);
	if (is(key, "product_name"))
		return keep_text(j, f->product, sizeof f->product);
	if (is(key, "runtime_visibility"))
		return visibility(j, &f->hip);
	return json_skip(j);
}

static int agent(struct roc_json *r, struct roc_tool *tool)
{
	tool->agents = arena_grow(&r->arena, tool->agents, &tool->cap_agents, tool->n_agents + 1,
				  sizeof *tool->agents);
	if (!tool->agents)
		return no_memory(r);
	struct roc_agent *a = &tool->agents[tool->n_agents];
	struct agent_fields f = { .index = -1, .hip = 1 };
	*a = (struct roc_agent){ .handle = -1 };
	struct str key;
	int rc = json_enter(&r->j, '{');
	while (!rc && (rc = json_key(&r->j, &key)) > 0)
		rc = agent_field(&r->j, key, a, &f);
	if (rc)
		return rc;
	const char *model = f.product[0] ? f.product : f.name;
	a->type = f.type == 2 ? ROC_GPU : f.type == 1 ? ROC_CPU : ROC_UNKNOWN;
	a->visible = f.hip != 0;
	(void)snprintf(a->name, sizeof a->name, "%lld%s%s",
		       (long long)(f.index >= 0 ? f.index : f.node_id), model[0] ? " " : "", model);
	if (f.location)
		(void)snprintf(a->key, sizeof a->key, "pci %llx:%llx", (unsigned long long)f.domain,
			       (unsigned long long)f.location);
	else
		(void)snprintf(a->key, sizeof a->key, "agent%lld", (long long)f.node_id);
	tool->n_agents++;
	return 0;
}

/* ---- kernels -------------------------------------------------------------------------------- */

static int kernel(struct roc_json *r, struct roc_tool *tool)
{
	static const char *const keys[] = { "kernel_name", "truncated_kernel_name",
					    "demangled_kernel_name", "formatted_kernel_name" };
	const char *name = NULL;
	int best = -1;
	int64_t id = -1;
	struct str key, text;
	int rc = json_enter(&r->j, '{');
	while (!rc && (rc = json_key(&r->j, &key)) > 0) {
		int which = -1;
		for (int i = 0; i < 4; i++)
			which = is(key, keys[i]) ? i : which;
		if (is(key, "kernel_id"))
			rc = json_int(&r->j, &id);
		else if (which > best) {
			rc = text_or_skip(&r->j, &text);
			if (!rc && text.n) {
				best = which;
				name = arena_strndup(&r->arena, text.p, text.n);
				if (!name)
					return no_memory(r);
			}
		} else
			rc = json_skip(&r->j);
	}
	if (rc)
		return rc;
	tool->kernels = arena_grow(&r->arena, tool->kernels, &tool->cap_kernels,
				   tool->n_kernels + 1, sizeof *tool->kernels);
	if (!tool->kernels)
		return no_memory(r);
	tool->kernels[tool->n_kernels++] = (struct roc_kernel){ .name = name };
	return trace_map_put(&tool->kernel_ids, id, 0, tool->n_kernels) ? no_memory(r) : 0;
}

/* ---- strings -------------------------------------------------------------------------------- */

static int operations(struct roc_json *r, struct roc_kind *kind)
{
	struct str text;
	int rc = json_enter(&r->j, '[');
	while (!rc && (rc = json_item(&r->j)) > 0) {
		rc = text_or_skip(&r->j, &text);
		if (rc)
			break;
		kind->operations = arena_grow(&r->arena, kind->operations, &kind->cap, kind->n + 1,
					      sizeof *kind->operations);
		if (!kind->operations)
			return no_memory(r);
		kind->operations[kind->n] = arena_strndup(&r->arena, text.n ? text.p : "", text.n);
		if (!kind->operations[kind->n++])
			return no_memory(r);
	}
	return rc;
}

static int kind(struct roc_json *r, struct roc_tool *tool)
{
	tool->kinds = arena_grow(&r->arena, tool->kinds, &tool->cap_kinds, tool->n_kinds + 1,
				 sizeof *tool->kinds);
	if (!tool->kinds)
		return no_memory(r);
	struct roc_kind *k = &tool->kinds[tool->n_kinds++];
	*k = (struct roc_kind){ .name = "" };
	struct str key, text;
	int rc = json_enter(&r->j, '{');
	while (!rc && (rc = json_key(&r->j, &key)) > 0) {
		if (is(key, "kind")) {
			rc = text_or_skip(&r->j, &text);
			if (!rc && text.n && !(k->name = arena_strndup(&r->arena, text.p, text.n)))
				return no_memory(r);
		} else
			rc = is(key, "operations") ? operations(r, k) : json_skip(&r->j);
	}
	return rc;
}

/* What a range was called: by the number of its call. */
static int message(struct roc_json *r, struct roc_tool *tool)
{
	int64_t number = -1;
	const char *value = NULL;
	struct str key, text;
	int rc = json_enter(&r->j, '{');
	while (!rc && (rc = json_key(&r->j, &key)) > 0) {
		if (is(key, "key"))
			rc = int_or_skip(&r->j, &number);
		else if (is(key, "value")) {
			rc = text_or_skip(&r->j, &text);
			if (!rc && text.p && !(value = arena_strndup(&r->arena, text.p, text.n)))
				return no_memory(r);
		} else
			rc = json_skip(&r->j);
	}
	if (rc || !value)
		return rc;
	tool->messages = arena_grow(&r->arena, tool->messages, &tool->cap_messages,
				    tool->n_messages + 1, sizeof *tool->messages);
	if (!tool->messages)
		return no_memory(r);
	tool->messages[tool->n_messages++] = value;
	return trace_map_put(&tool->said, number, 0, tool->n_messages) ? no_memory(r) : 0;
}

static int list_of(struct roc_json *r, struct roc_tool *tool,
		   int (*one)(struct roc_json *r, struct roc_tool *tool))
{
	int rc = json_enter(&r->j, '[');
	while (!rc && (rc = json_item(&r->j)) > 0)
		rc = one(r, tool);
	return rc;
}

static int agents(struct roc_json *r, struct roc_tool *tool)
{
	return list_of(r, tool, agent);
}

static int kernels(struct roc_json *r, struct roc_tool *tool)
{
	return list_of(r, tool, kernel);
}

static int strings(struct roc_json *r, struct roc_tool *tool)
{
	struct str key;
	int rc = json_enter(&r->j, '{');
	while (!rc && (rc = json_key(&r->j, &key)) > 0) {
		if (is(key, "buffer_records"))
			rc = list_of(r, tool, kind);
		else if (is(key, "marker_api") && r->pass == TRACE_RANGES)
			rc = list_of(r, tool, message);
		else
			rc = json_skip(&r->j);
	}
	return rc;
}

int roc_json_facts(struct roc_json *r, struct roc_tool *tool)
{
	static const struct {
		const char *key;
		int (*take)(struct roc_json *r, struct roc_tool *tool);
	} facts[] = { { "metadata", metadata },
		      { "agents", agents },
		      { "kernel_symbols", kernels },
		      { "strings", strings } };
	struct str key;
	int rc = json_enter(&r->j, '{');
	while (!rc && (rc = json_key(&r->j, &key)) > 0) {
		size_t k = 0;
		while (k < 4 && !is(key, facts[k].key))
			k++;
		if (k < 4) {
			tool->known |= 1u << k;
			rc = facts[k].take(r, tool);
		} else if (is(key, "buffer_records") && tool->known == ROC_KNOWN)
			rc = roc_json_records(r, tool);
		else
			rc = json_skip(&r->j);
	}
	return rc;
}
