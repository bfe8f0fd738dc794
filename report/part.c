/* One application's part of the grid. */
#include "report/part.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "report/cell.h"
#include "report/natural.h"
#include "schema/codec.h"

#define PART_BYTES_MAX (1u << 30) /* places in it have 32 bits */

/* ---- reading --------------------------------------------------------------------------------- */

struct reading {
	struct part *p;
	const struct part *old;
	size_t hint; /* the place in old where the next cell is expected */
	size_t n_declared;
	struct store *store;
	bool dots;
	struct buf bytes; /* of a record, to be hashed */
	struct err *err;
};

static struct part_row *add_row(struct part *p, const char *case_, const char *title)
{
	p->rows = arena_grow(&p->arena, p->rows, &p->cap_rows, p->n_rows + 1, sizeof *p->rows);
	if (!p->rows)
		return NULL;
	struct part_row *row = &p->rows[p->n_rows];
	*row = (struct part_row){ .case_ = arena_strdup(&p->arena, case_),
				  .title =
					  title && *title ? arena_strdup(&p->arena, title) : NULL };
	if (!row->case_ || (title && *title && !row->title))
		return NULL;
	p->n_rows++;
	return row;
}

static int keep_declared(void *arg, const char *suite, const struct declared_case *c)
{
	struct part *p = arg;
	struct part_row *row = add_row(p, c->case_, c->title);
	(void)suite;
	if (!row)
		return -ENOMEM;
	row->declared = true;
	row->place = c->place;
	if (!p->declared || c->place < p->place)
		p->place = c->place;
	p->declared = true;
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct part_row *)a)->case_, ((const struct part_row *)b)->case_);
}

/* The cell of before that stands for the same run with the same content. */
static const struct part_cell *find_same(struct reading *in, const struct part_cell *cell)
{
	const struct part *old = in->old;
	for (size_t i = 0; old && i < old->n_cells; i++) {
		size_t at = (in->hint + i) % old->n_cells;
		const struct part_cell *c = &old->cells[at];
		if (c->run != cell->run || memcmp(c->stored, cell->stored, sizeof c->stored) != 0)
			continue;
		in->hint = at + 1;
		return c;
	}
	return NULL;
}

static void hash_record(unsigned char ret[16], struct buf *b, const struct record *rec)
{
	XXH128_canonical_t canonical;
	b->len = 0;
	record_put(b, rec);
	if (rec->body.ops.items)
		record_put_ops(b, rec);
	XXH128_canonicalFromHash(&canonical, XXH3_128bits(b->data, b->len));
	memcpy(ret, canonical.digest, 16);
}

static int read_facts(struct reading *in, struct part_cell *cell, const char *run_id)
{
	struct record rec;
	int rc = store_get_run(in->store, run_id, &rec, in->err);
	if (!rc) {
		const struct platform_info *info = &rec.body.platform_info;
		cell->has_facts = info->vendor || info->product || info->cpu_model || info->host ||
				  info->kernel || info->os || info->driver;
		hash_record(cell->content, &in->bytes, &rec);
		report_cell_put_facts(&in->p->text, &rec, in->dots);
		rc = in->bytes.failed ? -ENOMEM : 0;
	}
	record_done(&rec);
	return rc;
}

static int put_facts(struct reading *in, struct part_cell *cell, const char *run_id)
{
	int rc = store_run_hash(in->store, run_id, cell->stored, in->err);
	if (rc)
		return rc;
	const struct part_cell *same = find_same(in, cell);
	if (!same)
		return read_facts(in, cell, run_id);
	memcpy(cell->content, same->content, sizeof cell->content);
	cell->has_facts = same->has_facts;
	buf_put(&in->p->text, in->old->text.data + same->facts, same->at + same->n - same->facts);
	return 0;
}

/* Cells come by case and platform, so the row of the cell before is mostly the one. Behind the
 * declared rows, which are sorted, others are added. */
static int find_row(struct reading *in, const char *case_, uint32_t *ret)
{
	struct part *p = in->p;
	const struct part_row key = { .case_ = case_ };
	const struct part_row *row = p->n_cells ? &p->rows[p->cells[p->n_cells - 1].row] : NULL;
	if (row && strcmp(row->case_, case_) != 0)
		row = NULL;
	if (!row && in->n_declared)
		row = bsearch(&key, p->rows, in->n_declared, sizeof *p->rows, by_name);
	if (!row)
		row = add_row(p, case_, NULL);
	if (!row)
		return -ENOMEM;
	*ret = (uint32_t)(row - p->rows);
	return 0;
}

static struct part_platform *find_platform(struct part *p, const char *id)
{
	for (size_t i = 0; i < p->n_platforms; i++)
		if (strcmp(p->platforms[i].id, id) == 0)
			return &p->platforms[i];
	p->platforms = arena_grow(&p->arena, p->platforms, &p->cap_platforms, p->n_platforms + 1,
				  sizeof *p->platforms);
	const char *own = p->platforms ? arena_strdup(&p->arena, id) : NULL;
	if (!own)
		return NULL;
	struct part_platform *one = &p->platforms[p->n_platforms++];
	*one = (struct part_platform){ .id = own };
	return one;
}

static void note_facts(struct part_platform *p, const struct part_cell *cell)
{
	if (!cell->has_facts || (p->has_facts && cell->run < p->run))
		return;
	p->has_facts = true;
	p->run = cell->run;
	memcpy(p->content, cell->content, sizeof p->content);
}

static struct part_cell *add_cell(struct part *p)
{
	if (p->n_cells == p->cap_cells) {
		size_t cap = p->cap_cells ? p->cap_cells * 2 : 16;
		struct part_cell *cells = realloc(p->cells, cap * sizeof *cells);
		if (!cells)
			return NULL;
		p->cells = cells;
		p->cap_cells = cap;
	}
	struct part_cell *c = &p->cells[p->n_cells];
	*c = (struct part_cell){ .platform = NULL };
	return c;
}

static int keep_cell(void *arg, const struct cell *c)
{
	struct reading *in = arg;
	struct part *p = in->p;
	struct part_cell *cell = add_cell(p);
	const char *run_id = report_cell_shown(c)->run_id;
	if (!run_id)
		return 0;
	if (!cell || find_row(in, c->case_, &cell->row))
		return -ENOMEM;
	struct part_platform *platform = find_platform(p, c->platform);
	if (!platform)
		return -ENOMEM;
	cell->platform = platform->id;
	if (!runid_key(run_id, &cell->run))
		return err_set(in->err, -EUCLEAN, "\"%s\" is not a run id", run_id);
	cell->at = (uint32_t)p->text.len;
	report_cell_put(&p->text, c);
	cell->facts = (uint32_t)p->text.len;
	int rc = put_facts(in, cell, run_id);
	if (rc)
		return rc;
	note_facts(platform, cell);
	cell->n = (uint32_t)p->text.len - cell->at;
	struct part_row *row = &p->rows[cell->row];
	if (row->n++ == 0)
		row->first = p->n_cells;
	p->n_cells++;
	return p->text.failed ? -ENOMEM : 0;
}

/* ---- order ----------------------------------------------------------------------------------- */

static int compare_rows(const struct part_row *a, const struct part_row *b)
{
	if (a->declared != b->declared)
		return a->declared ? -1 : 1;
	if (a->declared)
		return a->place < b->place ? -1 : a->place > b->place;
	return report_natural(a->case_, b->case_);
}

static int by_place(const void *a, const void *b)
{
	return compare_rows(*(const struct part_row *const *)a, *(const struct part_row *const *)b);
}

static int put_in_order(struct part *p)
{
	const struct part_row **sorted = arena_array(&p->arena, p->n_rows + 1, sizeof *sorted);
	p->order = arena_array(&p->arena, p->n_rows + 1, sizeof *p->order);
	if (!sorted || !p->order)
		return -ENOMEM;
	for (size_t i = 0; i < p->n_rows; i++)
		sorted[i] = &p->rows[i];
	if (p->n_rows)
		qsort(sorted, p->n_rows, sizeof *sorted, by_place);
	for (size_t i = 0; i < p->n_rows; i++)
		p->order[i] = (size_t)(sorted[i] - p->rows);
	return 0;
}

int part_compare(const struct part *a, const struct part *b)
{
	int c = strcmp(a->suite, b->suite);
	if (c)
		return c;
	if (a->declared != b->declared)
		return a->declared ? -1 : 1;
	if (a->declared)
		return a->place < b->place ? -1 : a->place > b->place;
	return report_natural(a->app, b->app);
}

static void fit_cells(struct part *p)
{
	struct part_cell *cells = p->n_cells ? realloc(p->cells, p->n_cells * sizeof *cells) : NULL;
	if (!cells)
		return;
	p->cells = cells;
	p->cap_cells = p->n_cells;
}

int part_read(struct part **ret, const struct part *old, struct store *s, const char *suite,
	      const char *app, bool dots, struct err *err)
{
	struct part *p = calloc(1, sizeof *p);
	struct reading in = { .p = p, .old = old, .store = s, .dots = dots, .err = err };
	if (!p)
		return err_set(err, -ENOMEM, "out of memory");
	p->text.max = PART_BYTES_MAX;
	p->arena.block_bytes = 2048; /* there are as many of them as applications */
	p->suite = arena_strdup(&p->arena, suite);
	p->app = arena_strdup(&p->arena, app);
	int rc = p->suite && p->app ? 0 : -ENOMEM;
	if (!rc)
		rc = store_each_declared(s, suite, app, keep_declared, p, err);
	if (!rc && p->n_rows)
		qsort(p->rows, p->n_rows, sizeof *p->rows, by_name);
	in.n_declared = p->n_rows;
	if (!rc)
		rc = store_each_cell(s, suite, app, keep_cell, &in, err);
	if (!rc)
		rc = put_in_order(p);
	buf_done(&in.bytes);
	fit_cells(p);
	if (!rc) {
		*ret = p;
		return 0;
	}
	part_free(p);
	return rc == -ENOMEM ? err_set(err, rc, "out of memory") : rc;
}

void part_free(struct part *p)
{
	if (!p)
		return;
	arena_free(&p->arena);
	free(p->cells);
	buf_done(&p->text);
	buf_done(&p->packed);
	free(p);
}

/* ---- text ------------------------------------------------------------------------------------ */

static int put_string(struct buf *b, const char *text)
{
	json_t *o = json_string(text);
	int rc = json_text(b, o); /* of NULL too: no UTF-8, or no memory */
	json_decref(o);
	return rc;
}

/* Both are in the order of bytes. */
static void put_cells(struct part *p, struct buf *to, const struct part_row *row,
		      const char *const *platforms, size_t n)
{
	size_t k = row->first, end = row->first + row->n;
	for (size_t i = 0; i < n; i++) {
		struct part_cell *c = &p->cells[k];
		buf_puts(to, i ? "," : "");
		if (k < end && strcmp(c->platform, platforms[i]) == 0) {
			uint32_t at = (uint32_t)to->len;
			buf_put(to, p->text.data + c->at, c->n);
			c->facts += at - c->at;
			c->at = at;
			k++;
		} else {
			buf_puts(to, "null");
		}
	}
}

static void put_row(struct part *p, struct buf *to, const struct part_row *row,
		    const char *const *platforms, size_t n)
{
	buf_puts(to, "{\"name\":");
	to->failed |= put_string(to, row->case_) != 0;
	if (row->title) {
		buf_puts(to, ",\"title\":");
		to->failed |= put_string(to, row->title) != 0;
	}
	buf_printf(to, ",\"declared\":%s,\"cells\":[", row->declared ? "true" : "false");
	put_cells(p, to, row, platforms, n);
	buf_puts(to, "]}");
}

/* One hash for all records behind the part, in the order in which they are shown. */
static void put_hash(const struct part *p, struct buf *to)
{
	struct buf all = { 0 };
	XXH128_canonical_t canonical;
	for (size_t i = 0; i < p->n_rows; i++) {
		const struct part_row *row = &p->rows[p->order[i]];
		for (size_t k = row->first; k < row->first + row->n; k++)
			buf_put(&all, p->cells[k].content, 16);
	}
	XXH128_canonicalFromHash(&canonical, XXH3_128bits(all.data, all.len));
	for (size_t i = 0; i < sizeof canonical.digest; i++)
		buf_printf(to, "%02x", canonical.digest[i]);
	to->failed |= all.failed;
	buf_done(&all);
}

int part_render(struct part *p, const char *const *platforms, size_t n)
{
	struct buf to = { .max = PART_BYTES_MAX };
	struct part_cell *before = NULL;
	if (p->n_cells) {
		before = malloc(p->n_cells * sizeof *before);
		if (!before)
			return -ENOMEM;
		memcpy(before, p->cells, p->n_cells * sizeof *before);
	}
	buf_puts(&to, "{\"name\":");
	to.failed |= put_string(&to, p->app) != 0;
	buf_puts(&to, ",\"records\":\"");
	put_hash(p, &to);
	buf_puts(&to, "\",\"cases\":[");
	for (size_t i = 0; i < p->n_rows; i++) {
		buf_puts(&to, i ? "," : "");
		put_row(p, &to, &p->rows[p->order[i]], platforms, n);
	}
	buf_puts(&to, "]}");
	if (to.failed) {
		if (p->n_cells)
			memcpy(p->cells, before, p->n_cells * sizeof *before);
		buf_done(&to);
	} else {
		buf_done(&p->text);
		buf_fit(&to);
		p->text = to;
		p->is_rendered = true;
		buf_done(&p->packed);
	}
	free(before);
	return to.failed ? -ENOMEM : 0;
}
