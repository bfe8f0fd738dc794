#include "cli/capture_show.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"
#include "schema/codec.h"

static struct iocap_sums add_up(const struct iocap *c, size_t *ret_unfinished)
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

int capture_show_text(const struct iocap *c, const char *folder)
{
	size_t unfinished;
	struct iocap_sums all = add_up(c, &unfinished);
	(void)printf("capture %s\n", folder);
	(void)printf("  processes   %zu\n  calls       %" PRIu64 "\n  bytes       %" PRIu64,
		     iocap_processes(c), all.calls, all.bytes);
	if (all.calls)
		(void)printf(" (%.3g a call: symbols %" PRIu64 ", values %" PRIu64
			     ", times %" PRIu64 ", tables %" PRIu64 ")",
			     per_call(&all), all.symbol_bytes, all.value_bytes, all.time_bytes,
			     all.table_bytes);
	(void)printf("\n  rules       %" PRIu64 " of %" PRIu64 " items; %" PRIu64
		     " calls as plain lists\n",
		     all.rules, all.symbols, all.listed);
	(void)printf("  signatures  %" PRIu64 "\n  texts       %" PRIu64 "\n  opened      %" PRIu64
		     "\n  dropped     %" PRIu64 " of %" PRIu64 " calls\n",
		     all.signatures, all.texts, all.handles, all.dropped, all.calls + all.dropped);
	if (unfinished)
		(void)printf("  incomplete  %zu processes ended before they could say that this is "
			     "all: what came after their last flush is missing\n",
			     unfinished);
	(void)printf("\n%6s %9s %12s %10s %8s %6s  %s\n", "rank", "pid", "calls", "bytes", "rules",
		     "times", "program");
	for (size_t p = 0; p < iocap_processes(c); p++) {
		const struct iocap_process *f = iocap_process(c, p);
		const struct iocap_sums *s = iocap_sums(c, p);
		char rank[24] = "-", step[32] = "none";
		if (f->rank >= 0)
			(void)snprintf(rank, sizeof rank, "%" PRId64, f->rank);
		if (f->timed)
			(void)snprintf(step, sizeof step, "%" PRIu64 "ns", f->step_ns);
		(void)printf("%6s %9" PRId64 " %12" PRIu64 " %10" PRIu64 " %8" PRIu64
			     " %6s  %s%s\n",
			     rank, f->pid, s->calls, s->bytes, s->rules, step,
			     f->program ? f->program : "-",
			     s->finished && !s->damaged ? "" : "  (incomplete)");
	}
	return 0;
}

/* ---- JSON ---------------------------------------------------------------------------------------
 */

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

int capture_show_json(const struct iocap *c, const char *folder, struct err *err)
{
	size_t unfinished;
	struct iocap_sums all = add_up(c, &unfinished);
	json_t *o = json_object(), *list = json_array();
	set(o, "capture", json_string(folder));
	set(o, "complete", json_boolean(unfinished == 0));
	set_sums(o, &all);
	for (size_t p = 0; p < iocap_processes(c); p++)
		(void)json_array_append_new(list, process_json(c, p));
	set(o, "processes", list);
	struct buf b = { 0 };
	int rc = json_text(&b, o);
	if (!rc && !b.failed)
		(void)printf("%s\n", b.data);
	json_decref(o);
	rc = rc || b.failed ? err_set(err, -ENOMEM, "out of memory") : 0;
	buf_done(&b);
	return rc;
}

/* ---- events -------------------------------------------------------------------------------------
 */

/* What a person reads in place of a number; NULL: the number. */
static const char *word_of(const struct iocap *c, size_t p, char letter, int64_t v)
{
	if ((letter == 'p' || letter == 't') && v > 0)
		return iocap_text(c, p, (uint32_t)v, NULL);
	const struct iocap_handle *h =
		letter == 'h' && v > 0 ? iocap_handle(c, p, (uint32_t)v) : NULL;
	return h && h->path ? iocap_text(c, p, h->path, NULL) : NULL;
}

static void put_word(const char *word)
{
	json_t *text = json_string(word);
	char *quoted = text ? json_dumps(text, JSON_ENCODE_ANY) : NULL;
	(void)printf("%s", quoted ? quoted : "\"?\"");
	free(quoted);
	json_decref(text);
}

static void event_text(const struct iocap *c, size_t p, const struct io_event *e)
{
	const struct iocap_process *f = iocap_process(c, p);
	const struct io_call_info *info = io_call_info(e->call);
	const char *l = info->name ? info->signature : "";
	if (f->rank >= 0)
		(void)printf("%" PRId64 " ", f->rank);
	(void)printf("%" PRId64 ".%u ", f->pid, e->thread);
	if (f->timed && e->begin_ns)
		(void)printf("%" PRIu64 ".%09u +%" PRIu64 "ns ", e->begin_ns / 1000000000u,
			     (unsigned)(e->begin_ns % 1000000000u), e->end_ns - e->begin_ns);
	(void)printf("%*s%s(", e->depth * 2, "", info->name ? info->name : "?");
	for (int i = 0; *l && *l != ':'; l++, i++) {
		const char *word = word_of(c, p, *l, e->arg[i]);
		(void)printf("%s", i ? ", " : "");
		if (*l == 'h')
			(void)printf("%" PRId64 "%s", e->arg[i], word ? " " : "");
		if (word)
			put_word(word);
		else if (*l != 'h')
			(void)printf("%" PRId64, e->arg[i]);
	}
	(void)printf(") = %" PRId64, e->result);
	if (e->at >= 0)
		(void)printf(" at %" PRId64, e->at);
	if (e->count > 1)
		(void)printf(" %u times", e->count);
	(void)printf("\n");
}

/* The nth of its arguments that are paths or, where it has none, of the handles that have one. A name
 * below a handle is a path, too. NULL: there is none. */
static const char *path_of(const struct iocap *c, size_t p, const struct io_event *e, int nth)
{
	const char *l = io_call_info(e->call)->signature;
	char letter = l && strchr(l, 'p') ? 'p' : 'h';
	for (int i = 0; l && l[i] && l[i] != ':'; i++) {
		const char *word = l[i] == letter ? word_of(c, p, letter, e->arg[i]) : NULL;
		if (word && nth-- == 0)
			return word;
	}
	return NULL;
}

/* Numbers of handles are good for following one; who adds up by file wants its path. */
static void put_facts(const struct iocap *c, size_t p, const struct io_event *e)
{
	const struct io_call_info *info = io_call_info(e->call);
	const char *path = path_of(c, p, e, 0), *other = path_of(c, p, e, 1);
	(void)printf(",\"interface\":\"%s\",\"kind\":\"%s\",\"path\":",
		     info->name ? io_interface_name(info->interface) : "?",
		     info->name ? io_kind_name(info->kind) : "?");
	if (path)
		put_word(path);
	else
		(void)printf("null");
	if (other) {
		(void)printf(",\"other_path\":");
		put_word(other);
	}
}

static void event_json(const struct iocap *c, size_t p, const struct io_event *e)
{
	const struct iocap_process *f = iocap_process(c, p);
	const struct io_call_info *info = io_call_info(e->call);
	const char *l = info->name ? info->signature : "";
	(void)printf("{\"rank\":");
	if (f->rank >= 0)
		(void)printf("%" PRId64, f->rank);
	else
		(void)printf("null");
	(void)printf(",\"pid\":%" PRId64 ",\"thread\":%u,\"call\":\"%s\",\"depth\":%u,\"args\":[",
		     f->pid, e->thread, info->name ? info->name : "?", e->depth);
	for (int i = 0; *l && *l != ':'; l++, i++) {
		const char *word = *l == 'h' ? NULL : word_of(c, p, *l, e->arg[i]);
		(void)printf("%s", i ? "," : "");
		if (word)
			put_word(word);
		else
			(void)printf("%" PRId64, e->arg[i]);
	}
	(void)printf("],\"result\":%" PRId64 ",\"at\":", e->result);
	if (e->at >= 0)
		(void)printf("%" PRId64, e->at);
	else
		(void)printf("null");
	if (f->timed && e->begin_ns)
		(void)printf(",\"begin_ns\":%" PRIu64 ",\"end_ns\":%" PRIu64, e->begin_ns,
			     e->end_ns);
	else
		(void)printf(",\"begin_ns\":null,\"end_ns\":null");
	(void)printf(",\"count\":%u", e->count > 1 ? e->count : 1);
	put_facts(c, p, e);
	(void)printf("}\n");
}

int capture_show_events(const struct iocap *c, bool json, struct err *err)
{
	int rc = 0;
	for (size_t p = 0; p < iocap_processes(c) && rc >= 0; p++) {
		struct iocap_merged *m;
		struct io_event e;
		rc = iocap_merge(&m, c, p, err);
		if (rc)
			return rc;
		while ((rc = iocap_merge_next(m, &e, err)) > 0)
			(json ? event_json : event_text)(c, p, &e);
		iocap_merge_end(m);
	}
	return rc;
}
