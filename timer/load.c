/* Where definitions are kept. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/file.h"
#include "suite/doc.h"
#include "timer/timer.h"

/* Beside the program as it was installed, as it was built, and where packages go. */
static const char *default_path(struct arena *a)
{
	char exe[4096];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
	char *slash = n > 0 ? memrchr(exe, '/', (size_t)n) : NULL;
	if (!slash)
		return "/usr/local/share/roimeter/timers:/usr/share/roimeter/timers";
	*slash = 0;
	return arena_printf(a,
			    "%s/../share/roimeter/timers:%s/../../suites/timers:/usr/local/share/"
			    "roimeter/timers:"
			    "/usr/share/roimeter/timers",
			    exe, exe);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Names of the definitions in one folder, for the sentence about one that is not there. */
static void list_folder(struct arena *a, const char *folder, const char **names, size_t max,
			size_t *n)
{
	DIR *dir = opendir(folder);
	if (!dir)
		return;
	for (struct dirent *e; (e = readdir(dir)) && *n < max;) {
		size_t len = strlen(e->d_name);
		if (len <= 5 || strcmp(e->d_name + len - 5, ".yaml") != 0 || e->d_name[0] == '.')
			continue;
		names[*n] = arena_strndup(a, e->d_name, len - 5);
		*n += names[*n] != NULL;
	}
	(void)closedir(dir);
}

static int not_there(struct arena *a, const char *name, const char *path, struct err *err)
{
	const char *names[100] = { 0 };
	size_t n = 0;
	char *copy = arena_strdup(a, path), *save = NULL;
	for (char *f = copy ? strtok_r(copy, ":", &save) : NULL; f; f = strtok_r(NULL, ":", &save))
		list_folder(a, f, names, 100, &n);
	qsort(names, n, sizeof *names, by_name);
	struct buf all = { .max = 700 };
	for (size_t i = 0; i < n; i++)
		if (!i || strcmp(names[i], names[i - 1]) != 0)
			buf_printf(&all, "%s%s", all.len ? ", " : "", names[i]);
	int rc = n ? err_set(err, -ENOENT, "there is no timer definition \"%s\"; there are: %s",
			     name, all.data)
		   : err_set(err, -ENOENT,
			     "there is no timer definition \"%s\", and none at all in %s", name,
			     path);
	buf_done(&all);
	return rc;
}

static bool plain_name(const char *name)
{
	return *name && *name != '.' && !strchr(name, '/') && strlen(name) <= 64;
}

int timer_def_load(struct timer_def **ret, const char *name, const char *path, struct err *err)
{
	struct arena a = { 0 };
	const char *folders = default_path(&a);
	if (folders && path && *path)
		folders = arena_printf(&a, "%s:%s", path, folders);
	int rc = -ENOENT;
	char *copy = folders ? arena_strdup(&a, folders) : NULL, *save = NULL;
	if (!copy) {
		arena_free(&a);
		return err_set(err, -ENOMEM, "out of memory");
	}
	for (char *f = strtok_r(copy, ":", &save); f && rc == -ENOENT && plain_name(name);
	     f = strtok_r(NULL, ":", &save)) {
		const char *file = arena_printf(&a, "%s/%s.yaml", f, name);
		struct buf text = { .max = DOC_MAX_BYTES };
		rc = file ? file_read(&text, file, err) : err_set(err, -ENOMEM, "out of memory");
		if (!rc)
			rc = timer_def_parse(ret, file, text.data ? text.data : "", text.len, err);
		buf_done(&text);
	}
	if (rc == -ENOENT)
		rc = not_there(&a, name, folders, err);
	arena_free(&a);
	return rc;
}
