/* Sums by interface, files, and bytes over time. */
#define _GNU_SOURCE
#include "import/darshan_put.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/num.h"

static double count_of(int64_t x)
{
	return x < 0 ? NAN : num15((double)x);
}

static double time_of(double x)
{
	return isfinite(x) && x >= 0 ? num15(x) : NAN;
}

/* ---- sums ---------------------------------------------------------------------------------------
 */

static struct io_sums nothing_known(void)
{
	struct io_sums s;
	block_clear(&io_sums_block, &s);
	return s;
}

static struct io_sums sums_of_posix(const struct darshan_total *t)
{
	struct io_sums s = nothing_known();
	s.read_bytes = count_of(t->whole[POSIX_BYTES_READ]);
	s.write_bytes = count_of(t->whole[POSIX_BYTES_WRITTEN]);
	s.read_ops = count_of(t->whole[POSIX_READS]);
	s.write_ops = count_of(t->whole[POSIX_WRITES]);
	s.seek_ops = count_of(t->whole[POSIX_SEEKS]);
	s.sync_ops = count_of(t->whole[POSIX_FSYNCS]) + count_of(t->whole[POSIX_FDSYNCS]);
	s.read_s = time_of(t->times[POSIX_F_READ_TIME]);
	s.write_s = time_of(t->times[POSIX_F_WRITE_TIME]);
	s.meta_s = time_of(t->times[POSIX_F_META_TIME]);
	s.untimed_ops = 0;
	return s;
}

static struct io_sums sums_of_stdio(const struct darshan_total *t)
{
	struct io_sums s = nothing_known();
	s.read_bytes = count_of(t->whole[STDIO_BYTES_READ]);
	s.write_bytes = count_of(t->whole[STDIO_BYTES_WRITTEN]);
	s.read_ops = count_of(t->whole[STDIO_READS]);
	s.write_ops = count_of(t->whole[STDIO_WRITES]);
	s.seek_ops = count_of(t->whole[STDIO_SEEKS]);
	s.sync_ops = count_of(t->whole[STDIO_FLUSHES]);
	s.read_s = time_of(t->times[STDIO_F_READ_TIME]);
	s.write_s = time_of(t->times[STDIO_F_WRITE_TIME]);
	s.meta_s = time_of(t->times[STDIO_F_META_TIME]);
	s.untimed_ops = 0;
	return s;
}

static double reads_of_mpiio(const struct darshan_total *t)
{
	return count_of(t->whole[MPIIO_INDEP_READS]) + count_of(t->whole[MPIIO_COLL_READS]) +
	       count_of(t->whole[MPIIO_SPLIT_READS]) + count_of(t->whole[MPIIO_NB_READS]);
}

static double writes_of_mpiio(const struct darshan_total *t)
{
	return count_of(t->whole[MPIIO_INDEP_WRITES]) + count_of(t->whole[MPIIO_COLL_WRITES]) +
	       count_of(t->whole[MPIIO_SPLIT_WRITES]) + count_of(t->whole[MPIIO_NB_WRITES]);
}

/* Darshan does not count MPI_File_seek. */
static struct io_sums sums_of_mpiio(const struct darshan_total *t)
{
	struct io_sums s = nothing_known();
	s.read_bytes = count_of(t->whole[MPIIO_BYTES_READ]);
	s.write_bytes = count_of(t->whole[MPIIO_BYTES_WRITTEN]);
	s.read_ops = reads_of_mpiio(t);
	s.write_ops = writes_of_mpiio(t);
	s.sync_ops = count_of(t->whole[MPIIO_SYNCS]);
	s.read_s = time_of(t->times[MPIIO_F_READ_TIME]);
	s.write_s = time_of(t->times[MPIIO_F_WRITE_TIME]);
	s.meta_s = time_of(t->times[MPIIO_F_META_TIME]);
	s.untimed_ops = 0;
	return s;
}

/* Unknown in one is unknown in both. */
static void add_sums(struct io_sums *to, const struct io_sums *from)
{
	to->read_bytes = num15(to->read_bytes + from->read_bytes);
	to->write_bytes = num15(to->write_bytes + from->write_bytes);
	to->read_ops += from->read_ops;
	to->write_ops += from->write_ops;
	to->seek_ops += from->seek_ops;
	to->sync_ops += from->sync_ops;
	to->read_s = num15(to->read_s + from->read_s);
	to->write_s = num15(to->write_s + from->write_s);
	to->meta_s = num15(to->meta_s + from->meta_s);
	to->untimed_ops += from->untimed_ops;
}

static const struct io_sums zero_sums = { .open_ops = NAN, .meta_ops = NAN, .failed_ops = NAN };

/* Can the sums of what the program asked for be told? Not where a module is missing, nor where MPI-IO
 * is not whole, as then nobody knows which calls of POSIX are within it. */
static bool program_is_known(const struct darshan_gathered *g)
{
	return !g->lost[DARSHAN_POSIX] && !g->lost[DARSHAN_MPIIO] && !g->lost[DARSHAN_STDIO] &&
	       !g->log->modules[DARSHAN_MPIIO].partial;
}

int darshan_put_sums(struct record *rec, const struct darshan_gathered *g)
{
	struct io *io = &rec->body.io;
	const struct {
		const char *name, *within;
		const struct darshan_total *total;
		struct io_sums (*sums)(const struct darshan_total *);
	} rows[] = {
		{ "posix", NULL, &g->posix_own, sums_of_posix },
		{ "posix", "mpiio", &g->posix_within, sums_of_posix },
		{ "stdio", NULL, &g->stdio, sums_of_stdio },
		{ "mpiio", NULL, &g->mpiio, sums_of_mpiio },
	};
	struct io_sums whole = zero_sums;
	bool any = false;
	io->interfaces.items = arena_array(&rec->arena, 4, sizeof *io->interfaces.items);
	if (!io->interfaces.items)
		return -ENOMEM;
	for (size_t i = 0; i < 4; i++) {
		if (!rows[i].total->records)
			continue;
		struct io_by_interface *row = &io->interfaces.items[io->interfaces.n++];
		block_clear(&io_by_interface_block, row);
		row->name = rows[i].name;
		row->within = rows[i].within;
		row->whole = rows[i].sums(rows[i].total);
		if (!row->within)
			add_sums(&whole, &row->whole);
		any = true;
	}
	/* A log without any of these modules does not say whether they were switched off. */
	if (any && program_is_known(g))
		io->whole = whole;
	return 0;
}

/* ---- files --------------------------------------------------------------------------------------
 */

static size_t bin_of(int64_t bytes)
{
	static const int64_t ends[] = { 100, 1024, 10240, 102400, 1048576, 4194304, 10485760,
					104857600, 1073741824 };
	size_t i = 0;
	while (i < sizeof ends / sizeof *ends && bytes > ends[i])
		i++;
	return i;
}

/* Darshan's bins have other limits than ours, so they can't be converted. But where its four most
 * frequent sizes are all there were, and each bin is of one power of two or of one direction only,
 * they say it exactly. common: sizes, counts; reads, writes: Darshan's bins. */
static bool powers_of(const int64_t *common, const int64_t *reads, const int64_t *writes,
		      struct darshan_powers *ret_read, struct darshan_powers *ret_write)
{
	int64_t in_bin[DARSHAN_SIZE_BINS] = { 0 }, counted = 0, ops = 0;
	size_t power_in_bin[DARSHAN_SIZE_BINS] = { 0 };
	bool mixed[DARSHAN_SIZE_BINS] = { false };
	for (size_t i = 0; i < DARSHAN_SIZE_BINS; i++)
		if (reads[i] < 0 || writes[i] < 0 ||
		    __builtin_add_overflow(ops, reads[i], &ops) ||
		    __builtin_add_overflow(ops, writes[i], &ops))
			return false;
	for (size_t i = 0; i < 4; i++) {
		if (common[4 + i] <= 0)
			continue;
		if (common[i] <= 0 || __builtin_add_overflow(counted, common[4 + i], &counted))
			return false;
		size_t bin = bin_of(common[i]), power = darshan_power(common[i]);
		mixed[bin] = mixed[bin] || (in_bin[bin] && power_in_bin[bin] != power);
		in_bin[bin] += common[4 + i];
		power_in_bin[bin] = power;
	}
	if (counted != ops)
		return false;
	for (size_t i = 0; i < DARSHAN_SIZE_BINS; i++)
		if (in_bin[i] != reads[i] + writes[i] || (mixed[i] && reads[i] && writes[i]))
			return false;
	for (size_t i = 0; i < 4; i++) {
		if (common[4 + i] <= 0)
			continue;
		size_t bin = bin_of(common[i]), power = darshan_power(common[i]);
		if (mixed[bin]) {
			struct darshan_powers *to = reads[bin] ? ret_read : ret_write;
			to->n[power] += (uint64_t)common[4 + i];
		} else {
			ret_read->n[power] += power_in_bin[bin] == power ? (uint64_t)reads[bin] : 0;
			ret_write->n[power] = (uint64_t)writes[bin];
		}
	}
	return true;
}

static int put_powers(struct record *rec, struct nums *to, const struct darshan_powers *from)
{
	size_t n = 0;
	for (size_t i = 0; i < DARSHAN_SIZE_POWERS; i++)
		n += from->n[i] > 0;
	to->items = arena_array(&rec->arena, 2 * n + 1, sizeof *to->items);
	if (!to->items)
		return -ENOMEM;
	for (size_t i = 0; i < DARSHAN_SIZE_POWERS; i++)
		if (from->n[i]) {
			to->items[to->n++] = (double)i;
			to->items[to->n++] = num15((double)from->n[i]);
		}
	return 0;
}

/* Where DXT has as many accesses as were counted, it has the size of each. */
static bool seen_all(const struct darshan_file *f, const struct io_sums *ops,
		     struct darshan_powers *ret_read, struct darshan_powers *ret_write)
{
	double reads = 0, writes = 0;
	struct darshan_powers none = { { 0 } };
	*ret_read = f->seen[0] ? *f->seen[0] : none;
	*ret_write = f->seen[1] ? *f->seen[1] : none;
	for (size_t i = 0; i < DARSHAN_SIZE_POWERS; i++) {
		reads += (double)ret_read->n[i];
		writes += (double)ret_write->n[i];
	}
	return (f->seen[0] || f->seen[1]) && reads == ops->read_ops && writes == ops->write_ops;
}

/* By Darshan's rule: of one process and file, each direction by itself. */
static int put_pattern(struct record *rec, struct io_pattern *to, const struct darshan_file *f)
{
	const struct darshan_total *m = f->of[FROM_MPIIO], *p = f->of[FROM_POSIX];
	struct darshan_powers reads = { { 0 } }, writes = { { 0 } };
	bool exact = false;
	if (f->of[FROM_STDIO]) /* which it tells nothing of the kind of */
		return 0;
	if (m) {
		to->turns = count_of(m->whole[MPIIO_RW_SWITCHES]);
		exact = powers_of(m->whole + MPIIO_ACCESS1_ACCESS, m->whole + MPIIO_SIZE_READ_AGG_0_100,
				  m->whole + MPIIO_SIZE_WRITE_AGG_0_100, &reads, &writes);
	} else if (p) {
		to->consecutive_reads = count_of(p->whole[POSIX_CONSEC_READS]);
		to->consecutive_writes = count_of(p->whole[POSIX_CONSEC_WRITES]);
		to->sequential_reads = count_of(p->whole[POSIX_SEQ_READS]);
		to->sequential_writes = count_of(p->whole[POSIX_SEQ_WRITES]);
		to->turns = count_of(p->whole[POSIX_RW_SWITCHES]);
		exact = powers_of(p->whole + POSIX_ACCESS1_ACCESS, p->whole + POSIX_SIZE_READ_0_100,
				  p->whole + POSIX_SIZE_WRITE_0_100, &reads, &writes);
	}
	const struct io_sums ops = m ? sums_of_mpiio(m) : p ? sums_of_posix(p) : zero_sums;
	if (!exact)
		exact = seen_all(f, &ops, &reads, &writes);
	if (!exact)
		return 0;
	int rc = put_powers(rec, &to->read_bins, &reads);
	return rc ? rc : put_powers(rec, &to->write_bins, &writes);
}

/* Everybody, where one record is of all; else those that have one. Two interfaces with different
 * processes each: not known. */
static double processes_of(const struct darshan_gathered *g, const struct darshan_file *f)
{
	const struct darshan_ranks *seen = NULL;
	for (int i = 0; i < DARSHAN_SOURCES; i++) {
		const struct darshan_ranks *r = &f->ranks[i];
		if (r->all || r->n >= g->log->job.ranks)
			return (double)g->log->job.ranks;
		if (r->n && seen && (seen->n != r->n || seen->set != r->set))
			return NAN;
		if (r->n)
			seen = r;
	}
	return seen ? (double)seen->n : NAN;
}

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static double size_of(const struct darshan_file *f)
{
	const struct darshan_total *p = f->of[FROM_POSIX], *s = f->of[FROM_STDIO];
	int64_t last = -1;
	if (f->of[FROM_MPIIO] && !p)
		return NAN;
	if (p && p->whole[POSIX_BYTES_READ] > 0)
		last = larger(last, p->whole[POSIX_MAX_BYTE_READ]);
	if (p && p->whole[POSIX_BYTES_WRITTEN] > 0)
		last = larger(last, p->whole[POSIX_MAX_BYTE_WRITTEN]);
	if (s && s->whole[STDIO_BYTES_READ] > 0)
		last = larger(last, s->whole[STDIO_MAX_BYTE_READ]);
	if (s && s->whole[STDIO_BYTES_WRITTEN] > 0)
		last = larger(last, s->whole[STDIO_MAX_BYTE_WRITTEN]);
	return last < 0 ? NAN : num15((double)last + 1);
}

static void put_times(struct io_file *to, const struct darshan_file *f)
{
	for (int i = 0; i < DARSHAN_SOURCES; i++) {
		static const enum darshan_module modules[] = { DARSHAN_POSIX, DARSHAN_MPIIO,
							       DARSHAN_STDIO };
		const struct darshan_counters *c = darshan_counters_of(modules[i]);
		for (size_t k = 0; f->of[i] && k < c->n_times; k++) {
			double x = time_of(f->of[i]->times[k]);
			if (c->times[k].rule == FIRST && x > 0 && !(to->first_s <= x))
				to->first_s = x;
			if (c->times[k].rule == MAX && x > 0 && strstr(c->times[k].name, "_END_") &&
			    !(to->last_s >= x))
				to->last_s = x;
		}
	}
}

/* The mount whose path is the longest above it. */
static const char *filesystem_of(const struct darshan_log *log, const char *name)
{
	size_t best = 0;
	const char *type = NULL;
	if (!name || name[0] != '/')
		return NULL;
	for (size_t i = 0; i < log->job.n_mounts; i++) {
		const char *path = log->job.mounts[i].path;
		size_t n = strlen(path);
		while (n > 1 && path[n - 1] == '/')
			n--;
		bool above = strncmp(name, path, n) == 0 &&
			     (n == 1 || name[n] == '/' || !name[n]);
		if (above && n > best) {
			best = n;
			type = log->job.mounts[i].type;
		}
	}
	return type;
}

/* "<STDOUT>": "stdout". */
static const char *name_of(struct record *rec, const char *name)
{
	static const char *const streams[][2] = { { "<STDIN>", "stdin" }, { "<STDOUT>", "stdout" },
						  { "<STDERR>", "stderr" } };
	for (size_t i = 0; name && i < 3; i++)
		if (strcmp(name, streams[i][0]) == 0)
			return streams[i][1];
	return name ? record_text(rec, name, strlen(name)) : NULL;
}

static int put_file(struct record *rec, struct io_file *to, const struct darshan_gathered *g,
		    const struct darshan_file *f)
{
	const struct darshan_total *m = f->of[FROM_MPIIO], *p = f->of[FROM_POSIX],
				   *s = f->of[FROM_STDIO];
	bool partial = rec->body.io.partial.n > 0 || g->n_damaged;
	block_clear(&io_file_block, to);
	to->name = name_of(rec, f->name);
	if (f->name && !to->name)
		return -ENOMEM;
	to->interface = m ? "mpiio" : s ? "stdio" : "posix";
	const char *type = filesystem_of(g->log, f->name);
	to->filesystem = type ? record_text(rec, type, strlen(type)) : NULL;
	to->processes = partial ? NAN : processes_of(g, f);
	to->shared = known(to->processes) ? (to->processes > 1 ? YES : NO) : UNKNOWN;
	to->size_bytes = f->name && f->name[0] == '<' ? NAN : size_of(f);
	if (p && p->whole[POSIX_FILE_ALIGNMENT] > 0)
		to->block_bytes = count_of(p->whole[POSIX_FILE_ALIGNMENT]);
	to->whole = zero_sums;
	if (m || p) {
		struct io_sums sums = m ? sums_of_mpiio(m) : sums_of_posix(p);
		add_sums(&to->whole, &sums);
	}
	if (s) {
		struct io_sums sums = sums_of_stdio(s);
		add_sums(&to->whole, &sums);
	}
	put_times(to, f);
	int rc = put_pattern(rec, &to->whole_pattern, f);
	return rc || !f->has_stripes ? rc : layout_put(rec, &to->layout, &f->stripes.layout);
}

int darshan_put_files(struct record *rec, const struct darshan_gathered *g)
{
	struct io *io = &rec->body.io;
	size_t total = darshan_ids_count(&g->ids);
	bool known_all = total && program_is_known(g) && !g->log->modules[DARSHAN_POSIX].partial &&
			 !g->log->modules[DARSHAN_STDIO].partial;
	io->files.items = arena_array(&rec->arena, g->n_listed + 1, sizeof *io->files.items);
	if (!io->files.items)
		return -ENOMEM;
	if (known_all)
		io->files_total = (double)total;
	io->files_folded = (double)(total - g->n_listed);
	for (size_t i = 0; i < g->n_listed; i++) {
		int rc = put_file(rec, &io->files.items[io->files.n++], g, g->listed[i]);
		if (rc)
			return rc;
	}
	if (!g->n_listed || (!g->posix_own.records && !g->posix_within.records))
		return total > g->n_listed && g->n_listed
			       ? record_caveat(rec, "io_files_folded",
					       "Of %zu files the %zu with the most bytes have a line.", total,
					       g->n_listed)
			       : 0;
	int rc = record_caveat(rec, "darshan_patterns",
			       "Patterns are by Darshan's rules: an access follows the one before of the "
			       "same process, file and direction, not of the same handle; sizes are "
			       "known only where four different ones are all there were.");
	if (!rc && total > g->n_listed)
		rc = record_caveat(rec, "io_files_folded",
				   "Of %zu files the %zu with the most bytes have a line.", total,
				   g->n_listed);
	return rc;
}

/* ---- bytes over time ----------------------------------------------------------------------------
 */

static int put_bins(struct record *rec, struct nums *to, const double *from, size_t n)
{
	to->items = arena_array(&rec->arena, n + 1, sizeof *to->items);
	if (!to->items)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		to->items[i] = num15(from[i]);
	to->n = n;
	return 0;
}

/* rank: NAN all together. */
static int put_one(struct record *rec, const char *source, double rank, const struct darshan_series *s)
{
	struct io *io = &rec->body.io;
	struct io_series *to = &io->series.items[io->series.n++];
	block_clear(&io_series_block, to);
	to->source = source;
	to->rank = rank;
	to->begin_s = 0;
	to->bin_s = num15(s->bin_s);
	int rc = put_bins(rec, &to->read_bytes, s->read, s->bins);
	return rc ? rc : put_bins(rec, &to->write_bytes, s->write, s->bins);
}

/* What the program itself asked for over time: where no call of POSIX is both its own and in a picture
 * together with those within MPI-IO, and each interface that moved something has a picture. */
static bool program_is_a_sum(const struct darshan_gathered *g)
{
	const struct darshan_series *s = g->series;
	bool stdio = g->stdio.whole[STDIO_BYTES_READ] || g->stdio.whole[STDIO_BYTES_WRITTEN];
	bool own = g->posix_own.whole[POSIX_BYTES_READ] || g->posix_own.whole[POSIX_BYTES_WRITTEN];
	bool mpiio = g->mpiio.records > 0;
	if (!program_is_known(g) || (stdio && !s[FROM_STDIO].bins))
		return false;
	if (mpiio && (own || !s[FROM_MPIIO].bins))
		return false;
	return mpiio || !own || s[FROM_POSIX].bins;
}

static int put_program(struct record *rec, double rank, const struct darshan_series *a,
		       const struct darshan_series *b)
{
	struct darshan_series sum = { .bin_s = a->bins ? a->bin_s : b->bin_s };
	if (a->bins && b->bins && a->bin_s != b->bin_s)
		return 0;
	sum.bins = a->bins > b->bins ? a->bins : b->bins;
	sum.read = arena_array(&rec->arena, sum.bins + 1, sizeof *sum.read);
	sum.write = arena_array(&rec->arena, sum.bins + 1, sizeof *sum.write);
	if (!sum.read || !sum.write)
		return -ENOMEM;
	for (size_t i = 0; i < sum.bins; i++) {
		sum.read[i] = (i < a->bins ? a->read[i] : 0) + (i < b->bins ? b->read[i] : 0);
		sum.write[i] = (i < a->bins ? a->write[i] : 0) + (i < b->bins ? b->write[i] : 0);
	}
	return sum.bins ? put_one(rec, "program", rank, &sum) : 0;
}

/* Each process by itself, where there are few. */
static int put_ranks(struct record *rec, const struct darshan_gathered *g, int first)
{
	static const struct darshan_series none = { 0 };
	const struct darshan_series *a = g->by_rank[first], *b = g->by_rank[FROM_STDIO];
	int rc = 0;
	for (int64_t i = 0; (a || b) && i < g->log->job.ranks && !rc; i++)
		rc = put_program(rec, (double)i, a ? &a[i] : &none, b ? &b[i] : &none);
	return rc;
}

int darshan_put_series(struct record *rec, const struct darshan_gathered *g)
{
	static const char *const names[DARSHAN_SOURCES] = {
		[FROM_POSIX] = "posix", [FROM_MPIIO] = "mpiio", [FROM_STDIO] = "stdio"
	};
	struct io *io = &rec->body.io;
	size_t n = 0;
	for (int i = 0; i < DARSHAN_SOURCES; i++)
		n += g->series[i].bins > 0;
	if (!n)
		return 0;
	io->series.items = arena_array(&rec->arena, n + 1 + DARSHAN_RANKS_APART, sizeof *io->series.items);
	if (!io->series.items)
		return -ENOMEM;
	int first = g->mpiio.records ? FROM_MPIIO : FROM_POSIX, rc = 0;
	bool sum = program_is_a_sum(g);
	if (sum)
		rc = put_program(rec, NAN, &g->series[first], &g->series[FROM_STDIO]);
	for (int i = 0; i < DARSHAN_SOURCES && !rc; i++)
		if (g->series[i].bins)
			rc = put_one(rec, names[i], NAN, &g->series[i]);
	return rc || !sum ? rc : put_ranks(rec, g, first);
}
