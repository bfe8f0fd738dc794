/* roimeter log: what stands in region logs, ours and the published suite's, and what it adds up to.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cmd.h"
#include "cli/words.h"
#include "core/roi.h"
#include "lib/arena.h"
#include "lib/buf.h"
#include "lib/num.h"
#include "lib/opt.h"
#include "schema/codec.h"
#include "schema/marklog.h"
#include "schema/roilog.h"

#define COMMAND "roimeter log"

struct printed {
	struct roi_logs logs;
	struct roi_process *processes; /* one for each log */
	struct roi_job job;
	bool has_job; /* the logs are of one execution, and somebody entered */
};

static const char *known_rank(const struct roi_log *log)
{
	return log->rank && strcmp(log->rank, "-") != 0 ? log->rank : NULL;
}

/* ---- JSON ---------------------------------------------------------------------------------------
 */

static json_t *text_or_null(const char *text)
{
	return text ? json_string(text) : json_null();
}

static json_t *count(uint64_t n)
{
	return json_integer((json_int_t)n);
}

static json_t *time_or_null(int64_t ns)
{
	return ns == ROI_UNKNOWN ? json_null() : json_integer(ns);
}

static json_t *real_or_null(double x)
{
	return known(x) ? json_real(num15(x)) : json_null();
}

static void set(json_t *object, const char *key, json_t *value)
{
	(void)json_object_set_new(object, key, value); /* out of memory shows as a missing key */
}

static json_t *argv_json(const struct roi_log *log)
{
	if (!log->argv.items)
		return json_null();
	json_t *list = json_array();
	for (size_t i = 0; i < log->argv.n; i++)
		(void)json_array_append_new(list, json_string(log->argv.items[i]));
	return list;
}

static json_t *phases_json(const struct roi_log *log)
{
	if (!log->has_steps && !log->n_phases)
		return json_null();
	json_t *list = json_array();
	for (size_t i = 0; i < log->n_phases; i++) {
		const struct roi_phase *p = &log->phases[i];
		json_t *o = json_object();
		set(o, "name", json_string(p->name));
		set(o, "count", count(p->count));
		set(o, "total_ns", count(p->total_ns));
		set(o, "min_ns", p->count ? count(p->min_ns) : json_null());
		set(o, "max_ns", p->count ? count(p->max_ns) : json_null());
		(void)json_array_append_new(list, o);
	}
	return list;
}

static void set_steps(json_t *o, const struct roi_log *log)
{
	bool some = log->has_steps && log->steps;
	set(o, "step_mean_ns",
	    some ? real_or_null((double)log->step_sum_ns / (double)log->steps) : json_null());
	set(o, "step_min_ns", some ? count(log->step_min_ns) : json_null());
	set(o, "step_max_ns", some ? count(log->step_max_ns) : json_null());
}

static json_t *process_json(const struct roi_log *log, const struct roi_process *p)
{
	json_t *o = json_object();
	set(o, "pid", text_or_null(log->pid));
	set(o, "rank", text_or_null(known_rank(log)));
	set(o, "host", text_or_null(log->host));
	set(o, "exe", text_or_null(log->exe));
	set(o, "cwd", text_or_null(log->cwd));
	set(o, "argv", argv_json(log));
	set(o, "entries", count(p->entries));
	set(o, "gross_ns", count(p->gross_ns));
	set(o, "excluded_ns", count(p->excluded_ns));
	set(o, "excludes", count(p->excludes));
	set(o, "wall_ns", count(p->wall_ns));
	set(o, "first_begin_real", time_or_null(p->first_begin_real));
	set(o, "last_end_real", time_or_null(p->last_end_real));
	set(o, "unterminated", json_boolean(p->unterminated));
	set(o, "overflow", count(p->overflow));
	set(o, "unmatched_end", count(p->unmatched_end));
	set(o, "steps", log->has_steps ? count(log->steps) : json_null());
	set(o, "phases", phases_json(log));

	set(o, "file", json_string(log->file));
	set(o, "format", text_or_null(log->format));
	set(o, "clock", text_or_null(log->clock));
	set(o, "threads", count(log->threads));
	set(o, "finished", count(p->finished));
	set(o, "folded", count(p->folded));
	set(o, "lost_ends", count(p->lost_ends));
	set(o, "approximate", json_boolean(p->approximate));
	set(o, "damage", text_or_null(log->damage));
	set(o, "overflow_cause", text_or_null(log->overflow_cause));
	set(o, "argv_cut", json_boolean(log->argv_cut));
	set(o, "entry_min_ns", p->finished ? count(p->entry_min_ns) : json_null());
	set(o, "entry_max_ns", p->finished ? count(p->entry_max_ns) : json_null());
	set_steps(o, log);
	bool ours = log->stream; /* foreign logs do not tell these */
	set(o, "unmatched_exclude", ours ? count(log->unmatched_exclude) : json_null());
	set(o, "unmatched_phase", ours ? count(log->unmatched_phase) : json_null());
	set(o, "unmatched_step", ours ? count(log->unmatched_step) : json_null());
	set(o, "syncs", ours ? count(log->syncs) : json_null());
	set(o, "syncs_missing", ours ? count(log->syncs_missing) : json_null());
	set(o, "syncs_failed", ours ? count(log->syncs_failed) : json_null());
	set(o, "marks", count(log->marks));
	set(o, "mark_cost_ns", real_or_null(log->mark_cost_ns));
	set(o, "clock_error_ns", real_or_null(log->clock_error_ns));
	set(o, "stream", text_or_null(log->stream));
	set(o, "parent", text_or_null(log->parent));
	set(o, "cpus", text_or_null(log->cpus));
	set(o, "run", text_or_null(log->run));
	set(o, "exec", text_or_null(log->exec));
	set(o, "job", text_or_null(log->job));
	set(o, "group", text_or_null(log->group));
	set(o, "world", text_or_null(log->world));
	return o;
}

static json_t *job_json(const struct printed *p)
{
	if (!p->has_job)
		return json_null();
	const struct roi_job *job = &p->job;
	json_t *o = json_object();
	set(o, "processes", count(job->processes));
	set(o, "unfinished", count(job->unfinished));
	set(o, "entries", count(job->entries));
	set(o, "wall_ns", count(job->wall_ns));
	set(o, "excluded_ns", count(job->excluded_ns));
	set(o, "excludes", count(job->excludes));
	set(o, "imbalance_ns", count(job->imbalance_ns));
	set(o, "first_begin_real", time_or_null(job->first_begin_real));
	set(o, "last_end_real", time_or_null(job->last_end_real));
	set(o, "unterminated", json_boolean(job->unterminated));
	set(o, "overflow", count(job->overflow));
	set(o, "unmatched_end", count(job->unmatched_end));
	set(o, "lost_ends", count(job->lost_ends));
	set(o, "folded", count(job->folded));
	set(o, "approximate", json_boolean(job->approximate));
	return o;
}

static int print_json(const struct printed *p)
{
	struct buf b = { 0 };
	json_t *all = json_object(), *list = json_array();
	for (size_t i = 0; i < p->logs.n; i++)
		(void)json_array_append_new(list, process_json(p->logs.items[i], &p->processes[i]));
	set(all, "processes", list);
	set(all, "job", job_json(p));
	int rc = json_text(&b, all);
	if (!rc)
		(void)puts(b.data);
	json_decref(all);
	buf_done(&b);
	return rc;
}

/* ---- CSV ----------------------------------------------------------------------------------------
 */

static void csv_text(const char *text)
{
	if (!text)
		return;
	if (!strpbrk(text, ",\"\r\n")) {
		(void)fputs(text, stdout);
		return;
	}
	(void)putchar('"');
	for (; *text; text++) {
		if (*text == '"')
			(void)putchar('"');
		(void)putchar(*text);
	}
	(void)putchar('"');
}

static void csv_time(int64_t ns)
{
	if (ns != ROI_UNKNOWN)
		(void)printf("%" PRId64, ns);
}

static int print_csv(const struct printed *printed)
{
	(void)puts("pid,rank,host,exe,entries,finished,gross_ns,excluded_ns,excludes,wall_ns,first_"
		   "begin_real,"
		   "last_end_real,unterminated,overflow,unmatched_end,lost_ends,folded,steps,"
		   "threads,format,file");
	for (size_t i = 0; i < printed->logs.n; i++) {
		const struct roi_log *log = printed->logs.items[i];
		const struct roi_process *p = &printed->processes[i];
		const char *texts[] = { log->pid, known_rank(log), log->host, log->exe };
		for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
			csv_text(texts[k]);
			(void)putchar(',');
		}
		(void)printf("%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
			     ",",
			     p->entries, p->finished, p->gross_ns, p->excluded_ns, p->excludes,
			     p->wall_ns);
		csv_time(p->first_begin_real);
		(void)putchar(',');
		csv_time(p->last_end_real);
		(void)printf(",%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",",
			     p->unterminated ? "true" : "false", p->overflow, p->unmatched_end,
			     p->lost_ends, p->folded);
		if (log->has_steps)
			(void)printf("%" PRIu64, log->steps);
		(void)printf(",%" PRIu32 ",", log->threads);
		csv_text(log->format);
		(void)putchar(',');
		csv_text(log->file);
		(void)putchar('\n');
	}
	return 0;
}

/* ---- text ---------------------------------------------------------------------------------------
 */

static const char *duration(char text[32], uint64_t ns)
{
	return num_duration(text, (double)ns / 1e9);
}

/* Logs come from programs: nothing of theirs may move a cursor. Without a text nothing. */
static void put_plain(const char *before, const char *text)
{
	struct buf b = { 0 };
	if (!text)
		return;
	words_plain(&b, text, strlen(text));
	(void)printf("%s%s", before, b.data ? b.data : "");
	buf_done(&b);
}

static void print_warnings(const struct roi_log *log, const struct roi_process *p)
{
	if (p->unterminated)
		(void)puts("  the last entry never ended: the process ended inside its region");
	if (p->lost_ends)
		(void)printf("  %" PRIu64 " END lost: such an entry is neither counted nor timed\n",
			     p->lost_ends);
	if (p->overflow) {
		(void)printf("  %" PRIu64 " entries lost", p->overflow);
		put_plain(": ", log->overflow_cause);
		(void)puts("");
	}
	if (p->unmatched_end)
		(void)printf("  END was called %" PRIu64 " times without a BEGIN\n",
			     p->unmatched_end);
	if (p->folded)
		(void)printf("  %" PRIu64 " entries are kept as sums only%s\n", p->folded,
			     p->approximate
				     ? "; threads may overlap, so the net time is a lower bound"
				     : "");
	if (log->damage) {
		put_plain("  damaged: ", log->damage);
		(void)puts("");
	}
}

static void print_process(const struct roi_log *log, const struct roi_process *p)
{
	char net[32], gross[32], excluded[32], low[32], high[32];
	put_plain("process ", log->pid ? log->pid : "?");
	put_plain("  rank ", known_rank(log));
	put_plain("  on ", log->host);
	put_plain("  ", log->exe);
	(void)puts("");
	if (p->finished == p->entries)
		(void)printf("  region   %s net in %" PRIu64, duration(net, p->wall_ns),
			     p->entries);
	else if (p->finished)
		(void)printf("  region   %s net in %" PRIu64 " of %" PRIu64,
			     duration(net, p->wall_ns), p->finished, p->entries);
	else
		(void)printf("  region   nothing finished of %" PRIu64, p->entries);
	(void)printf(" entr%s", p->entries == 1 ? "y" : "ies");
	if (p->excludes)
		(void)printf(" (%s gross, %s excluded in %" PRIu64 " part%s)",
			     duration(gross, p->gross_ns), duration(excluded, p->excluded_ns),
			     p->excludes, p->excludes == 1 ? "" : "s");
	(void)printf("\n");
	if (p->finished > 1)
		(void)printf("  entry    %s to %s\n", duration(low, p->entry_min_ns),
			     duration(high, p->entry_max_ns));
	if (log->has_steps && log->steps)
		(void)printf("  steps    %" PRIu64 ", %s to %s, mean %s\n", log->steps,
			     duration(low, log->step_min_ns), duration(high, log->step_max_ns),
			     duration(net, log->step_sum_ns / log->steps));
	for (size_t i = 0; i < log->n_phases; i++) {
		put_plain("  phase    ", log->phases[i].name);
		(void)printf(": %s in %" PRIu64 "\n", duration(net, log->phases[i].total_ns),
			     log->phases[i].count);
	}
	print_warnings(log, p);
}

static int print_text(const struct printed *p)
{
	char net[32], imbalance[32];
	for (size_t i = 0; i < p->logs.n; i++)
		print_process(p->logs.items[i], &p->processes[i]);
	if (!p->has_job || p->logs.n < 2)
		return 0;
	(void)printf("job: %s, the slowest of %" PRIu64 " processes; imbalance %s",
		     duration(net, p->job.wall_ns), p->job.processes,
		     duration(imbalance, p->job.imbalance_ns));
	if (p->job.unfinished)
		(void)printf("; %" PRIu64 " did not finish", p->job.unfinished);
	(void)putchar('\n');
	return 0;
}

/* ---- the command
 * --------------------------------------------------------------------------------- */

/* Logs of several executions side by side are no job. */
static bool one_execution(const struct roi_logs *logs)
{
	for (size_t i = 1; i < logs->n; i++) {
		const struct roi_log *a = logs->items[0], *b = logs->items[i];
		if (strcmp(a->exec ? a->exec : "", b->exec ? b->exec : "") != 0 ||
		    strcmp(a->run ? a->run : "", b->run ? b->run : "") != 0)
			return false;
	}
	return true;
}

static int add_up(struct printed *p)
{
	p->processes = calloc(p->logs.n + 1, sizeof *p->processes);
	if (!p->processes)
		return -ENOMEM;
	for (size_t i = 0; i < p->logs.n; i++)
		roi_process_sum(p->logs.items[i], &p->processes[i]);
	p->has_job = one_execution(&p->logs) && roi_job_sum(p->processes, p->logs.n, &p->job) == 0;
	return 0;
}

/* What processes say in a folder that could not keep their marks. How many there were. */
static size_t say_losses(const char *path)
{
	struct arena arena = { 0 };
	struct txts losses = { 0 };
	struct err err = { "" };
	struct stat st;
	if (strcmp(path, "-") == 0 || stat(path, &st) || !S_ISDIR(st.st_mode))
		return 0;
	if (marklog_losses_read(path, &arena, &losses, &err))
		(void)opt_fail(COMMAND, -EIO, &err);
	for (size_t i = 0; i < losses.n; i++)
		(void)fprintf(stderr, COMMAND ": %s: %s\n", path, losses.items[i]);
	size_t n = losses.n + (err.text[0] != 0);
	arena_free(&arena);
	return n;
}

/* A bad file is said, and the others are read all the same. */
static int read_all(struct printed *p, char **files, int n)
{
	int code = EXIT_GOOD;
	for (int i = 0; i < n; i++) {
		struct err err = { "" };
		size_t before = p->logs.n;
		int rc = roilog_read(&p->logs, files[i], &err);
		if (say_losses(files[i]))
			code = EXIT_WRONG;
		if (!rc && p->logs.n == before)
			rc = err_set(&err, -ENOENT, "%s: there is no region log in this folder",
				     files[i]);
		if (rc) {
			(void)opt_fail(COMMAND, rc, &err);
			code = EXIT_WRONG;
		}
	}
	return code;
}

int cmd_log(int argc, char **argv)
{
	const char *format = "text";
	const struct opt opts[] = {
		{ "format", OPT_TEXT, &format, "FORMAT", "text, json or csv" },
	};
	const struct opt_table table = {
		.command = COMMAND,
		.synopsis = "[--format text|json|csv] FILE...",
		.about = "Prints region logs: those of roimeter's markers and hpcperf-roi-log 2. "
			 "FILE may be a folder,\n"
			 "of which every log is read, or - for standard input. Times are "
			 "nanoseconds in JSON and CSV.",
		.opts = opts,
		.n = sizeof opts / sizeof *opts,
		.epilog = "Exit code 2 when a file is not a log or damaged beyond use, or a "
			  "process could "
			  "not keep\nits marks; the others are printed.",
	};
	struct err err = { "" };
	struct printed p = { 0 };
	int first, rc = opt_parse(&table, argc, argv, &first, &err);
	if (rc > 0)
		return EXIT_GOOD;
	int (*print)(const struct printed *) = strcmp(format, "text") == 0   ? print_text
					       : strcmp(format, "json") == 0 ? print_json
					       : strcmp(format, "csv") == 0  ? print_csv
									     : NULL;
	if (!rc && !print)
		rc = err_set(&err, -EINVAL, "--format %s: expected text, json or csv", format);
	if (!rc && first == argc)
		rc = err_set(&err, -EINVAL, "no FILE given; see " COMMAND " --help");
	if (rc)
		return opt_fail(COMMAND, rc, &err);
	int code = read_all(&p, argv + first, argc - first);
	rc = add_up(&p);
	if (!rc)
		rc = print(&p);
	free(p.processes);
	roilogs_done(&p.logs);
	if (rc)
		return opt_fail(COMMAND, rc, err.text[0] ? &err : &(struct err){ "out of memory" });
	return code;
}
