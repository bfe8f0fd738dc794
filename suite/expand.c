/* From what a suite says to the cases it means: the application's values under the case's, one
 * case for each combination of swept values, {NAME} replaced, paths made absolute. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "suite/reader.h"
#include "suite/subst.h"

#define MAX_SWEEPS 8

struct sweep {
	const char *name;
	const struct doc_node *values;
	size_t at; /* which value now */
};

/* One case being made. */
struct maker {
	struct suite_reader *r;
	const struct doc_node *app, *map;
	const char *app_name;
	struct sweep sweeps[MAX_SWEEPS];
	size_t n_sweeps;
	struct env_pair swept[MAX_SWEEPS];
	const struct env_pair *vars;
	size_t n_vars;
	struct scope scope;
};

static int no_memory(struct suite_reader *r)
{
	return err_set(r->err, -ENOMEM, "%s: out of memory", r->suite->file);
}

/* The case's own value, else the application's. */
static const struct doc_node *pick(const struct maker *m, const char *key)
{
	const struct doc_node *own = doc_get(m->map, key);
	return own ? own : doc_get(m->app, key);
}

/* ---- single values --------------------------------------------------------------------------- */

static int put_text(struct maker *m, const struct doc_node *node, const char **ret)
{
	struct suite_reader *r = m->r;
	*ret = node ? subst(&r->suite->arena, r->suite->file, node, &m->scope, r->err) : NULL;
	return node && !*ret ? -EINVAL : 0;
}

static int put_path(struct maker *m, const struct doc_node *node, const char **ret)
{
	int rc = put_text(m, node, ret);
	if (rc || !*ret || **ret == '/')
		return rc;
	const char *text = *ret;
	while (strncmp(text, "./", 2) == 0)
		text += 2;
	struct suite *s = m->r->suite;
	*ret = strcmp(text, ".") == 0 || !*text ? s->dir
						: arena_printf(&s->arena, "%s/%s", s->dir, text);
	return *ret ? 0 : no_memory(m->r);
}

/* A program's name alone is looked for in PATH; with a slash it is a path. */
static int put_program(struct maker *m, const struct doc_node *node, const char **ret)
{
	int rc = put_text(m, node, ret);
	return rc || !strchr(*ret, '/') ? rc : put_path(m, node, ret);
}

typedef int (*put_one)(struct maker *m, const struct doc_node *node, const char **ret);

static int put_list(struct maker *m, const struct doc_node *list, put_one first, put_one rest,
		    struct txts *ret)
{
	size_t n = ret->n + (list ? list->n : 0);
	const char **items = arena_array(&m->r->suite->arena, n ? n : 1, sizeof *items);
	if (!items)
		return no_memory(m->r);
	for (size_t i = 0; i < ret->n; i++)
		items[i] = ret->items[i];
	for (size_t i = 0; list && i < list->n; i++) {
		int rc = (ret->n + i ? rest : first)(m, list->items[i], &items[ret->n + i]);
		if (rc)
			return rc;
	}
	ret->items = items;
	ret->n = n;
	return 0;
}

static unsigned count_of(const struct doc_node *node)
{
	return node ? (unsigned)strtoul(node->text, NULL, 10) : 0;
}

static double number_of(const struct doc_node *node)
{
	return node ? strtod(node->text, NULL) : NAN;
}

/* ---- blocks ------------------------------------------------------------------------------------
 */

static int put_command(struct maker *m, struct suite_case *c)
{
	const char *file = m->r->suite->file;
	const struct doc_node *command = pick(m, "command"), *shell = pick(m, "shell"),
			      *args = pick(m, "args");
	if (!command)
		return doc_error(m->r->err, file, m->map,
				 "the case has no command, and its application neither");
	c->shell = shell && strcmp(shell->text, "true") == 0;
	if (c->shell && command->kind == DOC_LIST)
		return doc_error(m->r->err, file, command,
				 "command: with shell: true it is one text, not a list");
	if (!c->shell && command->kind == DOC_TEXT)
		return doc_error(m->r->err, file, command,
				 "command: must be a list, one item for each argument; one text is "
				 "for shell: true");
	if (c->shell && args)
		return doc_error(
			m->r->err, file, args,
			"args: a line for the shell takes none; write them into the command");
	if (c->shell) {
		const struct doc_node line = { .kind = DOC_LIST,
					       .items = (struct doc_node *[]){ (
						       struct doc_node *)command },
					       .n = 1 };
		return put_list(m, &line, put_text, put_text, &c->command);
	}
	int rc = put_list(m, command, put_program, put_text, &c->command);
	return rc ? rc : put_list(m, args, put_text, put_text, &c->command);
}

static int put_pattern(struct maker *m, const char *key, struct pattern_spec *ret)
{
	const struct doc_node *block = pick(m, key), *name = doc_get(block, "name"),
			      *better = doc_get(block, "better");
	*ret = (struct pattern_spec){ 0 };
	if (!block)
		return 0;
	ret->pattern =
		doc_get(block, "regex")->text; /* as it stands: braces mean something else there */
	ret->unit = doc_get(block, "unit")->text;
	ret->better = better ? better->text : NULL;
	int rc = put_text(m, name, &ret->name);
	if (!rc && better && !name)
		ret->name = "FOM";
	return rc;
}

/* "no (REASON)" becomes REASON. */
static int put_profile(struct maker *m, const char **ret)
{
	const struct doc_node *profile = pick(m, "profile");
	*ret = NULL;
	if (!profile || strncmp(profile->text, "no (", 4) != 0)
		return 0;
	*ret = arena_strndup(&m->r->suite->arena, profile->text + 4, strlen(profile->text) - 5);
	return *ret ? 0 : no_memory(m->r);
}

/* Variables that only say where threads run: no input, whatever the application reads. */
static bool only_placement(const char *name)
{
	return strncmp(name, "OMP_", 4) == 0 || strcmp(name, "KMP_AFFINITY") == 0 ||
	       strcmp(name, "GOMP_CPU_AFFINITY") == 0;
}

static int env_is_input(struct maker *m, const struct doc_node *name)
{
	const struct doc_node *inputs = doc_get(m->app, "inputs");
	if (!inputs || only_placement(name->text))
		return 0;
	for (size_t i = 0; i < inputs->n; i++)
		if (strcmp(inputs->items[i]->text, name->text) == 0)
			return 0;
	return doc_error(m->r->err, m->r->suite->file, name,
			 "%s: %s is not among the inputs of %s; add it to its inputs, or remove it",
			 "env", name->text, m->app_name);
}

static int put_env_map(struct maker *m, const struct doc_node *map, bool of_case,
		       struct suite_case *c)
{
	for (size_t i = 0; map && i < map->n; i++) {
		const struct doc_node *name = map->keys[i], *value = map->items[i];
		int rc = of_case ? env_is_input(m, name) : 0;
		const char *text = NULL;
		if (!rc && value->kind == DOC_LIST) {
			text = scope_get(&m->scope, name->text, strlen(name->text));
			rc = text ? 0 : -EINVAL;
		} else if (!rc) {
			rc = put_text(m, value, &text);
		}
		if (rc)
			return rc;
		size_t at = 0;
		while (at < c->n_env && strcmp(c->env[at].name, name->text) != 0)
			at++;
		c->env[at] = (struct env_pair){ .name = name->text, .value = text };
		c->n_env += at == c->n_env;
	}
	return 0;
}

static int put_env(struct maker *m, struct suite_case *c)
{
	const struct doc_node *app = doc_get(m->app, "env"), *own = doc_get(m->map, "env");
	size_t room = (app ? app->n : 0) + (own ? own->n : 0) + 1;
	c->env = arena_array(&m->r->suite->arena, room, sizeof *c->env);
	if (!c->env)
		return no_memory(m->r);
	int rc = put_env_map(m, app, false, c);
	if (!rc)
		rc = put_env_map(m, own, true, c);
	m->scope.lists[1] = c->env; /* from here on, {NAME} may also be one of these */
	m->scope.n[1] = c->n_env;
	return rc;
}

static int put_simple(struct maker *m, struct suite_case *c)
{
	const struct doc_node *threads = pick(m, "threads"), *region = pick(m, "region"),
			      *verify = pick(m, "verify"), *launcher = pick(m, "launcher"),
			      *timeout = pick(m, "timeout");
	c->ranks = count_of(pick(m, "ranks"));
	c->threads = count_of(threads);
	c->warmup = number_of(pick(m, "warmup"));
	c->clean = number_of(pick(m, "clean"));
	c->timeout_s = timeout ? suite_duration(timeout->text) : NAN;
	c->region = region ? region->text : "markers";
	c->verify = verify ? verify->text : NULL;
	c->launcher = launcher ? launcher->text : NULL;
	for (size_t i = 0; threads && i < c->n_env; i++)
		if (strcmp(c->env[i].name, "OMP_NUM_THREADS") == 0)
			return doc_error(m->r->err, m->r->suite->file, threads,
					 "threads: OMP_NUM_THREADS is in env, too; say it once");
	return 0;
}

/* ---- one case ----------------------------------------------------------------------------------
 */

static int put_name(struct maker *m, struct suite_case *c)
{
	struct suite_reader *r = m->r;
	const struct doc_node *name = doc_get(m->map, "name");
	if (strstr(name->text, "{}"))
		return doc_error(r->err, r->suite->file, name,
				 "name: write the swept name into the braces, as {N}");
	int rc = put_text(m, name, &c->name);
	const char *why = rc ? NULL : suite_name_fault(c->name);
	if (why)
		return doc_error(r->err, r->suite->file, name, "name: \"%s\" %s", c->name, why);
	c->line = name->line;
	c->column = name->column;
	for (size_t i = 0; !rc && i < r->suite->n_cases; i++) {
		const struct suite_case *other = &r->suite->cases[i];
		if (strcmp(other->app, c->app) == 0 && strcmp(other->name, c->name) == 0)
			rc = doc_error(
				r->err, r->suite->file, name,
				"case %s/%s is here twice, first at line %u, column %u; rename one",
				c->app, c->name, other->line, other->column);
	}
	return rc;
}

static int make_case(struct maker *m)
{
	struct suite_reader *r = m->r;
	struct suite *s = r->suite;
	if (s->n_cases >= SUITE_MAX_CASES)
		return doc_error(r->err, s->file, m->map,
				 "more than %d cases; the sweeps are too large", SUITE_MAX_CASES);
	struct suite_case c = { .app = m->app_name };
	for (size_t i = 0; i < m->n_sweeps; i++)
		m->swept[i] = (struct env_pair){
			.name = m->sweeps[i].name,
			.value = m->sweeps[i].values->items[m->sweeps[i].at]->text
		};
	m->scope = (struct scope){ .lists = { m->swept, NULL, m->vars },
				   .n = { m->n_sweeps, 0, m->n_vars } };
	const struct doc_node *inputs = doc_get(m->app, "inputs");
	int rc = put_env(m, &c);
	if (!rc)
		rc = put_name(m, &c);
	if (!rc)
		rc = put_text(m, doc_get(m->map, "title"), &c.title);
	if (!rc)
		rc = put_command(m, &c);
	if (!rc)
		rc = put_path(m, pick(m, "cwd"), &c.cwd);
	if (!rc)
		rc = put_list(m, inputs, put_text, put_text, &c.inputs);
	if (!rc)
		rc = put_list(m, pick(m, "files"), put_path, put_path, &c.files);
	if (!rc)
		rc = put_list(m, pick(m, "build"), put_program, put_text, &c.build);
	if (!rc)
		rc = put_text(m, pick(m, "excludes"), &c.excludes);
	if (!rc)
		rc = put_pattern(m, "fom", &c.fom);
	if (!rc)
		rc = put_pattern(m, "own_timer", &c.own_timer);
	if (!rc)
		rc = put_profile(m, &c.profile_no);
	if (!rc)
		rc = put_simple(m, &c);
	if (rc)
		return rc;
	s->cases =
		arena_grow(&s->arena, s->cases, &r->cases_room, s->n_cases + 1, sizeof *s->cases);
	if (!s->cases)
		return no_memory(r);
	s->cases[s->n_cases++] = c;
	return 0;
}

/* The lists of values of this case, each to be used in its name: else two cases had one name. */
static int find_sweeps(struct maker *m)
{
	static const char *const keys[] = { "env", "sweep" };
	const struct doc_node *name = doc_get(m->map, "name");
	m->n_sweeps = 0;
	for (int k = 0; k < 2; k++) {
		const struct doc_node *map = doc_get(m->map, keys[k]);
		for (size_t i = 0; map && i < map->n; i++) {
			if (map->items[i]->kind != DOC_LIST)
				continue;
			const struct doc_node *key = map->keys[i];
			if (m->n_sweeps == MAX_SWEEPS)
				return doc_error(m->r->err, m->r->suite->file, key,
						 "more than %d sweeps in one case", MAX_SWEEPS);
			if (!subst_uses(name->text, key->text))
				return doc_error(
					m->r->err, m->r->suite->file, key,
					"%s sweeps, so the name of the case needs {%s} in it",
					key->text, key->text);
			for (size_t s = 0; s < m->n_sweeps; s++)
				if (strcmp(m->sweeps[s].name, key->text) == 0)
					return doc_error(m->r->err, m->r->suite->file, key,
							 "%s is swept twice, in env and in sweep",
							 key->text);
			m->sweeps[m->n_sweeps++] =
				(struct sweep){ .name = key->text, .values = map->items[i] };
		}
	}
	return 0;
}

/* On to the next combination, the last sweep first. False after the last one. */
static bool advance(struct maker *m)
{
	for (size_t i = m->n_sweeps; i-- > 0;) {
		if (++m->sweeps[i].at < m->sweeps[i].values->n)
			return true;
		m->sweeps[i].at = 0;
	}
	return false;
}

static int expand_case(struct maker *m)
{
	int rc = find_sweeps(m);
	if (rc)
		return rc;
	do {
		rc = make_case(m);
	} while (!rc && advance(m));
	return rc;
}

static int expand_app(struct maker *m, const struct doc_node *apps, size_t which)
{
	m->app = apps->items[which];
	const struct doc_node *name = doc_get(m->app, "name");
	m->app_name = name->text;
	for (size_t i = 0; i < which; i++) {
		const struct doc_node *other = doc_get(apps->items[i], "name");
		if (strcmp(other->text, name->text) == 0)
			return doc_error(m->r->err, m->r->suite->file, name,
					 "application %s is here twice, first at line %u, column "
					 "%u; rename one",
					 name->text, other->line, other->column);
	}
	const struct doc_node *cases = doc_get(m->app, "cases");
	int rc = 0;
	for (size_t i = 0; !rc && i < cases->n; i++) {
		m->map = cases->items[i];
		rc = expand_case(m);
	}
	return rc;
}

/* The suite's own vars, those given from outside in their place, and {suite_dir}. */
static int put_vars(struct maker *m, const struct doc_node *map)
{
	struct suite_reader *r = m->r;
	size_t n = map ? map->n : 0;
	struct env_pair *vars = arena_array(&r->suite->arena, n + 1, sizeof *vars);
	if (!vars)
		return no_memory(r);
	vars[0] = (struct env_pair){ .name = "suite_dir", .value = r->suite->dir };
	m->scope = (struct scope){ .lists = { vars }, .n = { 1 } };
	for (size_t i = 0; i < n; i++) {
		vars[i + 1].name = map->keys[i]->text;
		int rc = put_text(m, map->items[i], &vars[i + 1].value);
		if (rc)
			return rc;
	}
	for (size_t k = 0; k < r->n_vars; k++) {
		size_t at = 0;
		while (at < n && strcmp(vars[at + 1].name, r->vars[k].name) != 0)
			at++;
		if (at == n)
			return err_set(r->err, -EINVAL,
				       "%s: the suite has no variable \"%s\" in its vars",
				       r->suite->file, r->vars[k].name);
		vars[at + 1].value = arena_strdup(&r->suite->arena, r->vars[k].value);
		if (!vars[at + 1].value)
			return no_memory(r);
	}
	m->vars = vars;
	m->n_vars = n + 1;
	return 0;
}

int suite_expand(struct suite_reader *r, const struct doc_node *root)
{
	struct maker m = { .r = r };
	const struct doc_node *title = doc_get(root, "title"), *apps = doc_get(root, "apps");
	r->suite->name = doc_get(root, "suite")->text;
	r->suite->title = title ? title->text : NULL;
	int rc = put_vars(&m, doc_get(root, "vars"));
	for (size_t i = 0; !rc && i < apps->n; i++)
		rc = expand_app(&m, apps, i);
	return rc;
}
