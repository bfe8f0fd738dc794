/* The call: collects the files, hands each to its reader, puts together what belongs together. */
#define _GNU_SOURCE
#include "import/hpcperf.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>

#include "import/hpcperf_impl.h"
#include "lib/file.h"
#include "schema/codec.h"

#define FOLDER_DEPTH 8

int import_nomem(struct ctx *c)
{
	return err_set(c->err, -ENOMEM, "out of memory");
}

/* ---- small things that the readers share ---------------------------------------------------- */

struct draft *draft_new(struct ctx *c, enum origin origin, int level, const struct import_file *file)
{
	struct draft **drafts = arena_grow(&c->out->arena, c->drafts, &c->cap_drafts,
					   c->n_drafts + 1, sizeof *drafts);
	struct draft *d = calloc(1, sizeof *d);
	if (!drafts || !d) {
		free(d);
		(void)import_nomem(c);
		return NULL;
	}
	c->drafts = drafts;
	c->drafts[c->n_drafts++] = d;
	record_init(&d->rec);
	d->origin = origin;
	d->level = level;
	d->file = file->path;

	struct record_body *b = &d->rec.body;
	const char *suite = import_suite(c, level);
	b->suite = draft_text(d, suite);
	b->kind = "imported";
	b->measurement.tool = IMPORT_TOOL;
	b->provenance.imported_from = arena_printf(&d->rec.arena, "hpcperf %s", file->name);
	b->provenance.import_hash = draft_text(d, file->hash);
	if (!suite || !b->suite || !b->provenance.imported_from || !b->provenance.import_hash) {
		(void)import_nomem(c);
		return NULL;
	}
	return d;
}

char *draft_text(struct draft *d, const char *text)
{
	return text ? record_text(&d->rec, text, strlen(text)) : NULL;
}

int import_note(struct ctx *c, const char *format, ...)
{
	char text[512];
	va_list args;
	va_start(args, format);
	(void)vsnprintf(text, sizeof text, format, args);
	va_end(args);
	struct imports *out = c->out;
	const char **notes = arena_grow(&out->arena, out->notes, &out->cap_notes, out->n_notes + 1,
					sizeof *notes);
	char *copy = arena_strdup(&out->arena, text);
	if (!notes || !copy)
		return import_nomem(c);
	out->notes = notes;
	out->notes[out->n_notes++] = copy;
	return 0;
}

const char *import_suite(struct ctx *c, int level)
{
	if (c->options->suite)
		return c->options->suite;
	return level ? arena_printf(&c->out->arena, "hpcperf-level%d", level) : "hpcperf";
}

int import_declare(struct ctx *c, const char *suite, const char *app, const char *case_)
{
	struct imports *out = c->out;
	const char *names[] = { suite, app, case_ };
	for (size_t i = 0; i < 3; i++) /* so that it can be measured too */
		if (record_check_name("name", names[i], NULL))
			return err_set(c->err, -EINVAL,
				       "the name \"%.130s\" is not 1 to 128 of A-Z a-z 0-9 . _ + -", names[i]);
	struct import_case *cases = arena_grow(&out->arena, out->cases, &out->cap_cases,
					       out->n_cases + 1, sizeof *cases);
	if (!cases)
		return import_nomem(c);
	out->cases = cases;
	out->cases[out->n_cases++] = (struct import_case){
		.suite = arena_strdup(&out->arena, suite),
		.app = arena_strdup(&out->arena, app),
		.case_ = arena_strdup(&out->arena, case_) };
	return 0;
}

struct app_props *app_of(struct ctx *c, int level, const char *app)
{
	for (size_t i = 0; i < c->n_apps; i++)
		if (c->apps[i].level == level && strcmp(c->apps[i].app, app) == 0)
			return &c->apps[i];
	struct app_props *apps = arena_grow(&c->out->arena, c->apps, &c->cap_apps, c->n_apps + 1,
					    sizeof *apps);
	if (!apps) {
		(void)import_nomem(c);
		return NULL;
	}
	c->apps = apps;
	apps[c->n_apps] = (struct app_props){ .level = level, .app = app, .timeout_s = NAN };
	return &apps[c->n_apps++];
}

struct case_props *case_of(struct ctx *c, int level, const char *app, const char *case_)
{
	for (size_t i = 0; i < c->n_cases; i++)
		if (c->cases[i].level == level && strcmp(c->cases[i].app, app) == 0 &&
		    strcmp(c->cases[i].case_, case_) == 0)
			return &c->cases[i];
	struct case_props *cases = arena_grow(&c->out->arena, c->cases, &c->cap_cases,
					      c->n_cases + 1, sizeof *cases);
	if (!cases) {
		(void)import_nomem(c);
		return NULL;
	}
	c->cases = cases;
	cases[c->n_cases] = (struct case_props){ .level = level, .app = app, .case_ = case_,
						 .timeout_s = NAN, .devices = NAN };
	return &cases[c->n_cases++];
}

struct platform_props *platform_of(struct ctx *c, const char *id)
{
	for (size_t i = 0; i < c->n_platforms; i++)
		if (strcmp(c->platforms[i].id, id) == 0)
			return &c->platforms[i];
	struct platform_props *items = arena_grow(&c->out->arena, c->platforms, &c->cap_platforms,
						  c->n_platforms + 1, sizeof *items);
	if (!items) {
		(void)import_nomem(c);
		return NULL;
	}
	c->platforms = items;
	items[c->n_platforms] = (struct platform_props){ .id = id, .memory_bytes = NAN, .devices = NAN };
	return &items[c->n_platforms++];
}

/* "0000-00-00T00:00:00": is every digit a digit, and the rest as it stands? */
static bool shaped(const char *text, const char *shape, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		bool digit = text[i] >= '0' && text[i] <= '9';
		if (shape[i] == '0' ? !digit : text[i] != shape[i])
			return false;
	}
	return true;
}

static int two(const char *digits)
{
	return (digits[0] - '0') * 10 + digits[1] - '0';
}

const char *import_utc(struct arena *a, const char *text)
{
	static const char shape[] = "0000-00-00T00:00:00";
	size_t n = strlen(text);
	if (n < 10 || !shaped(text, shape, 10))
		return NULL;
	int month = two(text + 5), day = two(text + 8);
	if (month < 1 || month > 12 || day < 1 || day > 31)
		return NULL;
	if (n == 10)
		return arena_printf(a, "%sT00:00:00Z", text);
	if (n > 6 && strcmp(text + n - 6, "+00:00") == 0)
		n -= 5; /* as if the "+" were the "Z" */
	else if (text[n - 1] != 'Z')
		return NULL;
	if (n < 20 || !shaped(text, shape, 19))
		return NULL;
	if (two(text + 11) > 23 || two(text + 14) > 59 || two(text + 17) > 60)
		return NULL;
	if (n > 20 && (text[19] != '.' || strspn(text + 20, "0123456789") != n - 21))
		return NULL;
	return arena_printf(a, "%.19sZ", text);
}

/* ---- files ------------------------------------------------------------------------------------ */

static bool starts(const struct buf *b, const char *text)
{
	return b->len >= strlen(text) && memcmp(b->data, text, strlen(text)) == 0;
}

enum kind { KIND_OTHER, KIND_LOG, KIND_TABLE, KIND_JSON };

static enum kind kind_of(const struct import_file *f)
{
	if (f->json)
		return is_json_kind(f->json) ? KIND_JSON : KIND_OTHER;
	if (starts(&f->bytes, "# hpcperf-roi-log") || is_raw_run(f))
		return KIND_LOG; /* a run without any log is one, too */
	const char *newline = f->bytes.len ? memchr(f->bytes.data, '\n', f->bytes.len) : NULL;
	size_t line = newline ? (size_t)(newline - f->bytes.data) : f->bytes.len;
	if (line && f->bytes.data[0] == '#' && memchr(f->bytes.data, '\t', line))
		return KIND_TABLE;
	return KIND_OTHER;
}

static int parse_json(struct ctx *c, struct import_file *f)
{
	size_t at = 0;
	while (at < f->bytes.len && memchr(" \t\r\n", f->bytes.data[at], 4))
		at++;
	if (at == f->bytes.len || (f->bytes.data[at] != '{' && f->bytes.data[at] != '['))
		return 0;
	json_error_t e;
	f->json = json_loadb(f->bytes.data, f->bytes.len, JSON_REJECT_DUPLICATES, &e);
	if (f->json)
		return 0;
	return err_set(c->err, -EINVAL, "%s:%d:%d: not JSON: %s", f->path, e.line, e.column, e.text);
}

/* A date in the name, as in "campaign_20260929_level3.tsv". */
static const char *date_in_name(struct arena *a, const char *name)
{
	for (const char *at = name; *at; at++) {
		if (at != name && at[-1] != '_' && at[-1] != '-')
			continue;
		if (strspn(at, "0123456789") != 8)
			continue;
		char text[16];
		(void)snprintf(text, sizeof text, "%.4s-%.2s-%.2s", at, at + 4, at + 6);
		const char *utc = import_utc(a, text);
		if (utc)
			return utc;
	}
	return NULL;
}

static int add_file(struct ctx *c, const char *path, bool named)
{
	struct imports *out = c->out;
	struct import_file *files = arena_grow(&out->arena, c->files, &c->cap_files, c->n_files + 1,
					       sizeof *files);
	if (!files)
		return import_nomem(c);
	c->files = files;
	struct import_file *f = &files[c->n_files];
	*f = (struct import_file){ .path = arena_strdup(&out->arena, path),
				   .bytes = { .max = IMPORT_FILE_BYTES } };
	if (!f->path)
		return import_nomem(c);
	const char *slash = strrchr(f->path, '/');
	f->name = slash ? slash + 1 : f->path;
	c->n_files++; /* from here on freed with the others */

	int rc = file_read(&f->bytes, path, c->err);
	if (!rc)
		rc = parse_json(c, f);
	if (rc)
		return rc;
	XXH128_hash_t h = XXH3_128bits(f->bytes.data, f->bytes.len);
	f->hash = arena_printf(&out->arena, "%016llx%016llx", (unsigned long long)h.high64,
			       (unsigned long long)h.low64);
	f->as_of = date_in_name(&out->arena, f->name);
	if (!f->hash)
		return import_nomem(c);
	if (kind_of(f) != KIND_OTHER)
		return 0;
	if (named)
		return err_set(c->err, -EINVAL,
			       "%s: no region log, result table, case table, run record or conformance "
			       "file of hpcperf; see \"roimeter import --help\"", path);
	buf_done(&f->bytes);
	json_decref(f->json);
	c->n_files--;
	if (is_raw_name(f->name))
		return 0; /* read with the logs beside it */
	return import_note(c, "%s was left alone: not a file of this format", path);
}

static int add_path(struct ctx *c, const char *path, bool named, int depth);

static int add_folder(struct ctx *c, const char *path, int depth)
{
	struct dirent **names = NULL;
	int n = scandir(path, &names, NULL, alphasort), rc = 0;
	if (n < 0)
		return err_set(c->err, -errno, "open folder %s: %s", path, strerror(errno));
	if (depth > FOLDER_DEPTH)
		rc = err_set(c->err, -ELOOP, "%s: folders more than %d deep", path, FOLDER_DEPTH);
	for (int i = 0; i < n; i++) {
		if (!rc && names[i]->d_name[0] != '.') {
			size_t bytes = strlen(path) + strlen(names[i]->d_name) + 2;
			char *below = malloc(bytes);
			if (below)
				(void)snprintf(below, bytes, "%s/%s", path, names[i]->d_name);
			rc = below ? add_path(c, below, false, depth + 1) : import_nomem(c);
			free(below);
		}
		free(names[i]);
	}
	free(names);
	return rc;
}

static int add_path(struct ctx *c, const char *path, bool named, int depth)
{
	struct stat st;
	if (strcmp(path, "-") != 0 && stat(path, &st))
		return err_set(c->err, -errno, "open %s: %s", path, strerror(errno));
	if (strcmp(path, "-") != 0 && S_ISDIR(st.st_mode))
		return add_folder(c, path, depth);
	if (strcmp(path, "-") != 0 && !S_ISREG(st.st_mode) && !named)
		return 0;
	return add_file(c, path, named);
}

/* ---- when a table was published -------------------------------------------------------------- */

static bool same_folder(const struct import_file *a, const struct import_file *b)
{
	size_t n = (size_t)(a->name - a->path), m = (size_t)(b->name - b->path);
	return n == m && memcmp(a->path, b->path, n) == 0;
}

/* The counts beside a table say which state was published. They count also when nobody named
 * them: a table by itself has no date. */
static int counts_beside(struct ctx *c, struct import_file *f)
{
	for (size_t i = 0; i < c->n_files; i++)
		if (c->files[i].json && json_as_of(c->files[i].json) && same_folder(f, &c->files[i]))
			f->as_of = import_utc(&c->out->arena, json_as_of(c->files[i].json));
	if (f->as_of)
		return 0;
	char *path = arena_printf(&c->out->arena, "%.*scounts.json", (int)(f->name - f->path), f->path);
	if (!path)
		return import_nomem(c);
	struct import_file counts = { .path = path, .bytes = { .max = 1 << 20 } };
	if (file_read(&counts.bytes, path, NULL) == 0 && parse_json(c, &counts) == 0 &&
	    counts.json && json_as_of(counts.json))
		f->as_of = import_utc(&c->out->arena, json_as_of(counts.json));
	json_decref(counts.json);
	buf_done(&counts.bytes);
	return 0;
}

static int date_files(struct ctx *c)
{
	const char *published = c->options->published;
	const char *given = published ? import_utc(&c->out->arena, published) : NULL;
	if (published && !given)
		return err_set(c->err, -EINVAL, "--published %s: expected UTC, as 2026-09-26 or "
						"2026-09-26T19:11:40Z", published);
	int rc = 0;
	for (size_t i = 0; i < c->n_files && !rc; i++) {
		struct import_file *f = &c->files[i];
		if (kind_of(f) != KIND_TABLE || f->as_of)
			continue;
		f->as_of = given;
		if (!given)
			rc = counts_beside(c, f);
	}
	return rc;
}

/* ---- the call ----------------------------------------------------------------------------------- */

static int read_files(struct ctx *c)
{
	const struct import_file **logs = arena_array(&c->out->arena, c->n_files + 1, sizeof *logs);
	size_t n_logs = 0;
	int rc = logs ? 0 : import_nomem(c);
	for (size_t i = 0; i < c->n_files && !rc; i++) {
		const struct import_file *f = &c->files[i];
		switch (kind_of(f)) {
		case KIND_TABLE:
			rc = read_table(c, f);
			break;
		case KIND_JSON:
			rc = read_json(c, f);
			break;
		case KIND_LOG:
			logs[n_logs++] = f;
			break;
		case KIND_OTHER:
			break;
		}
	}
	return rc || !n_logs ? rc : read_logs(c, logs, n_logs);
}

static int compare_text(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

static int compare_records(const void *a, const void *b)
{
	const struct record_body *x = &(*(struct record *const *)a)->body;
	const struct record_body *y = &(*(struct record *const *)b)->body;
	int order = compare_text(x->suite, y->suite);
	if (!order)
		order = compare_text(x->app, y->app);
	if (!order)
		order = compare_text(x->case_, y->case_);
	if (!order)
		order = compare_text(x->platform, y->platform);
	return order ? order : compare_text(x->run_id, y->run_id);
}

static int compare_cases(const void *a, const void *b)
{
	const struct import_case *x = a, *y = b;
	int order = strcmp(x->suite, y->suite);
	if (!order)
		order = strcmp(x->app, y->app);
	return order ? order : strcmp(x->case_, y->case_);
}

static void sort_cases(struct imports *out)
{
	if (!out->n_cases)
		return;
	qsort(out->cases, out->n_cases, sizeof *out->cases, compare_cases);
	size_t kept = 1;
	for (size_t i = 1; i < out->n_cases; i++)
		if (compare_cases(&out->cases[kept - 1], &out->cases[i]) != 0)
			out->cases[kept++] = out->cases[i];
	out->n_cases = kept;
}

/* The drafts' records go to the caller, each once. */
static int hand_over(struct ctx *c)
{
	struct imports *out = c->out;
	out->records = arena_array(&out->arena, c->n_drafts + 1, sizeof *out->records);
	if (!out->records)
		return import_nomem(c);
	for (size_t i = 0; i < c->n_drafts; i++) {
		struct draft *d = c->drafts[i];
		struct record *rec = malloc(sizeof *rec);
		if (!rec)
			return import_nomem(c);
		*rec = d->rec; /* moves: an arena is a list of blocks */
		memset(&d->rec, 0, sizeof d->rec);
		out->records[out->n_records++] = rec;
	}
	if (out->n_records)
		qsort(out->records, out->n_records, sizeof *out->records, compare_records);
	size_t kept = 0;
	for (size_t i = 0; i < out->n_records; i++) {
		if (kept && strcmp(out->records[kept - 1]->body.run_id,
				   out->records[i]->body.run_id) == 0) {
			record_done(out->records[i]);
			free(out->records[i]);
			continue;
		}
		out->records[kept++] = out->records[i];
	}
	out->n_records = kept;
	return 0;
}

static int finish(struct ctx *c)
{
	int rc = 0;
	for (size_t i = 0; i < c->n_drafts && !rc; i++)
		rc = derive_draft(c, c->drafts[i]);
	if (!rc)
		rc = merge_drafts(c);
	if (!rc)
		rc = apply_properties(c);
	for (size_t i = 0; i < c->n_drafts && !rc; i++)
		rc = finish_draft(c, c->drafts[i]);
	if (!rc)
		rc = hand_over(c);
	sort_cases(c->out);
	return rc;
}

int import_hpcperf(struct imports *ret, const char *const *paths, size_t n,
		   const struct import_options *options, struct err *err)
{
	*ret = (struct imports){ 0 };
	struct ctx c = { .out = ret, .options = options, .err = err };
	int rc = 0;
	for (size_t i = 0; i < n && !rc; i++)
		rc = add_path(&c, paths[i], true, 0);
	if (!rc)
		rc = date_files(&c);
	if (!rc)
		rc = read_files(&c);
	if (!rc)
		rc = finish(&c);
	for (size_t i = 0; i < c.n_files; i++) {
		buf_done(&c.files[i].bytes);
		json_decref(c.files[i].json);
	}
	for (size_t i = 0; i < c.n_drafts; i++) {
		record_done(&c.drafts[i]->rec);
		free(c.drafts[i]);
	}
	if (rc)
		imports_done(ret);
	return rc;
}

void imports_done(struct imports *imports)
{
	for (size_t i = 0; i < imports->n_records; i++) {
		record_done(imports->records[i]);
		free(imports->records[i]);
	}
	arena_free(&imports->arena);
	*imports = (struct imports){ 0 };
}
