/* The token in a file that others may not read. */
#ifndef AGENT_SECRET_H
#define AGENT_SECRET_H

#include "lib/err.h"

#define SECRET_BYTES 129 /* with its NUL: the daemon knows no longer ones (daemon/token.h) */

/* -EACCES: others may read or change the file; -EINVAL: there is no token in it; -ENOENT. */
int secret_read(char ret[SECRET_BYTES], const char *path, struct err *err);

#endif
