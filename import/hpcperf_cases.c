/* Case tables: which inputs there are, and what is declared about applications and inputs. */
#include <errno.h>
#include <string.h>

#include "import/hpcperf_impl.h"
#include "suite/table.h"

/* The level stands in the file's name only ("level2_cases.tsv"). */
static int level_in_name(const char *name)
{
	const char *at = strstr(name, "level");
	return at && at[5] >= '1' && at[5] <= '3' && !(at[6] >= '0' && at[6] <= '9') ? at[5] - '0' : 0;
}

static void take_text(const struct table *t, size_t i, const char *column, const char **into)
{
	const char *cell = table_cell(t, i, column);
	if (cell)
		*into = cell;
}

static int take_number(const struct table *t, size_t i, const char *column, double *into,
		       struct err *err)
{
	double value;
	int at = table_column(t, column);
	int rc = table_number(t, i, at, &value, err);
	if (rc || !known(value))
		return rc;
	if (value <= 0)
		return table_fault(t, i, at, err, "column %s: %s is not above 0", column,
				   t->rows[i][at]);
	*into = value;
	return 0;
}

static int take_app(struct ctx *c, const struct table *t, size_t i, int level, const char *app)
{
	struct app_props *p = app_of(c, level, app);
	if (!p)
		return -ENOMEM;
	take_text(t, i, "verify_vs_roi", &p->verify);
	take_text(t, i, "roi_excludes", &p->excludes);
	take_text(t, i, "profile", &p->profile);
	take_text(t, i, "launcher", &p->launcher);
	take_text(t, i, "fom_name", &p->fom_name);
	take_text(t, i, "fom_unit", &p->fom_unit);
	take_text(t, i, "fom_better", &p->fom_better);
	take_text(t, i, "fom_regex", &p->fom_regex);
	take_text(t, i, "app_timer_regex", &p->timer_regex);
	return take_number(t, i, "timeout_s", &p->timeout_s, c->err);
}

/* One case of a row, a sweep being undone already. */
static int take_case(struct ctx *c, const struct table *t, size_t i, int level, const char *app,
		     const char *name, const char *env)
{
	const char *suite = import_suite(c, level);
	struct case_props *p = case_of(c, level, app, name);
	if (!suite || !p)
		return import_nomem(c);
	take_text(t, i, "exe", &p->exe);
	take_text(t, i, "args", &p->args);
	take_text(t, i, "cwd", &p->cwd);
	if (env)
		p->env = env;
	int rc = take_number(t, i, "timeout_s", &p->timeout_s, c->err);
	if (!rc)
		rc = take_number(t, i, "gpus", &p->devices, c->err);
	if (rc)
		return rc;
	rc = import_declare(c, suite, app, name);
	return rc ? err_wrap(c->err, rc, "%s:%u", t->file->path, t->lines[i]) : 0;
}

/* "n{}" with "N=128|192" in its environment stands for n128 and n192. */
static int sweep(struct ctx *c, const struct table *t, size_t i, int level, const char *app,
		 const char *name)
{
	const char *env = table_cell(t, i, "env");
	struct swept_case *cases;
	size_t n;
	struct err why = { "" };
	int rc = sweep_expand(&c->out->arena, name, env ? env : "", &cases, &n, &why);
	if (rc == -ENOMEM)
		return import_nomem(c);
	if (rc)
		return table_fault(t, i, table_column(t, env ? "env" : "case"), c->err, "%s", why.text);
	for (size_t k = 0; !rc && k < n; k++)
		rc = take_case(c, t, i, level, app, cases[k].name, env ? cases[k].env : NULL);
	return rc;
}

int read_cases(struct ctx *c, const struct table *t)
{
	int level = level_in_name(t->file->name);
	bool cases = table_column(t, "case") >= 0;
	if (!level && !c->options->suite)
		return err_set(c->err, -EINVAL,
			       "%s: the name doesn't tell the level (\"level1...\"), so say to which suite "
			       "these inputs belong with --suite NAME", t->file->path);
	for (size_t i = 0; i < t->n_rows; i++) {
		const char *app = table_cell(t, i, "app");
		const char *name = cases ? table_cell(t, i, "case") : NULL;
		if (!app || (cases && !name))
			return table_fault(t, i, 0, c->err, "a row without an application or a case");
		int rc = cases ? sweep(c, t, i, level, app, name) : take_app(c, t, i, level, app);
		if (rc)
			return rc;
	}
	return 0;
}
