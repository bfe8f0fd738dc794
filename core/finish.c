/* The end of a run, the same for whoever has its parts. */
#define _GNU_SOURCE
#include "core/finish.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/num.h"
#include "schema/picture_name.h"

/* A run that was ended between two executions: what it has is good, but not what was asked for. */
static int put_interrupted(struct record *rec)
{
	struct record_body *b = &rec->body;
	const struct measurement *m = &b->measurement;
	if (strcmp(b->status, "ok") != 0 &&
	    !(b->status_text && strstr(b->status_text, "no clean execution")))
		return 0;
	b->status = "interrupted";
	b->status_text = arena_printf(&rec->arena,
				      "the run was interrupted after %.0f of %.0f clean executions",
				      known(m->cleans_made) ? m->cleans_made : 0,
				      known(m->cleans_asked) ? m->cleans_asked : 0);
	if (!b->status_text)
		return -ENOMEM;
	return record_caveat(rec, "interrupted",
			     "The run was interrupted; what stands here was measured before.");
}

static int put_utc(struct record *rec, int64_t real_ns)
{
	time_t seconds = (time_t)(real_ns / 1000000000);
	struct tm tm;
	char text[64];
	if (rec->body.utc || real_ns == ROI_UNKNOWN || !gmtime_r(&seconds, &tm))
		return 0;
	(void)strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm);
	rec->body.utc = arena_strdup(&rec->arena, text);
	return rec->body.utc ? 0 : -ENOMEM;
}

int record_finish(struct record *rec, const struct observed *seen, size_t n,
		  const struct run_close *close, struct err *err)
{
	struct record_body *b = &rec->body;
	const struct caveat *before = b->caveats.items;
	size_t n_before = b->caveats.n;
	b->caveats.items = NULL;
	b->caveats.n = 0;
	int rc = assemble(rec, seen, n, err);
	if (rc)
		return rc;
	for (size_t i = 0; !rc && i < n_before; i++)
		rc = record_caveat(rec, before[i].code, "%s", before[i].text);
	if (!rc && !n)
		rc = put_utc(rec, close->begun_real_ns);
	if (!rc && !close->complete && !((double)n >= close->planned))
		rc = put_interrupted(rec);
	return rc ? err_set(err, rc, "out of memory while the record is put together") : 0;
}

/* ---- logs ------------------------------------------------------------------------------------ */

static int by_file(const void *x, const void *y)
{
	const struct carried_log *const *a = x, *const *b = y;
	int order = strcmp((*a)->file ? (*a)->file : "", (*b)->file ? (*b)->file : "");
	return order ? order : *a < *b ? -1 : *a > *b; /* as they came */
}

static int add_note(struct observed *seen, struct arena *a, const char *text)
{
	for (size_t i = 0; i < seen->notes.n; i++)
		if (strcmp(seen->notes.items[i], text) == 0)
			return 0;
	const char **items = arena_array(a, seen->notes.n + 1, sizeof *items);
	const char *copy = arena_strdup(a, text);
	if (!items || !copy)
		return -ENOMEM;
	if (seen->notes.n)
		memcpy(items, seen->notes.items, seen->notes.n * sizeof *items);
	items[seen->notes.n] = copy;
	seen->notes = (struct txts){ .items = items, .n = seen->notes.n + 1 };
	return 0;
}

/* All processes of one file have one place: it is that of their process id, and a program that goes
 * on as another one keeps it. */
static int place(struct arena *a, const struct roi_logs *logs, size_t from,
		 const struct carried_log *l, const char **cpus, double *threads)
{
	const char *told = arena_strdup(a, l->cpus);
	if (l->cpus && !told)
		return -ENOMEM;
	for (size_t i = from; i < logs->n; i++) {
		cpus[i] = told ? told : logs->items[i]->cpus;
		threads[i] = l->threads;
	}
	return 0;
}

static int parse_all(struct observed *seen, struct roi_logs *logs, struct arena *a,
		     const struct carried_log **list, size_t *from, size_t n, struct err *err)
{
	for (size_t i = 0; i < n; i++) {
		const struct carried_log *l = list[i];
		struct err why = { .text = "" };
		const void *bytes = l->bytes;
		size_t size = l->n;
		int rc = l->load ? l->load(l, &bytes, &size, err) : 0;
		if (rc)
			return rc;
		from[i] = logs->n;
		rc = roilog_parse(logs, l->file ? l->file : "a log", size ? bytes : "", size, &why);
		if (rc == -ENOMEM || (rc && add_note(seen, a, why.text)))
			return err_set(err, -ENOMEM, "out of memory");
	}
	from[n] = logs->n;
	return 0;
}

int observed_logs(struct observed *seen, struct roi_logs *logs, struct arena *a,
		  const struct carried_log *list, size_t n, struct err *err)
{
	const struct carried_log **sorted = arena_array(a, n + 1, sizeof *sorted);
	size_t *from = arena_array(a, n + 1, sizeof *from);
	if (!sorted || !from)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < n; i++)
		sorted[i] = &list[i];
	qsort(sorted, n, sizeof(const struct carried_log *), by_file);
	int rc = parse_all(seen, logs, a, sorted, from, n, err);
	if (rc)
		return rc;
	const char **cpus = arena_array(a, logs->n + 1, sizeof *cpus);
	double *threads = arena_array(a, logs->n + 1, sizeof *threads);
	if (!cpus || !threads)
		rc = -ENOMEM;
	for (size_t i = 0; !rc && i < n; i++)
		if (from[i] < from[i + 1])
			rc = place(a, logs, from[i], sorted[i], cpus, threads);
	if (rc)
		return err_set(err, rc, "out of memory");
	seen->logs = (const struct roi_log *const *)logs->items;
	seen->n_logs = logs->n;
	seen->rank_cpus = cpus;
	seen->rank_threads = threads;
	return 0;
}

/* ---- pictures ---------------------------------------------------------------------------------
 */

static int by_picture_file(const void *x, const void *y)
{
	const struct carried_picture *const *a = x, *const *b = y;
	int order = strcmp((*a)->file ? (*a)->file : "", (*b)->file ? (*b)->file : "");
	return order ? order : *a < *b ? -1 : *a > *b; /* as they came */
}

/* In an arena of its own until it is whole: what a file asks for may be many times its size. ret
 * NULL: it is none, and why is said. */
static int read_picture(struct arena *a, const char *file, const void *bytes, size_t n,
			const void **ret, struct err *why)
{
	bool io = picture_ends_with(file, IOPICTURE_SUFFIX);
	size_t room =
		a->used_bytes < FINISH_PICTURES_BYTES ? FINISH_PICTURES_BYTES - a->used_bytes : 1;
	struct arena own = { .max_bytes = room };
	void *p = arena_alloc(&own, io ? sizeof(struct iopicture) : sizeof(struct picture));
	const void *from = n ? bytes : "";
	int rc = !p   ? -ENOMEM
		 : io ? iopicture_get(p, &own, file, from, n, why)
		      : picture_get(p, &own, file, from, n, why);
	*ret = NULL;
	if (!rc) {
		arena_join(a, &own);
		*ret = p;
		return 0;
	}
	bool full = own.full;
	arena_free(&own);
	if (rc == -ENOMEM && !full)
		return rc;
	if (rc == -ENOMEM)
		(void)err_set(why, rc, "%s: the pictures of the execution take more than %zu MiB",
			      file, FINISH_PICTURES_BYTES >> 20);
	return 0;
}

struct pictures {
	const struct picture **device;
	const struct iopicture **io;
};

static int add_picture(struct observed *seen, struct arena *a, const struct carried_picture *c,
		       const struct pictures *to, struct err *err)
{
	struct err why = { .text = "" };
	const void *bytes = c->bytes, *read = NULL;
	const char *file = c->file ? c->file : "(no name)";
	size_t n = c->n;
	int rc = c->load ? c->load(c, &bytes, &n, err) : 0;
	if (rc)
		return rc;
	rc = read_picture(a, file, bytes, n, &read, &why);
	if (!rc && read && picture_ends_with(file, IOPICTURE_SUFFIX))
		to->io[seen->n_iopictures++] = read;
	else if (!rc && read)
		to->device[seen->n_pictures++] = read;
	if (!rc && read)
		return 0;
	const char *note = rc ? NULL : arena_printf(a, NOTE_PICTURE "%s", why.text);
	if (!note || add_note(seen, a, note))
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

int observed_pictures(struct observed *seen, struct arena *a, const struct carried_picture *list,
		      size_t n, struct err *err)
{
	const struct carried_picture **sorted = arena_array(a, n + 1, sizeof *sorted);
	const struct pictures to = { arena_array(a, n + 1, sizeof *to.device),
				     arena_array(a, n + 1, sizeof *to.io) };
	int rc = sorted && to.device && to.io ? 0 : err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; !rc && i < n; i++)
		sorted[i] = &list[i];
	if (!rc && n)
		qsort(sorted, n, sizeof *sorted, by_picture_file);
	seen->pictures = to.device;
	seen->iopictures = to.io;
	seen->n_pictures = seen->n_iopictures = 0;
	for (size_t i = 0; !rc && i < n; i++)
		rc = add_picture(seen, a, sorted[i], &to, err);
	return rc;
}
