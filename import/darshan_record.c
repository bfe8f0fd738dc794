/* What was gathered of a log into its record. What Darshan does not count is null. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/assemble.h"
#include "import/darshan.h"
#include "import/darshan_capture.h"
#include "import/darshan_gather.h"
#include "import/darshan_put.h"
#include "import/made.h"
#include "lib/buf.h"
#include "lib/num.h"
#include "schema/codec.h"

/* ---- the job ------------------------------------------------------------------------------------
 */

/* Darshan joins the words with blanks, so one that has a blank can't be told from two. */
static int put_argv(struct record *rec, const char *command)
{
	struct txts *argv = &rec->body.inputs.argv;
	size_t cap = 0;
	for (const char *p = command; *p;) {
		size_t n = strcspn(p, " ");
		if (n) {
			const char **items = arena_grow(&rec->arena, argv->items, &cap, argv->n + 1,
							sizeof *items);
			char *word = record_text(rec, p, n);
			if (!items || !word)
				return -ENOMEM;
			argv->items = items;
			items[argv->n++] = word;
		}
		p += n + (p[n] == ' ');
	}
	return 0;
}

static int put_job(struct record *rec, const struct darshan_log *log)
{
	struct record_body *b = &rec->body;
	const struct darshan_job *job = &log->job;
	double run_s = darshan_run_s(log);
	b->inputs.ranks = (double)job->ranks;
	b->io.processes = (double)job->ranks;
	if (run_s >= 0)
		b->context.process_wall_s = num15(run_s);
	int64_t begin_ns;
	if (__builtin_mul_overflow(job->begin_s, (int64_t)1000000000, &begin_ns))
		begin_ns = 0;
	b->utc = made_utc(rec, begin_ns);
	if (job->id > 0)
		b->provenance.job = arena_printf(&rec->arena, "darshan:%lld", (long long)job->id);
	return b->utc ? put_argv(rec, job->command) : -ENOMEM;
}

/* ---- limits -------------------------------------------------------------------------------------
 */

static int put_partial(struct record *rec, const struct darshan_gathered *g)
{
	struct io *io = &rec->body.io;
	struct buf names = { 0 };
	size_t n = 0;
	for (unsigned m = 0; m < DARSHAN_MODULES; m++)
		n += g->log->modules[m].bytes && g->log->modules[m].partial;
	io->incomplete = n || g->n_damaged || g->impossible_times ? YES : NO;
	io->partial.items = arena_array(&rec->arena, n + 1, sizeof *io->partial.items);
	if (!io->partial.items)
		return -ENOMEM;
	if (!n)
		return 0; /* none is known to be */
	for (unsigned m = 0; m < DARSHAN_MODULES; m++) {
		const char *name = darshan_module_name(m);
		if (!g->log->modules[m].bytes || !g->log->modules[m].partial)
			continue;
		const char *one = name ? arena_printf(&rec->arena, "darshan %s", name)
				       : arena_printf(&rec->arena, "darshan module %u", m);
		if (!one)
			return -ENOMEM;
		buf_printf(&names, "%s%s", names.len ? ", " : "", one + strlen("darshan "));
		io->partial.items[io->partial.n++] = one;
	}
	int rc = names.failed ? -ENOMEM
			      : record_caveat(rec, "io_partial",
					      "Darshan had no room for all of %s: what is derived from "
					      "it is a lower bound, or null.",
					      names.data);
	buf_done(&names);
	return rc;
}

static int put_damage(struct record *rec, const struct darshan_gathered *g)
{
	int rc = 0;
	if (g->n_damaged)
		rc = record_caveat(rec, "io_damaged",
				   "Of the log what is damaged was left out, and numbers that need it "
				   "are null: %s.",
				   g->damage);
	const char *runtime = darshan_runtime(g->log);
	if (!rc && runtime && strncmp(runtime, "3.2.0", 5) == 0)
		rc = record_caveat(rec, "darshan_corrupt_counters",
				   "The log is of Darshan 3.2.0, which is known to have written wrong "
				   "counters.");
	if (!rc && g->impossible_times)
		rc = record_caveat(rec, "io_times_impossible",
				   "%llu of the log's records have times that can't be (below 0): sums "
				   "that come out so are null, others may be wrong.",
				   (unsigned long long)g->impossible_times);
	return rc;
}

static int put_scope(struct record *rec, const struct darshan_gathered *g)
{
	int rc = record_caveat(
		rec, "darshan_scope",
		"Darshan counts neither closes nor failed calls, nor names beyond open, stat and "
		"rename (stat only before glibc 2.33), and leaves out folders of the system (/dev, /etc, "
		"/proc, /sys, ...); times of syncs are in write_s; its times count from its own start.");
	if (!rc && g->log->job.whole_seconds)
		rc = record_caveat(rec, "wall_whole_seconds",
				   "The log has the job's begin and end in whole seconds: "
				   "context.process_wall_s is up to a second too long.");
	if (!rc && !darshan_ids_count(&g->ids) && !g->n_damaged)
		rc = record_caveat(rec, "imported_incomplete",
				   "The log has none of the modules POSIX, STDIO and MPI-IO: no file was used, "
				   "or they were switched off.");
	if (!rc && (g->mpiio.records || g->posix_within.records))
		rc = record_caveat(rec, "darshan_levels",
				   "Darshan does not tell which calls of POSIX were made within MPI-IO: those "
				   "on files that MPI-IO has a record of are taken as such, and are not in "
				   "io.whole.");
	return rc;
}

/* What has no field: opens without their closes, and under which hints Darshan wrote its own log. */
static int put_also(struct record *rec, const struct darshan_gathered *g)
{
	double posix = (double)g->posix_own.whole[POSIX_OPENS] +
		       (double)g->posix_within.whole[POSIX_OPENS];
	double mpiio = (double)g->mpiio.whole[MPIIO_INDEP_OPENS] +
		       (double)g->mpiio.whole[MPIIO_COLL_OPENS];
	double stdio = (double)g->stdio.whole[STDIO_OPENS];
	struct buf text = { 0 };
	if (g->posix_own.records || g->posix_within.records)
		buf_printf(&text, " POSIX %.15g,", posix);
	if (g->mpiio.records)
		buf_printf(&text, " MPI-IO %.15g,", mpiio);
	if (g->stdio.records)
		buf_printf(&text, " STDIO %.15g,", stdio);
	int rc = text.failed ? -ENOMEM : 0;
	if (text.len) {
		text.data[text.len - 1] = '\0';
		rc = record_caveat(rec, "source_also_says", "Opens without their closes:%s.",
				   text.data);
	}
	buf_done(&text);
	return rc;
}

static int put_nulls(struct record *rec, const struct darshan_gathered *g)
{
	static const char *const never[] = { "io.whole.open_ops", "io.whole.meta_ops",
					     "io.whole.failed_ops", "io.wait_s", "io.whole_wait_s",
					     "io.mpi", "io.device_read_bytes", "io.device_write_bytes",
					     "io.cgroup_read_bytes", "io.cgroup_write_bytes",
					     "io.dropped_ops", "io.files.layout" };
	int rc = 0;
	for (size_t i = 0; i < sizeof never / sizeof *never && !rc; i++)
		rc = record_null(rec, never[i], "not_supported");
	if (!rc && g->mpiio.records)
		rc = record_null(rec, "io.whole.seek_ops", "not_supported");
	static const char *const lost[] = { "io.whole", "io.series", "io.files_total" };
	for (size_t i = 0; i < 3 && !rc && (g->n_damaged || rec->body.io.partial.n); i++)
		rc = record_null(rec, lost[i], "lost");
	static const char *const times[] = { "io.whole.read_s", "io.whole.write_s", "io.whole.meta_s" };
	for (size_t i = 0; i < 3 && !rc && g->impossible_times; i++)
		rc = record_null(rec, times[i], "lost");
	return rc ? rc : record_explain_nulls(rec);
}

/* ---- one log ------------------------------------------------------------------------------------
 */

static int fill(struct record *rec, const struct darshan_gathered *g)
{
	int rc = put_job(rec, g->log);
	if (!rc)
		rc = put_partial(rec, g);
	if (!rc)
		rc = darshan_put_sums(rec, g);
	if (!rc)
		rc = darshan_put_files(rec, g);
	if (!rc)
		rc = darshan_put_series(rec, g);
	if (!rc)
		rc = put_scope(rec, g);
	if (!rc)
		rc = put_damage(rec, g);
	return rc ? rc : put_also(rec, g);
}

static int finish(struct record *rec, const struct darshan_gathered *g, struct err *err)
{
	int rc = put_nulls(rec, g);
	if (!rc)
		rc = made_id(rec);
	return rc ? err_set(err, rc, "out of memory") : record_check(rec, err);
}

static int read_log(struct record *rec, const char *path, const struct io_options *o,
		    struct err *err)
{
	struct darshan_log *log;
	struct darshan_gathered g;
	struct made_from from = { .suite = o->suite, .app = o->app, .case_ = o->case_,
				  .platform = o->platform, .format = "darshan",
				  .what = "a Darshan log", .path = path };
	int rc = darshan_open(&log, path, err);
	if (rc)
		return rc;
	from.hash = source_hash(log->source, err);
	rc = from.hash ? made_whole(rec, &from, err) : -EIO;
	if (!rc)
		rc = darshan_gather(&g, log, o->salvage, err);
	if (rc) {
		darshan_close(log);
		return rc;
	}
	rc = fill(rec, &g) ? err_set(err, -ENOMEM, "out of memory") : 0;
	if (!rc && o->capture)
		rc = darshan_capture(rec, &g, o->capture, err);
	if (!rc)
		rc = finish(rec, &g, err);
	darshan_gather_done(&g);
	darshan_close(log);
	return rc;
}

static int add_log(struct imports *in, const char *path, const struct io_options *o, struct err *err)
{
	struct record *rec = calloc(1, sizeof *rec);
	if (!rec)
		return err_set(err, -ENOMEM, "out of memory");
	record_init(rec);
	int rc = read_log(rec, path, o, err);
	if (!rc)
		return made_take(in, rec, err);
	record_done(rec);
	free(rec);
	return rc;
}

int import_darshan(struct imports *ret, const char *const *paths, size_t n,
		   const struct io_options *options, struct err *err)
{
	*ret = (struct imports){ 0 };
	int rc = 0;
	if (options->capture && n != 1)
		return err_set(err, -EINVAL, "--capture is for one log, not for %zu", n);
	for (size_t i = 0; i < n && !rc; i++)
		rc = add_log(ret, paths[i], options, err);
	if (rc)
		imports_done(ret);
	return rc;
}
