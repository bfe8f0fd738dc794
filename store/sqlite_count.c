/* How much there is of what the inbox holds. */
#include "store/sqlite.h"

#include "store/inbox.h"

static int count(struct store *s, const char *text, uint64_t *ret, struct err *err)
{
	sqlite3_stmt *stmt = NULL;
	int code = sqlite3_prepare_v2(s->db, text, -1, &stmt, NULL);
	if (!code)
		code = sqlite3_step(stmt);
	if (code == SQLITE_ROW)
		*ret = (uint64_t)sqlite3_column_int64(stmt, 0);
	int rc = code == SQLITE_ROW ? 0 : sql_error(s, code, err, "count");
	(void)sqlite3_finalize(stmt);
	return rc;
}

int inbox_count(struct store *s, uint64_t *ret_agents, uint64_t *ret_open, struct err *err)
{
	int rc = count(s, "SELECT count(DISTINCT agent) FROM inbox_spool", ret_agents, err);
	return rc ? rc : count(s, "SELECT count(*) FROM inbox_run WHERE state = 0", ret_open, err);
}
