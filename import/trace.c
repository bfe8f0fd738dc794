/* One trace after the other: ranges, operations, record. */
#define _GNU_SOURCE
#include "import/trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/trace_impl.h"
#include "lib/num.h"

#define ORDER_AT_ONCE ((size_t)1 << 19) /* entries that wait to be put in order: 20 MiB */
#define ORDER_AGAIN ((size_t)1 << 23)   /* where that was not enough: 320 MiB, and only then */
#define NAMES_TOLD 6

enum category trace_kernel_category(struct str name)
{
	return kernel_category(name);
}

/* ---- a region that is not there
 * --------------------------------------------------------------------- */

struct told {
	struct str name;
	struct trace_seen seen;
};

static int by_total(const void *a, const void *b)
{
	const struct told *x = a, *y = b;
	return (x->seen.total_ns < y->seen.total_ns) - (x->seen.total_ns > y->seen.total_ns);
}

static int no_such_range(const struct trace_sink *t, const char *path, struct err *err)
{
	const char *glob = t->options->range;
	size_t n = t->ranges.n;
	if (!n)
		return err_set(err, -EINVAL,
			       "%s: --range %s: the trace has no ranges of its program at all; "
			       "without --range the "
			       "whole trace is imported",
			       path, glob);
	struct told *all = malloc(n * sizeof *all);
	if (!all)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < n; i++)
		all[i] = (struct told){ t->ranges.items[i], t->seen[i] };
	qsort(all, n, sizeof *all, by_total);
	char list[768] = "";
	size_t len = 0;
	for (size_t i = 0; i < n && i < NAMES_TOLD; i++) {
		char span[32];
		int k = snprintf(list + len, sizeof list - len, "%s\"%.*s\" (%llu, %s)",
				 i ? ", " : "", (int)(all[i].name.n < 80 ? all[i].name.n : 80),
				 all[i].name.p, (unsigned long long)all[i].seen.count,
				 num_duration(span, all[i].seen.total_ns / 1e9));
		if (k < 0 || (size_t)k >= sizeof list - len) {
			list[len] = '\0';
			break;
		}
		len += (size_t)k;
	}
	free(all);
	return err_set(err, -EINVAL,
		       "%s: --range %s: no range is called so; of %zu%s names the longest are %s",
		       path, glob, n, t->too_many ? " and more" : "", list);
}

/* ---- one file
 * ------------------------------------------------------------------------------------------ */

static bool late(const struct picture *const *pictures, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (pictures[i]->late > 0 || pictures[i]->late_calls > 0)
			return true;
	return false;
}

struct pass {
	struct trace_sink *t;
	const struct trace_reader *reader;
	struct source *source;
	const struct picture *const *pictures;
	size_t n;
	struct err *err;
};

static int operations(struct pass *p, enum trace_pass pass, size_t order)
{
	int rc = trace_again(p->t, order);
	if (rc)
		return err_set(p->err, rc, "out of memory");
	rc = p->reader->read(p->source, pass, p->t, p->err);
	if (rc)
		return rc;
	rc = trace_flush(p->t);
	if (rc)
		return err_set(p->err, rc, "out of memory");
	rc = trace_pictures(p->t, p->reader->name, &p->pictures, &p->n, p->err);
	return rc ? err_wrap(p->err, rc, "%s", source_path(p->source)) : 0;
}

/* Once as they come; where some came too late for that, once more in order. */
static int in_order(struct pass *p)
{
	int rc = operations(p, TRACE_OPERATIONS, p->reader->unordered ? ORDER_AT_ONCE : 0);
	if (rc || !late(p->pictures, p->n))
		return rc;
	if (!p->reader->unordered)
		rc = operations(p, TRACE_ORDERED, 0);
	if (p->reader->unordered || rc == -ENOTSUP)
		rc = operations(p, TRACE_OPERATIONS, ORDER_AGAIN);
	return rc;
}

int trace_operations(struct trace_sink *t, const struct trace_reader *reader, struct source *s,
		     const struct picture *const **ret, size_t *ret_n, struct err *err)
{
	struct pass p = { .t = t, .reader = reader, .source = s, .err = err };
	int rc = in_order(&p);
	*ret = p.pictures;
	*ret_n = p.n;
	return rc;
}

/* The region is something else than an annotation. */
static int tell_level(struct trace_sink *t)
{
	static const char *const levels[TRACE_LEVELS] = {
		[TRACE_OPERATOR] = "operators",
		[TRACE_FUNCTION] = "functions of the program",
		[TRACE_ON_DEVICE] = "annotations as their work lay on the device",
	};
	for (int i = 0; i < TRACE_LEVELS; i++)
		if (t->matched[i])
			return levels[i] ? trace_note(t, "no annotation has the name of the "
							 "region: it is taken from %s",
						      levels[i])
					 : 0;
	return 0;
}

static int read_source(struct source *s, const struct trace_reader *reader, struct trace_sink *t,
		       struct record *ret, struct err *err)
{
	const struct picture *const *pictures;
	size_t n;
	int rc = reader->read(s, TRACE_RANGES, t, err);
	if (rc)
		return rc;
	if (t->options->range && !trace_matched(t))
		return no_such_range(t, source_path(s), err);
	rc = tell_level(t);
	if (rc)
		return err_set(err, rc, "out of memory");
	rc = trace_operations(t, reader, s, &pictures, &n, err);
	if (rc)
		return rc;
	struct trace_file file = { .path = source_path(s),
				   .hash = source_hash(s, err),
				   .format = reader->name,
				   .mtime_ns = source_mtime_ns(s) };
	if (!file.hash)
		return -EIO;
	rc = trace_make_record(t, &file, pictures, n, ret, err);
	return rc ? err_wrap(err, rc, "%s", file.path) : 0;
}

static int read_path(const char *path, const struct trace_reader *reader,
		     const struct trace_options *options, struct record *ret, struct err *err)
{
	struct source *s;
	struct trace_sink t;
	int rc = source_open(&s, path, err);
	if (rc)
		return rc;
	trace_begin(&t, options);
	rc = read_source(s, reader, &t, ret, err);
	trace_end(&t);
	source_close(s);
	return rc;
}

/* ---- the call
 * --------------------------------------------------------------------------------------------- */

/* The same file twice is one run. */
static bool is_there(const struct imports *in, const struct record *rec)
{
	for (size_t i = 0; i < in->n_records; i++)
		if (strcmp(in->records[i]->body.run_id, rec->body.run_id) == 0)
			return true;
	return false;
}

static int add_path(struct imports *in, const char *path, const struct trace_reader *reader,
		    const struct trace_options *options, struct err *err)
{
	struct record **records = arena_grow(&in->arena, in->records, &in->cap_records,
					     in->n_records + 1, sizeof *records);
	struct record *rec = calloc(1, sizeof *rec);
	if (!records || !rec) {
		free(rec);
		return err_set(err, -ENOMEM, "out of memory");
	}
	in->records = records;
	int rc = read_path(path, reader, options, rec, err);
	if (!rc && !is_there(in, rec)) {
		in->records[in->n_records++] = rec;
		return 0;
	}
	record_done(rec);
	free(rec);
	return rc;
}

int import_traces(struct imports *ret, const struct trace_reader *reader, const char *const *paths,
		  size_t n, const struct trace_options *options, struct err *err)
{
	*ret = (struct imports){ 0 };
	int rc = 0;
	for (size_t i = 0; i < n && !rc; i++)
		rc = add_path(ret, paths[i], reader, options, err);
	if (rc)
		imports_done(ret);
	return rc;
}
