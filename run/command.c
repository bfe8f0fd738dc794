/* Commands: launcher, program, hashes. */
#define _GNU_SOURCE
#include "run/command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/buf.h"
#include "run/hash.h"

static int txts_add(struct arena *a, struct txts *t, const char *text)
{
	size_t cap = t->n;
	const char **items = text ? arena_grow(a, t->items, &cap, t->n + 1, sizeof *items) : NULL;
	if (!items)
		return -ENOMEM;
	t->items = items;
	t->items[t->n++] = text;
	return 0;
}

static int txts_join(struct arena *a, struct txts *t, const struct txts *more)
{
	int rc = 0;
	for (size_t i = 0; !rc && i < more->n; i++)
		rc = txts_add(a, t, more->items[i]);
	return rc;
}

/* ---- the program ---- */

static int usable(const char *path)
{
	struct stat st;
	if (stat(path, &st))
		return errno;
	if (!S_ISREG(st.st_mode))
		return EACCES;
	return access(path, X_OK) ? errno : 0;
}

const char *command_find(struct arena *a, const char *name, const char *cwd, const char *path,
			 int *ret_errno)
{
	if (strchr(name, '/')) {
		const char *file = name[0] == '/' ? arena_strdup(a, name)
						  : arena_printf(a, "%s/%s", cwd, name);
		*ret_errno = file ? usable(file) : ENOMEM;
		return *ret_errno ? NULL : file;
	}
	*ret_errno = ENOENT;
	for (const char *at = path ? path : "/usr/local/bin:/usr/bin:/bin"; at;) {
		size_t n = strcspn(at, ":");
		const char *file = *at == '/'
					   ? arena_printf(a, "%.*s/%s", (int)n, at, name)
					   : arena_printf(a, "%s/%.*s/%s", cwd, (int)n, at, name);
		int rc = file ? usable(file) : ENOMEM;
		if (!rc)
			return file;
		if (rc == EACCES &&
		    access(file, F_OK) == 0) /* there, and not just a folder that is closed to us */
			*ret_errno = rc;
		at = at[n] ? at + n + 1 : NULL;
	}
	return NULL;
}

static const char *path_for(const struct command *cmd, const struct command_options *o)
{
	for (size_t i = 0; i < cmd->n_set; i++)
		if (strcmp(cmd->set[i].name, "PATH") == 0)
			return cmd->set[i].value;
	for (char *const *e = o->envp; *e; e++)
		if (strncmp(*e, "PATH=", 5) == 0)
			return *e + 5;
	return NULL;
}

static int find_program(struct arena *a, const struct command *cmd, const struct command_options *o,
			const char *name, const char **ret, struct err *err)
{
	int why = 0;
	if (o->plan_only)
		return 0;
	*ret = command_find(a, name, cmd->cwd ? cmd->cwd : "/", path_for(cmd, o), &why);
	if (*ret)
		return 0;
	if (why == ENOENT && !strchr(name, '/'))
		return err_set(err, -ENOENT,
			       "%s/%s: there is no program \"%s\" on PATH; build or install it, "
			       "or name its file",
			       cmd->c->app, cmd->c->name, name);
	if (why == ENOENT) {
		const struct txts *build = &cmd->c->build;
		struct buf how = { .max = 512 };
		for (size_t i = 0; i < build->n; i++)
			buf_printf(&how, "%s%s", i ? " " : " with: ", build->items[i]);
		int rc = err_set(err, -ENOENT, "%s/%s: there is no file %s%s%s; build it first%s",
				 cmd->c->app, cmd->c->name, name,
				 cmd->cwd && name[0] != '/' ? " from folder " : "",
				 cmd->cwd && name[0] != '/' ? cmd->cwd : "",
				 how.data ? how.data : "");
		buf_done(&how);
		return rc;
	}
	return err_set(err, -why, "%s/%s: %s can't be started: %s", cmd->c->app, cmd->c->name, name,
		       why == EACCES ? "it is not an executable file" : strerror(why));
}

/* ---- the launcher ---- */

static const struct starter *launcher_named(const struct command_options *o, const char *name)
{
	for (size_t i = 0; i < o->n_launchers; i++)
		if (strcmp(o->launchers[i].name, name) == 0)
			return &o->launchers[i];
	return NULL;
}

static int no_launcher(const struct command_options *o, const struct suite_case *c,
		       const char *name, struct err *err)
{
	char names[256] = "direct";
	for (size_t i = 0; i < o->n_launchers; i++) {
		size_t at = strlen(names);
		(void)snprintf(names + at, sizeof names - at, ", %s", o->launchers[i].name);
	}
	if (!name)
		return err_set(
			err, -EINVAL,
			"%s/%s asks for %u ranks, and no launcher is marked \"default = yes\" "
			"in the configuration; there are %s",
			c->app, c->name, c->ranks, names);
	return err_set(err, -EINVAL,
		       "%s/%s: launcher \"%s\" is not configured; there are %s. Add a section "
		       "[launcher %s] with its command",
		       c->app, c->name, name, names, name);
}

/* NULL with 0: direct. */
static int choose_launcher(const struct command_options *o, const struct suite_case *c,
			   const struct starter **ret, struct err *err)
{
	const char *name = c->launcher;
	*ret = NULL;
	if (!name && c->ranks <= 1 && !(c->ranks == 1 && o->launcher))
		return 0;
	if (!name)
		name = o->launcher;
	if (name && strcmp(name, "direct") == 0)
		return 0;
	for (size_t i = 0; !name && i < o->n_launchers; i++)
		if (o->launchers[i].multi)
			name = o->launchers[i].name;
	if (name)
		*ret = launcher_named(o, name);
	return *ret ? 0 : no_launcher(o, c, name, err);
}

static const char *put_in(struct arena *a, const char *word, const struct suite_case *c)
{
	const char *at = strstr(word, "{ranks}"), *threads = strstr(word, "{threads}");
	if (at)
		return arena_printf(a, "%.*s%u%s", (int)(at - word), word, c->ranks ? c->ranks : 1,
				    at + 7);
	if (threads)
		return arena_printf(a, "%.*s%u%s", (int)(threads - word), word,
				    c->threads ? c->threads : 1, threads + 9);
	return word;
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* As many times as many processes are never meant. */
static int launched_once(const struct suite_case *c, const struct starter *l, struct err *err)
{
	if (!l || !l->command.n || !c->command.n || c->shell ||
	    strcmp(last_part(l->command.items[0]), last_part(c->command.items[0])) != 0)
		return 0;
	return err_set(err, -EINVAL,
		       "%s/%s: the command is %s already, and %u ranks are started by launcher %s: "
		       "leave one of the two out",
		       c->app, c->name, last_part(c->command.items[0]), c->ranks ? c->ranks : 1,
		       l->name);
}

static int put_launcher(struct command *cmd, struct arena *a, const struct starter *l)
{
	int rc = 0;
	cmd->launcher = l ? l->name : "direct";
	for (size_t i = 0; l && !rc && i < l->command.n; i++)
		rc = txts_add(a, &cmd->launcher_argv, put_in(a, l->command.items[i], cmd->c));
	if (!rc)
		rc = txts_join(a, &cmd->argv, &cmd->launcher_argv);
	if (!rc && l)
		rc = txts_join(a, &cmd->allow, &l->env);
	return rc;
}

/* ---- all together ---- */

static int put_env(struct command *cmd, struct arena *a)
{
	const struct suite_case *c = cmd->c;
	cmd->set = arena_array(a, c->n_env + 1, sizeof *cmd->set);
	if (!cmd->set)
		return -ENOMEM;
	if (c->n_env)
		memcpy(cmd->set, c->env, c->n_env * sizeof *cmd->set);
	cmd->n_set = c->n_env;
	bool told = false;
	for (size_t i = 0; i < c->n_env; i++)
		told |= strcmp(c->env[i].name, "OMP_NUM_THREADS") == 0;
	if (c->threads && !told)
		cmd->set[cmd->n_set++] =
			(struct env_pair){ "OMP_NUM_THREADS", arena_printf(a, "%u", c->threads) };
	int rc = 0;
	for (size_t i = 0; !rc && i < cmd->n_set; i++)
		rc = txts_add(a, &cmd->env,
			      arena_printf(a, "%s=%s", cmd->set[i].name, cmd->set[i].value));
	return rc;
}

static int put_command(struct command *cmd, struct arena *a)
{
	int rc = 0;
	if (cmd->c->shell) {
		rc = txts_add(a, &cmd->argv, "/bin/sh");
		if (!rc)
			rc = txts_add(a, &cmd->argv, "-c");
	}
	return rc ? rc : txts_join(a, &cmd->argv, &cmd->c->command);
}

static int find_folder(struct command *cmd, struct arena *a, struct err *err)
{
	const struct suite_case *c = cmd->c;
	struct stat st;
	if (!c->cwd)
		return 0;
	char *cwd = realpath(c->cwd, NULL);
	cmd->cwd = arena_strdup(a, cwd);
	free(cwd);
	if (!cmd->cwd || stat(cmd->cwd, &st) || !S_ISDIR(st.st_mode))
		return err_set(err, -ENOENT, "%s/%s: there is no folder %s to start in", c->app,
			       c->name, c->cwd);
	return 0;
}

int command_make(struct command *ret, struct arena *a, const struct suite_case *c,
		 const struct command_options *o, struct err *err)
{
	const struct starter *launcher;
	*ret = (struct command){ .c = c };
	int rc = env_check_inputs(c, o->envp, err);
	if (rc)
		return rc;
	rc = choose_launcher(o, c, &launcher, err);
	if (!rc)
		rc = launched_once(c, launcher, err);
	if (rc)
		return rc;
	rc = txts_join(a, &ret->allow, &o->allow);
	if (!rc)
		rc = put_env(ret, a);
	if (!rc)
		rc = put_launcher(ret, a, launcher);
	if (!rc)
		rc = put_command(ret, a);
	if (rc)
		return err_set(err, rc, "out of memory");
	if (ret->argv.n == 0 || c->command.n == 0)
		return err_set(err, -EINVAL, "%s/%s has no command", c->app, c->name);

	rc = o->plan_only ? 0 : find_folder(ret, a, err);
	if (rc)
		return rc;
	rc = find_program(a, ret, o, ret->argv.items[0], &ret->path, err);
	if (!rc && !c->shell)
		rc = find_program(a, ret, o, c->command.items[0], &ret->exe, err);
	return rc;
}

int command_hash(struct command *cmd, struct arena *a, struct err *err)
{
	char text[HASH_TEXT_BYTES];
	int rc = 0;
	if (cmd->exe) {
		rc = hash_file(cmd->exe, text, err);
		if (rc)
			return err_wrap(err, rc, "hash the executable");
		cmd->exe_hash = arena_strdup(a, text);
	}
	struct hash *h = hash_new();
	if (!h)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < cmd->c->command.n; i++)
		hash_text(h, cmd->c->command.items[i]);
	hash_text(h, "");
	for (size_t i = 0; i < cmd->env.n; i++)
		hash_text(h, cmd->env.items[i]);
	hash_text(h, "");
	for (size_t i = 0; !rc && i < cmd->c->files.n; i++) {
		const char *path = cmd->c->files.items[i], *slash = strrchr(path, '/');
		rc = hash_file(path, text, err);
		if (rc) {
			(void)err_wrap(err, rc, "%s/%s: input file", cmd->c->app, cmd->c->name);
			break;
		}
		hash_text(h, text);
		rc = txts_add(a, &cmd->files,
			      arena_printf(a, "%s %s", slash ? slash + 1 : path, text));
	}
	hash_end(h, text);
	cmd->input_hash = arena_strdup(a, text);
	return rc;
}
