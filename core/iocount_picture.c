/* A counter's picture. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/iocount_impl.h"
#include "lib/num.h"
#include "schema/codec.h"

static const char *const types[] = { "file",     "directory", "pipe", "socket",
				     "terminal", "device",    "other" };

static void put_sums(struct io_sums *to, const struct count_sums *s)
{
	to->read_bytes = rint(s->read_bytes);
	to->write_bytes = rint(s->write_bytes);
	to->read_ops = (double)s->read_ops;
	to->write_ops = (double)s->write_ops;
	to->open_ops = (double)s->open_ops;
	to->seek_ops = (double)s->seek_ops;
	to->sync_ops = (double)s->sync_ops;
	to->meta_ops = (double)s->meta_ops;
	to->failed_ops = (double)s->failed_ops;
	to->read_s = (double)s->read_ns / 1e9;
	to->write_s = (double)s->write_ns / 1e9;
	to->meta_s = (double)s->meta_ns / 1e9;
	to->untimed_ops = (double)s->untimed_ops;
}

static bool any(const struct count_sums *s)
{
	return s->read_ops || s->write_ops || s->open_ops || s->seek_ops || s->sync_ops ||
	       s->meta_ops || s->failed_ops;
}

static struct nums bins_nums(struct arena *a, const uint64_t bins[SIZE_BINS], int *rc)
{
	size_t used = 0;
	for (unsigned i = 0; i < SIZE_BINS; i++)
		used += bins[i] > 0;
	struct nums ret = { arena_array(a, 2 * used + 1, sizeof(double)), 0 };
	if (!ret.items)
		*rc = -ENOMEM;
	for (unsigned i = 0; ret.items && i < SIZE_BINS; i++)
		if (bins[i]) {
			ret.items[ret.n++] = i;
			ret.items[ret.n++] = (double)bins[i];
		}
	return ret;
}

/* has: an offset was seen; else only the sizes are known. */
static void put_pattern(struct arena *a, struct io_pattern *to, const struct count_pattern *p,
			bool has, int *rc)
{
	to->read_bins = bins_nums(a, p->bins[0], rc);
	to->write_bins = bins_nums(a, p->bins[1], rc);
	to->turns = (double)p->turns;
	if (!has)
		return;
	to->consecutive_reads = (double)p->consecutive[0];
	to->consecutive_writes = (double)p->consecutive[1];
	to->sequential_reads = (double)p->sequential[0];
	to->sequential_writes = (double)p->sequential[1];
	to->unaligned_ops = (double)p->unaligned;
	to->reread_bytes = rint(p->reread_bytes);
}

static const char *text_copy(const struct iocount *c, struct arena *a, uint32_t number)
{
	size_t bytes = 0;
	const char *text = text_find(c, number, &bytes);
	return text ? arena_strndup(a, text, bytes) : NULL;
}

/* ---- files ---------------------------------------------------------------------------------- */

static int put_file(const struct iocount *c, struct arena *a, const struct count_file *f,
		    bool found, struct iopicture_file *to)
{
	bool stream = f->device == UINT64_MAX; /* a standard one: what it is of is not in its key */
	int rc = 0;
	block_clear(&iopicture_file_block, to);
	to->name = arena_strdup(a, f->name);
	to->type = types[f->type < sizeof types / sizeof *types ? f->type : IO_OTHER];
	to->interface = io_interface_name(f->interface);
	to->filesystem = f->filesystem;
	if (!stream && (f->device || f->inode)) {
		to->device = (double)f->device;
		to->inode = (double)f->inode;
	}
	if (f->has_pattern)
		to->size_bytes = (double)f->size;
	if (f->type == IO_FILE)
		to->block_bytes = f->block ? (double)f->block : NAN;
	to->born_us = f->born_us ? (double)f->born_us : NAN;
	put_sums(&to->whole, &f->sums[WHOLE]);
	put_pattern(a, &to->whole_pattern, &f->patterns[WHOLE], f->has_pattern, &rc);
	if (found) {
		put_sums(&to->roi, &f->sums[ROI]);
		put_pattern(a, &to->roi_pattern, &f->patterns[ROI], f->has_pattern, &rc);
	}
	to->hints_set = text_copy(c, a, f->hints_set);
	to->hints_in_force = text_copy(c, a, f->hints_in_force);
	if (f->last_ns) {
		to->first_s = (double)f->first_ns / 1e9;
		to->last_s = (double)f->last_ns / 1e9;
	}
	to->closed_bytes = f->closed_bytes;
	return to->name ? rc : -ENOMEM;
}

static int by_bytes(const void *a, const void *b)
{
	const struct iopicture_file *x = a, *y = b;
	double left = x->whole.read_bytes + x->whole.write_bytes;
	double right = y->whole.read_bytes + y->whole.write_bytes;
	return left != right ? (left > right ? -1 : 1) : strcmp(x->name, y->name);
}

static int put_files(const struct iocount *c, struct arena *a, bool found, struct iopicture *ret)
{
	int rc = 0;
	ret->files.items = arena_array(a, c->n_files + 1, sizeof *ret->files.items);
	if (!ret->files.items)
		return -ENOMEM;
	for (uint32_t i = 0; !rc && i < c->n_files; i++)
		if (any(&c->files[i].sums[WHOLE]))
			rc = put_file(c, a, &c->files[i], found, &ret->files.items[ret->files.n++]);
	if (!rc && ret->files.n)
		qsort(ret->files.items, ret->files.n, sizeof *ret->files.items, by_bytes);
	ret->files_total = (double)c->files_total;
	ret->files_folded = c->files_total > c->n_files ? (double)(c->files_total - c->n_files) : 0;
	return rc;
}

/* ---- the rest ------------------------------------------------------------------------------- */

static int put_interfaces(const struct iocount *c, struct arena *a, bool found,
			  struct iopicture *ret)
{
	ret->interfaces.items =
		arena_array(a, 2 * IO_INTERFACES + 1, sizeof *ret->interfaces.items);
	if (!ret->interfaces.items)
		return -ENOMEM;
	for (unsigned i = 0; i < IO_INTERFACES; i++)
		for (int within = 0; within < 2; within++) {
			if (!any(&c->sums[i][within][WHOLE]))
				continue;
			struct io_by_interface *to = &ret->interfaces.items[ret->interfaces.n++];
			block_clear(&io_by_interface_block, to);
			to->name = io_interface_name(i);
			to->within = within ? io_interface_name(IO_MPIIO) : NULL;
			put_sums(&to->whole, &c->sums[i][within][WHOLE]);
			if (found)
				put_sums(&to->roi, &c->sums[i][within][ROI]);
		}
	return 0;
}

static int put_series(const struct iocount *c, struct arena *a, struct iopicture *ret)
{
	ret->series.items = arena_array(a, SOURCES, sizeof *ret->series.items);
	if (!ret->series.items)
		return -ENOMEM;
	for (unsigned i = 0; i < SOURCES; i++) {
		const struct count_series *s = &c->series[i];
		if (!s->n)
			continue;
		struct iopicture_series *to = &ret->series.items[ret->series.n++];
		block_clear(&iopicture_series_block, to);
		to->source = i ? io_interface_name(i - 1) : "program";
		to->first_bin = (double)s->first;
		to->bin_ns = (double)c->width_ns;
		struct nums *const lists[2] = { &to->read_bytes, &to->write_bytes };
		for (int d = 0; d < 2; d++) {
			lists[d]->items = arena_array(a, s->n, sizeof(double));
			if (!lists[d]->items)
				return -ENOMEM;
			lists[d]->n = s->n;
			for (uint32_t k = 0; k < s->n; k++)
				lists[d]->items[k] = (double)s->bytes[d][k];
		}
	}
	return 0;
}

static int put_mpi(const struct iocount *c, struct arena *a, bool found, struct iopicture *ret)
{
	ret->mpi.items = arena_array(a, IOPICTURE_MPI_CLASSES, sizeof *ret->mpi.items);
	if (!ret->mpi.items)
		return -ENOMEM;
	for (unsigned i = 0; i < IOPICTURE_MPI_CLASSES; i++) {
		if (!c->mpi_calls[i][WHOLE])
			continue;
		struct io_mpi *to = &ret->mpi.items[ret->mpi.n++];
		block_clear(&io_mpi_block, to);
		to->class_ = iopicture_mpi_classes[i];
		to->whole_calls = (double)c->mpi_calls[i][WHOLE];
		to->whole_time_s = (double)c->mpi_ns[i][WHOLE] / 1e9;
		if (!found)
			continue;
		to->calls = (double)c->mpi_calls[i][ROI];
		to->time_s = (double)c->mpi_ns[i][ROI] / 1e9;
	}
	return 0;
}

/* With what still waits, as if it were settled. */
static void put_waits(const struct iocount *c, const struct flow *f, bool found,
		      struct iopicture *ret)
{
	const struct count_waits *w = &c->waits;
	const struct ranges *windows = &f->windows.list;
	uint64_t whole = w->ns[WHOLE], roi = w->ns[ROI];
	size_t at = w->n ? windows_find(windows, w->items[0].begin) : 0;
	for (size_t i = 0; i < w->n; i++) {
		at = windows_from(windows, at, w->items[i].begin);
		whole += range_ns(w->items[i].begin, w->items[i].end);
		roi += windows_clip(windows, at, w->items[i].begin, w->items[i].end, NULL);
	}
	ret->whole_wait_ns = (double)whole;
	ret->wait_ns = found ? (double)roi : NAN;
	ret->wait_closed_ns = (double)w->closed_ns;
	ret->late_ops = (double)w->late;
}

int iocount_picture(struct iocount *c, struct flow *f, struct arena *a, struct iopicture *ret,
		    struct err *err)
{
	struct picture region;
	if (c->waits.flushed > 0)
		flow_told(f, c->waits.flushed); /* the flow itself has no operations of ours */
	int rc = flow_picture(f, a, &region, err);
	if (rc)
		return rc;
	bool found = region.found == YES;
	ret->found = region.found;
	ret->entries = region.entries;
	ret->gross_ns = region.gross_ns;
	ret->wall_ns = region.wall_ns;
	ret->late_marks = region.late_marks;
	put_sums(&ret->whole, &c->all[WHOLE]);
	if (found)
		put_sums(&ret->roi, &c->all[ROI]);
	put_waits(c, f, found, ret);
	rc = put_interfaces(c, a, found, ret);
	if (!rc)
		rc = put_files(c, a, found, ret);
	if (!rc)
		rc = put_series(c, a, ret);
	if (!rc)
		rc = put_mpi(c, a, found, ret);
	ret->dropped_ops = (double)c->dropped;
	return rc ? err_set(err, rc, "out of memory while a picture of I/O is made") : 0;
}
