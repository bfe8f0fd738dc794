#include "core/iomerge.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/iomerge_impl.h"
#include "lib/num.h"
#include "schema/walk.h"

#define NOTES_MAX 8

/* ---- blocks added up ------------------------------------------------------------------------ */

static int by_bin(const void *a, const void *b)
{
	const double *x = a, *y = b;
	return (x[0] > y[0]) - (x[0] < y[0]);
}

/* Bin, count, bin, count, ... of both. */
static int add_bins(struct arena *a, struct nums *to, const struct nums *from)
{
	if (!from->items)
		return 0;
	double *items = arena_array(a, to->n + from->n + 1, sizeof *items);
	size_t n = to->n, kept = 0;
	if (!items)
		return -ENOMEM;
	if (n)
		memcpy(items, to->items, n * sizeof *items);
	if (from->n)
		memcpy(items + n, from->items, from->n * sizeof *items);
	n += from->n;
	if (n)
		qsort(items, n / 2, 2 * sizeof *items, by_bin);
	for (size_t i = 0; i + 1 < n; i += 2) {
		if (kept && items[kept - 2] == items[i]) {
			items[kept - 1] += items[i + 1];
			continue;
		}
		items[kept] = items[i];
		items[kept + 1] = items[i + 1];
		kept += 2;
	}
	*to = (struct nums){ items, kept };
	return 0;
}

int iomerge_add(struct arena *a, const struct block *block, void *to, const void *from)
{
	int rc = 0;
	for (size_t i = 0; !rc && i < block->count; i++) {
		const struct field *f = &block->fields[i];
		if (f->type == FIELD_NUMS)
			rc = add_bins(a, field_in(f, to), field_at(f, from));
		if (f->type != FIELD_NUM || !known(num_at(f, from)))
			continue;
		double *sum = field_in(f, to);
		*sum = known(*sum) ? *sum + num_at(f, from) : num_at(f, from);
	}
	return rc;
}

void iomerge_round(const struct block *block, void *at)
{
	for (size_t i = 0; i < block->count; i++)
		if (block->fields[i].type == FIELD_NUM) {
			double *x = field_in(&block->fields[i], at);
			*x = num15(*x);
		}
}

static void add_num(double *to, double x)
{
	if (known(x))
		*to = known(*to) ? *to + x : x;
}

/* ---- interfaces, MPI ------------------------------------------------------------------------ */

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static int put_interfaces(struct iomerge *m)
{
	struct io *io = &m->rec->body.io;
	size_t room = 0;
	int rc = 0;
	for (size_t i = 0; i < m->n; i++)
		room += m->pictures[i]->interfaces.n;
	io->interfaces.items = arena_array(&m->rec->arena, room + 1, sizeof *io->interfaces.items);
	if (!io->interfaces.items)
		return -ENOMEM;
	for (size_t i = 0; i < m->n; i++)
		for (size_t k = 0; !rc && k < m->pictures[i]->interfaces.n; k++) {
			const struct io_by_interface *from = &m->pictures[i]->interfaces.items[k];
			struct io_by_interface *to = io->interfaces.items;
			size_t at = 0;
			while (at < io->interfaces.n && !(same_text(to[at].name, from->name) &&
							  same_text(to[at].within, from->within)))
				at++;
			if (at == io->interfaces.n) {
				block_clear(&io_by_interface_block, &to[at]);
				to[at].name = from->name;
				to[at].within = from->within;
				io->interfaces.n++;
			}
			rc = iomerge_add(&m->rec->arena, &io_sums_block, &to[at].roi, &from->roi);
			if (!rc)
				rc = iomerge_add(&m->rec->arena, &io_sums_block, &to[at].whole,
						 &from->whole);
		}
	for (size_t i = 0; i < io->interfaces.n; i++) {
		iomerge_round(&io_sums_block, &io->interfaces.items[i].roi);
		iomerge_round(&io_sums_block, &io->interfaces.items[i].whole);
	}
	return rc;
}

static int put_mpi(struct iomerge *m)
{
	struct io *io = &m->rec->body.io;
	size_t room = 0;
	int rc = 0;
	for (size_t i = 0; i < m->n; i++)
		room += m->pictures[i]->mpi.n;
	io->mpi.items = arena_array(&m->rec->arena, room + 1, sizeof *io->mpi.items);
	if (!io->mpi.items)
		return -ENOMEM;
	for (size_t i = 0; i < m->n; i++)
		for (size_t k = 0; !rc && k < m->pictures[i]->mpi.n; k++) {
			const struct io_mpi *from = &m->pictures[i]->mpi.items[k];
			struct io_mpi *to = io->mpi.items;
			size_t at = 0;
			while (at < io->mpi.n && !same_text(to[at].class_, from->class_))
				at++;
			if (at == io->mpi.n) {
				block_clear(&io_mpi_block, &to[at]);
				to[at].class_ = from->class_;
				io->mpi.n++;
			}
			rc = iomerge_add(&m->rec->arena, &io_mpi_block, &to[at], from);
		}
	for (size_t i = 0; i < io->mpi.n; i++)
		iomerge_round(&io_mpi_block, &io->mpi.items[i]);
	return rc;
}

/* ---- sums ----------------------------------------------------------------------------------- */

static int put_sums(struct iomerge *m)
{
	struct io *io = &m->rec->body.io;
	struct arena *a = &m->rec->arena;
	double dropped = 0;
	int rc = 0;
	for (size_t i = 0; !rc && i < m->n; i++) {
		const struct iopicture *p = m->pictures[i];
		rc = iomerge_add(a, &io_sums_block, &io->whole, &p->whole);
		if (!rc)
			rc = iomerge_add(a, &io_sums_block, &io->roi, &p->roi);
		add_num(&io->wait_s, p->wait_ns); /* ns so far */
		add_num(&io->whole_wait_s, p->whole_wait_ns);
		dropped += known(p->dropped_ops) ? p->dropped_ops : 0;
	}
	iomerge_round(&io_sums_block, &io->whole);
	iomerge_round(&io_sums_block, &io->roi);
	io->wait_s = num15(io->wait_s / 1e9);
	io->whole_wait_s = num15(io->whole_wait_s / 1e9);
	io->read_bytes = io->roi.read_bytes;
	io->write_bytes = io->roi.write_bytes;
	io->read_ops = io->roi.read_ops;
	io->write_ops = io->roi.write_ops;
	io->time_s = num15(io->roi.read_s + io->roi.write_s + io->roi.meta_s);
	io->processes = (double)m->n;
	io->dropped_ops = dropped;
	return rc;
}

bool iomerge_zero(const struct iomerge *m, const struct iopicture *p, int64_t *ret_ns)
{
	if (m->begun_real_ns == ROI_UNKNOWN || !known(p->real_s) || !known(p->real_ns) ||
	    !(p->real_s < 4e9) || !(p->real_ns < 1e9))
		return false;
	*ret_ns = (int64_t)p->real_s * 1000000000 + (int64_t)p->real_ns - m->begun_real_ns;
	return true;
}

/* ---- what is to be said --------------------------------------------------------------------- */

static double sum_of(const struct iomerge *m, size_t offset)
{
	double sum = 0;
	for (size_t i = 0; i < m->n; i++) {
		double x;
		memcpy(&x, (const char *)m->pictures[i] + offset, sizeof x);
		sum += known(x) ? x : 0;
	}
	return sum;
}

#define SUM_OF(m, member) sum_of(m, offsetof(struct iopicture, member))

static int not_final(struct iomerge *m)
{
	size_t open = 0;
	const struct iopicture *first = NULL;
	for (size_t i = 0; i < m->n; i++)
		if (m->pictures[i]->final != YES) {
			first = first ? first : m->pictures[i];
			open++;
		}
	if (!open)
		return 0;
	m->rec->body.io.incomplete = YES;
	return record_caveat(
		m->rec, "io_not_final",
		"The last that came of the files of %zu process%s (%s) is from before its "
		"end: what it did after that is not in these numbers.",
		open, open == 1 ? "" : "es", first->pid ? first->pid : "?");
}

static int notes(struct iomerge *m)
{
	size_t told = 0;
	int rc = 0;
	for (size_t i = 0; i < m->n; i++)
		for (size_t k = 0; !rc && k < m->pictures[i]->notes.n; k++) {
			const char *text = m->pictures[i]->notes.items[k];
			bool before = false;
			for (size_t j = 0; j < i && !before; j++)
				for (size_t l = 0; l < m->pictures[j]->notes.n && !before; l++)
					before = strcmp(m->pictures[j]->notes.items[l], text) == 0;
			if (!before && told++ < NOTES_MAX)
				rc = record_caveat(m->rec, "collector_note", "%s: %.900s",
						   m->pictures[i]->collector, text);
		}
	return rc;
}

/* Of streams most calls only touch the buffer and are never timed: untimed_ops is all that is to be
 * said of them. */
static double untimed_others(const struct io *io)
{
	double n = 0;
	for (size_t i = 0; i < io->interfaces.n; i++) {
		const struct io_by_interface *row = &io->interfaces.items[i];
		if (!row->within && row->name && strcmp(row->name, "stdio") != 0 &&
		    row->whole.untimed_ops > 0)
			n += row->whole.untimed_ops;
	}
	return n;
}

static int reread_bound(struct iomerge *m)
{
	const struct iopicture_file *first = NULL;
	double closed = 0;
	size_t n = 0;
	for (size_t i = 0; i < m->n; i++)
		for (size_t k = 0; k < m->pictures[i]->files.n; k++) {
			const struct iopicture_file *f = &m->pictures[i]->files.items[k];
			if (!(f->closed_bytes > 0) || !(f->whole_pattern.reread_bytes > 0))
				continue;
			first = first ? first : f;
			closed += f->closed_bytes;
			n++;
		}
	if (!n)
		return 0;
	return record_caveat(
		m->rec, "io_reread_bound",
		"reread_bytes is an upper bound in %zu line%s of a process and a file, the first "
		"of %.900s: "
		"gaps of together %.0f bytes between what was written count as written.",
		n, n == 1 ? "" : "s", first->name ? first->name : "?", closed);
}

static int say(struct iomerge *m)
{
	struct io *io = &m->rec->body.io;
	double late = SUM_OF(m, late_ops), closed = SUM_OF(m, wait_closed_ns);
	double marks = SUM_OF(m, late_marks);
	int rc = not_final(m);
	if (!rc && io->dropped_ops > 0) {
		io->incomplete = YES;
		rc = record_caveat(m->rec, "io_dropped",
				   "%.0f calls about files were seen and could not be counted.",
				   io->dropped_ops);
	}
	if (!rc && io->files_folded > 0)
		rc = record_caveat(
			m->rec, "io_files_folded",
			"%.0f of %.0f files have no line of their own: they are in the sums "
			"only.",
			io->files_folded, io->files_total);
	if (!rc && marks > 0)
		rc = record_caveat(
			m->rec, "io_region_doubt",
			"%.0f marks could not be taken in time: the region of the numbers of "
			"files is not exactly that of the marks.",
			marks);
	if (!rc && (late > 0 || closed > 0))
		rc = record_caveat(
			m->rec, "io_wait_is_bound",
			"How long any thread of a process was in I/O is not exact: %.0f calls "
			"came too late for it, and gaps of together %.3g s were closed.",
			late, closed / 1e9);
	if (!rc && untimed_others(io) > 0)
		rc = record_caveat(m->rec, "io_untimed",
				   "%.0f calls have no time that can be used: they are counted, "
				   "and in no time.",
				   untimed_others(io));
	if (!rc)
		rc = reread_bound(m);
	return rc ? rc : notes(m);
}

int iomerge_put_record(struct record *rec, const struct iopicture *const *pictures, size_t n,
		       int64_t begun_real_ns)
{
	struct iomerge m = {
		.rec = rec, .pictures = pictures, .n = n, .begun_real_ns = begun_real_ns
	};
	if (!n)
		return 0;
	rec->body.io.incomplete = NO;
	int rc = put_sums(&m);
	if (!rc)
		rc = put_interfaces(&m);
	if (!rc)
		rc = iomerge_files(&m);
	if (!rc)
		rc = put_mpi(&m);
	if (!rc)
		rc = iomerge_series(&m);
	if (!rc)
		rc = say(&m);
	/* Texts and lists are of the pictures. */
	return rc ? rc : block_copy(&rec->arena, &io_block, &rec->body.io);
}
