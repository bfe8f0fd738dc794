/* One daemon takes in for a database: what came is kept in its memory too, and two of them would
 * give out the same numbers. */
#ifndef DAEMON_ALONE_H
#define DAEMON_ALONE_H

#include "lib/err.h"

/* Take the lock of the database, which is there; it is held until *ret_fd is closed, or the process
 * ends, whatever ends it. -EBUSY: another daemon has it. */
int alone_take(int *ret_fd, const char *db, struct err *err);

#endif
