/* Finding and opening collectors. They are looked at in this process, and work in others. */
#define _GNU_SOURCE
#include "run/collector.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/buf.h"

#define PREFIX "libroimeter-"
#define SUFFIX ".so"
#define EXIT "exit" /* no collectors, these two, but they lie beside them */
#define RANGE "range"
#define LIBRARY "{library}"
#define NAME_MAX_BYTES 64
#define WHY_BYTES 512
#define OWN_VARIABLES 2 /* ROIMETER_COLLECT, LD_PRELOAD */

/* ---- where ------------------------------------------------------------------------------------
 */

/* Every folder that may hold one, in order; the same text each time. */
static int list_folders(struct arena *a, const char *folders, struct txts *ret)
{
	static const char *const beside[] = { ".", "../lib/roimeter", "../lib64/roimeter", "../lib",
					      "../lib64" };
	const size_t n_beside = sizeof beside / sizeof *beside;
	char exe[PATH_MAX];
	size_t room = n_beside + 1;
	for (const char *c = folders; c && *c; c++)
		room += *c == ':';
	*ret = (struct txts){ .items = arena_array(a, room, sizeof *ret->items) };
	if (!ret->items)
		return -ENOMEM;
	for (const char *at = folders; at && *at;) {
		size_t n = strcspn(at, ":");
		if (n && !(ret->items[ret->n++] = arena_strndup(a, at, n)))
			return -ENOMEM;
		at += n + (at[n] == ':');
	}
	ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
	exe[n > 0 ? n : 0] = 0;
	char *slash = strrchr(exe, '/');
	if (!slash)
		return 0;
	*slash = 0;
	for (size_t i = 0; i < n_beside; i++)
		if (!(ret->items[ret->n++] =
			      i ? arena_printf(a, "%s/%s", exe, beside[i]) : arena_strdup(a, exe)))
			return -ENOMEM;
	return 0;
}

/* Absolute: the program that loads it is somewhere else. NULL: it is not there. */
static const char *find(struct arena *a, const struct txts *folders, const char *name)
{
	for (size_t i = 0; i < folders->n; i++) {
		char path[PATH_MAX];
		int n = snprintf(path, sizeof path, "%s/" PREFIX "%s" SUFFIX, folders->items[i],
				 name);
		char *real = n > 0 && (size_t)n < sizeof path && access(path, R_OK) == 0
				     ? realpath(path, NULL)
				     : NULL;
		const char *copy = real ? arena_strdup(a, real) : NULL;
		free(real);
		if (copy)
			return copy;
	}
	return NULL;
}

/* Of what is between lib and .so. */
static bool is_companion(const char *name, size_t n)
{
	return (n == strlen(EXIT) && memcmp(name, EXIT, n) == 0) ||
	       (n == strlen(RANGE) && memcmp(name, RANGE, n) == 0);
}

static void put_found(struct buf *b, const char *folder)
{
	DIR *dir = opendir(folder);
	for (struct dirent *e; dir && (e = readdir(dir));) {
		size_t n = strlen(e->d_name), least = strlen(PREFIX) + strlen(SUFFIX);
		if (n <= least || strncmp(e->d_name, PREFIX, strlen(PREFIX)) != 0 ||
		    strcmp(e->d_name + n - strlen(SUFFIX), SUFFIX) != 0 ||
		    is_companion(e->d_name + strlen(PREFIX), n - least))
			continue;
		buf_printf(b, ", %.*s", (int)(n - least), e->d_name + strlen(PREFIX));
	}
	if (dir)
		(void)closedir(dir);
}

static int not_there(const char *name, const struct txts *folders, struct err *err)
{
	struct buf found = { 0 }, places = { 0 };
	for (size_t i = 0; i < folders->n; i++) {
		put_found(&found, folders->items[i]);
		if (access(folders->items[i], F_OK) == 0)
			buf_printf(&places, "%s%s", places.len ? ", " : "", folders->items[i]);
	}
	int rc = err_set(err, -ENOENT,
			 "collector %s: there is no " PREFIX "%s" SUFFIX
			 " in %s; name its folder in ROIMETER_COLLECTORS or [collectors] path, or "
			 "collect with another one (there is: none%s)",
			 name, name, places.data ? places.data : "any folder",
			 found.data ? found.data : "");
	buf_done(&found);
	buf_done(&places);
	return rc;
}

/* ---- what it says ------------------------------------------------------------------------------
 */

static const char *replaced(struct arena *a, const char *value, const char *library)
{
	const char *at = strstr(value, LIBRARY);
	return at ? arena_printf(a, "%.*s%s%s", (int)(at - value), value, library,
				 at + strlen(LIBRARY))
		  : arena_strdup(a, value);
}

/* What is wrong with it; NULL: nothing. */
static const char *fault_of(const struct collector *t, const char *name)
{
	if (t->abi != COLLECTOR_ABI)
		return "it was built for another version of roimeter";
	if (!t->name || strcmp(t->name, name) != 0)
		return "it says that it is another collector";
	if (!t->check || !t->runtime)
		return "its table lacks what every collector has";
	for (size_t i = 0; t->environment && t->environment[i]; i += 2) {
		if (!t->environment[i + 1])
			return "a variable in its table has no value";
		if (i / 2 >=
		    (COLLECTOR_VARIABLES_MAX - OWN_VARIABLES) / 2) /* two may ride together */
			return "it wants too many variables";
	}
	return NULL;
}

static int take_table(struct collector_lib *c, struct arena *a, struct err *err)
{
	c->table = dlsym(c->handle, "collector");
	const char *fault =
		c->table ? fault_of(c->table, c->name) : "it has no table of a collector";
	if (fault)
		return err_set(err, -EINVAL,
			       "collector %s: %s: %s; install it together with roimeter", c->name,
			       c->path, fault);
	const char *const *env = c->table->environment;
	c->env = arena_array(a, COLLECTOR_VARIABLES_MAX, sizeof *c->env);
	for (; c->env && env && env[2 * c->n_env]; c->n_env++) {
		struct env_pair *p = &c->env[c->n_env];
		p->name = arena_strdup(a, env[2 * c->n_env]);
		p->value = replaced(a, env[2 * c->n_env + 1], c->path);
		if (!p->name || !p->value)
			return err_set(err, -ENOMEM, "out of memory");
	}
	return c->env ? 0 : err_set(err, -ENOMEM, "out of memory");
}

static bool is_name(const char *name)
{
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
	return n && !name[n] && n <= NAME_MAX_BYTES && !is_companion(name, n);
}

int collector_open(struct collector_lib *ret, struct arena *a, const char *name,
		   const char *folders, struct err *err)
{
	struct collector_lib c = { .name = arena_strdup(a, name) };
	struct txts places = { 0 };
	*ret = (struct collector_lib){ .name = NULL };
	if (!is_name(name))
		return err_set(err, -EINVAL,
			       "collector \"%s\": no name of a collector; these are names: none, "
			       "auto, cupti, opencl, io",
			       name);
	if (!c.name || list_folders(a, folders, &places))
		return err_set(err, -ENOMEM, "out of memory");
	c.path = find(a, &places, name);
	if (!c.path)
		return not_there(name, &places, err);
	c.handle = dlopen(c.path, RTLD_NOW | RTLD_LOCAL);
	if (!c.handle) /* the loader's sentence has the path */
		return err_set(err, -EINVAL, "collector %s: %s; install it together with roimeter",
			       name, dlerror());
	int rc = take_table(&c, a, err);
	if (rc) {
		collector_close(&c);
		return rc;
	}
	c.exit = find(a, &places, EXIT);
	*ret = c;
	return 0;
}

void collector_close(struct collector_lib *c)
{
	if (c->handle)
		(void)dlclose(c->handle);
	*c = (struct collector_lib){ .name = NULL };
}

int collector_check(const struct collector_lib *c, struct err *err)
{
	char why[WHY_BYTES] = "";
	int rc = c->table->check(why, sizeof why);
	why[sizeof why - 1] = 0;
	if (rc >= 0)
		return 0;
	return err_set(err, rc, "collector %s can't work here: %s", c->name,
		       why[0] ? why : strerror(-rc));
}

/* ---- into a program -----------------------------------------------------------------------------
 */

static const char *value_of(char *const *envp, const char *name)
{
	size_t n = strlen(name);
	for (; envp && *envp; envp++)
		if (strncmp(*envp, name, n) == 0 && (*envp)[n] == '=')
			return (*envp)[n + 1] ? *envp + n + 1 : NULL;
	return NULL;
}

const char *collector_range_library(struct arena *a, const char *folders)
{
	struct txts places = { 0 };
	return list_folders(a, folders, &places) ? NULL : find(a, &places, RANGE);
}

static bool is_list(const char *name)
{
	return strcmp(name, "LD_PRELOAD") == 0 || strcmp(name, "OPENCL_LAYERS") == 0;
}

const char *collector_conflict(const struct collector_lib *c, char *const *envp)
{
	for (size_t i = 0; i < c->n_env; i++) {
		const char *theirs = value_of(envp, c->env[i].name);
		if (theirs && !is_list(c->env[i].name) && strcmp(theirs, c->env[i].value) != 0)
			return c->env[i].name;
	}
	return c->with ? collector_conflict(c->with, envp) : NULL;
}

bool collector_has(const struct collector_lib *c, const char *name)
{
	for (; c; c = c->with)
		if (strcmp(c->name, name) == 0)
			return true;
	return false;
}

const char *collector_names(struct arena *a, const struct collector_lib *c)
{
	return c->with ? arena_printf(a, "%s,%s", c->name, c->with->name)
		       : arena_strdup(a, c->name);
}

/* The program's own come first: they may have reasons. */
int collector_variable(struct arena *a, char *const *envp, const char *name, const char *value,
		       struct env_pair *ret, size_t *n)
{
	for (size_t i = 0; i < *n; i++)
		if (strcmp(ret[i].name, name) == 0 && is_list(name)) {
			ret[i].value = arena_printf(a, "%s:%s", ret[i].value, value);
			return ret[i].value ? 0 : -ENOMEM;
		}
	const char *theirs = is_list(name) ? value_of(envp, name) : NULL;
	ret[*n] = (struct env_pair){ name, theirs ? arena_printf(a, "%s:%s", theirs, value)
						  : arena_strdup(a, value) };
	return ret[(*n)++].value ? 0 : -ENOMEM;
}

int collector_variables(const struct collector_lib *c, struct arena *a, char *const *envp,
			struct env_pair *ret, size_t *ret_n)
{
	size_t n = 0;
	const char *names = collector_names(a, c);
	int rc = names ? collector_variable(a, envp, "ROIMETER_COLLECT", names, ret, &n) : -ENOMEM;
	for (const struct collector_lib *l = c; l; l = l->with)
		for (size_t i = 0; !rc && i < l->n_env; i++)
			rc = collector_variable(a, envp, l->env[i].name, l->env[i].value, ret, &n);
	if (!rc && c->exit)
		rc = collector_variable(a, envp, "LD_PRELOAD", c->exit, ret, &n);
	*ret_n = n;
	return rc;
}
