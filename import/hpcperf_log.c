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
	bool of_run = is_raw_run(file); /* lies in the folder of the run, and is of no execution */
	const char *exec = of_run ? "" : pop(path);
	char *run = arena_strdup(a, path);
	(void)pop(path);
	char *case_ = pop(path), *app = pop(path), *level = pop(path);
	if (!run || !folder)
		return import_nomem(c);
	if (!of_run && !is_execution(exec))
		return 0;
	*ret = (struct place){ .run = run, .folder = of_run ? "" : folder, .exec = exec };
	if (strncmp(level, "level", 5) == 0 && level[5] >= '1' && level[5] <= '3' && !level[6]) {
		ret->app = app;
		ret->case_ = case_;
		ret->level = level[5] - '0';
	}
	return 0;
}

/* warmup.N before clean.N, clean.10 after clean.9, and what is of no execution behind. */
static int compare_executions(const char *x, const char *y)
{
	int order = y[0] - x[0];
	if (order || !x[0])
		return order;
	return atoi(strchr(x, '.') + 1) - atoi(strchr(y, '.') + 1);
}

static int compare_logs(const void *a, const void *b)
{
	const struct log_file *x = a, *y = b;
	int order = strcmp(x->place.run, y->place.run);
	if (!order)
		order = compare_executions(x->place.exec, y->place.exec);
	return order ? order : strcmp(x->file->path, y->file->path);
}

static int compare_observed(const void *a, const void *b)
{
	const struct observed *x = a, *y = b;
	return compare_executions(x->row.name, y->row.name);
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

static const char *first_of(const char *a, const char *b, const char *c)
{
	return a ? a : b ? b : c;
}

static int identity(struct ctx *c, struct draft *d, const struct log_file *first,
		    const struct roi_logs *logs, const struct raw_meta *meta)
{
	struct record_body *b = &d->rec.body;
	const char *app = first_of(c->options->app, first->place.app, meta->app);
	const char *case_ = first_of(c->options->case_, first->place.case_, meta->case_);
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
	const char *utc = first_of(c->options->published, meta->utc, NULL);
	if (begin == ROI_UNKNOWN && !utc)
		return err_set(c->err, -EINVAL,
			       "%s: no entry, so nothing tells when this was; say it with --published UTC",
			       first->file->path);
	b->utc = begin == ROI_UNKNOWN ? import_utc(&d->rec.arena, utc) : utc_of(d, begin);
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

/* Executions that left no log, as one that crashes does: only run.txt tells of them. */
static int add_silent(struct ctx *c, const char *run, struct observed **seen, size_t *n)
{
	static const char *const stages[] = { "warmup", "clean" };
	size_t room = *n, logged = *n;
	for (size_t stage = 0; stage < 2 && *run; stage++)
		for (int k = 0;; k++) {
			struct arena *a = &c->out->arena;
			char *name = arena_printf(a, "%s.%d", stages[stage], k);
			char *folder = name ? arena_printf(a, "%s/%s", run, name) : NULL;
			struct observed *grown = arena_grow(a, *seen, &room, *n + 1, sizeof **seen);
			if (!folder || !grown)
				return import_nomem(c);
			*seen = grown;
			size_t i = 0;
			while (i < logged && strcmp(grown[i].row.name, name) != 0)
				i++;
			if (i < logged)
				continue;
			struct place place = { .folder = folder, .exec = name };
			int rc = begin_execution(c, &grown[*n], &place);
			if (rc)
				return rc;
			if (!known(grown[*n].row.exit_code))
				break;
			(*n)++;
		}
	if (*n > logged)
		qsort(*seen, *n, sizeof **seen, compare_observed);
	return 0;
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
		if (!*files[i].place.exec)
			break; /* run_meta.txt */
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

/* Their runner knows more than the executions tell: a profiled run that failed, or that it was ended
 * itself, and wrote no status. */
static int take_status(struct ctx *c, struct draft *d, const struct raw_meta *meta)
{
	struct record_body *b = &d->rec.body;
	const char *theirs = "interrupted";
	if (!meta->text || strcmp(b->status, "ok") != 0)
		return 0;
	if (meta->status && !status_of_theirs(meta->status, &theirs))
		return err_set(c->err, -EINVAL, "%s: run_meta.txt beside it has status=%s; expected ok, "
						"clean_failed, ...", d->file, meta->status);
	if (!theirs || strcmp(theirs, "ok") == 0)
		return 0;
	b->status = theirs;
	b->status_text = arena_printf(&d->rec.arena, meta->status ? "the source says %s"
								  : "the source has no status: it was ended",
				      meta->status);
	return b->status_text ? 0 : import_nomem(c);
}

static int make_record(struct ctx *c, const struct log_file *files, const struct roi_logs *logs,
		       const struct raw_meta *meta, struct observed *seen, size_t n)
{
	struct draft *d = draft_new(c, ORIGIN_LOG, files[0].place.level, files[0].file);
	if (!d)
		return import_nomem(c);
	int rc = raw_run(c, meta, d);
	if (!rc)
		rc = identity(c, d, &files[0], logs, meta);
	if (!rc && logs->n)
		rc = command(c, d, logs->items[0]);
	if (!rc)
		rc = put_together(c, d, seen, n);
	return rc ? rc : take_status(c, d, meta);
}

/* Nothing was measured, or nothing that can be read here: the case is known all the same. */
static int no_record(struct ctx *c, const struct log_file *first, const struct raw_meta *meta)
{
	const char *suite = import_suite(c, first->place.level);
	const char *app = first_of(c->options->app, first->place.app, meta->app);
	const char *case_ = first_of(c->options->case_, first->place.case_, meta->case_);
	int rc = !suite ? import_nomem(c) : app && case_ ? import_declare(c, suite, app, case_) : 0;
	if (rc)
		return err_wrap(c->err, rc, "%s", first->file->path);
	return import_note(c,
			   meta->by_timer ? "%s was left alone: the region is the application's own "
					    "timer, which only the run's record tells"
					  : "%s was left alone: the run has no execution",
			   first->file->path);
}

/* One record of the logs of one run; of a run without a log, what is beside them. */
static int read_run(struct ctx *c, const struct log_file *files, size_t n)
{
	struct roi_logs logs = { 0 };
	struct observed *seen = arena_array(&c->out->arena, n, sizeof *seen);
	struct raw_meta meta;
	size_t n_seen = 0;
	if (!seen)
		return import_nomem(c);
	int rc = observe(c, files, n, &logs, seen, &n_seen);
	if (!rc)
		rc = raw_meta(c, files[0].place.run, &meta);
	if (!rc && !meta.by_timer)
		rc = add_silent(c, files[0].place.run, &seen, &n_seen);
	if (!rc && n_seen)
		rc = make_record(c, files, &logs, &meta, seen, n_seen);
	else if (!rc)
		rc = no_record(c, &files[0], &meta);
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
