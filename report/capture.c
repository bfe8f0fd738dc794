/* Of a capture what fits a page: sums, and a line for each process. */
#include "report/capture.h"

#include <inttypes.h>

struct iocap_sums report_capture_sums(const struct iocap *c, size_t *ret_unfinished)
{
	struct iocap_sums all = { .bytes = 0 };
	*ret_unfinished = 0;
	for (size_t p = 0; p < iocap_processes(c); p++) {
		const struct iocap_sums *s = iocap_sums(c, p);
		all.bytes += s->bytes;
		all.events += s->events;
		all.calls += s->calls;
		all.dropped += s->dropped;
		all.rules += s->rules;
		all.symbols += s->symbols;
		all.listed += s->listed;
		all.signatures += s->signatures;
		all.texts += s->texts;
		all.handles += s->handles;
		all.time_bytes += s->time_bytes;
		all.value_bytes += s->value_bytes;
		all.symbol_bytes += s->symbol_bytes;
		all.table_bytes += s->table_bytes;
		*ret_unfinished += !s->finished || s->damaged;
	}
	return all;
}

static double per_call(const struct iocap_sums *s)
{
	return s->calls ? (double)s->bytes / (double)s->calls : 0;
}

static void set(json_t *o, const char *key, json_t *value)
{
	(void)json_object_set_new(o, key, value);
}

static json_t *count(uint64_t n)
{
	return json_integer((json_int_t)n);
}

static json_t *text_or_null(const char *text)
{
	return text ? json_string(text) : json_null();
}

static void set_sums(json_t *o, const struct iocap_sums *s)
{
	set(o, "calls", count(s->calls));
	set(o, "events", count(s->events));
	set(o, "dropped", count(s->dropped));
	set(o, "bytes", count(s->bytes));
	set(o, "bytes_per_call", s->calls ? json_real(per_call(s)) : json_null());
	set(o, "symbol_bytes", count(s->symbol_bytes));
	set(o, "value_bytes", count(s->value_bytes));
	set(o, "time_bytes", count(s->time_bytes));
	set(o, "table_bytes", count(s->table_bytes));
	set(o, "rules", count(s->rules));
	set(o, "items", count(s->symbols));
	set(o, "listed_events", count(s->listed));
	set(o, "signatures", count(s->signatures));
	set(o, "texts", count(s->texts));
	set(o, "handles", count(s->handles));
}

static json_t *process_json(const struct iocap *c, size_t p)
{
	const struct iocap_process *f = iocap_process(c, p);
	const struct iocap_sums *s = iocap_sums(c, p);
	json_t *o = json_object();
	set(o, "rank", f->rank >= 0 ? json_integer(f->rank) : json_null());
	set(o, "pid", f->pid >= 0 ? json_integer(f->pid) : json_null());
	set(o, "parent", f->parent >= 0 ? json_integer(f->parent) : json_null());
	set(o, "host", text_or_null(f->host));
	set(o, "program", text_or_null(f->program));
	set(o, "source", text_or_null(f->source));
	set(o, "time_step_ns", f->timed ? count(f->step_ns) : json_null());
	set(o, "complete", json_boolean(s->finished && !s->damaged));
	set(o, "streams", count(s->streams));
	set_sums(o, s);
	return o;
}

json_t *report_capture(const struct iocap *c, const char *folder)
{
	size_t unfinished;
	struct iocap_sums all = report_capture_sums(c, &unfinished);
	json_t *o = json_object(), *list = json_array();
	set(o, "capture", json_string(folder));
	set(o, "complete", json_boolean(unfinished == 0));
	set_sums(o, &all);
	for (size_t p = 0; p < iocap_processes(c); p++)
		(void)json_array_append_new(list, process_json(c, p));
	set(o, "processes", list);
	return o;
}
