/* Texts and handles of a capture. A text is what it has more than the one before. What handles are
 * of is said once for all that are of the same; a handle is a symbol of a stream of its own. */
#include <string.h>

#include "core/iocap_impl.h"
#include "lib/pages.h"

#define TEXTS_EACH 1024 /* in a block; with so many bytes at most, or one: */
#define TEXTS_BYTES 16384
#define TEXT_BYTES_MAX ((size_t)1 << 17) /* of a longer one, its beginning */

void iocap_names_done(struct names *n)
{
	iocap_column_done(&n->numbers);
	iocap_column_done(&n->prefixes);
	iocap_column_done(&n->suffixes);
	iocap_column_done(&n->bytes);
	iocap_bytes_done(&n->infos);
	(void)pages_resize(n->cache, INFO_CACHE * sizeof *n->cache, 0);
}

void iocap_texts_payload(struct iocap_writer *w)
{
	const struct names *n = &w->names;
	w->payload.len = 0;
	iocap_column_copy(&n->numbers, &w->payload, &w->scratch);
	iocap_column_copy(&n->prefixes, &w->payload, &w->scratch);
	iocap_column_copy(&n->suffixes, &w->payload, &w->scratch);
	iocap_column_copy(&n->bytes, &w->payload, &w->scratch);
}

void iocap_texts_write(struct iocap_writer *w)
{
	struct names *n = &w->names;
	if (!n->n)
		return;
	iocap_texts_payload(w);
	iocap_block_put(&w->out, IOCAP_B_TEXTS, 0, n->n, &w->payload);
	n->numbers.n = n->prefixes.n = n->suffixes.n = n->bytes.n = 0;
	n->n = 0;
	n->last_bytes = 0; /* a block can be read by itself */
	n->last_number = 0;
	n->text_blocks++;
}

void iocap_infos_write(struct iocap_writer *w)
{
	struct names *n = &w->names;
	if (!n->pending_infos)
		return;
	iocap_block_put(&w->out, IOCAP_B_INFOS, 0, n->pending_infos, &n->infos);
	n->infos.len = n->pending_infos = 0;
	n->before = (struct iocap_handle){ 0 };
	n->info_blocks++;
}

void iocap_put_text(struct iocap_writer *w, uint32_t number, const char *text, size_t bytes)
{
	struct names *n = &w->names;
	if (w->rc || w->finished)
		return;
	if (bytes > TEXT_BYTES_MAX)
		bytes = TEXT_BYTES_MAX;
	size_t prefix = 0;
	while (prefix < bytes && prefix < n->last_bytes && text[prefix] == n->last[prefix])
		prefix++;
	iocap_column_put(&n->numbers, iocap_zigzag((int64_t)number - n->last_number - 1));
	iocap_column_put(&n->prefixes, prefix);
	iocap_column_put(&n->suffixes, bytes - prefix);
	for (size_t i = prefix; i < bytes; i++)
		iocap_column_put(&n->bytes, (unsigned char)text[i]);
	n->last_number = number;
	n->last_bytes = bytes < sizeof n->last ? bytes : sizeof n->last;
	memcpy(n->last, text, n->last_bytes);
	if (++n->n == TEXTS_EACH || n->bytes.n > TEXTS_BYTES)
		iocap_texts_write(w);
}

static bool same(const struct iocap_handle *a, const struct iocap_handle *b)
{
	return a->path == b->path && a->type == b->type && a->interface == b->interface &&
	       a->was_open == b->was_open && a->flags == b->flags && a->device == b->device &&
	       a->inode == b->inode;
}

static void info_put(struct names *n, const struct iocap_handle *h)
{
	const struct iocap_handle *b = &n->before;
	struct iocap_bytes *out = &n->infos;
	iocap_varint_put(out, iocap_zigzag((int64_t)h->path - b->path));
	iocap_varint_put(out, (uint64_t)h->type << 1 | h->was_open);
	iocap_varint_put(out, h->interface);
	iocap_varint_put(out, iocap_zigzag(h->flags));
	iocap_varint_put(out, h->device ^ b->device);
	iocap_varint_put(out, iocap_zigzag((int64_t)(h->inode - b->inode)));
	n->before = *h;
	n->pending_infos++;
}

/* Symbols: 0 a handle of something new, 2 + 2 * i of the thing i; 1 more: its number is in the
 * column. */
void iocap_put_handle(struct iocap_writer *w, const struct iocap_handle *h)
{
	struct names *n = &w->names;
	struct stream *s = &w->streams[IOCAP_STREAMS];
	if (w->rc || w->finished)
		return;
	uint64_t x = (h->path + 1) * UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ h->inode ^ (uint64_t)h->flags << 40 ^ (uint64_t)h->type << 60) *
	    UINT64_C(0xbf58476d1ce4e5b9);
	struct iocap_handle *kept = &n->cache[(x >> 40) % INFO_CACHE];
	uint32_t symbol = h->number != n->last_handle + 1;
	if (kept->number && same(kept, h)) {
		symbol += 2 * kept->number;
	} else {
		*kept = *h;
		kept->number = ++n->n_infos;
		info_put(n, h);
	}
	if (symbol & 1)
		iocap_column_put(&s->values[IOCAP_V_HANDLE],
				 iocap_zigzag((int64_t)h->number - n->last_handle - 1));
	n->last_handle = h->number;
	iocap_stream_symbol(w, s, symbol);
	iocap_closed(w);
}
