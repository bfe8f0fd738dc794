/* An execution from its first folder to its last byte. */
#define _GNU_SOURCE
#include "run/execute.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/file.h"
#include "lib/num.h"
#include "run/calls.h"
#include "run/launch.h"
#include "run/ranges.h"
#include "run/unseen.h"
#include "schema/marklog.h"

#define FIRST_LOOK_NS INT64_C(20000000) /* the program has started its threads by then, mostly */
#define PROGRESS_NS INT64_C(1000000000)

struct paths {
	char folder[SCRATCH_PATH_BYTES], logs[SCRATCH_PATH_BYTES], output[SCRATCH_PATH_BYTES],
		work[SCRATCH_PATH_BYTES];
	const char *cwd; /* work, or the case's folder */
};

static int64_t monotonic_ns(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* ---- before ---- */

static int make_folders(const struct runner *r, const struct command *c, struct paths *p,
			struct err *err)
{
	p->cwd = c->cwd ? c->cwd : p->work;
	(void)snprintf(p->folder, sizeof p->folder, "%.480s/e", r->scratch.path);
	(void)snprintf(p->logs, sizeof p->logs, "%.480s/e/logs", r->scratch.path);
	(void)snprintf(p->output, sizeof p->output, "%.480s/e/run.log", r->scratch.path);
	(void)snprintf(p->work, sizeof p->work, "%.480s/e/work", r->scratch.path);
	if (mkdir(p->folder, 0700) || mkdir(p->logs, 0700) || (!c->cwd && mkdir(p->work, 0700)))
		return err_set(err, -errno, "make folder %s: %s", p->logs, strerror(errno));
	return marklog_losses_create(p->logs, err);
}

#define OWN_MAX (8 + COLLECTOR_VARIABLES_MAX + RANGES_VARIABLES + CALLS_VARIABLES)

/* The variables that are ours. HPCPERF_ROI_LOG is for programs that were built with that suite's
 * own header. */
static int own_variables(struct env_pair own[OWN_MAX], size_t *ret_n, const struct runner *r,
			 const struct execution_spec *spec, const struct paths *p, struct arena *a)
{
	size_t n = 0;
	const char *theirs = arena_printf(a, "%s/hpcperf", p->logs);
	if (!spec->range) /* its marks would be one more region */
		own[n++] = (struct env_pair){ "HPCPERF_ROI_LOG", theirs };
	own[n++] = (struct env_pair){ "ROIMETER_LOG", p->logs };
	own[n++] = (struct env_pair){ "ROIMETER_RUN", spec->run_id };
	own[n++] = (struct env_pair){ "ROIMETER_EXEC", spec->name };
	if (r->library)
		own[n++] = (struct env_pair){ "ROIMETER_LIBRARY", r->library };
	if (r->agent)
		own[n++] = (struct env_pair){ "ROIMETER_AGENT", r->agent };
	*ret_n = n;
	return theirs ? 0 : -ENOMEM;
}

/* Into a profiled execution, and no other, comes its collector; into all what makes marks of
 * ranges, where those are the region. */
static int guests_variables(struct env_pair *own, size_t *n, const struct runner *r,
			    const struct execution_spec *spec, struct arena *a)
{
	const struct command *c = spec->command;
	char **alone = NULL;
	size_t more = 0;
	if (!spec->collector && !spec->range)
		return 0;
	int rc = env_build(a, r->envp, &c->allow, c->set, c->n_set, NULL, 0, &alone, NULL);
	if (!rc && spec->collector)
		rc = collector_variables(spec->collector, a, alone, own + *n, &more);
	if (!rc && spec->range)
		rc = ranges_variables(spec->range, spec->range_library, a, alone, own + *n, &more);
	if (!rc && spec->calls)
		calls_variables(spec->calls, spec->calls_step, own + *n, &more);
	*n += more;
	return rc;
}

/* All ranks need ours, and what the case declares, on whatever node they are. */
static int carried(struct env_pair *ret, struct arena *a, const struct command *c,
		   const struct env_pair *own, size_t n_own)
{
	struct txts names = { .items = arena_array(a, n_own + c->n_set + 1, sizeof *names.items) };
	if (!names.items)
		return -ENOMEM;
	for (size_t i = 0; i < n_own; i++)
		names.items[names.n++] = own[i].name;
	for (size_t i = 0; i < c->n_set; i++)
		if (!env_denied(c->set[i].name))
			names.items[names.n++] = c->set[i].name;
	return launch_carry(ret, a, &c->launcher_argv, &names);
}

static int make_env(const struct runner *r, const struct execution_spec *spec,
		    const struct paths *p, struct arena *a, char ***ret, struct err *err)
{
	struct txts refused = { 0 };
	struct env_pair own[OWN_MAX];
	size_t n = 0;
	const struct command *c = spec->command;
	int rc = own_variables(own, &n, r, spec, p, a);
	if (!rc)
		rc = guests_variables(own, &n, r, spec, a);
	if (!rc)
		rc = carried(&own[n], a, c, own, n);
	if (!rc && own[n].name)
		n++;
	if (!rc)
		rc = env_build(a, r->envp, &c->allow, c->set, c->n_set, own, n, ret, &refused);
	return rc ? err_set(err, -ENOMEM, "out of memory") : 0;
}

static char **make_argv(const struct txts *argv, struct arena *a)
{
	char **ret = arena_array(a, argv->n + 1, sizeof *ret);
	for (size_t i = 0; ret && i < argv->n; i++) {
		ret[i] = arena_strdup(a, argv->items[i]);
		if (!ret[i])
			return NULL;
	}
	return ret;
}

static void stamp_utc(struct capture *c)
{
	struct timespec now;
	struct tm tm;
	char text[32];
	(void)clock_gettime(CLOCK_REALTIME, &now);
	(void)gmtime_r(&now.tv_sec, &tm);
	(void)strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm);
	c->row.utc = arena_strdup(&c->arena, text);
}

/* ---- meanwhile ---- */

bool runner_interrupted(struct runner *r)
{
	struct signalfd_siginfo info;
	while (r->signals >= 0 && read(r->signals, &info, sizeof info) == (ssize_t)sizeof info)
		r->interrupted = true;
	return r->interrupted;
}

static void wait_for(struct runner *r, struct tree *t, struct watch *w)
{
	int64_t start = monotonic_ns(), look = start + FIRST_LOOK_NS, tell = start + PROGRESS_NS;
	bool told = false;
	for (;;) {
		struct pollfd fds[2] = { { tree_fd(t), POLLIN, 0 },
					 { told ? -1 : r->signals, POLLIN, 0 } };
		int64_t now = monotonic_ns(), next = look;
		if (r->progress && tell < next)
			next = tell;
		int64_t left = next > now ? next - now : 0;
		struct timespec pause = { left / 1000000000, left % 1000000000 };
		if (ppoll(fds, 2, &pause, NULL) > 0 && fds[0].revents)
			return;
		if (!told && runner_interrupted(r)) {
			tree_interrupt(t);
			told = true;
		}
		now = monotonic_ns();
		if (now >= look)
			look = now + watch_sample(w, tree_root(t), tree_group(t));
		if (r->progress && now >= tell) {
			r->progress(r->progress_arg, (double)(now - start) / 1e9);
			tell = now + PROGRESS_NS;
		}
	}
}

/* ---- after ---- */

/* What execve's error means for a file that is there and may be executed. */
static const char *start_advice(const char *what, int error, const char *path)
{
	if (strcmp(what, "start") != 0)
		return "";
	if (error == ENOEXEC)
		return " (a script needs a first line such as #!/bin/sh; a binary must be of this "
		       "machine)";
	if (error == ENOENT && access(path, F_OK) == 0)
		return " (the interpreter or dynamic linker that it names is not there)";
	return "";
}

static void take_end(struct capture *c, const struct tree_end *end,
		     const struct execution_spec *spec)
{
	c->end = end->end;
	c->start_real_ns = end->start_real_ns;
	c->end_real_ns = end->end_real_ns;
	c->grouped = end->grouped;
	c->outlived = end->outlived;
	c->immortal = end->immortal;
	if (end->end == END_NOT_STARTED) {
		const char *path = spec->command->argv.items[0];
		c->row.why = arena_printf(&c->arena, "could not be started: %s %s: %s%s",
					  end->start_what, path, strerror(end->start_errno),
					  start_advice(end->start_what, end->start_errno, path));
		return;
	}
	c->row.process_wall_s = num15((double)(end->end_ns - end->start_ns) / 1e9);
	if (WIFEXITED(end->status))
		c->row.exit_code = WEXITSTATUS(end->status);
	else if (WIFSIGNALED(end->status))
		c->row.signal = WTERMSIG(end->status);
	if (end->keeper_lost)
		c->row.why = arena_strdup(
			&c->arena, "the process that watches the tree was killed, so the tree "
				   "was ended");
}

static bool is_good(const struct capture *c)
{
	return c->end == END_EXITED && c->row.exit_code == 0;
}

static void note_ranges(struct capture *c, const char *logs)
{
	const char *seen = ranges_seen(logs, &c->arena);
	const char *note = seen ? arena_printf(&c->arena, NOTE_RANGES "%s", seen) : NULL;
	if (note)
		(void)capture_note(c, note);
}

/* A fault in what was left is said in the record; the command itself has run. */
static void collect(struct capture *c, const struct execution_spec *spec, const struct paths *p,
		    const struct stamps *stamps)
{
	struct err why = { 0 };
	if (capture_logs(c, p->logs, &why))
		(void)capture_note(c, why.text);
	if (spec->range && !(c->log_bytes > 0))
		note_ranges(c, p->logs);
	if (c->end != END_NOT_STARTED && collector_has(spec->collector, "io"))
		(void)unseen_note(c, spec->command);
	if (c->end != END_NOT_STARTED && spec->calls)
		(void)calls_sum_up(&c->row.capture, &c->arena, spec->calls);
	why = (struct err){ 0 };
	if (c->end != END_NOT_STARTED && capture_output(c, p->output, &why))
		(void)capture_note(c, why.text);
	why = (struct err){ 0 };
	if (spec->timer_files && spec->timer_files->n &&
	    capture_files(c, p->cwd, spec->timer_files, stamps, &why))
		(void)capture_note(c, why.text);
	if (!is_good(c))
		c->row.output_tail = capture_tail(c);
}

/* From the first mark to the last, where all finished what they began; else nothing. */
static bool region_of(const struct capture *c, int64_t *ret_from_ns, int64_t *ret_to_ns)
{
	struct roi_logs logs = { 0 };
	bool whole = true;
	*ret_from_ns = *ret_to_ns = ROI_UNKNOWN;
	for (size_t i = 0; i < c->n_blobs; i++)
		if (c->blobs[i].kind == BLOB_LOG)
			(void)roilog_parse(&logs, c->blobs[i].name, c->blobs[i].data, c->blobs[i].n,
					   NULL);
	for (size_t i = 0; i < logs.n; i++) {
		int64_t from = logs.items[i]->first_begin_real, to = logs.items[i]->last_end_real;
		if (from == ROI_UNKNOWN)
			continue; /* it never entered */
		whole &= to != ROI_UNKNOWN;
		if (*ret_from_ns == ROI_UNKNOWN || from < *ret_from_ns)
			*ret_from_ns = from;
		if (*ret_to_ns == ROI_UNKNOWN || to > *ret_to_ns)
			*ret_to_ns = to;
	}
	roilogs_done(&logs);
	return whole && *ret_from_ns != ROI_UNKNOWN;
}

/* What the accelerators did inside the region, or, where there is none, meanwhile. */
static int take_devices(struct runner *r, struct capture *c)
{
	int64_t from = c->start_real_ns, to = c->end_real_ns, begin, end;
	if (!r->sampler)
		return 0;
	bool region = region_of(c, &begin, &end);
	if (region) {
		from = begin;
		to = end;
	}
	return sampler_take(r->sampler, from, to, region ? "region" : "execution", &c->arena,
			    &c->row);
}

/* Logs and output are copied for whoever asked; a failure is said and nothing more. */
static void keep_copies(const struct runner *r, const struct capture *c,
			const struct execution_spec *spec)
{
	struct err err = { 0 };
	char folder[PATH_MAX], path[PATH_MAX];
	const struct suite_case *s = spec->command->c;
	int n = snprintf(folder, sizeof folder, "%s/%s/%s/%s/%s", r->keep_logs, s->app, s->name,
			 spec->run_id, spec->name);
	int rc = n < 0 || (size_t)n >= sizeof folder ? -ENAMETOOLONG : file_mkdirs(folder, &err);
	for (size_t i = 0; !rc && i < c->n_blobs; i++) {
		const char *slash = strrchr(c->blobs[i].name, '/');
		n = snprintf(path, sizeof path, "%s/%s", folder,
			     slash ? slash + 1 : c->blobs[i].name);
		if (n > 0 && (size_t)n < sizeof path)
			rc = file_write(path, c->blobs[i].data, c->blobs[i].n, &err);
	}
	if (rc)
		(void)fprintf(stderr, "warn  --keep-logs %s: %s; the measurement goes on\n",
			      r->keep_logs, err.text[0] ? err.text : strerror(-rc));
}

static int start(struct runner *r, const struct execution_spec *spec, const struct paths *p,
		 struct capture *c, struct tree **ret, struct err *err)
{
	char **envp = NULL;
	int rc = make_env(r, spec, p, &c->arena, &envp, err);
	char **argv = make_argv(&spec->command->argv, &c->arena);
	if (rc || !argv)
		return rc ? rc : err_set(err, -ENOMEM, "out of memory");
	struct tree_spec tree = {
		.path = spec->command->path,
		.argv = argv,
		.envp = envp,
		.cwd = p->cwd,
		.output = p->output,
		.timeout_s = spec->timeout_s,
		.grace_s = r->grace_s,
		.cgroup = r->cgroup,
	};
	return tree_start(ret, &tree, err);
}

int execute(struct runner *r, const struct execution_spec *spec, struct capture *ret,
	    struct err *err)
{
	struct paths p;
	struct stamps stamps = { 0 };
	struct tree *tree = NULL;
	struct tree_end end;
	struct watch watch;
	capture_init(ret);
	ret->row.name = arena_strdup(&ret->arena, spec->name);
	ret->row.order = spec->order;
	stamp_utc(ret);
	struct err why = { 0 };
	int rc = make_folders(r, spec->command, &p, &why);
	if (rc) { /* a full disk: nothing can be measured, and the record says so */
		ret->end = END_NOT_STARTED;
		ret->row.why = arena_strdup(&ret->arena, why.text);
		rc = 0;
		goto out;
	}
	if (spec->timer_files)
		rc = stamps_take(&stamps, &ret->arena, p.cwd, spec->timer_files);
	if (rc)
		goto out;
	double others = peers_count(&r->peers), cpu_s, wakeups, cpu_before_s, wakeups_before;
	sampler_cost(r->sampler, &cpu_before_s, &wakeups_before);
	watch_begin(&watch, "/proc", "/sys", &ret->arena);
	rc = start(r, spec, &p, ret, &tree, err);
	if (!rc) {
		sampler_begin(r->sampler, tree_root(tree), spec->run_id);
		wait_for(r, tree, &watch);
		tree_finish(tree, &end);
		sampler_end(r->sampler);
		sampler_cost(r->sampler, &cpu_s, &wakeups);
		watch_end(&watch, &end, cpu_s - cpu_before_s, wakeups - wakeups_before, &ret->row,
			  &ret->state);
		ret->others_running = fmax(others, peers_count(&r->peers));
		ret->seen = watch.seen;
		ret->n_seen = watch.n_seen;
		take_end(ret, &end, spec);
		collect(ret, spec, &p, &stamps);
		rc = take_devices(r, ret);
		if (r->keep_logs)
			keep_copies(r, ret, spec);
	}
	watch_done(&watch);
out:
	(void)file_remove_tree(p.folder, NULL);
	return rc;
}
