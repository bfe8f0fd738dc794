/* The order of the grid. */
#include "report/rows.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int report_natural(const char *a, const char *b)
{
	const char *const a0 = a, *const b0 = b;
	while (*a && *b) {
		if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
			while (*a == '0')
				a++;
			while (*b == '0')
				b++;
			size_t na = strspn(a, "0123456789"), nb = strspn(b, "0123456789");
			if (na != nb)
				return na < nb ? -1 : 1;
			int c = strncmp(a, b, na);
			if (c)
				return c;
			a += na;
			b += nb;
		} else if (*a != *b) {
			return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
		} else {
			a++;
			b++;
		}
	}
	if (*a || *b)
		return *a ? 1 : -1;
	return strcmp(a0, b0); /* n01 and n1 */
}

/* ---- reading --------------------------------------------------------------------------------- */

struct reading {
	struct report_rows *r;
	const struct report_options *o;
	size_t cells_cap, rows_cap;
};

static bool is_wanted(const struct report_options *o, const char *suite)
{
	for (size_t i = 0; i < o->n_suites; i++)
		if (strcmp(o->suites[i], suite) == 0)
			return true;
	return o->n_suites == 0;
}

static int keep_run(struct arena *a, struct run_row *row)
{
	const char **texts[] = { &row->run_id,   &row->suite, &row->app, &row->case_,
				 &row->platform, &row->kind,  &row->utc, &row->status };
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		if (!*texts[i])
			continue;
		*texts[i] = arena_strdup(a, *texts[i]);
		if (!*texts[i])
			return -ENOMEM;
	}
	return 0;
}

static int keep_cell(void *arg, const struct cell *cell)
{
	struct reading *in = arg;
	struct report_rows *r = in->r;
	struct arena *a = &r->arena;
	if (!is_wanted(in->o, cell->suite) || !cell->last.run_id)
		return 0;
	r->cells = arena_grow(a, r->cells, &in->cells_cap, r->n_cells + 1, sizeof *r->cells);
	if (!r->cells)
		return -ENOMEM;
	struct cell *kept = &r->cells[r->n_cells++];
	*kept = *cell;
	kept->suite = arena_strdup(a, cell->suite);
	kept->app = arena_strdup(a, cell->app);
	kept->case_ = arena_strdup(a, cell->case_);
	kept->platform = arena_strdup(a, cell->platform);
	if (!kept->suite || !kept->app || !kept->case_ || !kept->platform)
		return -ENOMEM;
	return keep_run(a, &kept->ok) || keep_run(a, &kept->last) ? -ENOMEM : 0;
}

static int add_row(struct reading *in, const struct report_row *row)
{
	struct report_rows *r = in->r;
	struct arena *a = &r->arena;
	r->rows = arena_grow(a, r->rows, &in->rows_cap, r->n_rows + 1, sizeof *r->rows);
	if (!r->rows)
		return -ENOMEM;
	struct report_row *kept = &r->rows[r->n_rows++];
	*kept = *row;
	kept->suite = arena_strdup(a, row->suite);
	kept->app = arena_strdup(a, row->app);
	kept->case_ = arena_strdup(a, row->case_);
	kept->title = arena_strdup(a, row->title);
	return kept->suite && kept->app && kept->case_ ? 0 : -ENOMEM;
}

static int keep_declared(void *arg, const char *suite, const struct declared_case *c)
{
	struct reading *in = arg;
	if (!is_wanted(in->o, suite))
		return 0;
	return add_row(in, &(struct report_row){ .suite = suite,
						 .app = c->app,
						 .case_ = c->case_,
						 .title = c->title && *c->title ? c->title : NULL,
						 .declared = true,
						 .order = in->r->n_rows });
}

/* ---- order ----------------------------------------------------------------------------------- */

static int by_names(const void *pa, const void *pb)
{
	const struct report_row *a = pa, *b = pb;
	int c = strcmp(a->suite, b->suite);
	if (!c)
		c = strcmp(a->app, b->app);
	return c ? c : strcmp(a->case_, b->case_);
}

static int by_place(const void *pa, const void *pb)
{
	const struct report_row *a = pa, *b = pb;
	int c = strcmp(a->suite, b->suite);
	if (c)
		return c;
	if (a->declared && b->declared)
		return a->order < b->order ? -1 : a->order > b->order;
	if (a->declared != b->declared)
		return a->declared ? -1 : 1;
	c = report_natural(a->app, b->app);
	return c ? c : report_natural(a->case_, b->case_);
}

/* Cells whose input nobody declared get a row too. */
static int add_undeclared(struct reading *in)
{
	struct report_rows *r = in->r;
	size_t n_declared = r->n_rows;
	if (n_declared)
		qsort(r->rows, n_declared, sizeof *r->rows, by_names);
	for (size_t i = 0; i < r->n_cells; i++) {
		const struct cell *c = &r->cells[i];
		struct report_row row = { .suite = c->suite, .app = c->app, .case_ = c->case_ };
		bool again = i && strcmp(c->suite, c[-1].suite) == 0 &&
			     strcmp(c->app, c[-1].app) == 0 && strcmp(c->case_, c[-1].case_) == 0;
		if (again ||
		    (n_declared && bsearch(&row, r->rows, n_declared, sizeof *r->rows, by_names)))
			continue;
		if (add_row(in, &row))
			return -ENOMEM;
	}
	if (r->n_rows)
		qsort(r->rows, r->n_rows, sizeof *r->rows, by_place);
	return 0;
}

/* The rows of one application together, applications in the order of their first row. */
static int gather_apps(struct report_rows *r)
{
	struct report_row *out = arena_array(&r->arena, r->n_rows, sizeof *out);
	bool *taken = arena_array(&r->arena, r->n_rows, sizeof *taken);
	size_t n = 0;
	if (r->n_rows && (!out || !taken))
		return -ENOMEM;
	for (size_t i = 0; i < r->n_rows; i++) {
		if (taken[i])
			continue;
		for (size_t j = i; j < r->n_rows && strcmp(r->rows[i].suite, r->rows[j].suite) == 0;
		     j++)
			if (!taken[j] && strcmp(r->rows[i].app, r->rows[j].app) == 0) {
				out[n++] = r->rows[j];
				taken[j] = true;
			}
	}
	r->rows = out;
	return 0;
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int collect_platforms(struct report_rows *r)
{
	r->platforms = arena_array(&r->arena, r->n_cells, sizeof *r->platforms);
	if (r->n_cells && !r->platforms)
		return -ENOMEM;
	size_t n = 0;
	for (size_t i = 0; i < r->n_cells; i++)
		r->platforms[n++] = r->cells[i].platform;
	if (n)
		qsort(r->platforms, n, sizeof *r->platforms, compare_texts);
	for (size_t i = 0; i < n; i++)
		if (i == 0 || strcmp(r->platforms[i], r->platforms[i - 1]) != 0)
			r->platforms[r->n_platforms++] = r->platforms[i];
	return 0;
}

static int check_suites(const struct report_rows *r, const struct report_options *o,
			struct err *err)
{
	for (size_t i = 0; i < o->n_suites; i++) {
		bool found = false;
		for (size_t j = 0; j < r->n_rows && !found; j++)
			found = strcmp(r->rows[j].suite, o->suites[i]) == 0;
		if (!found)
			return err_set(err, -ENOENT,
				       "nothing is stored for the suite \"%s\"; roimeter runs "
				       "lists what is",
				       o->suites[i]);
	}
	return 0;
}

int report_rows_read(struct report_rows *ret, struct store *s, const struct report_options *o,
		     struct err *err)
{
	*ret = (struct report_rows){ 0 };
	struct reading in = { .r = ret, .o = o };
	int rc = store_each_declared(s, NULL, NULL, keep_declared, &in, err);
	if (!rc)
		rc = store_each_cell(s, NULL, NULL, keep_cell, &in, err);
	if (!rc && (add_undeclared(&in) || gather_apps(ret) || collect_platforms(ret)))
		rc = -ENOMEM;
	if (rc == -ENOMEM)
		return err_set(err, rc, "out of memory");
	return rc ? rc : check_suites(ret, o, err);
}

void report_rows_done(struct report_rows *r)
{
	arena_free(&r->arena);
	*r = (struct report_rows){ 0 };
}

/* ---- finding --------------------------------------------------------------------------------- */

static int compare_cells(const void *pa, const void *pb)
{
	const struct cell *a = pa, *b = pb;
	int c = strcmp(a->suite, b->suite);
	if (!c)
		c = strcmp(a->app, b->app);
	if (!c)
		c = strcmp(a->case_, b->case_);
	return c ? c : strcmp(a->platform, b->platform);
}

const struct cell *report_rows_cell(const struct report_rows *r, const struct report_row *row,
				    const char *platform)
{
	struct cell key = {
		.suite = row->suite, .app = row->app, .case_ = row->case_, .platform = platform
	};
	return r->n_cells ? bsearch(&key, r->cells, r->n_cells, sizeof *r->cells, compare_cells)
			  : NULL;
}
