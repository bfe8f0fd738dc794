#define _GNU_SOURCE
#include "schema/iocap_alike.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "lib/file.h"
#include "schema/iocap.h"

#define MAGIC "roicapa\n"
#define NAME_MAX_BYTES 255
#define APART 6 /* bytes that are the same between two that differ, for two hunks to be worth it   \
		 */

enum { B_BASE = 9, B_ALIKE = 10 };

/* ---- blocks of a file ---- */

struct blocks {
	struct iocap_block_in *items;
	size_t n, cap;
};

static bool list(struct blocks *b, const void *file, size_t n, const char *magic)
{
	const uint8_t *p = file;
	if (n < 8 || memcmp(p, magic, 8) != 0)
		return false;
	struct iocap_in in = { p + 8, p + n, false };
	struct iocap_block_in one;
	while (iocap_block_get(&in, &one)) {
		if (b->n == b->cap) {
			size_t cap = b->cap ? b->cap * 2 : 64;
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

static size_t length(const struct iocap_block_in *b)
{
	return (size_t)(b->in.end - b->in.at);
}

/* The block of the same kind, and of these as many before it. */
static size_t partner(const struct blocks *in, const struct blocks *of, size_t i)
{
	size_t before = 0, k = 0;
	for (size_t j = 0; j < i; j++)
		before += of->items[j].type == of->items[i].type &&
			  of->items[j].stream == of->items[i].stream;
	for (; k < in->n; k++)
		if (in->items[k].type == of->items[i].type &&
		    in->items[k].stream == of->items[i].stream && before-- == 0)
			break;
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

bool iocap_alike_put(struct iocap_bytes *out, const void *file, size_t n, const void *base,
		     size_t n_base, const char *base_name)
{
	struct blocks a = { 0 }, b = { 0 };
	struct iocap_bytes payload = { 0 };
	bool good = list(&a, base, n_base, IOCAP_MAGIC) && list(&b, file, n, IOCAP_MAGIC) &&
		    strlen(base_name) <= NAME_MAX_BYTES;
	if (good) {
		iocap_bytes_put(out, MAGIC, 8);
		iocap_bytes_put(&payload, base_name, strlen(base_name));
		iocap_block_put(out, B_BASE, 0, 0, &payload);
	}
	for (size_t i = 0; good && i < b.n; i++) {
		const struct iocap_block_in *one = &b.items[i];
		size_t k = partner(&a, &b, i);
		payload.len = 0;
		iocap_varint_put(&payload, one->type);
		iocap_varint_put(&payload, k);
		if (k < a.n)
			differ(&payload, &a.items[k], one);
		if (k < a.n && payload.len < length(one))
			iocap_block_put(out, B_ALIKE, one->stream, one->items, &payload);
		else
			put_block(out, one);
	}
	good = good && !out->failed && !payload.failed;
	iocap_bytes_done(&payload);
	free(a.items);
	free(b.items);
	return good;
}

/* ---- back ---- */

const char *iocap_alike_base(const void *file, size_t n, size_t *ret_bytes)
{
	const uint8_t *p = file;
	struct iocap_block_in b;
	if (n < 8 || memcmp(p, MAGIC, 8) != 0)
		return NULL;
	struct iocap_in in = { p + 8, p + n, false };
	if (!iocap_block_get(&in, &b) || b.type != B_BASE || !length(&b) ||
	    length(&b) > NAME_MAX_BYTES || memchr(b.in.at, '/', length(&b)) ||
	    memchr(b.in.at, 0, length(&b)))
		return NULL;
	*ret_bytes = length(&b);
	return (const char *)b.in.at;
}

static bool get_alike(struct iocap_bytes *out, struct iocap_block_in b, const struct blocks *base,
		      struct iocap_bytes *payload)
{
	uint64_t type = iocap_varint(&b.in), k = iocap_varint(&b.in);
	if (b.in.bad || k >= base->n || type > UINT16_MAX)
		return false;
	struct iocap_in from = base->items[k].in;
	payload->len = 0;
	while (b.in.at < b.in.end && !b.in.bad && !from.bad) {
		size_t copy = iocap_varint(&b.in), leave = iocap_varint(&b.in),
		       n = iocap_varint(&b.in);
		const uint8_t *same = iocap_take(&from, copy), *put = iocap_take(&b.in, n);
		if (!same || !put || !iocap_take(&from, leave))
			return false;
		iocap_bytes_put(payload, same, copy);
		iocap_bytes_put(payload, put, n);
	}
	iocap_bytes_put(payload, from.at, (size_t)(from.end - from.at));
	iocap_block_put(out, (unsigned)type, b.stream, b.items, payload);
	return !b.in.bad && !from.bad && !out->failed;
}

bool iocap_alike_get(struct iocap_bytes *out, const void *file, size_t n, const void *base,
		     size_t n_base)
{
	struct blocks a = { 0 }, b = { 0 };
	struct iocap_bytes payload = { 0 };
	bool good = list(&a, base, n_base, IOCAP_MAGIC) && list(&b, file, n, MAGIC) && b.n;
	if (good)
		iocap_bytes_put(out, IOCAP_MAGIC, 8);
	for (size_t i = 1; good && i < b.n; i++)
		if (b.items[i].type == B_ALIKE)
			good = get_alike(out, b.items[i], &a, &payload);
		else
			put_block(out, &b.items[i]);
	good = good && !out->failed;
	iocap_bytes_done(&payload);
	free(a.items);
	free(b.items);
	return good;
}

/* ---- a folder ---- */

static int is_ours(const struct dirent *e)
{
	size_t n = strlen(e->d_name), m = strlen(IOCAP_SUFFIX);
	return n > m && strcmp(e->d_name + n - m, IOCAP_SUFFIX) == 0;
}

struct kept {
	struct buf bytes;
	char *program;
	const char *name;
};

/* Its program, when the file is whole and finished; else NULL. */
static char *program_of(const char *path)
{
	struct iocap *c = NULL;
	if (iocap_open(&c, path, NULL))
		return NULL;
	const struct iocap_sums *s = iocap_sums(c, 0);
	const char *program = iocap_process(c, 0)->program;
	char *copy = s->finished && !s->damaged ? strdup(program ? program : "") : NULL;
	iocap_close(c);
	return copy;
}

static size_t shrink(const char *path, const struct buf *file, const struct kept *base)
{
	struct iocap_bytes out = { 0 }, back = { 0 };
	size_t less = 0;
	if (iocap_alike_put(&out, file->data, file->len, base->bytes.data, base->bytes.len,
			    base->name) &&
	    out.len < file->len - file->len / 16 &&
	    iocap_alike_get(&back, out.data, out.len, base->bytes.data, base->bytes.len) &&
	    back.len == file->len && memcmp(back.data, file->data, back.len) == 0 &&
	    file_write(path, out.data, out.len, NULL) == 0)
		less = file->len - out.len;
	iocap_bytes_done(&out);
	iocap_bytes_done(&back);
	return less;
}

static size_t one_file(const char *path, const char *name, struct kept *bases, size_t *n_bases,
		       size_t max)
{
	struct buf file = { .max = (size_t)1 << 34 };
	char *program = program_of(path);
	size_t k = 0, less = 0;
	if (!program || file_read(&file, path, NULL) || memcmp(file.data, IOCAP_MAGIC, 8) != 0)
		goto done;
	while (k < *n_bases && strcmp(bases[k].program, program) != 0)
		k++;
	if (k < *n_bases) {
		less = shrink(path, &file, &bases[k]);
	} else if (*n_bases < max) {
		bases[(*n_bases)++] = (struct kept){ file, program, name };
		return 0;
	}
done:
	free(program);
	buf_done(&file);
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
	for (size_t i = 0; i < n_bases; i++) {
		free(bases[i].program);
		buf_done(&bases[i].bytes);
	}
	for (int i = 0; i < n; i++)
		free(names[i]);
	free(names);
	return less;
}
