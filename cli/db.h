/* Which database a command means, and opening it. */
#ifndef CLI_DB_H
#define CLI_DB_H

#include "lib/buf.h"
#include "lib/err.h"
#include "store/store.h"

/* Where the embedded store is when nobody says: $XDG_DATA_HOME/roimeter/roimeter.db, else
 * ~/.local/share/roimeter/roimeter.db. Appended to b. -ENOENT: neither variable is set. */
int cli_default_db(struct buf *b, struct err *err);

/* Open --db FILE, or the default where db_option is NULL. STORE_WRITE makes the folders on the
 * way; STORE_READ of what isn't there says where it looked and how to make a first measurement. */
int cli_open_store(struct store **ret_store, const char *db_option, enum store_mode mode,
		   struct err *err);

#endif
