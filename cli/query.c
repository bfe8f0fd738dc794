/* Checks of what a person asks for. */
#define _GNU_SOURCE
#include "cli/query.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schema/codec.h"

int cli_format(const char *text, enum format *ret, struct err *err)
{
	static const char *const names[] = { "text", "json", "csv" };
	for (int i = 0; text && i < 3; i++)
		if (strcmp(text, names[i]) == 0) {
			*ret = (enum format)i;
			return 0;
		}
	return text ? err_set(err, -EINVAL, "--format %s: expected text, json or csv", text) : 0;
}

static int check_since(const char *since, struct err *err)
{
	static const char shape[] = "0000-00-00T00:00:00Z";
	size_t n = strlen(since);
	bool good = n == 10 || n == 20;
	for (size_t i = 0; good && i < n; i++)
		good = shape[i] == '0' ? since[i] >= '0' && since[i] <= '9' : since[i] == shape[i];
	return good ? 0
		    : err_set(err, -EINVAL, "--since %s: expected UTC, as 2026-09-29 or "
					    "2026-09-29T04:52:01Z", since);
}

int cli_check_query(const struct run_query *q, struct err *err)
{
	int rc = q->since ? check_since(q->since, err) : 0;
	bool good = !q->status;
	for (size_t i = 0; record_statuses[i] && !good; i++)
		good = strcmp(q->status, record_statuses[i]) == 0;
	if (!rc && !good)
		rc = err_set(err, -EINVAL, "--status %s: expected ok, clean_failed, clean_timeout, "
					   "roi_missing, timer_missing, profiled_failed, "
					   "roi_missing_in_profile or interrupted", q->status);
	return rc;
}

struct found {
	const char *prefix;
	char *first;
	char second[40];
};

/* Rows come newest first, and ids sort by time: the walk ends behind the first that is smaller. */
static int note(void *arg, const struct run_row *row)
{
	struct found *f = arg;
	if (strncmp(row->run_id, f->prefix, strlen(f->prefix)) != 0)
		return strcmp(row->run_id, f->prefix) < 0;
	if (f->first) {
		(void)snprintf(f->second, sizeof f->second, "%s", row->run_id);
		return 1;
	}
	f->first = strdup(row->run_id);
	return f->first ? 0 : -ENOMEM;
}

int cli_find_run(struct store *s, const char *name, char **ret_id, struct err *err)
{
	bool latest = strcmp(name, "latest") == 0;
	struct found f = { .prefix = latest ? "" : name };
	struct run_query q = { .limit = latest ? 1 : 0 };
	int rc = store_each_run(s, &q, note, &f, err);
	if (rc < 0) {
		free(f.first);
		return rc;
	}
	if (!f.first)
		return latest ? err_set(err, -ENOENT, "the database holds no run yet")
			      : err_set(err, -ENOENT, "no run begins with \"%.60s\"; \"roimeter runs\" "
						      "lists them", name);
	if (f.second[0]) {
		rc = err_set(err, -EINVAL, "several runs begin with \"%.60s\": %s, %s, ...; give more of "
					   "the id", name, f.first, f.second);
		free(f.first);
		return rc;
	}
	*ret_id = f.first;
	return 0;
}
