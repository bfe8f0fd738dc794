#define _GNU_SOURCE
#include "schema/iocap_alike.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/file.h"
#include "schema/iocap.h"
#include "schema/iocap_view.h"

#define NAME_MAX_BYTES 255
/* Bytes that are the same between two that differ, for two hunks to be worth it. */
#define APART 6
#define FILE_MAX ((size_t)64 << 20)

enum { B_BASE = 9, B_ALIKE = 10 };

/* ---- blocks of a file ---- */

bool iocap_blocks_list(struct iocap_blocks *b, const void *file, size_t n, const char *magic)
{
	const uint8_t *p = file;
	if (n < 8 || memcmp(p, magic, 8) != 0)
		return false;
	struct iocap_in in = { p + 8, p + n, false };
	struct iocap_block_in one;
	while (iocap_block_get(&in, &one)) {
		if (b->max && b->n == b->max)
			return false;
		if (b->n == b->cap) {
			size_t cap = b->cap ? b->cap * 2 : 64;
			if (b->max && cap > b->max)
				cap = b->max;
			void *more = realloc(b->items, cap * sizeof *b->items);
			if (!more)
				return false;
			b->items = more;
			b->cap = cap;
		}
		b->items[b->n++] = one;
	}
	return in.at == in.end;
}

void iocap_blocks_done(struct iocap_blocks *b)
{
	free(b->items);
	*b = (struct iocap_blocks){ 0 };
}

static size_t length(const struct iocap_block_in *b)
{
	return (size_t)(b->in.end - b->in.at);
}

/* How far the base was looked through for blocks of each kind. */
struct partners {
	size_t at[IOCAP_B_STATE + 1][IOCAP_STREAMS + 1];
};

/* The base's next block of the same type and stream; base->n: there is none. Times are never alike.
 */
static size_t partner(struct partners *p, const struct iocap_blocks *base,
		      const struct iocap_block_in *b)
{
	if (b->type > IOCAP_B_STATE || b->type == IOCAP_B_TIMES)
		return base->n;
	unsigned stream = b->stream < IOCAP_STREAMS ? b->stream : IOCAP_STREAMS;
	size_t k = p->at[b->type][stream];
	while (k < base->n &&
	       (base->items[k].type != b->type || base->items[k].stream != b->stream))
		k++;
	p->at[b->type][stream] = k < base->n ? k + 1 : k;
	return k;
}

/* ---- what differs ---- */

/* copy bytes of the base, leave out so many, put these. */
static void hunk(struct iocap_bytes *out, size_t copy, size_t leave, const uint8_t *put, size_t n)
{
	iocap_varint_put(out, copy);
	iocap_varint_put(out, leave);
	iocap_varint_put(out, n);
	iocap_bytes_put(out, put, n);
}

static void differ(struct iocap_bytes *out, const struct iocap_block_in *a,
		   const struct iocap_block_in *b)
{
	const uint8_t *x = a->in.at, *y = b->in.at; /* of the base, and what is wanted */
	size_t n = length(a), m = length(b), done = 0;
	if (n != m) {
		size_t head = 0, tail = 0;
		while (head < n && head < m && x[head] == y[head])
			head++;
		while (tail < n - head && tail < m - head && x[n - 1 - tail] == y[m - 1 - tail])
			tail++;
		hunk(out, head, n - head - tail, y + head, m - head - tail);
		return;
	}
	for (size_t i = 0; i < n;) {
		if (x[i] == y[i]) {
			i++;
			continue;
		}
		size_t end = i + 1;
		for (size_t k = i + 1; k < n && k < end + APART; k++)
			if (x[k] != y[k])
				end = k + 1;
		hunk(out, i - done, end - i, y + i, end - i);
		done = i = end;
	}
}

static void put_block(struct iocap_bytes *out, const struct iocap_block_in *b)
{
	struct iocap_bytes payload = { .data = (uint8_t *)(uintptr_t)b->in.at, .len = length(b) };
	iocap_block_put(out, b->type, b->stream, b->items, &payload);
}

bool iocap_alike_put(struct iocap_bytes *out, const void *file, size_t n,
		     const struct iocap_blocks *base, const char *base_name)
{
	struct iocap_blocks b = { 0 };
	struct partners *next = calloc(1, sizeof *next);
	struct iocap_bytes payload = { 0 };
	bool good = next && iocap_blocks_list(&b, file, n, IOCAP_MAGIC) &&
		    strlen(base_name) <= NAME_MAX_BYTES;
	if (good) {
		iocap_bytes_put(out, IOCAP_ALIKE_MAGIC, 8);
		iocap_bytes_put(&payload, base_name, strlen(base_name));
		iocap_block_put(out, B_BASE, 0, 0, &payload);
	}
	for (size_t i = 0; good && i < b.n; i++) {
		const struct iocap_block_in *one = &b.items[i];
		size_t k = partner(next, base, one);
		payload.len = 0;
		iocap_varint_put(&payload, one->type);
		iocap_varint_put(&payload, k);
		if (k < base->n)
			differ(&payload, &base->items[k], one);
		if (k < base->n && payload.len < length(one))
			iocap_block_put(out, B_ALIKE, one->stream, one->items, &payload);
		else
			put_block(out, one);
	}
	good = good && !out->failed && !payload.failed;
	iocap_bytes_done(&payload);
	iocap_blocks_done(&b);
	free(next);
	return good;
}

/* ---- back ---- */

const char *iocap_alike_base(const void *file, size_t n, size_t *ret_bytes)
{
	const uint8_t *p = file;
	struct iocap_block_in b;
	if (n < 8 || memcmp(p, IOCAP_ALIKE_MAGIC, 8) != 0)
		return NULL;
	struct iocap_in in = { p + 8, p + n, false };
	if (!iocap_block_get(&in, &b) || b.type != B_BASE || !length(&b) ||
	    length(&b) > NAME_MAX_BYTES || memchr(b.in.at, '/', length(&b)) ||
	    memchr(b.in.at, 0, length(&b)))
		return NULL;
	*ret_bytes = length(&b);
	return (const char *)b.in.at;
}

bool iocap_alike_block(struct iocap_block_in *b, const struct iocap_blocks *base,
		       struct iocap_bytes *payload)
{
	if (b->type != B_ALIKE)
		return true;
	struct iocap_in in = b->in;
	uint64_t type = iocap_varint(&in), k = iocap_varint(&in);
	if (in.bad || k >= base->n || type > UINT16_MAX || type == B_ALIKE)
		return false;
	struct iocap_in from = base->items[k].in;
	payload->len = 0;
	while (in.at < in.end && !in.bad && !from.bad) {
		size_t copy = iocap_varint(&in), leave = iocap_varint(&in), n = iocap_varint(&in);
		const uint8_t *same = iocap_take(&from, copy), *put = iocap_take(&in, n);
		if (!same || !put || !iocap_take(&from, leave))
			return false;
		iocap_bytes_put(payload, same, copy);
		iocap_bytes_put(payload, put, n);
	}
	iocap_bytes_put(payload, from.at, (size_t)(from.end - from.at));
	b->type = (unsigned)type;
	b->in = (struct iocap_in){ payload->data, payload->data + payload->len, false };
	return !in.bad && !from.bad && !payload->failed;
}

bool iocap_alike_get(struct iocap_bytes *out, const void *file, size_t n,
		     const struct iocap_blocks *base)
{
	struct iocap_blocks b = { 0 };
	struct iocap_bytes payload = { 0 };
	bool good = iocap_blocks_list(&b, file, n, IOCAP_ALIKE_MAGIC) && b.n;
	if (good)
		iocap_bytes_put(out, IOCAP_MAGIC, 8);
	for (size_t i = 1; good && i < b.n; i++) {
		good = iocap_alike_block(&b.items[i], base, &payload);
		if (good)
			put_block(out, &b.items[i]);
	}
	good = good && !out->failed;
	iocap_bytes_done(&payload);
	iocap_blocks_done(&b);
	return good;
}

/* ---- a folder ---- */

static int is_ours(const struct dirent *e)
{
	size_t n = strlen(e->d_name), m = strlen(IOCAP_SUFFIX);
	return n > m && strcmp(e->d_name + n - m, IOCAP_SUFFIX) == 0;
}

struct kept {
	struct iocap_view file;
	struct iocap_blocks blocks;
	char *program;
	const char *name;
};

static void kept_done(struct kept *k)
{
	iocap_blocks_done(&k->blocks);
	iocap_view_close(&k->file);
	free(k->program);
	*k = (struct kept){ 0 };
}

/* The last calls of a process that went on as another program: they belong to the file as it is. */
static bool has_open(const char *path)
{
	bool has = false;
	for (int i = 0; i < 2; i++) {
		struct buf beside = { 0 };
		buf_printf(&beside, "%s-open%d", path, i);
		has |= beside.failed || access(beside.data, F_OK) == 0;
		buf_done(&beside);
	}
	return has;
}

/* Its program, when the file is whole and finished; else NULL. */
static char *program_of(const char *path)
{
	struct iocap *c = NULL;
	if (has_open(path) || iocap_open(&c, path, NULL))
		return NULL;
	const struct iocap_sums *s = iocap_sums(c, 0);
	const char *program = iocap_process(c, 0)->program;
	char *copy = s->finished && !s->damaged ? strdup(program ? program : "") : NULL;
	iocap_close(c);
	return copy;
}

static size_t shrink(const char *path, const struct iocap_view *file, const struct kept *base)
{
	struct iocap_bytes out = { 0 }, back = { 0 };
	size_t less = 0;
	if (iocap_alike_put(&out, file->p, file->n, &base->blocks, base->name) &&
	    out.len < file->n - file->n / 16 &&
	    iocap_alike_get(&back, out.data, out.len, &base->blocks) && back.len == file->n &&
	    memcmp(back.data, file->p, back.len) == 0 &&
	    file_write(path, out.data, out.len, NULL) == 0)
		less = file->n - out.len;
	iocap_bytes_done(&out);
	iocap_bytes_done(&back);
	return less;
}

static size_t one_file(const char *path, const char *name, struct kept *bases, size_t *n_bases,
		       size_t max)
{
	struct kept one = { .program = program_of(path), .name = name };
	size_t k = 0, less = 0;
	if (!one.program || iocap_view_open(&one.file, path, NULL) || one.file.n > FILE_MAX ||
	    memcmp(one.file.p, IOCAP_MAGIC, 8) != 0)
		goto done;
	while (k < *n_bases && strcmp(bases[k].program, one.program) != 0)
		k++;
	if (k < *n_bases) {
		less = shrink(path, &one.file, &bases[k]);
	} else if (*n_bases < max &&
		   iocap_blocks_list(&one.blocks, one.file.p, one.file.n, IOCAP_MAGIC)) {
		bases[(*n_bases)++] = one;
		return 0;
	}
done:
	kept_done(&one);
	return less;
}

size_t iocap_alike_folder(const char *folder)
{
	enum { PROGRAMS = 16 };
	struct kept bases[PROGRAMS];
	struct dirent **names = NULL;
	size_t n_bases = 0, less = 0;
	int n = scandir(folder, &names, is_ours, alphasort);
	for (int i = 0; i < n && n > 1; i++) {
		struct buf path = { 0 };
		buf_printf(&path, "%s/%s", folder, names[i]->d_name);
		if (!path.failed)
			less += one_file(path.data, names[i]->d_name, bases, &n_bases, PROGRAMS);
		buf_done(&path);
	}
	for (size_t i = 0; i < n_bases; i++)
		kept_done(&bases[i]);
	for (int i = 0; i < n; i++)
		free(names[i]);
	free(names);
	return less;
}
