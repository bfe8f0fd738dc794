/* Nsight Systems exports as files. */
#include <errno.h>
#include <string.h>

#include "import/trace_nsys_impl.h"

static bool nsys_knows(const struct source *s)
{
	size_t n;
	const char *head = source_head(s, &n);
	return n >= 16 && memcmp(head, "SQLite format 3", 16) == 0;
}

static int nsys_read(struct source *s, enum trace_pass pass, struct trace_sink *t, struct err *err)
{
	const char *file;
	struct trace_db db;
	if (!nsys_knows(s))
		return err_set(err, -EINVAL,
			       "%s: not an SQLite database; Nsight Systems makes one of a report "
			       "with: nsys "
			       "export --type sqlite",
			       source_path(s));
	int rc = source_plain_file(s, &file, err);
	if (!rc)
		rc = trace_db_open(&db, file, source_path(s), err);
	if (rc)
		return rc;
	rc = nsys_read_db(&db, pass, t, err);
	trace_db_close(&db);
	return rc;
}

const struct trace_reader nsys_reader = { .name = "nsys", .knows = nsys_knows, .read = nsys_read };
