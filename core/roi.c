/* What marks add up to. */
#include "core/roi.h"

#include <errno.h>
#include <string.h>

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void add_entry(struct roi_process *p, uint64_t gross, uint64_t excluded)
{
	uint64_t net = gross - excluded;
	p->entry_min_ns = p->finished ? min_u64(p->entry_min_ns, net) : net;
	p->entry_max_ns = max_u64(p->entry_max_ns, net);
	p->finished++;
	p->gross_ns += gross;
	p->excluded_ns += excluded;
}

/* Entries of one thread never overlap, and each carries its own excluded time. */
static void sum_one_thread(const struct roi_log *log, struct roi_process *p)
{
	for (size_t i = 0; i < log->n_entries; i++) {
		const struct roi_entry *e = &log->entries[i];
		uint64_t gross = (uint64_t)(e->end_ns - e->begin_ns);
		add_entry(p, gross, min_u64(e->excluded_ns, gross));
		p->excludes += e->excludes;
	}
	if (log->folded) {
		p->entry_min_ns = p->finished ? min_u64(p->entry_min_ns, log->folded_min_ns)
					      : log->folded_min_ns;
		p->entry_max_ns = max_u64(p->entry_max_ns, log->folded_max_ns);
		p->finished += log->folded;
		p->gross_ns += log->folded_gross_ns;
		p->excluded_ns += min_u64(log->folded_excluded_ns, log->folded_gross_ns);
		p->excludes += log->folded_excludes;
	}
}

/* Length of the union of all excludes inside [begin, end). They are in order of their end, so from
 * the last one backwards nothing can reach back over what was already counted. *left is how many
 * of them can still touch this region or an earlier one. */
static uint64_t excluded_within(const struct roi_log *log, size_t *left, int64_t begin, int64_t end)
{
	uint64_t sum = 0;
	int64_t edge = end; /* everything from here to end is counted */
	for (size_t i = *left; i > 0; i--) {
		const struct roi_exclude *x = &log->excludes[i - 1];
		if (x->end_ns <= begin)
			break;
		int64_t hi = x->end_ns < edge ? x->end_ns : edge;
		int64_t lo = x->begin_ns > begin ? x->begin_ns : begin;
		if (lo < hi) {
			sum += (uint64_t)(hi - lo);
			edge = lo;
		}
		/* One that begins before this region also belongs to the one before. */
		if (x->begin_ns >= begin && i == *left)
			*left = i - 1;
	}
	return sum;
}

/* The region opens with the first BEGIN of any thread and closes with the last END: entries that
 * overlap are one, from the last one backwards as above. */
static void sum_threads(const struct roi_log *log, struct roi_process *p)
{
	size_t left = log->n_excludes;
	uint64_t excludes = 0;
	for (size_t i = 0; i < log->n_entries; i++)
		excludes += log->entries[i].excludes;
	bool all_kept = excludes <= log->n_excludes;
	for (size_t i = log->n_entries; i > 0;) {
		int64_t begin = log->entries[i - 1].begin_ns, end = log->entries[i - 1].end_ns;
		uint64_t own = 0;
		do {
			const struct roi_entry *e = &log->entries[--i];
			if (e->begin_ns < begin)
				begin = e->begin_ns;
			own += e->excluded_ns;
			p->excludes += e->excludes;
		} while (i > 0 && log->entries[i - 1].end_ns > begin);
		uint64_t gross = (uint64_t)(end - begin);
		uint64_t excluded = excluded_within(log, &left, begin, end);
		if (!all_kept && own) { /* those of two threads may have overlapped */
			excluded = min_u64(own > excluded ? own : excluded, gross);
			p->approximate = true;
		}
		add_entry(p, gross, excluded);
	}
	if (log->folded) {
		/* Where folded entries lay is not known: what one thread spent in its own is sure.
		 */
		p->approximate = true;
		p->finished += log->folded;
		p->excludes += log->folded_excludes;
		uint64_t net = p->gross_ns - p->excluded_ns;
		if (log->folded_largest_thread_ns > net)
			p->gross_ns = p->excluded_ns + log->folded_largest_thread_ns;
	}
}

void roi_process_sum(const struct roi_log *log, struct roi_process *ret)
{
	*ret = (struct roi_process){
		.first_begin_real = log->first_begin_real,
		.last_end_real = log->last_end_real,
		.unterminated = log->open > 0,
		.overflow = log->overflow,
		.unmatched_end = log->unmatched_end,
		.lost_ends = log->lost_ends,
		.folded = log->folded,
	};
	if (log->threads > 1) {
		sum_threads(log, ret);
		ret->entries = ret->finished + (log->open > 0);
	} else {
		sum_one_thread(log, ret);
		ret->entries = max_u64(log->begun, ret->finished);
	}
	ret->wall_ns = ret->gross_ns - ret->excluded_ns;
}

static int64_t earlier(int64_t a, int64_t b)
{
	return a == ROI_UNKNOWN || (b != ROI_UNKNOWN && b < a) ? b : a;
}

int roi_job_sum(const struct roi_process *processes, size_t n, struct roi_job *ret)
{
	struct roi_job job = { .first_begin_real = ROI_UNKNOWN, .last_end_real = ROI_UNKNOWN };
	uint64_t fastest = UINT64_MAX, slowest = 0;
	for (size_t i = 0; i < n; i++) {
		const struct roi_process *p = &processes[i];
		if (!p->entries)
			continue;
		job.overflow += p->overflow;
		job.unmatched_end += p->unmatched_end;
		if (!job.processes || p->wall_ns > job.wall_ns) {
			job.wall_ns = p->wall_ns;
			job.slowest = i;
		}
		job.processes++;
		job.entries = max_u64(job.entries, p->entries);
		job.excluded_ns = max_u64(job.excluded_ns, p->excluded_ns);
		job.excludes = max_u64(job.excludes, p->excludes);
		job.first_begin_real = earlier(job.first_begin_real, p->first_begin_real);
		if (p->last_end_real > job.last_end_real) /* ROI_UNKNOWN is the smallest of all */
			job.last_end_real = p->last_end_real;
		job.unterminated |= p->unterminated;
		job.approximate |= p->approximate;
		job.lost_ends += p->lost_ends;
		job.folded += p->folded;
		job.unfinished += !p->finished || p->unterminated;
		if (!p->finished)
			continue; /* died in its first entry: that is no time of 0 */
		fastest = min_u64(fastest, p->wall_ns);
		slowest = max_u64(slowest, p->wall_ns);
	}
	if (!job.processes)
		return -ENOENT;
	job.imbalance_ns = fastest <= slowest ? slowest - fastest : 0;
	*ret = job;
	return 0;
}
