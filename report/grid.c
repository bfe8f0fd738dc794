/* Parts, kept in the order of their names to be found, and in the order in which they are shown. */
#define _GNU_SOURCE /* strdup */
#include "report/grid.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "lib/version.h"
#include "report/columns.h"
#include "report/pack.h"
#include "report/part.h"
#include "schema/codec.h"
#include "schema/runid.h"

/* With more columns a cell of the page has no room to show its executions. */
#define DOTS_COLUMNS 2

/* A piece of the text: what stands before a part, and the part; the last has none. */
struct piece {
	size_t at, n; /* in glue */
	struct part *part;
};

struct grid {
	char **suites;
	size_t n_suites;
	char *title;
	struct part **parts; /* by suite and application, bytes */
	size_t n_parts, cap_parts;
	struct columns columns;
	bool dots, is_good;
	bool is_sorted; /* the pieces, as the parts are now */
	uint64_t version;
	struct buf glue;
	struct piece *pieces; /* n_parts + 1 */
	size_t bytes;
	char hash[33];
	struct packer packer;
	XXH3_state_t *hashing;
};

/* ---- begin and end ------------------------------------------------------------------------- */

struct grid *grid_new(const struct report_options *o)
{
	struct grid *g = calloc(1, sizeof *g);
	if (!g)
		return NULL;
	bool good = (g->title = strdup(o->title ? o->title : "Roimeter report")) != NULL;
	g->suites = calloc(o->n_suites + 1, sizeof *g->suites);
	g->hashing = XXH3_createState();
	good = good && g->suites && g->hashing;
	for (size_t i = 0; good && i < o->n_suites; i++)
		good = (g->suites[g->n_suites++] = strdup(o->suites[i])) != NULL;
	if (good)
		return g;
	grid_free(g);
	return NULL;
}

static void free_parts(struct grid *g)
{
	for (size_t i = 0; i < g->n_parts; i++)
		part_free(g->parts[i]);
	g->n_parts = 0;
	g->version = 0;
	g->is_sorted = g->columns.are_known = false;
}

void grid_free(struct grid *g)
{
	if (!g)
		return;
	free_parts(g);
	free(g->parts);
	columns_done(&g->columns);
	for (size_t i = 0; i < g->n_suites; i++)
		free(g->suites[i]);
	free(g->suites);
	free(g->title);
	free(g->pieces);
	buf_done(&g->glue);
	packer_done(&g->packer);
	(void)XXH3_freeState(g->hashing);
	free(g);
}

/* ---- parts ----------------------------------------------------------------------------------- */

static bool is_wanted(const struct grid *g, const char *suite)
{
	for (size_t i = 0; i < g->n_suites; i++)
		if (strcmp(g->suites[i], suite) == 0)
			return true;
	return g->n_suites == 0;
}

/* Where it is, or would be. */
static size_t place_of(const struct grid *g, const char *suite, const char *app, bool *ret_found)
{
	size_t low = 0, high = g->n_parts;
	*ret_found = false;
	while (low < high) {
		size_t at = low + (high - low) / 2;
		int c = strcmp(g->parts[at]->suite, suite);
		if (!c)
			c = strcmp(g->parts[at]->app, app);
		if (!c) {
			*ret_found = true;
			return at;
		}
		if (c < 0)
			low = at + 1;
		else
			high = at;
	}
	return low;
}

static int insert_part(struct grid *g, size_t at, struct part *p)
{
	if (g->n_parts == g->cap_parts) {
		size_t cap = g->cap_parts ? g->cap_parts * 2 : 64;
		struct part **parts = realloc(g->parts, cap * sizeof *parts);
		if (!parts)
			return -ENOMEM;
		g->parts = parts;
		g->cap_parts = cap;
	}
	memmove(&g->parts[at + 1], &g->parts[at], (g->n_parts - at) * sizeof *g->parts);
	g->parts[at] = p;
	g->n_parts++;
	return 0;
}

struct changes {
	struct arena arena;
	struct change {
		const char *suite, *app;
	} * items;
	size_t n, cap;
	const struct grid *grid;
};

static int keep_change(void *arg, const char *suite, const char *app)
{
	struct changes *w = arg;
	if (!is_wanted(w->grid, suite))
		return 0;
	w->items = arena_grow(&w->arena, w->items, &w->cap, w->n + 1, sizeof *w->items);
	if (!w->items)
		return -ENOMEM;
	struct change *c = &w->items[w->n];
	*c = (struct change){ arena_strdup(&w->arena, suite), arena_strdup(&w->arena, app) };
	if (!c->suite || !c->app)
		return -ENOMEM;
	w->n++;
	return 0;
}

/* The part is rendered later, when all columns are known. */
static int read_part(struct grid *g, struct store *s, const struct change *c, struct err *err)
{
	bool found;
	size_t at = place_of(g, c->suite, c->app, &found);
	struct part *old = found ? g->parts[at] : NULL, *p = NULL;
	int rc = part_read(&p, old, s, c->suite, c->app, g->dots, err);
	if (rc)
		return rc;
	if (old) {
		bool stays = p->n_rows && p->declared == old->declared && p->place == old->place;
		g->is_sorted = g->is_sorted && stays;
		g->columns.are_known =
			g->columns.are_known && stays && columns_replace(&g->columns, old, p);
		for (size_t i = 0; g->is_sorted && i < g->n_parts; i++)
			if (g->pieces[i].part == old)
				g->pieces[i].part = p;
		part_free(old);
		g->parts[at] = p;
		if (p->n_rows)
			return 0;
		part_free(p);
		g->n_parts--;
		memmove(&g->parts[at], &g->parts[at + 1], (g->n_parts - at) * sizeof *g->parts);
		return 0;
	}
	g->is_sorted = g->is_sorted && !p->n_rows;
	g->columns.are_known = g->columns.are_known && !p->n_rows;
	if (!p->n_rows || insert_part(g, at, p)) {
		rc = p->n_rows ? err_set(err, -ENOMEM, "out of memory") : 0;
		part_free(p);
	}
	return rc;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int by_order(const void *a, const void *b)
{
	return part_compare(((const struct piece *)a)->part, ((const struct piece *)b)->part);
}

static void put_string(struct buf *b, const char *text)
{
	json_t *o = json_string(text);
	b->failed |= json_text(b, o) != 0;
	json_decref(o);
}

static void put_head(struct grid *g, struct buf *b)
{
	buf_puts(b, "{\"schema\":\"" REPORT_SCHEMA "\",\"title\":");
	put_string(b, g->title);
	buf_puts(b, ",\"tool\":\"roimeter " ROIMETER_VERSION_TEXT "\",\"platforms\":[");
	columns_put(&g->columns, b);
	buf_puts(b, "],\"suites\":[");
}

static int sort_pieces(struct grid *g)
{
	struct piece *pieces = realloc(g->pieces, (g->n_parts + 1) * sizeof *pieces);
	if (!pieces)
		return -ENOMEM;
	g->pieces = pieces;
	for (size_t i = 0; i < g->n_parts; i++)
		pieces[i] = (struct piece){ .part = g->parts[i] };
	if (g->n_parts)
		qsort(pieces, g->n_parts, sizeof *pieces, by_order);
	g->is_sorted = true;
	return 0;
}

/* What stands before each part, and behind the last. */
static int put_pieces(struct grid *g)
{
	struct buf *b = &g->glue;
	if (!g->is_sorted && sort_pieces(g))
		return -ENOMEM;
	struct piece *pieces = g->pieces;
	b->len = 0;
	b->failed = false;
	put_head(g, b);
	const char *suite = NULL;
	size_t at = 0;
	for (size_t i = 0; i < g->n_parts; i++) {
		bool begins = !suite || strcmp(suite, pieces[i].part->suite) != 0;
		if (begins) {
			buf_puts(b, suite ? "]},{\"name\":" : "{\"name\":");
			suite = pieces[i].part->suite;
			put_string(b, suite);
			buf_puts(b, ",\"apps\":[");
		} else {
			buf_puts(b, ",");
		}
		pieces[i].at = at;
		pieces[i].n = b->len - at;
		at = b->len;
	}
	buf_puts(b, suite ? "]}]}\n" : "]}\n");
	pieces[g->n_parts] = (struct piece){ .at = at, .n = b->len - at };
	return b->failed ? -ENOMEM : 0;
}

static int hash_piece(void *arg, const void *bytes, size_t n)
{
	(void)XXH3_128bits_update(((struct grid *)arg)->hashing, bytes, n);
	((struct grid *)arg)->bytes += n;
	return 0;
}

static void hash_all(struct grid *g)
{
	XXH128_canonical_t canonical;
	g->bytes = 0;
	(void)XXH3_128bits_reset(g->hashing);
	(void)grid_each_text(g, hash_piece, g);
	XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(g->hashing));
	for (size_t i = 0; i < sizeof canonical.digest; i++)
		(void)snprintf(g->hash + 2 * i, 3, "%02x", canonical.digest[i]);
}

static int render(struct grid *g, bool all)
{
	const char **ids = calloc(g->columns.n + 1, sizeof *ids);
	int rc = ids ? 0 : -ENOMEM;
	for (size_t i = 0; i < g->columns.n && !rc; i++)
		ids[i] = g->columns.items[i].id;
	for (size_t i = 0; i < g->n_parts && !rc; i++)
		if (all || !g->parts[i]->is_rendered)
			rc = part_render(g->parts[i], ids, g->columns.n);
	free(ids);
	return rc;
}

/* Everything that has changed since is read; *ret_again: with or without dots, unlike before. */
static int read_changes(struct grid *g, struct store *s, bool *ret_again, struct err *err)
{
	struct changes w = { .grid = g };
	bool is_new = false;
	int rc = store_each_changed(s, g->version, keep_change, &w, err);
	for (size_t i = 0; i < w.n && !rc; i++)
		rc = read_part(g, s, &w.items[i], err);
	arena_free(&w.arena);
	if (!rc && !g->columns.are_known)
		rc = columns_find(&g->columns, g->parts, g->n_parts, &is_new);
	*ret_again = g->dots != (g->columns.n <= DOTS_COLUMNS);
	if (!rc && !*ret_again)
		rc = render(g, is_new);
	return rc || *ret_again ? rc : columns_read_facts(&g->columns, s, err);
}

static int check_suites(const struct grid *g, struct err *err)
{
	for (size_t i = 0; i < g->n_suites; i++) {
		bool found = false;
		for (size_t k = 0; k < g->n_parts && !found; k++)
			found = strcmp(g->parts[k]->suite, g->suites[i]) == 0;
		if (!found)
			return err_set(err, -ENOENT,
				       "nothing is stored for the suite \"%s\"; roimeter runs "
				       "lists what is",
				       g->suites[i]);
	}
	return 0;
}

int grid_update(struct grid *g, struct store *s, struct err *err)
{
	uint64_t version;
	bool again = false;
	int rc = store_version(s, &version, err);
	if (rc)
		return rc;
	if (g->is_good && version == g->version)
		return check_suites(g, err);
	/* What is left of an update that failed is not worth a thought. */
	if (!g->is_good || version < g->version)
		free_parts(g);
	g->is_good = false;
	rc = read_changes(g, s, &again, err);
	if (!rc && again) {
		g->dots = !g->dots;
		free_parts(g);
		rc = read_changes(g, s, &again, err);
	}
	if (!rc)
		rc = put_pieces(g);
	if (rc)
		return rc == -ENOMEM ? err_set(err, rc, "out of memory") : rc;
	hash_all(g);
	g->version = version;
	g->is_good = true;
	return check_suites(g, err);
}

/* ---- asking ---------------------------------------------------------------------------------- */

uint64_t grid_version(const struct grid *g)
{
	return g->version;
}

size_t grid_bytes(const struct grid *g)
{
	return g->bytes;
}

size_t grid_held(const struct grid *g)
{
	size_t n = sizeof *g + g->glue.cap;
	for (size_t i = 0; i < g->n_parts; i++)
		n += sizeof(struct part) + g->parts[i]->text.cap + g->parts[i]->packed.cap +
		     g->parts[i]->arena.used_bytes +
		     g->parts[i]->cap_cells * sizeof(struct part_cell);
	return n;
}

size_t grid_apps(const struct grid *g)
{
	return g->n_parts;
}

void grid_hash(const struct grid *g, char ret_hash[33])
{
	memcpy(ret_hash, g->hash, sizeof g->hash);
}

int grid_each_text(struct grid *g, int (*each)(void *arg, const void *bytes, size_t n), void *arg)
{
	for (size_t i = 0; i <= g->n_parts; i++) {
		const struct piece *p = &g->pieces[i];
		int rc = each(arg, g->glue.data + p->at, p->n);
		if (!rc && p->part)
			rc = each(arg, p->part->text.data, p->part->text.len);
		if (rc)
			return rc;
	}
	return 0;
}

static int pack_part(struct grid *g, struct part *p)
{
	if (p->packed.len)
		return 0;
	int rc = packer_put(&g->packer, &p->packed, p->text.data, p->text.len);
	if (rc) {
		buf_done(&p->packed);
		return rc;
	}
	p->crc = (uint32_t)crc32(0, (const unsigned char *)p->text.data, (unsigned)p->text.len);
	buf_fit(&p->packed);
	return 0;
}

#define GLUE_PLAIN 64 /* more than this is worth deflating */

int grid_each_gzip(struct grid *g, int (*each)(void *arg, const void *bytes, size_t n), void *arg)
{
	struct buf b = { 0 };
	uLong crc = crc32(0, NULL, 0);
	int rc = 0;
	pack_begin(&b);
	for (size_t i = 0; i <= g->n_parts && !rc; i++) {
		const struct piece *p = &g->pieces[i];
		const char *glue = g->glue.data + p->at;
		if (p->n <= GLUE_PLAIN)
			pack_plain(&b, glue, p->n);
		else
			rc = packer_put(&g->packer, &b, glue, p->n);
		crc = crc32(crc, (const unsigned char *)glue, (unsigned)p->n);
		if (!rc && p->part)
			rc = pack_part(g, p->part);
		if (!rc && p->part)
			crc = crc32_combine(crc, p->part->crc, (z_off_t)p->part->text.len);
		if (!p->part)
			pack_end(&b, (uint32_t)crc, g->bytes);
		rc = rc ? rc : b.failed ? -ENOMEM : each(arg, b.data, b.len);
		if (!rc && p->part)
			rc = each(arg, p->part->packed.data, p->part->packed.len);
		b.len = 0;
	}
	buf_done(&b);
	return rc;
}
