/* Sums, files and bytes over time of a whole job, in bounded memory. */
#define _GNU_SOURCE
#include "import/recorder_count.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/num.h"
#include "schema/iopicture.h"

#define FILES_KEPT 32768
#define FILES_LISTED 1000
#define BINS 400
#define POWERS 66

struct sums {
	uint64_t bytes[2], ops[2], opens, seeks, syncs, metas, untimed;
	uint64_t ticks[3]; /* reads, writes, others */
	uint64_t unknown[2]; /* accesses whose bytes are not known */
	bool any;
};

struct file {
	char *name;
	size_t n;
	uint64_t hash;
	struct sums sums;
	uint64_t consecutive[2], sequential[2], turns, powers[2][POWERS];
	bool unplaced; /* an access whose place is not known */
	uint64_t first, last, size;
	uint32_t processes, last_process;
	uint8_t interface;
	bool seen; /* used by a call, not only named */
};

struct handle {
	uint32_t file; /* 1 + index; 0: none */
	int64_t end;   /* of the access before; -1: none */
	int direction; /* of it; -1: none */
};

struct series {
	double bytes[2][BINS];
	bool any;
};

enum { PROGRAM = IO_INTERFACES, SERIES };

struct recorder_count {
	double tick_s;
	struct sums rows[IO_INTERFACES][IO_INTERFACES + 1];
	struct sums whole;
	struct series series[SERIES];
	uint64_t bin_ticks;
	size_t bins_used;
	struct file *files;
	size_t n_files, cap_files;
	uint32_t *slots; /* 1 + file */
	bool *folded;    /* by hash: files that had no room; the same one counts once */
	uint64_t n_folded;
	uint64_t mpi_calls[IOPICTURE_MPI_CLASSES], mpi_ticks[IOPICTURE_MPI_CLASSES];
	bool mpi_seen;
	/* of the process that is under way */
	uint32_t process;
	uint32_t *text_files; /* 1 + file, by text */
	size_t cap_texts;
	struct handle *handles; /* by number */
	size_t cap_handles;
	bool failed;
};

#define N_SLOTS (2 * FILES_KEPT)

int recorder_count_new(struct recorder_count **ret, double tick_s)
{
	struct recorder_count *c = calloc(1, sizeof *c);
	if (c) {
		c->slots = calloc(N_SLOTS, sizeof *c->slots);
		c->folded = calloc(1 << 20, sizeof *c->folded);
	}
	if (!c || !c->slots || !c->folded) {
		recorder_count_free(c);
		return -ENOMEM;
	}
	c->tick_s = tick_s;
	c->bin_ticks = tick_s < 1e-3 ? (uint64_t)llround(1e-3 / tick_s) : 1;
	*ret = c;
	return 0;
}

void recorder_count_free(struct recorder_count *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->n_files; i++)
		free(c->files[i].name);
	free(c->files);
	free(c->slots);
	free(c->folded);
	free(c->text_files);
	free(c->handles);
	free(c);
}

/* ---- names --------------------------------------------------------------------------------------
 */

static void *room_for(struct recorder_count *c, void *items, size_t *cap, size_t n, size_t item_bytes)
{
	if (n < *cap)
		return items;
	size_t more = *cap ? *cap : 64;
	while (more <= n)
		more *= 2;
	char *grown = realloc(items, more * item_bytes);
	if (!grown) {
		c->failed = true;
		return NULL;
	}
	memset(grown + *cap * item_bytes, 0, (more - *cap) * item_bytes);
	*cap = more;
	return grown;
}

void recorder_count_begin(struct recorder_count *c)
{
	c->process++;
	if (c->cap_texts)
		memset(c->text_files, 0, c->cap_texts * sizeof *c->text_files);
	if (c->cap_handles)
		memset(c->handles, 0, c->cap_handles * sizeof *c->handles);
}

/* 1 + file; 0: no room. */
static uint32_t file_of(struct recorder_count *c, const char *name, size_t n)
{
	uint64_t hash = 14695981039346656037u;
	for (size_t i = 0; i < n; i++)
		hash = (hash ^ (unsigned char)name[i]) * 1099511628211u;
	hash ^= hash >> 29;
	size_t i = (size_t)hash & (N_SLOTS - 1);
	for (; c->slots[i]; i = (i + 1) & (N_SLOTS - 1)) {
		struct file *f = &c->files[c->slots[i] - 1];
		if (f->hash == hash && f->n == n && memcmp(f->name, name, n) == 0)
			return c->slots[i];
	}
	if (c->n_files >= FILES_KEPT) {
		bool *there = &c->folded[hash >> 44];
		c->n_folded += !*there;
		*there = true;
		return 0;
	}
	struct file *files = room_for(c, c->files, &c->cap_files, c->n_files, sizeof *files);
	char *copy = malloc(n + 1);
	if (!files || !copy) {
		c->files = files ? files : c->files;
		c->failed = true;
		free(copy);
		return 0;
	}
	c->files = files;
	memcpy(copy, name, n);
	copy[n] = '\0';
	files[c->n_files++] = (struct file){ .name = copy, .n = n, .hash = hash, .first = UINT64_MAX };
	return c->slots[i] = (uint32_t)c->n_files;
}

void recorder_count_text(struct recorder_count *c, uint32_t number, const char *text, size_t n)
{
	uint32_t *to = room_for(c, c->text_files, &c->cap_texts, number, sizeof *to);
	if (!to)
		return;
	c->text_files = to;
	to[number] = n && text[0] == '/' ? file_of(c, text, n) : 0;
}

void recorder_count_handle(struct recorder_count *c, const struct recorder_handle *h)
{
	static const unsigned char height[IO_INTERFACES] = { [IO_POSIX] = 0, [IO_AIO] = 1, [IO_URING] = 1,
							     [IO_STDIO] = 2, [IO_MPIIO] = 3 };
	struct handle *to = room_for(c, c->handles, &c->cap_handles, h->number, sizeof *to);
	if (!to)
		return;
	c->handles = to;
	uint32_t file = h->path && h->path < c->cap_texts ? c->text_files[h->path] : 0;
	to[h->number] = (struct handle){ .file = file, .end = -1, .direction = -1 };
	if (!file)
		return;
	struct file *f = &c->files[file - 1];
	if (!f->seen || height[h->interface] > height[f->interface])
		f->interface = h->interface;
	f->seen = true;
}

/* ---- sums ---------------------------------------------------------------------------------------
 */

static void add_sums(struct sums *s, const struct recorder_event *r)
{
	const struct io_event *e = &r->event;
	const struct io_call_info *info = io_call_info(e->call);
	bool timed = e->begin_ns || e->end_ns;
	uint64_t ticks = timed && e->end_ns > e->begin_ns ? e->end_ns - e->begin_ns : 0;
	int direction = info->kind == IO_READ ? 0 : info->kind == IO_WRITE ? 1 : 2;
	s->any = true;
	s->untimed += !timed;
	s->ticks[direction] += ticks;
	if (direction < 2) {
		s->ops[direction]++;
		s->bytes[direction] += r->bytes_unknown ? 0 : (uint64_t)e->result;
		s->unknown[direction] += r->bytes_unknown;
	}
	s->opens += info->kind == IO_OPEN || info->kind == IO_CLOSE;
	s->seeks += info->kind == IO_SEEK;
	s->syncs += info->kind == IO_SYNC;
	s->metas += info->kind == IO_META;
}

static void halve(struct recorder_count *c)
{
	for (size_t i = 0; i < SERIES; i++)
		for (int d = 0; d < 2; d++) {
			double *b = c->series[i].bytes[d];
			for (size_t k = 0; k < BINS; k++)
				b[k] = k < BINS / 2 ? b[2 * k] + b[2 * k + 1] : 0;
		}
	c->bin_ticks *= 2;
	c->bins_used = (c->bins_used + 1) / 2;
}

/* Bytes where the call was, evenly. */
static void add_series(struct recorder_count *c, struct series *s, int direction, uint64_t begin,
		       uint64_t end, double bytes)
{
	end = end < begin ? begin : end;
	while (end / c->bin_ticks >= BINS && c->bin_ticks < (uint64_t)1 << 62)
		halve(c);
	size_t first = (size_t)(begin / c->bin_ticks), last = (size_t)(end / c->bin_ticks);
	if (last >= BINS)
		return;
	c->bins_used = last + 1 > c->bins_used ? last + 1 : c->bins_used;
	s->any = true;
	for (size_t i = first; i <= last; i++) {
		double a = i == first ? (double)begin : (double)i * (double)c->bin_ticks;
		double b = i == last ? (double)end : (double)(i + 1) * (double)c->bin_ticks;
		s->bytes[direction][i] += end == begin ? bytes : bytes * (b - a) / (double)(end - begin);
	}
}

static void add_pattern(struct recorder_count *c, struct file *f, uint32_t handle,
			const struct recorder_event *r, int direction)
{
	const struct io_event *e = &r->event;
	struct handle *h = handle && handle < c->cap_handles ? &c->handles[handle] : NULL;
	size_t power = 0;
	for (uint64_t x = (uint64_t)e->result; x; x >>= 1)
		power++;
	f->powers[direction][power]++;
	if (e->at < 0 || !h) {
		f->unplaced = true;
		return;
	}
	uint64_t end;
	if (e->result > 0 && !__builtin_add_overflow((uint64_t)e->at, (uint64_t)e->result, &end) &&
	    end > f->size)
		f->size = end;
	if (h->direction >= 0 && e->at >= h->end) {
		f->sequential[direction]++;
		f->consecutive[direction] += e->at == h->end;
	}
	f->turns += h->direction >= 0 && h->direction != direction;
	h->direction = direction;
	if (__builtin_add_overflow(e->at, e->result, &h->end))
		h->end = INT64_MAX;
}

static void add_file(struct recorder_count *c, const struct recorder_event *r, int direction, bool own)
{
	const struct io_event *e = &r->event;
	uint32_t at = r->handle && r->handle < c->cap_handles ? c->handles[r->handle].file : 0;
	if (!at && io_call_info(e->call)->signature[0] == 'p' && e->arg[0] > 0 &&
	    (uint64_t)e->arg[0] < c->cap_texts)
		at = c->text_files[e->arg[0]];
	if (!at)
		return;
	struct file *f = &c->files[at - 1];
	f->seen = true;
	if (f->last_process != c->process) {
		f->last_process = c->process;
		f->processes++;
	}
	if (!own)
		return;
	add_sums(&f->sums, r);
	f->first = e->begin_ns < f->first ? e->begin_ns : f->first;
	f->last = e->end_ns > f->last ? e->end_ns : f->last;
	if (direction < 2 && !r->bytes_unknown)
		add_pattern(c, f, r->handle, r, direction);
	else if (direction < 2)
		f->unplaced = true;
}

void recorder_count_event(struct recorder_count *c, const struct recorder_event *r, unsigned within)
{
	const struct io_event *e = &r->event;
	const struct io_call_info *info = io_call_info(e->call);
	int direction = info->kind == IO_READ ? 0 : info->kind == IO_WRITE ? 1 : 2;
	bool own = within == IO_INTERFACES;
	add_sums(&c->rows[info->interface][within], r);
	if (own)
		add_sums(&c->whole, r);
	if (direction < 2 && !r->bytes_unknown) {
		add_series(c, &c->series[info->interface], direction, e->begin_ns, e->end_ns,
			   (double)e->result);
		if (own)
			add_series(c, &c->series[PROGRAM], direction, e->begin_ns, e->end_ns,
				   (double)e->result);
	}
	add_file(c, r, direction, own);
}

void recorder_count_mpi(struct recorder_count *c, unsigned class, uint64_t ticks)
{
	c->mpi_seen = true;
	c->mpi_calls[class]++;
	c->mpi_ticks[class] += ticks;
}

/* ---- into the record ----------------------------------------------------------------------------
 */

static struct io_sums sums_of(const struct recorder_count *c, const struct sums *s)
{
	struct io_sums to;
	block_clear(&io_sums_block, &to);
	to.read_bytes = s->unknown[0] ? NAN : num15((double)s->bytes[0]);
	to.write_bytes = s->unknown[1] ? NAN : num15((double)s->bytes[1]);
	to.read_ops = (double)s->ops[0];
	to.write_ops = (double)s->ops[1];
	to.open_ops = (double)s->opens;
	to.seek_ops = (double)s->seeks;
	to.sync_ops = (double)s->syncs;
	to.meta_ops = (double)s->metas;
	to.read_s = num15((double)s->ticks[0] * c->tick_s);
	to.write_s = num15((double)s->ticks[1] * c->tick_s);
	to.meta_s = num15((double)s->ticks[2] * c->tick_s);
	to.untimed_ops = (double)s->untimed;
	return to;
}

static int put_interfaces(struct recorder_count *c, struct record *rec)
{
	struct io *io = &rec->body.io;
	io->interfaces.items = arena_array(&rec->arena, IO_INTERFACES * (IO_INTERFACES + 1),
					   sizeof *io->interfaces.items);
	if (!io->interfaces.items)
		return -ENOMEM;
	for (unsigned i = 0; i < IO_INTERFACES; i++)
		for (unsigned k = 0; k <= IO_INTERFACES; k++) {
			unsigned within = (k + IO_INTERFACES) % (IO_INTERFACES + 1); /* its own first */
			if (!c->rows[i][within].any)
				continue;
			struct io_by_interface *row = &io->interfaces.items[io->interfaces.n++];
			block_clear(&io_by_interface_block, row);
			row->name = io_interface_name(i);
			row->within = within < IO_INTERFACES ? io_interface_name(within) : NULL;
			row->whole = sums_of(c, &c->rows[i][within]);
		}
	io->whole = sums_of(c, &c->whole);
	return 0;
}

static int by_bytes(const void *a, const void *b)
{
	const struct file *x = *(const struct file *const *)a, *y = *(const struct file *const *)b;
	uint64_t p = x->sums.bytes[0] + x->sums.bytes[1], q = y->sums.bytes[0] + y->sums.bytes[1];
	return p != q ? (p < q) - (p > q) : strcmp(x->name, y->name);
}

static int put_powers(struct record *rec, struct nums *to, const uint64_t *from)
{
	to->items = arena_array(&rec->arena, 2 * POWERS, sizeof *to->items);
	if (!to->items)
		return -ENOMEM;
	for (size_t i = 0; i < POWERS; i++)
		if (from[i]) {
			to->items[to->n++] = (double)i;
			to->items[to->n++] = (double)from[i];
		}
	return 0;
}

static int put_file(const struct recorder_count *c, struct record *rec, struct io_file *to,
		    const struct file *f)
{
	block_clear(&io_file_block, to);
	to->name = record_text(rec, f->name, f->n);
	to->interface = io_interface_name(f->interface);
	to->processes = f->processes;
	to->shared = f->processes > 1 ? YES : NO;
	to->whole = sums_of(c, &f->sums);
	if (f->first != UINT64_MAX) {
		to->first_s = num15((double)f->first * c->tick_s);
		to->last_s = num15((double)f->last * c->tick_s);
	}
	bool moved = f->sums.ops[0] + f->sums.ops[1] > 0;
	if (!to->name)
		return -ENOMEM;
	if (!moved || f->sums.unknown[0] || f->sums.unknown[1])
		return 0;
	struct io_pattern *p = &to->whole_pattern;
	if (!f->unplaced) {
		to->size_bytes = num15((double)f->size);
		p->consecutive_reads = (double)f->consecutive[0];
		p->consecutive_writes = (double)f->consecutive[1];
		p->sequential_reads = (double)f->sequential[0];
		p->sequential_writes = (double)f->sequential[1];
		p->turns = (double)f->turns;
	}
	int rc = put_powers(rec, &p->read_bins, f->powers[0]);
	return rc ? rc : put_powers(rec, &p->write_bins, f->powers[1]);
}

static int put_files(struct recorder_count *c, struct record *rec)
{
	struct io *io = &rec->body.io;
	const struct file **list = calloc(c->n_files + 1, sizeof *list);
	size_t n = 0;
	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < c->n_files; i++)
		if (c->files[i].seen)
			list[n++] = &c->files[i];
	qsort(list, n, sizeof *list, by_bytes);
	size_t listed = n < FILES_LISTED ? n : FILES_LISTED;
	io->files.items = arena_array(&rec->arena, listed + 1, sizeof *io->files.items);
	int rc = io->files.items ? 0 : -ENOMEM;
	for (size_t i = 0; i < listed && !rc; i++)
		rc = put_file(c, rec, &io->files.items[io->files.n++], list[i]);
	free(list);
	if (!c->n_folded)
		io->files_total = (double)n;
	io->files_folded = c->n_folded ? NAN : (double)(n - listed);
	if (!rc && (n > listed || c->n_folded))
		rc = record_caveat(rec, "io_files_folded",
				   "Of %zu files%s the %zu with the most bytes have a line.", n,
				   c->n_folded ? " and more" : "", listed);
	return rc;
}

static int put_series(struct recorder_count *c, struct record *rec)
{
	struct io *io = &rec->body.io;
	io->series.items = arena_array(&rec->arena, SERIES, sizeof *io->series.items);
	if (!io->series.items)
		return -ENOMEM;
	for (unsigned k = 0; k < SERIES; k++) {
		unsigned i = (k + PROGRAM) % SERIES; /* the program's own first */
		if (!c->series[i].any)
			continue;
		struct io_series *to = &io->series.items[io->series.n++];
		block_clear(&io_series_block, to);
		to->source = i == PROGRAM ? "program" : io_interface_name(i);
		to->begin_s = 0;
		to->bin_s = num15((double)c->bin_ticks * c->tick_s);
		struct nums *bins[2] = { &to->read_bytes, &to->write_bytes };
		for (int d = 0; d < 2; d++) {
			bins[d]->items = arena_array(&rec->arena, c->bins_used + 1, sizeof(double));
			if (!bins[d]->items)
				return -ENOMEM;
			for (size_t b = 0; b < c->bins_used; b++)
				bins[d]->items[b] = num15(c->series[i].bytes[d][b]);
			bins[d]->n = c->bins_used;
		}
	}
	return 0;
}

static int put_mpi(struct recorder_count *c, struct record *rec)
{
	struct io *io = &rec->body.io;
	if (!c->mpi_seen)
		return 0;
	io->mpi.items = arena_array(&rec->arena, IOPICTURE_MPI_CLASSES, sizeof *io->mpi.items);
	if (!io->mpi.items)
		return -ENOMEM;
	for (unsigned i = 0; i < IOPICTURE_MPI_CLASSES; i++) {
		if (!c->mpi_calls[i])
			continue;
		struct io_mpi *to = &io->mpi.items[io->mpi.n++];
		block_clear(&io_mpi_block, to);
		to->class_ = iopicture_mpi_classes[i];
		to->whole_calls = (double)c->mpi_calls[i];
		to->whole_time_s = num15((double)c->mpi_ticks[i] * c->tick_s);
	}
	return 0;
}

int recorder_count_put(struct recorder_count *c, struct record *rec)
{
	int rc = c->failed ? -ENOMEM : put_interfaces(c, rec);
	if (!rc)
		rc = put_files(c, rec);
	if (!rc)
		rc = put_series(c, rec);
	return rc ? rc : put_mpi(c, rec);
}
