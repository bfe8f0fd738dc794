/* A probe measured by roimeter run, as a user would, and what the probe says of itself. */
#define _GNU_SOURCE
#include "cli/conformance_run.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/file.h"
#include "schema/codec.h"

#define APP "conformance"
#define CANNOT 4 /* exit code of a probe that has no such device, or can't do that */

/* ---- the lab ---- */

/* Beside this program's build folder, or where it was installed. */
static int find_probe(struct conformance_lab *lab, struct err *err)
{
	static const char *const beside[] = { "examples/probes", "../libexec/roimeter",
					      "../lib/roimeter" };
	static const char *const probes[][2] = { { "none", "probe_host" },
						 { "cupti", "probe_cuda" },
						 { "opencl", "probe_opencl" },
						 { "io", "probe_io" } };
	const char *name = NULL;
	for (size_t i = 0; i < sizeof probes / sizeof *probes; i++)
		if (strcmp(lab->collector, probes[i][0]) == 0)
			name = probes[i][1];
	ssize_t n = readlink("/proc/self/exe", lab->self, sizeof lab->self - 1);
	if (n <= 0)
		return err_set(err, -errno, "/proc/self/exe: %s", strerror(errno));
	lab->self[n] = 0;
	if (!name && !lab->probe)
		return err_set(
			err, -EINVAL,
			"--collector \"%s\": there is no probe for it as there is for none, cupti, "
			"opencl, io; name one with --probe FILE",
			lab->collector);
	int folder = (int)(strrchr(lab->self, '/') - lab->self);
	for (size_t i = 0; !lab->probe && i < sizeof beside / sizeof *beside; i++) {
		const char *path =
			arena_printf(&lab->arena, "%.*s/%s/%s", folder, lab->self, beside[i], name);
		if (path && access(path, X_OK) == 0)
			lab->probe = path;
	}
	if (!lab->probe)
		return err_set(err, -ENOENT,
			       "%s is neither in the build folder (examples/probes) nor installed "
			       "(libexec/roimeter): build it, or name it with --probe FILE",
			       name);
	if (access(lab->probe, X_OK) != 0)
		return err_set(err, -errno, "--probe %s: %s", lab->probe, strerror(errno));
	return 0;
}

/* SIGCHLD is waited for together with what ends this; nohup's ignored SIGHUP stays ignored. */
static void take_signals(struct conformance_lab *lab)
{
	struct sigaction hup;
	sigset_t blocked;
	(void)sigemptyset(&lab->ends);
	(void)sigaddset(&lab->ends, SIGINT);
	(void)sigaddset(&lab->ends, SIGTERM);
	if (sigaction(SIGHUP, NULL, &hup) == 0 && hup.sa_handler != SIG_IGN)
		(void)sigaddset(&lab->ends, SIGHUP);
	blocked = lab->ends;
	(void)sigaddset(&blocked, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, &blocked, &lab->before);
}

static int make_folder(struct conformance_lab *lab, struct err *err)
{
	const char *base = getenv("TMPDIR");
	struct err why = { .text = "" };
	bool told = base && base[0] == '/';
	int rc = scratch_open(&lab->scratch, told ? base : NULL, &why);
	if (rc && told)
		return err_set(err, rc, "TMPDIR=%s: a folder can't be made there: %s", base,
			       strerror(-rc));
	return rc ? err_set(err, rc, "%s", why.text) : 0;
}

int conformance_open(struct conformance_lab *lab, struct err *err)
{
	unsigned char dice[16];
	take_signals(lab);
	int rc = find_probe(lab, err);
	if (!rc)
		rc = make_folder(lab, err);
	if (rc)
		return rc;
	if (getrandom(dice, sizeof dice, 0) != (ssize_t)sizeof dice)
		return err_set(err, -EIO, "getrandom: %s", strerror(errno));
	for (size_t i = 0; i < sizeof dice; i++)
		(void)snprintf(lab->sentinel + 2 * i, 3, "%02x", dice[i]);
	return 0;
}

void conformance_leave(struct conformance_lab *lab)
{
	bool taken = lab->scratch.path[0] != 0;
	scratch_close(&lab->scratch);
	if (taken)
		(void)sigprocmask(SIG_SETMASK, &lab->before, NULL);
}

void conformance_close(struct conformance_lab *lab)
{
	scratch_close(&lab->scratch);
	arena_free(&lab->arena);
}

static int interrupted(struct err *err)
{
	return err_set(err, -EINTR, "interrupted; nothing was stored");
}

int conformance_interrupted(struct conformance_lab *lab, struct err *err)
{
	static const struct timespec now = { 0 };
	return sigtimedwait(&lab->ends, NULL, &now) > 0 ? interrupted(err) : 0;
}

/* ---- one run ---- */

struct words {
	const char *items[32 + CONFORMANCE_ARGS + CONFORMANCE_WORDS];
	size_t n;
};

static void put(struct words *w, const char *word)
{
	if (w->n + 1 < sizeof w->items / sizeof *w->items) /* the last one stays NULL */
		w->items[w->n++] = word;
}

static int make_words(struct words *w, struct conformance_lab *lab,
		      const struct conformance_order *o, struct err *err)
{
	struct arena *a = &lab->arena;
	const char *own[] = {
		lab->self,     "run",
		"--app",       APP,
		"--case",      o->name,
		"--warmup",    arena_printf(a, "%ld", o->warmups),
		"--clean",     arena_printf(a, "%ld", o->cleans),
		"--timeout",   arena_printf(a, "%.15g", lab->timeout_s),
		"--format",    "json",
		"--db",        arena_printf(a, "%s/runs.db", lab->scratch.path),
		"--keep-logs", arena_printf(a, "%s/kept", lab->scratch.path),
	};
	bool none = strcmp(lab->collector, "none") == 0;
	for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
		if (!own[i])
			return err_set(err, -ENOMEM, "out of memory");
		put(w, own[i]);
	}
	if (lab->config) {
		put(w, "--config");
		put(w, lab->config);
	}
	put(w, none ? "--no-profile" : "--collect"); /* whatever the configuration collects */
	if (!none)
		put(w, lab->collector);
	put(w, "--");
	put(w, lab->probe);
	for (size_t i = 0; i < CONFORMANCE_ARGS && o->args[i]; i++)
		put(w, o->args[i]);
	if (strcmp(lab->collector, "io") == 0) { /* who is killed leaves its files */
		put(w, "--folder");
		put(w, lab->scratch.path);
	}
	for (size_t i = 0; i < lab->words.n; i++)
		put(w, lab->words.items[i]);
	return 0;
}

/* In the child. The sentinel has a name as anybody's, one that looks like a credential, and one
 * that the tool keeps for itself: all have the same value. The run's journal goes into the lab,
 * too. */
static void become(const struct conformance_lab *lab, const struct words *w, int out, pid_t parent)
{
	const char *const sentinels[] = { "CONFORMANCE_SENTINEL", "CONFORMANCE_SENTINEL_TOKEN",
					  "ROIMETER_CONFORMANCE_SENTINEL" };
	char state[SCRATCH_PATH_BYTES + 16];
	(void)snprintf(state, sizeof state, "%s/state", lab->scratch.path);
	/* Killed as we may be, what was started must not go on. */
	bool good = prctl(PR_SET_PDEATHSIG, SIGTERM) == 0 && getppid() == parent &&
		    sigprocmask(SIG_SETMASK, &lab->before, NULL) == 0 &&
		    setenv("XDG_STATE_HOME", state, 1) == 0;
	for (size_t i = 0; good && i < sizeof sentinels / sizeof *sentinels; i++)
		good = setenv(sentinels[i], lab->sentinel, 1) == 0;
	if (good && dup2(out, STDOUT_FILENO) >= 0)
		(void)execv(lab->self, (char **)w->items);
	_exit(127);
}

/* What ends us ends it first, in its own way: it takes its tree with it. */
static int wait_for(struct conformance_lab *lab, pid_t pid, int *ret_status, struct err *err)
{
	bool told = false;
	sigset_t all = lab->ends;
	(void)sigaddset(&all, SIGCHLD);
	for (;;) {
		pid_t ended = waitpid(pid, ret_status, WNOHANG);
		if (ended < 0 && errno != EINTR)
			return err_set(err, -errno, "waitpid: %s", strerror(errno));
		if (ended == pid)
			return told ? interrupted(err) : 0;
		int sig = sigwaitinfo(&all, NULL);
		if (sig > 0 && sig != SIGCHLD) {
			told = true;
			(void)kill(pid, sig);
		}
	}
}

static int start(struct conformance_lab *lab, const struct conformance_order *o, int out,
		 struct err *err)
{
	struct words w = { .n = 0 };
	int status = 0, rc = make_words(&w, lab, o, err);
	if (rc)
		return rc;
	pid_t parent = getpid(), pid = fork();
	if (pid < 0)
		return err_set(err, -errno, "fork: %s", strerror(errno));
	if (pid == 0)
		become(lab, &w, out, parent);
	rc = wait_for(lab, pid, &status, err);
	/* 1: measured, and the status is not ok: the checks tell */
	if (!rc && (!WIFEXITED(status) || WEXITSTATUS(status) > 1))
		return err_set(err, -EINVAL, "the probe could not be measured (%s); see above",
			       o->name);
	return rc;
}

/* ---- what came back ---- */

static int take_record(struct record *rec, const struct buf *text, struct err *err)
{
	json_t *all = NULL;
	int rc = json_parse(&all, text->data, text->len, "roimeter run", err);
	json_t *one = json_array_get(json_object_get(all, "records"), 0);
	if (!rc && !one)
		rc = err_set(err, -EINVAL, "roimeter run printed no record");
	if (!rc)
		rc = record_from_json(rec, one, err);
	json_decref(all);
	return rc;
}

static double count_of(const json_t *of, const char *name)
{
	const json_t *x = json_object_get(of, name);
	return json_is_integer(x) ? (double)json_integer_value(x) : NAN;
}

static void add(double *all, double one, bool first)
{
	*all = first ? one : *all + one;
}

static void same_in_all(double *all, double one, bool first)
{
	*all = first || *all == one ? one : NAN;
}

static const char *text_of(struct arena *a, const json_t *of, const char *name)
{
	const char *text = json_string_value(json_object_get(of, name));
	return text ? arena_strdup(a, text) : "";
}

/* What it did to its files; a probe that does nothing to any says nothing. */
static int add_files(struct conform_want *w, struct arena *a, const json_t *io, bool first)
{
	const json_t *inside = json_object_get(io, "inside"), *whole = json_object_get(io, "whole"),
		     *files = json_object_get(io, "files"), *file;
	size_t i, n = json_array_size(files);
	for (i = 0; i < CONFORM_SUMS; i++) {
		add(&w->files_inside[i], count_of(inside, conform_sums[i]), first);
		add(&w->files_whole[i], count_of(whole, conform_sums[i]), first);
	}
	struct conform_file_want *all = arena_array(a, w->n_files + n, sizeof *all);
	if (!all)
		return -ENOMEM;
	if (w->n_files)
		memcpy(all, w->files, w->n_files * sizeof *all);
	w->files = all;
	json_array_foreach(files, i, file)
	{
		struct conform_file_want *f = &all[w->n_files++];
		f->name = text_of(a, file, "name");
		f->interface = text_of(a, file, "interface");
		if (!f->name || !f->interface)
			return -ENOMEM;
		for (size_t k = 0; k < CONFORM_ACCESSES; k++) {
			f->inside[k] = count_of(json_object_get(file, "inside"), conform_sums[k]);
			f->whole[k] = count_of(json_object_get(file, "whole"), conform_sums[k]);
		}
	}
	return 0;
}

/* One process more. */
static int add_want(struct conform_want *w, struct arena *a, const json_t *probe, size_t nth)
{
	json_t *want = json_object_get(probe, "expected");
	json_t *inside = json_object_get(want, "inside"), *whole = json_object_get(want, "whole");
	bool first = nth == 0;
	for (size_t i = 0; i < CONFORM_CATEGORIES; i++) {
		add(&w->inside[i], count_of(inside, conform_categories[i]), first);
		add(&w->whole[i], count_of(whole, conform_categories[i]), first);
	}
	add(&w->graphs, count_of(want, "graphs"), first);
	same_in_all(&w->entries, count_of(want, "entries"), first);
	same_in_all(&w->excludes, count_of(want, "excludes"), first);
	same_in_all(&w->steps, count_of(want, "steps"), first);
	same_in_all(&w->processes, count_of(probe, "processes"), first);
	return add_files(w, a, json_object_get(probe, "io"), first);
}

/* The lines that the probe's processes printed. If one of them said nothing, nothing is known. */
static int take_want(struct conform_want *w, struct arena *a, const struct buf *log)
{
	static const char begin[] = "{\"probe\":";
	const char *at = log->len ? log->data : "", *end = at + log->len;
	size_t n = 0;
	int rc = 0;
	while (!rc && (at = memmem(at, (size_t)(end - at), begin, sizeof begin - 1))) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		json_t *probe = NULL;
		stop = stop ? stop : end;
		if (json_parse(&probe, at, (size_t)(stop - at), "probe", NULL) == 0)
			rc = add_want(w, a, probe, n++);
		json_decref(probe);
		at = stop;
	}
	if ((double)n != w->processes)
		conform_want_clear(w);
	return rc;
}

/* A probe that can't do what was asked of it says so: its last line, without its name. */
static const char *take_cannot(struct conformance_lab *lab, const struct record_body *r)
{
	const struct execution *e = r->executions.n ? &r->executions.items[0] : NULL;
	if (!e || !(e->exit_code == CANNOT))
		return NULL;
	const char *text = e->output_tail ? e->output_tail : "";
	size_t n = strlen(text);
	while (n && text[n - 1] == '\n')
		n--;
	const char *line = n ? memrchr(text, '\n', n) : NULL;
	line = line ? line + 1 : text;
	const char *colon = memmem(line, (size_t)(text + n - line), ": ", 2);
	line = colon ? colon + 2 : line;
	return line < text + n ? arena_strndup(&lab->arena, line, (size_t)(text + n - line))
			       : "the probe can't do that here";
}

static int take(struct conformance_lab *lab, const struct conformance_order *o,
		struct conformance_measured *ret, struct err *err)
{
	const struct record_body *r = &ret->rec.body;
	const struct conform_seen seen = { .record = r, .collector = lab->collector };
	const struct execution *e = conform_execution(&seen);
	struct buf log = { 0 };
	char path[sizeof ret->folder + 16];
	if (lab->n_runs < sizeof lab->runs / sizeof *lab->runs)
		lab->runs[lab->n_runs++] = arena_strdup(&lab->arena, r->run_id);
	ret->cannot = take_cannot(lab, r);
	if (!e || ret->cannot)
		return 0;
	(void)snprintf(ret->folder, sizeof ret->folder, "%s/kept/" APP "/%s/%s/%s",
		       lab->scratch.path, o->name, r->run_id, e->name);
	(void)snprintf(path, sizeof path, "%s/run.log", ret->folder);
	int rc = file_read(&log, path, err);
	if (!rc && take_want(&ret->want, &lab->arena, &log))
		rc = err_set(err, -ENOMEM, "out of memory");
	buf_done(&log);
	return rc;
}

int conformance_measure(struct conformance_lab *lab, const struct conformance_order *o,
			struct conformance_measured *ret, struct err *err)
{
	struct buf json = { 0 };
	char path[SCRATCH_PATH_BYTES + 64];
	*ret = (struct conformance_measured){ .cannot = NULL };
	record_init(&ret->rec);
	conform_want_clear(&ret->want);
	int rc = conformance_interrupted(lab, err);
	if (rc)
		return rc;
	(void)snprintf(path, sizeof path, "%s/%s.json", lab->scratch.path, o->name);
	int out = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (out < 0)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	rc = start(lab, o, out, err);
	(void)close(out);
	if (!rc)
		rc = file_read(&json, path, err);
	if (!rc)
		rc = take_record(&ret->rec, &json, err);
	if (!rc)
		rc = take(lab, o, ret, err);
	buf_done(&json);
	return rc;
}

void conformance_measured_done(struct conformance_measured *m)
{
	record_done(&m->rec);
}
