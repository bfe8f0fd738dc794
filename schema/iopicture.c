/* Pictures of I/O as bytes (schema/framed.h). */
#include "schema/iopicture.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "lib/num.h"
#include "schema/codec.h"
#include "schema/framed.h"
#include "schema/picture.h"
#include "schema/table.h"
#include "schema/walk.h"

#define MOST 0x1p64 /* device and inode numbers; all else is far below */
#define MOST_BINS 65536

#define SELF iopicture_file
TABLE(iopicture_file, IOPICTURE_FILE_FIELDS)
#undef SELF
#define SELF iopicture_series
TABLE(iopicture_series, IOPICTURE_SERIES_FIELDS)
#undef SELF
#define SELF iopicture
TABLE(iopicture, IOPICTURE_FIELDS)
#undef SELF

IOPICTURE_BLOCKS(DEFINE_BLOCK)

static const struct framed iopicture_framed = { "roimeter-io-picture 1\n",
						"picture of the collector io", IOPICTURE_MAX_BYTES,
						&iopicture_block };

const char *const iopicture_mpi_classes[IOPICTURE_MPI_CLASSES] = { "point_to_point", "collective",
								   "wait",           "one_sided",
								   "start",          "other" };

void iopicture_clear(struct iopicture *p)
{
	block_clear(&iopicture_block, p);
	p->schema = IOPICTURE_SCHEMA;
}

void iopicture_put(struct buf *b, const struct iopicture *p)
{
	framed_put(b, &iopicture_framed, p);
}

/* ---- in ------------------------------------------------------------------------------------- */

static bool number_good(double x)
{
	return !known(x) || (x >= 0 && x < MOST);
}

/* Every number in a block and below it. */
static bool numbers_good(const struct block *block, const void *at)
{
	for (size_t i = 0; i < block->count; i++) {
		const struct field *f = &block->fields[i];
		const void *in = field_at(f, at);
		if (f->type == FIELD_NUM && !number_good(num_at(f, at)))
			return false;
		if (f->type == FIELD_BLOCK && !numbers_good(f->block, in))
			return false;
		if (f->type == FIELD_NUMS) {
			const struct nums *l = in;
			for (size_t k = 0; k < l->n; k++)
				if (!number_good(l->items[k]))
					return false;
		}
		if (f->type != FIELD_LIST)
			continue;
		struct list l = list_get(in);
		for (size_t k = 0; k < l.n; k++)
			if (!numbers_good(f->block, list_item(l, f->block, k)))
				return false;
	}
	return true;
}

static bool is_whole(double x)
{
	return x >= 0 && x < 0x1p53 && x == floor(x);
}

static bool series_good(const struct iopicture_series *s)
{
	return s->source && is_whole(s->first_bin) && is_whole(s->bin_ns) && s->bin_ns >= 1 &&
	       (s->first_bin + (double)s->read_bytes.n) * s->bin_ns < 0x1p59 &&
	       s->read_bytes.n <= MOST_BINS && s->read_bytes.n == s->write_bytes.n;
}

static bool bins_good(const struct io_pattern *p)
{
	const struct nums *const lists[] = { &p->read_bins, &p->write_bins };
	for (size_t i = 0; i < 2; i++) {
		for (size_t k = 0; k < lists[i]->n; k++)
			if (!is_whole(lists[i]->items[k]))
				return false;
		if (lists[i]->n % 2)
			return false;
	}
	return true;
}

static const char *fault_of(const struct iopicture *p)
{
	if (!p->schema || strcmp(p->schema, IOPICTURE_SCHEMA) != 0)
		return "it has another schema";
	if (!p->collector || !p->status)
		return "it does not say what made it";
	if (!numbers_good(&iopicture_block, p))
		return "it has a number that can't be";
	for (size_t i = 0; i < p->series.n; i++)
		if (!series_good(&p->series.items[i]))
			return "a series in it has no times, or lists of different lengths";
	for (size_t i = 0; i < p->files.n; i++)
		if (!p->files.items[i].name || !p->files.items[i].type ||
		    !bins_good(&p->files.items[i].roi_pattern) ||
		    !bins_good(&p->files.items[i].whole_pattern))
			return "a file in it has no name, or sizes that can't be";
	for (size_t i = 0; i < p->interfaces.n; i++)
		if (!p->interfaces.items[i].name)
			return "an interface in it has no name";
	for (size_t i = 0; i < p->mpi.n; i++)
		if (!p->mpi.items[i].class_)
			return "a class of calls in it has no name";
	return NULL;
}

int iopicture_peek(struct iopicture *ret, struct arena *a, const void *bytes, size_t n,
		   struct err *err)
{
	iopicture_clear(ret);
	return framed_peek(ret, a, &iopicture_framed, "exe", bytes, n, err);
}

int iopicture_get(struct iopicture *ret, struct arena *a, const char *file, const void *bytes,
		  size_t n, struct err *err)
{
	iopicture_clear(ret);
	int rc = framed_get(ret, a, &iopicture_framed, file, bytes, n, err);
	const char *fault = rc ? NULL : fault_of(ret);
	return fault ? err_set(err, -EBADMSG, "%s: the picture can't be used: %s", file, fault)
		     : rc;
}

#define HEAD_OF(p)                                                                                 \
	{                                                                                          \
		(p).run, (p).exec, (p).stream, (p).host, (p).boot, (p).pid, (p).rank, (p).exe,     \
			(p).final                                                                  \
	}

int picture_head_peek(struct picture_head *ret, struct arena *a, const void *bytes, size_t n,
		      struct err *err)
{
	size_t magic = strlen(iopicture_framed.magic);
	if (n >= magic && memcmp(bytes, iopicture_framed.magic, magic) == 0) {
		struct iopicture p;
		int rc = iopicture_peek(&p, a, bytes, n, err);
		*ret = (struct picture_head)HEAD_OF(p);
		return rc;
	}
	struct picture p;
	int rc = picture_peek(&p, a, bytes, n, err);
	*ret = (struct picture_head)HEAD_OF(p);
	return rc;
}
