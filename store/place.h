/* May a database lie there? SQLite's locks and its shared memory hold on one machine only. */
#ifndef STORE_PLACE_H
#define STORE_PLACE_H

#include "lib/err.h"

/* path need not exist, its folder must. -EREMOTE with the file system's name; -ENOENT, -EACCES. */
int place_check(const char *path, struct err *err);

#endif
