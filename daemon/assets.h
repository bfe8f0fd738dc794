/* The page and its files, each in the codings it was compressed to when it was built. */
#ifndef DAEMON_ASSETS_H
#define DAEMON_ASSETS_H

#include "daemon/entity.h"

struct assets;

struct assets *assets_new(void); /* NULL: out of memory */
void assets_free(struct assets *a);

/* name: "" is the page. Held for the caller; NULL: there is no such file, or this program was
 * built without the page. */
struct entity *assets_get(struct assets *a, const char *name, const char *accept_encoding);

#endif
