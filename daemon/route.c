/* What is not in this table does not exist: it is in no document and answers 404. */
#include "daemon/route.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "report/period.h"
#include "schema/codec.h"
#include "schema/runid.h"

static const struct route_param report_params[] = {
	{ "suite", PARAM_NAME, "only this suite" },
};
static const struct route_param runs_params[] = {
	{ "suite", PARAM_NAME, "only runs of this suite" },
	{ "app", PARAM_NAME, "only runs of this application" },
	{ "case", PARAM_NAME, "only runs of cases of this name" },
	{ "platform", PARAM_NAME, "only runs on this platform" },
	{ "status", PARAM_STATUS, "only runs with this status" },
	{ "kind", PARAM_NAME, "only runs of this kind" },
	{ "since", PARAM_UTC, "not before this time, a date or a second of UTC" },
	{ "limit", PARAM_COUNT, "rows of a page, 50 where it is not given" },
	{ "cursor", PARAM_RUN, "go on behind this run, as the page before said in next" },
};

static const struct route_param context_params[] = {
	{ "since", PARAM_UTC, "not before this time" },
	{ "until", PARAM_UTC, "not after this time" },
};
static const struct route_param period_params[] = {
	{ "direction", PARAM_NAME, "read, write, or both where it is not given" },
	{ "source", PARAM_NAME,
	  "series of the run: the first it has of " REPORT_PERIOD_SOURCES_TEXT },
};
static const struct route_param ledger_params[] = {
	{ "agent", PARAM_NAME, "only this agent" },
	{ "since", PARAM_UTC, "from this time on" },
	{ "until", PARAM_UTC, "up to this time; else up to the newest that came" },
};

static const struct route_param conformance_params[] = {
	{ "collector", PARAM_NAME, "only this collector" },
};

#define PARAMS(p) p, sizeof p / sizeof *p
#define V1 "/api/v1/"

const struct route routes[] = {
	{ "GET", "/", "the report's page, live", MEDIA_HTML, AS_ASSET, true, false, NULL, NULL, 0 },
	{ "GET", "/assets/{id}", "a file of the page", MEDIA_SCRIPT | MEDIA_STYLE, AS_ASSET, true,
	  false, NULL, NULL, 0 },
	{ "GET", "/health", "the daemon answers", MEDIA_JSON, ON_LOOP, true, false, handle_health,
	  NULL, 0 },
	{ "GET", "/metrics", "about the daemon itself, as Prometheus text", MEDIA_TEXT, ON_READER,
	  false, false, handle_metrics, NULL, 0 },
	{ "GET", V1 "report",
	  "the grid: applications, inputs, platforms, each cell's latest ok run",
	  MEDIA_JSON | MEDIA_CSV, ON_READER, false, true, handle_report, PARAMS(report_params) },
	{ "GET", V1 "runs", "runs, newest first, in pages", MEDIA_JSON | MEDIA_CSV, ON_READER,
	  false, true, handle_runs, PARAMS(runs_params) },
	{ "GET", V1 "runs/{id}", "one record, whole", MEDIA_JSON | MEDIA_CSV, ON_READER, false,
	  true, handle_run, NULL, 0 },
	{ "DELETE", V1 "runs/{id}", "remove a run; its cell falls back to the run before",
	  MEDIA_JSON, ON_WRITER, false, false, handle_delete_run, NULL, 0 },
	{ "GET", V1 "runs/{id}/ops", "the device operations of a run", MEDIA_JSON | MEDIA_CSV,
	  ON_READER, false, true, handle_run_ops, NULL, 0 },
	{ "GET", V1 "runs/{id}/io", "what a run did to its files; as CSV, a line each",
	  MEDIA_JSON | MEDIA_CSV, ON_READER, false, true, handle_run_io, NULL, 0 },
	{ "GET", V1 "runs/{id}/capture",
	  "what is in the capture of a run, where the daemon can read it; else why not", MEDIA_JSON,
	  ON_READER, false, false, handle_run_capture, NULL, 0 },
	{ "GET", V1 "runs/{id}/period",
	  "the phases of a run's I/O and their period, or that there is none", MEDIA_JSON,
	  ON_READER, false, true, handle_run_period, PARAMS(period_params) },
	{ "GET", V1 "runs/{id}/context", "what was counted on the nodes of a run while it ran",
	  MEDIA_JSON | MEDIA_CSV, ON_READER, false, false, handle_run_context,
	  PARAMS(context_params) },
	{ "GET", V1 "running", "runs in progress, oldest first", MEDIA_JSON, ON_READER, false,
	  false, handle_running, NULL, 0 },
	{ "GET", V1 "platforms", "platforms that have runs, or were tested for conformance",
	  MEDIA_JSON | MEDIA_CSV, ON_READER, false, true, handle_platforms, NULL, 0 },
	{ "GET", V1 "platforms/{id}",
	  "one platform, with the facts of its newest run and its conformance", MEDIA_JSON,
	  ON_READER, false, true, handle_platform, NULL, 0 },
	{ "GET", V1 "conformance", "the newest conformance result of each platform and collector",
	  MEDIA_JSON | MEDIA_CSV, ON_READER, false, true, handle_conformance,
	  PARAMS(conformance_params) },
	{ "GET", V1 "conformance/{id}",
	  "of one platform, by its id: the newest result of each collector, each check with its "
	  "detail, and the results before",
	  MEDIA_JSON | MEDIA_CSV, ON_READER, false, true, handle_conformance_of,
	  PARAMS(conformance_params) },
	{ "GET", V1 "ledger",
	  "what came from each agent, and is anything missing between two times", MEDIA_JSON,
	  ON_READER, false, false, handle_ledger, PARAMS(ledger_params) },
	{ "POST", V1 "ingest", "batches of an agent; answered when they are durable", MEDIA_JSON,
	  AS_POST, false, false, NULL, NULL, 0 },
	{ "GET", V1 "events", "runs as they are stored, as server-sent events", MEDIA_EVENTS,
	  AS_STREAM, false, false, NULL, NULL, 0 },
	{ "GET", V1 "openapi.json", "this description", MEDIA_JSON, ON_LOOP, true, false,
	  handle_openapi, NULL, 0 },
};
const size_t n_routes = sizeof routes / sizeof *routes;

/* {id} is one segment: the path is compared before and behind it. */
static bool matches(const char *pattern, const char *path, char ret_id[ROUTE_ID_BYTES])
{
	const char *open = strchr(pattern, '{');
	ret_id[0] = 0;
	if (!open)
		return strcmp(pattern, path) == 0;
	size_t n = (size_t)(open - pattern);
	if (strncmp(pattern, path, n) != 0)
		return false;
	const char *behind = strchr(open, '}') + 1;
	size_t one = strcspn(path + n, "/");
	if (!one || one >= ROUTE_ID_BYTES || strcmp(path + n + one, behind) != 0)
		return false;
	(void)snprintf(ret_id, ROUTE_ID_BYTES, "%.*s", (int)one, path + n);
	return true;
}

int route_find(const char *method, const char *path, const struct route **ret,
	       char ret_id[ROUTE_ID_BYTES], char allow[64])
{
	bool head = strcmp(method, "HEAD") == 0, there = false;
	allow[0] = 0;
	for (size_t i = 0; i < n_routes; i++) {
		if (!matches(routes[i].pattern, path, ret_id))
			continue;
		if (strcmp(routes[i].method, head ? "GET" : method) == 0) {
			*ret = &routes[i];
			return 0;
		}
		size_t n = strlen(allow);
		(void)snprintf(allow + n, 64 - n, "%s%s, ", routes[i].method,
			       strcmp(routes[i].method, "GET") == 0 ? ", HEAD" : "");
		there = true;
	}
	if (!there)
		return -ENOENT;
	size_t n = strlen(allow);
	(void)snprintf(allow + n, 64 - n, "OPTIONS");
	return -ENOTSUP;
}

static bool is_utc(const char *text)
{
	static const char shape[] = "0000-00-00T00:00:00Z";
	size_t n = strlen(text);
	bool good = n == 10 || n == 20;
	for (size_t i = 0; good && i < n; i++)
		good = shape[i] == '0' ? text[i] >= '0' && text[i] <= '9' : text[i] == shape[i];
	return good;
}

static bool is_count(const char *text)
{
	size_t n = strspn(text, "0123456789");
	int value = 0;
	for (size_t i = 0; i < n && i < 5; i++)
		value = value * 10 + (text[i] - '0');
	return n && n < 5 && !text[n] && value >= 1 && value <= 1000;
}

static int check_param(const struct route_param *p, const char *value, struct err *err)
{
	int64_t key;
	bool good = false;
	switch (p->type) {
	case PARAM_NAME:
		return *value ? 0 : err_set(err, -EINVAL, "%s is empty; leave it out", p->name);
	case PARAM_STATUS:
		for (size_t i = 0; record_statuses[i]; i++)
			good |= strcmp(record_statuses[i], value) == 0;
		return good ? 0
			    : err_set(err, -EINVAL, "%s: no run has the status \"%.40s\"", p->name,
				      value);
	case PARAM_UTC:
		return is_utc(value) ? 0
				     : err_set(err, -EINVAL,
					       "%s: expected UTC, as 2026-09-29 or "
					       "2026-09-29T04:52:01Z",
					       p->name);
	case PARAM_COUNT:
		return is_count(value) ? 0
				       : err_set(err, -EINVAL, "%s: expected 1 to 1000", p->name);
	case PARAM_RUN:
		return runid_key(value, &key)
			       ? 0
			       : err_set(err, -EINVAL, "%s: expected a run id", p->name);
	}
	return -EINVAL;
}

int route_check(const struct route *r, const struct target *t, struct err *err)
{
	for (size_t i = 0; i < t->n_params; i++) {
		const struct route_param *found = NULL;
		for (size_t k = 0; k < r->n_params && !found; k++)
			if (strcmp(r->params[k].name, t->params[i].name) == 0)
				found = &r->params[k];
		if (!found)
			return err_set(err, -EINVAL,
				       "there is no query parameter \"%.40s\" here; "
				       "/api/v1/openapi.json lists them",
				       t->params[i].name);
		int rc = check_param(found, t->params[i].value, err);
		if (rc)
			return rc;
	}
	return 0;
}
