/* Traces of all formats through the real engine: each window of each file to the nanosecond, and
 * what becomes of them as records. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <glob.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/picture.h"
#include "import/trace_impl.h"
#include "schema/codec.h"

#define HERE "tests/fixtures/device/"
#define SHARED "../shared/data/device/"

static int64_t number(json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

#define SAME(what, got, want)                                                                      \
	do {                                                                                       \
		long long g_ = (long long)(got), w_ = (long long)(want);                           \
		if (g_ != w_)                                                                      \
			fail_msg("%s: %s: %s: %lld, expected %lld", where.file, where.window,      \
				 what, g_, w_);                                                    \
	} while (0)

static struct {
	const char *file, *window;
} where;

/* ---- windows of files that others computed
 * ---------------------------------------------------------- */

struct job {
	struct source *s;
	const struct trace_reader *reader;
	struct trace_sink t;
	const struct picture *const *pictures;
	size_t n;
	struct clip clip;
	struct arena a;
};

static void start(struct job *j, const struct trace_options *o)
{
	struct err err = { 0 };
	trace_begin(&j->t, o);
	if (j->reader->read(j->s, TRACE_RANGES, &j->t, &err))
		fail_msg("%s", err.text);
}

static void work(struct job *j)
{
	struct err err = { 0 };
	if (trace_operations(&j->t, j->reader, &j->s, 1, &j->pictures, &j->n, &err))
		fail_msg("%s", err.text);
	if (picture_merge(j->pictures, j->n, &j->a, &j->clip, &err))
		fail_msg("%s", err.text);
}

static void stop(struct job *j)
{
	trace_end(&j->t);
	arena_free(&j->a);
}

/* The window as marks of every process; some readers tell of processes with their operations. */
static void mark(struct job *j, json_t *segments)
{
	if (!j->t.n_members)
		work(j);
	for (size_t m = 0; m < j->t.n_members; m++) {
		int64_t process = j->t.members[m].number;
		for (size_t i = 0; i < json_array_size(segments); i++) {
			json_t *pair = json_array_get(segments, i);
			assert_int_equal(trace_range(&j->t, process, str_of("roimeter:roi"),
						     json_integer_value(json_array_get(pair, 0)),
						     json_integer_value(json_array_get(pair, 1))),
					 0);
		}
	}
}

static void same_devices(const struct clip *c, json_t *by)
{
	for (size_t i = 0; i < c->n_devices; i++) {
		const struct clip_device *d = &c->devices[i];
		char key[128];
		(void)snprintf(key, sizeof key, "%.*s", (int)strcspn(d->name, " "), d->name);
		if (!json_object_get(by, key))
			(void)snprintf(key, sizeof key, "%s", d->name);
		SAME(d->name, d->busy_ns, number(by, key));
	}
}

static void same_sums(const struct clip *c, json_t *w)
{
	bool whole = strcmp(where.window, "whole") == 0;
	SAME("wall", c->wall_ns, number(w, "wall_ns"));
	SAME("busy", c->roi.device_busy_ns, number(w, "busy_ns"));
	SAME("sum", c->roi.op_sum_ns, number(w, "sum_ns"));
	SAME("overlap", (double)c->roi.op_sum_ns - c->roi.device_busy_ns, number(w, "overlap_ns"));
	same_devices(c, json_object_get(w, "busy_ns_by_device"));
	double ops = 0;
	for (enum category k = 0; k < CATEGORIES; k++) {
		json_t *x = json_object_get(json_object_get(w, "categories"), category_name(k));
		if (isnan(c->roi.ops[k])) {
			assert_null(x);
			continue;
		}
		ops += c->roi.ops[k];
		SAME(category_name(k), c->roi.time_ns[k], number(x, "time_ns"));
		SAME("union of the category", c->roi.union_ns[k], number(x, "union_ns"));
		SAME("ops of the category", c->roi.ops[k], number(x, "ops_touching"));
		/* What is pro rata elsewhere is all of it in the whole; nobody computed those of
		 * rpd. */
		if (whole && !isnan(c->roi.bytes[k]) && !strstr(where.file, "rpd-"))
			SAME("bytes", c->roi.bytes[k], number(x, "bytes"));
	}
	SAME("ops_touching", ops, number(w, "ops_touching"));
}

/* A name that has ranges is the region by its name; in one process that is the same everywhere. */
static void one_window(struct job *j, json_t *w)
{
	const char *name = where.window = json_string_value(json_object_get(w, "name"));
	bool marker = strncmp(name, "marker:", 7) == 0;
	struct trace_options o = { .range = marker ? name + 7 : NULL };
	start(j, &o);
	if (marker && j->t.n_members > 1) {
		stop(j);
		return;
	}
	if (marker)
		assert_true(j->t.matched[0] > 0);
	else
		mark(j, json_object_get(w, "segments_ns"));
	work(j);
	same_sums(&j->clip, w);
	assert_true(isnan(j->clip.late) || j->clip.late == 0);
	stop(j);
}

static void one_file(const struct trace_reader *reader, const char *path)
{
	char expected[512];
	const char *slash = strrchr(path, '/');
	struct err err = { 0 };
	struct job j = { .reader = reader };
	(void)snprintf(expected, sizeof expected, "%.*sexpected/%s.json", (int)(slash + 1 - path),
		       path, slash + 1);
	json_t *json = json_load_file(expected, 0, NULL), *w;
	size_t i;
	assert_non_null(json);
	where.file = slash + 1;
	if (source_open(&j.s, path, &err))
		fail_msg("%s", err.text);
	assert_true(reader->knows(j.s));
	json_array_foreach(json_object_get(json, "windows"), i, w) one_window(&j, w);
	source_close(j.s);
	json_decref(json);
}

static void all_of(const char *folder)
{
	static const struct {
		const struct trace_reader *reader;
		const char *files;
		size_t least;
	} formats[] = {
		{ &kineto_reader, "kineto-*", 7 },
		{ &nsys_reader, "nsys-*", 2 },
		{ &rocprof_reader, "r*p*[zv]", 4 },
		{ &xplane_reader, "xplane-*", 1 },
	};
	for (size_t k = 0; k < sizeof formats / sizeof *formats; k++) {
		char pattern[256];
		glob_t found;
		(void)snprintf(pattern, sizeof pattern, "%s%s", folder, formats[k].files);
		assert_int_equal(glob(pattern, 0, NULL, &found), 0);
		assert_true(found.gl_pathc >= formats[k].least);
		for (size_t i = 0; i < found.gl_pathc; i++)
			one_file(formats[k].reader, found.gl_pathv[i]);
		globfree(&found);
	}
}

static void every_window_is_as_others_computed_it(void **state)
{
	(void)state;
	all_of(HERE);
}

static void every_window_of_the_shared_files(void **state)
{
	(void)state;
	if (access(SHARED "README.md", R_OK))
		skip(); /* ../shared/data/device is not here */
	all_of(SHARED);
}

/* ---- records
 * ------------------------------------------------------------------------------------------- */

static void import(struct imports *ret, const struct trace_reader *reader, const char *path,
		   const struct trace_options *o)
{
	struct err err = { 0 };
	if (import_traces(ret, reader, &path, 1, o, &err))
		fail_msg("%s", err.text);
	assert_int_equal(ret->n_records, 1);
}

static bool has_caveat(const struct record_body *b, const char *code)
{
	for (size_t i = 0; i < b->caveats.n; i++)
		if (strcmp(b->caveats.items[i].code, code) == 0)
			return true;
	return false;
}

static void without_a_region_the_whole_trace_is_told(void **state)
{
	(void)state;
	struct imports in;
	struct trace_options o = { 0 };
	import(&in, &kineto_reader, HERE "kineto-sglang-decode.json.gz", &o);
	const struct record_body *b = &in.records[0]->body;
	assert_string_equal(b->status, "roi_missing");
	assert_non_null(strstr(b->status_text, "no region"));
	assert_string_equal(b->kind, "imported");
	assert_string_equal(b->suite, "imported");
	assert_string_equal(b->app, "kineto-sglang-decode");
	assert_string_equal(b->case_, "trace");
	assert_string_equal(b->platform, "unknown");
	assert_string_equal(b->utc, "2026-05-28T17:14:24Z"); /* base and first event */
	assert_string_equal(b->measurement.collector, "kineto");
	assert_string_equal(b->runtime_api.name, "hip");
	assert_string_equal(b->platform_info.runtime, "hip7.2");
	assert_true(isnan(b->device.busy_s));
	assert_null(b->device.per_device.items);
	assert_true(b->context.whole_process.process_device_busy_s == 0.009772926);
	assert_true(b->context.whole_process.device_overlap_s == 0.000005688);
	assert_string_equal(b->ops_scope, "whole_process");
	assert_true(b->ops.n > 0);
	assert_true(isnan(b->roi.wall_s) && isnan(b->roi.profiled_wall_s));
	assert_false(has_caveat(b, "region_profiled_only"));
	imports_done(&in);
}

static void with_a_region_shares_are_of_the_profiled_one(void **state)
{
	(void)state;
	struct imports in;
	struct trace_options o = { .range = "ProfilerStep#[12]",
				   .exclude = "Optimizer*",
				   .app = "toy" };
	import(&in, &kineto_reader, HERE "kineto-mi250-minitoy.json.gz", &o);
	const struct record_body *b = &in.records[0]->body;
	assert_string_equal(b->status, "roi_missing");
	assert_non_null(strstr(b->status_text, "no clean execution"));
	assert_string_equal(b->app, "toy");
	assert_string_equal(b->roi.source, "range");
	assert_string_equal(b->measurement.region, "range:ProfilerStep#[12]");
	assert_true(isnan(b->roi.wall_s) && isnan(b->device.busy_frac_of_roi) &&
		    isnan(b->device.host_gap_s));
	assert_true(b->roi.profiled_wall_s > 0 && b->roi.excluded_s > 0);
	assert_true(b->roi.processes == 1);
	double share = b->device.busy_s / b->roi.profiled_wall_s;
	assert_true(fabs(b->device.busy_frac_of_profiled_roi - share) < 1e-9);
	assert_string_equal(b->ops_scope, "roi");
	assert_true(b->device.per_device.n == 4); /* three were idle: 0, not null */
	assert_true(b->device.per_device.items[0].busy_s == 0);
	assert_true(b->device.per_device.items[2].busy_s > 0);
	assert_true(isnan(b->device.copy_h2d_bytes)); /* of one copy nobody tells the size */
	assert_true(b->gap.device_idle_s > 0 && b->gap.sync_s >= 0 && isnan(b->gap.cpu_s));
	assert_true(has_caveat(b, "region_profiled_only"));
	imports_done(&in);
}

static void no_word_of_a_device_is_null(void **state)
{
	(void)state;
	struct imports in;
	struct trace_options o = { .range = "gloo:*" };
	import(&in, &kineto_reader, HERE "kineto-cpu-only.json.gz", &o);
	const struct record_body *b = &in.records[0]->body;
	assert_true(isnan(b->context.whole_process.busy_s) &&
		    isnan(b->context.whole_process.compute_ops));
	assert_true(isnan(b->device.busy_s) && isnan(b->device.compute_s) &&
		    !b->device.per_device.items);
	assert_true(isnan(b->runtime_api.calls) && isnan(b->gap.device_idle_s));
	assert_null(b->ops.items);
	assert_true(b->roi.profiled_wall_s > 0);
	assert_true(has_caveat(b, "device_not_observed"));
	imports_done(&in);
}

static void the_same_file_is_the_same_record(void **state)
{
	(void)state;
	static const struct {
		const struct trace_reader *reader;
		const char *path;
	} files[] = {
		{ &kineto_reader, HERE "kineto-event-sync.json.gz" },
		{ &nsys_reader, HERE "nsys-2022.2-saxpy-mpi.sqlite.gz" },
		{ &rocprof_reader, HERE "rocpd-v3-tiny.db.gz" },
		{ &xplane_reader, HERE "xplane-mi350-jax-attn.xplane.pb.gz" },
	};
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		struct imports in[2];
		struct trace_options o = { .utc = "2026-01-02T03:04:05Z" };
		char *text[2];
		for (size_t k = 0; k < 2; k++) {
			import(&in[k], files[i].reader, files[i].path, &o);
			json_t *json = record_to_json(in[k].records[0]);
			text[k] = json_dumps(json, 0);
			json_decref(json);
		}
		assert_string_equal(text[0], text[1]);
		assert_memory_equal(in[0].records[0]->body.run_id, "20260102T030405Z-", 17);
		for (size_t k = 0; k < 2; k++) {
			free(text[k]);
			imports_done(&in[k]);
		}
	}
}

static void a_file_named_twice_is_one_record(void **state)
{
	(void)state;
	struct imports in;
	struct err err = { 0 };
	struct trace_options o = { 0 };
	const char *paths[] = { HERE "kineto-event-sync.json.gz",
				HERE "kineto-mi250-minitoy.json.gz",
				HERE "kineto-event-sync.json.gz" };
	assert_int_equal(import_traces(&in, &kineto_reader, paths, 3, &o, &err), 0);
	assert_int_equal(in.n_records, 2);
	imports_done(&in);
}

static void refuses(const struct trace_reader *reader, const char *path,
		    const struct trace_options *o, const char *word)
{
	struct imports in;
	struct err err = { 0 };
	const char *paths[] = { HERE "kineto-event-sync.json.gz", path };
	bool good_first = reader == &kineto_reader && !o->range;
	assert_int_equal(import_traces(&in, reader, good_first ? paths : &paths[1],
				       good_first ? 2 : 1, o, &err),
			 -EINVAL);
	if (!strstr(err.text, word))
		fail_msg("no \"%s\" in: %s", word, err.text);
	assert_int_equal(in.n_records, 0); /* all or nothing */
}

static void what_is_wrong_is_refused_as_a_whole(void **state)
{
	(void)state;
	struct trace_options o = { 0 }, range = { .range = "Step*" }, utc = { .utc = "soon" },
			     suite = { .suite = "a b" };
	refuses(&kineto_reader, HERE "malformed-truncated.json", &o,
		"malformed-truncated.json: byte 15090");
	refuses(&kineto_reader, HERE "nsys-minimal-handmade.sqlite.gz", &o, "byte 0");
	refuses(&nsys_reader, HERE "kineto-event-sync.json.gz", &o, "SQLite");
	refuses(&xplane_reader, HERE "kineto-event-sync.json.gz", &o, "byte");
	refuses(&xplane_reader, HERE "malformed-xplane-tpu.pb", &o,
		"malformed-xplane-tpu.pb: byte");
	refuses(&kineto_reader, HERE "kineto-mi250-minitoy.json.gz", &range,
		"\"ProfilerStep#2\" (1, ");
	refuses(&kineto_reader, HERE "kineto-event-sync-multistream.json.gz", &range,
		"no ranges of its program");
	refuses(&kineto_reader, HERE "kineto-event-sync.json.gz", &utc, "--utc soon");
	refuses(&kineto_reader, HERE "kineto-event-sync.json.gz", &suite, "suite");
}

/* ---- what comes in no order
 * ------------------------------------------------------------------------------ */

/* One device works from i * 10 to i * 10 + 15 for each i below n; in an order of our own. */
struct made {
	size_t n;
	size_t (*place)(size_t i, size_t n);
	int ordered; /* what TRACE_ORDERED answers */
	int asked;   /* how often it was */
};
static struct made made;

static int made_read(struct source *s, enum trace_pass pass, struct trace_sink *t, struct err *err)
{
	uint32_t device, name;
	(void)s;
	if (pass == TRACE_RANGES)
		return 0;
	assert_int_equal(trace_observes(t, 1u << COMPUTE), 0);
	assert_int_equal(trace_device(t, "0", NULL, &device), 0);
	assert_int_equal(trace_name(t, str_of("k"), &name), 0);
	if (pass == TRACE_ORDERED) {
		made.asked++;
		if (made.ordered)
			return err_set(err, made.ordered, "no order");
	}
	for (size_t i = 0; i < made.n; i++) {
		int64_t at =
			(int64_t)(pass == TRACE_ORDERED ? i : made.place(i, made.n)) * 10 + 1000;
		assert_int_equal(trace_op(t, 7, device, COMPUTE, name, at, at + 15, NAN), 0);
	}
	return 0;
}

static size_t backwards(size_t i, size_t n)
{
	return n - 1 - i;
}

static size_t two_halves(size_t i, size_t n)
{
	return i < n / 2 ? 2 * i : 2 * (i - n / 2) + 1;
}

static void busy_of_made(const struct trace_reader *reader, size_t n,
			 size_t (*place)(size_t, size_t), int ordered)
{
	struct err err = { 0 };
	struct job j = { .reader = reader };
	struct trace_options o = { 0 };
	made = (struct made){ .n = n, .place = place, .ordered = ordered };
	assert_int_equal(source_open(&j.s, HERE "README.md", &err), 0);
	start(&j, &o);
	work(&j);
	assert_int_equal((int64_t)j.clip.whole.device_busy_ns, (int64_t)(n - 1) * 10 + 15);
	assert_int_equal(j.clip.whole.op_sum_ns, n * 15);
	assert_true(j.clip.whole.ops[COMPUTE] == (double)n);
	assert_true(isnan(j.clip.whole.ops[FILL]));
	assert_true(isnan(j.clip.late) || j.clip.late == 0);
	stop(&j);
	source_close(j.s);
}

static void operations_in_no_order_are_put_in_order(void **state)
{
	(void)state;
	const struct trace_reader plain = { .name = "made", .read = made_read };
	const struct trace_reader unordered = { .name = "made",
						.unordered = true,
						.read = made_read };
	busy_of_made(&plain, 1000, backwards, 0);
	assert_int_equal(made.asked, 0); /* the flow's own ring had room */
	busy_of_made(&plain, 100000, backwards, 0);
	assert_int_equal(made.asked, 1);
	busy_of_made(&plain, 100000, two_halves, -ENOTSUP);
	assert_int_equal(made.asked, 1);
	busy_of_made(&unordered, 100000, backwards, -ENOTSUP);
	busy_of_made(&unordered, 700000, two_halves, -ENOTSUP); /* more than wait at once */
	assert_int_equal(made.asked, 0);
}

/* ---- many names
 * -------------------------------------------------------------------------------------------- */

static void names_brackets_and_stars(void **state)
{
	(void)state;
	struct trace_options o = { .range = "[param|cuda]" }, any = { .range = "*" },
			     one = { .range = "step" };
	struct trace_sink t;
	trace_begin(&t, &o);
	assert_int_equal(trace_range(&t, 0, str_of("[param|cuda]"), 1, 2), 0);
	assert_int_equal(trace_range(&t, 0, str_of("p"), 1, 2),
			 0); /* as a glob it is one of these letters */
	assert_int_equal(trace_range(&t, 0, str_of("pa"), 1, 2), 0);
	assert_int_equal(t.matched[0], 2);
	trace_end(&t);
	trace_begin(&t, &any);
	assert_true(trace_wants(&t, str_of("x")));
	assert_int_equal(trace_range(&t, 3, str_of("anything"), 1, 2), 0);
	assert_int_equal(t.matched[0], 1);
	trace_end(&t);
	trace_begin(&t, &one);
	assert_true(trace_wants(&t, str_of("other"))); /* to tell what there is */
	assert_int_equal(trace_range(&t, 3, str_of("step"), 1, 2), 0);
	assert_false(trace_wants(&t, str_of("other")));
	assert_true(trace_wants(&t, str_of("roimeter:exclude")));
	trace_end(&t);
}

static void more_names_than_there_is_room_for(void **state)
{
	(void)state;
	struct trace_options o = { .range = "none" };
	struct trace_sink t;
	uint32_t device, number = 0;
	trace_begin(&t, &o);
	assert_int_equal(trace_device(&t, "0", NULL, &device), 0);
	for (int i = 0; i < 70000; i++) {
		char name[32];
		(void)snprintf(name, sizeof name, "n%d", i);
		assert_int_equal(trace_name(&t, str_of(name), &number), 0);
		assert_int_equal(trace_op(&t, 0, device, COMPUTE, number, i + 1, i + 2, NAN), 0);
		assert_int_equal(trace_range(&t, 0, str_of(name), 1, 2), 0);
	}
	assert_int_equal(number, 0);
	assert_int_equal(t.ranges.n, 4096);
	assert_true(t.too_many > 0);
	assert_int_equal(trace_name(&t, str_of("n5"), &number), 0);
	assert_int_not_equal(number, 0);
	trace_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_window_is_as_others_computed_it),
		cmocka_unit_test(every_window_of_the_shared_files),
		cmocka_unit_test(without_a_region_the_whole_trace_is_told),
		cmocka_unit_test(with_a_region_shares_are_of_the_profiled_one),
		cmocka_unit_test(no_word_of_a_device_is_null),
		cmocka_unit_test(the_same_file_is_the_same_record),
		cmocka_unit_test(a_file_named_twice_is_one_record),
		cmocka_unit_test(what_is_wrong_is_refused_as_a_whole),
		cmocka_unit_test(operations_in_no_order_are_put_in_order),
		cmocka_unit_test(names_brackets_and_stars),
		cmocka_unit_test(more_names_than_there_is_room_for),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
