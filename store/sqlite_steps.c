/* Tables change by numbered steps only, store/steps/NNN_name.sql, each in a transaction with its
 * number. A step that has been released is never edited. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "store/sqlite.h"

#define APPLICATION_ID                                                                             \
	0x524f494d /* "ROIM", in the file's header: file(1) and we know it by that                 \
		    */

static const struct {
	const char *file, *sql;
} steps[] = {
#include "store/steps.inc"
};
#define N_STEPS ((int)(sizeof steps / sizeof steps[0]))

static int pragma_int(struct store *s, const char *text, int *ret, struct err *err)
{
	sqlite3_stmt *stmt = NULL;
	int code = sqlite3_prepare_v2(s->db, text, -1, &stmt, NULL);
	if (!code)
		code = sqlite3_step(stmt);
	if (code == SQLITE_ROW)
		*ret = sqlite3_column_int(stmt, 0);
	(void)sqlite3_finalize(stmt);
	return code == SQLITE_ROW ? 0 : sql_error(s, code, err, "look what it is");
}

/* The number of steps that were taken; -EUCLEAN if it is somebody else's database. */
static int version_of(struct store *s, int *ret_version, struct err *err)
{
	int id, version, tables;
	int rc = pragma_int(s, "PRAGMA application_id", &id, err);
	if (!rc)
		rc = pragma_int(s, "PRAGMA user_version", &version, err);
	if (!rc)
		rc = pragma_int(s, "SELECT count(*) FROM sqlite_schema", &tables, err);
	if (rc)
		return rc;
	bool empty = id == 0 && version == 0 && tables == 0;
	if (id != APPLICATION_ID && !empty)
		return err_set(err, -EUCLEAN, "store %s: this is another program's database",
			       s->path);
	if (version > N_STEPS)
		return err_set(err, -EPROTO,
			       "store %s: its tables have version %d, made by a newer roimeter; "
			       "this program "
			       "knows up to version %d: update it, or name another store",
			       s->path, version, N_STEPS);
	*ret_version = version;
	return 0;
}

static int apply_one(struct store *s, int step, struct err *err)
{
	char pragma[96];
	int rc = sql_exec(s, steps[step].sql, err);
	(void)snprintf(pragma, sizeof pragma,
		       "PRAGMA application_id = %d; PRAGMA user_version = %d", APPLICATION_ID,
		       step + 1);
	if (!rc)
		rc = sql_exec(s, pragma, err);
	return rc ? err_wrap(err, rc, "%s", steps[step].file) : 0;
}

/* As of one moment: another program may be making its tables. */
static int version_now(struct store *s, int *ret_version, struct err *err)
{
	int rc = sql_exec(s, "BEGIN", err);
	if (rc)
		return rc;
	rc = version_of(s, ret_version, err);
	(void)sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL); /* nothing was written */
	return rc;
}

int steps_apply(struct store *s, struct err *err)
{
	int version;
	int rc = version_now(s, &version, err);
	if (rc || version == N_STEPS)
		return rc;
	if (!s->writable && version == 0)
		return err_set(err, -EUCLEAN,
			       "store %s: the file is empty, nothing was stored in it", s->path);
	if (!s->writable)
		return err_set(err, -EROFS,
			       "store %s: its tables have version %d and must be brought to "
			       "version %d first: run "
			       "a command that stores something",
			       s->path, version, N_STEPS);
	/* Each step by itself, and looked at again under the lock: another program may be at it. */
	while (version < N_STEPS) {
		rc = sql_begin(s, err);
		if (rc)
			return rc;
		rc = version_of(s, &version, err);
		if (!rc && version < N_STEPS)
			rc = apply_one(s, version++, err);
		rc = sql_end(s, rc, err);
		if (rc)
			return rc;
	}
	return 0;
}
