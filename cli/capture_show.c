#include "cli/capture_show.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"
#include "report/capture.h"
#include "schema/codec.h"

int capture_show_text(const struct iocap *c, const char *folder)
{
	size_t unfinished;
	struct iocap_sums all = report_capture_sums(c, &unfinished);
	(void)printf("capture %s\n", folder);
	(void)printf("  processes   %zu\n  calls       %" PRIu64 "\n  bytes       %" PRIu64,
		     iocap_processes(c), all.calls, all.bytes);
	if (all.calls)
		(void)printf(" (%.3g a call: symbols %" PRIu64 ", values %" PRIu64
			     ", times %" PRIu64 ", tables %" PRIu64 ")",
			     (double)all.bytes / (double)all.calls, all.symbol_bytes, all.value_bytes, all.time_bytes,
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

int capture_show_json(const struct iocap *c, const char *folder, struct err *err)
{
	struct buf b = { 0 };
	json_t *o = report_capture(c, folder);
	int rc = o ? json_text(&b, o) : -ENOMEM;
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
