/* Results that the benchmark suite HPC-Performance-AI measured or published, as records of ours.
 * What a file is, its content tells:
 *
 *   region logs     "# hpcperf-roi-log 2": the processes of one execution, or a raw run folder
 *   the page's data {"schema": "hpcperf-published-records-1", "records": [...]}
 *   run records     hpcperf-timing-2, one JSON object a file
 *   result tables   a line "#level app input platform ..." and rows, three significant digits
 *   case tables     a line "#app case ..." or "#app ..." : declared inputs and their properties
 *   conformance     {"platform": ..., "conformance": {...}}; counts {"as_of": ...}
 *
 * Pure: reads files, stores nothing, knows no clock. The same files give the same records with
 * the same run ids. */
#ifndef IMPORT_HPCPERF_H
#define IMPORT_HPCPERF_H

#include "lib/arena.h"
#include "lib/err.h"
#include "schema/conformance.h"
#include "schema/record.h"

struct import_options {
	const char *suite;     /* instead of hpcperf-level1 ...; NULL */
	const char *platform;  /* of what names none; NULL */
	const char *app, *case_; /* of region logs; NULL */
	const char *published; /* UTC, when tables that do not tell were published; NULL */
};

/* An input that a case table names. */
struct import_case {
	const char *suite, *app, *case_;
	const char *title; /* or NULL */
};

struct imports {
	struct arena arena;
	struct record **records; /* by suite, app, case, platform, time */
	size_t n_records, cap_records;
	struct import_case *cases; /* by suite, app, case; each once */
	size_t n_cases, cap_cases;
	struct conformance *results;
	size_t n_results, cap_results;
	const char **notes; /* sentences: what was left alone or put together */
	size_t n_notes, cap_notes;
};

/* Files and folders (all in them). All-or-nothing: on failure ret is empty, and the sentence has
 * the file and the place in it. -EINVAL, or what reading answered. */
int import_hpcperf(struct imports *ret, const char *const *paths, size_t n,
		   const struct import_options *options, struct err *err);

/* JSON lines, an array, one object or {"records": [...], "conformance": [...]} of records, conformance
 * results and declared inputs of ours, as export, --format json and `conformance --output` write
 * them; nothing in them is changed. */
int import_roimeter(struct imports *ret, const char *const *paths, size_t n, struct err *err);

void imports_done(struct imports *imports);

#endif
