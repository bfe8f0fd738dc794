/* Region logs, hpcperf-roi-log 2. The logs of one call are the processes of one execution, unless
 * they lie as their runner lays them: level2/APP/CASE/RUN/clean.0/roi.PID, where each RUN is a
 * record and each clean.N an execution. What is above RUN need not be there. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/assemble.h"
#include "import/hpcperf_impl.h"

/* Where a log belongs. Texts are pieces of its path. */
struct place {
	const char *run;    /* the folder of the run; "" for logs without such folders */
	const char *folder; /* of the execution, or "" */
	const char *exec, *app, *case_;
	int level;
};

struct log_file {
	const struct import_file *file;
	struct place place;
};

static bool is_execution(const char *name)
{
	const char *dot = strchr(name, '.');
	if (!dot || dot[1] == 0 || strspn(dot + 1, "0123456789") != strlen(dot + 1))
		return false;
	size_t n = (size_t)(dot - name);
	return (n == 5 && memcmp(name, "clean", n) == 0) || (n == 6 && memcmp(name, "warmup", n) == 0);
}

/* Cuts the last component off path; answers it. */
static char *pop(char *path)
{
	char *slash = strrchr(path, '/');
	if (!slash)
		return path;
	*slash = 0;
	return slash + 1;
}

static int find_place(struct ctx *c, const struct import_file *file, struct place *ret)
{
	struct arena *a = &c->out->arena;
	*ret = (struct place){ .run = "", .folder = "", .exec = "clean.0" };
	char *path = arena_strdup(a, file->path);
	if (!path)
		return import_nomem(c);
	(void)pop(path);
	char *folder = arena_strdup(a, path);
	char *exec = pop(path);
	char *run = arena_strdup(a, path);
	(void)pop(path);
	char *case_ = pop(path), *app = pop(path), *level = pop(path);
	if (!run || !folder)
		return import_nomem(c);
	if (!is_execution(exec))
		return 0;
	*ret = (struct place){ .run = run, .folder = folder, .exec = exec };
	if (strncmp(level, "level", 5) == 0 && level[5] >= '1' && level[5] <= '3' && !level[6]) {
		ret->app = app;
		ret->case_ = case_;
		ret->level = level[5] - '0';
	}
	return 0;
}

static int compare_logs(const void *a, const void *b)
{
	const struct log_file *x = a, *y = b;
	int order = strcmp(x->place.run, y->place.run);
	if (!order) {
		/* warmup.N before clean.N, and clean.10 after clean.9 */
		order = y->place.exec[0] - x->place.exec[0];
	}
	if (!order)
		order = atoi(strchr(x->place.exec, '.') + 1) - atoi(strchr(y->place.exec, '.') + 1);
	return order ? order : strcmp(x->file->path, y->file->path);
}

static const char *utc_of(struct draft *d, int64_t real_ns)
{
	time_t seconds = (time_t)(real_ns / 1000000000);
	struct tm tm;
	char text[32];
	if (real_ns < 0 || !gmtime_r(&seconds, &tm) ||
	    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		return NULL;
	return draft_text(d, text);
}

static int identity(struct ctx *c, struct draft *d, const struct log_file *first,
		    const struct roi_logs *logs)
{
	struct record_body *b = &d->rec.body;
	const char *app = c->options->app ? c->options->app : first->place.app;
	const char *case_ = c->options->case_ ? c->options->case_ : first->place.case_;
	const char *platform = c->options->platform ? c->options->platform : b->platform;
	if (!app || !case_ || !platform)
		return err_set(c->err, -EINVAL,
			       "%s: a region log doesn't tell what was measured; say it with %s%s%s",
			       first->file->path, app ? "" : "--app NAME ", case_ ? "" : "--case NAME ",
			       platform ? "" : "--platform ID");
	b->app = draft_text(d, app);
	b->case_ = draft_text(d, case_);
	b->platform = draft_text(d, platform);
	int64_t begin = ROI_UNKNOWN;
	for (size_t i = 0; i < logs->n; i++) {
		int64_t real = logs->items[i]->first_begin_real;
		if (real != ROI_UNKNOWN && (begin == ROI_UNKNOWN || real < begin))
			begin = real;
	}
	if (begin == ROI_UNKNOWN && !c->options->published)
		return err_set(c->err, -EINVAL,
			       "%s: no entry, so nothing tells when this was; say it with --published UTC",
			       first->file->path);
	b->utc = begin == ROI_UNKNOWN ? import_utc(&d->rec.arena, c->options->published) : utc_of(d, begin);
	if (!b->app || !b->case_ || !b->platform)
		return import_nomem(c);
	if (!b->utc)
		return err_set(c->err, -EINVAL, "%s: the time of its first entry is not a time",
			       first->file->path);
	int rc = import_declare(c, b->suite, b->app, b->case_);
	return rc ? err_wrap(c->err, rc, "%s", first->file->path) : 0;
}

static int command(struct ctx *c, struct draft *d, const struct roi_log *log)
{
	struct inputs *in = &d->rec.body.inputs;
	if (!in->cwd)
		in->cwd = draft_text(d, log->cwd);
	if (!log->argv.items || !log->argv.n)
		return 0;
	const char **items = arena_array(&d->rec.arena, log->argv.n, sizeof *items);
	if (!items)
		return import_nomem(c);
	for (size_t i = 0; i < log->argv.n; i++)
		if (!(items[i] = draft_text(d, log->argv.items[i])))
			return import_nomem(c);
	in->argv = (struct txts){ items, log->argv.n };
	return 0;
}

static int begin_execution(struct ctx *c, struct observed *o, const struct place *place)
{
	*o = (struct observed){ .end = END_EXITED, .start_real_ns = ROI_UNKNOWN, .end_real_ns = ROI_UNKNOWN,
				.fom = { METRIC_NONE, NAN }, .own_timer = { METRIC_NONE, NAN } };
	block_clear(&execution_block, &o->row);
	o->row.name = place->exec;
	return raw_execution(c, place->folder, o);
}

/* The logs of files[0, n), execution by execution. seen has room for n. */
static int observe(struct ctx *c, const struct log_file *files, size_t n, struct roi_logs *logs,
		   struct observed *seen, size_t *ret_n)
{
	size_t *begins = arena_array(&c->out->arena, n + 1, sizeof *begins);
	if (!begins)
		return import_nomem(c);
	size_t n_seen = 0;
	for (size_t i = 0; i < n; i++) {
		const struct import_file *f = files[i].file;
		size_t before = logs->n;
		int rc = roilog_parse(logs, f->path, f->bytes.data, f->bytes.len, c->err);
		if (rc)
			return rc;
		if (i == 0 || strcmp(files[i].place.exec, files[i - 1].place.exec) != 0) {
			begins[n_seen] = before;
			rc = begin_execution(c, &seen[n_seen++], &files[i].place);
		}
		if (rc)
			return rc;
		begins[n_seen] = logs->n;
	}
	for (size_t i = 0; i < n_seen; i++) {
		seen[i].logs = (const struct roi_log *const *)logs->items + begins[i];
		seen[i].n_logs = begins[i + 1] - begins[i];
	}
	*ret_n = n_seen;
	return 0;
}

/* Where nobody tells how an execution ended, its region counts, and the record says so. */
static int put_together(struct ctx *c, struct draft *d, struct observed *seen, size_t n)
{
	bool *unknown = arena_array(&c->out->arena, n + 1, sizeof *unknown);
	if (!unknown)
		return import_nomem(c);
	d->exits_known = true;
	for (size_t i = 0; i < n; i++) {
		unknown[i] = !known(seen[i].row.exit_code);
		if (unknown[i])
			seen[i].row.exit_code = 0;
		d->exits_known = d->exits_known && !unknown[i];
	}
	d->rec.body.measurement.region = "markers";
	d->rec.body.measurement.collector = "none";
	int rc = assemble(&d->rec, seen, n, c->err);
	for (size_t i = 0; i < n && i < d->rec.body.executions.n; i++)
		if (unknown[i])
			d->rec.body.executions.items[i].exit_code = NAN;
	return rc;
}

/* One record of the logs of one run. */
static int read_run(struct ctx *c, const struct log_file *files, size_t n)
{
	struct roi_logs logs = { 0 };
	struct observed *seen = arena_array(&c->out->arena, n, sizeof *seen);
	size_t n_seen = 0;
	struct draft *d = seen ? draft_new(c, ORIGIN_LOG, files[0].place.level, files[0].file) : NULL;
	if (!d)
		return import_nomem(c);
	int rc = observe(c, files, n, &logs, seen, &n_seen);
	if (!rc)
		rc = raw_run(c, files[0].place.run, d);
	if (!rc)
		rc = identity(c, d, &files[0], &logs);
	if (!rc && logs.n)
		rc = command(c, d, logs.items[0]);
	if (!rc)
		rc = put_together(c, d, seen, n_seen);
	roilogs_done(&logs);
	return rc;
}

int read_logs(struct ctx *c, const struct import_file *const *files, size_t n)
{
	struct log_file *items = arena_array(&c->out->arena, n, sizeof *items);
	int rc = items ? 0 : import_nomem(c);
	for (size_t i = 0; i < n && !rc; i++) {
		items[i].file = files[i];
		rc = find_place(c, files[i], &items[i].place);
	}
	if (!rc)
		qsort(items, n, sizeof *items, compare_logs);
	for (size_t i = 0; i < n && !rc;) {
		size_t k = i + 1;
		while (k < n && strcmp(items[k].place.run, items[i].place.run) == 0)
			k++;
		rc = read_run(c, items + i, k - i);
		i = k;
	}
	return rc;
}
