#define _GNU_SOURCE /* strsep */
/* load DB RECORDS.jsonl DECLARED.tsv: puts records and declared inputs into a store, for tests
 * of the report. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/file.h"
#include "schema/codec.h"
#include "store/store.h"

#define DECLARED_MAX 8192

static int add_records(struct store *s, char *text, struct err *err)
{
	int rc = store_begin(s, err);
	for (char *line = strtok(text, "\n"); !rc && line; line = strtok(NULL, "\n")) {
		struct record rec;
		json_error_t where;
		json_t *json = json_loads(line, 0, &where);
		rc = json ? record_from_json(&rec, json, err)
			  : err_set(err, -EINVAL, "%s", where.text);
		if (!rc)
			rc = store_add_run(s, &rec, err);
		if (json)
			record_done(&rec);
		json_decref(json);
	}
	return rc ? rc : store_commit(s, err);
}

static int declare(struct store *s, char *text, struct err *err)
{
	static struct declared_case cases[DECLARED_MAX];
	const char *suite = NULL;
	size_t n = 0;
	int rc = 0;
	char *next = text;
	while (!rc && next && *next && n < DECLARED_MAX) {
		char *line = next, *column[4] = { 0 };
		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		for (size_t i = 0; i < 4; i++)
			column[i] = strsep(&line, "\t");
		if (suite && strcmp(suite, column[0]) != 0) {
			rc = store_declare(s, suite, cases, n, err);
			n = 0;
		}
		suite = column[0];
		cases[n++] = (struct declared_case){ .app = column[1],
						     .case_ = column[2],
						     .title = *column[3] ? column[3] : NULL };
	}
	return rc || !suite ? rc : store_declare(s, suite, cases, n, err);
}

int main(int argc, char **argv)
{
	struct err err = { { 0 } };
	struct store *s = NULL;
	struct buf records = { 0 }, declared = { 0 };
	int rc = argc == 4 ? file_read(&records, argv[2], &err) : -EINVAL;
	if (!rc)
		rc = file_read(&declared, argv[3], &err);
	buf_puts(&records, ""); /* empty files have no text otherwise */
	buf_puts(&declared, "");
	if (!rc)
		rc = store_open(&s, argv[1], STORE_WRITE, &err);
	if (!rc)
		rc = add_records(s, records.data, &err);
	if (!rc)
		rc = declare(s, declared.data, &err);
	store_close(s);
	buf_done(&records);
	buf_done(&declared);
	if (rc)
		(void)fprintf(stderr, "load: %s\n", err.text);
	return rc != 0;
}
