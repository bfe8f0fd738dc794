/* Answers that are good until the store changes, by what was asked. Used by several threads. */
#ifndef DAEMON_CACHE_H
#define DAEMON_CACHE_H

#include <stdint.h>

#include "daemon/entity.h"

struct cache;

struct cache *cache_new(void);
void cache_free(struct cache *c);

/* The answer to key as of this version of the store, held for the caller; NULL: none. */
struct entity *cache_get(struct cache *c, const char *key, uint64_t version);

/* Keep it (the caller keeps its own hold). Older ones make room. */
void cache_put(struct cache *c, const char *key, uint64_t version, struct entity *e);

#endif
