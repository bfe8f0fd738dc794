/* The report's data (docs/report.md): what GET report answers, what report.json holds, what
 * report@HASH cites. Made from the store alone, without clock and path: the same records give the
 * same bytes. It is kept in parts, one for each application; when a run is stored only its
 * application's part is made anew. */
#ifndef REPORT_GRID_H
#define REPORT_GRID_H

#include <stddef.h>
#include <stdint.h>

#include "lib/buf.h"
#include "lib/err.h"
#include "store/store.h"

#define REPORT_SCHEMA "roimeter-report/2"

struct report_options {
	const char *const *suites; /* only these; all where n_suites is 0 */
	size_t n_suites;
	const char *title; /* NULL: "Roimeter report" */
};

struct grid;

/* The options are copied. NULL: out of memory. */
struct grid *grid_new(const struct report_options *o);
void grid_free(struct grid *g);

/* Bring it to what the store holds now. Between store_snapshot and its end, or what is written
 * meanwhile may be in one part and not in another. -ENOENT: a suite that nothing was stored for.
 * After a failure it must not be asked before an update went well. */
int grid_update(struct grid *g, struct store *s, struct err *err);

/* The store's version that it is of. */
uint64_t grid_version(const struct grid *g);
size_t grid_bytes(const struct grid *g); /* of its text */
size_t grid_held(const struct grid *g);  /* memory that it takes, about */
size_t grid_apps(const struct grid *g);

/* XXH3-128 of the text, in hexadecimal. */
void grid_hash(const struct grid *g, char ret_hash[33]);

/* The text in pieces, in order; or the same as gzip. An answer of each that is not 0 ends it. */
int grid_each_text(struct grid *g, int (*each)(void *arg, const void *bytes, size_t n), void *arg);
int grid_each_gzip(struct grid *g, int (*each)(void *arg, const void *bytes, size_t n), void *arg);

#endif
