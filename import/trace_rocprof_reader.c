/* ROCm traces as files. */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>

#include "import/trace_rocprof_impl.h"

static bool is_database(const char *head, size_t n)
{
	return n >= 16 && memcmp(head, "SQLite format 3", 16) == 0;
}

static bool is_json(const char *head, size_t n)
{
	size_t i = strspn(head, " \t\r\n");
	return i < n && head[i] == '{';
}

static bool rocprof_knows(const struct source *s)
{
	size_t n;
	const char *head = source_head(s, &n);
	return is_database(head, n) || roc_csv_is(head, n) ||
	       (is_json(head, n) && memmem(head, n, "rocprofiler-sdk-tool", 20));
}

static int from_database(struct source *s, enum trace_pass pass, struct trace_sink *t,
			 struct err *err)
{
	const char *file;
	struct trace_db db;
	int rc = source_plain_file(s, &file, err);
	if (!rc)
		rc = trace_db_open(&db, file, source_path(s), err);
	if (rc)
		return rc;
	rc = rocpd_is(&db, err);
	if (rc > 0)
		rc = rocpd_read(&db, pass, t, err);
	else if (!rc) {
		rc = rpd_is(&db, err);
		if (rc > 0)
			rc = rpd_read(&db, pass, t, err);
		else if (!rc)
			rc = err_set(err, -EINVAL,
				     "%s: an SQLite database, but neither of rocprofv3 nor rpd: it "
				     "has no "
				     "table rocpd_kernel_dispatch... or rocpd_op",
				     source_path(s));
	}
	trace_db_close(&db);
	return rc;
}

static int next(void *arg, const char **ret, size_t *ret_n, struct err *err)
{
	return source_next(arg, ret, ret_n, err);
}

static int rewind_source(void *arg, struct err *err)
{
	return source_rewind(arg, err);
}

static int rocprof_read(struct source *s, enum trace_pass pass, struct trace_sink *t,
			struct err *err)
{
	size_t n;
	const char *head = source_head(s, &n);
	struct roc_bytes in = {
		.next = next, .rewind = rewind_source, .arg = s, .path = source_path(s)
	};
	if (is_database(head, n))
		return from_database(s, pass, t, err);
	if (is_json(head, n))
		return roc_json_read(&in, pass, t, err);
	if (roc_csv_is(head, n))
		return roc_csv_read(&in, pass, t, err);
	return err_set(err, -EINVAL,
		       "%s: not a trace of rocprofv3 (a database, JSON with "
		       "\"rocprofiler-sdk-tool\", or CSV "
		       "with Start_Timestamp) nor of rpd",
		       source_path(s));
}

const struct trace_reader rocprof_reader = { .name = "rocprof",
					     .knows = rocprof_knows,
					     .read = rocprof_read,
					     .same = roc_csv_same };
