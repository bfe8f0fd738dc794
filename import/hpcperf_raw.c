/* What the runner of hpcperf writes beside its region logs: run_meta.txt about a run, and run.txt
 * about each execution, both "key=value". They are looked for by name; without them a log stands
 * for itself. */
#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "import/hpcperf_impl.h"
#include "lib/file.h"

#define RAW_FILE_BYTES ((size_t)1 << 20)

/* A piece of text, lent. */
struct slice {
	const char *at; /* NULL: not there, empty, or "-" */
	size_t n;
};

/* What follows "key=" at the beginning of a line, up to its end. */
static struct slice get(const char *text, const char *key)
{
	size_t n = strlen(key);
	while (*text) {
		size_t line = strcspn(text, "\r\n");
		if (line > n && strncmp(text, key, n) == 0 && text[n] == '=') {
			struct slice value = { text + n + 1, line - n - 1 };
			if (value.n == 0 || (value.n == 1 && *value.at == '-'))
				value.at = NULL;
			return value;
		}
		text += line;
		text += strspn(text, "\r\n");
	}
	return (struct slice){ 0 };
}

static double get_number(const char *text, const char *key)
{
	struct slice value = get(text, key);
	char digits[32], *end;
	if (!value.at || value.n >= sizeof digits)
		return NAN;
	memcpy(digits, value.at, value.n);
	digits[value.n] = 0;
	double x = strtod(digits, &end);
	return !*end && isfinite(x) && x >= 0 ? num15(x) : NAN;
}

static int64_t get_ns(const char *text, const char *key)
{
	struct slice value = get(text, key);
	int64_t ns = 0;
	if (!value.at || value.n > 19 || (value.n == 19 && *value.at > '8')) /* past INT64_MAX, or close */
		return ROI_UNKNOWN;
	for (size_t i = 0; i < value.n; i++) {
		if (value.at[i] < '0' || value.at[i] > '9')
			return ROI_UNKNOWN;
		ns = 10 * ns + (value.at[i] - '0');
	}
	return ns;
}

/* ret is NULL when there is no such file, else a text in the arena. */
static int read_text(struct ctx *c, const char *folder, const char *name, char **ret)
{
	*ret = NULL;
	if (!*folder)
		return 0;
	struct arena *a = &c->out->arena;
	struct buf b = { .max = RAW_FILE_BYTES };
	const char *path = arena_printf(a, "%s/%s", folder, name);
	int rc = path ? file_read(&b, path, c->err) : import_nomem(c);
	if (rc == -ENOENT)
		rc = 0;
	else if (!rc && !(*ret = arena_strndup(a, b.data ? b.data : "", b.len)))
		rc = import_nomem(c);
	buf_done(&b);
	return rc;
}

bool is_raw_name(const char *name)
{
	return strcmp(name, "run_meta.txt") == 0 || strcmp(name, "run.txt") == 0 ||
	       strcmp(name, "run.log") == 0 || strncmp(name, "bind.", 5) == 0;
}

bool is_raw_run(const struct import_file *file)
{
	static const char first[] = "schema=hpcperf-timing-raw-2";
	size_t n = sizeof first - 1;
	return file->bytes.len >= n && memcmp(file->bytes.data, first, n) == 0 &&
	       strcmp(file->name, "run_meta.txt") == 0;
}

/* ---- one execution ------------------------------------------------------------------------------ */

int raw_execution(struct ctx *c, const char *folder, struct observed *o)
{
	char *text;
	int rc = read_text(c, folder, "run.txt", &text);
	/* Their runner puts all of it into one line. */
	for (char *at = text; at && *at; at++)
		*at = *at == ' ' || *at == '\t' ? '\n' : *at;
	double code = text ? get_number(text, "rc") : NAN;
	if (rc || !known(code))
		return rc;
	o->row.exit_code = code;
	if (code == 124) /* of timeout(1), which their runner uses */
		o->end = END_TIMEOUT;
	o->start_real_ns = get_ns(text, "start_ns");
	o->end_real_ns = get_ns(text, "end_ns");
	if (o->start_real_ns != ROI_UNKNOWN && o->end_real_ns >= o->start_real_ns)
		o->row.process_wall_s = num15((double)(o->end_real_ns - o->start_real_ns) / 1e9);
	return 0;
}

/* ---- the run -------------------------------------------------------------------------------------- */

static int words(struct ctx *c, struct draft *d, struct txts *into, struct slice text,
		 const char *separators)
{
	if (!text.at || into->items)
		return 0;
	const char **items = arena_array(&d->rec.arena, text.n + 1, sizeof *items);
	size_t n = 0;
	for (size_t from = 0; items && from < text.n;) {
		size_t to = from;
		while (to < text.n && !strchr(separators, text.at[to]))
			to++;
		if (to > from && !(items[n++] = record_text(&d->rec, text.at + from, to - from)))
			return import_nomem(c);
		from = to + 1;
	}
	*into = (struct txts){ n ? items : NULL, n };
	return items ? 0 : import_nomem(c);
}

static int lend(struct ctx *c, const char *text, const char *key, const char **ret)
{
	struct slice value = get(text, key);
	*ret = value.at ? arena_strndup(&c->out->arena, value.at, value.n) : NULL;
	return value.at && !*ret ? import_nomem(c) : 0;
}

int raw_meta(struct ctx *c, const char *folder, struct raw_meta *ret)
{
	*ret = (struct raw_meta){ 0 };
	char *text;
	int rc = read_text(c, folder, "run_meta.txt", &text);
	if (rc || !text)
		return rc;
	const char *region = NULL;
	const struct {
		const char *key, **into;
	} texts[] = { { "app", &ret->app }, { "case", &ret->case_ }, { "utc", &ret->utc },
		      { "status", &ret->status }, { "region", &region } };
	for (size_t i = 0; i < sizeof texts / sizeof *texts && !rc; i++)
		rc = lend(c, text, texts[i].key, texts[i].into);
	ret->text = text;
	ret->by_timer = !rc && region && strcmp(region, "app_timer") == 0;
	return rc;
}

int raw_run(struct ctx *c, const struct raw_meta *meta, struct draft *d)
{
	static const struct {
		const char *key;
		size_t offset; /* of a text in struct record_body */
	} texts[] = {
		{ "platform_id", offsetof(struct record_body, platform) },
		{ "cwd", offsetof(struct record_body, inputs.cwd) },
		{ "exe_sha256", offsetof(struct record_body, inputs.exe_hash) },
		{ "roi_excludes", offsetof(struct record_body, measurement.excludes) },
		{ "verify_vs_roi", offsetof(struct record_body, measurement.verify) },
		{ "fom_name", offsetof(struct record_body, fom.name) },
		{ "fom_unit", offsetof(struct record_body, fom.unit) },
		{ "fom_better", offsetof(struct record_body, fom.better) },
		{ "fom_regex", offsetof(struct record_body, fom.pattern) },
		{ "git_commit", offsetof(struct record_body, provenance.source_commit) },
	};
	struct record_body *b = &d->rec.body;
	const char *text = meta->text;
	int rc;
	if (!text)
		return 0;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		void *at = (char *)b + texts[i].offset;
		const char **into = at;
		struct slice value = get(text, texts[i].key);
		if (value.at && !*into && !(*into = record_text(&d->rec, value.at, value.n)))
			return import_nomem(c);
	}
	if (get_number(text, "skip_verify") == 1)
		b->measurement.verify = "skipped";
	b->measurement.timeout_s = get_number(text, "timeout_s");
	b->measurement.cleans_asked = get_number(text, "clean_runs");
	b->inputs.devices = get_number(text, "gpus");
	rc = words(c, d, &b->inputs.env, get(text, "case_env"), ";");
	return rc ? rc : words(c, d, &b->inputs.argv, get(text, "argv"), " ");
}
