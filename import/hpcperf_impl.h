/* Shared by the files of the hpcperf import; nobody else's. */
#ifndef IMPORT_HPCPERF_IMPL_H
#define IMPORT_HPCPERF_IMPL_H

#include <jansson.h>
#include <stdbool.h>

#include "core/assemble.h"
#include "import/hpcperf.h"
#include "lib/buf.h"
#include "lib/num.h"

#define IMPORT_TOOL "roimeter import 1" /* counts up when the same file would give other records */
#define IMPORT_FILE_BYTES ((size_t)1 << 30)

/* What a record was made of. */
enum origin {
	ORIGIN_LOG,    /* region logs: times to the nanosecond, no protocol */
	ORIGIN_RECORD, /* a record of theirs: full values, samples */
	ORIGIN_TABLE,  /* a published table: three significant digits, no samples */
};

struct draft {
	struct record rec;
	enum origin origin;
	int level;                /* 1, 2, 3; 0 unknown */
	const char *file;         /* as given */
	unsigned line;            /* in it; 0 none */
	const char *capabilities; /* " compute copy_h2d ": categories their collector sees; or NULL */
	const char *lost;         /* fields that were known there and did not come along; or NULL */
	bool exits_known;         /* of region logs: how each execution ended */
};

/* Properties from the case tables; NULL or NAN where a table says nothing. */
struct app_props {
	int level;
	const char *app;
	const char *verify, *excludes, *profile, *launcher;
	const char *fom_name, *fom_unit, *fom_better, *fom_regex, *timer_regex;
	double timeout_s;
};

struct case_props {
	int level;
	const char *app, *case_;
	const char *exe, *args, *cwd, *env;
	double timeout_s, devices;
};

/* Of a platform, from conformance and counts files. */
struct platform_props {
	const char *id, *conformance, *driver;
	double memory_bytes, devices;
};

struct import_file {
	const char *path, *name; /* name: without its folder */
	const char *as_of;       /* when it was published; NULL unknown */
	const char *hash;        /* XXH3-128, 32 digits */
	struct buf bytes;
	json_t *json; /* parsed, for kinds that are */
};

struct ctx {
	struct imports *out;
	const struct import_options *options;
	struct draft **drafts;
	size_t n_drafts, cap_drafts;
	struct app_props *apps;
	size_t n_apps, cap_apps;
	struct case_props *cases;
	size_t n_cases, cap_cases;
	struct platform_props *platforms;
	size_t n_platforms, cap_platforms;
	struct import_file *files;
	size_t n_files, cap_files;
	struct err *err;
};

/* ---- hpcperf.c: drafts and small things */

/* A new record of this origin, owned by the context. NULL: out of memory (said in err). */
struct draft *draft_new(struct ctx *c, enum origin origin, int level, const struct import_file *file);
char *draft_text(struct draft *d, const char *text); /* a copy in the record's arena */
int import_note(struct ctx *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
int import_declare(struct ctx *c, const char *suite, const char *app, const char *case_);
const char *import_suite(struct ctx *c, int level); /* NULL: out of memory */
struct app_props *app_of(struct ctx *c, int level, const char *app);
struct case_props *case_of(struct ctx *c, int level, const char *app, const char *case_);
struct platform_props *platform_of(struct ctx *c, const char *id);
int import_nomem(struct ctx *c); /* -ENOMEM */

/* "2026-09-26T19:11:40Z", "2026-09-26", with a fraction or with +00:00, as the first; NULL if it is
 * none. */
const char *import_utc(struct arena *a, const char *text);

/* ---- one reader for each kind of file */

int read_table(struct ctx *c, const struct import_file *file); /* hpcperf_table.c */
int read_json(struct ctx *c, const struct import_file *file);  /* hpcperf_json.c */
bool is_json_kind(const json_t *json);
bool is_conformance(const json_t *json); /* hpcperf_platform.c */
const char *json_as_of(const json_t *json);
int read_platforms(struct ctx *c, const struct import_file *file);
int read_logs(struct ctx *c, const struct import_file *const *files, size_t n); /* hpcperf_log.c */

/* Our word for a status of theirs. NULL: the case was not run at all. False: no status of theirs. */
bool status_of_theirs(const char *theirs, const char **ret); /* hpcperf_json.c */

/* hpcperf_raw.c: what lies beside the logs of a run. A folder "" has nothing. */
bool is_raw_name(const char *name);
bool is_raw_run(const struct import_file *file); /* run_meta.txt, by its content */
int raw_execution(struct ctx *c, const char *folder, struct observed *o); /* exit_code NAN: no word of it */

/* What run_meta.txt tells. Texts live in the arena of what is imported; NULL where not told. */
struct raw_meta {
	const char *text; /* all of it; NULL: there is none */
	const char *app, *case_, *utc, *status;
	bool by_timer; /* the region is the application's own timer */
};
int raw_meta(struct ctx *c, const char *folder, struct raw_meta *ret);
int raw_run(struct ctx *c, const struct raw_meta *meta, struct draft *d);

/* A table, cut into cells. */
struct table {
	const struct import_file *file;
	struct arena *arena;
	const char **names; /* columns */
	size_t n_names;
	const char ***rows; /* each n_names cells; NULL is an empty one */
	unsigned *lines;    /* where each row stands in the file */
	size_t n_rows, cap_rows, cap_lines;
	char *text; /* copy that the cells point into */
};

int table_parse(struct table *t, const struct import_file *file, struct arena *arena,
		struct err *err);
/* Index of a column, or -1. */
int table_column(const struct table *t, const char *name);
const char *table_cell(const struct table *t, size_t row, const char *name); /* NULL: none */
/* NAN: empty. -EINVAL and file:line:column when it isn't a number. */
int table_number(const struct table *t, size_t row, int column, double *ret, struct err *err);
/* err_set with file:line:column of a cell. */
int table_fault(const struct table *t, size_t row, int column, struct err *err, const char *format,
		...) __attribute__((format(printf, 5, 6)));
int read_cases(struct ctx *c, const struct table *t); /* hpcperf_cases.c */

/* ---- hpcperf_merge.c: after all files were read, in this order */

int derive_draft(struct ctx *c, struct draft *d); /* what follows from its own numbers */
int merge_drafts(struct ctx *c);
int apply_properties(struct ctx *c);
int finish_draft(struct ctx *c, struct draft *d); /* caveats, reasons for null, run id */

int say_caveats(struct draft *d);   /* hpcperf_caveats.c; -ENOMEM */
int explain_nulls(struct draft *d); /* hpcperf_nulls.c; -ENOMEM */

#endif
