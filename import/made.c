/* Names, ids and places of imported records. */
#define _GNU_SOURCE
#include "import/made.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>

#include "import/hpcperf_impl.h" /* IMPORT_TOOL */
#include "schema/codec.h"

#define YEAR_2105_S 4260000000
#define NAME_CHARS 64

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

char *made_app(struct arena *a, const char *path, const char *fallback)
{
	static const char *const ends[] = {
		".gz",  ".zst", ".json", ".sqlite", ".sqlite3", ".db",    ".rpd",
		".csv", ".pb",  ".xplane", ".pt",   ".trace",   ".darshan"
	};
	static const char allowed[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+-";
	char *name = arena_strdup(a, path);
	if (!name)
		return NULL;
	while (*name && name[strlen(name) - 1] == '/') /* of a folder */
		name[strlen(name) - 1] = '\0';
	name = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		size_t n = strlen(name), k = strlen(ends[i]);
		if (n > k && strcmp(name + n - k, ends[i]) == 0) {
			name[n - k] = '\0';
			i = (size_t)-1; /* from the start */
		}
	}
	name += strspn(name, "-.");
	if (strlen(name) > NAME_CHARS)
		name[NAME_CHARS] = '\0';
	for (char *p = name; *p; p++)
		if (!strchr(allowed, *p))
			*p = '-';
	return *name ? name : arena_strdup(a, fallback);
}

int made_id(struct record *rec)
{
	struct record_body *b = &rec->body;
	json_t *json = record_to_json(rec);
	struct buf text = { 0 };
	int rc = json ? json_text(&text, json) : -ENOMEM;
	json_decref(json);
	if (!rc && !text.failed) {
		unsigned hash = (unsigned)(XXH3_64bits(text.data, text.len) & 0xffffffffu);
		const char *u = b->utc;
		b->run_id = arena_printf(&rec->arena, "%.4s%.2s%.2sT%.2s%.2s%.2sZ-%08x", u, u + 5,
					 u + 8, u + 11, u + 14, u + 17, hash);
	}
	buf_done(&text);
	return b->run_id ? 0 : -ENOMEM;
}

const char *made_utc(struct record *rec, int64_t real_ns)
{
	struct tm tm;
	char text[32];
	time_t seconds = (time_t)(real_ns / 1000000000);
	if (real_ns < 0 || seconds >= YEAR_2105_S)
		seconds = 0;
	if (!gmtime_r(&seconds, &tm) || !strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm))
		return NULL;
	return arena_strdup(&rec->arena, text);
}

int made_whole(struct record *rec, const struct made_from *from, struct err *err)
{
	struct record_body *b = &rec->body;
	struct arena *a = &rec->arena;
	b->suite = arena_strdup(a, from->suite ? from->suite : "imported");
	b->app = from->app ? arena_strdup(a, from->app) : made_app(a, from->path, from->format);
	b->case_ = arena_strdup(a, from->case_ ? from->case_ : "trace");
	b->platform = arena_strdup(a, from->platform ? from->platform : "unknown");
	b->kind = "imported";
	b->measurement.tool = IMPORT_TOOL;
	b->measurement.collector = arena_strdup(a, from->format);
	b->measurement.profiled = 1;
	b->measurement.cleans_made = b->measurement.cleans_used = 0;
	b->status = "roi_missing";
	b->status_text = arena_printf(a, "%s has no region: what it holds is of whole processes",
				      from->what);
	char *name = arena_strdup(a, from->path);
	for (size_t n = name ? strlen(name) : 0; n && name[n - 1] == '/'; n--)
		name[n - 1] = '\0';
	char *told = name ? arena_printf(a, "%s %s", from->format, file_name(name)) : NULL;
	b->provenance.imported_from = told ? record_text(rec, told, strlen(told)) : NULL;
	b->provenance.import_hash = arena_strdup(a, from->hash);
	return b->suite && b->app && b->case_ && b->platform && b->measurement.collector &&
			       b->status_text && b->provenance.imported_from &&
			       b->provenance.import_hash
		       ? 0
		       : err_set(err, -ENOMEM, "out of memory");
}

int made_take(struct imports *in, struct record *rec, struct err *err)
{
	bool there = false;
	for (size_t i = 0; i < in->n_records && !there; i++)
		there = strcmp(in->records[i]->body.run_id, rec->body.run_id) == 0;
	struct record **records = arena_grow(&in->arena, in->records, &in->cap_records,
					     in->n_records + 1, sizeof *records);
	if (records)
		in->records = records;
	if (records && !there) {
		records[in->n_records++] = rec;
		return 0;
	}
	record_done(rec);
	free(rec);
	return there ? 0 : err_set(err, -ENOMEM, "out of memory");
}
