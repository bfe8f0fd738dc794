/* One application's part of the grid, as JSON, with what is needed to make it again when one of its
 * cells changed: a record is read once and not again as long as it stays the same. */
#ifndef REPORT_PART_H
#define REPORT_PART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

#include "lib/arena.h"
#include "lib/buf.h"
#include "lib/err.h"
#include "schema/runid.h"
#include "store/store.h"

/* There may be 100,000 of them. */
struct part_cell {
	const char *platform;      /* the part's own text */
	int64_t run;               /* key of the run that it stands for (schema/runid.h) */
	unsigned char stored[16];  /* store_run_hash of it: has it changed? */
	unsigned char content[16]; /* of the record: the same in another store */
	uint32_t row;              /* place in rows */
	uint32_t at, n;            /* its JSON in text */
	uint32_t facts;            /* from here on it came out of the record */
	bool has_facts;            /* the record tells about its platform */
};

struct part_platform {
	const char *id;
	bool has_facts;            /* some record tells about it: the newest of these, */
	int64_t run;               /* its run */
	unsigned char content[16]; /* and its hash */
};

struct part_row {
	const char *case_, *title; /* title may be NULL */
	bool declared;
	uint64_t place;  /* of the declared */
	size_t first, n; /* its cells */
};

struct part {
	struct arena arena;
	const char *suite, *app;
	struct part_row *rows; /* by name, bytes */
	size_t n_rows, cap_rows;
	size_t *order;                   /* rows as they are shown */
	struct part_platform *platforms; /* as they were met */
	size_t n_platforms, cap_platforms;
	struct part_cell *cells; /* by case and platform, bytes; on the heap */
	size_t n_cells, cap_cells;
	bool declared, is_rendered;
	uint64_t place;    /* of its first declared input */
	struct buf text;   /* {"name":..,"records":..,"cases":[..]} */
	struct buf packed; /* text, deflated, to be set between others (report/pack.h); or empty */
	uint32_t crc;      /* of text, once it is packed */
};

/* What the store has of this application. old: what it was before, or NULL. dots: as in
 * report/cell.h, and as it was in old. The text is left to part_render. A part without rows is
 * gone. *ret is the caller's, written on success. */
int part_read(struct part **ret, const struct part *old, struct store *s, const char *suite,
	      const char *app, bool dots, struct err *err);
void part_free(struct part *p);

/* Make the text for these columns, which are in the order of bytes and hold all platforms that the
 * part has cells of. -ENOMEM; then it is as before. */
int part_render(struct part *p, const char *const *platforms, size_t n);

/* The order of applications: suites by name, declared ones as they were declared, then the others,
 * numbers in names by their value. */
int part_compare(const struct part *a, const struct part *b);

#endif
