/* Any bytes as one of the texts that the samplers read; the first byte says which. No value is
 * below 0, none is infinite, and the packed names and values are whole. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "agent/sample_impl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check(const double *values, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (values[i] < 0 || isinf(values[i]))
			abort();
}

static void check_pairs(struct buf *b)
{
	struct str list = batch_list(b), name;
	double value;
	while (batch_pair_next(&list, &name, &value))
		check(&value, 1);
	if (list.n)
		abort();
	buf_done(b);
}

static void node_file(size_t which, struct str text)
{
	const struct sampler *m = sample_table[which];
	double values[SAMPLE_MAX_VALUES];
	struct buf more = { 0 };
	void *self = NULL;
	for (size_t i = 0; i < SAMPLE_MAX_VALUES; i++)
		values[i] = (double)NAN;
	if (!m->path || (m->open && m->open(&self, "tests/fixtures/node")))
		return;
	if (m->parse)
		m->parse(self, text, values, &more);
	else
		text_keys(text, m->keys, m->n_keys, values);
	check(values, m->n_keys);
	check_pairs(&more);
	if (m->close)
		m->close(self, NULL);
}

static void groups(struct str mounts, struct str cgroup)
{
	struct sample_reader r = { .root = "" };
	struct sample_mounts m = { .known = false };
	struct sample_group *list = NULL, *a = NULL, *b = NULL, *c = NULL, *d = NULL;
	if (sample_mounts_read(&m, mounts))
		return;
	if (!sample_group_join(&list, &m, cgroup, &a, &b))
		(void)sample_group_join(&list, &m, cgroup, &c, &d);
	if (a != c || b != d)
		abort();
	sample_group_leave(&list, a, &r);
	sample_group_leave(&list, b, &r);
	sample_group_leave(&list, c, &r);
	sample_group_leave(&list, d, &r);
	if (list)
		abort();
	sample_mounts_done(&m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const char mounts[] =
		"1 2 0:1 / /sys/fs/cgroup rw - cgroup2 c rw\n"
		"1 2 0:2 /part /sys/fs/cgroup/memory rw shared:1 - cgroup c rw,memory\n";
	double values[32] = { 0 };
	struct buf more = { 0 };
	uint64_t start;
	if (!n)
		return 0;
	struct str text = { .p = (const char *)data + 1, .n = n - 1 };
	unsigned which = data[0];
	for (size_t i = 0; i < sizeof values / sizeof *values; i++)
		values[i] = (double)NAN;
	if (which >= 'a' && which < 'a' + SAMPLERS)
		node_file(which - 'a', text);
	else if (which >= 'A' && which < 'A' + GROUP_FILES)
		sample_group_file(which - 'A', text, values);
	else if (which == '0')
		sample_process_stat(text, values, &start);
	else if (which == '1')
		sample_process_io(text, values);
	else if (which == '2')
		(void)sample_nfs_read(text, &more);
	else if (which == '3')
		(void)sample_lustre_read(text, values);
	else if (which == '4')
		groups(text, str_of("4:memory:/part/slurm/uid_1/job_2/step_3\n0::/a/b\n"));
	else if (which == '5')
		groups(str_of(mounts), text);
	check(values, sizeof values / sizeof *values);
	check_pairs(&more);
	return 0;
}
