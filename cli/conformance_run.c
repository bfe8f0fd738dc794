/* A probe measured by roimeter run, and what stands in all that was written meanwhile. */
#define _GNU_SOURCE
#include "cli/conformance_run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/file.h"
#include "schema/codec.h"

#define SENTINEL "ROIMETER_CONFORMANCE_SENTINEL"

/* Beside this program's build folder, or where it was installed. */
static int find_probe(struct conformance_run *s, struct err *err)
{
	static const char *const beside[] = { "examples/probes", "../libexec/roimeter",
					      "../lib/roimeter" };
	bool opencl = strcmp(s->collector, "opencl") == 0,
	     cuda = strcmp(s->collector, "cupti") == 0;
	const char *name = opencl ? "probe_opencl" : cuda ? "probe_cuda" : "probe_host";
	ssize_t n = readlink("/proc/self/exe", s->self, sizeof s->self - 1);
	if (n <= 0)
		return err_set(err, -errno, "/proc/self/exe: %s", strerror(errno));
	s->self[n] = 0;
	if (!opencl && !cuda && strcmp(s->collector, "none") != 0 && !s->probe)
		return err_set(
			err, -EINVAL,
			"--collector %s: there is no probe for it; name one with --probe FILE",
			s->collector);
	int folder = (int)(strrchr(s->self, '/') - s->self);
	for (size_t i = 0; !s->probe && i < sizeof beside / sizeof *beside; i++) {
		const char *path =
			arena_printf(&s->arena, "%.*s/%s/%s", folder, s->self, beside[i], name);
		if (path && access(path, X_OK) == 0)
			s->probe = path;
	}
	if (!s->probe)
		return err_set(err, -ENOENT,
			       "%s is neither in the build folder (examples/probes) nor installed "
			       "(libexec/roimeter): build it, or name it with --probe FILE",
			       name);
	if (access(s->probe, X_OK) != 0)
		return err_set(err, -errno, "--probe %s: %s", s->probe, strerror(errno));
	return 0;
}

/* ---- measuring ---- */

static int start(struct conformance_run *s, int out, struct err *err)
{
	const char *argv[32] = { s->self,      "run",      "--app",      "conformance", "--case",
				 s->collector, "--warmup", "1",          "--clean",     "3",
				 "--format",   "json",     "--no-store", "--keep-logs", s->folder };
	size_t n = 15;
	if (s->config) {
		argv[n++] = "--config";
		argv[n++] = s->config;
	}
	if (strcmp(s->collector, "none") != 0) {
		argv[n++] = "--collect";
		argv[n++] = s->collector;
	} else { /* whatever the configuration collects */
		argv[n++] = "--no-profile";
	}
	argv[n++] = "--";
	argv[n++] = s->probe;
	for (size_t i = 0; i < s->words.n && n + 1 < sizeof argv / sizeof *argv; i++)
		argv[n++] = s->words.items[i];
	pid_t pid = fork();
	if (pid < 0)
		return err_set(err, -errno, "fork: %s", strerror(errno));
	if (pid == 0) {
		if (setenv(SENTINEL, s->sentinel, 1) == 0 && dup2(out, STDOUT_FILENO) >= 0)
			(void)execv(s->self, (char **)argv);
		_exit(127);
	}
	int status = 0;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return err_set(err, -errno, "waitpid: %s", strerror(errno));
	/* 1: measured, and the status is not ok: the checks tell */
	if (!WIFEXITED(status) || WEXITSTATUS(status) > 1)
		return err_set(err, -EINVAL, "the probe could not be measured; see above");
	return 0;
}

static int measure(struct conformance_run *s, struct err *err)
{
	unsigned char dice[16];
	char path[128];
	(void)snprintf(s->folder, sizeof s->folder, "/tmp/roimeter-conformance.XXXXXX");
	if (!mkdtemp(s->folder)) {
		s->folder[0] = 0;
		return err_set(err, -errno, "a folder in /tmp: %s", strerror(errno));
	}
	if (getrandom(dice, sizeof dice, 0) != (ssize_t)sizeof dice)
		return err_set(err, -EIO, "getrandom: %s", strerror(errno));
	for (size_t i = 0; i < sizeof dice; i++)
		(void)snprintf(s->sentinel + 2 * i, 3, "%02x", dice[i]);
	(void)snprintf(path, sizeof path, "%s/record.json", s->folder);
	int out = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (out < 0)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	int rc = start(s, out, err);
	(void)close(out);
	return rc ? rc : file_read(&s->json, path, err);
}

/* ---- what came back ---- */

static int take_record(struct conformance_run *s, struct err *err)
{
	json_t *all = NULL;
	int rc = json_parse(&all, s->json.data, s->json.len, "roimeter run", err);
	json_t *one = json_array_get(json_object_get(all, "records"), 0);
	if (!rc && !one)
		rc = err_set(err, -EINVAL, "roimeter run printed no record");
	if (!rc)
		rc = record_from_json(&s->rec, one, err);
	json_decref(all);
	return rc;
}

static double count_of(const json_t *of, const char *name)
{
	const json_t *x = json_object_get(of, name);
	return json_is_integer(x) ? (double)json_integer_value(x) : NAN;
}

/* The line that the probe printed into an execution's output. */
static void take_want(struct conformance_run *s, const struct buf *log)
{
	const char *line = log->len ? memmem(log->data, log->len, "{\"probe\":", 9) : NULL;
	json_t *all = NULL;
	if (!line)
		return;
	const char *end = memchr(line, '\n', log->len - (size_t)(line - log->data));
	size_t n = end ? (size_t)(end - line) : log->len - (size_t)(line - log->data);
	if (json_parse(&all, line, n, "probe", NULL) == 0) {
		json_t *want = json_object_get(all, "expected");
		json_t *inside = json_object_get(want, "inside"),
		       *whole = json_object_get(want, "whole");
		s->want.entries = count_of(want, "entries");
		for (size_t i = 0; i < CONFORM_CATEGORIES; i++) {
			s->want.inside[i] = count_of(inside, conform_categories[i]);
			s->want.whole[i] = count_of(whole, conform_categories[i]);
		}
	}
	json_decref(all);
}

/* Everything that was written: looks for the sentinel, and for what the probe said. */
static int search(struct conformance_run *s, const char *folder, struct err *err)
{
	DIR *d = opendir(folder);
	const struct dirent *e;
	int rc = d ? 0 : err_set(err, -errno, "%s: %s", folder, strerror(errno));
	while (!rc && (e = readdir(d))) {
		char path[4096];
		struct stat st;
		struct buf b = { 0 };
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		int n = snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
		if (n < 0 || (size_t)n >= sizeof path)
			rc = err_set(err, -ENAMETOOLONG, "%s: too long", folder);
		else if (lstat(path, &st))
			rc = err_set(err, -errno, "%s: %s", path, strerror(errno));
		else if (S_ISDIR(st.st_mode))
			rc = search(s, path, err);
		else
			rc = file_read(&b, path, err);
		if (b.len && memmem(b.data, b.len, s->sentinel, strlen(s->sentinel)))
			(void)snprintf(s->found, sizeof s->found, "it is in %.200s", e->d_name);
		if (strcmp(e->d_name, "run.log") == 0)
			take_want(s, &b);
		buf_done(&b);
	}
	if (d)
		(void)closedir(d);
	return rc;
}

int conformance_run(struct conformance_run *s, struct err *err)
{
	record_init(&s->rec);
	s->want.entries = NAN;
	for (size_t i = 0; i < CONFORM_CATEGORIES; i++)
		s->want.inside[i] = s->want.whole[i] = NAN;
	int rc = find_probe(s, err);
	if (!rc)
		rc = measure(s, err);
	if (!rc)
		rc = take_record(s, err);
	return rc ? rc : search(s, s->folder, err);
}

void conformance_run_done(struct conformance_run *s)
{
	if (s->folder[0])
		(void)file_remove_tree(s->folder, NULL);
	buf_done(&s->json);
	record_done(&s->rec);
	arena_free(&s->arena);
}
