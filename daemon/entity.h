/* An answer that is ready to go out, to one request or to many: the response of libmicrohttpd with
 * all its headers. Immutable, counted. */
#ifndef DAEMON_ENTITY_H
#define DAEMON_ENTITY_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>

#include "daemon/answer.h"

struct entity {
	int status;
	char etag[40]; /* without quotes and coding; empty: none */
	size_t bytes;
	char coding[8]; /* gzip, br; empty: as it is */
	struct MHD_Response *response;
};

/* The body is taken out of a. gzip: compress when it is worth it. NULL: out of memory. */
struct entity *entity_new(struct answer *a, bool gzip);
/* The body is in this coding already: a's, or n bytes of the file fd (taken) where fd is not -1. */
struct entity *entity_ready(struct answer *a, int fd, size_t n, const char *coding);
struct entity *entity_hold(struct entity *e);
void entity_drop(struct entity *e); /* NULL is fine */

/* "Not modified": no body, the same tag. */
struct entity *entity_not_modified(const struct entity *of);

/* A status and nothing else, for where there is no room for more. */
struct entity *entity_bare(int status);

/* A file of the page, in one coding. forever: its name changes with its bytes. */
struct entity *entity_static(const void *bytes, size_t n, enum media media, const char *coding,
			     const char *etag, bool forever);

/* Headers that every answer has. page: it may load its script and its data. */
void entity_secure(struct MHD_Response *r, bool page);

/* The bytes as a response that the kernel sends by itself: a sealed file in memory, so that
 * sendfile serves it. NULL when that can't be made. */
struct MHD_Response *entity_file(const void *bytes, size_t n);

#endif
