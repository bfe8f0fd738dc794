/* Records of our own, and what stands beside them in an export: taken as they are. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "import/hpcperf_impl.h"
#include "lib/file.h"
#include "schema/codec.h"
#include "schema/declared.h"

static int take_record(struct imports *out, const json_t *json, const char *at, struct err *err)
{
	struct record **records = arena_grow(&out->arena, out->records, &out->cap_records,
					     out->n_records + 1, sizeof *records);
	struct record *rec = malloc(sizeof *rec);
	if (!records || !rec) {
		free(rec);
		return err_set(err, -ENOMEM, "out of memory");
	}
	out->records = records;
	int rc = record_from_json(rec, json, err);
	if (!rc)
		rc = record_check(rec, err);
	if (rc) {
		record_done(rec);
		free(rec);
		return err_wrap(err, rc, "%s", at);
	}
	out->records[out->n_records++] = rec;
	return 0;
}

static int take_result(struct imports *out, const json_t *json, const char *at, struct err *err)
{
	struct conformance *results = arena_grow(&out->arena, out->results, &out->cap_results,
						 out->n_results + 1, sizeof *results);
	if (!results)
		return err_set(err, -ENOMEM, "out of memory");
	out->results = results;
	int rc = conformance_from_json(&results[out->n_results], &out->arena, json, err);
	if (rc)
		return err_wrap(err, rc, "%s", at);
	out->n_results++;
	return 0;
}

static int take_inputs(struct imports *out, const json_t *json, const char *at, struct err *err)
{
	struct declared in;
	int rc = declared_from_json(&in, &out->arena, json, err);
	if (rc)
		return err_wrap(err, rc, "%s", at);
	struct import_case *cases = arena_grow(&out->arena, out->cases, &out->cap_cases,
					       out->n_cases + in.inputs.n, sizeof *cases);
	if (!cases)
		return err_set(err, -ENOMEM, "out of memory");
	out->cases = cases;
	for (size_t i = 0; i < in.inputs.n; i++) {
		const struct declared_input *one = &in.inputs.items[i];
		cases[out->n_cases++] = (struct import_case){
			.suite = in.suite, .app = one->app, .case_ = one->case_, .title = one->title };
	}
	return 0;
}

/* What it is, its schema says. at: where in the file, for people. */
static int take(struct imports *out, const json_t *json, const char *at, struct err *err)
{
	const char *schema = json_string_value(json_object_get(json, "schema"));
	if (schema && strcmp(schema, CONFORMANCE_SCHEMA) == 0)
		return take_result(out, json, at, err);
	if (schema && strcmp(schema, DECLARED_SCHEMA) == 0)
		return take_inputs(out, json, at, err);
	return take_record(out, json, at, err);
}

static int take_list(struct imports *out, const json_t *list, const char *what, const char *at,
		     struct err *err)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		char place[512];
		(void)snprintf(place, sizeof place, "%.480s: %s %zu", at, what, i);
		int rc = take(out, json_array_get(list, i), place, err);
		if (rc)
			return rc;
	}
	return 0;
}

/* One by itself, a list, or an object with lists. */
static int take_json(struct imports *out, const json_t *json, const char *at, struct err *err)
{
	const json_t *list = json_is_array(json) ? json : json_object_get(json, "records");
	if (!json_is_array(list))
		return take(out, json, at, err);
	int rc = take_list(out, list, "record", at, err);
	return rc ? rc
		  : take_list(out, json_object_get(json, "conformance"), "conformance result", at,
			      err);
}

/* One record a line? Then the first line is an object by itself. */
static bool has_lines(const struct buf *b)
{
	const char *newline = memchr(b->data, '\n', b->len);
	if (!newline)
		return false;
	json_t *first = json_loadb(b->data, (size_t)(newline - b->data), 0, NULL);
	bool lines = first != NULL;
	json_decref(first);
	return lines;
}

static int take_lines(struct imports *out, const struct buf *b, const char *path, struct err *err)
{
	const char *at = b->data, *end = b->data + b->len;
	int rc = 0;
	for (unsigned line = 1; at < end && !rc; line++) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t n = newline ? (size_t)(newline - at) : (size_t)(end - at);
		bool blank = true;
		for (size_t i = 0; i < n && blank; i++)
			blank = memchr(" \t\r", at[i], 3) != NULL;
		if (!blank) {
			json_error_t e;
			char place[512];
			json_t *json = json_loadb(at, n, JSON_REJECT_DUPLICATES, &e);
			(void)snprintf(place, sizeof place, "%.480s:%u", path, line);
			rc = json ? take_json(out, json, place, err)
				  : err_set(err, -EINVAL, "%s:%d: not JSON: %s", place, e.column, e.text);
			json_decref(json);
		}
		at += n + 1;
	}
	return rc;
}

static int take_file(struct imports *out, const char *path, struct err *err)
{
	struct buf b = { .max = IMPORT_FILE_BYTES };
	int rc = file_read(&b, path, err);
	if (!rc && !b.len)
		rc = err_set(err, -EINVAL, "%s is empty", path);
	if (!rc && strncmp(b.data, "schema,", 7) == 0)
		rc = err_set(err, -EINVAL, "%s: CSV has not all of a record; export --format json, and "
					   "import that", path);
	if (!rc && has_lines(&b)) {
		rc = take_lines(out, &b, path, err);
	} else if (!rc) {
		json_error_t e;
		json_t *json = json_loadb(b.data, b.len, JSON_REJECT_DUPLICATES, &e);
		rc = json ? take_json(out, json, path, err)
			  : err_set(err, -EINVAL, "%s:%d:%d: not JSON: %s", path, e.line, e.column, e.text);
		json_decref(json);
	}
	buf_done(&b);
	return rc;
}

int import_roimeter(struct imports *ret, const char *const *paths, size_t n, struct err *err)
{
	*ret = (struct imports){ 0 };
	int rc = 0;
	for (size_t i = 0; i < n && !rc; i++)
		rc = take_file(ret, paths[i], err);
	if (rc)
		imports_done(ret);
	return rc;
}
