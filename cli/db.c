/* The database of a command: the one that was named, or the user's own. */
#define _GNU_SOURCE
#include "cli/db.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/file.h"

int cli_default_db(struct buf *b, struct err *err)
{
	const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
	/* The base directory specification tells to ignore a relative path. */
	if (data && data[0] == '/')
		buf_printf(b, "%s/roimeter/roimeter.db", data);
	else if (home && home[0])
		buf_printf(b, "%s/.local/share/roimeter/roimeter.db", home);
	else
		return err_set(err, -ENOENT, "no place for the database: neither HOME nor "
					     "XDG_DATA_HOME is set; name one with --db FILE");
	return b->failed ? err_set(err, -ENOMEM, "out of memory") : 0;
}

static int make_folder(const char *path, struct err *err)
{
	const char *slash = strrchr(path, '/');
	if (!slash || slash == path)
		return 0;
	char *folder = strndup(path, (size_t)(slash - path));
	if (!folder)
		return err_set(err, -ENOMEM, "out of memory");
	int rc = file_mkdirs(folder, err);
	free(folder);
	return rc;
}

int cli_open_store(struct store **ret_store, const char *db_option, enum store_mode mode,
		   struct err *err)
{
	struct buf path = { 0 };
	int rc = 0;
	if (db_option)
		buf_puts(&path, db_option);
	else
		rc = cli_default_db(&path, err);
	if (!rc && path.failed)
		rc = err_set(err, -ENOMEM, "out of memory");
	if (!rc && mode == STORE_WRITE)
		rc = make_folder(path.data, err);
	if (!rc)
		rc = store_open(ret_store, path.data, mode, err);
	if (rc == -ENOENT && mode == STORE_READ && path.data)
		rc = err_set(err, rc,
			     "there is no database at %s; make a first measurement with \"roimeter run "
			     "--app NAME --case NAME -- ./program\", or name another with --db FILE",
			     path.data);
	buf_done(&path);
	return rc;
}
