/* One time line in every format, and each reader finds the same in it. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/file.h"
#include "tests/unit/trace_record.h"
#include "tests/unit/trace_write.h"

static char folder[64] = "/tmp/roimeter-formats.XXXXXX";

static const char *in_folder(const char *name)
{
	static char path[512];
	(void)snprintf(path, sizeof path, "%s/%s", folder, name);
	return path;
}

static void read_with(struct trace_sink *t, const struct trace_reader *reader, const char *path,
		      enum trace_pass pass)
{
	struct source *s;
	struct err err = { 0 };
	if (source_open(&s, path, &err))
		fail_msg("%s", err.text);
	assert_true(reader->knows(s));
	if (reader->read(s, TRACE_RANGES, t, &err) || reader->read(s, pass, t, &err))
		fail_msg("%s", err.text);
	source_close(s);
}

/* ---- is it all there? ----------------------------------------------------------------------- */

struct seen {
	int64_t processes[2];
	uint32_t devices[2];
	bool process[2], device[2];
};

/* The same of ours is always the same of theirs. */
static bool same_process(struct seen *s, int ours, int64_t theirs)
{
	if (!s->process[ours]) {
		s->process[ours] = true;
		s->processes[ours] = theirs;
	}
	return s->processes[ours] == theirs;
}

static bool same_device(struct seen *s, int ours, uint32_t theirs)
{
	if (!s->device[ours]) {
		s->device[ours] = true;
		s->devices[ours] = theirs;
	}
	return s->devices[ours] == theirs;
}

static size_t times_found(const struct trace_sink *t, struct seen *s, const struct line_op *o,
			  bool sized)
{
	size_t found = 0;
	for (size_t i = 0; i < t->n_ops; i++) {
		const struct recorded_op *x = &t->ops[i];
		if (x->begin != line_begin(o) || x->end != line_end(o) ||
		    x->category != o->category)
			continue;
		bool bytes = line_kernel(o) || (!sized && isnan(x->bytes)) ||
			     x->bytes == (double)o->bytes;
		bool name = !line_kernel(o) || strcmp(t->names[x->name], o->name) == 0;
		found += bytes && name && same_process(s, o->process, x->process) &&
			 same_device(s, o->gpu, x->device);
	}
	return found;
}

/* only: of this process; BOTH. */
#define BOTH (-1)
static void all_is_there(struct trace_sink *t, int only, unsigned observes, bool sized)
{
	struct seen s = { 0 };
	size_t ops = 0, untimed = 0;
	assert_int_equal(t->observes & ~(1u << OTHER), observes);
	for (size_t i = 0; i < LINE_OPS; i++) {
		const struct line_op *o = &line_ops[i];
		if (!(observes & 1u << o->category) || (only != BOTH && o->process != only))
			continue;
		ops += o->end != 0;
		untimed += o->end == 0;
		if (o->end && times_found(t, &s, o, sized) != 1)
			fail_msg("operation %zu is there %zu times", i,
				 times_found(t, &s, o, sized));
	}
	assert_int_equal(t->n_ops, ops);
	assert_int_equal(t->untimed, untimed);
	size_t ranges = 0;
	for (size_t i = 0; i < LINE_RANGES; i++) {
		size_t found = 0;
		if (only != BOTH && line_ranges[i].process != only)
			continue;
		ranges++;
		for (size_t k = 0; k < t->n_ranges; k++)
			found += t->ranges[k].begin == LINE_BASE + line_ranges[i].begin &&
				 t->ranges[k].end == LINE_BASE + line_ranges[i].end &&
				 strcmp(t->ranges[k].name, line_name(&line_ranges[i])) == 0 &&
				 same_process(&s, line_ranges[i].process, t->ranges[k].process);
		assert_int_equal(found, 1);
	}
	assert_int_equal(t->n_ranges, ranges);
	assert_true(only != BOTH || s.processes[0] != s.processes[1]);
	assert_true(!s.device[0] || !s.device[1] || s.devices[0] != s.devices[1]);
	sink_done(t);
}

#define KERNELS (1u << COMPUTE | 1u << COLLECTIVE)
#define COPIES (1u << COPY_H2D | 1u << COPY_D2H | 1u << COPY_D2D | 1u << COPY_OTHER)

/* ---- formats -------------------------------------------------------------------------------- */

static void nsys_of_four_generations(void **state)
{
	(void)state;
	static const int years[] = { 2020, 2022, 2024, 2026 };
	for (size_t i = 0; i < 4; i++) {
		struct trace_sink t = { 0 };
		line_write_nsys(in_folder("nsys.sqlite"), years[i]);
		read_with(&t, &nsys_reader, in_folder("nsys.sqlite"), TRACE_OPERATIONS);
		all_is_there(&t, BOTH, KERNELS | COPIES | 1u << FILL, true);
		read_with(&t, &nsys_reader, in_folder("nsys.sqlite"), TRACE_ORDERED);
		assert_int_equal(t.unordered, 0);
		all_is_there(&t, BOTH, KERNELS | COPIES | 1u << FILL, true);
	}
}

static void rocprofv3_s_database(void **state)
{
	(void)state;
	struct trace_sink t = { 0 };
	line_write_rocpd(in_folder("results.db"));
	read_with(&t, &rocprof_reader, in_folder("results.db"), TRACE_OPERATIONS);
	all_is_there(&t, BOTH, KERNELS | COPIES, true);
	read_with(&t, &rocprof_reader, in_folder("results.db"), TRACE_ORDERED);
	assert_int_equal(t.unordered, 0);
	all_is_there(&t, BOTH, KERNELS | COPIES, true);
}

static void rpd(void **state)
{
	(void)state;
	struct trace_sink t = { 0 };
	line_write_rpd(in_folder("trace.rpd"));
	read_with(&t, &rocprof_reader, in_folder("trace.rpd"), TRACE_OPERATIONS);
	all_is_there(&t, BOTH, KERNELS | COPIES | 1u << FILL, false);
}

static void rocprofv3_s_json(void **state)
{
	(void)state;
	struct trace_sink t = { 0 };
	line_write_json(in_folder("results.json"));
	read_with(&t, &rocprof_reader, in_folder("results.json"), TRACE_OPERATIONS);
	all_is_there(&t, BOTH, KERNELS | COPIES, true);
}

static void rocprofv3_s_csv(void **state)
{
	(void)state;
	static const char *const kinds[] = { "kernel", "memory_copy", "marker_api" };
	struct trace_sink t = { 0 };
	for (int p = 0; p < 2; p++) {
		line_write_csv(folder, p);
		for (size_t k = 0; k < 3; k++) {
			char name[64];
			(void)snprintf(name, sizeof name, "%d_%s_trace.csv", line_pids[p],
				       kinds[k]);
			read_with(&t, &rocprof_reader, in_folder(name), TRACE_OPERATIONS);
		}
	}
	all_is_there(&t, BOTH, KERNELS | COPIES, false);
}

static void pytorch(void **state)
{
	(void)state;
	for (int p = 0; p < 2; p++) {
		struct trace_sink t = { 0 };
		line_write_kineto(in_folder("trace.json"), p);
		read_with(&t, &kineto_reader, in_folder("trace.json"), TRACE_OPERATIONS);
		all_is_there(&t, p, KERNELS | COPIES | 1u << FILL, true);
	}
}

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	(void)state;
	return file_remove_tree(folder, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nsys_of_four_generations),
		cmocka_unit_test(rocprofv3_s_database),
		cmocka_unit_test(rpd),
		cmocka_unit_test(rocprofv3_s_json),
		cmocka_unit_test(rocprofv3_s_csv),
		cmocka_unit_test(pytorch),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
