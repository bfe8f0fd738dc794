/* What a counter knows of texts, handles and files; how files are used. All tables have one size.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/iocount_impl.h"

#define FILES 1024
#define HANDLES 8192
#define PROBES 8
#define TEXTS 16384 /* of the first ones, all are kept while there is room */
#define TEXT_ROOM (1u << 20)
#define NAMES_ROOM (1u << 18) /* of files */
#define RING_ROOM (64u << 10) /* of the newest texts */
#define SEEN_BITS (1u << 20)
#define BLOCK 4096

/* ---- texts ---------------------------------------------------------------------------------- */

/* Newest texts lie in the ring one behind the other: number, length, bytes. */
struct ring_head {
	uint32_t number, bytes;
};

static void ring_put(struct iocount *c, uint32_t number, const char *text, size_t bytes)
{
	struct ring_head h = { number, (uint32_t)bytes };
	if (sizeof h + bytes > RING_ROOM / 4)
		return;
	if (c->ring_at + sizeof h + bytes > RING_ROOM) {
		c->ring_bytes = c->ring_at;
		c->ring_at = 0;
	}
	/* What it writes over is lost, and what is left of that is no text any more. */
	memcpy(c->ring + c->ring_at, &h, sizeof h);
	memcpy(c->ring + c->ring_at + sizeof h, text, bytes);
	c->ring_at += sizeof h + bytes;
}

void iocount_text(struct iocount *c, uint32_t number, const char *text, size_t bytes)
{
	if (number && number < TEXTS && bytes <= TEXT_ROOM - c->texts_used) {
		char *to = c->text_room + c->texts_used;
		memcpy(to, text, bytes);
		c->texts[number] = (struct count_text){ number, (uint32_t)bytes, to };
		c->texts_used += bytes;
		c->n_texts = number + 1 > c->n_texts ? number + 1 : c->n_texts;
		return;
	}
	ring_put(c, number, text, bytes);
}

/* From the begin of the ring to where the next one goes: what lies behind is older, and its first
 * one may be half gone. */
static const char *ring_find(const struct iocount *c, uint32_t number, size_t *ret_bytes)
{
	struct ring_head h;
	for (size_t at = 0; at + sizeof h <= c->ring_at; at += sizeof h + h.bytes) {
		memcpy(&h, c->ring + at, sizeof h);
		if (h.number != number)
			continue;
		*ret_bytes = h.bytes;
		return c->ring + at + sizeof h;
	}
	return NULL;
}

const char *text_find(const struct iocount *c, uint32_t number, size_t *ret_bytes)
{
	if (!number)
		return NULL;
	if (number < TEXTS && c->texts[number].number == number) {
		*ret_bytes = c->texts[number].bytes;
		return c->texts[number].at;
	}
	return ring_find(c, number, ret_bytes);
}

/* ---- tables --------------------------------------------------------------------------------- */

static size_t power_of_two(size_t n)
{
	size_t power = 16;
	while (power < n)
		power *= 2;
	return power;
}

int files_init(struct iocount *c)
{
	struct iocount_options *o = &c->options;
	o->max_files = o->max_files ? o->max_files : FILES;
	c->handles_mask = power_of_two(o->handles ? o->handles : HANDLES) - 1;
	c->by_key_mask = power_of_two(2 * o->max_files) - 1;
	/* From calloc: pages that nobody touches cost nothing. */
	c->files = calloc(o->max_files, sizeof *c->files);
	c->by_key = calloc(c->by_key_mask + 1, sizeof *c->by_key);
	c->handles = calloc(c->handles_mask + 1, sizeof *c->handles);
	c->seen = calloc(SEEN_BITS / 64, sizeof *c->seen);
	c->texts = calloc(TEXTS, sizeof *c->texts);
	c->text_room = malloc(TEXT_ROOM);
	c->names = malloc(NAMES_ROOM);
	c->ring = malloc(RING_ROOM);
	return c->files && c->by_key && c->handles && c->seen && c->texts && c->text_room &&
			       c->names && c->ring
		       ? 0
		       : -ENOMEM;
}

void files_done(struct iocount *c)
{
	free(c->files);
	free(c->by_key);
	free(c->handles);
	free(c->seen);
	free(c->texts);
	free(c->text_room);
	free(c->names);
	free(c->ring);
}

void files_clear(struct iocount *c)
{
	memset(c->by_key, 0, (c->by_key_mask + 1) * sizeof *c->by_key);
	memset(c->handles, 0, (c->handles_mask + 1) * sizeof *c->handles);
	memset(c->seen, 0, SEEN_BITS / 8);
	memset(c->texts, 0, c->n_texts * sizeof *c->texts);
	memset(c->files, 0, c->n_files * sizeof *c->files);
}

/* ---- files ---------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 31) * UINT64_C(0x9e3779b97f4a7c15);
	return x ^ x >> 29;
}

/* One line for all pipes, one for all sockets: nobody looks for them by name. */
static bool nameless(enum io_file_type type)
{
	return type == IO_PIPE || type == IO_SOCKET || type == IO_TERMINAL;
}

static uint64_t key_of(const struct iocount_handle *h)
{
	if (h->path)
		return mix(h->path);
	if (nameless(h->type))
		return mix(UINT64_C(1) << 40 | (uint64_t)h->type);
	if (h->device || h->inode)
		return mix(h->device ^ mix(h->inode));
	return mix(UINT64_C(2) << 40 | h->number);
}

static bool is_same(const struct count_file *f, const struct iocount_handle *h)
{
	if (h->path || f->path)
		return h->path == f->path;
	if (nameless(h->type))
		return f->type == h->type;
	return (h->device || h->inode) && f->device == h->device && f->inode == h->inode;
}

/* Its place in the table, or where it would be. */
static uint32_t *place_of(struct iocount *c, const struct iocount_handle *h)
{
	uint64_t at = key_of(h);
	for (;; at++) {
		uint32_t *place = &c->by_key[at & c->by_key_mask];
		if (!*place || is_same(&c->files[*place - 1], h))
			return place;
	}
}

struct count_file *file_of_path(struct iocount *c, uint32_t path)
{
	const struct iocount_handle h = { .path = path };
	const uint32_t *place = path ? place_of(c, &h) : NULL;
	return place && *place ? &c->files[*place - 1] : NULL;
}

static const char *name_of(struct iocount *c, const struct iocount_handle *h)
{
	static const char *const standard[] = { NULL, "stdin", "stdout", "stderr" };
	static const char *const all[] = { [IO_PIPE] = "(pipes)",
					   [IO_SOCKET] = "(sockets)",
					   [IO_TERMINAL] = "(terminals)",
					   [IO_OTHER] = "(others)" };
	size_t bytes = 0;
	const char *text = text_find(c, h->path, &bytes);
	if (text && bytes < NAMES_ROOM - c->names_used) {
		char *name = c->names + c->names_used;
		memcpy(name, text, bytes);
		name[bytes] = 0;
		c->names_used += bytes + 1;
		return name;
	}
	if (text || h->path)
		return "(name has no room)";
	if (h->number && h->number < sizeof standard / sizeof *standard)
		return standard[h->number];
	return h->type < sizeof all / sizeof *all && all[h->type] ? all[h->type] : "(no name)";
}

static bool seen_before(struct iocount *c, const struct iocount_handle *h)
{
	uint64_t bit = h->path ? h->path : key_of(h);
	uint64_t *word = &c->seen[bit / 64 % (SEEN_BITS / 64)], mask = UINT64_C(1) << bit % 64;
	bool before = *word & mask;
	*word |= mask;
	return before;
}

/* The standard streams have lines of their own, whatever they are. */
static struct iocount_handle line_of(const struct iocount_handle *h)
{
	struct iocount_handle line = *h;
	if (line.number && line.number <= 3 && nameless(line.type)) {
		line.type = IO_OTHER;
		line.device = UINT64_MAX;
		line.inode = line.number;
		line.path = 0;
	} else if (nameless(line.type)) {
		line.path = 0;
	}
	return line;
}

static uint32_t file_for(struct iocount *c, const struct iocount_handle *h, bool *is_new)
{
	struct iocount_handle line = line_of(h);
	uint32_t *place = place_of(c, &line);
	*is_new = false;
	if (!seen_before(c, &line))
		c->files_total++;
	if (*place)
		return *place - 1;
	if (c->n_files == c->options.max_files)
		return NO_FILE;
	struct count_file *f = &c->files[c->n_files];
	*f = (struct count_file){ .path = line.path,
				  .type = (uint8_t)line.type,
				  .interface = (uint8_t)h->interface,
				  .device = line.device,
				  .inode = line.inode,
				  .first_ns = INT64_MAX };
	f->name = name_of(c, &line);
	*place = ++c->n_files;
	*is_new = true;
	return *place - 1;
}

/* ---- handles -------------------------------------------------------------------------------- */

struct count_handle *handle_find(struct iocount *c, uint32_t number)
{
	if (c->last_handle && c->last_handle->number == number)
		return c->last_handle;
	for (uint32_t i = 0; number && i < PROBES; i++) {
		struct count_handle *h = &c->handles[(number + i) & c->handles_mask];
		if (h->number == number)
			return c->last_handle = h;
	}
	return NULL;
}

/* A free place, else one that is closed, else the oldest. */
static struct count_handle *handle_place(struct iocount *c, uint32_t number)
{
	struct count_handle *best = NULL;
	for (uint32_t i = 0; i < PROBES; i++) {
		struct count_handle *h = &c->handles[(number + i) & c->handles_mask];
		if (!h->number || h->number == number)
			return h;
		if (!best || h->closed > best->closed ||
		    (h->closed == best->closed && h->number < best->number))
			best = h;
	}
	return best;
}

static int height(unsigned interface)
{
	return interface == IO_MPIIO ? 2 : interface == IO_STDIO;
}

bool iocount_handle(struct iocount *c, const struct iocount_handle *h)
{
	bool is_new = false;
	if (!h->number)
		return false;
	struct count_handle *to = handle_place(c, h->number);
	*to = (struct count_handle){ .number = h->number, .type = (uint8_t)h->type };
	to->file = file_for(c, h, &is_new);
	if (to->file == NO_FILE)
		return false;
	struct count_file *f = &c->files[to->file];
	if (height(h->interface) > height(f->interface))
		f->interface = (uint8_t)h->interface;
	if (!f->device && !f->inode) {
		f->device = h->device;
		f->inode = h->inode;
	}
	return is_new;
}

void iocount_detail(struct iocount *c, uint32_t handle, const struct iocount_detail *detail)
{
	const struct count_handle *h = handle_find(c, handle);
	if (!h || h->file == NO_FILE)
		return;
	c->files[h->file].filesystem = detail->filesystem;
	c->files[h->file].block = detail->block_bytes;
	c->files[h->file].born_us = detail->born_us;
}

const char *iocount_name(struct iocount *c, uint32_t handle)
{
	const struct count_handle *h = handle_find(c, handle);
	return h && h->file != NO_FILE ? c->files[h->file].name : NULL;
}

/* ---- how it is used ------------------------------------------------------------------------- */

static unsigned size_bin(uint64_t bytes)
{
	unsigned bin = bytes ? 64 - (unsigned)__builtin_clzll(bytes) : 0;
	return bin < SIZE_BINS ? bin : SIZE_BINS - 1;
}

/* The first extent that ends at or behind the place. */
static uint32_t extent_from(const struct count_file *f, int64_t at)
{
	uint32_t low = 0, high = f->n_written;
	if (high && f->written[high - 1].end < at)
		return high;
	while (low < high) {
		uint32_t middle = (low + high) / 2;
		if (f->written[middle].end < at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void close_smallest(struct count_file *f)
{
	uint32_t best = 1;
	int64_t least = INT64_MAX;
	for (uint32_t i = 1; i < f->n_written; i++) {
		int64_t gap = f->written[i].begin - f->written[i - 1].end;
		if (gap < least) {
			least = gap;
			best = i;
		}
	}
	f->closed_bytes += (double)least;
	f->written[best - 1].end = f->written[best].end;
	f->n_written--;
	memmove(&f->written[best], &f->written[best + 1],
		(f->n_written - best) * sizeof *f->written);
}

static void wrote(struct count_file *f, int64_t begin, int64_t end)
{
	uint32_t i = extent_from(f, begin), k = i;
	while (k < f->n_written && f->written[k].begin <= end) {
		begin = f->written[k].begin < begin ? f->written[k].begin : begin;
		end = f->written[k].end > end ? f->written[k].end : end;
		k++;
	}
	if (k == i && f->n_written == EXTENTS) {
		close_smallest(f);
		wrote(f, begin, end);
		return;
	}
	memmove(&f->written[i + 1], &f->written[k], (f->n_written - k) * sizeof *f->written);
	f->n_written = f->n_written - (k - i) + 1;
	f->written[i] = (struct extent){ begin, end };
}

static int64_t written_of(const struct count_file *f, int64_t begin, int64_t end)
{
	int64_t bytes = 0;
	for (uint32_t i = extent_from(f, begin); i < f->n_written && f->written[i].begin < end; i++)
		bytes += earlier(f->written[i].end, end) - later(f->written[i].begin, begin);
	return bytes;
}

/* n accesses, one behind the other, from at to end: how many of them begin or end off a block. The
 * pattern of rests comes again after at most a block's worth of accesses, so not all are looked at.
 */
static uint64_t unaligned_of(const struct count_file *f, int64_t at, uint64_t bytes, uint64_t n,
			     bool ends_file)
{
	uint64_t block = f->block ? f->block : BLOCK, off = 0;
	if (n == 1 && (block & (block - 1)) == 0) /* as they are: no division */
		return ((uint64_t)at & (block - 1)) != 0 ||
		       ((((uint64_t)at + bytes) & (block - 1)) != 0 && !ends_file);
	if ((uint64_t)at % block == 0 && bytes % block == 0)
		return 0;
	uint64_t looked = n < 1024 ? n : 1024;
	for (uint64_t i = 0; i < looked; i++) {
		uint64_t begin = (uint64_t)at + i * bytes, end = begin + bytes;
		bool last = ends_file && i + 1 == n;
		off += begin % block != 0 || (end % block != 0 && !last);
	}
	return n == looked ? off : off * n / looked;
}

void file_access(struct count_file *f, struct count_handle *h, bool write, int64_t at,
		 uint64_t bytes, bool cut_short, uint64_t n, const struct share *s)
{
	struct count_pattern *p[SCOPES] = { s->in ? &f->patterns[ROI] : NULL, &f->patterns[WHOLE] };
	unsigned bin = size_bin(bytes);
	bool turn = h->accessed && h->wrote != write;
	uint64_t follow = 0, behind = 0, off = 0;
	double reread = 0;
	if (at >= 0 && at < INT64_MAX / 2 && bytes < (UINT64_MAX >> 2) / n) {
		int64_t end = at + (int64_t)(bytes * n);
		bool ends = cut_short || (write && end >= f->size);
		follow = n - 1 + (h->accessed && at == h->end);
		behind = n - 1 + (h->accessed && at >= h->end);
		off = unaligned_of(f, at, bytes, n, ends);
		if (!write && f->n_written)
			reread = (double)written_of(f, at, end);
		if (write && bytes)
			wrote(f, at, end);
		f->size = end > f->size ? end : f->size;
		h->end = end;
		f->has_pattern = true;
	}
	h->accessed = true;
	h->wrote = write;
	for (int i = 0; i < SCOPES; i++) {
		if (!p[i])
			continue;
		p[i]->consecutive[write] += follow;
		p[i]->sequential[write] += behind;
		p[i]->turns += turn;
		p[i]->unaligned += off;
		p[i]->bins[write][bin] += n;
		p[i]->reread_bytes += i == ROI ? reread * s->part : reread;
	}
}

void file_hints(struct count_file *f, const struct io_event *e)
{
	if (e->call == IO_MPI_File_open) {
		f->hints_set = (uint32_t)e->arg[3];
		f->hints_in_force = (uint32_t)e->arg[4];
	} else if (e->call == IO_MPI_File_set_info && e->arg[1]) {
		f->hints_set = (uint32_t)e->arg[1];
	} else if (e->call == IO_MPI_File_set_view && e->arg[5]) {
		f->hints_set = (uint32_t)e->arg[5];
	} else if (e->call == IO_MPI_File_in_force) {
		f->hints_in_force = (uint32_t)e->arg[1];
	}
}
