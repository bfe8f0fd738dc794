/* The store's grid against a plain look at the runs, while these come, change and go. */
#define _GNU_SOURCE
#include "tests/unit/store_fixture.h"

#define RUNS 400

struct kept {
	struct record rec;
	bool there;
};

static const struct record *latest(struct kept *kept, const struct cell *c, bool ok_only,
				   uint64_t *ret_n)
{
	const struct record *best = NULL;
	*ret_n = 0;
	for (size_t i = 0; i < RUNS; i++) {
		const struct record_body *b = &kept[i].rec.body;
		if (!kept[i].there || strcmp(b->suite, c->suite) || strcmp(b->app, c->app) ||
		    strcmp(b->case_, c->case_) || strcmp(b->platform, c->platform))
			continue;
		++*ret_n;
		if (ok_only && strcmp(b->status, "ok") != 0)
			continue;
		if (!best || strcmp(b->run_id, best->body.run_id) > 0)
			best = &kept[i].rec;
	}
	return best;
}

static void assert_num(double a, double b)
{
	if (!(isnan(a) && isnan(b)) && num15(a) != num15(b))
		fail_msg("%.17g is not %.17g", a, b);
}

static void assert_row(const struct run_row *row, const struct record *rec)
{
	if (!rec) {
		assert_null(row->run_id);
		return;
	}
	const struct record_body *b = &rec->body;
	assert_string_equal(row->run_id, b->run_id);
	assert_string_equal(row->suite, b->suite);
	assert_string_equal(row->app, b->app);
	assert_string_equal(row->case_, b->case_);
	assert_string_equal(row->platform, b->platform);
	assert_string_equal(row->kind, b->kind);
	assert_string_equal(row->utc, b->utc);
	assert_string_equal(row->status, b->status);
	assert_num(row->wall_s, b->roi.wall_s);
	assert_num(row->cv, b->roi.cv);
	assert_num(row->min_s, b->roi.min_s);
	assert_num(row->max_s, b->roi.max_s);
	assert_num(row->samples, b->measurement.cleans_used);
	assert_num(row->process_wall_s, b->context.process_wall_s);
	assert_num(row->busy_frac, b->device.busy_frac_of_roi);
	assert_num(row->fom, b->fom.value);
	assert_num(row->caveats, b->caveats.items ? (double)b->caveats.n : (double)NAN);
}

struct seen {
	struct kept *kept;
	uint64_t runs, cells;
	char before[600]; /* the last cell's names: they come in order */
};

static int see_cell(void *arg, const struct cell *c)
{
	struct seen *seen = arg;
	char names[600];
	uint64_t n;
	(void)snprintf(names, sizeof names, "%s\1%s\1%s\1%s", c->suite, c->app, c->case_,
		       c->platform);
	assert_true(strcmp(seen->before, names) < 0);
	memcpy(seen->before, names, sizeof names);
	assert_row(&c->last, latest(seen->kept, c, false, &n));
	assert_row(&c->ok, latest(seen->kept, c, true, &n));
	assert_int_equal(c->runs, n);
	seen->runs += n;
	seen->cells++;
	return 0;
}

static void compare_grid(struct store *s, struct kept *kept)
{
	struct seen seen = { .kept = kept };
	uint64_t there = 0;
	for (size_t i = 0; i < RUNS; i++)
		there += kept[i].there;
	assert_int_equal(store_each_cell(s, NULL, NULL, see_cell, &seen, NULL), 0);
	assert_int_equal(seen.runs, there); /* no cell is missing */
	struct seen parts = { .kept = kept };
	assert_int_equal(store_each_cell(s, "Suite-2", NULL, see_cell, &parts, NULL), 0);
	assert_int_equal(store_each_cell(s, "demo", "heat", see_cell, &parts, NULL), 0);
	assert_int_equal(store_each_cell(s, "demo", "lj.melt", see_cell, &parts, NULL), 0);
	assert_int_equal(parts.cells, seen.cells);
	struct seen apps = { .kept = kept };
	assert_int_equal(store_each_cell(s, NULL, "heat", see_cell, &apps, NULL), 0);
	apps.before[0] = 0;
	assert_int_equal(store_each_cell(s, NULL, "lj.melt", see_cell, &apps, NULL), 0);
	assert_int_equal(apps.cells, seen.cells);
}

/* Another record under the same id, maybe of another cell. */
static void change(struct store *s, struct kept *k, struct dice *d)
{
	struct record other;
	any_record(&other, d, 1);
	other.body.run_id = arena_strdup(&other.arena, k->rec.body.run_id);
	if (!k->there) {
		assert_int_equal(store_replace_run(s, &other, NULL), -ENOENT);
		record_done(&other);
		return;
	}
	assert_int_equal(store_add_run(s, &other, NULL), -EEXIST);
	assert_int_equal(store_replace_run(s, &other, NULL), 0);
	assert_int_equal(store_replace_run(s, &other, NULL), 0); /* the same again */
	assert_stored(s, &other);
	record_done(&k->rec);
	k->rec = other;
}

/* Runs come in any order, change and go again; after each few steps the grid is compared. */
static void the_grid_is_what_the_runs_say(void **state)
{
	(void)state;
	struct store *s = open_store(STORE_WRITE);
	struct kept *kept = calloc(RUNS, sizeof *kept);
	struct dice d = { 5 };
	assert_non_null(kept);
	for (unsigned i = 0; i < RUNS; i++)
		any_record(&kept[i].rec, &d, i);
	assert_int_equal(store_begin(s, NULL), 0);
	for (unsigned step = 0; step < 1500; step++) {
		struct kept *k = &kept[below(&d, RUNS)];
		if (below(&d, 4) == 0)
			change(s, k, &d);
		else if (k->there && below(&d, 3) == 0)
			add(s, &k->rec); /* again */
		else if (k->there)
			assert_int_equal(store_delete_run(s, k->rec.body.run_id, NULL), 0);
		else
			add(s, &k->rec);
		struct record got;
		k->there = store_get_run(s, k->rec.body.run_id, &got, NULL) == 0;
		record_done(&got);
		if (step % 50 == 0)
			compare_grid(s, kept);
	}
	compare_grid(s, kept);
	for (unsigned i = 0; i < RUNS; i++)
		if (kept[i].there)
			assert_int_equal(store_delete_run(s, kept[i].rec.body.run_id, NULL), 0);
	assert_int_equal(store_commit(s, NULL), 0);
	assert_int_equal(ask("SELECT (SELECT count(*) FROM cell) + (SELECT count(*) FROM run) + "
			     "(SELECT count(*) FROM run_body)"),
			 0);
	for (unsigned i = 0; i < RUNS; i++)
		record_done(&kept[i].rec);
	free(kept);
	store_close(s);
}

int main(void)
{
	(void)alarm(110);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_grid_is_what_the_runs_say, make_folder,
						remove_folder),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
