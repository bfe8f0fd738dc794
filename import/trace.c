/* One trace after the other: ranges, operations, record. */
#define _GNU_SOURCE
#include "import/trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>

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
	struct source *const *sources; /* that are one trace */
	size_t n_sources;
	const struct picture *const *pictures;
	size_t n;
	struct err *err;
};

static int operations(struct pass *p, enum trace_pass pass, size_t order)
{
	int rc = trace_again(p->t, order);
	if (rc)
		return err_set(p->err, rc, "out of memory");
	for (size_t i = 0; i < p->n_sources && !rc; i++)
		rc = p->reader->read(p->sources[i], pass, p->t, p->err);
	if (rc)
		return rc;
	rc = trace_flush(p->t);
	if (rc)
		return err_set(p->err, rc, "out of memory");
	rc = trace_pictures(p->t, p->reader->name, &p->pictures, &p->n, p->err);
	return rc ? err_wrap(p->err, rc, "%s", source_path(p->sources[0])) : 0;
}

/* Once as they come; where some came too late for that, once more in order. */
static int in_order(struct pass *p)
{
	/* Of several files each is read to its end before the next. */
	bool unordered = p->reader->unordered || p->n_sources > 1;
	int rc = operations(p, TRACE_OPERATIONS, unordered ? ORDER_AT_ONCE : 0);
	if (rc || !late(p->pictures, p->n))
		return rc;
	if (!unordered)
		rc = operations(p, TRACE_ORDERED, 0);
	if (unordered || rc == -ENOTSUP)
		rc = operations(p, TRACE_OPERATIONS, ORDER_AGAIN);
	return rc;
}

int trace_operations(struct trace_sink *t, const struct trace_reader *reader,
		     struct source *const *sources, size_t n, const struct picture *const **ret,
		     size_t *ret_n, struct err *err)
{
	struct pass p = {
		.t = t, .reader = reader, .sources = sources, .n_sources = n, .err = err
	};
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

/* Of one file its own; of several one of theirs, in the order of their names. */
static int hash_of(struct source *const *sources, size_t n, char ret[33], int64_t *mtime_ns,
		   struct err *err)
{
	XXH3_state_t *state = XXH3_createState();
	int rc = state ? 0 : err_set(err, -ENOMEM, "out of memory");
	if (!rc)
		(void)XXH3_128bits_reset(state);
	*mtime_ns = 0;
	for (size_t i = 0; i < n && !rc; i++) {
		const char *hash = source_hash(sources[i], err);
		if (!hash) {
			rc = -EIO;
			break;
		}
		(void)XXH3_128bits_update(state, hash, strlen(hash));
		(void)snprintf(ret, 33, "%s", hash);
		if (source_mtime_ns(sources[i]) > *mtime_ns)
			*mtime_ns = source_mtime_ns(sources[i]);
	}
	if (!rc && n > 1) {
		XXH128_hash_t h = XXH3_128bits_digest(state);
		(void)snprintf(ret, 33, "%016llx%016llx", (unsigned long long)h.high64,
			       (unsigned long long)h.low64);
	}
	(void)XXH3_freeState(state);
	return rc;
}

static int read_sources(struct source *const *sources, size_t n, const struct trace_reader *reader,
			struct trace_sink *t, struct record *ret, struct err *err)
{
	const struct picture *const *pictures;
	size_t n_pictures;
	char hash[33];
	struct trace_file file = { .path = source_path(sources[0]),
				   .more = n - 1,
				   .hash = hash,
				   .format = reader->name };
	int rc = 0;
	for (size_t i = 0; i < n && !rc; i++)
		rc = reader->read(sources[i], TRACE_RANGES, t, err);
	if (rc)
		return rc;
	if (t->options->range && !trace_matched(t))
		return no_such_range(t, file.path, err);
	rc = tell_level(t);
	if (rc)
		return err_set(err, rc, "out of memory");
	rc = trace_operations(t, reader, sources, n, &pictures, &n_pictures, err);
	if (!rc)
		rc = hash_of(sources, n, hash, &file.mtime_ns, err);
	if (rc)
		return rc;
	rc = trace_make_record(t, &file, pictures, n_pictures, ret, err);
	return rc ? err_wrap(err, rc, "%s", file.path) : 0;
}

static int read_paths(const char *const *paths, size_t n, const struct trace_reader *reader,
		      const struct trace_options *options, struct record *ret, struct err *err)
{
	struct source **sources = calloc(n, sizeof *sources);
	struct trace_sink t;
	int rc = sources ? 0 : err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < n && !rc; i++)
		rc = source_open(&sources[i], paths[i], err);
	if (!rc) {
		trace_begin(&t, options);
		rc = read_sources(sources, n, reader, &t, ret, err);
		trace_end(&t);
	}
	for (size_t i = 0; sources && i < n; i++)
		source_close(sources[i]);
	free(sources);
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

static int add_paths(struct imports *in, const char *const *paths, size_t n,
		     const struct trace_reader *reader, const struct trace_options *options,
		     struct err *err)
{
	struct record **records = arena_grow(&in->arena, in->records, &in->cap_records,
					     in->n_records + 1, sizeof *records);
	struct record *rec = calloc(1, sizeof *rec);
	if (!records || !rec) {
		free(rec);
		return err_set(err, -ENOMEM, "out of memory");
	}
	in->records = records;
	int rc = read_paths(paths, n, reader, options, rec, err);
	if (!rc && !is_there(in, rec)) {
		in->records[in->n_records++] = rec;
		return 0;
	}
	record_done(rec);
	free(rec);
	return rc;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Those that are one trace with the first of them, to the front, in the order of their names. */
static size_t gather(const char **paths, size_t n, const struct trace_reader *reader)
{
	size_t k = 1;
	for (size_t i = 1; reader->same && i < n; i++)
		if (reader->same(paths[0], paths[i])) {
			const char *path = paths[i];
			memmove(paths + k + 1, paths + k, (i - k) * sizeof *paths);
			paths[k++] = path;
		}
	qsort(paths, k, sizeof *paths, by_name);
	return k;
}

int import_traces(struct imports *ret, const struct trace_reader *reader, const char *const *paths,
		  size_t n, const struct trace_options *options, struct err *err)
{
	*ret = (struct imports){ 0 };
	const char **left = calloc(n + 1, sizeof *left);
	int rc = left ? 0 : err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < n && left; i++)
		left[i] = paths[i];
	for (size_t i = 0, k; i < n && !rc; i += k) {
		k = gather(left + i, n - i, reader);
		rc = add_paths(ret, left + i, k, reader, options, err);
	}
	free(left);
	if (rc)
		imports_done(ret);
	return rc;
}
