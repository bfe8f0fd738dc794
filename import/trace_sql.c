/* The hardened way to read a database from elsewhere. Schemas run code (views, triggers, virtual
 * tables, generated columns): none of it is asked for, and what could call out is switched off. */
#define _GNU_SOURCE
#include "import/trace_sql.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/buf.h"

#define VALUE_MAX_BYTES (64 << 20) /* of one row or text */
#define COLUMNS_MAX 32

static int sql_failed(struct trace_db *d, int rc, struct err *err)
{
	switch (rc & 0xff) {
	case SQLITE_NOMEM:
		return err_set(err, -ENOMEM, "out of memory");
	case SQLITE_NOTADB:
		return err_set(err, -EINVAL, "%s: not an SQLite database", d->path);
	case SQLITE_CORRUPT:
		return err_set(err, -EINVAL,
			       "%s: the database is cut or damaged (%s); export it again, or copy "
			       "it again",
			       d->path, sqlite3_errmsg(d->db));
	case SQLITE_IOERR:
	case SQLITE_CANTOPEN:
		return err_set(err, -EIO, "%s: SQLite: %s", d->path, sqlite3_errmsg(d->db));
	default:
		return err_set(err, -EINVAL, "%s: SQLite: %s", d->path, sqlite3_errmsg(d->db));
	}
}

static int harden(struct trace_db *d, struct err *err)
{
	static const struct {
		int option, on;
	} options[] = {
		{ SQLITE_DBCONFIG_DEFENSIVE, 1 },      { SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0 },
		{ SQLITE_DBCONFIG_ENABLE_TRIGGER, 0 }, { SQLITE_DBCONFIG_ENABLE_VIEW, 0 },
		{ SQLITE_DBCONFIG_DQS_DML, 0 },
	};
	for (size_t i = 0; i < sizeof options / sizeof *options; i++)
		(void)sqlite3_db_config(d->db, options[i].option, options[i].on, (int *)NULL);
	(void)sqlite3_limit(d->db, SQLITE_LIMIT_LENGTH, VALUE_MAX_BYTES);
	(void)sqlite3_limit(d->db, SQLITE_LIMIT_ATTACHED, 0);
	/* Looks at the first page: is it a database, and as long as it says? */
	int rc = sqlite3_exec(d->db,
			      "pragma cell_size_check = on; select count(*) from sqlite_schema",
			      NULL, NULL, NULL);
	return rc ? sql_failed(d, rc, err) : 0;
}

/* An open or crashed writer leaves its last changes beside the file, and we would not see them. */
static int no_log_beside(const char *path, struct err *err)
{
	static const char *const logs[] = { "-wal", "-journal" };
	for (size_t i = 0; i < 2; i++) {
		char beside[4096];
		int n = snprintf(beside, sizeof beside, "%s%s", path, logs[i]);
		struct stat st;
		if (n > 0 && (size_t)n < sizeof beside && stat(beside, &st) == 0 && st.st_size > 0)
			return err_set(
				err, -EINVAL,
				"%s: a part of it is still in %s beside it; open it once with the "
				"program that wrote it, or with sqlite3, and close it",
				path, beside);
	}
	return 0;
}

/* As a URI: every byte that could mean something there as %XX. */
static char *uri_of(const char *file)
{
	struct buf b = { 0 };
	buf_puts(&b, "file:");
	for (const char *p = file; *p; p++)
		if (strchr("%?#", *p) || (unsigned char)*p <= ' ')
			buf_printf(&b, "%%%02X", (unsigned)(unsigned char)*p);
		else
			buf_put(&b, p, 1);
	buf_puts(&b, "?immutable=1");
	if (b.failed) {
		buf_done(&b);
		return NULL;
	}
	return b.data;
}

/* A file without a name has no path that SQLite would open (it follows no link): it reads such a
 * file where it is mapped. Nobody else has it, so it can't be cut meanwhile. */
static int open_mapped(struct trace_db *ret, const char *file, const char *path, struct err *err)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *map = MAP_FAILED;
	if (fd >= 0 && fstat(fd, &st) == 0)
		map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	int e = errno;
	if (fd >= 0)
		(void)close(fd);
	if (map == MAP_FAILED)
		return err_set(err, -e, "%s: its unpacked copy: %s", path, strerror(e));
	size_t n = (size_t)st.st_size;
	int rc = trace_db_memory(ret, map, n, path, err);
	if (rc) {
		(void)munmap(map, n);
		return rc;
	}
	ret->map = map;
	ret->map_bytes = n;
	return 0;
}

/* SQLite takes a last page that is cut for one that ends in zeros: its rows would be wrong in
 * silence. */
static int whole_pages(const char *path, const unsigned char *head, uint64_t bytes, struct err *err)
{
	unsigned page = (unsigned)head[16] << 8 | head[17];
	page = page == 1 ? 65536 : page;
	return page < 512 || bytes % page == 0
		       ? 0
		       : err_set(err, -EINVAL,
				 "%s: the database is cut or damaged (%llu bytes are no whole "
				 "number "
				 "of pages of %u); export it again, or copy it again",
				 path, (unsigned long long)bytes, page);
}

static int file_of_whole_pages(const char *file, const char *path, struct err *err)
{
	unsigned char head[18] = { 0 };
	struct stat st;
	int fd = open(file, O_RDONLY | O_CLOEXEC), rc = 0;
	if (fd < 0 || fstat(fd, &st))
		rc = err_set(err, -errno, "%s: %s", path, strerror(errno));
	else if (pread(fd, head, sizeof head, 0) == (ssize_t)sizeof head)
		rc = whole_pages(path, head, (uint64_t)st.st_size, err);
	if (fd >= 0)
		(void)close(fd);
	return rc;
}

int trace_db_open(struct trace_db *ret, const char *file, const char *path, struct err *err)
{
	*ret = (struct trace_db){ .path = path };
	int rc = no_log_beside(path, err);
	if (rc)
		return rc;
	if (strncmp(file, "/proc/self/fd/", 14) == 0)
		return open_mapped(ret, file, path, err);
	rc = file_of_whole_pages(file, path, err);
	if (rc)
		return rc;
	char *uri = uri_of(file);
	if (!uri)
		return err_set(err, -ENOMEM, "out of memory");
	rc = sqlite3_open_v2(uri, &ret->db,
			     SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL);
	free(uri);
	rc = rc ? sql_failed(ret, rc, err) : harden(ret, err);
	if (rc)
		trace_db_close(ret);
	return rc;
}

int trace_db_memory(struct trace_db *ret, const void *bytes, size_t n, const char *path,
		    struct err *err)
{
	*ret = (struct trace_db){ .path = path };
	int rc = n < 18 ? 0 : whole_pages(path, bytes, n, err);
	if (rc)
		return rc;
	rc = sqlite3_open_v2(":memory:", &ret->db,
			     SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_MEMORY,
			     NULL);
	if (!rc) /* read-only: the bytes stay as they are */
		rc = sqlite3_deserialize(ret->db, "main", (unsigned char *)(uintptr_t)bytes,
					 (sqlite3_int64)n, (sqlite3_int64)n,
					 SQLITE_DESERIALIZE_READONLY);
	rc = rc ? sql_failed(ret, rc, err) : harden(ret, err);
	if (rc)
		trace_db_close(ret);
	return rc;
}

void trace_db_close(struct trace_db *d)
{
	(void)sqlite3_close_v2(d->db);
	d->db = NULL;
	if (d->map)
		(void)munmap(d->map, d->map_bytes);
	d->map = NULL;
}

/* ---- tables -----------------------------------------------------------------------------------
 */

static int prepare(struct trace_db *d, sqlite3_stmt **ret, const char *sql, struct err *err)
{
	int rc = sqlite3_prepare_v2(d->db, sql, -1, ret, NULL);
	return rc ? sql_failed(d, rc, err) : 0;
}

#define PLAIN "select name from sqlite_schema where type = 'table' and rootpage > 0 "

int trace_db_has(struct trace_db *d, const char *table, struct err *err)
{
	sqlite3_stmt *s = NULL;
	int rc = prepare(d, &s, PLAIN "and name = ?1 collate nocase", err);
	if (rc)
		return rc;
	(void)sqlite3_bind_text(s, 1, table, -1, SQLITE_STATIC);
	rc = trace_db_step(d, s, err);
	(void)sqlite3_finalize(s);
	return rc;
}

int trace_db_next(struct trace_db *d, const char *prefix, const char *after, char ret_name[256],
		  struct err *err)
{
	sqlite3_stmt *s = NULL;
	int rc = prepare(d, &s,
			 PLAIN "and substr(name, 1, ?2) = ?1 and length(cast(name as blob)) < 256 "
			       "and (?3 is null or name > ?3) order by name limit 1",
			 err);
	ret_name[0] = '\0';
	if (rc)
		return rc;
	(void)sqlite3_bind_text(s, 1, prefix, -1, SQLITE_STATIC);
	(void)sqlite3_bind_int(s, 2, (int)strlen(prefix));
	(void)sqlite3_bind_text(s, 3, after, -1, SQLITE_STATIC);
	rc = trace_db_step(d, s, err);
	if (rc > 0) {
		struct str name = cell_text(s, 0);
		if (name.n && name.n < 256) {
			memcpy(ret_name, name.p, name.n);
			ret_name[name.n] = '\0';
		}
	}
	(void)sqlite3_finalize(s);
	return rc < 0 ? rc : 0;
}

/* Which of the names "a|b|c" is a column? NULL: none. ret: room for it. */
static int find_column(struct trace_db *d, const char *table, const char *names, char ret[64],
		       struct err *err)
{
	sqlite3_stmt *s = NULL;
	int rc = prepare(d, &s,
			 "select 1 from pragma_table_info(?1) where name = ?2 collate nocase", err);
	if (rc)
		return rc;
	ret[0] = '\0';
	int found = 0;
	while (!found && *names) {
		size_t n = strcspn(names, "|");
		(void)sqlite3_bind_text(s, 1, table, -1, SQLITE_STATIC);
		(void)sqlite3_bind_text(s, 2, names, (int)n, SQLITE_STATIC);
		found = trace_db_step(d, s, err);
		(void)sqlite3_reset(s);
		if (found > 0 && n < 64) {
			memcpy(ret, names, n);
			ret[n] = '\0';
		}
		names += n + (names[n] == '|');
	}
	(void)sqlite3_finalize(s);
	return found < 0 ? found : 0;
}

int trace_db_select(struct trace_db *d, sqlite3_stmt **ret, const char *table,
		    const char *const *columns, size_t n, const char *tail, struct err *err)
{
	*ret = NULL;
	int rc = trace_db_has(d, table, err);
	if (rc <= 0)
		return rc;
	struct buf sql = { 0 };
	buf_puts(&sql, "select ");
	for (size_t i = 0; i < n; i++) {
		bool must = columns[i][0] == '!';
		char name[64];
		rc = find_column(d, table, columns[i] + must, name, err);
		if (!rc && must && !name[0])
			rc = err_set(
				err, -EINVAL,
				"%s: table %s has no column %s: not written by the program this "
				"reader knows, or by a version that it does not",
				d->path, table, columns[i] + 1);
		if (rc) {
			buf_done(&sql);
			return rc;
		}
		buf_printf(&sql, name[0] ? "%s\"%s\"" : "%snull", i ? ", " : "", name);
	}
	char *quoted = sqlite3_mprintf(" from \"%w\" %s", table, tail);
	buf_puts(&sql, quoted ? quoted : "");
	if (!quoted || sql.failed)
		rc = err_set(err, -ENOMEM, "out of memory");
	sqlite3_free(quoted);
	if (!rc)
		rc = prepare(d, ret, sql.data, err);
	buf_done(&sql);
	return rc;
}

int trace_db_step(struct trace_db *d, sqlite3_stmt *s, struct err *err)
{
	int rc = sqlite3_step(s);
	if (rc == SQLITE_ROW)
		return 1;
	return rc == SQLITE_DONE ? 0 : sql_failed(d, rc, err);
}

int trace_db_bad(struct trace_db *d, const char *table, int64_t row, const char *what,
		 struct err *err)
{
	return err_set(err, -EINVAL, "%s: table %s, row %lld: %s", d->path, table, (long long)row,
		       what);
}
